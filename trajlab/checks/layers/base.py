"""What a layer of the run diagnosis is, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import polars as pl

from trajlab.checks.alarms import Alarm
from trajlab.checks.facts import Facts, Reading
from trajlab.checks.finding import Evidence, Finding, Status
from trajlab.measures.applied import Applied
from trajlab.measures.configuration import Configuration
from trajlab.measures.course import Course
from trajlab.measures.group_signal import GroupSignal
from trajlab.measures.score_series import ScoreSeries
from trajlab.measures.signals import Signal, first_of
from trajlab.stats import Estimate, per_cent
from trajlab.stats.sequential import recent

SEVERITY = {"alarm": 0, "warn": 1, "ok": 2, "unobserved": 3, "not_applicable": 4}
"""A layer has the first of these that any of its findings has."""
_LOUD = ("alarm", "warn")


class Peer(msgspec.Struct):
    """Another run of the same arm: the same configuration, another seed."""

    name: str
    score: ScoreSeries | None


class RunFacts(msgspec.Struct):
    """All that the layers of one run may look at."""

    run: str
    signals: dict[str, Signal]
    """By common name of the metric or name of the measure."""
    thresholds: dict[str, dict[str, Any]]
    settings: Configuration
    applied: list[Applied]
    reading: Reading
    score: ScoreSeries | None = None
    audit: Facts | None = None
    """Of the rollouts; ``None``: there is only a metric log."""
    course: Course | None = None
    groups: GroupSignal | None = None
    rewards: pl.DataFrame | None = None
    """Reward, components, end and verdict of each trajectory; ``None`` without rollouts."""
    epoch_cuts: dict[str, list[int]] = {}
    """First step of each epoch, by what tells it."""
    periods: dict[str, list[tuple[str, Estimate]]] = {}
    """By measure, an estimate for each period."""
    starts: dict[str, int] = {}
    """First training step of each period."""
    peers: list[Peer] = []
    alarms: list[Alarm] = []
    """Every alarm of `trajlab.checks.alarms`, told or not."""
    components: pl.DataFrame | None = None
    """Components of the reward: ``trajectory_id``, ``period``, ``name``, ``value``; ``None`` without rollouts."""

    def line(self, name: str, kind: str = "warn") -> float:
        """A threshold."""
        return float(self.thresholds[name][kind])

    def signal(self, *names: str) -> Signal | None:
        """The first of these signals that has a number."""
        return first_of(self.signals, *names)

    @property
    def other_scale(self) -> str | None:
        """Why lines on scores say nothing here; ``None``: the rewards are of about 0 to 1."""
        known = [] if self.score is None else list(self.score.means)
        if self.rewards is not None:
            known += self.rewards["reward"].drop_nulls().to_list()
        for name in ("score.max", "score.min"):
            signal = self.signal(name)
            known += [] if signal is None else signal.values.tolist()
        most = max(map(abs, known), default=0.0)
        return f"rewards reach {number(most)}; the line is for rewards of about 0 to 1" if most > UNIT else None

    @property
    def hollow(self) -> Signal | None:
        """Share of hollow or aborted trajectories by step."""
        return self.signal("hollow_rate", "aborted.ratio")


Check = Callable[[RunFacts], Finding]


UNIT = 1.5
"""Lines on scores are for rewards of about 0 to 1; beyond this they say nothing."""
FEWEST = 8
"""Training steps from which a course over them is judged."""


class Panel(msgspec.Struct, frozen=True):
    """A small picture as data: curves over the training steps, lines, and marked steps."""

    title: str
    curves: dict[str, Signal]
    share: bool = False
    lines: dict[str, float] = {}
    """Thresholds to be drawn, by their word."""
    log: bool = False
    """On a logarithmic axis."""
    points: frozenset[str] = frozenset()
    """Curves that are drawn as points joined by lines, for they are logged now and then."""


class Layer(msgspec.Struct, frozen=True):
    """One of the fifteen layers, as data: its question, its checks, its pictures."""

    code: str
    title: str
    question: str
    checks: Sequence[Check]
    panels: Callable[[RunFacts], list[Panel]] = lambda _: []
    absent: Callable[[RunFacts], str | None] = lambda _: None
    """Why the layer does not apply to a run; ``None`` where it does."""
    core: frozenset[str] = frozenset()
    """Codes of which one must be observed for the layer to be judged; empty: any."""
    lead: str = ""
    """Code of the finding that speaks for the layer where it is loud, whatever came earlier."""


class LayerReport(msgspec.Struct, kw_only=True):
    """What one layer says of a run."""

    code: str
    title: str
    question: str
    status: Status
    message: str
    """The finding that decides, in its own words."""
    step: int | None = None
    """First training step of what decides."""
    advice: str = ""
    findings: list[Finding] = []
    panels: list[Panel] = []


def examine(layer: Layer, facts: RunFacts, more: Iterable[Finding] = ()) -> LayerReport:
    """Run the checks of a layer; the worst finding decides, and of several the earliest step.

    Args:
        layer: Which one.
        facts: The run.
        more: Findings of others about this layer: alarms, lines over rollouts.
    """
    why = layer.absent(facts)
    if why is not None:
        loud = [item for item in more if item.status in ("alarm", "warn")]
        findings = [Says(f"D{layer.code[1:]}00", layer.code, layer.title).not_applicable(why), *loud]
    else:
        findings = [*more, *(check(facts) for check in layer.checks)]
    findings.sort(key=_gravest_first)
    first = findings[0]
    status = first.status
    if status == "ok" and not _judged(layer, findings):
        first = next(item for item in findings if item.code in layer.core)
        status = "unobserved"
    spoken = next((item for item in findings if item.code == layer.lead and item.status in _LOUD), first)
    return LayerReport(
        code=layer.code,
        title=layer.title,
        question=layer.question,
        status=status,
        message=_message(spoken, findings),
        step=first.step,
        advice=spoken.advice,
        findings=findings,
        panels=[] if why is not None else [panel for panel in layer.panels(facts) if panel.curves],
    )


def _judged(layer: Layer, findings: Sequence[Finding]) -> bool:
    """What the layer is about is observed, not only what stands beside it."""
    seen = {item.code for item in findings if item.status in ("ok", *_LOUD)}
    return not layer.core or bool(seen & layer.core)


def _gravest_first(finding: Finding) -> tuple[int, bool, bool, int, str]:
    """By status; of loud ones the earliest, of the others those of the layer itself, in the order of their codes."""
    loud = finding.status in _LOUD
    undated = loud and finding.step is None
    return (
        SEVERITY[finding.status],
        undated,
        not loud and finding.code[0] != "D",
        (finding.step or 0) * loud,
        finding.code,
    )


def _message(spoken: Finding, findings: Sequence[Finding]) -> str:
    """What decides, and how much stands beside it."""
    others = sum(item.status in _LOUD for item in findings) - 1
    more = f" (and {plural(others, 'further finding')})" if others > 0 and spoken.status in _LOUD else ""
    return spoken.message + more


class Says:
    """Findings of one check, with its code, layer and title filled in."""

    def __init__(self, code: str, layer: str, title: str) -> None:
        self.code, self.layer, self.title = code, layer, title

    def __call__(
        self,
        status: Status,
        message: str,
        *,
        step: int | None = None,
        advice: str = "",
        evidence: Iterable[tuple[str, int | None]] = (),
    ) -> Finding:
        """A finding; evidence is text and step."""
        shown = [Evidence(text=text, step=at) for text, at in evidence]
        said = f"{self.title}: {message}"
        told = advice if status in ("warn", "alarm") else ""
        return Finding(
            code=self.code, layer=self.layer, status=status, step=step, message=said, evidence=shown, advice=told
        )

    def unobserved(self, to_log: str, why: str = "not observed") -> Finding:
        """Nothing is known: with what to log."""
        finding = self("unobserved", why)
        finding.advice = f"Log {to_log}."
        return finding

    def not_applicable(self, why: str) -> Finding:
        """There is nothing to look at, and that is right."""
        return self("not_applicable", why)


def number(value: float | None) -> str:
    """Four significant digits."""
    return "–" if value is None else f"{value:.4g}"


def percent(value: float | None, digits: int = 1) -> str:
    """A share in percent."""
    return "–" if value is None else f"{per_cent(value, digits)} %"


def listed(steps: Sequence[int], most: int = 8) -> str:
    """Steps in words: ``25``, ``25 and 31``, ``25, 31, 40 …``."""
    shown = [f"{step:,}" for step in steps[:most]]
    if len(steps) > most:
        return f"{', '.join(shown)} … ({len(steps)} steps)"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]])) if shown else "none"


def plural(count: int, one: str, several: str = "") -> str:
    """``1 step``, ``3 steps``."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def first_beyond(signal: Signal, line: float, *, high: bool, window: int = 5) -> int | None:
    """First step at which the median of the last ``window`` values is beyond a line; ``None``: never."""
    level = recent(signal.values[None, :], window)[0]
    beyond = level > line if high else level < line
    return int(signal.steps[int(beyond.argmax())]) if beyond.any() else None
