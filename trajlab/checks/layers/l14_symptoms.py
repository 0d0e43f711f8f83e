"""L14: symptom, cause, action: the quick reference, as far as the other layers show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from trajlab.checks.finding import Finding, Status
from trajlab.checks.layers.base import SEVERITY, LayerReport

_Test = Callable[[Finding], bool]


def _loud(finding: Finding) -> bool:
    return finding.status in ("warn", "alarm")


def _says(*words: str) -> _Test:
    return lambda finding: _loud(finding) and any(word in finding.message for word in words)


class Entry(msgspec.Struct, frozen=True):
    """One line of the quick reference."""

    key: str
    symptom: str
    cause: str
    action: str
    codes: tuple[str, ...]
    """Findings that tell it; the first that is observed decides whether it is known at all."""
    shown: _Test = _loud
    word: str = ""
    """Told by a piece of evidence with this word, loud or not."""
    harmless: bool = False
    """Shown, it is no reason to act."""

    def told_by(self, finding: Finding) -> bool:
        """Whether a finding shows the symptom."""
        return any(self.word in item.text for item in finding.evidence) if self.word else self.shown(finding)


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "score_unstable",
        "score swings: standard deviation above 0.15",
        "batch too small",
        "double the batch",
        ("D102",),
    ),
    Entry(
        "zero_reward_heavy",
        "more than half of the rewards are zero",
        "data too hard for the model",
        "SFT warm-up or a larger model",
        ("R001",),
    ),
    Entry(
        "kl_runaway",
        "KL over its line and rising on",
        "learning rate too high",
        "lower the learning rate, raise the KL coefficient",
        ("A010", "D202"),
        _says("runaway", "runs away"),
    ),
    Entry(
        "kl_spring",
        "KL over its line for one step, then back",
        "the KL penalty works",
        "none",
        ("D202",),
        word="spring",
        harmless=True,
    ),
    Entry(
        "entropy_drop",
        "entropy down by more than 40 %",
        "exploration exhausted",
        "raise the entropy coefficient",
        ("D601",),
        _says("down by"),
    ),
    Entry(
        "random_collapse",
        "entropy up while tool use falls",
        "the policy has become random",
        "go back before the onset, lower the learning rate",
        ("A013",),
    ),
    Entry(
        "one_step_heavy",
        "more than half of the trajectories have one step",
        "the agent stops too early",
        "lower temperature, more agent steps",
        ("B001",),
    ),
    Entry(
        "tool_use_low",
        "fewer than half use a tool",
        "tool registration or guidance",
        "more agent steps, more attempts",
        ("B002",),
    ),
    Entry(
        "tools_gone",
        "tools were used and are no longer",
        "the policy has collapsed",
        "go back before the decline",
        ("D1201", "A001"),
    ),
    Entry(
        "clipfrac_low",
        "clip fraction below 1 % throughout",
        "with group advantages the clip may never act",
        "confirm before raising the learning rate",
        ("D401",),
        _says("never acts"),
    ),
    Entry("plateau", "last epoch gains less than 0.03", "plateau", "look at entropy and difficulty first", ("D103",)),
    Entry("few_succeed", "highest batch above 0.7, mean below 0.5", "few succeed, most fail", "SFT warm-up", ("D104",)),
    Entry(
        "output_clipped",
        "responses cut off after other changes",
        "a symptom: malformed long output",
        "find what moved first",
        ("D701",),
        _says("a symptom"),
    ),
    Entry(
        "think_spam",
        "think calls crowd out actions",
        "a neutral habit grows where advantages are noise",
        "mend the critic, whiten advantages",
        ("A002", "B003"),
    ),
    Entry(
        "critic_starved",
        "critic clipped at nearly every step",
        "its clip is far below its norm",
        "raise the clip",
        ("D501",),
        _says("starved"),
    ),
    Entry(
        "hollow_spike",
        "a spike of a gradient norm in a hollow batch",
        "the environments were gone",
        "leave the batch out; change nothing else",
        ("D504", "D403"),
        word="a hollow batch",
        harmless=True,
    ),
    Entry(
        "negative_batches",
        "batches of negative advantages only",
        "no baseline: everything is punished alike",
        "whiten advantages",
        ("D505", "A008"),
    ),
    Entry(
        "rate_kept",
        "applied learning rate is not the configured one",
        "a resume restored the old scheduler",
        "load without the scheduler",
        ("D506", "D407"),
    ),
    Entry(
        "groups_flat",
        "groups without reward contrast",
        "tasks too hard or too easy",
        "filter or resample",
        ("D301", "A022"),
    ),
    Entry(
        "engines_apart",
        "rollout engine and trainer disagree",
        "templates, masks, numerics, or stale weights",
        "compare both on the same tokens",
        ("D404", "D405"),
    ),
    Entry(
        "system_errors_trained",
        "failures of the system trained on with reward 0",
        "errors are no verdicts",
        "leave them out of the update",
        ("D1104",),
    ),
)


FEW = 3
"""With fewer known symptoms than this nothing can be said of them as a whole."""


class SymptomRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the quick reference, and whether the run shows it."""

    key: str
    symptom: str
    cause: str
    action: str
    shown: bool | None
    """``None``: not observed."""
    harmless: bool
    step: int | None
    code: str | None
    """Finding that tells it."""
    evidence: str


