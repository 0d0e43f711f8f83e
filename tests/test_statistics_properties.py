"""Every statistic against an obvious slow version of itself."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.optimize import brentq

from trajlab.stats import (
    attempts_per_task,
    clustered_standard_error,
    cohen_kappa,
    decompose,
    difference,
    holm,
    inverted_difference_test,
    krippendorff_alpha,
    mann_kendall,
    mcnemar_counts,
    mean,
    median,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    permutation_test,
    proportion,
    quantile,
    ratio,
    sign_test,
    theil_sen,
    wilson,
)

fast = settings(max_examples=60, deadline=None, derandomize=True)
number = st.floats(-100, 100).map(lambda value: round(value, 3))


zero_or_one = st.integers(0, 1)


@st.composite
def clustered(draw, values=zero_or_one, smallest=1):
    size = draw(st.integers(smallest, 40))
    rows = st.lists(values, min_size=size, max_size=size)
    return draw(rows), draw(st.lists(st.integers(-3, 6), min_size=size, max_size=size))


@fast
@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_solves_the_score_equation(counts):
    successes, n = counts
    share, z = successes / n, scipy_stats.norm.ppf(0.975)

    def distance(p):
        return abs(share - p) - z * math.sqrt(p * (1 - p) / n)

    low, high = wilson(successes, n)
    tiny = 1e-9
    assert low == pytest.approx(brentq(distance, tiny, share - tiny) if successes else 0.0, abs=1e-9)
    assert high == pytest.approx(brentq(distance, share + tiny, 1 - tiny) if successes < n else 1.0, abs=1e-9)


@fast
@given(clustered())
def test_proportion_holds_its_value_and_has_width(sample):
    values, clusters = sample
    estimate = proportion(values, clusters)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.low < estimate.high
    assert (estimate.numerator, estimate.denominator) == (sum(values), len(values))
    mirrored = proportion([1 - value for value in values], clusters)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((estimate.low, estimate.high), abs=1e-9)


@fast
@given(clustered(), st.randoms(use_true_random=False))
def test_order_and_names_of_clusters_do_not_matter(sample, random):
    values, clusters = sample
    order = list(range(len(values)))
    random.shuffle(order)
    named = [f"task-{clusters[place]}" for place in order]
    for statistic in (proportion, mean):
        one = statistic(values, clusters)
        other = statistic([values[place] for place in order], named)
        assert one.method == other.method
        assert one.value == pytest.approx(other.value)
        assert (one.low, one.high) == pytest.approx((other.low, other.high))


def slow_cluster_variance(tops, bottoms, clusters):
    """Sandwich variance of sum(tops) / sum(bottoms), one row at a time."""
    value = sum(tops) / sum(bottoms)
    residuals, sizes = defaultdict(float), defaultdict(float)
    for top, bottom, cluster in zip(tops, bottoms, clusters, strict=True):
        residuals[cluster] += top - value * bottom
        sizes[cluster] += bottom
    count = len(residuals)
    squares = sum(residual**2 for residual in residuals.values())
    effective = sum(sizes.values()) ** 2 / sum(size**2 for size in sizes.values())
    return value, count / (count - 1) * squares / sum(bottoms) ** 2, max(1.0, effective - 1)


@fast
@given(clustered(number, smallest=2))
def test_mean_against_a_loop(sample):
    values, clusters = sample
    if len(set(clusters)) < 2 or len(set(values)) < 2:
        return
    value, variance, df = slow_cluster_variance(values, [1.0] * len(values), clusters)
    estimate = mean(values, clusters)
    if estimate.low is None:
        assert variance <= 1e-12
        return
    half = scipy_stats.t.ppf(0.975, df) * math.sqrt(variance)
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
        (value, value - half, value + half), rel=1e-6, abs=1e-6
    )
    assert clustered_standard_error(values, clusters) == pytest.approx(math.sqrt(variance), abs=1e-9)


@fast
@given(clustered(st.tuples(st.integers(0, 5), st.integers(1, 9)), smallest=2))
def test_ratio_against_a_loop(sample):
    pairs, clusters = sample
    if len(set(clusters)) < 2:
        return
    tops, bottoms = [top for top, _ in pairs], [bottom for _, bottom in pairs]
    value, variance, df = slow_cluster_variance(tops, bottoms, clusters)
    estimate = ratio(tops, bottoms, clusters)
    assert estimate.value == pytest.approx(value)
    assert (estimate.numerator, estimate.denominator) == (sum(tops), sum(bottoms))
    if variance > 1e-12:
        half = scipy_stats.t.ppf(0.975, df) * math.sqrt(variance)
        assert (estimate.low, estimate.high) == pytest.approx((value - half, value + half))


@fast
@given(clustered(smallest=2))
def test_ratio_of_ones_is_the_mean(sample):
    values, clusters = sample
    one, other = ratio(values, [1] * len(values), clusters), mean(values, clusters)
    assert one.value == pytest.approx(other.value)
    if one.low is not None and other.low is not None:
        assert (one.low, one.high) == pytest.approx((other.low, other.high))


@fast
@given(st.lists(number, min_size=1, max_size=60), st.sampled_from([0.1, 0.25, 0.5, 0.9]))
def test_quantile_ranks_against_the_binomial(values, q):
    n, ordered = len(values), sorted(values)
    cumulative = [sum(math.comb(n, r) * q**r * (1 - q) ** (n - r) for r in range(rank + 1)) for rank in range(n)]
    lower = max((rank for rank in range(1, n + 1) if cumulative[rank - 1] <= 0.025), default=None)
    upper = min((rank for rank in range(1, n + 1) if cumulative[rank - 1] >= 0.975), default=None)
    estimate = quantile(values, q)
    assert estimate.value == pytest.approx(np.quantile(values, q))
    assert estimate.low == (None if lower is None else ordered[lower - 1])
    assert estimate.high == (None if upper is None else ordered[upper - 1])


@fast
@given(clustered(number))
def test_clustered_median_is_inside_its_interval(sample):
    estimate = median(*sample)
    assert estimate.low is None or estimate.low <= estimate.value
    assert estimate.high is None or estimate.high >= estimate.value


@fast
@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, n))))
def test_pass_at_k_against_enumeration(case):
    solved, tried, k = case
    draws = list(itertools.combinations([True] * solved + [False] * (tried - solved), k))
    assert pass_at_k([solved], [tried], k).value == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k([solved], [tried], k).value == pytest.approx(sum(map(all, draws)) / len(draws))


@fast
@given(clustered())
def test_attempts_per_task_against_a_loop(sample):
    values, tasks = sample
    solved, tried, missing = attempts_per_task(values, tasks)
    expected = [
        (sum(v for v, t in zip(values, tasks, strict=True) if t == task), tasks.count(task))
        for task in sorted(set(tasks))
    ]
    assert list(zip(solved, tried, strict=True)) == expected
    assert missing == 0


@fast
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_against_its_definition(p_values):
    adjusted = holm(p_values)
    for level in (0.001, 0.01, 0.05, 0.2, 0.7):
        rejected = set()
        order = sorted(range(len(p_values)), key=lambda place: p_values[place])
        for rank, place in enumerate(order):
            if p_values[place] * (len(p_values) - rank) > level:
                break
            rejected.add(place)
        assert {place for place, value in enumerate(adjusted) if value <= level} == rejected


@fast
@given(clustered(number), clustered(number))
def test_paired_difference_against_a_loop(first, second):
    (a, tasks_a), (b, tasks_b) = first, second
    gaps = [
        np.mean([v for v, t in zip(a, tasks_a, strict=True) if t == task])
        - np.mean([v for v, t in zip(b, tasks_b, strict=True) if t == task])
        for task in sorted(set(tasks_a) & set(tasks_b))
    ]
    estimate = paired_difference(a, b, tasks_a, tasks_b)
    assert estimate.denominator == len(gaps)
    assert estimate.missing == len(set(tasks_a) ^ set(tasks_b))
    if gaps:
        assert estimate.value == pytest.approx(np.mean(gaps), abs=1e-9)
    if len(gaps) > 1 and np.std(gaps) > 1e-6 and estimate.method.startswith("t,"):
        low, high = scipy_stats.t.interval(0.95, len(gaps) - 1, np.mean(gaps), scipy_stats.sem(gaps))
        assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-6)


@fast
@given(clustered(), clustered(), st.booleans(), st.sampled_from(["proportion", "mean"]))
def test_difference_is_antisymmetric(first, second, shared, kind):
    one = difference(first[0], second[0], first[1], second[1], kind, shared)
    other = difference(second[0], first[0], second[1], first[1], kind, shared)
    assert one.value == pytest.approx(-other.value)
    assert (one.low is None) == (other.high is None)
    if one.low is not None:
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-9)
        assert one.low <= one.value + 1e-12 <= one.high + 2e-12


@fast
@given(clustered(), clustered())
def test_inverted_test_is_the_level_at_which_the_interval_just_holds_zero(first, second):
    (a, tasks_a), (b, tasks_b) = first, second
    low, high = 0.0, 1.0
    for _ in range(40):
        level = (low + high) / 2
        told = difference(a, b, tasks_a, tasks_b, confidence=1 - level, shared_clusters=True)
        low, high = (level, high) if told.low <= 0 <= told.high else (low, level)
    test = inverted_difference_test(a, b, tasks_a, tasks_b)
    assert (test.p_value, test.n) == (high, len(a) + len(b))


@fast
@given(st.integers(0, 30), st.integers(0, 30))
def test_mcnemar_and_sign_test_against_scipy(only_a, only_b):
    discordant = only_a + only_b
    expected = scipy_stats.binomtest(only_a, discordant).pvalue if discordant else 1.0
    assert mcnemar_counts(only_a, only_b).p_value == pytest.approx(expected)
    signs = [1] * only_a + [-1] * only_b
    assert sign_test(signs, [0] * discordant).p_value == pytest.approx(expected)


@fast
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=7))
def test_permutation_against_enumeration(gaps):
    observed = abs(sum(gaps))
    flips = itertools.product((1, -1), repeat=len(gaps))
    totals = [abs(sum(s * g for s, g in zip(flip, gaps, strict=True))) for flip in flips]
    expected = np.mean([total >= observed for total in totals])
    tasks = list(range(len(gaps)))
    result = permutation_test(gaps, [0] * len(gaps), tasks, rng=np.random.default_rng(0))
    assert result.p_value == pytest.approx(expected)


@fast
@given(st.lists(st.tuples(st.integers(0, 20), number), min_size=2, max_size=25))
def test_theil_sen_against_a_double_loop(points):
    steps, values = [step for step, _ in points], [value for _, value in points]
    slopes, score = [], 0
    for (step, value), (later, other) in itertools.combinations(points, 2):
        if step != later:
            slopes.append((other - value) / (later - step))
        score += int(np.sign(other - value) * np.sign(later - step))
    estimate = theil_sen(values, steps)
    if not slopes:
        assert estimate.value is None
        return
    assert estimate.value == pytest.approx(np.median(slopes), abs=1e-9)
    assert estimate.low is None or estimate.low <= estimate.value + 1e-12
    assert estimate.high is None or estimate.high >= estimate.value - 1e-12
    result = mann_kendall(values, steps)
    if result.statistic is not None:
        assert result.statistic == score


@fast
@given(st.lists(st.integers(0, 6), min_size=10, max_size=40))
def test_mann_kendall_variance_against_scipy_order(values):
    """For steps without ties the p-value follows Kendall's tie-corrected variance, written out."""
    n = len(values)
    ties = [values.count(value) for value in set(values)]
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    result = mann_kendall(values)
    if variance == 0:
        assert result.p_value == 1.0
        return
    z = max(0.0, abs(result.statistic) - 1) / math.sqrt(variance)
    assert result.p_value == pytest.approx(2 * scipy_stats.norm.sf(z))


