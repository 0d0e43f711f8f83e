"""What a sample says of the frame it was drawn from: weighted shares, precision and recall, where to draw.

A frame is finite and known; its strata are drawn from without replacement and at random. Everything is an estimate of
the share *in the frame*, with the finite population correction: a stratum that was read whole adds no uncertainty.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray, IntArray, as_floats, normal_quantile
from trajlab.stats.estimate import Estimate, not_observed
from trajlab.stats.intervals import score_interval

_ROUNDS = 20
"""Steps of the fixed point below; it settles after three or four."""


def stratified_proportion(
    success: npt.ArrayLike, strata: npt.ArrayLike, sizes: npt.ArrayLike, confidence: float = 0.95
) -> Estimate:
    """Share of successes in a frame of which each stratum was sampled at random (Horvitz–Thompson).

    The value is the sum over strata of size / frame × share. Its interval is the stratified Wilson interval: each
    stratum's own score interval, weighted by its part of the frame, at a common smaller quantile that makes the whole
    keep the confidence. A stratum where nothing was seen still has a width so, which the usual variance would deny it.

    Args:
        success: shape (rows,): 0/1 or booleans of the rows drawn; NaN or ``None`` = drawn but not labelled: left out
            and counted in ``missing``, as if it had not been drawn.
        strata: shape (rows,): number of each row's stratum, 0 to strata − 1.
        sizes: shape (strata,): members of each stratum in the frame, drawn or not.
        confidence: coverage aimed at.

    Returns:
        ``numerator`` and ``denominator`` count labelled rows, unweighted, so they need not divide to the value. A
        stratum of the frame without a labelled row counts with the share of the others and an interval of 0 to 1;
        the method says how much of the frame that is.

    Raises:
        UsageError: for values outside [0, 1], unknown strata, or more rows than a stratum has members.

    References:
        Yan and Su 2010, doi:10.1198/sbr.2009.0049; Horvitz and Thompson 1952, doi:10.1080/01621459.1952.10483446;
        finite population: Cochran 1977, Sampling Techniques, §5.
    """
    values, members = as_floats(success, "success"), as_floats(sizes, "sizes")
    codes = _codes(strata, len(values), len(members))
    seen = ~np.isnan(values)
    missing = int(len(values) - seen.sum())
    if not seen.any() or members.sum() <= 0:
        return not_observed(missing)
    if values[seen].min() < 0 or values[seen].max() > 1:
        raise UsageError("success", "values outside 0 to 1", "0/1 or booleans")
    counts = np.bincount(codes[seen], minlength=len(members)).astype(np.float64)
    sums = np.bincount(codes[seen], weights=values[seen], minlength=len(members)).astype(np.float64)
    if (counts > members).any():
        raise UsageError("sizes", "fewer members than rows drawn", "the size of each stratum in the frame")
    there = members > 0
    return _stratified(sums[there], counts[there], members[there], missing, confidence)


def _stratified(sums: FloatArray, counts: FloatArray, members: FloatArray, missing: int, confidence: float) -> Estimate:
    weights = members / members.sum()
    read = counts > 0
    shares = np.divide(sums, counts, out=np.zeros_like(sums), where=read)
    shares[~read] = float(np.dot(weights[read], shares[read]) / weights[read].sum())
    value = float(np.dot(weights, shares))
    low, high = _stratified_wilson(shares, counts, members, weights, normal_quantile(confidence))
    method = "Wilson, stratified" if len(members) > 1 else "Wilson"
    if (counts < members).any():
        method += ", of a finite frame"
    else:
        method = "every member read"
    if not read.all():
        method += f"; {100 * float(weights[~read].sum()):.0f} % of the frame is in strata without a label"
    return Estimate(
        value, min(low, value), max(high, value), float(sums.sum()), float(counts.sum()), method, None, missing
    )


def _stratified_wilson(
    shares: FloatArray, counts: FloatArray, members: FloatArray, weights: FloatArray, normal: float
) -> tuple[float, float]:
    """Ends at the quantile z · √Σw²v / Σw√v, where v follows from the intervals at that quantile."""
    quantile = normal
    ends = _ends(shares, counts, members, quantile)
    for _ in range(_ROUNDS):
        spread = (ends[1] - ends[0]) / (2 * quantile)
        total = float(np.dot(weights, spread))
        if total <= 0:
            break
        former, quantile = quantile, normal * math.sqrt(float(np.dot(weights**2, spread**2))) / total
        ends = _ends(shares, counts, members, quantile)
        if abs(quantile - former) < 1e-10:
            break
    return float(np.dot(weights, ends[0])), float(np.dot(weights, ends[1]))


def _ends(
    shares: FloatArray, counts: FloatArray, members: FloatArray, quantile: float
) -> tuple[FloatArray, FloatArray]:
    """Score interval of each stratum, on the sample size that a draw without replacement is worth."""
    low, high = np.zeros_like(shares), np.ones_like(shares)
    for stratum, (share, n, size) in enumerate(zip(shares, counts, members, strict=True)):
        if n >= size:
            low[stratum] = high[stratum] = share
        elif n > 0:
            low[stratum], high[stratum] = score_interval(float(share), n * (size - 1) / (size - n), quantile)
    return low, high


def part_of_sum(part: Estimate, rest: Estimate, part_size: float, rest_size: float, missing: int = 0) -> Estimate:
    """Share that one of two independent totals has in their sum: recall, from what a rule flags and what it leaves.

    Args:
        part: share of positives among ``part_size`` members.
        rest: the same among the other ``rest_size``.
        part_size: members of the first group.
        rest_size: members of the second.
        missing: rows not labelled.

    Returns:
        part·size / (part·size + rest·size) with an interval recovered from those of the two shares (MOVER for a
        ratio); ``numerator`` and ``denominator`` are the two totals as estimated. Not observed where neither group
        has a positive, or one that has members has no label.

    References:
        Donner and Zou 2012, doi:10.1177/0962280210383082; Zou and Donner 2008, doi:10.1002/sim.3095.
    """
    if (part.value is None and part_size > 0) or (rest.value is None and rest_size > 0):
        return not_observed(missing)
    ours, others = _total(part, part_size), _total(rest, rest_size)
    total = ours[0] + others[0]
    if total <= 0:
        return not_observed(missing)
    low = 1 / (1 + _ratio_ends(others, ours)[1])
    high = 1 / (1 + _ratio_ends(others, ours)[0])
    value = ours[0] / total
    return Estimate(
        value, min(low, value), max(high, value), ours[0], total, "from two shares, MOVER for a ratio", None, missing
    )


_Total = tuple[float, float, float]
"""A total with the ends of its interval."""


def _total(share: Estimate, size: float) -> _Total:
    if share.value is None or size <= 0:
        return 0.0, 0.0, 0.0
    return size * share.value, size * (share.low or 0.0), size * (1.0 if share.high is None else share.high)


def _ratio_ends(top: _Total, bottom: _Total) -> tuple[float, float]:
    """Ends of top / bottom; the upper one is infinite where the bottom may be 0."""
    (a, a_low, a_high), (b, b_low, b_high) = top, bottom
    product = a * b
    low = 0.0
    if b_high > 0 and 2 * b > b_high:
        inside = product**2 - a_low * b_high * (2 * a - a_low) * (2 * b - b_high)
        low = max(0.0, (product - math.sqrt(max(inside, 0.0))) / (b_high * (2 * b - b_high)))
    elif b_high > 0:
        low = a_low / b_high
    if b_low <= 0:
        return low, math.inf
    inside = product**2 - a_high * b_low * (2 * a - a_high) * (2 * b - b_low)
    return low, (product + math.sqrt(max(inside, 0.0))) / (b_low * (2 * b - b_low))


def allocate(total: int, weights: npt.ArrayLike, most: npt.ArrayLike, least: npt.ArrayLike) -> IntArray:
    """Share ``total`` draws over strata in proportion to ``weights``, each between its bounds.

    Args:
        total: draws to share out.
        weights: shape (strata,), not negative: sizes, or size × spread (Neyman's optimum).
        most: shape (strata,): members of each stratum.
        least: shape (strata,): draws each stratum has in any case; a stratum with fewer members is taken whole.

    Returns:
        Draws of each stratum; they sum to ``total``, or to all members where there are fewer. Remainders go to the
        largest fractions, the first stratum first.

    Raises:
        UsageError: where the guaranteed draws are more than ``total``.

    References:
        Neyman 1934, doi:10.2307/2342192; Cochran 1977, Sampling Techniques, §5.5.
    """
    members = np.asarray(most, np.int64)
    floor = np.minimum(np.asarray(least, np.int64), members)
    wanted = as_floats(weights, "weights")
    if floor.sum() > total:
        found = f"{total} draws for {int(floor.sum())} guaranteed to {len(members)} strata"
        raise UsageError("n", found, "at least as many draws", "Raise n, or lower the guaranteed draws (at_least)")
    drawn = floor.copy()
    while (left := min(total, int(members.sum())) - int(drawn.sum())) > 0:
        open_ = drawn < members
        pull = np.where(open_, wanted, 0.0)
        if pull.sum() <= 0:
            pull = np.where(open_, (members - drawn).astype(np.float64), 0.0)
        ideal = pull / pull.sum() * (left + float(drawn[open_].sum()))
        short = np.where(open_, np.maximum(ideal - drawn, 0.0), 0.0)
        short = short / short.sum() * left
        whole = np.minimum(np.floor(short + 1e-9).astype(np.int64), members - drawn)
        if whole.sum() == 0:
            fraction = np.where(open_, short, -1.0)
            chosen = np.argsort(-fraction, kind="stable")[:left]
            whole[chosen[open_[chosen]]] = 1
        drawn += whole
    return drawn


def neyman_gain(shares: npt.ArrayLike, counts: npt.ArrayLike, sizes: npt.ArrayLike) -> FloatArray:
    """By how much one more label in each stratum would lessen the variance of a stratified share.

    Args:
        shares: shape (strata,): share found in each; NaN = no label yet.
        counts: shape (strata,): labels so far.
        sizes: shape (strata,): members.

    Returns:
        shape (strata,): W² p̃ (1 − p̃) / ((n + 1)(n + 2)), with p̃ pulled towards one half by one label of each kind
        and n by one, so that a stratum of one kind only, or of no label, is not taken for certain; 0 where every
        member is labelled.
    """
    n, members = as_floats(counts, "counts"), as_floats(sizes, "sizes")
    found = np.nan_to_num(as_floats(shares, "shares"), nan=0.5)
    weights = members / max(members.sum(), 1.0)
    pulled = (found * n + 1) / (n + 2)
    gain = weights**2 * pulled * (1 - pulled) / ((n + 1) * (n + 2))
    return np.where(n < members, gain, 0.0)


def _codes(strata: npt.ArrayLike, rows: int, count: int) -> IntArray:
    codes: IntArray = np.asarray(strata, dtype=np.int64)
    if codes.shape != (rows,):
        raise UsageError("strata", f"array of shape {codes.shape}", f"one stratum for each of {rows} rows")
    if rows and (codes.min() < 0 or codes.max() >= count):
        raise UsageError("strata", f"numbers from {codes.min()} to {codes.max()}", f"0 to {count - 1}")
    return codes
