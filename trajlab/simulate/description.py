"""Run descriptions: what a simulated run shall show, as TOML. ``trajlab/simulate/runs`` holds seven.

A description is a table of *figures*. A figure is planted to its last printed decimal: ``0.40`` is met by
0.395 to 0.405, ``89`` by 88.5 to 89.5; what is left out is left to chance. Percentages end in ``_pct``.

Top level
    ``name``, ``kind`` (``"math"`` or ``"swe"``), ``steps``, ``prompts`` (distinct tasks), ``project``, ``experiment``,
    ``model``, ``started_at`` (RFC 3339), ``total_h`` (wall-clock, hours; the rest above the sum of
    ``timing_s/step`` lies between steps), ``icc`` (intraclass correlation of the attempts at a task).
``[config]``
    What the run was configured with; ``batch_size`` (prompts a step), ``generations`` (attempts a prompt) and
    ``agent_steps`` (most turns) are used. ``[config.verl]``: dotted verl options, written to ``config.yaml``.
``[epochs]``
    Two partitions of the training steps: ``rollout_steps`` for the figures counted from rollouts,
    ``score_steps`` for the score series and ``training/epoch``. They may disagree.
``[outcome]``
    ``correct_pct``, ``zero_pct``, ``negative_pct`` (of trajectories), ``distinct_rewards``, ``max_reward``,
    ``epoch_correct_pct`` (rollout partition).
``[behaviour]`` (math)
    ``mean_steps``, ``one_step_pct``, ``two_step_pct``, ``three_plus_step_pct``, ``tool_use_pct``,
    ``epoch_tool_use_pct``, ``epoch_mean_steps``, ``[behaviour.quadrants]`` (percent), ``tool_use_path`` (knots of its
    shape within the epochs), ``garbled_from`` (step from which wrong answers without tools ramble).
``[software]`` (swe)
    Knots ``[step, value]`` for ``think_fraction``, ``calls`` (a trajectory) and ``correct``; ``[[software.stages]]``
    with ``steps``, the shares of trajectories that run the test suite, quick checks (``inline``), a script and, of the
    first, also single tests (``targeted``), and edits a trajectory. ``all_negative_steps``, ``advantage_drift``,
    ``whitened`` (advantages); ``hollow_step``, ``hollow_pct`` (a batch whose trajectories are mostly empty);
    ``response_tokens`` (mean of the first step in the metric log; the texts are shorter).
``[score]`` and ``[series."verl/metric/name"]``
    One metric at every step: ``path`` (knots, linear between), ``noise`` (relative), ``between``, and the figures
    ``mean``, ``std`` (population), ``max``, ``min``, ``first``, ``last``, ``change_pct`` (first to last), ``at``
    (by step), ``windows`` (mean over ``steps = [first, last]``), ``epoch_mean`` (score partition),
    ``every`` (logged every N steps only).
``[source]``
    Free text: where the figures come from, and quirks; copied, not used.

The score of a step is the mean reward of its rollouts, so ``[score]`` has no life of its own in math runs: rewards are
chosen so that both partitions come out.
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import msgspec

from trajlab.errors import UsageError

RUNS = Path(__file__).parent / "runs"
"""Folder of the descriptions that come with the package."""

Knots = list[tuple[int, Decimal]]


class _Part(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Part of a description: a misspelt key is an error."""


class Window(_Part):
    """Mean over an inclusive range of steps."""

    steps: tuple[int, int]
    mean: Decimal


class Series(_Part):
    """One metric at every step; see the module's docstring."""

    path: Knots = []
    noise: Decimal = Decimal(0)
    between: tuple[Decimal, Decimal] | None = None
    mean: Decimal | None = None
    std: Decimal | None = None
    max: Decimal | None = None
    min: Decimal | None = None
    first: Decimal | None = None
    last: Decimal | None = None
    change_pct: Decimal | None = None
    at: dict[int, Decimal] = {}
    windows: list[Window] = []
    epoch_mean: list[Decimal] = []
    every: int = 1


class Config(_Part):
    """What the run was configured with; ``verl`` maps dotted options to values."""

    batch_size: int
    generations: int
    agent_steps: int
    verl: dict[str, Any] = {}


class Epochs(_Part):
    """Two partitions of the training steps, as numbers of steps."""

    rollout_steps: list[int]
    score_steps: list[int]


class Outcome(_Part):
    """Shares of trajectories in percent, and their rewards."""

    correct_pct: Decimal | None = None
    zero_pct: Decimal | None = None
    negative_pct: Decimal | None = None
    distinct_rewards: int | None = None
    max_reward: Decimal = Decimal("1.33")
    epoch_correct_pct: list[Decimal] = []


