"""A report as data, and its two faces: Markdown and HTML. Texts are plain until they are shown, then escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from trajlab.report.tables import badge
from trajlab.report.text import Html, escape, join, visible

Tone = Literal["plain", "ok", "warn", "alarm", "unobserved", "not_shown"]


class Shown(msgspec.Struct, frozen=True):
    """A number with its evidence, in words of the language: ``42.19 %``, ``[40.2, 44.2]``, ``4,104/9,728``."""

    value: str
    interval: str = ""
    count: str = ""
    method: str = ""
    missing: str = ""
    """How many are not observed, with what parts it from the count."""

    def __str__(self) -> str:
        count = f"({self.count}{self.missing})" if self.count else ""
        return " ".join(part for part in (self.value, self.interval, count) if part)


Cell = str | Shown


class Paragraph(msgspec.Struct, frozen=True):
    """A sentence or a few; ``tone`` colours it in HTML and stands as a word before it in both faces."""

    text: str
    tone: Tone = "plain"
    word: str = ""
    """The tone in words of the language; empty for a plain paragraph."""


class Bullets(msgspec.Struct, frozen=True):
    """A list."""

    items: list[str]


class Table(msgspec.Struct, frozen=True):
    """A table; the first column names the rows."""

    head: list[str]
    rows: list[list[Cell]]
    caption: str = ""


class Picture(msgspec.Struct, frozen=True):
    """A figure of the page; Markdown goes without, so whatever it shows stands in words or tables too."""

    draw: Callable[[], Html]
    """Called where the page is written: drawing costs more than all else of a report."""
    title: str = ""
    """A line above it."""


_WIDE = 4
"""Columns beyond which interval and count stand below each other."""

Block = Paragraph | Bullets | Table | Picture


class Section(msgspec.Struct, frozen=True):
    """A headed part of a report."""

    key: str
    title: str
    blocks: list[Block]


class Document(msgspec.Struct, frozen=True):
    """A whole report."""

    title: str
    sections: list[Section]
    language: str

    def section(self, key: str) -> Section:
        """A section by its key."""
        return next(section for section in self.sections if section.key == key)


_SHORT = 20
"""Characters of a cell that is not broken into lines."""

# Characters that Markdown acts on; brackets only where they would make a link or a definition,
# and addresses so that none becomes a link by itself.
_MARKUP = re.compile(r"[\\`*<|~$&]|(?<![^\W_])_|_(?![^\W_])|(?<=\])[(\[:]|:(?=//)|(?<=www)\.")
_AT_START = re.compile(r"(?:#+|[-+]|\d+(?=[.)]))(?=[\s.)]|$)|[>=]|-(?=--)")


def markdown_text(text: object) -> str:
    """One line of plain text as Markdown that shows exactly this text, wherever it stands but at a line's start."""
    line = " ".join(visible(str(text)).split())
    return _MARKUP.sub(lambda match: f"\\{match[0]}", line)


def markdown_line(text: object) -> str:
    """As `markdown_text`, for the start of a line, where ``1.``, ``#``, ``-`` and others act too."""
    line = markdown_text(text)
    match = _AT_START.match(line)
    if match is None:
        return line
    place = match.end() if match[0].isdigit() else 0
    return f"{line[:place]}\\{line[place:]}"


def to_markdown(document: Document) -> str:
    """The whole report as Markdown."""
    parts = [f"# {markdown_text(document.title)}"]
    for section in document.sections:
        parts.append(f"## {markdown_text(section.title)}")
        parts += [_markdown_block(block) for block in section.blocks if not isinstance(block, Picture)]
    return "\n\n".join(parts) + "\n"


def _markdown_block(block: Paragraph | Bullets | Table) -> str:
    if isinstance(block, Paragraph):
        lead = f"**{markdown_text(block.word)}** " if block.word else ""
        return lead + markdown_text(block.text) if lead else markdown_line(block.text)
    if isinstance(block, Bullets):
        return "\n".join(f"- {markdown_line(item)}" for item in block.items)
    lines = [_row(block.head), "| --- |" + " --- |" * (len(block.head) - 1)]
    lines += [_row([str(cell) for cell in row]) for row in block.rows]
    table = "\n".join(lines)
    return f"{markdown_line(block.caption)}\n\n{table}" if block.caption else table


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(markdown_text(cell) or " " for cell in cells) + " |"


def section_html(section: Section) -> Html:
    """A section with its heading."""
    heading = Html(f'<h2 id="report-{escape(section.key)}">{escape(section.title)}</h2>')
    return join([heading, blocks_html(section.blocks)], "\n")


def blocks_html(blocks: Sequence[Block]) -> Html:
    """Blocks one after the other, without a heading."""
    return join([block_html(block) for block in blocks], "\n")


def block_html(block: Block) -> Html:
    """A part of a section."""
    if isinstance(block, Picture):
        drawn = block.draw()
        return join([Html(f"<p>{escape(block.title)}</p>"), drawn]) if block.title else drawn
    if isinstance(block, Paragraph):
        if block.tone == "plain":
            return Html(f"<p>{escape(block.text)}</p>")
        colour = "unobserved" if block.tone == "not_shown" else block.tone
        word = badge(colour, block.word)
        return Html(f'<div class="callout {escape(colour)}"><p>{word} {escape(block.text)}</p></div>')
    if isinstance(block, Bullets):
        return Html("<ul>" + join(Html(f"<li>{escape(item)}</li>") for item in block.items) + "</ul>")
    head = join(
        Html(f"<th scope=col{' class=num' if place else ''}>{escape(name)}</th>")
        for place, name in enumerate(block.head)
    )
    narrow = len(block.head) > _WIDE
    body = join(
        Html(f"<tr>{join(_html_cell(cell, bool(place), narrow) for place, cell in enumerate(row))}</tr>")
        for row in block.rows
    )
    caption = Html(f"<caption>{escape(block.caption)}</caption>") if block.caption else Html("")
    label = escape(block.caption or block.head[0] or "table")
    return Html(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table>{caption}'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _html_cell(cell: Cell, right: bool, narrow: bool) -> Html:
    if isinstance(cell, str):
        classes = [name for name, given in (("num", right), ("short", right and len(cell) <= _SHORT)) if given]
        return Html(f"""<td{f' class="{" ".join(classes)}"' if classes else ""}>{escape(cell)}</td>""")
    if not cell.interval and not cell.count:
        return Html(f'<td class="num short"><span class="null">{escape(cell.value)}</span></td>')
    between = Html("<br>") if narrow else Html(" · ")
    parts = (cell.interval, cell.count, cell.missing.lstrip(" ,，"))
    small = join([escape(part) for part in parts if part], between)
    title = f' title="{escape(cell.method)}"' if cell.method else ""
    below = f"<small>{small}</small>" if small else ""
    return Html(f'<td class="num est"><span{title}><b>{escape(cell.value)}</b>{below}</span></td>')
