"""Break the sample logs in seeded ways and read them: no crash, no lost neighbour, bounded time and memory.

Usage: PYTHONPATH=.:tests:tests/studies python tests/studies/fuzz.py [--mutants N] [--seed S] [--only NUMBER]
[--keep DIR]
Prints one JSON line per failure and one for the whole; exit code 1 where anything failed. A mutant depends on the
seed and its number alone, so ``--only`` repeats one.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import mutants
import polars as pl
from corpora_in_tests import SAMPLES, sample_files, shared_folder
from peak_memory import peak_memory

import trajlab
from trajlab.corpus.plan import claim
from trajlab.sources.discover import discover
from trajlab.sources.files import SourceFile

SECONDS = 5.0
"""A mutant may take this long, …"""
SECONDS_PER_MB = 10.0
"""… and this much more per megabyte."""
SECONDS_OF_A_BOMB = 20.0
"""… and so much for the 16 MB that data which expand without measure are read to."""
MEMORY_MB = 700
"""The whole process may come to this."""
_SHARED = (
    "written/trainers/verl",
    "written/mini_swe_agent_2.4.6",
    "public/SWE-agent+mini-swe-agent",
    "public/SWE-bench+SWE-smith",
)
NEIGHBOUR = "neighbour/1.jsonl"
_NEIGHBOUR_SAMPLE = "verl/version_0.5.0/1.jsonl"
_NEIGHBOUR_TRAJECTORIES = 12
_LARGEST = 400_000
MOST_BESIDE = 40
HANGS_AFTER = 60
"""Seconds of computing after which a mutant is given up: a busy machine is no hang."""
# What tells a trajectory's place, not what it is; a neighbour's change may move it.
_PLACE = (
    "trajectory_id", "run", "root", "source", "source_line", "ordinal", "superseded", "duplicate", "variant", "format",
    "verdict_source",
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A log to break, and the path it is read under."""

    name: str
    data: bytes
    by_line: bool
    """It is a file of lines."""
    by_record: bool
    """Each of its lines is a record of its own, not a piece of one conversation."""
    beside: tuple[tuple[str, bytes], ...] = ()
    """Names and bytes of the other files of its conversation."""


def sample_of(name: str, path: Path, root: Path | None = None) -> Sample:
    claimed = claim(discover([path]).files[0], None)
    beside: list[tuple[str, bytes]] = []
    if root is not None and claim(file_below(root, name), None).group:
        near = [other for other in sorted(path.parent.rglob("*")) if other.is_file() and other != path]
        beside = [(other.relative_to(root).as_posix(), other.read_bytes()) for other in near[:MOST_BESIDE]]
    return Sample(name, path.read_bytes(), name.endswith(".jsonl"), claimed.sliceable, tuple(beside))


def file_below(root: Path, name: str) -> SourceFile:
    path = root / name
    found = path.stat()
    return SourceFile(str(root), name, str(path), found.st_size, found.st_mtime_ns)


@dataclass
class Mutant:
    """What is read, and the lines of the sample that are still in it unbroken."""

    name: str
    data: bytes
    how: str
    intact: list[bytes] = field(default_factory=list)
    sample: bytes = b""
    beside: tuple[tuple[str, bytes], ...] = ()


@dataclass
class Outcome:
    """What came of the mutants."""

    mutants: int = 0
    trajectories: int = 0
    problems: int = 0
    neighbours: int = 0
    """Intact lines whose trajectory was looked for."""
    slowest: float = 0.0
    peak_mb: float = 0.0
    failures: dict[str, int] = field(default_factory=dict)


def samples(*, shared: bool = True) -> list[Sample]:
    """Every sample log; those beside the repository, too, where they are."""
    found = [sample_of(name, SAMPLES / name, SAMPLES) for name in sample_files()]
    folder = shared_folder() if shared else None
    if folder is not None:
        for place in _SHARED:
            for path in sorted((folder / "samples" / place).rglob("*.json*")):
                if path.stat().st_size <= _LARGEST:
                    name = path.relative_to(folder / "samples").as_posix()
                    found.append(sample_of(name, path))
    return found


def make_mutant(all_samples: list[Sample], seed: int, number: int) -> Mutant:
    """The mutant of that number; one in twelve stands under a hostile path."""
    rng = random.Random(seed * 1_000_003 + number)
    mutant = _mutant_of(all_samples, rng, number)
    if rng.random() < 1 / 12:
        mutant.name, mutant.intact = mutants.hostile_path(mutant.name, rng), []
        mutant.how += " hostile path"
    return mutant


