"""L5: the critic."""

from __future__ import annotations

import numpy as np

from trajlab.checks.finding import Finding, Status
from trajlab.checks.layers import from_tokens
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, listed, number, percent, plural
from trajlab.checks.layers.l04_updates import applied_finding
from trajlab.checks.layers.spikes import attributed, spikes
from trajlab.measures.signals import Signal
from trajlab.measures.token_groups import Negatives
from trajlab.stats.step_rules import runs_over

ESTIMATOR = "algorithm.adv_estimator"
_WITHOUT = ("grpo", "rloo", "reinforce", "remax", "opo", "gpg", "dr_grpo", "gspo", "dapo", "cispo")
_CLIP = ("critic.grad_clip", "critic.optim.clip_grad", "critic.optim.max_grad_norm")
_WHITEN = ("algorithm.gae_whiten_advantages", "algorithm.whiten_advantages")


def without_critic(facts: RunFacts) -> str | None:
    """Why there is no critic; ``None`` where there may be one."""
    if any(name.startswith("critic.") and len(s.values) + len(s.broken) for name, s in facts.signals.items()):
        return None
    if from_tokens.has_values(facts):
        return None
    estimator = facts.settings.settings.get(ESTIMATOR, "").lower()
    if estimator.startswith(_WITHOUT):
        return f"{estimator} has no critic"
    if facts.signal("score.group_std", "groups.zero_std") is not None:
        return "the trainer compares within groups and logs no critic"
    return None


def _setting(facts: RunFacts, names: tuple[str, ...]) -> str | None:
    return next((facts.settings.settings[name] for name in names if name in facts.settings.settings), None)


