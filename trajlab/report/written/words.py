"""Sentences of a language, as data: a table of texts with placeholders for each language."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from trajlab.errors import UsageError
from trajlab.measures.catalogue import BY_NAME
from trajlab.measures.contrast import Contrast
from trajlab.measures.stages import OWN
from trajlab.report.tables import EstimateLike, number
from trajlab.report.written.document import Paragraph, Shown, Tone
from trajlab.stats import per_cent

Language = Literal["en", "zh"]
LANGUAGES: tuple[str, ...] = get_args(Language)

DIGITS = {"correct_rate": 2}
"""Decimals of a percentage, where not 1: as the first report prints them."""


@cache
def texts(language: str, report: str = "") -> dict[str, Any]:
    """The table of a language: sections of key and sentence.

    Args:
        language: ``en`` or ``zh``.
        report: ``diagnosis`` for the sentences of that page; empty: those of the written reports.

    Raises:
        UsageError: There is no such language.
    """
    if language not in LANGUAGES:
        raise UsageError("language", repr(language), " or ".join(LANGUAGES), "For example --language zh")
    name = f"{report}_{language}.toml" if report else f"{language}.toml"
    return tomllib.loads(files("trajlab.report.written").joinpath(name).read_text("utf-8"))


class Words:
    """Sentences and numbers in one language.

    Args:
        language: ``en`` or ``zh``.
        report: As of `texts`: the sentences of a page of its own.

    Raises:
        UsageError: Another language.
    """

    def __init__(self, language: str = "en", report: str = "") -> None:
        self.language = language
        self._texts = texts(language, report)

    def say(self, key: str, **values: object) -> str:
        """The sentence ``group.name`` with its placeholders filled."""
        group, _, name = key.partition(".")
        text: str = self._texts[group][name]
        return text.format(**{name: str(value) for name, value in values.items()})

    def find(self, key: str) -> str | None:
        """A text that a language need not have."""
        group, _, name = key.partition(".")
        found = self._texts.get(group, {}).get(name)
        return None if found is None else str(found)

    def tell(self, tone: Tone, key: str, **values: object) -> Paragraph:
        """A sentence as a paragraph, its tone in words before it."""
        word = "" if tone == "plain" else self.say(f"tone.{tone}")
        return Paragraph(self.say(key, **values), tone, word)

    def measure(self, name: str) -> str:
        """Title of a measure."""
        own = self.find(f"measure.{name}")
        measure = OWN.get(name) or BY_NAME.get(name)
        return own or (measure.label if measure is not None else name)

    def join(self, sentences: list[str]) -> str:
        """Parts of a sentence that hold commas themselves."""
        return self.say("word.semicolon").join(sentences)

    def pair(self, name: str, value: object) -> str:
        """A name and what is said of it."""
        return self.say("word.pair", name=name, value=value)

    def list(self, items: list[str]) -> str:
        """Items in one sentence; a word for none."""
        return self.say("word.comma").join(items) if items else self.say("word.none")

    def period(self, name: str) -> str:
        """A period in the language: ``epoch 2`` is E2 of the reports."""
        kind, _, rest = name.partition(" ")
        text = self.find(f"period.{kind}")
        return name if text is None else text.format(rest=rest.replace(" to ", "–"))

    def tick(self, name: str) -> str:
        """A period as short as an axis needs it: E2, Q2, 21–40."""
        kind, _, rest = name.partition(" ")
        short = {"epoch": f"E{rest}", "quarter": f"Q{rest}", "steps": rest.replace(" to ", "–")}
        return short.get(kind, self.period(name))

    def estimate(self, found: EstimateLike, *, share: bool, digits: int = 1) -> Shown:
        """An estimate with interval and n."""
        if found.value is None:
            return Shown(self.say("word.not_observed"))
        ends = [self.say("word.unbounded") if end is None else _plain(end, share, digits)
                for end in (found.low, found.high)]  # fmt: skip
        bounded = found.low is not None or found.high is not None
        count = _count(found, share)
        missing = getattr(found, "missing", 0)
        unseen = self.say("word.missing", n=f"{missing:,}") if missing else ""
        unit = " %" if share else ""
        interval = f"[{ends[0]}, {ends[1]}]" if bounded else self.say("word.no_interval")
        value = per_cent(found.value, digits) if share else number(found.value)
        return Shown(value + unit, interval, count, found.method, unseen)

    def of_measure(self, name: str, found: EstimateLike) -> Shown:
        """The estimate of a measure, a share as a percentage."""
        return self.estimate(found, share=is_share(name), digits=DIGITS.get(name, 1))

    def change(self, name: str, found: EstimateLike, count: str = "") -> Shown:
        """A difference with its sign; of shares in percentage points.

        Args:
            name: The measure.
            found: The difference.
            count: In place of its denominator: the sizes of both arms, or tasks.
        """
        if found.value is None:
            return Shown(self.say("word.not_observed"))
        share, digits = is_share(name), DIGITS.get(name, 1)
        ends = [self.say("word.unbounded") if end is None else _signed(end, share, digits)
                for end in (found.low, found.high)]  # fmt: skip
        bounded = found.low is not None or found.high is not None
        interval = f"[{ends[0]}, {ends[1]}]" if bounded else self.say("word.no_interval")
        n = count or ("" if found.denominator is None else f"n {number(found.denominator)}")
        unit = self.say("word.points") if share else ""
        return Shown(_signed(found.value, share, digits) + unit, interval, n, found.method)

    def pooled(self, item: Contrast) -> Shown:
        """The difference over all trajectories, with the sizes of both arms."""
        arms = [number(estimate.denominator) for estimate in (item.first, item.second)]
        return self.change(item.name, item.pooled, f"n {arms[0]} + {arms[1]}")

    def within(self, item: Contrast) -> Shown:
        """The difference within the tasks of both arms, with their number."""
        tasks = "" if item.within.denominator is None else self.say("word.tasks", n=number(item.within.denominator))
        return self.change(item.name, item.within, tasks)

    def told(self, item: Contrast) -> Shown:
        """The difference to rely on."""
        return self.within(item) if item.within.value is not None else self.pooled(item)


def is_share(name: str) -> bool:
    """Shown in per cent: shares, and ratios that lie between 0 and 1."""
    measure = OWN.get(name) or BY_NAME.get(name)
    return measure is not None and (measure.kind == "share" or measure.bounded)


def _count(found: EstimateLike, share: bool) -> str:
    if found.denominator is None:
        return ""
    n = number(found.denominator)
    return f"{number(found.numerator)}/{n}" if share and found.numerator is not None else f"n {n}"


def _plain(value: float, share: bool, digits: int) -> str:
    return f"{100 * value:.{digits}f}" if share else number(value)


def _signed(value: float, share: bool, digits: int) -> str:
    text = f"{100 * value:+.{digits}f}" if share else f"{value:+.4g}"
    return text.replace("-", "−")
