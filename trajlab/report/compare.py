"""``trajlab.compare``: two or more runs in, one report of them side by side out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from trajlab.api import only_corpus
from trajlab.corpus.corpus import Corpus
from trajlab.corpus.ingest import ingest_into
from trajlab.errors import ExitCode, UsageError
from trajlab.measures.configuration import configuration
from trajlab.report.compare_runs import distinct
from trajlab.report.index import rebuild_index
from trajlab.report.inputs import effective_parameters
from trajlab.report.record import RunRecord
from trajlab.report.result import FailOn, Result, read_result
from trajlab.report.runner import run_notebook
from trajlab.report.written.files import MARKDOWN_FILE
from trajlab.report.written.words import Words, texts

NOTEBOOK = "compare_runs"
CORPORA_FOLDER = "corpora"
_OURS = ("corpora", "runs", "names")


class CompareResult(msgspec.Struct):
    """What a comparison left."""

    out: Path
    record: RunRecord
    names: list[str]
    """The runs, in order; the first is what the others are set against."""

    @property
    def exit_code(self) -> ExitCode:
        """As that of an audit."""
        return ExitCode(self.record.exit_code or 0)

    @property
    def folder(self) -> Path:
        """Where everything about it is."""
        return self.out / self.record.folder

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder / "report.html"

    @property
    def markdown(self) -> Path:
        """The written report."""
        return self.folder / MARKDOWN_FILE

    @property
    def index(self) -> Path:
        """The page over all runs of the folder."""
        return self.out / "index.html"

    def result(self) -> Result | None:
        """The machine-readable result."""
        return read_result(self.folder)


def compare(
    *sources: str | Path,
    out: str | Path,
    runs: Sequence[str] = (),
    fail_on: FailOn = "alarm",
    jobs: int | None = None,
    **parameters: object,
) -> CompareResult:
    """Compare runs: read each source, then run the notebook ``compare_runs`` once over all runs in them.

    Args:
        *sources: Corpus folders, or folders, globs and files of logs (each read into a corpus below ``out/corpora``).
        out: Where the report goes.
        runs: Only these runs, in this order; empty: all, by source and name.
        fail_on: What makes the exit code 1: ``alarm``, ``warn`` or ``never``.
        jobs: Processes for reading; ``None``: as many as pay.
        **parameters: Parameters of the notebook (``by``, ``epoch_boundaries``, ``language`` …).

    Raises:
        UsageError: Nothing to read, fewer than two runs, an unknown run, or an unknown or wrong parameter.
        InfrastructureError: A full disk, a killed process.
    """
    check_parameters(parameters)
    target = Path(out)
    corpora = [_corpus(source, target, place, jobs) for place, source in enumerate(sources, 1)]
    chosen = _chosen(corpora, runs)
    names = distinct([run for _, run in chosen])
    for key in ("epoch_boundaries", "score_boundaries"):
        _check_names(key, parameters.get(key), names)
    given = {
        "corpora": [str(corpus.folder.resolve()) for corpus, _ in chosen],
        "runs": [run for _, run in chosen],
        "names": names,
    }
    record = run_notebook(
        NOTEBOOK,
        target,
        {**given, **parameters},
        title=Words(str(parameters.get("language") or "en")).say("page.compare_title", runs=", ".join(names)),
        run="-".join(names),
        data_fingerprint=_fingerprint(chosen),
        fail_on=fail_on,
    )
    rebuild_index(target)
    return CompareResult(target, record, names)


def check_parameters(parameters: dict[str, object]) -> None:
    """Refuse unknown and wrong parameters before any work.

    Raises:
        UsageError: Naming the parameter and those there are.
    """
    effective = effective_parameters(NOTEBOOK, _OURS, parameters)
    texts(effective["language"])


def _check_names(key: str, given: object, names: Sequence[str]) -> None:
    unknown = [name for name in given if name not in names] if isinstance(given, Mapping) else []
    if unknown:
        raise UsageError(key, f"no run {unknown[0]!r}", f"one of {', '.join(names)}", "Name one of them")


def _corpus(source: str | Path, out: Path, place: int, jobs: int | None) -> Corpus:
    opened = only_corpus([source])
    if opened is not None:
        return opened
    folder = out / CORPORA_FOLDER / str(place)
    return Corpus(folder, ingest_into(folder, [source], jobs=jobs, leave_out=out))


def _chosen(corpora: Sequence[Corpus], wanted: Sequence[str]) -> list[tuple[Corpus, str]]:
    there = [(corpus, run) for corpus in corpora for run in corpus.runs]
    names = [run for _, run in there]
    unknown = [run for run in wanted if run not in names]
    if unknown:
        raise UsageError("run", f"no run {unknown[0]!r}", f"one of {', '.join(names)}", "Name one of them")
    chosen = [pair for run in wanted for pair in there if pair[1] == run] if wanted else there
    if len(chosen) < 2:
        found = f"one run only ({chosen[0][1]})" if chosen else "no run"
        raise UsageError("compare", found, "at least two runs", "Name another source or run")
    return chosen


def _fingerprint(chosen: Sequence[tuple[Corpus, str]]) -> str:
    """Digest of the corpora and of what is read beside them."""
    digest = hashlib.sha256()
    for corpus, run in chosen:
        read = configuration(corpus, run)
        digest.update(msgspec.json.encode([corpus.manifest.assembled_from, run, read], order="sorted"))
    return digest.hexdigest()
