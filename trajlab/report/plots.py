"""Figures for reports. They receive numbers and never compute statistics."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trajlab.report.svg import BACKGROUND, INK, LINE, MUTED, SERIES, drawing, inline, label
from trajlab.report.tables import EstimateLike, counted, interval, is_share, number
from trajlab.report.text import Html
from trajlab.stats import per_cent

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

WIDTH = 960
"""Width of a figure in CSS pixels."""

PANEL_HEIGHT = 190
"""Height of a small panel, with room for a title of two lines."""

Estimates = Sequence[EstimateLike | None]


def bars(
    labels: Sequence[object],
    estimates: Estimates,
    *,
    title: str,
    unit: str = "auto",
    axis: str = "",
    caption: object = "",
    alt: str = "",
) -> Html:
    """One row per label: a dot at the value, a whisker for its interval, number and n beside it.

    Args:
        labels: Names of the rows, from the top.
        estimates: One per label; ``None`` or a null value is written *not observed*.
        title: Name of the figure.
        unit: ``share``, ``number``, or ``auto``: as the estimates say.
        axis: Name and unit of the axis.
        caption: Text below the figure.
        alt: What the figure shows, in words; by default all labels with their numbers.
    """
    share = _all_shares(estimates, unit)
    with drawing(WIDTH, 46 + 27 * max(len(labels), 1) + (18 if axis else 0)) as figure:
        axes = figure.add_subplot()
        for row, estimate in enumerate(estimates):
            _dot_and_whisker(axes, row, estimate, share)
        axes.set_yticks(range(len(labels)), [label(text) for text in labels])
        axes.set_ylim(max(len(labels), 1) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0, labelcolor=INK, pad=8)
        axes.spines["left"].set_visible(False)
        _value_axis(axes.xaxis, share, axis)
        _value_limits(axes, "x", estimates, share)
        shown = alt or _spoken(zip(map(label, labels), estimates, strict=True), share)
        return inline(figure, title, shown, caption)


def _dot_and_whisker(axes: Axes, row: int, estimate: EstimateLike | None, share: bool) -> None:
    beside = {"xycoords": axes.get_yaxis_transform(), "xytext": (10, 0), "textcoords": "offset points"}
    if estimate is None or estimate.value is None:
        axes.annotate("not observed", (1, row), va="center", color=MUTED, style="italic", **beside)  # type: ignore[arg-type]
        return
    if estimate.low is not None and estimate.high is not None:
        axes.plot([estimate.low, estimate.high], [row, row], color=SERIES[0], alpha=0.4, linewidth=5,
                  solid_capstyle="round")  # fmt: skip
    axes.plot([estimate.value], [row], "o", color=SERIES[0], markersize=8)
    text = f"{number(estimate.value, share)}  {counted(estimate, share)}"
    axes.annotate(text, (1, row), va="center", color=MUTED, size=11.5, **beside)  # type: ignore[arg-type]


def small_multiples(
    series: Mapping[str, Estimates],
    periods: Sequence[object],
    *,
    title: str,
    unit: str = "auto",
    columns: int = 3,
    caption: object = "",
    alt: str = "",
    unseen: str = "not observed",
) -> Html:
    """One small panel per measure over the same periods: line, band of intervals, gaps for what is not known.

    Args:
        series: Measure -> one estimate per period, ``None`` where it was not observed.
        periods: Names of the periods, in order.
        title: Name of the figure.
        unit: As in `bars`, for each panel by itself under ``auto``.
        columns: Panels in a row.
        caption: Text below the figure.
        alt: What the figure shows; by default first and last value of each measure.
        unseen: What a panel without any value says.
    """
    rows = max(1, -(-len(series) // columns))
    with drawing(WIDTH, PANEL_HEIGHT * rows, layout=None) as figure:
        grid = panel_grid(figure, rows, columns)
        for panel, (name, estimates) in zip(grid.flat, series.items(), strict=False):
            _panel(panel, name, estimates, periods, unit, unseen)
        for panel in list(grid.flat)[len(series) :]:
            panel.set_visible(False)
        spoken = [
            _spoken(
                [(label(periods[place]), estimates[place]) for place in (0, -1)],
                _all_shares(estimates, unit),
                name,
                unseen,
            )
            for name, estimates in series.items()
            if estimates
        ]
        return inline(figure, title, alt or " ".join(spoken), caption)


def panel_grid(figure: Figure, rows: int, columns: int) -> np.ndarray[Any, Any]:
    """Panels at fixed places: solving a constrained layout for 36 of them takes seconds."""
    width, height = WIDTH / columns, PANEL_HEIGHT
    beside, above, below = 64, 42, 30
    figure.subplots_adjust(
        left=(beside - 8) / WIDTH,
        right=1 - 22 / WIDTH,
        top=1 - above / (height * rows),
        bottom=below / (height * rows),
        wspace=beside / (width - beside),
        hspace=(above + below) / (height - above - below),
    )
    return figure.subplots(rows, columns, squeeze=False)


def panel_title(axes: Axes, name: object, columns: int = 3) -> None:
    """The name of a panel in at most two lines; the part that fits on neither is cut, and the cut is seen."""
    room = int((WIDTH / columns - 30) / 6.9)
    lines = wrapped(name, room)
    axes.set_title("\n".join(lines), pad=8, linespacing=1.15)


def wrapped(text: object, room: int, lines: int = 2) -> list[str]:
    """A text broken at spaces into lines of at most ``room`` columns; CJK characters take two."""
    words = re.findall(r"[^\s\u2e80-\uffff]+\s*|[\u2e80-\uffff]\s*", label(text, 200)) or [""]
    found = [""]
    for word in words:
        if columns_of(found[-1] + word.rstrip()) <= room or not found[-1]:
            found[-1] += word
        elif len(found) < lines:
            found.append(word)
        else:
            found[-1] = found[-1].rstrip() + "…"
            break
    return [label(line, room) for line in found]


def columns_of(text: str) -> int:
    """Width of a text in columns of a Latin letter."""
    return sum(2 if ord(character) > 0x2E7F else 1 for character in text)


def period_ticks(axes: Axes, periods: Sequence[object], columns: int = 3) -> None:
    """Names below the periods: as many as fit beside each other, the first among them."""
    names = [label(text, 16) for text in periods]
    room = (WIDTH / columns - 64) / 7.2
    widest = max(map(columns_of, names), default=1) + 2
    step = max(1, -(-len(names) * widest // max(1, int(room))))
    axes.set_xlim(-0.4, max(len(names), 1) - 0.6)
    axes.set_xticks(range(0, len(names), step), names[::step])


def _panel(axes: Axes, name: str, estimates: Estimates, periods: Sequence[object], unit: str, unseen: str) -> None:
    share = _all_shares(estimates, unit)
    panel_title(axes, name)
    period_ticks(axes, periods)
    _value_axis(axes.yaxis, share, "")
    if not any(estimate is not None and estimate.value is not None for estimate in estimates):
        axes.text(0.5, 0.5, unseen, transform=axes.transAxes, ha="center", va="center", color=MUTED,
                  style="italic")  # fmt: skip
        axes.set_yticks([])
        return
    missing = float("nan")
    values, lows, highs = (
        [
            missing if estimate is None or getattr(estimate, end) is None else getattr(estimate, end)
            for estimate in estimates
        ]
        for end in ("value", "low", "high")
    )
    places = list(range(len(values)))
    axes.fill_between(places, lows, highs, color=SERIES[0], alpha=0.18, linewidth=0)
    axes.vlines(places, lows, highs, color=SERIES[0], alpha=0.35, linewidth=1.5)
    axes.plot(places, values, "o-", color=SERIES[0], markersize=4.5 if len(places) <= 40 else 2, linewidth=1.6)
    _value_limits(axes, "y", estimates, share, whole=False)


def histogram(
    counts: Sequence[int],
    edges: Sequence[float],
    *,
    title: str,
    axis: str = "",
    caption: object = "",
    alt: str = "",
) -> Html:
    """Counts between edges; the width of a bar is the width of its bin.

    Args:
        counts: One per bin.
        edges: One more than ``counts``, rising.
        title: Name of the figure.
        axis: What is counted, with its unit.
        caption: Text below the figure.
        alt: What the figure shows; by default every bin with its count.
    """
    from matplotlib.ticker import MaxNLocator

    with drawing(WIDTH, 220) as figure:
        axes = figure.add_subplot()
        widths = [high - low for low, high in itertools.pairwise(edges)]
        axes.bar(edges[:-1], counts, widths, align="edge", color=SERIES[0], edgecolor=BACKGROUND, linewidth=1)
        axes.grid(axis="y")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.set_xlabel(label(axis, 90), loc="left")
        axes.yaxis.set_major_formatter(lambda value, _: number(value))
        bins = (
            f"{number(low)} to {number(high)}: {count:,}"
            for count, low, high in zip(counts, edges, edges[1:], strict=False)
        )
        return inline(figure, title, alt or f"n {sum(counts):,}. {'; '.join(bins)}", caption)


def stacked_shares(
    labels: Sequence[object],
    parts: Mapping[str, Sequence[float | None]],
    *,
    title: str,
    n: Sequence[int] | None = None,
    caption: object = "",
    alt: str = "",
    unseen: str = "not observed",
) -> Html:
    """One bar per label, split into parts that are shares of one whole.

    Args:
        labels: Names of the bars, from the top.
        parts: Part -> its share in each bar, from 0 to 1; ``None`` where it was not observed.
        title: Name of the figure.
        n: Denominator of each bar.
        caption: Text below the figure.
        alt: What the figure shows; by default every share.
        unseen: What a bar without any part says.
    """
    with drawing(WIDTH, 62 + 30 * max(len(labels), 1)) as figure:
        axes = figure.add_subplot()
        start = [0.0] * len(labels)
        for place, (name, shares) in enumerate(parts.items()):
            known = [share or 0.0 for share in shares]
            axes.barh(range(len(labels)), known, left=start, height=0.68, color=SERIES[place % len(SERIES)],
                      edgecolor=BACKGROUND, linewidth=1.5, label=label(name, 30),
                      alpha=1 if place < len(SERIES) else 0.55)  # fmt: skip
            _written_in(axes, start, known)
            start = [before + share for before, share in zip(start, known, strict=True)]
        names = [label(text) + (f"  n {n[row]:,}" if n else "") for row, text in enumerate(labels)]
        empty = [row for row in range(len(labels)) if all(s[row] is None for s in parts.values())]
        _stacked_axes(axes, names, empty, unseen)
        shown = (
            f"{label(text)}: " + ", ".join(f"{name} {number(shares[row], True)}" for name, shares in parts.items())
            for row, text in enumerate(labels)
        )
        return inline(figure, title, alt or ". ".join(shown), caption)


def _written_in(axes: Axes, start: Sequence[float], shares: Sequence[float]) -> None:
    """The share itself, in parts wide enough to hold it."""
    for row, share in enumerate(shares):
        if share >= 0.07:
            middle = start[row] + share / 2
            axes.text(middle, row, f"{per_cent(share, 0)} %", ha="center", va="center", color=BACKGROUND, size=11)


def _stacked_axes(axes: Axes, names: Sequence[str], empty: Sequence[int], unseen: str) -> None:
    for row in empty:
        axes.text(0.01, row, unseen, va="center", color=MUTED, style="italic")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.tick_params(axis="y", length=0, labelcolor=INK, pad=8)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.set_xticks([])
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6, borderaxespad=0.2, handlelength=0.9,
                handleheight=0.9, columnspacing=1.4, handletextpad=0.5, fontsize=11.5)  # fmt: skip


def _all_shares(estimates: Estimates, unit: str) -> bool:
    known = [estimate for estimate in estimates if estimate is not None and estimate.value is not None]
    return bool(known) and all(is_share(estimate, unit) for estimate in known)


def _value_axis(axis: Axis, share: bool, name: str) -> None:
    axis.grid(True)
    axis.set_tick_params(length=0)
    axis.set_major_formatter(lambda value, _: f"{number(round(100 * value, 6))} %" if share else number(value))
    if name:
        axis.set_label_text(label(name, 90))


def _value_limits(axes: Axes, which: str, estimates: Estimates, share: bool, whole: bool = True) -> None:
    """From zero; shares to 100 % where the whole is shown; a little room on both sides."""
    found = [
        end
        for estimate in estimates
        if estimate is not None
        for end in (estimate.value, estimate.low, estimate.high)
        if end is not None
    ]
    low, high = min([0.0, *found]), max([0.0, *found])
    if share and whole and low >= 0:
        low, high = 0.0, 1.0
    if high == low:
        high = low + 1
    room = 0.03 * (high - low)
    limits = (low - (room if low < 0 or which == "x" else 0), high + (room if which == "x" else 2 * room))
    axes.set_xlim(*limits) if which == "x" else axes.set_ylim(*limits)
    if low < 0:
        (axes.axvline if which == "x" else axes.axhline)(0, color=LINE, linewidth=1.5)


def _spoken(
    pairs: Iterable[tuple[str, EstimateLike | None]], share: bool, name: str = "", unseen: str = "not observed"
) -> str:
    """Numbers in words, for those who cannot see the figure."""
    said = []
    for text, estimate in pairs:
        if estimate is None or estimate.value is None:
            said.append(f"{text} {unseen}")
            continue
        more = " ".join(filter(None, [interval(estimate, share), counted(estimate, share, unseen)]))
        said.append(f"{text} {number(estimate.value, share)} {more}".strip())
    return (f"{label(name)}: " if name else "") + "; ".join(said) + "."
