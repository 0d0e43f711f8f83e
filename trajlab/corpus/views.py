"""What a notebook shows of a corpus and of one trajectory: text escaped, long parts folded, nothing executed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import polars as pl

from trajlab.errors import UsageError

if TYPE_CHECKING:
    from trajlab.corpus.corpus import Corpus

SHOWN = 1500
"""Characters of a message or an output that are shown."""
OPEN = 400
"""Up to so many characters stand unfolded."""
_FACTS = (
    "run", "task_id", "format", "model", "train_step", "epoch", "reward", "correct", "outcome", "termination",
    "stop_reason", "n_steps", "n_calls", "pattern",
)  # fmt: skip


class TrajectoryView:
    """One trajectory as a page of a notebook, or as text.

    Args:
        corpus: Where it is.
        trajectory_id: Its id.

    Attributes:
        facts: What is recorded of it, by name; what is not is left out.
        messages: ``role``, ``step``, ``kind``, ``number`` and ``text`` in reading order; text is null where it was
            not kept.

    Raises:
        UsageError: No trajectory has this id.
    """

    def __init__(self, corpus: Corpus, trajectory_id: str) -> None:
        own = pl.col("trajectory_id") == trajectory_id
        row = corpus.trajectories.filter(own).collect()
        if row.is_empty():
            found = f"no trajectory {trajectory_id!r}"
            raise UsageError("trajectory", found, "an id of this corpus", "See corpus.trajectories")
        self.trajectory_id = trajectory_id
        values = row.row(0, named=True)
        self.facts = {name: values[name] for name in _FACTS if values.get(name) is not None}
        texts = corpus.texts.filter(own).select("kind", "number", "text").collect()
        self.messages = (
            corpus.messages.filter(own)
            .select("role", "step", "text_kind", "text_number", "message", "chars")
            .collect()
            .sort("message")
            .join(texts, left_on=["text_kind", "text_number"], right_on=["kind", "number"], how="left",
                  maintain_order="left")
            .select("role", "step", kind="text_kind", number="text_number", text="text", chars="chars")
        )  # fmt: skip
        calls = corpus.tool_calls.filter(own).select("call", "step", "tool", "command", "exit_code").collect()
        self._calls = {row["call"]: row for row in calls.sort("call").iter_rows(named=True)}

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value}" for name, value in self.facts.items())
        return f"TrajectoryView({self.trajectory_id!r}, {len(self.messages)} messages; {facts})"

    def _repr_html_(self) -> str:
        facts = "".join(
            f"<tr><th scope='row'>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
            for name, value in self.facts.items()
        )
        head = f"<table><caption>{escape(self.trajectory_id)}</caption><tbody>{facts}</tbody></table>"
        return head + "".join(self._block(row) for row in self.messages.iter_rows(named=True))

    def _block(self, row: dict[str, object]) -> str:
        title = f"{row['role']}" + ("" if row["step"] is None else f", step {row['step']}")
        asked = ""
        if row["kind"] == "output" and (call := self._calls.get(row["number"])) is not None:
            code = "" if call["exit_code"] is None else f", exit code {call['exit_code']}"
            title += f": {call['tool'] or 'a call'}{code}"
            asked = _pre(call["command"]) if call["command"] else ""
        if row["text"] is None:
            return f"<p><b>{escape(title)}</b>: {row['chars'] or 0} characters, not kept</p>{asked}"
        text = str(row["text"])
        opened = " open" if len(text) <= OPEN else ""
        summary = f"{escape(title)}, {len(text):,} characters"
        return f"<details{opened}><summary>{summary}</summary>{asked}{_pre(text)}</details>"


def corpus_html(corpus: Corpus) -> str:
    """Runs and problems of a corpus as tables, and what its logs did not record."""
    summary = corpus.summary()
    missing = ", ".join(summary.not_observed) or "none"
    parts = [f"<p><b>Corpus</b> {escape(str(corpus.folder))}, rules {escape(corpus.rules)}</p>", _table(summary.runs)]
    if summary.problems.height:
        parts.append(_table(summary.problems, "problems"))
    return "".join([*parts, f"<p>Not recorded by any log: {escape(missing)}</p>"])


def _table(frame: pl.DataFrame, caption: str = "") -> str:
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in frame.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{'' if value is None else escape(str(value))}</td>" for value in row) + "</tr>"
        for row in frame.iter_rows()
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _pre(text: str) -> str:
    left = len(text) - SHOWN
    more = f"\n… {left:,} further characters" if left > 0 else ""
    return f"<pre dir='auto'>{escape(text[:SHOWN])}{more}</pre>"
