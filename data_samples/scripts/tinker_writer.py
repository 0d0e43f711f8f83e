"""Write benchmark trajectories and rollout summaries as tinker-cookbook does. Usage: python tinker_writer.py OUT   (needs nothing)

By hand, after `StoredTrajectory.to_dict` and `serialize_rollout_summaries` of tinker-cookbook 0.6.1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from rllm_writer import as_text  # noqa: E402
from trainer_conversations import Episode, batches, completion_messages, prompt_messages, rewards, solved  # noqa: E402

ROLES = {"system": "user", "tool": "environment"}


def stored(episode: Episode, idx: int) -> dict[str, Any]:
    messages = [as_text(message) for message in prompt_messages(episode) + completion_messages(episode)]
    turns = [{"role": ROLES.get(m["role"], m["role"]), "content": m["content"],
              "token_count": len(m["content"].split()), "metadata": {}} for m in messages]
    turns.append({"role": "grader", "content": f"expected {episode.problem.answer}", "token_count": 0, "metadata": {}})
    failed = idx == 3
    return {"idx": idx, "benchmark": "words", "example_id": f"words-{idx // 2:04x}", "turns": [] if failed else turns,
            "reward": 0.0 if failed else rewards(episode)["answer_reward"],
            "metrics": {} if failed else {"correct": float(solved(episode))}, "logs": {},
            "error": "TimeoutError: made up" if failed else None, "time_seconds": 1.5 + idx}


def summary(episode: Episode, idx: int) -> dict[str, Any]:
    steps = [{"step_idx": n, "ob_len": 20 + 10 * n, "ac_len": len(turn.think.split()), "reward": 0.0,
              "episode_done": turn is episode.turns[-1], "metrics": {}, "logs": {}} for n, turn in enumerate(episode.turns)]
    reward = rewards(episode)["answer_reward"]
    return {"schema_version": 1, "split": "train", "iteration": 2, "group_idx": idx // 4, "traj_idx": idx % 4, "tags": ["words"],
            "sampling_client_step": 1, "total_reward": reward, "final_reward": reward, "trajectory_metrics": {},
            "steps": steps, "final_ob_len": 30}


CONFIG: dict[str, Any] = {
    "learning_rate": 4e-05, "dataset_builder": {"batch_size": 8, "group_size": 4, "seed": 0, "names": ["words"]},
    "model_name": "made-up/words-8b", "max_tokens": 512, "temperature": 1.0, "compute_post_kl": False, "evaluator_builders": [],
    "lora_rank": 32, "kl_penalty_coef": 0.0, "loss_fn": "importance_sampling", "num_substeps": 1, "wandb_project": None,
    "wandb_name": None, "log_path": "runs/made_up_run", "base_url": None, "eval_every": 2, "save_every": 20,
}  # fmt: skip
"""Options of `rl/train.py`, as `dump_config` and `TrainingRunStore.write_config` write them."""


def save(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def main() -> None:
    out, (_, samples) = Path(sys.argv[1]), batches()
    save(out / "made_up_run" / "runs" / "run-1" / "words" / "trajectories.jsonl",
         [stored(episode, idx) for idx, episode in enumerate(samples[4:])])
    save(out / "made_up_run" / "iteration_000002" / "train_rollout_summaries.jsonl",
         [summary(episode, idx) for idx, episode in enumerate(samples[:8])])
    (out / "made_up_run" / "config.json").write_text(json.dumps(CONFIG, indent=2), encoding="utf-8")
    save(out / "made_up_run" / "metrics.jsonl",
         [{"step": step, "optim/lr": 4e-05, "env/all/reward/total": 0.25 + 0.125 * step, "time/total": 42.5} for step in range(3)])


if __name__ == "__main__":
    main()
