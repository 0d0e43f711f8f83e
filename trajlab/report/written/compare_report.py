"""The written report of several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

from trajlab.measures.budgets import KINDS, differing, unknown
from trajlab.measures.changes import Changes
from trajlab.measures.compare import PRIMARY, Comparison, Ranked
from trajlab.measures.configuration import short
from trajlab.measures.contrast import Contrast
from trajlab.measures.fairness import Facet
from trajlab.report.tables import number
from trajlab.report.written import advice, run_sections
from trajlab.report.written.document import Block, Cell, Document, Paragraph, Section, Table
from trajlab.report.written.run_sections import names, p_text
from trajlab.report.written.words import Words
from trajlab.stats import sample_size


def compare_report(found: Comparison, changes: Sequence[Changes], language: str = "en") -> Document:
    """The written report of a comparison; ``changes`` are those of each run, in the order of the runs.

    Raises:
        UsageError: Another language than those there are.
    """
    words, sides = Words(language), found.sides
    collapses = [
        block
        for side, own in zip(sides, changes, strict=True)
        for block in advice.collapse_sentences(words, side.name, own)
    ]
    tables = [
        block for side, own in zip(sides, changes, strict=True)
        for block in advice.change_table(words, side.name, own)
    ]  # fmt: skip
    sections = [
        Section("conclusion", words.say("section.conclusion"), [*_conclusion(words, found), *collapses]),
        run_sections.configuration(words, sides),
        run_sections.score(words, sides),
        run_sections.rewards(words, sides),
        run_sections.behaviour(words, sides),
        run_sections.quadrants(words, sides),
        Section("changes", words.say("section.changes"), tables),
        _differences(words, found),
        _budgets(words, found),
        _fairness(words, found),
        _contributions(words, found),
        advice.recommendations(words, sides),
        advice.unobserved(words, sides),
    ]
    return Document(words.say("title.compare", runs=words.list(names(sides))), sections, language)


def _conclusion(words: Words, found: Comparison) -> list[Block]:
    blocks: list[Block] = []
    for ranked in found.rankings:
        best, value = ranked.pooled[0]
        order = " > ".join(f"{name} {words.of_measure(ranked.name, e).value}" for name, e in ranked.pooled)
        blocks.append(
            Paragraph(
                words.say("conclusion.best", run=best, measure=words.measure(ranked.name),
                          value=words.of_measure(ranked.name, value), order=order)
            )
        )  # fmt: skip
    if not found.rankings:
        blocks.append(words.tell("unobserved", "conclusion.no_ranking"))
    shown = [item for item in found.contrasts if item.name in PRIMARY and item.direction]
    hidden = [item for item in found.contrasts if item.name in PRIMARY and not item.direction]
    blocks += [Paragraph(words.say("conclusion.shown", list=words.list([_short(words, item) for item in shown])))]
    blocks += [Paragraph(words.say("conclusion.not_shown", list=words.list([_short(words, item) for item in hidden])))]
    blocks += _budget_warning(words, found)
    named = [item for item in found.contributions if item.attributable is not None]
    blocks.append(
        Paragraph(words.say("conclusion.attributable", n=len(named), all=len(found.contributions)))
        if named
        else Paragraph(words.say("conclusion.not_attributable", all=len(found.contributions)))
    )
    return blocks


def _short(words: Words, item: Contrast) -> str:
    change = words.change(item.name, item.told)
    return f"{item.after} − {item.before}: {words.measure(item.name)} {change.value} {change.interval}".strip()


def _budget_warning(words: Words, found: Comparison) -> list[Block]:
    budgets = [side.budget for side in found.sides]
    blocks: list[Block] = []
    kinds = differing(budgets)
    if kinds:
        said = words.list([words.say(f"budget.{kind}") for kind in kinds])
        blocks.append(words.tell("warn", "budget.differ", kinds=said, budgets=budget_line(words, found)))
    unseen = unknown(budgets)
    if unseen:
        said = words.list([words.say(f"budget.{kind}") for kind in unseen])
        blocks.append(words.tell("unobserved", "budget.unknown", kinds=said))
    return blocks


def budget_line(words: Words, found: Comparison) -> str:
    """The budgets of all runs in one line, to stand beside a comparison."""
    said = []
    for kind in KINDS:
        amounts = [side.budget.amount(kind) for side in found.sides]
        if any(amount is not None for amount in amounts):
            each = ", ".join(f"{side.name} {number(a)}" for side, a in zip(found.sides, amounts, strict=True))
            said.append(f"{words.say(f'budget.{kind}')}: {each}")
    return "; ".join(said)


def _differences(words: Words, found: Comparison) -> Section:
    first = found.sides[0].name
    blocks: list[Block] = [Paragraph(words.say("difference.how", first=first, family=_family(words)))]
    blocks += _budget_warning(words, found)
    for side in found.sides[1:]:
        own = [item for item in found.contrasts if item.after == side.name and item.pooled.value is not None]
        rows: list[list[Cell]] = [_difference_row(words, item) for item in own]
        head = [words.say("column.measure"), first, side.name, *(words.say(f"column.{k}") for k in _DIFFERENCE_HEAD)]
        caption = words.say("difference.caption", run=side.name, first=first, budgets=budget_line(words, found))
        blocks.append(Table(head, rows, caption))
        opposite = [words.measure(item.name) for item in own if item.opposite]
        if opposite:
            blocks.append(words.tell("warn", "change.opposite", which=words.list(opposite)))
        if own and all(item.within.value is None for item in own):
            blocks.append(words.tell("unobserved", "difference.no_pairs", run=side.name, first=first))
        blocks += _power(words, own)
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
        words.change(item.name, item.pooled),
        words.change(item.name, item.within),
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
    if error <= 0 or plain is None:
        return []
    sigma = f"{abs(change.value) / error:.1f}"
    text = words.say("difference.power", run=item.after, first=item.before, sigma=sigma, n=f"{plain:,}",
                     points=f"{100 * abs(change.value):.2f}")  # fmt: skip
    return [Paragraph(text)]


def _budgets(words: Words, found: Comparison) -> Section:
    head = [words.say("column.run"), *(words.say(f"budget.{kind}") for kind in KINDS)]
    unseen = words.say("word.not_observed")
    rows: list[list[Cell]] = []
    for side in found.sides:
        amounts = [side.budget.amount(kind) for kind in KINDS]
        rows.append([side.name, *(unseen if amount is None else number(amount) for amount in amounts)])
    blocks: list[Block] = [Table(head, rows, words.say("budget.caption")), *_budget_warning(words, found)]
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
                        seed=found.seed, budgets=budget_line(words, found))  # fmt: skip
    table = Table(head, rows, caption)
    if ranked.same_order:
        return [table]
    return [table, words.tell("warn", "ranking.differ", measure=words.measure(ranked.name))]


def _fairness(words: Words, found: Comparison) -> Section:
    rows: list[list[Cell]] = [
        [
            f"{place}. {words.say(f'point.{point.key}')}",
            words.say(f"state.{point.state}"),
            "; ".join(_facet(words, facet, names(found.sides)) for facet in point.facets),
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
    return f"{words.say(f'facet.{facet.name}')}: {said}"


def _contributions(words: Words, found: Comparison) -> Section:
    rows: list[list[Cell]] = []
    for item in found.contributions:
        if item.settings is None:
            settings, verdict = words.say("word.not_observed"), words.say("contribution.unknown")
        else:
            unseen = words.say("word.not_observed")
            pairs = [f"{short(name)} {unseen if a is None else a} → {unseen if b is None else b}"
                     for name, (a, b) in item.settings.items()]  # fmt: skip
            settings = words.list(pairs)
            key = "one" if len(pairs) == 1 else "several" if pairs else "none"
            verdict = words.say(f"contribution.{key}", n=len(pairs))
        change = words.change(item.score.name, item.score.told)
        runs = f"{item.before} → {item.after}"
        rows.append([runs, words.measure(item.score.name), change, settings, verdict])
    head = [words.say(f"column.{key}") for key in ("runs", "measure", "score_change", "changed_settings", "verdict")]
    blocks: list[Block] = [
        Paragraph(words.say("contribution.how")),
        *_budget_warning(words, found),
        Table(head, rows, budget_line(words, found)),
    ]
    return Section("contributions", words.say("section.contributions"), blocks)
