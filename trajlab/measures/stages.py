"""Early against late: N trajectories from the first and the last quarter of the training steps, compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
import polars as pl

from trajlab.errors import UsageError
from trajlab.measures.catalogue import BY_NAME, Measure
from trajlab.measures.contrast import Arm, Contrast, adjust, arms, contrast
from trajlab.measures.frame import Trajectories
from trajlab.schema import RUNGS
from trajlab.stats import Estimate

PRIMARY = ("any_test_rate", "suite_run_rate", "inline_rate", "edits_per_step", "mean_steps")
"""The family declared beforehand: Holm-adjusted together. Everything else is exploratory."""
EXPLORATORY = (
    "script_rate", "static_rate", "read_rate", "edit_rate", "executions_per_step", "calls_per_step", "mean_calls",
    "project_edit_rate", "executes_before_rate", "verified_rate", "verifications_per_edit", "read_back_rate",
    "stale_rate", "submitted_unverified_rate", "submitted_failing_rate",
    *(f"ladder_{place}.{rung}" for place in ("first", "last") for rung in RUNGS),
    "agent_chars", "reasoning_chars", "completion_tokens", "correct_rate", "tool_use_rate", "think_fraction",
)  # fmt: skip
MARGIN = 0.10
"""How far verification may fall and still count as held: a share of trajectories."""

EXECUTES = Measure(
    "executes_rate",
    "executes anything (tests, quick checks, scripts)",
    "commands",
    "share",
    lambda: pl.when(pl.col("any_test").is_not_null()).then(pl.col("n_executes") > 0),
)
AGENT_CHARS = Measure(
    "agent_chars", "text of the agent", "steps", "mean", lambda: pl.col("agent_chars"), unit="characters"
)
WHOLE = (BY_NAME["any_test_rate"], BY_NAME["suite_run_rate"], BY_NAME["inline_rate"], EXECUTES)
"""Compared over all trajectories of the stages too."""
OWN = {measure.name: measure for measure in (EXECUTES, AGENT_CHARS)}
"""Measures that only the stages use."""

Verification = Literal["held", "not_shown", "fell", "not_observed"]


class Stage(msgspec.Struct, frozen=True):
    """One of the two stages."""

    name: str
    first_step: int
    last_step: int
    there: int
    """Trajectories of the stage."""
    drawn: list[str]
    """Trajectory ids drawn, in the order of the ids."""


class Stages(msgspec.Struct):
    """Two stages of a run, compared on a sample from each."""

    run: str | None
    n: int
    seed: int
    margin: float
    stages: list[Stage]
    contrasts: list[Contrast]
    """Late minus early, the primary family first."""
    executes: Contrast
    """Share that executes anything: verification as a whole."""
    whole: list[Contrast]
    """Tests, suites, quick checks and anything executed, over all trajectories of the stages instead of the drawn."""

    @property
    def verification(self) -> Verification:
        """Whether verification as a whole held: the lower end of its change lies above minus the margin.

        ``fell``: the whole interval lies below minus the margin; between the two it is ``not_shown`` either way.
        """
        return verdict(self.executes, self.margin)

    @property
    def moved(self) -> bool:
        """Fewer trajectories run tests (any or a suite) and more make quick checks, both beyond chance."""
        return moved_to_quick_checks(self.contrasts)


def verdict(executes: Contrast, margin: float) -> Verification:
    """What may be said of a change of the share that executes anything; see `Stages.verification`."""
    change: Estimate = executes.told
    if change.value is None:
        return "not_observed"
    if change.low is not None and change.low > -margin:
        return "held"
    return "fell" if change.high is not None and change.high < -margin else "not_shown"


def moved_to_quick_checks(contrasts: Sequence[Contrast]) -> bool:
    """See `Stages.moved`."""
    by_name = {item.name: item.direction for item in contrasts}
    fewer = by_name.get("any_test_rate") == -1 or by_name.get("suite_run_rate") == -1
    return fewer and by_name.get("inline_rate") == 1


def measure_of(name: str) -> Measure:
    """A measure by name, those of the catalogue and those of the stages."""
    return OWN.get(name) or BY_NAME[name]


def compare_stages(
    trajectories: Trajectories, n: int = 80, seed: int = 0, margin: float = MARGIN, *, whole: bool = True
) -> Stages:
    """Draw from the first and the last quarter of the training steps and compare.

    The draws are simple random samples without replacement, each from a generator of its own.

    Args:
        trajectories: One run.
        n: Trajectories drawn from each stage; all of a stage that has fewer.
        seed: Seed of the draws.
        margin: How far the share that executes anything may fall and still count as held.
        whole: Compare all trajectories of the stages as well as those drawn.

    Raises:
        UsageError: No training steps, fewer than two, an empty sample, or a margin outside (0, 1).
    """
    if n < 1 or not 0 < margin < 1:
        raise UsageError("stages", f"n {n}, margin {margin}", "n of at least 1, a margin between 0 and 1")
    early, late = stage_frames(trajectories)
    pair = arms([(stage.name, frame) for stage, frame in (early, late)])
    drawn = [_draw(arm, n, seed, place) for place, arm in enumerate(pair)]
    errors = trajectories.population.include_errors
    names = [*PRIMARY, *EXPLORATORY]
    contrasts = [contrast(measure_of(name), *drawn, include_errors=errors) for name in names]
    return Stages(
        run=trajectories.population.run,
        n=n,
        seed=seed,
        margin=margin,
        stages=[
            msgspec.structs.replace(stage, drawn=arm.frame["trajectory_id"].to_list())
            for (stage, _), arm in zip((early, late), drawn, strict=True)
        ],
        contrasts=adjust(contrasts, PRIMARY),
        executes=contrast(EXECUTES, *drawn, include_errors=errors),
        whole=[contrast(measure, *pair, include_errors=errors) for measure in (WHOLE if whole else ())],
    )


def stage_frames(trajectories: Trajectories) -> tuple[tuple[Stage, pl.DataFrame], tuple[Stage, pl.DataFrame]]:
    """The first and the last quarter of the training steps, each at least one step.

    Raises:
        UsageError: No training steps, or fewer than two.
    """
    frame = trajectories.frame.filter(pl.col("train_step").is_not_null())
    steps = sorted(frame["train_step"].unique().to_list())
    if len(steps) < 2:
        found = "no training step is recorded" if not steps else f"one training step only ({steps[0]})"
        raise UsageError("stages", found, "a run of at least two training steps", "Stages are parts of a training run")
    span = steps[-1] - steps[0] + 1
    quarter = max(span // 4, 1)
    bounds = (("early", steps[0], steps[0] + quarter - 1), ("late", steps[-1] - quarter + 1, steps[-1]))
    early, late = (
        (Stage(name, low, high, part.height, []), part)
        for name, low, high in bounds
        for part in (frame.filter(pl.col("train_step").is_between(low, high)),)
    )
    return early, late


def _draw(arm: Arm, n: int, seed: int, place: int) -> Arm:
    frame = arm.frame.sort("trajectory_id")
    size = min(n, frame.height)
    chosen = np.sort(np.random.default_rng([seed, place]).permutation(frame.height)[:size])
    return Arm(arm.name, frame[chosen])
