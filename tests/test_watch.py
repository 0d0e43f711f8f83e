"""One pass over what is new: told once, told again where a pass failed, and nothing of a log is executed."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from trajlab.cli import cli
from trajlab.errors import ExitCode, InfrastructureError, UsageError
from trajlab.report.alarm_text import matrix_text, watched_text
from trajlab.report.watch import STATE, watch

HOOK = "import json, sys; json.dump(json.load(sys.stdin), open(sys.argv[1], 'w'))"


def write(log: Path, steps: int, ill_from: int | None = None, metric: str = "actor/entropy") -> None:
    """The log of verl's file logger, with an entropy that collapses."""
    log.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for step in range(1, steps + 1):
        value = 0.3 * (1 + 0.02 * math.sin(2.1 * step))
        if ill_from is not None and step >= ill_from:
            value *= 0.1
        data = {metric: value, "critic/score/mean": 0.4 + 0.01 * math.sin(step)}
        lines.append(json.dumps({"step": step, "data": data}))
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")


def hook(out: Path) -> str:
    script = out.parent / "hook.py"
    script.write_text(HOOK, encoding="utf-8")
    return f"{sys.executable} {script} {out}"


def test_an_alarm_is_told_once(tmp_path: Path) -> None:
    log, corpus, told = tmp_path / "logs" / "a.jsonl", tmp_path / "corpus", tmp_path / "told.json"
    write(log, 20)
    first = watch(log.parent, corpus=corpus, hook=hook(told))
    assert (first.new, first.known, first.exit_code) == ([], [], ExitCode.PASSED)
    assert not told.exists()
    write(log, 30, ill_from=24)
    second = watch(log.parent, corpus=corpus, hook=hook(told))
    assert [item.alarm.finding.code for item in second.new] == ["A011", "A012"]
    assert second.exit_code == ExitCode.GATE_FAILED
    document = json.loads(told.read_text("utf-8"))
    assert [item["alarm"]["finding"]["code"] for item in document["new"]] == ["A011", "A012"]
    assert document["new"][0]["alarm"]["first_step"] == 26
    told.unlink()
    third = watch(log.parent, corpus=corpus, hook=hook(told))
    assert (third.new, len(third.known), third.exit_code) == ([], 2, ExitCode.PASSED)
    assert not told.exists()
    text = watched_text(second)
    assert "COLLAPSE" in text
    assert "no trajectory of step 26 is logged" in text


def test_what_the_logs_no_longer_show_is_gone_and_may_come_again(tmp_path: Path) -> None:
    log, corpus = tmp_path / "logs" / "a.jsonl", tmp_path / "corpus"
    write(log, 30, ill_from=24)
    assert watch(log.parent, corpus=corpus).new
    write(log, 30)
    again = watch(log.parent, corpus=corpus)
    assert [item.code for item in again.gone] == ["A011", "A012"]
    assert "no longer show it" in watched_text(again)
    write(log, 40, ill_from=30)
    assert len(watch(log.parent, corpus=corpus).new) == 2


def test_a_pass_whose_hook_fails_is_repeated(tmp_path: Path) -> None:
    log, corpus = tmp_path / "logs" / "a.jsonl", tmp_path / "corpus"
    write(log, 30, ill_from=24)
    failing = f"{sys.executable} -c 'import sys; sys.exit(\"no network\")'"
    with pytest.raises(InfrastructureError, match="no network"):
        watch(log.parent, corpus=corpus, hook=failing)
    assert not (corpus / STATE).exists()
    with pytest.raises(InfrastructureError, match="no-such-command"):
        watch(log.parent, corpus=corpus, hook="no-such-command --now")
    assert len(watch(log.parent, corpus=corpus).new) == 2


