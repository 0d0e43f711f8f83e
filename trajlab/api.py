"""The calls behind ``trajlab.read``, ``trajlab.ingest``, ``trajlab.open_corpus`` and ``trajlab.rebuild``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trajlab.corpus.corpus import Corpus, temporary_folder
from trajlab.corpus.ingest import ingest_into
from trajlab.corpus.manifest import MANIFEST
from trajlab.corpus.rebuild import rebuild as rebuild_corpus
from trajlab.engines import Engine
from trajlab.sources.field_mapping import FieldMapping, load_mapping


def read(
    *sources: str | Path,
    run: str | None = None,
    jobs: int | None = None,
    mapping: str | Path | FieldMapping | None = None,
) -> Corpus:
    """Read logs into a temporary corpus, gone when Python ends.

    Args:
        *sources: Folders, globs and files.
        run: Name of the run for all of them; ``None``: as the logs or the folders say.
        jobs: Processes; ``None``: as many as pay.
        mapping: Where fields stand in files that no reader knows: a TOML file, or what it says.

    Raises:
        UsageError: A source does not exist, or nothing in it is a log.
    """
    folder = temporary_folder()
    return Corpus(folder, ingest_into(folder, sources, run=run, jobs=jobs, mapping=_mapping(mapping)))


def _mapping(given: str | Path | FieldMapping | None) -> FieldMapping | None:
    return given if given is None or isinstance(given, FieldMapping) else load_mapping(given)


def ingest(
    *sources: str | Path,
    out: str | Path,
    run: str | None = None,
    jobs: int | None = None,
    texts: bool = True,
    engine: Engine | None = None,
    mapping: str | Path | FieldMapping | None = None,
) -> Corpus:
    """Make the corpus in ``out`` hold what ``sources`` hold now; unchanged inputs are not read again.

    Args:
        *sources: Folders, globs and files.
        out: Corpus folder.
        run: Name of the run for all of them; ``None``: as the logs or the folders say.
        jobs: Processes; ``None``: as many as pay.
        texts: Keep messages, arguments and outputs, for reading trajectories and rebuilding derived tables.
        engine: Where units are read; ``None``: in local processes.
        mapping: Where fields stand in files that no reader knows: a TOML file, or what it says.

    Raises:
        UsageError: A source does not exist, or nothing in it is a log.
        InfrastructureError: A full disk, a killed worker, a corpus in use.
    """
    folder = Path(out)
    manifest = ingest_into(
        folder, sources, run=run, jobs=jobs, keep_texts=texts, engine=engine, mapping=_mapping(mapping)
    )
    return Corpus(folder, manifest)


def open_corpus(path: str | Path) -> Corpus:
    """Open a corpus that was ingested before.

    Raises:
        UsageError: The folder holds no finished corpus.
        InfrastructureError: A file of it is missing or cut short; the same ingest again heals it.
    """
    return Corpus(path)


def only_corpus(sources: Sequence[str | Path]) -> Corpus | None:
    """The corpus that is the one source; ``None``: the sources are logs."""
    if len(sources) == 1 and (Path(sources[0]) / MANIFEST).is_file():
        return Corpus(sources[0])
    return None


def corpus_of(*sources: str | Path, run: str | None = None, jobs: int | None = None) -> Corpus:
    """Open a corpus folder, or read logs into a temporary corpus.

    Raises:
        UsageError: A source does not exist, or nothing in it is a log.
    """
    return only_corpus(sources) or read(*sources, run=run, jobs=jobs)


def rebuild(path: str | Path, *, jobs: int | None = None) -> Corpus:
    """Derive the behaviour of a corpus anew by the rules of this version, without its logs.

    Args:
        path: Corpus folder.
        jobs: Processes; ``None``: as many as pay.

    Raises:
        UsageError: The folder holds no finished corpus, or one without texts.
    """
    return Corpus(path, rebuild_corpus(Path(path), jobs=jobs))
