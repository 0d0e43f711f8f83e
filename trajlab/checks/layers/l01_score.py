"""L1: score and reward trend."""

from __future__ import annotations

import itertools
import math

import numpy as np

from trajlab.checks.finding import Finding
from trajlab.checks.layers.base import FEWEST, Layer, Panel, RunFacts, Says, listed, number, plural
from trajlab.measures.signals import Signal

LAYER_CODE = "L1"
_SCORE = "the reward of every trajectory, or the trainer's mean score"


def trend(facts: RunFacts) -> Finding:
    """Does the score rise? A fall is judged by the last tenth of the steps against the best quarter before."""
    says, score = Says("D101", LAYER_CODE, "score"), facts.score
    if score is None or score.mean.value is None:
        return says.unobserved(_SCORE)
    best = int(np.argmax(score.means))
    told = (
        f"mean {number(score.mean.value)} over {plural(len(score.means), 'step')}, highest {number(score.maximum)} at "
        "step "
        f"{score.steps[best]}, standard deviation {number(score.std)}"
    )
    if len(score.means) < FEWEST or score.trend.p_value is None:
        return says.unobserved(_SCORE + f" at {FEWEST} steps or more", f"{told}: too few steps for a trend")
    slope = f"{number(100 * (score.slope.value or 0.0))} in 100 steps (Theil–Sen, p {score.trend.p_value:.2g})"
    evidence: list[tuple[str, int | None]] = [(_epochs(facts), None)] if len(score.epochs) > 1 else []
    kept = _kept(score.means)
    if score.direction >= 0 and (kept is None or kept >= facts.line("score_fall")):
        return says("ok", f"{'rising' if score.direction else 'no trend shown'}, {told}; {slope}", evidence=evidence)
    last = f", the last tenth at {100 * kept:.0f} % of the best quarter before" if kept is not None else ""
    word = "falling" if score.direction < 0 else "fell at the end"
    return says("warn", f"{word}{last}; {told}; {slope}", step=score.steps[best], evidence=evidence,
                advice="Look in the onset table (L15) for what moved before the score.")  # fmt: skip


def _epochs(facts: RunFacts) -> str:
    score = facts.score
    assert score is not None
    pairs = zip(score.epoch_names, score.epochs, strict=True)
    said = ", ".join(f"{name} {number(e.value)}" for name, e in pairs)
    order = "each above the one before" if score.monotone else "not each above the one before"
    return f"mean score by epoch: {said}; {order}"


