"""Write traces with MLflow's own tracing. Usage: python mlflow_writer.py OUT   (needs mlflow-skinny==3.17.2, pandas, pyarrow)

Spans, files and tables are MLflow's; the words are `scaffold_plans.py`'s, no model spoke. Ids come of a seed; what tells of the
machine is put aside afterwards.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from scaffold_plans import CHECK, CLOCK, ISSUE, LOOK, MODEL, REPRODUCE, SYSTEM, Turn

sys.dont_write_bytecode = True
os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false"}

import mlflow  # noqa: E402
from mlflow.entities import SpanType  # noqa: E402
from mlflow.tracing.constant import SpanAttributeKey  # noqa: E402
from mlflow.tracing.fluent import start_span_no_context  # noqa: E402

Json = dict[str, Any]
USAGE = {"input_tokens": 900, "output_tokens": 40, "total_tokens": 940, "cache_read_input_tokens": 600}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("bash", "read_file")]
PUT_ASIDE = ("mlflow.user", "mlflow.source.name", "mlflow.source.git.commit", "mlflow.source.git.branch",
             "mlflow.source.git.repoURL", "mlflow.artifactLocation")


def native(turn: Turn) -> tuple[str, Json]:
    return ("bash", {"command": turn.command}) if turn.kind == "shell" else ("read_file", {"path": turn.path})


class Recorder:
    """Spans one after another, below one of the agent."""

    def __init__(self, given: Any) -> None:
        self.now = CLOCK * 1_000_000_000
        self.root = start_span_no_context("coder", SpanType.AGENT, inputs=given, start_time_ns=self.now)

    def span(self, name: str, kind: str, given: Any, gave: Any, *, parent: Any = None, failed: bool = False, **attributes: Any) -> Any:
        self.now += 1_000_000_000
        span = start_span_no_context(name, kind, parent_span=parent or self.root, inputs=given, start_time_ns=self.now)
        span.set_attributes(attributes)
        self.now += 2_000_000_000
        span.end(outputs=gave, status="ERROR" if failed else "OK", end_time_ns=self.now)
        return span

    def end(self, gave: Any, *, failed: bool = False) -> str:
        self.root.end(outputs=gave, status="ERROR" if failed else "OK", end_time_ns=self.now + 1_000_000_000)
        return self.root.trace_id


def model(usage: Json) -> Json:
    return {SpanAttributeKey.CHAT_USAGE: usage, SpanAttributeKey.MODEL: MODEL, SpanAttributeKey.LLM_COST: {"total_cost": 0.004}}


def solved() -> str:
    """Messages of OpenAI; the tool of the last turn has no span of its own."""
    told: list[Json] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ISSUE}]
    log = Recorder({"messages": told})
    for number, turn in enumerate((LOOK, REPRODUCE, CHECK, None), 1):
        answer: Json = {"role": "assistant", "content": turn.thought if turn else "Leap years are read."}
        if turn:
            name, arguments = native(turn)
            answer["tool_calls"] = [{"id": f"c{number}", "type": "function",
                                     "function": {"name": name, "arguments": json.dumps(arguments)}}]
        choice = {"index": 0, "message": answer, "finish_reason": "tool_calls" if turn else "stop"}
        log.span("Completions", SpanType.CHAT_MODEL, {"model": MODEL, "messages": told, "tools": TOOLS},
                 {"id": f"r{number}", "choices": [choice]}, **model(USAGE))
        if turn is None:
            break
        if turn is not CHECK:
            failed = turn.exit_code != 0
            log.span(name, SpanType.TOOL, arguments, None if failed else turn.output, failed=failed)
        told = [*told, answer, {"role": "tool", "tool_call_id": f"c{number}", "content": turn.output}]
    trace = log.end("Leap years are read.")
    mlflow.log_feedback(trace_id=trace, name="style", value=0.5)
    mlflow.log_feedback(trace_id=trace, name="polite", value=True)
    return trace


def failed() -> str:
    """Blocks of Anthropic, recorded twice by two instrumentations; then the program breaks."""
    log = Recorder({"question": ISSUE})
    blocks = [{"type": "thinking", "thinking": "A repair is asked for."}, {"type": "text", "text": REPRODUCE.thought},
              {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": REPRODUCE.command}}]
    given = {"system": SYSTEM, "messages": [{"role": "user", "content": ISSUE}]}
    gave = {"role": "assistant", "content": blocks, "stop_reason": "tool_use"}
    outer = log.span("ChatAnthropic", SpanType.CHAT_MODEL, given, gave, **model(USAGE))
    log.span("Messages", SpanType.LLM, given, gave, parent=outer)
    log.span("bash", SpanType.TOOL, {"command": REPRODUCE.command}, REPRODUCE.output)
    log.span("plan", SpanType.CHAIN, {"step": 1}, {"step": 2})
    return log.end(None, failed=True)


def cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: cleaned(inner) for key, inner in value.items() if key not in PUT_ASIDE}
    if isinstance(value, list):
        return [cleaned(inner) for inner in value]
    return value


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    random.seed(20260101)
    with tempfile.TemporaryDirectory() as store:
        mlflow.set_tracking_uri(f"file:{store}")
        mlflow.set_experiment("repairs")
        traces = [mlflow.get_trace(solved()), mlflow.get_trace(failed())]
        for number, trace in enumerate(traces):
            source = next(Path(store).rglob(f"{trace.info.trace_id}/artifacts/traces.json"))
            path = out / "artifact" / "traces" / f"trace-{number}" / "artifacts" / "traces.json"
            path.parent.mkdir(parents=True)
            shutil.copyfile(source, path)
    documents = [cleaned(json.loads(trace.to_json())) for trace in traces]
    (out / "trace").mkdir()
    (out / "trace" / "trace.json").write_text(json.dumps(documents[0], indent=1) + "\n", encoding="utf-8")
    (out / "trace" / "traces.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents), encoding="utf-8")
    rows = [cleaned(trace.to_pandas_dataframe_row()) for trace in traces]
    for row, document in zip(rows, documents, strict=True):
        row["trace"] = json.dumps(document)
    import pandas as pd

    frame = pd.DataFrame(rows).drop(columns=["request", "response", "client_request_id"])
    (out / "search_traces").mkdir()
    (out / "search_traces" / "traces.jsonl").write_text("".join(json.dumps(row, default=str) + "\n" for row in rows), encoding="utf-8")
    frame.to_parquet(out / "search_traces" / "traces.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
