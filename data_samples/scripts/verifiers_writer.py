"""Write verifiers and prime-rl files. Usage: python verifiers_writer.py OUT   (needs: verifiers==0.4.0, zstandard)

Traces and episodes go through the package's own models and `to_record`, with the encoding of prime-rl's file monitor; ids and
times are made up, so that a run can be repeated. `results` follows `state_to_output` of verifiers 0.1.14 by hand; so do the
folders, the chunk names and the sealing of chunks, which are prime-rl's.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from pathlib import Path
from typing import Any

import zstandard
from verifiers.v1.episode import WireEpisode
from verifiers.v1.trace import WireTrace

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from trainer_conversations import (  # noqa: E402
    SEED, TOOLS, Episode, batches, completion_messages, prompt_messages, rewards, solved,
)

START = 1_790_000_000.0
FLAT_TOOLS = [{"name": tool["function"]["name"], "description": tool["function"]["description"],
               "parameters": tool["function"]["parameters"]} for tool in TOOLS]
Record = dict[str, Any]


def flat(message: Record) -> Record:
    """The package's tool calls have no `function` inside."""
    message = {key: value for key, value in message.items() if value is not None}
    if "tool_calls" in message:
        message["tool_calls"] = [{"id": call["id"], "name": call["function"]["name"],
                                  "arguments": call["function"]["arguments"]} for call in message["tool_calls"]]
    return message


def identifier(rng: random.Random) -> str:
    return f"{rng.getrandbits(128):032x}"


def graph(episode: Episode, rng: random.Random, annotated: bool) -> tuple[list[Record], list[Record]]:
    """Nodes and calls; tokens are few, to stay small; ``annotated``: all nodes have theirs, and the trainer's own view."""
    nodes: list[Record] = []
    calls: list[Record] = []
    sent = 0
    messages = [flat(m) for m in prompt_messages(episode) + completion_messages(episode, text=True, ids=True)]
    for number, message in enumerate(messages):
        sampled = message["role"] == "assistant"
        words = len(str(message).split())
        node: Record = {"parent": number - 1 if number else None, "message": message, "sampled": sampled,
                        "timestamp": START + 3 * number}
        if sampled:
            node |= {"token_ids": [151644, 77091, *rng.sample(range(1000, 9000), 3)], "mask": [False] * 2 + [True] * 3,
                     "logprobs": [round(-rng.random(), 6) for _ in range(3)]}
            if annotated:
                noise = random.Random(f"trainer {episode.problem.answer} {number}")
                node["trainer_logprobs"] = [round(min(old + noise.gauss(0.0, 0.04), -1e-4), 6) for old in node["logprobs"]]
                node["reference_logprobs"] = [round(min(old + noise.gauss(0.0, 0.2), -1e-4), 6) for old in node["logprobs"]]
                node["advantages"] = [0.5 if solved(episode) else -0.5] * 3
        elif annotated:
            node |= {"token_ids": list(range(10, 10 + min(words, 6))), "mask": [False] * min(words, 6)}
        if sampled:
            finish = "tool_calls" if "tool_calls" in message else "stop"
            cut = episode.kept < 1 and number == len(messages) - 1
            calls.append({"node": number, "model": "made-up-policy", "endpoint": "/chat/completions",
                          "finish_reason": "length" if cut else finish,
                          "usage": {"prompt_tokens": words, "completion_tokens": words // 2, "cached_input_tokens": sent,
                                    "reasoning_tokens": words // 4, "cost": words / 1e6},
                          "time": {"start": START + 3 * number - 2, "end": START + 3 * number}})
            sent += words + words // 2
        nodes.append(node)
    return nodes, calls


def trace_of(episode: Episode, rng: random.Random, stop: str = "agent_completed", name: str = "agent",
             annotated: bool = False) -> Record:
    nodes, calls = graph(episode, rng, annotated)
    parts = rewards(episode)
    return {
        "id": identifier(rng), "verifiers": {"version": "0.4.0"},
        "task": {"type": "WordProblem", "data": {"idx": 0, "prompt": episode.problem.text, "network_allow": []},
                 "key": f"word-problems/{episode.problem.answer}"},
        "agent": {"config": {"harness": {"id": "bash"}, "model": "made-up-policy", "max_turns": 8}, "name": name},
        "tools": FLAT_TOOLS, "nodes": nodes, "calls": calls,
        "rewards": {"answer": {"score": parts["answer_reward"], "weight": 1.0},
                    "style": {"score": parts["format"], "weight": 0.5}},
        "metrics": {"correct": float(solved(episode)), "tool_calls": float(episode.calls)},
        "is_completed": True, "ok": True, "stop_condition": stop,
        "timing": {"start": START, "agent": {"start": START + 1, "end": START + 1 + 3 * len(nodes)}},
    }


def failed(trace: Record, kind: str, stop: str) -> Record:
    error = {"type": kind, "message": "made up", "traceback": "Traceback (most recent call last): made up"}
    return trace | {"ok": False, "stop_condition": stop, "errors": [error], "is_timeout": stop.endswith("timeout"),
                    "rewards": {"answer": None, "style": None}, "metrics": {"correct": None}}


def compacted(trace: Record) -> Record:
    """The harness wrote its context anew: a second branch from the system message on."""
    nodes = list(trace["nodes"])
    first = len(nodes)
    said = {"role": "user", "content": "Summary so far: the tool was asked."}
    nodes += [{"parent": 0, "message": said, "sampled": False, "timestamp": START + 90},
              {"parent": first, "message": {"role": "assistant", "content": "Answer: 12"}, "sampled": True,
               "timestamp": START + 93}]
    call = trace["calls"][-1] | {"node": first + 1, "finish_reason": "stop"}
    return trace | {"nodes": nodes, "calls": [*trace["calls"], call]}


def episodes(step: int, samples: list[Episode], rng: random.Random) -> list[Record]:
    traces = [trace_of(sample, rng, annotated=step == 1) for sample in samples]
    if step == 2:
        traces[0] = compacted(traces[0])
        traces[1] = failed(traces[1], "SandboxError", "sandbox_error")
        traces[2] = failed(traces[2], "TimeoutError", "rollout_timeout")
    records = []
    for number, trace in enumerate(traces):
        inside = [trace]
        if number == 3:
            judge = trace_of(samples[number], rng, name="judge")
            judge["agent"]["trainable"] = False
            judge["nodes"], judge["calls"], judge["rewards"], judge["metrics"] = judge["nodes"][:3], judge["calls"][:1], {}, {}
            inside.append(judge)
        kind = "eval" if number == len(traces) - 1 else "train"
        work = {"type": kind, "step": step, "policy": {"start": step - 1, "end": step - (number % 2 == 0)}}
        records.append({
            "id": identifier(rng), "env": {"id": "word-problems", "name": "words"}, "task": trace["task"],
            "group": {"id": f"group-{step}-{number // 2}"}, "ok": trace["ok"], "traces": inside,
            "run": {"type": "train", "id": "run-7", "name": "made-up-run", "work": work},
        })
    broken = {"type": "EnvError", "message": "made up", "traceback": "Traceback (most recent call last): made up"}
    records.append(records[0] | {"id": identifier(rng), "traces": [], "ok": False, "errors": [broken]})
    return records


def lines(records: list[Record]) -> bytes:
    return "".join(json.dumps(r, ensure_ascii=False, separators=(",", ":")) + "\n" for r in records).encode()


def sealed(data: bytes, frame_bytes: int = 16 << 10) -> bytes:
    """Independent frames and a seek table in a skippable one, as the seekable format of zstd has it."""
    compressor = zstandard.ZstdCompressor(level=3)
    frames = [compressor.compress(data[at: at + frame_bytes]) for at in range(0, len(data), frame_bytes)]
    sizes = [len(data[at: at + frame_bytes]) for at in range(0, len(data), frame_bytes)]
    table = b"".join(struct.pack("<II", len(frame), size) for frame, size in zip(frames, sizes, strict=True))
    table += struct.pack("<IBI", len(frames), 0, 0x8F92EAB1)
    return b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(table)) + table


