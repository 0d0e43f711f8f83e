"""Inspect logs read by trajlab against Inspect's own reader of the same files, sample by sample.

Usage: PYTHONPATH=. python tests/studies/inspect_logs.py FOLDER...   (needs inspect-ai in the same environment)
Compared: samples, scores, tokens, messages by role, tool calls by name. Known differences are taken into account, and
nothing else: `submit` calls, which the messages leave out, and results of calls that messages hold without the call.
(Inspect's tables hold a message that several samples share once, so messages are counted in the log.) Prints JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
from inspect_ai.log import read_eval_log
from inspect_ai.scorer import value_to_float

import trajlab

as_number = value_to_float()


def theirs(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Facts of each sample, by id and epoch."""
    log = read_eval_log(str(path))
    if not log.samples:
        return {}
    found = {}
    for sample in log.samples:
        calls = Counter(c.function for m in sample.messages if m.role == "assistant" for c in m.tool_calls or [])
        found[str(sample.id), sample.epoch] = {
            "roles": Counter(message.role for message in sample.messages),
            "calls": calls,
            "score": next((as_number(score.value) for score in (sample.scores or {}).values()), None),
            "tokens": sum(usage.total_tokens for usage in [sample.model_usage.get(log.eval.model)] if usage),
        }
    return found


def ours(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    corpus = trajlab.read(path)
    found = {}
    for row in corpus.trajectories.collect().iter_rows(named=True):
        mine = pl.col("trajectory_id") == row["trajectory_id"]
        calls = corpus.tool_calls.filter(mine).collect()
        prompts = corpus.table("prompts").filter(mine).collect()
        roles = Counter(prompts["role"]) + Counter({"assistant": row["n_steps"]})
        answered = calls.filter(pl.col("executed") & (pl.col("tool") != "submit")).height
        found[row["task_id"].rpartition("/")[2], row["attempt"]] = {
            "roles": roles + Counter({"tool": answered}),
            "calls": Counter(calls.filter(pl.col("tool") != "submit")["tool"]),
            "score": row["reward"],
            "tokens": (row["prompt_tokens"] or 0) + (row["completion_tokens"] or 0),
        }
    return found


def main(folders: list[str]) -> int:
    paths = sorted(p for folder in folders for p in Path(folder).rglob("*") if p.suffix in (".eval", ".json"))
    outcome: dict[str, Any] = {"files": 0, "samples": 0, "equal": 0, "differences": [], "not_read_by_inspect": []}
    for path in paths:
        try:
            expected = theirs(path)
        except Exception as error:  # inspect-ai cannot read every log of its own
            outcome["not_read_by_inspect"].append([path.name, type(error).__name__])
            continue
        found = ours(path) if expected else {}
        outcome["files"] += 1
        for key in sorted(expected.keys() | found.keys()):
            outcome["samples"] += 1
            if expected.get(key) == found.get(key):
                outcome["equal"] += 1
            else:
                outcome["differences"].append([path.name, key, str(expected.get(key)), str(found.get(key))])
    print(json.dumps(outcome, indent=1))
    return 1 if outcome["differences"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
