"""A notebook's parameters: read from its ``parameters`` cell, checked strictly, normalised to JSON."""

from __future__ import annotations

import ast
import datetime
import difflib
import enum
import io
import json
import math
import tokenize
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, cast

import msgspec
from nbformat import NotebookNode

from trajlab.errors import NotebookError, UsageError
from trajlab.report.result import without_surrogates

_TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "list": list, "dict": dict}
_EXPECTED = "`name: type = literal  # help`, type one of int, float, str, bool, list, dict or `X | None`"


class Parameter(msgspec.Struct, frozen=True):
    """One parameter of a notebook."""

    name: str
    annotation: str
    """As written: ``int``, ``str | None``, ``list[str]``."""
    default: Any
    """JSON value."""
    help: str = ""
    """The trailing comment."""

    @property
    def optional(self) -> bool:
        """``None`` is a value of it."""
        return "None" in self._alternatives

    @property
    def kind(self) -> str:
        """``int``, ``float``, ``str``, ``bool``, ``list`` or ``dict``."""
        return next(part for part in self._alternatives if part != "None").split("[")[0]

    @property
    def _alternatives(self) -> list[str]:
        return [part.strip() for part in self.annotation.split("|")]


def read_parameters(notebook: NotebookNode, place: str) -> list[Parameter]:
    """Parameters of the one code cell tagged ``parameters``; none where there is no such cell.

    The cell is parsed, never run; papermill's own inspection misses ``x: str | None = …``
    (nteract/papermill#864, #906).

    Args:
        notebook: The notebook.
        place: What errors call it.

    Raises:
        NotebookError: for two such cells, or anything in it but annotated literals.
    """
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) > 1:
        raise NotebookError(place, f"{len(cells)} cells tagged `parameters`", "one")
    if not cells:
        return []
    source = str(cells[0].source)
    where = f"{place}, cell `parameters`"
    try:
        body = ast.parse(source).body
        comments = _comments(source)
    except (SyntaxError, tokenize.TokenError) as error:
        raise NotebookError(where, f"cannot be parsed ({error})", _EXPECTED) from None
    return [_parameter(node, comments, where) for node in body if not _is_docstring(node)]


def _is_docstring(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string.lstrip("#").strip() for token in tokens if token.type == tokenize.COMMENT}


def _parameter(node: ast.stmt, comments: Mapping[int, str], place: str) -> Parameter:
    where = f"{place}, line {node.lineno}"
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name) or node.value is None:
        raise NotebookError(where, f"`{ast.unparse(node)[:80]}`", _EXPECTED)
    name, annotation = node.target.id, ast.unparse(node.annotation)
    kinds = [part.strip().split("[")[0] for part in annotation.split("|")]
    if len([kind for kind in kinds if kind in _TYPES]) != 1 or set(kinds) - set(_TYPES) - {"None"}:
        raise NotebookError(where, f"`{name}` is annotated `{annotation}`", _EXPECTED)
    try:
        default = ast.literal_eval(node.value)
    except ValueError:
        raise NotebookError(where, f"the default of `{name}` is no literal", _EXPECTED) from None
    parameter = Parameter(name, annotation, None, comments.get(node.end_lineno or node.lineno, ""))
    try:
        return msgspec.structs.replace(parameter, default=_checked(parameter, default))
    except UsageError as error:
        raise NotebookError(where, error.found, error.expected) from None


def split_settings(settings: Iterable[str]) -> dict[str, str]:
    """``name=value`` texts of a command line as a mapping.

    Raises:
        UsageError: for a text without ``=``, and for a name given twice.
    """
    split: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        name = name.strip()
        if not equals or not name:
            raise UsageError("--set", repr(setting), "name=value")
        if name in split:
            raise UsageError("--set", f"`{name}` is given twice")
        split[name] = value
    return split


def number_settings(settings: Iterable[str]) -> dict[str, float]:
    """``name=number`` texts of a command line.

    Raises:
        UsageError: as `split_settings`, and for what is no number.
    """
    numbers: dict[str, float] = {}
    for name, value in split_settings(settings).items():
        try:
            numbers[name] = float(value)
        except ValueError as error:
            raise UsageError("--set", f"{name}={value}", "a number") from error
    return numbers


