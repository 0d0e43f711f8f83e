"""Logs that are broken on purpose: a problem row each, and every neighbour stays."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.corpus.batches import TableRows
from trajlab.corpus.corpus import Corpus
from trajlab.corpus.rows import ROWS_WAITING, PartRows, Place
from trajlab.records import Problem, RewardPart, Step, Trajectory

CHAT = {
    "messages": [
        {"role": "user", "content": "List the files."},
        {"role": "assistant", "content": "x", "tool_calls": [
            {"id": "1", "function": {"name": "bash", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "a.txt"},
    ]
}  # fmt: skip
MINI = SAMPLES / "mini_swe_agent" / "version_1.3.0" / "datekit__leap-102" / "datekit__leap-102.traj.json"


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def read_lines(folder: Path, *records: Any) -> Corpus:
    """Read chat rows; a text stands for itself."""
    (folder / "run").mkdir()
    rows = [record if isinstance(record, str) else json.dumps(record) for record in records]
    (folder / "run" / "rows.jsonl").write_text("\n".join(rows) + "\n")
    return trajlab.read(folder)


def lines_read(corpus: Corpus) -> list[int]:
    return sorted(corpus.trajectories.collect()["source_line"].to_list())


def problem_codes(corpus: Corpus) -> list[str]:
    return corpus.problems.collect()["code"].to_list()


@pytest.mark.parametrize("place", ["role", "content", "tool_calls", "type", "name", "arguments", "from"])
def test_a_value_of_a_wrong_type_costs_no_neighbour(tmp_path: Path, place: str) -> None:
    records = []
    for wrong in ([1], {"a": 1}, None, 3, True, ""):
        broken = json.loads(json.dumps(CHAT))
        broken["messages"][1][place] = wrong
        records += [broken, CHAT]
    corpus = read_lines(tmp_path, *records)
    assert {2, 4, 6, 8, 10, 12} <= set(lines_read(corpus))
    assert len(lines_read(corpus)) + len(problem_codes(corpus)) >= 12
    assert "reader_failed" not in problem_codes(corpus)


def test_a_wrong_value_costs_that_value_only(tmp_path: Path) -> None:
    broken = json.loads(json.dumps(CHAT))
    broken["messages"][1]["content"] = 3
    broken["messages"].append("no message")
    corpus = read_lines(tmp_path, broken, CHAT)
    assert lines_read(corpus) == [1, 2]
    steps = corpus.trajectories.collect()["n_steps"].to_list()
    assert steps[0] == steps[1]
    (said,) = corpus.problems.collect()["message"].to_list()
    last = len(CHAT["messages"])
    assert said == f"passed over, of a wrong type: messages.1.content (int), messages.{last} (str)"


@pytest.mark.parametrize("wrong", [[1], {"a": 1}, 3, True])
def test_calls_with_a_name_or_arguments_of_a_wrong_type_are_unparsable(tmp_path: Path, wrong: Any) -> None:
    said = [
        {"from": "human", "value": "q"},
        {"from": "function_call", "value": json.dumps({"name": wrong, "arguments": wrong})},
    ]
    items = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [
        {"type": "tool_use", "id": "1", "name": "bash", "input": [wrong]}]}]  # fmt: skip
    corpus = read_lines(tmp_path, CHAT, {"conversations": said}, {"messages": items})
    assert lines_read(corpus) == [1, 2, 3]
    assert problem_codes(corpus) == []
    assert corpus.tool_calls.collect()["invalid"].to_list() == [None, "unparsable", "unparsable"]


@pytest.mark.parametrize("depth", [300, 990, 100_000])
def test_deep_nesting_costs_one_record_at_most(tmp_path: Path, depth: int) -> None:
    content = (
        f'{{"messages": [{{"role": "user", "content": [{{"type": "tool_result", "content": {nested(depth)}}}]}}]}}'
    )
    named = f'{{"id": {nested(depth)}, "messages": [{{"role": "user", "content": "q"}}]}}'
    said = {"from": "function_call", "value": f'{{"name": "bash", "arguments": {nested(depth)}}}'}
    corpus = read_lines(tmp_path, CHAT, content, named, {"conversations": [said]}, CHAT)
    assert {1, 5} <= set(lines_read(corpus))
    assert len(lines_read(corpus)) + len(problem_codes(corpus)) == 5
    assert "reader_failed" not in problem_codes(corpus)


@pytest.mark.parametrize("info", ["text", 3, [1], True, {"a": 1, "exit_status": [1]}])
def test_a_document_whose_info_is_none_is_a_problem(tmp_path: Path, info: Any) -> None:
    document = json.loads(MINI.read_text())
    broken = {**document, "info": info, "trajectory_format": "mini-swe-agent-1"}
    for name, value in (("sound", document), ("broken", broken)):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.traj.json").write_text(json.dumps(value))
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.collect()["source"].to_list() == ["sound/sound.traj.json"]
    assert problem_codes(corpus) == ["unreadable_record"]


def test_a_broken_line_of_predictions_costs_no_other(tmp_path: Path) -> None:
    shutil.copy(MINI, tmp_path)
    rows = [json.dumps({"instance_id": name, "model_patch": ""}) for name in "abc"]
    (tmp_path / "preds.jsonl").write_text("\n".join([rows[0], rows[1][:-4], rows[2]]) + "\n")
    corpus = trajlab.read(tmp_path)
    assert corpus.outcomes.collect()["instance_id"].to_list() == ["a", "c"]
    assert corpus.problems.collect()[["code", "line"]].rows() == [("unreadable_record", 2)]


def test_a_defect_met_in_one_record_costs_no_neighbour() -> None:
    written: list[str] = []
    rows = PartRows(keep_texts=True, flush=lambda table: written.append(table.name))
    place = Place("run", "chat", "/", "rows.jsonl", "rows.jsonl")

    def add(name: str, step: Step) -> None:
        rows.add(place, name, Trajectory("openai", name, steps=[step], rewards=[RewardPart("r", 1.0)], line=7,
                                         problems=[Problem("cleaned", "")]))  # fmt: skip

    add("sound", Step("one"))
    add("defect", Step(3))  # type: ignore[arg-type]  # what a defect of a reader may yield
    add("sound too", Step("two"))
    tables = {name: table.take() for name, table in rows.tables.items()}
    frames = {name: frame for name, frame in tables.items() if frame is not None}
    assert frames["trajectories"]["ordinal"].to_list() == ["sound", "sound too"]
    assert frames["steps"]["text_chars"].to_list() == [3, 3]
    assert frames["rewards"].height == frames["behaviour"].height == 2
    assert frames["problems"]["code"].to_list() == ["cleaned", "reader_failed", "cleaned"]
    assert (rows.trajectories, rows.problems) == (2, 3)


def test_many_unreadable_lines_are_written_on_the_way() -> None:
    written: list[tuple[str, int]] = []

    def write(table: TableRows) -> None:
        frame = table.take()
        if frame is not None:
            written.append((table.name, frame.height))

    rows = PartRows(keep_texts=True, flush=write)
    place = Place("run", "chat", "/", "rows.jsonl", "rows.jsonl")
    rows.add(place, "first", Trajectory("openai", "0", steps=[Step("one")]))
    for line in range(ROWS_WAITING + 10_000):
        rows.note(place, Problem("unreadable_record", "no", line))
    assert {name for name, _ in written} >= {"trajectories", "steps", "problems"}
    for table in rows.tables.values():
        write(table)
    assert sum(height for name, height in written if name == "problems") == ROWS_WAITING + 10_000
    assert [height for name, height in written if name == "trajectories"] == [1]


@pytest.mark.parametrize("objects", [False, True])
@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("r2e_gym/lines/demo.jsonl", "problem_statement"), ("r2e_gym/lines/demo.jsonl", "thought"),
        ("openhands_sdk/output/output.jsonl", "content"), ("nemo_gym/word_problems/rollouts.jsonl", "summary"),
    ],
)  # fmt: skip
def test_a_value_nested_too_deeply_costs_its_record_at_most(
    name: str, field: str, objects: bool, tmp_path: Path
) -> None:
    lines = (SAMPLES / name).read_text("utf-8").splitlines()
    opening, closing = ('{"content":', "}") if objects else ("[", "]")
    deep = opening * 700 + '"bottom"' + closing * 700
    at = next(n for n, line in enumerate(lines) if n and f'"{field}":' in line)
    start = re.search(rf'"{field}":\s*', lines[at]).end()  # type: ignore[union-attr]
    end = json.JSONDecoder().raw_decode(lines[at], start)[1]
    lines[at] = lines[at][:start] + deep + lines[at][end:]
    (tmp_path / Path(name).name).write_text("\n".join(lines) + "\n", "utf-8")
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.collect().height >= len(lines) - 1
    assert "reader_failed" not in corpus.problems.collect()["code"].to_list()


def test_a_whole_record_of_another_format_further_down_does_not_take_the_file(tmp_path: Path) -> None:
    rows = (SAMPLES / "hacks" / "look_alikes" / "rows.jsonl").read_bytes().splitlines(keepends=True)
    foreign = (SAMPLES / "openhands" / "resolver" / "output.jsonl").read_bytes().splitlines(keepends=True)[0]
    (tmp_path / "rows.jsonl").write_bytes(b"".join([*rows[:2], foreign, *rows[2:]]))
    found = trajlab.read(tmp_path).trajectories.collect()
    assert set(found["format"]) == {"chat"} and found.height >= len(rows)


@pytest.mark.parametrize("digits", ["9" * 5000, "\u00b2", "\u0663"])
def test_digits_that_are_no_number_are_no_defect(digits: str, tmp_path: Path) -> None:
    document = {
        "info": {"config": {"agent": {"step_limit": digits}}, "exit_status": "submitted"},
        "messages": [
            {"role": "system", "content": "a"},
            {"role": "user", "content": "b"},
            {"role": "assistant", "content": "```bash\nls\n```"},
            {"role": "user", "content": f"<returncode>{digits}</returncode>\n<output>\nc</output>"},
        ],
        "trajectory_format": "mini-swe-agent-1",
    }
    (tmp_path / "a.traj.json").write_text(json.dumps(document))
    events = tmp_path / "sessions" / "s" / "events"
    shutil.copytree(next((SAMPLES / "openhands").rglob("events")), events)
    next(events.glob("*.json")).rename(events / f"{digits[:100]}.json")
    corpus = trajlab.read(tmp_path)
    assert set(corpus.trajectories.collect()["format"]) == {"mini_swe_agent", "openhands"}
    assert "reader_failed" not in corpus.problems.collect()["code"].to_list()


@pytest.mark.parametrize("depth", [400, 900, 50_000])
@pytest.mark.parametrize("name", ["terminal_bench", "openhands_sdk", "openhands", "harbor"])
def test_a_file_nested_too_deeply_is_no_defect(name: str, depth: int, tmp_path: Path) -> None:
    """Each file of conversations of several files, with a value nested deeply in place of its first text or number."""
    shutil.copytree(SAMPLES / name, tmp_path / name)
    for path in sorted((tmp_path / name).rglob("*.json")):
        deep = "[" * depth + "]" * depth
        path.write_text(re.sub(r':\s*("[^"\\]*"|\d+)', f": {deep}", path.read_text("utf-8"), count=1), "utf-8")
    corpus = trajlab.read(tmp_path / name)
    codes = set(corpus.problems.select("code").collect().to_series())
    assert "reader_failed" not in codes
    assert corpus.trajectories.select("trajectory_id").collect().height or codes
