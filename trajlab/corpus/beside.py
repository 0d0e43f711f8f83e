"""A corpus and metric logs that lie elsewhere."""

from __future__ import annotations

import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError


class CorpusBeside(Corpus):
    """A corpus with the metrics of another one beside its own.

    Args:
        corpus: With the rollouts.
        other: With the metric logs.

    Raises:
        UsageError: A metric log whose run cannot be told: it is named like none of several runs.
    """

    def __init__(self, corpus: Corpus, other: Corpus) -> None:
        super().__init__(corpus.folder, corpus.manifest)
        self.other = other
        self._names = _names(corpus, other)

    @property
    def metrics(self) -> pl.LazyFrame:
        """Metrics of both; a run that has a metric log in both keeps the one given apart."""
        given = self.other.metrics.with_columns(pl.col("run").replace(self._names))
        own = super().metrics.filter(~pl.col("run").is_in(list(self._names.values())).fill_null(value=False))
        return pl.concat([own, given])

    @property
    def problems(self) -> pl.LazyFrame:
        """Problems of both."""
        return pl.concat([super().problems, self.other.problems.with_columns(pl.col("run").replace(self._names))])


def _names(corpus: Corpus, other: Corpus) -> dict[str, str]:
    """Run as the metric logs say it -> run of the corpus."""
    named = other.metrics.filter(pl.col("run").is_not_null()).select(pl.col("run").unique()).collect()["run"]
    found = {}
    for name in sorted(named.to_list()):
        if name in corpus.runs or not corpus.runs:
            found[name] = name
        elif len(corpus.runs) == 1:
            found[name] = corpus.runs[0]
        else:
            next_step = "Name the file or its folder like its run, or diagnose one run at a time"
            raise UsageError("--metrics", f"a log of {name!r}", f"one of the runs {', '.join(corpus.runs)}", next_step)
    if len(set(found.values())) < len(found):
        raise UsageError(
            "--metrics", f"logs of {', '.join(found)}", "those of one run", "Give the logs of one attempt only"
        )
    return found
