"""OpenTelemetry traces: what several spans repeat counts once, whatever the container and the convention."""

from __future__ import annotations

import json
from pathlib import Path

from corpora_in_tests import SAMPLES

import trajlab
from trajlab.corpus.plan import claim
from trajlab.formats._otel_spans import identity, unflattened
from trajlab.sources.discover import discover

KEPT = ["native_id", "n_steps", "n_calls", "n_executed", "prompt_tokens", "cached_tokens", "seconds", "content_digest"]


def test_a_trace_is_the_same_in_every_container() -> None:
    for folder, name in (("genai", "otlp.json"), ("openinference", "traces.jsonl")):
        paths = [SAMPLES / "otel" / folder / one for one in ("console.txt", name)]
        rows = [trajlab.read(path).trajectories.select(KEPT).collect() for path in paths]
        assert rows[0].height == 1
        assert rows[0].equals(rows[1])


def test_a_trace_by_the_conventions_of_genai() -> None:
    corpus = trajlab.read(SAMPLES / "otel" / "genai" / "otlp.json")
    trace = corpus.trajectories.collect().row(0, named=True)
    assert (trace["agent"], trace["model"], trace["n_steps"]) == ("coder", "scripted-model", 4)
    assert (trace["prompt_tokens"], trace["completion_tokens"], trace["cached_tokens"]) == (3600, 160, 2400)
    # What each call of the model tells again of the conversation counts once.
    assert sorted(corpus.prompts.collect()["role"].to_list()) == ["system", "user"]
    calls = corpus.tool_calls.sort("call").collect()
    assert calls["is_error"].to_list() == [None, True, None]
    # The result of the second stands in the next prompt alone; the third has no span of its own.
    assert calls["output_chars"].to_list() == [24, len("F\n1 failed in 0.03s\n"), len("..\n2 passed in 0.02s\n")]
    assert calls["seconds"].to_list() == [2.0, 2.0, None]
    assert corpus.rewards.collect().select("name", "value").rows() == [("style", 0.5)]


def test_a_trace_by_the_conventions_of_openinference() -> None:
    corpus = trajlab.read(SAMPLES / "otel" / "openinference" / "traces.jsonl")
    calls = corpus.tool_calls.sort("call").collect()
    assert calls.select("tool", "executed", "is_error").rows() == [("bash", True, None), ("list_files", True, True)]
    assert corpus.trajectories.collect()["cost"].to_list() == [0.008]


def test_ids_in_hexadecimal_and_base64_are_one() -> None:
    assert identity("0x10df119099331baa8a49a6c82035a5a7") == identity("EN8RkJkzG6qKSabIIDWlpw==")
    assert identity("not an id!") == "not an id!"
    assert identity(None) is None


def test_leaves_that_stand_apart_are_put_together() -> None:
    flat = {"p.10.role": "b", "p.2.role": "a", "p.2.parts.0.text": "t", "p.x.role": "c", "q.0.role": "d"}
    assert unflattened(flat, "p") == [{"role": "a", "parts": {"0": {"text": "t"}}}, {"role": "b"}]


def test_a_span_that_is_broken_costs_no_neighbour(tmp_path: Path) -> None:
    text = (SAMPLES / "otel" / "openinference" / "traces.jsonl").read_text("utf-8")
    (tmp_path / "traces.jsonl").write_text('{"resourceSpans": [{"openinference.span.kind"\n' + text, encoding="utf-8")
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.collect().height == 1
    assert corpus.problems.collect().height > 0


def test_traces_without_an_agent_are_not_claimed(tmp_path: Path) -> None:
    span = {"traceId": "0" * 32, "spanId": "0" * 16, "name": "GET /", "attributes": []}
    (tmp_path / "otlp.json").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    assert claim(discover([tmp_path]).files[0], None).role == "unclaimed"
