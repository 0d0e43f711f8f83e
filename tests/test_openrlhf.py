"""OpenRLHF's event files: samples as texts, figures as scalars, both of one file, in the ways such files break."""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl
import pytest
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.corpus.plan import claim
from trajlab.sources.discover import discover
from trajlab.sources.event_files import masked_crc

TAG = "train/generated_samples/text_summary"
TURNS = "system\nBe short.\nuser\nWhat is 1+1?\nassistant\nIt is 2.\nuser\nSure?\nassistant\nYes."


def varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


def held(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def value(step: int, tag: str, content: bytes) -> bytes:
    return record(b"\x10" + varint(step) + held(5, held(1, held(1, tag.encode()) + content)))


def sample(step: int, text: str, tag: str = TAG) -> bytes:
    return value(step, tag, held(8, b"\x08\x07" + held(8, text.encode())))


def scalar(step: int, tag: str, number: float) -> bytes:
    return value(step, tag, b"\x15" + struct.pack("<f", number))


def logged(turns: str, reward: str = "0.5000") -> str:
    return f"Sample:\\n{turns}\\n\\nReward: {reward}"


def event_file(folder: Path, *records: bytes, name: str = "events.out.tfevents.1.node") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(record(held(3, b"brain.Event:2")) + b"".join(records))
    return path


def facts(path: Path) -> dict[str, object]:
    """The only trajectory, and its texts."""
    corpus = trajlab.read(path)
    columns = ("train_step", "reward", "n_steps", "n_messages", "split")
    row = corpus.trajectories.select(columns).collect().row(0, named=True)
    texts = corpus.table("texts").sort("kind", "number").collect()["text"].to_list()
    return {**row, "texts": texts}


def told(path: Path) -> list[tuple[str, int | None]]:
    return trajlab.read(path).problems.select("code", "line").sort("code", "line").collect().rows()


def test_one_file_fills_both_tables(tmp_path: Path) -> None:
    path = event_file(tmp_path / "run", scalar(3, "train/reward", 0.25), sample(3, logged(TURNS)))
    said = claim(discover([path]).files[0], None)
    assert (said.format, said.role) == ("openrlhf", "log")
    corpus = trajlab.read(path)
    assert facts(path) == {
        "train_step": 3, "reward": 0.5, "n_steps": 2, "n_messages": 5, "split": "train",
        "texts": ["Be short.", "What is 1+1?", "Sure?", "It is 2.", "Yes."],
    }  # fmt: skip
    metrics = corpus.metrics.select("run", "step", "raw_name", "name", "value").collect()
    assert metrics.rows() == [("run", 3, "train/reward", "score.mean", 0.25)]
    assert corpus.trajectories.collect()["run"].to_list() == ["run"]
    # The mean of the batch is not held against one sample of it.
    assert told(path) == [("one_sample_a_step", None)]


@pytest.mark.parametrize(
    "changed",
    [
        sample(4, logged(TURNS)),
        sample(3, logged(TURNS, "0.7500")),
        sample(3, logged(TURNS.replace("short", "brief"))),
        sample(3, logged(TURNS.replace("1+1", "1+2"))),
        sample(3, logged(TURNS.replace("Sure?", "Why?"))),
        sample(3, logged(TURNS.replace("is 2", "is 3"))),
        sample(3, logged(TURNS + "!")),
    ],
)  # fmt: skip
def test_every_part_of_a_sample_is_read(changed: bytes, tmp_path: Path) -> None:
    assert facts(event_file(tmp_path / "a", sample(3, logged(TURNS)))) != facts(event_file(tmp_path / "b", changed))


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("system\n\nBe short.user\n\n1+1?assistant\n\n2", ["Be short.", "1+1?"]),
        ("user\n1+1?\nassistant\n2", ["1+1?"]),
        ("User: 1+1?\nAssistant: 2", ["User: 1+1?\nAssistant: "]),
        ("Human: 1+1?\nAssistant: 2", ["Human: 1+1?\nAssistant: "]),
        ("<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n2<|im_end|>", ["1+1?"]),
    ],
)
def test_templates(text: str, before: list[str], tmp_path: Path) -> None:
    found = facts(event_file(tmp_path, sample(1, logged(text))))
    assert (found["n_steps"], found["texts"]) == (1, [*before, "2"])


def test_what_does_not_tell_where_the_prompt_ends_is_not_read(tmp_path: Path) -> None:
    unread = sample(1, logged("What is 1+1? It is 2.")), sample(2, "a note")
    path = event_file(tmp_path, *unread, sample(3, logged(TURNS)))
    assert told(path) == [("one_sample_a_step", None), ("unreadable_record", 2), ("unreadable_record", 3)]
    assert facts(path)["train_step"] == 3


@pytest.mark.parametrize("reward", ["nan", "inf"])
def test_a_reward_that_is_no_number_is_none(reward: str, tmp_path: Path) -> None:
    assert facts(event_file(tmp_path, sample(1, logged(TURNS, reward))))["reward"] is None


def test_a_sample_without_its_reward_is_read_without(tmp_path: Path) -> None:
    path = event_file(tmp_path, sample(1, f"Sample:\\n{TURNS}"))
    assert facts(path)["reward"] is None
    assert told(path) == [("one_sample_a_step", None), ("wrong_type", 2)]


def test_what_is_damaged_is_told_once(tmp_path: Path) -> None:
    broken = bytearray(scalar(2, "train/reward", 0.5))
    broken[-6] ^= 1
    path = event_file(tmp_path, sample(1, logged(TURNS)), bytes(broken), scalar(2, "train/kl", 0.5), b"\x09\x00")
    assert told(path) == [("one_sample_a_step", None), ("truncated", 5), ("unreadable_record", 3)]
    assert trajlab.read(path).metrics.collect()["raw_name"].to_list() == ["train/kl"]


def test_a_text_that_names_the_tag_is_no_sample(tmp_path: Path) -> None:
    path = event_file(tmp_path, sample(1, TAG, tag="notes/text_summary"), scalar(1, "train/reward", 0.5))
    assert claim(discover([path]).files[0], None).format == "tensorboard"


def test_a_resumed_run_replaces_the_steps_that_it_logs_again() -> None:
    corpus = trajlab.read(SAMPLES / "openrlhf" / "resumed")
    rows = corpus.trajectories.filter("superseded").select("train_step", "source").collect().rows()
    assert rows == [(5, "events.out.tfevents.1762000001.node.1.0")]
    counting = corpus.metrics.filter(pl.col("counts") & (pl.col("name") == "score.mean")).sort("step")
    assert counting.collect()["step"].to_list() == [1, 2, 3, 4, 5, 6, 7]


def test_both_tables_stay_when_the_file_is_ingested_again_and_grows(tmp_path: Path) -> None:
    path = event_file(tmp_path / "run", scalar(1, "train/reward", 0.25), sample(1, logged(TURNS)))
    trajlab.ingest(tmp_path / "run", out=tmp_path / "corpus")
    with path.open("ab") as stream:
        stream.write(scalar(2, "train/reward", 0.75) + sample(2, logged(TURNS)))
    corpus = trajlab.ingest(tmp_path / "run", out=tmp_path / "corpus")
    assert corpus.trajectories.collect()["train_step"].to_list() == [1, 2]
    assert corpus.metrics.collect()["value"].to_list() == [0.25, 0.75]
