"""Simulated signals by training step, many runs at once: healthy runs that are hard, and planted pathologies as data.

Levels are drawn first, without noise; a pathology changes them from its onset on; then batches of 64 trajectories are
observed: shares are counts of 64, and every level wanders as an AR(1) series of its own. Sizes come from the reports of
the project (R1 to R5, r6, r7) where they tell them; the rest is ours and stands here.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from trajlab.errors import UsageError

Real = NDArray[np.float64]
Whole = NDArray[np.int64]

BATCH = 64
"""Trajectories a step."""
GROUPS = 16
"""Groups of four a step."""
HELD_OUT, HELD_OUT_EVERY = 500, 5
"""Held-out tasks, and how often they are tried."""
MISSED = 0.03
"""Share of good outcomes that the reward does not see."""
STEPS = 200
ONSETS = (60, 140)
"""Between which a pathology begins."""
CORRELATION = (0.3, 0.7)
"""Between which the lag-1 autocorrelation of a signal's wandering is drawn."""


class Path(msgspec.Struct, frozen=True):
    """A level over the steps: from one range to another, by a logistic rise around a random step."""

    signal: str
    start: tuple[float, float]
    """Range of the first level."""
    gain: tuple[float, float]
    """Range of what is added by the end; multiplied with the start where ``relative``."""
    relative: bool = False
    noise: Literal["share", "groups", "verdict", "log", "none"] = "share"
    """``share``: counts of 64, the level wanders on the logit scale; ``groups``: counts of 16; ``log``: on the log
    scale; ``verdict``: score, outcome and their disagreement, from the same 64 trajectories."""
    wander: float = 0.15
    """Standard deviation of the wandering on its scale."""


HEALTHY: tuple[Path, ...] = (
    Path("tool_use_rate", (0.48, 0.55), (0.28, 0.32)),                     # a rise of 30 points (R4)
    Path("think_fraction", (0.06, 0.08), (-0.005, 0.005), noise="log", wander=0.12),   # r7
    Path("invalid_rate", (0.02, 0.05), (-0.02, 0.01)),
    Path("repetition_rate", (0.01, 0.03), (-0.01, 0.01)),
    Path("truncation_rate", (0.01, 0.04), (-0.01, 0.01)),
    Path("mean_steps", (1.7, 2.0), (0.1, 0.5), noise="log", wander=0.06),
    Path("response_tokens", (900, 1500), (-0.1, 0.3), relative=True, noise="log", wander=0.08),  # up to +30 %
    Path("outcome_rate", (0.42, 0.48), (0.12, 0.20), noise="verdict", wander=0.20),
    Path("hacking_rate", (0.02, 0.04), (-0.01, 0.02), noise="verdict"),
    Path("error_rate", (0.005, 0.02), (-0.003, 0.003)),
    Path("hollow_rate", (0.0, 0.01), (0.0, 0.003)),
    Path("suite_run_rate", (0.65, 0.72), (-0.26, -0.20)),                   # verification migrates (r7)
    Path("inline_rate", (0.18, 0.22), (0.22, 0.28)),
    Path("zero_std_groups", (0.15, 0.25), (0.10, 0.25), noise="groups"),
    Path("kl", (0.001, 0.004), (0.018, 0.034), noise="log", wander=0.15),
    Path("entropy", (0.18, 0.35), (-0.38, -0.32), relative=True, noise="log", wander=0.06),  # down by 35 %
    Path("critic_grad_norm", (8, 11), (-1, 1), noise="log", wander=0.40),   # r7: median 9 to 10
    Path("explained_variance", (0.05, 0.15), (0.25, 0.40), noise="none"),
    Path("advantage_mean", (-0.01, 0.01), (0.0, 0.0), noise="none"),
    Path("staleness", (0.8, 1.2), (-0.1, 0.3), noise="log", wander=0.15),
    Path("rollout_kl", (0.005, 0.015), (0.0, 0.01), noise="log", wander=0.25),
    Path("is_ratio_ess", (0.82, 0.93), (-0.08, 0.0)),
)  # fmt: skip
"""Levels of a healthy run; springs, spikes and hollow batches come on top."""


