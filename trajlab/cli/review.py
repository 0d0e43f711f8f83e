"""Commands for reading by hand: which trajectories, and what the verdicts say."""

from __future__ import annotations

import json

import click

from trajlab.cli.common import EXIT_CODES, JOBS, SETTINGS, SOURCES, cli, named

LARGE_PAGE = 20_000_000
"""Bytes from which a page says that it is large."""

_RUN = click.option("--run", callback=named, metavar="NAME", help="Only this run; default: all.")
_SOURCE = click.option(
    "--source", "sources", multiple=True, required=True, callback=named, metavar="SRC", help="A corpus, or logs."
)
_LABELS = click.argument("labels", nargs=-1, required=True, callback=named, metavar="LABELS...")


@cli.command(epilog=EXIT_CODES)
@SOURCES
@click.option("-n", "--n", "n", type=click.IntRange(1), default=20, show_default=True, help="How many to read.")
@click.option("--by", "by", multiple=True, metavar="NAME", help="What divides them: quadrant, hit, rule:ID, a column …")
@click.option("--seed", default=0, show_default=True, help="Decides the draw.")
@click.option("--allocation", default="proportional", show_default=True, metavar="proportional|equal|neyman")
@click.option("--spread", metavar="COLUMN", help="What Neyman's allocation goes by.")
@click.option("--at-least", default=2, show_default=True, help="Draws that every stratum has in any case.")
@click.option("--first", multiple=True, metavar="STRATUM", help="Taken whole, as far as n goes, and read first.")
@click.option("--pairs", metavar="COLUMN", help="Pairs of attempts at one task that differ in it.")
@click.option("--periods", default="epoch", show_default=True, metavar="epoch|quarter|steps:N", help="What period is.")
@_RUN
@SETTINGS
@JOBS
@click.option("-o", "--out", callback=named, metavar="FILE", help="Where the manifest goes; default: standard output.")
def sample(
    sources: tuple[str, ...],
    n: int,
    by: tuple[str, ...],
    seed: int,
    allocation: str,
    spread: str | None,
    at_least: int,
    first: tuple[str, ...],
    pairs: str | None,
    periods: str,
    run: str | None,
    settings: tuple[str, ...],
    jobs: int | None,
    out: str | None,
) -> None:
    """Draw trajectories to read, each with its probability of being drawn; the same call draws the same."""
    from trajlab.api import corpus_of
    from trajlab.measures.frame import stated_population
    from trajlab.report.parameters import split_settings
    from trajlab.report.text import visible
    from trajlab.review.designs import sample as draw

    population = stated_population(run, periods, split_settings(settings))
    drawn = draw(
        corpus_of(*sources, jobs=jobs),
        n,
        by,
        seed=seed,
        allocation=allocation,
        spread=spread,
        at_least=at_least,
        first=first,
        pairs=pairs,
        population=population,
    )
    if out is None:
        click.echo(drawn.to_json(), nl=False)
    else:
        drawn.write(out)
    click.echo(visible(str(drawn)), err=out is None)


@cli.command()
@SOURCES
@click.option("-o", "--out", required=True, callback=named, metavar="PAGE.html", help="File to write.")
@click.option(
    "--sample", callback=named, metavar="MANIFEST", help="Manifest of a sample; default: a simple random draw of --n."
)
@click.option("-n", "--n", "n", type=click.IntRange(1), default=20, show_default=True, help="Trajectories drawn.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draw.")
@click.option("--blind", is_flag=True, help="Leave what graders and rules said out of the page.")
@click.option("--rubric", callback=named, metavar="TOML", help="Questions; default: those that come with trajlab.")
@click.option("--reviewer", callback=named, metavar="NAME", help="Who reads; default: the page asks.")
def review(
    sources: tuple[str, ...],
    out: str,
    sample: str | None,
    n: int,
    seed: int,
    blind: bool,
    rubric: str | None,
    reviewer: str | None,
) -> None:
    """Write one HTML file to read and label trajectories on, without kernel and network.

    A source is a corpus or logs. Labels stay in the browser until the page exports them.
    """
    from trajlab.api import corpus_of
    from trajlab.report.text import visible
    from trajlab.review.page import review_page

    corpus = corpus_of(*sources)
    page = review_page(corpus, out, sample=sample, n=n, seed=seed, rubric=rubric, blind=blind, reviewer=reviewer)
    trajectories = "trajectory" if page.items == 1 else "trajectories"
    click.echo(visible(f"{page.items:,} {trajectories}, {page.bytes / 1e6:.1f} MB, sample {page.sample}"))
    if page.bytes > LARGE_PAGE:
        click.echo(f"larger than {LARGE_PAGE / 1e6:.0f} MB: a browser takes long to open it; draw fewer with --n")
    click.echo(visible(f"page: {page.path}"))


