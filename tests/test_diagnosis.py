"""The run diagnosis: layers on planted logs, simulated runs at reduced size, and logs that show little or nothing."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from corpora_in_tests import run_command
from diagnosis_claims import Claim, claims_of_r3, claims_of_r4, diagnosed, figures, finding, simulated
from jsonschema import validate

import trajlab
from trajlab.checks.facts import Reading, thresholds
from trajlab.checks.layers import COUNT, LAYERS
from trajlab.checks.layers.base import RunFacts
from trajlab.checks.layers.l11_reward import errors_as_zero
from trajlab.checks.run_facts import diagnosable
from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError
from trajlab.measures.configuration import Configuration
from trajlab.measures.frame import Population, select
from trajlab.measures.group_signal import group_signal
from trajlab.measures.signals import Signal
from trajlab.report import diagnosis_page as page
from trajlab.report.diagnose import diagnose
from trajlab.report.result import Result, judge, read_result, result_schema
from trajlab.report.run_diagnosis import RunDiagnosis
from trajlab.report.written.phrases import Phrases
from trajlab.report.written.words import Words
from trajlab.simulate import load_description
from trajlab.simulate.verl_dump import write_file_logger

JUDGED = ("ok", "warn", "alarm")
SECTIONS = (
    page.conclusion,
    page.layers,
    page.onsets,
    page.order,
    page.symptoms,
    page.layer_by_layer,
    page.funnel,
    page.configured,
    page.provenance,
    page.sample,
)


def metric_log(path: Path, series: Mapping[str, Sequence[float | None]], steps: list[int] | None = None) -> Path:
    """A log of verl's file logger; ``None``: not logged at that step, NaN as the logger writes it."""
    count = max(map(len, series.values()))
    lines = [
        {"step": step, "data": {name: values[i] for name, values in series.items() if values[i] is not None}}
        for i, step in enumerate(steps or range(1, count + 1))
    ]
    write_file_logger(path, lines)
    return path


def steady(
    more: Mapping[str, Sequence[float | None]] | None = None, *, n: int = 60, seed: int = 0
) -> dict[str, Sequence[float | None]]:
    """A healthy run under PPO with a critic, on one page."""
    rng = np.random.default_rng(seed)
    noise = lambda level, width: (level + width * rng.standard_normal(n)).tolist()  # noqa: E731
    score = (0.3 + 0.3 * np.arange(n) / n + 0.02 * rng.standard_normal(n)).tolist()
    return {
        "critic/score/mean": score,
        "critic/rewards/mean": score,
        "actor/entropy": noise(0.5, 0.01),
        "actor/kl_loss": np.abs(noise(0.01, 0.002)).tolist(),
        "actor/ppo_kl": np.abs(noise(0.001, 0.0002)).tolist(),
        "actor/pg_clipfrac": np.abs(noise(0.05, 0.01)).tolist(),
        "actor/grad_norm": np.abs(noise(1.0, 0.1)).tolist(),
        "critic/advantages/max": noise(2.0, 0.1),
        "critic/advantages/min": noise(-2.0, 0.1),
        "critic/advantages/mean": noise(0.0, 0.05),
        "critic/grad_norm": np.abs(noise(5.0, 1.0)).tolist(),
        "critic/vf_explained_var": noise(0.3, 0.02),
        "timing_s/step": noise(100, 2),
        "timing_s/gen": noise(70, 1),
        "response_length/clip_ratio": np.abs(noise(0.01, 0.002)).tolist(),
        "perf/max_memory_allocated_gb": noise(50, 0.2),
        "val-core/math/acc": [0.3 + 0.2 * i / n if i % 20 == 19 else None for i in range(n)],
    } | dict(more or {})


def of_logs(folder: Path, run: str | None = None) -> RunDiagnosis:
    corpus = trajlab.ingest(folder, out=folder.parent / f"{folder.name}-corpus", jobs=1)
    return RunDiagnosis(corpus, Population(run=run or diagnosable(corpus)[0]))


