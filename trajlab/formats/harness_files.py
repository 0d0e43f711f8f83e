"""Files that harnesses write beside trajectories and that say nothing of a single one: settings, locks, totals.

Named, so that they are not taken for logs that nobody reads; nothing is read from them.
"""

from __future__ import annotations

from collections.abc import Iterator

from trajlab.formats import Outcome, Variant
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "harbor": Variant("Harbor: job result, settings, locks, what the verifier and the artifacts left", frozenset()),
    "terminal_bench": Variant("terminal-bench 1: `run_metadata.json`, results of the whole run", frozenset()),
    "conversion": Variant("`convert.json`: what `trajlab convert` wrote, and what it could not", frozenset()),
    "openhands": Variant("OpenHands: `metadata.json` of a benchmark, `TASKS.json`", frozenset()),
}

_BY_KEYS: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("harbor", "result.json", frozenset({"stats", "n_total_trials"})),
    ("harbor", "config.json", frozenset({"job_name", "jobs_dir"})),
    ("harbor", "config.json", frozenset({"trial_name", "trials_dir"})),
    ("terminal_bench", "run_metadata.json", frozenset({"run_id", "agent_name"})),
    ("terminal_bench", "results.json", frozenset({"results", "accuracy"})),
    ("conversion", "convert.json", frozenset({"to", "not_held", "unread"})),
    ("openhands", "metadata.json", frozenset({"agent_class", "llm_config", "max_iterations"})),
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


def read_outcomes(bundle: Bundle) -> Iterator[Outcome | Problem]:
    """Nothing: what they say of trajectories stands in the logs, too."""
    return iter(())
