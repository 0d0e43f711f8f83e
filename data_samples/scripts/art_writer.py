"""Write trajectories as ART does. Usage: python art_writer.py OUT   (needs: openpipe-art==0.5.23, pyyaml; Python 3.12)

The Parquet files are written by `write_trajectory_groups_parquet` of the package; JSON lines and YAML by hand, after
`serialize_trajectory_groups` of openpipe-art 0.4.12 and of OpenPipe/ART@779559f (`yaml.dump` of the same dictionaries).
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from art import Trajectory, TrajectoryGroup
from art.utils.trajectory_logging import write_trajectory_groups_parquet
from openai.types.chat.chat_completion import Choice

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from trainer_conversations import (  # noqa: E402
    TOOLS, Episode, batches, completion_messages, prompt_messages, rewards, solved,
)

Record = dict[str, Any]
START = datetime(2025, 12, 1, tzinfo=UTC)


def choice_of(message: Record, cut: bool) -> Record:
    finish = "length" if cut else "tool_calls" if message.get("tool_calls") else "stop"
    kept = {key: value for key, value in message.items() if key != "reasoning_content"}
    return {"finish_reason": finish, "index": 0, "message": kept}


def messages_and_choices(episode: Episode) -> list[Record]:
    rollout = completion_messages(episode, text=True, ids=True)
    made: list[Record] = prompt_messages(episode)
    for message in rollout:
        cut = episode.kept < 1 and message is rollout[-1]
        made.append(choice_of(message, cut) if message["role"] == "assistant" else message)
    return made


def record(episode: Episode, named: bool) -> Record:
    return {
        "reward": round(sum(rewards(episode).values()), 4),
        "metrics": {"correct": solved(episode), "tool_calls": episode.calls, "duration": 2.5 + len(episode.turns)},
        "metadata": {"scenario_id": f"problem-{episode.problem.answer}"} if named else {},
        "messages_and_choices": messages_and_choices(episode), "tools": TOOLS, "additional_histories": [], "logs": ["made up"],
    }


def groups(episodes: list[Episode], named: bool) -> list[Record]:
    return [{"trajectories": [record(e, named) for e in episodes[at: at + 4]]} for at in range(0, len(episodes), 4)]


def as_trajectory(episode: Episode, step: int, number: int) -> Trajectory:
    data = record(episode, named=True)
    items = [Choice.model_validate(item) if "finish_reason" in item else item for item in data["messages_and_choices"]]
    known = {key: data[key] for key in ("reward", "metrics", "metadata", "tools", "logs")}
    first = max(step - 1, 0)
    return Trajectory(**known, messages_and_choices=items, initial_policy_version=first,
                      final_policy_version=first + number % 2)


def exchanged(episode: Episode, step: int) -> Trajectory:
    """The same rollout as calls of the chat completions API, each with its whole context."""
    messages = prompt_messages(episode) + completion_messages(episode, text=True, ids=True)
    exchanges = []
    for number, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        choice = choice_of(message, cut=episode.kept < 1 and number == len(messages) - 1)
        response = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": int(START.timestamp()),
                    "model": f"made-up-model@{step}", "choices": [choice],
                    "usage": {"prompt_tokens": 40 + 9 * number, "completion_tokens": 12, "total_tokens": 52 + 9 * number}}
        exchanges.append({"start_time": START, "end_time": START, "response": response,
                          "request": {"model": f"made-up-model@{step}", "messages": messages[:number]}})
    data = record(episode, named=True)
    return Trajectory(exchanges={"chat_completions": exchanges}, reward=data["reward"], metrics=data["metrics"],
                      metadata=data["metadata"], initial_policy_version=step, final_policy_version=step)


def place(out: Path, layout: str, split: str, name: str) -> Path:
    path = out / layout / "made-up-project" / "models" / "made-up-model" / "trajectories" / split / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def main() -> None:
    out = Path(sys.argv[1])
    first, second = batches()
    place(out, "yaml", "train", "0001.yaml").write_text(yaml.dump(groups(first[4:8], named=False)), encoding="utf-8")
    for split, step, episodes in (("train", 1, first[:8]), ("val", 2, second[4:8])):
        lines = "\n".join(json.dumps(group) for group in groups(episodes, named=split == "train"))
        place(out, "jsonl", split, f"{step:04d}.jsonl").write_text(lines, encoding="utf-8")
    for step, episodes in ((1, first[4:12]), (2, second[:4])):
        made = [TrajectoryGroup([as_trajectory(e, step, n) for n, e in enumerate(episodes[at: at + 4])])
                for at in range(0, len(episodes), 4)]
        made.append(TrajectoryGroup([]))
        made.append(TrajectoryGroup([exchanged(episode, step) for episode in episodes[:2]]))
        write_trajectory_groups_parquet(made, place(out, "parquet", "train", f"{step:04d}.parquet"))


if __name__ == "__main__":
    main()
