"""The group of commands, the options that several share, and how results are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trajlab import __version__
from trajlab.cli.output import Commands
from trajlab.errors import UsageError

EXIT_CODES = (
    "Exit codes: 0 passed, 1 a gate failed or is inconclusive, 2 usage, 3 notebook error, "
    "4 infrastructure or interrupted."
)


def named(_: click.Context, __: click.Parameter, value: Any) -> Any:
    """Refuse names that are empty or no text: the one would be the current folder, the other cannot be written."""
    for name in value if isinstance(value, tuple) else (value,):
        if name is not None and (not name.strip() or any("\ud800" <= letter <= "\udfff" for letter in name)):
            raise click.BadParameter("an empty name" if not name.strip() else f"{name!r} is no valid UTF-8")
    return value


# Options that several commands share.
SOURCES = click.argument("sources", nargs=-1, required=True, callback=named, metavar="SRC...")
OUT = click.option(
    "-o", "--out", required=True, callback=named, metavar="DIR", help="Folder for the reports; made if missing."
)
BY = click.option("--by", default="epoch", show_default=True, metavar="epoch|quarter|steps:N", help="Periods of a run.")
SETTINGS = click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the notebook.")
FAIL_ON = click.option(
    "--fail-on",
    type=click.Choice(["alarm", "warn", "never"]),
    default="alarm",
    show_default=True,
    help="Exit with 1 on.",
)
LANGUAGE = click.option("--language", default="en", show_default=True, metavar="en|zh", help="Language of the report.")
MAPPING = click.option(
    "--mapping", callback=named, metavar="TOML", help="Where fields stand in logs that no reader knows."
)
JOBS = click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes; default: as many as pay.")


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=EXIT_CODES,
)
@click.version_option(__version__, prog_name="trajlab")
def cli() -> None:
    """What did the agents do? Logs of agent runs to tables, audits and reports."""


def tell(result: Any) -> None:
    """Say what became of each run, and where its report lies."""
    for record in result.records:
        verdict = record.message or record.status
        click.echo(shown(f"{record.run}: {verdict}  {result.out / record.folder / 'report.html'}"))
    click.echo(f"index: {result.index}")


def shown(text: str) -> str:
    """One line for a terminal: names in logs may hold control sequences."""
    from trajlab.report.text import visible

    return visible(text).replace("\n", " ")


def samples() -> Path:
    """Folder of the sample logs: in a wheel beside the modules, in a checkout at its top."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_data_samples", package.parent / "data_samples"):
        if folder.is_dir():
            return folder
    raise UsageError("data_samples", "not found", "an installation with its data files", "Install trajlab again")
