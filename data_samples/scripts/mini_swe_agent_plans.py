"""What the scripted model says: for every attempt a list of (thought, command) turns.

A turn whose command is None is answered with no action at all (a format error); a list of commands is a turn
with several actions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Turn = tuple[str, "str | list[str] | None"]
SUBMIT: Turn = ("The patch holds what I meant to change. Submitting.",
                "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat patch.txt")


def patch(*paths: str) -> Turn:
    return ("I write the patch of the source files only.", f"git diff -- {' '.join(paths)} > patch.txt && cat patch.txt")


@dataclass(frozen=True)
class Plan:
    """One attempt: the task, the turns, and configuration that differs from the benchmark's own."""

    instance_id: str
    turns: list[Turn]
    agent: dict[str, Any] = field(default_factory=dict)
    timeout: int = 60
    crash_at: int | None = None


SLUG_CODE = '''cat > textkit/slug.py <<'EOF'
"""Text to URL slugs."""

import unicodedata


def slugify(text, separator="-"):
    """Return a lower-case slug of the text."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = "".join(c if c.isalnum() else " " for c in plain.lower()).split()
    return separator.join(words)
EOF'''

SLUG_THOROUGH = Plan("textkit__slugify-101", [
    ("Let me look at the repository first.", "ls -R . | grep -v pyc"),
    ("The function lives in textkit/slug.py.", "cat textkit/slug.py"),
    ("Who calls it?", "grep -rn \"slugify\" --include=*.py ."),
    ("I reproduce the report with a script.", """cat > reproduce.py <<'EOF'
from textkit import slugify

for text, expected in [("Hello --  World!", "hello-world"), ("Caf\\u00e9 cr\\u00e8me", "cafe-creme")]:
    got = slugify(text)
    print("ok " if got == expected else "BAD", repr(text), "->", repr(got), "expected", repr(expected))
EOF
python reproduce.py"""),
    ("Both cases fail as reported. I rewrite the function: normalise, split into words, join.", SLUG_CODE),
    ("Run the reproduction again.", "python reproduce.py"),
    ("Now the tests of this module.", "python -m pytest -q tests/test_slug.py"),
    ("And the whole suite.", "python -m pytest -q"),
    ("A few edge cases: empty text, only punctuation, another separator.",
     "python -c \"from textkit import slugify; print([slugify(t) for t in ('', '!!!', '  a  ')], slugify('a  b', separator='_'))\""),
    ("Remove the scratch file.", "rm reproduce.py && git status --short"),
    patch("textkit/slug.py"), SUBMIT,
])

SLUG_STALE = Plan("textkit__slugify-101", [
    ("Look around.", "find . -name '*.py' -not -path './.git/*' | sort"),
    ("Read the function and its tests.", ["cat textkit/slug.py", "cat tests/test_slug.py"]),
    ("Collapse repeated separators with a regular expression.", r'''python - <<'EOF'
from pathlib import Path

path = Path("textkit/slug.py")
text = path.read_text()
text = text.replace('"""Text to URL slugs."""\n', '"""Text to URL slugs."""\n\nimport re\n')
text = text.replace('return "".join(result)', 'return re.sub(f"{separator}+", separator, "".join(result)).strip(separator)')
path.write_text(text)
EOF
git diff --stat'''),
    ("Check.", "python -m pytest tests/test_slug.py -q && python -c \"from textkit import slugify; print(slugify('Hello --  World!'))\""),
    ("The accents: I map the common ones before the loop. No need to run it again.",
     "sed -i \"s/for character in text.lower():/for character in text.lower().replace('é', 'e'):/\" textkit/slug.py"),
    patch("textkit/slug.py"), SUBMIT,
])

LEAP_DIRECT = Plan("datekit__leap-102", [
    ("Start with the file list and the module.", "ls && cat datekit.py"),
    ("Reproduce.", "python -c \"import datekit; print(datekit.days_in_month(2, 1900), datekit.days_in_month(2, 2000))\""),
    ("The century rule is missing.", "sed -i 's/return year % 4 == 0/return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)/' datekit.py"),
    ("Same check again.", "python -c \"import datekit; print(datekit.days_in_month(2, 1900), datekit.days_in_month(2, 2000))\""),
    ("One case, then everything.", "python -m pytest -q 'test_datekit.py::test_is_leap[2024-True]' && python -m pytest -q"),
    patch("datekit.py"), SUBMIT,
])

