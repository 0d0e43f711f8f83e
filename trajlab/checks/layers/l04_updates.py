"""L4: strength of the update."""

from __future__ import annotations

import numpy as np

from trajlab.checks.finding import Finding, Status
from trajlab.checks.layers import from_tokens
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, listed, number, percent, plural
from trajlab.checks.layers.spikes import attributed, spikes
from trajlab.measures.applied import Applied

_MINI, _BATCH = "actor_rollout_ref.actor.ppo_mini_batch_size", "data.train_batch_size"


def clip_fraction(facts: RunFacts) -> Finding:
    """Share of tokens at which the ratio was clipped."""
    says, clipped = Says("D401", "L4", "clip fraction"), facts.signal("clip_fraction")
    if clipped is None:
        upper, lower = facts.signal("clip_fraction.upper"), facts.signal("clip_fraction.lower")
        if upper is None and lower is None:
            return says.unobserved("the share of clipped tokens")
        clipped = upper if upper is not None else lower
    assert clipped is not None
    low, high = facts.line("clip_fraction", "low"), facts.line("clip_fraction", "high")
    most, at = clipped.highest
    told = (
        f"mean {percent(clipped.mean, 2)}, highest {percent(most, 2)} at step {at} ({percent(low, 0)} to "
        f"{percent(high, 0)} expected)"
    )
    dual = facts.signal("clip_fraction.dual")
    evidence: list[tuple[str, int | None]] = (
        [] if dual is None else [(f"second bound (dual clip): mean {percent(dual.mean, 2)}", None)]
    )
    if clipped.mean > high:
        first = int(clipped.steps[clipped.values > high][0])
        return says("warn", f"{told}: much of the batch does not count", step=first, evidence=evidence,
                    advice="Lower the learning rate or take fewer updates a batch.")  # fmt: skip
    if most >= low:
        return says("ok", told, evidence=evidence)
    mini, batch = facts.settings.settings.get(_MINI), facts.settings.settings.get(_BATCH)
    if mini is not None and mini == batch:
        return says(
            "ok", f"{told}: one update a batch is configured, so the ratio is 1 when it is made", evidence=evidence
        )
    return says(
        "warn",
        f"{told}: the clip never acts",
        evidence=evidence,
        advice="With normalised group advantages and small steps it may be as it should: confirm by ratio and KL "
        "before raising the learning rate; KL runs away before the clip acts.",
    )


def update_kl(facts: RunFacts) -> Finding:
    """KL of the policy that sampled to the one being updated."""
    says, kl = Says("D402", "L4", "KL of the update"), facts.signal("kl.update")
    if kl is None:
        return says.unobserved("the KL of old and new policy")
    most, at = kl.highest
    return says("ok", f"mean {number(kl.mean)}, highest {number(most)} at step {at}")


def gradient(facts: RunFacts) -> Finding:
    """Norm of the actor's gradient: numbers at all, and spikes with what explains them."""
    says = Says("D403", "L4", "gradient norm of the actor")
    norm = facts.signals.get("actor.grad_norm")
    if norm is None:
        return says.unobserved("the norm of the actor's gradient")
    if norm.broken:
        still = not len(norm.values) or norm.broken[-1] > int(norm.steps[-1])
        status: Status = "alarm" if still else "warn"
        return says(
            status,
            f"no finite number at {plural(len(norm.broken), 'step')} ({listed(norm.broken)})",
            step=norm.broken[0],
            advice="Stop, go back before that step, look for infinite losses or log-probabilities.",
        )
    if not len(norm.values):
        return says.unobserved("the norm of the actor's gradient")
    most, at = norm.highest
    told = (
        f"median {number(float(np.median(norm.values)))}, mean {number(norm.mean)}, highest {number(most)} at step {at}"
    )
    high = spikes(norm, facts.line("gradient_spike", "times"))
    if not high:
        return says("ok", told)
    return says(
        "ok",
        f"{told}; {plural(len(high), 'single spike')}, none acts by itself",
        step=high[0],
        evidence=attributed(facts, norm, high),
    )


def mismatch(facts: RunFacts) -> Finding:
    """KL between rollout engine and trainer at the same weights."""
    says = Says("D404", "L4", "rollout engine against trainer")
    kl = facts.signal("kl.rollout", "kl.rollout_k3", "kl.rollout_k2")
    if kl is None:
        probs = facts.signal(
            "rollout_probs.correlation", "rollout_probs.difference_mean", "rollout_logprobs.difference_mean"
        )
        if probs is None:
            return says.unobserved("the KL of rollout engine and trainer at the same weights")
        return says("ok", f"{probs.name} mean {number(probs.mean)}; their KL is not logged")
    line, size = facts.line("alarm_rollout_kl", "level"), np.abs(kl.values)
    told = f"|KL| mean {number(float(size.mean()))}, highest {number(float(size.max()))} (line {line:g})"
    over = kl.steps[size > line]
    if not len(over):
        return says("ok", told)
    return says(
        "warn",
        f"{told}; over it at {plural(len(over), 'step')}",
        step=int(over[0]),
        advice="Compare templates, masks and numerics of the two engines; cap the lag; correct by importance weights.",
    )


