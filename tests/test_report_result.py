from __future__ import annotations

import json
import math
from pathlib import Path

import jsonschema
import msgspec
import pytest

from trajlab.checks.finding import Evidence, Finding, Gate, GateStatus, Status
from trajlab.errors import ExitCode, NotebookError
from trajlab.report.result import (
    SCHEMA_FILE,
    Change,
    Coverage,
    FailOn,
    Measure,
    Provenance,
    Result,
    Sampled,
    judge,
    read_result,
    schema_text,
    without_surrogates,
    write_result,
)


def finding(status: Status) -> Finding:
    return Finding(code="C1", layer="L5", status=status, message="m", evidence=[Evidence(text="e", step=3)])


def result(gates: list[Gate] | None = None, findings: list[Finding] | None = None) -> Result:
    return Result(
        run="r",
        period=None,
        provenance=Provenance(trajlab="0", formats={"b": 1, "a": 2}),
        coverage=Coverage(trajectories=3),
        measures=[Measure(name="m", value=None, method="not observed", missing=3)],
        changes=[Change(name="m", before="E0", after="E1", value=0.1, method="Newcombe")],
        findings=findings or [],
        gates=gates or [],
        sample=[Sampled(trajectory_id="t", why="seed 0")],
    )


def gate(status: GateStatus, severity: str = "alarm", name: str = "coverage") -> Gate:
    return Gate(name=name, status=status, severity=severity)  # type: ignore[arg-type]


def test_the_published_schema_is_current() -> None:
    assert SCHEMA_FILE.read_bytes() == schema_text(), "run python -m trajlab.report.result"


def test_a_result_follows_the_schema_and_reads_back_the_same(tmp_path: Path) -> None:
    written = result([gate("passed")], [finding("warn")])
    write_result(written, tmp_path)
    document = json.loads((tmp_path / "result.json").read_text())
    schema = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "gates": [{"name": "x", "status": "green"}]}, schema)
    assert read_result(tmp_path) == written
    first = (tmp_path / "result.json").read_bytes()
    write_result(msgspec.structs.replace(written), tmp_path)
    assert (tmp_path / "result.json").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_not_a_number_is_refused_with_its_place(bad: float, tmp_path: Path) -> None:
    broken = result()
    broken.measures[0].value = bad
    with pytest.raises(NotebookError, match=r"result\.json\.measures\[0\]\.value"):
        write_result(broken, tmp_path)
    assert read_result(tmp_path) is None


def test_lone_surrogates_are_refused_with_their_place(tmp_path: Path) -> None:
    broken = result(findings=[finding("ok")])
    broken.findings[0].message = "cut \ud83d"
    with pytest.raises(NotebookError, match=r"findings\[0\]\.message"):
        write_result(broken, tmp_path)
    assert without_surrogates("cut \ud83d 😀 \udcff") == "cut \ufffd 😀 \ufffd"


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"schema_version": 1, "run": 3}'])
def test_a_file_that_is_no_result_is_an_error(content: str, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(NotebookError):
        read_result(tmp_path)


def test_another_schema_version_is_an_error(tmp_path: Path) -> None:
    write_result(msgspec.structs.replace(result(), schema_version=99), tmp_path)
    with pytest.raises(NotebookError, match="99"):
        read_result(tmp_path)


@pytest.mark.parametrize(
    ("gates", "findings", "fail_on", "status", "code"),
    [
        ([gate("passed")], [], "alarm", "passed", 0),
        ([gate("passed")], [finding("warn")], "alarm", "passed", 0),
        ([gate("passed")], [finding("warn")], "warn", "failed", 1),
        ([gate("passed")], [finding("alarm")], "alarm", "failed", 1),
        ([gate("passed")], [finding("alarm")], "never", "failed", 0),
        ([gate("passed")], [finding("unobserved")], "warn", "passed", 0),
        ([gate("failed"), gate("inconclusive", name="b")], [], "alarm", "failed", 1),
        ([gate("inconclusive")], [], "alarm", "inconclusive", 1),
        ([gate("inconclusive")], [], "never", "inconclusive", 0),
        ([gate("failed", "warn"), gate("passed")], [], "alarm", "passed", 0),
        ([gate("failed", "warn"), gate("passed")], [], "warn", "failed", 1),
        ([], [], "alarm", "inconclusive", 1),
        ([gate("not_applicable")], [], "alarm", "inconclusive", 1),
        ([gate("not_applicable"), gate("passed", name="b")], [], "alarm", "passed", 0),
    ],
)
def test_the_verdict(gates: list[Gate], findings: list[Finding], fail_on: FailOn, status: str, code: int) -> None:
    verdict = judge(result(gates, findings), fail_on)
    assert (verdict.status, verdict.exit_code) == (status, ExitCode(code))


def test_the_verdict_names_gates_once_and_keeps_what_it_does_not_count() -> None:
    verdict = judge(result([gate("failed", name="no_alarm"), gate("inconclusive", "warn")], [finding("alarm")]))
    assert (verdict.failed, verdict.inconclusive, verdict.warned) == (["no_alarm"], [], ["coverage"])
