"""OpenPipe ART: ``trajectories/{split}/{step:04d}`` as YAML (June 2025), JSON lines (0.4) and Parquet (0.5).

A record is a group of trajectories. What a model generated stands as a Choice of the OpenAI API, other messages
are plain; so a plain message of an assistant is no turn, unless nothing in the trajectory is a Choice. From 0.5 on
trajectories can hold exchanges with a model's API instead, each with its whole context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

from trajlab.formats import Variant
from trajlab.formats._trainer_contexts import Contexts
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
from trajlab.formats._trainer_turns import RESTATED, chat_messages, fill_from_messages, prompt_text, tool_names
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import document
from trajlab.sources.safe_json import loads, to_bool
from trajlab.sources.safe_yaml import load_yaml

_CARRIED = frozenset(
    {
        "task_id", "group_id", "split", "train_step", "agent", "model", "reward", "logged_correct",
        "logged_termination", "stop_reason", "seconds", "tools_offered",
    }
)  # fmt: skip

VARIANTS = {
    "yaml": Variant("a YAML list of groups (June 2025)", _CARRIED),
    "jsonl": Variant("0.4: one group a line", _CARRIED),
    "parquet": Variant(
        "0.5: one trajectory a row, whole as JSON text (`art.trajectory_parquet.version` 2)",
        _CARRIED | {"policy_version_first", "policy_version_last", "prompt_tokens", "completion_tokens"},
    ),
}

_PARQUET = {"group_index", "trajectory_json", "group_json"}
_STEP_FILE = re.compile(r"(\d{1,12})\.(?:ya?ml|jsonl|parquet)(?:\.(?:gz|zst|zstd|xz))?")
_YAML_FILE = re.compile(r"(?:^|/)trajectories/[^/]{1,80}/\d{4,12}\.ya?ml(?:\.|$)")
_YAML_START = re.compile(rb"-\s{1,3}trajectories:")
_TASKS = ("task_id", "instance_id", "scenario_id", "problem_id")
_VERDICTS = ("acc", "is_correct", "correct", "resolved")
_ENDS = {"stop": "ended", "length": "truncated_budget", "content_filter": "infrastructure_error"}


def recognise(probe: Probe) -> str | None:
    """By columns, by groups whose trajectories hold messages and choices, or by name or first line of a YAML list."""
    if probe.shape == "parquet":
        return "parquet" if set(probe.columns) >= _PARQUET else None
    if probe.shape in ("text", "empty"):
        head = probe.head.removeprefix(b"\xef\xbb\xbf").lstrip()
        groups = _YAML_START.match(head) and b"messages_and_choices:" in head
        return "yaml" if groups or _YAML_FILE.search(probe.relpath) else None
    first = first_object(probe, "lines", "object", "list", keys=("trajectories",))
    inside = first.get("trajectories") if first is not None else None
    member = inside[0] if isinstance(inside, list) and inside else None
    known = isinstance(member, dict) and ("messages_and_choices" in member or "exchanges" in member)
    return "jsonl" if known else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory for each of a group; a group without any gives none."""
    place = _Place(bundle.file.relpath)
    for row in _yaml_groups(bundle) if bundle.variant == "yaml" else rows(bundle):
        if isinstance(row, Problem):
            yield row
        elif bundle.variant == "parquet":
            yield from _parquet_row(row, place)
        else:
            yield from _group(row, place, bundle.variant)


def _yaml_groups(bundle: Bundle) -> Iterator[Row | Problem]:
    problems: list[Problem] = []
    data = document(bundle, problems)
    yield from problems
    try:
        groups = load_yaml(data)
    except ValueError as error:
        yield Problem("unreadable_record", str(error))
        return
    if not isinstance(groups, list):
        yield Problem("unreadable_record", f"found {type(groups).__name__}, expected a list of groups")
        return
    for number, group in enumerate(groups):
        if isinstance(group, dict):
            yield Row(group, str(number))
        else:
            yield Problem("unreadable_record", f"group {number} is no mapping but {type(group).__name__}")


class _Place:
    """What the path tells: the step, the split, and the model that is trained."""

    def __init__(self, relpath: str) -> None:
        *folders, name = relpath.split("/")
        found = _STEP_FILE.fullmatch(name)
        self.step = int(found[1]) if found else None
        split = folders[-1] if len(folders) > 1 and folders[-2] == "trajectories" else None
        self.split = "validation" if split == "val" else split
        models = [after for folder, after in pairwise(folders) if folder == "models"]
        self.model = models[-1] if models else None

    def group(self, number: object) -> str:
        return f"{self.step}:{number}" if self.step is not None else str(number)


def _group(row: Row, place: _Place, variant: str) -> Iterator[Trajectory | Problem]:
    problems: list[Problem] = []
    if "trajectories" not in row.value:
        yield row.problem("unreadable_record", "no group: expected {trajectories: [...]}")
        return
    trajectories = Fields(row.value, row, problems).objects("trajectories")
    yield from problems
    group: str | None = None
    for place_in_group, fields in enumerate(trajectories):
        own = msgspec.structs.replace(row, ordinal=f"{row.ordinal}.{place_in_group}")
        trajectory = _trajectory(fields.value, own, place, variant)
        if group is None:  # the group has no name: its prompt stands for it
            group = place.group(digest(prompt_text(trajectory.messages)))
        trajectory.group_id = group
        if place_in_group == 0:
            add_cleaning(trajectory, row)
        yield trajectory


