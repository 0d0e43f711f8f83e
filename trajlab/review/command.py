"""``trajlab review``: a page to read and label trajectories on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

LARGE_PAGE = 20_000_000
"""Bytes from which a page says that it is large."""


def _named(_: click.Context, __: click.Parameter, value: Any) -> Any:
    for name in value if isinstance(value, tuple) else (value,):
        if name is not None and (not name.strip() or any("\ud800" <= letter <= "\udfff" for letter in name)):
            raise click.BadParameter("an empty name" if not name.strip() else f"{name!r} is no valid UTF-8")
    return value


@click.command()
@click.argument("sources", nargs=-1, required=True, callback=_named, metavar="SRC...")
@click.option("-o", "--out", required=True, callback=_named, metavar="PAGE.html", help="File to write.")
@click.option(
    "--sample", callback=_named, metavar="MANIFEST", help="Manifest of a sample; default: a simple random draw of --n."
)
@click.option("--n", "n", type=click.IntRange(1), default=20, show_default=True, help="Trajectories drawn.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draw.")
@click.option("--blind", is_flag=True, help="Leave what graders and rules said out of the page.")
@click.option("--rubric", callback=_named, metavar="TOML", help="Questions; default: those that come with trajlab.")
@click.option("--reviewer", callback=_named, metavar="NAME", help="Who reads; default: the page asks.")
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
    from trajlab.api import open_corpus, read
    from trajlab.corpus.manifest import MANIFEST
    from trajlab.review.page import review_page

    is_corpus = len(sources) == 1 and (Path(sources[0]) / MANIFEST).is_file()
    corpus = open_corpus(sources[0]) if is_corpus else read(*sources)
    page = review_page(corpus, out, sample=sample, n=n, seed=seed, rubric=rubric, blind=blind, reviewer=reviewer)
    trajectories = "trajectory" if page.items == 1 else "trajectories"
    name = page.sample if page.sample.isprintable() else repr(page.sample)
    click.echo(f"{page.items:,} {trajectories}, {page.bytes / 1e6:.1f} MB, sample {name}")
    if page.bytes > LARGE_PAGE:
        click.echo(f"larger than {LARGE_PAGE / 1e6:.0f} MB: a browser takes long to open it; draw fewer with --n")
    click.echo(f"page: {page.path}")
