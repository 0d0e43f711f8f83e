"""NeMo-Gym: rollouts as the Responses API has them, one a line, and the sidecar of failed attempts.

A row is what an agent server gave back: the request, the response with its output items, the reward, and
whatever the environment's own server adds. Turns of an environment can stand among the output items as
user messages. ``usage`` is the last call's with some agents and the sum with others, and all zero with a third
kind: it is read only where there was one call. Attempts that were killed leave no row. A row with ``mask_sample`` holds
a reward that is no measurement of the agent: it is not gradable, and where the scoring itself failed it has no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._chat_messages import ChatMessage
from trajlab.formats._token_facts import same_length
from trajlab.formats._trainer_rows import Fields, Row, add_cleaning, first_object, prompt_task, reward_parts, rows
from trajlab.formats._trainer_turns import chat_messages, fill_from_messages, prompt_messages, prompt_text, tool_names
from trajlab.records import Message, Problem, TokenFacts, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.safe_json import to_bool

_CARRIED = frozenset(
    {
        "task_id", "group_id", "attempt", "agent", "model", "reward", "logged_correct", "logged_termination",
        "stop_reason", "tools_offered", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens",
    }
)  # fmt: skip

VARIANTS = {
    "rollouts": Variant(
        "rollouts of any agent server, one a line",
        _CARRIED | {"native_id", "logged_outcome", "seconds", "submission_chars", "gradable"},
    ),
    "failures": Variant("`…_failures.jsonl`: attempts that failed, with `_ng_failure_class`", _CARRIED),
}

_VERDICTS = ("accuracy", "is_correct", "correct", "acc")
_COMPONENTS = re.compile(r"acc|reward|score|format|bonus|penalt|correct|success")
_NOT_COMPONENTS = frozenset({"reward", "reward_components"})
_RETURN_CODE = re.compile(r"<returncode>(-?\d{1,9})</returncode>")
_ENDS = {
    "completed": "ended",
    "user_stop": "ended",
    "agent_stop": "ended",
    "max_steps": "truncated_budget",
    "too_many_errors": "invalid_action",
    "max_output_tokens": "truncated_budget",
    "incomplete": "truncated_budget",
    "failed": "infrastructure_error",
}
"""Words of the Responses API and of tau2's simulations."""
_AGENT_ERRORS = {
    "max_iteration": "truncated_budget",
    "context_window": "truncated_budget",
    "stuck_in_loop": "task_failure",
}
"""``agent_error_kind`` of agents on software tasks; ``other`` is whatever else an agent printed, error or not."""
_FAILURES = {
    "eval_timeout": "verifier_error",
    "sandbox": "environment_error",
    **dict.fromkeys(("judge_failed", "judge_unparseable", "verifier_error"), "verifier_error"),
    **dict.fromkeys(
        ("environment_server_failed", "protocol_violation", "provider_unavailable", "provider_quota_exhausted",
         "provider_oom_killed", "session_lost", "session_expired", "session_release_failed"), "environment_error"),
    **dict.fromkeys(
        ("transport_unreachable", "transport_peer_drop", "transport_timeout", "transport_local_resource",
         "agent_run_error", "agent_request_failed", "persistence_failed", "cohort_incomplete"), "infrastructure_error"),
    **dict.fromkeys(("cancelled", "kill_shaped", "shutdown"), "incomplete"),
    "agent_timeout": "timeout",
    "agent_command_not_allowed": "invalid_action",
}  # fmt: skip
"""``error_kind`` of scoring software tasks, and the words of ``nemo_gym/failure_kinds.py``."""


