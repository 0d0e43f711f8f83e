"""The alarms on arrays: one or many runs at once, shape (runs, steps). What is told at a step uses no later one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from trajlab.checks.alarm_rules import GATES, GateName, Rule
from trajlab.stats.betting import capital, flag_cusum
from trajlab.stats.sequential import WINDOW, Watch, baseline, best_so_far, long_run_noise, recent, watch
from trajlab.stats.step_rules import RISING, crossings

FloatArray = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Lines = Mapping[str, Any]

LATELY = 5
"""Steps that "now" speaks of where a gate compares now with then."""
BETTING_LEVEL = 0.01
"""Of the betting test: the probability of ever speaking although the share is at the line."""
FLAG_SHARE, FLAG_RISE, FLAG_MOST = 0.5, 0.25, 0.9
"""Harmless share of flat batches: half, or a quarter more than at the start, but not over 90 %."""
FLAG_RUN_LENGTH = 400.0
"""Average steps to a false alarm at the least, while the share is harmless."""
_RISEN = 1.2
"""A median of five is risen where it is so many long-run deviations over the baseline: about two standard errors."""
_SATURATED = 0.05
_FALLS = 0.85
_OUTCOME_SHARE = 0.25
_ONE_SIDED = 2.0


class Told(msgspec.Struct, frozen=True):
    """What a test says of each run."""

    first: npt.NDArray[np.int64]
    """Shape (runs,): place of the first alarm, -1 for none."""
    statistic: FloatArray
    """Shape (runs, steps)."""
    line: FloatArray
    """Shape (runs, steps); NaN where a step is not judged."""
    judged: bool
    """``False``: too few steps for this test to say anything."""
    lately: bool = False
    """It speaks of the median of the last five steps, not of one of them."""


class Outcome(msgspec.Struct, frozen=True):
    """An outcome at some of the steps only: places among the steps, and values of shape (runs, places)."""

    places: npt.NDArray[np.int64]
    values: FloatArray


def told(
    rule: Rule,
    lines: Lines,
    values: FloatArray,
    others: Mapping[str, FloatArray | Outcome],
    *,
    floor: FloatArray | float = 0.0,
    warn: bool = False,
) -> Told:
    """What a rule says of its signal.

    Args:
        rule: Which alarm.
        lines: Its lines, by kind.
        values: The signal, shape (runs, steps), finite.
        others: Signals that gates look at, on the same steps: by name; NaN before they are first observed.
        floor: The least the noise may be, from the size of the batches.
        warn: By the lines of a warning, which the rule must have; half of the sum is enough, and gates do not count.
    """
    kind = "warn_" if warn else ""
    if rule.test == "runs":
        return _runs(values, lines, kind)
    if rule.test == "betting":
        return _betting(values, float(lines[f"{kind}level"]))
    if rule.test == "runaway":
        within = None if warn or rule.gate is None else gate(rule.gate, values, others)
        return _runaway(values, float(lines["level"]), float(lines["share"]), within)
    noise = long_run_noise(values, floor=floor)
    reference = _reference(rule, values)
    material = _material(rule, lines, kind, reference)
    if warn:
        rule = msgspec.structs.replace(rule, limit=rule.limit / 2)
    found = _watched(rule, lines, values, reference, material, noise, None)
    rows = np.flatnonzero(found.first >= 0)
    if rule.gate is not None and not warn and len(rows):
        # A gate only takes away, so only what was told without it needs it.
        part = {name: _rows_of(seen, rows) for name, seen in others.items()}
        within = gate(rule.gate, values[rows], part)
        gated = _watched(rule, lines, values[rows], reference[rows], material[rows], noise[rows], within)
        found.first[rows], found.statistic[rows] = gated.first, gated.statistic
    return Told(found.first, found.statistic, found.line, values.shape[1] > WINDOW)


def level_now(rule: Rule, lines: Lines, values: FloatArray) -> Told:
    """No test: is the median of the last five steps beyond the line of a warning as such, whatever the noise?"""
    line = _material(rule, lines, "warn_", _reference(rule, values))
    now = recent(values, LATELY)[:, -1]
    beyond = now > line[:, -1] if rule.high else now < line[:, -1]
    last = values.shape[1] - 1
    statistic = np.zeros(values.shape)
    statistic[:, -1] = beyond
    return Told(np.where(beyond, last, -1).astype(np.int64), statistic, line, True, lately=True)


def _watched(
    rule: Rule, lines: Lines, values: FloatArray, reference: FloatArray, material: FloatArray, noise: FloatArray,
    within: Flags | None,
) -> Watch:  # fmt: skip
    return watch(
        values, reference, material, noise, high=rule.high, slack=rule.least_distance, limit=rule.limit,
        guard=lines.get("guard"), within=within,
    )  # fmt: skip


def _rows_of(seen: FloatArray | Outcome, rows: npt.NDArray[np.int64]) -> FloatArray | Outcome:
    return Outcome(seen.places, seen.values[rows]) if isinstance(seen, Outcome) else seen[rows]


def _reference(rule: Rule, values: FloatArray) -> FloatArray:
    if rule.reference == "start":
        return baseline(values)
    if rule.reference == "none":
        level = np.full(values.shape, -np.inf if rule.high else np.inf)
        level[:, :WINDOW] = np.nan
        return level
    return best_so_far(values, high=rule.reference == "best")


def _material(rule: Rule, lines: Lines, kind: str, reference: FloatArray) -> FloatArray:
    """The furthest of the lines that the rule has."""
    sign = 1.0 if rule.high else -1.0
    found = [np.full(reference.shape, -np.inf)]
    if f"{kind}level" in lines:
        found.append(np.full(reference.shape, sign * float(lines[f"{kind}level"])))
    if f"{kind}share" in lines:
        moved = (float(lines[f"{kind}share"]) - 1.0) * np.abs(reference)
        found.append(sign * (reference + moved))
    if f"{kind}rise" in lines:
        found.append(sign * reference + float(lines[f"{kind}rise"]))
    return np.asarray(sign * np.max(found, axis=0))


def _runs(values: FloatArray, lines: Lines, kind: str) -> Told:
    """In a row over the line; where the run began over it, over a multiple of its start."""
    line, count = np.full(values.shape, float(lines[f"{kind}level"])), int(lines["count"])
    if "share" in lines:
        start = baseline(values)
        line = np.where(start > line, float(lines["share"]) * start, line)
    length = np.zeros(values.shape)
    for place in range(values.shape[1]):
        before = length[:, place - 1] if place else 0.0
        length[:, place] = np.where(values[:, place] > line[:, place], before + 1.0, 0.0)
    judged = np.arange(values.shape[1]) >= (WINDOW if "share" in lines else 0)
    return Told(_first((length >= count) & judged), length, line, values.shape[1] >= count)


def told_of_flags(rule: Rule, values: FloatArray, others: Mapping[str, FloatArray | Outcome]) -> Told:
    """A rule of shares where only 0 or 1 is known at each step: has the share risen to nearly all?"""
    share = np.minimum(FLAG_MOST, np.maximum(FLAG_SHARE, _share_at_start(values) + FLAG_RISE))
    statistic = flag_cusum(values, share)
    over = statistic >= np.log(FLAG_RUN_LENGTH)
    if rule.gate is not None:
        over &= gate(rule.gate, values, others)
    return Told(_first(over), statistic, share, values.shape[1] > WINDOW)


def _share_at_start(values: FloatArray) -> FloatArray:
    share = np.full(values.shape, np.nan)
    if values.shape[1] > WINDOW:
        share[:, WINDOW:] = values[:, :WINDOW].mean(axis=1)[:, None]
    return share


def _betting(values: FloatArray, level: float) -> Told:
    wealth = capital(np.clip(values, 0.0, 1.0), level)
    return Told(_first(wealth >= 1 / BETTING_LEVEL), wealth, np.full(values.shape, level), values.shape[1] > WINDOW)


def _runaway(values: FloatArray, level: float, grown: float, within: Flags | None) -> Told:
    """First step at which some crossing has risen on, while the gate holds; the statistic is value over line."""
    first = np.full(len(values), -1, dtype=np.int64)
    for row, series in enumerate(values):
        for crossing in crossings(series, level, grown=grown):
            if crossing.kind != "runaway":
                continue
            held = np.arange(crossing.told_at, crossing.last + 1)
            held = held if within is None else held[within[row, held]]
            if len(held):
                first[row] = int(held[0])
                break
    return Told(first, values / level, np.full(values.shape, level), values.shape[1] > RISING)


def _first(over: Flags) -> npt.NDArray[np.int64]:
    return np.where(over.any(axis=1), over.argmax(axis=1), -1).astype(np.int64)


def gate(name: GateName, values: FloatArray, others: Mapping[str, FloatArray | Outcome]) -> Flags:
    """Steps at which a gate holds, shape (runs, steps). A gate whose signal is missing holds, unless it is needed."""
    signal, _, needed = GATES[name]
    seen = others.get(signal)
    if seen is None:
        return np.full(values.shape, not needed)
    if isinstance(seen, Outcome):
        return _outcome_flat(values, seen)
    known = np.isfinite(seen).all(axis=0)
    start = int(known.argmax()) if known.any() else values.shape[1]
    holds = np.full(values.shape, not needed)
    if start < values.shape[1]:
        part = seen[:, start:]
        holds[:, start:] = {
            "score_not_risen": lambda: ~(_risen(part) | _saturated(part)),
            "not_saturated": lambda: ~_saturated(part),
            "tool_use_falls": lambda: recent(part, 3) < _FALLS * best_so_far(part),
        }[name]()
    return holds


def _risen(score: FloatArray) -> Flags:
    """Now over the first steps beyond noise, and not back from its best by half of the gain."""
    now, then = recent(score, LATELY), baseline(score)
    best = np.maximum.accumulate(now, axis=1)
    beyond = now - then > _RISEN * long_run_noise(score)
    return np.asarray(beyond & (now - then >= 0.5 * (best - then)))


def _saturated(score: FloatArray) -> Flags:
    """Now within 5 % of the range so far from the highest value so far: there is nothing left to gain."""
    top, bottom = np.maximum.accumulate(score, axis=1), np.minimum.accumulate(score, axis=1)
    return np.asarray((top > bottom) & (recent(score, LATELY) >= top - _SATURATED * (top - bottom)))


def _outcome_flat(proxy: FloatArray, outcome: Outcome) -> Flags:
    """The upper end of what the outcome can have gained is below a quarter of what the proxy has gained."""
    flat = np.zeros(proxy.shape, dtype=bool)
    places, steps = outcome.places, proxy.shape[1]
    gained = recent(proxy, LATELY) - baseline(proxy)
    count = len(places)
    first = max(2, int((places < WINDOW).sum()))
    for known in range(first + 2, count + 1):
        seen = outcome.values[:, :known]
        lately = int((places[:known] > places[known - 1] - LATELY).sum())
        noise = 1.4826 * np.median(np.abs(np.diff(seen, axis=1)), axis=1) / np.sqrt(2)
        error = noise * np.sqrt(1 / first + 1 / lately)
        high = seen[:, -lately:].mean(axis=1) - seen[:, :first].mean(axis=1) + _ONE_SIDED * error
        until = int(places[known]) if known < count else steps
        here = slice(int(places[known - 1]), until)
        flat[:, here] = high[:, None] < _OUTCOME_SHARE * gained[:, here]
    return flat
