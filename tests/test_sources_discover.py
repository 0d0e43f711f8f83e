from __future__ import annotations

import os
from pathlib import Path

import pytest

from trajlab.errors import UsageError
from trajlab.sources.discover import CORPUS_MARKER, Discovery, discover


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def relpaths(found: Discovery) -> list[str]:
    return [file.relpath for file in found.files]


def test_a_folder_is_walked_in_order_without_hidden_and_own_folders(tmp_path):
    make(
        tmp_path,
        "b/2.jsonl",
        "a.traj.json",
        "b/1.pt",
        ".git/config",
        "b/.ipynb_checkpoints/1.pt",
        ".hidden_file",
    )
    make(tmp_path, "__pycache__/x.pyc", f"corpus/{CORPUS_MARKER}", "corpus/steps.parquet", "b/c/d")
    (tmp_path / "empty.json").touch()
    found = discover([tmp_path])
    assert relpaths(found) == [".hidden_file", "a.traj.json", "b/1.pt", "b/2.jsonl", "b/c/d", "empty.json"]
    assert found.problems == []
    assert sorted((folder.relpath, folder.kind) for folder in found.skipped) == [
        (".git", "tools"),
        ("__pycache__", "tools"),
        ("b/.ipynb_checkpoints", "tools"),
        ("corpus", "corpus"),
    ]
    file = found.files[1]
    assert (file.root, file.path, file.size) == (str(tmp_path), str(tmp_path / "a.traj.json"), 11)
    assert file.mtime_ns == Path(file.path).stat().st_mtime_ns


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.jsonl", ["top.jsonl"]),
        ("**/*.jsonl", ["a/b/deep.jsonl", "a/one.jsonl", "b/two.jsonl", "top.jsonl"]),
        ("a/**", ["b/deep.jsonl", "one.jsonl"]),
        ("a/**/deep.jsonl", ["b/deep.jsonl"]),
        ("?", ["a/b/deep.jsonl", "a/one.jsonl", "b/two.jsonl"]),
        ("[b]/*", ["b/two.jsonl"]),
        ("a*/b/*.jsonl", ["a/b/deep.jsonl"]),
        (".h*/*", [".hid/three.jsonl"]),
        ("**/.hid/*", [".hid/three.jsonl"]),
    ],
)
def test_patterns(tmp_path, pattern, expected):
    make(tmp_path, "top.jsonl", "a/one.jsonl", "a/b/deep.jsonl", "b/two.jsonl", ".hid/three.jsonl")
    found = discover([f"{tmp_path}/{pattern}"])
    assert relpaths(found) == expected
    assert found.files[0].root == str(tmp_path / "a" if pattern.startswith("a/") else tmp_path)


def test_a_file_has_its_folder_as_root_and_odd_names_are_literal(tmp_path):
    make(tmp_path, "run/step_[1].jsonl", "run/step_1.jsonl")
    found = discover([tmp_path / "run" / "step_[1].jsonl"])
    assert relpaths(found) == ["step_[1].jsonl"]
    assert found.files[0].root == str(tmp_path / "run")


def test_each_file_comes_once(tmp_path):
    make(tmp_path, "run/a.jsonl", "run/b.jsonl")
    (tmp_path / "alias").symlink_to(tmp_path / "run")
    found = discover([tmp_path / "run", tmp_path / "run/a.jsonl", f"{tmp_path}/**/*.jsonl", tmp_path / "alias"])
    assert relpaths(found) == ["a.jsonl", "b.jsonl"]


def test_links_are_followed_once_and_real_paths_win(tmp_path):
    make(tmp_path, "z/real/a.jsonl", "elsewhere/b.jsonl")
    logs = tmp_path / "z"
    (logs / "again").symlink_to(logs / "real")
    (logs / "real" / "loop").symlink_to(logs)
    (logs / "outside").symlink_to(tmp_path / "elsewhere")
    (logs / "a_file").symlink_to(logs / "real" / "a.jsonl")
    (logs / "dangling").symlink_to(tmp_path / "nowhere")
    found = discover([logs])
    assert relpaths(found) == ["outside/b.jsonl", "real/a.jsonl"]
    assert [(path, problem.code) for path, problem in found.problems] == [("dangling", "unreadable")]


def test_a_named_dangling_link_is_a_problem(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    found = discover([tmp_path / "link"])
    assert [(path, problem.code) for path, problem in found.problems] == [("link", "unreadable")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_opened(tmp_path):
    make(tmp_path, "a.jsonl")
    os.mkfifo(tmp_path / "pipe")
    found = discover([tmp_path])
    assert relpaths(found) == ["a.jsonl"]
    assert [(path, problem.code) for path, problem in found.problems] == [("pipe", "unreadable")]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_neighbours(tmp_path):
    make(tmp_path, "a.jsonl", "b.jsonl", "closed/c.jsonl")
    (tmp_path / "b.jsonl").chmod(0)
    (tmp_path / "closed").chmod(0)
    found = discover([tmp_path])
    (tmp_path / "closed").chmod(0o700)
    assert relpaths(found) == ["a.jsonl"]
    assert sorted(path for path, _ in found.problems) == ["b.jsonl", "closed"]


def test_a_name_that_is_no_utf8_can_be_written_and_opened(tmp_path):
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.jsonl")).write_text("x")
    except OSError:
        pytest.skip("this file system wants UTF-8 names")
    (file,) = discover([tmp_path]).files
    assert file.relpath == "a\\xff.jsonl"
    assert Path(file.path).read_text() == "x"


@pytest.mark.parametrize("source", ["missing", "missing/*.jsonl", "*.nothing", "**/nothing"])
def test_what_is_not_there_is_an_error_with_a_next_step(tmp_path, source):
    make(tmp_path, "a.jsonl")
    with pytest.raises(UsageError) as caught:
        discover([tmp_path, f"{tmp_path}/{source}"])
    assert caught.value.place == f"{tmp_path}/{source}"
    assert caught.value.next_step


def test_no_source_and_a_corpus_are_errors(tmp_path):
    make(tmp_path, CORPUS_MARKER)
    with pytest.raises(UsageError, match="corpus"):
        discover([tmp_path])
    with pytest.raises(UsageError):
        discover([])


def test_relative_sources(tmp_path, monkeypatch):
    make(tmp_path, "run/a.jsonl")
    monkeypatch.chdir(tmp_path)
    for source in ("run", "run/", "./run", "*/a.jsonl", "run/a.jsonl", "."):
        (file,) = discover([source]).files
        assert file.path == str(tmp_path / "run/a.jsonl")
