"""Write rollouts as AReaL does. Usage: python areal_writer.py OUT   (needs nothing)

By hand, after `WorkflowExecutor._dump_trajectory` of areal 1.0.4 (`flat`) and of areal-project/AReaL after PR #1408 (`segments`). Tokens are
counted as words; as in 1.0.4, the flat boundary stands as many tokens before the end as were generated.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from trainer_conversations import Episode, batches, rewards  # noqa: E402
from verl_spellings import render  # noqa: E402

MARK = "<|im_start|>assistant\n"


def stretches(episode: Episode) -> list[tuple[str, str]]:
    """(role, text): the prompt, what was generated, and what stood in between."""
    prompt, output = render(episode, "hermes", strip=False)
    found = [("prompt", prompt)]
    for number, piece in enumerate(output.split(MARK)):
        text, end, context = piece.partition("<|im_end|>")
        if number:
            found[-1] = (found[-1][0], found[-1][1] + MARK)
        found.append(("gen", text + end))
        if context:
            found.append(("context", context))
    return found if found[-1][0] == "gen" else found[:-1]


def tokens(text: str) -> int:
    return len(text.split())


def record(episode: Episode, task: int, sample: int, version: int) -> dict[str, Any]:
    return {"task_id": task, "sample_idx": sample, "seqlen": sum(tokens(text) for _, text in stretches(episode)),
            "reward": round(sum(rewards(episode).values()), 4), "version": version}


def flat(episode: Episode, task: int, sample: int, version: int) -> dict[str, Any]:
    base = record(episode, task, sample, version)
    generated = sum(tokens(text) for role, text in stretches(episode) if role == "gen")
    text = "".join(text for _, text in stretches(episode))
    starts = [found.start() for found in re.finditer(r"\S+", text)]
    at = starts[-generated]
    several = sum(role == "gen" for role, _ in stretches(episode)) > 1
    return {"task_id": task, "sample_idx": sample, "seqlen": base["seqlen"], "prompt_len": base["seqlen"] - generated,
            "head_version": -1 if several else version, "tail_version": version, "reward": base["reward"],
            "prompt": text[:at], "completion": text[at:]}


def segmented(episode: Episode, task: int, sample: int, version: int) -> dict[str, Any]:
    base, parts = record(episode, task, sample, version), stretches(episode)
    generated = sum(tokens(text) for role, text in parts if role == "gen")
    runs = [[version - 1, 1], [version, generated - 1]] if sample == 1 else [[version, generated]]
    row: dict[str, Any] = {
        "task_id": task, "sample_idx": sample, "seqlen": base["seqlen"], "prompt_len": tokens(parts[0][1]),
        "head_version": runs[0][0], "tail_version": version, "version_rle": runs, "reward": base["reward"] * 10,
        "original_reward": base["reward"], "prompt": parts[0][1], "completion": "".join(text for _, text in parts[1:])}
    if sum(role == "gen" for role, _ in parts) > 1:
        row["segments"] = [{"role": role, "len": tokens(text), "text": text} for role, text in parts]
    return row


def main() -> None:
    out = Path(sys.argv[1])
    for version, samples in enumerate(batches(), 1):
        kinds = ("rollout", "rollout" if version == 1 else "eval-rollout")
        for name, make, kind in zip(("flat", "segments"), (flat, segmented), kinds, strict=True):
            for task in range(2):
                rows = [make(e, task, n, version) for n, e in enumerate(samples[4 + 4 * task: 8 + 4 * task])]
                path = out / name / kind / str(version) / f"{task}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
