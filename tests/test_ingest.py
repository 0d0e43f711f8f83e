"""Ingest does only what is new, and ends the same however it got there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from corpora_in_tests import SAMPLES, Counting, contents, mtimes

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.corpus.ingest import ingest_into
from trajlab.corpus.plan import UnitSizes
from trajlab.engines import map_units
from trajlab.errors import InfrastructureError, UsageError

sys.path[:0] = [str(Path(__file__).resolve().parent / folder) for folder in ("benches", "studies")]

from corpora import write_swe  # noqa: E402
from kill import kill_study, write_kill_logs  # noqa: E402

DEMO = SAMPLES / "mini_swe_agent" / "mini-swe-agent-demo"
SMALL = UnitSizes(bytes=6_000, files=3, slice_from=9_000)


def rollout(number: int, *, step: int = 1, output: str = "It is 4.", **extra: Any) -> str:
    """One verl line; every number has a text of its own."""
    row = {"input": f"user\nWhat is {number} + 2?\nassistant\n", "output": f"{output} Answer: {number}", "gts": "4",
           "score": 1.0, "step": step, "acc": 1.0, **extra}  # fmt: skip
    return json.dumps(row) + "\n"


def write_lines(path: Path, numbers: range, **extra: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(rollout(number, **extra) for number in numbers))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A run of three steps, and one mini-swe-agent trajectory without a verdict yet."""
    folder = tmp_path / "logs"
    for step in (1, 2, 3):
        write_lines(folder / "verl_run" / f"{step}.jsonl", range(step * 10, step * 10 + 4), step=step)
    task = "datekit__leap-102"
    (folder / "mini_run" / task).mkdir(parents=True)
    shutil.copy(DEMO / "attempt_1" / task / f"{task}.traj.json", folder / "mini_run" / task)
    return folder


def ingest(logs: Path, out: Path, **options: Any) -> tuple[Corpus, list[str]]:
    """Ingest, and say which files were read."""
    engine = Counting()
    corpus = trajlab.ingest(logs, out=out, engine=engine, **options)
    return corpus, sorted(engine.read)


def ingest_file_by_file(logs: Path, out: Path) -> tuple[Corpus, list[str]]:
    engine = Counting()
    corpus = Corpus(out, ingest_into(out, [logs], engine=engine, sizes=UnitSizes(files=1)))
    return corpus, sorted(engine.read)


def ids(corpus: Corpus) -> set[str]:
    return set(corpus.trajectories.collect()["trajectory_id"])


def test_unchanged_inputs_are_no_work(logs: Path, tmp_path: Path) -> None:
    _, first = ingest(logs, tmp_path / "corpus")
    before = mtimes(tmp_path / "corpus")
    again, read = ingest(logs, tmp_path / "corpus")
    assert len(first) == 4
    assert read == []
    assert mtimes(tmp_path / "corpus") == before
    assert again.trajectories.collect().height == 13


def test_an_added_file_is_the_only_one_read(logs: Path, tmp_path: Path) -> None:
    first, _ = ingest(logs, tmp_path / "corpus")
    kept = ids(first)
    write_lines(logs / "verl_run" / "4.jsonl", range(40, 44), step=4)
    second, read = ingest(logs, tmp_path / "corpus")
    assert read == ["verl_run/4.jsonl"]
    assert kept < ids(second)
    assert len(ids(second)) == 17


def test_a_changed_file_is_read_again(logs: Path, tmp_path: Path) -> None:
    ingest_file_by_file(logs, tmp_path / "corpus")
    write_lines(logs / "verl_run" / "2.jsonl", range(20, 25), step=2)
    second, read = ingest_file_by_file(logs, tmp_path / "corpus")
    assert read == ["verl_run/2.jsonl"]
    fresh, _ = ingest(logs, tmp_path / "fresh")
    assert ids(second) == ids(fresh)
    assert len(list((tmp_path / "corpus" / "parts").iterdir())) == len(second.manifest.units)


