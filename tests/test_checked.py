"""What the README says readers were checked against is what the samples hold."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from corpora_in_tests import SAMPLES

from trajlab.corpus.plan import claim
from trajlab.formats import FALLBACK_LOGS, LOGS, log_format
from trajlab.formats.checked import CHECKED, KINDS
from trajlab.sources.discover import discover


@cache
def variants_in(folder: Path) -> set[tuple[str, str]]:
    claims = [claim(file, None) for file in discover([folder]).files]
    return {(item.format or "", item.variant or "") for item in claims if item.role == "log"}


def test_every_variant_says_what_it_was_checked_against() -> None:
    declared = {(name, variant) for name in (*LOGS, *FALLBACK_LOGS) for variant in log_format(name).VARIANTS}
    assert CHECKED.keys() == declared
    assert {one.kind for one in CHECKED.values()} == set(KINDS)
    assert {bool(one.what) for one in CHECKED.values() if one.kind != "layout"} == {True}
    assert {(one.what, one.beside) for one in CHECKED.values() if one.kind == "layout"} == {("", False)}


def test_what_was_checked_here_has_a_sample_here() -> None:
    assert {place for place, one in CHECKED.items() if not one.beside} <= variants_in(SAMPLES)


def test_what_was_checked_against_shared_samples_is_in_them(shared: Path) -> None:
    found = variants_in(shared / "samples")
    assert {place for place, one in CHECKED.items() if one.beside} == found
