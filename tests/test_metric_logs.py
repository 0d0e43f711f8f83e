"""Metric logs of a trainer beside its rollouts: what is read, whose it is, and what a comparison makes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.errors import InfrastructureError
from trajlab.measures.applied import Applied, applied, as_applied
from trajlab.measures.budgets import budget, spent_by_metrics
from trajlab.measures.compare import compare_sides, side
from trajlab.measures.configuration import Configuration
from trajlab.measures.frame import Population, logged_series, select
from trajlab.measures.partitions import configured_epochs, disagreeing, partitions
from trajlab.measures.reconciled import reconciled
from trajlab.measures.score_series import score_series
from trajlab.measures.validation import Validation, validation_differences
from trajlab.metric_logs.naming import common_name
from trajlab.report import sections
from trajlab.report.compare_runs import RunComparison
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.written.document import to_markdown
from trajlab.simulate.verl_dump import write_generations

EPOCHS = [0, 0, 0, 1, 1, 2, 2]
"""Trainer's epoch of steps 1 to 7; by `config.yaml` there are three epochs, in equal parts 1, 3, 5."""
CORRECT = [0, 1, 2, 2, 3, 4, 4]
"""Of four trajectories a step."""


def log(path: Path, rows: Sequence[dict[str, Any] | str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))


def metric_rows(**more: Sequence[float | None]) -> list[dict[str, Any]]:
    rows = []
    for place, epoch in enumerate(EPOCHS):
        data: dict[str, Any] = {"training/epoch": epoch, "critic/score/mean": CORRECT[place] / 4, "actor/lr": 1e-6}
        rows.append({"step": place + 1, "data": data | {name: values[place] for name, values in more.items()}})
    return rows


def a_run(folder: Path, metrics: Sequence[dict[str, Any] | str] | None, config: str | None = None) -> None:
    """Seven steps of four trajectories: two tasks twice each."""
    for step, right in enumerate(CORRECT, 1):
        acc = [float(k < right) for k in range(4)]
        columns: dict[str, list[Any]] = {
            "input": [f"system\nS\nuser\nTask {k // 2}\nassistant\n" for k in range(4)],
            "output": [f"The answer of {folder.name} is {k} at {step}." for k in range(4)],
            "gts": ["1"] * 4,
            "score": acc,
        }  # fmt: skip
        write_generations(folder / "rollouts", step, columns, {"acc": acc}, "0.8")
    if metrics is not None:
        log(folder / "metrics" / "project" / f"{folder.name}.jsonl", metrics)
    settings = "trainer:\n  total_epochs: 3\nactor_rollout_ref:\n  actor:\n    optim:\n      lr: 1e-6\n"
    (folder / "config.yaml").write_text(settings if config is None else config)


@pytest.fixture
def two(tmp_path: Path) -> Corpus:
    tokens: dict[str, list[float | None]] = {"response_length/mean": [10.0] * 7, "timing_s/step": [5.0] * 7}
    tokens["val-core/t/acc/mean@1"] = [None] * 6 + [0.682]
    a_run(tmp_path / "logs" / "A", metric_rows(**tokens))
    tokens["val-core/t/acc/mean@1"] = [0.5, None, None, None, None, None, 0.646]
    a_run(tmp_path / "logs" / "B", metric_rows(**tokens), "actor_rollout_ref:\n  actor:\n    optim:\n      lr: 2e-6\n")
    return trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")