LEAP_FORMAT_ERROR = Plan("datekit__leap-102", [
    ("Look at the code.", "cat datekit.py | head -n 20"),
    ("The rule in is_leap is incomplete. I would change it so that centuries need 400.", None),
    ("I repeat that with a command.", "sed -i 's/return year % 4 == 0/return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)/' datekit.py && git diff"),
    ("Add a regression test and run it.", """cat >> test_datekit.py <<'EOF'


def test_century():
    assert days_in_month(2, 1900) == 28
    assert days_in_month(2, 2000) == 29
EOF
python -m pytest -q test_datekit.py -k century"""),
    ("Full run.", "python -m pytest"),
    patch("datekit.py"), SUBMIT,
])

LRU_SCRIPT = Plan("cachelib__lru-103", [
    ("Repository layout and the class.", "ls -1 . cachelib tests && nl -ba cachelib/lru.py"),
    ("Write a reproduction.", """cat > /tmp/repro_lru.py <<'EOF'
import sys
sys.path.insert(0, ".")
from cachelib import LRUCache

cache = LRUCache(2)
cache.put("a", 1)
cache.put("b", 2)
cache.get("a")
cache.put("c", 3)
assert cache.get("a") == 1, "a was evicted although just read"
print("fine")
EOF
python /tmp/repro_lru.py"""),
    ("get() must move the key to the end, and so must put() for a known key.", """cat > cachelib/lru.py <<'EOF'
from collections import OrderedDict


class LRUCache:
    \"\"\"A cache that forgets the key used least recently.\"\"\"

    def __init__(self, capacity):
        self.capacity = capacity
        self._data = OrderedDict()

    def get(self, key, default=None):
        if key not in self._data:
            return default
        self._data.move_to_end(key)
        return self._data[key]

    def put(self, key, value):
        self._data[key] = value
        self._data.move_to_end(key)
        if len(self._data) > self.capacity:
            self._data.popitem(last=False)

    def __len__(self):
        return len(self._data)
EOF"""),
    ("Reproduction and suite.", "python /tmp/repro_lru.py && python -m pytest -q; rm /tmp/repro_lru.py"),
    patch("cachelib/lru.py"), SUBMIT,
])

LRU_LOOP = Plan("cachelib__lru-103", [
    ("See the tests.", "cat tests/test_lru.py"),
    ("Run them.", "python -m pytest -q tests/test_lru.py"),
    *[("I look at the class again to understand the order of keys.", "cat cachelib/lru.py")] * 7,
    ("Once more the tests.", "python -m pytest -q tests/test_lru.py"),
    ("I look at the class again to understand the order of keys.", "cat cachelib/lru.py"),
    SUBMIT,
], agent={"step_limit": 11})

MEDIAN_BLIND = Plan("statkit__median-104", [
    ("The function is small.", "sed -n '1,20p' statkit/centre.py"),
    ("For an even count take the mean of the two middle values.", """python - <<'EOF'
import pathlib

path = pathlib.Path("statkit/centre.py")
source = path.read_text()
source = source.replace(
    "    return ordered[len(ordered) // 2]\\n",
    "    middle = len(ordered) // 2\\n    if len(ordered) % 2 == 0:\\n"
    "        return (ordered[middle] + ordered[middle + 1]) / 2\\n    return ordered[middle]\\n",
)
path.write_text(source)
EOF"""),
    ("That is clear enough without running it.", "git diff -- statkit/centre.py > patch.txt"), SUBMIT,
])

MEDIAN_CAREFUL = Plan("statkit__median-104", [
    ("Two looks at once: layout and source.", ["ls statkit tests", "cat statkit/centre.py"]),
    ("Reproduce both complaints.", "python -c \"from statkit.centre import median; print(median([1, 2, 3, 4]))\"; python -c \"from statkit.centre import median; median([])\""),
    ("Edit.", """cat > edit.py <<'EOF'
import pathlib

path = pathlib.Path("statkit/centre.py")
head = path.read_text().split("def median")[0]
path.write_text(head + '''def median(values):
    ordered = sorted(values)
    if not ordered:
        raise ValueError("median of no values")
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
''')
EOF
python edit.py && rm edit.py && git diff"""),
    ("Verify by value.", "python -c \"from statkit.centre import median; print(median([1, 2, 3, 4]), median([3, 1, 2]))\""),
    ("Run one class, then all.", "python -m pytest -q tests/test_centre.py::TestMedian && python -m pytest -q tests"),
    patch("statkit/centre.py"), SUBMIT,
])

CSV_TIME = Plan("parsekit__quotes-105", [
    ("Read the parser.", "cat parsekit/lines.py"),
    ("Is csv from the standard library fast enough? I time it on a large input.",
     "python -c \"import time; print('warming up', flush=True); time.sleep(13); print('done')\""),
    ("Use csv.reader.", "sed -i 's/return \\[field.*/return next(csv.reader([line]))/' parsekit/lines.py"),
    patch("parsekit/lines.py"), SUBMIT,
], agent={"wall_time_limit_seconds": 12})

