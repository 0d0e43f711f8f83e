"""Files that trainers write beside their rollouts, and what they say about them.

What prime-rl learns of a trace later (whether it was trained on, with which credit, at which step), are facts
for the overlay; totals of rLLM, NeMo-Gym and SkyRL are held
against what was read. What has no place says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trajlab.formats import FoundFact, Unjoined, Variant
from trajlab.formats import _sidecar_facts as facts
from trajlab.formats._trainer_rows import first_object
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "nemo_gym_aggregates": Variant("NeMo-Gym aggregates: metrics by agent, by task, reward profiles", frozenset()),
    "nemo_gym_inputs": Variant("NeMo-Gym `…_materialized_inputs.jsonl`: requests before their rollouts", frozenset()),
    "prime_rl_annotations": Variant(
        "prime-rl `annotations/<producer>`: facts about traces by `trace_id`",
        frozenset({"effective", "filter_reason", "advantage", "trained_at_step"}),
    ),
    "prime_rl_index": Variant("prime-rl `*.index.jsonl`: where records stand in a stream", frozenset()),
    "rllm_eval_results": Variant("rLLM results of an evaluation: `dataset_name`, `score`, `items`", frozenset()),
    "rllm_summary": Variant("rLLM `batch_summary.json`: counts of one step", frozenset()),
    "skyrl_metrics": Variant("SkyRL `aggregated_results.jsonl`: metrics of one evaluation", frozenset()),
    "tinker_config": Variant(
        "tinker-cookbook `config.json` beside `metrics.jsonl`: the settings of the run, into `run_config` (0.6)",
        frozenset(),
    ),
    "tinker_summaries": Variant(
        "tinker-cookbook `…_rollout_summaries.jsonl`: lengths and rewards of rollouts, without text", frozenset()
    ),
}

_NEMO_GYM, _RLLM = frozenset({"nemo_gym"}), frozenset({"rllm"})
SPEAKS_OF = {
    "nemo_gym_aggregates": _NEMO_GYM,
    "nemo_gym_inputs": _NEMO_GYM,
    "prime_rl_annotations": frozenset({"verifiers"}),
    "rllm_eval_results": _RLLM,
    "rllm_summary": _RLLM,
    "skyrl_metrics": frozenset({"skyrl"}),
    "tinker_config": frozenset({"tinker"}),
}
"""Formats of the trajectories that each is about."""

_READERS: dict[str, Callable[[Bundle], Iterator[FoundFact]]] = {
    "nemo_gym_aggregates": facts.nemo_gym_aggregates,
    "nemo_gym_inputs": facts.nemo_gym_inputs,
    "prime_rl_annotations": facts.prime_rl_annotations,
    "rllm_eval_results": facts.rllm_eval_results,
    "rllm_summary": facts.rllm_summary,
    "skyrl_metrics": facts.skyrl_metrics,
    "tinker_config": facts.tinker_config,
}
_NO_PLACE = {
    "prime_rl_index": "places of records in a stream, which is read whole: nothing about a trajectory",
    "tinker_summaries": "rewards and lengths of rollouts whose text is not logged: no trajectory to join them with",
}

_AGGREGATES = {"agent_ref", "agent_metrics"}
_TINKER = {"log_path", "model_name"}
"""Options that every training of tinker-cookbook has: ``train.py`` of ``rl`` and ``supervised``, ``train_dpo.py``."""


def recognise(probe: Probe) -> str | None:
    """By the keys of the first record, and for an index by its name, too."""
    if probe.shape == "lines":
        return _of_lines(probe)
    if probe.shape == "list":
        records = [record for record in probe.records if isinstance(record, dict)]
        return "nemo_gym_aggregates" if records and records[0].keys() >= _AGGREGATES else None
    if probe.shape != "object":
        return None
    keys = probe.keys
    if probe.name == "config.json" and keys >= _TINKER and "metrics.jsonl" in probe.siblings:
        return "tinker_config"
    if keys >= _AGGREGATES:
        return "nemo_gym_aggregates"
    if keys >= {"dataset_name", "score", "total", "correct", "items", "signal_averages"}:
        return "rllm_eval_results"
    return "rllm_summary" if keys >= {"training_step", "num_episodes", "episode_files"} else None


def _of_lines(probe: Probe) -> str | None:
    first = first_object(probe, "lines")
    if first is None or "nodes" in first or "traces" in first:
        return None
    if isinstance(first.get("responses_create_params"), dict):
        is_input = "response" not in first and "reward" not in first and "_ng_task_index" in first
        return "nemo_gym_inputs" if is_input and "_ng_failure_class" not in first else None
    if first.keys() >= {"iteration", "group_idx", "traj_idx", "total_reward", "final_ob_len"}:
        return "tinker_summaries"
    if first and all(name.startswith("eval/") for name in first):
        return "skyrl_metrics"
    if {"mean/reward", "std/reward"} <= first.keys():
        return "nemo_gym_aggregates"
    if "offset" in first and ".index.jsonl" in probe.name:
        return "prime_rl_index"
    return "prime_rl_annotations" if "trace_id" in first and ("info" in first or "branches" in first) else None


def read_facts(bundle: Bundle) -> Iterator[FoundFact]:
    """Facts, totals and settings; of what nothing joins, the reason."""
    if (reason := _NO_PLACE.get(bundle.variant)) is not None:
        yield Unjoined(reason)
        return
    yield from _READERS[bundle.variant](bundle)
