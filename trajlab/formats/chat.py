"""Chat rows: lists of messages with the columns that datasets and evaluation dumps put beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

import msgspec

from trajlab.behavior.termination import classify_generic
from trajlab.formats import Variant
from trajlab.formats._chat_messages import AGENT_ROLES, TOOL_ROLES, ChatMessage, Conversation, plain_text
from trajlab.formats._chat_salvage import said_of, without_wrong_types
from trajlab.formats._turns import task_of_prompt
from trajlab.records import Message, Problem, Trajectory
from trajlab.sources.elements import elements
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import document, line_views, lines, parquet_rows
from trajlab.sources.safe_json import loads, to_bool, to_float, to_int
from trajlab.sources.streams import Line

_CARRIES = frozenset(
    {
        "task_id", "native_id", "model", "logged_correct", "logged_outcome", "reward", "stop_reason",
        "logged_termination", "submission_chars", "train_step", "logged_epoch", "split", "attempt", "group_id",
        "agent", "tools_offered",
    }
)  # fmt: skip

_LISTS = ("messages", "conversations", "trajectory", "conversation", "items")
VARIANTS = {
    "openai": Variant("OpenAI chat messages (`role`, `content`, `tool_calls`)", _CARRIES),
    "anthropic": Variant("Anthropic content blocks (`tool_use`, `tool_result`, `thinking`)", _CARRIES),
    "responses": Variant("OpenAI Responses items (`function_call`, `function_call_output`)", _CARRIES),
    "sharegpt": Variant("ShareGPT (`from`, `value`)", _CARRIES),
}

_ROLES = AGENT_ROLES | TOOL_ROLES | {"system", "user", "human", "developer", "function_call"}


class Row(msgspec.Struct, gc=False):
    """One row: the messages, and every column beside them that we know."""

    messages: list[ChatMessage] | str | None = None
    conversations: list[ChatMessage] | str | None = None
    trajectory: list[ChatMessage] | str | None = None
    conversation: list[ChatMessage] | str | None = None
    items: list[ChatMessage] | str | None = None
    instance_id: Any = None
    task_id: Any = None
    problem_id: Any = None
    question_id: Any = None
    task: Any = None
    traj_id: Any = None
    trajectory_id: Any = None
    id: Any = None
    uid: Any = None
    run: Any = None
    run_id: Any = None
    experiment: Any = None
    group_id: Any = None
    group_index: Any = None
    attempt: Any = None
    trial: Any = None
    split: Any = None
    train_step: Any = None
    training_step: Any = None
    global_step: Any = None
    step: Any = None
    epoch: Any = None
    agent: Any = None
    model: Any = None
    model_name: Any = None
    model_name_or_path: Any = None
    resolved: Any = None
    target: Any = None
    is_correct: Any = None
    correct: Any = None
    acc: Any = None
    success: Any = None
    reward: Any = None
    score: Any = None
    exit_status: Any = None
    exit_reason: Any = None
    stop_reason: Any = None
    stop_condition: Any = None
    termination_reason: Any = None
    finish_reason: Any = None
    patch: Any = None
    model_patch: Any = None
    generated_patch: Any = None
    output_patch: Any = None
    submission: Any = None
    tools: Any = None
    system: Any = None
    """Beside the messages, as Anthropic's API has it."""
    test_result: Any = None


_decode_row = msgspec.json.Decoder(Row).decode
_decode_messages = msgspec.json.Decoder(list[ChatMessage]).decode


def recognise(probe: Probe) -> str | None:
    """The spelling of the first record's messages; asked only where no other format claims the source."""
    if probe.shape == "list" and probe.records and _is_message(probe.records[0]):
        return _spelling(probe.records)
    if probe.shape == "lines" and probe.records and all(map(_is_message, probe.records)):
        return _spelling(probe.records)
    if probe.shape == "parquet" and not set(_LISTS) & set(probe.columns):
        return None
    for record in probe.records:
        messages = _message_list(record)
        if messages:
            return _spelling(messages)
    return None


def _message_list(record: Any) -> list[Any] | None:
    if not isinstance(record, dict):
        return None
    for name in _LISTS:
        value = record.get(name)
        if isinstance(value, str) and value.lstrip()[:1] == "[":
            try:
                value = loads(value.encode("utf-8", "replace")).value
            except ValueError:
                continue
        if isinstance(value, list) and value and all(_is_message(m) for m in value[:5]):
            return value
    return None


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    role, sender = value.get("role"), value.get("from")
    if isinstance(role, str) and role in _ROLES:
        return bool({"content", "tool_calls", "text", "parts"} & set(value))
    if isinstance(sender, str) and sender in _ROLES:
        return "value" in value
    return value.get("type") in ("function_call", "function_call_output", "reasoning") and (
        "call_id" in value or "summary" in value
    )


