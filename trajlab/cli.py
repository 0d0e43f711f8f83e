"""The command line: thin commands over the Python calls; heavy imports only inside them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from trajlab import __version__
from trajlab.errors import ExitCode, InfrastructureError, TrajlabError, UsageError

_EXIT_CODES = (
    "Exit codes: 0 passed, 1 a gate failed or is inconclusive, 2 usage, 3 notebook error, "
    "4 infrastructure or interrupted."
)


def _named(_: click.Context, __: click.Parameter, value: Any) -> Any:
    """Refuse names that are empty or no text: the one would be the current folder, the other cannot be written."""
    for name in value if isinstance(value, tuple) else (value,):
        if name is not None and (not name.strip() or any("\ud800" <= letter <= "\udfff" for letter in name)):
            raise click.BadParameter("an empty name" if not name.strip() else f"{name!r} is no valid UTF-8")
    return value


# Options that several commands share.
_SOURCES = click.argument("sources", nargs=-1, required=True, callback=_named, metavar="SRC...")
_OUT = click.option(
    "-o", "--out", required=True, callback=_named, metavar="DIR", help="Folder for the reports; made if missing."
)
_BY = click.option(
    "--by", default="epoch", show_default=True, metavar="epoch|quarter|steps:N", help="Periods of a run."
)
_SETTINGS = click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the notebook.")
_FAIL_ON = click.option(
    "--fail-on",
    type=click.Choice(["alarm", "warn", "never"]),
    default="alarm",
    show_default=True,
    help="Exit with 1 on.",
)
_LANGUAGE = click.option(
    "--language", default="en", show_default=True, metavar="en|zh", help="Language of the written report."
)
_MAPPING = click.option(
    "--mapping", callback=_named, metavar="TOML", help="Where fields stand in logs that no reader knows."
)
_JOBS = click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes; default: as many as pay.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}, epilog=_EXIT_CODES)
@click.version_option(__version__, prog_name="trajlab")
def cli() -> None:
    """What did the agents do? Logs of agent runs to tables, audits and reports."""


@cli.command()
@click.option("--why", callback=_named, metavar="FILE", help="Why this file is claimed by a reader, or by none.")
@_MAPPING
def formats(why: str | None, mapping: str | None) -> None:
    """List the formats that are read, or say what a file is taken for and why."""
    if why is not None:
        _tell_why(why, mapping)
        return
    from trajlab.formats import (
        COMPANIONS,
        FALLBACK_LOGS,
        LOGS,
        METRIC_LOGS,
        companion_format,
        log_format,
        metric_format,
    )

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
@_SOURCES
@click.option("-o", "--out", required=True, callback=_named, metavar="CORPUS", help="Corpus folder; made if missing.")
@click.option(
    "--run", callback=_named, metavar="NAME", help="Name of the run; default: as the logs or the folders say."
)
@_MAPPING
@_JOBS
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
@_SOURCES
@click.option("-o", "--out", required=True, callback=_named, metavar="DIR", help="Folder; made if missing.")
@click.option("--to", required=True, metavar="atif|openai", help="Format to write.")
@click.option(
    "--run", callback=_named, metavar="NAME", help="Name of the run; default: as the logs or the folders say."
)
@_MAPPING
def convert(sources: tuple[str, ...], out: str, to: str, run: str | None, mapping: str | None) -> None:
    """Write logs of any format in another: ATIF trajectories, or rows of OpenAI messages.

    What was not read, and what the format has no place for, is said and stands in convert.json.
    """
    from trajlab.conversion import convert as run_convert
    from trajlab.report.text import visible

    done = run_convert(*sources, out=out, to=to, run=run, mapping=mapping)
    click.echo(f"{done.trajectories:,} trajectories in {done.files:,} files: {visible(done.out)}")
    if done.unread:
        click.echo(f"not read: {len(done.unread):,} (convert.json says what)")
    if done.not_held:
        lost = ", ".join(f"{name} ({count:,})" for name, count in done.not_held.items())
        click.echo(f"{to} has no place for: {lost}")


@cli.command()
@click.argument("corpus", callback=_named, metavar="CORPUS")
@_JOBS
def rebuild(corpus: str, jobs: int | None) -> None:
    """Derive the behaviour in a corpus anew by the rules of this version, without its logs.

    The corpus must have kept its texts.
    """
    from trajlab.api import rebuild as run_rebuild

    rebuilt = run_rebuild(corpus, jobs=jobs)
    click.echo(f"rules: {rebuilt.rules}")
    click.echo(f"corpus: {rebuilt.folder}")


@cli.command(epilog=_EXIT_CODES)
@_SOURCES
@_OUT
@click.option(
    "--run", callback=_named, metavar="NAME", help="Only this run of a corpus; for logs, the name of the run."
)
@_BY
@click.option("--epoch", default="all", show_default=True, metavar="N|all", help="Only this epoch.")
@_SETTINGS
@_FAIL_ON
@_LANGUAGE
@_MAPPING
@_JOBS
def audit(
    sources: tuple[str, ...],
    out: str,
    run: str | None,
    by: str,
    epoch: str,
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
    result = run_audit(list(sources), out, run=run, fail_on=fail_on, jobs=jobs, mapping=mapping, **parameters)
    _tell(result)
    sys.exit(result.exit_code)


@cli.command(epilog=_EXIT_CODES)
@_SOURCES
@_OUT
@click.option(
    "--run",
    "runs",
    multiple=True,
    callback=_named,
    metavar="NAME",
    help="Only these runs, in this order; default: all.",
)
@_BY
@_SETTINGS
@_FAIL_ON
@_LANGUAGE
@_JOBS
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
    click.echo(_shown(f"{', '.join(result.names)}: {verdict}  {result.report}"))
    click.echo(f"written report: {result.markdown}\nindex: {result.index}")
    sys.exit(result.exit_code)


@cli.command()
@_SOURCES
@click.option("--n", "n", default=80, show_default=True, metavar="N", help="Trajectories drawn from each stage.")
@click.option("-o", "--out", callback=_named, metavar="DIR", help="Folder for the report; default: it is only printed.")
@click.option("--run", callback=_named, metavar="NAME", help="Only this run; default: each run.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draws.")
@click.option("--margin", default=0.10, show_default=True, help="How far verification may fall and count as held.")
@_LANGUAGE
@_JOBS
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
    "-o", "--out", default="out", show_default=True, callback=_named, metavar="DIR", help="Folder for the reports."
)
def demo(out: str) -> None:
    """Audit the sample logs that come with trajlab."""
    from trajlab.report.audit import audit as run_audit

    result = run_audit([samples() / "mini_swe_agent" / "mini-swe-agent-demo", samples() / "verl" / "legacy_run"], out)
    _tell(result)
    sys.exit(result.exit_code)


@cli.command()
@click.argument("description")
@click.option("-o", "--out", required=True, callback=_named, metavar="DIR", help="Folder to use.")
@click.option("--scale", default=1.0, show_default=True, help="Share of the prompts of each step; the steps stay.")
@click.option("--seed", default=0, show_default=True, help="Decides everything that the description leaves open.")
@click.option("--variant", type=click.Choice(["legacy", "v1"]), default="legacy", show_default=True, help="Trainer.")
@click.option("--random", "at_random", is_flag=True, help="Draw outcomes, with easy and hard tasks.")
def simulate(description: str, out: str, scale: float, seed: int, variant: Any, at_random: bool) -> None:
    """Write a run with known figures, to test alarms on: DESCRIPTION is R1 to R5, r6, r7 or a TOML file."""
    from trajlab.simulate.run import simulate as write

    run = write(description, Path(out), scale=scale, seed=seed, variant=variant, random=at_random)
    click.echo(f"{run.name}: {run.trajectories:,} trajectories in {run.folder}")
    click.echo(f"rollouts  {run.rollouts}\nmetrics   {run.metrics}\nconfig    {run.config}\ntruth     {run.truth}")


@cli.command()
@click.argument("command", metavar="COMMAND")
@click.option("--json", "as_json", is_flag=True, help="One JSON object in place of the table.")
def explain(command: str, as_json: bool) -> None:
    """Say what a shell command does: its simple commands, their labels and the rule behind each.

    COMMAND is one argument, so quote it; - reads it from standard input. Nothing is executed.
    """
    from trajlab.behavior.shell import explain_command
    from trajlab.report.terminal import explanation, explanation_dict

    text = sys.stdin.buffer.read().decode("utf-8", "replace") if command == "-" else command
    commands = explain_command(text)
    click.echo(_json(explanation_dict(commands)) if as_json else explanation(commands))


@cli.command()
@click.argument("gold", metavar="GOLD.jsonl")
@click.option("--json", "as_json", is_flag=True, help="One JSON object in place of the table.")
def accuracy(gold: str, as_json: bool) -> None:
    """Compare command labels with a file of labelled commands: precision, recall, F1, confusions.

    Each line of GOLD.jsonl is an object with `command` and `labels`.
    """
    from trajlab.measures.accuracy import accuracy as judge
    from trajlab.measures.accuracy import read_gold
    from trajlab.report.terminal import accuracy_text

    found = judge(read_gold(gold))
    click.echo(_json(found.to_dict()) if as_json else accuracy_text(found))


def _json(value: Any) -> str:
    return json.dumps(value, indent=2)


def samples() -> Path:
    """Folder of the sample logs: in a wheel beside the modules, in a checkout at its top."""
    package = Path(__file__).resolve().parent
    for folder in (package / "_data_samples", package.parent / "data_samples"):
        if folder.is_dir():
            return folder
    raise UsageError("data_samples", "not found", "an installation with its data files", "Install trajlab again")


def _tell(result: Any) -> None:
    for record in result.records:
        verdict = record.message or record.status
        click.echo(_shown(f"{record.run}: {verdict}  {result.out / record.folder / 'report.html'}"))
    click.echo(f"index: {result.index}")


def _shown(text: str) -> str:
    """One line for a terminal: names in logs may hold control sequences."""
    from trajlab.report.text import visible

    return visible(text).replace("\n", " ")


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
        click.echo(_shown(f"trajlab: {error}"), err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        known = InfrastructureError(
            str(error.filename or "system"), error.strerror or str(error), "", "Check disk and permissions"
        )
        click.echo(_shown(f"trajlab: {known}"), err=True)
        sys.exit(known.exit_code)


if __name__ == "__main__":
    main()
