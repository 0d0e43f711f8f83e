"""From records to rows: the builders of one part."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
import xxhash
from msgspec.structs import astuple

from trajlab.behavior.derive import Derived, derive
from trajlab.behavior.repetition import TAIL_CHARACTERS, is_repetitive
from trajlab.behavior.tools import shell_text
from trajlab.corpus.batches import TableColumns, TableRows
from trajlab.records import Message, Problem, Step, TokenFacts, ToolCall, Trajectory
from trajlab.schema import PART_TABLES

_T = TypeVar("_T")
Row = tuple[Any, ...]

TEXTS_WAITING = 8 << 20
"""Characters of text held before they are written."""

ROWS_WAITING = 200_000
"""Rows of one table held before all tables are written: a small archive may hold millions of records."""

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
        flush: Called with the texts whenever those waiting grow large, and with every table where rows do.
    """

    def __init__(self, *, keep_texts: bool, flush: Callable[[TableRows], None]) -> None:
        self._calls, self._steps = TableColumns("tool_calls"), TableColumns("steps")
        self.tables = {table.name: TableRows(table.name) for table in PART_TABLES}
        self.tables.update({table.name: table for table in (self._calls, self._steps)})
        self.trajectories = 0
        self.problems = 0
        self._keep_texts = keep_texts
        self._flush = flush
        self._text_chars = 0
        self._settings: set[Row] = set()
        self._of_trajectory = [table for table in self.tables.values() if table.of_trajectory]
        self._without_ids = [table for table in self.tables.values() if not table.of_trajectory]

    def note(self, place: Place, problem: Problem) -> None:
        """A problem of no trajectory; many of them are written on the way."""
        self.add_problem(place, problem)
        self._write_many()

    def _write_many(self) -> None:
        for table in self._without_ids:
            table.settle_many()
        if any(table.settled >= ROWS_WAITING for table in self.tables.values()):
            for table in self.tables.values():
                self._flush(table)
            self._text_chars = 0

    def add_problem(self, place: Place, problem: Problem, trajectory_id: str | None = None) -> None:
        """One thing not read, cleaned or not reconciled."""
        self.problems += 1
        self.tables["problems"].rows.append(
            (place.run, place.relpath, problem.line, problem.offset, trajectory_id, problem.code, problem.message)
        )

    def add(self, place: Place, key: str, trajectory: Trajectory) -> str:
        """All rows of one trajectory; returns its id."""
        trajectory_id = identity(place.run, place.format, place.identity, key)
        problems, rows = self.problems, self.tables["problems"].rows
        problem_rows = len(rows)
        try:
            self._add_rows(place, trajectory_id, trajectory)
        except MemoryError:
            raise
        except Exception as error:  # a defect of ours, met in one record, must not cost its neighbours
            for table in self._of_trajectory:
                table.drop_unmarked()
            del rows[problem_rows:]
            self.problems = problems
            problem = failed(error, "the record is not counted")
            self.add_problem(place, msgspec.structs.replace(problem, line=trajectory.line))
            return trajectory_id
        self.trajectories += 1
        for table in self._of_trajectory:
            table.mark(trajectory_id)
        if self._text_chars > TEXTS_WAITING:
            self._flush(self.tables["texts"])
            self._text_chars = 0
        self._write_many()
        return trajectory_id

    def _add_rows(self, place: Place, trajectory_id: str, trajectory: Trajectory) -> None:
        _fill_commands(trajectory)
        requests, results = self._add_calls(trajectory.steps)
        agent_chars, reasoning_chars = self._add_steps(trajectory.steps)
        self._add_prompts(trajectory.messages)
        repetitive = is_repetitive(_tail(trajectory.steps))
        offered, submission = trajectory.tools_offered, trajectory.submission
        computed = (
            None if offered is None else " ".join(sorted(offered)),
            None if submission is None else len(submission),
            agent_chars,
            reasoning_chars,
            repetitive,
            _content_digest(trajectory, (*requests, *results, agent_chars)),
        )
        self.tables["trajectories"].rows.append(_trajectory_row(place, trajectory, computed))
        written = agent_chars + (reasoning_chars or 0)
        derived = derive(trajectory, requests, agent_chars=written, tail_repetitive=repetitive)
        add_derived(self.tables, derived)
        self._add_small(trajectory_id, place, trajectory)

    def _add_small(self, trajectory_id: str, place: Place, trajectory: Trajectory) -> None:
        self.tables["rewards"].rows.extend(
            [(part.name, part.value, part.weight, part.applied_step) for part in trajectory.rewards]
        )
        self._add_tokens(trajectory.token_facts)
        for setting in trajectory.settings:
            row = (place.run, place.relpath, setting.name, setting.configured, setting.applied)
            seen = (place.run, *row[2:])
            if seen not in self._settings:
                self._settings.add(seen)
                self.tables["run_config"].rows.append(row)
        for problem in trajectory.problems:
            self.add_problem(place, problem, trajectory_id)
        steps = len(trajectory.steps)
        if trajectory.logged_steps is not None and trajectory.logged_steps != steps:
            message = f"the log states {trajectory.logged_steps} steps, {steps} were read"
            self.add_problem(place, Problem("not_reconciled", message, trajectory.line), trajectory_id)
        if self._keep_texts and trajectory.submission:
            self._text("submission", 0, trajectory.submission)

    def _add_tokens(self, facts: TokenFacts | None) -> None:
        if facts is not None:
            *moments, quarters, (bins, counts) = msgspec.structs.astuple(facts)
            self.tables["token_moments"].rows.append(tuple(moments))
            self.tables["token_values"].rows.extend(quarters)
            self.tables["token_histograms"].rows.extend(zip(bins, counts, strict=True))

    def _add_calls(self, steps: Sequence[Step]) -> tuple[list[int], list[int]]:
        """Rows of the calls; returns the digests of the agent's own, in order, and the lengths of all results."""
        calls = [call for step in steps for call in step.calls]
        if not calls:
            return [], []
        columns = zip(*map(astuple, calls), strict=True)
        tools, _, commands, ids, outputs, exit_codes, errors, executed, invalid, requestors, seconds = columns
        arguments: Sequence[str] = [_arguments_text(call) for call in calls] if None in commands else commands
        requests = _request_digests(tools, arguments)
        lengths = [None if output is None else len(output) for output in outputs]
        self._calls.add(
            range(1, len(calls) + 1),
            [number for number, step in enumerate(steps, 1) for _ in step.calls],
            tools,
            ids,
            commands,
            [len(text) or None for text in arguments],
            requests,
            lengths,
            exit_codes,
            errors,
            executed,
            invalid,
            requestors,
            seconds,
        )
        if self._keep_texts:
            for number, (command, text, output) in enumerate(zip(commands, arguments, outputs, strict=True), 1):
                if command is None and text:
                    self._text("arguments", number, text)
                if output:
                    self._text("output", number, output)
        if requestors.count("agent") != len(requestors):
            requests = [request for request, by in zip(requests, requestors, strict=True) if by == "agent"]
        return requests, [length or 0 for length in lengths]

    def _add_steps(self, steps: Sequence[Step]) -> tuple[int, int | None]:
        """Rows of the steps; returns the characters the agent wrote outside and inside of reasoning."""
        if not steps:
            return 0, None
        columns = zip(*map(astuple, steps), strict=True)
        texts, thoughts, calls, invalid, finish_reasons, prompt_tokens, completion_tokens, costs, timestamps = columns
        chars = list(map(len, texts))
        reasoning = [None if thought is None else len(thought) for thought in thoughts]
        self._steps.add(
            range(1, len(steps) + 1),
            map(len, calls),
            chars,
            reasoning,
            invalid,
            finish_reasons,
            prompt_tokens,
            completion_tokens,
            costs,
            timestamps,
        )
        for number, step in enumerate(steps, 1) if self._keep_texts else ():
            if step.text:
                self._text("turn", number, step.text)
            if step.reasoning:
                self._text("reasoning", number, step.reasoning)
        known = [length for length in reasoning if length is not None]
        return sum(chars), sum(known) if known else None

    def _add_prompts(self, messages: Iterable[Message]) -> None:
        add = self.tables["prompts"].rows.append
        for number, message in enumerate(messages):
            add((number, message.role, message.after_step, len(message.text)))
            if self._keep_texts and message.text:
                self._text("prompt", number, message.text)

    def _text(self, kind: str, number: int, text: str) -> None:
        self.tables["texts"].rows.append((kind, number, text))
        self._text_chars += len(text)


