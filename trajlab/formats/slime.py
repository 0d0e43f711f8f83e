"""slime: ``rollout_data/{rollout_id}.pt``, what ``save_debug_rollout_data`` writes with ``torch.save``.

Read without torch and without unpickling. Prompt and response keep their special tokens; a sample counts its own
generated tokens by the loss mask and its calls of the model by their weight versions. What the trainer made of the
samples (``train_data/{rollout_id}.pt`` or ``…_{rank}.pt`` beside ``rollout_data``) adds the log-probabilities of
policy and reference model, advantages, values and returns; without the rollouts it is tokens without text and not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._token_facts import (
    add_advantages,
    add_ratios,
    add_reference,
    add_values,
    add_versions,
    count_mask,
    numbers,
    same_length,
)
from trajlab.formats._trainer_rows import Fields, Row, prompt_task, reward_parts
from trajlab.formats._trainer_turns import chat_messages, fill_from_text, prompt_messages, prompt_text
from trajlab.records import Problem, TokenFacts, Trajectory
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
                "completion_tokens", "prompt_tokens", "cached_tokens", "sample_index", "tools_offered",
            }
        ),
    ),
}  # fmt: skip

_DETAILS = re.compile(r"(.*/)?(?:train_data/(\d{1,12})(?:_\d{1,6})?|rollout_data/(\d{1,12}))\.pt")
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


_OF_TRAINER = ("log_probs", "ref_log_probs", "advantages", "values", "returns")
"""Arrays of the trainer's own file, over the tokens of the response."""


def recognise(probe: Probe) -> str | None:
    """By the names of the first member and of the keys that stand first in it."""
    if probe.shape != "zip" or b"data.pkl" not in probe.head[:512]:
        return None
    return "rollout" if b"rollout_id" in probe.head and b"samples" in probe.head else None


def group(relpath: str, variant: str) -> str | None:
    """What the trainer made of a rollout belongs to it, where both lie as ``--dump-details`` puts them."""
    found = _DETAILS.fullmatch(relpath)
    return f"{found[1] or ''}rollout_data/{found[2] or found[3]}.pt" if found else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a sample."""
    rollouts: list[tuple[str, dict[str, Any], list[Any]]] = []
    trained: list[Any] = []
    for file in bundle.files:
        name = file.relpath.rpartition("/")[2]
        try:
            value = load_torch(Path(file.path))
        except ValueError as error:
            yield Problem("unreadable_record", _named(str(error), name, bundle))
            continue
        samples = value.get("samples") if isinstance(value, dict) else None
        if not isinstance(samples, list):
            message = "no list of samples; expected {rollout_id, samples}"
            yield Problem("unreadable_record", _named(message, name, bundle))
        elif "dp_shards" in value:
            trained += samples
        else:
            rollouts.append((name, value, samples))
    if trained and not rollouts:
        yield Problem("not_read", f"training data of {len(trained)} samples: tokens without text")
    for name, value, samples in rollouts:
        yield from _rollout(name, value, samples, trained)


def _named(message: str, name: str, bundle: Bundle) -> str:
    return message if len(bundle.files) == 1 else f"{name}: {message}"


def _rollout(
    name: str, value: dict[str, Any], samples: list[Any], trained: list[Any]
) -> Iterator[Trajectory | Problem]:
    problems: list[Problem] = []
    step = Fields(value, Row({}, "0"), problems).whole("rollout_id")
    yield from problems
    split = "eval" if "eval_" in name else "train"
    made = _by_position(trained)
    for number, sample in enumerate(samples):
        if isinstance(sample, dict):
            index = sample.get("index")
            by_index = made.get(("index", index)) if isinstance(index, int) else None
            yield _trajectory(Row(sample, str(number)), step, split, made.get(("position", number), by_index))
        else:
            yield Problem("unreadable_record", f"sample {number} is no dictionary but {type(sample).__name__}")


def _by_position(trained: list[Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Samples of the trainer by their place in the rollout file, or by the sample's index where no place is told."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for sample in trained:
        if isinstance(sample, dict):
            place, index = sample.get("rollout_position"), sample.get("sample_index")
            if isinstance(place, int):
                found["position", place] = sample
            elif isinstance(index, int):
                found["index", index] = sample
    return found


def _trajectory(row: Row, step: int | None, split: str, trained: dict[str, Any] | None) -> Trajectory:
    problems: list[Problem] = []
    fields = Fields(row.value, row, problems)
    trajectory = Trajectory("rollout", row.ordinal, train_step=step, split=split, agent="slime")
    trajectory.native_id, trajectory.sample_index = fields.word("index"), fields.whole("index")
    metadata = fields.inner("metadata")
    named = next((metadata.word(name) for name in _TASKS if isinstance(metadata.value.get(name), (str, int))), None)
    _fill(trajectory, fields, row, problems)
    trajectory.task_id = named or trajectory.task_id or prompt_task(prompt_text(trajectory.messages))
    group = fields.word("group_index")
    if group is not None:
        trajectory.group_id = f"{step}:{group}" if step is not None else group
    _add_reward(trajectory, fields)
    _add_tokens(trajectory, fields)
    _add_token_facts(trajectory, fields, trained, row, problems)
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


def _add_token_facts(
    trajectory: Trajectory, fields: Fields, trained: dict[str, Any] | None, row: Row, problems: list[Problem]
) -> None:
    """Counts by the loss mask; ratios, advantages, values and returns where the trainer's own file is there."""
    facts = trajectory.token_facts = TokenFacts()
    tokens, response = fields.items("tokens"), fields.whole("response_length")
    if tokens and response is not None and 0 <= response <= len(tokens):
        facts.tokens, facts.prompt_tokens, facts.trained_prompt = len(tokens), len(tokens) - response, 0
    if fields.items("weight_versions"):
        add_versions(facts, fields.items("weight_versions"))
    mask, behaviour = numbers(fields, "loss_mask"), numbers(fields, "rollout_log_probs")
    inside = Fields(trained, row, problems, "train_data.")
    made = {name: numbers(inside, name) for name in _OF_TRAINER}
    arrays = {"loss_mask": mask, "rollout_log_probs": behaviour} | {f"train_data.{n}": a for n, a in made.items()}
    lengths = {"response_length": response} | {name: None if a is None else len(a) for name, a in arrays.items()}
    if not same_length(lengths, row, problems, trajectory.native_id) or mask is None:
        return
    kept = mask != 0
    if fields.truth("remove_sample"):  # the trainer masks the whole of it
        kept[:] = False
    count_mask(facts, kept, behaviour, len(trajectory.steps))
    policy = made["log_probs"]
    add_ratios(facts, policy, behaviour, kept)
    add_reference(facts, made["ref_log_probs"], behaviour if policy is None else policy, kept)
    add_values(facts, made["values"], made["returns"], kept)
    add_advantages(facts, made["advantages"], kept)
