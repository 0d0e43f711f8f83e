"""What the calls of one trajectory write into files, as texts before and after: what a reader sees as a diff."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trajlab.behavior.authored import PATCHES, Piece
from trajlab.behavior.own_work import pieces_of_call
from trajlab.behavior.shell import analyse
from trajlab.behavior.tools import kind_of_tool
from trajlab.records import ToolCall

_PATCHING = frozenset({"patch", "git", "apply_patch", "applypatch"})
_EDITORS = frozenset({"edit", "editor", "fileop"})


class Edit(msgspec.Struct, omit_defaults=True):
    """One text that a call writes into a file."""

    path: str
    """Empty where it cannot be told; several of one program are separated by commas."""
    how: str
    """``write``, ``append``, ``replace``, ``insert``, ``patch``, ``script`` (of sed) or ``program`` (inline code)."""
    old: str | None = None
    """Text it takes the place of; null where that is not known."""
    new: str | None = None
    patch: str | None = None
    """The text of a patch as logged, in place of both."""


class EditReader:
    """Edits of the calls of one trajectory, in order.

    It remembers the files that the agent wrote as a whole, so that a second write of a file has a text before it.
    """

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def read(self, call: ToolCall) -> list[Edit]:
        """Return what a call writes; nothing for a call that was not executed."""
        if call.executed is False or call.invalid is not None:
            return []
        if call.command is None and kind_of_tool(call.tool) not in _EDITORS:
            return []
        patch = _patch_text(call)
        pieces = list(pieces_of_call(call))
        if patch is not None:
            paths = dict.fromkeys(piece.path for piece in pieces)
            for path in paths:
                self._known.pop(path, None)
            return [Edit(", ".join(filter(None, paths)), "patch", patch=patch)]
        return _joined([self._edit(piece) for piece in pieces])

    def _edit(self, piece: Piece) -> Edit:
        before = self._known.get(piece.path)
        if piece.how == "write":
            self._known[piece.path] = piece.new
            return Edit(piece.path, piece.how, before, piece.new)
        if piece.how == "replace" and before is not None and before.count(piece.old) == 1:
            self._known[piece.path] = before.replace(piece.old, piece.new)
        elif piece.how == "append" and before is not None:
            self._known[piece.path] = before + piece.new
        else:
            self._known.pop(piece.path, None)
        if piece.how == "program":
            return Edit(piece.path, piece.how)
        old = piece.old if piece.how == "replace" else None
        return Edit(piece.path, piece.how, old, piece.new)


def _joined(edits: Sequence[Edit]) -> list[Edit]:
    """Inline code names every path it may write: one edit of them all."""
    programs = [edit for edit in edits if edit.how == "program"]
    rest = [edit for edit in edits if edit.how != "program"]
    if not programs:
        return rest
    return [*rest, Edit(", ".join(dict.fromkeys(edit.path for edit in programs if edit.path)), "program")]


def _patch_text(call: ToolCall) -> str | None:
    """The patch that a call applies, as logged; ``None`` where it applies none."""
    if call.command is not None:
        for command in analyse(call.command):
            if command.program in _PATCHING and "edit" in command.labels:
                body = command.heredoc or (command.arguments[-1] if command.arguments else "")
                return body if _is_patch(body) else None
        return None
    if isinstance(call.arguments, str):
        return call.arguments if _is_patch(call.arguments) else None
    values = (call.arguments or {}).get
    return next((text for name in PATCHES if isinstance(text := values(name), str) and _is_patch(text)), None)


def _is_patch(text: str) -> bool:
    return "*** Begin Patch" in text or "\n+++ " in text or "\n@@" in text or text.startswith(("*** ", "--- ", "+++ "))
