"""L12: what trajectories do."""

from __future__ import annotations

from trajlab.checks.finding import Finding
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, listed, number, percent, plural
from trajlab.stats import Estimate

GONE = 0.01
"""Tools are gone where fewer trajectories than this use one."""
USED = 0.10
"""And were used where more than this did in an earlier period."""
_SHOWN = ("tool_use_rate", "think_fraction", "mean_steps", "invalid_rate", "repetition_rate", "hollow_rate")


def _by_period(facts: RunFacts, name: str) -> list[tuple[str, Estimate]]:
    if facts.audit is None:
        return []
    return facts.periods.get(name, [])


def tools_gone(facts: RunFacts) -> Finding:
    """Tools that were used and are no longer."""
    says, found = Says("D1201", "L12", "tools in the last period"), _by_period(facts, "tool_use_rate")
    known = [(name, e.value) for name, e in found if e.value is not None]
    if not known:
        return says.unobserved("tool calls and their results")
    said = ", ".join(f"{name} {percent(value)}" for name, value in known[:8])
    last, best = known[-1][1], max(value for _, value in known)
    if last >= GONE or best < USED:
        return says("ok", said)
    return says("alarm", f"gone: {said}", step=facts.starts.get(known[-1][0]),
                advice="Go back before the decline; read trajectories of the last period.")  # fmt: skip


def single_steps(facts: RunFacts) -> Finding:
    """Trajectories of one step only, in the last period."""
    says, found = Says("D1202", "L12", "steps in the last period"), _by_period(facts, "mean_steps")
    known = [(name, e.value) for name, e in found if e.value is not None]
    if not known:
        return says.unobserved("the agent's turns")
    said = ", ".join(f"{name} {number(round(value, 2))}" for name, value in known[:8])
    if round(known[-1][1], 2) > 1.0 or max(value for _, value in known) < 1.1:
        return says("ok", said)
    return says("warn", f"one step per trajectory: {said}", step=facts.starts.get(known[-1][0]),
                advice="The agent answers at once: read its only turn.")  # fmt: skip


def hollow(facts: RunFacts) -> Finding:
    """Batches of empty trajectories."""
    says, share = Says("D1203", "L12", "hollow batches"), facts.hollow
    if share is None:
        return says.unobserved("the rollouts, or the share of aborted trajectories")
    line = facts.line("hollow_batch", "share")
    steps = [int(step) for step in share.steps[share.values >= line]]
    if not steps:
        most, at = share.highest
        return says("ok", f"none; at most {percent(most)} of a batch is hollow (step {at})")
    return says(
        "warn",
        f"{plural(len(steps), 'batch', 'batches')} with {percent(line, 0)} and more hollow: steps {listed(steps)}",
        step=steps[0],
        advice="The system failed there, not the policy: leave these batches out, and read spikes elsewhere by them.",
    )


def panels(facts: RunFacts) -> list[Panel]:
    """Tools, think calls, steps."""
    found = []
    for name in _SHOWN:
        signal = facts.signal(name)
        if signal is None or not signal.values.any():
            continue
        lines = {"line": facts.line("alarm_think", "level")} if name == "think_fraction" else {}
        found.append(Panel(_TITLES[name], {name: signal}, share=name != "mean_steps", lines=lines))
    return found[:6]


_TITLES = {
    "tool_use_rate": "uses a tool",
    "think_fraction": "think calls of all calls",
    "mean_steps": "steps per trajectory",
    "invalid_rate": "invalid calls per step",
    "repetition_rate": "stuck or repetitive",
    "hollow_rate": "hollow trajectories",
}

LAYER = Layer(
    "L12",
    "Trajectory anomalies",
    "Do the agents still act?",
    (tools_gone, single_steps, hollow),
    panels,
    core=frozenset(
        {"A001", "A002", "A003", "A004", "A006", "B001", "B002", "B003", "B004", "B005", "B006", "D1201", "D1202"}
    ),
)
