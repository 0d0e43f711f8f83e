"""Action patterns against obvious slow versions; clusters of two plain families; the section."""

from __future__ import annotations

import re
from collections import Counter

import polars as pl
import pytest
from corpora_in_tests import SAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st

import trajlab
from trajlab.behavior.masks import mask_of
from trajlab.behavior.patterns import BY_LETTER, KINDS, LETTERS, action_pattern, in_words
from trajlab.measures.clusters import cluster_patterns, distinguishing
from trajlab.measures.frame import Population, Trajectories, select
from trajlab.measures.patterns import Patterns, gram_share, patterns
from trajlab.records import ToolCall
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.pattern_section import action_patterns, heat_table
from trajlab.schema import LABELS


def population(texts: list[str | None], correct: list[bool | None] | None = None) -> Trajectories:
    frame = pl.DataFrame(
        {
            "trajectory_id": [f"t{place:04d}" for place in range(len(texts))],
            "task_id": [f"task{place}" for place in range(len(texts))],
            "pattern": texts,
            "correct": correct or [None] * len(texts),
            "is_error": [False] * len(texts),
            "cluster": list(range(len(texts))),
        },
        schema_overrides={"pattern": pl.String, "correct": pl.Boolean},
    )
    return Trajectories(Population(), frame, 0, 0, ["all"], threshold_used=False, periods_by="epoch")


def observed(texts: list[str | None], **more: int) -> Patterns:
    found = patterns(population(texts), **more)
    assert found is not None
    return found


def test_kinds_cover_the_codebook_once() -> None:
    labels = [label for kind in KINDS for label in kind.labels]
    assert sorted(labels) == sorted(LABELS)
    assert len(set(LETTERS)) == len(KINDS) == len(BY_LETTER)


@pytest.mark.parametrize(
    ("labels", "letter"),
    [
        ({"edit", "script"}, "E"), ({"edit", "test:file"}, "T"), ({"submit", "vcs"}, "Z"), ({"read", "search"}, "R"),
        ({"inline", "edit"}, "E"), ({"other"}, "O"), ({"fileop", "read"}, "F"), (set(), "O"),
    ],
)  # fmt: skip
def test_precedence_of_labels(labels: set[str], letter: str) -> None:
    assert action_pattern([ToolCall("bash", command="x")], [mask_of(frozenset(labels))]) == letter


def test_invalid_unexecuted_thinking_and_nothing() -> None:
    calls = [
        ToolCall("bash", invalid="unparsable", executed=False),
        ToolCall("bash", command="ls", executed=False),
        ToolCall("think", executed=True),
        ToolCall("no_such_tool", executed=True),
    ]
    assert action_pattern(calls, [0, 0, 0, 0]) == "!?KO"
    assert action_pattern([], []) is None


def test_in_words() -> None:
    assert in_words("ETTZ") == "edit, then test ×2, then submit"


_TEXTS = st.lists(st.none() | st.text("RSETZ", min_size=1, max_size=12), min_size=1, max_size=12)


