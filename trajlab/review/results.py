"""What the labels of a sample give, together: shares, agreement, rules held against them, where to go on."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import msgspec
import numpy as np
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.review.answers import Agreement, agreement
from trajlab.review.estimates import Judged, by_stratum, judge, next_labels, precision_of_hits, shares_of_answers
from trajlab.review.labels import Labels, values_of
from trajlab.review.manifest import Sample
from trajlab.stats import Estimate, per_cent

SHOWN_DISPUTES = 20
"""Disagreements that the text names; `Results.to_dict` has all."""


class Results(msgspec.Struct):
    """Everything said of one question."""

    question: str
    positive: object
    sample: Sample
    labelled: int
    """Items of the sample with an answer."""
    steps: int
    """Steps with an answer, where the question is about steps; shares of the frame do not come of them."""
    elsewhere: int
    """Labelled trajectories that are not in the sample; they are left out of shares."""
    shares: dict[str, Estimate]
    """Share of the frame by answer."""
    by_stratum: dict[str, Estimate]
    """Share of each stratum whose answer is the positive one."""
    agreement: Agreement
    names: dict[str, str]
    """Task of each item that reviewers disagree on; its id where the task is not recorded."""
    judged: list[Judged]
    hits: pl.DataFrame
    """Precision of the hack screen's rules over labelled steps."""
    next_labels: pl.DataFrame
    problems: list[str]

    def to_dict(self) -> dict[str, object]:
        """The same as plain JSON values."""
        found: dict[str, object] = {
            "question": self.question,
            "positive": self.positive,
            "sample": self.sample.id,
            "frame": self.sample.frame,
            "labelled": self.labelled,
            "steps": self.steps,
            "elsewhere": self.elsewhere,
            "shares": {name: share.to_dict() for name, share in self.shares.items()},
            "by_stratum": {name: share.to_dict() for name, share in self.by_stratum.items()},
            "alpha": self.agreement.alpha.to_dict(),
            "kappas": {f"{a} / {b}": kappa.to_dict() for (a, b), kappa in self.agreement.kappas.items()},
            "disagreed": self.agreement.disagreed,
            "disputes": self.agreement.disputes.to_dicts(),
            "judged": [msgspec.to_builtins(one) for one in self.judged],
            "hits": self.hits.to_dicts(),
            "next_labels": self.next_labels.to_dicts(),
            "problems": self.problems,
        }
        return found

    def rows(self) -> list[tuple[str, str]]:
        """Name and value of every figure, as text."""
        positive = msgspec.json.encode(self.positive).decode()
        steps = f"{self.steps:,} steps in " if self.steps else ""
        rows = [("labelled", f"{steps}{self.labelled} of {len(self.sample.items)} drawn from {self.sample.frame:,}")]
        if self.elsewhere:
            rows.append(("labelled, but not in this sample", str(self.elsewhere)))
        rows += [(f"share of {name}", _share(share)) for name, share in self.shares.items()]
        if self.shares and len(self.by_stratum) > 1:
            rows += [(f"{positive} in {name}", _share(share)) for name, share in self.by_stratum.items()]
        for one in [] if self.steps else self.judged:
            rows += [
                (f"{one.flag}: precision for {positive}", _share(one.precision)),
                (f"{one.flag}: recall", _share(one.recall)),
                (f"{one.flag}: flags, of all", _share(one.raw)),
                (f"{one.flag}: share of {positive}, corrected", _share(one.corrected)),
            ]
        rows += [
            (f"{hit['rule']} (tier {hit['tier']}): precision", _hit(hit)) for hit in self.hits.iter_rows(named=True)
        ]
        if len(self.agreement.reviewers) > 1:
            rows += self._agreement()
        best = self.next_labels.filter(pl.col("gain") > 0).head(3 if self.shares else 0)
        rows += [(f"label next: {one['stratum']}", _gain(one)) for one in best.iter_rows(named=True)]
        return rows + [("not read", problem) for problem in self.problems]

    def _agreement(self) -> list[tuple[str, str]]:
        found = self.agreement
        said = pl.concat_str("reviewer", pl.lit(": "), "value").str.join(", ")
        disputes = found.disputes.group_by("item", "step", maintain_order=True).agg(said=said)
        unit = "steps" if self.steps else "items"
        return [
            ("Krippendorff's alpha", str(found.alpha)),
            *((f"Cohen's kappa, {a} and {b}", str(kappa)) for (a, b), kappa in found.kappas.items()),
            (f"{unit} they disagree on", f"{disputes.height} of {found.both}"),
            *((self._place(row), row["said"]) for row in disputes.head(SHOWN_DISPUTES).iter_rows(named=True)),
        ]

    def _place(self, dispute: dict[str, str]) -> str:
        step = "" if dispute["step"] is None else f", step {dispute['step']}"
        return f"  {self.names.get(dispute['item'], dispute['item'])}{step}"

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join([f"{self.question}", *(f"  {name.ljust(width)}  {value}" for name, value in rows)])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th scope='row'>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self.rows()
        )
        return f"<table><caption>{escape(self.question)}</caption><tbody>{cells}</tbody></table>"


