"""Harbor's trace export: a row an episode, that is, the conversation of a trial up to one more turn of its agent.

Source: harbor 0.26.0, ``harbor/utils/traces_utils.py`` (``harbor traces export``, pushed as Parquet or saved as lines).
The rows of one trial are one trajectory, that of its last episode; where a context was summarised and a row goes on
from another context, the turns before it stay. Rows of a trial that do not stand together (another order, another
file) are told apart by the episode they reach, and assembly sets all but the last aside.

The export writes roles ``user`` and ``assistant`` only, calls as text: what follows a turn with calls is what came
back, all results in one text. The result of the last turn, tokens and costs are not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from trajlab.behavior.termination import HARBOR_VALID, classify_harbor
from trajlab.formats import Variant
from trajlab.formats._chat_messages import AGENT_ROLES, ChatMessage, plain_text
from trajlab.formats._chat_text import read_agent_text
from trajlab.formats._trainer_rows import Fields, Row, add_cleaning, first_object, rows
from trajlab.formats._trainer_turns import chat_messages, tool_names
from trajlab.formats._turns import exit_code_in, task_of_prompt
from trajlab.formats._values import items, json_text, moment
from trajlab.records import Message, Problem, Step, ToolCall, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.safe_json import is_non_finite, to_float

VARIANTS = {
    "episodes": Variant(
        "rows of `harbor traces export` (Parquet, lines), one for each episode of a trial: its last is read",
        frozenset(
            {
                "native_id", "parent_native_id", "task_id", "agent", "model", "reward", "logged_correct",
                "logged_outcome", "logged_termination", "stop_reason", "gradable", "logged_steps", "started_at",
                "tools_offered",
            }
        ),
    )
}  # fmt: skip

_KEYS = frozenset({"conversations", "agent", "model", "task", "episode", "run_id", "trial_name"})
_EPISODE = re.compile(r"episode-(\d{1,9})")
_MAIN = "main"


def recognise(probe: Probe) -> str | None:
    """By the columns that every version of the export writes."""
    if probe.shape == "parquet":
        return "episodes" if set(probe.columns) >= _KEYS else None
    first = first_object(probe, "lines", "list", "object", keys=("conversations",))
    return "episodes" if first is not None and first.keys() >= _KEYS else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory for all rows of a trial that stand together; how many were passed over is one problem."""
    trial: _Trial | None = None
    passed = 0
    for row in rows(bundle):
        if isinstance(row, Problem):
            yield row
            continue
        episode = _episode(row)
        if not episode.context:
            yield row.problem("no_messages", "no messages; expected a list under `conversations`", episode.trial)
            continue
        if trial is not None and trial.goes_on_in(episode):
            trial.add(episode)
            passed += 1
            continue
        if trial is not None:
            yield trial.trajectory(bundle.variant)
        trial = _Trial(episode, trial)
    if trial is not None:
        yield trial.trajectory(bundle.variant)
    if passed:
        message = f"{passed:,} rows are earlier episodes of a trial whose later one is read: passed over"
        yield Problem("earlier_episodes", message)


class _Episode(msgspec.Struct):
    """One row."""

    row: Row
    fields: Fields
    problems: list[Problem]
    context: list[Any]
    run: str | None
    trial: str | None
    source: str
    number: int | None

    @property
    def prompt(self) -> list[Any]:
        """What stands before the agent's first turn."""
        roles = (message.get("role") if isinstance(message, dict) else None for message in self.context)
        end = next((at for at, role in enumerate(roles) if role in AGENT_ROLES), len(self.context))
        return self.context[:end]


def _episode(row: Row) -> _Episode:
    problems: list[Problem] = []
    fields = Fields(row.value, row, problems)
    found = _EPISODE.fullmatch(fields.word("episode") or "")
    return _Episode(
        row, fields, problems, items(json_text(row.value.get("conversations"))), fields.word("run_id"),
        _named(fields, "trial_name"), fields.word("trace_source") or _MAIN, int(found[1]) if found else None,
    )  # fmt: skip


def _named(fields: Fields, name: str) -> str | None:
    """A name; the export writes ``unknown-…`` where the trial holds none."""
    named = fields.word(name)
    return None if not named or named.startswith("unknown-") else named


