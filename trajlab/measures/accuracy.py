"""How right the command labels are: against commands that people labelled by the codebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trajlab.behavior.shell import RULES_VERSION, label_command
from trajlab.errors import UsageError, read_named
from trajlab.schema import LABELS
from trajlab.stats import Estimate, not_observed, proportion

LabelSet = tuple[str, ...]
"""Labels in the order of the codebook."""

EXAMPLES = 3
"""Commands kept for each confusion."""
_AS_F1 = "Wilson of hits / (hits + false + missed), taken to F1"


class GoldCommand(msgspec.Struct, frozen=True):
    """A command with the labels that a person gave it."""

    line: int
    """Line of the gold file, from 1."""
    command: str
    labels: LabelSet


class LabelAccuracy(msgspec.Struct, frozen=True):
    """How well one label is found."""

    label: str
    support: int
    """Commands that have it in the gold file."""
    found: int
    """Commands that the rules gave it to."""
    hits: int
    """Commands with it in both."""
    precision: Estimate
    """hits / found; not observed where it was never given."""
    recall: Estimate
    """hits / support; not observed where the gold file has none."""
    f1: Estimate
    """2 hits / (found + support); not observed where there is neither."""


class Confusion(msgspec.Struct, frozen=True):
    """Commands of one gold label set that got one other label set."""

    gold: LabelSet
    found: LabelSet
    count: int
    examples: tuple[GoldCommand, ...]
    """The first of them, in the file's order."""


class Accuracy(msgspec.Struct, frozen=True):
    """Accuracy of the labels over one gold file; every interval is 95 %."""

    commands: int
    rules: str
    """Version of the rules that were judged."""
    exact: Estimate
    """Commands whose label set is exactly the gold one."""
    micro_f1: Estimate
    """F1 over all labels of all commands together, clustered by command."""
    labels: tuple[LabelAccuracy, ...]
    """One entry for each label of the codebook, in its order."""
    confusions: tuple[Confusion, ...]
    """Most frequent first, then in the file's order."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def read_gold(path: str | Path) -> list[GoldCommand]:
    """Read a gold file: JSONL with ``command`` and ``labels``; other keys are ignored, empty lines skipped.

    Raises:
        UsageError: The file is missing, is no UTF-8 or holds no command, or a line is no JSON object, has no command
            or no labels, or has a label that the codebook does not know; the error names the line.
    """
    try:
        text = read_named(Path(path)).decode()
    except (FileNotFoundError, IsADirectoryError) as error:
        raise UsageError(str(path), "no such file", "a JSONL file of labelled commands") from error
    except OSError as error:
        raise UsageError(str(path), error.strerror or str(error), "a JSONL file of labelled commands") from error
    except UnicodeDecodeError as error:
        raise UsageError(str(path), f"bytes that are no UTF-8 at {error.start}", "a JSONL file in UTF-8") from error
    lines = enumerate(text.removeprefix("\ufeff").split("\n"), 1)
    rows = [_gold_command(f"{path}:{number}", number, line) for number, line in lines if line.strip()]
    if not rows:
        raise UsageError(str(path), "no commands", "a line {'command': …, 'labels': […]} for each command")
    return rows


def _gold_command(place: str, number: int, line: str) -> GoldCommand:
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise UsageError(place, f"no JSON ({error})", "one JSON object a line") from error
    if not isinstance(row, dict):
        raise UsageError(place, f"a {type(row).__name__}", "a JSON object")
    command, labels = row.get("command"), row.get("labels")
    if not isinstance(command, str):
        raise UsageError(place, "no command", "a string 'command'")
    if not isinstance(labels, list) or not labels:
        raise UsageError(place, "no labels", "a list 'labels' with at least one label ('other' where nothing fits)")
    unknown = [label for label in labels if label not in LABELS]
    if unknown:
        raise UsageError(place, f"unknown label {unknown[0]!r}", "one of " + ", ".join(LABELS))
    return GoldCommand(number, command, in_order(labels))


def in_order(labels: Sequence[str] | frozenset[str]) -> LabelSet:
    """The distinct labels in the order of the codebook."""
    return tuple(label for label in LABELS if label in labels)


def accuracy(gold: Sequence[GoldCommand], label: Callable[[str], frozenset[str]] = label_command) -> Accuracy:
    """Judge the labels of commands against gold labels.

    Precision, recall and exact match are proportions of commands with Wilson's interval. F1 = 2J / (1 + J) grows
    with J = hits / (hits + false + missed), which is a proportion too: its interval is that of J carried over. So an F1
    of 1 has a lower end below 1, which a bootstrap could not give. For micro F1 the decisions about one command are
    a cluster, as one mistake often costs two labels.

    Args:
        gold: Commands with their labels.
        label: What is judged.

    References:
        Wilson 1927, doi:10.1080/01621459.1927.10502953; F1 and J: van Rijsbergen 1979, Information Retrieval, ch. 7.
    """
    pairs = [(row, row.labels, in_order(label(row.command))) for row in gold]
    decisions = [
        (number, name in wanted and name in found)
        for number, (_, wanted, found) in enumerate(pairs)
        for name in in_order((*wanted, *found))
    ]
    return Accuracy(
        commands=len(pairs),
        rules=RULES_VERSION,
        exact=proportion(np.array([wanted == found for _, wanted, found in pairs], dtype=float)),
        micro_f1=_f1([hit for _, hit in decisions], [number for number, _ in decisions]),
        labels=tuple(_label_accuracy(name, pairs) for name in LABELS),
        confusions=_confusions(pairs),
    )


def _label_accuracy(label: str, pairs: Sequence[tuple[GoldCommand, LabelSet, LabelSet]]) -> LabelAccuracy:
    counts = Counter((label in wanted, label in found) for _, wanted, found in pairs)
    hits, missed, false = counts[True, True], counts[True, False], counts[False, True]
    return LabelAccuracy(
        label=label,
        support=hits + missed,
        found=hits + false,
        hits=hits,
        precision=proportion(_ones(hits, false)),
        recall=proportion(_ones(hits, missed)),
        f1=_f1([True] * hits + [False] * (missed + false)),
    )


def _ones(ones: int, zeros: int) -> list[float]:
    return [1.0] * ones + [0.0] * zeros


def _f1(hits: Sequence[bool], clusters: Sequence[int] | None = None) -> Estimate:
    """F1 of decisions, each about a label that the gold file or the rules gave."""
    if not hits:
        return not_observed()
    jaccard = proportion([float(hit) for hit in hits], clusters)
    count = float(sum(hits))
    total = count + len(hits)  # 2 hits + false + missed = found + support

    def carried(share: float | None) -> float | None:
        return None if share is None else 2 * share / (1 + share)

    method = _AS_F1 if clusters is None else f"{_AS_F1}, clustered by command"
    return Estimate(
        2 * count / total, carried(jaccard.low), carried(jaccard.high), 2 * count, total, method, jaccard.clusters
    )


def _confusions(pairs: Sequence[tuple[GoldCommand, LabelSet, LabelSet]]) -> tuple[Confusion, ...]:
    rows: dict[tuple[LabelSet, LabelSet], list[GoldCommand]] = {}
    for row, wanted, found in pairs:
        if wanted != found:
            rows.setdefault((wanted, found), []).append(row)
    confusions = [Confusion(gold, found, len(own), tuple(own[:EXAMPLES])) for (gold, found), own in rows.items()]
    return tuple(sorted(confusions, key=lambda confusion: -confusion.count))
