"""Speed and memory of ingest as ratios from one run: ``python tests/benches/ingest.py`` prints one JSON line.

Every measurement runs in a fresh process (caches cold) and counts the CPU time of the work itself, imports left out on
both sides (those of worker processes count); memory is the peak of the process. A ratio is of two pieces of work of the
same round, in which each runs once, so that a machine that slows down does so for both; the median of the rounds is
printed, and the least and greatest under ``ranges``. The corpora are made by ``corpora.py`` in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests"), str(Path(__file__).resolve().parent)]

import corpora  # noqa: E402
from peak_memory import peak_memory  # noqa: E402


def files(folder: str) -> list[Path]:
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


def orjson_parse(source: str, out: str) -> Callable[[], None]:
    import orjson

    def work() -> None:
        for path in files(source):
            with path.open("rb", buffering=1 << 20) as file:
                for line in file:
                    orjson.loads(line)

    return work


def ingest(source: str, out: str, *, texts: bool, jobs: int = 1) -> Callable[[], None]:
    import numpy.ma  # noqa: F401 - polars imports it with its first array

    import trajlab
    import trajlab.api
    from trajlab import formats, metric_logs

    for name in [*formats.LOGS, *formats.FALLBACK_LOGS]:
        formats.log_format(name)
    for name in formats.COMPANIONS:
        formats.companion_format(name)
    for name in metric_logs.METRIC_LOGS:
        metric_logs.metric_format(name)

    def work() -> None:
        trajlab.ingest(source, out=out, jobs=jobs, texts=texts)

    return work


def pandas_loop(source: str, out: str) -> Callable[[], None]:
    """The usual notebook: json, a few regular expressions, a list of dictionaries, a data frame."""
    import re

    import pandas as pd
    import pyarrow.parquet  # noqa: F401 - pandas imports it with its first Parquet file

    test = re.compile(r"\b(pytest|unittest|tox|runtests\.py|manage\.py test)\b")
    inline = re.compile(r"python3? (-c|- <<)")
    edit = re.compile(r"(sed -i|cat >|>>|tee |str_replace|apply_patch)")
    code = re.compile(r"exit code:? (-?\d+)|<returncode>(-?\d+)</returncode>", re.IGNORECASE)

    def work() -> None:
        rows, calls = [], []
        for path in files(source):
            frame = pd.read_json(path, lines=True)
            for _, row in frame.iterrows():
                steps = tests = 0
                for message in row["messages"]:
                    if message["role"] == "assistant":
                        steps += 1
                        for call in message.get("tool_calls") or []:
                            command = json.loads(call["function"]["arguments"]).get("command", "")
                            kind = "test" if test.search(command) else "inline" if inline.search(command) else "other"
                            tests += kind == "test"
                            calls.append({"id": row["instance_id"], "step": steps, "command": command, "kind": kind,
                                          "edit": bool(edit.search(command))})  # fmt: skip
                    elif message["role"] == "tool":
                        found = code.search(message["content"])
                        calls[-1]["exit"] = found.group(0) if found else None
                rows.append({"id": row["instance_id"], "steps": steps, "tests": tests, "resolved": row.get("resolved")})
        Path(out).mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_parquet(Path(out) / "trajectories.parquet")
        pd.DataFrame(calls).to_parquet(Path(out) / "calls.parquet")

    return work


def re_loop(source: str, out: str) -> Callable[[], None]:
    """The usual notebook over flat rollout text: json and lazy regular expressions, to turns, calls and answers."""
    import re

    turn = re.compile(r"(.*?)(?:\nuser\n(.*?)\nassistant\n|\Z)", re.DOTALL)
    think = re.compile(r"<think>(.*?)</think>", re.DOTALL)
    tool_call = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
    answer = re.compile(r"<tool_response>\s*(.*?)\s*</tool_response>", re.DOTALL)
    roles = "system|user|assistant"
    message = re.compile(rf"^({roles})\n(.*?)(?=^(?:{roles})\n|\Z)", re.DOTALL | re.MULTILINE)

    def calls(text: str) -> list[Any]:
        found = []
        for body in tool_call.findall(text):
            try:
                found.append(json.loads(body))
            except ValueError:
                found.append(None)
        return found

    def work() -> None:
        for path in files(source):
            with path.open(encoding="utf-8") as file:
                for line in file:
                    row = json.loads(line)
                    prompt = message.findall(row["input"])
                    turns = [
                        {"think": think.findall(said), "calls": calls(said), "answers": answer.findall(back or ""),
                         "text": think.sub("", tool_call.sub("", said))}
                        for said, back in turn.findall(row["output"])
                        if said
                    ]  # fmt: skip
                    assert turns and prompt

    return work


def flat_read(source: str, out: str) -> Callable[[], None]:
    """Our reader of the same text: to the same turns, calls and answers."""
    from trajlab.corpus.plan import claim
    from trajlab.formats import log_format
    from trajlab.sources.discover import discover
    from trajlab.sources.files import Bundle

    bundles = [Bundle("verl", claim(file, None).variant or "", (file,)) for file in discover([source]).files]

    def work() -> None:
        for bundle in bundles:
            for _ in log_format("verl").read(bundle):
                pass

    return work


WORK: dict[str, Callable[[str, str], Callable[[], None]]] = {
    "orjson": orjson_parse,
    "pandas": pandas_loop,
    "re": re_loop,
    "flat_read": flat_read,
    "ingest": lambda source, out: ingest(source, out, texts=False),
    "ingest_texts": lambda source, out: ingest(source, out, texts=True),
    "ingest_two": lambda source, out: ingest(source, out, texts=False, jobs=2),
}


def child(name: str, source: str, out: str) -> None:
    """Do one piece of work and print its cost."""
    work = WORK[name](source, out)
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    cost = {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "rss": peak_memory(),
    }
    print(json.dumps(cost))


def measure(name: str, source: Path) -> dict[str, float]:
    """The cost of a piece of work in a fresh process."""
    with tempfile.TemporaryDirectory(prefix="trajlab-bench-") as out:
        command = [sys.executable, __file__, "--child", name, str(source), f"{out}/out"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    cost: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=256, help="size of the corpora of the ratios")
    parser.add_argument("--large", type=int, default=1024, help="size of the corpus of the scaling rows; 0: without")
    parser.add_argument("--document", type=int, default=700, help="size of the one JSON document; 0: without")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=3, metavar=("WORK", "SOURCE", "OUT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    with tempfile.TemporaryDirectory(prefix="trajlab-bench-") as folder:
        print(json.dumps(ratios(Path(folder), arguments)))


RATIOS = {
    "vs_pandas_loop": ("pandas", "ingest", "cpu"),
    "vs_orjson": ("ingest", "orjson", "cpu"),
    "vs_orjson_with_texts": ("texts", "orjson", "cpu"),
    "rss_growth_8x": ("large", "small", "rss"),
    "two_process_speedup": ("large", "two", "wall"),
    "flat_text_vs_re_loop": ("re", "flat", "cpu"),
    "flat_text_ingest_vs_re_loop": ("re", "flat_ingest", "cpu"),
}
"""What is divided by what, by the names of the measurements, and which of their costs."""


def ratios(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Write the corpora, measure in rounds, and compare."""
    swe, verl, small, large, one = (folder / name for name in ("swe", "verl", "small", "large", "one"))
    corpora.write_swe(swe, arguments.megabytes, 0)
    corpora.write_verl(verl, arguments.megabytes // 2, 0)
    work = {
        "orjson": ("orjson", swe), "ingest": ("ingest", swe), "texts": ("ingest_texts", swe), "pandas": ("pandas", swe),
        "flat": ("flat_read", verl), "re": ("re", verl), "flat_ingest": ("ingest", verl),
    }  # fmt: skip
    if arguments.large:
        corpora.write_swe(small, arguments.large / 8, 1)
        corpora.write_swe(large, arguments.large, 1)
        work |= {"small": ("ingest", small), "large": ("ingest", large), "two": ("ingest_two", large)}
    rounds = [{name: measure(*what) for name, what in work.items()} for _ in range(arguments.rounds)]
    told: dict[str, Any] = {}
    ranges: dict[str, list[float]] = {}
    for name, (above, below, cost) in RATIOS.items():
        if above in work:
            found = sorted(each[above][cost] / each[below][cost] for each in rounds)
            told[name] = round(median(found), 3)
            ranges[name] = [round(found[0], 3), round(found[-1], 3)]
    if arguments.document:
        corpora.write_one_document(one / "rollouts.json", arguments.document, 2)
        document = measure("ingest", one)
        told["one_document_700mb"] = round(document["rss"] / (arguments.document * 1e6), 3)
    told["ranges"] = ranges
    told["cpu_seconds"] = {name: round(median(each[name]["cpu"] for each in rounds), 3) for name in work}
    return told | {"megabytes": arguments.megabytes, "rounds": arguments.rounds}


if __name__ == "__main__":
    main()
