"""The written report of two stages of a run."""

from __future__ import annotations

from trajlab.measures.stages import PRIMARY, Stages
from trajlab.report.written.document import Block, Bullets, Cell, Document, Paragraph, Section, Table, Tone
from trajlab.report.written.run_sections import p_text
from trajlab.report.written.words import Words

_TONES: dict[str, Tone] = {"held": "ok", "fell": "warn", "not_shown": "unobserved", "not_observed": "unobserved"}


def stages_report(found: Stages, language: str = "en") -> Document:
    """The written report of early against late.

    Raises:
        UsageError: Another language than those there are.
    """
    words = Words(language)
    early, late = found.stages
    conclusion: list[Block] = [_moved(words, found), verification(words, found)]
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
        verdict = words.say({1: "word.rose", -1: "word.fell", 0: "word.not_shown"}[item.direction])
        rows.append([words.measure(item.name), words.of_measure(item.name, item.first),
                     words.of_measure(item.name, item.second), words.change(item.name, item.pooled),
                     words.change(item.name, item.within), adjusted, verdict])  # fmt: skip
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


def _moved(words: Words, found: Stages) -> Block:
    by_name = {item.name: item for item in found.contrasts}
    values = {
        name: words.change(f"{name}_rate", by_name[f"{name}_rate"].told) for name in ("any_test", "suite_run", "inline")
    }
    if by_name["any_test_rate"].pooled.value is None:
        return words.tell("unobserved", "stage.no_commands")
    return Paragraph(words.say("stage.moved" if found.moved else "stage.not_moved", **values))


def verification(words: Words, found: Stages) -> Block:
    """What may be said of verification as a whole."""
    key = found.verification
    return words.tell(
        _TONES[key],
        f"stage.verification_{key}",
        change=words.change(found.executes.name, found.executes.told),
        margin=f"{100 * found.margin:.0f}",
        early=words.of_measure(found.executes.name, found.executes.first),
        late=words.of_measure(found.executes.name, found.executes.second),
    )
