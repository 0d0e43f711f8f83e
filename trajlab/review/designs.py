"""Sampling designs: which N trajectories people read, and how likely each was to be among them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl
import xxhash

from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError
from trajlab.measures.frame import Population, Trajectories, select
from trajlab.review.manifest import SCHEMA, Item, Sample, Stratum, with_id
from trajlab.review.strata import divide
from trajlab.stats.surveys import allocate

ALLOCATIONS = ("proportional", "equal", "neyman")
GUARANTEED = 2
"""Draws that every stratum has in any case: fewer tell nothing of how its members differ."""
WORKLIST = ("hacking_candidate", "false_negative")
"""Quadrants of reward by outcome that a person reads first."""


class Design(msgspec.Struct, frozen=True):
    """How to draw.

    Raises:
        UsageError: A choice that does not exist, or two that exclude each other.
    """

    n: int
    by: tuple[str, ...] = ()
    """What divides the frame into strata; none: simple random sampling."""
    allocation: str = "proportional"
    """``proportional`` to the strata's sizes, ``equal``, or ``neyman``: to size × spread of ``spread``."""
    spread: str | None = None
    """Column whose standard deviation Neyman's allocation goes by."""
    at_least: int = GUARANTEED
    first: tuple[str, ...] = ()
    """Strata taken whole, as far as n goes, and read first; the others share what is left."""
    pairs: str | None = None
    """Column with two values, such as ``correct``: tasks with attempts of both are drawn, and one attempt of each."""

    def __post_init__(self) -> None:
        if self.n < 1:
            raise UsageError("n", f"{self.n}", "at least 1")
        if self.allocation not in ALLOCATIONS:
            raise UsageError("allocation", f"{self.allocation!r}", "one of " + ", ".join(ALLOCATIONS))
        if (self.allocation == "neyman") != (self.spread is not None):
            raise UsageError("allocation", "one of neyman and spread without the other", "both, or neither")
        if self.pairs is not None and (self.by or self.first):
            raise UsageError("pairs", "pairs within strata", "pairs alone", "Leave by and first out")
        if self.first and not self.by:
            raise UsageError("first", "strata to read first, but no strata", "by", "Name what divides the frame")


def sample(
    corpus: Corpus,
    n: int,
    by: str | Sequence[str] = (),
    *,
    seed: int = 0,
    allocation: str = "proportional",
    spread: str | None = None,
    at_least: int = GUARANTEED,
    first: str | Sequence[str] = (),
    pairs: str | None = None,
    population: Population | None = None,
) -> Sample:
    """Draw trajectories to read.

    Args:
        corpus: Where they come from; those superseded or found twice are left out.
        n: How many.
        by: What divides them into strata: ``quadrant``, ``reward_outcome``, ``cluster``, ``hit``, ``alarm``,
            ``rule:ID``, ``period``, or any column with few values, such as ``correct`` or ``termination``;
            none: at random.
        seed: Decides the draw; the same call gives the same sample.
        allocation: ``proportional``, ``equal``, or ``neyman`` with ``spread``.
        spread: Column whose standard deviation within strata Neyman's allocation goes by.
        at_least: Draws that every stratum has in any case, so that rare cells are not missed.
        first: Strata taken whole, as far as n goes, and read first.
        pairs: Column with two values: n // 2 pairs of attempts at one task, one of each value.
        population: Which trajectories, and their periods and thresholds; default: all.

    Raises:
        UsageError: Nothing to draw from, or a design that does not fit.
    """
    names, early = ((by,) if isinstance(by, str) else tuple(by)), ((first,) if isinstance(first, str) else tuple(first))
    design = Design(n, names, allocation, spread, at_least, early, pairs)
    whole = population or Population()
    trajectories = select(corpus, whole)
    if trajectories.frame.is_empty():
        raise UsageError("sample", "no trajectory to draw from", "a corpus with trajectories")
    if pairs:
        strata, items, frame = _pairs(trajectories, design, seed)
    else:
        divided = _with_strata(corpus, trajectories, design, seed)
        frame = divided.height
        strata, items = draw(divided, design, seed)
    return with_id(
        Sample(
            schema=SCHEMA,
            id="",
            design=_in_words(design),
            by=list(names),
            allocation="pairs" if pairs else "first" if early else allocation,
            seed=seed,
            frame=frame,
            population=_set_apart(whole),
            corpus=corpus.manifest.assembled_from,
            strata=strata,
            items=items,
        )
    )


