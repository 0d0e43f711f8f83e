"""The house is built as CONTRIBUTING says: stages look one way, pieces stay small, importing is cheap.

Everything is read from the source with ``ast``; only the start-up tests run the package, in processes of their own.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import trajlab

PACKAGE = Path(trajlab.__file__).resolve().parent
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("engines", "progress", "records", "schema", "simulate", "stats"),
    ("behavior", "sources"),
    ("formats",),
    ("metric_logs",),
    ("corpus",),
    ("api",),
    ("conversion", "measures"),
    ("checks",),
    ("review",),
    ("report",),
    ("cli",),
)
"""Stages from left to right: a module imports its own stage and those of earlier layers, nothing else of trajlab."""
LAYER = {stage: number for number, layer in enumerate(LAYERS) for stage in layer}
TO_COME: set[str] = set()
"""Stages with a place in the design that need not be there yet."""

MODULE_LINES = 400
FUNCTION_LINES = 40

HEAVY = ("IPython", "matplotlib", "numpy", "pandas", "papermill", "polars", "pyarrow", "scipy", "sklearn")
"""Each costs more than the 0.3 s that ``trajlab --help`` may take, or brings in one that does."""


def modules() -> list[str]:
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text("utf-8"))


def stage_of(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


def imported_stages(module: str) -> Iterator[tuple[int, str]]:
    """Line and stage of every import of trajlab in a module, those inside functions and TYPE_CHECKING included."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "trajlab" and rest != "__version__":
                yield node.lineno, rest.partition(".")[0]


def test_every_stage_has_a_layer() -> None:
    there = {stage_of(module) for module in modules()} - {"__init__"}
    assert there - LAYER.keys() == set(), "give the new stage a place in LAYERS and in CONTRIBUTING.md"
    assert LAYER.keys() - there <= TO_COME, "a stage of LAYERS is gone"


def test_imports_go_to_the_left() -> None:
    staged = [(module, stage_of(module)) for module in modules() if module != "__init__.py"]
    imports = [(module, own, line, stage) for module, own in staged for line, stage in imported_stages(module)]
    wrong = [
        f"{module}:{line} imports {stage}"
        for module, own, line, stage in imports
        if stage != own and LAYER[stage] >= LAYER[own]
    ]
    assert wrong == []
    assert len(imports) > 100


def test_contributing_lists_the_layers_in_this_order() -> None:
    page = (PACKAGE.parent / "CONTRIBUTING.md").read_text("utf-8")
    block = page.split("<!-- layers -->")[1]
    rows = [
        line.split("|")[1].replace("`", "").replace(",", " ").split() for line in block.splitlines() if "| `" in line
    ]
    assert [sorted(row) for row in rows] == [
        present for layer in LAYERS if (present := sorted(set(layer) & {stage_of(module) for module in modules()}))
    ]


def test_modules_are_short() -> None:
    lengths = {module: len((PACKAGE / module).read_text("utf-8").splitlines()) for module in modules()}
    assert {module: lines for module, lines in lengths.items() if lines > MODULE_LINES} == {}


def functions(module: str) -> Iterator[tuple[str, int]]:
    """Each function of a module, with its lines from ``def`` to the end, the docstring left out."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            yield f"{module}:{node.lineno} {node.name}", lines


def test_functions_are_short() -> None:
    lengths = [item for module in modules() for item in functions(module)]
    assert len(lengths) > 500
    assert [(name, lines) for name, lines in lengths if lines > FUNCTION_LINES] == []


def loaded_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after running ``code``."""
    script = f"{code}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=PACKAGE.parent, check=True, capture_output=True, text=True, timeout=60
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import trajlab; dir(trajlab)",
        "import trajlab.cli",
        "from trajlab.cli import cli; cli.main(['--help'], standalone_mode=False)",
        "from trajlab.cli import cli; cli.main(['audit', '--help'], standalone_mode=False)",
    ],
)
def test_start_up_loads_nothing_heavy(code: str) -> None:
    loaded = loaded_after(code)
    assert "trajlab" in loaded
    assert loaded.intersection(HEAVY) == set()


def test_public_names_resolve_and_are_declared_for_type_checkers() -> None:
    for name in trajlab.__all__:
        assert getattr(trajlab, name) is not None
    guarded = next(node for node in tree("__init__.py").body if isinstance(node, ast.If))
    declared = {alias.asname for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert declared | {"__version__"} == set(trajlab.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = trajlab.nothing


def test_importing_every_module_is_silent() -> None:
    names = [
        "trajlab." + module.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for module in modules()
    ]
    names = [name for name in names if name != "trajlab.__init__"]
    script = "import importlib\nfor name in " + repr(names) + ":\n    importlib.import_module(name)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=PACKAGE.parent, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_star_imports() -> None:
    stars = [
        f"{module}:{node.lineno}"
        for module in modules()
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    ]
    assert stars == []


@pytest.mark.parametrize("name", ["LOGS", "FALLBACK_LOGS", "COMPANIONS", "METRIC_LOGS"])
def test_registries_name_modules_that_exist(name: str) -> None:
    stage = "metric_logs" if name == "METRIC_LOGS" else "formats"
    for module in getattr(importlib.import_module(f"trajlab.{stage}"), name):
        assert f"{stage}/{module}.py" in modules()
