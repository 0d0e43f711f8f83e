"""Write a simulated run into ``<out>/<name>``.

``rollouts/{step}.jsonl`` are verl rollout dumps, ``metrics/<project>/<experiment>.jsonl`` is the log of verl's file
logger with a timestamp beside each line's data, ``config.yaml`` holds verl options, ``run.toml`` is the description,
and ``truth.json`` tells what was asked for and what came out.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from trajlab.errors import UsageError
from trajlab.simulate.description import Description, description_path, load_description
from trajlab.simulate.maths import MathsRun
from trajlab.simulate.metrics import Batch, metric_lines
from trajlab.simulate.software import SoftwareRun
from trajlab.simulate.verl_dump import write_file_logger

Variant = Literal["legacy", "v1"]


class SimulatedRun(msgspec.Struct, frozen=True):
    """Where a simulated run was written, and what it shows."""

    name: str
    folder: Path
    rollouts: Path
    """Folder of ``{step}.jsonl``."""
    metrics: Path
    """The metric log."""
    config: Path
    truth: Path
    trajectories: int
    planted: dict[str, Any]
    """Figures as they came out; also in the truth file."""


class _Writer(Protocol):
    def write(self, folder: Path, variant: str) -> Iterator[Batch]: ...

    def planted(self) -> dict[str, Any]: ...


def simulate(
    description: str | Path,
    out: str | Path,
    *,
    scale: float = 1.0,
    seed: int = 0,
    variant: Variant = "legacy",
    random: bool = False,
) -> SimulatedRun:
    """Write a run that shows the figures of a description, and return its paths and figures.

    What is written where, the module tells. The same arguments give the same bytes. An earlier simulation in the same
    place is replaced, nothing else is.

    Args:
        description: Name of a run that comes with the package, or the path of a description.
        out: Folder to write into.
        scale: Share of the prompts of each step; the steps stay. At 1 and above every figure is met to its printed
            precision, below as nearly as the smaller batches allow.
        seed: Decides everything that the description leaves open.
        variant: ``legacy`` dumps carry the verdict and the reward components, ``v1`` dumps only a ``uid``.
        random: Draw outcomes from the figures as probabilities, with easy and hard tasks, instead of planting them.

    Raises:
        UsageError: No such description, figures that contradict each other, or arguments out of range.
    """
    _check_arguments(scale, seed, variant)
    run = load_description(description)
    writer: _Writer = (MathsRun if run.kind == "math" else SoftwareRun)(run, scale, seed, at_random=random)
    folder = Path(out) / run.name
    rollouts, metrics = folder / "rollouts", folder / "metrics"
    _clear(folder, rollouts, metrics)
    log = metrics / run.project / f"{run.experiment or run.name}.jsonl"
    write_file_logger(log, metric_lines(run, writer.write(rollouts, variant), seed))
    planted = writer.planted()
    config, truth = folder / "config.yaml", folder / "truth.json"
    config.write_text(_yaml(_nested(_configuration(run))), encoding="utf-8", newline="\n")
    (folder / "run.toml").write_bytes(description_path(description).read_bytes())
    arguments = {"seed": seed, "scale": scale, "variant": variant, "random": random}
    _write_truth(truth, {"run": run.name, "arguments": arguments, "asked": run, "planted": planted})
    return SimulatedRun(run.name, folder, rollouts, log, config, truth, planted["trajectories"], planted)


def _write_truth(path: Path, document: dict[str, Any]) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")


def _check_arguments(scale: float, seed: int, variant: str) -> None:
    if variant not in ("legacy", "v1"):
        raise UsageError("variant", repr(variant), "legacy or v1")
    if not 0 < scale <= 100 or seed < 0:
        raise UsageError("scale, seed", f"{scale}, {seed}", "a scale above 0 and up to 100, a seed of 0 or more")


def _clear(folder: Path, *places: Path) -> None:
    """Remove an earlier simulation, and nothing else."""
    taken = [place for place in places if place.exists()]
    if taken and not (folder / "truth.json").is_file():
        raise UsageError(str(taken[0]), "files that no simulation wrote", next_step="Choose another folder")
    for place in taken:
        shutil.rmtree(place)


def _configuration(run: Description) -> dict[str, Any]:
    return {
        **run.config.verl,
        "trainer.project_name": run.project,
        "trainer.experiment_name": run.experiment or run.name,
    }


def _nested(options: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in options.items():
        *parents, leaf = name.split(".")
        branch = tree
        for parent in parents:
            branch = branch.setdefault(parent, {})
        branch[leaf] = value
    return tree


def _yaml(tree: dict[str, Any], depth: int = 0) -> str:
    """Nested options as YAML; scalars are spelled as JSON, which YAML reads."""
    lines = []
    for name, value in sorted(tree.items()):
        if isinstance(value, dict):
            lines.append(f"{'  ' * depth}{name}:\n{_yaml(value, depth + 1)}")
        else:
            plain = float(value) if isinstance(value, Decimal) else value
            lines.append(f"{'  ' * depth}{name}: {msgspec.json.encode(plain).decode()}\n")
    return "".join(lines)
