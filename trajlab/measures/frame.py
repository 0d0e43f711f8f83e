"""The trajectories a measure speaks of: one run, set-aside rows left out, each in its period."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import polars as pl

from trajlab.behavior.hack_rules import TIERS
from trajlab.behavior.termination import ERRORS
from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError

QUARTERS = 4
LABELLED = (
    "any_test", "suite_run", "n_project_edits", "n_executes_before", "n_edits_with_path",
    *(f"n_hack_{tier}" for tier in TIERS),
)  # fmt: skip
"""Columns that are known where labels are."""
WHOLE = "all"
"""Name of the period where a run is not divided."""


class Population(msgspec.Struct, frozen=True):
    """Which trajectories, and in which periods."""

    run: str | None = None
    by: str = "epoch"
    """``epoch``, ``quarter`` or ``steps:N``."""
    epoch: int | None = None
    """Only this epoch; ``None``: all."""
    period: str | None = None
    """Only the period of this name, such as ``steps 1 to 20``; ``None``: all."""
    steps_per_epoch: int | None = None
    epoch_boundaries: tuple[int, ...] = ()
    """First training step of each epoch after the first."""
    correct_threshold: float | None = None
    """Where the log records no verdict: correct is a reward of at least this."""
    reward_threshold: float | None = None
    """A training reward strictly above this is high (reward by outcome)."""
    answer_component: str | None = None
    tool_component: str | None = None
    include_errors: bool = False
    """Keep the three error classes in behaviour rates."""

    @property
    def is_one_period(self) -> bool:
        """Whether one period of a run is asked for, not the run."""
        return self.epoch is not None or self.period is not None


def population_of(run: str | None, parameters: dict[str, Any]) -> Population:
    """The population that the parameters of an audit notebook describe."""
    named = {name: parameters[name] for name in Population.__struct_fields__ if name in parameters and name != "run"}
    named["epoch_boundaries"] = tuple(named.get("epoch_boundaries", ()))
    return Population(run=run, **named)


def stated_population(run: str | None, by: str, settings: dict[str, str]) -> Population:
    """The population of a command line: ``--run``, ``--by`` and every ``--set name=value`` that is one of its fields.

    Raises:
        UsageError: An unknown name, or a value of the wrong kind.
    """
    names = [name for name in Population.__struct_fields__ if name not in ("run", "by")]
    for name in settings:
        if name not in names:
            raise UsageError("--set", f"no parameter {name!r}", "one of " + ", ".join(names))
    try:
        values = {name: _json_or_text(value) for name, value in settings.items()}
        return msgspec.convert({"run": run, "by": by, **values}, Population, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError("--set", str(error), "", "See the parameters of the audit in README.md") from error


def _json_or_text(value: str) -> object:
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value


class Trajectories(msgspec.Struct):
    """The rows of a population, with what was left out."""

    population: Population
    """As asked; how the periods were told in the end is `periods_by`."""
    frame: pl.DataFrame
    """Current trajectories, with ``period`` (null: cannot be placed), ``is_error`` and ``cluster``."""
    set_aside: int
    """Superseded or duplicate."""
    unplaced: int
    """Without a period although others have one."""
    periods: list[str]
    """Names of the periods in order."""
    periods_by: str
    """What the periods are: as asked, or ``quarter`` where no epoch can be told but training steps can."""
    threshold_used: bool
    """``correct`` comes, where no verdict is recorded, from the stated threshold."""
    epochs_from: str | None = None
    """What tells the epochs: ``given``, ``rollouts``, ``counted`` (steps per epoch), ``metrics``; ``None``: nothing."""


def select(corpus: Corpus, population: Population) -> Trajectories:
    """Collect a population.

    Raises:
        UsageError: The run is not there, or the epoch cannot be told.
    """
    asked_for = corpus.trajectories
    if population.run is not None:
        asked_for = asked_for.filter(pl.col("run") == population.run)
    current = asked_for.collect()
    if population.run is not None and current.is_empty():
        found = ", ".join(corpus.runs)
        raise UsageError("run", f"no run {population.run!r}", f"one of {found}", "Name one of them")
    aside = current["superseded"] | current["duplicate"]
    current = current.filter(~aside) if aside.any() else current
    current = _without_idle_labels(current)
    current, threshold_used = _with_threshold(current, population.correct_threshold)
    current, epochs_from = _with_logged_epochs(corpus, current, population)
    asked, population = population, _with_known_periods(current, population)
    current = current.with_columns(
        _period(current, population),
        is_error=pl.col("termination").is_in(ERRORS).fill_null(value=False),
    )
    current = _only_period(_only_epoch(current, population), population)
    task = pl.coalesce("task_id", "trajectory_id")
    current = current.with_columns(cluster=task.rank("dense").cast(pl.Int64) - 1)
    names = current.select("period", "period_order").unique().drop_nulls().sort("period_order")["period"].to_list()
    unplaced = current["period"].null_count() if names else 0
    if not names:
        current, names = current.with_columns(period=pl.lit(WHOLE)), [WHOLE]
    return Trajectories(asked, current, int(aside.sum()), unplaced, names, population.by, threshold_used, epochs_from)


def _without_idle_labels(frame: pl.DataFrame) -> pl.DataFrame:
    """Labels are not observed in a run of which only idle trajectories have them.

    A trajectory that executed no call did nothing, whatever its tools are. Where no other has labels because no tool
    of the run is known, a rate over the idle ones would speak of them alone, and always be 0.
    """
    labelled, idle = frame["any_test"].is_not_null(), (frame["n_executed"] == 0).fill_null(value=False)
    if (labelled & ~idle).any() or not (~labelled & ~idle).any():
        return frame
    return frame.with_columns(pl.lit(None, frame.schema[name]).alias(name) for name in LABELLED)


def _with_known_periods(frame: pl.DataFrame, population: Population) -> Population:
    """Quarters of the training steps, where epochs were asked for and no log or parameter tells them."""
    told = population.epoch is not None or population.steps_per_epoch or population.epoch_boundaries
    steps = frame["train_step"].drop_nulls().n_unique()
    if population.by != "epoch" or told or frame["epoch"].count() or steps < 2:
        return population
    return msgspec.structs.replace(population, by="quarter" if steps >= QUARTERS else "steps:1")


def _with_logged_epochs(corpus: Corpus, frame: pl.DataFrame, population: Population) -> tuple[pl.DataFrame, str | None]:
    """The trainer's own epoch of each step, where nothing nearer tells the epochs; and what tells them."""
    if population.epoch_boundaries:
        return frame, "given"
    if frame["epoch"].count():
        return frame, "rollouts"
    if population.steps_per_epoch:
        return frame, "counted"
    told = trainer_epochs(corpus).select("run", train_step="step", told=pl.col("value").cast(pl.Int64))
    joined = frame.join(told, on=["run", "train_step"], how="left", maintain_order="left")
    # A resumed run may have begun its log anew: epochs of some steps only would leave the others without a period.
    if joined["told"].count() == 0 or joined["told"].count() < joined["train_step"].count():
        return frame, None
    return joined.with_columns(pl.col("told").alias("epoch")).drop("told"), "metrics"


