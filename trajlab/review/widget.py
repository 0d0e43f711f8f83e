"""The reviewer in a notebook: the same ES module as the page, with a kernel that keeps the labels."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import anywidget
import msgspec
import traitlets

from trajlab.corpus.corpus import Corpus
from trajlab.errors import TrajlabError, UsageError, read_named
from trajlab.review.labels import SCHEMA, Label, append
from trajlab.review.rubric import Rubric, fits, load_rubric
from trajlab.review.viewer import Session, module_source, style_source
from trajlab.review.worklist import worklist

Plain = dict[str, Any]
Key = tuple[str, str, int | None, str]


class Reviewer(anywidget.AnyWidget):
    """Read and label trajectories in JupyterLab, VS Code or Colab.

    Every answer is appended to ``labels`` and on disk before the notebook says that it is kept. Opened again with the
    same file, the reviewer goes on where it was left.

    Args:
        corpus: The corpus; it must have kept its texts.
        sample: Manifest of a sample (a file or its content); ``None``: a simple random draw of ``n``.
        labels: JSON lines to append to; ``None``: ``labels-<reviewer>.jsonl`` in the current folder.
        reviewer: Who reads; it stands in every label.
        rubric: A TOML file; ``None``: the one that comes with trajlab.
        blind: Leave what graders and rules said out of what is sent to the notebook.
        n: Trajectories drawn.
        seed: Seed of the draw.

    Raises:
        UsageError: No reviewer, no such trajectory, no texts, or a manifest, rubric or label file that cannot be used.
    """

    _esm = module_source()
    _css = style_source()
    index = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        corpus: Corpus,
        sample: object = None,
        *,
        labels: str | Path | None = None,
        reviewer: str,
        rubric: str | Path | Rubric | None = None,
        blind: bool = False,
        n: int = 20,
        seed: int = 0,
    ) -> None:
        if not reviewer.strip():
            raise UsageError("reviewer", "an empty name", "who reads", "Give a name: it stands in every label")
        work = worklist(corpus, sample, n=n, seed=seed)
        self.session = Session(corpus, work, load_rubric(rubric), blind=blind, reviewer=reviewer)
        self.path = Path(labels if labels is not None else f"labels-{_file_name(reviewer)}.jsonl")
        rows, self.unread = _read(self.path)
        self._labels = {_key(row): row for row in rows if row.sample == work.id}
        warning = f"{self.path}: {self.unread} lines are no labels and were passed over." if self.unread else ""
        super().__init__(index=self.session.index() | {"warning": warning})
        self.on_msg(self._heard)

    def __repr__(self) -> str:
        """What is read, by whom, and where the labels go."""
        return f"Reviewer({len(self.session.work.items)} trajectories, {self.session.reviewer!r}, {str(self.path)!r})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget, and a word for where no front end can show it."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = repr(self)
        return bundle

    @property
    def labels(self) -> list[Plain]:
        """The label that counts for each reviewer, trajectory, step and question; those withdrawn have no value."""
        return [_plain(row) for row in self._labels.values()]

    def _heard(self, _: object, message: Any, __: object) -> None:
        """Answer one question of the front end; whatever comes, it gets an answer."""
        if not isinstance(message, dict):
            return
        number, kind = message.get("number"), message.get("kind")
        try:
            if kind == "item":
                self._send_item(number, message.get("item"))
            elif kind == "labels":
                self.send({"kind": "labels", "number": number, "rows": self.labels})
            elif kind == "label":
                row = self._accepted(message.get("row"))
                self._keep(row)
                told = f"Kept in {self.path}."
                self.send({"kind": "saved", "number": number, "row": _plain(row), "told": told})
        except TrajlabError as error:
            self.send({"kind": "refused", "number": number, "why": str(error)})

    def _send_item(self, number: object, key: object) -> None:
        if not isinstance(key, str) or key not in self.session.work.ids:
            raise UsageError("item", repr(key), "a trajectory of the sample")
        self.send({"kind": "item", "number": number}, buffers=self.session.trajectories.chunks(key))

    def _accepted(self, sent: object) -> Label:
        """The label, if it is one of this session."""
        try:
            row = msgspec.convert(sent, Label)
        except msgspec.ValidationError as error:
            raise UsageError("label", str(error), SCHEMA) from None
        question = self.session.rubric.question(row.question)
        ours = (SCHEMA, self.session.reviewer, self.session.work.id)
        if (row.schema, row.reviewer, row.sample) != ours or row.item not in self.session.work.ids:
            raise UsageError("label", "another reviewer, sample or trajectory", "this session's", "Run the cell again")
        if not _is_time(row.at):
            raise UsageError("label", f"time {row.at!r}", "ISO 8601")
        if question is None or (question.per == "step") != (row.step is not None):
            raise UsageError("label", f"question {row.question!r}", "a question of the rubric", "Run the cell again")
        if not fits(question, row.value):
            raise UsageError("label", f"{row.value!r} to {row.question!r}", f"a {question.kind}")
        return row

    def _keep(self, row: Label) -> None:
        append(self.path, [row])
        self._labels[_key(row)] = row


def _key(row: Label) -> Key:
    """What the last of several labels counts for."""
    return row.reviewer, row.item, row.step, row.question


def _plain(row: Label) -> Plain:
    """The label as JSON has it."""
    plain: Plain = msgspec.json.decode(msgspec.json.encode(row))
    return plain


def _read(path: Path) -> tuple[list[Label], int]:
    """Labels of a file in order, and how many of its lines are none, as a crash may leave one."""
    rows: list[Label] = []
    try:
        lines = read_named(path).split(b"\n")
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise UsageError(str(path), error.strerror or str(error), "a file of labels", "Check the path") from None
    unread = 0
    for line in filter(bytes.strip, lines):
        try:
            rows.append(msgspec.json.decode(line, type=Label))
        except (msgspec.DecodeError, UnicodeDecodeError):
            unread += 1
    return rows, unread


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _file_name(reviewer: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in reviewer)
