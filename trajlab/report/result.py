"""The machine-readable result of an audit: what ``result.json`` holds, and the verdict on it.

The published JSON schema, ``result.schema.json``, is generated from these types
(``python -m trajlab.report.result``) and a test keeps it current.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import msgspec

from trajlab.checks.finding import Finding, Gate, GateStatus
from trajlab.errors import ExitCode, NotebookError
from trajlab.report.result_course import CourseResult, Judged

SCHEMA_VERSION = 1
RESULT_FILE = "result.json"
SCHEMA_FILE = Path(__file__).with_name("result.schema.json")

FailOn = Literal["alarm", "warn", "never"]
Value = str | int | float | bool | None


class Provenance(msgspec.Struct, kw_only=True):
    """Where the numbers come from."""

    trajlab: str
    """Version of the package."""
    rules: str | None = None
    """Version of the behaviour rules."""
    sources: int | None = None
    """Files read."""
    bytes: int | None = None
    """Size of those files on disk."""
    formats: dict[str, int] = msgspec.field(default_factory=dict)
    """Sources or trajectories by format."""
    fingerprint: str | None = None
    """Fingerprint of the data."""
    details: dict[str, Value] = msgspec.field(default_factory=dict)


class Understood(msgspec.Struct, kw_only=True):
    """How much was there, and how much of it was understood."""

    seen: int
    understood: int


class Coverage(msgspec.Struct, kw_only=True):
    """How much of what was there has been read, and how much of it is observed."""

    trajectories: int
    records: int | None = None
    """Records seen in the sources, read or not."""
    problems: dict[str, int] = msgspec.field(default_factory=dict)
    """Problem rows by code."""
    reconcilable: int | None = None
    """Trajectories whose log states a total of its own."""
    reconciled: int | None = None
    """Those whose stated total equals ours."""
    observed: dict[str, int] = msgspec.field(default_factory=dict)
    """Trajectories in which a column or behaviour is recorded, by its name."""
    understood: dict[str, Understood] = msgspec.field(default_factory=dict)
    """Of bytes, records, turns, calls and (in a sample) fields: how many were there, and how many were understood."""
    fields_ignored: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """By format, fields in the sample that the reader passes over on purpose."""
    fields_unknown: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """By format, fields in the sample that the reader does not know."""


class Measure(msgspec.Struct, kw_only=True):
    """One number with its interval and denominator; null is *not observed*."""

    name: str
    group: str | None = None
    """What the number is of: a period, a quadrant, a tool; null: the whole."""
    value: float | None
    low: float | None = None
    high: float | None = None
    numerator: float | None = None
    denominator: float | None = None
    method: str
    """How the interval was made."""
    missing: int = 0
    """Units where the thing was not observed; in neither numerator nor denominator."""


class Change(msgspec.Struct, kw_only=True):
    """A difference of one measure between two periods or runs, `after` minus `before`."""

    name: str
    group: str | None = None
    before: str
    after: str
    value: float | None
    low: float | None = None
    high: float | None = None
    denominator: float | None = None
    p_value: float | None = None
    method: str
    family: Literal["primary", "exploratory"] = "exploratory"
    """Declared beforehand and adjusted together, or not."""
    paired: bool | None = None
    """The difference is within the tasks that both have; null: not said."""
    shown: Judged | None = None
    """Whether it is beyond chance: by the interval and, in the primary family, the adjusted test; null: not said."""


class Sampled(msgspec.Struct, kw_only=True):
    """One trajectory chosen for reading."""

    trajectory_id: str
    task_id: str | None = None
    why: str
    probability: float | None = None
    """Probability with which it was drawn; null: chosen, not drawn."""
    details: dict[str, Value] = msgspec.field(default_factory=dict)


class Result(msgspec.Struct, kw_only=True):
    """All of ``result.json``."""

    schema_version: int = SCHEMA_VERSION
    run: str | None
    period: str | None
    provenance: Provenance
    coverage: Coverage
    measures: list[Measure] = msgspec.field(default_factory=list)
    changes: list[Change] = msgspec.field(default_factory=list)
    course: CourseResult | None = None
    """Of an audit: what is said of change over its periods; null: of something else."""
    findings: list[Finding] = msgspec.field(default_factory=list)
    gates: list[Gate] = msgspec.field(default_factory=list)
    sample: list[Sampled] = msgspec.field(default_factory=list)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the gates of a result come to."""

    status: Literal["passed", "failed", "inconclusive"]
    exit_code: ExitCode
    failed: list[str] = msgspec.field(default_factory=list)
    inconclusive: list[str] = msgspec.field(default_factory=list)
    warned: list[str] = msgspec.field(default_factory=list)
    """Failed or inconclusive, but of severity ``warn``, which `fail_on` does not count."""


