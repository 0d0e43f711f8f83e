"""The command ``trajlab simulate``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="simulate")
@click.argument("description")
@click.option("-o", "--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder to use.")
@click.option("--scale", default=1.0, show_default=True, help="Share of the prompts of each step; the steps stay.")
@click.option("--seed", default=0, show_default=True, help="Decides everything that the description leaves open.")
@click.option(
    "--variant",
    type=click.Choice(["legacy", "v1"]),
    default="legacy",
    show_default=True,
    help="Trainer whose dumps are written.",
)
@click.option("--random", "at_random", is_flag=True, help="Draw outcomes, with easy and hard tasks.")
def simulate(description: str, out: Path, scale: float, seed: int, variant: str, *, at_random: bool) -> None:
    """Write a run with known figures: DESCRIPTION is R1 to R5, r6, r7 or the path of a TOML file."""
    from typing import cast

    from trajlab.errors import TrajlabError
    from trajlab.simulate.run import Variant
    from trajlab.simulate.run import simulate as write

    try:
        run = write(description, out, scale=scale, seed=seed, variant=cast(Variant, variant), random=at_random)
    except TrajlabError as error:
        click.echo(str(error), err=True)
        raise SystemExit(int(error.exit_code)) from error
    click.echo(f"{run.name}: {run.trajectories:,} trajectories in {run.folder}")
    click.echo(f"rollouts  {run.rollouts}\nmetrics   {run.metrics}\nconfig    {run.config}\ntruth     {run.truth}")
