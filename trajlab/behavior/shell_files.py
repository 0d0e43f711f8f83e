"""Files that a shell text shows, makes, changes and removes, as far as its words tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trajlab.behavior.caching import cached_by_text
from trajlab.behavior.paths import changed_folder, clean_path
from trajlab.behavior.quick_files import quick_touches
from trajlab.behavior.rules import FILTERS, INTERPRETERS, SOURCE_SUFFIXES
from trajlab.behavior.shell import analyse, understood
from trajlab.behavior.touches import (
    APPLIED,
    CHANGED,
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
)  # fmt: skip
from trajlab.behavior.verdicts import SimpleCommand
from trajlab.behavior.written_paths import paths_of_code, paths_of_patch

READ = frozenset({"read"})
SEARCH = frozenset({"search"})
_READERS = frozenset({"cat", "nl", "head", "tail", "less", "more", "tac", "bat"})
_NO_VALUES = (0, frozenset[str]())
_GIT_NAMES = frozenset({"--stat", "--name-only", "--name-status", "--numstat", "--shortstat", "--quiet", "--summary"})
_GIT_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "-U", "-s", "--source", "-b", "-B", "--orphan"})
_CODE_FLAGS = frozenset({"-c", "-e", "-r", "--eval", "-E", "-p"})
_EDITORS = frozenset({"str_replace_editor", "file_editor", "str_replace_based_edit_tool", "text_editor"})
_VERBS = {
    "open": SHOWN, "view": SHOWN, "create": WRITTEN, "goto": SHOWN, "scroll_up": SHOWN, "scroll_down": SHOWN,
    "edit": CHANGED, "insert": CHANGED, "append": CHANGED, "undo_edit": REVERTED, "str_replace": CHANGED,
}  # fmt: skip
_VERBS_WITH_PATH = frozenset({"open", "create", "view"})
_DELETES = frozenset({"rm", "unlink", "shred", "trash", "del", "remove-item"})


class _Touches:
    """The touches of one shell text, with the folder it has gone to."""

    __slots__ = ("folder", "found", "position")

    def __init__(self) -> None:
        self.found: list[Touch] = []
        self.folder = ""
        self.position = 0

    def add(self, path: str, how: str, before: str | None = None, after: str | None = None) -> None:
        clean = clean_path(path, self.folder)
        if clean is not None:
            self.found.append((self.position, clean, how, before, after))

    def mark(self, path: str, how: str) -> None:
        """A touch of what is no path: everything, or the open file."""
        self.found.append((self.position, path, how, None, None))


def shell_touches(text: str) -> tuple[Touch, ...]:
    """Return what a shell text does to files, in order; paths as ``clean_path`` spells them."""
    quick = quick_touches(text, *understood(text))
    return analysed_touches(text) if quick is None else quick


@cached_by_text(maxsize=512)
def analysed_touches(text: str) -> tuple[Touch, ...]:
    """The same, by reading the text with the shell's rules."""
    touches = _Touches()
    for position, command in enumerate(analyse(text)):
        labels, program = command.labels, command.program
        if not labels:
            continue
        if program == "cd":
            if command.arguments:
                touches.folder = changed_folder(command.arguments[-1], touches.folder)
            continue
        touches.position = position
        if labels == READ:
            path = _only_operand(program, command.arguments) if not command.redirects else None
            if path is None:
                _read(command, touches)
            else:
                touches.add(path, SHOWN)
        elif labels != SEARCH:
            _other(command, labels, touches)
    return tuple(touches.found)


def _only_operand(program: str, words: Sequence[str]) -> str | None:
    """The file of the plainest reading commands; ``None`` for all others."""
    count = len(words)
    if count == 1 and program in _READERS:
        path = words[0]
    elif count == 3 and words[0] == "-n" and (program == "sed" or program in _READERS):
        path = words[2]
    elif count == 2 and program == "nl":
        path = words[1]
    else:
        return None
    return path if path[:1] != "-" else None


def operands(program: str, words: Sequence[str]) -> list[str]:
    """Words of a program that are neither flags, values of flags, nor its program text or pattern."""
    texts, values = FILTERS.get(program, _NO_VALUES)
    found: list[str] = []
    skip = only = False
    for word in words:
        if skip:
            skip = False
        elif only or word[:1] != "-" or word == "-":
            found.append(word)
        elif word == "--":
            only = True
        elif word in values:
            skip = True
            if word in ("-e", "-f", "--expression", "--file"):
                texts = 0
        elif texts and (program == "perl" or word[-1] == "e") and word[1] != "-" and word[-1] in "eE":
            skip, texts = True, 0
    return found[texts:] if texts else found