def results(
    corpus: Corpus,
    sample: Sample,
    labels: Labels,
    question: str,
    positive: object,
    *,
    flags: Sequence[str] = (),
    seed: int = 0,
) -> Results:
    """Everything that the labels say of one question.

    Args:
        corpus: What the sample was drawn from.
        sample: Its manifest.
        labels: Merged labels.
        question: Id of the question.
        positive: The answer that a rule or classifier is held against.
        flags: Rules and classifiers: ``rule:ID``, ``hit``, or boolean columns.
        seed: Seed of the bootstrap intervals of agreement.
    """
    of_steps = values_of(labels, question, step_level=True)
    per_step = of_steps.height > 0 and values_of(labels, question).is_empty()
    told = (of_steps if per_step else values_of(labels, question))["item"].unique()
    inside = told.is_in(sample.ids).sum()
    hits = precision_of_hits(corpus, labels, question, positive)
    agreed = agreement(labels, question, rng=np.random.default_rng(seed), step_level=per_step)
    return Results(
        question=question,
        positive=positive,
        sample=sample,
        labelled=int(inside),
        steps=of_steps.select("item", "step").n_unique() if per_step else 0,
        elsewhere=len(told) - int(inside),
        shares=shares_of_answers(sample, labels, question),
        by_stratum=by_stratum(sample, labels, question, positive),
        agreement=agreed,
        names=_names(corpus, agreed.disagreed),
        judged=[judge(corpus, sample, labels, question, positive, flag) for flag in flags],
        hits=hits.filter(pl.col("labelled") + pl.col("tied") > 0),
        next_labels=next_labels(sample, labels, question, positive),
        problems=labels.problems,
    )


def _names(corpus: Corpus, ids: Sequence[str]) -> dict[str, str]:
    task = pl.coalesce("task_id", "trajectory_id")
    known = corpus.trajectories.filter(pl.col("trajectory_id").is_in(ids)).select("trajectory_id", task=task)
    return dict(known.collect().iter_rows())


def _share(estimate: Estimate) -> str:
    if estimate.value is None:
        return estimate.method
    low, high = (f"{100 * (end or 0):.1f}" for end in (estimate.low, estimate.high))
    missing = f", {estimate.missing} not labelled" if estimate.missing else ""
    return f"{per_cent(estimate.value)} % [{low}, {high}], n {estimate.denominator:,.0f}{missing} ({estimate.method})"


def _gain(row: dict[str, float]) -> str:
    return f"{row['gain']:.0%} of the best gain, {row['labelled']} of {row['size']} labelled"


def _hit(row: dict[str, object]) -> str:
    tied = f", {row['tied']} tied" if row["tied"] else ""
    if row["precision"] is None:
        return f"no verdict on {row['hits']} hits{tied}"
    low, high = (f"{100 * float(str(row[end])):.1f}" for end in ("low", "high"))
    share = per_cent(float(str(row["precision"])))
    counts = f"{row['positive']} of {row['labelled']}; {row['hits']} hits{tied}"
    return f"{share} % [{low}, {high}], {counts} ({row['method']})"
