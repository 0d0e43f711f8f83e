"""Write metric logs of made-up runs. Usage: python metric_logs_writer.py OUT VERL_0_4_1_WHEEL

Needs: torch==2.13.0, tensorboard, transformers==5.24.0, pandas, pyarrow, and the code of verl==0.9.1 (its own dependencies
are not needed) beside the wheel of 0.4.1. What real writers write: verl's console lines (``concat_dict_to_str`` of both
versions), TensorBoard's event files (``SummaryWriter``), transformers' console, state and event files (``ProgressCallback``,
``TrainerState``, ``TensorBoardCallback``), tables (pandas). Ray's prefix, the lines of slime, ROLL and SkyRL, and the rows of
prime-rl, ART and tinker-cookbook follow what their sources print and write. Numbers come from SEED, the clock stands still.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import random
import shutil
import sys
import time
import types
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from pprint import pformat
from typing import Any

sys.dont_write_bytecode = True
time.time = lambda: 1_762_000_000.0  # event files hold the clock

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from torch.utils.tensorboard import SummaryWriter  # noqa: E402
from transformers import TrainerControl, TrainerState  # noqa: E402
from transformers.integrations.integration_utils import TensorBoardCallback  # noqa: E402
from transformers.trainer_callback import ProgressCallback  # noqa: E402

SEED = 20251101
RAY = "\x1b[36m(TaskRunner pid=4711)\x1b[0m "


def curve(rng: random.Random, step: int) -> dict[str, float]:
    """What every trainer's figures are made of: a run that learns, noisily."""
    share = min(0.9, 0.1 + 0.06 * step + rng.uniform(-0.04, 0.04))
    return {"score": round(share, 4), "entropy": round(0.6 * math.exp(-0.05 * step) + rng.uniform(0, 0.02), 4),
            "kl": round(0.0004 * step * rng.uniform(0.8, 1.2), 6), "grad": round(rng.uniform(0.2, 0.6), 4),
            "length": round(180 + 4 * step + rng.uniform(-9, 9), 2), "loss": round(rng.uniform(-0.05, 0.05), 5),
            "seconds": round(rng.uniform(40, 44), 3), "turns": round(rng.uniform(3, 5), 3)}


def verl_figures(rng: random.Random, step: int) -> dict[str, Any]:
    now = curve(rng, step)
    figures: dict[str, Any] = {
        "training/global_step": step, "training/epoch": (step - 1) // 4, "critic/score/mean": now["score"],
        "critic/score/max": 1.0, "critic/score/min": 0.0, "critic/rewards/mean": now["score"], "actor/entropy": now["entropy"],
        "actor/ppo_kl": now["kl"], "actor/kl_loss": now["kl"], "actor/pg_loss": now["loss"], "actor/grad_norm": now["grad"],
        "actor/lr": 1e-6, "response_length/mean": now["length"], "response_length/clip_ratio": 0.0625,
        "num_turns/min": np.int32(2), "num_turns/max": np.int32(8), "num_turns/mean": np.float64(now["turns"]),
        "timing_s/gen": now["seconds"] - 8, "timing_s/step": now["seconds"], "perf/throughput": 1400.0 + step,
    }  # fmt: skip
    if step == 5:
        figures["actor/grad_norm"] = float("nan")
    if step % 4 == 0:
        figures["val-core/shop/acc/mean@1"] = round(now["score"] * 0.9, 3)
    return figures


def module_of(source: str, path: str) -> types.ModuleType:
    module = types.ModuleType("aggregate_logger")
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def verl(out: Path, old_wheel: Path) -> None:
    """Console and event file of one run; the same figures by 0.4.1, which rounds to three decimals."""
    rng = random.Random(SEED)
    steps = {step: verl_figures(rng, step) for step in range(1, 9)}
    inside = "verl/utils/logger/aggregate_logger.py"
    new = module_of(Path(str(distribution("verl").locate_file(inside))).read_text(), inside)
    old = module_of(zipfile.ZipFile(old_wheel).read(inside).decode(), inside)
    bar = "Training Progress:  50%|#####     | 4/8 [02:50<02:50, 42.50s/it]"
    for folder, writer in (("verl_console", new), ("verl_console_0.4", old)):
        lines = ["2025-11-01 12:00:00,000\tINFO worker.py:1918 -- Started a local Ray instance.",
                 RAY + "{'actor_rollout_ref': {'actor': {'clip_ratio': 0.2,", "\x1b[36m(WorkerDict pid=4720)\x1b[0m loading"]
        for step, figures in steps.items():
            lines += [RAY + writer.concat_dict_to_str(figures, step=step), RAY + f"\x1b[0m{bar}\r{bar}"]
        written(out / folder / "console.log", "\n".join(lines) + "\n")
    events = SummaryWriter(str(fresh(out / "verl_tensorboard")))
    for step, figures in steps.items():
        for name, value in figures.items():
            events.add_scalar(name, value, step)
    events.close()
    renamed(out / "verl_tensorboard", "1762000000.node.1.0")


