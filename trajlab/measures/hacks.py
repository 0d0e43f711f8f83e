"""Candidates of the hack screen over a population, by tier and by rule, with excerpts."""

from __future__ import annotations

import msgspec
import polars as pl

from trajlab.behavior.hack_rules import RULES, TIERS, Rule
from trajlab.corpus.corpus import Corpus
from trajlab.measures.frame import Trajectories, column
from trajlab.stats import Estimate, proportion

EXCERPT = 400
"""Characters shown around a hit."""


class RuleHits(msgspec.Struct):
    """One rule and how often it is met."""

    rule: Rule
    hits: int
    """Calls that meet it."""
    trajectories: Estimate
    """Share of the trajectories in which any call meets it."""


class HackCandidates(msgspec.Struct):
    """What the screen found."""

    tiers: dict[int, Estimate]
    """Share of trajectories with any candidate of the tier."""
    rules: list[RuleHits]
    """All rules, also those never met, by tier."""
    hits: pl.DataFrame
    """The hits, strongest first, with task_id and correct."""
    timed_out: int
    """Searches that ran out of time: whether they would have found something is not known."""


class Excerpt(msgspec.Struct):
    """A hit in its text."""

    trajectory_id: str
    task_id: str | None
    step: int
    call: int
    rule: str
    tier: int
    before: str
    shown: str
    """Empty where the text was not kept."""
    after: str
    left_out: int
    """Characters of the hit that are not shown."""


def hack_candidates(corpus: Corpus, trajectories: Trajectories) -> HackCandidates | None:
    """Return the candidates of a population; ``None`` where no call's labels could be known.

    Trajectories of the three error classes are left out unless asked for; those whose calls could not be labelled count
    as missing.
    """
    frame = trajectories.frame
    if not trajectories.population.include_errors:
        frame = frame.filter(~pl.col("is_error"))
    if frame.is_empty() or frame["n_hack_1"].is_null().all():
        return None
    about = frame.lazy().select("trajectory_id", "task_id", "correct")
    hits = (
        corpus.hits.join(about, on="trajectory_id", how="inner", maintain_order="left")
        .sort("tier", "rule", "task_id", "trajectory_id", "call", nulls_last=True)
        .collect()
    )
    found = hits.filter(~pl.col("timed_out"))
    clusters = frame["cluster"].to_numpy()
    tiers = {tier: proportion(column(frame, pl.col(f"n_hack_{tier}") > 0), clusters) for tier in TIERS}
    return HackCandidates(tiers, [_of_rule(rule, found, frame) for rule in RULES], hits, hits.height - found.height)


def _of_rule(rule: Rule, found: pl.DataFrame, frame: pl.DataFrame) -> RuleHits:
    own = found.filter(pl.col("rule") == rule.id)
    met = pl.col("trajectory_id").is_in(own["trajectory_id"].unique().to_list())
    value = pl.when(pl.col("n_hack_1").is_not_null()).then(met)
    return RuleHits(rule, own.height, proportion(column(frame, value), frame["cluster"].to_numpy()))


def excerpts(corpus: Corpus, hits: pl.DataFrame, limit: int = 50) -> list[Excerpt]:
    """Return the text of the first hits: from the command, or from the argument where texts were kept."""
    first = hits.filter(~pl.col("timed_out")).head(limit)
    keys = first.lazy().select("trajectory_id", "call").unique()
    commands = corpus.tool_calls.select("trajectory_id", "call", "command").join(
        keys, on=["trajectory_id", "call"], how="semi"
    )
    kept = (
        corpus.texts.filter(pl.col("kind") == "arguments")
        .select("trajectory_id", pl.col("number").alias("call"), "text")
        .join(keys, on=["trajectory_id", "call"], how="semi")
    )
    joined = (
        first.lazy()
        .join(commands, on=["trajectory_id", "call"], how="left", maintain_order="left")
        .join(kept, on=["trajectory_id", "call"], how="left", maintain_order="left")
        .collect()
    )
    return [_excerpt(msgspec.convert(row, _Row)) for row in joined.iter_rows(named=True)]


class _Row(msgspec.Struct):
    trajectory_id: str
    task_id: str | None
    step: int
    call: int
    rule: str
    tier: int
    argument: str | None
    start: int
    end: int
    command: str | None
    text: str | None


def _excerpt(row: _Row) -> Excerpt:
    text = row.command if row.command is not None else _argument(row.text, row.argument)
    stop = min(row.end, row.start + EXCERPT)
    return Excerpt(
        trajectory_id=row.trajectory_id,
        task_id=row.task_id,
        step=row.step,
        call=row.call,
        rule=row.rule,
        tier=row.tier,
        before=text[max(0, row.start - EXCERPT // 4) : row.start],
        shown=text[row.start : stop],
        after=text[stop : stop + EXCERPT // 4],
        left_out=row.end - stop,
    )


def _argument(text: str | None, name: str | None) -> str:
    """The argument that a span counts in; empty where the text was not kept."""
    if text is None or name is None:
        return text or ""
    try:
        arguments = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return ""
    found = arguments.get(name, "") if isinstance(arguments, dict) else ""
    if isinstance(found, list) and all(isinstance(line, str) for line in found):
        return "\n".join(found)
    return found if isinstance(found, str) else msgspec.json.encode(found).decode()
