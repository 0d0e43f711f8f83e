"""What people read and how: samples, the reviewer, labels, and what labels give."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from trajlab.errors import UsageError

_WHERE = {
    "Labels": "trajlab.review.labels",
    "Results": "trajlab.review.results",
    "ReviewPage": "trajlab.review.page",
    "Reviewer": "trajlab.review.widget",
    "load_rubric": "trajlab.review.rubric",
    "Sample": "trajlab.review.manifest",
    "judge": "trajlab.review.estimates",
    "prevalence": "trajlab.review.estimates",
    "read_labels": "trajlab.review.labels",
    "read_sample": "trajlab.review.manifest",
    "review_page": "trajlab.review.page",
    "sample": "trajlab.review.designs",
}

__all__ = sorted(_WHERE)

if TYPE_CHECKING:
    from trajlab.review.designs import sample as sample
    from trajlab.review.estimates import judge as judge
    from trajlab.review.estimates import prevalence as prevalence
    from trajlab.review.labels import Labels as Labels
    from trajlab.review.labels import read_labels as read_labels
    from trajlab.review.manifest import Sample as Sample
    from trajlab.review.manifest import read_sample as read_sample
    from trajlab.review.page import ReviewPage as ReviewPage
    from trajlab.review.page import review_page as review_page
    from trajlab.review.results import Results as Results
    from trajlab.review.rubric import load_rubric as load_rubric
    from trajlab.review.widget import Reviewer as Reviewer


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'trajlab.review' has no attribute {name!r}")
    try:
        module = importlib.import_module(_WHERE[name])
    except ModuleNotFoundError as error:
        if error.name != "anywidget":
            raise
        next_step = "Run pip install 'trajlab[lab]', or write a page that needs no kernel: trajlab review"
        raise UsageError(name, "anywidget is not installed", "the extra `lab`", next_step) from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
