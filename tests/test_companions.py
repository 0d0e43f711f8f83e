"""Companions joined in assembly: facts by id and by step, totals held against what was read, reasons for the rest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
from corpora_in_tests import SAMPLES, Counting, mtimes

import trajlab
from trajlab.checks.facts import read_state
from trajlab.formats import COMPANIONS, companion_format, speaks_of
from trajlab.schema import FACT_COLUMNS, OVERLAY

STREAM = Path("verifiers/stream_2026_09/monitors/file/traces")
NOTES = "annotations/orchestrator/00000.jsonl"


def copied(sample: str | Path, folder: Path) -> Path:
    target = folder / "run"
    shutil.copytree(SAMPLES / sample, target)
    return target


def save(path: Path, *rows: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def told(corpus: trajlab.Corpus) -> dict[str, tuple[Any, ...]]:
    names = ("effective", "filter_reason", "advantage", "trained_at_step")
    rows = corpus.trajectories.filter(pl.col("native_id").is_not_null()).select("native_id", *names).collect()
    return {row[0]: row[1:] for row in rows.iter_rows()}


def problems(corpus: trajlab.Corpus, code: str) -> list[str]:
    return corpus.problems.filter(pl.col("code") == code).collect()["message"].to_list()


def test_annotations_are_joined_by_the_id_of_the_trace(tmp_path: Path) -> None:
    run = copied(STREAM, tmp_path)
    ids = sorted(told(trajlab.read(run)))
    save(
        run / NOTES,
        {"trace_id": ids[0], "info": {"train": {"effective": True, "trained_at_step": 4}, "advantage": 0.25}},
        {"trace_id": ids[1], "info": {"effective": False, "filters": {"zero_advantage": True, "length": False}}},
        {"trace_id": "nobody", "info": {"effective": True}},
        {"info": {}},
    )
    save(run / "annotations/trainer/00000.jsonl", {"trace_id": ids[0], "info": {"train": {"trained_at_step": 5}}})
    corpus = trajlab.read(run)
    found = told(corpus)
    assert found[ids[0]] == (True, None, 0.25, 5), "the later file counts"
    assert found[ids[1]] == (False, "zero_advantage", None, None)
    assert set(found.values()) == {found[ids[0]], found[ids[1]], (None, None, None, None)}
    assert problems(corpus, "not_joined") == ["1 of 3 are about no trajectory of these ids that was read: nobody …"]
    assert problems(corpus, "unreadable_record") == ["an annotation without trace_id"]
    facts = corpus.facts.collect()
    assert facts.filter(pl.col("native_id") == "nobody")["trajectories"].to_list() == [0]
    assert facts["trajectories"].sum() == facts.height - 1


def test_a_companion_that_comes_later_changes_the_overlay_and_no_part(tmp_path: Path) -> None:
    run = copied(STREAM, tmp_path)
    notes = (run / NOTES).read_bytes()
    shutil.rmtree(run / "annotations")
    first = trajlab.ingest(run, out=tmp_path / "corpus")
    assert first.trajectories.select(pl.col("effective").count()).collect().item() == 0
    before = mtimes(tmp_path / "corpus" / "parts")
    (run / NOTES).parent.mkdir(parents=True)
    (run / NOTES).write_bytes(notes)
    engine = Counting()
    options: dict[str, Any] = {"engine": engine}
    second = trajlab.ingest(run, out=tmp_path / "corpus", **options)
    assert engine.read == []
    assert mtimes(tmp_path / "corpus" / "parts") == before
    assert second.trajectories.select(pl.col("effective").sum()).collect().item() == 2


def test_the_state_of_a_trainer_tells_epoch_and_split_by_step(tmp_path: Path) -> None:
    run = copied("trl/messages", tmp_path)
    state = json.loads((run / "trainer_state.json").read_bytes())
    state["log_history"].append({"step": 2, "epoch": 1.0, "eval_reward": 0.5})
    (run / "trainer_state.json").unlink()
    save(run / "checkpoint-2" / "trainer_state.json", state)
    corpus = trajlab.read(run)
    rows = corpus.trajectories.select("train_step", "split", "epoch").unique().sort("train_step").collect()
    assert rows.rows() == [(1, "train", 0), (2, "eval", 0)]
    totals = corpus.totals.select("of", "agrees").collect().rows()
    assert totals == [("step 1", True)], "completions of an evaluation are a part of it"
    settings = dict(corpus.run_config.select("name", "configured").collect().rows())
    assert settings["num_train_epochs"] == "1"
    assert corpus.run_config.collect()["run"].unique().to_list() == ["run"]


def test_a_state_does_not_reach_another_run(tmp_path: Path) -> None:
    copied("trl/messages", tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "run" / "trainer_state.json").rename(tmp_path / "b" / "trainer_state.json")
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.select(pl.col("epoch").count()).collect().item() == 0
    assert corpus.totals.collect().is_empty()


def test_totals_that_contradict_what_was_read_are_problems_and_fail_the_gate(tmp_path: Path) -> None:
    run = copied("rllm/episode_logger/episodes", tmp_path)
    sound = read_state(trajlab.read(run), None)
    assert (sound.reconcilable, sound.reconciled) == (16, 16), "12 episodes state their steps, 2 summaries two totals"
    lost = next((run / "train_step_1_epoch_0").glob("episode_*_0.json"))
    lost.unlink()
    corpus = trajlab.read(run)
    assert "it states 8 as files, 7 were read" in problems(corpus, "not_reconciled")
    broken = read_state(corpus, None)
    assert broken.reconciled < broken.reconcilable


def test_attempts_that_left_no_record_are_counted(tmp_path: Path) -> None:
    run = copied("nemo_gym/word_problems", tmp_path)
    rows = [json.loads(line) for line in (run / "rollouts_materialized_inputs.jsonl").read_text().splitlines()]
    save(run / "rollouts_materialized_inputs.jsonl", *rows, rows[0] | {"_ng_rollout_index": 7})
    corpus = trajlab.read(run)
    files = "rollouts.jsonl and rollouts_failures.jsonl"
    said = f"10 attempts were planned ({files}), 9 have a record: killed ones leave none"
    assert problems(corpus, "attempts_missing") == [said]
    planned = corpus.totals.filter(pl.col("name") == "attempts").collect().row(0, named=True)
    assert (planned["stated"], planned["counted"], planned["agrees"]) == (10, 9, None)


def test_a_failed_attempt_that_was_made_again_is_replaced(tmp_path: Path) -> None:
    run = copied("nemo_gym/word_problems", tmp_path)
    failures = run / "rollouts_failures.jsonl"
    first = json.loads(failures.read_text().splitlines()[0])
    save(failures, first, first | {"_ng_attempt_index": 1}, first | {"_ng_task_index": 0, "_ng_rollout_index": 0})
    frame = trajlab.read(run).trajectories.filter(pl.col("variant") == "failures").collect()
    frame = frame.sort("group_id", pl.col("ordinal").cast(pl.Int64))
    assert frame["superseded"].to_list() == [True, True, False], "the rollout came; an earlier failure; the last one"


def test_nothing_of_a_companion_is_left_out_without_a_reason() -> None:
    corpus = trajlab.read(SAMPLES)
    companions = corpus.sources.filter(pl.col("role") == "companion").collect()
    used = {
        *corpus.facts.collect()["source"], *corpus.totals.collect()["source"], *corpus.outcomes.collect()["source"],
        *corpus.run_config.collect()["source"], *corpus.problems.collect()["source"],
    }  # fmt: skip
    silent = companions.filter(~pl.col("source").is_in(list(used)) & pl.col("note").is_null())
    assert silent["source"].to_list() == []
    assert not corpus.totals.filter(~pl.col("agrees")).collect().height


def test_what_facts_fill_is_declared() -> None:
    assert set(FACT_COLUMNS) <= set(OVERLAY.names)
    for name in COMPANIONS:
        module = companion_format(name)
        for variant, about in module.VARIANTS.items():
            if about.carries & set(FACT_COLUMNS):
                assert speaks_of(module, variant), f"{name}.{variant}"
