"""What every reader promises, over every sample: claimed once, read twice the same, tables that agree."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from corpora_in_tests import SAMPLES, contents, sample_files

import trajlab
from trajlab import Corpus
from trajlab.corpus.plan import Claim, claim
from trajlab.formats import COMPANIONS, FALLBACK_LOGS, LOGS, companion_format, log_format
from trajlab.metric_logs import METRIC_LOGS, metric_format
from trajlab.schema import TABLES, TRAJECTORIES
from trajlab.sources.discover import discover
from trajlab.sources.files import SourceFile
from trajlab.sources.probe import Probe
from trajlab.sources.torch_file import load_torch

COMPANION_NAMES = {
    "report.json": "swebench_report",
    "preds.json": "predictions",
    "metrics/samples/legacy_run.jsonl": "verl_metrics",
    "batch_summary.json": "trainer_sidecars",
    "_materialized_inputs.jsonl": "trainer_sidecars",
    "_aggregate_metrics.json": "trainer_sidecars",
    "_rollout_summaries.jsonl": "trainer_sidecars",
    "aggregated_results.jsonl": "trainer_sidecars",
    "tinker/made_up_run/config.json": "trainer_sidecars",
    "tinker/made_up_run/metrics.jsonl": "metric_rows",
    "stream.index.jsonl": "trainer_sidecars",
    "annotations/orchestrator/00000.jsonl": "trainer_sidecars",
    "trl/messages/trainer_state.json": "trainer_state",
}
"""How the paths of companions end."""
METRIC_SAMPLES = {
    "verl_console": "console", "areal_console": "console",
    "train.log": "console", "verl_tensorboard": "tensorboard", "events.out": "tensorboard",
    "trainer_state.json": "trainer_state", ".csv": "metric_csv", ".json": "metric_rows", ".parquet": "metric_rows",
}  # fmt: skip
"""What the path of a metric log holds."""
METRIC_PROBLEMS = {
    "areal_console/main.log": {"not_finite": 1},
    "prime_rl_metrics/metrics.jsonl": {"truncated": 1},
    "slime_console/train.log": {"not_finite": 1},
    "tinker_metrics/metrics.jsonl": {"metrics_restarted": 1},
    "trl_state/grpo/runs/Nov01_12-20-00_node/events.out.tfevents.1762000009.node.1.0": {"metrics_restarted": 1},
    "trl_state/grpo/train.log": {"metrics_restarted": 1},
    "verl_console/console.log": {"not_finite": 1},
    "verl_console_0.4/console.log": {"not_finite": 1},
    "verl_tensorboard/events.out.tfevents.1762000000.node.1.0": {"not_finite": 1},
}
HARNESS_FILES = re.compile(
    r"harbor/demo/(?:config|result)\.json|harbor/demo/[^/]+/(?:config|verifier/reward)\.json"
    r"|terminal_bench/[^/]+/(?:run_metadata|results)\.json"
)
EMPTY = "verl/edge_cases/empty_file/1.jsonl"
PROBLEMS = {
    "verl/edge_cases/bad_middle_line/1.jsonl": {"unreadable_record": 1},
    "verl/edge_cases/truncated_last_line/1.jsonl": {"truncated": 1},
    "verl/edge_cases/lone_surrogate/1.jsonl": {"cleaned": 1},
    "verl/edge_cases/nan_literal/1.jsonl": {"cleaned": 3},
    "verl/v1_validation/0.jsonl": {"session_outputs": 1},
    "verl/v1_validation/2.jsonl": {"session_outputs": 1},
    # Training data of NeMo-RL hold no roles.
    "nemo_rl/exp_001/train_data_step1.jsonl": {"roles_inferred": 1},
    "nemo_rl/exp_001/train_data_step2.jsonl": {"roles_inferred": 1},
    "trl/weighted_rewards/completions/completions_00001.parquet": {"not_reconciled": 1},
    # One sample of each step's batch; a norm that is NaN.
    **{
        f"openrlhf/{run}/events.out.tfevents.1762000001.node.1.0": {"one_sample_a_step": 1, "not_finite": 1}
        for run in ("llama3", "plain", "resumed")
    },
    "openrlhf/resumed/events.out.tfevents.1762000009.node.1.0": {"one_sample_a_step": 1},
    # Records of kinds that came later.
    **{
        path: {"unknown_kind": 1}
        for path in (
            "copilot_cli/subagents/00000000-0000-4000-8000-000000000103/events.jsonl",
            "cursor/results/00000000-0000-4000-8000-000000000104.jsonl",
            "droid/sessions/-work/00000000-0000-4000-8000-000000000102.jsonl",
            "droid/stream_json/older.jsonl",
            "codex/flat/drifted.jsonl",
            "pi/stopped/error.jsonl",
            "pi/stopped/length.jsonl",
            "gemini_cli/subagent/chats/session-2026-01-01T00-00-104.json",
        )
    },
    # Rows of episodes of which a later one is read.
    "harbor_traces/parquet/train-00000-of-00001.parquet": {"earlier_episodes": 1},
    "harbor_traces/rows/traces.jsonl": {"earlier_episodes": 1},
    "harbor_traces/steps/traces.jsonl": {"earlier_episodes": 1},
    # The user went back.
    "claude_code/rewound/00000000-0000-4000-8000-000000000105.jsonl": {"rewound": 1, "unknown_kind": 1},
    "gemini_cli/jsonl/chats/session-2026-01-01T00-00-102.jsonl": {"rewound": 1, "unknown_kind": 1},
    "pi/branched/session.jsonl": {"rewound": 1},
    # Two instrumentations recorded one call of the model.
    **{
        f"mlflow/{path}": {"nested_call": 1}
        for path in (
            "artifact/traces/trace-1/artifacts/traces.json",
            "search_traces/traces.jsonl",
            "search_traces/traces.parquet",
            "trace/traces.jsonl",
        )
    },
    # A condenser's call is no turn; the provider failed and was asked again.
    "openhands/completions/llm_completions/datekit__leap-102/scripted-model-1767225603.25.json": {"side_calls": 1},
    "openhands/completions/logs/completions/scripted-model-1767225602.000-0a1b-error.json": {"failed_calls": 1},
    # AgentLab's steps are pickles, which are not loaded: its summaries state what is not read.
    **{
        f"agentlab/study/2026-01-01_00-00-00_GenericAgent-scripted-model_on_miniwob.{name}/summary_info.json": {
            "not_reconciled": 1
        }
        for name in ("click-menu_7", "click-menu_8", "click-menu_9", "click-test_7", "click-test_8")
    },
    # The provider failed at the third call: three calls were counted, two turns came back.
    "mini_swe_agent/crashed/datekit__leap-102/datekit__leap-102.traj.json": {"not_reconciled": 1},
}
"""Problem rows per sample, where the samples' README says that something is odd."""

