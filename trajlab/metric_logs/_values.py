"""Values and steps as trainers log them."""

from __future__ import annotations

import math
import re
from typing import Any

from trajlab.metric_logs import Metric

STEP_KEYS = (
    "step", "global_step", "training_step", "train/global_step", "trainer/global_step", "training/global_step",
    "Step", "_step",
)  # fmt: skip
"""Names of the column that holds the training step, the surest first: wandb's ``_step`` counts calls of its logger."""
CLOCKS = frozenset(
    {"timestamp", "_timestamp", "_runtime", "time", "wall_time", "recorded_at", "_wandb", "Relative Time (Process)",
     "Wall time", "relative_time"}
)  # fmt: skip
"""Columns that date a row and measure nothing."""
_WORDS = {"nan": "nan", "inf": "inf", "infinity": "inf", "-inf": "-inf", "-infinity": "-inf", "null": "null",
          "none": "null"}  # fmt: skip
_IN_CALL = re.compile(r"(?:np|numpy|torch|jnp)?\.?(?:float|int|uint|bool|tensor|array)\w{0,12}\(([^()]{1,80})\)")
_LONGEST = 80
_BEYOND_INT64 = 1 << 63


def number(value: Any) -> tuple[float | None, str | None] | None:
    """(the value, what was logged where it is none); ``None`` where a metric cannot be made of it.

    Texts count where they spell a number: consoles print ``'0.0165'``, ``np.float64(5.125)`` and ``nan``.
    """
    if value is None:
        return None, "null"
    if isinstance(value, str):
        return _of_text(value.strip())
    if not isinstance(value, (int, float)):
        return None
    try:
        return _finite(float(value))
    except OverflowError:
        return None, "inf" if value > 0 else "-inf"


def _finite(found: float) -> tuple[float | None, str | None]:
    if math.isfinite(found):
        return found, None
    return None, "nan" if math.isnan(found) else "inf" if found > 0 else "-inf"


def _of_text(text: str) -> tuple[float | None, str | None] | None:
    if not text or len(text) > _LONGEST:
        return None
    if (call := _IN_CALL.fullmatch(text)) is not None:
        text = call[1].split(",")[0].strip()
    if (word := _WORDS.get(text.lower().removeprefix("+"))) is not None:
        return None, word
    if text in ("True", "False"):
        return float(text == "True"), None
    if "_" in text:
        return None
    try:
        return _finite(float(text))
    except ValueError:
        return None


def whole(value: Any) -> int | None:
    """A training step: a whole number, written as it may be."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < _BEYOND_INT64 else None
    found = number(value)
    if found is None or found[0] is None or not found[0].is_integer() or abs(found[0]) >= 1 << 53:
        return None
    return int(found[0])


def metric(step: int, raw_name: str, value: Any, line: int) -> Metric | None:
    """A metric, where the value is one."""
    found = number(value)
    return None if found is None else Metric(step, raw_name, found[0], line, found[1])
