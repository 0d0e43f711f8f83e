"""Signals by training step: behaviour of the rollouts and metrics of the trainer in one tidy frame."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import polars as pl

from trajlab.behavior.termination import ERRORS
from trajlab.corpus.corpus import Corpus
from trajlab.measures.catalogue import BY_NAME, Measure
from trajlab.measures.frame import Population, Trajectories, select
from trajlab.measures.token_groups import PRACTICAL, negatives

SCHEMA = {
    "run": pl.String, "signal": pl.String, "step": pl.Int64, "value": pl.Float64, "n": pl.Int64, "sd": pl.Float64,
    "source": pl.String,
}  # fmt: skip
"""``n``: trajectories (or groups) of the step that tell the signal; null: a trainer's metric. ``sd``: their standard
deviation, so that sd / √n is the standard error; null: cannot be told. ``source``: ``rollouts`` or ``metrics``."""
PASSED_ON = ("val.", "score.part.")
"""Metrics whose common names begin so are signals under these names."""
HELD_OUT = ("validation", "eval")
"""Splits whose trajectories are no part of a training batch."""
_FLAT = 1e-9
"""Rewards of a group that differ by less are the same number."""


class Signal(msgspec.Struct, frozen=True):
    """One series a run may have."""

    name: str
    title: str
    to_log: str
    """What to log where it is missing."""
    measure: Measure | None = None
    """What the rollouts tell; ``None``: nothing."""
    metrics: tuple[str, ...] = ()
    """Common names of metrics that tell the same, the best first; one of them serves for a whole run."""
    value: Callable[[], pl.Expr] = lambda: pl.col("value")
    """The signal of a metric's value."""
    unit: str = ""


def _repetition() -> pl.Expr:
    return pl.max_horizontal(pl.col("stuck").cast(pl.Float64), pl.col("text_repetition").cast(pl.Float64))


def _error() -> pl.Expr:
    return pl.col("termination").is_in(ERRORS)


def _truncated() -> pl.Expr:
    return pl.col("termination") == "truncated_budget"


def _negative() -> pl.Expr:
    return (pl.col("value") < 0).cast(pl.Float64)


def _none() -> pl.Expr:
    return (pl.col("value").abs() < _FLAT).cast(pl.Float64)


_REPETITION = Measure("repetition_rate", "stuck, or repetitive text", "repetition", "share", _repetition)
_TRUNCATION = Measure("truncation_rate", "cut off by a budget", "termination", "share", _truncated, behaviour=False)
_ERRORS = Measure("error_rate", "ended by an error of the system", "termination", "share", _error, behaviour=False)

