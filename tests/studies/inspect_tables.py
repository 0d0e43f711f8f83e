"""Inspect logs read by trajlab against Inspect's own tables, `inspect_ai.analysis`, file by file.

Usage: PYTHONPATH=. python tests/studies/inspect_tables.py FOLDER...   (needs inspect-ai in the same environment)
Compared for each file: samples by id and epoch, their token totals and numeric scores, messages by role, functions of
the results, those of refused calls included. Inspect's table holds a message that several samples share once: of such
files only the samples are compared. `submit` calls, which a scaffold's messages leave out, are no difference.
Prints JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
from inspect_ai.analysis import messages_df, samples_df
from inspect_ai.scorer import value_to_float

import trajlab
from trajlab.corpus.corpus import Corpus

as_number = value_to_float()


def theirs(path: Path) -> dict[str, Any]:
    """What Inspect's tables say of one log."""
    samples, messages = samples_df(str(path), quiet=True), messages_df(str(path), quiet=True)
    scores = [name for name in samples.columns if name.startswith("score_")]
    told: dict[str, Any] = {"samples": {}, "shared": False, "roles": Counter(), "functions": Counter()}
    for _, row in samples.iterrows():
        value = next((row[name] for name in scores if row[name] is not None and row[name] == row[name]), None)
        told["samples"][str(row["id"]), int(row["epoch"])] = (
            int(row["total_tokens"] or 0),
            None if value is None else as_number(value),
        )
    told["shared"] = int(samples["message_count"].fillna(0).sum()) != len(messages) if len(samples) else False
    if len(messages):
        told["roles"] = Counter(messages["role"])
        results = messages[messages["role"] == "tool"]["tool_call_function"].dropna()
        told["functions"] = Counter(name for name in results if name != "submit")
    return told


def ours(corpus: Corpus) -> dict[str, Any]:
    """The same of our tables."""
    rows = corpus.trajectories.collect()
    calls = corpus.tool_calls.filter(pl.col("executed") & (pl.col("tool") != "submit")).collect()
    refused = corpus.tool_calls.filter(pl.col("invalid").is_not_null()).collect()
    roles = Counter(corpus.prompts.collect()["role"]) + Counter({"assistant": int(rows["n_steps"].sum())})
    return {
        "samples": {
            (row["task_id"].rpartition("/")[2], row["attempt"]): (
                (row["prompt_tokens"] or 0) + (row["completion_tokens"] or 0),
                row["reward"],
            )
            for row in rows.iter_rows(named=True)
        },
        "roles": roles + Counter({"tool": calls.height}),
        "functions": Counter(calls["tool"]) + Counter(refused["tool"].drop_nulls()),
    }


def compare(path: Path, outcome: dict[str, Any]) -> None:
    expected = theirs(path)
    if not expected["samples"]:
        outcome["without_samples"] += 1
        return
    found = ours(trajlab.read(path))
    outcome["files"] += 1
    outcome["shared_messages"] += expected["shared"]
    outcome["samples"] += len(expected["samples"])
    parts = ["samples"] if expected["shared"] else ["samples", "roles", "functions"]
    for part in parts:
        if expected[part] == found[part]:
            outcome["equal"][part] += 1
        else:
            outcome["differences"].append([path.name, part, str(expected[part])[:300], str(found[part])[:300]])


def main(folders: list[str]) -> int:
    paths = sorted(p for folder in folders for p in Path(folder).rglob("*.eval"))
    outcome: dict[str, Any] = {
        "files": 0, "samples": 0, "without_samples": 0, "shared_messages": 0, "equal": Counter(), "differences": [],
        "not_read_by_inspect": [],
    }  # fmt: skip
    for path in paths:
        try:
            compare(path, outcome)
        except trajlab.TrajlabError as error:
            outcome["differences"].append([path.name, "not read", "", str(error)])
        except Exception as error:  # inspect-ai cannot read every log of its own
            outcome["not_read_by_inspect"].append([path.name, type(error).__name__, str(error)[:100]])
    print(json.dumps(outcome, indent=1))
    return 1 if outcome["differences"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
