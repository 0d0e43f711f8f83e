"""Every log of the shared samples: one reader claims it, nothing fails, problems only where the file is broken."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from test_contract import ALWAYS, FROM_THE_PATH

import trajlab
from trajlab.corpus.plan import claim
from trajlab.formats import COMPANIONS, FALLBACK_LOGS, LOGS, companion_format, log_format
from trajlab.metric_logs import METRIC_LOGS, metric_format
from trajlab.sources.files import SourceFile
from trajlab.sources.probe import Probe

NO_LOGS = {
    "chat template",  # texts that templates are tried on
    "trainer metric logs",  # another stage's
    "swe-agent aux",  # a demonstration as YAML, and predictions
    "run.log", "format",
}  # fmt: skip
"""Formats of the manifest that hold no trajectory."""
UNCLAIMED = {
    "public/OpenHands+software-agent-sdk/tests/sdk/conversation/goal/fixtures/expected_transcript.txt",
    "public/sierra-research+tau2-bench/tests/test_voice/test_interaction_metrics/testdata/expected_metrics.json",
    "written/harbor_0.26.0_atif/atif-v1.8.schema.json",
    "written/trainers/trl_1.16.0/run.log",
    "written/trainers/run.log",
    "written/trainers/verl/console.log",
    "written/tracing/mlflow_artifacts_traces.json", "written/tracing/mlflow_trace_info.yaml",
    "written/trainers/trl_1.16.0/run1/runs/Nov29_17-20-26_vm/events.out.tfevents.1795972826.vm.25003.0",
    "written/trainers/trl_1.16.0/run1/runs/Nov29_17-21-23_vm/events.out.tfevents.1795972883.vm.25003.1",
    "written/trainers/verl/tensorboard/events.out.tfevents.1795973307.vm.15696.0",
}  # fmt: skip
"""Files among the logs that are none, or of which no reader is promised: expectations of tests, a schema, consoles,
TensorBoard, MLflow's own store. One reader may claim them, but not two."""
BROKEN = {
    # A state without the events it speaks of.
    "public/OpenHands+software-agent-sdk/tests/fixtures/conversations/v1_11_5_cli_default/base_state.json": "no_events",
    # Logs that state more samples than they hold.
    "public/UKGovernmentBEIS+inspect_ai/tests/analysis/test_logs/2025-05-12T20-28-13-04-00_no-samples.json":
        "not_reconciled",
    "public/UKGovernmentBEIS+inspect_ai/tests/log/test_eval_log/log_tool_call_error.json": "not_reconciled",
    # A session trimmed by hand: its totals are not those of its turns.
    "public/jazzyalex+agent-sessions/Resources/Fixtures/stage0/agents/codex/small.jsonl": "not_reconciled",
    # The model raised within its second call.
    "written/mini_swe_agent_2.4.6/text_uncaught_exception.traj.json": "not_reconciled",
    # Scores that are NaN and infinite, as JSON has no words for.
    "written/trainers/verl/edge_cases/v0/7.jsonl": "cleaned",
    "written/trainers/verl/edge_cases/v1/7.jsonl": "cleaned",
    # Training data without roles, whose arrays are cut at 160 tokens.
    **{
        f"written/trainers/nemo_rl/exp_001/train_data_step{step}.jsonl": "roles_inferred token_lengths"
        for step in (1, 2, 3)
    },
    # A branch that was left.
    "public/jazzyalex+agent-sessions/Resources/Fixtures/stage0/agents/claude/small.jsonl": "rewound",
    # Read with everything below one folder, they belong to a run that holds the rollouts of other trainers, too.
    "written/trainers/trl_1.16.0/run1/trainer_state.json":
        "eval_over_train metrics_disagree metrics_restarted not_reconciled",
    "written/trainers/verl/file_logger/tiny_shop/grpo_cpu.jsonl": "not_reconciled",
}  # fmt: skip
"""Source -> codes of the problems that it rightly has."""


