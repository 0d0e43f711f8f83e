"""Tables, callouts and folded excerpts as safe HTML: every text escaped, every estimate with its n."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

import msgspec

from trajlab.checks.finding import Status
from trajlab.report.text import Html, cap, escape, join, without_colours
from trajlab.stats import per_cent

NOT_RECORDED = Html('<span class="null" title="not recorded">–</span>')
STATUS_WORDS: dict[str, str] = {
    "ok": "ok",
    "warn": "warning",
    "alarm": "alarm",
    "unobserved": "not observed",
    "not_applicable": "not applicable",
}


@runtime_checkable
class EstimateLike(Protocol):
    """What `trajlab.stats` returns: a value with interval and denominator; ``None`` is *not observed*."""

    @property
    def value(self) -> float | None: ...  # noqa: D102
    @property
    def low(self) -> float | None: ...  # noqa: D102
    @property
    def high(self) -> float | None: ...  # noqa: D102
    @property
    def numerator(self) -> float | None: ...  # noqa: D102
    @property
    def denominator(self) -> float | None: ...  # noqa: D102
    @property
    def method(self) -> str: ...  # noqa: D102


class Column(msgspec.Struct, frozen=True):
    """One column of a table."""

    key: str
    heading: str
    unit: Literal["auto", "share", "number"] = "auto"
    """How estimates are shown; ``auto``: as a share where the interval is Wilson's."""
    bar: bool = True
    """Draw value and interval beside the number."""
    help: str = ""


Columns = Sequence[Column | str] | Mapping[str, str]
Rows = Sequence[Mapping[str, object]]


def is_share(estimate: EstimateLike, unit: str = "auto") -> bool:
    """The estimate is a proportion, to be shown in per cent."""
    return unit == "share" or (unit == "auto" and estimate.method.startswith("Wilson"))


def number(value: float | None, share: bool = False) -> str:
    """A number for people: ``46.8 %``, ``4,284``, ``0.0123``; ``–`` for null."""
    if value is None:
        return "–"
    if share:
        return f"{per_cent(value)} %"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def interval(estimate: EstimateLike, share: bool) -> str:
    """``[41.2, 52.5]``; an end that the data cannot bound says so; empty without any interval."""
    if estimate.low is None and estimate.high is None:
        return ""
    low, high = (
        "not bounded" if end is None else f"{100 * end:.1f}" if share else number(end)
        for end in (estimate.low, estimate.high)
    )
    return f"[{low}, {high}]"


def counted(estimate: EstimateLike, share: bool, unseen: str = "not observed") -> str:
    """``117/250`` for a share, else ``n 250``; with what was not observed."""
    parts = []
    if estimate.denominator is not None:
        n = number(estimate.denominator)
        whole = share and estimate.numerator is not None
        parts.append(f"{number(estimate.numerator)}/{n}" if whole else f"n {n}")
    missing = getattr(estimate, "missing", 0)
    if missing:
        parts.append(f"{number(missing)} {unseen}")
    return " · ".join(parts)


def estimate_table(rows: Rows, columns: Columns, *, caption: str = "", limit: int = 200) -> Html:
    """A table whose cells may be estimates: number, interval, n, and a bar on the column's own scale.

    Args:
        rows: One mapping per row; a cell is an estimate, a text, a number, a bool, `Html` or ``None``.
        columns: Keys in order, keys to headings, or `Column` for more.
        caption: What the table shows, and of how many.
        limit: Rows shown; the number of rows left out is said.
    """
    specifications = _columns(columns)
    scales = {column.key: _scale(rows, column) for column in specifications}
    numeric = {column.key: _is_numeric([row.get(column.key) for row in rows]) for column in specifications}
    body = [
        join(_cell(row.get(column.key), column, scales[column.key], numeric[column.key]) for column in specifications)
        for row in rows[:limit]
    ]
    head = join(_head(column, numeric[column.key]) for column in specifications)
    return _table(head, body, caption, len(rows) - limit, len(specifications))


def plain_table(rows: Rows, columns: Columns | None = None, *, caption: str = "", limit: int = 200) -> Html:
    """A table of texts and numbers; without ``columns``, those of the first row.

    ``None`` is shown as *not recorded*, never as zero or blank.
    """
    if columns is None:
        columns = list(rows[0]) if rows else []
    return estimate_table(rows, columns, caption=caption, limit=limit)


