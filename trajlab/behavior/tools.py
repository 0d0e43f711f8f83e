"""Tools of the scaffolds: which are shells, and what the others do.

Vocabulary as data, by the tools' own definitions (SWE-agent, mini-swe-agent, OpenHands V0 and V1, Terminus,
Claude Code, Codex, Gemini CLI, Cline, Copilot CLI, Cursor, Droid, opencode, Pi, Inspect, R2E-Gym). Names are compared
without case; where the same name means different things, the arguments decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from trajlab.behavior.inline_code import writes_in_plain_sight
from trajlab.behavior.shell import label_command
from trajlab.behavior.verdicts import SimpleCommand
from trajlab.records import ToolCall

KINDS = {
    "shell": (
        "bash shell sh execute_bash terminal run_shell_command execute_command exec_command bash_command "
        "bash_session "
        "run_command run_terminal_cmd run_in_terminal run_bash cmd local_shell container.exec "
        "shell_command exec write_bash "
        "unified_exec write_stdin execute computer_terminal run_terminal_command launch-process swe_shell"
    ),
    "python": (
        "execute_ipython_cell python ipython code_interpreter run_python jupyter execute_python "
        "run_ipython notebook_run"
    ),
    "read": (
        "read open goto scroll_up scroll_down view view_image filemap read_file read_many_files "
        "view_file view_code readlints "
        "notebookread open_file read_text_file list_code_definition_names readfile cat_file"
    ),
    "search": (
        "grep glob find_file search_dir search_file search_files grep_search search_file_content "
        "list_directory list_files "
        "list_dir ls search codebase_search file_search find_files find_by_name list_allowed_directories "
        "search_code globtool find list semanticsearch semsearch codesearch "
        "greptool search_text"
    ),
    "edit": (
        "edit multiedit write notebookedit create insert edit_file write_file replace write_to_file "
        "replace_in_file apply_patch "
        "str_replace create_file insert_content apply_diff search_replace search_and_replace undo_edit "
        "append_file "
        "replace_file_content multi_replace_file_content edit_notebook edit_block patch "
        "str_replace_based_edit strreplace applypatch editnotebook"
    ),
    "fileop": "delete delete_file move_file create_directory rename_file copy_file remove_file",
    "editor": "str_replace_editor file_editor text_editor str_replace_based_edit_tool oh_editor editor file_edit",
    "think": "think thinking think_tool thought sequentialthinking sequential_thinking scratchpad",
    "plan": (
        "plan update_plan todo todowrite todoread todo_write write_todos update_todo_list manage_todo_list "
        "task_tracker focus_chain taskcreate taskupdate tasklist taskget plan_mode_respond enterplanmode "
        "exitplanmode save_memory update_todo"
    ),
    "submit": (
        "submit finish exit_forfeit attempt_completion mark_task_complete complete_task task_complete "
        "done submit_answer exit"
    ),
    "web": (
        "webfetch websearch web_search web_fetch google_web_search fetch browse browser browser_action "
        "browse_interactive fetchurl"
    ),
    "delegate": "task agent delegate new_task spawn_agent dispatch_agent",
    "control": (
        "bashoutput killshell kill_shell list_bash_processes wait send_message ask_followup_question "
        "ask_user askuser question request_condensation read_bash stop_bash list_bash report_intent await"
    ),
}
"""Kind of tool to the names the scaffolds give it.

``think`` only records a thought; ``plan`` keeps a list, a plan or a memory, which later turns read.
"""

KIND_OF_TOOL = {name: kind for kind, names in KINDS.items() for name in names.split()}

SHELL_ARGUMENTS = (
    "command",
    "cmd",
    "keystrokes",
    "CommandLine",
    "commandLine",
    "command_line",
    "input",
    "script",
    "code",
    "text",
    "chars",
)
"""Argument that holds a shell call's text, most telling first."""

CODE_ARGUMENTS = ("code", "python_code", "source", "input", "script", "cell")

EDITOR_COMMANDS = {
    "view": "read",
    "create": "edit",
    "str_replace": "edit",
    "insert": "edit",
    "undo_edit": "edit",
    "search": "search",
    "think": "",
    "write": "edit",
    "edit": "edit",
    "append": "edit",
    "replace": "edit",
    "read": "read",
}
"""What an editor tool's ``command`` does."""

