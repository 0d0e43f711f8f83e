"""Readers of metric logs: each layout as its trainer writes it, broken in the ways logs break, and real logs."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.corpus.plan import claim
from trajlab.metric_logs import METRIC_LOGS, Metric, metric_format
from trajlab.metric_logs._values import number
from trajlab.metric_logs.naming import about, common_name, common_names, named, spellings
from trajlab.records import Problem
from trajlab.sources.discover import discover
from trajlab.sources.event_files import masked_crc
from trajlab.sources.files import Bundle, SourceFile


def only_file(path: Path) -> SourceFile:
    return discover([path]).files[0]


def read(path: Path) -> tuple[list[Metric], list[Problem]]:
    said = claim(only_file(path), None)
    assert said.role == "metrics", (path.name, said.role, said.format)
    rows = list(
        metric_format(said.format or "").read_metrics(Bundle(said.format or "", said.variant or "", (said.file,)))
    )
    return [row for row in rows if isinstance(row, Metric)], [row for row in rows if isinstance(row, Problem)]


def figures(path: Path) -> list[tuple[int, str, float | None]]:
    return [(row.step, row.raw_name, row.value) for row in read(path)[0]]


def written(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def counting(corpus: Corpus) -> list[tuple[Any, ...]]:
    return (
        corpus.metrics.filter("counts")
        .select("run", "step", "name", "value")
        .sort("run", "name", "step")
        .collect()
        .rows()
    )


def told(corpus: Corpus) -> list[tuple[str, int | None]]:
    return corpus.problems.select("code", "line").sort("code", "line").collect().rows()


def test_every_spelling_leads_to_a_common_name() -> None:
    for trainer, names in spellings().items():
        for raw, name in names.items():
            example = common_name(raw.replace("*", "mean"), trainer)
            assert example is not None or "*" in raw or not name, (trainer, raw, name)
            assert not name or about(name.replace("*", "mean")) or about(name), (trainer, raw, name)
    assert {entry.layer for entry in common_names().values()} <= set(range(16))
    assert all(entry.doc for entry in common_names().values())


def test_a_log_is_named_by_the_trainer_most_of_whose_spellings_it_has() -> None:
    assert named(["train/kl", "train/reward", "train/reward_std"]).trainer == "trl"
    assert named(["train/kl", "train/reward", "train/actor_lr", "train/response_length"]).trainer == "openrlhf"
    assert named(["rollout/raw_reward", "train/kl_loss"]).names["train/kl_loss"] == "kl.loss"
    nobody = named(["my/own", "x"])
    assert (nobody.trainer, nobody.names) == (None, {"my/own": None, "x": None})
    both = named(["actor/entropy_loss", "actor/entropy"])  # the newer spelling, whichever comes first
    assert (both.names, both.shared) == (
        {"actor/entropy_loss": None, "actor/entropy": "entropy"},
        {"actor/entropy_loss": "entropy"},
    )
    spaced = named(["reward", "rewards / check / mean", "completions / clipped_ratio"]).names
    assert list(spaced.values()) == ["score.mean", "score.part.check", "response_tokens.clip_ratio"]
    assert common_name("critic/score/mean" * 100, "verl") is None


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("0.0165", (0.0165, None)), ("np.float64(5.125)", (5.125, None)), ("np.int32(4)", (4.0, None)),
        ("tensor(0.5, device='cuda:0')", (0.5, None)), ("nan", (None, "nan")), ("-inf", (None, "-inf")),
        ("1e999", (None, "inf")),
        (None, (None, "null")), (True, (1.0, None)), (10**400, (None, "inf")),
        ("1_000", None), ("abc", None), ([], None),
        ("", None), ("__import__('os')", None),
    ],
)  # fmt: skip
def test_numbers_as_consoles_print_them(said: Any, found: Any) -> None:
    assert number(said) == found


VERL = (
    "\x1b[36m(TaskRunner pid=28294)\x1b[0m step:1 - actor/lr:0.000 - critic/score/mean:0.012"
    " - num_turns/max:np.int32(8)\n"
    "(TaskRunner pid=28294, ip=10.0.0.1) Training Progress:   3%|x | 1/30 [00:10<05:00]\rstep:2 - critic/score/mean:nan"
    " - val/test_score/openai/gsm8k:0.5 [repeated 2x across cluster]\n"
    "a step:by step - guide: not a line of metrics\n"
)


def test_verls_console(tmp_path: Path) -> None:
    path = written(tmp_path / "console.log", "Started a local Ray instance.\n" * 5000 + VERL)
    assert claim(only_file(path), None).variant == "verl"
    assert figures(path) == [
        (1, "actor/lr", None), (1, "critic/score/mean", 0.012), (1, "num_turns/max", 8.0),
        (2, "critic/score/mean", None),
        (2, "val/test_score/openai/gsm8k", 0.5),
    ]  # fmt: skip
    assert read(path)[0][0].logged_as == "0.000"  # three decimals do not show a learning rate
    cut = written(tmp_path / "cut.log", VERL + "step:3 - critic/score/mean:0.5 - actor/lr:1.2")
    rows, problems = read(cut)
    assert [(row.step, row.raw_name) for row in rows[-2:]] == [
        (2, "val/test_score/openai/gsm8k"),
        (3, "critic/score/mean"),
    ]
    assert [problem.code for problem in problems] == ["truncated"]


SLIME = """[2025-11-01 10:00] ray.py:1 - rollout 0: {'rollout/raw_reward': 0.25, 'rollout/response_len/mean': 81.0}
[2025-11-01 10:00:09] model.py:50 - step 0: {'train/loss': -0.01, 'train/grad_norm': nan, 'train/step': 0}
[2025-11-01 10:00:10] timer.py:9 - perf 0: {'perf/step_time': 9.5}
"""
ROLL = '(Driver pid=1) INFO metrics_tag: {"step": 3, "metrics": {"critic/score/mean": 0.5, "time/step_total": 7}}\n'
SKYRL = """(skyrl_entrypoint pid=7) Step 1: \n(skyrl_entrypoint pid=7) {'reward/avg_raw_reward': '0.1250',
(skyrl_entrypoint pid=7)  'policy/policy_entropy': '0.4000',
(skyrl_entrypoint pid=7)  'trainer/global_step': 1}
"""
PAIRS = (
    "[math] Connecting...\n[math]   1/100 | loss=-0.5276 | reward=0.237\n[math]   2/100 | loss=0.0000 | reward=0.3\n"
)
TRL = (
    "  0%|          | 0/4 [00:00<?, ?it/s]\r 25%|##   | 1/4 [00:02<00:06]\r      \r"
    "{'loss': '0.5', 'reward': '0.25', 'epoch': '0.25'}\n"
    " 25%|##   | 1/4 [00:02<00:06]\r{'loss': '0.25', 'reward': '0.5', 'epoch': '0.5'}\n"  # a bar that lags behind
    "\r100%|####| 2/2 [00:01<00:00]\x1b[A{'eval_loss': '0.1', 'eval_reward': '1', 'epoch': '0.5'}\n"
    "\r 75%|###  | 3/4 [00:04<00:02]\r{'loss': 'nan', 'reward': '0.5', 'epoch': '0.75'}\n"
    "{'train_runtime': '9', 'train_loss': '0.2', 'epoch': '0.75'}\n"
)


@pytest.mark.parametrize(
    ("text", "variant", "expected"),
    [
        (SLIME, "slime", {(0, "score.mean", 0.25), (0, "response_tokens.mean", 81.0), (0, "loss", -0.01),
                          (0, "actor.grad_norm", None), (0, None, 0.0), (0, "step.seconds", 9.5)}),
        (ROLL, "roll", {(3, "score.mean", 0.5), (3, "step.seconds", 7.0)}),
        (SKYRL, "skyrl", {(1, "score.mean", 0.125), (1, "entropy", 0.4), (1, "global_step", 1.0)}),
        (PAIRS, "pairs", {(1, "loss", -0.5276), (1, "score.mean", 0.237), (2, "loss", 0.0), (2, "score.mean", 0.3)}),
        (TRL, "trl", {(1, "loss", 0.5), (1, "score.mean", 0.25), (1, "epoch", 0.25), (2, "loss", 0.25),
                      (2, "score.mean", 0.5),
                      (2, "epoch", 0.5), (2, "val.loss", 0.1), (2, "val.reward", 1.0), (3, "loss", None),
                      (3, "score.mean", 0.5), (3, "epoch", 0.75), (3, None, 9.0), (3, None, 0.2)}),
    ],
)  # fmt: skip
def test_other_consoles(text: str, variant: str, expected: set[Any], tmp_path: Path) -> None:
    path = written(tmp_path / "train.log", text)
    assert claim(only_file(path), None).variant == variant
    rows, problems = read(path)
    names = named(row.raw_name for row in rows).names
    assert {(row.step, names[row.raw_name], row.value) for row in rows} == expected
    assert problems == []


def areal_step(trained: int, *tables: str) -> str:
    head = "\x1b[1m(AReaL)\x1b[0m 20251101-12:00:00.000 StatsLogger INFO:"
    logged = [f"{head} Epoch 1/2 Step 1/9 Train step {trained}/18 done.\x1b[0m"]
    for number_, table in enumerate(tables, 1):
        logged += [f"(AReaL) StatsLogger INFO: Stats ({number_}/{len(tables)}):\x1b[0m", "(AReaL) StatsLogger INFO: "]
        logged += [f"(main pid=7) {line}" for line in ("╒═══╤═══╕", *table.split("\n"), "╘═══╧═══╛\x1b[0m")]
    return "\n".join(logged) + "\n"


def test_tables_of_areal(tmp_path: Path) -> None:
    two = ("│ ppo_actor/task_reward/avg │ 2.5000e-01 │ b │ 3 │\n├───┼───┤\n│ c │ nan │   │   │", "│ b │ 4 │")
    text = "starts\n" + areal_step(1, "│ b │ 1 │") + areal_step(2, *two) + areal_step(3, "│ b │ 5 │")
    again = areal_step(2, "│ b │ 6 │")
    path = written(tmp_path / "main.log", text + again)
    assert claim(only_file(path), None).variant == "areal"
    # The second table of a step is the next step of the other loggers; a run begun anew counts from its own step.
    assert figures(path) == [
        (0, "b", 1.0), (1, "ppo_actor/task_reward/avg", 0.25), (1, "b", 3.0), (1, "c", None), (2, "b", 4.0),
        (3, "b", 5.0), (1, "b", 6.0),
    ]  # fmt: skip
    cut = written(tmp_path / "cut.log", text[: text.rindex("╘")])
    assert figures(cut)[-1] == (3, "b", 5.0)
    assert [problem.code for problem in read(cut)[1]] == ["truncated"]


def test_steps_that_no_bar_tells_are_counted_and_that_is_told(tmp_path: Path) -> None:
    text = "".join(f"{{'loss': 0.5, 'epoch': {epoch}}}\n" for epoch in (0.1, 0.2, 0.3))
    rows, problems = read(written(tmp_path / "train.log", text))
    assert [row.step for row in rows if row.raw_name == "loss"] == [1, 2, 3]
    assert [problem.code for problem in problems] == ["metrics_steps"]
    rows, _ = read(written(tmp_path / "train.log", TRL.replace("'0.75'", "'1e308'")))
    assert {row.step for row in rows} == {1, 2}  # an epoch that is no epoch dates nothing


@pytest.mark.parametrize("name", ["notes.md", "rows.jsonl", "train.py"])
def test_only_files_named_as_logs_are_searched(name: str, tmp_path: Path) -> None:
    assert claim(only_file(written(tmp_path / name, VERL)), None).role == "unclaimed"


ROWS = [
    {"step": 1, "reward/mean": 0.5, "optim/lr": 1e-5, "host": "node-7", "timestamp": 1.0},
    {"step": 2, "reward/mean": None, "optim/lr": 1e-5, "host": "node-7", "timestamp": 2.0},
]
FIGURES = [(1, "reward/mean", 0.5), (1, "optim/lr", 1e-5), (2, "reward/mean", None), (2, "optim/lr", 1e-5)]


def test_rows_in_each_container(tmp_path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    assert figures(written(tmp_path / "metrics.jsonl", lines)) == FIGURES
    assert figures(written(tmp_path / "first_line.log", json.dumps(ROWS[0]) + "\n")) == FIGURES[:2]
    assert figures(written(tmp_path / "metrics.json", json.dumps(ROWS))) == FIGURES
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "metrics.parquet")
    assert figures(tmp_path / "metrics.parquet") == FIGURES
    table = "step,reward/mean,optim/lr,timestamp\n1,0.5,1e-5,1.0\n2,,1e-5,2.0\n"
    expected = [row for row in FIGURES if row[2] is not None]
    assert figures(written(tmp_path / "metrics.csv", table)) == expected
    assert figures(written(tmp_path / "metrics.tsv", table.replace(",", "\t"))) == expected


def test_what_is_no_log_of_metrics_is_left_to_others(tmp_path: Path) -> None:
    rollout = {"step": 1, "input": "user\nQ\nassistant\n", "output": "A", "gts": "1", "score": 1.0}
    rows = [rollout, {"step": 1, "tokens": [1, 2], "loss": 0.5}, {"step": 1, "text": "a" * 400, "loss": 0.5},
            {"loss": 0.5},
            {"step": 1, "my_own": 3}]  # fmt: skip
    for number_, row in enumerate(rows):
        path = written(tmp_path / f"{number_}.jsonl", json.dumps(row) + "\n")
        assert claim(only_file(path), None).role != "metrics", row
    assert claim(only_file(written(tmp_path / "people.csv", "step,name\n1,Ann\n")), None).role == "unclaimed"


def test_a_line_that_is_still_written_is_told(tmp_path: Path) -> None:
    text = "".join(json.dumps(row) + "\n" for row in ROWS) + "{broken}\n" + '{"step": 3, "reward/me'
    rows, problems = read(written(tmp_path / "metrics.jsonl", text))
    assert [(row.step, row.raw_name, row.value) for row in rows] == FIGURES
    assert [(problem.code, problem.line) for problem in problems] == [("unreadable_record", 3), ("truncated", 4)]


def test_a_broken_row_among_the_first_costs_no_other(tmp_path: Path) -> None:
    first, second = (json.dumps(row) + "\n" for row in ROWS)
    rows, _ = read(written(tmp_path / "metrics.jsonl", first + '["no row"]\n' + second))
    assert [(row.step, row.raw_name, row.value) for row in rows] == FIGURES


def test_the_surest_column_is_the_step(tmp_path: Path) -> None:
    rows = [{"_step": 10 * n, "train/global_step": n, "train/loss": 0.5, "train/reward": 1.0} for n in (1, 2)]
    path = written(tmp_path / "history.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert [row.step for row in read(path)[0] if row.raw_name == "train/loss"] == [1, 2]


def test_a_wandb_panel_holds_several_runs(tmp_path: Path) -> None:
    head = '"Step","a - critic/score/mean","a - critic/score/mean__MIN","a - _step","b - critic/score/mean"\n'
    written(tmp_path / "panel.csv", head + "1,0.5,0.4,1,\n2,0.6,0.6,2,0.1\n")
    corpus = trajlab.ingest(tmp_path / "panel.csv", out=tmp_path / "corpus")
    assert counting(corpus) == [("a", 1, "score.mean", 0.5), ("a", 2, "score.mean", 0.6), ("b", 2, "score.mean", 0.1)]


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def field(number_: int, wire: int, payload: bytes) -> bytes:
    size = bytes([len(payload)]) if wire == 2 else b""
    return bytes([number_ << 3 | wire]) + size + payload


def event(step: int, tag: str, payload: bytes) -> bytes:
    value = field(1, 2, tag.encode()) + payload
    return record(field(2, 0, bytes([step])) + field(5, 2, field(1, 2, value)))


def simple(value: float) -> bytes:
    return field(2, 5, struct.pack("<f", value))


def tensor(kind: int, content: bytes) -> bytes:
    return field(8, 2, field(1, 0, bytes([kind])) + field(4, 2, content))


EVENTS = (
    record(field(3, 2, b"brain.Event:2"))
    + event(1, "critic/score/mean", simple(0.1))
    + event(1, "text", field(8, 2, field(1, 0, b"\x07") + field(8, 2, b"hello")))
    + event(2, "critic/score/mean", tensor(2, struct.pack("<d", 0.1)))
    + event(2, "actor/lr", simple(float("nan")))
)


def test_event_files_by_their_wire_format(tmp_path: Path) -> None:
    assert masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF  # RFC 3720
    path = written(tmp_path / "anything", EVENTS)
    assert figures(path) == [(1, "critic/score/mean", 0.1), (2, "critic/score/mean", 0.1), (2, "actor/lr", None)]
    assert [row.line for row in read(path)[0]] == [2, 4, 5]


def test_damaged_event_files(tmp_path: Path) -> None:
    rows, problems = read(written(tmp_path / "events.out.tfevents.1", EVENTS[:-3]))
    assert ([row.step for row in rows], [problem.code for problem in problems]) == ([1, 2], ["truncated"])
    at = EVENTS.index(b"critic/score/mean")
    flipped = EVENTS[:at] + b"X" + EVENTS[at + 1 :]
    rows, problems = read(written(tmp_path / "events.out.tfevents.2", flipped))
    assert ([row.step for row in rows], [(p.code, p.line) for p in problems]) == ([2, 2], [("unreadable_record", 2)])
    first = len(record(field(3, 2, b"brain.Event:2")))
    wrong_length = EVENTS[:first] + b"\xff" + EVENTS[first + 1 :]
    rows, problems = read(written(tmp_path / "events.out.tfevents.3", wrong_length))
    assert (rows, [problem.code for problem in problems]) == ([], ["unreadable_record"])
    for length in (1 << 40, (1 << 64) - 1):  # its checksum fits
        lying = struct.pack("<Q", length)
        path = written(tmp_path / "events.out.tfevents.4", EVENTS + lying + struct.pack("<I", masked_crc(lying)) + b"x")
        rows, problems = read(path)
        assert ([row.step for row in rows], [problem.code for problem in problems]) == ([1, 2, 2], ["truncated"])
    written(tmp_path / "events.out.tfevents.4", EVENTS[2:])
    assert trajlab.read(tmp_path).problems.filter(source="events.out.tfevents.4").collect()["code"][0] == "unrecognised"


def test_a_step_of_seventy_bits_ends_no_ingest(tmp_path: Path) -> None:
    summary = field(5, 2, field(1, 2, field(1, 2, b"critic/score/mean") + simple(0.5)))
    written(tmp_path / "events.out.tfevents.1", EVENTS + record(b"\x10" + b"\xff" * 9 + b"\x7f" + summary))
    assert trajlab.read(tmp_path).metrics.collect()["step"].to_list() == [1, 2, 2, -1]


@pytest.mark.parametrize("again", ['"step": 1e30', '"step": [1]', '"metrics": 5', '"step": 9223372036854775808'])
def test_a_line_that_says_its_step_twice_costs_no_other(again: str, tmp_path: Path) -> None:
    twice = ROLL.replace('"step": 3', '"step": 4').replace("}}", f"}}, {again}}}")
    path = written(tmp_path / "train.log", ROLL + twice + ROLL.replace('"step": 3', '"step": 5'))
    assert [step for step, _, _ in figures(path)] == [3, 3, 5, 5]
    assert [(problem.code, problem.line) for problem in read(path)[1]] == [("unreadable_record", 2)]
    assert trajlab.read(tmp_path).metrics.collect().height == 4


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, 400), at=st.integers(0, 400), byte=st.integers(0, 255), source=st.sampled_from(range(7)))
def test_broken_logs_raise_nothing(
    cut: int, at: int, byte: int, source: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = "".join(json.dumps(row) + "\n" for row in ROWS)
    table = "step,reward/mean\n1,0.5\n2,0.25\n"
    name, data = [
        ("a.log", VERL.encode()), ("b.log", TRL.encode()), ("c.log", SKYRL.encode()), ("d.jsonl", rows.encode()),
        ("e.csv", table.encode()), ("f", EVENTS),
        ("trainer_state.json", b'{"log_history": [{"step": 1}], "global_step": 1}'),
    ][source]  # fmt: skip
    at %= len(data)
    broken = (data[:at] + bytes([byte]) + data[at + 1 :])[: max(1, len(data) - cut)]
    path = written(tmp_path_factory.mktemp("broken") / name, broken)
    said = claim(only_file(path), None)
    assert said.role in ("metrics", "unclaimed"), said.problem
    if said.format is not None:
        found = metric_format(said.format).read_metrics(Bundle(said.format, said.variant or "", (said.file,)))
        assert all(isinstance(row, Metric | Problem) for row in found)


def rows_of(*steps: tuple[int, float]) -> str:
    return "".join(json.dumps({"step": step, "reward/mean": value, "optim/lr": 1e-5}) + "\n" for step, value in steps)


def test_a_restarted_run_counts_from_where_it_began_anew(tmp_path: Path) -> None:
    written(tmp_path / "run" / "metrics.jsonl", rows_of((1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4), (2, 0.5), (3, 0.6)))
    corpus = trajlab.ingest(tmp_path / "run" / "metrics.jsonl", out=tmp_path / "corpus")
    scores = [row for row in counting(corpus) if row[2] == "score.mean"]
    # Step 4 is of the attempt that was given up.
    assert scores == [("run", 1, "score.mean", 0.1), ("run", 2, "score.mean", 0.5), ("run", 3, "score.mean", 0.6)]
    assert told(corpus) == [("metrics_restarted", 5)]
    assert corpus.metrics.select(pl.len()).collect().item() == 12  # all of it stays


def test_an_evaluation_logged_late_takes_only_itself_back(tmp_path: Path) -> None:
    late = json.dumps({"step": 1, "eval/score": 0.9}) + "\n"
    text = rows_of((1, 0.1)) + json.dumps({"step": 1, "eval/score": 0.8}) + "\n" + rows_of((2, 0.2), (3, 0.3)) + late
    written(tmp_path / "run" / "metrics.jsonl", text)
    corpus = trajlab.ingest(tmp_path / "run" / "metrics.jsonl", out=tmp_path / "corpus")
    assert [row[1:] for row in counting(corpus) if row[2] == "score.mean"] == [
        (1, "score.mean", 0.1), (2, "score.mean", 0.2), (3, "score.mean", 0.3),
    ]  # fmt: skip
    assert [
        row[3]
        for row in corpus.metrics.filter(pl.col("raw_name") == "eval/score")
        .collect()
        .select("run", "source", "line", "counts")
        .rows()
    ] == [False, True]


def test_steps_out_of_order_all_count(tmp_path: Path) -> None:
    written(tmp_path / "run" / "metrics.jsonl", rows_of((1, 0.1), (3, 0.3), (2, 0.2), (4, 0.4)))
    corpus = trajlab.ingest(tmp_path / "run" / "metrics.jsonl", out=tmp_path / "corpus")
    assert [row[3] for row in counting(corpus) if row[2] == "score.mean"] == [0.1, 0.2, 0.3, 0.4]
    assert told(corpus) == [("metrics_out_of_order", 3)]


def test_two_runs_in_one_folder_are_told(tmp_path: Path) -> None:
    written(tmp_path / "run" / "console.log", "step:1 - critic/score/mean:0.9\nstep:2 - critic/score/mean:0.8\n")
    written(tmp_path / "run" / "metrics.jsonl", '{"step": 1, "data": {"critic/score/mean": 0.1234567}}\n')
    corpus = trajlab.ingest(tmp_path / "run", out=tmp_path / "corpus")
    assert counting(corpus) == [("run", 1, "score.mean", 0.1234567), ("run", 2, "score.mean", 0.8)]
    assert told(corpus) == [("metrics_disagree", 1)]
    # A console that rounds is no other run.
    written(tmp_path / "run" / "console.log", "step:1 - critic/score/mean:0.123\n")
    assert told(trajlab.ingest(tmp_path / "run", out=tmp_path / "rounded")) == []


def test_logs_alone_are_runs_named_for_their_folders(tmp_path: Path) -> None:
    for place in ("a/metrics.jsonl", "b/logs/train.log.jsonl", "c/easy.jsonl", "c/checkpoint-2/metrics.jsonl"):
        written(tmp_path / "logs" / place, rows_of((1, 0.5)))
    corpus = trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")
    assert (corpus.runs, corpus.metric_runs) == ([], ["a", "b", "c", "c/easy"])
    assert corpus.sources.select("run").collect()["run"].to_list() == ["a", "b", "c", "c/easy"]
    assert "metrics by common name" in str(corpus.summary())
    named_ = trajlab.ingest(tmp_path / "logs" / "a", out=tmp_path / "named", run="mine")
    assert named_.metric_runs == ["mine"]
    again = trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")
    assert again.metric_runs == corpus.metric_runs


def test_one_step_and_constant_series_are_read_as_they_are(tmp_path: Path) -> None:
    path = written(tmp_path / "run" / "metrics.jsonl", rows_of((7, 0.5)))
    corpus = trajlab.ingest(path, out=tmp_path / "corpus")
    assert counting(corpus) == [("run", 7, "actor.lr", 1e-5), ("run", 7, "score.mean", 0.5)]
    assert told(corpus) == []


def test_every_reader_is_listed_with_variants() -> None:
    for name in METRIC_LOGS:
        assert all(variant.doc for variant in metric_format(name).VARIANTS.values())


def canonical(corpus: Corpus, source: str, *, only_counting: bool = False) -> dict[tuple[int, str], float | None]:
    rows = corpus.metrics.filter(pl.col("source").str.starts_with(source) & pl.col("name").is_not_null())
    rows = rows.filter("counts") if only_counting else rows
    return {(step, name): value for step, name, value in rows.select("step", "name", "value").collect().iter_rows()}


def agree(one: dict[tuple[int, str], float | None], other: dict[tuple[int, str], float | None], digits: float) -> int:
    """How many figures both have; all of them must agree to a share of their size."""
    both = one.keys() & other.keys()
    for key in both:
        a, b = one[key], other[key]
        assert (a is None) == (b is None), key
        assert a is None or b is None or abs(a - b) <= digits * max(abs(a), abs(b)), (key, a, b)
    return len(both)


def test_real_logs_of_verl_give_the_same_figures(shared: Path, tmp_path: Path) -> None:
    corpus = trajlab.ingest(shared / "samples" / "written" / "trainers" / "verl", out=tmp_path / "corpus")
    file, console, events = (canonical(corpus, start) for start in ("file_logger", "console", "tensorboard"))
    assert len(file) == 103
    assert agree(file, console, 0.0) == agree(file, events, 1e-6) == 103
    odd = corpus.metrics.filter(pl.col("raw_name") == "actor/grad_norm").select("source", "step", "value", "logged_as")
    seen = {source.partition("/")[0]: rest for source, *rest in odd.collect().iter_rows()}
    # The file logger writes null for the NaN of step 3, which the others show.
    assert seen == {"file_logger": [3, None, "null"], "console.log": [3, None, "nan"], "tensorboard": [3, None, "nan"]}


def test_real_logs_of_trl_give_the_same_figures(shared: Path, tmp_path: Path) -> None:
    corpus = trajlab.ingest(shared / "samples" / "written" / "trainers" / "trl_1.16.0", out=tmp_path / "corpus")
    state = canonical(corpus, "run1/trainer_state.json")
    console = canonical(corpus, "run.log", only_counting=True)
    resumed, first = (canonical(corpus, f"run1/runs/{name}") for name in ("Nov29_17-21", "Nov29_17-20"))
    assert len(state) == len(console) == agree(state, console, 1e-3) == 1193
    assert agree(state, resumed, 1e-6) == 519
    before = {key: value for key, value in first.items() if key[0] <= 20}
    assert agree(state, before, 1e-6) == len(before) > 600
    problems = corpus.problems.select("source", "code", "message").collect().rows()
    restarted = {
        source for source, code, message in problems if code == "metrics_restarted" and "from 30 to 21" in message
    }
    assert {source.partition("/")[0] for source in restarted} == {"run.log", "run1"}
    (over,) = [message for _, code, message in problems if code == "eval_over_train"]
    assert over.startswith("step 10, 20, 30, 35: ")
    assert not [code for _, code, _ in problems if code == "not_reconciled"]


def test_every_public_run_is_read(shared: Path, tmp_path: Path) -> None:
    folder = shared / "samples" / "metric_logs"
    corpus = trajlab.ingest(folder, out=tmp_path / "corpus")
    found = (
        corpus.metrics.filter("counts")
        .group_by("source")
        .agg(
            pl.col("step").n_unique().alias("steps"),
            pl.col("name").drop_nulls().unique(),
            pl.col("run").n_unique().alias("runs"),
        )
    )
    read_ = {source: (steps, set(names)) for source, steps, names, _ in found.collect().iter_rows()}
    verdicts = pl.read_csv(folder / "verdicts.tsv", separator="\t", quote_char=None)
    assert set(verdicts["path"].to_list()) == read_.keys()
    assert corpus.metrics.select(pl.col("run").n_unique()).collect().item() == 29
    for steps, names in read_.values():
        assert steps >= 20
        assert "score.mean" in names
    codes = set(corpus.problems.select("code").collect()["code"].to_list())
    assert codes == {"metrics_restarted", "metrics_repeated", "empty_file", "unrecognised"}
