"""Write compact rollouts as agent-lightning 1.x does. Usage: python agent_lightning_writer.py OUT   (needs nothing)

By hand, after `_build_compact_rollout_trajectory_records` and `_build_zipped_jsonl` of agentlightning 1.0.2: the last call of each
rollout, decoded, as lines of JSON in an archive.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from trainer_conversations import Episode, batches, rewards  # noqa: E402
from verl_spellings import render  # noqa: E402

MARK = "<|im_start|>assistant\n"


def record(episode: Episode, number: int) -> dict[str, Any]:
    text = "".join(render(episode, "hermes", strip=False))
    at = text.rindex(MARK) + len(MARK)
    return {"rollout_id": f"ro-{number:04d}", "reward": round(sum(rewards(episode).values()), 4), "prompt": text[:at],
            "response": text[at:]}


def main() -> None:
    out = Path(sys.argv[1]) / "wandb_artifact"
    for step, (kind, episodes) in enumerate(zip(("train", "validation"), batches(), strict=True), 1):
        lines = "".join(json.dumps(record(e, n), separators=(",", ":")) + "\n" for n, e in enumerate(episodes))
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            info = zipfile.ZipInfo(f"{kind}_trajectories.jsonl")
            archive.writestr(info, lines.encode(), zipfile.ZIP_DEFLATED)
        path = out / f"step_{step}" / f"{kind}_trajectories.jsonl.zip"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(buffer.getvalue())


if __name__ == "__main__":
    main()