def recognise(probe: Probe) -> str | None:
    """By the request and, for rollouts, the response with output items."""
    first = first_object(probe, "lines", "object", "list", keys=("responses_create_params",))
    if first is None or not isinstance(first.get("responses_create_params"), dict):
        return None
    if "_ng_failure_class" in first:
        return "failures"
    response = first.get("response")
    return "rollouts" if isinstance(response, dict) and "output" in response and "reward" in first else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a row."""
    for row in rows(bundle):
        if isinstance(row, Problem):
            yield row
            continue
        try:
            yield _trajectory(row)
        except RecursionError:
            yield row.problem("unreadable_record", "a value is nested too deeply")


def _trajectory(row: Row) -> Trajectory:
    problems: list[Problem] = []
    fields = Fields(row.value, row, problems)
    failure = fields.word("_ng_failure_class")
    trajectory = Trajectory("failures" if failure else "rollouts", row.ordinal, line=row.line)
    trajectory.native_id = fields.word("_ng_rollout_id")
    request, response = fields.inner("responses_create_params"), fields.inner("response")
    trajectory.task_id = _task_id(fields, request)
    trajectory.group_id = fields.word("_ng_task_index")
    trajectory.attempt = fields.whole("_ng_rollout_index")
    trajectory.agent = fields.inner("agent_ref").text("name")
    trajectory.model = response.text("model") or request.text("model") or None
    trajectory.tools_offered = tool_names(request.items("tools")) if "tools" in request else None
    _add_turns(trajectory, fields, row, problems)
    trajectory.task_id = trajectory.task_id or trajectory.group_id or prompt_task(prompt_text(trajectory.messages))
    _add_tokens(trajectory, response, row)
    _add_rewards(trajectory, fields)
    masked = _masked(fields)
    _add_end(trajectory, fields, response, failure, masked=masked)
    if masked is not None:
        trajectory.gradable = not masked
    # What ran out of time or of turns was scored; a trainer masks it all the same.
    if masked and trajectory.termination not in ("timeout", "truncated_budget"):
        trajectory.correct = trajectory.outcome = None
    trajectory.submission = fields.text("model_patch") or fields.inner("metadata").text("model_patch")
    trajectory.seconds = fields.number("agent_run_time")
    trajectory.problems += problems
    add_cleaning(trajectory, row)
    return trajectory


def _task_id(fields: Fields, request: Fields) -> str | None:
    metadata = request.inner("metadata")
    task = fields.value.get("task")
    return (
        fields.word("instance_id")
        or metadata.word("instance_id")
        or (fields.inner("task").word("id") if isinstance(task, dict) else None)
    )


def _add_turns(trajectory: Trajectory, fields: Fields, row: Row, problems: list[Problem]) -> None:
    request = fields.inner("responses_create_params")
    given = request.value.get("input")
    items: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else request.items("input")
    before = chat_messages(items, row, problems)
    instructions = request.value.get("instructions")
    if isinstance(instructions, str):
        before = [ChatMessage("system", instructions), *before]
    output = chat_messages(fields.inner("response").items("output"), row, problems)
    simulated = fields.value.get("result")
    said = simulated.get("messages") if isinstance(simulated, dict) else None
    if isinstance(said, list) and said:  # tau2: the request holds the conversation so far
        start = next((n for n, message in enumerate(before) if message.role not in ("system", "developer")), 0)
        before, output = before[:start], before[start:] + output
    fill_from_messages(trajectory, [], output, told=False, cut=False)
    trajectory.messages = _prompt(before) + trajectory.messages
    for step in trajectory.steps:
        for call in step.calls:
            if call.output and (found := _RETURN_CODE.match(call.output)):  # mini-swe-agent's words
                call.exit_code = int(found[1])
    if isinstance(said, list) and said:
        _reconcile(trajectory, said, row)


def _prompt(messages: Sequence[ChatMessage]) -> list[Message]:
    """Messages before the rollout; calls and results among them are no steps of it."""
    found = []
    for message, plain in zip(messages, prompt_messages(messages), strict=True):
        if message.type == "function_call":
            found.append(Message("assistant", f"{message.name or ''} {message.arguments or ''}"))
        elif message.type == "function_call_output":
            found.append(Message("tool", message.output if isinstance(message.output, str) else ""))
        elif message.type != "reasoning":
            found.append(plain)
    return found


def _reconcile(trajectory: Trajectory, said: list[Any], row: Row) -> None:
    """The simulation holds the conversation once more: the agent's calls must be as many."""
    logged = 0
    for message in said:
        calls = message.get("tool_calls") if isinstance(message, dict) and message.get("role") == "assistant" else None
        logged += len(calls) if isinstance(calls, list) else 0
    ours = sum(len(step.calls) for step in trajectory.steps)
    if logged != ours:
        message = f"the simulation states {logged} calls of the agent, {ours} were read"
        trajectory.problems.append(row.problem("not_reconciled", message, trajectory.native_id))


