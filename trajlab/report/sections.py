"""Sections of the epoch audit as HTML: they show what was measured and compute nothing."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
import polars as pl

from trajlab.behavior.termination import CLASSES
from trajlab.checks import ORDER
from trajlab.checks.collapse import CODE as COLLAPSE
from trajlab.corpus.of_run import rows_of_run
from trajlab.measures.catalogue import BY_NAME, HOW_TO_LOG, MEASURES
from trajlab.measures.compute import Measured
from trajlab.measures.groups import TOO_EASY, TOO_HARD
from trajlab.measures.quadrants import Quadrants
from trajlab.measures.reconciled import reconciled
from trajlab.report.course_page import told_first
from trajlab.report.coverage_section import understood
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.plots import bars
from trajlab.report.provenance_facts import UNOBSERVED, left_out, trained_on
from trajlab.report.tables import (
    Column,
    badge,
    callout,
    details,
    estimate_table,
    facts,
    not_observed,
    number,
    plain_table,
)
from trajlab.report.text import Html, escape, join
from trajlab.schema import LABELS, label_column
from trajlab.stats import Estimate

_GATE_COLOURS = {"passed": "ok", "failed": "alarm", "inconclusive": "unobserved"}
_HEADLINES = (
    "correct_rate", "mean_reward", "mean_steps", "tool_use_rate", "invalid_rate", "any_test_rate", "suite_run_rate",
    "inline_rate", "think_fraction", "stuck_rate",
)  # fmt: skip
_COMPARED = (
    "mean_steps", "calls_per_step", "invalid_rate", "any_test_rate", "suite_run_rate", "inline_rate", "script_rate",
    "executions_per_step", "edits_per_step", "stuck_rate",
)  # fmt: skip
VERDICTS = {"correct=true": "correct", "correct=false": "not correct"}


def conclusion(audit: EpochAudit) -> Html:
    """The answer: verdict in a sentence, what is wrong, the headline numbers."""
    frame = audit.frame
    tasks = frame["task_id"].n_unique() - int(frame["task_id"].null_count() > 0)
    correct = audit.estimate("correct_rate")
    told = "correctness is not observed" if correct.value is None else f"{correct} correct"
    trajectories = f"{frame.height:,} {'trajectory' if frame.height == 1 else 'trajectories'}"
    what = f"{trajectories} of {tasks:,} {'task' if tasks == 1 else 'tasks'}: {told}."
    worst = [f for f in audit.findings if f.status in ("alarm", "warn") and f.code != COLLAPSE]  # told before them
    failed = [gate for gate in audit.gates if gate.status in ("failed", "inconclusive")]
    parts = [callout("alarm", f"Gate {gate.name}: {gate.message}") for gate in failed]
    parts += [callout(f.status, f"{f.code} {f.message}", f.advice) for f in worst]
    if not parts:
        checked = sum(f.status == "ok" for f in audit.findings)
        unseen = sum(f.status == "unobserved" for f in audit.findings)
        parts = [callout("ok", f"Nothing stands out: {checked} checks within their lines, {unseen} not observed.")]
    known = [name for name in _HEADLINES if audit.estimate(name).value is not None]
    lead = Html(f'<p class="lead">{escape(what)}</p>')
    return join([lead, told_first(audit), *parts, _values(audit, known, "")], "\n")


def _values(audit: EpochAudit, names: list[str], caption: str) -> Html:
    rows = [{"measure": BY_NAME[name].label, "value": audit.estimate(name)} for name in names]
    shares = any(BY_NAME[name].kind == "share" or BY_NAME[name].bounded for name in names)
    return estimate_table(rows, [Column("measure", "measure"), Column("value", "value", bar=shares)], caption=caption)


def measures_of(audit: EpochAudit, section: str, what: str, without: Collection[str] = ()) -> Html:
    """All measures of a section that are observed; those that are not, named."""
    names = [measure.name for measure in MEASURES if measure.section == section and measure.name not in without]
    known = [name for name in names if audit.estimate(name).value is not None]
    if not known:
        return not_observed(what, HOW_TO_LOG[section])
    unseen = [BY_NAME[name].title for name in names if name not in known]
    note = Html(f'<p class="more">Not observed: {escape(", ".join(unseen))}.</p>') if unseen else Html("")
    return join([_values(audit, known, ""), note])


def provenance(audit: EpochAudit) -> Html:
    """What was read, how much of it, and what was not."""
    reading, t = audit.reading, audit.trajectories
    shown = facts(
        {
            "files read": ", ".join(f"{count:,} {name}" for name, count in reading.files.items()) or "none",
            "size": f"{reading.bytes / 1e6:,.1f} MB",
            "reconciled": f"{reading.reconciled:,} of {reading.reconcilable:,} totals that logs and companions state",
            "set aside": f"{t.set_aside:,} (superseded by a re-run, or copies)",
            "without a period": f"{t.unplaced:,}",
            **left_out(audit),
            "behaviour rules": audit.corpus.rules,
        }
    )
    problems = [{"problem": code, "rows": count} for code, count in sorted(reading.problems.items())]
    table = plain_table(problems, caption="problems, by kind") if problems else callout("ok", "No problem rows.")
    gates = [
        {
            "gate": gate.name,
            "verdict": badge(_GATE_COLOURS.get(gate.status, gate.status), gate.status.replace("_", " ")),
            "what was found": gate.message,
        }
        for gate in audit.gates
    ]  # fmt: skip
    said = [shown, plain_table(gates, caption="gates"), *understood(reading), table]
    return join([*said, _reconciled(audit), _first_problems(audit), _observed(audit)], "\n")


def _reconciled(audit: EpochAudit) -> Html:
    both = reconciled(audit.corpus, audit.trajectories.population.run)
    rows = [
        {
            "figure": row["name"],
            "steps that agree": f"{row['agree']:,} of {row['steps']:,}",
            "largest difference": f"step {row['step']:,}: {row['logged']:.6g} logged, {row['found']:.6g} found",
        }
        for row in both.iter_rows(named=True)
    ]
    return plain_table(rows, caption="the trainer's own figures against the rollouts'") if rows else Html("")


def _first_problems(audit: EpochAudit) -> Html:
    run = audit.trajectories.population.run
    problems = audit.corpus.problems
    rows = problems.collect() if run is None else rows_of_run(audit.corpus, problems, run)
    first = rows.select("source", "line", "code", "message").head(50)
    if first.is_empty():
        return Html("")
    return details("the first problems", plain_table(first.to_dicts(), limit=50))


def _observed(audit: EpochAudit) -> Html:
    total = audit.frame.height
    counts = audit.result().coverage.observed
    rows = [{"recorded": name, "trajectories": f"{n:,} of {total:,}"} for name, n in counts.items()]
    return details("what the logs record", plain_table(rows))


def funnel(audit: EpochAudit) -> Html:
    """From records to verdicts, as far as the logs show it; and what it cost."""
    frame, reading, t = audit.frame, audit.reading, audit.trajectories
    ended = frame["termination"].is_not_null()
    own = frame["termination"].is_in(["success", "task_failure", "unknown"]).fill_null(value=False)
    stages: list[tuple[str, int | None, str]] = [
        ("records seen", reading.trajectories + reading.lost, f"{reading.lost} not read"),
        ("trajectories read", reading.trajectories, f"{t.set_aside} set aside, see provenance"),
        ("in this audit", frame.height, ""),
        ("end recorded", int(ended.sum()) or None, f"{frame.height - int(ended.sum())} not recorded"),
        (
            "ended by themselves",
            int(own.sum()) if ended.any() else None,
            "not cut off, stopped or failed by the system",
        ),
        ("reward available", frame["reward"].count() or None, ""),
        ("verdict available", frame["correct"].count() or None, ""),
    ]
    rows = [{"stage": stage, "trajectories": n, "note": note} for stage, n, note in stages]
    rows += [
        {"stage": stage, "trajectories": n, "note": note}
        for stage, n, note in (
            ("accepted by freshness and ratio gates", None, UNOBSERVED),
            ("effective action tokens", *trained_on(audit)),
            ("optimizer updates", None, UNOBSERVED),
        )
    ]
    sums = {
        name.replace("_", " "): f"{number(float(frame[name].sum()))} {unit}, recorded for {frame[name].count():,}"
        for name, unit in (
            ("prompt_tokens", "tokens"),
            ("completion_tokens", "tokens"),
            ("cost", "USD"),
            ("seconds", "s"),
        )
        if frame[name].count()
    }
    budgets = facts(sums) if sums else not_observed("Budgets", HOW_TO_LOG["budget"])
    return join([plain_table(rows, caption="funnel; – is unobserved"), budgets, _means(audit)], "\n")


def _means(audit: EpochAudit) -> Html:
    names = [m.name for m in MEASURES if m.section == "budget" and audit.estimate(m.name).value is not None]
    return _values(audit, names, "per trajectory") if names else Html("")


def termination(audit: EpochAudit) -> Html:
    """How trajectories ended: classes with intervals, and the logs' own words."""
    if audit.frame["termination"].is_null().all():
        return not_observed("Termination", HOW_TO_LOG["termination"])
    names = [f"termination.{name}" for name in CLASSES if (audit.estimate(f"termination.{name}").numerator or 0) > 0]
    figure = bars(
        [BY_NAME[name].title for name in names],
        [audit.estimate(name) for name in names],
        title="how trajectories ended",
    )
    if audit.frame["termination"].null_count() > audit.frame["termination"].count():
        figure = callout(
            "unobserved",
            f"The end is recorded for {audit.frame['termination'].count():,} of {audit.frame.height:,} trajectories: "
            "counts below, no shares.",
        )
    words = audit.frame.group_by("stop_reason", "termination").len().sort("len", "stop_reason", descending=True)
    raw = [
        {"the log's word": row["stop_reason"], "class": row["termination"], "trajectories": row["len"]}
        for row in words.iter_rows(named=True)
    ]
    return join([figure, details("the logs' own words", plain_table(raw, limit=40))], "\n")


