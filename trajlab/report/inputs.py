"""What a report is made of: the parameters of its notebook, checked before anything is done, and its corpus."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from trajlab.api import only_corpus
from trajlab.checks.facts import thresholds
from trajlab.corpus.corpus import Corpus
from trajlab.corpus.ingest import ingest_into
from trajlab.corpus.manifest import MANIFEST
from trajlab.errors import UsageError
from trajlab.measures.frame import check_by
from trajlab.report.parameters import coerce, read_parameters
from trajlab.report.runner import find_notebook
from trajlab.sources.field_mapping import load_mapping

CORPUS_FOLDER = "corpus"
"""Folder, below the reports, of the corpus that logs are read into."""


def effective_parameters(notebook: str, ours: Collection[str], given: dict[str, object]) -> dict[str, Any]:
    """Parameters of a notebook: its defaults, replaced by what is given; those that are ``ours`` are no one's to give.

    Raises:
        UsageError: Naming the parameter and those there are; nothing has been done then.
    """
    import nbformat

    text = find_notebook(notebook).read_text("utf-8")
    node = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    known = [parameter for parameter in read_parameters(node, notebook) if parameter.name not in ours]
    effective = coerce(known, given)
    check_by(effective["by"])
    if "thresholds" in effective:
        thresholds(effective["thresholds"])
    return effective


def listed(source: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """One source or several, as a list."""
    return [source] if isinstance(source, str | Path) else list(source)


def report_corpus(
    sources: Sequence[str | Path],
    out: Path,
    *,
    run: str | None = None,
    jobs: int | None = None,
    mapping: str | Path | None = None,
) -> Corpus:
    """The corpus that is the one source, or logs read into ``out/corpus``.

    Raises:
        UsageError: ``out`` is a corpus itself, or there is nothing to read.
    """
    if (out / MANIFEST).is_file():
        raise UsageError(str(out), "a corpus", "another folder for the reports", "Choose another folder with --out")
    opened = only_corpus(sources)
    if opened is not None:
        return opened
    folder = out / CORPUS_FOLDER
    fields = None if mapping is None else load_mapping(mapping)
    return Corpus(folder, ingest_into(folder, sources, run=run, jobs=jobs, leave_out=out, mapping=fields))
