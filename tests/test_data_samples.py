"""The samples are declared, whole, readable where they should be, and what their scripts write."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard

from trajlab.formats import FALLBACK_LOGS, LOGS

ROOT = Path(__file__).resolve().parents[1] / "data_samples"
SCRIPTS = ROOT / "scripts"
TRAINERS = (
    "agent_lightning", "areal", "art", "nemo_gym", "nemo_rl", "rllm", "roll", "skyrl",
    "slime", "tinker", "trl", "verifiers",
)  # fmt: skip
"""Folders of the trainers' samples, each with a writer of its own."""
NOT_REPEATED = {"art", "verifiers"}
"""Their writers need packages that the tests do without."""
WRITERS = (
    "verl", "chat", "hacks", "swe_agent", "openhands", "terminal_bench", "claude_code", "codex", "gemini_cli",
    "tau2", "r2e_gym", "cline", "copilot_cli", "cursor", "droid", "opencode", "pi",
    *sorted(set(TRAINERS) - NOT_REPEATED),
)  # fmt: skip
"""Those that need no foreign package."""
BROKEN = {"prime_rl_metrics": 1, "truncated_last_line": 1, "bad_middle_line": 1}


def sample_paths() -> list[str]:
    inside = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in inside if len(path.parts) > 1 and path.parts[0] != "scripts")


def run_script(name: str, *arguments: str) -> None:
    command = [sys.executable, str(SCRIPTS / name), *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_manifest_declares_every_file_and_nothing_else() -> None:
    written = runpy.run_path(str(SCRIPTS / "manifest.py"))["manifest"]()
    assert (ROOT / "MANIFEST.tsv").read_text(encoding="utf-8") == written
    assert [line.split("\t")[0] for line in written.splitlines()[1:]] == sample_paths()


def test_only_known_things_lie_at_the_top() -> None:
    names = {path.name for path in ROOT.iterdir()}
    assert names == {"README.md", "MANIFEST.tsv", "scripts", "hacks", "gold", "metric_logs", *LOGS, *FALLBACK_LOGS}
    assert {path.suffix for path in SCRIPTS.iterdir() if path.name != "__pycache__"} == {".py"}


def test_readme_describes_every_folder() -> None:
    described = set(re.findall(r"`([^`\n]+)`", (ROOT / "README.md").read_text(encoding="utf-8")))
    for path in sample_paths():
        parts = path.split("/")
        depth = 2 if parts[1] in {"mini-swe-agent-demo", "edge_cases"} else 1
        folder = "/".join(parts[1 : 1 + depth]) if parts[0] != "gold" else "gold"
        assert folder in described or parts[1] == "spellings", folder


def test_samples_are_small() -> None:
    assert sum((ROOT / path).stat().st_size for path in sample_paths()) < 4_000_000


@pytest.mark.parametrize("path", [path for path in sample_paths() if path.endswith(".json")])
def test_json_documents_parse(path: str) -> None:
    assert json.loads((ROOT / path).read_bytes())


@pytest.mark.parametrize("path", [path for path in sample_paths() if path.endswith(".jsonl")])
def test_json_lines_parse_but_for_the_lines_broken_on_purpose(path: str) -> None:
    lines = (ROOT / path).read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    failures = 0
    for line in filter(bytes.strip, lines):
        try:
            json.loads(line)
        except json.JSONDecodeError:
            failures += 1
    assert failures == BROKEN.get(path.split("/")[-2], 0)


def test_no_trace_of_the_machine_that_wrote_them() -> None:
    logs = [path for path in sample_paths() if not path.startswith("gold/")]  # hand-written commands name such paths
    for path in logs:
        content = (ROOT / path).read_bytes()
        assert not re.search(rb"/home/|/root/|/opt/|/tmp/mini-", content), path


@pytest.mark.parametrize("name", WRITERS)
def test_writers_repeat_their_files(name: str, tmp_path: Path) -> None:
    run_script(f"{name.replace('hacks', 'hack')}_writer.py", str(tmp_path / name))
    others = {"agent_lightning": "spans/"}.get(name)  # of a writer of its own, which needs the package
    written, kept = contents(tmp_path / name), contents(ROOT / name)
    kept = {path: content for path, content in kept.items() if others is None or not path.startswith(others)}
    assert written.keys() == kept.keys()
    # What compression gives may change with the library's version.
    library_dependent = (".parquet", ".gz", ".zst", ".xz", ".zip")
    for path, content in kept.items():
        if path.endswith(".parquet"):
            assert pq.read_table(tmp_path / name / path).equals(pq.read_table(ROOT / name / path)), path
        elif not path.endswith(library_dependent):
            assert written[path] == content, path


def test_compressed_files_hold_the_plain_rows() -> None:
    plain = (ROOT / "chat/openai_arguments_as_objects/rows.jsonl").read_bytes()
    assert gzip.decompress((ROOT / "chat/compressed_gzip/rows.jsonl.gz").read_bytes()) == plain
    assert lzma.decompress((ROOT / "chat/compressed_xz/rows.jsonl.xz").read_bytes()) == plain
    packed = (ROOT / "chat/compressed_zstd/rows.jsonl.zst").read_bytes()
    assert zstandard.ZstdDecompressor().decompress(packed) == plain


def test_demo_run_has_the_promised_outcomes() -> None:
    run = ROOT / "mini_swe_agent/mini-swe-agent-demo"
    resolved = dict.fromkeys(("attempt_1", "attempt_2"), 0)
    statuses = set()
    for path in run.glob("*/*/*.traj.json"):
        info = json.loads(path.read_bytes())["info"]
        statuses.add(info["exit_status"])
        report = json.loads((path.parent / "report.json").read_bytes())
        assert report["patch_exists"] is bool(info["submission"])
        resolved[path.parent.parent.name] += report["resolved"]
    assert resolved == {"attempt_1": 3, "attempt_2": 4}
    assert statuses == {"Submitted", "LimitsExceeded", "TimeExceeded", "RepeatedFormatError"}


def test_legacy_run_learns_and_repeats_its_prompts() -> None:
    steps = []
    for step in range(1, 7):
        lines = (ROOT / f"verl/legacy_run/{step}.jsonl").read_bytes().split(b"\n")
        steps.append([json.loads(line) for line in lines if line])
    assert [len(rows) for rows in steps] == [32] * 6
    prompts = [{row["input"] for row in first + second} for first, second in zip(steps[::2], steps[1::2], strict=True)]
    assert prompts[0] == prompts[1] == prompts[2]
    assert len(prompts[0]) == 16
    solved = [
        sum(row["acc"] for row in first + second) / 64 for first, second in zip(steps[::2], steps[1::2], strict=True)
    ]
    assert solved == sorted(solved)
    for row in (row for rows in steps for row in rows):
        assert row["score"] == pytest.approx(row["answer_reward"] + row["tool_reward"] + row["format"])
        assert isinstance(row["n_tool_calls"], str)
