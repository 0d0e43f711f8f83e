"""From records to rows: the builders of one part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import xxhash

from trajlab.behavior.derive import CallDigests, derive
from trajlab.behavior.repetition import TAIL_CHARACTERS, is_repetitive
from trajlab.corpus.batches import TableRows
from trajlab.records import Problem, Step, ToolCall, Trajectory
from trajlab.schema import PART_TABLES

Row = tuple[Any, ...]

_encode = msgspec.json.Encoder(order="deterministic").encode


def digest(text: str | bytes) -> str:
    """Sixteen hexadecimal digits that tell one text from another; no protection against malice."""
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "replace") if isinstance(text, str) else text)


def identity(run: str, format_name: str, relpath: str, key: str) -> str:
    """The id of a trajectory: stable when its folder moves."""
    return digest("\0".join((run, format_name, relpath, key)))


class Place(msgspec.Struct, frozen=True):
    """Where the records of a bundle stand."""

    run: str
    format: str
    root: str
    relpath: str
    identity: str
    """Path that identifies the trajectories; mostly the path below the root."""


class PartRows:
    """Rows of one unit, table by table, waiting to be written.

    Args:
        keep_texts: Whether to keep the long texts.
        flush: Called with the texts whenever those waiting grow large.
    """

    def __init__(self, *, keep_texts: bool, flush: Callable[[TableRows], None]) -> None:
        self.tables = {table.name: TableRows(table.name) for table in PART_TABLES}
        self.rows = {name: table.rows for name, table in self.tables.items()}
        self.trajectories = 0
        self.problems = 0
        self._keep_texts = keep_texts
        self._flush = flush
        self._text_chars = 0
        self._settings: set[Row] = set()

    def add_problem(self, place: Place, problem: Problem, trajectory_id: str | None = None) -> None:
        """One thing not read, cleaned or not reconciled."""
        self.rows["problems"].append(
            (
                place.run,
                place.relpath,
                problem.line,
                problem.offset,
                trajectory_id,
                problem.code,
                problem.message,
            )
        )

    def add(self, place: Place, key: str, trajectory: Trajectory) -> str:
        """All rows of one trajectory; returns its id."""
        trajectory_id = identity(place.run, place.format, place.identity, key)
        digests = self._add_calls(trajectory_id, trajectory.steps)
        text_digest, agent_chars, reasoning_chars = self._add_turns(trajectory_id, trajectory)
        repetitive = is_repetitive(_tail(trajectory.steps))
        content = digest("".join([text_digest, *digests.arguments, *(o or "-" for o in digests.outputs)]))
        self.rows["trajectories"].append(
            _trajectory_row(trajectory_id, place, trajectory, (agent_chars, reasoning_chars, repetitive, content))
        )
        derived = derive(
            trajectory,
            digests,
            agent_chars=agent_chars + (reasoning_chars or 0),
            tail_repetitive=repetitive,
        )
        self.rows["commands"].extend([(trajectory_id, *row) for row in derived.commands])
        self.rows["behaviour"].append((trajectory_id, *derived.behaviour))
        self._add_small(trajectory_id, place, trajectory)
        self.trajectories += 1
        for table in self.tables.values():
            table.settle()
        return trajectory_id

    def _add_small(self, trajectory_id: str, place: Place, trajectory: Trajectory) -> None:
        self.rows["rewards"].extend(
            (trajectory_id, part.name, part.value, part.weight, part.applied_step) for part in trajectory.rewards
        )
        for setting in trajectory.settings:
            row = (place.run, place.relpath, setting.name, setting.configured, setting.applied)
            seen = (place.run, *row[2:])
            if seen not in self._settings:
                self._settings.add(seen)
                self.rows["run_config"].append(row)
        for problem in trajectory.problems:
            self.add_problem(place, problem, trajectory_id)
        steps = len(trajectory.steps)
        if trajectory.logged_steps is not None and trajectory.logged_steps != steps:
            message = f"the log states {trajectory.logged_steps} steps, {steps} were read"
            self.add_problem(place, Problem("not_reconciled", message, trajectory.line), trajectory_id)

    def _add_calls(self, trajectory_id: str, steps: Iterable[Step]) -> CallDigests:
        digests = CallDigests([], [])
        rows = self.rows["tool_calls"]
        number = 0
        for step_number, step in enumerate(steps, 1):
            for call in step.calls:
                number += 1
                arguments = _arguments_text(call)
                arguments_digest = digest(f"{call.tool}\0{' '.join(arguments.split())}")
                output_digest = None if call.output is None else digest(call.output)
                if call.requestor == "agent":
                    digests.arguments.append(arguments_digest)
                    digests.outputs.append(output_digest)
                rows.append(
                    (
                        trajectory_id,
                        number,
                        step_number,
                        call.tool,
                        call.call_id,
                        call.command,
                        len(arguments) or None,
                        arguments_digest,
                        None if call.output is None else len(call.output),
                        output_digest,
                        call.exit_code,
                        call.is_error,
                        call.executed,
                        call.invalid,
                        call.requestor,
                        call.seconds,
                    )
                )
                if self._keep_texts:
                    if call.command is None and arguments:
                        self._text(trajectory_id, "arguments", number, arguments)
                    if call.output:
                        self._text(trajectory_id, "output", number, call.output)
        return digests

    def _add_turns(self, trajectory_id: str, trajectory: Trajectory) -> tuple[str, int, int | None]:
        """Message and step rows; returns a digest of the texts, and the characters the agent wrote."""
        waiting = iter(trajectory.messages)
        message = next(waiting, None)
        rows = self.rows["messages"]
        step_rows = self.rows["steps"]
        hasher = xxhash.xxh3_64()
        number = agent_chars = 0
        reasoning_chars: int | None = None
        steps = trajectory.steps
        for step_number in range(len(steps) + 1):
            if step_number:
                step = steps[step_number - 1]
                reasoning = None if step.reasoning is None else len(step.reasoning)
                agent_chars += len(step.text)
                reasoning_chars = reasoning_chars if reasoning is None else (reasoning_chars or 0) + reasoning
                hasher.update(step.text.encode("utf-8", "replace"))
                rows.append((trajectory_id, number, "assistant", step_number, len(step.text)))
                if self._keep_texts:
                    if step.text:
                        self._text(trajectory_id, "message", number, step.text)
                    if step.reasoning:
                        self._text(trajectory_id, "reasoning", step_number, step.reasoning)
                number += 1
                step_rows.append(_step_row(trajectory_id, step_number, step, reasoning))
                for call in step.calls:
                    if call.output is not None:
                        rows.append((trajectory_id, number, "tool", step_number, len(call.output)))
                        number += 1
            while message is not None and (message.after_step or 0) <= step_number:
                rows.append((trajectory_id, number, message.role, step_number or None, len(message.text)))
                hasher.update(message.text.encode("utf-8", "replace"))
                if self._keep_texts and message.text:
                    self._text(trajectory_id, "message", number, message.text)
                number += 1
                message = next(waiting, None)
        if self._keep_texts and trajectory.submission:
            self._text(trajectory_id, "submission", 0, trajectory.submission)
        return hasher.hexdigest(), agent_chars, reasoning_chars

    def _text(self, trajectory_id: str, kind: str, number: int, text: str) -> None:
        self.rows["texts"].append((trajectory_id, kind, number, text))
        self._text_chars += len(text)
        if self._text_chars > 8 << 20:
            self._flush(self.tables["texts"])
            self._text_chars = 0


def _arguments_text(call: ToolCall) -> str:
    if call.command is not None:
        return call.command
    if call.arguments is None:
        return ""
    return call.arguments if isinstance(call.arguments, str) else _encode(call.arguments).decode()


def _tail(steps: list[Step]) -> str:
    """The last characters the agent wrote, reasoning included, in reading order."""
    pieces: list[str] = []
    have = 0
    for step in reversed(steps):
        for piece in (step.text, step.reasoning):
            if piece:
                pieces.append(piece)
                have += len(piece)
        if have >= TAIL_CHARACTERS:
            break
    return "\n".join(reversed(pieces))


def _step_row(trajectory_id: str, number: int, step: Step, reasoning: int | None) -> Row:
    return (
        trajectory_id,
        number,
        len(step.calls),
        len(step.text),
        reasoning,
        step.invalid_action,
        step.finish_reason,
        step.prompt_tokens,
        step.completion_tokens,
        step.cost,
        step.timestamp,
    )


def _trajectory_row(trajectory_id: str, place: Place, t: Trajectory, computed: Row) -> Row:
    return (
        trajectory_id,
        place.run,
        place.format,
        t.variant,
        place.root,
        place.relpath,
        t.line,
        t.ordinal,
        t.native_id,
        t.task_id,
        t.group_id,
        t.attempt,
        t.split,
        t.train_step,
        t.epoch,
        t.policy_version_first,
        t.policy_version_last,
        t.agent,
        t.agent_version,
        t.model,
        t.reward,
        t.correct,
        t.outcome,
        t.termination,
        t.stop_reason,
        t.gradable,
        t.steps_allowed,
        t.logged_steps,
        t.prompt_tokens,
        t.completion_tokens,
        t.cached_tokens,
        t.reasoning_tokens,
        t.seconds,
        t.cost,
        t.started_at,
        None if t.tools_offered is None else " ".join(sorted(t.tools_offered)),
        None if t.submission is None else len(t.submission),
        *computed,
    )