def draw(frame: pl.DataFrame, design: Design, seed: int) -> tuple[list[Stratum], list[Item]]:
    """Draw from a divided frame.

    Args:
        frame: ``trajectory_id``, ``run``, ``task_id``, ``stratum`` and the column of ``design.spread``, sorted by id.
        design: How to draw; pairs are drawn otherwise.
        seed: Decides the draw.

    Returns:
        The strata, those to read first before the others, and the items in reading order.
    """
    names = _ordered(frame["stratum"].unique().sort().to_list(), design.first)
    sizes = [int((frame["stratum"] == name).sum()) for name in names]
    counts = _allocation(frame, names, sizes, design)
    early: list[Item] = []
    late: list[Item] = []
    for name, size, count in zip(names, sizes, counts, strict=True):
        members = frame.filter(pl.col("stratum") == name)
        # Each stratum has a stream of its own: another one more or less does not change who is drawn here.
        rng = np.random.default_rng([seed, xxhash.xxh3_64_intdigest(name.encode())])
        chosen = members[rng.choice(size, count, replace=False)]
        target = early if _is_first(name, design.first) else late
        target += [_item(row, count / size) for row in chosen.iter_rows(named=True)]
    order = np.random.default_rng([seed, len(late)]).permutation(len(late))
    strata = [Stratum(name, size, int(count)) for name, size, count in zip(names, sizes, counts, strict=True)]
    return strata, early + [late[place] for place in order]


def _with_strata(corpus: Corpus, trajectories: Trajectories, design: Design, seed: int) -> pl.DataFrame:
    strata = divide(corpus, trajectories, design.by, seed=seed)
    columns = list(dict.fromkeys(["trajectory_id", "run", "task_id", *([design.spread] if design.spread else [])]))
    missing = [name for name in columns if name not in trajectories.frame.columns]
    if missing:
        raise UsageError("spread", f"no column {missing[0]!r}", "a column of the trajectories with numbers")
    return trajectories.frame.select(columns).join(strata, on="trajectory_id").sort("trajectory_id")


def _ordered(names: list[str], first: tuple[str, ...]) -> list[str]:
    """The strata to read first in the order asked for, then the others by name."""
    early = [name for wanted in first for name in names if _is_first(name, (wanted,))]
    unknown = [wanted for wanted in first if not any(_is_first(name, (wanted,)) for name in names)]
    if unknown and not early:
        raise UsageError("first", f"no stratum {unknown[0]!r}", "one of " + ", ".join(names))
    return early + [name for name in names if name not in early]


def _is_first(name: str, first: tuple[str, ...]) -> bool:
    """A stratum is called by its whole name or by the value of one of its parts."""
    values = {part.partition(": ")[2] for part in name.split(" · ")}
    return any(wanted == name or wanted in values for wanted in first)