def _parquet_row(row: Row, place: _Place) -> Iterator[Trajectory | Problem]:
    text = row.value.get("trajectory_json")
    if text is None:
        return  # the mark of a group without trajectories
    try:
        loaded = loads(str(text).encode("utf-8", "replace"))
    except ValueError as error:
        yield row.problem("unreadable_record", f"`trajectory_json`: {error}")
        return
    if not isinstance(loaded.value, dict):
        yield row.problem("unreadable_record", f"`trajectory_json` holds {type(loaded.value).__name__}, no object")
        return
    known = {"reward": row.value.get("reward")}  # its default, 0, is left out of the JSON text
    trajectory = _trajectory(known | loaded.value, row, place, "parquet")
    trajectory.group_id = place.group(row.value.get("group_index"))
    yield trajectory


def _trajectory(value: dict[str, Any], row: Row, place: _Place, variant: str) -> Trajectory:
    problems: list[Problem] = []
    fields = Fields(value, row, problems)
    trajectory = Trajectory(variant, row.ordinal, train_step=place.step, split=place.split, line=row.line)
    trajectory.agent, trajectory.model = "art", place.model
    if "messages_and_choices" in fields or "exchanges" not in fields:
        _fill(trajectory, fields, row, problems)
    else:
        _fill_exchanges(trajectory, fields.inner("exchanges"), row, problems)
    metadata, metrics = fields.inner("metadata"), fields.inner("metrics")
    task = _first_of(_TASKS, metadata)
    trajectory.task_id = (metadata.word(task) if task else None) or prompt_task(prompt_text(trajectory.messages))
    trajectory.reward = fields.number("reward")
    trajectory.rewards = reward_parts(metrics.value)
    for part in trajectory.rewards:
        part.weight = 0.0
    verdict = _first_of(_VERDICTS, metrics)
    trajectory.correct = to_bool(metrics.value[verdict]) if verdict else None
    trajectory.seconds = metrics.number("duration")
    if "tools" in fields:
        trajectory.tools_offered = tool_names(fields.items("tools"))
    trajectory.policy_version_first = fields.word("initial_policy_version")
    trajectory.policy_version_last = fields.word("final_policy_version")
    last = trajectory.steps[-1].finish_reason if trajectory.steps else None
    trajectory.stop_reason, trajectory.termination = last, _ENDS.get(last or "")
    trajectory.problems += problems
    return trajectory


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _first_of(names: tuple[str, ...], fields: Fields) -> str | None:
    for name in names if fields.value else ():
        if name in fields:
            return name
    return None


def _fill(trajectory: Trajectory, fields: Fields, row: Row, problems: list[Problem]) -> None:
    """Messages and choices, of the trajectory and of its further histories."""
    items = fields.items("messages_and_choices")
    for history in fields.objects("additional_histories"):
        items = [*items, *history.items("messages_and_choices")]
    said = [item if isinstance(item, dict) else {} for item in items]
    has_choices = any("finish_reason" in item for item in said)
    messages: list[Any] = []
    reasons: list[str | None] = []
    for item, known in zip(items, said, strict=True):
        message = known.get("message")
        if isinstance(message, dict):
            message = {**message, "role": "assistant"}
            reasons.append(_text(known.get("finish_reason")))
        elif known.get("role") != "assistant":
            message = item
        elif has_choices:
            message = {**known, "role": f"{RESTATED}assistant", "tool_calls": None}
        else:
            message = known
            reasons.append(_text(known.get("finish_reason")))
        messages.append(message)
    fill_from_messages(trajectory, [], chat_messages(messages, row, problems), told=False, cut=False)
    for step, reason in zip(trajectory.steps, reasons, strict=False):
        step.finish_reason = reason


def _fill_exchanges(trajectory: Trajectory, exchanges: Fields, row: Row, problems: list[Problem]) -> None:
    """Calls of a model's API, each with its context; protocols without messages are told and left out."""
    contexts = Contexts()
    answers: list[tuple[Fields, Fields]] = []
    for exchange in exchanges.objects("chat_completions"):
        response = exchange.inner("response")
        choice = next(iter(response.objects("choices")), None)
        if choice is not None:
            answers.append((choice, response))
            said = choice.inner("message").value
            contexts.add([*exchange.inner("request").items("messages"), {**said, "role": "assistant"}])
    for exchange in exchanges.objects("messages"):
        response = exchange.inner("response")
        answers.append((response, response))
        said = {"role": "assistant", "content": response.value.get("content")}
        contexts.add([*exchange.inner("request").items("messages"), said])
    for name in ("completions", "responses"):
        unread = len(exchanges.items(name))
        message = f"{unread} exchanges of the protocol `{name}` are not read"
        problems += [row.problem("not_read", message)] if unread else []
    fill_from_messages(trajectory, [], chat_messages(contexts.messages, row, problems), told=False, cut=False)
    for step, (choice, response) in zip(trajectory.steps, answers, strict=False):
        step.finish_reason = choice.text("finish_reason")
        usage = response.inner("usage")
        step.prompt_tokens = usage.whole("prompt_tokens")
        step.completion_tokens = usage.whole("completion_tokens")
        trajectory.model = response.text("model") or trajectory.model
    prompts = [step.prompt_tokens for step in trajectory.steps if step.prompt_tokens is not None]
    completions = [step.completion_tokens for step in trajectory.steps if step.completion_tokens is not None]
    trajectory.prompt_tokens = sum(prompts) if prompts else None
    trajectory.completion_tokens = sum(completions) if completions else None
