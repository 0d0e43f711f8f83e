"""terminal-bench 1 trials: ``results.json`` and ``agent-logs/episode-<n>`` of the Terminus agents.

Source: terminal-bench 0.2.18, ``harness/models.py``, ``agents/terminus_1.py``, ``agents/terminus_2``. What a command
gave is what the next prompt shows of the terminal; there are no exit codes. ``debug.json`` is not read.
"""

from __future__ import annotations

import re
from typing import Any

from trajlab.behavior.termination import TERMINAL_BENCH
from trajlab.formats import Variant
from trajlab.formats._turns import Turns
from trajlab.formats._values import (
    Records,
    between,
    content_text,
    count,
    flag,
    joined,
    json_text,
    load,
    mapping,
    mappings,
    moment,
    text,
    word,
)
from trajlab.records import Problem, ToolCall, Trajectory
from trajlab.sources.files import Bundle, SourceFile, joined_path, parts_of
from trajlab.sources.probe import Probe
from trajlab.sources.reading import document
from trajlab.sources.safe_json import clean_text

VARIANTS = {
    "trial": Variant(
        "`<task>/<trial>/results.json` with `agent-logs/episode-<n>`",
        frozenset({"native_id", "task_id", "logged_correct", "logged_outcome", "logged_termination", "stop_reason",
                   "gradable", "attempt", "prompt_tokens", "completion_tokens", "seconds", "started_at"}),
    )
}  # fmt: skip

_EPISODE = re.compile(r"episode-(\d{1,6})")
_ATTEMPT = re.compile(r"\.(\d{1,6})-of-\d{1,6}\.")
_FILES = frozenset({"prompt.txt", "response.txt", "response.json", "debug.json"})
_UNGRADED = frozenset({"test_timeout", "parse_error", "agent_installation_failed"})
_SAID = ("state_analysis", "explanation", "analysis", "plan")


def group(relpath: str, variant: str) -> str:
    """The trial's folder."""
    folders = parts_of(relpath)[:-1]
    return joined_path(folders[:-2] if folders and _EPISODE.fullmatch(folders[-1]) else folders)


def recognise(probe: Probe) -> str | None:
    """A trial's results, and the files of its episodes."""
    if probe.name == "results.json" and {"trial_name", "is_resolved", "task_id"} <= probe.keys:
        return "trial"
    if probe.name not in _FILES:
        return None
    folders = parts_of(probe.relpath)[:-1]
    inside = folders[-2:-1] == ["agent-logs"] and _EPISODE.fullmatch(folders[-1]) is not None
    return "trial" if inside else None


def read(bundle: Bundle) -> Records:
    """One trajectory a trial."""
    problems: list[Problem] = []
    result: dict[str, Any] = {}
    episodes: dict[int, dict[str, SourceFile]] = {}
    for file in bundle.files:
        *folders, name = parts_of(file.relpath)
        found = _EPISODE.fullmatch(folders[-1]) if folders else None
        if found:
            episodes.setdefault(int(found[1]), {})[name] = file
        elif name == "results.json":
            try:
                result = mapping(load(file, problems))
            except (ValueError, RecursionError) as error:
                problems.append(Problem("unreadable_record", f"results.json: {error}; expected a trial's results"))
    trajectory = _trajectory(result, bundle)
    _fill(trajectory, [files for _, files in sorted(episodes.items())], problems)
    yield from problems
    yield trajectory


def _trajectory(result: dict[str, Any], bundle: Bundle) -> Trajectory:
    mode, resolved = word(result.get("failure_mode")), flag(result.get("is_resolved"))
    start, end = moment(result.get("agent_started_at")), moment(result.get("agent_ended_at"))
    numbered = _ATTEMPT.search(word(result.get("trial_name")) or "")
    return Trajectory(
        bundle.variant,
        "0",
        native_id=word(result.get("trial_name")),
        task_id=word(result.get("task_id")),
        attempt=int(numbered[1]) if numbered else None,
        correct=resolved,
        outcome=resolved,
        stop_reason=mode,
        termination=TERMINAL_BENCH.get(mode, "unknown") if mode else "incomplete",
        gradable=None if mode is None else mode not in _UNGRADED and resolved is not None,
        prompt_tokens=count(result.get("total_input_tokens")),
        completion_tokens=count(result.get("total_output_tokens")),
        started_at=start,
        seconds=between(start, end),
    )


def _fill(trajectory: Trajectory, episodes: list[dict[str, SourceFile]], problems: list[Problem]) -> None:
    turns = Turns(trajectory)
    for number, files in enumerate(episodes):
        prompt = _text(files.get("prompt.txt"), problems)
        if number == 0:
            turns.say("user", prompt)
        else:
            _shown(turns, prompt)
        said = _text(files.get("response.json") or files.get("response.txt"), problems)
        if said:
            try:
                _episode(turns, said)
            except RecursionError:
                message = f"episode {number}: a value is nested too deeply to be read"
                problems.append(Problem("unreadable_record", message))
    turns.close()


def _text(file: SourceFile | None, problems: list[Problem]) -> str:
    return "" if file is None else clean_text(document(file, problems).decode("utf-8", "replace"))


def _shown(turns: Turns, terminal: str) -> None:
    """The commands of the turn before ran; the terminal shows what all of them gave."""
    calls = [call for call in turns.steps[-1].calls if call.executed is None] if turns.steps else []
    for call in calls:
        call.executed = True
        turns.settle(call)
    if calls:
        calls[-1].output = terminal
    else:
        turns.say("user", terminal)


def _episode(turns: Turns, said: str) -> None:
    step = turns.step()
    start, end = said.find("{"), said.rfind("}")
    answer = json_text(said[start : end + 1]) if 0 <= start < end else None
    commands = mapping(answer).get("commands")
    if not isinstance(commands, list):
        step.text, step.invalid_action = said, "no commands"
        return
    answer = mapping(answer)
    step.text = joined(content_text(answer.get(name)) for name in _SAID) or ""
    for command in mappings(commands):
        arguments = {name: value for name, value in command.items() if value is not None}
        turns.call(step, ToolCall("bash_command", arguments, text(command.get("keystrokes"))))
    if answer.get("is_task_complete") is True or answer.get("task_complete") is True:
        turns.call(step, ToolCall("mark_task_complete", {}))
