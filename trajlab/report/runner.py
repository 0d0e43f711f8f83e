"""Run a notebook so that its status can be trusted: strict parameters, one folder, one record.

Papermill's output notebook says *completed* after a killed kernel, a timeout and ``sys.exit(0)``; so the
status comes from the exception, from ``execution_count`` and from ``result.json`` alone.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import get_args

import nbformat
from nbformat import NotebookNode

from trajlab.errors import ExitCode, InfrastructureError, NotebookError, TrajlabError, UsageError, not_written
from trajlab.report import record as records
from trajlab.report.parameters import canonical_json, coerce, read_parameters
from trajlab.report.record import RunRecord
from trajlab.report.result import FailOn, Result, judge, read_result, without_surrogates

OUTPUT_LIMIT = 5_000_000
"""Bytes an executed notebook, and a report, may have."""

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = (_PACKAGE / "_notebooks", _PACKAGE.parent / "notebooks")


def run_notebook(
    notebook: Path | str,
    out: Path | str,
    parameters: Mapping[str, object] | None = None,
    *,
    title: str,
    run: str | None = None,
    period: str | None = None,
    data_fingerprint: str,
    timeout: int = 3600,
    fail_on: FailOn = "alarm",
) -> RunRecord:
    """Run a notebook in a kernel of its own and leave a folder with everything about it.

    The folder ``<notebook>-<run>-<period>-<key>`` below ``out`` gets ``notebook.ipynb``, ``report.html``,
    ``result.json`` (and whatever the notebook writes to ``TRAJLAB_RUN_DIR``) and ``run.json``. Until the
    run has ended it is ``.wip-<key>`` with a ``run.json`` of status ``running``. The same notebook,
    parameters and data give the same folder: a rerun replaces it.

    Args:
        notebook: A file, or the name of a notebook that trajlab ships.
        out: Folder for run folders; made where it is missing.
        parameters: What differs from the notebook's defaults; see `trajlab.report.parameters.coerce`.
        title: Title of the report.
        run: Name of the run it is about.
        period: Period it is about.
        data_fingerprint: Digest of the data it reads.
        timeout: Seconds one cell may take.
        fail_on: What makes the exit code 1; see `trajlab.report.result.judge`.

    Returns:
        The record, also written as ``run.json``; ``exit_code`` is 0 passed, 1 a gate failed or is
        inconclusive, 3 the notebook raised, ended early, left no result or is too large, 4 the kernel died,
        a cell took too long or a file could not be written.

    Raises:
        UsageError: for an unknown notebook, parameter or value; nothing has been written then.
        NotebookError: for a ``parameters`` cell that cannot be read.
        InfrastructureError: if ``out`` cannot be written or another process runs the same.
        KeyboardInterrupt: after ``run.json`` in ``.wip-<key>`` says ``interrupted``.
    """
    if fail_on not in get_args(FailOn):
        raise UsageError("fail_on", repr(fail_on), ", ".join(get_args(FailOn)))
    path = find_notebook(notebook)
    source, node = _read_notebook(path)
    effective = coerce(read_parameters(node, path.name), parameters or {})
    key = _key(source, canonical_json(effective), data_fingerprint)
    record = _new_record(path.stem, title, run, period, key)
    record.parameters, record.fail_on, record.data_fingerprint = effective, fail_on, data_fingerprint
    try:
        with _workspace(Path(out), record) as folder:
            _execute_and_judge(node, folder, record, timeout)
            records.write_record(record, folder)
            _publish(folder, Path(out) / record.folder)
    except OSError as error:
        raise not_written(Path(out), error) from error
    return record


def _new_record(notebook: str, title: str, run: str | None, period: str | None, key: str) -> RunRecord:
    run, period = (text and without_surrogates(text) for text in (run, period))
    return RunRecord(
        notebook=notebook,
        title=without_surrogates(title),
        run=run,
        period=period,
        key=key,
        folder="-".join(filter(None, [_slug(notebook), _slug(run), _slug(period), key[:8]])),
        data_fingerprint="",
        versions=records.versions(),
        interpreter=sys.executable,
        started=records.now(),
    )


def find_notebook(notebook: Path | str) -> Path:
    """The file of a notebook given by path or by the name of a shipped one.

    Raises:
        UsageError: if there is none.
    """
    path = Path(notebook)
    if path.suffix == ".ipynb" and path.is_file():
        return path
    shipped = {file.stem: file for folder in reversed(_SHIPPED) for file in sorted(folder.glob("*.ipynb"))}
    if str(notebook) in shipped:
        return shipped[str(notebook)]
    raise UsageError(str(notebook), "no such notebook", f"a file .ipynb, or one of {', '.join(sorted(shipped))}")


def _read_notebook(path: Path) -> tuple[bytes, NotebookNode]:
    try:
        source = path.read_bytes()
        return source, nbformat.reads(source.decode(), as_version=4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, nbformat.validator.NotebookValidationError) as error:
        raise NotebookError(path.name, f"cannot be read ({str(error).strip()[:200]})") from None


def _key(source: bytes, parameters: str, data_fingerprint: str) -> str:
    parts = (source, parameters.encode("utf-8", "backslashreplace"), data_fingerprint.encode())
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _slug(text: str | None) -> str:
    return re.sub(r"[^\w.]+", "-", text or "").strip("-.")[:60]


@contextmanager
def _workspace(out: Path, record: RunRecord) -> Iterator[Path]:
    """An empty ``.wip-<key>`` with a running record, held against other processes."""
    folder = out / f"{records.WIP_PREFIX}{record.key[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with (out / f"{folder.name}.lock").open("w") as lock:
        _hold(lock.fileno(), folder)
        try:
            shutil.rmtree(folder)
            folder.mkdir()
            records.write_record(record, folder)
            try:
                yield folder
            except KeyboardInterrupt:
                _end(record, "interrupted", ExitCode.INFRASTRUCTURE, "interrupted by the user")
                records.write_record(record, folder)
                raise
            except Exception as error:
                _end(record, "infrastructure", ExitCode.INFRASTRUCTURE, f"{type(error).__name__}: {error}")
                with suppress(OSError):  # the disk may be the cause; the error itself is raised
                    records.write_record(record, folder)
                raise
        finally:
            (out / f"{folder.name}.lock").unlink(missing_ok=True)


def _hold(descriptor: int, folder: Path) -> None:
    """Lock out a second run of the same; the lock goes with the process, however it ends."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InfrastructureError(
            str(folder), "another process runs this notebook on this data", "", "Wait for it."
        ) from None


