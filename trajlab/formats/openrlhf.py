r"""OpenRLHF: the samples among the TensorBoard summaries, ``{tensorboard_dir}/{run_name}/events.out.tfevents.…``.

Source: openrlhf 0.11.2, ``utils/logging_utils.py`` (``TensorboardLogger``) and ``trainer/ppo_trainer.py``
(``train_step``). No other file of it holds rollouts. Of each logged step there is one text, the first sample of
the batch, decoded without special tokens: ``Sample:\n{text}\n\nReward: {reward:.4f}``, where ``\n`` are a backslash
and an n.

The same file holds the scalars of the training. One reader claims it, this one, because rollouts decide what a file is
taken for; its metrics are read by the metric log named in ``METRICS``, as if that had claimed it.

Where the prompt ends is not logged: it ends before the agent's first turn, by the role words that stay when the
special tokens are gone. So turns of an agent within the prompt count as the rollout's. A template that leaves
no role words makes the sample unreadable, since it cannot be told what the agent said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trajlab.formats import Variant
from trajlab.formats._chat_text.turns import is_marked
from trajlab.formats._trainer_rows import prompt_task
from trajlab.formats._trainer_turns import fill_from_conversation, fill_from_text, prompt_text
from trajlab.records import Problem, Trajectory
from trajlab.sources.event_files import Text, is_event_file, read_events
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.safe_json import to_float

VARIANTS = {
    "events": Variant(
        "`events.out.tfevents.…` with `train/generated_samples`: one sample of each logged step, and its reward "
        "(0.11); the scalars beside them are read as a metric log",
        frozenset(
            {"task_id", "split", "train_step", "agent", "reward", "logged_termination", "stop_reason",
             "tools_offered"}
        ),
    ),
}  # fmt: skip

METRICS = ("tensorboard", "events")
"""The metric log and its variant that read the scalars of the same file."""

_TAG = "train/generated_samples"
_TAGS = (_TAG, f"{_TAG}/text_summary")
"""``SummaryWriter.add_text`` (torch, tensorboardX) adds to the tag."""
_STORED = tuple(b"\x0a" + bytes([len(tag)]) + tag.encode() for tag in _TAGS)
"""The tag as a field of a summary's value: it tells the tag from a text that speaks of it."""
_BEGINS = ("Sample:\\n", "Sample:\n")
_REWARD = re.compile(r"(?:\\n|\n){2}Reward: ([^\s\\]{1,40})\s{0,4}\Z")
_LONGEST_REWARD = 64
_ROLES = (
    ("user\n\n", "assistant\n\n", ("system\n\n", "user\n\n")),
    ("user\n", "\nassistant\n", ("system\n", "user\n")),
    ("User: ", "\nAssistant: ", ("User: ", "System: ")),
    ("Human: ", "\nAssistant: ", ("Human: ", "System: ")),
)
"""Words of the user and of the agent, and how such a text begins: Llama 3, Qwen and its kin, plain templates
(``data.input_template``)."""


def recognise(probe: Probe) -> str | None:
    """An event file in whose first 64 KiB a sample begins: it is written with the first step."""
    if not is_event_file(probe.head):
        return None
    return "events" if any(stored in probe.head for stored in _STORED) else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a sample; what is no sample is a problem, and so is what the samples are of."""
    problems: list[Problem] = []
    read_ = 0
    for event in read_events(bundle.file, problems):
        if isinstance(event, Text) and event.tag in _TAGS:
            found = _trajectory(event)
            read_ += isinstance(found, Trajectory)
            yield found
    yield from problems
    if read_:
        message = f"{read_:,} samples, one of each logged step: OpenRLHF logs the first of a batch, no other is seen"
        yield Problem("one_sample_a_step", message)


def _trajectory(event: Text) -> Trajectory | Problem:
    begin = next((begin for begin in _BEGINS if event.text.startswith(begin)), None)
    if begin is None:
        return Problem("unreadable_record", "the text does not begin with `Sample:`; not read", event.record)
    text, reward = event.text[len(begin) :], None
    said = _REWARD.search(text, max(0, len(text) - _LONGEST_REWARD))
    if said is not None:
        text, reward = text[: said.start()], to_float(said[1])
    marked = is_marked(text)
    parts = None if marked else _prompt_and_rollout(text)
    if parts is None and not marked:
        message = "no role word tells where the prompt ends; expected lines `user` and `assistant`; not read"
        return Problem("unreadable_record", message, event.record)
    trajectory = Trajectory(
        "events", str(event.record), train_step=event.step, agent="openrlhf", split="train", line=event.record
    )
    if parts is None:
        fill_from_conversation(trajectory, text, text)
        trajectory.task_id = prompt_task(prompt_text(trajectory.messages))
    else:
        fill_from_text(trajectory, parts[1], parts[0])
    trajectory.reward = reward
    if said is None:
        message = "no `Reward:` ends the sample; the reward is read as not recorded"
        trajectory.problems.append(Problem("wrong_type", message, event.record))
    return trajectory


def _prompt_and_rollout(text: str) -> tuple[str, str] | None:
    """The text up to the agent's first turn, the header of that turn with it, and from there on."""
    for user, agent, beginnings in _ROLES:
        if text.startswith(beginnings) and (at := text.find(agent, max(0, text.find(user)))) >= 0:
            return text[: at + len(agent)], text[at + len(agent) :]
    return None