def judge(result: Result, fail_on: FailOn = "alarm") -> Verdict:
    """The verdict on a result.

    - Findings count as two more gates: ``no_alarm`` (failed by a finding with status ``alarm``) and
      ``no_warning`` (severity ``warn``, failed by ``warn``).
    - ``alarm`` counts gates of severity ``alarm``; ``warn`` counts all. ``never`` counts as ``alarm``
      does, but exits with 0: the status says what the data say, the exit code what the caller asked.
    - A failed gate makes the run ``failed``, else an inconclusive one ``inconclusive``. A result in which
      no gate was ever evaluated is ``inconclusive``: a run that judged nothing has not passed.
    """
    gates = [*result.gates, *_gates_of_findings(result.findings)]
    counted = [gate for gate in gates if gate.severity == "alarm" or fail_on == "warn"]
    failed = _names(counted, "failed")
    inconclusive = [name for name in _names(counted, "inconclusive") if name not in failed]
    if not any(gate.status != "not_applicable" for gate in result.gates) and not result.findings:
        inconclusive.append("no gate was evaluated")
    others = [gate for gate in gates if gate not in counted]
    status: Literal["passed", "failed", "inconclusive"]
    status = "failed" if failed else "inconclusive" if inconclusive else "passed"
    passing = status == "passed" or fail_on == "never"
    return Verdict(
        status=status,
        exit_code=ExitCode.PASSED if passing else ExitCode.GATE_FAILED,
        failed=failed,
        inconclusive=inconclusive,
        warned=_names(others, "failed", "inconclusive"),
    )


def _gates_of_findings(findings: list[Finding]) -> list[Gate]:
    statuses = {finding.status for finding in findings}
    gates = []
    if "alarm" in statuses:
        gates.append(Gate(name="no_alarm", status="failed"))
    if "warn" in statuses:
        gates.append(Gate(name="no_warning", status="failed", severity="warn"))
    return gates


def _names(gates: list[Gate], *statuses: GateStatus) -> list[str]:
    return list(dict.fromkeys(gate.name for gate in gates if gate.status in statuses))


def write_result(result: Result, folder: Path | str | None = None) -> None:
    """Write ``result.json`` whole or not at all; the same result gives the same bytes.

    It returns nothing, so that a cell that ends with it shows no path.

    Args:
        result: What to write.
        folder: Where; ``None``: the folder the runner gave (``TRAJLAB_RUN_DIR``), else the current one.

    Raises:
        NotebookError: for what JSON cannot hold: NaN, infinity (a number that is not known is null), lone
            surrogates.
    """
    target = Path(folder if folder is not None else os.environ.get("TRAJLAB_RUN_DIR", ".")) / RESULT_FILE
    plain = msgspec.to_builtins(result)
    refuse_what_json_cannot_hold(plain, RESULT_FILE)
    write_atomically(target, _json_lines(plain))


def read_result(folder: Path) -> Result | None:
    """The result in ``folder``; ``None`` where the notebook left none.

    Raises:
        NotebookError: for a file that is no result, or one of another schema version.
    """
    path = folder / RESULT_FILE
    try:
        result = msgspec.json.decode(path.read_bytes(), type=Result)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise NotebookError(RESULT_FILE, str(error), "the published schema", "Use write_result.") from None
    if result.schema_version != SCHEMA_VERSION:
        raise NotebookError(RESULT_FILE, f"schema_version {result.schema_version}", str(SCHEMA_VERSION))
    return result


def refuse_what_json_cannot_hold(value: object, place: str) -> None:
    """Raise for the first NaN, infinity or lone surrogate in a JSON-like value, naming where it stands."""
    if isinstance(value, dict):
        for key, item in value.items():
            refuse_what_json_cannot_hold(item, f"{place}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            refuse_what_json_cannot_hold(item, f"{place}[{number}]")
    elif isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        raise NotebookError(place, str(value), "a finite number, or null where it is not known")
    elif isinstance(value, str) and without_surrogates(value) != value:
        raise NotebookError(place, f"{value[:80]!r}", "text without lone surrogates")


def without_surrogates(text: str) -> str:
    """``text`` with lone surrogates, which no UTF-8 file can hold, as U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside ``path`` and rename, so that a reader never sees half a file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def result_schema() -> dict[str, Any]:
    """The JSON schema of ``result.json``."""
    schema = msgspec.json.schema(Result)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:trajlab:result:{SCHEMA_VERSION}",
        "title": "Result of a trajlab audit",
        **schema,
    }


def schema_text() -> bytes:
    """Content of ``result.schema.json``."""
    return _json_lines(result_schema())


def _json_lines(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1) + b"\n"


if __name__ == "__main__":
    write_atomically(SCHEMA_FILE, schema_text())
