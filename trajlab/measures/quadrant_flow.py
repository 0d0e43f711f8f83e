"""Flow between the answer x tool quadrants from period to period: by task where tasks repeat, else as shares only."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.measures.compute import FloatArray
from trajlab.measures.contrast import SHARED_TASKS
from trajlab.measures.frame import Trajectories
from trajlab.measures.quadrants import ANSWER_AND_TOOL, Sides, component_sides, verdict_sides
from trajlab.stats import Estimate, difference, not_observed, paired_difference, proportion
from trajlab.stats.intervals import clustered_score_interval

MOST_FLOWS = 9
"""Beyond so many changes of period only the flow from the first to the last is worked out."""

CONFIDENCE = 0.95
Cells = npt.NDArray[np.int64]


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """Where the attempts at a task went from one period to another, over the tasks in both, each task alike.

    A task's flow is what two attempts drawn at random show, one from each period: attempts at a task differ among
    themselves, so some flow is there without any change. `alike` says how much.
    """

    before: str
    after: str
    tasks: int
    moves: dict[str, dict[str, Estimate]]
    """Share of the flow by quadrant before and quadrant after; the sixteen sum to 1."""
    stay: Estimate
    """Share that stays in its quadrant."""
    alike: Estimate
    """Share of two attempts at a task in one and the same period that stand in the same quadrant."""
    net: dict[str, dict[str, Estimate]]
    """Flow from one quadrant to another less the flow back, for each pair of quadrants once."""


class ShareChange(msgspec.Struct, frozen=True, kw_only=True):
    """Change of a quadrant's share between two periods, over all trajectories."""

    before: str
    after: str
    cell: str
    change: Estimate


class QuadrantFlow(msgspec.Struct):
    """One table of quadrants over the periods of a run."""

    name: str
    title: str
    periods: list[str]
    shares: dict[str, dict[str, Estimate]]
    """By quadrant and period."""
    flows: list[Flow]
    """From each period to the next, and from the first to the last, where enough tasks are in both."""
    changes: list[ShareChange]
    """From each period to the next, where too few tasks are in both for a flow."""
    same_as: str = ""
    """Title of another table that puts every trajectory into the same quadrant, and so is not shown."""


def quadrant_flows(corpus: Corpus, trajectories: Trajectories) -> list[QuadrantFlow]:
    """Flows of the reward components' quadrants and of correct by tool used, of two that agree only the first.

    Empty where there is one period or no table is observed.
    """
    if len(trajectories.periods) < 2:
        return []
    components, verdict = component_sides(corpus, trajectories), verdict_sides(trajectories)
    tables = [("answer_tool", components), ("correct_tool", verdict)]
    placed = {
        name: (sides.title, cells)
        for name, sides in tables
        if sides is not None and not (cells := _cells(sides)).is_empty()
    }
    if len(placed) == 2 and placed["answer_tool"][1].equals(placed["correct_tool"][1]):
        title, cells = placed["answer_tool"]
        return [_flow("answer_tool", title, cells, trajectories.periods, same_as=placed["correct_tool"][0])]
    return [_flow(name, title, cells, trajectories.periods) for name, (title, cells) in placed.items()]


def _cells(sides: Sides) -> pl.DataFrame:
    """Quadrant of every trajectory whose two sides are observed: period, task as a number, cell as a number."""
    cell = (
        pl.when(sides.first)
        .then(pl.when(sides.second).then(0).otherwise(1))
        .otherwise(pl.when(sides.second).then(2).otherwise(3))
        .cast(pl.Int64)
    )
    known = sides.first.is_not_null() & sides.second.is_not_null()
    return sides.frame.filter(known & pl.col("period").is_not_null()).select("period", "cluster", cell=cell)


def _flow(name: str, title: str, cells: pl.DataFrame, periods: list[str], same_as: str = "") -> QuadrantFlow:
    parts = {period: cells.filter(pl.col("period") == period) for period in periods}
    shares = {
        cell: {period: _share(part, place) for period, part in parts.items()}
        for place, cell in enumerate(ANSWER_AND_TOOL)
    }
    found = QuadrantFlow(name, title, periods, shares, [], [], same_as)
    tasks = int(cells["cluster"].max()) + 1  # type: ignore[arg-type]
    counts = {period: _counts(part, tasks) for period, part in parts.items()}
    for before, after in _pairs(periods):
        flow = _between(before, after, counts[before], counts[after])
        if flow is not None:
            found.flows.append(flow)
        elif (before, after) in set(itertools.pairwise(periods)):
            found.changes += _share_changes(before, after, parts[before], parts[after])
    return found


