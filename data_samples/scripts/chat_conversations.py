"""A few short conversations of a shell agent, written by hand, free of any format."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Result:
    """One command and what it gave; ``command`` None means that the agent only spoke."""

    command: str
    output: str
    exit_code: int = 0


@dataclass(frozen=True)
class Step:
    """One turn of the agent: an optional thought, a text and its commands."""

    text: str
    results: list[Result] = field(default_factory=list)
    thought: str | None = None


@dataclass(frozen=True)
class Conversation:
    """A task with its turns and its verdict as a data set would record it."""

    instance_id: str
    task: str
    steps: list[Step]
    resolved: bool
    exit_status: str
    reward: float


SYSTEM = "You are a coding agent. Use the bash tool to work in /testbed and finish with a short summary."
CONFIG_SOURCE = ('def load(path):\n    values = {}\n    for line in open(path):\n        key, value = line.split("=")\n'
                 "        values[key] = value\n    return values\n")

CONVERSATIONS = [
    Conversation("confkit__strip-7", "load() keeps the line end in every value. Fix confkit/load.py.", [
        Step("I start with the source.", [Result("cat confkit/load.py", CONFIG_SOURCE)], "Where are values read?"),
        Step("Reproduce it.", [Result("printf 'a=1\\nb=2\\n' > /tmp/x.cfg && python -c \"from confkit.load import load; print(load('/tmp/x.cfg'))\"",
                                      "{'a': '1\\n', 'b': '2\\n'}\n")]),
        Step("Strip each line.", [Result("sed -i 's/values\\[key\\] = value/values[key.strip()] = value.strip()/' confkit/load.py", "")]),
        Step("Check and run the tests.", [
            Result("python -c \"from confkit.load import load; print(load('/tmp/x.cfg'))\"", "{'a': '1', 'b': '2'}\n"),
            Result("python -m pytest -q tests/test_load.py", "...                          [100%]\n3 passed in 0.03s\n"),
        ], "Two independent checks can run at once."),
        Step("load() strips keys and values now; the three tests of the module pass."),
    ], True, "submitted", 1.0),
    Conversation("netkit__port-12", "parse_address('host') should give port 80, it raises. See netkit/address.py.", [
        Step("Look at the parser.", [Result("grep -n 'def parse_address' -A8 netkit/address.py",
             "4:def parse_address(text):\n5-    host, port = text.split(':')\n6-    return host, int(port)\n")]),
        Step("", [Result("cd netkit && cat adress.py", "cat: adress.py: No such file or directory\n", 1)]),
        Step("Write the fix.", [Result("cat > /tmp/fix.py <<'EOF'\nfrom pathlib import Path\n\np = Path('netkit/address.py')\n"
             "p.write_text(p.read_text().replace(\"text.split(':')\", \"(text.split(':') + ['80'])[:2]\"))\nEOF\npython /tmp/fix.py", "")]),
        Step("The default port is in place. I did not run the tests."),
    ], False, "submitted", 0.0),
    Conversation("logkit__rotate-3", "Rotation loses the newest file. Fix logkit.rotate.", [
        Step("Run the tests first.", [Result("python -m pytest -q", "F.\n=== FAILURES ===\nE       assert 2 == 3\n1 failed, 1 passed in 0.11s\n", 1)],
             "I want to see the failure before I read."),
        Step("Again, with more output.", [Result("python -m pytest -q -x -vv 2>&1 | head -n 40", "tests/test_rotate.py::test_three FAILED\n"
             "E       assert 2 == 3\nE        +  where 2 = len(['app.log.1', 'app.log.2'])\n")]),
        Step("Again, with more output.", [Result("python -m pytest -q -x -vv 2>&1 | head -n 40", "tests/test_rotate.py::test_three FAILED\n"
             "E       assert 2 == 3\nE        +  where 2 = len(['app.log.1', 'app.log.2'])\n")]),
    ], False, "max_steps", 0.0),
    Conversation("unikit__naïve-1", "width('日本') must be 4, emoji 👩‍🔬 included. <b>Keep</b> ASCII & speed.", [
        Step("Which function?", [Result("grep -rn \"def width\" . | head", "./unikit/width.py:3:def width(text):\n")]),
        Step("Count wide characters twice.", [Result("sed -i 's/return len(text)/return sum(2 if east_asian_width(c) in \"WF\" else 1 for c in text)/' "
             "unikit/width.py && sed -i '1i from unicodedata import east_asian_width' unikit/width.py", "")]),
        Step("Verify.", [Result("python -c \"from unikit.width import width; print(width('日本'), width('abc'))\"", "4 3\n")]),
        Step("width() counts wide characters twice: 4 and 3 as wanted."),
    ], True, "submitted", 1.0),
]
