"""JSON as real trainers and scaffolds write it: strict and fast first, repaired where that fails.

Every repair is named in :attr:`Loaded.fixes`, so a reader can count it; nothing is guessed beyond them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from typing import Any

import msgspec

REPLACEMENT = "\ufffd"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MAX_INTEGER_DIGITS = 4300
"""CPython's own bound on converting decimal text to ``int``; longer ones are beyond a float, too."""


class Loaded(msgspec.Struct, frozen=True):
    """A decoded JSON value and the repairs it needed.

    ``fixes`` holds, sorted, any of ``control_characters`` (raw control characters or NUL),
    ``invalid_utf8`` and ``lone_surrogate`` (both to U+FFFD), ``non_finite`` (``NaN``, ``Infinity``,
    ``1e999``: the value is a float ``nan`` or ``inf``) and ``python_literal`` (``np.float64(0.5)``,
    ``True``, ``False``, ``None`` outside strings).
    """

    value: Any
    fixes: tuple[str, ...] = ()


def loads(data: bytes | bytearray | memoryview) -> Loaded:
    """Decode one JSON value, in time linear in its length.

    Integers of any size stay Python ``int`` (whoever builds an ``int64`` column has to check); of
    duplicate keys the last wins; a byte order mark is dropped. Trailing commas, missing brackets and a
    second value on the line are not repaired.

    Raises:
        ValueError: The text is no JSON value, even with all repairs, or is nested too deeply.
    """
    try:
        return Loaded(msgspec.json.decode(data))
    except (ValueError, RecursionError):
        return _repaired(bytes(data))


def _repaired(data: bytes) -> Loaded:
    fixes: set[str] = set()
    data = data.removeprefix(_BYTE_ORDER_MARK)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        fixes.add("invalid_utf8")
        text = data.decode("utf-8", errors="replace")
    text = _without_lone_escapes(text, fixes)
    try:
        try:
            value = _decode(text, fixes, strict=True)
        except json.JSONDecodeError:
            value = _decode_lenient(text, fixes)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    return Loaded(value, tuple(sorted(fixes)))


def _decode_lenient(text: str, fixes: set[str]) -> Any:
    try:
        value = _decode(text, fixes, strict=False)
    except json.JSONDecodeError as first_error:
        repaired = _without_foreign_tokens(text, fixes)
        if repaired == text:
            raise _malformed(first_error) from None
        try:
            value = _decode(repaired, fixes, strict=False)
        except json.JSONDecodeError as error:
            raise _malformed(error) from None
    if _holds_control_character_in_string(text):
        fixes.add("control_characters")
    return value


def _malformed(error: json.JSONDecodeError) -> ValueError:
    return ValueError(f"JSON is malformed: {error.msg} (character {error.pos})")


def _decode(text: str, fixes: set[str], *, strict: bool) -> Any:
    def parse_float(literal: str) -> float:
        number = float(literal)
        if not math.isfinite(number):
            fixes.add("non_finite")
        return number

    def parse_int(literal: str) -> int | float:
        return int(literal) if len(literal) <= _MAX_INTEGER_DIGITS else parse_float(literal)

    return json.loads(text, strict=strict, parse_constant=parse_float, parse_float=parse_float, parse_int=parse_int)


