"""Keys that tell a variant: of the document or its first record, ``a|b`` for one of several.

Readers look at values, too; this is what ``trajlab formats --why FILE`` holds a file against. A test compares it with
every sample. Formats whose files are of many kinds (folders of events, trials, archives) have no line.
"""

from __future__ import annotations

_CHAT = ("messages|conversations|trajectory|conversation|items|role|from|type",)
_ATIF = ("schema_version", "agent", "steps")
_RLLM = ("is_correct", "termination_reason", "task", "trajectories")
_SWE_AGENT = ("trajectory", "history", "info")
_OPENHANDS_ROW = ("instance_id", "history", "metadata")

EXPECTED: dict[tuple[str, str], tuple[str, ...]] = {
    ("agentlab", "summary"): ("n_steps", "cum_reward", "cum_raw_reward", "err_msg"),
    ("areal", "flat"): ("task_id", "seqlen", "prompt_len", "head_version", "tail_version", "prompt", "completion"),
    ("areal", "segments"): ("task_id", "seqlen", "prompt_len", "version_rle", "prompt", "completion"),
    ("art", "jsonl"): ("trajectories",),
    ("art", "parquet"): ("format_version", "group_index", "trajectory_json"),
    **{("atif", f"1.{number}"): _ATIF for number in range(9)},
    ("atif", "converted"): _ATIF,
    **{("chat", name): _CHAT for name in ("openai", "anthropic", "responses", "sharegpt")},
    ("copilot_cli", "events"): ("type", "data", "id", "timestamp", "parentId"),
    ("cursor", "transcript"): ("role", "message"),
    ("droid", "session"): ("type", "id"),
    ("droid", "stream"): ("type", "session_id|sessionId"),
    ("agent_lightning", "spans"): ("rollout_id", "attempt_id", "sequence_id", "span_id", "attributes"),
    ("harbor_traces", "episodes"): ("conversations", "agent", "model", "task", "episode", "run_id", "trial_name"),
    ("langfuse", "observations"): ("traceId|trace_id|data", "startTime|start_time|data", "type|data"),
    ("langfuse", "trace"): ("observations", "trace|timestamp"),
    ("langsmith", "runs"): ("run_type", "trace_id", "inputs"),
    ("mini_swe_agent", "list"): ("role", "content"),
    ("mini_swe_agent", "0"): ("info", "messages"),
    ("mini_swe_agent", "1"): ("info", "messages", "trajectory_format"),
    ("mini_swe_agent", "1.1"): ("info", "messages", "trajectory_format"),
    ("mlflow", "artifact"): ("spans",),
    ("mlflow", "trace"): ("info", "data"),
    ("mlflow", "table"): ("trace_id|request_id", "trace_metadata|request_metadata", "spans|trace"),
    ("nemo_gym", "rollouts"): ("responses_create_params", "response", "reward"),
    ("nemo_gym", "failures"): ("responses_create_params", "_ng_failure_class"),
    ("nemo_rl", "train"): ("content", "rewards", "token_ids", "token_loss_mask", "idx"),
    ("nemo_rl", "validation"): ("content", "rewards", "idx"),
    ("openhands", "output"): _OPENHANDS_ROW,
    ("openhands", "pairs"): _OPENHANDS_ROW,
    ("openhands", "completions"): ("messages|input", "kwargs", "response|error", "timestamp", "cost"),
    ("openhands", "resolver"): ("issue", "git_patch", "history"),
    ("openhands_sdk", "output"): _OPENHANDS_ROW,
    ("otel", "otlp"): ("resourceSpans",),
    ("otel", "console"): ("context", "attributes", "start_time"),
    ("pi", "session"): ("type", "id", "timestamp", "cwd"),
    ("predictions", "list"): ("instance_id", "model_patch"),
    ("predictions", "lines"): ("instance_id", "model_patch"),
    ("rllm", "episode_logger"): (*_RLLM, "episode_id", "training_step"),
    ("rllm", "episode"): (*_RLLM, "id"),
    ("rllm", "eval"): (*_RLLM, "eval_idx"),
    ("roll", "rlvr"): ("prompt", "responses", "scores", "global_step"),
    ("roll", "agentic"): ("messages", "trajectory_data", "global_step"),
    ("skyrl", "eval_dump"): ("input_prompt", "output_response", "score", "stop_reason", "env_class"),
    ("swe_agent", "0.x"): _SWE_AGENT,
    ("swe_agent", "1.0"): _SWE_AGENT,
    ("swe_agent", "1.1"): _SWE_AGENT,
    ("swe_agent", "retry"): ("attempts", "trajectory", "info"),
    ("swe_agent", "demo"): ("history",),
    ("swebench_report", "flat"): ("patch_successfully_applied", "resolved"),
    ("swebench_report", "run_lists"): ("resolved_ids", "unresolved_ids"),
    ("trl", "messages"): ("prompt", "completion", "step", "advantage"),
    ("trl", "text"): ("prompt", "completion", "step", "advantage"),
    ("verifiers", "results"): ("example_id", "prompt", "completion", "reward", "metrics"),
    ("verifiers", "trace"): ("verifiers", "nodes", "calls", "rewards"),
    ("verifiers", "episode"): ("env", "task", "traces"),
    ("verl", "legacy"): ("input", "output", "score"),
    ("verl", "v1_train"): ("input", "output", "score", "uid"),
    ("verl", "v1_validation"): ("input", "output", "score", "uid"),
    ("trainer_state", "log_history"): ("log_history", "global_step"),
    ("verl_metrics", "file_logger"): ("step", "data"),
}