def test_what_a_log_holds_is_read_and_what_it_does_not_is_told(tmp_path: Path) -> None:
    rows: list[dict[str, Any] | str] = [
        {"step": 1, "data": {"training/epoch": 0, "a/b": "text", "c": None, "d": True}, "timestamp": "2025-01-01"},
        "{broken", {"step": "one", "data": {}}, {"step": 2, "data": {"e": 10**400, "actor/lr": 1e-6}},
        '{"step": 3, "data": {"f": NaN, "g": Infinity}}', {"step": 1, "data": {"training/epoch": 4}},
    ]  # fmt: skip
    a_run(tmp_path / "logs" / "A", rows)
    corpus = trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")
    read = corpus.metrics.select("run", "line", "step", "name", "raw_name", "value").collect().rows()
    assert read == [
        ("A", 1, 1, "epoch", "training/epoch", 0.0), ("A", 1, 1, None, "c", None), ("A", 1, 1, None, "d", 1.0),
        ("A", 4, 2, None, "e", None), ("A", 4, 2, "actor.lr", "actor/lr", 1e-6), ("A", 5, 3, None, "f", None),
        ("A", 5, 3, None, "g", None), ("A", 6, 1, "epoch", "training/epoch", 4.0),
    ]  # fmt: skip
    problems = corpus.problems.filter(pl.col("source").str.contains("metrics")).select("line", "code").collect().rows()
    assert problems == [
        (2, "unreadable_record"), (3, "unreadable_record"), (4, "not_finite"), (5, "not_finite"), (5, "not_finite"),
        (6, "metrics_repeated"),
    ]  # fmt: skip
    odd = corpus.metrics.filter(pl.col("value").is_null()).select("raw_name", "logged_as", "counts").collect().rows()
    assert odd == [("c", "null", True), ("e", "inf", True), ("f", "nan", True), ("g", "inf", True)]
    assert logged_series(corpus, "epoch").rows() == [("A", 1, 4.0)]  # what was logged again counts
    assert corpus.sources.filter(pl.col("role") == "metrics").collect().height == 1


def test_names_are_common_or_none() -> None:
    both = [common_name(f"{start}/swe/acc/mean@1", "verl") for start in ("val-core", "val")]
    assert both == ["val.swe/acc/mean@1"] * 2
    names = [common_name(name, "verl") for name in ("critic/score/mean", "critic/score/p95", "critic/score/")]
    assert names == ["score.mean", None, None]


