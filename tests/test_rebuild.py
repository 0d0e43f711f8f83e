"""Behaviour derived anew from a corpus alone equals what a fresh ingest derives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from corpora_in_tests import SAMPLES, contents, mtimes, run_command

import trajlab
from trajlab.behavior import derive
from trajlab.corpus import ingest, manifest, plan
from trajlab.errors import UsageError
from trajlab.schema import DERIVED_TABLES, PART_TABLES

DEMO = SAMPLES / "mini_swe_agent" / "mini-swe-agent-demo"


def ingest_by_other_rules(source: Path, out: Path, patch: pytest.MonkeyPatch, **options: Any) -> None:
    """A corpus as another version of the rules would have left it, its derived tables spoilt on top."""
    with patch.context() as other:
        for module in (derive, plan, manifest, ingest):
            other.setattr(module, "RULES_VERSION", "others")
        trajlab.ingest(source, out=out, **options)
    for table in DERIVED_TABLES:
        for path in out.glob(f"parts/*/{table.name}.*.parquet"):
            if table.name == "behaviour":
                pl.read_parquet(path).head(1).write_parquet(path)
            else:
                path.unlink()


def check_same(one: trajlab.Corpus, other: trajlab.Corpus) -> None:
    for table in PART_TABLES:
        assert one.table(table.name).collect().equals(other.table(table.name).collect()), table.name
    assert one.trajectories.collect().equals(other.trajectories.collect())


@pytest.mark.parametrize("name", ["mini_swe_agent", "chat", "verl"])
def test_rebuilt_tables_equal_a_fresh_ingest(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest_by_other_rules(SAMPLES / name, tmp_path / "corpus", monkeypatch)
    rebuilt = trajlab.rebuild(tmp_path / "corpus")
    fresh = trajlab.ingest(SAMPLES / name, out=tmp_path / "fresh")
    check_same(rebuilt, fresh)
    assert contents(tmp_path / "corpus" / "parts") == contents(tmp_path / "fresh" / "parts")
    assert rebuilt.rules == derive.RULES_VERSION


@pytest.mark.parametrize("folder", ["corpora", "public", "written"])
def test_rebuilt_tables_of_shared_logs(
    folder: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = shared / "samples" / folder
    ingest_by_other_rules(source, tmp_path / "corpus", monkeypatch)
    check_same(trajlab.rebuild(tmp_path / "corpus"), trajlab.ingest(source, out=tmp_path / "fresh"))


def test_a_rebuilt_corpus_needs_no_ingest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest_by_other_rules(DEMO, tmp_path / "corpus", monkeypatch)
    trajlab.rebuild(tmp_path / "corpus")
    before = mtimes(tmp_path / "corpus")
    trajlab.rebuild(tmp_path / "corpus")
    trajlab.ingest(DEMO, out=tmp_path / "corpus")
    assert mtimes(tmp_path / "corpus") == before


def test_a_corpus_of_other_rules_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest_by_other_rules(DEMO, tmp_path / "corpus", monkeypatch)
    with pytest.raises(UsageError, match="trajlab rebuild"):
        trajlab.open_corpus(tmp_path / "corpus")
    done = run_command("rebuild", tmp_path / "corpus")
    assert (done.returncode, done.stderr) == (0, "")
    assert derive.RULES_VERSION in done.stdout
    assert trajlab.open_corpus(tmp_path / "corpus").trajectories.collect().height == 12


def test_without_texts_there_is_nothing_to_rebuild_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest_by_other_rules(DEMO, tmp_path / "corpus", monkeypatch, texts=False)
    before = contents(tmp_path / "corpus")
    with pytest.raises(UsageError, match="Ingest its logs again"):
        trajlab.rebuild(tmp_path / "corpus")
    assert contents(tmp_path / "corpus") == before


def test_a_killed_rebuild_leaves_the_corpus_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trajlab.corpus import rebuild

    ingest_by_other_rules(DEMO, tmp_path / "corpus", monkeypatch)
    before = contents(tmp_path / "corpus" / "parts")
    with monkeypatch.context() as broken:
        broken.setattr(rebuild, "add_derived", _fail)
        with pytest.raises(KeyboardInterrupt):
            trajlab.rebuild(tmp_path / "corpus")
    after = contents(tmp_path / "corpus" / "parts")
    assert {name: data for name, data in after.items() if not name.startswith(".wip-")} == before
    check_same(trajlab.rebuild(tmp_path / "corpus"), trajlab.ingest(DEMO, out=tmp_path / "fresh"))
    assert not list((tmp_path / "corpus" / "parts").glob(".wip-*"))


def _fail(*_: object) -> None:
    raise KeyboardInterrupt
