"""Inspect logs: ends and grades apart, calls that the messages leave out, archives that are damaged or hostile."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path

import polars as pl
import pytest
import zstandard
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.behavior.termination import INSPECT_LIMITS, classify_inspect
from trajlab.corpus.plan import claim
from trajlab.formats import inspect_log
from trajlab.formats._inspect_json import loads_read
from trajlab.sources.discover import discover
from trajlab.sources.files import Bundle
from trajlab.sources.safe_json import loads
from trajlab.sources.zip_members import ZipMembers

LOGS = SAMPLES / "inspect_log"
FACTS = ["task_id", "attempt", "n_steps", "n_calls", "correct", "prompt_tokens", "content_digest", "termination"]


@pytest.mark.parametrize(
    ("error", "limit", "status", "scored", "expected"),
    [
        (True, "message", "error", False, "infrastructure_error"), (False, "message", "success", True,
        "truncated_budget"), (False, "working", "success", True, "timeout"), (False, "operator", "success", False,
        "incomplete"), (False, None, "success", True, "ended"), (False, None, "cancelled", False, "incomplete"),
        (False, None, "cancelled", True, "ended"), (False, "new", "success", True, "unknown"),
    ],
)  # fmt: skip
def test_ends(error: bool, limit: str | None, status: str, scored: bool, expected: str) -> None:
    assert classify_inspect(error=error, limit=limit, status=status, scored=scored) == expected
    assert set(INSPECT_LIMITS.values()) == {"timeout", "truncated_budget", "incomplete"}


def test_every_container_of_one_log_reads_the_same() -> None:
    places = ("zstd", "deflated", "chunked/repair.eval")
    frames = [trajlab.read(LOGS / place).trajectories.select(FACTS).collect() for place in places]
    assert frames[0].height == 2
    assert frames[0].equals(frames[1]) and frames[0].equals(frames[2])
    running = trajlab.read(LOGS / "running").trajectories.select(FACTS).collect()
    assert running.equals(frames[0].head(1))


def test_a_limit_ends_a_sample_and_its_score_still_counts() -> None:
    row = trajlab.read(LOGS / "limited").trajectories.collect().row(0, named=True)
    assert (row["termination"], row["stop_reason"]) == ("truncated_budget", "message")
    assert (row["gradable"], row["correct"], row["reward"]) == (True, False, 0.0)
    crashed = trajlab.read(LOGS / "crashed").trajectories.collect().row(0, named=True)
    assert (crashed["termination"], crashed["gradable"], crashed["correct"]) == ("infrastructure_error", False, None)


def test_the_call_of_submit_and_exit_codes_come_from_the_events() -> None:
    corpus = trajlab.read(LOGS / "zstd")
    first = corpus.trajectories.filter(pl.col("attempt") == 1).select("trajectory_id").collect().item()
    calls = corpus.tool_calls.filter(pl.col("trajectory_id") == first).sort("call").collect()
    assert calls.select("tool", "exit_code").rows() == [
        ("bash", 0), ("think", None), ("bash", 0), ("bash", 0), ("bash", 0), ("python", 1), ("submit", None),
    ]  # fmt: skip
    assert calls["executed"].all()


def test_calls_that_were_not_run() -> None:
    calls = trajlab.read(LOGS / "bad_tools").tool_calls.sort("call").collect()
    assert calls["invalid"].to_list() == ["unknown_tool", "refused", None, None]
    assert calls["executed"].to_list() == [False, False, True, True]
    assert calls["is_error"].to_list() == [None, None, True, False]


def archives(folder: Path) -> list[Bundle]:
    claims = [claim(file, None) for file in discover([folder]).files if file.relpath.endswith(".eval")]
    return [Bundle("inspect_log", one.variant or "", (one.file,)) for one in claims if one.role == "log"]


def whole_as_read(bundles: list[Bundle], monkeypatch: pytest.MonkeyPatch) -> bool:
    as_read = [list(inspect_log.read(bundle)) for bundle in bundles]
    with monkeypatch.context() as patch:
        patch.setattr(inspect_log, "loads_read", lambda data, kind: loads(data))
        return as_read == [list(inspect_log.read(bundle)) for bundle in bundles]


def test_fields_passed_over_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(bundles := archives(LOGS)) > 5
    assert whole_as_read(bundles, monkeypatch)


def test_fields_of_real_logs_passed_over_tell_nothing(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(bundles := archives(shared / "samples")) > 10
    assert whole_as_read(bundles, monkeypatch)


@pytest.mark.parametrize(
    "sample",
    [
        {"events": [None, {"event": "model"}]}, {"events": {"0": 1}}, {"messages": ["said", {"role": "user"}]},
        {"events": [{"output": 3}]}, {"events": [{"tools": {"name": "bash"}}]}, {"events": [{"events": [[]]}]},
        {"events": [{"output": {"choices": [{"message": "said"}]}}]},
    ],
)  # fmt: skip
def test_a_sample_laid_out_otherwise_is_decoded_whole(sample: object) -> None:
    data = json.dumps(sample).encode()
    assert loads_read(data, "sample") == loads(data)
    assert loads_read(data[:-1] + b', "id": NaN}', "sample").fixes == ("non_finite",)


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def members_of(path: Path) -> dict[str, bytes]:
    with ZipMembers(str(path)) as file:
        return {name: file.read(name) for name in file.names}


def test_a_broken_sample_costs_only_itself(tmp_path: Path) -> None:
    members = members_of(LOGS / "zstd" / "repair.eval")
    broken = next(name for name in members if name.startswith("samples/"))
    members[broken] = members[broken][:500]
    archive(tmp_path / "broken.eval", members)
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.collect().height == 1
    assert sorted(corpus.problems.collect()["code"]) == ["not_reconciled", "unreadable_record"]


def test_a_damaged_member_is_told_by_its_checksum(tmp_path: Path) -> None:
    data = bytearray((LOGS / "deflated" / "repair.eval").read_bytes())
    at = data.find(b"samples/leap-102_epoch_1.json") + 200
    data[at] ^= 0xFF
    (tmp_path / "damaged.eval").write_bytes(bytes(data))
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.collect().height == 1
    assert "unreadable_record" in corpus.problems.collect()["code"].to_list()


def test_a_directory_that_lies_about_sizes_costs_no_memory(tmp_path: Path) -> None:
    data = bytearray((LOGS / "deflated" / "repair.eval").read_bytes())
    at = data.find(b"PK\x01\x02") + 20
    data[at : at + 4] = b"\xff\xff\xff\x7f"
    (tmp_path / "lying.eval").write_bytes(bytes(data))
    with ZipMembers(str(tmp_path / "lying.eval")) as file, pytest.raises(ValueError, match="cut short"):
        file.read(file.names[0])


def test_an_archive_that_is_cut_is_not_read_and_said(tmp_path: Path) -> None:
    data = (LOGS / "zstd" / "repair.eval").read_bytes()
    (tmp_path / "cut.eval").write_bytes(data[: len(data) // 2])
    (tmp_path / "whole.eval").write_bytes(data)
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.collect()["source"].to_list() == ["whole.eval"] * 2
    assert corpus.problems.collect()["source"].to_list() == ["cut.eval"]


@pytest.mark.parametrize("method", [8, 93])
def test_a_bomb_is_refused(method: int, tmp_path: Path) -> None:
    plain = b"\0" * (64 << 20)
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    raw = packed.compress(plain) + packed.flush() if method == 8 else zstandard.ZstdCompressor().compress(plain)
    name = b"header.json"
    local = struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", 20, 0, method, 0, 0, zlib.crc32(plain), len(raw), len(plain),
                        len(name), 0) + name  # fmt: skip
    central = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 20, 0, method, 0, 0, zlib.crc32(plain), len(raw),
                          len(plain), len(name), 0, 0, 0, 0, 0, 0) + name  # fmt: skip
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(local) + len(raw), 0)
    (tmp_path / "bomb.eval").write_bytes(local + raw + central + end)
    with ZipMembers(str(tmp_path / "bomb.eval")) as file, pytest.raises(ValueError, match="expands to more than"):
        file.read("header.json")


def test_a_foreign_archive_and_a_wrong_shape_are_left_alone(tmp_path: Path) -> None:
    archive(tmp_path / "other.zip", {"readme.txt": b"nothing"})
    archive(tmp_path / "odd.eval", {"header.json": b"[1, 2]", "samples/../../a_epoch_1.json": b"{}",
                                    "samples/a_epoch_1.json": b"[]"})  # fmt: skip
    corpus = trajlab.read(tmp_path)
    roles = dict(corpus.sources.select("source", "role").collect().rows())
    assert roles == {"other.zip": "unclaimed", "odd.eval": "log"}
    assert corpus.trajectories.collect().is_empty()


def test_real_logs_of_many_releases_state_what_was_read(shared: Path) -> None:
    folder = shared / "samples"
    corpus = trajlab.read(folder / "public/UKGovernmentBEIS+inspect_ai", folder / "written/inspect_ai_0.3.285")
    assert sorted(corpus.problems.select("source").collect()["source"].str.split("/").list.last()) == [
        "2025-05-12T20-28-13-04-00_no-samples.json",
        "log_tool_call_error.json",
    ]
    rows = corpus.trajectories.collect()
    assert rows.height == 58
    assert rows.filter(pl.col("logged_steps") != pl.col("n_steps")).is_empty()
    documents = sorted((folder / "written" / "inspect_ai_0.3.285" / "json").glob("*.json"))
    for path in documents:
        sample = json.loads(path.read_text("utf-8"))["samples"][0]
        row = rows.filter(pl.col("native_id") == sample["uuid"]).row(0, named=True)
        assert row["n_steps"] == sum(message["role"] == "assistant" for message in sample["messages"])
        assert row["reward"] == {"C": 1.0, "I": 0.0, None: None}[next(iter(sample["scores"].values()), {}).get("value")]
