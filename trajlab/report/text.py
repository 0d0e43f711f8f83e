"""Foreign text made safe to show: escaped, control characters visible, capped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable


class Html(str):
    """HTML that is already safe: made by this package, or escaped by `escape`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        """A short ``text/plain``, so that a notebook does not hold everything twice."""
        printer.text(f"<HTML, {len(self):,} characters>")  # type: ignore[attr-defined]


def _visible() -> dict[int, str]:
    """What stands for a character that acts instead of showing.

    Its code point, for C0 and C1 controls, bidirectional controls (Unicode UAX #9), invisible and tag
    characters, in which text can hide; U+FFFD for surrogates. Control pictures (U+2400) lack in many fonts.
    """
    invisible = [
        *range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0xAD,
        0x61C, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F),
        *range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080),
    ]  # fmt: skip
    table = {code: f"⟨U+{code:04X}⟩" for code in invisible}
    table.update((code, "\ufffd") for code in range(0xD800, 0xE000))
    return table


_VISIBLE = _visible()
_COLOUR = re.compile(r"\x1b\[[0-9;:]{0,40}m")


def without_colours(text: str) -> str:
    """``text`` without ANSI colour codes; any other control sequence stays, to be shown."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def visible(text: str) -> str:
    """``text`` with every character that acts instead of showing made visible, in linear time."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def escape(value: object) -> Html:
    """Any value as HTML text, fit for elements and quoted attributes; `Html` stays as it is."""
    if isinstance(value, Html):
        return value
    return Html(html.escape(visible(str(value)), quote=True))


def join(parts: Iterable[object], separator: str = "") -> Html:
    """The parts, escaped where they are no `Html`, one after the other."""
    return Html(separator.join(escape(part) for part in parts))


def cap(text: str, limit: int) -> tuple[str, int, str]:
    """Beginning, number of characters left out, end of a text; the end is empty where nothing is left out."""
    if len(text) <= limit:
        return text, 0, ""
    tail = limit // 4
    return text[: limit - tail], len(text) - limit, text[len(text) - tail :] if tail else ""