class Change(msgspec.Struct, frozen=True):
    """What a pathology does to one signal from its onset on."""

    signal: str
    kind: Literal["times", "to"]
    """``times``: the level at the onset is multiplied; ``to``: it goes to a value."""
    knots: tuple[tuple[float, float], ...]
    """Steps after the onset, and factor or value; linear between, held after the last."""


class Pathology(msgspec.Struct, frozen=True):
    """A way to go wrong."""

    name: str
    title: str
    changes: tuple[Change, ...]
    material: tuple[str, Literal["of_start", "of_best", "of_lowest", "level"], float]
    """Signal, and when the change has become material: its level without noise, as a multiple of what it was at the
    start, at its best or at its lowest, or as such."""
    high: bool
    """Material is above; else below."""


PATHOLOGIES: tuple[Pathology, ...] = (
    Pathology(
        "tool_collapse", "tool collapse like R3",
        (Change("tool_use_rate", "times", ((0, 1), (1, 0.95), (5, 0.64), (9, 0.16), (12, 0.023), (15, 0.0005))),
         Change("mean_steps", "times", ((0, 1), (12, 0.5))),
         Change("outcome_rate", "times", ((1, 1), (3, 0.7), (8, 0.35), (14, 0.45))),
         Change("kl", "to", ((0, 0.047), (1, 0.058), (8, 0.109), (11, 0.149), (13, 0.189), (20, 0.25))),
         Change("entropy", "times", ((0, 1), (8, 1.7), (16, 2.7))),
         Change("truncation_rate", "to", ((1, 0.03), (8, 0.10), (14, 0.26)))),
        ("tool_use_rate", "of_best", 0.70), high=False),
    Pathology(
        "think_spam", "think spam like r6",
        (Change("think_fraction", "to", ((0, 0.076), (22, 0.138), (30, 0.171), (50, 0.179), (65, 0.29), (80, 0.727))),
         Change("outcome_rate", "times", ((65, 1), (80, 0.2)))),
        ("think_fraction", "level", 0.15), high=True),
    Pathology(
        "entropy_collapse", "entropy collapse without gain",
        (Change("entropy", "times", ((0, 1), (10, 0.5), (25, 0.1))),
         Change("outcome_rate", "times", ((0, 1), (25, 0.85))),
         Change("zero_std_groups", "to", ((0, 0.35), (25, 0.6)))),
        ("entropy", "of_start", 0.40), high=False),
    Pathology(
        "random_collapse", "random collapse",
        (Change("entropy", "times", ((0, 1), (8, 1.7), (16, 2.7))),
         Change("tool_use_rate", "times", ((0, 1), (12, 0.3))), Change("outcome_rate", "times", ((0, 1), (12, 0.5)))),
        ("entropy", "of_lowest", 1.40), high=True),
    Pathology(
        "length_drift", "length drift without gain",
        (Change("response_tokens", "times", ((0, 1), (30, 3.5))),
         Change("outcome_rate", "times", ((0, 1), (30, 0.85)))),
        ("response_tokens", "of_start", 2.0), high=True),
    Pathology(
        "truncation", "truncation",
        (Change("truncation_rate", "to", ((0, 0.02), (10, 0.45))),),
        ("truncation_rate", "level", 0.15), high=True),
    Pathology(
        "reward_hacking", "reward hacking with a held-out gap",
        (Change("hacking_rate", "to", ((0, 0.04), (15, 0.55))), Change("outcome_rate", "to", ((0, 0.50), (15, 0.38)))),
        ("hacking_rate", "level", 0.10), high=True),
    Pathology(
        "dead_groups", "dead groups",
        (Change("zero_std_groups", "to", ((0, 0.35), (8, 0.97))),),
        ("zero_std_groups", "level", 0.75), high=True),
    Pathology(
        "stale_policy", "stale policy",
        (Change("staleness", "to", ((0, 1), (8, 8))), Change("rollout_kl", "to", ((0, 0.015), (8, 0.3))),
         Change("is_ratio_ess", "to", ((0, 0.85), (8, 0.15)))),
        ("rollout_kl", "level", 0.10), high=True),
    Pathology(
        "outage", "infrastructure outage",
        (Change("error_rate", "to", ((0, 0.6),)), Change("hollow_rate", "to", ((0, 0.55),)),
         Change("outcome_rate", "times", ((0, 0.45),))),
        ("error_rate", "level", 0.10), high=True),
)  # fmt: skip
"""Every pathology that alarms are tested on."""
BY_PATHOLOGY = {item.name: item for item in PATHOLOGIES}


