"""What commands print, on terminals and in files of any encoding."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from trajlab.errors import ExitCode

_PLAIN = dict.fromkeys(range(0x2500, 0x2580), "|") | dict.fromkeys(map(ord, "\u2500\u2550\u254c"), "-")
"""Lines around tables."""
_HANDLER = "trajlab.escaped"


def write_any_text() -> None:
    """Of a character that the encoding of standard output or error lacks its escape is written, and no error raised."""
    codecs.register_error(_HANDLER, _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors=_HANDLER)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(ord(c)) or c.encode("ascii", "backslashreplace").decode() for c in text), error.end


class Commands(click.Group):
    """The commands, whose output may be closed before its end (``| head``)."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse the command line, which may print the help."""
        with _may_be_closed():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _may_be_closed():
            return super().invoke(ctx)


@contextmanager
def _may_be_closed() -> Iterator[None]:
    """End in silence where nobody reads on, as other tools do; click's own exit code, 1, would be a failed gate."""
    try:
        yield
    except BrokenPipeError:
        if sys.stdout is not None:  # what waits to be written is written nowhere, not with a second error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.INFRASTRUCTURE)


def end(said: str | click.ClickException, code: ExitCode) -> NoReturn:
    """Say why on standard error and exit; where standard error is closed, the exit code alone tells."""
    with suppress(OSError):
        if isinstance(said, str):
            click.echo(said, err=True)
        else:
            said.show()
    sys.exit(code)
