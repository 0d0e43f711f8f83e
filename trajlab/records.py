"""What a reader yields: one trajectory at a time, in the field's words.

``None`` always means *the log does not record it*: never zero, never "now".
"""

from __future__ import annotations

from typing import Any

import msgspec


class RewardPart(msgspec.Struct):
    """One component of a trajectory's reward."""

    name: str
    value: float | None
    weight: float | None = None
    applied_step: int | None = None


class Message(msgspec.Struct, gc=False):
    """A message that is neither the agent's nor a tool's: system, user, simulated user."""

    role: str
    text: str
    after_step: int | None = None
    """Number of the step it follows; ``None`` before the first step."""


class ToolCall(msgspec.Struct, gc=False):
    """One request to a tool, well formed or not, with what came back."""

    tool: str | None
    """Name as the log spells it; ``None`` where the call was too broken to tell."""
    arguments: str | dict[str, Any] | None = None
    """As logged: an object, or the text that stood in its place."""
    command: str | None = None
    """Shell text, where the tool is a shell."""
    call_id: str | None = None
    output: str | None = None
    exit_code: int | None = None
    is_error: bool | None = None
    executed: bool | None = None
    """It got a result; ``None`` where the log cannot tell."""
    invalid: str | None = None
    """``unparsable``, ``unknown_tool`` or ``refused``; ``None`` when nothing says so."""
    requestor: str = "agent"
    seconds: float | None = None


class Step(msgspec.Struct, gc=False):
    """One turn of the agent: its message, the calls in it and what came back."""

    text: str = ""
    reasoning: str | None = None
    calls: list[ToolCall] = msgspec.field(default_factory=list)
    invalid_action: str | None = None
    """The scaffold refused the whole turn (no call, or a malformed one): its reason."""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    """Prompt tokens, cached ones included."""
    completion_tokens: int | None = None
    cost: float | None = None
    timestamp: float | None = None
    """Seconds since 1970-01-01 UTC."""


class Problem(msgspec.Struct):
    """One thing not read, cleaned or not reconciled."""

    code: str
    message: str
    line: int | None = None
    """1-based line in the file, where the file has lines."""
    offset: int | None = None
    """Byte offset in the (decompressed) file."""
    native_id: str | None = None
    """The record it is about, where the record could be told."""


class RunSetting(msgspec.Struct):
    """One configured value of a run, and the applied value where the log shows it."""

    name: str
    configured: str | None
    applied: str | None = None


class TokenFacts(msgspec.Struct):
    """What the token arrays of one trajectory tell, as sums, which add up over trajectories.

    A token of the response is one that the agent generated; an observation is whatever stands between and after the
    agent's turns: results of tools, words of the environment, marks of the chat template.
    """

    tokens: int | None = None
    """Positions, padding included."""
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    observation_tokens: int | None = None
    padding_tokens: int | None = None
    trained_tokens: int | None = None
    """Positions that the loss mask keeps."""
    trained_prompt: int | None = None
    trained_observation: int | None = None
    trained_padding: int | None = None
    versioned: int | None = None
    """Tokens, or calls of the model, whose weight version is recorded."""
    unversioned: int | None = None
    version_changes: int | None = None
    """Places where the version differs from the one before."""
    ratio_tokens: int | None = None
    """Tokens trained on for which both log-probabilities are finite."""
    ratio_unknown: int | None = None
    """Tokens trained on for which one of them is not."""
    ratio_sum: float | None = None
    ratio_squares: float | None = None
    log_ratio_sum: float | None = None
    log_ratio_smallest: float | None = None
    log_ratio_largest: float | None = None
    value_tokens: int | None = None
    """Tokens trained on for which value and return are finite."""
    value_sum: float | None = None
    return_sum: float | None = None
    value_squares: float | None = None
    return_squares: float | None = None
    value_returns: float | None = None
    """Sum of value times return."""
    advantage_tokens: int | None = None
    """Tokens trained on whose advantage is finite."""
    advantage_negative: int | None = None
    """Of these, tokens with an advantage below zero."""
    advantage_sum: float | None = None
    advantage_squares: float | None = None
    advantage_largest: float | None = None
    reference_tokens: int | None = None
    """Tokens trained on for which policy and reference model have a finite log-probability."""
    reference_kl: float | None = None
    """Sum of r − 1 − log r, r = π_ref / π."""
    value_quarters: list[tuple[int, int, float, float]] = []
    """Quarter (1 to 4) of the tokens trained on, in order: how many, sum of values, sum of returns."""
    log_ratio_bins: tuple[list[int], list[int]] = ([], [])
    """Numbers of the bins of log-ratios that hold any token, and how many each holds."""


class Trajectory(msgspec.Struct):
    """One attempt of one agent at one task."""

    variant: str
    """Which of the format's declared variants this record follows."""
    ordinal: str
    """Place in its file (line offset or element number): identity where there is no native id."""
    native_id: str | None = None
    parent_native_id: str | None = None
    """Of a subagent: identity of the trajectory that started it."""
    run: str | None = None
    """The run the log itself names."""
    task_id: str | None = None
    group_id: str | None = None
    attempt: int | None = None
    split: str | None = None
    train_step: int | None = None
    epoch: int | None = None
    policy_version_first: str | None = None
    policy_version_last: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    reward: float | None = None
    correct: bool | None = None
    outcome: bool | None = None
    termination: str | None = None
    """A class of DEFINITIONS (``success`` … ``unknown``), or ``ended``: by itself, verdict to be joined."""
    stop_reason: str | None = None
    gradable: bool | None = None
    steps_allowed: int | None = None
    logged_steps: int | None = None
    """Steps (model calls) the log itself states, for reconciliation."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    started_at: float | None = None
    sample_index: int | None = None
    """Place in the trainer's stream of samples: its data cursor, which a resumed run goes on with."""
    tools_offered: list[str] | None = None
    submission: str | None = None
    line: int | None = None
    messages: list[Message] = msgspec.field(default_factory=list)
    steps: list[Step] = msgspec.field(default_factory=list)
    rewards: list[RewardPart] = msgspec.field(default_factory=list)
    settings: list[RunSetting] = msgspec.field(default_factory=list)
    problems: list[Problem] = msgspec.field(default_factory=list)
    token_facts: TokenFacts | None = None
    """``None``: the log holds no token arrays."""
