"""Six classes of reward components, told from the words of their names: what a reward is made of."""

from __future__ import annotations

import re

CLASSES: dict[str, tuple[str, ...]] = {
    "KL and regularisation": ("kl", "entropy", "regularisation", "regularization", "regularizer", "l2"),
    "safety and permission": ("safety", "safe", "permission", "forbidden", "refusal", "toxicity", "harm"),
    "cost and length": (
        "cost", "length", "len", "token", "tokens", "turns", "steps", "latency", "time", "efficiency", "overlong",
        "verbosity", "brevity",
    ),
    "format and parser": (
        "format", "parse", "parser", "parsing", "parsable", "xml", "json", "tag", "tags", "syntax", "schema",
        "boxed", "structure", "language",
    ),
    "process": (
        "tool", "tools", "process", "step", "think", "thinking", "reasoning", "progress", "shaping", "style",
        "plan", "search", "call", "calls", "repetition", "coverage",
    ),
    "task success": (
        "answer", "accuracy", "acc", "correct", "correctness", "success", "outcome", "solved", "resolved", "task",
        "exact", "match", "check", "verifier", "unit", "pass", "passed", "result", "final", "reward",
        "score", "test", "tests",
    ),
}  # fmt: skip
"""Class -> words of a name; the first class of which a word stands in the name is its own."""
UNNAMED = "not told by its name"


def class_of(component: str) -> str:
    """Class of a component of the reward by its name; ``UNNAMED`` where no word of it is known.

    >>> class_of("format_reward_func"), class_of("rewards/check_answer/mean"), class_of("m2")
    ('format and parser', 'task success', 'not told by its name')
    """
    words = set(re.findall(r"[a-z]+[0-9]*", re.sub(r"([a-z])([A-Z])", r"\1_\2", component).lower()))
    return next((name for name, known in CLASSES.items() if words & set(known)), UNNAMED)