def test_a_log_belongs_to_the_nearest_run_and_else_to_the_one_it_is_named_for(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    a_run(logs / "A", metric_rows())
    a_run(logs / "B", None)
    log(logs / "central" / "project" / "B.jsonl", metric_rows())
    log(logs / "central" / "project" / "nobody.jsonl", metric_rows())
    corpus = trajlab.ingest(logs, out=tmp_path / "corpus")
    runs = corpus.metrics.select("source", "run").unique().sort("source").collect().rows()
    assert runs == [("A/metrics/project/A.jsonl", "A"), ("central/project/B.jsonl", "B"),
                    ("central/project/nobody.jsonl", "central/project/nobody")]  # fmt: skip
    problems = corpus.problems.filter(pl.col("code") == "metrics_without_run").collect()
    assert problems["source"].to_list() == ["central/project/nobody.jsonl"]
    alone = trajlab.ingest(logs / "A", out=tmp_path / "alone")
    assert alone.metrics.select(pl.col("run").unique()).collect()["run"].to_list() == alone.runs == ["A"]


def test_the_trainers_epochs_serve_where_the_rollouts_have_none(two: Corpus, tmp_path: Path) -> None:
    chosen = select(two, Population(run="A"))
    assert (chosen.epochs_from, chosen.periods) == ("metrics", ["epoch 0", "epoch 1", "epoch 2"])
    counts = chosen.frame.group_by("period").len().sort("period")["len"].to_list()
    assert counts == [12, 8, 8]
    assert select(two, Population(run="A", epoch_boundaries=(3, 5))).epochs_from == "given"
    assert select(two, Population(run="A", steps_per_epoch=2)).epochs_from == "counted"
    a_run(tmp_path / "cut" / "A", metric_rows()[2:])  # a resumed run began its log anew
    partly = select(trajlab.ingest(tmp_path / "cut", out=tmp_path / "partly"), Population(run="A"))
    assert (partly.epochs_from, partly.periods_by) == (None, "quarter")


def test_cuts_that_disagree_are_found_from_the_logs_alone(two: Corpus) -> None:
    found = side("A", two, Population(run="A"))
    cuts = {cut.source: (cut.starts, cut.sizes) for cut in found.partitions}
    assert cuts == {"metrics": ([1, 4, 6], [3, 2, 2]), "configured": ([1, 3, 5], [2, 2, 3])}
    assert disagreeing(found.partitions)
    by_cut = {cut.partition.source: cut.figures for cut in found.cuts}
    # Steps 1-3, 4-5, 6-7 hold 3/12, 5/8 and 8/8 correct; steps 1-2, 3-4, 5-7 hold 1/8, 4/8 and 11/12.
    assert [e.value for e in by_cut["metrics"]["correct_rate"]] == pytest.approx([3 / 12, 5 / 8, 1.0])
    assert [e.value for e in by_cut["configured"]["correct_rate"]] == pytest.approx([1 / 8, 4 / 8, 11 / 12])
    assert [e.value for e in by_cut["configured"]["score"]] == pytest.approx([1 / 8, 4 / 8, 11 / 12])
    given = side("A", two, Population(run="A", epoch_boundaries=(3, 5)))
    assert given.score is not None
    assert (given.rollout_starts, given.score.epoch_starts, given.score.own_partition) == ([1, 3, 5], [1, 4, 6], True)
    assert side("B", two, Population(run="B")).cuts == []  # nothing is configured: one cut only
    assert partitions(two, select(two, Population(run="A", epoch=1)), found.configuration) == []


def test_configured_epochs_are_a_whole_number_above_zero() -> None:
    def of(value: str) -> int | None:
        return configured_epochs(Configuration({"trainer.total_epochs": value}, "test", {}))

    assert [of(value) for value in ("3", "0", "2.5", "many", "9" * 30, "")] == [3, None, None, None, None, None]


def test_logged_scores_are_compared_with_those_of_the_rollouts(two: Corpus) -> None:
    chosen = select(two, Population(run="A"))
    logged = pl.DataFrame({"step": [1, 2, 9], "value": [0.0, 0.5, 1.0]})
    found = score_series(chosen, (), logged)
    assert found is not None
    assert (found.source, found.compared) == ("rollouts", 2)
    assert found.largest_gap == pytest.approx(0.25)
    assert found.gap_steps == [2]
    blind = msgspec.structs.replace(chosen, frame=chosen.frame.with_columns(reward=pl.lit(None, pl.Float64)))
    assert score_series(blind) is None
    only = score_series(blind, (), logged.head(2))
    assert only is not None
    assert (only.source, only.means, only.largest_gap) == ("metrics", [0.0, 0.5], None)


def test_budgets_come_from_a_log_that_covers_every_step(two: Corpus) -> None:
    frame = select(two, Population(run="A")).frame
    spent = spent_by_metrics(two, "A", frame)
    assert spent == {"completion_tokens": 10.0 * 28, "training_seconds": 35.0}
    found = budget("A", frame, spent)
    assert [found.amount(kind) for kind in ("completion_tokens", "training_seconds", "cost")] == [280, 35, None]
    assert spent_by_metrics(two, "A", frame.with_columns(train_step=pl.col("train_step") + 1)) == {}


def test_applied_stands_beside_configured(two: Corpus) -> None:
    settings = Configuration({"actor_rollout_ref.actor.optim.lr": "2e-06"}, "test", {})
    (found,) = applied(two, "B", settings)
    assert (found.applied, found.steps, found.other, found.said) == ([(1e-6, 7)], 7, 7, "1e-06 (7)")
    assert as_applied(settings, [found]).settings == {"actor_rollout_ref.actor.optim.lr": "2e-06 (applied: 1e-06 (7))"}
    (same,) = applied(two, "A", Configuration({"actor_rollout_ref.actor.optim.lr": "1e-06"}, "test", {}))
    assert same.other == 0
    (unknown,) = applied(two, "A", Configuration({}, None, {}))
    assert unknown.other is None
    schedule = Applied("x", "1", [(1.0, 2), (0.5, 1), (0.25, 1), (0.125, 1)], 5, 3)
    assert schedule.said == "0.125 … 1 (5)"


def test_validation_is_told_in_sigma_with_what_it_would_take(two: Corpus) -> None:
    """3.6 points between 0.682 and 0.646 are 1.2 σ of 500 an arm; 80 % power needs about 2,700."""
    sides = [side(name, two, Population(run=name)) for name in ("A", "B")]
    (found,) = compare_sides(sides, validation_n=500).validations
    assert (found.name, found.step, found.first, found.second) == ("val.t/acc/mean@1", 7, 0.682, 0.646)
    assert found.change.value == pytest.approx(-0.036)
    assert found.sigma == pytest.approx(1.2, abs=0.05)
    assert found.needed is not None
    assert 2600 < found.needed < 2800
    (blind,) = compare_sides(sides).validations
    assert (blind.sigma, blind.change.low, blind.needed) == (None, None, found.needed)
    counted = Validation({"val.x": {7: 0.5}}, {7: 50})
    (known,) = validation_differences(("A", counted), ("B", counted), 9)
    assert (known.n, known.change.value, known.needed) == ((50, 50), 0.0, None)
    beyond = Validation({"val.x": {7: 3.5}}, {7: 50})
    (no_share,) = validation_differences(("A", beyond), ("B", counted))
    assert (no_share.sigma, no_share.needed, no_share.change.low) == (None, None, None)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_report_says_it(two: Corpus, language: str) -> None:
    populations = [Population(run=run) for run in ("A", "B")]
    made = RunComparison([two, two], ["A", "B"], populations, validation_n=500, language=language)
    said = to_markdown(made.document)
    assert "1/4/6" in said
    assert "1/3/5" in said
    assert "1.2 σ" in said
    assert "2e-06 (applied: 1e-06 (7))" in said
    assert {"C005", "C007"} <= {finding.code for finding in made.findings()}
    figures = made.section("score") + made.section("differences")
    assert figures.count("<svg") == 2
    assert made.section("quadrants").count("<svg") == 1


def test_a_run_given_twice_is_said_to_be(two: Corpus) -> None:
    made = RunComparison([two, two], ["A", "A"], [Population(run="A")] * 2)
    said = to_markdown(made.document)
    assert "A, A (2) hold the same trajectories" in said
    assert "A, A (2) are level in correct" in said
    assert all(item.told.value == 0 for item in made.comparison.contrasts if item.told.value is not None)
    (pair,) = made.comparison.contributions
    assert (pair.settings, pair.attributable) == ({}, None)


def test_a_corpus_of_an_earlier_version_is_assembled_anew(two: Corpus, tmp_path: Path) -> None:
    (two.folder / "assembled" / "metrics.parquet").unlink()
    with pytest.raises(InfrastructureError, match="Run the same ingest again"):
        Corpus(two.folder)
    again = trajlab.ingest(tmp_path / "logs", out=two.folder)
    assert again.metrics.collect().height > 0


def test_figures_that_are_not_those_of_the_rollouts_are_told(tmp_path: Path) -> None:
    rows = metric_rows(**{"num_turns/mean": [2.0] * 7, "critic/score/max": [0.0] + [1.0] * 6})
    rows[3]["data"]["critic/score/mean"] = 0.9
    a_run(tmp_path / "logs" / "A", rows)
    corpus = trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")
    found = reconciled(corpus, "A").sort("name").rows()
    # A turn of the assistant, and one: verl counts two turns.
    assert found == [("A", "score.max", 7, 7, 1, 0.0, 0.0), ("A", "score.mean", 7, 6, 4, 0.9, 0.5),
                     ("A", "turns.mean", 7, 7, 1, 2.0, 2.0)]  # fmt: skip
    problems = corpus.problems.filter(pl.col("code") == "not_reconciled").select("line", "message").collect().rows()
    assert [line for line, _ in problems] == [4]
    assert problems[0][1].startswith("score.mean: 1 of 7 steps are not what the rollouts give; at step 4 0.9 is logged")
    shown = sections.provenance(EpochAudit(corpus, Population(run="A")))
    assert "6 of 7" in shown
    assert reconciled(corpus, "nobody").is_empty()


def test_a_rate_by_the_name_of_another_trainer_is_held_against_what_was_applied(tmp_path: Path) -> None:
    a_run(tmp_path / "logs" / "A", metric_rows(), "training:\n  x: 1\nlearning_rate: 2e-6\n")
    corpus = trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")
    settings = Configuration({"learning_rate": "2e-06"}, "config.yaml", {})
    (found,) = applied(corpus, "A", settings)
    assert (found.option, found.configured, found.other, found.said) == ("learning_rate", "2e-06", 7, "1e-06 (7)")
