"""Many tests at once: Holm's adjustment within a declared family."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray, as_floats


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Holm's step-down adjusted p-values: reject where the adjusted value is at most the level.

    Args:
        p_values: shape (tests,), in [0, 1]; NaN or ``None`` = a test that could not be done. Such a test
            stays NaN but still counts in the family, which was declared beforehand.

    Returns:
        Shape (tests,), in the order given.

    Raises:
        UsageError: for values outside [0, 1].

    References:
        Holm 1979, https://www.jstor.org/stable/4615733.
    """
    values = as_floats(p_values, "p_values")
    done = np.flatnonzero(~np.isnan(values))
    if ((values[done] < 0) | (values[done] > 1)).any():
        raise UsageError("p_values", "values outside 0 to 1", "probabilities")
    order = done[np.argsort(values[done], kind="stable")]
    adjusted = np.full(len(values), np.nan)
    factors = len(values) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * factors))
    return adjusted
