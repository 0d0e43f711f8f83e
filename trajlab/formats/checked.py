"""What each reader was checked against, variant by variant: shown in the README, held to the samples by a test."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["real logs", "own run", "real writer", "fixtures", "layout"]

KINDS: dict[Kind, str] = {
    "real logs": "logs of runs that others published",
    "own run": "logs of runs made for it, with the real program and a scripted or tiny model",
    "real writer": "files that the program's own writing code made of conversations given to it",
    "fixtures": "test files of the program or of another reader of its logs",
    "layout": "the documented layout or the writer's source only: no file of the real writer was at hand",
}
"""From the strongest to the weakest."""


class Checked(msgspec.Struct, frozen=True):
    """What one variant was checked against."""

    kind: Kind
    what: str = ""
    """Program and version, or where the files come from."""
    beside: bool = True
    """The files lie in the shared samples beside the repository; else they are those of ``data_samples``."""


def _here(kind: Kind, what: str) -> Checked:
    return Checked(kind, what, beside=False)


_LAYOUT = _here("layout", "")
_SESSIONS = "jazzyalex/agent-sessions, trimmed from real sessions"
_HARBOR = _here("real writer", "models of harbor 0.26.0")
_INSPECT = Checked("own run", "inspect-ai 0.3.285, and logs of its tests")
_TRACING = Checked("own run", "langchain-core 1.8.3")

CHECKED: dict[tuple[str, str], Checked] = {
    ("agent_lightning", "last_call"): _LAYOUT,
    ("agent_lightning", "spans"): _here("real writer", "agentlightning 0.3.0, its in-memory store"),
    ("langfuse", "trace"): _LAYOUT,
    ("langfuse", "csv"): _LAYOUT,
    ("langfuse", "observations"): _here("real writer", "models of the langfuse SDK"),
    ("langsmith", "runs"): _here("real writer", "langsmith `RunTree`; the server's fields by its documentation"),
    ("openrlhf", "events"): _here("real writer", "OpenRLHF 0.11.2 with torch's `SummaryWriter`"),
    ("mlflow", "artifact"): Checked("own run", "mlflow, spans of a scripted agent"),
    ("mlflow", "trace"): _here("real writer", "mlflow 3.17.2"),
    ("mlflow", "table"): _here("real writer", "mlflow 3.17.2"),
    ("areal", "flat"): Checked("real writer", "areal 1.0.4"),
    ("areal", "segments"): _LAYOUT,
    ("art", "yaml"): _LAYOUT,
    ("art", "jsonl"): _LAYOUT,
    ("art", "parquet"): _here("real writer", "openpipe-art 0.5.23"),
    ("mini_swe_agent", "list"): Checked("fixtures", "of mini-swe-agent"),
    ("mini_swe_agent", "0"): _here("own run", "mini-swe-agent 1.3.0"),
    ("mini_swe_agent", "1"): Checked("real logs", "54 runs on SWE-bench Verified, 1.15.0"),
    ("mini_swe_agent", "1.1"): Checked("own run", "mini-swe-agent 2.4.6"),
    ("nemo_gym", "rollouts"): Checked("real logs", "15 files of NVIDIA-NeMo/Gym"),
    ("nemo_gym", "failures"): _LAYOUT,
    ("nemo_rl", "train"): Checked("real writer", "NVIDIA-NeMo/RL@7ea279a"),
    ("nemo_rl", "validation"): Checked("real writer", "NVIDIA-NeMo/RL@7ea279a"),
    ("rllm", "episode_logger"): Checked("real writer", "rllm-org/rllm@9beb6e0"),
    ("rllm", "episode"): Checked("real writer", "rllm-org/rllm@9beb6e0"),
    ("rllm", "eval"): _LAYOUT,
    ("roll", "rlvr"): Checked("real writer", "alibaba/ROLL@8eb27cc"),
    ("roll", "agentic"): _LAYOUT,
    ("skyrl", "eval_dump"): _LAYOUT,
    ("slime", "rollout"): Checked("real writer", "THUDM/slime@624b824"),
    ("tinker", "benchmark"): _LAYOUT,
    ("trl", "messages"): Checked("own run", "GRPOTrainer of TRL 1.16.0"),
    ("trl", "text"): _LAYOUT,
    ("verifiers", "results"): _LAYOUT,
    ("verifiers", "trace"): _here("real writer", "models of verifiers 0.4.0"),
    ("verifiers", "episode"): _here("real writer", "models of verifiers 0.4.0"),
    ("swe_agent", "0.x"): Checked("real logs", "demonstrations and tests of SWE-agent"),
    ("swe_agent", "1.0"): Checked("real logs", "SWE-agent and SWE-smith"),
    ("swe_agent", "1.1"): _LAYOUT,
    ("swe_agent", "retry"): _LAYOUT,
    ("swe_agent", "demo"): Checked("real logs", "a demonstration of SWE-agent"),
    ("openhands", "folder"): _LAYOUT,
    ("openhands", "list"): Checked("fixtures", "replay tests of OpenHands"),
    ("openhands", "output"): Checked("real logs", "an example of OpenHands' benchmarks"),
    ("openhands", "pairs"): _LAYOUT,
    ("openhands", "resolver"): Checked("fixtures", "tests of OpenHands' resolver"),
    ("openhands", "completions"): Checked("fixtures", "of the V1 SDK; of V0 the writer's source"),
    ("openhands_sdk", "folder"): Checked("own run", "openhands-sdk 1.58.2"),
    ("openhands_sdk", "lines"): Checked("fixtures", "of the SDK"),
    ("openhands_sdk", "output"): _LAYOUT,
    **{("atif", f"1.{number}"): _HARBOR for number in (0, 1, 2, 3, 4, 6, 8)},
    ("atif", "1.5"): Checked("real writer", "converters of harbor 0.26.0 on logs of SWE-agent"),
    ("atif", "1.7"): Checked("real writer", "converters of harbor 0.26.0 on logs of mini-swe-agent"),
    ("atif", "converted"): _here("real writer", "`trajlab convert`, valid by harbor 0.26.0"),
    ("harbor", "trial"): _HARBOR,
    ("harbor_traces", "episodes"): _here("real writer", "`export_traces` of harbor 0.26.0"),
    ("terminal_bench", "trial"): _LAYOUT,
    ("inspect_log", "eval"): _INSPECT,
    ("inspect_log", "chunked"): _INSPECT,
    ("inspect_log", "json"): _INSPECT,
    ("claude_code", "session"): Checked("fixtures", f"daaain/claude-code-log and {_SESSIONS}"),
    ("claude_code", "stream"): _LAYOUT,
    ("codex", "rollout"): Checked("fixtures", _SESSIONS),
    ("codex", "bare"): _LAYOUT,
    ("codex", "flat"): Checked("fixtures", _SESSIONS),
    ("codex", "exec"): _LAYOUT,
    ("gemini_cli", "json"): Checked("fixtures", _SESSIONS),
    ("gemini_cli", "jsonl"): Checked("fixtures", _SESSIONS),
    ("gemini_cli", "history"): Checked("fixtures", _SESSIONS),
    ("copilot_cli", "events"): Checked("fixtures", _SESSIONS),
    ("cursor", "transcript"): Checked("fixtures", _SESSIONS),
    ("droid", "session"): Checked("fixtures", _SESSIONS),
    ("droid", "stream"): Checked("fixtures", _SESSIONS),
    ("opencode", "storage"): Checked("fixtures", _SESSIONS),
    ("pi", "session"): Checked("fixtures", _SESSIONS),
    ("tau2", "document"): _LAYOUT,
    ("tau2", "folder"): Checked("fixtures", "tests of tau2-bench"),
    ("cline", "task"): _LAYOUT,
    ("cline", "session"): _LAYOUT,
    ("agentlab", "summary"): _here("real writer", "browsergym-experiments 0.14.3"),
    ("langchain", "dumpd"): _TRACING,
    ("langchain", "dict"): _TRACING,
    ("langchain", "model_dump"): _TRACING,
    ("otel", "otlp"): Checked("own run", "opentelemetry-sdk 1.45.2"),
    ("otel", "console"): Checked("own run", "opentelemetry-sdk 1.45.2"),
    ("r2e_gym", "lines"): _LAYOUT,
    ("verl", "legacy"): Checked("real writer", "verl 0.4.1 to 0.9.1"),
    ("verl", "v1_train"): Checked("real writer", "verl 0.9.1"),
    ("verl", "v1_validation"): _here("real writer", "verl 0.9.1: the same bytes"),
    ("chat", "openai"): Checked("fixtures", "of three projects"),
    ("chat", "anthropic"): _LAYOUT,
    ("chat", "responses"): _LAYOUT,
    ("chat", "sharegpt"): _LAYOUT,
}
"""By format and variant; a reader's variants all stand here."""
