"""The short way to a verdict, for commands whose program's name says everything."""

from __future__ import annotations

from trajlab.behavior.filters import printed, prints_heredoc, reads_stdin
from trajlab.behavior.interpreters import source_file
from trajlab.behavior.names import program_of
from trajlab.behavior.programs import HANDLERS, SED_IN_PLACE
from trajlab.behavior.raw_command import RawCommand
from trajlab.behavior.rules import CONSTANT, FILTERS, FLAG_LABELS, WRAPPER_HEADS
from trajlab.behavior.subcommand_rules import PACKAGE_MANAGERS, SUBCOMMANDS, TARGET_RUNNERS
from trajlab.behavior.verdicts import NOTHING, SimpleCommand, Verdict, judged_command, verdict

PLAIN = {
    name: verdict(label, f"program/{name}")
    for name, label in CONSTANT.items()
    if name not in FLAG_LABELS
    and name not in SUBCOMMANDS
    and name not in HANDLERS
    and name not in WRAPPER_HEADS
    and name not in PACKAGE_MANAGERS
    and name not in TARGET_RUNNERS
    and program_of(name) == (name, False)
}
"""Programs whose name alone says everything: the short way for most commands."""


def _sed_edits(words: list[str]) -> Verdict:
    for word in words:
        if word[0:1] == "-" and SED_IN_PLACE.match(word):
            return SED_EDITS
    return SED_READS


SED_EDITS = verdict("edit", "flag/sed -i")
SED_READS = verdict("read", "program/sed")


def classify_plain(raw: RawCommand, words: list[str], depth: int) -> SimpleCommand | None:
    """Judge a command the short way; ``None`` where its name alone does not tell."""
    name = words[0]
    judged = PLAIN.get(name)
    if judged is None:
        if name == "sed":
            judged = _sed_edits(words)
        elif (name == "python" or name == "python3") and len(words) == 2 and words[1].endswith(".py"):
            name = "python"
            script = source_file(name, words[1], ())
            judged = script if isinstance(script, tuple) and words[1][0] != "-" else None
        if judged is None:
            return None
    if len(words) > 1 and ("--help" in words or "--version" in words):
        return None
    is_filter = False
    if raw.piped_in and name in FILTERS and reads_stdin(name, words):
        is_filter = True
        if "edit" not in judged[0]:
            judged = NOTHING
    elif (raw.heredoc is not None or raw.here_string is not None) and prints_heredoc(raw, name, words):
        judged = printed(raw) if "edit" not in judged[0] else judged
    return judged_command(raw, name, words, judged, is_filter, depth)
