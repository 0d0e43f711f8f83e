"""Audits on a schedule: each finished period once, the half-way dead shown, silence that fails, old pages gone."""

from __future__ import annotations

import datetime
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import yaml
from corpora_in_tests import REPOSITORY, run_command

import trajlab
from trajlab.cli import cli
from trajlab.errors import ExitCode, InfrastructureError, UsageError
from trajlab.report.hook import call_hook, check_hook
from trajlab.report.index import rebuild_index
from trajlab.report.pending import Period, periods
from trajlab.report.record import RunRecord, read_record, write_record
from trajlab.report.retention import prune
from trajlab.report.status import schedule_status

PARAMETERS = {"by": "steps:2", "correct_threshold": 0.5, "sample_n": 1}


LOOP = (
    '<tool_call>\n{"name": "search", "arguments": {"q": "x"}}\n</tool_call>'
    "\nuser\n<tool_response>\nnothing\n</tool_response>\nassistant\n"
)


def rollouts(folder: Path, steps: range, said: str = "answer", prompts: int = 2) -> None:
    """verl's dump of a few steps: some prompts, two answers each."""
    folder.mkdir(parents=True, exist_ok=True)
    for step in steps:
        rows = [
            {"input": f"user\nquestion {row // 2}\nassistant\n", "output": f"{said} {row}", "score": float(row % 2),
             "step": step, "gts": "x"}
            for row in range(2 * prompts)
        ]  # fmt: skip
        (folder / f"{step}.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def found(corpus: Path, quiet_hours: float) -> list[Period]:
    opened = trajlab.open_corpus(corpus)
    newest = max(claim.file.mtime_ns for claim in opened.manifest.claims) / 1e9
    return periods(opened, opened.runs, PARAMETERS, now=newest + 3600 * quiet_hours)


def test_a_period_is_finished_when_a_later_one_has_begun_or_all_is_quiet(tmp_path: Path) -> None:
    rollouts(tmp_path / "run", range(1, 6))
    trajlab.ingest(tmp_path / "run", out=tmp_path / "corpus")
    told = found(tmp_path / "corpus", 1.0)
    assert [(one.name, one.finished) for one in told] == [
        ("steps 1 to 2", True), ("steps 3 to 4", True), ("steps 5 to 6", False),
    ]  # fmt: skip
    assert "finished after 6" in told[2].why
    assert found(tmp_path / "corpus", 7.0)[2].finished
    before = {one.name: one.fingerprint for one in told}
    rollouts(tmp_path / "run", range(6, 8))
    trajlab.ingest(tmp_path / "run", out=tmp_path / "corpus")
    after = {one.name: one.fingerprint for one in found(tmp_path / "corpus", 1.0)}
    assert {name for name in after if after[name] != before.get(name)} == {"steps 5 to 6", "steps 7 to 8"}
    opened = trajlab.open_corpus(tmp_path / "corpus")
    with pytest.raises(UsageError, match="quarters"):
        periods(opened, opened.runs, {**PARAMETERS, "by": "quarter"})


def test_a_growing_folder_is_audited_only_where_new(tmp_path: Path) -> None:
    def audit(**more: object) -> list[tuple[str | None, str]]:
        result = trajlab.audit(tmp_path / "run", tmp_path / "out", pending=True, fail_on="never", **PARAMETERS, **more)  # type: ignore[arg-type]
        return [(record.period, record.status) for record in result.records]

    rollouts(tmp_path / "run", range(1, 4))
    first = audit()
    assert [period for period, _ in first] == ["steps 1 to 2"]
    assert audit() == []
    rollouts(tmp_path / "run", range(4, 6))
    assert [period for period, _ in audit()] == ["steps 3 to 4"]
    assert audit() == []
    rows = (tmp_path / "out" / "runs.jsonl").read_text("utf-8").splitlines()
    assert sorted(json.loads(row)["period"] for row in rows) == ["steps 1 to 2", "steps 3 to 4"]
    result = json.loads(next((tmp_path / "out").glob("*steps-3-to-4*/result.json")).read_text("utf-8"))
    assert result["period"] == "steps 3 to 4"
    assert result["coverage"]["trajectories"] == 8
    with pytest.raises(UsageError, match="one period asked for"):
        audit(period="steps 1 to 2")


def record(out: Path, name: str, status: str, hours_ago: float, run: str = "r", ended: bool = True) -> None:
    moment = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=hours_ago)
    text = moment.isoformat(timespec="seconds").replace("+00:00", "Z")
    folder = out / name
    folder.mkdir(parents=True)
    made = RunRecord(notebook="epoch_audit", title=f"Audit of {run}", run=run, period=name, key=name, folder=name,
                     data_fingerprint="", started=text)  # fmt: skip
    made.status, made.ended = status, text if ended else None  # type: ignore[assignment]
    write_record(made, folder)
    (folder / "report.html").write_text("page")
    (folder / "result.json").write_text("{}")