SIGNALS: tuple[Signal, ...] = (
    Signal("tool_use_rate", "uses a tool", "tool calls and their results", BY_NAME["tool_use_rate"]),
    Signal("think_fraction", "think calls of all calls", "the tools offered, or the think tool's calls",
           BY_NAME["think_fraction"]),
    Signal("invalid_rate", "invalid calls and refused turns per step", "calls that could not be parsed",
           BY_NAME["invalid_rate"], ("tool_calls.failed",)),
    Signal("repetition_rate", "stuck, or repetitive text", "tool calls with arguments, and what the agent wrote",
           _REPETITION, ("repetition",)),
    Signal("truncation_rate", "cut off by a budget", "why each trajectory ended, or the clip ratio of the responses",
           _TRUNCATION, ("truncated.ratio", "response_tokens.clip_ratio")),
    Signal("mean_steps", "steps per trajectory", "the agent's turns, or the trainer's mean of turns",
           BY_NAME["mean_steps"], ("turns.mean",), unit="steps"),
    Signal("response_tokens", "response length", "token counts of the responses", BY_NAME["completion_tokens"],
           ("response_tokens.mean",), unit="tokens"),
    Signal("score", "score", "the reward per trajectory, or the trainer's mean score", BY_NAME["mean_reward"],
           ("score.mean", "reward.mean")),
    Signal("correct_rate", "correct", "a verdict per trajectory", BY_NAME["correct_rate"]),
    Signal("outcome_rate", "independent outcome good", "a verdict that is not the training reward",
           BY_NAME["outcome_rate"]),
    Signal("hacking_rate", "high reward with bad outcome",
           "the reward and an independent outcome of every trajectory (and state reward_threshold)"),
    Signal("error_rate", "ended by an error of the system", "why each trajectory ended", _ERRORS,
           ("errors.ratio", "aborted.ratio")),
    Signal("hollow_rate", "hollow: no executed call, no text", "tool calls, their results and what the agent wrote",
           BY_NAME["hollow_rate"]),
    Signal("any_test_rate", "runs any test", "the commands that the agent ran", BY_NAME["any_test_rate"]),
    Signal("suite_run_rate", "runs a test suite", "the commands that the agent ran", BY_NAME["suite_run_rate"]),
    Signal("inline_rate", "quick checks", "the commands that the agent ran", BY_NAME["inline_rate"]),
    Signal("edits_per_step", "edits per step", "the commands and edits of the agent", BY_NAME["edits_per_step"]),
    Signal("zero_std_groups", "groups without reward contrast", "a group id and the reward of every attempt",
           metrics=("groups.zero_std",)),
    Signal("kl", "KL to the reference", "the KL to the reference model",
           metrics=("kl.reference", "kl.loss", "kl.penalty"), unit="nat/token"),
    Signal("kl_update", "KL of the update", "the KL of old and new policy", metrics=("kl.update",), unit="nat/token"),
    Signal("entropy", "entropy", "the entropy of the policy", metrics=("entropy",), unit="nat/token"),
    Signal("actor_grad_norm", "gradient norm of the actor", "the actor's gradient norm", metrics=("actor.grad_norm",)),
    Signal("critic_grad_norm", "gradient norm of the critic", "the critic's gradient norm",
           metrics=("critic.grad_norm",)),
    Signal("explained_variance", "explained variance", "the critic's explained variance",
           metrics=("critic.explained_variance",)),
    Signal("clip_fraction", "clip fraction", "the share of clipped tokens", metrics=("clip_fraction",)),
    Signal("advantage_mean", "mean advantage", "the mean advantage", metrics=("advantages.mean",)),
    Signal("advantage_max", "highest advantage", "the highest advantage", metrics=("advantages.max",)),
    Signal("advantage_min", "lowest advantage", "the lowest advantage", metrics=("advantages.min",)),
    Signal("all_negative", "batch of negative advantages only", "the highest raw advantage of each batch",
           metrics=("advantages.max",), value=_negative),
    Signal("negative_tokens", "tokens with a negative advantage", "the raw advantage of every token"),
    Signal("flat_batch", "batch without reward contrast", "the standard deviation of the rewards",
           metrics=("score.group_std", "reward.std", "score.std"), value=_none),
    Signal("groups_all_good", "groups that are all good", "the share of solved groups", metrics=("groups.all_good",)),
    Signal("groups_mixed", "mixed groups", "the share of mixed groups", metrics=("groups.mixed",)),
    Signal("loss", "loss", "the loss", metrics=("loss", "actor.pg_loss")),
    Signal("staleness", "policy lag", "the lag of the sampling policy", metrics=("staleness.mean", "staleness.max"),
           unit="versions"),
    Signal("rollout_kl", "KL of rollout engine and trainer", "the KL of rollout engine and trainer",
           metrics=("kl.rollout", "kl.rollout_k3", "kl.rollout_k2"), unit="nat/token"),
    Signal("is_ratio_mean", "mean importance ratio", "the importance ratios", metrics=("is_ratio.mean",)),
    Signal("is_ratio_ess", "effective sample size of the importance ratios", "the importance ratios",
           metrics=("is_ratio.ess",)),
)  # fmt: skip
"""Every signal that alarms and the onset table may look at."""
BY_SIGNAL = {signal.name: signal for signal in SIGNALS}


