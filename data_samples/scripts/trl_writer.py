"""Write completions as TRL's GRPOTrainer does. Usage: python trl_writer.py OUT   (needs: pandas, pyarrow)

`GRPOTrainer.log` (1.16.0) makes a pandas frame of its deques and writes it with `to_parquet`; so does this script, with the
columns in the same order. Rewards and advantages are float32 numbers, as they come off a tensor.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from trainer_conversations import Episode, batches, completion_messages, prompt_messages, rewards, solved  # noqa: E402

SAMPLES = 4


def advantages(episodes: list[Episode], weights: dict[str, float]) -> list[float]:
    sums = np.array([sum(weights[n] * v for n, v in rewards(e).items()) for e in episodes], dtype=np.float32)
    groups = sums.reshape(-1, SAMPLES)
    centred = groups - groups.mean(axis=1, keepdims=True)
    return (centred / (groups.std(axis=1, ddof=1, keepdims=True) + 1e-4)).astype(np.float32).ravel().tolist()


def told_as_trl_does(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A tool that fails gives the text of a Python dict."""
    for message in messages:
        if message["role"] == "tool" and message["content"].startswith("Unknown function"):
            message["content"] = str({"error": f"Tool {message['name']} not found."})
        elif message["role"] == "tool" and message["content"].startswith("Error when executing tool: "):
            message["content"] = str({"error": message["content"].removeprefix("Error when executing tool: ")})
    return messages


def write(folder: Path, step: int, columns: dict[str, list[Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(columns).to_parquet(folder / f"completions_{step:05d}.parquet")


def table(episodes: list[Episode], step: int, weights: dict[str, float]) -> dict[str, list[Any]]:
    parts = [rewards(episode) for episode in episodes]
    return {
        "step": [step] * len(episodes),
        "prompt": [prompt_messages(episode) for episode in episodes],
        "completion": [told_as_trl_does(completion_messages(episode)) for episode in episodes],
        **{name: [float(np.float32(part[name])) for part in parts] for name in parts[0]},
        "correct": [solved(episode) for episode in episodes],
        "task_id": [f"word-problem-{number // SAMPLES}" for number in range(len(episodes))],
        "advantage": advantages(episodes, weights),
    }


def state(steps: list[list[Episode]]) -> dict[str, Any]:
    """`trainer_state.json` as transformers saves it: keys sorted, one row of `log_history` a step."""
    rows = []
    for step, episodes in enumerate(steps, 1):
        sums = np.array([sum(rewards(episode).values()) for episode in episodes], dtype=np.float32)
        rows.append({"epoch": step / len(steps), "learning_rate": 1e-6, "reward": float(sums.mean()), "step": step})
    return {"epoch": 1.0, "global_step": len(steps), "log_history": rows, "logging_steps": 1, "max_steps": len(steps),
            "num_train_epochs": 1, "save_steps": 500, "train_batch_size": len(steps[0])}


def plain_answer(episode: Episode) -> str:
    if episode.kept < 1:
        return f"<think>\n{episode.turns[-1].think}"
    return f"<think>\n{episode.turns[-1].think}\n</think>\n\n{episode.turns[-1].text}"


def text_table(episodes: list[Episode], step: int) -> dict[str, list[Any]]:
    """Plain prompts: no chat template, no tools, one column of a reward function and one that gave none."""
    parts = [1.0 if solved(episode) else 0.0 for episode in episodes]
    groups = np.array(parts, dtype=np.float32).reshape(-1, SAMPLES)
    return {
        "step": [step] * len(episodes),
        "prompt": [episode.problem.text for episode in episodes],
        "completion": [plain_answer(episode) for episode in episodes],
        "accuracy_reward": parts,
        "length_reward": [None if number % 3 else 0.0 for number in range(len(parts))],
        "acc": [int(part) for part in parts],
        "advantage": (groups - groups.mean(axis=1, keepdims=True)).ravel().tolist(),
    }


def main() -> None:
    out = Path(sys.argv[1])
    equal = dict.fromkeys(("answer_reward", "tool_reward", "format"), 1.0)
    for step, episodes in enumerate(batches(), 1):
        write(out / "messages" / "completions", step, table(episodes, step, equal))
    told = json.dumps(state(batches()), indent=2, sort_keys=True) + "\n"
    (out / "messages" / "trainer_state.json").write_text(told, encoding="utf-8")
    write(out / "text" / "completions", 1, text_table(batches()[0], 1))
    weighted = equal | {"tool_reward": 20.0}
    write(out / "weighted_rewards" / "completions", 1, table(batches()[0], 1, weighted))


if __name__ == "__main__":
    main()
