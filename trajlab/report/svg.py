"""A matplotlib figure as inline SVG in the page's own colours and fonts, the same bytes every time."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree

from trajlab.report.text import Html, escape, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, LINE, BACKGROUND = "#010203", "#010204", "#010205", "#010206"
SERIES = ("#0102c1", "#0102c2", "#0102c3", "#0102c4", "#0102c5", "#0102c6")
_PAGE_COLOURS = {
    INK: "currentColor",
    MUTED: "var(--muted,#767676)",
    LINE: "var(--line,#cccccc)",
    BACKGROUND: "var(--surface,#ffffff)",
    SERIES[0]: "var(--c1,#3b7fb5)",
    SERIES[1]: "var(--c2,#d0832b)",
    SERIES[2]: "var(--c3,#4c9a6a)",
    SERIES[3]: "var(--c4,#b35c8a)",
    SERIES[4]: "var(--c5,#8a7fc9)",
    SERIES[5]: "var(--c6,#8c8c86)",
}
"""Drawn colour -> colour of the page, which changes with light and dark."""

_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "trajlab",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 12,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": LINE,
    "axes.facecolor": "none",
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titlecolor": INK,
    "axes.labelsize": 11.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 1,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 11.5,
    "ytick.labelsize": 11.5,
    "figure.facecolor": "none",
    "legend.frameon": False,
}


@contextmanager
def drawing(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Iterator[Figure]:
    """A new figure of ``width`` by ``height`` CSS pixels with the house settings in force."""
    import matplotlib
    from matplotlib.figure import Figure

    defaults = {name: value for name, value in matplotlib.rcParamsDefault.items() if name != "backend"}
    settings: dict[Any, Any] = defaults | _SETTINGS  # whatever a matplotlibrc says
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # The page's font shows the text; DejaVu only measures it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield Figure(figsize=(width / 72, height / 72), layout=layout)


def inline(figure: Figure, title: str, alt: str, caption: object = "") -> Html:
    """``<figure>`` with the drawing as SVG; call it inside `drawing`.

    Args:
        figure: What was drawn.
        title: Name of the figure, for those who hear it.
        alt: What the figure shows, in words and numbers.
        caption: Text below it.
    """
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", metadata=nothing)
    text = buffer.getvalue()
    root = ElementTree.fromstring(text)
    named = "\0".join((title, alt, text))  # the same drawing in two languages must not share its ids
    prefix = "f" + hashlib.sha256(named.encode("utf-8", "replace")).hexdigest()[:8]
    _clean(root, prefix)
    box = root.get("viewBox", "0 0 0 0")
    label = escape(f"{title}. {alt}" if title else alt)
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return Html(
        f'<figure><svg role="img" aria-label="{label}" viewBox="{box}" width="{box.split()[2]}" '
        f'style="max-width:100%;height:auto"><title>{escape(title or alt)}</title>'
        f"{''.join(_written(child) for child in root)}</svg>{below}</figure>"
    )


def label(text: object, limit: int = 44) -> str:
    """Foreign text fit for a figure: one visible line of at most ``limit`` characters."""
    line = visible(" ".join(str(text).split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _clean(root: ElementTree.Element, prefix: str) -> None:
    """Page colours and fonts; only ids that something refers to, and those unique in the page."""
    used: set[str] = set()
    for element in root.iter():
        for value in element.attrib.values():
            used.update(re.findall(r"url\(#([^)]{1,99})\)", value))
        target = element.attrib.pop("{http://www.w3.org/1999/xlink}href", "")
        if target:
            used.add(target[1:])
            element.set("href", f"#{prefix}{target[1:]}")
    for element in root.iter():
        identity = element.attrib.pop("id", None)
        if identity in used:
            element.set("id", f"{prefix}{identity}")
        for name, value in list(element.attrib.items()):
            if name != "href":
                element.set(name, _restyled(name, value, prefix))


def _restyled(name: str, value: str, prefix: str) -> str:
    value = value.replace("url(#", f"url(#{prefix}")
    if name == "style":
        for drawn, shown in _PAGE_COLOURS.items():
            value = value.replace(drawn, shown)
        declarations = (part.strip() for part in value.split(";"))
        value = ";".join(part for part in declarations if part and not part.startswith("font-family"))
    if name in ("d", "x", "y", "transform", "points"):
        value = re.sub(r"-?\d+\.\d+", _rounded, " ".join(value.split()))
    return value.replace("rotate(-0 ", "rotate(0 ")


def _rounded(match: re.Match[str]) -> str:
    text = f"{float(match[0]):.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _written(element: ElementTree.Element) -> str:
    """HTML of an element; no namespaces (the HTML parser knows SVG), no document-wide style sheet."""
    tag = element.tag.rpartition("}")[2]
    if tag in ("style", "metadata"):
        return ""
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in element.attrib.items())
    inner = escape(element.text.strip() if element.text else "") + "".join(_written(child) for child in element)
    if tag == "defs" and not inner:
        return ""
    if tag == "g" and not attributes:
        return inner
    return f"<{tag}{attributes}>{inner}</{tag}>"
