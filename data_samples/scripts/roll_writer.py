"""Write rollout dumps as ROLL does. Usage: python roll_writer.py OUT   (needs nothing)

By hand, after `write_to_json_process` of alibaba/ROLL@8eb27cc (one line of columns a step) and, for `agentic`, the columns that its step-wise
environment managers declare: `messages`, `tools` and `trajectory_data` as JSON text.
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from trainer_conversations import (  # noqa: E402
    TOOLS, Episode, batches, completion_messages, prompt_messages, rewards, solved,
)
from verl_spellings import render  # noqa: E402


def rlvr(episodes: list[Episode], step: int) -> dict[str, list[Any]]:
    texts = [render(episode, "hermes", strip=True) for episode in episodes]
    return {
        "id": [str(uuid.UUID(int=number // 4 + 1)) for number in range(len(episodes))],
        "prompt": [prompt for prompt, _ in texts], "ground_truth": [str(e.problem.answer) for e in episodes],
        "tag": ["word_problems"] * len(episodes), "domain": ["math_rule"] * len(episodes),
        "responses": [output for _, output in texts],
        "scores": [round(sum(rewards(episode).values()), 4) for episode in episodes],
        "sampling_params": [json.dumps({"temperature": 1.0})] * len(episodes), "global_step": [step] * len(episodes),
    }


def known(episode: Episode, number: int, step: int, steps: int) -> dict[str, Any]:
    reward = rewards(episode)["answer_reward"]
    failed = number == 5
    return {
        "trajectory_id": f"words_{step}_{number}", "timestamp": "20251201_000000_000000", "current_step": step,
        "env_info": {"env_id": number % 4, "group_id": number // 4, "tag": "words", "seed": 7, "episode_id": 0, "max_steps": 8,
                     "mode": "train" if step == 1 else "val", "sequence_length": 4096},
        "length_info": {"trajectory_length": steps, "num_actions": steps, "terminated": solved(episode),
                        "truncated": episode.kept < 1},
        "reward_info": {"episode_reward": reward, "step_rewards": [0.0] * (steps - 1) + [reward], "final_reward": reward},
        "failure_info": {"failure_mode": "sandbox_init_failed" if failed else "", "has_failure": failed,
                         "stop_reason": "MAX_LENGTH" if episode.kept < 1 else "FINISH", "error_messages": []},
        "metrics": {}, "last_observation": "",
    }


def agentic(episodes: list[Episode], step: int) -> dict[str, list[Any]]:
    rollouts = [completion_messages(episode, text=True, ids=True) for episode in episodes]
    steps = [sum(message["role"] == "assistant" for message in messages) for messages in rollouts]
    return {
        "trajectory_data": [json.dumps(known(e, n, step, s)) for n, (e, s) in enumerate(zip(episodes, steps, strict=True))],
        "messages": [json.dumps(prompt_messages(e) + m) for e, m in zip(episodes, rollouts, strict=True)],
        "tools": [json.dumps(TOOLS)] * len(episodes), "exp_name": ["made_up_experiment"] * len(episodes),
        "global_step": [step] * len(episodes),
    }


def main() -> None:
    out = Path(sys.argv[1])
    for step, samples in enumerate(batches(), 1):
        for name, make in (("rlvr", rlvr), ("agentic", agentic)):
            path = out / name / f"rollout_dump_data.step_{step}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(make(samples[:8], step)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
