"""Sections of the run diagnosis as HTML: they show what the layers say and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from trajlab.checks.finding import Finding
from trajlab.checks.layers import COUNT
from trajlab.checks.layers.base import FEWEST, LayerReport, listed, number, plural
from trajlab.checks.layers.onset import OnsetRow
from trajlab.report.layer_plots import layer_panels, onset_timeline
from trajlab.report.policy_section import calibration_table
from trajlab.report.reading_sample import sample as reading_sample
from trajlab.report.run_diagnosis import RunDiagnosis
from trajlab.report.tables import STATUS_WORDS, badge, callout, details, facts, plain_table
from trajlab.report.text import Html, escape, join

MARKS = {"ok": "✓", "warn": "!", "alarm": "✕", "unobserved": "?", "not_applicable": "–"}
"""A sign beside the word of each status, so that neither colour nor language carries it alone."""
_FIRST = 4
"""Places of the order of investigation that stand in the conclusion."""


def status_badge(status: str) -> Html:
    """Sign and word of a status."""
    return badge(status, f"{MARKS[status]} {STATUS_WORDS[status]}")


def conclusion(d: RunDiagnosis) -> Html:
    """The answer: is it collapsing, how much could be judged, what to look at first."""
    return join([Html(f'<p class="lead">{escape(_what(d))}</p>'), _verdict(d), *_first_places(d)], "\n")


def _what(d: RunDiagnosis) -> str:
    steps, rows = d.steps, d.trajectories.frame.height
    seen = f"{plural(len(steps), 'training step')} ({steps[0]:,} to {steps[-1]:,})" if steps else "no training step"
    rollouts = (
        f"{rows:,} {'trajectory' if rows == 1 else 'trajectories'}" if rows else "no trajectories, only a metric log"
    )
    counts = {s: sum(layer.status == s for layer in d.diagnosis.layers) for s in ("alarm", "warn", "ok")}
    judged = f"{len(d.diagnosis.covered)} of {COUNT} layers could be judged"
    return (
        f"{seen}, {rollouts}. {judged}: {counts['alarm']} with an alarm, {counts['warn']} with a warning, "
        f"{counts['ok']} fine."
    )


def _verdict(d: RunDiagnosis) -> Html:
    collapsing = d.collapses
    if collapsing:
        more = f" {plural(len(collapsing) - 1, 'further collapse alarm')}." if len(collapsing) > 1 else ""
        return callout(
            "alarm", f"The run is collapsing. {_sentence(collapsing[0].message)}{more}", collapsing[0].advice
        )
    alarms = [f for f in d.findings if f.status == "alarm" and f.layer not in ("L14", "L15")]
    judged = [a for a in d.facts.alarms if a.status != "unobserved" and a.collapse]
    if not judged or len(d.steps) < FEWEST:
        return callout("unobserved", "Whether the run is collapsing is not observed: no signal has enough steps.",
                       f"Log score, KL, entropy and the rollouts of every step, {FEWEST} steps at least.")  # fmt: skip
    said = (
        f"No collapse alarm ({plural(len(judged), 'test')} of {sum(a.collapse for a in d.facts.alarms)} could be made)"
    )
    if alarms:
        return callout(
            "alarm",
            f"{said}, but {plural(len(alarms), 'other alarm')}: {_sentence(alarms[0].message)}",
            alarms[0].advice,
        )
    return callout("ok", f"{said}, and no other alarm.")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _first_places(d: RunDiagnosis) -> list[Html]:
    """The first of the order that the verdict has not told yet, each layer once."""
    told = {d.collapses[0].code} if d.collapses else set()
    seen = {d.collapses[0].layer} if d.collapses else set()
    found: list[Html] = []
    for row in d.diagnosis.order:
        if row.code in told or row.layer in seen or len(found) == _FIRST:
            continue
        seen.add(row.layer)
        advice = next((f.advice for f in d.findings if f.code == row.code), "")
        found.append(callout(row.status, f"{row.layer} · {row.message} ({row.why})", advice))
    return found


def layers(d: RunDiagnosis) -> Html:
    """The fifteen layers in one table."""
    rows = [
        {
            "layer": Html(f"<b>{escape(layer.code)}</b> {escape(layer.title)}"),
            "status": status_badge(layer.status),
            "first step": "" if layer.step is None or layer.status not in ("warn", "alarm") else f"{layer.step:,}",
            "what decides": _decides(layer),
        }
        for layer in d.diagnosis.layers
    ]
    unseen = {s: [r.code for r in d.diagnosis.layers if r.status == s] for s in ("unobserved", "not_applicable")}
    rest = "; ".join(f"{STATUS_WORDS[s]}: {', '.join(codes)}" for s, codes in unseen.items() if codes)
    caption = f"coverage {len(d.diagnosis.covered)}/{COUNT}{'; ' + rest if rest else ''}"
    return _roomy(plain_table(rows, caption=caption))


def _roomy(table: Html) -> Html:
    """A table whose last column may be wide."""
    return Html(f'<div class="roomy">{table}</div>')


def _decides(layer: LayerReport) -> Html:
    """The first clause of what decides (all of it stands below), and what to do or to log."""
    advice = f'<br><span class="null">{escape(layer.advice)}</span>' if layer.advice and layer.status != "ok" else ""
    return Html(f"{escape(layer.message.split('; ')[0])}{advice}")


def onsets(d: RunDiagnosis) -> Html:
    """Which signal moved first: causes are read before symptoms."""
    rows = d.diagnosis.onsets
    if not rows:
        said = "No signal left its level." if d.steps else "No signal is observed."
        return callout("ok" if d.steps else "unobserved", said)
    table = [
        {
            "signal": row.title,
            "began": f"step {row.step:,}",
            "told": _told(row),
            "from → to": f"{number(row.before)} → {number(row.after)}",
            "changes of level": _points(row),
        }
        for row in rows
    ]
    note = "In the order of their first steps. What moved first is nearer to the cause, but may be no cause at all."
    return join([onset_timeline(rows, d.steps, title="what moved, and when"), plain_table(table, caption=note)], "\n")


def _told(row: OnsetRow) -> Html:
    if row.alarm is None:
        return Html('<span class="null">moved, no alarm</span>')
    return Html(f"{status_badge(row.alarm.status)} {escape(row.alarm.finding.code)} at step {row.alarm.first_step}")


def _points(row: OnsetRow) -> str:
    said = [f"{point.step:,.0f} [{point.low:,.0f}, {point.high:,.0f}]" for point in row.points]
    return f"{'slope: ' if row.drifts else ''}{', '.join(said)}" if said else "–"


def order(d: RunDiagnosis) -> Html:
    """Every alarm and warning in the order in which to look at them."""
    rows = [
        {
            "": f"{row.place}.",
            "layer": row.layer,
            "status": status_badge(row.status),
            "code": row.code,
            "why here": row.why,
            "finding": row.message,
        }
        for row in d.diagnosis.order
    ]
    if not rows:
        return callout(
            "ok" if d.diagnosis.covered else "unobserved",
            "Nothing to investigate." if d.diagnosis.covered else "Nothing is observed.",
        )
    note = (
        "The data, then the system, then the configuration, then by the step where it began; what has no step "
        "comes last."
    )
    return _roomy(plain_table(rows, caption=note))


def symptoms(d: RunDiagnosis) -> Html:
    """The quick reference: what is shown first, the rest folded."""
    shown = [row for row in d.diagnosis.symptoms if row.shown]
    words = {None: "not observed", False: "not shown"}
    table = [
        {"symptom": row.symptom, "since": "" if row.step is None else f"step {row.step:,}", "cause": row.cause,
         "what to do": row.action, "told by": row.code}
        for row in shown
    ]  # fmt: skip
    rest = [{"symptom": row.symptom, "": words[row.shown], "cause": row.cause, "what to do": row.action}
            for row in d.diagnosis.symptoms if not row.shown]  # fmt: skip
    first = (
        plain_table(table, caption=f"shown: {len(shown)} of {len(d.diagnosis.symptoms)}")
        if table
        else callout(
            "ok" if any(row.shown is False for row in d.diagnosis.symptoms) else "unobserved",
            "None of the known symptoms is shown.",
        )
    )
    return join([first, details("symptoms not shown or not observed", plain_table(rest), note=str(len(rest)))])


def layer_by_layer(d: RunDiagnosis) -> Html:
    """Each layer with its question, its findings, their evidence, and its pictures."""
    return join([_layer(d, layer) for layer in d.diagnosis.layers[:-2]], "\n")


def _layer(d: RunDiagnosis, layer: LayerReport) -> Html:
    head = Html(f"<h3>{escape(layer.code)} {escape(layer.title)} {status_badge(layer.status)}</h3>")
    question = Html(f'<p class="more">{escape(layer.question)}</p>')
    if layer.status in ("unobserved", "not_applicable"):
        return join([head, question, callout(layer.status, layer.message, layer.advice)], "\n")
    loud = [f for f in layer.findings if f.status in ("alarm", "warn")]
    quiet = [f for f in layer.findings if f.status not in ("alarm", "warn")]
    parts = [callout(f.status, f"{f.code} {f.message}", join([f.advice, _evidence(f)])) for f in loud]
    if layer.code == "L5" and d.facts.audit is not None:
        parts.append(calibration_table(d.facts.audit.policy))
    if layer.panels:
        parts.append(layer_panels(layer.panels, _marks(loud), title=f"{layer.code} {layer.title}"))
    rows = [
        {"status": status_badge(f.status), "code": f.code, "finding": join([f.message, _evidence(f)])} for f in quiet
    ]
    if rows:
        table = plain_table(rows)
        parts.append(
            table
            if not loud and len(rows) <= 3
            else details("the other checks", table, note=str(len(rows)), is_open=not loud)
        )
    return join([head, question, *parts], "\n")


def _evidence(finding: Finding) -> Html:
    items = "".join(f"<li>{escape(item.text)}</li>" for item in finding.evidence[:12])
    return Html(f'<ul class="evidence">{items}</ul>') if items else Html("")


def _marks(findings: Sequence[Finding]) -> Mapping[int, str]:
    found: dict[int, list[str]] = {}
    for finding in findings:
        if finding.step is not None:
            found.setdefault(finding.step, []).append(finding.code)
    return {step: ", ".join(codes) for step, codes in found.items()}


def funnel(d: RunDiagnosis) -> Html:
    """From tasks to updates, and what it cost."""
    rows = [
        {
            "stage": stage.name,
            "left": "not observed" if stage.count is None else f"{stage.count:,.0f} {stage.unit}",
            "why not more": stage.lost,
            "solved, of what is left": stage.solved if stage.solved.value is not None else None,
        }
        for stage in d.funnel
    ]
    note = "What rises while the solved share of what is left rises with it may only have lost the harder tasks."
    seconds, frame = d.facts.signal("step.seconds"), d.trajectories.frame
    spent = {
        "episodes": f"{frame.height:,}",
        "rollout tokens": _sum(d, "prompt_tokens", "completion_tokens"),
        "wall clock of the steps": "not observed" if seconds is None else f"{seconds.values.sum() / 3600:,.1f} h",
        "cost": _sum(d, "cost"),
        "retries, verifier": "not observed: in no rollout log",
    }
    return join([_roomy(plain_table(rows, caption=note)), facts(spent)], "\n")


def _sum(d: RunDiagnosis, *columns: str) -> str:
    frame = d.trajectories.frame
    if frame.is_empty() or any(frame[name].null_count() for name in columns):
        return "not observed for every trajectory"
    return f"{sum(float(frame[name].sum()) for name in columns):,.0f}"


def configured(d: RunDiagnosis) -> Html:
    """Settings, and what was applied where the log shows it."""
    applied = {item.option: item for item in d.facts.applied}
    settings = d.facts.settings
    if not settings.observed and not applied:
        return callout(
            "unobserved", "Configuration: not observed.", "To see it, keep the trainer's config.yaml beside the logs."
        )
    rows = [
        {"setting": option, "configured": item.configured, "applied (steps)": item.said,
         "": status_badge("unobserved" if item.other is None else "warn" if item.other else "ok")}
        for option, item in applied.items()
    ]  # fmt: skip
    told = plain_table(rows, caption="configured against applied") if rows else Html("")
    return join(
        [
            told,
            details(
                "all settings", facts(dict(settings.settings)), note=f"{len(settings.settings)} · {settings.source}"
            ),
        ]
    )


def provenance(d: RunDiagnosis) -> Html:
    """What was read, what was not, and which series there are."""
    reading = d.facts.reading
    shown = facts(
        {
            "files read": ", ".join(f"{count:,} {name}" for name, count in reading.files.items()) or "none",
            "size": f"{reading.bytes / 1e6:,.1f} MB",
            "trajectories": f"{d.trajectories.frame.height:,}",
            "training steps": f"{len(d.steps):,}",
            "problems": ", ".join(f"{count:,} {code}" for code, count in sorted(reading.problems.items())) or "none",
        }
    )
    rows = [
        {
            "series": name,
            "from": signal.source,
            "steps": len(signal.values),
            "no finite number at": listed(signal.broken) if signal.broken else None,
            "first": number(signal.first) if len(signal.values) else None,
            "last": number(signal.last) if len(signal.values) else None,
        }
        for name, signal in sorted(d.facts.signals.items())
    ]
    series = details("series of the run", plain_table(rows), note=str(len(rows)))
    problems = d.corpus.problems.filter((pl.col("run") == d.facts.run) | pl.col("run").is_null())
    first = problems.select("source", "line", "code", "message").head(50).collect()
    told = (
        details("the first problems", plain_table(first.to_dicts(), limit=50), note=str(first.height))
        if first.height
        else Html("")
    )
    return join([shown, series, told], "\n")


def sample(d: RunDiagnosis) -> Html:
    """Rollouts from the steps of the alarms, to be read."""
    if not d.sampled:
        return callout("ok" if d.trajectories.frame.height else "unobserved",
                       "No alarm names a step whose rollouts could be opened.")  # fmt: skip
    return reading_sample(d)
