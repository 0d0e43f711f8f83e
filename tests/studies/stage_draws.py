"""Two stages of r7, drawn again and again: do the intervals hold the truth, and is verification judged rightly?

    python tests/studies/stage_draws.py [--draws 1000] [--n 80] [--seed 0]

r7 is simulated at full size with any_test_rate 70 % early and 46.8 % late, and quick checks 20 % and 45 %; the truth of
a difference is that of all trajectories of both stages. Verification is judged wrongly where it is said to have held
though it fell by more than the margin, or to have fallen by more though it did not.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import trajlab
from trajlab.measures.frame import Population, select
from trajlab.measures.stages import PRIMARY, compare_stages
from trajlab.simulate import simulate

WIDE = 10**9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--n", type=int, default=80)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        simulate("r7", Path(temporary) / "simulated", seed=given.seed)
        corpus = trajlab.ingest(Path(temporary) / "simulated", out=Path(temporary) / "corpus", texts=False)
        run = select(corpus, Population(run="r7"))
        whole = compare_stages(run, WIDE)
        truth = {item.name: item for item in [*whole.contrasts, whole.executes]}
        hits = dict.fromkeys([*PRIMARY, "executes_rate"], 0)
        verdicts: dict[str, int] = {}
        moved = 0
        for seed in range(given.draws):
            found = compare_stages(run, given.n, seed, whole=False)
            for item in [*found.contrasts, found.executes]:
                if item.name in hits:
                    low, high = item.pooled.low, item.pooled.high
                    hits[item.name] += low is not None and low <= truth[item.name].pooled.value <= high
            verdicts[found.verification] = verdicts.get(found.verification, 0) + 1
            moved += found.moved
    print(f"{given.draws} draws of {given.n} + {given.n}")
    for name, count in hits.items():
        item = truth[name]
        print(f"{name:16} {item.first.value:.4f} -> {item.second.value:.4f}  covered {100 * count / given.draws:.1f} %")
    change = truth["executes_rate"].pooled.value
    wrong = "fell" if change > -whole.margin else "held"
    print(f"verification changed by {100 * change:+.1f} points, margin {100 * whole.margin:.0f}: {verdicts}; "
          f"wrong ({wrong!r}) in {100 * verdicts.get(wrong, 0) / given.draws:.1f} % of draws")  # fmt: skip
    print(f"said to have moved from test runs to quick checks in {100 * moved / given.draws:.1f} % of draws")


if __name__ == "__main__":
    main()
