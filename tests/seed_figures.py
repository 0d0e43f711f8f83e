"""The first report's figures of R1 to R5 beside what an audit and a comparison of the simulated runs measure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.measures.changes import changes_of
from trajlab.measures.compare import Side
from trajlab.measures.configuration import short
from trajlab.measures.frame import Population
from trajlab.measures.symptoms import symptoms
from trajlab.report.compare_runs import RunComparison
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.result import Result
from trajlab.report.written.audit_report import side_of
from trajlab.report.written.document import to_markdown
from trajlab.simulate import Description, load_description, simulate
from trajlab.simulate.description import bounds

RUNS = ("R1", "R2", "R3", "R4", "R5")
TRENDS = {"R1": 1, "R2": 1, "R3": -1, "R4": 1, "R5": 1}
"""Section 3: UP, UP, DOWN, UP, UP."""
CONTRIBUTIONS = {
    ("R1", "R2"): "0.069", ("R1", "R4"): "0.129", ("R2", "R4"): "0.060", ("R2", "R3"): "-0.104", ("R4", "R5"): "-0.031",
}  # fmt: skip
"""Section 10; that of R4 and R5 is a difference to a score that is printed as about 0.52."""
SECTION_2 = {
    "lr": ("5e-7", "5e-7", "1e-6", "5e-7", "7.5e-7"), "epochs": ("1", "3", "4", "5", "6"),
    "batch_size": ("16", "32", "32", "32", "32"), "kl_coef": ("0.001", "0.003", "0.003", "0.005", "0.005"),
    "agent_steps": ("5", "5", "7", "7", "7"), "generations": ("2", "4", "4", "4", "4"),
    "temperature": ("1.0", "1.0", "0.8", "0.9", "1.0"), "entropy_coeff": ("0.001", "0.001", "0.001", "0.001", "0.003"),
    "mini_batch": ("2", "4", "4", "4", "4"),
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """One figure of the report: as printed, as measured by audit and comparison, and how far off it may be."""

    section: str
    run: str
    name: str
    printed: str
    audit: float | None
    """``None``: not a figure of an audit."""
    comparison: float | None
    low: float
    high: float

    @property
    def ok(self) -> bool:
        """Every measured value prints as the figure; at least one is there."""
        measured = [value for value in (self.audit, self.comparison) if value is not None]
        return bool(measured) and all(self.low - 1e-9 <= value <= self.high + 1e-9 for value in measured)


def starts(steps: list[int]) -> list[int]:
    """First training step of each epoch after the first."""
    return [1 + total for total in itertools.accumulate(steps)][:-1]


def simulated(folder: Path, scale: float = 1.0, seed: int = 0) -> tuple[Corpus, dict[str, Description]]:
    """Simulate R1 to R5 and read them into one corpus."""
    for run in RUNS:
        simulate(run, folder / "simulated", scale=scale, seed=seed)
    corpus = trajlab.ingest(folder / "simulated", out=folder / "corpus")
    return corpus, {run: load_description(run) for run in RUNS}


def compared(corpus: Corpus, runs: Mapping[str, Description], language: str = "en") -> RunComparison:
    """The comparison of all runs, each with its own epochs for rollouts and for scores."""
    populations = [
        Population(run=name, epoch_boundaries=tuple(starts(run.epochs.rollout_steps))) for name, run in runs.items()
    ]
    cuts = {name: starts(run.epochs.score_steps) for name, run in runs.items() if len(run.epochs.score_steps) > 1}
    return RunComparison([corpus] * len(runs), list(runs), populations, score_boundaries=cuts, language=language)


def audited(corpus: Corpus, name: str, run: Description) -> EpochAudit:
    """The audit of one run with the epochs of its rollouts."""
    return EpochAudit(corpus, Population(run=name, epoch_boundaries=tuple(starts(run.epochs.rollout_steps))))


def figures(corpus: Corpus, runs: Mapping[str, Description], comparison: RunComparison) -> Iterator[Figure]:
    """Every figure of sections 2 to 5 and 10 that rollouts and configurations can show."""
    result = comparison.result()
    for name, run in runs.items():
        side = side_of(audited(corpus, name, run))
        yield from run_settings(side, name)
        yield from run_figures(name, run, side, result)
        yield from epoch_figures(name, run, side, result)
    yield from contribution_figures(comparison)


def run_settings(side: Side, name: str) -> Iterator[Figure]:
    """Section 2."""
    found = {short(option): value for option, value in side.configuration.settings.items()}
    for setting, printed in SECTION_2.items():
        value = float(printed[RUNS.index(name)])
        measured = float(found[setting]) if setting in found else None
        yield Figure("2", name, setting, printed[RUNS.index(name)], measured, measured, value, value)


def run_figures(name: str, run: Description, side: Side, result: Result) -> Iterator[Figure]:
    """Sections 3 to 5: figures of the whole run."""
    behaviour, score, outcome = run.behaviour, run.score, run.outcome
    assert behaviour is not None
    assert score is not None
    assert side.score is not None
    of = lambda measure, factor=1.0: _value(result, measure, name, factor)  # noqa: E731
    scores = {"avg_score": score.mean, "max_score": score.max, "std": score.std}
    audit = {"avg_score": side.score.mean.value, "max_score": side.score.maximum, "std": side.score.std}
    names = {"avg_score": "score.mean", "max_score": "score.maximum", "std": "score.std"}
    for key, printed in scores.items():
        if printed is not None:
            yield figure("3", name, key, printed, audit[key], of(names[key]))
    trend = TRENDS[name]
    yield Figure("3", name, "score_trend", str(trend), side.score.direction, None, trend, trend)
    shares = {
        "correct_rate": outcome.correct_pct, "reward_positive_rate": outcome.correct_pct,
        "reward_zero_rate": outcome.zero_pct, "reward_negative_rate": outcome.negative_pct,
    }  # fmt: skip
    steps = {
        "one_step_rate": behaviour.one_step_pct, "two_step_rate": behaviour.two_step_pct,
        "three_plus_step_rate": behaviour.three_plus_step_pct, "tool_use_rate": behaviour.tool_use_pct,
    }  # fmt: skip
    for section, group in (("4", shares), ("5", steps)):
        for key, printed in group.items():
            if printed is not None:
                yield figure(section, name, key, printed, _percent(side.estimate(key).value), of(key, 100))
    trajectories = Decimal(run.steps * run.config.batch_size * run.config.generations)
    counted = next(m.denominator for m in result.measures if m.name == "mean_steps" and m.group == name)
    yield figure("4", name, "trajectories", trajectories, side.budget.episodes, counted)
    rewards = side.rewards
    if outcome.distinct_rewards is not None:
        distinct = Decimal(outcome.distinct_rewards)
        yield figure("4", name, "distinct rewards", distinct, len(set(rewards.tolist())), of("reward.distinct"))
    yield figure("4", name, "max reward", outcome.max_reward, float(rewards.max()), of("reward.maximum"))
    yield figure("5", name, "mean_steps", behaviour.mean_steps, side.estimate("mean_steps").value, of("mean_steps"))
    for table in side.quadrants:
        for cell, share in table.cells.items():
            printed = getattr(behaviour.quadrants, cell)
            yield figure("5", name, f"{table.name}.{cell}", printed, _percent(share.value),
                         of(f"quadrant.{table.name}.{cell}", 100))  # fmt: skip


def epoch_figures(name: str, run: Description, side: Side, result: Result) -> Iterator[Figure]:
    """Sections 3 to 5: sequences over epochs; the score's on its own cut, in the comparison only."""
    behaviour, score = run.behaviour, run.score
    assert behaviour is not None
    assert score is not None
    wanted = {
        "correct_rate": (run.outcome.epoch_correct_pct, 100), "tool_use_rate": (behaviour.epoch_tool_use_pct, 100),
        "mean_steps": (behaviour.epoch_mean_steps, 1),
    }  # fmt: skip
    for key, (printed, factor) in wanted.items():
        for epoch, value in enumerate(printed):
            whole = len(run.epochs.rollout_steps) == 1
            found = side.estimate(key, None if whole else f"epoch {epoch}").value
            group = name if whole else f"{name} · epoch {epoch}"
            measured = None if found is None else factor * found
            yield figure("4/5", name, f"{key} E{epoch}", value, measured, _value(result, key, group, factor))
    first = [1, *starts(run.epochs.score_steps)]
    for epoch, value in enumerate(score.epoch_mean):
        whole = len(run.epochs.score_steps) == 1
        found = _value(result, "score.mean" if whole else "score.epoch",
                       name if whole else f"{name} · from step {first[epoch]}")  # fmt: skip
        yield figure("3", name, f"score E{epoch}", value, None, found)


