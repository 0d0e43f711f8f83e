"""The sequential tests over training steps against obvious slow versions, published numbers and their stated rates."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.checks.alarm_rules import FALSE_ALARMS, RULES
from trajlab.errors import UsageError
from trajlab.stats import betting, sequential, step_rules

VALUES = st.lists(st.floats(-5, 5).map(lambda value: round(value, 2)), min_size=1, max_size=70)
SPARSE = st.lists(st.one_of(st.just(math.nan), st.floats(-5, 5).map(lambda v: round(v, 1))), max_size=40)


def slow_scale(values: list[float]) -> float:
    known = len(values)
    d1 = statistics.median(abs(b - a) for a, b in itertools.pairwise(values))
    d2 = statistics.median(abs(c - a) for a, c in zip(values, values[2:], strict=False))
    ratio = d2 / d1 if d1 > 0 else 1.0
    rho = min(0.8, max(0.0, ratio * ratio - 1))
    rho = (known * rho + 20 * 0.3) / (known + 20)
    return 1.4826 * d1 * math.sqrt((1 + rho) / 2) / (1 - rho) * (1 + 3 / known)


@given(VALUES)
@settings(deadline=None, max_examples=60)
def test_noise_is_that_of_the_slow_version(values: list[float]) -> None:
    noise = sequential.long_run_noise([values])[0]
    for place, found in enumerate(noise):
        if place < 10:
            assert math.isnan(found)
            continue
        known = 10 + (place - 10) // 5 * 5 if place < 50 else place // 10 * 10
        wanted = slow_scale(values[:known])
        if known > 30:
            wanted = max(wanted, slow_scale(values[known - 30 : known]))
        assert found == pytest.approx(wanted, abs=1e-12)


@given(VALUES, st.integers(1, 12))
@settings(deadline=None, max_examples=60)
def test_levels_are_those_of_the_slow_version(values: list[float], window: int) -> None:
    base, best = sequential.baseline([values], window)[0], sequential.best_so_far([values], window)[0]
    lately = sequential.recent([values], window)[0]
    for place in range(len(values)):
        assert lately[place] == pytest.approx(statistics.median(values[max(0, place + 1 - window) : place + 1]))
        if place < window:
            assert math.isnan(base[place])
            assert math.isnan(best[place])
            continue
        assert base[place] == pytest.approx(statistics.median(values[:window]))
        ends = range(window, place + 1)
        assert best[place] == pytest.approx(max(statistics.median(values[end - window : end]) for end in ends))


@given(VALUES, st.booleans(), st.floats(-2, 2), st.one_of(st.none(), st.floats(0.1, 0.9)))
@settings(deadline=None, max_examples=100)
def test_watch_is_the_slow_cusum(values: list[float], high: bool, material: float, guard: float | None) -> None:
    noise, reference = sequential.long_run_noise([values]), sequential.baseline([values])
    found = sequential.watch(values=[values], reference=reference, material=np.full((1, len(values)), material),
                             noise=noise, high=high, guard=guard)  # fmt: skip
    sign, total, first = (1.0 if high else -1.0), 0.0, -1
    for place, value in enumerate(values):
        if place < 10:
            score = -1.0
        else:
            s, ref = noise[0, place], reference[0, place]
            if guard is not None:
                s = min(s, guard * abs(ref) / sequential.SLACK)
            line = sign * max(sign * material, sign * (ref + sign * sequential.SLACK * s))
            gap = sign * (value - line)
            score = max(-1.0, min(1.0, gap / (0.5 * s))) if s > 0 else float(np.sign(gap))
            assert found.line[0, place] == pytest.approx(line)
        total = max(0.0, min(2 * sequential.LIMIT, total + score))
        assert found.statistic[0, place] == pytest.approx(total, abs=1e-9)
        first = place if first < 0 and total >= sequential.LIMIT - 1e-9 else first
    assert found.first[0] == first


def test_one_spike_never_acts_and_three_steps_are_needed() -> None:
    rng = np.random.default_rng(1)
    values = 10 + rng.standard_normal((1, 100))
    values[0, 40] = 233.0
    values[0, 60:62] = 233.0
    noise, reference = sequential.long_run_noise(values), sequential.baseline(values)
    level = np.full(values.shape, 30.0)
    assert sequential.watch(values, reference, level, noise, high=True).first[0] == -1
    values[0, 62] = 233.0
    assert sequential.watch(values, reference, level, sequential.long_run_noise(values), high=True).first[0] == 62


@given(st.integers(0, 2**32), st.integers(20, 120))
@settings(deadline=None, max_examples=20)
def test_what_is_told_at_a_step_uses_no_later_one(seed: int, cut: int) -> None:
    values = np.random.default_rng(seed).standard_normal((3, 120)).cumsum(axis=1)

    def first(series: np.ndarray) -> np.ndarray:
        noise, best = sequential.long_run_noise(series), sequential.best_so_far(series)
        return sequential.watch(series, best, np.full(series.shape, np.inf), noise, high=False, slack=1.0).first

    whole, part = first(values), first(values[:, :cut])
    assert np.array_equal(part, np.where((whole >= 0) & (whole < cut), whole, -1))


@pytest.mark.parametrize("case", sorted(FALSE_ALARMS, key=str))
def test_stated_false_alarm_rates_hold(case: tuple[str, float | None]) -> None:
    limits = {rule.limit for rule in RULES if rule.test == "cusum" and rule.slack == case[1]} or {sequential.LIMIT}
    (limit,) = limits
    for rho, stated in zip((0.5, 0.7), FALSE_ALARMS[case], strict=True):
        told = sequential.false_alarm_rate(
            np.random.default_rng(11), best=case[0] == "best", correlation=rho, runs=250, slack=case[1], limit=limit
        )
        assert told.low is not None
        assert told.low <= stated, (case, rho, told)


def test_every_rule_states_a_rate() -> None:
    for rule in RULES:
        if rule.test == "cusum":
            assert ("best" if rule.reference in ("best", "lowest") else "start", rule.slack) in FALSE_ALARMS


def test_autoregressive_has_its_correlation() -> None:
    series = sequential.autoregressive(400, 200, 0.6, np.random.default_rng(2))
    assert np.corrcoef(series[:, :-1].ravel(), series[:, 1:].ravel())[0, 1] == pytest.approx(0.6, abs=0.02)
    assert series.std() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("values", [[1.0, 2.0], [[1.0, math.nan]], [[[1.0]]]])
def test_only_finite_runs_by_steps(values: object) -> None:
    with pytest.raises(UsageError, match="shape"):
        sequential.long_run_noise(values)  # type: ignore[arg-type]


@given(SPARSE, st.integers(1, 4), st.booleans())
def test_runs_over_is_groupby(values: list[float], count: int, high: bool) -> None:
    seen = [(place, value) for place, value in enumerate(values) if not math.isnan(value)]
    slow = []
    for over, group in itertools.groupby(seen, key=lambda item: item[1] > 0.5 if high else item[1] < 0.5):
        members = [place for place, _ in group]
        if over and len(members) >= count:
            slow.append((members[0], members[-1]))
    assert step_rules.runs_over(values, 0.5, count, high=high) == slow


@given(st.integers(0, 9), st.integers(1, 4), st.floats(0, 1))
def test_run_probability_counts_every_sequence(steps: int, count: int, share: float) -> None:
    total = 0.0
    for flags in itertools.product((0, 1), repeat=steps):
        if "1" * count in "".join(map(str, flags)):
            total += share ** sum(flags) * (1 - share) ** (steps - sum(flags))
    assert step_rules.run_probability(share, count, steps) == pytest.approx(total, abs=1e-12)


def test_runs_rule_rate_meets_the_exact_probability() -> None:
    told = step_rules.runs_rule_rate(0.1, 3, 100, 0.0, np.random.default_rng(3), runs=4000)
    exact = step_rules.run_probability(0.1, 3, 100)
    assert told.low is not None
    assert told.high is not None
    assert told.low <= exact <= told.high
    correlated = step_rules.runs_rule_rate(0.1, 3, 100, 0.7, np.random.default_rng(3), runs=2000)
    assert (correlated.value or 0) > 2 * exact


def test_mann_kendall_tail_is_kendalls_table() -> None:
    # Kendall 1938; Hollander and Wolfe, table A.30: n = 4, S >= 6: .042; n = 5, S >= 8: .042; n = 6, S >= 11: .028
    assert step_rules.mann_kendall_tail(6, 4) == pytest.approx(1 / 24)
    assert round(step_rules.mann_kendall_tail(8, 5), 3) == 0.042
    assert round(step_rules.mann_kendall_tail(11, 6), 3) == 0.028
    for n in range(2, 7):
        scores = [
            sum(int(np.sign(b - a)) for a, b in itertools.combinations(order, 2))
            for order in itertools.permutations(range(n))
        ]
        for score in set(scores):
            wanted = sum(other >= score for other in scores) / len(scores)
            assert step_rules.mann_kendall_tail(score, n) == pytest.approx(wanted)


def test_springs_excursions_and_runaways_of_the_first_report() -> None:
    r4 = [0.03, 0.034, 0.052, 0.032, 0.03, 0.051, 0.038, 0.035]
    assert [(item.kind, item.first) for item in step_rules.crossings(r4, 0.05)] == [("spring", 2), ("spring", 5)]
    r3 = [0.036, 0.04, 0.044, 0.047, 0.058, 0.064, 0.071, 0.076, 0.09, 0.109]
    (runaway,) = step_rules.crossings(r3, 0.05)
    assert (runaway.kind, runaway.first, runaway.told_at, runaway.open) == ("runaway", 4, 7, True)
    flat = [0.03, 0.055, 0.056, 0.052, 0.055, 0.053, 0.04]
    (excursion,) = step_rules.crossings(flat, 0.05)
    assert (excursion.kind, excursion.first, excursion.last, excursion.open) == ("excursion", 1, 5, False)
    assert step_rules.crossings([0.06, 0.07, 0.08, 0.09, 0.1], 0.05)[0].kind == "excursion"
    assert step_rules.crossings([], 0.05) == []
    assert step_rules.crossings([math.nan, 0.2, math.nan], 0.05)[0].kind == "spring"


@given(st.lists(st.one_of(st.just(math.nan), st.floats(0, 1)), max_size=30), st.floats(0.05, 0.95), st.booleans())
def test_capital_is_the_mean_of_products(values: list[float], mean: float, high: bool) -> None:
    found = betting.capital(values, mean, high=high)
    bets = np.linspace(0.05, 0.95, 19)
    wealth = np.ones(19)
    for place, value in enumerate(values):
        if not math.isnan(value):
            gap = value - mean if high else mean - value
            wealth = wealth * (1 + bets / (mean if high else 1 - mean) * gap)
        assert found[place] == pytest.approx(wealth.mean(), rel=1e-9)


def test_capital_keeps_villes_bound() -> None:
    flags = (np.random.default_rng(5).random((2000, 300)) < 0.3).astype(float)
    assert (betting.capital(flags, 0.3).max(axis=1) >= 100).mean() <= 0.015
    assert (betting.capital(flags, 0.2).max(axis=1) >= 100).mean() > 0.7


def test_flag_cusum_is_its_slow_version_and_keeps_its_run_length() -> None:
    flags = (np.random.default_rng(6).random((1, 60)) < 0.7).astype(float)
    share = np.full((1, 60), 0.5)
    share[0, :10] = np.nan
    total, slow = 0.0, []
    for place, flag in enumerate(flags[0]):
        step = math.log(0.95 / 0.5) if flag else math.log(0.05 / 0.5)
        total = max(0.0, total + step) if place >= 10 else 0.0
        slow.append(total)
    assert betting.flag_cusum(flags, share)[0] == pytest.approx(slow)
    null = (np.random.default_rng(7).random((200, 1000)) < 0.5).astype(float)
    over = betting.flag_cusum(null, 0.5) >= math.log(400)
    lengths = np.where(over.any(axis=1), over.argmax(axis=1) + 1, 1000)
    assert lengths.mean() > 400
    with pytest.raises(UsageError):
        betting.flag_cusum(flags, 0.97)
