"""The section of hack candidates: what the screen found, and the text for a person to judge."""

from __future__ import annotations

from trajlab.behavior.hack_rules import BY_ID, TIERS
from trajlab.measures.catalogue import HOW_TO_LOG
from trajlab.measures.hacks import Excerpt, excerpts
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.tables import Column, callout, details, estimate_table, not_observed
from trajlab.report.text import Html, escape, join, without_colours

SHOWN = 40
"""Excerpts in the section."""
_KNOWN = (
    "Candidates, not hacks: rules over commands and edits found them, and their precision is not known until a person "
    "has reviewed them. What no rule describes is not found."
)


def hack_candidates(audit: EpochAudit) -> Html:
    """Candidates by tier and rule, with folded excerpts."""
    hacks = audit.hacks
    if hacks is None:
        return not_observed("Hack candidates", HOW_TO_LOG["hacks"])
    tiers = [
        {"tier": f"{tier} ({word})", "trajectories with a candidate": hacks.tiers[tier]} for tier, word in TIERS.items()
    ]
    met = [item for item in hacks.rules if item.hits]
    rules = [
        {"rule": i.rule.id, "tier": i.rule.tier, "what": i.rule.title, "calls": i.hits, "share": i.trajectories}
        for i in met
    ]
    columns = [
        Column("rule", "rule"),
        Column("tier", "tier"),
        Column("what", "what was found"),
        Column("calls", "calls"),
        Column("share", "trajectories"),
    ]
    parts = [
        Html(f'<p class="more">{escape(_KNOWN)}</p>'),
        estimate_table(tiers, ["tier", "trajectories with a candidate"], caption="candidates by tier"),
    ]
    if rules:
        parts.append(
            estimate_table(rules, columns, caption=f"candidates by rule: {len(met)} of {len(hacks.rules)} met")
        )
    if hacks.timed_out:
        message = f"{hacks.timed_out} searches ran out of time: whether the rules are met there is not known"
        parts.append(callout("unobserved", message))
    never = ", ".join(item.rule.id for item in hacks.rules if not item.hits)
    if never:
        parts.append(Html(f'<p class="more">Looked for and not found: {escape(never)}.</p>'))
    return join([*parts, *_folded(audit)], "\n")


def _folded(audit: EpochAudit) -> list[Html]:
    assert audit.hacks is not None
    hits = audit.hacks.hits
    shown = [_one(item) for item in excerpts(audit.corpus, hits, SHOWN)]
    found = hits.height - audit.hacks.timed_out
    if found > SHOWN:
        shown.append(Html(f'<p class="more">{found - SHOWN:,} more are in the table <code>hits</code>.</p>'))
    return shown


def _one(item: Excerpt) -> Html:
    """One candidate, folded; the text of the hit is marked."""
    where = f"{item.task_id or 'task not recorded'}, step {item.step}"
    summary = f"tier {item.tier} · {BY_ID[item.rule].title if item.rule in BY_ID else item.rule} · {where}"
    note = f"{item.rule} · trajectory {item.trajectory_id} · call {item.call}"
    if not item.shown:
        return details(summary, Html("<p>The text was not kept.</p>"), note=note)
    cut = f'<span class="cut">… {item.left_out:,} characters left out …</span>' if item.left_out else ""
    before, shown, after = (escape(without_colours(text)) for text in (item.before, item.shown, item.after))
    return details(summary, Html(f"<pre>{before}<mark>{shown}</mark>{cut}{after}</pre>"), note=note)