def _float(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def starved(facts: RunFacts) -> Finding:
    """Gradient norm against its clip: a critic whose every update is cut down does not learn."""
    says, norm = Says("D501", "L5", "gradient norm of the critic against its clip"), facts.signal("critic.grad_norm")
    if norm is None:
        return says.unobserved("the norm of the critic's gradient before clipping")
    clip, median = _float(_setting(facts, _CLIP)), float(np.median(norm.values))
    spread = f"median {number(median)}, {number(norm.lowest[0])} to {number(norm.highest[0])}"
    if clip is None or clip <= 0:
        return says.unobserved(
            "the configured clip of the critic's gradient (critic.grad_clip)", f"{spread}; the clip is not observed"
        )
    share = float((norm.values > clip).mean())
    told = (
        f"{spread}, clip {clip:g}: clipped at {percent(share, 0)} of the steps, the median norm is "
        f"{number(median / clip)} times the clip"
    )
    if share < facts.line("critic_starved", "clipped") or median < facts.line("critic_starved", "times") * clip:
        return says("ok", told)
    variance = facts.signal("critic.explained_variance")
    weak = variance is not None and handover_step(facts) is None
    status: Status = "alarm" if weak else "warn"
    return says(
        status,
        f"starved: {told}" + ("; its explained variance never held over the hand-over line" if weak else ""),
        step=int(norm.steps[norm.values > clip][0]),
        advice="Raise the critic's clip to the usual size of its norm, or its learning rate means nothing; until it "
        "explains the returns, whiten the advantages.",
    )


def handover_step(facts: RunFacts) -> int | None:
    """Step at which the explained variance has been over its line for so many steps in a row; ``None``: not yet."""
    variance = facts.signal("critic.explained_variance")
    if variance is None:
        return None
    count = int(facts.line("explained_variance", "in_a_row"))
    runs = runs_over(variance.values, facts.line("explained_variance", "handover"), count)
    return int(variance.steps[runs[0][0] + count - 1]) if runs else None


def explained(facts: RunFacts) -> Finding:
    """Explained variance, and whether it has held long enough to hand over to the critic."""
    says, variance = Says("D502", "L5", "explained variance"), facts.signal("critic.explained_variance")
    if variance is None:
        return says.unobserved("the critic's explained variance, with the variance of the returns and n")
    handover, count = facts.line("explained_variance", "handover"), int(facts.line("explained_variance", "in_a_row"))
    late = variance.values[len(variance.values) // 2 :]
    best, at = variance.highest
    step = handover_step(facts)
    longest = max((end - start + 1 for start, end in runs_over(variance.values, handover, 1)), default=0)
    given = f"over {handover:g} for {count} steps in a row at step {step}" if step is not None else (
        f"never over {handover:g} for {count} steps in a row (longest {longest}): no hand-over yet")  # fmt: skip
    told = (
        f"median {number(float(np.median(variance.values)))}, second half {number(float(np.median(late)))}, best "
        f"{number(best)} at step {at}; {given}"
    )
    evidence: list[tuple[str, int | None]] = [("variance of the returns and n are not logged beside it", None)]
    if float(np.median(late)) >= facts.line("explained_variance"):
        return says("ok", told, step=step, evidence=evidence)
    return says("warn", told, evidence=evidence,
                advice="The value baseline is not there: what is learned is near to REINFORCE without one. Look at the "
                       "critic's clip, learning rate and updates a batch.")  # fmt: skip


def whitening(facts: RunFacts) -> Finding:
    """Whitened advantages until the critic has proved itself."""
    says, setting = Says("D503", "L5", "whitening of advantages"), _setting(facts, _WHITEN)
    if setting is None:
        return says.unobserved("whether advantages are whitened (the trainer's configuration)")
    on, step = setting.lower() in ("true", "1", "yes"), handover_step(facts)
    if on:
        when = (
            f"may be handed over to the critic since step {step}"
            if step is not None
            else "the critic has not taken over yet"
        )
        return says("ok", f"on; {when}", step=step)
    if step is not None:
        return says("ok", f"off; the critic held over its line at step {step}")
    return says("warn", "off, while the critic has never held over its hand-over line",
                advice="Whiten until the explained variance has been over the line for long enough.")  # fmt: skip


def in_a_row(facts: RunFacts) -> Finding:
    """The runs rule on the gradient norm; single spikes with what explains them."""
    says, norm = Says("D504", "L5", "spikes of the critic's gradient norm"), facts.signal("critic.grad_norm")
    if norm is None:
        return says.unobserved("the norm of the critic's gradient")
    line, count = facts.line("alarm_critic_grad_norm", "level"), int(facts.line("alarm_critic_grad_norm", "count"))
    high = spikes(norm, 0.0, line)
    runs = runs_over(norm.values, line, count)
    if not high:
        return says("ok", f"none over {line:g}")
    longest = max(end - start + 1 for start, end in runs_over(norm.values, line, 1))
    told = f"{plural(len(high), 'step')} over {line:g}, longest run {longest}"
    if not runs:
        return says(
            "ok", f"{told}: never {count} in a row, so none acts", step=high[0], evidence=attributed(facts, norm, high)
        )
    return says(
        "warn",
        f"{told}: {count} in a row",
        step=int(norm.steps[runs[0][0]]),
        evidence=attributed(facts, norm, high),
        advice="Look at hollow batches first, then at the critic's learning rate and clip.",
    )


def negative(facts: RunFacts) -> Finding:
    """Batches whose raw advantages are all negative: strictly by the highest, in practice by 95 % of the tokens."""
    says, high = Says("D505", "L5", "batches of negative advantages only"), facts.signal("advantages.max")
    mean, tokens = facts.signal("advantages.mean"), from_tokens.token_negatives(facts)
    if high is None and tokens is None:
        return says.unobserved("the highest raw advantage of each batch, before whitening, or that of every token")
    if mean is not None and float(np.abs(mean.values).max()) < 1e-6:
        high = None
    if tokens is not None and tokens.whitened:
        tokens = None
    if high is None and tokens is None:
        return says.not_applicable("the logged advantages are whitened: no batch can be all negative")
    strict = [] if high is None else high.steps[high.values < 0].tolist()
    strict = sorted({*strict, *([] if tokens is None else tokens.steps[tokens.largest < 0].tolist())})
    share, count = facts.line("negative_batches", "share"), int(facts.line("alarm_all_negative", "count"))
    practical = [] if tokens is None else tokens.steps[tokens.share >= share].tolist()
    evidence = [_in_practice(tokens, share), *_below_zero(mean, count)]
    if not strict and not practical:
        return says("ok", "none", evidence=evidence)
    longest = 0 if high is None else max((e - s + 1 for s, e in runs_over(-high.values, 0.0, 1)), default=0)
    if tokens is not None:
        longest = max([longest, *(e - s + 1 for s, e in runs_over(tokens.share, share - 1e-12, 1))])
    said = f"strictly at {plural(len(strict), 'step')} ({listed(strict)})"
    if tokens is not None:
        said += f", in practice at {plural(len(practical), 'step')} ({listed(practical)})"
    return says(
        "warn",
        f"{said}, {longest} in a row (line {count})",
        step=min(*strict[:1], *practical[:1]) if strict and practical else [*strict, *practical][0],
        evidence=evidence,
        advice="Such an update punishes everything alike, and what is neutral grows: whiten advantages or mend the "
        "critic.",
    )


def _in_practice(tokens: Negatives | None, share: float) -> tuple[str, int | None]:
    """What the tokens tell: in practice a batch is negative where so many of its tokens are."""
    word = f"in practice negative ({percent(share, 0)} of the tokens)"
    if tokens is None:
        return f"{word}: not observed, the advantages of the tokens are not logged", None
    place = int(tokens.share.argmax())
    missing = f"; {plural(tokens.missing, 'trajectory', 'trajectories')} without" if tokens.missing else ""
    return (
        f"{word}: {int((tokens.share >= share).sum())} of {plural(len(tokens.steps), 'step')} with advantages of "
        f"{int(tokens.tokens.sum()):,} tokens, most {percent(float(tokens.share[place]))} at step "
        f"{tokens.steps[place]}{missing}",
        int(tokens.steps[place]),
    )


def _below_zero(mean: Signal | None, count: int) -> list[tuple[str, int | None]]:
    """Stretches of batches whose mean advantage is below zero: what drifts that long has no baseline."""
    runs = [] if mean is None else runs_over(-mean.values, 0.0, count)
    if mean is None or not runs:
        return []
    longest = max(end - start + 1 for start, end in runs)
    first = int(mean.steps[runs[0][0]])
    said = f"mean advantage below zero {count} in a row: {plural(len(runs), 'stretch', 'stretches')}, longest {longest}"
    return [(f"{said}, first from step {first}", first)]


def learning_rate(facts: RunFacts) -> Finding:
    """Learning rate of the critic as configured and as applied."""
    return applied_finding(Says("D506", "L5", "learning rate of the critic"), facts, "critic.optim.lr", "critic.lr")


def pace(facts: RunFacts) -> Finding:
    """Updates and learning rate of the critic beside the actor's."""
    says = Says("D507", "L5", "pace of critic and actor")
    critic, actor = facts.signal("critic.lr"), facts.signal("actor.lr")
    updates = _setting(facts, ("critic.ppo_epochs",))
    parts = []
    if critic is not None and actor is not None and actor.last > 0:
        parts.append(
            f"learning rate {number(critic.last)} beside {number(actor.last)} ({number(critic.last / actor.last)} "
            "times)"
        )
    if updates is not None:
        parts.append(f"{updates} passes of the critic a batch")
    return says("ok", "; ".join(parts)) if parts else says.unobserved("learning rates and updates of critic and actor")


def panels(facts: RunFacts) -> list[Panel]:
    """Explained variance, gradient norm with clip and line, advantages."""
    found = []
    variance, norm = facts.signal("critic.explained_variance"), facts.signal("critic.grad_norm")
    if variance is not None:
        found.append(
            Panel(
                "explained variance",
                {"explained variance": variance},
                lines={"hand-over": facts.line("explained_variance", "handover")},
            )
        )
    if norm is not None:
        clip = _float(_setting(facts, _CLIP))
        lines = {"runs rule": facts.line("alarm_critic_grad_norm", "level")} | ({"clip": clip} if clip else {})
        found.append(
            Panel("gradient norm of the critic", {"norm": norm}, lines=lines, log=bool((norm.values > 0).all()))
        )
    rates = {
        word: s
        for word, name in (("critic", "critic.lr"), ("actor", "actor.lr"))
        if (s := facts.signal(name)) is not None
    }
    return [*found, Panel("learning rates as applied", rates if "critic" in rates else {})]


LAYER = Layer(
    "L5",
    "Critic",
    "Is there a value baseline to speak of?",
    (
        starved,
        explained,
        whitening,
        in_a_row,
        negative,
        learning_rate,
        pace,
        from_tokens.explained_variance,
        from_tokens.calibration,
    ),
    panels,
    without_critic,
    core=frozenset({"D501", "D502", "D504", "D505", "D508", "D509"}),
)
