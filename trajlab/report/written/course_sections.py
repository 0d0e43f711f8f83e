"""What changed over a run, first in a sentence, then as a picture; onsets; all measures over the periods."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from trajlab.measures.catalogue import BY_NAME, MEASURES
from trajlab.measures.changes import CROWDED, FAMILY
from trajlab.measures.compare import Side
from trajlab.measures.contrast import LEVEL, Contrast
from trajlab.measures.course import Course
from trajlab.measures.onsets import MOST_PERIODS, Onset
from trajlab.report.course_plots import Difference, differences
from trajlab.report.plots import small_multiples
from trajlab.report.written.advice import change_table, collapse_sentences
from trajlab.report.written.document import Block, Bullets, Cell, Paragraph, Picture, Table
from trajlab.report.written.run_sections import p_text
from trajlab.report.written.words import Words, is_share

GROUPS = (
    ("outcome", "reward", "termination", "budget"), ("steps", "tools", "think"),
    ("commands", "verification", "ladder"), ("repetition", "hacks"),
)  # fmt: skip
"""Sections of measures whose curves stand in one figure."""
_NAMED = 6
"""Differences named in one sentence."""


def headline(words: Words, name: str, course: Course) -> list[Block]:
    """Whether behaviour collapsed, and what changed from the first period to the last, in a sentence each."""
    blocks: list[Block] = []
    if course.against_previous:
        if len(course.periods) < 2:
            return [words.tell("unobserved", "change.no_previous")]
    else:
        blocks += collapse_sentences(words, name, course.changes)
        blocks += _crowding(words, name, course)
        if len(course.periods) < 2:
            return blocks
    if not course.changes.family:
        return [*blocks, _nothing(words, course)]
    ends = [item for item in course.changes.since_first if item.after == course.periods[-1]]
    told = _told(words, ends, whole=True)
    first, last = (words.period(course.periods[place]) for place in (0, -1))
    return [*blocks, Paragraph(words.say("change.span", before=first, after=last, told=told))]


def what_changed(words: Words, name: str, course: Course) -> list[Block]:
    """The headline, each change of period, how much was looked at, the picture, the onsets, every difference."""
    blocks = headline(words, name, course)
    if not course.changes.family:
        return blocks
    return [
        *blocks,
        *_each_change(words, course),
        _paired(words, course),
        *_looked_at(words, course),
        _picture(words, course),
        *_onset_tables(words, name, course),
        *change_table(words, name, course.changes),
    ]


def _nothing(words: Words, course: Course) -> Paragraph:
    """No measure of the family was compared: none differs, or none is observed."""
    same = [words.measure(name) for name in course.changes.constant]
    if not same:
        return words.tell("unobserved", "change.none_observed")
    return Paragraph(words.say("change.nothing_varies", list=words.list(same)))


def _crowding(words: Words, name: str, course: Course) -> list[Block]:
    found = course.changes.crowding
    if found is None:
        return []
    rise = found.rise
    crowded = words.tell(
        "alarm", "collapse.crowded", run=name, line=f"{100 * CROWDED:.0f} %", onset=words.period(found.onset),
        first=words.period(rise.before), last=words.period(rise.after),
        before=words.of_measure(rise.name, rise.first), after=words.of_measure(rise.name, rise.second),
    )  # fmt: skip
    return [crowded]


def _told(words: Words, contrasts: Sequence[Contrast], *, whole: bool = False) -> str:
    """What rose and what fell; where ``whole``, with the values on both sides and the names of the rest."""
    parts = []
    for key, sign in (("change.told_rose", 1), ("change.told_fell", -1)):
        own = [_item(words, item, whole=whole) for item in contrasts if item.direction == sign]
        if own:
            parts.append(words.say(key, list=words.list(own)))
    if not parts:
        parts.append(words.say("change.told_nothing"))
    hidden = [words.measure(item.name) for item in contrasts if item.direction == 0]
    if hidden and whole:
        parts.append(words.say("change.told_not_shown", list=words.list(hidden)))
    return words.say("word.semicolon").join(parts)


def _item(words: Words, item: Contrast, *, whole: bool) -> str:
    change = words.change(item.name, item.told)
    shown, measure = f"{change.value} {change.interval}".strip(), words.measure(item.name)
    if not whole:
        return f"{measure} {shown}"
    values = [words.of_measure(item.name, e).value for e in (item.first, item.second)]
    key = "change.item" if item.within.value is None else "change.item_paired"
    return words.say(key, measure=measure, first=values[0], second=values[1], change=shown)


def _each_change(words: Words, course: Course) -> list[Block]:
    """A line for every change of period that shows something; two periods are told by the headline."""
    periods = course.periods
    if len(periods) < 3:
        return []
    lines, quiet = [], 0
    for after in periods[1:]:
        own = [item for item in course.changes.steps if item.after == after]
        if not any(item.direction for item in own):
            quiet += 1
            continue
        before = words.period(periods[periods.index(after) - 1])
        lines.append(words.say("change.between", before=before, after=words.period(after), told=_told(words, own)))
    blocks: list[Block] = [Bullets(lines)] if lines else []
    if quiet:
        blocks.append(Paragraph(words.say("change.quiet", all=len(periods) - 1, n=quiet)))
    return blocks


def _paired(words: Words, course: Course) -> Paragraph:
    family = course.changes.family
    n = sum(item.within.value is not None for item in family)
    if n == len(family):
        return Paragraph(words.say("change.paired_all"))
    if n == 0:
        return Paragraph(words.say("change.paired_none"))
    return Paragraph(words.say("change.paired_some", n=n, all=len(family)))


def _looked_at(words: Words, course: Course) -> list[Block]:
    """How many comparisons were made, which of them are adjusted, and what chance alone would show."""
    changes, others = course.changes, course.exploratory
    names = words.list([words.measure(name) for name in changes.measures])
    said = [words.say("change.family", n=len(changes.family), family=names)]
    same = [words.measure(name) for name in changes.constant]
    if same:
        said.append(words.say("change.family_same", list=words.list(same)))
    unseen = [words.measure(name) for name in FAMILY if name not in (*changes.measures, *changes.constant)]
    if unseen:
        said.append(words.say("change.family_unseen", list=words.list(unseen)))
    if len(course.periods) > MOST_PERIODS:
        said.append(words.say("change.exploratory_left", most=MOST_PERIODS))
    elif others:
        seen = sum(item.direction != 0 for item in others)
        measures, chance = len({item.name for item in others}), f"{LEVEL * len(others):.0f}"
        said.append(words.say("change.exploratory", measures=measures, n=len(others), chance=chance, seen=seen))
    return [Paragraph(words.say("word.sentences").join(said))]


def _picture(words: Words, course: Course) -> Picture:
    changes, periods = course.changes, course.periods
    series: dict[str, list[Difference | None]] = {}
    shares: dict[str, bool] = {}
    said = []
    for name in changes.measures:
        own = {item.after: item for item in changes.steps if item.name == name}
        share = is_share(name)
        title = words.measure(name) + (f" ({words.say('word.points').strip()})" if share else "")
        series[title] = [
            Difference(own[period].told, own[period].direction) if period in own else None for period in periods[1:]
        ]
        shares[title] = share
        said += [_item(words, item, whole=True) for item in own.values() if item.direction]
    alt = words.list(said[:_NAMED]) if said else words.say("change.told_nothing")
    ticks = [words.tick(period) for period in periods[1:]]
    title, caption = words.say("change.picture"), words.say("change.picture_caption")
    return Picture(partial(differences, series, ticks, title=title, shares=shares, alt=alt, caption=caption))


def _onset_tables(words: Words, name: str, course: Course) -> list[Block]:
    baseline = words.period(course.periods[0])
    blocks: list[Block] = []
    declared = [item for item in course.onsets if item.declared]
    if declared:
        caption = words.say("onset.caption", run=name, baseline=baseline)
        blocks.append(_onset_table(words, declared, course.periods[-1], caption))
    else:
        blocks.append(Paragraph(words.say("onset.none", baseline=baseline)))
    others = [item for item in course.onsets if not item.declared]
    if others:
        caption = words.say("onset.exploratory", run=name, baseline=baseline)
        blocks.append(_onset_table(words, others, course.periods[-1], caption))
    return blocks


def _onset_table(words: Words, found: Sequence[Onset], last: str, caption: str) -> Table:
    difference = "column.difference_p" if found[0].declared else "column.difference"
    keys = ("column.measure", "column.first_period", "column.baseline", difference, "column.later", "column.jump")
    head = [words.say(key) for key in keys]
    return Table(head, [_onset_row(words, item, last) for item in found], caption)


def _onset_row(words: Words, item: Onset, last: str) -> list[Cell]:
    change, place = item.change, item.place
    values = [words.of_measure(item.measure, e).value for e in (change.first, change.second)]
    later = "onset.end" if item.period == last else "onset.stays" if item.stays else "onset.not_throughout"
    shown = words.change(item.measure, change.told)
    if item.declared and change.adjusted is not None:
        shown = msgspec.structs.replace(shown, count=words.list([shown.count, p_text(change.adjusted)]))
    jump = words.say("word.no_jump")
    if place is not None:
        step, low, high = (f"{value:g}" for value in (place.step, place.low, place.high))
        jump = words.say("onset.step", step=step, low=low, high=high)
    return [
        words.measure(item.measure),
        words.say("onset.rose" if item.direction > 0 else "onset.fell", period=words.period(item.period)),
        " → ".join(values),
        shown,
        words.say(later),
        jump,
    ]


def over_the_run(words: Words, side: Side) -> list[Block]:
    """Every measure that is observed: those that differ between periods as curves, the others in a line."""
    periods = side.trajectories.periods
    if len(periods) < 2:
        return []  # the headline says so
    blocks: list[Block] = []
    if side.trajectories.population.by != side.trajectories.periods_by:
        blocks.append(Paragraph(words.say("course.by_steps")))
    elif side.trajectories.periods_by == "epoch" and side.trajectories.epochs_from == "metrics":
        blocks.append(Paragraph(words.say("course.by_metrics")))
    varying, never, constant, sparse, unseen = _sorted(side)
    ticks = [words.tick(period) for period in periods]
    for group in GROUPS:
        series = {words.measure(n): side.sequence(n) for n in varying if BY_NAME[n].section in group}
        if not series:
            continue
        told = [words.say(f"group.{one}") for one in group if any(BY_NAME[n].section == one for n in varying)]
        title = words.say("course.picture", section=words.list(told))
        figure = partial(small_multiples, series, ticks, title=title, unseen=words.say("word.not_observed"))
        blocks.append(Picture(figure, title))
    if constant:
        values = [f"{words.measure(n)} {words.of_measure(n, side.estimate(n)).value}" for n in constant]
        blocks.append(Paragraph(words.say("course.constant", list=words.list(values))))
    if never:
        blocks.append(Paragraph(words.say("course.never", list=words.list([words.measure(n) for n in never]))))
    for key, names in (("course.sparse", sparse), ("course.unseen", unseen)):
        if names:
            blocks.append(words.tell("unobserved", key, list=words.list([words.measure(n) for n in names])))
    return blocks


def _sorted(side: Side) -> tuple[list[str], list[str], list[str], list[str], list[str]]:
    """Measures that differ between periods, are zero in all, the same in all, too seldom observed, never observed.

    Too seldom is not in every period, or not for half of the trajectories.
    """
    varying, never, constant, sparse, unseen = [], [], [], [], []
    for measure in MEASURES:
        found = side.sequence(measure.name)
        values = {e.value for e in found} - {None}
        missing = sum(e.missing for e in found)
        if not values:
            unseen.append(measure.name)
        elif len(values) == 1 and (any(e.value is None for e in found) or 2 * missing > side.trajectories.frame.height):
            sparse.append(measure.name)
        elif values == {0.0}:
            never.append(measure.name)
        elif len(values) == 1:
            constant.append(measure.name)
        else:
            varying.append(measure.name)
    return varying, never, constant, sparse, unseen
