"""Numbers of any shape with a mask of those that are the policy's own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajlab.errors import UsageError

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def numbers(values: npt.ArrayLike, name: str, dimensions: int | None = None) -> FloatArray:
    """Finite floats of any shape, or of so many dimensions.

    Raises:
        UsageError: for another number of dimensions, for what is no number, NaN and infinities.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(name, f"values that are no numbers ({error})", "numbers") from error
    if dimensions is not None and array.ndim != dimensions:
        raise UsageError(name, f"array of shape {array.shape}", f"{dimensions} dimension(s)")
    if not np.isfinite(array).all():
        raise UsageError(name, "NaN or infinite values", "finite numbers", "Leave them out with the mask")
    return array


def masked(values: npt.ArrayLike, mask: npt.ArrayLike | None, name: str) -> tuple[FloatArray, BoolArray]:
    """Values, which need be finite inside the mask only, and the mask; without one all of them.

    Raises:
        UsageError: for a mask of another shape or without a single element, and for values that are not finite
            inside it.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(name, f"values that are no numbers ({error})", "numbers") from error
    kept = np.ones(array.shape, dtype=bool) if mask is None else np.asarray(mask).astype(bool)
    if kept.shape != array.shape:
        raise UsageError("mask", f"shape {kept.shape}", f"the shape of {name}, {array.shape}")
    if not kept.any():
        raise UsageError("mask", "an empty mask: no action token", "at least one", "Leave such batches out")
    if not np.isfinite(array[kept]).all():
        raise UsageError(name, "NaN or infinite values inside the mask", "finite numbers")
    return array, kept