def test_status_fails_on_silence(tmp_path: Path) -> None:
    record(tmp_path, "a", "passed", 30)
    record(tmp_path, "b", "failed", 3)
    record(tmp_path, "c", "passed", 50, run="s")
    told = schedule_status(tmp_path, "26h")
    assert [(last.run, last.status) for last in told.runs] == [("r", "failed"), ("s", "passed")]
    assert (told.silent, told.exit_code) == (False, ExitCode.PASSED)
    late = schedule_status(tmp_path, "2h")
    assert late.exit_code == ExitCode.GATE_FAILED
    assert "silent: the newest audit ended 3.0 hours ago; expected one within 2 hours" in str(late)
    with pytest.raises(UsageError, match="26h"):
        schedule_status(tmp_path, "yesterday")
    (tmp_path / "empty").mkdir()
    assert schedule_status(tmp_path / "empty", "26h").exit_code == ExitCode.GATE_FAILED
    done = run_command("status", tmp_path, "--max-age", "2h")
    assert (done.returncode, "silent" in done.stdout) == (ExitCode.GATE_FAILED, True)


@pytest.mark.skipif(sys.platform == "win32", reason="locks cannot be asked there")
def test_an_audit_that_died_half_way_is_shown(tmp_path: Path) -> None:
    import fcntl

    record(tmp_path, "a", "passed", 1)
    record(tmp_path, ".wip-1", "running", 2, ended=False)
    told = schedule_status(tmp_path, "26h")
    assert [what.partition(",")[0] for what in told.died] == ["Audit of r"]
    assert told.exit_code == ExitCode.GATE_FAILED
    assert "unfinished" in rebuild_index(tmp_path).read_text("utf-8")
    with (tmp_path / ".wip-1.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        alive = schedule_status(tmp_path, "26h")
    assert (len(alive.running), alive.died, alive.exit_code) == (1, [], ExitCode.PASSED)
    (tmp_path / "a" / "run.json").write_text("{")
    assert len(schedule_status(tmp_path).unreadable) == 1


def test_old_pages_go_and_records_stay(tmp_path: Path) -> None:
    for number in range(6):
        record(tmp_path, f"p{number}", "passed", 100 - number)
    record(tmp_path, "bad", "failed", 200)
    record(tmp_path, "pinned", "passed", 300)
    (tmp_path / "pinned" / "PINNED").touch()
    record(tmp_path, ".wip-old", "running", 40, ended=False)
    record(tmp_path, ".wip-new", "running", 1, ended=False)
    said = prune(tmp_path, keep=2, dry_run=True)
    assert (tmp_path / "p0" / "report.html").exists()
    gone = prune(tmp_path, keep=2)
    assert gone.reports == said.reports == ["p0", "p1", "p2", "p3"]
    assert gone.unfinished == [".wip-old"]
    assert sorted(path.name for path in (tmp_path / "p0").iterdir()) == ["result.json", "run.json"]
    for kept in ("p4", "p5", "bad", "pinned", ".wip-new"):
        assert (tmp_path / kept / "report.html").exists()
    assert len((tmp_path / "runs.jsonl").read_text("utf-8").splitlines()) == 9
    assert prune(tmp_path, keep=2).reports == []
    with pytest.raises(UsageError):
        prune(tmp_path, keep=0)


def test_a_hook_gets_json_and_its_failure_is_seen(tmp_path: Path) -> None:
    target = tmp_path / "got.json"
    script = tmp_path / "hook.py"
    script.write_text(f"import sys; open({str(target)!r}, 'w').write(sys.stdin.read())")
    call_hook(f"'{sys.executable}' '{script}'", {"run": "r; rm -rf /", "status": "failed"})
    assert json.loads(target.read_text("utf-8")) == {"run": "r; rm -rf /", "status": "failed"}
    with pytest.raises(InfrastructureError, match="ended with 3"):
        call_hook(f"'{sys.executable}' -c 'import sys; sys.exit(3)'", {})
    with pytest.raises(InfrastructureError, match="No such file"):
        call_hook("/no/such/program", {})
    for wrong in ("", "'open"):
        with pytest.raises(UsageError):
            check_hook(wrong)


def test_the_hook_is_called_when_the_status_changes_only(tmp_path: Path) -> None:
    log = tmp_path / "hook.log"
    script = tmp_path / "hook.py"
    script.write_text(f"import sys; open({str(log)!r}, 'a').write(sys.stdin.read())")
    rollouts(tmp_path / "run", range(1, 2), LOOP * 4, prompts=20)
    os.utime(tmp_path / "run" / "1.jsonl", (0, 0))
    hook = f"'{sys.executable}' '{script}'"
    call: list[str | Path] = ["audit", tmp_path / "run", "-o", tmp_path / "out", "--pending", "--hook", hook]
    first = run_command(*call, "--set", "sample_n=1")
    assert first.returncode == ExitCode.GATE_FAILED, first.stderr
    told = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert [(row["before"], row["status"]) for row in told] == [("passed", "failed")]
    (tmp_path / "out" / "told.json").unlink()  # as if the hook had failed
    again = run_command(*call, "--set", "sample_n=1")
    assert (again.returncode, "nothing to audit" in again.stdout) == (ExitCode.PASSED, True)
    assert len(log.read_text("utf-8").splitlines()) == 2
    assert read_record(next((tmp_path / "out").glob("epoch_audit-*"))).run is not None


def blocks(language: str) -> list[str]:
    """Code blocks of one language in README.md."""
    page = (REPOSITORY / "README.md").read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_every_command_in_the_examples_is_one_of_ours() -> None:
    pages = [block for language in ("crontab", "ini", "yaml") for block in blocks(language)]
    examples = [line for block in pages for line in block.split("\n")]
    calls = [re.split(r" \| |\s#", line)[0] for line in examples if re.search(r"\btrajlab (audit|status|prune) ", line)]
    assert len(calls) >= 6
    for call in calls:
        words = shlex.split(re.split(r"\btrajlab (?=audit|status|prune)", call)[1].rstrip("'"))
        with cli.commands[words[0]].make_context(words[0], words[1:]):  # parsed, not run
            pass


def test_lines_for_cron_have_five_fields_of_time() -> None:
    lines = [line for block in blocks("crontab") for line in block.splitlines()]
    assert len(lines) == 3
    for line in lines:
        assert re.fullmatch(r"(?:[\d*]+ ){5}(?:flock -n \S+ )?/opt/trajlab/bin/trajlab .+", line)


def test_the_workflow_is_yaml_that_names_its_steps() -> None:
    (text,) = blocks("yaml")
    workflow = yaml.safe_load(text)
    steps = workflow["jobs"]["audit"]["steps"]
    commands = [step["run"].split()[:2] for step in steps if "run" in step]
    assert commands == [["pip", "install"], ["trajlab", "audit"]]
    (kept,) = [step for step in steps if "cache/save" in step.get("uses", "")]
    assert kept["if"] == "always()"  # a failed gate ends the job, and what was audited must not be forgotten


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for block in blocks("ini"):
        name = block.split("\n", 1)[0].removeprefix("# ")
        # The program must be there for the check; everything else is as in the page.
        (tmp_path / name).write_text(block.replace("/opt/trajlab/bin/trajlab", "/bin/true"))
    assert len(list(tmp_path.iterdir())) == 3
    units = sorted(str(path) for path in tmp_path.iterdir())
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    own = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "trajlab" in line]
    assert own == []
    when = subprocess.run(["systemd-analyze", "calendar", "Mon..Sun 06:15"], capture_output=True, check=False)
    assert when.returncode == 0
