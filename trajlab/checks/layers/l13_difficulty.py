"""L13: data difficulty."""

from __future__ import annotations

import polars as pl

from trajlab.checks.finding import Finding
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, number, percent


def groups(facts: RunFacts) -> Finding:
    """Shares of groups that are too hard and too easy."""
    says = Says("D1301", "L13", "groups too hard or too easy")
    found = facts.audit.groups if facts.audit is not None else None
    hard, easy = (None, None) if found is None else (found.shares["too_hard"], found.shares["too_easy"])
    if found is None or hard is None or easy is None or hard.value is None or easy.value is None:
        return says.unobserved("a group id and a verdict for every attempt")
    told = f"too hard (15 % solved at most) {hard}; too easy (85 % at least) {easy}"
    over = [
        word
        for word, share in (("hard", hard), ("easy", easy))
        if (share.value or 0) > facts.line("difficulty", f"too_{word}")
    ]
    if not over:
        return says("ok", told)
    return says(
        "warn",
        f"most groups are too {' or '.join(over)}: {told}",
        advice="Sample tasks that the policy solves now and then; warm up with SFT where all are too hard.",
    )


def tasks(facts: RunFacts) -> Finding:
    """Tasks never solved, and the verdict over the periods."""
    says, rows = Says("D1302", "L13", "tasks"), facts.rewards
    judged = None if rows is None else rows.filter(pl.col("correct").is_not_null())
    if judged is None or judged.is_empty():
        return says.unobserved("a verdict for every trajectory")
    by_period = judged.group_by("period", maintain_order=True).agg(pl.col("correct").mean()).drop_nulls("period")
    said = ", ".join(f"{period} {percent(share)}" for period, share in list(by_period.iter_rows())[:8])
    known = judged.filter(pl.col("task_id").is_not_null()).group_by("task_id").agg(pl.col("correct").any(), pl.len())
    solved, attempts = known["correct"].to_numpy(), known["len"].to_numpy()
    never = (
        f"; {percent(1 - float(solved.mean()))} of {known.height:,} tasks never solved in "
        f"{number(float(attempts.mean()))} attempts each"
        if known.height
        else ""
    )
    return says("ok", f"correct {percent(float(judged['correct'].to_numpy().mean()))}: {said}{never}")


def panels(facts: RunFacts) -> list[Panel]:
    """Verdict and zero rewards."""
    named = (("correct", "correct_rate"), ("reward zero", "reward_zero_rate"))
    return [
        Panel(
            "correct, and reward zero",
            {word: s for word, name in named if (s := facts.signal(name)) is not None},
            share=True,
        )
    ]


LAYER = Layer("L13", "Data difficulty", "Are the tasks within reach?", (groups, tasks), panels)
