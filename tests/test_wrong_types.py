"""A value of the wrong type costs no more than itself: every place of every scaffold's sample, one at a time."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from corpora_in_tests import SAMPLES

from trajlab.corpus.rows import PartRows, Place
from trajlab.formats import log_format
from trajlab.records import Trajectory
from trajlab.sources.discover import discover
from trajlab.sources.files import Bundle, SourceFile
from trajlab.sources.probe import Probe

SCAFFOLDS = (
    "swe_agent", "openhands", "openhands_sdk", "atif", "harbor", "terminal_bench", "inspect_log", "claude_code",
    "harbor_traces", "codex", "gemini_cli", "tau2", "langchain", "r2e_gym",
    "agentlab", "cline", "copilot_cli", "cursor", "droid", "opencode", "otel", "pi",
    "mlflow", "langsmith", "langfuse", "agent_lightning",
)  # fmt: skip
WRONG: tuple[Any, ...] = (None, True, -7, 1e300, 10**30, "words", "", [], {}, [[]], ["a", 1], {"type": 3}, float("nan"))
MUTANTS = 15


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to every value inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield (*path, key)
        yield from places(below, (*path, key))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    document = copy.deepcopy(document)
    inside = document
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return document


def logs(name: str) -> list[SourceFile]:
    """Plain JSON samples that the format claims."""
    files = discover([SAMPLES / name]).files
    return [f for f in files if f.relpath.endswith((".json", ".jsonl", ".traj")) and recognised(name, f) is not None]


def recognised(name: str, file: SourceFile) -> str | None:
    return log_format(name).recognise(Probe(file))


def read(name: str, variant: str, file: SourceFile) -> list[Any]:
    """What is read from a file, after all its rows were made of it."""
    records = list(log_format(name).read(Bundle(name, variant, (file,))))
    rows = PartRows(keep_texts=True, flush=lambda table: None)
    for number, record in enumerate(records):
        if isinstance(record, Trajectory):
            rows.add(Place("run", name, "/", file.relpath, file.relpath), str(number), record)
    for table in rows.tables.values():
        table.take()
    assert rows.trajectories == sum(isinstance(record, Trajectory) for record in records), "a record was lost"
    return records


@pytest.mark.parametrize("name", SCAFFOLDS)
def test_a_wrong_type_costs_at_most_its_record(name: str, tmp_path: Path) -> None:
    rng = random.Random(2026)
    for file in logs(name):
        variant = recognised(name, file)
        assert variant is not None
        text = Path(file.path).read_text("utf-8")
        by_line = file.relpath.endswith(".jsonl")
        document = [json.loads(line) for line in text.splitlines()] if by_line else json.loads(text)
        whole = sum(isinstance(record, Trajectory) for record in read(name, variant, file))
        everywhere = list(places(document))
        for path in rng.sample(everywhere, min(MUTANTS, len(everywhere))):
            mutant = changed(document, path, rng.choice(WRONG))
            target = tmp_path / file.relpath
            target.parent.mkdir(parents=True, exist_ok=True)
            written = "".join(json.dumps(row) + "\n" for row in mutant) if by_line else json.dumps(mutant)
            target.write_text(written, encoding="utf-8")
            found = next(f for f in discover([tmp_path]).files if f.relpath == file.relpath)
            records = read(name, variant, found)
            assert records, path
            assert len(path) < 3 or sum(isinstance(record, Trajectory) for record in records) >= whole - 1, path
