"""Sentences of checks in another language: their English is the key, clause by clause, as data.

Checks say what they found in English, and ``result.json`` keeps that. A page in another language looks the sentence up:
whole, else clause by clause. A template's placeholders match what stands there: one beginning with ``n`` a number, one
beginning with ``name`` foreign text that is shown as it is, with ``rest`` a clause, any other text in which known words
are replaced. What no template knows stays as it is, so nothing is lost and nothing is guessed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import regex

_LONGEST = 600
"""Characters of a clause that is looked up; a longer one holds foreign text."""
_SECONDS = 0.05
"""Of matching one template: clauses may hold foreign text."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_OPEN, _CLOSED = "([", ")]"


class Phrases:
    """Lookup of English sentences in one language; English itself stays as it is.

    Args:
        language: ``en`` or ``zh``.
    """

    def __init__(self, language: str = "en") -> None:
        self._known = _catalogue(language)
        self._semicolon, self._colon = self._known.exact.get("; ", "; "), self._known.exact.get(": ", ": ")
        self.unknown: set[str] = set()
        """Clauses that no template knew so far."""

    def __call__(self, text: str) -> str:
        """A sentence, a title or a piece of evidence in the language."""
        if not self._known.exact or not text:
            return text
        return self._known.exact.get(text) or self._semicolon.join(self._told(part) for part in _clauses(text))

    def _told(self, clause: str) -> str:
        """A clause in the language; what is not known is noted, after the titles before it that are."""
        found = self._clause(clause) if len(clause) <= _LONGEST else None
        if found is not None:
            return found
        for place in _colons(clause):
            title = self._known.exact.get(clause[:place])
            if title is not None and len(clause) <= _LONGEST:
                return f"{title}{self._colon}{self._told(clause[place + 2 :])}"
        self.unknown.add(clause)
        return clause

    def _clause(self, clause: str) -> str | None:
        """A sentence, or a title and a clause; ``None``: not known."""
        known = self._known.exact.get(clause)
        if known is not None or not any(letter.isalpha() for letter in clause):
            return known or clause
        for place in _colons(clause):
            title = self._known.exact.get(clause[:place])
            rest = None if title is None else self._clause(clause[place + 2 :])
            if rest is not None:
                return f"{title}{self._colon}{rest}"
        return self._filled(clause)

    def _filled(self, text: str) -> str | None:
        for pattern, template in self._known.templates(text):
            try:
                match = pattern.fullmatch(text, timeout=_SECONDS)
            except TimeoutError:
                continue
            if match is not None:
                return template.format(**{name: self._value(name, held) for name, held in match.groupdict().items()})
        return None

    def _value(self, name: str, value: str) -> str:
        """What stood in a placeholder: itself a known name, or names and numbers with known words between."""
        if name.startswith("n"):
            return value
        if name.startswith("rest"):
            return self._told(value)
        exact = self._known.exact.get(value)
        if exact is not None:
            return exact
        for word, other in self._known.inside.items():
            value = value.replace(word, other)
        return value


class _Catalogue:
    """Exact sentences, templates by their first letters, words inside values."""

    def __init__(self, table: dict[str, dict[str, str]]) -> None:
        self.inside = table.get("inside", {})
        sentences = {key: text for name, part in table.items() if name != "inside" for key, text in part.items()}
        self.exact = self.inside | {key: text for key, text in sentences.items() if not _PLACEHOLDER.search(key)}
        rest = {key: text for key, text in sentences.items() if key not in self.exact}
        # The one with the most fixed text first: a general template must not take what a special one knows.
        ordered = sorted(rest, key=lambda key: (-len(_PLACEHOLDER.sub("", key)), key))
        self._templates = [(_fixed(key), _pattern(key), rest[key]) for key in ordered]

    def templates(self, text: str) -> Iterator[tuple[regex.Pattern[str], str]]:
        """Templates whose longest fixed part stands in a text."""
        return ((pattern, template) for fixed, pattern, template in self._templates if fixed in text)


def _fixed(key: str) -> str:
    return max(_PLACEHOLDER.split(key)[::2], key=len)


def _pattern(key: str) -> regex.Pattern[str]:
    parts = _PLACEHOLDER.split(key)
    return regex.compile("".join(_group(part) if n % 2 else re.escape(part) for n, part in enumerate(parts)))


def _group(name: str) -> str:
    number = name.startswith("n") and not name.startswith("name")
    return f"(?P<{name}>[^\\s;]+?)" if number else f"(?P<{name}>(?:(?!; ).)+?)"


@cache
def _catalogue(language: str) -> _Catalogue:
    place = files("trajlab.report.written").joinpath(f"phrases_{language}.toml")
    return _Catalogue(tomllib.loads(place.read_text("utf-8")) if place.is_file() else {})


def _clauses(text: str) -> list[str]:
    """Parts between semicolons, but for those inside of brackets."""
    parts, start, depth = [], 0, 0
    for place, letter in enumerate(text):
        depth = max(0, depth + (letter in _OPEN) - (letter in _CLOSED))
        if depth == 0 and text.startswith("; ", place):
            parts.append(text[start:place])
            start = place + 2
    return [*parts, text[start:]]


def _colons(text: str) -> Iterator[int]:
    """Places of colons, the last first: the longest title counts."""
    place = text.rfind(": ")
    while place >= 0:
        yield place
        place = text.rfind(": ", 0, place)
