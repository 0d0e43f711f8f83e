"""Shares of a frame from a sample of it: against Wilson, against counting everything, and in how often they hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trajlab.errors import UsageError
from trajlab.stats import Estimate, wilson
from trajlab.stats.surveys import allocate, neyman_gain, part_of_sum, stratified_proportion


def test_one_endless_stratum_is_wilson() -> None:
    found = stratified_proportion([1, 1, 1, 0, 0, 0, 0, 0], [0] * 8, [10**12])
    assert (found.low, found.high) == pytest.approx(wilson(3, 8), abs=1e-9)
    assert (found.value, found.numerator, found.denominator) == (0.375, 3.0, 8.0)


def test_weights_are_the_strata_not_the_draws() -> None:
    # 90 members with 1 of 10 drawn positive, 10 members with 4 of 5: 0.9 · 0.1 + 0.1 · 0.8
    found = stratified_proportion([1] + [0] * 9 + [1] * 4 + [0], [0] * 10 + [1] * 5, [90, 10])
    assert found.value == pytest.approx(0.17)
    assert found.low is not None
    assert found.high is not None
    assert 0.05 < found.low < 0.17 < found.high < 0.42


def test_every_member_read_leaves_no_doubt() -> None:
    found = stratified_proportion([1, 0, 0, 1, 1], [0, 0, 0, 1, 1], [3, 2])
    assert (found.value, found.low, found.high, found.method) == (0.6, 0.6, 0.6, "every member read")


def test_what_nobody_labelled_is_said() -> None:
    found = stratified_proportion([1, None, 0, None], [0, 0, 0, 1], [30, 70])
    assert found.missing == 2
    assert "70 % of the frame" in found.method
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low > 0.7
    assert stratified_proportion([None], [0], [5]).value is None
    assert stratified_proportion([], [], [5]).method == "not observed"


def test_refusals_say_what_is_wrong() -> None:
    with pytest.raises(UsageError, match="values outside 0 to 1"):
        stratified_proportion([2.0], [0], [5])
    with pytest.raises(UsageError, match="fewer members"):
        stratified_proportion([1, 1], [0, 0], [1])
    with pytest.raises(UsageError, match="numbers from 3 to 3"):
        stratified_proportion([1], [3], [1])
    with pytest.raises(UsageError, match="4 guaranteed to 2 strata"):
        allocate(3, [1, 1], [5, 5], [2, 2])


@pytest.mark.parametrize(
    ("sizes", "shares", "draws"),
    [
        ([1000, 600, 300, 100], [0.1, 0.3, 0.5, 0.6], [40, 24, 12, 4]),
        ([1500, 400, 80, 20], [0.05, 0.2, 0.5, 0.6], [40, 20, 10, 10]),
        ([1500, 480, 15, 5], [0.1, 0.3, 0.6, 0.8], [45, 15, 15, 5]),
        ([40, 30, 2000, 930], [0.6, 0.4, 0.05, 0.02], [20, 20, 25, 15]),
    ],
)
def test_intervals_hold_the_truth_as_often_as_they_say(sizes: list[int], shares: list[float], draws: list[int]) -> None:
    rng = np.random.default_rng(11)
    positive = [round(size * share) for size, share in zip(sizes, shares, strict=True)]
    truth, codes, rounds = sum(positive) / sum(sizes), np.repeat(np.arange(len(sizes)), draws), 600
    held = 0
    for _ in range(rounds):
        found = [rng.hypergeometric(yes, size - yes, n) for yes, size, n in zip(positive, sizes, draws, strict=True)]
        success = np.concatenate([np.arange(n) < yes for yes, n in zip(found, draws, strict=True)])
        estimate = stratified_proportion(success, codes, sizes)
        assert estimate.low is not None
        assert estimate.high is not None
        held += estimate.low <= truth <= estimate.high
    assert 0.92 <= held / rounds <= 0.985


def test_recall_from_two_shares() -> None:
    # 20 flagged, all read, 15 positive; 180 left, 60 read, 3 positive: 9 more expected
    flagged = stratified_proportion([1] * 15 + [0] * 5, [0] * 20, [20])
    left = stratified_proportion([1] * 3 + [0] * 57, [0] * 60, [180])
    recall = part_of_sum(flagged, left, 20, 180)
    assert recall.value == pytest.approx(15 / 24)
    assert recall.low is not None
    assert recall.high is not None
    assert recall.low == pytest.approx(15 / (15 + 180 * (left.high or 0)), abs=0.02)
    assert recall.high == pytest.approx(15 / (15 + 180 * (left.low or 0)), abs=0.02)


def test_recall_where_nothing_was_missed_or_nothing_found() -> None:
    none, some = stratified_proportion([0] * 30, [0] * 30, [90]), stratified_proportion([1] * 5, [0] * 5, [10])
    everything = part_of_sum(some, none, 10, 90)
    assert (everything.value, everything.high) == (1.0, 1.0)
    assert everything.low is not None
    assert 0.3 < everything.low < 0.9
    assert part_of_sum(none, none, 90, 90).value is None
    assert part_of_sum(stratified_proportion([], [], [5]), some, 5, 10).value is None
    nothing = part_of_sum(none, some, 90, 10)
    assert nothing.value == 0.0
    assert nothing.high is not None
    assert 0.0 < nothing.high < 1.0


@given(
    st.integers(1, 40).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(0, 20), min_size=1, max_size=6), st.integers(0, 3))
    )
)
def test_allocation_keeps_its_bounds(case: tuple[int, list[int], int]) -> None:
    total, members, least = case
    floor = sum(min(least, size) for size in members)
    if floor > total:
        with pytest.raises(UsageError):
            allocate(total, members, members, [least] * len(members))
        return
    drawn = allocate(total, members, members, [least] * len(members))
    assert drawn.sum() == min(total, sum(members))
    assert all(min(least, size) <= count <= size for count, size in zip(drawn, members, strict=True))


def test_allocation_is_proportional_and_neyman() -> None:
    assert allocate(20, [85, 23], [85, 23], [2, 2]).tolist() == [16, 4]
    assert allocate(10, [0.0, 4.0, 6.0], [50, 50, 50], [0, 0, 0]).tolist() == [0, 4, 6]
    assert allocate(10, [1, 1], [3, 50], [0, 0]).tolist() == [3, 7]
    assert allocate(8, [0, 0], [5, 5], [1, 1]).tolist() == [4, 4]


def test_next_labels_go_where_the_variance_falls_most() -> None:
    gain = neyman_gain([0.5, 0.0, np.nan, 0.5], [10, 10, 0, 10], [100, 100, 100, 10])
    assert gain.argmax() == 2
    assert gain[0] > gain[1] > 0
    assert gain[3] == 0


def test_estimates_are_estimates() -> None:
    found = stratified_proportion([1, 0], [0, 1], [10, 10])
    assert isinstance(found, Estimate)
    assert str(found).startswith("50.0 %")
