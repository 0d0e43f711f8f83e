"""L3: differences within groups: is there anything to learn from?"""

from __future__ import annotations

import numpy as np

from trajlab.checks.finding import Finding, Status
from trajlab.checks.layers.base import Layer, Panel, RunFacts, Says, number, percent, plural

_GROUP = "a group or prompt id and the reward of every attempt"


def without_groups(facts: RunFacts) -> str | None:
    """Why there are no groups; ``None`` where there may be."""
    generations = next((facts.settings.settings[n] for n in _ATTEMPTS if n in facts.settings.settings), None)
    if generations == "1":
        return "one attempt a prompt is configured: there are no groups"
    groups = facts.audit.groups if facts.audit is not None else None
    if groups is not None and groups.n == 0 and facts.signal("groups.zero_std") is None:
        return "every group has one attempt: there are no groups"
    return None


_ATTEMPTS = ("actor_rollout_ref.rollout.n", "num_generations", "n_samples_per_prompt", "group_size")


def zero_variance(facts: RunFacts) -> Finding:
    """Share of groups whose attempts all have the same reward."""
    says = Says("D301", "L3", "groups without reward contrast")
    if (why := without_groups(facts)) is not None:
        return says.not_applicable(why)
    found, logged = facts.groups, facts.signal("groups.zero_std")
    if found is None and logged is None:
        return says.unobserved(_GROUP)
    share = found.flat / found.groups if found is not None else logged.mean if logged is not None else 0.0
    told = percent(share) + (f" of {plural(found.groups, 'group')}" if found is not None else " on average, as logged")
    evidence: list[tuple[str, int | None]] = []
    if logged is not None:
        evidence.append(
            (
                f"logged: {percent(logged.first)} at step {logged.steps[0]}, {percent(logged.last)} at step "
                f"{logged.steps[-1]}",
                None,
            )
        )
    watch, wasteful = facts.line("zero_variance_groups"), facts.line("zero_variance_groups", "wasteful")
    starved = facts.line("zero_variance_groups", "alarm")
    word = (
        "starved" if share > starved else "wasteful" if share > wasteful else "to be watched" if share > watch else ""
    )
    status: Status = "alarm" if share > starved else "warn" if share > watch else "ok"
    return says(
        status,
        f"{told}{f': {word}' if word else ''} (lines {watch:g}, {wasteful:g}, {starved:g})",
        evidence=evidence,
        advice="Sample harder or easier tasks, more attempts per task, or filter such groups before the update.",
    )


def advantage_range(facts: RunFacts) -> Finding:
    """Range of the advantages in a batch."""
    says = Says("D302", "L3", "range of the advantages")
    high, low = facts.signal("advantages.max"), facts.signal("advantages.min")
    if high is None or low is None:
        return says.unobserved("the highest and the lowest advantage of each batch")
    steps, one, other = np.intersect1d(high.steps, low.steps, return_indices=True)
    if not len(steps):
        return says.unobserved("both ends of the advantages at the same steps")
    ranges = high.values[one] - low.values[other]
    line = facts.line("advantage_range")
    few = steps[ranges < line]
    told = (
        f"{number(float(ranges.min()))} to {number(float(ranges.max()))} over {plural(len(steps), 'step')}, "
        f"median {number(float(np.median(ranges)))}"
    )
    if float(np.median(ranges)) >= line:
        return says("ok", told)
    return says(
        "warn", f"{told}, line {line:g}", step=int(few[0]), advice="There is hardly any contrast to learn from."
    )


def waste(facts: RunFacts) -> Finding:
    """What is generated in groups without signal, length against advantage, and the weight of the prompts."""
    says, found = Says("D303", "L3", "what the groups give"), facts.groups
    if (why := without_groups(facts)) is not None:
        return says.not_applicable(why)
    if found is None:
        return says.unobserved(_GROUP)
    unit = "tokens" if found.length == "completion_tokens" else "characters written"
    parts = [
        f"{percent(found.spent.value)} of the {unit} in groups without signal"
        if found.spent.value is not None
        else "lengths not observed"
    ]
    if found.length_advantage is not None:
        parts.append(
            f"length goes with advantage at ρ = {found.length_advantage:+.2f} (Spearman, within groups, n "
            f"{found.attempts:,})"
        )
    if found.prompts_that_count is not None:
        parts.append(
            f"the weight of the update is that of {percent(found.prompts_that_count, 0)} of the groups (effective "
            f"number); the heaviest tenth has {percent(found.top_share, 0)}"
        )
    unseen = "tokens of resampled groups, and the difficulty before filtering, are in no rollout log"
    return says("ok", "; ".join(parts), evidence=[(unseen, None)])


def composition(facts: RunFacts) -> Finding:
    """All correct, all wrong, mixed."""
    says = Says("D304", "L3", "groups by outcome")
    if (why := without_groups(facts)) is not None:
        return says.not_applicable(why)
    groups = facts.audit.groups if facts.audit is not None else None
    shares = {} if groups is None else {name: groups.shares[name] for name in ("all_correct", "mixed", "all_wrong")}
    if groups is None or all(share.value is None for share in shares.values()):
        return says.unobserved("a group id and a verdict for every attempt")
    sizes = ", ".join(f"{count:,} of {size}" for size, count in groups.sizes.items())
    return says(
        "ok",
        "; ".join(f"{name.replace('_', ' ')} {share}" for name, share in shares.items()),
        evidence=[(f"group sizes: {sizes}", None)],
    )


def panels(facts: RunFacts) -> list[Panel]:
    """Share of groups without contrast; ends of the advantages."""
    found = []
    share = facts.signal("zero_std_groups", "groups.zero_std")
    if share is not None and without_groups(facts) is None:
        found.append(
            Panel(
                "groups without reward contrast",
                {"share": share},
                share=True,
                lines={
                    "watch": facts.line("zero_variance_groups"),
                    "starved": facts.line("zero_variance_groups", "alarm"),
                },
            )
        )
    ends = {
        word: s
        for word, name in (("highest", "advantages.max"), ("lowest", "advantages.min"))
        if (s := facts.signal(name)) is not None
    }
    return [*found, Panel("advantages", ends)]


LAYER = Layer(
    "L3",
    "Differences within groups",
    "Is there any contrast to learn from?",
    (zero_variance, advantage_range, waste, composition),
    panels,
    core=frozenset({"A009", "A022", "D301", "D302", "G001"}),
)