def _publish(folder: Path, final: Path) -> None:
    """Put the finished folder in its place; at no moment is there half of one."""
    former = final.with_name(f".old-{final.name}")
    shutil.rmtree(former, ignore_errors=True)
    if final.exists():
        final.rename(former)
    folder.rename(final)
    shutil.rmtree(former, ignore_errors=True)


def _end(record: RunRecord, status: records.RunStatus, exit_code: ExitCode, message: str) -> None:
    record.status, record.exit_code, record.message = status, int(exit_code), without_surrogates(message)
    record.ended = records.now()


def _execute_and_judge(node: NotebookNode, folder: Path, record: RunRecord, timeout: int) -> None:
    """Run, judge and render; whatever happens is in the record afterwards."""
    result: Result | None = None
    try:
        executed = _execute(node, folder, record, timeout)
        _refuse_incomplete(executed)
        result = read_result(folder)
        if result is None:
            raise NotebookError(record.notebook, "left no result.json", "", "Call write_result in its last cell.")
        _refuse_oversize(folder / records.NOTEBOOK_FILE)
        _judge(result, record)
    except NotebookError as error:
        _end(record, "error", error.exit_code, str(error))
    except InfrastructureError as error:
        _end(record, "infrastructure", error.exit_code, str(error))
    try:
        _render(folder, record, result)
    except TrajlabError as error:
        (folder / records.REPORT_FILE).unlink(missing_ok=True)
        if record.exit_code in (ExitCode.PASSED, ExitCode.GATE_FAILED):
            _end(record, "error", ExitCode.NOTEBOOK, str(error))


