"""Think calls: calls whose only effect is to record a thought."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trajlab.records import Step, ToolCall

HOLLOW_CHARACTERS = 20
"""A thought with fewer normalised characters says nothing."""
NEAR_REPEAT = 0.8
"""Share of words in common from which a thought repeats an earlier one."""
SPAM_RUN = 3
SPAM_FRACTION = 0.5
SPAM_CALLS = 5


class Think(msgspec.Struct, frozen=True):
    """Think facts of one trajectory; all counts are of calls."""

    calls: int
    longest_run: int
    most_in_step: int
    hollow: int
    spam: bool


def thought_of(call: ToolCall) -> str:
    """The thought a think call records: its only, or its longest, text argument."""
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return str(arguments)
    if not isinstance(arguments, dict):
        return "" if arguments is None else str(arguments)
    return max((value for value in arguments.values() if isinstance(value, str)), key=len, default="")


def hollow_flags(thoughts: Sequence[str]) -> list[bool]:
    """For each thought in order: is it under 20 normalised characters, or a near-repeat of an earlier one?"""
    seen_texts: set[str] = set()
    seen_words: list[frozenset[str]] = []
    flags = []
    for thought in thoughts:
        words = thought.lower().split()
        normalised = " ".join(words)
        bag = frozenset(words)
        near = normalised in seen_texts or any(_overlap(bag, other) >= NEAR_REPEAT for other in seen_words[-50:])
        flags.append(len(normalised) < HOLLOW_CHARACTERS or near)
        seen_texts.add(normalised)
        seen_words.append(bag)
    return flags


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    if not one or not other:
        return 0.0
    return len(one & other) / len(one | other)


def think_facts(steps: Sequence[Step], is_think: Sequence[bool]) -> Think:
    """Think facts of a trajectory.

    Args:
        steps: The agent's turns.
        is_think: For each call of all steps in order, whether it is a think call.

    Returns:
        Counts, and whether the trajectory is think spam: a run of 3 or more, or 2 or more in one step with a
        hollow one, or more than half of at least 5 calls (DEFINITIONS, Think).
    """
    thoughts = [
        thought_of(call) for call, think in zip((c for s in steps for c in s.calls), is_think, strict=True) if think
    ]
    hollow = hollow_flags(thoughts)
    longest = run = most = position = thought = 0
    spam_step = False
    for step in steps:
        here = is_think[position : position + len(step.calls)]
        position += len(step.calls)
        in_step = sum(here)
        if in_step:
            spam_step = spam_step or (in_step >= 2 and any(hollow[thought : thought + in_step]))
            thought += in_step
            most = max(most, in_step)
        for think in here:
            run = run + 1 if think else 0
            longest = max(longest, run)
    fraction = len(thoughts) / len(is_think) if is_think else 0.0
    spam = longest >= SPAM_RUN or spam_step or (fraction > SPAM_FRACTION and len(is_think) >= SPAM_CALLS)
    return Think(len(thoughts), longest, most, sum(hollow), spam)
