"""LangChain's spellings read the same; R2E-Gym's ends, actions and rewards that nothing measured."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.behavior.termination import CLASSES, R2E_GYM
from trajlab.formats.r2e_gym import call_of

FACTS = ["n_steps", "n_calls", "n_executed", "n_invalid", "prompt_tokens", "cached_tokens", "reasoning_tokens", "model",
         "content_digest"]  # fmt: skip


def test_every_spelling_of_langchain_reads_the_same() -> None:
    folder = SAMPLES / "langchain"
    frames = [trajlab.read(path).trajectories.select(FACTS).collect() for path in sorted(folder.iterdir())]
    assert len(frames) == 3
    assert frames[0].equals(frames[1]) and frames[0].equals(frames[2])
    assert frames[0].row(0)[:7] == (5, 4, 3, 1, 4500, 1500, 50)


def test_a_call_that_langchain_could_not_parse_was_not_run() -> None:
    calls = trajlab.read(SAMPLES / "langchain" / "dumpd").tool_calls.sort("call").collect()
    assert calls["invalid"].to_list() == [None, None, "unparsable", None]
    assert calls["is_error"].to_list() == [None, True, None, None]


def test_ends_of_r2e_gym() -> None:
    assert set(R2E_GYM.values()) <= {*CLASSES, "ended"}
    rows = trajlab.read(SAMPLES / "r2e_gym").trajectories.sort("source_line").collect()
    assert rows.select("termination", "gradable", "correct", "reward").rows() == [
        ("success", True, True, 1.0),
        ("truncated_budget", True, False, 0.0),
        ("environment_error", False, None, 0.0),
    ]
    assert rows["n_invalid"].to_list() == [0, 1, 0]


@pytest.mark.parametrize(
    ("action", "tool", "arguments"),
    [
        ("<function=execute_bash>\n<parameter=cmd>ls</parameter>\n</function>", "execute_bash", {"cmd": "ls"}),
        ("<function=a.b><parameter=x>1</parameter><parameter=y>2", "a.b", {"x": "1", "y": "2"}),
        ("<function = finish>\n</function>", "finish", {}),
        ("<function=f><parameter=never closed", "f", {}),
    ],
)
def test_actions_of_r2e_gym(action: str, tool: str, arguments: dict[str, str]) -> None:
    call = call_of(action)
    assert call is not None
    assert (call.tool, call.arguments) == (tool, arguments)
    assert call_of("no action at all") is None


def test_real_messages_of_langchain(shared: Path) -> None:
    folder = shared / "samples" / "written" / "tracing"
    rows = trajlab.read(folder).trajectories.filter(pl.col("format") == "langchain").collect()
    assert rows.select("n_steps", "n_calls", "n_executed", "prompt_tokens").rows() == [(2, 1, 1, 10)] * 3


def test_of_lines_of_two_formats_in_one_file_the_first_decides(tmp_path: Path) -> None:
    lines = (SAMPLES / "r2e_gym" / "lines" / "demo.jsonl").read_text("utf-8").splitlines()
    foreign = (SAMPLES / "verl" / "version_0.5.0" / "1.jsonl").read_text("utf-8").splitlines()[0]
    (tmp_path / "mixed.jsonl").write_text("\n".join([*lines, foreign]) + "\n", encoding="utf-8")
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.select("format").collect()["format"].to_list() == ["r2e_gym"] * 3
    assert corpus.problems.select("line", "code").collect().rows() == [(4, "unreadable_record")]
