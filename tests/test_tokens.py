"""Token arrays: histograms and moments against plain Python, masks by who wrote what, and the checks on them."""

from __future__ import annotations

import math
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from corpora_in_tests import SAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st
from trainers_in_tests import read, say, write_lines

import trajlab
from trajlab.behavior.log_ratios import (
    BINS,
    LAST_BIN,
    log_ratio_bins,
    log_ratio_edges,
    outside_twofold,
    quantile_of_bins,
)
from trajlab.checks.finding import Finding
from trajlab.corpus.corpus import Corpus
from trajlab.measures.frame import Population
from trajlab.measures.policy import explained_variance, return_variance
from trajlab.records import TokenFacts
from trajlab.report.diagnosis_page import layer_by_layer
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.policy_section import RATIOS_TO_LOG, policy_and_data
from trajlab.report.run_diagnosis import RunDiagnosis

EDGES = log_ratio_edges().tolist()
LOG_RATIOS = st.lists(st.floats(-30, 30) | st.floats(-0.01, 0.01), max_size=40)


def dense(bins: list[int], counts: list[int]) -> list[int]:
    held = [0] * BINS
    for number, count in zip(bins, counts, strict=True):
        held[number + LAST_BIN] += count
    return held


def bin_of(log_ratio: float) -> int:
    """The bin by its definition, one value at a time."""
    number = next((n for n, edge in enumerate(EDGES) if abs(log_ratio) <= edge), LAST_BIN)
    return number if log_ratio >= 0 else -number


@settings(deadline=None, max_examples=60)
@given(first=LOG_RATIOS, second=LOG_RATIOS)
def test_histograms_add_up_to_that_of_all(first: list[float], second: list[float]) -> None:
    one, two = (dense(*log_ratio_bins(np.array(values))) for values in (first, second))
    assert [a + b for a, b in zip(one, two, strict=True)] == dense(*log_ratio_bins(np.array(first + second)))
    assert one == [[bin_of(value) for value in first].count(n) for n in range(-LAST_BIN, LAST_BIN + 1)]


@settings(deadline=None, max_examples=60)
@given(values=st.lists(st.floats(-11, 11), min_size=1, max_size=60), q=st.floats(0.01, 0.99))
def test_quantiles_are_within_a_bin(values: list[float], q: float) -> None:
    found = float(quantile_of_bins(dense(*log_ratio_bins(np.array(values))), q, min(values), max(values)))
    true = float(np.quantile(values, q, method="inverted_cdf"))
    bins = sorted((true * 2 ** (-1 / 8), true * 2 ** (1 / 8)))
    smallest = float(log_ratio_edges()[0])
    assert bins[0] - 2 * smallest <= found <= bins[1] + 2 * smallest
    outside = sum(abs(value) > math.log(2) for value in values)
    assert float(outside_twofold(dense(*log_ratio_bins(np.array(values))))) == outside


def test_bins_of_the_ends() -> None:
    two = math.log(2)
    assert log_ratio_bins(np.array([two, -two, 0.0, math.nan, math.inf, -math.inf])) == (
        [-129, -96, 0, 96, 129], [1, 1, 1, 1, 1],
    )  # fmt: skip
    assert math.isnan(float(quantile_of_bins([0] * BINS, 0.5, 0.0, 0.0)))
    assert log_ratio_edges()[96] == two


def nemo_rl(mask: list[Any], sampler: list[Any], policy: list[Any], length: int | None = None) -> dict[str, Any]:
    turns = ["Sum?", "<think>a</think>", "Sure?", "<think>b</think>"]
    return {
        "content": [turns], "rewards": [1.0], "input_lengths": [len(mask) if length is None else length],
        "token_ids": [list(range(len(mask)))], "token_loss_mask": [mask], "generation_logprobs": [sampler],
        "prev_logprobs": [policy], "idx": 0,
    }  # fmt: skip


def facts_of(path: Path) -> TokenFacts:
    (trajectory, *_), _ = read(path)
    assert trajectory.token_facts is not None
    return trajectory.token_facts


