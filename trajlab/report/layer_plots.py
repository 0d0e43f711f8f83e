"""Pictures of the run diagnosis: small panels over the training steps with marked steps, and when what moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trajlab.checks.layers.base import Panel
from trajlab.checks.layers.onset import OnsetRow
from trajlab.report.plots import PANEL_HEIGHT, WIDTH, panel_grid, panel_title
from trajlab.report.svg import BACKGROUND, INK, LINE, MUTED, SERIES, drawing, inline, label
from trajlab.report.tables import number
from trajlab.report.text import Html
from trajlab.report.written.words import Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 400
"""Points of a curve that are drawn; of a longer one the extremes of as many blocks."""
_MOST_MARKS = 5


_ENGLISH = Words("en", "diagnosis")


def layer_panels(panels: Sequence[Panel], marks: Mapping[int, str], *, title: str, words: Words = _ENGLISH) -> Html:
    """Small panels of one layer.

    Args:
        panels: What to draw.
        marks: Training step -> code of what was found there; drawn as an upright line in every panel.
        title: Name of the figure.
        words: Language of the caption.
    """
    columns = 2 if len(panels) in (2, 4) else min(3, len(panels))
    columns = max(columns, 2)
    rows = max(1, -(-len(panels) // columns))
    shown = dict(sorted(marks.items())[:_MOST_MARKS])
    with drawing(WIDTH, PANEL_HEIGHT * rows, layout=None) as figure:
        grid = panel_grid(figure, rows, columns)
        for axes, panel in zip(grid.flat, panels, strict=False):
            panel_title(axes, panel.title, columns)
            _panel(axes, panel, shown)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        return inline(figure, title, " ".join(_spoken(panel) for panel in panels), _caption(shown, words))


def _caption(marks: Mapping[int, str], words: Words) -> str:
    marked = "; ".join(words.say("figure.mark", step=f"{step:,}", codes=codes) for step, codes in marks.items())
    return words.say("figure.marked", list=marked) if marks else words.say("figure.over_steps")


def _panel(axes: Axes, panel: Panel, marks: Mapping[int, str]) -> None:
    for place, (name, signal) in enumerate(panel.curves.items()):
        steps, values = thinned(signal.steps, signal.values)
        few = len(steps) <= 2 or signal.name in panel.points
        axes.plot(steps, values, "o-" if few else "-", color=SERIES[place % len(SERIES)], linewidth=1.5,
                  markersize=4, label=label(name, 30))  # fmt: skip
    if panel.log:
        axes.set_yscale("log")
    for word, value in panel.lines.items():
        axes.axhline(value, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        axes.annotate(word, (1, value), xycoords=axes.get_yaxis_transform(), ha="right", va="bottom", size=10.5,
                      color=MUTED)  # fmt: skip
    _limits(axes, panel)
    _marks(axes, marks)
    if len(panel.curves) > 1:
        axes.legend(loc="best", fontsize=10.5, handlelength=1.2, handletextpad=0.4, borderaxespad=0.1)
    axes.grid(axis="y")
    axes.tick_params(length=0)
    if panel.log:
        axes.minorticks_off()
    axes.yaxis.set_major_formatter(
        lambda value, _: f"{number(round(100 * value, 6))} %" if panel.share else number(float(f"{value:.6g}"))
    )


def _limits(axes: Axes, panel: Panel) -> None:
    """From zero where that costs no more than half of the picture; a little room above for the marks."""
    values = np.concatenate([signal.values for signal in panel.curves.values()])
    low, high = float(values.min()), float(values.max())
    lines = [value for value in panel.lines.values() if value <= high + 1.5 * max(high - low, abs(high), 1e-12)]
    low, high = min([low, *lines]), max([high, *lines])
    if panel.log:
        axes.set_ylim(low / 1.3, high * 1.8)
        return
    if low >= 0 and low <= 0.6 * high:
        low = 0.0
    room = (high - low) or abs(high) or 1.0
    axes.set_ylim(low - (0.04 * room if low else 0.0), high + 0.16 * room)


def _marks(axes: Axes, marks: Mapping[int, str]) -> None:
    first, last = axes.get_xlim()
    labelled = first - (last - first)
    for step in marks:
        if first <= step <= last:
            axes.axvline(step, color=SERIES[1], linewidth=1.2, linestyle=(0, (1, 2)))
            if step - labelled < 0.1 * (last - first):  # no room for its number beside the one before
                continue
            labelled = step
            side = "right" if step > first + 0.8 * (last - first) else "left"
            axes.annotate(f" {step} ", (step, 1), xycoords=axes.get_xaxis_transform(), ha=side, va="top", size=10.5,
                          color=SERIES[1])  # fmt: skip


def thinned(
    steps: np.ndarray[tuple[int], np.dtype[np.int64]], values: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[list[int], list[float]]:
    """At most `MOST_POINTS` points: of each block of a longer series its lowest and highest, so no spike is lost."""
    if len(steps) <= MOST_POINTS:
        return steps.tolist(), values.tolist()
    kept: set[int] = {0, len(steps) - 1}
    for block in np.array_split(np.arange(len(steps)), MOST_POINTS // 2):
        kept |= {int(block[values[block].argmin()]), int(block[values[block].argmax()])}
    places = sorted(kept)
    return steps[places].tolist(), values[places].tolist()


def _spoken(panel: Panel) -> str:
    said = []
    for name, signal in panel.curves.items():
        high, at = signal.highest
        said.append(
            f"{label(name)} {number(signal.first, panel.share)} at step {signal.steps[0]}, "
            f"{number(signal.last, panel.share)} "
            f"at step {signal.steps[-1]}, highest {number(high, panel.share)} at step {at}"
        )
    return f"{label(panel.title)}: {'; '.join(said)}."


def onset_timeline(rows: Sequence[OnsetRow], steps: Sequence[int], *, words: Words = _ENGLISH) -> Html:
    """A line for each signal from where it began: a diamond where the alarm was told, rings at changes of level."""
    with drawing(WIDTH, 56 + 27 * max(len(rows), 1)) as figure:
        axes = figure.add_subplot()
        for place, row in enumerate(rows):
            colour = MUTED if row.alarm is None else SERIES[1]
            axes.plot(
                [row.step, steps[-1]], [place, place], color=colour, linewidth=2.5, alpha=0.35, solid_capstyle="round"
            )
            axes.plot([p.step for p in row.points], [place] * len(row.points), "o", color=BACKGROUND, markersize=6,
                      markeredgecolor=colour, markeredgewidth=1.3)  # fmt: skip
            axes.plot([row.step], [place], "|", color=colour, markersize=13, markeredgewidth=2.5)
            if row.alarm is not None and row.alarm.first_step is not None:
                axes.plot([row.alarm.first_step], [place], "D", color=colour, markersize=6.5)
        axes.set_yticks(range(len(rows)), [label(row.title, 44) for row in rows])
        axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
        axes.set_xlim(steps[0] - 0.01 * (steps[-1] - steps[0] + 1), steps[-1] + 0.01 * (steps[-1] - steps[0] + 1))
        axes.tick_params(axis="y", length=0, labelcolor=INK, pad=8)
        axes.tick_params(axis="x", length=0)
        axes.spines["left"].set_visible(False)
        axes.spines["bottom"].set_color(LINE)
        axes.xaxis.grid(True)
        axes.set_xlabel(words.say("figure.axis"), loc="left")
        alt = "; ".join(
            f"{label(row.title)} from step {row.step}" + (f", told at step {row.alarm.first_step}" if row.alarm else "")
            for row in rows
        )
        return inline(figure, words.say("figure.onsets"), f"{alt}.", words.say("figure.onsets_caption"))
