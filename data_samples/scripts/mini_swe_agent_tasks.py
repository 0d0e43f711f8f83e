"""Six small repositories, each with one fault, an issue text and hidden tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """One repository with a fault.

    ``hidden`` is a test file that the agent never sees; ``fail_to_pass`` and ``pass_to_pass`` name its tests.
    """

    instance_id: str
    problem_statement: str
    files: dict[str, str]
    hidden: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]


SLUGIFY = Task(
    instance_id="textkit__slugify-101",
    problem_statement=(
        "slugify() keeps repeated and trailing separators\n\n"
        "`slugify('Hello --  World!')` returns `'hello----world-'`, I would expect `'hello-world'`. "
        "Accented letters should become their plain letter: `slugify('Café crème')` should be `'cafe-creme'`."
    ),
    files={
        "textkit/__init__.py": "from textkit.slug import slugify\n\n__all__ = [\"slugify\"]\n",
        "textkit/slug.py": (
            '"""Text to URL slugs."""\n\n'
            "def slugify(text, separator=\"-\"):\n"
            '    """Return a lower-case slug of the text."""\n'
            "    result = []\n"
            "    for character in text.lower():\n"
            "        if character.isascii() and character.isalnum():\n"
            "            result.append(character)\n"
            "        else:\n"
            "            result.append(separator)\n"
            '    return "".join(result)\n'
        ),
        "textkit/case.py": (
            'def snake_case(text):\n    """Return snake_case of CamelCase."""\n    out = ""\n'
            '    for index, letter in enumerate(text):\n'
            '        if letter.isupper() and index:\n            out += "_"\n        out += letter.lower()\n'
            "    return out\n"
        ),
        "tests/test_slug.py": (
            "from textkit import slugify\n\n\n"
            "def test_plain():\n    assert slugify(\"Hello World\") == \"hello-world\"\n\n\n"
            "def test_separator():\n    assert slugify(\"a b\", separator=\"_\") == \"a_b\"\n"
        ),
        "tests/test_case.py": (
            "from textkit.case import snake_case\n\n\n"
            "def test_snake():\n    assert snake_case(\"CamelCase\") == \"camel_case\"\n"
        ),
    },
    hidden=(
        "from textkit import slugify\n\n\n"
        "def test_repeated():\n    assert slugify(\"Hello --  World!\") == \"hello-world\"\n\n\n"
        "def test_accents():\n    assert slugify(\"Caf\\u00e9 cr\\u00e8me\") == \"cafe-creme\"\n\n\n"
        "def test_plain():\n    assert slugify(\"Hello World\") == \"hello-world\"\n\n\n"
        "def test_separator():\n    assert slugify(\"a b\", separator=\"_\") == \"a_b\"\n"
    ),
    fail_to_pass=("test_repeated", "test_accents"),
    pass_to_pass=("test_plain", "test_separator"),
)

LEAP = Task(
    instance_id="datekit__leap-102",
    problem_statement=(
        "days_in_month(2, 1900) is 29\n\n1900 was no leap year: centuries are leap years only when 400 divides them. "
        "`days_in_month(2, 2000)` must stay 29."
    ),
    files={
        "datekit.py": (
            '"""Calendar helpers."""\n\n'
            "DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]\n\n\n"
            "def is_leap(year):\n    return year % 4 == 0\n\n\n"
            "def days_in_month(month, year):\n"
            "    if not 1 <= month <= 12:\n        raise ValueError(f\"no such month: {month}\")\n"
            "    if month == 2 and is_leap(year):\n        return 29\n"
            "    return DAYS[month - 1]\n"
        ),
        "test_datekit.py": (
            "import pytest\n\nfrom datekit import days_in_month, is_leap\n\n\n"
            "@pytest.mark.parametrize(\"year, leap\", [(2023, False), (2024, True)])\n"
            "def test_is_leap(year, leap):\n    assert is_leap(year) is leap\n\n\n"
            "def test_no_such_month():\n    with pytest.raises(ValueError):\n        days_in_month(13, 2024)\n"
        ),
        "README.md": "# datekit\n\nSmall calendar helpers.\n",
    },
    hidden=(
        "import pytest\n\nfrom datekit import days_in_month, is_leap\n\n\n"
        "def test_century():\n    assert days_in_month(2, 1900) == 28\n    assert not is_leap(2100)\n\n\n"
        "def test_400():\n    assert days_in_month(2, 2000) == 29\n\n\n"
        "def test_plain_leap():\n    assert is_leap(2024)\n\n\n"
        "def test_no_such_month():\n    with pytest.raises(ValueError):\n        days_in_month(0, 2024)\n"
    ),
    fail_to_pass=("test_century",),
    pass_to_pass=("test_400", "test_plain_leap", "test_no_such_month"),
)

LRU = Task(
    instance_id="cachelib__lru-103",
    problem_statement=(
        "LRUCache evicts a key that was just read\n\nAfter `cache = LRUCache(2); cache.put('a', 1); cache.put('b', 2); "
        "cache.get('a'); cache.put('c', 3)` the key 'a' is gone. 'b' was used least recently and should go."
    ),
    files={
        "cachelib/__init__.py": "from cachelib.lru import LRUCache\n",
        "cachelib/lru.py": (
            "class LRUCache:\n"
            '    """A cache that forgets the key used least recently."""\n\n'
            "    def __init__(self, capacity):\n        self.capacity = capacity\n        self._data = {}\n\n"
            "    def get(self, key, default=None):\n        return self._data.get(key, default)\n\n"
            "    def put(self, key, value):\n        self._data[key] = value\n"
            "        if len(self._data) > self.capacity:\n            oldest = next(iter(self._data))\n"
            "            del self._data[oldest]\n\n"
            "    def __len__(self):\n        return len(self._data)\n"
        ),
        "tests/test_lru.py": (
            "from cachelib import LRUCache\n\n\n"
            "def test_put_get():\n    cache = LRUCache(2)\n    cache.put(\"a\", 1)\n    assert cache.get(\"a\") == 1\n\n\n"
            "def test_capacity():\n    cache = LRUCache(1)\n    cache.put(\"a\", 1)\n    cache.put(\"b\", 2)\n"
            "    assert len(cache) == 1\n"
        ),
    },
    hidden=(
        "from cachelib import LRUCache\n\n\n"
        "def test_read_refreshes():\n    cache = LRUCache(2)\n    cache.put(\"a\", 1)\n    cache.put(\"b\", 2)\n"
        "    cache.get(\"a\")\n    cache.put(\"c\", 3)\n    assert cache.get(\"a\") == 1\n    assert cache.get(\"b\") is None\n\n\n"
        "def test_write_refreshes():\n    cache = LRUCache(2)\n    cache.put(\"a\", 1)\n    cache.put(\"b\", 2)\n"
        "    cache.put(\"a\", 9)\n    cache.put(\"c\", 3)\n    assert cache.get(\"a\") == 9\n\n\n"
        "def test_default():\n    assert LRUCache(1).get(\"x\", 5) == 5\n    cache = LRUCache(1)\n    cache.get(\"x\")\n"
        "    assert len(cache) == 0\n"
    ),
    fail_to_pass=("test_read_refreshes", "test_write_refreshes"),
    pass_to_pass=("test_default",),
)

MEDIAN = Task(
    instance_id="statkit__median-104",
    problem_statement=(
        "median of an even number of values is wrong\n\n`median([1, 2, 3, 4])` gives 3, it should be 2.5. "
        "An empty list should raise ValueError instead of IndexError."
    ),
    files={
        "statkit/__init__.py": "",
        "statkit/centre.py": (
            "def mean(values):\n    return sum(values) / len(values)\n\n\n"
            "def median(values):\n    ordered = sorted(values)\n    return ordered[len(ordered) // 2]\n"
        ),
        "tests/test_centre.py": (
            "from statkit.centre import mean, median\n\n\n"
            "def test_mean():\n    assert mean([1, 2, 3]) == 2\n\n\n"
            "class TestMedian:\n    def test_odd(self):\n        assert median([3, 1, 2]) == 2\n"
        ),
        "setup.cfg": "[metadata]\nname = statkit\nversion = 0.3\n",
    },
    hidden=(
        "import pytest\n\nfrom statkit.centre import mean, median\n\n\n"
        "def test_even():\n    assert median([4, 1, 3, 2]) == 2.5\n\n\n"
        "def test_empty():\n    with pytest.raises(ValueError):\n        median([])\n\n\n"
        "def test_odd():\n    assert median([3, 1, 2]) == 2\n\n\n"
        "def test_mean():\n    assert mean([1, 2]) == 1.5\n"
    ),
    fail_to_pass=("test_even", "test_empty"),
    pass_to_pass=("test_odd", "test_mean"),
)

CSV = Task(
    instance_id="parsekit__quotes-105",
    problem_statement=(
        "split_line breaks fields at commas inside quotes\n\n`split_line('a,\"b,c\",d')` should return "
        "`['a', 'b,c', 'd']`. A doubled quote inside a quoted field stands for one quote."
    ),
    files={
        "parsekit/__init__.py": "from parsekit.lines import split_line\n",
        "parsekit/lines.py": (
            '"""Comma separated lines."""\n\n\n'
            "def split_line(line):\n    return [field.strip('\"') for field in line.split(\",\")]\n\n\n"
            "def join_fields(fields):\n    return \",\".join(fields)\n"
        ),
        "tests/test_lines.py": (
            "from parsekit.lines import join_fields, split_line\n\n\n"
            "def test_simple():\n    assert split_line(\"a,b\") == [\"a\", \"b\"]\n\n\n"
            "def test_join():\n    assert join_fields([\"a\", \"b\"]) == \"a,b\"\n"
        ),
    },
    hidden=(
        "from parsekit.lines import join_fields, split_line\n\n\n"
        "def test_comma_in_quotes():\n    assert split_line('a,\"b,c\",d') == [\"a\", \"b,c\", \"d\"]\n\n\n"
        "def test_doubled_quote():\n    assert split_line('\"say \"\"hi\"\"\",x') == ['say \"hi\"', \"x\"]\n\n\n"
        "def test_empty_field():\n    assert split_line(\"a,,b\") == [\"a\", \"\", \"b\"]\n\n\n"
        "def test_join():\n    assert join_fields([\"a\", \"b\"]) == \"a,b\"\n"
    ),
    fail_to_pass=("test_comma_in_quotes", "test_doubled_quote"),
    pass_to_pass=("test_empty_field", "test_join"),
)

TOPOLOGICAL = Task(
    instance_id="graphkit__cycle-106",
    problem_statement=(
        "topological_order() silently drops the nodes of a cycle\n\n`topological_order({'a': ['b'], 'b': ['a']})` "
        "returns `[]`. It should raise `ValueError`, naming the nodes that are left."
    ),
    files={
        "graphkit/__init__.py": "",
        "graphkit/order.py": (
            "def topological_order(graph):\n"
            '    """Order nodes so that each comes before its successors."""\n'
            "    incoming = {node: 0 for node in graph}\n"
            "    for successors in graph.values():\n        for node in successors:\n"
            "            incoming[node] = incoming.get(node, 0) + 1\n"
            "    ready = sorted(node for node, count in incoming.items() if count == 0)\n"
            "    order = []\n"
            "    while ready:\n        node = ready.pop(0)\n        order.append(node)\n"
            "        for successor in graph.get(node, []):\n            incoming[successor] -= 1\n"
            "            if incoming[successor] == 0:\n                ready.append(successor)\n"
            "    return order\n"
        ),
        "tests/test_order.py": (
            "from graphkit.order import topological_order\n\n\n"
            "def test_chain():\n    assert topological_order({\"a\": [\"b\"], \"b\": [\"c\"]}) == [\"a\", \"b\", \"c\"]\n"
        ),
    },
    hidden=(
        "import pytest\n\nfrom graphkit.order import topological_order\n\n\n"
        "def test_cycle():\n    with pytest.raises(ValueError, match=\"b\"):\n"
        "        topological_order({\"a\": [\"b\"], \"b\": [\"a\"]})\n\n\n"
        "def test_self_loop():\n    with pytest.raises(ValueError):\n        topological_order({\"a\": [\"a\"]})\n\n\n"
        "def test_chain():\n    assert topological_order({\"a\": [\"b\"], \"b\": [\"c\"]}) == [\"a\", \"b\", \"c\"]\n"
    ),
    fail_to_pass=("test_cycle", "test_self_loop"),
    pass_to_pass=("test_chain",),
)

TASKS = {task.instance_id: task for task in (SLUGIFY, LEAP, LRU, MEDIAN, CSV, TOPOLOGICAL)}
