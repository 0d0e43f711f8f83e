"""The alarms of one run: every rule against the signals of its training steps, with evidence and error rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl

from trajlab.checks.alarm_rules import FALSE_ALARMS, FLAGS, GATES, RULES, Rule
from trajlab.checks.alarm_tests import (
    BETTING_LEVEL,
    FLAG_RUN_LENGTH,
    LATELY,
    FloatArray,
    Outcome,
    Told,
    level_now,
    told,
    told_of_flags,
)
from trajlab.checks.facts import thresholds as shipped
from trajlab.checks.finding import Evidence, Finding, Status
from trajlab.measures.step_signals import BY_SIGNAL
from trajlab.stats.sequential import WINDOW
from trajlab.stats.step_rules import crossings, observed_run_rate

OUTCOMES = ("outcome_rate", "correct_rate")
"""Signals that tell the outcome where none is named; validation scores (``val.``) come after them."""


MOST = 1e100
"""No metric of a run that can still be judged is larger."""


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule says of one run."""

    run: str | None
    signal: str
    """The signal it looked at."""
    finding: Finding
    """Code, layer, status, first step, message, evidence, advice."""
    collapse: bool
    """With status ``alarm``: the run is collapsing."""
    first_step: int | None
    """Training step at which it was first told; ``None``: not told."""
    onset_step: int | None
    """First step of the stretch beyond the line that led to it."""
    statistic: float | None
    """Largest so far."""
    line: float | None
    """The line at the first step of the alarm, or the last."""
    false_alarm_rate: str
    """The false-alarm rate of the rule, in words with its condition."""
    steps: int
    """Steps at which the signal is observed."""
    active: bool = False
    """The evidence still stands at the last step."""

    @property
    def status(self) -> Status:
        """Status of the finding."""
        return self.finding.status

    @property
    def is_collapse(self) -> bool:
        """A collapse alarm, not a warning and not an alarm of the system around the policy."""
        return self.collapse and self.finding.status == "alarm"


def alarms(
    signals: pl.DataFrame,
    overrides: Mapping[str, float] | None = None,
    *,
    outcome: str | None = None,
    rules: Sequence[Rule] = RULES,
) -> list[Alarm]:
    """Every rule against every run of a frame of signals, worst first within a run.

    Args:
        signals: As of `trajlab.measures.step_signals.step_signals`.
        overrides: Lines such as ``{"alarm_kl.level": 0.1}``.
        outcome: Signal that tells the independent outcome; ``None``: the first of `OUTCOMES` that is observed, else the
            validation score with the most steps.
        rules: Only these.

    Raises:
        UsageError: An override names no line.
    """
    lines = shipped(dict(overrides) if overrides else None)
    order = {"alarm": 0, "warn": 1, "unobserved": 2, "ok": 3, "not_applicable": 4}
    found: list[Alarm] = []
    for run in sorted(signals["run"].unique().to_list(), key=str):
        own = signals.filter(pl.col("run").eq_missing(pl.lit(run, pl.String)))
        series = series_of(own)
        told_of = outcome if outcome is not None else _outcome_signal(series)
        of_run = [_alarm(rule, lines[rule.threshold], run, series, told_of) for rule in rules]
        found += sorted(of_run, key=lambda item: (order[item.status], not item.collapse, item.finding.code))
    return found


class Series(msgspec.Struct, frozen=True):
    """One signal of one run in the order of steps; what is not finite is left out."""

    steps: list[int]
    values: FloatArray
    error: FloatArray
    """Standard error of each value from the trajectories of its batch; NaN: not known."""


def series_of(signals: pl.DataFrame) -> dict[str, Series]:
    """The series of one run by signal. ``flat_loss`` (the loss is exactly 0) is told by ``loss``.

    Values from 1e100 on are left out like those that are not finite. The last batch is left out while it holds less
    than half of the usual trajectories: it is still being written.
    """
    found = {}
    signals = _finished(signals)
    kept = (
        signals.filter(pl.col("value").is_finite() & (pl.col("value").abs() < MOST))
        .sort("step")
        .unique(["signal", "step"], keep="last")
    )
    for (name,), part in kept.sort("step").partition_by("signal", as_dict=True).items():
        error = part.select((pl.col("sd") / pl.col("n").sqrt()).fill_null(float("nan"))).to_series().to_numpy()
        found[str(name)] = Series(part["step"].to_list(), part["value"].to_numpy(), error)
    loss = found.get("loss")
    if loss is not None and (loss.values != 0).any():
        found["flat_loss"] = Series(loss.steps, (loss.values == 0).astype(np.float64), loss.error)
    return found


def _finished(signals: pl.DataFrame) -> pl.DataFrame:
    own = signals.filter((pl.col("source") == "rollouts") & (pl.col("signal") == "mean_steps")).sort("step")
    if own.height < 2:
        return signals
    usual, last = own["n"].head(own.height - 1).median(), own["n"].to_list()[-1]
    if not isinstance(usual, float | int) or last is None or last >= usual / 2:
        return signals
    return signals.filter((pl.col("source") != "rollouts") | (pl.col("step") < own["step"].max()))


