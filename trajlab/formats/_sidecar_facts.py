"""What the files beside trainers' rollouts say about them: facts by trace or by step, totals, settings.

Sources: TRL 1.16.0 and transformers 5 (``trainer_state.json``); prime-rl ``monitors/file.py`` (annotations: ``info``
flat, or under ``train`` and ``eval``); rLLM ``utils/episode_logger.py`` and ``eval/results.py``; NeMo-Gym
``rollout_collection.py``; SkyRL ``trainer_utils.py``; tinker-cookbook 0.6.1 ``utils/ml_log.py`` (``config.json``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

from trajlab.formats import Fact, FoundFact, Total, Unjoined
from trajlab.formats._trainer_rows import run_settings
from trajlab.formats._values import count, dumped, flag, json_lines, load, mapping, mappings, number, whole, word
from trajlab.records import Problem, RunSetting
from trajlab.sources.files import Bundle

_SETTINGS = (
    "eval_steps", "logging_steps", "max_steps", "num_train_epochs", "save_steps", "train_batch_size",
)  # fmt: skip
_EVAL = "eval_"
_LOGGED_REWARD = "reward"
_FILTERS = ("filter_reason", "filtered_by", "filter", "filters", "reason")


def tinker_config(bundle: Bundle) -> Iterator[FoundFact]:
    """Settings by dotted name; lists are none."""
    problems: list[Problem] = []
    try:
        config = mapping(load(bundle, problems))
    except (ValueError, RecursionError) as error:
        yield Problem("unreadable_record", f"{error}; expected the settings of a run")
        return
    yield from problems
    yield from run_settings(config)


def trainer_state(bundle: Bundle) -> Iterator[FoundFact]:
    """Settings; of each logged step its epoch and split; the mean reward of the training steps.

    TRL writes the completions of an evaluation over those of the training step of the same number, and keeps of them
    the last generation batch only: their mean is no total to hold them against.
    """
    problems: list[Problem] = []
    try:
        state = mapping(load(bundle, problems))
    except (ValueError, RecursionError) as error:
        yield Problem("unreadable_record", f"{error}; expected the state of a trainer")
        return
    yield from problems
    yield from (RunSetting(name, dumped(state[name])) for name in _SETTINGS if state.get(name) is not None)
    history = [row for row in mappings(state.get("log_history")) if whole(row.get("step")) is not None]
    evaluated = {whole(row["step"]) for row in history if any(str(name).startswith(_EVAL) for name in row)}
    every_step = whole(state.get("logging_steps")) == 1
    for row in history:
        step = whole(row["step"])
        epoch = number(row.get("epoch"))
        if epoch is not None and 0 <= epoch < 1e9:  # it counts what is done: 1.0 ends the first epoch
            yield Fact("epoch", max(math.ceil(epoch - 1e-9) - 1, 0), train_step=step)
        reward = number(row.get(_LOGGED_REWARD))
        yield from () if reward is None else [Fact("split", "eval" if step in evaluated else "train", train_step=step)]
        if reward is not None and every_step and step not in evaluated:
            yield Total("reward.mean", reward, train_step=step)


def prime_rl_annotations(bundle: Bundle) -> Iterator[FoundFact]:
    """Whether a trace was trained on, at which step, with which advantage, or why it was left out."""
    problems: list[Problem] = []
    for line, row in json_lines(bundle, problems):
        trace = word(row.get("trace_id")) if isinstance(row, dict) else None
        if trace is None:
            yield Problem("unreadable_record", "an annotation without trace_id", line.number, line.offset)
            continue
        info = mapping(row.get("info"))
        told = [info, *(mapping(info.get(kind)) for kind in ("train", "eval"))]
        for part in told:
            effective, step = flag(part.get("effective")), whole(part.get("trained_at_step"))
            advantage = number(part.get("advantage"))
            reason = next((said for name in _FILTERS if (said := _words(part.get(name)))), None)
            for column, value in (("effective", effective), ("trained_at_step", step), ("advantage", advantage),
                                  ("filter_reason", reason)):  # fmt: skip
                if value is not None:
                    yield Fact(column, value, native_id=trace)
    yield from problems


def _words(value: Any) -> str | None:
    """A name, the names in a list, or the names that are true in an object."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(word, value))) or None
    if isinstance(value, dict):
        return ", ".join(str(name) for name, held in value.items() if held is True) or None
    return word(value)


