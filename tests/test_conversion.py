"""Logs written in another format: valid, nothing lost in silence, read back the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from click.testing import CliRunner
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.cli import cli
from trajlab.conversion import convert
from trajlab.conversion.atif import encode
from trajlab.conversion.common import in_order
from trajlab.conversion.names import RunNames, plain_name
from trajlab.corpus.assemble import scan_parts
from trajlab.corpus.rows import digest
from trajlab.errors import UsageError
from trajlab.formats._atif_extra import EXTRA
from trajlab.records import Message, RewardPart, Step, ToolCall, Trajectory
from trajlab.schema import TABLES

WITHOUT_TRAJECTORIES = ("scripts", "gold", "metric_logs")
FOLDERS = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir() and path.name not in WITHOUT_TRAJECTORIES)
SCHEMA = "samples/written/harbor_0.26.0_atif/atif-v1.8.schema.json"


def documents(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted(folder.rglob("*.trajectory.json"))]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_sample_becomes_atif(folder: str, tmp_path: Path) -> None:
    corpus = trajlab.read(SAMPLES / folder)
    done = convert(SAMPLES / folder, out=tmp_path, to="atif")
    trajectories = corpus.trajectories.select(pl.len()).collect().item()
    assert done.trajectories == trajectories
    assert done.not_held == {}
    found = documents(tmp_path)
    assert len(found) == done.files == done.trajectories
    for document in found:
        check_rules(document)
    assert json.loads((tmp_path / "convert.json").read_text()) == json.loads(
        json.dumps({name: getattr(done, name) for name in done.__struct_fields__})
    )


def check_rules(document: dict[str, Any]) -> None:
    """The rules of Harbor's validators that no JSON schema says."""
    assert document["schema_version"] == "ATIF-v1.7"
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))
    for step in document["steps"]:
        ids = [call["tool_call_id"] for call in step.get("tool_calls", [])]
        assert len(ids) == len(set(ids))
        for result in step.get("observation", {"results": []})["results"]:
            assert result.get("source_call_id") is None or result["source_call_id"] in ids
        if step["source"] != "agent":
            assert not {"tool_calls", "metrics", "reasoning_content", "model_name", "reasoning_effort"} & step.keys()


