"""What the tokens of the rollouts tell of policy and critic, beside what the trainer logs."""

from __future__ import annotations

from trajlab.checks.finding import Finding
from trajlab.checks.layers.base import RunFacts, Says, number, percent
from trajlab.stats import Estimate, not_observed


def _told(facts: RunFacts, name: str) -> Estimate:
    policy = facts.audit.policy if facts.audit is not None else None
    return policy.estimate(name) if policy is not None else not_observed()


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


def _by_group(facts: RunFacts, name: str) -> list[tuple[str, int | None]]:
    policy = facts.audit.policy if facts.audit is not None else None
    groups = policy.groups(name) if policy is not None else []
    return [(f"{group}: {policy.estimate(name, group)}", None) for group in groups[:12]] if policy is not None else []
