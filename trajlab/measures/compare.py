"""Runs side by side: what each shows, how each differs from the first, and what may be said of why."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError
from trajlab.measures.applied import Applied, applied, as_applied
from trajlab.measures.budgets import Budget, budget, spent_by_metrics
from trajlab.measures.catalogue import BY_NAME
from trajlab.measures.compute import Measured, estimate, measure_all
from trajlab.measures.configuration import Configuration, changed, configuration
from trajlab.measures.contrast import Arm, Contrast, adjust, arms, contrast
from trajlab.measures.fairness import Point, Subject, fairness
from trajlab.measures.frame import Population, Trajectories, column, logged_series, select
from trajlab.measures.partitions import CutFigures, Partition, figures_by_cut, partitions
from trajlab.measures.quadrants import Quadrants, answer_by_tool_reward, correct_by_tool, reward_by_outcome
from trajlab.measures.score_series import ScoreSeries, rollout_epoch_starts, score_series
from trajlab.measures.validation import Validation, ValidationDifference, validation, validation_differences
from trajlab.stats import Estimate, difference, not_observed, paired_difference

PRIMARY = ("correct_rate", "mean_reward", "mean_steps", "tool_use_rate")
"""Compared with the first run as one declared family, Holm-adjusted together; the rest is exploratory."""
OTHERS = (
    "reward_positive_rate", "reward_zero_rate", "reward_negative_rate", "one_step_rate", "two_step_rate",
    "three_plus_step_rate", "invalid_rate", "any_test_rate", "suite_run_rate", "inline_rate", "script_rate",
    "executions_per_step", "edits_per_step", "think_fraction", "stuck_rate", "text_repetition_rate",
)  # fmt: skip
BEHAVIOURS = ("tool_used", "any_test", "suite_run", "stuck", "think_spam")
"""What a trajectory did or not, set against its verdict."""
RANKED = ("correct_rate", "mean_reward")
COPIED = 0.1
"""Share of the smaller run's trajectories from which on copies are told; a few short ones are alike by chance."""
PAIRED_RUNS = 6
"""Up to so many runs, the change of the score is told for every pair."""