def _read(command: SimpleCommand, touches: _Touches) -> None:
    if command.redirects and any(not path.startswith("/dev/") for path, _ in command.redirects):
        return
    program = command.program
    if program in _VERBS and program != "view":
        _verb(command, touches)
        return
    if program in _EDITORS:
        _editor(command, touches)
        return
    for path in operands(program, command.arguments):
        touches.add(path, SHOWN)
    if command.stdin_file is not None:
        touches.add(command.stdin_file, SHOWN)


def _other(command: SimpleCommand, labels: frozenset[str], touches: _Touches) -> None:
    program = command.program
    if "edit" in labels:
        if command.redirects and command.rules[-1][1].startswith("redirect"):
            _redirects(command, touches)
        else:
            _EDITS.get(program, _edit)(command, touches)
    elif "vcs" in labels:
        if program == "git":
            _git(command, touches)
    elif "fileop" in labels:
        _file_operation(command, touches)
    elif "script" in labels:
        for word in command.arguments if program == "python" else ():
            if word[:1] != "-":
                touches.add(word, RUN)
                break


def _redirects(command: SimpleCommand, touches: _Touches) -> None:
    text = command.heredoc
    if text is None and command.program == "echo":
        text = " ".join(command.arguments)
    for path, mode in command.redirects:
        touches.add(path, WRITTEN if mode == "write" else CHANGED, None, text if mode == "write" else None)


def _edit(command: SimpleCommand, touches: _Touches) -> None:
    """Formatters and editors: the words that look like files."""
    program = command.program
    if program in INTERPRETERS or program == "python":
        _inline(command, touches)
        return
    for path in operands(program, command.arguments):
        if "." in path.rpartition("/")[2] and path not in (".", ".."):
            touches.add(path, CHANGED)


def _inline(command: SimpleCommand, touches: _Touches) -> None:
    code = command.heredoc
    if code is None:
        words = command.arguments
        code = next((words[i + 1] for i, word in enumerate(words[:-1]) if word in _CODE_FLAGS), None)
    if code is None and command.program == "perl":
        return
    for path, how in paths_of_code(code, command.program) if code is not None else ():
        touches.add(path, how)


def _sed(command: SimpleCommand, touches: _Touches) -> None:
    words = command.arguments
    if len(words) == 3 and words[0] == "-i":
        touches.add(words[2], CHANGED, words[1])
        return
    script = next((word for word in words if word[:1] != "-"), "")
    for path in operands("sed", words):
        touches.add(path, CHANGED, script)


def _perl(command: SimpleCommand, touches: _Touches) -> None:
    if any(word[:1] == "-" and "i" in word for word in command.arguments):
        for path in operands("perl", command.arguments):
            touches.add(path, CHANGED)
    else:
        _inline(command, touches)


def _tee(command: SimpleCommand, touches: _Touches) -> None:
    appends = any(word in ("-a", "--append") for word in command.arguments)
    for path in operands("tee", command.arguments):
        touches.add(path, CHANGED if appends else WRITTEN, None, None if appends else command.heredoc)


def _patch(command: SimpleCommand, touches: _Touches) -> None:
    texts = [command.heredoc] if command.heredoc is not None else [word for word in command.arguments if "\n" in word]
    for path, how in [item for text in texts for item in paths_of_patch(text)]:
        touches.add(path, how)
    if texts:
        return
    words = list(command.arguments)
    if "-i" in words[:-1]:
        touches.add(words[words.index("-i") + 1], APPLIED)
    files = [word for word in words if word[:1] != "-" and word != "apply"]
    if command.stdin_file is not None:
        touches.add(command.stdin_file, APPLIED)
    for path in files if command.program == "git" else files[1:2]:
        touches.add(path, APPLIED)
    if command.program == "patch" and files and "-i" not in words:
        touches.add(files[0], CHANGED)


def _verb(command: SimpleCommand, touches: _Touches) -> None:
    """Verbs of SWE-agent: only ``open`` and ``create`` name the file."""
    program, words = command.program, command.arguments
    if program in _VERBS_WITH_PATH and words:
        touches.add(words[0], _VERBS[program])
    elif program not in ("open", "create"):
        touches.mark(OPEN_FILE, _VERBS[program])


def _editor(command: SimpleCommand, touches: _Touches) -> None:
    """``str_replace_editor view PATH …`` as shell text (SWE-agent 1.x)."""
    words = command.arguments
    if len(words) > 1:
        touches.add(words[1], {"view": SHOWN, "create": WRITTEN, "undo_edit": REVERTED}.get(words[0], CHANGED))


_EDITS: dict[str, Callable[[SimpleCommand, _Touches], None]] = {
    "sed": _sed, "perl": _perl, "tee": _tee, "patch": _patch, "apply_patch": _patch, "applypatch": _patch,
    "git": _patch, "edit": _verb, "insert": _verb, "create": _verb, "append": _verb, "undo_edit": _verb,
    "str_replace": _verb, **dict.fromkeys(_EDITORS, _editor),
}  # fmt: skip


