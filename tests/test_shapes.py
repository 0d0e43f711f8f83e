"""Texts of one shape have the same facts: every fact known of a shape is compared with the text's own."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.behavior import inline_code, inline_tables
from trajlab.behavior.inline_code import inspect_python, writes_in_plain_sight
from trajlab.behavior.masks import labels_in, mask_of
from trajlab.behavior.shapes import Shape, holds, shape_of
from trajlab.behavior.shell import (
    Facts,
    analyse,
    command_facts,
    explain_command,
    facts_of,
    label_command,
    labels_of,
)

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TRAJLAB_SHARED", ROOT.parent / "shared"))
BLOCK = re.compile(r"```bash\n(.*?)\n```", re.DOTALL)
GOLD_FILE = ROOT / "data_samples" / "gold" / "commands.jsonl"
GOLD = [json.loads(line)["command"] for line in GOLD_FILE.read_text(encoding="utf-8").splitlines()]

TEXTS = (
    "cat lib/a.py | head -n 20",
    "cd /testbed && sed -n '5,9p' lib/a.py",
    "nl -ba a/b.py | sed -n '1,9p'",
    'grep -rn "def part_\\(5\\)$" lib --include="*.py" 2>/dev/null | grep -v test | sort | uniq -c | head -5',
    "find . -maxdepth 2 -name '*.py' -not -path './x/*' | wc -l",
    "sed -i 's/a/b/' a.py && git --no-pager diff a.py",
    "git add -A && git diff --cached > patch.txt",
    "PYTHONPATH=lib python -m pytest -xq tests/test_a.py::TestA -k 'not b' 2>&1 | tail -n 30",
    "python -m pytest tests/unit/a --tb=short -p no:cacheprovider tests",
    "pytest -rA a/test_b.py .",
    "python3 -m unittest -v tests.test_a.TestB.test_c",
    "./tests/runtests.py --verbosity 2 admin.tests.TestB forms model_fields.test_a",
    "python manage.py test app.tests --settings=a.b",
    "bin/test sympy/core/tests/test_a.py",
    "/usr/bin/python3 -u scripts/run-it.py --flag x",
    'python -c "import a; print(a.b(\\"c\\"))" | head',
    "cd /testbed && python - <<'EOF'\nfrom pathlib import Path\np = Path('a.py')\np.write_text(p.read_text())\nEOF",
    "cat > a.py <<'EOF'\nit's\nEOF\npython a.py",
    "cat <<EOF >> b.py\nx\nEOF",
    'echo "--- done" && ls -la; pwd',
    "mkdir -p a/b && rm -rf a/b; which python",
    "tail -n +5 f | cut -f 1 | tr a b",
    "cd /testbed && ls -la a | sort -u | tail -5",
    "grep -n 'a|b' c.py 2>/dev/null | head",
)
WORDS = [word for text in TEXTS for word in re.findall(r"\S+|\s+", text)]
PIECES = (
    "'", '"', "$", ">", "|", ";", "\\", "--", "-", "--help", "--version", "-h", "-V", "-e", "-i", "-o", "-r", "-E",
    "-A", "-5", "-k", "-m", "-c", "-u", "#", "&", "&&", "||", "<", "2>&1", "(", ")", "$(", "${", "`", "=", "A=1",
    "test", "tests", "::", "/", ".", ".py", "_", "manage.py", "runtests.py", "setup.py", "pytest.py", "/dev/null",
    "/tmp/a", "edit", "wc", "sort", "tee", "xargs", "-exec", "-delete", "apply", "grep",
    "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "''", '""', "'-'", '"-"', "\\-", "-'i'", '"-"-help', "{", "}", "if",
    "cd", "pytest", "python", "Test", "test_", "{}", "*", "!", "é", " ", "\n", "\t", "\r", "\x0b", "\xa0", "\x00",
    "<<EOF\n", "EOF\n", "\nEOF", "\\\n", " | head", "edit 1:2\n", "open('a','w')", ".write_text(x)", '"""', "'''",
    "subprocess", "f'{'", "import os\n", " > f.py", " -o f", "| cat f",
)  # fmt: skip

KNOWN: dict[Shape, tuple[Facts, str]] = {}


def compared(text: str) -> bool:
    """Whether the text has a shape; if so, its facts are those of the first text of that shape."""
    facts = facts_of(analyse(text))
    assert command_facts(text) == facts
    shape = shape_of(text)
    if shape is None or not holds(shape):
        return False
    known, first = KNOWN.setdefault(shape, (facts, text))
    assert known == facts, (first, text, shape)
    return True


