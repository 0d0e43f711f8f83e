from __future__ import annotations

import gzip
import io
import lzma
import random
import tracemalloc
from datetime import datetime, timedelta
from itertools import accumulate, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from corpora_in_tests import SAMPLES, sample_files
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.records import Problem
from trajlab.sources import parquet_rows as parquet_rows_module
from trajlab.sources.files import Bundle, SourceFile
from trajlab.sources.reading import _split_lines, cut, document, elements, line_views, lines, parquet_rows
from trajlab.sources.streams import chunks

PACK = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "zstd": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),  # as the zstd tool does
    "xz": lzma.compress,
}
LINE_COUNT = 20_000
PACKED = [name for name in PACK if name != "plain"]


def bundle_of(path: Path, start: int = 0, end: int | None = None) -> Bundle:
    size = path.stat().st_size if path.exists() else 0
    return Bundle("", "", (SourceFile(str(path.parent), path.name, str(path), size, 0),), start, end)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reading") / "rows"


def slow_lines(data: bytes) -> list[tuple[bytes, int, int, bool]]:
    found, offset = [], 0
    pieces = data.split(b"\n")
    for number, piece in enumerate(pieces, 1):
        text = piece.removeprefix(b"\xef\xbb\xbf") if offset == 0 else piece
        finished = number < len(pieces)
        if text.strip():
            found.append((text + b"\n" * finished, offset, number, finished))
        offset += len(piece) + 1
    return found


LINES = st.lists(
    st.sampled_from([b"{}", b" ", b"", b'{"a": "\xc2\x85\xe2\x80\xa8"}\r', b"x" * 50, b"\xef\xbb\xbfx"]),
    max_size=12,
).map(b"\n".join)


@settings(max_examples=80, deadline=None)
@given(LINES, st.sampled_from(list(PACK)))
def test_lines_equal_a_split(path, data, packing):
    path.write_bytes(PACK[packing](data))
    problems: list[Problem] = []
    found = [(line.data, line.offset, line.number, line.finished) for line in lines(bundle_of(path), problems)]
    assert found == slow_lines(data)
    assert problems == []


@given(data=LINES, packing=st.sampled_from(list(PACK)), window=st.integers(1, 70), start=st.integers(0, 9))
def test_views_equal_lines(path, data, packing, window, start):
    path.write_bytes(PACK[packing](data))
    place = data.find(b"\n", start) + 1
    for bundle in (bundle_of(path), bundle_of(path, place), bundle_of(path, 0, place)):
        problems: list[Problem] = []
        seen = [(bytes(v.data), v.offset, v.number, v.finished) for v in line_views(bundle, problems, window)]
        assert seen == [(line.data, line.offset, line.number, line.finished) for line in lines(bundle, problems)]
        assert problems == []


@settings(max_examples=80, deadline=None)
@given(LINES, st.integers(1, 60), st.integers(0, 400), st.sampled_from(list(PACK)))
def test_slices_add_up_and_stay_when_the_file_grows(path, data, target, known, packing):
    known = min(known, len(data))
    path.write_bytes(data[:known])
    before = cut(bundle_of(path).file, target)
    path.write_bytes(data)
    ranges = cut(bundle_of(path).file, target)
    assert before[:-1] == ranges[: max(len(before) - 1, 0)]
    assert [0, *(end for _, end in ranges)] == [*(start for start, _ in ranges), len(data)] or not data
    assert all(data[start - 1 : start] == b"\n" for start, _ in ranges[1:])
    path.write_bytes(PACK[packing](data))
    problems: list[Problem] = []
    parts = [(line.data, line.offset) for start, end in ranges for line in lines(bundle_of(path, start, end), problems)]
    assert parts == [(text, offset) for text, offset, _, _ in slow_lines(data)]
    assert problems == []


def test_cuts_are_near_the_target(path):
    path.write_bytes(b"".join(b"%d\n" % number for number in range(5000)))
    ranges = cut(bundle_of(path).file, 1000)
    assert all(995 <= end - start <= 1005 for start, end in ranges[:-1])
    assert all(first[1] == second[0] for first, second in pairwise(ranges))


