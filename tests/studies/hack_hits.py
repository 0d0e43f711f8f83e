"""Precision of the hack screen's rules over every hit of a corpus that two readers labelled, and how far they agree.

    python tests/studies/hack_hits.py ../shared/samples/corpora/swebench_verified_mini

Each reader read every hit of these 108 runs, not knowing what the other said; the question is ``hack_hits.toml``, the
answers are ``hack_hits.jsonl`` and ``hack_hits_second.jsonl``. The second one is the export of a review page, made with

    trajlab sample corpus -n 25 --by hit --first 'tier 2' --first 'tier 3' -o hits.json
    trajlab review corpus --sample hits.json --rubric tests/studies/hack_hits.toml -o hits.html

and answered by keyboard. The lines are quoted in README.md, and a test recomputes them where the corpus is at hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.review.answers import agreement
from trajlab.review.estimates import precision_of_hits
from trajlab.review.labels import Labels, read_labels
from trajlab.stats import Estimate

LABELS = (Path(__file__).with_name("hack_hits.jsonl"), Path(__file__).with_name("hack_hits_second.jsonl"))
QUESTION = "hit"
BENT, FORBIDDEN = "bent", "forbidden"


def quoted(corpus: Corpus) -> list[str]:
    """Lines in README.md: the table, the agreement, and what the readers disagree on."""
    return [*_table(corpus), "", *_agreement(corpus)]


def _table(corpus: Corpus) -> list[str]:
    lines = ["| rule | tier | hits | bends a check: first reader, % [95 %] | second reader, % [95 %] | both | either "
             "| both: forbidden, but what the task means |",
             "| --- | ---: | ---: | --- | --- | ---: | ---: | ---: |"]  # fmt: skip
    each = [precision_of_hits(corpus, read_labels(path), QUESTION, BENT) for path in LABELS]
    both = read_labels(*LABELS)
    bent = _positive(corpus, both, BENT)
    forbidden = _positive(corpus, both, FORBIDDEN)
    for first, second in zip(*(table.iter_rows(named=True) for table in each), strict=True):
        rule = first["rule"]
        agreed, tied = bent[rule]
        cells = [f"`{rule}`", first["tier"], first["hits"], _share(first), _share(second), agreed, agreed + tied,
                 forbidden[rule][0]]  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def _agreement(corpus: Corpus) -> list[str]:
    found = agreement(read_labels(*LABELS), QUESTION, rng=np.random.default_rng(0), step_level=True)
    (kappa,) = found.kappas.values()
    alike = f"{kappa.numerator:.0f} of {kappa.denominator:.0f} steps"
    lines = [
        f"The readers agree on {alike}: Cohen's κ {_interval(kappa)}, Krippendorff's α {_interval(found.alpha)} (95 %, "
        "bootstrap of trajectories). They differ on:",
        "",
    ]
    names = dict(corpus.trajectories.select("trajectory_id", "task_id").collect().iter_rows())
    for (item, step), said in found.disputes.group_by("item", "step", maintain_order=True):
        answers = [
            f"{place} reader: {json.loads(row['value'])}" + (f" ({row['note']})" if row["note"] else "")
            for place, row in zip(("first", "second"), said.iter_rows(named=True), strict=True)
        ]
        lines.append(f"- `{names[item]}`, step {step}. " + "; ".join(answers))
    return lines


def unlabelled(corpus: Corpus) -> int:
    """Hits without an answer of either reader."""
    tables = [precision_of_hits(corpus, read_labels(path), QUESTION, BENT) for path in LABELS]
    return sum(int(table.select((pl.col("hits") - pl.col("labelled")).sum()).item()) for table in tables)


def _positive(corpus: Corpus, labels: Labels, answer: str) -> dict[str, tuple[int, int]]:
    """Hits of each rule to which both readers give this answer, and to which only one does."""
    table = precision_of_hits(corpus, labels, QUESTION, answer)
    return {row["rule"]: (row["positive"], row["tied"]) for row in table.iter_rows(named=True)}


def _share(row: dict[str, float]) -> str:
    return f"{row['positive']}: {100 * row['precision']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"


def _interval(found: Estimate) -> str:
    value, low, high = msgspec.structs.astuple(found)[:3]
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    read = trajlab.read(*sys.argv[1:])
    print("\n".join(quoted(read)), f"\n\nhits without an answer: {unlabelled(read)}")
