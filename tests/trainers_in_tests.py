"""What tests of trainers' readers share: reading one file, and writing small ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trajlab.corpus.plan import claim
from trajlab.formats import log_format
from trajlab.records import Problem, Trajectory
from trajlab.sources.discover import discover
from trajlab.sources.files import Bundle

CALL_TEXT = '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>'


def read(path: Path) -> tuple[list[Trajectory], list[Problem]]:
    """What the one reader that claims the file makes of it, without the corpus."""
    found = claim(discover([path]).files[0], None)
    assert found.role == "log", path
    assert found.format is not None and found.variant is not None
    records = list(log_format(found.format).read(Bundle(found.format, found.variant, (found.file,))))
    trajectories = [record for record in records if isinstance(record, Trajectory)]
    problems = [record for record in records if isinstance(record, Problem)]
    return trajectories, problems + [problem for t in trajectories for problem in t.problems]


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def write_lines(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def say(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}