def trl(out: Path) -> None:
    """Ten steps and a resume from the checkpoint at the eighth to the twelfth; evaluations at six and twelve."""
    rng, folder = random.Random(SEED + 1), fresh(out / "trl_state" / "grpo")
    console = io.StringIO()
    first = TrainerState(max_steps=12, num_train_epochs=3, train_batch_size=4, eval_steps=6, save_steps=4, logging_steps=1)
    kept = session(first, 1, 10, rng, folder, console, "Nov01_12-00-00_node")
    resumed = TrainerState(max_steps=12, num_train_epochs=3, train_batch_size=4, eval_steps=6, save_steps=4, logging_steps=1)
    resumed.log_history = [row for row in kept if row["step"] <= 8]
    session(resumed, 9, 12, rng, folder, console, "Nov01_12-20-00_node")
    resumed.save_to_json(str(folder / "trainer_state.json"))
    written(out / "trl_state" / "grpo" / "train.log", console.getvalue())


def session(state: Any, first: int, last: int, rng: random.Random, folder: Path, console: io.StringIO, place: str) -> list[Any]:
    events = SummaryWriter(str(folder / "runs" / place))
    args: Any = types.SimpleNamespace(to_json_string=lambda: "{}", logging_dir=None)
    board, progress, control = TensorBoardCallback(events), ProgressCallback(), TrainerControl()
    board.on_train_begin = lambda *_, **__: None  # it would ask the arguments of a real training

    def log(row: dict[str, float]) -> None:
        state.log_history.append({**row, "step": state.global_step})
        board.on_log(args, state, control, logs=row)
        progress.on_log(args, state, control, logs=dict(row))

    # tqdm draws on stderr and its `write` prints on stdout: one console.
    with contextlib.redirect_stdout(console), contextlib.redirect_stderr(console):
        progress.on_train_begin(args, state, control)
        for step in range(first, last + 1):
            state.global_step, state.epoch = step, step / 4
            progress.on_step_end(args, state, control)
            log(trl_row(rng, step))
            if step % 6 == 0:
                log({f"eval_{name}": value for name, value in trl_row(rng, step).items() if name != "epoch"} | {"epoch": step / 4})
        progress.on_train_end(args, state, control)
    events.close()
    renamed(folder / "runs" / place, f"17620{first:05d}.node.1.0")
    return list(state.log_history)


def trl_row(rng: random.Random, step: int) -> dict[str, float]:
    now = curve(rng, step)
    return {"loss": now["loss"], "grad_norm": now["grad"], "learning_rate": 2e-06, "num_tokens": 4000.0 * step,
            "completions/mean_length": now["length"], "completions/clipped_ratio": 0.125, "reward": now["score"],
            "reward_std": 0.25, "frac_reward_zero_std": 0.5, "rewards/correct/mean": now["score"], "rewards/correct/std": 0.4,
            "kl": now["kl"], "entropy": now["entropy"], "clip_ratio/region_mean": 0.01, "tools/call_frequency": 1.5,
            "step_time": now["seconds"], "epoch": step / 4}  # fmt: skip


def consoles(out: Path) -> None:
    """slime, ROLL, SkyRL, and a loop of one's own."""
    rng = random.Random(SEED + 2)
    text = {"slime_console": "", "roll_console": "", "skyrl_console": "", "own_loop": "[shop] 48 tasks, 12 unique\n[shop] Connecting...\n"}
    for step in range(6):
        now = curve(rng, step)
        stamp = f"[2025-11-01 12:{step:02d}:00]"
        rollout = {"rollout/raw_reward": now["score"], "rollout/response_len/mean": now["length"], "rollout/truncated_ratio": 0.0,
                   "rollout/zero_std/count_0": 2, "rollout/step": step}
        train = {"train/loss": now["loss"], "train/pg_clipfrac": 0.01, "train/entropy_loss": now["entropy"],
                 "train/grad_norm": now["grad"] if step != 3 else float("nan"), "train/lr-pg_0": 1e-06, "train/step": step}
        text["slime_console"] += f"{stamp} rollout.py:402 - rollout {step}: {rollout}\n{stamp} model.py:612 - step {step}: {train}\n"
        text["slime_console"] += f"{stamp} timer.py:31 - perf {step}: {({'perf/step_time': now['seconds']})}\n"
        if step % 3 == 2:
            text["slime_console"] += f"{stamp} rollout.py:455 - eval {step}: {({'eval/shop': now['score']})}\n"
        metrics = {"critic/score/mean": now["score"], "critic/entropy/mean": now["entropy"], "actor/approxkl": now["kl"],
                   "actor_train/grad_norm": now["grad"], "actor/lr": 1e-06, "tokens/response_length/mean": now["length"],
                   "time/step_total": now["seconds"]}
        text["roll_console"] += f"{RAY}{stamp} [agentic_pipeline.py (210)] [INFO] metrics_tag: "
        text["roll_console"] += json.dumps({"step": step, "metrics": metrics}) + "\n"
        shown = {"reward/avg_raw_reward": now["score"], "policy/policy_entropy": now["entropy"], "policy/policy_kl": now["kl"],
                 "policy/grad_norm": now["grad"], "policy/policy_lr": 1e-06, "generate/avg_num_tokens": now["length"],
                 "timing/step": now["seconds"], "trainer/global_step": step + 1}
        pretty = pformat({k: f"{v:.4f}" if isinstance(v, float) else v for k, v in shown.items()}).split("\n")
        text["skyrl_console"] += "".join(f"(skyrl_entrypoint pid=99) {line}\n" for line in [f"Step {step + 1}: ", *pretty])
        text["own_loop"] += f"[shop] {step + 1:3d}/6 | loss={now['loss']:.4f} | reward={now['score']:.3f}\n"
    for name, said in text.items():
        written(out / name / "train.log", said)


