"""Metric logs of trainers: one module for each layout, and common names for what they hold.

A metric log is a module with ``VARIANTS``, ``recognise(probe)`` (exactly one reader of trajlab claims a file) and
``read_metrics(bundle)``, which yields :class:`Metric` and :class:`~trajlab.records.Problem` in the order of the file.
Readers keep the trainer's spelling; common names are given to a whole log at once (:mod:`.naming`), since who wrote it
shows only from all of its names.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

import msgspec

from trajlab.formats import Variant
from trajlab.records import Problem

if TYPE_CHECKING:
    from trajlab.sources.files import Bundle
    from trajlab.sources.probe import Probe

__all__ = ["METRIC_LOGS", "Metric", "MetricFormat", "Variant", "metric_format"]


class Metric(msgspec.Struct, frozen=True):
    """One metric at one training step."""

    step: int
    raw_name: str
    """As the trainer spells it."""
    value: float | None
    """``None``: what was logged is no finite number."""
    line: int
    """Line of the file; of a binary log or a list the number of the record."""
    logged_as: str | None = None
    """Where there is no value, what was logged: ``nan``, ``inf``, ``-inf``, ``null``, or a rate cut to ``0.000``."""
    run: str | None = None
    """Run it is of, where one log holds several."""


class MetricFormat(Protocol):
    """A module that reads metrics of a trainer."""

    VARIANTS: dict[str, Variant]

    def recognise(self, probe: Probe) -> str | None:
        """Name of the variant, or ``None``."""

    def read_metrics(self, bundle: Bundle) -> Iterator[Metric | Problem]:
        """Yield what the bundle holds."""


METRIC_LOGS: dict[str, str] = {
    "verl_metrics": "metric logs of verl's file logger",
    "metric_rows": "metrics as rows: JSON lines, JSON lists, Parquet",
    "metric_csv": "metrics as CSV: exports, tables that notebooks print",
    "trainer_state": "`trainer_state.json` of transformers and TRL",
    "tensorboard": "TensorBoard event files",
    "console": "console logs of trainers",
}
"""Files that speak about the training steps of a run; of those that give a metric twice, the first named counts."""


@cache
def metric_format(name: str) -> MetricFormat:
    """The module that reads metric logs of the format ``name``."""
    return cast("MetricFormat", importlib.import_module(f"trajlab.metric_logs.{name}"))
