"""Repetition: identical calls in a row, loops, and text that compresses too well."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from operator import eq

import msgspec
import zstandard

from trajlab.records import ToolCall

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
_SURELY_VARIED = 3.0

_zstd = zstandard.ZstdCompressor(level=-5)


class Repetition(msgspec.Struct, frozen=True):
    """Repetition facts of one trajectory."""

    longest_run: int
    stuck: bool
    stuck_openhands: bool


def repetition_facts(requests: Sequence[int], calls: Sequence[ToolCall]) -> Repetition | None:
    """Runs and loops over the calls of a trajectory, in order.

    Args:
        requests: Digest of each call's tool and arguments.
        calls: The calls, with what came back.

    Returns:
        ``None`` where there are no calls.
    """
    if not requests:
        return None
    if not _comes_again(requests):
        return Repetition(1, stuck=False, stuck_openhands=False)
    longest = run = same_result = same_error = alternating = 0
    openhands = False
    previous: int | None = None
    before: int | None = None
    for i, request in enumerate(requests):
        output, again = calls[i].output, request == previous
        run = run + 1 if again else 1
        same_output = again and output is not None and output == calls[i - 1].output
        same_result = same_result + 1 if same_output else int(output is not None)
        same_error = (same_error + 1 if again else 1) if _failed(calls[i]) else 0
        alternating = alternating + 1 if request == before and not again else 1 if again or not i else 2
        longest = max(longest, run)
        openhands = openhands or (
            same_result >= SAME_CALL_AND_RESULT or same_error >= SAME_CALL_AND_ERROR or alternating >= ALTERNATING
        )
        before, previous = previous, request
    return Repetition(longest, longest >= STUCK_RUN, openhands)


def _comes_again(requests: Sequence[int]) -> bool:
    """Whether a request follows itself at once, or with another between them: without it there is no loop."""
    return True in map(eq, requests, requests[1:]) or True in map(eq, requests, requests[2:])


def _failed(call: ToolCall) -> bool:
    return call.exit_code != 0 if call.exit_code is not None else call.is_error is True


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
    # zstd is far quicker than zlib and finds longer repeats: what it cannot shrink threefold, zlib cannot tenfold.
    if len(data) / len(_zstd.compress(data)) < _SURELY_VARIED:
        return False
    return len(data) / len(zlib.compress(data)) > REPETITIVE
