"""Readers of trainers' logs beyond what every reader promises: messages, graphs; really written runs where present."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from trainers_in_tests import CALL_TEXT, read, say, write_lines, write_parquet

import trajlab

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
    assert corpus.problems.collect().is_empty()  # the summaries are joined
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


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, (None, "ended", True)),
        ({"mask_sample": False}, (True, "ended", True)),
        ({"mask_sample": True}, (False, "ended", None)),
        ({"agent_error_kind": "context_window", "mask_sample": True}, (False, "truncated_budget", True)),
        ({"agent_error_kind": "stuck_in_loop"}, (None, "task_failure", True)),
        ({"agent_error_kind": "other", "mask_sample": False}, (True, "ended", True)),
        ({"agent_timed_out": True, "agent_error_kind": "other", "mask_sample": True}, (False, "timeout", True)),
        ({"error_kind": "sandbox", "mask_sample": True}, (False, "environment_error", None)),
        ({"error_kind": "eval_timeout", "agent_error_kind": "max_iteration", "mask_sample": True},
         (False, "verifier_error", None)),
        ({"failure_kind": "session_lost", "mask_sample": True}, (False, "environment_error", None)),
        ({"failure_kind": "box:own_word", "mask_sample": True}, (False, "infrastructure_error", None)),
        ({"failure_kind": "judge_unparseable", "mask_sample": False}, (True, "ended", True)),
        ({"instance_config": {"mask_sample": True}}, (False, "ended", None)),
    ],
)  # fmt: skip
def test_nemo_gym_a_masked_reward_is_not_gradable_and_errors_are_the_end(
    told: dict[str, Any], expected: tuple[bool | None, str, bool | None], tmp_path: Path
) -> None:
    row = GYM | {"response": GYM["response"] | {"status": "completed"}, "resolved": True} | told
    (rollout,), problems = read(write_lines(tmp_path / "rollouts.jsonl", row))
    assert problems == []
    assert (rollout.gradable, rollout.termination, rollout.correct) == expected
    assert rollout.reward == 1.0


def test_nemo_gym_simulation_in_the_request_is_part_of_the_rollout(tmp_path: Path) -> None:
    output = GYM["response"]["output"]
    request = {"input": [{"role": "system", "content": "Be kind."}, say("user", "Sum?"), *output[:2]]}
    called: dict[str, Any] = {"role": "assistant", "tool_calls": [{}]}
    said = [say("user", "Sum?"), called, say("tool", "3"), say("assistant", "3")]
    row = GYM | {
        "responses_create_params": request, "response": GYM["response"] | {"output": output[2:]},
        "result": {"messages": said, "termination_reason": "user_stop"}, "task": {"id": "t9"},
    }  # fmt: skip
    (rollout,), problems = read(write_lines(tmp_path / "rollouts.jsonl", row))
    assert problems == []
    assert [len(step.calls) for step in rollout.steps] == [1, 0]
    assert (rollout.task_id, rollout.termination) == ("t9", "ended")
    called["tool_calls"] = []
    _, (problem,) = read(write_lines(tmp_path / "again.jsonl", row))
    assert problem.code == "not_reconciled"


@pytest.mark.parametrize(
    "odd",
    [
        {"response": {"output": "x"}}, {"response": {"output": [3, {"type": "message", "role": 4}]}},
        {"reward": "much"}, {"agent_ref": "me"}, {"_ng_rollout_index": "one"}, {"metadata": 3},
        {"mask_sample": "perhaps"}, {"agent_error_kind": 3}, {"instance_config": 3},
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


def test_nemo_gym_real_rollouts_hold_every_call_and_result(shared: Path) -> None:
    """Against the items of the files; two servers write results of calls that were never logged."""
    folder = shared / "samples/public/NVIDIA-NeMo+Gym"
    frame = trajlab.read(folder).trajectories.select("source", "ordinal", "n_calls", "n_executed", "reward").collect()
    rows = {(row["source"], int(row["ordinal"])): row for row in frame.iter_rows(named=True)}
    assert len(rows) == 73
    for (source, offset), row in rows.items():
        record = json.loads((folder / source).read_bytes()[offset:].split(b"\n")[0])
        items = list(record["response"]["output"])
        if "result" in record:
            items += record["responses_create_params"]["input"]
        kinds = [item.get("type") for item in items]
        assert row["n_calls"] == kinds.count("function_call"), source
        assert row["reward"] == record["reward"]
        answered = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
        made = {item["call_id"] for item in items if item.get("type") == "function_call"}
        assert row["n_executed"] >= len(answered & made), source


def test_trl_ran_no_call_that_stands_in_the_text_alone(tmp_path: Path) -> None:
    """An answered call ran; a text that TRL parsed no call of ran none; without the key an environment may have."""
    native = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": "{}"}}]}
    ran = [
        native,
        {"role": "tool", "content": "3", "tool_calls": None},
        {"role": "assistant", "content": CALL_TEXT, "tool_calls": None},
    ]
    text = {"role": "assistant", "content": CALL_TEXT}
    environment = [text, {"role": "tool", "content": "3"}, text]
    for made, executed in ((ran, [True, False]), ([text], [False]), (environment, [True, None])):
        row = {
            "step": 1,
            "prompt": [{"role": "user", "content": "1 + 2?"}],
            "completion": made,
            "right": 1.0,
            "advantage": 0.0,
        }
        trajectories, _ = read(write_parquet(tmp_path / "completions_00001.parquet", [row]))
        calls = [call for step in trajectories[0].steps for call in step.calls]
        assert [call.executed for call in calls] == executed, made


def test_what_nobody_could_parse_was_not_executed(tmp_path: Path) -> None:
    broken = {"role": "assistant", "content": '<tool_call>\n{"name": "add", "argu\n</tool_call>'}
    row = {
        "step": 1,
        "prompt": [{"role": "user", "content": "1 + 2?"}],
        "completion": [broken],
        "right": 1.0,
        "advantage": 0.0,
    }
    trajectories, _ = read(write_parquet(tmp_path / "completions_00001.parquet", [row]))
    assert [(call.invalid, call.executed) for call in trajectories[0].steps[0].calls] == [("unparsable", False)]
