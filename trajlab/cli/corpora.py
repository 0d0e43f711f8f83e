"""Commands that read logs: what is read, into a corpus, into another format, derived anew."""

from __future__ import annotations

import click

from trajlab.cli.common import JOBS, MAPPING, SOURCES, cli, named
from trajlab.errors import UsageError


@cli.command()
@click.option("--why", callback=named, metavar="FILE", help="Why this file is claimed by a reader, or by none.")
@MAPPING
def formats(why: str | None, mapping: str | None) -> None:
    """List the formats that are read, or say what a file is taken for and why."""
    if why is not None:
        _tell_why(why, mapping)
        return
    from trajlab.formats import (
        COMPANIONS,
        FALLBACK_LOGS,
        LOGS,
        companion_format,
        log_format,
    )
    from trajlab.metric_logs import METRIC_LOGS, metric_format

    for name, doc in {**LOGS, **FALLBACK_LOGS}.items():
        click.echo(f"{name}: {doc}")
        for variant, about in log_format(name).VARIANTS.items():
            click.echo(f"    {variant}: {about.doc}")
    for name, doc in COMPANIONS.items():
        click.echo(f"{name} (companion): {doc}")
        for variant, about in companion_format(name).VARIANTS.items():
            click.echo(f"    {variant}: {about.doc}")
    for name, doc in METRIC_LOGS.items():
        click.echo(f"{name} (metric log): {doc}")
        for variant, about in metric_format(name).VARIANTS.items():
            click.echo(f"    {variant}: {about.doc}")


def _tell_why(path: str, mapping: str | None) -> None:
    from trajlab.corpus.why import why as reasons_of
    from trajlab.report.text import visible
    from trajlab.sources.discover import discover
    from trajlab.sources.field_mapping import load_mapping

    fields = None if mapping is None else load_mapping(mapping)
    found = discover([path])
    if not found.files:
        said = found.problems[0][1].message if found.problems else "no file"
        raise UsageError(path, said, "a log file", "Check the path")
    for file in found.files:
        click.echo(visible(f"{file.relpath}"))
        for line in reasons_of(file, fields).lines():
            click.echo(visible(f"    {line}"))


@cli.command()
@SOURCES
@click.option("-o", "--out", required=True, callback=named, metavar="CORPUS", help="Corpus folder; made if missing.")
@click.option("--run", callback=named, metavar="NAME", help="Name of the run; default: as the logs or the folders say.")
@MAPPING
@JOBS
@click.option("--no-text", is_flag=True, help="Do not keep messages and outputs.")
def ingest(
    sources: tuple[str, ...], out: str, run: str | None, mapping: str | None, jobs: int | None, no_text: bool
) -> None:
    """Read logs (folders, globs, files) into a corpus of Parquet tables.

    The corpus then holds what the sources hold now; unchanged inputs are not read again, and an interrupted
    ingest resumes.
    """
    from trajlab.api import ingest as run_ingest
    from trajlab.report.text import visible

    corpus = run_ingest(*sources, out=out, run=run, jobs=jobs, texts=not no_text, mapping=mapping)
    click.echo(visible(str(corpus.summary())))
    click.echo(f"corpus: {corpus.folder}")


@cli.command()
@SOURCES
@click.option("-o", "--out", required=True, callback=named, metavar="DIR", help="Folder; made if missing.")
@click.option("--to", required=True, metavar="atif|openai", help="Format to write.")
@click.option("--run", callback=named, metavar="NAME", help="Name of the run; default: as the logs or the folders say.")
@MAPPING
def convert(sources: tuple[str, ...], out: str, to: str, run: str | None, mapping: str | None) -> None:
    """Write logs of any format in another: ATIF trajectories, or rows of OpenAI messages.

    What was not read, and what the format has no place for, is said and stands in convert.json.
    """
    from trajlab.conversion import convert as run_convert
    from trajlab.report.text import visible

    done = run_convert(*sources, out=out, to=to, run=run, mapping=mapping)
    click.echo(f"{done.trajectories:,} trajectories in {done.files:,} files: {visible(done.out)}")
    if done.replaced:
        click.echo(f"replaced: {done.replaced:,} files of the same name")
    if done.unread:
        click.echo(f"not read: {len(done.unread):,} (convert.json says what)")
    if done.not_held:
        lost = ", ".join(f"{name} ({count:,})" for name, count in done.not_held.items())
        click.echo(f"{to} has no place for: {lost}")


@cli.command()
@click.argument("corpus", callback=named, metavar="CORPUS")
@JOBS
def rebuild(corpus: str, jobs: int | None) -> None:
    """Derive the behaviour in a corpus anew by the rules of this version, without its logs.

    The corpus must have kept its texts.
    """
    from trajlab.api import rebuild as run_rebuild

    rebuilt = run_rebuild(corpus, jobs=jobs)
    click.echo(f"rules: {rebuilt.rules}")
    click.echo(f"corpus: {rebuilt.folder}")
