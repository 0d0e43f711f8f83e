"""The command that diagnoses runs."""

from __future__ import annotations

import sys
from typing import Any

import click

from trajlab.cli.common import BY, EXIT_CODES, FAIL_ON, JOBS, LANGUAGE, MAPPING, OUT, SOURCES, cli, named, tell


@cli.command(epilog=EXIT_CODES)
@SOURCES
@OUT
@click.option("--metrics", multiple=True, callback=named, metavar="LOG", help="A metric log that lies elsewhere.")
@click.option("--run", callback=named, metavar="NAME", help="Only this run; default: each run.")
@BY
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the notebook, or a line, as plateau.warn=0.02.",
)
@LANGUAGE
@FAIL_ON
@MAPPING
@JOBS
def diagnose(
    sources: tuple[str, ...],
    out: str,
    metrics: tuple[str, ...],
    run: str | None,
    by: str,
    settings: tuple[str, ...],
    language: str,
    fail_on: Any,
    mapping: str | None,
    jobs: int | None,
) -> None:
    """Is the run healthy? Fifteen layers over rollouts and metric logs, what moved first, where to look.

    A source is a corpus, or rollouts and metric logs; a run may have either or both.
    """
    from trajlab.report.diagnose import diagnose as run_diagnose
    from trajlab.report.parameters import number_settings, split_settings

    lines = number_settings([setting for setting in settings if "." in setting.partition("=")[0]])
    rest = split_settings([setting for setting in settings if "." not in setting.partition("=")[0]])
    parameters: dict[str, object] = {"by": by, "language": language, **({"thresholds": lines} if lines else {}), **rest}
    result = run_diagnose(
        list(sources), out, metrics=metrics, run=run, fail_on=fail_on, jobs=jobs, mapping=mapping, **parameters
    )
    tell(result)
    sys.exit(result.exit_code)
