"""The same files by independent readers: plain json, pandas, verl's own metrics."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

sys.path[:0] = [str(Path(__file__).resolve().parent / "studies")]

from totals import compare, summary  # noqa: E402

import trajlab  # noqa: E402
from trajlab.corpus.totals import COUNTED  # noqa: E402


def test_totals_that_scaffolds_state_are_those_read(shared: Path) -> None:
    samples = shared / "samples"
    found = compare(samples / "public", samples / "written", samples / "corpora")
    differ = found.filter(~pl.col("agrees"))
    # The model raised within its second call: it was counted, and left no message.
    assert differ.select("source", "total", "stated", "counted").rows() == [
        ("mini_swe_agent_2.4.6/text_uncaught_exception.traj.json", "model calls", 2.0, 1.0)
    ]
    agree = {(row[0], row[1]): row[4] for row in summary(found).iter_rows()}
    assert agree["mini_swe_agent", "model calls"] == 119
    assert agree["mini_swe_agent", "cost"] >= 117
    assert agree["swe_agent", "model calls"] == 5
    assert agree["openhands", "model calls"] == 3
    assert agree["atif", "model calls"] == 28
    assert agree["atif", "prompt tokens"] == 3


def test_tau2_states_its_cost(tmp_path: Path) -> None:
    samples = Path(__file__).resolve().parents[1] / "data_samples" / "tau2" / "document"
    found = compare(samples)
    assert found["agrees"].to_list() == [True] * found.height
    assert set(found["total"]) == {"model calls", "cost"}


def test_trl_by_pandas(shared: Path) -> None:
    folder = shared / "samples" / "written" / "trainers" / "trl_1.16.0" / "run1" / "completions"
    corpus = trajlab.read(folder)
    ours = corpus.trajectories.collect()
    rewards = corpus.rewards.collect()
    frames = {path.name: pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}
    assert ours.height == sum(map(len, frames.values())) == 560
    for name, frame in frames.items():
        own = ours.filter(pl.col("source") == name)
        assert own.height == len(frame)
        assert own["train_step"].to_list() == frame["step"].tolist()
        assistants = [sum(one["role"] == "assistant" for one in said) for said in frame["completion"]]
        assert own["n_steps"].to_list() == assistants, name
        parsed = [sum(len(one["tool_calls"]) for one in said if one.get("tool_calls") is not None)
                  for said in frame["completion"]]  # fmt: skip
        answers = [sum(one["role"] == "tool" for one in said) for said in frame["completion"]]
        raw = [any("<tool_call>" in (one["content"] or "") for one in said) for said in frame["completion"]]
        assert [calls or 0 for calls in own["n_executed"]] == answers, name
        # Turns that TRL's template could not parse stay text, in which we find their calls, whole or malformed.
        for calls, known, is_raw in zip(own["n_calls"], parsed, raw, strict=True):
            assert calls > known if is_raw else calls == known, name
        sums = frame[["correctness", "format_reward", "sparse_none"]].sum(axis=1, min_count=1)
        assert own["reward"].to_list() == pytest.approx(sums.tolist()), name
        parts = rewards.join(own.select("trajectory_id"), on="trajectory_id", how="semi")
        sparse = parts.filter(pl.col("name") == "sparse_none")["value"]
        assert sparse.to_list() == pytest.approx(frame["sparse_none"].dropna().tolist()), name


@pytest.mark.parametrize("version", ["v0", "v1"])
def test_verls_own_metrics_of_the_same_batch(version: str, shared: Path) -> None:
    folder = shared / "samples" / "written" / "trainers" / "verl"
    log = (folder / "file_logger" / "tiny_shop" / "grpo_cpu.jsonl").read_text(encoding="utf-8")
    stated = {row["step"]: row["data"] for row in map(json.loads, filter(None, log.split("\n")))}
    ours = trajlab.read(folder / f"rollout_data_dir_{version}").trajectories.collect()
    assert sorted(ours["train_step"].unique()) == [1, 2, 3]
    for (step,), own in ours.partition_by("train_step", as_dict=True).items():
        data = stated[step]
        assert own["reward"].mean() == pytest.approx(data["critic/score/mean"], abs=1e-6)
        assert own["reward"].max() == pytest.approx(data["critic/score/max"], abs=1e-6)
        # verl counts user and assistant turns, and one more for the prompt: two for each turn of the agent.
        turns = 2 * own["n_steps"]
        assert (turns.mean(), turns.min(), turns.max()) == tuple(data[f"num_turns/{k}"] for k in ("mean", "min", "max"))


def test_what_companions_may_count_is_declared() -> None:
    assert set(COUNTED) >= {"files", "files.correct", "attempts", "reward.mean", "trajectories"}
