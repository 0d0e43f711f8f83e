"""What a command does to a file, before the trajectory says what that means: the words shared by all who tell it."""

from __future__ import annotations

Touch = tuple[int, str, str, str | None, str | None]
"""Position of the simple command, path, what is done, text before and text after (where known).

For ``sed``, its program alone stands in place of the text before.
"""

SHOWN, CREATED, CHANGED, DELETED = "shown", "created", "changed", "deleted"
WRITTEN = "written"
"""Made or changed: which of them, only the trajectory so far can tell."""
REVERTED = "reverted"
"""Put back to the state of the repository."""
MAYBE_REVERTED = "maybe reverted"
"""A word of ``git checkout`` that names a file or a branch."""
TOUCHED, FOLDER, RUN, APPLIED = "touched", "folder", "run", "applied"
"""``touch``; a folder made; a source file run; a patch file applied."""

EVERYTHING = "*"
"""Stands for all files changed so far (``git diff``, ``git checkout .``)."""
OPEN_FILE = "@"
"""Stands for the file that is open in the scaffold's editor."""


def substitution(script: str) -> tuple[str, str] | None:
    """Text before and after of a single ``s/a/b/`` of sed, each with the line it is for."""
    body = script.lstrip("0123456789,$ ")
    parts = body.split(body[1]) if body[:1] == "s" and len(body) > 3 else []
    if len(parts) != 4:
        return None
    lines = script[: len(script) - len(body)]
    return f"{lines}:{parts[1]}", f"{lines}:{parts[2]}"