def of_series(
    tmp_path: Path, series: Mapping[str, Sequence[float | None]], steps: list[int] | None = None
) -> RunDiagnosis:
    metric_log(tmp_path / "logs" / "toy.jsonl", series, steps)
    return of_logs(tmp_path / "logs")


def statuses(d: RunDiagnosis) -> dict[str, str]:
    return {layer.code: layer.status for layer in d.diagnosis.layers}


def shows_whole(d: RunDiagnosis) -> Result:
    """The result holds to its schema, and every section of the page can be made."""
    result = d.result()
    plain = msgspec.json.decode(msgspec.json.encode(result))
    validate(plain, result_schema())
    assert [layer["code"] for layer in plain["layers"]] == [f"L{n}" for n in range(1, COUNT + 1)]
    for section in SECTIONS:
        assert section(d)
    for layer in result.layers:
        if layer.status == "unobserved":
            assert layer.advice, f"{layer.code} says what to log"
        if layer.status == "not_applicable":
            assert layer.message
    return result


@pytest.fixture(scope="module")
def maths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunDiagnosis]:
    """R3 with a quarter of its prompts, R4 with a tenth."""
    corpus = simulated(tmp_path_factory.mktemp("maths"), ("R3", "R4"), {"R3": 0.25, "R4": 0.1})
    return {name: diagnosed(corpus, name) for name in ("R3", "R4")}


def missed(claims: list[Claim]) -> list[str]:
    return [f"{item.text}: {item.found}" for item in claims if not item.ok]


def test_r3_at_a_quarter_of_its_size(maths: dict[str, RunDiagnosis]) -> None:
    claims = list(claims_of_r3(maths["R3"]))
    assert len(claims) == 8
    assert missed(claims) == []
    assert statuses(maths["R3"]) | {
        "L2": "alarm",
        "L5": "not_applicable",
        "L10": "unobserved",
        "L12": "alarm",
    } == statuses(maths["R3"])
    assert len(maths["R3"].diagnosis.covered) == 13
    assert judge(maths["R3"].result()).status == "failed"


def test_r4_at_a_tenth_of_its_size(maths: dict[str, RunDiagnosis]) -> None:
    assert missed(list(claims_of_r4(maths["R4"]))) == []
    loud = {f.code for f in maths["R4"].findings if f.status in ("warn", "alarm")}
    assert {"D103", "D105", "D601"} <= loud, "plateau, two cuts, entropy"
    assert not loud & {"B001", "D104", "D101"}


def test_series_figures_do_not_depend_on_the_size_of_the_batch(maths: dict[str, RunDiagnosis]) -> None:
    wanted = [
        c
        for c in figures(maths["R4"], load_description("R4"))
        if c.section in ("6", "7", "8") and "score" not in c.text
    ]
    assert len(wanted) > 12
    assert missed(wanted) == []


def test_result_and_page_of_simulated_runs(maths: dict[str, RunDiagnosis]) -> None:
    assert len(maths["R4"].diagnosis.covered) == 13
    r3 = shows_whole(maths["R3"])
    assert r3.diagnosis is not None
    assert (r3.diagnosis.covered, r3.diagnosis.of) == (13, 15)
    assert {row.trajectory_id for row in r3.sample}
    assert all("alarm" in row.why for row in r3.sample)
    first = next(f for f in r3.findings if f.code == "A010")
    assert (first.layer, first.status) == ("L2", "alarm")
    assert r3.diagnosis.onsets[0].signal == "kl"
    assert "The run is collapsing since step 25. KL runs away" in page.conclusion(maths["R3"])


def test_the_page_in_chinese_leaves_no_clause_of_a_simulated_run_in_english(maths: dict[str, RunDiagnosis]) -> None:
    for d in maths.values():
        chinese = copy.copy(d)
        chinese.words, chinese.phrases = Words("zh", "diagnosis"), Phrases("zh")
        for item in d.findings:
            for text in (item.message, item.advice, *(evidence.text for evidence in item.evidence)):
                chinese.phrases(text)
        page.onsets(chinese), page.order(chinese), page.symptoms(chinese)
        assert chinese.phrases.unknown == set()
        assert len(page.layers(chinese)) > 2000
    chinese.diagnosis, chinese.facts = maths["R3"].diagnosis, maths["R3"].facts
    shown = page.conclusion(chinese)
    assert "训练正在崩塌，始于步 25。KL 失控：与参考模型的 KL在步 28 为" in shown
    assert "工具使用下降（始于步 29）" in shown


