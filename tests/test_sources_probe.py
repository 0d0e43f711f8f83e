from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from trajlab.sources.discover import discover
from trajlab.sources.files import SourceFile
from trajlab.sources.probe import HEAD_BYTES, TAIL_BYTES, Probe

Make = Callable[[str, bytes], Probe]


@pytest.fixture
def probe(tmp_path: Path) -> Make:
    def make(name: str, data: bytes) -> Probe:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return Probe(SourceFile(str(tmp_path), name, str(path), len(data), 0))

    return make


@pytest.mark.parametrize(
    ("name", "data", "shape"),
    [
        ("a.json", b'\xef\xbb\xbf {"a": 1}', "object"),
        ("a.json", b'{\n  "a": 1\n}\n', "object"),
        ("a.json", b'{"a": 1}\n', "object"),
        ("a.json", b'{"a": 1}\n\n{"a": 2}\n', "lines"),
        ("a.json", b'{"a": NaN}\r\n{"a": 2', "lines"),
        ("a.json", b'{"a": {}\n{"a": 2}', "object"),
        ("a.jsonl", b'{"a": 1}', "lines"),
        ("a.JSONL", b"[1, 2]\n", "lines"),
        ("a.jsonl.gz", b'{"a": 1}', "lines"),
        ("a.ndjson", b"not json", "lines"),
        ("a.jsonl", b" \n", "empty"),
        ("a.json", b"", "empty"),
        ("a.json", b"  [\n {", "list"),
        ("a.json", b"[]", "list"),
        ("a.json", b"[1.5, 2]", "list"),
        ("a.json", b"[ NaN]", "list"),
        ("a.log", b"[INFO] started", "text"),
        ("a.log", b"[2025-01-01 10:00:00,123] started", "text"),
        ("a.log", b"step 1", "text"),
        ("a.eval", b"PK\x03\x04rest", "zip"),
        ("a.parquet", b"PAR1rest", "parquet"),
    ],
)
def test_shapes(probe, name, data, shape):
    assert probe(name, data).shape == shape


def test_a_first_line_longer_than_the_head(probe):
    long = json.dumps({"text": "x" * 2 * HEAD_BYTES}).encode()
    assert probe("a.json", long + b"\n" + long).shape == "lines"
    assert probe("b.json", long + b"\n").shape == "object"
    assert probe("c.json", b"[" + long + b"]").shape == "list"
    assert probe("d.json", b"[" + b" " * 2 * HEAD_BYTES + b"]").shape == "list"


def test_names_head_and_tail(probe):
    data = bytes(range(256)) * 1024
    one = probe("run/trial_3/agent.log", data)
    assert (one.name, one.parent_name, one.relpath) == ("agent.log", "trial_3", "run/trial_3/agent.log")
    assert one.head == data[:HEAD_BYTES]
    assert one.tail == data[-TAIL_BYTES:]
    assert one.siblings == {"agent.log"}
    two = probe("run/trial_3/result.json", b"{}")
    assert two.siblings == {"agent.log", "result.json"}
    assert two.head == two.tail == b"{}"
    assert probe("root.json", b"{}").parent_name


def test_keys_come_from_the_whole_document(probe):
    late = json.dumps({"messages": ["x" * 5 * HEAD_BYTES], "info": {"inner": 1}, "format": "m"}, indent=1).encode()
    assert probe("a.json", late).keys == {"messages", "info", "format"}
    assert probe("a.json", b'{"a": NaN, "\\ud800": np.float64(1)}').keys == {"a", "\ufffd"}
    assert probe("a.json", b'{"a": 1, "b": [{"c": "x').keys == {"a", "b"}
    assert probe("a.json", b'[{"a": 1}]').keys == frozenset()
    assert probe("a.jsonl", b'broken\n{"a": 1, "b": 2}\n{"c": 1}').keys == {"a", "b"}


def test_objects_that_follow_each_other(probe):
    spans = "\n".join(json.dumps({"span": number, "name": "x"}, indent=4) for number in range(7))
    found = probe("spans.json", spans.encode())
    assert found.shape == "object"
    assert found.keys == {"span", "name"}
    assert [record["span"] for record in found.records] == list(range(5))
    assert found.problems == []


def test_records(probe):
    rows = [{"n": number} for number in range(8)]
    text = "\n".join(json.dumps(row) for row in rows).encode()
    assert probe("a.jsonl", text).records == tuple(rows[:5])
    assert probe("a.json", json.dumps(rows).encode()).records == tuple(rows[:5])
    assert probe("a.json", b'{"a": 1}').records == ({"a": 1},)
    assert probe("a.log", b"text").records == ()
    broken = probe("a.jsonl", b'{"n": 0}\nbroken\n{"n": NaN2}\n{"n": 1}')
    assert broken.records == ({"n": 0}, {"n": 1})
    assert [problem.code for problem in broken.problems] == ["not_json", "not_json"]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_compressed_content(probe, pack):
    rows = b'{"n": 1}\n' * 20_000
    packed = probe("rows.json", pack(rows))
    assert packed.compression in ("gzip", "zstd")
    assert (packed.head, packed.tail, packed.shape) == (rows[:HEAD_BYTES], b"", "lines")
    assert packed.records == ({"n": 1},) * 5
    assert probe("cut.json", pack(rows)[:10]).shape == "empty"


def test_parquet(probe, tmp_path):
    pq.write_table(pa.table({"prompt": ["a"] * 7, "reward": [0.5] * 7}), tmp_path / "a.parquet")
    found = probe("a.parquet", (tmp_path / "a.parquet").read_bytes())
    assert (found.shape, found.columns) == ("parquet", ("prompt", "reward"))
    assert found.records == ({"prompt": "a", "reward": 0.5},) * 5
    damaged = probe("b.parquet", b"PAR1 damaged")
    assert (damaged.shape, damaged.columns, damaged.records) == ("parquet", (), ())
    assert {problem.code for problem in damaged.problems} == {"unreadable"}


def test_a_file_that_went_away(tmp_path):
    gone = Probe(SourceFile(str(tmp_path), "gone.json", str(tmp_path / "gone.json"), 5, 0))
    assert gone.shape == "unreadable"
    assert isinstance(gone.error, FileNotFoundError)
    assert (gone.keys, gone.records, gone.columns, gone.head) == (frozenset(), (), (), b"")


def test_five_thousand_small_files(tmp_path):
    """The bars are 0.2 s and 0.5 s on two idle cores; processor time leaves room for a busy machine."""
    text = json.dumps({"messages": [{"role": "user", "content": "x" * 100}] * 20}, indent=1)
    for folder in range(50):
        (tmp_path / f"run{folder}").mkdir()
        for number in range(100):
            (tmp_path / f"run{folder}" / f"{number}.traj.json").write_text(text)
    files = discover([tmp_path]).files
    shapes = {(probe.shape, len(probe.tail), probe.compression) for probe in map(Probe, files)}
    assert len(files) == 5000
    assert shapes == {("object", min(len(text), TAIL_BYTES), None)}
