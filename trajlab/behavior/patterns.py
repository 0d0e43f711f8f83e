"""Action patterns: a trajectory as a short string, one letter for each call of the agent."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trajlab.behavior.tools import kind_of_tool
from trajlab.records import ToolCall
from trajlab.schema import LABELS


class Kind(msgspec.Struct, frozen=True):
    """One kind of action."""

    letter: str
    name: str
    verb: str
    """In a sentence about a trajectory."""
    labels: tuple[str, ...] = ()
    """Labels of the codebook that make a call this kind."""


KINDS = (
    Kind("Z", "submit", "submit", ("submit",)),
    Kind("T", "test", "test", ("test:all", "test:part", "test:file", "test:case")),
    Kind("E", "edit", "edit", ("edit",)),
    Kind("X", "script", "run a script", ("script",)),
    Kind("I", "quick check", "quick check", ("inline",)),
    Kind("C", "static check", "static check", ("static",)),
    Kind("N", "install", "install", ("install",)),
    Kind("V", "version control", "version control", ("vcs",)),
    Kind("F", "file operation", "file operation", ("fileop",)),
    Kind("R", "read", "read", ("read",)),
    Kind("S", "search", "search", ("search",)),
    Kind("O", "other", "other", ("other",)),
    Kind("K", "think", "think"),
    Kind("!", "invalid", "invalid call"),
    Kind("?", "not executed", "call not executed"),
)
"""Kinds in their precedence: a call of several labels is the first kind of this list that it has.

The end of the task comes first, then what says most about how the work went: tests before edits, both before other
execution, execution before looking. ``cat > t.py <<EOF …`` followed by ``python t.py`` in one call is an edit;
``sed -i …`` followed by ``pytest`` is a test.
"""

LETTERS = "".join([kind.letter for kind in KINDS])
BY_LETTER = {kind.letter: kind for kind in KINDS}

_BITS = [(sum(1 << LABELS.index(label) for label in kind.labels), kind.letter) for kind in KINDS if kind.labels]
_UNLABELLED = "O"


class _Letters(dict[int, str]):
    """Letter of a mask, worked out once."""

    def __missing__(self, mask: int) -> str:
        letter = next((letter for bits, letter in _BITS if mask & bits), _UNLABELLED)
        self[mask] = letter
        return letter


_letters = _Letters()


def action_pattern(calls: Sequence[ToolCall], masks: Sequence[int]) -> str | None:
    """Return the pattern of a trajectory: one letter for each call, in order.

    Args:
        calls: The agent's calls.
        masks: Labels of each call as one integer, a bit for each label in the order of the codebook.

    Returns:
        A string as long as there are calls; ``None`` without calls. A call that the log says was invalid or not
        executed is only that; calls of tools that no scaffold is known to use are *other*.
    """
    if not calls:
        return None
    return "".join(
        [
            _letters[mask] if mask and call.invalid is None and call.executed is not False else _unlabelled(call)
            for call, mask in zip(calls, masks, strict=True)
        ]
    )


def _unlabelled(call: ToolCall) -> str:
    if call.invalid is not None:
        return "!"
    if call.executed is False:
        return "?"
    return "K" if kind_of_tool(call.tool) == "think" else _UNLABELLED


def in_words(gram: str) -> str:
    """Return a piece of a pattern in words: ``ETT`` is ``edit, then test ×2``."""
    said: list[str] = []
    place = 0
    while place < len(gram):
        end = place
        while end < len(gram) and gram[end] == gram[place]:
            end += 1
        verb = BY_LETTER[gram[place]].verb if gram[place] in BY_LETTER else gram[place]
        said.append(verb if end - place == 1 else f"{verb} ×{end - place}")
        place = end
    return ", then ".join(said)
