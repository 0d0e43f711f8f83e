"""SkyRL: ``dumped_evals/{eval_only|global_step_N_evals}/{data_source}.jsonl``, the trainer's evaluation dumps.

Training rollouts are dumped only as pickles, which are not read. Texts keep their special tokens; a score can be
a list with one value per token, whose sum is the reward.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from trajlab.formats import Variant
from trajlab.formats._trainer_rows import Fields, Row, add_cleaning, digest, first_object, rows
from trajlab.formats._trainer_turns import fill_from_text
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.safe_json import added, to_float

VARIANTS = {
    "eval_dump": Variant(
        "`dump_per_dataset_eval_results`: input_prompt, output_response, score, stop_reason, env_class, env_extras",
        frozenset(
            {
                "task_id", "group_id", "train_step", "split", "agent", "reward", "logged_termination", "stop_reason",
                "tools_offered",
            }
        ),
    ),
}  # fmt: skip

_KEYS = {"input_prompt", "output_response", "score", "stop_reason"}
_STEP_FOLDER = re.compile(r"global_step_(\d{1,12})_evals")
_TASK_NAMES = ("instance_id", "task_id", "problem_id")
_ENDS = {
    "stop": "ended",
    "length": "truncated_budget",
    "max_turns": "truncated_budget",
    "abort": "incomplete",
    "error": "infrastructure_error",
}


def recognise(probe: Probe) -> str | None:
    """By the keys of the first record that is an object."""
    first = first_object(probe, "lines")
    return "eval_dump" if first is not None and first.keys() >= _KEYS else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a line."""
    folders = PurePosixPath(bundle.file.relpath).parts[:-1]
    found = next((match for part in folders if (match := _STEP_FOLDER.fullmatch(part))), None)
    for row in rows(bundle):
        yield row if isinstance(row, Problem) else _trajectory(row, int(found[1]) if found else None)


def _trajectory(row: Row, step: int | None) -> Trajectory:
    problems: list[Problem] = []
    fields = Fields(row.value, row, problems)
    trajectory = Trajectory("eval_dump", row.ordinal, train_step=step, split="eval", line=row.line)
    trajectory.agent = fields.text("env_class")
    extras = fields.inner("env_extras")
    trajectory.task_id = next((extras.word(name) for name in _TASK_NAMES if name in extras), None)
    prompt = fields.text("input_prompt")
    fill_from_text(trajectory, fields.text("output_response") or "", prompt)
    if prompt is not None:
        trajectory.group_id = f"{step}:{digest(prompt)}" if step is not None else digest(prompt)
    stop = fields.text("stop_reason")
    if stop is not None:
        trajectory.stop_reason, trajectory.termination = stop, _ENDS.get(stop.lower(), "unknown")
    trajectory.reward = _score(fields, row, problems)
    trajectory.problems += problems
    add_cleaning(trajectory, row)
    return trajectory


def _score(fields: Fields, row: Row, problems: list[Problem]) -> float | None:
    score = fields.value.get("score")
    if not isinstance(score, list):
        return fields.number("score")
    values = [number for number in map(to_float, score) if number is not None]
    if len(values) == len(score):
        return added(values)
    problems.append(row.problem("wrong_type", "`score` holds values that are no numbers; read as not recorded"))
    return None
