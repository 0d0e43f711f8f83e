"""L7: truncation of responses and prompts, aborted trajectories."""

from __future__ import annotations

from trajlab.checks.finding import Finding, Status
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, first_beyond, number, percent
from trajlab.checks.layers.onset import onset_rows


def responses(facts: RunFacts) -> Finding:
    """Share of responses cut at the length limit; a cut that came after other changes is their symptom."""
    says, cut = Says("D701", "L7", "responses cut off"), facts.signal("response_tokens.clip_ratio", "truncated.ratio")
    if cut is None:
        return says.unobserved("the share of responses cut at the length limit")
    warn, alarm = facts.line("truncation"), facts.line("truncation", "alarm")
    most, at = cut.highest
    told = (
        f"mean {percent(cut.mean)}, highest {percent(most)} at step {at} (lines {percent(warn, 0)} and "
        f"{percent(alarm, 0)})"
    )
    step = first_beyond(cut, warn, high=True)
    before = _earlier(facts, step)
    if cut.mean <= warn:
        return says("ok", told, step=step, evidence=[(before, None)] if before and step is not None else [])
    status: Status = "alarm" if cut.mean > alarm and not before else "warn"
    if before:
        return says(
            status,
            f"{told}: a symptom, not the cause: {before}",
            step=step,
            advice="Do not raise the limit: read L15 for what moved first; malformed long output is cut.",
        )
    return says(status, told, step=step, advice="Raise the limit, or keep cut responses out of the update.")


def _earlier(facts: RunFacts, step: int | None) -> str:
    """What left its level before this step, in words; empty where nothing did."""
    if step is None:
        return ""
    ours = {"truncation_rate", "response_tokens"}
    moved = [row for row in onset_rows(facts) if row.bad and row.step < step and row.signal not in ours]
    said = ", ".join(f"{row.title} from step {row.step}" for row in moved[:3])
    return f"{said} came before it (step {step})" if moved else ""


def prompts(facts: RunFacts) -> Finding:
    """Share of prompts cut at the length limit."""
    says, cut = Says("D702", "L7", "prompts cut off"), facts.signal("prompt_tokens.clip_ratio")
    if cut is None:
        return says.unobserved("the share of prompts cut at the length limit")
    warn, alarm = facts.line("prompt_truncation"), facts.line("prompt_truncation", "alarm")
    told = f"mean {percent(cut.mean, 2)}, highest {percent(cut.highest[0], 2)}"
    if cut.mean <= warn:
        return says("ok", told)
    status: Status = "alarm" if cut.mean > alarm else "warn"
    return says(
        status,
        f"{told}, over {percent(warn, 0)}",
        step=first_beyond(cut, warn, high=True),
        advice="Raise the prompt limit, or leave such tasks out: the agent never saw the whole task.",
    )


def aborted(facts: RunFacts) -> Finding:
    """Share of trajectories aborted."""
    says, share = Says("D703", "L7", "aborted"), facts.signal("aborted.ratio")
    if share is None:
        return says.unobserved("the share of aborted trajectories")
    most, at = share.highest
    warn, alarm = facts.line("aborted"), facts.line("aborted", "alarm")
    told = f"mean {percent(share.mean, 2)}, highest {percent(most)} at step {at}"
    if share.mean <= warn:
        return says("ok", told, step=at if most >= facts.line("hollow_batch", "share") else None)
    status: Status = "alarm" if share.mean > alarm else "warn"
    return says(status, told, step=first_beyond(share, warn, high=True), advice="Repair the system that aborts them.")


def length(facts: RunFacts) -> Finding:
    """Length of the responses, from start to end."""
    says, tokens = (
        Says("D704", "L7", "length of the responses"),
        facts.signal("response_tokens.mean", "response_tokens"),
    )
    if tokens is None:
        return says.unobserved("the mean length of the responses")
    start, end = tokens.ends
    change = "" if tokens.change is None else f" ({tokens.change:+.0%})"
    return says("ok", f"{number(start)} to {number(end)} tokens{change}")


def panels(facts: RunFacts) -> list[Panel]:
    """Shares cut, and length."""
    named = (
        ("responses", "response_tokens.clip_ratio"),
        ("prompts", "prompt_tokens.clip_ratio"),
        ("aborted", "aborted.ratio"),
        ("trajectories", "truncated.ratio"),
    )
    shares = {word: s for word, name in named if (s := facts.signal(name)) is not None}
    found = [Panel("cut off or aborted", shares, share=True, lines={"line": facts.line("truncation")})]
    tokens = facts.signal("response_tokens.mean", "response_tokens")
    return found if tokens is None else [*found, Panel("response length (tokens)", {"mean": tokens})]


LAYER = Layer("L7", "Truncation", "Is what is learned from whole?", (responses, prompts, aborted, length), panels,
              core=frozenset({"A005", "D701", "D702", "D703", "T001"}), lead="D701")  # fmt: skip
