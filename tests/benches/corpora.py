"""Makes the corpora that the benches read: big, varied, the same bytes for the same seed and Python.

Text is taken from Python's own standard library, so that escapes, indentation and lengths of lines are real.
Pieces are serialised once and joined, which writes a gigabyte in seconds.
"""

from __future__ import annotations

import json
import random
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

MEGABYTE = 1_000_000
SHARD_BYTES = 64 * MEGABYTE
TURNS, CALL_SHARE = 54, 46 / 54
REPEATED_SHARE = 0.285
VERL_ROWS_PER_STEP = 1024


@dataclass(frozen=True)
class Written:
    """What a writer wrote, so that a reader's counts can be compared."""

    files: int
    records: int
    tool_calls: int
    bytes: int


def escaped(text: str) -> bytes:
    """The inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


@cache
def source_lines() -> tuple[str, ...]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    lines: list[str] = []
    for path in sorted(folder.glob("*.py")):
        lines += path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    return tuple(lines)


@cache
def pieces(lines_each: int, count: int) -> tuple[bytes, ...]:
    """Serialised runs of consecutive lines of the standard library."""
    rng = random.Random(lines_each)
    lines = source_lines()
    starts = (rng.randrange(len(lines) - lines_each) for _ in range(count))
    return tuple(escaped("".join(lines[start : start + lines_each])) for start in starts)


@cache
def sentences() -> tuple[bytes, ...]:
    """What an agent says between commands: comment lines of the standard library."""
    comments = [line.strip("# \n") for line in source_lines() if line.lstrip().startswith("# ")]
    return tuple(escaped(comment) + b". " for comment in comments if len(comment) > 30)


@cache
def file_names() -> tuple[bytes, ...]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    return tuple(sorted(path.name.encode() for path in folder.glob("*.py")))


REPEATED = tuple(
    escaped(command)
    for command in (
        "ls",
        "ls -la",
        "pwd",
        "git status",
        "git diff",
        "git diff --stat",
        "python -m pytest",
        "python -m pytest -q",
        "python -m pytest tests",
        "python reproduce.py",
        "cat setup.py",
        "cat setup.cfg",
        "cat pyproject.toml",
        "ls tests",
        "find . -name '*.py' | head -n 50",
        "git log --oneline | head",
        "python test_fix.py",
        "rm reproduce.py",
        "cat patch.txt",
        "git stash",
        "git stash pop",
        "pip list | head -n 40",
        "cd /testbed && ls",
        "python --version",
    )
)


def plain_command(rng: random.Random, name: bytes, number: int) -> bytes:
    return b"cd /testbed && cat lib/%b | head -n %d" % (name, number)


def line_range(rng: random.Random, name: bytes, number: int) -> bytes:
    return b"sed -n '%d,%dp' lib/%b" % (number, number + 40, name)


def search(rng: random.Random, name: bytes, number: int) -> bytes:
    return b'grep -rn \\"def _part_%d\\" lib/%b --include=*.py | sort | head -n 20' % (number, name)


def edit(rng: random.Random, name: bytes, number: int) -> bytes:
    return b"sed -i '%ds/return None/return result/' lib/%b && git diff lib/%b" % (number, name, name)


def one_liner(rng: random.Random, name: bytes, number: int) -> bytes:
    return b'python -c \\"import %b; print(%b.__doc__[:%d])\\"' % (name[:-3], name[:-3], number)


def run_tests(rng: random.Random, name: bytes, number: int) -> bytes:
    return rng.choice(
        (
            b"python -m pytest -q tests/test_%b.py::TestPart::test_case_%d",
            b"python -m pytest tests/test_%b.py -k part_%d -x 2>&1 | tail -n 30",
            b"PYTHONPATH=lib python -m unittest tests.test_%b.TestPart%d",
            b"python -m pytest -q tests/test_%b.py -k 'not part_%d'",
        )
    ) % (name[:-3], number)


def here_document(rng: random.Random, name: bytes, number: int) -> bytes:
    body = rng.choice(pieces(12, 3000))
    return b"cat > reproduce_%d.py <<'EOF'\\n%bEOF\\npython reproduce_%d.py" % (number, body, number)


def patch_script(rng: random.Random, name: bytes, number: int) -> bytes:
    body = rng.choice(pieces(12, 3000))
    return (
        b"python - <<'PY'\\nfrom pathlib import Path\\npath = Path('lib/%b')\\ntext = path.read_text()\\n"
        b"# step %d\\n%bpath.write_text(text)\\nPY"
    ) % (name, number, body)


KINDS = (
    plain_command,
    line_range,
    line_range,
    search,
    search,
    edit,
    one_liner,
    run_tests,
    run_tests,
    here_document,
    patch_script,
)


def command(rng: random.Random) -> bytes:
    """One serialised shell command; about 71 % of all commands of a corpus are distinct."""
    if rng.random() < REPEATED_SHARE:
        return rng.choice(REPEATED)
    return rng.choice(KINDS)(rng, rng.choice(file_names()), rng.randrange(1, 30_000))


@dataclass(frozen=True)
class Turn:
    """One turn, serialised: what was said, the command if any, what came back, and the exit code."""

    said: bytes
    command: bytes | None
    output: bytes
    exit_code: int


def turns(rng: random.Random, output_share: float = 1.0) -> list[Turn]:
    """The turns of one trajectory: about 54, of 270 KB ± 60 % as chat rows."""
    scale = rng.uniform(0.4, 1.6) * 3.95 * output_share
    result = []
    for _ in range(max(8, round(rng.gauss(TURNS, 9)))):
        said = b"".join(rng.choices(sentences(), k=rng.randrange(2, 6)))
        call = command(rng) if rng.random() < CALL_SHARE else None
        output = b"".join(rng.choices(pieces(30, 6000), k=1 + int(rng.expovariate(1 / scale)))) if call else b""
        result.append(Turn(said, call, output, int(rng.random() < 0.18)))
    return result


def chat_row(rng: random.Random, number: int) -> tuple[bytes, int]:
    """One row of OpenAI chat messages, and its number of tool calls."""
    task = b"".join(rng.choices(pieces(12, 3000), k=4))
    parts = [
        b'{"instance_id": "bench__task-%d", "messages": [{"role": "system", "content": '
        b'"You are a coding agent."}, '
        b'{"role": "user", "content": "%b"}' % (number, task)
    ]
    calls = 0
    for turn in turns(rng):
        if turn.command is None:
            parts.append(b', {"role": "assistant", "content": "%b"}, {"role": "user", "content": "Go on."}' % turn.said)
            continue
        inner = turn.command.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        parts.append(
            b', {"role": "assistant", "content": "%b", "tool_calls": [{"id": "call_%d", "type": "function", '
            b'"function": {"name": "bash", "arguments": "{\\"command\\": \\"%b\\"}"}}]}, {"role": "tool", '
            b'"tool_call_id": "call_%d", "content": "<returncode>%d</returncode>\\n<output>\\n%b</output>"}'
            % (turn.said, calls, inner, calls, turn.exit_code, turn.output)
        )
        calls += 1
    solved = rng.random() < 0.45
    parts.append(
        b'], "resolved": %b, "exit_status": "%b", "model": "bench-model", "reward": %.1f}'
        % (b"true" if solved else b"false", rng.choice((b"submitted", b"submitted", b"max_steps")), solved)
    )
    return b"".join(parts), calls


def mini_document(rng: random.Random, number: int) -> tuple[bytes, int]:
    """One mini-swe-agent-1.1 document; the output stands in it twice, so it is half as long."""
    task = b"".join(rng.choices(pieces(12, 3000), k=4))
    parts = [
        b'{\n  "info": {"model_stats": {"instance_cost": 0.1, "api_calls": %d}, "config": '
        b'{"model": {"model_name": '
        b'"bench-model"}}, "mini_version": "2.4.6", "exit_status": "Submitted", "submission": ""},\n'
        b'  "messages": [\n{"role": "system", "content": "You are a coding agent."},\n'
        b'{"role": "user", "content": "%b"}'
    ]
    calls = 0
    for turn in turns(rng, 0.5):
        shell = turn.command or rng.choice(REPEATED)
        parts.append(
            b',\n{"role": "assistant", "content": "THOUGHT: '
            b'%b\\n\\n```mswea_bash_command\\n%b\\n```", "extra": '
            b'{"actions": [{"command": "%b"}], "cost": 0.002, "timestamp": %d.5}},\n{"role": '
            b'"user", "content": '
            b'"<returncode>%d</returncode>\\n<output>\\n%b</output>", "extra": {"raw_output": '
            b'"%b", "returncode": '
            b'%d, "timestamp": %d.9, "exception_info": ""}}'
            % (
                turn.said,
                shell,
                shell,
                1_760_000_000 + 9 * calls,
                turn.exit_code,
                turn.output,
                turn.output,
                turn.exit_code,
                1_760_000_004 + 9 * calls,
            )
        )
        calls += 1
    parts[0] = parts[0] % (calls, task)
    parts.append(
        b',\n{"role": "exit", "content": "", "extra": {"exit_status": "Submitted", "submission": ""}}\n  ],\n'
        b'  "trajectory_format": "mini-swe-agent-1.1",\n  "instance_id": "bench__task-%d"\n}' % number
    )
    return b"".join(parts), calls


def records(seed: int, budget: int, layout: Literal["jsonl", "files"]) -> Iterator[tuple[bytes, int]]:
    """Records until the budget in bytes is spent; at least one."""
    make = chat_row if layout == "jsonl" else mini_document
    spent = number = 0
    while spent < budget or not number:
        record, calls = make(random.Random(seed * 1_000_003 + number), number)
        spent += len(record) + 1
        number += 1
        yield record, calls


def write_swe(folder: Path, megabytes: float, seed: int, layout: Literal["jsonl", "files"] = "jsonl") -> Written:
    """Write trajectories of a coding agent: shards of chat rows, or one mini-swe-agent file for each."""
    folder.mkdir(parents=True, exist_ok=True)
    if layout == "files":
        return _write_documents(folder, int(megabytes * MEGABYTE), seed)
    count = calls = size = shard = 0
    file = (folder / "shard_0000.jsonl").open("wb")
    try:
        for record, record_calls in records(seed, int(megabytes * MEGABYTE), "jsonl"):
            if file.tell() >= SHARD_BYTES:
                size += file.tell()
                shard += 1
                file.close()
                file = (folder / f"shard_{shard:04d}.jsonl").open("wb")
            file.write(record + b"\n")
            count += 1
            calls += record_calls
        size += file.tell()
    finally:
        file.close()
    return Written(shard + 1, count, calls, size)


def _write_documents(folder: Path, budget: int, seed: int) -> Written:
    count = calls = size = 0
    for record, record_calls in records(seed, budget, "files"):
        name = f"bench__task-{count}"
        (folder / name).mkdir(exist_ok=True)
        (folder / name / f"{name}.traj.json").write_bytes(record)
        count += 1
        calls += record_calls
        size += len(record)
    return Written(count, count, calls, size)


def write_one_document(path: Path, megabytes: float, seed: int) -> Written:
    """Write a single JSON list of chat rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = calls = 0
    with path.open("wb") as file:
        for record, record_calls in records(seed, int(megabytes * MEGABYTE), "jsonl"):
            file.write((b",\n" if count else b"[") + record)
            count += 1
            calls += record_calls
        file.write(b"]\n")
        return Written(1, count, calls, file.tell())


