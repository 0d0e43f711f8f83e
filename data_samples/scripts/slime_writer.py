"""Write rollout data as slime does. Usage: python slime_writer.py OUT   (needs nothing)

By hand, after `save_debug_rollout_data` and `save_debug_train_data` of THUDM/slime@624b824: `torch.save` of {rollout_id, samples}. For plain
values that is an archive of uncompressed members with a pickle of protocol 2 in `data.pkl`; this script writes the same without torch,
and what are tensors in the trainer's own file as lists. The policy that is trained and the one that sampled differ by noise.
"""

from __future__ import annotations

import pickle
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from trainer_conversations import SEED, Episode, batches, prompt_messages, rewards, solved  # noqa: E402
from verl_spellings import render  # noqa: E402

MARK = "<|im_start|>assistant\n"


def sampled(mask: list[int], rollout: int, number: int) -> list[float]:
    """Log-probabilities of the sampler; zero on what a tool said."""
    rng = random.Random(f"sampled {rollout} {number}")
    return [-round(rng.expovariate(2.0) + 0.001, 4) * bit for bit in mask]


def trained(made: dict[str, Any], position: int, rollout: int) -> dict[str, Any]:
    """What the trainer has of a sample: log-probabilities of policy and reference, advantages, values and returns, tokens."""
    rng = random.Random(f"trained {rollout} {position}")
    reward = made["reward"] if isinstance(made["reward"], float) else made["reward"]["score"]
    mask = made["loss_mask"]
    values = [round(0.6 * reward + rng.gauss(0.2, 0.2), 4) for _ in mask]
    noise = random.Random(f"reference {rollout} {position}")
    return {
        "data_parallel_rank": position % 2, "sample_index": made["index"], "rollout_position": position,
        "tokens": made["tokens"], "loss_masks": mask, "rollout_log_probs": made["rollout_log_probs"],
        "log_probs": [round(min(old + rng.gauss(0.0, 0.05), -1e-4), 4) * bit for old, bit in zip(made["rollout_log_probs"], mask, strict=True)],
        "ref_log_probs": [round(min(old + noise.gauss(0.0, 0.2), -1e-4), 4) * bit for old, bit in zip(made["rollout_log_probs"], mask, strict=True)],
        "returns": [reward * bit for bit in mask], "values": values,
        "advantages": [round((reward - value) * bit, 4) for value, bit in zip(values, mask, strict=True)],
    }


def sample(episode: Episode, number: int, rollout: int, rng: random.Random) -> dict[str, Any]:
    prompt, response = render(episode, "hermes", strip=False)
    turns = response.split(MARK)
    mask = [bit for turn in turns for bit in [1] * len(turn.partition("<|im_end|>")[0].split()) + [0] * 3][:-3]
    reward = round(sum(rewards(episode).values()), 4)
    cut = episode.kept < 1
    return {
        "group_index": number // 4 + 2 * rollout, "index": number + 8 * rollout, "prompt": prompt_messages(episode) if number == 3 else prompt,
        "tokens": [rng.randrange(9000) for _ in range(12 + len(mask))], "response": response, "response_length": len(mask),
        "label": str(episode.problem.answer), "reward": {"score": reward, "acc": float(solved(episode))} if rollout else reward,
        "loss_mask": mask, "weight_versions": [str(rollout + (n > 1)) for n in range(len(turns))],
        "rollout_log_probs": sampled(mask, rollout, number),
        "status": "truncated" if cut else "aborted" if number == 5 and rollout else "completed",
        "metadata": {"task_id": f"problem-{number // 4}"} if rollout else {}, "remove_sample": False, "train_metadata": None,
        "session_id": None, "non_generation_time": 0.5, "spec_info": {}, "prefix_cache_info": {
            "cached_tokens": 6 * (len(turns) - 1), "total_prompt_tokens": 12 * len(turns) if rollout else 0},
        "trace": {"version": 1, "events": []},
    }


def save(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    members = {"data.pkl": pickle.dumps(value, protocol=2), "byteorder": b"little", "version": b"3\n"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(f"{path.stem}/{name}"), data)


def main() -> None:
    folder, rng = Path(sys.argv[1]) / "dump_details" / "rollout_data", random.Random(SEED)
    for rollout, episodes in enumerate(batches()):
        samples = [sample(episode, number, rollout, rng) for number, episode in enumerate(episodes[:8])]
        save(folder / f"{rollout}.pt", {"rollout_id": rollout, "samples": samples})
    kept = [trained(made, position, 1) for position, made in enumerate(samples) if made["status"] != "aborted"]
    shards = [{"rank": rank, "data_parallel_rank": rank, "sample_indices": None, "partition": None} for rank in range(2)]
    save(folder.parent / "train_data" / "1_0.pt", {
        "format_version": 2, "rollout_id": 1, "rank": 0, "samples": kept, "dp_shards": shards, "raw_reward": [0.0] * len(samples)})
    samples = [sample(episode, number, 1, rng) for number, episode in enumerate(batches()[1][8:])]
    save(folder / "eval_1.pt", {"rollout_id": 1, "samples": samples})


if __name__ == "__main__":
    main()
