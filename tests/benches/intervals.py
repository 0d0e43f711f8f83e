"""Cost of the statistics a report calls thousands of times: ``python tests/benches/intervals.py``, one JSON line.

CPU time of one call over 1,000 rows in 250 tasks, over that of sorting the same 1,000 numbers.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from trajlab.stats import mean, median, proportion, ratio


def cost(work: Callable[[], object], calls: int = 200) -> float:
    """Least CPU seconds of one call, of five rounds."""
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        for _ in range(calls):
            work()
        best = min(best, (time.process_time() - started) / calls)
    return best


def main() -> None:
    rng = np.random.default_rng(0)
    values, tasks, counts = rng.random(1000) < 0.4, rng.integers(0, 250, 1000), rng.integers(1, 50, 1000)
    numbers = rng.random(1000)
    floor = cost(lambda: np.sort(numbers))
    found = {
        "proportion": cost(lambda: proportion(values, tasks)),
        "mean": cost(lambda: mean(counts, tasks)),
        "ratio": cost(lambda: ratio(values, counts, tasks)),
        "median": cost(lambda: median(counts, tasks)),
    }
    print(json.dumps({name: round(seconds / floor, 1) for name, seconds in found.items()}))


if __name__ == "__main__":
    main()
