"""A corpus folder that was tampered with, names that are no names, folders that are not ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from corpora_in_tests import SAMPLES, contents, environment, run_command

import trajlab
from trajlab.corpus.ingest import ingest_into
from trajlab.corpus.plan import UnitSizes
from trajlab.errors import ExitCode, InfrastructureError, UsageError

sys.path[:0] = [str(Path(__file__).resolve().parent / folder) for folder in ("benches", "studies")]

from kill import write_kill_logs  # noqa: E402

LOGS = SAMPLES / "verl" / "v1_run"


def part(corpus: Path) -> Path:
    return next((corpus / "parts").iterdir())


def cut(path: Path, size: int) -> None:
    os.truncate(path, size)


def make_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("")


TAMPERING: dict[str, Callable[[Path], object]] = {
    "a table deleted": lambda corpus: (part(corpus) / "steps.1.parquet").unlink(),
    "a table cut": lambda corpus: cut(part(corpus) / "trajectories.1.parquet", 300),
    "a table emptied": lambda corpus: cut(part(corpus) / "behaviour.1.parquet", 0),
    "a table twice": lambda corpus: shutil.copy(part(corpus) / "steps.1.parquet", part(corpus) / "steps.2.parquet"),
    "a summary emptied": lambda corpus: cut(part(corpus) / "unit.json", 0),
    "a summary of another shape": lambda corpus: (part(corpus) / "unit.json").write_text('{"key": 3}'),
    "a part deleted": lambda corpus: shutil.rmtree(part(corpus)),
    "a file for a part": lambda corpus: make_file(part(corpus)),
    "an assembled table cut": lambda corpus: cut(corpus / "assembled" / "overlay.parquet", 100),
    "assembled tables deleted": lambda corpus: shutil.rmtree(corpus / "assembled"),
}


@pytest.mark.parametrize("what", TAMPERING)
def test_a_damaged_corpus_is_refused_and_the_same_ingest_heals_it(tmp_path: Path, what: str) -> None:
    corpus = tmp_path / "corpus"
    trajlab.ingest(LOGS, out=corpus)
    expected = contents(corpus)
    TAMPERING[what](corpus)
    with pytest.raises(InfrastructureError, match="damaged"):
        trajlab.open_corpus(corpus)
    trajlab.ingest(LOGS, out=corpus)
    assert contents(corpus) == expected
    assert trajlab.open_corpus(corpus).trajectories.collect().height == 32


@pytest.mark.parametrize("manifest", [b"", b"{", b"[" * 100_000, b'{"trajlab": "\xff"}', b'{"schema_version": 99}'])
def test_a_damaged_manifest_is_no_corpus_and_the_same_ingest_heals_it(tmp_path: Path, manifest: bytes) -> None:
    corpus = tmp_path / "corpus"
    trajlab.ingest(LOGS, out=corpus)
    expected = contents(corpus)
    (corpus / "trajlab-corpus.json").write_bytes(manifest)
    with pytest.raises(UsageError, match="no corpus"):
        trajlab.open_corpus(corpus)
    trajlab.ingest(LOGS, out=corpus)
    assert contents(corpus) == expected


def test_part_names_of_a_tampered_manifest_are_not_followed(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    trajlab.ingest(LOGS, out=corpus)
    expected = contents(corpus)
    manifest = corpus / "trajlab-corpus.json"
    manifest.write_text(manifest.read_text().replace(part(corpus).name, "../../elsewhere"))
    trajlab.ingest(LOGS, out=corpus)
    assert contents(corpus) == expected


def test_ingest_removes_nothing_that_is_not_its_own(tmp_path: Path) -> None:
    shutil.copytree(LOGS, tmp_path / "parts" / "run")
    (tmp_path / "parts" / "notes.txt").write_text("mine")
    (tmp_path / "parts" / ".wip-0123456789abcdef").mkdir()
    trajlab.ingest(tmp_path / "parts", out=tmp_path)
    assert sorted(path.name for path in (tmp_path / "parts" / "run").iterdir()) == ["1.jsonl", "2.jsonl"]
    assert (tmp_path / "parts" / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "parts" / ".wip-0123456789abcdef").exists()


def test_the_logs_own_folder_is_no_place_for_a_corpus(tmp_path: Path) -> None:
    shutil.copytree(LOGS, tmp_path / "run")
    before = contents(tmp_path)
    with pytest.raises(UsageError, match="folder of the logs"):
        trajlab.ingest(tmp_path / "run", out=tmp_path / "run")
    assert contents(tmp_path) == before


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse or translate such names")
@pytest.mark.parametrize(
    "arguments",
    [
        ("ingest", LOGS, "-o", "out\udcff"),
        ("audit", LOGS, "-o", "out", "--run", "r\udcff"),
        ("ingest", LOGS, "-o", ""),
        ("compare", LOGS, "-o", ""),
        ("compare", LOGS, "-o", "out", "--run", "r\udcff"),
        ("stages", LOGS, "-o", "out\udcff"),
        ("stages", LOGS, "--run", ""),
        ("rebuild", ""),
    ],
)
def test_names_that_are_none_are_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run_command(*arguments, cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert "Error: Invalid value" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_control_sequences_in_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    done = run_command("ingest", "no\x1b[31m\nsuch\x07", "-o", "out", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr and "\x07" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_killed_ingest_leaves_no_worker_behind(tmp_path: Path) -> None:
    write_kill_logs(tmp_path / "logs", 4)
    code = (
        "import sys; from pathlib import Path; from trajlab.corpus.ingest import ingest_into; "
        "from trajlab.corpus.plan import UnitSizes; "
        "ingest_into(Path(sys.argv[1]), [sys.argv[2]], jobs=2, sizes=UnitSizes(files=1))"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "corpus"), str(tmp_path / "logs")]
    process = subprocess.Popen(arguments, env=environment(), start_new_session=True)
    wait_until(lambda: members_of(process.pid) != [])
    process.kill()
    process.wait()
    wait_until(lambda: not members_of(process.pid))


def members_of(group: int) -> list[str]:
    """Python workers in a process group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            inside = os.getpgid(int(folder.name)) == group and b"spawn_main" in (folder / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        found += [folder.name] if inside else []
    return found


def wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < seconds
        time.sleep(0.05)


def test_names_with_a_zero_byte_are_refused(tmp_path: Path) -> None:
    for arguments in ({"out": tmp_path / "a\0b"}, {"out": tmp_path / "c", "mapping": "a\0b"}):
        with pytest.raises(UsageError):
            trajlab.ingest(LOGS, **arguments)
    with pytest.raises(UsageError):
        trajlab.read("a\0b")


VANISHING: dict[str, tuple[Callable[[Path], object], str]] = {
    "deleted": (lambda path: path.unlink(), "unreadable"),
    "emptied": (lambda path: cut(path, 0), "truncated"),
    "cut": (lambda path: cut(path, path.stat().st_size // 2), "truncated"),
}


@pytest.mark.parametrize("what", VANISHING)
def test_a_large_file_that_goes_while_it_is_read_costs_no_other(tmp_path: Path, what: str) -> None:
    change, code = VANISHING[what]
    line = (LOGS.parent / "version_0.5.0" / "1.jsonl").read_bytes()
    for name, times in (("going", 20), ("staying", 1)):
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "1.jsonl").write_bytes(line * times)

    def engine(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        yield function(tasks[0])
        change(tmp_path / "logs" / "going" / "1.jsonl")
        yield from map(function, tasks[1:])

    sizes = UnitSizes(bytes=len(line) * 3, slice_from=len(line) * 4)
    ingest_into(tmp_path / "corpus", [tmp_path / "logs"], engine=engine, sizes=sizes)
    corpus = trajlab.open_corpus(tmp_path / "corpus")
    read = dict(corpus.trajectories.collect()["source"].value_counts().rows())
    assert read["staying/1.jsonl"] == 12 and read["going/1.jsonl"] >= 36
    assert set(corpus.problems.collect().select("source", "code").rows()) == {("going/1.jsonl", code)}


def test_clocks_that_are_wrong_by_centuries(tmp_path: Path) -> None:
    for number, seconds in enumerate((-(2**31), 2**33, 2**35)):
        path = tmp_path / "logs" / f"run_{number}" / "1.jsonl"
        path.parent.mkdir(parents=True)
        shutil.copy(LOGS.parent / "version_0.5.0" / "1.jsonl", path)
        os.utime(path, (seconds, seconds))
    assert trajlab.read(tmp_path / "logs").trajectories.collect()["run"].n_unique() == 3
