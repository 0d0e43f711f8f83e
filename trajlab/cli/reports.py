"""Commands that write reports: audits, comparisons, stages."""

from __future__ import annotations

import sys
from typing import Any

import click

from trajlab.cli.common import (
    BY,
    EXIT_CODES,
    FAIL_ON,
    JOBS,
    LANGUAGE,
    MAPPING,
    OUT,
    SETTINGS,
    SOURCES,
    cli,
    named,
    samples,
    shown,
    tell,
)


@cli.command(epilog=EXIT_CODES)
@SOURCES
@OUT
@click.option("--run", callback=named, metavar="NAME", help="Only this run of a corpus; for logs, the name of the run.")
@BY
@click.option("--epoch", default="all", show_default=True, metavar="N|all", help="Only this epoch.")
@click.option("--pending", is_flag=True, help="Each finished period once: those without a verdict in DIR.")
@click.option("--settle", "settle_hours", default=6.0, show_default=True, metavar="HOURS", help="A run is over after.")
@click.option("--hook", callback=named, metavar="COMMAND", help="Gets JSON when a run's status changes; no shell.")
@SETTINGS
@FAIL_ON
@LANGUAGE
@MAPPING
@JOBS
def audit(
    sources: tuple[str, ...],
    out: str,
    run: str | None,
    by: str,
    epoch: str,
    pending: bool,
    settle_hours: float,
    hook: str | None,
    settings: tuple[str, ...],
    fail_on: Any,
    language: str,
    mapping: str | None,
    jobs: int | None,
) -> None:
    """Read logs (or open a corpus) and write an audit of each run."""
    from trajlab.report.audit import audit as run_audit
    from trajlab.report.parameters import split_settings

    parameters: dict[str, object] = {"by": by, "language": language, **split_settings(settings)}
    if epoch != "all":
        parameters["epoch"] = epoch
    result = run_audit(
        list(sources),
        out,
        run=run,
        fail_on=fail_on,
        jobs=jobs,
        mapping=mapping,
        pending=pending,
        settle_hours=settle_hours,
        hook=hook,
        **parameters,
    )
    if pending and not result.records:
        click.echo("nothing to audit: no finished period without a verdict")
    tell(result)
    sys.exit(result.exit_code)


@cli.command(epilog=EXIT_CODES)
@SOURCES
@OUT
@click.option(
    "--run",
    "runs",
    multiple=True,
    callback=named,
    metavar="NAME",
    help="Only these runs, in this order; default: all.",
)
@BY
@SETTINGS
@FAIL_ON
@LANGUAGE
@JOBS
def compare(
    sources: tuple[str, ...],
    out: str,
    runs: tuple[str, ...],
    by: str,
    settings: tuple[str, ...],
    fail_on: Any,
    language: str,
    jobs: int | None,
) -> None:
    """Compare runs side by side: configuration, score, behaviour, differences, budgets, fairness.

    A source is a corpus or logs; every run in the sources is compared with the first.
    """
    from trajlab.report.compare import compare as run_compare
    from trajlab.report.parameters import split_settings

    parameters: dict[str, object] = {"by": by, "language": language, **split_settings(settings)}
    result = run_compare(*sources, out=out, runs=runs, fail_on=fail_on, jobs=jobs, **parameters)
    verdict = result.record.message or result.record.status
    click.echo(shown(f"{', '.join(result.names)}: {verdict}  {result.report}"))
    click.echo(f"written report: {result.markdown}\nindex: {result.index}")
    sys.exit(result.exit_code)


@cli.command()
@SOURCES
@click.option("--n", "n", default=80, show_default=True, metavar="N", help="Trajectories drawn from each stage.")
@click.option("-o", "--out", callback=named, metavar="DIR", help="Folder for the report; default: it is only printed.")
@click.option("--run", callback=named, metavar="NAME", help="Only this run; default: each run.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draws.")
@click.option("--margin", default=0.10, show_default=True, help="How far verification may fall and count as held.")
@LANGUAGE
@JOBS
def stages(
    sources: tuple[str, ...],
    n: int,
    out: str | None,
    run: str | None,
    seed: int,
    margin: float,
    language: str,
    jobs: int | None,
) -> None:
    """Compare early with late: N trajectories from the first and the last quarter of the training steps."""
    from trajlab.report.stages import stages as run_stages
    from trajlab.report.text import visible

    found = run_stages(list(sources), out, n=n, seed=seed, margin=margin, run=run, language=language, jobs=jobs)
    for one in found:
        click.echo(visible(str(one)))
        if one.folder is not None:
            click.echo(f"report: {one.folder / 'report.html'}")


@cli.command()
@click.option(
    "-o", "--out", default="out", show_default=True, callback=named, metavar="DIR", help="Folder for the reports."
)
def demo(out: str) -> None:
    """Audit the sample logs that come with trajlab."""
    from trajlab.report.audit import audit as run_audit

    result = run_audit([samples() / "mini_swe_agent" / "mini-swe-agent-demo", samples() / "verl" / "legacy_run"], out)
    tell(result)
    sys.exit(result.exit_code)
