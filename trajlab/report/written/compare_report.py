"""The written report of several runs side by side."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from trajlab.measures.budgets import KINDS, differing, unknown
from trajlab.measures.changes import Changes
from trajlab.measures.compare import PRIMARY, Comparison, Ranked, Side
from trajlab.measures.contrast import Contrast
from trajlab.measures.fairness import Facet
from trajlab.measures.partitions import disagreeing
from trajlab.report.tables import number
from trajlab.report.written import advice, figures, run_sections
from trajlab.report.written.contribution_section import contributions, validation_section
from trajlab.report.written.document import Block, Cell, Document, Paragraph, Section, Table
from trajlab.report.written.run_sections import names, p_text
from trajlab.report.written.words import Words
from trajlab.stats import difference_standard_error, sample_size


def compare_report(found: Comparison, changes: Sequence[Changes], language: str = "en") -> Document:
    """The written report of a comparison; ``changes`` are those of each run, in the order of the runs.

    Raises:
        UsageError: Another language than those there are.
    """
    words, sides = Words(language), found.sides
    collapses = _collapses(words, sides, changes)
    tables = [
        block for side, own in zip(sides, changes, strict=True)
        for block in advice.change_table(words, side.name, own)
    ]  # fmt: skip
    sections = [
        Section("conclusion", words.say("section.conclusion"), _conclusion(words, found, collapses)),
        run_sections.configuration(words, sides),
        run_sections.score(words, sides),
        run_sections.rewards(words, sides),
        run_sections.behaviour(words, sides),
        run_sections.quadrants(words, sides),
        Section("changes", words.say("section.changes"), tables),
        _differences(words, found),
        _budgets(words, found),
        _fairness(words, found),
        contributions(words, found, _budget_warning(words, found) or [Paragraph(budget_line(words, sides))]),
        validation_section(words, found),
        advice.recommendations(words, sides),
        advice.unobserved(words, sides),
    ]
    return Document(words.say("title.compare", runs=words.list(names(sides))), sections, language)


def _collapses(words: Words, sides: Sequence[Side], changes: Sequence[Changes]) -> list[Block]:
    """Runs whose behaviour collapsed, each by itself; then in one sentence each those that did not and those unseen."""
    told: dict[str, list[tuple[str, Changes]]] = {}
    alarms: list[Block] = []
    for side, own in zip(sides, changes, strict=True):
        if own.collapses:
            alarms += advice.collapse_sentences(words, side.name, own)
        else:
            alike = ",".join(own.watched) if len(own.periods) > 1 else "one"
            told.setdefault(alike, []).append((side.name, own))
    rest = [
        block
        for group in told.values()
        for block in advice.collapse_sentences(words, words.list([name for name, _ in group]), group[0][1])
    ]
    return [*alarms, *rest]


def _conclusion(words: Words, found: Comparison, collapses: Sequence[Block]) -> list[Block]:
    blocks: list[Block] = _copies(words, found)
    blocks += [_first(words, ranked) for ranked in found.rankings]
    if not found.rankings:
        blocks.append(words.tell("unobserved", "conclusion.no_ranking"))
    blocks += [*_ceiling(words, found), *collapses]
    shown = [item for item in found.contrasts if item.name in PRIMARY and item.direction]
    hidden = [item for item in found.contrasts if item.name in PRIMARY and not item.direction]
    for key, items in (("conclusion.shown", shown), ("conclusion.not_shown", hidden)):
        said = words.join([_short(words, item) for item in items]) or words.say("word.none")
        blocks.append(Paragraph(words.say(key, first=found.sides[0].name, list=said)))
    blocks += [*_budget_warning(words, found), *_budgets_unseen(words, found)]
    named = [f"{item.before} → {item.after}" for item in found.contributions if item.attributable is not None]
    whole = len(found.contributions)
    blocks.append(
        Paragraph(words.say("conclusion.attributable", n=len(named), all=whole, pairs=words.list(named)))
        if named
        else Paragraph(words.say("conclusion.not_attributable", all=whole))
    )
    cut = [side.name for side in found.sides if disagreeing(side.partitions)]
    if cut:
        blocks.append(words.tell("warn", "partition.short", runs=words.list(cut)))
    return blocks


def _ceiling(words: Words, found: Comparison) -> list[Block]:
    """How far the best batch of the first run in reward lies above its mean, and how many rewards are zero."""
    ranked = next((item for item in found.rankings if item.name == "mean_reward"), None)
    side = next((one for one in found.sides if ranked is not None and one.name == ranked.pooled[0][0]), None)
    if side is None or side.score is None or side.score.mean.value is None:
        return []
    step = side.score.steps[side.score.means.index(side.score.maximum)]
    zero = words.of_measure("reward_zero_rate", side.estimate("reward_zero_rate"))
    return [Paragraph(words.say("conclusion.ceiling", run=side.name, mean=number(side.score.mean.value),
                                maximum=f"{side.score.maximum:.4f}", step=step, zero=zero))]  # fmt: skip


def _first(words: Words, ranked: Ranked) -> Block:
    """Which run is first, or which are level."""
    value = ranked.pooled[0][1]
    level = [name for name, e in ranked.pooled if e.value == value.value]
    order = f"{ranked.pooled[0][0]} {words.of_measure(ranked.name, value).value}"
    for (_, before), (name, e) in itertools.pairwise(ranked.pooled):
        order += f" {'=' if e.value == before.value else '>'} {name} {words.of_measure(ranked.name, e).value}"
    title, shown = words.measure(ranked.name), words.of_measure(ranked.name, value)
    if len(level) > 1:
        return Paragraph(words.say("conclusion.tie", runs=words.list(level), measure=title, value=shown, order=order))
    return Paragraph(words.say("conclusion.best", run=level[0], measure=title, value=shown, order=order))


def _copies(words: Words, found: Comparison) -> list[Block]:
    """What two runs have in common that makes their comparison void."""
    blocks: list[Block] = []
    for item in found.copies:
        if item.same:
            runs = words.list([item.before, item.after])
            blocks.append(words.tell("warn", "conclusion.identical", runs=runs))
        else:
            blocks.append(words.tell("warn", "conclusion.copies", one=item.after, other=item.before,
                                     n=f"{item.copies:,}"))  # fmt: skip
    return blocks


def _short(words: Words, item: Contrast) -> str:
    change = words.told(item)
    return words.pair(item.after, f"{words.measure(item.name)} {change.value} {change.interval}".strip())


def _budget_warning(words: Words, found: Comparison) -> list[Block]:
    """Where the budgets of all runs differ, with them."""
    kinds = differing([side.budget for side in found.sides])
    if not kinds:
        return []
    said = words.list([words.say(f"budget.{kind}") for kind in kinds])
    return [words.tell("warn", "budget.differ", kinds=said, budgets=budget_line(words, found.sides))]


def _budgets_unseen(words: Words, found: Comparison) -> list[Block]:
    unseen = unknown([side.budget for side in found.sides])
    if not unseen:
        return []
    said = words.list([words.say(f"budget.{kind}") for kind in unseen])
    return [words.tell("unobserved", "budget.unknown", kinds=said)]


def budget_line(words: Words, sides: Sequence[Side]) -> str:
    """The budgets of some runs in one line, to stand beside a comparison."""
    said = []
    for kind in KINDS:
        amounts = [side.budget.amount(kind) for side in sides]
        if any(amount is not None for amount in amounts):
            each = words.list([f"{side.name} {number(a)}" for side, a in zip(sides, amounts, strict=True)])
            said.append(words.pair(words.say(f"budget.{kind}"), each))
    return words.join(said)


def _differences(words: Words, found: Comparison) -> Section:
    first = found.sides[0].name
    blocks: list[Block] = [Paragraph(words.say("difference.how", first=first, family=_family(words)))]
    blocks += _budget_warning(words, found)
    blocks += figures.differences(words, first, found.contrasts)
    for side in found.sides[1:]:
        both = [item for item in found.contrasts if item.after == side.name]
        own = [item for item in both if item.pooled.value is not None and (item.first.value or item.second.value)]
        rows: list[list[Cell]] = [_difference_row(words, item) for item in own]
        head = [words.say("column.measure"), first, side.name, *(words.say(f"column.{k}") for k in _DIFFERENCE_HEAD)]
        budgets = budget_line(words, [found.sides[0], side])
        caption = words.say("difference.caption", run=side.name, first=first, budgets=budgets)
        blocks.append(Table(head, rows, caption))
        never = [words.measure(item.name) for item in both if item not in own]
        if never:
            blocks.append(Paragraph(words.say("behaviour.none", measures=words.list(never))))
        opposite = [words.measure(item.name) for item in own if item.opposite]
        if opposite:
            blocks.append(words.tell("warn", "change.opposite", which=words.list(opposite)))
        if own and all(item.within.value is None for item in own):
            blocks.append(words.tell("unobserved", "difference.no_pairs", run=side.name, first=first))
        blocks += _power(words, own)
    blocks += _methods(words, found.contrasts)
    return Section("differences", words.say("section.differences"), blocks)


_DIFFERENCE_HEAD = ("pooled", "within", "adjusted", "verdict")


def _family(words: Words) -> str:
    return words.list([words.measure(name) for name in PRIMARY])


def _difference_row(words: Words, item: Contrast) -> list[Cell]:
    adjusted = words.say("word.exploratory")
    if item.name in PRIMARY:
        adjusted = words.say("word.not_observed") if item.adjusted is None else p_text(item.adjusted)
    verdict = words.say({1: "word.higher", -1: "word.lower", 0: "word.not_shown"}[item.direction])
    return [
        words.measure(item.name),
        words.of_measure(item.name, item.first),
        words.of_measure(item.name, item.second),
        words.pooled(item),
        words.within(item),
        adjusted,
        verdict,
    ]


def _power(words: Words, own: Sequence[Contrast]) -> list[Block]:
    """The difference of correctness in standard errors, and what it would take to see one of its size."""
    item = next((item for item in own if item.name == "correct_rate"), None)
    if item is None or item.first.value is None or item.second.value is None:
        return []
    change = item.pooled
    if change.value is None or change.low is None or change.high is None or change.value == 0:
        return []
    error = (change.high - change.low) / (2 * 1.959964)
    plain = sample_size(item.second.value, item.first.value)
    unclustered = difference_standard_error(item.second.value, item.first.value, *_sizes(item))
    if error <= 0 or plain is None or unclustered <= 0:
        return []
    effect = max((error / unclustered) ** 2, 1.0)
    clustered = sample_size(item.second.value, item.first.value, design_effect=effect)
    text = words.say("difference.power", run=item.after, first=item.before, sigma=f"{abs(change.value) / error:.1f}",
                     n=f"{plain:,}", clustered=f"{clustered:,}", effect=f"{effect:.2f}",
                     points=f"{100 * abs(change.value):.2f}")  # fmt: skip
    return [Paragraph(text)]


def _sizes(item: Contrast) -> tuple[float, float]:
    return item.second.denominator or 1.0, item.first.denominator or 1.0


def _methods(words: Words, contrasts: Sequence[Contrast]) -> list[Block]:
    """How differences, intervals and p-values were made."""
    known = [item for item in contrasts if item.pooled.value is not None]
    if not known:
        return []
    pooled = sorted({item.pooled.method for item in known})
    within = sorted({item.within.method for item in known if item.within.value is not None})
    tests = sorted({item.test for item in known if item.p_value is not None})
    return [Paragraph(words.say("difference.methods", pooled=words.join(pooled),
                                within=words.join(within) or words.say("word.none"),
                                tests=words.join(tests) or words.say("word.none")))]  # fmt: skip


def _budgets(words: Words, found: Comparison) -> Section:
    head = [words.say("column.run"), *(words.say(f"budget.{kind}") for kind in KINDS)]
    unseen = words.say("word.not_observed")
    rows: list[list[Cell]] = []
    for side in found.sides:
        amounts = [side.budget.amount(kind) for kind in KINDS]
        rows.append([side.name, *(unseen if amount is None else number(amount) for amount in amounts)])
    blocks: list[Block] = [Table(head, rows, words.say("budget.caption")), *_budget_warning(words, found),
                           *_budgets_unseen(words, found)]  # fmt: skip
    for ranked in found.rankings:
        blocks += _ranking(words, ranked, found)
    return Section("ranking", words.say("section.ranking"), blocks)


def _ranking(words: Words, ranked: Ranked, found: Comparison) -> list[Block]:
    rows: list[list[Cell]] = [
        [f"{place}", one, words.of_measure(ranked.name, e), other, words.of_measure(ranked.name, equal)]
        for place, ((one, e), (other, equal)) in enumerate(zip(ranked.pooled, ranked.equal, strict=True), 1)
    ]
    head = [words.say(f"column.{key}") for key in ("place", "all_episodes", "value", "equal_episodes", "value")]
    caption = words.say("ranking.caption", measure=words.measure(ranked.name), n=f"{ranked.episodes:,}",
                        seed=found.seed)  # fmt: skip
    table = Table(head, rows, caption)
    if ranked.same_order:
        return [table]
    return [table, words.tell("warn", "ranking.differ", measure=words.measure(ranked.name))]


def _fairness(words: Words, found: Comparison) -> Section:
    rows: list[list[Cell]] = [
        [
            f"{place}. {words.say(f'point.{point.key}')}",
            words.say(f"state.{point.state}"),
            words.join([_facet(words, facet, names(found.sides)) for facet in point.facets]),
        ]
        for place, point in enumerate(found.fairness, 1)
    ]
    head = [words.say(f"column.{key}") for key in ("point", "verdict", "evidence")]
    counts = {state: sum(point.state == state for point in found.fairness) for state in ("same", "differs", "unknown")}
    lead = Paragraph(words.say("fairness.lead", **counts))
    return Section("fairness", words.say("section.fairness"), [lead, Table(head, rows)])


def _facet(words: Words, facet: Facet, runs: Sequence[str]) -> str:
    """One facet: its state and what each run has."""
    known = [value for value in facet.values if value is not None]
    said = words.say(f"state.{facet.state}")
    if facet.state == "same":
        said += f" ({known[0]})"
    elif known:
        unseen = words.say("word.not_observed")
        values = zip(runs, facet.values, strict=True)
        said += f" ({words.list([f'{run} {unseen if value is None else value}' for run, value in values])})"
    return words.pair(words.say(f"facet.{facet.name}"), said)
