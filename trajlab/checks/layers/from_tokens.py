"""What the tokens of the rollouts tell of policy and critic, beside what the trainer logs."""

from __future__ import annotations

import math

from trajlab.checks.finding import Evidence, Finding
from trajlab.checks.layers.base import RunFacts, Says, number, percent, plural
from trajlab.measures.policy import Policy
from trajlab.measures.token_groups import Negatives, worst_prompts
from trajlab.stats import Estimate, not_observed

_SHOWN = 12
_ESTIMATOR = {
    "prompt_kl.sampler": "KL(μ‖π) on tokens of the sampler μ, trainer π: mean over a prompt's tokens of r − 1 − log r, "
    "r = π/μ; prompts count alike",
    "prompt_kl.reference": "KL(π‖π_ref) on tokens as sampled: mean over a prompt's tokens of r − 1 − log r, "
    "r = π_ref/π; prompts count alike",
}
"""Direction, sampling distribution and reduction."""


def _policy(facts: RunFacts) -> Policy | None:
    return facts.audit.policy if facts.audit is not None else None


def _told(facts: RunFacts, name: str, group: str | None = None) -> Estimate:
    policy = _policy(facts)
    return policy.estimate(name, group) if policy is not None else not_observed()


def token_negatives(facts: RunFacts) -> Negatives | None:
    """Batches by the advantages of their tokens; ``None``: not logged."""
    policy = _policy(facts)
    return None if policy is None else policy.negatives


def has_values(facts: RunFacts) -> bool:
    """Whether values and returns of tokens are logged: then there is a critic."""
    return _told(facts, "critic.bias").value is not None


def ratios(facts: RunFacts) -> Finding:
    """Importance ratios of all tokens: quantiles, extremes, effective sample size; never the mean alone."""
    says = Says("D408", "L4", "importance ratio of the tokens")
    kinds = ("p1", "median", "p99", "smallest", "largest", "mean")
    known = {kind: e.value for kind in kinds if (e := _told(facts, f"importance_ratio.{kind}")).value is not None}
    if "median" not in known:
        return says.unobserved("log-probabilities of the sampler and of the trainer for every token")
    share = _told(facts, "importance_ratio.effective_share")
    said = ", ".join(f"{kind} {number(value)}" for kind, value in known.items())
    told = said if share.value is None else f"{said}; effective sample size {percent(share.value)}"
    low, high = facts.line("importance_ratio", "low"), facts.line("importance_ratio", "high")
    few = share.value is not None and share.value < facts.line("alarm_is_ratio_ess", "level")
    if not few and low <= (known.get("mean") or 1.0) <= high:
        return says("ok", told, evidence=_by_group(facts, "importance_ratio.median"))
    return says(
        "warn",
        told,
        evidence=_by_group(facts, "importance_ratio.median"),
        advice="Most of the batch no longer counts: cap the lag, drop what is too old, compare the engines.",
    )


def lag(facts: RunFacts) -> Finding:
    """Policy lag of the rollouts, and how they fall into buckets of it."""
    says, mean = Says("D409", "L4", "policy lag of the rollouts"), _told(facts, "policy_lag.mean")
    if mean.value is None:
        return says.unobserved("the weight version at the first and the last token of every rollout")
    line = facts.line("alarm_staleness", "level")
    evidence = _by_group(facts, "policy_lag.share")
    if mean.value <= line:
        return says("ok", f"mean {mean}, line {line:g} versions", evidence=evidence)
    advice = "Look at queue wait and rollout duration; cap the lag."
    return says("warn", f"mean {mean}, over {line:g} versions", evidence=evidence, advice=advice)


def explained_variance(facts: RunFacts) -> Finding:
    """Explained variance from values and returns of the tokens, with what it divides by."""
    says, found = Says("D508", "L5", "explained variance of the tokens"), _told(facts, "critic.explained_variance")
    if found.value is None:
        return says.unobserved("values and returns of every token")
    spread = _told(facts, "critic.return_variance")
    return says(
        "ok", f"{found}; variance of the returns {spread}", evidence=_by_group(facts, "critic.explained_variance")
    )


def sampler_by_prompt(facts: RunFacts) -> Finding:
    """KL of the sampling policy to the trained one by prompt: the tail beside the mean, and the worst by name."""
    says = Says("D410", "L4", "KL of sampler and trainer by prompt")
    to_log = "log-probabilities of the sampler and of the trainer for every token"
    return _by_prompt(facts, says, "prompt_kl.sampler", facts.line("alarm_rollout_kl", "level"), to_log)


