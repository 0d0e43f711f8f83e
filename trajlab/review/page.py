"""The reviewer as one HTML file: no kernel, no network, nothing that a log could run."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from string import Template
from typing import Any

import msgspec

from trajlab.corpus.corpus import Corpus
from trajlab.errors import writing
from trajlab.review.rubric import Rubric, load_rubric
from trajlab.review.viewer import Session, module_source, page_source, style_source
from trajlab.review.worklist import worklist

_BOOT = "\nopenPage(document);\n"


class ReviewPage(msgspec.Struct, frozen=True):
    """A page that was written."""

    path: Path
    sample: str
    """Identity of the sample, under which the browser keeps the labels."""
    items: int
    bytes: int

    def __str__(self) -> str:
        trajectories = "trajectory" if self.items == 1 else "trajectories"
        return f"{self.items:,} {trajectories}, {self.bytes / 1e6:.1f} MB, sample {self.sample}: {self.path.name}"


def review_page(
    corpus: Corpus,
    out: str | Path,
    *,
    sample: object = None,
    n: int = 20,
    seed: int = 0,
    rubric: str | Path | Rubric | None = None,
    blind: bool = False,
    reviewer: str | None = None,
) -> ReviewPage:
    """Write a page on which trajectories are read and labelled; the same input gives the same bytes.

    Args:
        corpus: The corpus; it must have kept its texts.
        out: The file to write.
        sample: Manifest of a sample (a file or its content); ``None``: a simple random draw of ``n``.
        n: Trajectories drawn.
        seed: Seed of the draw.
        rubric: A TOML file; ``None``: the one that comes with trajlab.
        blind: Leave what graders and rules said out of the page.
        reviewer: Who reads; ``None``: the page asks.

    Raises:
        UsageError: No such trajectory, no texts, or a manifest or rubric that cannot be used.
        InfrastructureError: The file cannot be written.
    """
    questions = load_rubric(rubric)
    session = Session(corpus, worklist(corpus, sample, n=n, seed=seed), questions, blind=blind, reviewer=reviewer)
    content = page(session).encode("utf-8")
    with writing(Path(out)) as path:
        path.write_bytes(content)
    return ReviewPage(path, session.work.id, len(session.work.items), len(content))


def page(session: Session) -> str:
    """Return the page of a session.

    The policy allows this script and this style sheet by their digests and nothing else: no request, no other script,
    no event handler, and no text made markup (Trusted Types), whatever a log holds.
    """
    script, style = module_source() + _BOOT, style_source()
    data = [_json_script("index", session.index())]
    for number, key in enumerate(session.work.ids):
        chunks = [base64.b64encode(chunk).decode("ascii") for chunk in session.trajectories.chunks(key)]
        data.append(_json_script(f"item-{number}", chunks))
    return Template(page_source()).substitute(
        script_digest=_digest(script), style_digest=_digest(style), style=style, data="\n".join(data), script=script
    )


def json_in_html(value: Any) -> str:
    """Return JSON that is safe inside a script element: ASCII alone, and nothing that ends or opens an element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _json_script(name: str, value: Any) -> str:
    return f'<script type="application/json" id="trajlab-{name}">{json_in_html(value)}</script>'


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