def rllm_summary(bundle: Bundle) -> Iterator[FoundFact]:
    """Episodes of one step and how many were correct."""
    yield from _of_document(bundle, _rllm_summary)


def _rllm_summary(value: dict[str, Any]) -> Iterator[FoundFact]:
    stats = mapping(value.get("summary_stats"))
    for name, stated in (("files", value.get("num_episodes")), ("files.correct", stats.get("total_correct"))):
        if (total := count(stated)) is not None:
            yield Total(name, total)


def rllm_eval_results(bundle: Bundle) -> Iterator[FoundFact]:
    """Rollouts of an evaluation and how many were correct."""
    yield from _of_document(bundle, _rllm_eval_results)


def _rllm_eval_results(value: dict[str, Any]) -> Iterator[FoundFact]:
    for name, stated in (("files", value.get("total")), ("files.correct", value.get("correct"))):
        if (total := count(stated)) is not None:
            yield Total(name, total)


def nemo_gym_inputs(bundle: Bundle) -> Iterator[FoundFact]:
    """The attempts that were to be made: those that were killed leave no row."""
    problems: list[Problem] = []
    asked = set()
    for _, row in json_lines(bundle, problems):
        if isinstance(row, dict):
            asked.add((dumped(row.get("_ng_task_index")), dumped(row.get("_ng_rollout_index"))))
    yield from problems
    stem = _stem(bundle, "_materialized_inputs")
    yield Total("attempts", len(asked), (f"{stem}.jsonl", f"{stem}_failures.jsonl"), planned=True)


def nemo_gym_aggregates(bundle: Bundle) -> Iterator[FoundFact]:
    """The mean reward of each agent; figures by task are means of the same rows."""
    if bundle.file.relpath.endswith(".jsonl"):
        yield Unjoined("rewards by task, each beside its prompt: the rollouts hold them one by one")
        return
    problems: list[Problem] = []
    try:
        value = load(bundle, problems)
    except (ValueError, RecursionError) as error:
        yield Problem("unreadable_record", f"{error}; expected aggregates")
        return
    yield from problems
    file = (f"{_stem(bundle, '_aggregate_metrics', '_agent_metrics')}.jsonl",)
    for entry in mappings(value if isinstance(value, list) else [value]):
        mean = number(mapping(entry.get("agent_metrics")).get("mean/reward"))
        agent = word(mapping(entry.get("agent_ref")).get("name"))
        if mean is not None:
            yield Total("reward.mean", mean, file, agent=agent)


def skyrl_metrics(bundle: Bundle) -> Iterator[FoundFact]:
    """The average score of each data source, whose samples stand in the file of its name."""
    problems: list[Problem] = []
    for _, row in json_lines(bundle, problems):
        for name, stated in mapping(row).items():
            source = name.removeprefix("eval/").removesuffix("/avg_score")
            score = number(stated)
            if name.endswith("/avg_score") and score is not None:
                files = () if source == "all" else (f"{source.replace('/', '_')}.jsonl",)
                yield Total("reward.mean", score, files)
    yield from problems


def _of_document(bundle: Bundle, build: Callable[[dict[str, Any]], Iterator[FoundFact]]) -> Iterator[FoundFact]:
    problems: list[Problem] = []
    try:
        value = load(bundle, problems)
    except (ValueError, RecursionError) as error:
        yield Problem("unreadable_record", f"{error}; expected an object")
        return
    yield from problems
    yield from build(mapping(value))


def _stem(bundle: Bundle, *endings: str) -> str:
    """The name of the rollouts' file, of which the companion's own is made."""
    stem = PurePosixPath(bundle.file.relpath).name.split(".")[0]
    for ending in endings:
        stem = stem.removesuffix(ending)
    return stem
