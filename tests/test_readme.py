"""README.md says what the code does: generated parts are current, its example runs, its names exist."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from readme_tables import README, cell, regenerated, stale

from trajlab.cli import cli

ROOT = README.parent
TEXT = README.read_text("utf-8")


def test_generated_parts_are_current() -> None:
    assert stale(TEXT) == [], "run: python tests/readme_tables.py --write"


def test_an_edited_part_is_found_and_mended() -> None:
    broken = TEXT.replace("| 4 | infrastructure", "| 5 | infrastructure")
    assert stale(broken) == ["exit_codes"]
    assert regenerated(broken) == TEXT
    with pytest.raises(ValueError, match="generated parts"):
        stale(TEXT.replace("<!-- generated: checks -->", ""))


def test_cells_cannot_break_a_table() -> None:
    assert cell("a | b\nc") == "a \\| b c"


def test_python_example_runs(tmp_path: Path) -> None:
    example = TEXT.split("<!-- example -->")[1].split("```python\n")[1].split("```")[0]
    shutil.copytree(ROOT / "data_samples" / "mini_swe_agent", tmp_path / "data_samples" / "mini_swe_agent")
    (tmp_path / "example.py").write_text(example, "utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "0 reports/index.html"
    assert (tmp_path / "reports" / "index.html").is_file()


def test_label_in_the_example_is_true() -> None:
    from trajlab import label_command

    call, said = re.findall(r"label_command\((\".*?\")\)  # frozenset\(\{'(.*?)'\}\)", TEXT)[0]
    assert label_command(call.strip('"')) == {said}


def test_commands_and_options_exist() -> None:
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL))
    shown = re.findall(r"^(?:.*&& )?(?:uv run |\.venv/bin/)?trajlab ([a-z]+)([^#\n]*)", blocks, re.MULTILINE)
    assert {name for name, _ in shown} == set(cli.commands)
    for name, rest in shown:
        command = cli.commands[name]
        if isinstance(command, click.Group):
            command = command.commands[rest.split()[0]]
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)) <= known


def test_codes_of_the_reading_are_named() -> None:
    source = (ROOT / "trajlab" / "checks" / "reading.py").read_text("utf-8")
    codes = set(re.findall(r'"([A-Z]\d{3})"', source))
    assert codes == set(re.findall(r"\b[PV]\d{3}\b", TEXT))


def test_files_that_are_named_exist() -> None:
    for path in re.findall(r"`((?:tests|trajlab|notebooks|data_samples)/[\w./-]*)`", TEXT):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_inside_the_repository_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\((?!https?://|#)([^)]+)\)", (ROOT / name).read_text("utf-8")):
        assert (ROOT / target).exists(), target


def test_contents_lead_to_every_chapter() -> None:
    prose = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
    headings = re.findall(r"^##+ (.+)$", prose, re.MULTILINE)
    anchors = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    links = re.findall(r"\]\(#([^)]+)\)", TEXT)
    assert set(links) <= set(anchors)
    chapters = re.findall(r"^## (.+)$", prose, re.MULTILINE)
    assert re.findall(r"\[([^]]+)\]\(#", TEXT)[: len(chapters)] == chapters
