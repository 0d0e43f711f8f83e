"""Components of a reward and their classes: names of real reward functions."""

from __future__ import annotations

import pytest

from trajlab.measures.reward_classes import CLASSES, UNNAMED, class_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("answer_reward", "task success"),
        ("rewards/check_answer/mean", "task success"),
        ("unit_tests_passed", "task success"),
        ("score", "task success"),
        ("format_reward_func", "format and parser"),
        ("match_format_exactly", "format and parser"),
        ("xmlCount", "format and parser"),
        ("tool_reward", "process"),
        ("repetition_penalty_reward", "process"),
        ("overlong_penalty", "cost and length"),
        ("response_length", "cost and length"),
        ("safety", "safety and permission"),
        ("kl_penalty", "KL and regularisation"),
        ("m2", UNNAMED),
        ("", UNNAMED),
    ],
)
def test_a_name_tells_its_class(name: str, kind: str) -> None:
    assert class_of(name) == kind


def test_no_word_is_in_two_classes() -> None:
    words = [word for known in CLASSES.values() for word in known]
    assert len(words) == len(set(words))