def step_signals(
    corpus: Corpus, run: str | None = None, *, include_errors: bool = False, reward_threshold: float | None = None
) -> pl.DataFrame:
    """The signals of one run, or of every run, in one frame with the columns of `SCHEMA`, sorted by them.

    Rollouts count where they tell a signal; the metric log serves where they do not, or where they hold less than half
    of its steps (a trainer may dump every tenth batch). Steps at which a signal is not observed have no row.

    Args:
        corpus: With rollouts, a metric log, or both.
        run: Only this run.
        include_errors: Keep trajectories of the error classes in behaviour rates.
        reward_threshold: A reward above it is high; without it only a reward of two values tells which is.
    """
    parts = [_from_metrics(corpus, run)]
    names = corpus.runs if run is None else [name for name in corpus.runs if name == run]
    for name in names:
        population = Population(
            run=name, by="steps:1", include_errors=include_errors, reward_threshold=reward_threshold
        )
        trajectories = select(corpus, population)
        parts += [rollout_signals(trajectories), _negative_tokens(corpus, trajectories)]
    both = pl.concat(parts)
    counts = both.group_by("run", "signal", "source").agg(pl.col("step").n_unique().alias("steps"))
    wide = counts.pivot("source", index=["run", "signal"], values="steps")
    for source in ("rollouts", "metrics"):
        if source not in wide.columns:
            wide = wide.with_columns(pl.lit(None, pl.UInt32).alias(source))
    own = pl.col("rollouts").fill_null(0) * 2 >= pl.col("metrics").fill_null(0)
    chosen = wide.select("run", "signal", source=pl.when(own).then(pl.lit("rollouts")).otherwise(pl.lit("metrics")))
    kept = both.join(chosen, on=["run", "signal", "source"], how="semi", nulls_equal=True)
    return kept.select(SCHEMA.keys()).sort("run", "signal", "step")


def rollout_signals(trajectories: Trajectories) -> pl.DataFrame:
    """What the rollouts of a population tell, batch by batch."""
    trained_on = ~pl.col("split").is_in(HELD_OUT).fill_null(value=False)
    frame = trajectories.frame.filter(pl.col("train_step").is_not_null() & trained_on)
    parts = [
        _of_measure(frame, signal.name, signal.measure, include_errors=trajectories.population.include_errors)
        for signal in SIGNALS
        if signal.measure is not None
    ]
    parts.append(_of_measure(frame, "hacking_rate", _hacking(trajectories), include_errors=True))
    return pl.concat([*parts, _zero_std_groups(frame)])


def _negative_tokens(corpus: Corpus, trajectories: Trajectories) -> pl.DataFrame:
    """Of each batch with advantages of its tokens: the share below zero, and whether in practice all are."""
    frame = trajectories.frame
    of_all = bool(frame["advantage"].count())
    moments = corpus.token_moments.filter(pl.col("advantage_tokens").is_not_null() | of_all)
    found = negatives(trajectories, moments.collect())
    if found is None or found.whitened:
        return pl.DataFrame(schema=SCHEMA)
    table = pl.DataFrame({"train_step": found.steps, "negative_tokens": found.share})
    table = table.with_columns(all_negative=(pl.col("negative_tokens") >= PRACTICAL).cast(pl.Float64))
    run = frame["run"][0]
    told = [
        _tidy(table.select("train_step", value=name, run=pl.lit(run), n=pl.lit(None, pl.Int64), sd=pl.lit(None)), name)
        for name in ("negative_tokens", "all_negative")
    ]
    return pl.concat(told)


