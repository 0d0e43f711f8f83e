from __future__ import annotations

import io
import sys

import pytest

from trajlab.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("batch", "stream", "shown"), [
    ("1", Terminal, False), ("", Terminal, True), ("", io.StringIO, False),
])  # fmt: skip
def test_a_bar_only_where_someone_sees_it_move(
    batch: str, stream: type[io.StringIO], shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAJLAB_BATCH", batch)
    monkeypatch.setattr(sys, "stderr", stream())
    assert list(progress(range(5), total=5, unit="file", description="reading")) == list(range(5))
    assert ("reading" in sys.stderr.getvalue()) is shown  # type: ignore[union-attr]
