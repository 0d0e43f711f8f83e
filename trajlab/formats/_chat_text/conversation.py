"""From turns to steps: the agent's turns, what came back, and what users said in between."""

from __future__ import annotations

import msgspec

from trajlab.formats._chat_text import results, stripped, turns
from trajlab.formats._chat_text.calls import read_agent_text
from trajlab.formats._chat_text.plain import read_plain
from trajlab.formats._chat_text.prompts import ROLE_LINES, is_empty
from trajlab.formats._chat_text.spellings import named_json_call
from trajlab.formats._chat_text.turns import Turn
from trajlab.records import Message, Step, ToolCall


class Conversation(msgspec.Struct, gc=False):
    """What a text holds, in order: ``messages`` tell after which step they stand.

    Attributes:
        steps: The agent's turns. A turn with nothing in it at the end of the text is no step.
        messages: System and user messages; ``after_step`` is ``None`` before the first step.
        cut_off: The tag that is open where the text ends (``<think>``, ``<tool_call>`` …), if one is.
    """

    steps: list[Step]
    messages: list[Message]
    cut_off: str | None = None


def parse_response(text: str, prompt: str | None = None) -> Conversation:
    """Turns of what a rollout produced: the agent's, the tools' and users' in between.

    Args:
        text: The response, special tokens kept or dropped. Dropped ones: see :mod:`.stripped`.
        prompt: The prompt before it, if known: tells the template, and whether it ends in ``<think>``.
    """
    lined = prompt is not None and prompt.startswith(ROLE_LINES) and not prompt.endswith("assistant\n\n")
    in_reasoning = prompt is not None and prompt.rstrip().endswith("<think>")
    if lined:  # special tokens were dropped: what looks like one is the agent's own text
        steps = None if in_reasoning else read_plain(text)
        if steps is not None:
            return Conversation(steps, [])
        found = stripped.split_role_lines(text)
    elif turns.is_marked(text):
        found = turns.split_marked(text, "assistant")
    elif stripped.is_channelled(text, prompt):
        found = stripped.split_channelled(text)
    elif stripped.is_glued(text) or (prompt is not None and prompt.endswith("assistant\n\n")):
        found = stripped.split_glued(text)
    else:
        found = stripped.split_role_lines(turns.without_end_markers(text), weak=prompt is None)
    return _built(found, in_reasoning)


def parse_conversation(text: str) -> Conversation:
    """Turns of a whole conversation in one text, special tokens kept."""
    return _built(turns.split_marked(text, "system"), in_reasoning=False)


def _built(found: list[Turn], in_reasoning: bool) -> Conversation:
    built = Conversation([], [])
    steps = built.steps
    for turn in found:
        role = turn.role
        if role == "assistant":
            _add_agent_turn(built, turn, in_reasoning)
            in_reasoning = False
        elif role == "tool" or (role == "user" and turn.body.startswith("<tool_response>")):
            _add_results(built, turn.body, turn.name)
        else:
            built.messages.append(Message(role, turn.body.strip("\n"), len(steps) or None))
            built.cut_off = None
    if found and found[-1].role == "assistant" and is_empty(found[-1].body):
        _drop_empty_step(built)
    for step in steps:
        for call in step.calls:
            if call.executed is None:
                call.executed = False
    return built


def _drop_empty_step(built: Conversation) -> None:
    last = built.steps[-1] if built.steps else None
    if last is not None and not (last.text or last.reasoning or last.calls):
        built.steps.pop()
        built.cut_off = None


_EMBEDDED = ("<|tool_response>", "<tool_response>")


def _add_agent_turn(built: Conversation, turn: Turn, in_reasoning: bool) -> None:
    body = turn.body
    if "tool_response>" in body:
        for opening in _EMBEDDED:
            at = body.find(opening)
            if at >= 0 and body[max(0, at - 40) : at].rstrip().endswith(("</tool_call>", "<tool_call|>")):
                _add_embedded(built, turn, at, in_reasoning)
                return
    if turn.joined:
        _add_channel(built, turn)
        return
    parts = read_agent_text(body, in_reasoning=in_reasoning)
    built.steps.append(Step(parts.text, parts.reasoning, parts.calls))
    built.cut_off = parts.unclosed


def _add_embedded(built: Conversation, turn: Turn, at: int, in_reasoning: bool) -> None:
    """Gemma 4 and GLM answer inside the agent's turn, without a header."""
    body = turn.body
    opening, closing = ("<|tool_response>", "<tool_response|>")
    if not body.startswith(opening, at):
        opening, closing = ("<tool_response>", "</tool_response>")
    _add_agent_turn(built, Turn("assistant", body[:at]), in_reasoning)
    end = at
    while (closed := body.find(closing, end)) >= 0:
        end = closed + len(closing)
        rest = body[end : end + 40].lstrip()
        if not rest.startswith(opening):
            break
    else:
        end = len(body)
    _add_results(built, body[at:end], None)
    if body[end:].strip():
        _add_agent_turn(built, Turn("assistant", body[end:]), in_reasoning=False)


def _add_channel(built: Conversation, turn: Turn) -> None:
    """One of the messages that make up a gpt-oss turn."""
    steps = built.steps
    answered = not steps or any(call.executed for call in steps[-1].calls)
    if answered or (built.messages and built.messages[-1].after_step == len(steps)):
        steps.append(Step())
    step = steps[-1]
    built.cut_off = None
    if turn.name is not None and "function_calls>" not in turn.body:
        step.calls.append(_channel_call(turn.name, turn.body))
    elif turn.channel == "analysis":
        step.reasoning = "\n".join(filter(None, (step.reasoning, turn.body.strip()))) or ""
    else:
        parts = read_agent_text(turn.body)
        step.text = "\n".join(filter(None, (step.text, parts.text)))
        step.calls += parts.calls
        built.cut_off = parts.unclosed


def _channel_call(recipient: str, body: str) -> ToolCall:
    if recipient.startswith("functions."):
        return named_json_call(recipient.removeprefix("functions."), body)
    return ToolCall(recipient, body.strip())


def _add_results(built: Conversation, body: str, name: str | None) -> None:
    found = results.read_results(body, name)
    if not built.steps:  # a result before any turn of the agent still proves a call
        built.steps.append(Step())
    results.attach(built.steps[-1], found)
    built.cut_off = found.unclosed
    if found.remainder:
        built.messages.append(Message("user", found.remainder, len(built.steps)))
