"""Sections of the run diagnosis as HTML: they show what the layers say and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from trajlab.checks.finding import Finding
from trajlab.checks.layers import COUNT
from trajlab.checks.layers.base import LayerReport, listed, number
from trajlab.checks.layers.onset import OnsetRow
from trajlab.corpus.of_run import rows_of_run
from trajlab.report.diagnosis_verdict import conclusion, panels, status_badge, told
from trajlab.report.layer_plots import layer_panels, onset_timeline
from trajlab.report.policy_section import calibration_table
from trajlab.report.reading_sample import sample as reading_sample
from trajlab.report.run_diagnosis import RunDiagnosis
from trajlab.report.tables import Column, details, facts, plain_table
from trajlab.report.text import Html, escape, join

__all__ = [
    "conclusion", "configured", "funnel", "layer_by_layer", "layers", "onsets", "order", "provenance", "sample",
    "symptoms",
]  # fmt: skip


def layers(d: RunDiagnosis) -> Html:
    """The fifteen layers in one table."""
    rows = [
        {
            "layer": Html(f"<b>{escape(layer.code)}</b> {escape(d.phrases(layer.title))}"),
            "status": status_badge(d, layer.status),
            "first_step": "" if layer.step is None or layer.status not in ("warn", "alarm") else f"{layer.step:,}",
            "decides": _decides(d, layer),
        }
        for layer in d.diagnosis.layers
    ]
    unseen = {s: [r.code for r in d.diagnosis.layers if r.status == s] for s in ("unobserved", "not_applicable")}
    rest = "".join(
        d.words.say("note.coverage_rest", status=d.words.say(f"status.{s}"), codes=", ".join(codes))
        for s, codes in unseen.items()
        if codes
    )
    caption = d.words.say("note.coverage", n=len(d.diagnosis.covered), all=COUNT, rest=rest)
    return _roomy(_table(d, rows, caption=caption))


def _table(d: RunDiagnosis, rows: Sequence[Mapping[str, object]], *, caption: str = "", limit: int = 200) -> Html:
    """A plain table whose headings are in the language of the page."""
    heads = [Column(key, (d.words.find(f"column.{key}") or key) if key else "") for key in (rows[0] if rows else ())]
    return plain_table(rows, heads, caption=caption, limit=limit)


def _roomy(table: Html) -> Html:
    """A table whose last column may be wide."""
    return Html(f'<div class="roomy">{table}</div>')


def _decides(d: RunDiagnosis, layer: LayerReport) -> Html:
    """The first clause of what decides (all of it stands below), and what to do or to log."""
    said = escape(d.phrases(layer.advice))
    advice = f'<br><span class="null">{said}</span>' if layer.advice and layer.status != "ok" else ""
    return Html(f"{escape(d.phrases(layer.message.split('; ')[0]))}{advice}")


def onsets(d: RunDiagnosis) -> Html:
    """Which signal moved first: causes are read before symptoms."""
    say = d.words.say
    rows = [msgspec.structs.replace(row, title=d.phrases(row.title)) for row in d.diagnosis.onsets]
    if not rows:
        return told(d, "ok" if d.steps else "unobserved", say("note.no_onset" if d.steps else "note.no_signal"))
    table = [
        {
            "signal": row.title,
            "began": say("note.step", n=f"{row.step:,}"),
            "told": _told(d, row),
            "from_to": f"{number(row.before)} → {number(row.after)}",
            "points": _points(d, row),
        }
        for row in rows
    ]
    return join([onset_timeline(rows, d.steps, words=d.words), _table(d, table, caption=say("note.onsets"))], "\n")


def _told(d: RunDiagnosis, row: OnsetRow) -> Html:
    if row.alarm is None:
        return Html(f'<span class="null">{escape(d.words.say("note.moved"))}</span>')
    at = d.words.say("note.told", code=row.alarm.finding.code, step=f"{row.alarm.first_step or 0:,}")
    return Html(f"{status_badge(d, row.alarm.status)} {escape(at)}")


def _points(d: RunDiagnosis, row: OnsetRow) -> str:
    said = ", ".join(f"{point.step:,.0f} [{point.low:,.0f}, {point.high:,.0f}]" for point in row.points)
    return (d.words.say("note.slope", list=said) if row.drifts else said) if said else "–"


def order(d: RunDiagnosis) -> Html:
    """Every alarm and warning in the order in which to look at them."""
    rows = [
        {
            "": f"{row.place}.",
            "layer": row.layer,
            "status": status_badge(d, row.status),
            "code": row.code,
            "why": d.phrases(row.why),
            "finding": d.phrases(row.message),
        }
        for row in d.diagnosis.order
    ]
    if not rows:
        seen = bool(d.diagnosis.covered)
        said = d.words.say("note.nothing" if seen else "note.nothing_seen")
        return told(d, "ok" if seen else "unobserved", said)
    return _roomy(_table(d, rows, caption=d.words.say("note.order")))


def symptoms(d: RunDiagnosis) -> Html:
    """The quick reference: what is shown first, the rest folded."""
    say, phrases, rows = d.words.say, d.phrases, d.diagnosis.symptoms
    shown = [row for row in rows if row.shown]
    state = {None: say("note.not_observed"), False: say("note.not_shown")}
    table = [
        {"symptom": phrases(row.symptom), "since": "" if row.step is None else say("note.step", n=f"{row.step:,}"),
         "cause": phrases(row.cause), "action": phrases(row.action), "told_by": row.code}
        for row in shown
    ]  # fmt: skip
    rest = [{"symptom": phrases(row.symptom), "": state[row.shown], "cause": phrases(row.cause),
             "action": phrases(row.action)} for row in rows if not row.shown]  # fmt: skip
    first = (
        _table(d, table, caption=say("note.shown", n=len(shown), all=len(rows)))
        if table
        else told(d, "ok" if any(row.shown is False for row in rows) else "unobserved", say("note.no_symptom"))
    )
    return join([first, details(say("note.symptoms_rest"), _table(d, rest), note=str(len(rest)))])


def layer_by_layer(d: RunDiagnosis) -> Html:
    """Each layer with its question, its findings, their evidence, and its pictures."""
    return join([_layer(d, layer) for layer in d.diagnosis.layers[:-2]], "\n")


def _layer(d: RunDiagnosis, layer: LayerReport) -> Html:
    phrases, title = d.phrases, f"{layer.code} {d.phrases(layer.title)}"
    head = Html(f"<h3>{escape(title)} {status_badge(d, layer.status)}</h3>")
    question = Html(f'<p class="more">{escape(phrases(layer.question))}</p>')
    if layer.status in ("unobserved", "not_applicable"):
        return join([head, question, told(d, layer.status, phrases(layer.message), phrases(layer.advice))], "\n")
    loud = [f for f in layer.findings if f.status in ("alarm", "warn")]
    quiet = [f for f in layer.findings if f.status not in ("alarm", "warn")]
    parts = [
        told(d, f.status, f"{f.code} {phrases(f.message)}", join([phrases(f.advice), _evidence(d, f)])) for f in loud
    ]
    if layer.code == "L5" and d.facts.audit is not None:
        parts.append(calibration_table(d.facts.audit.policy))
    if layer.panels:
        parts.append(layer_panels(panels(d, layer.panels), _marks(loud), title=title, words=d.words))
    rows = [
        {"status": status_badge(d, f.status), "code": f.code, "finding": join([phrases(f.message), _evidence(d, f)])}
        for f in quiet
    ]
    if rows:
        table = _table(d, rows)
        parts.append(
            table
            if not loud and len(rows) <= 3
            else details(d.words.say("note.checks_rest"), table, note=str(len(rows)), is_open=not loud)
        )
    return join([head, question, *parts], "\n")


def _evidence(d: RunDiagnosis, finding: Finding) -> Html:
    items = "".join(f"<li>{escape(d.phrases(item.text))}</li>" for item in finding.evidence[:12])
    return Html(f'<ul class="evidence">{items}</ul>') if items else Html("")


def _marks(findings: Sequence[Finding]) -> Mapping[int, str]:
    found: dict[int, list[str]] = {}
    for finding in findings:
        if finding.step is not None:
            found.setdefault(finding.step, []).append(finding.code)
    return {step: ", ".join(codes) for step, codes in found.items()}


def funnel(d: RunDiagnosis) -> Html:
    """From tasks to updates, and what it cost."""
    say, phrases = d.words.say, d.phrases
    unseen = say("note.not_observed")
    rows = [
        {
            "stage": phrases(stage.name),
            "left": unseen if stage.count is None else f"{stage.count:,.0f} {phrases(stage.unit)}",
            "lost": phrases(stage.lost),
            "solved": stage.solved if stage.solved.value is not None else None,
        }
        for stage in d.funnel
    ]
    seconds, frame = d.facts.signal("step.seconds"), d.trajectories.frame
    spent = {
        "episodes": f"{frame.height:,}",
        "tokens": _sum(d, "prompt_tokens", "completion_tokens"),
        "clock": unseen if seconds is None else say("note.hours", n=f"{seconds.values.sum() / 3600:,.1f}"),
        "cost": _sum(d, "cost"),
        "retries": say("fact.no_retries"),
    }
    return join([_roomy(_table(d, rows, caption=say("note.funnel"))), _facts(d, spent)], "\n")


def _facts(d: RunDiagnosis, pairs: Mapping[str, object]) -> Html:
    return facts({d.words.say(f"fact.{name}"): value for name, value in pairs.items()})


def _sum(d: RunDiagnosis, *columns: str) -> str:
    frame = d.trajectories.frame
    if frame.is_empty() or any(frame[name].null_count() for name in columns):
        return d.words.say("fact.not_every")
    return f"{sum(float(frame[name].sum()) for name in columns):,.0f}"


def configured(d: RunDiagnosis) -> Html:
    """Settings, and what was applied where the log shows it."""
    applied = {item.option: item for item in d.facts.applied}
    settings = d.facts.settings
    if not settings.observed and not applied:
        return told(d, "unobserved", d.words.say("note.no_settings"), d.words.say("note.settings_to_log"))
    rows = [
        {"setting": option, "configured": item.configured, "applied": item.said,
         "": status_badge(d, "unobserved" if item.other is None else "warn" if item.other else "ok")}
        for option, item in applied.items()
    ]  # fmt: skip
    table = _table(d, rows, caption=d.words.say("note.configured")) if rows else Html("")
    return join(
        [
            table,
            details(
                d.words.say("note.settings"),
                facts(dict(settings.settings)),
                note=f"{len(settings.settings)} · {settings.source}",
            ),
        ]
    )


def provenance(d: RunDiagnosis) -> Html:
    """What was read, what was not, and which series there are."""
    reading = d.facts.reading
    none = d.words.say("fact.none")
    shown = _facts(
        d,
        {
            "files": ", ".join(f"{count:,} {name}" for name, count in reading.files.items()) or none,
            "size": f"{reading.bytes / 1e6:,.1f} MB",
            "trajectories": f"{d.trajectories.frame.height:,}",
            "steps": f"{len(d.steps):,}",
            "problems": ", ".join(f"{count:,} {code}" for code, count in sorted(reading.problems.items())) or none,
        },
    )
    rows = [
        {
            "series": name,
            "source": signal.source,
            "steps": len(signal.values),
            "broken": listed(signal.broken) if signal.broken else None,
            "first": number(signal.first) if len(signal.values) else None,
            "last": number(signal.last) if len(signal.values) else None,
        }
        for name, signal in sorted(d.facts.signals.items())
    ]
    series = details(d.words.say("note.series"), _table(d, rows), note=str(len(rows)))
    problems = rows_of_run(d.corpus, d.corpus.problems, d.facts.run)
    first = problems.select("source", "line", "code", "message").head(50)
    problem_table = (
        details(d.words.say("note.problems"), plain_table(first.to_dicts(), limit=50), note=str(first.height))
        if first.height
        else Html("")
    )
    return join([shown, series, problem_table], "\n")


def sample(d: RunDiagnosis) -> Html:
    """Rollouts from the steps of the alarms, to be read."""
    if not d.sampled:
        return told(d, "ok" if d.trajectories.frame.height else "unobserved", d.words.say("note.no_sample"))
    return reading_sample(d)
