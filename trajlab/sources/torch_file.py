"""What ``torch.save`` wrote, without torch and without unpickling: plain values and tensors of numbers.

A pickle is a program for a stack machine. Here it is read as data: lists, dictionaries (their keys as text), numbers
and texts are built; names of classes and functions are kept as names; a call of one gives an :class:`Opaque` value that
says which, but for the two that rebuild a tensor from a storage of the file. Nothing is imported, looked up or called.
"""

from __future__ import annotations

import math
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trajlab.sources.expansion import MAX_VALUES, check_expansion

MAX_PICKLE_BYTES = 2 << 30
_MAX_LONG_BYTES = 1024
_MOST_DIMENSIONS = 32
_STORED = 0
_ERRORS = (
    zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, struct.error, KeyError, IndexError,
    TypeError, AttributeError, OverflowError,
)  # fmt: skip


class Opaque(msgspec.Struct, frozen=True):
    """An object that is not built: the name of its class or of the function that would give it."""

    name: str


class _Storage(msgspec.Struct, frozen=True):
    dtype: str
    key: str


_STORAGE_TYPES = {
    "torch.FloatStorage": "<f4", "torch.DoubleStorage": "<f8", "torch.HalfStorage": "<f2", "torch.LongStorage": "<i8",
    "torch.IntStorage": "<i4", "torch.ShortStorage": "<i2", "torch.CharStorage": "i1", "torch.ByteStorage": "u1",
    "torch.BoolStorage": "?",
}  # fmt: skip
_PLAIN_KEYS = (str, int, float, bytes, Opaque)
_TENSOR = ("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor")
_EMPTY_DICT = ("collections.OrderedDict", "collections.defaultdict")


def load_torch(path: Path) -> Any:
    """The value in a file of ``torch.save`` (the zip format of torch 1.6 and later).

    Raises:
        ValueError: It is no such file, or holds what is not read here (a compressed member, a pickle that is no
            program, values nested too deeply, or shared into too many).
    """
    try:
        with zipfile.ZipFile(path) as archive:
            name = next((n for n in archive.namelist() if n.endswith("/data.pkl")), None)
            if name is None:
                raise ValueError("no `data.pkl` in the archive")
            members = _Members(archive, name.removesuffix("data.pkl"))
            value = _Machine(members.read("data.pkl"), members).run()
        check_expansion(value)
    except RecursionError:
        raise ValueError("values are nested too deeply") from None
    except _ERRORS as error:
        raise ValueError(f"no file of torch.save: {type(error).__name__}: {str(error)[:200]}") from None
    return value


