"""Which signal moved first: alarms and changes of level, in the order of their steps."""

from __future__ import annotations

import msgspec
import numpy as np

from trajlab.checks.alarms import Alarm
from trajlab.checks.layers.base import RunFacts
from trajlab.measures.signals import Signal
from trajlab.measures.step_signals import BY_SIGNAL
from trajlab.stats import ChangePoint, change_points

WATCHED: dict[str, int] = {
    "kl": 1, "kl_update": 1, "actor_grad_norm": 1, "critic_grad_norm": 1, "explained_variance": -1, "entropy": 0,
    "tool_use_rate": -1, "think_fraction": 1, "mean_steps": -1, "invalid_rate": 1, "repetition_rate": 1,
    "truncation_rate": 1, "response_tokens": 0, "zero_std_groups": 1, "hollow_rate": 1, "error_rate": 1, "score": -1,
    "outcome_rate": -1, "staleness": 1, "rollout_kl": 1,
}  # fmt: skip
"""Signals of the onset table and the direction that is bad; 0: either."""
MATERIAL = 0.2
"""A change of level by less than this share of the level before is left out."""
EVENTS = ("all_negative",)
"""Signals that are 1 at single steps: their first step counts."""
_ALIASES = {"kl": ("kl.reference", "kl.loss", "kl.penalty"), "score": ("score", "score.mean")}


class OnsetRow(msgspec.Struct, frozen=True, kw_only=True):
    """One signal that moved."""

    signal: str
    title: str
    step: int
    """Where it began: of the alarm, else of its first change of level."""
    points: list[ChangePoint]
    """Changes of level in the bad direction; where a series drifts without a jump, the steps at which it quickened."""
    drifts: bool
    """The points are those of the slope, not of the level."""
    alarm: Alarm | None
    """Told about it, as alarm or warning; ``None``: it only moved."""
    before: float
    after: float
    direction: int

    @property
    def bad(self) -> bool:
        """Somebody must look at it: an alarm or a warning was told."""
        return self.alarm is not None


def told_alarms(facts: RunFacts) -> dict[str, Alarm]:
    """The gravest alarm or warning that was told about each signal; of two alike the earlier."""
    found: dict[str, Alarm] = {}
    for alarm in facts.alarms:
        if alarm.status not in ("alarm", "warn"):
            continue
        known = found.get(alarm.signal)
        if known is None or _rank(alarm) < _rank(known):
            found[alarm.signal] = alarm
    return found


def _rank(alarm: Alarm) -> tuple[bool, int]:
    return alarm.status != "alarm", began(alarm) or 0


def began(alarm: Alarm) -> int | None:
    """First step of the stretch that led to an alarm."""
    return alarm.onset_step if alarm.onset_step is not None else alarm.first_step


def onset_rows(facts: RunFacts) -> list[OnsetRow]:
    """Every signal that moved or is alarmed, the earliest first."""
    alarmed = told_alarms(facts)
    found = []
    for name in dict.fromkeys([*WATCHED, *EVENTS, *alarmed]):
        signal = facts.signal(name, *_ALIASES.get(name, ()))
        if signal is None or len(signal.values) < 2:
            continue
        row = _row(name, signal, alarmed.get(name))
        if row is not None:
            found.append(row)
    return sorted(found, key=lambda row: (row.step, row.signal))


def _row(name: str, signal: Signal, alarm: Alarm | None) -> OnsetRow | None:
    title = BY_SIGNAL[name].title if name in BY_SIGNAL else name.replace("_", " ")
    if name in EVENTS:
        return _event(name, title, signal, alarm)
    wanted = WATCHED.get(name, 0)
    points = [p for p in change_points(signal.values, signal.steps) if _material(p, wanted)]
    drifts = not points and alarm is not None
    if drifts:
        points = [p for p in change_points(np.diff(signal.values), signal.steps[1:]) if _quickens(p, wanted)]
    start = began(alarm) if alarm is not None else None
    if start is None and not points:
        return None
    step = start if start is not None else int(points[0].step)
    before = signal.values[signal.steps < step]
    after = signal.values[signal.steps >= step]
    first = float(before.mean()) if len(before) else signal.first
    second = float(after.mean()) if len(after) else signal.last
    return OnsetRow(
        signal=name,
        title=title,
        step=step,
        points=points,
        drifts=drifts,
        alarm=alarm,
        before=first,
        after=second,
        direction=1 if second >= first else -1,
    )


def _event(name: str, title: str, signal: Signal, alarm: Alarm | None) -> OnsetRow | None:
    steps = signal.steps[signal.values > 0]
    if not len(steps):
        return None
    return OnsetRow(
        signal=name, title=title, step=int(steps[0]), points=[], drifts=False, alarm=alarm, before=0.0, after=1.0,
        direction=1,
    )  # fmt: skip


def _quickens(point: ChangePoint, wanted: int) -> bool:
    """The slope turns in the bad direction and is steeper than before."""
    steeper = abs(point.mean_after) > abs(point.mean_before)
    return steeper and (wanted == 0 or point.mean_after * wanted > 0)


def _material(point: ChangePoint, wanted: int) -> bool:
    change = point.mean_after - point.mean_before
    return abs(change) >= MATERIAL * abs(point.mean_before) and (wanted == 0 or change * wanted > 0)
