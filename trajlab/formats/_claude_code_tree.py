"""Which lines of a session of Claude Code are the conversation, and which the user rewound."""

from __future__ import annotations

from typing import Any

from trajlab.formats._branches import Left, Node, last_branch
from trajlab.formats._values import count, mapping, mappings, total, word

_TALK = ("user", "assistant")


def without_rewound(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Left]:
    """Lines on the branch of the last message, with their kin, and what was left elsewhere.

    Blocks of one answer and results of calls that were made in parallel are side branches of the tree, though nothing
    was rewound: they belong to the answer.

    Args:
        rows: Lines of one conversation, in order.
    """
    talk = [at for at, row in enumerate(rows) if row.get("type") in _TALK]
    if not talk:
        return rows, Left()
    kept = last_branch([_node(row) for row in rows], talk[-1])
    if all(at in kept for at in talk):
        return rows, Left()
    kept |= _kin(rows, talk, kept)
    rewound = {at for at in talk if at not in kept}
    return [row for at, row in enumerate(rows) if at not in rewound], _left([rows[at] for at in sorted(rewound)])


def _node(row: dict[str, Any]) -> Node:
    return Node(word(row.get("uuid")), word(row.get("parentUuid")) or word(row.get("logicalParentUuid")))


def _kin(rows: list[dict[str, Any]], talk: list[int], kept: set[int]) -> set[int]:
    """Other blocks of the answers on the branch, and what came back from their calls."""
    answers = {key for at in kept if (key := _answer(rows[at])) is not None}
    kin = {at for at in talk if _answer(rows[at]) in answers}
    calls = {word(block.get("id")) for at in kept | kin for block in _blocks(rows[at], "tool_use")} - {None}
    return kin | {
        at for at in talk if any(word(b.get("tool_use_id")) in calls for b in _blocks(rows[at], "tool_result"))
    }


def _answer(row: dict[str, Any]) -> str | None:
    return word(mapping(row.get("message")).get("id")) if row.get("type") == "assistant" else None


def _blocks(row: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [block for block in mappings(mapping(row.get("message")).get("content")) if block.get("type") == kind]


def _left(rows: list[dict[str, Any]]) -> Left:
    """Answers once each, with the usage that their last line states."""
    answers: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(rows):
        if row.get("type") == "assistant":
            answers[_answer(row) or f"#{number}"] = mapping(mapping(row.get("message")).get("usage"))
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Left(
        len(rows),
        len(answers),
        total(count(usage.get(name)) for usage in answers.values() for name in names) or 0,
        total(count(usage.get("output_tokens")) for usage in answers.values()) or 0,
    )
