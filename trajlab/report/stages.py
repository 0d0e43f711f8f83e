"""``trajlab.stages``: early against late, printed or written to a folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from trajlab import __version__
from trajlab.api import corpus_of
from trajlab.corpus.corpus import Corpus
from trajlab.corpus.ingest import ingest_into
from trajlab.corpus.manifest import MANIFEST
from trajlab.errors import UsageError
from trajlab.measures.frame import Population, select
from trajlab.measures.stages import MARGIN, PRIMARY, Stages, compare_stages
from trajlab.report.compare_runs import distinct
from trajlab.report.html import page
from trajlab.report.inputs import CORPUS_FOLDER
from trajlab.report.result import Coverage, Provenance, Result, Sampled, write_atomically, write_result
from trajlab.report.result_rows import change_of, measure_of
from trajlab.report.text import Html, escape, join
from trajlab.report.written.document import Document, section_html, to_markdown
from trajlab.report.written.files import write_markdown
from trajlab.report.written.stages_report import stages_report


class StagesResult(msgspec.Struct):
    """Two stages of one run, and their report."""

    stages: Stages
    document: Document
    folder: Path | None
    """Where the report was written; ``None``: nowhere."""

    def __str__(self) -> str:
        return to_markdown(self.document)


def stages(
    source: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    n: int = 80,
    seed: int = 0,
    margin: float = MARGIN,
    run: str | None = None,
    include_errors: bool = False,
    language: str = "en",
    jobs: int | None = None,
) -> list[StagesResult]:
    """Compare the first and the last quarter of the training steps, on N trajectories drawn from each.

    Args:
        source: A corpus folder, or folders, globs and files of logs.
        out: Folder for ``stages-<run>/report.md``, ``report.html`` and ``result.json``; ``None``: nothing is written.
        n: Trajectories drawn from each stage.
        seed: Seed of the draws.
        margin: How far the share that executes anything may fall and still count as held.
        run: Only this run; ``None``: each run.
        include_errors: Keep trajectories of the error classes in behaviour measures.
        language: Language of the report.
        jobs: Processes for reading.

    Raises:
        UsageError: Nothing to read, an unknown run, or a run without two training steps.
        InfrastructureError: A full disk, a killed process.
    """
    sources = [source] if isinstance(source, str | Path) else list(source)
    corpus = _corpus(sources, out, jobs)
    if run is not None and run not in corpus.runs:
        raise UsageError("run", f"no run {run!r}", f"one of {', '.join(corpus.runs)}", "Name one of them")
    found = []
    names = [run] if run is not None else corpus.runs
    folders = distinct([f"stages-{_slug(name)}" for name in names])
    for name, place in zip(names, folders, strict=True):
        chosen = select(corpus, Population(run=name, by="quarter", include_errors=include_errors))
        one = compare_stages(chosen, n, seed, margin)
        document = stages_report(one, language)
        folder = None if out is None else Path(out) / place.replace(" ", "-")
        if folder is not None:
            _write(one, document, folder, corpus)
        found.append(StagesResult(one, document, folder))
    return found


def _slug(name: str) -> str:
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:60]


def _corpus(sources: Sequence[str | Path], out: str | Path | None, jobs: int | None) -> Corpus:
    if out is None or (len(sources) == 1 and (Path(sources[0]) / MANIFEST).is_file()):
        return corpus_of(*sources, jobs=jobs)
    folder = Path(out) / CORPUS_FOLDER
    return Corpus(folder, ingest_into(folder, sources, jobs=jobs, leave_out=Path(out)))


def _write(found: Stages, document: Document, folder: Path, corpus: Corpus) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_result(result_of(found, corpus), folder)
    write_markdown(document, folder)
    body = join([section_html(section) for section in document.sections], "\n")
    header = Html(f'<p class="kicker">trajlab</p>\n<h1>{escape(document.title)}</h1>')
    content = page(document.title, body, header=header, language=document.language)
    write_atomically(folder / "report.html", content.encode("utf-8"))


def result_of(found: Stages, corpus: Corpus) -> Result:
    """The machine-readable result of two stages; it has no gates, so it is judged by nobody."""
    contrasts = [*found.contrasts, found.executes]
    sides = [(item, stage) for item in contrasts for stage in ("early", "late")]
    return Result(
        run=found.run,
        period=" · ".join(f"steps {stage.first_step} to {stage.last_step}" for stage in found.stages),
        provenance=Provenance(
            trajlab=__version__,
            rules=corpus.rules,
            fingerprint=corpus.manifest.assembled_from,
            details={
                "n": found.n,
                "seed": found.seed,
                "margin": found.margin,
                "verification": found.verification,
                "moved": found.moved,
            },
        ),
        coverage=Coverage(trajectories=sum(len(stage.drawn) for stage in found.stages)),
        measures=[
            measure_of(item.name, stage, item.first if stage == "early" else item.second) for item, stage in sides
        ],
        changes=[change_of(item, primary=item.name in PRIMARY) for item in contrasts],
        sample=[
            Sampled(
                trajectory_id=drawn,
                why=f"{stage.name}: {len(stage.drawn)} of {stage.there}, seed {found.seed}",
                probability=len(stage.drawn) / stage.there,
            )
            for stage in found.stages
            for drawn in stage.drawn
        ],
    )