ALWAYS = {
    "trajectory_id", "run", "format", "variant", "root", "source", "source_line", "ordinal", "agent_chars",
    "reasoning_chars", "tail_repetitive", "content_digest",
}  # fmt: skip
"""Identity, and what is computed from any text: no variant declares them."""


FROM_THE_PATH = {"attempt"}
"""What a folder's name may tell where the log does not."""


def companion_of(path: str) -> str | None:
    if HARNESS_FILES.fullmatch(path):
        return "harness_files"
    if path.startswith("metric_logs/"):
        return next(name for part, name in METRIC_SAMPLES.items() if part in path)
    return next((name for end, name in COMPANION_NAMES.items() if path.endswith(end)), None)


def expected_format(path: str) -> str:
    folder = path.split("/")[0]
    return companion_of(path) or {"hacks": "chat"}.get(folder, folder)


def log_files() -> list[str]:
    return [path for path in sample_files() if companion_of(path) is None and path != EMPTY]


def logs() -> list[str]:
    """What is read on its own: a file, or the folder of files that are one conversation."""
    whole = {path: group(path) or path for path in log_files()}
    members = Counter(whole.values())
    places = {str(Path(place).parent) if members[place] > 1 and (SAMPLES / place).is_file() else place
              for place in whole.values()}  # fmt: skip
    return sorted(place for place in places if Path(place).parent.as_posix() not in places)