def test_a_deleted_file_disappears(logs: Path, tmp_path: Path) -> None:
    ingest(logs, tmp_path / "corpus")
    (logs / "verl_run" / "3.jsonl").unlink()
    second, _ = ingest(logs, tmp_path / "corpus")
    assert set(second.trajectories.collect()["train_step"]) == {1, 2, None}
    assert "verl_run/3.jsonl" not in second.sources.collect()["source"].to_list()


def sliced(path: Path, out: Path) -> tuple[Corpus, list[str]]:
    engine = Counting()
    return Corpus(out, ingest_into(out, [path], engine=engine, sizes=SMALL)), engine.read


def test_a_large_line_file_is_read_in_slices_with_the_ids_of_a_whole_read(tmp_path: Path) -> None:
    write_lines(tmp_path / "logs" / "1.jsonl", range(200))
    corpus, read = sliced(tmp_path / "logs", tmp_path / "sliced")
    whole, _ = ingest(tmp_path / "logs", tmp_path / "whole")
    assert len(read) > 3
    assert ids(corpus) == ids(whole)
    assert corpus.trajectories.collect().height == 200
    assert corpus.problems.collect().is_empty()


def test_only_the_end_of_a_growing_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "1.jsonl"
    write_lines(path, range(200))
    _, first = sliced(path.parent, tmp_path / "corpus")
    with path.open("a") as file:
        file.write(rollout(200))
    grown, read = sliced(path.parent, tmp_path / "corpus")
    assert len(first) > 3
    assert len(read) == 1
    assert grown.trajectories.collect().height == 201
    fresh, _ = ingest(path.parent, tmp_path / "fresh")
    assert ids(grown) == ids(fresh)


def test_an_unfinished_record_is_a_problem_until_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "1.jsonl"
    write_lines(path, range(200))
    line = rollout(200)
    with path.open("a") as file:
        file.write(line[:70])
    partial, _ = sliced(path.parent, tmp_path / "corpus")
    assert partial.problems.collect()["code"].to_list() == ["truncated"]
    assert partial.trajectories.collect().height == 200
    with path.open("a") as file:
        file.write(line[70:])
    complete, read = sliced(path.parent, tmp_path / "corpus")
    assert len(read) == 1
    assert complete.problems.collect().is_empty()
    assert complete.trajectories.collect().height == 201


