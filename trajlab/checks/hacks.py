"""The finding of the hack screen: candidates by tier; whether they are hacks a reader decides."""

from __future__ import annotations

from trajlab.behavior.hack_rules import BY_ID, TIERS
from trajlab.checks.facts import Facts
from trajlab.checks.finding import Evidence, Finding, Status

CODE = "H001"
LINE = "hack_candidates"
TITLE = "hack candidates: trajectories by tier"
_ADVICE = (
    "Read the candidates below, tier 1 first; only a person can tell a hack from honest work. "
    "Their precision is not known until they are reviewed."
)
_SHOWN = 5


def hack_finding(facts: Facts) -> Finding:
    """What the screen found; warn and alarm go by the share of trajectories with a tier 1 candidate."""
    hacks = facts.hacks
    strong = hacks.tiers[1] if hacks is not None else None
    if hacks is None or strong is None or strong.value is None:
        message = "hack candidates: not observed"
        return _finding("unobserved", message, "Log the commands and edits of the agent, with their arguments.")
    warn, alarm = facts.line(LINE, "warn"), facts.line(LINE, "alarm")
    status: Status = "ok"
    if warn is not None and strong.value > warn:
        status = "warn"
    if alarm is not None and strong.low is not None and strong.low > alarm:
        status = "alarm"
    shares = "; ".join(f"tier {tier} ({word}) {hacks.tiers[tier]}" for tier, word in TIERS.items())
    unknown = f"; {hacks.timed_out} searches ran out of time: not known" if hacks.timed_out else ""
    seen = sum(rule.hits > 0 for rule in hacks.rules)
    finding = _finding(status, f"{TITLE}: {shares}; {seen} rules met{unknown}", _ADVICE if hacks.hits.height else "")
    finding.evidence = [
        Evidence(
            text=f"{row['rule']}: {BY_ID[row['rule']].title}", trajectory_id=row["trajectory_id"], step=row["step"]
        )
        for row in hacks.hits.filter(~hacks.hits["timed_out"]).head(_SHOWN).iter_rows(named=True)
    ]
    return finding


def _finding(status: Status, message: str, advice: str) -> Finding:
    return Finding(code=CODE, layer="L12", status=status, message=message, advice=advice)
