"""``trajlab.diagnose``: logs, metric logs or a corpus in, a folder of run diagnoses out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trajlab.checks.run_facts import diagnosable
from trajlab.corpus.beside import CorpusBeside
from trajlab.corpus.corpus import Corpus
from trajlab.corpus.ingest import ingest_into
from trajlab.errors import UsageError
from trajlab.progress import progress
from trajlab.report.audit import AuditResult
from trajlab.report.index import rebuild_index
from trajlab.report.inputs import effective_parameters, listed, report_corpus
from trajlab.report.result import FailOn
from trajlab.report.runner import run_notebook
from trajlab.report.written.words import Words

NOTEBOOK = "run_diagnosis"
NOTEBOOK_WORDS = "diagnosis"
METRICS_FOLDER = "metrics"
_OURS = ("corpus", "metrics", "run")


class DiagnoseResult(AuditResult):
    """What a diagnosis left: one report per run."""


def diagnose(
    source: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    metrics: str | Path | Sequence[str | Path] = (),
    run: str | None = None,
    fail_on: FailOn = "alarm",
    jobs: int | None = None,
    mapping: str | Path | None = None,
    **parameters: object,
) -> DiagnoseResult:
    """Diagnose runs: read what is new, then go through the fifteen layers of each run.

    Args:
        source: A corpus folder, or folders, globs and files of rollouts and metric logs (read into ``out/corpus``).
        out: Where reports go; each run gets a folder, ``index.html`` lists them.
        metrics: Metric logs that lie elsewhere (read into ``out/metrics``): of the only run, else of the run that
            their file or folder is named like.
        run: Only this run.
        fail_on: What makes the exit code 1: ``alarm``, ``warn`` or ``never``.
        jobs: Processes for reading; ``None``: as many as pay.
        mapping: A TOML file: where fields stand in logs that no reader knows.
        **parameters: Parameters of the notebook ``run_diagnosis`` (``by``, ``seeds``, ``thresholds``, ``language`` …).

    Raises:
        UsageError: Nothing to read, or an unknown or wrong parameter.
        InfrastructureError: A full disk, a killed process.
    """
    effective = effective_parameters(NOTEBOOK, _OURS, parameters)
    words = Words(effective["language"], NOTEBOOK_WORDS)
    target = Path(out)
    corpus = report_corpus(listed(source), target, jobs=jobs, mapping=mapping)
    beside = _beside(corpus, listed(metrics), target, jobs)
    known = diagnosable(beside or corpus)
    for name in [run, *effective["seeds"]]:
        if name is not None and name not in known:
            raise UsageError("run", f"no run {name!r}", f"one of {', '.join(known)}", "Name one of them")
    if not known:
        raise UsageError("sources", "no trajectory and no metric of any run", "rollouts or a metric log",
                         "trajlab formats lists what is read")  # fmt: skip
    runs = [run] if run is not None else known
    places = {"corpus": str(corpus.folder.resolve()), "metrics": str(beside.other.folder.resolve()) if beside else ""}
    fingerprint = corpus.manifest.assembled_from + (beside.other.manifest.assembled_from if beside else "")
    records = [
        run_notebook(
            NOTEBOOK, target, {**places, "run": name, **parameters}, title=words.say("head.title", run=name), run=name,
            data_fingerprint=fingerprint, fail_on=fail_on,
        )
        for name in progress(runs, total=len(runs), unit="run", description="diagnosing")
    ]  # fmt: skip
    rebuild_index(target)
    return DiagnoseResult(target, corpus.folder, records)


def open_runs(corpus: str | Path, metrics: str | Path = "") -> Corpus:
    """The corpus of a diagnosis, with the metric logs that lie elsewhere.

    Args:
        corpus: Corpus folder.
        metrics: Corpus folder of the metric logs; empty: none.
    """
    own = Corpus(corpus)
    return CorpusBeside(own, Corpus(metrics)) if metrics else own


def _beside(corpus: Corpus, metrics: Sequence[str | Path], out: Path, jobs: int | None) -> CorpusBeside | None:
    if not metrics:
        return None
    folder = out / METRICS_FOLDER
    return CorpusBeside(corpus, Corpus(folder, ingest_into(folder, metrics, jobs=jobs, leave_out=out)))
