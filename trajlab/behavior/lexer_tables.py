"""Patterns and word lists of the shell lexer; every pattern runs in bounded, linear time."""

from __future__ import annotations

import re

SUBSTITUTION = "$()"
"""Mark that a command substitution leaves in the word that held it."""

_END = r"(?=[ \t\r\n|&;<>()]|\Z)"

TOKEN = re.compile(
    r"[ \t\r]*+(?:\\\r?\n[ \t\r]*+)*+(?:"
    r"(?!\#|[0-9]++[<>])([^ \t\r\n'\"\\$`|&;<>()]++)"
    + _END
    + r"|'([^']*+)'"
    + _END
    + r'|"([^"\\$`]*+)"'
    + _END
    + r"|(\n)"
    r"|([0-9]*+(?:<<<|<<-?|<>|<&|<(?!\()|>>|>&|>\||>(?!\())|&>>?)"
    r"|(&&|\|\||\|&|;;&|;;|;&|[|&;])"
    r"|(\#[^\n]*+)"
    r"|(\([ \t]*+\)|\()"
    r"|(\))"
    r"|([<>]\()"
    r"|(?=[^ \t\r\n]))"
)
"""Groups: 1 bare word, 2 single-quoted, 3 double-quoted, 4 newline, 5 redirection, 6 separator,
7 comment, 8 opening parenthesis (or the pair after a function's name), 9 closing parenthesis,
10 process substitution; no group: a word of several pieces starts."""

_BRACED = r"\$\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+\}"
_ARITHMETIC = r"\(\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)\)"

WORDS = re.compile(
    r"(?:[ \t\r]*+(?:(?!\#|[0-9]++[<>])[^ \t\r\n'\"\\$`|&;<>()]++|'[^']*+'|\"[^\"\\$`]*+\")" + _END + r")++"
)
"""Words that stand together, each bare or quoted as a whole: most commands are nothing else."""

WORD = re.compile(r"[^ \t\r'\"]+|'[^']*'|\"[^\"]*\"")

QUICK_SEPARATOR = re.compile(r"[ \t]*+(?:(\|)(?![|&])|(&&|;(?![;&])|\n|\Z))")
QUICK_HEREDOC = re.compile(
    r"[ \t]*+(?:<<[ \t]*+'?([A-Za-z_]++)'?[ \t]*+>[ \t]*+([A-Za-z0-9_./-]++)"
    r"|>[ \t]*+([A-Za-z0-9_./-]++)[ \t]*+<<[ \t]*+'?([A-Za-z_]++)'?)[ \t]*+\n"
)

PARENTHESES = re.compile(r"[( \t]++")
ARITHMETIC = re.compile(_ARITHMETIC)

PIECE = re.compile(
    r"([^ \t\r\n'\"\\$`|&;<>()]++)"
    r"|'([^']*+)'"
    r'|"([^"\\$`]*+)"'
    r"|(\$(?:[A-Za-z_][A-Za-z0-9_]*+|[0-9@*\#?$!-])|" + _BRACED + r"|\$" + _ARITHMETIC + r")"
    r"|\\(?s:(.)|\Z)"
    r"|\$'((?:[^'\\]|\\(?s:.))*+)'"
    r'|(\$?+")'
    r"|(\$?+')"
    r"|(\$\(|(?<=[=,])[<>]\()"
    r"|(`)"
    r"|\$"
)
"""Groups: 1 literal, 2 single-quoted, 3 double-quoted, 4 expansion kept as written, 5 escaped, 6 $'…',
7 double quote that holds more than text, 8 quote without an end, 9 substitution, 10 backquote."""

QUOTED = re.compile(
    r'([^"\\$`]++)'
    r"|\\(?s:(.)|\Z)"
    r'|(")'
    r"|" + _BRACED + r"|\$" + _ARITHMETIC + r"|(\$\()"
    r"|(`)"
    r"|\$"
)
"""Groups: 1 text, 2 escaped, 3 closing quote, 4 substitution, 5 backquote; none: kept as written."""

DELIMITER = re.compile(r"[ \t]*+((?:[^ \t\r\n'\"\\|&;<>()]|'[^'\n]*+'|\"[^\"\n]*+\"|\\[^\n])++)")

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)(?:\[[^\]\n]*+\])?\+?=")

OPENING_WORDS = frozenset({"if", "for", "while", "until", "case", "select", "{"})
CLOSING_WORDS = frozenset({"fi", "done", "esac", "}"})
BODY_WORDS = frozenset({"then", "elif", "else", "do", "!", "coproc"})
RESERVED = OPENING_WORDS | CLOSING_WORDS | BODY_WORDS | {"[[", "function"}

ESCAPED_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
