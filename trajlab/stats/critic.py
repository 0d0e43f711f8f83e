"""Reference functions of the critic."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from trajlab.stats._masks import masked

FLAT = 1e-10
"""Var(G) below this share of the mean square of G counts as no variance at all."""


class ExplainedVariance(msgspec.Struct, frozen=True):
    """How much of the returns' variance a critic explains; never shown without that variance and n."""

    value: float | None
    """1 − Var(G − V)/Var(G): 1 is perfect, 0 no better than a constant, negative worse; ``None`` where the returns
    hardly vary, or there are fewer than two."""
    return_variance: float | None
    """Var(G); ``None`` for fewer than two returns."""
    n: int


def explained_variance(
    values: npt.ArrayLike, returns: npt.ArrayLike, mask: npt.ArrayLike | None = None
) -> ExplainedVariance:
    """Explained variance of a critic.

    A low value loss says little: with returns that hardly vary it is low for any critic, and the explained variance
    divides by nothing; it is then not known.

    Args:
        values: any shape, V.
        returns: same shape, realised returns G.
        mask: same shape, true for tokens that count; ``None``: all.

    Raises:
        UsageError: for shapes that differ, an empty mask, or numbers that are not finite inside it.

    References:
        Schulman et al., Baselines ``explained_variance``; verl's ``critic/vf_explained_var``.
    """
    value, kept = masked(values, mask, "values")
    realised, _ = masked(returns, kept, "returns")
    v, g = value[kept], realised[kept]
    if len(g) < 2:
        return ExplainedVariance(None, None, len(g))
    spread = float(g.var())
    if spread <= FLAT * float(np.mean(g**2)):
        return ExplainedVariance(None, spread, len(g))
    return ExplainedVariance(1.0 - float((g - v).var()) / spread, spread, len(g))