class StepRuns(msgspec.Struct, frozen=True):
    """Simulated runs: signals of shape (runs, steps)."""

    signals: dict[str, Real]
    errors: dict[str, Real]
    """Standard error of each value, where batches of trajectories tell it."""
    held_out: Real
    """Validation score at every fifth step, shape (runs, steps / 5)."""
    levels: dict[str, Real]
    """What the signals are without noise."""
    onset: Whole
    """Shape (runs,): first step of the pathology; the number of steps for none."""
    material: Whole
    """Shape (runs,): first step at which its change is material."""


def step_runs(pathology: str | None, runs: int, rng: np.random.Generator, steps: int = STEPS) -> StepRuns:
    """Draw runs: healthy ones (``None``), or with a pathology that begins at a random step.

    Raises:
        UsageError: There is no such pathology.
    """
    if pathology is not None and pathology not in BY_PATHOLOGY:
        raise UsageError("pathology", repr(pathology), f"one of {', '.join(BY_PATHOLOGY)}")
    levels = {path.signal: _level(path, runs, steps, rng) for path in HEALTHY}
    onset = material = np.full(runs, steps, dtype=np.int64)
    if pathology is not None:
        plan = BY_PATHOLOGY[pathology]
        onset = rng.integers(ONSETS[0] * steps // STEPS, ONSETS[1] * steps // STEPS, runs)
        for change in plan.changes:
            levels[change.signal] = _changed(levels[change.signal], change, onset)
        material = _material(plan, levels, onset)
    signals = {path.signal: _observed(path, levels[path.signal], rng) for path in HEALTHY if path.noise != "verdict"}
    signals |= _verdicts(levels, rng)
    _events(signals, onset, rng)
    signals["all_negative"] = (signals["advantage_mean"] < -0.9).astype(np.float64)
    held_out = np.clip(0.62 + 0.4 * (levels["outcome_rate"][:, ::HELD_OUT_EVERY] - 0.45), 0, 1)
    counted = ["score", *(path.signal for path in HEALTHY if path.noise in ("share", "groups", "verdict"))]
    errors = {name: _error(signals[name], GROUPS if name == "zero_std_groups" else BATCH) for name in counted}
    return StepRuns(signals, errors, rng.binomial(HELD_OUT, held_out) / HELD_OUT, levels, onset, material)


def _error(share: Real, n: int) -> Real:
    return np.asarray(np.sqrt(share * (1 - share) / n))


def _verdicts(levels: dict[str, Real], rng: np.random.Generator) -> dict[str, Real]:
    """Good outcomes, of which a few are not rewarded, and bad ones that are: the difficulty of a batch is common."""
    good, hacked = levels["outcome_rate"], levels["hacking_rate"]
    odds = good / (1 - good) * np.exp(0.2 * wandering(good.shape[0], good.shape[1], rng))
    right = rng.binomial(BATCH, odds / (1 + odds))
    wrong = rng.binomial(BATCH - right, np.clip(hacked / (1 - good), 0, 1))
    missed = rng.binomial(right, MISSED)
    return {
        "outcome_rate": right / BATCH,
        "hacking_rate": wrong / BATCH,
        "score": (right - missed + wrong) / BATCH,
    }


def _level(path: Path, runs: int, steps: int, rng: np.random.Generator) -> Real:
    start = rng.uniform(*path.start, runs)[:, None]
    gain = rng.uniform(*path.gain, runs)[:, None] * (start if path.relative else 1.0)
    middle, width = rng.uniform(0.2, 0.6, runs)[:, None], rng.uniform(0.05, 0.2, runs)[:, None]
    at = np.arange(steps) / steps
    rise = 1 / (1 + np.exp(-(at - middle) / width))
    rise = (rise - rise[:, :1]) / (rise[:, -1:] - rise[:, :1])
    level = start + gain * rise
    return np.asarray(np.clip(level, 0.0005, 0.9995) if path.noise in ("share", "groups", "verdict") else level)


def _changed(level: Real, change: Change, onset: Whole) -> Real:
    after = np.arange(level.shape[1]) - onset[:, None]
    at, values = zip(*change.knots, strict=True)
    moved = np.interp(after, at, values)
    before = np.take_along_axis(level, np.minimum(onset, level.shape[1] - 1)[:, None], axis=1)
    if change.kind == "times":
        new = before * moved
    else:
        # From where it is to where the knots lead: no jump at the onset but that of a single knot.
        span = max(at[-1], 1.0)
        left = np.clip(1 - after / span, 0, 1) if len(at) > 1 else np.zeros(after.shape)
        new = moved + (before - values[0]) * left
    return np.where(after >= 0, np.maximum(new, 1e-4), level)


def _material(plan: Pathology, levels: dict[str, Real], onset: Whole) -> Whole:
    signal, of, size = plan.material
    level = levels[signal]
    if of == "level":
        line = np.full(level.shape, size)
    elif of == "of_start":
        line = size * level[:, :10].mean(axis=1, keepdims=True) * np.ones(level.shape)
    else:
        best = np.maximum.accumulate(level, axis=1) if of == "of_best" else np.minimum.accumulate(level, axis=1)
        line = size * best
    beyond = (level > line if plan.high else level < line) & (np.arange(level.shape[1]) >= onset[:, None])
    return np.asarray(np.where(beyond.any(axis=1), beyond.argmax(axis=1), level.shape[1]), dtype=np.int64)


def wandering(runs: int, steps: int, rng: np.random.Generator) -> Real:
    """AR(1) series of standard deviation 1, each with its own autocorrelation, shape (runs, steps)."""
    rho = rng.uniform(*CORRELATION, runs)
    shocks = rng.standard_normal((runs, steps))
    series = np.empty((runs, steps))
    for step in range(steps):
        left = np.sqrt(1 - rho * rho) * shocks[:, step]
        series[:, step] = shocks[:, 0] if step == 0 else rho * series[:, step - 1] + left
    return series


def _observed(path: Path, level: Real, rng: np.random.Generator) -> Real:
    wander = path.wander * wandering(level.shape[0], level.shape[1], rng)
    if path.noise == "log":
        return np.asarray(level * np.exp(wander))
    if path.noise == "none":
        return np.asarray(level + 0.3 * wander)
    share = np.clip(level, 0.0005, 0.9995)
    odds = share / (1 - share) * np.exp(wander)
    n = BATCH if path.noise == "share" else GROUPS
    return np.asarray(rng.binomial(n, odds / (1 + odds)) / n)


def _events(signals: dict[str, Real], onset: Whole, rng: np.random.Generator) -> None:
    """What happens to healthy runs too: springs and short excursions of KL, spikes of the critic, one hollow batch."""
    runs, steps = signals["kl"].shape
    for run in range(runs):
        for step in rng.integers(20, steps, rng.poisson(2)):
            signals["kl"][run, step] = max(signals["kl"][run, step], rng.uniform(0.051, 0.09))
        if rng.random() < 1 / 3:
            first, length = int(rng.integers(20, steps - 5)), int(rng.integers(2, 6))
            if first + length <= onset[run]:  # later the pathology may move it
                flat = rng.uniform(0.05, 0.06) * np.exp(0.05 * rng.standard_normal(length))
                signals["kl"][run, first : first + length] = flat
        for size in (*rng.uniform(30, 70, rng.poisson(3)), 233.0):
            signals["critic_grad_norm"][run, int(rng.integers(0, steps))] = size
        gone = int(rng.integers(20, steps))
        for name, value in _GONE.items():
            signals[name][run, gone] = value


_GONE = {"hollow_rate": 0.95, "error_rate": 0.95, "score": 0.02, "outcome_rate": 0.02, "tool_use_rate": 0.05}
"""A batch whose sandboxes vanished."""
