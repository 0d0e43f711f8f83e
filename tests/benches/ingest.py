"""Speed and memory of ingest as ratios from one run: ``python tests/benches/ingest.py`` prints one JSON line.

Every measurement runs in a fresh process (caches cold) and counts the CPU time of the work itself, imports left out on
both sides; memory is the peak of the process. The corpora are made by ``corpora.py`` in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY), str(Path(__file__).resolve().parent)]


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
    import trajlab
    import trajlab.api
    from trajlab.formats import LOGS, log_format

    for name in [*LOGS, "chat"]:
        log_format(name)
    return lambda: trajlab.ingest(source, out=out, jobs=jobs, texts=texts) and None


def pandas_loop(source: str, out: str) -> Callable[[], None]:
    """The usual notebook: json, a few regular expressions, a list of dictionaries, a data frame."""
    import re

    import pandas as pd

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
        "rss_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    print(json.dumps(cost))


def measure(name: str, source: Path, repeats: int = 1) -> dict[str, float]:
    """The cost of a piece of work in a fresh process; with repeats, the least of each."""
    costs = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="trajlab-bench-") as out:
            command = [sys.executable, __file__, "--child", name, str(source), f"{out}/out"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        costs.append(json.loads(done.stdout.splitlines()[-1]))
    return {key: min(cost[key] for cost in costs) for key in costs[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=256, help="size of the corpora of the ratios")
    parser.add_argument("--large", type=int, default=1024, help="size of the corpus of the scaling rows")
    parser.add_argument("--document", type=int, default=700, help="size of the one JSON document")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--child", nargs=3, metavar=("WORK", "SOURCE", "OUT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    with tempfile.TemporaryDirectory(prefix="trajlab-bench-") as folder:
        print(json.dumps(ratios(Path(folder), arguments)))


def ratios(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    import corpora

    corpora.write_swe(folder / "swe", arguments.megabytes, 0)
    corpora.write_verl(folder / "verl", arguments.megabytes // 2, 0)
    corpora.write_swe(folder / "small", arguments.large / 8, 1)
    corpora.write_swe(folder / "large", arguments.large, 1)
    (folder / "one").mkdir()
    corpora.write_one_document(folder / "one" / "rollouts.json", arguments.document, 2)

    repeats = arguments.repeats
    floor = measure("orjson", folder / "swe", repeats)
    plain = measure("ingest", folder / "swe", repeats)
    texts = measure("ingest_texts", folder / "swe", repeats)
    pandas = measure("pandas", folder / "swe")
    flat, loop = measure("flat_read", folder / "verl", repeats), measure("re", folder / "verl")
    flat_ingest = measure("ingest", folder / "verl", repeats)
    small, large = measure("ingest", folder / "small"), measure("ingest", folder / "large", repeats)
    two = measure("ingest_two", folder / "large", repeats)
    document = measure("ingest", folder / "one")
    return {
        "vs_pandas_loop": round(pandas["cpu"] / plain["cpu"], 2),
        "vs_orjson": round(plain["cpu"] / floor["cpu"], 2),
        "vs_orjson_with_texts": round(texts["cpu"] / floor["cpu"], 2),
        "rss_growth_8x": round(large["rss_kb"] / small["rss_kb"], 3),
        "two_process_speedup": round(large["wall"] / two["wall"], 2),
        "flat_text_vs_re_loop": round(loop["cpu"] / flat["cpu"], 2),
        "flat_text_ingest_vs_re_loop": round(loop["cpu"] / flat_ingest["cpu"], 2),
        "one_document_700mb": round(document["rss_kb"] * 1024 / (arguments.document * 1e6), 3),
        "cpu_seconds": {
            "orjson": round(floor["cpu"], 3), "ingest": round(plain["cpu"], 3), "pandas": round(pandas["cpu"], 3),
            "flat": round(flat["cpu"], 3), "re_loop": round(loop["cpu"], 3),
        },
        "megabytes": arguments.megabytes,
    }  # fmt: skip


if __name__ == "__main__":
    main()
