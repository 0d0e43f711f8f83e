"""The command line: thin commands over the Python calls; heavy imports only inside them."""

from __future__ import annotations

import sys

import click

from trajlab.cli import (  # noqa: F401  # each adds its commands to the group
    alarms,
    corpora,
    diagnosis,
    reports,
    review,
    rules,
    schedule,
)
from trajlab.cli.common import cli, samples, shown
from trajlab.cli.output import end, write_any_text
from trajlab.errors import ExitCode, InfrastructureError, TrajlabError

__all__ = ["cli", "main", "samples"]


def main() -> None:
    """Run the command line; every expected error is one line on standard error and a documented exit code."""
    write_any_text()
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        end(error, ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        end("trajlab: interrupted. Run the same command again: it resumes", ExitCode.INFRASTRUCTURE)
    except TrajlabError as error:
        end(shown(f"trajlab: {error}"), error.exit_code)
    except OSError as error:
        known = InfrastructureError(
            str(error.filename or "system"), error.strerror or str(error), "", "Check disk and permissions"
        )
        end(shown(f"trajlab: {known}"), known.exit_code)
