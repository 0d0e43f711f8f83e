"""The environment is declared once: pyproject.toml, environment.yml, the code and what is installed agree."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))

CONDA_NAMES = {
    "jupyterlab": "jupyterlab",
    "matplotlib": "matplotlib",
    "pandas": "pandas",
    "papermill": "papermill",
    "polars": "polars",
    "pyarrow": "pyarrow",
    "pytest": "pytest",
    "regex": "regex",
    "scikit-learn": "scikit-learn",
}
"""Name on conda-forge -> name on PyPI. Spelled out, because conda-forge does not normalise names."""

IMPORT_NAMES = {"scikit-learn": "sklearn", "pyyaml": "yaml"}
INDIRECT = {
    "ipykernel": "the kernel that notebooks run in",
    "pandas": "LazyFrame.collect().to_pandas()",
}
"""Dependencies that trajlab need not import, with what needs them."""
BROUGHT_ALONG = {
    "IPython": "ipykernel",
    "jupyter_client": "ipykernel",
    "nbclient": "nbconvert",
    "threadpoolctl": "scikit-learn",
    "traitlets": "nbconvert",
}
"""Imported, not declared: part of the interface of a dependency that is."""
OPTIONAL = {"anywidget": "lab"}
"""Imported where it is asked for: name -> the extra that brings it."""


def requirements(texts: list[str]) -> dict[str, Requirement]:
    return {requirement.name: requirement for requirement in map(Requirement, texts)}


RUNTIME = requirements(PROJECT["dependencies"])
EXTRAS = {name: requirements(texts) for name, texts in PROJECT["optional-dependencies"].items()}
EVERY = RUNTIME | {name: requirement for extra in EXTRAS.values() for name, requirement in extra.items()}


def conda_lines() -> list[str]:
    return [line for line in CONDA["dependencies"] if isinstance(line, str)]


def split_conda(line: str) -> tuple[str, str]:
    found = re.fullmatch(r"([a-z0-9_.-]+)\s*(.*)", line)
    assert found is not None, line
    return found[1], found[2]


def test_conda_channels() -> None:
    assert CONDA["channels"] == ["conda-forge", "nodefaults"]
    assert CONDA["name"] == PROJECT["name"]


def test_conda_names_and_ranges_equal_pyproject() -> None:
    packages = dict(split_conda(line) for line in conda_lines())
    assert len(packages) == len(conda_lines())
    assert packages.pop("python") == PROJECT["requires-python"]
    assert packages.pop("pip") == ""
    assert packages.keys() == CONDA_NAMES.keys()
    for name, versions in packages.items():
        assert SpecifierSet(versions) == EVERY[CONDA_NAMES[name]].specifier, name


def test_conda_bounds_are_low_and_never_fuzzy() -> None:
    for name, versions in map(split_conda, conda_lines()):
        parts = [part for part in versions.split(",") if part]
        assert all(re.fullmatch(r"(>=|<)\d+(\.\d+)*", part) for part in parts), (name, versions)
        assert name == "pip" or sum(part.startswith(">=") for part in parts) == 1


def test_conda_takes_the_rest_from_pyproject() -> None:
    (rest,) = (entry["pip"] for entry in CONDA["dependencies"] if isinstance(entry, dict))
    assert rest == ["-e .[lab,test]"]
    assert set(EXTRAS) == {"lab", "test"}


@cache
def imported_packages() -> frozenset[str]:
    """Top-level names that the code of the package imports, wherever it does."""
    names: set[str] = set()
    for path in (ROOT / "trajlab").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
    return frozenset(names)


@pytest.mark.parametrize("name", sorted(RUNTIME))
def test_dependency_is_used(name: str) -> None:
    module = IMPORT_NAMES.get(name, name)
    assert module in imported_packages() or name in INDIRECT


def test_imports_are_declared() -> None:
    foreign = imported_packages() - set(sys.stdlib_module_names) - {"trajlab", *OPTIONAL}
    declared = {IMPORT_NAMES.get(name, name) for name in RUNTIME}
    assert foreign - declared <= BROUGHT_ALONG.keys()
    assert {BROUGHT_ALONG[name] for name in foreign - declared} <= RUNTIME.keys()


@pytest.mark.parametrize("name", sorted(OPTIONAL))
def test_optional_dependency_is_an_extra_and_tested(name: str) -> None:
    assert name in imported_packages() and name not in RUNTIME
    assert EXTRAS[OPTIONAL[name]][name] == EXTRAS["test"][name]


def test_notebook_reviewer_without_its_extra() -> None:
    """A wheel without extras: everything else of ``trajlab.review`` loads, and the widget says what to install."""
    script = (
        "import sys; sys.modules['anywidget'] = None; import trajlab, trajlab.review as review\n"
        "from trajlab.errors import UsageError\n"
        "others = [getattr(review, name) for name in dir(review) if name != 'Reviewer']\n"
        "for place in (trajlab, review):\n"
        "    try: place.Reviewer\n"
        "    except UsageError as error: print(len(others), error)"
    )
    command = [sys.executable, "-W", "error", "-c", script]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, cwd=ROOT).stdout
    import trajlab.review

    assert said == 2 * (
        f"{len(dir(trajlab.review)) - 1} Reviewer: anywidget is not installed; expected the extra `lab`. "
        "Run pip install 'trajlab[lab]', or write a page that needs no kernel: trajlab review\n"
    )


@pytest.mark.parametrize("name", sorted(RUNTIME | EXTRAS["test"]))
def test_installed_version_is_in_range(name: str) -> None:
    installed = importlib.metadata.version(name)
    assert EVERY[name].specifier.contains(installed, prereleases=True), installed


@pytest.mark.parametrize("name", sorted(EVERY))
def test_contributing_says_why(name: str) -> None:
    assert f"| `{name}` |" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_version_is_said_once() -> None:
    import trajlab

    assert PROJECT["version"] == trajlab.__version__
    assert f"## [{trajlab.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_samples_and_notebooks_are_found() -> None:
    from trajlab.cli import samples
    from trajlab.report.runner import find_notebook

    assert (samples() / "MANIFEST.tsv").is_file()
    assert find_notebook("epoch_audit").is_file()


def test_wheel_declares_samples_and_notebooks() -> None:
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    carried = hatch["wheel"]["force-include"]
    assert carried == {"notebooks": "trajlab/_notebooks", "data_samples": "trajlab/_data_samples"}
    assert all((ROOT / folder).is_dir() for folder in carried)
    assert all((ROOT / name).exists() for name in hatch["sdist"]["include"])


def test_ci_script_is_a_shell_script() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=10)