@pytest.mark.parametrize("text", TEXTS)
def test_the_commonest_commands_have_a_shape(text):
    assert compared(text)
    assert label_command(text) == labels_of(explain_command(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cat a.py", "cat b/c.py"),
        ("cat a.py b.py", "cat b/c.py d.py e.py"),
        ("sed -n '5,9p' a.py | head -n 20", "sed -n '1p' b.c | head -n 7"),
        ("pytest tests/test_a.py", "pytest -q  tests/b/test_c.py"),
        ("cat > a.py <<'EOF'\nx\nEOF", "cat > b.c <<'E'\n\nint y;\nE\n"[:-1]),
        ("python -c 'print(1)'", 'python -c "import a"'),
    ],
)
def test_texts_of_one_shape(one, other):
    assert shape_of(one) == shape_of(other) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cat a.py | head", "cat a.py | head b.py"),
        ("cat a.py | grep x", "cat a.py | grep x y"),
        ("sed -n 5p a.py", "sed -i 5d a.py"),
        ("pytest a/b.py", "pytest a/b.py::c"),
        ("pytest a/b", "pytest a/b -k c"),
        ("ls", "ls; pwd"),
        ("git diff", "git grep x"),
        ("python -c 'print(1)'", "python -c 'Path(1).write_text(2)'"),
    ],
)
def test_what_differs_has_another_shape(one, other):
    assert shape_of(one) != shape_of(other)


@pytest.mark.parametrize(
    "text",
    ["", "cat --help", "cat a > b", "cat $x", "cat `x`", "a &", "cat a.py | python", "edit 1:2\nx\nend_of_edit",
     "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "find . -delete", "git apply a", "cat <<EOF > /dev/null\nEOF",
     "if ls", "ls;" * 50, "python -c 'import subprocess; subprocess.run(1)'", "cat <<EOF > a\nx",
     "cd a b", "ls ;; ls", "ls |& cat"],
)  # fmt: skip
def test_other_texts_have_none(text):
    shape = shape_of(text)
    assert shape is None or not holds(shape)


def changed(text: str, rng: random.Random) -> str:
    """The text with pieces put in, words exchanged, left out, or another command behind it."""
    for _ in range(rng.randrange(1, 4)):
        place, way = rng.randrange(len(text) + 1), rng.random()
        if way < 0.4:
            text = text[:place] + rng.choice(PIECES) + text[place:]
        elif way < 0.5:
            text = text[:place] + text[place + rng.randrange(1, 4) :]
        elif way < 0.8:
            words = re.findall(r"\S+|\s+", text) or [""]
            words[rng.randrange(len(words))] = rng.choice(WORDS if rng.random() < 0.7 else PIECES)
            text = "".join(words)
        elif way < 0.9:
            text = text[:place] + " " + rng.choice(PIECES) + " " + text[place:]
        else:
            text += rng.choice((" && ", "; ", "\n", " | ", " || ", " 2>&1 | ", "\n\n")) + rng.choice(TEXTS)
    return text


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([*TEXTS, *TEXTS, *TEXTS, *GOLD]))
def test_changed_commands_keep_to_the_facts_of_their_shape(seed, text):
    rng = random.Random(seed)
    for _ in range(40):
        compared(changed(text, rng))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*WORDS, *PIECES, " ", " ", " "]), max_size=12).map("".join))
def test_shell_like_text_keeps_to_the_facts_of_its_shape(text):
    compared(text)


def test_the_gold_commands_keep_to_the_facts_of_their_shapes():
    assert sum(map(compared, GOLD)) >= 150


@pytest.mark.skipif(not (SHARED / "samples").is_dir(), reason="shared samples are absent")
def test_real_commands_keep_to_the_facts_of_their_shapes():
    found: dict[str, None] = {}
    for path in sorted((SHARED / "samples" / "corpora").glob("*/*/*.traj.json")):
        for message in json.loads(path.read_text(encoding="utf-8"))["messages"]:
            if message["role"] == "assistant" and isinstance(message["content"], str):
                found.update(dict.fromkeys(BLOCK.findall(message["content"])))
    assert sum(map(compared, found)) > 0.9 * len(found)


def by_the_tree(code: str) -> bool | None:
    """What the syntax tree says, else the tokens; ``None`` where there is more to it than writing."""
    tree = inline_code._parsed(code)
    if tree is not None:
        writes, scope, commands = inline_code._Inspection(tree).result()
        return writes if scope is None and not commands else None
    tests = inline_tables.PYTHON_TEST_TOKENS.search(code)
    return None if tests else inline_tables.PYTHON_WRITE_TOKENS.search(code) is not None


CODE = (
    "p.write_text(x)", "p = 1", "\n", "\n", "'", '"', "'''", '"""', "#", "\\", "(", ")", " ", "x", "f'{a}'", "f'{", "}",
    "'/tmp/x'", "import tempfile", "import subprocess", "open('a', 'w')", "open", "'w'", "from io import open as o",
    "pytest.main()", "print(1)", "\r", "r'\\'", "# it's", "import os\n", "os.system('x')", "StringIO", "np.test()",
    "makeSuite(x)", "é", "with a as b:\n  ", "import pytest", "import subprocess;", "subprocess.__doc__", ".run(x)",
    "subprocess", " as s\n", "s.run('ls')\n", "from ", "import shutil\n", "shutil.move(a, b)", "unittest.__name__",
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(CODE), max_size=10).map("".join))
def test_what_shows_without_parsing_is_what_the_tree_says(code):
    shown = writes_in_plain_sight(code)
    if shown is not None:
        assert inspect_python(code) == (shown, None, [])
        if shown or inline_tables.SUSPECT.search(code):
            assert by_the_tree(code) == shown, code


@pytest.mark.parametrize("labels", [frozenset(), frozenset({"other"}), frozenset({"test:all", "edit"})])
def test_a_mask_holds_the_labels(labels):
    assert labels_in(mask_of(labels)) == labels
