"""L6: entropy and exploration."""

from __future__ import annotations

import polars as pl

from trajlab.checks.finding import Finding
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, first_beyond, number, percent


def entropy(facts: RunFacts) -> Finding:
    """Entropy from start to end: a fall says that exploration is spent, a rise that the policy is random."""
    says, signal = Says("D601", "L6", "entropy"), facts.signal("entropy")
    if signal is None:
        return says.unobserved("the mean entropy of the policy")
    change = signal.change
    if change is None:
        return says.unobserved("the entropy at several steps", f"{number(signal.first)} at one step")
    least, at = signal.lowest
    plain = f"{signal.last / signal.first - 1:+.1%}" if signal.first else "–"
    told = (
        f"{number(signal.first)} at step {signal.steps[0]} to {number(signal.last)} at step {signal.steps[-1]} "
        f"({plain}, {change:+.0%} between medians of the ends), lowest {number(least)} at step {at}"
    )
    per_epoch = _decay(facts, signal.first, signal.last)
    evidence: list[tuple[str, int | None]] = [(f"{per_epoch:+.1%} an epoch", None)] if per_epoch is not None else []
    start, fall, rise = signal.ends[0], facts.line("entropy_change", "fall"), facts.line("entropy_change", "rise")
    if change < -fall:
        return says(
            "warn",
            f"{told}: down by more than {percent(fall, 0)}",
            step=first_beyond(signal, (1 - fall) * start, high=False),
            evidence=evidence,
            advice="Exploration is spent: raise the entropy coefficient or the temperature before more epochs.",
        )
    if change > rise:
        return says(
            "warn",
            f"{told}: up by more than {percent(rise, 0)}",
            step=first_beyond(signal, (1 + rise) * start, high=True),
            evidence=evidence,
            advice="Look at tool use beside it: where that falls, the policy has become random.",
        )
    return says("ok", told, evidence=evidence)


def _decay(facts: RunFacts, first: float, last: float) -> float | None:
    """Mean change in an epoch, compounded."""
    epochs = len(facts.score.epochs) if facts.score is not None else 0
    return None if epochs < 2 or first <= 0 or last <= 0 else (last / first) ** (1 / epochs) - 1


def diversity(facts: RunFacts) -> Finding:
    """Distinct responses, and distinct ways to success, early against late."""
    says, rows = Says("D602", "L6", "distinct responses"), facts.rewards
    if rows is None or rows.is_empty():
        return says.unobserved("the rollouts")
    periods = rows["period"].unique(maintain_order=True).drop_nulls().to_list()
    ends = [periods[0], periods[-1]] if len(periods) > 1 else periods[:1]
    said = []
    for period in ends:
        own = rows.filter(pl.col("period") == period)
        good = own.filter(pl.col("correct"))
        more = (
            f", {percent(good['content_digest'].n_unique() / good.height)} among {good.height:,} successes"
            if good.height
            else ""
        )
        said.append(f"{period} {percent(own['content_digest'].n_unique() / own.height)} of {own.height:,}{more}")
    variance = rows.filter(pl.col("group_id").is_not_null()).group_by("period", "group_id").agg(pl.col("reward").var())
    by_period = variance.group_by("period").agg(pl.col("reward").mean())
    spread = dict(by_period.drop_nulls().iter_rows())
    same = [f"{period} {number(spread[period])}" for period in ends if period in spread]
    evidence: list[tuple[str, int | None]] = (
        [(f"variance of the reward at the same prompt: {', '.join(same)}", None)] if same else []
    )
    return says("ok", "; ".join(said), evidence=evidence)


def panels(facts: RunFacts) -> list[Panel]:
    """Entropy with its lines."""
    signal = facts.signal("entropy")
    if signal is None:
        return []
    start = signal.ends[0]
    lines = {
        "-40 %": (1 - facts.line("entropy_change", "fall")) * start,
        "+40 %": (1 + facts.line("entropy_change", "rise")) * start,
    }
    return [Panel("entropy", {"entropy": signal}, lines=lines)]


LAYER = Layer(
    "L6",
    "Entropy and exploration",
    "Is there still something to find out?",
    (entropy, diversity),
    panels,
    core=frozenset({"A011", "D601"}),
)
