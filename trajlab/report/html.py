"""Pages: one file, no script, no reference to anything outside it, the same bytes for the same input."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from trajlab.errors import NotebookError
from trajlab.report.record import RunRecord
from trajlab.report.result import Result, write_atomically
from trajlab.report.tables import badge, details, excerpt, facts, plain_table
from trajlab.report.text import Html, escape, join
from trajlab.report.written.words import Words

if TYPE_CHECKING:
    from nbformat import NotebookNode

EMPTY = Html("")
_TEMPLATE = Path(__file__).with_name("template")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'"
_SHOWN = ["text/html", "image/svg+xml", "image/png", "image/jpeg", "text/plain"]
_STREAM_LIMIT = 20_000
_MARKER = "papermill-error-cell-tag"
"""Tag of the cells papermill adds to shout about an error that the page states by itself."""

RUN_TONES = {
    "passed": "ok",
    "failed": "alarm",
    "inconclusive": "warn",
    "error": "alarm",
    "infrastructure": "alarm",
    "interrupted": "unobserved",
    "running": "unobserved",
}
"""Colour class of a run's status."""


def export_html(
    notebook: NotebookNode, record: RunRecord, path: Path, result: Result | None = None, language: str = "en"
) -> None:
    """Write the report of an executed notebook: prose and outputs, without code.

    Wall-clock times are left to ``run.json`` and the index, so that the same inputs give the same bytes.

    Args:
        notebook: The executed notebook; it is not changed.
        record: The run; its title, status, gates and parameters are shown.
        path: The file to write.
        result: Its gates are listed at the end.
        language: Language of the page, BCP 47.

    Raises:
        NotebookError: if an output holds a script, a form or a reference to anything outside the file.
    """
    words = Words(language)
    body = _anchored(_render(notebook, words, record.notebook))
    inspection = Inspection()
    inspection.feed(body)
    inspection.close()
    if inspection.offences:
        found = "; ".join(inspection.offences[:3])
        raise NotebookError(path.name, found, "a page that needs nothing outside itself", "Show it as text.")
    content = page(
        record.title,
        body,
        header=_header(record, words),
        contents=inspection.headings,
        footer=_footer(record, result),
        language=language,
    )
    write_atomically(path, content.encode("utf-8"))


def page(
    title: str,
    body: Html,
    *,
    header: Html,
    footer: Html = EMPTY,
    contents: Mapping[str, str] | None = None,
    language: str = "en",
    wide: bool = False,
) -> str:
    """A whole page around safe parts.

    Args:
        title: Title of the window.
        body: The main part.
        header: What stands above it.
        footer: What stands below it.
        contents: Heading by anchor, for the table of contents; none for fewer than three.
        language: Language of the page.
        wide: More room, for a page that is one table.
    """
    entries = contents if contents is not None and len(contents) >= 3 else {}
    items = "".join(f'<li><a href="#{escape(anchor)}">{escape(text)}</a></li>' for anchor, text in entries.items())
    shell = Template((_TEMPLATE / "page.html").read_text(encoding="utf-8"))
    return shell.substitute(
        language=escape(language),
        title=escape(title),
        style=(_TEMPLATE / "style.css").read_text(encoding="utf-8"),
        layout=" with-toc" if entries else " wide" if wide else "",
        header=header,
        contents=f'<nav class="toc" aria-label="Contents"><ol>{items}</ol></nav>' if entries else "",
        body=body,
        footer=footer,
    )


