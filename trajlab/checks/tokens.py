"""Findings on the data that reach the loss: masks, array lengths, weight versions, the order of the data, fresh ratios.

They speak of training runs; where the logs hold none of it, they say what to log.
"""

from __future__ import annotations

import polars as pl

from trajlab.checks.facts import Facts
from trajlab.checks.finding import Evidence, Finding, Status
from trajlab.measures.policy import MASKS
from trajlab.stats import Estimate, proportion

LAYER = "L13"
CODES = {
    "D001": "loss mask excludes prompt, observations and padding",
    "D002": "token arrays of a trajectory have one length",
    "D003": "every trajectory has its policy version, none younger than its step",
    "D004": "policy version, epoch and data cursor go on from step to step",
    "D005": "fresh rollouts have an importance ratio of 1",
    "D006": "something is trained on in every trajectory",
}
LINES = {
    "D001": "masked_in", "D002": "token_lengths", "D003": "version_missing", "D004": "sample_repeated",
    "D005": "fresh_ratio", "D006": "nothing_trained",
}  # fmt: skip
LOOKS_AT = {
    "D001": "`trained.prompt`, `trained.observation`, `trained.padding`",
    "D002": "problems `token_lengths`",
    "D003": "trajectories without version; any younger one is an alarm",
    "D004": "samples in two steps; a fall or a gap is a warning",
    "D005": "`importance_ratio.median`, distance from 1",
    "D006": "trajectories without a token trained on",
}
_TO_LOG = {
    "D001": "the loss mask with the tokens, and the length of the prompt or the log-probabilities of the sampler.",
    "D002": "tokens, loss mask and log-probabilities of every sample.",
    "D003": "the weight version at the first and the last generated token of every rollout.",
    "D004": "weight versions, the epoch or the sampler's running index with every rollout.",
    "D005": "log-probabilities of the sampler and of the trainer, and weight versions.",
    "D006": "the loss mask of every sample.",
}
_ADVICE = {
    "D001": "Mend the mask before training on: the policy learns to write prompts and tool results.",
    "D002": "Token ids, mask and log-probabilities are not those of one sequence; see the table of problems.",
    "D003": "Off-policy correction and staleness limits are blind without versions; AReaL to 1.0.4 writes -1 for the "
            "first of them.",
    "D004": "Look at what the resume restored: weights, optimizer, data loader and sampler must come from one step.",
    "D005": "Compare token ids, template, mask and temperature of sampler and trainer: on a fresh rollout only "
            "rounding may differ.",
    "D006": "An empty mask gives no gradient, or a division by zero; drop such samples before the update.",
}  # fmt: skip
_SHOWN = 5


def token_findings(facts: Facts) -> list[Finding]:
    """All findings on tokens and data order."""
    if facts.policy is None or not _is_training(facts):
        return [_finding(code, "not_applicable", "no training run") for code in CODES]
    return [_masks(facts), _lengths(facts), _versions(facts), _order(facts), _fresh(facts), _nothing(facts)]


def _is_training(facts: Facts) -> bool:
    frame = facts.trajectories.frame
    return any(frame[name].count() for name in ("train_step", "policy_version_first", "policy_version_last")) or bool(
        facts.policy is not None and facts.policy.frame["tokens"].count()
    )


def _finding(code: str, status: Status, message: str) -> Finding:
    advice = {"warn": _ADVICE[code], "alarm": _ADVICE[code], "unobserved": f"Log {_TO_LOG[code]}"}.get(status, "")
    return Finding(code=code, layer=LAYER, status=status, message=f"{CODES[code]}: {message}", advice=advice)


def _against_line(facts: Facts, code: str, estimate: Estimate) -> Status:
    """Beyond the line is a warning; with the whole interval (or, where there is none, the value) beyond, an alarm."""
    warn, alarm = facts.line(LINES[code], "warn"), facts.line(LINES[code], "alarm")
    value = estimate.value
    near = value if estimate.low is None else estimate.low
    if alarm is not None and near is not None and near > alarm:
        return "alarm"
    return "warn" if value is not None and warn is not None and value > warn else "ok"


def _worst(statuses: list[Status]) -> Status:
    order: tuple[Status, ...] = ("alarm", "warn", "ok")
    return next((status for status in order if status in statuses), "unobserved")


def _masks(facts: Facts) -> Finding:
    assert facts.policy is not None
    parts = {name: facts.policy.estimate(name) for name in MASKS if name != "trained.share"}
    known = {name: found for name, found in parts.items() if found.value is not None}
    if not known:
        return _finding("D001", "unobserved", "not observed")
    said = "; ".join(
        f"{name.removeprefix('trained.')} {found.numerator:,.0f} of {found.denominator:,.0f} tokens trained on"
        for name, found in known.items()
    )
    unseen = [name.removeprefix("trained.") for name in parts if name not in known]
    said += f"; not observed: {', '.join(unseen)}" if unseen else ""
    finding = _finding("D001", _worst([_against_line(facts, "D001", found) for found in known.values()]), said)
    wrong = pl.sum_horizontal("trained_prompt", "trained_observation", "trained_padding")
    finding.evidence = _evidence(facts, wrong > 0, "trained on tokens that the agent did not write")
    return finding