VERL_INPUT = escaped(
    "system\nYou solve problems with a tool.\n\n# Tools\n\nYou may call one or more "
    "functions to assist with the user "
    'query.\n<tools>\n{"type": "function", "function": {"name": "python", '
    '"parameters": {"type": "object", "properties": '
    '{"code": {"type": "string"}}}}}\n</tools>\n\nFor each function call, return a '
    "json object with function name and "
    "arguments within <tool_call></tool_call> XML tags.\nuser\n"
)


def verl_output(rng: random.Random) -> tuple[bytes, int]:
    """Flat text of two to five turns: think, call, response, then an answer."""
    parts = []
    calls = rng.randrange(1, 5)
    for _ in range(calls):
        think = b"\\n".join(rng.choices(sentences(), k=rng.randrange(3, 8)))
        code = rng.choice(pieces(6, 4000)).replace(b"\\", b"\\\\").replace(b'\\\\"', b'\\\\\\"')
        parts.append(
            b'<think>\\n%b\\n</think>\\n\\n<tool_call>\\n{\\"name\\": \\"python\\", \\"arguments\\": '
            b'{\\"code\\": '
            b'\\"%b\\"}}\\n</tool_call>\\nuser\\n<tool_response>\\n%b</tool_response>\\nassistant\\n'
            % (think, code, rng.choice(pieces(18, 3000)))
        )
    parts.append(b"<think>\\n%b\\n</think>\\n\\nAnswer: %d" % (rng.choice(sentences()), rng.randrange(1000)))
    return b"".join(parts), calls


def write_verl(folder: Path, megabytes: float, seed: int) -> Written:
    """Write verl-style dumps: ``{step}.jsonl`` of 1024 rows, 128 prompts with eight samples each."""
    folder.mkdir(parents=True, exist_ok=True)
    budget = int(megabytes * MEGABYTE)
    count = calls = size = step = 0
    while size < budget:
        step += 1
        rng = random.Random(seed * 1_000_003 + step)
        with (folder / f"{step}.jsonl").open("wb") as file:
            question = b""
            for row in range(VERL_ROWS_PER_STEP):
                if row % 8 == 0:
                    question = b"".join(rng.choices(sentences(), k=4))
                output, row_calls = verl_output(rng)
                acc = float(rng.random() < 0.5)
                file.write(
                    b'{"input": "%b%b\\nassistant\\n", "output": "%b", "gts": "%d", "score": %.1f, '
                    b'"step": %d, '
                    b'"acc": %.1f, "request_id": "%032x"}\n'
                    % (VERL_INPUT, question, output, row, acc, step, acc, rng.getrandbits(128))
                )
                calls += row_calls
                count += 1
                if size + file.tell() >= budget:
                    break
            size += file.tell()
    return Written(step, count, calls, size)
