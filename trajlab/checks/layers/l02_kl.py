"""L2: KL suppression, score against reward; and the KL to the reference."""

from __future__ import annotations

import numpy as np

from trajlab.checks.finding import Finding, Status
from trajlab.checks.layers import from_tokens
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, number, percent, plural
from trajlab.stats.step_rules import Crossing, crossings

KL = ("kl.reference", "kl.loss", "kl.penalty")
"""Names of the KL to the reference, the plainest first."""


def gap(facts: RunFacts) -> Finding:
    """What penalties take off the score before the policy learns from it."""
    says = Says("D201", "L2", "score against reward")
    score, reward = facts.signal("score.mean"), facts.signal("reward.mean")
    if score is None or reward is None:
        return says.unobserved("both the mean score and the mean reward that is learned from")
    steps, one, other = np.intersect1d(score.steps, reward.steps, return_indices=True)
    if not len(steps):
        return says.unobserved("score and reward at the same steps")
    lost = score.values[one] - reward.values[other]
    size = float(np.abs(score.values[one]).mean())
    if size == 0:
        return says("ok", "the score is zero throughout")
    share = float(lost.mean()) / size
    told = (
        f"penalties take {percent(share)} of the score ({number(float(lost.mean()))} on average, "
        f"{number(float(lost[-1]))} at step {steps[-1]})"
    )
    if share <= facts.line("reward_gap"):
        return says("ok", told)
    over = steps[lost > facts.line("reward_gap") * size]
    return says(
        "warn",
        told,
        step=int(over[0]) if len(over) else None,
        advice="The policy learns the penalty as well as the task: lower the KL coefficient, or move KL into the loss.",
    )


def reference(facts: RunFacts) -> Finding:
    """KL to the reference over its line: springs come back within one step, excursions later, a runaway rises on."""
    says = Says("D202", "L2", "KL to the reference")
    kl = facts.signal(*KL)
    if kl is None:
        return says.unobserved("the KL to the reference model (in the loss or in the reward)")
    line = facts.line("alarm_kl", "level")
    found = crossings(kl.values, line, grown=facts.line("alarm_kl", "share"))
    most, at = kl.highest
    told = f"mean {number(kl.mean)}, highest {number(most)} at step {at} ({kl.name}, line {line:g})"
    if not found:
        return says("ok", f"{told}; never over the line")
    kinds = {kind: [one for one in found if one.kind == kind] for kind in ("spring", "excursion", "runaway")}
    counts = ", ".join(plural(len(own), kind) for kind, own in kinds.items() if own)
    worst = kinds["runaway"] or kinds["excursion"]
    status: Status = "warn" if worst else "ok"
    advice = (
        "Lower the learning rate or raise the KL coefficient; go back before the crossing."
        if kinds["runaway"]
        else "Watch it: an excursion that rises on is a runaway."
    )
    first = worst[0] if worst else None
    return says(status, f"{told}; {counts}", step=int(kl.steps[first.first]) if first else None, advice=advice,
                evidence=[_crossing(one, kl.steps) for one in found[:12]])  # fmt: skip


def _crossing(one: Crossing, steps: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[str, int]:
    first, last = int(steps[one.first]), int(steps[one.last])
    where = f"at step {first}" if first == last else f"steps {first} to {last}"
    told = f", told at step {int(steps[one.told_at])}" if one.kind == "runaway" else ""
    return f"{one.kind} {where}, peak {number(one.peak)}{told}{', not over yet' if one.open else ''}", first


def panels(facts: RunFacts) -> list[Panel]:
    """KL with its line; score beside reward."""
    kl, score, reward = facts.signal(*KL), facts.signal("score.mean"), facts.signal("reward.mean")
    found = (
        []
        if kl is None
        else [Panel("KL to the reference", {kl.name: kl}, lines={"line": facts.line("alarm_kl", "level")})]
    )
    if score is not None and reward is not None:
        found.append(Panel("score and reward", {"score": score, "reward": reward}))
    return found


LAYER = Layer(
    "L2", "KL suppression", "Does the KL penalty eat the score, and does KL stay in hand?",
    (gap, reference, from_tokens.reference_by_prompt), panels, core=frozenset({"A010", "D201", "D202"}),
)  # fmt: skip
