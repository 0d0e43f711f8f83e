"""The section on policy and data: importance ratios, policy lag, the critic, and what the loss mask keeps."""

from __future__ import annotations

from collections.abc import Mapping

from trajlab.measures.calibration import CALIBRATION
from trajlab.measures.policy import CRITIC, LENGTHS, MASKS, RATIOS, STEP_VERSIONS, Policy
from trajlab.measures.token_groups import PROMPT_KL
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.tables import Column, estimate_table, not_observed
from trajlab.report.text import Html, escape, join

RATIOS_TO_LOG = "log-probabilities of the sampler and of the trainer, and the loss mask, with every sample"
LAG_TO_LOG = "weight versions with every rollout"
CRITIC_TO_LOG = "values and returns of every token trained on"
MASK_TO_LOG = "tokens and loss mask of every sample"
_IN_GROUPS = (
    "importance_ratio.p1", "importance_ratio.median", "importance_ratio.p99", "importance_ratio.mean",
    "importance_ratio.effective_share", "importance_ratio.outside_twofold",
)  # fmt: skip


def policy_and_data(audit: EpochAudit) -> Html:
    """Ratios, their groups, lag, critic and masks of the training rollouts; what is not recorded is named."""
    parts = [
        _table(audit, RATIOS, "Importance ratio", RATIOS_TO_LOG, "ρ = π / μ over tokens trained on; fresh rollouts: 1"),
        *_groups(audit),
        _prompts(audit),
        _lag(audit),
        _table(audit, CRITIC, "Critic", CRITIC_TO_LOG, "critic, over tokens trained on"),
        calibration_table(audit.policy),
        _table(audit, MASKS, "Loss mask", MASK_TO_LOG, "what the loss mask keeps"),
    ]
    return join(parts, "\n")


def _table(audit: EpochAudit, names: Mapping[str, str], what: str, how_to_log: str, caption: str) -> Html:
    rows = [{"measure": title, "value": audit.policy.estimate(name)} for name, title in names.items()]
    known = [row for row in rows if getattr(row["value"], "value", None) is not None]
    if not known:
        return not_observed(what, how_to_log)
    unseen = [title for name, title in names.items() if audit.policy.estimate(name).value is None]
    note = Html(f'<p class="more">Not observed: {escape(", ".join(unseen))}.</p>') if unseen else Html("")
    heading = "value (n tokens; not observed: trajectories)"
    columns = [Column("measure", "measure"), Column("value", heading, bar=False)]
    return join([estimate_table(known, columns, caption=caption), note])


def _groups(audit: EpochAudit) -> list[Html]:
    """Ratios by policy lag and by tokens trained on, where there is more than one group."""
    lengths = [title for *_, title in LENGTHS]
    found = audit.policy.groups("importance_ratio.median")
    tables = []
    for caption, groups in (
        ("importance ratio by policy lag", [group for group in found if group not in lengths]),
        ("importance ratio by tokens trained on in the trajectory", [group for group in found if group in lengths]),
    ):
        if len(groups) > 1:
            rows = [
                {"group": group, **{name: audit.policy.estimate(name, group) for name in _IN_GROUPS}}
                for group in groups
            ]
            heads = [Column(name, RATIOS[name].removeprefix("importance ratio, "), bar=False) for name in _IN_GROUPS]
            tables.append(estimate_table(rows, [Column("group", "group"), *heads], caption=caption))
    return tables


def _prompts(audit: EpochAudit) -> Html:
    """KL by prompt: the tail beside the mean."""
    rows = [
        {"measure": title, **{group: audit.policy.estimate(name, group) for group in audit.policy.groups(name)}}
        for name, title in PROMPT_KL.items()
        if audit.policy.groups(name)
    ]
    heads = [Column(name, name, bar=False) for name in ("mean", "p95", "p99", "largest")]
    caption = "KL by prompt, nat/token (n prompts; p95 from 20 prompts on, p99 from 100)"
    return estimate_table(rows, [Column("measure", "measure"), *heads], caption=caption) if rows else Html("")


def calibration_table(policy: Policy | None) -> Html:
    """Values against returns in every group; nothing where they are not recorded."""
    groups = policy.groups("critic.bias") if policy is not None else []
    if policy is None or not groups:
        return Html("")
    rows = [
        {"group": group, **{name: policy.estimate(name, group) for name in CALIBRATION}} for group in groups
    ]  # fmt: skip
    heads = [Column(name, title, bar=False) for name, title in CALIBRATION.items()]
    caption = "calibration of the critic: V against G over tokens trained on, intervals by drawing tasks"
    return estimate_table(rows, [Column("group", "group"), *heads], caption=caption)


def _lag(audit: EpochAudit) -> Html:
    groups = audit.policy.groups("policy_lag.share")
    if not groups:
        return not_observed("Policy lag", LAG_TO_LOG)
    rows = [{"lag": group, "trajectories": audit.policy.estimate("policy_lag.share", group)} for group in groups]
    formats = set(audit.policy.frame["format"])
    least, counted = "", "training step minus the version at the first token"
    if not formats <= STEP_VERSIONS:
        least, counted = "at least ", "newest version that acted in the same step minus the version at the first token"
    said = f"Mean policy lag {least}{audit.policy.estimate('policy_lag.mean')}: {counted}"
    note = Html(f'<p class="more">{escape(said)}.</p>')
    return join([estimate_table(rows, [Column("lag", "policy lag"), Column("trajectories", "trajectories")],
                                caption="policy lag"), note])  # fmt: skip
