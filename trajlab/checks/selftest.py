"""How often the alarms speak on simulated runs: false alarms on healthy ones, detection and delay on pathologies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from trajlab.checks.alarm_rules import BY_CODE, RULES
from trajlab.checks.alarm_tests import FloatArray, Outcome, told
from trajlab.checks.facts import thresholds
from trajlab.simulate.step_runs import HELD_OUT_EVERY, PATHOLOGIES, StepRuns, step_runs
from trajlab.stats import Estimate, proportion

OWN: dict[str, tuple[str, ...]] = {
    "tool_collapse": ("A001",),
    "think_spam": ("A002",),
    "entropy_collapse": ("A011", "A012"),
    "random_collapse": ("A013",),
    "length_drift": ("A007",),
    "truncation": ("A005",),
    "reward_hacking": ("A015", "A023", "A024"),
    "dead_groups": ("A009",),
    "stale_policy": ("A017", "A018", "A019"),
    "outage": ("A020", "A021"),
}
"""Pathology -> the alarms that are its own; only these count as its detection."""
HELD_OUT_ONLY = "reward_hacking_held_out"
"""Reward hacking that only a validation score every fifth step can show."""
MOST_FALSE, LEAST_DETECTED, LONGEST_DELAY = 0.02, 0.95, 5.0
"""Bounds: false collapse alarms a healthy run, share detected, median delay in steps."""


class Row(msgspec.Struct, frozen=True):
    """One kind of run and what the alarms made of it."""

    name: str
    title: str
    runs: int
    codes: tuple[str, ...]
    """Alarms that count."""
    told: Estimate
    """Share of the runs in which one of them was told: not before the onset; of healthy runs at all."""
    early: float
    """Share told before the onset."""
    delay: float | None
    """Median steps from where the change is material; ``None`` for healthy runs."""
    delay_90: float | None
    """Nine of ten are not later than this."""
    delay_from_onset: float | None
    """Median steps from the first step of the change."""
    sign_from_onset: float | None = None
    """Median steps from the first step of the change to the first warning or alarm, which has an earlier line where the
    rule has one."""
    healthy: bool = False
    """Nothing is wrong with these runs: whatever is told is a false alarm."""
    bounded: bool = True
    """Counts in the verdict."""

    @property
    def within(self) -> bool:
        """Within the bounds, or not counted."""
        if not self.bounded:
            return True
        share = self.told.value
        if share is None:
            return False
        if self.healthy:
            return share <= MOST_FALSE
        return share >= LEAST_DETECTED and self.delay is not None and self.delay <= LONGEST_DELAY


class Matrix(msgspec.Struct, frozen=True):
    """Detection and false alarms by kind of run."""

    seed: int
    steps: int
    rows: list[Row]
    false_by_code: dict[str, float]
    """Share of healthy runs in which each alarm was told; those never told are left out."""

    @property
    def passed(self) -> bool:
        """Every row is within its bounds."""
        return all(row.within for row in self.rows)


def matrix(
    healthy: int, runs: int, seed: int, steps: int = 200, overrides: Mapping[str, float] | None = None
) -> Matrix:
    """Simulate and judge; the same arguments give the same figures.

    Args:
        healthy: Healthy runs.
        runs: Runs of each pathology.
        seed: Of everything drawn.
        steps: Training steps of a run.
        overrides: Lines such as ``{"alarm_kl.level": 0.1}``.
    """
    lines = dict(overrides) if overrides else None
    sound = step_runs(None, healthy, np.random.default_rng([seed, 0]), steps)
    first = first_alarms(sound, lines)
    rows = [_healthy(first, True), _healthy(first, False), _warned(first_alarms(sound, lines, warn=True))]
    for number, plan in enumerate(PATHOLOGIES, start=1):
        ill = step_runs(plan.name, runs, np.random.default_rng([seed, number]), steps)
        signs = first_alarms(ill, lines, warn=True)
        rows.append(_ill(plan.name, plan.title, ill, first_alarms(ill, lines), signs, OWN[plan.name], bounded=True))
        if plan.name == "reward_hacking":
            held_out = first_alarms(ill, lines, held_out=True)
            title = f"the same, only a validation score every {HELD_OUT_EVERY} steps to tell"
            rows.append(_ill(HELD_OUT_ONLY, title, ill, held_out, held_out, ("A015", "A023"), bounded=False))
    shares = {code: float((places >= 0).mean()) for code, places in first.items()}
    return Matrix(seed, steps, rows, {code: share for code, share in shares.items() if share > 0})


def first_alarms(
    drawn: StepRuns, overrides: dict[str, float] | None = None, *, held_out: bool = False, warn: bool = False
) -> dict[str, npt.NDArray[np.int64]]:
    """Place of the first alarm of each rule in each run, -1 for none; rules without their signal are left out.

    Args:
        drawn: Simulated runs.
        overrides: Lines, as for `matrix`.
        held_out: The outcome is a validation score at every fifth step, not that of the trained-on trajectories.
        warn: Warnings count too, by their own lines, of the rules that have some; the earlier of both.
    """
    lines = thresholds(overrides)
    signals = drawn.signals
    every = np.arange(signals["score"].shape[1])
    outcome = Outcome(every, signals["outcome_rate"])
    if held_out:
        outcome = Outcome(every[::HELD_OUT_EVERY], drawn.held_out)
    others: dict[str, FloatArray | Outcome] = {name: signals[name] for name in ("score", "tool_use_rate")}
    others["outcome"] = outcome
    found = {}
    for rule in RULES:
        name = next((item for item in (rule.signal, *rule.instead) if item in signals), None)
        if name is not None:
            floor = least_noise(drawn.errors[name]) if name in drawn.errors else 0.0
            own = lines[rule.threshold]
            found[rule.code] = told(rule, own, signals[name], others, floor=floor).first
            if warn and any(line.startswith("warn_") for line in own):
                warned = told(rule, own, signals[name], others, floor=floor, warn=True).first
                found[rule.code] = _earlier(found[rule.code], warned)
    return found


def _earlier(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The earlier place of two; -1 stands for none."""
    both = np.minimum(np.where(one < 0, other, one), np.where(other < 0, one, other))
    return np.asarray(both, dtype=np.int64)