def _outcome_signal(series: Mapping[str, Series]) -> str | None:
    for name in OUTCOMES:
        if name in series:
            return name
    scores = sorted((-len(item.steps), name) for name, item in series.items() if name.startswith("val."))
    return scores[0][1] if scores else None


def _alarm(
    rule: Rule, lines: dict[str, Any], run: str | None, series: Mapping[str, Series], outcome: str | None
) -> Alarm:
    name = next((item for item in (rule.signal, *rule.instead) if item in series), rule.signal)
    own = series.get(name)
    others = {} if own is None else aligned(own, series, outcome)
    missing = rule.signal if own is None else _missing_gate(rule, others)
    if own is None or missing is not None:
        return _unobserved(rule, run, name, missing or name, 0 if own is None else len(own.steps))
    values, floor = own.values[None, :], _floor(own)[None, :]
    if rule.test == "cusum" and name in FLAGS:
        alarmed, warned = told_of_flags(rule, values, others), None
    else:
        alarmed = told(rule, lines, values, others, floor=floor)
        warned = told(rule, lines, values, others, floor=floor, warn=True) if _has_warning(lines) else None
    if not alarmed.judged:
        return _too_few(rule, run, name, own)
    return _said(rule, lines, run, name, own, alarmed, warned)


def _has_warning(lines: Mapping[str, Any]) -> bool:
    return any(name.startswith("warn_") for name in lines)


def aligned(own: Series, series: Mapping[str, Series], outcome: str | None) -> dict[str, FloatArray | Outcome]:
    """Signals that gates look at, at the steps of ``own``: the last value so far; NaN before the first."""
    found: dict[str, FloatArray | Outcome] = {}
    for name in ("score", "tool_use_rate"):
        if name in series:
            other = series[name]
            places = np.searchsorted(other.steps, own.steps, side="right") - 1
            found[name] = np.where(places >= 0, other.values[np.maximum(places, 0)], np.nan)[None, :]
    if outcome is not None and outcome in series:
        other = series[outcome]
        places = np.searchsorted(own.steps, other.steps, side="left")
        inside = places < len(own.steps)
        found["outcome"] = Outcome(places[inside].astype(np.int64), other.values[inside][None, :])
    return found


def _missing_gate(rule: Rule, others: Mapping[str, FloatArray | Outcome]) -> str | None:
    if rule.gate is None:
        return None
    signal, _, needed = GATES[rule.gate]
    return signal if needed and signal not in others else None


def _floor(own: Series) -> FloatArray:
    """Least noise by the size of the batches: the standard error of a mean, over the steps so far; 0: not known."""
    known = np.where(np.isfinite(own.error), own.error, 0.0) ** 2
    return np.asarray(np.sqrt(np.cumsum(known) / np.arange(1, len(known) + 1)))


def _said(
    rule: Rule, lines: dict[str, Any], run: str | None, name: str, own: Series, alarmed: Told, warned: Told | None
) -> Alarm:
    place = int(alarmed.first[0])
    status: Status = "alarm" if place >= 0 else "ok"
    shown = alarmed
    if place < 0 and warned is not None and int(warned.first[0]) >= 0:
        status, shown, place = "warn", warned, int(warned.first[0])
    if place < 0 and rule.test == "runaway":
        status, place = _crossed(own, float(lines["level"]))
    if place < 0 and warned is not None and rule.test == "cusum":
        shown = level_now(rule, lines, own.values[None, :])
        place = int(shown.first[0])
        status = "warn" if place >= 0 else status
    at = place if place >= 0 else len(own.steps) - 1
    onset = _onset(rule, shown, own, place)
    title = rule.first_sign if status == "warn" and rule.first_sign else rule.title
    evidence, message = _evidence(rule, lines, name, own, shown, place, onset, title)
    finding = Finding(
        code=rule.code, layer=rule.layer, status=status, step=own.steps[place] if place >= 0 else None,
        message=message, evidence=evidence, advice=rule.advice if status in ("alarm", "warn") else "",
    )  # fmt: skip
    return Alarm(
        run=run, signal=name, finding=finding, collapse=rule.collapse, first_step=finding.step,
        onset_step=None if onset is None else own.steps[onset], statistic=float(np.nanmax(shown.statistic[0])),
        line=_finite(shown.line[0, at]), false_alarm_rate=rate(rule, lines, name, own), steps=len(own.steps),
        active=place >= 0 and _stands(rule, shown),
    )  # fmt: skip


def _stands(rule: Rule, shown: Told) -> bool:
    """Whether the statistic has not gone back to nothing since."""
    last = float(shown.statistic[0, -1])
    return last > 1 if rule.test in ("runaway", "betting") else last > 0


def _crossed(own: Series, level: float) -> tuple[Status, int]:
    """A value that crossed its line without running away: an excursion warns, a spring does not."""
    found = [item for item in crossings(own.values, level) if item.kind != "spring"]
    return ("warn", found[0].told_at) if found else ("ok", -1)


