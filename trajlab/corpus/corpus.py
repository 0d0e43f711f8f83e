"""The corpus: every table as a lazy frame, read from its Parquet parts."""

from __future__ import annotations

import atexit
import tempfile
from pathlib import Path

import polars as pl

from trajlab.corpus.assemble import ASSEMBLED, require_whole, scan_parts
from trajlab.corpus.manifest import Manifest, require_manifest
from trajlab.corpus.summary import Summary, summarise
from trajlab.corpus.views import TrajectoryView, corpus_html
from trajlab.schema import BEHAVIOUR, MESSAGES, OVERLAY, TABLES, TRAJECTORIES

_LOGGED = {
    "logged_epoch": None,
    "logged_correct": None,
    "logged_outcome": None,
    "logged_termination": None,
}


class Corpus:
    """Tables of a finished ingest; each attribute is a polars ``LazyFrame`` (``.collect().to_pandas()`` for pandas).

    Args:
        folder: Corpus folder.
        manifest: Its manifest, if at hand.

    Raises:
        UsageError: The folder holds no finished corpus.
        InfrastructureError: A file of it is missing or cut short.
    """

    def __init__(self, folder: str | Path, manifest: Manifest | None = None) -> None:
        self.folder = Path(folder)
        if manifest is None:
            manifest = require_manifest(self.folder)
            require_whole(self.folder, manifest)
        self.manifest = manifest

    def __repr__(self) -> str:
        return f"Corpus({str(self.folder)!r}, {len(self.manifest.units)} parts)"

    def _repr_html_(self) -> str:
        return corpus_html(self)

    @property
    def trajectories(self) -> pl.LazyFrame:
        """One row per trajectory: source facts, verdicts and termination of assembly, and behaviour.

        Superseded and duplicate trajectories are there, marked; :attr:`current` leaves them out.
        """
        source = scan_parts(self.folder, self.manifest, "trajectories").drop("split")
        overlay = self._assembled("overlay")
        behaviour = scan_parts(self.folder, self.manifest, "behaviour")
        joined = source.join(overlay, on="trajectory_id", how="left", maintain_order="left").join(
            behaviour, on="trajectory_id", how="left", maintain_order="left"
        )
        kept = [c for c in TRAJECTORIES.names if _LOGGED.get(c, c) == c]
        assembled = [c for c in OVERLAY.names[1:] if c not in kept]
        return joined.select(*kept, *assembled, *BEHAVIOUR.names[1:])

    @property
    def current(self) -> pl.LazyFrame:
        """:attr:`trajectories` without those superseded by a re-run or standing in a second file."""
        return self.trajectories.filter(~pl.col("superseded") & ~pl.col("duplicate"))

    @property
    def problems(self) -> pl.LazyFrame:
        """Everything not read, cleaned or not reconciled."""
        parts = scan_parts(self.folder, self.manifest, "problems")
        return pl.concat([parts, self._assembled("problems")])

    @property
    def messages(self) -> pl.LazyFrame:
        """Messages in reading order: prompts, turns of the agent, and what tools returned."""
        return messages_view(self.prompts, self.steps, self.tool_calls)

    @property
    def prompts(self) -> pl.LazyFrame:
        """Messages that are neither the agent's nor a tool's."""
        return self.table("prompts")

    @property
    def steps(self) -> pl.LazyFrame:
        """Turns of the agents."""
        return self.table("steps")

    @property
    def tool_calls(self) -> pl.LazyFrame:
        """Tool calls."""
        return self.table("tool_calls")

    @property
    def texts(self) -> pl.LazyFrame:
        """Long texts; empty where they were not kept."""
        return self.table("texts")

    @property
    def rewards(self) -> pl.LazyFrame:
        """Reward components."""
        return self.table("rewards")

    @property
    def token_histograms(self) -> pl.LazyFrame:
        """Log-ratios of tokens, a row for each bin that holds any."""
        return self.table("token_histograms")

    @property
    def token_moments(self) -> pl.LazyFrame:
        """Counts and sums over the tokens of each trajectory whose log holds token arrays."""
        return self.table("token_moments")

    @property
    def token_values(self) -> pl.LazyFrame:
        """Values and returns by quarter of the tokens that a trajectory was trained on."""
        return self.table("token_values")

    @property
    def run_config(self) -> pl.LazyFrame:
        """Configured and applied values of the runs."""
        logged = scan_parts(self.folder, self.manifest, "run_config")
        told = pl.concat([logged, self._assembled("run_config")])
        return told.unique(["run", "name", "configured", "applied"], maintain_order=True)

    @property
    def commands(self) -> pl.LazyFrame:
        """Simple commands and their labels."""
        return self.table("commands")

    @property
    def file_events(self) -> pl.LazyFrame:
        """Files that calls showed, created, changed and deleted."""
        return self.table("file_events")

    @property
    def call_results(self) -> pl.LazyFrame:
        """Calls of which more is known than the exit code: outcomes, test counts."""
        return self.table("call_results")

    @property
    def behaviour(self) -> pl.LazyFrame:
        """Behaviour, one row per trajectory."""
        return self.table("behaviour")

    @property
    def hits(self) -> pl.LazyFrame:
        """Candidates of the hack screen."""
        return self.table("hits")

    @property
    def outcomes(self) -> pl.LazyFrame:
        """Verdicts found in companion files."""
        return self._assembled("outcomes")

    @property
    def facts(self) -> pl.LazyFrame:
        """Facts found in companion files, and with how many trajectories each was joined."""
        return self._assembled("facts")

    @property
    def totals(self) -> pl.LazyFrame:
        """Totals that companion files state, held against what was read."""
        return self._assembled("totals")

    @property
    def metrics(self) -> pl.LazyFrame:
        """Metrics of the trainers, by training step."""
        return self._assembled("metrics")

    @property
    def sources(self) -> pl.LazyFrame:
        """Files found, and what came of them."""
        return self._assembled("sources")

    @property
    def coverage(self) -> pl.LazyFrame:
        """How much of each source was understood."""
        return self._assembled("coverage")

    def table(self, name: str) -> pl.LazyFrame:
        """A table of the schema by name."""
        if name in ("messages", "run_config"):
            return self.messages if name == "messages" else self.run_config
        if TABLES[name].origin == "assembled":
            return self._assembled(name)
        return scan_parts(self.folder, self.manifest, name)

    def _assembled(self, name: str) -> pl.LazyFrame:
        return pl.scan_parquet(self.folder / ASSEMBLED / f"{name}.parquet")

    @property
    def runs(self) -> list[str]:
        """Names of the runs, sorted."""
        runs = scan_parts(self.folder, self.manifest, "trajectories").select(pl.col("run").unique())
        return sorted(runs.collect()["run"].to_list())

    @property
    def metric_runs(self) -> list[str]:
        """Names of the runs that have metrics, sorted; those without trajectories are no :attr:`runs`."""
        return sorted(self.metrics.select(pl.col("run").drop_nulls().unique()).collect()["run"].to_list())

    @property
    def rules(self) -> str:
        """Version of the behaviour rules the corpus was derived with."""
        return self.manifest.rules

    def summary(self) -> Summary:
        """What is there, and what is not observed."""
        return summarise(self)

    def text(self, trajectory_id: str) -> pl.DataFrame:
        """All texts of one trajectory: kind, number, text."""
        return self.texts.filter(pl.col("trajectory_id") == trajectory_id).drop("trajectory_id").collect()

    def trajectory(self, trajectory_id: str) -> TrajectoryView:
        """One trajectory, to be shown in a notebook.

        Raises:
            UsageError: No trajectory has this id.
        """
        return TrajectoryView(self, trajectory_id)


