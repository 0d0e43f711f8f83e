"""Write TensorBoard event files as OpenRLHF does. Usage: python openrlhf_writer.py OUT OPENRLHF_WHEEL

Needs: torch==2.13.0, tensorboard, and the wheel of openrlhf==0.11.2, of which only `utils/logging_utils.py` is loaded: its
`TensorboardLogger` and torch's `SummaryWriter` write the files. What it is given follows `PPOTrainer.train_step`: the metrics of a step,
and the first sample of its batch, special tokens dropped. Rollouts come from SEED (`trainer_conversations.py`), the clock stands still.
"""

from __future__ import annotations

import random
import shutil
import sys
import time
import types
import zipfile
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
time.time = lambda: 1_762_000_000.0  # event files hold the clock

from trainer_conversations import Episode, rewards  # noqa: E402
from verl_simulation import problems, sample_episode  # noqa: E402
from verl_spellings import render  # noqa: E402

SEED = 20251209
INSIDE = "openrlhf/utils/"


def loggers(wheel: Path) -> types.ModuleType:
    """`openrlhf.utils.logging_utils` alone: the package itself would import the trainer."""
    with zipfile.ZipFile(wheel) as archive:
        sources = {Path(name).stem: archive.read(name).decode() for name in archive.namelist()
                   if name.endswith((f"{INSIDE}config.py", f"{INSIDE}logging_utils.py"))}
    for package in ("openrlhf", "openrlhf.utils"):
        sys.modules[package] = types.ModuleType(package)
    for name in ("config", "logging_utils"):
        module = sys.modules[f"openrlhf.utils.{name}"] = types.ModuleType(f"openrlhf.utils.{name}")
        exec(compile(sources[name], f"{INSIDE}{name}.py", "exec"), module.__dict__)
    return sys.modules["openrlhf.utils.logging_utils"]


def text(episode: Episode, template: str) -> str:
    """What `tokenizer.decode(…, skip_special_tokens=True)` gives of prompt and rollout."""
    if template == "plain":  # data.input_template 'User: {}\\nAssistant: '
        _, output = render(episode, "hermes", strip=True)
        return f"User: {episode.problem.text}\nAssistant: " + output.partition("\nuser\n")[0]
    return "".join(render(episode, template, strip=True))


def score(episode: Episode) -> float:
    return round(sum(rewards(episode).values()), 4)


def status(batch: list[Episode], step: int, template: str, rng: random.Random) -> dict[str, Any]:
    """In the order of the trainer's own: what was learned, timing, the batch, the sample, timing again."""
    scores = [score(episode) for episode in batch]
    lengths = [len(text(episode, template).split()) for episode in batch]
    seconds = round(rng.uniform(40, 44), 3)
    return {
        "policy_loss": round(rng.uniform(-0.05, 0.05), 5), "ppo_clip_ratio": 0.0125, "ppo_kl": round(rng.uniform(1e-4, 9e-4), 6),
        "entropy_loss": round(0.6 - 0.04 * step, 4), "actor_grad_norm": float("nan") if step == 3 else round(rng.uniform(0.2, 0.6), 4),
        "actor_lr": 1e-06, "kl": round(0.0004 * step, 6), "vllm_kl": 0.0002, "logprobs_diff": 0.003,
        "timing/make_experience": 8.5, "timing/ppo_train": 20.25, "timing/broadcast": 1.5,
        "reward": sum(scores) / len(scores), "return": sum(scores) / len(scores), "response_length": sum(lengths) / len(lengths),
        "response_clip_ratio": sum(episode.kept < 1 for episode in batch) / len(batch), "group_reward_std": 0.25,
        "generated_samples": [text(batch[0], template), scores[0]],
        "timing/generation": seconds, "timing/step_total": seconds + 30.25,
    }  # fmt: skip


def session(logging: types.ModuleType, out: Path, run: str, end: str, template: str, steps: range, seed: int) -> None:
    place = types.SimpleNamespace(tensorboard_dir=str(out), wandb=types.SimpleNamespace(run_name=run))
    logger = logging.TensorboardLogger(types.SimpleNamespace(logger=place))
    for step in steps:
        rng = random.Random(f"{SEED} {run} {step} {seed}")
        # The prompts of a step are those of the data loader's state; what is sampled is not.
        prompt = problems(random.Random(f"{SEED} {run} {step}"), 2)
        batch = [sample_episode(rng, problem, 0.1 + 0.12 * step) for problem in prompt for _ in range(4)]
        logger.log_train(step, status(batch, step, template, rng))
        if step % 2 == 0:
            logger.log_eval(step, {"eval_sums_pass1": 0.25 + 0.05 * step, "eval_sums_truncated_rate": 0.0625})
    logger.close()
    (found,) = (out / run).glob("events.out.tfevents.1762000000.*.[0-9]*")  # the end holds host and process
    found.rename(out / run / f"events.out.tfevents.{end}")


def main(out: Path, wheel: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    logging = loggers(wheel)
    session(logging, out, "resumed", "1762000001.node.1.0", "hermes", range(1, 6), 1)
    session(logging, out, "resumed", "1762000009.node.1.0", "hermes", range(5, 8), 2)  # from the checkpoint of step 4
    for template in ("llama3", "plain"):
        session(logging, out, template, "1762000001.node.1.0", template, range(1, 4), 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
