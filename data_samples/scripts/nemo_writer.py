"""Write NeMo-Gym rollouts and NeMo-RL data. Run by nemo_gym_writer.py and nemo_rl_writer.py.

By hand: NeMo-Gym after `nemo_gym/rollout_collection.py` of NVIDIA-NeMo/Gym@07d6b0d (rows, materialized inputs, failures, aggregates),
NeMo-RL after `Logger.log_batched_dict_as_jsonl` of NVIDIA-NeMo/RL@7ea279a (every value but `idx` in a list of one element).
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from rllm_writer import as_text  # noqa: E402
from trainer_conversations import (  # noqa: E402
    SEED, TOOLS, Episode, batches, completion_messages, prompt_messages, rewards, solved,
)

Record = dict[str, Any]
PADDING = 4
AGENT = {"type": "responses_api_agents", "name": "simple_agent"}


def items_of(episode: Episode, rng: random.Random) -> list[Record]:
    """Messages as output items; token ids stand on what was generated."""
    items: list[Record] = []
    for message in completion_messages(episode, text=True, ids=True):
        if message["role"] == "tool":
            items.append({"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]})
            continue
        made: list[Record] = []
        if message.get("reasoning_content"):
            made.append({"type": "reasoning", "id": "rs", "summary": [
                {"type": "summary_text", "text": message["reasoning_content"]}]})
        if message["content"]:
            made.append({"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": message["content"], "annotations": []}]})
        made += [{"type": "function_call", "id": call["id"], "call_id": call["id"], "name": call["function"]["name"],
                  "arguments": call["function"]["arguments"], "status": "completed"} for call in message.get("tool_calls", ())]
        made[-1] |= {"prompt_token_ids": list(range(6)), "generation_token_ids": rng.sample(range(1000, 9000), 4),
                     "generation_log_probs": [-0.5] * 4}
        items += made
    return items


def request_of(episode: Episode) -> Record:
    return {"input": prompt_messages(episode), "instructions": None, "metadata": None, "temperature": 1.0, "tools": [
        {"type": "function", **tool["function"]} for tool in TOOLS]}


def rollout(number: int, episode: Episode, rng: random.Random) -> Record:
    items, parts = items_of(episode, rng), rewards(episode)
    cut = episode.kept < 1
    usage = {"input_tokens": 120, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 40,
             "output_tokens_details": {"reasoning_tokens": 25}, "total_tokens": 160}
    return {
        "responses_create_params": request_of(episode),
        "response": {"id": f"resp_{number}", "created_at": 1_790_000_000.0, "model": "made-up-policy", "output": items,
                     "usage": usage, "status": "incomplete" if cut else "completed",
                     "incomplete_details": {"reason": "max_output_tokens"} if cut else None},
        "reward": round(sum(parts.values()), 4), "reward_components": parts, "accuracy": solved(episode),
        "_ng_task_index": number // 4, "_ng_rollout_index": number % 4, "agent_ref": AGENT,
    }


def game(rng: random.Random) -> Record:
    """An environment that speaks as the user, inside the output."""
    output = []
    for move in ("Up", "Left", "Down"):
        said = {"type": "output_text", "text": f"<action>{move}</action>", "annotations": []}
        output.append({"type": "message", "role": "assistant", "content": [said], "generation_token_ids": rng.sample(range(99), 3)})
        output.append({"type": "message", "role": "user", "content": f"You moved {move}."})
    return {"responses_create_params": {"input": "Push the box.", "tools": []}, "response": {
        "id": "resp_game", "model": "made-up-policy", "output": output, "usage": None, "status": None,
        "incomplete_details": None}, "reward": -1.5, "terminated": False, "truncated": True, "info": {"steps": 3}}


def repair(number: int, rng: random.Random) -> Record:
    """A software task: return codes of mini-swe-agent, a patch, the verdict of tests."""
    output = []
    for place, (command, code) in enumerate((("ls", 0), ("pytest -q", 1), ("sed -i s/1/2/ a.py", 0))):
        output.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"Step {place}."}]})
        output.append({"type": "function_call", "call_id": f"c{place}", "name": "bash",
                       "arguments": json.dumps({"command": command})})
        output.append({"type": "function_call_output", "call_id": f"c{place}",
                       "output": f"<returncode>{code}</returncode>\n<output>\n\n</output>"})
    late = number == 1
    return {"responses_create_params": {"input": [{"role": "user", "content": "Fix it."}], "metadata": {
        "instance_id": f"repo__fix-{number}"}, "tools": [{"type": "function", "name": "bash", "parameters": {}}]},
        "response": {"id": f"repair-{number}", "model": "made-up-policy", "output": output[:-1] if late else output,
                     "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}, "status": None,
                     "incomplete_details": None},
        "reward": 0.0 if late else 1.0, "resolved": not late, "model_patch": "diff --git a/a.py b/a.py\n",
        "agent_timed_out": late, "agent_run_time": 61.5 + number, "_ng_rollout_id": f"rollout-{rng.getrandbits(32):08x}",
        "_ng_task_index": number, "_ng_rollout_index": 0, "agent_ref": {"name": "any_swe"}}


def troubled(rng: random.Random) -> list[Record]:
    """Repairs that say how the agent or the scoring failed, and whether the reward counts."""
    told = ({"agent_error_kind": "max_iteration", "error_kind": None, "mask_sample": True},
            {"agent_error_kind": "other", "error_kind": None, "mask_sample": False},
            {"agent_error_kind": "other", "error_kind": "eval_timeout", "mask_sample": True, "resolved": False, "reward": 0.0},
            {"failure_kind": "judge_failed", "failure_reason": "no answer", "mask_sample": True, "resolved": False, "reward": 0.0},
            {"failure_kind": "judge_unparseable", "failure_reason": "asked again", "mask_sample": False},
            {"agent_error_kind": "stuck_in_loop", "instance_config": {"mask_sample": False}, "resolved": False, "reward": 0.0})
    return [repair(2 + number, rng) | said for number, said in enumerate(told)]


def lines(records: list[Record]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def gym(out: Path) -> None:
    rng, samples = random.Random(SEED), batches()[1]
    done = [rollout(number, episode, rng) for number, episode in enumerate(samples[:8])]
    order = (1, 0, 2, 3, 5, 4, 7, 6)
    save(out / "word_problems" / "rollouts.jsonl", lines([done[number] for number in order]))
    inputs = [{"responses_create_params": request_of(e), "agent_ref": AGENT, "_ng_task_index": n // 4,
               "_ng_rollout_index": n % 4} for n, e in enumerate(samples[:9])]
    save(out / "word_problems" / "rollouts_materialized_inputs.jsonl", lines(inputs))
    kinds = (("timeout_exceeded", True), ("agent_error", False))
    failed = [inputs[8] | {"response": {"output": []}, "reward": 0.0, "_ng_failure_class": kind, "_ng_failure_terminal": end,
                           "_ng_attempt_index": n} for n, (kind, end) in enumerate(kinds)]
    failed[1] |= {"response": done[0]["response"], "accuracy": False}
    save(out / "word_problems" / "rollouts_failures.jsonl", lines(failed))
    mean = sum(record["reward"] for record in done) / len(done)
    metrics = {"agent_ref": AGENT, "agent_metrics": {"mean/reward": mean}, "key_metrics": {"mean/reward": mean},
               "group_level_metrics": []}
    save(out / "word_problems" / "rollouts_aggregate_metrics.json", json.dumps([metrics], indent=2))
    save(out / "other_servers" / "game.jsonl", lines([game(rng)]))
    save(out / "other_servers" / "repair.jsonl", lines([repair(0, rng), repair(1, rng), *troubled(rng)]))


def wrapped(columns: Record, idx: int) -> Record:
    return {name: [value] for name, value in columns.items()} | {"idx": idx}


def token_columns(messages: list[Record], step: int, idx: int) -> tuple[list[int], list[float], list[float]]:
    """Loss mask and log-probabilities of sampler and policy: a prompt of 12 tokens, 7 of each turn, 3 of each result, padding."""
    rng = random.Random(f"tokens {step} {idx}")
    mask = [0] * 12
    for message in messages:
        mask += [1] * 7 if message["role"] == "assistant" else [0] * 3
    mask += [0] * PADDING
    sampler = [-round(rng.expovariate(2.0) + 0.001, 4) * bit for bit in mask]
    policy = [round(min(old + rng.gauss(0.0, 0.02 * step), -1e-4), 4) * bit for old, bit in zip(sampler, mask, strict=True)]
    return mask, sampler, policy


def rl(out: Path) -> None:
    rng, folder = random.Random(SEED), out / "exp_001"
    for step, samples in enumerate(batches(), 1):
        records = []
        for idx, episode in enumerate(samples):
            texts = [as_text(message)["content"] for message in prompt_messages(episode)[1:] + completion_messages(episode)]
            mask, sampler, policy = token_columns(completion_messages(episode), step, idx)
            records.append(wrapped({
                "content": texts, "rewards": round(sum(rewards(episode).values()), 4), "input_lengths": len(mask) - PADDING,
                "token_ids": [rng.randrange(9000) for _ in mask], "token_loss_mask": mask, "sample_loss_mask": 1.0,
                "advantages": [idx % 2 - 0.5] * (len(mask) - PADDING) + [0.0] * PADDING, "generation_logprobs": sampler, "prev_logprobs": policy}, idx))
        save(folder / f"train_data_step{step}.jsonl", lines(records))
    messages = [[as_text(m) for m in prompt_messages(e) + completion_messages(e)] for e in batches()[0]]
    values = [round(sum(rewards(e).values()), 4) for e in batches()[0]]
    records = [wrapped({"content": m, "rewards": v}, n) for n, (m, v) in enumerate(zip(messages, values, strict=True))]
    save(folder / "val_data_step2.jsonl", lines(records))
