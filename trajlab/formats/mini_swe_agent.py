"""mini-swe-agent trajectories: bare message lists, ``-1`` (1.x) and ``-1.1`` (2.x), all message styles.

Source: mini-swe-agent 1.15.0 and 2.4.6, ``agents/default.py`` and ``run/utils/save.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from trajlab import records
from trajlab.behavior.termination import classify_mini
from trajlab.formats import Variant
from trajlab.formats._mini_swe_agent_document import (
    FENCE,
    RETURN_CODE,
    Choice,
    Document,
    Extra,
    Info,
    Message,
    Part,
    Response,
    Stats,
    Usage,
    output_of,
    parse,
)
from trajlab.records import Problem, RunSetting, Step, ToolCall, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import document

_CARRIES = frozenset(
    [
        "native_id",
        "task_id",
        "agent",
        "agent_version",
        "model",
        "logged_termination",
        "stop_reason",
        "logged_steps",
        "prompt_tokens",
        "completion_tokens",
        "cached_tokens",
        "reasoning_tokens",
        "seconds",
        "started_at",
        "cost",
        "tools_offered",
        "submission_chars",
        "steps_allowed",
    ]
)

_CARRIES_OLD = frozenset(
    {
        "native_id",
        "task_id",
        "agent",
        "logged_termination",
        "stop_reason",
        "logged_steps",
        "cost",
        "tools_offered",
        "submission_chars",
    }
)

_CARRIES_LIST = frozenset({"task_id", "agent", "tools_offered"})

VARIANTS = {
    "list": Variant("bare list of messages (before August 2025)", _CARRIES_LIST),
    "0": Variant("`info`, `messages`, no format key, releases 1.0 to 1.4", _CARRIES_OLD),
    "1": Variant("`trajectory_format: mini-swe-agent-1`, releases 1.5 to 1.17", _CARRIES),
    "1.1": Variant("`trajectory_format: mini-swe-agent-1.1`, releases 2.x", _CARRIES),
}

# The key that names the format stands at the end of the document: anchored there, with a single closing brace, it
# can only be a key of the top level, so the document need not be scanned.
_TAIL = re.compile(
    rb'"trajectory_format":\s*"mini-swe-agent-([0-9.]{1,8})"\s*(?:,\s*"instance_id":\s*"[^"\\]*"\s*)?\}\s*\Z'
)
_ENDS = frozenset({"Submitted", "submitted"})
_FORMAT_HINT = "EXACTLY ONE"


def recognise(probe: Probe) -> str | None:
    """``1``, ``1.1`` by the format key; ``list`` for a bare list of mini-swe-agent's own message texts."""
    if probe.shape == "object":
        found = _TAIL.search(probe.tail)
        if found:
            return found[1].decode() if found[1].decode() in VARIANTS else None
        if not any(name in probe.head + probe.tail for name in (b'"trajectory_format"', b'"exit_status"')):
            return None
        if "trajectory_format" not in probe.keys:
            return "0" if _is_unnamed(probe) else None
        version = str(_format_key(probe)).removeprefix("mini-swe-agent-")
        return version if version in VARIANTS else None
    if probe.shape == "list" and _is_bare_list(probe.records):
        return "list"
    return None


def _is_unnamed(probe: Probe) -> bool:
    """The layout before the format had a name."""
    if not {"info", "messages"} <= probe.keys <= {"info", "messages", "instance_id"}:
        return False
    document = probe.records[0] if probe.records else None
    info = document.get("info") if isinstance(document, dict) else None
    return isinstance(info, dict) and {"exit_status", "model_stats"} <= set(info)


def _format_key(probe: Probe) -> object:
    document = probe.records[0] if probe.records else None
    return document.get("trajectory_format") if isinstance(document, dict) else None


