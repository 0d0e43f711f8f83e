"""Which files lie below the sources a user names: folders, glob patterns, single files."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from trajlab.errors import UsageError
from trajlab.records import Problem
from trajlab.sources.files import SourceFile

CORPUS_MARKER = "trajlab-corpus.json"
"""A folder that holds this file is a corpus we wrote: never a source."""
TOOL_FOLDERS = frozenset(
    {
        ".git", ".hg", ".svn", ".jj", ".bzr", ".venv", ".tox", ".nox", ".pixi", ".ipynb_checkpoints",
        ".virtual_documents", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".idea", ".vscode", ".dvc",
        ".Trash", ".Trashes",
        ".Spotlight-V100", ".fseventsd", ".TemporaryItems", ".DocumentRevisions-V100", ".AppleDouble",
    }
)  # fmt: skip
"""Hidden folders of tools and of desktops: whatever they hold, it is no log."""
CACHE = "__pycache__"
"""Folder of Python's byte code."""
_LARGEST = 2**63 - 1
"""A clock may be wrong by centuries: later than 2262, and the nanoseconds since 1970 are too many for a column."""
_WILDCARDS = re.compile(r"[*?\[]")


class Skipped(msgspec.Struct, frozen=True):
    """A folder left out on purpose."""

    root: str
    path: str
    relpath: str
    kind: str
    """``hidden``, ``tools`` (hidden ones of tools, caches of Python) or ``corpus`` (one of ours)."""


class Discovery(msgspec.Struct):
    """What was found.

    Attributes:
        files: Sources in the order named; within each, by path.
        problems: (path below the root, problem) of whatever could not be opened.
        skipped: Folders left out on purpose. What a pattern does not match is not among them: like the shell's, its
            wildcards match no hidden name.
    """

    files: list[SourceFile]
    problems: list[tuple[str, Problem]]
    skipped: list[Skipped]
    seen: set[str]
    """Real paths of the files that were met."""


def discover(sources: Sequence[str | Path]) -> Discovery:
    """Find all files below ``sources``, each once, in a reproducible order.

    A folder is walked (links to folders are followed once, after everything else, so a real path wins
    over a link to it). A glob pattern takes matching files and everything in matching folders; its root
    is the folder before the first wildcard. A single file's root is its folder. Hidden folders below a source are left
    out, unless a pattern or another source names them.

    Raises:
        UsageError: No source is named, a path does not exist, or a pattern matches nothing.
    """
    if not sources:
        raise UsageError("sources", "no folder, file or pattern given", next_step="Name at least one.")
    found = _Found()
    for source in sources:
        _take(os.path.expanduser(os.fspath(source)), found)  # noqa: PTH111 - patterns are no paths
    return Discovery(found.files, found.problems, found.skipped, found.seen)


def _take(source: str, found: _Found) -> None:
    path = Path(source)
    if os.path.lexists(path):
        if path.is_dir():
            if (path / CORPUS_MARKER).exists():
                raise UsageError(source, "a corpus written by trajlab", "logs", "Name the logs it was built from.")
            _Walk(str(path.resolve()), None, found).run()
        else:
            root = path.parent.resolve()
            walk = _Walk(str(root), None, found)
            walk.take_file(str(root / path.name), path.name)
            walk.hand_over()
    elif _WILDCARDS.search(source):
        _take_pattern(source, found)
    else:
        raise UsageError(source, "no such file or folder", next_step="Check the path (relative to the current folder).")


def _take_pattern(pattern: str, found: _Found) -> None:
    parts = Path(pattern).parts
    first = next(index for index, part in enumerate(parts) if _WILDCARDS.search(part))
    root = Path(*parts[:first]) if first else Path()
    if not root.is_dir():
        raise UsageError(pattern, f"the folder {root} does not exist", next_step="Check the pattern's fixed part.")
    walk = _Walk(str(root.resolve()), _Pattern(parts[first:]), found)
    walk.run()
    if not walk.matched:
        raise UsageError(pattern, "the pattern matches nothing", next_step="Quote it, and try it with `ls`.")


class _Found:
    """What all walks of one call gather; ``seen`` holds resolved paths."""

    def __init__(self) -> None:
        self.files: list[SourceFile] = []
        self.problems: list[tuple[str, Problem]] = []
        self.skipped: list[Skipped] = []
        self.seen: set[str] = set()


_Places = frozenset[int]