def add_derived(tables: Mapping[str, TableRows], derived: Derived) -> None:
    """Add the derived rows of one trajectory to their tables."""
    tables["commands"].rows.extend(derived.commands)
    tables["file_events"].rows.extend(derived.file_events)
    tables["call_results"].rows.extend(derived.call_results)
    tables["hits"].rows.extend(derived.hits)
    tables["behaviour"].rows.append(derived.behaviour)


def failed(error: Exception, lost: str) -> Problem:
    """The problem of what made our own code fail; ``lost`` says what is missing for it."""
    said = f"{type(error).__name__}: {str(error)[:200]}"
    return Problem("reader_failed", f"trajlab failed here ({said}); {lost}; please report it")


def guarded(read: Callable[[], Iterable[_T]]) -> Iterator[_T | Problem]:
    """What one file beside the logs gives; what makes its reading fail is the last thing it gives, as a problem."""
    try:
        yield from read()
    except OSError as error:
        yield Problem("unreadable", f"{error.strerror or error}; expected a readable file")
    except MemoryError:
        raise
    except Exception as error:  # a defect of ours, met in one file, must not cost the others
        yield failed(error, "the rest of the file is not read")


def _fill_commands(record: Trajectory) -> None:
    """Shell text of calls that a reader took from decoded text, by the one vocabulary of tools."""
    for step in record.steps:
        for call in step.calls:
            if call.command is None and call.arguments.__class__ is dict:
                call.command = shell_text(call.tool, call.arguments)


