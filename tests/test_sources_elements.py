from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.records import Problem
from trajlab.sources.files import Bundle, SourceFile
from trajlab.sources.object_keys import object_keys
from trajlab.sources.reading import concatenated, elements
from trajlab.sources.structure import Scan, escaped_quotes, structure

TRICKY = st.text(alphabet='\\"{}[],:\n ab\u2028é', max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TRICKY,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TRICKY, inner, max_size=4),
    max_leaves=12,
)
LAYOUTS = st.sampled_from(
    [{}, {"indent": 2}, {"indent": 0}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"indent": "\t"}]
)


def bundle_of(path: Path) -> Bundle:
    status = path.stat()
    return Bundle("", "", (SourceFile(str(path.parent), path.name, str(path), status.st_size, status.st_mtime_ns),))


def read(folder: Path, data: bytes, **options: int) -> tuple[list[bytes], list[Problem]]:
    path = folder / "document.json"
    path.write_bytes(data)
    problems: list[Problem] = []
    found = list(elements(bundle_of(path), problems, **options))
    assert [line.data for line in found] == [data[line.offset : line.offset + len(line.data)] for line in found]
    assert [line.number for line in found] == sorted({line.number for line in found})
    return [line.data for line in found], problems


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elements")


@settings(max_examples=120, deadline=None)
@given(st.lists(VALUES, max_size=6), LAYOUTS, st.integers(1, 40))
def test_elements_equal_json(folder, value, layout, chunk_bytes):
    found, problems = read(folder, json.dumps(value, **layout).encode(), chunk_bytes=chunk_bytes)
    assert [json.loads(data) for data in found] == value
    assert problems == []


@settings(max_examples=100, deadline=None)
@given(st.lists(VALUES, max_size=6), LAYOUTS, st.integers(1, 40), st.data())
def test_a_cut_document_gives_its_whole_elements(folder, value, layout, chunk_bytes, data):
    document = json.dumps(value, **layout).encode()
    cut = data.draw(st.integers(1, len(document) - 1))
    found, problems = read(folder, document[:cut], chunk_bytes=chunk_bytes)
    if not problems or problems[-1].code != "truncated":
        pytest.fail(f"{problems} for {document[:cut]!r}")
    if len(problems) == 1:  # no attempt to go on inside the cut element
        assert [json.loads(element) for element in found] == value[: len(found)]
        whole = json.JSONDecoder()
        rest = document[problems[0].offset : cut].decode(errors="ignore").lstrip(" \n\t,")
        if rest[:1] in ("{", "["):
            with pytest.raises(json.JSONDecodeError):
                whole.raw_decode(rest)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='\\\\\\"a', max_size=200), st.integers(1, 50))
def test_escapes_across_windows_equal_the_slow_way(text, window):
    data = text.encode()
    expected = []
    run = 0
    for byte in data:
        if byte == ord('"'):
            expected.append(run % 2 == 1)
        run = run + 1 if byte == ord("\\") else 0
    found: list[bool] = []
    scan = Scan()
    for start in range(0, len(data), window):
        piece = np.frombuffer(data[start : start + window], dtype=np.uint8)
        found += escaped_quotes(np.flatnonzero(piece == ord('"')), piece, scan.odd_backslashes).tolist()
        structure(data[start : start + window], scan)
    assert found == expected


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=60) | st.text(alphabet='[]{},"\\1a\n ', max_size=60).map(str.encode),
    st.integers(1, 20),
)
def test_no_bytes_crash_and_chunks_do_not_matter(folder, data, chunk_bytes):
    assert read(folder, data, chunk_bytes=chunk_bytes) == read(folder, data)


