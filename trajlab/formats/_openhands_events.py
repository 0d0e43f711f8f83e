"""Events of OpenHands V0 to turns."""

from __future__ import annotations

from typing import Any

from trajlab.behavior.termination import classify_openhands
from trajlab.formats._turns import Turns, span, sum_tokens, tool_call
from trajlab.formats._values import (
    content_text,
    count,
    first,
    flag,
    mapping,
    mappings,
    moment,
    text,
    total,
    whole,
    word,
)
from trajlab.records import Step, ToolCall, Trajectory

# Tools by the kind of an action, where the log has no call as the model made it.
_TOOLS = {
    "run": "execute_bash",
    "run_ipython": "execute_ipython_cell",
    "read": "read",
    "write": "write",
    "edit": "edit_file",
    "browse": "browse",
    "browse_interactive": "browse_interactive",
    "call_tool_mcp": "call_tool_mcp",
    "delegate": "delegate",
    "think": "think",
    "finish": "finish",
    "reject": "reject",
    "task_tracking": "task_tracker",
    "push": "push",
    "send_pr": "send_pr",
    "condensation_request": "request_condensation",
}
_NOT_ARGUMENTS = frozenset(
    {
        "thought", "is_confirmed", "confirmation_state", "action_risk", "security_risk", "keep_prompt",
        "kernel_init_code", "action", "observation", "hidden", "blocking", "is_static", "cwd", "id", "timestamp",
        "source", "message", "timeout",
    }
)  # fmt: skip
_NO_OBSERVATIONS = frozenset(["null", "agent_state_changed", "recall", "condense"])
_LAST_WORDS = frozenset({"finish", "reject"})


class End:
    """What the events say about how the run ended."""

    def __init__(self) -> None:
        self.state: str | None = None
        self.error: str | None = None
        self.action: str | None = None

    def settle(self, trajectory: Trajectory, error: str | None, *, running: bool) -> None:
        """Set reason and class of the end; ``running``: without any sign of an end the run may still go on."""
        error = first(error, self.error if self.action is None else None)
        state = self.state if self.action is None else {"finish": "finished", "reject": "rejected"}[self.action]
        said = error.strip().split("\n")[0][:200] if error else None
        trajectory.stop_reason = first(said, self.action, self.state)
        trajectory.termination = classify_openhands(error, state)
        if trajectory.termination is None:
            trajectory.termination = "incomplete" if running else "unknown"


def fill(trajectory: Trajectory, events: list[dict[str, Any]]) -> End:
    """Turns, messages and totals from the events of one conversation."""
    reader = _Reader(trajectory)
    for event in events:
        reader.take(event)
    reader.turns.close(ran=True if reader.end.action else None)
    span(trajectory, reader.times)
    sum_tokens(trajectory)
    trajectory.cached_tokens = total(reader.cached)
    return reader.end


