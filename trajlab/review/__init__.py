"""What people read and how: samples, the reviewer, labels, and what labels give."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

_WHERE = {
    "ReviewPage": "trajlab.review.page",
    "Reviewer": "trajlab.review.widget",
    "load_rubric": "trajlab.review.rubric",
    "review_page": "trajlab.review.page",
}

__all__ = sorted(_WHERE)

if TYPE_CHECKING:
    from trajlab.review.page import ReviewPage as ReviewPage
    from trajlab.review.page import review_page as review_page
    from trajlab.review.rubric import load_rubric as load_rubric
    from trajlab.review.widget import Reviewer as Reviewer


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'trajlab.review' has no attribute {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
