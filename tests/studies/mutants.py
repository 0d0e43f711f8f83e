"""Broken copies of log files: cut, spliced, retyped, re-encoded, compressed and damaged; all from one seed."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import random
import warnings
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

DEPTHS = (60, 700, 3000, 10_000)
DEEPEST = 40
BOMB_MB = 96
"""What a bomb unpacks to: a few hundred kilobytes on disk."""
HOSTILE_TEXTS = (
    "", " ", "\0", "\ud800", "\udfff x", "\u2028\u2029\x85", "\u202e\u2066evil",
    "\x1b[31mred\x1b[0m", "{{ 7*7 }}", "{}{0}{x}",
    "$(touch /tmp/hostile_executed)", "`touch /tmp/hostile_executed`", "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>", "../../../../etc/passwd", "a/b\\c", "🙂" * 50, "x" * 10_000, "NaN", "1e400", "null",
    "[" * 5000, "<think>" * 200, "<tool_call>" * 200 + "{", "```bash\n" * 100, "'\"`" * 300, "<<EOF\n" * 200,
    "((((" * 400,
    "if " * 500, "$((" * 300, "| " * 300,
)  # fmt: skip
HOSTILE_NAMES = (
    "../../../../tmp/hostile_escaped", "/tmp/hostile_escaped", "samples/../../x.json",
    "samples/" + "a" * 3000 + ".json", "samples/\n.json", "samples/\u202e.json", "header.json/x", "", "..", "samples/",
    "C:\\x", "é" * 200,
)  # fmt: skip
HOSTILE_LITERALS = (
    "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "-0", "1" * 30, "-" + "9" * 5000, "0.1e-999", "True", "None",
    "np.float64(0.5)", r'"\ud800"', r'"\udc00\ud800"', r'"\u0000"', '"\0"', "01", "+1", ".5", "'single'", "undefined",
    "[,]", "{,}", "[1,]", '{"a":1,}', "//x", '"\n"', '"\\x41"',
)  # fmt: skip


def hostile_value(rng: random.Random) -> Any:
    """A value of a type nobody expects where it is put."""
    pick = rng.randrange(12)
    if pick < 4:
        return rng.choice(HOSTILE_TEXTS)
    if pick < 6:
        return rng.choice((None, True, False, 0, -1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**40, 1.5, 1e308, -0.0))
    if pick < 8:
        return rng.choice(
            ([], {}, [[]], [None], [{}], {"": None}, [1, "a", None, {}], {"type": []}, {"text": {"text": 1}})
        )
    if pick < 10:
        return _nested(rng.choice(DEPTHS[:2]), rng.random() < 0.5)
    return rng.choice(
        ({"role": "assistant"}, {"name": ["a"], "arguments": 3}, [{"type": "text", "text": 5}], [["a", 1]])
    )


def _nested(depth: int, objects: bool) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = {"content": value} if objects else [value]
    return value


def _places(value: Any) -> list[tuple[Any, ...]]:
    """Where values stand, in order; what is nested deeper than the deepest samples of ours is left as it is."""
    found: list[tuple[Any, ...]] = []
    waiting: list[tuple[Any, tuple[Any, ...]]] = [(value, ())]
    while waiting:
        here, path = waiting.pop()
        items = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        for key, inner in items if len(path) < DEEPEST else ():
            found.append((*path, key))
            waiting.append((inner, (*path, key)))
    return found


def _change_value(value: Any, rng: random.Random) -> Any:
    """One place of a JSON value changed: retyped, wrapped, removed, renamed, repeated or moved."""
    places = _places(value)
    if not places:
        return hostile_value(rng)
    shallow = [place for place in places if len(place) <= 2]
    *path, last = rng.choice(shallow if shallow and rng.random() < 0.4 else places)
    parent = value
    for key in path:
        parent = parent[key]
    kind = rng.randrange(8)
    if kind < 4:
        parent[last] = hostile_value(rng)
    elif kind == 4:
        parent[last] = rng.choice(
            ([parent[last]], {"value": parent[last]}, json.dumps(parent[last]), [parent[last]] * 3)
        )
    elif kind == 5:
        del parent[last]
    elif isinstance(parent, dict):
        moved = parent.pop(last)
        parent[rng.choice((str(last).upper(), "", "\0", "role", "content", "x" * 300))] = moved
    else:
        rng.shuffle(parent)
    return value


def change_json(text: bytes, rng: random.Random) -> bytes:
    """A JSON text with one to three places changed, or with a foreign literal or a repeated key put into its text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return change_bytes(text, rng)
    for _ in range(rng.randint(1, 3)):
        value = _change_value(value, rng)
    try:
        changed = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    except RecursionError:
        return change_bytes(text, rng)
    if rng.random() < 0.3:
        changed = _foreign_literal(changed, rng)
    return changed


