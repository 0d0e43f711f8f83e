"""``index.html`` and ``runs.jsonl`` over the run folders of one place, rebuilt from their ``run.json``."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import msgspec

from trajlab.report.html import RUN_TONES, page
from trajlab.report.record import RECORD_FILE, REPORT_FILE, WIP_PREFIX, RunRecord, read_record
from trajlab.report.result import write_atomically
from trajlab.report.tables import badge, callout, plain_table
from trajlab.report.text import Html, escape, join

INDEX_FILE = "index.html"
RUNS_FILE = "runs.jsonl"


class Listed(msgspec.Struct):
    """One run folder."""

    folder: str
    record: RunRecord | None
    problem: str = ""
    """Why there is no record."""


def rebuild_index(out: Path | str) -> Path:
    """Write the index over all runs below ``out``, newest first, and return its path.

    A folder ``.wip-…`` is a run that has not ended, or was killed; it is listed as such. A ``run.json`` that
    cannot be read is listed with the reason.
    """
    out = Path(out)
    runs = sorted(list_runs(out), key=_newest_first, reverse=True)
    lines = [msgspec.json.encode(run.record, order="deterministic") for run in runs if run.record]
    write_atomically(out / RUNS_FILE, b"".join(line + b"\n" for line in lines))
    content = page("Runs", _body(out, runs), header=_header(runs), wide=True)
    write_atomically(out / INDEX_FILE, content.encode("utf-8"))
    return out / INDEX_FILE


def list_runs(out: Path) -> list[Listed]:
    """Every folder below ``out`` that holds a ``run.json``, finished or not, by name."""
    listed = []
    for path in sorted([*out.glob(f"*/{RECORD_FILE}"), *out.glob(f"{WIP_PREFIX}*/{RECORD_FILE}")]):
        folder = path.parent
        if folder.name.startswith(".") and not folder.name.startswith(WIP_PREFIX):
            continue
        try:
            listed.append(Listed(folder.name, read_record(folder)))
        except (OSError, msgspec.DecodeError) as error:
            listed.append(Listed(folder.name, None, str(error)))
    return list({run.folder: run for run in listed}.values())


def _newest_first(run: Listed) -> tuple[str, str]:
    return (run.record.started if run.record else "", run.folder)


def _header(runs: list[Listed]) -> Html:
    statuses = [run.record.status if run.record else "unreadable" for run in runs]
    counts = {status: statuses.count(status) for status in dict.fromkeys(statuses)}
    items = join(Html(f"<div><dt>{escape(status)}</dt><dd>{count:,}</dd></div>") for status, count in counts.items())
    return Html(f'<p class="kicker">trajlab</p>\n<h1>Runs</h1>\n<dl class="meta">{items}</dl>')


def _body(out: Path, runs: list[Listed]) -> Html:
    if not runs:
        return callout("unobserved", "No run yet.")
    return plain_table([_row(out, run) for run in runs], limit=len(runs))


def _row(out: Path, run: Listed) -> dict[str, object]:
    record = run.record
    if record is None:
        return {
            "report": run.folder,
            "run": None,
            "period": None,
            "status": badge("alarm", "unreadable"),
            "why": run.problem,
            "findings": None,
            "trajectories": None,
            "started": None,
        }
    unfinished = run.folder.startswith(WIP_PREFIX)
    status = "unfinished" if unfinished and record.status == "running" else record.status
    findings = [f"{count:,} {word.replace('_', ' ')}" for word, count in record.findings.items()]
    return {
        "report": _link(out, run.folder, record.title),
        "run": record.run,
        "period": record.period,
        "status": badge(RUN_TONES[record.status], status),
        "why": record.message or _warnings(record),
        "findings": ", ".join(findings) or (None if record.trajectories is None else "none"),
        "trajectories": record.trajectories,
        "started": Html(f"<time>{escape(record.started[:16].replace('T', ' '))}</time>"),
    }


def _warnings(record: RunRecord) -> str:
    count = record.findings.get("warn", 0)
    gates = [gate for gate in record.warned_gates if gate != "no_warning"]
    told = [f"{count} warning{'s' if count > 1 else ''}"] if count else []
    return "; ".join(told + gates)


def _link(out: Path, folder: str, title: str) -> Html:
    if not (out / folder / REPORT_FILE).exists():
        return escape(title)
    return Html(f'<a href="{escape(quote(folder))}/{REPORT_FILE}">{escape(title)}</a>')
