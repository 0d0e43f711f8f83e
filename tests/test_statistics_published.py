"""Published and recomputed figures, to the printed digits (``reference/statistics.toml``)."""

from __future__ import annotations

import csv
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest

from trajlab.stats import (
    clustered_standard_error,
    design_effect,
    difference,
    difference_in_sigma,
    difference_standard_error,
    paired_difference,
    paired_t_test,
    pass_at_k,
    pass_hat_k,
    power_of_difference,
    proportion,
    sample_size,
    standard_error,
    wilson,
)

SHARED = Path(os.environ.get("TRAJLAB_SHARED") or Path(__file__).resolve().parents[1].parent / "shared")
REFERENCE = SHARED / "reference"
needs_reference = pytest.mark.skipif(
    not (REFERENCE / "gpqa_diamond_scores.csv").exists(),
    reason="no reference figures beside the repository",
)


@pytest.fixture(scope="module")
def expected():
    return tomllib.loads((REFERENCE / "statistics.toml").read_text(encoding="utf-8"))["gpqa_paired"]


@pytest.fixture(scope="module")
def scores():
    """Scores and items of the two models, in the order of the reference figures."""
    with (REFERENCE / "gpqa_diamond_scores.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    models = sorted({row["model_id"] for row in rows})
    assert models[0].startswith("openai/gpt-5-nano")
    return [
        (
            np.array([float(row["score"]) for row in rows if row["model_id"] == model]),
            np.array([row["item_id"] for row in rows if row["model_id"] == model]),
        )
        for model in models
    ]


@needs_reference
def test_sizes(scores, expected):
    for values, items in scores:
        assert len(set(items)) == expected["items"]
        assert len(values) == expected["items"] * expected["epochs"]


@needs_reference
def test_paired_difference(scores, expected):
    (a, items_a), (b, items_b) = scores
    estimate = paired_difference(a, b, items_a, items_b)
    assert round(100 * estimate.value, 3) == expected["paired_difference"]
    assert [round(100 * end, 2) for end in (estimate.low, estimate.high)] == expected["paired_ci95"]
    assert round(paired_t_test(a, b, items_a, items_b).p_value, 5) == expected["paired_p"]
    assert (estimate.denominator, estimate.clusters, estimate.missing) == (198, 198, 0)
    assert estimate.method == "t, paired by task"


@needs_reference
def test_unpaired_difference(scores, expected):
    (a, items_a), (b, items_b) = scores
    estimate = difference(a, b, items_a, items_b, kind="mean")
    assert round(100 * estimate.value, 3) == expected["paired_difference"]
    assert [round(100 * end, 2) for end in (estimate.low, estimate.high)] == expected["unpaired_ci95"]
    newcombe = difference(a, b, items_a, items_b)
    assert abs(newcombe.low - estimate.low) < 0.003
    assert abs(newcombe.high - estimate.high) < 0.003


@needs_reference
def test_standard_errors_and_design_effect(scores, expected):
    assert [round(standard_error(values), 5) for values, _ in scores] == expected["naive_se"]
    clustered = [clustered_standard_error(values, items, corrected=False) for values, items in scores]
    assert [round(error, 5) for error in clustered] == expected["cluster_se"]
    effects = [design_effect(values, items, corrected=False) for values, items in scores]
    assert [round(effect, 3) for effect in effects] == expected["design_effect"]


@needs_reference
def test_variance_cut_by_pairing(scores, expected):
    (a, items_a), (b, items_b) = scores
    unpaired = clustered_standard_error(a, items_a) ** 2 + clustered_standard_error(b, items_b) ** 2
    items = np.unique(items_a)
    gaps = np.array([a[items_a == item].mean() - b[items_b == item].mean() for item in items])
    assert round(unpaired / standard_error(gaps) ** 2, 3) == expected["variance_cut_by_pairing"]


@needs_reference
def test_pass_at_k(scores, expected):
    values, items = scores[0]
    solved = [values[items == item].sum() for item in np.unique(items)]
    tried = np.full(198, 5)
    assert round(pass_at_k(solved, tried, 5).value, 6) == expected["gpt5_nano_pass_at_5"]
    assert round(pass_hat_k(solved, tried, 5).value, 6) == expected["gpt5_nano_pass_hat_5"]
    first, share = pass_at_k(solved, tried, 1), proportion(values, items)
    assert first.value == pytest.approx(share.value)
    assert (first.low, first.high) == pytest.approx((share.low, share.high))


def test_learning_rate_comparison_of_r7():
    """3.6 points between 0.682 and 0.646, about 500 an arm: 1.2 sigma; 80 % power needs about 2,700."""
    assert round(difference_standard_error(0.682, 0.646, 500, 500), 3) == 0.030
    assert round(difference_in_sigma(0.682, 0.646, 500, 500), 1) == 1.2
    size = sample_size(0.682, 0.646)
    assert round(size, -2) == 2700
    assert power_of_difference(0.682, 0.646, size, size) == pytest.approx(0.8, abs=0.001)
    assert power_of_difference(0.682, 0.646, 500, 500) < 0.25


def test_wilson_of_textbook():
    """15 of 148: 0.0624 to 0.1605 (Newcombe 1998, doi 10.1002/(SICI)1097-0258(19980430)17:8<857, table I)."""
    assert [round(end, 4) for end in wilson(15, 148)] == [0.0624, 0.1605]
    assert [round(end, 4) for end in wilson(0, 20)] == [0.0, 0.1611]
    assert [round(end, 4) for end in wilson(81, 263)] == [0.2553, 0.3662]


def test_newcombe_of_textbook():
    """56/70 − 48/80: 0.0524 to 0.3339 (Newcombe 1998, method 10, table II)."""
    estimate = difference(np.arange(70) < 56, np.arange(80) < 48)
    assert (round(estimate.low, 4), round(estimate.high, 4)) == (0.0524, 0.3339)
