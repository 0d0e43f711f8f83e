"""Token arrays of one trajectory to counts and sums: masks, log-probabilities, values, versions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trajlab.behavior.log_ratios import log_ratio_bins
from trajlab.formats._trainer_rows import Fields, Row
from trajlab.records import Problem, TokenFacts

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

FARTHEST = 50.0
"""Log-ratios beyond this enter the sums as this: their exponentials would drown or overflow every other."""
HUGE = 1e100
"""Values, returns and advantages from here on are no numbers of a trainer; their squares would overflow."""
NOT_BY_CHANCE = 16
"""So many log-probabilities in a row that are exactly zero were not generated: an engine writes zeros there."""


def numbers(fields: Fields, name: str) -> FloatArray | None:
    """A list of numbers as an array, null as NaN; ``None`` where there is none, or where it holds anything else."""
    values = fields.items(name)
    if not values:
        return None
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None or array.ndim != 1:
        fields.wrong(name, "list of numbers")
        return None
    return array


def same_length(lengths: Mapping[str, int | None], row: Row, problems: list[Problem], native_id: str | None) -> bool:
    """Whether what is recorded has one length; where not, a problem tells, and nothing is made of the arrays."""
    known = {name: length for name, length in lengths.items() if length is not None}
    if len(set(known.values())) < 2:
        return True
    said = ", ".join(f"`{name}` {length:,}" for name, length in known.items())
    problems.append(row.problem("token_lengths", f"token arrays of one trajectory differ in length: {said}", native_id))
    return False


def count_mask(facts: TokenFacts, trained: BoolArray, behaviour: FloatArray | None, turns: int) -> None:
    """Count the positions of a sequence (prompt excluded or not, padding excluded) by who wrote them.

    Where no log-probabilities say otherwise, a position that is not trained on, after the first that is, is an
    observation. Engines write a log-probability of exactly zero where they generated nothing, but a policy that is
    sure of a token has the same. So a trained-on position counts as an observation only where the mask has fewer
    stretches than the agent has turns (an observation between two turns was not masked): those without
    log-probability or, where none are recorded, one for each stretch that is missing.

    Args:
        facts: Gets ``response_tokens``, ``observation_tokens``, ``trained_tokens`` and ``trained_observation``.
        trained: Whether each position is trained on, from the first token of the response.
        behaviour: Log-probabilities at the same positions.
        turns: Turns of the agent.
    """
    kept = int(np.count_nonzero(trained))
    silent = ~trained if behaviour is None else ~trained & (behaviour == 0)
    observed = int(np.count_nonzero(silent))
    wrong = 0
    if kept and turns > 1:
        stretches = int(np.count_nonzero(trained[1:] & ~trained[:-1])) + bool(trained[0])
        wrong = max(turns - stretches, 0)
    if wrong and behaviour is not None:
        wrong = int(np.count_nonzero(trained & (behaviour == 0)))
    facts.trained_tokens = (facts.trained_tokens or 0) + kept
    facts.trained_observation = wrong
    facts.observation_tokens = observed + wrong
    facts.response_tokens = len(trained) - observed - wrong


def prompt_length(trained: BoolArray, behaviour: FloatArray | None) -> int:
    """Positions before the first generated one, where only mask and log-probabilities tell.

    The mask's own first position decides, but where at least 16 positions from there on have a log-probability of
    exactly zero: those were not generated, and the mask begins too early.
    """
    first = _first(trained)
    if behaviour is None:
        return first
    spoken = _first(behaviour != 0)
    return spoken if spoken - first >= NOT_BY_CHANCE else first


def _first(flags: BoolArray) -> int:
    at = int(flags.argmax()) if len(flags) else 0
    return at if len(flags) and flags[at] else len(flags)


def add_ratios(facts: TokenFacts, policy: FloatArray | None, behaviour: FloatArray | None, trained: BoolArray) -> None:
    """Sums and histogram of ρ = exp(log π − log μ) over the positions trained on; NaN and infinities are unknown."""
    if policy is None or behaviour is None:
        return
    finite, (low, high), unknown = _log_ratios(policy, behaviour, trained)
    facts.ratio_tokens, facts.ratio_unknown = len(finite), unknown
    facts.ratio_sum = facts.ratio_squares = facts.log_ratio_sum = 0.0
    if len(finite):
        facts.log_ratio_smallest, facts.log_ratio_largest = low, high
        facts.log_ratio_bins = log_ratio_bins(finite)
        near = finite if low > -FARTHEST and high < FARTHEST else np.clip(finite, -FARTHEST, FARTHEST)
        ratios = np.exp(near)
        facts.ratio_sum, facts.ratio_squares = float(np.add.reduce(ratios)), float(ratios @ ratios)
        facts.log_ratio_sum = float(np.add.reduce(near))


def _log_ratios(
    above: FloatArray, below: FloatArray, trained: BoolArray
) -> tuple[FloatArray, tuple[float, float], int]:
    """Finite differences of two log-probabilities at the positions trained on, their range, and how many are not."""
    with np.errstate(invalid="ignore", over="ignore"):
        differences = (above - below)[trained]
    low, high = _range(differences)
    if math.isfinite(low) and math.isfinite(high):  # so all are: of NaN and another, NaN is the smaller and the larger
        return differences, (low, high), 0
    finite = differences[np.isfinite(differences)]
    return finite, _range(finite), len(differences) - len(finite)


def _range(values: FloatArray) -> tuple[float, float]:
    """The smallest and the largest; NaN where there is none, or where one is NaN."""
    if not len(values):
        return math.nan, math.nan
    return float(np.minimum.reduce(values)), float(np.maximum.reduce(values))


def add_reference(
    facts: TokenFacts, reference: FloatArray | None, policy: FloatArray | None, trained: BoolArray
) -> None:
    """KL of the policy to the reference model over the positions trained on, as a sum.

    Each token adds r − 1 − log r with r = π_ref / π: never negative, and without bias where tokens are the policy's
    own (Schulman 2020, "Approximating KL divergence": k3).
    """
    if reference is None or policy is None:
        return
    finite, _, _ = _log_ratios(reference, policy, trained)
    near = np.clip(finite, -FARTHEST, FARTHEST)
    facts.reference_tokens = (facts.reference_tokens or 0) + len(near)
    facts.reference_kl = (facts.reference_kl or 0.0) + float((np.expm1(near) - near).sum())


def add_values(facts: TokenFacts, values: FloatArray | None, returns: FloatArray | None, trained: BoolArray) -> None:
    """Sums over values V and returns G of the positions trained on where both are finite; and by quarter of them."""
    if values is None or returns is None:
        return
    known = trained & (np.abs(values) < HUGE) & (np.abs(returns) < HUGE)
    v, g = values[known], returns[known]
    facts.value_tokens, facts.value_sum, facts.return_sum = len(v), float(v.sum()), float(g.sum())
    facts.value_squares, facts.return_squares, facts.value_returns = float(v @ v), float(g @ g), float(v @ g)
    quarter = np.arange(len(v)) * 4 // max(len(v), 1)
    counts, of_v, of_g = (np.bincount(quarter, weights, minlength=4) for weights in (None, v, g))
    facts.value_quarters = [
        (n + 1, int(counts[n]), float(of_v[n]), float(of_g[n])) for n in range(4) if counts[n]
    ]  # fmt: skip


def add_advantages(facts: TokenFacts, advantages: FloatArray | None, trained: BoolArray) -> None:
    """Counts and sums over the advantages of the positions trained on, as logged."""
    if advantages is None:
        return
    a = advantages[trained]
    low, high = _range(a)
    if not (low > -HUGE and high < HUGE):
        a = a[np.abs(a) < HUGE]
        high = _range(a)[1]
    facts.advantage_tokens, facts.advantage_negative = len(a), int(np.count_nonzero(a < 0))
    facts.advantage_sum, facts.advantage_squares = float(np.add.reduce(a)), float(a @ a)
    facts.advantage_largest = high if len(a) else None


def add_versions(facts: TokenFacts, versions: Sequence[Any], counts: Sequence[int] | None = None) -> None:
    """Weight versions in order, one for each count of tokens or each call; null and −1 are none."""
    weights = [1] * len(versions) if counts is None else counts
    known = [version is not None and str(version) not in ("", "-1") for version in versions]
    facts.versioned = sum(n for n, told in zip(weights, known, strict=True) if told)
    facts.unversioned = sum(weights) - facts.versioned
    told = [str(version) for version, there in zip(versions, known, strict=True) if there]
    facts.version_changes = sum(a != b for a, b in pairwise(told))
