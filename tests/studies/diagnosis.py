"""R1 to R5, r6 and r7 simulated at full size: does the run diagnosis say what the reports say, and where they err?

    python tests/studies/diagnosis.py [--seed 0] [--all] [--out DIR]

Prints every figure of sections 3 to 8 that is missed (``--all``: every figure), then every claim with what was found.
``--out`` keeps the runs there. Exits with 1 if anything is missed. About six minutes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from diagnosis_claims import (
    MATHS,
    SOFTWARE,
    Claim,
    claims_of_all,
    claims_of_r3,
    claims_of_r4,
    claims_of_r6,
    claims_of_r7,
    diagnosed,
    figures,
    simulated,
)

import trajlab
from trajlab.simulate import load_description


def line(item: Claim) -> str:
    return f"{'found ' if item.ok else 'MISSED'} {item.section:>3} {item.run:12} {item.text}: {item.found[:150]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--corpus", type=Path, help="A corpus of these runs, read before.")
    given = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        out = given.out or Path(temporary)
        corpus = trajlab.open_corpus(given.corpus) if given.corpus else simulated(out, seed=given.seed)
        runs = {name: diagnosed(corpus, name) for name in (*MATHS, *SOFTWARE)}
        found = [item for name in MATHS for item in figures(runs[name], load_description(name))]
        missed = [item for item in found if not item.ok]
        for item in found if given.all else missed:
            print(line(item))
        print(f"{len(found) - len(missed)} of {len(found)} figures of sections 3 to 8 recovered")
        claims = list(claims_of_all(runs))
        for name, of in (("R3", claims_of_r3), ("R4", claims_of_r4), ("r6", claims_of_r6), ("r7", claims_of_r7)):
            claims += of(runs[name])
        for item in claims:
            print(line(item))
        missed += [item for item in claims if not item.ok]
        print(f"{sum(item.ok for item in claims)} of {len(claims)} claims found, {time.perf_counter() - began:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