class Quadrants(_Part):
    """Answer by tool, in percent of trajectories."""

    answer_and_tool: Decimal
    only_answer: Decimal
    only_tool: Decimal
    neither: Decimal


class Behaviour(_Part):
    """Turns and tools of a math run."""

    mean_steps: Decimal
    one_step_pct: Decimal
    two_step_pct: Decimal
    three_plus_step_pct: Decimal
    tool_use_pct: Decimal
    quadrants: Quadrants
    epoch_tool_use_pct: list[Decimal] = []
    epoch_mean_steps: list[Decimal] = []
    tool_use_path: Knots = []
    garbled_from: int | None = None


class Stage(_Part):
    """What trajectories do in a range of steps; ``edits`` is a mean, the others are percent of trajectories."""

    steps: tuple[int, int]
    suite_pct: Decimal
    inline_pct: Decimal
    script_pct: Decimal
    targeted_pct: Decimal
    edits: Decimal


class Software(_Part):
    """Behaviour of a run on software-engineering tasks."""

    think_fraction: Knots
    calls: Knots
    correct: Knots
    stages: list[Stage]
    advantage_drift: Decimal = Decimal(0)
    whitened: bool = True
    all_negative_steps: list[int] = []
    response_tokens: int | None = None
    hollow_step: int | None = None
    hollow_pct: Decimal = Decimal(100)


class Description(_Part):
    """A run to simulate; see the module's docstring."""

    name: str
    kind: Literal["math", "swe"]
    steps: int
    prompts: int
    config: Config
    epochs: Epochs
    outcome: Outcome = msgspec.field(default_factory=Outcome)
    behaviour: Behaviour | None = None
    software: Software | None = None
    score: Series | None = None
    series: dict[str, Series] = {}
    project: str = "trajlab"
    experiment: str = ""
    model: str = ""
    started_at: str = "2025-01-06T08:00:00Z"
    total_h: Decimal | None = None
    icc: Decimal = Decimal("0.3")
    source: dict[str, Any] = {}


def description_path(description: str | Path) -> Path:
    """File of a description: a run that comes with the package by name, else a path.

    Raises:
        UsageError: There is neither.
    """
    known = {file.stem: file for file in sorted(RUNS.glob("*.toml"))}
    path = known.get(str(description), Path(description))
    if not path.is_file():
        raise UsageError("description", f"{description}", f"one of {', '.join(known)}, or a TOML file")
    return path


def load_description(description: str | Path) -> Description:
    """Read a run description.

    Args:
        description: Name of a run that comes with the package (``R4``), or the path of a TOML file.

    Raises:
        UsageError: No such run or file, not TOML, an unknown or missing key, or parts that do not fit together.
    """
    path = description_path(description)
    try:
        # Decimal keeps the printed precision: 2.00 is not 2.0 here.
        table = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
        run = msgspec.convert(table, Description, str_keys=True)
    except (ValueError, ArithmeticError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(str(path), str(error), "a run description", "See trajlab.simulate.description") from error
    _check(run, str(path))
    return run


def _check(run: Description, place: str) -> None:
    faults = {
        "rollout_steps do not add up to steps": sum(run.epochs.rollout_steps) != run.steps,
        "score_steps do not add up to steps": sum(run.epochs.score_steps) != run.steps,
        "a math run needs [behaviour], [score] and correct_pct": run.kind == "math"
        and (run.behaviour is None or run.score is None or run.outcome.correct_pct is None),
        "a swe run needs [software]": run.kind == "swe" and run.software is None,
        "name must be a plain file name": not run.name.replace("-", "").replace("_", "").isalnum(),
        "sizes must be at least 1": min(run.steps, run.prompts, run.config.batch_size, run.config.generations) < 1,
        "prompts must be at least batch_size": run.prompts < run.config.batch_size,
        "three or more steps need agent_steps >= 3": run.config.agent_steps < 3,
        "icc must lie in [0, 1)": not 0 <= run.icc < 1,
    }
    for fault, found in faults.items():
        if found:
            raise UsageError(place, fault, next_step="See trajlab.simulate.description")
    lists = [run.outcome.epoch_correct_pct]
    if run.behaviour is not None:
        lists += [run.behaviour.epoch_tool_use_pct, run.behaviour.epoch_mean_steps]
    if any(figures and len(figures) != len(run.epochs.rollout_steps) for figures in lists):
        raise UsageError(place, "epoch figures and rollout_steps differ in number")


def half_unit(figure: Decimal) -> float:
    """Half a unit of the last printed decimal."""
    exponent = figure.as_tuple().exponent
    return 0.5 * 10.0 ** (exponent if isinstance(exponent, int) else 0)


def bounds(figure: Decimal) -> tuple[float, float]:
    """The values that print as the figure."""
    return float(figure) - half_unit(figure), float(figure) + half_unit(figure)
