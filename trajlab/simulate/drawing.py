"""Random planting: outcomes drawn from probabilities, with easy and hard tasks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajlab.errors import UsageError
from trajlab.simulate.description import Description, Quadrants
from trajlab.simulate.exact import told
from trajlab.simulate.facts import Facts, empty_facts, generator
from trajlab.simulate.rewards import Values, reward_values
from trajlab.simulate.series import along, partition

Real = NDArray[np.float64]


def success_rates(rate: ArrayLike, icc: float, ease: ArrayLike) -> Real:
    """Success rate of tasks that lie at given quantiles of ease.

    Rates are beta distributed over tasks with mean ``rate``; then two attempts at a task correlate by ``icc``
    (beta-binomial model; Griffiths 1973, doi:10.2307/2529131): a + b = 1 / icc - 1.

    Args:
        rate: Mean success rate, scalar or broadcast against ``ease``.
        icc: Intraclass correlation, 0 to below 1; 0 means that all tasks are alike.
        ease: Quantiles, 0 to 1.

    Raises:
        UsageError: ``icc`` or a rate outside its range.
    """
    from scipy.stats import beta

    mean, quantile = np.broadcast_arrays(np.asarray(rate, dtype=np.float64), np.asarray(ease, dtype=np.float64))
    if not 0 <= icc < 1 or np.any((mean < 0) | (mean > 1)):
        found = f"icc {icc}, rates {mean.min()} to {mean.max()}"
        raise UsageError("success_rates", found, "icc in [0, 1), rates in [0, 1]")
    if icc == 0:
        return mean.copy()
    spread = 1 / icc - 1
    inner = np.clip(mean, 1e-9, 1 - 1e-9)
    drawn = beta.ppf(quantile, inner * spread, (1 - inner) * spread)
    return np.asarray(np.where((mean <= 0) | (mean >= 1), mean, drawn), dtype=np.float64)


def correlated_outcomes(
    rate: float, tasks: int, attempts: int, icc: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Outcomes of several attempts at each task, in memory: what coverage studies draw by the thousand.

    Args:
        rate: Mean success rate over the tasks there might be.
        tasks: Number of tasks drawn.
        attempts: Attempts at each.
        icc: Intraclass correlation of the attempts at a task.
        rng: Source of randomness.

    Returns:
        Shape (tasks, attempts).
    """
    rates = success_rates(rate, icc, rng.random(tasks))
    return rng.random((tasks, attempts)) < rates[:, None]


def draw(run: Description, scale: float, seed: int) -> Facts:
    """Trajectories of a maths run drawn from the figures read as probabilities."""
    rng = generator(run, seed, "random")
    facts = empty_facts(run, scale, rng)
    behaviour, score, correct_pct = told(run)
    ease = rng.random(run.prompts)
    correct_by_step = _by_step(run, [float(p) / 100 for p in run.outcome.epoch_correct_pct], float(correct_pct) / 100)
    rates = success_rates(correct_by_step[facts.step - 1], float(run.icc), ease[facts.task])
    facts.correct[:] = rng.random(len(rates)) < rates
    overall = float(behaviour.tool_use_pct) / 100
    tool = _by_step(run, [float(p) / 100 for p in behaviour.epoch_tool_use_pct], overall)
    if behaviour.tool_use_path:
        tool = _with_shape(tool, along(behaviour.tool_use_path, run.steps), run.epochs.rollout_steps)
    tilt = (tool / overall)[facts.step - 1]
    given = np.where(facts.correct, *_tool_given_outcome(behaviour.quadrants))
    facts.tool[:] = rng.random(len(rates)) < np.minimum(given * tilt, 1)
    _draw_turns(run, facts, rng)
    values = reward_values(run.outcome.distinct_rewards, run.outcome.max_reward)
    mean = float(score.mean) / (float(correct_pct) / 100) if score.mean is not None else 1.25
    _draw_rewards(run, facts, values, mean, rng)
    return facts


def _by_step(run: Description, epochs: list[float], overall: float) -> Real:
    return np.repeat(epochs, run.epochs.rollout_steps) if epochs else np.full(run.steps, overall)


def _with_shape(level: Real, shape: Real, sizes: list[int]) -> Real:
    """The shape, scaled so that each epoch keeps its mean."""
    out = level.copy()
    for members in partition(sizes):
        out[members] = level[members].mean() * shape[members] / max(float(shape[members].mean()), 1e-12)
    return np.clip(out, 0, 1)


def _tool_given_outcome(cells: Quadrants) -> tuple[float, float]:
    right = float(cells.answer_and_tool + cells.only_answer)
    wrong = float(cells.only_tool + cells.neither)
    return float(cells.answer_and_tool) / max(right, 1e-12), float(cells.only_tool) / max(wrong, 1e-12)


def _draw_turns(run: Description, facts: Facts, rng: np.random.Generator) -> None:
    """One turn without tools, two with, and a geometric number more for some."""
    behaviour = told(run)[0]
    three, tool = float(behaviour.three_plus_step_pct), float(behaviour.tool_use_pct)
    extra_mean = float(behaviour.mean_steps) - 1 - tool / 100
    more = rng.random(len(facts.tool)) < three / max(tool, 1e-12)
    beyond = max(extra_mean / max(three / 100, 1e-12), 1.0)
    extra = rng.geometric(1 / beyond, len(facts.tool))
    most = run.config.agent_steps - 2
    facts.turns[:] = 1 + facts.tool * (1 + more * np.minimum(extra, most))


def _draw_rewards(run: Description, facts: Facts, values: Values, mean: float, rng: np.random.Generator) -> None:
    """Right answers keep the maximum or lose something, so that they earn the mean of the run on average."""
    size = len(facts.cents)
    deductions = np.array(values.deductions)
    loss = max(values.best - mean * 100, 0.0) / max(float(deductions.mean()), 1e-12)
    deduct = rng.choice(deductions, size) * (rng.random(size) < min(loss, 1.0))
    negative = float(run.outcome.negative_pct or 0) / max(100 - float(run.outcome.correct_pct or 0), 1e-12)
    fined = rng.choice(np.array(values.penalties), size) * (rng.random(size) < negative)
    facts.cents[:] = np.where(facts.correct, values.best - deduct, -fined)
