"""Write the console of an AReaL run. Usage: python areal_console_writer.py OUT AREAL_WHEEL

Needs: tabulate, colorlog, and the wheel of areal==1.0.4, of which `StatsLogger.commit`, the table's printer and the log files' formatter
are run; what they import besides (wandb, swanlab, the trainer) is replaced by empty modules. Numbers come from SEED, the clock stands
still; the lines between are ours.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
import types
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
os.environ["TZ"] = "UTC"
time.tzset()
time.time = lambda: 1_762_000_000.0

SEED = 20251130
NOTHING = ("swanlab", "trackio", "wandb", "torch", "torch.distributed", "tensorboardX", "areal.api", "areal.api.cli_args", "areal.version")


def stats_logger(wheel: Path) -> types.ModuleType:
    """`areal.utils.stats_logger` without the rest of the package."""
    sys.path.insert(0, str(wheel))
    for name, place in (("areal", wheel / "areal"), ("areal.utils", wheel / "areal" / "utils")):
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = [str(place)]
    for name in NOTHING:
        module = sys.modules[name] = types.ModuleType(name)
        module.__dict__.update(dict.fromkeys(("FinetuneSpec", "BaseExperimentConfig", "StatsLoggerConfig", "SummaryWriter", "version_info"), object))
        module.__dict__.update(is_initialized=lambda: False, log=lambda *_, **__: None)
    sys.modules["torch"].distributed = sys.modules["torch.distributed"]  # type: ignore[attr-defined]
    from areal.utils import stats_logger as found

    return found  # type: ignore[no-any-return]


def stats(rng: random.Random, step: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, mean, spread in (("task_reward", 0.2 + 0.06 * step, 0.5), ("final_reward", 0.18 + 0.06 * step, 0.5), ("advantages", 0.0, 1.5),
                               ("seq_len", 180.0 + 4 * step, 90.0), ("prompt_len", 64.0, 12.0)):
        middle = round(mean + rng.uniform(-0.02, 0.02), 4)
        figures |= {f"ppo_actor/{name}/avg": middle, f"ppo_actor/{name}/min": middle - spread, f"ppo_actor/{name}/max": middle + spread}
    figures["ppo_actor/no_eos_ratios/avg"] = 0.0625
    figures |= {"ppo_actor/update/approx_kl/avg": 0.0004 * step, "ppo_actor/update/clip_ratio/avg": 0.0125,
                "ppo_actor/update/entropy/avg": round(0.6 - 0.04 * step, 4), "ppo_actor/update/lr": 1e-06,
                "ppo_actor/update/grad_norm": float("nan") if step == 2 else round(rng.uniform(0.2, 0.6), 4),
                "ppo_actor/version_stats/sample_staleness_theta_avg": 0.5, "rollout/num_turns": 3.25, "rollout/accepted": 8,
                "timeperf/train_step": 20.25, "ppo_actor/task_reward__count": 8}  # fmt: skip
    return figures


def main(out: Path, wheel: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    module = stats_logger(wheel.resolve())
    from areal.utils import logging

    logging.setup_file_logging(str(out))
    logger = object.__new__(module.StatsLogger)
    logger.ft_spec = types.SimpleNamespace(total_train_epochs=2, steps_per_epoch=3, total_train_steps=6)
    logger.summary_writer, logger._last_commit_step = None, -1
    talk, rng = logging.getLogger("PPOTrainer"), random.Random(SEED)
    for step in range(6):
        talk.info("Weights are sent: version %s", step + 1)
        logger.commit(step // 3, step % 3, step, stats(rng, step))
    (out / "merged.log").unlink()  # the same with another prefix


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