def test_result_is_the_same_twice(maths: dict[str, RunDiagnosis]) -> None:
    again = diagnosed(maths["R4"].corpus, "R4")
    assert msgspec.json.encode(again.result()) == msgspec.json.encode(maths["R4"].result())


def test_a_healthy_metric_log_alone(tmp_path: Path) -> None:
    d = of_series(tmp_path, steady())
    found = statuses(d)
    assert [code for code in ("L1", "L2", "L3", "L4", "L5", "L6", "L8", "L9", "L10") if found[code] != "ok"] == []
    assert [found[code] for code in ("L11", "L12", "L13")] == ["unobserved"] * 3
    assert d.collapses == []
    assert judge(shows_whole(d)).exit_code == 0


@pytest.mark.parametrize(
    "broken",
    [{"actor/grad_norm": [1.0] * 30 + [math.nan] * 30}, {"actor/grad_norm": [1.0] * 30 + [math.nan] + [1.0] * 29}],
)
def test_a_gradient_that_is_no_number_stays_visible(tmp_path: Path, broken: dict[str, list[float | None]]) -> None:
    d = of_series(tmp_path, steady(broken))
    told = finding(d, "D403")
    still = math.isnan(broken["actor/grad_norm"][-1] or 0.0)
    assert (told.status, told.step) == ("alarm" if still else "warn", 31)
    shows_whole(d)


def test_layers_warn_about_what_is_planted(tmp_path: Path) -> None:
    n = 60
    planted: dict[str, Sequence[float | None]] = {
        "critic/rewards/mean": [0.2] * n,  # the KL penalty takes half
        "critic/advantages/max": [2.0] * 40 + [-0.1] * 3 + [2.0] * 17,
        "actor/pg_clipfrac": [0.4] * n,
        "critic/vf_explained_var": [0.05] * n,
        "actor/entropy": np.linspace(0.5, 0.2, n).tolist(),
        "response_length/clip_ratio": [0.07] * n,
        "prompt_length/clip_ratio": [0.2] * n,
        "timing_s/step": np.linspace(100, 190, n).tolist(),
        "perf/max_memory_allocated_gb": np.linspace(50, 70, n).tolist(),
        "rollout_corr/kl": [0.2] * n,
        "rollout_corr/rollout_is_mean": [3.0] * n,
        "rollout_corr/rollout_is_eff_sample_size": [0.2] * n,
        "val-core/math/acc": [0.5 - 0.2 * i / n if i % 20 == 19 else None for i in range(n)],
    }
    d = of_series(tmp_path, steady(planted))
    loud = {f.code: f.step for f in d.findings if f.status in ("warn", "alarm")}
    wanted = {"D201", "D401", "D404", "D405", "D502", "D505", "D601", "D701", "D702", "D802", "D901", "D1001"}
    assert wanted - loud.keys() == set()
    assert loud["D505"] == 41
    assert finding(d, "D702").status == "alarm"
    shows_whole(d)


def test_hand_over_needs_twenty_steps_in_a_row(tmp_path: Path) -> None:
    short = [0.3] * 20 + [0.5] * 19 + [0.3] + [0.5] * 19 + [0.3]
    assert (
        "no hand-over yet"
        in finding(of_series(tmp_path / "a", steady({"critic/vf_explained_var": short})), "D502").message
    )
    enough = [0.3] * 20 + [0.5] * 20 + [0.3] * 20
    told = finding(of_series(tmp_path / "b", steady({"critic/vf_explained_var": enough})), "D502")
    assert "in a row at step 40" in told.message


