"""agent-lightning 1.x: ``step_{N}/{train|validation}_trajectories.jsonl.zip``, an artefact of wandb; spans of 0.3.

A line of the artefact holds the last call of a rollout: its context and its answer. The turns before it stand in the
context and are read from there, where the tokens of the template tell them; what earlier contexts held beyond it was
never saved.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from trajlab.formats import Variant
from trajlab.formats._agent_lightning_spans import KEYS, read_spans
from trajlab.formats._chat_text import parse_conversation, tools_in_prompt
from trajlab.formats._chat_text.turns import is_marked
from trajlab.formats._trainer_rows import Fields, Row, add_cleaning, decoded_row, prompt_task
from trajlab.formats._trainer_turns import add_cut, fill_from_text, prompt_text
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.streams import MAX_EXPANSION, MAX_RECORD_BYTES, MAX_UNCHECKED_BYTES, Line

VARIANTS = {
    "last_call": Variant(
        "`{train|validation}_trajectories.jsonl.zip`: rollout_id, reward, prompt and response of the last call",
        frozenset(
            {
                "native_id", "task_id", "group_id", "split", "train_step", "agent", "reward", "logged_termination",
                "stop_reason", "tools_offered",
            }
        ),
    ),
    "spans": Variant(
        "0.3: spans of a LightningStore with `rollout_id`, `attempt_id`, `sequence_id`, as JSON lines or list",
        frozenset(
            {
                "native_id", "task_id", "agent", "model", "reward", "prompt_tokens", "completion_tokens",
                "cached_tokens", "seconds", "started_at",
            }
        ),
        whole=True,
    ),
}  # fmt: skip

_MEMBER = re.compile(r"(?:train|validation)_trajectories\.jsonl")
_STEP_FOLDER = re.compile(r"step_(\d{1,12})")


def recognise(probe: Probe) -> str | None:
    """By the name of the first member, or the keys of the first span."""
    if probe.shape in ("lines", "list"):
        head = next(iter(probe.records), None)
        return "spans" if isinstance(head, dict) and set(head) >= KEYS else None
    if probe.shape != "zip":
        return None
    return "last_call" if _MEMBER.match(probe.head[30:100].decode("latin-1")) else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a line of the one member, or an attempt of which there are spans."""
    if bundle.variant == "spans":
        yield from read_spans(bundle)
        return
    folders = PurePosixPath(bundle.file.relpath).parts[:-1]
    found = next((match for part in reversed(folders) if (match := _STEP_FOLDER.fullmatch(part))), None)
    step = int(found[1]) if found else None
    try:
        with zipfile.ZipFile(bundle.file.path) as archive:
            info = next((info for info in archive.infolist() if _MEMBER.fullmatch(info.filename)), None)
            problem = _refused(info)
            if info is None or problem is not None:
                yield problem or Problem("unreadable_record", "no member `{train|validation}_trajectories.jsonl`")
                return
            split = info.filename.partition("_")[0]
            for row in _rows(archive, info):
                yield row if isinstance(row, Problem) else _trajectory(row, step, split)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        yield Problem("truncated_archive", f"the archive cannot be read on: {str(error)[:200]}")


def _refused(info: zipfile.ZipInfo | None) -> Problem | None:
    """A member that expands as no log does; it gives no more bytes than it states."""
    if info is None or info.file_size <= max(MAX_UNCHECKED_BYTES, MAX_EXPANSION * info.compress_size):
        return None
    message = f"a member of {info.file_size} bytes from {info.compress_size}; it is not read"
    return Problem("expansion_limit", message)


def _rows(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[Row | Problem]:
    offset = 0
    with archive.open(info) as member:
        number = 0
        while data := member.readline(MAX_RECORD_BYTES):
            number += 1
            if data.strip():
                line = Line(data.rstrip(b"\n"), offset, number, data.endswith(b"\n"))
                yield decoded_row(line, str(offset), by_line=True)
            offset += len(data)


def _trajectory(row: Row, step: int | None, split: str) -> Trajectory:
    problems: list[Problem] = []
    fields = Fields(row.value, row, problems)
    trajectory = Trajectory("last_call", row.ordinal, train_step=step, split=split, line=row.line)
    trajectory.agent = "agent_lightning"
    trajectory.native_id = fields.word("rollout_id")
    prompt, response = fields.text("prompt"), fields.text("response") or ""
    if prompt is not None and is_marked(prompt):
        conversation = parse_conversation(prompt + response)
        trajectory.messages, trajectory.steps = conversation.messages, conversation.steps
        trajectory.tools_offered = tools_in_prompt(prompt)
        add_cut(trajectory, conversation.cut_off)
    else:
        fill_from_text(trajectory, response, prompt)
    trajectory.task_id = prompt_task(prompt_text(trajectory.messages))
    if trajectory.task_id is not None and step is not None:
        trajectory.group_id = f"{step}:{trajectory.task_id.removeprefix('prompt:')}"
    trajectory.reward = fields.number("reward")
    trajectory.problems += problems
    add_cleaning(trajectory, row)
    return trajectory
