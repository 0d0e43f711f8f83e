"""slime: ``rollout_data/{rollout_id}.pt``, what ``save_debug_rollout_data`` writes with ``torch.save``.

Read without torch and without unpickling. Prompt and response keep their special tokens; a sample counts its own
generated tokens by the loss mask and its calls of the model by their weight versions. The trainer's shards
(``train_data``) hold tokens without text and are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._trainer_rows import Fields, Row, prompt_task, reward_parts
from trajlab.formats._trainer_turns import chat_messages, fill_from_text, prompt_messages, prompt_text
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.safe_json import to_bool
from trajlab.sources.torch_file import load_torch

VARIANTS = {
    "rollout": Variant(
        "`{rollout_id}.pt` and `eval_{rollout_id}.pt`: samples with text, tokens, masks, weight versions",
        frozenset(
            {
                "native_id", "task_id", "group_id", "split", "train_step", "agent", "reward", "logged_correct",
                "logged_termination", "stop_reason", "policy_version_first", "policy_version_last", "logged_steps",
                "completion_tokens", "prompt_tokens", "cached_tokens", "tools_offered",
            }
        ),
    ),
}  # fmt: skip

_TASKS = ("task_id", "instance_id", "problem_id", "task", "id")
_VERDICTS = ("acc", "is_correct", "correct", "resolved")
_TOTALS = ("score", "reward")
_ENDS = {
    "completed": "ended",
    "truncated": "truncated_budget",
    "aborted": "incomplete",
    "pending": "incomplete",
    "failed": "infrastructure_error",
}


def recognise(probe: Probe) -> str | None:
    """By the names of the first member and of the keys that stand first in it."""
    if probe.shape != "zip" or b"data.pkl" not in probe.head[:512]:
        return None
    return "rollout" if b"rollout_id" in probe.head and b"samples" in probe.head else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a sample."""
    try:
        value = load_torch(Path(bundle.file.path))
    except ValueError as error:
        yield Problem("unreadable_record", str(error))
        return
    samples = value.get("samples") if isinstance(value, dict) else None
    if not isinstance(samples, list):
        yield Problem("unreadable_record", "no list of samples; expected {rollout_id, samples}")
        return
    if "dp_shards" in value:
        yield Problem("not_read", f"training data of {len(samples)} samples: tokens without text")
        return
    problems: list[Problem] = []
    step = Fields(value, Row({}, "0"), problems).whole("rollout_id")
    yield from problems
    split = "eval" if "eval_" in bundle.file.relpath.rpartition("/")[2] else "train"
    for number, sample in enumerate(samples):
        if isinstance(sample, dict):
            yield _trajectory(Row(sample, str(number)), step, split)
        else:
            yield Problem("unreadable_record", f"sample {number} is no dictionary but {type(sample).__name__}")


def _trajectory(row: Row, step: int | None, split: str) -> Trajectory:
    problems: list[Problem] = []
    fields = Fields(row.value, row, problems)
    trajectory = Trajectory("rollout", row.ordinal, train_step=step, split=split, agent="slime")
    trajectory.native_id = fields.word("index")
    metadata = fields.inner("metadata")
    named = next((metadata.word(name) for name in _TASKS if isinstance(metadata.value.get(name), (str, int))), None)
    _fill(trajectory, fields, row, problems)
    trajectory.task_id = named or trajectory.task_id or prompt_task(prompt_text(trajectory.messages))
    group = fields.word("group_index")
    if group is not None:
        trajectory.group_id = f"{step}:{group}" if step is not None else group
    _add_reward(trajectory, fields)
    _add_tokens(trajectory, fields)
    status = fields.text("status")
    if status is not None:
        trajectory.stop_reason, trajectory.termination = status, _ENDS.get(status, "unknown")
    trajectory.problems += problems
    return trajectory


def _fill(trajectory: Trajectory, fields: Fields, row: Row, problems: list[Problem]) -> None:
    prompt = fields.value.get("prompt")
    response = fields.text("response") or ""
    if isinstance(prompt, list):
        fill_from_text(trajectory, response, None)
        trajectory.messages = prompt_messages(chat_messages(prompt, row, problems)) + trajectory.messages
    else:
        fill_from_text(trajectory, response, fields.text("prompt"))


def _add_reward(trajectory: Trajectory, fields: Fields) -> None:
    """A number, or named parts; of those the total is one that is named so."""
    reward: Any = fields.value.get("reward")
    if not isinstance(reward, dict):
        trajectory.reward = fields.number("reward")
        return
    parts = fields.inner("reward")
    trajectory.rewards = reward_parts(reward)
    total = next((name for name in _TOTALS if name in parts), None)
    trajectory.reward = parts.number(total) if total is not None else None
    verdict = next((reward[name] for name in _VERDICTS if name in parts), None)
    trajectory.correct = to_bool(verdict)


def _add_tokens(trajectory: Trajectory, fields: Fields) -> None:
    mask = fields.items("loss_mask")
    trajectory.completion_tokens = sum(1 for trained in mask if trained) if mask else fields.whole("response_length")
    versions = [str(version) for version in fields.items("weight_versions")]
    if versions:
        trajectory.policy_version_first, trajectory.policy_version_last = versions[0], versions[-1]
        trajectory.logged_steps = len(versions)
    cache = fields.inner("prefix_cache_info")
    if cache.whole("total_prompt_tokens"):
        trajectory.prompt_tokens = cache.whole("total_prompt_tokens")
        trajectory.cached_tokens = cache.whole("cached_tokens")
