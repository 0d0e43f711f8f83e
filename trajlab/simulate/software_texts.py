"""Words for simulated software-engineering trajectories: issues, commands, what they print."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from trajlab.simulate.verl_dump import qwen_system


def _tool(name: str, description: str, *arguments: str) -> dict[str, object]:
    properties = {argument: {"type": "string"} for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


SYSTEM = qwen_system(
    "You are a software engineer. The repository is checked out in the current folder. Fix the issue, then submit.",
    [
        _tool("bash", "Runs a command and returns its output.", "command"),
        _tool("think", "Records a thought. It changes nothing and returns nothing new.", "thought"),
        _tool("submit", "Ends the task with the current state of the repository."),
    ],
)
_PACKAGES = ("tabular", "httpkit", "plotline", "schedkit", "parsely", "gridsim", "mailroom", "queuebird", "unitconv")
_AREAS = ("core", "io", "utils", "api", "models", "backends")
_MODULES = ("reader", "writer", "router", "cache", "parser", "schema", "session", "layout", "index", "retry", "locale")
_VERBS = ("parse", "merge", "resolve", "format", "load", "split", "normalize", "encode", "validate", "group")
_NOUNS = ("header", "row", "path", "token", "range", "unit", "label", "query", "offset", "record")
_FAULTS = (
    "raises `IndexError` when the input is empty",
    "drops the last element",
    "ignores the `strict` argument",
    "returns the wrong order for equal keys",
    "fails on names with spaces",
    "mutates its argument",
    "does not handle `None`",
    "loses the time zone",
    "is off by one at the boundary",
)


class Task(msgspec.Struct):
    """An issue in a made-up repository."""

    text: str
    package: str
    area: str
    module: str
    function: str

    @property
    def path(self) -> str:
        """The file at fault."""
        return f"{self.package}/{self.area}/{self.module}.py"


def tasks(rng: random.Random, count: int) -> list[Task]:
    """Distinct tasks."""
    made = []
    for number in range(count):
        package, area, module = rng.choice(_PACKAGES), rng.choice(_AREAS), rng.choice(_MODULES)
        function = f"{rng.choice(_VERBS)}_{rng.choice(_NOUNS)}"
        text = (
            f"Issue #{1000 + number}: `{package}.{area}.{module}.{function}` {rng.choice(_FAULTS)}.\n"
            f"Seen in version {rng.randint(0, 4)}.{rng.randint(0, 30)}. Please fix it in `{package}/`."
        )
        made.append(Task(text, package, area, module, function))
    return made


Said = tuple[str, str]
"""A command and its output."""


def explore(rng: random.Random, task: Task) -> Said:
    """Look at files or for text."""
    line = rng.randint(10, 300)
    tests = f"tests/{task.area}/test_{task.module}.py"
    code = f"def {task.function}(value, strict=False):\n    items = list(value)\n    return items[:-1]"
    return rng.choice(
        (
            (f"sed -n '{line},{line + 40}p' {task.path}", code),
            (f"cat {task.path}", f"import re\n\n\n{code}"),
            (
                f"grep -rn '{task.function}' {task.package}",
                f"{task.path}:{line}:def {task.function}(value, strict=False):",
            ),
            (f"grep -n 'def ' {task.path} | head -20", f"{line}:def {task.function}(value, strict=False):"),
            (f"ls {task.package}/{task.area}", f"__init__.py\n{task.module}.py"),
            (f"find . -name 'test_{task.module}*'", f"./tests/{task.area}/test_{task.module}.py"),
            ("git diff", f"--- a/{task.path}\n+++ b/{task.path}"),
            ("git log --oneline | head -5", f"{rng.getrandbits(28):07x} Release\n{rng.getrandbits(28):07x} Tidy up"),
            (f"head -{rng.randint(20, 60)} {tests}", f"from {task.package} import {task.area}"),
        )
    )


def edit(rng: random.Random, task: Task) -> Said:
    """Change project code."""
    line = rng.randint(10, 300)
    guard = "+    if not value:\n+        return []"
    rewritten = f"def {task.function}(value, strict=False):\n    return [] if value is None else list(value)"
    return rng.choice(
        (
            (f"sed -i '{line}s/items\\[:-1\\]/items/' {task.path}", ""),
            (f"sed -i 's/strict=False/strict=True/' {task.path}", ""),
            (f"cat > {task.path} <<'EOF'\n{rewritten}\nEOF", ""),
            (f"git apply - <<'EOF'\n--- a/{task.path}\n+++ b/{task.path}\n@@ -{line},3 +{line},4 @@\n{guard}\nEOF", ""),
        )
    )


def suite(rng: random.Random, task: Task) -> Said:
    """Run the test suite, whole or a folder of it."""
    command = rng.choice(
        (
            "python -m pytest -q",
            "python -m pytest tests -x -q",
            "pytest --tb=short -q",
            "python -m pytest -q -n 4",
            f"python -m pytest tests/{task.area} -q",
            "timeout 900 python -m pytest -q 2>&1 | tail -15",
        )
    )
    return command, _summary(rng, rng.randint(80, 900))


def targeted(rng: random.Random, task: Task) -> Said:
    """Run a test file or a test."""
    file = f"tests/{task.area}/test_{task.module}.py"
    command = rng.choice(
        (
            f"python -m pytest {file} -q",
            f"python -m pytest {file}::test_{task.function} -x",
            f"pytest {file} -k {task.function} -q",
        )
    )
    return command, _summary(rng, rng.randint(1, 20))


def inline(rng: random.Random, task: Task) -> Said:
    """A quick check on the command line."""
    load = f"from {task.package}.{task.area}.{task.module} import {task.function}"
    argument = rng.choice(("[]", "[1, 2, 3]", "None", "'a b'", "{'x': 1}"))
    command = rng.choice(
        (
            f'python -c "{load}; print({task.function}({argument}))"',
            f"python - <<'EOF'\n{load}\nfor value in ([], [1], {argument}):\n    print({task.function}(value))\nEOF",
            f"python3 <<'EOF'\n{load}\nassert {task.function}([1, 2]) == [1, 2]\nprint('ok')\nEOF",
        )
    )
    return command, rng.choice(("[]", "ok", "[1, 2, 3]", f"TypeError: {task.function}() takes 1 positional argument"))


def write_script(rng: random.Random, task: Task) -> Said:
    """Author a script that shows the issue."""
    load = f"from {task.package}.{task.area}.{task.module} import {task.function}"
    return f"cat > reproduce_issue.py <<'EOF'\n{load}\n\nprint({task.function}([{rng.randint(1, 9)}]))\nEOF", ""


def script(rng: random.Random, task: Task) -> Said:
    """Run that script."""
    trace = f"Traceback (most recent call last):\n  {task.function}"
    return "python reproduce_issue.py", rng.choice(("[]", trace, "[4]"))


def _summary(rng: random.Random, count: int) -> str:
    failed = rng.choice((0, 0, 0, 1, 2)) if count > 1 else rng.randint(0, 1)
    passed = f"{count - failed} passed" if count > failed else ""
    tail = ", ".join(part for part in ((f"{failed} failed" if failed else ""), passed) if part)
    return f"{'.' * min(count, 12)}\n{tail} in {rng.uniform(0.4, 90):.2f}s"


COMMANDS: dict[str, Callable[[random.Random, Task], Said]] = {
    "explore": explore,
    "edit": edit,
    "suite": suite,
    "targeted": targeted,
    "inline": inline,
    "write_script": write_script,
    "script": script,
}
_REMARKS = (
    "Let me look closer.",
    "Next, check how it is called.",
    "Now apply the change.",
    "Check the result.",
    "This is where it goes wrong.",
    "One more place to look at.",
)
_HOLLOW = ("Let me think.", "Thinking...", "I should continue.", "Hmm.", "Next step.", "Let me think about it.")
THOUGHT_LOGGED = "Your thought has been logged."


def remark(rng: random.Random) -> str:
    """A line of prose before a call, or none."""
    return rng.choice(_REMARKS) if rng.random() < 0.35 else ""


def thought(rng: random.Random, task: Task, *, hollow: bool) -> str:
    """A thought: something about the task, or nothing much."""
    if hollow:
        return rng.choice(_HOLLOW)
    return rng.choice(
        (
            f"`{task.function}` gets a plain list here, so the slice in {task.path} loses line {rng.randint(5, 300)}.",
            f"Two callers rely on {task.module}.{task.function}; a new signature breaks {rng.randint(2, 9)} tests.",
            f"The test in tests/{task.area} only covers case {rng.randint(1, 30)}; empty input is the open question.",
            f"Option {rng.randint(1, 3)}: guard early in {task.function}. It is the smaller change to {task.package}.",
        )
    )