def by_section(audit: EpochAudit, section: str, what: str) -> Html:
    """A section that is its measures: steps, think, repetition."""
    return measures_of(audit, section, what)


def tools(audit: EpochAudit) -> Html:
    """Tool use, and the tools called."""
    shown = measures_of(audit, "tools", "Tools")
    ids = audit.frame.lazy().select("trajectory_id")
    calls = (
        audit.corpus.tool_calls.filter(pl.col("requestor") == "agent")
        .join(ids, on="trajectory_id", how="semi")
        .group_by("tool")
        .agg(
            pl.len().alias("calls"),
            pl.col("executed").sum().alias("executed"),
            pl.col("invalid").is_not_null().sum().alias("invalid"),
            pl.col("exit_code").is_not_null().sum().alias("with exit code"),
            pl.when(pl.col("exit_code").count() > 0).then((pl.col("exit_code") != 0).sum()).alias("exit code not 0"),
            pl.col("trajectory_id").n_unique().alias("trajectories"),
        )
        .sort("calls", "tool", descending=[True, False])
        .collect()
    )
    if calls.is_empty():
        return shown
    return join([shown, plain_table(calls.to_dicts(), caption="tools called", limit=30)], "\n")


def commands(audit: EpochAudit) -> Html:
    """What commands did, the scopes of tests, and both by verdict."""
    labels = [f"{label_column(label)}_rate" for label in LABELS]
    shown = measures_of(audit, "commands", "Commands", without=labels)
    if audit.estimate("any_test_rate").value is None:
        return shown
    figure = bars(
        [BY_NAME[name].title for name in labels],
        [audit.estimate(name) for name in labels],
        title="share of trajectories in which any command …",
    )
    programs = (
        audit.corpus.commands.join(audit.frame.lazy().select("trajectory_id"), on="trajectory_id", how="semi")
        .group_by("program")
        .agg(pl.len().alias("commands"), pl.col("trajectory_id").n_unique().alias("trajectories"))
        .sort("commands", "program", descending=[True, False])
        .head(20)
        .collect()
    )
    most = details("programs run most", plain_table(programs.to_dicts()))
    return join([figure, shown, most, _by_verdict(audit)], "\n")


