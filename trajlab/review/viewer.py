"""The viewer as data: the one ES module and style sheet of both hosts, and what every host is told first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from trajlab.corpus.corpus import Corpus
from trajlab.review.items import VIEW_KINDS, Trajectories, fact_docs
from trajlab.review.labels import SCHEMA as LABEL_SCHEMA
from trajlab.review.rubric import Rubric
from trajlab.review.worklist import Worklist, shuffled

SCHEMA = "trajlab-review-1"
_FOLDER = Path(__file__).with_name("viewer")
_MODULE = (
    "text.js", "dom.js", "data.js", "diff.js", "align.js", "labels.js", "search.js", "turns.js", "strip.js",
    "questions.js", "facts.js", "help.js", "reviewer.js", "hosts.js",
)  # fmt: skip
"""Parts of the module in order. They import nothing, so that together they are one module without any build."""


def module_source() -> str:
    """Return the ES module: it exports ``render`` for anywidget, and ``openPage`` for the static page."""
    return "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in _MODULE)


def style_source() -> str:
    """Return the style sheet; every rule is below the class ``trajlab-review``."""
    return (_FOLDER / "reviewer.css").read_text(encoding="utf-8")


def page_source() -> str:
    """Return the frame of the static page, a template of ``string.Template``."""
    return (_FOLDER / "page.html").read_text(encoding="utf-8")


class Session:
    """One reviewer's work on one sample: what is listed, what is asked, what is shown.

    Args:
        corpus: The corpus.
        work: The trajectories.
        rubric: The questions.
        blind: Leave out what graders and rules said, and show the trajectories in an order that tells nothing.
        reviewer: Who reads; ``None``: the page asks.
    """

    def __init__(
        self, corpus: Corpus, work: Worklist, rubric: Rubric, *, blind: bool = False, reviewer: str | None = None
    ) -> None:
        self.work = shuffled(work) if blind else work
        self.rubric, self.blind, self.reviewer = rubric, blind, reviewer
        self.trajectories = Trajectories(corpus, self.work.ids, blind=blind)

    def index(self) -> dict[str, Any]:
        """Return everything but the turns, as plain JSON values."""
        items = []
        for listed in self.work.items:
            item = self.trajectories.item(listed.trajectory_id)
            if not self.blind:
                item.stratum, item.probability = listed.stratum, listed.probability
            items.append(item)
        return {
            "schema": SCHEMA,
            "label_schema": LABEL_SCHEMA,
            "sample": self.work.id,
            "blind": self.blind,
            "reviewer": self.reviewer,
            "rubric": msgspec.to_builtins(self.rubric),
            "kinds": VIEW_KINDS,
            "docs": {} if self.blind else fact_docs(),
            "items": msgspec.to_builtins(items),
        }
