"""Sessions whose records form a tree: the branch that leads to the last record is the conversation.

A user who goes back and asks otherwise leaves a branch. What was said there did happen and was paid for, but the agent
that went on never saw it: it is counted as a problem ``rewound``, with what the log states it cost.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trajlab.records import Problem


class Node(msgspec.Struct, frozen=True, gc=False):
    """Place of a record in the tree."""

    key: str | None
    parent: str | None
    """``None``: it names none."""
    root: bool = False
    """It names none because the tree begins anew with it; else it follows the record before it."""


class Left(msgspec.Struct):
    """What was left behind."""

    records: int = 0
    answers: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def problem(self) -> Problem | None:
        """It in words; null where nothing was left."""
        if not self.records:
            return None
        message = f"on branches that were left, and in no count: records {self.records:,}, answers {self.answers:,}"
        message += f", prompt tokens {self.prompt_tokens:,}, generated tokens {self.completion_tokens:,}"
        return Problem("rewound", message)


def last_branch(nodes: Sequence[Node], last: int | None = None) -> set[int]:
    """Positions on the way from the root to the last record.

    A parent is looked for among earlier records only, so that no cycle is possible. Where it is not there (a line that
    could not be read, a part of the session in another file), the record follows the one before it.

    Args:
        nodes: The records, in order.
        last: Position of the last record of the conversation; ``None``: of all.
    """
    above: list[int] = []
    places: dict[str, int] = {}
    for position, node in enumerate(nodes):
        found = places.get(node.parent) if node.parent is not None else None
        above.append(-1 if node.root else position - 1 if found is None else found)
        if node.key is not None:
            places[node.key] = position
    kept: set[int] = set()
    at = len(nodes) - 1 if last is None else last
    while at >= 0:
        kept.add(at)
        at = above[at]
    return kept
