"""L10: validation."""

from __future__ import annotations

from trajlab.checks.finding import Finding
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, number, plural
from trajlab.measures.signals import Signal

_TO_LOG = "validation scores on held-out tasks every few steps (verl: trainer.test_freq, TRL: eval_strategy)"
_NOT_SCORES = (
    "length",
    "num_turns",
    "runtime",
    "per_second",
    "loss",
    "/std",
    "tokens",
    "min_length",
    "max_length",
    "epoch",
)


def held_out(facts: RunFacts) -> list[Signal]:
    """Validation scores, those logged most often first."""
    scores = [
        s
        for name, s in facts.signals.items()
        if name.startswith("val.") and len(s.values) and not any(word in name for word in _NOT_SCORES)
    ]
    return sorted(scores, key=lambda s: (-len(s.values), s.name))


def scores(facts: RunFacts) -> Finding:
    """The validation score logged most often: gain, best step, fall from the best."""
    says, found = Says("D1001", "L10", "validation"), held_out(facts)
    if not found:
        return says.unobserved(_TO_LOG)
    score = found[0]
    said = [
        (
            f"{s.name}: {number(s.first)} at step {s.steps[0]}, {number(s.last)} at step {s.steps[-1]}, best "
            f"{number(s.highest[0])} at step {s.highest[1]}",
            None,
        )
        for s in found[:8]
    ]
    if len(score.values) < 2:
        return says.unobserved(_TO_LOG, f"{score.name} once only, {number(score.first)} at step {score.steps[0]}")
    best, at = score.highest
    told = (
        f"{score.name} {number(score.first)} at step {score.steps[0]} to {number(score.last)} at step "
        f"{score.steps[-1]}, best {number(best)} at step {at}; {plural(len(score.values), 'score')}, n not logged"
    )
    if best - score.last > facts.line("validation", "fall"):
        return says(
            "warn",
            f"{told}: it has fallen from its best",
            step=at,
            evidence=said,
            advice="Keep the checkpoint of the best step; look at what moved after it.",
        )
    if score.last - score.first < facts.line("validation"):
        return says(
            "warn",
            f"{told}: no gain over {facts.line('validation'):g}",
            evidence=said,
            advice="Nothing proven has been learned: rolling back loses nothing.",
        )
    return says("ok", told, evidence=said)


def panels(facts: RunFacts) -> list[Panel]:
    """Validation scores."""
    shown = {s.name: s for s in held_out(facts)[:3]}
    return [Panel("validation", shown, points=frozenset(shown))]


LAYER = Layer("L10", "Validation", "Does it hold on tasks that are not trained on?", (scores,), panels)