def importance(facts: RunFacts) -> Finding:
    """Importance ratios: never the mean alone."""
    says = Says("D405", "L4", "importance ratio")
    mean, ess = facts.signal("is_ratio.mean"), facts.signal("is_ratio.ess")
    if mean is None and ess is None:
        return says.unobserved("mean, extremes and effective sample size of the importance ratios")
    parts, over = [], []
    if mean is not None:
        low, high = facts.line("importance_ratio", "low"), facts.line("importance_ratio", "high")
        parts.append(
            f"mean {number(mean.mean)} ({number(mean.lowest[0])} to {number(mean.highest[0])}; lines {low:g} and "
            f"{high:g})"
        )
        over += mean.steps[(mean.values < low) | (mean.values > high)].tolist()
    if ess is not None:
        line = facts.line("alarm_is_ratio_ess", "level")
        parts.append(
            f"effective sample size {percent(ess.mean, 0)}, lowest {percent(ess.lowest[0], 0)} (line "
            f"{percent(line, 0)})"
        )
        over += ess.steps[ess.values < line].tolist()
    extremes = [
        f"{word} {number(s.values.max() if word == 'highest' else s.values.min())}"
        for word, name in (("highest", "is_ratio.max"), ("lowest", "is_ratio.min"))
        if (s := facts.signal(name)) is not None
    ]
    told = "; ".join([*parts, *extremes])
    if not over:
        return says("ok", told)
    steps = sorted(set(over))
    return says(
        "warn",
        f"{told}; beyond the lines at {plural(len(steps), 'step')}",
        step=steps[0],
        advice="Most of the batch no longer counts: cap the lag, drop what is too old, compare the engines.",
    )


def lag(facts: RunFacts) -> Finding:
    """How far the policy that samples lags behind."""
    says, stale = Says("D406", "L4", "policy lag"), facts.signal("staleness.mean", "staleness.max")
    if stale is None:
        return says.unobserved("weight version at sampling and at training, for asynchronous runs")
    line = facts.line("alarm_staleness", "level")
    told = f"{stale.name} mean {number(stale.mean)}, highest {number(stale.highest[0])} (line {line:g} versions)"
    over = stale.steps[stale.values > line]
    if not len(over):
        return says("ok", told)
    return says("warn", told, step=int(over[0]), advice="Look at queue wait and rollout duration; cap the lag.")


def learning_rate(facts: RunFacts) -> Finding:
    """Learning rate of the actor as configured and as applied."""
    return applied_finding(
        Says("D407", "L4", "learning rate of the actor"), facts, "actor_rollout_ref.actor.optim.lr", "actor.lr"
    )


def applied_finding(says: Says, facts: RunFacts, option: str, metric: str) -> Finding:
    """Configured against applied: a resume that restores the old scheduler keeps the old rate without a word."""
    found = next((item for item in facts.applied if item.option == option), None)
    if found is None:
        return says.unobserved("the learning rate applied at each step")
    if found.other is None:
        return says("unobserved", f"applied {found.said}; no configured value to hold against it")
    if not found.other or _schedule(found):
        word = "as configured" if not found.other else "a schedule that starts or ends at the configured value"
        return says("ok", f"configured {found.configured}, applied {found.said}: {word}")
    step = next((int(s) for s, v in zip(facts.signals[metric].steps, facts.signals[metric].values, strict=True)
                 if not np.isclose(v, float(found.configured or 0), rtol=1e-6)), None)  # fmt: skip
    return says(
        "warn",
        f"configured {found.configured}, applied {found.said}: another value at {plural(found.other, 'step')} "
        f"of {found.steps}",
        step=step,
        advice="A resume restores optimizer and scheduler, and with them the old rate: load without the scheduler, "
        "or say which rate is meant.",
    )


def _schedule(found: Applied) -> bool:
    """More than a few values, the configured one the highest of them: warm-up and decay."""
    values = [value for value, _ in found.applied]
    return len(values) > 3 and max(values) <= float(found.configured or 0) * (1 + 1e-6)


def panels(facts: RunFacts) -> list[Panel]:
    """Clip fraction, KL of the update, gradient norm, learning rate."""
    named = (
        ("clip fraction", "clip_fraction", True),
        ("KL of the update", "kl.update", False),
        ("gradient norm of the actor", "actor.grad_norm", False),
        ("KL of rollout engine and trainer", "kl.rollout", False),
    )
    return [
        Panel(title, {name: s}, share=share) for title, name, share in named if (s := facts.signal(name)) is not None
    ]


LAYER = Layer(
    "L4",
    "Strength of the update",
    "How far does an update move the policy, and is it what was configured?",
    (
        clip_fraction,
        update_kl,
        gradient,
        mismatch,
        importance,
        lag,
        learning_rate,
        from_tokens.ratios,
        from_tokens.lag,
        from_tokens.sampler_by_prompt,
    ),
    panels,
    core=frozenset({"D401", "D402", "D403"}),
)
