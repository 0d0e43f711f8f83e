"""How a trajectory ended: the classes of DEFINITIONS, and how a verdict completes them."""

from __future__ import annotations

ENDED = "ended"
"""Ended by itself: success or failure only a verdict can tell."""

BY_VERDICT = ("success", "task_failure")
ERRORS = ("environment_error", "verifier_error", "infrastructure_error")
"""A service level of the system: reported apart, left out of behaviour rates unless asked for."""
CLASSES = (
    "success",
    "task_failure",
    "invalid_action",
    "timeout",
    "truncated_budget",
    *ERRORS,
    "incomplete",
    "unknown",
)
"""All classes a finished table can hold; null is *not recorded*."""

MINI_ENVIRONMENT = frozenset({"CalledProcessError", "RuntimeError", "TimeoutExpired"})
"""Exceptions that, before the first step, mean the environment did not start."""

MINI_SWE_AGENT = {
    "Submitted": ENDED,
    "submitted": ENDED,
    "LimitsExceeded": "truncated_budget",
    "TimeExceeded": "timeout",
    "RepeatedFormatError": "invalid_action",
    "ContextWindowExceededError": "truncated_budget",
    "UserInterruption": "incomplete",
    "": "incomplete",
}
"""mini-swe-agent ``exit_status``; any other exception name is an infrastructure error."""

SWE_AGENT = {
    "submitted": ENDED,
    "submit": ENDED,
    "exit_cost": "truncated_budget",
    "exit_context": "truncated_budget",
    "exit_format": "invalid_action",
    "exit_command_timeout": "timeout",
    "exit_total_execution_time": "timeout",
    "exit_api": "infrastructure_error",
    "exit_environment_error": "environment_error",
    "exit_error": "infrastructure_error",
    "exit_forfeit": "task_failure",
    "exit_command": "task_failure",
    "early_exit": "incomplete",
    "skipped": "incomplete",
    "unknown_exit": "incomplete",
}
"""SWE-agent ``exit_status``; ``submitted (X)`` is classed by X."""

OPENHANDS = (
    ("maximum iteration", "truncated_budget"),
    ("maximum budget", "truncated_budget"),
    ("LLMContextWindowExceedError", "truncated_budget"),
    ("ERROR_LLM_OUT_OF_CREDITS", "infrastructure_error"),
    ("AgentStuckInLoopError", "task_failure"),
    ("stuck in a loop", "task_failure"),
    ("AgentRuntime", "environment_error"),
    ("ERROR_RUNTIME_DISCONNECTED", "environment_error"),
    ("ERROR_MEMORY", "environment_error"),
    ("Timeout after", "timeout"),
    ("STATUS$ERROR_LLM", "infrastructure_error"),
    ("RateLimit", "infrastructure_error"),
    ("Maximum retries", "infrastructure_error"),
)
"""OpenHands V0: what an error's text holds; the first that is met counts."""

OPENHANDS_STATES = {
    "finished": ENDED,
    "rejected": "task_failure",
    "error": "infrastructure_error",
    "stopped": "incomplete",
    "paused": "incomplete",
    "running": "incomplete",
    "loading": "incomplete",
    "init": "incomplete",
    "awaiting_user_input": "incomplete",
    "awaiting_user_confirmation": "incomplete",
    "user_rejected": "incomplete",
    "rate_limited": "infrastructure_error",
}
"""OpenHands V0: the agent's last state."""

OPENHANDS_SDK = {
    "finished": ENDED,
    "stuck": "task_failure",
    "idle": "incomplete",
    "running": "incomplete",
    "paused": "incomplete",
    "waiting_for_confirmation": "incomplete",
    "deleting": "incomplete",
    "error": "infrastructure_error",
    "MaxIterationsReached": "truncated_budget",
    "MaxBudgetReached": "truncated_budget",
    "LLMContextWindowExceedError": "truncated_budget",
}
"""OpenHands V1: ``execution_status``, or the code of the conversation's error; another code is infrastructure."""

