"""What may be said of the settings: score differences beside what changed with them, and validation scores."""

from __future__ import annotations

from collections.abc import Sequence

from trajlab.measures.compare import Comparison, Contribution
from trajlab.measures.configuration import short
from trajlab.measures.validation import START, ValidationDifference
from trajlab.report.tables import number
from trajlab.report.written.document import Block, Cell, Paragraph, Section, Table
from trajlab.report.written.words import Words


def contributions(words: Words, found: Comparison, budgets: Sequence[Block]) -> Section:
    """Every pair of runs: the change of the score, and all that was set otherwise.

    Args:
        words: The language.
        found: The comparison.
        budgets: What stands before the table: the budgets of the runs, with a warning where they differ.
    """
    rows = [_row(words, item) for item in found.contributions]
    keys = ("runs", "measure", "score_change", "relative", "within", "spread", "changed_settings", "verdict")
    head = [words.say(f"column.{key}") for key in keys]
    blocks: list[Block] = [Paragraph(words.say("contribution.how")), *budgets, Table(head, rows)]
    return Section("contributions", words.say("section.contributions"), blocks)


def _row(words: Words, item: Contribution) -> list[Cell]:
    unseen = words.say("word.not_observed")
    settings = unseen
    if item.settings is not None:
        pairs = [f"{short(name)} {unseen if a is None else a} → {unseen if b is None else b}"
                 for name, (a, b) in item.settings.items()]  # fmt: skip
        settings = words.list(pairs)
    one, other = item.score.first.value, item.score.second.value
    relative = unseen if not one or other is None else f"{100 * (other / one - 1):+.1f} %".replace("-", "−")
    spread = unseen if None in item.spread else " → ".join(number(value) for value in item.spread)
    return [
        f"{item.before} → {item.after}", words.measure(item.score.name), words.pooled(item.score), relative,
        words.within(item.score), spread, settings, _verdict(words, item),
    ]  # fmt: skip


def _verdict(words: Words, item: Contribution) -> str:
    if item.settings is None:
        return words.say("contribution.unknown")
    if item.score.pooled.value is None:
        return words.say("contribution.unobserved")
    count = len(item.settings)
    return words.say("contribution." + ("one" if count == 1 else "several" if count else "none"), n=count)


def validation_section(words: Words, found: Comparison) -> Section:
    """Validation scores of each run against the first: in standard errors, and what it would take to see them."""
    title = words.say("section.validation")
    if not found.validations:
        return Section("validation", title, [words.tell("unobserved", "validation.none")])
    first = found.sides[0].name
    blocks: list[Block] = []
    head = [words.say("score.score"), words.say("column.step")]
    rest = [words.say(f"column.{key}") for key in ("score_change", "sigma", "needed")]
    for side in found.sides[1:]:
        own = [item for item in found.validations if item.after == side.name]
        if own:
            rows = [_validation_row(words, item) for item in own]
            caption = words.say("validation.caption", run=side.name, first=first)
            blocks.append(Table([*head, first, side.name, *rest], rows, caption))
    lead = Paragraph(words.say("validation.how", source=_source(words, found.validations)))
    return Section("validation", title, [lead, *blocks])


def _source(words: Words, found: Sequence[ValidationDifference]) -> str:
    sizes = sorted({n for item in found if item.n is not None for n in item.n})
    if not sizes:
        return words.say("validation.unknown")
    return words.say("validation.counted", n=words.list([f"{n:,}" for n in sizes]))


def _validation_row(words: Words, item: ValidationDifference) -> list[Cell]:
    unseen = words.say("word.not_observed")
    arms = "" if item.n is None else f"n {item.n[0]:,} + {item.n[1]:,}"
    return [
        item.name.removeprefix(START),
        f"{item.step:,}",
        number(item.first),
        number(item.second),
        words.change("", item.change, arms),
        unseen if item.sigma is None else f"{item.sigma:.1f} σ",
        unseen if item.needed is None else f"{item.needed:,}",
    ]
