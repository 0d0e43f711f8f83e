"""Accuracy of command labels on gold files, and agreement with tree-sitter over real commands."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from trajlab.behavior.lexer import Lexer
from trajlab.behavior.quick import quick_commands
from trajlab.behavior.shell import label_command
from trajlab.behavior.tools import labels_of_tool

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TRAJLAB_SHARED", ROOT.parent / "shared"))
BLOCK = re.compile(r"```bash\n(.*?)\n```", re.DOTALL)  # mini-swe-agent 1.x, its own pattern

needs_gold = pytest.mark.skipif(not (SHARED / "gold").is_dir(), reason="shared gold files are absent")
needs_samples = pytest.mark.skipif(not (SHARED / "samples").is_dir(), reason="shared samples are absent")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def accuracy(pairs: Iterable[tuple[set[str], set[str]]]) -> tuple[float, float, int]:
    exact = total = both = wrong = 0
    for gold, found in pairs:
        total += 1
        exact += gold == found
        both += len(gold & found)
        wrong += len(gold ^ found)
    return exact / total, 2 * both / (2 * both + wrong), total


@needs_gold
def test_bar_on_the_shared_development_set():
    gold = rows(SHARED / "gold" / "commands_dev.jsonl")
    exact, f1, total = accuracy((set(row["labels"]), set(label_command(row["command"]))) for row in gold)
    assert total >= 250
    assert exact >= 0.97
    assert f1 >= 0.99


@needs_gold
def test_bar_on_steps_labelled_by_people():
    hits: Counter[tuple[object, bool]] = Counter()
    for row in rows(SHARED / "gold" / "human_step_labels_dev.jsonl"):
        labels = labels_of_tool(row["tool"], row["args"])
        executes = any(label.startswith("test:") for label in labels) or bool(labels & {"script", "inline"})
        hits[row["label"] == "Run tests", executes] += 1
        if row["label"] in ("Generate Fix", "Refactor", "Reproduce"):
            hits["edit", "edit" in labels] += 1
    right = hits[True, True]
    assert right / (right + hits[False, True]) >= 0.99
    assert right / (right + hits[True, False]) >= 0.99
    assert hits["edit", True] / (hits["edit", True] + hits["edit", False]) >= 0.99


def test_bar_on_our_own_gold_file():
    gold = rows(ROOT / "data_samples" / "gold" / "commands.jsonl")
    assert len(gold) >= 600
    assert len({row["command"] for row in gold}) == len(gold)
    per_label = Counter(label for row in gold for label in row["labels"])
    assert min(per_label.values()) >= 30, per_label
    assert len(per_label) == 15
    exact, f1, _ = accuracy((set(row["labels"]), set(label_command(row["command"]))) for row in gold)
    assert exact >= 0.97
    assert f1 >= 0.99


def real_commands() -> list[str]:
    """Every distinct shell call of the public mini-swe-agent runs."""
    commands: dict[str, None] = {}
    for path in sorted((SHARED / "samples" / "corpora").glob("*/*/*.traj.json")):
        for message in json.loads(path.read_text(encoding="utf-8"))["messages"]:
            if message["role"] == "assistant" and isinstance(message["content"], str):
                blocks = BLOCK.findall(message["content"])
                if blocks:
                    commands[blocks[-1]] = None
    return list(commands)


def tree_sitter_programs(parser, text: str) -> list[str]:
    names, stack = [], [parser.parse(text.encode()).root_node]
    while stack:
        node = stack.pop()
        if node.type == "command":
            name = node.child_by_field_name("name")
            if name is not None:
                names.append(name.text.decode().strip("'\""))
        elif node.type in ("test_command", "declaration_command", "unset_command"):
            names.append(node.children[0].type)
        stack.extend(reversed(node.children))
    return names


@needs_samples
def test_tree_sitter_sees_the_same_programs():
    tree_sitter = pytest.importorskip("tree_sitter")
    bash = pytest.importorskip("tree_sitter_bash")
    parser = tree_sitter.Parser(tree_sitter.Language(bash.language()))
    commands = real_commands()
    assert len(commands) > 3000
    differ = []
    for text in commands:
        ours = sorted(command.words[0] for command in Lexer(text).run() if command.words)
        if ours != sorted(tree_sitter_programs(parser, text)):
            differ.append(text)
    assert differ == []


@needs_samples
def test_the_short_way_reads_as_the_lexer_does():
    compared = 0
    for text in real_commands():
        short = quick_commands(text)
        if short is None:
            continue
        compared += 1
        full = Lexer(text).run()
        assert [(c.words, c.redirects, c.heredoc, c.piped_in, c.piped_out) for c in short] == [
            (c.words, c.redirects, c.heredoc, c.piped_in, c.piped_out) for c in full
        ]
    assert compared > 2500


@needs_samples
def test_few_real_commands_are_other():
    commands = real_commands()
    other = sum(label_command(text) == {"other"} for text in commands)
    assert other / len(commands) < 0.03