def reference_by_prompt(facts: RunFacts) -> Finding:
    """KL to the reference by prompt: the tail beside the mean, and the worst prompts by name."""
    says = Says("D203", "L2", "KL to the reference by prompt")
    to_log = "log-probabilities of the policy and of the reference model for every token"
    return _by_prompt(facts, says, "prompt_kl.reference", facts.line("alarm_kl", "level"), to_log)


def _by_prompt(facts: RunFacts, says: Says, kind: str, line: float, to_log: str) -> Finding:
    policy, average = _policy(facts), _told(facts, kind, "mean")
    if policy is None or average.value is None:
        return says.unobserved(to_log)
    tail = {name: found for name in ("p95", "p99") if (found := _told(facts, kind, name)).value is not None}
    largest = _told(facts, kind, "largest")
    parts = [f"mean {average}", *(f"{name} {found}" for name, found in tail.items())]
    parts += [] if "p95" in tail else [f"too few prompts ({largest.denominator:.0f}) for p95"]
    told = "; ".join([*parts, f"largest {number(largest.value)} (line {line:g} nat/token)"])
    high = (tail.get("p95") or largest).value or 0.0
    hidden = average.value <= line < high
    finding = says(
        "ok" if high <= line else "warn",
        f"{told}; the mean hides the tail" if hidden else told,
        advice="Read the prompts below: a template, a language or a length that the two policies do not share; a tail "
        "in a few prompts is a matter of data, one over all of them of weights or engines.",
    )
    finding.evidence = [
        Evidence(
            text=f"{one.task_id or 'a prompt without a name'}{'' if one.step is None else f', step {one.step}'}: "
            f"{number(one.kl)} nat/token over {plural(one.tokens, 'token')} of {plural(one.attempts, 'attempt')}",
            trajectory_id=one.trajectory_id,
            step=one.step,
        )
        for one in worst_prompts(policy.prompts[kind])
    ]
    finding.evidence.append(Evidence(text=_ESTIMATOR[kind]))
    return finding


def calibration(facts: RunFacts) -> Finding:
    """Values against returns by horizon, difficulty, termination, reward and policy version: bias with interval."""
    says, policy = Says("D509", "L5", "calibration of the values"), _policy(facts)
    whole = _told(facts, "critic.bias")
    if policy is None or whole.value is None:
        return says.unobserved("values and returns of every token, with the verdict, the end and the weight version")
    spread = math.sqrt(_told(facts, "critic.return_variance").value or 0.0)
    line = facts.line("value_bias") * spread
    biases = {group: policy.estimate("critic.bias", group) for group in policy.groups("critic.bias")}
    off = {group: found for group, found in biases.items() if _is_off(found, line)}
    told = f"bias {whole} over all tokens; deviation of the returns {number(spread)}"
    ordered = sorted(biases, key=lambda group: -abs(biases[group].value or 0.0))
    evidence = [(_calibrated(policy, group), None) for group in ordered[:_SHOWN]]
    if not spread:
        return says("ok", f"{told}: no line for returns that do not vary", evidence=evidence)
    if not off and not _is_off(whole, line):
        return says("ok", f"{told}; no group is off by more than {number(line)}", evidence=evidence)
    worst = max(off, key=lambda group: abs(off[group].value or 0.0), default="all tokens")
    return says(
        "warn",
        f"{told}; {plural(len(off), 'group')} off by more than {number(line)}, most {worst}",
        evidence=evidence,
        advice="Advantages of such tokens carry the offset: train the critic on them, whiten within the group, or "
        "leave the baseline out until it holds.",
    )


def _is_off(bias: Estimate, line: float) -> bool:
    """Beyond the line, and zero outside of the interval; without an interval nothing is said."""
    if bias.value is None or bias.low is None or bias.high is None:
        return False
    return abs(bias.value) > line and (bias.low > 0 or bias.high < 0)


def _calibrated(policy: Policy, group: str) -> str:
    v, g, bias = (policy.estimate(f"critic.{name}", group) for name in ("value_mean", "return_mean", "bias"))
    return f"{group}: V {number(v.value)}, G {number(g.value)}, bias {bias} tokens"


def _by_group(facts: RunFacts, name: str) -> list[tuple[str, int | None]]:
    policy = _policy(facts)
    if policy is None:
        return []
    return [(f"{group}: {policy.estimate(name, group)}", None) for group in policy.groups(name)[:_SHOWN]]