@cli.group()
def labels() -> None:
    """Verdicts of reviewers: merge their files, and see what they say of everything."""


@labels.command()
@_LABELS
@click.option("-o", "--out", required=True, callback=named, metavar="FILE.parquet", help="Where the merged labels go.")
def merge(labels: tuple[str, ...], out: str) -> None:
    """Merge label files (or folders of them) into one Parquet file; of each reviewer the last word wins."""
    from trajlab.report.text import visible
    from trajlab.review.labels import read_labels

    merged = read_labels(*labels)
    merged.write(out)
    reviewers = merged.frame["reviewer"].n_unique()
    counts = f"{merged.frame.height:,} labels of {reviewers} reviewers, {merged.superseded:,} replaced"
    click.echo(visible(f"{counts}: {out}"))
    for problem in merged.problems:
        click.echo(visible(f"not read: {problem}"), err=True)


@labels.command()
@_LABELS
@_SOURCE
@click.option("--sample", "manifest", required=True, callback=named, metavar="FILE", help="What was labelled.")
@click.option("--question", required=True, metavar="ID", help="Which question.")
@click.option("--positive", default="yes", show_default=True, metavar="ANSWER", help="The answer that rules look for.")
@click.option("--flag", "flags", multiple=True, metavar="RULE", help="Hold against the labels: rule:ID, hit, a column.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object in place of the text.")
@JOBS
def report(
    labels: tuple[str, ...],
    sources: tuple[str, ...],
    manifest: str,
    question: str,
    positive: str,
    flags: tuple[str, ...],
    as_json: bool,
    jobs: int | None,
) -> None:
    """Shares with intervals, agreement, precision and recall of rules, and where the next labels help most."""
    from trajlab.api import corpus_of
    from trajlab.report.text import visible
    from trajlab.review.labels import read_labels
    from trajlab.review.manifest import read_sample
    from trajlab.review.results import results

    merged, drawn = read_labels(*labels), read_sample(manifest)
    found = results(corpus_of(*sources, jobs=jobs), drawn, merged, question, _answer(positive), flags=flags)
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else visible(str(found)))


@labels.command()
@_LABELS
@_SOURCE
@click.option("--question", default="command", show_default=True, metavar="ID", help="Whose answers are label sets.")
@click.option("-o", "--out", required=True, callback=named, metavar="GOLD.jsonl", help="For `trajlab accuracy`.")
@JOBS
def gold(labels: tuple[str, ...], sources: tuple[str, ...], question: str, out: str, jobs: int | None) -> None:
    """Commands with the labels that people gave them, as a file for `trajlab accuracy`."""
    from trajlab.api import corpus_of
    from trajlab.report.text import visible
    from trajlab.review.gold import gold_commands, write_gold
    from trajlab.review.labels import read_labels

    rows, left_out = gold_commands(corpus_of(*sources, jobs=jobs), read_labels(*labels), question)
    write_gold(out, rows)
    click.echo(visible(f"{len(rows):,} commands: {out}"))
    for reason in left_out:
        click.echo(visible(f"left out: {reason}"), err=True)


def _answer(text: str) -> object:
    """An answer as JSON where it is JSON (true, 3), else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