def group(path: str) -> str:
    name = path.split("/")[0]
    if not hasattr(log_format({"hacks": "chat"}.get(name, name)), "group"):
        return ""
    return claim(file_below_samples(path), None).group


@cache
def files_below_samples() -> dict[str, SourceFile]:
    return {file.relpath: file for file in discover([SAMPLES]).files}


def file_below_samples(path: str) -> SourceFile:
    return files_below_samples()[path]


@pytest.mark.parametrize("path", sample_files())
def test_exactly_one_reader_claims_a_sample(path: str) -> None:
    probe = Probe(file_below_samples(path))
    strict = [name for name in LOGS if log_format(name).recognise(probe)]
    strict = [name for name in strict if hasattr(log_format(name), "HOLDS_LOGS")] or strict
    strict += [name for name in COMPANIONS if companion_format(name).recognise(probe)]
    strict += [name for name in METRIC_LOGS if metric_format(name).recognise(probe)]
    fallback = [name for name in FALLBACK_LOGS if log_format(name).recognise(probe)]
    claimed = claim(file_below_samples(path), None)
    if path == EMPTY:
        assert (strict, fallback, claimed.role) == ([], [], "unclaimed")
        return
    expected = expected_format(path)
    assert (strict or fallback) == [expected]
    assert claimed.format == expected
    roles = {**dict.fromkeys(COMPANIONS, "companion"), **dict.fromkeys(METRIC_LOGS, "metrics")}
    assert claimed.role == roles.get(expected, "log")


