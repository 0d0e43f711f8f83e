from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from report_notebooks import result_cell, write_notebook

import trajlab
from trajlab.errors import InfrastructureError, NotebookError, UsageError
from trajlab.report import runner
from trajlab.report.html import Inspection
from trajlab.report.index import rebuild_index
from trajlab.report.record import RunRecord, read_record
from trajlab.report.result import FailOn, read_result

REPO = Path(trajlab.__file__).resolve().parents[1]
HOSTILE = "</pre></details><script>alert(1)</script> \x1b[31mred\x1b[0m \u202egpj.exe"
OK = [
    "#%% ## Conclusion",
    "import os, sys, trajlab\nassert trajlab.__file__ == {package!r}, trajlab.__file__\n"
    "assert os.environ['TRAJLAB_BATCH'] == '1' and os.environ['MPLBACKEND'] == 'agg'\n"
    "assert sys.executable == {python!r}\n"
    "print(n, strict, threshold)",
    "#%% ## What the log says",
    "from trajlab.report.tables import details\n"
    "print({hostile!r})\nprint({hostile!r}, file=sys.stderr)\n"
    "display(details({hostile!r}, {hostile!r} * 500))",
    "#%% ## Gates",
]


def ok_cells() -> list[str]:
    values = {"package": trajlab.__file__, "python": sys.executable, "hostile": HOSTILE}
    return [cell if cell.startswith("#%%") else cell.format(**values) for cell in OK]


def run(path: Path, out: Path, fail_on: FailOn = "alarm", timeout: int = 60, **parameters: object) -> RunRecord:
    return runner.run_notebook(
        path, out, parameters, title="A <b>title</b>", run="r/1", period="E0", data_fingerprint="f00d",
        timeout=timeout, fail_on=fail_on,
    )  # fmt: skip


def outcome(out: Path, record: RunRecord) -> tuple[str, int | None]:
    """Status and exit code, after checking that what is on disk says the same."""
    folder = out / record.folder
    assert read_record(folder) == record
    assert not [path.name for path in out.iterdir() if path.name.startswith(".")]
    assert (folder / "notebook.ipynb").exists()
    if (folder / "report.html").exists():
        page = (folder / "report.html").read_text()
        assert f">{record.status}</span>" in page
        assert "papermill encountered" not in page
    return record.status, record.exit_code


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunRecord, Path]:
    """An audit that passes: notebook, record, out folder."""
    folder = tmp_path_factory.mktemp("good")
    path = write_notebook(folder, "{audit} 1", [*ok_cells(), result_cell()])
    return path, run(path, folder / "o {u} t", n="5"), folder / "o {u} t"


def test_a_passing_audit(good: tuple[Path, RunRecord, Path]) -> None:
    _, record, out = good
    assert outcome(out, record) == ("passed", 0)
    assert record.folder == f"audit-1-r-1-E0-{record.key[:8]}"
    assert record.parameters == {"data": "logs", "threshold": None, "n": 5, "strict": True}
    assert (record.trajectories, record.findings, record.message) == (108, {}, "")
    assert record.versions["python"] and record.interpreter == sys.executable
    executed = nbformat.read(out / record.folder / "notebook.ipynb", as_version=4)
    nbformat.validate(executed)
    assert "5 True None" in str(executed.cells)
    assert "TRAJLAB_BATCH" not in os.environ


def test_the_report_needs_nothing_and_shows_hostile_text_as_text(good: tuple[Path, RunRecord, Path]) -> None:
    _, record, out = good
    text = (out / record.folder / "report.html").read_text()
    assert "http://" not in text and "https://" not in text
    assert "<script" not in text and "&lt;script&gt;" in text
    assert "\x1b" not in text and "\u202e" not in text and "⟨U+202E⟩" in text
    assert "A &lt;b&gt;title&lt;/b&gt;</h1>" in text and '<html lang="en">' in text
    assert "default-src 'none'" in text and "characters left out" in text
    assert "import os" not in text and "First words." in text and text.count("<h1>") == 1
    page = Inspection()
    page.feed(text)
    assert [offence for offence in page.offences if offence != "<meta>"] == []
    assert list(page.headings.values()) == ["Conclusion", "What the log says", "Gates"]
    assert '<a href="#what-the-log-says">' in text


def test_a_rerun_replaces_and_gives_the_same_bytes(good: tuple[Path, RunRecord, Path]) -> None:
    path, record, out = good
    before = {name: (out / record.folder / name).read_bytes() for name in ("report.html", "result.json")}
    (out / record.folder / "left behind").touch()
    again = run(path, out, n=5)
    assert again.folder == record.folder
    assert {name: (out / record.folder / name).read_bytes() for name in before} == before
    assert not (out / record.folder / "left behind").exists()
    assert [entry.name for entry in out.iterdir()] == [record.folder]


