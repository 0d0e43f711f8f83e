"""The command line: thin commands over the Python calls; heavy imports only inside them."""

from __future__ import annotations

import sys

import click

from trajlab.cli import alarms, corpora, reports, review, rules, schedule  # noqa: F401  # each adds its commands to the group
from trajlab.cli.common import cli, samples, shown
from trajlab.errors import ExitCode, InfrastructureError, TrajlabError

__all__ = ["cli", "main", "samples"]


def main() -> None:
    """Run the command line; every expected error is one line on standard error and a documented exit code."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        click.echo("trajlab: interrupted. Run the same command again: it resumes", err=True)
        sys.exit(ExitCode.INFRASTRUCTURE)
    except TrajlabError as error:
        click.echo(shown(f"trajlab: {error}"), err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        known = InfrastructureError(
            str(error.filename or "system"), error.strerror or str(error), "", "Check disk and permissions"
        )
        click.echo(shown(f"trajlab: {known}"), err=True)
        sys.exit(known.exit_code)
