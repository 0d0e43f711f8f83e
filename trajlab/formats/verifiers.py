"""verifiers and prime-rl: ``results.jsonl`` of the first generation, traces and episodes of the second.

Layouts that were written, all lines of JSON: ``results.jsonl`` (to verifiers 0.1) and prime-rl's
``rollouts/step_N/{train,eval}_rollouts.jsonl`` with its keys; one trace a line (``traces.jsonl``); one
episode a line, with all its agents' traces (``traces.jsonl``, ``stream.jsonl``, numbered chunks, sealed ones
compressed with zstd). What is learned later stands in ``annotations`` and is not joined here. Episodes that
stand under ``all`` and ``effective`` are found to be duplicates by their ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._trainer_rows import Fields, Row, add_cleaning, first_object, prompt_task, reward_parts, rows
from trajlab.formats._trainer_turns import chat_messages, fill_from_messages, fill_from_text, prompt_text, tool_names
from trajlab.formats._verifiers_trace import read_trace, verdict
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_TRACE = frozenset(
    {
        "native_id", "task_id", "split", "train_step", "agent", "agent_version", "model", "reward", "logged_correct",
        "logged_termination", "stop_reason", "steps_allowed", "prompt_tokens", "completion_tokens", "cached_tokens",
        "reasoning_tokens", "cost", "seconds", "started_at", "tools_offered",
    }
)  # fmt: skip

VARIANTS = {
    "results": Variant(
        "verifiers to 0.1: `results.jsonl`, one rollout a line; prime-rl's `train_rollouts.jsonl` with the same keys",
        frozenset(
            {
                "task_id", "split", "train_step", "agent", "reward", "logged_correct", "logged_termination",
                "stop_reason", "prompt_tokens", "completion_tokens", "seconds", "tools_offered",
            }
        ),
    ),
    "trace": Variant("verifiers 0.2 and later: one trace (message graph) a line", _TRACE),
    "episode": Variant(
        "one episode a line, with its traces: prime-rl from August 2026, chunks and sealed chunks included",
        _TRACE | {"group_id", "policy_version_first", "policy_version_last"},
    ),
}  # fmt: skip

_RESULT_KEYS = {"example_id", "prompt", "completion", "reward"}
_STEP_FOLDER = re.compile(r"step_(\d{1,12})")
_ENDS = {
    "max_turns_reached": "truncated_budget",
    "prompt_too_long": "truncated_budget",
    "max_total_completion_tokens_reached": "truncated_budget",
    "timeout_reached": "timeout",
    "has_error": "infrastructure_error",
}
"""Stop conditions of the first generation; any other is the environment's own, and the rollout ended by itself."""


def recognise(probe: Probe) -> str | None:
    """The variant of the first record that has the keys of one."""
    first = first_object(probe, "lines", "object", "list", keys=("traces", "nodes", *_RESULT_KEYS))
    if first is None:
        return None
    if isinstance(first.get("traces"), list) and isinstance(first.get("task"), dict):
        return "episode"
    if isinstance(first.get("nodes"), list) and isinstance(first.get("task"), dict) and "rewards" in first:
        return "trace"
    told = first.keys() & {"timing", "metrics", "generation_ms"}
    return "results" if first.keys() >= _RESULT_KEYS and told else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a rollout: a line, or each trace of an episode's line."""
    place = _Place(bundle.file.relpath)
    for row in rows(bundle):
        if isinstance(row, Problem):
            yield row
            continue
        found = list(_records(row, place))
        if found:
            add_cleaning(found[0], row)
        yield from found


class _Place:
    """What the path tells where the record does not."""

    def __init__(self, relpath: str) -> None:
        path = PurePosixPath(relpath)
        self.step: int | None = None
        self.split: str | None = None
        for part in (*path.parts[:-1], path.name.split("_")[0]):
            if found := _STEP_FOLDER.fullmatch(part):
                self.step = int(found[1])
            if part in ("train", "eval"):
                self.split = part


def _records(row: Row, place: _Place) -> Iterator[Trajectory]:
    if isinstance(row.value.get("traces"), list):
        yield from _episode(row)
    elif isinstance(row.value.get("nodes"), list):
        trajectory = read_trace(Fields(row.value, row, []), row, row.ordinal, "trace")
        trajectory.train_step, trajectory.split = place.step, place.split
        yield trajectory
    else:
        yield _result(row, place)


