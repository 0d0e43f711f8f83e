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

import polars as pl
from corpora_in_tests import SAMPLES
from fuzz_samples import Beside, Mutant, make_mutant, samples
from peak_memory import forget_peak, peak_memory

import trajlab

SECONDS = 5.0
"""A mutant may take this long, …"""
SECONDS_PER_MB = 10.0
"""… and this much more per megabyte."""
SECONDS_OF_A_BOMB = 20.0
"""… and so much for the 16 MB that data which expand without measure are read to."""
MEMORY_MB = 700
"""The whole process may come to this."""
NEIGHBOURS = {
    "neighbour/1.jsonl": "verl/version_0.5.0/1.jsonl",
    "beside/metrics.jsonl": "metric_logs/tinker_metrics/metrics.jsonl",
}
"""Sound files that are read with every mutant: a log, and metrics."""
HOSTILE_EFFECTS = (Path("/tmp/hostile_executed"), Path("/tmp/hostile_escaped"))
"""What is there once a command of a mutant was run, or a member of it written."""
UNEXPECTED = (".txt", ".log", ".csv", ".yaml")
"""Of a file of these kinds that no reader knows, the table of sources says so, and nobody expects more."""
TOGETHER = 10
"""Mutants that are read beside each other."""
HANGS_AFTER = 60
"""Seconds of computing after which a mutant is given up: a busy machine is no hang."""
# What tells a trajectory's place, not what it is; a neighbour's change may move it.
_PLACE = (
    "trajectory_id", "run", "root", "source", "source_line", "ordinal", "superseded", "duplicate", "variant", "format",
    "verdict_source",
)  # fmt: skip


@dataclass
class Outcome:
    """What came of the mutants."""

    mutants: int = 0
    trajectories: int = 0
    problems: int = 0
    neighbours: int = 0
    """Trajectories and metric values of intact lines, elements and members that were looked for."""
    read_alone: int = 0
    """Mutants of which something was odd beside others, and which were read alone then: that tells."""
    slowest: float = 0.0
    """Seconds of computing for those that were read together, at most."""
    peak_mb: float = 0.0
    held_mb: list[int] = field(default_factory=list)
    """What the process held before the first mutants and after every thousand."""
    failures: dict[str, int] = field(default_factory=dict)
    changes: dict[str, dict[str, int]] = field(default_factory=dict)
    """Mutants by what their bytes are and by what was done to them; one may be changed in several ways."""
    groups: dict[str, int] = field(default_factory=dict)
    """Mutants by format; of metric logs, by layout."""

    def count(self, mutant: Mutant) -> None:
        """One more mutant."""
        self.mutants += 1
        self.groups[mutant.sample.group] = self.groups.get(mutant.sample.group, 0) + 1
        own = self.changes.setdefault(mutant.sample.family, {})
        for kind in sorted(set(mutant.kinds)):
            own[kind] = own.get(kind, 0) + 1


Found = tuple[str, str, str]
"""First folder, place in the file, and values without their place as text: of a trajectory, or of a metric."""


def values(corpus: trajlab.Corpus) -> list[Found]:
    """Of every trajectory: where it stands, and its values."""
    rows = corpus.trajectories.filter(~pl.col("source").is_in(NEIGHBOURS)).collect()
    kept = rows.drop([name for name in _PLACE if name in rows.columns])
    texts = [repr([None if _nan(value) else value for value in row]) for row in kept.iter_rows()]
    return list(zip(map(_folder, rows["source"]), rows["ordinal"].to_list(), texts, strict=True))


def metric_values(corpus: trajlab.Corpus) -> list[Found]:
    """Of every metric: its line, and its step, name and value."""
    rows = corpus.metrics.filter(~pl.col("source").is_in(NEIGHBOURS)).collect()
    kept = rows.select("step", "raw_name", "value", "logged_as")
    return list(zip(map(_folder, rows["source"]), map(str, rows["line"]), map(repr, kept.iter_rows()), strict=True))


def _folder(source: str) -> str:
    return source.partition("/")[0]


def _nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def beside(corpus: trajlab.Corpus) -> tuple[int, int]:
    """Trajectories and metrics of the sound files."""
    ours = pl.col("source").is_in(NEIGHBOURS)
    counts = [table.filter(ours).select(pl.len()).collect().item() for table in (corpus.trajectories, corpus.metrics)]
    return counts[0], counts[1]


class Hung(BaseException):
    """Raised into what takes too long; no handler of ours takes it for an error of the log."""


def _give_up(signum: int, frame: object) -> None:
    raise Hung


