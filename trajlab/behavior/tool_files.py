"""Files that a call of a tool other than a shell shows, makes, changes and removes.

Argument names are those of the scaffolds' own tool definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trajlab.behavior.paths import clean_path
from trajlab.behavior.tools import CODE_ARGUMENTS
from trajlab.behavior.touches import CHANGED, DELETED, OPEN_FILE, REVERTED, SHOWN, WRITTEN, Touch
from trajlab.behavior.written_paths import paths_of_code, paths_of_patch

PATH_ARGUMENTS = (
    "path", "file_path", "filename", "file", "file_name", "filepath", "filePath", "target_file", "TargetFile",
    "AbsolutePath", "absolute_path", "relative_path", "notebook_path", "image_file", "uri",
)  # fmt: skip
"""Argument that holds the path, most telling first."""

MANY_PATHS = ("paths", "files", "file_paths")
PATCH_ARGUMENTS = ("patch", "input", "diff", "patch_text", "changes")
BEFORE_ARGUMENTS = ("old_str", "old_string", "old_text", "search", "old_code", "TargetContent")
AFTER_ARGUMENTS = ("new_str", "new_string", "new_text", "replace", "new_code", "ReplacementContent")
CONTENT_ARGUMENTS = ("file_text", "content", "contents", "text", "CodeContent", "code")
MOVES = (("source", "destination"), ("old_path", "new_path"), ("from", "to"), ("src", "dst"))

WRITING_TOOLS = frozenset({"write", "create", "write_file", "write_to_file", "create_file", "save_file", "writefile"})
"""Tools that give the whole content of a file."""

OPEN_FILE_TOOLS = frozenset(["goto", "scroll_up", "scroll_down", "edit", "insert", "undo_edit"])
"""Tools of SWE-agent that work on the file that is open."""

_EDITOR_ACTIONS = {"view": SHOWN, "read": SHOWN, "create": WRITTEN, "write": WRITTEN, "undo_edit": REVERTED,
                   "search": "", "think": ""}  # fmt: skip


def tool_touches(tool: str | None, kind: str, arguments: Mapping[str, Any] | str | None) -> list[Touch]:
    """Return what a call of a tool does to files.

    Args:
        tool: Name as logged.
        kind: Its kind, as ``tools.kind_of_tool`` gives it.
        arguments: Its arguments, decoded where they could be.
    """
    name = (tool or "").strip().lower().rpartition("__")[2].rpartition(".")[2]
    if isinstance(arguments, str):
        return _patched(arguments) if kind == "edit" else []
    arguments = arguments or {}
    if kind == "python":
        code = next((arguments[key] for key in CODE_ARGUMENTS if isinstance(arguments.get(key), str)), "")
        return _touches([(path, how) for path, how in paths_of_code(code)])
    if kind == "fileop":
        return _file_operation(name, arguments)
    if kind not in ("read", "edit", "editor"):
        return []
    patch = next((arguments[key] for key in PATCH_ARGUMENTS if isinstance(arguments.get(key), str)), None)
    if kind == "edit" and patch is not None and (found := _patched(patch)):
        return found
    paths = _paths(arguments)
    how = _action(name, kind, arguments)
    if not how:
        return []
    if not paths:
        return [(0, OPEN_FILE, how, None, None)] if name in OPEN_FILE_TOOLS else []
    before, after = _text(arguments, BEFORE_ARGUMENTS), _text(arguments, AFTER_ARGUMENTS)
    if how == WRITTEN:
        before, after = None, _text(arguments, CONTENT_ARGUMENTS)
    return [(0, path, how, before, after) for word in paths if (path := clean_path(word)) is not None]


def _action(name: str, kind: str, arguments: Mapping[str, Any]) -> str:
    if kind == "read":
        return SHOWN
    if kind == "editor":
        return _EDITOR_ACTIONS.get(str(arguments.get("command")), CHANGED)
    if name == "undo_edit":
        return REVERTED
    whole = name in WRITING_TOOLS and _text(arguments, BEFORE_ARGUMENTS) is None
    return WRITTEN if whole else CHANGED


def _paths(arguments: Mapping[str, Any]) -> list[str]:
    one = next((arguments[key] for key in PATH_ARGUMENTS if isinstance(arguments.get(key), str)), None)
    if one is not None:
        return [one]
    for key in MANY_PATHS:
        value = arguments.get(key)
        if isinstance(value, list):
            named = [item.get("path") if isinstance(item, dict) else item for item in value]
            return [item for item in named if isinstance(item, str)]
    return []


def _text(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((arguments[key] for key in names if isinstance(arguments.get(key), str)), None)


def _patched(text: str) -> list[Touch]:
    return _touches(list(paths_of_patch(text)))


def _touches(pairs: list[tuple[str, str]]) -> list[Touch]:
    return [(0, path, how, None, None) for word, how in pairs if (path := clean_path(word)) is not None]


def _file_operation(name: str, arguments: Mapping[str, Any]) -> list[Touch]:
    for source, target in MOVES:
        if isinstance(arguments.get(source), str) and isinstance(arguments.get(target), str):
            pairs = [(arguments[target], WRITTEN)]
            if "copy" not in name:
                pairs.insert(0, (arguments[source], DELETED))
            return _touches(pairs)
    how = DELETED if "delete" in name or "remove" in name else ""
    return _touches([(path, how) for path in _paths(arguments)]) if how else []