def _foreign_literal(text: bytes, rng: random.Random) -> bytes:
    colons = [at for at in range(len(text)) if text[at : at + 2] == b": "]
    if not colons:
        return text
    at = rng.choice(colons) + 2
    kind = rng.randrange(3)
    if kind == 0:
        depth = rng.choice(DEPTHS)
        return text[:at] + b"[" * depth + b"]" * depth + b", " + b'"x": ' + text[at:]
    if kind == 1:
        return text[:at] + rng.choice(HOSTILE_LITERALS).encode() + b', "score": ' + text[at:]
    return text[:at] + rng.choice(HOSTILE_LITERALS).encode() + text[at + 1 :]


def change_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes cut, dropped, repeated, flipped, or replaced by some that no text has."""
    if not data:
        return b"\0"
    at, end = sorted((rng.randrange(len(data)), rng.randrange(len(data) + 1)))
    kind = rng.randrange(7)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[min(end, at + 2000) :]
    if kind == 2:
        return data[:at] + data[at : at + 500] * rng.randint(2, 20) + data[at:]
    if kind == 3:
        changed = bytearray(data)
        for _ in range(rng.choice((1, 3, 30))):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        return bytes(changed)
    if kind == 4:
        return (
            data[:at]
            + rng.choice((b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b'"', b"{", b"}", b"\\", b","))
            + data[at:]
        )
    if kind == 5:
        return data[:at] + bytes(rng.randrange(256) for _ in range(rng.choice((1, 100)))) + data[at:]
    return data[at:end] + data[:at]


def recode(data: bytes, rng: random.Random) -> bytes:
    """Another encoding, other line ends, or marks before and behind."""
    text = data.decode("utf-8", "replace")
    made: tuple[Callable[[], bytes], ...] = (
        lambda: text.encode("utf-16"),
        lambda: text.encode("utf-16-le"),
        lambda: text.encode("latin-1", "replace"),
        lambda: text.encode("utf-32"),
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: data.replace(b"\n", b"\r"),
        lambda: b"\xef\xbb\xbf" * rng.randint(1, 2) + data,
        lambda: b"\n" * rng.randint(1, 1000) + data,
        lambda: data + b"\0" * rng.randint(1, 5000),
        lambda: b"[" + data.strip().replace(b"\n", b",\n") + b"]",
        lambda: b'{"version https://git-lfs": 1}\n' + data,
        lambda: b"",
    )
    return rng.choice(made)()


def compress(data: bytes, rng: random.Random) -> bytes:
    """Compressed in one or several members, mostly damaged after that."""
    methods: tuple[Callable[[bytes], bytes], ...] = (gzip.compress, lzma.compress, zstandard.ZstdCompressor().compress)
    half = len(data) // 2
    packed = rng.choice(methods)(data[:half]) + rng.choice(methods)(data[half:])
    if rng.random() < 0.5:
        packed = rng.choice(methods)(data)
    return packed if rng.random() < 0.3 else change_bytes(packed, rng)


@cache
def bomb(kind: str) -> bytes:
    """Megabytes of one character, packed to very little."""
    filler = {"zeros": b"\0", "lines": b"\n", "letters": b"a", "brackets": b"["}[kind] * (1 << 20)
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return b"".join(packer.compress(filler) for _ in range(BOMB_MB)) + packer.flush()


def packed_bomb(data: bytes, rng: random.Random) -> bytes:
    """The log, and behind or before it a bomb, as members of one gzip file."""
    own = gzip.compress(data)
    kind = rng.choice(("zeros", "lines", "letters", "brackets"))
    return rng.choice((own + bomb(kind), bomb(kind) + own, gzip.compress(data[: len(data) // 2]) + bomb(kind)))


def change_archive(data: bytes, rng: random.Random) -> bytes:
    """A zip archive whose members are broken, renamed, repeated, missing, very large, or whose bytes are damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except (zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error, OSError):  # zstd members before Python 3.14
        return change_bytes(data, rng)
    if not members or rng.random() < 0.3:
        return change_bytes(data, rng)
    number = rng.randrange(len(members))
    name, content = members[number]
    kind = rng.randrange(7)
    if kind == 0:
        is_json = content[:1] in (b"{", b"[")
        members[number] = (name, change_json(content, rng) if is_json else change_bytes(content, rng))
    elif kind == 1:
        members[number] = (rng.choice(HOSTILE_NAMES), content)
    elif kind == 2:
        members.append((name, rng.choice((content, b"", b"{}"))))
    elif kind == 3:
        del members[number]
    elif kind == 4:
        members[number] = (name, b"")
    elif kind == 5:
        members[number] = (name, b" " * (BOMB_MB << 20) if rng.random() < 0.5 else content + b"\n" * (32 << 20))
    else:
        members += [(f"{name}.{extra}", b"{}") for extra in range(3000)]
    return _zipped(members)


