"""The alarms over training steps as data: which signal, which test, which line, when it counts, what to do."""

from __future__ import annotations

from typing import Literal

import msgspec

from trajlab.stats.sequential import LIMIT, SLACK, SLACK_OF_BEST

Test = Literal["cusum", "runs", "runaway", "betting"]
Reference = Literal["start", "best", "lowest", "none"]
GateName = Literal["score_not_risen", "not_saturated", "tool_use_falls", "outcome_flat"]

FALSE_ALARMS: dict[tuple[str, float | None], tuple[float, float]] = {
    ("start", None): (0.007, 0.039),
    ("start", 1.5): (0.004, 0.040),
    ("best", None): (0.013, 0.084),
    ("best", 2.5): (0.044, 0.181),
}
"""By reference and slack: share of runs of 200 steps alarmed although nothing changed, in the worst case (noise alone
sets the line), at a lag-1 autocorrelation of 0.5 and of 0.7; `false_alarm_rate` with 2,000 runs each, seed 7."""

GATES: dict[GateName, tuple[str, str, bool]] = {
    "score_not_risen": ("score", "the score has not risen with it and is not at its best", False),
    "not_saturated": ("score", "the tasks are not solved (the score is not at its best)", False),
    "tool_use_falls": ("tool_use_rate", "tool use falls below 85 % of its best", True),
    "outcome_flat": ("outcome", "the independent outcome has not gained a quarter of it", True),
}
"""Gate -> the signal it looks at, what it says, and whether the alarm is unobserved without that signal."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One alarm: a test of one signal, one-sided."""

    code: str
    layer: str
    title: str
    signal: str
    test: Test = "cusum"
    high: bool = True
    """Above the line is bad; else below it."""
    reference: Reference = "start"
    """What the line is held against: the first steps, the best so far, the lowest so far, or nothing."""
    threshold: str
    """Name of its lines in ``thresholds.toml``."""
    slack: float | None = None
    """Least distance of line and reference, in units of the noise; ``None``: as usual for the reference."""
    limit: float = LIMIT
    """Sum that raises the alarm."""
    gate: GateName | None = None
    """The alarm counts only while this holds."""
    instead: tuple[str, ...] = ()
    """Signals that serve where ``signal`` is not observed."""
    collapse: bool = True
    """A run with this alarm is collapsing; else something is wrong that leaves the policy as it was."""
    first_sign: str = ""
    """What a warning says; empty: as the title."""
    advice: str

    @property
    def least_distance(self) -> float:
        """Of the line from the reference, in units of the noise."""
        if self.slack is not None:
            return self.slack
        return SLACK_OF_BEST if self.reference in ("best", "lowest") else SLACK


