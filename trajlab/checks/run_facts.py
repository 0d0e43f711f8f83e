"""Gathering what the fifteen layers look at: one run, its metric log, its rollouts, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import polars as pl

from trajlab.checks.alarms import alarms
from trajlab.checks.collapse import collapse_finding
from trajlab.checks.facts import Facts, read_state, thresholds, whole
from trajlab.checks.finding import Finding, Gate
from trajlab.checks.hacks import hack_finding
from trajlab.checks.layers.base import Peer, RunFacts
from trajlab.checks.lines import LINE_CHECKS
from trajlab.checks.reading import findings as reading_findings
from trajlab.checks.reading import gates as reading_gates
from trajlab.checks.tokens import token_findings
from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError
from trajlab.measures.applied import applied
from trajlab.measures.compute import Measured, measure_all
from trajlab.measures.configuration import Configuration, configuration
from trajlab.measures.continuity import continuity
from trajlab.measures.course import course_of
from trajlab.measures.frame import WHOLE, Population, Trajectories, logged_series, select
from trajlab.measures.group_signal import group_signal
from trajlab.measures.groups import group_facts
from trajlab.measures.hacks import hack_candidates
from trajlab.measures.partitions import configured_epochs, partitions
from trajlab.measures.policy import policy_facts
from trajlab.measures.quadrants import answer_by_tool_reward, correct_by_tool, reward_by_outcome
from trajlab.measures.score_series import ScoreSeries, score_series
from trajlab.measures.signals import Signal, run_signals
from trajlab.measures.step_signals import step_signals
from trajlab.stats import Estimate

SCORE = ("score.mean", "reward.mean")
"""Metrics that tell the score of a step, the plainest first."""
QUARTERS_FROM = 20
"""Training steps from which a run without epochs is told by quarters."""
_ROWS = ("trajectory_id", "period", "train_step", "reward", "correct", "outcome", "termination", "is_error", "group_id",
         "task_id", "split", "content_digest")  # fmt: skip


class Gathered(msgspec.Struct):
    """A run ready to be diagnosed."""

    facts: RunFacts
    findings: list[Finding]
    """Of alarms and of checks over rollouts."""
    gates: list[Gate]
    trajectories: Trajectories


def diagnosable(corpus: Corpus) -> list[str]:
    """Runs with rollouts, a metric log, or both."""
    logged = corpus.metrics.filter(pl.col("run").is_not_null()).select(pl.col("run").unique()).collect()
    return sorted({*corpus.runs, *logged["run"].to_list()})


def gather(
    corpus: Corpus,
    population: Population,
    *,
    overrides: Mapping[str, float] | None = None,
    score_boundaries: Sequence[int] = (),
    seeds: Sequence[str] = (),
) -> Gathered:
    """All facts of one run.

    Args:
        corpus: With its rollouts, its metric log, or both.
        population: The run, and how its rollouts are divided.
        overrides: Thresholds in place of the shipped ones.
        score_boundaries: First training step of each epoch of the scores after the first; empty: as the metric log
            tells epochs, else as the rollouts are divided.
        seeds: Other runs of the same arm.

    Raises:
        UsageError: The run or a seed is not there, or an override names no threshold.
    """
    run, known = population.run, diagnosable(corpus)
    for name in (run, *seeds):
        if name is None or name not in known:
            raise UsageError(
                "run", f"no run {name!r}", f"one of {', '.join(known) or 'none: nothing was read'}", "Name one of them"
            )
    assert run is not None
    lines = thresholds(dict(overrides or {}))
    trajectories = select(corpus, population) if run in corpus.runs else nothing(corpus, population)
    there = trajectories.frame.height > 0
    told = step_signals(corpus, run, include_errors=population.include_errors)
    signals = run_signals(corpus, run, trajectories if there else None, told)
    settings = configuration(corpus, run)
    facts = RunFacts(
        run=run,
        signals=signals,
        thresholds=lines,
        settings=settings,
        applied=applied(corpus, run, settings),
        reading=read_state(corpus, run),
        score=_score(corpus, run, trajectories, signals, score_boundaries),
        epoch_cuts=_cuts(corpus, trajectories, settings, signals, score_boundaries),
        alarms=alarms(told, overrides) if told.height else [],
        peers=[_peer(corpus, name, population) for name in seeds],
    )
    findings = [alarm.finding for alarm in facts.alarms]
    found_gates: list[Gate] = []
    if there:
        more, found_gates = _with_rollouts(corpus, facts, trajectories)
        findings += more
    return Gathered(facts, findings, found_gates, trajectories)


def nothing(corpus: Corpus, population: Population) -> Trajectories:
    """The population of a run of which there is only a metric log."""
    frame = corpus.trajectories.filter(pl.lit(value=False)).collect()
    frame = frame.with_columns(
        period_order=pl.lit(None, pl.Int64), period=pl.lit(None, pl.String), is_error=pl.lit(value=False),
        cluster=pl.lit(None, pl.Int64),
    )  # fmt: skip
    return Trajectories(population, frame, 0, 0, [WHOLE], population.by, False)


def _with_rollouts(corpus: Corpus, facts: RunFacts, trajectories: Trajectories) -> tuple[list[Finding], list[Gate]]:
    """What rollouts tell beside the series: shares with intervals, groups, quadrants, the course over periods."""
    measured = measure_all(trajectories)
    tables = (
        answer_by_tool_reward(corpus, trajectories),
        correct_by_tool(trajectories),
        reward_by_outcome(trajectories),
    )
    facts.course = course_of(corpus, trajectories)
    changes = None if facts.course.against_previous else facts.course.changes
    facts.audit = Facts(
        trajectories, whole(measured), group_facts(trajectories), [table for table in tables if table is not None],
        facts.reading, facts.thresholds, hack_candidates(corpus, trajectories), changes,
        policy_facts(corpus, trajectories), continuity(corpus, trajectories),
    )  # fmt: skip
    facts.groups = group_signal(trajectories)
    facts.rewards = trajectories.frame.sort("period_order", "train_step", "trajectory_id").select(_ROWS)
    facts.components = _components(corpus, facts.rewards)
    facts.periods = _by_period(measured, trajectories.periods)
    facts.starts = _starts(trajectories)
    said = [*reading_findings(facts.audit), *(check.run(facts.audit) for check in LINE_CHECKS)]
    collapsed = collapse_finding(facts.audit)
    if collapsed.status == "alarm" and changes is not None:
        collapsed.step = min(facts.starts[item.onset] for item in changes.collapses)
    said += [collapsed, hack_finding(facts.audit), *token_findings(facts.audit)]
    return said, reading_gates(facts.audit)


def _components(corpus: Corpus, rows: pl.DataFrame) -> pl.DataFrame:
    wanted = rows.lazy().select("trajectory_id", "period")
    parts = corpus.rewards.join(wanted, on="trajectory_id", how="inner").filter(pl.col("value").is_not_null())
    order = rows["period"].unique(maintain_order=True).drop_nulls().to_list()
    table = parts.select("trajectory_id", "period", "name", "value").collect()
    return table.with_columns(place=pl.col("period").replace_strict(order, range(len(order)), default=None)).sort(
        "place", "trajectory_id", "name", nulls_last=True
    ).drop("place")  # fmt: skip


def _by_period(measured: Sequence[Measured], periods: Sequence[str]) -> dict[str, list[tuple[str, Estimate]]]:
    found: dict[str, list[tuple[str, Estimate]]] = {}
    wanted = set(periods) if len(periods) > 1 else {None}
    for item in measured:
        if item.group in wanted:
            found.setdefault(item.name, []).append((item.group or WHOLE, item.estimate))
    return found


def _starts(trajectories: Trajectories) -> dict[str, int]:
    known = trajectories.frame.filter(pl.col("period").is_not_null() & pl.col("train_step").is_not_null())
    return dict(known.group_by("period").agg(pl.col("train_step").min()).iter_rows())


def _score(
    corpus: Corpus, run: str, trajectories: Trajectories, signals: Mapping[str, Signal], boundaries: Sequence[int]
) -> ScoreSeries | None:
    """The score by step, its epochs those of the scores where they are told."""
    name = next((one for one in SCORE if one in signals and len(signals[one].values)), SCORE[0])
    logged = logged_series(corpus, name).filter(pl.col("run") == run).select("step", "value")
    cut = list(boundaries) or logged_epochs(signals)[1:]
    score = score_series(trajectories, cut, logged)
    if score is None or cut or trajectories.frame.height or len(score.steps) < QUARTERS_FROM:
        return score
    quarters = [int(part[0]) for part in np.array_split(np.asarray(score.steps), 4)]
    told = score_series(trajectories, quarters[1:], logged)
    return told and msgspec.structs.replace(told, epoch_names=[f"quarter {n}" for n in range(1, 5)])


def logged_epochs(signals: Mapping[str, Signal]) -> list[int]:
    """First step of each epoch of the metric log, fractions within their epoch; empty where none is told."""
    epoch = signals.get("epoch")
    if epoch is None or not len(epoch.values) or (np.diff(epoch.values) < 0).any():
        return []
    whole_epochs = np.floor(epoch.values)
    firsts = [int(epoch.steps[place]) for place in np.unique(whole_epochs, return_index=True)[1]]
    return firsts if len(firsts) * 2 <= len(epoch.steps) or len(firsts) == 1 else []


def _cuts(
    corpus: Corpus,
    trajectories: Trajectories,
    settings: Configuration,
    signals: Mapping[str, Signal],
    boundaries: Sequence[int],
) -> dict[str, list[int]]:
    if trajectories.frame.height:
        return {item.source: item.starts for item in partitions(corpus, trajectories, settings, boundaries)}
    logged = logged_epochs(signals)
    found = {"metrics": logged} if logged else {}
    epochs = configured_epochs(settings)
    return (
        found
        if epochs is None or not logged or epochs == len(logged)
        else {**found, "configured": [logged[0]] * epochs}
    )


def _peer(corpus: Corpus, run: str, population: Population) -> Peer:
    own = msgspec.structs.replace(population, run=run)
    trajectories = select(corpus, own) if run in corpus.runs else nothing(corpus, own)
    signals = run_signals(corpus, run, None, step_signals(corpus, run).clear())
    return Peer(run, _score(corpus, run, trajectories, signals, ()))
