"""Tokens of a trace of verifiers: each node holds those it adds; log-probabilities stand for sampled ones only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trajlab.formats._token_facts import add_ratios, numbers, same_length
from trajlab.formats._trainer_rows import Fields, Row
from trajlab.records import TokenFacts, Trajectory


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
    if found.policy and trained:
        fields = Fields(
            {"trainer_logprobs": found.policy, "logprobs": found.behaviour}, row, trajectory.problems, "nodes.*."
        )
        policy, behaviour = numbers(fields, "trainer_logprobs"), numbers(fields, "logprobs")
        if policy is not None and behaviour is not None:
            add_ratios(facts, policy, behaviour, np.ones(len(policy)))


def _fits(node: Fields, number: int, row: Row, trajectory: Trajectory) -> bool:
    """Whether the lists of a node are as long as they must be: by token, or by sampled token."""
    ids, mask = node.items("token_ids"), node.items("mask")
    if not ids and not mask:
        return True
    lengths = {"token_ids": len(ids), "mask": len(mask) or None}
    sampled = {"mask, sampled": mask.count(True) if mask else None}
    sampled |= {name: len(node.items(name)) or None for name in ("logprobs", "trainer_logprobs")}
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
        self.policy: list[Any] = []
        self.behaviour: list[Any] = []
        self._seen = False

    def add(self, node: Fields) -> None:
        sampled = node.value.get("sampled") is True
        kept = node.items("mask").count(True)
        others = len(node.items("token_ids")) - (kept if sampled else 0)
        wrong = 0 if sampled else kept
        if sampled:
            self.spoken += kept
            behaviour, policy = node.items("logprobs"), node.items("trainer_logprobs")
            if behaviour and policy:
                self.policy += policy
                self.behaviour += behaviour
        if self._seen:
            self.observed, self.kept_observed = self.observed + others, self.kept_observed + wrong
        else:
            self.prompt, self.kept_prompt = self.prompt + others, self.kept_prompt + wrong
        self._seen = self._seen or sampled