class _Pattern:
    """A glob pattern, matched name by name while walking; ``**`` is any number of folders."""

    def __init__(self, parts: Sequence[str]) -> None:
        self._parts = [None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts]
        self._dotted = [part.startswith(".") for part in parts]
        self.end = len(parts)

    def start(self) -> _Places:
        return self._closed({0})

    def advance(self, places: _Places, name: str) -> _Places:
        """Places in the pattern after one more path component."""
        reached: set[int] = set()
        for place in places:
            if place == self.end:
                reached.add(place)
                continue
            part = self._parts[place]
            if name.startswith(".") and not self._dotted[place]:
                continue
            if part is None:
                reached.add(place)
            elif part.match(name):
                reached.add(place + 1)
        return self._closed(reached)

    def _closed(self, places: set[int]) -> _Places:
        pending = list(places)
        while pending:
            place = pending.pop()
            if place < self.end and self._parts[place] is None and place + 1 not in places:
                places.add(place + 1)
                pending.append(place + 1)
        return frozenset(places)

    def dotted(self, places: _Places) -> bool:
        """Whether a hidden name is asked for by name here."""
        return any(place < self.end and self._dotted[place] for place in places)


class _Walk:
    """One source's walk: real entries first, links after them."""

    def __init__(self, root: str, pattern: _Pattern | None, found: _Found) -> None:
        self.matched = False
        self._root = root
        self._pattern = pattern
        self._found = found
        self._folders: set[str] = set()
        self._links: list[tuple[str, str, _Places]] = []
        self._files: list[SourceFile] = []

    def run(self) -> None:
        start = self._pattern.start() if self._pattern else frozenset()
        self._walk(self._root, "", start)
        while self._links:
            links, self._links = sorted(self._links, key=lambda link: link[1]), []
            for path, relpath, places in links:
                if Path(path).is_dir():
                    self._walk(path, relpath + "/", places)
                elif self._wanted(places):
                    self.take_file(path, relpath)
        self.hand_over()

    def hand_over(self) -> None:
        """Pass the files on, by path."""
        self._found.files.extend(sorted(self._files, key=lambda file: file.relpath))
        self._files = []

    def _walk(self, folder: str, prefix: str, places: _Places) -> None:
        pending = [(folder, prefix, places)]
        while pending:
            pending.extend(self._folder(*pending.pop()))

    def _folder(self, folder: str, prefix: str, places: _Places) -> list[tuple[str, str, _Places]]:
        """Take one folder's files; returns its sub-folders."""
        real = os.path.realpath(folder)
        if real in self._folders:
            return []
        self._folders.add(real)
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            self._unreadable(prefix.rstrip("/") or ".", error)
            return []
        if any(entry.name == CORPUS_MARKER for entry in entries):
            self._skip(folder, prefix.rstrip("/") or ".", "corpus")
            return []
        folders = []
        for entry in entries:
            relpath = prefix + entry.name
            inner = self._pattern.advance(places, entry.name) if self._pattern else places
            if self._pattern and not inner:
                continue
            if entry.is_symlink():
                self._links.append((entry.path, relpath, inner))
            elif entry.is_dir(follow_symlinks=False):
                if self._left_out(entry.name, places):
                    self._skip(entry.path, relpath, _kind_of(entry.name))
                else:
                    folders.append((entry.path, relpath + "/", inner))
            elif self._wanted(inner):
                self._take(entry.path, relpath, os.path.join(real, entry.name), entry)  # noqa: PTH118 - hot loop
        return folders

    def _left_out(self, name: str, places: _Places) -> bool:
        if self._pattern and self._pattern.dotted(places):
            return False
        return name.startswith(".") or name == CACHE

    def _skip(self, path: str, relpath: str, kind: str) -> None:
        self._found.skipped.append(Skipped(self._root, path, _printable(relpath), kind))

    def _wanted(self, places: _Places) -> bool:
        return self._pattern is None or self._pattern.end in places

    def take_file(self, path: str, relpath: str) -> None:
        """Take one file named by the user or by a link."""
        self._take(path, relpath, os.path.realpath(path), Path(path))

    def _take(self, path: str, relpath: str, real: str, entry: os.DirEntry[str] | Path) -> None:
        self.matched = True
        if real in self._found.seen:
            return
        self._found.seen.add(real)
        try:
            status = entry.stat()
            if not stat.S_ISREG(status.st_mode):
                raise OSError("not a regular file")
            if not os.access(path, os.R_OK):
                raise PermissionError("permission denied")
        except OSError as error:
            self._unreadable(relpath, error)
            return
        modified = max(min(status.st_mtime_ns, _LARGEST), -_LARGEST)
        self._files.append(SourceFile(self._root, _printable(relpath), path, status.st_size, modified))

    def _unreadable(self, relpath: str, error: OSError) -> None:
        message = f"cannot be read: {error.strerror or error}"
        self._found.problems.append((_printable(relpath), Problem("unreadable", message)))


def _kind_of(name: str) -> str:
    return "tools" if name == CACHE or name in TOOL_FOLDERS else "hidden"


def _printable(relpath: str) -> str:
    """Names that are not UTF-8 are shown with escapes: identities must be writable as text."""
    try:
        relpath.encode()
    except UnicodeEncodeError:
        return os.fsencode(relpath).decode("utf-8", errors="backslashreplace")
    return relpath
