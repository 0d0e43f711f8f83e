"""The short way for what most commands are: plain words, pipes, lists, and ``cat <<EOF > file``.

It gives up (``None``) at the first thing it does not know, and the lexer takes over; where it answers, it
answers as the lexer would (a test compares them).
"""

from __future__ import annotations

from trajlab.behavior.lexer_tables import QUICK_HEREDOC, QUICK_SEPARATOR, RESERVED, WORD, WORDS
from trajlab.behavior.raw_command import RawCommand

NONE: list[tuple[str, str]] = []
"""Stands for "no assignments" and "no redirections"; never changed."""


def quick_commands(text: str) -> list[RawCommand] | None:
    """Return the simple commands of a plain text, or ``None`` where it is not plain enough."""
    position, end, pipeline = 0, len(text), 0
    piped = False
    commands: list[RawCommand] = []
    match_words, match_separator = WORDS.match, QUICK_SEPARATOR.match
    while position < end:
        found = match_words(text, position)
        if found is None:
            return commands if commands and not piped and text[position:].isspace() else None
        run = found[0]
        if "'" in run or '"' in run:
            words = [word[1:-1] if word[0] in "'\"" else word for word in WORD.findall(run)]
        elif run.isascii():
            words = run.split()
        else:
            return None
        if not words or words[0] in RESERVED or "=" in words[0]:
            return None
        command = RawCommand(0, pipeline, piped, words, NONE, NONE)
        commands.append(command)
        position = found.end()
        if position == end:
            return commands
        separator = match_separator(text, position)
        if separator is None:
            if words != ["cat"] or piped:
                return None
            position = _heredoc(command, text, position)
            if position < 0:
                return None
            pipeline += 1
            continue
        position = separator.end()
        piped = command.piped_out = separator.lastindex == 1
        pipeline += not piped
    return None if piped else commands


def _heredoc(command: RawCommand, text: str, position: int) -> int:
    """Read ``<<'EOF' > file`` or ``> file <<'EOF'`` and its body; return the place after it, or -1."""
    found = QUICK_HEREDOC.match(text, position)
    if found is None:
        return -1
    delimiter = found[1] or found[4]
    path = found[2] or found[3]
    start = found.end()
    stop = text.find("\n" + delimiter, start - 1)
    if stop < 0:
        return -1
    after = stop + 1 + len(delimiter)
    if after < len(text) and text[after] != "\n":
        return -1
    command.heredoc = text[start : stop + 1]
    command.redirects = [(path, "write")]
    return after + 1
