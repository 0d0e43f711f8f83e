"""Folders that were left out of a search for logs, as problems: nothing is passed over in silence."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from trajlab.records import Problem
from trajlab.sources.discover import CACHE, Skipped

HIDDEN = "hidden_folder"
"""Code of the problem that a hidden folder is."""
_MOST_FILES = 100_000
"""Files that are counted in one folder."""


def left_out(skipped: Sequence[Skipped], taken: Collection[str]) -> list[tuple[str, Problem]]:
    """Place and problem of what was left out.

    Args:
        skipped: Folders that were not searched; corpora of ours are no logs, and are passed over.
        taken: Real paths of the files that were taken, by a source that names them.

    Returns:
        A row for each hidden folder that holds other files, and one for each root with folders of tools.
    """
    found = []
    for folder in {item.path: item for item in skipped if item.kind == "hidden"}.values():
        count = sum(1 for _ in islice(_others(folder.path, taken), _MOST_FILES))
        if count:
            many = f"{count:,}{' or more' if count == _MOST_FILES else ''} {'file' if count == 1 else 'files'}"
            message = f"{many} in a hidden folder, left out; name the folder as a source to have it read"
            found.append((folder.relpath, Problem(HIDDEN, message)))
    # Byte code of Python, which its own runs write, is not worth a word.
    tools = {item.path: item for item in skipped if item.kind == "tools" and not item.path.endswith(CACHE)}
    for root in dict.fromkeys(item.root for item in tools.values()):
        names = Counter(item.path.rpartition(os.sep)[2] for item in tools.values() if item.root == root)
        listed = ", ".join(f"{name} {count:,}" for name, count in sorted(names.items()))
        found.append((".", Problem("tool_folders", f"folders that tools keep for themselves, left out: {listed}")))
    return found


def _others(folder: str, taken: Collection[str]) -> Iterator[str]:
    for here, _, names in os.walk(os.path.realpath(folder)):
        for name in names:
            path = os.path.join(here, name)  # noqa: PTH118 - hot loop
            if path not in taken:
                yield path