def test_critic_is_starved_only_far_over_its_clip(tmp_path: Path) -> None:
    for name, clip, wanted in (("a", 1.0, "alarm"), ("b", 10.0, "ok"), ("c", None, "unobserved")):
        folder = tmp_path / name
        metric_log(folder / "logs" / "toy.jsonl", steady())
        if clip is not None:
            (folder / "logs" / "config.yaml").write_text(f"critic:\n  grad_clip: {clip}\n", "utf-8")
        told = finding(of_logs(folder / "logs"), "D501")
        assert told.status == wanted, told.message


def test_thresholds_are_overridden_by_name(tmp_path: Path) -> None:
    folder = metric_log(tmp_path / "logs" / "toy.jsonl", steady()).parent
    corpus = trajlab.ingest(folder, out=tmp_path / "corpus", jobs=1)
    run = diagnosable(corpus)[0]
    strict = RunDiagnosis(corpus, Population(run=run), overrides={"clip_fraction.high": 0.01})
    assert finding(strict, "D401").status == "warn"
    with pytest.raises(UsageError, match="thresholds"):
        RunDiagnosis(corpus, Population(run=run), overrides={"clip_fraction.never": 1.0})


# Logs that show little: a clear *unobserved* or a problem, never a false OK, never a traceback.


def test_one_step_only_judges_no_course(tmp_path: Path) -> None:
    d = of_series(tmp_path, {name: values[:1] for name, values in steady().items()})
    found = statuses(d)
    assert [code for code in ("L1", "L6") if found[code] in JUDGED] == []
    assert "not observed" in page.conclusion(d)
    shows_whole(d)


def test_constant_series_are_no_alarm_and_no_trend(tmp_path: Path) -> None:
    d = of_series(tmp_path, {name: [0.5] * 60 for name in steady() if not name.startswith("val")})
    assert d.collapses == []
    assert "no trend shown" in finding(d, "D101").message
    shows_whole(d)


def test_nan_everywhere_is_not_observed(tmp_path: Path) -> None:
    d = of_series(tmp_path, {name: [math.nan] * 30 for name in steady()})
    found = statuses(d)
    assert found.pop("L4") == "alarm", "a gradient that never was a number"
    assert [code for code, status in found.items() if status == "ok"] == []
    assert d.facts.reading.problems.get("not_finite", 0) + len(d.facts.signals["actor.grad_norm"].broken) > 0
    shows_whole(d)


def test_steps_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    series = steady()
    order = np.random.default_rng(0).permutation(60)
    shuffled = {name: [values[i] for i in order] for name, values in series.items()}
    d = of_series(tmp_path / "a", shuffled, [int(i) + 1 for i in order])
    assert d.facts.signals["entropy"].steps.tolist() == sorted(d.facts.signals["entropy"].steps.tolist())
    assert sum(d.facts.reading.problems.values()) > 0, "said, not only mended"
    shows_whole(d)


def test_two_metric_logs_beside_two_runs(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    metric_log(folder / "one.jsonl", steady())
    metric_log(folder / "two.jsonl", steady(seed=1))
    corpus = trajlab.ingest(folder, out=tmp_path / "corpus", jobs=1)
    runs = diagnosable(corpus)
    assert len(runs) == 2
    for run in runs:
        d = RunDiagnosis(corpus, Population(run=run))
        assert len(d.steps) == 60
        shows_whole(d)


def test_a_run_that_is_still_being_written(tmp_path: Path) -> None:
    path = metric_log(tmp_path / "logs" / "toy.jsonl", steady())
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 40])
    d = of_logs(tmp_path / "logs")
    assert len(d.facts.signals["entropy"].values) == 59
    assert sum(d.facts.reading.problems.values()) > 0
    shows_whole(d)


def test_metrics_absent_leaves_their_layers_unobserved(tmp_path: Path) -> None:
    rows = [
        {"input": "user\n1+1?\nassistant\n", "output": "2", "gts": "2", "score": 1.0, "step": s, "acc": 1.0}
        for s in range(1, 13)
    ]
    folder = tmp_path / "rollouts"
    folder.mkdir()
    for row in rows:
        (folder / f"{row['step']}.jsonl").write_text(
            f"{json.dumps(row)}\n{json.dumps(row | {'score': 0.0, 'acc': 0.0})}\n", "utf-8"
        )
    d = of_logs(folder)
    found = statuses(d)
    wanted = dict.fromkeys(("L2", "L4", "L6", "L8", "L9", "L10"), "unobserved")
    assert {code: found[code] for code in wanted} == wanted
    assert found["L13"] in JUDGED
    shows_whole(d)


