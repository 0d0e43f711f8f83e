"""The ten things a fair comparison of algorithms fixes or states, each *same*, *differs* or *unknown*."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
import polars as pl

from trajlab.measures.budgets import Budget
from trajlab.measures.configuration import Configuration

State = Literal["same", "differs", "unknown"]


class Facet(msgspec.Struct, frozen=True):
    """One thing that belongs to a point."""

    name: str
    state: State
    values: list[str | None]
    """What each run has, in the order of the runs; ``None``: not recorded."""


class Point(msgspec.Struct, frozen=True):
    """One of the ten points: differs if a facet differs, else unknown if one is not known, else same."""

    key: str
    state: State
    facets: list[Facet]


class Subject(msgspec.Struct, frozen=True):
    """What the points look at in one run."""

    frame: pl.DataFrame
    configuration: Configuration
    budget: Budget
    components: list[str]
    """Names of the reward components."""


Look = Callable[[Subject], str | None]


def _option(*endings: str) -> Look:
    def look(subject: Subject) -> str | None:
        """Every option with such an ending, so that two of them cannot hide each other."""
        settings = subject.configuration.settings
        found = {name: settings[name] for name in sorted(settings) if any(name.endswith(f".{end}") or name == end
                 for end in endings)}  # fmt: skip
        return ", ".join(found.values()) if found else None

    return look


def _distinct(column: str) -> Look:
    def look(subject: Subject) -> str | None:
        values = subject.frame[column].drop_nulls().unique().sort().to_list()
        return ", ".join(map(str, values[:8])) + (f" … ({len(values)})" if len(values) > 8 else "") if values else None

    return look


def _either(first: Look, second: Look) -> Look:
    return lambda subject: first(subject) or second(subject)


def _group_size(subject: Subject) -> str | None:
    known = subject.frame.filter(pl.col("group_id").is_not_null())
    if known.is_empty():
        return None
    sizes = known.group_by("group_id").len()["len"].unique().sort().to_list()
    return ", ".join(map(str, sizes[:8])) + (f" … ({len(sizes)})" if len(sizes) > 8 else "")


def _components(subject: Subject) -> str | None:
    return ", ".join(subject.components) if subject.components else None


def _amount(kind: str) -> Look:
    def look(subject: Subject) -> str | None:
        amount = subject.budget.amount(kind)
        return None if amount is None else f"{amount:,.0f}"

    return look


def _never(_: Subject) -> str | None:
    return None


TASKS = "tasks"
"""The facet that compares sets of tasks; see `_tasks`."""

POINTS: dict[str, dict[str, Look]] = {
    "checkpoint": {"model": _either(_option("model.path", "model_path"), _distinct("model"))},
    "data": {TASKS: _never, "environment": _option("environment_class", "env.name", "environment", "environment_type")},
    "reward": {
        "components": _components,
        "verifier": _option(
            "reward_model.path", "custom_reward_function.path", "custom_reward_function.name", "verifier"
        ),
    },
    "sampling": {
        "temperature": _option("temperature"),
        "top_p": _option("top_p"),
        "maximum_length": _option("max_response_length", "max_tokens"),
    },
    "tokens": {"rollout_tokens": _amount("completion_tokens"), "train_tokens": _never},
    "groups": {
        "group_size": _group_size,
        "filtering": _option("filter_groups.enable"),
        "replay": _option("replay", "replay_buffer.enable", "replay_buffer_size"),
    },
    "updates": {
        "training_steps": _amount("training_steps"),
        "epochs": _option("total_epochs", "num_train_epochs"),
        "batch_size": _option("train_batch_size"),
        "mini_batch": _option("ppo_mini_batch_size"),
    },
    "search": {"search_budget": _never},
    "evaluation": {"splits": _distinct("split"), "protocol": _never, "repeats": _never},
    "hardware": {
        "devices": _option("n_gpus_per_node", "nnodes"),
        "wall_clock": _either(_amount("training_seconds"), _amount("seconds")),
    },
}  # fmt: skip
"""The ten points in the order of the third report, each with the facets a log or a configuration can show."""


def fairness(subjects: Sequence[Subject]) -> list[Point]:
    """The ten points for some runs, at least two."""
    points = []
    for key, looks in POINTS.items():
        facets = [_tasks(subjects) if name == TASKS else _facet(name, look, subjects) for name, look in looks.items()]
        states = {facet.state for facet in facets}
        state: State = "differs" if "differs" in states else "unknown" if "unknown" in states else "same"
        points.append(Point(key, state, facets))
    return points


def _facet(name: str, look: Look, subjects: Sequence[Subject]) -> Facet:
    values = [look(subject) for subject in subjects]
    known = {value for value in values if value is not None}
    state: State = "differs" if len(known) > 1 else "unknown" if None in values else "same"
    return Facet(name, state, values)


def _tasks(subjects: Sequence[Subject]) -> Facet:
    sets = [set(subject.frame["task_id"].drop_nulls()) for subject in subjects]
    if not all(sets):
        return Facet(TASKS, "unknown", [f"{len(own):,}" if own else None for own in sets])
    shared = len(set.intersection(*sets))
    values: list[str | None] = [f"{len(own):,} ({shared:,} in all runs)" for own in sets]
    return Facet(TASKS, "same" if all(own == sets[0] for own in sets) else "differs", values)
