"""What the sections on provenance and the funnel say beside their counts."""

from __future__ import annotations

import polars as pl

from trajlab.report.epoch_audit import EpochAudit

UNOBSERVED = "unobserved in rollout logs"


def left_out(audit: EpochAudit) -> dict[str, str]:
    """Which trajectories behaviour is not told of, and what the independent outcome is."""
    frame, said = audit.frame, {}
    errors = int(frame["is_error"].sum())
    if errors:
        kept = audit.trajectories.population.include_errors
        what = "kept in behaviour rates, as asked" if kept else "in no behaviour rate (steps, tools, commands …)"
        said["ended by an error of the system"] = f"{errors:,}, {what}"
    both = frame.filter(pl.col("outcome").is_not_null() & pl.col("correct").is_not_null())
    if both.height and (both["outcome"] == both["correct"]).all() and frame["correct"].count() == both.height:
        said["independent outcome"] = (
            f"the same as correct in all {both.height:,}: nothing tells that it is a second verdict"
        )
    return said


def trained_on(audit: EpochAudit) -> tuple[int | None, str]:
    """Trajectories with a token trained on, and how many tokens that are."""
    tokens = audit.policy.frame["trained_tokens"].drop_nulls()
    if tokens.is_empty():
        return None, UNOBSERVED
    return int((tokens > 0).sum()), f"{tokens.sum():,} tokens that the loss mask keeps, known for {len(tokens):,}"
