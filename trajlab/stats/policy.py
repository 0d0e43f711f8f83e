"""Reference functions of the policy: importance ratio, effective sample size, clipped surrogate, policy gradient."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from trajlab.errors import UsageError
from trajlab.stats._masks import FloatArray, masked, numbers


def importance_ratio(
    log_policy: npt.ArrayLike, log_behaviour: npt.ArrayLike, mask: npt.ArrayLike | None = None
) -> FloatArray:
    """Importance ratio ρ = exp(log π(a|h) − log μ(a|h)) of each token.

    The same policy gives exactly 1. On a fresh synchronous rollout another value means that tokens, template, mask or
    logged log-probabilities do not fit together.

    Args:
        log_policy: any shape, log-probability of each token under the policy π that is updated.
        log_behaviour: same shape, under the policy μ that sampled it.
        mask: same shape, true for action tokens; ``None``: all.

    Returns:
        Ratios, NaN outside the mask.

    Raises:
        UsageError: for shapes that differ, an empty mask, or log-probabilities that are not finite inside it.

    References:
        Schulman et al. 2017, arXiv:1707.06347, eq. 6.
    """
    policy, kept = masked(log_policy, mask, "log_policy")
    behaviour, _ = masked(log_behaviour, kept, "log_behaviour")
    ratios = np.full(policy.shape, np.nan)
    ratios[kept] = np.exp(policy[kept] - behaviour[kept])
    return ratios


def effective_sample_size(weights: npt.ArrayLike, mask: npt.ArrayLike | None = None) -> float:
    """Share of the sample that importance weights leave: (Σw)² / (n Σw²), 1 for equal weights, 1/n for one.

    Args:
        weights: any shape, non-negative.
        mask: same shape, true for weights that count; ``None``: all.

    Raises:
        UsageError: for an empty mask, negative weights, or weights that are all zero.

    References:
        Kish 1965, Survey Sampling, §8.2; for importance sampling Liu 1996, doi:10.1007/BF00162521.
    """
    array, kept = masked(weights, mask, "weights")
    counted = array[kept]
    top = float(counted.max())
    if (counted < 0).any() or top <= 0:
        raise UsageError("weights", "negative weights, or none above zero", "importance weights")
    scaled = counted / top  # squares of large weights would overflow
    return float(scaled.sum() ** 2 / (len(scaled) * np.dot(scaled, scaled)))


def clipped_surrogate(
    ratios: npt.ArrayLike,
    advantages: npt.ArrayLike,
    clip: tuple[float, float] = (0.2, 0.2),
    mask: npt.ArrayLike | None = None,
) -> tuple[float, float]:
    """PPO's clipped objective, and the share of tokens whose gradient the clip takes away.

    Args:
        ratios: any shape, importance ratios.
        advantages: same shape.
        clip: how far below and above 1 a ratio counts.
        mask: same shape, true for action tokens; ``None``: all.

    Returns:
        Mean over tokens of min(ρA, clip(ρ)A), to be maximised, and the clip fraction.

    References:
        Schulman et al. 2017, arXiv:1707.06347, eq. 7; the clip fraction as verl's ``pg_clipfrac`` counts it.
    """
    ratio, kept = masked(ratios, mask, "ratios")
    advantage, _ = masked(advantages, kept, "advantages")
    free = ratio[kept] * advantage[kept]
    held = np.clip(ratio[kept], 1 - clip[0], 1 + clip[1]) * advantage[kept]
    return float(np.minimum(free, held).mean()), float((held < free).mean())


def policy_gradient(logits: npt.ArrayLike, actions: npt.ArrayLike, advantages: npt.ArrayLike) -> FloatArray:
    """Score-function estimate of the gradient of the expected return in the logits of a categorical policy.

    The mean over samples of A ∇log π(a) with ∇log π(a) = e_a − π. A baseline that does not depend on the action changes
    its expectation by nothing, one minibatch's estimate by chance.

    Args:
        logits: shape (actions,).
        actions: shape (samples,), index of each action taken.
        advantages: shape (samples,).

    Raises:
        UsageError: for no sample, an action that is not there, or shapes that differ.

    References:
        Williams 1992, doi:10.1007/BF00992696.
    """
    probabilities = softmax(numbers(logits, "logits", 1))
    taken, advantage = np.asarray(actions), numbers(advantages, "advantages", 1)
    whole = taken.dtype.kind in "iu" and taken.shape == advantage.shape
    if not whole or not len(taken) or taken.min() < 0 or taken.max() >= len(probabilities):
        found = f"shape {taken.shape}, type {taken.dtype}"
        raise UsageError(
            "actions", found, f"an index below {len(probabilities)} for each of {len(advantage)} advantages"
        )
    scores = np.eye(len(probabilities))[taken] - probabilities
    gradient: FloatArray = (advantage[:, None] * scores).mean(axis=0)
    return gradient
