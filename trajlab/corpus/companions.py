"""What companions say of trajectories of other files, each with the trajectories that it reaches.

A companion reaches the trajectories of its formats in its own folder and below it or, where there are none, in the
nearest folder above that has any, of one run; a fact by native id reaches it wherever below the root it stands.
Settings beside no trajectories are of the run whose metric logs stand in the same folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec
import polars as pl

from trajlab.corpus.metric_runs import MetricRun
from trajlab.corpus.plan import Claim
from trajlab.corpus.rows import guarded
from trajlab.corpus.totals import TotalRow, hold_against
from trajlab.formats import (
    Fact,
    Total,
    Unjoined,
    companion_format,
    facts_of,
    speaks_of,
)
from trajlab.metric_logs import metric_format
from trajlab.records import Problem, RunSetting
from trajlab.schema import FACT_COLUMNS, FACTS, OVERLAY, RUN_CONFIG, TOTALS
from trajlab.sources.files import Bundle

_Row = tuple[object, ...]


class Companions(msgspec.Struct):
    """What was found in all companions."""

    overlay: pl.DataFrame
    """``trajectory_id`` and the columns of ``FACT_COLUMNS``; trajectories of which something is told."""
    facts: pl.DataFrame
    totals: pl.DataFrame
    run_config: pl.DataFrame
    problems: list[_Row]
    notes: dict[tuple[str, str], str]
    """By root and source: why nothing of a companion is joined, where that is no loss."""


class _Told(msgspec.Struct):
    """One companion: what it tells and whom it reaches."""

    claim: Claim
    reached: pl.DataFrame
    beside: frozenset[str]
    """Runs of the metric logs in its folder."""
    facts: list[Fact] = []
    totals: list[Total] = []
    settings: list[RunSetting] = []
    problems: list[Problem] = []
    note: str | None = None

    @property
    def run(self) -> str | None:
        """The only run of the trajectories that it reaches; where it reaches none, of the metric logs beside it."""
        runs = set(self.reached["run"].to_list()) or self.beside
        return next(iter(runs)) if len(runs) == 1 else None


def join_companions(
    claims: Iterable[Claim], trajectories: pl.DataFrame, metric_runs: Mapping[tuple[str, str], MetricRun]
) -> Companions:
    """Join the facts of all companions with the trajectories, and hold their totals against them.

    Args:
        claims: What every file was found to be.
        trajectories: ``trajectory_id``, ``run``, ``format``, ``root``, ``source``, ``native_id``, ``train_step`` and
            what totals are counted of, one row each.
        metric_runs: Run of each metric log, by root and path below it.
    """
    asked = [item for item in claims if item.role in ("companion", "metrics") and item.format is not None]
    reach, beside = _Reach(trajectories if asked else trajectories.clear()), _by_folder(metric_runs)
    told = [one for item in sorted(asked, key=_when) if (one := _told(item, reach, beside)) is not None]
    joined, facts = _join(told, trajectories)
    totals = [row for one in told for row in hold_against(one.claim.file.relpath, one.run, one.totals, one.reached)]
    settings = [
        (one.run, one.claim.file.relpath, setting.name, setting.configured, setting.applied)
        for one in told
        for setting in (one.settings if one.run is not None else ())
    ]
    problems = [_problem(one, found) for one in told for found in (*one.problems, *_unjoined(one, facts))]
    problems += [_disagreeing(row) for row in totals if row.problem is not None]
    return Companions(
        joined,
        facts.select(FACTS.names),
        pl.DataFrame([row.values for row in totals], schema=TOTALS.polars(), orient="row"),
        pl.DataFrame(settings, schema=RUN_CONFIG.polars(), orient="row"),
        problems,
        {(one.claim.file.root, one.claim.file.relpath): one.note for one in told if one.note is not None},
    )


_ByFolder = dict[tuple[str, PurePosixPath], frozenset[str]]


def _by_folder(metric_runs: Mapping[tuple[str, str], MetricRun]) -> _ByFolder:
    """Root and folder -> runs of the metric logs in it."""
    found: _ByFolder = {}
    for (root, source), run in metric_runs.items():
        place = root, PurePosixPath(source).parent
        found[place] = found.get(place, frozenset()) | {run.name}
    return found


def _when(item: Claim) -> tuple[int, str, str]:
    """Of two that say different things the later file counts."""
    return item.file.mtime_ns, item.file.root, item.file.relpath


class _Reach:
    """The trajectories of a folder, of given formats; of the nearest folder above where it has none."""

    def __init__(self, trajectories: pl.DataFrame) -> None:
        here = trajectories.with_columns(_here=pl.col("source").str.replace(r"/?[^/]*$", ""))
        parts = here.partition_by("root", "_here", "format", as_dict=True, maintain_order=True)
        self._frames: dict[tuple[str, str, str], list[pl.DataFrame]] = {}
        for (root, folder, name), frame in parts.items():
            for above in ("", *_folders(str(folder))):
                self._frames.setdefault((str(root), above, str(name)), []).append(frame)
        self._empty = here.clear()

    def of(self, item: Claim, formats: frozenset[str]) -> pl.DataFrame:
        folders = ["", *_folders(str(PurePosixPath(item.file.relpath).parent))]
        for folder in reversed(folders):
            found = [
                frame for name in sorted(formats) for frame in self._frames.get((item.file.root, folder, name), ())
            ]
            if found:
                reached = pl.concat(found)
                return reached if folder == folders[-1] or _same_run(item, folder, reached) else self._empty
        return self._empty


def _same_run(item: Claim, folder: str, reached: pl.DataFrame) -> bool:
    """Whether logs in a folder above belong to the companion: one run, and at the root the companion's own."""
    runs = set(reached["run"].unique())
    return len(runs) == 1 and (folder != "" or runs <= {item.run, PurePosixPath(item.file.root).name})


