"""Write observations and traces as Langfuse exports them. Usage: python langfuse_writer.py OUT   (needs langfuse==5.0.4)

Rows of the API go through the SDK's own model `ObservationV2`; the layout of the blob storage is that of its field reference, that of
a downloaded trace is by hand, since no server ran. The words are `scaffold_plans.py`'s; no model spoke.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from langfuse.api.commons.types.observation_v2 import ObservationV2
from langfuse.api.core.pydantic_utilities import parse_obj_as
from scaffold_plans import CHECK, CLOCK, ISSUE, LOOK, MODEL, REPRODUCE, SYSTEM, Turn, write_json, write_lines

sys.dont_write_bytecode = True
Json = dict[str, Any]


def native(turn: Turn) -> tuple[str, Json]:
    return ("bash", {"command": turn.command}) if turn.kind == "shell" else ("read_file", {"path": turn.path})


class Recorder:
    """Observations one after another, below one of the agent."""

    def __init__(self, trace: str) -> None:
        self.trace, self.now = trace, datetime.fromtimestamp(CLOCK, UTC)
        self.rows: list[Json] = [{"id": f"{trace}-root", "type": "AGENT", "name": "coder", "startTime": self.now, "input": {"task": ISSUE}}]

    def add(self, kind: str, name: str, given: Any, gave: Any, **more: Any) -> None:
        self.now += timedelta(seconds=1)
        start, self.now = self.now, self.now + timedelta(seconds=2)
        self.rows.append({"id": f"{self.trace}-{len(self.rows)}", "type": kind, "name": name, "startTime": start, "endTime": self.now,
                          "parentObservationId": f"{self.trace}-root", "input": given, "output": gave, **more})

    def model(self, told: list[Json], answer: Json) -> None:
        usage = {"input": 300, "input_cached_tokens": 600, "output": 30, "output_reasoning_tokens": 10, "total": 940}
        self.add("GENERATION", "chat", told, answer, model=MODEL, usageDetails=usage,
                 costDetails={"input": 0.001, "output": 0.003, "total": 0.004})

    def done(self, **root: Any) -> list[Json]:
        self.rows[0] |= {"endTime": self.now + timedelta(seconds=1), **root}
        common = {"traceId": self.trace, "projectId": "p", "level": "DEFAULT", "environment": "default"}
        models = [parse_obj_as(ObservationV2, {**common, **row}) for row in self.rows]
        return [json.loads(model.json(by_alias=True, exclude_none=True)) for model in models]


def solved() -> list[Json]:
    log = Recorder("trace-1")
    told: list[Json] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ISSUE}]
    for number, turn in enumerate((LOOK, REPRODUCE, CHECK, None), 1):
        answer: Json = {"role": "assistant", "content": turn.thought if turn else "Leap years are read."}
        if turn:
            name, arguments = native(turn)
            answer["tool_calls"] = [{"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]
        log.model(told, answer)
        if turn is None:
            break
        failed = {"level": "ERROR", "statusMessage": "exit code: 1"} if turn.exit_code else {}
        if turn is not CHECK:
            log.add("TOOL", name, arguments, None if failed else turn.output, **failed)
        told = [*told, answer, {"role": "tool", "tool_call_id": f"c{number}", "content": turn.output}]
    return log.done()


def broken() -> list[Json]:
    log = Recorder("trace-2")
    log.model([{"role": "user", "content": ISSUE}], {"role": "assistant", "content": "I look"})
    log.add("SPAN", "plan", None, None)
    return log.done(level="ERROR", statusMessage="overloaded")


def underscored(row: Json) -> Json:
    """As the blob storage spells it."""
    spelled = {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower(): value for name, value in row.items()}
    for name in ("start_time", "end_time"):
        if name in spelled:
            spelled[name] = spelled[name].replace("T", " ").replace("Z", ".000000").replace("+00:00", "")
    return spelled


def write_csv(path: Path, rows: list[Json]) -> None:
    """As the notes on CSV of the field reference say: objects as JSON text, null and what is not set as an empty cell."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            values = [row.get(name) for name in columns]
            writer.writerow(["" if v is None else v if isinstance(v, str) else json.dumps(v) for v in values])


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    rows = [*solved(), *broken()]
    write_json(out / "api" / "page.json", {"data": rows, "meta": {"cursor": None}})
    write_lines(out / "ui" / "observations.jsonl", [row | {"input": json.dumps(row.get("input"))} for row in rows])
    write_lines(out / "blob" / "observations_v2" / "2026-01-01.jsonl", [underscored(row) for row in rows])
    write_csv(out / "blob_csv" / "observations_v2" / "2026-01-01.csv", [underscored(row) for row in rows])
    scores = [{"id": "s1", "name": "style", "value": 0.5, "dataType": "NUMERIC", "source": "API"},
              {"id": "s2", "name": "tone", "value": None, "stringValue": "good", "dataType": "CATEGORICAL", "source": "API"}]
    head = {"id": "trace-1", "name": "coder", "timestamp": "2026-01-01T00:00:00.000Z", "tags": [], "sessionId": None, "totalCost": 0.016}
    write_json(out / "trace" / "trace-trace-1.json", {**head, "observations": solved(), "scores": scores})
    nested = {"trace": {**head, "id": "trace-2", "totalCost": 0.004, "scores": []}, "observations": broken()}
    write_json(out / "trace" / "trace-trace-2.json", nested)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
