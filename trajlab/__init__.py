"""Trajectory behaviour analysis for agent reinforcement learning.

The names below are the public ones; importing the package loads none of them until it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_WHERE = {
    "read": "trajlab.api",
    "ingest": "trajlab.api",
    "open_corpus": "trajlab.api",
    "rebuild": "trajlab.api",
    "Corpus": "trajlab.corpus.corpus",
    "convert": "trajlab.conversion",
    "audit": "trajlab.report.audit",
    "AuditResult": "trajlab.report.audit",
    "compare": "trajlab.report.compare",
    "CompareResult": "trajlab.report.compare",
    "Reviewer": "trajlab.review",
    "review_page": "trajlab.review.page",
    "sample": "trajlab.review.designs",
    "Sample": "trajlab.review.manifest",
    "stages": "trajlab.report.stages",
    "StagesResult": "trajlab.report.stages",
    "watch": "trajlab.report.watch",
    "Watched": "trajlab.report.watch",
    "label_command": "trajlab.behavior.shell",
    "explain_command": "trajlab.behavior.shell",
    "Estimate": "trajlab.stats",
    "Trajectory": "trajlab.records",
    "Step": "trajlab.records",
    "ToolCall": "trajlab.records",
    "TrajlabError": "trajlab.errors",
    "UsageError": "trajlab.errors",
}

__all__ = ["__version__", *sorted(_WHERE)]

if TYPE_CHECKING:
    from trajlab.api import ingest as ingest
    from trajlab.api import open_corpus as open_corpus
    from trajlab.api import read as read
    from trajlab.api import rebuild as rebuild
    from trajlab.behavior.shell import explain_command as explain_command
    from trajlab.behavior.shell import label_command as label_command
    from trajlab.conversion import convert as convert
    from trajlab.corpus.corpus import Corpus as Corpus
    from trajlab.errors import TrajlabError as TrajlabError
    from trajlab.errors import UsageError as UsageError
    from trajlab.records import Step as Step
    from trajlab.records import ToolCall as ToolCall
    from trajlab.records import Trajectory as Trajectory
    from trajlab.report.audit import AuditResult as AuditResult
    from trajlab.report.audit import audit as audit
    from trajlab.report.compare import CompareResult as CompareResult
    from trajlab.report.compare import compare as compare
    from trajlab.report.stages import StagesResult as StagesResult
    from trajlab.report.stages import stages as stages
    from trajlab.report.watch import Watched as Watched
    from trajlab.report.watch import watch as watch
    from trajlab.review import Reviewer as Reviewer
    from trajlab.review.designs import sample as sample
    from trajlab.review.manifest import Sample as Sample
    from trajlab.review.page import review_page as review_page
    from trajlab.stats import Estimate as Estimate


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'trajlab' has no attribute {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
