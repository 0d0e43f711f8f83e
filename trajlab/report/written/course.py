"""How a figure goes from period to period, in a sentence."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from trajlab.report.written.words import Words
from trajlab.stats import Estimate


def course(words: Words, run: str, measure: str, periods: Sequence[str], estimates: Sequence[Estimate]) -> str:
    """Whether the figure rises in every period, and where it does not.

    Args:
        words: The language.
        run: Name of the run.
        measure: Name of the measure, or ``score``.
        periods: Names of the periods.
        estimates: One for each period.
    """
    title = words.say("score.score") if measure == "score" else words.measure(measure)
    known = [
        (words.period(name), e.value, words.of_measure(measure, e).value)
        for name, e in zip(periods, estimates, strict=True)
        if e.value is not None
    ]
    if len(known) < 2:
        return words.say("course.one_period", run=run, measure=title)
    falls = [
        words.pair(f"{a} → {b}", f"{shown} → {later}")
        for (a, one, shown), (b, other, later) in itertools.pairwise(known)
        if other <= one
    ]
    if not falls:
        values = " → ".join(shown for _, _, shown in known)
        return words.say("course.monotone", run=run, measure=title, values=values)
    return words.say("course.not_monotone", run=run, measure=title, falls=words.list(falls))
