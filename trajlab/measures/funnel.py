"""From tasks to updates: how many are left at each stage, why the others are not, and how hard what stayed is."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import polars as pl

from trajlab.behavior.termination import ERRORS
from trajlab.measures.frame import Trajectories
from trajlab.measures.signals import Signal, first_of
from trajlab.stats import Estimate, not_observed, proportion

_CUT = ("truncated_budget", "timeout")
_MINI, _BATCH = "actor_rollout_ref.actor.ppo_mini_batch_size", "data.train_batch_size"
_PASSES = "actor_rollout_ref.actor.ppo_epochs"
_GATES = {
    "is_ratio.masked": "tokens masked by rejection",
    "is_ratio.veto": "sequences vetoed",
    "staleness.dropped": "dropped as too old, a step",
}


class Stage(msgspec.Struct, frozen=True):
    """One stage of the funnel."""

    name: str
    count: float | None
    """``None``: the logs do not show it."""
    unit: str
    lost: str
    """Why others are not here, with counts; of an unobserved stage what to log."""
    solved: Estimate
    """Share solved among what is left: difficulty may change on the way."""


def funnel(trajectories: Trajectories, signals: Mapping[str, Signal], settings: Mapping[str, str]) -> list[Stage]:
    """All stages of a run, in order; a stage that its logs do not show has no count."""
    frame = trajectories.frame
    ended = frame.filter(pl.col("termination").is_not_null())
    kinds = dict(ended.group_by("termination").len().sort("termination").iter_rows())
    whole = ended.filter(~pl.col("termination").is_in([*_CUT, *ERRORS, "incomplete"]))
    scored = frame.filter(pl.col("reward").is_not_null())
    fit = pl.col("gradable").fill_null(value=True) & ~pl.col("is_error")
    valid = scored.filter(fit)
    tasks, unnamed = frame["task_id"].drop_nulls().n_unique(), frame["task_id"].null_count()
    episodes = [
        ("episodes started", frame, frame.height > 0, f"{trajectories.set_aside:,} set aside as repeated"),
        ("completed", whole, ended.height > 0, _kinds(kinds, frame.height - ended.height)),
        ("reward available", scored, scored.height > 0, f"{frame.height - scored.height:,} without"),
        ("valid", valid, scored.height > 0, f"{scored.height - valid.height:,} of the error classes or not gradable"),
    ]
    return [
        Stage(
            "tasks sampled",
            float(tasks) if tasks else None,
            "tasks",
            f"{unnamed:,} episodes name no task",
            _solved(frame),
        ),
        *(
            Stage(name, float(rows.height) if known else None, "episodes", lost, _solved(rows))
            for name, rows, known, lost in episodes
        ),
        _accepted(signals),
        _tokens(trajectories, signals),
        _updates(signals, settings),
    ]


def _solved(frame: pl.DataFrame) -> Estimate:
    if frame.is_empty():
        return not_observed()
    return proportion(frame["correct"].cast(pl.Float64).fill_null(float("nan")).to_numpy(), frame["cluster"].to_numpy())


def _kinds(kinds: Mapping[str, int], unknown: int) -> str:
    if not kinds:
        return "log why each trajectory ended"
    said = [f"{count:,} {name.replace('_', ' ')}" for name, count in kinds.items()]
    return ", ".join([*said, *([f"{unknown:,} not recorded"] if unknown else [])])


def _accepted(signals: Mapping[str, Signal]) -> Stage:
    said = [
        f"{text}: {s.mean:.3g} on average"
        for name, text in _GATES.items()
        if (s := first_of(signals, name)) is not None
    ]
    lost = "; ".join(said) or "log what freshness and ratio gates drop or mask"
    return Stage("accepted by freshness and ratio gates", None, "", lost, not_observed())


def _tokens(trajectories: Trajectories, signals: Mapping[str, Signal]) -> Stage:
    """Tokens the agents wrote; the metric log's mean length where the rollouts do not count them."""
    name, frame = "effective action tokens", trajectories.frame
    if frame.height and frame["completion_tokens"].null_count() == 0:
        return Stage(
            name, float(frame["completion_tokens"].sum()), "tokens", "generated, masks not known", not_observed()
        )
    length = first_of(signals, "response_tokens.mean")
    batches = frame.group_by(step="train_step").len().drop_nulls()
    if length is not None and batches.height:
        logged = pl.DataFrame({"step": length.steps, "value": length.values})
        both = batches.join(logged, on="step", how="inner")
        if both.height == batches.height:
            total = float((both["len"] * both["value"]).sum())
            return Stage(name, total, "tokens", "mean length of the metric log times the batch", not_observed())
    return Stage(name, None, "tokens", "log the tokens that enter the loss", not_observed())


def _updates(signals: Mapping[str, Signal], settings: Mapping[str, str]) -> Stage:
    """Optimizer updates: training steps times mini-batches of a batch, as configured."""
    steps = max(
        (len(s.values) for name, s in signals.items() if name in ("actor.grad_norm", "score.mean", "loss")), default=0
    )
    try:
        each = float(settings[_BATCH]) / float(settings[_MINI]) * float(settings.get(_PASSES, "1"))
    except (KeyError, ValueError, ZeroDivisionError):
        told = f"{steps:,} training steps; log batch and mini-batch size" if steps else "log the training steps"
        return Stage("optimizer updates", None, "updates", told, not_observed())
    known = float(steps * each) if steps else None
    return Stage(
        "optimizer updates", known, "updates", f"{steps:,} training steps, {each:g} updates each", not_observed()
    )