HARBOR = {
    **dict.fromkeys(
        ("EnvironmentStartTimeoutError", "SandboxBuildFailedError", "HealthcheckError", "SandboxLikelyOutOfMemoryError",
         "MemoryLimitExceededError", "SSHAccessError", "GKEExecStreamClosedError", "GKEPodNotFoundError",
         "RuntimeRequestError"), "environment_error"),
    **dict.fromkeys(
        ("AgentSetupTimeoutError", "AddTestsDirError", "DownloadVerifierDirError", "ApiError", "ApiRateLimitError",
         "ApiInternalServerError", "ApiOverloadedError", "ApiConnectionClosedError", "ApiResponseStalledError",
         "ApiConnectionError", "ApiUsageLimitError", "UnknownApiError", "NetworkConnectionError", "RateLimitError",
         "InternalServerError", "ServiceUnavailableError", "APIConnectionError", "APIError", "Timeout",
         "UnsupportedModelParametersError", "BadRequestError", "UnprocessableEntityError", "UnsupportedParamsError",
         "APIResponseValidationError", "AgentAuthenticationError", "ModelNotFoundError",
         "ApiProviderResourceNotFoundError", "AuthenticationError", "PermissionDeniedError", "NotFoundError",
         "ServiceOperationsUnsupportedError", "VercelScopeError", "DspyImportError", "MissingExtraError",
         "RegradeError"), "infrastructure_error"),
    "CancelledError": "incomplete",
    **dict.fromkeys(
        ("VerifierTimeoutError", "RewardFileNotFoundError", "RewardFileEmptyError", "VerifierOutputParseError"),
        "verifier_error"),
    "AgentTimeoutError": "timeout",
    **dict.fromkeys(
        ("ContextWindowExceededError", "ContextLengthExceededError", "OutputTokenExceededError",
         "OutputLengthExceededError", "BudgetExceededError"), "truncated_budget"),
    **dict.fromkeys(
        ("NonZeroAgentExitCodeError", "AgentSafetyRefusalError", "ContentPolicyViolationError"), "task_failure"),
}  # fmt: skip
"""Harbor: class by the exception's type; of any other the reward counts, as upstream. A cancelled trial is
incomplete, as whatever is cancelled."""

HARBOR_VALID = frozenset(
    {
        "NonZeroAgentExitCodeError", "AgentTimeoutError", "ContextWindowExceededError", "OutputTokenExceededError",
        "ContextLengthExceededError", "OutputLengthExceededError", "AgentSafetyRefusalError",
        "ContentPolicyViolationError",
    }
)  # fmt: skip
"""Harbor: exceptions after which a reward is valid nevertheless (``models/trial/error_policy.py``)."""

TERMINAL_BENCH = {
    "unset": ENDED,
    "none": ENDED,
    "test_timeout": "verifier_error",
    "parse_error": "verifier_error",
    "agent_timeout": "timeout",
    "context_length_exceeded": "truncated_budget",
    "output_length_exceeded": "truncated_budget",
    "fatal_llm_parse_error": "invalid_action",
    "agent_installation_failed": "environment_error",
    "unknown_agent_error": "infrastructure_error",
    "unknown": "infrastructure_error",
}
"""terminal-bench 1 ``failure_mode``."""

INSPECT_LIMITS = {
    "time": "timeout",
    "working": "timeout",
    "message": "truncated_budget",
    "token": "truncated_budget",
    "turn": "truncated_budget",
    "cost": "truncated_budget",
    "context": "truncated_budget",
    "operator": "incomplete",
    "custom": "incomplete",
}
"""Inspect: type of the limit that ended a sample."""

