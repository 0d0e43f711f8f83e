"""What a check says, and what a gate demands."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["ok", "warn", "alarm", "unobserved", "not_applicable"]
GateStatus = Literal["passed", "failed", "inconclusive", "not_applicable"]


class Evidence(msgspec.Struct, kw_only=True):
    """One place that shows what a finding says."""

    text: str
    trajectory_id: str | None = None
    step: int | None = None
    source: str | None = None
    line: int | None = None


class Finding(msgspec.Struct, kw_only=True):
    """What one check says."""

    code: str
    layer: str
    status: Status
    step: int | None = None
    """Training step it is about."""
    message: str
    evidence: list[Evidence] = msgspec.field(default_factory=list)
    advice: str = ""


class Gate(msgspec.Struct, kw_only=True):
    """One condition a run must meet; missing data makes it inconclusive, never passed."""

    name: str
    status: GateStatus
    value: float | None = None
    n: int | None = None
    limit: float | None = None
    direction: Literal["at_least", "at_most", "equal"] | None = None
    """Which side of the limit is good."""
    message: str = ""
    severity: Literal["alarm", "warn"] = "alarm"
    """``warn``: counts only under ``--fail-on warn``."""