def _is_bare_list(records: Sequence[Any]) -> bool:
    """A system or user prompt asking for one fenced command, then fenced commands and return codes."""
    if len(records) < 2 or not all(isinstance(r, dict) and set(r) <= {"role", "content", "timestamp", "extra"}
                                   and "role" in r for r in records):  # fmt: skip
        return False
    texts = [r["content"] for r in records if isinstance(r.get("content"), str)]
    fenced = any("```mswea_bash_command" in t or "```bash" in t for t in texts)
    return fenced and any(_FORMAT_HINT.lower() in t.lower() or "<returncode>" in t for t in texts)


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a file."""
    problems: list[Problem] = []
    data = document(bundle, problems)
    yield from problems
    try:
        parsed = parse(data, bundle.variant, problems := [])
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        yield Problem("unreadable_record", f"no mini-swe-agent trajectory: {error}; expected {{info, messages}}")
        return
    trajectory = _trajectory(parsed, bundle)
    trajectory.problems.extend(problems)
    yield trajectory


def _trajectory(parsed: Document, bundle: Bundle) -> Trajectory:
    info = parsed.info or Info()
    stats = info.model_stats or Stats()
    path = PurePosixPath(bundle.file.relpath)
    name = path.name.split(".")[0] if "." in path.name else path.name
    stem = path.name.removesuffix(".json").removesuffix(".traj")
    task = parsed.instance_id or (stem if stem == path.parent.name else None) or name
    settings = _settings(info.config)
    trajectory = Trajectory(
        variant=bundle.variant,
        ordinal="0",
        native_id=parsed.instance_id,
        task_id=task,
        agent="mini-swe-agent",
        agent_version=info.mini_version,
        model=_plain(settings, "model.model_name"),
        stop_reason=info.exit_status,
        logged_steps=stats.api_calls,
        cost=stats.instance_cost,
        steps_allowed=_limit(settings),
        tools_offered=["bash"],
        submission=info.submission,
        settings=settings,
    )
    _Turns(trajectory, submitted=info.exit_status in _ENDS, v1=bundle.variant != "1.1").fill(parsed.messages)
    trajectory.termination = classify_mini(info.exit_status, started=bool(trajectory.steps))
    _add_totals(trajectory)
    return trajectory


class _Turns:
    """Walks the messages, gathering steps, their calls and what came back."""

    def __init__(self, trajectory: Trajectory, *, submitted: bool, v1: bool) -> None:
        self.trajectory = trajectory
        self.steps = trajectory.steps
        self.submitted = submitted
        self.v1 = v1
        self.open: list[ToolCall] = []

    def fill(self, messages: list[Message]) -> None:
        last = len(messages) - 1
        for i, message in enumerate(messages):
            if message.role == "assistant" or message.object == "response":
                self._close()
                self._agent(message)
            elif message.extra is not None and message.extra.interrupt_type == "FormatError":
                self._refused(message)
            elif message.role == "exit":
                self._end(_text(message.content))
            elif self.open:
                self._result(message, is_last=i == last)
            else:
                self._other(message)
        self._close()

    def _agent(self, message: Message) -> None:
        extra = message.extra or Extra()
        text, reasoning = _texts(message)
        response = extra.response or Response()
        choice = response.choices[0] if response.choices else Choice()
        if reasoning is None and choice.message is not None:
            reasoning = choice.message.reasoning or choice.message.reasoning_content
        usage = response.usage or Usage()
        step = Step(
            text=text,
            reasoning=reasoning,
            finish_reason=choice.finish_reason,
            prompt_tokens=usage.prompt_tokens if usage.prompt_tokens is not None else usage.input_tokens,
            completion_tokens=usage.completion_tokens if usage.completion_tokens is not None else usage.output_tokens,
            cost=extra.cost if extra.cost is not None else usage.cost,
            timestamp=_first(extra.timestamp, message.timestamp, response.created),
        )
        if extra.actions is not None:
            step.calls = [ToolCall("bash", command=a.command, call_id=a.tool_call_id) for a in extra.actions]
        elif self.v1:
            fenced = FENCE.findall(text)
            if len(fenced) == 1:
                step.calls = [ToolCall("bash", command=fenced[0].strip())]
            else:
                step.invalid_action = f"{len(fenced)} actions in one message"
        self.steps.append(step)
        self._count(usage)
        self.open = list(step.calls)

    def _count(self, usage: Usage) -> None:
        """Cached and reasoning tokens, which only the provider's answer tells."""
        totals = self.trajectory
        if usage.prompt_tokens_details is not None and usage.prompt_tokens_details.cached_tokens is not None:
            totals.cached_tokens = (totals.cached_tokens or 0) + usage.prompt_tokens_details.cached_tokens
        details = usage.completion_tokens_details
        if details is not None and details.reasoning_tokens is not None:
            totals.reasoning_tokens = (totals.reasoning_tokens or 0) + details.reasoning_tokens

    def _refused(self, message: Message) -> None:
        """2.x drops the offending message and keeps the model's text only here (mini-swe-agent#737)."""
        self._close()
        extra = message.extra or Extra()
        said = extra.model_response
        self.steps.append(Step(text=said if isinstance(said, str) else "", invalid_action="FormatError"))
        self._other(message)

    def _result(self, message: Message, *, is_last: bool) -> None:
        call_id = message.tool_call_id or message.call_id
        call = next((c for c in self.open if call_id is not None and c.call_id == call_id), self.open[0])
        self.open.remove(call)
        text = _text(message.output if message.output is not None else message.content)
        if self.v1 and is_last and self.submitted:
            call.output, call.executed = text, True
            return
        extra = message.extra or Extra()
        if extra.returncode is not None:
            call.exit_code, call.output, call.executed = extra.returncode, extra.raw_output or text, True
        else:
            self._parse_result(call, text)
        if extra.exception_info:
            call.is_error = True

    def _parse_result(self, call: ToolCall, text: str) -> None:
        found = RETURN_CODE.match(text)
        if found:
            call.exit_code, call.executed = int(found[1]), True
            call.output = output_of(text[found.end() :])
        elif "timed out" in text[:2000]:
            call.output, call.executed, call.is_error = text, True, True
        elif _FORMAT_HINT.lower() in text[:2000].lower():
            call.executed, call.invalid = False, "refused"
            self._say("user", text)
        else:
            call.output, call.executed = text, True

    def _end(self, text: str) -> None:
        for call in self.open:
            call.executed = self.submitted
            if self.submitted:
                call.output = text
        self.open = []

    def _other(self, message: Message) -> None:
        self._say(message.role or "user", _text(message.content))

    def _say(self, role: str, text: str) -> None:
        self.trajectory.messages.append(records.Message(role, text, len(self.steps) or None))

    def _close(self) -> None:
        """Calls that nothing answered: the run ended, or the next turn came first."""
        for call in self.open:
            call.executed = False
        self.open = []


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _text(content: str | list[Part] | None) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content or [] if part.text)


