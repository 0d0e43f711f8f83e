"""Words, edges, null and speed of the statistics."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

import trajlab.stats
from trajlab.errors import UsageError
from trajlab.stats import (
    Estimate,
    bootstrap_of_sums,
    change_point,
    change_points,
    cluster_bootstrap,
    cohen_kappa,
    decompose,
    detectable_difference,
    difference,
    difference_in_sigma,
    holm,
    krippendorff_alpha,
    mann_kendall,
    mcnemar,
    mean,
    median,
    paired_difference,
    paired_t_test,
    pass_at_k,
    pass_hat_k,
    per_cent,
    permutation_test,
    power_of_difference,
    proportion,
    quantile,
    ratio,
    sample_size,
    sign_test,
    theil_sen,
    two_sample_test,
    wilson,
)


def rng():
    return np.random.default_rng(7)


def test_estimate_reads_well():
    estimate = proportion([True] * 37 + [False] * 42)
    assert str(estimate) == "46.8 % [36.2, 57.7], 37/79"
    assert str(mean([1, 2, 4, None])) == "2.333 [-1.461, 6.128], n 3, 1 not observed"
    assert str(proportion([None, None])) == "not observed"
    assert str(median([1, 2])) == "1.5, n 2"


def test_no_share_is_rounded_to_none_or_all():
    almost = [True] + [False] * 4999
    assert str(proportion(almost)).startswith("<0.1 % [0.0, 0.1], 1/5,000")
    assert str(proportion([not one for one in almost])).startswith(">99.9 % [99.9, 100.0], 4,999/5,000")
    assert [per_cent(share, 0) for share in (0, 0.004, 0.5, 0.997, 1)] == ["0", "<1", "50", ">99", "100"]
    assert per_cent(0.0005) == "0.1" and per_cent(1.2) == "120.0" and per_cent(-0.0001) == "-0.0"


def test_estimate_is_plain_json():
    record = proportion([1, 0, None], ["a", "a", "b"]).to_dict()
    assert json.loads(json.dumps(record)) == record
    assert list(record)[:5] == ["value", "low", "high", "numerator", "denominator"]
    assert record["missing"] == 1


@pytest.mark.parametrize(
    "estimate",
    [
        proportion([1, 0, 1, 0], ["a", "a", "b", "b"]),
        ratio([1, 2, 3], [2, 4, 6], ["a", "a", "b"], bounded=True),
        ratio([1, 2, 3], [2, 4, 6], ["a", "a", "b"]),
        mean([1, 2, 4, 5], ["a", "a", "b", "b"]),
        median([1, 2, 4, 5]),
        difference([1, 0, 1, 0], [1, 1, 0, 1], ["a", "a", "b", "b"], ["a", "a", "b", "b"]),
        paired_difference([1, 0, 1, 0], [1, 1, 0, 1], ["a", "a", "b", "b"], ["a", "a", "b", "b"]),
        pass_at_k([1, 2, 0], [4, 4, 4], 2),
        pass_hat_k([1, 2, 0], [4, 4, 4], 2),
        theil_sen([1.0, 2.0, 4.0, 3.0]),
    ],
)
def test_estimate_holds_no_numpy_scalars(estimate):
    assert msgspec.json.decode(msgspec.json.encode(estimate)) == estimate.to_dict()


@pytest.mark.parametrize(
    "estimate",
    [
        proportion([]),
        proportion([], []),
        proportion([None, math.nan], [1, 2]),
        mean([]),
        mean([None], ["a"]),
        ratio([], []),
        ratio([1, None], [None, 2]),
        ratio([0, 0], [0, 0]),
        median([]),
        quantile([None], 0.9, [1]),
        difference([], [1, 0]),
        paired_difference([], [], []),
        paired_difference([1], [0], ["a"], ["b"]),
        pass_at_k([], [], 1),
        theil_sen([]),
        theil_sen([3.0]),
        theil_sen([1, 2], [5, 5]),
        cohen_kappa([None], ["a"], rng=rng()),
        krippendorff_alpha([["a", None]], rng=rng()),
        cluster_bootstrap(np.mean, [], rng=rng()),
    ],
)
def test_nothing_observed(estimate):
    assert (estimate.value, estimate.low, estimate.high) == (None, None, None)
    assert estimate.denominator == 0
    assert estimate.method == "not observed"


def test_missing_is_counted():
    assert proportion([1, None, math.nan, 0]).missing == 2
    assert ratio([1, None, 2], [4, 4, None]).missing == 2
    assert paired_difference([1, 0, None], [1, 1, 1], ["a", "b", "c"]).missing == 1


def test_bounds_at_none_and_all():
    clusters = np.repeat(np.arange(10), 4)
    none, every = proportion(np.zeros(40), clusters), proportion(np.ones(40), clusters)
    assert none.low == 0.0
    assert every.high == 1.0
    assert 0.15 < none.high < 0.35
    assert none.high == pytest.approx(1 - every.low)
    assert none.high > wilson(0, 40)[1]


def test_one_task_only_says_so():
    estimate = proportion([1, 0, 1, 1], ["a"] * 4)
    assert estimate.method == "Wilson, one task only: counted as one observation"
    assert estimate.high - estimate.low > 0.8
    assert mean([1.0, 2.0], [1, 1]).method == "one task only: no interval"
    assert pass_at_k([1], [2], 1).high - pass_at_k([1], [2], 1).low > 0.8


def test_singletons_are_not_clustered():
    values = [1, 0, 0, 1, 1]
    assert proportion(values, list("abcde")) == proportion(values)
    assert proportion(values, list("abcde")).method == "Wilson"


def test_rows_without_task_stand_alone():
    values = [1, 0, 1, 1, 0, 0]
    by_none = proportion(values, ["a", "a", None, None, "b", "b"])
    by_nan = proportion(values, [0.0, 0.0, math.nan, math.nan, 1.0, 1.0])
    by_name = proportion(values, ["a", "a", "c", "d", "b", "b"])
    assert by_none == by_nan == by_name
    assert by_none.clusters == 4


def test_correlated_attempts_widen_and_method_says_how():
    values = np.repeat([1, 0, 1, 0, 0, 1, 0, 1, 1, 0], 4)
    clusters = np.repeat(np.arange(10), 4)
    estimate = proportion(values, clusters)
    assert estimate.method == "Wilson, clustered by task (n eff 10.2)"  # 1 / (10/11 · 1/10 + 1/11 · (0.3/40 + 0.7/10))
    plain = proportion(values)
    assert estimate.high - estimate.low > 1.7 * (plain.high - plain.low)


def test_no_variation_has_no_interval():
    assert mean([0.1] * 7).low is None
    assert mean([0.1] * 7).method == "no variation among 7 values: no interval"
    assert ratio([1, 2], [2, 4]).method == "no variation among 2 units: no interval"
    assert mean([1, 3, 2, 2], list("aabb")).method == "no variation among 2 tasks: no interval"
    assert ratio([1, 3, 2, 2], [1, 1, 1, 1], list("aabb")).method == "no variation among 2 tasks: no interval"
    assert difference([2, 2], [1, 1], kind="mean").method == "no variation in either arm: no interval"


def test_bounded_ratio_stays_inside():
    estimate = ratio([0, 0, 0], [20, 30, 10], bounded=True)
    assert (estimate.value, estimate.low) == (0.0, 0.0)
    assert 0 < estimate.high < 1
    assert ratio([5], [9], bounded=True).method == "one unit only: counted as one observation"
    assert ratio([5], [9]).low is None


def test_quantile_ends_that_cannot_be_bounded():
    estimate = quantile(np.arange(20), 0.95)
    assert estimate.low is not None
    assert estimate.high is None
    assert estimate.method == "order statistics: too few values to bound it"
    assert median([4.0, 6.0], ["a", "a"]).method == "one task only: no interval"


def test_paired_difference_of_few_changes():
    same = paired_difference([1, 0, 1], [1, 0, 1], ["a", "b", "c"])
    assert same.value == 0
    assert same.low == -same.high < -0.5
    assert same.method == "no task differs: Wilson bound of the share that differs"
    few = paired_difference(np.arange(30) < 20, np.arange(30) < 17, np.arange(30))
    padded = np.array([1] * 4 + [-1] + [0] * 27)
    assert few.method == "Bonett-Price, paired by task"
    assert few.low < 0.1 < few.high
    assert (few.low + few.high) / 2 == pytest.approx(padded.mean())


def test_shared_tasks_narrow_a_difference():
    generator = rng()
    tasks = np.repeat(np.arange(40), 4)
    chance = np.repeat(generator.beta(0.7, 0.7, 40), 4)
    a, b = generator.random(160) < chance, generator.random(160) < chance
    apart, shared = difference(a, b, tasks, tasks), difference(a, b, tasks, tasks, shared_clusters=True)
    assert shared.high - shared.low < 0.8 * (apart.high - apart.low)
    assert shared.method == "Newcombe, clustered by task shared by the arms"


def test_pass_at_k_leaves_out_short_tasks_and_says_so():
    estimate = pass_at_k([1, 2, 0], [2, 4, 4], 4)
    assert (estimate.denominator, estimate.missing, estimate.value) == (2, 1, 0.5)
    none = pass_hat_k([1, 1], [2, 2], 3)
    assert (none.value, none.missing, none.method) == (None, 2, "not observed: no task has 3 attempts")
    assert pass_at_k([2000], [4000], 2000).value == pytest.approx(1.0)


def test_tests_say_what_they_could_not_do():
    assert paired_t_test([1], [0], ["a"]).p_value is None
    assert paired_t_test([1, 0], [1, 0], ["a", "b"]).p_value == 1.0
    assert paired_t_test([3, 2], [2, 1], ["a", "b"]).p_value is None
    assert two_sample_test([1, 1], [0, 0]).method == "no variation in either arm: no test"
    assert two_sample_test([1], [0, 1]).p_value is None
    assert mcnemar([1, 0, None], [1, 0, 1]).p_value == 1.0
    assert mann_kendall([1, 2]).p_value is None


def test_two_sample_test_agrees_with_the_interval():
    generator = rng()
    tasks = np.repeat(np.arange(20), 4)
    a, b = generator.normal(0.3, 1, 80), generator.normal(0, 1, 80)
    result = two_sample_test(a, b, tasks, tasks)
    interval = difference(a, b, tasks, tasks, kind="mean", confidence=1 - result.p_value)
    assert min(abs(interval.low), abs(interval.high)) == pytest.approx(0, abs=1e-9)


def test_permutation_needs_many_draws_only_for_many_tasks():
    gaps = rng().normal(0.5, 1, 40)
    tasks = np.arange(40)
    result = permutation_test(gaps, np.zeros(40), tasks, rng=rng(), draws=4000)
    assert result.p_value == pytest.approx(paired_t_test(gaps, np.zeros(40), tasks).p_value, abs=0.02)
    assert result.method == "sign-flip permutation over tasks, 4,000 draws"


def test_holm_counts_tests_that_could_not_be_done():
    assert holm([0.01, None, 0.04]).tolist()[0] == pytest.approx(0.03)
    assert np.isnan(holm([0.01, None, 0.04])[1])


def test_bootstrap_agrees_with_the_formula_and_the_seed_decides():
    generator = rng()
    tasks = np.repeat(np.arange(50), 4)
    values = generator.normal(np.repeat(generator.normal(0, 1, 50), 4), 1)
    formula = mean(values, tasks)
    found = cluster_bootstrap(np.mean, values, rng=rng(), clusters=tasks, draws=1500)
    assert (found.low, found.high) == pytest.approx((formula.low, formula.high), abs=0.06)
    assert found.method == "BCa bootstrap, clustered by task"
    again = cluster_bootstrap(np.mean, values, rng=rng(), clusters=tasks, draws=1500)
    other = cluster_bootstrap(np.mean, values, rng=np.random.default_rng(8), clusters=tasks, draws=1500)
    assert again == found != other
    rows = np.column_stack([np.bincount(tasks, values), np.bincount(tasks)])
    low, high, _ = bootstrap_of_sums(rows, lambda sums: sums[..., 0] / sums[..., 1], rng())
    assert (low, high) == pytest.approx((formula.low, formula.high), abs=0.06)


@pytest.mark.parametrize("unit", [0.1, 0.3, 0.7])
def test_bootstrap_bounds_do_not_depend_on_the_unit_of_values_that_tie(unit):
    counts = np.array([0.0, 3, 1, 1, 2, 0, 2, 1, 3, 1, 0, 1, 2, 2, 0, 3, 1])
    whole = cluster_bootstrap(np.mean, counts, rng=rng(), draws=500)
    scaled = cluster_bootstrap(np.mean, counts * unit, rng=rng(), draws=500)
    assert (scaled.low, scaled.high) == pytest.approx((whole.low * unit, whole.high * unit), rel=1e-9)
    bounds = [
        bootstrap_of_sums(np.column_stack([values, np.ones(17)]), lambda sums: sums[..., 0] / sums[..., 1], rng())[:2]
        for values in (counts, counts * unit)
    ]
    assert bounds[1] == pytest.approx(np.array(bounds[0]) * unit, rel=1e-9)


def test_values_that_differ_by_rounding_only_are_ties():
    assert sign_test([0.1 + 0.2, 0.5], [0.3, 0.4]).n == 1
    assert mann_kendall([0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2]).method == "Mann-Kendall: constant series"
    tied, exact = mann_kendall([0.1 + 0.2, 0.3, 0.4, 0.2]), mann_kendall([3, 3, 4, 2])
    assert tied == exact


def test_bootstrap_without_an_interval():
    assert cluster_bootstrap(np.mean, [1.0, 1.0], rng=rng()).method == "no variation: no interval"
    one = cluster_bootstrap(np.mean, [1.0, 2.0], rng=rng(), clusters=[1, 1])
    assert (one.value, one.low, one.method) == (1.5, None, "one unit only: no interval")


def test_agreement_of_published_examples():
    """Krippendorff 2011, example C (nominal): alpha 0.743; Cohen's kappa of a 2 × 2 table: 0.4."""
    raters = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    alpha = krippendorff_alpha(np.array(raters, dtype=object).T, rng=rng())
    assert round(alpha.value, 3) == 0.743
    assert alpha.missing == 1
    assert alpha.low < 0.743 < alpha.high
    kappa = cohen_kappa([1] * 25 + [0] * 25, [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15, rng=rng())
    assert kappa.value == pytest.approx(0.4)
    assert (kappa.numerator, kappa.denominator) == (35, 50)
    clustered = cohen_kappa(
        [1] * 25 + [0] * 25,
        [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15,
        rng=rng(),
        clusters=np.repeat(np.arange(10), 5),
    )
    assert clustered.high - clustered.low > kappa.high - kappa.low
    assert cohen_kappa(["a"], ["a"], rng=rng()).method.startswith("one label only")


def test_theil_sen_of_a_line_and_of_a_long_series():
    line = theil_sen(3 + 0.5 * np.arange(12))
    assert (line.value, line.low, line.high) == pytest.approx((0.5, 0.5, 0.5))
    noisy = theil_sen(np.append(np.arange(10.0), 500.0))
    assert noisy.value == pytest.approx(1.0)
    long = theil_sen(0.01 * np.arange(9000) + rng().normal(0, 1, 9000))
    assert long.method == "Theil-Sen, means of 2,000 blocks"
    assert long.low < 0.01 < long.high
    assert mann_kendall(np.arange(20)).p_value < 1e-6
    assert mann_kendall(np.arange(20)).statistic == 190
    assert mann_kendall([2, 2, 2, 2]).p_value == 1.0


def test_change_points_of_a_bump():
    series = rng().normal(0, 1, 300)
    series[100:200] += 3
    found = change_points(series, np.arange(1000, 1300))
    assert [round(point.step) for point in found] == [1100, 1200]
    assert all(point.low <= true <= point.high for point, true in zip(found, (1100, 1200), strict=True))
    assert found[0].mean_after == pytest.approx(3, abs=0.5)
    assert all(point.high - point.low < 10 for point in found)


def test_change_points_of_series_without_change():
    assert change_points(rng().normal(0, 1, 200)) == []
    wandering, noise = np.zeros(400), rng().normal(0, 1, 400)
    for place in range(1, 400):
        wandering[place] = 0.8 * wandering[place - 1] + noise[place]
    assert change_points(wandering) == []
    for series in ([], [1.0], [5.0] * 30, [None] * 9):
        assert change_point(series) is None


def test_change_point_of_a_clean_step():
    point = change_point([0.0] * 10 + [1.0] * 10)
    assert (point.step, point.low, point.high, point.n_before, point.n_after) == (10, 10, 10, 10, 10)


def test_change_point_intervals_hold_the_place():
    generator, held, found = rng(), 0, 0
    for _ in range(150):
        place = int(generator.integers(25, 75))
        series = generator.normal(0, 1, 100)
        series[place:] += 1.5
        point = change_point(series)
        found += point is not None
        held += point is not None and point.low <= place <= point.high
    assert found > 140
    assert held / found > 0.93


def test_decompose_leaves_out_incomplete_rows():
    found = decompose([[1, 2], [3, None]], [[2, 2]], weights=[1, 0.5])
    assert (found.rows_before, found.rows_after, found.missing) == (1, 1, 1)
    assert found.deltas == [1.0, 0.0]
    assert found.shares == [1.0, 0.0]
    assert decompose([[None, 1]], [[1, 1]]) is None
    assert decompose([[1, 2]], [[2, 1]]).shares == [None, None]


def test_power():
    assert sample_size(0.5, 0.5) is None
    assert power_of_difference(0.5, 0.5, 100, 100) == pytest.approx(0.05)
    assert sample_size(0.682, 0.646, design_effect=2.0) == pytest.approx(2 * sample_size(0.682, 0.646), abs=1)
    assert difference_in_sigma(0, 0, 10, 10) is None
    gap = detectable_difference(0.5, 400, 400)
    assert power_of_difference(0.5 + gap / 2, 0.5 - gap / 2, 400, 400) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    "call",
    [
        lambda: wilson(5, 3),
        lambda: wilson(1, 3, confidence=95),
        lambda: proportion([0.5, 2]),
        lambda: proportion(["yes"]),
        lambda: proportion([[1, 0]]),
        lambda: proportion([1, 0], [1]),
        lambda: mean([math.inf, 1]),
        lambda: ratio([1], [1, 2]),
        lambda: ratio([1], [-1]),
        lambda: ratio([3], [2], bounded=True),
        lambda: quantile([1, 2], 1.0),
        lambda: difference([1], [0], kind="odds"),
        lambda: difference([1, 0], [0, 1], shared_clusters=True),
        lambda: paired_difference([1], [0], [1, 2]),
        lambda: pass_at_k([1], [1], 0),
        lambda: pass_at_k([3], [2], 1),
        lambda: holm([1.2]),
        lambda: theil_sen([1, 2], [1]),
        lambda: change_points([1, 2], shortest=1),
        lambda: sample_size(0.5, 1.2),
        lambda: krippendorff_alpha(["a", "b"], rng=rng()),
        lambda: cohen_kappa(["a"], ["a", "b"], rng=rng()),
        lambda: cluster_bootstrap(np.mean, [1, 2], rng=rng(), method="magic"),
        lambda: decompose([[1, 2]], [[1]]),
    ],
)
def test_wrong_calls_are_refused(call):
    with pytest.raises(UsageError):
        call()


def test_only_errors_are_imported_from_the_package():
    for path in Path(trajlab.stats.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("trajlab"):
                assert node.module == "trajlab.errors" or node.module.startswith("trajlab.stats"), path


def test_public_names_are_there_and_documented():
    for name in trajlab.stats.__all__:
        item = getattr(trajlab.stats, name)
        assert isinstance(item, str) or item.__doc__
    assert len(trajlab.stats.__all__) == len(set(trajlab.stats.__all__))


@pytest.mark.parametrize("values", [[1e308] * 3, [1e308, -1e308, 1.0], [math.inf, 1.0]])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_overflows_is_not_known_and_says_so(values: list[float]) -> None:
    found = Estimate(float(np.sum(values)), -math.inf, math.inf, math.inf, 3.0, "t")
    assert all(one is None or math.isfinite(one) for one in (found.value, found.low, found.high, found.numerator))
    assert (found.value is None) == (found.method == "beyond what a float can hold")
    assert found.denominator == 3.0


def test_a_mean_beyond_floats_is_not_known() -> None:
    found = mean([1e308] * 3, ["a"] * 3)
    assert (found.value, found.denominator, str(found)) == (None, 3.0, "beyond what a float can hold")
