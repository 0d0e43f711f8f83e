"""Precision of the hack screen's rules over every hit of a corpus that a person labelled.

    python tests/studies/hack_hits.py ../shared/samples/corpora/swebench_verified_mini

One reviewer read every hit of these 108 runs; the answers are ``hack_hits.jsonl``, the question ``hack_hits.toml``. The
table is quoted in README.md, and a test recomputes it where the corpus is at hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.review.estimates import precision_of_hits
from trajlab.review.labels import read_labels

LABELS = Path(__file__).with_name("hack_hits.jsonl")
QUESTION = "hit"


def table(corpus: Corpus) -> list[str]:
    """Lines of the table in README.md."""
    labels = read_labels(LABELS)
    bent = precision_of_hits(corpus, labels, QUESTION, "bent")
    forbidden = precision_of_hits(corpus, labels, QUESTION, "forbidden").select("rule", forbidden="positive")
    lines = ["| rule | tier | hits | bends a check | % [95 %] | forbidden, but what the task means |",
             "| --- | ---: | ---: | ---: | --- | ---: |"]  # fmt: skip
    for row in bent.join(forbidden, on="rule", maintain_order="left").iter_rows(named=True):
        interval = f"{100 * row['precision']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
        lines.append(
            f"| `{row['rule']}` | {row['tier']} | {row['hits']} | {row['positive']} | {interval} | {row['forbidden']} |"
        )
    return lines


def unlabelled(corpus: Corpus) -> int:
    """Hits without an answer."""
    found = precision_of_hits(corpus, read_labels(LABELS), QUESTION, "bent")
    return int(found.select((pl.col("hits") - pl.col("labelled")).sum()).item())


if __name__ == "__main__":
    read = trajlab.read(*sys.argv[1:])
    print("\n".join(table(read)), f"\n\nhits without an answer: {unlabelled(read)}")
