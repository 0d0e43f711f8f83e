"""Time to label the real runs' distinct commands over a bare tree-sitter parse of the same; one JSON line.

Process CPU time, one process, the best of several rounds, our caches emptied before each.
Usage: python tests/benches/labels.py [FOLDER of *.traj.json]
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from functools import _lru_cache_wrapper
from pathlib import Path

import tree_sitter
import tree_sitter_bash

from trajlab.behavior import names, shell, verdicts

ROUNDS = 5
BLOCK = re.compile(r"```bash\n(.*?)\n```", re.DOTALL)


def distinct_commands(folder: Path) -> list[str]:
    found: dict[str, None] = {}
    for path in sorted(folder.glob("**/*.traj.json")):
        for message in json.loads(path.read_text(encoding="utf-8"))["messages"]:
            if message["role"] == "assistant" and isinstance(message["content"], str):
                blocks = BLOCK.findall(message["content"])
                if blocks:
                    found[blocks[-1]] = None
    return list(found)


def empty_caches() -> None:
    for module in (names, shell, verdicts):
        for value in vars(module).values():
            if isinstance(value, _lru_cache_wrapper):
                value.cache_clear()
    shell.KNOWN.clear()
    shell.SEEN.clear()


def seconds(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    shared = Path(os.environ.get("TRAJLAB_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else shared / "samples" / "corpora"
    commands = distinct_commands(folder)
    if not commands:
        sys.exit(f"{folder}: no *.traj.json with shell calls")
    encoded = [text.encode() for text in commands]
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))

    def parse() -> None:
        for data in encoded:
            parser.parse(data)

    def label() -> None:
        for text in commands:
            shell.label_command(text)

    parsing, labelling = [], []
    for _ in range(ROUNDS):
        parsing.append(seconds(parse))
        empty_caches()
        labelling.append(seconds(label))
    count = len(commands)
    result = {
        "bench": "labels",
        "commands": count,
        "rules_version": shell.RULES_VERSION,
        "tree_sitter_us": round(min(parsing) / count * 1e6, 2),
        "labels_us": round(min(labelling) / count * 1e6, 2),
        "first_round_us": round(labelling[0] / count * 1e6, 2),
        "vs_tree_sitter_parse": round(min(labelling) / min(parsing), 3),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
