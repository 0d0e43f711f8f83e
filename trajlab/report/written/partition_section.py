"""How the epochs of each run are cut, whether the cuts agree, and the figures by each of them."""

from __future__ import annotations

from collections.abc import Sequence

from trajlab.measures.compare import Side
from trajlab.measures.partitions import CutFigures, Partition, disagreeing
from trajlab.report.written.course import course
from trajlab.report.written.document import Block, Bullets, Cell, Paragraph, Table
from trajlab.report.written.words import Words

_NAMED = 5
"""Training steps named where metric log and rollouts differ."""
_FOLLOWED = ("score", "correct_rate")
"""Figures whose course over the epochs is told for every cut."""


def partition_blocks(words: Words, sides: Sequence[Side]) -> list[Block]:
    """Whether the cuts of each run agree; where they do not, its figures by each."""
    blocks: list[Block] = []
    agreed: list[str] = []
    alone: list[str] = []
    untold: list[str] = []
    for side in sides:
        if len(side.partitions) < 2:
            (alone if side.partitions else untold).append(side.name)
        elif disagreeing(side.partitions):
            blocks.append(_disagree(words, side))
            blocks += [_by_cut(words, side, cut) for cut in _others(side)]
            blocks += _courses(words, side)
        else:
            agreed.append(f"{side.name} ({_starts(side.partitions[0])})")
    if agreed:
        blocks.append(words.tell("ok", "partition.agree", runs=words.list(agreed)))
    if alone:
        blocks.append(words.tell("unobserved", "partition.alone", runs=words.list(alone)))
    if untold:
        blocks.append(words.tell("unobserved", "partition.untold", runs=words.list(untold)))
    return blocks


def partition_warnings(words: Words, sides: Sequence[Side]) -> list[Block]:
    """A warning for each run whose epochs are cut in ways that disagree."""
    return [_disagree(words, side) for side in sides if disagreeing(side.partitions)]


def _disagree(words: Words, side: Side) -> Paragraph:
    cuts: dict[tuple[int, ...], list[Partition]] = {}
    for item in side.partitions:
        cuts.setdefault(tuple(item.starts), []).append(item)
    said = [
        words.say(
            "partition.cut",
            sources=words.list([words.say(f"cut.{item.source}", n=len(item.starts)) for item in own]),
            starts=_starts(own[0]),
            sizes=" + ".join(map(str, own[0].sizes)),
        )
        for own in cuts.values()
    ]
    first = side.partitions[0]
    by_epoch = side.trajectories.periods_by == "epoch"
    used = words.say(f"cut.{first.source}", n=len(first.starts)) if by_epoch else words.say("partition.not_used")
    return words.tell("warn", "partition.disagree", run=side.name, cuts=words.join(said), used=used)


def _starts(cut: Partition) -> str:
    return "/".join(map(str, cut.starts))


def _others(side: Side) -> list[CutFigures]:
    """Cuts that the tables by period do not show: all but the one that both scores and rollouts have there."""
    scored = side.score.epoch_starts if side.score is not None else side.rollout_starts
    return [cut for cut in side.cuts if not cut.partition.starts == side.rollout_starts == scored]


def _by_cut(words: Words, side: Side, cut: CutFigures) -> Table:
    head = [words.say("column.measure"), *(words.period(f"epoch {k}") for k in range(len(cut.partition.starts)))]
    rows: list[list[Cell]] = [
        [words.say("score.score") if name == "score" else words.measure(name),
         *(words.of_measure(name, estimate) for estimate in estimates)]
        for name, estimates in cut.figures.items()
        if any(estimate.value is not None for estimate in estimates)
    ]  # fmt: skip
    source = words.say(f"cut.{cut.partition.source}", n=len(cut.partition.starts))
    caption = words.say("partition.caption", run=side.name, source=source, starts=_starts(cut.partition))
    return Table(head, rows, caption)


def _courses(words: Words, side: Side) -> list[Block]:
    said = []
    for cut in _others(side):
        source = words.say(f"cut.{cut.partition.source}", n=len(cut.partition.starts))
        names = [f"epoch {k}" for k in range(len(cut.partition.starts))]
        for name in _FOLLOWED:
            if name in cut.figures:
                text = course(words, side.name, name, names, cut.figures[name])
                said.append(words.say("partition.course", course=text, source=source))
    return [Bullets(said)] if said else []


def score_sources(words: Words, sides: Sequence[Side]) -> list[Block]:
    """Whether the trainer's metric log states the scores that the rollouts have."""
    blocks: list[Block] = []
    same, only, none = [], [], []
    for side in sides:
        score = side.score
        if score is None:
            continue
        if score.source == "metrics":
            only.append(side.name)
        elif score.largest_gap is None:
            none.append(side.name)
        elif not score.gap_steps:
            same.append(words.say("score.compared", run=side.name, n=score.compared))
        else:
            named = words.list([str(step) for step in score.gap_steps[:_NAMED]])
            more = len(score.gap_steps) - _NAMED
            steps = named + (words.say("unobserved.more", n=more) if more > 0 else "")
            blocks.append(words.tell("warn", "score.differs", run=side.name, n=score.compared, steps=steps,
                                     k=len(score.gap_steps), gap=f"{score.largest_gap:.4f}"))  # fmt: skip
    if same:
        blocks.append(words.tell("ok", "score.same", runs=words.list(same)))
    if only:
        blocks.append(Paragraph(words.say("score.only_metrics", runs=words.list(only))))
    if none:
        blocks.append(words.tell("unobserved", "score.no_metrics", runs=words.list(none)))
    return blocks
