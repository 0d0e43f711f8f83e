"""Sections that show one run or several side by side: configuration, score, rewards, behaviour, quadrants."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from trajlab.measures.applied import as_applied
from trajlab.measures.compare import Side, associations
from trajlab.measures.configuration import LABELS_ONLY, changed, ordered, short
from trajlab.measures.quadrants import ANSWER_AND_TOOL
from trajlab.measures.score_series import ScoreSeries
from trajlab.report.tables import number
from trajlab.report.written import figures
from trajlab.report.written.course import course
from trajlab.report.written.document import Block, Bullets, Cell, Paragraph, Section, Shown, Table
from trajlab.report.written.partition_section import partition_blocks, score_sources
from trajlab.report.written.words import Words
from trajlab.stats import Estimate, not_observed, per_cent

ALWAYS = ("mean_steps", "one_step_rate", "two_step_rate", "three_plus_step_rate", "tool_use_rate")
WHERE_SEEN = (
    "invalid_rate", "any_test_rate", "suite_run_rate", "inline_rate", "script_rate", "executions_per_step",
    "edits_per_step", "think_fraction", "think_spam_rate", "stuck_rate", "text_repetition_rate",
)  # fmt: skip
"""Behaviours shown where they are observed in some run."""

FOLLOWED = ("mean_steps", "tool_use_rate", "inline_rate", "suite_run_rate")
"""Behaviours shown by period."""
WRONG_WITH_TOOL = "only_tool / tool used"
"""Name of that share in the quadrant tables."""


def names(sides: Sequence[Side]) -> list[str]:
    """Names of the runs, in order."""
    return [side.name for side in sides]


def configuration(words: Words, sides: Sequence[Side]) -> Section:
    """Settings of the runs: the usual ones and those that differ as a table, the others in one line."""
    unseen = [side.name for side in sides if not side.configuration.observed]
    blocks: list[Block] = []
    if unseen:
        blocks.append(words.tell("unobserved", "configuration.not_observed", runs=words.list(unseen)))
    known = [side for side in sides if side.configuration.observed]
    if known:
        settings = ordered({name for side in known for name in side.configuration.settings})
        shown = [name for name in settings if short(name) != name or len(_values(known, name)) > 1]
        rest = [name for name in settings if name not in shown and not _is_label(name)]
        rows: list[list[Cell]] = [
            [short(name), *(side.configuration.settings.get(name, words.say("word.not_observed")) for side in sides)]
            for name in shown
            if not _is_label(name)
        ]
        if rows:
            blocks.append(Table([words.say("column.parameter"), *names(sides)], rows))
        if rest:
            said = [f"{name} = {next(iter(_values(known, name)))}" for name in rest]
            blocks.append(
                Paragraph(
                    words.say(
                        "configuration.rest" if len(sides) > 1 else "configuration.further", settings=words.list(said)
                    )
                )
            )
        read = [words.pair(side.name, side.configuration.source) for side in known]
        blocks.append(Paragraph(words.say("configuration.source", sources=words.list(read))))
    blocks += _applied(words, sides)
    if len(sides) > 1:
        blocks += [Paragraph(words.say("configuration.chain_lead")), Bullets(_chain(words, sides))]
    return Section("configuration", words.say("section.configuration"), blocks)


def _applied(words: Words, sides: Sequence[Side]) -> list[Block]:
    """Configured against applied: what differs as a warning, what agrees in a line."""
    blocks: list[Block] = []
    as_configured = []
    for side in sides:
        for item in side.applied:
            name = short(item.option)
            if item.other:
                blocks.append(
                    words.tell("warn", "configuration.not_applied", run=side.name, option=name, applied=item.said,
                               configured=item.configured, n=f"{item.other:,}", steps=f"{item.steps:,}")
                )  # fmt: skip
            elif item.other == 0:
                as_configured.append(f"{side.name} {name}")
    if as_configured:
        blocks.append(Paragraph(words.say("configuration.as_applied", settings=words.list(as_configured))))
    blocks.append(words.tell("unobserved", "configuration.unapplied"))
    return blocks


CHAIN = ("score", "std", "one_step_rate", "tool_use_rate", "correct_rate")
"""What is told beside the settings that changed from a run to the next."""


def _chain(words: Words, sides: Sequence[Side]) -> list[str]:
    """A line for each run after the first: what was changed, and what is measured since."""
    said = []
    for before, after in itertools.pairwise(sides):
        settings = changed(as_applied(before.configuration, before.applied),
                           as_applied(after.configuration, after.applied))  # fmt: skip
        if settings is None:
            told = words.say("configuration.chain_unknown")
        else:
            unseen = words.say("word.not_observed")
            pairs = [f"{short(name)} {a or unseen} → {b or unseen}" for name, (a, b) in settings.items()]
            told = words.list(pairs) if pairs else words.say("configuration.chain_none")
        measures = words.list([text for name in CHAIN if (text := _moved(words, name, before, after))])
        said.append(
            words.say("configuration.chain", before=before.name, after=after.name, settings=told, measures=measures)
        )
    return said


def _moved(words: Words, name: str, before: Side, after: Side) -> str:
    """A figure in two runs; empty where one has none."""
    if name in ("score", "std"):
        if before.score is None or after.score is None:
            return ""
        ends = [s.mean.value if name == "score" else s.std for s in (before.score, after.score)]
        title, shown = words.say(f"score.{'mean' if name == 'score' else 'std'}"), [number(end) for end in ends]
        relative = f" ({100 * (ends[1] / ends[0] - 1):+.1f} %)".replace("-", "−") if ends[0] and ends[1] else ""
        return f"{title} {shown[0]} → {shown[1]}{relative}"
    found = [side.estimate(name) for side in (before, after)]
    if any(estimate.value is None for estimate in found):
        return ""
    values = [words.of_measure(name, estimate).value for estimate in found]
    return f"{words.measure(name)} {values[0]} → {values[1]}"


def _values(sides: Sequence[Side], name: str) -> set[str]:
    return {side.configuration.settings.get(name, "") for side in sides}


def _is_label(name: str) -> bool:
    return any(name == label or name.endswith(f".{label}") for label in LABELS_ONLY)


def score(words: Words, sides: Sequence[Side]) -> Section:
    """The series of batch means: mean, maximum, spread, trend, epochs."""
    unseen = [side.name for side in sides if side.score is None]
    blocks: list[Block] = []
    if unseen:
        blocks.append(words.tell("unobserved", "score.not_observed", runs=words.list(unseen)))
    if len(unseen) < len(sides):
        makers: dict[str, Callable[[ScoreSeries], Cell]] = {
            "mean": lambda s: words.estimate(s.mean, share=False),
            "maximum": lambda s: f"{s.maximum:.4f}",
            "std": lambda s: f"{s.std:.4f}",
            "slope": lambda s: words.change("", s.slope),
            "trend": lambda s: _trend(words, s.direction, s.trend.p_value),
            "epochs": lambda s: " / ".join(number(e.value) for e in s.epochs) or words.say("word.one_period"),
        }
        rows: list[list[Cell]] = [
            [words.say(f"score.{key}"),
             *(words.say("word.not_observed") if s.score is None else make(s.score) for s in sides)]
            for key, make in makers.items()
        ]  # fmt: skip
        blocks.append(Table([words.say("column.measure"), *names(sides)], rows, words.say("score.caption")))
        blocks.append(
            Bullets(
                [course(words, side.name, "score", side.score.epoch_names, side.score.epochs)
                 for side in sides if side.score is not None]
            )
        )  # fmt: skip
        blocks += figures.over_periods(words, sides)
    blocks += score_sources(words, sides)
    blocks += partition_blocks(words, sides)
    return Section("score", words.say("section.score"), blocks)


def _trend(words: Words, direction: int, p_value: float | None) -> str:
    key = {1: "up", -1: "down", 0: "none"}[direction]
    p = words.say("word.not_observed") if p_value is None else p_text(p_value)
    return words.say(f"trend.{key}", p=p)


def p_text(p_value: float) -> str:
    """A p-value for people."""
    return "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.2g}"


def rewards(words: Words, sides: Sequence[Side]) -> Section:
    """Correctness and the shares of rewards, over the run and by epoch."""
    rows: list[list[Cell]] = [
        [words.say("rewards.trajectories"), *(f"{side.trajectories.frame.height:,}" for side in sides)]
    ]
    shares = ("correct_rate", "reward_positive_rate", "reward_zero_rate", "reward_negative_rate")
    rows += [measure_row(words, name, sides) for name in shares]
    unseen = words.say("word.not_observed")
    values = [side.rewards for side in sides]
    rows.append([words.say("rewards.distinct"), *(f"{len(set(v.tolist())):,}" if len(v) else unseen for v in values)])
    rows.append([words.say("rewards.maximum"), *(f"{v.max():.4g}" if len(v) else unseen for v in values)])
    blocks: list[Block] = [Table([words.say("column.measure"), *names(sides)], rows)]
    blocks += sequences(words, sides, ("correct_rate", "reward_zero_rate"))
    known = [side for side in sides if side.estimate("correct_rate").value is not None]
    if known:
        periods = [(side, side.trajectories.periods, side.sequence("correct_rate")) for side in known]
        told = [course(words, side.name, "correct_rate", names if own else [], own) for side, names, own in periods]
        blocks.append(Bullets(told))
    return Section("rewards", words.say("section.rewards"), blocks)


def measure_row(words: Words, name: str, sides: Sequence[Side]) -> list[Cell]:
    """A measure in each run."""
    return [words.measure(name), *(words.of_measure(name, side.estimate(name)) for side in sides)]


def sequences(words: Words, sides: Sequence[Side], measures: Sequence[str]) -> list[Block]:
    """Measures over the periods: a table for each run that has several."""
    blocks: list[Block] = []
    for side in sides:
        periods = side.trajectories.periods
        known = [name for name in measures if side.estimate(name).value is not None]
        if len(periods) < 2 or not known:
            continue
        head = [words.say("column.measure"), *(words.period(period) for period in periods)]
        rows: list[list[Cell]] = [
            [words.measure(name), *(words.of_measure(name, e) for e in side.sequence(name))] for name in known
        ]
        blocks.append(Table(head, rows, words.say("word.by_period", run=side.name)))
    return blocks


def behaviour(words: Words, sides: Sequence[Side]) -> Section:
    """What the agents did: steps, tools, and what else is observed."""
    seen = [name for name in WHERE_SEEN if any(_occurs(side.estimate(name)) for side in sides)]
    rows = [measure_row(words, name, sides) for name in (*ALWAYS, *seen)]
    allowed = [_steps_used(words, side) for side in sides]
    rows.append([words.say("behaviour.steps_used"), *allowed])
    blocks: list[Block] = [Table([words.say("column.measure"), *names(sides)], rows)]
    blocks += sequences(words, sides, [name for name in FOLLOWED if name in (*ALWAYS, *seen)])
    if len(sides) > 1:
        blocks += _extremes(words, sides, (*ALWAYS, *seen))
    silent = [name for name in WHERE_SEEN if name not in seen]
    if silent:
        titles = words.list([words.measure(name) for name in silent])
        blocks.append(Paragraph(words.say("behaviour.none", measures=titles)))
    return Section("behaviour", words.say("section.behaviour"), blocks)


def _extremes(words: Words, sides: Sequence[Side], measures: Sequence[str]) -> list[Block]:
    """Which run is highest and which lowest, for every measure that all runs have and in which they differ."""
    said = []
    for name in measures:
        found = [(e.value, side.name, words.of_measure(name, e).value) for side in sides
                 if (e := side.estimate(name)).value is not None]  # fmt: skip
        if len(found) < len(sides) or len({value for value, _, _ in found}) < 2:
            continue
        low, high = min(found), max(found)
        said.append(words.say("behaviour.extremes", measure=words.measure(name), highest=high[1], high=high[2],
                              lowest=low[1], low=low[2]))  # fmt: skip
    return [Paragraph(words.say("behaviour.extremes_lead")), Bullets(said)] if said else []


def _occurs(found: Estimate) -> bool:
    return found.value is not None and found.value > 0


def _steps_used(words: Words, side: Side) -> Cell:
    """Mean steps of those allowed: as logged, else by the configured limit."""
    logged = side.estimate("steps_used")
    if logged.value is not None:
        return words.estimate(logged, share=True)
    limit = next((v for n, v in side.configuration.settings.items() if short(n) == "agent_steps"), None)
    mean = side.estimate("mean_steps").value
    if limit is None or mean is None or not limit.isdecimal() or len(limit) > 18 or int(limit) == 0:
        return words.say("word.not_observed")
    return Shown(f"{per_cent(mean / int(limit), 0)} %", "", f"{mean:.2f} / {limit}")


def quadrants(words: Words, sides: Sequence[Side]) -> Section:
    """Answer by tool in both ways, and how correct goes with using a tool."""
    blocks: list[Block] = []
    for name in ("answer_tool", "correct_tool"):
        rows: list[list[Cell]] = []
        for side in sides:
            table = next((t for t in side.quadrants if t.name == name), None)
            cells: list[Cell] = [words.say("word.not_observed")] * 4
            if table is not None:
                cells = [words.estimate(table.cells[cell], share=True) for cell in ANSWER_AND_TOOL]
            if name == "correct_tool":
                wrong = table.extra.get(WRONG_WITH_TOOL) if table is not None else None
                cells.append(words.estimate(wrong or not_observed(), share=True))
            rows.append([side.name, *cells])
        head = [words.say("column.run"), *(words.say(f"quadrant.{cell}") for cell in ANSWER_AND_TOOL)]
        if name == "correct_tool":
            head.append(words.say("column.only_tool_of_tool"))
        blocks.append(Table(head, rows, words.say(f"quadrant.{name}")))
    if len(sides) > 1:
        by_reward = any(table.name == "answer_tool" for side in sides for table in side.quadrants)
        blocks += figures.quadrants(words, sides, "answer_tool" if by_reward else "correct_tool")
    blocks += _identities(words, sides)
    found = [item for side in sides for item in associations(side)]
    if found:
        rows = [
            [
                item.run,
                words.say(f"did.{item.behaviour}"),
                *(words.change("correct_rate", e) for e in (item.pooled, item.within)),
            ]
            for item in found
        ]
        head = [words.say(f"column.{key}") for key in ("run", "behaviour", "pooled", "within")]
        blocks.append(Table(head, rows, words.say("quadrant.association")))
        blocks += [
            words.tell("warn", "quadrant.opposite", run=item.run, behaviour=words.say(f"did.{item.behaviour}"))
            for item in found
            if item.opposite
        ]
    return Section("quadrants", words.say("section.quadrants"), blocks)


def _identities(words: Words, sides: Sequence[Side]) -> list[Block]:
    """Identities of the tables: those that fail are named, run by run."""
    blocks: list[Block] = []
    hold: dict[int, list[str]] = {}
    for side in sides:
        checked = [identity for table in side.quadrants for identity in table.identities]
        failed = [text for text, left, right in checked if left != right]
        if failed:
            which = words.list(failed)
            blocks.append(words.tell("alarm", "quadrant.identities_fail", run=side.name, which=which))
        elif checked:
            hold.setdefault(len(checked), []).append(side.name)
    blocks += [words.tell("ok", "quadrant.identities_hold", run=words.list(runs), n=n) for n, runs in hold.items()]
    return blocks
