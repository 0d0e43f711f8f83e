"""Audits through the real runner: every number equals a recount from the raw logs with ``json`` alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from corpora_in_tests import SAMPLES, contents, run_command

import trajlab
from trajlab.errors import ExitCode
from trajlab.measures.frame import Population
from trajlab.report import sections
from trajlab.report.audit import AuditResult
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.result import SCHEMA_FILE, Measure, Result

DEMO = SAMPLES / "mini_swe_agent" / "mini-swe-agent-demo"
LEGACY = SAMPLES / "verl" / "legacy_run"
EXTERNAL = re.compile(
    r"""(?:src|href|action|poster|data)\s*=\s*["']?\s*(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import"""
)


def check_run(audited: AuditResult) -> tuple[dict[str, Any], dict[str, Any], str]:
    """What holds for any audit of one run; returns run.json, result.json and the page."""
    (record,) = audited.records
    folder = audited.out / record.folder
    run = json.loads((folder / "run.json").read_bytes())
    result = json.loads((folder / "result.json").read_bytes())
    page = (folder / "report.html").read_text(encoding="utf-8")
    jsonschema.validate(result, json.loads(SCHEMA_FILE.read_bytes()))
    assert (run["status"], run["exit_code"]) == (record.status, int(audited.exit_code))
    assert run["started"] <= run["ended"]
    assert (run["data_fingerprint"], run["trajectories"]) == (
        result["provenance"]["fingerprint"], result["coverage"]["trajectories"],
    )  # fmt: skip
    failed = {gate["name"] for gate in result["gates"] if gate["status"] == "failed" and gate["severity"] == "alarm"}
    assert failed <= set(run["failed_gates"])
    assert not EXTERNAL.search(page)
    assert "<script src" not in page
    assert len(page) < 5_000_000
    assert record.folder in audited.index.read_text(encoding="utf-8")
    assert not list(audited.out.glob(".wip-*"))
    check_measures(result["measures"])
    return run, result, page


def check_measures(measures: list[dict[str, Any]]) -> None:
    """A value lies in its interval and is its numerator over its denominator; without one, nothing is claimed."""
    for m in measures:
        if m["value"] is None:
            assert (m["low"], m["high"], m["denominator"]) == (None, None, 0), m
            continue
        assert m["low"] is None or m["low"] <= m["value"] + 1e-12, m
        assert m["high"] is None or m["high"] >= m["value"] - 1e-12, m
        if m["numerator"] is not None:
            assert m["value"] == pytest.approx(m["numerator"] / m["denominator"]), m


def measure(result: dict[str, Any], name: str, group: str | None = None) -> tuple[float | None, float | None]:
    """Numerator and denominator."""
    (found,) = (m for m in result["measures"] if m["name"] == name and m["group"] == group)
    return found["numerator"], found["denominator"]


