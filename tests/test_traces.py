"""MLflow, LangSmith, Langfuse, agent-lightning: one trajectory a trace, however deep, broken or long it is."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from corpora_in_tests import SAMPLES
from hypothesis import given
from hypothesis import strategies as st

import trajlab
from trajlab import Corpus
from trajlab.behavior.termination import CLASSES
from trajlab.formats._observations import TRACES, Observation, fill
from trajlab.formats._observed_messages import _said, _said_at_length, answer, given_messages, given_tools
from trajlab.records import Trajectory

FACTS = [
    "native_id", "task_id", "n_steps", "n_calls", "n_executed", "prompt_tokens", "completion_tokens", "cached_tokens",
    "cost", "seconds", "started_at", "model", "agent", "content_digest",
]  # fmt: skip


def facts(place: str, *more: str) -> list[tuple[Any, ...]]:
    rows = trajlab.read(SAMPLES / place).trajectories.sort("native_id").collect()
    return rows.select(*FACTS, *more).rows()


def calls_of(corpus: Corpus) -> pl.DataFrame:
    return corpus.tool_calls.sort("trajectory_id", "step", "call").collect()


def test_states_are_classes() -> None:
    assert set(TRACES.values()) <= {*CLASSES, "ended"}


def test_a_trace_of_mlflow_by_hand() -> None:
    corpus = trajlab.read(SAMPLES / "mlflow" / "trace" / "trace.json")
    row = corpus.trajectories.collect().row(0, named=True)
    assert (row["n_steps"], row["n_calls"], row["prompt_tokens"], row["completion_tokens"]) == (4, 3, 3600, 160)
    assert (row["cached_tokens"], row["cost"], row["seconds"]) == (2400, pytest.approx(0.016), 19.0)
    assert (row["stop_reason"], row["termination"], row["tools_offered"]) == ("OK", "unknown", "bash read_file")
    calls = calls_of(corpus)
    # The failed tool has no output of its own: what the model was told of it counts. The last one has no span.
    assert calls["output_chars"].to_list() == [24, 20, 21]
    assert calls["is_error"].to_list() == [None, True, None]
    assert calls["seconds"].to_list() == [2.0, 2.0, None]
    assert sorted(corpus.rewards.select("name", "value").collect().rows()) == [("polite", 1.0), ("style", 0.5)]


def test_containers_of_mlflow_agree() -> None:
    artifact = facts("mlflow/artifact")
    assert facts("mlflow/trace/traces.jsonl") == artifact
    lines = facts("mlflow/search_traces/traces.jsonl", "stop_reason")
    assert [row[:-1] for row in lines] == artifact
    assert {row[-1] for row in lines} == {"OK", "ERROR"}


def test_parquet_of_mlflow_is_read_as_its_lines(tmp_path: Path) -> None:
    assert facts("mlflow/search_traces/traces.parquet") == facts("mlflow/search_traces/traces.jsonl")


def test_a_call_told_twice_counts_once() -> None:
    corpus = trajlab.read(SAMPLES / "mlflow" / "artifact" / "traces" / "trace-1")
    row = corpus.trajectories.collect().row(0, named=True)
    assert (row["n_steps"], row["prompt_tokens"], row["reasoning_chars"]) == (1, 900, len("A repair is asked for."))
    (problem,) = corpus.problems.collect()["message"].to_list()
    assert problem.endswith("counted once: 1")


def test_totals_that_mlflow_states_are_reconciled(tmp_path: Path) -> None:
    record = json.loads((SAMPLES / "mlflow" / "trace" / "trace.json").read_bytes())
    metadata = record["info"]["trace_metadata"]
    metadata["mlflow.trace.tokenUsage"] = json.dumps({"input_tokens": 1, "output_tokens": 160})
    metadata["mlflow.trace.sizeStats"] = json.dumps({"num_spans": 9})
    (tmp_path / "trace.json").write_text(json.dumps(record))
    problems = trajlab.read(tmp_path).problems.collect()
    assert problems["message"].to_list() == [
        "the log states 1 prompt tokens, 3600 were read",
        "the log states 9 spans, 7 were read",
    ]


def test_older_spans_of_mlflow(tmp_path: Path) -> None:
    def span(key: str, parent: str | None, kind: str, given: Any, gave: Any) -> dict[str, Any]:
        attributes = {"mlflow.spanType": kind, "mlflow.spanInputs": given, "mlflow.spanOutputs": gave}
        return {
            "name": "bash", "context": {"span_id": key, "trace_id": "0x1"}, "parent_id": parent, "start_time": 10**18,
            "end_time": 10**18 + 10**9, "status_code": "OK", "events": [],
            "attributes": {name: json.dumps(value) for name, value in attributes.items()},
        }  # fmt: skip

    spans = [span("0x1", None, "LLM", "Do it.", "Done."), span("0x2", "0x1", "TOOL", {"command": "ls"}, "a.txt")]
    record = {"info": {"request_id": "r", "status": "OK"}, "data": {"spans": spans}}
    (tmp_path / "trace.json").write_text(json.dumps(record))
    corpus = trajlab.read(tmp_path)
    row = corpus.trajectories.collect().row(0, named=True)
    assert (row["native_id"], row["n_steps"], row["n_calls"], row["seconds"]) == ("r", 1, 1, 1.0)
    assert corpus.prompts.collect().select("role", "chars").rows() == [("user", 6)]


def test_mixed_rows_of_langsmith_are_told_apart() -> None:
    corpus = trajlab.read(SAMPLES / "langsmith" / "list_runs")
    rows = corpus.trajectories.sort("native_id").collect()
    told = rows.select("n_steps", "n_calls", "prompt_tokens", "reasoning_tokens", "stop_reason", "termination").rows()
    assert told == [(4, 3, 3600, 40, "success", "unknown"), (1, 1, 900, 10, "GraphRecursionError", "truncated_budget")]
    assert rows["tools_offered"].to_list() == ["bash read_file", None]
    assert corpus.problems.collect().is_empty()
    running = trajlab.read(SAMPLES / "langsmith" / "running").trajectories.collect().row(0, named=True)
    assert (running["stop_reason"], running["termination"], running["n_executed"]) == ("pending", "incomplete", None)


def test_odd_rows_of_csv_cost_only_themselves(tmp_path: Path) -> None:
    columns = "\ufeffid,trace_id,type,parent_observation_id,start_time,end_time,input,output\n"
    start, long = "2026-01-01 00:00:00.000000", "x" * 300_000
    rows = [
        f'a,t1,GENERATION,,{start},,"{long}","two ""lines""\nof text"\n',
        f"b,t1,GENERATION,,{start}\n",
        f'c,t2,GENERATION,,{start},,hello,"{{""role"": ""assistant"", ""content"": ""hi""}}"\n',
        f'd,t3,GENERATION,,{start},,hello,"still writ',
    ]
    path = tmp_path / "observations.csv.gz"
    path.write_bytes(gzip.compress((columns + "".join(rows)).encode()))
    corpus = trajlab.read(path)
    found = corpus.trajectories.select("variant", "native_id", "n_steps").sort("native_id").collect().rows()
    assert found == [("csv", "t1", 1), ("csv", "t2", 1), ("csv", "t3", 1)]
    texts = corpus.table("texts").collect()["text"].to_list()
    assert {long, 'two "lines"\nof text', "hi", "still writ"} <= set(texts)
    problems = corpus.problems.select("code", "line").sort("line").collect().rows()
    assert problems == [("unreadable_record", 4), ("truncated", 6)]


@pytest.mark.parametrize("packed", [False, True])
def test_a_cell_of_csv_keeps_its_blank_lines(tmp_path: Path, packed: bool) -> None:
    text = "one\n\n\ntwo\n   \n\nthree"
    rows = [
        "id,trace_id,type,parent_observation_id,start_time,input,output\n\n  \n",
        f'a,t1,GENERATION,,2026-01-01 00:00:00.000000,hello,"{text}"\n\n\n\n',
        "b,t1\n",
    ]
    data = "".join(rows).encode()
    path = tmp_path / ("observations.csv.gz" if packed else "observations.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    corpus = trajlab.read(path)
    assert text in corpus.table("texts").collect()["text"].to_list()
    assert corpus.problems.select("code", "line").collect().rows() == [("unreadable_record", 14)]


def test_spellings_of_langfuse_agree() -> None:
    page = facts("langfuse/api", "reasoning_tokens", "termination")
    assert page == facts("langfuse/ui", "reasoning_tokens", "termination")
    assert page == facts("langfuse/blob", "reasoning_tokens", "termination")
    assert page == facts("langfuse/blob_csv", "reasoning_tokens", "termination")
    assert page == facts("langfuse/trace", "reasoning_tokens", "termination")
    assert [row[2:8] for row in page] == [(4, 3, 3, 3600, 160, 2400), (1, 0, 0, 900, 40, 600)]
    assert [row[-1] for row in page] == ["unknown", "infrastructure_error"]
    corpus = trajlab.read(SAMPLES / "langfuse" / "trace")
    assert corpus.rewards.select("name", "value").collect().rows() == [("style", 0.5)]


def test_attempts_of_agent_lightning() -> None:
    corpus = trajlab.read(SAMPLES / "agent_lightning" / "spans")
    rows = corpus.trajectories.sort("native_id").collect()
    told = rows.select("native_id", "n_steps", "n_calls", "reward", "prompt_tokens").rows()
    assert told == [("ro-102/at-1", 1, 1, None, 900), ("ro-102/at-2", 3, 2, 0.75, 2700)]
    parts = corpus.rewards.sort("name").select("name", "value").collect().rows()
    assert parts == [("primary", 0.75), ("style", 0.5)]


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        ("Do it.", ["user"]),
        ('[{"role": "user", "content": "a"}]', ["user"]),
        ({"messages": [[{"type": "human", "content": "a"}, {"type": "ai", "content": "b"}]]}, ["user", "assistant"]),
        ({"system": "s", "messages": [{"role": "user", "content": "a"}]}, ["system", "user"]),
        ([{"type": "system", "data": {"content": "s"}}], ["system"]),
        ({"input": [{"role": "user", "content": "a"}, {"type": "function_call_output", "call_id": "c", "output": "o"}]},
         ["user", "user"]),
        ({"step": 1}, []),
        (None, []),
        ([[[[[[[[[[["deep"]]]]]]]]]]], []),
    ],
)  # fmt: skip
def test_what_a_model_was_given(given: Any, roles: list[str]) -> None:
    assert [said.role for said in given_messages(given)] == roles


def test_what_a_model_gave_back() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"}
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "why"}]}
    output = {"output": [reasoning, {"type": "message", "role": "assistant", "content": "a"}, call], "model": "m"}
    said = answer(output)
    assert (said.text, said.reasoning, said.calls, said.model) == ("a", "why", [("bash", "{}", "c")], "m")
    broken = {"role": "assistant", "content": "", "invalid_tool_calls": [{"name": "bash", "args": "{", "id": "1"}]}
    assert answer(broken).unparsable == [("bash", "{", "1")]
    assert answer({"choices": [{"text": "t", "finish_reason": "length"}]}).finish_reason == "length"
    assert answer(None).text == "" == answer({}).text
    assert given_tools({"tools": [{"name": "a"}, {"function": {"name": "b"}}]}) == ["a", "b"]


def made(observations: list[Observation]) -> Trajectory:
    trajectory = Trajectory("v", "0")
    fill(trajectory, observations)
    return trajectory


def chat(key: str, parent: str | None, start: float, said: str, call: str | None = None) -> Observation:
    calls = [{"id": call, "function": {"name": "bash", "arguments": "{}"}}] if call else []
    gave = {"role": "assistant", "content": said, "tool_calls": calls}
    return Observation(key, parent, "model", start=start, given="Do it.", gave=gave)


def test_cycles_orphans_and_strangers_are_read_all_the_same() -> None:
    trajectory = made([
        chat("a", "b", 1.0, "one", "c1"),
        Observation("b", "a", "tool", "bash", 2.0, gave="out"),
        chat("c", "c", 3.0, "two"),
        Observation("d", "nowhere", "tool", "other", 4.0, gave="out"),
        Observation(None, None, "tool", "other", 5.0),
    ])  # fmt: skip
    assert [[call.tool for call in step.calls] for step in trajectory.steps] == [["bash"], ["other", "other"]]


def test_agents_have_conversations_of_their_own() -> None:
    """A subagent's calls stand between the call that started it and its result."""
    trajectory = made([
        Observation("root", None, "agent", "main", 0.0),
        chat("m1", "root", 1.0, "ask", "c1"),
        Observation("t1", "root", "tool", "bash", 2.0, gave="done"),
        Observation("sub", "t1", "agent", "helper", 3.0),
        chat("m2", "sub", 4.0, "look", "c2"),
        chat("m3", "root", 6.0, "end"),
    ])  # fmt: skip
    assert trajectory.agent == "main"
    assert [message.text for message in trajectory.messages] == ["Do it.", "Do it."]
    assert [call.output for step in trajectory.steps for call in step.calls] == ["done", None]


