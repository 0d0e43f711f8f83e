"""Harbor trials: ``result.json`` with the agent's logs in ``agent/`` (or ``steps/<name>/agent/``).

Source: harbor 0.26.0, ``harbor/models/trial``. A trial may hold one run in several formats (ATIF beside the agent's
own): the agent's own is read where it is of a scaffold whose conversion to ATIF loses something, else ATIF.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from trajlab.behavior.termination import HARBOR_VALID, classify_harbor
from trajlab.formats import LOGS, Variant, log_format
from trajlab.formats._values import (
    Records,
    between,
    count,
    first,
    flag,
    load,
    mapping,
    mappings,
    moment,
    number,
    reconcile,
    settings,
    word,
)
from trajlab.records import Problem, RewardPart, Trajectory
from trajlab.sources.files import Bundle, SourceFile, joined_path, parts_of
from trajlab.sources.probe import Probe

HOLDS_LOGS = True
"""A log inside a trial is the trial's, whatever its format."""

_CARRIES = frozenset(
    {
        "native_id", "task_id", "agent", "agent_version", "model", "reward", "logged_correct", "logged_outcome",
        "logged_termination", "stop_reason", "gradable", "parent_native_id", "prompt_tokens", "completion_tokens",
        "cached_tokens", "cost", "seconds", "started_at", "tools_offered",
    }
)  # fmt: skip

VARIANTS = {"trial": Variant("`<trial>/result.json` with the logs in `<trial>/agent`", _CARRIES)}

_RESULT = "result.json"
_KEYS = ("trial_name", "task_checksum", "agent_info")
_PREFERRED = ("mini_swe_agent", "swe_agent", "openhands", "openhands_sdk", "atif")
"""Formats in the order they are read in, where a trial holds several; the others follow."""


def group(relpath: str, variant: str) -> str:
    """The trial's folder."""
    path = parts_of(relpath)
    trial = _trial(path)
    return joined_path(path[:-1] if trial is None else trial)


def _trial(path: list[str]) -> list[str] | None:
    """The trial's folder of a log below ``agent``; null for any other file."""
    at = _agent(path)
    return None if at is None else path[: at - 2 if at >= 2 and path[at - 2] == "steps" else at]


def _agent(path: list[str]) -> int | None:
    """Place of the last folder named ``agent``."""
    return next((index for index in range(len(path) - 2, -1, -1) if path[index] == "agent"), None)


def recognise(probe: Probe) -> str | None:
    """A trial's result, and any log in the folder of its agent."""
    if probe.name == _RESULT and set(_KEYS) <= probe.keys:
        return "trial"
    path = parts_of(probe.relpath) if "agent/" in probe.relpath else []
    trial = _trial(path)
    if trial is None:
        return None
    folder = "/".join(parts_of(probe.file.path)[: len(trial) - len(path)])
    return "trial" if _is_trial(folder) and inner_format(probe) is not None else None


@lru_cache(maxsize=4096)
def _is_trial(folder: str) -> bool:
    try:
        with (Path(folder) / _RESULT).open("rb") as file:
            data = file.read(4 << 20)
    except OSError:
        return False
    return all(f'"{key}"'.encode() in data for key in _KEYS)


def inner_format(probe: Probe) -> tuple[str, str] | None:
    """Format and variant of a log inside a trial."""
    for name in LOGS:
        if name != "harbor" and (variant := log_format(name).recognise(probe)) is not None:
            return name, variant
    return None


def read(bundle: Bundle) -> Records:
    """One trajectory a trial, or one for each of its steps; subagents' beside it."""
    problems: list[Problem] = []
    result: dict[str, Any] = {}
    places: dict[str, list[SourceFile]] = {}
    for file in bundle.files:
        path = parts_of(file.relpath)
        if path[-1] == _RESULT and _agent(path) is None:
            try:
                result = mapping(load(file, problems))
            except (ValueError, RecursionError) as error:
                problems.append(Problem("unreadable_record", f"{path[-1]}: {error}; expected a trial's result"))
        else:
            places.setdefault(_step_of(path), []).append(file)
    yield from problems
    steps = {word(step.get("step_name")) or "": step for step in mappings(result.get("step_results"))}
    for number_of, step in enumerate(sorted({*places, *steps} or {""})):
        part = steps.get(step, {}) if step else result
        yield from _one(bundle, result, part, places.get(step, []), step, number_of)


def _step_of(path: list[str]) -> str:
    """Name of the step that a log is of; empty in trials of one step."""
    at = _agent(path) or 0
    return path[at - 1] if at >= 2 and path[at - 2] == "steps" else ""


