"""Files of torch.save read as data: values as pickle builds them, tensors, and programs that mean harm."""

from __future__ import annotations

import io
import math
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trajlab.sources.expansion import check_expansion
from trajlab.sources.torch_file import Opaque, load_torch


def save(path: Path, program: bytes, storages: dict[str, bytes] | None = None, compression: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("file/data.pkl", program)
        for key, data in (storages or {}).items():
            archive.writestr(f"file/data/{key}", data)
    return path


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(value=PLAIN, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_values_are_what_pickle_makes_of_them(
    value: Any, protocol: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = pickle.dumps(value, protocol)
    assert load_torch(save(tmp_path_factory.mktemp("torch") / "a.pt", program)) == value


def tensor(offset: int, size: tuple[int, ...], stride: tuple[int, ...], kind: str = "FloatStorage") -> bytes:
    """The program torch writes for a tensor in storage 0."""

    class Storage:
        pass

    class Written(pickle._Pickler):  # type: ignore[name-defined, misc]
        def persistent_id(self, value: object) -> object:
            return ("storage", Named("torch", kind), "0", "cpu", 99) if isinstance(value, Storage) else None

        def save(self, value: Any, *arguments: Any, **options: Any) -> None:
            if isinstance(value, Named):
                self.write(b"c" + value.module.encode() + b"\n" + value.name.encode() + b"\n")
            elif isinstance(value, Called):
                self.save(value.function)
                self.save(value.arguments)
                self.write(b"R")
            else:
                super().save(value, *arguments, **options)

    class Named:
        def __init__(self, module: str, name: str) -> None:
            self.module, self.name = module, name

    class Called:
        def __init__(self, function: Named, arguments: tuple[Any, ...]) -> None:
            self.function, self.arguments = function, arguments

    out = io.BytesIO()
    hooks = Called(Named("collections", "OrderedDict"), ())
    rebuilt = Called(Named("torch._utils", "_rebuild_tensor_v2"), (Storage(), offset, size, stride, False, hooks))
    Written(out, protocol=2).dump({"x": rebuilt})
    return out.getvalue()


NUMBERS = struct.pack("<6f", 0.0, 1.0, 2.0, 3.0, 4.0, 5.0)


def test_tensors_are_lists_of_their_numbers(tmp_path: Path) -> None:
    path = save(tmp_path / "a.pt", tensor(1, (2, 2), (2, 1)), {"0": NUMBERS})
    assert load_torch(path) == {"x": [[1.0, 2.0], [3.0, 4.0]]}
    path = save(tmp_path / "b.pt", tensor(0, (), (), "LongStorage"), {"0": struct.pack("<q", 7)})
    assert load_torch(path) == {"x": 7}
    path = save(tmp_path / "c.pt", tensor(0, (2,), (1,), "BFloat16Storage"), {"0": b"\0" * 4})
    assert load_torch(path) == {"x": Opaque("torch._utils._rebuild_tensor_v2")}


@pytest.mark.parametrize(
    "shape",
    [
        (0, (7,), (1,)), (4, (3,), (1,)), (0, (2, 9), (1, 0)), (-1, (1,), (1,)), (0, (2,), (-1,)),
        (0, (10**9,), (0,)), (0, (10**90,) * 33, (0,) * 33),
    ],
)  # fmt: skip
def test_tensors_beyond_their_storage_are_refused(shape: tuple[Any, ...], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"storage|dimensions"):
        load_torch(save(tmp_path / "a.pt", tensor(*shape), {"0": NUMBERS}))


class Harm:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_is_called(protocol: int, tmp_path: Path) -> None:
    made = tmp_path / "made"
    value = load_torch(save(tmp_path / "a.pt", pickle.dumps([Harm(made), 3], protocol)))
    assert value == [Opaque(f"{os.mkdir.__module__}.mkdir"), 3]
    assert not made.exists()


def bomb(levels: int) -> bytes:
    """A list that holds one list ten times, which holds one ten times, and so on; ten bytes a level."""
    level = [b"q%c](h%c" % (n, n) + b"2" * 9 + b"e" for n in range(levels)]
    return b"\x80\x02]" + b"".join(level) + b"."


@pytest.mark.parametrize(
    "program",
    [
        b"", b".", b"\x80\x02", b"]", b"(.", b"X\xff\xff\xff\xff.", b"\x8b\xff\xff\xff\x7f.", b"\x8d" + b"\xff" * 8,
        b"K", b"h\x05.", b"t.", b"]2a.",
        b"}]K\x01s.", b"\x80\x02\xff.", b"I" + b"9" * 9999 + b"\n.", b"]Nu.", b"](K\x01u.",
        b"]" * 200_000 + b"a" * 199_999 + b".", bomb(12),
        b"})" + b"2\x86" * 60 + b"Ns.", b"})" + b"\x85" * 500_000 + b"Ns.", b"]" + b"2\x86" * 60 + b"N\x93.",
    ],
)  # fmt: skip
def test_broken_programs_are_refused(program: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        load_torch(save(tmp_path / "a.pt", program))


def test_other_archives_are_refused(tmp_path: Path) -> None:
    program = pickle.dumps({"a": 1})
    with pytest.raises(ValueError, match="compressed"):
        load_torch(save(tmp_path / "a.pt", program, compression=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(tmp_path / "b.pt", "w") as archive:
        archive.writestr("other", b"x")
    with pytest.raises(ValueError, match=r"no `data\.pkl`"):
        load_torch(tmp_path / "b.pt")
    whole = save(tmp_path / "c.pt", program).read_bytes()
    for cut in range(0, len(whole), 7):
        (tmp_path / "d.pt").write_bytes(whole[:cut])
        with pytest.raises(ValueError):
            load_torch(tmp_path / "d.pt")


@given(value=st.recursive(st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_expansion_counts_every_value(value: Any) -> None:
    def count(inner: Any) -> int:
        parts = inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
        return 1 + sum(count(part) for part in parts)

    number = count(value)
    check_expansion(value, number)
    if number > 1:
        with pytest.raises(ValueError, match="expands"):
            check_expansion(value, number - 1)


def test_numbers_that_are_none_stay_so(tmp_path: Path) -> None:
    assert math.isnan(load_torch(save(tmp_path / "a.pt", pickle.dumps(math.nan, 2))))


def test_keys_are_text_as_in_json(tmp_path: Path) -> None:
    value = {1: "a", None: "b", b"c": "c", 2.5: {True: "d"}, "e": {os.getcwd: "f"}}
    found = load_torch(save(tmp_path / "a.pt", pickle.dumps(value, 4)))
    assert found == {"1": "a", "None": "b", "c": "c", "2.5": {"True": "d"}, "e": {"posix.getcwd": "f"}}


@pytest.mark.parametrize(
    ("program", "said"),
    [(b"Ix\n.", "is no number"), (b"L" + b"9" * 5000 + b"L\n.", "is no number"), (b"F1e\n.", "is no number"),
     (b"I5", "ends early"), (b"(I1\nd.", "without its value")],
)  # fmt: skip
def test_programs_with_broken_numbers_are_told_in_plain_words(program: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        load_torch(save(tmp_path / "a.pt", program))