def _evidence(facts: Facts, condition: pl.Expr, text: str) -> list[Evidence]:
    assert facts.policy is not None
    rows = facts.policy.frame.filter(condition).sort("trajectory_id").head(_SHOWN)
    return [
        Evidence(text=text, trajectory_id=row["trajectory_id"], step=row["train_step"], source=row["source"])
        for row in rows.iter_rows(named=True)
    ]


def _lengths(facts: Facts) -> Finding:
    assert facts.policy is not None
    of_arrays = int(facts.policy.frame["tokens"].count())
    wrong = facts.reading.problems.get("token_lengths", 0)
    if not of_arrays and not wrong:
        return _finding("D002", "unobserved", "not observed")
    share = Estimate(wrong / max(of_arrays, wrong), None, None, float(wrong), float(max(of_arrays, wrong)), "count")
    message = f"{wrong:,} mismatches in {of_arrays:,} trajectories with token arrays"
    return _finding("D002", _against_line(facts, "D002", share), message)


def _versions(facts: Facts) -> Finding:
    assert facts.policy is not None
    frame = facts.policy.frame
    either = pl.col("policy_version_first").is_not_null() | pl.col("policy_version_last").is_not_null()
    if not frame.select(either.any()).item():
        return _finding("D003", "unobserved", "not observed")
    both = pl.col("policy_version_first").is_not_null() & pl.col("policy_version_last").is_not_null()
    incomplete = ~both | (pl.col("unversioned") > 0).fill_null(value=False)
    missing = proportion(frame.select(incomplete.cast(pl.Float64)).to_series().to_numpy(), frame["cluster"].to_numpy())
    younger = pl.col("lag") < 0
    ahead = frame.filter(younger).height
    known = int(frame["lag"].count())
    said = f"version missing at the first or last token in {missing}; younger than the step: {ahead:,} of {known:,}"
    status: Status = "alarm" if ahead else _against_line(facts, "D003", missing)
    finding = _finding("D003", status, said)
    finding.evidence = _evidence(facts, younger, "sampled by a policy younger than its training step")
    finding.evidence = finding.evidence or _evidence(facts, incomplete, "weight version missing")
    return finding


def _order(facts: Facts) -> Finding:
    found = facts.continuity
    if found is None or not found.told:
        return _finding("D004", "unobserved", "not observed")
    if found.steps < 2:
        return _finding("D004", "not_applicable", "one training step only")
    resumed = f"steps run again: {len(found.rerun):,}" if found.rerun else "no step was run again"
    looked = f"{', '.join(found.told)} over {found.steps:,} steps; {resumed}"
    if not found.breaks:
        return _finding("D004", "ok", looked)
    said = "; ".join(one.text for one in found.breaks[:_SHOWN])
    more = f"; {len(found.breaks) - _SHOWN} more" if len(found.breaks) > _SHOWN else ""
    share = found.repeated / found.samples if found.samples else 0.0
    alarm = facts.line(LINES["D004"], "alarm")
    finding = _finding("D004", "alarm" if alarm is not None and share > alarm else "warn", f"{said}{more} ({looked})")
    finding.step = found.breaks[0].step
    finding.evidence = [Evidence(text=one.text, step=one.step) for one in found.breaks[:_SHOWN]]
    return finding


def _fresh(facts: Facts) -> Finding:
    assert facts.policy is not None
    group = "lag 0" if facts.policy.groups("policy_lag.share") else None
    median = facts.policy.estimate("importance_ratio.median", group)
    outside = facts.policy.estimate("importance_ratio.outside_twofold", group)
    if median.value is None:
        return _finding("D005", "unobserved", "not observed")
    which = "at lag 0" if group else "lag not recorded, all rollouts"
    said = f"median {median}; outside 1/2 to 2: {outside} ({which})"
    apart = abs(median.value - 1)
    ends = [abs(end - 1) for end in (median.low, median.high) if end is not None]
    inside = median.low is not None and median.high is not None and median.low <= 1 <= median.high
    near = 0.0 if inside else min(ends, default=apart)
    status = _against_line(facts, "D005", Estimate(apart, near, None, None, None, "distance from 1"))
    if group is None and status == "alarm":
        status = "warn"
    return _finding("D005", status, said)


def _nothing(facts: Facts) -> Finding:
    assert facts.policy is not None
    frame = facts.policy.frame
    empty = pl.col("trained_tokens") == 0
    flags = frame.select(empty.cast(pl.Float64)).to_series().fill_null(float("nan")).to_numpy()
    share = proportion(flags, frame["cluster"].to_numpy())
    if share.value is None:
        return _finding("D006", "unobserved", "not observed")
    finding = _finding("D006", _against_line(facts, "D006", share), f"nothing trained on in {share}")
    finding.evidence = _evidence(facts, empty, "no token is trained on")
    return finding
