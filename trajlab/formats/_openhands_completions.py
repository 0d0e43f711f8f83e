"""Logged calls of the model of OpenHands V0 and V1, a file each: the conversations that they are parts of.

Every call states its whole context and one answer. An answer is a turn; what stands in the next context and in none
before it (results, words of the user, summaries of a condenser) came in between. A conversation is told by its first
two messages. Turns in a context are the answers of calls before; where those are not logged, they are taken from it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from trajlab.behavior.termination import classify_openhands
from trajlab.formats._trainer_turns import tool_names
from trajlab.formats._turns import Turns, exit_code_in, span, sum_tokens, task_of_prompt, tool_call
from trajlab.formats._values import (
    Records,
    content_text,
    count,
    first,
    joined,
    mapping,
    mappings,
    moment,
    number,
    objects_of,
    settings,
    text,
    total,
    word,
)
from trajlab.records import Problem, Step, Trajectory
from trajlab.sources.files import Bundle, SourceFile, parts_of

_TIME = re.compile(r"-(\d{9,11}(?:\.\d{1,20})?)(?:-[0-9a-f]{4})?(?:-error)?\.json$")
_AGENT_ITEMS = frozenset({"function_call", "reasoning"})
# Where calls are made in words, results are words of the user.
_RESULT_IN_WORDS = "EXECUTION RESULT of ["
_REQUESTS = ({"messages", "kwargs"}, {"input", "kwargs"})

Object = dict[str, Any]


def is_call(keys: frozenset[str]) -> bool:
    """Whether a document with these keys is one call of the model: request, answer or error, time, cost."""
    answered = "response" in keys or "error" in keys
    return answered and {"timestamp", "cost"} <= keys and any(request <= keys for request in _REQUESTS)


def read_calls(bundle: Bundle) -> Records:
    """One trajectory for each conversation in a folder of calls; what is no turn of an agent is counted."""
    problems: list[Problem] = []
    conversations: list[_Conversation] = []
    ordered = Bundle(bundle.format, bundle.variant, tuple(sorted(bundle.files, key=_when)))
    for _, call in objects_of(ordered, problems, "a logged call of the model"):
        context = _context(call)
        found = next((one for one in reversed(conversations) if one.goes_on_in(context)), None)
        if found is None:
            found = _Conversation(bundle, str(len(conversations)), context)
            conversations.append(found)
        found.take(call, context)
    agents = [one for one in conversations if one.system] or conversations
    beside = [step for one in conversations if one not in agents for step in one.trajectory.steps]
    if beside:
        message = "calls of the model without the agent's system message (summaries and the like), in no count: "
        message += f"{len(beside):,}, prompt tokens {total(step.prompt_tokens for step in beside) or 0:,}"
        message += f", generated tokens {total(step.completion_tokens for step in beside) or 0:,}"
        problems.append(Problem("side_calls", message))
    yield from problems
    for one in agents:
        yield one.closed()


def _when(file: SourceFile) -> tuple[float, str]:
    """Files are named by model and time: of two models in one folder, only the time tells the order."""
    name = parts_of(file.relpath)[-1]
    found = _TIME.search(name)
    return (float(found[1]) if found else 0.0, name)


def _context(call: Object) -> list[Object]:
    """The messages that the model was sent; those with calls as such, where the model was sent them in words."""
    sent = mappings(first(call.get("fncall_messages"), call.get("messages"), call.get("input")))
    instructions = text(call.get("instructions"))
    return [{"role": "system", "content": instructions}, *sent] if instructions else sent


def _is_agents(message: Object) -> bool:
    return message.get("role") == "assistant" or word(message.get("type")) in _AGENT_ITEMS


def _said(message: Object) -> str:
    return content_text(first(message.get("content"), message.get("output")))


def _key(message: Object) -> tuple[str | None, str | None, str]:
    """What makes a message the same one in the next context; marks for the prompt cache move."""
    call_id = first(message.get("tool_call_id"), message.get("call_id"))
    return word(message.get("role")), word(call_id), _said(message)


def _call_ids(message: Object) -> list[str]:
    ids = [call.get("id") for call in mappings(message.get("tool_calls"))] or [message.get("call_id")]
    return [known for known in map(word, ids) if known]


def _answer_keys(message: Object) -> list[str]:
    """What tells an agent's message again: ids of its calls, else its text."""
    return _call_ids(message) or [_said(message).strip()]


def _messages_of(response: Object) -> list[Object]:
    choice = next(iter(mappings(response.get("choices"))), None)
    return mappings(response.get("output")) if choice is None else [mapping(choice.get("message"))]