@pytest.mark.parametrize("folder", FOLDERS)
def test_atif_is_valid_under_the_published_schema(folder: str, tmp_path: Path, shared: Path) -> None:
    convert(SAMPLES / folder, out=tmp_path, to="atif")
    schema = json.loads((shared / SCHEMA).read_text("utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    for document in documents(tmp_path):
        assert [error.message for error in validator.iter_errors(document)] == []


def odd() -> Trajectory:
    return Trajectory(
        "v", "0", native_id="n\ud800", task_id="t/../x", reward=0.5, correct=False, tools_offered=["bash"],
        messages=[
            Message("system", "S"), Message("user", "U"), Message("customer", "C", 1), Message("tool", "late", 2),
        ],
        steps=[
            Step("a", "why", [
                ToolCall("bash", {"command": "ls"}, "ls", "1", "out", 0, executed=True),
                ToolCall("bash", '{"command": "pwd"}', "pwd", "1", "", executed=True),
                ToolCall(None, "{broken", invalid="unparsable"),
            ], prompt_tokens=3, timestamp=0.5),
            Step("b", invalid_action="no call", finish_reason="stop"),
        ],
        rewards=[RewardPart("style", 1.0)],
    )  # fmt: skip


def test_an_odd_trajectory_as_atif_worked_out_by_hand() -> None:
    data = encode(odd())
    assert data is not None
    document = json.loads(data)
    check_rules(document)
    assert document["extra"][EXTRA] == {
        "task_id": "t/../x", "reward": 0.5, "correct": False, "native_id": "n\ufffd",
        "rewards": [{"name": "style", "value": 1.0}],
    }  # fmt: skip
    assert [(step["source"], step["message"]) for step in document["steps"]] == [
        ("system", "S"), ("user", "U"), ("agent", "a"), ("user", "C"), ("agent", "b"), ("system", ""),
    ]  # fmt: skip
    assert document["steps"][2] == {
        "step_id": 3,
        "timestamp": "1970-01-01T00:00:00.500000Z",
        "source": "agent",
        "message": "a",
        "reasoning_content": "why",
        "tool_calls": [
            {"tool_call_id": "1_1", "function_name": "bash", "arguments": {"command": "ls"},
             "extra": {EXTRA: {"exit_code": 0, "executed": True, "call_id": "1"}}},
            {"tool_call_id": "1_2", "function_name": "bash", "arguments": {"command": "pwd"},
             "extra": {EXTRA: {"executed": True, "call_id": "1"}}},
            {"tool_call_id": "call_3", "function_name": "unknown", "arguments": {},
             "extra": {EXTRA: {"invalid": "unparsable", "executed": None, "call_id": None, "raw_arguments": "{broken",
                               "tool": None}}},
        ],
        "observation": {
            "results": [{"source_call_id": "1_1", "content": "out"}, {"source_call_id": "1_2", "content": ""}]
        },
        "metrics": {"prompt_tokens": 3},
    }  # fmt: skip
    assert document["steps"][5]["observation"] == {"results": [{"content": "late"}]}


def test_reading_order() -> None:
    said = [item.text for item in in_order(odd())]
    assert said == ["S", "U", "a", "C", "b", "late"]


EVERYTHING = [
    "run", "task_id", "native_id", "parent_native_id", "group_id", "attempt", "train_step", "sample_index", "reward",
    "correct", "outcome", "termination", "stop_reason", "gradable", "agent", "agent_version", "model",
    "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "seconds", "cost", "started_at",
    "tools_offered", "submission_chars", "steps_allowed",
    "logged_steps", "n_steps", "n_calls", "n_executed", "n_invalid", "any_test", "agent_chars",
    "reasoning_chars", "n_verifications", "n_readback", "stale",
]  # fmt: skip
OF_TABLES = {
    "commands": ["program", "rule", "test_scope"],
    "steps": ["text_chars", "reasoning_chars", "prompt_tokens", "completion_tokens", "cost", "timestamp",
              "finish_reason", "invalid_action"],
    "tool_calls": ["tool", "call_id", "command", "output_chars", "exit_code", "is_error", "executed", "invalid",
                   "requestor", "seconds"],
    "prompts": ["role", "after_step", "chars"],
    "rewards": ["name", "value", "weight"],
    "token_moments": TABLES["token_moments"].names[1:],
    "token_histograms": TABLES["token_histograms"].names[1:],
}  # fmt: skip


@pytest.mark.parametrize("folder", FOLDERS)
def test_atif_is_read_back_the_same(folder: str, tmp_path: Path) -> None:
    convert(SAMPLES / folder, out=tmp_path / "out", to="atif")
    first, again = trajlab.read(SAMPLES / folder), trajlab.read(tmp_path / "out")
    for table, columns in {"trajectories": EVERYTHING, **OF_TABLES}.items():
        left, right = (
            Counter(corpus.table(table).select(columns).collect().iter_rows())
            if table != "trajectories"
            else Counter(corpus.trajectories.select(columns).collect().iter_rows())
            for corpus in (first, again)
        )
        assert left == right, table
    # What a trainer's file tells of the step is joined beside the log, and stays there.
    told = {"trajectories": ["split", "train_step", "logged_epoch"], "run_config": ["name", "configured", "applied"]}
    for table, columns in told.items():
        left, right = (
            Counter(scan_parts(corpus.folder, corpus.manifest, table).select(columns).collect().iter_rows())
            for corpus in (first, again)
        )
        assert left == right, table


def test_what_the_log_does_not_record_is_not_made_up_when_it_is_read_back(tmp_path: Path) -> None:
    """Start, duration and totals of more than the turns; a fence that was no call; a tool without a name."""
    fenced = Step("I would run\n```bash\nls\n```", timestamp=5.0, prompt_tokens=3)
    nameless = Step("b", calls=[ToolCall("", {"x": 1}, executed=False)], timestamp=9.0, prompt_tokens=4)
    written = Trajectory("1", "0", task_id="t", agent="mini-swe-agent", prompt_tokens=50, steps=[fenced, nameless])
    (tmp_path / "a.trajectory.json").write_bytes(encode(written) or b"")
    corpus = trajlab.read(tmp_path)
    assert corpus.problems.collect().is_empty()
    facts = corpus.trajectories.select("started_at", "seconds", "prompt_tokens", "n_steps", "n_calls").collect()
    assert facts.rows() == [(None, None, 50, 2, 1)]
    assert corpus.tool_calls.select("tool", "command").collect().rows() == [("", None)]


def test_of_a_conversation_without_a_word_no_steps_are_counted_when_it_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "logs/simulations").mkdir(parents=True)
    (tmp_path / "logs/results.json").write_text('{"info": {"agent_info": {}, "user_info": {}}, "tasks": []}')
    told = {"id": "s", "task_id": "s", "termination_reason": "user_stop", "ticks": [{"tick_id": 0}]}
    (tmp_path / "logs/simulations/s.json").write_text(json.dumps(told))
    convert(tmp_path / "logs", out=tmp_path / "out", to="atif")
    for place in ("logs", "out"):
        rows = trajlab.read(tmp_path / place).trajectories.select("n_steps", "termination", "stop_reason").collect()
        assert rows.rows() == [(None, "unknown", "user_stop")], place


def test_a_trajectory_without_a_step_is_kept(tmp_path: Path) -> None:
    row = {"instance_id": "outage", "messages": [], "exit_status": "APIError", "resolved": False}
    rows = [row, {"instance_id": "fine", "messages": [{"role": "assistant", "content": "Done."}]}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    for to in ("atif", "openai"):
        done = convert(tmp_path / "rows.jsonl", out=tmp_path / to, to=to)
        assert done.trajectories == 2
        again = trajlab.read(tmp_path / to).trajectories.select("task_id", "n_steps", "outcome").collect()
        assert sorted(again.rows()) == [("fine", 1, None), ("outage", 0, False)]


def test_openai_rows_are_read_back_the_same(tmp_path: Path) -> None:
    source = SAMPLES / "mini_swe_agent"
    done = convert(source, out=tmp_path / "rows", to="openai")
    assert done.unread == []
    assert {"call.exit_code", "step.timestamp"} <= done.not_held.keys()
    first, again = trajlab.read(source), trajlab.read(tmp_path / "rows")
    told = ["run", "task_id", "native_id", "model", "stop_reason", "n_steps", "n_calls", "any_test", "outcome"]
    left, right = (corpus.trajectories.select(told).sort(told, nulls_last=True).collect() for corpus in (first, again))
    assert left.equals(right)
    count = ["program", "rule", "test_scope"]
    left, right = (
        corpus.commands.group_by(count).len().sort(count, nulls_last=True).collect() for corpus in (first, again)
    )
    assert left.equals(right)


def test_a_conversion_again_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b", "a"):
        convert(SAMPLES / "verl", out=tmp_path / name, to="atif", run="r")
    left, right = (
        {path.name: path.read_bytes() for path in sorted((tmp_path / name / "r").iterdir())} for name in ("a", "b")
    )
    assert left == right


def test_hostile_names_stay_inside_the_folder(tmp_path: Path) -> None:
    row = {"run": "../../etc", "instance_id": "../../../x", "messages": [{"role": "assistant", "content": "a"}]}
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rows.jsonl").write_text(json.dumps(row) + "\n")
    convert(tmp_path / "logs", out=tmp_path / "out", to="atif")
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "out"}
    assert len(documents(tmp_path / "out")) == 1


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (("测试", "訓練", "दौड़", "run-1"), {"测试", "訓練", "दौड़", "run-1"}),
        (("???", "!!!"), {"unnamed", f"unnamed-{digest('!!!')}"}),
        (("a/b", "a_b", "A b"), {"a_b", f"a_b-{digest('a_b')}", f"A_b-{digest('A b')}"}),
        (("cafe\u0301", "café"), {"café", f"café-{digest('café')}"}),
        (("../..", "\u202e\x00/etc"), {"unnamed", "etc"}),
        (("convert.json",), {f"convert.json-{digest('convert.json')}"}),
        (("长" * 300, "长" * 299), {"长" * 50, f"{'长' * 50}-{digest('长' * 299)}"}),
    ],
    ids=lambda given: None,
)
@pytest.mark.parametrize("to", ["atif", "openai"])
def test_every_run_has_a_name_of_its_own(to: str, runs: tuple[str, ...], names: set[str], tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    rows = [{"run": run, "instance_id": "题" * 99, "messages": [{"role": "assistant", "content": run}]} for run in runs]
    (tmp_path / "logs" / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = convert(tmp_path / "logs", out=tmp_path / "out", to=to)
    assert (said.files, said.unread) == (len(runs), [])
    assert {path.name.removesuffix(".jsonl") for path in (tmp_path / "out").iterdir()} == names | {"convert.json"}


def test_files_that_were_there_are_said_to_be_replaced(tmp_path: Path) -> None:
    logs, out = str(SAMPLES / "chat" / "openai"), str(tmp_path / "out")
    runner = CliRunner()
    first, second = (runner.invoke(cli, ["convert", logs, "-o", out, "--to", "openai"]).stdout for _ in range(2))
    assert "replaced" not in first
    assert "replaced: 1 files of the same name" in second


def test_letters_that_a_file_system_does_not_take_are_written_by_their_number() -> None:
    assert plain_name("测试 é", all_letters=False) == "u6d4bu8bd5_u00e9"
    assert plain_name("a__b  c/.d") == "a__b_c_.d"
    names = RunNames([], all_letters=False)
    assert (names.of("测"), names.of("u6d4b")) == ("u6d4b", f"u6d4b-{digest('u6d4b')}")


def test_wrong_use_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no format 'csv'; expected one of atif, openai"):
        convert(SAMPLES / "verl", out=tmp_path / "out", to="csv")
    corpus = trajlab.ingest(SAMPLES / "chat", out=tmp_path / "corpus")
    with pytest.raises(UsageError, match="a corpus; expected the logs it was made of"):
        convert(corpus.folder, out=tmp_path / "out", to="atif")
    assert not (tmp_path / "out").exists()


def test_the_command_says_what_is_lost(tmp_path: Path) -> None:
    arguments = ["convert", str(SAMPLES / "mini_swe_agent"), "-o", str(tmp_path), "--to", "openai"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0
    assert "openai has no place for: " in result.output
    assert "call.exit_code (" in result.output


def test_a_log_nested_too_deeply_is_said_and_its_neighbours_are_written(tmp_path: Path) -> None:
    rows = [{"instance_id": "fine", "messages": [{"role": "assistant", "content": "Done."}]}]
    deep = '{"instance_id": "deep", "messages": ' + "[" * 50_000 + "]" * 50_000 + "}\n"
    (tmp_path / "rows.jsonl").write_text(json.dumps(rows[0]) + "\n" + deep + json.dumps(rows[0]) + "\n")
    done = convert(tmp_path / "rows.jsonl", out=tmp_path / "out", to="openai")
    assert done.trajectories == 2
    assert [said.partition(":")[0] for said in done.unread] == ["unreadable_record"]
