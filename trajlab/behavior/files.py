"""File events of a trajectory: what its calls showed, created, changed and deleted, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trajlab.behavior.paths import class_of_made, clean_path, path_class
from trajlab.behavior.touches import (
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
    substitution,
)
from trajlab.behavior.written_paths import paths_of_code, paths_of_patch

Row = tuple[Any, ...]

READ_BACK_CALLS = 3
"""An edit is read back when its file is shown in its own call, after it, or in one of the next three."""
MOST_EXPANDED = 50
"""Files that ``git diff`` without a path may stand for."""

_PLAIN = frozenset({CHANGED, CREATED, DELETED, WRITTEN, REVERTED, TOUCHED})


class FileLog:
    """The files of one trajectory, as far as its calls so far tell.

    Attributes:
        rows: Rows of the table ``file_events`` without the trajectory's id.
        n_edits: Edits of project and test files, one for each call and file.
        n_read_back: Those whose file was shown again in time.
        flip_flop: An edit put such a file back into an earlier state.
        abandoned: Such files that were edited and then put back or deleted.
    """

    __slots__ = (
        "_changed", "_classes", "_contents", "_edited_at", "_gone", "_made", "_made_folders", "_open", "_pending",
        "abandoned", "flip_flop", "n_edits", "n_read_back", "rows",
    )  # fmt: skip

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.n_edits = self.n_read_back = 0
        self.flip_flop = False
        self.abandoned: set[str] = set()
        self._classes: dict[str, str] = {}
        self._contents: dict[str, list[str]] = {}
        self._changed: dict[str, set[tuple[str, str]]] = {}
        self._made: set[str] = set()
        self._gone: set[str] = set()
        self._made_folders: set[str] = set()
        self._open: str | None = None
        self._pending: dict[str, int] = {}
        self._edited_at: dict[str, int] = {}

    def add(
        self, place: tuple[int, int, int], touches: Iterable[Touch], *, failed: bool, sees: bool
    ) -> tuple[int, bool]:
        """Add what one call did.

        Args:
            place: Number of the call, of its step, and its place among the agent's calls.
            touches: What its words say it does, in order.
            failed: It is known to have failed in it.
            sees: The agent sees its output.

        Returns:
            Position of the last simple command that edits project code (-1: none), and whether a source file that
            the call runs is known to write files of the project or its tests.
        """
        edited, by_script, classes, add = -1, False, self._classes, self.rows.append
        number, step, here = place
        for position, path, how, before, after in touches:
            if how == SHOWN and path != EVERYTHING and path != OPEN_FILE:
                kind = classes.get(path)
                if kind is None:
                    kind = classes[path] = path_class(path)
                self._open = path
                add((number, step, position, path, SHOWN, kind, failed))
                if path in self._pending and not failed:
                    self._read_back(path, here)
            elif how == FOLDER:
                self._make_folder(path, failed=failed)
            elif how != RUN or path in self._contents:
                plain = how in _PLAIN and path != EVERYTHING and path != OPEN_FILE
                for one, action in ((path, how),) if plain else self._expanded(path, how, sees=sees):
                    if how == RUN and action == WRITTEN:
                        self._made_by_script(one)
                    of_agent = action != REVERTED or one in self._changed
                    kind, action = self._resolve(one, action, before, after, failed=failed)
                    if not action:
                        continue
                    add((number, step, position, one, action, kind, failed))
                    if action == SHOWN:
                        self._read_back(one, here)
                    elif not failed:
                        if kind != "scratch":
                            self._edit(one, action, here)
                            by_script = by_script or how == RUN
                        if kind == "project" and of_agent and not (action == DELETED and one in self._made):
                            edited = position
        return edited, by_script

    def _read_back(self, path: str, here: int) -> None:
        when = self._pending.pop(path, None)
        if when is not None and here - when <= READ_BACK_CALLS:
            self.n_read_back += 1

    def _edit(self, path: str, action: str, here: int) -> None:
        if action == DELETED:
            self._pending.pop(path, None)
            return
        if self._edited_at.get(path) != here:
            self._edited_at[path] = here
            self.n_edits += 1
        self._pending[path] = here

    def _make_folder(self, path: str, *, failed: bool) -> None:
        top = path.partition("/")[0]
        if not failed and not any(known.startswith(f"{top}/") for known in self._classes):
            self._made_folders.add(top)

    def _made_by_script(self, path: str) -> None:
        """A script of the agent's makes a file: in a top folder that nobody has seen it is no project's."""
        top = path.partition("/")[0]
        if path not in self._classes and not any(known.startswith(f"{top}/") for known in self._classes):
            self._made_folders.add(top)

    def _expanded(self, path: str, how: str, *, sees: bool) -> Sequence[tuple[str, str]]:
        if path == EVERYTHING:
            if how == SHOWN and not sees:
                return ()
            return [(changed, how) for changed in list(self._changed)[-MOST_EXPANDED:]]
        if how in (RUN, APPLIED):
            return self._inside(path, how)
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
        pairs = paths_of_code(contents[-1]) if how == RUN else paths_of_patch(contents[-1])
        return [(clean, action) for word, action in pairs if (clean := clean_path(word)) is not None]

    def _resolve(self, path: str, how: str, before: str | None, after: str | None, *, failed: bool) -> tuple[str, str]:
        """Class of the path and the action; keeps the state of the file."""
        known = self._classes.get(path)
        action = CHANGED if how == REVERTED else how
        if how == WRITTEN:
            action = CREATED if known is None or path in self._gone else CHANGED
        elif how == TOUCHED:
            action = CREATED if known is None else ""
        if known is None:
            if action == CREATED:
                known = class_of_made(path, self._made_folders)
            else:
                known = self._class_of_deleted(path) if how == DELETED else path_class(path)
        if failed:
            return known, action
        self._classes[path] = known
        if action == CREATED:
            self._made.add(path)
        if how == SHOWN:
            return known, action
        self._open = path
        if how == DELETED:
            self._gone.add(path)
        else:
            self._gone.discard(path)
        if how == WRITTEN and after is not None:
            self._write(path, after, known)
        if known != "scratch":
            self._settle(path, how, before, after)
        return known, action

    def _class_of_deleted(self, path: str) -> str:
        """A folder has the class of what is known in it; what was never seen at the top was made there."""
        inside = next((self._classes[known] for known in self._classes if known.startswith(f"{path}/")), None)
        if inside is not None:
            return inside
        top, slash, _ = path.partition("/")
        return "scratch" if not slash or top in self._made_folders else path_class(path)

    def _write(self, path: str, after: str, known: str) -> None:
        contents = self._contents.get(path)
        if contents is None:
            self._contents[path] = [after]
            return
        if known != "scratch" and after in contents[:-1] and after != contents[-1]:
            self.flip_flop = True
        contents.append(after)

    def _settle(self, path: str, how: str, before: str | None, after: str | None) -> None:
        changed = self._changed.get(path)
        if how in (REVERTED, DELETED):
            if changed is not None:
                self.abandoned.add(path)
                self.flip_flop = self.flip_flop or how == REVERTED
            if how == REVERTED:
                self._changed.pop(path, None)
            return
        self.abandoned.discard(path)
        if changed is None:
            changed = self._changed[path] = set()
        if before is not None and how == CHANGED:
            pair = substitution(before) if after is None else (before, after)
            if pair is not None and pair[0] != pair[1]:
                self.flip_flop = self.flip_flop or (pair[1], pair[0]) in changed
                changed.add(pair)
