"""Lines of metrics in console logs, layout by layout. Every pattern is linear in the length of its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from trajlab.metric_logs._values import whole
from trajlab.records import Problem
from trajlab.sources.safe_json import loads
from trajlab.sources.streams import Line

LONGEST_LINE = 1 << 20
"""Characters of a line that may hold metrics; a longer one is text of a rollout."""
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_RAY = re.compile(r"^\s{0,8}\((?:[\w.:-]{1,80} )?pid=\d{1,10}(?:, ip=[\w.:]{1,60})?\)\s?")
_REPEATED = re.compile(r" ?\[repeated \d{1,9}x across cluster\].*$")
_VALUE = r"[-+]?(?:\d[\d.]{0,40}(?:[eE][-+]?\d{1,4})?|nan|inf|np\.\w{1,12}\([^()]{1,60}\))"
_VERL = re.compile(rf"(?:^|[\s)])step:(-?\d{{1,15}}) - (?=[^\s:]{{1,200}}:{_VALUE})")
_VERL_PAIR = re.compile(rf"([^\s:][^\n]{{0,300}}?):({_VALUE})(?:\s|$)")
_DICT_PAIR = re.compile(r"'([^'\n]{1,300})': (?:'([^'\n]{0,80})'|([^,'{}\[\]\n]{1,80}))")
_TRL = re.compile(r"\{'(?:loss|eval_[\w/.-]{1,200}|train_runtime|reward|kl)': [^{}\n]*'epoch': [^{}\n]*\}")
_BAR = re.compile(r"(\d{1,9})/(\d{1,9}) \[")
_SLIME = re.compile(r"(?:^|[\s-])(step|rollout|perf|eval) (\d{1,12}): (\{'[^\n]*\})")
_SKYRL = re.compile(r"(?:^|\s)Step (\d{1,12}): ?$")
_SKYRL_IN = re.compile(rb"Step \d{1,12}: ?\r?\n[^\n{]{0,200}\{'")
_ROLL = re.compile(r'\{"step": ?\d{1,15}, ?"metrics": ?\{')
_PAIR = re.compile(rf"([A-Za-z][\w./-]{{0,100}}) ?[=:] ?({_VALUE})(?![\w.])")
_PAIRS = re.compile(
    r"(?:(?:^|[\s\]])(\d{1,9})/\d{1,9} \||(?:^|[\s\[|])(?:step|iter|iteration)[ =:#]{1,3}(\d{1,12})\b[\]:,| /])"
)
_PAIRS_NEED = re.compile(rf"(?:^|[\s|,])(?:loss|reward)[\w/]{{0,40}} ?[=:] ?{_VALUE}")
_SKYRL_LINES = 5_000
_AREAL = re.compile(r"Epoch \d{1,9}/\d{1,9} Step \d{1,9}/\d{1,9} Train step (\d{1,12})/\d{1,12} done\.")
_AREAL_STATS = re.compile(r"Stats \((\d{1,6})/\d{1,6}\):$")


class Row(msgspec.Struct):
    """The metrics of one line."""

    step: int | None
    line: int
    pairs: list[tuple[str, Any]]
    kind: str = ""
    """What the step counts, where a log counts several things."""
    bar: tuple[int, int] | None = None
    """Where the last progress bar stood: done, of all."""


class Parser(msgspec.Struct, frozen=True):
    """One layout."""

    is_in: Callable[[bytes], bool]
    """Whether a text holds a line of it."""
    rows: Callable[[Iterable[tuple[int, str, bool]]], Iterator[Row | Problem]]
    """Rows of (line number, text, whether the line is whole)."""
    markers: tuple[bytes, ...]
    """A line without any of them tells nothing: it is not even decoded."""


def rows_of(layout: str, found: Iterable[Line]) -> Iterator[Row | Problem]:
    """Rows of a console log."""
    parser = PARSERS[layout]
    return parser.rows(_texts(found, parser.markers))


def _texts(found: Iterable[Line], markers: tuple[bytes, ...]) -> Iterator[tuple[int, str, bool]]:
    r"""Lines without colours and prefixes, cut at ``\\r``: a progress bar is drawn over itself."""
    for line in found:
        data = line.data
        if len(data) > LONGEST_LINE or not any(marker in data for marker in markers):
            continue
        text = bytes(data).decode("utf-8", "replace").rstrip("\n")
        if "\x1b" in text:
            text = _ANSI.sub("", text)
        for piece in text.split("\r"):
            if piece:
                yield line.number, _REPEATED.sub("", _RAY.sub("", piece, count=1)), line.finished


def _contains(pattern: re.Pattern[str], marker: bytes) -> Callable[[bytes], bool]:
    """Whether a line matches; only lines with the marker are looked at."""

    def is_in(text: bytes) -> bool:
        at = text.find(marker)
        while at >= 0:
            start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
            line = text[start : end if end >= 0 else len(text)][:LONGEST_LINE]
            cleaned = _ANSI.sub("", line.decode("utf-8", "replace"))
            if any(pattern.search(piece) for piece in cleaned.split("\r")):
                return True
            at = text.find(marker, end) if end >= 0 else -1
        return False

    return is_in


def _cut(line: int) -> Problem:
    return Problem("truncated", "the last line is not whole; it is read once it is", line)


def _verl(texts: Iterable[tuple[int, str, bool]]) -> Iterator[Row | Problem]:
    for number, text, finished in texts:
        found = _VERL.search(text) if "step:" in text else None
        if found is None:
            continue
        parts = text[found.end() :].split(" - ")
        if not finished:
            yield _cut(number)
            parts.pop()  # its number may be cut
        pairs = [(match[1], match[2]) for part in parts if (match := _VERL_PAIR.match(part.strip())) is not None]
        yield Row(int(found[1]), number, pairs)


def _dict_pairs(text: str) -> list[tuple[str, Any]]:
    return [(name, quoted or bare.strip()) for name, quoted, bare in _DICT_PAIR.findall(text)]


def _trl(texts: Iterable[tuple[int, str, bool]]) -> Iterator[Row | Problem]:
    """A row is printed over the progress bar, which is drawn anew then: the bar after it is up to date."""
    bar: tuple[int, int] | None = None
    waiting: Row | None = None
    for number, text, _ in texts:
        found = _TRL.search(text) if "{'" in text else None
        for match in _BAR.finditer(text) if "/" in text else ():
            drawn = (int(match[1]), int(match[2]))
            if waiting is not None and (waiting.bar is None or drawn[1] >= waiting.bar[1]):
                waiting.bar = drawn
                yield waiting
                waiting = None
            if found is None or match.start() < found.start():
                bar = drawn
        if found is not None:
            if waiting is not None:
                yield waiting
            waiting = Row(None, number, _dict_pairs(found[0]), bar=bar)
    if waiting is not None:
        yield waiting


def _slime(texts: Iterable[tuple[int, str, bool]]) -> Iterator[Row | Problem]:
    for number, text, _ in texts:
        found = _SLIME.search(text) if ": {'" in text else None
        if found is not None:
            yield Row(int(found[2]), number, _dict_pairs(found[3]), kind=found[1])


def _roll(texts: Iterable[tuple[int, str, bool]]) -> Iterator[Row | Problem]:
    for number, text, finished in texts:
        found = _ROLL.search(text) if '"metrics"' in text else None
        if found is None:
            continue
        try:
            said = loads(text[found.start() : text.rfind("}") + 1].encode()).value
        except ValueError as error:
            yield Problem("unreadable_record", f"no metrics: {error}", number) if finished else _cut(number)
            continue
        step = whole(said.get("step")) if isinstance(said, dict) else None
        if step is not None and isinstance(said["metrics"], dict):
            yield Row(step, number, list(said["metrics"].items()))
        else:
            yield Problem("unreadable_record", "no metrics: expected a whole step and its metrics", number)


def _skyrl(texts: Iterable[tuple[int, str, bool]]) -> Iterator[Row | Problem]:
    row: Row | None = None
    left = 0
    for number, text, _ in texts:
        begins = _SKYRL.search(text)
        if begins is not None:
            row, left = Row(int(begins[1]), number, []), _SKYRL_LINES
            continue
        if row is None:
            continue
        row.pairs += _dict_pairs(text)
        left -= 1
        if "}" in text or not left:
            yield row
            row = None
    if row is not None:
        yield _cut(row.line)
        yield row


def _areal(texts: Iterable[tuple[int, str, bool]]) -> Iterator[Row | Problem]:
    """Tables of names and numbers side by side, below the line of their step.

    The step is that of the other loggers (``StatsLogger.commit``): it counts from 0, where the line counts from 1, and
    further tables of one step have the next numbers, which the steps to come then leave out.
    """
    row: Row | None = None
    step, last, before = 0, -1, 0
    for number, text, finished in texts:
        if (begins := _AREAL.search(text)) is not None:
            trained = int(begins[1])
            step = trained - 1 if trained <= before else max(trained - 1, last + 1)  # not later: the run was restarted
            before = trained
        elif (which := _AREAL_STATS.search(text)) is not None and before:
            last = step + int(which[1]) - 1
            row = Row(last, number, [])
        elif row is not None and text.lstrip().startswith("│"):
            cells = [cell.strip() for cell in text.split("│")[1:-1]]
            row.pairs += [(name, value) for name, value in zip(cells[::2], cells[1::2], strict=False) if name]
            if not finished:
                break
        elif row is not None and text.lstrip().startswith("╘"):
            yield row
            row = None
    if row is not None:
        yield _cut(row.line)
        yield row


def _pairs(texts: Iterable[tuple[int, str, bool]]) -> Iterator[Row | Problem]:
    for number, text, finished in texts:
        if not ("=" in text or ":" in text) or (found := _PAIRS.search(text)) is None:
            continue
        pairs = _PAIR.findall(text, found.end())
        if not pairs or _PAIRS_NEED.search(text) is None:
            continue
        if not finished:
            yield _cut(number)
            pairs.pop()
        yield Row(int(found[1] or found[2]), number, pairs)


def _has_pairs(text: bytes) -> bool:
    if b"loss" not in text and b"reward" not in text:
        return False
    for line in text.split(b"\n"):
        if len(line) < 4096 and (b"loss" in line or b"reward" in line):
            said = _ANSI.sub("", line.decode("utf-8", "replace"))
            if _PAIRS.search(said) and _PAIRS_NEED.search(said):
                return True
    return False


PARSERS: dict[str, Parser] = {
    "verl": Parser(_contains(_VERL, b"step:"), _verl, (b"step:",)),
    "roll": Parser(_contains(_ROLL, b'"metrics"'), _roll, (b'"metrics"',)),
    "slime": Parser(_contains(_SLIME, b": {'"), _slime, (b": {'",)),
    "skyrl": Parser(lambda text: _SKYRL_IN.search(text) is not None, _skyrl, (b"Step ", b"': ", b"}")),
    "areal": Parser(
        _contains(_AREAL, b"Train step "), _areal, (b"Train step ", b"Stats (", "│".encode(), "╘".encode())
    ),
    "trl": Parser(_contains(_TRL, b"'epoch'"), _trl, (b"'epoch'", b"%|")),
    "pairs": Parser(_has_pairs, _pairs, (b"loss", b"reward")),
}
"""By the surest first."""
