"""Reference functions of advantages: GAE, masked whitening, group-relative advantage."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from trajlab.errors import UsageError
from trajlab.stats._clusters import encode
from trajlab.stats._masks import BoolArray, FloatArray, masked, numbers

EPSILON = 1e-8
"""Added to a variance before its root, as verl's ``masked_whiten`` does."""


class Advantages(msgspec.Struct, frozen=True):
    """Advantages and the returns that a critic is fitted to; NaN outside the mask."""

    advantages: FloatArray
    returns: FloatArray
    """Raw advantage plus value: made before any whitening, which would shift what the critic learns."""


def gae(
    rewards: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    gamma: float = 1.0,
    lam: float = 1.0,
    mask: npt.ArrayLike | None = None,
    truncated: npt.ArrayLike | None = None,
    value_after: npt.ArrayLike | None = None,
) -> Advantages:
    """Generalised advantage estimates of trajectories.

    δ_t = r_t + γ V_{t+1} − V_t and A_t = δ_t + γλ A_{t+1} over the action tokens alone: what stands between them
    (observations, padding) is skipped. A terminal end has no value after it; a truncated one has the value that the
    caller states, for whether a cut episode goes on is a matter of the task, not of the estimator.

    Args:
        rewards: shape (trajectories, tokens).
        values: same shape, the critic's V of each token.
        gamma: discount.
        lam: weight of longer returns.
        mask: same shape, true for action tokens; ``None``: all. Rewards outside it are an error, not lost.
        truncated: shape (trajectories,), cut off instead of ended; ``None``: none was.
        value_after: shape (trajectories,), V of the state after the cut, read for truncated ones only; 0 treats a cut
            as an end.

    Raises:
        UsageError: for shapes that differ, an empty mask, a trajectory without an action token, a reward outside the
            mask, or a truncated trajectory without `value_after`.

    References:
        Schulman et al. 2016, arXiv:1506.02438, eq. 16; truncation: Pardo et al. 2018, arXiv:1712.00378; skipping of
        masked tokens as in verl ``core_algos.compute_gae_advantage_return``.
    """
    reward = numbers(rewards, "rewards", 2)
    value, kept = masked(values, mask if mask is not None else np.ones(reward.shape), "values")
    if value.shape != reward.shape:
        raise UsageError("values", f"shape {value.shape}", f"the shape of rewards, {reward.shape}")
    if not kept.any(axis=1).all():
        raise UsageError("mask", "a trajectory without an action token", "one at least in each", "Leave it out")
    if (reward[~kept] != 0).any():
        raise UsageError("rewards", "a reward on a token outside the mask", "rewards on action tokens")
    after = _after(len(reward), truncated, value_after)
    advantages = np.full(reward.shape, np.nan)
    following, running = after, np.zeros(len(reward))
    for token in range(reward.shape[1] - 1, -1, -1):
        here = kept[:, token]
        delta = reward[here, token] + gamma * following[here] - value[here, token]
        running[here] = delta + gamma * lam * running[here]
        following[here] = value[here, token]
        advantages[here, token] = running[here]
    returns = np.where(kept, advantages + np.where(kept, value, 0.0), np.nan)
    return Advantages(advantages, returns)


def _after(count: int, truncated: npt.ArrayLike | None, value_after: npt.ArrayLike | None) -> FloatArray:
    """V after the last token: nothing after an end, what the caller states after a cut."""
    cut: BoolArray = np.zeros(count, dtype=bool) if truncated is None else np.asarray(truncated).astype(bool)
    if cut.shape != (count,):
        raise UsageError("truncated", f"shape {cut.shape}", f"one for each of {count} trajectories")
    if not cut.any():
        return np.zeros(count)
    if value_after is None:
        raise UsageError(
            "value_after", "truncated trajectories and no value", "V after the cut, or 0 to treat it as an end"
        )
    stated = numbers(value_after, "value_after", 1)
    if stated.shape != (count,):
        raise UsageError("value_after", f"shape {stated.shape}", f"one for each of {count} trajectories")
    return np.where(cut, stated, 0.0)


def masked_whiten(values: npt.ArrayLike, mask: npt.ArrayLike | None = None, *, shift_mean: bool = True) -> FloatArray:
    """Values with mean 0 and standard deviation 1 over the mask (Bessel-corrected); NaN outside it.

    Equal values become 0. The mean over the batch acts as a baseline, so no batch can be all negative.

    Args:
        values: any shape.
        mask: same shape, true for values that count; ``None``: all.
        shift_mean: False keeps the mean and scales around it.

    Raises:
        UsageError: for an empty mask, or one of a single value, whose variance is not defined.

    References:
        verl ``torch_functional.masked_whiten``; Andrychowicz et al. 2021, arXiv:2006.05990, §3.5 (per-batch
        normalisation of advantages).
    """
    array, kept = masked(values, mask, "values")
    counted = array[kept]
    if len(counted) < 2:
        raise UsageError("mask", "one value", "two at least: the variance of one is not defined")
    mean = counted.mean()
    white = (counted - mean) / np.sqrt(counted.var(ddof=1) + EPSILON)
    found = np.full(array.shape, np.nan)
    found[kept] = white if shift_mean else white + mean
    return found


def group_relative_advantage(
    rewards: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    baseline: Literal["mean", "others"] = "mean",
    scale: bool = True,
    epsilon: float = 1e-6,
) -> FloatArray:
    """Advantage of each attempt over those sampled with it at one prompt.

    A group of equal rewards gives 0 for all of them: it has no signal. An attempt that is alone in its group has
    nobody to be compared with and gets NaN (trainers differ: verl takes the reward itself, simulations here 0).

    Args:
        rewards: shape (attempts,).
        groups: shape (attempts,), group of each.
        baseline: ``mean`` of the group, or of the ``others`` in it (leave one out).
        scale: divide by the group's standard deviation (Bessel-corrected) plus epsilon.
        epsilon: keeps a group of equal rewards finite.

    Raises:
        UsageError: for no attempt, rewards that are not finite, or not one group for each.

    References:
        GRPO: Shao et al. 2024, arXiv:2402.03300, §4.1.2; without scale Liu et al. 2025, arXiv:2503.20783; others:
        Kool et al. 2019 and RLOO, Ahmadian et al. 2024, arXiv:2402.14740.
    """
    reward = numbers(rewards, "rewards", 1)
    if not len(reward):
        raise UsageError("rewards", "no attempt", "one at least")
    codes, count = encode(groups, len(reward))
    size = np.bincount(codes, minlength=count).astype(np.float64)[codes]
    mean = (np.bincount(codes, reward, count) / np.bincount(codes, minlength=count))[codes]
    centred = reward - mean
    centred[_constant(reward, codes, count)[codes]] = 0.0  # their mean may differ from them in the last place
    squares = np.bincount(codes, centred**2, count)[codes]
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.sqrt(squares / (size - 1))
        relative = centred * size / (size - 1) if baseline == "others" else centred
        found: FloatArray = np.where(size > 1, relative / (deviation + epsilon) if scale else relative, np.nan)
    return found


def _constant(reward: FloatArray, codes: npt.NDArray[np.int64], count: int) -> BoolArray:
    """Groups whose rewards are all equal."""
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, codes, reward)
    np.maximum.at(high, codes, reward)
    equal: BoolArray = low == high
    return equal
