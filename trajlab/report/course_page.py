"""The course of a run on the audit's page, in English: what the written report says of it, and the numbers in full."""

from __future__ import annotations

from trajlab.measures.catalogue import MEASURES
from trajlab.measures.onsets import MOST_PERIODS
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.tables import Column, details, estimate_table, not_observed
from trajlab.report.text import Html, join
from trajlab.report.written.audit_report import side_of
from trajlab.report.written.course_sections import headline, over_the_run, what_changed
from trajlab.report.written.document import blocks_html
from trajlab.report.written.flow_sections import quadrant_flow
from trajlab.report.written.words import Words


def name_of(audit: EpochAudit) -> str:
    """Name of the run, or of all runs where they are audited together."""
    run = audit.trajectories.population.run
    return run if run is not None else ", ".join(audit.corpus.runs)


def told_first(audit: EpochAudit) -> Html:
    """For the conclusion: collapse or not, and first period against last."""
    return blocks_html(headline(Words("en"), name_of(audit), audit.course))


def changes(audit: EpochAudit) -> Html:
    """What changed: sentences, picture, onsets, every difference."""
    return blocks_html(what_changed(Words("en"), name_of(audit), audit.course))


def curves(audit: EpochAudit) -> Html:
    """Every measure over the periods of the run, and all its numbers folded below."""
    periods = audit.trajectories.periods
    if audit.course.against_previous:
        return Html("<p>One epoch is audited; its change against the one before stands under What changed.</p>")
    if len(periods) < 2:
        return not_observed("Change over the run", "the training step or epoch (one period only here)")
    shown = blocks_html(over_the_run(Words("en"), side_of(audit)))
    if len(periods) > MOST_PERIODS:
        return shown
    known = [measure for measure in MEASURES if audit.estimate(measure.name).value is not None]
    rows = [
        {"measure": measure.label, **{period: audit.estimate(measure.name, period) for period in periods}}
        for measure in known
    ]
    columns = [Column("measure", "measure"), *(Column(period, period, bar=False) for period in periods)]
    numbers = estimate_table(rows, columns)
    return join([shown, details("all numbers by period", numbers, note=f"{len(rows)} measures")], "\n")


def flow(audit: EpochAudit) -> Html:
    """Flow between the answer x tool quadrants."""
    return blocks_html(quadrant_flow(Words("en"), audit.course))
