"""ROLL: ``rollout_dump_data.step_{N}.jsonl``; one line holds a whole step as columns of equal length.

Pipelines of verifiable rewards dump flat texts without special tokens; agentic ones dump messages, tools and what
the environment manager knows of a trajectory, as JSON text. Training and validation share the files' names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from trajlab.formats import Variant
from trajlab.formats._trainer_rows import (
    Fields,
    Row,
    add_cleaning,
    digest,
    first_object,
    prompt_task,
    reward_parts,
    rows,
)
from trajlab.formats._trainer_turns import chat_messages, fill_from_messages, fill_from_text, prompt_text, tool_names
from trajlab.records import Problem, RewardPart, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.safe_json import loads, to_bool

VARIANTS = {
    "rlvr": Variant(
        "columns `id`, `prompt`, `responses`, `scores`, `domain`, …",
        frozenset(
            {
                "task_id", "group_id", "train_step", "agent", "reward", "logged_termination", "stop_reason",
                "tools_offered",
            }
        ),
    ),
    "agentic": Variant(
        "columns `messages`, `tools`, `trajectory_data` as JSON text, `exp_name`",
        frozenset(
            {
                "native_id", "task_id", "group_id", "split", "train_step", "agent", "reward", "logged_termination",
                "stop_reason", "logged_steps", "steps_allowed", "tools_offered",
            }
        ),
    ),
}  # fmt: skip

_ENDS = {
    "FINISH": "ended",
    "MAX_LENGTH": "truncated_budget",
    "MAX_STEPS": "truncated_budget",
    "INTERRUPT": "incomplete",
    "ABORT": "incomplete",
    "ENV_TIMEOUT": "timeout",
    "ENV_RESET_FAILED": "environment_error",
}
_SPLITS = {"val": "validation"}


def recognise(probe: Probe) -> str | None:
    """By columns: lists under the names of one pipeline or the other."""
    first = first_object(probe, "lines", "object", keys=("global_step",))
    if first is None or not isinstance(first.get("global_step"), list):
        return None
    if isinstance(first.get("responses"), list) and isinstance(first.get("prompt"), list):
        return "rlvr"
    agentic = isinstance(first.get("messages"), list) and ("trajectory_data" in first or "tools" in first)
    return "agentic" if agentic else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory for each place of the columns."""
    for line in rows(bundle):
        if isinstance(line, Problem):
            yield line
            continue
        yield from _samples(line)


def _samples(line: Row) -> Iterator[Trajectory | Problem]:
    columns = {name: value for name, value in line.value.items() if isinstance(value, list)}
    leading = "responses" if "responses" in columns else "messages"
    samples = len(columns.get(leading, ()))
    if not samples:
        yield line.problem("wrong_type", "no column `responses` or `messages` with samples in it")
        return
    problems: list[Problem] = []
    for name, value in line.value.items():
        if not isinstance(value, list) or len(value) != samples:
            found = f"a column of {len(value)}" if isinstance(value, list) else type(value).__name__
            message = f"`{name}` is {found}, expected a column of {samples}; read as not recorded"
            problems.append(line.problem("wrong_type", message))
            columns.pop(name, None)
    for number in range(samples):
        value = {name: column[number] for name, column in columns.items()}
        row = msgspec.structs.replace(line, value=value, ordinal=f"{line.ordinal}.{number}")
        trajectory = _flat(row) if leading == "responses" else _agentic(row)
        if number == 0:
            trajectory.problems = problems + trajectory.problems
            add_cleaning(trajectory, line)
        yield trajectory


def _flat(row: Row) -> Trajectory:
    problems: list[Problem] = []
    fields = Fields(row.value, row, problems)
    trajectory = Trajectory("rlvr", row.ordinal, line=row.line)
    trajectory.train_step = fields.whole("global_step")
    trajectory.task_id = fields.word("id")
    trajectory.agent = fields.text("domain") or "roll"
    prompt = fields.text("prompt")
    fill_from_text(trajectory, fields.text("responses") or "", prompt)
    group = trajectory.task_id or (digest(prompt) if prompt is not None else None)
    if group is not None and trajectory.train_step is not None:
        trajectory.group_id = f"{trajectory.train_step}:{group}"
    trajectory.reward = fields.number("scores")
    trajectory.problems += problems
    return trajectory


def _agentic(row: Row) -> Trajectory:
    problems: list[Problem] = []
    value = {name: _parsed(inner) if name in _JSON_COLUMNS else inner for name, inner in row.value.items()}
    fields = Fields(value, row, problems)
    trajectory = Trajectory("agentic", row.ordinal, line=row.line)
    trajectory.train_step = fields.whole("global_step")
    trajectory.run = fields.text("exp_name")
    data = fields.inner("trajectory_data")
    environment, rewards = data.inner("env_info"), data.inner("reward_info")
    trajectory.native_id = data.text("trajectory_id")
    trajectory.agent = environment.text("tag") or "roll"
    mode = environment.text("mode")
    trajectory.split = _SPLITS.get(mode or "", mode)
    trajectory.steps_allowed = environment.whole("max_steps")
    messages = chat_messages(fields.items("messages"), row, problems)
    first = next((n for n, message in enumerate(messages) if message.role == "assistant"), len(messages))
    fill_from_messages(trajectory, messages[:first], messages[first:], cut=False)
    trajectory.logged_steps = data.inner("length_info").whole("num_actions")
    trajectory.task_id = environment.word("task_id") or prompt_task(prompt_text(trajectory.messages))
    group = [environment.word(name) for name in ("tag", "group_id", "episode_id", "seed")]
    trajectory.group_id = "_".join(part for part in group if part is not None) or None
    trajectory.tools_offered = tool_names(fields.items("tools")) if "tools" in fields else None
    trajectory.reward = rewards.number("episode_reward")
    steps = enumerate(rewards.items("step_rewards"), 1)
    given = [(number, reward_parts({"step": reward})) for number, reward in steps]
    trajectory.rewards = [RewardPart("step", part[0].value, applied_step=number) for number, part in given if part]
    _add_end(trajectory, data)
    trajectory.problems += problems
    return trajectory


_JSON_COLUMNS = ("messages", "tools", "trajectory_data")


def _parsed(value: Any) -> Any:
    """A value that stands as JSON text; what is none stays text, and is told as of the wrong type."""
    if not isinstance(value, str):
        return value
    try:
        return loads(value.encode("utf-8", "replace")).value
    except ValueError:
        return value


def _add_end(trajectory: Trajectory, data: Fields) -> None:
    failure, length = data.inner("failure_info"), data.inner("length_info")
    reason = failure.text("stop_reason")
    trajectory.stop_reason = failure.text("failure_mode") or reason
    if to_bool(failure.value.get("has_failure")):
        mode = (failure.text("failure_mode") or "").lower()
        trajectory.termination = "timeout" if "timeout" in mode else "environment_error"
    elif reason is not None:
        trajectory.termination = _ENDS.get(reason.upper(), "unknown")
    elif to_bool(length.value.get("truncated")):
        trajectory.termination = "truncated_budget"
    elif to_bool(length.value.get("terminated")):
        trajectory.termination = "ended"
