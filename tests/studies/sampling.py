"""How often intervals from a labelled sample of 80 hold the truth: ``python tests/studies/sampling.py``.

The frame is a simulated run (r7, outcomes at random) with a rare quadrant of few trajectories. Its truth is known: what
the agents did is counted over the whole frame, and hacks are planted at known rates, most of them in the rare cell.
Every design draws 1,000 times and the drawn trajectories are "labelled" with the truth. Half a minute; the results are
quoted in ``sampling.md``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

import trajlab
from trajlab.measures.frame import Population, select
from trajlab.review.designs import Design, draw
from trajlab.review.estimates import by_stratum, prevalence
from trajlab.review.labels import LABELS_SCHEMA, Labels
from trajlab.review.manifest import SCHEMA, Sample
from trajlab.review.strata import divide
from trajlab.simulate import simulate
from trajlab.stats import Estimate, wilson
from trajlab.stats.surveys import stratified_proportion

PLANTED = {"neither": 0.5, "only_tool": 0.12, "answer_and_tool": 0.03, "only_answer": 0.3}
"""Rate of planted hacks in each quadrant."""
N = 80


def frame_with_truth(scale: float, seed: int) -> pl.DataFrame:
    """A simulated run, its quadrants, and the truth of three questions."""
    with tempfile.TemporaryDirectory() as folder:
        simulate("r7", Path(folder) / "logs", scale=scale, seed=seed, random=True)
        corpus = trajlab.ingest(Path(folder) / "logs", out=Path(folder) / "corpus", texts=False)
        trajectories = select(corpus, Population(by="quarter"))
        strata = divide(corpus, trajectories, ["quadrant"])
        frame = trajectories.frame.join(strata, on="trajectory_id").sort("trajectory_id")
    rng = np.random.default_rng(seed)
    rate = frame["stratum"].str.strip_prefix("quadrant: ").replace_strict(PLANTED, return_dtype=pl.Float64).to_numpy()
    return frame.with_columns(
        hack=pl.Series(rng.random(frame.height) < rate),
        suite=pl.col("suite_run").fill_null(value=False),
        long=pl.col("n_steps") > pl.col("n_steps").quantile(0.8),
    )


def labels_of(frame: pl.DataFrame, question: str) -> Labels:
    """The truth of one question as the labels of one reviewer."""
    value = pl.when(question).then(pl.lit("true")).otherwise(pl.lit("false"))
    columns = {name: pl.lit(None, dtype) for name, dtype in LABELS_SCHEMA.items()}
    known = {"item": pl.col("trajectory_id"), "question": pl.lit(question), "reviewer": pl.lit("truth"), "value": value}
    return Labels(frame.select(**{**columns, **known}), 0, [])


def sample_of(frame: pl.DataFrame, design: Design, seed: int) -> Sample:
    strata, items = draw(frame, design, seed)
    return Sample(SCHEMA, str(seed), "", list(design.by), design.allocation, seed, frame.height, {}, "", strata, items)


def holds(estimate: Estimate, truth: float) -> bool:
    assert estimate.low is not None and estimate.high is not None
    return estimate.low - 1e-12 <= truth <= estimate.high + 1e-12


def width(estimate: Estimate) -> float:
    return (estimate.high or 0.0) - (estimate.low or 0.0)


def rare_cell(frame: pl.DataFrame, sample: Sample, labels: Labels, question: str, cell: str) -> Estimate:
    """The rare cell's own share from a simple random sample: of those drawn that happen to be in it."""
    inside = frame.filter((pl.col("stratum") == cell) & pl.col("trajectory_id").is_in(sample.ids))
    size = frame.filter(pl.col("stratum") == cell).height
    found = stratified_proportion(inside[question].cast(pl.Float64), np.zeros(inside.height, int), [size])
    return found if found.value is not None else msgspec.structs.replace(found, low=0.0, high=1.0)


def study(frame: pl.DataFrame, draws: int) -> list[tuple[str, str, float, float, float, float, float]]:
    """Design, question, truth, coverage, mean width, coverage and mean width for the rare cell."""
    designs = {
        "proportional, 10 of the rare cell": Design(N, ("quadrant",), at_least=10),
        "equal": Design(N, ("quadrant",), "equal"),
        "Neyman by steps": Design(N, ("quadrant",), "neyman", "n_steps", at_least=10),
        "rare cell first": Design(N, ("quadrant",), first=("neither",)),
        "simple random": Design(N),
    }
    rare = frame["stratum"].value_counts().sort("count")["stratum"][0]
    whole = frame.with_columns(stratum=pl.lit("all"))
    rows = []
    for question in ("hack", "suite", "long"):
        labels = labels_of(frame, question)
        truth, rare_truth = (float(part[question].mean()) for part in (frame, frame.filter(pl.col("stratum") == rare)))  # type: ignore[arg-type]
        for name, design in designs.items():
            samples = [sample_of(frame if design.by else whole, design, seed) for seed in range(draws)]
            found = [prevalence(one, labels, question, True) for one in samples]
            cells = [
                by_stratum(one, labels, question, True)[rare]
                if design.by
                else rare_cell(frame, one, labels, question, rare)
                for one in samples
            ]
            rows.append(
                (
                    name, question, truth, float(np.mean([holds(e, truth) for e in found])),
                    float(np.mean([width(e) for e in found])), float(np.mean([holds(e, rare_truth) for e in cells])),
                    float(np.mean([width(e) for e in cells])),
                )
            )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--scale", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    frame = frame_with_truth(arguments.scale, arguments.seed)
    sizes = dict(frame["stratum"].value_counts().sort("count").iter_rows())
    print(f"frame of {frame.height:,}: {sizes}; {N} drawn, {arguments.draws:,} times")
    print("| question | truth % | design | coverage % | Wilson of it | mean width | rare cell: coverage % | width |")
    print("| --- | ---: | --- | ---: | --- | ---: | ---: | ---: |")
    for name, question, truth, covered, wide, rare_covered, rare_wide in study(frame, arguments.draws):
        low, high = wilson(covered * arguments.draws, arguments.draws)
        print(
            f"| {question} | {100 * truth:.1f} | {name} | {100 * covered:.1f} | {100 * low:.1f} to {100 * high:.1f} "
            f"| {wide:.3f} | {100 * rare_covered:.1f} | {rare_wide:.3f} |"
        )


if __name__ == "__main__":
    main()