@pytest.mark.parametrize(
    ("cells", "fail_on", "expected", "message"),
    [
        ([result_cell("failed")], "alarm", ("failed", 1), "failed: coverage"),
        ([result_cell("inconclusive")], "alarm", ("inconclusive", 1), "inconclusive: coverage"),
        (
            [result_cell(findings="[Finding(code='C', layer='L5', status='alarm', message='m')]")],
            "never", ("failed", 0), "failed: no_alarm",
        ),
        (["1 / 0", result_cell()], "alarm", ("error", 3), "ZeroDivisionError"),
        (["import sys\nsys.exit(0)", result_cell()], "alarm", ("error", 3), "ended early"),
        ([result_cell(), "import sys\nsys.exit(0)"], "alarm", ("error", 3), "ended early"),
        (["1"], "alarm", ("error", 3), "no result.json"),
        (["print('x' * 5_100_000)", result_cell()], "alarm", ("error", 3), "at most 5 MB"),
        (
            ["from IPython.display import HTML\nHTML('<img src=\"//cdn/x.png\">')", result_cell()],
            "alarm", ("error", 3), "//cdn/x.png",
        ),
        (["import os\nos.kill(os.getpid(), 9)", result_cell()], "alarm", ("infrastructure", 4), "died"),
    ],
    ids=["gate", "unsure", "never", "raise", "exit", "late-exit", "no-result", "size", "outside", "kill"],
)  # fmt: skip
def test_statuses_and_exit_codes(
    cells: list[str], fail_on: FailOn, expected: tuple[str, int], message: str, tmp_path: Path
) -> None:
    record = run(write_notebook(tmp_path, "audit", cells), tmp_path / "out", fail_on)
    assert outcome(tmp_path / "out", record) == expected
    assert message in record.message


def test_a_cell_that_takes_too_long(tmp_path: Path) -> None:
    path = write_notebook(tmp_path, "audit", ["import time\ntime.sleep(60)", result_cell()])
    record = run(path, tmp_path / "out", timeout=1)
    assert outcome(tmp_path / "out", record) == ("infrastructure", 4)
    assert "more than 1 seconds" in record.message
    assert read_result(tmp_path / "out" / record.folder) is None


@pytest.mark.parametrize("parameters", [{"treshold": "1"}, {"strict": "yes"}, {"n": "three"}, {"n": None}])
def test_wrong_parameters_are_usage_errors_and_leave_nothing(parameters: dict[str, Any], tmp_path: Path) -> None:
    path = write_notebook(tmp_path, "audit", [result_cell()])
    with pytest.raises(UsageError) as caught:
        run(path, tmp_path / "out", **parameters)
    assert caught.value.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such notebook"):
        run(tmp_path / "missing.ipynb", tmp_path / "out")
    (tmp_path / "broken.ipynb").write_text("{")
    with pytest.raises(NotebookError, match=r"broken\.ipynb"):
        run(tmp_path / "broken.ipynb", tmp_path / "out")
    path = write_notebook(tmp_path, "audit", [result_cell()])
    with pytest.raises(UsageError, match="alarm, warn, never"):
        run(path, tmp_path / "out", fail_on="sometimes")  # type: ignore[arg-type]
    (tmp_path / "file").touch()
    with pytest.raises(InfrastructureError, match="file"):
        run(path, tmp_path / "file" / "out")


def test_an_interrupted_run_is_listed_and_a_second_one_locked_out(tmp_path: Path) -> None:
    started = tmp_path / "started"
    cells = [f"import pathlib, time\npathlib.Path({str(started)!r}).touch()\ntime.sleep(60)", result_cell()]
    path, out = write_notebook(tmp_path, "audit", cells), tmp_path / "out"
    arguments = f"{str(path)!r}, {str(out)!r}, title='t', run='r/1', period='E0', data_fingerprint='f00d'"
    script = f"from trajlab.report.runner import run_notebook\nrun_notebook({arguments})"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=REPO, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 30
            while not started.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            (folder,) = out.glob(".wip-*/")
            assert read_record(folder).status == "running"
            assert "unfinished" in rebuild_index(out).read_text()
            with pytest.raises(InfrastructureError, match="another process"):
                run(path, out)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert "KeyboardInterrupt" in errors
    record = read_record(folder)
    assert (record.status, record.exit_code) == ("interrupted", 4)
    assert "interrupted" in rebuild_index(out).read_text()
    assert json.loads((out / "runs.jsonl").read_text())["status"] == "interrupted"
