"""The written report of two stages of a run."""

from __future__ import annotations

from collections.abc import Sequence

from trajlab.measures.contrast import Contrast
from trajlab.measures.stages import PRIMARY, Stages, moved_to_quick_checks, verdict
from trajlab.report.written.document import Block, Bullets, Cell, Document, Paragraph, Section, Table, Tone
from trajlab.report.written.run_sections import p_text
from trajlab.report.written.words import Words

_TONES: dict[str, Tone] = {"held": "ok", "fell": "warn", "not_shown": "not_shown", "not_observed": "unobserved"}


def stages_report(found: Stages, language: str = "en") -> Document:
    """The written report of early against late.

    Raises:
        UsageError: Another language than those there are.
    """
    words = Words(language)
    early, late = found.stages
    conclusion: list[Block] = [
        _moved(words, found.contrasts, moved=found.moved),
        verification(words, found.executes, found.margin),
        *_whole(words, found),
    ]
    drawn = [
        words.say("stage.drawn", stage=words.say(f"stage.{stage.name}"), first=stage.first_step, last=stage.last_step,
                  n=f"{len(stage.drawn):,}", there=f"{stage.there:,}")
        for stage in (early, late)
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    unseen = []
    for item in [*found.contrasts, found.executes]:
        if item.pooled.value is None:
            unseen.append(words.measure(item.name))
            continue
        own = item.name in PRIMARY
        adjusted = words.say("word.exploratory") if not own else words.say("word.not_observed")
        if item.adjusted is not None:
            adjusted = p_text(item.adjusted)
        direction = words.say({1: "word.rose", -1: "word.fell", 0: "word.not_shown"}[item.direction])
        rows.append([words.measure(item.name), words.of_measure(item.name, item.first),
                     words.of_measure(item.name, item.second), words.pooled(item), words.within(item), adjusted,
                     direction])  # fmt: skip
    heads = ("measure", "early", "late", "pooled", "within", "adjusted", "verdict")
    family = words.list([words.measure(name) for name in PRIMARY])
    table = Table([words.say(f"column.{key}") for key in heads], rows, words.say("stage.caption", family=family))
    missing = words.say("stage.not_observed", measures=words.list(unseen))
    sections = [
        Section("conclusion", words.say("section.conclusion"), conclusion),
        Section("stages", words.say("section.stages"), [Bullets(drawn), table]),
        Section("not_observed", words.say("section.not_observed"),
                [Bullets([missing, words.say("unobserved.causes")])]),
    ]  # fmt: skip
    return Document(words.say("title.stages", run=found.run or ""), sections, language)


def _moved(words: Words, contrasts: Sequence[Contrast], *, moved: bool) -> Block:
    by_name = {item.name: item for item in contrasts}
    values = {name: words.told(by_name[f"{name}_rate"]) for name in ("any_test", "suite_run", "inline")}
    if by_name["any_test_rate"].pooled.value is None:
        return words.tell("unobserved", "stage.no_commands")
    if moved:
        return Paragraph(words.say("stage.moved", **values))
    return words.tell("not_shown", "stage.not_moved", **values)


def _whole(words: Words, found: Stages) -> list[Block]:
    """The same over all trajectories of the stages, where more are there than were drawn."""
    early, late = found.stages
    drawn = len(early.drawn) + len(late.drawn)
    if not found.whole or early.there + late.there == drawn or found.whole[0].pooled.value is None:
        return []
    return [
        Paragraph(words.say("stage.whole", early=f"{early.there:,}", late=f"{late.there:,}")),
        _moved(words, found.whole, moved=moved_to_quick_checks(found.whole)),
        verification(words, found.whole[-1], found.margin),
    ]


def verification(words: Words, executes: Contrast, margin: float) -> Block:
    """What may be said of verification as a whole."""
    key = verdict(executes, margin)
    return words.tell(
        _TONES[key],
        f"stage.verification_{key}",
        change=words.told(executes),
        margin=f"{100 * margin:.0f}",
        early=words.of_measure(executes.name, executes.first),
        late=words.of_measure(executes.name, executes.second),
    )
