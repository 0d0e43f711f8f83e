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
"""Followed over the periods: one declared family over all measures and all pairs of periods that are compared."""
COLLAPSIBLE = ("tool_use_rate", "any_test_rate", "edits_per_step")
"""Behaviours whose fall to less than half of what they were is called a collapse."""
COLLAPSED = 0.5
"""A behaviour has collapsed where it is below this share of its best earlier period."""
CROWDED = 0.15
"""Think calls crowd out the others where they are beyond chance above this share of all calls (DEFINITIONS, Think)."""
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
    """From the best period to the onset; adjusted for every pair of periods of every behaviour that was watched."""


class Crowding(msgspec.Struct, frozen=True):
    """Think calls that rose until they crowd out the others at the end of the run."""

    onset: str
    """First period of the stretch above the line that reaches to the end."""
    rise: Contrast
    """From the first period to the last."""


class Changes(msgspec.Struct):
    """What changed over the periods of a run."""

    periods: list[str]
    family: list[Contrast]
    """Every measure of the family, each period against the one before and against the first: adjusted together.

    Empty for one period. A measure that is the same in all periods (never, or in every trajectory) is left out.
    """
    collapses: list[Collapse]
    watched: list[str]
    """Behaviours that occur and are observed in all periods, and so could have been seen to collapse."""
    suspected: list[Collapse] = msgspec.field(default_factory=list)
    """Watched behaviours below half of their best to the end of the run, but not beyond chance."""
    crowding: Crowding | None = None
    constant: list[str] = msgspec.field(default_factory=list)
    """Measures of the family that are observed and the same in all periods."""

    @property
    def steps(self) -> list[Contrast]:
        """Each period against the one before."""
        pairs = set(itertools.pairwise(self.periods))
        return [item for item in self.family if (item.before, item.after) in pairs]

    @property
    def since_first(self) -> list[Contrast]:
        """Each later period against the first, which is the baseline."""
        return [item for item in self.family if item.before == self.periods[0]]

    @property
    def measures(self) -> list[str]:
        """Measures of the family that are observed and not the same throughout."""
        return list(dict.fromkeys(item.name for item in self.family))


def changes_of(trajectories: Trajectories) -> Changes:
    """Changes over the periods of one run; none where there is only one."""
    periods = trajectories.periods
    if len(periods) < 2:
        return Changes(periods, [], [], [])
    placed, errors = period_arms(trajectories), trajectories.population.include_errors
    pairs = [*itertools.pairwise(range(len(placed))), *((0, later) for later in range(2, len(placed)))]
    found = [
        contrast(BY_NAME[name], placed[one], placed[other], include_errors=errors)
        for name in FAMILY
        for one, other in pairs
    ]
    known, family = observed(found), adjust(varying(found), FAMILY)
    changes = Changes(periods, family, [], [])
    changes.constant = [name for name in dict.fromkeys(item.name for item in known) if name not in changes.measures]
    pairs_in_turn = set(itertools.pairwise(periods))
    in_turn = [item for item in known if (item.before, item.after) in pairs_in_turn]
    changes.watched = [name for name in COLLAPSIBLE if _seen(name, in_turn) == len(periods) - 1]
    tests = len(changes.watched) * len(periods) * (len(periods) - 1) // 2
    falls = [_collapse(name, placed, errors, tests) for name in changes.watched]
    changes.collapses = [fall for fall in falls if fall is not None and fall.fall.direction == -1]
    changes.suspected = [fall for fall in falls if fall is not None and fall.fall.direction != -1]
    changes.crowding = _crowding(changes.since_first, periods)
    return changes


def period_arms(trajectories: Trajectories) -> list[Arm]:
    """The periods of a run as arms, in order."""
    parts = trajectories.frame.partition_by("period", as_dict=True, maintain_order=True)
    return arms([(period, parts[(period,)]) for period in trajectories.periods])


def observed(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """Contrasts observed on both sides."""
    return [item for item in contrasts if item.first.value is not None and item.second.value is not None]


def varying(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """Contrasts observed on both sides, of measures that are not the same in all periods."""
    known = observed(contrasts)
    values: dict[str, set[float | None]] = {}
    for item in known:
        values.setdefault(item.name, set()).update(_ends(item))
    return [item for item in known if len(values[item.name]) > 1]


def _ends(item: Contrast) -> tuple[float | None, float | None]:
    return item.first.value, item.second.value


def _seen(name: str, known: Sequence[Contrast]) -> int:
    """Changes of period over which a behaviour is observed, 0 where it never occurs."""
    own = [item for item in known if item.name == name]
    occurs = any((item.first.value or 0) > 0 or (item.second.value or 0) > 0 for item in own)
    return len(own) if occurs else 0


def _collapse(name: str, placed: Sequence[Arm], errors: bool, tests: int) -> Collapse | None:
    """The last stretch of periods below the line, if it reaches to the end of the run; else ``None``.

    Its onset is the first period whose fall is beyond chance or, where none is, the first. The best period is chosen
    by looking at all, so the test counts every pair of periods (Bonferroni).
    """
    values = [_value(name, arm, errors) for arm in placed]
    first: Collapse | None = None
    for onset in range(1, len(values)):
        best = max(range(onset), key=lambda place: values[place])
        line = COLLAPSED * values[best]
        if values[best] <= 0 or any(value >= line for value in values[onset:]):
            continue
        fall = contrast(BY_NAME[name], placed[best], placed[onset], include_errors=errors)
        if fall.p_value is not None:
            fall = msgspec.structs.replace(fall, adjusted=min(1.0, fall.p_value * tests))
        found = Collapse(name, placed[onset].name, placed[best].name, fall)
        if fall.direction == -1:
            return found
        first = first or found
    return first


def _crowding(since_first: Sequence[Contrast], periods: Sequence[str]) -> Crowding | None:
    """The last stretch of periods with think calls above the line, if it reaches to the end of the run."""
    own = [item for item in since_first if item.name == "think_fraction"]
    if not own or own[-1].after != periods[-1] or own[-1].direction != 1:
        return None
    stretch = list(itertools.takewhile(lambda item: (item.second.low or 0.0) > CROWDED, reversed(own)))
    return Crowding(stretch[-1].after, own[-1]) if stretch else None


def _value(name: str, arm: Arm, errors: bool) -> float:
    value = estimate(arm.frame, BY_NAME[name], include_errors=errors).value
    return 0.0 if value is None else value