def facts(pairs: Mapping[str, object]) -> Html:
    """Names and values in two columns, for provenance and parameters."""
    items = (f"<div><dt>{escape(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in pairs.items())
    return Html(f'<dl class="facts">{"".join(items)}</dl>')


def not_observed(what: str, how_to_log: str) -> Html:
    """The section of something the logs do not show, with what to log so that they do."""
    return callout("unobserved", f"{what}: not observed.", f"To see it, log {how_to_log}.")


def callout(status: Status, text: object, more: object = "", word: str = "") -> Html:
    """One sentence with its status, in words as well as in colour; ``word`` is the status in another language."""
    rest = f'<p class="more">{escape(more)}</p>' if more else ""
    return Html(
        f'<div class="callout {escape(status)}"><p>{badge(status, word or STATUS_WORDS[status])} {escape(text)}</p>'
        f"{rest}</div>"
    )


def badge(status: str, word: str) -> Html:
    """A small coloured label; the colour repeats the word."""
    return Html(f'<span class="badge {escape(status)}">{escape(word)}</span>')


def details(summary: object, text: str, limit: int = 4000, note: str = "", is_open: bool = False) -> Html:
    """A folded excerpt of a log, or a folded piece of `Html`.

    Args:
        summary: The line that is always seen.
        text: Foreign text, shown as text and capped: its beginning and its end, with the number of
            characters left out between; or `Html`, shown as it is.
        limit: Characters shown of foreign text.
        note: Small print after the summary.
        is_open: Unfolded at first.
    """
    small = f" <small>{escape(note)}</small>" if note else ""
    opened = " open" if is_open else ""
    body = text if isinstance(text, Html) else excerpt(text, limit)
    return Html(f"<details{opened}><summary>{escape(summary)}{small}</summary><div>{body}</div></details>")


def excerpt(text: str, limit: int = 4000) -> Html:
    """Foreign text as text, without ANSI colours, capped, with the number of characters left out."""
    head, left_out, tail = cap(without_colours(text), limit)
    cut = f'<span class="cut">… {left_out:,} characters left out …</span>' if left_out else ""
    return Html(f"<pre>{escape(head)}{cut}{escape(tail)}</pre>")


def _columns(columns: Columns) -> list[Column]:
    if isinstance(columns, Mapping):
        return [Column(key, heading) for key, heading in columns.items()]
    return [column if isinstance(column, Column) else Column(column, column) for column in columns]


def _scale(rows: Rows, column: Column) -> tuple[float, float] | None:
    """Ends of the axis that all bars of a column share: (0, 1) for shares, else all shown, and zero."""
    found = [cell for row in rows if isinstance(cell := row.get(column.key), EstimateLike)]
    known = [cell for cell in found if cell.value is not None]
    if not column.bar or not known:
        return None
    ends = [end for cell in known for end in (cell.value, cell.low, cell.high) if end is not None]
    shares = [is_share(cell, column.unit) for cell in known]
    if any(shares) and not all(shares):
        return 0.0, 1.0  # rows of several units: only shares are drawn, each between 0 and 100 %
    low, high = min(0.0, *ends), max(0.0, *ends)
    if low == 0 and high <= 1 and all(is_share(cell, column.unit) for cell in known):
        return 0.0, 1.0
    return (low, high) if high > low else None


def _head(column: Column, right: bool) -> Html:
    side = " class=num" if right else ""
    return Html(f"<th scope=col{side}{_title(column.help)}>{escape(column.heading)}</th>")


def _cell(value: object, column: Column, scale: tuple[float, float] | None, right: bool) -> Html:
    if isinstance(value, EstimateLike):
        return Html(f'<td class="num est">{estimate_cell(value, column.unit, scale)}</td>')
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Html(f"<td class=num>{escape(number(value))}</td>")
    return Html(f"<td{' class=num' if right else ''}>{_text(value)}</td>")


def _text(value: object) -> Html:
    if value is None:
        return NOT_RECORDED
    if isinstance(value, bool):
        return Html("yes" if value else "no")
    if isinstance(value, int | float):
        return escape(number(value))
    return escape(value)


def estimate_cell(estimate: EstimateLike, unit: str = "auto", scale: tuple[float, float] | None = None) -> Html:
    """An estimate: the number, below it interval and n in small type, and a bar where there is a scale."""
    share = is_share(estimate, unit)
    small = [part for part in (interval(estimate, share), counted(estimate, share)) if part]
    if estimate.value is None:
        missing = getattr(estimate, "missing", 0)
        of = f"in any of {number(missing)}" if missing else ""
        return Html(f'<span class="null">not observed</span><small>{of}</small>')
    fits = scale is not None and (share or scale != (0.0, 1.0))
    drawn = _whisker(estimate, scale) if scale is not None and fits else ""
    text = f"<b>{escape(number(estimate.value, share))}</b>{drawn}<small>{escape(' · '.join(small))}</small>"
    return Html(f"<span{_title(estimate.method)}>{text}</span>")


def _whisker(estimate: EstimateLike, scale: tuple[float, float]) -> str:
    """Value and interval on a track 100 wide; an end without bound reaches the end of the track."""
    low, high = scale

    def at(value: float) -> str:
        place = 100 * (min(max(value, low), high) - low) / (high - low)
        return f"{place:.1f}".rstrip("0").rstrip(".")

    line = ""
    if estimate.low is not None or estimate.high is not None:
        start = at(low if estimate.low is None else estimate.low)
        end = at(high if estimate.high is None else estimate.high)
        line = f'<path class="w" d="M{start} 5H{end}"/>'
    zero = f'<path class="z" d="M{at(0)} 1V9"/>' if low < 0 else ""
    dot = f'<circle cx="{at(estimate.value or 0.0)}" cy="5" r="3"/>'
    track = '<path class="t" d="M0 5H100"/>'
    return f'<svg class="bar" viewBox="-4 0 108 10" aria-hidden="true">{track}{zero}{line}{dot}</svg>'


def _is_numeric(cells: Iterable[object]) -> bool:
    known = [cell for cell in cells if cell is not None]
    return bool(known) and all(
        isinstance(cell, EstimateLike) or (isinstance(cell, int | float) and not isinstance(cell, bool))
        for cell in known
    )


def _title(text: str) -> str:
    return f' title="{escape(text)}"' if text else ""


def _table(head: str, body: list[Html], caption: str, left_out: int, width: int) -> Html:
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    rows = "".join(f"<tr>{row}</tr>" for row in body)
    if not body:
        rows = f'<tr><td class="null" colspan="{max(width, 1)}">no rows</td></tr>'
    if left_out > 0:
        rows += f'<tr><td class="cut" colspan="{width}">{left_out:,} more rows not shown</td></tr>'
    label = escape(caption or "table")
    return Html(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table>{title}'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
