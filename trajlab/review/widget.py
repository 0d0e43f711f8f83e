"""The reviewer in a notebook: the same ES module as the page, with a kernel that keeps the labels."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import anywidget
import msgspec
import traitlets

from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError
from trajlab.review.rubric import Rubric, fits, load_rubric
from trajlab.review.viewer import LABEL_SCHEMA, Session, module_source, style_source
from trajlab.review.worklist import worklist

Label = dict[str, Any]
Key = tuple[str, str, int | None, str]


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """One label as a front end sends it and a file keeps it."""

    schema: str
    reviewer: str
    sample: str
    item: str
    step: int | None
    span: tuple[int, int] | None
    question: str
    value: str | int | float | bool | list[str] | None
    note: str | None
    at: str

    @property
    def key(self) -> Key:
        """What the last of several labels counts for."""
        return self.reviewer, self.item, self.step, self.question


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
        self._labels = {row.key: row for row in rows if row.sample == work.id}
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
    def labels(self) -> list[Label]:
        """The label that counts for each reviewer, trajectory, step and question; those withdrawn have no value."""
        return [msgspec.to_builtins(row) for row in self._labels.values()]

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
                self.send({"kind": "saved", "number": number, "row": msgspec.to_builtins(row), "told": told})
        except (UsageError, OSError) as error:
            self.send({"kind": "refused", "number": number, "why": str(error)})

    def _send_item(self, number: object, key: object) -> None:
        if not isinstance(key, str) or key not in self.session.work.ids:
            raise UsageError("item", repr(key), "a trajectory of the sample")
        self.send({"kind": "item", "number": number}, buffers=self.session.trajectories.chunks(key))

    def _accepted(self, sent: object) -> Row:
        """The label, if it is one of this session."""
        try:
            row = msgspec.convert(sent, Row)
        except msgspec.ValidationError as error:
            raise UsageError("label", str(error), LABEL_SCHEMA) from None
        question = self.session.rubric.question(row.question)
        ours = (LABEL_SCHEMA, self.session.reviewer, self.session.work.id)
        if (row.schema, row.reviewer, row.sample) != ours or row.item not in self.session.work.ids:
            raise UsageError("label", "another reviewer, sample or trajectory", "this session's", "Run the cell again")
        if not _is_time(row.at):
            raise UsageError("label", f"time {row.at!r}", "ISO 8601")
        if question is None or (question.per == "step") != (row.step is not None):
            raise UsageError("label", f"question {row.question!r}", "a question of the rubric", "Run the cell again")
        if not fits(question, row.value):
            raise UsageError("label", f"{row.value!r} to {row.question!r}", f"a {question.kind}")
        return row

    def _keep(self, row: Row) -> None:
        append_rows(self.path, [row])
        self._labels[row.key] = row


def append_rows(path: Path, rows: list[Row]) -> None:
    """Append labels to a file and have them on disk on return; half a line that a crash left is ended first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            torn = file.read(1) != b"\n"
            file.write(b"\n" if torn else b"")
        file.write(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> tuple[list[Row], int]:
    """Labels of a file in order, and how many of its lines are none, as a crash may leave one."""
    rows: list[Row] = []
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise UsageError(str(path), error.strerror or str(error), "a file of labels", "Check the path") from None
    unread = 0
    for line in filter(bytes.strip, lines):
        try:
            rows.append(msgspec.json.decode(line, type=Row))
        except msgspec.DecodeError:
            unread += 1
    return rows, unread


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _file_name(reviewer: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in reviewer)
