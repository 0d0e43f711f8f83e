"""Exact planting of a maths run: counts by step first, then trajectories that have them.

The order of decisions: epoch counts (rollout partition) within the printed figures; a score series (score
partition); right answers by step, following the scores; the scores again, between what those answers can earn; then
everything else. So the rewards of the rollouts and the score of the metric log agree at every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from trajlab.errors import UsageError
from trajlab.simulate.apportion import Whole, apportion, count_window, window_of, windowed
from trajlab.simulate.description import Behaviour, Description, Series
from trajlab.simulate.facts import Facts, empty_facts, generator, prompts_per_step
from trajlab.simulate.rewards import Batch, Values, reward_values, split
from trajlab.simulate.series import Frame, Interval, Real, along, drawn, frame_of, partition, settle

_DRAWS = 8


@dataclass
class EpochCounts:
    """Counts by epoch of the rollout partition."""

    correct: Whole
    tool: Whole
    both: Whole
    three_plus: Whole
    extra: Whole
    """Turns beyond two, summed over trajectories."""


@dataclass
class StepCounts:
    """Counts by step; ``cents`` is the sum of the rewards in hundredths."""

    correct: Whole
    tool: Whole
    both: Whole
    negative: Whole
    cents: Whole


def told(run: Description) -> tuple[Behaviour, Series, Decimal]:
    """What a maths run must describe: behaviour, score and share of right answers."""
    if run.behaviour is None or run.score is None or run.outcome.correct_pct is None:
        raise UsageError(run.name, "no maths run", "[behaviour], [score] and correct_pct")
    return run.behaviour, run.score, run.outcome.correct_pct


def plant(run: Description, scale: float, seed: int) -> Facts:
    """Trajectories that show the figures of a maths run.

    Raises:
        UsageError: The figures contradict each other.
    """
    rng = generator(run, seed, "exact")
    facts = empty_facts(run, scale, rng)
    size = prompts_per_step(run, scale) * run.config.generations
    values = reward_values(run.outcome.distinct_rewards, run.outcome.max_reward)
    epochs = epoch_counts(run, size)
    steps = step_counts(run, size, epochs, values, rng, strict=scale >= 1)
    _assign_outcomes(run, facts, steps, rng)
    _assign_turns(run, facts, epochs, rng)
    _assign_rewards(facts, steps, values, rng)
    return facts


def epoch_counts(run: Description, size: int) -> EpochCounts:
    """Counts by epoch within what is printed; ``size`` is trajectories a step."""
    behaviour, _, correct_pct = told(run)
    sizes = np.array(run.epochs.rollout_steps) * size
    whole = int(sizes.sum())
    correct = _shares(run.outcome.epoch_correct_pct, sizes, count_window(correct_pct, whole))
    tool_total, both_total = _quadrant_totals(behaviour, int(correct.sum()), whole)
    tool = _shares(behaviour.epoch_tool_use_pct, sizes, (tool_total, tool_total))
    low, high = np.maximum(correct + tool - sizes, 0), np.minimum(correct, tool)
    both_total = min(max(both_total, int(low.sum())), int(high.sum()))
    both = apportion(both_total, correct * tool / sizes, low, high)
    three_plus, extra = _turn_counts(behaviour, sizes, tool, run.config.agent_steps - 2)
    return EpochCounts(correct, tool, both, three_plus, extra)


def _shares(epoch_pct: Sequence[Decimal], sizes: Whole, total: tuple[int, int]) -> Whole:
    """Counts by epoch: near the printed shares, or the run's share everywhere."""
    if not epoch_pct:
        return apportion(sum(total) // 2, sizes, 0, sizes)
    ideal = [float(share) * n / 100 for share, n in zip(epoch_pct, sizes.tolist(), strict=True)]
    windows = [count_window(share, n) for share, n in zip(epoch_pct, sizes.tolist(), strict=True)]
    return windowed(ideal, windows, total)


def _quadrant_totals(behaviour: Behaviour, correct: int, whole: int) -> tuple[int, int]:
    """Tool users, and right answers among them, that fit all printed shares best."""
    cells = behaviour.quadrants
    printed = (cells.answer_and_tool, cells.only_answer, cells.only_tool, cells.neither)
    windows = [count_window(share, whole) for share in printed]
    one_step = count_window(behaviour.one_step_pct, whole)
    best: tuple[float, int, int] | None = None
    for tool in range(*_open(count_window(behaviour.tool_use_pct, whole))):
        for both in range(*_open(windows[0])):
            counts = (both, correct - both, tool - both, whole - correct - tool + both)
            outside = sum(max(low - n, n - high, 0) for n, (low, high) in zip(counts, windows, strict=True))
            outside += max(one_step[0] - (whole - tool), whole - tool - one_step[1], 0)
            distance = sum(abs(n - float(share) * whole / 100) for n, share in zip(counts, printed, strict=True))
            cost = outside * whole + distance
            if min(counts) >= 0 and (best is None or cost < best[0]):
                best = (cost, tool, both)
    if best is None:
        tool = round(float(behaviour.tool_use_pct) * whole / 100)
        return tool, min(correct, tool)
    return best[1:]


def _open(window: tuple[int, int]) -> tuple[int, int]:
    return window[0], window[1] + 1


def _turn_counts(behaviour: Behaviour, sizes: Whole, tool: Whole, most_extra: int) -> tuple[Whole, Whole]:
    """Trajectories of three or more turns, and turns beyond two, by epoch; a tool user has two turns at least."""
    whole, users = int(sizes.sum()), int(tool.sum())
    three = count_window(behaviour.three_plus_step_pct, whole)
    two = count_window(behaviour.two_step_pct, whole)
    low, high = max(three[0], users - two[1], 0), min(three[1], users - two[0])
    ideal = round(float(behaviour.three_plus_step_pct) * whole / 100)
    three_total = min(min(max(ideal, low), max(low, high)), users)
    total_low, total_high = (max(n - whole - users, 0) for n in window_of(behaviour.mean_steps, whole))
    if behaviour.epoch_mean_steps:
        pairs = list(zip(behaviour.epoch_mean_steps, sizes.tolist(), tool.tolist(), strict=True))
        spans = [(window_of(mean, n), n + t, t * most_extra) for mean, n, t in pairs]
        windows = [tuple(min(max(k - least, 0), most) for k in span) for span, least, most in spans]
        ideals = [max(float(mean) * n - n - t, 0.0) for mean, n, t in pairs]
        extra = windowed(ideals, windows, (total_low, total_high))
    else:
        total = min(max((total_low + total_high) // 2, three_total), users * most_extra)
        extra = apportion(total, tool, 0, tool * most_extra)
    least, most = -(-extra // most_extra), np.minimum(extra, tool)
    three_total = min(max(three_total, int(least.sum())), int(most.sum()))
    return apportion(three_total, extra, least, most), extra


def step_counts(
    run: Description, size: int, epochs: EpochCounts, values: Values, rng: np.random.Generator, *, strict: bool
) -> StepCounts:
    """Counts by step; with ``strict`` the score figures must all be met, else as nearly as small batches allow."""
    behaviour = told(run)[0]
    rollout = partition(run.epochs.rollout_steps)
    correct, score = _scores(run, size, epochs.correct, values, rng, strict=strict)
    cents = _whole_cents(score * size * 100, partition(run.epochs.score_steps))
    shape = along(behaviour.tool_use_path, run.steps) if behaviour.tool_use_path else np.ones(run.steps)
    shape = shape * (1 + 0.05 * rng.standard_normal(run.steps))
    tool, both = np.zeros_like(correct), np.zeros_like(correct)
    for epoch, members in enumerate(rollout):
        right = correct[members]
        tool[members] = apportion(int(epochs.tool[epoch]), shape[members].clip(0), 0, np.full(len(members), size))
        low, high = np.maximum(right + tool[members] - size, 0), np.minimum(right, tool[members])
        both_total = min(max(int(epochs.both[epoch]), int(low.sum())), int(high.sum()))
        both[members] = apportion(both_total, right * tool[members], low, high)
    lost = np.maximum(values.best * correct - cents, 0)
    room = np.minimum(size - correct, lost // values.penalties[0])
    negative_total = _negatives(run, int(correct.sum()), size * run.steps)
    if strict and negative_total > int(room.sum()):
        raise UsageError("negative_pct", "more penalties than the scores leave room for")
    negative = apportion(min(negative_total, int(room.sum())), room, 0, room)
    return StepCounts(correct, tool, both, negative, cents)


def _scores(
    run: Description, size: int, by_epoch: Whole, values: Values, rng: np.random.Generator, *, strict: bool
) -> tuple[Whole, Real]:
    """Right answers and mean score by step. A draw that cannot be moved into place is drawn anew."""
    _, plan, _ = told(run)
    rollout = partition(run.epochs.rollout_steps)
    share = _negatives(run, int(by_epoch.sum()), size * run.steps) / (size * run.steps)
    for attempt in range(_DRAWS):
        start = drawn(plan, run.steps, rng)
        frame = frame_of(plan, start, run.epochs.score_steps)
        earned = Frame(frame.low, frame.high, list(frame.intervals), frame.groups, frame.std)
        for members, right in zip(rollout, by_epoch.tolist(), strict=True):
            whole = 100 * size * len(members)
            room = share * size * len(members) * values.penalties[0] / 2
            most = values.best * right - room
            earned.intervals.append(Interval(members, values.least * right / whole, most / whole))
        try:
            score = settle(start, earned, "score", strict=strict)
            correct = _correct_by_step(score, frame, by_epoch, rollout, size, values)
            earnable = _earnable(frame, correct, size, values, strict=strict)
            return correct, settle(score, earnable, "score", strict=strict)
        except UsageError:
            if attempt == _DRAWS - 1:
                raise
    raise AssertionError


def _whole_cents(cents: Real, epochs: Sequence[Whole]) -> Whole:
    """Whole numbers with the same sum in each epoch, by largest remainder."""
    whole = np.zeros(len(cents), dtype=np.int64)
    for members in epochs:
        exact = cents[members]
        low = np.floor(exact + 1e-6).astype(np.int64)
        whole[members] = low + apportion(round(float((exact - low).sum())), (exact - low).clip(0), 0, np.ones_like(low))
    return whole


def _negatives(run: Description, correct: int, whole: int) -> int:
    outcome = run.outcome
    if outcome.negative_pct is None:
        return 0
    low, high = count_window(outcome.negative_pct, whole)
    if outcome.zero_pct is not None:
        zero = count_window(outcome.zero_pct, whole)
        low, high = max(low, whole - correct - zero[1]), min(high, whole - correct - zero[0])
    return min(max(round(float(outcome.negative_pct) * whole / 100), low), max(low, high))


def _correct_by_step(
    score: Real, frame: Frame, by_epoch: Whole, rollout: Sequence[Whole], size: int, values: Values
) -> Whole:
    """Right answers by step in proportion to the score; a step with a given score gets as many as can earn it."""
    cents = score * size * 100
    fixed = frame.low >= frame.high
    least = np.where(fixed, np.ceil((cents + 1) / values.best), 1).astype(np.int64)
    most = np.where(fixed, np.floor(cents / values.least), size).astype(np.int64)
    least = np.clip(least, 0, size)
    most = np.maximum(np.minimum(most, size), least)
    counts = np.zeros(len(score), dtype=np.int64)
    for members, total in zip(rollout, by_epoch.tolist(), strict=True):
        low, high = least[members], most[members]
        if not low.sum() <= total <= high.sum():
            low, high = np.zeros_like(low), np.full_like(high, size)
        counts[members] = apportion(total, score[members], low, high)
    return counts


def _earnable(frame: Frame, correct: Whole, size: int, values: Values, *, strict: bool) -> Frame:
    """The frame of the score again, between the least and the most that the right answers can earn.

    With ``strict`` every sum between the two can be made; a few right answers alone cannot make every sum.
    """
    fixed = frame.low >= frame.high
    lost = values.most_lost(correct) if strict else values.deductions[-1] * np.maximum(correct - 1, 0)
    least = (values.best * correct - lost) / (100 * size)
    most = values.best * correct / (100 * size)
    low = np.where(fixed, frame.low, np.minimum(np.maximum(frame.low, least), most))
    high = np.where(fixed, frame.high, np.minimum(frame.high, most))
    return Frame(low, np.maximum(high, low), frame.intervals, frame.groups, frame.std)


def _assign_outcomes(run: Description, facts: Facts, steps: StepCounts, rng: np.random.Generator) -> None:
    """Right answers go to the easier prompts, as closely as the intraclass correlation says; tools at random."""
    ease = rng.standard_normal(run.prompts) * float(run.icc) ** 0.5
    noise = (1 - float(run.icc)) ** 0.5
    for i in range(run.steps):
        rows = facts.rows_of(i + 1)
        luck = ease[facts.task[rows]] + noise * rng.standard_normal(rows.stop - rows.start)
        order = rows.start + np.argsort(-luck, kind="stable")
        right, wrong = order[: steps.correct[i]], order[steps.correct[i] :]
        facts.correct[right] = True
        facts.tool[rng.permutation(right)[: steps.both[i]]] = True
        facts.tool[rng.permutation(wrong)[: steps.tool[i] - steps.both[i]]] = True


def _assign_turns(run: Description, facts: Facts, epochs: EpochCounts, rng: np.random.Generator) -> None:
    most_extra = run.config.agent_steps - 2
    facts.turns[:] = 1 + facts.tool
    first = 1
    for epoch, steps in enumerate(run.epochs.rollout_steps):
        rows = slice(facts.rows_of(first).start, facts.rows_of(first + steps - 1).stop)
        first += steps
        users = rng.permutation(rows.start + np.flatnonzero(facts.tool[rows]))[: epochs.three_plus[epoch]]
        facts.turns[users] += 1
        left = int(epochs.extra[epoch]) - len(users)
        while left > 0:
            open_ = users[facts.turns[users] - 2 < most_extra]
            chosen = rng.permutation(open_)[: min(left, max(1, len(open_) // 3))]
            facts.turns[chosen] += 1
            left -= len(chosen)


def _assign_rewards(facts: Facts, steps: StepCounts, values: Values, rng: np.random.Generator) -> None:
    forced = _rare_values(steps, values)
    for i in range(len(steps.cents)):
        rows = facts.rows_of(i + 1)
        batch = Batch(int(steps.cents[i]), int(steps.correct[i]), int(steps.negative[i]))
        deductions, penalties = split(batch, values, forced.get(i, ([], [])), rng)
        right = rows.start + np.flatnonzero(facts.correct[rows])
        wrong = rows.start + np.flatnonzero(~facts.correct[rows])
        facts.cents[rng.permutation(right)] = values.best - np.array(deductions, dtype=np.int64)
        facts.cents[rng.permutation(wrong)[: len(penalties)]] = -np.array(penalties, dtype=np.int64)


def _rare_values(steps: StepCounts, values: Values) -> dict[int, tuple[list[int], list[int]]]:
    """Every value must occur: deal them to the steps with most to deduct."""
    spare = values.best * steps.correct - steps.cents - values.penalties[0] * steps.negative
    order = np.argsort(-spare, kind="stable").tolist()
    roomy = [i for i in order if steps.correct[i] > 1 and steps.negative[i] > 0] or order
    forced: dict[int, tuple[list[int], list[int]]] = {}
    wanted = [(coin, 0) for coin in values.deductions if coin] + [(fine, 1) for fine in values.penalties]
    for place, (value, kind) in enumerate(sorted(wanted, reverse=True)):
        forced.setdefault(roomy[place % len(roomy)], ([], []))[kind].append(value)
    return forced
