"""verl: rollout and validation dumps, ``{dir}/{global_step}.jsonl`` with flat ``input`` and ``output``.

Both trainers' keys from 0.4.1 to 0.9.1. What they do not record stays null: tokens, end of the rollout,
model, and in the V1 trainer's training dumps any verdict (``correct`` needs a threshold given by the
user). Special tokens are dropped by the trainer; how turns are found again is told in
:mod:`trajlab.formats._chat_text.stripped`.

V1 validation writes one line per *output* of a session, with the score and ground truth of the session's
last output on each. They stay trajectories of their own, with one ``group_id`` and one ``attempt`` per
session; a ``session_outputs`` problem counts them, for whoever counts attempts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import msgspec
import xxhash

from trajlab.formats import Variant
from trajlab.formats._chat_text import parse_prompt, parse_response, tools_in_prompt
from trajlab.records import Message, Problem, RewardPart, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import Line, lines
from trajlab.sources.safe_json import Loaded, added, clean_text, is_non_finite, loads, to_bool, to_float, to_int

_CARRIED = frozenset(
    {
        "native_id", "task_id", "group_id", "split", "train_step", "agent", "reward", "logged_termination",
        "stop_reason", "tools_offered",
    }
)  # fmt: skip

VARIANTS: dict[str, Variant] = {
    "legacy": Variant(
        "RayPPOTrainer, 0.4.1 to 0.9.1: input, output, score, step, gts from 0.6.1, reward extras; "
        "`request_id` from agent loops; validation dumps have `reward` among the extras",
        _CARRIED | {"logged_correct"},
    ),
    "v1_train": Variant(
        "PPOTrainer (V1), training: input, output, gts, score, step, uid; no reward extras, no verdict",
        _CARRIED | {"attempt"},
    ),
    "v1_validation": Variant(
        "PPOTrainer (V1), validation: as v1_train, with reward extras (`reward`, `acc`, …); one line per "
        "output of a session",
        _CARRIED | {"attempt", "logged_correct"},
    ),
}

_BASE_KEYS = frozenset({"input", "output", "gts", "score", "step", "uid", "request_id"})
_NOT_COMPONENTS = frozenset({"reward", "index", "idx", "i", "id", "epoch", "split", "data_source", "num_turns", "pred"})
"""Extras that are no component: ``reward`` is the total once more, ``pred`` an answer, the others keep books."""
_NOT_COMPONENT_SUFFIXES = ("_id", "_index", "_idx", "_step", "_steps", "_turns", "_length", "_tokens")
_COMPONENT_WORDS = re.compile(r"acc|reward|score|format|bonus|penalt|correct|success")
"""Under these names text may be a number: 0.8 and later write numpy scalars as text, but ``pred`` is text."""
_VERDICTS = ("acc", "is_correct", "correct", "resolved")
_VALIDATION_WORDS = frozenset({"val", "validation", "eval", "evaluation"})
_TRAIN_WORDS = frozenset({"train", "training", "rollout", "rollouts"})
_WORD_BREAK = re.compile(r"[^a-z]+")
_STEP_FILE = re.compile(r"(\d{1,12})\.jsonl(?:\.(?:gz|zst|zstd|xz))?")
_MAX_KEPT = 512
_decode = msgspec.json.Decoder().decode


def recognise(probe: Probe) -> str | None:
    """The variant of the first record with texts under verl's keys; ``None`` where one without the keys comes first."""
    if probe.shape != "lines":
        return None
    for record in probe.records:
        if not isinstance(record, dict):
            continue
        if not {"input", "output"} <= record.keys():
            return None
        if not isinstance(record["output"], str):
            continue
        has_step = "step" in record or _STEP_FILE.fullmatch(probe.name) is not None
        if has_step and isinstance(record.get("input"), str) and _is_score(record.get("score")):
            return _variant(record, _session_of(record.get("uid")) is not None)
    return None


