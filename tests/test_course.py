"""The course of a run: changes, onsets, collapse, and flow between quadrants, with values worked out by hand."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from corpora_in_tests import SAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st

import trajlab
from trajlab.checks.collapse import collapse_finding
from trajlab.checks.facts import Facts, read_state, thresholds
from trajlab.corpus.corpus import Corpus
from trajlab.measures.catalogue import BY_NAME, MEASURES
from trajlab.measures.changes import FAMILY, changes_of
from trajlab.measures.compare import side
from trajlab.measures.contrast import arms, contrast
from trajlab.measures.course import Course, course_of, with_previous
from trajlab.measures.frame import Population, Trajectories, select
from trajlab.measures.onsets import MOST_PERIODS, exploratory_changes, onsets, step_series
from trajlab.measures.quadrant_flow import MOST_FLOWS, Cells, _between, quadrant_flows
from trajlab.measures.quadrants import ANSWER_AND_TOOL
from trajlab.report.written.course_sections import over_the_run
from trajlab.report.written.document import Paragraph
from trajlab.report.written.words import Words
from trajlab.stats import holm

Attempt = tuple[str, int, bool | None, bool]
"""Task, epoch, correct, uses a tool."""
AT, OA, OT, NN = ANSWER_AND_TOOL
SIDES = {AT: (True, True), OA: (True, False), OT: (False, True), NN: (False, False)}


def row(number: int, attempt: Attempt, command: str = "ls") -> dict[str, Any]:
    task, epoch, correct, tool = attempt
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Task {task}"}]
    if tool:
        messages += [{"role": "assistant", "content": "", "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": "c", "content": "done"}]  # fmt: skip
    messages.append({"role": "assistant", "content": f"Done {number}."})
    verdict = {} if correct is None else {"resolved": correct}
    named = {"instance_id": task, "traj_id": str(number), "epoch": epoch, "train_step": epoch}
    return {**named, "messages": messages, **verdict}


def write_run(folder: Path, attempts: list[Attempt], command: str = "ls") -> Path:
    folder.mkdir(parents=True)
    lines = [json.dumps(row(number, attempt, command)) + "\n" for number, attempt in enumerate(attempts)]
    (folder / "rows.jsonl").write_text("".join(lines))
    return folder


def course(folder: Path, attempts: list[Attempt], **population: Any) -> tuple[Corpus, Trajectories, Course]:
    corpus = trajlab.ingest(write_run(folder / "logs" / "run", attempts), out=folder / "corpus")
    run = select(corpus, Population(run=corpus.runs[0], **population))
    return corpus, run, course_of(corpus, run)


def cells(period: int, placed: dict[str, list[str]]) -> list[Attempt]:
    """Attempts of a period by task, each in the quadrant named."""
    return [(task, period, *SIDES[cell]) for task, own in placed.items() for cell in own]


FLOWING = [
    *cells(0, {"a": [AT, AT], "b": [AT, OT], "c": [NN, NN], "d": [AT, AT]}),
    *cells(1, {"a": [NN, NN], "b": [AT, AT], "c": [NN, OA], "d": [AT, AT]}),
]


def test_flow_is_the_mean_over_tasks_of_one_attempt_from_each_period(tmp_path: Path) -> None:
    """Task a moves, half of b comes, half of c finds the answer, d stays: a quarter of the flow each."""
    _, _, found = course(tmp_path, FLOWING)
    (table,) = found.flows
    (flow,) = table.flows
    assert (table.name, flow.before, flow.after, flow.tasks) == ("correct_tool", "epoch 0", "epoch 1", 4)
    moved = {(one, other): e.value for one, to in flow.moves.items() for other, e in to.items() if e.value}
    expected = {(AT, NN): 0.25, (AT, AT): 0.375, (OT, AT): 0.125, (NN, NN): 0.125, (NN, OA): 0.125}
    assert moved == pytest.approx(expected)
    assert flow.stay.value == pytest.approx(0.5)
    assert flow.alike.value == pytest.approx(0.75), "b before and c after differ within the period: (4 + 2) / 8"
    net = {(one, other): e.value for one, to in flow.net.items() for other, e in to.items() if e.value}
    assert net == pytest.approx({(AT, NN): 0.25, (AT, OT): -0.125, (OA, NN): -0.125})
    shares = {cell: [shares[period].value for period in table.periods] for cell, shares in table.shares.items()}
    assert shares == {AT: [0.625, 0.5], OA: [0.0, 0.125], OT: [0.125, 0.0], NN: [0.25, 0.375]}
    assert table.changes == []


def test_where_tasks_do_not_repeat_only_shares_are_known(tmp_path: Path) -> None:
    other = [(f"new {task}", epoch, correct, used) for task, epoch, correct, used in FLOWING[8:]]
    _, _, found = course(tmp_path, FLOWING[:8] + other)
    (table,) = found.flows
    assert table.flows == []
    changed = {item.cell: item.change.value for item in table.changes}
    assert changed == pytest.approx({AT: -0.125, OA: 0.125, OT: -0.125, NN: 0.125})
    assert all(item.within.value is None for item in found.changes.family)


tables = st.lists(st.tuples(*[st.integers(0, 2)] * 8), min_size=1, max_size=6)


@settings(deadline=None, max_examples=60)
@given(tables)
def test_flow_is_what_all_pairs_of_attempts_show(counts: list[tuple[int, ...]]) -> None:
    first: Cells = np.array([own[:4] for own in counts])
    second: Cells = np.array([own[4:] for own in counts])
    found = _between("x", "y", first, second)
    both = [place for place in range(len(counts)) if first[place].any() and second[place].any()]
    fewer = min(int(first.any(axis=1).sum()), int(second.any(axis=1).sum()))
    if len(both) < 2 or 2 * len(both) < fewer:
        assert found is None
        return
    assert found is not None
    total = dict.fromkeys(itertools.product(range(4), repeat=2), 0.0)
    for place in both:
        early = [cell for cell in range(4) for _ in range(first[place][cell])]
        late = [cell for cell in range(4) for _ in range(second[place][cell])]
        for pair in itertools.product(early, late):
            total[pair] += 1 / (len(early) * len(late) * len(both))
    for (i, one), (j, other) in itertools.product(enumerate(ANSWER_AND_TOOL), repeat=2):
        assert found.moves[one][other].value == pytest.approx(total[i, j])
        if i < j:
            assert found.net[one][other].value == pytest.approx(total[i, j] - total[j, i], abs=1e-12)


def test_intervals_of_flows_hold_the_truth() -> None:
    """Fifty tasks, four attempts in each period; quadrants of a task drawn from a Dirichlet distribution."""
    rng = np.random.default_rng(0)
    early = rng.dirichlet([0.7, 0.2, 0.7, 0.4], 100_000)
    late = 0.5 * early + 0.5 * rng.dirichlet([0.9, 0.1, 0.6, 0.4], 100_000)
    truth = early.T @ late / len(early)
    held = []
    for _ in range(150):
        chosen = rng.integers(0, len(early), 50)
        first, second = (np.array([rng.multinomial(4, own[task] / own[task].sum()) for task in chosen])
                         for own in (early, late))  # fmt: skip
        found = _between("x", "y", first, second)
        assert found is not None
        for (i, one), (j, other) in itertools.product(enumerate(ANSWER_AND_TOOL), repeat=2):
            e = found.moves[one][other]
            assert e.low is not None
            assert e.high is not None
            held.append(e.low <= truth[i, j] <= e.high)
    assert 0.94 <= np.mean(held) <= 0.99


def test_many_periods_have_the_flow_from_the_first_to_the_last_only(tmp_path: Path) -> None:
    periods = MOST_PERIODS + 2
    attempts: list[Attempt] = [(task, k, True, k % 2 == 0) for k in range(periods) for task in "abc"]
    _, run, found = course(tmp_path, attempts)
    assert periods - 1 > MOST_FLOWS
    assert [(flow.before, flow.after) for flow in found.flows[0].flows] == [("epoch 0", f"epoch {periods - 1}")]
    assert exploratory_changes(run) == []


STEADY, FALLING = 30, 5


@pytest.fixture(scope="module")
def fallen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Trajectories, Course]:
    """Thirty tasks: tool used 15, 30, 5 and 2 times; correct always as often."""
    used = (15, 30, 5, 2)
    rows = [(epoch, n, k) for epoch, n in enumerate(used) for k in range(STEADY)]
    attempts: list[Attempt] = [(f"t{k:02}", epoch, k < 20, k < n) for epoch, n, k in rows]
    return course(tmp_path_factory.mktemp("fallen"), attempts)


def test_a_measure_that_left_its_baseline_both_ways_has_two_onsets(
    fallen: tuple[Corpus, Trajectories, Course],
) -> None:
    found = [item for item in fallen[2].onsets if item.measure == "tool_use_rate"]
    assert [(item.period, item.direction, item.stays, item.declared) for item in found] == [
        ("epoch 1", 1, False, True), ("epoch 2", -1, True, True),
    ]  # fmt: skip
    assert [item.change.told.value for item in found] == pytest.approx([15 / 30, -10 / 30])
    assert all(item.change.before == "epoch 0" and item.change.within.value is not None for item in found)
    assert not [item for item in fallen[2].onsets if item.measure == "correct_rate"]
    periods = [item.period for item in fallen[2].onsets if item.declared]
    assert periods == sorted(periods)


def test_one_family_holds_every_pair_that_is_compared(fallen: tuple[Corpus, Trajectories, Course]) -> None:
    changes = fallen[2].changes
    assert changes.measures == ["mean_steps", "tool_use_rate"]
    assert set(changes.constant) == {"correct_rate", "any_test_rate", "suite_run_rate", "inline_rate", "edits_per_step"}
    pairs = [(item.before, item.after) for item in changes.family if item.name == "mean_steps"]
    named = [tuple(f"epoch {place}" for place in pair) for pair in ((0, 1), (1, 2), (2, 3), (0, 2), (0, 3))]
    assert pairs == named
    assert [item.adjusted for item in changes.family] == pytest.approx(
        holm([item.p_value for item in changes.family]).tolist()
    )
    assert [(item.before, item.after) for item in changes.steps][:3] == named[:3]
    assert [item.after for item in changes.since_first][:3] == ["epoch 1", "epoch 2", "epoch 3"]
    names = {item.name for item in fallen[2].exploratory}
    assert names & set(FAMILY) == set()
    assert names <= {measure.name for measure in MEASURES}


def test_collapse_is_judged_against_every_pair_of_periods(fallen: tuple[Corpus, Trajectories, Course]) -> None:
    corpus, run, found = fallen
    (collapse,) = found.changes.collapses
    assert (collapse.measure, collapse.best, collapse.onset) == ("tool_use_rate", "epoch 1", "epoch 2")
    assert collapse.fall.p_value is not None
    assert found.changes.watched == ["tool_use_rate"]
    assert collapse.fall.adjusted == pytest.approx(min(1.0, 6 * collapse.fall.p_value)), "six pairs of four periods"
    facts = Facts(run, {}, None, [], read_state(corpus, run.population.run), thresholds())
    assert collapse_finding(facts).status == "not_applicable"
    facts.changes = found.changes
    finding = collapse_finding(facts)
    assert finding.status == "alarm"
    assert "epoch 2, the onset" in finding.message
    steady = msgspec.structs.replace(found.changes, collapses=[], suspected=[])
    assert collapse_finding(msgspec.structs.replace(facts, changes=steady)).status == "ok"
    unseen = msgspec.structs.replace(steady, watched=[])
    assert collapse_finding(msgspec.structs.replace(facts, changes=unseen)).status == "unobserved"


def test_a_fall_that_may_be_chance_is_suspected_and_not_called_a_collapse(tmp_path: Path) -> None:
    attempts: list[Attempt] = [(task, epoch, True, epoch == 0) for epoch in (0, 1) for task in ("one", "one")]
    corpus, run, found = course(tmp_path, attempts)
    assert found.changes.collapses == []
    assert [item.onset for item in found.changes.suspected] == ["epoch 1"]
    facts = Facts(run, {}, None, [], read_state(corpus, None), thresholds(), None, found.changes)
    assert collapse_finding(facts).status == "warn"


def test_think_calls_that_crowd_out_the_others_are_named_with_their_onset(tmp_path: Path) -> None:
    from trajlab.simulate import simulate

    simulate("r6", tmp_path / "r6", scale=0.1)
    corpus = trajlab.ingest(tmp_path / "r6", out=tmp_path / "corpus", texts=False)
    found = changes_of(select(corpus, Population(run="r6", by="steps:13")))
    assert found.crowding is not None
    assert found.crowding.onset == "steps 79 to 91", "0.17 to 0.18 is planted at steps 80 to 100, the line is 0.15"
    assert found.crowding.rise.after == "steps 118 to 130"
    early = select(corpus, Population(run="r6", by="steps:13"))
    kept = early.periods[:5]
    calm = msgspec.structs.replace(early, periods=kept, frame=early.frame.filter(pl.col("period").is_in(kept)))
    assert changes_of(calm).crowding is None


def test_an_epoch_is_compared_with_the_last_one_before_it_that_is_there(tmp_path: Path) -> None:
    right = {0: 3, 2: 9, 5: 4}
    attempts: list[Attempt] = [(f"t{k}", epoch, k < n, True) for epoch, n in right.items() for k in range(12)]
    corpus, _, found = course(tmp_path, attempts, epoch=2)
    assert found.against_previous
    assert found.periods == ["epoch 0", "epoch 2"]
    (correct,) = [item for item in found.changes.family if item.name == "correct_rate"]
    assert correct.within.value == pytest.approx(6 / 12)
    assert correct.within.denominator == 12
    first = select(corpus, Population(run=corpus.runs[0], epoch=0))
    assert with_previous(corpus, first).periods == ["epoch 0"]
    assert course_of(corpus, first).changes.family == []


def test_the_step_of_a_jump_is_found_in_the_series_of_batches(tmp_path: Path) -> None:
    rows = []
    for step in range(40):
        for k in range(10):
            item = row(step * 10 + k, (f"t{k}", step // 20, True, k < (9 if step < 27 else 3) - step % 2))
            rows.append(json.dumps({**item, "train_step": step}) + "\n")
    folder = tmp_path / "logs" / "run"
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_text("".join(rows))
    corpus = trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")
    run = select(corpus, Population(run="run"))
    steps, values = step_series(run, BY_NAME["tool_use_rate"])
    assert (steps, values[:2], values[-1]) == (list(range(40)), [0.9, 0.8], 0.2)
    _, ratios = step_series(run, BY_NAME["calls_per_step"])
    assert ratios[0] == pytest.approx(9 / 19), "nine trajectories of two steps and a call, one of one step"
    found = onsets(changes_of(run).since_first, run, declared=True)
    (fall,) = [item for item in found if item.measure == "tool_use_rate"]
    assert fall.place is not None
    assert (fall.direction, fall.place.step) == (-1, 27)


def test_shares_that_do_not_vary_are_tested_by_their_interval() -> None:
    """Two of two against none of two: Newcombe's interval 1 − √2 z² / (2 + z²) holds zero until z² = 2 / (√2 − 1)."""
    frame = pl.DataFrame({
        "task_id": ["a", "b"], "trajectory_id": ["0", "1"], "correct": [True, True], "is_error": [False] * 2,
        "cluster": [0, 1],
    })  # fmt: skip
    other = frame.with_columns(task_id=pl.Series(["c", "d"]), correct=pl.Series([False, False]))
    found = contrast(BY_NAME["correct_rate"], *arms([("one", frame), ("other", other)]))
    assert found.p_value == pytest.approx(0.02800, abs=5e-5)
    same = contrast(BY_NAME["correct_rate"], *arms([("one", frame), ("other", other.with_columns(correct=True))]))
    assert same.p_value == pytest.approx(1.0)
    paired = contrast(BY_NAME["correct_rate"], *arms([("one", frame), ("other", frame.with_columns(correct=False))]))
    assert (paired.within.value, paired.p_value) == (-1.0, 0.5), "two tasks, both down: 2 · (1/2)²"


