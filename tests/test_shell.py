"""The shell lexer, the rules' corners and the tools of scaffolds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.behavior.lexer import Lexer
from trajlab.behavior.quick import quick_commands
from trajlab.behavior.rules import FRAMEWORKS
from trajlab.behavior.scopes import STYLES
from trajlab.behavior.shell import RULES_VERSION, analyse, explain_command, label_command
from trajlab.behavior.test_rules import RUNNER_FILES, TEST_MODULES, TEST_PROGRAMS

LABELS = {
    "test:all",
    "test:part",
    "test:file",
    "test:case",
    "inline",
    "script",
    "static",
    "read",
    "search",
    "edit",
    "fileop",
    "vcs",
    "install",
    "submit",
    "other",
}


def words(text: str) -> list[list[str]]:
    return [command.words for command in Lexer(text).run() if command.words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b 'c d' \"e f\"", [["a", "b", "c d", "e f"]]),
        ("a 'it'\\''s' x\"y\"z", [["a", "it's", "xyz"]]),
        ('a "x\\"y" \\$z', [["a", 'x"y', "$z"]]),
        ("a $'x\\ny'", [["a", "x\ny"]]),
        ("a ''", [["a", ""]]),
        ("a \\\n  b", [["a", "b"]]),
        ("a # b c\nd", [["a"], ["d"]]),
        ("a#b", [["a#b"]]),
        ("a;b&&c||d|e&f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("(a; (b)) ; c", [["a"], ["b"], ["c"]]),
        ("{ a; b; }", [["a"], ["b"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("for x in 1 2; do a $x; done", [["a", "$x"]]),
        ("for ((i=0;i<3;i++)); do a; done", [["a"]]),
        ("while read l; do a; done < f", [["read", "l"], ["a"]]),
        ("case $x in a|b) c ;; (d) e ;; *) f; esac; g", [["c"], ["e"], ["f"], ["g"]]),
        ("f() { a; }; function g { b; }", [["a"], ["b"]]),
        ("[[ -f x && y > z ]] && a", [["[[", "-f", "x", "y", "z", "]]"], ["a"]]),
        ("A=1 B='x y' a", [["a"]]),
        ("A=(1 2 3); a", [["a"]]),
        ("a $(b c) `d`", [["b", "c"], ["d"], ["a", "$()", "$()"]]),
        ('a "x $(b "y z") w"', [["b", "y z"], ["a", "x $() w"]]),
        ("a $((1 + 2)) ${x:-y z}", [["a", "$((1 + 2))", "${x:-y z}"]]),
        ("a <(b) >(c)", [["b"], ["c"], ["a", "$()", "$()"]]),
        ("$(which a) b", [["which", "a"], ["a", "b"]]),
        ("a 2>&1 >/dev/null <f >>g &>h 3<i b", [["a", "b"]]),
        ("! a", [["a"]]),
        ("a 'unterminated b; c", [["a", "unterminated b; c"]]),
        ("a ) b", [["a", "b"]]),
        ("", []),
        ("\0", [["\0"]]),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize("opening", ["<<EOF", "<< EOF", "<<'EOF'", '<< "EOF"', "<<\\EOF", "<<E'O'F"])
def test_heredoc_delimiters(opening):
    commands = Lexer(f"cat {opening} > f && b\nline $x ${{y}} 'z\nEOF\nc").run()
    assert [command.words for command in commands] == [["cat"], ["b"], ["c"]]
    assert commands[0].heredoc == "line $x ${y} 'z\n"
    assert commands[0].redirects == [("f", "write")]


def test_heredocs_with_tabs_and_several_on_a_line():
    first, second, last = Lexer("a <<A | b <<-B\n1\nA\n\t2\n\tB\nc").run()
    assert (first.heredoc, second.heredoc, last.words) == ("1\n", "\t2\n", ["c"])
    assert second.piped_in


def test_heredoc_cut_off_or_empty():
    assert Lexer("cat > f <<EOF\nx = 1").run()[0].heredoc == "x = 1"
    assert Lexer("cat > f <<EOF\nEOF\nls").run()[1].words == ["ls"]
    assert Lexer("cat <<EOF\nEOFX\nEOF\n").run()[0].heredoc == "EOFX\n"


def test_here_string_is_no_heredoc():
    command = Lexer("python <<< 'print(1)'").run()[0]
    assert (command.here_string, command.heredoc) == ("print(1)", None)


def test_explain_names_program_arguments_wrappers_and_rules():
    command = explain_command(
        "A=1 timeout -k 5 60 env B=2 /opt/v/bin/python3.11 -m pytest -q t/test_a.py > out.txt 2>&1"
    )[0]
    assert command.program == "python"
    assert command.arguments == ("-m", "pytest", "-q", "t/test_a.py")
    assert command.wrappers == ("timeout", "env")
    assert command.labels == {"test:file"}
    assert command.scope == "file"
    assert command.rules == (("test:file", "framework/pytest"),)
    assert command.redirects == (("out.txt", "write"),)


def test_explain_marks_filters_and_pipelines():
    first, second = explain_command("cat a.py | head -5")
    assert not first.is_filter
    assert second.is_filter
    assert second.labels == frozenset()
    assert first.pipeline == second.pipeline
    source, search = explain_command("cat a.py | grep x")
    assert (source.labels, search.labels) == (frozenset(), {"search"})


def test_explain_keeps_heredoc_and_nested_shells():
    command = explain_command("cat > a.py <<'EOF'\nx\nEOF")[0]
    assert (command.heredoc, command.redirects, command.labels) == ("x\n", (("a.py", "write"),), {"edit"})
    inner = explain_command("bash -lc 'cd x && ls'")
    assert [command.program for command in inner] == ["cd", "ls"]
    assert inner[1].wrappers == ("bash -c",)


def test_every_label_has_a_rule():
    for text in [
        "pytest x.py",
        "sed -i s/a/b/ f",
        "cat f | grep x",
        "echo x > f",
        "find . -delete",
        "foo",
        "black .",
    ]:
        for command in analyse(text):
            assert {label for label, _ in command.rules} == set(command.labels)
            assert all(rule for _, rule in command.rules)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("T=pytest; $T tests/test_a.py", {"test:file"}),
        ('RUN="python -m pytest -q"; $RUN', {"test:all"}),
        ("export F=tests/test_a.py\npytest ${F}::test_x", {"test:case"}),
        ("for t in tests/test_a.py; do python -m pytest $t; done", {"test:file"}),
        ("xargs -a files.txt grep -l x", {"search"}),
        ("find . -name '*.py' -exec sh -c 'grep -l x \"$1\"' _ {} \\;", {"search"}),
        ("cat x.py | python", {"inline"}),
        ("git ls-files | xargs sed -i s/a/b/", {"vcs", "edit"}),
        ("python x.py | tee out.log", {"script"}),
        ("pytest -q | tee out.log | tail -3", {"test:all"}),
        ("sed 's/a/b/' f | tee g.py", {"edit"}),
        ("git show HEAD:a.py | sed 's/a/b/' > b.py", {"vcs", "edit"}),
        ("python x.py > results.json", {"script"}),
        ("grep -v x a.py > b.py", {"edit"}),
        ("grep x a.py > hits.txt", {"search"}),
        ("ls > files.txt", {"search"}),
        ("mytracer python repro.py", {"script"}),
        ("npx jest a.test.js --config=j.json", {"test:file"}),
        ("yarn eslint src", {"static"}),
        ("yarn build", {"install"}),
        ("docker run --rm -v $PWD:/w -w /w img:1 pytest -q", {"test:all"}),
        ("uv run --with x --python 3.12 pytest -k y", {"test:case"}),
        ("hatch run dev:test", {"test:all"}),
        ("su - user -c 'pytest -q'", {"test:all"}),
        ("python -m trace --trace x.py", {"script"}),
        ("mvn install -DskipTests", {"install"}),
        ("perl -ne 'print if /x/' f", {"read"}),
        ("perl -e 'print 1'", {"inline"}),
        ("cat > run.sh <<'EOF'\npytest\nEOF\nbash run.sh", {"edit", "script"}),
        ("[trimmed", {"other"}),
        ("C-c", {"other"}),
        ("cat <<'EOF'\njust text\nEOF", {"other"}),
        ("edit\nx = 1\nend_of_edit", {"edit"}),
        ("edit 2:2 f.py\nx = 1\nend_of_edit\nls", {"edit", "search"}),
        ("./build/release/ponyc t.pony -o . && ./t", {"install", "script"}),
        ("./gcc a.c", {"install"}),
        ("cd pytest", {"other"}),
        ("cd /w/pytest && ls", {"search"}),
        ("pkill pytest", {"other"}),
        ("git bisect run pytest -q", {"vcs", "test:all"}),
        ("git bisect run python -m pytest -q tests/test_a.py", {"vcs", "test:file"}),
        ("git bisect start HEAD v1", {"vcs"}),
        ("git submodule foreach --recursive 'make test'", {"vcs", "test:all"}),
        ("git rebase -x 'pytest -q tests/test_a.py' main", {"vcs", "test:file"}),
        ("git rebase --exec='cargo test' main", {"vcs", "test:all"}),
        ("git rebase main", {"vcs"}),
        ("git bisect run", {"vcs"}),
        ("npm run lint -- --fix", {"edit"}),
        ("yarn lint --fix", {"edit"}),
        ("npm run lint -- src", {"static"}),
        ('eval "$(conda shell.bash hook)" && conda activate dev && pytest -q', {"test:all"}),
        ("Rscript -e 'testthat::test_file(\"tests/testthat/test-a.R\")'", {"inline", "test:file"}),
        ("Rscript -e 'testthat::test_local()'", {"inline", "test:all"}),
        ("target/debug/ruff check src", {"static"}),
        ("target/debug/ruff check --fix src", {"edit"}),
        ("../black/black --check a.py", {"static"}),
        ("target/debug/rg x", {"script"}),
    ],
)
def test_labels(text, labels):
    assert set(label_command(text)) == labels


@pytest.mark.parametrize(
    ("code", "labels"),
    [
        ("open('a', 'w').write('x')", {"inline", "edit"}),
        ("open('a').read()", {"inline"}),
        ("open('/tmp/a', 'w')", {"inline"}),
        ("import tempfile\np = tempfile.mktemp()\nopen(p, 'w')", {"inline"}),
        ("from pathlib import Path\nPath('a').write_text('x')", {"inline", "edit"}),
        ("import pathlib\nwith pathlib.Path('a').open('w') as f: f.write('x')", {"inline", "edit"}),
        ("import shutil\nshutil.copy('a', 'b')", {"inline", "edit"}),
        ("from shutil import copyfile as c\nc('a', 'b')", {"inline", "edit"}),
        ("import fileinput\nfor l in fileinput.input('a', inplace=True): print(l)", {"inline", "edit"}),
        ("df.to_csv('x.csv')", {"inline"}),
        ("import sys\nsys.stdout.write('x')", {"inline"}),
        ("import pytest\npytest.main(['-k', 'x'])", {"inline", "test:case"}),
        ("import pytest\npytest.main(['tests'])", {"inline", "test:all"}),
        (
            "from django.core.management import call_command\ncall_command('test', 'app.tests')",
            {"inline", "test:file"},
        ),
        ("import numpy as np\nnp.test()", {"inline", "test:all"}),
        ("self.test('x')", {"inline"}),
        ("import subprocess\nsubprocess.run('pytest tests/test_a.py', shell=True)", {"inline", "test:file"}),
        ("import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pytest'])", {"inline", "test:all"}),
        ("print 'python 2'\nopen('a', 'w')", {"inline", "edit"}),
    ],
)
def test_inline_python(code, labels):
    assert set(label_command(f"python - <<'EOF'\n{code}\nEOF")) == labels


def test_tables_are_consistent():
    assert RULES_VERSION
    for name, framework in FRAMEWORKS.items():
        assert framework.style in STYLES, name
        assert framework.after is None or framework.after in FRAMEWORKS
    for table in (TEST_PROGRAMS, TEST_MODULES, RUNNER_FILES):
        assert set(table) <= set(FRAMEWORKS)


TEXT = st.text(alphabet=st.characters(codec=None), max_size=200)
SHELLISH = st.lists(
    st.sampled_from(
        [
            "pytest",
            "python",
            "-c",
            "cat",
            "sed -i",
            "'",
            '"',
            "`",
            "$(",
            ")",
            "(",
            "{",
            "}",
            "<<EOF\n",
            "EOF\n",
            "\n",
            "|",
            "&&",
            ";",
            ";;",
            "&",
            ">",
            ">>",
            "<",
            "2>&1",
            "#",
            "\\",
            "$x",
            "${",
            "$((",
            "))",
            "if",
            "then",
            "fi",
            "case",
            "in",
            "esac",
            "for",
            "do",
            "done",
            "[[",
            "]]",
            "x=1",
            "A=(",
            "bash -c",
            "xargs",
            "find . -exec",
            "{}",
            " ",
            "\t",
            "\0",
            "\ud800",
            "echo",
            "> f.py",
            "tee",
            "env",
            "timeout 5",
            "edit 1:2\n",
            "open('a','w')",
            "-m",
            "git",
            "eval",
        ]
    ),
    max_size=40,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(st.one_of(TEXT, SHELLISH, SHELLISH.map(lambda text: text.replace("'", "' "))))
def test_any_text_gives_labels(text):
    labels = label_command(text)
    assert labels
    assert labels <= LABELS
    assert labels == {"other"} or "other" not in labels
    assert label_command(text) == labels
    for command in analyse(text):
        assert {label for label, _ in command.rules} == set(command.labels)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(["a", "-n", "'b c'", '"d"', "''", "|", "&&", ";", "\n", "=", "if", "2>&1", "é", " "]),
        max_size=20,
    )
)
def test_the_short_way_agrees_with_the_lexer(parts):
    text = " ".join(parts)
    short = quick_commands(text)
    if short is not None:
        full = Lexer(text).run()
        assert [(c.words, c.piped_in, c.piped_out) for c in short] == [(c.words, c.piped_in, c.piped_out) for c in full]


HOSTILE = [
    "x" * 1_000_000,
    "a " * 500_000,
    "(" * 10_000,
    ")" * 10_000,
    "$(" * 10_000,
    '"$(' * 10_000,
    "a|" * 100_000,
    "'" * 100_001,
    "`" * 100_001,
    "${" * 100_000,
    "((a" * 30_000,
    "<<A " * 50_000,
    "cat <<A\nA \n" * 30_000,
    "\\" * 100_000,
    "bash -c '" * 20_000,
    "eval " * 50_000,
    "sudo " * 50_000,
    "find . -exec " * 20_000,
    "T=$T$T;" * 20_000 + "$T",
    "python -c '" + "(" * 100_000 + "open('a','w')",
    "case x in " * 20_000,
    "if " * 50_000,
    "{ " * 50_000,
    "> f " * 50_000,
    "cat > f <<'EOF'\n" + "x = 1\n" * 150_000 + "EOF",
    "pytest " + "-k x " * 50_000,
    "make " * 50_000,
    "cat a > f | " * 50_000,
    "cat a|" * 50_000 + "tee f",
    "A=(" * 30_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=[f"{index}:{text[:8]!r}" for index, text in enumerate(HOSTILE)])
def test_hostile_text_takes_bounded_time(text):
    start = time.process_time()
    assert label_command(text)
    assert time.process_time() - start < 3.0  # alone a fraction of a second; a quadratic step takes minutes


def test_printenv_runs_nothing() -> None:
    assert label_command("printenv pytest") == {"other"}
    assert label_command("env A=1 pytest") == {"test:all"}
