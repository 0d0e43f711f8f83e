"""The first report's quick reference: symptom, cause and action, as far as rollouts can show it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import msgspec

from trajlab.measures.changes import PLATEAU
from trajlab.measures.score_series import ScoreSeries
from trajlab.stats import Estimate

FROM_METRICS = ("kl_runaway", "kl_spring", "entropy_drop", "clipfrac_low")
"""Symptoms that only a metric log shows."""

_Estimates = Callable[[str], Estimate]


class Symptom(msgspec.Struct, frozen=True):
    """One line of the quick reference and whether the run shows it."""

    key: str
    shown: bool | None
    """``None``: not observed."""
    evidence: dict[str, float | Estimate]
    """What the line looks at, by name."""
    line: float


def symptoms(measured: _Estimates, score: ScoreSeries | None) -> list[Symptom]:
    """Every symptom that rollouts can show.

    Args:
        measured: The whole-run estimate of a measure by name.
        score: The series of batch means.
    """
    std = None if score is None else score.std
    gains = _gains(score)
    smallest = min(gains, key=abs) if gains else None
    succeed = None if score is None or score.mean.value is None else score.maximum > 0.7 and score.mean.value < 0.5
    seen: dict[str, float | Estimate] = {}
    if score is not None and score.mean.value is not None:
        seen = {"maximum": score.maximum, "mean": score.mean.value}
    return [
        Symptom("score_unstable", None if std is None else std > 0.15, {} if std is None else {"std": std}, 0.15),
        _share("zero_reward_heavy", measured("reward_zero_rate"), 0.5, above=True),
        _share("one_step_heavy", measured("one_step_rate"), 0.5, above=True),
        _share("tool_use_low", measured("tool_use_rate"), 0.5, above=False),
        Symptom(
            "plateau",
            None if smallest is None else abs(smallest) < PLATEAU,
            {} if smallest is None else {"gain": smallest},
            PLATEAU,
        ),
        Symptom("few_succeed", succeed, seen, 0.5),
    ]


def _share(key: str, found: Estimate, line: float, *, above: bool) -> Symptom:
    if found.value is None:
        return Symptom(key, None, {}, line)
    return Symptom(key, found.value > line if above else found.value < line, {"share": found}, line)


def _gains(score: ScoreSeries | None) -> list[float]:
    values = [e.value for e in score.epochs if e.value is not None] if score is not None else []
    return [after - before for before, after in itertools.pairwise(values)]
