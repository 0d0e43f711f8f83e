"""Why a file is claimed or not."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from corpora_in_tests import SAMPLES, sample_files

import trajlab
from trajlab.cli import cli
from trajlab.corpus.why import why
from trajlab.sources.discover import discover
from trajlab.sources.field_mapping import FieldMapping


@pytest.mark.parametrize("path", sample_files())
def test_what_a_claimed_sample_expects_is_there(path: str) -> None:
    reasons = why(discover([SAMPLES / path]).files[0], fields=False)
    own = [match for match in reasons.matches if (match.format, match.variant) == (reasons.claimed_by, reasons.variant)]
    assert all(match.missing == () for match in own)
    if reasons.claimed_by is not None:
        assert f"claimed by: {reasons.claimed_by} ({reasons.variant})" in reasons.lines()


def test_a_near_miss_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "7.jsonl"
    path.write_text(json.dumps({"input": "a", "output": "b", "reward": 1.0}) + "\n")
    result = CliRunner().invoke(cli, ["formats", "--why", str(path)])
    assert result.exit_code == 0
    assert "claimed by: no reader" in result.output
    assert "verl (legacy): has input, output; lacks score" in result.output


def test_right_keys_with_wrong_values_are_told(tmp_path: Path) -> None:
    path = tmp_path / "7.jsonl"
    path.write_text(json.dumps({"input": "a", "output": 3, "score": 1.0}) + "\n")
    said = why(discover([path]).files[0]).lines()
    assert "verl (legacy): has input, output, score; but its values are not as expected" in said


def test_a_file_that_nobody_is_near_is_sent_to_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "a", "dialog": []}\n')
    file = discover([path]).files[0]
    assert why(file).lines()[-1] == "no reader is near; a mapping can name where its fields stand (--mapping)"
    mapping = FieldMapping("ours", messages="dialog", columns={"reward": "scores.0"})
    reasons = why(file, mapping)
    assert (reasons.claimed_by, reasons.variant) == ("mapped", "ours")
    assert "mapped (ours): has dialog; lacks scores.0" in reasons.lines()


def test_what_keeps_a_file_from_being_looked_into_is_told(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}')[:-12])
    shutil.copy(SAMPLES / "verl/version_0.5.0/1.jsonl", tmp_path)
    problems = trajlab.read(tmp_path).problems.filter(code="unrecognised").collect()
    told = dict(problems.select("source", "message").rows())
    assert told["rows.parquet"].startswith("no reader claims it: Parquet cannot be read: ")
    assert told["rows.jsonl.gz"] == "no reader claims it: gzip data ends early"


def test_hostile_keys_are_shown_as_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"a\x1b[2J\nb": 1}) + "\n")
    output = CliRunner().invoke(cli, ["formats", "--why", str(path)]).output
    assert "\x1b" not in output


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["formats", "--why", str(tmp_path / "no.jsonl")])
    assert result.exit_code != 0
