"""Commands about alarms: one pass over running logs, and how often the alarms are right."""

from __future__ import annotations

import sys

import click

from trajlab.cli.common import EXIT_CODES, JOBS, SOURCES, cli, named


@cli.command(epilog=EXIT_CODES)
@SOURCES
@click.option("-c", "--corpus", callback=named, metavar="DIR", help="Where logs are ingested; default: trajlab-watch.")
@click.option("--hook", metavar="CMD", help="Run on a new alarm, without a shell; gets them as JSON on its input.")
@click.option("--run", callback=named, metavar="NAME", help="Only this run.")
@click.option("--outcome", callback=named, metavar="SIGNAL", help="Signal that tells the independent outcome.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A line, as alarm_kl.level=0.1.")
@JOBS
def watch(
    sources: tuple[str, ...],
    corpus: str | None,
    hook: str | None,
    run: str | None,
    outcome: str | None,
    settings: tuple[str, ...],
    jobs: int | None,
) -> None:
    """Read what is new in logs that grow, and exit with 1 on an alarm that was not there before: for cron.

    A SRC is a corpus, or logs; what was told stands in watch.json of the corpus and is not told again.
    """
    from trajlab.report.alarm_text import watched_text
    from trajlab.report.parameters import number_settings
    from trajlab.report.text import visible
    from trajlab.report.watch import watch as run_watch

    lines = number_settings(settings)
    found = run_watch(*sources, corpus=corpus, hook=hook, run=run, outcome=outcome, thresholds=lines, jobs=jobs)
    click.echo(visible(watched_text(found)))
    sys.exit(found.exit_code)


@cli.command(epilog=EXIT_CODES)
@click.option("--healthy", default=300, show_default=True, type=click.IntRange(20), help="Healthy runs simulated.")
@click.option("--runs", default=80, show_default=True, type=click.IntRange(20), help="Runs of each pathology.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of everything drawn.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object in place of the table.")
def selftest(healthy: int, runs: int, seed: int, as_json: bool) -> None:
    """Simulate healthy runs and pathologies: how often do the alarms speak, and how late? Exit 1 out of bounds."""
    import msgspec

    from trajlab.checks.selftest import matrix
    from trajlab.errors import ExitCode
    from trajlab.report.alarm_text import matrix_text

    found = matrix(healthy, runs, seed)
    document = {**msgspec.to_builtins(found), "passed": found.passed}
    text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode() if as_json else matrix_text(found)
    click.echo(text)
    sys.exit(ExitCode.PASSED if found.passed else ExitCode.GATE_FAILED)
