"""YAML read line by line is what PyYAML makes of it, or is left to PyYAML."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trajlab.sources.dumped_yaml import UnusualError, read_dump
from trajlab.sources.expansion import check_expansion
from trajlab.sources.safe_yaml import load_yaml
from trajlab.sources.yaml_values import Loader

WORDS = st.sampled_from(
    ["yes", "null", "~", "-1", "1.5", "1e5", "0x1f", "1:20", "it's", 'say "x"', "#", " #b", ": ", "x:", "- ", "[a]",
     "&a", "*b", "!t", "|", "%d", "@x", " ", "  ", "\n", "\n\n", "\n \n", "\t", "é", "日本", "😀", "\x85",
     "\u2028", "\xa0",
     "\\", "\\n", "'", '"', "...", "---", "=", "<<", "word " * 30, "a\\ b " * 20, "'" * 90, "\0", "\ufeff", "\ud7ff"]
)  # fmt: skip
TEXTS = st.lists(WORDS, max_size=6).map("".join) | st.text(max_size=30).filter(str.isprintable)
KEYS = st.sampled_from(["role", "tool_calls", "a b", "x/y", "k.v", "a-b", "1", "yes", "null", "very" * 20])
ODD_KEYS = KEYS | st.sampled_from(["@x", "-x", "key: v", "'q'", "é", "very" * 40, "a #b", "", " a", "... a", "?"])
SCALARS = TEXTS | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)


def values(keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
    ).filter(lambda value: isinstance(value, list | dict) and value)


LAYOUTS = st.fixed_dictionaries(
    {"width": st.sampled_from([20, 80, 1000]), "allow_unicode": st.booleans(), "sort_keys": st.booleans()}
)


def exact(value: Any) -> Any:
    """A form that tells ``1`` from ``True`` and ``1.0``, and one order of keys from another."""
    if isinstance(value, dict):
        return [(key, exact(inner)) for key, inner in value.items()]
    return [exact(inner) for inner in value] if isinstance(value, list) else (type(value).__name__, repr(value))


def taken(text: str) -> bool:
    """Whether a text is read line by line; where it is, it is the value that PyYAML reads."""
    try:
        found, shared = read_dump(text)
        check_expansion(shared)
    except UnusualError:
        return False
    except ValueError:
        return True  # it holds itself
    assert exact(found) == exact(yaml.load(text, Loader=Loader))
    return True


@given(values(KEYS), LAYOUTS)
def test_what_dump_writes_is_read_line_by_line(value: Any, layout: dict[str, Any]) -> None:
    text = yaml.safe_dump([value, value, {"again": value}], **layout)
    assert taken(text) or set(text) & set("\x85\u2028\u2029\ufeff")  # further breaks of lines, and a mark


@given(values(ODD_KEYS), st.sampled_from([None, "'", '"', "|", ">"]), st.sampled_from([False, None, True]), LAYOUTS)
def test_any_other_layout_is_read_the_same_or_left(value: Any, style: str, flow: bool, layout: dict[str, Any]) -> None:
    text = yaml.safe_dump([value, value], default_style=style, default_flow_style=flow, **layout)
    taken(text)
    assert exact(load_yaml(text.encode())) == exact(yaml.load(text, Loader=Loader))


PIECES = ["\n", "  ", " ", "'", '"', "- ", ": ", ":", " #", "&a", "*a", "&a ", "\\", "\\\n", "''", "---", "...", "[]",
          "{}", "\n\n", "\n  ", "? ", "!x ", "\r", "\t", "%", "a: ", "- - ", "| ", "é"]  # fmt: skip


@given(values(ODD_KEYS), LAYOUTS, st.data())
def test_a_damaged_dump_is_read_the_same_or_left(value: Any, layout: dict[str, Any], data: st.DataObject) -> None:
    text = yaml.safe_dump([value, value], **layout)
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text)))
        end = begin + data.draw(st.sampled_from([0, 0, 1, 2, 6]))
        text = text[:begin] + data.draw(st.sampled_from(PIECES)) + text[end:]
    taken(text)


@pytest.mark.parametrize(
    "text",
    ["", "a", "a: b\n- c", "a: b\n  c: d", "a:\n b", "- a\n b: c", "a: 'b", 'a: "b', "a: 'b' c", "a: *b",
     "- &a\n- &a\n", "a: &b 1", "a: |\n  b", "a: >\n  b", "a: [b]", "a: {b: c}", "a: !!str b", "? a", "---\na: b",
     "a: b\n...\n", "a: b # c", "# c\na: b", "a:\tb", "a: b\n\nc: d", "a: b\n  \n  c", "a: '\n...\n'", 'a: "\\q"',
     "a: @b",
     'a: "\\ud800"', 'a: "\\\n\n  b"', "a: b: c", "a: b:", "a: b \nc: d", "a:  b", "-\n- a", "- ", "-  a", "... a: b",
     "a: =", "a: b\n =: c", "a\x7f: b", "- - " * 300 + "a", "".join(" " * n + "a:\n" for n in range(150))],
)  # fmt: skip
def test_what_dump_does_not_write_is_left(text: str) -> None:
    with pytest.raises(UnusualError):
        read_dump(text)


def test_aliases_share_and_are_told() -> None:
    value, shared = read_dump("- &a\n  b: []\n- *a\n- c: *a\n- &n\n- *n\n")
    assert value == [{"b": []}, {"b": []}, {"c": {"b": []}}, None, None]
    assert value[0] is value[1] is value[2]["c"]
    assert shared == [{"b": []}, {"b": []}, None]
    assert read_dump("a: 1\n") == ({"a": 1}, [])


def test_what_holds_itself_or_multiplies_is_refused() -> None:
    bomb = "- &a0\n  - x\n" + "".join(f"- &a{n + 1}\n" + f"  - *a{n}\n" * 9 for n in range(12))
    with pytest.raises(ValueError, match="expands to more than"):
        load_yaml(bomb.encode())
    with pytest.raises(ValueError, match="holds itself"):
        load_yaml(b"- &a\n  - *a\n")


@pytest.mark.parametrize(
    "piece", [" ", "\\ ", "\\", "'", '"', "''", "x: ", "- ", "&", "\n", "\n ", " \n", "- \n", "a \n"]
)
@pytest.mark.parametrize("start", ["- ", "- '", '- "', '- "\n', "- a\n  ", ""])
def test_a_long_run_of_anything_is_read_or_left_at_once(start: str, piece: str) -> None:
    text = start + piece * 100_000 + "b"
    for end in ("", "'\n", '"\n'):
        with suppress(UnusualError):
            read_dump(text + end)