def _zipped(members: list[tuple[str, bytes]]) -> bytes:
    sink = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a repeated name is the point
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members:
                archive.writestr(name, content)
    return sink.getvalue()


def hostile_path(name: str, rng: random.Random) -> str:
    """Another path for a file that keeps its ending."""
    folder, _, file = name.rpartition("/")
    odd = rng.choice(
        ("a" * 200, "-rf", "x\ny", "\u202egpj", "'\"`$(id)", "%s%n{0}", " ", "x..", "CON", "<script>", "\udcff",
         "é" * 60, "a\\b", "*?[x]", "~", "#", "1" * 30)
    )  # fmt: skip
    where = rng.randrange(3)
    if where == 0:
        return f"{odd}/{name}"
    if where == 1:
        return "/".join(filter(None, (folder, odd, file)))
    return "/".join(filter(None, (folder, f"{odd[:60]}{file}")))


def as_parquet(data: bytes, rng: random.Random) -> bytes | None:
    """Rows of a line file as Parquet, some columns retyped; ``None`` where Arrow cannot hold them."""
    try:
        rows = [json.loads(line) for line in data.splitlines() if line.strip()]
        if not rows or not all(isinstance(row, dict) for row in rows):
            return None
        table = pa.Table.from_pylist([_change_value(row, rng) if rng.random() < 0.3 else row for row in rows])
        table = _odd_columns(table, rng)
        sink = io.BytesIO()
        pq.write_table(table, sink, row_group_size=rng.choice((1, 3, 1000)))
    except (ValueError, TypeError, OverflowError, RecursionError, pa.ArrowException):
        return None
    return sink.getvalue() if rng.random() < 0.6 else change_bytes(sink.getvalue(), rng)


def _odd_columns(table: pa.Table, rng: random.Random) -> pa.Table:
    rows = table.num_rows
    odd = (
        pa.nulls(rows),
        pa.array([2**62] * rows, pa.timestamp("ns")),
        pa.array([253402300800] * rows, pa.timestamp("s")),
        pa.array(["a"] * rows).dictionary_encode(),
        pa.array([b"\xff\x00"] * rows),
        pa.array([[("k", 1)]] * rows, pa.map_(pa.string(), pa.int64())),
        pa.array([[]] * rows, pa.list_(pa.null())),
        pa.array([{"a": None}] * rows),
    )
    if rng.random() < 0.5:
        place = rng.randrange(table.num_columns)
        return table.set_column(place, table.column_names[place], rng.choice(odd))
    return table.append_column(rng.choice((table.column_names[0], "reward", "odd")), rng.choice(odd))
