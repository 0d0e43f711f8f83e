"""A sample's page and, once labels exist, its results: what the notebook ``review_sample`` writes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from trajlab import __version__
from trajlab.checks.finding import Gate
from trajlab.corpus.corpus import Corpus
from trajlab.report.result import Coverage, Measure, Provenance, Result, Sampled, write_atomically, write_result
from trajlab.report.result_rows import measure_of
from trajlab.report.tables import callout
from trajlab.report.text import Html
from trajlab.review.labels import read_labels
from trajlab.review.manifest import Sample
from trajlab.review.page import ReviewPage, review_page
from trajlab.review.results import Results, results
from trajlab.review.rubric import load_rubric

PAGE_FILE = "review.html"
MANIFEST_FILE = "sample.json"


class ReviewRun:
    """One sample under review.

    Args:
        corpus: What it was drawn from.
        sample: Its manifest.
        labels: Label files or folders; none yet: only the page is made.
        rubric: TOML file of questions; ``None``: the one that comes with trajlab.
        question: Which question the results are about; ``None``: the first of the rubric.
        positive: Its answer that rules look for.
        flags: Rules held against the labels.
        blind: Leave out of the page what graders and rules said.

    Raises:
        UsageError: A rubric, question, label file or flag that cannot be used.
    """

    def __init__(
        self,
        corpus: Corpus,
        sample: Sample,
        *,
        labels: Sequence[str | Path] = (),
        rubric: str | Path | None = None,
        question: str | None = None,
        positive: object = "yes",
        flags: Sequence[str] = (),
        blind: bool = False,
    ) -> None:
        self.corpus, self.sample, self.blind = corpus, sample, blind
        self.rubric = load_rubric(rubric)
        self.question = question or self.rubric.questions[0].id
        self.results: Results | None = None
        if labels:
            merged = read_labels(*labels)
            self.results = results(corpus, sample, merged, self.question, positive, flags=flags)

    def write(self, folder: str | Path | None = None) -> ReviewPage:
        """Write the page, the manifest and ``result.json`` to the run folder."""
        target = Path(folder if folder is not None else os.environ.get("TRAJLAB_RUN_DIR", "."))
        made = review_page(self.corpus, target / PAGE_FILE, sample=self.sample, rubric=self.rubric, blind=self.blind)
        write_atomically(target / MANIFEST_FILE, self.sample.to_json())
        write_result(self.result(), target)
        return made

    def results_html(self) -> Html:
        """The results as a table, or what is missing for them."""
        if self.results is None:
            advice = "Read the page, export its labels, and run this again with labels=[…]."
            return callout("unobserved", "No labels yet.", advice)
        return Html(self.results._repr_html_())

    def result(self) -> Result:
        """The sample, and every share of the results with its interval."""
        current = self.corpus.current.select(pl.len()).collect().item()
        return Result(
            run=self.sample.population.get("run"),
            period=None,
            provenance=Provenance(
                trajlab=__version__,
                rules=self.corpus.rules,
                fingerprint=self.corpus.manifest.assembled_from,
                details={"sample": self.sample.id, "design": self.sample.design, "question": self.question},
            ),
            coverage=Coverage(trajectories=current),
            measures=[] if self.results is None else self._measures(self.results),
            gates=[self._drawn(), self._labelled()],
            sample=[
                Sampled(trajectory_id=item.trajectory_id, task_id=item.task_id, why=item.stratum,
                        probability=item.probability)
                for item in self.sample.items
            ],
        )  # fmt: skip

    def _drawn(self) -> Gate:
        drawn = float(len(self.sample.items))
        return Gate(name="drawn", status="passed", value=drawn, n=self.sample.frame, message=self.sample.design)

    def _labelled(self) -> Gate:
        """A sample nobody labelled is no failure: the page is what was asked for."""
        if self.results is None:
            return Gate(name="labelled", status="not_applicable", message="no labels were given: the page is made")
        wanted, found = len(self.sample.items), self.results.labelled
        return Gate(
            name="labelled",
            status="passed" if found >= wanted else "inconclusive",
            value=float(found),
            n=wanted,
            limit=float(wanted),
            direction="at_least",
            message=f"{found} of {wanted} trajectories of the sample are labelled",
        )

    def _measures(self, found: Results) -> list[Measure]:
        rows = [measure_of("share", answer, share) for answer, share in found.shares.items()]
        rows += [measure_of("share_in_stratum", name, share) for name, share in found.by_stratum.items()]
        for judged in found.judged:
            rows += [
                measure_of("precision", judged.flag, judged.precision),
                measure_of("recall", judged.flag, judged.recall),
                measure_of("corrected_share", judged.flag, judged.corrected),
            ]
        return [*rows, measure_of("krippendorff_alpha", None, found.agreement.alpha)]
