"""File events of a trajectory: what its calls showed, created, changed and deleted, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trajlab.behavior.paths import class_of_made, clean_path, path_class
from trajlab.behavior.shell_files import (
    APPLIED,
    CHANGED,
    CREATED,
    DELETED,
    EVERYTHING,
    FOLDER,
    MAYBE_REVERTED,
    OPEN_FILE,
    REVERTED,
    RUN,
    SHOWN,
    TOUCHED,
    WRITTEN,
    Touch,
)
from trajlab.behavior.written_paths import paths_of_code, paths_of_patch

Row = tuple[Any, ...]

MOST_EXPANDED = 50
"""Files that ``git diff`` without a path may stand for."""

_PATCH_SUFFIXES = (".patch", ".diff")


class FileLog:
    """The files of one trajectory, as far as its calls so far tell.

    Attributes:
        rows: Rows of the table ``file_events`` without the trajectory's id.
    """

    __slots__ = (
        "_changed", "_classes", "_contents", "_gone", "_made_folders", "_open", "abandoned", "flip_flop", "rows",
    )  # fmt: skip

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.flip_flop = False
        self.abandoned: set[str] = set()
        self._classes: dict[str, str] = {}
        self._contents: dict[str, list[str]] = {}
        self._changed: dict[str, set[tuple[str, str]]] = {}
        self._gone: set[str] = set()
        self._made_folders: set[str] = set()
        self._open: str | None = None

    def add(self, call: int, step: int, touches: Iterable[Touch], *, failed: bool, sees: bool) -> bool:
        """Add what one call did.

        Args:
            call: Number of the call.
            step: Number of its step.
            touches: What its words say it does, in order.
            failed: It is known to have failed in it.
            sees: The agent sees its output.

        Returns:
            Whether a source file that the call ran is known to write files of the project or its tests.
        """
        rows, classes = self.rows, self._classes
        edits_by_script = False
        for position, path, how, before, after in touches:
            if how == SHOWN and path != EVERYTHING and path != OPEN_FILE:
                kind = classes.get(path)
                if kind is None:
                    kind = classes[path] = path_class(path)
                self._open = path
                rows.append((call, step, position, path, SHOWN, kind, failed))
            elif how == RUN or how == APPLIED:
                for written, action in self._inside(path, how):
                    kind, action = self._resolve(written, action, None, None, failed=failed)
                    edits_by_script = edits_by_script or (kind != "scratch" and how == RUN)
                    rows.append((call, step, position, written, action, kind, failed))
            elif how == FOLDER:
                top = path.partition("/")[0]
                if top not in classes and not failed:
                    self._made_folders.add(top)
            else:
                for one, action in self._expanded(path, how, sees=sees):
                    kind, action = self._resolve(one, action, before, after, failed=failed)
                    if action:
                        rows.append((call, step, position, one, action, kind, failed))
        return edits_by_script

    def _expanded(self, path: str, how: str, *, sees: bool) -> Sequence[tuple[str, str]]:
        if path == EVERYTHING:
            if how == SHOWN and not sees:
                return ()
            return [(changed, how) for changed in list(self._changed)[-MOST_EXPANDED:]]
        if path == OPEN_FILE:
            return () if self._open is None else ((self._open, how),)
        if how == MAYBE_REVERTED:
            return ((path, REVERTED),) if path in self._changed else ()
        return ((path, how),)

    def _inside(self, path: str, how: str) -> list[tuple[str, str]]:
        """What a script or patch file that the agent wrote does when it is run or applied."""
        contents = self._contents.get(path)
        if not contents:
            return []
        if how == RUN:
            pairs = paths_of_code(contents[-1])
        else:
            pairs = paths_of_patch(contents[-1])
        return [(clean, action) for word, action in pairs if (clean := clean_path(word)) is not None]

    def _resolve(
        self, path: str, how: str, before: str | None, after: str | None, *, failed: bool
    ) -> tuple[str, str]:
        """Class of the path and the action; keeps the state of the file."""
        known = self._classes.get(path)
        action = CHANGED if how == REVERTED else how
        if how == WRITTEN:
            action = CREATED if known is None or path in self._gone else CHANGED
        elif how == TOUCHED:
            action = CREATED if known is None else ""
        if known is None:
            known = class_of_made(path, self._made_folders) if action == CREATED else path_class(path)
            if how == DELETED and path.partition("/")[0] in self._made_folders:
                known = "scratch"
        if failed:
            return known, action
        self._classes[path] = known
        if how != SHOWN:
            self._open = path
            if how == DELETED:
                self._gone.add(path)
            else:
                self._gone.discard(path)
            self._settle(path, how, before, after, known)
        return known, action

    def _settle(self, path: str, how: str, before: str | None, after: str | None, known: str) -> None:
        if after is not None and how == WRITTEN:
            contents = self._contents.setdefault(path, [])
            if known != "scratch" and after in contents[:-1] and after != contents[-1]:
                self.flip_flop = True
            contents.append(after)
        if known == "scratch":
            return
        changed = self._changed.get(path)
        if how == REVERTED or how == DELETED:
            if changed is not None:
                self.abandoned.add(path)
                self.flip_flop = self.flip_flop or how == REVERTED
            if how == REVERTED:
                self._changed.pop(path, None)
            return
        self.abandoned.discard(path)
        if changed is None:
            changed = self._changed[path] = set()
        if before is not None and after is not None and how == CHANGED and before != after:
            if (after, before) in changed:
                self.flip_flop = True
            changed.add((before, after))
