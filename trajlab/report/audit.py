"""``trajlab.audit``: logs or a corpus in, a folder of reports out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from trajlab.checks.facts import thresholds
from trajlab.corpus.corpus import Corpus
from trajlab.corpus.ingest import ingest_into
from trajlab.corpus.manifest import MANIFEST
from trajlab.errors import ExitCode, UsageError
from trajlab.measures.frame import check_by, population_of, select
from trajlab.progress import progress
from trajlab.report.index import rebuild_index
from trajlab.report.parameters import coerce, read_parameters
from trajlab.report.record import RunRecord
from trajlab.report.result import FailOn, Result, read_result
from trajlab.report.runner import find_notebook, run_notebook
from trajlab.report.written.words import Words, texts
from trajlab.sources.field_mapping import load_mapping

NOTEBOOK = "epoch_audit"
CORPUS_FOLDER = "corpus"
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
        **parameters: Parameters of the notebook ``epoch_audit`` (``by``, ``epoch``, ``correct_threshold`` …).

    Raises:
        UsageError: Nothing to read, or an unknown or wrong parameter; nothing has been written then.
        InfrastructureError: A full disk, a killed process.
    """
    effective = _checked(parameters)
    target = Path(out)
    sources = [source] if isinstance(source, str | Path) else list(source)
    corpus = _corpus(sources, target, run, jobs, mapping)
    if not corpus.runs:
        found = f"no trajectories, only metrics of {', '.join(corpus.metric_runs) or 'no run'}"
        raise UsageError(", ".join(map(str, sources)), found, "rollouts", "Give the rollouts of the run, too")
    runs = [run] if run is not None else corpus.runs
    if run is not None and run not in corpus.runs:
        raise UsageError("run", f"no run {run!r}", f"one of {', '.join(corpus.runs)}", "Name one of them")
    for name in runs:
        select(corpus, population_of(name, effective))
    epoch, words = effective["epoch"], Words(effective["language"])
    records = [
        run_notebook(
            NOTEBOOK,
            target,
            {"corpus": str(corpus.folder.resolve()), "run": name, **parameters},
            title=words.say("page.audit_title", run=name),
            run=name,
            period=None if epoch is None else f"epoch {epoch}",
            data_fingerprint=corpus.manifest.assembled_from,
            fail_on=fail_on,
        )
        for name in progress(runs, total=len(runs), unit="run", description="auditing")
    ]
    rebuild_index(target)
    return AuditResult(target, corpus.folder, records)


def _checked(parameters: dict[str, object]) -> dict[str, Any]:
    """Effective parameters of the notebook.

    Raises:
        UsageError: Naming the parameter and those there are; nothing has been done then.
    """
    import nbformat

    text = find_notebook(NOTEBOOK).read_text("utf-8")
    notebook = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    known = [parameter for parameter in read_parameters(notebook, NOTEBOOK) if parameter.name not in _OURS]
    effective = coerce(known, parameters)
    check_by(effective["by"])
    thresholds(effective["thresholds"])
    texts(effective["language"])
    return effective


def _corpus(
    sources: Sequence[str | Path], out: Path, run: str | None, jobs: int | None, mapping: str | Path | None
) -> Corpus:
    if (out / MANIFEST).is_file():
        raise UsageError(str(out), "a corpus", "another folder for the reports", "Choose another folder with --out")
    if len(sources) == 1 and (Path(sources[0]) / MANIFEST).is_file():
        return Corpus(sources[0])
    folder = out / CORPUS_FOLDER
    fields = None if mapping is None else load_mapping(mapping)
    return Corpus(folder, ingest_into(folder, sources, run=run, jobs=jobs, leave_out=out, mapping=fields))
