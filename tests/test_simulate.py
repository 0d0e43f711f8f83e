"""Simulated runs show what their descriptions ask for, counted anew from the written files."""

from __future__ import annotations

import json
import math
import os
import statistics
import tomllib
from collections import Counter, defaultdict
from decimal import Decimal
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from trajlab.cli.rules import simulate as command
from trajlab.errors import UsageError
from trajlab.simulate import RUNS, correlated_outcomes, load_description, simulate, success_rates
from trajlab.simulate.apportion import apportion
from trajlab.simulate.rewards import Batch, reward_values, split

SHARED = Path(os.environ.get("TRAJLAB_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))
REFERENCE = SHARED / "reference"
MATHS = ("R1", "R2", "R3", "R4", "R5")
SIZES = {"R1": 992, "R2": 5888, "R3": 6272, "R4": 9728, "R5": 8704}


def described(path):
    return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)


def printed(figure):
    """Half a unit of the last printed decimal."""
    return 0.5 * 10.0 ** Decimal(figure).as_tuple().exponent + 1e-9


def assert_prints(value, figure, what):
    assert abs(float(value) - float(figure)) <= printed(figure), f"{what}: {value} is not {figure}"


def rows_of(run):
    return [
        [json.loads(line) for line in (run.rollouts / f"{step}.jsonl").read_text(encoding="utf-8").splitlines()]
        for step in range(1, 1 + sum(1 for _ in run.rollouts.iterdir()))
    ]


def logged(run, name):
    lines = [json.loads(line) for line in run.metrics.read_text(encoding="utf-8").splitlines()]
    assert [line["step"] for line in lines] == list(range(1, len(lines) + 1))
    return [line["data"].get(name) for line in lines]


def turns_of(row):
    return row["output"].count("\nassistant\n") + 1


def uses_tool(row):
    return "<tool_response>" in row["output"]


def is_correct(row):
    """From the words alone: the last box holds the ground truth."""
    return row["output"].rpartition("\\boxed{")[2].partition("}")[0] == row["gts"] and "\\boxed{" in row["output"]


def parts(values, sizes):
    ends = np.cumsum(sizes).tolist()
    return [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    out = tmp_path_factory.mktemp("full")
    return {name: (run := simulate(name, out), rows_of(run)) for name in MATHS}


@pytest.fixture(scope="module")
def software(tmp_path_factory):
    out = tmp_path_factory.mktemp("software")
    return {name: (run := simulate(name, out, scale=0.125), rows_of(run)) for name in ("r6", "r7")}


def shares(rows):
    cells = Counter((is_correct(row), uses_tool(row)) for row in rows)
    turns = [turns_of(row) for row in rows]
    n = len(rows) / 100
    return {
        "correct_pct": sum(map(is_correct, rows)) / n,
        "zero_pct": sum(row["score"] == 0 for row in rows) / n,
        "negative_pct": sum(row["score"] < 0 for row in rows) / n,
        "tool_use_pct": sum(map(uses_tool, rows)) / n,
        "one_step_pct": sum(turn == 1 for turn in turns) / n,
        "two_step_pct": sum(turn == 2 for turn in turns) / n,
        "three_plus_step_pct": sum(turn >= 3 for turn in turns) / n,
        "mean_steps": statistics.mean(turns),
        "quadrants": {
            "answer_and_tool": cells[True, True] / n,
            "only_answer": cells[True, False] / n,
            "only_tool": cells[False, True] / n,
            "neither": cells[False, False] / n,
        },
    }


def check_run(run, steps, reference):
    """Every figure of a flat table of figures, as the reference has them."""
    rows = [row for step in steps for row in step]
    found = shares(rows)
    assert run.trajectories == len(rows) == reference["trajectories"]
    for name in ("correct_pct", "zero_pct", "negative_pct", "tool_use_pct", "one_step_pct", "two_step_pct",
                 "three_plus_step_pct", "mean_steps"):  # fmt: skip
        assert_prints(found[name], reference[name], name)
    for name, figure in reference["quadrants"].items():
        assert_prints(found["quadrants"][name], figure, name)
    assert len({row["score"] for row in rows}) == reference["unique_rewards"]
    assert_prints(max(row["score"] for row in rows), reference["max_reward"], "max_reward")
    by_epoch = parts(steps, reference["rollout_epoch_steps"])
    epochs = [shares([row for step in epoch for row in step]) for epoch in by_epoch]
    for key, name in (("epoch_correct_pct", "correct_pct"), ("epoch_tool_use_pct", "tool_use_pct"),
                      ("epoch_mean_steps", "mean_steps")):  # fmt: skip
        for epoch, figure in zip(epochs, reference.get(key, epochs), strict=True):
            if figure is not epoch:
                assert_prints(epoch[name], figure, key)
    check_score(run, reference)
    check_training(run, reference)


def check_score(run, reference):
    score = logged(run, "critic/score/mean")
    assert_prints(np.mean(score), reference["avg_score"], "avg_score")
    assert_prints(max(score), reference["max_score"], "max_score")
    if "std" in reference:
        assert_prints(np.std(score), reference["std"], "std")
    for epoch, figure in zip(parts(score, reference["score_epoch_steps"]), reference["epoch_score"], strict=True):
        assert_prints(np.mean(epoch), figure, "epoch_score")
    for step, figure in reference.get("score_at_step", {}).items():
        assert_prints(score[int(step) - 1], figure, f"score at {step}")
    if "first_half_of_epoch_1_score" in reference:
        epoch = parts(score, reference["score_epoch_steps"])[1]
        assert_prints(np.mean(epoch[: len(epoch) // 2]), reference["first_half_of_epoch_1_score"], "first half")
    assert logged(run, "training/epoch") == [
        epoch for epoch, size in enumerate(reference["score_epoch_steps"]) for _ in range(size)
    ]
    # Theil-Sen, the slow way.
    slopes = [(b - a) / (j - i) for i, a in enumerate(score) for j, b in enumerate(score) if j > i]
    assert (statistics.median(slopes) > 0) is (reference["trend"] == "UP")


def check_training(run, reference):
    policy, engineering = reference["policy"], reference.get("engineering", {})
    means = {
        "actor/pg_clipfrac": ("pg_clipfrac_pct", 100), "actor/pg_clipfrac_lower": ("pg_clipfrac_lower_pct", 100),
        "actor/ppo_kl": ("ppo_kl", 1), "actor/kl_loss": ("avg_kl", 1), "actor/grad_norm": ("grad_norm", 1),
        "response_length/clip_ratio": ("response_clip_pct", 100), "prompt_length/clip_ratio": ("prompt_clip_pct", 100),
        "response/aborted_ratio": ("aborted_pct", 100), "timing_s/step": ("avg_step_s", 1),
    }  # fmt: skip
    for metric, (name, unit) in means.items():
        if name in policy | engineering:
            assert_prints(unit * np.mean(logged(run, metric)), (policy | engineering)[name], name)
    kl = logged(run, "actor/kl_loss")
    assert_prints(max(kl), policy["max_kl"], "max_kl")
    for step, figure in reference.get("kl_at_step", {}).items():
        assert_prints(kl[int(step) - 1], figure, f"kl at {step}")
    entropy, told = logged(run, "actor/entropy"), reference["entropy"]
    assert_prints(entropy[0], told["start"], "entropy start")
    assert_prints(entropy[-1], told["end"], "entropy end")
    assert_prints(min(entropy), told["min"], "entropy min")
    assert_prints(100 * (entropy[-1] / entropy[0] - 1), told["change_pct"], "entropy change")
    assert set(logged(run, "actor/lr")) == {float(reference["config"]["lr"])}
    assert all(52 <= gigabytes <= 56 for gigabytes in logged(run, "perf/max_memory_allocated_gb"))
    if engineering:
        gen, step = logged(run, "timing_s/gen"), logged(run, "timing_s/step")
        assert_prints(100 * np.mean(np.array(gen) / np.array(step)), engineering["gen_time_pct"], "gen_time_pct")
        lines = [json.loads(line) for line in run.metrics.read_text().splitlines()]
        times = [np.datetime64(line["timestamp"].rstrip("Z")) for line in lines]
        hours = ((times[-1] - times[0]) / np.timedelta64(1, "ms") / 1000 + step[0]) / 3600
        assert_prints(hours, engineering["total_h"], "total_h")


def as_reference(name):
    """Our description, flat as the reference is."""
    told = described(RUNS / f"{name}.toml")
    series, outcome, behaviour = told["series"], told["outcome"], told["behaviour"]
    policy = {
        key: series[metric][field]
        for key, metric, field in (
            ("avg_kl", "actor/kl_loss", "mean"), ("max_kl", "actor/kl_loss", "max"), ("ppo_kl", "actor/ppo_kl", "mean"),
            ("grad_norm", "actor/grad_norm", "mean"),
        )
        if field in series[metric]
    }  # fmt: skip
    entropy = series["actor/entropy"]
    return {
        **outcome, **behaviour, "trajectories": SIZES[name], "unique_rewards": outcome["distinct_rewards"],
        "rollout_epoch_steps": told["epochs"]["rollout_steps"], "score_epoch_steps": told["epochs"]["score_steps"],
        "avg_score": told["score"]["mean"], "max_score": told["score"]["max"],
        "epoch_score": told["score"]["epoch_mean"], "trend": "DOWN" if name == "R3" else "UP", "policy": policy,
        "entropy": {"start": entropy["first"], "end": entropy["last"], "min": entropy["min"],
                    "change_pct": entropy["change_pct"]},
        "config": {"lr": told["config"]["verl"]["actor_rollout_ref.actor.optim.lr"]},
        **({"std": told["score"]["std"]} if "std" in told["score"] else {}),
        "score_at_step": told["score"].get("at", {}), "kl_at_step": series["actor/kl_loss"].get("at", {}),
    }  # fmt: skip


@pytest.mark.parametrize("name", MATHS)
def test_full_size_shows_every_figure_of_its_description(full, name):
    check_run(*full[name], as_reference(name))


@pytest.mark.skipif(not (REFERENCE / "deepscaler_r1_r5.toml").is_file(), reason="no reference figures")
@pytest.mark.parametrize("name", MATHS)
def test_full_size_shows_every_figure_of_the_reference(full, name):
    reference = described(REFERENCE / "deepscaler_r1_r5.toml")
    check_run(*full[name], reference[name])
    assert load_description(name).prompts == reference["setting"]["prompts"]


@pytest.mark.parametrize("name", MATHS)
def test_identities_hold_exactly(full, name):
    rows = [row for step in full[name][1] for row in step]
    assert all(is_correct(row) == (row["acc"] == 1.0) == (row["score"] > 0) for row in rows)
    assert all((turns_of(row) == 1) is not uses_tool(row) for row in rows)
    assert all((row["tool_reward"] > 0) == uses_tool(row) for row in rows)
    assert all((row["answer_reward"] > 0) == is_correct(row) for row in rows)
    for row in rows:
        total = row["answer_reward"] + row["tool_reward"] + row["format_reward"]
        assert math.isclose(row["score"], total, abs_tol=1e-9)
    assert all(row["n_tool_calls"] == str(row["output"].count("<tool_response>")) for row in rows)
    limit = load_description(name).config.agent_steps
    assert max(map(turns_of, rows)) <= limit


@pytest.mark.parametrize("name", MATHS)
def test_metric_log_reconciles_with_the_rollouts(full, name):
    run, steps = full[name]
    attempts = load_description(name).config.generations
    score = {kind: logged(run, f"critic/score/{kind}") for kind in ("mean", "max", "min")}
    assert score["mean"] == logged(run, "critic/rewards/mean")
    best, turns = logged(run, "critic/advantages/max"), logged(run, "num_turns/mean")
    for i, rows in enumerate(steps):
        rewards = [row["score"] for row in rows]
        assert score["mean"][i] == pytest.approx(np.mean(rewards))
        assert (score["max"][i], score["min"][i]) == (max(rewards), min(rewards))
        assert score["max"][i] == 1.33
        assert turns[i] == pytest.approx(2 * np.mean([turns_of(row) for row in rows]))
        groups = [rewards[k : k + attempts] for k in range(0, len(rewards), attempts)]
        spread = [(max(group) - np.mean(group)) / (np.std(group, ddof=1) + 1e-6) for group in groups]
        assert best[i] == pytest.approx(max(spread), abs=1e-5)
    ranges = np.array(best) - np.array(logged(run, "critic/advantages/min"))
    assert ranges.min() >= 1.35 and ranges.max() <= 3.05


def test_prompts_are_shared_by_attempts_and_come_back_in_later_epochs(full):
    for name in MATHS:
        run = load_description(name)
        prompts = [[row["input"] for row in rows] for rows in full[name][1]]
        for step in prompts:
            assert len(set(step)) == run.config.batch_size
            assert {len(list(group)) for _, group in groupby(step)} == {run.config.generations}
        for epoch in parts(prompts, run.epochs.score_steps):
            assert len({prompt for step in epoch for prompt in step}) == run.config.batch_size * len(epoch)
        assert len({prompt for step in prompts for prompt in step}) <= run.prompts


def test_difficulty_makes_attempts_at_a_prompt_alike(full):
    steps = full["R4"][1]
    groups = [[row["acc"] for row in rows[k : k + 4]] for rows in steps for k in range(0, len(rows), 4)]
    rate = np.mean(groups)
    assert np.mean([np.var(group) for group in groups]) < 0.9 * rate * (1 - rate) * 3 / 4


def test_springs_of_r4_and_runaway_of_r3(full):
    kl = np.array(logged(full["R4"][0], "actor/kl_loss"))
    over = (np.flatnonzero(kl > 0.05) + 1).tolist()
    assert len(over) == 3 and over[:2] == [37, 56]
    assert all(kl[step] < 0.05 for step in over)
    assert kl[over[2] - 1] == max(kl)
    kl = np.array(logged(full["R3"][0], "actor/kl_loss"))
    assert np.flatnonzero(kl > 0.05)[0] + 1 == 25
    assert (kl[24:] > 0.05).all() and np.polyfit(range(12), kl[24:36], 1)[0] > 0


def test_tools_vanish_in_r3(full):
    steps = full["R3"][1]
    rate = [np.mean([uses_tool(row) for row in rows]) for rows in steps]
    assert rate[31] < 0.6 * max(rate[:24])
    assert max(rate[36:]) < 0.02


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["R3", "r6"])
@pytest.mark.parametrize("random", [False, True])
def test_a_seed_decides_every_byte(tmp_path, name, random):
    runs = [simulate(name, tmp_path / str(i), scale=0.03, seed=seed, random=random) for i, seed in enumerate((7, 7, 8))]
    same, again, other = (contents(run.folder) for run in runs)
    assert same == again
    assert same.keys() == other.keys()
    assert all(same[path] != other[path] for path in same if path.startswith(("rollouts", "metrics")))


@pytest.mark.parametrize("name", MATHS)
def test_scale_thins_the_batches_and_keeps_the_steps(tmp_path, name):
    run, told = simulate(name, tmp_path, scale=0.25), load_description(name)
    steps = rows_of(run)
    assert len(steps) == told.steps
    assert {len(rows) for rows in steps} == {told.config.batch_size // 4 * told.config.generations}
    rows = [row for step in steps for row in step]
    found = shares(rows)
    for figure, value in (
        (told.outcome.correct_pct, found["correct_pct"]),
        (told.behaviour.tool_use_pct, found["tool_use_pct"]),
        (told.behaviour.three_plus_step_pct, found["three_plus_step_pct"]),
    ):
        assert abs(value - float(figure)) <= 100 * len(told.epochs.rollout_steps) / len(rows)
    score = logged(run, "critic/score/mean")
    assert np.mean(score) == pytest.approx(float(told.score.mean), abs=0.01)
    assert score == pytest.approx([np.mean([row["score"] for row in step]) for step in steps])


def test_v1_dumps_carry_a_uid_and_no_verdict(tmp_path):
    run = simulate("R2", tmp_path, scale=0.1, variant="v1")
    legacy = simulate("R2", tmp_path / "legacy", scale=0.1)
    for rows, others in zip(rows_of(run), rows_of(legacy), strict=True):
        assert all(list(row) == ["input", "output", "gts", "score", "step", "uid"] for row in rows)
        prompts = defaultdict(set)
        for row in rows:
            prompts[row["uid"].rsplit("_", 2)[0]].add(row["input"])
        assert len(prompts) == 3 and all(len(inputs) == 1 for inputs in prompts.values())
        assert [row["score"] for row in rows] == [row["score"] for row in others]


def test_random_planting_is_right_on_average(tmp_path):
    told = load_description("R3")
    found = [
        shares([row for step in rows_of(simulate("R3", tmp_path / str(seed), scale=0.2, seed=seed, random=True))
                for row in step])
        for seed in range(4)
    ]  # fmt: skip
    assert len({round(one["correct_pct"], 6) for one in found}) == len(found)
    assert np.mean([one["correct_pct"] for one in found]) == pytest.approx(float(told.outcome.correct_pct), abs=2.5)
    assert np.mean([one["tool_use_pct"] for one in found]) == pytest.approx(float(told.behaviour.tool_use_pct), abs=2.5)
    assert np.mean([one["mean_steps"] for one in found]) == pytest.approx(float(told.behaviour.mean_steps), abs=0.05)
    assert np.mean([one["negative_pct"] for one in found]) == pytest.approx(4.7, abs=1.0)


@pytest.mark.parametrize(("rate", "icc"), [(0.1, 0.1), (0.5, 0.5), (0.9, 0.7), (0.3, 0.0)])
def test_drawn_outcomes_have_the_stated_rate_and_correlation(rate, icc):
    outcomes = correlated_outcomes(rate, 20_000, 4, icc, np.random.default_rng(1))
    pairs = [np.corrcoef(outcomes[:, i], outcomes[:, j])[0, 1] for i in range(4) for j in range(i)]
    assert outcomes.mean() == pytest.approx(rate, abs=0.01)
    assert np.mean(pairs) == pytest.approx(icc, abs=0.03)


def test_success_rates_refuse_what_is_no_rate():
    assert success_rates([0.0, 1.0], 0.3, [0.5, 0.5]).tolist() == [0.0, 1.0]
    for rate, icc in ((1.2, 0.1), (0.5, 1.0), (-0.1, 0.1)):
        with pytest.raises(UsageError):
            success_rates(rate, icc, 0.5)


def calls_of(row):
    chunks = row["output"].split("<tool_call>\n")[1:]
    return [json.loads(chunk.partition("\n</tool_call>")[0]) for chunk in chunks]


def fractions(steps):
    counted = [[call["name"] for row in rows for call in calls_of(row)] for rows in steps]
    return [names.count("think") / len(names) if names else None for names in counted]


@pytest.mark.parametrize("name", ["r6", "r7"])
def test_think_fraction_by_window(software, name):
    fraction = fractions(software[name][1])
    windows = {"r6": {(5, 50): (0.06, 0.08), (80, 100): (0.165, 0.185), (115, 115): (0.285, 0.295),
                      (130, 130): (0.715, 0.735)}, "r7": {(1, 180): (0.06, 0.08)}}  # fmt: skip
    for (first, last), (low, high) in windows[name].items():
        inside = [value for value in fraction[first - 1 : last] if value is not None]
        assert low - 0.002 <= min(inside) and max(inside) <= high + 0.002, (first, last)
    if name == "r6":
        assert fraction[79] > 0.15 and max(fraction[:60]) < 0.15


@pytest.mark.skipif(not (REFERENCE / "sao_r6_r7.toml").is_file(), reason="no reference figures")
@pytest.mark.parametrize("name", ["r6", "r7"])
def test_software_runs_show_the_reference(software, name):
    reference, run = described(REFERENCE / "sao_r6_r7.toml")[name], software[name][0]
    fraction = fractions(software[name][1])
    for window in reference["think_fraction"]:
        first, last = window["steps"]
        inside = [value for value in fraction[max(first, 1) - 1 : last] if value is not None]
        for value in (min(inside), max(inside)):
            assert float(window["range"][0]) - 0.005 <= value <= float(window["range"][1]) + 0.005
    validation = [value for value in logged(run, "val-core/swe/acc/mean@1") if value is not None]
    norms, explained = logged(run, "critic/grad_norm"), logged(run, "critic/vf_explained_var")
    if name == "r6":
        assert (min(norms), max(norms)) == tuple(reference["critic_grad_norm_range"])
        assert min(explained) >= 0.0 and max(explained) <= 0.3
        assert all(0.62 <= value <= 0.66 for value in validation)
    else:
        assert 9 <= statistics.median(norms) <= 10
        assert sorted(round(norm) for norm in norms if norm > 29.5) == reference["critic_grad_norm_spikes"]
        assert max(explained) == float(reference["explained_variance"]["best"])
        assert validation[0] == 0.640 and validation[4] == 0.666 and validation[-1] == 0.682
        assert all(0.662 <= value <= 0.670 for value in validation[4:8])
        turns = logged(run, "num_turns/mean")
        assert 50 <= np.mean(turns) <= 60
        assert np.mean(logged(run, "response_length/mean")) == pytest.approx(reference["response_tokens"], rel=0.1)


def test_negative_batches_of_r6_come_three_in_a_row_after_think_rose(software):
    run, steps = software["r6"]
    highest = logged(run, "critic/advantages/max")
    assert [step for step, value in enumerate(highest, 1) if value < 0] == [119, 120, 121]
    means = logged(run, "critic/advantages/mean")
    assert max(map(abs, means)) == pytest.approx(0.25, abs=0.01)
    longest = max(len(list(group)) for negative, group in groupby(means[117:122], key=lambda m: m < 0) if negative)
    assert longest == 3
    spam = [calls_of(row) for row in steps[129]]
    assert any(row["output"].count('"think"') >= 5 for row in steps[129])
    assert sum(len(calls) for calls in spam) / len(spam) > 35


def test_hollow_batch_configuration_and_handover_of_r7(software):
    run, steps = software["r7"]
    norms = logged(run, "critic/grad_norm")
    hollow = norms.index(max(norms)) + 1
    empty = [np.mean([row["output"] == "" for row in rows]) for rows in steps]
    assert [step for step, share in enumerate(empty, 1) if share] == [hollow]
    assert empty[hollow - 1] == logged(run, "response/aborted_ratio")[hollow - 1] >= 0.9
    applied = logged(run, "critic/lr")
    configured = float(yaml.safe_load(run.config.read_text())["critic"]["optim"]["lr"])
    assert configured == 2.5e-6
    assert sum(rate != configured for rate in applied) == 119
    explained = logged(run, "critic/vf_explained_var")
    runs = [len(list(group)) for high, group in groupby(explained, lambda v: v > 0.4) if high]
    assert max(runs) < 20
    lines = [len(list(group)) for high, group in groupby(norms, lambda n: n > 30) if high]
    assert max(lines) == 1


def command_kinds(row):
    commands = [call["arguments"].get("command", "") for call in calls_of(row) if call["name"] == "bash"]
    tests = [command for command in commands if "pytest" in command]
    return {
        "suite": any(".py" not in command for command in tests),
        "any_test": bool(tests),
        "inline": any(" -c " in command or command.startswith(("python - <<", "python3 <<")) for command in commands),
        "script": "python reproduce_issue.py" in commands,
    }


def test_verification_of_r7_moves_from_tests_to_quick_checks(software):
    steps = software["r7"][1]
    for first, suite, inline in ((1, 70.0, 20.0), (136, 46.8, 45.0)):
        rows = [row for rows in steps[first - 1 : first + 44] for row in rows if row["output"]]
        found = [command_kinds(row) for row in rows]
        for kind, share in (("suite", suite), ("any_test", suite), ("inline", inline)):
            assert sum(kinds[kind] for kinds in found) == round(share * len(rows) / 100), kind
        assert all(row["output"].count('"submit"') == 1 for row in rows)


@given(
    weights=st.lists(st.floats(0, 100), min_size=1, max_size=8),
    data=st.data(),
)
def test_apportion_is_within_bounds_and_near_the_weights(weights, data):
    high = data.draw(st.lists(st.integers(0, 30), min_size=len(weights), max_size=len(weights)))
    low = [data.draw(st.integers(0, most)) for most in high]
    total = data.draw(st.integers(sum(low), sum(high)))
    shares_ = apportion(total, weights, low, high).tolist()
    assert sum(shares_) == total
    assert all(least <= share <= most for least, share, most in zip(low, shares_, high, strict=True))
    if sum(weights) > 0 and not any(low) and min(high) >= total:
        quotas = [total * weight / sum(weights) for weight in weights]
        assert all(abs(share - quota) < 1 + 1e-6 for share, quota in zip(shares_, quotas, strict=True))


def test_apportion_refuses_what_does_not_fit():
    with pytest.raises(UsageError, match="does not fit"):
        apportion(5, [1, 1], 0, [2, 2])


def test_the_one_loss_that_needs_six_small_coins_is_missed_by_a_hundredth():
    values = reward_values(9, Decimal("1.33"))
    batch = Batch(133 * 25 - (19 * 33 + 28), 25, 0)
    deductions, _ = split(batch, values, ([], []), np.random.default_rng(0))
    assert abs(133 * 25 - sum(deductions) - batch.total) == 1


@given(distinct=st.integers(7, 13), correct=st.integers(1, 60), negative=st.integers(0, 20), data=st.data())
def test_rewards_sum_to_their_total(distinct, correct, negative, data):
    values = reward_values(distinct, Decimal("1.33"))
    lost = data.draw(st.integers(0, int(values.most_lost(np.array(correct)))))
    total = values.best * correct - lost - values.penalties[0] * negative
    deductions, penalties = split(Batch(total, correct, negative), values, ([], []), np.random.default_rng(0))
    assert len(deductions) == correct and len(penalties) == negative
    assert set(deductions) <= set(values.deductions) and set(penalties) <= set(values.penalties)
    if distinct >= 9:
        six_coins = values.deductions == (0, 1, 3, 10, 33) and lost % 33 == 28
        assert abs(values.best * correct - sum(deductions) - sum(penalties) - total) <= six_coins


OWN = """
name = "own"
kind = "math"
steps = 12
prompts = 40
[config]
batch_size = 8
generations = 4
agent_steps = 5
[epochs]
rollout_steps = [6, 6]
score_steps = [6, 6]
[outcome]
correct_pct = 50
epoch_correct_pct = [40, 60]
[behaviour]
mean_steps = 1.8
one_step_pct = 40
two_step_pct = 45
three_plus_step_pct = 15
tool_use_pct = 60
quadrants = { answer_and_tool = 40, only_answer = 10, only_tool = 20, neither = 30 }
[score]
path = [[1, 0.5], [12, 0.7]]
mean = 0.60
"""


def test_a_description_of_ones_own(tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    run = simulate(tmp_path / "own.toml", tmp_path)
    found = shares([row for step in rows_of(run) for row in step])
    assert_prints(found["correct_pct"], Decimal(50), "correct")
    assert_prints(found["quadrants"]["answer_and_tool"], Decimal(40), "both")
    assert (run.folder / "run.toml").read_text() == OWN
    truth = json.loads(run.truth.read_bytes())
    assert truth["planted"] == run.planted and truth["arguments"]["seed"] == 0
    assert truth["asked"]["score"]["mean"] == "0.60"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("correct_pct = 50", "corect_pct = 50", "corect_pct"),
        ("steps = 12", "steps = 13", "do not add up"),
        ("mean = 0.60", "mean = 0.90", "score"),
        ("epoch_correct_pct = [40, 60]", "epoch_correct_pct = [10, 20]", "cannot all be met|contradict"),
        ("prompts = 40", "prompts = 4", "batch_size"),
        ('name = "own"', 'name = "../own"', "plain file name"),
        ("[config]", "[config", "TOML|Expected"),
        ("steps = 12", "steps = " + "1" * 5000, "Exceeds the limit"),
    ],
)
def test_faulty_descriptions_say_what_is_wrong(tmp_path, before, after, message):
    assert before in OWN
    (tmp_path / "own.toml").write_text(OWN.replace(before, after, 1))
    with pytest.raises(UsageError, match=message):
        simulate(tmp_path / "own.toml", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unknown_runs_and_arguments_are_refused(tmp_path):
    with pytest.raises(UsageError, match="R1, R2"):
        simulate("R9", tmp_path)
    for arguments in ({"scale": 0}, {"seed": -1}, {"variant": "v2"}):
        with pytest.raises(UsageError):
            simulate("R1", tmp_path, **arguments)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten_but_an_earlier_simulation(tmp_path):
    (tmp_path / "R1" / "rollouts").mkdir(parents=True)
    (tmp_path / "R1" / "rollouts" / "1.jsonl").write_text("mine")
    with pytest.raises(UsageError, match="no simulation wrote"):
        simulate("R1", tmp_path, scale=0.1)
    assert (tmp_path / "R1" / "rollouts" / "1.jsonl").read_text() == "mine"
    simulate("R1", tmp_path / "out", scale=0.1)
    assert simulate("R1", tmp_path / "out", scale=0.1, seed=1).trajectories == 124


def test_command_line(tmp_path):
    ran = CliRunner().invoke(command, ["R1", "-o", str(tmp_path), "--scale", "0.1", "--seed", "3", "--random"])
    assert ran.exit_code == 0 and "124 trajectories" in ran.output
    assert json.loads((tmp_path / "R1" / "truth.json").read_bytes())["arguments"] == {
        "seed": 3, "scale": 0.1, "variant": "legacy", "random": True,
    }  # fmt: skip
    ran = CliRunner().invoke(command, ["R9", "-o", str(tmp_path)])
    assert isinstance(ran.exception, UsageError) and "R9" in str(ran.exception)
