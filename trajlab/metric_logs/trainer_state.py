"""``trainer_state.json`` of transformers, TRL and what builds on them: all rows logged so far, in ``log_history``."""

from __future__ import annotations

from collections.abc import Iterator

from trajlab.formats import FoundFact
from trajlab.formats._sidecar_facts import trainer_state
from trajlab.metric_logs import Metric, Variant
from trajlab.metric_logs._rows import read_rows
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import document
from trajlab.sources.safe_json import loads

VARIANTS = {
    "log_history": Variant(
        "`trainer_state.json` of transformers and TRL, in the output folder and each checkpoint: rows of `log_history`",
        frozenset(),
    )
}
_KEYS = {"log_history", "global_step"}


def recognise(probe: Probe) -> str | None:
    """By its keys."""
    return "log_history" if probe.shape == "object" and probe.keys >= _KEYS else None


def read_metrics(bundle: Bundle) -> Iterator[Metric | Problem]:
    """One row for each number; evaluations stand under ``eval_…``."""
    problems: list[Problem] = []
    try:
        state = loads(document(bundle, problems)).value
    except ValueError as error:
        yield Problem("unreadable_record", f"no metrics: {error}")
        yield from problems
        return
    history = state.get("log_history") if isinstance(state, dict) else None
    if isinstance(history, list):
        yield from read_rows(enumerate(history, 1), "step")
    else:
        yield Problem("wrong_type", "log_history is no list; expected rows of metrics")
    yield from problems


SPEAKS_OF = {"log_history": frozenset({"trl"})}
"""Formats of the trajectories that its facts are about."""


def read_facts(bundle: Bundle) -> Iterator[FoundFact]:
    """Epoch and split by step, settings, and the mean reward of the training steps."""
    return trainer_state(bundle)
