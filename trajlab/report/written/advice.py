"""Recommendations with their evidence, and what was not observed: for one run or several."""

from __future__ import annotations

from collections.abc import Sequence

from trajlab.checks.finding import Finding
from trajlab.measures.catalogue import MEASURES
from trajlab.measures.changes import Changes, Collapse
from trajlab.measures.compare import Side
from trajlab.measures.symptoms import FROM_METRICS, Symptom, symptoms
from trajlab.report.tables import EstimateLike
from trajlab.report.written.document import Block, Bullets, Cell, Paragraph, Section, Table
from trajlab.report.written.run_sections import p_text
from trajlab.report.written.words import Words
from trajlab.stats import Estimate

_MOST_ROWS = 45
"""Rows of the table of changes; of more only those that are shown."""
_NEVER = 12
"""Measures named where a run has none of them."""
_NAMED = 4
"""Measures named where many lack the same trajectories."""


def recommendations(words: Words, sides: Sequence[Side], findings: Sequence[Finding] = ()) -> Section:
    """The quick reference, a row for each run and symptom that is shown, each with what it rests on."""
    rows: list[list[Cell]] = []
    fine, unseen = [], []
    for side in sides:
        for symptom in symptoms(side.estimate, side.score):
            name = words.say(f"symptom.{symptom.key}")
            if symptom.shown:
                rows.append(
                    [side.name, name, _evidence(words, symptom), words.say(f"cause.{symptom.key}"),
                     words.say(f"action.{symptom.key}")]
                )  # fmt: skip
            elif symptom.shown is None:
                unseen.append(words.pair(side.name, name))
            else:
                told = words.say("advice.with", name=name, value=_evidence(words, symptom))
                fine.append(words.pair(side.name, told))
    blocks: list[Block] = []
    if rows:
        head = [words.say(f"column.{key}") for key in ("run", "symptom", "evidence", "cause", "action")]
        blocks.append(Table(head, rows, words.say("advice.caption")))
    else:
        blocks.append(Paragraph(words.say("advice.none")))
    if fine:
        blocks += [Paragraph(words.say("advice.fine")), Bullets(fine)]
    if unseen:
        blocks.append(words.tell("unobserved", "advice.not_observed", symptoms=words.list(unseen)))
    metric = words.list([words.say(f"symptom.{key}") for key in FROM_METRICS])
    blocks.append(words.tell("unobserved", "advice.from_metrics", symptoms=metric))
    other = [_advised(f) for f in findings if f.status in ("warn", "alarm")]
    if other:
        blocks += [Paragraph(words.say("advice.findings")), Bullets(other)]
    return Section("recommendations", words.say("section.recommendations"), blocks)


def _advised(finding: Finding) -> str:
    return f"{finding.code} {finding.message}" + (f" → {finding.advice}" if finding.advice else "")


def _evidence(words: Words, symptom: Symptom) -> str:
    said = [
        f"{words.say(f'evidence.{name}')} {_value(words, value, symptom.key)}"
        for name, value in symptom.evidence.items()
    ]
    said.append(words.say("evidence.line", line=f"{100 * symptom.line:.0f} %" if _is_share(symptom) else symptom.line))
    return words.list(said)


def _is_share(symptom: Symptom) -> bool:
    return "share" in symptom.evidence


def _value(words: Words, value: float | Estimate, key: str) -> str:
    if isinstance(value, EstimateLike):
        return str(words.estimate(value, share=True))
    return f"{value:+.4f}".replace("-", "−") if key == "plateau" else f"{value:.4f}"


def unobserved(words: Words, sides: Sequence[Side]) -> Section:
    """Everything these reports usually show and the logs at hand do not."""
    missing: dict[str, list[str]] = {}
    items = []
    for side in sides:
        never = [words.measure(m.name) for m in MEASURES if side.estimate(m.name).value is None]
        missing.setdefault(_cut(words, never, _NEVER) + words.say("unobserved.result"), []).append(side.name)
    items += [words.say("unobserved.measures", run=words.list(runs), measures=said) for said, runs in missing.items()]
    for side in sides:
        items += _partly(words, side)
        if side.trajectories.set_aside or side.trajectories.unplaced:
            items.append(
                words.say("unobserved.aside", run=side.name, aside=f"{side.trajectories.set_aside:,}",
                          unplaced=f"{side.trajectories.unplaced:,}")
            )  # fmt: skip
    blocks: list[Block] = [Bullets([*items, words.say("unobserved.layers"), words.say("unobserved.causes")])]
    return Section("not_observed", words.say("section.not_observed"), blocks)


