"""Progress where a person watches; silence in batch."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def progress(items: Iterable[Item], *, total: int | None, unit: str, description: str) -> Iterator[Item]:
    """Pass items through, showing a bar on a terminal or in a live notebook."""
    if os.environ.get("TRAJLAB_BATCH") == "1" or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield from items
        return
    if "ipykernel" in sys.modules:
        from tqdm.auto import tqdm
    else:
        from tqdm.std import tqdm
    yield from tqdm(items, total=total, unit=unit, desc=description, leave=False)
