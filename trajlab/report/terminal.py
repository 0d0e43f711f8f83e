"""Plain text for a terminal: what a command does, and how right the labels are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from trajlab.behavior.rules import RULES_VERSION
from trajlab.behavior.shell import labels_of
from trajlab.behavior.verdicts import SimpleCommand
from trajlab.report.text import visible
from trajlab.schema import LABELS

if TYPE_CHECKING:
    from trajlab.measures.accuracy import Accuracy
    from trajlab.stats import Estimate

MAX_CELL = 60
"""Characters of a word, a path or a command that are shown in a line."""
NONE = "-"


def columns(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> list[str]:
    """Rows under their head, aligned; columns named in ``right`` are flush right."""
    cells = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
    lines = []
    for row in cells:
        padded = [
            text.rjust(width) if name in right else text.ljust(width)
            for text, width, name in zip(row, widths, head, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def shortened(text: str, limit: int = MAX_CELL) -> str:
    """One line of visible characters, cut with an ellipsis."""
    line = visible(" ".join(text[: 4 * limit].split()))
    return line if len(line) <= limit and len(text) <= 4 * limit else line[: limit - 1] + "…"


def explanation(commands: Sequence[SimpleCommand]) -> str:
    """Each simple command in order, a line for every label with the rule that gave it."""
    rows: list[tuple[str, ...]] = []
    for number, command in enumerate(commands, 1):
        rules = command.rules or (("(filter)" if command.is_filter else "(none)", NONE),)
        around = " > ".join(command.wrappers) or NONE
        wrote = " ".join((">>" if mode == "append" else ">") + shortened(path) for path, mode in command.redirects)
        for place, (label, rule) in enumerate(rules):
            first = place == 0
            rows.append(
                (
                    str(number) if first else "",
                    (shortened(command.program) or NONE) if first else "",
                    label,
                    shortened(rule),
                    (command.scope or NONE) if first else "",
                    shortened(around) if first else "",
                    (wrote or NONE) if first else "",
                    shortened(" ".join(command.arguments)) if first else "",
                )
            )
    head = ("#", "program", "label", "rule", "scope", "wrappers", "redirects", "arguments")
    together = labels_of(tuple(commands))
    said = ", ".join(label for label in LABELS if label in together)
    return "\n".join([*columns(head, rows, ("#",)), "", f"labels: {said} (rules {RULES_VERSION})"])


def explanation_dict(commands: Sequence[SimpleCommand]) -> dict[str, Any]:
    """The explanation as plain JSON values."""
    together = labels_of(tuple(commands))
    return {
        "rules_version": RULES_VERSION,
        "labels": [label for label in LABELS if label in together],
        "commands": [
            {
                "program": command.program,
                "arguments": list(command.arguments),
                "labels": [label for label in LABELS if label in command.labels],
                "rules": [{"label": label, "rule": rule} for label, rule in command.rules],
                "scope": command.scope,
                "is_filter": command.is_filter,
                "wrappers": list(command.wrappers),
                "redirects": [{"path": path, "mode": mode} for path, mode in command.redirects],
                "stdin_file": command.stdin_file,
                "heredoc": command.heredoc,
                "depth": command.depth,
                "pipeline": command.pipeline,
            }
            for command in commands
        ],
    }


def accuracy_text(found: Accuracy) -> str:
    """Totals, a line for each label, and every confusion with its first commands."""
    lines = [
        f"commands     {found.commands:,} (rules {found.rules}; intervals 95 %)",
        f"exact match  {found.exact}",
        f"micro F1     {without_count(found.micro_f1)}",
        "",
        *columns(ACCURACY_HEAD, accuracy_rows(found), ("commands",)),
        "",
    ]
    if not found.confusions:
        return "\n".join([*lines, "confusions: none"])
    lines.append("confusions (gold -> found):")
    for confusion in found.confusions:
        lines.append(f"{confusion.count:>5}  {', '.join(confusion.gold)} -> {', '.join(confusion.found)}")
        lines += [f"       line {row.line}: {shortened(row.command, 90)}" for row in confusion.examples]
    return "\n".join(lines)


ACCURACY_HEAD = ("label", "commands", "precision", "recall", "F1")


def accuracy_rows(found: Accuracy) -> list[tuple[str, ...]]:
    """A row for each label under `ACCURACY_HEAD`."""
    return [
        (row.label, f"{row.support:,}", str(row.precision), str(row.recall), without_count(row.f1))
        for row in found.labels
    ]


def without_count(estimate: Estimate) -> str:
    """Value and interval; an F1 has no count of its own."""
    return str(estimate) if estimate.value is None else str(estimate).partition("]")[0] + "]"
