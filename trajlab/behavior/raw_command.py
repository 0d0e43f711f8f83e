"""A simple command as the lexer hands it on."""

from __future__ import annotations

import msgspec


class RawCommand(msgspec.Struct, gc=False):
    """One simple command as written: words with quotes removed, redirections, and its place."""

    depth: int
    pipeline: int
    piped_in: bool
    words: list[str] = []
    assignments: list[tuple[str, str]] = []
    redirects: list[tuple[str, str]] = []
    heredoc: str | None = None
    here_string: str | None = None
    stdin_file: str | None = None
    piped_out: bool = False
    group_start: int | None = None
    """Number of the first command of the group (``{ … }``, ``( … )``, a loop) that ends here."""
