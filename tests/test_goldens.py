"""What was read from each sample folder, as reviewed by eye against the logs.

``pytest tests/test_goldens.py --update-golden`` rewrites the files; review the difference against the raw logs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from corpora_in_tests import SAMPLES, sample_files

import trajlab
from trajlab.schema import LABELS, label_column

GOLDENS = Path(__file__).resolve().parent / "goldens"


def sample_folders() -> list[str]:
    """Second-level folders, and one level more where a folder only groups others."""
    deeper = {"spellings", "edge_cases"}
    parts = [Path(path).parts for path in sample_files()]
    return sorted({"/".join(p[: 3 if p[1] in deeper else 2]) for p in parts})


def golden(folder: str) -> dict[str, Any]:
    corpus = trajlab.read(SAMPLES / folder)
    order = ["source", "source_line", "ordinal"]
    rows = corpus.trajectories.sort(order, nulls_last=True).collect().iter_rows(named=True)
    problems = corpus.problems.sort("source", "line", "code").collect().iter_rows(named=True)
    return {
        "trajectories": [compact(row) for row in rows],
        **metrics_of(corpus),
        "problems": [f"{p['source']}:{p['line']} {p['code']}" for p in problems],
    }


def metrics_of(corpus: trajlab.Corpus) -> dict[str, Any]:
    """Of each metric log beside no rollouts: the last step that counts, by common names, the others by their own."""
    if corpus.runs:
        return {}
    found: dict[str, dict[str, Any]] = {}
    rows = corpus.metrics.sort("source", "step", "line").collect().iter_rows(named=True)
    for row in rows:
        empty = {"at": row["source"], "run": row["run"], "rows": 0, "counts": 0, "last": {}}
        log = found.setdefault(row["source"], empty)
        log["rows"] += 1
        log["counts"] += row["counts"]
        log["last"][row["name"] or f"({row['raw_name']})"] = [row["step"], row["logged_as"] or row["value"]]
    return {"metrics": list(found.values())}


def compact(row: dict[str, Any]) -> dict[str, Any]:
    """What a person can check against the log; nulls and zeros of counts left out."""
    place = row["source"] if row["source_line"] is None else f"{row['source']}:{row['source_line']}"
    facts = {
        "at": place,
        "task": row["task_id"],
        "steps": row["n_steps"],
        "calls": row["n_calls"],
        "executed": row["n_executed"],
        "invalid": row["n_invalid"],
        "labels": {label: n for label in LABELS if (n := row[f"n_{label_column(label)}"])},
        "termination": row["termination"],
        "stop": row["stop_reason"],
        "correct": row["correct"],
        "reward": row["reward"],
        "train_step": row["train_step"],
    }
    return {key: value for key, value in facts.items() if value is not None and value != {}}


def as_text(value: dict[str, Any]) -> str:
    """One trajectory a line."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in value["trajectories"])
    logs = ",\n".join(json.dumps(row, ensure_ascii=False) for row in value.get("metrics", []))
    metrics = f'"metrics": [\n{logs}\n],\n' if "metrics" in value else ""
    problems = json.dumps(value["problems"], ensure_ascii=False, indent=1)
    return f'{{"trajectories": [\n{lines}\n],\n{metrics}"problems": {problems}}}\n'


@pytest.mark.parametrize("folder", [f for f in sample_folders() if not f.endswith("empty_file")])
def test_sample_folder_reads_as_reviewed(folder: str, update_golden: bool) -> None:
    path = GOLDENS / f"{folder.replace('/', '-')}.json"
    text = as_text(golden(folder))
    if update_golden:
        path.write_text(text, encoding="utf-8")
    reviewed = json.loads(path.read_text(encoding="utf-8"))
    read = json.loads(text)
    assert read["problems"] == reviewed["problems"]
    assert read.get("metrics") == reviewed.get("metrics")
    for mine, theirs in zip(read["trajectories"], reviewed["trajectories"], strict=True):
        assert mine == theirs


def test_no_golden_without_a_sample_folder() -> None:
    names = {f"{folder.replace('/', '-')}.json" for folder in sample_folders() if not folder.endswith("empty_file")}
    assert {path.name for path in GOLDENS.iterdir()} == names


def test_equal_conversations_read_equal_in_every_compression_and_container() -> None:
    same = ["openai_arguments_as_objects", "compressed_gzip", "compressed_xz", "compressed_zstd", "json_document"]
    frames = [
        trajlab.read(SAMPLES / "chat" / name).trajectories.select("content_digest", "correct", "reward").collect()
        for name in same
    ]
    assert all(frame.equals(frames[0]) for frame in frames)
    assert frames[0].select(pl.col("correct").sum()).item() == 2


def test_actions_in_fences_are_the_calls_that_the_same_conversations_make_natively() -> None:
    made = {}
    for name in ("fenced_actions", "xml_calls"):
        corpus = trajlab.read(SAMPLES / "chat" / name)
        calls = corpus.tool_calls.join(corpus.trajectories.select("trajectory_id", "task_id"), on="trajectory_id")
        shell = calls.filter(pl.col("command") != "submit").sort("task_id", "call")
        made[name] = shell.select("task_id", "command", "executed", "output_chars").collect().rows()
    assert made["fenced_actions"] == made["xml_calls"] and len(made["xml_calls"]) > 10