class Side(msgspec.Struct):
    """One run of a comparison."""

    name: str
    corpus: Corpus
    trajectories: Trajectories
    measured: list[Measured]
    quadrants: list[Quadrants]
    score: ScoreSeries | None
    rollout_starts: list[int]
    """First training step of each epoch of the rollouts."""
    configuration: Configuration
    budget: Budget
    components: list[str]
    """Names of the reward components."""
    partitions: list[Partition] = []
    """The ways its epochs are cut."""
    cuts: list[CutFigures] = []
    """Figures by each of them, where they disagree."""
    applied: list[Applied] = []
    """Settings that the metric log shows applied."""
    validation: Validation = msgspec.field(default_factory=lambda: Validation({}, {}))

    def estimate(self, name: str, period: str | None = None) -> Estimate:
        """The estimate of a measure, whole or of one period."""
        found = (item.estimate for item in self.measured if item.name == name and item.group == period)
        return next(found, not_observed())

    def sequence(self, name: str) -> list[Estimate]:
        """A measure over the periods; empty where there are fewer than two."""
        periods = self.trajectories.periods
        return [self.estimate(name, period) for period in periods] if len(periods) > 1 else []

    @property
    def rewards(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The rewards that are recorded."""
        return self.trajectories.frame["reward"].drop_nulls().to_numpy()


class Association(msgspec.Struct):
    """Correct among trajectories that did something, less correct among those that did not."""

    run: str
    behaviour: str
    pooled: Estimate
    within: Estimate
    """Over the tasks at which both kinds are observed."""

    @property
    def opposite(self) -> bool:
        """The signs differ: the behaviour goes with the task and not with success at it."""
        one, other = self.pooled.value, self.within.value
        return one is not None and other is not None and one * other < 0


class Ranked(msgspec.Struct):
    """Runs by one measure, best first: all episodes, and as many of each as the smallest run has."""

    name: str
    pooled: list[tuple[str, Estimate]]
    equal: list[tuple[str, Estimate]]
    episodes: int
    """Episodes drawn from each run for ``equal``."""

    @property
    def same_order(self) -> bool:
        """Both rankings name the runs in the same order."""
        return [name for name, _ in self.pooled] == [name for name, _ in self.equal]


class Contribution(msgspec.Struct):
    """Change of the score between two runs, with every setting that changed along with it."""

    before: str
    after: str
    score: Contrast
    """Of the mean reward, or of correct where a run records no reward."""
    spread: tuple[float | None, float | None]
    """Standard deviation of the batch means in each run."""
    settings: dict[str, tuple[str | None, str | None]] | None
    """Changed settings; ``None``: a configuration is not observed."""

    @property
    def attributable(self) -> str | None:
        """The one setting that changed; ``None`` where none, several or not known which, or no score is observed."""
        if self.settings is None or len(self.settings) != 1 or self.score.pooled.value is None:
            return None
        return next(iter(self.settings))


class Copies(msgspec.Struct, frozen=True):
    """Trajectories of one run that are, word for word, at the same step and with the same verdict, those of another."""

    before: str
    after: str
    copies: int
    same: bool
    """The two runs hold nothing else."""


class Comparison(msgspec.Struct):
    """All that is said of several runs."""

    sides: list[Side]
    contrasts: list[Contrast]
    """Each run against the first, and measure by measure."""
    associations: list[Association]
    rankings: list[Ranked]
    contributions: list[Contribution]
    """Every pair of runs, in their order; of more than `PAIRED_RUNS` only neighbours."""
    validations: list[ValidationDifference]
    """Each run against the first."""
    fairness: list[Point]
    copies: list[Copies]
    """Pairs of runs that share more than a few trajectories."""
    seed: int


def side(name: str, corpus: Corpus, population: Population, score_boundaries: Sequence[int] = ()) -> Side:
    """One run measured.

    Args:
        name: Name in the comparison.
        corpus: Its corpus.
        population: The run, its periods and thresholds.
        score_boundaries: First training step of each later epoch for the scores, where it differs.

    Raises:
        UsageError: The run is not in the corpus.
    """
    chosen = select(corpus, population)
    tables = (answer_by_tool_reward(corpus, chosen), correct_by_tool(chosen), reward_by_outcome(chosen))
    ids = chosen.frame.lazy().select("trajectory_id")
    components = corpus.rewards.join(ids, on="trajectory_id", how="semi").select(pl.col("name").unique().sort())
    return whole_side(
        name,
        corpus,
        chosen,
        measure_all(chosen),
        [table for table in tables if table is not None],
        components.collect()["name"].to_list(),
        score_boundaries,
    )


def whole_side(
    name: str,
    corpus: Corpus,
    chosen: Trajectories,
    measured: list[Measured],
    quadrants: list[Quadrants],
    components: list[str],
    score_boundaries: Sequence[int] = (),
) -> Side:
    """A side of what is measured already: with its score, its epochs, its configuration and its budget."""
    run = chosen.population.run if chosen.population.run is not None else name
    settings = configuration(corpus, run)
    cuts = partitions(corpus, chosen, settings, score_boundaries)
    score = score_series(chosen, score_boundaries or _trainers(chosen, cuts), _logged_score(corpus, chosen))
    return Side(
        name=name,
        corpus=corpus,
        trajectories=chosen,
        measured=measured,
        quadrants=quadrants,
        score=score,
        rollout_starts=rollout_epoch_starts(chosen),
        configuration=settings,
        budget=budget(name, chosen.frame, spent_by_metrics(corpus, run, chosen.frame)),
        components=components,
        partitions=cuts,
        cuts=figures_by_cut(chosen, score, cuts),
        applied=applied(corpus, run, settings),
        validation=validation(corpus, run, chosen.frame),
    )


def _trainers(chosen: Trajectories, cuts: Sequence[Partition]) -> list[int]:
    """First step of each later epoch of the trainer, where the rollouts are cut by something else."""
    logged = next((item.starts for item in cuts if item.source == "metrics"), [])
    return logged[1:] if chosen.periods_by == "epoch" and chosen.epochs_from != "metrics" else []


def _logged_score(corpus: Corpus, chosen: Trajectories) -> pl.DataFrame | None:
    """The trainer's score of each step of these trajectories; ``None`` where they are of several runs."""
    if chosen.population.run is None:
        return None
    logged = logged_series(corpus, "score.mean").filter(pl.col("run") == chosen.population.run)
    steps = chosen.frame.select(step="train_step").drop_nulls().unique()
    return logged.join(steps, on="step", how="semi")


def compare_sides(sides: Sequence[Side], seed: int = 0, validation_n: int | None = None) -> Comparison:
    """Compare runs; the first is what the others are set against.

    Args:
        sides: The runs, at least two.
        seed: Seed of the equal-episode draws.
        validation_n: Validation trajectories behind each logged score, where the logs do not hold them.

    Raises:
        UsageError: Fewer than two runs.
    """
    if len(sides) < 2:
        raise UsageError("compare", f"{len(sides)} run", "at least two runs", "Name another source or run")
    errors = sides[0].trajectories.population.include_errors
    placed = arms([(item.name, item.trajectories.frame) for item in sides])
    names = [*PRIMARY, *OTHERS]
    contrasts = [contrast(BY_NAME[name], placed[0], arm, include_errors=errors) for arm in placed[1:] for name in names]
    every = list(itertools.combinations(range(len(sides)), 2))
    pairs = every if len(sides) <= PAIRED_RUNS else list(itertools.pairwise(range(len(sides))))
    subjects = [Subject(s.trajectories.frame, s.configuration, s.budget, s.components) for s in sides]
    return Comparison(
        sides=list(sides),
        contrasts=adjust(contrasts, PRIMARY),
        associations=[found for item in sides for found in associations(item)],
        rankings=[found for name in RANKED if (found := _ranked(name, placed, seed)) is not None],
        contributions=[_contribution(sides[a], sides[b], placed[a], placed[b]) for a, b in pairs],
        validations=[
            item
            for side in sides[1:]
            for item in validation_differences(
                (sides[0].name, sides[0].validation), (side.name, side.validation), validation_n
            )
        ],
        fairness=fairness(subjects),
        copies=[item for a, b in every if (item := _copies(sides[a], sides[b])) is not None],
        seed=seed,
    )


def _copies(before: Side, after: Side) -> Copies | None:
    key = ["content_digest", "task_id", "train_step", "reward", "correct"]
    counts = [side.trajectories.frame.group_by(key).len() for side in (before, after)]
    both = counts[0].join(counts[1], on=key, nulls_equal=True)
    shared = int(both.select(pl.min_horizontal("len", "len_right").sum()).item() or 0)
    sizes = {side.trajectories.frame.height for side in (before, after)}
    enough = shared and shared >= COPIED * min(sizes)
    return Copies(before.name, after.name, shared, sizes == {shared}) if enough else None


def _contribution(before: Side, after: Side, one: Arm, other: Arm) -> Contribution:
    spread = [None if side.score is None else side.score.std for side in (before, after)]
    settings = [as_applied(side.configuration, side.applied) for side in (before, after)]
    return Contribution(before.name, after.name, _score(one, other), (spread[0], spread[1]), changed(*settings))


def _score(before: Arm, after: Arm) -> Contrast:
    reward = contrast(BY_NAME["mean_reward"], before, after)
    return reward if reward.pooled.value is not None else contrast(BY_NAME["correct_rate"], before, after)


def associations(one: Side) -> list[Association]:
    """Behaviours against the verdict, pooled and within task; those that both occur and do not occur."""
    found = []
    for name in BEHAVIOURS:
        known = one.trajectories.frame.filter(pl.col(name).is_not_null() & pl.col("correct").is_not_null())
        did, did_not = known.filter(pl.col(name)), known.filter(~pl.col(name))
        if did.is_empty() or did_not.is_empty():
            continue
        yes, no = column(did, pl.col("correct")), column(did_not, pl.col("correct"))
        tasks, other_tasks = did["cluster"].to_numpy(), did_not["cluster"].to_numpy()
        pooled = difference(yes, no, tasks, other_tasks, shared_clusters=True)
        found.append(Association(one.name, name, pooled, paired_difference(yes, no, tasks, other_tasks)))
    return found


def _ranked(name: str, placed: Sequence[Arm], seed: int) -> Ranked | None:
    measure = BY_NAME[name]
    smallest = min(arm.frame.height for arm in placed)
    pooled = [(arm.name, estimate(arm.frame, measure)) for arm in placed]
    if any(found.value is None for _, found in pooled):
        return None
    equal = []
    for place, arm in enumerate(placed):
        frame = arm.frame.sort("trajectory_id")
        drawn = np.sort(np.random.default_rng([seed, place]).permutation(frame.height)[:smallest])
        equal.append((arm.name, estimate(frame[drawn], measure)))
    return Ranked(name, _best_first(pooled), _best_first(equal), smallest)


def _best_first(found: list[tuple[str, Estimate]]) -> list[tuple[str, Estimate]]:
    return sorted(found, key=lambda item: -(item[1].value if item[1].value is not None else float("-inf")))
