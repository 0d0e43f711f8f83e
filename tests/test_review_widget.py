"""The reviewer in a notebook: what its kernel accepts and keeps, and the whole of it in a running JupyterLab."""

from __future__ import annotations

import gzip
import importlib.util
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from corpora_in_tests import SAMPLES, environment
from review_in_tests import Watched, chromium, needs_chromium

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError
from trajlab.review import Reviewer
from trajlab.review.viewer import module_source

DEMO = SAMPLES / "mini_swe_agent" / "mini-swe-agent-demo"


@pytest.fixture(scope="module")
def demo() -> Corpus:
    return trajlab.read(DEMO)


class Listening(Reviewer):
    """A reviewer that keeps what it would send to a notebook."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        super().__init__(*arguments, **options)

    def send(self, content: Any, buffers: Any = None) -> None:
        self.sent.append((content, list(buffers or [])))

    def ask(self, **message: Any) -> tuple[dict[str, Any], list[bytes]]:
        """The one answer to a message of a notebook."""
        self._handle_custom_msg({"number": 7, **message}, [])
        (answer,) = self.sent
        self.sent.clear()
        assert answer[0]["number"] == 7
        return answer


def row(of: Reviewer, **changed: Any) -> dict[str, Any]:
    return {
        "schema": "trajlab-label-1", "reviewer": "ann", "sample": of.session.work.id, "item": of.session.work.ids[0],
        "step": None, "span": None, "question": "solved", "value": "yes", "note": None,
        "at": "2026-11-30T12:00:00.000Z", **changed,
    }  # fmt: skip


def test_labels_are_appended_and_another_reviewer_widget_goes_on(demo: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "labels" / "ann.jsonl"
    first = Listening(demo, labels=path, reviewer="ann", n=3)
    rows = [row(first), row(first, value="no"), row(first, question="moment", step=2, value="key", span=[3, 9])]
    for one in rows:
        answer, _ = first.ask(kind="label", row=one)
        assert (answer["kind"], answer["row"]) == ("saved", one)
        assert json.loads(path.read_bytes().splitlines()[-1]) == one
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == rows
    again = Listening(demo, labels=path, reviewer="ann", n=3)
    assert again.labels == rows[1:]
    assert again.ask(kind="labels")[0]["rows"] == rows[1:]
    other = Listening(demo, labels=path, reviewer="ann", n=4)
    assert other.labels == []


def test_half_a_line_that_a_crash_left_costs_no_other(demo: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "ann.jsonl"
    first = Listening(demo, labels=path, reviewer="ann", n=3)
    first.ask(kind="label", row=row(first))
    with path.open("ab") as file:
        file.write(b'{"schema": "trajlab-la')
    second = Listening(demo, labels=path, reviewer="ann", n=3)
    assert (second.unread, len(second.labels)) == (1, 1)
    assert "1 lines" in second.index["warning"]
    second.ask(kind="label", row=row(second, question="shortcut", value="none"))
    assert len(Listening(demo, labels=path, reviewer="ann", n=3).labels) == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"reviewer": "eve"},
        {"sample": "other"},
        {"item": "other"},
        {"question": "other"},
        {"value": "maybe"},
        {"value": {"a": 1}},
        {"step": 3},
        {"step": "3"},
        {"span": [1]},
        {"at": "yesterday"},
        {"schema": "trajlab-label-2"},
    ],
)
def test_what_is_no_label_of_the_session_is_refused_with_a_reason(
    demo: Corpus, tmp_path: Path, changed: dict[str, Any]
) -> None:
    reviewer = Listening(demo, labels=tmp_path / "ann.jsonl", reviewer="ann", n=3)
    answer, _ = reviewer.ask(kind="label", row=row(reviewer, **changed))
    assert answer["kind"] == "refused"
    assert answer["why"]
    assert not (tmp_path / "ann.jsonl").exists()


def test_a_label_that_cannot_be_kept_is_refused(demo: Corpus, tmp_path: Path) -> None:
    (tmp_path / "ann.jsonl").mkdir()
    with pytest.raises(UsageError, match=r"ann\.jsonl"):
        Reviewer(demo, labels=tmp_path / "ann.jsonl", reviewer="ann")
    reviewer = Listening(demo, labels=tmp_path / "later.jsonl", reviewer="ann", n=3)
    (tmp_path / "later.jsonl").mkdir()
    answer, _ = reviewer.ask(kind="label", row=row(reviewer))
    assert answer["kind"] == "refused"
    assert reviewer.labels == []


def test_a_trajectory_is_sent_when_it_is_asked_for_and_no_other(demo: Corpus, tmp_path: Path) -> None:
    reviewer = Listening(demo, labels=tmp_path / "ann.jsonl", reviewer="ann", n=3, blind=True)
    key = reviewer.session.work.ids[1]
    answer, buffers = reviewer.ask(kind="item", item=key)
    assert answer["kind"] == "item"
    assert buffers == reviewer.session.trajectories.chunks(key)
    assert json.loads(gzip.decompress(buffers[0]))[0]["role"] == "system"
    for wrong in ("../../etc/passwd", None, ["x"]):
        assert reviewer.ask(kind="item", item=wrong)[0]["kind"] == "refused"
    assert "facts" not in reviewer.index["items"][0]


def test_it_needs_a_name_and_says_what_it_is(demo: Corpus, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="an empty name"):
        Reviewer(demo, reviewer=" ")
    reviewer = Reviewer(demo, labels=tmp_path / "ann.jsonl", reviewer="ann", n=3)
    assert repr(reviewer) == f"Reviewer(3 trajectories, 'ann', {str(tmp_path / 'ann.jsonl')!r})"
    assert Reviewer(demo, reviewer="a/b ü", n=3).path == Path("labels-a_b_ü.jsonl")
    assert reviewer._esm == module_source()


# The whole of it

CELL = """import trajlab
from trajlab.review import Reviewer
reviewer = Reviewer(trajlab.open_corpus("corpus"), labels="labels.jsonl", reviewer="ann", n=5)
reviewer"""
_CODE: dict[str, object] = {
    "cell_type": "code",
    "id": "a",
    "metadata": {},
    "execution_count": None,
    "outputs": [],
    "source": CELL,
}
NOTEBOOK = {
    "cells": [_CODE, {"cell_type": "markdown", "id": "b", "metadata": {}, "source": "end"}],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab that runs in a folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--allow-root",
        "--IdentityProvider.token=secret", f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    with (folder / "lab.log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=environment() | own | {"JUPYTER_PREFER_ENV_PATH": "1"}, stdout=log, stderr=log
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(f"{address}/api?token=secret", server, folder / "lab.log")
            yield address
        finally:
            server.terminate()
            server.wait(60)


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10):
                return
        except OSError:
            assert server.poll() is None and time.monotonic() < end, log.read_text("utf-8")
            time.sleep(0.3)


@needs_chromium
@pytest.mark.skipif(importlib.util.find_spec("jupyterlab") is None, reason="JupyterLab (extra lab) is not installed")
def test_labels_given_in_jupyterlab_land_in_the_file(tmp_path: Path) -> None:
    trajlab.ingest(DEMO, out=tmp_path / "corpus")
    (tmp_path / "review.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")
    with jupyterlab(tmp_path) as address, chromium() as browser:
        page = browser.new_page(viewport={"width": 1500, "height": 1000})
        watched = Watched(page)
        page.set_default_timeout(120_000)
        # JupyterLab may ask for a kernel where a key comes before the notebook's own is there.
        asked = page.locator(".jp-Dialog")
        page.add_locator_handler(asked, lambda dialog: dialog.locator(".jp-mod-accept").click(), no_wait_after=True)
        page.goto(f"{address}/lab/tree/review.ipynb?token=secret")
        page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
        _run_cell(watched)
        page.wait_for_selector(".trajlab-review .turns[aria-busy=false] .turn.current")
        page.focus(".trajlab-review .turn.current")
        watched.keys("1", "2", "]")
        watched.item(2)
        watched.keys("3", "q", "q", "q", "e", "2")
        watched.status("moment of step")
        watched.status("Kept in labels.jsonl.")
        watched.keys("m")
        page.keyboard.type("a note, typed with d d and Enter")
        watched.keys("Escape")
        watched.wait("document.querySelector('.status').textContent.includes('Kept')")
        assert page.locator(".jp-Cell").count() == 2  # no key was taken for one of the notebook's
        assert page.locator(".jp-MarkdownCell").count() == 1
        assert watched.text(".place") == "2 / 5 · 1 done"
        rows = _labels(tmp_path / "labels.jsonl", 5)
        assert [(one["question"], one["value"]) for one in rows] == [
            ("solved", "yes"), ("shortcut", "suspicious"), ("solved", "no"),
            ("moment", "mistake"), ("moment", "mistake"),
        ]  # fmt: skip
        assert rows[-1]["note"] == "a note, typed with d d and Enter"
        assert {one["reviewer"] for one in rows} == {"ann"}
        _run_cell(watched)  # again: it goes on where it was left
        page.wait_for_selector(".trajlab-review .item .state.done")
        assert watched.dialogs == []


def _run_cell(watched: Watched) -> None:
    """Run the first cell; a JupyterLab that is not ready yet takes no key, so until its prompt changes."""
    prompt = ".jp-CodeCell .jp-InputPrompt"
    before = watched.page.text_content(prompt)
    for _ in range(20):
        watched.page.click(".jp-CodeCell .cm-content")
        watched.page.keyboard.press("Control+Enter")
        watched.page.wait_for_timeout(2000)
        if watched.page.text_content(prompt) != before:
            return
    raise AssertionError(watched.page.inner_text(".jp-Notebook"))


def _labels(path: Path, count: int) -> list[dict[str, Any]]:
    end = time.monotonic() + 30
    while True:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        if len(rows) >= count or time.monotonic() > end:
            return rows
        time.sleep(0.1)
