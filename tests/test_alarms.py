"""Alarms over training steps: what they say of planted pathologies, of the five runs, and where nothing can be said."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trajlab
from trajlab.checks.alarm_context import context
from trajlab.checks.alarm_rules import BY_CODE, GATES, RULES
from trajlab.checks.alarms import Alarm, alarms
from trajlab.checks.facts import thresholds
from trajlab.checks.selftest import OWN, first_alarms, matrix
from trajlab.errors import UsageError
from trajlab.measures.step_signals import BY_SIGNAL, SCHEMA, step_signals
from trajlab.simulate import simulate
from trajlab.simulate.step_runs import HEALTHY, PATHOLOGIES, step_runs


def frame(series: dict[str, list[float]], run: str | None = "x", first: int = 1) -> pl.DataFrame:
    rows = [(run, name, first + at, value) for name, values in series.items() for at, value in enumerate(values)]
    told = pl.DataFrame(rows, schema=["run", "signal", "step", "value"], orient="row")
    return told.with_columns(n=pl.lit(None), sd=pl.lit(None), source=pl.lit("metrics")).cast(SCHEMA)  # type: ignore[arg-type]


def by_code(found: list[Alarm]) -> dict[str, Alarm]:
    return {item.finding.code: item for item in found}


def wave(level: float, n: int, size: float = 0.02) -> list[float]:
    return [level * (1 + size * math.sin(2.1 * at)) for at in range(n)]


def test_rules_are_whole() -> None:
    lines = thresholds()
    assert len({rule.code for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.threshold in lines
        assert lines[rule.threshold]["source"]
        for name in (rule.signal, *rule.instead):
            assert name in BY_SIGNAL or name == "flat_loss"
        assert rule.advice.endswith(".")
        assert rule.gate is None or rule.gate in GATES
        if any(name.startswith("warn_") for name in lines[rule.threshold]) and rule.test == "cusum":
            assert rule.first_sign
    assert set(OWN) == {item.name for item in PATHOLOGIES}
    assert {code for codes in OWN.values() for code in codes} <= set(BY_CODE)
    assert {path.signal for path in HEALTHY} <= set(BY_SIGNAL)


@pytest.mark.parametrize("name", [None, "tool_collapse", "reward_hacking", "entropy_collapse"])
def test_one_run_and_many_runs_are_judged_alike(name: str | None) -> None:
    drawn = step_runs(name, 4, np.random.default_rng(9))
    first = first_alarms(drawn)
    for run in range(4):
        rows = []
        for signal, values in drawn.signals.items():
            error = drawn.errors.get(signal)
            for step, value in enumerate(values[run]):
                sd = None if error is None else float(error[run, step]) * 8
                rows.append(("x", signal, step, float(value), None if sd is None else 64, sd, "metrics"))
        found = by_code(alarms(pl.DataFrame(rows, schema=SCHEMA, orient="row"), outcome="outcome_rate"))
        for code, places in first.items():
            told = found[code].first_step if found[code].status == "alarm" else None
            assert told == (int(places[run]) if places[run] >= 0 else None), code


def test_the_selftest_holds_on_few_runs_and_is_reproducible() -> None:
    found = matrix(40, 20, 4)
    assert found.passed, [row for row in found.rows if not row.within]
    few = matrix(20, 4, 5, steps=100)
    assert few == matrix(20, 4, 5, steps=100)
    deaf = {row.name: row for row in matrix(20, 4, 5, 100, {"alarm_truncation.level": 0.9}).rows}["truncation"]
    assert (deaf.told.value, deaf.delay, deaf.within) == (0.0, None, False)


def test_what_is_not_observed_is_never_ok() -> None:
    found = alarms(frame({"score": wave(0.5, 40)}))
    seen = {item.finding.code for item in found if item.status != "unobserved"}
    assert seen == {"A014"}
    for item in found:
        if item.status == "unobserved":
            assert item.finding.advice.startswith("Log ")
    assert alarms(frame({})) == []


@pytest.mark.parametrize(
    "values",
    [[0.5], [0.5] * 10, [math.nan] * 50, [math.inf] * 30, []],
    ids=["one step", "the baseline only", "all NaN", "all infinite", "none"],
)
def test_too_little_is_unobserved(values: list[float]) -> None:
    for rule in RULES:
        found = alarms(frame({rule.signal: values, "tool_use_rate": wave(0.8, 3), "outcome_rate": wave(0.5, 3)}))
        of_rule = by_code(found)[rule.code]
        if rule.test == "runs" and rule.code == "A008" and values[:1] == [0.5]:
            continue  # three flags are enough for it
        assert of_rule.status != "alarm", rule.code
        assert of_rule.status == "unobserved" or rule.test in ("runaway", "runs"), rule.code
        if not any(math.isfinite(value) for value in values):
            assert of_rule.status == "unobserved", rule.code


@pytest.mark.parametrize("level", [0.0, 0.04, 1.0])
def test_a_constant_series_is_quiet(level: float) -> None:
    found = alarms(frame({rule.signal: [level] * 60 for rule in RULES if rule.signal not in ("all_negative", "kl")}))
    told = [item.finding.code for item in found if item.is_collapse]
    assert told == []


def test_order_and_repeats_of_rows_do_not_matter() -> None:
    whole = frame({"tool_use_rate": [*wave(0.8, 30), *wave(0.1, 10)], "kl": wave(0.01, 40, 0.3)})
    shuffled = pl.concat([whole, whole.head(7)]).sample(fraction=1.0, shuffle=True, seed=3)
    assert alarms(shuffled) == alarms(whole)
    assert by_code(alarms(whole))["A001"].first_step == 33


def test_two_runs_are_judged_apart() -> None:
    ill = frame({"tool_use_rate": [*wave(0.8, 30), *wave(0.1, 10)]}, run="ill")
    sound = frame({"tool_use_rate": wave(0.8, 40)}, run="sound")
    nameless = frame({"tool_use_rate": wave(0.8, 40)}, run=None)
    found = alarms(pl.concat([ill, sound, nameless]))
    assert {item.run for item in found if item.is_collapse} == {"ill"}
    assert {item.run for item in found} == {"ill", "sound", None}


def test_only_the_bad_side_is_alarmed() -> None:
    found = by_code(alarms(frame({
        "tool_use_rate": [0.3 + 0.6 * at / 60 for at in range(60)],
        "think_fraction": [0.2 * (1 - at / 60) for at in range(60)],
        "mean_steps": [1.0 + at / 10 for at in range(60)],
        "truncation_rate": [0.3 * (1 - at / 60) for at in range(60)],
    })))  # fmt: skip
    assert {code for code in ("A001", "A002", "A005", "A006") if found[code].status == "alarm"} == set()


def test_an_alarm_says_where_by_what_and_how_often_wrongly() -> None:
    values = [*wave(0.8, 30), 0.7, 0.5, 0.3, 0.2, 0.1, 0.1]
    told = by_code(alarms(frame({"tool_use_rate": values})))["A001"]
    assert told.is_collapse
    assert told.active
    assert told.finding.layer == "L12"
    assert (told.onset_step, told.first_step, told.finding.step) == (32, 34, 34)
    assert "0.2 at step 34" in told.finding.message
    assert "4.4 % of runs of 200 steps" in told.false_alarm_rate
    assert any("33: 0.3" in evidence.text for evidence in told.finding.evidence)


def test_what_recovers_is_said_to_be_over() -> None:
    values = [*wave(0.8, 30), *wave(0.1, 5), *wave(0.8, 30)]
    told = by_code(alarms(frame({"tool_use_rate": values})))["A001"]
    assert told.status == "alarm"
    assert not told.active
    assert "no longer holds" in told.finding.message


def test_entropy_is_judged_with_the_score() -> None:
    falling = [*wave(0.3, 15), *(0.3 * 0.9**at for at in range(14)), *wave(0.07, 20)]
    rising = [0.3 + 0.01 * at for at in range(49)]
    alone, gaining = alarms(frame({"entropy": falling})), alarms(frame({"entropy": falling, "score": rising}))
    assert by_code(alone)["A011"].status == "alarm"
    assert by_code(gaining)["A011"].status == "warn"
    assert "40 %" in by_code(gaining)["A011"].finding.message


def test_random_collapse_needs_tool_use() -> None:
    entropy = [*wave(0.2, 20), *(0.2 * 1.1**at for at in range(12))]
    falls = [*wave(0.8, 20), *(0.8 * 0.8**at for at in range(12))]
    assert by_code(alarms(frame({"entropy": entropy})))["A013"].status == "unobserved"
    assert by_code(alarms(frame({"entropy": entropy, "tool_use_rate": wave(0.8, 32)})))["A013"].status == "ok"
    assert by_code(alarms(frame({"entropy": entropy, "tool_use_rate": falls})))["A013"].status == "alarm"


def test_three_negative_batches_in_a_row() -> None:
    flags = [0.0] * 20 + [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    told = by_code(alarms(frame({"all_negative": flags})))["A008"]
    assert (told.status, told.first_step, told.onset_step) == ("alarm", 26, 24)
    assert by_code(alarms(frame({"all_negative": flags[:-1]})))["A008"].status == "ok"


def test_reward_without_outcome_needs_both() -> None:
    reward = [*wave(0.3, 15), *(0.3 + 0.03 * at for at in range(15)), *wave(0.75, 10)]
    flat, along = wave(0.3, 40), [value - 0.01 for value in reward]
    assert by_code(alarms(frame({"score": reward})))["A015"].status == "unobserved"
    assert by_code(alarms(frame({"score": reward, "outcome_rate": flat})))["A015"].status == "alarm"
    assert by_code(alarms(frame({"score": reward, "outcome_rate": along})))["A015"].status == "ok"
    named = alarms(frame({"score": reward, "score.part.f": flat}), outcome="score.part.f")
    assert by_code(named)["A015"].status == "alarm"
    sparse = pl.concat([frame({"score": reward}), frame({"val.f": flat}).filter(pl.col("step") % 5 == 0)])
    assert by_code(alarms(sparse))["A015"].status == "alarm"


def test_starved_groups_are_found_and_solved_tasks_are_no_collapse() -> None:
    rng = np.random.default_rng(0)
    starved = (rng.random(80) < 0.92).astype(float).tolist()
    assert by_code(alarms(frame({"flat_batch": starved})))["A022"].status in ("warn", "alarm")
    assert by_code(alarms(frame({"flat_batch": starved})))["A009"].status == "ok"
    dying = [*([0.0, 1.0, 0.0] * 8), *([1.0] * 30)]
    solved = [*(0.3 + 0.03 * at for at in range(24)), *([1.0] * 30)]
    assert by_code(alarms(frame({"flat_batch": dying, "score": wave(0.4, 54, 0.2)})))["A009"].is_collapse
    assert not by_code(alarms(frame({"flat_batch": dying, "score": solved})))["A009"].is_collapse
    loss = [0.0 if flag else 0.3 for flag in starved]
    assert by_code(alarms(frame({"loss": loss})))["A022"].signal == "flat_loss"


def test_a_batch_still_being_written_is_not_judged() -> None:
    values = [*wave(0.8, 30), 0.1, 0.1, 0.1]
    told = frame({"tool_use_rate": values, "mean_steps": wave(2.0, 33)}).with_columns(source=pl.lit("rollouts"))
    counted = told.with_columns(n=pl.when(pl.col("step") == 33).then(20).otherwise(64).cast(pl.Int64))
    assert by_code(alarms(told.with_columns(n=pl.lit(64, pl.Int64))))["A001"].first_step == 33
    assert by_code(alarms(counted))["A001"].status == "ok"


def test_lines_can_be_changed() -> None:
    series = frame({"truncation_rate": [*wave(0.02, 20), *wave(0.3, 20)]})
    assert by_code(alarms(series))["A005"].status == "alarm"
    assert by_code(alarms(series, {"alarm_truncation.level": 0.5}))["A005"].status == "warn"
    with pytest.raises(UsageError, match="alarm_truncation"):
        alarms(series, {"alarm_truncation.lvel": 0.5})


NAMES = sorted({rule.signal for rule in RULES} | {"score", "loss", "flat_batch", "val.x"})
WILD = st.one_of(st.floats(-1e6, 1e6), st.floats(0, 1), st.sampled_from([math.nan, math.inf, -1e308]))


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(WILD, max_size=45), max_size=6))
@settings(deadline=None, max_examples=60)
def test_nothing_breaks_them(series: dict[str, list[float]]) -> None:
    found = alarms(frame(series))
    for item in found:
        seen = any(
            any(abs(value) < 1e100 for value in series.get(name, ()))
            for name in (item.signal, "loss" if item.signal == "flat_loss" else item.signal)
        )
        assert seen or item.status == "unobserved"


def test_simulated_runs_need_a_known_pathology() -> None:
    with pytest.raises(UsageError, match="tool_collapse"):
        step_runs("no such", 2, np.random.default_rng(0))


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[trajlab.Corpus, pl.DataFrame]]:
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for name in ("R3", "R4"):
        simulate(name, folder, scale=0.5)
        corpus = trajlab.ingest(folder / name, out=folder / f"corpus-{name}", texts=False)
        found[name] = (corpus, step_signals(corpus))
    return found


def test_r3_is_alarmed_as_the_first_report_tells_it(five: dict[str, tuple[trajlab.Corpus, pl.DataFrame]]) -> None:
    corpus, signals = five["R3"]
    found = by_code(alarms(signals))
    assert found["A010"].is_collapse
    assert (found["A010"].first_step or 99) <= 28
    assert found["A001"].is_collapse
    assert (found["A001"].first_step or 99) <= 32
    assert found["A013"].status == "alarm"
    beside = context(found["A001"], corpus, signals)
    assert beside.of == 64
    assert len(beside.sample) == 5
    steps = corpus.trajectories.filter(pl.col("trajectory_id").is_in(beside.sample)).collect()["train_step"]
    assert set(steps) == {found["A001"].first_step}
    assert {"kl", "truncation_rate"} <= {item.signal for item in beside.moved}
    assert context(found["A001"], corpus, signals) == beside


def test_r4_is_not_alarmed_and_its_springs_are_seen(five: dict[str, tuple[trajlab.Corpus, pl.DataFrame]]) -> None:
    found = alarms(five["R4"][1])
    assert [item.finding.code for item in found if item.status == "alarm"] == []
    springs = [item.text for item in by_code(found)["A010"].finding.evidence]
    assert any(text.startswith("spring: over 0.05 from step 37 to 37") for text in springs)
    assert any(text.startswith("spring: over 0.05 from step 56 to 56") for text in springs)
    assert by_code(found)["A011"].status == "warn"


def test_signals_are_those_of_the_trajectories(five: dict[str, tuple[trajlab.Corpus, pl.DataFrame]]) -> None:
    corpus, signals = five["R3"]
    rows = corpus.current.filter(pl.col("train_step") == 20).collect()
    of_step = {row["signal"]: row for row in signals.filter(pl.col("step") == 20).iter_rows(named=True)}
    share = rows["tool_used"].mean()
    assert of_step["tool_use_rate"]["value"] == pytest.approx(share)
    assert of_step["tool_use_rate"]["n"] == rows.height == 64
    assert of_step["tool_use_rate"]["sd"] == pytest.approx(rows["tool_used"].cast(pl.Float64).std())
    assert of_step["score"]["value"] == pytest.approx(rows["reward"].mean())
    groups = rows.group_by("group_id").agg(pl.col("reward").n_unique().alias("values"))
    assert of_step["zero_std_groups"]["value"] == pytest.approx((groups["values"] == 1).mean())
    logged = corpus.metrics.filter((pl.col("name") == "entropy") & (pl.col("step") == 20)).collect()["value"][0]
    assert of_step["entropy"]["value"] == logged
    assert of_step["entropy"]["source"] == "metrics"
    assert of_step["score"]["source"] == "rollouts"


def test_public_runs_agree_with_the_reading_by_eye(shared: Path, tmp_path: Path) -> None:
    logs = shared / "samples" / "metric_logs"
    cases = {
        "arvindcr4+tinker-rl-lab/experiments/results/distillation_on_metrics.jsonl": 16,
        "unslothai+notebooks/derived/Ministral_3_(3B)_Reinforcement_Learning_Sudoku_Game.csv": 50,
        "unslothai+notebooks/derived/Advanced_Llama3_1_(3B)_GRPO_LoRA.csv": None,
        "arvindcr4+tinker-rl-lab/experiments/results/arithmetic_metrics.jsonl": None,
        "KotoHanon+VERL-Maze/derived/verl_getting_started.console.log": None,
    }
    if not logs.is_dir():
        pytest.skip("no public metric logs")
    for number, (name, latest) in enumerate(cases.items()):
        corpus = trajlab.ingest(logs / name, out=tmp_path / str(number), run="x", texts=False)
        collapses = [item.first_step for item in alarms(step_signals(corpus)) if item.is_collapse]
        assert (collapses == []) if latest is None else (min(step or 0 for step in collapses) <= latest), name
