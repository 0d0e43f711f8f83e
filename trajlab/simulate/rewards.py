"""Reward values of a simulated maths agent, in hundredths, and sums of them that hit a given batch mean.

A right answer earns the most there is, less deductions; a wrong one nothing, or a penalty. So positive reward and
correct are the same thing, as in the runs this follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from trajlab.errors import UsageError

_DEDUCTIONS = (0, 1, 3, 10, 33, 5, 20, 58)  # in the order in which more distinct values are made
_PENALTIES = (5, 10, 25, 50)
_TRIES = 40
ANSWER, TOOL = 100, 20
"""Answer and tool component of the reward, in hundredths; the rest of a reward is its format component."""


@dataclass(frozen=True)
class Values:
    """The values a reward may take: ``best`` less a deduction, 0, or minus a penalty."""

    best: int
    deductions: tuple[int, ...]
    penalties: tuple[int, ...]

    @property
    def least(self) -> int:
        """A mean of right answers that every large batch can reach, with a little room to hit a total."""
        return self.best - self.deductions[-1] * 9 // 10

    def most_lost(self, correct: NDArray[np.int64]) -> NDArray[np.int64]:
        """How much so many right answers can lose, one of them nothing, with every smaller loss possible too.

        But for one: with the deductions 1, 3, 10, 33 alone the highest loss of 28 above a multiple of 33 is missed by
        a hundredth.
        """
        # Greed needs up to five coins for what is left below the largest; six for 28 = 10 + 10 + 3 + 3 + 1 + 1.
        large = self.deductions[-1]
        return np.where(correct > 6, large * (correct - 6) + large - 1, np.maximum(correct - 1, 0))


def reward_values(distinct: int | None, best: Decimal) -> Values:
    """Values for a run with so many distinct rewards (``None``: as it comes out, of at most 9).

    Raises:
        UsageError: Fewer than 7 or more than 13 values are asked for, or too small a maximum.
    """
    distinct = 9 if distinct is None else distinct
    most = len(_DEDUCTIONS) + 1 + len(_PENALTIES)
    least = most - len(_PENALTIES) - 2
    if not least <= distinct <= most or best < 1:
        raise UsageError("distinct_rewards", f"{distinct}, max_reward {best}", f"{least} to {most}, at least 1.00")
    penalties = min(max(distinct - 6, 1), len(_PENALTIES))
    deductions = sorted(_DEDUCTIONS[: distinct - 1 - penalties])
    return Values(round(best * 100), tuple(deductions), _PENALTIES[:penalties])


@dataclass(frozen=True)
class Batch:
    """What the rewards of a step must be: their sum, the right answers, the penalised wrong ones."""

    total: int
    correct: int
    negative: int


def split(
    batch: Batch, values: Values, forced: tuple[Sequence[int], Sequence[int]], rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Deductions of the right answers and penalties of the wrong ones that give the total.

    Args:
        batch: What to meet; the total is met as nearly as can be.
        values: The values there are.
        forced: Deductions and penalties that should be among them.
        rng: Chooses among the ways.

    Returns:
        ``correct`` deductions and ``negative`` penalties.
    """
    lost = values.best * batch.correct - batch.total
    for coins, fines in (forced, ([], [])):
        for attempt in range(_TRIES):
            penalties = _penalties(batch.negative, fines, values, rng, plain=attempt >= _TRIES // 2)
            rest = lost - sum(penalties) - sum(coins)
            found = _change(rest, batch.correct - len(coins), values.deductions, rng)
            if found is not None and len(fines) <= batch.negative:
                return [*coins, *found], penalties
    # No way to the exact total: the nearest one.
    penalties = [values.penalties[0]] * batch.negative
    rest = max(lost - sum(penalties), 0)
    for shift in range(values.best * max(batch.correct, 1) + 1):
        for near in (rest + shift, rest - shift):
            found = _change(near, batch.correct, values.deductions, rng)
            if found is not None:
                return found, penalties
    raise UsageError("rewards", f"{batch}", "values that can be summed")


def _penalties(
    count: int, forced: Sequence[int], values: Values, rng: np.random.Generator, *, plain: bool
) -> list[int]:
    free = max(count - len(forced), 0)
    if plain:
        return [*forced, *[values.penalties[0]] * free]
    odds = np.array([0.9, 0.07, 0.02, 0.01][: len(values.penalties)])
    return [*forced, *rng.choice(np.array(values.penalties), size=free, p=odds / odds.sum()).tolist()]


def _change(amount: int, count: int, coins: Sequence[int], rng: np.random.Generator) -> list[int] | None:
    """``count`` coins that sum to the amount, at least one of them 0 where there is any; ``None`` if greed fails."""
    if amount < 0 or count < 0 or (count == 0 and amount):
        return None
    used: list[int] = []
    rest = amount
    for coin in reversed([coin for coin in coins if coin]):
        used += [coin] * (rest // coin)
        rest %= coin
    spare = count - 1 - len(used)
    if rest or (spare < 0 and used):
        return None
    used = _broken(used, spare, coins, rng)
    return [*used, *[0] * (count - len(used))]


def _broken(used: list[int], spare: int, coins: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Change some large coins into small ones while there is room, for variety."""
    ways = {58: (33, 20, 5), 33: (20, 10, 3), 20: (10, 10), 10: (5, 5), 5: (3, 1, 1), 3: (1, 1, 1)}
    ways |= {} if 20 in coins else {33: (10, 10, 10, 3)}
    ways |= {} if 5 in coins else {10: (3, 3, 3, 1)}
    for coin in sorted(used, reverse=True):
        parts = ways.get(coin)
        if parts and len(parts) - 1 <= spare and set(parts) <= set(coins) and rng.random() < 0.25:
            used.remove(coin)
            used += parts
            spare -= len(parts) - 1
    return used


def components(cents: int, *, correct: bool, tool: bool) -> tuple[float, float, float]:
    """Answer, tool and format component of a reward; they sum to it."""
    answer, used = ANSWER * correct, TOOL * tool
    return answer / 100, used / 100, (cents - answer - used) / 100
