"""Readers of trainers' logs beyond what every reader promises: odd values, and really written runs where present."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import trajlab
from trajlab.corpus.plan import claim
from trajlab.formats import log_format
from trajlab.records import Problem, Trajectory
from trajlab.sources.discover import discover
from trajlab.sources.files import Bundle


def read(path: Path) -> tuple[list[Trajectory], list[Problem]]:
    """What the one reader that claims the file makes of it, without the corpus."""
    found = claim(discover([path]).files[0], None)
    assert found.role == "log", path
    assert found.format is not None and found.variant is not None
    records = list(log_format(found.format).read(Bundle(found.format, found.variant, (found.file,))))
    trajectories = [record for record in records if isinstance(record, Trajectory)]
    problems = [record for record in records if isinstance(record, Problem)]
    return trajectories, problems + [problem for t in trajectories for problem in t.problems]


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


TRL_ROW = {"step": 4, "prompt": "Say a.", "completion": "a", "good": 1.0, "short": None, "length": 9, "advantage": 0.5}


def test_trl_sums_the_reward_functions_that_the_advantages_confirm(tmp_path: Path) -> None:
    other = TRL_ROW | {"good": 0.0, "short": 0.25, "advantage": -0.5}
    (first, second), problems = read(write_parquet(tmp_path / "a.parquet", [TRL_ROW, other]))
    assert problems == []
    assert (first.reward, second.reward, first.group_id == second.group_id) == (1.0, 0.25, True)
    assert [(part.name, part.value) for part in second.rewards] == [("good", 0.0), ("short", 0.25), ("length", 9.0)]
    assert first.split is None and first.correct is None and first.termination is None
    turned = [TRL_ROW | {"advantage": -0.5}, other | {"advantage": 0.5}]
    (first, _), (problem,) = read(write_parquet(tmp_path / "b.parquet", turned))
    assert first.reward is None and problem.code == "not_reconciled"


def test_trl_samples_of_a_prompt_that_comes_again_are_another_group(tmp_path: Path) -> None:
    rows = [TRL_ROW, TRL_ROW | {"prompt": "Say b."}, TRL_ROW, TRL_ROW | {"step": None}]
    trajectories, _ = read(write_parquet(tmp_path / "a.parquet", rows))
    assert len({t.group_id for t in trajectories}) == 4
    assert [t.task_id == trajectories[0].task_id for t in trajectories] == [True, False, True, True]


def test_trl_real_run_agrees_with_its_own_log(shared: Path) -> None:
    folder = shared / "samples/written/trainers/trl_1.16.0"
    frame = trajlab.read(folder / "run1").trajectories.collect()
    history = _history(folder / "run1/trainer_state.json")
    evaluated = {row["step"] for row in history if "eval_reward" in row}
    logged = {row["step"]: row["reward"] for row in history if "reward" in row and row["step"] not in evaluated}
    ours = dict(frame.group_by("train_step").agg(pl.col("reward").mean()).iter_rows())
    assert len(logged) == 31  # the files of the other four steps hold the last batch of an evaluation
    assert {step: pytest.approx(value, abs=1e-6) for step, value in logged.items()} == {s: ours[s] for s in logged}
    assert frame.group_by("group_id").len()["len"].unique().to_list() == [4]


def _history(path: Path) -> list[dict[str, Any]]:
    history: list[dict[str, Any]] = json.loads(path.read_bytes())["log_history"]
    return history


def write_lines(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def node(role: str, parent: int | None, *, sampled: bool = False, **message: object) -> dict[str, Any]:
    return {"parent": parent, "sampled": sampled, "message": {"role": role, "content": "", **message}}


CALL = {"id": "c1", "name": "add", "arguments": "{}"}
TRACE: dict[str, Any] = {
    "id": "t1", "task": {"type": "T", "data": {}, "key": "sum-1"}, "agent": {"config": {}, "name": "solver"},
    "nodes": [
        node("user", None, content="Sum?"),
        node("assistant", 0, content="An example."),
        node("assistant", 1, sampled=True, tool_calls=[CALL]),
        node("tool", 2, tool_call_id="c1", content="3"),
        node("assistant", 3, sampled=True, tool_calls=[CALL | {"id": "c2"}]),
        node("user", None, content="So far: 3."),
        node("tool", 5, tool_call_id="c1", content="3"),
        node("assistant", 6, sampled=True, content="3"),
    ],
    "calls": [{"node": 7, "finish_reason": "length", "usage": {"prompt_tokens": 9, "completion_tokens": 2}}],
    "rewards": {"sum": {"score": 1.0, "weight": 0.5}, "style": None}, "metrics": {"correct": 1.0, "len": 4},
    "num_input_tokens": 9, "num_total_tokens": 11,
}  # fmt: skip


def test_verifiers_branches_are_turns_once_and_restated_messages_none(tmp_path: Path) -> None:
    (trace,), problems = read(write_lines(tmp_path / "traces.jsonl", TRACE))
    assert problems == []
    assert [len(step.calls) for step in trace.steps] == [1, 1, 0]
    assert [call.executed for step in trace.steps for call in step.calls] == [True, False]
    assert [(m.role, m.after_step) for m in trace.messages] == [
        ("user", None), ("assistant", None), ("user", 2), ("tool", 2),
    ]  # fmt: skip
    assert (trace.reward, trace.correct, trace.termination) == (0.5, True, "truncated_budget")
    assert [(p.name, p.weight) for p in trace.rewards] == [("sum", 0.5), ("correct", 0.0), ("len", 0.0)]
    assert (trace.prompt_tokens, trace.completion_tokens, trace.cached_tokens) == (9, 2, None)
    assert (trace.agent, trace.model, trace.split, trace.train_step) == ("solver", None, None, None)


def test_verifiers_totals_that_differ_are_told(tmp_path: Path) -> None:
    _, (problem,) = read(write_lines(tmp_path / "traces.jsonl", TRACE | {"num_total_tokens": 15}))
    assert problem.code == "not_reconciled" and "6 generated tokens" in problem.message


@pytest.mark.parametrize(
    "odd",
    [
        {"nodes": [*TRACE["nodes"][:3], 7]}, {"nodes": [{"message": "x", "sampled": True}]}, {"calls": {"a": 1}},
        {"rewards": [1]}, {"rewards": {"sum": 3}}, {"metrics": 3}, {"agent": "a"}, {"timing": {"agent": {"end": "x"}}},
        {"task": {"key": {}}}, {"tools": "bash"}, {"stop_condition": 4}, {"errors": "e"}, {"verifiers": 1},
    ],
)  # fmt: skip
def test_verifiers_odd_fields_cost_only_themselves(odd: dict[str, Any], tmp_path: Path) -> None:
    trajectories, problems = read(write_lines(tmp_path / "traces.jsonl", TRACE, TRACE | odd))
    assert len(trajectories) == 2
    assert problems and {problem.code for problem in problems} == {"wrong_type"}
    assert trajectories[1].native_id == "t1"


def test_verifiers_episode_gives_its_traces_the_run_group_step_and_policy(tmp_path: Path) -> None:
    work = {"type": "train", "step": 5, "policy": {"start": 3, "end": 4}}
    run = {"type": "train", "id": "r", "work": work}
    traces = [TRACE, TRACE | {"id": "t2"}]
    episode = {"id": "e", "task": TRACE["task"], "group": {"id": "g"}, "run": run, "traces": traces}
    broken = episode | {"id": "e2", "traces": [], "errors": [{"type": "EnvError"}]}
    (first, second, third), problems = read(write_lines(tmp_path / "0.jsonl", episode, broken))
    assert problems == []
    assert (first.native_id, second.native_id, third.native_id) == ("t1", "t2", "e2")
    for t in (first, second, third):
        assert (t.run, t.group_id, t.split, t.train_step, t.task_id) == ("r", "g", "train", 5, "sum-1")
        assert (t.policy_version_first, t.policy_version_last) == ("3", "4")
    assert (third.steps, third.termination, third.stop_reason) == ([], "infrastructure_error", "EnvError")


def say(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


CALL_TEXT = '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>'
USER, CALLING = say("user", "Sum?"), say("assistant", "<think>\na\n</think>\n\n" + CALL_TEXT)
SHORT, RESULT, DONE = say("assistant", CALL_TEXT), say("tool", "3"), say("assistant", "3")
STEPS = [
    {"chat_completions": [USER, CALLING], "reward": 0.0},
    {"chat_completions": [USER, SHORT, RESULT, DONE], "reward": 1.0},
    {"chat_completions": [say("user", "So far: 3"), SHORT, RESULT, DONE]},
]
EPISODE: dict[str, Any] = {
    "training_step": 2, "epoch": 1, "episode_id": "u:3", "task": {"q": 1}, "task_hash": "abc", "is_correct": True,
    "termination_reason": "env_done", "metrics": {"acc": 1.0},
    "trajectories": [{"name": "a", "uid": "x", "reward": 1.0, "num_steps": 3, "steps": STEPS}],
}  # fmt: skip


def test_rllm_steps_add_what_they_say_beyond_the_context(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "val_step_2_epoch_1" / "episode.json", EPISODE)
    (episode,), problems = read(path)
    assert problems == []
    assert [(step.reasoning, len(step.calls)) for step in episode.steps] == [("a", 1), (None, 0), (None, 0)]
    assert episode.steps[0].calls[0].output == "3"
    assert [(m.role, m.after_step) for m in episode.messages] == [
        ("user", None), ("user", 2), ("assistant", 2), ("tool", 2),
    ]  # fmt: skip
    assert (episode.group_id, episode.attempt, episode.task_id, episode.split) == ("u", 3, "abc", None)
    assert [(part.name, part.value, part.applied_step) for part in episode.rewards] == [
        ("step", 1.0, 2), ("acc", 1.0, None),
    ]  # fmt: skip


def test_rllm_a_step_that_holds_a_whole_conversation_is_all_its_turns(tmp_path: Path) -> None:
    steps = [{"chat_completions": [USER, CALLING, RESULT, DONE]}]
    one = EPISODE | {"trajectories": [{"name": "a", "uid": "x", "num_steps": 1, "steps": steps}]}
    (episode,), _ = read(write_lines(tmp_path / "episode.json", one))
    assert [len(step.calls) for step in episode.steps] == [1, 0]
    assert episode.reward is None


@pytest.mark.parametrize(
    "odd",
    [
        {"trajectories": [3]}, {"trajectories": [{"steps": 3}]}, {"trajectories": [{"steps": ["x"], "name": 3}]},
        {"trajectories": [{"steps": [{"chat_completions": "x"}]}]}, {"metrics": "x"}, {"is_correct": "maybe"},
        {"training_step": [1]}, {"termination_reason": {}}, {"trajectories": [{"reward": "x", "steps": []}]},
    ],
)  # fmt: skip
def test_rllm_odd_fields_cost_only_themselves(odd: dict[str, Any], tmp_path: Path) -> None:
    trajectories, problems = read(write_lines(tmp_path / "episodes.jsonl", EPISODE, EPISODE | odd))
    assert len(trajectories) == 2
    assert problems and {problem.code for problem in problems} == {"wrong_type"}


def test_rllm_real_episodes_agree_with_the_summary_of_their_step(shared: Path) -> None:
    folder = shared / "samples/written/trainers/rllm/episodes"
    corpus = trajlab.read(folder)
    assert set(corpus.problems.collect()["code"]) == {"not_read"}  # the summaries themselves
    right = dict(corpus.trajectories.group_by("train_step").agg(pl.col("correct").sum()).collect().iter_rows())
    for step in (1, 2, 3):
        summary = json.loads((folder / f"train_step_{step}_epoch_0/batch_summary.json").read_bytes())
        assert summary["summary_stats"]["total_correct"] == right[step]


GYM: dict[str, Any] = {
    "responses_create_params": {"input": "Sum?", "tools": [{"type": "function", "name": "add"}]},
    "response": {
        "id": "r", "model": "m", "status": "completed",
        "usage": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7},
        "output": [
            {"type": "function_call", "name": "add", "arguments": "{}", "call_id": "c", "generation_token_ids": [1, 2]},
            {"type": "function_call_output", "call_id": "c", "output": "3"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "3"}]},
        ],
    },
    "reward": 1.0, "accuracy": True, "exact_score": 0.5, "id": 7, "_ng_task_index": 4, "_ng_rollout_index": 1,
}  # fmt: skip


def test_nemo_gym_reads_usage_only_where_there_was_one_call(tmp_path: Path) -> None:
    (row,), problems = read(write_lines(tmp_path / "rollouts.jsonl", GYM))
    assert problems == []
    assert (len(row.steps), row.prompt_tokens, row.completion_tokens) == (2, None, 2)
    assert (row.task_id, row.group_id, row.attempt, row.correct, row.outcome) == ("4", "4", 1, True, None)
    assert [(part.name, part.value) for part in row.rewards] == [("accuracy", 1.0), ("exact_score", 0.5)]
    alone = GYM | {"response": GYM["response"] | {"output": GYM["response"]["output"][2:]}}
    (row,), _ = read(write_lines(tmp_path / "single.jsonl", alone))
    assert (row.prompt_tokens, row.completion_tokens) == (5, 2)


def test_nemo_gym_simulation_in_the_request_is_part_of_the_rollout(tmp_path: Path) -> None:
    output = GYM["response"]["output"]
    request = {"input": [{"role": "system", "content": "Be kind."}, say("user", "Sum?"), *output[:2]]}
    said = [say("user", "Sum?"), {"role": "assistant", "tool_calls": [{}]}, say("tool", "3"), say("assistant", "3")]
    row = GYM | {
        "responses_create_params": request, "response": GYM["response"] | {"output": output[2:]},
        "result": {"messages": said, "termination_reason": "user_stop"}, "task": {"id": "t9"},
    }  # fmt: skip
    (rollout,), problems = read(write_lines(tmp_path / "rollouts.jsonl", row))
    assert problems == []
    assert [len(step.calls) for step in rollout.steps] == [1, 0]
    assert (rollout.task_id, rollout.termination) == ("t9", "ended")
    said[1]["tool_calls"] = []
    _, (problem,) = read(write_lines(tmp_path / "again.jsonl", row))
    assert problem.code == "not_reconciled"


@pytest.mark.parametrize(
    "odd",
    [
        {"response": {"output": "x"}}, {"response": {"output": [3, {"type": "message", "role": 4}]}},
        {"reward": "much"}, {"agent_ref": "me"}, {"_ng_rollout_index": "one"}, {"metadata": 3},
        {"responses_create_params": {"input": 3}}, {"responses_create_params": {"tools": 3, "metadata": []}},
    ],
)  # fmt: skip
def test_nemo_gym_odd_fields_cost_only_themselves(odd: dict[str, Any], tmp_path: Path) -> None:
    trajectories, problems = read(write_lines(tmp_path / "rollouts.jsonl", GYM, GYM | odd))
    assert len(trajectories) == 2
    assert problems and {problem.code for problem in problems} == {"wrong_type"}


def test_nemo_rl_roles_are_told_by_the_texts(tmp_path: Path) -> None:
    calling = f"<think>a</think>{CALL_TEXT}{CALL_TEXT}"
    plain = {"content": [["Sum?", "It is 3.", "Sure?", "Yes."]], "rewards": [1.0], "idx": 0}
    called = {"content": [["Be kind.", "Sum?", calling, "3", "3", "Done."]], "rewards": [0.5], "idx": 1}
    (one, two), (problem,) = read(write_lines(tmp_path / "train_data_step7.jsonl", plain, called))
    assert problem.code == "roles_inferred"
    assert [step.text for step in one.steps] == ["It is 3.", "Yes."]
    assert [message.role for message in one.messages] == ["user", "user"]
    assert ([len(step.calls) for step in two.steps], two.steps[0].calls[1].output) == ([2, 0], "3")
    assert (one.train_step, one.reward, two.reward, one.split) == (7, 1.0, 0.5, "train")
    odd = [plain | {"content": [[1, "b"]]}, plain | {"rewards": ["x"]}, plain | {"token_loss_mask": 3}]
    trajectories, problems = read(write_lines(tmp_path / "train_data_step8.jsonl", plain, *odd))
    assert len(trajectories) == 4
    assert [problem.code for problem in problems] == ["roles_inferred", "wrong_type", "wrong_type", "wrong_type"]


SKYRL = {
    "input_prompt": "<|im_start|>user\nSum?<|im_end|>\n<|im_start|>assistant\n", "output_response": "3<|im_end|>",
    "score": [0.0, 0.5], "stop_reason": "stop", "env_class": "sums", "env_extras": {"task_id": "t"}, "data_source": "d",
}  # fmt: skip


def test_skyrl_adds_up_the_scores_of_tokens(tmp_path: Path) -> None:
    path = tmp_path / "global_step_8_evals" / "d.jsonl"
    odd = [SKYRL | {"score": ["x"]}, SKYRL | {"env_extras": 3}, SKYRL | {"stop_reason": 1}]
    trajectories, problems = read(write_lines(path, SKYRL, SKYRL | {"score": 2}, *odd))
    assert [t.reward for t in trajectories] == [0.5, 2.0, None, 0.5, 0.5]
    assert [len(t.problems) for t in trajectories] == [0, 0, 1, 1, 1]
    first = trajectories[0]
    assert (first.train_step, first.split, first.task_id, first.termination) == (None, "eval", "t", "ended")
    assert ([step.text for step in first.steps], first.agent) == (["3"], "sums")
    assert {problem.code for problem in problems} == {"wrong_type"}
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.collect()["train_step"].unique().to_list() == [8]


AREAL = {
    "task_id": 4, "sample_idx": 1, "seqlen": 30, "prompt_len": 20, "head_version": -1, "tail_version": 6, "reward": 1.0,
    "prompt": SKYRL["input_prompt"] + CALL_TEXT, "completion": "<|im_end|>\n<|im_start|>user\n<tool_response>\n3\n"
    "</tool_response><|im_end|>\n<|im_start|>assistant\n3<|im_end|>",
}  # fmt: skip


def test_areal_takes_the_rollout_from_the_agents_first_turn_on(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "eval-rollout" / "6" / "4.jsonl", AREAL)
    (rollout,), problems = read(path)
    assert problems == []
    assert [[call.output for call in step.calls] for step in rollout.steps] == [["3"], []]
    assert (rollout.policy_version_first, rollout.policy_version_last, rollout.completion_tokens) == (None, "6", 10)
    frame = trajlab.read(tmp_path).trajectories.collect()
    assert frame.select("split", "train_step", "group_id", "attempt").row(0) == ("eval", 6, "6:4", 1)


def test_areal_segments_count_what_was_generated(tmp_path: Path) -> None:
    stretches = (("prompt", 9), ("gen", 4), ("context", 5), ("gen", 3))
    segments = [{"role": role, "len": n, "text": ""} for role, n in stretches]
    true = {"prompt": SKYRL["input_prompt"], "completion": CALL_TEXT + str(AREAL["completion"]), "prompt_len": 9}
    row = AREAL | true | {"segments": segments, "version_rle": [[5, 4], [6, 3]], "original_reward": 0.1}
    (rollout, other, third), problems = read(
        write_lines(tmp_path / "4.jsonl", row, row | {"version_rle": [[5, 9]]}, row | {"segments": "x", "seqlen": "y"})
    )
    assert (rollout.completion_tokens, rollout.logged_steps, len(rollout.steps)) == (7, 2, 2)
    assert (rollout.reward, [(part.name, part.value) for part in rollout.rewards]) == (1.0, [("original_reward", 0.1)])
    assert [problem.code for problem in other.problems] == ["not_reconciled"]
    assert third.reward == 1.0 and len(problems) == 4


def test_roll_columns_become_samples_and_odd_ones_are_left_out(tmp_path: Path) -> None:
    line = {"global_step": [2, 2], "id": ["a", "b"], "prompt": ["p", "q"], "responses": ["r", "s"]}
    line |= {"scores": [1.0], "tag": "t"}
    (first, second), problems = read(write_lines(tmp_path / "rollout_dump_data.step_2.jsonl", line))
    assert [problem.message.split("`")[1] for problem in problems] == ["scores", "tag"]
    assert (first.task_id, first.group_id, first.reward, second.steps[0].text) == ("a", "2:a", None, "s")
    nothing, (problem,) = read(write_lines(tmp_path / "b.jsonl", line | {"responses": []}))
    assert (nothing, problem.code) == ([], "wrong_type")


def test_roll_agentic_text_that_is_no_json_costs_only_itself(tmp_path: Path) -> None:
    data = {"trajectory_id": "t", "failure_info": {"stop_reason": "MAX_LENGTH"}, "reward_info": {"episode_reward": 0.5}}
    messages = json.dumps([say("user", "Sum?"), say("assistant", "3")])
    line = {
        "global_step": [1, 1], "exp_name": ["e", "e"], "messages": [messages, "[{"], "tools": ["[]", "x"],
        "trajectory_data": [json.dumps(data), "{"],
    }  # fmt: skip
    (first, second), problems = read(write_lines(tmp_path / "rollout_dump_data.step_1.jsonl", line))
    assert (first.native_id, first.run, first.reward, first.termination) == ("t", "e", 0.5, "truncated_budget")
    assert (len(first.steps), second.steps, second.run) == (1, [], "e")
    assert [problem.code for problem in problems] == ["wrong_type"] * 3


FIGURES = ("n_steps", "n_calls", "n_executed", "n_invalid", "agent_chars", "reasoning_chars")


def figures(path: Path, steps: dict[int, int]) -> dict[int, dict[str, Any]]:
    """Sums by step; ``steps`` tells which steps are taken, and under which number."""
    trained = pl.col("split").is_null() | (pl.col("split") != "validation")
    frame = trajlab.read(path).trajectories.filter(pl.col("train_step").is_in(list(steps)), trained)
    sums = frame.group_by("train_step").agg(pl.col(FIGURES).sum(), pl.col("reward").mean().round(4)).collect()
    return {steps[row.pop("train_step")]: row for row in sums.iter_rows(named=True)}


def test_one_run_in_seven_trainers_words_gives_the_same_figures(shared: Path) -> None:
    """The same rollouts, written by each trainer's own writer.

    At step 30 a sample of AReaL holds a turn's start that the model itself wrote: nothing tells it from a real one.
    """
    folder = shared / "samples/written/trainers"
    same = {1: 1, 2: 2, 3: 3}
    expected = figures(folder / "verl/rollout_data_dir_v0", same)
    assert len(expected) == 3
    for place in ("verl/rollout_data_dir_v1", "rllm/episodes", "nemo_rl", "roll"):
        assert figures(folder / place, same) == expected, place
    sums = figures(folder / "slime", {0: 1, 1: 2})
    assert sums == {step: expected[step] for step in (1, 2)}  # the third stands once more as an evaluation
    assert figures(folder / "areal", {10: 1, 20: 2}) == {step: expected[step] for step in (1, 2)}


def choice(text: str, reason: str = "stop", **message: object) -> dict[str, Any]:
    return {"finish_reason": reason, "index": 0, "message": {"role": "assistant", "content": text, **message}}


def art_group(*items: dict[str, Any], **fields: object) -> dict[str, Any]:
    trajectory = {"reward": 1, "metrics": {"correct": True}, "metadata": {}, "messages_and_choices": list(items)}
    return {"trajectories": [{**trajectory, **fields}]}


def test_art_only_choices_are_turns_where_there_are_any(tmp_path: Path) -> None:
    example = [say("user", "Sum?"), say("assistant", "an example"), say("user", "And?"), choice("3", "length")]
    plain = [say("user", "Sum?"), say("assistant", "3")]
    history = {"messages_and_choices": [say("user", "Summed?"), choice("Yes.")]}
    groups = [art_group(*example), art_group(*plain), art_group(*example, additional_histories=[history])]
    (one, two, three), problems = read(write_lines(tmp_path / "0007.jsonl", *groups))
    assert problems == []
    assert [len(t.steps) for t in (one, two, three)] == [1, 1, 2]
    assert (one.termination, two.termination, three.stop_reason) == ("truncated_budget", None, "stop")
    assert (one.train_step, one.correct, one.reward) == (7, True, 1.0)
    assert one.group_id is not None and one.group_id.startswith("7:")
    assert [message.role for message in one.messages] == ["user", "assistant", "user"]


def test_art_yaml_reads_as_the_same_groups_in_json_do(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "add"}}]
    group = art_group(say("user", "yes"), choice("2025-12-01"), tools=tools)
    group["trajectories"] *= 2  # PyYAML writes what is shared once, and refers to it
    (first, second), problems = read(write_text(tmp_path / "0001.yaml", yaml.dump([group])))
    (other, _), _ = read(write_lines(tmp_path / "0001.jsonl", group))
    assert problems == []
    assert first.steps == second.steps == other.steps
    assert (first.tools_offered, first.messages[0].text) == (["add"], "yes")


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


START = "- trajectories:\n  - messages_and_choices: "
BOMB = "[x]\n" + "".join(f"- &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'x'}]\n" for n in range(12))


@pytest.mark.parametrize(
    "text",
    [START + "[", START + "!!python/object/apply:os.getcwd []\n", START + BOMB, START + "&a [*a]\n", START + "[" * 5000,
     START + "[]\n" + " " * 1500 + "- x", START + "\u0000"],
)  # fmt: skip
def test_art_hostile_yaml_is_a_problem(text: str, tmp_path: Path) -> None:
    trajectories, problems = read(write_text(tmp_path / "0001.yaml", text))
    assert trajectories == []
    assert [problem.code for problem in problems] == ["unreadable_record"]


def test_art_yaml_merges_nothing(tmp_path: Path) -> None:
    text = "- trajectories:\n  - messages_and_choices: []\n    metadata: &m {task_id: t}\n    metrics: {<<: *m}\n"
    (trajectory,), _ = read(write_text(tmp_path / "0001.yaml", text))
    assert (trajectory.task_id, trajectory.rewards) == ("t", [])


def test_art_odd_fields_cost_only_themselves(tmp_path: Path) -> None:
    odd = [
        art_group(choice("3"), reward="x"), art_group(choice("3"), metrics=3), art_group(choice("3"), metadata=[]),
        art_group({"finish_reason": "stop", "message": 3}), {"trajectories": [3]}, art_group(tools="x"),
        {"trajectories": [{"exchanges": {"chat_completions": [3], "responses": [{}]}}]},
    ]  # fmt: skip
    trajectories, problems = read(write_lines(tmp_path / "1.jsonl", art_group(choice("3")), *odd))
    assert len(trajectories) == 7
    assert {problem.code for problem in problems} == {"wrong_type", "not_read"}


def test_art_rows_without_a_readable_trajectory_are_problems_but_for_empty_groups(tmp_path: Path) -> None:
    texts = [json.dumps(art_group(choice("3"))["trajectories"][0]), None, "{", "[]"]
    rows = [{"group_index": n, "trajectory_json": text, "group_json": "{}"} for n, text in enumerate(texts)]
    trajectories, problems = read(write_parquet(tmp_path / "0003.parquet", rows))
    assert len(trajectories) == 1
    assert [problem.line for problem in problems] == [3, 4]
    assert {problem.code for problem in problems} == {"unreadable_record"}


def write_torch(path: Path, value: object) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{path.stem}/data.pkl", pickle.dumps(value, 2))
    return path


SAMPLE: dict[str, Any] = {
    "group_index": 3, "index": 14, "prompt": SKYRL["input_prompt"], "response": "3<|im_end|>", "response_length": 9,
    "loss_mask": [1, 1, 0], "reward": {"score": 0.5, "acc": 1.0}, "status": "truncated", "metadata": {"task_id": "t"},
    "weight_versions": ["4", "5"],
}  # fmt: skip


def test_slime_samples_hold_their_tokens_versions_and_rewards(tmp_path: Path) -> None:
    second = SAMPLE | {"reward": 2, "weight_versions": [], "loss_mask": None, "prompt": [say("user", "Sum?")]}
    (one, two), problems = read(write_torch(tmp_path / "eval_7.pt", {"rollout_id": 7, "samples": [SAMPLE, second]}))
    assert problems == []
    assert (one.train_step, one.split, one.group_id, one.native_id, one.task_id) == (7, "eval", "7:3", "14", "t")
    assert (one.reward, one.correct, [part.name for part in one.rewards]) == (0.5, True, ["score", "acc"])
    assert (one.policy_version_first, one.policy_version_last, one.logged_steps) == ("4", "5", 2)
    assert (one.completion_tokens, two.completion_tokens, two.logged_steps) == (2, 9, None)
    assert (two.reward, two.correct, [message.text for message in two.messages]) == (2.0, None, ["Sum?"])


def test_slime_odd_samples_cost_only_themselves_and_other_files_are_problems(tmp_path: Path) -> None:
    odd = [SAMPLE | {"reward": "x"}, 3, SAMPLE | {"metadata": [], "loss_mask": 1}, SAMPLE | {"status": 0}]
    value = {"rollout_id": "x", "samples": [*odd, SAMPLE]}
    trajectories, problems = read(write_torch(tmp_path / "1.pt", value))
    assert len(trajectories) == 4
    assert sorted({problem.code for problem in problems}) == ["unreadable_record", "wrong_type"]
    shards = {"format_version": 2, "rollout_id": 1, "samples": [{}], "dp_shards": [0]}
    assert [problem.code for problem in read(write_torch(tmp_path / "2.pt", shards))[1]] == ["not_read"]
    whole = write_torch(tmp_path / "3.pt", value).read_bytes()
    (tmp_path / "4.pt").write_bytes(whole[:-30])
    assert [problem.code for problem in read(tmp_path / "4.pt")[1]] == ["unreadable_record"]


def test_tinker_takes_what_the_environment_says_after_calls_as_results(tmp_path: Path) -> None:
    turns = [say("user", "Sum?"), say("assistant", CALL_TEXT), say("environment", "3"), say("assistant", "3")]
    turns += [say("environment", "Sure?"), say("grader", "right")]
    row = {"idx": 4, "benchmark": "sums", "example_id": "e", "turns": turns, "reward": 1.0, "metrics": {"correct": 1.0}}
    odd = [row | {"turns": [3, say("assistant", "3")]}, row | {"reward": "x"}, row | {"metrics": 1}]
    trajectories, problems = read(write_lines(tmp_path / "trajectories.jsonl", row, *odd))
    first = trajectories[0]
    assert [call.output for step in first.steps for call in step.calls] == ["3"]
    assert [(m.role, m.after_step) for m in first.messages] == [("user", None), ("user", 2), ("grader", 2)]
    assert (first.correct, first.group_id, first.termination, first.seconds) == (True, "sums:e", None, None)
    assert len(trajectories) == 4
    assert [problem.code for problem in problems] == ["wrong_type"] * 3


def write_zip(path: Path, name: str, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return path


def test_agent_lightning_reads_the_turns_before_the_last_call_from_its_context(tmp_path: Path) -> None:
    context = str(AREAL["prompt"]) + str(AREAL["completion"]).removesuffix("3<|im_end|>")
    rows = [{"rollout_id": "r", "reward": 1, "prompt": context, "response": "3"}, 3, {"rollout_id": 5, "prompt": 3}]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode() + b'{"rollout'
    path = write_zip(tmp_path / "step_9" / "a.jsonl.zip", "validation_trajectories.jsonl", data)
    (one, two), problems = read(path)
    assert [[call.output for call in step.calls] for step in one.steps] == [["3"], []]
    assert (one.native_id, one.split, one.reward, two.native_id) == ("r", "validation", 1.0, "5")
    assert [problem.code for problem in problems] == ["unreadable_record", "truncated", "wrong_type"]
    frame = trajlab.read(tmp_path).trajectories.collect()
    assert frame["train_step"].to_list() == [9, 9]


def test_agent_lightning_damaged_and_exploding_archives_are_problems(tmp_path: Path) -> None:
    data = b"".join(b'{"rollout_id": "%d", "prompt": "p", "response": "r"}\n' % n for n in range(5000))
    path = write_zip(tmp_path / "a.jsonl.zip", "train_trajectories.jsonl", data)
    whole = bytearray(path.read_bytes())
    whole[2000:2100] = b"\0" * 100
    path.write_bytes(whole)
    trajectories, problems = read(path)
    assert trajectories and problems[-1].code == "truncated_archive"
    path = write_zip(tmp_path / "b.jsonl.zip", "train_trajectories.jsonl", b" " * (300 << 20))
    assert [problem.code for problem in read(path)[1]] == ["expansion_limit"]
