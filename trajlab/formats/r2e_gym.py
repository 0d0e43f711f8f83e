"""R2E-Gym trajectories: JSON lines of ``trajectory_steps``.

Source: R2E-Gym at 8e91bc64, ``r2egym/agenthub/agent/agent.py``, ``run/edit.py``. No log of it was at hand.
"""

from __future__ import annotations

import re
from typing import Any

from trajlab.behavior.termination import R2E_GYM
from trajlab.formats import Variant
from trajlab.formats._turns import Turns, exit_code_in, sum_tokens
from trajlab.formats._values import (
    Records,
    content_text,
    count,
    first,
    mapping,
    mappings,
    number,
    rows_with,
    settings,
    text,
    total,
    word,
)
from trajlab.records import Message, Step, ToolCall, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "lines": Variant(
        "lines with `trajectory_steps`, `problem_statement`, `exit_reason`",
        frozenset({"task_id", "agent", "model", "reward", "logged_correct", "logged_outcome", "logged_termination",
                   "stop_reason", "gradable", "steps_allowed", "prompt_tokens", "completion_tokens", "seconds",
                   "submission_chars"}),
    )
}  # fmt: skip

_FUNCTION = re.compile(r"<function\s*=\s*([\w.-]{1,100})>")
_PARAMETER = "<parameter"


def recognise(probe: Probe) -> str | None:
    """Rows with steps of thought, action and observation."""
    if probe.shape not in ("lines", "object"):
        return None
    if not any(b'"trajectory_steps"' in end for end in (probe.head, probe.tail)):
        return None
    return "lines" if any(map(_is_row, probe.records)) else None


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("trajectory_steps"), list) and "exit_reason" in row


def read(bundle: Bundle) -> Records:
    """One trajectory a line."""
    yield from rows_with(bundle, "trajectory_steps", _trajectory)


def _trajectory(row: dict[str, Any], bundle: Bundle) -> Trajectory:
    reward, reason = number(row.get("reward")), word(row.get("exit_reason"))
    arguments = mapping(row.get("agent_args"))
    data = mapping(first(row.get("ds"), mapping(row.get("env_args")).get("ds")))
    patch = text(row.get("output_patch"))
    termination = R2E_GYM.get(reason, "unknown") if reason is not None else None
    # Where the environment failed, a reward of 0 is written that nothing measured.
    gradable = reward is not None and termination not in ("environment_error", "verifier_error")
    solved = reward == 1.0 if gradable and reward in (0.0, 1.0) else None
    trajectory = Trajectory(
        bundle.variant,
        "",
        task_id=first(word(data.get("instance_id")), word(row.get("docker_image"))),
        agent="R2E-Gym",
        model=first(word(arguments.get("llm_name")), word(row.get("llm_name"))),
        run=word(row.get("exp_name")),
        reward=reward,
        correct=solved,
        outcome=solved,
        stop_reason=reason,
        termination=termination,
        gradable=gradable,
        steps_allowed=count(row.get("max_steps")),
        submission=patch,
        settings=list(settings(arguments, "agent")),
    )
    problem = content_text(row.get("problem_statement"))
    if problem:
        trajectory.messages.append(Message("user", problem))
    turns = Turns(trajectory)
    steps = mappings(row["trajectory_steps"])
    for step in steps:
        _take(turns, step)
    turns.close()
    trajectory.seconds = total(number(step.get("total_step_time")) for step in steps)
    sum_tokens(trajectory)
    return trajectory


def _take(turns: Turns, record: dict[str, Any]) -> None:
    step: Step = turns.step()
    action = content_text(record.get("action"))
    thought = content_text(record.get("thought"))
    if thought.startswith("<think>") and thought.endswith("</think>"):
        step.reasoning = thought.removeprefix("<think>").removesuffix("</think>")
    else:
        step.text = thought
    step.prompt_tokens = count(record.get("token_usage_prompt"))
    step.completion_tokens = count(record.get("token_usage_completion"))
    call = call_of(action)
    if call is None:
        step.text = "\n".join(filter(None, (step.text, action)))
        step.invalid_action = "no action"
        if record.get("observation"):
            turns.say("tool", content_text(record["observation"]))
        return
    turns.call(step, call)
    call.output, call.executed = content_text(record.get("observation")), True
    call.seconds = number(record.get("env_exec_time"))
    call.exit_code = exit_code_in(call.output)
    turns.settle(call)


def call_of(action: str) -> ToolCall | None:
    """The call in ``<function=name><parameter=key>value</parameter></function>``; null where there is none."""
    found = _FUNCTION.search(action)
    if found is None:
        return None
    arguments: dict[str, Any] = {}
    at = found.end()
    while (start := action.find(_PARAMETER, at)) >= 0:
        name_end = action.find(">", start)
        if name_end < 0:
            break
        end = action.find("</parameter>", name_end)
        end = len(action) if end < 0 else end
        name = action[start + len(_PARAMETER) : name_end].strip().lstrip("=").strip()
        arguments[name[:100]] = action[name_end + 1 : end].strip("\n")
        at = end
    return ToolCall(found[1], arguments)