def _spelling(records: Sequence[Any]) -> str:
    messages = [record for record in records if isinstance(record, dict)]
    if any("from" in m and "value" in m for m in messages):
        return "sharegpt"
    if any(m.get("type") in ("function_call", "function_call_output", "reasoning") for m in messages):
        return "responses"
    blocks = [b for m in messages if isinstance(m.get("content"), list) for b in m["content"] if isinstance(b, dict)]
    if any(b.get("type") in ("tool_use", "tool_result", "thinking", "redacted_thinking") for b in blocks):
        return "anthropic"
    return "openai"


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a row; a document or file that is itself a list of messages is one trajectory."""
    problems: list[Problem] = []
    probe = Probe(bundle.file, most_records=1)
    if probe.shape == "parquet":
        yield from _parquet(bundle, problems)
    elif probe.shape in ("list", "lines") and probe.records and _is_message(probe.records[0]):
        yield from _one_conversation(bundle, probe.shape, problems)
    elif probe.shape == "object":
        yield from _rows(bundle, iter([Line(document(bundle, problems), 0, 1)]), problems, by_line=False)
    else:
        source = elements(bundle, problems) if probe.shape == "list" else line_views(bundle, problems)
        yield from _rows(bundle, source, problems, by_line=probe.shape == "lines")
    yield from problems


def _rows(
    bundle: Bundle, source: Iterator[Line], problems: list[Problem], *, by_line: bool
) -> Iterator[Trajectory | Problem]:
    for line in source:
        yield from _drain(problems)
        number = line.number if by_line else None
        try:
            row, fixes, dropped = _decode(line.data)
        except (ValueError, msgspec.MsgspecError, RecursionError) as error:
            yield Problem("unreadable_record", f"no chat row: {error}", number, line.offset)
            continue
        ordinal = str(line.offset) if by_line else str(line.number - 1)
        yield from _one_row(row, bundle, ordinal, number, fixes, dropped)


def _drain(problems: list[Problem]) -> Iterator[Problem]:
    while problems:
        yield problems.pop(0)


def _decode(data: bytes) -> tuple[Row, tuple[str, ...], list[str]]:
    """The row, what was cleaned, and places of values of a wrong type, which are passed over."""
    try:
        return _decode_row(data), (), []
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        loaded = loads(bytes(data))
    if not isinstance(loaded.value, dict):
        raise ValueError(f"found {type(loaded.value).__name__}, expected an object")
    row, dropped = _converted(loaded.value)
    return row, loaded.fixes, dropped


def _converted(values: dict[str, Any]) -> tuple[Row, list[str]]:
    try:
        return msgspec.convert(values, Row, strict=False), []
    except msgspec.ValidationError:
        mended, dropped = without_wrong_types(values, _LISTS)
        return msgspec.convert(mended, Row, strict=False), dropped


def _parquet(bundle: Bundle, problems: list[Problem]) -> Iterator[Trajectory | Problem]:
    for number, values in enumerate(parquet_rows(bundle, problems)):
        try:
            row, dropped = _converted(values)
        except msgspec.ValidationError as error:
            yield Problem("unreadable_record", f"no chat row: {error}", number + 1)
            continue
        yield from _one_row(row, bundle, str(number), number + 1, (), dropped)


def _one_conversation(bundle: Bundle, shape: str, problems: list[Problem]) -> Iterator[Trajectory | Problem]:
    fixes: tuple[str, ...] = ()
    messages: list[ChatMessage] = []
    source = elements(bundle, problems) if shape == "list" else lines(bundle, problems)
    for line in source:
        try:
            loaded = loads(line.data)
            messages.append(msgspec.convert(loaded.value, ChatMessage, strict=False))
            fixes += loaded.fixes
        except (ValueError, msgspec.MsgspecError, RecursionError) as error:
            yield Problem("unreadable_record", f"no chat message: {error}", line.number, line.offset)
    yield from _one_row(Row(messages=messages), bundle, "0", None, fixes)


def _one_row(
    row: Row, bundle: Bundle, ordinal: str, number: int | None, fixes: tuple[str, ...], dropped: Sequence[str] = ()
) -> Iterator[Trajectory | Problem]:
    native_id = None
    try:
        native_id = _word(_first(row.traj_id, row.trajectory_id, row.uid, row.id))
        messages = _messages(row)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        yield Problem("unreadable_record", f"messages: {error}", number, native_id=native_id)
        return
    if messages is None:
        message = f"no messages; expected a list under one of {', '.join(_LISTS)}"
        yield Problem("no_messages", message, number, native_id=native_id)
        return
    conversation = Conversation()
    try:
        conversation.fill(messages)
        trajectory = _trajectory(row, bundle)
    except RecursionError:
        yield Problem("unreadable_record", "a value is nested too deeply to be read", number, native_id=native_id)
        return
    trajectory.ordinal, trajectory.line, trajectory.native_id = ordinal, number, native_id
    trajectory.messages, trajectory.steps = conversation.messages, conversation.steps
    if (said := _system(row.system)) and not any(message.role == "system" for message in trajectory.messages):
        trajectory.messages.insert(0, Message("system", said))
    task_of_prompt(trajectory)
    if fixes:
        trajectory.problems.append(Problem("cleaned", ", ".join(fixes), number))
    if dropped:
        trajectory.problems.append(Problem("wrong_type", said_of(list(dropped)), number))
    yield trajectory


def _system(value: Any) -> str | None:
    """A system prompt beside the messages: text, or blocks of it."""
    return plain_text(value) if isinstance(value, (str, list)) else None


def _messages(row: Row) -> list[ChatMessage] | None:
    for value in (row.messages, row.conversations, row.trajectory, row.conversation, row.items):
        if isinstance(value, list):
            return value
        if isinstance(value, str):
            try:
                return _decode_messages(value)
            except (msgspec.MsgspecError, RecursionError, UnicodeError):
                loaded = loads(value.encode("utf-8", "replace"))
                return msgspec.convert(loaded.value, list[ChatMessage], strict=False)
    return None


def _trajectory(row: Row, bundle: Bundle) -> Trajectory:
    evaluated = to_bool(_first(row.resolved, row.target, _report(row.test_result)))
    verdict = to_bool(_first(row.is_correct, row.correct, row.acc, row.success))
    stop = _word(
        _first(
            row.exit_status, row.exit_reason, row.stop_reason, row.stop_condition, row.termination_reason,
            row.finish_reason,
        )
    )  # fmt: skip
    split = _word(row.split)
    return Trajectory(
        variant=bundle.variant,
        ordinal="",
        run=_word(_first(row.run, row.run_id, row.experiment)),
        task_id=_word(_first(row.instance_id, row.task_id, row.problem_id, row.question_id)),
        group_id=_word(_first(row.group_id, row.group_index)),
        attempt=to_int(_first(row.attempt, row.trial)),
        split=split or _split_of(bundle.file.relpath),
        train_step=to_int(_first(row.train_step, row.training_step, row.global_step, row.step)),
        epoch=to_int(row.epoch),
        agent=_word(row.agent),
        model=_word(_first(row.model, row.model_name, row.model_name_or_path)),
        reward=to_float(_first(row.reward, row.score)),
        correct=verdict if verdict is not None else evaluated,
        outcome=evaluated,
        stop_reason=stop,
        termination=classify_generic(stop),
        tools_offered=_tool_names(row.tools),
        submission=_submission(row),
    )


@lru_cache(maxsize=64)
def _split_of(relpath: str) -> str | None:
    return "validation" if {"val", "validation", "eval"} & set(PurePosixPath(relpath).parts[:-1]) else None


def _first(*values: Any) -> Any:
    for value in values:
        if value is not None:
            return value
    return None


def _word(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return str(value)
    return plain_text(value) or None


def _submission(row: Row) -> str | None:
    """The patch, wherever data sets put it."""
    tested = row.test_result.get("git_patch") if isinstance(row.test_result, dict) else None
    patches = (row.patch, row.model_patch, row.generated_patch, row.output_patch, row.submission, tested)
    return _word(_first(*patches))


def _report(test_result: Any) -> Any:
    if not isinstance(test_result, dict):
        return None
    report = test_result.get("report")
    return report.get("resolved") if isinstance(report, dict) else None


def _tool_names(tools: Any) -> list[str] | None:
    if isinstance(tools, str):
        try:
            tools = loads(tools.encode("utf-8", "replace")).value
        except ValueError:
            return None
    if not isinstance(tools, list):
        return None
    names = [
        _first((tool.get("function") or {}).get("name") if isinstance(tool.get("function"), dict) else None,
               tool.get("name"))
        for tool in tools
        if isinstance(tool, dict)
    ]  # fmt: skip
    return [name for name in names if isinstance(name, str)]
