"""Write spans of agent-lightning's store. Usage: python agent_lightning_spans_writer.py OUT   (needs agentlightning==0.3.0)

The package's in-memory LightningStore took rollouts, attempts and spans and gave the spans back; its models wrote them. Attributes
are set here, as LiteLLM's and AgentOps' instrumentations name them. The words are `scaffold_plans.py`'s; no model spoke.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agentlightning import InMemoryLightningStore, Span
from agentlightning.types import OtelResource, TraceStatus
from scaffold_plans import CHECK, CLOCK, ISSUE, MODEL, REPRODUCE, SYSTEM, write_lines

sys.dont_write_bytecode = True
Json = dict[str, Any]


def flat(prefix: str, messages: list[Json]) -> Json:
    return {f"{prefix}.{place}.{key}": value for place, message in enumerate(messages) for key, value in message.items()}


def chat(told: list[Json], answer: Json) -> Json:
    return {"gen_ai.system": "hosted_vllm", "llm.request.type": "acompletion", "gen_ai.request.model": MODEL,
            "gen_ai.usage.prompt_tokens": 900, "gen_ai.usage.completion_tokens": 40, "gen_ai.usage.cache_read.input_tokens": 600,
            **flat("gen_ai.prompt", told), **flat("gen_ai.completion", [answer])}


def spans() -> list[tuple[str, Json, str]]:
    told: list[Json] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ISSUE}]
    found: list[tuple[str, Json, str]] = []
    for number, turn in enumerate((REPRODUCE, CHECK, None), 1):
        answer: Json = {"role": "assistant", "content": turn.thought if turn else "Leap years are read.", "finish_reason": "tool_calls" if turn else "stop"}
        if turn:
            arguments = json.dumps({"command": turn.command})
            answer |= {"tool_calls.0.id": f"c{number}", "tool_calls.0.name": "bash", "tool_calls.0.arguments": arguments}
        found.append(("litellm_request", chat(told, answer), "OK"))
        if turn is None:
            break
        tool = {"agentops.span.kind": "tool", "tool.name": "bash", "tool.parameters": arguments, "tool.result": turn.output}
        found.append(("bash.tool", tool, "ERROR" if turn.exit_code else "OK"))
        told = [*told, {"role": "assistant", "content": turn.thought}, {"role": "tool", "content": turn.output, "tool_call_id": f"c{number}"}]
    reward = {"agentlightning.reward.0.name": "primary", "agentlightning.reward.0.value": 0.75,
              "agentlightning.reward.1.name": "style", "agentlightning.reward.1.value": 0.5}
    found.append(("agentlightning.annotation", reward, "OK"))
    return found


async def stored() -> list[Json]:
    """Two attempts: the first ended after one call."""
    store = InMemoryLightningStore()
    rollout = await store.start_rollout(input={"task": ISSUE}, mode="train")
    ids = {rollout.rollout_id: "ro-102"}
    attempts = [rollout.attempt, (await store.start_attempt(rollout.rollout_id)).attempt]
    for place, (attempt, told) in enumerate(zip(attempts, (spans()[:1], spans()), strict=True), 1):
        ids[attempt.attempt_id] = f"at-{place}"
        for number, (name, attributes, status) in enumerate(told, 1):
            start = CLOCK + 100.0 * place + 3 * number
            await store.add_span(Span.from_attributes(
                attributes=attributes, rollout_id=rollout.rollout_id, attempt_id=attempt.attempt_id, sequence_id=number, name=name,
                trace_id=f"{place:032x}", span_id=f"{16 * place + number:016x}", start_time=start, end_time=start + 2,
                resource=OtelResource(attributes={}, schema_url=""), status=TraceStatus(status_code=status)))
    rows = [json.loads(span.model_dump_json()) for attempt in attempts
            for span in await store.query_spans(rollout.rollout_id, attempt_id=attempt.attempt_id)]
    return [row | {"rollout_id": ids[row["rollout_id"]], "attempt_id": ids[row["attempt_id"]]} for row in rows]


def main(out: Path) -> None:
    write_lines(out / "spans" / "spans.jsonl", asyncio.run(stored()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
