"""TRL: ``completions/completions_{step:05d}.parquet``, written by the GRPO trainer with ``log_completions``.

A row is one sample: prompt, completion (text, or messages), a column per reward function, the columns of
``log_extra`` and the advantage. What is not stored stays null: the weights of the reward functions, so the
reward is their plain sum only where the advantages of every group agree with it; the split, for training
and evaluation share the files' names; tokens and the end of a sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._trainer_rows import Fields, Row, digest, prompt_task, reward_parts, rows
from trajlab.formats._trainer_turns import chat_messages, fill_from_messages, fill_from_text, prompt_text
from trajlab.records import Problem, Step, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import parquet_rows
from trajlab.sources.safe_json import added, to_float

_CARRIED = frozenset(
    {
        "task_id", "group_id", "train_step", "agent", "reward", "logged_correct", "logged_termination", "stop_reason",
    }
)  # fmt: skip

VARIANTS = {
    "messages": Variant("GRPOTrainer completions, conversational: prompt and completion are messages", _CARRIED),
    "text": Variant("GRPOTrainer completions, plain: prompt and completion are text", _CARRIED),
}

_BASE = ("step", "prompt", "completion", "advantage", "reward")
_TASKS = ("task_id", "instance_id", "problem_id")
_VERDICTS = ("acc", "is_correct", "correct", "resolved")
_AGREEING = 0.9
"""Share of groups whose advantages must follow the summed rewards; a repeated prompt may join two groups."""


def recognise(probe: Probe) -> str | None:
    """Whether the columns are TRL's, and of which kind the first completion is."""
    if probe.shape != "parquet" or not {"step", "prompt", "completion", "advantage"} <= set(probe.columns):
        return None
    for record in probe.records:
        if isinstance(record.get("completion"), str):
            return "text"
        if isinstance(record.get("completion"), list):
            return "messages"
    return None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a row."""
    names, problem = _reward_names(bundle)
    if problem is not None:
        yield problem
    reader = _Reader(bundle.variant, names)
    for row in rows(bundle):
        yield row if isinstance(row, Problem) else reader.read(row)


class _Reader:
    def __init__(self, variant: str, reward_names: Sequence[str] | None) -> None:
        self.variant = variant
        self.reward_names = reward_names
        self._prompt: str | None = None
        self._group = 0
        self._groups: dict[tuple[int | None, str], int] = {}

    def read(self, row: Row) -> Trajectory:
        problems: list[Problem] = []
        fields = Fields(row.value, row, problems)
        step = fields.whole("step")
        trajectory = Trajectory(self.variant, row.ordinal, train_step=step, agent="trl", line=row.line)
        trajectory.task_id = next((fields.word(name) for name in _TASKS if name in fields), None)
        prompt = self._fill(trajectory, row, problems)
        if prompt:
            trajectory.group_id = self._group_of(step, prompt)
            trajectory.task_id = trajectory.task_id or prompt_task(prompt)
        own = {name: value for name, value in row.value.items() if name not in _BASE}
        trajectory.rewards = reward_parts(own)
        values = [row.value.get(name) for name in self.reward_names or ()]
        given = [number for number in map(to_float, values) if number is not None]
        trajectory.reward = added(given) if given else fields.number("reward")
        verdict = next((name for name in _VERDICTS if name in fields), None)
        trajectory.correct = fields.truth(verdict) if verdict else None
        trajectory.problems += problems
        return trajectory

    def _fill(self, trajectory: Trajectory, row: Row, problems: list[Problem]) -> str:
        """Take the turns; returns the prompt as text."""
        prompt, completion = row.value.get("prompt"), row.value.get("completion")
        if isinstance(completion, str):
            fill_from_text(trajectory, completion, prompt if isinstance(prompt, str) else None)
            return prompt if isinstance(prompt, str) else ""
        fields = Fields(row.value, row, problems)
        before = chat_messages(fields.items("prompt"), row, problems)
        made = fields.items("completion")
        fill_from_messages(trajectory, before, chat_messages(made, row, problems))
        _settle(trajectory.steps, [message for message in made if isinstance(message, dict)])
        return prompt_text(trajectory.messages)

    def _group_of(self, step: int | None, prompt: str) -> str:
        """Samples of one prompt stand together; the same prompt elsewhere in the file is another group."""
        key = (step, digest(prompt))
        name = f"{step}:{key[1]}"
        if name != self._prompt:
            self._prompt = name
            self._group = self._groups[key] = self._groups.get(key, 0) + 1
        return name if self._group == 1 else f"{name}:{self._group}"


def _settle(steps: Sequence[Step], made: Sequence[dict[str, Any]]) -> None:
    """Calls in the text of a last message without ``tool_calls``: TRL parsed none of them, so it ran none.

    Where a call was answered and no message has any, something else than TRL may run what it finds in texts.
    """
    if not steps or not made or made[-1].get("tool_calls"):
        return
    native = any(message.get("tool_calls") for message in made)
    if not native and any(call.executed for step in steps for call in step.calls):
        return
    for call in steps[-1].calls:
        if call.executed is None:
            call.executed = False


def _reward_names(bundle: Bundle) -> tuple[list[str] | None, Problem | None]:
    """Columns that are reward functions: the longest run after the completion whose sum fits the advantages."""
    table = list(parquet_rows(bundle, []))
    columns = [name for name in (table[0] if table else {}) if name not in _BASE]
    candidates: list[str] = []
    for name in columns:  # reward functions come before what `log_extra` adds
        if not all(row.get(name) is None or isinstance(row.get(name), float) for row in table):
            break
        candidates.append(name)
    if not candidates:
        return None, None
    for count in range(len(candidates), 0, -1):
        if _agree(table, candidates[:count]):
            return candidates[:count], None
    message = (
        f"the sum of {', '.join(candidates)} does not follow the logged advantages: the reward functions were "
        "weighted, and the weights are not logged; the reward is read as not recorded"
    )
    return None, Problem("not_reconciled", message)


def _agree(table: list[dict[str, Any]], names: list[str]) -> bool:
    """Within a group advantages are a rising straight line over rewards, whatever their scaling."""
    agreeing = groups = 0
    for _, group in groupby(table, key=lambda row: str(row.get("prompt"))):
        points = []
        for row in group:
            advantage = to_float(row.get("advantage"))
            given = [number for number in (to_float(row.get(name)) for name in names) if number is not None]
            reward = added(given)
            if advantage is not None and reward is not None:
                points.append((reward, advantage))
        groups += 1
        try:
            agreeing += _on_a_line(points)
        except (OverflowError, ValueError):
            continue  # numbers that no reward function gives
    return agreeing >= _AGREEING * groups


def _on_a_line(points: list[tuple[float, float]]) -> bool:
    if len(points) < 2:
        return True
    mean_x = math.fsum(x for x, _ in points) / len(points)
    mean_y = math.fsum(y for _, y in points) / len(points)
    spread = math.fsum((x - mean_x) ** 2 for x, _ in points)
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread > 1e-9 else 0.0
    tolerance = 1e-3 * max(abs(y) for _, y in points) + 1e-4
    return slope >= 0 and all(abs(y - mean_y - slope * (x - mean_x)) <= tolerance for x, y in points)