def _execute(node: NotebookNode, folder: Path, record: RunRecord, timeout: int) -> NotebookNode:
    """Run the cells in a new kernel; the output notebook is saved as they end.

    Raises:
        NotebookError: if a cell raises.
        InfrastructureError: if the kernel does not start, dies, or a cell exceeds ``timeout``.
    """
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    try:
        return _run_cells(node, folder, record, timeout)
    except PapermillExecutionError as error:
        said = f"{error.ename}: {str(error.evalue).strip()[:500]}"
        raise NotebookError(f"{record.notebook}, cell {error.exec_count}", said) from None
    except CellTimeoutError:
        found = f"a cell took more than {timeout} seconds"
        raise InfrastructureError(record.notebook, found, "", "Raise the time limit or read less.") from None
    except (DeadKernelError, RuntimeError) as error:
        found = f"the kernel died ({str(error).strip()[:200]})"
        raise InfrastructureError(record.notebook, found, "", "Often it ran out of memory.") from None


def _run_cells(node: NotebookNode, folder: Path, record: RunRecord, timeout: int) -> NotebookNode:
    """The call of papermill; it fills ``{}`` in paths, warns of unions, and must not see either."""
    import papermill
    from papermill.iorw import load_notebook_node
    from papermill.parameterize import parameterize_notebook

    from trajlab.report.kernel import ThisPythonKernelManager, kernel_config

    node = load_notebook_node(node)
    if record.parameters:
        node = parameterize_notebook(node, record.parameters, kernel_name="python3", language="python")
    _name_cells(node)
    executed: NotebookNode = papermill.execute_notebook(
        node,
        str(folder.resolve() / records.NOTEBOOK_FILE).replace("{", "{{").replace("}", "}}"),
        kernel_name="python3",
        language="python",
        progress_bar=False,
        execution_timeout=timeout,
        kernel_manager_class=ThisPythonKernelManager,
        config=kernel_config(folder),
    )
    return executed


def _name_cells(node: NotebookNode) -> None:
    """Give the injected cell, whose id papermill draws at random, one that stays."""
    for cell in node.cells:
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell["id"] = "injected-parameters"


def _refuse_incomplete(node: NotebookNode) -> None:
    """``sys.exit(0)`` ends a notebook without an error of papermill, and its gates never run."""
    for number, cell in enumerate(node.cells, 1):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        raised = any(output.output_type == "error" for output in cell.outputs)
        if cell.execution_count is None or raised:
            raise NotebookError(f"cell {number}", "the notebook ended early", "all cells to run", "No sys.exit.")


def _refuse_oversize(path: Path) -> None:
    size = path.stat().st_size
    if size > OUTPUT_LIMIT:
        found, expected = f"{size / 1e6:.1f} MB", f"at most {OUTPUT_LIMIT / 1e6:.0f} MB"
        raise NotebookError(path.name, found, expected, "Print less, cap excerpts.")


def _judge(result: Result, record: RunRecord) -> None:
    verdict = judge(result, record.fail_on)  # type: ignore[arg-type]  # checked by run_notebook
    record.failed_gates, record.inconclusive_gates = verdict.failed, verdict.inconclusive
    record.warned_gates = verdict.warned
    record.findings = dict(sorted(Counter(finding.status for finding in result.findings).items()))
    record.trajectories = result.coverage.trajectories
    parts = [
        f"{word}: {', '.join(names)}"
        for word, names in (("failed", verdict.failed), ("inconclusive", verdict.inconclusive))
        if names
    ]
    _end(record, verdict.status, verdict.exit_code, "; ".join(parts))


def _render(folder: Path, record: RunRecord, result: Result | None) -> None:
    """``report.html`` of what there is, also after a failure.

    Raises:
        NotebookError: if the report refers to anything outside itself or is too large.
    """
    from trajlab.report.html import export_html

    path = folder / records.NOTEBOOK_FILE
    if not path.exists():
        return
    node = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    language = record.parameters.get("language") or "en"
    export_html(node, record, folder / records.REPORT_FILE, result, language=str(language))
    _refuse_oversize(folder / records.REPORT_FILE)
