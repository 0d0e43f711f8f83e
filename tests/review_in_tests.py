"""For tests of the reviewer: hostile and long logs, and a real browser that counts what must not happen."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("TRAJLAB_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (or named by TRAJLAB_CHROMIUM)")

PATIENCE = 120
"""Seconds that a browser on a busy machine has for an answer."""

_COUNT = """
window.counted = {violations: [], tasks: []};
document.addEventListener("securitypolicyviolation", (event) =>
  window.counted.violations.push(event.violatedDirective + " " + event.blockedURI));
new PerformanceObserver((list) => window.counted.tasks.push(...list.getEntries().map((task) => task.duration)))
  .observe({type: "longtask", buffered: true});
"""

_SPIN = """() => Array.from({length: 60}, () => {
  const start = performance.now();
  let sum = 0;
  for (let n = 0; n < 2e6; n += 1) sum += n % 7;
  return performance.now() - start + (sum < 0);
})"""

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "<svg onload=alert(4)><a href='javascript:alert(5)'>x</a>",
    "<!--<script>",
    "]]></textarea></style></title><iframe srcdoc='<script>alert(6)</script>'>",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J",
    "\u202eright to left\u202c \u2066isolate\u2069 \u200b\ufeff\U000e0041",
    "\u2028line\u2029paragraph\x00\x7f\x85",
    "${alert(7)} {{alert(8)}} `alert(9)` \\u003cscript\\u003e",
    "&lt;b&gt; &amp; \"quoted\" 'quoted'",
)
"""What a log may hold that must stay text."""


def tool_call(name: str, arguments: dict[str, Any], number: int) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}


def hostile_steps(text: str, number: int) -> list[dict[str, Any]]:
    """A turn with hostile text in every place that a log fills, and what came back."""
    first = 3 * number
    calls = [
        tool_call("bash", {"command": f"cat > {text}.py <<'EOF'\n{text}\nEOF"}, first),
        tool_call("str_replace_editor",
                  {"command": "str_replace", "path": text, "old_str": text, "new_str": text + "!"}, first + 1),
        tool_call(text, {text: text, "more": [text]}, first + 2),
    ]  # fmt: skip
    results = [
        {"role": "tool", "tool_call_id": f"call_{first + n}", "content": f"{text}\nFAILED {text}"} for n in range(3)
    ]
    return [
        {"role": "assistant", "content": text, "reasoning_content": text, "tool_calls": calls},
        *results,
        {"role": "user", "content": text},
    ]


def hostile_rows(texts_in_a_row: int = 1) -> list[dict[str, Any]]:
    """Chat rows of so many hostile texts each."""
    rows = []
    for first in range(0, len(HOSTILE), texts_in_a_row):
        texts = HOSTILE[first : first + texts_in_a_row]
        steps = [step for number, text in enumerate(texts) for step in hostile_steps(text, number)]
        system = {"role": "system", "content": texts[0]}
        last = {"role": "assistant", "content": texts[-1]}
        title = f"{''.join(texts)} {first}"
        rows.append({"instance_id": title, texts[0]: texts[0], "model": texts[0], "messages": [system, *steps, last]})
    return rows


def long_line_row(chars: int = 1_000_000) -> dict[str, Any]:
    """A result that is one line of a million characters, with a word in its middle."""
    half = "x" * (chars // 2)
    return {
        "instance_id": "long-line",
        "messages": [
            {"role": "user", "content": "Print it."},
            {"role": "assistant", "content": "", "tool_calls": [tool_call("bash", {"command": "cat big"}, 1)]},
            {"role": "tool", "tool_call_id": "call_1", "content": half + "needle" + half},
        ],
    }


def long_row(steps: int = 2000, result_chars: int = 11_000) -> dict[str, Any]:
    """A trajectory of many steps that edits, tests, fails and reads, about ``steps * result_chars`` characters long."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix everything."}]
    for step in range(1, steps + 1):
        lines = "".join(f"line {step * line % 97}\n" for line in range(60))
        command = (
            f"sed -n {step},99p src/module_{step % 7}.py",
            f"cat > src/module_{step % 7}.py <<'EOF'\n{lines}EOF",
            "pytest -q tests/test_module.py",
            f"grep -rn name_{step} src",
        )[step % 4]  # fmt: skip
        result = "".join(f"{step}:{line} some output of a tool\n" for line in range(result_chars // 32))
        ending = "1 failed, 3 passed in 0.1s\n[exit code 1]" if step % 4 == 2 else "[exit code 0]"
        call = tool_call("bash", {"command": command}, step)
        messages += [
            {"role": "assistant", "content": f"Step {step}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": result + ending},
        ]
    return {"instance_id": "long", "messages": messages}


def write_rows(folder: Path, rows: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


class Watched:
    """A page of a real browser, and everything in it that must not happen."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(PATIENCE * 1000)
        page.add_init_script(_COUNT)
        page.on("dialog", self._dismiss)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: self.requests.append(request.url))

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def open(self, path: Path) -> None:
        self.page.goto(path.resolve().as_uri())
        self.ready()

    def ready(self) -> None:
        self.page.wait_for_selector(".trajlab-review .turns[aria-busy=false] > *", timeout=PATIENCE * 1000)

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.page.wait_for_timeout(40)

    def wait(self, expression: str, argument: object = None) -> None:
        """Wait until an expression is true. The browser's own way to wait needs `eval`, which the page forbids."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(expression, argument):
            assert time.monotonic() < end, (expression, argument, self.text(".status"))
            self.page.wait_for_timeout(40)

    def count(self, expected: str) -> None:
        self.wait("(text) => document.querySelector('.trajlab-review .count').textContent === text", expected)

    def item(self, number: int) -> None:
        """Wait until a trajectory is shown, by its number from 1."""
        self.wait("(text) => document.querySelector('.place').textContent.startsWith(text)", f"{number} /")
        self.ready()

    def text(self, selector: str) -> str:
        return str(self.page.text_content(f".trajlab-review {selector}"))

    def status(self, expected: str) -> None:
        self.wait("(text) => document.querySelector('.trajlab-review .status').textContent.includes(text)", expected)

    def name(self, reviewer: str = "ann") -> None:
        self.page.fill(".trajlab-review input.reviewer", reviewer)
        self.keys("Escape")

    def stored(self) -> list[dict[str, Any]]:
        """Labels in the storage of the browser."""
        text = self.page.evaluate(
            "Object.keys(localStorage).filter((name) => name.startsWith('trajlab-review/'))"
            ".map((name) => localStorage.getItem(name)).join('')"
        )
        return [json.loads(line) for line in text.splitlines()]

    def exported(self, to: Path) -> list[dict[str, Any]]:
        with self.page.expect_download() as download:
            self.page.click(".trajlab-review button:has-text('Export')")
        download.value.save_as(to)
        return [json.loads(line) for line in to.read_text("utf-8").splitlines()]

    def long_tasks(self) -> list[float]:
        """Durations of the tasks over 50 ms since the last call, in milliseconds by the clock."""
        self.page.wait_for_timeout(150)
        return [float(task) for task in self.page.evaluate("window.counted.tasks.splice(0)")]

    def longest_task(self) -> float:
        """The longest task since the last call, in milliseconds of a machine that does nothing else.

        Other processes make the clock run on; by how much, the same short work tells that is measured many times.
        """
        tasks = self.long_tasks()
        times: list[float] = self.page.evaluate(_SPIN)
        return max(tasks, default=0.0) / max(1.0, statistics.mean(times) / min(times))

    def check(self) -> None:
        """Nothing ran that should not, nothing was refused by the policy, nothing was fetched, nothing failed."""
        assert self.dialogs == []
        assert self.page.evaluate("window.counted.violations") == []
        assert self.errors == []
        assert [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))] == []


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless Chromium; its own pages are contexts of it."""
    from playwright.sync_api import sync_playwright

    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        try:
            yield browser
        finally:
            browser.close()
