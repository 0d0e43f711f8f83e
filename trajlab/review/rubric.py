"""Rubrics: what reviewers are asked, read from TOML, and which values answer a question."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from trajlab.errors import UsageError, read_named

DEFAULT = Path(__file__).with_name("rubric.toml")
RESERVED_KEYS = frozenset("bceghijkmnoqstuwx")
"""Letters that the viewer itself listens to."""
_DIGITS = "123456789"


class Choice(msgspec.Struct, forbid_unknown_fields=True):
    """One answer that can be chosen."""

    value: str
    label: str = ""
    """What is shown; empty: the value."""
    key: str = ""
    """Key that chooses it; empty: its number, from 1 to 9."""


class Question(msgspec.Struct, forbid_unknown_fields=True, rename={"choices": "choice"}):
    """One question, asked for each trajectory or for any step."""

    id: str
    text: str
    per: Literal["item", "step"] = "item"
    kind: Literal["choice", "multi", "scale", "text"] = "choice"
    required: bool = False
    """A trajectory counts as read when its required questions are answered; one about steps, for every step that a rule
    of the hack screen met."""
    choices: list[Choice] = []
    low: int = 1
    high: int = 5
    """Ends of a scale, both included."""


class Rubric(msgspec.Struct, forbid_unknown_fields=True, rename={"questions": "question"}):
    """Questions in the order they are asked."""

    name: str
    questions: list[Question]

    def question(self, key: str) -> Question | None:
        """The question of an id."""
        return next((question for question in self.questions if question.id == key), None)


def load_rubric(source: str | Path | Rubric | None = None) -> Rubric:
    """Read a rubric.

    Args:
        source: A TOML file, a rubric, or ``None`` for the one that comes with trajlab.

    Raises:
        UsageError: The file cannot be read or is no rubric: an unknown field, two questions or answers of one name, a
            key that the viewer needs, a scale without room.
    """
    if isinstance(source, Rubric):
        rubric, place = source, source.name
    else:
        path = DEFAULT if source is None else Path(source)
        rubric, place = _read(path), str(path)
    problem = next(_problems(rubric), None)
    if problem is not None:
        raise UsageError(place, *problem)
    return rubric


def fits(question: Question, value: Any) -> bool:
    """Return whether a value answers a question; ``None`` withdraws an answer and fits every one."""
    if value is None:
        return True
    values = {choice.value for choice in question.choices}
    if question.kind == "choice":
        return isinstance(value, str) and value in values
    if question.kind == "multi":
        return isinstance(value, list) and all(isinstance(one, str) and one in values for one in value)
    if question.kind == "scale":
        return isinstance(value, int) and not isinstance(value, bool) and question.low <= value <= question.high
    return isinstance(value, str)


def _read(path: Path) -> Rubric:
    expected = "a rubric: name and [[question]] with id, text, per, kind, [[question.choice]]"
    try:
        data = tomllib.loads(read_named(path).decode())
        rubric = msgspec.convert(data, Rubric)
    except OSError as error:
        raise UsageError(str(path), error.strerror or str(error), "a rubric in TOML", "Check the path") from None
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(str(path), str(error), expected, f"See the one at {DEFAULT}") from None
    for question in rubric.questions:
        for place, choice in enumerate(question.choices):
            choice.label = choice.label or choice.value
            choice.key = choice.key or _DIGITS[place : place + 1]
    return rubric


def _problems(rubric: Rubric) -> Iterator[tuple[str, str, str]]:
    """Found, expected and next step of each thing wrong."""
    if not rubric.questions:
        yield "no question", "at least one [[question]]", "Add one"
    ids = [question.id for question in rubric.questions]
    if twice := _twice(ids):
        yield f"two questions {twice!r}", "an id for each", "Rename one"
    for question in rubric.questions:
        yield from _question_problems(question, f"question {question.id!r}: ")


def _question_problems(question: Question, place: str) -> Iterator[tuple[str, str, str]]:
    values = [choice.value for choice in question.choices]
    keys = [choice.key for choice in question.choices if choice.key]
    if question.kind in ("choice", "multi") and not values:
        yield place + "no choice", "at least one [[question.choice]]", "Add them"
    if question.kind in ("scale", "text") and values:
        yield place + f"choices of a {question.kind}", "none", 'Drop them, or say kind = "choice"'
    if twice := _twice(values):
        yield place + f"two choices {twice!r}", "a value for each", "Rename one"
    if twice := _twice(keys):
        yield place + f"two choices with the key {twice!r}", "a key for each", "Change one"
    for key in keys:
        if len(key) != 1 or not (key.isascii() and key.isalnum() and key == key.lower()) or key in RESERVED_KEYS:
            free = "".join(sorted(set("abcdefghijklmnopqrstuvwxyz") - RESERVED_KEYS))
            yield place + f"key {key!r}", f"a digit, or one of {free}", "The viewer needs the other letters"
    if question.kind == "scale" and not 1 <= question.high - question.low <= 10:
        yield place + f"a scale from {question.low} to {question.high}", "2 to 11 steps, low before high", "Change it"


def _twice(names: list[str]) -> str | None:
    return next((name for place, name in enumerate(names) if name in names[:place]), None)
