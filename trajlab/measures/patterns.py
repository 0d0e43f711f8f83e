"""Action patterns over a corpus: n-grams, transitions between kinds, the mix along a trajectory, distinct patterns."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from trajlab.behavior.patterns import LETTERS
from trajlab.measures.frame import Trajectories
from trajlab.stats import Estimate, not_observed, proportion

LONGEST_GRAM = 4
DECILES = 10


class Distinct(msgspec.Struct, frozen=True):
    """How many different patterns there are."""

    of: str
    distinct: int
    trajectories: int


class Patterns(msgspec.Struct):
    """What the patterns of a population say.

    ``grams``: gram, n, count, trajectories (that hold it), by count within each n.
    ``transitions``: from, n (times it is followed by a call), and a column for each kind: shares that sum to 1.
    ``by_decile``: decile (1 to 10 of the trajectory's calls), n (calls), a column for each kind: shares that sum to 1.
    ``by_call``: the same by number of the call, with the trajectories that have so many calls.
    """

    trajectories: int
    """Trajectories with calls."""
    without: int
    """Trajectories without any call."""
    grams: pl.DataFrame
    transitions: pl.DataFrame
    by_decile: pl.DataFrame
    by_call: pl.DataFrame
    distinct: list[Distinct]


def with_pattern(trajectories: Trajectories) -> pl.DataFrame:
    """Return the trajectories that have a pattern; the error classes are left out unless asked for."""
    frame = trajectories.frame
    if not trajectories.population.include_errors:
        frame = frame.filter(~pl.col("is_error"))
    return frame.filter(pl.col("pattern").is_not_null())


def patterns(trajectories: Trajectories, *, first_calls: int = 20) -> Patterns | None:
    """Return what the patterns say; ``None`` where no trajectory has a call.

    Args:
        trajectories: The population.
        first_calls: Rows of ``by_call``.
    """
    frame = with_pattern(trajectories)
    if frame.is_empty():
        return None
    errors = 0 if trajectories.population.include_errors else int(trajectories.frame["is_error"].sum())
    letters = _letters(frame)
    return Patterns(
        trajectories=frame.height,
        without=trajectories.frame.height - errors - frame.height,
        grams=n_grams(letters),
        transitions=transition_matrix(letters),
        by_decile=action_mix(letters.with_columns(decile=pl.col("place") * DECILES // pl.col("calls") + 1), "decile"),
        by_call=action_mix(
            letters.filter(pl.col("place") < first_calls).with_columns(call=pl.col("place") + 1), "call"
        ),
        distinct=_distinct(frame),
    )


def _letters(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per call: trajectory (a number), letter, place from 0, calls of the trajectory."""
    rows = frame.select("pattern").with_row_index("trajectory").filter(pl.col("pattern").str.len_chars() > 0)
    return (
        rows.select(
            "trajectory",
            pl.col("pattern").str.split("").alias("letter"),
            pl.col("pattern").str.len_chars().cast(pl.Int64).alias("calls"),
            pl.int_ranges(0, pl.col("pattern").str.len_chars()).alias("place"),
        )
        .explode("letter", "place")
        .select("trajectory", "letter", "place", "calls")
    )


def n_grams(letters: pl.DataFrame, longest: int = LONGEST_GRAM) -> pl.DataFrame:
    """Return counts of runs of 1 to ``longest`` letters: gram, n, count, trajectories that hold it."""
    parts = []
    for n in range(1, longest + 1):
        pieces = [pl.col("letter").shift(-k).over("trajectory") for k in range(n)]
        grams = letters.select("trajectory", gram=pl.concat_str(pieces)).filter(pl.col("gram").is_not_null())
        counted = grams.group_by("gram").agg(
            pl.lit(n, pl.Int64).alias("n"),
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("trajectory").n_unique().cast(pl.Int64).alias("trajectories"),
        )
        parts.append(counted.sort("count", "gram", descending=[True, False]))
    return pl.concat(parts)


def gram_share(frame: pl.DataFrame, gram: str) -> Estimate:
    """Return the share of trajectories whose pattern holds a gram."""
    holds = frame["pattern"].str.contains(gram, literal=True).cast(pl.Float64).to_numpy()
    return proportion(holds, frame["cluster"].to_numpy())


def transition_matrix(letters: pl.DataFrame) -> pl.DataFrame:
    """Return what follows each kind: from, n, and a column per kind; each row's shares sum to 1."""
    following = letters.select(
        pl.col("letter").alias("from"), pl.col("letter").shift(-1).over("trajectory").alias("to")
    ).filter(pl.col("to").is_not_null())
    return _shares(following, "from", "to")


def action_mix(letters: pl.DataFrame, by: str) -> pl.DataFrame:
    """Return the kinds of call by a column: that column, n, and a column per kind; each row's shares sum to 1."""
    return _shares(letters, by, "letter").sort(by)


def _shares(frame: pl.DataFrame, row: str, column: str) -> pl.DataFrame:
    counts = frame.group_by(row, column).len().with_columns(pl.col("len").cast(pl.Int64))
    totals = counts.group_by(row).agg(pl.col("len").sum().alias("n"))
    there = set(frame[column].to_list())
    wide = counts.pivot(column, index=row, values="len").join(totals, on=row)
    kinds = [letter for letter in LETTERS if letter in there]
    shared = wide.select(row, "n", *[(pl.col(k).fill_null(0) / pl.col("n")).alias(k) for k in kinds])
    return shared.sort("n", row, descending=[True, False])


def _distinct(frame: pl.DataFrame) -> list[Distinct]:
    rows = [Distinct("all trajectories with calls", frame["pattern"].n_unique(), frame.height)]
    judged = frame.filter(pl.col("correct").is_not_null())
    for value, name in ((True, "correct"), (False, "not correct")):
        part = judged.filter(pl.col("correct") == value)
        if not judged.is_empty():
            rows.append(Distinct(name, part["pattern"].n_unique(), part.height))
    return rows


def share_correct(frame: pl.DataFrame) -> Estimate:
    """Return the share of correct trajectories of a frame, with what has no verdict as missing."""
    if frame.is_empty():
        return not_observed()
    correct = frame["correct"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return proportion(np.asarray(correct), frame["cluster"].to_numpy())
