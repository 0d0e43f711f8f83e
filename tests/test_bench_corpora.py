"""The bench corpora have the promised shape and come out the same for the same seed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).resolve().parent / "benches"
sys.path.insert(0, str(BENCHES))

from corpora import write_one_document, write_swe, write_verl  # noqa: E402


def chat_commands(row: dict[str, Any]) -> list[str]:
    calls = [call for message in row["messages"] for call in message.get("tool_calls", [])]
    return [json.loads(call["function"]["arguments"])["command"] for call in calls]


def test_chat_rows_have_the_promised_size_and_variety(tmp_path: Path) -> None:
    written = write_swe(tmp_path, 8, seed=1)
    lines = [line for path in sorted(tmp_path.glob("*.jsonl")) for line in path.read_bytes().split(b"\n") if line]
    rows = [json.loads(line) for line in lines]
    assert (len(rows), sum(len(line) + 1 for line in lines)) == (written.records, written.bytes)
    assert 8_000_000 <= written.bytes < 9_000_000
    commands = [command for row in rows for command in chat_commands(row)]
    assert len(commands) == written.tool_calls
    assert written.tool_calls / written.records == pytest.approx(46, abs=8)
    assert len(set(commands)) / len(commands) == pytest.approx(0.71, abs=0.05)
    assert written.bytes / written.records == pytest.approx(270_000, rel=0.25)


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    for folder, seed in (("a", 5), ("b", 5), ("c", 6)):
        write_swe(tmp_path / folder, 1, seed)
        write_verl(tmp_path / f"verl_{folder}", 1, seed)
    for stem, name in (("", "shard_0000.jsonl"), ("verl_", "1.jsonl")):
        a, b, c = ((tmp_path / f"{stem}{folder}" / name).read_bytes() for folder in "abc")
        assert a == b != c


def test_files_and_one_document_parse(tmp_path: Path) -> None:
    written = write_swe(tmp_path / "files", 1, seed=2, layout="files")
    documents = [json.loads(path.read_bytes()) for path in (tmp_path / "files").glob("*/*.traj.json")]
    assert len(documents) == written.records
    for document in documents:
        actions = [message for message in document["messages"] if "actions" in message.get("extra", {})]
        assert len(actions) == document["info"]["model_stats"]["api_calls"]
    written = write_one_document(tmp_path / "one.json", 1, seed=2)
    assert len(json.loads((tmp_path / "one.json").read_bytes())) == written.records


def test_verl_rows(tmp_path: Path) -> None:
    written = write_verl(tmp_path, 3, seed=3)
    lines = (tmp_path / "1.jsonl").read_bytes().split(b"\n")[:-1]
    rows = [json.loads(line) for line in lines]
    assert len(rows) == written.records
    assert len(lines[0]) < 20_000
    assert written.bytes / written.records == pytest.approx(4300, rel=0.1)
    calls = [part.split("\n</tool_call>")[0] for row in rows for part in row["output"].split("<tool_call>\n")[1:]]
    assert len(calls) == written.tool_calls
    assert {json.loads(call)["name"] for call in calls} == {"python"}


@pytest.mark.parametrize(
    ("bench", "arguments"),
    [
        ("ingest", ["--megabytes", "2", "--large", "0", "--document", "1", "--rounds", "1"]),
        ("formats", ["--format", "chat", "--megabytes", "0.1", "--repeats", "1"]),
    ],
)
def test_the_bench_runs(bench: str, arguments: list[str]) -> None:
    command = [sys.executable, str(BENCHES / f"{bench}.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
