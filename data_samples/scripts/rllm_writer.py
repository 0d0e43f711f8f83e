"""Write episodes in rLLM's layouts. Usage: python rllm_writer.py OUT   (needs nothing)

By hand, after `EpisodeLogger.log_episode`, `Episode.to_dict` and `EvalEpisodeStore.write` of rllm-org/rllm@9beb6e0: the same keys in
the same order, the same names of files and folders, two spaces of indentation. Token ids and log-probabilities are made up.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import uuid
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from trainer_conversations import SEED, Episode, batches, completion_messages, prompt_messages, rewards, solved  # noqa: E402

Record = dict[str, Any]


def as_text(message: Record) -> Record:
    """The agent's turn as the parser of chat templates leaves it: reasoning and calls in the content."""
    if message["role"] != "assistant" or "reasoning_content" not in message:
        return {key: message[key] for key in ("role", "content")}
    parts = [f"<think>\n{message['reasoning_content']}\n</think>"]
    parts += [message["content"]] if message["content"] else []
    parts += [f"<tool_call>\n{json.dumps(call['function'])}\n</tool_call>" for call in message.get("tool_calls", ())]
    return {"role": "assistant", "content": "\n\n".join(parts)}


def steps_of(episode: Episode) -> list[Record]:
    messages = [as_text(message) for message in prompt_messages(episode) + completion_messages(episode)]
    turns = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
    reward = round(sum(rewards(episode).values()), 4)
    return [{"observation": None, "thought": "", "action": messages[number]["content"] + "<|im_end|>",
             "reward": reward if number == turns[-1] else 0.0, "done": number == turns[-1],
             "model_response": messages[number]["content"] + "<|im_end|>", "chat_completions": messages[: number + 1],
             "timing": {}} for number in turns]


def task_of(episode: Episode) -> Record:
    return {"question": episode.problem.text, "ground_truth": str(episode.problem.answer)}


def task_hash(task: Any) -> str:
    return hashlib.sha256(json.dumps(task, sort_keys=True, default=str).encode()).hexdigest()[:8]


def end_of(episode: Episode) -> str:
    return "max_response_length_exceeded" if episode.kept < 1 else "env_done"


def logged(episode: Episode, step: int, identity: str, uid: str) -> Record:
    steps, parts = steps_of(episode), rewards(episode)
    return {
        "training_step": step, "epoch": 0, "episode_id": identity, "session_id": None, "task": task_of(episode),
        "task_hash": task_hash(task_of(episode)), "is_correct": solved(episode), "termination_reason": end_of(episode),
        "metrics": {"acc": parts["answer_reward"], "num_turns": len(steps)}, "metadata": {}, "timing": {},
        "trajectories": [{"name": "solver", "uid": uid, "reward": round(sum(parts.values()), 4), "num_steps": len(steps),
                          "timing": {}, "steps": steps}],
    }


def full(episode: Episode, identity: str, rng: random.Random) -> Record:
    """`to_dict`: what the logger drops is here, too; a second agent judges."""
    steps = []
    for number, step in enumerate(steps_of(episode)):
        ids = rng.sample(range(1000, 9000), 4)
        steps.append({"prompt_ids": list(range(12 + 6 * number)), "response_ids": ids, "logprobs": [-0.25] * 4,
                      "routing_matrices": None, "chat_completions": step["chat_completions"], "observation": None,
                      "thought": "", "action": step["action"], "model_response": step["model_response"],
                      "model_output": None, "info": {}, "reward": step["reward"], "done": step["done"], "mc_return": 0.0,
                      "advantage": 0.5, "weight_version": 3 + number})
    told = {"role": "user", "content": "Is the answer right? Say yes or no."}
    said = {"role": "assistant", "content": "yes"}
    judged = steps[-1] | {"chat_completions": [told, said], "model_response": "yes", "action": "yes", "reward": 0.0}
    names = (("solver", steps, round(sum(rewards(episode).values()), 4)), ("judge", [judged], None))
    return {
        "id": identity, "task": task_of(episode), "termination_reason": end_of(episode), "is_correct": solved(episode),
        "session_id": None, "metrics": {"acc": rewards(episode)["answer_reward"]}, "info": {},
        "trajectories": [{"uid": str(uuid.UUID(int=rng.getrandbits(128))), "name": name, "task": None, "steps": made,
                          "reward": reward, "info": {}} for name, made, reward in names],
    }


def evaluated(episode: Episode, index: int, identity: str) -> Record:
    """A task with a name, messages of OpenAI, a second context after the first; one that ended in an error."""
    messages = prompt_messages(episode) + completion_messages(episode, text=True, ids=True)
    anew = [{"role": "user", "content": f"{episode.problem.text} So far: a tool was asked."},
            {"role": "assistant", "content": "Answer: 7"}]
    contexts = [messages[: n + 1] for n, message in enumerate(messages) if message["role"] == "assistant"]
    contexts += [anew] if index == 0 else []
    steps = [{"id": f"step-{index}-{number}", "input": None, "output": None, "action": None, "reward": 0.0, "done": False,
              "metadata": None, "chat_completions": context, "model_response": context[-1]["content"]}
             for number, context in enumerate(contexts)]
    broken = index == 2
    return {
        "id": identity, "task": {"id": f"word-problem-{index}", "instruction": episode.problem.text, "metadata": {}},
        "termination_reason": "error" if broken else "env_done", "is_correct": solved(episode) and not broken,
        "trajectories": [] if broken else [{
            "uid": f"trajectory-{index}", "name": "agent", "task": None, "steps": steps, "input": None, "output": None,
            "reward": rewards(episode)["answer_reward"], "signals": {"accuracy": rewards(episode)["answer_reward"]},
            "metadata": None}],
        "artifacts": {}, "metrics": {}, "metadata": {"error": {"message": "made up"}} if broken else {}, "eval_idx": index,
    }


def save(path: Path, record: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    out, rng = Path(sys.argv[1]), random.Random(SEED)
    for step, samples in enumerate(batches(), 1):
        chosen = samples[:8] if step == 1 else samples[8:]
        folder = out / "episode_logger" / "episodes" / f"{'train' if step == 1 else 'val'}_step_{step}_epoch_0"
        names = []
        for number, episode in enumerate(chosen):
            if number % 4 == 0:
                group = uuid.UUID(int=rng.getrandbits(128))
            record = logged(episode, step, f"{group}:{number % 4}", str(uuid.UUID(int=rng.getrandbits(128))))
            names.append(f"episode_hash{record['task_hash']}_id{record['episode_id'].replace(':', '_')}.json")
            save(folder / names[-1], record)
        right = sum(map(solved, chosen))
        save(folder / "batch_summary.json", {
            "training_step": step, "epoch": 0, "mode": "train" if step == 1 else "val", "num_episodes": len(chosen),
            "episode_files": names, "summary_stats": {
                "total_correct": right, "total_incorrect": len(chosen) - right, "accuracy": right / len(chosen),
                "avg_trajectories_per_episode": 1.0}})
    samples = batches()[1]
    for number, episode in enumerate(samples[3:6]):
        save(out / "to_dict" / f"episode_{number}.json", full(episode, f"{uuid.UUID(int=7)}:{number}", rng))
    for index, episode in enumerate(samples[4:7]):
        path = out / "eval_run" / "episodes" / f"episode_{index:06d}_word-problem-{index}.json"
        save(path, evaluated(episode, index, f"word-problem-{index}:{index % 2}"))


if __name__ == "__main__":
    main()
