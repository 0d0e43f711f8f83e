"""The command line: one line and the documented exit code for whatever goes wrong."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from corpora_in_tests import SAMPLES, command, contents, environment, run_command

import trajlab
from trajlab import cli
from trajlab.cli.output import write_any_text
from trajlab.errors import ExitCode
from trajlab.formats import COMPANIONS, FALLBACK_LOGS, LOGS
from trajlab.metric_logs import METRIC_LOGS

sys.path.insert(0, str(Path(__file__).resolve().parent / "benches"))

from corpora import write_swe

LOG = SAMPLES / "verl" / "version_0.5.0" / "1.jsonl"
MANY_FILES = 300
"""More than one unit holds, so that two processes start."""


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    """``main()`` in this process; its exit code."""
    monkeypatch.setattr(sys, "argv", ["trajlab", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
        raise SystemExit(0)
    return int(ended.value.code or 0)


def make_sources(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "text").mkdir()
    (folder / "text" / "notes.txt").write_text("no log\n")
    (folder / "dangling.jsonl").symlink_to("/nowhere/at/all.jsonl")
    shutil.copy(LOG, folder / "log.jsonl")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("ingest", "empty", "-o", "out"), ExitCode.USAGE, ("empty", "no files", "Check the path")),
        (("ingest", "missing", "-o", "out"), ExitCode.USAGE, ("missing", "no such file", "Check the path")),
        (("ingest", "no*thing", "-o", "out"), ExitCode.USAGE, ("no*thing", "matches nothing", "Quote it")),
        (("ingest", "text", "-o", "out"), ExitCode.USAGE, ("text", "none of a known log format", "trajlab formats")),
        (("ingest", "dangling.jsonl", "-o", "out"), ExitCode.USAGE, ("dangling.jsonl", "cannot be read")),
        (("ingest", "log.jsonl/below", "-o", "out"), ExitCode.USAGE, ("log.jsonl/below", "no such file")),
        (("ingest", "log.jsonl", "-o", "log.jsonl/out"), ExitCode.INFRASTRUCTURE, ("log.jsonl/out", "Not a directory")),
        (("audit", "log.jsonl", "-o", "out", "--set", "sede=1"), ExitCode.USAGE, ("sede", "unknown", "seed?")),
        (("audit", "log.jsonl", "-o", "out", "--set", "seed=many"), ExitCode.USAGE, ("seed", "many", "int")),
        (("audit", "log.jsonl", "-o", "out", "--set", "seed"), ExitCode.USAGE, ("--set", "name=value")),
        (("audit", "log.jsonl", "-o", "out", "--by", "week"), ExitCode.USAGE, ("by", "week", "steps:N")),
        (("audit", "log.jsonl", "-o", "out", "--by", "steps:0"), ExitCode.USAGE, ("by", "steps:0", "steps:N")),
        (("audit", "log.jsonl", "-o", "out", "--epoch", "last"), ExitCode.USAGE, ("epoch", "last", "int")),
        (("audit", "empty", "-o", "out"), ExitCode.USAGE, ("empty", "no files")),
    ],
)
def test_what_goes_wrong_is_one_line_with_the_next_step(
    arguments: tuple[str, ...], code: ExitCode, words: tuple[str, ...], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    make_sources(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run_main(monkeypatch, *arguments) == code
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.count("\n") == 1
    assert streams.err.startswith("trajlab: ")
    assert all(word in streams.err for word in words), streams.err
    if "text" not in arguments:
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [(), ("ingest",), ("nonsense",), ("audit", "x", "-o", "y", "--fail-on", "maybe")])
def test_a_wrong_call_shows_the_usage(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(monkeypatch, *arguments) == ExitCode.USAGE
    assert "Usage:" in capsys.readouterr().err


def test_an_unknown_run_of_a_corpus_names_those_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trajlab.ingest(LOG, out=tmp_path / "corpus", run="mine")
    assert run_main(monkeypatch, "audit", tmp_path / "corpus", "-o", tmp_path / "out", "--run", "yours") == 2
    assert "expected one of mine" in capsys.readouterr().err


def test_an_unreadable_file_is_a_problem_row_and_its_neighbours_are_read(tmp_path: Path) -> None:
    make_sources(tmp_path)
    done = run_command("ingest", tmp_path, "-o", tmp_path / "corpus")
    assert done.returncode == ExitCode.PASSED, done.stderr
    corpus = trajlab.open_corpus(tmp_path / "corpus")
    assert corpus.trajectories.collect().height == 12
    problems = corpus.problems.select("source", "code", "message").collect().rows()
    assert problems == [("dangling.jsonl", "unreadable", "cannot be read: No such file or directory")]


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_file_without_read_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_sources(tmp_path)
    (tmp_path / "log.jsonl").chmod(0)
    assert run_main(monkeypatch, "ingest", tmp_path / "log.jsonl", "-o", tmp_path / "out") == ExitCode.USAGE
    assert "permission denied" in capsys.readouterr().err


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for a few pages; skipped where none can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no tmpfs can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_one_line_and_the_ingest_resumes(full_disk: Path, tmp_path: Path) -> None:
    write_swe(tmp_path / "logs", 2, seed=1)
    done = run_command("ingest", tmp_path / "logs", "-o", full_disk / "corpus")
    assert done.returncode == ExitCode.INFRASTRUCTURE
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert "the disk is full. Free space and run the same command again" in done.stderr
    subprocess.run(["mount", "-o", "remount,size=64m", full_disk], check=True)
    assert run_command("ingest", tmp_path / "logs", "-o", full_disk / "corpus").returncode == ExitCode.PASSED
    trajlab.ingest(tmp_path / "logs", out=tmp_path / "undisturbed")
    assert contents(full_disk / "corpus") == contents(tmp_path / "undisturbed")


def test_a_write_that_the_system_refuses_loses_nothing_in_silence(tmp_path: Path) -> None:
    write_swe(tmp_path / "logs", 2, seed=1)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    done = subprocess.run(
        command("ingest", tmp_path / "logs", "-o", tmp_path / "corpus"), env=environment(), capture_output=True,
        text=True, timeout=60, check=False, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == ExitCode.INFRASTRUCTURE
    assert done.stderr.count("\n") == 1
    assert "File too large" in done.stderr
    with pytest.raises(trajlab.UsageError, match="unfinished"):
        trajlab.open_corpus(tmp_path / "corpus")


def write_many(folder: Path) -> None:
    """Many files of the same bytes, in folders of their own."""
    write_swe(folder / "run_0", 0.5, seed=1)
    (folder / "run_0" / "shard_0000.jsonl").rename(folder / "run_0" / "rows.jsonl")
    for number in range(1, MANY_FILES):
        (folder / f"run_{number}").mkdir()
        os.link(folder / "run_0" / "rows.jsonl", folder / f"run_{number}" / "rows.jsonl")


def test_ctrl_c_is_one_line_leaves_no_worker_and_resumes(tmp_path: Path) -> None:
    write_many(tmp_path / "logs")
    out = tmp_path / "corpus"
    process = subprocess.Popen(
        command("ingest", tmp_path / "logs", "-o", out, "--jobs", "2", "--no-text"), env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    workers: list[psutil.Process] = []
    while not (list(out.glob("parts/.wip-*")) and len(workers) >= 2) and process.poll() is None:
        time.sleep(0.01)
        workers = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    output, errors = process.communicate(timeout=60)
    assert len(workers) >= 2
    assert (process.returncode, output) == (ExitCode.INFRASTRUCTURE, "")
    assert errors.strip() == "trajlab: interrupted. Run the same command again: it resumes"
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert [worker for worker in alive if worker.status() != psutil.STATUS_ZOMBIE] == []
    with pytest.raises(trajlab.UsageError, match="resumes"):
        trajlab.open_corpus(out)
    done = run_command("ingest", tmp_path / "logs", "-o", out, "--jobs", "2", "--no-text")
    assert done.returncode == ExitCode.PASSED, done.stderr
    assert len(trajlab.open_corpus(out).runs) == MANY_FILES


def test_ingest_says_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    done = run_command("ingest", LOG, "-o", tmp_path / "corpus", "--run", "mine")
    assert (done.returncode, done.stderr) == (ExitCode.PASSED, "")
    assert "mine" in done.stdout
    assert "not recorded by any log: " in done.stdout
    assert "…" not in done.stdout


def test_formats_lists_every_format_and_variant(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(monkeypatch, "formats") == ExitCode.PASSED
    listed = capsys.readouterr().out
    assert all(f"{name}: " in listed for name in [*LOGS, *FALLBACK_LOGS])
    assert all(f"{name} (companion): " in listed for name in COMPANIONS)
    assert all(f"{name} (metric log): " in listed for name in METRIC_LOGS)


@pytest.mark.parametrize("arguments", [("--help",), ("ingest", "--help"), ("audit", "--help"), ("--version",)])
def test_help_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    code = (
        "import sys; from trajlab import cli; sys.argv = ['trajlab', *sys.argv[1:]]\n"
        "try: cli.main()\n"
        "finally: print(sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == ExitCode.PASSED
    assert done.stdout
    for heavy in ("polars", "pyarrow", "pandas", "numpy", "scipy", "msgspec", "matplotlib", "papermill", "nbformat"):
        assert f"'{heavy}'" not in done.stderr, heavy


def test_importing_the_package_loads_nothing() -> None:
    code = "import sys, trajlab; print([n for n in sys.modules if n.split('.')[0] in ('polars', 'msgspec', 'click')])"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert set(dir(trajlab)) == set(trajlab.__all__)
    assert all(getattr(trajlab, name) is not None for name in trajlab.__all__)


@pytest.fixture
def impatient() -> Iterator[None]:
    """Ends what waits for longer than ten seconds."""

    def end(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "arguments",
    [
        ("ingest", LOG, "-o", "out", "--mapping", "pipe"), ("ingest", "pipe", "-o", "out"), ("accuracy", "pipe"),
        ("formats", "--why", "pipe"), ("formats", "--why", LOG, "--mapping", "pipe"), ("simulate", "pipe", "-o", "out"),
        ("diagnose", LOG, "-o", "out", "--metrics", "pipe"), ("compare", LOG, "pipe", "-o", "out"),
        ("review", LOG, "-o", "page.html", "--rubric", "pipe"), ("review", LOG, "-o", "page.html", "--sample", "pipe"),
        ("labels", "merge", "pipe", "-o", "out.parquet"), ("labels", "merge", "folder", "-o", "out.parquet"),
        ("labels", "report", "empty.jsonl", "--source", LOG, "--sample", "pipe", "--question", "q"),
    ],
    ids=lambda arguments: " ".join(str(one) for one in arguments if one != LOG),
)  # fmt: skip
def test_a_pipe_in_place_of_a_file_is_an_error_and_no_wait(
    arguments: tuple[str | Path, ...],
    tmp_path: Path,
    impatient: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.jsonl").touch()
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "folder" / "pipe.jsonl")
    assert run_main(monkeypatch, *arguments) == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert "pipe" in line


@pytest.mark.parametrize("closed", ["output", "both"])
def test_an_output_that_nobody_reads_is_no_failed_gate(closed: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    error = writing if closed == "both" else subprocess.PIPE
    done = subprocess.run(command("explain", "ls"), stdout=writing, stderr=error, env=environment(), text=True)
    os.close(writing)
    assert done.returncode == ExitCode.INFRASTRUCTURE
    assert done.stderr == (None if closed == "both" else "")


@pytest.mark.parametrize(
    ("encoding", "shown"), [("latin-1", b"\\u65e5"), ("cp1252", b"\\u65e5"), ("gbk", "\u65e5".encode("gbk"))]
)
def test_an_encoding_that_lacks_a_character_has_its_escape(encoding: str, shown: bytes) -> None:
    asked = environment() | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(command("explain", "\u65e5"), env=asked, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert shown in done.stdout


def test_lines_of_tables_stay_lines_in_any_encoding() -> None:
    write_any_text()
    assert "\u2502\u2500\u2026".encode("ascii", "trajlab.escaped") == b"|-\\u2026"
