"""What a comparison could have shown: power, sample size, difference in sigma."""

from __future__ import annotations

import math

from scipy.special import ndtr, ndtri

from trajlab.errors import UsageError
from trajlab.stats._clusters import normal_quantile


def difference_standard_error(
    share_a: float, share_b: float, n_a: float, n_b: float, design_effect: float = 1.0
) -> float:
    """Standard error of the difference of two independent shares, unpooled.

    Args:
        share_a: share in a, in [0, 1].
        share_b: share in b, in [0, 1].
        n_a: rows of a, above 0.
        n_b: rows of b, above 0.
        design_effect: factor on the variance for attempts that share tasks, at least of order 1.

    Raises:
        UsageError: for shares outside [0, 1] or sizes that are not positive.
    """
    _check_shares(share_a, share_b)
    if min(n_a, n_b, design_effect) <= 0:
        raise UsageError("power", f"sizes {n_a} and {n_b}, design effect {design_effect}", "above 0")
    variance = share_a * (1 - share_a) / n_a + share_b * (1 - share_b) / n_b
    return math.sqrt(design_effect * variance)


def difference_in_sigma(
    share_a: float, share_b: float, n_a: float, n_b: float, design_effect: float = 1.0
) -> float | None:
    """(share_a − share_b) / its standard error; ``None`` where the error is 0 (both shares at 0 or 1)."""
    error = difference_standard_error(share_a, share_b, n_a, n_b, design_effect)
    return (share_a - share_b) / error if error > 0 else None


def sample_size(
    share_a: float,
    share_b: float,
    power: float = 0.8,
    level: float = 0.05,
    design_effect: float = 1.0,
) -> int | None:
    """Rows per arm to tell two shares apart in a two-sided test, arms of equal size.

    n = (z₁₋ₗ/₂ + z_power)² (p_a (1 − p_a) + p_b (1 − p_b)) / (p_a − p_b)², times the design effect.

    Args:
        share_a: share in a, in [0, 1].
        share_b: share in b, in [0, 1].
        power: chance to find the difference, between the level and 1.
        level: chance to find one where there is none.
        design_effect: factor on the variance for attempts that share tasks.

    Returns:
        Rows per arm, at least 1; ``None`` where the shares are equal: no size would do.

    Raises:
        UsageError: for arguments outside their ranges.

    References:
        Fleiss, Levin and Paik 2003, Statistical Methods for Rates and Proportions, §4,
        doi:10.1002/0471445428.
    """
    _check_shares(share_a, share_b)
    if not 0 < level < power < 1 or design_effect <= 0:
        raise UsageError("sample_size", f"level {level}, power {power}", "0 < level < power < 1")
    if share_a == share_b:
        return None
    quantiles = normal_quantile(1 - level) + float(ndtri(power))
    variance = share_a * (1 - share_a) + share_b * (1 - share_b)
    return max(1, math.ceil(design_effect * quantiles**2 * variance / (share_a - share_b) ** 2))


def power_of_difference(
    share_a: float,
    share_b: float,
    n_a: float,
    n_b: float,
    level: float = 0.05,
    design_effect: float = 1.0,
) -> float:
    """Chance that a two-sided test with these sizes finds this difference (both tails).

    Args:
        share_a: share in a, in [0, 1].
        share_b: share in b, in [0, 1].
        n_a: rows of a.
        n_b: rows of b.
        level: chance to find a difference where there is none.
        design_effect: factor on the variance for attempts that share tasks.

    References:
        Fleiss, Levin and Paik 2003, §4, doi:10.1002/0471445428.
    """
    error = difference_standard_error(share_a, share_b, n_a, n_b, design_effect)
    if error == 0:
        return level if share_a == share_b else 1.0
    sigma, quantile = abs(share_a - share_b) / error, normal_quantile(1 - level)
    return float(ndtr(sigma - quantile) + ndtr(-sigma - quantile))


def detectable_difference(
    share: float, n_a: float, n_b: float, power: float = 0.8, level: float = 0.05, design_effect: float = 1.0
) -> float:
    """Smallest difference that such arms would find with this power, both shares near ``share``."""
    if not 0 < level < power < 1:
        raise UsageError("detectable_difference", f"level {level}, power {power}", "0 < level < power < 1")
    error = difference_standard_error(share, share, n_a, n_b, design_effect)
    return (normal_quantile(1 - level) + float(ndtri(power))) * error


def _check_shares(*shares: float) -> None:
    if not all(0 <= share <= 1 for share in shares):
        raise UsageError("power", f"shares {', '.join(map(str, shares))}", "shares between 0 and 1")