LABELS = {
    "read": "read",
    "search": "search",
    "edit": "edit",
    "fileop": "fileop",
    "submit": "submit",
    "python": "inline",
}
NOTHING_DONE = frozenset({"think", "plan"})
"""Kinds that the codebook has no label for: nothing is executed, shown or changed."""
NO_LABELS: frozenset[str] = frozenset()
OTHER = frozenset({"other"})
_INLINE = frozenset({"inline"})
_WRITES = frozenset({"inline", "edit"})


@lru_cache(maxsize=512)
def kind_of_tool(tool: str | None) -> str | None:
    """Return the kind of a tool; ``None`` for a name no scaffold is known to use.

    Prefixes of a server (``mcp__files__read``, ``functions.shell``) are ignored.
    """
    if not tool:
        return None
    name = tool.strip().lower()
    kind = KIND_OF_TOOL.get(name)
    if kind is None:
        short = name.rpartition("__")[2] if "__" in name else name.rpartition(".")[2] if "." in name else name
        kind = KIND_OF_TOOL.get(short) or KIND_OF_TOOL.get(short.replace("-", "_"))
    return kind


def shell_text(tool: str | None, arguments: Mapping[str, Any] | Sequence[str] | str | None) -> str | None:
    """Return the shell text of a call.

    Args:
        tool: Name as logged.
        arguments: The call's arguments, or the text in their place.

    Returns:
        The text given to a shell (``["bash", "-lc", script]`` is the script); ``None`` where the tool is no
        shell or no command is recorded.
    """
    if kind_of_tool(tool) != "shell":
        return None
    if arguments.__class__ is dict or isinstance(arguments, Mapping):
        text = arguments.get("command")
        if text.__class__ is str:
            return text
        for name in SHELL_ARGUMENTS:
            text = _as_text(arguments.get(name))
            if text is not None:
                return text
        action = arguments.get("action")
        return shell_text(tool, action) if isinstance(action, Mapping) else None
    return _as_text(arguments)


def _as_text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        words = [str(word) for word in value]
        if len(words) >= 3 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and _gives_script(words[1]):
            return words[2]
        return " ".join(_quoted(word) for word in words)
    return None


def _gives_script(flag: str) -> bool:
    return flag[:1] == "-" and flag.endswith("c") and flag[1:].isalpha()


def _quoted(word: str) -> str:
    plain = word and all(character.isalnum() or character in "-_./=:,@%+" for character in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def labels_of_tool(
    tool: str | None, arguments: Mapping[str, Any] | Sequence[str] | str | None = None
) -> frozenset[str]:
    """Return the codebook's labels of a call, shell or not.

    Returns:
        Labels as :func:`trajlab.behavior.shell.label_command` gives them; empty for tools that only record a
        thought or a plan, and ``other`` for what fits no row (also for unknown tools).
    """
    kind = kind_of_tool(tool)
    if kind == "shell":
        text = shell_text(tool, arguments)
        return label_command(text) if text is not None else OTHER
    if kind in NOTHING_DONE:
        return NO_LABELS
    if kind == "editor":
        command = arguments.get("command") if isinstance(arguments, Mapping) else None
        label = EDITOR_COMMANDS.get(str(command), "other")
        return frozenset({label}) if label else NO_LABELS
    if kind == "python":
        return _python_labels(arguments)
    return frozenset({LABELS.get(kind or "", "other")})


def _python_labels(arguments: Mapping[str, Any] | Sequence[str] | str | None) -> frozenset[str]:
    code = arguments if isinstance(arguments, str) else None
    if arguments.__class__ is dict or isinstance(arguments, Mapping):
        for name in CODE_ARGUMENTS:
            if isinstance(found := arguments.get(name), str):
                code = found
                break
    if code is None:
        return _INLINE
    if "!" in code:
        lines = [line for line in map(str.lstrip, code.splitlines()) if line and line[0] != "#"]
        if lines and all(line[0] == "!" for line in lines):
            return label_command("\n".join(line[1:] for line in lines))
    code += "\n"
    writes = writes_in_plain_sight(code)
    if writes is not None:
        return _WRITES if writes else _INLINE
    return label_command(f"python - <<'TRAJLAB_CODE'\n{code}TRAJLAB_CODE\n")


__all__ = ["KIND_OF_TOOL", "SimpleCommand", "kind_of_tool", "labels_of_tool", "shell_text"]


def decoded_arguments(call: ToolCall) -> dict[str, Any] | str | None:
    """Arguments of a call: a text that holds a JSON object decoded, any other text as it is."""
    arguments = call.arguments
    if not isinstance(arguments, str):
        return arguments
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):  # not JSON, a lone surrogate, nested too deeply
        return arguments
    return value if isinstance(value, dict) else arguments