def test_a_new_run_is_judged_beside_a_known_one(tmp_path: Path) -> None:
    logs, corpus = tmp_path / "logs", tmp_path / "corpus"
    write(logs / "one" / "metrics.jsonl", 30, ill_from=24)
    assert len(watch(logs, corpus=corpus).new) == 2
    write(logs / "two" / "metrics.jsonl", 30, ill_from=20)
    found = watch(logs, corpus=corpus)
    assert {item.alarm.run for item in found.new} == {"two"}
    assert {item.run for item in found.known} == {"one"}
    only = watch(logs, corpus=corpus, run="one")
    assert (only.new, len(only.known), only.gone) == ([], 2, [])
    assert len(watch(corpus).known) == 4
    with pytest.raises(UsageError, match="no run 'three'"):
        watch(corpus, run="three")


@pytest.mark.parametrize("content", ["", "[]", '{"alarms": 3}', "\x00"])
def test_a_foreign_state_file_is_said(tmp_path: Path, content: str) -> None:
    log, corpus = tmp_path / "logs" / "a.jsonl", tmp_path / "corpus"
    write(log, 20)
    watch(log.parent, corpus=corpus)
    (corpus / STATE).write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match="no state of a watch"):
        watch(log.parent, corpus=corpus)


@pytest.mark.parametrize("given", ["", "   ", "echo 'unclosed"])
def test_a_hook_that_is_no_command(tmp_path: Path, given: str) -> None:
    write(tmp_path / "logs" / "a.jsonl", 20)
    with pytest.raises(UsageError, match="hook"):
        watch(tmp_path / "logs", corpus=tmp_path / "corpus", hook=given)


def test_names_in_logs_reach_no_shell_and_no_terminal(tmp_path: Path) -> None:
    logs, corpus, told = tmp_path / "logs", tmp_path / "corpus", tmp_path / "told.json"
    name = "$(touch pwned);\x1b[31mred"
    write(logs / name / "metrics.jsonl", 30, ill_from=24)
    done = CliRunner().invoke(cli, ["watch", str(logs), "-c", str(corpus), "--hook", hook(told)])
    assert done.exit_code == 1, done.output
    assert "\x1b" not in done.output
    assert json.loads(told.read_text("utf-8"))["new"][0]["alarm"]["run"] == name
    assert not (tmp_path / "pwned").exists()
    assert not Path("pwned").exists()


def test_a_log_still_being_written_and_one_without_steps(tmp_path: Path) -> None:
    log, corpus = tmp_path / "logs" / "a.jsonl", tmp_path / "corpus"
    write(log, 1)
    found = watch(log.parent, corpus=corpus)
    assert found.new == []
    assert {"A011", "A014"} <= {item.finding.code for item in found.unobserved}
    write(log, 30, ill_from=24)
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    assert len(watch(log.parent, corpus=corpus).new) == 2
    log.write_bytes(whole)
    assert watch(log.parent, corpus=corpus).new == []


def test_the_command_takes_lines_and_refuses_others(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.jsonl", 30, ill_from=24)
    asked = ["watch", str(tmp_path / "logs"), "-c", str(tmp_path / "corpus")]
    lines = ["--set", "alarm_entropy.share=0.05", "--set", "alarm_entropy_gone.share=0.05"]
    quiet = CliRunner().invoke(cli, [*asked, *lines])
    assert quiet.exit_code == 0, quiet.output
    for wrong in ("alarm_entropy.share=half", "alarm_nothing.share=1"):
        refused = CliRunner().invoke(cli, [*asked, "--set", wrong])
        assert isinstance(refused.exception, UsageError)


def test_selftest_prints_its_matrix() -> None:
    done = CliRunner().invoke(cli, ["selftest", "--healthy", "20", "--runs", "20", "--json"])
    document = json.loads(done.output)
    assert done.exit_code == (0 if document["passed"] else 1)
    assert len(document["rows"]) == 14
    assert document["rows"][0]["told"]["denominator"] == 20


def test_matrix_text_says_bounds() -> None:
    from trajlab.checks.selftest import matrix

    text = matrix_text(matrix(20, 2, 0, steps=60))
    assert "bounds: false collapse alarms at most 2 %" in text
    assert "(not bounded)" in text
