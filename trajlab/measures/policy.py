"""Policy and critic from the tokens of the logs: importance ratios, policy lag, explained variance, masks.

Sums and histograms add up over trajectories, so every number is of a population, and its interval comes from drawing
tasks: see DOI 10.1080/01621459.1987.10478410 (BCa) and :func:`trajlab.stats.bootstrap_of_sums`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import numpy as np
import polars as pl

from trajlab.behavior.log_ratios import BINS, LAST_BIN, outside_twofold, quantile_of_bins
from trajlab.corpus.corpus import Corpus
from trajlab.measures.calibration import calibration
from trajlab.measures.compute import Measured
from trajlab.measures.frame import Trajectories
from trajlab.measures.token_groups import PROMPT_KL, Negatives, negatives, prompt_kl, prompts
from trajlab.measures.token_sums import UNITS, FloatArray, by_unit, of_sums, over
from trajlab.stats import Estimate, mean, not_observed, proportion

STEP_VERSIONS = frozenset({"areal", "art", "verifiers"})
"""Formats whose weight versions are counted in training steps. Others count updates from a start of their own: there
the lag is the distance to the newest version that acted in the same step, and can be too small."""
LAGS = ((None, -1, "younger"), (0, 0, "lag 0"), (1, 1, "lag 1"), (2, 3, "lag 2 to 3"), (4, 7, "lag 4 to 7"),
        (8, None, "lag 8 or more"))  # fmt: skip
LENGTHS = ((None, 999, "under 1,000 tokens"), (1000, 3999, "1,000 to 3,999 tokens"),
           (4000, 15_999, "4,000 to 15,999 tokens"), (16_000, 63_999, "16,000 to 63,999 tokens"),
           (64_000, None, "64,000 tokens or more"))  # fmt: skip
RATIOS = {
    "importance_ratio.p1": "importance ratio, 1st percentile",
    "importance_ratio.median": "importance ratio, median",
    "importance_ratio.p99": "importance ratio, 99th percentile",
    "importance_ratio.smallest": "importance ratio, smallest",
    "importance_ratio.largest": "importance ratio, largest",
    "importance_ratio.mean": "importance ratio, mean",
    "importance_ratio.effective_share": "effective sample size, share of tokens",
    "importance_ratio.outside_twofold": "importance ratio outside 1/2 to 2, share of tokens",
}
LAG = {"policy_lag.mean": "policy lag, mean", "policy_lag.share": "trajectories by policy lag"}
CRITIC = {"critic.explained_variance": "explained variance", "critic.return_variance": "variance of returns Var(G)"}
MASKS = {
    "trained.share": "trained on, share of all tokens",
    "trained.prompt": "prompt, share of tokens trained on",
    "trained.observation": "observations, share of tokens trained on",
    "trained.padding": "padding, share of tokens trained on",
}
_QUANTILES = {"p1": 0.01, "median": 0.5, "p99": 0.99}
_CONSTANT = 1e-9
"""Var(G) below this share of mean G² is nothing but rounding: explained variance is not defined."""


class Policy(msgspec.Struct):
    """What the tokens tell about policy, critic and masks."""

    measured: list[Measured]
    frame: pl.DataFrame
    """Training trajectories with `token_moments`, `lag`, `lag_bucket`, `length_bucket`."""
    prompts: dict[str, pl.DataFrame]
    """`prompts` of each key of `PROMPT_KL`."""
    negatives: Negatives | None = None
    """Batches by the advantages of their tokens; ``None``: no token's advantage is logged."""

    def estimate(self, name: str, group: str | None = None) -> Estimate:
        """One of them; *not observed* where there is none."""
        found = (item.estimate for item in self.measured if item.name == name and item.group == group)
        return next(found, not_observed())

    def groups(self, name: str) -> list[str]:
        """Groups in which a measure is observed."""
        return [str(item.group) for item in self.measured if item.name == name and item.group is not None]