def _add_tokens(trajectory: Trajectory, response: Fields, row: Row) -> None:
    counted = 0
    for item in response.items("output"):
        ids = item.get("generation_token_ids") if isinstance(item, dict) else None
        if isinstance(ids, list):
            counted += len(ids)
            said = item.get("generation_log_probs")
            lengths = {"generation_token_ids": len(ids),
                       "generation_log_probs": len(said) if isinstance(said, list) else None}  # fmt: skip
            same_length(lengths, row, trajectory.problems, trajectory.native_id)
            trajectory.token_facts = TokenFacts(response_tokens=counted)
    if trajectory.token_facts is not None:
        trajectory.completion_tokens = counted
    usage = response.inner("usage")
    if len(trajectory.steps) == 1 and usage.whole("total_tokens"):
        trajectory.prompt_tokens = usage.whole("input_tokens")
        trajectory.completion_tokens = usage.whole("output_tokens")
        trajectory.cached_tokens = usage.inner("input_tokens_details").whole("cached_tokens")
        trajectory.reasoning_tokens = usage.inner("output_tokens_details").whole("reasoning_tokens")


def _add_rewards(trajectory: Trajectory, fields: Fields) -> None:
    trajectory.reward = fields.number("reward")
    parts = dict(fields.inner("reward_components").value)
    for name, value in fields.value.items():
        if name not in _NOT_COMPONENTS and _COMPONENTS.search(name.lower()):
            parts.setdefault(name, value)
    trajectory.rewards = reward_parts(parts)
    report = fields.inner("metadata").value.get("eval_report")
    told = report.get(trajectory.task_id) if isinstance(report, dict) else None
    resolved = told.get("resolved") if isinstance(told, dict) else fields.value.get("resolved")
    trajectory.outcome = to_bool(resolved)
    verdicts = [resolved, *(fields.value.get(name) for name in _VERDICTS)]
    trajectory.correct = next((truth for value in verdicts if (truth := to_bool(value)) is not None), None)


def _add_end(
    trajectory: Trajectory, fields: Fields, response: Fields, failure: str | None, *, masked: bool | None
) -> None:
    """The first of what a server may say: failed, timed out, cut, ended; the response's own status last."""
    error, agent_error = fields.text("error_kind") or fields.text("failure_kind"), fields.text("agent_error_kind")
    simulated = fields.value.get("result")
    reason = simulated.get("termination_reason") if isinstance(simulated, dict) else None
    incomplete = response.inner("incomplete_details").text("reason")
    if failure is not None:
        trajectory.stop_reason = failure
        trajectory.termination = "timeout" if "timeout" in failure.lower() else "infrastructure_error"
    elif to_bool(fields.value.get("agent_timed_out")):
        trajectory.stop_reason, trajectory.termination = "agent_timed_out", "timeout"
    elif error is not None and masked:  # beside a reward that was measured all the same it is no end
        trajectory.stop_reason, trajectory.termination = error, _FAILURES.get(error, "infrastructure_error")
    elif agent_error is not None and agent_error in _AGENT_ERRORS:
        trajectory.stop_reason, trajectory.termination = agent_error, _AGENT_ERRORS[agent_error]
    elif to_bool(fields.value.get("truncated")):
        trajectory.stop_reason, trajectory.termination = "truncated", "truncated_budget"
    elif to_bool(fields.value.get("terminated")):
        trajectory.stop_reason, trajectory.termination = "terminated", "ended"
    elif to_bool(fields.value.get("finished_naturally")):
        trajectory.stop_reason, trajectory.termination = "finished_naturally", "ended"
    else:
        word = reason if isinstance(reason, str) else incomplete or response.text("status")
        trajectory.stop_reason = word
        trajectory.termination = None if word is None else _ENDS.get(word, "unknown")


def _masked(fields: Fields) -> bool | None:
    """Whether the row says that its reward measures nothing; older servers say so beside the settings only."""
    told = fields.truth("mask_sample"), fields.inner("instance_config").truth("mask_sample")
    return None if told == (None, None) else True in told
