"""``trajlab.audit``: logs or a corpus in, a folder of reports out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from trajlab.corpus.corpus import Corpus
from trajlab.errors import ExitCode, UsageError
from trajlab.measures.frame import WHOLE, population_of, select
from trajlab.progress import progress
from trajlab.report.hook import call_hook, check_hook
from trajlab.report.index import list_runs, rebuild_index
from trajlab.report.inputs import effective_parameters, listed, report_corpus
from trajlab.report.pending import SETTLE_HOURS, periods
from trajlab.report.pending import pending as pending_periods
from trajlab.report.record import RunRecord
from trajlab.report.result import FailOn, Result, read_result, write_atomically
from trajlab.report.runner import run_notebook
from trajlab.report.written.words import Words, texts

NOTEBOOK = "epoch_audit"
TOLD_FILE = "told.json"
"""Statuses that the hook was told, by run."""
_OURS = ("corpus", "run")


class AuditResult(msgspec.Struct):
    """What an audit left: one report per run."""

    def __repr__(self) -> str:
        told = ", ".join(f"{record.run}: {record.status}" for record in self.records)
        return f"AuditResult({str(self.out)!r}, exit code {int(self.exit_code)}; {told})"

    out: Path
    corpus: Path
    records: list[RunRecord]

    @property
    def exit_code(self) -> ExitCode:
        """The worst of all runs: infrastructure, then notebook error, then a failed gate."""
        return ExitCode(max((record.exit_code or 0 for record in self.records), default=0))

    @property
    def index(self) -> Path:
        """The page over all runs."""
        return self.out / "index.html"

    @property
    def reports(self) -> list[Path]:
        """The HTML report of each run."""
        return [self.out / record.folder / "report.html" for record in self.records]

    def results(self) -> list[Result]:
        """The machine-readable result of each run that left one."""
        found = (read_result(self.out / record.folder) for record in self.records)
        return [result for result in found if result is not None]


def audit(
    source: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    run: str | None = None,
    fail_on: FailOn = "alarm",
    jobs: int | None = None,
    mapping: str | Path | None = None,
    pending: bool = False,
    settle_hours: float = SETTLE_HOURS,
    hook: str | None = None,
    **parameters: object,
) -> AuditResult:
    """Audit logs: read what is new, then run the audit notebook once per run.

    Args:
        source: A corpus folder, or folders, globs and files of logs (read into ``out/corpus``).
        out: Where reports go; each run gets a folder, ``index.html`` lists them.
        run: Only this run of a corpus; for logs, the name of the run they are.
        fail_on: What makes the exit code 1: ``alarm``, ``warn`` or ``never``.
        jobs: Processes for reading; ``None``: as many as pay.
        mapping: A TOML file: where fields stand in logs that no reader knows.
        pending: Audit each finished period once, by itself: those that have no verdict in ``out`` on the same data.
        settle_hours: With ``pending``: hours without a change after which the last period of a run is finished.
        hook: A command that gets the record as JSON on standard input when a run's status is another than before.
        **parameters: Parameters of the notebook ``epoch_audit`` (``by``, ``epoch``, ``correct_threshold`` …).

    Raises:
        UsageError: Nothing to read, or an unknown or wrong parameter; nothing has been written then.
        InfrastructureError: A full disk, a killed process.
    """
    effective = effective_parameters(NOTEBOOK, _OURS, parameters)
    texts(effective["language"])
    if hook is not None:
        check_hook(hook)
    target = Path(out)
    corpus = report_corpus(listed(source), target, run=run, jobs=jobs, mapping=mapping)
    if not corpus.runs:
        found = f"no trajectories, only metrics of {', '.join(corpus.metric_runs) or 'no run'}"
        raise UsageError(", ".join(map(str, listed(source))), found, "rollouts", "Give the rollouts of the run, too")
    runs = [run] if run is not None else corpus.runs
    if run is not None and run not in corpus.runs:
        raise UsageError("run", f"no run {run!r}", f"one of {', '.join(corpus.runs)}", "Name one of them")
    for name in runs:
        select(corpus, population_of(name, effective))
    whole = effective["period"] or (None if effective["epoch"] is None else f"epoch {effective['epoch']}")
    jobs_to_do = [_Job(name, whole, corpus.manifest.assembled_from, dict(parameters)) for name in runs]
    if pending:
        jobs_to_do = _pending_jobs(corpus, target, runs, effective, dict(parameters), settle_hours)
    records = [
        _run(job, corpus, target, effective["language"], fail_on)
        for job in progress(jobs_to_do, total=len(jobs_to_do), unit="audit", description="auditing")
    ]
    rebuild_index(target)
    if hook is not None:
        _tell_changes(hook, target)
    return AuditResult(target, corpus.folder, records)


class _Job(msgspec.Struct):
    """One audit to run."""

    run: str
    period: str | None
    fingerprint: str
    parameters: dict[str, object]


def _run(job: _Job, corpus: Corpus, target: Path, language: str, fail_on: FailOn) -> RunRecord:
    title = Words(language).say("page.audit_title", run=job.run)
    return run_notebook(
        NOTEBOOK,
        target,
        {"corpus": str(corpus.folder.resolve()), "run": job.run, **job.parameters},
        title=title,
        run=job.run,
        period=job.period,
        data_fingerprint=job.fingerprint,
        fail_on=fail_on,
    )


def _pending_jobs(
    corpus: Corpus,
    out: Path,
    runs: Sequence[str],
    effective: dict[str, Any],
    parameters: dict[str, object],
    settle_hours: float,
) -> list[_Job]:
    if effective["epoch"] is not None or effective["period"] is not None:
        raise UsageError("--pending", "one period asked for", "all periods", "Leave --epoch and period out")
    found = pending_periods(out, periods(corpus, runs, effective, settle_hours=settle_hours), effective)
    undivided = {one.run for one in found if one.name == WHOLE}
    return [
        _Job(
            one.run,
            None if one.run in undivided else one.name,
            one.fingerprint,
            parameters if one.run in undivided else {**parameters, "period": one.name},
        )
        for one in found
    ]


def _tell_changes(hook: str, out: Path) -> None:
    """Call the hook for every run whose newest audit has another status than was last told.

    What was told is written after each call, so a hook that fails, or a process that dies, is made up for by the next
    audit. A run never told of counts as passed.
    """
    ended = [found.record for found in list_runs(out) if found.record is not None and found.record.ended]
    newest = {record.run: record for record in sorted(ended, key=lambda record: record.ended or "")}
    path = out / TOLD_FILE
    try:
        told = msgspec.json.decode(path.read_bytes(), type=dict[str, str]) if path.is_file() else {}
    except msgspec.DecodeError as error:
        raise UsageError(str(path), f"not what an audit wrote ({error})", "run and status", "Remove it") from error
    for run, record in newest.items():
        name = run or record.notebook
        before = told.get(name, "passed")
        if record.status != before:
            call_hook(hook, {**msgspec.to_builtins(record), "before": before})
            told[name] = record.status
            write_atomically(path, msgspec.json.format(msgspec.json.encode(told, order="sorted"), indent=1) + b"\n")
