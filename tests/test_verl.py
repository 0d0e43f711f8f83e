"""verl dumps: every version's keys, both trainers, odd records; rows made here, samples where present."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import trajlab
from trajlab.formats import verl
from trajlab.measures.catalogue import BY_NAME
from trajlab.measures.compute import estimate
from trajlab.measures.frame import Population, Trajectories, select
from trajlab.records import Problem, Trajectory
from trajlab.schema import TRAJECTORIES
from trajlab.sources.files import Bundle, SourceFile
from trajlab.sources.probe import Probe

SHARED = Path(os.environ.get("TRAJLAB_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))
SAMPLES = SHARED / "samples/written/trainers/verl"
TOOL = '{"type": "function", "function": {"name": "price", "parameters": {}}}'
PROMPT = f"system\nBe brief.\n\n<tools>\n{TOOL}\n</tools>\nuser\nTotal?\nassistant\n"
OUTPUT = (
    '<think>\nask\n</think>\n\n<tool_call>\n{"name": "price", "arguments": {"item": "cup"}}\n</tool_call>\n'
    "user\n<tool_response>\n4\n</tool_response>\nassistant\n<think>\nok\n</think>\n\nAnswer: 4"
)
OLDEST = {"input": PROMPT, "output": OUTPUT, "score": 1.2, "step": 3}
LEGACY = {**OLDEST, "gts": "4", "acc": 1.0, "format": 0.2, "pred": "4"}
V1_TRAIN = {**OLDEST, "gts": "4", "uid": "1f-a_b_2_0"}
V1_VALIDATION = {**OLDEST, "gts": "4", "reward": 1.2, "acc": True, "pred": "4", "uid": "1f_0_1"}


def source(path: Path, root: Path) -> SourceFile:
    stat = path.stat()
    return SourceFile(str(root), path.relative_to(root).as_posix(), str(path), stat.st_size, stat.st_mtime_ns)


def write(tmp_path: Path, *rows: dict[str, Any] | str, name: str = "rollouts/3.jsonl") -> SourceFile:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_bytes("\n".join(texts).encode("utf-8", errors="surrogatepass") + b"\n")
    return source(path, tmp_path)


def read(file: SourceFile) -> tuple[list[Trajectory], list[Problem]]:
    items = list(verl.read(Bundle("verl", "legacy", (file,))))
    trajectories = [item for item in items if isinstance(item, Trajectory)]
    return trajectories, [item for item in items if isinstance(item, Problem)]


def read_rows(tmp_path: Path, *rows: dict[str, Any] | str, **options: str) -> tuple[list[Trajectory], list[Problem]]:
    return read(write(tmp_path, *rows, **options))


@pytest.mark.parametrize(
    ("row", "variant"),
    [(OLDEST, "legacy"), (LEGACY, "legacy"), (V1_TRAIN, "v1_train"), (V1_VALIDATION, "v1_validation")],
)
def test_recognised(tmp_path: Path, row: dict[str, Any], variant: str) -> None:
    assert verl.recognise(Probe(write(tmp_path, row))) == variant
    assert read_rows(tmp_path, row)[0][0].variant == variant


@pytest.mark.parametrize(
    "row",
    [
        {"input": "a", "output": "b"},
        {"input": "a", "output": "b", "score": "good", "step": 1},
        {"input": ["a"], "output": "b", "score": 1, "step": 1},
        {"messages": [], "score": 1, "step": 1},
        {"input": "a", "output": "b", "score": None, "step": 1},
    ],
)
def test_not_recognised(tmp_path: Path, row: dict[str, Any]) -> None:
    assert verl.recognise(Probe(write(tmp_path, row))) is None


def told_by(folder: Path, *outputs: str) -> Trajectories:
    lines = [OLDEST | {"input": PROMPT.replace("Total", str(n)), "output": text} for n, text in enumerate(outputs)]
    write(folder / "logs", *lines)
    corpus = trajlab.ingest(folder / "logs", out=folder / "corpus")
    return select(corpus, Population(run=corpus.runs[0]))


def test_calls_that_were_never_executed_did_nothing(tmp_path: Path) -> None:
    ran = OUTPUT.replace('"price", "arguments": {"item": "cup"}', '"python", "arguments": {"code": "1"}')
    broken = '<tool_call>\n{"name": "python", "argu'
    found = told_by(tmp_path, ran, broken).frame.sort("task_id")
    assert sorted(found["n_invalid"].to_list()) == [0, 1]
    assert found["any_test"].to_list() == [False, False]


def test_labels_are_not_observed_where_only_the_idle_have_them(tmp_path: Path) -> None:
    population = told_by(tmp_path, OUTPUT, "No call.")
    assert population.frame["any_test"].null_count() == 2
    found = estimate(population.frame, BY_NAME["any_test_rate"])
    assert (found.value, found.missing) == (None, 2)
    only_idle = told_by(tmp_path / "idle", "No call.")
    assert only_idle.frame["any_test"].to_list() == [False]


def test_recognised_without_step_by_file_name_and_behind_a_bad_line(tmp_path: Path) -> None:
    row = {key: value for key, value in OLDEST.items() if key != "step"}
    assert verl.recognise(Probe(write(tmp_path, row, name="12.jsonl"))) == "legacy"
    assert verl.recognise(Probe(write(tmp_path, row, name="rows.jsonl"))) is None
    assert verl.recognise(Probe(write(tmp_path, "{broken", LEGACY))) == "legacy"
    assert read_rows(tmp_path, row, name="12.jsonl")[0][0].train_step == 12


def test_conversation(tmp_path: Path) -> None:
    [trajectory], problems = read_rows(tmp_path, LEGACY)
    assert problems == []
    first, last = trajectory.steps
    assert (first.text, first.reasoning, last.text, last.reasoning) == ("", "ask", "Answer: 4", "ok")
    [call] = first.calls
    assert (call.tool, call.arguments, call.output, call.executed) == ("price", {"item": "cup"}, "4", True)
    assert [message.role for message in trajectory.messages] == ["system", "user"]
    assert trajectory.tools_offered == ["price"]
    assert (trajectory.termination, trajectory.prompt_tokens, trajectory.model) == (None, None, None)


def test_legacy(tmp_path: Path) -> None:
    found, _ = read_rows(tmp_path, LEGACY, {**LEGACY, "request_id": "r1"}, {**LEGACY, "input": "other"}, OLDEST)
    first, second, other, oldest = found
    assert (first.reward, first.correct, first.train_step, first.split) == (1.2, True, 3, "train")
    assert [(part.name, part.value) for part in first.rewards] == [("acc", 1.0), ("format", 0.2)]
    assert (first.native_id, second.native_id) == (None, "r1")
    assert first.task_id == second.task_id != other.task_id
    assert str(first.task_id).startswith("prompt:")
    assert first.group_id == second.group_id != other.group_id
    assert str(first.group_id).startswith("3:")
    assert first.attempt is None
    assert (oldest.correct, oldest.rewards, oldest.reward) == (None, [], 1.2)
    assert [trajectory.line for trajectory in found] == [1, 2, 3, 4]
    assert first.ordinal == "0"
    assert int(second.ordinal) == len(json.dumps(LEGACY, ensure_ascii=False)) + 1


def test_v1_train_has_group_and_attempt_but_no_verdict(tmp_path: Path) -> None:
    [trajectory], _ = read_rows(tmp_path, V1_TRAIN)
    assert (trajectory.native_id, trajectory.group_id, trajectory.attempt) == ("1f-a_b_2_0", "1f-a_b", 2)
    assert (trajectory.correct, trajectory.rewards, trajectory.split) == (None, [], "train")


def test_v1_validation_outputs_of_one_session(tmp_path: Path) -> None:
    found, problems = read_rows(tmp_path, {**V1_VALIDATION, "uid": "1f_0_0"}, V1_VALIDATION)
    assert {(item.group_id, item.attempt, item.split, item.correct) for item in found} == {
        ("1f", 0, "validation", True)
    }
    assert [(part.name, part.value) for part in found[0].rewards] == [("acc", 1.0)]
    assert [problem.code for problem in problems] == ["session_outputs"]
    assert problems[0].message.startswith("1 records")


def test_uid_of_another_shape_is_a_group(tmp_path: Path) -> None:
    found, _ = read_rows(tmp_path, {**LEGACY, "uid": "abc"}, {**LEGACY, "uid": "abc"})
    assert {(item.variant, item.native_id, item.group_id) for item in found} == {("legacy", None, "abc")}


@pytest.mark.parametrize(
    ("name", "row", "split"),
    [
        ("validation_data/3.jsonl", LEGACY, "validation"),
        ("run/val_generations/3.jsonl", LEGACY, "validation"),
        ("rollout_data_dir/3.jsonl", LEGACY, "train"),
        ("dump/3.jsonl", {**LEGACY, "reward": 1.2}, "validation"),
        ("medieval/evaluate3.jsonl", LEGACY, "train"),
        ("rollouts/3.jsonl", V1_VALIDATION, "validation"),
    ],
)
def test_split(tmp_path: Path, name: str, row: dict[str, Any], split: str) -> None:
    assert read_rows(tmp_path, row, name=name)[0][0].split == split


def test_numbers_as_text_and_odd_numbers(tmp_path: Path) -> None:
    text = {
        **OLDEST,
        "score": "0.5",
        "step": "7",
        "acc": "True",
        "format_reward": "0.1",
        "pred": "4",
        "i": "3",
    }
    listed = {**OLDEST, "score": [0.0, 0.25, 1]}
    broken = {**OLDEST, "score": {"a": 1}}
    found, problems = read_rows(
        tmp_path, text, listed, broken, '{"input": "a", "output": "b", "score": NaN, "step": 7}'
    )
    assert problems == []
    assert (found[0].reward, found[0].train_step, found[0].correct) == (0.5, 7, True)
    assert [(part.name, part.value) for part in found[0].rewards] == [("acc", 1.0), ("format_reward", 0.1)]
    assert [item.reward for item in found] == [0.5, 1.25, None, None]
    assert [problem.code for problem in found[2].problems] == ["wrong_type"]
    assert [(problem.code, "`score`" in problem.message) for problem in found[3].problems] == [("cleaned", True)]


@pytest.mark.parametrize("acc", [0.5, "maybe", None, [1]])
def test_verdict_is_never_guessed(tmp_path: Path, acc: object) -> None:
    assert read_rows(tmp_path, {**LEGACY, "acc": acc})[0][0].correct is None


def test_bad_records_leave_their_neighbours(tmp_path: Path) -> None:
    found, problems = read_rows(
        tmp_path, LEGACY, '{"input": "a", "out', "[1]", {**LEGACY, "output": None}, {"input": "a"}, LEGACY
    )
    assert len(found) == 2
    assert [(problem.code, problem.line) for problem in problems] == [
        ("unreadable_record", 2),
        ("unreadable_record", 3),
        ("wrong_type", 4),
        ("wrong_type", 5),
    ]
    [odd], _ = read_rows(tmp_path, {**LEGACY, "input": [{"role": "user"}]})
    assert (odd.task_id, odd.group_id, odd.messages, len(odd.steps)) == (None, None, [], 2)
    assert [problem.code for problem in odd.problems] == ["wrong_type"]


def test_truncated_last_record(tmp_path: Path) -> None:
    file = write(tmp_path, LEGACY, LEGACY)
    path = Path(file.path)
    path.write_bytes(path.read_bytes()[:-30])
    found, problems = read(source(path, tmp_path))
    assert len(found) == 1
    assert [(problem.code, problem.line) for problem in problems] == [("truncated", 2)]


def test_lone_surrogates_are_replaced_and_told(tmp_path: Path) -> None:
    [item], _ = read_rows(tmp_path, json.dumps({**LEGACY, "output": "a \ud800 b", "request_id": "r"}))
    assert item.steps[0].text == "a \ufffd b"
    assert [(problem.code, problem.message, problem.native_id) for problem in item.problems] == [
        ("cleaned", "lone surrogates replaced", "r")
    ]


def test_separators_of_other_alphabets_split_nothing(tmp_path: Path) -> None:
    [item], problems = read_rows(tmp_path, {**OLDEST, "output": "a\u2028b\x85c\x0bd"})
    assert item.steps[0].text == "a\u2028b\x85c\x0bd"
    assert problems == []


def test_cut_off_rollout(tmp_path: Path) -> None:
    [item], _ = read_rows(tmp_path, {**LEGACY, "output": "<think>\nso far"})
    assert (item.termination, item.stop_reason) == ("truncated_budget", "cut off inside <think>")


def test_schemas_may_differ_from_line_to_line(tmp_path: Path) -> None:
    found, _ = read_rows(tmp_path, OLDEST, LEGACY, V1_TRAIN, {**OLDEST, "bonus": 1})
    assert [len(item.rewards) for item in found] == [0, 2, 0, 1]


def test_a_slice_reads_its_own_lines(tmp_path: Path) -> None:
    file = write(tmp_path, *[{**LEGACY, "step": step} for step in range(6)])
    middle = Path(file.path).read_bytes().index(b"\n", 2000) + 1
    parts = [verl.read(Bundle("verl", "legacy", (file,), *bounds)) for bounds in ((0, middle), (middle, None))]
    found = [item for part in parts for item in part if isinstance(item, Trajectory)]
    whole, _ = read(file)
    assert [(item.ordinal, item.train_step) for item in found] == [(item.ordinal, item.train_step) for item in whole]


def test_attempts_share_no_mutable_state(tmp_path: Path) -> None:
    first, second = read_rows(tmp_path, LEGACY, LEGACY)[0]
    first.messages.pop()
    assert len(second.messages) == 2


ROWS = {
    "legacy": [{**LEGACY, "request_id": "r1"}, {**LEGACY, "output": "<think>\nso far"}],
    "v1_train": [V1_TRAIN],
    "v1_validation": [V1_VALIDATION],
}
FIELDS = {"logged_correct": "correct", "logged_termination": "termination"}


@pytest.mark.parametrize("variant", verl.VARIANTS)
def test_variant_carries_what_it_declares(tmp_path: Path, variant: str) -> None:
    cut = {**ROWS[variant][0], "output": "<think>\nso far"}
    found, _ = read_rows(tmp_path, *ROWS[variant], cut)
    carried = {
        name
        for name in TRAJECTORIES.names
        for item in found
        if getattr(item, FIELDS.get(name, name), None) not in (None, [])
    }
    identity = {"variant", "ordinal"}
    assert carried - identity == verl.VARIANTS[variant].carries


# --- samples written by verl itself ---------------------------------------------------------------------


def sample(path: str) -> SourceFile:
    file = SAMPLES / path
    if not file.exists():
        pytest.skip("shared samples are absent")
    return source(file, SAMPLES)


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("trainer", ["v0", "v1"])
def test_written_dump(trainer: str, step: int) -> None:
    file = sample(f"rollout_data_dir_{trainer}/{step}.jsonl")
    assert verl.recognise(Probe(file)) == {"v0": "legacy", "v1": "v1_train"}[trainer]
    found, problems = read(file)
    assert (len(found), problems, [item.problems for item in found]) == (16, [], [[]] * 16)
    rows = [json.loads(line) for line in Path(file.path).read_text(encoding="utf-8").split("\n") if line]
    for item, row in zip(found, rows, strict=True):
        output: str = row["output"]
        calls = [call for one in item.steps for call in one.calls]
        assert len(item.steps) == output.count("\nassistant\n") + 1
        assert sum(call.executed is True for call in calls) == output.count("<tool_response>")
        assert (item.reward, item.train_step) == (row["score"], row["step"])
        assert item.correct == (bool(row["acc"]) if trainer == "v0" else None)
    assert len({item.group_id for item in found}) == 4


def test_both_trainers_dumps_tell_the_same() -> None:
    one, two = (read(sample(f"rollout_data_dir_{trainer}/2.jsonl"))[0] for trainer in ("v0", "v1"))
    assert [item.steps for item in one] == [item.steps for item in two]
    assert [item.task_id for item in one] == [item.task_id for item in two]


@pytest.mark.parametrize("trainer", ["v0", "v1"])
def test_written_edge_cases(trainer: str) -> None:
    file = sample(f"edge_cases/{trainer}/7.jsonl")
    assert verl.recognise(Probe(file)) == "legacy"
    found, problems = read(file)
    assert problems == []
    assert [(item.reward, item.correct) for item in found] == [(None, True), (None, True)]
    assert [[problem.code for problem in item.problems] for item in found] == [["cleaned"], ["cleaned"]]
    assert "\u2028" in found[0].steps[0].text


def test_written_file_that_a_surrogate_cut_short() -> None:
    file = sample("edge_cases/surrogate/8.jsonl")
    assert verl.recognise(Probe(file)) == "legacy"
    found, problems = read(file)
    assert (len(found), problems) == (1, [])


def test_other_files_beside_the_dumps_are_not_claimed() -> None:
    for path in ("console.log", "file_logger/tiny_shop/grpo_cpu.jsonl"):
        assert verl.recognise(Probe(sample(path))) is None
