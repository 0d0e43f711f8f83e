"""Paths in commands: brought to one spelling, and classed as test, project or scratch."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from trajlab.behavior.path_rules import BY_PRODUCT, HELPER, OUTSIDE, ROOT_TEST_FOLDERS, TEST_FOLDERS, TEST_NAME
from trajlab.behavior.rules import REPOSITORY_ROOT

LONGEST_PATH = 400

_UNKNOWN = re.compile(r"[\n\r\0$*?{}`<>|;\"'()]")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@=,-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+@=,-]*)*\Z")


@lru_cache(maxsize=512)
def clean_path(path: str, folder: str = "") -> str | None:
    """One spelling for the paths of a work tree.

    Args:
        path: As written: relative to ``folder``, or absolute.
        folder: Where the command runs, in the same spelling; empty at the top of the repository.

    Returns:
        The path below the repository where it lies there (``a/b.py`` for ``/testbed/a/b.py``), else the absolute
        path; ``None`` where it is no single file: empty, a pattern, a device, a value that only the shell knew.
    """
    if len(path) > LONGEST_PATH:
        return None
    if not folder and _PLAIN.match(path):
        return path
    if not path or path == "-" or _UNKNOWN.search(path) or path.startswith("/dev/"):
        return None
    if folder and path[0] not in "/~":
        path = f"{folder}/{path}"
    path = posixpath.normpath(path)
    if path.startswith("//"):
        path = path[1:]
    if path[0] == "/":
        found = REPOSITORY_ROOT.match(path)
        if found:
            path = path[found.end() + 1 :] or "."
    return path


@lru_cache(maxsize=256)
def changed_folder(path: str, folder: str) -> str:
    """Where a command runs after ``cd path``; empty at the top of the repository, or where it cannot be told."""
    clean = clean_path(path, folder)
    return "" if clean is None or clean == "." else clean


@lru_cache(maxsize=512)
def path_class(path: str) -> str:
    """Class of a path by its spelling alone: ``test``, ``scratch`` or ``project`` (rules: ``path_rules``)."""
    if path.startswith(OUTSIDE) or path.endswith(BY_PRODUCT):
        return "scratch"
    folders = path.split("/")
    name = folders.pop()
    if TEST_NAME.match(name) or not TEST_FOLDERS.isdisjoint(folders):
        return "test"
    top = folders[1:2] if folders[:1] == ["src"] else folders[:1]
    if (top and top[0] in ROOT_TEST_FOLDERS) or name in TEST_FOLDERS:
        return "test"
    return "project"


def class_of_made(path: str, made_folders: set[str]) -> str:
    """Class of a file that the agent made.

    Args:
        path: Its path.
        made_folders: Folders that the agent made.
    """
    top, slash, _ = path.partition("/")
    if not slash or top in made_folders or HELPER.search(path):
        return "scratch"
    return path_class(path)