CLAUDE_CODE = {
    "success": ENDED,
    "completed": ENDED,
    "error_max_turns": "truncated_budget",
    "max_turns": "truncated_budget",
    "error_max_budget_usd": "truncated_budget",
    "budget_exhausted": "truncated_budget",
    "prompt_too_long": "truncated_budget",
    "malformed_tool_use_exhausted": "invalid_action",
    "error_max_structured_output_retries": "invalid_action",
    "structured_output_retry_exhausted": "invalid_action",
    "error_during_execution": "infrastructure_error",
    "model_error": "infrastructure_error",
    "api_error": "infrastructure_error",
    "image_error": "infrastructure_error",
    "turn_setup_failed": "infrastructure_error",
    "interrupted": "incomplete",
    "stop_hook_prevented": "incomplete",
    "hook_stopped": "incomplete",
    "tool_deferred": "incomplete",
    "tool_deferred_unavailable": "incomplete",
    "background_requested": "incomplete",
    "blocking_limit": "infrastructure_error",
    "rapid_refill_breaker": "infrastructure_error",
}
"""Claude Code: ``terminal_reason``, else ``subtype``, of the result; those that begin with ``aborted_`` apart."""

CODEX = {
    "task_complete": ENDED,
    "turn.completed": ENDED,
    "turn_aborted": "incomplete",
    "error": "infrastructure_error",
    "turn.failed": "infrastructure_error",
}
"""Codex: the last event that ends a turn."""

TAU2 = {
    "user_stop": ENDED,
    "agent_stop": ENDED,
    "judge_stop": ENDED,
    "max_steps": "truncated_budget",
    "context_window_exceeded": "truncated_budget",
    "timeout": "timeout",
    "too_many_errors": "invalid_action",
    "agent_error": "invalid_action",
    "user_error": "environment_error",
    "infrastructure_error": "infrastructure_error",
    "unexpected_error": "infrastructure_error",
}
"""tau2-bench ``termination_reason``; the simulated user is a part of the environment."""

R2E_GYM = {
    "agent": ENDED,
    "max_step_limit": "truncated_budget",
    "agent_max_step_limit": "truncated_budget",
    "abs_step_limit": "truncated_budget",
    "token_limit": "truncated_budget",
    "traj_time_limit": "timeout",
    "llm_query_error": "infrastructure_error",
    "env_exception": "environment_error",
    "reward_unavailable": "verifier_error",
}
"""R2E-Gym ``exit_reason``."""

CLINE = {
    "completion_result": ENDED,
    "mistake_limit_reached": "invalid_action",
    "api_req_failed": "infrastructure_error",
}
"""Cline: the last such message of its interface; without one the task goes on, or was left."""

AGENTLAB = {
    "terminated": ENDED,
    "truncated": "truncated_budget",
    "err_msg": "infrastructure_error",
}
"""AgentLab: which of these fields of the summary is set; an error counts first."""

COPILOT_CLI = {
    "task_complete": ENDED,
    "routine": ENDED,
    "abort": "incomplete",
    "context_limit": "truncated_budget",
    "error": "infrastructure_error",
}
"""Copilot CLI: how the session was shut down, or the abort or the type of the error before it; other errors are of the
infrastructure."""

CURSOR = {
    "success": ENDED,
    "error": "infrastructure_error",
    "aborted": "incomplete",
}
"""Cursor: status of the last turn that ended; ``aborted`` where the error says that the user did it."""

DROID = {
    "completion": ENDED,
    "error": "infrastructure_error",
}
"""Droid ``stream-json``: the last event that ends a turn."""

OPENCODE = {
    "stop": ENDED,
    "length": "truncated_budget",
    "MessageOutputLengthError": "truncated_budget",
    "ContextOverflowError": "truncated_budget",
    "StructuredOutputError": "invalid_action",
    "MessageAbortedError": "incomplete",
    "ProviderAuthError": "infrastructure_error",
    "APIError": "infrastructure_error",
    "UnknownError": "infrastructure_error",
    "error": "infrastructure_error",
}
"""opencode: name of the last answer's error, else its ``finish``."""

PI = {
    "stop": ENDED,
    "length": "truncated_budget",
    "error": "infrastructure_error",
    "aborted": "incomplete",
}
"""Pi: ``stopReason`` of the last answer; ``toolUse`` is no end."""