def test_one_period_and_nothing_recorded_have_no_flow(tmp_path: Path) -> None:
    corpus, run, found = course(tmp_path, [("a", 0, True, True), ("b", 0, None, True)])
    assert quadrant_flows(corpus, run) == found.flows == []
    assert (found.onsets, found.exploratory, found.changes.family) == ([], [], [])
    none: list[Attempt] = [("a", epoch, None, False) for epoch in (0, 1) for _ in range(2)]
    assert course(tmp_path / "none", none)[2].flows == []


def test_what_few_trajectories_record_is_not_called_the_same_in_every_period(tmp_path: Path) -> None:
    """Correct is known for one of three and true there; reading the files is known for all."""
    seen: list[Attempt] = [("a", 0, True, True), *[("b", epoch, None, True) for epoch in (0, 0, 1, 1, 1)]]
    corpus, run, _ = course(tmp_path, seen)
    told = {
        block.text
        for block in over_the_run(Words("en"), side("run", corpus, run.population))
        if isinstance(block, Paragraph)
    }
    same = next(text for text in told if text.startswith("The same in every period"))
    few = next(text for text in told if text.startswith("The same wherever recorded"))
    assert "uses a tool" in same and "correct" not in same
    assert "correct" in few


@pytest.mark.parametrize(("size", "rows"), [(2, [64, 64, 64]), (4, [128, 64]), (5, [192]), (7, [192])])
def test_a_rest_of_at_least_half_an_epoch_is_an_epoch_of_its_own(size: int, rows: list[int]) -> None:
    corpus = trajlab.read(SAMPLES / "verl" / "legacy_run")
    run = select(corpus, Population(run=corpus.runs[0], steps_per_epoch=size))
    assert run.periods == [f"epoch {place}" for place in range(len(rows))]
    assert run.frame.group_by("period").len().sort("period")["len"].to_list() == rows