@settings(max_examples=80, deadline=None)
@given(_TEXTS)
def test_counts_agree_with_slow_ones(texts: list[str | None]) -> None:
    found = patterns(population(texts))
    known = [text for text in texts if text]
    if not known:
        assert found is None
        return
    assert found is not None
    assert (found.trajectories, found.without) == (len(known), len(texts) - len(known))
    pieces = [(t[i : i + n], t) for t in known for n in range(1, 5) for i in range(len(t) - n + 1)]
    counts = Counter(gram for gram, _ in pieces)
    assert dict(found.grams.select("gram", "count").iter_rows()) == counts
    assert dict(found.grams.select("gram", "trajectories").iter_rows()) == {
        g: sum(g in t for t in known) for g in counts
    }
    pairs = Counter(gram for gram, _ in pieces if len(gram) == 2)
    for row in found.transitions.iter_rows(named=True):
        assert row["n"] == sum(c for pair, c in pairs.items() if pair[0] == row["from"])
        shares = {key: value for key, value in row.items() if key not in ("from", "n")}
        assert sum(shares.values()) == pytest.approx(1)
        assert all(value * row["n"] == pytest.approx(pairs[row["from"] + to]) for to, value in shares.items())
    deciles = Counter((i * 10 // len(t) + 1, letter) for t in known for i, letter in enumerate(t))
    for row in found.by_decile.iter_rows(named=True):
        shares = {key: value for key, value in row.items() if key not in ("decile", "n")}
        assert sum(shares.values()) == pytest.approx(1)
        assert all(v * row["n"] == pytest.approx(deciles[(row["decile"], k)]) for k, v in shares.items())
    assert found.distinct[0].distinct == len(set(known))


def test_mix_by_call_counts_trajectories() -> None:
    by_call = observed(["RS", "R", "SSS"], first_calls=2).by_call
    assert by_call["n"].to_list() == [3, 2]
    assert by_call["call"].to_list() == [1, 2]


def test_gram_share_has_its_denominator() -> None:
    share = gram_share(population(["RS", "SR", "R.S"]).frame, "RS")
    assert (share.numerator, share.denominator) == (1, 3)


def families(n: int) -> Trajectories:
    texts: list[str | None] = ["SR" * (4 + i % 3) + "ETETETZ" for i in range(n)]
    texts += ["S" + "EX" * (5 + i % 4) + "FZ" for i in range(n)]
    verdicts: list[bool | None] = [*[True] * n, *[False] * n]
    return population(texts, verdicts)


def test_two_families_are_told_apart_named_and_counted() -> None:
    found = cluster_patterns(families(15), seed=3)
    members = [set(cluster.members) for cluster in found.clusters]
    first = {f"t{place:04d}" for place in range(15)}
    assert all(group <= first or not group & first for group in members)
    assert sum(cluster.size for cluster in found.clusters) == found.trajectories == 30
    assert found.silhouette == max(found.tried.values()) > 0.5
    assert len({cluster.name for cluster in found.clusters}) == len(found.clusters)
    for cluster in found.clusters:
        tested = set(cluster.members) <= first
        assert cluster.correct.value == (1.0 if tested else 0.0)
        assert cluster.correct.low is not None
        assert {m["trajectory_id"] for m in cluster.typical} <= set(cluster.members)
    assert any("edit, then test" in c.name or "test" in c.name for c in found.clusters if set(c.members) <= first)


def test_clusters_repeat_and_do_not_depend_on_the_order() -> None:
    one = families(12)
    two = population([])
    two.frame = one.frame.reverse()
    assert cluster_patterns(one, seed=1) == cluster_patterns(one, seed=1)
    assert cluster_patterns(two, seed=1) == cluster_patterns(one, seed=1)


@pytest.mark.parametrize("texts", [["RST"] * 9, ["RST"] * 30, [None] * 20, ["RST", "RSTT"] * 10])
def test_too_few_or_too_alike_is_said(texts: list[str | None]) -> None:
    found = cluster_patterns(population(texts), seed=0)
    assert found.clusters == []
    assert found.why_not


@settings(max_examples=6, deadline=None)
@given(st.lists(st.text(LETTERS, min_size=1, max_size=5), min_size=10, max_size=14))
def test_any_patterns_can_be_clustered(texts: list[str]) -> None:
    found = cluster_patterns(population(list(texts)), seed=0)
    assert sum(cluster.size for cluster in found.clusters) in (0, len(texts))
    assert found.clusters or found.why_not


def test_distinguishing_grams_hold_more_often_inside() -> None:
    grams = distinguishing(["RET", "SET"], ["RSX", "RRX"])
    assert grams[0] == ("ET", 1.0, 0.0)
    assert all(inside > outside for _, inside, outside in grams)


def test_patterns_of_samples_have_a_letter_for_each_call() -> None:
    corpus = trajlab.read(SAMPLES / "mini_swe_agent" / "mini-swe-agent-demo")
    rows = corpus.trajectories.select("pattern", "n_calls").collect()
    assert rows.filter(pl.col("pattern").str.len_chars() != pl.col("n_calls")).is_empty()
    assert rows["pattern"].str.contains("[^" + re.escape(LETTERS) + "]").sum() == 0
    frame = select(corpus, Population())
    assert patterns(frame) is not None


def test_section_shows_matrix_figure_and_clusters() -> None:
    corpus = trajlab.read(SAMPLES / "mini_swe_agent" / "mini-swe-agent-demo")
    html = action_patterns(EpochAudit(corpus, Population()))
    assert "color-mix(in srgb, var(--c1" in html
    assert "<figure>" in html
    assert "what sets it apart" in html
    assert "<script" not in html


def test_heat_table_escapes_what_is_no_letter_of_ours() -> None:
    html = heat_table(pl.DataFrame({"from": ["<i>"], "n": [1], "<b>": [1.0]}))
    assert "<i>" not in html
    assert "<b>" not in html
    assert "100 %" in html or "100.0 %" in html