def test_no_metric_and_no_trajectory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "empty.jsonl").write_text("", "utf-8")
    with pytest.raises(UsageError):
        diagnose(tmp_path / "logs", tmp_path / "out", jobs=1)


def test_metric_log_that_lies_elsewhere(tmp_path: Path) -> None:
    metric_log(tmp_path / "monitor" / "anything.jsonl", steady(n=12))
    row = {"input": "user\n1+1?\nassistant\n", "output": "2", "gts": "2", "score": 1.0, "acc": 1.0}
    for run in ("a", "b"):
        folder = tmp_path / "dumps" / run
        folder.mkdir(parents=True)
        for step in range(1, 13):
            (folder / f"{step}.jsonl").write_text(json.dumps(row | {"step": step}) + "\n", "utf-8")
    with pytest.raises(UsageError, match="--metrics"):
        diagnose(tmp_path / "dumps", tmp_path / "out2", metrics=tmp_path / "monitor", jobs=1)
    result = diagnose(tmp_path / "dumps" / "a", tmp_path / "out", metrics=tmp_path / "monitor", jobs=1, fail_on="never")
    assert [record.run for record in result.records] == ["a"]
    found = result.results()[0]
    assert {layer.code: layer.status for layer in found.layers}["L9"] == "ok"


def test_command_writes_the_report(tmp_path: Path) -> None:
    metric_log(tmp_path / "logs" / "toy.jsonl", steady())
    done = run_command("diagnose", tmp_path / "logs", "-o", tmp_path / "out", "--set", "sample_n=1", timeout=240)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    folder = next((tmp_path / "out").glob("run_diagnosis-*"))
    result = read_result(folder)
    assert result is not None
    assert len(result.layers) == COUNT
    html = (folder / "report.html").read_text("utf-8")
    for words in ("Conclusion", "The fifteen layers", "What moved first", "✓ ok", "? not observed"):
        assert words in html
    wrong = run_command("diagnose", tmp_path / "logs", "-o", tmp_path / "out", "--run", "nobody")
    assert wrong.returncode == 2
    assert "no run 'nobody'" in wrong.stderr


def test_layers_are_the_fifteen() -> None:
    assert [layer.code for layer in LAYERS] == [f"L{n}" for n in range(1, 14)]
    assert isinstance(Corpus, type)


def test_seeds_of_an_arm_stand_beside_each_other(tmp_path: Path) -> None:
    for seed in range(3):
        metric_log(tmp_path / "arm" / f"seed{seed}.jsonl", steady(seed=seed))
    corpus = trajlab.ingest(tmp_path / "arm", out=tmp_path / "corpus", jobs=1)
    first, *others = diagnosable(corpus)
    d = RunDiagnosis(corpus, Population(run=first), seeds=others)
    assert "mean score of 3 seeds" in finding(d, "D107").message
    assert any(panel.title == "score of the seeds" for panel in d.diagnosis.layers[0].panels)
    assert finding(RunDiagnosis(corpus, Population(run=first)), "D107").status == "unobserved"


# Single checks, on facts made by hand.


def bare_facts(rows: pl.DataFrame | None = None, **signals: Sequence[float]) -> RunFacts:
    return RunFacts(
        run="toy",
        signals={name: Signal(name, np.arange(1, len(v) + 1), np.asarray(v), "metrics") for name, v in signals.items()},
        thresholds=thresholds(),
        settings=Configuration({}, None, {}),
        applied=[],
        reading=Reading(0, 0, {}, 0, 0, 0, {}, 0),
        rewards=rows,
    )