def _mutant_of(all_samples: list[Sample], rng: random.Random, number: int) -> Mutant:
    # Every format as often as any other, however many files its samples have.
    formats = sorted({sample.name.split("/")[0] for sample in all_samples})
    chosen = formats[number % len(formats)]
    sample = rng.choice([sample for sample in all_samples if sample.name.split("/")[0] == chosen])
    if sample.by_line and rng.random() < 0.6:
        mutant = _broken_lines(sample, all_samples, rng)
        if not sample.by_record:
            mutant.intact.clear()
        return mutant
    choices = ["bytes", "bytes", "recode", "compress", "splice", "bomb"]
    if sample.name.endswith((".json", ".traj")):
        choices += ["json"] * 5
    if sample.name.endswith((".eval", ".zip", ".pt")):
        choices += ["archive"] * 8
    if sample.by_record:
        choices.append("parquet")
    how = rng.choice(choices)
    return _changed(sample, all_samples, rng, how)


def _changed(sample: Sample, all_samples: list[Sample], rng: random.Random, how: str) -> Mutant:
    def made(data: bytes, name: str = sample.name) -> Mutant:
        return Mutant(name, data, how, beside=sample.beside)

    if how == "bytes":
        return made(mutants.change_bytes(sample.data, rng))
    if how == "recode":
        return made(mutants.recode(sample.data, rng))
    if how == "compress":
        return made(mutants.compress(sample.data, rng), sample.name + rng.choice(("", ".gz", ".zst")))
    if how == "bomb":
        return made(mutants.packed_bomb(sample.data, rng), sample.name + rng.choice(("", ".gz")))
    if how == "archive":
        return made(mutants.change_archive(sample.data, rng))
    if how == "splice":
        other = rng.choice(all_samples).data
        at, start = rng.randrange(len(sample.data) + 1), rng.randrange(len(other) + 1)
        return made(sample.data[:at] + other[start:])
    if how == "json":
        return made(mutants.change_json(sample.data, rng))
    table = mutants.as_parquet(sample.data, rng)
    return made(table if table is not None else b"PAR1", sample.name.replace(".jsonl", ".parquet"))


def _broken_lines(sample: Sample, all_samples: list[Sample], rng: random.Random) -> Mutant:
    """Some lines broken or put in between; the first record of the file stays, which tells its format."""
    lines = [line for line in sample.data.split(b"\n") if line]
    broken = set(rng.sample(range(1, len(lines)), min(len(lines) - 1, rng.randint(1, 3)))) if len(lines) > 1 else set()
    out: list[bytes] = []
    intact: list[bytes] = []
    for number, line in enumerate(lines):
        kind = rng.randrange(4) if number in broken else None
        if kind is None or kind == 1:
            intact.append(line)
            out.append(line)
        if kind == 0:
            out.append(mutants.change_bytes(line, rng).replace(b"\n", b" "))
        elif kind == 1:
            out.append(rng.choice(all_samples).data[:3000].replace(b"\n", b" "))
        elif kind is not None:
            out.append(mutants.change_json(line, rng).replace(b"\n", b" "))
    data = b"\n".join(out) + rng.choice((b"\n", b""))
    return Mutant(sample.name, data, "lines", intact, sample.data, sample.beside)


def values(corpus: trajlab.Corpus) -> list[tuple[str, str]]:
    """Of every trajectory: its place in the file, and its values without their place, as text."""
    rows = corpus.trajectories.filter(pl.col("source") != NEIGHBOUR).collect()
    kept = rows.drop([name for name in _PLACE if name in rows.columns])
    texts = [repr([None if _nan(value) else value for value in row]) for row in kept.iter_rows()]
    return list(zip(rows["ordinal"].to_list(), texts, strict=True))


def _nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


class Hung(BaseException):
    """Raised into a mutant that takes too long; no handler of ours takes it for an error of the log."""


def _give_up(signum: int, frame: object) -> None:
    raise Hung


def read(folder: Path, name: str, data: bytes, beside: tuple[tuple[str, bytes], ...] = ()) -> trajlab.Corpus:
    """Read one file with those of its conversation, and a sound one beside it, in a folder of their own."""
    shutil.rmtree(folder, ignore_errors=True)
    sound = (SAMPLES / _NEIGHBOUR_SAMPLE).read_bytes()
    for path, content in (*beside, (NEIGHBOUR, sound), (name, data)):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return trajlab.read(folder, jobs=1)