labels = st.sampled_from(["edit", "test", "read"])


@fast
@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=25))
def test_kappa_against_a_loop(pairs):
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    chance = sum(
        sum(a == label for a, _ in pairs) * sum(b == label for _, b in pairs) / n**2
        for label in ("edit", "test", "read")
    )
    estimate = cohen_kappa(*zip(*pairs, strict=True), rng=np.random.default_rng(0), draws=100)
    if chance > 1 - 1e-9:
        assert estimate.value is None
    else:
        assert estimate.value == pytest.approx((observed - chance) / (1 - chance))


@fast
@given(st.lists(st.lists(st.none() | labels, min_size=3, max_size=3), min_size=1, max_size=15))
def test_alpha_against_pairs_of_values(ratings):
    units = [[label for label in unit if label is not None] for unit in ratings]
    units = [unit for unit in units if len(unit) >= 2]
    estimate = krippendorff_alpha(ratings, rng=np.random.default_rng(0), draws=100)
    assert estimate.missing == len(ratings) - len(units)
    values = [label for unit in units for label in unit]
    n = len(values)
    if len(set(values)) < 2:
        assert estimate.value is None
        return
    observed = sum(sum(a != b for a, b in itertools.permutations(u, 2)) / (len(u) - 1) for u in units) / n
    expected = sum(a != b for a, b in itertools.permutations(values, 2)) / (n * (n - 1))
    assert estimate.value == pytest.approx(1 - observed / expected)


matrix = st.lists(st.lists(number, min_size=3, max_size=3), min_size=1, max_size=8)


@fast
@given(matrix, matrix)
def test_component_deltas_sum_to_the_total(before, after):
    totals = [np.sum(before, axis=1), np.sum(after, axis=1)]
    found = decompose(before, after, None, *totals)
    assert sum(found.deltas) == pytest.approx(found.total, abs=1e-9)
    assert found.residual == pytest.approx(0.0, abs=1e-9)
    assert found.total == pytest.approx(totals[1].mean() - totals[0].mean(), abs=1e-9)
