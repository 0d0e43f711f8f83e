"""The quadrants of DEFINITIONS: answer by tool, correct by tool used, reward by outcome; with their identities."""

from __future__ import annotations

import msgspec
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.measures.frame import Trajectories, column
from trajlab.stats import Estimate, difference, proportion

ANSWER_AND_TOOL = ("answer_and_tool", "only_answer", "only_tool", "neither")
REWARD_AND_OUTCOME = ("aligned", "hacking_candidate", "false_negative", "ordinary_failure")

# Names under which reward functions log the two components; the caller may name others.
_ANSWER_NAMES = (
    "answer_reward",
    "answer",
    "accuracy_reward",
    "accuracy",
    "correctness_reward",
    "correctness",
    "answer_score",
)
_TOOL_NAMES = ("tool_reward", "tool_use_reward", "tool_score", "tool", "tool_use")


class Quadrants(msgspec.Struct):
    """One two-by-two table."""

    name: str
    title: str
    cells: dict[str, Estimate]
    """Share of the trajectories in which both sides are observed, by cell."""
    n: int
    missing: int
    """Trajectories in which a side is not observed."""
    identities: list[tuple[str, float, float]]
    """What must be equal: description, left side, right side (counts)."""
    extra: dict[str, Estimate]
    note: str = ""


def _table(
    name: str, title: str, frame: pl.DataFrame, first: pl.Expr, second: pl.Expr, cells: tuple[str, ...]
) -> Quadrants | None:
    """Cells in the order (yes, yes), (yes, no), (no, yes), (no, no)."""
    sides = frame.select(a=first, b=second, cluster=pl.col("cluster"))
    known = sides.filter(pl.col("a").is_not_null() & pl.col("b").is_not_null())
    if known.is_empty():
        return None
    clusters = known["cluster"].to_numpy()
    wanted = [(True, True), (True, False), (False, True), (False, False)]
    shares = {
        cell: proportion(column(known, (pl.col("a") == a) & (pl.col("b") == b)), clusters)
        for cell, (a, b) in zip(cells, wanted, strict=True)
    }
    counts = {cell: share.numerator or 0.0 for cell, share in shares.items()}
    identities = [
        ("the four cells sum to the observed trajectories", sum(counts.values()), float(known.height)),
        (f"{cells[0]} + {cells[1]} = first side", counts[cells[0]] + counts[cells[1]], float(known["a"].sum())),
        (f"{cells[0]} + {cells[2]} = second side", counts[cells[0]] + counts[cells[2]], float(known["b"].sum())),
    ]
    return Quadrants(name, title, shares, known.height, sides.height - known.height, identities, {})


def correct_by_tool(trajectories: Trajectories) -> Quadrants | None:
    """Correct by tool used; ``None`` where a side is never observed."""
    frame = trajectories.frame
    sides = verdict_sides(trajectories)
    table = _table("correct_tool", sides.title, frame, sides.first, sides.second, ANSWER_AND_TOOL)
    if table is None:
        return None
    known = frame.filter(pl.col("correct").is_not_null() & pl.col("tool_used").is_not_null())
    with_tool, without = known.filter("tool_used"), known.filter(~pl.col("tool_used"))
    if not with_tool.is_empty() and not without.is_empty():
        table.extra["P(correct | tool) − P(correct | no tool)"] = difference(
            column(with_tool, pl.col("correct")),
            column(without, pl.col("correct")),
            with_tool["cluster"].to_numpy(),
            without["cluster"].to_numpy(),
            shared_clusters=True,
        )
    if not with_tool.is_empty():
        table.extra["only_tool / tool used"] = proportion(
            column(with_tool, ~pl.col("correct")), with_tool["cluster"].to_numpy()
        )
    return table


def reward_components(corpus: Corpus, trajectories: Trajectories) -> tuple[str | None, str | None]:
    """Names of the answer and tool components of the reward: as given, else by the usual names."""
    ids = trajectories.frame.select("trajectory_id").lazy()
    names = corpus.rewards.join(ids, on="trajectory_id", how="semi").select(pl.col("name").unique()).collect()
    known = set(names["name"].to_list())
    population = trajectories.population
    answer = population.answer_component or next((n for n in _ANSWER_NAMES if n in known), None)
    tool = population.tool_component or next((n for n in _TOOL_NAMES if n in known), None)
    return (answer if answer in known else None), (tool if tool in known else None)


class Sides(msgspec.Struct):
    """Trajectories with the two sides of a table as expressions over them."""

    title: str
    frame: pl.DataFrame
    first: pl.Expr
    second: pl.Expr


def component_sides(corpus: Corpus, trajectories: Trajectories) -> Sides | None:
    """Answer component above zero, tool component above zero; ``None`` where the log has no such components."""
    answer, tool = reward_components(corpus, trajectories)
    if answer is None or tool is None:
        return None
    value = pl.col("value")
    parts = (
        corpus.rewards.filter(pl.col("name").is_in([answer, tool]))
        .group_by("trajectory_id")
        .agg(
            value.filter(pl.col("name") == answer).sum().alias("answer"),
            value.filter(pl.col("name") == tool).sum().alias("tool"),
            (pl.col("name") == answer).any().alias("has_answer"),
            (pl.col("name") == tool).any().alias("has_tool"),
        )
        .collect()
    )
    frame = trajectories.frame.join(parts, on="trajectory_id", how="left", maintain_order="left")
    first = pl.when("has_answer").then(pl.col("answer") > 0)
    second = pl.when("has_tool").then(pl.col("tool") > 0)
    return Sides(f"{answer} > 0 × {tool} > 0", frame, first, second)


def verdict_sides(trajectories: Trajectories) -> Sides:
    """Correct, and tool used."""
    return Sides("correct × tool used", trajectories.frame, pl.col("correct"), pl.col("tool_used"))


def answer_by_tool_reward(corpus: Corpus, trajectories: Trajectories) -> Quadrants | None:
    """Answer component above zero by tool component above zero; ``None`` where the log has no such components."""
    sides = component_sides(corpus, trajectories)
    if sides is None:
        return None
    frame, first, second = sides.frame, sides.first, sides.second
    table = _table("answer_tool", sides.title, frame, first, second, ANSWER_AND_TOOL)
    if table is not None:
        both = frame.filter(pl.col("correct").is_not_null() & pl.col("tool_used").is_not_null() & first.is_not_null())
        answers = int(both.select((first != pl.col("correct")).sum()).item())
        tools = int(both.select((second != pl.col("tool_used")).sum()).item())
        table.note = (
            f"against correct × tool used, over {both.height} trajectories that have both: "
            f"{answers} disagree on the answer, {tools} on the tool"
        )
    return table


def reward_by_outcome(trajectories: Trajectories) -> Quadrants | None:
    """Training reward above the stated threshold by independent outcome; ``None`` without threshold or outcome."""
    threshold = trajectories.population.reward_threshold
    if threshold is None:
        return None
    return _table(
        "reward_outcome",
        f"reward > {threshold:g} × outcome",
        trajectories.frame,
        pl.col("reward") > threshold,
        pl.col("outcome"),
        REWARD_AND_OUTCOME,
    )