def recount_mini(folder: Path) -> Counter[str]:
    """Trajectories, correct ones, steps, ends: from the trajectory files and the reports beside them."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.traj.json")):
        document = json.loads(path.read_bytes())
        report = json.loads((path.parent / "report.json").read_bytes())
        report = report if "resolved" in report else next(iter(report.values()))
        said = [m for m in document["messages"] if m.get("role") == "assistant" or m.get("object") == "response"]
        refused = [m for m in document["messages"] if (m.get("extra") or {}).get("interrupt_type") == "FormatError"]
        counts["trajectories"] += 1
        counts["correct"] += report["resolved"]
        counts["steps"] += len(said) + len(refused)
        counts["api_calls"] += document["info"]["model_stats"]["api_calls"]
        counts[document["info"]["exit_status"]] += 1
    return counts


def check_against_mini(result: dict[str, Any], counts: Counter[str]) -> None:
    n = counts["trajectories"]
    assert result["coverage"]["trajectories"] == result["coverage"]["records"] == n
    assert (result["coverage"]["reconcilable"], result["coverage"]["reconciled"]) == (n, n)
    assert counts["steps"] == counts["api_calls"]
    assert measure(result, "correct_rate") == (counts["correct"], n)
    assert measure(result, "mean_steps") == (counts["steps"], n)
    assert measure(result, "termination.truncated_budget") == (counts["LimitsExceeded"], n)
    assert measure(result, "termination.timeout") == (counts["TimeExceeded"], n)
    assert measure(result, "termination.invalid_action") == (counts["RepeatedFormatError"], n)
    success, failure = (measure(result, f"termination.{name}")[0] for name in ("success", "task_failure"))
    assert (success or 0) + (failure or 0) == counts["Submitted"]


def test_demo_run_of_mini_swe_agent(tmp_path: Path) -> None:
    audited = trajlab.audit(DEMO, tmp_path / "out", fail_on="alarm", seed=3, sample_n=4)
    run, result, page = check_run(audited)
    check_against_mini(result, recount_mini(DEMO))
    assert result["coverage"]["problems"] == {}
    assert {gate["name"]: gate["status"] for gate in result["gates"]} == {
        "identities": "passed", "reconciled": "passed", "coverage": "passed",
    }  # fmt: skip
    assert (run["status"], audited.exit_code) == ("passed", ExitCode.PASSED)
    assert run["parameters"]["seed"] == 3
    assert measure(result, "mean_reward") == (None, 0)
    assert "not observed" in page.lower()
    cells = [measure(result, f"quadrant.correct_tool.{c}")[0] or 0
             for c in ("answer_and_tool", "only_answer", "only_tool", "neither")]  # fmt: skip
    assert sum(cells) == 12
    assert cells[0] + cells[1] == recount_mini(DEMO)["correct"]
    known = set(trajlab.open_corpus(audited.corpus).trajectories.collect()["trajectory_id"])
    assert len({item["trajectory_id"] for item in result["sample"]} & known) == 4
    before = contents(audited.out / audited.records[0].folder)["result.json"]
    rerun = EpochAudit(trajlab.open_corpus(audited.corpus), Population(run=DEMO.name), sample_n=4, seed=3).result()
    assert json.loads(before)["measures"] == json.loads(to_json(rerun))["measures"]


def to_json(result: Result) -> bytes:
    import msgspec

    return msgspec.json.encode(result)


def test_verl_run_by_epoch(tmp_path: Path) -> None:
    audited = trajlab.audit(LEGACY, tmp_path / "out", fail_on="never", steps_per_epoch=2)
    _, result, _ = check_run(audited)
    assert audited.exit_code == ExitCode.PASSED
    total: Counter[str] = Counter()
    for epoch in range(3):
        counts = recount_verl([LEGACY / f"{step}.jsonl" for step in (2 * epoch + 1, 2 * epoch + 2)])
        group = f"epoch {epoch}"
        assert measure(result, "correct_rate", group) == (counts["correct"], counts["rows"])
        assert measure(result, "tool_use_rate", group) == (counts["used"], counts["rows"])
        assert measure(result, "reward_zero_rate", group) == (counts["zero"], counts["rows"])
        total += counts
    assert measure(result, "correct_rate") == (total["correct"], 192)
    reward, n = measure(result, "mean_reward")
    assert reward == pytest.approx(total["score_thousandths"] / 1000)
    assert n == 192
    assert measure(result, "mean_calls") == (total["calls"], 192)


def recount_verl(paths: list[Path]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for path in paths:
        for line in path.read_bytes().split(b"\n"):
            if not line:
                continue
            row = json.loads(line)
            counts["rows"] += 1
            counts["correct"] += row["acc"] == 1.0
            counts["used"] += "<tool_response>" in row["output"]
            counts["calls"] += row["output"].count("<tool_call>")
            counts["zero"] += row["score"] == 0
            counts["score_thousandths"] += round(row["score"] * 1000)
    return counts


def test_an_alarm_fails_the_gate_and_the_command(tmp_path: Path) -> None:
    done = run_command(
        "audit", DEMO, "-o", tmp_path / "out", "--set", 'thresholds={"truncation.warn": 0.0, "truncation.alarm": 0.0}'
    )
    assert done.returncode == ExitCode.GATE_FAILED, done.stdout + done.stderr
    assert "failed: no_alarm" in done.stdout
    (record,) = (tmp_path / "out").glob("*/run.json")
    run = json.loads(record.read_bytes())
    assert (run["status"], run["exit_code"], run["failed_gates"]) == ("failed", 1, ["no_alarm"])


def test_shared_corpus_of_real_runs(shared: Path, tmp_path: Path) -> None:
    folder = shared / "samples" / "corpora" / "swebench_verified_mini"
    audited = trajlab.audit(folder, tmp_path / "out")
    _, result, _ = check_run(audited)
    counts = recount_mini(folder)
    assert (counts["trajectories"], counts["correct"], counts["steps"]) == (108, 85, 4284)
    check_against_mini(result, counts)
    assert result["coverage"]["problems"] == {}
    assert audited.exit_code == ExitCode.PASSED


def row(number: int, *, correct: bool | None, calls: bool = True) -> dict[str, Any]:
    """One chat row; every second trajectory shares its task with the one before."""
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "pytest -q"}'}}
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Task {number // 2}"}]
    if calls:
        messages += [{"role": "assistant", "content": "", "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": "c", "content": "1 passed"}]  # fmt: skip
    messages.append({"role": "assistant", "content": "Done."})
    verdict = {} if correct is None else {"resolved": correct}
    return {"instance_id": f"task-{number // 2}", "traj_id": str(number), "messages": messages, **verdict}


POPULATIONS: dict[str, list[dict[str, Any]]] = {
    "one": [row(0, correct=True)],
    "all_failed": [row(k, correct=False) for k in range(6)],
    "all_correct": [row(k, correct=True) for k in range(6)],
    "no_verdict": [row(k, correct=None) for k in range(6)],
    "no_calls": [row(k, correct=k % 2 == 0, calls=False) for k in range(6)],
}


def write_populations(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)
        text = "".join(json.dumps(item) + "\n" for item in POPULATIONS[name])
        (folder / name / "rows.jsonl").write_text(text)


def test_one_sided_populations_are_counted_and_never_guessed(tmp_path: Path) -> None:
    write_populations(tmp_path / "logs", *POPULATIONS)
    corpus = trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")
    expected = {"one": (1, 1), "all_failed": (0, 6), "all_correct": (6, 6), "no_verdict": (None, 0), "no_calls": (3, 6)}
    for name, (numerator, denominator) in expected.items():
        result = EpochAudit(corpus, Population(run=name)).result()
        document = json.loads(to_json(result))
        jsonschema.validate(document, json.loads(SCHEMA_FILE.read_bytes()))
        check_measures(document["measures"])
        correct = of(result, "correct_rate")
        assert (correct.numerator, correct.denominator) == (numerator, denominator), name
        assert of(result, "any_test_rate").denominator == len(POPULATIONS[name])
        assert all(finding.status != "alarm" for finding in result.findings), name


def of(result: Result, name: str) -> Measure:
    return next(m for m in result.measures if m.name == name and m.group is None)


def test_one_sided_populations_give_a_whole_report(tmp_path: Path) -> None:
    names = ("no_calls", "no_verdict")
    write_populations(tmp_path / "logs", *names)
    audited = trajlab.audit(tmp_path / "logs", tmp_path / "out", fail_on="never")
    assert [record.run for record in audited.records] == sorted(names)
    assert audited.exit_code == ExitCode.PASSED, [record.message for record in audited.records]
    sizes = [len(POPULATIONS[name]) for name in sorted(names)]
    assert [result.coverage.trajectories for result in audited.results()] == sizes
    for report in audited.reports:
        page = report.read_text(encoding="utf-8")
        assert not EXTERNAL.search(page)
        assert "not observed" in page.lower()
        assert "Traceback" not in page


def test_the_page_says_what_behaviour_leaves_out_and_what_was_trained_on() -> None:
    errors = EpochAudit(trajlab.read(SAMPLES / "openhands_sdk" / "provider_error"), Population())
    assert "1, in no behaviour rate" in sections.provenance(errors)
    trained = sections.funnel(EpochAudit(trajlab.read(SAMPLES / "nemo_rl"), Population()))
    assert "tokens that the loss mask keeps, known for " in trained
    untold = sections.funnel(errors)
    assert "tokens that the loss mask keeps" not in untold and "unobserved in rollout logs" in untold