def _by_verdict(audit: EpochAudit) -> Html:
    compared = audit.by_verdict(list(_COMPARED))
    groups = list(dict.fromkeys(item.group for item in compared))
    if len(groups) < 2:
        return Html("")
    columns = [Column("measure", "measure"), *(Column(str(g), VERDICTS.get(str(g), str(g))) for g in groups)]
    rows = [
        {"measure": BY_NAME[name].title, **{str(item.group): item.estimate for item in compared if item.name == name}}
        for name in _COMPARED
    ]
    return estimate_table(rows, columns, caption="by verdict: what goes together, not what causes what")


def rewards(audit: EpochAudit) -> Html:
    """Reward shares, spread, and components."""
    shown = measures_of(audit, "reward", "Reward")
    reward = audit.frame["reward"].drop_nulls()
    if reward.is_empty():
        return shown
    values = reward.to_numpy()
    spread = facts(
        {
            "distinct values": f"{reward.n_unique():,} in {len(reward):,} rewards",
            "maximum": f"{values.max():.4g}",
            "minimum": f"{values.min():.4g}",
            "standard deviation": f"{values.std(ddof=1):.4g}" if len(values) > 1 else "not defined for one reward",
        }
    )
    parts = (
        audit.corpus.rewards.join(audit.frame.lazy().select("trajectory_id"), on="trajectory_id", how="semi")
        .group_by("name")
        .agg(
            pl.col("value").count().alias("recorded"),
            pl.col("value").mean().alias("mean"),
            (pl.col("value") > 0).mean().alias("share above zero"),
            pl.col("value").max().alias("maximum"),
        )
        .sort("name")
        .collect()
    )
    if parts.is_empty():
        return join([shown, spread, not_observed("Reward components", "each part of the reward under its own name")])
    return join([shown, spread, plain_table(parts.to_dicts(), caption="components as logged")], "\n")