@pytest.mark.parametrize(
    ("document", "expected", "codes"),
    [
        (b"\xef\xbb\xbf [1, 2]\n", [b"1", b"2"], []),
        (b"[]", [], []),
        (b" [ ] ", [], []),
        (b'[NaN, {"a": Infinity}]', [b"NaN", b'{"a": Infinity}'], []),
        (b'[{"a":1} garbage, {"b":2}]', [b'{"a":1}', b'{"b":2}'], ["not_json"]),
        (b'[{"a":1}, garbage, {"b":2}]', [b'{"a":1}', b'{"b":2}'], ["not_json"]),
        (b'[{"a":1}{"b":2}]', [b'{"a":1}', b'{"b":2}'], []),
        (b"[1,,2]", [b"1", b"2"], ["not_json"]),
        (b"[1,]", [b"1"], ["not_json"]),
        (b'[{"a":1}}, {"b":2}]', [b'{"a":1}', b'{"b":2}'], ["not_json"]),
        (b"[1][2]", [b"1", b"2"], ["not_json"]),
        (b"[1] nonsense", [b"1"], ["not_json"]),
        (b'{"a": [1]}', [], ["not_json"]),
        (b"", [], ["not_json"]),
        (b"[", [], ["truncated"]),
        (b"[1, 2", [b"1"], ["truncated"]),
        (b'[{"a": 1}, {"b": "x', [b'{"a": 1}'], ["truncated"]),
    ],
)
@pytest.mark.parametrize("chunk_bytes", [1, 3, 1 << 20])
def test_damage_is_named_and_neighbours_stay(tmp_path, document, expected, codes, chunk_bytes):
    found, problems = read(tmp_path, document, chunk_bytes=chunk_bytes)
    assert found == expected
    assert [problem.code for problem in problems] == codes


def test_countless_problems_are_counted(tmp_path):
    found, problems = read(tmp_path, b"[" + b"," * 3000 + b"1]")
    assert found == [b"1"]
    assert len(problems) == 1001
    assert "2000 more" in problems[-1].message


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(TRICKY, VALUES, max_size=3), max_size=4), LAYOUTS, st.integers(1, 40))
def test_concatenated_objects(folder, objects, layout, chunk_bytes):
    path = folder / "spans.json"
    path.write_text("\n".join(json.dumps(one, **layout) for one in objects), encoding="utf-8")
    problems: list[Problem] = []
    found = list(concatenated(bundle_of(path), problems, chunk_bytes))
    assert [json.loads(line.data) for line in found] == objects
    assert problems == []


def test_concatenated_objects_among_other_text(tmp_path):
    path = tmp_path / "console.log"
    path.write_text('starting\n{"a": 1}\nnoise\n{"a":\n2}\n{"a": ', encoding="utf-8")
    problems: list[Problem] = []
    assert [line.data for line in concatenated(bundle_of(path), problems)] == [b'{"a": 1}', b'{"a":\n2}']
    assert [problem.code for problem in problems] == ["not_json", "not_json", "truncated"]


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(TRICKY, VALUES, max_size=5), LAYOUTS, st.data())
def test_keys_of_whole_and_cut_objects(folder, value, layout, data):
    path = folder / "object.json"
    text = json.dumps(value, **layout).encode()
    path.write_bytes(text)
    assert list(object_keys(bundle_of(path).file, [])) == list(value)
    path.write_bytes(text[: data.draw(st.integers(0, len(text)))])
    keys = list(object_keys(bundle_of(path).file, []))
    assert keys == list(value)[: len(keys)]


def test_goes_on_after_an_element_that_does_not_close(tmp_path):
    items = [{"id": number, "inner": [{"x": 1}]} for number in range(4)]
    document = json.dumps(items, indent=2).replace('"id": 1', '"id": "open')
    found, problems = read(tmp_path, document.encode())
    assert [json.loads(data)["id"] for data in found] == [0, 2, 3]
    assert [problem.code for problem in problems] == ["not_json"]


