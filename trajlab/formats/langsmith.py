"""LangSmith runs: rows of ``client.list_runs`` or of a bulk export, all runs of a trace together.

Source: langsmith 0.15.1, ``schemas.py`` (``Run``), ``run_trees.py``. Prompt tokens include cached ones. Rows of a trace
may stand anywhere in the file; runs whose parent is not in it are read all the same.
"""

from __future__ import annotations

from typing import Any

from trajlab.formats import Variant
from trajlab.formats._observations import TRACES, Observation, fill
from trajlab.formats._table_rows import Row, rows_of_table
from trajlab.formats._values import (
    Records,
    count,
    first,
    json_text,
    mapping,
    moment,
    number,
    reconcile,
    text,
    word,
)
from trajlab.records import Problem, RewardPart, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "runs": Variant(
        "rows with `run_type`, `trace_id`, `dotted_order`, `inputs`, `outputs`: JSON lines, list or Parquet",
        frozenset(
            {
                "native_id", "task_id", "agent", "model", "logged_termination", "stop_reason", "prompt_tokens",
                "completion_tokens", "cached_tokens", "reasoning_tokens", "cost", "seconds", "started_at",
                "tools_offered",
            }
        ),
        whole=True,
    ),
}  # fmt: skip

_KEYS = frozenset({"run_type", "trace_id", "inputs"})
_KINDS = {"llm": "model", "tool": "tool"}


def recognise(probe: Probe) -> str | None:
    """Rows that have a kind of run, their trace and their inputs."""
    if probe.shape == "parquet":
        return "runs" if set(probe.columns) >= _KEYS else None
    if probe.shape not in ("lines", "list") or b'"run_type"' not in probe.head:
        return None
    return "runs" if any(isinstance(row, dict) and set(row) >= _KEYS for row in probe.records) else None


def read(bundle: Bundle) -> Records:
    """One trajectory a trace that has runs of a model or a tool."""
    problems: list[Problem] = []
    traces: dict[str, list[Row]] = {}
    for row in rows_of_table(bundle, problems):
        traces.setdefault(word(row.value.get("trace_id")) or "", []).append(row)
    yield from problems
    number_of = 0
    for name, rows in traces.items():
        runs = list({word(row.value.get("id")) or row.ordinal: row for row in rows}.values())
        if any(_KINDS.get(text(row.value.get("run_type")) or "") for row in runs):
            yield _trajectory(bundle, number_of, name, [row.value for row in runs])
            number_of += 1
    if not number_of:
        yield Problem("no_messages", "no run of a model or a tool; expected traces of an agent")


def _trajectory(bundle: Bundle, number_of: int, name: str, runs: list[dict[str, Any]]) -> Trajectory:
    trajectory = Trajectory(bundle.variant, str(number_of), native_id=name or None)
    root = next((run for run in runs if word(run.get("id")) == name), None)
    if root is None:
        root = next((run for run in runs if not word(run.get("parent_run_id"))), {})
    try:
        fill(trajectory, [_observation(run, run is root) for run in runs])
        _facts(trajectory, root)
    except RecursionError:
        trajectory.problems.append(Problem("unreadable_record", "a value is nested too deeply to be read"))
    return trajectory


def _observation(run: dict[str, Any], is_root: bool) -> Observation:
    kind = _KINDS.get(text(run.get("run_type")) or "")
    inputs, outputs = json_text(run.get("inputs")), json_text(run.get("outputs"))
    extra = mapping(json_text(run.get("extra")))
    metadata, invocation = mapping(extra.get("metadata")), mapping(extra.get("invocation_params"))
    given, made = mapping(json_text(run.get("prompt_token_details"))), mapping(run.get("completion_token_details"))
    if kind == "model" and "tools" not in mapping(inputs) and invocation.get("tools"):
        inputs = {**mapping(inputs), "tools": invocation["tools"]}
    return Observation(
        word(run.get("id")),
        word(run.get("parent_run_id")),
        kind or ("agent" if is_root else None),
        word(run.get("name")),
        moment(run.get("start_time")),
        moment(run.get("end_time")),
        inputs,
        outputs,
        word(run.get("error")),
        first(word(metadata.get("ls_model_name")), word(invocation.get("model"))) if kind == "model" else None,
        {
            "prompt": count(run.get("prompt_tokens")),
            "completion": count(run.get("completion_tokens")),
            "cached": count(given.get("cache_read")),
            "reasoning": count(made.get("reasoning")),
        }
        if kind == "model"
        else {},
        number(run.get("total_cost")) if kind == "model" else None,
        _call_id(run, inputs, outputs),
    )


def _call_id(run: dict[str, Any], inputs: Any, outputs: Any) -> str | None:
    """A tool of LangChain gives back a message that names its call, or was given the call itself."""
    message = mapping(mapping(outputs).get("output"))
    message = mapping(message.get("kwargs")) or message
    return word(message.get("tool_call_id")) or word(mapping(inputs).get("tool_call_id"))


def _facts(trajectory: Trajectory, root: dict[str, Any]) -> None:
    """How the root ended, feedback, and what it states for the whole trace."""
    error = word(root.get("error"))
    state = word(root.get("status")) or ("error" if error else "success" if root.get("end_time") else "pending")
    name = (error or "").partition("(")[0].strip()
    trajectory.stop_reason = name if state == "error" and name.isidentifier() else state
    trajectory.termination = TRACES.get(trajectory.stop_reason or "", TRACES.get(state, "unknown"))
    for key, stats in mapping(json_text(root.get("feedback_stats"))).items():
        if (value := number(mapping(stats).get("avg"))) is not None:
            trajectory.rewards.append(RewardPart(key, value))
    if root.get("run_type") == "llm":
        return  # its own counts, not those of the runs below it
    reconcile(trajectory, "prompt tokens", count(root.get("prompt_tokens")), trajectory.prompt_tokens)
    reconcile(trajectory, "completion tokens", count(root.get("completion_tokens")), trajectory.completion_tokens)
    reconcile(trajectory, "USD", number(root.get("total_cost")), trajectory.cost)
