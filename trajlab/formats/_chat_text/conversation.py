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


_OPEN_REASONING = ("<think>", "<think>\n", "<think>\n\n")


def parse_response(text: str, prompt: str | None = None) -> Conversation:
    """Turns of what a rollout produced: the agent's, the tools' and users' in between.

    Args:
        text: The response, special tokens kept or dropped. Dropped ones: see :mod:`.stripped`.
        prompt: The prompt before it, if known: tells the template, and whether it ends in ``<think>``.
    """
    lined = prompt is not None and prompt.startswith(ROLE_LINES) and not prompt.endswith("assistant\n\n")
    in_reasoning = prompt is not None and prompt.endswith(_OPEN_REASONING)
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
    builder = _Builder()
    for turn in found:
        role = turn.role
        if role == "tool" or (role == "user" and turn.body.startswith("<tool_response>")):
            builder.add_results(turn.body, turn.name)
            continue
        builder.finish_turn(joined=turn.joined)
        if role != "assistant":
            builder.add_message(role, turn.body.strip("\n"))
        elif turn.joined:
            builder.add_channel(turn)
        else:
            builder.add_agent_text(turn.body, in_reasoning)
            in_reasoning = False
    builder.finish_turn()
    if found and found[-1].role == "assistant" and is_empty(found[-1].body):
        builder.drop_empty_step()
    return Conversation(builder.steps, builder.messages, builder.cut_off)


class _Builder:
    """Steps as they grow: results of one turn may stand in several turns of the text."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.messages: list[Message] = []
        self.cut_off: str | None = None
        self._unfinished = False
        self._answered = 0
        self._outputs: list[str] = []
        self._names: list[str | None] = []
        self._channel_text: list[str] | None = None
        self._channel_reasoning: list[str] = []

    def finish_turn(self, *, joined: bool = False) -> None:
        """Close the step before, with the results that came; ``joined`` text may still belong to it."""
        if self._channel_text is not None and (self._outputs or not joined):
            step = self.steps[-1]
            step.text = "\n".join(filter(None, self._channel_text))
            if self._channel_reasoning:
                step.reasoning = "\n".join(self._channel_reasoning)
            self._channel_text = None
            self._channel_reasoning = []
        if self._outputs:
            if not self.steps:  # a result before any turn of the agent still proves a call
                self.steps.append(Step())
            step = self.steps[-1]
            results.attach(step, self._outputs, self._names, self._answered)
            self._outputs, self._names = [], []
            self._answered = len(step.calls)
        if self._channel_text is None and self._unfinished:
            self._unfinished = False
            for call in self.steps[-1].calls:
                if call.executed is None:
                    call.executed = False

    def add_results(self, body: str, name: str | None) -> None:
        found = results.read_results(body, name)
        self._outputs += found.outputs
        self._names += found.names
        self.cut_off = found.unclosed
        if found.remainder:
            self.add_message("user", found.remainder)

    def add_message(self, role: str, text: str) -> None:
        self.messages.append(Message(role, text, len(self.steps) or None))
        self.cut_off = None

    def add_agent_text(self, body: str, in_reasoning: bool) -> None:
        """A turn of the agent; Gemma 4 answers inside it, without a header."""
        start = 0
        for response, end in _embedded_results(body):
            self._add_step(body[start:response], in_reasoning)
            self.add_results(body[response:end], None)
            self.finish_turn()
            start, in_reasoning = end, False
        if not start or body[start:].strip():
            self._add_step(body[start:], in_reasoning)

    def _add_step(self, text: str, in_reasoning: bool) -> None:
        parts = read_agent_text(text, in_reasoning=in_reasoning)
        self.steps.append(Step(parts.text, parts.reasoning, parts.calls))
        self._unfinished, self._answered = True, 0
        self.cut_off = parts.unclosed

    def add_channel(self, turn: Turn) -> None:
        """One of the messages that make up a gpt-oss turn."""
        if self._channel_text is None:
            self.steps.append(Step())
            self._channel_text = []
            self._unfinished, self._answered = True, 0
        step = self.steps[-1]
        self.cut_off = None
        if turn.name is not None and "function_calls>" not in turn.body:
            step.calls.append(_channel_call(turn.name, turn.body))
        elif turn.channel == "analysis":
            self._channel_reasoning.append(turn.body.strip())
        else:
            parts = read_agent_text(turn.body)
            self._channel_text.append(parts.text)
            if parts.reasoning is not None:
                self._channel_reasoning.append(parts.reasoning)
            step.calls += parts.calls
            self.cut_off = parts.unclosed

    def drop_empty_step(self) -> None:
        """The header of a turn in which nothing was written yet."""
        last = self.steps[-1] if self.steps else None
        if last is not None and not (last.text or last.reasoning or last.calls):
            self.steps.pop()
            self.cut_off = None


def _embedded_results(body: str) -> list[tuple[int, int]]:
    """Stretches of results right behind calls, inside one turn of the agent."""
    opening, closing = "<|tool_response>", "<tool_response|>"
    at = body.find(opening)
    found: list[tuple[int, int]] = []
    while at >= 0:
        closed = body.find(closing, at)
        end = len(body) if closed < 0 else closed + len(closing)
        following = body.find(opening, end)
        if found and not body[found[-1][1] : at].strip():
            found[-1] = (found[-1][0], end)
        elif body[max(0, at - 40) : at].rstrip().endswith("<tool_call|>"):
            found.append((at, end))
        at = following
    return found


def _channel_call(recipient: str, body: str) -> ToolCall:
    if recipient.startswith("functions."):
        return named_json_call(recipient.removeprefix("functions."), body)
    return ToolCall(recipient, body.strip())
