"""Repetition: identical calls in a row, loops, and text that compresses too well."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import msgspec
import zstandard

STUCK_RUN = 3
"""The same action three times in a row (SWE-Gym, arXiv:2412.21139)."""
SAME_CALL_AND_RESULT = 4
SAME_CALL_AND_ERROR = 3
ALTERNATING = 6
"""OpenHands' stuck detector: same action and observation, same action and error, two actions in turn."""

TAIL_CHARACTERS = 10_000
SHORTEST_TAIL = 1_000
REPETITIVE = 10.0
"""Compression ratio of the last 10,000 characters above which text is repetitive."""
_SURELY_VARIED = 5.0

_zstd = zstandard.ZstdCompressor(level=1)


class Repetition(msgspec.Struct, frozen=True):
    """Repetition facts of one trajectory."""

    longest_run: int
    stuck: bool
    stuck_openhands: bool


def repetition_facts(
    calls: Sequence[str], results: Sequence[str | None], errors: Sequence[bool | None]
) -> Repetition | None:
    """Runs and loops over the calls of a trajectory, in order.

    Args:
        calls: Digest of each call's tool and normalised arguments.
        results: Digest of what came back; ``None``: nothing, or not recorded.
        errors: Whether the result was an error; ``None``: not recorded.

    Returns:
        ``None`` where there are no calls.
    """
    if not calls:
        return None
    longest = run = same_result = same_error = 0
    alternating = 0
    openhands = False
    previous: str | None = None
    for i, call in enumerate(calls):
        again = call == previous
        run = run + 1 if again else 1
        known = results[i] is not None
        same_result = same_result + 1 if again and known and results[i] == results[i - 1] else int(known)
        same_error = (same_error + 1 if again else 1) if errors[i] else 0
        swings = i >= 2 and call == calls[i - 2] and call != calls[i - 1]
        alternating = alternating + 1 if swings else 2 if i and not again else 1
        longest = max(longest, run)
        openhands = openhands or (
            same_result >= SAME_CALL_AND_RESULT or same_error >= SAME_CALL_AND_ERROR or alternating >= ALTERNATING
        )
        previous = call
    return Repetition(longest, longest >= STUCK_RUN, openhands)


def compression_ratio(text: str) -> float:
    """Bytes over zlib-compressed bytes."""
    data = text.encode("utf-8", "replace")
    return len(data) / len(zlib.compress(data)) if data else 0.0


def is_repetitive(tail: str) -> bool | None:
    """Whether the last 10,000 characters an agent wrote compress more than tenfold.

    Args:
        tail: The agent's text, or at least its last 10,000 characters.

    Returns:
        ``None`` for under 1,000 characters, where the ratio says little.
    """
    tail = tail[-TAIL_CHARACTERS:]
    if len(tail) < SHORTEST_TAIL:
        return None
    data = tail.encode("utf-8", "replace")
    # zstd is far quicker than zlib and finds longer repeats: what it cannot shrink fivefold, zlib cannot tenfold.
    if len(data) / len(_zstd.compress(data)) < _SURELY_VARIED:
        return False
    return len(data) / len(zlib.compress(data)) > REPETITIVE
