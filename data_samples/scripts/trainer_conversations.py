"""The made-up rollouts that the writers of trainers' samples share: one policy, one seed, OpenAI messages and rewards."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from verl_simulation import SYSTEM, TOOLS, Call, Episode, problems, rewards, sample_episode  # noqa: E402

SEED = 20251299
SKILLS = (0.1, 0.7)
"""Of the two training steps."""
Message = dict[str, Any]


def prompt_messages(episode: Episode) -> list[Message]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": episode.problem.text}]


def _raw_call(call: Call) -> str:
    return f"<tool_call>\n{call.malformed}\n</tool_call>"


def completion_messages(episode: Episode, *, text: bool = False, ids: bool = False) -> list[Message]:
    """The rollout as messages; ``text``: arguments as JSON text; ``ids``: calls and results have ids."""
    messages: list[Message] = []
    number = 0
    turns = episode.turns[: max(1, round(len(episode.turns) * episode.kept))]
    for turn in turns:
        raw = [_raw_call(call) for call in turn.calls if call.malformed is not None]
        if raw:  # the template could not parse it: all stays in the content
            messages.append({"role": "assistant", "content": f"<think>\n{turn.think}\n</think>\n\n" + "\n".join(raw)})
            continue
        cut = episode.kept < 1 and turn is turns[-1]
        if cut and not turn.calls:  # the budget ended inside the reasoning, which no template parses
            messages.append({"role": "assistant", "content": f"<think>\n{turn.think[: len(turn.think) // 2]}"})
            break
        message: Message = {"role": "assistant", "content": turn.text, "reasoning_content": turn.think}
        calls = []
        for call in turn.calls:
            arguments = json.dumps(call.arguments) if text else call.arguments
            function = {"name": call.name, "arguments": arguments}
            number += 1
            identity = {"id": f"call_{number}"} if ids else {}
            calls.append({**identity, "type": "function", "function": function})
        if calls:
            message["tool_calls"] = calls
        messages.append(message)
        if cut:
            break  # the budget ended before the results came
        for call, made, result in zip(turn.calls, calls, turn.results, strict=True):
            identity = {"tool_call_id": made["id"]} if ids else {}
            messages.append({"role": "tool", **identity, "name": call.name, "content": result})
    return messages


def batches(prompts: int = 3, samples: int = 4, seed: int = SEED) -> list[list[Episode]]:
    """Two steps: the same prompts, sampled several times each, by a policy that got better."""
    rng = random.Random(seed)
    pool = problems(rng, prompts)
    return [[sample_episode(rng, problem, skill) for problem in pool for _ in range(samples)] for skill in SKILLS]


def solved(episode: Episode) -> bool:
    return episode.prediction == str(episode.problem.answer)


__all__ = ["SEED", "TOOLS", "Episode", "batches", "completion_messages", "prompt_messages", "rewards", "solved"]
