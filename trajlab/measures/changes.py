"""Change of a run from period to period, and whether its behaviour collapsed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from trajlab.measures.catalogue import BY_NAME
from trajlab.measures.compute import estimate
from trajlab.measures.contrast import Arm, Contrast, adjust, arms, contrast
from trajlab.measures.frame import Trajectories

FAMILY = ("correct_rate", "mean_reward", "mean_steps", "tool_use_rate", "any_test_rate", "suite_run_rate",
          "inline_rate", "edits_per_step", "think_fraction")  # fmt: skip
"""Followed over the periods: one declared family over all measures and all changes of period."""
COLLAPSIBLE = ("tool_use_rate", "any_test_rate", "edits_per_step")
"""Behaviours whose fall to less than half of what they were is called a collapse."""
COLLAPSED = 0.5
"""A behaviour has collapsed where it is below this share of its best earlier period."""
PLATEAU = 0.03
"""A gain of the mean reward below this, up or down, is a plateau (DEFINITIONS, Reward)."""


class Collapse(msgspec.Struct, frozen=True):
    """A behaviour that fell to less than half of its best earlier period, beyond chance, and stayed there."""

    measure: str
    onset: str
    """First period below the line."""
    best: str
    """Period of the best value before."""
    fall: Contrast
    """From the best period to the onset."""


class Changes(msgspec.Struct):
    """What changed from each period to the next."""

    periods: list[str]
    steps: list[Contrast]
    """Every measure of the family from each period to the next, Holm-adjusted together; empty for one period.

    A measure that is the same in all periods (never, or in every trajectory) is left out.
    """
    collapses: list[Collapse]
    watched: list[str]
    """Behaviours that occur and are observed in all periods, and so could have been seen to collapse."""


def changes_of(trajectories: Trajectories) -> Changes:
    """Changes over the periods of one run; none where there is only one."""
    periods = trajectories.periods
    if len(periods) < 2:
        return Changes(periods, [], [], [])
    parts = trajectories.frame.partition_by("period", as_dict=True, maintain_order=True)
    placed = arms([(period, parts[(period,)]) for period in periods])
    errors = trajectories.population.include_errors
    found = [
        contrast(BY_NAME[name], before, after, include_errors=errors)
        for name in FAMILY
        for before, after in itertools.pairwise(placed)
    ]
    known = [item for item in found if item.first.value is not None and item.second.value is not None]
    constant = {name for name in FAMILY if len({v for i in known if i.name == name for v in _ends(i)}) < 2}
    known = [item for item in known if item.name not in constant]
    watched = [name for name in COLLAPSIBLE if _seen(name, known) == len(periods) - 1]
    collapses = [collapse for name in watched if (collapse := _collapse(name, placed, errors)) is not None]
    return Changes(periods, adjust(known, FAMILY), collapses, watched)


def _ends(item: Contrast) -> tuple[float | None, float | None]:
    return item.first.value, item.second.value


def _seen(name: str, known: Sequence[Contrast]) -> int:
    """Changes of period over which a behaviour is observed, 0 where it never occurs."""
    own = [item for item in known if item.name == name]
    occurs = any((item.first.value or 0) > 0 or (item.second.value or 0) > 0 for item in own)
    return len(own) if occurs else 0


def _collapse(name: str, placed: Sequence[Arm], errors: bool) -> Collapse | None:
    """The last stretch of periods below the line, if it reaches to the end of the run."""
    values = [_value(name, arm, errors) for arm in placed]
    for onset in range(1, len(values)):
        best = max(range(onset), key=lambda place: values[place])
        line = COLLAPSED * values[best]
        if values[best] <= 0 or any(value >= line for value in values[onset:]):
            continue
        fall = contrast(BY_NAME[name], placed[best], placed[onset], include_errors=errors)
        if fall.direction == -1:
            return Collapse(name, placed[onset].name, placed[best].name, fall)
    return None


def _value(name: str, arm: Arm, errors: bool) -> float:
    value = estimate(arm.frame, BY_NAME[name], include_errors=errors).value
    return 0.0 if value is None else value
