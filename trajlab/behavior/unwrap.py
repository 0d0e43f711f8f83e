"""Takes wrappers off a command: ``timeout 60 env A=1 uv run pytest`` is ``pytest``."""

from __future__ import annotations

from collections.abc import Sequence

from trajlab.behavior.lexer_tables import ASSIGNMENT
from trajlab.behavior.rules import SUBCOMMAND_VALUE_FLAGS, WRAPPER_HEADS, WRAPPERS, Wrapper
from trajlab.behavior.verdicts import Context, Nested, Outcome, Rewrite, other, verdict

NO_FLAGS: frozenset[str] = frozenset()


def unwrap(name: str, words: Sequence[str], context: Context) -> Outcome | None:
    """Take one wrapper off ``words`` (whose first word is the program ``name``).

    Returns:
        ``None`` where the program wraps nothing here.
    """
    if name not in WRAPPER_HEADS:
        return None
    wrapper = WRAPPERS.get(name)
    start = 1
    if wrapper is None:
        start = subcommand_place(name, words)
        if start >= len(words):
            return None
        wrapper = WRAPPERS.get(f"{name} {words[start]}")
        if wrapper is None:
            return None
        start += 1
    if wrapper.subcommand:
        while start < len(words) and words[start] not in wrapper.subcommand:
            start += 2 if words[start] in wrapper.flags else 1
        start += 1
        wrapper = WRAPPERS.get("docker-compose exec", wrapper)
    return _strip(wrapper, words, start, context)


def subcommand_place(name: str, words: Sequence[str]) -> int:
    """Index of the first word after the program that is neither a flag nor a flag's value."""
    values = SUBCOMMAND_VALUE_FLAGS.get(name, NO_FLAGS)
    index, count = 1, len(words)
    while index < count:
        word = words[index]
        if word in values:
            index += 2
        elif (word[:1] == "-" and len(word) > 1) or word[:1] == "+":
            index += 1
        else:
            return index
    return count


def _strip(wrapper: Wrapper, words: Sequence[str], index: int, context: Context) -> Outcome:
    count, skip, needed = len(words), wrapper.skip, not wrapper.needs
    while index < count:
        word = words[index]
        if word[:1] == "-" and len(word) > 1:
            index += 1
            if word == "--":
                if not wrapper.skip or skip == 0:
                    break
                continue
            if word in wrapper.info:
                return verdict("search", f"wrapper/{wrapper.name} {word}")
            if word in wrapper.needs:
                needed = True
                break
            text = _shell_value(wrapper, word, words, index)
            if text is not None:
                return Nested([text], f"{wrapper.name} {word}")
            if word in wrapper.module_flags or (wrapper.mode == "python" and word in ("-m", "--module")):
                return Rewrite(["python", "-m", *words[index:]], wrapper.name)
            if word in wrapper.flags:
                index += 1
        elif wrapper.assignments and ASSIGNMENT.match(word):
            index += 1
        elif skip:
            skip -= 1
            index += 1
        else:
            break
    if not needed or index >= count:
        return _nothing_wrapped(wrapper)
    return _rest(wrapper, list(words[index:]), context)


def _nothing_wrapped(wrapper: Wrapper) -> Outcome:
    return other(f"wrapper/{wrapper.name}")


def _shell_value(wrapper: Wrapper, word: str, words: Sequence[str], index: int) -> str | None:
    if not wrapper.shell_flags:
        return None
    if word in wrapper.shell_flags:
        return words[index] if index < len(words) else ""
    name, equals, value = word.partition("=")
    if equals and name in wrapper.shell_flags:
        return value
    cluster = word[1:2] != "-" and len(word) > 2 and "-" + word[-1] in wrapper.shell_flags
    return words[index] if cluster and index < len(words) else None


def _rest(wrapper: Wrapper, rest: list[str], context: Context) -> Outcome:
    if wrapper.mode == "shell":
        return Nested([" ".join(rest)], wrapper.name)
    if wrapper.mode in ("python", "node"):
        return Rewrite([wrapper.mode, *rest], wrapper.name)
    if wrapper.mode == "stdin":
        context.operands_on_stdin = True
        context.piped_in = False
        if wrapper.stop and wrapper.stop in rest:
            rest = rest[: rest.index(wrapper.stop)]
        if len(rest) == 1 and " " in rest[0]:
            return Nested([rest[0]], wrapper.name)
    elif wrapper.mode == "tasks":
        context.tasks = True
        if wrapper.name.startswith("hatch") and ":" in rest[0] and "/" not in rest[0]:
            rest[0] = rest[0].partition(":")[2]
    return Rewrite(rest, wrapper.name)
