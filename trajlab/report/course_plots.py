"""Figures of the course of a run: differences between periods, and flow between quadrants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from trajlab.report.plots import PANEL_HEIGHT, WIDTH, panel_grid, panel_title, period_ticks
from trajlab.report.svg import BACKGROUND, INK, LINE, MUTED, SERIES, drawing, inline, label
from trajlab.report.tables import EstimateLike, number
from trajlab.report.text import Html

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RISEN, FALLEN = SERIES[0], SERIES[1]
_BAR = 0.09
"""Width of the bar on either side of a flow, of 1."""
_WRITTEN_FROM = 0.09
"""Smallest share that is written into its bar."""


class Difference(msgspec.Struct, frozen=True):
    """One difference to be drawn."""

    estimate: EstimateLike
    direction: int
    """1 risen, -1 fallen, 0 not shown."""


def differences(
    series: Mapping[str, Sequence[Difference | None]],
    periods: Sequence[object],
    *,
    title: str,
    shares: Mapping[str, bool],
    alt: str,
    caption: object = "",
) -> Html:
    """One small panel per measure: the difference at each period about zero, filled where it is shown.

    Args:
        series: Measure -> one difference for each period, ``None`` where there is none.
        periods: Names of the periods, in order.
        title: Name of the figure.
        shares: Measure -> its differences are in percentage points.
        alt: What the figure shows, in words.
        caption: Text below the figure.
    """
    rows = max(1, -(-len(series) // 3))
    with drawing(WIDTH, PANEL_HEIGHT * rows, layout=None) as figure:
        grid = panel_grid(figure, rows, 3)
        for panel, (name, found) in zip(grid.flat, series.items(), strict=False):
            panel_title(panel, name)
            _difference_panel(panel, found, periods, shares[name])
        for panel in list(grid.flat)[len(series) :]:
            panel.set_visible(False)
        return inline(figure, title, alt, caption)


def _difference_panel(axes: Axes, found: Sequence[Difference | None], periods: Sequence[object], share: bool) -> None:
    period_ticks(axes, periods)
    axes.axhline(0, color=LINE, linewidth=1.5)
    ends = [0.0]
    for place, item in enumerate(found):
        if item is None or item.estimate.value is None:
            continue
        e, value = item.estimate, item.estimate.value
        colour = {1: RISEN, -1: FALLEN, 0: MUTED}[item.direction]
        ends.append(value)
        if e.low is not None and e.high is not None:
            axes.plot([place, place], [e.low, e.high], color=colour, alpha=0.45, linewidth=3, solid_capstyle="round")
            ends += [e.low, e.high]
        inside = colour if item.direction else BACKGROUND
        size = 7 if len(found) <= 12 else 4
        axes.plot([place], [value], "o", color=inside, markeredgecolor=colour, markeredgewidth=1.4, markersize=size)
    room = 0.08 * ((max(ends) - min(ends)) or 1.0)
    axes.set_ylim(min(ends) - room, max(ends) + room)
    axes.grid(axis="y")
    axes.tick_params(length=0)
    axes.yaxis.set_major_formatter(lambda value, _: _signed(value, share))


def _signed(value: float, share: bool) -> str:
    sign = "+" if value > 0 else ""
    return f"{sign}{number(round(100 * value, 6) if share else value)}".replace("-", "−")


def flows(
    panels: Mapping[str, Mapping[str, Mapping[str, float]]],
    cells: Mapping[str, str],
    *,
    title: str,
    alt: str,
    caption: object = "",
) -> Html:
    """One panel per change of period: quadrants before at its left, after at its right, ribbons between them.

    A ribbon has the colour of the quadrant it comes from, and the width of its share.

    Args:
        panels: Title -> quadrant before -> quadrant after -> share; the shares of a panel sum to 1.
        cells: Quadrant -> its name, in the order from the top.
        title: Name of the figure.
        alt: What the figure shows, in words.
        caption: Text below the figure.
    """
    columns = min(3, max(1, len(panels)))
    rows = max(1, -(-len(panels) // columns))
    height = PANEL_HEIGHT + 40
    with drawing(WIDTH, height * rows + 34, layout=None) as figure:
        figure.subplots_adjust(
            left=0.01, right=0.99, top=1 - (34 + 30) / (height * rows + 34), bottom=8 / (height * rows + 34),
            wspace=0.12, hspace=38 / (height - 38),
        )  # fmt: skip
        grid = figure.subplots(rows, columns, squeeze=False)
        for panel, (name, moves) in zip(grid.flat, panels.items(), strict=False):
            panel.set_title(label(name, 46), pad=6)
            _flow_panel(panel, moves, list(cells))
        for panel in list(grid.flat)[len(panels) :]:
            panel.set_visible(False)
        _legend(grid.flat[0], list(cells.values()))
        return inline(figure, title, alt, caption)


def _flow_panel(axes: Axes, moves: Mapping[str, Mapping[str, float]], cells: Sequence[str]) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(1, 0)
    axes.set_axis_off()
    lefts = _starts([sum(moves[one].values()) for one in cells])
    rights = _starts([sum(moves[one][other] for one in cells) for other in cells])
    for side, starts in ((0.0, lefts), (1 - _BAR, rights)):
        for place, _ in enumerate(cells):
            _bar(axes, side, starts[place], starts[place + 1], SERIES[place])
    arrive = list(rights)
    for place, one in enumerate(cells):
        leave = lefts[place]
        for target, other in enumerate(cells):
            share = moves[one][other]
            if share > 0:
                _ribbon(axes, leave, arrive[target], share, SERIES[place])
            leave += share
            arrive[target] += share


def _starts(shares: Sequence[float]) -> list[float]:
    found = [0.0]
    for share in shares:
        found.append(found[-1] + share)
    return found


def _bar(axes: Axes, left: float, top: float, bottom: float, colour: str) -> None:
    axes.barh([(top + bottom) / 2], [_BAR], left=left, height=bottom - top, color=colour, edgecolor=BACKGROUND,
              linewidth=1)  # fmt: skip
    if bottom - top >= _WRITTEN_FROM:
        axes.text(left + _BAR / 2, (top + bottom) / 2, f"{100 * (bottom - top):.0f}", ha="center", va="center",
                  color=BACKGROUND, size=11)  # fmt: skip


def _ribbon(axes: Axes, leave: float, arrive: float, share: float, colour: str) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    left, right, middle = _BAR + 0.006, 1 - _BAR - 0.006, 0.5
    points = [
        (left, leave), (middle, leave), (middle, arrive), (right, arrive), (right, arrive + share),
        (middle, arrive + share), (middle, leave + share), (left, leave + share), (left, leave),
    ]  # fmt: skip
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    axes.add_patch(PathPatch(Path(points, codes), facecolor=colour, alpha=0.33, linewidth=0))


def _legend(axes: Axes, names: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(facecolor=SERIES[place], label=label(name, 30)) for place, name in enumerate(names)]
    figure = axes.get_figure()
    if figure is not None:
        figure.legend(
            handles=patches, loc="upper left", ncols=len(names), handlelength=0.9, handleheight=0.9,
            columnspacing=1.4, handletextpad=0.5, fontsize=11.5, labelcolor=INK, borderaxespad=0.2,
        )  # fmt: skip