def parent_of(shape: str, number: int, count: int) -> str:
    return str({"deep": number - 1, "wide": 0, "cycle": (number + 1) % count}[shape])


@pytest.mark.parametrize("shape", ["deep", "wide", "cycle"])
def test_long_traces_take_linear_time(shape: str) -> None:
    def seconds(count: int) -> float:
        kinds = ("model", "tool", None)
        spans = [
            Observation(str(n), parent_of(shape, n, count) if n else None, kinds[n % 3] if n % 50 else "agent", "bash",
                        float(n), gave="x" * 10)
            for n in range(count)
        ]  # fmt: skip
        began = time.perf_counter()
        made(spans)
        return time.perf_counter() - began

    small = min(seconds(10_000) for _ in range(3))
    assert seconds(100_000) < 40 * small + 0.5


def test_one_bad_row_does_not_cost_its_neighbours(tmp_path: Path) -> None:
    rows = (SAMPLES / "langsmith" / "list_runs" / "runs.jsonl").read_bytes().splitlines()
    deep = b'{"run_type": "llm", "trace_id": "t", "inputs": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    (tmp_path / "runs.jsonl").write_bytes(b"\n".join([rows[0], deep, b"[1]", b"{", *rows[1:], rows[-1][:50]]))
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.select(pl.len()).collect().item() == 2
    codes = corpus.problems.sort("line").collect()["code"].to_list()
    assert codes == ["unreadable_record"] * 3 + ["truncated"]


_anything = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.sampled_from(["", "stop", "tool", "a"]))
_calls = st.lists(
    st.fixed_dictionaries(
        {},
        optional={"id": _anything, "type": st.just("function"), "function": st.just({"name": "f", "arguments": "{}"})},
    ),
    max_size=2,
)


@given(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "function", "ai", "reasoning", "human", "", "x"])},
        optional={
            "content": st.one_of(st.text(max_size=3), st.none(), st.lists(st.just({"type": "text", "text": "t"}))),
            "name": _anything, "tool_call_id": _anything, "finish_reason": _anything, "tool_calls": _calls | _anything,
        },
    )
)  # fmt: skip
def test_the_short_way_of_a_message_says_what_the_long_one_does(message: dict[str, Any]) -> None:
    assert _said(message) == _said_at_length(message)