@dataclass
class Seen:
    """What one reading of some mutants showed."""

    seconds: float = 0.0
    """Of computing: a busy machine is no defect."""
    held_mb: float = 0.0
    """By the process before it: what grows here, leaks."""
    peak_mb: float = 0.0
    """Of the whole process."""
    whole: str = ""
    """What is wrong with the reading as a whole."""
    each: list[list[str]] = field(default_factory=list)
    """What is wrong with each mutant."""
    found: dict[str, Counter[str]] = field(default_factory=dict)
    problems: int = 0


class Fuzz:
    """Reads mutants, and looks for what an intact line gives when it is read in its sample."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts: dict[str, dict[bytes, list[str]]] = {}
        self._whole: dict[str, list[Found]] = {}
        self._sound = beside(self.read([]))

    def read(self, files: list[tuple[str, bytes, Beside]]) -> trajlab.Corpus:
        """Read files, each with those of its conversation in a numbered folder, and sound ones beside them."""
        folder = self.folder / "mutants"
        shutil.rmtree(folder, ignore_errors=True)
        laid = {folder / path: (SAMPLES / sample).read_bytes() for path, sample in NEIGHBOURS.items()}
        for number, (name, data, others) in enumerate(files):
            laid |= {folder / str(number) / path: content for path, content in (*others, (name, data))}
        for place, content in laid.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return trajlab.read(folder, jobs=1)

    def parts(self, mutant: Mutant) -> dict[bytes, list[str]]:
        """The lines of the sample that give trajectories or metrics, and their values."""
        sample, data = mutant.sample, mutant.original
        if sample.name not in self._parts:
            corpus = self.read([(sample.name, sample.data, sample.beside)])
            by_place: dict[int, list[str]] = {}
            for _, ordinal, text in values(corpus):
                by_place.setdefault(int(ordinal.partition(".")[0]), []).append(text)
            starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == ord("\n"))]
            for _, line, text in metric_values(corpus):
                by_place.setdefault(starts[int(line) - 1], []).append(text)
            known = self._parts[sample.name] = {}
            for at, texts in by_place.items():  # equal lines give equal trajectories
                end = data.find(b"\n", at)
                known[data[at : end if end >= 0 else None]] = texts
        return self._parts[sample.name]

    def expected(self, mutant: Mutant) -> tuple[Counter[str], int]:
        """What should be found of the intact parts, and how many of it may be lost with the broken ones."""
        if mutant.intact:
            parts = self.parts(mutant)
            return Counter(text for line in mutant.intact for text in parts.get(line, ())), 0
        if not mutant.broken:
            return Counter(), 0
        sample = mutant.sample
        if sample.name not in self._whole:
            self._whole[sample.name] = values(self.read([(sample.name, mutant.original, sample.beside)]))
        whole = self._whole[sample.name]
        places = Counter(ordinal.partition(".")[0] for _, ordinal, _ in whole)
        return Counter(text for _, _, text in whole), mutant.broken * max(places.values(), default=0)

    def look(self, together: list[Mutant]) -> Seen:
        """Read mutants beside each other."""
        seen = Seen(each=[[] for _ in together])
        expected = [self.expected(mutant) for mutant in together]
        seen.held_mb = forget_peak() / 2**20
        begun = time.process_time()
        try:
            signal.setitimer(signal.ITIMER_PROF, HANGS_AFTER)
            corpus = self.read([(mutant.name, mutant.data, mutant.sample.beside) for mutant in together])
            corpus.summary()
            self._told(corpus, together, seen)
        except Hung:
            seen.whole = f"hung: given up after {HANGS_AFTER} s"
        except (Exception, pl.exceptions.PanicException) as error:
            where = traceback.extract_tb(error.__traceback__)
            place = next((f for f in reversed(where) if "trajlab" in f.filename), where[-1])
            seen.whole = f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno} {str(error)[:100]}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        seen.seconds, seen.peak_mb = time.process_time() - begun, peak_memory() / 2**20
        for number, (wanted, may_lose) in enumerate(expected):
            lost = (wanted - seen.found.get(str(number), Counter())).total()
            if lost > may_lose:
                message = f"{lost} of {wanted.total()} trajectories and metrics are lost or changed; {may_lose} may be"
                seen.each[number].append(message)
        if done := [path.name for path in HOSTILE_EFFECTS if path.exists()]:
            seen.whole = f"{done} is there: something of a log was run or written"
        return seen

    def _told(self, corpus: trajlab.Corpus, together: list[Mutant], seen: Seen) -> None:
        """What the corpus says of the mutants and of the files beside them."""
        for folder, _, text in (*values(corpus), *metric_values(corpus)):
            seen.found.setdefault(folder, Counter())[text] += 1
        problems = corpus.problems.filter(~pl.col("source").is_in(NEIGHBOURS)).collect()
        seen.problems = problems.height
        known = corpus.sources.filter(pl.col("role").is_in(["companion", "metrics"])).collect()
        heard = {*seen.found, *map(_folder, problems["source"]), *map(_folder, known["source"])}
        for source, message in problems.filter(pl.col("code") == "reader_failed").select("source", "message").rows():
            seen.each[int(_folder(source))].append(message)
        for number, mutant in enumerate(together):
            if str(number) not in heard and PurePosixPath(mutant.name).suffix not in UNEXPECTED:
                seen.each[number].append("neither a trajectory, nor a companion, nor a problem")
        if (sound := beside(corpus)) != self._sound:
            seen.whole = f"{sound} of {self._sound} trajectories and metrics in the files beside it"


def allowed(mutant: Mutant) -> float:
    """Seconds that the reading of a mutant alone may take."""
    return SECONDS + SECONDS_PER_MB * len(mutant.data) / 1e6 + (SECONDS_OF_A_BOMB if "bomb" in mutant.kinds else 0)


def check(run: Fuzz, together: list[Mutant], outcome: Outcome) -> Iterator[tuple[int, str]]:
    """Read mutants beside each other, and each alone of which anything is odd then; yields (place, what is wrong)."""
    seen = run.look(together)
    if outcome.mutants % 1000 == 0 or not outcome.held_mb:
        outcome.held_mb.append(round(seen.held_mb))
    outcome.slowest = max(outcome.slowest, round(seen.seconds, 2))
    if seen.peak_mb > max(outcome.peak_mb, MEMORY_MB / 2):
        heavy = [(mutant.name, mutant.kinds, len(mutant.data)) for mutant in together if "bomb" in mutant.kinds]
        print(f"{outcome.mutants} read, {seen.peak_mb:.0f} MB at most: {heavy}", file=sys.stderr, flush=True)
    outcome.peak_mb = max(outcome.peak_mb, round(seen.peak_mb, 1))
    outcome.trajectories += sum(found.total() for found in seen.found.values())
    outcome.problems += seen.problems
    # What is read in less than a mutant may take holds none that takes longer.
    all_of_them = bool(seen.whole) or seen.seconds > SECONDS or seen.peak_mb > MEMORY_MB
    failed = False
    for number, mutant in enumerate(together):
        wanted, may_lose = run.expected(mutant)
        outcome.neighbours += wanted.total() - may_lose
        if not (all_of_them or seen.each[number]):
            continue
        outcome.read_alone += 1
        alone = run.look([mutant])
        told = [alone.whole] if alone.whole else []
        if alone.seconds > allowed(mutant):
            told.append(f"slow: {alone.seconds:.1f} s for {len(mutant.data)} bytes")
        if alone.peak_mb > MEMORY_MB:
            told.append(f"memory: {alone.peak_mb:.0f} MB for {len(mutant.data)} bytes")
        for failure in (*told, *alone.each[0]):
            failed = True
            yield number, failure
    if (seen.whole or seen.peak_mb > MEMORY_MB) and not failed:
        yield 0, f"only with those beside it: {seen.whole or f'memory: {seen.peak_mb:.0f} MB'}"


def fuzz(numbers: range, seed: int, *, keep: Path | None = None, shared: bool = True) -> Outcome:
    """Read the mutants of these numbers; every failure is printed and counted."""
    outcome = Outcome()
    all_samples = samples(shared=shared)
    signal.signal(signal.SIGPROF, _give_up)
    with tempfile.TemporaryDirectory(prefix="hostile_") as folder:
        run = Fuzz(Path(folder))
        for first in range(numbers.start, numbers.stop, TOGETHER):
            these = range(first, min(first + TOGETHER, numbers.stop))
            together = [make_mutant(all_samples, seed, number) for number in these]
            for mutant in together:
                outcome.count(mutant)
            for place, failure in check(run, together, outcome):
                number, mutant = these[place], together[place]
                outcome.failures[failure] = outcome.failures.get(failure, 0) + 1
                told = {"seed": seed, "mutant": number, "sample": mutant.name, "how": mutant.kinds, "failure": failure}
                print(json.dumps(told), flush=True)
                if keep is not None:
                    target = keep / f"{number}" / mutant.name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(mutant.data)
            if outcome.mutants % 500 == 0:
                print(f"{outcome.mutants} read, {outcome.peak_mb} MB at most", file=sys.stderr, flush=True)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--own", action="store_true", help="only the samples of the repository")
    given = parser.parse_args()
    numbers = range(given.mutants) if given.only is None else range(given.only, given.only + 1)
    outcome = fuzz(numbers, given.seed, keep=given.keep, shared=not given.own)
    print(json.dumps({"seed": given.seed, **asdict(outcome)}))
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
