"""rLLM: episodes of the EpisodeLogger, of ``Episode.to_dict``, and of evaluation runs.

An episode holds the trajectories of one or more agents; each is one trajectory here. Every step repeats the
whole conversation before it, so what a step adds is told by what stood there before; templates may drop the
reasoning of earlier turns from the repeated part, so the agent's words are taken from the step that wrote them.
The logger keeps no tokens and no weight version; ``to_dict`` does.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from trajlab.formats import Variant
from trajlab.formats._chat_text.turns import without_end_markers
from trajlab.formats._token_facts import add_advantages, add_versions, numbers, same_length
from trajlab.formats._trainer_contexts import Contexts
from trajlab.formats._trainer_rows import Fields, Row, add_cleaning, first_object, reward_parts, rows
from trajlab.formats._trainer_turns import chat_messages, fill_from_messages
from trajlab.records import Problem, RewardPart, TokenFacts, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIED = frozenset(
    {
        "native_id", "task_id", "group_id", "attempt", "agent", "reward", "logged_correct", "logged_termination",
        "stop_reason",
    }
)  # fmt: skip
_TOKENS = frozenset({"policy_version_first", "policy_version_last", "prompt_tokens", "completion_tokens"})

VARIANTS = {
    "episode_logger": Variant(
        "`episodes/{mode}_step_{s}_epoch_{e}/episode_hash….json` of the EpisodeLogger",
        _CARRIED | {"split", "train_step", "logged_epoch", "logged_steps"},
    ),
    "episode": Variant("`Episode.to_dict`: with token ids, log-probabilities and weight versions", _CARRIED | _TOKENS),
    "eval": Variant("`episodes/episode_{idx}_{task}.json` of an evaluation run", _CARRIED | {"split"}),
}

_ENDS = {
    "env_done": "ended",
    "max_turns_exceeded": "truncated_budget",
    "max_response_length_exceeded": "truncated_budget",
    "max_prompt_length_exceeded": "truncated_budget",
    "timeout": "timeout",
    "unknown": "unknown",
    "error": "infrastructure_error",
}
_STEP_FOLDER = re.compile(r"([a-z]+)_step_\d+_epoch_\d+")
_SPLITS = {"val": "validation"}
_TASK_NAMES = ("id", "task_id", "instance_id", "uid")


def recognise(probe: Probe) -> str | None:
    """The variant of the first episode, or ``None``."""
    first = first_object(probe, "object", "lines", "list", keys=("trajectories",))
    if first is None or not isinstance(first.get("trajectories"), list):
        return None
    if "episode_id" in first and "training_step" in first:
        return "episode_logger"
    if {"id", "task", "is_correct", "termination_reason"} <= first.keys():
        return "eval" if "eval_idx" in first else "episode"
    return None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory for each trajectory of an episode."""
    found = [_STEP_FOLDER.fullmatch(part) for part in PurePosixPath(bundle.file.relpath).parts[:-1]]
    mode = next((match[1] for match in found if match), None)
    split = "eval" if bundle.variant == "eval" else _SPLITS.get(mode or "", mode)
    for row in rows(bundle):
        if isinstance(row, Problem):
            yield row
            continue
        trajectories = list(_episode(row, bundle.variant, split))
        add_cleaning(trajectories[0], row)
        yield from trajectories


def _episode(row: Row, variant: str, split: str | None) -> Iterator[Trajectory]:
    problems: list[Problem] = []
    episode = Fields(row.value, row, problems)
    identity = episode.word("episode_id") or episode.word("id")
    group, _, attempt = (identity or "").rpartition(":")
    inside = episode.objects("trajectories")
    task = _task_id(episode)
    for number, fields in enumerate(inside or [Fields({}, row, problems)]):
        own = problems if number == 0 else []
        trajectory = Trajectory(variant, f"{row.ordinal}.{number}", line=row.line, split=split, task_id=task)
        single = len(inside) < 2
        trajectory.native_id = identity if single or identity is None else f"{identity}:{fields.word('uid') or number}"
        if group and attempt.isascii() and attempt.isdigit() and len(attempt) < 10:
            trajectory.group_id, trajectory.attempt = group, int(attempt)
        trajectory.train_step = episode.whole("training_step")
        trajectory.epoch = episode.whole("epoch")
        trajectory.correct = episode.truth("is_correct")
        _fill(trajectory, Fields(fields.value, row, own, f"trajectories[{number}]."), row, own)
        trajectory.rewards += reward_parts(episode.inner("metrics").value)
        _add_end(trajectory, episode.text("termination_reason"))
        trajectory.problems += own
        yield trajectory


