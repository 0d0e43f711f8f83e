"""Toy notebooks for the tests of the runner."""

from __future__ import annotations

from pathlib import Path

import nbformat

PARAMETERS = """\
data: str = "logs"  # folder of logs
threshold: float | None = None  # verdict from the reward
n: int = 3  # trajectories to read
strict: bool = True  # refuse doubtful records
"""

RESULT = """\
from trajlab.checks.finding import Finding, Gate
from trajlab.report.result import Coverage, Measure, Provenance, Result, write_result
result = Result(
    run="r1", period="E0",
    provenance=Provenance(trajlab="0.1.0"),
    coverage=Coverage(trajectories=108, records=108),
    measures=[Measure(name="any_test", value=0.5, numerator=54, denominator=108, method="Wilson")],
    gates=[Gate(name="coverage", status={status!r}, value=1.0, limit=0.99, direction="at_least", n=108)],
    findings={findings},
)
write_result(result)
"""


def result_cell(status: str = "passed", findings: str = "[]") -> str:
    return RESULT.format(status=status, findings=findings)


def write_notebook(folder: Path, name: str, cells: list[str], parameters: str = PARAMETERS) -> Path:
    """A notebook of code cells; a cell that starts with ``#%%`` is markdown."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "of-a-colleague", "display_name": "x", "language": "python"}
    parameter_cell = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    rest = [
        nbformat.v4.new_markdown_cell(cell.removeprefix("#%%").strip())
        if cell.startswith("#%%")
        else nbformat.v4.new_code_cell(cell)
        for cell in cells
    ]
    notebook.cells = [nbformat.v4.new_markdown_cell(f"# {name}\n\nFirst words."), parameter_cell, *rest]
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    nbformat.validate(notebook)
    path = folder / f"{name}.ipynb"
    nbformat.write(notebook, path)
    return path
