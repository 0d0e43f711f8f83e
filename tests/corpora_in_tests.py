"""Small corpora for tests: where samples lie, how a corpus on disk is compared, a command line in a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import trajlab

REPOSITORY = Path(__file__).resolve().parents[1]
SAMPLES = REPOSITORY / "data_samples"


def shared_folder() -> Path | None:
    """The folder of shared samples: ``TRAJLAB_SHARED``, else ``../shared`` beside the repository."""
    folder = Path(os.environ.get("TRAJLAB_SHARED", REPOSITORY.parent / "shared"))
    return folder if (folder / "samples").is_dir() else None


def sample_files() -> list[str]:
    """Every sample log and companion, below ``data_samples``."""
    inside = (path.relative_to(SAMPLES) for path in SAMPLES.rglob("*") if path.is_file())
    logs = (path for path in inside if len(path.parts) > 1 and path.parts[0] not in ("scripts", "gold"))
    return sorted(path.as_posix() for path in logs)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder`` but the lock, with its bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def mtimes(folder: Path) -> dict[str, int]:
    """Every file below ``folder`` but the lock, with its time of change."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_mtime_ns
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


class Counting:
    """An engine that reads in this process and remembers what it was asked to read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        for task in tasks:
            for item in task.unit.bundles:
                bundle = item.bundle
                piece = "" if bundle.end is None else f"[{bundle.start}:{bundle.end}]"
                self.read.append(bundle.file.relpath + piece)
            yield function(task)


def environment() -> dict[str, str]:
    """The environment for a process that imports this checkout, quiet and without a terminal."""
    return {**os.environ, "PYTHONPATH": str(Path(trajlab.__file__).parents[1]), "TRAJLAB_BATCH": "1"}


def command(*arguments: str | Path) -> list[str]:
    """The command line of this checkout."""
    return [sys.executable, "-m", "trajlab.cli", *map(str, arguments)]


def run_command(
    *arguments: str | Path, cwd: Path | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run ``trajlab …`` in a process of its own."""
    return subprocess.run(
        command(*arguments), cwd=cwd, env=environment(), capture_output=True, text=True, timeout=timeout, check=False
    )
