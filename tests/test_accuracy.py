"""Accuracy of labels against a gold file, ``trajlab accuracy`` and ``trajlab explain``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.behavior.shell import explain_command, label_command
from trajlab.cli import cli
from trajlab.errors import UsageError
from trajlab.measures.accuracy import GoldCommand, accuracy, in_order, read_gold
from trajlab.report.terminal import accuracy_text, explanation, explanation_dict, shortened
from trajlab.schema import LABELS
from trajlab.stats import wilson

ROOT = Path(__file__).resolve().parents[1]
GOLD = ROOT / "data_samples" / "gold" / "commands.jsonl"
SETS = st.lists(st.sampled_from(LABELS), min_size=1, max_size=3).map(in_order)


def gold_file(folder: Path, *lines: str) -> Path:
    path = folder / "gold.jsonl"
    path.write_text("".join(line + "\n" for line in lines), "utf-8")
    return path


def row(command: str, *labels: str) -> str:
    return json.dumps({"source": "test", "command": command, "labels": labels})


def test_counts_worked_out_by_hand(tmp_path: Path) -> None:
    path = gold_file(
        tmp_path, row("cat a", "read"), row("cat b", "read"), row("cat c", "search"), "", row("ls", "search", "edit")
    )
    found = accuracy(read_gold(path))
    read, search, edit = (found.labels[LABELS.index(name)] for name in ("read", "search", "edit"))
    assert (read.support, read.found, read.hits) == (2, 3, 2)
    assert (search.support, search.found, search.hits) == (2, 1, 1)
    assert (read.precision.value, read.recall.value, read.f1.value) == (2 / 3, 1.0, 0.8)
    assert (read.precision.low, read.precision.high) == pytest.approx(wilson(2, 3))
    low, high = wilson(2, 3)  # hits / (hits + false + missed)
    assert (read.f1.low, read.f1.high) == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)))
    assert (edit.precision.value, edit.recall.value, edit.f1.value) == (None, 0.0, 0.0)
    assert (found.exact.numerator, found.exact.denominator) == (2, 4)
    assert found.micro_f1.value == 2 * 3 / (2 * 3 + 1 + 2)
    assert found.micro_f1.clusters == 4
    assert [(c.gold, c.found, c.count) for c in found.confusions] == [
        (("search",), ("read",), 1),
        (("search", "edit"), ("search",), 1),
    ]
    assert [example.line for confusion in found.confusions for example in confusion.examples] == [3, 5]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SETS, SETS), min_size=1, max_size=30))
def test_against_the_obvious_way(pairs: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> None:
    gold = [GoldCommand(number, str(number), wanted) for number, (wanted, _) in enumerate(pairs)]
    found = accuracy(gold, lambda command: frozenset(pairs[int(command)][1]))
    hits = sum(len(set(wanted) & set(given)) for wanted, given in pairs)
    total = sum(len(wanted) + len(given) for wanted, given in pairs)
    assert found.micro_f1.value == pytest.approx(2 * hits / total)
    assert found.exact.numerator == sum(wanted == given for wanted, given in pairs)
    assert sum(c.count for c in found.confusions) == len(pairs) - found.exact.numerator
    assert [c.count for c in found.confusions] == sorted((c.count for c in found.confusions), reverse=True)
    for label in found.labels:
        assert label.support == sum(label.label in wanted for wanted, _ in pairs)
        for estimate in (label.precision, label.recall, label.f1):
            assert estimate.value is None or estimate.low <= estimate.value <= estimate.high


def test_f1_interval_holds_the_truth() -> None:
    """Commands of one label: hit, false or missed with known shares; 95 % promised, a little slack for the draw."""
    rng = np.random.default_rng(5)
    truth = 2 * 0.3 / (2 * 0.3 + 0.04 + 0.05)
    covered = 0
    for _ in range(200):
        kinds = rng.choice(["hit", "missed", "false", "right"], size=200, p=[0.3, 0.04, 0.05, 0.61])
        gold = [
            GoldCommand(number, str(kind), ("read",) if kind in ("hit", "missed") else ("search",))
            for number, kind in enumerate(kinds)
        ]
        judged = accuracy(gold, lambda kind: frozenset({"read"} if kind in ("hit", "false") else {"search"}))
        f1 = judged.labels[LABELS.index("read")].f1
        covered += f1.low <= truth <= f1.high
    assert covered / 200 >= 0.9


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "gold.jsonl:2: no JSON"),
        ("[]", "gold.jsonl:2: a list"),
        ('{"labels": ["read"]}', "gold.jsonl:2: no command"),
        ('{"command": "ls"}', "gold.jsonl:2: no labels"),
        ('{"command": "ls", "labels": []}', "gold.jsonl:2: no labels"),
        ('{"command": "ls", "labels": "search"}', "gold.jsonl:2: no labels"),
        ('{"command": "ls", "labels": ["seach"]}', "gold.jsonl:2: unknown label 'seach'"),
        ('{"command": "ls", "labels": [["search"]]}', "gold.jsonl:2: unknown label"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_gold(gold_file(tmp_path, row("ls", "search"), line))
    assert message in str(caught.value)


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_gold(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="no commands"):
        read_gold(gold_file(tmp_path, "", " "))
    (tmp_path / "gold.jsonl").write_bytes(b'{"command": "\xff"}')
    with pytest.raises(UsageError, match="no UTF-8"):
        read_gold(tmp_path / "gold.jsonl")


def test_line_separators_inside_a_command_end_no_line(tmp_path: Path) -> None:
    line = json.dumps({"command": "echo \u2028 x", "labels": ["other"]}, ensure_ascii=False)
    assert [gold.command for gold in read_gold(gold_file(tmp_path, line))] == ["echo \u2028 x"]


def test_accuracy_command(tmp_path: Path) -> None:
    path = gold_file(tmp_path, row("cat a\x1b[31m", "read"), row("cat b", "search"), row("cat \u202eb", "search"))
    done = CliRunner().invoke(cli, ["accuracy", str(path)])
    assert done.exit_code == 0
    assert "exact match  33.3 % [6.1, 79.2], 1/3" in done.stdout
    assert "    2  search -> read\n       line 2: cat b\n       line 3: cat ⟨U+202E⟩b" in done.stdout
    assert "\x1b" not in done.stdout
    plain = json.loads(CliRunner().invoke(cli, ["accuracy", "--json", str(path)]).stdout)
    assert plain == json.loads(json.dumps(accuracy(read_gold(path)).to_dict()))
    confusion = plain["confusions"][0]
    assert (confusion["gold"], confusion["found"], confusion["count"]) == (["search"], ["read"], 2)


def test_own_gold_file_is_all_right() -> None:
    found = accuracy(read_gold(GOLD))
    assert found.exact.value >= 0.97
    assert min(label.support for label in found.labels) >= 30
    assert ("confusions: none" in accuracy_text(found)) == (found.confusions == ())


def test_same_text_each_time() -> None:
    gold = read_gold(GOLD)
    assert accuracy_text(accuracy(gold)) == accuracy_text(accuracy(gold))


SCRIPT = """cd /repo && sed -i s/a/b/ f.py >> log
timeout 60 uv run pytest tests/test_a.py -k x 2>&1 | tail -5
find . -name '*.pyc' -delete"""


def test_explain_prints_what_the_python_call_says() -> None:
    done = CliRunner().invoke(cli, ["explain", SCRIPT])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["#", "program", "label", "rule", "scope", "wrappers", "redirects", "arguments"]
    assert [line.split()[:2] for line in lines[1:-2]] == [
        ["1", "cd"], ["2", "sed"], ["3", "pytest"], ["4", "tail"], ["5", "find"], ["fileop", "flag/find"],
    ]  # fmt: skip
    assert ">>log" in lines[2]
    assert "test:case  framework/pytest" in lines[3]
    assert "case" in lines[3].split()
    assert "timeout > uv run" in lines[3]
    assert "(filter)" in lines[4]
    assert lines[-1].startswith("labels: test:case, search, edit, fileop (rules ")


def test_explain_reads_standard_input_and_gives_json() -> None:
    done = CliRunner().invoke(cli, ["explain", "--json", "-"], input=SCRIPT)
    said = json.loads(done.stdout)
    assert said == json.loads(json.dumps(explanation_dict(explain_command(SCRIPT))))
    assert set(said["labels"]) == label_command(SCRIPT)
    assert said["commands"][2]["rules"] == [{"label": "test:case", "rule": "framework/pytest"}]
    assert said["commands"][1]["redirects"] == [{"path": "log", "mode": "append"}]


def test_explain_takes_any_bytes() -> None:
    call = [sys.executable, "-m", "trajlab.cli", "explain", "-"]
    done = subprocess.run(call, input=b"cat \xff\x1b[2J\x00 | grep", capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(codec=None), max_size=80))
def test_explanations_show_no_character_that_acts(text: str) -> None:
    said = explanation(explain_command(text))
    said.encode("utf-8")
    assert not set(said) & set("\x1b\r\x08\u202e\u2066")
    json.dumps(explanation_dict(explain_command(text)))


def test_shortened() -> None:
    assert shortened("a  b\nc") == "a b c"
    assert len(shortened("x" * 1000, 20)) == 20
    assert shortened(" " * 1000 + "x", 20).endswith("…")
