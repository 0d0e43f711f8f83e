"""Files that trainers write beside their rollouts. Known for what they are; none holds a verdict to join.

The settings of a run are read (``read_settings``). What prime-rl learns of a trace later (whether it was trained on, with
which credit, at which step) and rLLM's summaries of a step are facts for the tables to come; until then they are named,
so that nobody takes them for logs that could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from trajlab.formats import Outcome, Variant
from trajlab.formats._trainer_rows import first_object, rows, run_settings
from trajlab.records import Problem, RunSetting
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "nemo_gym_aggregates": Variant("NeMo-Gym aggregates: metrics by agent, by task, reward profiles", frozenset()),
    "nemo_gym_inputs": Variant("NeMo-Gym `…_materialized_inputs.jsonl`: requests before their rollouts", frozenset()),
    "prime_rl_annotations": Variant("prime-rl `annotations/<producer>`: facts about traces by `trace_id`", frozenset()),
    "prime_rl_index": Variant("prime-rl `*.index.jsonl`: where records stand in a stream", frozenset()),
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

_AGGREGATES = {"agent_ref", "agent_metrics"}
_TINKER = {"log_path", "model_name"}
"""Options that every training of tinker-cookbook has (``rl/train.py``, ``supervised/train.py``, ``preference/train_dpo.py``)."""


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


def read_outcomes(bundle: Bundle) -> Iterator[Outcome | Problem]:
    """No verdict stands in them; what is in none of the tables is told as not read."""
    if bundle.variant != "tinker_config":
        yield Problem("not_read", f"known, but its facts have no table yet: {VARIANTS[bundle.variant].doc}")


def read_settings(bundle: Bundle) -> Iterator[RunSetting | Problem]:
    """Settings by dotted name, where the file holds any; lists are none."""
    if bundle.variant == "tinker_config":
        for row in rows(bundle):
            yield from [row] if isinstance(row, Problem) else run_settings(row.value)
