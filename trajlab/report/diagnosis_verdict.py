"""The first screen of the run diagnosis: is it collapsing, since when, by which curves, and what to look at first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trajlab.checks.alarms import Alarm
from trajlab.checks.finding import Finding, Status
from trajlab.checks.layers import COUNT
from trajlab.checks.layers.base import FEWEST, Panel
from trajlab.checks.layers.onset import began
from trajlab.measures.step_signals import BY_SIGNAL
from trajlab.report.layer_plots import layer_panels
from trajlab.report.run_diagnosis import RunDiagnosis
from trajlab.report.tables import badge, callout
from trajlab.report.text import Html, escape, join

MARKS = {"ok": "✓", "warn": "!", "alarm": "✕", "unobserved": "?", "not_applicable": "–"}
"""A sign beside the word of each status, so that neither colour nor language carries it alone."""
_FIRST = 4
"""Places of the order of investigation that stand in the conclusion."""
_CURVES = 3
_FURTHER = 6
_HEALTHY = (("score", "score.mean", "reward.mean"), ("kl", "kl.reference", "kl.loss", "kl.penalty"), ("entropy",))
"""Curves of a run without alarms, each by the first of its names."""


def status_badge(d: RunDiagnosis, status: str) -> Html:
    """Sign and word of a status."""
    return badge(status, f"{MARKS[status]} {d.words.say(f'status.{status}')}")


def told(d: RunDiagnosis, status: Status, text: object, more: object = "") -> Html:
    """A callout with its status in the language of the page."""
    return callout(status, text, more, word=d.words.say(f"status.{status}"))


def panels(d: RunDiagnosis, found: Sequence[Panel]) -> list[Panel]:
    """Panels with the names of their curves and lines in the language of the page."""
    return [
        msgspec.structs.replace(
            panel,
            title=d.phrases(panel.title),
            curves={d.phrases(name): signal for name, signal in panel.curves.items()},
            lines={d.phrases(name): value for name, value in panel.lines.items()},
        )
        for panel in found
    ]


def conclusion(d: RunDiagnosis) -> Html:
    """The answer: is it collapsing, since when, how it looks, how much could be judged, what to look at first."""
    return join([_verdict(d), _curves(d), Html(f'<p class="lead">{escape(_lead(d))}</p>'), *_first_places(d)], "\n")


def _lead(d: RunDiagnosis) -> str:
    say, steps, rows = d.words.say, d.steps, d.trajectories.frame.height
    ends = {"first": f"{steps[0]:,}", "last": f"{steps[-1]:,}"} if steps else {}
    key = ("no_steps", "one_step")[len(steps)] if len(steps) < 2 else "steps"
    seen = say(f"lead.{key}", n=f"{len(steps):,}", **ends)
    rollouts = say("lead.one_rollout") if rows == 1 else say("lead.rollouts", n=f"{rows:,}") if rows else (
        say("lead.no_rollouts"))  # fmt: skip
    counts = {status: sum(layer.status == status for layer in d.diagnosis.layers) for status in ("alarm", "warn", "ok")}
    return say("lead.whole", steps=seen, rollouts=rollouts, judged=len(d.diagnosis.covered), all=COUNT, **counts)


def _verdict(d: RunDiagnosis) -> Html:
    say, collapsing = d.words.say, d.collapse_alarms
    if collapsing:
        return _collapse(d, collapsing)
    alarms = _other_alarms(d)
    judged = [a for a in d.facts.alarms if a.status != "unobserved" and a.collapse]
    if not judged or len(d.steps) < FEWEST:
        return told(d, "unobserved", say("verdict.unknown"), say("verdict.to_log", n=FEWEST))
    tests = {"judged": len(judged), "all": sum(a.collapse for a in d.facts.alarms)}
    if alarms:
        said = say("verdict.others", n=len(alarms), message=_sentence(d, alarms[0].message), **tests)
        return told(d, "alarm", said, d.phrases(alarms[0].advice))
    return told(d, "ok", say("verdict.none", **tests))


def _other_alarms(d: RunDiagnosis) -> list[Finding]:
    return [f for f in d.findings if f.status == "alarm" and f.layer not in ("L14", "L15")]


def _collapse(d: RunDiagnosis, collapsing: list[Alarm]) -> Html:
    """Since when, by what, what else, and which steps are older than all of it."""
    say, first = d.words.say, collapsing[0]
    message = _sentence(d, first.finding.message)
    key = "collapsing" if first.active else "collapsed"
    step = began(first) if first.active else first.first_step
    rest = [
        say("verdict.further_one", title=d.phrases(alarm.finding.message.split(": ")[0]), step=f"{began(alarm) or 0:,}")
        for alarm in collapsing[1 : 1 + _FURTHER]
    ]
    moved = min((row.step for row in d.diagnosis.onsets), default=None)
    parts = [d.phrases(first.finding.advice)]
    parts += [say("verdict.before", step=f"{moved:,}")] if moved is not None and moved > d.steps[0] else []
    parts += [say("verdict.further", list=say("verdict.comma").join(rest))] if rest else []
    said = say(f"verdict.{key}", step=f"{step or 0:,}", message=message)
    return told(d, "alarm", said, say("verdict.gap").join(parts))


def _sentence(d: RunDiagnosis, text: str) -> str:
    said = d.phrases(text)
    return f"{said[:1].upper()}{said[1:]}{d.words.say('verdict.stop')}"


def _curves(d: RunDiagnosis) -> Html:
    """The signals of the first alarms with their lines; of a run without any, score, KL and entropy."""
    loud = [*d.collapse_alarms, *(a for a in d.facts.alarms if a.status == "alarm" and not a.collapse)]
    found: dict[str, Panel] = {}
    marks: dict[int, str] = {}
    for alarm in loud:
        signal = d.facts.signal(alarm.signal, *_names(alarm.signal))
        if signal is None or alarm.signal in found or len(found) == _CURVES:
            continue
        title = BY_SIGNAL[alarm.signal].title if alarm.signal in BY_SIGNAL else alarm.signal.replace("_", " ")
        found[alarm.signal] = Panel(title, {title: signal}, lines={} if alarm.line is None else {"line": alarm.line})
        if alarm.first_step is not None:
            marks[alarm.first_step] = ", ".join(filter(None, [marks.get(alarm.first_step), alarm.finding.code]))
    shown = list(found.values())
    if not shown:
        signals = [signal for names in _HEALTHY if (signal := d.facts.signal(*names)) is not None]
        shown = [Panel(title, {title: s}) for s in signals for title in [s.name.partition(".")[0]]]
    if not shown or len(d.steps) < FEWEST:
        return Html("")
    title = d.words.say("verdict.panels" if loud else "verdict.panels_ok")
    return layer_panels(panels(d, shown), marks, title=title, words=d.words)


def _names(signal: str) -> tuple[str, ...]:
    return BY_SIGNAL[signal].metrics if signal in BY_SIGNAL else ()


def _first_places(d: RunDiagnosis) -> list[Html]:
    """The first of the order that the verdict has not told yet, each layer once; all of it stands below."""
    said = {alarm.finding.code for alarm in d.collapse_alarms[: 1 + _FURTHER]}
    seen = {d.collapses[0].layer} if d.collapses else set()
    found: list[Html] = []
    for row in d.diagnosis.order:
        if row.code in said or row.layer in seen or len(found) == _FIRST:
            continue
        seen.add(row.layer)
        advice = next((f.advice for f in d.findings if f.code == row.code), "")
        message = d.phrases(row.message.split("; ")[0])
        text = d.words.say("lead.place", layer=row.layer, message=message, why=d.phrases(row.why))
        found.append(told(d, row.status, text, d.phrases(advice)))
    return [Html(f"<p>{escape(d.words.say('lead.look'))}</p>"), *found] if found else []
