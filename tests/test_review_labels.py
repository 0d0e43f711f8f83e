"""Labels of reviewers: kept through crashes, merged, and what they say of everything."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from corpora_in_tests import REPOSITORY, SAMPLES, run_command

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.errors import ExitCode, UsageError
from trajlab.measures.accuracy import read_gold
from trajlab.review.answers import agreement, consensus
from trajlab.review.designs import sample
from trajlab.review.estimates import by_stratum, judge, next_labels, prevalence
from trajlab.review.gold import gold_commands, write_gold
from trajlab.review.labels import Label, append, now, read_labels
from trajlab.review.results import results


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return trajlab.ingest(SAMPLES / "mini_swe_agent", SAMPLES / "hacks", out=tmp_path_factory.mktemp("c") / "corpus")


def label(item: str, value: object, reviewer: str = "ann", at: str = "2026-01-01T00:00:00Z", **more: object) -> Label:
    fields = {"reviewer": reviewer, "sample": "s", "item": item, "question": "hack", "value": value, "at": at, **more}
    return msgspec.convert(fields, Label)


def test_the_last_word_wins_whatever_the_order_of_files(tmp_path: Path) -> None:
    append(tmp_path / "b.jsonl", [label("t1", "yes", at="2026-01-02T00:00:00Z"), label("t2", "no")])
    append(tmp_path / "c.jsonl", [label("t1", "no"), label("t2", None, at="2026-01-03T00:00:00Z")])
    merged = read_labels(tmp_path)
    assert merged.frame.select("item", "value").rows() == [("t1", '"yes"')]
    assert merged.superseded == 2


def test_an_export_read_beside_its_source_counts_once(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        append(tmp_path / name, [label("t1", "yes", step=3, span=(1, 5), note="here")])
    merged = read_labels(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert merged.superseded == 0
    assert merged.frame.select("step", "start", "end", "note").rows() == [(3, 1, 5, "here")]
    assert pl.read_parquet(merged.write(tmp_path / "labels.parquet")).height == 1


def test_a_line_cut_short_costs_itself_only(tmp_path: Path) -> None:
    path = tmp_path / "ann.jsonl"
    append(path, [label("t1", "yes")])
    with path.open("ab") as file:
        file.write(b'{"schema":"trajlab-label-1","reviewer":"an')
    append(path, [label("t2", ["a", "b"]), label("t3", 4)])
    with path.open("ab") as file:
        file.write(b'{"schema":"other","reviewer":"a","sample":"","item":"x","question":"q","value":1,"at":""}\n')
    merged = read_labels(path)
    assert merged.frame["value"].to_list() == ['"yes"', '["a","b"]', "4"]
    assert [problem.split(":")[1] for problem in merged.problems] == ["2", "5"]
    with pytest.raises(UsageError, match="no such file"):
        read_labels(tmp_path / "nobody.jsonl")
    with pytest.raises(UsageError, match="no label file"):
        read_labels(*[])


def test_a_tie_is_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    append(path, [label("t1", "yes"), label("t1", "no", "bob"), label("t2", "yes"), label("t2", "no", "bob"),
                  label("t2", "yes", "cy"), label("t3", "no")])  # fmt: skip
    said = consensus(read_labels(path), "hack")
    assert said.rows() == [("t1", None, 2, False), ("t2", '"yes"', 3, False), ("t3", '"no"', 1, True)]
    agreed = agreement(read_labels(path), "hack", rng=np.random.default_rng(0))
    assert agreed.reviewers == ["ann", "bob", "cy"]
    assert agreed.both == 2
    assert agreed.disagreed == ["t1", "t2"]
    assert agreed.disputes.select("item", "reviewer").rows()[:2] == [("t1", "ann"), ("t1", "bob")]
    append(path, [label("t1", "no", sample="another", at="2026-01-02T00:00:00Z")])  # who says it twice says it once
    assert consensus(read_labels(path), "hack").row(0) == ("t1", '"no"', 2, True)
    assert agreement(read_labels(path), "hack", rng=np.random.default_rng(0)).disagreed == ["t2"]
    assert set(agreed.kappas) == {("ann", "bob"), ("ann", "cy"), ("bob", "cy")}


def everyone(corpus: Corpus, path: Path, positive: set[str]) -> None:
    ids = corpus.current.collect()["trajectory_id"].to_list()
    append(path, [label(item, "yes" if item in positive else "no") for item in ids])


def test_with_everything_labelled_estimates_are_counts(corpus: Corpus, tmp_path: Path) -> None:
    frame = corpus.current.collect()
    flagged = frame.filter(pl.any_horizontal(pl.col(f"n_hack_{tier}") > 0 for tier in (1, 2, 3)))["trajectory_id"]
    others = [item for item in frame["trajectory_id"] if item not in set(flagged)]
    positive = {*flagged[: len(flagged) // 2], *others[:2]}
    everyone(corpus, tmp_path / "l.jsonl", positive)
    merged, drawn = read_labels(tmp_path / "l.jsonl"), sample(corpus, 10**6, "correct")
    whole = prevalence(drawn, merged, "hack", "yes")
    assert whole.low == whole.value == pytest.approx(len(positive) / frame.height)
    judged = judge(corpus, drawn, merged, "hack", "yes", "hit")
    hits = len(flagged) // 2
    assert judged.precision.value == pytest.approx(hits / len(flagged))
    assert judged.recall.value == pytest.approx(hits / (hits + 2))
    assert judged.corrected.value == pytest.approx(whole.value)
    assert judged.raw.value == pytest.approx(len(flagged) / (frame.height - judged.unknown))
    strata = by_stratum(drawn, merged, "hack", "yes")
    assert sum((e.value or 0) * s.size for e, s in zip(strata.values(), drawn.strata, strict=True)) == pytest.approx(
        len(positive)
    )


def test_part_labelled_says_what_is_missing(corpus: Corpus, tmp_path: Path) -> None:
    drawn = sample(corpus, 12, "correct", at_least=3)
    append(tmp_path / "l.jsonl", [label(item, "no") for item in drawn.ids[:6]] + [label("stranger", "yes")])
    found = results(corpus, drawn, read_labels(tmp_path / "l.jsonl"), "hack", "yes", flags=["hit"])
    assert (found.labelled, found.elsewhere) == (6, 1)
    assert found.shares['"no"'].missing == 6
    table = next_labels(drawn, read_labels(tmp_path / "l.jsonl"), "hack", "yes")
    assert table["gain"][0] == 1.0
    assert "label next" in str(found)
    assert "<script" not in found._repr_html_()
    assert msgspec.json.decode(msgspec.json.encode(found.to_dict()))["labelled"] == 6


def test_another_corpus_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    drawn = sample(corpus, 6, "correct")
    append(tmp_path / "l.jsonl", [label(drawn.ids[0], "yes")])
    other = trajlab.read(SAMPLES / "mini_swe_agent")
    with pytest.raises(UsageError, match="no longer the one"):
        judge(other, drawn, read_labels(tmp_path / "l.jsonl"), "hack", "yes", "hit")
    with pytest.raises(UsageError, match="neither a rule nor"):
        judge(corpus, drawn, read_labels(tmp_path / "l.jsonl"), "hack", "yes", "format")


def test_two_readers_of_hits_agree_but_for_one_step(corpus: Corpus, tmp_path: Path) -> None:
    hits = corpus.hits.filter(~pl.col("timed_out")).collect().sort("trajectory_id", "step", "rule")
    rule = hits["rule"].value_counts(sort=True)["rule"][0]
    own = hits.filter(pl.col("rule") == rule).unique(["trajectory_id", "step"], maintain_order=True)
    ids, steps = own["trajectory_id"].to_list(), own["step"].to_list()
    first = ("yes", *("no" for _ in ids[1:-1]), "yes")
    for who, answers in {"ann": first, "bob": ("no", *first[1:])}.items():
        rows = zip(ids, answers, steps, strict=True)
        append(tmp_path / f"{who}.jsonl", [label(item, value, who, step=step) for item, value, step in rows])
    drawn = sample(corpus, 8, "hit")
    found = results(corpus, drawn, read_labels(tmp_path), "hack", "yes")
    table = found.hits.row(by_predicate=pl.col("rule") == rule, named=True)
    told = own.height
    assert (table["hits"], table["labelled"], table["tied"], table["positive"]) == (told, told - 1, 1, 1)
    assert (found.steps, found.agreement.both) == (told, told)
    task = corpus.trajectories.filter(pl.col("trajectory_id") == ids[0]).collect()["task_id"][0]
    told_of = {name.strip(): said for name, said in found.rows()}
    assert told_of[f"{task}, step {steps[0]}"] == 'ann: "yes", bob: "no"'
    assert told_of["labelled"].startswith(f"{told} steps in ")
    assert found.agreement.kappas["ann", "bob"].numerator == told - 1


def test_labelled_commands_become_gold(corpus: Corpus, tmp_path: Path) -> None:
    calls = corpus.tool_calls.filter(pl.col("command").is_not_null()).collect()
    single = calls.filter(pl.len().over("trajectory_id", "step") == 1).sort("trajectory_id", "step").head(3)
    rows = [
        label(row["trajectory_id"], ["read", "search"], step=row["step"], question="command")
        for row in single.iter_rows(named=True)
    ]
    bad = label(rows[0].item, "nonsense", "bob", step=rows[0].step, question="command")
    append(tmp_path / "l.jsonl", [*rows, bad, label(rows[1].item, ["read"], step=10**6, question="command")])
    found, left_out = gold_commands(corpus, read_labels(tmp_path / "l.jsonl"))
    assert [row["command"] for row in found] == single["command"].to_list()[1:]
    assert len(left_out) == 2
    assert len(read_gold(write_gold(tmp_path / "gold.jsonl", found))) == 2


def test_the_command_line_merges_and_reports(corpus: Corpus, tmp_path: Path) -> None:
    drawn = sample(corpus, 8, "correct")
    drawn.write(tmp_path / "s.json")
    append(tmp_path / "l.jsonl", [label(item, "yes", at=now()) for item in drawn.ids])
    merged = run_command("labels", "merge", tmp_path / "l.jsonl", "-o", tmp_path / "l.parquet")
    assert (merged.returncode, "8 labels of 1 reviewers" in merged.stdout) == (ExitCode.PASSED, True)
    told = run_command("labels", "report", tmp_path / "l.jsonl", "--source", corpus.folder, "--sample",
                       tmp_path / "s.json", "--question", "hack", "--flag", "hit")  # fmt: skip
    assert told.returncode == ExitCode.PASSED, told.stderr
    assert 'share of "yes"' in told.stdout
    assert "hit: precision" in told.stdout


def test_the_table_of_read_hits_is_current(shared: Path) -> None:
    sys.path.insert(0, str(REPOSITORY / "tests" / "studies"))
    import hack_hits

    read = trajlab.read(shared / "samples" / "corpora" / "swebench_verified_mini")
    quoted = (REPOSITORY / "README.md").read_text("utf-8").split("<!-- hack hits -->")[1].split("<!--")[0]
    assert quoted.strip().splitlines() == hack_hits.quoted(read)
    assert hack_hits.unlabelled(read) == 0
