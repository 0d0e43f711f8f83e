"""Events of an Inspect sample: what the messages do not tell (answers as generated, exit codes, tokens)."""

from __future__ import annotations

from typing import Any

from trajlab.formats._values import mapping, mappings, whole, word


class Events:
    """Events of one sample, by what they are about.

    Attributes:
        tools: Names of the tools offered to the model; null where no model event names any.
    """

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self._models = [event for event in events if event.get("event") == "model"]
        self._tools: dict[str, dict[str, Any]] = {}
        self._in_span: dict[str, list[dict[str, Any]]] = {}
        self._span_of: dict[int, str] = {}
        self._by_message: dict[str, dict[str, Any]] = {}
        self._in_order: dict[int, dict[str, Any]] = {}
        self._walk(events)
        self.tools = self._names()

    def _walk(self, events: list[dict[str, Any]]) -> None:
        begun: dict[str, Any] = {}  # the tool's span just before its event
        for event in events:
            kind = event.get("event")
            if kind == "tool":
                if isinstance(event.get("id"), str):
                    self._tools[event["id"]] = event
                same = begun.get("name") == event.get("function") and begun.get("parent_id") == event.get("span_id")
                if same and isinstance(begun.get("id"), str):
                    self._span_of[id(event)] = begun["id"]
                begun = {}
            elif kind == "span_begin":
                begun = event if event.get("type") == "tool" else {}
            elif kind == "sandbox" and isinstance(event.get("span_id"), str):
                self._in_span.setdefault(event["span_id"], []).append(event)

    def _names(self) -> list[str] | None:
        for event in self._models:
            names = [name for tool in mappings(event.get("tools")) if (name := word(tool.get("name")))]
            if names:
                return names
        return None

    def match(self, messages: list[dict[str, Any]]) -> None:
        """Find the answer behind each of the agent's messages: by id, in old logs by their order."""
        for event in self._models:
            identity = mapping(self.answer(event)).get("id")
            if isinstance(identity, str):
                self._by_message[identity] = event
        if not self._by_message and len(self._models) == len(messages):
            self._in_order = {id(m): event for m, event in zip(messages, self._models, strict=True)}

    def generated(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The model event that gave a message."""
        identity = message.get("id")
        found = self._by_message.get(identity) if isinstance(identity, str) else None
        return found or self._in_order.get(id(message))

    def answer(self, event: dict[str, Any] | None) -> Any:
        """The message as the model gave it."""
        choices = mappings(mapping(mapping(event).get("output")).get("choices"))
        return choices[0].get("message") if choices else None

    def tool(self, call_id: str | None) -> dict[str, Any] | None:
        """The event of a call."""
        return self._tools.get(call_id) if call_id is not None else None

    def exit_code(self, tool: dict[str, Any]) -> int | None:
        """Exit code of the last command that the sandbox ran for a call."""
        inside = mappings(tool.get("events")) + self._in_span.get(self._span_of.get(id(tool), ""), [])
        codes = [whole(event.get("result")) for event in inside if event.get("action") == "exec"]
        return codes[-1] if codes else None

    def usage_of(self, model: str | None) -> list[dict[str, Any]]:
        """Usage of every answer of a model; nothing where one does not state it."""
        outputs = [mapping(event.get("output")) for event in self._models if event.get("model") == model]
        stated = [mapping(output.get("usage")) for output in outputs]
        return stated if stated and all(stated) else []