def _partly(words: Words, side: Side) -> list[str]:
    """Measures that some trajectories lack, by how many lack them; a long list is cut, and said to be."""
    by_count: dict[int, list[str]] = {}
    for m in MEASURES:
        found = side.estimate(m.name)
        if found.value is not None and found.missing:
            by_count.setdefault(found.missing, []).append(words.measure(m.name))
    said = []
    for count, titles in by_count.items():
        shown = _cut(words, titles, _NAMED)
        said.append(words.say("unobserved.partly", run=side.name, n=f"{count:,}", measures=shown))
    return said


def _cut(words: Words, titles: list[str], limit: int) -> str:
    """The first titles, and how many more there are."""
    rest = words.say("unobserved.more", n=len(titles) - limit) if len(titles) > limit else ""
    return words.list(titles[:limit]) + rest


def collapse_sentences(words: Words, name: str, changes: Changes) -> list[Block]:
    """Whether behaviour collapsed, with onset and evidence; or why that cannot be said."""
    if len(changes.periods) < 2:
        return [words.tell("unobserved", "collapse.one_period", run=name)]
    if not changes.watched:
        return [words.tell("unobserved", "collapse.not_observed", run=name)]
    found: list[Block] = [_collapse(words, name, item) for item in changes.collapses]
    found += [_collapse(words, name, item, shown=False) for item in changes.suspected]
    if not found:
        watched = words.list([words.measure(measure) for measure in changes.watched])
        found.append(words.tell("ok", "collapse.no", run=name, measures=watched))
    return found


def _collapse(words: Words, name: str, item: Collapse, *, shown: bool = True) -> Paragraph:
    return words.tell(
        "alarm" if shown else "warn",
        "collapse.yes" if shown else "collapse.suspected",
        run=name,
        measure=words.measure(item.measure),
        before=words.of_measure(item.measure, item.fall.first),
        after=words.of_measure(item.measure, item.fall.second),
        best=words.period(item.best),
        onset=words.period(item.onset),
        change=words.told(item.fall),
    )


def change_table(words: Words, name: str, changes: Changes) -> list[Block]:
    """Each measure of the family from period to period, with what is shown and what is not."""
    if not changes.steps:
        return [words.tell("unobserved", "collapse.one_period", run=name)]
    rows: list[list[Cell]] = []
    steps, blocks = changes.steps, list[Block]()
    if len(steps) > _MOST_ROWS:
        steps = [item for item in steps if item.direction]
        said = words.say("change.only_shown", run=name, shown=len(steps), n=len(changes.steps))
        blocks.append(Paragraph(said))
        if not steps:
            return blocks
    for item in steps:
        adjusted = words.say("word.not_observed") if item.adjusted is None else p_text(item.adjusted)
        verdict = words.say({1: "word.rose", -1: "word.fell", 0: "word.not_shown"}[item.direction])
        span = f"{words.period(item.before)} → {words.period(item.after)}"
        rows.append([words.measure(item.name), span, words.pooled(item), words.within(item), adjusted,
                     verdict])  # fmt: skip
    head = [words.say(f"column.{key}") for key in ("measure", "periods", "pooled", "within", "adjusted", "verdict")]
    blocks.append(Table(head, rows, words.say("change.caption", run=name, n=len(changes.family))))
    opposite = [f"{words.measure(i.name)} {words.period(i.before)} → {words.period(i.after)}"
                for i in changes.steps if i.opposite]  # fmt: skip
    if opposite:
        blocks.append(words.tell("warn", "change.opposite", which=words.list(opposite)))
    return blocks
