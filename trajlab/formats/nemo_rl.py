"""NeMo-RL: ``train_data_step{N}.jsonl`` and ``val_data_step{N}.jsonl``, a line a sample.

Every value but ``idx`` is wrapped in a list of one element: a micro-batch of one. Training lines hold the texts of
the messages without their roles, and tokens; validation lines hold messages. Where roles are missing they are told by
the texts: a turn of the agent reasons or calls; what follows calls are their results; a problem row says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from trajlab.formats import Variant
from trajlab.formats._chat_text import AgentText, read_agent_text
from trajlab.formats._token_facts import add_advantages, add_ratios, count_mask, numbers, prompt_length, same_length
from trajlab.formats._trainer_rows import Fields, Row, add_cleaning, digest, first_object, prompt_task, rows
from trajlab.formats._trainer_turns import chat_messages, fill_from_messages, prompt_text
from trajlab.records import Problem, TokenFacts, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIED = frozenset(
    {"task_id", "group_id", "train_step", "split", "agent", "reward", "logged_termination", "stop_reason"}
)

VARIANTS = {
    "train": Variant(
        "`train_data_step{N}.jsonl`: texts without roles, token ids, masks", _CARRIED | {"completion_tokens"}
    ),
    "validation": Variant("`val_data_step{N}.jsonl`: messages and the reward", _CARRIED),
}

_STEP_FILE = re.compile(r"(train|val)_data_step(\d{1,12})\.jsonl")
_MARKED = re.compile("</?think>|<tool_call>|<function=")


def recognise(probe: Probe) -> str | None:
    """By `content` and `rewards`, each in a list of one element."""
    first = first_object(probe, "lines")
    if first is None or not {"content", "rewards", "idx"} <= first.keys():
        return None
    content, rewards = first["content"], first["rewards"]
    if not isinstance(content, list) or not isinstance(rewards, list) or len(rewards) > 1:
        return None
    inside = content[0] if content else None
    if not isinstance(inside, list):
        return None
    return "validation" if inside and isinstance(inside[0], dict) else "train"


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a line."""
    found = _STEP_FILE.match(bundle.file.relpath.rpartition("/")[2])
    step = int(found[2]) if found else None
    without_roles = 0
    for row in rows(bundle):
        if isinstance(row, Problem):
            yield row
            continue
        trajectory = _trajectory(row, step, bundle.variant)
        without_roles += trajectory.variant == "train" and bool(trajectory.steps)
        yield trajectory
    if without_roles:
        message = f"{without_roles} records hold messages without roles; they are told by the texts"
        yield Problem("roles_inferred", message)


def _trajectory(row: Row, step: int | None, claimed: str) -> Trajectory:
    problems: list[Problem] = []
    inside = {name: _only(value) for name, value in row.value.items()}
    fields = Fields(inside, row, problems)
    content = fields.items("content")
    has_roles = isinstance(content[0], dict) if content else claimed == "validation"
    trajectory = Trajectory("validation" if has_roles else "train", row.ordinal, train_step=step, line=row.line)
    trajectory.split = trajectory.variant
    trajectory.agent = fields.inner("agent_ref").text("name") or "nemo_rl"
    parsed: dict[str, AgentText] = {}
    messages = chat_messages(content if has_roles else _with_roles(content, parsed), row, problems)
    first = next((n for n, message in enumerate(messages) if message.role == "assistant"), len(messages))
    fill_from_messages(trajectory, messages[:first], messages[first:], parsed=parsed)
    if prompt := prompt_text(trajectory.messages):
        trajectory.task_id = prompt_task(prompt)
        trajectory.group_id = f"{step}:{digest(prompt)}" if step is not None else None
    trajectory.reward = fields.number("rewards")
    _add_tokens(trajectory, fields, row, problems)
    trajectory.problems += problems
    add_cleaning(trajectory, row)
    return trajectory


def _add_tokens(trajectory: Trajectory, fields: Fields, row: Row, problems: list[Problem]) -> None:
    """Counts by the loss mask, advantages, ratios of the policy before the update against the one that generated."""
    mask = numbers(fields, "token_loss_mask")
    if mask is None:
        return
    whole = fields.whole("input_lengths")
    cut = whole is not None and not 0 <= whole <= len(mask)
    if not cut:
        trajectory.completion_tokens = int(np.count_nonzero(mask == 1))
    arrays = {name: numbers(fields, name) for name in ("generation_logprobs", "prev_logprobs", "advantages")}
    behaviour, policy, advantages = arrays.values()
    lengths = {"token_loss_mask": len(mask), "token_ids": len(fields.items("token_ids")) or None}
    lengths |= {name: None if array is None else len(array) for name, array in arrays.items()}
    facts = trajectory.token_facts = TokenFacts(tokens=len(mask))
    if not same_length(lengths, row, problems, trajectory.native_id):
        return
    trained = mask != 0
    if fields.number("sample_loss_mask") == 0:
        trained[:] = False
    add_ratios(facts, policy, behaviour, trained)
    add_advantages(facts, advantages, trained)
    if cut:  # what the rest of the mask keeps is not known
        message = f"`input_lengths` states {whole:,} tokens, the arrays hold {len(mask):,}: they are cut"
        problems.append(row.problem("token_lengths", message))
        return
    end = len(mask) if whole is None else whole
    if whole is not None:
        facts.padding_tokens, facts.trained_padding = len(mask) - end, int(np.count_nonzero(trained[end:]))
    spoken = None if behaviour is None else behaviour[:end]
    start = prompt_length(trained[:end], spoken)
    facts.prompt_tokens, facts.trained_prompt = start, int(np.count_nonzero(trained[:start]))
    facts.trained_tokens = facts.trained_prompt + (facts.trained_padding or 0)
    count_mask(facts, trained[start:end], None if spoken is None else spoken[start:], len(trajectory.steps))


def _only(value: object) -> object:
    """What stands in a list of one element."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _with_roles(texts: list[Any], parsed: dict[str, AgentText]) -> list[Any]:
    """Messages from their texts. The first is the prompt; the agent speaks first where a text is marked as its own.

    ``parsed`` gets the texts of the agent that had to be parsed for it.
    """
    marked = [isinstance(text, str) and _MARKED.search(text) is not None for text in texts]
    first = next((n for n in range(1, len(texts)) if marked[n]), min(1, len(texts)))
    messages: list[Any] = []
    waiting, agents_turn = 0, True
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            messages.append(text)
        elif number < first:
            messages.append({"role": "user", "content": text})
        elif marked[number] or agents_turn:
            messages.append({"role": "assistant", "content": text})
            waiting, agents_turn = 0, False
            if number + 1 < len(texts):
                parts = parsed[text] = read_agent_text(text)
                waiting = len(parts.calls)
        else:
            messages.append({"role": "tool" if waiting else "user", "content": text})
            waiting -= waiting > 0
            agents_turn = waiting == 0
    return messages
