"""Logs of any format that is read, written in another: ATIF trajectories, or rows of OpenAI messages."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import polars as pl

from trajlab.api import read
from trajlab.conversion import atif, openai_messages
from trajlab.conversion.names import RunNames, plain_name, takes_all_letters
from trajlab.corpus.corpus import Corpus
from trajlab.corpus.manifest import MANIFEST
from trajlab.corpus.parts import UnitBundle, identified, rest_not_read
from trajlab.corpus.plan import UnitSizes, pack
from trajlab.corpus.rows import identity
from trajlab.errors import TrajlabError, UsageError, not_written
from trajlab.progress import progress
from trajlab.records import Problem, Trajectory
from trajlab.sources.field_mapping import load_mapping

SUMMARY = "convert.json"


class Target(msgspec.Struct, frozen=True):
    """A format that can be written."""

    doc: str
    encode: Callable[[Trajectory], bytes]
    """The trajectory in the format."""
    file_of: Callable[[str, str, str], str]
    """Name of the file for (run, task, id): one for each trajectory, or one for a run."""
    holds: frozenset[str]
    """Fields of a trajectory, a step and a call that the format has a place for."""


TARGETS = {
    "atif": Target(atif.DOC, atif.encode, lambda run, task, key: f"{run}/{task}-{key}.trajectory.json", atif.HOLDS),
    "openai": Target(
        openai_messages.DOC, openai_messages.encode, lambda run, task, key: f"{run}.jsonl", openai_messages.HOLDS
    ),
}
"""Name of the format -> how it is written."""


class Converted(msgspec.Struct):
    """What a conversion wrote, and what it could not.

    Attributes:
        out: Folder of the files.
        to: Format written.
        trajectories: Trajectories written.
        files: Files written.
        replaced: Files of the same name that were there before, of any conversion.
        unread: Records that could not be read, and other problems met while reading.
        not_held: Field -> trajectories that record it, for fields that the format has no place for.
    """

    out: str
    to: str
    trajectories: int
    files: int
    replaced: int
    unread: list[str]
    not_held: dict[str, int]


def convert(
    *sources: str | Path,
    out: str | Path,
    to: str,
    run: str | None = None,
    mapping: str | Path | None = None,
) -> Converted:
    """Write logs in another format.

    Verdicts of companions (SWE-bench reports) are written with the trajectories they speak of. What was done is also
    written to ``convert.json``.

    Args:
        *sources: Folders, globs and files of logs.
        out: Folder for the files; made if missing.
        to: ``atif`` or ``openai``.
        run: Name of the run for all of them; ``None``: as the logs or the folders say.
        mapping: A TOML file: where fields stand in logs that no reader knows.

    Raises:
        UsageError: Nothing to read, or an unknown format.
        InfrastructureError: A full disk.
    """
    target = TARGETS.get(to)
    if target is None:
        raise UsageError("to", f"no format {to!r}", f"one of {', '.join(TARGETS)}", "Name one of them")
    if any((Path(source, MANIFEST)).is_file() for source in sources):
        raise UsageError(str(sources[0]), "a corpus", "the logs it was made of", "A corpus keeps no whole records")
    fields = None if mapping is None else load_mapping(mapping)
    corpus = read(*sources, run=run, mapping=fields)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writer = _Writer(folder, to, target)
        for key, name, record in _records(corpus, forced=run is not None):
            writer.take(key, name, record)
        return writer.finish()
    except OSError as error:
        raise not_written(folder, error) from error


def _records(corpus: Corpus, *, forced: bool) -> Iterator[tuple[str, str, Trajectory | Problem]]:
    """Id, run and record of all that the sources of a corpus hold, verdicts of companions joined."""
    logs = [item for item in corpus.manifest.claims if item.role == "log"]
    units = pack(logs, forced_run=forced, keep_texts=False, read_to={}, sizes=UnitSizes())
    verdicts = {row[0]: row[1:] for row in _verdicts(corpus).iter_rows()}
    bundles = [item for unit in units for item in unit.bundles]
    for item in progress(bundles, total=len(bundles), unit="file", description="converting"):
        for key, record in _read(item):
            if isinstance(record, Problem):
                yield "", item.run, record
                continue
            run = record.run or item.run
            trajectory_id = identity(run, item.bundle.format, item.place, key)
            told = (record.correct, record.outcome, record.termination)
            record.correct, record.outcome, ended = verdicts.get(trajectory_id, told)
            if ended != "unknown":  # else as the log tells it: that it ended by itself is more
                record.termination = ended
            yield trajectory_id, run, record


def _read(item: UnitBundle) -> Iterator[tuple[str, Trajectory | Problem]]:
    try:
        yield from identified(item)
    except (TrajlabError, MemoryError):
        raise
    except Exception as error:  # a defect of ours, met in one file, must not cost the others
        yield "", rest_not_read(error)


def _verdicts(corpus: Corpus) -> pl.DataFrame:
    return corpus.trajectories.select("trajectory_id", "correct", "outcome", "termination").collect()


class _Writer:
    """The files of one conversion; each is written aside and put in place whole."""

    def __init__(self, folder: Path, to: str, target: Target) -> None:
        self.folder = folder
        self.target = target
        self.said = Converted(str(folder), to, 0, 0, 0, [], {})
        self.all_letters = takes_all_letters(folder)
        self.runs = RunNames([SUMMARY], all_letters=self.all_letters)
        self.open: dict[Path, Path] = {}
        self.not_held: Counter[str] = Counter()

    def take(self, key: str, run: str, record: Trajectory | Problem) -> None:
        if isinstance(record, Problem):
            self.said.unread.append(f"{record.code}: {record.message}")
            return
        data = self.target.encode(record)
        task = plain_name(record.task_id or "task", all_letters=self.all_letters)
        path = self.folder / self.target.file_of(self.runs.of(run), task, key)
        aside = self.open.get(path)
        if aside is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            aside = self.open[path] = path.with_name(f".{path.name}.wip")
            aside.unlink(missing_ok=True)
        with aside.open("ab") as file:
            file.write(data)
        self.said.trajectories += 1
        self.not_held.update(_recorded(record) - self.target.holds)

    def finish(self) -> Converted:
        self.said.replaced = sum(path.exists() for path in self.open)
        for path, aside in self.open.items():
            os.replace(aside, path)  # noqa: PTH105 - replaces on every system
        self.said.files = len(self.open)
        self.said.not_held = dict(sorted(self.not_held.items()))
        (self.folder / SUMMARY).write_bytes(msgspec.json.format(msgspec.json.encode(self.said), indent=2))
        return self.said


_SKIPPED = frozenset({"variant", "ordinal", "line", "messages", "steps", "problems", "settings", "rewards"})


def _recorded(record: Trajectory) -> set[str]:
    """Names of what a trajectory records: its fields, ``step.…`` and ``call.…``."""
    found = {name for name in record.__struct_fields__ if name not in _SKIPPED and getattr(record, name) is not None}
    found |= {"rewards"} if record.rewards else set()
    found |= {"settings"} if record.settings else set()
    found |= _of_all("step", record.steps, ("text", "calls"))
    return found | _of_all("call", (call for step in record.steps for call in step.calls), ("requestor",))


def _of_all(prefix: str, items: Iterable[msgspec.Struct], skipped: Sequence[str]) -> set[str]:
    names: set[str] = set()
    for item in items:
        for name in item.__struct_fields__:
            if name not in skipped and getattr(item, name) is not None:
                names.add(f"{prefix}.{name}")
    return names