RULES: tuple[Rule, ...] = (
    Rule(
        code="A001",
        layer="L12",
        title="tool use declines",
        signal="tool_use_rate",
        high=False,
        reference="best",
        threshold="alarm_tool_use",
        slack=2.5,
        advice="Stop the run and go back before the onset; read trajectories without tools, look at KL and the "
        "learning rate before that.",
    ),
    Rule(
        code="A002",
        layer="L12",
        title="think calls crowd out actions",
        signal="think_fraction",
        threshold="alarm_think",
        first_sign="think calls rise",
        advice="Read trajectories with long runs of think calls; look at the critic and at "
        "batches of negative advantages before the rise.",
    ),
    Rule(
        code="A003",
        layer="L12",
        title="invalid calls rise",
        signal="invalid_rate",
        threshold="alarm_invalid",
        first_sign="invalid calls are many",
        advice="Compare the prompt's call format with what the policy writes now.",
    ),
    Rule(
        code="A004",
        layer="L12",
        title="repetition rises",
        signal="repetition_rate",
        threshold="alarm_repetition",
        first_sign="repetition shows",
        advice="Read the ends of these trajectories; degenerate text often precedes a collapse.",
    ),
    Rule(
        code="A005",
        layer="L7",
        title="truncation rises",
        signal="truncation_rate",
        threshold="alarm_truncation",
        first_sign="truncation shows",
        advice="Often a symptom: look at what moved before it. Else raise the budget, or leave cut trajectories out "
        "of the update.",
    ),
    Rule(
        code="A006",
        layer="L12",
        title="steps per trajectory fall",
        signal="mean_steps",
        high=False,
        reference="best",
        threshold="alarm_steps",
        advice="The agent stops early: read its last turns.",
    ),
    Rule(
        code="A007",
        layer="L7",
        title="responses grow without gain",
        signal="response_tokens",
        threshold="alarm_length",
        gate="score_not_risen",
        first_sign="responses grow",
        advice="Look for a length bias of the advantage (normalisation by length, truncated answers kept).",
    ),
    Rule(
        code="A008",
        layer="L5",
        title="batches of negative advantages only, in a row",
        signal="all_negative",
        test="runs",
        reference="none",
        threshold="alarm_all_negative",
        advice="Such an update punishes everything alike, and what is neutral grows: whiten advantages or mend the "
        "critic.",
    ),
    Rule(
        code="A009",
        layer="L3",
        title="groups lose their reward contrast",
        signal="zero_std_groups",
        threshold="alarm_dead_groups",
        gate="not_saturated",
        instead=("flat_batch",),
        first_sign="many groups without reward contrast",
        advice="The policy gives one answer: look at entropy and the temperature; go back before the onset.",
    ),
    Rule(
        code="A010",
        layer="L2",
        title="KL runs away",
        signal="kl",
        test="runaway",
        reference="none",
        threshold="alarm_kl",
        gate="score_not_risen",
        first_sign="KL is over its line and not rising on",
        advice="Lower the learning rate or raise the KL coefficient; go back before the crossing.",
    ),
    Rule(
        code="A011",
        layer="L6",
        title="entropy collapses",
        signal="entropy",
        high=False,
        threshold="alarm_entropy",
        gate="score_not_risen",
        first_sign="entropy has fallen by more than 40 %",
        advice="Exploration is spent without gain: raise the entropy bonus or the temperature, clip higher.",
    ),
    Rule(
        code="A012",
        layer="L6",
        title="entropy is almost gone",
        signal="entropy",
        high=False,
        threshold="alarm_entropy_gone",
        gate="not_saturated",
        advice="The policy is nearly deterministic: nothing more will be learned from its samples.",
    ),
    Rule(
        code="A013",
        layer="L6",
        title="random collapse: entropy rises while tool use falls",
        signal="entropy",
        reference="lowest",
        threshold="alarm_random_collapse",
        gate="tool_use_falls",
        advice="The policy writes at random: stop, go back before the onset, lower the learning rate.",
    ),
    Rule(
        code="A014",
        layer="L1",
        title="score falls from its best",
        signal="score",
        high=False,
        reference="best",
        threshold="alarm_score",
        advice="Look in the onset table for what moved before the score.",
    ),
    Rule(
        code="A015",
        layer="L11",
        title="reward rises without the outcome",
        signal="score",
        threshold="alarm_reward_gap",
        gate="outcome_flat",
        collapse=False,
        advice="Read rollouts with high reward and bad outcome: the reward is won in another way than the task.",
    ),
    Rule(
        code="A016",
        layer="L5",
        title="gradient norm of the critic over its line, in a row",
        signal="critic_grad_norm",
        test="runs",
        reference="none",
        threshold="alarm_critic_grad_norm",
        collapse=False,
        advice="One spike never acts; three in a row: look at hollow batches, then at the critic's learning rate and "
        "clip.",
    ),
    Rule(
        code="A017",
        layer="L4",
        title="rollouts and trainer drift apart",
        signal="rollout_kl",
        threshold="alarm_rollout_kl",
        collapse=False,
        advice="Stale or differing policies: cap the lag, correct by importance weights, compare the engines.",
    ),
    Rule(
        code="A018",
        layer="L4",
        title="importance ratios lose their sample size",
        signal="is_ratio_ess",
        high=False,
        threshold="alarm_is_ratio_ess",
        collapse=False,
        advice="Most of the batch no longer counts: cap the lag or drop what is too old.",
    ),
    Rule(
        code="A019",
        layer="L4",
        title="the policy that samples lags behind",
        signal="staleness",
        threshold="alarm_staleness",
        collapse=False,
        advice="Look at queue wait and rollout duration; cap the lag.",
    ),
    Rule(
        code="A020",
        layer="L12",
        title="errors of the system",
        signal="error_rate",
        threshold="alarm_errors",
        collapse=False,
        instead=("hollow_rate",),
        advice="Repair the system first; do not train on these as reward 0.",
    ),
    Rule(
        code="A021",
        layer="L12",
        title="hollow batches",
        signal="hollow_rate",
        threshold="alarm_hollow",
        collapse=False,
        advice="The environments are gone: stop sampling, leave these batches out of the update.",
    ),
    Rule(
        code="A022",
        layer="L3",
        title="few groups have a reward contrast",
        signal="zero_std_groups",
        test="betting",
        reference="none",
        threshold="group_signal",
        instead=("flat_batch", "flat_loss"),
        collapse=False,
        advice="Sample harder or easier tasks, more attempts per task, or filter such groups before the update.",
    ),
    Rule(
        code="A023",
        layer="L11",
        title="reward has risen over the run without the outcome",
        signal="score",
        threshold="alarm_reward_gap",
        gate="outcome_flat",
        slack=1.5,
        limit=8.0,
        collapse=False,
        advice="Read rollouts with high reward and bad outcome: the reward is won in another way than the task.",
    ),
    Rule(
        code="A024",
        layer="L11",
        title="bad outcomes are rewarded",
        signal="hacking_rate",
        threshold="alarm_hacking",
        collapse=False,
        advice="Read rollouts with high reward and bad outcome: the reward is won in another way than the task.",
    ),
)
"""All alarms, in the order of their codes."""
FLAGS = ("flat_batch", "flat_loss", "all_negative")
"""Signals that are 0 or 1 at a step: one batch or one group."""
BY_CODE = {rule.code: rule for rule in RULES}