def _texts(message: Message) -> tuple[str, str | None]:
    """Visible text and reasoning of an agent message, of any style."""
    if not isinstance(message.output, list):
        return _text(message.content), message.reasoning_content
    visible: list[str] = []
    reasoning: list[str] = []
    for item in message.output:
        if item.type == "message":
            visible.append(_item_text(item.content))
        elif item.type == "reasoning":
            reasoning.append(_item_text(item.summary) or _item_text(item.content))
    return "\n".join(visible), "\n".join(reasoning) if reasoning else None


def _item_text(parts: Any) -> str:
    if isinstance(parts, str):
        return parts
    if not isinstance(parts, list):
        return ""
    return "\n".join(p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str))


def _settings(config: msgspec.Raw | None) -> list[RunSetting]:
    """Scalar settings by dotted name; prompt templates are left out."""
    if config is None:
        return []
    key = bytes(config)
    cached = _SETTINGS_CACHE.get(key)
    if cached is None:
        if len(_SETTINGS_CACHE) > 64:
            _SETTINGS_CACHE.clear()
        cached = _SETTINGS_CACHE[key] = list(_flatten(msgspec.json.decode(key), ""))
    return cached


_SETTINGS_CACHE: dict[bytes, list[RunSetting]] = {}


def _flatten(value: Any, prefix: str) -> Iterator[RunSetting]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if not str(name).endswith("_template"):
                yield from _flatten(inner, f"{prefix}.{name}" if prefix else str(name))
    elif not isinstance(value, list):
        yield RunSetting(prefix, msgspec.json.encode(value).decode())


def _plain(settings: list[RunSetting], name: str) -> str | None:
    value = next((s.configured for s in settings if s.name == name), None)
    return None if value in (None, "null") else value.strip('"')


def _limit(settings: list[RunSetting]) -> int | None:
    """``agent.step_limit``; 0 means no limit there."""
    value = _plain(settings, "agent.step_limit")
    return int(value) if value and value.isdecimal() and len(value) < 19 and value != "0" else None


def _add_totals(trajectory: Trajectory) -> None:
    steps = trajectory.steps
    prompts = [s.prompt_tokens for s in steps if s.prompt_tokens is not None]
    completions = [s.completion_tokens for s in steps if s.completion_tokens is not None]
    trajectory.prompt_tokens = sum(prompts) if prompts else None
    trajectory.completion_tokens = sum(completions) if completions else None
    times = [s.timestamp for s in steps if s.timestamp is not None]
    if times:
        trajectory.started_at = min(times)
        trajectory.seconds = max(times) - min(times)