class Inspection(HTMLParser):
    """Goes through HTML once: second-level headings by anchor, and what a report must not hold."""

    _FORBIDDEN = frozenset(("script", "iframe", "object", "embed", "link", "base", "form", "meta", "frame"))
    _REFERENCES = frozenset(
        ("src", "href", "xlink:href", "srcset", "data", "action", "formaction", "poster", "background")
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.headings: dict[str, str] = {}
        self.offences: list[str] = []
        self._anchor: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note anchors, forbidden elements, event handlers and references out of the file."""
        if tag in self._FORBIDDEN:
            self.offences.append(f"<{tag}>")
        for name, value in attrs:
            target = (value or "").strip()
            outside = name in self._REFERENCES and not target.startswith(("#", "data:image/"))
            if outside or name.startswith("on") or (name == "style" and _refers_outside(target)):
                self.offences.append(f'<{tag} {name}="{target[:80]}">')
        anchor = dict(attrs).get("id")
        if tag == "h2" and anchor:
            self._anchor = anchor
            self.headings[anchor] = ""

    def handle_endtag(self, tag: str) -> None:
        """A heading ends."""
        if tag == "h2":
            self._anchor = None

    def handle_data(self, data: str) -> None:
        """Text of a heading."""
        if self._anchor is not None:
            self.headings[self._anchor] += data


def _refers_outside(style: str) -> bool:
    targets = re.findall(r"url\(\s*[\"']?([^)\s\"']{0,80})", style, flags=re.IGNORECASE)
    return "@import" in style or any(not target.startswith(("#", "data:image/")) for target in targets)


def _render(notebook: NotebookNode, words: Words, name: str) -> str:
    from nbconvert.exporters.html import HTMLExporter
    from nbconvert.exporters.templateexporter import TemplateExporter

    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        template_name="report",
        extra_template_basedirs=[str(_TEMPLATE)],
        exclude_input=True,
        exclude_anchor_links=True,
        filters={"shown": _shown, "line": escape, "chosen": _chosen, "highlight_code": escape},
    )
    # HTMLExporter.from_notebook_node parses and rewrites all of the page only to add default alt texts.
    resources = exporter._init_resources({})  # type: ignore[no-untyped-call]
    text, _ = TemplateExporter.from_notebook_node(exporter, _prepared(notebook, words, name), resources)
    return str(text)


def _anchored(body: str) -> Html:
    """Second-level headings with an id of their own, for the table of contents and for links."""
    seen: set[str] = set()

    def anchor(match: re.Match[str]) -> str:
        words = re.sub(r"\W+", "-", match[1]).strip("-").lower()[:60] or "section"
        name, number = words, 2
        while name in seen:
            name, number = f"{words}-{number}", number + 1
        seen.add(name)
        return f'<h2 id="{escape(name)}">{match[1]}'

    return Html(re.sub(r"<h2>([^<]{0,200})", anchor, body))


def _chosen(data: Mapping[str, object]) -> str:
    """The richest form of an output that a page can hold; markdown and script are never run."""
    return next((kind for kind in _SHOWN if kind in data), "")


def _shown(text: str) -> Html:
    return excerpt(text.rstrip(), _STREAM_LIMIT)


def _prepared(notebook: NotebookNode, words: Words, name: str) -> NotebookNode:
    """A copy without widget state and the first heading (the page has its title), in the language of the page."""
    copy = type(notebook)(notebook)
    copy.metadata = type(notebook)({key: value for key, value in notebook.metadata.items() if key != "widgets"})
    copy.cells = [type(notebook)(cell) for cell in notebook.cells if _MARKER not in cell.metadata.get("tags", [])]
    for cell in copy.cells:
        if cell.cell_type == "markdown":
            first, _, rest = cell.source.lstrip().partition("\n")
            if first.startswith("# "):
                cell.source = rest
            cell.source = words.find(f"intro.{name}") or cell.source
            break
    for cell in copy.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            title = cell.source[3:].strip()
            cell.source = f"## {words.find(f'heading.{name}: {title}') or title}"
    return copy


def _header(record: RunRecord, words: Words) -> Html:
    """Title, verdict, run and period: all from the record, nothing from the clock."""
    shown = {
        "run": record.run,
        "period": record.period,
        "trajectories": None if record.trajectories is None else f"{record.trajectories:,}",
        "data": record.data_fingerprint[:12],
    }
    items = join(
        Html(f"<div><dt>{escape(words.say(f'page.{name}'))}</dt><dd>{escape(value)}</dd></div>")
        for name, value in shown.items()
        if value
    )
    said = _why(record, words) or record.message
    message = f" <span>{escape(said)}</span>" if said else ""
    verdict = badge(RUN_TONES[record.status], words.say(f"page.{record.status}"))
    return Html(
        f'<p class="kicker">trajlab · {escape(record.notebook)}</p>\n<h1>{escape(record.title)}</h1>\n'
        f'<p class="verdict">{verdict}{message}</p>\n'
        f'<dl class="meta">{items}</dl>'
    )


def _why(record: RunRecord, words: Words) -> str:
    """Gates that failed or could not be judged, in words; empty where the record's own message tells why."""
    if record.status not in ("failed", "inconclusive"):
        return ""
    parts = []
    for status, names in (("failed", record.failed_gates), ("inconclusive", record.inconclusive_gates)):
        said = words.list([words.find(f"gate.{name}") or name for name in names])
        if names:  # the badge before it says the status of the run
            parts.append(said if status == record.status else words.pair(words.say(f"page.{status}"), said))
    return words.join(parts)


def _footer(record: RunRecord, result: Result | None) -> Html:
    parameters = {name: json.dumps(value, ensure_ascii=False) for name, value in record.parameters.items()}
    software = {name: version for name, version in record.versions.items() if name != "platform"}
    parts = []
    if result is not None and result.gates:
        rows = [
            {
                "gate": gate.name,
                "status": badge(_GATE_TONES[gate.status], gate.status.replace("_", " ")),
                "value": gate.value,
                "n": gate.n,
                "limit": " ".join(filter(None, [(gate.direction or "").replace("_", " "), _limit(gate.limit)])),
                "message": gate.message,
            }
            for gate in result.gates
        ]
        parts.append(details("Gates", plain_table(rows), note=str(len(rows))))
    parts.append(details("Parameters", facts(parameters), note=str(len(parameters))))
    parts.append(details("Software and data", facts(software | {"data fingerprint": record.data_fingerprint})))
    return join(parts, "\n")


_GATE_TONES = {
    "passed": "ok",
    "failed": "alarm",
    "inconclusive": "warn",
    "not_applicable": "not_applicable",
}


def _limit(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
