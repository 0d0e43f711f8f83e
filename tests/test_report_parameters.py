from __future__ import annotations

import datetime
import enum
import json
from pathlib import Path

import nbformat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trajlab.errors import NotebookError, UsageError
from trajlab.report.parameters import Parameter, canonical_json, coerce, read_parameters, split_settings

CELL = '''\
"""What to audit."""
data: str = "logs"  # folder of logs
threshold: float | None = None  # verdict from the reward
n: int = 3
strict: bool = True  # refuse = doubt
tools: list[str] = ["bash", "think"]  # tools = names
limits: dict[str, float] = {
    "low": -1.5,
}  # several lines
label: str | None = None
options: dict = {}
'''


def notebook(*cells: str) -> nbformat.NotebookNode:
    node: nbformat.NotebookNode = nbformat.v4.new_notebook()
    node.cells = [nbformat.v4.new_code_cell(cell, metadata={"tags": ["parameters"]}) for cell in cells]
    return node


def read(cell: str = CELL) -> list[Parameter]:
    return read_parameters(notebook(cell), "audit.ipynb")


def test_the_cell_is_read_with_types_defaults_and_help() -> None:
    found = {parameter.name: parameter for parameter in read()}
    assert list(found) == ["data", "threshold", "n", "strict", "tools", "limits", "label", "options"]
    assert found["threshold"] == Parameter("threshold", "float | None", None, "verdict from the reward")
    assert found["strict"].help == "refuse = doubt"
    assert found["limits"].default == {"low": -1.5}
    assert found["limits"].help == "several lines"
    assert (found["threshold"].kind, found["threshold"].optional) == ("float", True)
    assert (found["tools"].kind, found["tools"].optional) == ("list", False)


def test_no_cell_means_no_parameters() -> None:
    assert read_parameters(notebook(), "audit.ipynb") == []


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("n = 3", "`n = 3`"),
        ("n: int = 3 + 4j", "n"),
        ("n: int = len('x')", "no literal"),
        ("n: int", "`n: int`"),
        ("n: int = 'x'", "'x'"),
        ("n: set = {1}", "annotated `set`"),
        ("n: int | str = 1", "annotated `int | str`"),
        ("import os", "import os"),
        ("n: int = (", "cannot be parsed"),
        ("x: float = 1e999", "inf"),
    ],
)
def test_anything_but_annotated_literals_is_refused_with_its_place(cell: str, said: str) -> None:
    with pytest.raises(NotebookError, match=r"audit\.ipynb, cell `parameters`") as caught:
        read(cell)
    assert said in str(caught.value)


def test_two_cells_are_refused() -> None:
    with pytest.raises(NotebookError, match="2 cells"):
        read_parameters(notebook("n: int = 1", "m: int = 1"), "audit.ipynb")


def test_effective_parameters_are_defaults_and_what_is_given() -> None:
    assert coerce(read(), {"n": "5", "strict": "FALSE"}) == {
        "data": "logs", "threshold": None, "n": 5, "strict": False, "tools": ["bash", "think"],
        "limits": {"low": -1.5}, "label": None, "options": {},
    }  # fmt: skip


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("name", "given_value", "expected"),
    [
        ("data", "007", "007"),
        ("data", "true", "true"),
        ("data", Path("a") / "b", "a/b"),
        ("data", datetime.date(2026, 1, 2), "2026-01-02"),
        ("data", Colour.RED, "red"),
        ("threshold", "0.5", 0.5),
        ("threshold", "1e-3", 0.001),
        ("threshold", 1, 1.0),
        ("threshold", np.float32(0.5), 0.5),
        ("threshold", "none", None),
        ("label", "None", None),
        ("label", "x", "x"),
        ("n", "-7", -7),
        ("n", np.int64(4), 4),
        ("strict", "true", True),
        ("strict", np.bool_(False), False),
        ("tools", '["a"]', ["a"]),
        ("tools", ("a", "b"), ["a", "b"]),
        ("limits", '{"low": 1}', {"low": 1}),
        ("options", {"a": np.array(3)}, {"a": 3}),
    ],
)
def test_values_are_read_by_annotation(name: str, given_value: object, expected: object) -> None:
    value = coerce(read(), {name: given_value})[name]
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("name", "given_value"),
    [
        ("n", "1_000"), ("n", "3.0"), ("n", "x"), ("n", 3.0), ("n", True), ("n", None), ("n", "none"),
        ("strict", "yes"), ("strict", "1"), ("strict", 1), ("threshold", "nan"), ("threshold", "inf"),
        ("threshold", float("nan")), ("threshold", True), ("tools", "a"), ("tools", '"a"'), ("tools", [1]),
        ("tools", {"a"}), ("limits", '{"low": "x"}'), ("limits", '{"low": NaN}'), ("limits", '{"low": true}'),
        ("options", {1: 2}), ("options", {"a": object()}), ("data", 3), ("data", b"x"), ("data", None),
        ("data", "a\udcff"), ("data", Path("a\udcff")),
        ("tools", "[" * 100_000),
    ],
)  # fmt: skip
def test_wrong_types_are_usage_errors(name: str, given_value: object) -> None:
    with pytest.raises(UsageError, match=f"parameter `{name}`"):
        coerce(read(), {name: given_value})


def test_an_unknown_name_lists_close_matches_and_all_names() -> None:
    with pytest.raises(UsageError) as caught:
        coerce(read(), {"treshold": 1})
    assert "Did you mean threshold?" in str(caught.value)
    assert "data, threshold, n, strict, tools, limits, label, options" in str(caught.value)


def test_settings_are_split_once() -> None:
    assert split_settings(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    for wrong in (["a"], ["=b"], ["a=1", "a=2"]):
        with pytest.raises(UsageError):
            split_settings(wrong)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_json_values_go_through_unchanged(value: dict[str, object]) -> None:
    effective = coerce([Parameter("options", "dict", {})], {"options": value})
    assert json.loads(canonical_json(effective)) == {"options": value}
