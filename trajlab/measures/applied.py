"""Configured values beside those that the trainer's metric log shows to have been applied."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.measures.configuration import Configuration, plain
from trajlab.measures.frame import logged_series

LOGGED = {
    "actor.lr": (
        "actor_rollout_ref.actor.optim.lr", "learning_rate", "optim.lr", "trainer.policy.optimizer_config.lr",
        "actor.optimizer.lr", "actor_train.training_args.learning_rate", "actor_learning_rate", "lr",
    ),
    "critic.lr": (
        "critic.optim.lr", "trainer.critic.optimizer_config.lr", "critic.optimizer.lr",
        "critic_train.training_args.learning_rate", "critic_learning_rate", "critic_lr",
    ),
}  # fmt: skip
"""Common name of the metric that shows a setting applied -> the option, as trainers spell it, verl first."""
FEW = 3
"""Different values that are named one by one; more are a schedule, told by its ends."""
_SAME = 1e-6
"""Values that differ by less than this share of the larger are the same number."""


class Applied(msgspec.Struct, frozen=True):
    """One setting as configured and as applied."""

    option: str
    configured: str | None
    """``None``: not observed."""
    applied: list[tuple[float, int]]
    """Values in the order they first occur, each with the training steps it was applied at."""
    steps: int
    """Training steps whose value is logged."""
    other: int | None
    """Steps at which another value than the configured one was applied; ``None``: none is configured."""

    @property
    def said(self) -> str:
        """The applied values in one text: ``5e-06 (119), 2.5e-06 (61)``."""
        if len(self.applied) <= FEW:
            return ", ".join(f"{_number(value)} ({count:,})" for value, count in self.applied)
        values = [value for value, _ in self.applied]
        return f"{_number(min(values))} … {_number(max(values))} ({self.steps:,})"


def _number(value: float) -> str:
    return plain(f"{value:.6g}")


def applied(corpus: Corpus, run: str, settings: Configuration) -> list[Applied]:
    """What is logged of each setting of `LOGGED`; settings whose metric is not logged are left out."""
    found = []
    for name, spellings in LOGGED.items():
        option = next((spelling for spelling in spellings if spelling in settings.settings), spellings[0])
        values = logged_series(corpus, name).filter(pl.col("run") == run)["value"].to_list()
        if values:
            configured = settings.settings.get(option)
            found.append(Applied(option, configured, _counts(values), len(values), _others(values, configured)))
    return found


def _counts(values: Sequence[float]) -> list[tuple[float, int]]:
    counts: dict[float, int] = {}
    for value in values:
        key = next((known for known in counts if _same(known, value)), value) if len(counts) <= FEW else value
        counts[key] = counts.get(key, 0) + 1
    return list(counts.items())


def _others(values: Sequence[float], configured: str | None) -> int | None:
    try:
        wanted = None if configured is None else float(configured)
    except ValueError:
        return None
    return None if wanted is None else sum(not _same(value, wanted) for value in values)


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= _SAME * max(abs(one), abs(other))


def as_applied(settings: Configuration, found: Sequence[Applied]) -> Configuration:
    """The configuration with what was applied beside each value that was not applied throughout."""
    unlike = {item.option: f"{item.configured} (applied: {item.said})" for item in found if item.other}
    return msgspec.structs.replace(settings, settings={**settings.settings, **unlike})
