"""One run in two formats gives the same behaviour where both carry it, and *not recorded* where one does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import trajlab
from trajlab.schema import BEHAVIOUR

REFUSED = {"text_recovered_format_error", "text_repeated_format_error"}
"""Harbor's converter leaves out turns that the scaffold refused."""
RUNS = (
    "responses_submitted", "text_submitted", "text_time_limit", "text_uncaught_exception", "toolcall_cmd_timeout",
    "toolcall_cost_limit", "toolcall_multi", "toolcall_step_limit", "toolcall_submitted",
)  # fmt: skip
NOT_CARRIED = ("termination", "stop_reason", "submission_chars", "correct")
"""What ATIF has no place for."""


def one(path: Path) -> dict[str, Any]:
    frame = trajlab.read(path).trajectories.collect()
    assert frame.height == 1
    return frame.row(0, named=True)


@pytest.mark.parametrize("name", RUNS)
def test_mini_swe_agent_and_its_conversion_to_atif(name: str, shared: Path) -> None:
    written = shared / "samples" / "written"
    native = one(written / "mini_swe_agent_2.4.6" / f"{name}.traj.json")
    converted = one(written / "harbor_0.26.0_atif" / f"mini__{name}.trajectory.json")
    # The command that submits has no result in the conversion: one call executed less, one message less.
    submits = int(native["stop_reason"] == "Submitted")
    assert native["n_executed"] - converted["n_executed"] == submits
    assert native["n_messages"] - converted["n_messages"] == submits
    own = [column for column in BEHAVIOUR.names[1:] if column not in ("n_executed", "n_messages")]
    carried = [*own, "agent_chars", "reasoning_chars", "completion_tokens", "prompt_tokens", "cost"]
    differ = {column: (native[column], converted[column]) for column in carried if native[column] != converted[column]}
    # Whether a think tool is offered is not recorded; nothing else is.
    assert differ == {"think_offered": (False, None)}
    assert [converted[column] for column in NOT_CARRIED] == [None] * 4
    assert native["stop_reason"] is not None and native["termination"] is not None


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_turns_are_all_that_a_conversion_loses(name: str, shared: Path) -> None:
    written = shared / "samples" / "written"
    native = one(written / "mini_swe_agent_2.4.6" / f"{name}.traj.json")
    converted = one(written / "harbor_0.26.0_atif" / f"mini__{name}.trajectory.json")
    assert native["n_steps"] - converted["n_steps"] == native["n_invalid"] > 0
    assert converted["n_invalid"] == 0
    assert native["n_calls"] == converted["n_calls"]


WRITERS = {
    "verl": "verl/rollout_data_dir_v0", "verl V1": "verl/rollout_data_dir_v1", "slime": "slime",
    "rllm": "rllm/episodes", "areal": "areal", "roll": "roll", "nemo_rl": "nemo_rl",
}  # fmt: skip
"""The same 48 rollouts, given to the writers of six trainers."""
BEHAVES = ("n_steps", "n_calls", "n_executed", "n_invalid", "n_think", "repeat_run", "text_repetition", "any_test")


def rollouts(folder: Path) -> pl.DataFrame:
    """The training rollouts, in an order that no format decides."""
    frame = trajlab.read(folder).trajectories.filter(pl.col("split").fill_null("train") == "train").collect()
    steps = frame["train_step"].rank("dense").cast(pl.Int64)
    facts = ("agent_chars", "correct", "policy_version_last")
    kept = frame.with_columns(batch=steps).select("batch", "reward", *BEHAVES, *facts)
    return kept.sort("batch", "reward", *BEHAVES, "agent_chars", nulls_last=True)


@pytest.fixture(scope="module")
def written(shared: Path) -> dict[str, pl.DataFrame]:
    place = shared / "samples" / "written" / "trainers"
    return {name: rollouts(place / path) for name, path in WRITERS.items()}


def test_six_trainers_write_the_same_rollouts(written: dict[str, pl.DataFrame]) -> None:
    expected = written["verl"]
    assert expected.height == 48
    differ = {}
    for name, frame in written.items():
        assert frame["batch"].to_list() == expected["batch"].to_list(), name
        assert (frame["reward"] - expected["reward"]).abs().max() < 1e-6, name  # type: ignore[operator]
        assert frame["n_steps"].sort().to_list() == expected["n_steps"].sort().to_list(), name
        for column in BEHAVES:
            sums = [one.group_by("batch").agg(pl.col(column).sum()).sort("batch")[column].to_list()
                    for one in (frame, expected)]  # fmt: skip
            if sums[0] != sums[1]:
                differ[name, column] = sums
    # In one rollout the model wrote a turn marker of its template. slime and AReaL keep it, and what follows it is no
    # turn of the agent's; the others strip it, and two malformed calls follow.
    one_rollout = {
        "n_calls": [[36, 40, 35], [36, 40, 37]],
        "n_invalid": [[4, 6, 11], [4, 6, 13]],
        "repeat_run": [[18, 18, 16], [18, 18, 17]],
    }
    assert differ == {(name, column): sums for name in ("slime", "areal") for column, sums in one_rollout.items()}


def test_what_a_trainer_does_not_write_is_not_recorded(written: dict[str, pl.DataFrame]) -> None:
    verdicts = {name: frame["correct"].count() for name, frame in written.items()}
    assert verdicts == {"verl": 48, "verl V1": 0, "slime": 48, "rllm": 48, "areal": 0, "roll": 0, "nemo_rl": 0}
    known = {name: frame["correct"].sum() for name, frame in written.items() if verdicts[name]}
    assert set(known.values()) == {8}
    versions = {name for name, frame in written.items() if frame["policy_version_last"].count()}
    assert versions == {"slime", "areal"}
