"""TensorBoard event files: scalars by tag and step. Texts, images and histograms are passed over.

A file that holds rollouts beside its scalars is claimed by the format of the rollouts, which names this reader for the
scalars (``METRICS``).
"""

from __future__ import annotations

from collections.abc import Iterator

from trajlab.formats import openrlhf
from trajlab.metric_logs import Metric, Variant
from trajlab.metric_logs._values import metric
from trajlab.records import Problem
from trajlab.sources.event_files import Scalar, is_event_file, read_events
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "events": Variant(
        "`events.out.tfevents.…`: scalars of `SummaryWriter` (torch, tensorboardX) and TensorFlow 2; a resumed run "
        "writes a second file, which supersedes the steps it has again",
        frozenset(),
    )
}
_DIGITS = 7
"""Digits that a 32-bit float holds."""


def recognise(probe: Probe) -> str | None:
    """By its first record, whatever its name; not where it holds rollouts."""
    return "events" if is_event_file(probe.head) and openrlhf.recognise(probe) is None else None


def read_metrics(bundle: Bundle) -> Iterator[Metric | Problem]:
    """One row for each scalar, with the number of its record for a line."""
    problems: list[Problem] = []
    for found in read_events(bundle.file, problems):
        if not isinstance(found, Scalar):
            continue
        value = float(f"{found.value:.{_DIGITS}g}") if found.is_single else found.value
        if (one := metric(found.step, found.tag, value, found.record)) is not None:
            yield one
    yield from problems