def symptom_rows(reports: Sequence[LayerReport]) -> list[SymptomRow]:
    """The quick reference against the findings of the other layers."""
    by_code = {finding.code: finding for report in reports for finding in report.findings}
    return [_row(entry, [by_code[code] for code in entry.codes if code in by_code]) for entry in ENTRIES]


def _row(entry: Entry, findings: Sequence[Finding]) -> SymptomRow:
    seen = [item for item in findings if item.status not in ("unobserved", "not_applicable")]
    telling = next((item for item in seen if entry.told_by(item)), None)
    shown = None if not seen else telling is not None
    told = telling if telling is not None else seen[0] if seen else None
    return SymptomRow(
        key=entry.key,
        symptom=entry.symptom,
        cause=entry.cause,
        action=entry.action,
        shown=shown,
        harmless=entry.harmless,
        step=None if telling is None else _step(entry, telling),
        code=None if told is None else told.code,
        evidence="" if told is None else told.message,
    )


def _step(entry: Entry, telling: Finding) -> int | None:
    """Of what shows it: the finding, or the piece of evidence by which it is told."""
    if entry.word:
        return next((item.step for item in telling.evidence if entry.word in item.text), telling.step)
    return telling.step


def report(rows: Sequence[SymptomRow], reports: Sequence[LayerReport]) -> LayerReport:
    """The layer as a whole: as grave as the gravest symptom shown."""
    known = [row for row in rows if row.shown is not None]
    shown = [row for row in known if row.shown]
    status_of = {finding.code: finding.status for layer in reports for finding in layer.findings}
    serious = [status_of[row.code] for row in shown if row.code is not None and not row.harmless]
    status: Status = min(serious, key=lambda item: SEVERITY[item], default="ok")
    if len(known) < FEW:
        status = "unobserved"
    names = f": {', '.join(row.key for row in shown)}" if shown else ""
    message = f"{len(shown)} of {len(known)} symptoms are shown{names}; {len(rows) - len(known)} not observed"
    finding = Finding(code="D1401", layer="L14", status=status, message=message,
                      advice="Log what the other layers ask for." if status == "unobserved"
                      else "Read cause and action in the table." if shown else "")  # fmt: skip
    return LayerReport(
        code="L14", title="Symptom, cause, action", question="Which known symptoms does the run show, and what helps?",
        status=status, message=message, step=min((row.step for row in shown if row.step is not None), default=None),
        advice=finding.advice, findings=[finding],
    )  # fmt: skip
