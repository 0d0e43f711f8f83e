"""Broken copies of JSON and of any bytes: cut, flipped, retyped, re-encoded, compressed; all from one seed."""

from __future__ import annotations

import gzip
import json
import lzma
import zlib
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import zstandard
from chance import Chance

DEPTHS = (60, 700, 3000, 10_000)
DEEPEST = 40
BOMB_MB = 64
"""What a bomb unpacks to: at most a hundred kilobytes on disk."""
HOSTILE_TEXTS = (
    "", " ", "\0", "\u2028\u2029\x85", "\u202e\u2066evil",
    "\x1b[31mred\x1b[0m", "{{ 7*7 }}", "{}{0}{x}",
    "$(touch /tmp/hostile_executed)", "`touch /tmp/hostile_executed`", "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>", "../../../../etc/passwd", "a/b\\c", "🙂" * 50, "x" * 10_000, "NaN", "1e400", "null",
    "[" * 5000, "<think>" * 200, "<tool_call>" * 200 + "{", "```bash\n" * 100, "'\"`" * 300, "<<EOF\n" * 200,
    "((((" * 400,
    "if " * 500, "$((" * 300, "| " * 300,
)  # fmt: skip
SURROGATES = ("\ud800", "\udfff x", "a\udc80b", "\ude00\ud83d")
NUMBERS = (2**31, 2**63, -(2**63) - 1, 2**64, 10**40, -(10**400), 1e308, -1e308, 5e-324)
PLAIN: tuple[Any, ...] = (None, True, False, 0, -1, 1.5, -0.0)
SHAPES: tuple[Any, ...] = (
    [], {}, [[]], [None], [{}], {"": None}, [1, "a", None, {}], {"type": []}, {"text": {"text": 1}},
)  # fmt: skip
NEARLY_RIGHT: tuple[Any, ...] = (
    {"role": "assistant"}, {"name": ["a"], "arguments": 3}, [{"type": "text", "text": 5}], [["a", 1]],
)  # fmt: skip
ODD_BYTES = (b"\xed\xa0\x80", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b'"', b"{", b"}", b"\\", b",")
HOSTILE_LITERALS = (
    "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "-0", "1" * 30, "-" + "9" * 5000, "0.1e-999", "True", "None",
    "np.float64(0.5)", r'"\ud800"', r'"\udc00\ud800"', r'"\u0000"', '"\0"', "01", "+1", ".5", "'single'", "undefined",
    "[,]", "{,}", "[1,]", '{"a":1,}', "//x", '"\n"', '"\\x41"',
)  # fmt: skip


def hostile_value(rng: Chance) -> Any:
    """A value of a type nobody expects where it is put."""
    pick = rng.randrange(13)
    if pick < 4:
        return rng.told("hostile text", rng.choice(HOSTILE_TEXTS))
    if pick == 4:
        return rng.told("lone surrogate", rng.choice(SURROGATES))
    if pick < 7:
        return rng.told("huge number", rng.choice(NUMBERS))
    if pick < 9:
        return rng.told("wrong type", deepcopy(rng.choice((*PLAIN, *SHAPES))))
    if pick < 11:
        return rng.told("deep nesting", nested(rng.choice(DEPTHS[:2]), rng.random() < 0.5))
    return rng.told("wrong type", deepcopy(rng.choice(NEARLY_RIGHT)))


def nested(depth: int, objects: bool) -> Any:
    """Lists or objects in each other."""
    value: Any = "bottom"
    for _ in range(depth):
        value = {"content": value} if objects else [value]
    return value


def places(value: Any) -> list[tuple[Any, ...]]:
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


def change_value(value: Any, rng: Chance) -> Any:
    """One place of a JSON value changed: retyped, wrapped, removed, renamed, repeated or moved."""
    found = places(value)
    if not found:
        return hostile_value(rng)
    shallow = [place for place in found if len(place) <= 2]
    *path, last = rng.choice(shallow if shallow and rng.random() < 0.4 else found)
    parent = value
    for key in path:
        parent = parent[key]
    kind = rng.randrange(8)
    if kind < 4:
        parent[last] = hostile_value(rng)
    elif kind == 4:
        here = parent[last]
        parent[last] = rng.told(
            "wrapped", rng.choice(([here], {"value": here}, json.dumps(here, default=str), [here] * 3))
        )
    elif kind == 5:
        del parent[last]
        rng.told("removed", None)
    elif isinstance(parent, dict):
        moved = parent.pop(last)
        parent[rng.told("renamed", rng.choice((str(last).upper(), "", "\0", "role", "content", "x" * 300)))] = moved
    else:
        rng.shuffle(parent)
        rng.told("moved", None)
    return value


