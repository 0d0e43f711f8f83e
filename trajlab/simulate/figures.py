"""What a simulated maths run shows, and whether that is what was asked for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from trajlab.simulate.description import Description, bounds
from trajlab.simulate.exact import told
from trajlab.simulate.facts import Facts
from trajlab.simulate.series import partition


def shown(run: Description, facts: Facts) -> dict[str, Any]:
    """Figures as they came out: counts, means, and both partitions."""
    score = facts.score_by_step(run.steps)
    by_score_epoch = [float(score[members].mean()) for members in partition(run.epochs.score_steps)]
    return {
        "trajectories": len(facts.correct),
        "counts": counts(facts, slice(None)),
        "mean_steps": float(facts.turns.mean()),
        "distinct_rewards": len(np.unique(facts.cents)),
        "max_reward": int(facts.cents.max()) / 100,
        "score": {
            "mean": float(score.mean()),
            "std": float(score.std()),
            "max": float(score.max()),
            "by_epoch": by_score_epoch,
        },
        "by_rollout_epoch": [
            {"mean_steps": float(facts.turns[rows].mean()), "trajectories": rows.stop - rows.start}
            | {"counts": counts(facts, rows)}
            for rows in _epochs(run, facts)
        ],
    }


def counts(facts: Facts, rows: slice) -> dict[str, int]:
    """Trajectories of each kind among some rows."""
    right, tool, turns, cents = facts.correct[rows], facts.tool[rows], facts.turns[rows], facts.cents[rows]
    kinds = {
        "correct": right,
        "tool_use": tool,
        "zero": cents == 0,
        "negative": cents < 0,
        "one_step": turns == 1,
        "two_step": turns == 2,
        "three_plus_step": turns > 2,
        "answer_and_tool": right & tool,
        "only_answer": right & ~tool,
        "only_tool": ~right & tool,
        "neither": ~right & ~tool,
    }
    return {name: int(flags.sum()) for name, flags in kinds.items()}


def _epochs(run: Description, facts: Facts) -> list[slice]:
    members = partition(run.epochs.rollout_steps)
    return [slice(facts.rows_of(int(m[0]) + 1).start, facts.rows_of(int(m[-1]) + 1).stop) for m in members]


def unmet(run: Description, figures: dict[str, Any]) -> list[str]:
    """Figures of the description that did not come out within their printed precision."""
    behaviour, score, _ = told(run)
    whole, count = figures["trajectories"], figures["counts"]
    asked: list[tuple[str, Decimal | None, float]] = [
        (f"{name}_pct", figure, 100 * count[name] / whole)
        for name, figure in {
            "correct": run.outcome.correct_pct,
            "zero": run.outcome.zero_pct,
            "negative": run.outcome.negative_pct,
            "tool_use": behaviour.tool_use_pct,
            "one_step": behaviour.one_step_pct,
            "two_step": behaviour.two_step_pct,
            "three_plus_step": behaviour.three_plus_step_pct,
            "answer_and_tool": behaviour.quadrants.answer_and_tool,
            "only_answer": behaviour.quadrants.only_answer,
            "only_tool": behaviour.quadrants.only_tool,
            "neither": behaviour.quadrants.neither,
        }.items()
    ]
    asked += [(f"score {name}", getattr(score, name), figures["score"][name]) for name in ("mean", "std", "max")]
    asked += [("mean_steps", behaviour.mean_steps, figures["mean_steps"])]
    asked += [("max_reward", run.outcome.max_reward, figures["max_reward"])]
    if run.outcome.distinct_rewards is not None:
        asked += [("distinct_rewards", Decimal(run.outcome.distinct_rewards), figures["distinct_rewards"])]
    asked += list(zip(_names("score"), score.epoch_mean, figures["score"]["by_epoch"], strict=False))
    asked += _by_epoch(run, figures["by_rollout_epoch"])
    return [f"{name} {figure} (came out as {value:.6g})" for name, figure, value in asked if _misses(figure, value)]


def _names(what: str) -> list[str]:
    return [f"{what} of epoch {number}" for number in range(1000)]


def _by_epoch(run: Description, epochs: list[dict[str, Any]]) -> list[tuple[str, Decimal | None, float]]:
    behaviour = told(run)[0]
    shares = {"correct": run.outcome.epoch_correct_pct, "tool_use": behaviour.epoch_tool_use_pct}
    asked: list[tuple[str, Decimal | None, float]] = []
    for name, figures in shares.items():
        values = [100 * epoch["counts"][name] / epoch["trajectories"] for epoch in epochs]
        asked += zip(_names(name), figures, values, strict=False)
    means = [epoch["mean_steps"] for epoch in epochs]
    return [*asked, *zip(_names("mean_steps"), behaviour.epoch_mean_steps, means, strict=False)]


def _misses(figure: Decimal | None, value: float) -> bool:
    if figure is None:
        return False
    low, high = bounds(figure)
    return not low - 1e-9 <= value <= high + 1e-9
