"""Tell another program that something changed: a command of the user's that gets JSON on standard input."""

from __future__ import annotations

import shlex
import subprocess
from typing import Any

import msgspec

from trajlab.errors import InfrastructureError, UsageError

SECONDS = 300
"""Longest a hook may take."""
_AGAIN = "Mend the command; what it should have told is in the reports"


def check_hook(command: str) -> list[str]:
    """The words of a hook's command line.

    Raises:
        UsageError: It holds no command, or an open quote.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError("--hook", f"{command!r}: {error}", "a command line") from error
    if not words:
        raise UsageError("--hook", "no command", "a command line, such as 'curl -d @- https://…'")
    return words


def call_hook(command: str, message: Any) -> None:
    """Run the command without a shell, the message as JSON on its standard input.

    Raises:
        UsageError: It is no command line.
        InfrastructureError: It is not there, fails or takes too long: an alert that nobody got must be seen.
    """
    words = check_hook(command)
    line = msgspec.json.encode(message, order="deterministic") + b"\n"
    try:
        done = subprocess.run(words, input=line, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(words[0], f"the hook took over {SECONDS} s", "", _AGAIN) from error
    except OSError as error:
        raise InfrastructureError(words[0], f"the hook: {error.strerror or error}", "", _AGAIN) from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[-200:]
        raise InfrastructureError(words[0], f"the hook ended with {done.returncode}: {said}", "exit code 0", _AGAIN)
