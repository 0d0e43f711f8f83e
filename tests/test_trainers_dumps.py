"""Readers of trainers' logs beyond what every reader promises: flat texts, columns, YAML, pickles and archives."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from trainers_in_tests import CALL_TEXT, read, say, write_lines, write_parquet

import trajlab
from trajlab.measures.configuration import changed, configuration
from trajlab.sources.safe_yaml import load_yaml

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


def test_areal_counts_of_thousands_of_digits_cost_no_other_row(tmp_path: Path) -> None:
    true = {"prompt": "p", "completion": "c", "seqlen": 5, "prompt_len": 1}
    most = int("9" * 4300)  # what JSON can hold; one more has a digit too many to be written
    odd, sound = {"version_rle": [[1, most], [2, 1]]}, {"version_rle": [[1, 4]]}
    write_lines(tmp_path / "eval-rollout" / "2" / "4.jsonl", *(AREAL | true | own for own in (odd, sound, sound)))
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.collect()["completion_tokens"].to_list() == [4, 4, 4]
    assert corpus.problems.collect()["code"].to_list() == []


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


PLAIN = ["yes", "Off", "y", "~", "0o7", "017", "0x1F", "0b11", "1_000", "1e5", "1.0e+5", ".5", ".inf", "1:30",
         "07.5", "", "a: b", "'yes'", '"\\U0001F600"', "|\n  a\n  b\n", ">-\n  a\n\n  b",
         "&a [1, {b: x}]", "*d"]  # fmt: skip


@pytest.mark.parametrize("scalars", [PLAIN, [*PLAIN, "! 5", "!!str 5"]])
def test_yaml_is_what_pyyaml_makes_of_it(scalars: list[str]) -> None:
    text = "- &d {a: 1, a: 2, b: [], c: no}\n" + "".join(f"- {scalar}\n" for scalar in scalars)
    found, expected = load_yaml(text.encode()), yaml.safe_load(text)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]
    assert found[0] is found[len(PLAIN)]


def test_yaml_leaves_dates_as_text_and_merges_nothing() -> None:
    found = load_yaml(b"a: 2024-01-01\n<<: {b: 1}\nc: " + b"1" * 70)
    assert found == {"a": "2024-01-01", "<<": {"b": 1}, "c": int("1" * 70)}
    assert load_yaml(b"") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [('k: !!int ""', "'' is no int .* line 1"), ("a: 1\nb: !!bool x", "'x' is no bool .* line 2"),
     ("k: !!int type", "'type' is no int"), ("!!float 1e", "'1e' is no float"), ("!!int {=: x}", "no int"),
     ("{[a]: 1}", "a key that is no text"), ("!!set {[a]}", "a key that is no text")],
)  # fmt: skip
def test_yaml_that_pyyaml_fails_on_says_what_and_where(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^YAML is malformed: .*{said}"):
        load_yaml(text.encode())


def test_yaml_that_only_looks_like_a_number_stays_text() -> None:
    digits = "9" * 5000
    assert load_yaml(f"[&a 0x_, *a, 0b_, {digits}]".encode()) == ["0x_", "0x_", "0b_", digits]
    assert load_yaml(f"[!!str x, 0x_, {digits}]".encode()) == ["x", "0x_", digits]


@pytest.mark.parametrize("tagged", ["", "- !!str x"])
def test_yaml_holds_what_json_can_hold(tagged: str) -> None:
    text = """- {1: a, null: b, yes: c, 2.50: d, 2024-01-01: e}
- !!set {a, b}
- !!omap [a: 1]
- !!binary aGk=
- !!timestamp 2024-01-01
"""
    keys = {"1": "a", "null": "b", "yes": "c", "2.50": "d", "2024-01-01": "e"}
    found = load_yaml((text + tagged).encode())
    assert found[:5] == [keys, {"a": None, "b": None}, [{"a": 1}], "aGk=", "2024-01-01"]


def test_art_yaml_with_odd_keys_and_values_keeps_its_groups(tmp_path: Path) -> None:
    odd = "{1: 2, null: 3, !!binary aGk=: 4, text: 0x_}"
    group = "- trajectories:\n  - messages_and_choices: [{role: user, content: a}]\n    reward: 1\n    metrics: "
    trajectories, problems = read(write_text(tmp_path / "0001.yaml", f"{group}{odd}\n{group}{{}}\n"))
    assert [trajectory.reward for trajectory in trajectories] == [1.0, 1.0]
    assert [part.name for part in trajectories[0].rewards] == ["1", "null", "aGk="]
    assert problems == []


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
    "group_index": 3, "index": 14, "prompt": SKYRL["input_prompt"], "response": "3<|im_end|>", "response_length": 3,
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
    assert (one.completion_tokens, two.completion_tokens, two.logged_steps) == (2, 3, None)
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


def test_tinker_settings_are_of_the_run_whose_metrics_lie_beside_them(tmp_path: Path) -> None:
    for run, rate in (("one", 1e-4), ("two", 2e-4)):
        (tmp_path / run).mkdir()
        data = {"batch_size": 8, "names": ["a"]}
        config = {"model_name": "m", "log_path": run, "learning_rate": rate, "dataset_builder": data}
        (tmp_path / run / "config.json").write_text(json.dumps(config))
        (tmp_path / run / "metrics.jsonl").write_text('{"step": 0, "env/all/reward/total": 0.5, "optim/lr": 1e-4}\n')
    corpus = trajlab.read(tmp_path)
    rows = corpus.run_config.select("run", "name", "configured").sort("run", "name").collect().rows()
    assert [row for row in rows if row[0] == "one"] == [
        ("one", "dataset_builder.batch_size", "8"), ("one", "learning_rate", "0.0001"), ("one", "log_path", '"one"'),
        ("one", "model_name", '"m"'),
    ]  # fmt: skip
    one, two = (configuration(corpus, run) for run in ("one", "two"))
    assert changed(one, two) == {"learning_rate": ("0.0001", "0.0002")}
    (tmp_path / "two" / "config.json").write_text('{"model_name": "m", "log_path": ')
    assert corpus.metric_runs == ["one", "two"]
    codes = trajlab.read(tmp_path).problems.select("run", "source", "code").collect().rows()
    assert codes == [("two", "two/config.json", "unreadable_record")]


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
