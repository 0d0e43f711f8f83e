"""Prompts: the turns before the agent's first, and the tools they offer."""

from __future__ import annotations

import re

from trajlab.behavior.caching import cached_by_text
from trajlab.formats._chat_text import turns
from trajlab.formats._chat_text.spellings import decode_json
from trajlab.formats._chat_text.turns import Turn
from trajlab.records import Message

ROLE_LINES = ("system\n", "user\n", "assistant\n")
"""How a Qwen-style prompt begins once its special tokens are dropped."""
_XML_TOOL_NAME = re.compile(r"<function>\s{0,20}<name>([^<>]{1,200})</name>")


def parse_prompt(text: str) -> list[Message]:
    """Messages of a prompt, special tokens kept or dropped; the header of the turn to come is left out.

    Earlier turns of the agent and of tools (few-shot examples, a resumed conversation) are messages with
    the role ``assistant`` or ``tool``: not steps of this rollout. A prompt without roles is one ``user``
    message.
    """
    if text.startswith("system\n") and text.endswith("\nassistant\n"):
        system, _, user = text[7:-11].partition("\nuser\n")
        if user and system[:1] != "\n" and "\nassistant\n" not in user:
            return [Message("system", system.strip("\n")), Message("user", user.strip("\n"))]
    if turns.is_marked(text) and not text.startswith(ROLE_LINES):
        found = turns.split_marked(text, "user")
    elif text.startswith(("system\n\n", "user\n\n")) and text.endswith("assistant\n\n"):
        found = _glued_prompt(text)
    elif text.startswith(ROLE_LINES):
        found = _lined_prompt(text)
    else:
        return [Message("user", text)]
    if found and found[-1].role == "assistant" and is_empty(found[-1].body):
        found.pop()
    return [Message(_role(turn), turn.body.strip("\n")) for turn in found]


def _role(turn: Turn) -> str:
    return "tool" if turn.role == "user" and turn.body.startswith("<tool_response>") else turn.role


def is_empty(body: str) -> bool:
    """Nothing, or only the reasoning tags that templates put after the header."""
    return body.strip() in ("", "<think>") or not body.replace("<think>", "").replace("</think>", "").strip()


def _lined_prompt(text: str) -> list[Turn]:
    r"""``system\n…\nuser\n…\nassistant\n``: roles alternate, so the next one is known."""
    role, _, _ = text.partition("\n")
    start = len(role) + 1
    found: list[Turn] = []
    while True:
        following = "assistant" if role == "user" else "user"
        end = text.find(f"\n{following}\n", start - 1)
        if end < 0:
            found.append(Turn(role, text[start:]))
            return found
        found.append(Turn(role, text[start:end]))
        role, start = following, end + len(following) + 2


def _glued_prompt(text: str) -> list[Turn]:
    """Llama 3: role words glued to the text before them."""
    role, _, _ = text.partition("\n")
    start = len(role) + 2
    found: list[Turn] = []
    while True:
        following = "assistant" if role == "user" else "user"
        end = text.find(f"{following}\n\n", start)
        while following == "user" and end > 0 and text[end - 1].isspace() and text[end - 2 : end] != "\n\n":
            end = text.find("user\n\n", end + 1)
        if end < 0:
            found.append(Turn(role, text[start:]))
            return found
        found.append(Turn(role, text[start:end]))
        role, start = following, end + len(following) + 2


@cached_by_text(maxsize=256)
def _tools_in_block(block: str) -> tuple[str, ...]:
    names = [name.strip() for name in _XML_TOOL_NAME.findall(block)]
    for line in [] if names else block.split("\n"):
        try:
            tool = decode_json(line) if line.startswith("{") else None
        except ValueError:
            continue  # one unreadable line leaves the others
        function = tool.get("function", tool) if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            names.append(function["name"])
    return tuple(names)


def tools_in_prompt(text: str) -> list[str] | None:
    """Names of the tools in the prompt's first ``<tools>`` block; ``None`` where there is no such block."""
    start = text.find("<tools>\n")
    end = text.find("</tools>", start)
    if start < 0 or end < 0:
        return None
    return list(_tools_in_block(text[start + 8 : end])) or None