class Fuzz:
    """Reads mutants, and looks for what an intact line gives when it is read alone."""

    def __init__(self, folder: Path, outcome: Outcome) -> None:
        self.folder = folder
        self.outcome = outcome
        self._whole: dict[str, dict[bytes, list[str]]] = {}

    def unbroken(self, mutant: Mutant) -> dict[bytes, list[str]]:
        """The lines of the sample that give trajectories, and their values."""
        known = self._whole.get(mutant.name)
        if known is None:
            found = values(read(self.folder / "mutant", mutant.name, mutant.sample))
            by_line: dict[int, list[str]] = {}
            for ordinal, text in found:
                by_line.setdefault(int(ordinal.partition(".")[0]), []).append(text)
            known = self._whole[mutant.name] = {}
            for at, texts in by_line.items():  # equal lines give equal trajectories
                end = mutant.sample.find(b"\n", at)
                known[mutant.sample[at : end if end >= 0 else None]] = texts
        return known

    def check(self, mutant: Mutant) -> Iterator[str]:
        """Read a mutant; yields what is wrong."""
        folder = self.folder / "mutant"
        found: Counter[str] = Counter()
        unbroken = self.unbroken(mutant) if mutant.intact else {}
        begun = time.process_time()  # a busy machine is no defect
        try:
            signal.setitimer(signal.ITIMER_PROF, HANGS_AFTER)
            corpus = read(folder, mutant.name, mutant.data, mutant.beside)
            found = Counter(text for _, text in values(corpus))
            problems = corpus.problems.filter(pl.col("source") != NEIGHBOUR).collect().height
            beside = corpus.trajectories.filter(pl.col("source") == NEIGHBOUR).collect().height
            corpus.summary()
            self.outcome.trajectories += found.total()
            self.outcome.problems += problems
            yield from corpus.problems.filter(pl.col("code") == "reader_failed").collect()["message"]
            if beside != _NEIGHBOUR_TRAJECTORIES:
                yield f"{beside} of {_NEIGHBOUR_TRAJECTORIES} trajectories in the file beside it"
            companions = corpus.sources.filter(pl.col("role").is_in(["companion", "metrics"])).collect()
            named = PurePosixPath(mutant.name).suffix != ".txt"  # of a text that is no log nobody expects a word
            if not found and not problems and companions.is_empty() and named:
                yield "neither a trajectory, nor a companion, nor a problem"
        except Hung:
            yield f"hung: given up after {HANGS_AFTER} s"
        except (Exception, pl.exceptions.PanicException) as error:
            where = traceback.extract_tb(error.__traceback__)
            place = next((f for f in reversed(where) if "trajlab" in f.filename), where[-1])
            yield f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno} {str(error)[:100]}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = time.process_time() - begun
        self.outcome.slowest = max(self.outcome.slowest, seconds)
        allowed = SECONDS + SECONDS_PER_MB * len(mutant.data) / 1e6
        allowed += SECONDS_OF_A_BOMB if "bomb" in mutant.how else 0
        if seconds > allowed:
            yield f"slow: {seconds:.1f} s for {len(mutant.data)} bytes"
        if unbroken:
            expected = Counter(text for line in mutant.intact for text in unbroken.get(line, ()))
            self.outcome.neighbours += expected.total()
            if lost := expected - found:
                yield f"{lost.total()} of {expected.total()} intact lines gave another trajectory or none"


def fuzz(count: int, seed: int, *, only: int | None = None, keep: Path | None = None, shared: bool = True) -> Outcome:
    """Read ``count`` mutants; every failure is printed and counted."""
    outcome = Outcome()
    all_samples = samples(shared=shared)
    signal.signal(signal.SIGPROF, _give_up)
    with tempfile.TemporaryDirectory(prefix="hostile_") as folder:
        run = Fuzz(Path(folder), outcome)
        for number in range(count) if only is None else (only,):
            mutant = make_mutant(all_samples, seed, number)
            outcome.mutants += 1
            for failure in run.check(mutant):
                outcome.failures[failure] = outcome.failures.get(failure, 0) + 1
                told = {"seed": seed, "mutant": number, "sample": mutant.name, "how": mutant.how, "failure": failure}
                print(json.dumps(told), flush=True)
                if keep is not None:
                    target = keep / f"{number}" / mutant.name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(mutant.data)
    outcome.peak_mb = peak_memory() / 2**20
    if outcome.peak_mb > MEMORY_MB:
        outcome.failures[f"memory: {outcome.peak_mb:.0f} MB"] = 1
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--own", action="store_true", help="only the samples of the repository")
    given = parser.parse_args()
    outcome = fuzz(given.mutants, given.seed, only=given.only, keep=given.keep, shared=not given.own)
    print(json.dumps({"seed": given.seed, **asdict(outcome)}))
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
