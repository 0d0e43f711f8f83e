"""The diagnosis of a run in ``result.json``: the fifteen layers, the onset table, the symptoms, the order."""

from __future__ import annotations

import msgspec

from trajlab.checks.finding import Evidence, Status
from trajlab.checks.layers import COUNT, Diagnosis
from trajlab.checks.layers.base import LayerReport
from trajlab.checks.layers.onset import OnsetRow


class LayerResult(msgspec.Struct, kw_only=True):
    """One layer of the run diagnosis."""

    code: str
    """``L1`` to ``L15``."""
    title: str
    status: Status
    message: str
    """What decides; of a layer that does not apply, why; of one that is unobserved, what is missing."""
    step: int | None = None
    """First training step of what decides; null: it speaks of the whole run."""
    advice: str = ""
    """What to do; of an unobserved layer what to log."""
    findings: list[str] = []
    """Codes of its findings, the gravest first."""
    evidence: list[Evidence] = []


class OnsetPoint(msgspec.Struct, kw_only=True):
    """A change of level, or of slope where a series drifts."""

    step: float
    low: float
    high: float
    before: float
    after: float


class OnsetResult(msgspec.Struct, kw_only=True):
    """A signal that moved."""

    signal: str
    step: int
    """Where it began: of the alarm, else of the first change of level."""
    alarmed_at: int | None
    """Step at which the alarm or warning was told; null: it only moved."""
    code: str | None
    status: Status | None
    before: float
    """Mean before that step."""
    after: float
    points: list[OnsetPoint]
    drifts: bool
    """The points are changes of slope."""


class SymptomResult(msgspec.Struct, kw_only=True):
    """A line of the quick reference."""

    key: str
    shown: bool | None
    """Null: not observed."""
    step: int | None
    code: str | None
    """Finding that tells it."""
    cause: str
    action: str


class OrderResult(msgspec.Struct, kw_only=True):
    """A place in the order of investigation."""

    place: int
    layer: str
    code: str
    status: Status
    step: int | None


class DiagnosisResult(msgspec.Struct, kw_only=True):
    """What the diagnosis says beside its layers and findings."""

    covered: int
    """Layers that could be judged."""
    of: int
    onsets: list[OnsetResult]
    """The earliest first."""
    symptoms: list[SymptomResult]
    order: list[OrderResult]


def layer_result(report: LayerReport) -> LayerResult:
    """A layer; its evidence is that of its gravest finding."""
    first = report.findings[0] if report.findings else None
    return LayerResult(
        code=report.code, title=report.title, status=report.status, message=report.message, step=report.step,
        advice=report.advice, findings=[finding.code for finding in report.findings],
        evidence=first.evidence if first is not None else [],
    )  # fmt: skip


def diagnosis_result(found: Diagnosis) -> DiagnosisResult:
    """All but the layers."""
    return DiagnosisResult(
        covered=len(found.covered),
        of=COUNT,
        onsets=[_onset(row) for row in found.onsets],
        symptoms=[
            SymptomResult(
                key=row.key, shown=row.shown, step=row.step, code=row.code, cause=row.cause, action=row.action
            )
            for row in found.symptoms
        ],
        order=[
            OrderResult(place=row.place, layer=row.layer, code=row.code, status=row.status, step=row.step)
            for row in found.order
        ],
    )


def _onset(row: OnsetRow) -> OnsetResult:
    alarm = row.alarm
    return OnsetResult(
        signal=row.signal,
        step=row.step,
        alarmed_at=alarm.first_step if alarm else None,
        code=alarm.finding.code if alarm else None,
        status=alarm.status if alarm else None,
        before=row.before,
        after=row.after,
        drifts=row.drifts,
        points=[
            OnsetPoint(step=p.step, low=p.low, high=p.high, before=p.mean_before, after=p.mean_after)
            for p in row.points
        ],
    )
