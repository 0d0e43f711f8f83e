"""Early against late: the stages, the draws, the declared family, and what may be said of verification."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import numpy as np
import polars as pl
import pytest
from corpora_in_tests import SAMPLES, run_command

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.errors import ExitCode, UsageError
from trajlab.measures.contrast import Contrast
from trajlab.measures.frame import Population, Trajectories, column, select
from trajlab.measures.stages import EXECUTES, EXPLORATORY, PRIMARY, Stages, compare_stages, measure_of, stage_frames
from trajlab.report.result import SCHEMA_FILE
from trajlab.report.written.stages_report import stages_report
from trajlab.simulate import simulate
from trajlab.stats import Estimate, holm


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("r7")
    simulate("r7", folder / "simulated", scale=0.1)
    return trajlab.ingest(folder / "simulated", out=folder / "corpus", texts=False)


@pytest.fixture(scope="module")
def run(corpus: Corpus) -> Trajectories:
    return select(corpus, Population(run="r7"))


def test_stages_are_the_first_and_the_last_quarter_of_the_steps(run: Trajectories) -> None:
    (early, first), (late, last) = stage_frames(run)
    assert (early.first_step, early.last_step, late.first_step, late.last_step) == (1, 45, 136, 180)
    assert (early.there, late.there) == (first.height, last.height)
    assert first["train_step"].max() == 45
    assert last["train_step"].min() == 136


def test_draws_are_without_replacement_and_repeatable(run: Trajectories) -> None:
    one, again, other = (compare_stages(run, 40, seed) for seed in (0, 0, 1))
    assert [stage.drawn for stage in one.stages] == [stage.drawn for stage in again.stages]
    assert one.stages[0].drawn != other.stages[0].drawn
    for stage in one.stages:
        assert len(set(stage.drawn)) == 40
    everything = compare_stages(run, 10_000)
    assert [len(stage.drawn) for stage in everything.stages] == [stage.there for stage in everything.stages]


def test_every_value_is_that_of_the_trajectories_drawn(run: Trajectories) -> None:
    found = compare_stages(run, 60, seed=3)
    assert [item.name for item in found.contrasts] == [*PRIMARY, *EXPLORATORY]
    for stage, name in zip(found.stages, ("first", "second"), strict=True):
        drawn = run.frame.filter(pl.col("trajectory_id").is_in(stage.drawn))
        for item in found.contrasts:
            measure, value = measure_of(item.name), getattr(item, name).value
            top = column(drawn, measure.value())
            if value is None:
                assert np.isnan(top).all()
            elif measure.over is None:
                assert value == pytest.approx(np.nanmean(top))
            else:
                assert value == pytest.approx(np.nansum(top) / np.nansum(column(drawn, measure.over())))
        executes = drawn.filter(pl.col("any_test").is_not_null()).select((pl.col("n_executes") > 0).mean()).item()
        assert getattr(found.executes, name).value == pytest.approx(executes)


def test_the_declared_family_is_adjusted_and_the_rest_is_not(run: Trajectories) -> None:
    found = compare_stages(run, 80)
    family = [item for item in found.contrasts if item.name in PRIMARY]
    assert [item.adjusted for item in family] == pytest.approx(holm([item.p_value for item in family]).tolist())
    assert all(item.adjusted is None for item in found.contrasts if item.name not in PRIMARY)


def made(run: Trajectories, executes: tuple[float, float, float], **directions: int) -> Stages:
    """Stages whose differences are set: (value, low, high) of what executes, and the direction of others."""

    def moved(item: Contrast, value: float, low: float, high: float) -> Contrast:
        change = Estimate(value, low, high, None, 160.0, "set by the test")
        pooled, within = change, Estimate(None, None, None, None, 0.0, "not observed")
        return msgspec.structs.replace(item, pooled=pooled, within=within, adjusted=0.01)

    found = compare_stages(run, 80)
    found.contrasts = [
        moved(item, 0.2 * d, 0.2 * d - 0.1, 0.2 * d + 0.1) if (d := directions.get(item.name)) is not None else item
        for item in found.contrasts
    ]
    found.executes = moved(found.executes, *executes)
    return found


@pytest.mark.parametrize(
    ("change", "verdict"),
    [((-0.03, -0.09, 0.03), "held"), ((0.1, 0.0, 0.2), "held"), ((-0.03, -0.10, 0.04), "not_shown"),
     ((-0.1, -0.2, 0.0), "not_shown"), ((-0.2, -0.29, -0.11), "fell"), ((-0.2, -0.3, -0.10), "not_shown")],
)  # fmt: skip
def test_verification_held_only_with_its_lower_end_above_minus_the_margin(
    run: Trajectories, change: tuple[float, float, float], verdict: str
) -> None:
    found = made(run, change)
    assert found.verification == verdict
    words = {"held": "did not fall by more than the margin", "not_shown": "Not shown:", "fell": "fell by more than"}
    text = str(stages_report(found).sections[0].blocks[1])
    assert words[verdict] in text
    assert sum(word in text for word in words.values()) == 1


@pytest.mark.parametrize(
    ("tests", "suite", "inline", "moved"),
    [(-1, -1, 1, True), (0, -1, 1, True), (-1, 0, 1, True), (0, 0, 1, False), (-1, -1, 0, False), (1, 1, 1, False)],
)
def test_verification_moved_needs_both_halves(
    run: Trajectories, tests: int, suite: int, inline: int, moved: bool
) -> None:
    found = made(run, (0, -0.05, 0.05), any_test_rate=tests, suite_run_rate=suite, inline_rate=inline)
    assert found.moved is moved
    assert ("moved from test runs" in str(stages_report(found).sections[0].blocks[0])) is True
    assert ("Not shown:" in str(stages_report(found).sections[0].blocks[0])) is not moved


def test_intervals_hold_the_truth_in_most_draws(run: Trajectories) -> None:
    """A reduced form of ``tests/studies/stage_draws.py``: of 40 draws 38 should hold the truth, give or take 1.4."""
    frames = [frame for _, frame in stage_frames(run)]
    wanted = ("any_test_rate", "inline_rate", "edits_per_step", "executes_rate")
    truth = {}
    for name in wanted:
        measure = EXECUTES if name == "executes_rate" else measure_of(name)
        below = [1.0 if measure.over is None else column(f, measure.over()).mean() for f in frames]
        values = [np.nanmean(column(f, measure.value())) / b for f, b in zip(frames, below, strict=True)]
        truth[name] = values[1] - values[0]
    hits = dict.fromkeys(wanted, 0)
    for seed in range(40):
        found = compare_stages(run, 60, seed, whole=False)
        for item in [*found.contrasts, found.executes]:
            if item.name in hits:
                change = item.told
                assert change.low is not None
                assert change.high is not None
                hits[item.name] += change.low <= truth[item.name] <= change.high
    assert all(count >= 33 for count in hits.values()), hits


def test_what_has_no_stages_is_a_usage_error(run: Trajectories) -> None:
    chat = select(trajlab.read(SAMPLES / "mini_swe_agent" / "mini-swe-agent-demo"), Population())
    with pytest.raises(UsageError, match="no training step"):
        compare_stages(chat)
    one = msgspec.structs.replace(run, frame=run.frame.filter(pl.col("train_step") == 5))
    with pytest.raises(UsageError, match=r"one training step only \(5\)"):
        compare_stages(one)
    for n, margin in ((0, 0.1), (80, 0.0), (80, 1.0)):
        with pytest.raises(UsageError, match="margin"):
            compare_stages(run, n, margin=margin)


def test_a_run_without_commands_says_so() -> None:
    found = compare_stages(select(trajlab.read(SAMPLES / "verl" / "legacy_run"), Population()), 20)
    nothing = Estimate(None, None, None, None, 0.0, "not observed")
    found.contrasts = [msgspec.structs.replace(item, pooled=nothing) for item in found.contrasts]
    text = str(stages_report(found).sections[0].blocks[0])
    assert "no commands are recorded" in text


def test_the_command_prints_and_writes(corpus: Corpus, tmp_path: Path) -> None:
    done = run_command("stages", corpus.folder, "--n", "80", "-o", tmp_path / "out", "--language", "zh")
    assert done.returncode == ExitCode.PASSED, done.stderr
    folder = tmp_path / "out" / "stages-r7"
    assert done.stdout.startswith((folder / "report.md").read_text("utf-8"))
    document = json.loads((folder / "result.json").read_bytes())
    jsonschema.validate(document, json.loads(SCHEMA_FILE.read_bytes()))
    assert {c["name"] for c in document["changes"] if c["family"] == "primary"} == set(PRIMARY)
    assert len(document["sample"]) == 160
    assert '<html lang="zh"' in (folder / "report.html").read_text("utf-8")
    with pytest.raises(UsageError, match="no run 'r6'"):
        trajlab.stages(corpus.folder, run="r6")


def test_all_trajectories_of_the_stages_are_told_beside_those_drawn(run: Trajectories) -> None:
    found = compare_stages(run, 40)
    frames = [frame for _, frame in stage_frames(run)]
    by_name = {item.name: item for item in found.whole}
    rates = [frame["any_test"].mean() for frame in frames]
    assert [by_name["any_test_rate"].first.value, by_name["any_test_rate"].second.value] == pytest.approx(rates)
    said = " ".join(str(block) for block in stages_report(found).sections[0].blocks)
    assert "and not only those drawn" in said
    everything = compare_stages(run, 10_000)
    assert "and not only those drawn" not in str(stages_report(everything).sections[0].blocks)
    assert compare_stages(run, 40, whole=False).whole == []