class _Reader:
    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.end = End()
        self.times: list[float | None] = []
        self.cached: list[int | None] = []
        self._by_event: dict[Any, ToolCall] = {}
        self._answers: set[str] = set()
        self._last: ToolCall | None = None

    def take(self, event: dict[str, Any]) -> None:
        self.times.append(moment(event.get("timestamp")))
        if "action" in event:
            self._action(event, text(event["action"]) or "")
        elif "observation" in event:
            self._observation(event, text(event["observation"]) or "")
        elif text(event.get("content")) is not None:
            self.turns.say("user", content_text(event["content"]))  # the resolver's flat history begins with it

    def _action(self, event: dict[str, Any], kind: str) -> None:
        arguments = mapping(event.get("args")) or {k: v for k, v in event.items() if k != "args"}
        # Flat histories name no source; they begin with the task.
        opens = kind == "message" and not self.turns.steps
        source = text(event.get("source")) or ("user" if opens else "agent")
        if kind == "system":
            self._system(arguments)
        elif kind == "message" and source != "agent":
            self.turns.say(source, content_text(arguments.get("content")))
        elif kind == "message":
            self.end.action = None
            step = self.turns.step()
            step.text = content_text(arguments.get("content"))
            self._generated(step, event)
        elif kind in _TOOLS and source == "agent":
            self._call(event, kind, arguments)
        elif kind == "change_agent_state":
            self.end.state = text(arguments.get("agent_state"))

    def _system(self, arguments: dict[str, Any]) -> None:
        self.turns.say("system", content_text(arguments.get("content")))
        self.trajectory.agent_version = word(arguments.get("openhands_version"))
        names = [word(mapping(tool.get("function")).get("name")) for tool in mappings(arguments.get("tools"))]
        if names:
            self.trajectory.tools_offered = [name for name in names if name]

    def _call(self, event: dict[str, Any], kind: str, arguments: dict[str, Any]) -> None:
        metadata = mapping(event.get("tool_call_metadata"))
        response = mapping(metadata.get("model_response"))
        step = self.turns.step(word(response.get("id")))
        if not step.calls:
            step.text = text(arguments.get("thought")) or ""
            self._generated(step, event)
        call = _native(metadata, response) or ToolCall(
            _TOOLS[kind], {k: v for k, v in arguments.items() if k not in _NOT_ARGUMENTS and v is not None}
        )
        if kind == "think" and isinstance(call.arguments, dict) and not call.arguments:
            call.arguments = {"thought": text(arguments.get("thought")) or ""}
        self._last = self.turns.call(step, call)
        if isinstance(event.get("id"), (int, str)):
            self._by_event[event["id"]] = call
        self.end.action = kind if kind in _LAST_WORDS else None
        self.end.error = None

    def _generated(self, step: Step, event: dict[str, Any]) -> None:
        """What the model's answer tells beside the call: text, reasoning, tokens."""
        step.timestamp = moment(event.get("timestamp"))
        response = mapping(mapping(event.get("tool_call_metadata")).get("model_response"))
        choice = next(iter(mappings(response.get("choices"))), {})
        message, usage = mapping(choice.get("message")), mapping(response.get("usage"))
        step.text = content_text(message.get("content")) or step.text
        step.reasoning = text(message.get("reasoning_content"))
        step.finish_reason = word(choice.get("finish_reason"))
        step.prompt_tokens = count(usage.get("prompt_tokens"))
        step.completion_tokens = count(usage.get("completion_tokens"))
        self.cached.append(count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")))
        if self.trajectory.model is None:
            self.trajectory.model = word(response.get("model"))

    def _observation(self, event: dict[str, Any], kind: str) -> None:
        extras = mapping(event.get("extras")) or event
        if kind == "agent_state_changed":
            self.end.state = text(extras.get("agent_state"))
            self.end.error = first(text(extras.get("reason")) or None, self.end.error)
        if kind in _NO_OBSERVATIONS:
            return
        content = content_text(event.get("content"))
        cause = event.get("cause")
        call = self._by_event.get(cause) if isinstance(cause, (int, str)) else None
        if call is None and "cause" not in event and "id" not in event:
            call = self._last  # flat histories and pairs: the observation follows its action
        if kind == "error":
            self._error(call, content, extras)
        elif call is None:
            self.turns.say("tool", content)
        elif kind == "user_rejected":
            self._finish(call, content, executed=False)
            call.invalid = "refused"
        else:
            self._finish(call, content, executed=True)
            code = whole(first(mapping(extras.get("metadata")).get("exit_code"), extras.get("exit_code")))
            # -1: it was still running when its time was over.
            call.exit_code = None if code == -1 else code
            call.is_error = True if code == -1 else flag(extras.get("error"))

    def _finish(self, call: ToolCall, content: str, *, executed: bool) -> None:
        call.executed = executed
        if executed:
            call.output = content
        else:
            self.turns.say("tool", content)
        self.turns.settle(call)

    def _error(self, call: ToolCall | None, content: str, extras: dict[str, Any]) -> None:
        if call is not None:
            self._finish(call, content, executed=True)
            call.is_error = True
        elif text(extras.get("error_id")):
            self.end.error = f"{extras['error_id']} {content}"
        else:
            # The model's answer was no valid action: it is dropped, and only the error is kept.
            self.turns.step().invalid_action = content.strip().split("\n")[0][:100] or "error"
            self.turns.say("tool", content)
            self.end.error = content


def _native(metadata: dict[str, Any], response: dict[str, Any]) -> ToolCall | None:
    """The call as the model made it."""
    choice = next(iter(mappings(response.get("choices"))), {})
    wanted = metadata.get("tool_call_id")
    for native in mappings(mapping(choice.get("message")).get("tool_calls")):
        if native.get("id") == wanted:
            function = mapping(native.get("function"))
            name = first(word(function.get("name")), word(metadata.get("function_name")))
            return tool_call(name, function.get("arguments"), wanted)
    return None
