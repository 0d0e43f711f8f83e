"""Write data_samples/MANIFEST.tsv: every sample file with its size, its digest and the script that wrote it.

Usage: python manifest.py
"""

from __future__ import annotations

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = {
    "mini_swe_agent/bare_messages": "mini_swe_agent_v1_writer.py",
    "mini_swe_agent/version_1": "mini_swe_agent_v1_writer.py",
    "mini_swe_agent": "mini_swe_agent_writer.py",
    "trl": "trl_writer.py",
    "verifiers": "verifiers_writer.py",
    "rllm": "rllm_writer.py",
    "nemo_gym": "nemo_gym_writer.py",
    "nemo_rl": "nemo_rl_writer.py",
    "areal": "areal_writer.py",
    "skyrl": "skyrl_writer.py",
    "roll": "roll_writer.py",
    "art": "art_writer.py",
    "slime": "slime_writer.py",
    "tinker": "tinker_writer.py",
    "agent_lightning/spans": "agent_lightning_spans_writer.py",
    "agent_lightning": "agent_lightning_writer.py",
    "verl": "verl_writer.py",
    "metric_logs/areal_console": "areal_console_writer.py",
    "metric_logs": "metric_logs_writer.py",
    "chat": "chat_writer.py",
    "hacks": "hack_writer.py",
    "swe_agent": "swe_agent_writer.py",
    "atif/converted": "converted_writer.py",
    "claude_code": "claude_code_writer.py",
    "codex": "codex_writer.py",
    "tau2": "tau2_writer.py",
    "cline": "cline_writer.py",
    "langchain": "langchain_writer.py",
    "r2e_gym": "r2e_gym_writer.py",
    "gemini_cli": "gemini_cli_writer.py",
    "copilot_cli": "copilot_cli_writer.py",
    "otel": "otel_writer.py",
    "mlflow": "mlflow_writer.py",
    "langfuse": "langfuse_writer.py",
    "langsmith": "langsmith_writer.py",
    "agentlab": "agentlab_writer.py",
    "cursor": "cursor_writer.py",
    "droid": "droid_writer.py",
    "opencode": "opencode_writer.py",
    "pi": "pi_writer.py",
    "inspect_log": "inspect_writer.py",
    "atif": "harbor_writer.py",
    "harbor_traces": "harbor_traces_writer.py",
    "harbor": "harbor_writer.py",
    "terminal_bench": "terminal_bench_writer.py",
    "openhands_sdk": "openhands_sdk_writer.py",
    "openhands": "openhands_writer.py",
    "openrlhf": "openrlhf_writer.py",
    "gold": "",
}


def sample_files(root: Path = ROOT) -> list[Path]:
    """Every file but the scripts and the two documents about the files, in order of their names."""
    own = {root / "README.md", root / "MANIFEST.tsv"}
    found = [path for path in root.rglob("*") if path.is_file() and path not in own
             and root / "scripts" not in path.parents]
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


def script_for(name: str) -> str:
    return next(script for prefix, script in SCRIPTS.items() if name.startswith(prefix))


def manifest(root: Path = ROOT) -> str:
    rows = ["path\tbytes\tsha256\tscript"]
    for path in sample_files(root):
        content = path.read_bytes()
        name = path.relative_to(root).as_posix()
        script = f"scripts/{script_for(name)}" if script_for(name) else "by hand"
        rows.append(f"{name}\t{len(content)}\t{hashlib.sha256(content).hexdigest()}\t{script}")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    (ROOT / "MANIFEST.tsv").write_text(manifest(), encoding="utf-8")
