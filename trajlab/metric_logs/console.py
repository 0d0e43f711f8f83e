r"""Console logs of trainers: lines of metrics among everything else that a training job prints.

Ray's prefixes and colours are taken off, progress bars (``\r``) end a line. What is between the lines of metrics is
not read, however much it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from trajlab.metric_logs import Metric, Variant
from trajlab.metric_logs._console_lines import PARSERS, Row, rows_of
from trajlab.metric_logs._trl_steps import with_steps
from trajlab.metric_logs._values import metric
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import HEAD_BYTES, Probe
from trajlab.sources.reading import lines, unreadable

VARIANTS = {
    "verl": Variant(
        "verl and what builds on it: `step:N - name:value - …`; `:.3f` before 0.5, `np.float64(…)` with numpy 2",
        frozenset(),
    ),
    "roll": Variant('ROLL: `metrics_tag: {"step": N, "metrics": {…}}`', frozenset()),
    "slime": Variant("slime: `rollout N: {…}`, `step N: {…}`, `perf N: {…}`, `eval N: {…}`", frozenset()),
    "skyrl": Variant("SkyRL: `Step N:` and a dictionary over several lines", frozenset()),
    "areal": Variant(
        "AReaL: `Epoch a/b Step c/d Train step e/f done.` and a table in box characters; the step counts from 0, as in "
        "its other loggers",
        frozenset(),
    ),
    "trl": Variant(
        "transformers and TRL: `{'loss': …, 'epoch': …}`; the step is the progress bar's, else counted by the epoch",
        frozenset(),
    ),
    "pairs": Variant("loops of one's own: `N/TOTAL | name=value | …`, `step N: name=value, …`", frozenset()),
}

SEARCHED_BYTES = 8 << 20
"""Up to here the first line of metrics is looked for: a job may print for long before its first step."""
_SUFFIXES = frozenset({".log", ".txt", ".out", ".err", ".stdout", ".stderr", ".console", ""})
_RATE = re.compile(r"(?:^|[/_])(?:lr|learning_rate)$")
_ROUNDED_AWAY = re.compile(r"0\.0{2,6}")
"""A learning rate that was printed with three or four decimals (verl up to 0.4, SkyRL): it is not zero but unknown."""
_NUMBERED = re.compile(r"\.\d+$")


def recognise(probe: Probe) -> str | None:
    """By the first line of metrics in a text file that is named as a log."""
    if probe.shape not in ("text", "list", "object") or not _named_as_log(probe.name):
        return None
    found = _first(probe.head)
    if found is None and len(probe.head) >= HEAD_BYTES and probe.compression is None and b"\0" not in probe.head:
        found = _first(_further(probe))
    return found


def _named_as_log(name: str) -> bool:
    stem, suffix = os.path.splitext(_NUMBERED.sub("", name.lower()))  # noqa: PTH122 - asked for every file
    if suffix in (".gz", ".zst", ".xz"):
        suffix = os.path.splitext(stem)[1]  # noqa: PTH122
    return suffix in _SUFFIXES


def _first(text: bytes) -> str | None:
    """The layout whose first line stands first, of the surest that there is."""
    return next((name for name, parser in PARSERS.items() if parser.is_in(text)), None)


def _further(probe: Probe) -> bytes:
    try:
        with Path(probe.file.path).open("rb") as stream:
            return stream.read(SEARCHED_BYTES)
    except OSError as error:
        probe.problems.append(unreadable(error))
        return b""


def read_metrics(bundle: Bundle) -> Iterator[Metric | Problem]:
    """One row for each number of each line of metrics."""
    problems: list[Problem] = []
    rows: Iterator[Row | Problem] = rows_of(bundle.variant, lines(bundle, problems))
    if bundle.variant == "trl":
        rows = with_steps(rows)
    axes: dict[str, set[int]] = {}
    for row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        if row.step is None:
            continue
        axes.setdefault(row.kind, set()).add(row.step)
        for name, value in row.pairs:
            if _RATE.search(name) and isinstance(value, str) and _ROUNDED_AWAY.fullmatch(value):
                yield Metric(row.step, name, None, row.line, value)
            elif (found := metric(row.step, name, value, row.line)) is not None:
                yield found
    if "step" in axes and "rollout" in axes and len(axes["step"]) > 1.5 * len(axes["rollout"]):
        message = (
            f"{len(axes['step']):,} steps of the optimizer in {len(axes['rollout']):,} rollouts: the metrics of both "
            "are given by their own number"
        )
        yield Problem("metrics_axes", message)
    yield from problems
