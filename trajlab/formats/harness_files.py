"""Files that harnesses write beside trajectories and that say nothing of a single one: settings, locks, totals.

Totals are held against what was read; of the rest nothing is read, and each says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

from trajlab.formats import FoundFact, Total, Unjoined, Variant
from trajlab.formats._values import count, first, load, mapping, settings
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "harbor": Variant("Harbor: job result, settings, locks, what the verifier and the artifacts left", frozenset()),
    "terminal_bench": Variant("terminal-bench 1: `run_metadata.json`, results of the whole run", frozenset()),
    "conversion": Variant("`convert.json`: what `trajlab convert` wrote, and what it could not", frozenset()),
    "openhands": Variant("OpenHands: `metadata.json` of a benchmark, `TASKS.json`", frozenset()),
    "simulation": Variant("`truth.json`: what `trajlab simulate` was asked for and planted", frozenset()),
}

SPEAKS_OF = {
    "harbor": frozenset({"harbor"}),
    "terminal_bench": frozenset({"terminal_bench"}),
    "conversion": frozenset({"atif", "chat"}),
    "openhands": frozenset({"openhands", "openhands_sdk"}),
    "simulation": frozenset({"verl"}),
}
"""Formats of the trajectories that each is about."""

_BY_KEYS: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("harbor", "result.json", frozenset({"stats", "n_total_trials"})),
    ("harbor", "config.json", frozenset({"job_name", "jobs_dir"})),
    ("harbor", "config.json", frozenset({"trial_name", "trials_dir"})),
    ("terminal_bench", "run_metadata.json", frozenset({"run_id", "agent_name"})),
    ("terminal_bench", "results.json", frozenset({"results", "accuracy"})),
    ("conversion", "convert.json", frozenset({"to", "not_held", "unread"})),
    ("openhands", "metadata.json", frozenset({"agent_class", "llm_config", "max_iterations"})),
    ("simulation", "truth.json", frozenset({"run", "arguments", "asked", "planted"})),
)
_BY_PLACE = {
    ("verifier", "reward.json"): "harbor",
    ("verifier", "ctrf.json"): "harbor",
    ("artifacts", "manifest.json"): "harbor",
}


def recognise(probe: Probe) -> str | None:
    """By name, with the keys or the files beside it that tell whose it is."""
    name = probe.name
    if name == "lock.json":
        return "harbor" if {"config.json", "result.json"} <= probe.siblings else None
    if name == "TASKS.json":
        return "openhands" if "base_state.json" in probe.siblings else None
    if (probe.parent_name, name) in _BY_PLACE:
        return _BY_PLACE[probe.parent_name, name]
    return next((kind for kind, wanted, keys in _BY_KEYS if name == wanted and keys <= probe.keys), None)


def read_facts(bundle: Bundle) -> Iterator[FoundFact]:
    """Totals and settings; of what nothing joins, the reason."""
    name = PurePosixPath(bundle.file.relpath).name
    build = _BUILD.get((bundle.variant, name))
    if build is None:
        yield Unjoined(_REASONS.get(name, "settings of the harness: nothing about a trajectory"))
        return
    problems: list[Problem] = []
    try:
        value = mapping(load(bundle, problems))
    except (ValueError, RecursionError) as error:
        yield Problem("unreadable_record", f"{error}; expected an object")
        return
    yield from problems
    found = list(build(value))
    yield from found or [Unjoined("it states no totals")]


def _harbor(value: dict[str, Any]) -> Iterator[FoundFact]:
    """Harbor counts a trial when its result is there; all that were planned stand beside."""
    stats = mapping(value.get("stats"))
    done = count(first(stats.get("n_trials"), stats.get("n_completed_trials")))
    if done is not None:
        yield Total("files", done)
    if (planned := count(value.get("n_total_trials"))) is not None:
        yield Total("files", planned, planned=True)


def _terminal_bench(value: dict[str, Any]) -> Iterator[FoundFact]:
    resolved, unresolved = count(value.get("n_resolved")), count(value.get("n_unresolved"))
    if resolved is not None and unresolved is not None:
        yield Total("files", resolved + unresolved)
        yield Total("files.correct", resolved)


def _conversion(value: dict[str, Any]) -> Iterator[FoundFact]:
    if (written := count(value.get("trajectories"))) is not None:
        yield Total("trajectories", written)


def _openhands(value: dict[str, Any]) -> Iterator[FoundFact]:
    yield from settings({name: value.get(name) for name in ("agent_class", "max_iterations", "dataset")})


_BUILD: dict[tuple[str, str], Callable[[dict[str, Any]], Iterator[FoundFact]]] = {
    ("harbor", "result.json"): _harbor,
    ("terminal_bench", "results.json"): _terminal_bench,
    ("conversion", "convert.json"): _conversion,
    ("openhands", "metadata.json"): _openhands,
}
_REASONS = {
    "reward.json": "the trial's result has the reward, too",
    "ctrf.json": "results of single tests: the trial's result has the reward they come to",
    "manifest.json": "names of files that the trial left",
    "lock.json": "the settings that the job was resolved to: nothing about a trajectory",
    "TASKS.json": "the agent's list of tasks, which its events hold, too",
    "truth.json": "what a simulated run was asked for: nothing that a log of it would hold",
}
