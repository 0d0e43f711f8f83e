"""L9: memory."""

from __future__ import annotations

from trajlab.checks.finding import Finding
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, first_beyond, number

_MEMORY = ("memory.allocated", "memory.reserved", "memory.host")


def memory(facts: RunFacts) -> Finding:
    """Most memory allocated: level and growth."""
    says, used = Says("D901", "L9", "memory"), facts.signal(*_MEMORY)
    if used is None:
        return says.unobserved("the most device memory allocated at each step")
    change = used.change
    told = f"{number(used.lowest[0])} to {number(used.highest[0])} GB ({used.name})"
    told += "" if change is None else f", {change:+.1%} between the ends of the run"
    if change is None or change <= facts.line("memory_growth") or len(used.values) < 10:
        return says("ok", f"{told}; the device's size is not logged")
    line = (1 + facts.line("memory_growth")) * used.ends[0]
    return says(
        "warn",
        told,
        step=first_beyond(used, line, high=True),
        advice="Longer sequences, or a leak: it ends out of memory.",
    )


def panels(facts: RunFacts) -> list[Panel]:
    """Memory."""
    used = {name.removeprefix("memory."): s for name in _MEMORY if (s := facts.signal(name)) is not None}
    return [Panel("memory (GB)", used)]


LAYER = Layer("L9", "Memory", "Will it run out?", (memory,), panels)