def _pairs(periods: Sequence[str]) -> Iterator[tuple[str, str]]:
    if len(periods) - 1 <= MOST_FLOWS:
        yield from itertools.pairwise(periods)
    if len(periods) > 2:
        yield periods[0], periods[-1]


def _share(part: pl.DataFrame, place: int) -> Estimate:
    if part.is_empty():
        return not_observed()
    return proportion((part["cell"] == place).to_numpy(), part["cluster"].to_numpy())


def _share_changes(before: str, after: str, first: pl.DataFrame, second: pl.DataFrame) -> list[ShareChange]:
    if first.is_empty() or second.is_empty():
        return []
    tasks = second["cluster"].to_numpy(), first["cluster"].to_numpy()
    found = []
    for place, cell in enumerate(ANSWER_AND_TOOL):
        late, early = ((part["cell"] == place).to_numpy() for part in (second, first))
        change = difference(late, early, tasks[0], tasks[1], shared_clusters=True)
        found.append(ShareChange(before=before, after=after, cell=cell, change=change))
    return found


def _counts(part: pl.DataFrame, tasks: int) -> Cells:
    """Attempts by task and quadrant."""
    places = part["cluster"].to_numpy() * len(ANSWER_AND_TOOL) + part["cell"].to_numpy()
    return np.bincount(places, minlength=tasks * len(ANSWER_AND_TOOL)).reshape(tasks, len(ANSWER_AND_TOOL))


def _between(before: str, after: str, first: Cells, second: Cells) -> Flow | None:
    there = first.sum(axis=1) > 0, second.sum(axis=1) > 0
    both = there[0] & there[1]
    tasks = int(both.sum())
    if tasks < max(2.0, SHARED_TASKS * min(int(there[0].sum()), int(there[1].sum()))):
        return None
    early, late = first[both], second[both]
    parts = [counts / counts.sum(axis=1, keepdims=True) for counts in (early, late)]
    joint = parts[0][:, :, None] * parts[1][:, None, :]
    cells = list(enumerate(ANSWER_AND_TOOL))
    pairs = float(np.median(np.minimum(early.sum(axis=1), late.sum(axis=1))))
    return Flow(
        before=before,
        after=after,
        tasks=tasks,
        moves={one: {other: _over_tasks(joint[:, i, j], pairs) for j, other in cells} for i, one in cells},
        stay=_over_tasks(joint.trace(axis1=1, axis2=2), pairs),
        alike=_alike(early, late),
        net=_net(joint),
    )


def _over_tasks(values: FloatArray, pairs: float) -> Estimate:
    """Mean over tasks of a share of each, with Wilson's interval clustered by task.

    A task counts as ``pairs`` independent pairs of attempts, of which its share are a success.
    """
    rows = np.clip(values, 0.0, 1.0)  # a sum of products may pass 1 by a rounding
    share, tasks = float(rows.mean()), len(rows)
    if pairs <= 1:
        return msgspec.structs.replace(proportion(rows), numerator=None, method="Wilson over tasks")
    low, high, size = clustered_score_interval(share, rows * pairs, np.full(tasks, pairs), CONFIDENCE)
    method = f"Wilson over tasks, clustered (n eff {size:.1f})"
    return Estimate(share, low, high, None, float(tasks), method, tasks)


def _alike(early: Cells, late: Cells) -> Estimate:
    several = (early.sum(axis=1) > 1) & (late.sum(axis=1) > 1)
    if not several.any():
        return not_observed(len(several))
    same = [
        (counts * (counts - 1)).sum(axis=1) / (counts.sum(axis=1) * (counts.sum(axis=1) - 1))
        for counts in (early[several], late[several])
    ]
    several_attempts = np.minimum(early.sum(axis=1), late.sum(axis=1))[several]
    return _over_tasks((same[0] + same[1]) / 2, float(np.median(several_attempts)))


def _net(joint: npt.NDArray[np.float64]) -> dict[str, dict[str, Estimate]]:
    tasks = np.arange(len(joint))
    found: dict[str, dict[str, Estimate]] = {}
    for (i, one), (j, other) in itertools.combinations(enumerate(ANSWER_AND_TOOL), 2):
        found.setdefault(one, {})[other] = paired_difference(joint[:, i, j], joint[:, j, i], tasks, tasks)
    return found
