"""Write evaluation dumps as SkyRL does. Usage: python skyrl_writer.py OUT   (needs nothing)

By hand, after `dump_per_dataset_eval_results` of NovaSky-AI/SkyRL@a956457: one file a data source, texts with special tokens, and
`aggregated_results.jsonl` with one line of metrics.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from trainer_conversations import Episode, batches, rewards  # noqa: E402
from verl_spellings import render  # noqa: E402


def record(episode: Episode, number: int, source: str) -> dict[str, Any]:
    prompt, output = render(episode, "hermes", strip=False)
    score: float | list[float] = round(sum(rewards(episode).values()), 4)
    if source == "per_token":
        score = [0.0] * 5 + [round(sum(rewards(episode).values()), 4)]
    extras: dict[str, Any] = {"data_source": source, "reward_spec": {"ground_truth": str(episode.problem.answer)}}
    if source == "per_token":
        extras["task_id"] = f"problem-{number // 4}"
    return {"input_prompt": prompt, "output_response": output, "score": score,
            "stop_reason": "length" if episode.kept < 1 else "stop", "env_class": "word_problems", "env_extras": extras,
            "data_source": source}


def main() -> None:
    out = Path(sys.argv[1]) / "dumped_evals"
    first, second = batches()
    for folder, samples in (("eval_only", first), ("global_step_4_evals", second)):
        scores: dict[str, list[float]] = {}
        for source, chosen in (("words", samples[4:8]), ("per_token", samples[:4])):
            path = out / folder / f"{source}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = [record(episode, number, source) for number, episode in enumerate(chosen)]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            scores[source] = [sum(row["score"]) if source == "per_token" else row["score"] for row in rows]
        scores["all"] = scores["words"] + scores["per_token"]
        metrics = {f"eval/{source}/avg_score": sum(own) / len(own) for source, own in scores.items()}
        (out / folder / "aggregated_results.jsonl").write_text(json.dumps(metrics) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