def policy_facts(corpus: Corpus, trajectories: Trajectories, seed: int = 0) -> Policy:
    """Ratios, lag, critic and masks of the training trajectories of a population.

    Args:
        corpus: The corpus.
        trajectories: The population; evaluation and validation are left out.
        seed: Seed of the bootstrap.
    """
    frame = with_lag(trajectories.frame.filter((pl.col("split") == "train") | pl.col("split").is_null()))
    moments = corpus.token_moments.collect()
    frame = frame.join(moments, on="trajectory_id", how="left", maintain_order="left",
                       suffix="_of_arrays")  # fmt: skip
    frame = frame.with_columns(
        lag_bucket=_bucket("lag", LAGS), length_bucket=_bucket("trained_tokens", LENGTHS),
        unit=pl.col("cluster").rank("dense").cast(pl.Int64) % UNITS,
    )  # fmt: skip
    by_prompt = {kind: prompts(frame, kind) for kind in PROMPT_KL}
    measured = [*_ratios(corpus, frame, seed), *prompt_kl(by_prompt), *_lags(frame), *_critic(frame, seed),
                *calibration(corpus, frame, seed), *_masks(frame, seed)]  # fmt: skip
    return Policy(measured, frame, by_prompt, negatives(trajectories, moments))


def with_lag(frame: pl.DataFrame) -> pl.DataFrame:
    """Add ``version`` and ``newest`` (first and last weight version as numbers) and ``lag``; null where not known."""
    numbered = frame.with_columns(
        version=pl.col("policy_version_first").cast(pl.Int64, strict=False),
        newest=pl.col("policy_version_last").cast(pl.Int64, strict=False),
    )
    newest = pl.max_horizontal("version", "newest").max().over("run", "train_step")
    now = pl.when(pl.col("format").is_in(STEP_VERSIONS)).then("train_step").otherwise(newest)
    return numbered.with_columns(lag=pl.when(pl.col("train_step").is_not_null()).then(now - pl.col("version")))


def _bucket(name: str, buckets: tuple[tuple[int | None, int | None, str], ...]) -> pl.Expr:
    value = pl.col(name)
    said = pl.lit(None, pl.String)
    for low, high, title in buckets:
        inside = (value >= (low if low is not None else -(2**62))) & (value <= (high if high is not None else 2**62))
        said = pl.when(inside).then(pl.lit(title)).otherwise(said)
    return said


def _ratios(corpus: Corpus, frame: pl.DataFrame, seed: int) -> Iterator[Measured]:
    known = frame.filter(pl.col("ratio_tokens") > 0)
    if known.is_empty():
        return
    missing = int(frame.height - known.height)
    places = known.select("trajectory_id", "unit", "lag_bucket", "length_bucket")
    bins = corpus.token_histograms.collect().join(places, on="trajectory_id")
    yield from _ratios_of(known, bins, None, missing, seed)
    for column, buckets in (("lag_bucket", LAGS), ("length_bucket", LENGTHS)):
        for *_, title in buckets:
            part = known.filter(pl.col(column) == title)
            if part.height:
                yield from _ratios_of(part, bins.filter(pl.col(column) == title), title, 0, seed)


def _ratios_of(
    frame: pl.DataFrame, bins: pl.DataFrame, group: str | None, missing: int, seed: int
) -> Iterator[Measured]:
    sums = by_unit(frame, ["ratio_tokens", "ratio_sum", "ratio_squares"])
    counts = _bins_by_unit(bins, frame)
    smallest, largest = _extremes(frame)
    total = float(sums[:, 0].sum())

    def estimate(parts: FloatArray, statistic: Callable[[FloatArray], FloatArray]) -> Estimate:
        return of_sums(parts, statistic, total, missing, seed)

    for name, q in _QUANTILES.items():
        found = estimate(counts, lambda held, q=q: np.exp(quantile_of_bins(held, q, smallest, largest)))  # type: ignore[misc]
        yield Measured(f"importance_ratio.{name}", group, found)
    for name, end in (("smallest", smallest), ("largest", largest)):
        seen = Estimate(_exp(end), None, None, None, total, f"{name} seen: no interval", missing=missing)
        yield Measured(f"importance_ratio.{name}", group, seen)
    yield Measured("importance_ratio.mean", group, estimate(sums, lambda s: over(s[..., 1], s[..., 0])))
    yield Measured(
        "importance_ratio.effective_share",
        group,
        estimate(sums, lambda s: over(s[..., 1] ** 2, s[..., 0] * s[..., 2])),
    )
    yield Measured(
        "importance_ratio.outside_twofold", group, estimate(counts, lambda s: over(outside_twofold(s), s.sum(-1)))
    )


