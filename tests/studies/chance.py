"""Seeded choices that remember what they were used for."""

from __future__ import annotations

import random
from typing import TypeVar

Item = TypeVar("Item")


class Chance(random.Random):
    """A source of choices for one mutant.

    Attributes:
        kinds: What was done to the log, by name.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.kinds: list[str] = []

    def told(self, kind: str, value: Item) -> Item:
        """The value, remembered as a change of that kind."""
        self.kinds.append(kind)
        return value