def coerce(parameters: Iterable[Parameter], given: Mapping[str, object]) -> dict[str, Any]:
    """The effective parameters: every default, replaced by what is given, as JSON values.

    A text for a parameter that is no ``str`` is read by its annotation: ``true``/``false``, ``none``,
    numbers, JSON for lists and dicts. A text for a ``str`` stays as it is (``007`` is three characters);
    ``none`` for a ``str | None`` is ``None``. Paths, dates, enums and numpy scalars become JSON.

    Raises:
        UsageError: for an unknown name, a value of another type, or what JSON cannot hold (NaN, sets).
    """
    known = {parameter.name: parameter for parameter in parameters}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise _unknown(unknown[0], list(known))
    effective: dict[str, Any] = {}
    for name, parameter in known.items():
        effective[name] = _coerced(parameter, given[name]) if name in given else parameter.default
    return effective


def _unknown(name: str, known: list[str]) -> UsageError:
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(close)}?" if close else ""
    expected = f"one of {', '.join(known)}" if known else "none: the notebook has no parameters"
    return UsageError(f"parameter `{name}`", "unknown", expected, hint)


def _coerced(parameter: Parameter, value: object) -> object:
    if not isinstance(value, str) or isinstance(value, enum.Enum):
        return _checked(parameter, value)
    if parameter.optional and value.strip().lower() == "none":
        return None
    return _checked(parameter, value if parameter.kind == "str" else _read_text(parameter, value.strip()))


def _read_text(parameter: Parameter, text: str) -> object:
    """The value a text stands for, or the text itself where it stands for none."""
    if parameter.kind == "bool":
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        if parameter.kind == "int":
            return int(text) if "_" not in text else text
        if parameter.kind == "float":
            return float(text) if "_" not in text else text
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _checked(parameter: Parameter, value: object) -> object:
    place = f"parameter `{parameter.name}`"
    plain = _plain(value, place)
    if plain is None and parameter.optional:
        return None
    wanted = _TYPES[parameter.kind]
    if wanted is float and isinstance(plain, int) and not isinstance(plain, bool):
        return float(plain)
    if not isinstance(plain, wanted) or (wanted is int and isinstance(plain, bool)):
        raise UsageError(place, _shown(value), parameter.annotation)
    _check_elements(parameter, plain, place)
    return plain


def _check_elements(parameter: Parameter, value: object, place: str) -> None:
    """``list[int]`` and ``dict[str, float]`` hold what they say, where they say scalars."""
    text = next(part for part in parameter.annotation.split("|") if part.strip() != "None")
    if parameter.kind not in ("list", "dict") or "[" not in text:
        return
    element = text[text.index("[") + 1 : text.rindex("]")].split(",")[-1].strip()
    wanted = {"float": (int, float)}.get(element, _TYPES.get(element))
    if wanted is None:
        return
    for item in value.values() if isinstance(value, dict) else cast("list[object]", value):
        if not isinstance(item, wanted) or (isinstance(item, bool) and element != "bool"):
            raise UsageError(place, f"the element {_shown(item)}", parameter.annotation)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _plain(value: object, place: str) -> object:
    """The JSON value of ``value``; what JSON cannot hold is an error, never a text of it."""
    if isinstance(value, enum.Enum):
        return _plain(value.value, place)
    if isinstance(value, PurePath):
        return _plain(str(value), place)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, str) and without_surrogates(value) != value:
        raise UsageError(place, _shown(value), "text that UTF-8 can hold")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UsageError(place, _shown(value), "a finite number")
        return float(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise UsageError(place, _shown(value), "texts as keys")
        return {key: _plain(item, place) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, place) for item in value]
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return _plain(cast("Any", value).item(), place)
    raise UsageError(place, f"{_shown(value)} of type {type(value).__name__}", "what JSON can hold")


def canonical_json(value: object) -> str:
    """One text per value: sorted keys, no blanks, NaN refused.

    Raises:
        ValueError: for NaN and infinities.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
