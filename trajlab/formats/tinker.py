"""tinker-cookbook: stored trajectories of its evaluation benchmarks, ``runs/{id}/{benchmark}/trajectories.jsonl``.

The summaries of training rollouts (``…_rollout_summaries.jsonl``) hold lengths and rewards but no word of what an agent
did: to read them as trajectories would claim that nothing was called. They are known as companions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._chat_text import calls_in_text
from trajlab.formats._trainer_rows import Fields, Row, add_cleaning, first_object, reward_parts, rows
from trajlab.formats._trainer_turns import chat_messages, fill_from_messages
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.safe_json import to_bool

VARIANTS = {
    "benchmark": Variant(
        "`trajectories.jsonl` of a benchmark: turns as text, reward, metrics, error (0.6)",
        frozenset(
            {
                "task_id", "group_id", "split", "agent", "reward", "logged_correct", "logged_termination",
                "stop_reason", "completion_tokens", "seconds",
            }
        ),
    ),
}  # fmt: skip

_KEYS = {"idx", "benchmark", "turns", "reward"}
_VERDICTS = ("correct", "acc", "is_correct", "resolved")


def recognise(probe: Probe) -> str | None:
    """By the keys of the first record that is an object."""
    first = first_object(probe, "lines")
    known = first is not None and first.keys() >= _KEYS and isinstance(first["turns"], list)
    return "benchmark" if known else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a line."""
    for row in rows(bundle):
        yield row if isinstance(row, Problem) else _trajectory(row)


def _trajectory(row: Row) -> Trajectory:
    problems: list[Problem] = []
    fields = Fields(row.value, row, problems)
    trajectory = Trajectory("benchmark", row.ordinal, split="eval", agent="tinker", line=row.line)
    benchmark, example = fields.text("benchmark"), fields.text("example_id") or fields.word("idx")
    trajectory.task_id = example
    trajectory.group_id = f"{benchmark}:{example}" if benchmark is not None and example is not None else None
    turns = fields.objects("turns")
    fill_from_messages(trajectory, [], chat_messages(_messages(turns), row, problems), cut=False)
    counts = [turn.whole("token_count") for turn in turns if turn.value.get("role") == "assistant"]
    for step, count in zip(trajectory.steps, counts, strict=False):
        step.completion_tokens = count or None  # 0 is what stands where nobody counted
    known = [step.completion_tokens for step in trajectory.steps if step.completion_tokens is not None]
    trajectory.completion_tokens = sum(known) if known else None
    metrics = fields.inner("metrics")
    trajectory.reward = fields.number("reward")
    trajectory.rewards = reward_parts(metrics.value)
    for part in trajectory.rewards:
        part.weight = 0.0
    trajectory.correct = to_bool(next((metrics.value[name] for name in _VERDICTS if name in metrics), None))
    trajectory.seconds = fields.number("time_seconds") or None
    error = fields.text("error")
    if error is not None:
        trajectory.stop_reason, trajectory.termination = error[:200], "infrastructure_error"
    trajectory.problems += problems
    add_cleaning(trajectory, row)
    return trajectory


def _messages(turns: list[Fields]) -> list[dict[str, Any]]:
    """Turns with roles of chat; what the environment says after calls are their results."""
    found: list[dict[str, Any]] = []
    waiting = 0
    for turn in turns:
        role, content = turn.value.get("role"), turn.value.get("content")
        if role == "assistant":
            waiting = len(calls_in_text(content)[2]) if isinstance(content, str) else 0
        elif role == "environment":
            role = "tool" if waiting else "user"
            waiting -= waiting > 0
        found.append({"role": role, "content": content})
    return found