def _onset(rule: Rule, shown: Told, own: Series, place: int) -> int | None:
    """First step of the stretch in which the statistic grew from nothing."""
    if place < 0:
        return None
    if rule.test == "betting":
        return 0
    over = own.values > shown.line[0] if rule.test == "runaway" else shown.statistic[0] > 0
    below = np.flatnonzero(~over[: place + 1])
    return min(place, int(below[-1]) + 1) if len(below) else 0


def _evidence(
    rule: Rule, lines: dict[str, Any], name: str, own: Series, shown: Told, place: int, onset: int | None, said: str
) -> tuple[list[Evidence], str]:
    title = f"{said}: {BY_SIGNAL[name].title if name in BY_SIGNAL else name.replace('_', ' ')}"
    last = own.values[-1]
    if place < 0:
        seen = f"{title} {last:.4g} at step {own.steps[-1]}, not told over {len(own.steps)} steps"
        return _springs(rule, lines, own), seen
    start = float(np.median(own.values[:WINDOW]))
    line = _finite(shown.line[0, place])
    side = "over" if rule.high else "under"
    if shown.lately:
        text = f"{title} {np.median(own.values[-LATELY:]):.4g}, the median of the last {LATELY} steps"
    else:
        text = f"{title} {own.values[place]:.4g} at step {own.steps[place]}"
    if line is not None:
        text += f", {side} the line of {line:.4g}"
    if onset is not None and onset < place:
        text += f" since step {own.steps[onset]}"
    text += f"; {start:.4g} over the first {min(WINDOW, len(own.values))} steps, {last:.4g} at step {own.steps[-1]}"
    if not _stands(rule, shown):
        text += ", where it no longer holds"
    around = range(max(0, (onset or 0) - 1), min(len(own.steps), place + 1))
    kept = list(around)[-8:]
    values = "; ".join(f"{own.steps[item]}: {own.values[item]:.4g}" for item in kept)
    evidence = [Evidence(text=f"{name} by step: {values}", step=own.steps[place])]
    if rule.gate is not None:
        evidence.append(Evidence(text=f"and {GATES[rule.gate][1]}", step=own.steps[place]))
    evidence.append(Evidence(text=f"false alarms: {rate(rule, lines, name, own)}"))
    return [*evidence, *_springs(rule, lines, own)], text


def _springs(rule: Rule, lines: dict[str, Any], own: Series) -> list[Evidence]:
    """Every crossing of the line, for rules that classify them."""
    if rule.test != "runaway":
        return []
    level = float(lines["level"])
    return [
        Evidence(
            text=f"{item.kind}: over {level:g} from step {own.steps[item.first]} to {own.steps[item.last]}, "
            f"peak {item.peak:.4g}" + (", not over yet" if item.open else ""),
            step=own.steps[item.first],
        )
        for item in crossings(own.values, level, grown=float(lines["share"]))
    ]


def rate(rule: Rule, lines: Mapping[str, Any], name: str, own: Series) -> str:
    """The false-alarm rate of a rule, with its condition."""
    if rule.test == "cusum" and name in FLAGS:
        return f"one in {FLAG_RUN_LENGTH:g} steps on average at the most, while the share is not over the line"
    if rule.test == "betting":
        return f"at most {100 * BETTING_LEVEL:g} % however often one looks, while the share is not over the line"
    if rule.test == "runs":
        chance = observed_run_rate(own.values, float(lines["level"]), int(lines["count"]))
        return (
            f"{int(lines['count'])} in a row; by chance {100 * (chance.value or 0):.2g} % in {len(own.steps)} steps, "
            "were its own steps over the line independent"
        )
    if rule.test == "runaway":
        return "a stretch over the line that only wanders is called rising at its fourth step in 1 of 24"
    usual, worst = FALSE_ALARMS["best" if rule.reference in ("best", "lowest") else "start", rule.slack]
    return (
        f"at most {100 * usual:.2g} % of runs of 200 steps whose level stays where it was, while the autocorrelation "
        f"is up to 0.5 ({100 * worst:.2g} % at 0.7); less where the line is further away than noise would set it"
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _unobserved(rule: Rule, run: str | None, name: str, missing: str, steps: int) -> Alarm:
    signal = BY_SIGNAL.get(missing)
    wanted = signal.to_log if signal is not None else "an outcome that is not the training reward"
    message = f"{rule.title}: {missing.replace('_', ' ')} is not observed"
    return _silent(rule, run, name, steps, message, f"Log {wanted}.")


def _too_few(rule: Rule, run: str | None, name: str, own: Series) -> Alarm:
    message = f"{rule.title}: {len(own.steps)} step{'s' * (len(own.steps) != 1)} are too few to judge"
    return _silent(rule, run, name, len(own.steps), message, "Look again when the run has gone on.")


def _silent(rule: Rule, run: str | None, name: str, steps: int, message: str, advice: str) -> Alarm:
    finding = Finding(code=rule.code, layer=rule.layer, status="unobserved", message=message, advice=advice)
    return Alarm(
        run=run, signal=name, finding=finding, collapse=rule.collapse, first_step=None, onset_step=None, statistic=None,
        line=None, false_alarm_rate="", steps=steps,
    )  # fmt: skip