def _task_id(episode: Fields) -> str | None:
    """The task's own name, else the hash that the logger makes of it."""
    task = episode.value.get("task")
    if isinstance(task, dict):
        for name in _TASK_NAMES:
            if isinstance(task.get(name), (str, int)):
                return str(task[name])
    known = episode.word("task_hash")
    if known is not None or task is None:
        return known
    try:
        text = json.dumps(task, sort_keys=True, default=str)
    except (ValueError, RecursionError, TypeError):
        return None
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _add_end(trajectory: Trajectory, reason: str | None) -> None:
    if reason is None:
        return
    trajectory.stop_reason = reason
    known = _ENDS.get(reason.lower())
    if known is None:
        known = "infrastructure_error" if reason.lower().endswith("error") else "unknown"
    trajectory.termination = known


def _fill(trajectory: Trajectory, fields: Fields, row: Row, problems: list[Problem]) -> None:
    steps = fields.objects("steps")
    contexts = Contexts()
    for step in steps:
        contexts.add(_context(step), whole=len(steps) == 1)
    fill_from_messages(trajectory, [], chat_messages(contexts.messages, row, problems), cut=False)
    trajectory.agent = fields.text("name")
    trajectory.reward = fields.number("reward")
    trajectory.logged_steps = fields.whole("num_steps")
    trajectory.rewards = reward_parts(fields.inner("signals").value)
    versions = [version for step in steps if (version := step.word("weight_version")) is not None]
    if versions:
        trajectory.policy_version_first, trajectory.policy_version_last = versions[0], versions[-1]
        add_versions(_facts(trajectory), [step.word("weight_version") for step in steps])
    for number, (made, step) in enumerate(zip(trajectory.steps, steps, strict=False), 1):
        if reward := step.number("reward"):
            trajectory.rewards.append(RewardPart("step", reward, applied_step=number))
        if "response_ids" in step and step.items("response_ids"):
            made.prompt_tokens = len(step.items("prompt_ids"))
            made.completion_tokens = len(step.items("response_ids"))
            trajectory.prompt_tokens = (trajectory.prompt_tokens or 0) + made.prompt_tokens
            trajectory.completion_tokens = (trajectory.completion_tokens or 0) + made.completion_tokens
            _facts(trajectory).response_tokens = trajectory.completion_tokens
            lengths = {"response_ids": made.completion_tokens, "logprobs": len(step.items("logprobs")) or None}
            same_length(lengths, row, problems, trajectory.native_id)
    _add_advantages(trajectory, steps, row, problems)


def _add_advantages(trajectory: Trajectory, steps: list[Fields], row: Row, problems: list[Problem]) -> None:
    """Of every generated token: a step has one advantage for all of its own, or a list."""
    found: list[Any] = []
    for step in steps:
        advantage, generated = step.value.get("advantage"), len(step.items("response_ids"))
        if isinstance(advantage, list):
            found += advantage if len(advantage) == generated else []
        elif generated and step.number("advantage") is not None:
            found += [step.number("advantage")] * generated
    advantages = numbers(Fields({"advantage": found}, row, problems, "steps.*."), "advantage")
    if advantages is not None:
        add_advantages(_facts(trajectory), advantages, np.ones(len(advantages), bool))


def _facts(trajectory: Trajectory) -> TokenFacts:
    if trajectory.token_facts is None:
        trajectory.token_facts = TokenFacts()
    return trajectory.token_facts


def _context(step: Fields) -> list[Any]:
    """A step's messages, its answer last."""
    found = [message for message in step.items("chat_completions") if isinstance(message, dict)]
    answer = _answer_text(step)
    if not found:
        seen = step.value.get("observation") or step.value.get("input")
        if isinstance(seen, str):
            found = [{"role": "user", "content": seen}]
    if (not found or found[-1].get("role") != "assistant") and (answer is not None or not found):
        found = [*found, {"role": "assistant", "content": answer or ""}]
    return found


def _answer_text(step: Fields) -> str | None:
    for name in ("model_response", "output", "action"):
        value = step.value.get(name)
        if isinstance(value, str) and value:
            return without_end_markers(value)
    return None
