"""What labels of a sample say of everything it was drawn from: shares, precision and recall, where to label next."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError
from trajlab.measures.frame import population_of, select
from trajlab.review.answers import consensus
from trajlab.review.labels import Labels, values_of
from trajlab.review.manifest import Sample
from trajlab.review.strata import divide
from trajlab.stats import Estimate, not_observed, proportion, ratio
from trajlab.stats.surveys import neyman_gain, part_of_sum, stratified_proportion

Floats = npt.NDArray[np.float64]


class Judged(msgspec.Struct):
    """A rule or classifier held against the labels of a sample."""

    flag: str
    flagged: int
    """Members of the frame that it flags."""
    precision: Estimate
    """Share of the flagged that are positive."""
    recall: Estimate
    """Share of the positive that are flagged."""
    raw: Estimate
    """Share of the frame that it flags: the prevalence one would believe without labels."""
    corrected: Estimate
    """Prevalence by labels and flags together: of the flagged and of the others, weighted by how many they are."""
    unknown: int
    """Members of the frame of which it says nothing; they are in none of the above."""


def prevalence(sample: Sample, labels: Labels, question: str, positive: object) -> Estimate:
    """Share of the frame whose answer is ``positive``, weighted by the design.

    Args:
        sample: What was drawn, and from what.
        labels: Merged labels; those under another sample's id count too where they are about the same trajectory.
        question: Id of the question.
        positive: The answer that counts; any other is a no.

    Returns:
        Of strata: the stratified Wilson interval over the frame. Of pairs: a weighted ratio, clustered by pair.
        Items not labelled, and those whose reviewers are tied, are ``missing``.
    """
    drawn = _answers(sample, labels, question, positive)
    success = _floats(drawn["positive"])
    if sample.allocation == "pairs":
        weights = 1 / drawn["probability"].to_numpy()
        weights = weights / weights.mean()
        return ratio(success * weights, weights, drawn["pair"].to_numpy(), bounded=True)
    names = [one.name for one in sample.strata]
    codes = [names.index(name) for name in drawn["stratum"]]
    return stratified_proportion(success, codes, [one.size for one in sample.strata])


def by_stratum(sample: Sample, labels: Labels, question: str, positive: object) -> dict[str, Estimate]:
    """Share of each stratum whose answer is ``positive``; of pairs, over attempts in tasks that have both values."""
    drawn = _answers(sample, labels, question, positive)
    found: dict[str, Estimate] = {}
    for stratum in sample.strata:
        own = drawn.filter(pl.col("stratum") == stratum.name)
        success = _floats(own["positive"])
        if sample.allocation == "pairs":
            weights = 1 / own["probability"].to_numpy()
            found[stratum.name] = ratio(success * weights, weights, bounded=True)
        else:
            found[stratum.name] = stratified_proportion(success, np.zeros(own.height, int), [stratum.size])
    return found


def shares_of_answers(sample: Sample, labels: Labels, question: str) -> dict[str, Estimate]:
    """`prevalence` of every answer that was given, by its JSON text, in the order of these."""
    said = consensus(labels, question).filter(pl.col("item").is_in(sample.ids))["value"].drop_nulls().unique().sort()
    return {text: prevalence(sample, labels, question, msgspec.json.decode(text)) for text in said}


def judge(corpus: Corpus, sample: Sample, labels: Labels, question: str, positive: object, flag: str) -> Judged:
    """Precision and recall of a rule or classifier, and the prevalence corrected by it.

    Args:
        corpus: The corpus that the sample was drawn from: the flags of all of it are known.
        sample: A stratified or simple random sample of it.
        labels: Merged labels.
        question: Id of the question.
        positive: The answer that counts.
        flag: ``rule:ID``, ``hit`` (any candidate of the hack screen) or a boolean column of the trajectories.

    Raises:
        UsageError: A sample of pairs, one of another corpus, or a flag that is unknown.

    References:
        Post-stratification by the flag: Cochran 1977, Sampling Techniques, §5A.9; as prediction-powered inference:
        Angelopoulos et al. 2023, doi:10.1126/science.adi6000.
    """
    if sample.allocation == "pairs":
        raise UsageError("sample", "pairs", "a stratified or simple random sample", "Draw one to judge a rule")
    frame = _flagged(corpus, sample, flag)
    known = frame.filter(pl.col("flag").is_not_null())
    drawn = _answers(sample, labels, question, positive).select("trajectory_id", "positive")
    rows = known.join(drawn, on="trajectory_id", how="left")
    in_sample = pl.col("trajectory_id").is_in(sample.ids)
    yes, no = rows.filter("flag"), rows.filter(~pl.col("flag"))
    precision, others = (_of_strata(part, part.filter(in_sample)) for part in (yes, no))
    cells = rows.with_columns(stratum=pl.concat_str("stratum", pl.lit(" flag "), "flag"))
    return Judged(
        flag=flag,
        flagged=yes.height,
        precision=precision,
        recall=part_of_sum(precision, others, yes.height, no.height, precision.missing + others.missing),
        raw=proportion(_floats(known["flag"])),
        corrected=_of_strata(cells, cells.filter(in_sample)),
        unknown=frame.height - known.height,
    )


def precision_of_hits(corpus: Corpus, labels: Labels, question: str, positive: object) -> pl.DataFrame:
    """Precision of each rule of the hack screen over the hits whose step was labelled.

    Returns:
        A row for each rule that was met: ``rule``, ``tier``, ``hits``, ``labelled`` (the share is of these), ``tied``
        (as many reviewers say yes as no), ``positive``, ``precision``, ``low``, ``high``, ``method``. Intervals are
        Wilson's, clustered by task, and speak of hits like these. A label of the whole trajectory counts for a step
        without one of its own.
    """
    hits = _labelled_hits(corpus, labels, question, positive)
    rows: list[dict[str, Any]] = []
    for (rule, tier), own in hits.group_by("rule", "tier", maintain_order=True):
        said = own["share"]
        found = proportion(_floats(said.set(said == 0.5, None) > 0.5), own["task"].to_numpy())
        rows.append(
            {"rule": rule, "tier": tier, "hits": own.height, "labelled": int(found.denominator or 0),
             "tied": int((said == 0.5).sum()), "positive": int(found.numerator or 0), "precision": found.value,
             "low": found.low, "high": found.high, "method": found.method}
        )  # fmt: skip
    schema = {"rule": pl.String, "tier": pl.Int64, "hits": pl.Int64, "labelled": pl.Int64, "tied": pl.Int64,
              "positive": pl.Int64, "precision": pl.Float64, "low": pl.Float64, "high": pl.Float64,
              "method": pl.String}  # fmt: skip
    return pl.DataFrame(rows, schema=schema)


def _labelled_hits(corpus: Corpus, labels: Labels, question: str, positive: object) -> pl.DataFrame:
    """Hits with ``task`` and ``share``: how many of its reviewers say yes; null where none has said anything."""
    yes = pl.col("value") == msgspec.json.encode(positive).decode()
    of_step = values_of(labels, question, step_level=True).group_by("item", "step").agg(of_step=yes.mean())
    of_whole = values_of(labels, question).group_by("item").agg(of_whole=yes.mean())
    tasks = corpus.trajectories.select("trajectory_id", task=pl.coalesce("task_id", "trajectory_id")).collect()
    return (
        corpus.hits.filter(~pl.col("timed_out")).collect()
        .join(of_step, left_on=["trajectory_id", "step"], right_on=["item", "step"], how="left")
        .join(of_whole, left_on="trajectory_id", right_on="item", how="left")
        .join(tasks, on="trajectory_id", how="left")
        .with_columns(share=pl.coalesce("of_step", "of_whole"))
        .sort("tier", "rule", "trajectory_id", "call")
    )  # fmt: skip


def next_labels(sample: Sample, labels: Labels, question: str, positive: object) -> pl.DataFrame:
    """Where the next labels narrow the interval of `prevalence` most.

    Returns:
        A row for each stratum, best first: ``stratum``, ``size``, ``labelled``, ``share`` (null without a label) and
        ``gain``: by how much one more label there lessens the variance, as a part of the best.
    """
    drawn = _answers(sample, labels, question, positive)
    seen = drawn.filter(pl.col("positive").is_not_null())
    by_stratum = seen.group_by("stratum").agg(labelled=pl.len().cast(pl.Int64), share=pl.col("positive").mean())
    strata = pl.DataFrame({"stratum": [s.name for s in sample.strata], "size": [s.size for s in sample.strata]})
    table = strata.join(by_stratum, on="stratum", how="left", maintain_order="left").with_columns(
        pl.col("labelled").fill_null(0)
    )
    gain = neyman_gain(_floats(table["share"]), table["labelled"].to_numpy(), table["size"].to_numpy())
    relative = gain / gain.max() if len(gain) and gain.max() > 0 else gain
    return table.with_columns(gain=pl.Series(relative)).sort("gain", "stratum", descending=[True, False])


def _answers(sample: Sample, labels: Labels, question: str, positive: object) -> pl.DataFrame:
    """Items of the sample with ``positive``: yes, no, or null where there is no answer or a tie."""
    wanted = msgspec.json.encode(positive).decode()
    told = consensus(labels, question).select(trajectory_id="item", positive=pl.col("value") == wanted)
    return sample.to_polars().join(told, on="trajectory_id", how="left", maintain_order="left")


def _of_strata(frame: pl.DataFrame, drawn: pl.DataFrame) -> Estimate:
    """Weighted share over the strata of ``frame``, from the rows of it that were drawn."""
    if frame.is_empty():
        return not_observed()
    sizes = frame.group_by("stratum").len().sort("stratum")
    places = dict(zip(sizes["stratum"], range(sizes.height), strict=True))
    codes = [places[name] for name in drawn["stratum"]]
    return stratified_proportion(_floats(drawn["positive"]), codes, sizes["len"].to_numpy())


def _flagged(corpus: Corpus, sample: Sample, flag: str) -> pl.DataFrame:
    """The sample's frame with its strata and ``flag``; null where the rule could not be asked."""
    trajectories = select(corpus, population_of(sample.population.get("run"), sample.population))
    frame = divide(corpus, trajectories, sample.by, seed=sample.seed)
    sizes = dict(frame.group_by("stratum").len().iter_rows())
    if sizes != {one.name: one.size for one in sample.strata}:
        found = "a frame that is no longer the one the sample was drawn from"
        raise UsageError("sample", found, f"{sample.frame:,} trajectories as then", "Draw and label a new sample")
    told = divide(corpus, trajectories, [flag], seed=sample.seed)
    value = pl.col("stratum").str.strip_prefix(f"{flag}: ")
    yes, no = value.is_in(["met", "yes", "tier 1", "tier 2", "tier 3"]), value.is_in(["not met", "no", "none"])
    flags = told.select("trajectory_id", flag=pl.when(yes).then(pl.lit(True)).when(no).then(pl.lit(False)))
    if flags["flag"].null_count() == flags.height:
        raise UsageError("flag", f"{flag!r} is neither a rule nor yes or no", "rule:ID, hit, or a boolean column")
    return frame.join(flags, on="trajectory_id", how="left")


def _floats(values: pl.Series) -> Floats:
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
