"""Checks that compare one measure with a line."""

from __future__ import annotations

from typing import Literal

import msgspec

from trajlab.checks.facts import Facts
from trajlab.checks.finding import Finding, Status
from trajlab.stats import Estimate


class LineCheck(msgspec.Struct, frozen=True):
    """A measure against its line: beyond it is a warning; with the whole interval beyond it, an alarm."""

    code: str
    layer: str
    title: str
    measure: str
    threshold: str
    advice: str
    to_log: str
    bad: Literal["high", "low"] = "high"
    of_groups: bool = False
    """The measure is one of the group shares."""
    training_only: bool = False
    """Says something only about rollouts that were scored for training."""

    def run(self, facts: Facts) -> Finding:
        """What the check says."""
        estimate = self._estimate(facts)
        if self.training_only and not _scored(facts):
            return self._finding("not_applicable", f"{self.title}: no training reward is recorded", "")
        if estimate is None or estimate.value is None:
            return self._finding("unobserved", f"{self.title}: not observed", f"Log {self.to_log}.")
        seen = estimate.denominator or 0.0
        if estimate.missing > seen:
            message = f"{self.title}: recorded for {seen:g}, not for {estimate.missing:g}: too few to judge"
            return self._finding("unobserved", message, f"Log {self.to_log} for every trajectory.")
        status = self._status(estimate, facts)
        line = facts.line(self.threshold, "alarm" if status == "alarm" else "warn") or 0.0
        side = "under" if (status == "ok") == (self.bad == "high") else "over"
        shown = f"{100 * line:g} %" if estimate.method.startswith("Wilson") else f"{line:g}"
        message = f"{self.title}: {estimate}; {side} the line of {shown}"
        return self._finding(status, message, self.advice if status != "ok" else "")

    def _estimate(self, facts: Facts) -> Estimate | None:
        if self.of_groups:
            return facts.groups.shares.get(self.measure) if facts.groups is not None else None
        return facts.measured.get(self.measure)

    def _status(self, estimate: Estimate, facts: Facts) -> Status:
        warn, alarm = facts.line(self.threshold, "warn"), facts.line(self.threshold, "alarm")
        value, near = estimate.value, estimate.low if self.bad == "high" else estimate.high
        if alarm is not None and near is not None and self._beyond(near, alarm):
            return "alarm"
        return "warn" if value is not None and warn is not None and self._beyond(value, warn) else "ok"

    def _beyond(self, value: float, line: float) -> bool:
        return value > line if self.bad == "high" else value < line

    def _finding(self, status: Status, message: str, advice: str) -> Finding:
        return Finding(code=self.code, layer=self.layer, status=status, message=message, advice=advice)


def _scored(facts: Facts) -> bool:
    reward = facts.measured.get("mean_reward")
    return reward is not None and reward.value is not None


LINE_CHECKS: tuple[LineCheck, ...] = (
    LineCheck("G001", "L3", "groups without reward contrast", "zero_reward_std", "zero_variance_groups",
              "Sample harder or easier tasks, more attempts per task, or filter such groups before the update.",
              "a group or prompt id and the reward of every attempt", of_groups=True, training_only=True),
    LineCheck("T001", "L7", "cut off by a budget", "termination.truncated_budget", "truncation",
              "Raise the step, token or context budget, or keep cut trajectories out of the update.",
              "why each trajectory ended"),
    LineCheck("T002", "L12", "ended by an infrastructure error", "termination.infrastructure_error", "error_class",
              "Repair the system first; do not train on these as reward 0.", "why each trajectory ended"),
    LineCheck("T003", "L12", "ended by an environment error", "termination.environment_error", "error_class",
              "Repair the environment first; do not train on these as reward 0.", "why each trajectory ended"),
    LineCheck("T004", "L12", "ended by a verifier error", "termination.verifier_error", "error_class",
              "Repair the verifier; its verdicts are missing, not negative.", "why each trajectory ended"),
    LineCheck("R001", "L13", "reward zero", "reward_zero_rate", "zero_reward",
              "The data may be too hard for the model: warm up with SFT, ease the tasks, or take a larger model.",
              "the reward per trajectory", training_only=True),
    LineCheck("B001", "L12", "one step only", "one_step_rate", "one_step",
              "The agent stops early: look at the sampling temperature and the steps allowed.",
              "the agent's turns", training_only=True),
    LineCheck("B002", "L12", "uses a tool", "tool_use_rate", "tool_use",
              "Check that the tool is offered in the prompt and its calls are parsed.",
              "tool calls and their results", bad="low", training_only=True),
    LineCheck("B003", "L12", "think calls of all calls", "think_fraction", "think_fraction",
              "Read trajectories with long runs of think calls; a neutral habit may be growing.",
              "the tools offered, or the think tool's calls"),
    LineCheck("B004", "L12", "stuck in identical calls", "stuck_rate", "stuck",
              "Read the repeats: is the tool's answer unusable, or the policy looping?", "tool calls with arguments"),
    LineCheck("B005", "L12", "invalid calls and refused turns per step", "invalid_rate", "invalid",
              "Compare the prompt's call format with what the parser accepts.", "calls that could not be parsed"),
    LineCheck("B006", "L12", "repetitive text at the end", "text_repetition_rate", "text_repetition",
              "Read the ends of these trajectories; degenerate text often precedes a collapse.",
              "what the agent wrote (ends under 1,000 characters are not judged)"),
)  # fmt: skip
"""Checks of one measure against a line."""
