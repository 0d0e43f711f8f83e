"""A simulated maths run, step by step: facts become conversations, dumps and metrics."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trajlab.errors import UsageError
from trajlab.simulate import drawing, exact
from trajlab.simulate.description import Description
from trajlab.simulate.facts import Facts
from trajlab.simulate.figures import shown, unmet
from trajlab.simulate.maths_texts import SYSTEM, conversation, problems
from trajlab.simulate.metrics import Batch, group_advantage
from trajlab.simulate.rewards import components
from trajlab.simulate.verl_dump import decoded_output, decoded_prompt, identifier, write_generations

_CHARACTERS_PER_TOKEN = 3.6
_EXTRAS = ("acc", "answer_reward", "tool_reward", "format_reward", "pred", "n_tool_calls")
"""What the reward function returns beside the score."""


class MathsRun:
    """Trajectories of a maths run, planted or drawn."""

    def __init__(self, run: Description, scale: float, seed: int, *, at_random: bool) -> None:
        self.run = run
        self.seed = seed
        self.facts: Facts = (drawing.draw if at_random else exact.plant)(run, scale, seed)
        missed = unmet(run, self.planted()) if scale >= 1 and not at_random else []
        if missed:
            raise UsageError(run.name, "; ".join(missed), next_step="These figures cannot all be met")
        self.problems = problems(random.Random(f"{run.project}/{seed}/problems"), run.prompts)
        self.prompts = [decoded_prompt(SYSTEM, problem.text) for problem in self.problems]

    def write(self, folder: Path, variant: str) -> Iterator[Batch]:
        """Write a dump a step and yield what the metrics need of it."""
        for step in range(1, self.run.steps + 1):
            yield self._write_step(folder, step, variant)

    def _write_step(self, folder: Path, step: int, variant: str) -> Batch:
        rng = random.Random(f"{self.run.name}/{self.seed}/{step}")
        facts, behaviour = self.facts, self.run.behaviour
        rows = facts.rows_of(step)
        garbled = behaviour is not None and behaviour.garbled_from is not None and step >= behaviour.garbled_from
        columns: dict[str, list[Any]] = {"input": [], "output": [], "gts": [], "score": []}
        extras: dict[str, list[Any]] = {name: [] for name in _EXTRAS}
        for i in range(rows.start, rows.stop):
            problem = self.problems[facts.task[i]]
            correct, tool, cents = bool(facts.correct[i]), bool(facts.tool[i]), int(facts.cents[i])
            turns, answer = conversation(
                rng,
                problem,
                correct=correct,
                tool=tool,
                turns=int(facts.turns[i]),
                fined=cents < 0,
                garbled=garbled and rng.random() < 0.6,
            )
            parts = components(cents, correct=correct, tool=tool)
            row = (self.prompts[facts.task[i]], decoded_output(turns), str(problem.answer), cents / 100)
            extra = (float(correct), *parts, answer, np.int64(sum(len(turn.results) for turn in turns)))
            for values, value in zip((*columns.values(), *extras.values()), (*row, *extra), strict=True):
                values.append(value)
        if variant == "v1":
            extras = {"uid": _uids(rng, len(columns["input"]), self.run.config.generations)}
        write_generations(folder, step, columns, extras, "0.8" if variant == "legacy" else "0.9-v1")
        score = facts.cents[rows] / 100
        return Batch(
            score,
            group_advantage(score, self.run.config.generations),
            np.asarray(2.0 * facts.turns[rows], dtype=np.float64),
            np.ceil(np.array([len(text) for text in columns["output"]]) / _CHARACTERS_PER_TOKEN),
        )

    def planted(self) -> dict[str, Any]:
        """Figures as they came out."""
        return shown(self.run, self.facts)


def _uids(rng: random.Random, rows: int, attempts: int) -> list[str]:
    """V1 row ids: {prompt}_{session}_{output}, sorted by prompt as the trainer does."""
    prompts = sorted(identifier(rng) for _ in range(rows // attempts))
    return [f"{prompt}_{session}_0" for prompt in prompts for session in range(attempts)]
