"""Figures of a comparison: scores over periods, differences with intervals, quadrants side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from trajlab.measures.compare import Side
from trajlab.measures.contrast import Contrast
from trajlab.measures.quadrants import ANSWER_AND_TOOL
from trajlab.report.plots import Estimates, stacked_shares
from trajlab.report.run_plots import forest, runs_over_periods
from trajlab.report.written.document import Block, Picture
from trajlab.report.written.words import Words, is_share

FOLLOWED = ("correct_rate", "tool_use_rate", "mean_steps")
"""Drawn over the periods, beside the score."""
OF_COMMANDS = ("any_test_rate", "inline_rate", "think_fraction", "edits_per_step")
"""Drawn too where agents run tests or think."""


def over_periods(words: Words, sides: Sequence[Side]) -> list[Block]:
    """Score and behaviour of all runs over their periods; nothing where no run has several."""
    longest = max(sides, key=lambda side: len(side.trajectories.periods))
    scores: dict[str, Estimates] = {side.name: side.score.epochs for side in sides if side.score is not None}
    places = [words.period(name) for name in longest.trajectories.periods]
    scored = max((side.score for side in sides if side.score is not None), key=lambda s: len(s.epochs), default=None)
    if scored is not None and len(scored.epochs) > len(places):
        places = [words.period(name) for name in scored.epoch_names]
    if len(places) < 2:
        return []
    panels: dict[str, dict[str, Estimates]] = {words.say("score.score"): scores} if scores else {}
    working = any(side.estimate(name).value for side in sides for name in ("any_test_rate", "think_fraction"))
    for name in (*FOLLOWED, *(OF_COMMANDS if working else ())):
        own: dict[str, Estimates] = {side.name: side.sequence(name) or [side.estimate(name)] for side in sides}
        panels[words.measure(name)] = own
    title = words.say("figure.over_periods")
    drawn = partial(runs_over_periods, panels, places, title=title, alt=words.say("figure.in_tables"),
                    unknown=words.say("word.not_observed"), caption=title)  # fmt: skip
    return [Picture(drawn)]


def differences(words: Words, first: str, contrasts: Sequence[Contrast]) -> list[Block]:
    """Shares of every run less those of the first, with intervals; nothing where none is observed."""
    known = [item for item in contrasts if is_share(item.name) and item.told.value is not None]
    names = list(dict.fromkeys(item.name for item in known if item.first.value or item.second.value))
    runs = list(dict.fromkeys(item.after for item in contrasts))
    found = {(item.after, item.name): item for item in contrasts}
    if not names:
        return []
    rows = {run: [(found[run, name].told, found[run, name].direction != 0) for name in names] for run in runs}
    caption = words.say("figure.differences", first=first)
    drawn = partial(
        forest,
        [words.measure(name) for name in names],
        rows,
        title=caption,
        alt=words.say("figure.in_tables"),
        axis=words.say("figure.points"),
        unknown=words.say("word.not_observed"),
        caption=caption,
    )
    return [Picture(drawn)]


def quadrants(words: Words, sides: Sequence[Side], name: str) -> list[Block]:
    """The four cells of every run as one bar each; nothing where no run has the table."""
    tables = [next((table for table in side.quadrants if table.name == name), None) for side in sides]
    if not any(tables):
        return []
    parts = {
        words.say(f"quadrant.{cell}"): [None if table is None else table.cells[cell].value for table in tables]
        for cell in ANSWER_AND_TOOL
    }
    title = words.say(f"quadrant.{name}")
    counts = [0 if table is None else table.n for table in tables]
    drawn = partial(stacked_shares, [side.name for side in sides], parts, title=title, n=counts, caption=title,
                    alt=words.say("figure.in_tables"), unseen=words.say("word.not_observed"))  # fmt: skip
    return [Picture(drawn)]