def _episode(row: Row) -> Iterator[Trajectory]:
    """All traces of an episode; an episode that failed before any is a trajectory without steps."""
    problems: list[Problem] = []
    episode = Fields(row.value, row, problems)
    traces = episode.objects("traces")
    found = [read_trace(trace, row, f"{row.ordinal}.{n}", "episode") for n, trace in enumerate(traces)]
    if not found:
        found = [Trajectory("episode", row.ordinal, native_id=episode.text("id"), line=row.line)]
        if episode.items("errors"):
            found[0].termination = "infrastructure_error"
            errors = episode.objects("errors")
            found[0].stop_reason = errors[-1].text("type") if errors else None
    run, group, task = episode.inner("run"), episode.inner("group").word("id"), _task_id(episode)
    work = run.inner("work")
    policy = work.inner("policy")
    split = work.text("type") or run.text("type")
    for trajectory in found:
        trajectory.group_id = group
        trajectory.task_id = trajectory.task_id or task
        trajectory.run = run.word("name") or run.word("id")
        trajectory.train_step = work.whole("step")
        trajectory.split = split
        trajectory.policy_version_first = policy.word("start")
        trajectory.policy_version_last = policy.word("end")
    found[0].problems += problems
    yield from found


def _task_id(record: Fields) -> str | None:
    task = record.inner("task")
    return task.word("key") or task.word("hash")


def _result(row: Row, place: _Place) -> Trajectory:
    problems: list[Problem] = []
    fields = Fields(row.value, row, problems)
    trajectory = Trajectory("results", row.ordinal, agent="verifiers", line=row.line)
    trajectory.train_step, trajectory.split = place.step, place.split
    trajectory.task_id = fields.word("example_id")
    _fill(trajectory, fields, row, problems)
    trajectory.task_id = trajectory.task_id or prompt_task(prompt_text(trajectory.messages))
    trajectory.reward = fields.number("reward")
    metrics = fields.inner("metrics")
    trajectory.rewards = reward_parts(metrics.value)
    trajectory.correct = verdict(metrics.value)
    usage = fields.inner("token_usage")
    trajectory.prompt_tokens = usage.whole("input_tokens")
    trajectory.completion_tokens = usage.whole("output_tokens")
    trajectory.seconds = _seconds(fields)
    trajectory.tools_offered = tool_names(fields.items("tool_defs")) if "tool_defs" in fields else None
    _add_end(trajectory, fields)
    trajectory.problems += problems
    return trajectory


def _fill(trajectory: Trajectory, fields: Fields, row: Row, problems: list[Problem]) -> None:
    prompt, completion = fields.value.get("prompt"), fields.value.get("completion")
    if isinstance(completion, str):
        fill_from_text(trajectory, completion, prompt if isinstance(prompt, str) else None)
        trajectory.termination = trajectory.stop_reason = None
        return
    before: list[Any] = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else fields.items("prompt")
    rollout = chat_messages(fields.items("completion"), row, problems)
    fill_from_messages(trajectory, chat_messages(before, row, problems), rollout, told=False, cut=False)


def _seconds(fields: Fields) -> float | None:
    """Duration of the generation: a span, or milliseconds in older files."""
    timing = fields.inner("timing")
    if isinstance(timing.value.get("generation"), dict):
        span = timing.inner("generation")
        start, end = span.number("start"), span.number("end")
        return end - start if start and end else None
    milliseconds = timing.number("generation_ms")
    if milliseconds is None:
        milliseconds = fields.number("generation_ms")
    return None if milliseconds is None else milliseconds / 1000


def _error(fields: Fields) -> str | None:
    """Name of the error: in an object, in older files a text."""
    error = fields.value["error"]
    said = error if isinstance(error, str) else fields.inner("error").text("error")
    return said.strip().split("\n")[0][:200] if said else None


def _add_end(trajectory: Trajectory, fields: Fields) -> None:
    stop = trajectory.stop_reason = fields.text("stop_condition")
    if "error" in fields:
        trajectory.termination = "infrastructure_error"
        trajectory.stop_reason = _error(fields) or stop  # `has_error` tells less
    elif fields.truth("is_truncated"):
        trajectory.termination = "truncated_budget"
    elif stop is not None:
        trajectory.termination = _ENDS.get(stop, "ended")
    elif fields.truth("is_completed") is False:
        trajectory.termination = "incomplete"