@pytest.mark.parametrize("chunk_bytes", [1, 50, 1 << 20])
@pytest.mark.parametrize("padding", [0, 40_000])
@pytest.mark.parametrize("layout", [{"indent": 2}, {"indent": 1}, "lines"])
def test_one_missing_bracket_costs_one_element(tmp_path, chunk_bytes, padding, layout):
    items = [{"id": number, "inner": {"x": {"y": number}}, "text": "{" * padding} for number in range(20)]
    chunk_bytes += padding  # else thousands of numpy calls
    if layout == "lines":
        document = "[\n" + ",\n".join(map(json.dumps, items)) + "\n]\n"
        document = document.replace('{"y": 7}', '{"y": 7')
    else:
        document = json.dumps(items, **layout)
        at = document.index("}", document.index('"y": 7'))
        document = document[:at] + document[at + 1 :]
    found, problems = read(tmp_path, document.encode(), chunk_bytes=chunk_bytes)
    assert [json.loads(data)["id"] for data in found] == [number for number in range(20) if number != 7]
    assert [problem.code for problem in problems] == ["not_json"]


@pytest.mark.parametrize("chunk_bytes", [1, 64, 1 << 20])
@pytest.mark.parametrize("limit", [400, 1 << 20])
def test_goes_on_after_many_that_do_not_close(tmp_path, chunk_bytes, limit):
    items = [{"id": number, "inner": [{"x": [number]}]} for number in range(60)]
    document = json.dumps(items, indent=2)
    broken = set(range(3, 59, 7))
    for number in broken:
        document = document.replace(f"        {number}\n        ]", f"        {number}\n")
    found, problems = read(tmp_path, document.encode(), chunk_bytes=chunk_bytes, max_record_bytes=limit)
    assert [json.loads(data)["id"] for data in found] == [number for number in range(60) if number not in broken]
    assert [problem.code for problem in problems] == ["not_json"] * len(broken)


def test_indentation_is_no_mark_where_inner_values_share_it(tmp_path):
    items = [{"id": number, "inner": [{"x": 1}, {"x": 2}]} for number in range(3)]
    document = json.dumps(items, indent=0)
    found, problems = read(tmp_path, document[:-12].encode())
    assert [json.loads(data)["id"] for data in found] == [0, 1]
    assert [problem.code for problem in problems] == ["truncated"]


@pytest.mark.parametrize("chunk_bytes", [1, 7, 1 << 20])
def test_an_element_over_the_limit_is_skipped(tmp_path, chunk_bytes):
    document = json.dumps([{"a": 1}, {"a": "x" * 500}, "y" * 500, {"a": 2}]).encode()
    found, problems = read(tmp_path, document, chunk_bytes=chunk_bytes, max_record_bytes=100)
    assert found == [b'{"a": 1}', b'{"a": 2}']
    assert [problem.code for problem in problems] == ["record_too_large"] * 2


def test_memory_stays_at_a_chunk_and_an_element(tmp_path):
    """Growth of the peak resident size must stay below a tenth of the document's size."""
    pytest.importorskip("resource")
    path = tmp_path / "huge.json"
    element = json.dumps({"messages": [{"role": "assistant", "content": 'say "hello" \\ ' * 500}] * 10})
    count = 150_000_000 // len(element)
    with path.open("w") as file:
        file.write("[" + element)
        for _ in range(count - 1):
            file.write(",\n" + element)
        file.write("]")
    script = (
        "import sys\n"
        "from peak_memory import peak_memory\n"
        "from trajlab.sources.files import Bundle, SourceFile\n"
        "from trajlab.sources.reading import elements\n"
        "bundle = Bundle('', '', (SourceFile('', '', sys.argv[1], 0, 0),))\n"
        "problems = []\n"
        "before = peak_memory()\n"
        "count = sum(1 for _ in elements(bundle, problems))\n"
        "print(count, len(problems), peak_memory() - before)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True, text=True, check=True, cwd=Path(__file__).resolve().parents[1],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent)},
    )  # fmt: skip
    found, problems, growth = map(int, run.stdout.split())
    assert (found, problems) == (count, 0)
    assert growth < path.stat().st_size / 10