def _one(
    bundle: Bundle, result: dict[str, Any], part: dict[str, Any], files: list[SourceFile], step: str, ordinal: int
) -> Iterator[Trajectory | Problem]:
    main: Trajectory | None = None
    trial = word(result.get("trial_name"))
    name = f"{trial}/{step}" if step and trial else trial
    for record in _inner(files):
        if isinstance(record, Problem):
            yield record
        elif main is None and record.gradable is not False:
            main = record
        else:
            record.variant, record.ordinal, record.gradable = bundle.variant, f"{ordinal}.{record.ordinal}", False
            if main is None or record.parent_native_id in (None, main.native_id):
                record.parent_native_id = name  # the trial is named otherwise than the log in it
            yield record
    trajectory = main or Trajectory(bundle.variant, "")
    trajectory.variant, trajectory.ordinal = bundle.variant, str(ordinal)
    trajectory.native_id = name
    _facts(trajectory, result, part)
    if step and trajectory.task_id:
        trajectory.task_id = f"{trajectory.task_id}/{step}"
    yield trajectory


def _inner(files: list[SourceFile]) -> Records:
    """What the preferred format among the logs holds."""
    found: dict[str, dict[str, list[SourceFile]]] = {}
    variants: dict[str, str] = {}
    for file in files:
        known = inner_format(Probe(file))
        if known is None:
            continue
        name, variant = known
        module = log_format(name)
        group_of = getattr(module, "group", None)
        place = (group_of(file.relpath, variant) if group_of is not None else None) or file.relpath
        found.setdefault(name, {}).setdefault(place, []).append(file)
        variants.setdefault(f"{name}\0{place}", variant)
    order = [*_PREFERRED, *(name for name in LOGS if name not in _PREFERRED)]
    chosen = next((name for name in order if name in found), None)
    if chosen is None:
        return
    for place, members in found[chosen].items():
        members.sort(key=lambda f: (f.relpath != place, f.relpath))
        yield from log_format(chosen).read(Bundle(chosen, variants[f"{chosen}\0{place}"], tuple(members)))


def _facts(trajectory: Trajectory, result: dict[str, Any], part: dict[str, Any]) -> None:
    """What the result says: task, agent, end, reward, totals."""
    agent, used = mapping(result.get("agent_info")), mapping(part.get("agent_result"))
    model = mapping(agent.get("model_info"))
    trajectory.task_id = first(word(result.get("task_name")), trajectory.task_id)
    trajectory.agent = first(word(agent.get("name")), trajectory.agent)
    trajectory.agent_version = first(word(agent.get("version")), trajectory.agent_version)
    trajectory.model = first(word(model.get("name")), trajectory.model)
    trajectory.settings += settings(mapping(mapping(result.get("config")).get("agent")), "agent")
    failed = first(part.get("exception_info"), result.get("exception_info"))
    exception = word(mapping(failed).get("exception_type"))
    finished = moment(result.get("finished_at")) is not None
    trajectory.stop_reason = first(exception, trajectory.stop_reason)
    trajectory.termination = classify_harbor(exception, finished=finished)
    _reward(trajectory, part, exception)
    for name, key in (("prompt", "n_input_tokens"), ("completion", "n_output_tokens")):
        stated = count(used.get(key))
        reconcile(trajectory, f"{name} tokens", stated, getattr(trajectory, f"{name}_tokens"))
        setattr(trajectory, f"{name}_tokens", first(stated, getattr(trajectory, f"{name}_tokens")))
    trajectory.cached_tokens = first(count(used.get("n_cache_tokens")), trajectory.cached_tokens)
    trajectory.cost = first(number(used.get("cost_usd")), trajectory.cost)
    timing = mapping(part.get("agent_execution"))
    start, end = moment(timing.get("started_at")), moment(timing.get("finished_at"))
    trajectory.started_at = first(start, moment(result.get("started_at")), trajectory.started_at)
    trajectory.seconds = first(between(start, end), trajectory.seconds)


def _reward(trajectory: Trajectory, part: dict[str, Any], exception: str | None) -> None:
    """The reward, whether it is valid, and the verdict upstream draws from it: solved at 1."""
    rewards = mapping(mapping(part.get("verifier_result")).get("rewards"))
    values = {str(name): number(value) for name, value in rewards.items()}
    trajectory.rewards += [RewardPart(name, value) for name, value in values.items()]
    known = [value for value in values.values() if value is not None]
    reward = first(values.get("reward"), known[0] if len(known) == 1 else None)
    invalid = classify_harbor(exception, finished=True) != "ended" and exception not in HARBOR_VALID
    trajectory.gradable = first(flag(part.get("reward_valid")), bool(known) and not invalid)
    if trajectory.gradable:
        trajectory.reward = reward
        trajectory.correct = trajectory.outcome = None if reward is None else reward >= 1
