"""Coverage study: how often do 95 % intervals hold the truth? Seeded; prints tables.

    python tests/studies/coverage.py [--draws 2000] [--seed 0] [--attempts 4] [--part all]

A cell outside 93–97 % is marked: ``+`` covers too much (cautious), ``-`` too little. With 2,000 draws the
standard error of a cell is about 0.5 points, so a mark within half a point of the limit may be chance.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, owens_t

from trajlab.stats import difference, mean, paired_difference, pass_at_k, pass_hat_k, proportion, ratio

TASKS = (10, 30, 100)
CORRELATIONS = (0.1, 0.3, 0.5, 0.7)
RATES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
LOW, HIGH = 93.0, 97.0
Difficulty = Callable[[np.random.Generator, float, float, tuple[int, ...]], np.ndarray]


def beta_difficulty(rng, rate, correlation, shape):
    """Success chance of each task, beta-binomial: intraclass correlation 1 / (a + b + 1)."""
    weight = 1 / correlation - 1
    return rng.beta(rate * weight, (1 - rate) * weight, shape)


def probit_difficulty(rng, rate, correlation, shape):
    """Success chance of each task, probit with a normal effect of the same intraclass correlation."""
    threshold = ndtri(rate)
    latent = latent_correlation(rate, correlation)
    effects = rng.standard_normal(shape)
    return ndtr((threshold + np.sqrt(latent) * effects) / np.sqrt(1 - latent))


def latent_correlation(rate, correlation):
    """Correlation of two normals whose signs at this rate correlate as asked."""
    threshold = ndtri(rate)

    def gap(latent):
        both = rate - 2 * owens_t(threshold, np.sqrt((1 - latent) / (1 + latent)))
        return both - rate**2 - correlation * rate * (1 - rate)

    return brentq(gap, 1e-6, 1 - 1e-6)


DIFFICULTIES: dict[str, Difficulty] = {"beta-binomial": beta_difficulty, "probit": probit_difficulty}


def covered(estimates, truth):
    """Share of estimates whose interval holds the truth, in percent; no interval counts as a miss."""
    hits = [e.low is not None and e.low <= truth <= e.high for e in estimates]
    return 100 * float(np.mean(hits))


def mark(percent):
    return "+" if percent > HIGH else "-" if percent < LOW else " "


def print_row(label, cells):
    print(label.ljust(26) + " ".join(f"{cell:6.1f}{mark(cell)}" for cell in cells), flush=True)


def summarise(cells):
    inside = sum(LOW <= cell <= HIGH for cell in cells)
    print(
        f"inside 93-97: {inside} of {len(cells)} cells; lowest {min(cells):.1f}, highest {max(cells):.1f}, "
        f"below 93: {sum(cell < LOW for cell in cells)}\n"
    )


def study_proportion(draws, seed, attempts):
    for name, difficulty in DIFFICULTIES.items():
        print(f"proportion, {attempts} attempts, {name}: coverage in % by rate")
        print("tasks  icc   all one result".ljust(26) + " ".join(f"{rate:6.2f} " for rate in RATES))
        every = []
        for tasks in TASKS:
            clusters = np.repeat(np.arange(tasks), attempts)
            for correlation in CORRELATIONS:
                cells, constant = [], 0
                for rate in RATES:
                    rng = np.random.default_rng([seed, tasks, int(10 * correlation), int(100 * rate)])
                    chances = difficulty(rng, rate, correlation, (draws, tasks))
                    successes = rng.random((draws, tasks * attempts)) < np.repeat(chances, attempts, axis=1)
                    shares = successes.mean(axis=1)
                    if rate == RATES[0]:
                        constant = 100 * float(((shares == 0) | (shares == 1)).mean())
                    cells.append(covered((proportion(row, clusters) for row in successes), rate))
                print_row(f"{tasks:5d}  {correlation:.1f}   {constant:5.1f} % at {RATES[0]}", cells)
                every += cells
        summarise(every)


def study_stages(draws, seed):
    """Two stages of 80 trajectories: any test run 70 → 46.8 %, inline checks 20 → 45 %."""
    print("two stages of 80, unpaired difference of shares (Newcombe): coverage in %")
    cells = []
    for before, after in ((0.70, 0.468), (0.20, 0.45), (0.05, 0.02), (0.5, 0.5)):
        rng = np.random.default_rng([seed, int(1000 * before), int(1000 * after)])
        one, other = rng.random((draws, 80)) < after, rng.random((draws, 80)) < before
        pairs = (difference(a, b) for a, b in zip(one, other, strict=True))
        cells.append(covered(pairs, after - before))
        print_row(f"{before:.3f} -> {after:.3f}", cells[-1:])
    summarise(cells)


def study_differences(draws, seed, attempts):
    print(f"difference of two arms on the same tasks, {attempts} attempts each, icc 0.3: coverage in %")
    print("tasks  rates".ljust(26) + "independent  shared tasks  paired")
    every = []
    for tasks in TASKS:
        clusters = np.repeat(np.arange(tasks), attempts)
        for rate_a, rate_b in ((0.1, 0.1), (0.3, 0.4), (0.7, 0.5), (0.9, 0.97)):
            rng = np.random.default_rng([seed, tasks, int(100 * rate_a), int(100 * rate_b)])
            effects = rng.standard_normal((2, draws, tasks))
            chances = [probit_chances(rate_a, effects[0]), probit_chances(rate_b, effects[0])]
            a, b = (rng.random((draws, tasks * attempts)) < np.repeat(c, attempts, axis=1) for c in chances)
            apart = np.repeat(probit_chances(rate_b, effects[1]), attempts, axis=1)
            other = rng.random(a.shape) < apart
            truth = rate_a - rate_b
            cells = [
                covered((difference(x, y, clusters, clusters) for x, y in zip(a, other, strict=True)), truth),
                covered(
                    (difference(x, y, clusters, clusters, shared_clusters=True) for x, y in zip(a, b, strict=True)),
                    truth,
                ),
                covered((paired_difference(x, y, clusters) for x, y in zip(a, b, strict=True)), truth),
            ]
            print_row(f"{tasks:5d}  {rate_a} - {rate_b}", cells)
            every += cells
    summarise(every)


def probit_chances(rate, effects):
    latent = latent_correlation(rate, 0.3)
    return ndtr((ndtri(rate) + np.sqrt(latent) * effects) / np.sqrt(1 - latent))


def study_others(draws, seed, attempts):
    print("pass@2, pass^2 (4 attempts), think fraction (Poisson calls), mean of skewed values: coverage in %")
    every = []
    for tasks in TASKS:
        rng = np.random.default_rng([seed, tasks])
        clusters = np.repeat(np.arange(tasks), attempts)
        for rate in (0.1, 0.5, 0.9):
            chances = beta_difficulty(rng, rate, 0.3, (draws, tasks))
            solved, tried = rng.binomial(attempts, chances), np.full(tasks, attempts)
            weight = 1 / 0.3 - 1
            square = rate * (rate * weight + 1) / (weight + 1)  # mean of the squared chance
            fraction = rate / 5
            calls = 1 + rng.poisson(20, (draws, tasks * attempts))
            habit = np.repeat(beta_difficulty(rng, fraction, 0.05, (draws, tasks)), attempts, axis=1)
            thoughts = rng.binomial(calls, habit)
            skewed = rng.gamma(0.5, 2.0, (draws, tasks, 1)) + rng.exponential(1.0, (draws, tasks, attempts))
            cells = [
                covered((pass_at_k(row, tried, 2) for row in solved), 2 * rate - square),
                covered((pass_hat_k(row, tried, 2) for row in solved), square),
                covered(
                    (ratio(t, c, clusters, bounded=True) for t, c in zip(thoughts, calls, strict=True)),
                    fraction,
                ),
                covered((mean(row.ravel(), clusters) for row in skewed), 2.0),
            ]
            print_row(f"{tasks:5d}  rate {rate}", cells)
            every += cells
    summarise(every)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--attempts", type=int, default=4)
    parser.add_argument("--part", choices=("all", "proportion", "other"), default="all")
    options = parser.parse_args()
    started = time.perf_counter()
    if options.part != "other":
        study_proportion(options.draws, options.seed, options.attempts)
    if options.part != "proportion":
        study_stages(options.draws, options.seed)
        study_differences(options.draws, options.seed, options.attempts)
        study_others(options.draws, options.seed, options.attempts)
    print(f"{options.draws} draws a cell, seed {options.seed}, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
