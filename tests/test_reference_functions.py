"""Reference functions of policy, advantages and critic: the minimal regression tests of reinforcement learning."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from trajlab.errors import UsageError
from trajlab.simulate.metrics import group_advantage
from trajlab.stats import (
    clipped_surrogate,
    effective_sample_size,
    explained_variance,
    gae,
    group_relative_advantage,
    importance_ratio,
    masked_whiten,
    policy_gradient,
)

LOGITS = np.array([0.3, -1.2, 0.8])
REWARDS = np.array([1.0, 0.0, -0.5])
logs = arrays.arrays(np.float64, st.integers(1, 20), elements=st.floats(-30, 0))
numbers = st.floats(-100, 100).map(lambda value: round(value, 3))


@given(logs)
def test_the_same_policy_has_ratio_one(log_probabilities) -> None:
    assert (importance_ratio(log_probabilities, log_probabilities) == 1.0).all()


def test_ratio_of_two_policies_and_mask() -> None:
    found = importance_ratio([np.log(0.5), np.log(0.2), np.nan], [np.log(0.25), np.log(0.4), 0.0], [1, 1, 0])
    assert found[:2] == pytest.approx([2.0, 0.5])
    assert np.isnan(found[2])


def test_effective_sample_size_by_hand() -> None:
    assert effective_sample_size(np.full(7, 3.0)) == pytest.approx(1.0)
    assert effective_sample_size([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert effective_sample_size([1.0, 3.0]) == pytest.approx(16 / 20)
    assert effective_sample_size([1e200, 1e200]) == pytest.approx(1.0)
    assert effective_sample_size([1.0, 1.0, 99.0], [1, 1, 0]) == pytest.approx(1.0)


def test_clip_takes_the_gradient_of_ratios_beyond_it_only_where_it_would_push_on() -> None:
    objective, fraction = clipped_surrogate([1.5, 1.5, 0.5, 0.5, 1.0], [1.0, -1.0, 1.0, -1.0, 1.0])
    assert fraction == pytest.approx(2 / 5)
    assert objective == pytest.approx((1.2 - 1.5 + 0.5 - 0.8 + 1.0) / 5)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=20))
def test_zero_advantage_gives_zero_gradient(actions) -> None:
    assert (policy_gradient(LOGITS, actions, np.zeros(len(actions))) == 0).all()


def expected_gradient(baseline: float) -> np.ndarray:
    """Over all actions, each with its probability: no sampling."""
    probabilities = np.exp(LOGITS) / np.exp(LOGITS).sum()
    parts = [p * policy_gradient(LOGITS, [a], [REWARDS[a] - baseline]) for a, p in enumerate(probabilities)]
    return np.sum(parts, axis=0)


@given(numbers)
def test_a_constant_baseline_changes_no_expectation(baseline) -> None:
    assert expected_gradient(baseline) == pytest.approx(expected_gradient(0.0), abs=1e-9)


def test_a_constant_baseline_does_change_one_minibatch() -> None:
    plain = policy_gradient(LOGITS, [0, 0, 1], REWARDS[[0, 0, 1]])
    assert policy_gradient(LOGITS, [0, 0, 1], REWARDS[[0, 0, 1]] - 5.0) != pytest.approx(plain)


def test_expected_gradient_is_that_of_the_expected_reward() -> None:
    def value(logits):
        return float((np.exp(logits) / np.exp(logits).sum()) @ REWARDS)

    step = 1e-6
    slopes = [(value(LOGITS + step * e) - value(LOGITS - step * e)) / (2 * step) for e in np.eye(3)]
    assert expected_gradient(0.0) == pytest.approx(slopes, abs=1e-8)


def test_terminal_does_not_bootstrap() -> None:
    found = gae([[0.0, 1.0]], [[0.4, 0.7]], gamma=0.9, lam=0.5)
    last = 1.0 - 0.7
    first = 0.9 * 0.7 - 0.4 + 0.9 * 0.5 * last
    assert found.advantages[0] == pytest.approx([first, last])
    assert found.returns[0] == pytest.approx([first + 0.4, last + 0.7])
    ended = gae([[0.0, 1.0]], [[0.4, 0.7]], truncated=[False], value_after=[123.0])
    assert ended.advantages == pytest.approx(gae([[0.0, 1.0]], [[0.4, 0.7]]).advantages)


def test_truncated_follows_the_contract() -> None:
    rewards, values = [[0.0, 0.0], [0.0, 0.0]], [[0.4, 0.7], [0.4, 0.7]]
    found = gae(rewards, values, gamma=0.9, lam=0.5, truncated=[True, False], value_after=[0.6, 0.6])
    assert found.advantages[:, 1] == pytest.approx([0.9 * 0.6 - 0.7, -0.7])
    as_an_end = gae(rewards, values, truncated=[True, True], value_after=[0.0, 0.0])
    assert as_an_end.advantages == pytest.approx(gae(rewards, values).advantages)
    with pytest.raises(UsageError, match="value_after"):
        gae(rewards, values, truncated=[True, False])


@given(st.lists(st.tuples(numbers, numbers, st.booleans()), min_size=1, max_size=12), st.floats(0, 1), st.floats(0, 1))
def test_gae_is_the_sum_of_discounted_errors_over_action_tokens(tokens, gamma, lam) -> None:
    mask = np.array([kept for _, _, kept in tokens])
    mask[-1] = True
    rewards = np.where(mask, [r for r, _, _ in tokens], 0.0)
    values = np.array([v for _, v, _ in tokens])
    found = gae([rewards], [values], gamma=gamma, lam=lam, mask=[mask])
    r, v = rewards[mask], values[mask]
    errors = r + gamma * np.append(v[1:], 0.0) - v
    slow = [sum((gamma * lam) ** (k - t) * errors[k] for k in range(t, len(r))) for t in range(len(r))]
    assert found.advantages[0][mask] == pytest.approx(slow, abs=1e-6)
    assert np.isnan(found.advantages[0][~mask]).all()


def test_gae_refuses_what_it_would_lose() -> None:
    with pytest.raises(UsageError, match="outside the mask"):
        gae([[1.0, 0.0]], [[0.0, 0.0]], mask=[[0, 1]])
    with pytest.raises(UsageError, match="without an action token"):
        gae([[0.0], [0.0]], [[0.0], [0.0]], mask=[[1], [0]])


def test_empty_action_mask_is_refused_everywhere() -> None:
    zeros, nothing = np.zeros(3), np.zeros(3)
    for call in (
        lambda: importance_ratio(zeros, zeros, nothing),
        lambda: effective_sample_size(zeros + 1, nothing),
        lambda: clipped_surrogate(zeros, zeros, mask=nothing),
        lambda: gae([zeros], [zeros], mask=[nothing]),
        lambda: masked_whiten(zeros, nothing),
        lambda: explained_variance(zeros, zeros, nothing),
    ):
        with pytest.raises(UsageError, match="empty mask"):
            call()


@given(arrays.arrays(np.float64, st.integers(2, 30), elements=numbers), st.data())
def test_whitened_values_have_mean_zero_and_variance_one(values, data) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    mask[:2] = True
    white = masked_whiten(values, mask)
    assert white[mask].mean() == pytest.approx(0.0, abs=1e-6)
    if values[mask].std() > 1e-2:
        assert white[mask].std(ddof=1) == pytest.approx(1.0, abs=1e-3)
    assert np.isnan(white[~mask]).all()
    kept = masked_whiten(values, mask, shift_mean=False)
    assert kept[mask].mean() == pytest.approx(values[mask].mean(), abs=1e-6)


def test_whitening_leaves_no_batch_all_negative_and_refuses_one_value() -> None:
    assert (masked_whiten([-3.0, -2.0, -1.0]) > 0).any()
    assert (masked_whiten([-2.0, -2.0]) == 0).all()
    with pytest.raises(UsageError, match="variance of one"):
        masked_whiten([1.0, 2.0], [1, 0])


@given(numbers, st.integers(2, 9), st.sampled_from(["mean", "others"]), st.booleans())
def test_equal_rewards_of_a_group_give_zero(reward, attempts, baseline, scale) -> None:
    found = group_relative_advantage([reward] * attempts, ["a"] * attempts, baseline=baseline, scale=scale)
    assert (found == 0).all()


@given(st.lists(st.tuples(numbers, st.integers(0, 3)), min_size=1, max_size=24))
def test_group_relative_advantage_against_a_loop(attempts) -> None:
    rewards, groups = [r for r, _ in attempts], [g for _, g in attempts]
    found = group_relative_advantage(rewards, groups)
    others = group_relative_advantage(rewards, groups, baseline="others", scale=False)
    for group in set(groups):
        rows = [i for i, g in enumerate(groups) if g == group]
        own = np.array([rewards[i] for i in rows])
        if len(own) == 1:
            assert np.isnan(found[rows[0]])
            continue
        slow = (own - own.mean()) / (own.std(ddof=1) + 1e-6)
        assert found[rows] == pytest.approx(slow, abs=1e-6)
        assert others[rows] == pytest.approx([r - np.delete(own, i).mean() for i, r in enumerate(own)], abs=1e-9)


def test_group_relative_advantage_is_the_simulated_trainers() -> None:
    rewards = np.array([1.0, 0.0, 0.0, 1.33, 0.5, 0.5])
    assert group_relative_advantage(rewards, [0, 0, 0, 1, 1, 1]) == pytest.approx(group_advantage(rewards, 3))


def test_explained_variance_with_what_it_divides_by() -> None:
    returns = np.array([0.0, 1.0, 2.0, 3.0])
    perfect, constant, worse = (explained_variance(v, returns) for v in (returns, np.full(4, 9.0), -returns))
    assert (perfect.value, constant.value, worse.value) == (1.0, 0.0, -3.0)
    assert (perfect.return_variance, perfect.n) == (1.25, 4)
    flat = explained_variance(returns, np.full(4, 0.7))
    assert (flat.value, flat.n) == (None, 4)
    assert flat.return_variance == pytest.approx(0.0)
    assert explained_variance([1.0], [2.0]).value is None
    assert explained_variance(returns, [0.0, 1.0, 2.0, np.nan], [1, 1, 1, 0]).value == 1.0


def test_shapes_and_numbers_are_checked() -> None:
    for call in (
        lambda: importance_ratio([0.0], [0.0, 0.0]),
        lambda: importance_ratio([0.0, np.nan], [0.0, 0.0]),
        lambda: effective_sample_size([-1.0, 2.0]),
        lambda: effective_sample_size([0.0, 0.0]),
        lambda: policy_gradient(LOGITS, [3], [1.0]),
        lambda: policy_gradient(LOGITS, [], []),
        lambda: group_relative_advantage([], []),
        lambda: group_relative_advantage([1.0, np.inf], [0, 0]),
        lambda: gae([[0.0]], [[0.0, 0.0]]),
        lambda: masked_whiten(["x", "y"]),
    ):
        with pytest.raises(UsageError):
            call()


def test_importance_weights_correct_an_expectation() -> None:
    policy, behaviour = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.3, 0.5])
    ratios = importance_ratio(np.log(policy), np.log(behaviour))
    pairs = itertools.starmap(lambda b, w, r: b * w * r, zip(behaviour, ratios, REWARDS, strict=True))
    assert sum(pairs) == pytest.approx(float(policy @ REWARDS))
