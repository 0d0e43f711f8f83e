"""Speed of every reader beside the chat reader: ``python tests/benches/formats.py`` prints JSON.

Each sample of ``data_samples`` is repeated until there is enough to measure: the lines of line files in one file, other
files as many copies of themselves (a document, or the folder of a conversation). What is counted is the CPU time of
``read`` in a fresh process, without the garbage collector, as an ingest reads. A ratio of 2 is twice the time for the
same bytes that the chat reader takes for its own.

What no reader of ours can go below is measured in the same process, in the same unit, and printed for whatever takes
more than three times the chat reader's time: the files opened and read and nothing else, which is most of the time for
trees of tiny files; for YAML PyYAML's events of libyaml; for Parquet pyarrow's batches.

``--inspect`` measures something else: an ``.eval`` log of 200 samples, all their messages distinct, against
``inspect_ai.analysis.messages_df`` on the same file, in one process (needs inspect-ai; without it the row says so).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY)]
SAMPLES = REPOSITORY / "data_samples"
BASELINE = ("chat", "openai")
MOST_COPIES = 200
WANTED = 3


def sample_bundles() -> dict[tuple[str, str], list[Path]]:
    """Files of the largest sample of every variant."""
    from trajlab.corpus.plan import claim, gathered
    from trajlab.sources.discover import discover

    claims = [claim(file, None) for file in discover([SAMPLES]).files]
    logs = [one for one in claims if one.role == "log" and "edge_cases" not in one.file.relpath]
    best: dict[tuple[str, str], list[Path]] = {}
    for members in gathered(logs):
        key = (members[0].format or "", members[0].variant or "")
        files = [Path(member.file.path) for member in members]
        if size_of(files) > size_of(best.get(key, [])):
            best[key] = files
    return best


def size_of(files: list[Path]) -> int:
    return sum(path.stat().st_size for path in files)


def repeat(files: list[Path], folder: Path, size: int) -> None:
    """Write copies of a sample below a folder until they have this size."""
    first = files[0]
    times = max(2, min(MOST_COPIES, size // size_of(files)))
    if len(files) == 1 and first.suffix == ".jsonl" and len(first.read_bytes().splitlines()) > 1:
        data = first.read_bytes()
        target = folder / first.relative_to(SAMPLES)
        target.parent.mkdir(parents=True)
        target.write_bytes((data if data.endswith(b"\n") else data + b"\n") * (size // len(data)))
        return
    for number in range(times):
        for path in files:
            target = folder / str(number) / path.relative_to(SAMPLES)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def child(folder: str) -> None:
    """Read all logs below a folder and print their bytes, records and the CPU time of reading."""
    from trajlab.corpus.plan import UnitSizes, claim, pack
    from trajlab.formats import log_format
    from trajlab.sources.discover import discover

    logs = [one for one in (claim(file, None) for file in discover([folder]).files) if one.role == "log"]
    units = pack(logs, forced_run=False, keep_texts=False, read_to={}, sizes=UnitSizes())
    bundles = [item.bundle for unit in units for item in unit.bundles]
    gc.disable()  # as where units are read
    spent, records = cpu(lambda: sum(1 for bundle in bundles for _ in log_format(bundle.format).read(bundle)))
    least, _ = cpu(lambda: [only_parsed(one.file.path) for one in logs])
    size = sum(one.file.size for one in logs)
    print(json.dumps({"cpu": spent, "least": least, "bytes": size, "records": records}))


def only_parsed(path: str) -> None:
    """What has to be done with a file before anything can be made of it."""
    if path.endswith(".parquet"):
        with pq.ParquetFile(path) as table:
            deque(table.iter_batches(batch_size=64), 0)
        return
    descriptor = os.open(path, os.O_RDONLY)
    data = os.read(descriptor, os.fstat(descriptor).st_size)
    os.close(descriptor)
    if path.endswith(".yaml"):
        deque(yaml.parse(data.decode(), Loader=yaml.CSafeLoader), 0)


def measure(files: list[Path], size: int, repeats: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="trajlab-bench-") as folder:
        repeat(files, Path(folder), size)
        command = [sys.executable, __file__, "--child", folder]
        costs = [
            json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            for _ in range(repeats)
        ]
    return min(costs, key=lambda cost: cost["cpu"])


def distinct_log(source: Path, path: Path, samples: int) -> None:
    """Write a log of many samples by Inspect's own writer, no message of which is like another's in id or text."""
    from inspect_ai.log import (  # type: ignore[import-not-found,unused-ignore]
        EvalSample,
        read_eval_log,
        write_eval_log,
    )

    log = read_eval_log(str(source), resolve_attachments="full")
    templates = list(log.samples or [])
    log.samples = []
    for number in range(samples):
        template = templates[number % len(templates)]
        text = template.model_dump_json()
        for message in template.messages:
            text = text.replace(json.dumps(message.id), json.dumps(f"{message.id}-{number}"))
        for said in {m.text for m in template.messages if m.text}:
            known, told = (json.dumps(words, ensure_ascii=False) for words in (said, f"{said} ({number})"))
            text = text.replace(known, told)
        named = {"id": str(number), "epoch": 1, "uuid": f"sample-{number}"}
        log.samples.append(EvalSample.model_validate_json(text).model_copy(update=named))
    if log.results is not None:
        log.results.total_samples = log.results.completed_samples = samples
    write_eval_log(log, str(path))


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and what it gave."""
    start = time.process_time()
    given = work()
    return time.process_time() - start, given


