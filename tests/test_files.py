"""Files that calls show, make, change and remove; classes of paths."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.behavior.files import FileLog
from trajlab.behavior.paths import class_of_made, clean_path, path_class
from trajlab.behavior.quick_files import quick_touches
from trajlab.behavior.shell import understood
from trajlab.behavior.shell_files import analysed_touches, shell_touches
from trajlab.behavior.tool_files import tool_touches
from trajlab.behavior.tools import kind_of_tool
from trajlab.behavior.written_paths import paths_of_code, paths_of_patch

sys.path[:0] = [str(Path(__file__).resolve().parent / "benches")]

from corpora import command  # noqa: E402

TEXT = st.text(alphabet=st.characters(codec=None), max_size=300)
DIFF = (
    "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"
    "--- /dev/null\n+++ b/new.py\n--- a/gone.py\n+++ /dev/null\n"
)

SHELL = [
    ("cat a.py", [("a.py", "shown")]),
    ("cat a.py b/c.py | head -50", [("a.py", "shown"), ("b/c.py", "shown")]),
    ("cat a.py | grep x", []),
    ("cat a.py > b.txt", [("b.txt", "written")]),
    ("cat < a.py", [("a.py", "shown")]),
    ("sed -n '1,5p' a.py", [("a.py", "shown")]),
    ("nl -ba src/a.py | sed -n '1,5p'", [("src/a.py", "shown")]),
    ("head -n 20 a.py", [("a.py", "shown")]),
    ("tail -20 ./a.py", [("a.py", "shown")]),
    ("awk 'NR>3' a.py", [("a.py", "shown")]),
    ("cd /testbed && cat lib/a.py", [("lib/a.py", "shown")]),
    ("cd lib && cat a.py", [("lib/a.py", "shown")]),
    ("cd /testbed/lib; sed -i 's/a/b/' ../x.py", [("x.py", "changed")]),
    ("cat *.py $F", []),
    ("bash -lc 'cat a.py'", [("a.py", "shown")]),
    ("cat > a.py <<'EOF'\nx\nEOF\npython a.py", [("a.py", "written"), ("a.py", "run")]),
    ("cat <<EOF >> a.py\nx\nEOF", [("a.py", "changed")]),
    ("echo x > a.py", [("a.py", "written")]),
    ("echo x | tee a.py", [("a.py", "written")]),
    ("echo x | tee -a a.py", [("a.py", "changed")]),
    ("sed -i 's/a/b/' a.py b.py", [("a.py", "changed"), ("b.py", "changed")]),
    ("sed -i -e 's/a/b/' -e 's/c/d/' a.py", [("a.py", "changed")]),
    ("sed -E -i.bak 's/a/b/' a.py", [("a.py", "changed")]),
    ("perl -pi -e 's/a/b/' a.py", [("a.py", "changed")]),
    ("black a.py", [("a.py", "changed")]),
    (f"patch -p1 <<'EOF'\n{DIFF}EOF", [("a.py", "changed"), ("new.py", "created"), ("gone.py", "deleted")]),
    (f"git apply <<'EOF'\n{DIFF}EOF", [("a.py", "changed"), ("new.py", "created"), ("gone.py", "deleted")]),
    ("git apply fix.patch", [("fix.patch", "applied")]),
    ("patch -p1 < fix.patch", [("fix.patch", "applied")]),
    (
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\nEOF",
        [("a.py", "changed")],
    ),
    ("cp a.py b.py", [("b.py", "written")]),
    ("cp a.py b/", [("b/a.py", "written")]),
    ("mv a.py c.py b", [("a.py", "deleted"), ("b/a.py", "written"), ("c.py", "deleted"), ("b/c.py", "written")]),
    ("rm -rf a.py b", [("a.py", "deleted"), ("b", "deleted")]),
    ("touch a.py", [("a.py", "touched")]),
    ("> a.py", [("a.py", "written")]),
    ("mkdir -p a/b", [("a/b", "folder")]),
    ("git diff", [("*", "shown")]),
    ("git diff --stat", []),
    ("git diff > x.patch", []),
    ("git --no-pager diff HEAD -- a.py", [("a.py", "shown")]),
    ("git show HEAD:a.py", [("a.py", "shown")]),
    ("git show abc", []),
    ("git checkout a.py", [("a.py", "reverted")]),
    ("git checkout -- a b", [("a", "reverted"), ("b", "reverted")]),
    ("git checkout main", [("main", "maybe reverted")]),
    ("git checkout -b fix.py", []),
    ("git checkout .", [("*", "reverted")]),
    ("git restore a.py", [("a.py", "reverted")]),
    ("git reset --hard", [("*", "reverted")]),
    ("git rm a.py", [("a.py", "deleted")]),
    ("git mv a.py b.py", [("a.py", "deleted"), ("b.py", "written")]),
    ("git stash", []),
    ("python -c \"open('a.py', 'w').write('x')\"", [("a.py", "written")]),
    ("python - <<'EOF'\np = 'a.py'\ns = open(p).read()\nopen(p, 'w').write(s)\nEOF", [("a.py", "changed")]),
    ("node -e \"fs.writeFileSync('a.js', 'x')\"", [("a.js", "written")]),
    ("open src/a.py 10", [("src/a.py", "shown")]),
    ("edit 1:2\nx\nend_of_edit", [("@", "changed")]),
    ("create a.py", [("a.py", "written")]),
    ("str_replace_editor view /testbed/a.py", [("a.py", "shown")]),
    ("grep -rn x .", []),
    ("pytest tests/a.py", []),
]


@pytest.mark.parametrize(("text", "touches"), SHELL)
def test_what_a_shell_text_does_to_files(text, touches):
    assert [(path, how) for _, path, how, _, _ in shell_touches(text)] == touches


TOOLS = [
    ("str_replace_editor", {"command": "view", "path": "/testbed/a.py"}, [("a.py", "shown")]),
    ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "x"}, [("a.py", "written")]),
    (
        "str_replace_editor",
        {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"},
        [("a.py", "changed")],
    ),
    ("file_editor", {"command": "undo_edit", "path": "a.py"}, [("a.py", "reverted")]),
    ("Read", {"file_path": "/workspace/p__q/a.py"}, [("a.py", "shown")]),
    ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, [("a.py", "changed")]),
    ("MultiEdit", {"file_path": "a.py", "edits": []}, [("a.py", "changed")]),
    ("Write", {"file_path": "a.py", "content": "x"}, [("a.py", "written")]),
    ("read_many_files", {"paths": ["a.py", "b.py"]}, [("a.py", "shown"), ("b.py", "shown")]),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch"}, [("a.py", "created")]),
    ("apply_patch", "*** Update File: a.py\n*** Move to: b.py\n", [("a.py", "deleted"), ("b.py", "created")]),
    ("replace_in_file", {"path": "a.py", "diff": "<<<<<<< SEARCH"}, [("a.py", "changed")]),
    ("edit", {"search": "x", "replace": "y"}, [("@", "changed")]),
    ("goto", {"line_number": 3}, [("@", "shown")]),
    ("open", {"path": "a.py"}, [("a.py", "shown")]),
    ("delete_file", {"path": "a.py"}, [("a.py", "deleted")]),
    ("move_file", {"source": "a.py", "destination": "b.py"}, [("a.py", "deleted"), ("b.py", "written")]),
    ("execute_ipython_cell", {"code": "open('a.py', 'w').write('x')"}, [("a.py", "written")]),
    ("grep", {"pattern": "x", "path": "a.py"}, []),
    ("Write", {}, []),
]


@pytest.mark.parametrize(("tool", "arguments", "touches"), TOOLS)
def test_what_a_tool_does_to_files(tool, arguments, touches):
    found = tool_touches(tool, kind_of_tool(tool) or "", arguments)
    assert [(path, how) for _, path, how, _, _ in found] == touches


@pytest.mark.parametrize(
    ("path", "clean"),
    [
        ("a/b.py", "a/b.py"),
        ("./a.py", "a.py"),
        ("a//b/../c.py", "a/c.py"),
        ("/testbed/a.py", "a.py"),
        ("/workspace/django__django-1/a.py", "a.py"),
        ("/tmp/a.py", "/tmp/a.py"),
        ("/testbed", "."),
        ("", None),
        ("-", None),
        ("*.py", None),
        ("$F", None),
        ("/dev/null", None),
        ("a\nb", None),
        ("x" * 500, None),
    ],
)
def test_one_spelling_for_a_path(path, clean):
    assert clean_path(path) == clean


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("tests/test_a.py", "test"),
        ("lib/x/tests/data.json", "test"),
        ("test_a.py", "test"),
        ("pkg/a_test.go", "test"),
        ("src/a.test.ts", "test"),
        ("src/test/java/AppTest.java", "test"),
        ("spec/models/a_spec.rb", "test"),
        ("conftest.py", "test"),
        ("testing/test_x.py", "test"),
        ("django/test/client.py", "project"),
        ("sympy/testing/runtests.py", "project"),
        ("src/latest.py", "project"),
        ("setup.py", "project"),
        ("/tmp/x.py", "scratch"),
        ("a.py.bak", "scratch"),
        ("out.log", "scratch"),
        ("/usr/lib/python3/ast.py", "scratch"),
    ],
)
def test_class_of_a_path(path, kind):
    assert path_class(path) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("reproduce_issue.py", "scratch"),
        ("test_fix.py", "scratch"),
        ("made/models.py", "scratch"),
        ("pkg/debug_x.py", "scratch"),
        ("pkg/tests/test_issue_repro.py", "scratch"),
        ("pkg/new.py", "project"),
        ("tests/test_new.py", "test"),
        ("pkg/reproduction_rate.py", "scratch"),
        ("pkg/produce.py", "project"),
    ],
)
def test_class_of_a_file_that_the_agent_made(path, kind):
    assert class_of_made(path, {"made"}) == kind


def events(*texts: str, failed: bool = False) -> list[tuple[str, str, str]]:
    log = FileLog()
    for number, text in enumerate(texts, 1):
        log.add((number, number, number), shell_touches(text), failed=failed, sees=True)
    return [(path, action, kind) for _, _, _, path, action, kind, _ in log.rows]


def test_events_depend_on_what_went_before():
    assert events("cat > repro.py <<'E'\nx\nE", "echo y > repro.py", "rm repro.py", "echo z > repro.py") == [
        ("repro.py", "created", "scratch"),
        ("repro.py", "changed", "scratch"),
        ("repro.py", "deleted", "scratch"),
        ("repro.py", "created", "scratch"),
    ]
    assert events("cat pkg/a.py", "echo y > pkg/a.py") == [
        ("pkg/a.py", "shown", "project"),
        ("pkg/a.py", "changed", "project"),
    ]
    assert events("sed -i 's/a/b/' pkg/a.py", "git diff")[-1] == ("pkg/a.py", "shown", "project")
    assert events("git diff") == []
    assert events("git checkout main") == []
    assert events("open pkg/a.py", "edit 1:2\nx\nend_of_edit")[-1] == ("pkg/a.py", "changed", "project")
    assert events("mkdir demo", "touch demo/__init__.py", "rm -r demo")[-1] == ("demo", "deleted", "scratch")


def test_a_script_that_the_agent_wrote_edits_what_it_writes():
    script = "cat > fix.py <<'E'\np = 'pkg/a.py'\ns = open(p).read()\nopen(p, 'w').write(s)\nE"
    assert events(script, "python fix.py")[-1] == ("pkg/a.py", "changed", "project")
    helper = "cat > make.py <<'E'\nopen('app/models.py', 'w').write('')\nE"
    assert events(helper, "python make.py")[-1] == ("app/models.py", "created", "scratch")
    assert events(f"cat > f.patch <<'E'\n{DIFF}E", "git apply f.patch")[1] == ("a.py", "changed", "project")


@pytest.mark.parametrize(
    ("code", "paths"),
    [
        ("from pathlib import Path\nPath('a.py').write_text('x')", [("a.py", "written")]),
        ("p = Path('a.py')\np.write_text(p.read_text())", [("a.py", "changed")]),
        ("for f in ['a.py', 'b.py']:\n    open(f, 'w')", [("a.py", "written"), ("b.py", "written")]),
        ("def fix(path):\n    open(path, 'w')\nfix('a.py')", [("a.py", "written")]),
        ("import os\nos.remove('a.py')", [("a.py", "deleted")]),
        ("import shutil\nshutil.copy('a.py', 'b.py')", [("b.py", "written")]),
        ("open(sys.argv[1], 'w')", []),
        ("open('a.py')", []),
    ],
)
def test_paths_that_code_writes(code, paths):
    assert list(paths_of_code(code)) == paths


def test_paths_of_a_patch():
    assert list(paths_of_patch(DIFF)) == [("a.py", "changed"), ("new.py", "created"), ("gone.py", "deleted")]


def commands() -> list[str]:
    rng = random.Random(5)
    return [text for text, _ in SHELL] + [json.loads(f'"{command(rng).decode()}"') for _ in range(1500)]


def test_the_short_way_answers_as_the_long_one():
    answered = 0
    for text in commands():
        quick = quick_touches(text, *understood(text))
        if quick is not None:
            answered += 1
            assert quick == analysed_touches(text), text
    assert answered > 1000


def test_the_short_way_answers_as_the_long_one_on_real_commands(shared):
    lines = (shared / "gold" / "commands_dev.jsonl").read_text("utf-8").splitlines()
    for text in [json.loads(line)["command"] for line in lines]:
        quick = quick_touches(text, *understood(text))
        assert quick is None or quick == analysed_touches(text), text


FRAGMENTS = st.sampled_from(
    [
        "cat ",
        "sed -i ",
        "git diff ",
        "git checkout ",
        "a.py ",
        "| head",
        "> f",
        "<<'E'\n",
        "E\n",
        "'",
        '"',
        "$(",
        ")",
        "&&",
        "patch -p1 ",
        "--- a/x\n+++ b/x\n",
        "*** Update File: x\n",
        "python - ",
        "open('x', 'w')",
        "rm ",
        "cp ",
        "\n",
        "\x00",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(TEXT, st.lists(FRAGMENTS, max_size=12).map("".join)))
def test_any_text_gives_touches(text):
    log = FileLog()
    log.add((1, 1, 1), shell_touches(text), failed=False, sees=True)
    log.add((2, 2, 2), tool_touches("apply_patch", "edit", text), failed=False, sees=True)
    paths_of_code(text)
    for _, _, _, path, action, kind, _ in log.rows:
        assert path
        assert action in ("shown", "created", "changed", "deleted")
        assert kind in ("test", "project", "scratch")


VALUES = st.one_of(st.none(), TEXT, st.integers(), st.lists(st.one_of(TEXT, st.dictionaries(TEXT, TEXT)), max_size=2))
NAMES = st.one_of(
    TEXT, st.sampled_from(["path", "command", "paths", "patch", "code", "old_str", "source", "destination"])
)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["edit", "read", "editor", "fileop", "python", "search"]),
    st.dictionaries(NAMES, VALUES, max_size=4),
)
def test_any_arguments_give_touches(kind, arguments):
    for _, path, how, _, _ in tool_touches("tool", kind, arguments):
        assert path
        assert how


@pytest.mark.parametrize(
    "text",
    [
        "cat " + "a" * 1_000_000,
        "cat a.py " * 50_000,
        "open('" * 50_000,
        ".write_text(" * 50_000,
        "rm a " * 100_000,
        "--- a\n" * 100_000,
        "for x in " * 50_000,
        "python - <<'E'\n" + "open(p, 'w')\n" * 20_000 + "E",
    ],
)
def test_time_is_linear(text):
    import time

    start = time.process_time()
    shell_touches(text)
    paths_of_code(text[:190_000])
    paths_of_patch(text)
    assert time.process_time() - start < 20  # quadratic takes minutes
