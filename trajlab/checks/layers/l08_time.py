"""L8: throughput and time."""

from __future__ import annotations

import numpy as np

from trajlab.checks.finding import Finding
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, listed, number, percent, plural
from trajlab.measures.signals import Signal

_WHOLE = ("step.seconds",)
_ROLLOUT = ("gen", "generation", "generate", "rollout", "rollout_wait", "sampling")


def phase_shares(facts: RunFacts) -> dict[str, float]:
    """Share of the step's time by phase, the largest first; empty where step or phases are not logged."""
    whole = facts.signal(*_WHOLE)
    if whole is None or whole.values.sum() <= 0:
        return {}
    found = {}
    for name, signal in facts.signals.items():
        if not name.endswith(".seconds") or name in _WHOLE or not len(signal.values):
            continue
        _, one, other = np.intersect1d(whole.steps, signal.steps, return_indices=True)
        total = float(whole.values[one].sum())
        if total > 0 and len(one) * 2 >= len(whole.steps):
            found[name.removesuffix(".seconds")] = float(signal.values[other].sum()) / total
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def phases(facts: RunFacts) -> Finding:
    """Where the time of a step goes."""
    says, shares = Says("D801", "L8", "time by phase"), phase_shares(facts)
    if not shares:
        return says.unobserved("the seconds of the step and of its phases")
    first, share = next(iter(shares.items()))
    kind = "generation is the bottleneck" if first in _ROLLOUT else f"{first} is the bottleneck"
    said = ", ".join(f"{name} {percent(value, 0)}" for name, value in list(shares.items())[:8])
    rest = 1 - sum(shares.values())
    more = f"; {percent(rest, 0)} in no phase" if rest > 0.01 else "; phases overlap" if rest < -0.01 else ""
    return says("ok", f"{said}{more}; {kind}" if share > 0.5 else f"{said}{more}")


def seconds(facts: RunFacts) -> Finding:
    """Seconds of a step: growth over the run, outliers, and the sum."""
    says, whole = Says("D802", "L8", "time of a step"), facts.signal(*_WHOLE)
    if whole is None:
        return says.unobserved("the seconds of each step")
    median = float(np.median(whole.values))
    told = (
        f"mean {number(whole.mean)} s, {number(float(whole.values.sum()) / 3600)} h in "
        f"{plural(len(whole.values), 'step')}"
    )
    slow = [int(step) for step in whole.steps[whole.values > facts.line("step_seconds", "outlier") * median]]
    evidence: list[tuple[str, int | None]] = (
        [(f"over {facts.line('step_seconds', 'outlier'):g} times the median: steps {listed(slow)}", slow[0])]
        if slow
        else []
    )
    change = whole.change
    if change is not None and len(whole.values) >= 10 and change > facts.line("step_seconds", "growth"):
        return says(
            "warn",
            f"{told}; {change:+.0%} between the ends of the run",
            evidence=evidence,
            step=slow[0] if slow else None,
            advice="Longer responses, or a system that slows down: compare with length (L7) and throughput.",
        )
    return says("ok", f"{told}{f'; {change:+.0%} between the ends' if change is not None else ''}", evidence=evidence)


def idle(facts: RunFacts) -> Finding:
    """Time that learner or rollouts wait for each other."""
    says = Says("D803", "L8", "waiting")
    waits = {name: s for name, s in facts.signals.items() if name.startswith("idle.") and len(s.values)}
    if not waits:
        return says.unobserved("idle shares of learner and rollouts, for asynchronous runs")
    return says("ok", ", ".join(f"{name.removeprefix('idle.')} {percent(s.mean, 0)}" for name, s in waits.items()))


def panels(facts: RunFacts) -> list[Panel]:
    """Seconds of a step and of its largest phases."""
    whole = facts.signal(*_WHOLE)
    curves: dict[str, Signal] = {} if whole is None else {"step": whole}
    for name in list(phase_shares(facts))[:2]:
        curves[name] = facts.signals[f"{name}.seconds"]
    return [Panel("seconds", curves)]


LAYER = Layer(
    "L8",
    "Throughput and time",
    "Where does the time go?",
    (phases, seconds, idle),
    panels,
    core=frozenset({"D801", "D802"}),
)