@pytest.mark.parametrize("packing", list(PACK))
@pytest.mark.parametrize("ending", [b"\n", b""])
def test_a_line_over_the_limit_is_skipped(path, packing, ending):
    exact, long = b"e" * 100, b"l" * 101
    path.write_bytes(PACK[packing](b"\n".join([b"a", exact, long, b"b", long]) + ending))
    problems: list[Problem] = []
    found = [(line.data, line.number) for line in lines(bundle_of(path), problems, max_record_bytes=100)]
    assert found == [(b"a\n", 1), (exact + b"\n", 2), (b"b\n", 4)]
    assert [(problem.code, problem.line, problem.offset) for problem in problems] == [
        ("record_too_large", 3, 103),
        ("record_too_large", 5, 207),
    ]


@pytest.mark.parametrize("packing", PACKED)
def test_members_padding_and_elements(path, packing):
    pack = PACK[packing]
    path.write_bytes(pack(b"[1, ") + pack(b"") + pack(b'{"a": 2}]') + b"\0" * 8)
    problems: list[Problem] = []
    assert document(bundle_of(path), problems) == b'[1, {"a": 2}]'
    assert [line.data for line in elements(bundle_of(path), problems)] == [b"1", b'{"a": 2}']
    assert problems == []


def test_skippable_zstd_frames(path):
    skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    frame = PACK["zstd"](b"text")
    for data in (skippable + frame, frame + skippable, frame + skippable + frame):
        path.write_bytes(data)
        problems: list[Problem] = []
        assert document(bundle_of(path), problems) == b"text" * data.count(frame)
        assert problems == []


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("damage", ["cut", "flipped", "garbage"])
def test_a_damaged_archive_gives_what_can_be_read(path, packing, damage):
    rng = random.Random(1)
    data = b"\n".join(b"%030x" % rng.getrandbits(120) for _ in range(LINE_COUNT))
    packed = PACK[packing](data)
    if damage == "cut":
        packed = packed[: len(packed) // 2]
    elif damage == "flipped":
        middle = len(packed) * 3 // 4
        packed = packed[:middle] + bytes(255 - byte for byte in packed[middle : middle + 500]) + packed[middle + 500 :]
    else:
        packed += b"garbage"
    path.write_bytes(packed)
    problems: list[Problem] = []
    found = list(lines(bundle_of(path), problems))
    assert [problem.code for problem in problems] == ["truncated_archive"]
    assert len(found) > (LINE_COUNT - 1 if damage == "garbage" else 2_000)
    assert b"".join(line.data for line in found[:2_000]) == data[: 31 * 2_000]


@pytest.mark.parametrize("packing", PACKED)
def test_an_archive_of_nothing_but_its_first_bytes(path, packing):
    path.write_bytes(PACK[packing](b"text")[:6])
    problems: list[Problem] = []
    assert document(bundle_of(path), problems) == b""
    assert [problem.code for problem in problems] == ["truncated_archive"]


@pytest.mark.parametrize("packing", PACKED)
def test_a_bomb_stops(packing):
    member = PACK[packing](b"\0" * (32 << 20))
    problems: list[Problem] = []
    given = sum(len(piece) for piece in chunks(io.BytesIO(member * 40), packing, problems, 1 << 20))
    assert [problem.code for problem in problems] == ["expansion_limit"]
    assert given <= 400 << 20


def test_missing_files_are_problems(tmp_path):
    for reader in (lines, elements, parquet_rows):
        problems: list[Problem] = []
        assert list(reader(bundle_of(tmp_path / "missing"), problems)) == []
        assert [problem.code for problem in problems] == ["unreadable"]
    problems = []
    assert document(bundle_of(tmp_path / "missing").file, problems) == b""
    assert [problem.code for problem in problems] == ["unreadable"]


def test_parquet_rows_without_arrow_padding(tmp_path):
    rows = [
        {
            "id": number,
            "reward": None,
            "messages": [{"role": "user"}, {"role": "tool", "call": {"x": None, "y": 1}}],
        }
        for number in range(150)
    ]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    problems: list[Problem] = []
    found = list(parquet_rows(bundle_of(path), problems))
    assert problems == []
    assert [row["id"] for row in found] == list(range(150))
    assert found[7] == {
        "id": 7,
        "reward": None,
        "messages": [{"role": "user"}, {"role": "tool", "call": {"y": 1}}],
    }


@pytest.mark.parametrize("name", [name for name in sample_files() if name.endswith(".parquet")])
def test_parquet_rows_by_way_of_dictionaries_are_the_same(monkeypatch, name):
    plain = list(parquet_rows(bundle_of(SAMPLES / name), []))
    monkeypatch.setattr(parquet_rows_module, "AT_ONCE_BYTES", 0)
    problems = []
    assert list(parquet_rows(bundle_of(SAMPLES / name), problems)) == plain and not problems


def test_parquet_of_every_nesting_by_way_of_dictionaries(monkeypatch, tmp_path):
    pairs = [[("k", "v"), ("l", None)], [], None]
    table = pa.table(
        {
            "map": pa.array(pairs * 2, pa.map_(pa.string(), pa.string())),
            "lists": pa.array([[[{"a": ["x", "y"], "b": "c"}]], None, []] * 2),
            "large": pa.array([["a"], [], None] * 2, pa.large_list(pa.large_string())),
            "fixed": pa.array([["a", "b"], None, ["c", None]] * 2, pa.list_(pa.string(), 2)),
            "bytes": pa.array([b"\xff", None, b"b"] * 2),
            "when": pa.array([2**60 + 1, None, 0] * 2, pa.timestamp("ns")),
            "spans": pa.array([[1, 2], None, []] * 2, pa.list_(pa.duration("ns"))),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    plain = list(parquet_rows(bundle_of(tmp_path / "rows.parquet"), []))
    monkeypatch.setattr(parquet_rows_module, "AT_ONCE_BYTES", 0)
    problems = []
    assert list(parquet_rows(bundle_of(tmp_path / "rows.parquet"), problems)) == plain and not problems
    assert plain[3]["map"] == pairs[0]
    assert type(plain[0]["when"]) is datetime and type(plain[0]["spans"][1]) is timedelta


def test_parquet_that_expands_without_measure_is_not_read_to_its_end(tmp_path):
    text = pa.array(["a" * (8 << 20)])
    indices = pa.array([0] * 500, pa.int32())
    said = pa.DictionaryArray.from_arrays(indices, text)
    table = pa.table({"a": said, "b": pa.StructArray.from_arrays([said], ["c"]), "d": [1] * 500})
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, compression="zstd")
    problems = []
    tracemalloc.start()
    rows = sum(len(row["a"]) == 8 << 20 for row in parquet_rows(bundle_of(path), problems))
    assert 8 < rows < 17 and [problem.code for problem in problems] == ["expansion_limit"]
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()
    assert path.stat().st_size < 20_000


def test_a_parquet_row_that_is_no_text_keeps_its_place(tmp_path):
    texts = pa.array([b"good", b"bad \xff", b"fine"], pa.binary()).view(pa.string())
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": texts}), path)
    problems: list[Problem] = []
    assert list(parquet_rows(bundle_of(path), problems)) == [{"text": "good"}, {}, {"text": "fine"}]
    assert [(problem.code, problem.line) for problem in problems] == [("invalid_value", 2)]


@pytest.mark.parametrize("keep", [0, 4, 100, -20])
def test_damaged_parquet_is_a_problem(tmp_path, keep):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": list(range(1000))}), path)
    path.write_bytes(path.read_bytes()[:keep])
    problems: list[Problem] = []
    assert list(parquet_rows(bundle_of(path), problems)) == []
    assert [problem.code for problem in problems] == ["unreadable"]


@given(st.lists(st.sampled_from([b"a", b"", b" ", b"\t\r", b"\r", b"bb c"]), max_size=30), st.integers(1, 7))
def test_blank_lines_of_an_archive_are_counted_as_those_of_a_plain_file(rows: list[bytes], size: int) -> None:
    text = b"\n".join(rows)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    found = list(_split_lines(iter(pieces), Bundle("", "", ()), [], 100))
    starts = [0, *accumulate(len(row) + 1 for row in rows)]
    last = len(rows) - 1
    expected = [(row + b"\n" * (n < last), starts[n], n + 1, n < last) for n, row in enumerate(rows) if row.strip()]
    assert [(line.data, line.offset, line.number, line.finished) for line in found] == expected
    kept = _split_lines(iter(pieces), Bundle("", "", ()), [], 100, blank=True)
    assert b"".join(line.data for line in kept) == text