_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def _without_lone_escapes(text: str, fixes: set[str]) -> str:
    r"""Replace ``\ud800`` and the like by an escaped U+FFFD; pairs stay."""
    if not _SURROGATE_ESCAPE.search(text):
        return text

    def replace(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        fixes.add("lone_surrogate")
        return "\\ufffd"

    return _ESCAPE.sub(replace, text)


_FOREIGN = ("True", "False", "None", "nan", "inf", "np.", "numpy.")
"""Parts of all that is turned into JSON, but for control characters."""
_CONTROL_BETWEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
_TOKEN = re.compile(
    rf"(?P<string>{_STRING})"
    rf"|(?P<control>{_CONTROL_BETWEEN.pattern}++)"
    r"|(?:np|numpy)\.(?:float|int|uint|bool)\w*+\(\s*+(?P<scalar>[-+\w.]++)\s*+\)"
    r"|(?P<number>[-+]?\d[-+.\w]*+)"
    r"|(?P<word>[-+]?[A-Za-z_][\w.]*+)",
    re.DOTALL,
)
_WORDS = {
    "True": "true",
    "False": "false",
    "None": "null",
    "np.True_": "true",
    "np.False_": "false",
    "nan": "NaN",
    "inf": "Infinity",
    "+inf": "Infinity",
    "-inf": "-Infinity",
    "-nan": "NaN",
    "np.nan": "NaN",
    "np.inf": "Infinity",
}


def _without_foreign_tokens(text: str, fixes: set[str]) -> str:
    """Turn Python literals and control characters *outside strings* into JSON.

    One pass with possessive quantifiers: every character is taken once. It is spared a text that holds nothing of
    the kind anywhere: one that is only cut short may be large.
    """
    if not any(part in text for part in _FOREIGN) and not _CONTROL_BETWEEN.search(text):
        return text

    def replace(match: re.Match[str]) -> str:
        if match["control"] is not None:
            fixes.add("control_characters")
            return " "
        word: str | None = match["scalar"] or match["word"]
        if word is None or (match["scalar"] is None and word not in _WORDS):
            return match[0]
        fixes.add("python_literal")
        return _WORDS.get(word, word)

    return _TOKEN.sub(replace, text)


_CONTROL = re.compile(r"[\x00-\x1f]")
_ANY_STRING = re.compile(_STRING, re.DOTALL)


def _holds_control_character_in_string(text: str) -> bool:
    return any(_CONTROL.search(text, match.start(), match.end()) for match in _ANY_STRING.finditer(text))


_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """``text`` with lone surrogates as U+FFFD, so that it can be written as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(REPLACEMENT, text)
    return text


_WRAPPED = re.compile(r"(?:np|numpy)\.(?:float|int|uint|bool)\w*+\(([^()]*+)\)")
_NUMBER = re.compile(r"[-+]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+", re.ASCII)


def _unwrapped(text: str) -> str:
    text = text.strip()
    match = _WRAPPED.fullmatch(text)
    return match[1].strip() if match else text


def to_float(value: object) -> float | None:
    """A number from a foreign value; ``None`` where it is not one or is not finite.

    Takes ints, floats, booleans (1.0 and 0.0: rewards are logged so) and each of them as text
    (``"3"``, ``"True"``, ``"np.float64(0.5)"``). ``nan`` and ``inf`` give ``None``: whoever needs
    to tell them from a missing value looks at the value itself, see :func:`is_non_finite`.
    """
    if isinstance(value, str):
        text = _unwrapped(value)
        if not _NUMBER.fullmatch(text):
            truth = to_bool(text)
            return None if truth is None else float(truth)
        value = float(text)
    if not isinstance(value, (bool, int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def added(numbers: Collection[float]) -> float | None:
    """The exact sum of finite numbers; ``None`` where there are none, or where it is larger than any float."""
    try:
        return math.fsum(numbers) if numbers else None
    except OverflowError:
        return None


def to_int(value: object) -> int | None:
    """A whole number from a foreign value; ``None`` for anything else, booleans included.

    Takes ints, floats without a fraction, and both as text.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = _unwrapped(value)
        if len(text) > _MAX_INTEGER_DIGITS or not _NUMBER.fullmatch(text):
            return None
        if text.lstrip("+-").isdigit():
            return int(text)
        value = float(text)
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


_TRUTH = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


def to_bool(value: object) -> bool | None:
    """A truth value from a foreign value; ``None`` for anything else.

    Takes booleans, the numbers 1 and 0, and both as text in any case (``"True"``, ``"np.False_"``).
    """
    if isinstance(value, str):
        text = _unwrapped(value).removeprefix("np.").removesuffix("_")
        return _TRUTH.get(text.lower())
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    return None


_NON_FINITE = {"nan", "inf", "infinity"}


def is_non_finite(value: object) -> bool:
    """Whether ``value`` is NaN or an infinity, as a number or as text."""
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, str) and _unwrapped(value).lstrip("+-").lower() in _NON_FINITE