def test_failures_of_the_system_trained_on_with_reward_zero() -> None:
    ends = ["success", "infrastructure_error", "environment_error", "verifier_error", "infrastructure_error"]
    rows = pl.DataFrame(
        {
            "termination": ends, "reward": [1.0, 0.0, 0.0, None, 0.0], "train_step": [1, 2, 3, 3, 4],
            "split": [None, None, "train", None, "validation"],
        }
    )  # fmt: skip
    told = errors_as_zero(bare_facts(rows))
    assert (told.status, told.step) == ("warn", 2)
    assert "2 of 3 errors (50.0 %" in told.message, "validation is not trained on, a null reward not either"
    assert [item.text for item in told.evidence] == ["environment error: 1", "infrastructure error: 1"]
    fine = errors_as_zero(bare_facts(rows.filter(pl.col("termination") == "success")))
    assert fine.status == "ok"
    unknown = errors_as_zero(bare_facts(rows.with_columns(termination=pl.lit(None, pl.String))))
    assert unknown.status == "unobserved"


def test_a_spike_is_explained_by_its_hollow_batch(tmp_path: Path) -> None:
    norm, hollow = [5.0] * 60, [0.0] * 60
    norm[29], norm[44], hollow[29] = 233.0, 40.0, 0.94
    d = of_series(tmp_path, steady({"critic/grad_norm": norm, "response/aborted_ratio": hollow}))
    told = finding(d, "D504")
    assert told.status == "ok", "single spikes never act"
    first, second = (item.text for item in told.evidence)
    assert first.startswith("233 at step 30; a hollow batch: 94 %")
    assert second.startswith("40 at step 45; not explained")
    row = next(row for row in d.diagnosis.symptoms if row.key == "hollow_spike")
    assert (row.shown, row.step, row.harmless) == (True, 30, True)


def test_a_rate_that_a_resume_kept_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    metric_log(folder / "toy.jsonl", steady({"critic/lr": [5e-6] * 40 + [2.5e-6] * 20, "actor/lr": [1e-6] * 60}))
    text = "actor_rollout_ref:\n  actor:\n    optim:\n      lr: 1e-6\ncritic:\n  optim:\n    lr: 2.5e-6\n"
    (folder / "config.yaml").write_text(text, "utf-8")
    d = of_logs(folder)
    told = finding(d, "D506")
    assert (told.status, told.step) == ("warn", 1)
    assert "another value at 40 steps of 60" in told.message
    assert finding(d, "D407").status == "ok"
    assert d.diagnosis.order[0].code == "D506", "what was configured comes before what followed"


def test_what_groups_give_by_hand(tmp_path: Path) -> None:
    folder = tmp_path / "rollouts"
    folder.mkdir()
    lines = []
    for task, scores in (("a", (1.0, 0.0)), ("b", (0.0, 0.0)), ("c", (1.0, 1.0)), ("d", (0.0, 1.0))):
        lines += [
            {
                "input": f"user\n{task}?\nassistant\n",
                "output": "x" * (10 if s else 30),
                "gts": "x",
                "score": s,
                "step": 1,
            }
            for s in scores
        ]
    (folder / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    corpus = trajlab.ingest(folder, out=tmp_path / "corpus", jobs=1)
    found = group_signal(select(corpus, Population(run=corpus.runs[0])))
    assert found is not None
    assert (found.groups, found.flat, found.attempts) == (4, 2, 4)
    assert found.spent.value == pytest.approx(80 / 160)
    assert found.length_advantage == pytest.approx(-1.0), "the wrong answers are the longer ones"
    assert found.prompts_that_count == pytest.approx(0.5)


def test_funnel_names_what_each_stage_lost(maths: dict[str, RunDiagnosis]) -> None:
    stages = {stage.name: stage for stage in maths["R3"].funnel}
    rows = maths["R3"].trajectories.frame.height
    assert stages["episodes started"].count == stages["reward available"].count == rows
    assert stages["optimizer updates"].count == 49 * 8, "batches of 32 in mini-batches of 4"
    assert stages["accepted by freshness and ratio gates"].count is None
    assert (stages["effective action tokens"].count or 0) > rows
