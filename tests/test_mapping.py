"""The user's own mapping: logs of no known format become the same tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import trajlab
from trajlab.cli import cli
from trajlab.errors import UsageError
from trajlab.sources.field_mapping import FieldMapping, fitted, is_there, load_mapping, look_up

ROWS: list[dict[str, Any]] = [
    {
        "question": [{"role": "user", "content": "Mend leap years."}],
        "dialog": [
            {
                "role": "assistant",
                "content": "Testing.",
                "tool_calls": [{"id": "1", "function": {"name": "bash", "arguments": '{"command": "pytest -q"}'}}],
            },
            {"role": "tool", "tool_call_id": "1", "content": "1 passed in 0.10s"},
        ],
        "meta": {"problem": "leap", "iteration": 3},
        "scores": [1.0, 0.5],
        "verdict": "pass",
        "why": "max_turns",
    },
    {"dialog": "no list", "meta": {"problem": "zone"}, "scores": [0.0], "verdict": "fail"},
    {"question": [], "dialog": "[]", "meta": {"problem": "zone", "iteration": "x"}, "verdict": "odd"},
]
MAPPING = """
name = "ours"
messages = ["question", "dialog"]
[columns]
task_id = "meta.problem"
reward = "scores.0"
correct = "verdict"
train_step = "meta.iteration"
stop_reason = "why"
attempt = "meta.try"
[values.correct]
pass = true
fail = false
[constants]
agent = "in-house"
[rewards]
style = "scores.1"
"""


def write(folder: Path, rows: list[dict[str, Any]], kind: str) -> Path:
    path = folder / f"rows.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "json":
        path.write_text(json.dumps(rows))
    else:
        texts = [{name: json.dumps(value) for name, value in row.items()} for row in rows]
        pq.write_table(pa.Table.from_pylist(texts), path)
    return path


def mapping_file(folder: Path, text: str = MAPPING) -> Path:
    path = folder / "my.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_a_mapping_fills_the_tables(tmp_path: Path, kind: str) -> None:
    (tmp_path / "logs").mkdir()
    write(tmp_path / "logs", ROWS, kind)
    corpus = trajlab.read(tmp_path / "logs", mapping=mapping_file(tmp_path))
    told = corpus.trajectories.sort("train_step", nulls_last=True).collect()
    assert told.select(
        "task_id", "reward", "correct", "train_step", "stop_reason", "termination", "agent", "n_steps", "any_test"
    ).rows() == [
        ("leap", 1.0, True, 3, "max_turns", "truncated_budget", "in-house", 1, True),
        ("zone", None, None, None, None, None, "in-house", 0, None),
    ]
    assert told.select("format", "variant").unique().rows() == [("mapped", "ours")]
    assert corpus.rewards.drop_nulls("value").select("name", "value").collect().rows() == [("style", 0.5)]
    assert corpus.problems.select("code", "message").sort("code", "message").collect().rows() == [
        ("unmapped", "`meta.try` (attempt) stands in none of 3 records"),
        ("unreadable_record", "the conversation: `question` is NoneType; expected a list of messages"),
        ("wrong_type", "`meta.iteration` (train_step) is no int but 'x'"),
        ("wrong_type", "`verdict` (correct) is no bool but 'odd'"),
    ]


def test_flat_text_of_a_parquet_file(tmp_path: Path) -> None:
    rows = [{"q": "user\nAdd.\nassistant\n", "out": "<think>easy</think>\nAnswer: 4", "ok": True}]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    text = 'prompt = "q"\nresponse = "out"\n[columns]\ncorrect = "ok"\n'
    corpus = trajlab.read(path, mapping=mapping_file(tmp_path, text))
    assert corpus.trajectories.select("correct", "n_steps").collect().rows() == [(True, 1)]
    assert corpus.steps.select("reasoning_chars").collect().item() == len("easy")
    assert corpus.prompts.select("role").collect().rows() == [("user",)]


def test_a_mapping_speaks_only_of_its_files(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}]}
    (tmp_path / "logs").mkdir()
    write(tmp_path / "logs", ROWS[:1], "json")
    (tmp_path / "logs" / "chat.jsonl").write_text(json.dumps(chat) + "\n")
    text = 'files = ["rows.*"]\n' + MAPPING
    corpus = trajlab.read(tmp_path / "logs", mapping=mapping_file(tmp_path, text))
    assert sorted(corpus.trajectories.select("format").collect().to_series()) == ["chat", "mapped"]


def test_another_mapping_reads_the_files_again(tmp_path: Path) -> None:
    path = write(tmp_path, ROWS[:1], "jsonl")
    first = trajlab.ingest(path, out=tmp_path / "corpus", mapping=mapping_file(tmp_path))
    assert first.trajectories.select("task_id").collect().item() == "leap"
    changed = mapping_file(tmp_path, MAPPING.replace('"meta.problem"', '"verdict"'))
    again = trajlab.ingest(path, out=tmp_path / "corpus", mapping=changed)
    assert again.trajectories.select("task_id").collect().item() == "pass"
    with pytest.raises(UsageError, match="none of a known log format"):
        trajlab.ingest(path, out=tmp_path / "corpus")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("messages = 'a'\n[columns]\nrewards = 'b'", "no field 'rewards'.*Did you mean reward"),
        ("[columns]\nreward = 'b'", "neither messages nor response"),
        ("messages = 'a'\nresponse = 'b'", "messages and response"),
        ("messages = 'a'\nmesages = 'b'", "no mapping: Object contains unknown field `mesages`"),
        ("messages = 'a'\n[constants]\ntrain_step = 'x'", r"constants.train_step = 'x'"),
        ("messages = 'a'\n[values.correct]\npass = 'sure'", r"values.correct.pass = 'sure'"),
        ("messages = ", "no mapping: "),
        ("messages = " + "9" * 5000, "no mapping: "),
        ("messages = " + "[" * 3000, "no mapping: "),
    ],
)
def test_a_wrong_mapping_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = mapping_file(tmp_path, text)
    with pytest.raises(UsageError, match=said):
        load_mapping(path)
    rows = write(tmp_path, ROWS, "jsonl")
    result = CliRunner().invoke(cli, ["ingest", str(rows), "--mapping", str(path), "-o", str(tmp_path / "c")])
    assert result.exit_code != 0
    assert isinstance(result.exception, UsageError)
    assert not (tmp_path / "c").exists()


def test_the_mapping_of_the_readme_is_one(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    text = readme.partition("<!-- mapping -->\n```toml\n")[2].partition("```")[0]
    mapping = load_mapping(mapping_file(tmp_path, text))
    assert mapping.places["correct"] == "verdict"
    assert mapping.conversation == ("prompt", "completion")


def test_a_mapping_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_mapping(tmp_path / "no.toml")


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "a.b", "0"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(VALUES, st.lists(st.sampled_from(["a", "b", "0", "1", "-1", "", "x"]), min_size=1, max_size=4))
def test_a_place_is_found_as_a_slow_search_finds_it(record: Any, parts: list[str]) -> None:
    place = ".".join(parts)

    def slow(value: Any, rest: list[str]) -> list[Any]:
        if not rest:
            return [value]
        found = []
        for size in range(len(rest), 0, -1):
            key = ".".join(rest[:size])
            if isinstance(value, dict) and key in value:
                found += slow(value[key], rest[size:])
            is_place = isinstance(value, list) and size == 1 and key.removeprefix("-").isdecimal()
            if is_place and -len(value) <= int(key) < len(value):
                found += slow(value[int(key)], rest[size:])
        return found

    found = slow(record, parts)
    assert is_there(record, place) == bool(found)
    assert not found or look_up(record, place) in found


def test_values_are_fitted_to_their_type() -> None:
    assert [fitted("3", int), fitted("x", int), fitted("0.5", float), fitted("True", bool), fitted(3, str)] == [
        3, None, 0.5, True, "3",
    ]  # fmt: skip
    assert fitted(["a"], str) is None


def test_a_growing_file_keeps_its_neighbours(tmp_path: Path) -> None:
    path = write(tmp_path, ROWS[:1], "jsonl")
    with path.open("a") as file:
        file.write('{"dialog": [], "question"')
    corpus = trajlab.ingest(path, out=tmp_path / "corpus", mapping=mapping_file(tmp_path))
    assert corpus.trajectories.select(pl.len()).collect().item() == 1
    assert corpus.problems.filter(pl.col("code") == "truncated").select("line").collect().rows() == [(2,)]


def test_a_component_of_the_reward_that_is_no_number_is_said(tmp_path: Path) -> None:
    row = {"dialog": [{"role": "assistant", "content": "a"}], "scores": [0.5, "much"], "rest": {"x": 1}}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    rewards = {"style": "scores.0", "tone": "scores.1"}
    corpus = trajlab.read(tmp_path, mapping=FieldMapping("ours", messages="dialog", rewards=rewards))
    assert corpus.rewards.select("name", "value").sort("name").collect().rows() == [("style", 0.5), ("tone", None)]
    told = corpus.problems.select("code", "message").collect().rows()
    assert told == [("wrong_type", "`scores.1` (reward tone) is no float but 'much'")]
    covered = corpus.coverage.select("fields_understood", "fields_ignored", "fields_unknown").collect().rows()
    assert covered == [(4, "rest.x", "")]