def _folders(path: str) -> Iterator[str]:
    """A folder below the root and those it stands in, outermost first."""
    parts = () if path in ("", ".") else PurePosixPath(path).parts
    return ("/".join(parts[: depth + 1]) for depth in range(len(parts)))


def _told(item: Claim, reach: _Reach, beside: _ByFolder) -> _Told | None:
    module = companion_format(item.format or "") if item.role == "companion" else metric_format(item.format or "")
    formats = speaks_of(module, item.variant or "")
    near = beside.get((item.file.root, PurePosixPath(item.file.relpath).parent), frozenset())
    told = _Told(item, reach.of(item, formats), near)
    bundle = Bundle(item.format or "", item.variant or "", (item.file,))
    for found in guarded(lambda: facts_of(module, bundle)):
        if isinstance(found, Fact):
            told.facts.append(found)
        elif isinstance(found, Total):
            told.totals.append(found)
        elif isinstance(found, RunSetting):
            told.settings.append(found)
        elif isinstance(found, Unjoined):
            told.note = found.reason
        else:
            told.problems.append(found)
    anything = told.facts or told.totals or told.settings
    if told.reached.is_empty() and item.role == "metrics":
        return None  # a metric log stands for itself: it needs no rollouts
    only_settings = not told.facts and not told.totals and told.run is not None
    if anything and not only_settings and told.reached.is_empty() and not any(fact.native_id for fact in told.facts):
        message = f"nothing to join with: no log of {', '.join(sorted(formats)) or 'any format'} was read in its folder"
        told.problems.append(Problem("not_joined", message))
    elif told.settings and told.run is None:
        told.problems.append(Problem("not_joined", "settings beside several runs: it cannot be told whose they are"))
    return told if anything or told.problems or told.note else None


def _join(told: list[_Told], trajectories: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Columns for the overlay, and the table of facts with the number of trajectories each was joined with."""
    columns: dict[str, list[Any]] = {name: [] for name in ("companion", "root", *FACTS.names[:-1])}
    for number, one in enumerate(told):
        file = one.claim.file
        for fact in one.facts:
            row = (number, file.root, file.relpath, fact.native_id, fact.train_step, fact.column, _text(fact.value))
            for values, value in zip(columns.values(), row, strict=True):
                values.append(value)
    kinds: dict[str, type[pl.DataType]] = {"companion": pl.Int64, "root": pl.String}
    kinds |= {name: FACTS.polars()[name] for name in FACTS.names[:-1]}
    facts = pl.DataFrame(columns, schema=kinds).with_row_index("fact")
    by_id = facts.filter(pl.col("native_id").is_not_null()).join(
        trajectories.select("root", "native_id", "trajectory_id"), on=["root", "native_id"]
    )
    reached = [
        one.reached.select("trajectory_id", "train_step", companion=pl.lit(number, pl.Int64))
        for number, one in enumerate(told)
        if any(fact.native_id is None for fact in one.facts)
    ]
    wanted = ["fact", "trajectory_id", "name", "value"]
    pairs = [by_id.select(wanted)]
    if reached:
        by_step = facts.filter(pl.col("native_id").is_null())
        pairs.append(by_step.join(pl.concat(reached), on=["companion", "train_step"]).select(wanted))
    both = pl.concat(pairs).sort("fact", maintain_order=True)
    counted = both.group_by("fact").agg(trajectories=pl.len().cast(pl.Int64))
    facts = facts.join(counted, on="fact", how="left", maintain_order="left").with_columns(
        pl.col("trajectories").fill_null(0)
    )
    return _pivoted(both), facts


def _pivoted(pairs: pl.DataFrame) -> pl.DataFrame:
    """One row a trajectory; of several values of a column the last."""
    kinds = OVERLAY.polars()
    last = pairs.group_by("trajectory_id", maintain_order=True).agg(
        *(pl.col("value").filter(pl.col("name") == name).last().alias(name) for name in FACT_COLUMNS)
    )
    return last.with_columns(
        (pl.col(name) == "true") if kinds[name] == pl.Boolean else pl.col(name).cast(kinds[name], strict=False)
        for name in FACT_COLUMNS
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unjoined(one: _Told, facts: pl.DataFrame) -> Iterator[Problem]:
    """How many facts of a companion met no trajectory."""
    if not one.facts or (one.reached.is_empty() and not any(fact.native_id for fact in one.facts)):
        return
    own = facts.filter(pl.col("source") == one.claim.file.relpath, pl.col("root") == one.claim.file.root)
    for key, what in (("native_id", "trajectory of these ids"), ("train_step", "trajectory of these training steps")):
        about = own.filter(pl.col(key).is_not_null())
        missing = about.filter(pl.col("trajectories") == 0)[key].unique().sort()
        if missing.len():
            first = ", ".join(map(str, missing.head(3).to_list()))
            message = f"{missing.len()} of {about[key].n_unique()} are about no {what} that was read: {first} …"
            yield Problem("not_joined", message)


def _problem(one: _Told, found: Problem) -> _Row:
    source = one.claim.file.relpath
    return (one.run or one.claim.run, source, found.line, found.offset, None, found.code, found.message)


def _disagreeing(row: TotalRow) -> _Row:
    code, message = row.problem or ("", "")
    return (row.values[0], row.values[1], None, None, None, code, message)
