"""Tokens of a trace of verifiers: each node holds those it adds; log-probabilities stand for sampled ones only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trajlab.formats._token_facts import add_advantages, add_ratios, add_reference, numbers, same_length
from trajlab.formats._trainer_rows import Fields, Row
from trajlab.records import Problem, TokenFacts, Trajectory

RATIO = ("trainer_logprobs", "logprobs")
_OF_SAMPLED = ("logprobs", "trainer_logprobs", "reference_logprobs")


def add_node_tokens(trajectory: Trajectory, nodes: Sequence[Fields], row: Row, *, trained: bool) -> None:
    """Counts by node and mask, and ratios where a trainer annotated the nodes.

    Tokens of a node that was not sampled are the prompt up to the first sampled node, observations after it. What a
    sampled node does not mask in is the template's opening of the turn, and counted with what stands before it.

    Args:
        trajectory: Gets the facts and, for lists of different lengths, a problem.
        nodes: Nodes of the graph.
        row: The record.
        trained: Whether the trainer learns from this agent at all.
    """
    found = _Counts()
    for number, node in enumerate(nodes):
        if not _fits(node, number, row, trajectory):
            return
        found.add(node)
    if not (found.spoken or found.prompt or found.observed):
        return
    facts = trajectory.token_facts = TokenFacts(
        tokens=found.prompt + found.spoken + found.observed,
        prompt_tokens=found.prompt,
        response_tokens=found.spoken,
        observation_tokens=found.observed,
        trained_tokens=found.spoken + found.kept_prompt + found.kept_observed if trained else 0,
        trained_prompt=found.kept_prompt if trained else 0,
        trained_observation=found.kept_observed if trained else 0,
    )
    if trained:
        _add_sums(facts, found, row, trajectory.problems)


def _add_sums(facts: TokenFacts, found: _Counts, row: Row, problems: list[Problem]) -> None:
    """Sums over sampled tokens; a node that lacks one of a pair is no part of them."""
    for names, (above, below) in found.pairs.items():
        fields = Fields(dict(zip(names, (above, below), strict=True)), row, problems, "nodes.*.")
        one, other = (numbers(fields, name) for name in names)
        if one is not None:
            add = add_ratios if names == RATIO else add_reference
            add(facts, one, other, np.ones(len(one), bool))
    advantages = numbers(Fields({"advantages": found.advantages}, row, problems, "nodes.*."), "advantages")
    if advantages is not None:
        add_advantages(facts, advantages, np.ones(len(advantages), bool))


def _fits(node: Fields, number: int, row: Row, trajectory: Trajectory) -> bool:
    """Whether the lists of a node are as long as they must be: by token, or by sampled token."""
    ids, mask = node.items("token_ids"), node.items("mask")
    if not ids and not mask:
        return True
    lengths = {"token_ids": len(ids), "mask": len(mask) or None}
    sampled = {"mask, sampled": mask.count(True) if mask else None}
    sampled |= {name: len(node.items(name)) or None for name in _OF_SAMPLED}
    if len(node.items("advantages")) not in (0, len(ids)):
        sampled["advantages"] = len(node.items("advantages"))
    return all(
        same_length(
            {f"nodes[{number}].{name}": length for name, length in one.items()},
            row,
            trajectory.problems,
            trajectory.native_id,
        )
        for one in (lengths, sampled)
    )


class _Counts:
    """Tokens so far, by who wrote them, and the log-probabilities of those sampled where both are there."""

    def __init__(self) -> None:
        self.spoken = self.prompt = self.observed = self.kept_prompt = self.kept_observed = 0
        self.pairs: dict[tuple[str, str], tuple[list[Any], list[Any]]] = {}
        self.advantages: list[Any] = []
        self._seen = False

    def add(self, node: Fields) -> None:
        sampled = node.value.get("sampled") is True
        kept = node.items("mask").count(True)
        others = len(node.items("token_ids")) - (kept if sampled else 0)
        wrong = 0 if sampled else kept
        if sampled:
            self.spoken += kept
            self._pair(node, *RATIO)
            self._pair(node, "reference_logprobs", "trainer_logprobs" if node.items("trainer_logprobs") else "logprobs")
            self.advantages += _of_sampled(node)
        if self._seen:
            self.observed, self.kept_observed = self.observed + others, self.kept_observed + wrong
        else:
            self.prompt, self.kept_prompt = self.prompt + others, self.kept_prompt + wrong
        self._seen = self._seen or sampled

    def _pair(self, node: Fields, above: str, below: str) -> None:
        one, other = node.items(above), node.items(below)
        if one and other:
            held = self.pairs.setdefault((above, below), ([], []))
            held[0].extend(one)
            held[1].extend(other)


def _of_sampled(node: Fields) -> list[Any]:
    """Advantages of a node's sampled tokens: a list over these, or over all of its tokens."""
    advantages, mask = node.items("advantages"), node.items("mask")
    if len(advantages) != len(mask):
        return advantages
    return [advantage for advantage, kept in zip(advantages, mask, strict=True) if kept is True]
