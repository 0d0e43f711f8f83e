"""Coverage of sources: what was there and what was understood, by bytes, records, turns, calls and fields."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.checks import gates
from trajlab.checks.facts import Facts, Share, read_state, thresholds
from trajlab.corpus.field_sample import SOURCES
from trajlab.measures.frame import Population, select

CHAT = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


def save(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def only(corpus: trajlab.Corpus) -> dict[str, Any]:
    return corpus.coverage.collect().row(0, named=True)


def test_a_lost_line_costs_its_own_bytes() -> None:
    path = SAMPLES / "verl" / "edge_cases" / "bad_middle_line" / "1.jsonl"
    told = only(trajlab.read(path))
    broken = path.read_bytes().split(b"\n")[1]
    assert (told["records"], told["records_understood"]) == (4, 3)
    assert told["bytes"] - told["bytes_understood"] == len(broken) + 1


def test_turns_that_the_log_states_and_nobody_read_are_missing() -> None:
    corpus = trajlab.read(SAMPLES / "agentlab")
    told = corpus.coverage.select(pl.col("turns").sum(), pl.col("turns_understood").sum()).collect()
    assert told.rows() == [(20, 0)], "of 21 stated one was not answered"
    crashed = trajlab.read(SAMPLES / "mini_swe_agent" / "crashed")
    told = crashed.coverage.select(pl.col("turns").sum(), pl.col("turns_understood").sum()).collect()
    assert told.rows() == [(2, 2)], "a call that the provider did not answer left no turn"


def test_malformed_calls_are_understood_as_such() -> None:
    told = only(trajlab.read(SAMPLES / "verl" / "legacy_run" / "2.jsonl"))
    assert told["calls"] == told["calls_understood"] == 31


def test_fields_are_named(tmp_path: Path) -> None:
    row = {"instance_id": "x", "messages": [{**message, "mood": 1} for message in CHAT], "style": 0.5}
    told = only(trajlab.read(save(tmp_path / "rows.jsonl", row, row, row)))
    assert told["field_records"] == 2
    assert (told["fields"], told["fields_understood"]) == (5, 3)
    assert told["fields_unknown"] == "messages.*.mood, style"


def test_a_few_sources_of_a_variant_are_looked_at_and_again_only_where_they_changed(tmp_path: Path) -> None:
    for number in range(9):
        save(tmp_path / "logs" / f"{number}.jsonl", {"messages": CHAT, f"odd{number}": 1})
    corpus = trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")
    looked = corpus.coverage.filter(pl.col("fields").is_not_null()).collect()
    assert looked["source"].to_list() == ["0.jsonl", "4.jsonl", "8.jsonl"]
    assert looked.height == SOURCES
    save(tmp_path / "logs" / "4.jsonl", {"messages": CHAT, "even": 1})
    again = trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")
    assert [one.unknown for one in again.manifest.fields] == [("odd0",), ("even",), ("odd8",)]


def test_the_gate_takes_the_lowest_share(tmp_path: Path) -> None:
    good = {"messages": CHAT, "padding": "x" * 5000}
    path = save(tmp_path / "rows.jsonl", *[good] * 90)
    path.write_bytes(path.read_bytes() + b'{"messages": [}\n')
    reading = read_state(trajlab.read(path), None)
    assert reading.understood["records"] == Share(91, 90)
    assert reading.coverage == 90 / 91, "the lost line is short: by bytes nearly all was read"
    assert (reading.understood["bytes"].share or 0) > 0.999
    assert reading.fields["chat"].unknown == ["padding"]


def test_what_cannot_be_read_is_covered_by_nothing(tmp_path: Path) -> None:
    save(tmp_path / "a.jsonl", {"messages": CHAT})
    (tmp_path / "b.jsonl").write_bytes(b"")
    corpus = trajlab.read(tmp_path)
    rows = corpus.coverage.select("source", "format", "records", "records_understood").collect().rows()
    assert rows == [("a.jsonl", "chat", 1, 1), ("b.jsonl", None, 1, 0)]
    shares = corpus.summary().coverage
    assert shares.filter(pl.col("format") == "chat")["records"].to_list() == [1.0]


def test_a_log_without_records_says_so(tmp_path: Path) -> None:
    name = "train_trajectories.jsonl"
    with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
        archive.writestr(name, "")
    found = trajlab.read(tmp_path).problems.select("source", "code").collect()
    assert found.rows() == [(f"{name}.zip", "no_records")]


def test_a_run_that_the_log_names_is_judged_by_its_own_files_and_by_what_was_not_read_beside_them(
    tmp_path: Path,
) -> None:
    for place in ("zstd", "limited"):
        shutil.copytree(SAMPLES / "inspect_log" / place, tmp_path / "logs" / place)
    (tmp_path / "logs" / "zstd" / "odd.jsonl").write_text('{"nothing": "known"}\n')
    corpus = trajlab.read(tmp_path / "logs")
    first, second = (
        corpus.trajectories.filter(pl.col("source").str.starts_with(place)).collect()["run"][0]
        for place in ("zstd", "limited")
    )
    assert {first, second}.isdisjoint({"zstd", "limited"})
    read = read_state(corpus, first)
    assert (read.files, read.unrecognised) == ({"inspect_log": 1}, 1)
    assert read.understood["records"] == Share(2, 2)
    other = read_state(corpus, second)
    assert (other.files, other.unrecognised, other.understood["records"]) == ({"inspect_log": 1}, 0, Share(1, 1))


@pytest.mark.parametrize(("limit", "status"), [(0.0, "passed"), (0.9, "passed"), (1.0, "failed")])
def test_the_gate_of_coverage_goes_by_the_limit_that_is_set(tmp_path: Path, limit: float, status: str) -> None:
    path = save(tmp_path / "a.jsonl", *[{"messages": CHAT}] * 40)
    path.write_text(path.read_text(encoding="utf-8") + "{broken\n", encoding="utf-8")
    corpus = trajlab.read(path)
    lines = thresholds({"coverage.at_least": limit})
    facts = Facts(select(corpus, Population()), {}, None, [], read_state(corpus, None), lines)
    (gate,) = [gate for gate in gates(facts) if gate.name == "coverage"]
    assert (gate.status, gate.limit) == (status, limit)
    assert gate.value == pytest.approx(40 / 41)