@settings(deadline=None, max_examples=60)
@given(
    tokens=st.lists(
        st.tuples(st.booleans(), st.floats(-20, -0.001), st.floats(-20, -0.001) | st.none()), min_size=2, max_size=30
    )
)
def test_moments_of_nemo_rl_against_a_plain_loop(
    tokens: list[tuple[bool, float, float | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    mask, sampler, policy = ([int(m) for m, _, _ in tokens], [s for _, s, _ in tokens], [p for _, _, p in tokens])
    facts = facts_of(
        write_lines(tmp_path_factory.mktemp("n") / "train_data_step1.jsonl", nemo_rl(mask, sampler, policy))
    )
    pairs = [(s, p) for m, s, p in tokens if m and p is not None]
    assert (facts.tokens, facts.trained_tokens, facts.ratio_tokens) == (len(mask), sum(mask), len(pairs))
    assert facts.ratio_unknown == sum(mask) - len(pairs)
    ratios = [math.exp(p - s) for s, p in pairs]
    assert facts.ratio_sum == pytest.approx(math.fsum(ratios))
    assert facts.ratio_squares == pytest.approx(math.fsum(ratio**2 for ratio in ratios))
    assert dense(*facts.log_ratio_bins) == dense(*log_ratio_bins(np.array([p - s for s, p in pairs])))
    if pairs:
        assert facts.log_ratio_largest == max(p - s for s, p in pairs)


def test_masks_tell_prompt_observation_and_padding(tmp_path: Path) -> None:
    sampler = [0.0] * 20 + [-1.0] * 4 + [0.0] * 3 + [-1.0] * 4 + [0.0] * 2
    right = [0] * 20 + [1] * 4 + [0] * 3 + [1] * 4 + [0] * 2
    facts = facts_of(write_lines(tmp_path / "train_data_step1.jsonl", nemo_rl(right, sampler, sampler, 31)))
    told = (facts.prompt_tokens, facts.response_tokens, facts.observation_tokens, facts.padding_tokens)
    assert (told, facts.trained_tokens) == ((20, 8, 3, 2), 8)
    assert (facts.trained_prompt, facts.trained_observation, facts.trained_padding) == (0, 0, 0)
    facts = facts_of(write_lines(tmp_path / "train_data_step2.jsonl", nemo_rl([1] * 33, sampler, sampler, 31)))
    assert (facts.trained_prompt, facts.trained_observation, facts.trained_padding) == (20, 3, 2)
    assert (facts.trained_tokens, facts.response_tokens) == (33, 8)
    sure = [0.0] * 20 + [0.0, -1.0, 0.0, -1.0] + [0.0] * 3 + [0.0, -1.0, 0.0, 0.0] + [0.0] * 2
    facts = facts_of(write_lines(tmp_path / "train_data_step3.jsonl", nemo_rl(right, sure, sure, 31)))
    assert (facts.prompt_tokens, facts.trained_prompt, facts.trained_observation) == (20, 0, 0)


def test_arrays_of_different_length_are_a_problem_and_cost_only_themselves(tmp_path: Path) -> None:
    good = nemo_rl([1, 1], [-1.0, -1.0], [-1.0, -1.0])
    rows = [good, good | {"prev_logprobs": [[-1.0]]}, good | {"input_lengths": [9]}, good | {"token_ids": [[1, 2, 3]]}]
    trajectories, problems = read(write_lines(tmp_path / "train_data_step1.jsonl", *rows))
    assert [problem.code for problem in problems] == ["roles_inferred", *["token_lengths"] * 3]
    found = [trajectory.token_facts for trajectory in trajectories]
    assert [facts.ratio_tokens for facts in found if facts is not None] == [2, None, 2, None]


def test_what_arrays_that_are_cut_would_count_to_is_not_known(tmp_path: Path) -> None:
    whole = nemo_rl([1, 1], [-1.0, -1.0], [-1.0, -1.0])
    trajectories, _ = read(write_lines(tmp_path / "train_data_step1.jsonl", whole, whole | {"input_lengths": [9]}))
    assert [trajectory.completion_tokens for trajectory in trajectories] == [2, None]
    found = [trajectory.token_facts for trajectory in trajectories]
    assert [facts.trained_tokens for facts in found if facts is not None] == [2, None]


@pytest.mark.parametrize(
    "hostile", [["x", 1], [[1], [2]], [1e308, -1e308], [True, None], [10**400, 1], [{}, 1], [math.inf, math.nan]]
)
def test_hostile_arrays_end_nothing(hostile: list[Any], tmp_path: Path) -> None:
    rows = [nemo_rl([1, 1], hostile, [-1.0, -1.0]), nemo_rl([1, 1], [-1.0, -1.0], hostile), nemo_rl(hostile, [1], [1])]
    path = write_lines(tmp_path / "train_data_step1.jsonl", *rows)
    corpus = trajlab.read(path)
    assert corpus.trajectories.collect().height == 3
    sums = corpus.token_moments.select("ratio_sum", "ratio_squares").collect()
    assert all(value is None or math.isfinite(value) for row in sums.iter_rows() for value in row)


def slime_sample(index: int, mask: list[int], logprobs: list[float], version: str = "1") -> dict[str, Any]:
    marks = "<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\n"
    return {
        "group_index": 0, "index": index, "prompt": "<|im_start|>user\nSum?<|im_end|>\n<|im_start|>assistant\n",
        "tokens": list(range(5 + len(mask))), "response": f"3{marks}Yes<|im_end|>", "response_length": len(mask),
        "loss_mask": mask, "rollout_log_probs": logprobs, "reward": 1.0, "status": "completed",
        "weight_versions": [version, version],
    }  # fmt: skip


def save_torch(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{path.stem}/data.pkl", pickle.dumps(value, 2))


MASK = [1, 1, 0, 0, 1]
SAMPLED = [-1.0, -2.0, 0.0, 0.0, -0.5]


def test_slime_joins_what_the_trainer_made_of_its_samples(tmp_path: Path) -> None:
    samples = [slime_sample(index, MASK, SAMPLED) for index in (10, 11)]
    made = {
        "rollout_position": 1, "sample_index": 11, "log_probs": [-1.5, -2.0, 0.0, 0.0, -0.25],
        "values": [0.5, 0.5, 9.0, 9.0, 1.0], "returns": [1.0, 1.0, 0.0, 0.0, 2.0],
        "advantages": [0.5, -0.5, -9.0, -9.0, float("nan")], "ref_log_probs": [-1.0, -2.0, 0.0, 0.0, -0.25],
    }  # fmt: skip
    save_torch(tmp_path / "rollout_data/4.pt", {"rollout_id": 4, "samples": samples})
    save_torch(tmp_path / "train_data/4_0.pt", {"rollout_id": 4, "samples": [made], "dp_shards": [{}]})
    corpus = trajlab.read(tmp_path)
    assert corpus.problems.collect().is_empty()
    assert corpus.trajectories.select("sample_index").collect().to_series().to_list() == [10, 11]
    one, two = corpus.token_moments.collect().iter_rows(named=True)
    assert (one["tokens"], one["prompt_tokens"], one["response_tokens"], one["observation_tokens"]) == (10, 5, 3, 2)
    assert (one["ratio_tokens"], one["value_tokens"]) == (None, None)
    assert (two["ratio_tokens"], two["ratio_sum"]) == (3, pytest.approx(math.exp(-0.5) + 1 + math.exp(0.25)))
    assert [two[n] for n in ("value_tokens", "value_sum", "return_sum", "value_squares", "return_squares",
                             "value_returns")] == [3, 2.0, 4.0, 1.5, 6.0, 3.0]  # fmt: skip
    assert [two[f"advantage_{n}"] for n in ("tokens", "negative", "sum", "squares", "largest")] == [2, 1, 0, 0.5, 0.5]
    assert two["log_ratio_sum"] == pytest.approx(-0.25) and one["advantage_tokens"] is None
    assert (two["reference_tokens"], two["reference_kl"]) == (3, pytest.approx(math.exp(0.5) - 1 - 0.5))
    quarters = corpus.token_values.select("quarter", "tokens", "value_sum", "return_sum").collect().rows()
    assert quarters == [(1, 1, 0.5, 1.0), (2, 1, 0.5, 1.0), (3, 1, 1.0, 2.0)]
    assert corpus.token_histograms.select(pl.col("tokens").sum()).collect().item() == 3


def test_slime_observations_that_are_trained_on_show(tmp_path: Path) -> None:
    save_torch(tmp_path / "0.pt", {"rollout_id": 0, "samples": [slime_sample(0, [1] * 5, SAMPLED)]})
    facts = facts_of(tmp_path / "0.pt")
    assert (facts.trained_observation, facts.observation_tokens, facts.response_tokens) == (2, 2, 3)
    removed = slime_sample(0, MASK, SAMPLED) | {"remove_sample": True}
    save_torch(tmp_path / "1.pt", {"rollout_id": 1, "samples": [removed]})
    assert facts_of(tmp_path / "1.pt").trained_tokens == 0


def test_verifiers_nodes_are_told_by_who_sampled_them(tmp_path: Path) -> None:
    def node(role: str, mask: list[bool], sampled: bool, **more: list[float]) -> dict[str, Any]:
        ids = list(range(len(mask)))
        return {"message": say(role, "x"), "sampled": sampled, "token_ids": ids, "mask": mask, **more}

    nodes = [
        node("user", [False] * 6, False),
        node("assistant", [False, True, True], True, logprobs=[-1.0, -1.0], trainer_logprobs=[-1.0, -0.5],
             advantages=[9.0, 1.0, -1.0], reference_logprobs=[-1.0, -0.5]),
        node("user", [False, False, True], False),
        node("assistant", [False, True], True, logprobs=[-2.0], advantages=[-2.0], reference_logprobs=[-1.0]),
    ]  # fmt: skip
    trace = {"id": "t", "task": {"key": "k"}, "nodes": nodes, "calls": [], "rewards": {}, "verifiers": {}}
    facts = facts_of(write_lines(tmp_path / "traces.jsonl", trace))
    assert (facts.tokens, facts.prompt_tokens, facts.response_tokens, facts.observation_tokens) == (14, 7, 3, 4)
    assert (facts.trained_tokens, facts.trained_prompt, facts.trained_observation) == (4, 0, 1)
    assert facts.ratio_tokens == 2
    assert facts.ratio_sum == pytest.approx(1 + math.exp(0.5))
    assert (facts.advantage_tokens, facts.advantage_negative, facts.advantage_largest) == (3, 2, 1.0)
    assert (facts.reference_tokens, facts.reference_kl) == (3, pytest.approx(math.e - 2))
    judge = trace | {"agent": {"trainable": False}}
    assert facts_of(write_lines(tmp_path / "judge.jsonl", judge)).trained_tokens == 0
    nodes[1]["logprobs"] = [-1.0]
    (trajectory,), (problem,) = read(write_lines(tmp_path / "wrong.jsonl", trace))
    assert (problem.code, trajectory.token_facts) == ("token_lengths", None)


@settings(deadline=None, max_examples=60)
@given(
    pairs=st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=2, max_size=30).filter(
        lambda pairs: np.var([g for _, g in pairs]) > 1e-3
    )
)
def test_explained_variance_of_sums_is_that_of_the_arrays(pairs: list[tuple[float, float]]) -> None:
    v, g = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    sums = np.array([len(v), v.sum(), g.sum(), v @ v, g @ g, v @ g], dtype=float)
    assert float(return_variance(sums)) == pytest.approx(float(np.var(g)), abs=1e-9)
    assert float(explained_variance(sums)) == pytest.approx(float(1 - np.var(g - v) / np.var(g)), abs=1e-6)
    flat = np.array([len(v), v.sum(), 3.0 * len(v), v @ v, 9.0 * len(v), 3.0 * v.sum()])
    assert math.isnan(float(explained_variance(flat)))


def findings_of(corpus: Corpus) -> dict[str, Finding]:
    audit = EpochAudit(corpus, Population(run=None))
    return {finding.code: finding for finding in audit.findings if finding.code.startswith("D")}


def slime_run(folder: Path, rollouts: list[list[dict[str, Any]]]) -> Corpus:
    for number, samples in enumerate(rollouts):
        save_torch(folder / f"rollout_data/{number}.pt", {"rollout_id": number, "samples": samples})
    return trajlab.read(folder)


def test_checks_are_silent_on_a_sound_run(tmp_path: Path) -> None:
    rollouts = [[slime_sample(4 * r + n, MASK, SAMPLED, str(r + 1)) for n in range(4)] for r in range(4)]
    found = findings_of(slime_run(tmp_path, rollouts))
    assert {code: f.status for code, f in found.items()} == {
        "D001": "ok", "D002": "ok", "D003": "ok", "D004": "ok", "D005": "unobserved", "D006": "ok",
    }  # fmt: skip
    assert "policy version, sample index over 4 steps" in found["D004"].message
    assert "0 of 48 tokens" in found["D001"].message


def test_checks_speak_where_masks_versions_and_order_are_wrong(tmp_path: Path) -> None:
    rollouts = [[slime_sample(4 * r + n, [1] * 5, SAMPLED, str(5 - r)) for n in range(4)] for r in range(4)]
    rollouts[2][0]["index"] = rollouts[1][0]["index"]
    rollouts[3][0]["weight_versions"] = []
    rollouts[3][1]["loss_mask"] = [1]
    rollouts[3][2]["loss_mask"] = [0] * 5
    found = findings_of(slime_run(tmp_path, rollouts))
    assert {found[code].status for code in ("D001", "D002", "D004")} == {"alarm"}
    assert {found[code].status for code in ("D003", "D006")} == {"warn"}
    assert "policy version falls from 5 to 4 in step 1" in found["D004"].message
    assert "1 of 15 sample indices stand in two steps" in found["D004"].message
    assert found["D004"].step == 1
    assert found["D001"].evidence[0].trajectory_id is not None


def test_a_version_younger_than_its_step_is_an_alarm(tmp_path: Path) -> None:
    row = {"task_id": 0, "sample_idx": 0, "seqlen": 9, "prompt_len": 4, "head_version": 7, "tail_version": 7,
           "reward": 1.0, "prompt": "a", "completion": "b", "version_rle": [[7, 5]]}  # fmt: skip
    write_lines(
        tmp_path / "rollout/6/0.jsonl", row, row | {"head_version": 4, "version_rle": [[4, 2], [-1, 1], [6, 2]]}
    )
    corpus = trajlab.read(tmp_path)
    moments = corpus.token_moments.select("versioned", "unversioned", "version_changes").collect().rows()
    assert moments == [(5, 0, 0), (4, 1, 1)]
    found = findings_of(corpus)["D003"]
    assert (found.status, found.evidence[0].source) == ("alarm", "rollout/6/0.jsonl")
    assert "younger than the step: 1 of 2" in found.message and "1/2" in found.message


def test_fresh_ratios_off_one_are_told(tmp_path: Path) -> None:
    noise = np.random.default_rng(3)
    rows = []
    for number in range(12):
        sampler = (-noise.exponential(1.0, 50) - 0.01).tolist()
        policy = (np.array(sampler) - 0.4 + noise.normal(0, 0.01, 50)).tolist()
        rows.append(nemo_rl([1] * 50, sampler, policy) | {"content": [[f"Sum {number}?", "<think>a</think>"]]})
    found = findings_of(trajlab.read(write_lines(tmp_path / "train_data_step1.jsonl", *rows)))
    assert found["D005"].status == "warn" and "lag not recorded" in found["D005"].message
    assert "median 0.67" in found["D005"].message


def test_logs_that_are_no_training_are_not_judged() -> None:
    found = findings_of(trajlab.read(SAMPLES / "chat" / "openai_arguments_as_objects"))
    assert {finding.status for finding in found.values()} <= {"not_applicable", "unobserved"}
    assert all(finding.advice for finding in found.values() if finding.status == "unobserved")


def planted_run(folder: Path) -> RunDiagnosis:
    """Three steps of two prompts of four attempts: prompt 1 of step 2 drifts, failures are valued too high, and of
    steps 1 and 2 hardly a token has a positive advantage."""
    for step in range(3):
        samples = [slime_sample(8 * step + n, [1] * 30, [-1.0] * 30, str(step)) for n in range(8)]
        for n, one in enumerate(samples):
            reward = {"score": n % 2, "acc": n % 2}
            one |= {"group_index": n // 4, "reward": reward, "metadata": {"task_id": f"t{n // 4}"}}
        made = [
            {"sample_index": one["index"], "log_probs": [-1.5 if (step, n // 4) == (2, 1) else -1.01] * 30,
             "values": [0.8 + n // 4 / 10] * 30, "returns": [float(n % 2)] * 30,
             "advantages": [1.0 if not step or (step, n) == (1, 0) else -1.0] + [0.5 if not step else -1.0] * 29}
            for n, one in enumerate(samples)
        ]  # fmt: skip
        save_torch(folder / f"rollout_data/{step}.pt", {"rollout_id": step, "samples": samples})
        save_torch(folder / f"train_data/{step}_0.pt", {"rollout_id": step, "samples": made, "dp_shards": [{}]})
    corpus = trajlab.read(folder)
    return RunDiagnosis(corpus, Population(run=corpus.runs[0]))


def test_planted_tokens_show_in_their_layers_and_in_the_result(tmp_path: Path) -> None:
    found = planted_run(tmp_path)
    told = {finding.code: finding for finding in found.findings}
    drift, negative, values = (told[code] for code in ("D410", "D505", "D509"))
    assert (drift.status, drift.layer) == ("warn", "L4") and "too few prompts (6) for p95" in drift.message
    assert drift.evidence[0].text.startswith("t1, step 2: 0.1065 nat/token over 120 tokens of 4 attempts")
    assert (negative.status, negative.step) == ("warn", 1)
    assert "strictly at 1 step (2), in practice at 2 steps (1 and 2), 2 in a row" in negative.message
    assert "2 of 3 steps with advantages of 720 tokens" in negative.evidence[0].text
    assert values.status == "warn" and "off by more than 0.25, most termination: task_failure" in values.message
    measures = {(m.name, m.group): m for m in found.result().measures}
    bias, first = measures["critic.bias", "reward: 0"], measures["critic.bias", "horizon: first quarter"]
    assert (bias.value, bias.denominator, bias.low) == (pytest.approx(0.85), 360.0, pytest.approx(0.8))
    assert (first.value, first.denominator) == (pytest.approx(0.35), 192.0)
    assert measures["critic.value_mean", "difficulty: mixed"].value == pytest.approx(0.85)
    assert measures["series.negative_tokens", "highest"].value == 1.0
    shown = str(layer_by_layer(found))
    assert "policy version: 2" in shown and "calibration of the critic" in shown


def test_measures_stand_in_the_result_and_the_section_names_what_is_missing() -> None:
    slime, areal = (EpochAudit(trajlab.read(SAMPLES / name), Population(run=None)) for name in ("slime", "areal"))
    named = {(m.name, m.group): m for m in slime.result().measures}
    median = named["importance_ratio.median", None]
    assert median.value == pytest.approx(1, abs=0.02) and median.low is not None and median.denominator == 255
    assert named["critic.explained_variance", None].value == pytest.approx(0.73, abs=0.01)
    shown = policy_and_data(slime)
    assert "explained variance" in shown and "Not observed" in shown
    shown = policy_and_data(areal)
    assert all(f"{what}" in shown for what in ("Importance ratio", "Critic", RATIOS_TO_LOG, "lag 1"))


def test_the_same_rollouts_through_two_writers_have_the_same_tokens(shared: Path) -> None:
    folder = shared / "samples/written/trainers"
    slime, areal = (
        trajlab.read(folder / name).trajectories.join(trajlab.read(folder / name).token_moments, on="trajectory_id")
        for name in ("slime", "areal")
    )
    columns = [pl.col(name).sum() for name in ("tokens", "trained_tokens")]
    by_slime = slime.filter(pl.col("split") == "train").select(columns).collect()
    assert by_slime.rows() == areal.select(columns).collect().rows() == [(13908, 3525)]


def test_sums_of_shared_slime_rollouts_are_those_of_their_masks(shared: Path) -> None:
    from trajlab.sources.torch_file import load_torch

    folder = shared / "samples/written/trainers/slime"
    samples = [sample for path in sorted(folder.glob("*.pt")) for sample in load_torch(path)["samples"]]
    moments = trajlab.read(folder).token_moments.select(pl.col("trained_tokens", "observation_tokens").sum()).collect()
    ones = sum(sum(sample["loss_mask"]) for sample in samples)
    assert moments.rows() == [(ones, sum(len(sample["loss_mask"]) for sample in samples) - ones)]
