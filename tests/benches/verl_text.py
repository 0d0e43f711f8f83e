"""How fast verl rows become trajectories, beside the usual orjson + re loop: one JSON line.

``python tests/benches/verl_text.py [megabytes]``. CPU seconds, best of three, one process.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from trajlab.formats import verl
from trajlab.sources.files import Bundle, SourceFile

WORDS = [
    "the",
    "sum",
    "of",
    "all",
    "even",
    "divisors",
    "is then\n",
    "so we get",
    "\\frac{3}{4} + x^2",
    "= 17",
    "which",
]
WORDS += ["means", "that", "Let me", "check", "each", "case", "x < y", "and", "a", "again:"]
TOOLS = (
    '<tools>\n{"type": "function", "function": {"name": "run_python", "description": "Run code.", '
    '"parameters": {"type": "object", "properties": {"code": {"type": "string"}}}}}\n</tools>'
)


def row(rng: random.Random, step: int) -> dict[str, object]:
    def prose(words: int) -> str:
        return " ".join(rng.choices(WORDS, k=words))

    parts = []
    for turn in range(rng.choice((1, 2, 3, 4))):
        call = json.dumps({"name": "run_python", "arguments": {"code": f"print({turn})\n" + prose(15)}})
        parts.append(
            f"<think>\n{prose(150)}\n</think>\n\n<tool_call>\n{call}\n</tool_call>\nuser\n<tool_response>\n"
            f"{rng.random()}\n</tool_response>\nassistant\n"
        )
    parts.append(f"<think>\n{prose(220)}\n</think>\n\nAnswer: {rng.randrange(100)}")
    prompt = f"system\nYou solve problems.\n\n# Tools\n\n{TOOLS}\nuser\n{prose(60)}\nassistant\n"
    return {
        "input": prompt,
        "output": "".join(parts),
        "gts": "4",
        "score": float(rng.random() < 0.5),
        "step": step,
        "acc": float(rng.random() < 0.5),
        "format": 0.1,
        "pred": "4",
    }


ROLES = r"(?:system|user|assistant|tool)"
TURN = re.compile(rf"(?:^|\n){ROLES}\n(.*?)(?=\n{ROLES}\n|\Z)", re.DOTALL)
THINK = re.compile(r"<think>(.*?)</think>", re.DOTALL)
CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def re_loop(path: Path, decode: Callable[[bytes], dict[str, object]] = orjson.loads) -> int:
    total = 0
    with path.open("rb") as file:
        for line in file:
            record = decode(line)
            output = str(record["output"])
            total += len(TURN.findall("assistant\n" + output)) + sum(map(len, THINK.findall(output)))
            for body in CALL.findall(output):
                try:
                    total += len(decode(body)["name"])
                except ValueError:
                    total += 1
    return total


def ours(path: Path) -> int:
    stat = path.stat()
    file = SourceFile(str(path.parent), path.name, str(path), stat.st_size, stat.st_mtime_ns)
    return sum(len(item.steps) for item in verl.read(Bundle("verl", "legacy", (file,))))


def cpu(run: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "1.jsonl"
        rows = 0
        with path.open("wb") as file:
            while file.tell() < megabytes << 20:
                file.write(json.dumps(row(rng, 1), ensure_ascii=False).encode() + b"\n")
                rows += 1
        size = path.stat().st_size
        mine, loop, stdlib = (
            cpu(lambda: ours(path)),
            cpu(lambda: re_loop(path)),
            cpu(lambda: re_loop(path, json.loads)),
        )
    print(
        json.dumps(
            {
                "bytes_per_row": size // rows,
                "mb_per_s": round(size / mine / 1e6, 1),
                "vs_orjson_re_loop": round(loop / mine, 2),
                "vs_json_re_loop": round(stdlib / mine, 2),
            }
        )
    )


if __name__ == "__main__":
    main()