class _Members:
    """Members of the archive, as torch stores them: not compressed."""

    def __init__(self, archive: zipfile.ZipFile, folder: str) -> None:
        self._archive = archive
        self._folder = folder
        self._numbers = 0

    def read(self, name: str) -> bytes:
        info = self._archive.getinfo(self._folder + name)
        if info.compress_type != _STORED or info.file_size > MAX_PICKLE_BYTES:
            raise ValueError(f"`{name}` is compressed or too large ({info.file_size} bytes)")
        return self._archive.read(info)

    def tensor(self, storage: _Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Any:
        """A tensor as (nested) lists."""
        if len(size) > _MOST_DIMENSIONS:
            raise ValueError(f"a tensor of {len(size)} dimensions")
        values = np.frombuffer(self.read(f"data/{storage.key}"), dtype=storage.dtype)
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if min((offset, *size, *stride)) < 0 or (all(size) and last >= len(values)):
            raise ValueError("a tensor reaches beyond its storage")
        count = math.prod(size)
        self._numbers += count
        if count > len(values) or self._numbers > MAX_VALUES:
            raise ValueError("tensors repeat their storages")
        width = values.itemsize
        steps = tuple(step * width for step in stride)
        return np.lib.stride_tricks.as_strided(values[offset:], size, steps, writeable=False).tolist()


class _Machine:
    """The stack machine of a pickle, for the operations that make values."""

    def __init__(self, data: bytes, members: _Members) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.members = members

    def run(self) -> Any:
        data, handlers, fixed = self.data, _HANDLERS, _FIXED
        while True:
            code = data[self.at]
            self.at += 1
            if code == _STOP:
                return self.stack.pop()
            number = fixed.get(code)
            if number is not None:  # numbers, most of all
                self.stack.append(number.unpack_from(data, self.at)[0])
                self.at += number.size
                continue
            handler = handlers.get(code)
            if handler is None:
                raise ValueError(f"operation {bytes((code,))!r} of the pickle is not read")
            handler(self)

    def take(self, count: int) -> bytes:
        """The next bytes of the program."""
        start, self.at = self.at, self.at + count
        if count < 0 or self.at > len(self.data):
            raise ValueError("the pickle ends early")
        return self.data[start : self.at]

    def unsigned(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def line(self) -> bytes:
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise ValueError("the pickle ends early")
        text = self.data[self.at : end]
        self.at = end + 1
        return text

    def since_mark(self) -> list[Any]:
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def persistent(self, identity: Any) -> Any:
        """A storage, by the tuple torch writes for it: ("storage", type, key, place, count)."""
        if isinstance(identity, tuple) and len(identity) == 5 and identity[0] == "storage":
            kind = identity[1]
            name = kind.name if isinstance(kind, Opaque) else type(kind).__name__
            dtype = _STORAGE_TYPES.get(name)
            if dtype is None or not isinstance(identity[2], (str, int)):
                return Opaque(f"storage {name}"[:100])
            return _Storage(dtype, str(identity[2]))
        return Opaque("persistent object")

    def call(self, called: Any, arguments: Any) -> Any:
        """What a call stands for; nothing is called."""
        name = called.name if isinstance(called, Opaque) else type(called).__name__
        if name in _TENSOR and isinstance(arguments, tuple) and isinstance(arguments[0], _Storage):
            storage, offset, size, stride = arguments[:4]
            return self.members.tensor(storage, offset, size, stride)
        return {} if name in _EMPTY_DICT else Opaque(name[:200])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _long(machine: _Machine, width: int) -> int:
    count = machine.unsigned(width)
    if count > _MAX_LONG_BYTES:
        raise ValueError(f"an integer of {count} bytes")
    return int.from_bytes(machine.take(count), "little", signed=True)


def _put(machine: _Machine, index: int) -> None:
    machine.memo[index] = machine.stack[-1]


def _set_items(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if isinstance(target, dict):
        target.update(_pairs(items))
    elif not isinstance(target, Opaque):
        raise ValueError("items for what is no dictionary")


def _append(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if isinstance(target, list):
        target.extend(items)
    elif not isinstance(target, Opaque):
        raise ValueError("elements for what is no list")


def _reduce(machine: _Machine) -> None:
    arguments = machine.stack.pop()
    machine.stack.append(machine.call(machine.stack.pop(), arguments))


def _new_object(machine: _Machine) -> None:
    machine.stack.pop()
    _reduce(machine)


def _named(machine: _Machine, module: str, name: str) -> None:
    machine.stack.append(Opaque(f"{module}.{name}"[:200]))


def _stack_global(machine: _Machine) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise ValueError("a name that is no text")
    _named(machine, module, name)


def _pairs(items: list[Any]) -> dict[Any, Any]:
    # The hash of a tuple visits all it holds: one that holds itself twice, forty deep, would never end.
    if len(items) % 2:
        raise ValueError("a key of a dictionary without its value")
    keys = items[::2]
    if not all(key is None or isinstance(key, _PLAIN_KEYS) for key in keys):
        raise ValueError("a key of a dictionary that is no plain value")
    return dict(zip(map(_key, keys), items[1::2], strict=True))


def _key(key: Any) -> str:
    """A key as JSON would have it, where all are text: readers know no other."""
    if isinstance(key, str):
        return key
    return key.name if isinstance(key, Opaque) else _text(key) if isinstance(key, bytes) else str(key)


def _line_integer(machine: _Machine) -> Any:
    text = machine.line().rstrip(b"L")
    return {b"00": False, b"01": True}.get(text) if text in (b"00", b"01") else _number(text, int)


def _number(text: bytes, kind: type[int] | type[float]) -> Any:
    """A number that the program spells out."""
    try:
        return kind(text)
    except ValueError:  # more digits than Python converts are none, either
        raise ValueError(f"{text[:40]!r} is no number") from None


def _tuple(count: int) -> Callable[[_Machine], None]:
    def build(machine: _Machine) -> None:
        machine.stack[-count:] = [tuple(machine.stack[-count:])]

    return build


def _push(make: Callable[[_Machine], Any]) -> Callable[[_Machine], None]:
    def build(machine: _Machine) -> None:
        machine.stack.append(make(machine))

    return build


_STOP = ord(".")
_FIXED = {
    ord("K"): struct.Struct("<B"), ord("M"): struct.Struct("<H"), ord("J"): struct.Struct("<i"),
    ord("G"): struct.Struct(">d"),
}  # fmt: skip
_OPERATIONS: dict[bytes, Callable[[_Machine], Any]] = {
    b"\x80": lambda m: m.take(1),
    b"\x95": lambda m: m.take(8),
    b"N": _push(lambda m: None),
    b"\x88": _push(lambda m: True),
    b"\x89": _push(lambda m: False),
    b"I": _push(_line_integer),
    b"L": _push(_line_integer),
    b"F": _push(lambda m: _number(m.line(), float)),
    b"\x8a": _push(lambda m: _long(m, 1)),
    b"\x8b": _push(lambda m: _long(m, 4)),
    b"V": _push(lambda m: m.line().decode("raw-unicode-escape", "replace")),
    b"X": _push(lambda m: _text(m.take(m.unsigned(4)))),
    b"\x8c": _push(lambda m: _text(m.take(m.unsigned(1)))),
    b"\x8d": _push(lambda m: _text(m.take(m.unsigned(8)))),
    b"T": _push(lambda m: _text(m.take(m.unsigned(4)))),
    b"U": _push(lambda m: _text(m.take(m.unsigned(1)))),
    b"B": _push(lambda m: m.take(m.unsigned(4))),
    b"C": _push(lambda m: m.take(m.unsigned(1))),
    b"\x8e": _push(lambda m: m.take(m.unsigned(8))),
    b"]": _push(lambda m: []),
    b"}": _push(lambda m: {}),
    b")": _push(lambda m: ()),
    b"\x8f": _push(lambda m: []),  # a set, as a list
    b"(": lambda m: m.marks.append(len(m.stack)),
    b"a": lambda m: _append(m, [m.stack.pop()]),
    b"e": lambda m: _append(m, m.since_mark()),
    b"\x90": lambda m: _append(m, m.since_mark()),
    b"s": lambda m: _set_items(m, [m.stack.pop(-2), m.stack.pop()]),
    b"u": lambda m: _set_items(m, m.since_mark()),
    b"t": _push(lambda m: tuple(m.since_mark())),
    b"l": _push(lambda m: m.since_mark()),
    b"d": _push(lambda m: _pairs(m.since_mark())),
    b"\x91": _push(lambda m: m.since_mark()),
    b"\x85": _tuple(1),
    b"\x86": _tuple(2),
    b"\x87": _tuple(3),
    b"0": lambda m: m.stack.pop(),
    b"1": lambda m: m.since_mark(),
    b"2": _push(lambda m: m.stack[-1]),
    b"q": lambda m: _put(m, m.unsigned(1)),
    b"r": lambda m: _put(m, m.unsigned(4)),
    b"p": lambda m: _put(m, _number(m.line(), int)),
    b"\x94": lambda m: _put(m, len(m.memo)),
    b"h": _push(lambda m: m.memo[m.unsigned(1)]),
    b"j": _push(lambda m: m.memo[m.unsigned(4)]),
    b"g": _push(lambda m: m.memo[_number(m.line(), int)]),
    b"c": lambda m: _named(m, _text(m.line()), _text(m.line())),
    b"\x93": _stack_global,
    b"R": _reduce,
    b"\x81": _reduce,
    b"\x92": _new_object,
    b"b": lambda m: m.stack.pop(),  # the state of an object that is not built
    b"Q": _push(lambda m: m.persistent(m.stack.pop())),
}
_HANDLERS = {code[0]: handler for code, handler in _OPERATIONS.items()}
