"""One progress bar for all: none in batch, a line on a terminal, a widget in a live notebook."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def progress(iterable: Iterable[T], total: int | None = None, unit: str = "it", description: str = "") -> Iterator[T]:
    """The items of ``iterable``, with a bar on standard error where someone can see it move.

    Silent under ``TRAJLAB_BATCH=1`` (``tqdm.auto`` leaves a frozen bar in a report, and ignores
    ``TQDM_DISABLE`` in a kernel) and where standard error is neither a terminal nor a live notebook.

    Args:
        iterable: What to go through.
        total: Number of items; ``None`` where it is not known.
        unit: What an item is.
        description: What is being done.
    """
    if os.environ.get("TRAJLAB_BATCH") == "1":
        yield from iterable
    elif _in_live_notebook():
        from tqdm.auto import tqdm as notebook_bar

        yield from notebook_bar(iterable, total=total, unit=unit, desc=description or None)
    elif sys.stderr is not None and sys.stderr.isatty():
        from tqdm.std import tqdm as terminal_bar

        yield from terminal_bar(iterable, total=total, unit=unit, desc=description or None, leave=False)
    else:
        yield from iterable


def _in_live_notebook() -> bool:
    """A kernel runs this process and can show widgets."""
    if "ipykernel" not in sys.modules or importlib.util.find_spec("ipywidgets") is None:
        return False
    from IPython.core.getipython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None