@pytest.mark.parametrize("path", logs())
def test_a_log_is_read_the_same_twice_and_its_tables_agree(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = trajlab.ingest(SAMPLES / path, out=tmp_path / "first")
    monkeypatch.chdir((SAMPLES / path).parent)
    trajlab.ingest(Path(path).name, out=tmp_path / "second")
    assert contents(tmp_path / "first" / "parts") == contents(tmp_path / "second" / "parts")
    trajectories = first.trajectories.collect()
    assert trajectories.height > 0
    assert trajectories["trajectory_id"].is_unique().all()
    assert not trajectories["duplicate"].any()
    known = next((codes for place, codes in PROBLEMS.items() if place == path or place.startswith(f"{path}/")), {})
    assert Counter(first.problems.collect()["code"].to_list()) == known
    check_counts(first)


def check_counts(corpus: Corpus) -> None:
    """Every per-trajectory count equals the rows of the table it counts."""
    trajectories = corpus.trajectories.collect()
    ids = set(trajectories["trajectory_id"])
    per_agent = corpus.tool_calls.filter(pl.col("requestor") == "agent")
    for column, frame in (("n_steps", corpus.steps), ("n_messages", corpus.messages), ("n_calls", per_agent)):
        counted = dict(frame.group_by("trajectory_id").len().collect().iter_rows())
        stated = dict(trajectories.select("trajectory_id", column).iter_rows())
        assert counted == {key: number for key, number in stated.items() if number}, column
    for name in ("commands", "rewards", "texts", "tool_calls"):
        assert set(corpus.table(name).collect()["trajectory_id"]) <= ids, name
    calls, steps = corpus.tool_calls.collect(), corpus.steps.collect()
    assert calls.join(steps, on=["trajectory_id", "step"], how="anti").is_empty()
    assert corpus.commands.collect().join(calls, on=["trajectory_id", "call", "step"], how="anti").is_empty()
    inside = calls.group_by("trajectory_id", "step").len()
    joined = steps.join(inside, on=["trajectory_id", "step"], how="left")
    assert joined["calls"].to_list() == joined["len"].fill_null(0).to_list()
    assert calls.filter(pl.col("output_chars").is_not_null() & ~pl.col("executed")).is_empty()


def check_schemas(corpus: Corpus) -> None:
    """Tables on disk are the declared ones, and all convert to pandas; once, of all samples: they hold every column."""
    for name, table in TABLES.items():
        frame = corpus.table(name).collect()
        assert frame.schema == pl.Schema(table.polars()), name
        pandas = frame.to_pandas()
        assert (list(pandas.columns), len(pandas)) == (table.names, frame.height)
        for column in table.columns:
            if not column.null:
                assert frame[column.name].null_count() == 0, f"{name}.{column.name}"
    for path in corpus.folder.glob("parts/*/*.parquet"):
        assert dict(pl.read_parquet_schema(path)) == TABLES[path.name.split(".")[0]].polars(), path.name
    corpus.trajectories.collect().to_pandas()


@pytest.mark.parametrize("format_name", [*LOGS, *FALLBACK_LOGS])
def test_ids_and_digests_stay_when_the_folder_moves(format_name: str, tmp_path: Path) -> None:
    kept = ["trajectory_id", "content_digest", "source", "run"]
    here = trajlab.read(SAMPLES / format_name).trajectories.select(kept).collect()
    shutil.copytree(SAMPLES / format_name, tmp_path / "elsewhere" / format_name)
    moved = trajlab.read(tmp_path / "elsewhere" / format_name).trajectories.select(kept).collect()
    assert here["trajectory_id"].is_unique().all()
    assert here.sort("trajectory_id").equals(moved.sort("trajectory_id"))


EVERY_COLUMN: dict[str, Any] = {
    "id": "row-1", "instance_id": "task-1", "model": "m", "resolved": True, "is_correct": True, "reward": 1.0,
    "exit_status": "submitted", "model_patch": "diff", "train_step": 3, "epoch": 1, "split": "train", "attempt": 2,
    "group_id": "g", "agent": "a", "tools": [{"type": "function", "function": {"name": "bash"}}],
}  # fmt: skip


def fuller_samples(folder: Path) -> None:
    """Samples with what no sample happens to have: every column beside each spelling; token counts of a model."""
    for spelling in ("openai", "anthropic", "responses", "sharegpt"):
        line = (SAMPLES / "chat" / spelling / "rows.jsonl").read_text(encoding="utf-8").split("\n")[0]
        (folder / f"{spelling}.jsonl").write_text(json.dumps(json.loads(line) | EVERY_COLUMN) + "\n", encoding="utf-8")
    task = "datekit__leap-102"
    usage = {
        "prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }  # fmt: skip
    for number, run in enumerate(("mini-swe-agent-demo/attempt_1", "version_1.15.0")):
        document = json.loads((SAMPLES / "mini_swe_agent" / run / task / f"{task}.traj.json").read_bytes())
        for message in document["messages"]:
            if message["role"] == "assistant":
                message["extra"]["response"] = {"usage": usage, "created": 1_763_511_136}
        (folder / f"{number}.traj.json").write_text(json.dumps(document), encoding="utf-8")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    folder = tmp_path_factory.mktemp("everything")
    (folder / "fuller").mkdir()
    fuller_samples(folder / "fuller")
    yield trajlab.ingest(SAMPLES, folder / "fuller", out=folder / "corpus")


@pytest.mark.parametrize("format_name", [*LOGS, *FALLBACK_LOGS])
def test_a_variant_carries_what_it_declares_and_nothing_else(format_name: str, everything: Corpus) -> None:
    source = everything.table("trajectories").filter(pl.col("format") == format_name).collect()
    variants = log_format(format_name).VARIANTS
    assert set(source["variant"]) == set(variants)
    for name, variant in variants.items():
        frame = source.filter(pl.col("variant") == name)
        filled = {c for c in TRAJECTORIES.names if c not in ALWAYS and frame[c].null_count() < frame.height}
        assert filled - variant.carries <= FROM_THE_PATH, name
        assert variant.carries <= filled, name


def test_all_samples_together_have_no_unexplained_problem(everything: Corpus) -> None:
    found = Counter(everything.problems.select("source", "code").collect().iter_rows())
    expected = {(path, code): n for path, codes in PROBLEMS.items() for code, n in codes.items()}
    # Beside other samples its rollouts are those of one run with theirs.
    expected[("verl/legacy_run/metrics/samples/legacy_run.jsonl", "not_reconciled")] = 1
    expected[("trl/messages/trainer_state.json", "not_reconciled")] = 1
    # Beside other samples the runs of a folder are one: each begins at step 1, one goes on from step 5.
    again = {"plain/{}1": "metrics_restarted", "resumed/{}1": "metrics_restarted", "resumed/{}9": "metrics_repeated"}
    for path, code in again.items():
        expected[(f"openrlhf/{path.format('events.out.tfevents.176200000')}.node.1.0", code)] = 1
    metrics = [path for path in sample_files() if path.startswith("metric_logs/")]
    expected |= {(path, "metrics_without_run"): 1 for path in metrics}  # beside the runs of all other samples
    expected |= {(f"metric_logs/{path}", c): n for path, codes in METRIC_PROBLEMS.items() for c, n in codes.items()}
    assert found == {**expected, (EMPTY, "empty_file"): 1, ("gold/commands.jsonl", "unrecognised"): 1}
    check_counts(everything)
    check_schemas(everything)


CONVERSATIONS_BY_LINE = {f"jazzyalex+agent-sessions/Resources/Fixtures/{name}.jsonl" for name in ("session_simple",)}
"""Files with one message a line: one conversation each."""
SEVERAL = ("claude_code", "copilot_cli", "opencode", "tau2")
"""A session may hold the conversations of subagents, too; a folder of tau2 holds all simulations of a run, a storage of
opencode all sessions."""
RECORD_PROBLEMS = ("unreadable_record", "truncated", "no_messages", "no_events", "wrong_type")


@pytest.mark.parametrize("folder", ["written", "public"])
def test_every_shared_record_is_a_trajectory_or_a_reasoned_problem(folder: str, shared: Path, tmp_path: Path) -> None:
    corpus = trajlab.ingest(shared / "samples" / folder, out=tmp_path / "corpus")
    check_counts(corpus)
    check_schemas(corpus)
    logs = corpus.sources.filter(pl.col("role") == "log").collect()
    lost = corpus.problems.filter(pl.col("code").is_in(RECORD_PROBLEMS) & pl.col("trajectory_id").is_null()).collect()
    lost_by_source = Counter(lost["source"].to_list())
    assert logs.height >= {"written": 20, "public": 6}[folder]
    assert "" not in lost["message"].to_list()
    claims = {file.relpath: claim(file, None) for file in discover([shared / "samples" / folder]).files}
    read: Counter[str] = Counter()
    for row in logs.iter_rows(named=True):
        place = claims[row["source"]].group or row["source"]
        read[place] += row["trajectories"] + lost_by_source[row["source"]]
    for row in logs.iter_rows(named=True):
        claimed = claims[row["source"]]
        found, records = read[claimed.group or row["source"]], count_records(claimed)
        assert found == records or (found > records and claimed.format in SEVERAL), row["source"]


def count_records(claimed: Claim) -> int:
    """Records of a log: one for a conversation (folder, document or file of lines); else its lines or elements."""
    variant = log_format(claimed.format or "").VARIANTS[claimed.variant or ""]
    one = claimed.format == "mini_swe_agent" or claimed.file.relpath in CONVERSATIONS_BY_LINE
    if claimed.group or variant.whole or one:
        return 1
    if claimed.variant in ("eval", "chunked"):
        with zipfile.ZipFile(claimed.file.path) as archive:
            found = [re.match(r"samples/([^/]+?)(?:\.json|/.+)$", name) for name in archive.namelist()]
        return len({name[1] for name in found if name})
    path = Path(claimed.file.path)
    if path.suffix == ".parquet":
        return int(pq.read_metadata(path).num_rows)
    data = path.read_bytes()
    if claimed.format == "roll":  # a line holds a whole step in columns
        return sum(len(json.loads(line)["responses"]) for line in data.split(b"\n") if line)
    if path.suffix == ".pt":
        return len(load_torch(path)["samples"])
    try:
        document = json.loads(data)
    except json.JSONDecodeError:
        return len([line for line in data.split(b"\n") if line.strip()])
    if claimed.format == "inspect_log":
        return len(document.get("samples") or [])
    return len(document) if isinstance(document, list) else 1
