"""Every reader reads a field or says that it does not: each leaf of every sample is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpora_in_tests import SAMPLES
from read_fields import ALL, FORMATS, fields_of_samples, samples_by_format

from trajlab.corpus.fields import _leaves, fields_of
from trajlab.corpus.why import why
from trajlab.formats.known import known_fields
from trajlab.sources.discover import discover
from trajlab.sources.field_mapping import FieldMapping
from trajlab.sources.files import SourceFile


def only_file(path: Path) -> SourceFile:
    return discover([path]).files[0]


@pytest.mark.parametrize("name", ALL)
def test_no_field_of_a_format_is_passed_over_unsaid(name: str) -> None:
    looked = fields_of_samples(samples_by_format()[name])
    read = {field for fields in looked for field in fields.read}
    assert {field for fields in looked for field in fields.unknown} - read == set()
    assert read or not looked
    if name in FORMATS:  # else: python tests/read_fields.py --write
        assert known_fields()[name] == read


def test_a_field_that_no_reader_knows_is_named(tmp_path: Path) -> None:
    record = {
        "instance_id": "a",
        "size": 10**400,
        "messages": [
            {"role": "user", "content": "b", "mood": {"level": [1, 2]}},
            {"role": "assistant", "content": "c"},
        ],
        "weather": None,
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(2 * (json.dumps(record) + "\n"))  # what is longer in the first moves the second: it is not read
    fields = fields_of(only_file(path))
    assert fields is not None
    assert fields.read == ("instance_id", "messages.*.content", "messages.*.role")
    assert fields.unknown == ("messages.*.mood.level.*", "size", "weather")
    assert fields.records == 2
    assert "not known to the reader: messages.*.mood.level.*, size, weather" in why(only_file(path)).lines()


@pytest.mark.parametrize(("named", "several"), [("tool_call_id", False), ("tool_call_id", True), ("name", True)])
def test_a_key_that_joins_results_is_no_field_that_is_passed_over(named: str, several: bool, tmp_path: Path) -> None:
    functions = ["look", "run"][: 1 + several]
    calls = [{"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in functions]
    results = [{"role": "tool", named: name, "content": f"result of {name}"} for name in reversed(functions)]
    row = {"instance_id": "a", "messages": [{"role": "assistant", "content": "c", "tool_calls": calls}, *results]}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    fields = fields_of(only_file(path))
    assert fields is not None
    field = f"messages.*.{named}"
    assert (field in fields.read, field in fields.joins, field in fields.ignored) == (several, not several, False)
    line = f"read only where the order does not tell what belongs together: {field}"
    assert (line in why(only_file(path)).lines()) is not several


def test_a_field_that_is_read_in_other_records_is_not_unknown() -> None:
    fields = fields_of(only_file(SAMPLES / "nemo_gym" / "other_servers" / "repair.jsonl"))
    assert fields is not None
    assert "response.usage.input_tokens" in fields.silent  # it is read where there was one call
    assert not {"response.usage.input_tokens", "agent_error_kind"} & set(fields.unknown)


def test_a_parent_is_a_key_where_the_turns_stand_in_order() -> None:
    (path,) = (SAMPLES / "pi" / "repair").rglob("*.jsonl")
    fields = fields_of(only_file(path))
    assert fields is not None
    assert "parentId" in fields.joins


def test_fields_of_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    messages = [{"role": "assistant", "content": "c"}]
    rows = [{"messages": messages, "reward": 1.0, "note": "n", "more": more} for more in ([], [{"a": 1}])]
    pq.write_table(pa.Table.from_pylist(rows), path)
    fields = fields_of(only_file(path))
    assert fields is not None
    assert fields.read == ("messages.*.content", "messages.*.role", "reward")
    assert fields.unknown == ("more.*.a", "note")
    assert fields.untried == 1  # no other value fits an empty list among lists of structs


def test_what_a_mapping_does_not_name_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"dialog": [{"role": "assistant", "content": "a"}], "rest": 1}]))
    fields = fields_of(only_file(path), FieldMapping("ours", messages="dialog"))
    assert fields is not None
    assert (fields.read, fields.ignored) == (("dialog.*.content", "dialog.*.role"), ("rest",))


def test_nothing_is_said_of_what_nobody_reads(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no log")
    assert fields_of(only_file(path)) is None


def test_a_document_of_very_many_fields_is_not_tried_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"dialog": [], **{f"k{number}": 0 for number in range(700)}}]))
    fields = fields_of(only_file(path), FieldMapping("ours", messages="dialog"))
    assert fields is not None
    assert (len(fields.read) + len(fields.ignored), fields.untried) == (500, 201)


def test_leaves_are_found_in_order() -> None:
    value = [{"a": [1, {"b": []}], "c": {}}]
    assert list(_leaves(value, ())) == [((0, "a", 0), 1), ((0, "a", 1, "b"), []), ((0, "c"), {})]
