"""A simulated run on software-engineering tasks: think calls, test runs, quick checks, edits."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajlab.errors import UsageError
from trajlab.simulate.apportion import apportion
from trajlab.simulate.description import Description, Software, Stage
from trajlab.simulate.drawing import success_rates
from trajlab.simulate.facts import generator, prompts_per_step, tasks_by_step
from trajlab.simulate.metrics import Batch
from trajlab.simulate.series import Real, along
from trajlab.simulate.software_texts import COMMANDS, SYSTEM, THOUGHT_LOGGED, Task, remark, tasks, thought
from trajlab.simulate.verl_dump import (
    Call,
    Turn,
    decoded_output,
    decoded_prompt,
    identifier,
    write_generations,
)

Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]

_KINDS = ("suite", "inline", "script", "targeted")
_FIXED = 3  # two looks and the submission


class SoftwareRun:
    """Trajectories of a software-engineering run, planted or drawn; arrays have one entry a trajectory."""

    def __init__(self, run: Description, scale: float, seed: int, *, at_random: bool) -> None:
        if run.software is None:
            raise UsageError(run.name, "no software run", "[software]")
        self.run, self.told, self.seed, self.at_random = run, run.software, seed, at_random
        self.size = prompts_per_step(run, scale) * run.config.generations
        rng = generator(run, seed, "random" if at_random else "exact")
        prompts = tasks_by_step(run, prompts_per_step(run, scale), rng)
        self.task = np.concatenate([np.repeat(step, run.config.generations) for step in prompts])
        self.step = np.repeat(np.arange(1, run.steps + 1), self.size)
        self.hollow = self._hollow(rng)
        self.correct = self._correct(rng)
        self.does: dict[str, Flags] = {kind: np.zeros(len(self.step), dtype=bool) for kind in _KINDS}
        self.edits = np.ones(len(self.step), dtype=np.int64)
        for stage in self.told.stages:
            self._stage(stage, rng)
        self.actions, self.thinks = self._calls(rng)
        self.tasks = tasks(random.Random(f"{run.name}/{seed}/tasks"), run.prompts)
        self.turns = np.zeros(len(self.step), dtype=np.int64)
        self.tokens_per_character: float | None = None
        self.advantage_mean = _drifting_mean(run, self.told, rng)

    def _rows(self, step: int) -> slice:
        return slice((step - 1) * self.size, step * self.size)

    def _hollow(self, rng: np.random.Generator) -> Flags:
        hollow = np.zeros(len(self.step), dtype=bool)
        if self.told.hollow_step is not None:
            count = round(self.size * float(self.told.hollow_pct) / 100)
            hollow[rng.permutation(np.flatnonzero(self.step == self.told.hollow_step))[:count]] = True
        return hollow

    def _correct(self, rng: np.random.Generator) -> Flags:
        """Exactly: counts follow the path by carrying what rounding leaves; the easier tasks are solved."""
        rate = along(self.told.correct, self.run.steps)
        ease = rng.random(self.run.prompts)[self.task]
        if self.at_random:
            rates = success_rates(rate[self.step - 1], float(self.run.icc), ease)
            return np.asarray((rng.random(len(rates)) < rates) & ~self.hollow)
        correct = np.zeros(len(self.step), dtype=bool)
        counts = np.diff(np.rint(np.cumsum(rate * self.size)), prepend=0).astype(int)
        weight = float(self.run.icc) ** 0.5
        for step in range(1, self.run.steps + 1):
            rows = self._rows(step)
            luck = weight * ease[rows] + (1 - weight) * rng.random(self.size) - 2.0 * self.hollow[rows]
            best = rows.start + np.argsort(-luck, kind="stable")[: counts[step - 1]]
            correct[best] = True
        return correct & ~self.hollow

    def _stage(self, stage: Stage, rng: np.random.Generator) -> None:
        inside = np.flatnonzero((self.step >= stage.steps[0]) & (self.step <= stage.steps[1]) & ~self.hollow)
        shares = {"suite": stage.suite_pct, "inline": stage.inline_pct, "script": stage.script_pct}
        for kind, share in shares.items():
            self.does[kind][self._some(inside, float(share) / 100, len(inside), rng)] = True
        # Whoever runs single tests also runs the suite, so that any test and test suite are one share.
        runs_tests = inside[self.does["suite"][inside]]
        self.does["targeted"][self._some(runs_tests, float(stage.targeted_pct) / 100, len(inside), rng)] = True
        more = max(float(stage.edits) - 1, 0.0)
        if self.at_random:
            self.edits[inside] = 1 + rng.poisson(more, len(inside))
        elif len(inside):
            self.edits[inside] = 1 + apportion(round(more * len(inside)), rng.gamma(2.0, 1.0, len(inside)))

    def _some(self, among: Whole, share: float, whole: int, rng: np.random.Generator) -> Whole:
        """Rows, so that they are a share of ``whole``: a fixed number, or each with its probability."""
        if self.at_random:
            return among[rng.random(len(among)) < min(share * whole / max(len(among), 1), 1)]
        return rng.permutation(among)[: round(share * whole)]

    def _calls(self, rng: np.random.Generator) -> tuple[Whole, Whole]:
        """Calls that act, and think calls, so that the think fraction of each step is met within half a call."""
        fraction = along(self.told.think_fraction, self.run.steps).clip(0, 0.95)
        wanted = along(self.told.calls, self.run.steps)[self.step - 1] * rng.lognormal(0, 0.18, len(self.step))
        needed = _FIXED + self.edits + sum(self.does[kind].astype(np.int64) for kind in _KINDS) + self.does["script"]
        acts = np.maximum(np.rint(wanted * (1 - fraction[self.step - 1])).astype(np.int64), needed)
        acts[self.hollow] = 0
        thinks = np.zeros_like(acts)
        odds = fraction / (1 - fraction)
        for step in range(1, self.run.steps + 1):
            rows = self._rows(step)
            if self.at_random:
                thinks[rows] = rng.poisson(odds[step - 1] * acts[rows])
            elif acts[rows].any():
                total = round(float(odds[step - 1]) * int(acts[rows].sum()))
                thinks[rows] = apportion(total, acts[rows] * rng.gamma(3.0, 1.0, self.size))
        thinks[self.hollow] = 0
        return acts, thinks

    def write(self, folder: Path, variant: str) -> Iterator[Batch]:
        """Write a dump a step and yield what the metrics need of it."""
        for step in range(1, self.run.steps + 1):
            yield self._write_step(folder, step, variant)

    def _write_step(self, folder: Path, step: int, variant: str) -> Batch:
        rng = random.Random(f"{self.run.name}/{self.seed}/{step}")
        rows = self._rows(step)
        columns: dict[str, list[Any]] = {"input": [], "output": [], "gts": [], "score": []}
        for i in range(rows.start, rows.stop):
            task = self.tasks[self.task[i]]
            turns = [] if self.hollow[i] else self._conversation(rng, task, i)
            self.turns[i] = len(turns)
            row = (decoded_prompt(SYSTEM, task.text), decoded_output(turns), f"{task.package}-{self.task[i]}")
            for values, value in zip(columns.values(), (*row, float(self.correct[i])), strict=True):
                values.append(value)
        extras: dict[str, list[Any]] = {"acc": columns["score"]}
        if variant == "v1":
            names = sorted(identifier(rng) for _ in range(self.size // self.run.config.generations))
            extras = {"uid": [f"{n}_{s}_0" for n in names for s in range(self.run.config.generations)]}
        write_generations(folder, step, columns, extras, "0.8" if variant == "legacy" else "0.9-v1")
        return self._batch(step, np.array([len(text) for text in columns["output"]], dtype=np.float64))

    def _conversation(self, rng: random.Random, task: Task, i: int) -> list[Turn]:
        turns: list[Turn] = []
        for kind in self._sequence(rng, i):
            turn = self._act(rng, task, kind)
            while turns and kind == "explore" and turn.calls == turns[-1].calls:
                turn = self._act(rng, task, kind)
            turns.append(turn)
        spam = (self.thinks[i] / max(self.thinks[i] + self.actions[i], 1) - 0.1) / 0.4
        left = int(self.thinks[i])
        while left > 0:
            hollow = rng.random() < spam
            together = min(left, rng.randint(2, 4) if hollow else 1)
            calls = [Call("think", {"thought": thought(rng, task, hollow=hollow)}) for _ in range(together)]
            turns.insert(rng.randrange(len(turns)), Turn("", calls, [THOUGHT_LOGGED] * together))
            left -= together
        return turns

    def _sequence(self, rng: random.Random, i: int) -> list[str]:
        """What the acting calls of a trajectory are, in order."""
        does = {kind for kind in _KINDS if self.does[kind][i]}
        edits = int(self.edits[i])
        before = ["explore", "explore", *(["write_script", "script"] if "script" in does else [])]
        after = ["edit"] * (edits - 1)
        checks = [kind for kind in ("inline", "targeted", "suite") if kind in does]
        spare = int(self.actions[i]) - len(before) - edits - len(checks) - 1
        again = [rng.choice(checks) for _ in range(min(spare, rng.randint(0, 2)))] if checks else []
        spare -= len(again)
        early = spare * rng.randint(3, 7) // 10
        before[1:1] = ["explore"] * early
        after += again + ["explore"] * (spare - early)
        rng.shuffle(after)
        return [*before, "edit", *after, *checks, "submit"]

    def _act(self, rng: random.Random, task: Task, kind: str) -> Turn:
        if kind == "submit":
            return Turn("The fix is in place.", [Call("submit", {})], ["Submitted."])
        command, output = COMMANDS[kind](rng, task)
        return Turn(remark(rng), [Call("bash", {"command": command})], [output])

    def _batch(self, step: int, characters: Real) -> Batch:
        rows = self._rows(step)
        if self.tokens_per_character is None and self.told.response_tokens is not None and characters.any():
            self.tokens_per_character = float(self.told.response_tokens) / float(characters.mean())
        length = np.ceil(characters * (self.tokens_per_character or 1 / 3.6))
        turns = np.maximum(2.0 * self.turns[rows], 1.0)
        return Batch(self.correct[rows].astype(np.float64), self._advantage(step), turns, length)

    def _advantage(self, step: int) -> Real:
        """Advantages as a weak critic leaves them, or whitened over the batch."""
        drawn = generator(self.run, self.seed, f"advantages/{step}").standard_normal(64)
        if self.told.whitened:
            return np.asarray((drawn - drawn.mean()) / drawn.std(ddof=1))
        mean = self.advantage_mean[step - 1]
        if step in self.told.all_negative_steps:
            return np.asarray(mean + 0.3 * abs(mean) * np.tanh(drawn - drawn.mean()))
        return np.asarray(mean + 0.3 * (drawn - drawn.mean()))

    def planted(self) -> dict[str, Any]:
        """Figures as they came out."""
        present = ~self.hollow
        stages = []
        for stage in self.told.stages:
            inside = present & (self.step >= stage.steps[0]) & (self.step <= stage.steps[1])
            stages.append(
                {
                    "steps": stage.steps,
                    "trajectories": int(inside.sum()),
                    "edits": int(self.edits[inside].sum()),
                    **{kind: int(self.does[kind][inside].sum()) for kind in _KINDS},
                }
            )
        by_step = {
            "correct": self.correct,
            "hollow": self.hollow,
            "think_calls": self.thinks,
            "calls": self.thinks + self.actions,
            "turns": self.turns,
        }
        return {
            "trajectories": len(self.step),
            "stages": stages,
            "by_step": {
                name: np.bincount(self.step - 1, values).astype(int).tolist() for name, values in by_step.items()
            },
        }


def _drifting_mean(run: Description, told: Software, rng: np.random.Generator) -> Real:
    """Batch means of raw advantages: they wander by at most the drift, and sit at its foot in all-negative steps."""
    drift = float(told.advantage_drift)
    walk = np.zeros(run.steps)
    for i, shock in enumerate(rng.standard_normal(run.steps)):
        walk[i] = 0.6 * walk[i - 1] + shock
    walk *= drift / max(float(np.abs(walk).max()), 1e-12)
    for step in told.all_negative_steps:
        walk[step - 1] = -drift
        # Three in a row are the event; their neighbours are not part of it.
    for step in told.all_negative_steps:
        for near in (step - 1, step + 1):
            if near not in told.all_negative_steps and 1 <= near <= run.steps:
                walk[near - 1] = abs(walk[near - 1])
    return np.asarray(walk)
