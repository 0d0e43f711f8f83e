"""Commands around audits on a schedule: is it alive, and what of it is kept."""

from __future__ import annotations

import sys

import click

from trajlab.cli.common import EXIT_CODES, cli, named

_AUDITS = click.argument("out", callback=named, metavar="DIR")


@cli.command(epilog=EXIT_CODES)
@_AUDITS
@click.option("--max-age", metavar="26h", help="Fail where no audit ended within it: a number and m, h or d.")
def status(out: str, max_age: str | None) -> None:
    """Say how the newest audit of each run in DIR ended; fails on silence and on audits that died half-way."""
    from trajlab.report.status import schedule_status
    from trajlab.report.text import visible

    found = schedule_status(out, max_age)
    click.echo(visible(str(found)))
    sys.exit(found.exit_code)


@cli.command()
@_AUDITS
@click.option("--keep", type=click.IntRange(1), default=50, show_default=True, help="Newest of each run kept whole.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def prune(out: str, keep: int, dry_run: bool) -> None:
    """Take pages and notebooks from old audits in DIR; records and results stay.

    The last audit that passed, the last that did not, and those with a file PINNED stay whole.
    """
    from trajlab.report.retention import prune as take
    from trajlab.report.text import visible

    gone = take(out, keep=keep, dry_run=dry_run)
    would = "would go" if dry_run else "gone"
    counts = f"pages of {len(gone.reports):,} audits, {len(gone.unfinished):,} that died half-way"
    click.echo(visible(f"{would}: {counts}, {gone.bytes / 1e6:.1f} MB"))
