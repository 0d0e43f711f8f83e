"""L11: reward design."""

from __future__ import annotations

import numpy as np
import polars as pl

from trajlab.behavior.termination import ERRORS
from trajlab.checks.finding import Finding
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, number, percent, plural
from trajlab.measures.reward_classes import CLASSES, UNNAMED, class_of
from trajlab.stats import decompose, proportion

_REWARD = "the reward of every trajectory"
_HELD_OUT = ("validation", "eval")
_VERDICTS = frozenset(("acc", "accuracy", "correct", "is_correct", "pred", "resolved", "reward", "score", "success"))
"""What stands among the parts and is none: verdicts, and the total."""


def values(facts: RunFacts) -> Finding:
    """Does the reward tell trajectories apart?"""
    says, rows = Says("D1101", "L11", "values of the reward"), facts.rewards
    rewards = np.zeros(0) if rows is None else rows["reward"].drop_nulls().to_numpy()
    if not len(rewards):
        return says.unobserved(_REWARD)
    distinct = len(np.unique(rewards))
    shares = [(word, float(sign.mean())) for word, sign in
              (("above zero", rewards > 0), ("zero", rewards == 0), ("below zero", rewards < 0))]  # fmt: skip
    told = (
        f"{plural(distinct, 'distinct value')} in {len(rewards):,}, {number(float(rewards.min()))} to "
        f"{number(float(rewards.max()))}; " + ", ".join(f"{percent(share)} {word}" for word, share in shares)
    )
    if distinct > 1:
        return says("ok", told)
    return says(
        "warn", f"{told}: it tells nothing apart", advice="A constant reward teaches nothing: look at the verifier."
    )


def components(facts: RunFacts) -> Finding:
    """Which part of the reward moved it; the deltas of the parts sum to the total."""
    says = Says("D1102", "L11", "components of the reward")
    parts = facts.components
    if parts is None or parts.is_empty():
        logged = {
            n: s
            for n, s in facts.signals.items()
            if n.startswith("score.part.") and not n.endswith(".std") and len(s.values)
        }
        if not logged:
            return says.unobserved("each part of the reward under its own name")
        return says(
            "ok",
            ", ".join(
                f"{n.removeprefix('score.part.')} {number(s.ends[0])} to {number(s.ends[1])}"
                for n, s in list(logged.items())[:8]
            ),
        )
    wide = parts.pivot("name", index=["trajectory_id", "period"], values="value", aggregate_function="sum").sort(
        "trajectory_id"
    )
    names = [name for name in wide.columns if name not in ("trajectory_id", "period") and name.lower() not in _VERDICTS]
    if not names:
        return says.unobserved("each part of the reward under its own name")
    periods = parts["period"].unique(maintain_order=True).drop_nulls().to_list()
    totals = {name: float(wide[name].mean() or 0.0) for name in names}  # type: ignore[arg-type]
    whole = sum(totals.values())
    share = ", ".join(
        f"{name} {number(value)}" + (f" ({percent(value / whole, 0)})" if whole > 0 else "")
        for name, value in totals.items()
    )
    if len(periods) < 2:
        return says("ok", f"mean {share}")
    ends = [wide.filter(pl.col("period") == period).select(names).to_numpy() for period in (periods[0], periods[-1])]
    found = decompose(*ends)
    if found is None:
        return says("ok", f"mean {share}; no trajectory of both ends has all parts")
    deltas = ", ".join(f"{name} {delta:+.3g}" for name, delta in zip(names, found.deltas, strict=True))
    return says("ok", f"mean {share}; from {periods[0]} to {periods[-1]}: {deltas}, together {found.total:+.3g}")


