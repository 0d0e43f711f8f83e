"""Computing measures: a population and the catalogue in, estimates out."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from trajlab.measures.catalogue import MEASURES, Measure
from trajlab.measures.frame import Trajectories, column
from trajlab.stats import Estimate, mean, not_observed, proportion, ratio

FloatArray = npt.NDArray[np.float64]


class Measured(msgspec.Struct, frozen=True):
    """One estimate: of which measure, in which group."""

    name: str
    group: str | None
    """Period or other group; ``None``: the whole population."""
    estimate: Estimate


def estimate(
    frame: pl.DataFrame, measure: Measure, *, include_errors: bool = False, clustered: bool = True
) -> Estimate:
    """One measure over the rows of a frame, clustered by task where attempts share one.

    Args:
        frame: Trajectories with ``cluster`` and ``is_error``.
        measure: What to measure.
        include_errors: Keep the error classes in behaviour rates.
        clustered: ``False``: the naive interval, as if no two trajectories shared a task.
    """
    if measure.behaviour and not include_errors:
        frame = frame.filter(~pl.col("is_error"))
    if frame.is_empty():
        return not_observed()
    clusters = frame["cluster"].to_numpy() if clustered else None
    values = column(frame, measure.value())
    if measure.kind == "share":
        return proportion(values, clusters)
    if measure.kind == "mean":
        return _not_negative(mean(values, clusters), values)
    below = column(frame, measure.over()) if measure.over is not None else np.ones(len(values))
    return _not_negative(ratio(values, below, clusters, bounded=measure.bounded), values)


def _not_negative(estimate: Estimate, values: FloatArray) -> Estimate:
    """What is never negative (counts, tokens) has no interval below zero."""
    if estimate.low is None or estimate.low >= 0 or np.nanmin(values) < 0:
        return estimate
    return msgspec.structs.replace(estimate, low=0.0)


def measure_all(trajectories: Trajectories, measures: Iterable[Measure] = MEASURES) -> list[Measured]:
    """All measures, over the whole population and, where it has several periods, in each of them."""
    frame, errors = trajectories.frame, trajectories.population.include_errors
    parts = [] if len(trajectories.periods) < 2 else frame.partition_by("period", as_dict=True, maintain_order=True)
    measured = []
    for measure in measures:
        measured.append(Measured(measure.name, None, estimate(frame, measure, include_errors=errors)))
        for period in trajectories.periods if parts else ():
            part = parts[(period,)]  # type: ignore[index]
            measured.append(Measured(measure.name, period, estimate(part, measure, include_errors=errors)))
    return measured


def by_column(
    trajectories: Trajectories, name: str, measures: Iterable[Measure], *, clustered: bool = True
) -> list[Measured]:
    """Measures within each value of a column (null left out), for example by outcome."""
    frame, errors = trajectories.frame, trajectories.population.include_errors
    groups = frame.filter(pl.col(name).is_not_null()).partition_by(name, as_dict=True, maintain_order=True)
    ordered = sorted(groups.items(), key=lambda item: str(item[0][0]), reverse=True)
    return [
        Measured(
            measure.name,
            f"{name}={key[0]}".lower(),
            estimate(part, measure, include_errors=errors, clustered=clustered),
        )
        for measure in measures
        for key, part in ordered
    ]