def contribution_figures(comparison: RunComparison) -> Iterator[Figure]:
    """Section 10: changes of the average score."""
    sides = {side.name: side for side in comparison.comparison.sides}
    for (before, after), printed in CONTRIBUTIONS.items():
        one, other = sides[before].score, sides[after].score
        assert one is not None
        assert other is not None
        assert one.mean.value is not None
        assert other.mean.value is not None
        value = other.mean.value - one.mean.value
        slack = 0.005 if "R5" in (before, after) else 0.0001  # of the two printed scores it is the difference of
        low, high = bounds(Decimal(printed))
        yield Figure("10", f"{before}-{after}", "change of score", printed, None, value, low - slack, high + slack)


def figure(section: str, run: str, name: str, printed: Decimal, audit: Any, comparison: Any) -> Figure:
    low, high = bounds(printed) if printed.as_tuple().exponent != 0 else (float(printed), float(printed))
    known = [None if value is None else float(value) for value in (audit, comparison)]
    return Figure(section, run, name, str(printed), known[0], known[1], low, high)


def _value(result: Result, name: str, group: str, factor: float = 1.0) -> float | None:
    found = [m.value for m in result.measures if m.name == name and m.group == group]
    return None if not found or found[0] is None else factor * found[0]


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def claims(comparison: RunComparison) -> list[tuple[str, bool]]:
    """What the reports must say, whatever the first report claims."""
    sides = {side.name: side for side in comparison.comparison.sides}
    changes = {name: changes_of(side.trajectories) for name, side in sides.items()}
    shown = {name: {s.key for s in symptoms(side.estimate, side.score) if s.shown} for name, side in sides.items()}
    onsets = {name: [c.onset for c in own.collapses] for name, own in changes.items()}
    cuts = {n: one.score is not None and one.score.epoch_starts != one.rollout_starts for n, one in sides.items()}
    said = to_markdown(comparison.document)
    r4 = sides["R4"].score
    return [
        ("R3 collapsed, onset in E2", onsets["R3"] == ["epoch 2"]),
        ("no other run collapsed", not any(onsets[name] for name in ("R1", "R2", "R4", "R5"))),
        ("cuts of scores and rollouts disagree in R3, R4, R5 only", [n for n in cuts if cuts[n]] == ["R3", "R4", "R5"]),
        ("the report says so", all(f"{n}: its epochs are cut in ways that" in said for n in ("R3", "R4", "R5"))),
        ("R4 is not monotone", r4 is not None and r4.monotone is False),
        ("R4's zero share is under its line", "zero_reward_heavy" not in shown["R4"]),
        ("few_succeed is shown by R1 and R3 only", [n for n in shown if "few_succeed" in shown[n]] == ["R1", "R3"]),
        ("one_step_heavy and tool_use_low are shown by R1 and R3 only",
         all([n for n in shown if key in shown[n]] == ["R1", "R3"] for key in ("one_step_heavy", "tool_use_low"))),
        ("no change of score is attributable", not any(c.attributable for c in comparison.comparison.contributions)),
        ("identities hold", all(a == b for s in sides.values() for t in s.quadrants for _, a, b in t.identities)),
    ]  # fmt: skip
