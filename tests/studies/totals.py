"""Totals that logs state, read with plain ``json``, against what trajlab counted in their turns.

Usage: PYTHONPATH=.:tests python tests/studies/totals.py LOGS [LOGS ...]     (folders of logs)

For mini-swe-agent, SWE-agent, OpenHands, ATIF and tau2: model calls, tokens and cost as the log sums them up, against
the rows of ``steps``. Counted means that every turn records the quantity; elsewhere a sum would say less than there
was. Prints a table and every log that differs. The results of the shared samples are quoted in totals.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import trajlab

FORMATS = ("mini_swe_agent", "swe_agent", "openhands", "atif", "tau2")
COUNTED = {
    "model calls": pl.len().cast(pl.Float64),
    "prompt tokens": pl.col("prompt_tokens").sum().cast(pl.Float64),
    "completion tokens": pl.col("completion_tokens").sum().cast(pl.Float64),
    "cost": pl.col("cost").sum(),
}
RECORDED = {"prompt tokens": "prompt_tokens", "completion tokens": "completion_tokens", "cost": "cost"}


def documents(path: Path) -> Iterator[dict[str, Any]]:
    """The objects in a file: a document, the lines of one, or the simulations of a tau2 file."""
    text = path.read_text(encoding="utf-8")
    try:
        values = [json.loads(text)]
    except ValueError:
        values = [json.loads(line) for line in text.split("\n") if line.strip()]
    for value in values:
        if isinstance(value, dict):
            yield from value["simulations"] if isinstance(value.get("simulations"), list) else [value]


def stated(name: str, value: dict[str, Any]) -> dict[str, float | None]:
    """What a log says of itself."""
    info = value.get("info") if isinstance(value.get("info"), dict) else {}
    stats = (info or {}).get("model_stats") or {}
    if name in ("mini_swe_agent", "swe_agent"):
        return {
            "model calls": stats.get("api_calls"),
            "prompt tokens": stats.get("tokens_sent"),
            "completion tokens": stats.get("tokens_received"),
            "cost": stats.get("instance_cost"),
        }
    if name == "openhands":
        metrics = value.get("metrics") or {}
        tokens = metrics.get("accumulated_token_usage") or {}
        answers = metrics.get("token_usages") or metrics.get("costs")
        return {
            "model calls": len(answers) if answers else None,
            "prompt tokens": tokens.get("prompt_tokens"),
            "completion tokens": tokens.get("completion_tokens"),
            "cost": metrics.get("accumulated_cost"),
        }
    if name == "atif":
        final = value.get("final_metrics") or {}
        agent = [step for step in value.get("steps") or [] if step.get("source") == "agent"]
        return {
            "model calls": len(agent),
            "prompt tokens": final.get("total_prompt_tokens"),
            "completion tokens": final.get("total_completion_tokens"),
            "cost": final.get("total_cost_usd"),
        }
    spoken = [one for one in value.get("messages") or [] if one.get("role") == "assistant"]
    return {"model calls": len(spoken) or None, "cost": value.get("agent_cost")}


def compare(*folders: Path) -> pl.DataFrame:
    """One row for each total that a log states: format, source, total, stated, counted (null: not recorded)."""
    corpus = trajlab.read(*folders)
    trajectories = corpus.trajectories.filter(pl.col("format").is_in(FORMATS)).collect()
    steps = corpus.steps.collect().partition_by("trajectory_id", as_dict=True)
    rows: list[tuple[str, str, str, float, float | None]] = []
    for (root, source), own in trajectories.partition_by("root", "source", as_dict=True, maintain_order=True).items():
        said = list(documents(Path(str(root)) / str(source)))
        if len(said) != own.height:  # continuations and attempts within a file: totals are those of the whole
            continue
        for value, row in zip(said, own.to_dicts(), strict=True):
            turns = steps.get((row["trajectory_id"],), pl.DataFrame(schema=corpus.steps.collect_schema()))
            for total, number in stated(row["format"], value).items():
                if not number:  # replays and demonstrations count nothing
                    continue
                column = RECORDED.get(total)
                known = column is None or (turns.height > 0 and turns[column].null_count() == 0)
                counted = float(turns.select(COUNTED[total]).item()) if known else None
                rows.append((row["format"], str(source), total, float(number), counted))
    schema = {"format": pl.String, "source": pl.String, "total": pl.String, "stated": pl.Float64, "counted": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        agrees=(pl.col("stated") - pl.col("counted")).abs() <= 1e-6 * pl.max_horizontal(pl.col("stated").abs(), 1.0)
    )


def summary(found: pl.DataFrame) -> pl.DataFrame:
    """Per format and total: logs that state it, those where it can be counted, those that agree."""
    return (
        found.group_by("format", "total", maintain_order=True)
        .agg(
            stated=pl.len(), counted=pl.col("counted").count(), agree=pl.col("agrees").sum(),
            differ=(~pl.col("agrees")).sum(),
        )
        .sort("format", "total")
    )  # fmt: skip


def main() -> int:
    found = compare(*map(Path, sys.argv[1:]))
    print("| format | total | logs that state it | counted in turns | agree | differ |")
    print("|---|---|---|---|---|---|")
    for row in summary(found).iter_rows():
        print("| " + " | ".join(map(str, row)) + " |")
    for one in found.filter(~pl.col("agrees")).iter_rows(named=True):
        print(f"- {one['source']}: {one['total']}: stated {one['stated']:g}, counted {one['counted']:g}")
    return 0 if found.height else 1


if __name__ == "__main__":
    sys.exit(main())
