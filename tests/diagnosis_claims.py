"""What the run diagnosis must say of the simulated runs R1 to R5, r6 and r7: figures of the reports, and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from seed_figures import TRENDS, starts

import trajlab
from trajlab.checks.alarms import Alarm
from trajlab.checks.finding import Finding
from trajlab.checks.layers.l08_time import phase_shares
from trajlab.corpus.corpus import Corpus
from trajlab.measures.frame import Population
from trajlab.report.run_diagnosis import RunDiagnosis
from trajlab.simulate import Description, load_description, simulate
from trajlab.simulate.description import bounds

MATHS = ("R1", "R2", "R3", "R4", "R5")
SOFTWARE = ("r6", "r7")


@dataclass(frozen=True)
class Claim:
    """One thing the diagnosis must say: where it stands in the report, what, what was found."""

    section: str
    run: str
    text: str
    found: str
    ok: bool


def simulated(
    folder: Path, runs: tuple[str, ...] = (*MATHS, *SOFTWARE), scale: Mapping[str, float] | None = None, seed: int = 0
) -> Corpus:
    """Simulate runs and read them into one corpus."""
    for run in runs:
        simulate(run, folder / "simulated", scale=(scale or {}).get(run, 1.0), seed=seed)
    return trajlab.ingest(folder / "simulated", out=folder / "corpus", jobs=1)


def diagnosed(corpus: Corpus, name: str) -> RunDiagnosis:
    """One run with the epochs of its rollouts; those of its scores the metric log tells."""
    run = load_description(name)
    return RunDiagnosis(corpus, Population(run=name, epoch_boundaries=tuple(starts(run.epochs.rollout_steps))))


def finding(d: RunDiagnosis, code: str) -> Finding:
    return next(item for item in d.findings if item.code == code)


def alarm(d: RunDiagnosis, code: str) -> Alarm:
    return next(item for item in d.facts.alarms if item.finding.code == code)


def figures(d: RunDiagnosis, run: Description) -> Iterator[Claim]:
    """Sections 3 to 8 of the first report: every figure, to its last printed decimal."""
    score, outcome, told = d.facts.score, run.outcome, run.score
    assert score is not None
    assert told is not None
    for name, printed, value in (("avg_score", told.mean, score.mean.value), ("max_score", told.max, score.maximum),
                                 ("std", told.std, score.std)):  # fmt: skip
        yield from _figure("3", run, name, printed, value)
    for epoch, (printed, e) in enumerate(zip(told.epoch_mean, score.epochs, strict=False)):
        yield from _figure("3", run, f"score of epoch {epoch}", printed, e.value)
    for step, printed in told.at.items():
        yield from _figure("6", run, f"score at step {step}", printed, score.means[score.steps.index(step)])
    trend = TRENDS[run.name]
    yield Claim("3", run.name, f"trend {trend:+d}", f"{score.direction:+d}", score.direction == trend)
    yield from _shares(d, run, outcome.correct_pct, outcome.zero_pct, outcome.negative_pct)
    yield from _behaviour(d, run)
    yield from _series(d, run)


def _shares(d: RunDiagnosis, run: Description, *printed: Decimal | None) -> Iterator[Claim]:
    assert d.facts.audit is not None
    names = ("correct_rate", "reward_zero_rate", "reward_negative_rate")
    for name, figure in zip(names, printed, strict=True):
        value = d.facts.audit.measured[name].value
        yield from _figure("4", run, name, figure, None if value is None else 100 * value)
    assert d.facts.rewards is not None
    distinct = d.facts.rewards["reward"].n_unique()
    yield Claim("4", run.name, f"{run.outcome.distinct_rewards} distinct rewards", f"{distinct}",
                distinct == run.outcome.distinct_rewards)  # fmt: skip
    for epoch, figure in enumerate(run.outcome.epoch_correct_pct):
        value = d.facts.periods["correct_rate"][epoch][1].value
        yield from _figure("4", run, f"correct in epoch {epoch}", figure, None if value is None else 100 * value)


def _behaviour(d: RunDiagnosis, run: Description) -> Iterator[Claim]:
    told = run.behaviour
    assert told is not None
    assert d.facts.audit is not None
    measured = d.facts.audit.measured
    for name, figure, factor in (
        ("mean_steps", told.mean_steps, 1), ("one_step_rate", told.one_step_pct, 100),
        ("two_step_rate", told.two_step_pct, 100), ("three_plus_step_rate", told.three_plus_step_pct, 100),
        ("tool_use_rate", told.tool_use_pct, 100),
    ):  # fmt: skip
        value = measured[name].value
        yield from _figure("5", run, name, figure, None if value is None else factor * value)
    for name, printed, factor in (
        ("tool_use_rate", told.epoch_tool_use_pct, 100),
        ("mean_steps", told.epoch_mean_steps, 1),
    ):
        for epoch, figure in enumerate(printed):
            value = d.facts.periods[name][epoch][1].value
            yield from _figure("5", run, f"{name} in epoch {epoch}", figure, None if value is None else factor * value)
    table = next(one for one in d.facts.audit.quadrants if one.name == "answer_tool")
    for cell, share in table.cells.items():
        value = share.value
        yield from _figure("5", run, cell, getattr(told.quadrants, cell), None if value is None else 100 * value)


def _series(d: RunDiagnosis, run: Description) -> Iterator[Claim]:
    """Sections 6 to 8, from `result.json` as a program would read them."""
    found = {
        (m.name.removeprefix("series."), m.group): m.value for m in d.result().measures if m.name.startswith("series.")
    }
    names = {
        "actor/kl_loss": ("6", "kl.loss"),
        "actor/ppo_kl": ("6", "kl.update"),
        "actor/pg_clipfrac": ("6", "clip_fraction"),
        "actor/pg_clipfrac_lower": ("6", "clip_fraction.dual"),
        "actor/grad_norm": ("6", "actor.grad_norm"),
        "actor/entropy": ("7", "entropy"),
        "response_length/clip_ratio": ("8", "response_tokens.clip_ratio"),
        "timing_s/step": ("8", "step.seconds"),
    }
    for raw, (section, name) in names.items():
        plan = run.series.get(raw)
        if plan is None:
            continue
        kinds = {"mean": plan.mean, "highest": plan.max, "lowest": plan.min, "first": plan.first, "last": plan.last}
        for kind, printed in kinds.items():
            yield from _figure(section, run, f"{name} {kind}", printed, found[name, kind])
        for step, printed in plan.at.items():
            yield from _figure(section, run, f"{name} at step {step}", printed, d.facts.signals[name].at(step))
    entropy, plan = d.facts.signals["entropy"], run.series["actor/entropy"]
    yield from _figure("7", run, "entropy change", plan.change_pct, 100 * (entropy.last / entropy.first - 1))
    yield from _figure(
        "8", run, "generation's share of the time", run.series["gen_share"].mean, phase_shares(d.facts)["gen"]
    )
    prompt = d.facts.signals["prompt_tokens.clip_ratio"].mean
    planned = 100 * float(run.series["prompt_length/clip_ratio"].path[0][1])
    yield Claim(
        "8", run.name, f"prompts cut {planned:.3g} %", f"{100 * prompt:.3g} %", abs(100 * prompt - planned) < 1e-9
    )
    if run.total_h is None:
        return
    hours, whole = d.facts.signals["step.seconds"].values.sum() / 3600, float(run.total_h)
    yield Claim(
        "8", run.name, f"the steps take no more than the printed {whole} h", f"{hours:.2f} h", hours <= whole + 0.05
    )


def _figure(section: str, run: Description, name: str, printed: Decimal | None, value: float | None) -> Iterator[Claim]:
    if printed is None:
        return
    low, high = bounds(printed)
    ok = value is not None and low - 1e-9 <= value <= high + 1e-9
    yield Claim(section, run.name, f"{name} {printed}", "-" if value is None else f"{value:.6g}", ok)


def claims_of_all(runs: Mapping[str, RunDiagnosis]) -> Iterator[Claim]:
    """What the reports claim, or should have claimed, across runs."""
    loud = {name: {f.code for f in d.findings if f.status in ("warn", "alarm")} for name, d in runs.items()}
    maths = [name for name in MATHS if name in runs]

    def only(section: str, text: str, code: str, wanted: tuple[str, ...]) -> Claim:
        found = [name for name in maths if code in loud[name]]
        return Claim(
            section,
            ", ".join(wanted) or "none",
            text,
            ", ".join(found) or "none",
            found == [n for n in maths if n in wanted],
        )

    for name in maths:
        d = runs[name]
        status = {layer.code: layer.status for layer in d.diagnosis.layers}
        yield Claim("11", name, "coverage 13/15", f"{len(d.diagnosis.covered)}/15", len(d.diagnosis.covered) == 13)
        yield Claim("11", name, "L5 not applicable, L10 unobserved", f"{status['L5']}, {status['L10']}",
                    (status["L5"], status["L10"]) == ("not_applicable", "unobserved"))  # fmt: skip
    yield only("3", "the score swings (std over 0.15)", "D102", ("R1", "R3"))
    yield only("12", "few succeed, most fail; the report prints R4", "D104", ("R1", "R3"))
    yield only("12", "plateau: R4's last epoch, and R2's", "D103", ("R2", "R4"))
    yield only("12", "one-step warning", "B001", ("R1", "R3"))
    yield only("12", "fewer than half use a tool", "B002", ("R1", "R3"))
    yield only("12", "reward zero over 50 %; the report says all runs, R4 has 49.5", "R001", ("R1", "R2", "R3", "R5"))
    yield only("6", "the clip never acts, in any run", "D401", MATHS)
    yield only("7", "entropy down by more than 40 %, or up in R3", "D601", ("R3", "R4", "R5"))
    yield only("3", "cuts of scores and rollouts disagree", "D105", ("R3", "R4", "R5"))
    yield only("8", "prompts cut off", "D702", ("R1",))
    falling = [name for name in maths if finding(runs[name], "D101").status == "warn"]
    yield Claim("3", "R3", "the only trend downwards", ", ".join(falling), falling == [n for n in maths if n == "R3"])


def claims_of_r3(d: RunDiagnosis) -> Iterator[Claim]:
    kl, tools = alarm(d, "A010"), alarm(d, "A001")
    yield Claim("6", "R3", "KL runaway alarmed by step 28", f"{kl.status} {kl.first_step}", _by(kl, 28))
    yield Claim("5", "R3", "tool-use decline alarmed by step 32", f"{tools.status} {tools.first_step}", _by(tools, 32))
    gone, single, collapse = (finding(d, code) for code in ("D1201", "D1202", "B007"))
    yield Claim("5", "R3", "tools gone in the last epoch", gone.message, gone.status == "alarm")
    yield Claim("5", "R3", "one step per trajectory in the last epoch", single.message, single.status == "warn")
    yield Claim(
        "5",
        "R3",
        "onset E2",
        collapse.message,
        collapse.status == "alarm" and "in epoch 2, the onset" in collapse.message,
    )
    cut = finding(d, "D701")
    yield Claim("8", "R3", "output clipping is a symptom", cut.message, "a symptom, not the cause" in cut.message)
    rows = [row.signal for row in d.diagnosis.onsets]
    first = {name: rows.index(name) for name in ("kl", "tool_use_rate", "entropy", "truncation_rate")}
    yield Claim("6", "R3", "KL before tools before entropy before clipping", ", ".join(rows),
                list(first.values()) == sorted(first.values()))  # fmt: skip
    random = alarm(d, "A013")
    yield Claim(
        "7",
        "R3",
        "entropy up while tools fall: random collapse",
        f"{random.status} {random.first_step}",
        random.status == "alarm",
    )


def claims_of_r4(d: RunDiagnosis) -> Iterator[Claim]:
    collapses = ", ".join(item.code for item in d.collapses)
    yield Claim("6", "R4", "no collapse alarm", collapses or "none", not collapses)
    kl = finding(d, "D202")
    springs = [item.step for item in kl.evidence if "spring" in item.text]
    yield Claim("6", "R4", "springs at 37 and 56", f"{springs}", {37, 56} <= set(springs))
    yield Claim(
        "6", "R4", "peak 0.0786, whose step the report omits", kl.message, "highest 0.0786 at step" in kl.message
    )
    order = finding(d, "D101").evidence[0].text
    yield Claim("3", "R4", "called monotone, and is not", order, "not each above the one before" in order)


def claims_of_r6(d: RunDiagnosis) -> Iterator[Claim]:
    think = alarm(d, "A002")
    yield Claim("r6", "r6", "think alarm by step 80", f"{think.status} {think.first_step}", _by(think, 80))
    rows = {row.signal: row for row in d.diagnosis.onsets}
    points = [(p.step, p.low, p.high) for p in rows["think_fraction"].points] if "think_fraction" in rows else []
    near = any(115 <= step <= 121 for step, _, _ in points)
    yield Claim("r6", "r6", "change point of the think fraction near 115 to 121", f"{points}", near)
    both = [rows[name].step for name in ("think_fraction", "all_negative") if name in rows]
    yield Claim(
        "r6",
        "r6",
        "think rose before the negative batches at 119",
        f"{both}",
        len(both) == 2 and both[0] < both[1] == 119,
    )
    negative = finding(d, "D505")
    yield Claim(
        "r6", "r6", "negative batches at 119, 120 and 121", negative.message, "119, 120 and 121" in negative.message
    )
    starved = finding(d, "D501")
    ok = starved.status == "alarm" and "7 to 68, clip 1:" in starved.message
    yield Claim("r6", "r6", "starved critic: norms 7 to 68 under clip 1.0", starved.message, ok)


def claims_of_r7(d: RunDiagnosis) -> Iterator[Claim]:
    think = alarm(d, "A002")
    yield Claim("r7", "r7", "no think alarm", think.status, think.status == "ok")
    critic = [f.code for f in d.findings if f.layer == "L5" and f.status == "alarm"]
    yield Claim("r7", "r7", "no critic alarm on single spikes", f"{critic}", not critic)
    spikes = finding(d, "D504")
    told = next((item.text for item in spikes.evidence if item.text.startswith("233 ")), "")
    yield Claim("r7", "r7", "the 233 spike is attributed to a hollow batch", told, "a hollow batch" in told)
    rate = finding(d, "D506")
    ok = rate.status == "warn" and rate.message.count("2.5e-06") == 2 and "5e-06 (119)" in rate.message
    yield Claim("r7", "r7", "configured 2.5e-6, applied 5e-6 for 119 steps", rate.message, ok)
    variance = finding(d, "D502")
    yield Claim(
        "r7", "r7", "no hand-over without 20 steps over 0.4", variance.message, "no hand-over yet" in variance.message
    )
    yield Claim("r7", "r7", "best explained variance 0.64", variance.message, "best 0.64 " in variance.message)
    collapses = ", ".join(item.code for item in d.collapses)
    yield Claim("r7", "r7", "no collapse alarm", collapses or "none", not collapses)


def _by(found: Alarm, step: int) -> bool:
    return found.status == "alarm" and found.first_step is not None and found.first_step <= step