MORE_THAN_DECLARED = {"atif.1.7": {"reasoning_tokens"}, "swe_agent.0.x": {"model"}}
"""Columns that real logs fill and the samples of the repository, by which variants declare theirs, do not."""


def manifest(shared: Path) -> dict[str, str]:
    """Path -> format of every file that the manifest names, folders spread out."""
    folder = shared / "samples"
    found: dict[str, str] = {}
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            place = folder / row["path"]
            paths = [place] if place.is_file() else sorted(place.rglob("*"))
            found |= {path.relative_to(folder).as_posix(): row["format"] for path in paths if path.is_file()}
    return found


@pytest.fixture(scope="module")
def corpus(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[trajlab.Corpus]:
    yield trajlab.ingest(shared / "samples", out=tmp_path_factory.mktemp("shared") / "corpus")


def test_exactly_one_reader_claims_each_log(shared: Path) -> None:
    folder = shared / "samples"
    wrong: dict[str, list[str]] = {}
    for path, said in manifest(shared).items():
        place = folder / path
        file = SourceFile(str(folder), path, str(place), place.stat().st_size, place.stat().st_mtime_ns)
        probe = Probe(file)
        found = [name for name in LOGS if log_format(name).recognise(probe)]
        found = [name for name in found if hasattr(log_format(name), "HOLDS_LOGS")] or found
        found += [name for name in COMPANIONS if companion_format(name).recognise(probe)]
        found += [name for name in METRIC_LOGS if metric_format(name).recognise(probe)]
        found = found or [name for name in FALLBACK_LOGS if log_format(name).recognise(probe)]
        claimed = claim(file, None)
        expected = 1
        if said in NO_LOGS or path in UNCLAIMED:
            expected = min(len(found), 1)
        if len(found) != expected or (claimed.format or "") != (found[0] if found else ""):
            wrong[path] = found
    assert wrong == {}


def test_problems_stand_only_where_a_file_is_broken(shared: Path, corpus: trajlab.Corpus) -> None:
    logs = {path for path, said in manifest(shared).items() if said not in NO_LOGS} - UNCLAIMED
    rows = corpus.problems.filter(pl.col("source").is_in(list(logs))).collect()
    codes = rows.group_by("source").agg(pl.col("code").unique().sort().str.join(" "))
    assert dict(codes.iter_rows()) == BROKEN
    assert "reader_failed" not in corpus.problems.collect()["code"].to_list()


def test_every_log_gives_trajectories(shared: Path, corpus: trajlab.Corpus) -> None:
    sources = corpus.sources.filter(pl.col("role") == "log").collect()
    folder = shared / "samples"
    made: Counter[str] = Counter()
    for row in sources.iter_rows(named=True):
        place = folder / row["source"]
        file = SourceFile(str(folder), row["source"], str(place), place.stat().st_size, place.stat().st_mtime_ns)
        made[claim(file, None).group or row["source"]] += row["trajectories"]
    empty = {place for place, count in made.items() if not count}
    # The state without events, and an Inspect log whose samples were taken out.
    broken = {path for path, code in BROKEN.items() if code in ("no_events", "not_reconciled") and "no-samples" in path}
    assert {path for path in empty if "v1_11_5_cli_default" not in path} == broken


def test_variants_fill_what_they_declare_and_nothing_else(corpus: trajlab.Corpus) -> None:
    frame = corpus.table("trajectories").collect()
    unsaid: dict[str, set[str]] = {}
    never: dict[str, int] = {}
    for (name, variant), own in frame.partition_by("format", "variant", as_dict=True).items():
        carries = log_format(str(name)).VARIANTS[str(variant)].carries
        filled = {c for c in own.columns if c not in ALWAYS and own[c].null_count() < own.height}
        if extra := filled - carries - FROM_THE_PATH:
            unsaid[f"{name}.{variant}"] = extra
        never[f"{name}.{variant}"] = len(carries & filled)
    assert unsaid == MORE_THAN_DECLARED
    assert min(never.values()) > 0, "each fills columns that it declares"
    assert len(never) >= 45
