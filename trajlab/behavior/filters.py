"""Filters: programs that read standard input where no file is named, and what they show then."""

from __future__ import annotations

from collections.abc import Sequence

from trajlab.behavior.program_rules import MARKERS
from trajlab.behavior.raw_command import RawCommand
from trajlab.behavior.rules import FILTERS
from trajlab.behavior.verdicts import Verdict, other, verdict


def prints_heredoc(raw: RawCommand, name: str, words: list[str]) -> bool:
    """A filter that works on text given in the command shows no file."""
    return (raw.heredoc is not None or raw.here_string is not None) and name in FILTERS and reads_stdin(name, words)


PRINTS = other("program/prints its heredoc")


def printed(raw: RawCommand) -> Verdict:
    """What printing a text given in the command does: nothing, or ending the task."""
    first = (raw.heredoc or raw.here_string or "").lstrip().partition("\n")[0].strip()
    return verdict("submit", "marker") if first in MARKERS else PRINTS


def reads_stdin(name: str, words: Sequence[str]) -> bool:
    """Whether a filter names no file, so that it works on standard input."""
    scripts, values = FILTERS[name]
    if scripts == 9:
        return True
    index, count, operands = 1, len(words), 0
    while index < count:
        word = words[index]
        index += 1
        if word[:1] == "-" and len(word) > 1:
            if word in values:
                index += 1
                if scripts and word in ("-e", "-f", "--expression", "--regexp", "--file"):
                    scripts = 0
            elif (
                name in ("grep", "rg", "ag", "ack")
                and word[1:2] != "-"
                and ("r" in word or "R" in word)
                and name == "grep"
            ):
                return False
            elif scripts and word[1:2] != "-" and word[-1] in "eE" and name in ("sed", "perl", "grep"):
                index += 1
                scripts = 0
        elif word != "-":
            operands += 1
    return operands <= scripts
