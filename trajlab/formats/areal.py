"""AReaL: ``rollout/{version}/{task_id}.jsonl``, a line a sample, special tokens kept.

To 1.0.4 the boundary between prompt and completion moves right by as many tokens as were masked, so both are
read as one text, and the first turn of the agent begins the rollout; ``head_version`` is -1 where unknown. Later files
have segments, in which the boundary is true. Task ids start anew with every launch, so a group is a task of one
folder. Rollouts that end on a tool's or an environment's turn are never dumped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from trajlab.formats import Variant
from trajlab.formats._chat_text.turns import is_marked
from trajlab.formats._token_facts import add_versions
from trajlab.formats._trainer_rows import Fields, Row, add_cleaning, first_object, prompt_task, rows
from trajlab.formats._trainer_turns import fill_from_conversation, fill_from_text, prompt_text
from trajlab.formats._values import count
from trajlab.records import Problem, RewardPart, TokenFacts, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIED = frozenset(
    {
        "task_id", "group_id", "attempt", "split", "train_step", "policy_version_first", "policy_version_last", "agent",
        "reward", "logged_termination", "stop_reason", "completion_tokens", "tools_offered",
    }
)  # fmt: skip

VARIANTS = {
    "flat": Variant("to 1.0.4: prompt, completion, head and tail version", _CARRIED),
    "segments": Variant(
        "later: `version_rle`, and `segments` where more than one stretch was generated",
        _CARRIED | {"logged_steps", "prompt_tokens"},
    ),
}

_KEYS = {"task_id", "sample_idx", "seqlen", "prompt_len", "prompt", "completion"}
_SPLITS = {"rollout": "train", "eval-rollout": "eval"}


def recognise(probe: Probe) -> str | None:
    """By the keys of the first record that is an object."""
    first = first_object(probe, "lines")
    if first is None or not first.keys() >= _KEYS:
        return None
    return "segments" if "version_rle" in first or "segments" in first else "flat"


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a line."""
    folders = PurePosixPath(bundle.file.relpath).parts[:-1]
    version = folders[-1] if folders and folders[-1].isascii() and folders[-1].isdigit() else None
    split = next((_SPLITS[part] for part in reversed(folders) if part in _SPLITS), None)
    for row in rows(bundle):
        yield row if isinstance(row, Problem) else _trajectory(row, version, split)


def _trajectory(row: Row, version: str | None, split: str | None) -> Trajectory:
    problems: list[Problem] = []
    fields = Fields(row.value, row, problems)
    variant = "segments" if "version_rle" in fields or "segments" in fields else "flat"
    trajectory = Trajectory(variant, row.ordinal, split=split, agent="areal", line=row.line)
    prompt, completion = fields.text("prompt"), fields.text("completion") or ""
    if variant == "flat" and prompt is not None and is_marked(prompt):
        fill_from_conversation(trajectory, prompt + completion, prompt)
    else:
        fill_from_text(trajectory, completion, prompt)
    trajectory.task_id = prompt_task(prompt_text(trajectory.messages))
    task = fields.word("task_id")
    trajectory.group_id = f"{version}:{task}" if version is not None and task is not None else task
    trajectory.attempt = fields.whole("sample_idx")
    head, tail = fields.whole("head_version"), fields.whole("tail_version")
    trajectory.policy_version_first = str(head) if head is not None and head >= 0 else None
    trajectory.policy_version_last = str(tail) if tail is not None and tail >= 0 else None
    trajectory.train_step = int(version[:18]) if version is not None else tail
    trajectory.reward = fields.number("reward")
    if "original_reward" in fields:
        trajectory.rewards = [RewardPart("original_reward", fields.number("original_reward"))]
    _add_lengths(trajectory, fields, row)
    trajectory.problems += problems
    add_cleaning(trajectory, row)
    return trajectory


def _add_lengths(trajectory: Trajectory, fields: Fields, row: Row) -> None:
    """Generated tokens: what the mask counted; with segments their sum, which the versions must match."""
    whole, before = fields.whole("seqlen"), fields.whole("prompt_len")
    if whole is not None and before is not None:
        trajectory.completion_tokens = whole - before
    facts = trajectory.token_facts = TokenFacts(tokens=whole)
    segments = fields.objects("segments")
    generated = [segment for segment in segments if segment.text("role") == "gen"]
    if segments:
        trajectory.completion_tokens = sum(segment.whole("len") or 0 for segment in generated)
        trajectory.logged_steps = len(generated)
        facts.observation_tokens = sum(s.whole("len") or 0 for s in segments if s.text("role") == "context")
    elif trajectory.variant == "segments":
        trajectory.prompt_tokens = before
        facts.observation_tokens = 0
    facts.response_tokens = trajectory.completion_tokens
    if trajectory.variant == "segments":
        facts.prompt_tokens = before
    else:
        facts.trained_tokens = trajectory.completion_tokens  # to 1.0.4 the boundary is the count of the loss mask
    runs = fields.items("version_rle")
    told = [count(run[1]) if isinstance(run, list) and len(run) == 2 else None for run in runs]
    counts = [number for number in told if number is not None]
    if counts and len(counts) == len(runs):
        add_versions(facts, [run[0] for run in runs], counts)
    if counts and len(counts) == len(runs) and sum(counts) != trajectory.completion_tokens:
        message = f"versions of {sum(counts)} tokens are logged, {trajectory.completion_tokens} were generated"
        trajectory.problems.append(row.problem("not_reconciled", message))
