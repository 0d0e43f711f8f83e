"""All that an epoch audit says, gathered once: its notebook shows it section by section and writes the result."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from trajlab import __version__
from trajlab.checks import run_checks
from trajlab.checks.facts import Facts, Reading, read_state, thresholds, whole
from trajlab.checks.finding import Finding, Gate
from trajlab.corpus.corpus import Corpus
from trajlab.measures.catalogue import MEASURES
from trajlab.measures.compute import Measured, by_column, measure_all
from trajlab.measures.continuity import continuity
from trajlab.measures.course import Course, course_of
from trajlab.measures.frame import Population, Trajectories, select
from trajlab.measures.groups import Groups, PassRates, group_facts, pass_rates
from trajlab.measures.hacks import HackCandidates, hack_candidates
from trajlab.measures.policy import Policy, policy_facts
from trajlab.measures.quadrants import Quadrants, answer_by_tool_reward, correct_by_tool, reward_by_outcome
from trajlab.report.course_rows import change_rows, course_result, share_rows
from trajlab.report.result import (
    Coverage,
    Provenance,
    Result,
    Sampled,
    Understood,
    write_atomically,
    write_result,
)
from trajlab.report.result_rows import measure_of
from trajlab.stats import Estimate


class EpochAudit:
    """One run, or one epoch of it, audited.

    Args:
        corpus: The corpus.
        population: Which trajectories, in which periods.
        overrides: Thresholds in place of the shipped ones, such as ``{"truncation.warn": 0.1}``.
        sample_n: Trajectories drawn for reading.
        seed: Seed of the draw.

    Raises:
        UsageError: The run or epoch is not there, or an override names no threshold.
    """

    def __init__(
        self,
        corpus: Corpus,
        population: Population,
        *,
        overrides: dict[str, float] | None = None,
        sample_n: int = 8,
        seed: int = 0,
    ) -> None:
        self.corpus = corpus
        self.trajectories: Trajectories = select(corpus, population)
        self.measured: list[Measured] = measure_all(self.trajectories)
        self.course: Course = course_of(corpus, self.trajectories)
        self.groups: Groups | None = group_facts(self.trajectories)
        self.pass_rates: PassRates | None = pass_rates(self.trajectories)
        tables = (
            answer_by_tool_reward(corpus, self.trajectories),
            correct_by_tool(self.trajectories),
            reward_by_outcome(self.trajectories),
        )
        self.quadrants: list[Quadrants] = [table for table in tables if table is not None]
        self.hacks: HackCandidates | None = hack_candidates(corpus, self.trajectories)
        self.policy: Policy = policy_facts(corpus, self.trajectories, seed)
        self.seed = seed
        self.reading: Reading = read_state(corpus, population.run)
        self.findings, self.gates = self._check(overrides)
        self.sampled: list[Sampled] = self._draw(sample_n, seed)

    @property
    def frame(self) -> pl.DataFrame:
        """The trajectories audited."""
        return self.trajectories.frame

    @property
    def period(self) -> str | None:
        """The one period audited; ``None``: the whole run."""
        population = self.trajectories.population
        return population.period or (None if population.epoch is None else f"epoch {population.epoch}")

    def estimate(self, name: str, group: str | None = None) -> Estimate:
        """The estimate of a measure, whole or of one period."""
        return next(m.estimate for m in self.measured if m.name == name and m.group == group)

    def by_verdict(self, names: list[str], *, clustered: bool = True) -> list[Measured]:
        """Measures apart for correct and not correct trajectories; naive intervals where not clustered."""
        wanted = [measure for measure in MEASURES if measure.name in names]
        return by_column(self.trajectories, "correct", wanted, clustered=clustered)

    def _check(self, overrides: dict[str, float] | None) -> tuple[list[Finding], list[Gate]]:
        facts = Facts(
            self.trajectories,
            whole(self.measured),
            self.groups,
            self.quadrants,
            self.reading,
            thresholds(overrides),
            self.hacks,
            None if self.course.against_previous else self.course.changes,
            self.policy,
            continuity(self.corpus, self.trajectories),
        )
        return run_checks(facts)

    def _draw(self, n: int, seed: int) -> list[Sampled]:
        """A simple random sample: the same frame, n and seed give the same trajectories."""
        frame = self.frame.sort("trajectory_id")
        size = min(n, frame.height)
        chosen = np.sort(np.random.default_rng(seed).permutation(frame.height)[:size])
        rows = frame[chosen].iter_rows(named=True)
        probability = size / frame.height if frame.height else None
        return [
            Sampled(
                trajectory_id=row["trajectory_id"],
                task_id=row["task_id"],
                why=f"drawn: {size} of {frame.height}, seed {seed}",
                probability=probability,
                details={
                    name: row[name]
                    for name in (
                        "run",
                        "source",
                        "train_step",
                        "correct",
                        "reward",
                        "termination",
                        "n_steps",
                        "n_calls",
                    )
                },
            )
            for row in rows
        ]

    def result(self) -> Result:
        """The machine-readable result."""
        measured = [*self.measured, *self.policy.measured]
        measures = [measure_of(item.name, item.group, item.estimate) for item in measured]
        for table in self.quadrants:
            name = f"quadrant.{table.name}"
            measures += [measure_of(f"{name}.{cell}", None, share) for cell, share in table.cells.items()]
            measures += [measure_of(f"{name}: {extra}", None, value) for extra, value in table.extra.items()]
        measures += share_rows(self.course.flows)
        if self.hacks is not None:
            measures += [measure_of(f"hack.{item.rule.id}", None, item.trajectories) for item in self.hacks.rules]
        if self.groups is not None:
            measures += [measure_of(f"groups.{name}", None, share) for name, share in self.groups.shares.items()]
        if self.pass_rates is not None:
            measures += [measure_of(f"pass@{k}", None, value) for k, value in self.pass_rates.at_k.items()]
            measures += [measure_of(f"pass^{k}", None, value) for k, value in self.pass_rates.hat_k.items()]
        return Result(
            run=self.trajectories.population.run,
            period=self.period,
            provenance=self._provenance(),
            coverage=self._coverage(),
            measures=measures,
            changes=change_rows(self.course),
            course=course_result(self.course, self.trajectories.periods_by),
            findings=self.findings,
            gates=self.gates,
            sample=self.sampled,
        )

    def _provenance(self) -> Provenance:
        return Provenance(
            trajlab=__version__,
            rules=self.corpus.rules,
            sources=sum(self.reading.files.values()),
            bytes=self.reading.bytes,
            formats=self.reading.files,
            fingerprint=self.corpus.manifest.assembled_from,
            details={
                "by": self.trajectories.population.by,
                "set_aside": self.trajectories.set_aside,
                "without_period": self.trajectories.unplaced,
                "correct_from_threshold": self.trajectories.threshold_used,
            },
        )

    def _coverage(self) -> Coverage:
        observed = {
            name: self.frame.height - self.frame[name].null_count()
            for name in ("correct", "outcome", "reward", "termination", "group_id", "train_step", "tool_used",
                         "think_offered", "any_test", "completion_tokens", "cost", "seconds")
        }  # fmt: skip
        return Coverage(
            trajectories=self.frame.height,
            records=self.reading.trajectories + self.reading.lost,
            problems=self.reading.problems,
            reconcilable=self.reading.reconcilable,
            reconciled=self.reading.reconciled,
            observed=observed,
            understood={
                name: Understood(seen=share.seen, understood=share.understood)
                for name, share in self.reading.understood.items()
            },
            fields_ignored={name: own.ignored for name, own in self.reading.fields.items() if own.ignored},
            fields_unknown={name: own.unknown for name, own in self.reading.fields.items() if own.unknown},
        )

    def write(self, folder: Path | str | None = None) -> None:
        """Write ``result.json`` and the sample's manifest ``sample.json`` to the run folder."""
        target = Path(folder if folder is not None else os.environ.get("TRAJLAB_RUN_DIR", "."))
        write_result(self.result(), target)
        manifest = msgspec.json.format(msgspec.json.encode(self.sampled, order="sorted"), indent=1)
        write_atomically(target / "sample.json", manifest + b"\n")