def _file_operation(command: SimpleCommand, touches: _Touches) -> None:
    program = command.program
    for path, mode in command.redirects:
        if mode == "write" and not path.startswith("/dev/"):
            touches.add(path, WRITTEN, None, "")
    words = operands(program, command.arguments)
    if program in _DELETES:
        for path in words:
            touches.add(path, DELETED)
    elif program in ("cp", "mv", "copy", "move") and len(words) > 1:
        _copies(words, touches, moves=program in ("mv", "move"))
    elif program == "touch":
        for path in words:
            touches.add(path, TOUCHED)
    elif program == "truncate":
        for path in words:
            touches.add(path, CHANGED)
    elif program in ("mkdir", "md"):
        for path in words:
            touches.add(path, FOLDER)


def _copies(words: Sequence[str], touches: _Touches, *, moves: bool) -> None:
    *sources, target = words
    into = len(sources) > 1 or target.endswith("/") or target in (".", "..")
    for source in sources:
        name = source.rstrip("/").rpartition("/")[2]
        into_this = into or ("." in name and "." not in target.rpartition("/")[2])
        if moves:
            touches.add(source, DELETED)
        touches.add(f"{target.rstrip('/')}/{name}" if into_this else target, WRITTEN)


def _git(command: SimpleCommand, touches: _Touches) -> None:
    words = command.arguments
    place = 0
    while place < len(words) and words[place][:1] == "-":
        place += 2 if words[place] in _GIT_VALUES else 1
    verb, rest = words[place] if place < len(words) else "", words[place + 1 :]
    handler = _GIT.get(verb)
    if handler is not None:
        handler(rest, command, touches)


def _split(rest: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words before ``--`` that are no flags, and paths after it."""
    words = list(rest)
    after = words[words.index("--") + 1 :] if "--" in words else []
    before = words[: words.index("--")] if "--" in words else words
    plain = [w for i, w in enumerate(before) if w[:1] != "-" and (not i or before[i - 1] not in _GIT_VALUES)]
    return plain, after


def _is_file(word: str) -> bool:
    name = word.rpartition("/")[2]
    return "." in name and name.rpartition(".")[2] in SOURCE_SUFFIXES | {"json", "txt"} and ".." not in word


def _git_diff(rest: Sequence[str], command: SimpleCommand, touches: _Touches) -> None:
    if not _GIT_NAMES.isdisjoint(rest) or any(not path.startswith("/dev/") for path, _ in command.redirects):
        return
    plain, after = _split(rest)
    paths = after or [word for word in plain if _is_file(word)]
    for path in paths:
        touches.add(path, SHOWN)
    if not paths:
        touches.mark(EVERYTHING, SHOWN)


def _git_show(rest: Sequence[str], command: SimpleCommand, touches: _Touches) -> None:
    if command.redirects and any(not path.startswith("/dev/") for path, _ in command.redirects):
        return
    plain, after = _split(rest)
    for path in [word.partition(":")[2] for word in plain if ":" in word] + after:
        touches.add(path, SHOWN)


def _git_blame(rest: Sequence[str], command: SimpleCommand, touches: _Touches) -> None:
    plain, after = _split(rest)
    for path in after or [word for word in plain if _is_file(word)][-1:]:
        touches.add(path, SHOWN)


def _git_checkout(rest: Sequence[str], command: SimpleCommand, touches: _Touches) -> None:
    if "-b" in rest or "-B" in rest or "--staged" in rest:
        return
    plain, after = _split(rest)
    for path in after or plain:
        if path in (".", ":/", "./"):
            touches.mark(EVERYTHING, REVERTED)
        else:
            touches.add(path, REVERTED if after or _is_file(path) else MAYBE_REVERTED)


def _git_reset(rest: Sequence[str], command: SimpleCommand, touches: _Touches) -> None:
    if "--hard" in rest:
        touches.mark(EVERYTHING, REVERTED)


def _git_rm(rest: Sequence[str], command: SimpleCommand, touches: _Touches) -> None:
    plain, after = _split(rest)
    for path in plain + after:
        touches.add(path, DELETED)


def _git_mv(rest: Sequence[str], command: SimpleCommand, touches: _Touches) -> None:
    plain, after = _split(rest)
    if len(plain + after) > 1:
        _copies(plain + after, touches, moves=True)


_GIT: dict[str, Callable[[Sequence[str], SimpleCommand, _Touches], None]] = {
    "diff": _git_diff, "show": _git_show, "blame": _git_blame, "checkout": _git_checkout, "restore": _git_checkout,
    "reset": _git_reset, "rm": _git_rm, "mv": _git_mv,
}  # fmt: skip