def quadrants(audit: EpochAudit) -> Html:
    """Answer by tool, correct by tool used, reward by outcome."""
    have = {table.name: table for table in audit.quadrants}
    missing = {
        "answer_tool": ("Answer × tool reward", "an answer and a tool component of the reward, or name them"),
        "correct_tool": ("Correct × tool used", "a verdict and the tool calls with their results"),
        "reward_outcome": (
            "Reward × outcome",
            "a training reward and an independent outcome, and state reward_threshold",
        ),
    }
    return join([_quadrant(have[n]) if n in have else not_observed(*missing[n]) for n in missing], "\n")


def _quadrant(table: Quadrants) -> Html:
    rows: list[dict[str, object]] = [
        {"cell": cell.replace("_", " "), "share": share} for cell, share in table.cells.items()
    ]
    rows += [{"cell": name, "share": value} for name, value in table.extra.items()]
    caption = f"{table.title}; {table.n:,} trajectories, {table.missing:,} where a side is not observed"
    note = Html(f'<p class="more">{escape(table.note)}</p>') if table.note else Html("")
    return join([estimate_table(rows, [Column("cell", "cell"), Column("share", "share")], caption=caption), note])


def groups(audit: EpochAudit) -> Html:
    """Groups sampled together, pass@k and pass^k."""
    parts = []
    if audit.groups is None:
        parts.append(not_observed("Groups", "which attempts were sampled together (group or prompt id)"))
    else:
        sizes = ", ".join(f"{count:,} of {size}" for size, count in audit.groups.sizes.items())
        parts.append(facts({"group sizes": sizes}))
        lines = {"too_easy": f" (at least {TOO_EASY:.0%} correct)", "too_hard": f" (at most {TOO_HARD:.0%} correct)"}
        rows = [
            {"groups that are": n.replace("_", " ") + lines.get(n, ""), "share": e}
            for n, e in audit.groups.shares.items()
        ]
        columns = [Column("groups that are", "groups that are"), Column("share", "share")]
        parts.append(estimate_table(rows, columns, caption=f"of {audit.groups.n:,} groups of two or more"))
    if audit.pass_rates is None:
        parts.append(not_observed("pass@k", "several judged attempts at a task"))
    else:
        rates = audit.pass_rates

        def over_tasks(estimate: Estimate) -> Estimate:
            return msgspec.structs.replace(estimate, numerator=None)

        table = [{"k": str(k), "at": over_tasks(rates.at_k[k]), "hat": over_tasks(rates.hat_k[k])} for k in rates.at_k]
        columns = [Column("k", "k"), Column("at", "pass@k", "share"), Column("hat", "pass^k", "share")]
        attempts = ", ".join(
            f"{tasks:,} {'task' if tasks == 1 else 'tasks'} with {n}" for n, tasks in rates.attempts.items()
        )
        pooled = len(audit.trajectories.periods) > 1
        of_all = "; of all periods together, so of more than one policy" if pooled else ""
        parts.append(estimate_table(table, columns, caption=f"over tasks; attempts: {attempts}{of_all}"))
    return join(parts, "\n")


def checks(audit: EpochAudit) -> Html:
    """Every check with its status: also those that could not be made."""
    rows = [
        {
            "": badge(f.status, f.status.replace("_", " ")),
            "code": f.code,
            "layer": f.layer,
            "finding": f.message,
            "what to do": f.advice or None,
        }
        for f in sorted(audit.findings, key=lambda f: (ORDER[f.status], f.code))
    ]
    return plain_table(rows, caption=f"{len(rows)} checks")


def measured_rows(measured: list[Measured]) -> list[dict[str, object]]:
    """Estimates as rows, for a table or a frame."""
    return [{"measure": item.name, "group": item.group, **item.estimate.to_dict()} for item in measured]
