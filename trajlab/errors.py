"""Errors a user can act on: where, what was found, what was expected, what to do next."""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path


class ExitCode(IntEnum):
    """Exit codes of the command line, the same for every command."""

    PASSED = 0
    GATE_FAILED = 1
    USAGE = 2
    NOTEBOOK = 3
    INFRASTRUCTURE = 4


class TrajlabError(Exception):
    """Base of all errors raised on purpose.

    Args:
        place: File, parameter or table the error is about.
        found: What was there.
        expected: What would have been right, if that helps.
        next_step: What the user can do now.
    """

    exit_code = ExitCode.INFRASTRUCTURE

    def __init__(self, place: str, found: str, expected: str = "", next_step: str = "") -> None:
        self.place = place
        self.found = found
        self.expected = expected
        self.next_step = next_step
        super().__init__(place, found, expected, next_step)

    def __str__(self) -> str:
        text = f"{self.place}: {self.found}"
        if self.expected:
            text += f"; expected {self.expected}"
        if self.next_step:
            text += f". {self.next_step}"
        return " ".join(text.split())


class UsageError(TrajlabError):
    """The call was wrong: an unknown parameter, an empty folder, no readable log."""

    exit_code = ExitCode.USAGE


class NotebookError(TrajlabError):
    """An audit notebook raised, ended early or left no result."""

    exit_code = ExitCode.NOTEBOOK


class InfrastructureError(TrajlabError):
    """Something outside the data failed: a full disk, a killed process, a dead kernel, a time limit."""

    exit_code = ExitCode.INFRASTRUCTURE


def read_named(path: Path) -> bytes:
    """Read a file that the user named, and nothing that could keep a reader waiting (a pipe, a device).

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    kind = path.stat().st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        raise OSError(errno.EINVAL, "a pipe or a device, no regular file", str(path))
    return path.read_bytes()


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Make the folder of a file that is about to be written.

    Raises:
        InfrastructureError: The system refuses the folder or what is done inside.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path
    except OSError as error:
        raise not_written(path, error) from error


def not_written(folder: Path, error: OSError) -> InfrastructureError:
    """The error for what the system refused while ``folder`` was written."""
    if error.errno == errno.ENOSPC:
        return InfrastructureError(
            str(folder), "the disk is full", "", "Free space and run the same command again: it resumes"
        )
    return InfrastructureError(
        str(error.filename or folder), error.strerror or str(error), "", "Check the folder's permissions and disk"
    )