@pytest.mark.parametrize("kept", [150, 30])
def test_a_shrunk_file_leaves_no_slice_behind(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "logs" / "1.jsonl"
    write_lines(path, range(200))
    sliced(path.parent, tmp_path / "corpus")
    write_lines(path, range(kept))
    corpus, _ = sliced(path.parent, tmp_path / "corpus")
    assert corpus.trajectories.collect().height == kept
    assert corpus.trajectories.collect()["trajectory_id"].is_unique().all()


def test_a_change_in_the_middle_of_a_large_file_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "1.jsonl"
    write_lines(path, range(200))
    sliced(path.parent, tmp_path / "corpus")
    text = path.read_text().replace('"score": 1.0', '"score": 0.0', 100)
    path.write_text(text + rollout(200))
    corpus, _ = sliced(path.parent, tmp_path / "corpus")
    assert corpus.trajectories.collect()["reward"].sum() == 101


def test_a_report_that_arrives_later_changes_only_what_is_assembled(logs: Path, tmp_path: Path) -> None:
    first, _ = ingest(logs, tmp_path / "corpus")
    mini = pl.col("format") == "mini_swe_agent"
    assert first.trajectories.filter(mini).select("correct", "termination").collect().row(0) == (None, "unknown")
    parts = contents(tmp_path / "corpus" / "parts")
    times = mtimes(tmp_path / "corpus" / "parts")
    task = "datekit__leap-102"
    shutil.copy(DEMO / "attempt_1" / task / "report.json", logs / "mini_run" / task)
    second, read = ingest(logs, tmp_path / "corpus")
    assert read == []
    assert contents(tmp_path / "corpus" / "parts") == parts
    assert mtimes(tmp_path / "corpus" / "parts") == times
    verdict = second.trajectories.filter(mini).select("correct", "termination", "verdict_source").collect().row(0)
    assert verdict == (True, "success", f"mini_run/{task}/report.json")


def report(resolved: bool) -> str:
    return json.dumps({"patch_successfully_applied": True, "resolved": resolved})


def test_a_report_elsewhere_decides_only_about_the_one_attempt(logs: Path, tmp_path: Path) -> None:
    task = "datekit__leap-102"
    (logs / "evaluation").mkdir()
    (logs / "evaluation" / "report.json").write_text(json.dumps({task: json.loads(report(True))}))
    alone, _ = ingest(logs, tmp_path / "alone")
    assert alone.trajectories.filter(task_id=task).collect()["correct"].to_list() == [True]
    shutil.copytree(logs / "mini_run", logs / "mini_run_2")
    both, _ = ingest(logs, tmp_path / "both")
    assert both.trajectories.filter(task_id=task).collect()["correct"].to_list() == [None, None]


def test_a_report_of_a_run_reaches_all_below_it_and_no_other_run(logs: Path, tmp_path: Path) -> None:
    task = "datekit__leap-102"
    shutil.copytree(logs / "mini_run", logs / "other_run")
    for run, resolved in (("mini_run", True), ("other_run", False)):
        (logs / run / "report.json").write_text(json.dumps({task: json.loads(report(resolved))}))
    corpus, _ = ingest(logs, tmp_path / "corpus")
    found = dict(corpus.trajectories.filter(task_id=task).select("run", "correct").collect().iter_rows())
    assert found == {"mini_run": True, "other_run": False}


def test_a_later_dump_of_a_step_supersedes_and_a_copy_is_a_duplicate(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    write_lines(logs / "run" / "before" / "1.jsonl", range(3))
    write_lines(logs / "run" / "before" / "2.jsonl", range(10, 13), step=2)
    write_lines(logs / "run" / "resumed" / "2.jsonl", range(10, 14), step=2)
    os.utime(logs / "run" / "before" / "2.jsonl", (1_000_000, 1_000_000))
    shutil.copy(logs / "run" / "before" / "1.jsonl", logs / "run" / "copy_of_1.jsonl")
    corpus, _ = ingest(logs, tmp_path / "corpus")
    frame = corpus.trajectories.collect()
    superseded = frame.filter("superseded")
    assert (superseded["source"].unique().to_list(), superseded.height) == (["run/before/2.jsonl"], 3)
    duplicate = frame.filter("duplicate")
    assert (duplicate["source"].unique().to_list(), duplicate.height) == (["run/copy_of_1.jsonl"], 3)
    assert corpus.current.collect().height == frame.height - 6 == 7


def test_equal_samples_of_one_file_are_no_duplicates(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "1.jsonl").write_text(rollout(1) * 3)
    corpus, _ = ingest(tmp_path / "logs", tmp_path / "corpus")
    assert corpus.current.collect().height == 3


def test_run_names(logs: Path, tmp_path: Path) -> None:
    folders, _ = ingest(logs, tmp_path / "folders")
    assert folders.runs == ["mini_run", "verl_run"]
    write_lines(tmp_path / "exp_7" / "rollouts" / "1.jsonl", range(3))
    root, _ = ingest(tmp_path / "exp_7", tmp_path / "root")
    assert root.runs == ["exp_7"]
    named, read = ingest(logs, tmp_path / "folders", run="mine")
    assert named.runs == ["mine"]
    assert len(read) == 4
    assert ids(named).isdisjoint(ids(folders))


def test_the_log_names_its_run_unless_the_user_does(tmp_path: Path) -> None:
    row = {"run": "from-log", "id": "a", "messages": [{"role": "user", "content": "hi"},
                                                      {"role": "assistant", "content": "ho"}]}  # fmt: skip
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rows.jsonl").write_text(json.dumps(row) + "\n")
    assert ingest(tmp_path / "logs", tmp_path / "corpus")[0].runs == ["from-log"]
    assert ingest(tmp_path / "logs", tmp_path / "corpus", run="logs")[0].runs == ["logs"]


def test_texts_can_be_left_out_and_change_no_other_table(logs: Path, tmp_path: Path) -> None:
    kept, _ = ingest(logs, tmp_path / "corpus")
    tables = ("trajectories", "steps", "messages", "tool_calls", "commands", "behaviour", "rewards", "problems")
    with_texts = {name: kept.table(name).collect() for name in tables}
    assert kept.texts.collect().height > 0
    without, read = ingest(logs, tmp_path / "corpus", texts=False)
    assert len(read) == 4
    assert without.texts.collect().is_empty()
    for name in tables:
        assert without.table(name).collect().equals(with_texts[name]), name


def test_two_processes_write_the_same_bytes_as_one(tmp_path: Path) -> None:
    for number in range(2):
        write_swe(tmp_path / "logs" / f"run_{number}", 1, seed=number)
    ingest_into(tmp_path / "one", [tmp_path / "logs"], jobs=1, sizes=UnitSizes(bytes=300_000, slice_from=400_000))
    ingest_into(tmp_path / "two", [tmp_path / "logs"], jobs=2, sizes=UnitSizes(bytes=300_000, slice_from=400_000))
    assert len(list((tmp_path / "one" / "parts").iterdir())) > 3
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_corpus_is_no_source_and_is_left_out_of_one(logs: Path, tmp_path: Path) -> None:
    corpus, _ = ingest(logs, logs / "corpus")
    again, read = ingest(logs, logs / "corpus")
    assert read == []
    assert ids(again) == ids(corpus)
    with pytest.raises(UsageError, match="corpus"):
        ingest(logs / "corpus", tmp_path / "other")


def test_a_corpus_in_use_is_not_written_to(logs: Path, tmp_path: Path) -> None:
    def second(function: Any, tasks: Any) -> Any:
        with pytest.raises(InfrastructureError, match="another ingest"):
            trajlab.ingest(logs, out=tmp_path / "corpus")
        yield from map(function, tasks)

    trajlab.ingest(logs, out=tmp_path / "corpus", engine=second)


def die_in_a_worker(task: int) -> int:
    """What the system does to a worker that takes too much memory."""
    if parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.1)
    return task


def test_a_killed_worker_is_one_line() -> None:
    with pytest.raises(InfrastructureError, match=r"a worker process was killed.*resumes"):
        list(map_units(die_in_a_worker, range(8), jobs=2))


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_every_task_is_handed_out_once(jobs: int) -> None:
    assert sorted(map_units(abs, range(20), jobs)) == list(range(20))


def threads_allowed(task: int) -> tuple[str | None, str | None]:
    if parent_process() is None:
        time.sleep(0.1)  # the other thread takes a task for the worker
        return None, None
    return os.environ.get("POLARS_MAX_THREADS"), os.environ.get("OPENBLAS_NUM_THREADS")


def test_workers_start_one_thread_each_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    assert ("1", "3") in list(map_units(threads_allowed, range(4), jobs=2))
    assert "POLARS_MAX_THREADS" not in os.environ


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from trajlab.engines import map_units\nprint(sum(map_units(abs, range(100), 2)))\n", "utf-8")
    root = {"PYTHONPATH": str(Path(trajlab.__file__).parents[1])}
    done = subprocess.run([sys.executable, script], env=os.environ | root, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4950\n", "")


def test_an_interrupted_ingest_says_so_and_resumes(logs: Path, tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def one_unit(function: Any, tasks: Any) -> Any:
        yield function(tasks[0])
        raise StoppedError

    with pytest.raises(StoppedError):
        ingest_into(tmp_path / "corpus", [logs], engine=one_unit, sizes=UnitSizes(files=1))
    with pytest.raises(UsageError, match="unfinished"):
        trajlab.open_corpus(tmp_path / "corpus")
    _, read = ingest_file_by_file(logs, tmp_path / "corpus")
    assert len(read) == 3
    ingest_file_by_file(logs, tmp_path / "fresh")
    assert contents(tmp_path / "corpus") == contents(tmp_path / "fresh")


def test_killed_at_random_moments_it_ends_the_same(tmp_path: Path) -> None:
    """The study ``tests/studies/kill.py`` does the same 50 times."""
    write_kill_logs(tmp_path / "logs", megabytes=4)
    outcome = kill_study(tmp_path, kills=8, seed=7)
    assert outcome.kills == 8
    assert outcome.different == []