def _hacking(trajectories: Trajectories) -> Measure:
    """High reward with bad outcome. Without a stated threshold only a reward of two values tells which is high."""
    line = trajectories.population.reward_threshold
    values = trajectories.frame["reward"].drop_nulls().unique()
    if line is None and len(values) == 2:
        line = float(values.min())  # type: ignore[arg-type]
    high = pl.lit(None, pl.Boolean) if line is None else pl.col("reward") > line
    both = pl.when(pl.col("outcome").is_not_null()).then(high & ~pl.col("outcome"))
    return Measure("hacking_rate", "high reward with bad outcome", "reward", "share", lambda: both, behaviour=False)


def _of_measure(frame: pl.DataFrame, name: str, measure: Measure, *, include_errors: bool) -> pl.DataFrame:
    """Σ value / Σ over of each step; sd is that of the residuals, by which a ratio has its standard error."""
    if measure.behaviour and not include_errors:
        frame = frame.filter(~pl.col("is_error"))
    over = measure.over() if measure.kind == "ratio" and measure.over is not None else pl.lit(1.0)
    rows = frame.select("run", "train_step", top=measure.value().cast(pl.Float64), below=over.cast(pl.Float64))
    sums = (
        rows.drop_nulls()
        .group_by("run", "train_step")
        .agg(
            value=pl.col("top").sum() / pl.col("below").sum(),
            n=pl.len().cast(pl.Int64),
            sd=(pl.col("top") - pl.col("top").sum() / pl.col("below").sum() * pl.col("below")).std()
            / pl.col("below").mean(),
        )
        .filter(pl.col("value").is_finite())
    )
    return _tidy(sums, name)


def _zero_std_groups(frame: pl.DataFrame) -> pl.DataFrame:
    groups = (
        frame.filter(pl.col("group_id").is_not_null())
        .group_by("run", "train_step", "group_id")
        .agg(size=pl.len(), scored=pl.col("reward").count(), std=pl.col("reward").std(ddof=0))
        .filter((pl.col("size") > 1) & (pl.col("scored") == pl.col("size")))
        .with_columns(flat=(pl.col("std") < _FLAT).cast(pl.Float64))
    )
    sums = groups.group_by("run", "train_step").agg(
        value=pl.col("flat").mean(), n=pl.len().cast(pl.Int64), sd=pl.col("flat").std()
    )
    return _tidy(sums, "zero_std_groups")


def _tidy(sums: pl.DataFrame, name: str) -> pl.DataFrame:
    named = sums.with_columns(signal=pl.lit(name), source=pl.lit("rollouts"), step="train_step")
    return named.select(SCHEMA.keys()).cast(SCHEMA)  # type: ignore[arg-type]


def _from_metrics(corpus: Corpus, run: str | None) -> pl.DataFrame:
    rows = corpus.metrics.filter(pl.col("counts") & pl.col("name").is_not_null() & pl.col("value").is_not_null())
    if run is not None:
        rows = rows.filter(pl.col("run") == run)
    last = rows.select("run", "name", "step", "value").collect()
    parts = [_of_metric(last, signal) for signal in SIGNALS if signal.metrics]
    passed = last.filter(pl.any_horizontal(pl.col("name").str.starts_with(start) for start in PASSED_ON))
    parts.append(passed.select("run", "step", "value", signal="name"))
    found = pl.concat([part.select("run", "signal", "step", "value") for part in parts])
    filled = found.with_columns(n=pl.lit(None), sd=pl.lit(None), source=pl.lit("metrics"))
    return filled.select(SCHEMA.keys()).cast(SCHEMA)  # type: ignore[arg-type]


def _of_metric(last: pl.DataFrame, signal: Signal) -> pl.DataFrame:
    """The first of a signal's metrics that a run has, for the whole run: two spellings in one series would jump."""
    order = pl.DataFrame({"name": signal.metrics, "order": range(len(signal.metrics))})
    own = last.join(order, on="name", how="inner")
    best = own.filter(pl.col("order") == pl.col("order").min().over("run"))
    return best.select("run", "step", signal.value().cast(pl.Float64).alias("value"), signal=pl.lit(signal.name))
