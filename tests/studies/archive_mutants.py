"""Broken copies of archives: zip members and their directory, and the pickles of torch files."""

from __future__ import annotations

import io
import pickletools
import struct
import tempfile
import warnings
import zipfile
from itertools import pairwise
from pathlib import Path

from chance import Chance
from mutants import BOMB_MB, DEPTHS, change_bytes, change_json

from trajlab.sources.zip_members import ZipMembers

HOSTILE_NAMES = (
    "../../../../tmp/hostile_escaped", "/tmp/hostile_escaped", "samples/../../x.json",
    "samples/" + "a" * 3000 + ".json", "samples/\n.json", "samples/\u202e.json", "header.json/x", "", "..", "samples/",
    "C:\\x", "é" * 200, "samples/\x1b[2J.json", "a\0b",
)  # fmt: skip
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
Members = list[tuple[str, bytes]]


def change_archive(data: bytes, rng: Chance) -> bytes:
    """A zip archive whose members are broken, renamed, repeated, missing or very large, or whose directory lies."""
    members = members_of(data)
    if not members or rng.random() < 0.2:
        return change_bytes(data, rng)
    if rng.random() < 0.2:
        return _lying_directory(data, rng)
    _change_member(members, rng)
    big = any(len(content) > 1 << 20 for _, content in members)
    return zipped(members, zipfile.ZIP_DEFLATED if big else rng.choice(METHODS))


def members_of(data: bytes) -> Members:
    """Of a sample, also where Python cannot read its compression."""
    with tempfile.NamedTemporaryFile(suffix=".zip") as file:
        Path(file.name).write_bytes(data)
        with ZipMembers(file.name) as archive:
            return [(name, archive.read(name)) for name in archive.names]


def _change_member(members: Members, rng: Chance) -> None:
    number = rng.randrange(len(members))
    name, content = members[number]
    kind = rng.randrange(9)
    if kind < 3:
        changed = change_json if content[:1] in (b"{", b"[") else change_bytes
        members[number] = (name, changed(content, rng))
    elif kind == 3:
        members[number] = (rng.told("hostile name", rng.choice(HOSTILE_NAMES)), content)
    elif kind == 4:
        members.append((name, rng.told("repeated", rng.choice((content, b"", b"{}")))))
    elif kind == 5:
        del members[number]
        rng.told("removed", None)
    elif kind == 6:
        members[number] = (name, rng.told("cut", b""))
    elif kind == 7:
        filler = rng.choice((b" ", b"\n", b"[", b'{"a":'))
        swollen = filler * ((BOMB_MB << 20) // len(filler)) if rng.random() < 0.5 else content + b"\n" * (32 << 20)
        members[number] = (name, rng.told("bomb", swollen))
    else:
        members += [(f"{name}.{extra}", rng.told("repeated", b"{}")) for extra in range(3000)]


def zipped(members: Members, method: int) -> bytes:
    """An archive of these members."""
    sink = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a repeated name is the point
        with zipfile.ZipFile(sink, "w", method) as archive:
            for name, content in members:
                archive.writestr(zipfile.ZipInfo(name.encode("utf-8", "replace").decode()), content, method)
    return sink.getvalue()


def _lying_directory(data: bytes, rng: Chance) -> bytes:
    """Sizes, place, method or flags of a member are others than the directory says, or the other way about."""
    at = data.find(b"PK\x01\x02", rng.randrange(len(data)) if rng.random() < 0.5 else 0)
    at = at if at >= 0 else data.find(b"PK\x01\x02")
    changed = bytearray(data)
    place, width = rng.choice(((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (42, 4)))
    number = (
        rng.choice((0, 1, 93, 0x7FFF, 0xFFFF)) if width == 2 else rng.choice((0, 1, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF))
    )
    changed[at + place : at + place + width] = number.to_bytes(width, "little")
    return rng.told("huge number" if number > 1000 else "wrong type", bytes(changed))


def change_torch(data: bytes, rng: Chance) -> bytes:
    """A file of ``torch.save``: a changed program of its pickle, or other storages; else any archive's changes."""
    if rng.random() < 0.3:
        return change_archive(data, rng)
    members = members_of(data)
    pickled = [number for number, (name, _) in enumerate(members) if name.endswith("data.pkl")]
    storages = [number for number, (name, _) in enumerate(members) if "/data/" in name]
    if storages and rng.random() < 0.2:
        number = rng.choice(storages)
        members[number] = (members[number][0], change_bytes(members[number][1], rng))
    else:
        number = pickled[0]
        members[number] = (members[number][0], _change_program(members[number][1], rng))
    return zipped(members, zipfile.ZIP_STORED)


def _text(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(raw)) + raw


def _doubled(times: int) -> bytes:
    """A tuple that holds itself twice, and so on: small to write, endless to walk."""
    return b")" + b"2\x86" * times


VALUES: dict[str, tuple[bytes, ...]] = {
    "huge number": (
        b"\x8a\xff" + b"\x7f" * 255,
        b"I" + b"9" * 6000 + b"\n",
        b"G\x7f\xf0" + b"\0" * 6,
        b"J\xff\xff\xff\x7f",
    ),
    "lone surrogate": (_text("\ud800"), b"V\\ud800\n"),
    "wrong type": (b"N", b"\x88", b"]", b"}", b")", _text(""), b"C\x01\xff", b"(Nt"),
    "foreign program": (b"cos\nsystem\n" + _text("touch /tmp/hostile_executed") + b"\x85R", b"cbuiltins\neval\n)\x81"),
    "bomb": (_doubled(40), b"]" + b"2\x86" * 60, _doubled(60) + b"h\0\x93", b"}" + _doubled(40) + b"Ns"),
}


def _change_program(program: bytes, rng: Chance) -> bytes:
    """One operation dropped, repeated or replaced by others that leave a value, at a place where one begins."""
    places = [at for _, _, at in pickletools.genops(program) if at is not None]
    number = rng.randrange(len(places) - 1)
    at, end = places[number], places[number + 1]
    kind = rng.randrange(9)
    if kind == 0:
        return rng.told("removed", program[:at] + program[end:])
    if kind == 1:
        return rng.told("repeated", program[:end] + program[at:end] * rng.choice((1, 1000)) + program[end:])
    if kind == 2:
        return change_bytes(program, rng)
    if kind == 3:
        depth = rng.told("deep nesting", rng.choice((*DEPTHS, 300_000)))
        made = b"]" * depth + b"a" * (depth - 1) if rng.random() < 0.5 else b")" + b"\x85" * depth
        made = made if rng.random() < 0.7 else b"}" + made + b"Ns"
    else:
        what = rng.choice(tuple(VALUES))
        made = rng.told(what, rng.choice(VALUES[what]))
    replaced = _constants(program, places)
    at, end = rng.choice(replaced) if replaced and rng.random() < 0.7 else (at, end)
    return program[:at] + made + program[end:]


def _constants(program: bytes, places: list[int]) -> list[tuple[int, int]]:
    """Operations that put one plain value on the stack."""
    return [(at, end) for at, end in pairwise(places) if program[at : at + 1] in b"NXKMJG\x88\x89\x8c\x8a]})"]