def _allocation(frame: pl.DataFrame, names: list[str], sizes: list[int], design: Design) -> list[int]:
    n = min(design.n, frame.height)
    counts = [0] * len(names)
    early = [place for place, name in enumerate(names) if _is_first(name, design.first)]
    for place in early:
        counts[place] = min(sizes[place], n - sum(counts))
    late = [place for place in range(len(names)) if place not in early]
    left = n - sum(counts)
    if not late or not left:
        return counts
    members = [sizes[place] for place in late]
    weights = _weights(frame, [names[place] for place in late], members, design)
    # Where certain strata took most of n, the others share the rest without a guarantee that cannot be kept.
    guaranteed = design.at_least if not early else min(design.at_least, left // len(late))
    for place, count in zip(late, allocate(left, weights, members, [guaranteed] * len(late)), strict=True):
        counts[place] = int(count)
    return counts


def _weights(frame: pl.DataFrame, names: list[str], sizes: list[int], design: Design) -> list[float]:
    if design.allocation == "equal":
        return [1.0] * len(names)
    if design.spread is None:
        return [float(size) for size in sizes]
    try:
        spread = frame.group_by("stratum").agg(pl.col(design.spread).cast(pl.Float64).std().alias("sd"))
    except pl.exceptions.PolarsError as error:
        raise UsageError("spread", f"{design.spread!r} holds no numbers", "a column with numbers") from error
    known = dict(spread.iter_rows())
    return [size * (known.get(name) or 0.0) for name, size in zip(names, sizes, strict=True)]


def _pairs(trajectories: Trajectories, design: Design, seed: int) -> tuple[list[Stratum], list[Item], int]:
    value = design.pairs or ""
    if value not in trajectories.frame.columns:
        raise UsageError("pairs", f"no column {value!r}", "a column of the trajectories with two values")
    known = trajectories.frame.filter(pl.col(value).is_not_null() & pl.col("task_id").is_not_null())
    kinds = known[value].unique().sort().to_list()
    if len(kinds) != 2:
        raise UsageError("pairs", f"{value} has {len(kinds)} values", "two", "Such as --pairs correct")
    both = known.filter(pl.col(value).n_unique().over("run", "task_id") == 2).sort("trajectory_id")
    tasks = both.select("run", "task_id").unique().sort("run", "task_id")
    if tasks.is_empty():
        found = f"no task has attempts of both {value} values"
        raise UsageError("pairs", found, "several attempts at a task", "Draw by strata instead")
    rng = np.random.default_rng([seed, 2])
    count = min(max(design.n // 2, 1), tasks.height)
    items: list[Item] = []
    for number, task in enumerate(tasks[rng.choice(tasks.height, count, replace=False)].iter_rows(named=True)):
        own = both.filter((pl.col("run") == task["run"]) & (pl.col("task_id") == task["task_id"]))
        for kind in kinds:
            attempts = own.filter(pl.col(value) == kind).with_columns(stratum=pl.lit(f"{value}: {kind}"))
            row = attempts.row(int(rng.integers(attempts.height)), named=True)
            items.append(_item(row, count / tasks.height / attempts.height, number))
    strata = [
        Stratum(f"{value}: {kind}", int((both[value] == kind).sum()), len(items) // 2) for kind in kinds
    ]  # fmt: skip
    return strata, items, both.height


def _item(row: dict[str, object], probability: float, pair: int | None = None) -> Item:
    named = {name: row[name] for name in ("trajectory_id", "run", "task_id", "stratum")}
    return msgspec.convert({**named, "probability": probability, "pair": pair}, Item)


def _in_words(design: Design) -> str:
    if design.pairs:
        return f"pairs of attempts at one task that differ in {design.pairs}, tasks drawn at random"
    if not design.by:
        return "simple random"
    shared = {"neyman": f"Neyman by {design.spread}"}.get(design.allocation, design.allocation)
    words = f"stratified by {', '.join(design.by)}, {shared}, at least {design.at_least} of each"
    return words + (f"; first {', '.join(design.first)}" if design.first else "")


def _set_apart(population: Population) -> dict[str, object]:
    """Parameters that are not at their default."""
    plain = {name: getattr(population, name) for name in population.__struct_fields__}
    defaults = Population()
    found: dict[str, object] = msgspec.to_builtins(
        {name: value for name, value in plain.items() if value != getattr(defaults, name)}
    )
    return found