def _kept(means: list[float]) -> float | None:
    """Mean of the last tenth of the steps (five at least) as a share of the best quarter before it."""
    size = max(5, len(means) // 10)
    before, last = np.asarray(means[:-size]), float(np.mean(means[-size:]))
    if len(before) < 8:
        return None
    best = max(float(part.mean()) for part in np.array_split(before, 4))
    return None if best <= 0 else last / best


def spread(facts: RunFacts) -> Finding:
    """Does the score swing from batch to batch?"""
    says, score = Says("D102", LAYER_CODE, "spread of the batch means"), facts.score
    if score is None or len(score.means) < FEWEST:
        return says.unobserved(f"{_SCORE}, at {FEWEST} steps or more")
    if (why := facts.other_scale) is not None:
        return says.not_applicable(f"standard deviation {number(score.std)}; {why}")
    line = facts.line("score_spread")
    # Half the mean squared difference of neighbours: what is left of the variance without the course of the run.
    swing = math.sqrt(float(np.mean(np.diff(score.means) ** 2)) / 2)
    told = f"standard deviation {number(score.std)}, line {line:g}; {number(swing)} from batch to batch"
    if score.std <= line or swing < score.std / 2:
        return says("ok", told + ("" if score.std <= line else ": most of it is the course of the run"))
    return says("warn", told, advice="The batch is small for rewards that differ so much: double the batch.")


def plateau(facts: RunFacts) -> Finding:
    """Did the last epoch still gain?"""
    says, score = Says("D103", LAYER_CODE, "plateau"), facts.score
    if score is None:
        return says.unobserved(_SCORE)
    if (why := facts.other_scale) is not None:
        return says.not_applicable(why)
    values = [(name, e.value) for name, e in zip(score.epoch_names, score.epochs, strict=True) if e.value is not None]
    if len(values) < 2:
        return says.not_applicable("one epoch or period only")
    line = facts.line("plateau")
    gains = [(later, after - before) for (_, before), (later, after) in itertools.pairwise(values)]
    flat = [f"{name} {gain:+.3f}" for name, gain in gains if abs(gain) < line]
    evidence: list[tuple[str, int | None]] = [("gain by epoch: " + ", ".join(f"{n} {g:+.3f}" for n, g in gains), None)]
    name, gain = gains[-1]
    if abs(gain) >= line:
        earlier = f"; earlier ones under the line: {', '.join(flat)}" if flat else ""
        return says("ok", f"{name} gained {gain:+.3f} on the one before{earlier}", evidence=evidence)
    start = score.epoch_starts[-1]
    return says("warn", f"{name} gained {gain:+.3f} on the one before, under {line:g}", step=start, evidence=evidence,
                advice="More of the same brings little: look at entropy (L6) and data difficulty (L13) before the "
                       "learning rate or more epochs.")  # fmt: skip


def few_succeed(facts: RunFacts) -> Finding:
    """Are there batches that show what the model can do, and most that fall short of it?"""
    says, score = Says("D104", LAYER_CODE, "few succeed, most fail"), facts.score
    if score is None or score.mean.value is None or len(score.means) < FEWEST:
        return says.unobserved(f"{_SCORE}, at {FEWEST} steps or more")
    if (why := facts.other_scale) is not None:
        return says.not_applicable(why)
    most, mean = facts.line("few_succeed", "most"), facts.line("few_succeed", "mean")
    told = (
        f"highest batch mean {number(score.maximum)} (line {most:g}), mean {number(score.mean.value)} (line {mean:g})"
    )
    if score.maximum <= most or score.mean.value >= mean:
        return says("ok", told)
    return says("warn", told, advice="Warm up with SFT on tasks that fail.")


def cuts(facts: RunFacts) -> Finding:
    """Do all sources cut the run into the same epochs? A figure by epoch means nothing without its cut."""
    says = Says("D105", LAYER_CODE, "epochs")
    told = {source: starts for source, starts in facts.epoch_cuts.items() if starts}
    if not told:
        return says.unobserved("the epoch with the metrics, or give epoch_boundaries or steps_per_epoch")
    said = "; ".join(f"{source}: from steps {listed(starts)}" for source, starts in told.items())
    if len({tuple(starts) for starts in told.values()}) == 1:
        return says("ok", said)
    return says("warn", f"cut in ways that disagree: {said}", advice="Name the cut beside every figure by epoch.")


def reconciled(facts: RunFacts) -> Finding:
    """Do rollouts and metric log state the same score?"""
    says, score = Says("D106", LAYER_CODE, "rollouts against the metric log"), facts.score
    if score is None or not score.compared:
        return says.unobserved("the trainer's mean score beside the rollouts")
    told = f"mean score compared at {plural(score.compared, 'step')}, largest difference {number(score.largest_gap)}"
    if not score.gap_steps:
        return says("ok", told)
    hollow = [step for step in score.gap_steps if _is_hollow(facts, step)]
    if len(hollow) == len(score.gap_steps):
        text = f"{told}; only hollow batches differ ({listed(hollow)}): the trainer leaves empty rollouts out"
        return says("ok", text, step=hollow[0])
    return says(
        "warn",
        f"{told}; they differ at {plural(len(score.gap_steps), 'step')}",
        step=score.gap_steps[0],
        advice="Something is left out on one side (aborted or filtered rollouts, another score): find out which "
        "before trusting either.",
        evidence=[(f"steps {listed(score.gap_steps)}", None)],
    )


def _is_hollow(facts: RunFacts, step: int) -> bool:
    share = None if facts.hollow is None else facts.hollow.at(step)
    return share is not None and share >= facts.line("hollow_batch", "share")


def seeds(facts: RunFacts) -> Finding:
    """Several runs of the same arm: how far do seeds alone drive them apart?"""
    says, score = Says("D107", LAYER_CODE, "seeds of this arm"), facts.score
    peers = [peer for peer in facts.peers if peer.score is not None and peer.score.mean.value is not None]
    if score is None or score.mean.value is None:
        return says.unobserved(_SCORE)
    if not peers:
        return says("unobserved", "one run: how far seeds alone drive the score apart is not known")
    means = [score.mean.value, *(peer.score.mean.value or 0.0 for peer in peers if peer.score)]
    said = ", ".join(
        f"{name} {number(v)}" for name, v in zip([facts.run, *(p.name for p in peers)], means, strict=True)
    )
    spread_of = (
        f"{number(min(means))} to {number(max(means))}, standard deviation {number(float(np.std(means, ddof=1)))}"
    )
    return says("ok", f"mean score of {len(means)} seeds {spread_of}", evidence=[(said, None)])


def panels(facts: RunFacts) -> list[Panel]:
    """Training reward and what is independent of it on one picture; seeds beside each other."""
    curves: dict[str, Signal] = {}
    if facts.score is not None:
        curves["training score"] = _signal("score", facts.score.steps, facts.score.means, facts.score.source)
    outcome = facts.signal("outcome_rate")
    if outcome is not None:
        curves["independent outcome"] = outcome
    held_out = [signal for name, signal in facts.signals.items() if name.startswith("val.") and len(signal.values)]
    held_out.sort(key=lambda signal: (-len(signal.values), signal.name))
    curves |= {signal.name: signal for signal in held_out[:1]}
    found = [Panel("training score and independent outcome", curves, points=frozenset(s.name for s in held_out[:1]))]
    own = {facts.run: curves["training score"]} if facts.score is not None else {}
    others = {
        peer.name: _signal(peer.name, peer.score.steps, peer.score.means, peer.score.source)
        for peer in facts.peers
        if peer.score is not None
    }
    return [*found, Panel("score of the seeds", own | others)] if others else found


def _signal(name: str, steps: list[int], values: list[float], source: str) -> Signal:
    return Signal(name, np.asarray(steps), np.asarray(values), source)


LAYER = Layer(
    LAYER_CODE,
    "Score and reward trend",
    "Does the run get better, and does what is independent of the reward say so too?",
    (trend, spread, plateau, few_succeed, cuts, reconciled, seeds),
    panels,
    core=frozenset({"D101"}),
)