def against_inspect(samples: int, rounds: int) -> dict[str, object]:
    """CPU time of Inspect's own table of messages against our reader and a whole ingest, round by round on one file."""
    try:
        from inspect_ai.analysis import messages_df  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return {"skipped": "inspect-ai is not installed here"}
    import trajlab
    from trajlab.formats import log_format
    from trajlab.sources.discover import discover
    from trajlab.sources.files import Bundle

    source = max((SAMPLES / "inspect_log" / "zstd").rglob("*.eval"), key=lambda path: path.stat().st_size)
    with tempfile.TemporaryDirectory(prefix="trajlab-bench-") as folder:
        path = Path(folder) / "large.eval"
        distinct_log(source, path, samples)
        file = discover([path]).files[0]
        bundle = Bundle("inspect_log", "eval", (file,))
        messages_df(str(source), quiet=True)  # what each of them sets up once is no part of any round
        trajlab.read(source)
        times: list[tuple[float, float, float]] = []
        for _ in range(rounds):
            theirs, table = cpu(lambda: messages_df(str(path), quiet=True))
            reader, read = cpu(lambda: sum(1 for _ in log_format("inspect_log").read(bundle)))
            ingest, corpus = cpu(lambda: trajlab.read(path, jobs=1))
            times.append((theirs, reader, ingest))
        texts = table["content"][table["content"] != ""]
        median = [statistics.median(column) for column in zip(*times, strict=True)]
        return {
            "megabytes": round(file.size / 1e6, 2), "samples": read, "rounds": rounds,
            "rows of messages_df": len(table), "distinct ids": table["message_id"].nunique(),
            "texts": len(texts), "distinct texts": texts.nunique(),
            "messages read": corpus.messages.collect().height,
            "messages_df_seconds": round(median[0], 2), "reader_seconds": round(median[1], 3),
            "ingest_seconds": round(median[2], 3),
            "messages_df_vs_reader": round(statistics.median(theirs / reader for theirs, reader, _ in times), 1),
            "messages_df_vs_ingest": round(statistics.median(theirs / ingest for theirs, _, ingest in times), 1),
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=4, help="size that each sample is repeated to")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--format", help="only this format, beside the chat reader")
    parser.add_argument("--inspect", action="store_true", help="only an .eval log against Inspect's own reader")
    parser.add_argument("--samples", type=int, default=200, help="of the log for --inspect")
    parser.add_argument("--rounds", type=int, default=5, help="of --inspect; ratios are medians over rounds")
    parser.add_argument("--child", metavar="FOLDER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inspect:
        print(json.dumps({"inspect": against_inspect(arguments.samples, arguments.rounds)}, indent=1))
        return
    if arguments.child:
        child(arguments.child)
        return
    size = int(arguments.megabytes * 1e6)
    samples = {
        key: files
        for key, files in sorted(sample_bundles().items())
        if key == BASELINE or arguments.format in (None, key[0])
    }
    costs = {key: measure(files, size, arguments.repeats) for key, files in samples.items()}
    rates = {key: cost["bytes"] / cost["cpu"] for key, cost in costs.items()}
    ratios = {f"{name}/{variant}": round(rates[BASELINE] / rate, 2) for (name, variant), rate in rates.items()}
    least = {f"{name}/{variant}": round(rates[BASELINE] * cost["least"] / cost["bytes"], 2)
             for (name, variant), cost in costs.items() if ratios[f"{name}/{variant}"] > WANTED}  # fmt: skip
    chat = {"megabytes_per_cpu_second": round(rates[BASELINE] / 1e6, 1)}
    result = {"time_for_the_same_bytes_vs_chat": ratios, "of_which_none_can_be_saved": least, "chat": chat}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