def messages_view(prompts: pl.LazyFrame, steps: pl.LazyFrame, calls: pl.LazyFrame) -> pl.LazyFrame:
    """Messages from the tables that hold them: after the prompts before it, a turn, its results, what follows it."""
    wanted = ["trajectory_id", "role", "step", "chars", "text_kind", "text_number", "order"]
    said = prompts.with_columns(
        step="after_step", text_kind=pl.lit("prompt"), text_number="prompt", order=pl.lit(2, pl.Int64)
    )
    turns = steps.with_columns(
        role=pl.lit("assistant"), chars="text_chars", text_kind=pl.lit("turn"), text_number="step",
        order=pl.lit(0, pl.Int64),
    )  # fmt: skip
    results = calls.filter(pl.col("output_chars").is_not_null()).with_columns(
        role=pl.lit("tool"), chars="output_chars", text_kind=pl.lit("output"), text_number="call",
        order=pl.lit(1, pl.Int64),
    )  # fmt: skip
    together = pl.concat([frame.select(wanted) for frame in (said, turns, results)])
    ordered = together.sort("trajectory_id", pl.col("step").fill_null(0), "order", "text_number")
    number = pl.int_range(pl.len(), dtype=pl.Int64).over("trajectory_id")
    return ordered.with_columns(message=number).select(MESSAGES.names)


def temporary_folder() -> Path:
    """A folder that goes when Python ends: lazy frames may outlive the corpus they came from."""
    handle = tempfile.TemporaryDirectory(prefix="trajlab-")
    atexit.register(handle.cleanup)
    return Path(handle.name) / "corpus"