def least_noise(errors: FloatArray) -> FloatArray:
    """Standard error of a batch mean over the steps so far; shape (runs, steps)."""
    return np.asarray(np.sqrt(np.cumsum(errors * errors, axis=1) / np.arange(1, errors.shape[1] + 1)))


def _earliest(first: Mapping[str, npt.NDArray[np.int64]], codes: Sequence[str], none: int) -> npt.NDArray[np.int64]:
    places = np.array([first[code] for code in codes if code in first])
    return np.asarray(np.where(places < 0, none, places).min(axis=0))


def _healthy(first: Mapping[str, npt.NDArray[np.int64]], collapse: bool) -> Row:
    codes = tuple(code for code in first if BY_CODE[code].collapse or not collapse)
    spoken = np.any([first[code] >= 0 for code in codes], axis=0)
    title = "healthy but hard: all collapse alarms together" if collapse else "healthy but hard: every alarm"
    name = "healthy" if collapse else "healthy_any"
    return Row(name, title, len(spoken), codes, proportion(spoken), 0.0, None, None, None, healthy=True)


def _warned(first: Mapping[str, npt.NDArray[np.int64]]) -> Row:
    spoken = np.any([places >= 0 for places in first.values()], axis=0)
    title, share = "healthy but hard: every alarm and warning", proportion(spoken)
    return Row(
        "healthy_warned", title, len(spoken), tuple(first), share, 0.0, None, None, None, healthy=True, bounded=False
    )


def _ill(
    name: str, title: str, drawn: StepRuns, first: Mapping[str, npt.NDArray[np.int64]],
    signs: Mapping[str, npt.NDArray[np.int64]], codes: tuple[str, ...], *, bounded: bool,
) -> Row:  # fmt: skip
    steps = drawn.signals["score"].shape[1]
    places = _earliest(first, codes, steps)
    found = (places >= drawn.onset) & (places < steps)
    late = (places - drawn.material)[found]
    whole = (places - drawn.onset)[found]
    delays: tuple[float | None, float | None, float | None] = (None, None, None)
    sign = None
    if len(late):
        delays = (float(np.median(late)), float(np.quantile(late, 0.9)), float(np.median(whole)))
        # A warning from before the change is none of it: the first sign is then the alarm.
        seen = _earliest(signs, codes, steps)
        sign = float(np.median((np.where(seen >= drawn.onset, seen, places) - drawn.onset)[found]))
    early = float((places < drawn.onset).mean())
    return Row(name, title, len(places), codes, proportion(found), early, *delays, sign, bounded=bounded)
