"""Compare `write_generations` byte for byte with verl's own writers. Usage: python verl_check.py WHEEL…

Takes the writing functions out of verl wheels by their syntax tree (nothing of verl is imported or installed) and lets
both sides write the same rows. Get the wheels with: pip download --no-deps verl==0.4.1 (0.5.0, 0.6.1, 0.7.1, 0.8.0, 0.9.1)
"""

from __future__ import annotations

import ast
import json
import os
import random
import sys
import tempfile
import textwrap
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from verl_simulation import problems, rewards  # noqa: E402
from verl_writer import columns_of, reward_extras, rollout, write_generations  # noqa: E402

LEGACY, V1 = "verl/trainer/ppo/ray_trainer.py", "verl/trainer/ppo/v1/trainer_base.py"


def function_from(wheel: Path, member: str, names: tuple[str, ...]) -> Any:
    with zipfile.ZipFile(wheel) as archive:
        source = archive.read(member).decode()
    found = {node.name: node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
    node = next(found[name] for name in names if name in found)
    node.decorator_list = []
    scope: dict[str, Any] = {"os": os, "json": json, "np": np, "print": lambda *_: None}
    exec(compile(ast.Module([node], []), member, "exec"), scope)
    return scope[node.name], [argument.arg for argument in node.args.args]


def same_bytes(wheel: Path, member: str, version: str, extras: dict[str, list[Any]], columns: dict[str, Any]) -> bool:
    function, parameters = function_from(wheel, member, ("_write_generations", "_dump_generations"))
    values = {"inputs": columns["input"], "outputs": columns["output"], "gts": columns["gts"],
              "scores": columns["score"], "reward_extra_infos_dict": extras, "global_steps": 3,
              "self": SimpleNamespace(global_steps=3)}
    with tempfile.TemporaryDirectory() as name:
        theirs, ours = Path(name) / "theirs", Path(name) / "ours"
        function(**{p: values[p] if p != "dump_path" else str(theirs) for p in parameters})
        write_generations(ours, 3, columns, extras, version)
        return (theirs / "3.jsonl").read_bytes() == (ours / "3.jsonl").read_bytes()


def main() -> int:
    rng = random.Random(7)
    episodes = rollout(rng, problems(rng, 4), 0.5)
    columns = columns_of(episodes)
    plain: dict[str, list[Any]] = {"acc": [rewards(e)["answer_reward"] for e in episodes], "short": [1]}
    numpy_extras = reward_extras(episodes) | plain
    failed = 0
    for wheel in map(Path, sys.argv[1:]):
        number = tuple(int(part) for part in wheel.name.split("-")[1].split(".")[:2])
        version = "0.4" if number < (0, 6) else "0.6" if number < (0, 8) else "0.8"
        cases = [(LEGACY, version, numpy_extras if version == "0.8" else plain)]
        cases += [(V1, "0.9-v1", numpy_extras)] if number >= (0, 9) else []
        for member, ours, extras in cases:
            same = same_bytes(wheel, member, ours, extras, columns)
            failed += not same
            print(textwrap.shorten(f"{'same' if same else 'DIFFERENT'} {wheel.name} {member}", 120))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
