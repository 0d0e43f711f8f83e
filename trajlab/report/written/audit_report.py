"""The written report of one run."""

from __future__ import annotations

from trajlab.checks.collapse import CODE as COLLAPSE
from trajlab.checks.finding import Finding
from trajlab.checks.lines import LINE_CHECKS
from trajlab.measures.compare import Side, whole_side
from trajlab.measures.quadrants import reward_components
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.text import Html, join
from trajlab.report.written import advice, course_sections, flow_sections, run_sections
from trajlab.report.written.document import Block, Document, Paragraph, Section, block_html, section_html
from trajlab.report.written.files import write_markdown
from trajlab.report.written.partition_section import partition_warnings
from trajlab.report.written.words import Words


def side_of(audit: EpochAudit) -> Side:
    """The run of an audit as the sections want it."""
    run = audit.trajectories.population.run
    name = run if run is not None else ", ".join(audit.corpus.runs)
    answer, tool = reward_components(audit.corpus, audit.trajectories)
    components = [part for part in (answer, tool) if part is not None]
    return whole_side(name, audit.corpus, audit.trajectories, audit.measured, audit.quadrants, components)


def audit_report(audit: EpochAudit, language: str = "en") -> Document:
    """The written report of an audit.

    Raises:
        UsageError: Another language than those there are.
    """
    words, side = Words(language), side_of(audit)
    conclusion: list[Block] = [
        Paragraph(_lead(words, side)),
        *course_sections.headline(words, side.name, audit.course),
        *(words.tell(f.status, "conclusion.finding", code=f.code, text=_finding(words, f, side))
          for f in audit.findings if f.status in ("alarm", "warn") and f.code != COLLAPSE),
        *(words.tell("alarm", "conclusion.gate", name=gate.name, text=gate.message)
          for gate in audit.gates if gate.status in ("failed", "inconclusive")),
    ]  # fmt: skip
    sections = [
        Section("conclusion", words.say("section.conclusion"), conclusion),
        run_sections.configuration(words, [side]),
        run_sections.score(words, [side]),
        run_sections.rewards(words, [side]),
        run_sections.behaviour(words, [side]),
        run_sections.quadrants(words, [side]),
        Section("flow", words.say("section.flow"), flow_sections.quadrant_flow(words, audit.course)),
        Section(
            "changes",
            words.say("section.changes_one"),
            [
                *course_sections.what_changed(words, side.name, audit.course),
                *course_sections.over_the_run(words, side),
            ],
        ),
        advice.recommendations(words, [side], audit.findings if language == "en" else ()),
        advice.unobserved(words, [side]),
    ]
    title = words.say("title.audit", run=side.name, period=f" · {words.period(audit.period)}" if audit.period else "")
    return Document(title, sections, language)


def _lead(words: Words, side: Side) -> str:
    correct, reward = side.estimate("correct_rate"), side.estimate("mean_reward")
    return words.say(
        "conclusion.audit",
        run=side.name,
        trajectories=f"{side.budget.episodes:,}",
        tasks=f"{side.budget.tasks:,}",
        correct=words.of_measure("correct_rate", correct),
        reward=words.of_measure("mean_reward", reward),
    )


def _finding(words: Words, finding: Finding, side: Side) -> str:
    """The check's own message, or the language's words for it with the figure they rest on."""
    text = words.find(f"finding.{finding.code}")
    if text is None:
        return finding.message
    measure = next((check.measure for check in LINE_CHECKS if check.code == finding.code), None)
    if measure is None or side.estimate(measure).value is None:
        return text
    return words.pair(text, words.of_measure(measure, side.estimate(measure)))


def write_audit_report(audit: EpochAudit, language: str = "en") -> Html | None:
    """Write ``report.md`` to the run folder.

    Returns:
        The report as HTML where it is in another language than the audit's page; else what the page does not say
        itself, that epochs are cut in ways that disagree, or nothing to show.

    Raises:
        UsageError: Another language than those there are.
    """
    document = audit_report(audit, language)
    write_markdown(document)
    if language == "en":  # the page says the rest itself
        told = partition_warnings(Words(language), [side_of(audit)])
        return join([block_html(block) for block in told], "\n") if told else None
    return join([section_html(section) for section in document.sections], "\n")
