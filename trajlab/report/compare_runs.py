"""All that a comparison of runs says, gathered once: its notebook shows it section by section and writes the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from trajlab import __version__
from trajlab.checks.facts import Facts, Reading, read_state, thresholds
from trajlab.checks.finding import Finding, Gate
from trajlab.checks.reading import gates
from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError
from trajlab.measures.budgets import differing, unknown
from trajlab.measures.changes import Changes, changes_of
from trajlab.measures.compare import PRIMARY, Comparison, Side, compare_sides, side
from trajlab.measures.frame import Population
from trajlab.measures.partitions import disagreeing
from trajlab.report.result import Change, Coverage, Measure, Provenance, Result, write_result
from trajlab.report.result_rows import change_of, measure_of
from trajlab.report.text import Html
from trajlab.report.written.compare_report import compare_report
from trajlab.report.written.document import Document, section_html
from trajlab.report.written.files import write_markdown


class RunComparison:
    """Several runs compared.

    Args:
        corpora: One corpus for each run.
        runs: The run in each corpus.
        populations: How each run is divided and judged, in the same order.
        names: Names in the report; empty: those of the runs, numbered where two are alike.
        score_boundaries: By name of the run, the first training step of each later epoch of the scores, where they are
            cut otherwise than the rollouts.
        seed: Seed of the equal-episode draws.
        validation_n: Trajectories behind each validation score, where the logs do not hold them.
        language: Language of the report.

    Raises:
        UsageError: Fewer than two runs, lists that do not fit each other, a run that is not there, a language that
            is not there.
    """

    def __init__(
        self,
        corpora: Sequence[Corpus],
        runs: Sequence[str],
        populations: Sequence[Population],
        *,
        names: Sequence[str] = (),
        score_boundaries: Mapping[str, Sequence[int]] | None = None,
        seed: int = 0,
        validation_n: int | None = None,
        language: str = "en",
    ) -> None:
        if len(runs) != len(corpora) or len(populations) != len(runs) or (names and len(names) != len(runs)):
            found = f"{len(corpora)} corpora, {len(runs)} runs, {len(populations)} populations, {len(names)} names"
            raise UsageError("compare", found, "one of each for every run")
        labels = list(names) or distinct(runs)
        cuts = score_boundaries or {}
        sides = [
            side(label, corpus, population, cuts.get(label, ()))
            for label, corpus, population in zip(labels, corpora, populations, strict=True)
        ]
        self.runs = list(runs)
        self.comparison: Comparison = compare_sides(sides, seed, validation_n)
        self.changes: list[Changes] = [changes_of(one.trajectories) for one in sides]
        self.document: Document = compare_report(self.comparison, self.changes, language)
        self.readings: list[Reading] = [read_state(corpus, run) for corpus, run in zip(corpora, self.runs, strict=True)]

    def section(self, key: str) -> Html:
        """A section of the report."""
        return section_html(self.document.section(key))

    def findings(self) -> list[Finding]:
        """What stands in the way of a comparison."""
        found, sides = self.comparison, self.comparison.sides
        budgets = [one.budget for one in sides]
        opposite = [f"{item.name} ({item.after})" for item in found.contrasts if item.opposite]
        opposite += [f"{item.behaviour} ({item.run})" for item in found.associations if item.opposite]
        reordered = [ranked.name for ranked in found.rankings if not ranked.same_order]
        said = [
            ("C001", differing(budgets), "budgets differ", "Read the equal-episode ranking beside the pooled one."),
            ("C002", opposite, "pooled and within-task differences have opposite signs", "The mix of tasks differs."),
            ("C003", reordered, "equal episodes give another order", "Say which ranking is meant."),
            ("C004", [p.key for p in found.fairness if p.state == "differs"], "points of a fair comparison differ",
             "Name them beside every result."),
            ("C005", [one.name for one in sides if disagreeing(one.partitions)], "epochs are cut in ways that disagree",
             "Name the cut beside every figure by epoch."),
            ("C006", [f"{one.before} and {one.after}" for one in found.copies], "runs share trajectories",
             "Compare what was sampled apart."),
            ("C007", [f"{one.name} ({item.option})" for one in sides for item in one.applied if item.other],
             "applied otherwise than configured", "Compare what was applied."),
        ]  # fmt: skip
        findings = [
            Finding(code=code, layer="L15", status="warn", message=f"{text}: {', '.join(which)}", advice=advice)
            for code, which, text, advice in said
            if which
        ]
        unseen = unknown(budgets)
        if unseen:
            message = f"budgets not recorded in every run: {', '.join(unseen)}"
            findings.append(Finding(code="C001", layer="L15", status="unobserved", message=message))
        return findings

    def gates(self) -> list[Gate]:
        """The reading's gates of each run, its name before theirs."""
        found = []
        for one, reading in zip(self.comparison.sides, self.readings, strict=True):
            facts = Facts(one.trajectories, {}, None, one.quadrants, reading, thresholds())
            for gate in gates(facts):
                gate.name = f"{one.name}: {gate.name}"
                found.append(gate)
        return found

    def result(self) -> Result:
        """The machine-readable result."""
        sides = self.comparison.sides
        problems: dict[str, int] = {}
        for reading in self.readings:
            for code, count in reading.problems.items():
                problems[code] = problems.get(code, 0) + count
        return Result(
            run=" · ".join(one.name for one in sides),
            period=None,
            provenance=Provenance(
                trajlab=__version__,
                rules=sides[0].corpus.rules,
                details={f"configuration of {one.name}": one.configuration.source for one in sides},
            ),
            coverage=Coverage(
                trajectories=sum(one.budget.episodes for one in sides),
                records=sum(reading.trajectories + reading.lost for reading in self.readings),
                problems=dict(sorted(problems.items())),
                reconcilable=sum(reading.reconcilable for reading in self.readings),
                reconciled=sum(reading.reconciled for reading in self.readings),
            ),
            measures=[measure for one in sides for measure in _measures(one)],
            changes=self._changes(),
            findings=self.findings(),
            gates=self.gates(),
        )

    def _changes(self) -> list[Change]:
        found = [change_of(item, primary=item.name in PRIMARY) for item in self.comparison.contrasts]
        for item in self.comparison.contributions:
            names = "not observed" if item.settings is None else ", ".join(item.settings) or "no setting"
            found.append(change_of(item.score, primary=False, name="score", group=f"changed: {names}"))
        for one, changes in zip(self.comparison.sides, self.changes, strict=True):
            found += [change_of(step, primary=True, group=one.name) for step in changes.steps]
        return found

    def write(self, folder: Path | str | None = None) -> None:
        """Write ``result.json`` and ``report.md`` to the run folder."""
        write_result(self.result(), folder)
        write_markdown(self.document, folder)


