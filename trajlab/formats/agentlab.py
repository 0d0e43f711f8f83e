"""AgentLab and BrowserGym: ``summary_info.json`` of an experiment's folder.

Source: browsergym-experiments 0.14.3, ``loop.py``. The steps themselves are pickles, which are not loaded: what is read
is how the episode ended and what it cost. Its steps are therefore stated, not counted. Agent and task stand in the
folder's name; seeds of one task are one task.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from trajlab.behavior.termination import AGENTLAB
from trajlab.formats import Variant
from trajlab.formats._values import Records, count, flag, mapping, number, read_document, total
from trajlab.records import Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "summary": Variant(
        "`<date>_<agent>_on_<task>_<seed>/summary_info.json`, without the steps",
        frozenset(
            {
                "native_id", "task_id", "agent", "reward", "logged_correct", "logged_outcome", "logged_termination",
                "stop_reason", "gradable", "logged_steps", "prompt_tokens", "completion_tokens", "cost", "seconds",
            }
        ),
        whole=True,
    ),
}  # fmt: skip

_NAME = "summary_info.json"
_KEYS = frozenset({"n_steps", "cum_reward", "cum_raw_reward", "err_msg"})
_FOLDER = re.compile(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_(.{1,200}?)_on_(.{1,200}?)_\d{1,10}(?:_\d{1,3})?")


def recognise(probe: Probe) -> str | None:
    """By its name and keys."""
    return "summary" if probe.name == _NAME and probe.shape == "object" and probe.keys >= _KEYS else None


def read(bundle: Bundle) -> Records:
    """One trajectory an experiment."""
    yield from read_document(bundle, lambda value: iter([_trajectory(value, bundle)]), "a summary of AgentLab")


def _trajectory(value: Any, bundle: Bundle) -> Trajectory:
    if not isinstance(value, dict):
        raise ValueError(f"found {type(value).__name__}")
    summary = mapping(value)
    folder = PurePosixPath(bundle.file.path).parent.name
    trajectory = Trajectory(
        bundle.variant,
        "0",
        native_id=folder or None,
        reward=number(summary.get("cum_reward")),
        logged_steps=count(summary.get("n_steps")),
        prompt_tokens=count(summary.get("stats.cum_input_tokens")),
        completion_tokens=count(summary.get("stats.cum_output_tokens")),
        cost=number(summary.get("stats.cum_cost")),
        seconds=total(number(summary.get(f"stats.cum_{part}_elapsed")) for part in ("step", "agent")),
    )
    if named := _FOLDER.fullmatch(folder):
        trajectory.agent, trajectory.task_id = named[1], named[2]
    _end(trajectory, summary)
    return trajectory


def _end(trajectory: Trajectory, summary: dict[str, Any]) -> None:
    """An error is no verdict, whatever the reward says; an episode that is not over has none."""
    reasons = [name for name in ("terminated", "truncated") if flag(summary.get(name))]
    if summary.get("err_msg") is not None:
        reasons = ["err_msg"]
    trajectory.stop_reason = reasons[0] if reasons else None
    trajectory.termination = AGENTLAB[reasons[0]] if reasons else "incomplete"
    trajectory.gradable = bool(reasons) and reasons != ["err_msg"]
    if trajectory.gradable and trajectory.reward is not None:
        trajectory.correct = trajectory.outcome = trajectory.reward > 0