def save(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def result(number: int, episode: Episode, error: bool = False) -> Record:
    parts = rewards(episode)
    stop = "has_error" if error else "max_turns_reached" if episode.kept < 1 else "no_tools_called"
    record: Record = {
        "example_id": number // 4, "prompt": prompt_messages(episode),
        "completion": completion_messages(episode, text=True, ids=True), "reward": round(sum(parts.values()), 4),
        "error": None, "timing": {"start_time": START, "generation": {"start": START, "end": START + 4.5},
                                  "scoring": {"start": START + 4.5, "end": START + 5}},
        "is_completed": True, "is_truncated": episode.kept < 1, "stop_condition": stop,
        "metrics": {**parts, "correct": float(solved(episode))}, "tool_defs": FLAT_TOOLS,
        "answer": str(episode.problem.answer),
        "token_usage": {"input_tokens": 210.0 + number, "output_tokens": 64.0 + number},
    }
    if error:
        record["error"] = {"error": "ModelError", "error_chain_repr": "ModelError()", "error_chain_str": "ModelError"}
        record |= {"completion": None, "error_chain": "ModelError()", "long_error_chain": "ModelError"}
    return record | record["metrics"]


def main() -> None:
    out = Path(sys.argv[1])
    first, second = batches()
    save(out / "results" / "results.jsonl", lines([result(n, e, error=n == 5) for n, e in enumerate(second)]))
    rollouts = [result(n, e) for n, e in enumerate(first[:4])]
    save(out / "rollouts_2026_04" / "rollouts" / "step_3" / "train_rollouts.jsonl", lines(rollouts))
    rng = random.Random(SEED)
    traces = [WireTrace.model_validate(trace_of(e, rng)).to_record() for e in first[4:8]]
    folder = out / "traces_2026_07" / "rollouts" / "step_3" / "train"
    save(folder / "all" / "traces.jsonl", lines(traces))
    save(folder / "effective" / "traces.jsonl", lines(traces[:2]))
    stream = out / "stream_2026_09" / "monitors" / "file" / "traces"
    written = {step: lines([WireEpisode.model_validate(r).to_record() for r in episodes(step, samples[3:9], rng)])
               for step, samples in ((1, first), (2, second))}
    save(stream / "stream" / "00000.jsonl.zst", sealed(written[1]))
    save(stream / "stream" / "00001.jsonl", written[2])
    index = [{"line": n, "chunk": 1, "offset": 0} for n in range(1, 3)]
    save(stream / "stream.index.jsonl", lines(index))
    names = [json.loads(line)["traces"][0]["id"] for line in written[2].splitlines()[:2]]
    notes = [{"version": 1, "trace_id": name, "info": {"train": {"effective": True, "trained_at_step": 3}, "advantage": 0.5},
              "branches": []} for name in names]
    save(stream / "annotations" / "orchestrator" / "00000.jsonl", lines(notes))


if __name__ == "__main__":
    main()
