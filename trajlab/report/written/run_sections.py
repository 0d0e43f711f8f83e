"""Sections that show one run or several side by side: configuration, score, rewards, behaviour, quadrants."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from trajlab.measures.compare import Side, associations
from trajlab.measures.configuration import LABELS_ONLY, ordered, short
from trajlab.measures.quadrants import ANSWER_AND_TOOL
from trajlab.measures.score_series import ScoreSeries
from trajlab.report.tables import number
from trajlab.report.written.document import Block, Bullets, Cell, Paragraph, Section, Shown, Table
from trajlab.report.written.words import Words
from trajlab.stats import Estimate

ALWAYS = ("mean_steps", "one_step_rate", "two_step_rate", "three_plus_step_rate", "tool_use_rate")
WHERE_SEEN = (
    "invalid_rate", "any_test_rate", "suite_run_rate", "inline_rate", "script_rate", "executions_per_step",
    "edits_per_step", "think_fraction", "think_spam_rate", "stuck_rate", "text_repetition_rate",
)  # fmt: skip
"""Behaviours shown where they are observed in some run."""

FOLLOWED = ("mean_steps", "tool_use_rate", "inline_rate", "suite_run_rate")
"""Behaviours shown by period."""


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
        read = [f"{side.name}: {side.configuration.source}" for side in known]
        blocks.append(Paragraph(words.say("configuration.source", sources=words.list(read))))
    return Section("configuration", words.say("section.configuration"), blocks)


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
        blocks.append(Bullets([_monotone(words, side) for side in sides if side.score is not None]))
    blocks += partitions(words, sides)
    return Section("score", words.say("section.score"), blocks)


def _trend(words: Words, direction: int, p_value: float | None) -> str:
    key = {1: "up", -1: "down", 0: "none"}[direction]
    p = words.say("word.not_observed") if p_value is None else p_text(p_value)
    return words.say(f"trend.{key}", p=p)


def p_text(p_value: float) -> str:
    """A p-value for people."""
    return "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.2g}"


def _monotone(words: Words, side: Side) -> str:
    found = side.score
    if found is None or found.monotone is None:
        return words.say("score.one_epoch", run=side.name)
    named = zip(found.epoch_names, found.epochs, strict=True)
    values = [(words.period(name), e.value) for name, e in named if e.value is not None]
    if found.monotone:
        return words.say("score.monotone", run=side.name, n=len(values))
    falls = [
        f"{a} → {b} {number(one)} → {number(other)}"
        for (a, one), (b, other) in itertools.pairwise(values)
        if other <= one
    ]
    return words.say("score.not_monotone", run=side.name, falls=words.list(falls))


def partitions(words: Words, sides: Sequence[Side]) -> list[Block]:
    """Whether scores and rollouts are cut into epochs at the same steps."""
    blocks: list[Block] = []
    unknown = []
    for side in sides:
        if side.score is None:
            continue
        if not side.score.own_partition:
            unknown.append(side.name)
        elif side.score.epoch_starts != side.rollout_starts:
            starts = [
                words.list([str(step) for step in steps]) for steps in (side.score.epoch_starts, side.rollout_starts)
            ]
            blocks.append(words.tell("warn", "partition.disagree", run=side.name, score=starts[0], rollout=starts[1]))
        else:
            blocks.append(words.tell("ok", "partition.agree", run=side.name))
    if unknown:
        blocks.append(words.tell("unobserved", "partition.unknown", runs=words.list(unknown)))
    return blocks


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
    followed = [
        name for name in ("mean_steps", "tool_use_rate", "inline_rate", "suite_run_rate") if name in (*ALWAYS, *seen)
    ]
    blocks += sequences(words, sides, followed)
    silent = [name for name in WHERE_SEEN if name not in seen]
    if silent:
        titles = words.list([words.measure(name) for name in silent])
        blocks.append(Paragraph(words.say("behaviour.none", measures=titles)))
    return Section("behaviour", words.say("section.behaviour"), blocks)


def _occurs(found: Estimate) -> bool:
    return found.value is not None and found.value > 0


def _steps_used(words: Words, side: Side) -> Cell:
    """Mean steps of those allowed: as logged, else by the configured limit."""
    logged = side.estimate("steps_used")
    if logged.value is not None:
        return words.estimate(logged, share=True)
    limit = next((v for n, v in side.configuration.settings.items() if short(n) == "agent_steps"), None)
    mean = side.estimate("mean_steps").value
    if limit is None or mean is None or not limit.isdigit() or int(limit) == 0:
        return words.say("word.not_observed")
    return Shown(f"{100 * mean / int(limit):.0f} %", "", f"{mean:.2f} / {limit}")


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
            rows.append([side.name, *cells])
        head = [words.say("column.run"), *(words.say(f"quadrant.{cell}") for cell in ANSWER_AND_TOOL)]
        blocks.append(Table(head, rows, words.say(f"quadrant.{name}")))
    blocks += [identity for side in sides for identity in _identities(words, side)]
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


def _identities(words: Words, side: Side) -> list[Block]:
    """Identities of the tables: those that fail are named."""
    checked = [(table.name, *identity) for table in side.quadrants for identity in table.identities]
    failed = [text for _, text, left, right in checked if left != right]
    if failed:
        return [words.tell("alarm", "quadrant.identities_fail", run=side.name, which=words.list(failed))]
    return [words.tell("ok", "quadrant.identities_hold", run=side.name, n=len(checked))] if checked else []
