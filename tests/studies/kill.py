"""Kill an ingest with SIGKILL at random moments; restarted, it must end byte for byte equal to an undisturbed one.

Usage: PYTHONPATH=.:tests:tests/benches python tests/studies/kill.py [KILLS] [MEGABYTES] [SEED]
Prints one JSON line; exit code 1 where a corpus differs.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from corpora import write_swe
from corpora_in_tests import command, contents, environment

from trajlab.sources.discover import CORPUS_MARKER

FILES = 8


@dataclass
class Outcome:
    """What the kills did."""

    kills: int = 0
    """Ingests killed before they ended."""
    before_manifest: int = 0
    """Kills before the first manifest was written."""
    while_reading: int = 0
    """Kills that left parts behind, but no finished corpus."""
    finished: int = 0
    """Corpora that were brought to their end and compared."""
    different: list[str] = field(default_factory=list)
    """Files that differ from the undisturbed corpus."""


def write_kill_logs(folder: Path, megabytes: float) -> None:
    """Several files of chat rows, in one unit or in several as they fall."""
    for number in range(FILES):
        write_swe(folder / f"run_{number}", megabytes / FILES, seed=number)


def start(logs: Path, out: Path) -> subprocess.Popen[bytes]:
    """An ingest whose units are single files, so that a kill falls between units, too."""
    code = (
        "import sys; from pathlib import Path; from trajlab.corpus.ingest import ingest_into; "
        "from trajlab.corpus.plan import UnitSizes; "
        "ingest_into(Path(sys.argv[1]), [sys.argv[2]], sizes=UnitSizes(files=1))"
    )
    return subprocess.Popen([command()[0], "-c", code, str(out), str(logs)], env=environment())


def seconds_undisturbed(logs: Path, out: Path) -> float:
    """Seconds an undisturbed ingest takes."""
    begun = time.monotonic()
    if start(logs, out).wait():
        raise RuntimeError("the undisturbed ingest failed")
    return time.monotonic() - begun


def kill_study(folder: Path, kills: int, seed: int) -> Outcome:
    """Kill ``kills`` ingests of ``folder/logs``; whenever one ends before its kill, compare it and start anew."""
    rng = random.Random(seed)
    logs, whole, out = folder / "logs", folder / "undisturbed", folder / "killed"
    longest = seconds_undisturbed(logs, whole)
    expected = contents(whole)
    outcome = Outcome()
    while outcome.kills < kills:
        process = start(logs, out)
        try:
            process.wait(rng.uniform(0.2, 1.0) * longest)
            longest *= 0.9  # the first one was slower, with cold caches
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            outcome.kills += 1
            outcome.before_manifest += not (out / CORPUS_MARKER).exists()
            outcome.while_reading += (out / "parts").is_dir()
            if rng.random() < 0.7:  # often killed again before it may end
                continue
            process = start(logs, out)
        if process.wait():
            raise RuntimeError("a restarted ingest failed")
        compare(out, expected, outcome)
    if out.exists():
        start(logs, out).wait()
        compare(out, expected, outcome)
    return outcome


def compare(out: Path, expected: dict[str, bytes], outcome: Outcome) -> None:
    """Note every file that is missing, left over or different, and clear the way for the next."""
    found = contents(out)
    names = sorted(expected.keys() | found.keys())
    outcome.different += [name for name in names if expected.get(name) != found.get(name)]
    outcome.finished += 1
    shutil.rmtree(out)


def main(kills: int = 50, megabytes: float = 40, seed: int = 1) -> int:
    with tempfile.TemporaryDirectory() as folder:
        write_kill_logs(Path(folder) / "logs", megabytes)
        outcome = kill_study(Path(folder), kills, seed)
    print(json.dumps({"megabytes": megabytes, "seed": seed, **asdict(outcome)}))
    return 1 if outcome.different else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
