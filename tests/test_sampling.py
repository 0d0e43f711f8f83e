"""Which trajectories are drawn: repeatable, with honest probabilities, and every design as it says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import polars as pl
import pytest
from corpora_in_tests import run_command

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.errors import ExitCode, UsageError
from trajlab.measures.frame import Population
from trajlab.review.designs import WORKLIST, Design, draw, sample
from trajlab.review.manifest import read_sample
from trajlab.simulate import simulate


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("r7")
    simulate("r7", folder / "simulated", scale=0.05, random=True)
    return trajlab.ingest(folder / "simulated", out=folder / "corpus", texts=False)


def test_the_same_call_draws_the_same(corpus: Corpus) -> None:
    one, again, other = (sample(corpus, 30, "quadrant", seed=seed) for seed in (4, 4, 5))
    assert one.to_json() == again.to_json()
    assert one.id != other.id
    assert set(one.ids) != set(other.ids)
    assert len(set(one.ids)) == 30


def test_a_manifest_is_read_back_as_written(corpus: Corpus, tmp_path: Path) -> None:
    drawn = sample(corpus, 20, ["correct", "period"], population=Population(by="quarter"))
    assert read_sample(drawn.write(tmp_path / "sample.json")) == drawn
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(UsageError, match=r"no\.json: not one"):
        read_sample(tmp_path / "no.json")
    with pytest.raises(UsageError, match="No such file"):
        read_sample(tmp_path / "nowhere.json")


def test_probabilities_are_those_of_the_draw(corpus: Corpus) -> None:
    drawn = sample(corpus, 40, "correct", allocation="equal")
    by_name = {stratum.name: stratum for stratum in drawn.strata}
    assert sum(stratum.size for stratum in drawn.strata) == drawn.frame == corpus.current.collect().height
    for item in drawn.items:
        stratum = by_name[item.stratum]
        assert item.probability == stratum.drawn / stratum.size
    assert sum(1 / item.probability for item in drawn.items) == pytest.approx(drawn.frame)


def test_over_many_seeds_everyone_is_drawn_as_often_as_said() -> None:
    frame = pl.DataFrame(
        {
            "trajectory_id": [f"t{number:02}" for number in range(30)],
            "run": "r", "task_id": None, "stratum": ["a"] * 24 + ["b"] * 6,
        },
        schema_overrides={"task_id": pl.String},
    )  # fmt: skip
    counts: Counter[str] = Counter()
    for seed in range(2000):
        _, items = draw(frame, Design(10, ("x",), at_least=4), seed)
        counts.update(item.trajectory_id for item in items)
    assert all(abs(counts[f"t{number:02}"] / 2000 - 6 / 24) < 0.05 for number in range(24))
    assert all(abs(counts[f"t{number:02}"] / 2000 - 4 / 6) < 0.05 for number in range(24, 30))


def test_a_rare_cell_is_not_missed(corpus: Corpus) -> None:
    drawn = sample(corpus, 30, "quadrant", at_least=3)
    assert all(stratum.drawn >= min(3, stratum.size) for stratum in drawn.strata)
    assert len(drawn.items) == 30


def test_neyman_draws_more_where_members_differ(corpus: Corpus) -> None:
    by_size = {s.name: s.drawn for s in sample(corpus, 60, "tool_used").strata}
    by_spread = {s.name: s.drawn for s in sample(corpus, 60, "tool_used", allocation="neyman", spread="n_steps").strata}
    assert by_spread["tool_used: no"] <= by_size["tool_used: no"]
    with pytest.raises(UsageError, match="neyman and spread"):
        sample(corpus, 10, "correct", allocation="neyman")
    with pytest.raises(UsageError, match="holds no numbers"):
        sample(corpus, 10, "correct", allocation="neyman", spread="run")


def test_the_worklist_comes_first(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(
        b"".join(
            msgspec.json.encode(
                {"messages": [{"role": "user", "content": f"task {n}"}, {"role": "assistant", "content": "done"}],
                 "instance_id": f"t{n}", "reward": float(n % 3 == 0), "resolved": n % 4 == 0}
            ) + b"\n"
            for n in range(40)
        )
    )  # fmt: skip
    corpus = trajlab.read(tmp_path)
    population = Population(reward_threshold=0.5)
    drawn = sample(corpus, 25, "reward_outcome", first=WORKLIST, population=population)
    sizes = {stratum.name.partition(": ")[2]: stratum for stratum in drawn.strata}
    early = sizes["hacking_candidate"].size + sizes["false_negative"].size
    order = [item.stratum.partition(": ")[2] for item in drawn.items]
    assert order[: sizes["hacking_candidate"].size] == ["hacking_candidate"] * sizes["hacking_candidate"].size
    assert set(order[:early]) == set(WORKLIST)
    assert set(order[early:]) == {"aligned", "ordinary_failure"}
    assert all(item.probability == 1 for item in drawn.items[:early])
    with pytest.raises(UsageError, match="no threshold"):
        sample(corpus, 5, "reward_outcome")


def test_pairs_are_two_attempts_at_one_task(corpus: Corpus) -> None:
    drawn = sample(corpus, 20, pairs="correct")
    assert len(drawn.items) == 20
    frame = drawn.to_polars().join(corpus.current.select("trajectory_id", "correct").collect(), on="trajectory_id")
    pairs = frame.group_by("pair").agg(pl.col("task_id").n_unique().alias("tasks"), pl.col("correct").n_unique())
    assert pairs["tasks"].to_list() == [1] * 10
    assert pairs["correct"].to_list() == [2] * 10
    with pytest.raises(UsageError, match="pairs within strata"):
        sample(corpus, 20, "correct", pairs="correct")
    with pytest.raises(UsageError, match="values"):
        sample(corpus, 20, pairs="n_steps")


def test_what_cannot_divide_is_refused(corpus: Corpus) -> None:
    with pytest.raises(UsageError, match="nothing called 'nonsense'"):
        sample(corpus, 5, "nonsense")
    with pytest.raises(UsageError, match="at most 200 strata"):
        sample(corpus, 5, "trajectory_id")
    with pytest.raises(UsageError, match="no rule"):
        sample(corpus, 5, "rule:none")
    with pytest.raises(UsageError, match="at least 1"):
        sample(corpus, 0)


def test_more_than_there_are_is_everyone(corpus: Corpus) -> None:
    drawn = sample(corpus, 10**6, "correct")
    assert len(drawn.items) == drawn.frame
    assert {item.probability for item in drawn.items} == {1.0}


def test_the_command_line_writes_the_same_manifest_twice(corpus: Corpus, tmp_path: Path) -> None:
    by = ("--by", "correct", "--by", "period", "--periods", "quarter")
    call: list[str | Path] = ["sample", corpus.folder, "-n", "16", *by]
    first, second = run_command(*call, "-o", tmp_path / "new" / "a.json"), run_command(*call)
    assert first.returncode == second.returncode == ExitCode.PASSED
    assert (tmp_path / "new" / "a.json").read_text("utf-8") == second.stdout
    assert "16 of" in first.stdout
    wrong = run_command("sample", corpus.folder, "--set", "nothing=1")
    assert wrong.returncode == ExitCode.USAGE
    assert "no parameter 'nothing'" in wrong.stderr


def test_steps_of_an_alarm_are_a_stratum(tmp_path: Path) -> None:
    simulate("R3", tmp_path / "simulated", scale=0.2)
    run = trajlab.ingest(tmp_path / "simulated", out=tmp_path / "corpus", texts=False)
    drawn = sample(run, 24, "alarm", at_least=2)
    names = {stratum.name for stratum in drawn.strata}
    assert "alarm: no alarm" in names
    assert any(name.startswith("alarm: A0") for name in names)
    steps = dict(run.current.select("trajectory_id", "train_step").collect().iter_rows())
    assert all(steps[item.trajectory_id] > 20 for item in drawn.items if item.stratum.startswith("alarm: A0"))
