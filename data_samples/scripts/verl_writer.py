"""Write rollout dumps as verl does, with a made-up policy. Usage: python verl_writer.py OUT   (needs: numpy, trajlab)

The writing itself is trajlab's simulator's, which has the keys, the order and the encoding of verl's own writer, version
by version; verl_check.py compares it byte for byte with the functions inside verl's wheels. Everything comes from SEED.
"""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.append(str(Path(__file__).resolve().parents[2]))  # a checkout, where trajlab is not installed

from trajlab.simulate.verl_dump import identifier, write_file_logger, write_generations  # noqa: E402
from verl_simulation import Episode, Problem, problems, rewards, sample_episode  # noqa: E402
from verl_spellings import FAMILIES, STRIPPED, render  # noqa: E402

SEED = 20251001
SAMPLES_PER_PROMPT = 4


def columns_of(episodes: list[Episode], family: str = "hermes", *, strip: bool = True) -> dict[str, list[Any]]:
    rendered = [render(episode, family, strip=strip) for episode in episodes]
    return {"input": [prompt for prompt, _ in rendered], "output": [output for _, output in rendered],
            "gts": [str(episode.problem.answer) for episode in episodes],
            "score": [round(sum(rewards(episode).values()), 4) for episode in episodes]}


def reward_extras(episodes: list[Episode]) -> dict[str, list[Any]]:
    """What a reward function returns beside the score. Counts and flags are numpy scalars, as from array code."""
    parts = [rewards(episode) for episode in episodes]
    return {"acc": [part["answer_reward"] for part in parts],
            **{name: [part[name] for part in parts] for name in ("answer_reward", "tool_reward", "format")},
            "pred": [episode.prediction for episode in episodes],
            "n_tool_calls": [np.int64(episode.calls) for episode in episodes],
            "has_answer": [np.bool_(bool(episode.prediction)) for episode in episodes]}


def rollout(rng: random.Random, batch: list[Problem], skill: float, samples: int = SAMPLES_PER_PROMPT) -> list[Episode]:
    return [sample_episode(rng, problem, skill) for problem in batch for _ in range(samples)]


def legacy_run(out: Path) -> None:
    """Six steps: 16 problems in batches of eight, seen in three epochs in a new order each."""
    rng = random.Random(SEED)
    pool = problems(rng, 16)
    metrics = []
    for step in range(1, 7):
        epoch, half = divmod(step - 1, 2)
        if half == 0:
            rng.shuffle(pool)
        episodes = rollout(rng, pool[8 * half: 8 * half + 8], skill=(0.0, 0.45, 0.9)[epoch])
        extras = reward_extras(episodes) | {"request_id": [identifier(rng).replace("-", "") for _ in episodes]}
        columns = columns_of(episodes)
        write_generations(out / "legacy_run", step, columns, extras, "0.8")
        scores = columns["score"]
        data = {"training/global_step": step, "training/epoch": epoch, "critic/score/mean": float(np.mean(scores)),
                "critic/score/max": max(scores), "critic/score/min": min(scores), "actor/lr": 1e-6}
        metrics.append({"step": step, "data": data})
    write_file_logger(out / "legacy_run" / "metrics" / "samples" / "legacy_run.jsonl", metrics)


def v1_run(out: Path) -> None:
    """The V1 trainer: training rows carry a uid and no verdict; validation rows carry both, one line per output."""
    rng = random.Random(SEED + 1)
    pool = problems(rng, 8)
    for step in (1, 2):
        batch = pool[4 * (step - 1): 4 * step]
        episodes = rollout(rng, batch, 0.5)
        uids = [f"{uid}_{session}_0" for uid in sorted(identifier(rng) for _ in batch)
                for session in range(SAMPLES_PER_PROMPT)]
        write_generations(out / "v1_run", step, columns_of(episodes), {"uid": uids}, "0.9-v1")
    for step, skill in ((0, 0.1), (2, 0.6)):
        episodes = rollout(rng, pool, skill, samples=1)
        columns = columns_of(episodes)
        extras = {"reward": columns["score"], "acc": [np.float64(rewards(e)["answer_reward"]) for e in episodes],
                  "pred": [e.prediction or None for e in episodes],
                  "n_tool_calls": [np.int64(e.calls) for e in episodes],
                  "uid": [f"{identifier(rng)}_0_0" for _ in episodes]}
        # The second session wrote its context anew: two outputs, score and truth copied from the final one.
        for values in (*columns.values(), *extras.values()):
            values.insert(2, values[1])
        columns["output"][1] = columns["output"][1][: columns["output"][1].find("</think>")]
        stem = extras["uid"][1].rsplit("_", 1)[0]
        extras["uid"][1:3] = [f"{stem}_0", f"{stem}_1"]
        write_generations(out / "v1_validation", step, columns, extras, "0.9-v1")