class _Conversation:
    def __init__(self, bundle: Bundle, ordinal: str, context: list[Object]) -> None:
        folder = PurePosixPath(bundle.file.path).parent
        task = folder.name if folder.parent.name == "llm_completions" else None
        self.trajectory = Trajectory(bundle.variant, ordinal, task_id=task, agent="OpenHands")
        self.system = any(message.get("role") == "system" for message in context)
        self._opening = [_key(message) for message in context if not _is_agents(message)]
        self._turns = Turns(self.trajectory)
        self._known: Counter[tuple[str | None, str | None, str]] = Counter()
        self._answers: set[str] = set()
        self._times: list[float | None] = []
        self._usages: list[Object] = []
        self._failed: list[str] = []
        self._logged = False
        self._error: str | None = None

    def goes_on_in(self, context: list[Object]) -> bool:
        """Whether a context has the same opening and an answer of this conversation, or nothing but more to it."""
        said = [_key(message) for message in context if not _is_agents(message)]
        if said[:2] != self._opening[:2]:
            return False
        turns = [message for message in context if _is_agents(message)]
        if turns and self._answers:
            return any(key in self._answers for message in turns for key in _answer_keys(message))
        return said != self._opening or not self.trajectory.steps

    def take(self, call: Object, context: list[Object]) -> None:
        """Take what is new in the context, and the answer."""
        left = self._known.copy()
        for message in context:
            key = _key(message)
            if _is_agents(message):
                self._restated(message)
                continue
            if left[key] > 0:
                left[key] -= 1
                continue
            self._known[key] += 1
            self._hear(message)
        self._request(call)
        time = moment(call.get("timestamp"))
        latency = number(call.get("latency_sec"))
        self._times += [time, time - latency if time is not None and latency is not None else None]
        self._error = _failure(call.get("error"))
        if self._error is not None:
            self._failed.append(self._error)
            return
        for message in _messages_of(mapping(call.get("raw_response"))):
            self._answers.update(_answer_keys(message))  # as it stands in contexts where calls are made in words
        self._logged = True
        step = self._turns.step()
        step.timestamp, step.cost = time, number(call.get("cost")) or None  # 0: the price is not known
        self._answer(step, mapping(first(call.get("fncall_response"), call.get("response"))))

    def _restated(self, message: Object) -> None:
        """A turn in a context. The text of one that is known may have been changed, the ids of its calls not."""
        keys = _answer_keys(message)
        if not self._logged or (_call_ids(message) and not self._answers.intersection(keys)):
            self._answers.update(keys)
            self._take_message(self._turns.step(), message)

    def _hear(self, message: Object) -> None:
        role, said = word(message.get("role")) or "user", _said(message)
        call_id = first(message.get("tool_call_id"), message.get("call_id"))
        if role == "tool" or call_id is not None or said.startswith(_RESULT_IN_WORDS):
            answered = self._turns.answer(call_id, said)
            if answered is not None:
                code = exit_code_in(said)
                # -1: it was still running when its time was over.
                answered.exit_code, answered.is_error = (None, True) if code == -1 else (code, None)
            return
        self._turns.say("system" if role == "developer" else role, said)

    def _request(self, call: Object) -> None:
        """Settings and tools: those of the first call."""
        if self.trajectory.settings or self.trajectory.steps:
            return
        options = mapping(call.get("kwargs"))
        # What a proxy is told beside the request (ids of sessions, tags) is no setting.
        self.trajectory.settings = list(settings({key: options[key] for key in options if key != "extra_body"}))
        offered = first(call.get("tools"), options.get("tools"))
        self.trajectory.tools_offered = tool_names(offered) if isinstance(offered, list) else None

    def _answer(self, step: Step, response: Object) -> None:
        self.trajectory.native_id = first(self.trajectory.native_id, word(response.get("id")))
        self.trajectory.model = first(self.trajectory.model, word(response.get("model")))
        usage = mapping(response.get("usage"))
        step.prompt_tokens = count(first(usage.get("prompt_tokens"), usage.get("input_tokens")))
        step.completion_tokens = count(first(usage.get("completion_tokens"), usage.get("output_tokens")))
        self._usages.append(usage)
        choice = next(iter(mappings(response.get("choices"))), {})
        step.finish_reason = word(first(choice.get("finish_reason"), response.get("status")))
        for message in _messages_of(response):
            self._answers.update(_answer_keys(message))
            self._take_message(step, message)

    def _take_message(self, step: Step, message: Object) -> None:
        kind = message.get("type")
        if kind == "function_call":
            self._turns.call(step, tool_call(message.get("name"), message.get("arguments"), message.get("call_id")))
            return
        if kind == "reasoning":
            step.reasoning = joined([step.reasoning, content_text(message.get("summary"))])
            return
        step.text = joined([step.text, content_text(message.get("content"))]) or ""
        thinking = joined(text(block.get("thinking")) for block in mappings(message.get("thinking_blocks")))
        step.reasoning = joined([step.reasoning, first(text(message.get("reasoning_content")), thinking)])
        for native in mappings(message.get("tool_calls")):
            function = mapping(native.get("function"))
            self._turns.call(step, tool_call(function.get("name"), function.get("arguments"), native.get("id")))

    def closed(self) -> Trajectory:
        """The trajectory, with its end: by its last call, as nothing else of the run is in these files."""
        trajectory = self.trajectory
        last = trajectory.steps[-1].calls if trajectory.steps else []
        finished = self._error is None and any(call.tool == "finish" for call in last)
        trajectory.stop_reason = first(self._error, "finish" if finished else None)
        state = "finished" if finished else None
        trajectory.termination = classify_openhands(self._error, state) or "unknown"
        self._turns.close(ran=True if finished else None)
        span(trajectory, self._times)
        sum_tokens(trajectory)
        trajectory.cached_tokens = self._detail("prompt_tokens_details", "input_tokens_details", "cached_tokens")
        trajectory.reasoning_tokens = self._detail(
            "completion_tokens_details", "output_tokens_details", "reasoning_tokens"
        )
        trajectory.cost = total(step.cost for step in trajectory.steps)
        task_of_prompt(trajectory)
        if self._failed:
            message = (
                f"calls of the model that failed, and are no turns: {len(self._failed):,}, last {self._failed[-1]}"
            )
            trajectory.problems.append(Problem("failed_calls", message))
        return trajectory

    def _detail(self, one: str, other: str, name: str) -> Any:
        details: Sequence[Object] = [mapping(first(usage.get(one), usage.get(other))) for usage in self._usages]
        return total(count(detail.get(name)) for detail in details)


def _failure(error: Any) -> str | None:
    """Kind and first line of an error; null where there is none."""
    if error is None:
        return None
    told = mapping(error)
    said = first(text(told.get("message")), text(error), "")
    return f"{word(told.get('type')) or 'error'}: {said}".strip().split("\n")[0][:200]
