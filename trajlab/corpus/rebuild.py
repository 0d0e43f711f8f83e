"""Deriving behaviour anew from a corpus alone, without its logs, when the rules have changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from trajlab import __version__
from trajlab.behavior import derive as rules
from trajlab.corpus.assemble import assemble, assembly_key
from trajlab.corpus.batches import TableRows
from trajlab.corpus.manifest import Manifest, locked, require_manifest, save_manifest
from trajlab.corpus.parts import PARTS, SUMMARY, PartWriter, Unit, UnitSummary, file_sizes
from trajlab.corpus.plan import unit_key
from trajlab.corpus.rows import add_derived, digest
from trajlab.engines import choose_jobs, map_units
from trajlab.errors import UsageError
from trajlab.progress import progress
from trajlab.records import Message, Step, ToolCall, Trajectory
from trajlab.schema import DERIVED_TABLES, TABLES

Rows = list[dict[str, Any]]


class RebuildTask(msgspec.Struct, frozen=True):
    """A part, the key its rebuilt copy gets, and the corpus folder."""

    unit: Unit
    key: str
    folder: str


def rebuild(folder: Path, *, jobs: int | None = None) -> Manifest:
    """Derive the tables of behaviour anew from the source tables and texts of a corpus.

    Each part is written aside and put in place whole, then the manifest; a killed rebuild leaves the corpus as it was.

    Args:
        folder: Corpus folder.
        jobs: Processes; ``None``: as many as pay.

    Returns:
        The new manifest; the old one where the corpus already follows these rules.

    Raises:
        UsageError: No finished corpus, or one without texts.
        InfrastructureError: A corpus in use.
    """
    manifest = require_manifest(folder, any_rules=True)
    if manifest.rules == rules.RULES_VERSION:
        return manifest
    if not all(unit.keep_texts for unit in manifest.units):
        raise UsageError(str(folder), "a corpus without texts", "one that keeps them", "Ingest its logs again")
    with locked(folder):
        tasks = [RebuildTask(unit, _new_key(unit, manifest), str(folder)) for unit in manifest.units]
        done = map_units(rebuild_part, tasks, choose_jobs(jobs, sum(t.unit.bytes for t in tasks), len(tasks)))
        for _ in progress(done, total=len(tasks), unit="unit", description="deriving"):
            pass
        units = [msgspec.structs.replace(task.unit, key=task.key) for task in tasks]
        after = msgspec.structs.replace(manifest, units=units, rules=rules.RULES_VERSION, complete=False)
        assemble(folder, after)
        after.assembled_from, after.complete = assembly_key(after), True
        save_manifest(folder, after)
        for unit in manifest.units:
            if unit.key not in {task.key for task in tasks}:
                shutil.rmtree(folder / PARTS / unit.key)
    return after


def _new_key(unit: Unit, manifest: Manifest) -> str:
    """The key a fresh ingest would give; where another version read the logs, one that an ingest will not keep."""
    if manifest.trajlab == __version__:
        return unit_key(unit.bundles, unit.keep_texts)
    return digest(f"{unit.key} {rules.RULES_VERSION}")


def rebuild_part(task: RebuildTask) -> str:
    """Write one part with its derived tables made anew; returns its key."""
    parts = Path(task.folder) / PARTS
    old, final, aside = parts / task.unit.key, parts / task.key, parts / f".wip-{task.key}"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    derived = {table.name: TableRows(table.name) for table in DERIVED_TABLES}
    for path in sorted(old.glob("*.parquet")):
        if path.name.split(".")[0] not in derived:
            _link(path, aside / path.name)
    for row, trajectory, requests in stored_trajectories(old):
        written = row["agent_chars"] + (row["reasoning_chars"] or 0)
        found = rules.derive(trajectory, requests, agent_chars=written, tail_repetitive=row["tail_repetitive"])
        add_derived(derived, found)
        for rows in derived.values():
            rows.mark(row["trajectory_id"])
    writer = PartWriter(aside)
    for rows in derived.values():
        writer.write(rows)
    summary = msgspec.json.decode((old / SUMMARY).read_bytes(), type=UnitSummary)
    summary = msgspec.structs.replace(summary, key=task.key, files=file_sizes(aside))
    (aside / SUMMARY).write_bytes(msgspec.json.encode(summary))
    shutil.rmtree(final, ignore_errors=True)
    aside.rename(final)
    return task.key


def _link(source: Path, target: Path) -> None:
    """The same file under a second name; a copy where the file system has no links. Parts are never changed."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def stored_trajectories(part: Path) -> Iterator[tuple[dict[str, Any], Trajectory, list[int]]]:
    """Trajectories of a part as its tables tell them: what behaviour is derived from, and no more.

    Args:
        part: Folder of one part.

    Yields:
        The row of ``trajectories``, the trajectory, and the digests of the agent's own requests.
    """
    steps, calls = _by_trajectory(part, "steps"), _by_trajectory(part, "tool_calls")
    prompts, texts = _by_trajectory(part, "prompts"), _by_trajectory(part, "texts")
    for row in _table(part, "trajectories").iter_rows(named=True):
        key = row["trajectory_id"]
        own_calls = calls.get(key, [])
        told = {(text["kind"], text["number"]): text["text"] for text in texts.get(key, [])}
        offered = row["tools_offered"]
        trajectory = Trajectory(
            variant=row["variant"],
            ordinal=row["ordinal"],
            task_id=row["task_id"],
            termination=row["logged_termination"],
            tools_offered=None if offered is None else offered.split(),
            messages=[Message(prompt["role"], told.get(("prompt", n), ""), prompt["after_step"])
                      for n, prompt in enumerate(prompts.get(key, []))],
            steps=_steps(steps.get(key, []), own_calls, told),
        )  # fmt: skip
        yield row, trajectory, [call["request_digest"] for call in own_calls if call["requestor"] == "agent"]


def _table(part: Path, name: str) -> pl.DataFrame:
    files = sorted(part.glob(f"{name}.*.parquet"), key=lambda path: int(path.name.split(".")[1]))
    return pl.read_parquet(files) if files else pl.DataFrame(schema=TABLES[name].polars())


def _by_trajectory(part: Path, name: str) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in _table(part, name).iter_rows(named=True):
        found.setdefault(row["trajectory_id"], []).append(row)
    return found


def _steps(steps: Rows, calls: Rows, told: dict[tuple[str, int], str]) -> list[Step]:
    inside: dict[int, list[ToolCall]] = {}
    for call in calls:
        inside.setdefault(call["step"], []).append(_call(call, told))
    return [
        Step(
            text=told.get(("turn", step["step"]), ""),
            reasoning=None if step["reasoning_chars"] is None else told.get(("reasoning", step["step"]), ""),
            calls=inside.get(step["step"], []),
            invalid_action=step["invalid_action"],
        )
        for step in steps
    ]


def _call(call: dict[str, Any], told: dict[tuple[str, int], str]) -> ToolCall:
    number, command = call["call"], call["command"]
    return ToolCall(
        tool=call["tool"],
        arguments=None if command is not None else told.get(("arguments", number)),
        command=command,
        output=None if call["output_chars"] is None else told.get(("output", number), ""),
        exit_code=call["exit_code"],
        is_error=call["is_error"],
        executed=call["executed"],
        invalid=call["invalid"],
        requestor=call["requestor"],
        seconds=call["seconds"],
    )