def change_json(text: bytes, rng: Chance) -> bytes:
    """A JSON text with one to three places changed, or with a foreign literal or a repeated key put into its text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return change_bytes(text, rng)
    for _ in range(rng.randint(1, 3)):
        value = change_value(value, rng)
    try:
        changed = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    except RecursionError:
        return change_bytes(text, rng)
    if rng.random() < 0.3:
        changed = _foreign_literal(changed, rng)
    return changed


def _foreign_literal(text: bytes, rng: Chance) -> bytes:
    colons = [at for at in range(len(text)) if text[at : at + 2] == b": "]
    if not colons:
        return text
    at = rng.choice(colons) + 2
    kind = rng.randrange(3)
    if kind == 0:
        depth = rng.told("deep nesting", rng.choice(DEPTHS))
        return text[:at] + b"[" * depth + b"]" * depth + b", " + b'"x": ' + text[at:]
    rng.told("foreign literal", None)
    if kind == 1:
        return text[:at] + rng.choice(HOSTILE_LITERALS).encode() + b', "score": ' + text[at:]
    return text[:at] + rng.choice(HOSTILE_LITERALS).encode() + text[at + 1 :]


def change_bytes(data: bytes, rng: Chance) -> bytes:
    """Bytes cut, dropped, repeated, flipped, or replaced by some that no text has."""
    if not data:
        return b"\0"
    at, end = sorted((rng.randrange(len(data)), rng.randrange(len(data) + 1)))
    kind = rng.randrange(7)
    if kind == 0:
        return rng.told("cut", data[:at])
    if kind == 1:
        return rng.told("cut", data[:at] + data[min(end, at + 2000) :])
    if kind == 2:
        return rng.told("repeated", data[:at] + data[at : at + 500] * rng.randint(2, 20) + data[at:])
    if kind == 3:
        changed = bytearray(data)
        for _ in range(rng.choice((1, 3, 30))):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        return rng.told("bit-flipped", bytes(changed))
    if kind == 4:
        odd = rng.choice(ODD_BYTES)
        return rng.told("lone surrogate" if odd == ODD_BYTES[0] else "put in", data[:at] + odd + data[at:])
    if kind == 5:
        noise = bytes(rng.randrange(256) for _ in range(rng.choice((1, 100))))
        return rng.told("put in", data[:at] + noise + data[at:])
    return rng.told("moved", data[at:end] + data[:at])


def recode(data: bytes, rng: Chance) -> bytes:
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
    return rng.told("encoding", rng.choice(made)())


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.ZstdCompressor().compress,
}  # fmt: skip


def unpacked(data: bytes, suffix: str) -> bytes:
    """What a compressed sample holds."""
    if suffix == ".zst":
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as stream:
            return stream.readall()
    return gzip.decompress(data) if suffix == ".gz" else lzma.decompress(data)


def compress(data: bytes, rng: Chance) -> bytes:
    """Compressed in one or several members, mostly damaged after that."""
    methods = tuple(PACKERS.values())
    half = len(data) // 2
    packed = rng.choice(methods)(data[:half]) + rng.choice(methods)(data[half:])
    if rng.random() < 0.5:
        packed = rng.choice(methods)(data)
    if rng.random() < 0.2:
        packed = rng.choice(methods)(packed)
    rng.told("compressed", None)
    return packed if rng.random() < 0.3 else change_bytes(packed, rng)


@cache
def bomb(kind: str, method: str = ".gz") -> bytes:
    """Megabytes of one character, packed to very little."""
    filler = {"zeros": b"\0", "lines": b"\n", "letters": b"a", "brackets": b"["}[kind] * (1 << 20)
    if method == ".xz":  # slow to pack: a stream repeated
        return lzma.compress(filler * 16) * (BOMB_MB // 16)
    packer: Any = (
        zlib.compressobj(6, zlib.DEFLATED, 31) if method == ".gz" else zstandard.ZstdCompressor(1).compressobj()
    )
    return b"".join(packer.compress(filler) for _ in range(BOMB_MB)) + packer.flush()


def packed_bomb(data: bytes, rng: Chance) -> bytes:
    """The log, and behind or before it a bomb, as members of one compressed file."""
    method = rng.choice(tuple(PACKERS))
    pack = PACKERS[method]
    kind = rng.choice(("zeros", "lines", "letters", "brackets"))
    rng.told("bomb", None)
    big = bomb(kind, method)
    return rng.choice((pack(data) + big, big + pack(data), pack(data[: len(data) // 2]) + big))


def hostile_path(name: str, rng: Chance) -> str:
    """Another path for a file that keeps its ending."""
    rng.told("hostile name", None)
    folder, _, file = name.rpartition("/")
    odd = rng.choice(
        ("a" * 200, "-rf", "x\ny", "\u202egpj", "'\"`$(id)", "%s%n{0}", " ", "x..", "CON", "<script>", "\udcff",
         "é" * 60, "a\\b", "*?[x]", "~", "#", "1" * 30, "é" * 127, "\x1b[2J", "x..\x01", "\t", ":", "\u2028")
    )  # fmt: skip
    where = rng.randrange(3)
    if where == 0:
        return f"{odd}/{name}"
    if where == 1:
        return "/".join(filter(None, (folder, odd, file)))
    return "/".join(filter(None, (folder, f"{odd[:60]}{file}")))
