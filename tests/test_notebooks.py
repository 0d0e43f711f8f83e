"""Every notebook that is shipped runs through the runner: on samples, on one trajectory, on one where all failed."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.errors import ExitCode
from trajlab.report.record import RunRecord
from trajlab.report.runner import run_notebook
from trajlab.review.labels import Label, append


def run(notebook: str, corpus: Corpus, out: Path, **parameters: object) -> RunRecord:
    return run_notebook(
        notebook,
        out,
        {"corpus": str(corpus.folder), **parameters},
        title=notebook,
        data_fingerprint=corpus.manifest.assembled_from,
    )


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    out = tmp_path_factory.mktemp("samples") / "corpus"
    return trajlab.ingest(SAMPLES / "mini_swe_agent" / "mini-swe-agent-demo", out=out)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """One trajectory of which little is known."""
    folder = tmp_path_factory.mktemp("alone")
    row = {"messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]}
    (folder / "log.jsonl").write_bytes(msgspec.json.encode(row) + b"\n")
    return trajlab.ingest(folder / "log.jsonl", out=folder / "corpus")


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Every trajectory failed: no reward, no verdict but no."""
    folder = tmp_path_factory.mktemp("failed")
    rows = [
        {"messages": [{"role": "user", "content": f"task {n}"}, {"role": "assistant", "content": ""}],
         "instance_id": f"t{n}", "resolved": False, "reward": 0.0, "exit_status": "RuntimeError"}
        for n in range(12)
    ]  # fmt: skip
    (folder / "log.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return trajlab.ingest(folder / "log.jsonl", out=folder / "corpus")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Metrics, and no trajectory."""
    out = tmp_path_factory.mktemp("empty") / "corpus"
    return trajlab.ingest(SAMPLES / "metric_logs" / "art_history", out=out)


@pytest.mark.parametrize("notebook", ["explore", "epoch_audit"])
def test_without_a_trajectory_nothing_passes(notebook: str, empty: Corpus, tmp_path: Path) -> None:
    record = run(notebook, empty, tmp_path)
    assert (record.status, record.exit_code) == ("inconclusive", ExitCode.GATE_FAILED)
    assert record.inconclusive_gates == ["coverage"]


def test_without_a_trajectory_there_is_nothing_to_draw(empty: Corpus, tmp_path: Path) -> None:
    record = run("review_sample", empty, tmp_path)
    assert (record.status, record.exit_code) == ("error", ExitCode.NOTEBOOK)
    assert "no trajectory to draw from" in record.message


def test_a_comparison_of_little_says_so(alone: Corpus, failed: Corpus, tmp_path: Path) -> None:
    corpora = [str(alone.folder), str(failed.folder)]
    parameters = {"corpora": corpora, "runs": [*alone.runs, *failed.runs], "names": ["alone", "failed"]}
    record = run_notebook("compare_runs", tmp_path, parameters, title="few", data_fingerprint="few")
    assert record.status in ("passed", "failed", "inconclusive"), record.message


@pytest.mark.parametrize("which", ["alone", "empty"])
def test_a_diagnosis_of_little_says_what_is_not_observed(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    corpus = request.getfixturevalue(which)
    record = run("run_diagnosis", corpus, tmp_path, run=[*corpus.runs, *corpus.metric_runs][0])
    assert record.status in ("passed", "failed", "inconclusive"), record.message
    result = json.loads((tmp_path / record.folder / "result.json").read_text("utf-8"))
    assert len(result["layers"]) == 15
    assert any(layer["status"] == "unobserved" for layer in result["layers"])


@pytest.mark.parametrize("notebook", ["explore", "review_sample", "epoch_audit"])
@pytest.mark.parametrize("which", ["samples", "alone", "failed"])
def test_notebooks_run(notebook: str, which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    record = run(notebook, request.getfixturevalue(which), tmp_path)
    assert record.status in ("passed", "failed", "inconclusive"), record.message
    page = (tmp_path / record.folder / "report.html").read_text("utf-8")
    assert "<summary>Traceback</summary>" not in page
    assert (tmp_path / record.folder / "result.json").is_file()


def test_a_labelled_sample_gives_results(samples: Corpus, tmp_path: Path) -> None:
    first = run("review_sample", samples, tmp_path, n=6, by=["correct"])
    assert first.exit_code == ExitCode.PASSED
    manifest = json.loads((tmp_path / first.folder / "sample.json").read_text("utf-8"))
    said = [
        Label(reviewer="ann", sample=manifest["id"], item=item["trajectory_id"], question="solved", value="yes",
              at="2026-01-01T00:00:00Z")
        for item in manifest["items"]
    ]  # fmt: skip
    append(tmp_path / "ann.jsonl", said[:4])
    parameters = {"n": 6, "by": ["correct"], "labels": [str(tmp_path / "ann.jsonl")], "flags": ["tool_used"]}
    part = run("review_sample", samples, tmp_path, **parameters)
    assert (part.status, part.inconclusive_gates) == ("inconclusive", ["labelled"])
    append(tmp_path / "ann.jsonl", said[4:])
    whole = run("review_sample", samples, tmp_path, **{**parameters, "seed": 0, "positive": "yes"})
    assert whole.status == "passed"
    result = json.loads((tmp_path / whole.folder / "result.json").read_text("utf-8"))
    shares = [row for row in result["measures"] if row["name"] == "share"]
    assert [(row["group"], row["value"], row["denominator"]) for row in shares] == [('"yes"', 1.0, 6.0)]
    assert {row["name"] for row in result["measures"]} >= {"precision", "recall", "corrected_share"}
