"""Calls of a model that each log their whole context: what every call adds to those before it."""

from __future__ import annotations

from typing import Any

from trajlab.formats._trainer_turns import RESTATED

Message = dict[str, Any]


class Contexts:
    """Takes contexts in order, the last message of each being what was sampled; ``messages`` is the conversation.

    A context that goes on from the one before adds what is new in it. Templates may drop the reasoning of earlier
    turns, so of those only role and place must agree. Any other context begins anew: the agent's turns and the
    results in it were taken from the calls before, or were never sampled, and stand as restated.
    """

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self._before: list[Message] = []

    def add(self, context: list[Any], *, whole: bool = False) -> None:
        """Take one context.

        Args:
            context: Its messages, those that are no objects left out.
            whole: It is the only one: if it holds results of tools it is the rollout itself, not a restatement.
        """
        found = [message for message in context if isinstance(message, dict)]
        continued = _continues(self._before, found)
        new = found[len(self._before) :] if continued else found
        self._before = found
        if whole and any(message.get("role") == "tool" for message in new):
            self.messages += new
            return
        last = max((i for i, message in enumerate(new) if message.get("role") == "assistant"), default=len(new))
        for number, message in enumerate(new):
            role = message.get("role")
            restated = number < last and (role == "assistant" or (role == "tool" and not continued))
            self.messages.append({**message, "role": f"{RESTATED}{role}", "tool_calls": None} if restated else message)


def _continues(before: list[Message], after: list[Message]) -> bool:
    if not before or len(after) <= len(before):
        return False
    return all(
        old.get("role") == new.get("role")
        and (old.get("role") == "assistant" or old.get("content") == new.get("content"))
        for old, new in zip(before, after, strict=False)
    )
