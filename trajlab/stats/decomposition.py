"""Which component moved the total: deltas of components that sum to the delta of the total."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray


class Decomposition(msgspec.Struct, frozen=True):
    """Change of a mean total split over its components."""

    deltas: list[float]
    """Change of each component's (weighted) mean."""
    shares: list[float | None]
    """Each delta over the total delta; ``None`` where the total did not change."""
    total: float
    """Sum of the deltas: the change of the total that the components explain."""
    residual: float | None
    """Logged change of the total less the explained one; ``None`` where the log has no totals."""
    rows_before: int
    rows_after: int
    missing: int
    """Rows left out because a component (or the total) was not observed."""


def decompose(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    totals_before: npt.ArrayLike | None = None,
    totals_after: npt.ArrayLike | None = None,
) -> Decomposition | None:
    """Split the change of the mean total over components.

    Rows with any component (or the total, where given) missing are left out of all of them, so that the
    deltas sum to the total exactly.

    Args:
        before: shape (rows before, components); NaN = not observed.
        after: shape (rows after, components); NaN = not observed.
        weights: shape (components,), factors of the components in the total; ``None``: 1 each.
        totals_before: shape (rows before,), the total as logged, to be reconciled.
        totals_after: shape (rows after,), likewise.

    Returns:
        The decomposition, or ``None`` where a side has no complete row.

    Raises:
        UsageError: for shapes that do not fit each other, or totals of one side only.
    """
    first, second = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:
        raise UsageError("decompose", f"shapes {first.shape} and {second.shape}", "(rows, components) in both")
    if (totals_before is None) != (totals_after is None):
        raise UsageError("decompose", "totals of one side only", "both or none")
    factors = np.ones(first.shape[1]) if weights is None else np.asarray(weights, np.float64)
    if factors.shape != first.shape[1:]:
        raise UsageError("weights", f"shape {factors.shape}", f"one for each of {first.shape[1]} components")
    one, one_total = _complete(first, totals_before)
    other, other_total = _complete(second, totals_after)
    if len(one) == 0 or len(other) == 0:
        return None
    deltas = (other.mean(axis=0) - one.mean(axis=0)) * factors
    total = float(deltas.sum())
    logged = None if one_total is None or other_total is None else float(other_total.mean() - one_total.mean())
    tiny = 1e-12 * max(1.0, float(np.abs(deltas).max(initial=0.0)))
    return Decomposition(
        deltas=[float(delta) for delta in deltas],
        shares=[float(delta) / total if abs(total) > tiny else None for delta in deltas],
        total=total,
        residual=None if logged is None else logged - total,
        rows_before=len(one),
        rows_after=len(other),
        missing=len(first) + len(second) - len(one) - len(other),
    )


def _complete(rows: FloatArray, totals: npt.ArrayLike | None) -> tuple[FloatArray, FloatArray | None]:
    whole = ~np.isnan(rows).any(axis=1)
    if totals is None:
        return rows[whole], None
    logged = np.asarray(totals, np.float64)
    if logged.shape != rows.shape[:1]:
        raise UsageError("totals", f"shape {logged.shape}", f"one for each of {len(rows)} rows")
    whole &= ~np.isnan(logged)
    return rows[whole], logged[whole]
