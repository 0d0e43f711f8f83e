"""All that a diagnosis of one run says, gathered once: its notebook shows it by section and writes the result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from trajlab import __version__
from trajlab.checks.alarms import Alarm
from trajlab.checks.finding import Finding, Gate
from trajlab.checks.layers import COUNT, Diagnosis, diagnose_layers
from trajlab.checks.layers.base import RunFacts
from trajlab.checks.layers.onset import began
from trajlab.checks.run_facts import gather
from trajlab.corpus.corpus import Corpus
from trajlab.measures.frame import Population, Trajectories
from trajlab.measures.funnel import Stage, funnel
from trajlab.measures.signals import Signal
from trajlab.report.result import Coverage, Measure, Provenance, Result, Sampled, write_result
from trajlab.report.result_diagnosis import diagnosis_result, layer_result
from trajlab.report.result_rows import measure_of
from trajlab.report.written.phrases import Phrases
from trajlab.report.written.words import Words

MOST_SAMPLED = 24
"""Trajectories shown in all; the steps of the gravest alarms come first."""
_SHOWN = ("run", "source", "train_step", "correct", "reward", "termination", "n_steps", "n_calls")


class RunDiagnosis:
    """One run, diagnosed.

    Args:
        corpus: With its rollouts, its metric log, or both.
        population: The run, and how its rollouts are divided.
        overrides: Thresholds in place of the shipped ones, such as ``{"plateau.warn": 0.02}``.
        score_boundaries: First training step of each later epoch of the scores, where they are cut otherwise.
        seeds: Other runs of the same arm.
        sample_n: Rollouts drawn from the step of each alarm.
        seed: Seed of the draws.
        language: Of the page, ``en`` or ``zh``; ``result.json`` is in English.

    Raises:
        UsageError: A run that is not there, an override that names no threshold, or another language.
    """

    def __init__(
        self,
        corpus: Corpus,
        population: Population,
        *,
        overrides: dict[str, float] | None = None,
        score_boundaries: Sequence[int] = (),
        seeds: Sequence[str] = (),
        sample_n: int = 4,
        seed: int = 0,
        language: str = "en",
    ) -> None:
        self.corpus = corpus
        self.words, self.phrases = Words(language, "diagnosis"), Phrases(language)
        found = gather(corpus, population, overrides=overrides, score_boundaries=score_boundaries, seeds=seeds)
        self.facts: RunFacts = found.facts
        self.trajectories: Trajectories = found.trajectories
        self.diagnosis: Diagnosis = diagnose_layers(found.facts, found.findings)
        self.gates: list[Gate] = [*found.gates, self._layers_gate()]
        self.funnel: list[Stage] = funnel(found.trajectories, found.facts.signals, found.facts.settings.settings)
        self.seed = seed
        self.sampled: list[Sampled] = self._draw(sample_n)

    @property
    def findings(self) -> list[Finding]:
        """All findings, layer by layer."""
        return self.diagnosis.findings

    @property
    def steps(self) -> list[int]:
        """Training steps of which anything is known."""
        return sorted({int(step) for signal in self.facts.signals.values() for step in signal.steps})

    @property
    def collapse_alarms(self) -> list[Alarm]:
        """Alarms that say the policy is collapsing: those that still hold first, then by where they began."""
        told = [alarm for alarm in self.facts.alarms if alarm.is_collapse]
        return sorted(told, key=lambda alarm: (not alarm.active, began(alarm) or 0))

    @property
    def collapses(self) -> list[Finding]:
        """Their findings."""
        return [alarm.finding for alarm in self.collapse_alarms]

    def _layers_gate(self) -> Gate:
        """A run of which nothing could be judged has not passed."""
        judged = [code for code in self.diagnosis.covered if code not in ("L14", "L15")]
        n = len(self.diagnosis.covered)
        return Gate(
            name="layers", status="passed" if judged else "inconclusive", value=float(n), n=COUNT, limit=1.0,
            direction="at_least", message=f"{n} of {COUNT} layers could be judged",
        )  # fmt: skip

    def _draw(self, n: int) -> list[Sampled]:
        """Rollouts of the step at which each alarm was told: a simple random sample of that batch."""
        found: list[Sampled] = []
        told = [a for a in self.facts.alarms if a.status == "alarm" and a.first_step is not None]
        for step in sorted({a.first_step for a in told if a.first_step is not None}):
            codes = ", ".join(a.finding.code for a in told if a.first_step == step)
            batch = self.trajectories.frame.filter(pl.col("train_step") == step).sort("trajectory_id")
            size = min(n, batch.height)
            chosen = np.sort(np.random.default_rng([self.seed, step]).permutation(batch.height)[:size])
            found += [
                Sampled(
                    trajectory_id=row["trajectory_id"], task_id=row["task_id"], probability=size / batch.height,
                    why=f"step {step}, alarm {codes}: {size} of {batch.height} drawn, seed {self.seed}",
                    details={name: row[name] for name in _SHOWN},
                )
                for row in batch[chosen].iter_rows(named=True)
            ]  # fmt: skip
        return found[:MOST_SAMPLED]

    def _measures(self) -> list[Measure]:
        """Every series, every measure of the rollouts and every stage of the funnel in numbers."""
        measures = [row for name, signal in sorted(self.facts.signals.items()) for row in _series(name, signal)]
        if self.facts.audit is not None:
            measures += [measure_of(name, None, e) for name, e in self.facts.audit.measured.items()]
            policy = self.facts.audit.policy
            measures += [] if policy is None else [measure_of(m.name, m.group, m.estimate) for m in policy.measured]
        measures += [
            Measure(
                name=f"funnel.{stage.name}",
                group=None,
                value=stage.count,
                method="counted" if stage.count else "not observed",
            )
            for stage in self.funnel
        ]
        return measures

    def result(self) -> Result:
        """The machine-readable result."""
        steps = self.steps
        return Result(
            run=self.facts.run,
            period=f"steps {steps[0]} to {steps[-1]}" if steps else None,
            provenance=Provenance(
                trajlab=__version__,
                rules=self.corpus.rules,
                sources=sum(self.facts.reading.files.values()),
                bytes=self.facts.reading.bytes,
                formats=self.facts.reading.files,
                fingerprint=self.corpus.manifest.assembled_from,
                details={"training_steps": len(steps), "by": self.trajectories.periods_by},
            ),
            coverage=Coverage(
                trajectories=self.trajectories.frame.height,
                records=self.facts.reading.trajectories + self.facts.reading.lost,
                problems=self.facts.reading.problems,
                reconcilable=self.facts.reading.reconcilable,
                reconciled=self.facts.reading.reconciled,
                observed={name: len(signal.values) for name, signal in sorted(self.facts.signals.items())},
            ),
            measures=self._measures(),
            layers=[layer_result(layer) for layer in self.diagnosis.layers],
            diagnosis=diagnosis_result(self.diagnosis),
            findings=self.findings,
            gates=self.gates,
            sample=self.sampled,
        )

    def write(self, folder: Path | str | None = None) -> None:
        """Write ``result.json`` to the run folder."""
        write_result(self.result(), Path(folder if folder is not None else os.environ.get("TRAJLAB_RUN_DIR", ".")))


def _series(name: str, signal: Signal) -> list[Measure]:
    """A series over the training steps in numbers; the group says which."""
    method, n = f"over training steps, {signal.source}", float(len(signal.values))
    if not len(signal.values):
        return [Measure(name=f"series.{name}", group="mean", value=None, denominator=0.0, method="not observed",
                        missing=len(signal.broken))]  # fmt: skip
    told = {
        "mean": signal.mean, "highest": signal.highest[0], "lowest": signal.lowest[0], "first": signal.first,
        "last": signal.last, "change": signal.change,
    }  # fmt: skip
    return [
        Measure(
            name=f"series.{name}", group=group, value=value, denominator=n, method=method, missing=len(signal.broken)
        )
        for group, value in told.items()
    ]
