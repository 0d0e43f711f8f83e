"""Column chunks of Parquet files as our own reading of the footer tells them, sound and damaged."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpora_in_tests import SAMPLES

from trajlab.records import Problem
from trajlab.sources.files import Bundle, SourceFile
from trajlab.sources.parquet_footer import ColumnChunk, column_chunks
from trajlab.sources.parquet_rows import parquet_rows
from trajlab.sources.probe import Probe


def file_of(path: Path) -> SourceFile:
    return SourceFile(str(path.parent), path.name, str(path), path.stat().st_size, 0)


def told_by_arrow(path: Path) -> list[ColumnChunk]:
    metadata = pq.ParquetFile(path).metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    return [
        ColumnChunk(
            chunk.path_in_schema, chunk.physical_type == "BYTE_ARRAY", chunk.has_dictionary_page, chunk.num_values,
            chunk.total_uncompressed_size,
        )
        for chunk in chunks
    ]  # fmt: skip


def test_chunks_are_those_that_arrow_tells(tmp_path: Path) -> None:
    table = pa.table({"text": ["a", "b", None] * 9, "lists": [[{"x": 1.5}], [], None] * 9, "all": [True] * 27})
    pq.write_table(table, tmp_path / "own.parquet", row_group_size=5, metadata_collector=[])
    pq.write_table(table.slice(0, 0), tmp_path / "empty.parquet")
    paths = [*sorted(SAMPLES.rglob("*.parquet")), *sorted(tmp_path.iterdir())]
    assert len(paths) > 5
    for path in paths:
        assert column_chunks(str(path)) == told_by_arrow(path)


def test_a_footer_that_contradicts_itself_is_a_problem_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [[1, 2], None]}), path, store_schema=False)
    whole = path.read_bytes()
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    read = 0
    for place in range(start, len(whole) - 8):
        path.write_bytes(whole[:place] + b"\x26" + whole[place + 1 :])
        problems: list[Problem] = []
        rows = list(parquet_rows(Bundle("", "", (file_of(path),)), problems))
        read += len(rows) == 2
        assert rows or problems
    assert 0 < read < len(whole) - 8 - start


def test_names_of_columns_that_are_no_text_are_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"odd_name": [1]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"odd_name", b"odd\xffname"))
    probe = Probe(file_of(path))
    assert probe.columns == ()
    assert [problem.code for problem in probe.problems] == ["unreadable"]


@pytest.mark.parametrize(
    ("footer", "said"),
    [(b"", "damaged"), (b"\x00", "damaged"), (b"\x19\xfc\xff\xff\xff\x0f", "cut"), (b"\x1e", "kind 14"),
     (b"\x1c" * 99, "nested"), (b"\x16" + b"\xff" * 11, "ten bytes")],
)  # fmt: skip
def test_what_is_no_footer_is_told(footer: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match=said):
        column_chunks(str(tmp_path / "a.parquet"))
    (tmp_path / "a.parquet").write_bytes(b"PAR1\xff\xff\xff\xffPAR1")
    with pytest.raises(ValueError, match="cut"):
        column_chunks(str(tmp_path / "a.parquet"))


def test_a_value_that_python_cannot_hold_does_not_cost_its_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    days = pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32())
    nowhere = pa.array([0, 0], pa.timestamp("us", tz="Mars/Phobos"))
    pq.write_table(pa.table({"day": days, "text": ["a", "b"], "when": nowhere}), path)
    problems: list[Problem] = []
    rows = list(parquet_rows(Bundle("", "", (file_of(path),)), problems))
    assert [sorted(row) for row in rows] == [["day", "text"], ["text"]]
    told = [(problem.code, problem.line, problem.message.partition(":")[0]) for problem in problems]
    assert told == [("invalid_value", 1, "when"), ("invalid_value", 2, "day"), ("invalid_value", 2, "when")]