CSV_HANG = Plan("parsekit__quotes-105", [
    ("Read the parser and the tests.", "cat parsekit/lines.py tests/test_lines.py"),
    ("A small state machine.", '''cat > parsekit/lines.py <<'EOF'
"""Comma separated lines."""


def split_line(line):
    fields, field, quoted, i = [], "", False, 0
    while i < len(line):
        c = line[i]
        if quoted and line[i : i + 2] == '""':
            field += '"'
            continue
        if c == '"':
            quoted = not quoted
        elif c == "," and not quoted:
            fields.append(field)
            field = ""
        else:
            field += c
        i += 1
    return fields + [field]


def join_fields(fields):
    return ",".join(fields)
EOF'''),
    ("Try the examples of the issue.", '''cat > check.py <<'EOF'
from parsekit import split_line

print(split_line('a,"b,c",d'), flush=True)
print(split_line('"say ""hi""",x'), flush=True)
EOF
python check.py'''),
    ("It hung after the first example: the branch for doubled quotes never advances.",
     "sed -i \"s/            continue/            i += 2\\n            continue/\" parsekit/lines.py && sed -n 5,15p parsekit/lines.py"),
    ("Again, with both examples.", '''cat > check.py <<'EOF'
from parsekit import split_line

assert split_line('a,"b,c",d') == ["a", "b,c", "d"]
assert split_line('"say ""hi""",x') == ['say "hi"', "x"], split_line('"say ""hi""",x')
assert split_line("a,,b") == ["a", "", "b"]
print("all good")
EOF
timeout 5 python check.py'''),
    ("Suite.", "python -m pytest -q 2>&1 | tail -n 3"),
    ("Clean up.", "rm check.py"),
    patch("parsekit/lines.py"), SUBMIT,
], timeout=4)

CSV_SLOW = Plan("parsekit__quotes-105", [
    ("Read the parser.", "cat parsekit/lines.py"),
    ("How slow is it on a large input?", "python -c \"import time; print('warming up', flush=True); time.sleep(7)\""),
    ("That took too long. csv.reader knows quotes.",
     "sed -i -e 's/return \\[field.*/return next(csv.reader([line]))/' -e '2a import csv\\n' parsekit/lines.py && cat parsekit/lines.py"),
    ("Check the examples of the issue.", """cat > check.py <<'EOF'
from parsekit import split_line

print(split_line('a,"b,c",d'))
EOF
python check.py && rm check.py"""),
    ("Suite.", "python -m pytest -q"),
    patch("parsekit/lines.py"), SUBMIT,
], timeout=5)

TOPOLOGICAL_FORMAT = Plan("graphkit__cycle-106", [
    ("Read the module.", "cat graphkit/order.py"),
    ("The loop ends when nothing is ready. I would raise there.", None),
    ("As said, raise ValueError when len(order) differs from len(incoming).", None),
    ("The change is simple: compare the lengths.", None),
    SUBMIT,
])

TOPOLOGICAL_STALE = Plan("graphkit__cycle-106", [
    ("Layout.", "ls; ls graphkit tests"),
    ("Source.", "cat graphkit/order.py"),
    ("Baseline of the tests.", "python -m pytest -q"),
    ("Raise when nodes are left.", """sed -i 's/^    return order$/    left = sorted(set(incoming) - set(order))\\n    if left:\\n        raise ValueError(f"cycle among {left}")\\n    return order/' graphkit/order.py"""),
    ("Check the example.", "python -c \"from graphkit.order import topological_order as t; t({'a': ['b'], 'b': ['a']})\""),
    ("It raises as wanted. A clearer message, then I am done.", "sed -i 's/cycle among {left}/graph has a cycle: {left} cannot be ordered/' graphkit/order.py"),
    patch("graphkit/order.py"), SUBMIT,
])

LEAP_CRASH = Plan("datekit__leap-102", LEAP_DIRECT.turns[:3], crash_at=2)

ATTEMPT_1 = [SLUG_THOROUGH, LEAP_DIRECT, LRU_SCRIPT, MEDIAN_BLIND, CSV_TIME, TOPOLOGICAL_FORMAT]
ATTEMPT_2 = [SLUG_STALE, LEAP_FORMAT_ERROR, LRU_LOOP, MEDIAN_CAREFUL, CSV_HANG, TOPOLOGICAL_STALE]
RESPONSES = [LEAP_FORMAT_ERROR, MEDIAN_CAREFUL]
CRASH = [LEAP_CRASH]
VERSION_1 = [SLUG_THOROUGH, LEAP_FORMAT_ERROR, CSV_SLOW, LRU_LOOP]
VERSION_1_3 = [LEAP_DIRECT, TOPOLOGICAL_STALE]
