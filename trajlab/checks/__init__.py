"""Coded checks over estimates: findings and gates."""

from __future__ import annotations

from trajlab.checks.collapse import collapse_finding
from trajlab.checks.facts import Facts
from trajlab.checks.finding import Finding, Gate
from trajlab.checks.hacks import hack_finding
from trajlab.checks.lines import LINE_CHECKS
from trajlab.checks.reading import findings as reading_findings
from trajlab.checks.reading import gates
from trajlab.checks.tokens import token_findings

ORDER = {"alarm": 0, "warn": 1, "unobserved": 2, "ok": 3, "not_applicable": 4}
"""Findings are shown worst first."""


def run_checks(facts: Facts) -> tuple[list[Finding], list[Gate]]:
    """All checks of an audit: findings, worst first, and gates."""
    lines = [check.run(facts) for check in LINE_CHECKS]
    said = [*reading_findings(facts), *lines, collapse_finding(facts), hack_finding(facts), *token_findings(facts)]
    return sorted(said, key=lambda finding: (ORDER[finding.status], finding.code)), gates(facts)
