"""Copilot CLI, Cursor, Droid, opencode, Pi: what each spells in its own way, records of kinds that came later."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from corpora_in_tests import SAMPLES

import trajlab
from trajlab import Corpus
from trajlab.behavior.termination import CLASSES, COPILOT_CLI, CURSOR, DROID, OPENCODE, PI
from trajlab.corpus.plan import claim
from trajlab.formats._sessions import UnknownKinds, apart
from trajlab.sources.discover import discover


def only(place: str) -> tuple[Corpus, dict[str, Any]]:
    """The corpus of a sample, and its trajectory that may be graded."""
    corpus = trajlab.read(SAMPLES / place)
    rows = corpus.trajectories.filter(pl.col("gradable").fill_null(True)).collect()
    return corpus, rows.row(0, named=True)


def calls_of(corpus: Corpus, trajectory: dict[str, Any]) -> pl.DataFrame:
    own = corpus.tool_calls.filter(pl.col("trajectory_id") == trajectory["trajectory_id"])
    return own.sort("step", "call").collect()


def said(corpus: Corpus, role: str) -> int:
    return corpus.messages.filter(pl.col("role") == role).collect().height


def test_ends_are_classes() -> None:
    for table in (COPILOT_CLI, CURSOR, DROID, OPENCODE, PI):
        assert set(table.values()) <= {*CLASSES, "ended"}


def test_a_session_of_copilot_cli() -> None:
    corpus, session = only("copilot_cli/repair")
    assert (session["prompt_tokens"], session["completion_tokens"], session["cached_tokens"]) == (5400, 240, 3600)
    assert (session["reasoning_tokens"], session["model"], session["agent_version"]) == (60, "scripted-model", "1.0.77")
    calls = calls_of(corpus, session)
    assert calls["tool"].to_list() == ["view", "bash", "edit", "bash", "bash"]
    assert calls["exit_code"].to_list() == [None, 1, None, None, 0]
    assert calls["executed"].to_list() == [True, True, True, False, True]
    assert calls["invalid"].to_list() == [None, None, None, "refused", None]
    reasoning = corpus.steps.sort("step").collect()["reasoning_chars"].to_list()
    assert reasoning[:3] == [len("Turn 1."), len("Turn 2."), None]
    # A skill's message is the system's; what came of the user's own command is no result of the agent's.
    assert (said(corpus, "user"), said(corpus, "system")) == (1, 2)


def test_only_settings_tell_the_model_where_no_answer_does() -> None:
    rows = trajlab.read(SAMPLES / "copilot_cli" / "stopped").trajectories.select("stop_reason", "model").collect()
    models = dict(rows.rows())
    assert (models["query"], models["task_complete"], models["abort"]) == ("auto", "auto-chosen", "scripted-model")


def test_subagents_of_copilot_cli_are_told_apart_in_both_spellings() -> None:
    corpus, session = only("copilot_cli/subagents")
    rows = corpus.trajectories.filter(~pl.col("gradable")).sort("native_id").collect()
    assert rows.select("native_id", "agent", "n_calls").rows() == [
        ("agent-1", "Copilot CLI explore", 1),
        ("call_task", "Copilot CLI explore", 1),
    ]
    assert calls_of(corpus, session)["tool"].to_list() == ["task", "task", "bash"]
    assert calls_of(corpus, session)["executed"].to_list() == [True, True, None]


def test_of_a_transcript_without_results_it_is_not_known_what_ran() -> None:
    corpus, session = only("cursor/transcripts")
    assert set(calls_of(corpus, session)["executed"]) == {None}
    assert session["n_executed"] is None
    assert (session["agent"], session["native_id"]) == ("Cursor", "00000000-0000-4000-8000-000000000102")
    agents = corpus.trajectories.filter(~pl.col("gradable")).collect()["agent"].to_list()
    assert agents == ["Cursor subagent"]
    corpus, session = only("cursor/results")
    assert calls_of(corpus, session)["executed"].to_list() == [True, True]
    assert calls_of(corpus, session)["exit_code"].to_list() == [None, 1]


def test_one_task_is_the_same_whatever_the_scaffold_adds_around_it() -> None:
    places = ("copilot_cli/repair", "cursor/transcripts", "droid/sessions", "droid/stream_json/newer.jsonl",
              "opencode/storage", "pi/repair")  # fmt: skip
    assert len({only(place)[1]["task_id"] for place in places}) == 1


def test_a_session_of_droid_and_its_streams_tell_the_same() -> None:
    for place in ("sessions", "stream_json/older.jsonl", "stream_json/newer.jsonl"):
        corpus, session = only(f"droid/{place}")
        assert (session["n_steps"], session["n_calls"], session["n_executed"]) == (5, 4, 4), place
        failed = calls_of(corpus, session)["exit_code"].to_list()[1]
        assert failed == (None if "newer" in place else 1), place
    _, newer = only("droid/stream_json/newer.jsonl")
    assert (newer["prompt_tokens"], newer["cached_tokens"], newer["completion_tokens"]) == (4500, 3000, 200)


def test_a_stream_of_droid_begins_like_one_of_claude_code() -> None:
    path = SAMPLES / "droid" / "stream_json" / "older.jsonl"
    head = json.loads(path.read_text("utf-8").split("\n")[0])
    assert (head["type"], head["subtype"], "session_id" in head) == ("system", "init", True)
    assert claim(discover([path]).files[0], None).format == "droid"


def test_a_session_of_opencode() -> None:
    corpus, session = only("opencode/storage")
    assert (session["prompt_tokens"], session["completion_tokens"], session["cached_tokens"]) == (6300, 280, 4200)
    assert session["cost"] == pytest.approx(7 * 0.004)
    calls = calls_of(corpus, session)
    assert calls["tool"].to_list() == ["read", "bash", "edit", "edit", "bash", "paint", "bash"]
    assert calls["exit_code"].to_list() == [None, 1, None, None, None, None, 0]
    assert calls["invalid"].to_list() == [None, None, None, None, "refused", "unparsable", None]
    assert calls["is_error"].to_list() == [None, None, True, None, None, None, None]
    assert calls["seconds"].to_list()[0] == pytest.approx(0.4)
    subagent = corpus.trajectories.filter(~pl.col("gradable")).collect().row(0, named=True)
    assert (subagent["native_id"], subagent["agent"]) == ("ses_103", "opencode subagent")


def test_parts_of_a_lost_message_are_kept(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "opencode" / "storage", tmp_path / "storage")
    message = tmp_path / "storage" / "message" / "ses_102" / "msg_ses_102_02.json"
    message.write_text('{"id": "msg_ses_102_02", "sess')
    corpus = trajlab.read(tmp_path)
    session = corpus.trajectories.filter(pl.col("native_id") == "ses_102").collect().row(0, named=True)
    assert (session["n_steps"], session["n_calls"]) == (7, 7)


def test_sessions_of_one_storage_do_not_mix_with_those_of_another(tmp_path: Path) -> None:
    for name in ("first", "second"):
        shutil.copytree(SAMPLES / "opencode" / "storage", tmp_path / name / "storage")
    rows = trajlab.read(tmp_path).trajectories.select("run", "native_id", "n_steps").collect()
    expected = [(run, *session) for run in ("first", "second") for session in (("ses_102", 7), ("ses_103", 2))]
    assert sorted(rows.rows()) == expected


def test_a_session_of_pi() -> None:
    corpus, session = only("pi/repair")
    assert (session["prompt_tokens"], session["completion_tokens"], session["cached_tokens"]) == (4500, 200, 3000)
    assert session["cost"] == pytest.approx(5 * 0.004)
    calls = calls_of(corpus, session)
    assert calls["tool"].to_list() == ["read", "bash", "edit", "bash"]
    assert calls["exit_code"].to_list() == [None, 1, None, None]
    # The user's own command is a message; what extensions and summaries add is the system's.
    assert (said(corpus, "user"), said(corpus, "system")) == (2, 4)


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("copilot_cli/subagents", "assistant.debate (1)"),
        ("cursor/results", "annotation (1)"),
        ("droid/sessions", "critique (1)"),
        ("droid/stream_json/older.jsonl", "thought (1)"),
        ("pi/stopped/length.jsonl", "critic (1), debate (1)"),
    ],
)
def test_records_of_a_kind_that_came_later_are_counted(place: str, named: str) -> None:
    found = trajlab.read(SAMPLES / place).problems.collect()
    assert found["code"].to_list() == ["unknown_kind"]
    said_kinds = found["message"].to_list()[0].rpartition(": ")[2]
    assert sorted(said_kinds.split(", ")) == named.split(", ")


def test_a_part_of_a_kind_that_came_later_costs_no_neighbour(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "opencode" / "storage", tmp_path / "storage")
    folder = tmp_path / "storage" / "part" / "msg_ses_102_02"
    (folder / "prt_later.json").write_text('{"id": "p", "messageID": "msg_ses_102_02", "type": "debate", "text": "x"}')
    corpus = trajlab.read(tmp_path)
    assert corpus.problems.collect()["code"].to_list() == ["unknown_kind"]
    assert sorted(corpus.trajectories.collect()["n_steps"].to_list()) == [2, 7]


def test_kinds_without_words_are_not_counted() -> None:
    unknown = UnknownKinds()
    unknown.saw("clock", {"time": 3, "content": ""})
    assert unknown.problem() is None
    for number in range(7):
        unknown.saw(f"kind {number}", {"text": "words"})
    problem = unknown.problem()
    assert problem is not None
    assert problem.message.startswith("7 records of kinds") and problem.message.endswith("and 2 more")


def test_tags_are_taken_off() -> None:
    assert apart("a <t>b</t> c", "t") == ("b", "a  c")
    assert apart("no tag", "t") == (None, "no tag")
    assert apart("</t> wrong way <t>", "t") == (None, "</t> wrong way <t>")
