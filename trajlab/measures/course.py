"""The course of a run: what changed over its periods, where it began, how the quadrants flowed."""

from __future__ import annotations

import msgspec
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.measures.changes import Changes, changes_of
from trajlab.measures.contrast import Contrast
from trajlab.measures.frame import Trajectories, select
from trajlab.measures.onsets import Onset, exploratory_changes, onsets
from trajlab.measures.quadrant_flow import QuadrantFlow, quadrant_flows


class Course(msgspec.Struct):
    """What is said of change: over the periods of a run, or of one epoch against the one before it."""

    changes: Changes
    exploratory: list[Contrast]
    """Measures outside the declared family, each later period against the first; not adjusted."""
    onsets: list[Onset]
    """Those of the declared family first."""
    flows: list[QuadrantFlow]
    against_previous: bool
    """One epoch is audited: the periods are the epoch before, where there is one, and itself."""

    @property
    def periods(self) -> list[str]:
        """Names of the periods in order."""
        return self.changes.periods


def course_of(corpus: Corpus, trajectories: Trajectories) -> Course:
    """The course of a run, or of the one epoch that a population names."""
    followed = with_previous(corpus, trajectories)
    changes, exploratory = changes_of(followed), exploratory_changes(followed)
    found = onsets(changes.since_first, followed, declared=True) if changes.family else []
    found += onsets(exploratory, followed, declared=False)
    return Course(
        changes=changes,
        exploratory=exploratory,
        onsets=found,
        flows=quadrant_flows(corpus, followed),
        against_previous=trajectories.population.is_one_period,
    )


def with_previous(corpus: Corpus, trajectories: Trajectories) -> Trajectories:
    """The population itself or, where it is one period, that period and the last one before it that is there."""
    if not trajectories.population.is_one_period:
        return trajectories
    run = select(corpus, msgspec.structs.replace(trajectories.population, epoch=None, period=None))
    last = trajectories.frame["period_order"].max()
    if last is None:
        return trajectories
    known = run.frame.select("period", "period_order").drop_nulls().unique().sort("period_order")
    kept = known.filter(pl.col("period_order") <= last)["period"].to_list()[-2:]
    frame = run.frame.filter(pl.col("period").is_in(kept))
    return msgspec.structs.replace(run, population=trajectories.population, frame=frame, periods=kept)
