"""Broken copies of texts: the consoles of trainers, and YAML."""

from __future__ import annotations

import re
from typing import Any

import yaml
from chance import Chance
from mutants import DEPTHS, HOSTILE_LITERALS, HOSTILE_TEXTS, SURROGATES, change_value

_NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")
HUGE = (b"9" * 5000, b"1e400", b"-1e308", b"18446744073709551616", b"1" * 400 + b".5", b"0x" + b"f" * 400)
_LONG = (
    b" - a:1" * 100_000, b"[" * 1_000_000, b"{'a': " * 100_000, b"step:" * 200_000, b"\x1b[0m" * 200_000,
    b"9" * 4_000_000, b"| " * 500_000, b"'" * 500_000, b"=" * 1_000_000, b"\\" * 1_000_000,
)  # fmt: skip


def change_console(data: bytes, rng: Chance) -> bytes:
    """Lines of a console: numbers changed, colours and carriage returns put in, pieces repeated, cut or very long."""
    lines = data.split(b"\n")
    for _ in range(rng.randint(1, 4)):
        number = rng.randrange(len(lines))
        lines[number] = _changed_line(lines[number], lines, rng)
    return b"\n".join(lines)


def _changed_line(line: bytes, lines: list[bytes], rng: Chance) -> bytes:
    kind = rng.randrange(9)
    at = rng.randrange(len(line) + 1)
    if kind < 3:
        found = list(_NUMBER.finditer(line))
        if not found:
            return line[:at] + rng.told("huge number", rng.choice(HUGE)) + line[at:]
        one = rng.choice(found)
        odd = rng.choice(HUGE) if kind < 2 else rng.choice(HOSTILE_LITERALS).encode()
        return line[: one.start()] + rng.told("huge number" if kind < 2 else "wrong type", odd) + line[one.end() :]
    if kind == 3:
        text = rng.choice(SURROGATES) if rng.random() < 0.4 else rng.choice(HOSTILE_TEXTS)
        raw = text.encode("utf-8", "surrogatepass")
        return line[:at] + rng.told("lone surrogate" if text in SURROGATES else "hostile text", raw) + line[at:]
    if kind == 4:
        return rng.told("cut", line[:at])
    if kind == 5:
        return rng.told("spliced", line[:at] + rng.choice(lines))
    if kind == 6:
        return rng.told("repeated", b"\n".join([line] * min(rng.choice((2, 3000)), 2 + 2_000_000 // (len(line) + 1))))
    if kind == 7:
        return (
            line[:at]
            + rng.told("put in", rng.choice((b"\r", b"\x1b[31m", b"\0", b"\x1b]0;x\x07", b"(pid=1) ")))
            + line[at:]
        )
    return line[:at] + rng.told("bomb", rng.choice(_LONG)) + line[at:]


def change_yaml(data: bytes, rng: Chance) -> bytes:
    """A YAML document with places changed, or with aliases, tags, depths and numbers put into its text."""
    if rng.random() < 0.5:
        value: Any = yaml.safe_load(data)
        for _ in range(rng.randint(1, 3)):
            value = change_value(value, rng)
        try:
            return yaml.dump(value, allow_unicode=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        except (RecursionError, yaml.YAMLError):
            return data
    colons = [found.end() for found in re.finditer(rb": ", data)]
    at = rng.choice(colons)
    what, made = rng.choice(_yaml_values(rng))
    end = data.find(b"\n", at)
    return data[:at] + rng.told(what, made) + data[end if rng.random() < 0.7 and end >= 0 else at :]


def _yaml_values(rng: Chance) -> list[tuple[str, bytes]]:
    depth = rng.choice(DEPTHS)
    laughs = (
        b"[&a0 [x,x,x,x]" + b"".join(b",&a%d [*a%d,*a%d,*a%d,*a%d]" % (n + 1, n, n, n, n) for n in range(20)) + b"]"
    )
    return [
        ("bomb", laughs),
        ("bomb", b"&a [*a, *a]"),
        ("bomb", b"{<<: [*b, *b], &b x: 1}"),
        ("deep nesting", b"[" * depth + b"]" * depth),
        ("deep nesting", b"{a: " * depth + b"}" * depth),
        ("deep nesting", b"- " * depth),
        ("foreign program", b"!!python/object/apply:os.system ['touch /tmp/hostile_executed']"),
        ("foreign program", b"!!binary " + b"A" * 100_000),
        ("huge number", b"9" * 5000),
        ("huge number", b"1:" * 3000 + b"1"),
        ("huge number", b"0x" + b"f" * 5000),
        ("huge number", b".inf"),
        ("wrong type", b"2026-13-45T99:99:99Z"),
        ("wrong type", b"!!set {a, b}"),
        ("lone surrogate", b'"\\ud800"'),
        ("lone surrogate", b"\xed\xa0\x80"),
        ("hostile text", rng.choice(HOSTILE_TEXTS).encode("utf-8", "surrogatepass")),
    ]