def distinct(runs: Sequence[str]) -> list[str]:
    """Names that differ: the second of two alike gets its number."""
    seen: dict[str, int] = {}
    names = []
    for run in runs:
        seen[run] = seen.get(run, 0) + 1
        names.append(run if seen[run] == 1 else f"{run} ({seen[run]})")
    return names


def _measures(one: Side) -> list[Measure]:
    name = one.name
    found = [
        measure_of(item.name, name if item.group is None else f"{name} · {item.group}", item.estimate)
        for item in one.measured
    ]
    for table in one.quadrants:
        found += [measure_of(f"quadrant.{table.name}.{cell}", name, share) for cell, share in table.cells.items()]
    found += _plain(one)
    if one.score is not None:
        found.append(measure_of("score.mean", name, one.score.mean))
        found.append(measure_of("score.slope", name, one.score.slope))
        found += [
            measure_of("score.epoch", f"{name} · from step {start}", value)
            for start, value in zip(one.score.epoch_starts, one.score.epochs, strict=True)
        ]
    return found


def _plain(one: Side) -> list[Measure]:
    """Figures that are counted and have no interval."""
    rewards, score = one.rewards, one.score
    figures: dict[str, tuple[float, int, str]] = {}
    if len(rewards):
        distinct_values = float(len(set(rewards.tolist())))
        figures["reward.distinct"] = (distinct_values, len(rewards), "distinct values: no interval")
        figures["reward.maximum"] = (float(rewards.max()), len(rewards), "maximum: no interval")
    if score is not None:
        figures["score.maximum"] = (score.maximum, len(score.steps), "maximum of the batch means: no interval")
        figures["score.std"] = (score.std, len(score.steps), "population deviation of the batch means: no interval")
    return [
        Measure(name=name, group=one.name, value=value, denominator=float(n), method=method)
        for name, (value, n, method) in figures.items()
    ]