def rows(out: Path) -> None:
    """tinker-cookbook (begun anew once), prime-rl, ART; a list, Parquet, the table of a notebook, a panel of wandb."""
    rng = random.Random(SEED + 3)
    curves = [curve(rng, step) for step in range(8)]
    tinker = [{"step": step, "progress/batch": step, "optim/lr": 1e-4, "progress/done_frac": (step + 1) / 8,
               "env/all/reward/total": now["score"], "env/all/turns_per_episode": now["turns"],
               "env/all/by_group/frac_mixed": 0.6, "env/all/by_group/frac_all_good": 0.1, "env/all/by_group/frac_all_bad": 0.3,
               "optim/kl_sample_train_v1": now["kl"], "optim/entropy": now["entropy"], "time/total": now["seconds"]}
              for step, now in enumerate(curves)]
    written(out / "tinker_metrics" / "metrics.jsonl", lines([*tinker[:4], *({**row, "time/total": 50.5} for row in tinker[2:])]))
    prime = [{"step": step, "time": 1.762e9 + step, "train/agg/all/shop/reward/mean": now["score"],
              "train/agg/all/shop/num_turns/mean": now["turns"], "train/agg/all/shop/is_truncated/mean": 0.05,
              "off_policy/mean": 1.0, "entropy/all/mean": now["entropy"], "mismatch_kl/all/mean": now["kl"],
              "optim/grad_norm": now["grad"], "optim/lr": 1e-6, "loss/mean": now["loss"]} for step, now in enumerate(curves)]
    written(out / "prime_rl_metrics" / "metrics.jsonl", lines(prime) + '{"step": 8, "time": 1762000008.0, "loss/me')
    art: list[dict[str, Any]] = []
    for step, now in enumerate(curves, 1):
        stamp = {"training_step": step, "step": step, "recorded_at": f"2025-11-01T12:{step:02d}:00"}
        art += [{"train/reward": now["score"], "train/reward_std_dev": 0.2, "train/exception_rate": 0.0, **stamp},
                {"loss/train": now["loss"], "loss/entropy": now["entropy"], "loss/grad_norm": now["grad"], **stamp}]
    written(out / "art_history" / "history.jsonl", lines([*art, {"val/reward": 0.5, **stamp}]))
    wandb = [{"_step": step, "_runtime": 40.0 * step, "_timestamp": 1.762e9, "critic/score/mean": now["score"],
              "actor/grad_norm": now["grad"], "my_own/tool_rate": 0.5} for step, now in enumerate(curves)]
    written(out / "wandb" / "history.json", json.dumps(wandb))
    pd.DataFrame(wandb).to_parquet(fresh(out / "wandb_parquet") / "history.parquet")
    panel = pd.DataFrame({"Step": range(8), "seed-1 - critic/score/mean": [now["score"] for now in curves],
                          "seed-2 - critic/score/mean": [now["score"] / 2 for now in curves]})
    panel["seed-1 - critic/score/mean__MIN"] = panel["seed-1 - critic/score/mean"]
    panel.to_csv(fresh(out / "wandb_panel") / "panel.csv", index=False)
    notebook = pd.DataFrame({"Step": range(1, 9), "Training Loss": [now["loss"] for now in curves],
                             "reward": [now["score"] for now in curves], "reward_std": 0.25,
                             "completions / mean_length": [now["length"] for now in curves],
                             "kl": [now["kl"] for now in curves], "rewards / correct / mean": [now["score"] for now in curves]})
    notebook.to_csv(fresh(out / "notebook") / "grpo.csv", index=False, float_format="%.6f")


def lines(found: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in found)


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def renamed(folder: Path, end: str) -> None:
    """The name of an event file holds the clock, the host and the process."""
    (found,) = folder.glob("events.out.tfevents.*")
    found.rename(folder / f"events.out.tfevents.{end}")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    verl(target, Path(sys.argv[2]))
    trl(target)
    consoles(target)
    rows(target)