GENERIC = {
    **SWE_AGENT,
    **MINI_SWE_AGENT,
    "agent": ENDED,
    "finish": ENDED,
    "finished": ENDED,
    "completed": ENDED,
    "success": ENDED,
    "stop": ENDED,
    "env_done": ENDED,
    "user_stop": ENDED,
    "agent_stop": ENDED,
    "max_steps": "truncated_budget",
    "max_step_limit": "truncated_budget",
    "agent_max_step_limit": "truncated_budget",
    "abs_step_limit": "truncated_budget",
    "token_limit": "truncated_budget",
    "max_turns": "truncated_budget",
    "max_turns_exceeded": "truncated_budget",
    "length": "truncated_budget",
    "truncated": "truncated_budget",
    "max_response_length_exceeded": "truncated_budget",
    "max_prompt_length_exceeded": "truncated_budget",
    "context_window_exceeded": "truncated_budget",
    "timeout": "timeout",
    "traj_time_limit": "timeout",
    "llm_query_error": "infrastructure_error",
    "error": "infrastructure_error",
    "aborted": "incomplete",
    "cancelled": "incomplete",
    "running": "incomplete",
}
"""Words of chat rows and HF-style datasets, whose scaffold is not named."""


def classify_mini(exit_status: str | None, *, started: bool) -> str | None:
    """Class of a mini-swe-agent exit status; null stays null.

    Args:
        exit_status: The scaffold's word, or the name of the exception that ended the run.
        started: Whether the agent took a step.
    """
    if exit_status is None:
        return None
    if not started and exit_status in MINI_ENVIRONMENT:
        return "environment_error"
    return MINI_SWE_AGENT.get(exit_status, "infrastructure_error")


def classify_swe_agent(exit_status: str | None) -> str | None:
    """Class of a SWE-agent exit status; ``submitted (X)`` is classed by X, null stays null."""
    if exit_status is None:
        return None
    status = exit_status.strip()
    if status.startswith(("submitted (", "skipped (")) and status.endswith(")"):
        status = status.partition("(")[2][:-1].strip()
        status = "skipped" if exit_status.strip().startswith("skipped") else status
    return SWE_AGENT.get(status, "unknown") if status else "incomplete"


def classify_openhands(error: str | None, state: str | None) -> str | None:
    """Class of an OpenHands V0 end: by its error, else by the agent's last state; null where neither is recorded."""
    if error:
        return next((kind for piece, kind in OPENHANDS if piece in error[:4000]), "infrastructure_error")
    return None if state is None else OPENHANDS_STATES.get(state, "unknown")


def classify_openhands_sdk(code: str | None, status: str | None) -> str | None:
    """Class of an OpenHands V1 end: by its error's code, else by its status; null where neither is recorded."""
    if code is not None:
        return OPENHANDS_SDK.get(code, "infrastructure_error")
    return None if status is None else OPENHANDS_SDK.get(status, "unknown")


def classify_harbor(exception: str | None, *, finished: bool) -> str | None:
    """Class of a Harbor trial: by its exception; without one, or with an unknown one, its reward decides."""
    if exception is not None:
        return HARBOR.get(exception, ENDED)
    return ENDED if finished else "incomplete"


def classify_inspect(*, error: bool, limit: str | None, status: str | None, scored: bool) -> str:
    """Class of an Inspect sample: by its error, else its limit, else (unscored) the status of its log."""
    if error:
        return "infrastructure_error"
    if limit is not None:
        return INSPECT_LIMITS.get(limit, "unknown")
    if not scored and status in ("started", "cancelled"):
        return "incomplete"
    return "infrastructure_error" if not scored and status == "error" else ENDED


def classify_claude_code(reason: str | None) -> str:
    """Class of the result of a Claude Code stream; whatever was ``aborted_…`` is incomplete."""
    if reason is not None and reason.startswith("aborted_"):
        return "incomplete"
    return CLAUDE_CODE.get(reason or "", "unknown")


def classify_generic(stop_reason: str | None) -> str | None:
    """Class of a stop reason whose scaffold is not named; an unknown word is ``unknown``."""
    if stop_reason is None:
        return None
    word = stop_reason.strip()
    if word.startswith("submitted (") and word.endswith(")"):
        word = word[len("submitted (") : -1]
    return GENERIC.get(word, GENERIC.get(word.lower(), "unknown"))