def older_versions(out: Path) -> None:
    for folder, version, names in (("version_0.5.0", "0.4", ("acc", "format")),
                                   ("version_0.7.1", "0.6", ("acc", "answer_reward", "tool_reward", "format"))):
        rng = random.Random(f"{SEED} {version}")
        episodes = rollout(rng, problems(rng, 3), 0.5)
        extras = {name: values for name, values in reward_extras(episodes).items() if name in names}
        write_generations(out / folder, 1, columns_of(episodes), extras, version)


def spellings(out: Path) -> None:
    """The same conversations in every family's words; where tokens vanish in decoding, with and without them."""
    rng = random.Random(SEED + 2)
    pool = [sample_episode(rng, problem, 0.4) for problem in problems(rng, 60)]
    several = next(e for e in pool if e.kept == 1 and e.prediction and any(len(t.results) == 2 for t in e.turns))
    failed = next(e for e in pool if e.kept == 1 and e.prediction and e.failed_calls)
    code = next(e for e in pool if e.prediction and any("\n" in c.arguments.get("code", "") for t in e.turns for c in t.calls))
    plain = next(e for e in pool if e.prediction and len(e.turns) == 1)
    cut = next(e for e in pool if e.kept < 1 and len(e.turns) > 1)
    episodes = [several, failed, code, plain, cut]
    for family in FAMILIES:
        kept = {"acc": [rewards(e)["answer_reward"] for e in episodes]}
        for strip in (True, False) if family in STRIPPED else (False,):
            name = family if strip or family not in STRIPPED else f"{family}_tokens_kept"
            write_generations(out / "spellings" / name, 1, columns_of(episodes, family, strip=strip), kept, "0.8")


def edge_cases(out: Path) -> None:
    rng = random.Random(SEED + 3)
    episodes = rollout(rng, problems(rng, 1), 0.6)
    folder = out / "edge_cases"
    columns = columns_of(episodes)
    acc = [rewards(episode)["answer_reward"] for episode in episodes]
    infinite = {**columns, "score": [float("nan"), float("inf"), float("-inf"), 1.0]}
    write_generations(folder / "nan_literal", 1, infinite, {"acc": acc}, "0.8")
    flags = {"acc": [np.bool_(value > 0) for value in acc], "num_turns": [np.int32(k + 2) for k in range(len(acc))]}
    write_generations(folder / "strings_for_values", 1, columns, flags, "0.8")
    odd = {**columns, "output": [f"a\u2028b\u2029c\u0085d {text}" for text in columns["output"]]}
    write_generations(folder / "line_separators", 1, odd, {"acc": acc}, "0.8")
    write_generations(folder / "mark", 1, columns, {"acc": acc}, "0.8")
    lines = (folder / "mark" / "1.jsonl").read_bytes().splitlines(keepends=True)
    shutil.rmtree(folder / "mark")
    surrogate = lines[1].replace(b'"output": "', b'"output": "half of a pair: \\ud83d, NUL: \\u0000 ', 1)
    written = {"lone_surrogate": [lines[0], surrogate, *lines[2:]], "truncated_last_line": [*lines[:3], lines[3][:400]],
               "bad_middle_line": [lines[0], lines[1][:250] + b"\n", lines[2], b"\n", lines[3]],
               "byte_order_mark": [b"\xef\xbb\xbf", *lines], "windows_line_ends": [x[:-1] + b"\r\n" for x in lines],
               "empty_file": []}
    for name, content in written.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "1.jsonl").write_bytes(b"".join(content))


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    for write in (legacy_run, v1_run, older_versions, spellings, edge_cases):
        write(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
