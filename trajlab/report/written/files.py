"""Writing a report's Markdown where its run folder is."""

from __future__ import annotations

import os
from pathlib import Path

from trajlab.report.result import write_atomically
from trajlab.report.written.document import Document, to_markdown

MARKDOWN_FILE = "report.md"


def write_markdown(document: Document, folder: Path | str | None = None) -> None:
    """Write ``report.md`` whole or not at all.

    Args:
        document: What to write.
        folder: Where; ``None``: the folder the runner gave (``TRAJLAB_RUN_DIR``), else the current one.
    """
    target = Path(folder if folder is not None else os.environ.get("TRAJLAB_RUN_DIR", "."))
    write_atomically(target / MARKDOWN_FILE, to_markdown(document).encode("utf-8"))