def _is_score(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, (int, float)) for item in value)
    return value is not None and (to_float(value) is not None or is_non_finite(value))


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory per line; a line that cannot be read is a problem and its neighbours stay."""
    problems: list[Problem] = []
    reader = _Reader(bundle.file.relpath)
    for line in lines(bundle, problems):
        if problems:
            yield from problems
            problems.clear()
        yield reader.read(line)
    yield from problems
    if reader.further_outputs:
        yield Problem(
            "session_outputs",
            f"{reader.further_outputs} records are further outputs of a session: score and ground truth of "
            "each are those of the session's last output",
        )


class _Prompt(msgspec.Struct, gc=False):
    text: str
    digest: str
    task_id: str
    messages: list[Message]
    tools: list[str] | None


class _Reader:
    """What lines of one file share."""

    def __init__(self, relpath: str) -> None:
        path = PurePosixPath(relpath)
        found = _STEP_FILE.fullmatch(path.name)
        self.file_step = int(found[1]) if found else None
        words = {word for part in path.parts[:-1] for word in _WORD_BREAK.split(part.lower())}
        self.split: str | None = None
        if words & _VALIDATION_WORDS:
            self.split = "validation"
        elif words & _TRAIN_WORDS:
            self.split = "train"
        self.further_outputs = 0
        self._prompts: dict[str, _Prompt] = {}
        self._extras: dict[tuple[str, ...], _Extras] = {}

    def read(self, line: Line) -> Trajectory | Problem:
        fixes: tuple[str, ...] = ()
        try:
            record = _decode(line.data)
        except (ValueError, RecursionError):
            loaded = _repaired(line)
            if isinstance(loaded, Problem):
                return loaded
            record, fixes = loaded.value, loaded.fixes
        if not isinstance(record, dict):
            return Problem("unreadable_record", "not a JSON object", line.number, line.offset)
        if not isinstance(record.get("output"), str):
            found = type(record["output"]).__name__ if "output" in record else "nothing"
            return Problem("wrong_type", f"`output` is no text but {found}", line.number, line.offset)
        trajectory = self._trajectory(record, line)
        if fixes:
            _note(trajectory, line, "cleaned", _cleaned(fixes, record))
        return trajectory

    def _trajectory(self, record: dict[str, Any], line: Line) -> Trajectory:
        prompt = self._prompt(record.get("input"))
        conversation = parse_response(record["output"], prompt.text if prompt else None)
        step = record.get("step")
        if type(step) is not int:
            step = to_int(step)
        trajectory = Trajectory(
            "legacy",
            str(line.offset),
            train_step=self.file_step if step is None else step,
            split=self.split or "train",
            agent="verl",
            line=line.number,
            messages=conversation.messages,
            steps=conversation.steps,
        )
        if prompt is not None:
            trajectory.messages = prompt.messages + conversation.messages
            trajectory.task_id = prompt.task_id
            trajectory.tools_offered = prompt.tools
        self._add_identity(trajectory, record, prompt)
        if conversation.cut_off is not None:
            trajectory.termination = "truncated_budget"
            trajectory.stop_reason = f"cut off inside {conversation.cut_off}"
        self._add_rewards(trajectory, record, line)
        if prompt is None:
            _note(trajectory, line, "wrong_type", "`input` is no text")
        return trajectory

    def _add_identity(self, trajectory: Trajectory, record: dict[str, Any], prompt: _Prompt | None) -> None:
        uid = record.get("uid")
        session = _session_of(uid) if uid is not None else None
        if session is not None:
            trajectory.variant = _variant(record, has_session=True)
            trajectory.native_id = uid
            trajectory.group_id, trajectory.attempt, index = session
            self.further_outputs += index > 0
        else:
            request = record.get("request_id")
            trajectory.native_id = request if isinstance(request, str) else None
            if isinstance(uid, str):  # a plain `uid` names the group of a prompt
                trajectory.group_id = uid
            elif prompt is not None and trajectory.train_step is not None:
                trajectory.group_id = f"{trajectory.train_step}:{prompt.digest}"
        if self.split is None and ("reward" in record or trajectory.variant == "v1_validation"):
            trajectory.split = "validation"  # only `_validate` puts `reward` among the extras
        elif trajectory.variant == "v1_validation":
            trajectory.split = "validation"

    def _prompt(self, text: object) -> _Prompt | None:
        """The prompt taken apart; attempts at one task share it."""
        if not isinstance(text, str):
            return None
        digest = xxhash.xxh3_64_hexdigest(text.encode(errors="replace"))
        known = self._prompts.get(digest)
        if known is not None and known.text == text:
            return known
        if len(self._prompts) >= _MAX_KEPT:
            self._prompts.clear()
        prompt = _Prompt(text, digest, f"prompt:{digest}", parse_prompt(text), tools_in_prompt(text))
        self._prompts[digest] = prompt
        return prompt

    def _add_rewards(self, trajectory: Trajectory, record: dict[str, Any], line: Line) -> None:
        score = record.get("score")
        if type(score) is float and math.isfinite(score):
            trajectory.reward = score
        else:
            _add_odd_score(trajectory, score, line)
        names = tuple(record)
        extras = self._extras.get(names)
        if extras is None:
            if len(self._extras) >= _MAX_KEPT:
                self._extras.clear()
            extras = self._extras[names] = _extras_of(names)
        for name, may_be_text in extras.components:
            value = record[name]
            if type(value) is float and math.isfinite(value):
                trajectory.rewards.append(RewardPart(name, value))
            elif isinstance(value, (bool, int, float)) or (may_be_text and _is_number_text(value)):
                trajectory.rewards.append(RewardPart(clean_text(name), to_float(value)))
        if extras.verdict is not None:
            trajectory.correct = to_bool(record[extras.verdict])


class _Extras(msgspec.Struct, gc=False):
    """What the extra keys of a record may be: (name, whether text may stand for the number); the verdict."""

    components: tuple[tuple[str, bool], ...]
    verdict: str | None


def _extras_of(names: tuple[str, ...]) -> _Extras:
    components = tuple(
        (name, _COMPONENT_WORDS.search(name.lower()) is not None)
        for name in names
        if name not in _BASE_KEYS and name not in _NOT_COMPONENTS and not name.endswith(_NOT_COMPONENT_SUFFIXES)
    )
    return _Extras(components, next((name for name in _VERDICTS if name in names), None))


def _is_number_text(value: object) -> bool:
    return isinstance(value, str) and (to_float(value) is not None or is_non_finite(value))


def _add_odd_score(trajectory: Trajectory, score: object, line: Line) -> None:
    if isinstance(score, list):  # one value per token: the rollout's reward is their sum
        values = [to_float(value) for value in score]
        total = [value for value in values if value is not None]
        trajectory.reward = added(total) if len(total) == len(values) else None
    else:
        trajectory.reward = to_float(score)
    if trajectory.reward is None and score is not None and not is_non_finite(score):
        _note(trajectory, line, "wrong_type", f"`score` is no number but {type(score).__name__}")


def _repaired(line: Line) -> Loaded | Problem:
    try:
        return loads(line.data)
    except ValueError as error:
        if not line.finished:
            return Problem("truncated", f"the last record is cut: {error}", line.number, line.offset)
        return Problem("unreadable_record", str(error), line.number, line.offset)


def _variant(record: dict[str, Any], has_session: bool) -> str:
    if not has_session:
        return "legacy"
    return "v1_train" if record.keys() <= _BASE_KEYS else "v1_validation"


def _session_of(uid: object) -> tuple[str, int, int] | None:
    """(group, rollout, output of the session) from the V1 trainer's ``{uid}_{session}_{index}``."""
    if not isinstance(uid, str):
        return None
    parts = uid.rsplit("_", 2)
    if len(parts) != 3 or not _is_count(parts[1]) or not _is_count(parts[2]):
        return None
    return parts[0], int(parts[1]), int(parts[2])


def _is_count(text: str) -> bool:
    return len(text) < 10 and text.isascii() and text.isdigit()


_FIXES = {
    "control_characters": "raw control characters accepted",
    "invalid_utf8": "invalid UTF-8 replaced",
    "lone_surrogate": "lone surrogates replaced",
    "python_literal": "Python literals read as JSON",
}


def _cleaned(fixes: tuple[str, ...], record: dict[str, Any]) -> str:
    parts = [_FIXES[fix] for fix in fixes if fix in _FIXES]
    if "non_finite" in fixes:
        names = [f"`{name}`" for name, value in record.items() if is_non_finite(value)]
        parts.append(f"not finite, read as null: {', '.join(names) or 'a nested value'}")
    return "; ".join(parts) or ", ".join(fixes)


def _note(trajectory: Trajectory, line: Line, code: str, message: str) -> None:
    trajectory.problems.append(Problem(code, clean_text(message), line.number, line.offset, trajectory.native_id))
