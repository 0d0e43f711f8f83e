from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.sources.safe_json import added, clean_text, is_non_finite, loads, to_bool, to_float, to_int

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@settings(deadline=None)
@given(VALUES, st.booleans())
def test_strict_json_is_read_as_json_reads_it(value, ascii_only):
    loaded = loads(json.dumps(value, ensure_ascii=ascii_only).encode())
    assert loaded.value == value
    assert loaded.fixes == ()


@pytest.mark.parametrize(
    ("data", "value", "fixes"),
    [
        (b"\xef\xbb\xbf[1]", [1], ()),
        (b'{"a": 1, "a": 2}', {"a": 2}, ()),
        (b"[NaN, 1", None, None),
        (b'[Infinity, -Infinity, "NaN"]', [math.inf, -math.inf, "NaN"], ("non_finite",)),
        (b"[1e999]", [math.inf], ("non_finite",)),
        (b'"a\xffb"', "a\ufffdb", ("invalid_utf8",)),
        (b'"\\ud800"', "\ufffd", ("lone_surrogate",)),
        (b'"\\ude00 \\ud83d\\ude00 \\uD83D"', "\ufffd 😀 \ufffd", ("lone_surrogate",)),
        (b'"\\\\ud800\\ud800"', "\\ud800\ufffd", ("lone_surrogate",)),
        (b'["\\\\ud800", NaN]', None, ("non_finite",)),
        (b'"a\x00b\nc"', "a\x00b\nc", ("control_characters",)),
        (b'{"a": 1}\x00\x00', {"a": 1}, ("control_characters",)),
        (b'[np.float64(0.5), "np.float64(0.5)"]', [0.5, "np.float64(0.5)"], ("python_literal",)),
        (b'[True, False, None, "True"]', [True, False, None, "True"], ("python_literal",)),
        (b"[np.True_, numpy.int64( -3 ), np.bool_(False)]", [True, -3, False], ("python_literal",)),
        (b"[-inf, np.float32(inf)]", [-math.inf, math.inf], ("non_finite", "python_literal")),
        (b'["line\nbreak", None]', ["line\nbreak", None], ("control_characters", "python_literal")),
        (b"123456789012345678901234567890", 123456789012345678901234567890, ()),
    ],
)  # fmt: skip
def test_repairs_are_named(data, value, fixes):
    if fixes is None:
        with pytest.raises(ValueError, match="malformed"):
            loads(data)
        return
    loaded = loads(data)
    assert loaded.fixes == fixes
    if value is not None:
        assert loaded.value == value


def test_nan_stays_nan():
    loaded = loads(b'{"reward": NaN}')
    assert math.isnan(loaded.value["reward"])
    assert loaded.fixes == ("non_finite",)


def test_an_integer_beyond_any_float():
    loaded = loads(b"[" + b"9" * 5000 + b"]")
    assert loaded.value == [math.inf]
    assert loaded.fixes == ("non_finite",)


@pytest.mark.parametrize(
    "data", [b"", b" ", b"{", b"[1,]", b'{"a":1}{"b":2}', b"nonsense", b"'a'", b'"open', b"[" * 200_000,
             b'{"a":' * 50_000, b"np.float64(", b"\xff", b'"\\', b"[Nones]", b"[TrueFalse]"],
)  # fmt: skip
def test_what_cannot_be_repaired_says_so(data):
    with pytest.raises(ValueError, match=r"JSON is (malformed|nested)"):
        loads(data)


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet='{}[]":,\\ud8001nNaTrueFls()._p\x00\n', max_size=40).map(lambda text: text.encode()) | st.binary()
)
def test_never_another_error_and_always_writable(data):
    try:
        loaded = loads(data)
    except ValueError:
        return
    json.dumps(loaded.value, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "unit", [b"np.float64(", b"np.float64 (", b"\\", b'"', b'\\"', b"True", b"np.float64(1", b"\x00",
             b"\\ud800", b'"\\', b"-", b"1", b" "]
)  # fmt: skip
def test_time_is_linear(unit):
    def seconds(size: int) -> float:
        data = b'["' + b"\xff" + b'", ' + unit * (size // len(unit))
        best = math.inf
        for _ in range(2):
            start = time.process_time()
            with pytest.raises(ValueError):
                loads(data)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(400_000) < 24 * seconds(50_000) + 0.2  # eight times the size; a quadratic step would be sixty-four


@settings(deadline=None)
@given(st.text(alphabet=st.characters(codec=None), max_size=20))
def test_cleaned_text_can_be_written(text):
    cleaned = clean_text(text)
    cleaned.encode()
    assert len(cleaned) == len(text)
    assert all(a == b or (b == "\ufffd" and "\ud800" <= a <= "\udfff") for a, b in zip(text, cleaned, strict=True))


@pytest.mark.parametrize(
    ("value", "as_float", "as_int", "as_bool"),
    [
        (3, 3.0, 3, None),
        (1, 1.0, 1, True),
        (0.0, 0.0, 0, False),
        (2.5, 2.5, None, None),
        (True, 1.0, None, True),
        ("3", 3.0, 3, None),
        (" -3.0 ", -3.0, -3, None),
        ("1e3", 1000.0, 1000, None),
        ("True", 1.0, None, True),
        ("false", 0.0, None, False),
        ("np.True_", 1.0, None, True),
        ("np.float64(0.5)", 0.5, None, None),
        ("np.int64(7)", 7.0, 7, None),
        ("np.bool_(False)", 0.0, None, False),
        ("1_000", None, None, None),
        ("nan", None, None, None),
        ("1e999", None, None, None),
        (math.nan, None, None, None),
        (-math.inf, None, None, None),
        (10**400, None, 10**400, None),
        (str(2**63), float(2**63), 2**63, None),
        ("9" * 5000, None, None, None),
        ([1], None, None, None),
        (None, None, None, None),
        ("", None, None, None),
        ("٣", None, None, None),
    ],
)
def test_foreign_values(value, as_float, as_int, as_bool):
    assert to_float(value) == as_float
    assert to_int(value) == as_int
    assert to_bool(value) is as_bool


def test_non_finite_can_be_told_from_missing():
    assert [is_non_finite(value) for value in (math.nan, "NaN", "-inf", "np.float64(nan)")] == [True] * 4
    assert [is_non_finite(value) for value in (None, 1.0, "x", "")] == [False] * 4


def test_sums_that_no_float_holds_are_none():
    assert added([0.1] * 10) == 1.0 and added([]) is None and added([1e308, 1e308, 1e308]) is None