def classes(facts: RunFacts) -> Finding:
    """What the reward is made of, by the six classes of components."""
    says, parts = Says("D1105", "L11", "classes of the reward's parts"), facts.components
    named = [] if parts is None or parts.is_empty() else parts["name"].unique().sort().to_list()
    logged = [n.removeprefix("score.part.") for n in facts.signals if n.startswith("score.part.")]
    names = [n for n in named or logged if n.lower() not in _VERDICTS and not n.endswith((".std", ".min", ".max"))]
    if not names:
        return says.unobserved("each part of the reward under its own name")
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(class_of(name), []).append(name)
    told = "; ".join(f"{kind}: {', '.join(found[kind])}" for kind in (*CLASSES, UNNAMED) if kind in found)
    missing = [kind for kind in CLASSES if kind not in found]
    return says("ok", f"{told}. By their names; none of: {', '.join(missing)}" if missing else told)


def outcome(facts: RunFacts) -> Finding:
    """Reward against an independent outcome: the two off-diagonal cells are what a person reads first."""
    says, rows = Says("D1103", "L11", "reward against independent outcome"), facts.rewards
    quadrants = facts.audit.quadrants if facts.audit is not None else []
    table = next((one for one in quadrants if one.name == "reward_outcome"), None)
    if table is not None:
        return says("ok", "; ".join(f"{cell.replace('_', ' ')} {share}" for cell, share in table.cells.items()))
    both = None if rows is None else rows.filter(pl.col("reward").is_not_null() & pl.col("outcome").is_not_null())
    if both is None or both.is_empty():
        return says.unobserved("a verdict that is not the training reward (a hidden verifier, an evaluation report)")
    good, bad = (both.filter(pl.col("outcome") == value)["reward"].mean() for value in (True, False))
    return says("ok", f"mean reward {number(good)} where the outcome is good, {number(bad)} where not; state "  # type: ignore[arg-type]
                      f"reward_threshold for the four cells (n {both.height:,})")  # fmt: skip


def errors_as_zero(facts: RunFacts) -> Finding:
    """Failures of the system that were trained on as reward 0."""
    says, rows = Says("D1104", "L11", "failures of the system trained on with reward 0"), facts.rewards
    if rows is None or rows["termination"].null_count() == rows.height:
        return says.unobserved("why each trajectory ended")
    trained = rows.filter(~pl.col("split").is_in(_HELD_OUT).fill_null(value=False))
    errors = trained.filter(pl.col("termination").is_in(ERRORS))
    scored = errors.filter(pl.col("reward").is_not_null())
    if errors.is_empty():
        return says("ok", f"none of {trained.height:,} trajectories ended in an error of the system")
    zero = scored.filter(pl.col("reward") == 0)
    share = proportion(np.concatenate([np.ones(zero.height), np.zeros(trained.height - zero.height)]))
    told = f"{zero.height:,} of {plural(errors.height, 'error')} ({share} of all)"
    if share.value is None or share.value <= facts.line("error_reward"):
        return says("ok", told)
    kinds = zero.group_by("termination").len().sort("termination")
    first = zero["train_step"].drop_nulls()
    return says("warn", told, step=int(first.min()) if len(first) else None,  # type: ignore[arg-type]
                evidence=[(f"{name.replace('_', ' ')}: {count:,}", None) for name, count in kinds.iter_rows()],
                advice="Leave them out of the update: the policy must not learn to avoid a broken system.")  # fmt: skip


def panels(facts: RunFacts) -> list[Panel]:
    """Reward zero by step; parts of the reward."""
    found = []
    zero = facts.signal("reward_zero_rate")
    if zero is not None:
        found.append(Panel("reward zero", {"share": zero}, share=True, lines={"line": facts.line("zero_reward")}))
    parts = {n.removeprefix("score.part."): s for n, s in facts.signals.items()
             if n.startswith("score.part.") and not n.endswith(".std") and len(s.values)}  # fmt: skip
    return [*found, Panel("parts of the reward", dict(list(parts.items())[:6]))]


LAYER = Layer(
    "L11",
    "Reward design",
    "Does the reward say what is meant?",
    (values, components, classes, outcome, errors_as_zero),
    panels,
    core=frozenset({"D1101", "D1102", "D1103"}),
)
