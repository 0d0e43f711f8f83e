"""Flow between the answer x tool quadrants, in words, pictures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from trajlab.measures.course import Course
from trajlab.measures.onsets import MOST_PERIODS
from trajlab.measures.quadrant_flow import MOST_FLOWS, Flow, QuadrantFlow, ShareChange
from trajlab.measures.quadrants import ANSWER_AND_TOOL
from trajlab.report.course_plots import flows
from trajlab.report.plots import stacked_shares
from trajlab.report.written.document import Block, Bullets, Cell, Paragraph, Picture, Table
from trajlab.report.written.words import Words
from trajlab.stats import Estimate


def quadrant_flow(words: Words, course: Course) -> list[Block]:
    """Every table of quadrants: by task where tasks repeat, else as shares only."""
    if len(course.periods) < 2:
        return [words.tell("unobserved", "change.no_previous" if course.against_previous else "flow.one_period")]
    if not course.flows:
        return [words.tell("unobserved", "flow.not_observed")]
    return [block for table in course.flows for block in _table(words, table)]


def _table(words: Words, table: QuadrantFlow) -> list[Block]:
    title = words.say(f"quadrant.{table.name}")
    blocks: list[Block] = []
    if len(table.periods) - 1 > MOST_FLOWS:
        blocks.append(Paragraph(words.say("flow.ends_only", most=MOST_FLOWS)))
    if table.flows:
        blocks += _by_task(words, title, table)
    if table.changes:
        pairs = dict.fromkeys((item.before, item.after) for item in table.changes)
        named = words.list([f"{words.period(one)} → {words.period(other)}" for one, other in pairs])
        blocks.append(words.tell("unobserved", "flow.shares_only", pairs=named))
        blocks.append(Bullets([_changed(words, pair, table.changes) for pair in pairs]))
    blocks += _shares(words, title, table)
    if table.same_as:
        blocks.append(Paragraph(words.say("flow.same_as", table=words.say("quadrant.correct_tool"))))
    return blocks


def _by_task(words: Words, title: str, table: QuadrantFlow) -> list[Block]:
    blocks: list[Block] = [Bullets([_told(words, flow) for flow in table.flows])]
    panels = {
        words.say("flow.panel", before=words.tick(flow.before), after=words.tick(flow.after), tasks=flow.tasks): {
            one: {other: e.value or 0.0 for other, e in row.items()} for one, row in flow.moves.items()
        }
        for flow in table.flows
    }
    figure = partial(
        flows,
        panels,
        _names(words),
        title=words.say("flow.picture", table=title),
        alt=words.say("word.sentences").join(_told(words, flow) for flow in table.flows),
        caption=words.say("flow.picture_caption", table=title),
    )
    rows: list[list[Cell]] = [
        [f"{words.period(flow.before)} → {words.period(flow.after)}", words.say(f"quadrant.{one}"),
         *(words.estimate(e, share=True) for e in row.values())]
        for flow in table.flows for one, row in flow.moves.items()
    ]  # fmt: skip
    head = [words.say("column.periods"), words.say("column.from"), *_names(words).values()]
    return [
        *blocks,
        Paragraph(words.say("flow.how")),
        Picture(figure),
        Table(head, rows, words.say("flow.moves", table=title)),
    ]


def _names(words: Words) -> dict[str, str]:
    return {cell: words.say(f"quadrant.{cell}") for cell in ANSWER_AND_TOOL}


def _told(words: Words, flow: Flow) -> str:
    beyond = [_move(words, one, other, e) for one, row in flow.net.items() for other, e in row.items() if _sign(e) != 0]
    net = words.say("flow.net", list=words.list(beyond)) if beyond else words.say("flow.no_net")
    return words.say(
        "flow.told",
        before=words.period(flow.before),
        after=words.period(flow.after),
        tasks=f"{flow.tasks:,}",
        stay=words.estimate(flow.stay, share=True),
        alike=words.estimate(flow.alike, share=True),
        net=net,
    )


def _sign(e: Estimate) -> int:
    if e.low is None or e.high is None:
        return 0
    return 1 if e.low > 0 else -1 if e.high < 0 else 0


def _move(words: Words, one: str, other: str, e: Estimate) -> str:
    """A net flow, told in the direction in which it goes."""
    if e.value is not None and e.value < 0 and e.low is not None and e.high is not None:
        one, other = other, one
        e = Estimate(-e.value, -e.high, -e.low, None, e.denominator, e.method)
    source, target = (words.say(f"quadrant.{cell}") for cell in (one, other))
    return words.say("flow.move", source=source, target=target, value=_points(words, e))


def _points(words: Words, e: Estimate) -> str:
    shown = words.change("tool_use_rate", e)
    return f"{shown.value} {shown.interval}".strip()


def _changed(words: Words, pair: tuple[str, str], changes: Sequence[ShareChange]) -> str:
    own = [item for item in changes if (item.before, item.after) == pair and _sign(item.change) != 0]
    told = [f"{words.say(f'quadrant.{item.cell}')} {_points(words, item.change)}" for item in own]
    said = words.list(told) if told else words.say("flow.shares_same")
    return words.say("flow.shares_told", before=words.period(pair[0]), after=words.period(pair[1]), list=said)


def _shares(words: Words, title: str, table: QuadrantFlow) -> list[Block]:
    """Shares of the quadrants by period, as bars and, for a few periods, as a table."""
    names = _names(words)
    caption = words.say("flow.shares_caption", table=title)
    n = [int(table.shares["neither"][period].denominator or 0) for period in table.periods]
    figure = partial(
        stacked_shares,
        [words.period(period) for period in table.periods],
        {names[cell]: [e.value for e in shares.values()] for cell, shares in table.shares.items()},
        title=words.say("flow.shares_picture", table=title),
        n=n,
        caption=caption if len(table.periods) > MOST_PERIODS else "",
        unseen=words.say("word.not_observed"),
    )
    if len(table.periods) > MOST_PERIODS:
        return [Picture(figure)]
    rows: list[list[Cell]] = [
        [names[cell], *(words.estimate(e, share=True) for e in shares.values())]
        for cell, shares in table.shares.items()
    ]
    head = [words.say("column.quadrant"), *(words.period(period) for period in table.periods)]
    return [Picture(figure), Table(head, rows, caption)]