def _lags(frame: pl.DataFrame) -> Iterator[Measured]:
    known = frame.filter(pl.col("lag").is_not_null())
    if known.is_empty():
        return
    lag = frame["lag"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    clusters = frame["cluster"].to_numpy()
    average = mean(lag, clusters)
    if average.low is not None and float(np.nanmin(lag)) >= 0:  # what is never negative has no interval below zero
        average = msgspec.structs.replace(average, low=max(average.low, 0.0))
    yield Measured("policy_lag.mean", None, average)
    for *_, title in LAGS:
        flags = known.select((pl.col("lag_bucket") == title).cast(pl.Float64)).to_series().to_numpy()
        if flags.any():
            yield Measured("policy_lag.share", title, proportion(flags, known["cluster"].to_numpy()))


def _critic(frame: pl.DataFrame, seed: int) -> Iterator[Measured]:
    """Explained variance 1 − Var(G − V) / Var(G) over tokens, with Var(G)."""
    names = ["value_tokens", "value_sum", "return_sum", "value_squares", "return_squares", "value_returns"]
    known = frame.filter((pl.col("value_tokens") > 0) & pl.col("value_returns").is_not_null())
    if known.is_empty():
        return
    sums = by_unit(known, names)
    total, missing = float(sums[:, 0].sum()), frame.height - known.height
    for name, statistic in (("explained_variance", explained_variance), ("return_variance", return_variance)):
        yield Measured(f"critic.{name}", None, of_sums(sums, statistic, total, missing, seed))


def return_variance(sums: FloatArray) -> FloatArray:
    """Var(G) from sums of shape (..., 6): n, V, G, V², G², VG."""
    n, _, g, _, gg, _ = np.moveaxis(sums, -1, 0)
    variance: FloatArray = np.maximum(over(gg, n) - over(g, n) ** 2, 0)
    return variance


def explained_variance(sums: FloatArray) -> FloatArray:
    """1 − Var(G − V) / Var(G) from the same sums; NaN where Var(G) is nothing but rounding."""
    n, v, g, vv, gg, vg = np.moveaxis(sums, -1, 0)
    left = np.maximum(over(gg - 2 * vg + vv, n) - over(g - v, n) ** 2, 0)
    variance = return_variance(sums)
    defined = variance > _CONSTANT * np.maximum(over(gg, n), np.finfo(float).tiny)
    return np.where(defined, 1 - over(left, np.where(defined, variance, 1)), np.nan)


def _masks(frame: pl.DataFrame, seed: int) -> Iterator[Measured]:
    for name in MASKS:
        part = name.removeprefix("trained.")
        above, below = ("trained_tokens", "tokens") if part == "share" else (f"trained_{part}", "trained_tokens")
        known = frame.filter(pl.col(above).is_not_null() & (pl.col(below) > 0))
        if known.height:
            sums = by_unit(known, [below, above])
            missing = frame.height - known.height
            found = of_sums(sums, lambda s: over(s[..., 1], s[..., 0]), float(sums[:, 0].sum()), missing, seed)
            yield Measured(name, None, msgspec.structs.replace(found, numerator=float(sums[:, 1].sum())))


def _bins_by_unit(bins: pl.DataFrame, frame: pl.DataFrame) -> FloatArray:
    units = frame.select(pl.col("unit").unique().sort()).to_series()
    summed = bins.group_by("unit", "bin").agg(pl.col("tokens").sum())
    counts = np.zeros((len(units), BINS))
    rows = np.searchsorted(units.to_numpy(), summed["unit"].to_numpy())
    counts[rows, summed["bin"].to_numpy() + LAST_BIN] = summed["tokens"].to_numpy()
    return counts


def _extremes(frame: pl.DataFrame) -> tuple[float, float]:
    ends = frame.select(pl.col("log_ratio_smallest").min(), pl.col("log_ratio_largest").max()).row(0)
    return float(ends[0]), float(ends[1])


def _exp(log_ratio: float) -> float:
    """A ratio that JSON can hold."""
    return float(np.exp(np.clip(log_ratio, -700, 700)))
