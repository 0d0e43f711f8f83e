"""Figures that show several runs at once. They receive numbers and never compute statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trajlab.report.plots import WIDTH, Estimates
from trajlab.report.svg import BACKGROUND, INK, LINE, MUTED, SERIES, drawing, inline, label
from trajlab.report.tables import EstimateLike, is_share, number
from trajlab.report.text import Html

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANEL_HEIGHT = 230
_SPREAD = 0.5
"""Width, in places, over which the marks of several runs at one place are spread."""

Lines = Mapping[str, Estimates]
"""Run -> one estimate for each of its periods."""


def runs_over_periods(
    panels: Mapping[str, Lines], periods: Sequence[object], *, title: str, alt: str, unknown: str, caption: str = ""
) -> Html:
    """A panel for each measure, a line for each run, with intervals.

    Args:
        panels: Measure -> run -> one estimate for each of its periods; runs may have fewer than others.
        periods: Names of the places, of the run that has most.
        title: Name of the figure.
        alt: What the figure shows, in words.
        unknown: Words for a panel without any value.
        caption: Text below the figure.
    """
    rows = max(1, -(-len(panels) // 2))
    with drawing(WIDTH, _PANEL_HEIGHT * rows + 24) as figure:
        grid = figure.subplots(rows, 2, squeeze=False)
        for axes, (name, runs) in zip(grid.flat, panels.items(), strict=False):
            _panel(axes, label(name), runs, periods, unknown)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        handles, names = grid.flat[0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, names, loc="outside upper left", ncols=6, fontsize=11.5, handletextpad=0.5)
        return inline(figure, title, alt, caption)


def _panel(axes: Axes, name: str, runs: Lines, periods: Sequence[object], unknown: str) -> None:
    everything = [e for own in runs.values() for e in own if e is not None and e.value is not None]
    share = bool(everything) and all(is_share(e, "auto") for e in everything)
    axes.set_title(name, pad=8)
    axes.set_xlim(-0.5, max(len(periods), 1) - 0.5)
    step = -(-len(periods) // 8) or 1
    axes.set_xticks(range(0, len(periods), step), [label(text, 12) for text in periods[::step]])
    axes.yaxis.grid(True)
    axes.yaxis.set_tick_params(length=0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %" if share else number(value))
    for place, (run, estimates) in enumerate(runs.items()):
        known = [(x, e, e.value) for x, e in enumerate(estimates) if e is not None and e.value is not None]
        colour, shift = SERIES[place % len(SERIES)], _shift(place, len(runs)) / 2
        axes.plot([x + shift for x, _, _ in known], [value for _, _, value in known], "o-", color=colour,
                  markersize=4.5, linewidth=1.6, label=label(run, 24))  # fmt: skip
        for x, e, _ in known:
            if e.low is not None and e.high is not None:
                axes.vlines(x + shift, e.low, e.high, color=colour, alpha=0.45, linewidth=1.5)
    if not everything:
        axes.text(0.5, 0.5, unknown, transform=axes.transAxes, ha="center", va="center", color=MUTED, style="italic")
        axes.set_yticks([])
        return
    ends = [end for e in everything for end in (e.value, e.low, e.high) if end is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    axes.set_ylim(low, high + 0.06 * ((high - low) or 1))


def _shift(place: int, count: int) -> float:
    """Where the mark of a run stands beside the middle, from −0.25 to 0.25."""
    return 0.0 if count < 2 else _SPREAD * (place / (count - 1) - 0.5)


def forest(
    labels: Sequence[object],
    runs: Mapping[str, Sequence[tuple[EstimateLike, bool]]],
    *,
    title: str,
    alt: str,
    axis: str,
    unknown: str,
    caption: str = "",
) -> Html:
    """A row for each label and in it a mark for each run: a difference with its interval around a line at zero.

    Args:
        labels: Names of the rows, from the top.
        runs: Run -> for each row the difference, and whether it is shown: a full mark, else a hollow one.
        title: Name of the figure.
        alt: What the figure shows, in words.
        axis: Name and unit of the axis; differences of shares, shown in points.
        unknown: Words for a row without any value.
        caption: Text below the figure.
    """
    height = max(30, 12 * len(runs) + 14)
    with drawing(WIDTH, 70 + height * max(len(labels), 1)) as figure:
        axes = figure.add_subplot()
        axes.axvline(0, color=LINE, linewidth=1.5)
        for place, (run, rows) in enumerate(runs.items()):
            colour = SERIES[(place + 1) % len(SERIES)]  # the first colour is the first run's
            axes.plot([], [], "o", color=colour, label=label(run, 24))
            for row, (estimate, shown) in enumerate(rows):
                _difference(axes, row + _shift(place, len(runs)), estimate, colour, shown)
        for row in range(len(labels)):
            if all(rows[row][0].value is None for rows in runs.values()):
                axes.annotate(unknown, (0, row), va="center", color=MUTED, style="italic")
        axes.set_yticks(range(len(labels)), [label(text) for text in labels])
        axes.set_ylim(max(len(labels), 1) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0, labelcolor=INK, pad=8)
        axes.spines["left"].set_visible(False)
        axes.xaxis.grid(True)
        axes.xaxis.set_tick_params(length=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:+.0f}".replace("-", "−").replace("+0", "0"))
        axes.set_xlabel(label(axis, 90), loc="left")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6, borderaxespad=0.2, fontsize=11.5,
                    handletextpad=0.2)  # fmt: skip
        return inline(figure, title, alt, caption)


def _difference(axes: Axes, row: float, estimate: EstimateLike, colour: str, shown: bool) -> None:
    if estimate.value is None:
        return
    if estimate.low is not None and estimate.high is not None:
        axes.plot([estimate.low, estimate.high], [row, row], color=colour, alpha=0.5, linewidth=2.5)
    axes.plot([estimate.value], [row], "o", color=colour, markersize=6.5, markeredgewidth=1.6,
              markerfacecolor=colour if shown else BACKGROUND)  # fmt: skip
