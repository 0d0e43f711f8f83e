"""``run.json``: what a run was, written when it starts and again when it ends."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

from trajlab import __version__
from trajlab.report.result import write_atomically

RECORD_FILE = "run.json"
REPORT_FILE = "report.html"
NOTEBOOK_FILE = "notebook.ipynb"
WIP_PREFIX = ".wip-"
SCHEMA_VERSION = 1

RunStatus = Literal["running", "passed", "failed", "inconclusive", "error", "infrastructure", "interrupted"]

_PACKAGES = (
    "trajlab", "polars", "pandas", "numpy", "scipy", "pyarrow", "msgspec", "matplotlib", "papermill",
    "nbclient", "nbconvert", "ipykernel", "jupyter_client",
)  # fmt: skip


class RunRecord(msgspec.Struct, kw_only=True):
    """One run of a notebook; beside the notebook the only file of it that holds wall-clock times."""

    schema_version: int = SCHEMA_VERSION
    notebook: str
    title: str
    run: str | None = None
    period: str | None = None
    key: str
    """Digest of notebook source, effective parameters and data fingerprint."""
    folder: str
    """Name of the folder the run ends in, below the out folder."""
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    """Effective parameters: defaults and what was given."""
    fail_on: str = "alarm"
    data_fingerprint: str
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    interpreter: str = ""
    started: str
    """ISO 8601, UTC."""
    ended: str | None = None
    """ISO 8601, UTC; null while the run has not ended."""
    status: RunStatus = "running"
    exit_code: int | None = None
    """0 passed, 1 gate failed or inconclusive, 3 notebook error, 4 infrastructure; null while running."""
    message: str = ""
    failed_gates: list[str] = msgspec.field(default_factory=list)
    inconclusive_gates: list[str] = msgspec.field(default_factory=list)
    warned_gates: list[str] = msgspec.field(default_factory=list)
    findings: dict[str, int] = msgspec.field(default_factory=dict)
    """Findings by status."""
    trajectories: int | None = None


def write_record(record: RunRecord, folder: Path) -> None:
    """Write ``run.json`` whole or not at all."""
    content = msgspec.json.format(msgspec.json.encode(record, order="deterministic"), indent=1)
    write_atomically(folder / RECORD_FILE, content + b"\n")


def read_record(folder: Path) -> RunRecord:
    """The record in ``folder``.

    Raises:
        OSError: if it cannot be read.
        msgspec.DecodeError: if it is no record.
    """
    return msgspec.json.decode((folder / RECORD_FILE).read_bytes(), type=RunRecord)


def now() -> str:
    """The current time, ISO 8601 in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages a result may depend on; only those installed."""
    found = {"python": platform.python_version(), "platform": sys.platform, "trajlab": __version__}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
