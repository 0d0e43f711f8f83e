"""Commands that show what the rules say: simulated runs, explained commands, accuracy of labels."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from trajlab.cli.common import cli, named


@cli.command()
@click.argument("description")
@click.option("-o", "--out", required=True, callback=named, metavar="DIR", help="Folder to use.")
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
