"""Hidden folders below a source are not searched, and say so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import trajlab
from trajlab.errors import UsageError

ROW = json.dumps(
    {"task_id": "t", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
)


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{ROW}\n")


def problems(*sources: Path) -> list[tuple[str, str, str]]:
    return sorted(trajlab.read(*sources).problems.select("source", "code", "message").collect().rows())


def test_a_hidden_folder_is_one_row_with_the_number_of_its_files(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", ".old/1.jsonl", ".old/deep/.er/2.jsonl", "b/.cache/3.jsonl", ".note.jsonl")
    (tmp_path / ".empty").mkdir()
    words = "in a hidden folder, left out; name the folder as a source to have it read"
    assert problems(tmp_path) == [
        (".old", "hidden_folder", f"2 files {words}"),
        ("b/.cache", "hidden_folder", f"1 file {words}"),
    ]
    assert trajlab.read(tmp_path).trajectories.collect().height == 2  # hidden files are read


def test_folders_of_tools_are_one_row(tmp_path: Path) -> None:
    checkpoints = ("b/.ipynb_checkpoints/1.jsonl", "c/.ipynb_checkpoints/1.jsonl")
    write(tmp_path, "a.jsonl", ".git/config", ".venv/x.json", "__pycache__/x.pyc", *checkpoints)
    assert problems(tmp_path) == [
        (".", "tool_folders",
         "folders that tools keep for themselves, left out: .git 1, .ipynb_checkpoints 2, .venv 1")
    ]  # fmt: skip


def test_a_hidden_folder_that_is_named_is_read_and_no_problem(tmp_path: Path) -> None:
    write(tmp_path, ".logs/1.jsonl", "a.jsonl")
    assert problems(tmp_path, tmp_path / ".logs") == []
    assert trajlab.read(tmp_path / ".logs").trajectories.collect().height == 1
    write(tmp_path, ".logs/other/2.jsonl")
    ((source, _, message),) = problems(tmp_path, tmp_path / ".logs" / "1.jsonl")
    assert (source, message[:6]) == (".logs", "1 file")


def test_logs_in_a_hidden_folder_only_are_named(tmp_path: Path) -> None:
    write(tmp_path, ".logs/1.jsonl")
    with pytest.raises(UsageError, match=r"no files but in the hidden folder \.logs"):
        trajlab.read(tmp_path)