class _Trial:
    """Rows of one trial, taken in order: what each adds to those before it."""

    def __init__(self, episode: _Episode, before: _Trial | None) -> None:
        self.last = episode
        self.problems = list(episode.problems)
        self.repaired = [episode.row] if episode.row.fixes else []
        self.said = [(message, True) for message in _messages(episode, 0, self.problems)]
        self.part = 0
        """Of a trial of several steps: the export names them alike, and counts the episodes of each anew."""
        same = before is not None and before.last.trial == episode.trial and before.last.source == episode.source
        if before is not None and same and episode.number == 0 and before.last.prompt != episode.prompt:
            self.part = before.part + 1

    def goes_on_in(self, episode: _Episode) -> bool:
        """Whether a row is a later episode, or the same row once more."""
        last = self.last
        if (last.run, last.trial, last.source) != (episode.run, episode.trial, episode.source):
            return False
        continues = episode.context[: len(last.context)] == last.context
        if last.number is None or episode.number is None:
            return continues
        if episode.number == last.number:
            return episode.context == last.context
        return episode.number > last.number and (continues or episode.trial is not None)

    def add(self, episode: _Episode) -> None:
        """Take a later row; in another context all but its last turn were taken before, and are restated."""
        known = len(self.last.context)
        continues = episode.context[:known] == self.last.context
        self.problems += episode.problems
        self.repaired += [episode.row] if episode.row.fixes else []
        new = _messages(episode, known if continues else 0, self.problems)
        final = max((at for at, message in enumerate(new) if _role(message) in AGENT_ROLES), default=0)
        self.said += [(message, continues or at == final) for at, message in enumerate(new)]
        self.last = episode

    def trajectory(self, variant: str) -> Trajectory:
        """All of it, with what the last row says of the trial."""
        last, fields = self.last, Fields(self.last.row.value, self.last.row, self.problems)
        name = f"{last.trial}/{self.part + 1}" if self.part and last.trial else last.trial
        made = Trajectory(variant, last.row.ordinal, native_id=name, line=last.row.line)
        made.run = None if last.run in (None, last.trial, "unknown-run") else last.run
        made.task_id = _named(fields, "task")
        if self.part and made.task_id:
            made.task_id = f"{made.task_id}/{self.part + 1}"
        made.agent, made.model = fields.word("agent"), _named(fields, "model")
        made.started_at = moment(fields.text("date") or None)
        tools = json_text(fields.value.get("tool_definitions"))
        made.tools_offered = tool_names(tools) if isinstance(tools, list) else None
        _fill(made, self.said)
        if last.source != _MAIN:
            made.native_id, made.parent_native_id = (f"{name}/{last.source}" if name else None), name
            made.gradable = False
        else:
            made.logged_steps = None if last.number is None else last.number + 1
            _end(made, fields.word("result"))
        task_of_prompt(made)
        for row in self.repaired:
            add_cleaning(made, row)
        made.problems += self.problems
        return made


def _messages(episode: _Episode, start: int, problems: list[Problem]) -> list[ChatMessage]:
    return chat_messages(episode.context[start:], episode.row, problems)


def _role(message: ChatMessage) -> str:
    return message.role or message.sender or "user"


def _fill(trajectory: Trajectory, said: list[tuple[ChatMessage, bool]]) -> None:
    """Turns and what came back; the second of each pair tells whether a turn of the agent is one, or restated."""
    waiting: list[ToolCall] = []
    steps = trajectory.steps
    for message, is_turn in said:
        role, text = _role(message), plain_text(message.content if message.content is not None else message.value)
        if role in AGENT_ROLES and is_turn:
            for call in waiting:
                call.executed = False
            parts = read_agent_text(text)
            steps.append(Step(parts.text, parts.reasoning, parts.calls))
            waiting = [call for call in parts.calls if call.invalid is None]
            for call in parts.calls:
                call.executed = None if call.invalid is None else False
        elif role == "user" and waiting:
            for call in waiting:
                call.executed = True
            waiting[-1].output = text
            waiting[-1].exit_code = exit_code_in(text)
            waiting = []
        else:
            role = "assistant" if role in AGENT_ROLES else role
            trajectory.messages.append(Message(role, text, len(steps) or None))


def _end(trajectory: Trajectory, result: str | None) -> None:
    """The reward, or the exception in its place: a reward that was given all the same is not exported."""
    reward = to_float(result)
    if reward is not None:
        trajectory.reward, trajectory.gradable = reward, True
        trajectory.correct = trajectory.outcome = reward >= 1
        trajectory.termination = classify_harbor(None, finished=True)
    elif result and not is_non_finite(result):
        trajectory.stop_reason, trajectory.termination = result, classify_harbor(result, finished=True)
        if trajectory.termination != classify_harbor(None, finished=True) and result not in HARBOR_VALID:
            trajectory.gradable = False