@lru_cache(maxsize=1024)
def _tool_seed(tool: str | None) -> int:
    return xxhash.xxh3_64_intdigest((tool or "").encode("utf-8", "replace"))


def _request_digests(tools: Iterable[str | None], arguments: Iterable[str]) -> list[int]:
    """Digests of a tool and its arguments, 63 bits: equal for the same request."""
    digest_of = xxhash.xxh3_64_intdigest
    return [
        digest_of(text.strip().encode("utf-8", "replace"), _tool_seed(tool)) >> 1
        for tool, text in zip(tools, arguments, strict=True)
    ]


def _content_digest(trajectory: Trajectory, numbers: tuple[int, ...]) -> str:
    """Digest of the prompts, the last turn, and numbers (digests of the requests, lengths of results and turns)."""
    hasher = xxhash.xxh3_64(array("q", numbers).tobytes())
    for message in trajectory.messages:
        hasher.update(message.text.encode("utf-8", "replace"))
    if trajectory.steps:
        hasher.update(trajectory.steps[-1].text.encode("utf-8", "replace"))
    return str(hasher.hexdigest())


def _arguments_text(call: ToolCall) -> str:
    if call.command is not None:
        return call.command
    if call.arguments is None:
        return ""
    return call.arguments if isinstance(call.arguments, str) else _encode(call.arguments).decode()


def _tail(steps: list[Step]) -> str:
    """The last characters the agent wrote, reasoning included, in reading order."""
    pieces: list[str] = []
    missing = TAIL_CHARACTERS
    for step in reversed(steps):
        if step.text:
            pieces.append(step.text)
            missing -= len(step.text)
        if step.reasoning:
            pieces.append(step.reasoning)
            missing -= len(step.reasoning)
        if missing <= 0:
            break
    pieces.reverse()
    return "\n".join(pieces)


def _trajectory_row(place: Place, t: Trajectory, computed: Row) -> Row:
    return (
        place.run,
        place.format,
        t.variant,
        place.root,
        place.relpath,
        t.line,
        t.ordinal,
        t.native_id,
        t.parent_native_id,
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
        t.prompt_tokens, t.completion_tokens, t.cached_tokens, t.reasoning_tokens,
        t.seconds,
        t.cost,
        t.started_at,
        t.sample_index,
        *computed,
    )  # fmt: skip
