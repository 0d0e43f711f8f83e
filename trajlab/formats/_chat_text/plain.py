"""The common case, fast: Qwen/Hermes turns with the special tokens dropped and nothing odd in them.

Gives exactly what the general way gives (a property test holds the two together), or ``None`` at the first
sign of anything unusual.
"""

from __future__ import annotations

from trajlab.formats._chat_text.calls import read_agent_text
from trajlab.formats._chat_text.prompts import is_empty
from trajlab.formats._chat_text.results import PARALLEL, Results, answer, attach
from trajlab.formats._chat_text.spellings import decode_json_call, tagged_calls
from trajlab.records import Step, ToolCall

_CLOSE = "</tool_response>"
_LAST_CLOSE = "\n</tool_response>"


def read_plain(text: str) -> list[Step] | None:
    """Steps of a response, or ``None`` where it needs the general way."""
    if "\ntool\n" in text or text.startswith("assistant\n"):
        return None
    steps: list[Step] = []
    turns = text.split("\nassistant\n")
    last = turns.pop()
    for turn in turns:
        content, headed, tail = turn.partition("\nuser\n<tool_response>\n")
        step = _step(content) if headed else None
        if step is None or not _answered(step, tail):
            return None
        steps.append(step)
    content, headed, tail = last.partition("\nuser\n<tool_response>\n")
    step = _step(content)
    if step is None or (headed and not _answered(step, tail)):
        return None
    if not headed:
        if "</tool_call>\nuser" in content:
            return None
        for call in step.calls:
            call.executed = False
        if not (step.text or step.reasoning or step.calls) and is_empty(content):
            return steps
    steps.append(step)
    return steps


def _answered(step: Step, tail: str) -> bool:
    """Attach the outputs in ``tail``, the tool turn behind its first tag; false where it is unusual."""
    if not tail.endswith(_LAST_CLOSE):
        return False
    tail = tail[: -len(_LAST_CLOSE)]
    calls = step.calls
    if _CLOSE not in tail:
        if len(calls) == 1:
            answer(calls[0], tail)
            return True
        outputs = [tail]
    else:
        outputs = tail.split(PARALLEL)
        if tail.count(_CLOSE) != len(outputs) - 1:
            return False
    attach(step, Results(outputs))
    for call in step.calls:
        if call.executed is None:
            call.executed = False
    return True


def _step(content: str) -> Step | None:
    """The agent's turn without its results, or ``None`` where it is unusual."""
    reasoning = None
    start = 0
    if content.startswith("<think>"):
        end = content.find("</think>")
        if end < 0:
            return None
        start = end + 8
        reasoning = content[7:end].strip()
        content = content[start:]
    if "think>" in content or "<tool_response>" in content:
        return None
    opened = content.find("<tool_call>")
    if opened < 0:
        if "<" in content or "{" in content:
            parts = read_agent_text(content)
            return None if parts.unclosed else Step(parts.text, reasoning, parts.calls)
        return Step(content.strip(), reasoning, [])
    return _calling_step(content, opened, reasoning)


def _calling_step(content: str, opened: int, reasoning: str | None) -> Step | None:
    calls: list[ToolCall] = []
    visible = content[:opened]
    while True:
        closed = content.find("</tool_call>", opened)
        if closed < 0:
            return None
        body = content[opened + 11 : closed]
        try:
            call = decode_json_call(body)
            calls.append(ToolCall(call.name, call.arguments))
        except (ValueError, RecursionError):
            if "<function=" in body:
                return None
            calls += tagged_calls(body)
        closed += 12
        opened = content.find("<tool_call>", closed)
        if opened < 0:
            break
        visible += content[closed:opened]
    visible += content[closed:]
    if "</tool_call>" in visible:
        return None
    return Step(visible.strip(), reasoning, calls)
