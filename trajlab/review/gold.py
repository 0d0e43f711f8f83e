"""Labelled steps as a gold file for ``trajlab accuracy``: commands with the labels that people gave them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.errors import writing
from trajlab.review.labels import Labels
from trajlab.schema import LABELS


def gold_commands(
    corpus: Corpus, labels: Labels, question: str = "command"
) -> tuple[list[dict[str, object]], list[str]]:
    """Commands of the steps that were labelled, each with its labels.

    Args:
        corpus: Where the commands stand.
        labels: Merged labels; the answer is a list of labels of the codebook. Of several reviewers those count that
            agree.
        question: Id of the question.

    Returns:
        Rows with ``command``, ``labels``, ``trajectory_id`` and ``step``, and why a label gave no row.
    """
    said = labels.frame.filter((pl.col("question") == question) & pl.col("step").is_not_null())
    agreed = said.group_by("item", "step").agg(pl.col("value").unique().sort()).sort("item", "step")
    calls = corpus.tool_calls.filter(pl.col("command").is_not_null()).select("trajectory_id", "step", "command")
    commands = {
        (item, step): found
        for item, step, found in calls.group_by("trajectory_id", "step").agg("command").collect().iter_rows()
    }
    rows: list[dict[str, object]] = []
    left_out: list[str] = []
    for item, step, values in agreed.iter_rows():
        found = commands.get((item, step), [])
        chosen = _chosen(values)
        place = f"{item} step {step}"
        if len(values) > 1:
            left_out.append(f"{place}: reviewers disagree")
        elif chosen is None:
            left_out.append(f"{place}: {values[0]} is no list of labels of the codebook")
        elif len(found) != 1:
            left_out.append(f"{place}: {len(found)} commands in the step, so it is not said which one is meant")
        else:
            rows.append({"command": found[0], "labels": chosen, "trajectory_id": item, "step": step})
    return rows, left_out


def write_gold(path: str | Path, rows: list[dict[str, object]]) -> Path:
    """Write the rows as JSONL; a folder that is missing is made."""
    with writing(Path(path)) as target:
        target.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return target


def _chosen(values: list[str]) -> list[str] | None:
    found = msgspec.json.decode(values[0])
    chosen = [found] if isinstance(found, str) else found
    if not isinstance(chosen, list) or not chosen or any(label not in LABELS for label in chosen):
        return None
    return [label for label in LABELS if label in chosen]
