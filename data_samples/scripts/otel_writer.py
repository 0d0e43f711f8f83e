"""Write traces with OpenTelemetry's SDK. Usage: python otel_writer.py OUT

The containers are the SDK's and the exporter's own; the spans and their attributes are set here, by the conventions of GenAI
(opentelemetry-semantic-conventions 0.66b2) and of OpenInference (0.1.42). The words are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from scaffold_plans import CHECK, CLOCK, ISSUE, LOOK, MODEL, REPRODUCE, SYSTEM, Turn, write_json, write_lines

sys.dont_write_bytecode = True
Json = dict[str, Any]
TURNS = (LOOK, REPRODUCE, CHECK)
START = CLOCK * 1_000_000_000


class Counted(IdGenerator):
    def __init__(self, first: int) -> None:
        self.spans, self.first = first, first

    def generate_span_id(self) -> int:
        self.spans += 1
        return self.spans

    def generate_trace_id(self) -> int:
        return (self.first << 64) + self.spans


class Recorder:
    """Spans one after another, two seconds each, below one of the agent."""

    def __init__(self, first: int, agent: Json) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(resource=Resource({"service.name": "datekit-repair"}), id_generator=Counted(first))
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = provider.get_tracer("trajlab.samples")
        self.now = START
        self.root = self.tracer.start_span("agent", attributes=agent, start_time=self.now)

    def span(self, name: str, attributes: Json, *, failed: bool = False, events: list[tuple[str, Json]] | None = None) -> None:
        self.now += 1_000_000_000
        span = self.tracer.start_span(name, trace.set_span_in_context(self.root), attributes=attributes, start_time=self.now)
        for kind, told in events or []:
            span.add_event(kind, told, timestamp=self.now)
        if failed:
            span.set_status(trace.StatusCode.ERROR, "exit 1")
        self.now += 2_000_000_000
        span.end(self.now)

    def done(self) -> list[ReadableSpan]:
        self.root.end(self.now + 1_000_000_000)
        return list(self.exporter.get_finished_spans())


def native(turn: Turn) -> tuple[str, Json]:
    return ("bash", {"command": turn.command}) if turn.kind == "shell" else ("read_file", {"path": turn.path})


def genai() -> list[ReadableSpan]:
    log = Recorder(0x102, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "coder", "gen_ai.conversation.id": "102"})
    told: list[Json] = [{"role": "user", "parts": [{"type": "text", "content": ISSUE}]}]
    for number, turn in enumerate((*TURNS, None), 1):
        parts: list[Json] = [{"type": "reasoning", "content": f"Turn {number}."}, {"type": "text", "content": turn.thought if turn else "Leap years are read."}]
        if turn:
            name, arguments = native(turn)
            parts.append({"type": "tool_call", "id": f"c{number}", "name": name, "arguments": arguments})
        answer = {"role": "assistant", "parts": parts, "finish_reason": "tool_call" if turn else "stop"}
        messages = {"gen_ai.input.messages": json.dumps(told), "gen_ai.output.messages": json.dumps([answer]),
                    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": SYSTEM}])}
        attributes: Json = {"gen_ai.operation.name": "chat", "gen_ai.request.model": MODEL, "gen_ai.provider.name": "scripted",
                            "gen_ai.usage.input_tokens": 900, "gen_ai.usage.output_tokens": 40, "gen_ai.usage.cache_read.input_tokens": 600}
        events: list[tuple[str, Json]] = []
        if number == 2:
            events = [("gen_ai.client.inference.operation.details", messages)]
        elif number == 4:
            attributes |= {**messages, "gen_ai.response.finish_reasons": ["stop"]}
            events = [("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "style", "gen_ai.evaluation.score.value": 0.5})]
        else:
            attributes |= messages
        log.span(f"chat {MODEL}", attributes, events=events)
        if turn is None:
            break
        done: Json = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": f"c{number}",
                      "gen_ai.tool.call.arguments": json.dumps(arguments)}
        failed = turn.exit_code != 0
        if turn is not CHECK:
            log.span(f"execute_tool {name}", done | ({"error.type": "CommandError"} if failed else {"gen_ai.tool.call.result": turn.output}), failed=failed)
        told += [answer, {"role": "tool", "parts": [{"type": "tool_call_response", "id": f"c{number}", "response": turn.output}]}]
    return log.done()


def openinference() -> list[ReadableSpan]:
    log = Recorder(0x103, {"openinference.span.kind": "AGENT"})
    told = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ISSUE}]
    for turn in (REPRODUCE, None):
        attributes: Json = {"openinference.span.kind": "LLM", "llm.model_name": MODEL, "llm.token_count.prompt": 900,
                            "llm.token_count.completion": 40, "llm.token_count.prompt_details.cache_read": 600, "llm.cost.total": 0.004}
        for place, message in enumerate(told):
            attributes |= {f"llm.input_messages.{place}.message.{key}": value for key, value in message.items()}
        said = "llm.output_messages.0.message"
        attributes |= {f"{said}.role": "assistant", f"{said}.content": turn.thought if turn else "A test fails."}
        if turn:
            call = f"{said}.tool_calls.0.tool_call"
            attributes |= {f"{call}.id": "t1", f"{call}.function.name": "bash", f"{call}.function.arguments": json.dumps({"command": turn.command})}
        log.span("ChatCompletion", attributes)
        if turn:
            log.span("bash", {"openinference.span.kind": "TOOL", "tool.name": "bash", "input.value": json.dumps({"command": turn.command}), "output.value": turn.output})
            log.span("list", {"openinference.span.kind": "TOOL", "tool.name": "list_files", "tool.parameters": "{}", "output.value": "no folder"}, failed=True)
            told += [{"role": "assistant", "content": turn.thought}, {"role": "tool", "content": turn.output, "tool_call_id": "t1"}]
    return log.done()


def beside() -> list[ReadableSpan]:
    log = Recorder(0x104, {"http.route": "/health"})
    return log.done()


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    spans = genai()
    write_json(out / "genai" / "otlp.json", MessageToDict(encode_spans(spans)))
    (out / "genai" / "console.txt").write_text("".join(span.to_json() + "\n" for span in spans), encoding="utf-8")
    spans = openinference()
    (out / "openinference" / "console.txt").parent.mkdir(parents=True)
    (out / "openinference" / "console.txt").write_text("".join(span.to_json() + "\n" for span in spans), encoding="utf-8")
    write_lines(out / "openinference" / "traces.jsonl", [MessageToDict(encode_spans(spans)), MessageToDict(encode_spans(beside()))])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
