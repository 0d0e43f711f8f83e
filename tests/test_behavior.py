"""Think, repetition and termination rules against their definitions, spelled out slowly."""

from __future__ import annotations

import zlib
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trajlab.behavior.caching import LONGEST_CACHED, cached_by_text
from trajlab.behavior.repetition import is_repetitive, repetition_facts
from trajlab.behavior.termination import CLASSES, ENDED, classify_generic, classify_mini
from trajlab.behavior.think import hollow_flags, think_facts, thought_of
from trajlab.behavior.tools import decoded_arguments
from trajlab.records import Step, ToolCall


def think(thought: str) -> ToolCall:
    return ToolCall("think", {"thought": thought}, executed=True)


def bash(command: str = "ls", output: str | None = "a", exit_code: int | None = 0) -> ToolCall:
    return ToolCall("bash", command=command, output=output, exit_code=exit_code, executed=True)


LONG = "the parser drops the last line of the file, because it reads up to the second newline"


def test_a_short_or_repeated_thought_is_hollow() -> None:
    thoughts = ["hmm", LONG, LONG.upper(), LONG.replace("second", "third"), "now I look at the tests of the writer"]
    assert hollow_flags(thoughts) == [True, False, True, True, False]


@pytest.mark.parametrize(
    ("steps", "spam"),
    [
        ([[think(LONG)], [think("then I read the writer's code again")]], False),
        ([[think(LONG)], [think("a")], [think("b")]], True),  # a run of three
        ([[think(LONG), think("hm")], [bash()]], True),  # two in one step, one hollow
        ([[think(LONG), think("then I read the writer's code again")], [bash()]], False),
        ([[think("a")], [bash()], [think("b")], [bash()], [think("c")]], True),  # over half of five calls
        ([[think("a")], [bash()], [think("b")], [bash()]], False),
    ],
)
def test_think_spam(steps: list[list[ToolCall]], spam: bool) -> None:
    turns = [Step(calls=calls) for calls in steps]
    facts = think_facts(turns, [call.tool == "think" for calls in steps for call in calls])
    assert facts.spam is spam
    assert facts.calls == sum(call.tool == "think" for calls in steps for call in calls)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None]), st.sampled_from([0, 1]))))
def test_repetition_is_what_the_definitions_say(history: list[tuple[str, str | None, int]]) -> None:
    calls = [bash(command, output, code) for command, output, code in history]
    requests = [ord(command) for command, _, _ in history]
    facts = repetition_facts(requests, calls)
    if not history:
        assert facts is None
        return
    runs = [len(list(group)) for _, group in groupby(requests)]
    same_result = [history[i : i + 4] for i in range(len(history) - 3)]
    same_error = [history[i : i + 3] for i in range(len(history) - 2)]
    turns = [requests[i : i + 6] for i in range(len(requests) - 5)]
    openhands = (
        any(len({(c, o) for c, o, _ in four}) == 1 and four[0][1] is not None for four in same_result)
        or any(len({c for c, _, _ in three}) == 1 and all(code for _, _, code in three) for three in same_error)
        or any(six[0] != six[1] and six == six[:2] * 3 for six in turns)
    )
    assert facts is not None
    assert (facts.longest_run, facts.stuck, facts.stuck_openhands) == (max(runs), max(runs) >= 3, openhands)


@given(st.text(min_size=1, max_size=60), st.integers(min_value=1, max_value=400), st.text(max_size=400))
def test_repetitive_text_is_found_as_zlib_finds_it(piece: str, times: int, rest: str) -> None:
    tail = (piece * times + rest)[-10_000:]
    data = tail.encode("utf-8", "replace")
    expected = len(data) / len(zlib.compress(data)) > 10 if len(tail) >= 1_000 else None
    assert is_repetitive(piece * times + rest) is expected


@pytest.mark.parametrize(
    ("status", "started", "expected"),
    [
        (None, True, None),
        ("Submitted", True, ENDED),
        ("LimitsExceeded", True, "truncated_budget"),
        ("RuntimeError", False, "environment_error"),
        ("RuntimeError", True, "infrastructure_error"),
        ("AuthenticationError", True, "infrastructure_error"),
        ("", True, "incomplete"),
    ],
)
def test_ends_of_mini_swe_agent(status: str | None, started: bool, expected: str | None) -> None:
    assert classify_mini(status, started=started) == expected


@given(st.text())
def test_any_stop_reason_has_a_class(reason: str) -> None:
    assert classify_generic(reason) in {*CLASSES, ENDED}


def test_an_early_end_that_was_submitted_is_classed_by_its_cause() -> None:
    assert classify_generic("submitted (exit_cost)") == "truncated_budget"
    assert classify_generic("submitted") == ENDED
    assert classify_generic("a word nobody knows") == "unknown"


@pytest.mark.parametrize(
    "arguments",
    ["[" * 100_000, '{"thought": ' + "[" * 100_000, '"\ud800"', "{", '{"a": "\ud800"}'],
    ids=["deep", "deep in an object", "surrogate", "cut", "surrogate in an object"],
)
def test_arguments_that_cannot_be_decoded_stay_text(arguments: str) -> None:
    call = ToolCall("think", arguments, executed=True)
    assert decoded_arguments(call) == arguments
    assert thought_of(call) == arguments


def test_what_is_said_of_a_long_text_is_not_kept() -> None:
    asked: list[int] = []

    @cached_by_text(maxsize=8)
    def size(text: str) -> int:
        asked.append(len(text))
        return len(text)

    assert [size("a" * length) for length in (3, 3, LONGEST_CACHED, LONGEST_CACHED + 1, LONGEST_CACHED + 1)]
    assert asked == [3, LONGEST_CACHED, LONGEST_CACHED + 1, LONGEST_CACHED + 1]
