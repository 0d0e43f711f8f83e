"""Validation scores of runs at a training step that both have logged: their difference in standard errors."""

from __future__ import annotations

import msgspec
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.stats import Estimate, difference_standard_error, sample_size

START = "val."
"""What the common names of validation scores begin with."""
_Z = 1.959964
"""Half-width of a 95 % interval in standard errors."""


class Validation(msgspec.Struct):
    """Validation scores of one run."""

    scores: dict[str, dict[int, float]]
    """By common name and training step."""
    tasks: dict[int, int]
    """Validation trajectories in the logs, by training step."""


class ValidationDifference(msgspec.Struct, frozen=True):
    """One validation score in two runs, at the last step that both have."""

    name: str
    step: int
    before: str
    after: str
    first: float
    second: float
    n: tuple[int, int] | None
    """Validation trajectories behind each score; ``None``: not observed and not given."""
    change: Estimate
    """After less before; without n there is no interval."""
    sigma: float | None
    """The difference in its standard errors; ``None`` without n, or for scores that are no shares."""
    needed: int | None
    """Trajectories an arm to see a difference of this size with 80 % power."""


def validation(corpus: Corpus, run: str, frame: pl.DataFrame) -> Validation:
    """Validation scores of a run, as its metric log states them.

    Args:
        corpus: Where the metrics are.
        run: The run.
        frame: Its trajectories.
    """
    rows = corpus.metrics.filter(
        (pl.col("run") == run)
        & pl.col("name").str.starts_with(START)
        & pl.col("counts")
        & pl.col("value").is_not_null()
    )
    scores: dict[str, dict[int, float]] = {}
    for name, step, value in rows.sort("source", "line").select("name", "step", "value").collect().iter_rows():
        scores.setdefault(name, {})[step] = value
    held_out = frame.filter((pl.col("split") == "validation") & pl.col("train_step").is_not_null())
    counts = held_out.group_by("train_step").len()
    return Validation(scores, dict(counts.iter_rows()))


def validation_differences(
    before: tuple[str, Validation], after: tuple[str, Validation], n: int | None = None
) -> list[ValidationDifference]:
    """Every score that both runs have, at the last step they share.

    Args:
        before: Name and scores of the run that is subtracted.
        after: Name and scores of the run it is subtracted from.
        n: Validation trajectories an arm, where the logs do not hold them.
    """
    found = []
    for name in sorted(before[1].scores.keys() & after[1].scores.keys()):
        one, other = before[1].scores[name], after[1].scores[name]
        shared = one.keys() & other.keys()
        if shared:
            step = max(shared)
            found.append(_difference(name, step, before, after, (one[step], other[step]), n))
    return found


def _difference(
    name: str,
    step: int,
    before: tuple[str, Validation],
    after: tuple[str, Validation],
    values: tuple[float, float],
    given: int | None,
) -> ValidationDifference:
    counts = [item.tasks.get(step, given) for _, item in (before, after)]
    n = (counts[0], counts[1]) if counts[0] is not None and counts[1] is not None else None
    shares = all(0 <= value <= 1 for value in values)
    value = values[1] - values[0]
    sigma = None
    change = Estimate(value, None, None, None, None, "no interval: n is not observed")
    if n is not None and shares:
        error = difference_standard_error(values[1], values[0], n[1], n[0])
        reach = _Z * error
        sigma = abs(value) / error if error > 0 else None
        method = "normal, two independent arms"
        change = Estimate(value, value - reach, value + reach, None, float(sum(n)), method)
    needed = sample_size(values[1], values[0]) if shares else None
    return ValidationDifference(name, step, before[0], after[0], values[0], values[1], n, change, sigma, needed)