def trainer_epochs(corpus: Corpus) -> pl.DataFrame:
    """Epoch of each training step as the trainer's metric log states it: ``run``, ``step``, ``value``."""
    return logged_series(corpus, "epoch").filter(pl.col("value").abs() < 1e9)


def logged_series(corpus: Corpus, name: str) -> pl.DataFrame:
    """A metric by its common name, a row for each run and step that has a number; of repeated ones what counts."""
    rows = corpus.metrics.filter((pl.col("name") == name) & pl.col("counts"))
    return rows.filter(pl.col("value").is_not_null()).select("run", "step", "value").sort("run", "step").collect()


def _with_threshold(frame: pl.DataFrame, threshold: float | None) -> tuple[pl.DataFrame, bool]:
    if threshold is None:
        return frame, False
    stated = pl.col("reward") >= threshold
    filled = frame.with_columns(correct=pl.coalesce("correct", stated))
    used = filled["correct"].null_count() < frame["correct"].null_count()
    return filled, used


def epoch_of(population: Population, first_step: int | None, last_step: int | None) -> pl.Expr:
    """Epoch of a trajectory: explicit boundaries, else as logged, else by steps per epoch (DEFINITIONS)."""
    step = pl.col("train_step")
    if population.epoch_boundaries:
        bounds = sorted(population.epoch_boundaries)
        return pl.sum_horizontal([(step >= bound).cast(pl.Int64) for bound in bounds]).alias("epoch")
    logged = pl.col("epoch")
    if population.steps_per_epoch and first_step is not None and last_step is not None:
        # A rest of less than half an epoch is no epoch of its own.
        last = max(math.floor((last_step - first_step + 1) / population.steps_per_epoch + 0.5) - 1, 0)
        counted = pl.min_horizontal((step - first_step) // population.steps_per_epoch, pl.lit(last))
        return pl.coalesce(logged, counted)
    return logged


def check_by(by: str) -> None:
    """Refuse what names no way to divide a run.

    Raises:
        UsageError: Naming those there are.
    """
    size = by.removeprefix("steps:")
    if by not in ("epoch", "quarter") and not (by != size and size.isascii() and size.isdigit() and int(size) > 0):
        raise UsageError("by", repr(by), "epoch, quarter or steps:N", "For example --by steps:20")


def _period(frame: pl.DataFrame, population: Population) -> list[pl.Expr]:
    check_by(population.by)
    steps = frame["train_step"].drop_nulls()
    first, last = (int(steps.min()), int(steps.max())) if len(steps) else (None, None)  # type: ignore[arg-type]
    step = pl.col("train_step")
    if population.by == "epoch":
        order = epoch_of(population, first, last)
        name = pl.format("epoch {}", order)
    elif first is None or last is None:
        order, name = pl.lit(None, pl.Int64), pl.lit(None, pl.String)
    elif population.by == "quarter":
        span = last - first + 1
        order = pl.min_horizontal((step - first) * 4 // span, pl.lit(3))
        name = pl.format("quarter {}", order + 1)
    else:
        size = int(population.by[6:])
        order = (step - first) // size
        name = pl.format("steps {} to {}", first + order * size, first + order * size + size - 1)
    return [order.alias("period_order"), pl.when(order.is_not_null()).then(name).alias("period")]


def _only_epoch(frame: pl.DataFrame, population: Population) -> pl.DataFrame:
    if population.epoch is None:
        return frame
    if population.by != "epoch":
        raise UsageError("epoch", f"an epoch with --by {population.by}", "--by epoch", "Leave one of the two out")
    wanted = frame.filter(pl.col("period_order") == population.epoch)
    if wanted.is_empty():
        known = frame["period_order"].drop_nulls().unique().sort().to_list()
        found = f"no epoch {population.epoch}" + (
            f", only {', '.join(map(str, known))}" if known else " (none is logged)"
        )
        raise UsageError("epoch", found, "", "Give steps_per_epoch or epoch_boundaries where the log has no epoch")
    return wanted


def _only_period(frame: pl.DataFrame, population: Population) -> pl.DataFrame:
    if population.period is None:
        return frame
    named = frame.with_columns(pl.col("period").fill_null(WHOLE)) if frame["period"].is_null().all() else frame
    if named.filter(pl.col("period") == population.period).is_empty():
        known = named.select("period", "period_order").unique().drop_nulls("period").sort("period_order")["period"]
        raise UsageError("period", f"no period {population.period!r}", "one of " + ", ".join(known))
    return frame.filter(named["period"] == population.period)


def column(frame: pl.DataFrame, expression: pl.Expr) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Values of an expression as floats; null becomes NaN."""
    values = frame.select(expression.cast(pl.Float64)).to_series()
    return values.fill_null(float("nan")).to_numpy()
