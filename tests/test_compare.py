"""Runs side by side: each number against a count of its own, each verdict against a case made for it."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import polars as pl
import pytest
import yaml
from corpora_in_tests import SAMPLES, run_command
from hypothesis import given, settings
from hypothesis import strategies as st
from seed_figures import RUNS, claims, compared, figures, simulated

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.errors import ExitCode, UsageError
from trajlab.measures.budgets import Budget, budget, differing, unknown
from trajlab.measures.catalogue import BY_NAME, Measure
from trajlab.measures.changes import changes_of
from trajlab.measures.compare import compare_sides, side
from trajlab.measures.configuration import Configuration, changed, configuration, plain, read_options
from trajlab.measures.contrast import Arm, adjust, arms, contrast
from trajlab.measures.fairness import POINTS, Subject, fairness
from trajlab.measures.frame import Population, select
from trajlab.measures.score_series import score_series
from trajlab.report.compare_runs import RunComparison, distinct
from trajlab.report.result import SCHEMA_FILE
from trajlab.report.written.document import to_markdown
from trajlab.simulate import simulate
from trajlab.stats import holm

SHARE = Measure("yes_rate", "yes", "outcome", "share", lambda: pl.col("yes"), behaviour=False)
RATIO = Measure("a_per_b", "a per b", "steps", "ratio", lambda: pl.col("a"), lambda: pl.col("b"), behaviour=False)


def frame(tasks: Sequence[str | None], **columns: Sequence[Any]) -> pl.DataFrame:
    data: dict[str, Any] = {"task_id": list(tasks), "is_error": [False] * len(tasks), **columns}
    made = pl.DataFrame(data, schema_overrides={"task_id": pl.String}).with_columns(
        trajectory_id=pl.int_range(pl.len()).cast(pl.String)
    )
    return made.with_columns(cluster=pl.coalesce("task_id", "trajectory_id").rank("dense").cast(pl.Int64))


def pair(before: pl.DataFrame, after: pl.DataFrame) -> tuple[Arm, Arm]:
    one, other = arms([("before", before), ("after", after)])
    return one, other


rows = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 5), st.integers(1, 6)), min_size=4, max_size=30)


@settings(max_examples=40, deadline=None)
@given(rows, rows)
def test_a_contrast_is_what_a_loop_over_the_rows_gives(one: list[Any], other: list[Any]) -> None:
    frames = [
        frame([t for t, _, _ in r], a=[a for _, a, _ in r], b=[b for _, _, b in r], yes=[a > 2 for _, a, _ in r])
        for r in (one, other)
    ]
    found = contrast(SHARE, *pair(*frames))
    rate = [sum(a > 2 for _, a, _ in r) / len(r) for r in (one, other)]
    assert found.pooled.value == pytest.approx(rate[1] - rate[0])
    ratio = contrast(RATIO, *pair(*frames))
    per = [sum(a for _, a, _ in r) / sum(b for _, _, b in r) for r in (one, other)]
    assert ratio.pooled.value == pytest.approx(per[1] - per[0])
    shared = sorted({t for t, _, _ in one} & {t for t, _, _ in other})
    fewer = min(len({t for t, _, _ in r}) for r in (one, other))
    if len(shared) < 2 or 2 * len(shared) < fewer:
        assert found.within.value is None
        return
    rates = [[np.mean([a > 2 for t, a, _ in r if t == task]) for task in shared] for r in (one, other)]
    assert found.within.value == pytest.approx(np.mean(np.subtract(rates[1], rates[0])))
    by_task = [
        sum(a for t, a, _ in other if t == s) / sum(b for t, _, b in other if t == s)
        - sum(a for t, a, _ in one if t == s) / sum(b for t, _, b in one if t == s)
        for s in shared
    ]
    assert ratio.within.value == pytest.approx(np.mean(by_task))


def test_opposite_signs_are_seen() -> None:
    """The run after is better at every task, but was given more of the hard ones."""
    before = frame(["easy"] * 90 + ["hard"] * 10, yes=[True] * 72 + [False] * 18 + [True] * 1 + [False] * 9)
    after = frame(["easy"] * 10 + ["hard"] * 90, yes=[True] * 9 + [False] * 1 + [True] * 18 + [False] * 72)
    found = contrast(SHARE, *pair(before, after))
    assert found.pooled.value == pytest.approx(0.27 - 0.73)
    assert found.within.value == pytest.approx(0.1)
    assert found.opposite
    assert not contrast(SHARE, *pair(before, before)).opposite


def test_trajectories_without_task_pair_with_nothing() -> None:
    nameless = frame([None] * 6, yes=[True, False] * 3)
    found = contrast(SHARE, *pair(nameless, nameless))
    assert found.within.value is None
    assert found.pooled.value == 0


def test_only_the_declared_family_is_adjusted() -> None:
    made = frame(list("abcdef") * 4, yes=[True] * 20 + [False] * 4, a=[1] * 24, b=[2] * 24)
    worse = frame(list("abcdef") * 4, yes=[True] * 4 + [False] * 20, a=[1, 2] * 12, b=[2] * 24)
    found = [contrast(measure, *pair(made, worse)) for measure in (SHARE, RATIO)]
    one, other = adjust(found, ("yes_rate",))
    assert one.adjusted == one.p_value
    assert other.adjusted is None
    both = adjust(found, ("yes_rate", "a_per_b"))
    assert [item.adjusted for item in both] == pytest.approx(holm([item.p_value for item in found]).tolist())
    assert one.direction == -1


keys = st.text("abcxyz_", min_size=1, max_size=6)
scalars = st.one_of(
    st.integers(-1000, 1000), st.booleans(), st.floats(1e-9, 1e9).map(lambda x: float(f"{x:.3g}")), st.none(),
    st.text("abc/-. ", min_size=1, max_size=8).map(str.strip).filter(lambda s: s and s[0].isalpha()),
)  # fmt: skip
trees = st.recursive(
    scalars,
    lambda inner: st.dictionaries(keys, inner, min_size=1, max_size=4) | st.lists(scalars, min_size=1, max_size=3),
    max_leaves=12,
)


def leaves(tree: Any, path: tuple[str, ...] = ()) -> dict[str, Any]:
    if isinstance(tree, dict):
        return {name: value for key, inner in tree.items() for name, value in leaves(inner, (*path, key)).items()}
    return {} if isinstance(tree, list) else {".".join(path): tree}


@settings(deadline=None)
@given(st.dictionaries(keys, trees, min_size=1, max_size=4))
def test_options_are_those_that_yaml_reads(tree: dict[str, Any]) -> None:
    text = yaml.safe_dump(tree, default_flow_style=False, width=1000)
    options, skipped = read_options(text)
    expected = leaves(yaml.safe_load(text))
    assert options.keys() == expected.keys()
    for name, value in expected.items():
        spelled = json.dumps(value) if isinstance(value, bool) or value is None else str(value)
        assert options[name] == plain(spelled), name
    assert (skipped > 0) == any(isinstance(v, list) for v in flat(tree))


def flat(tree: Any) -> list[Any]:
    return [v for inner in tree.values() for v in flat(inner)] if isinstance(tree, dict) else [tree]


def test_what_is_not_a_plain_mapping_is_counted_and_left_out() -> None:
    text = "a: 1\nb: &anchor 2\nc:\n  - x: 1\n    y: 2\nd: |\n  a: 3\n  text\ne: {f: 1}\n{{ hostile\n? k\n"
    assert read_options(text + "g: 0.10 # comment\n") == ({"a": "1", "g": "0.1"}, 9)


def test_one_number_has_one_spelling() -> None:
    assert {plain(text) for text in ("5e-07", "0.0000005", "5E-7")} == {"5e-07"}
    assert plain("12345678.5") != plain("12345678.25")
    assert (plain('"grpo"'), plain("null"), plain(None), plain("1.0")) == ("grpo", "null", "null", "1")


def configured(**settings: str) -> Configuration:
    return Configuration(dict(settings), "test", {})


def test_changed_settings_leave_out_names_and_say_what_is_not_there() -> None:
    one = Configuration({"lr": "1", "trainer.experiment_name": "A", "gone": "x"}, "test", {})
    other = Configuration({"lr": "2", "trainer.experiment_name": "B", "new": "y"}, "test", {})
    assert changed(one, other) == {"gone": ("x", None), "lr": ("1", "2"), "new": (None, "y")}
    assert changed(one, one) == {}
    assert changed(one, Configuration({}, None, {})) is None
    of_each_task = [Configuration({"lr": "1"}, "test", {"image": images}) for images in (["a", "b"], ["b", "c", "d"])]
    assert changed(*of_each_task) == {}
    assert changed(of_each_task[0], configured(lr="1", image="a")) == {"image": ("2 values", "a")}


def test_settings_of_the_logs_come_before_a_file(tmp_path: Path) -> None:
    demo = SAMPLES / "mini_swe_agent" / "mini-swe-agent-demo"
    corpus = trajlab.ingest(demo, out=tmp_path / "corpus")
    found = configuration(corpus, demo.name)
    assert found.source == "logs"
    assert found.settings["agent.cost_limit"] == plain(found.settings["agent.cost_limit"])
    assert configuration(corpus, "another") == Configuration({}, None, {})


def test_a_configuration_file_that_is_gone_or_too_large_is_not_observed(tmp_path: Path) -> None:
    run = simulate("R1", tmp_path / "sim", scale=0.1)
    corpus = trajlab.ingest(tmp_path / "sim", out=tmp_path / "corpus")
    assert configuration(corpus, "R1").source == "R1/config.yaml"
    run.config.unlink()
    assert not configuration(corpus, "R1").observed
    run.config.write_text("a: 1\n" * 250_000)
    corpus = trajlab.ingest(tmp_path / "sim", out=tmp_path / "corpus")
    assert not configuration(corpus, "R1").observed


def test_budgets_differ_only_where_all_record_them() -> None:
    def spent(run: str, episodes: int, tokens: float | None, recorded: int) -> Budget:
        sums = {"prompt_tokens": None, "completion_tokens": tokens, "seconds": None, "cost": None}
        return Budget(run, episodes, 3, 2, sums, {**dict.fromkeys(sums, 0), "completion_tokens": recorded})

    assert differing([spent("a", 100, 50.0, 100), spent("b", 104, 100.0, 104)]) == ["completion_tokens"]
    partly = [spent("a", 100, 50.0, 99), spent("b", 200, 100.0, 200)]
    assert differing(partly) == ["episodes"]
    assert "completion_tokens" in unknown(partly)


def subject(made: pl.DataFrame, **settings: str) -> Subject:
    return Subject(made, configured(**settings), budget("x", made), ["acc"])


def test_ten_points_same_differs_unknown() -> None:
    made = select(trajlab.read(SAMPLES / "verl" / "legacy_run"), Population()).frame
    options = {"a.model.path": "m", "b.temperature": "1.0", "b.top_p": "1", "data.max_response_length": "9"}
    other = {**options, "b.temperature": "0.8"}
    found = {p.key: p for p in fairness([subject(made, **options), subject(made, **other)])}
    assert list(found) == list(POINTS)
    assert len(found) == 10
    assert (found["checkpoint"].state, found["sampling"].state, found["search"].state) == ("same", "differs", "unknown")
    tasks = next(f for f in found["data"].facets if f.name == "tasks")
    assert (tasks.state, found["data"].state) == ("same", "unknown")
    few = made.filter(pl.col("task_id") == made["task_id"][0])
    fewer = fairness([subject(made, **options), subject(few, **options)])
    assert next(p.state for p in fewer if p.key == "data") == "differs"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, dict[str, Any], RunComparison]:
    corpus, runs = simulated(tmp_path_factory.mktemp("seed_one"), scale=0.1)
    return corpus, runs, compared(corpus, runs)


def test_reduced_runs_show_what_was_planted(small: tuple[Corpus, dict[str, Any], RunComparison]) -> None:
    """Below full size the printed figures are met only nearly; the planted counts are met exactly."""
    corpus, runs, comparison = small
    found = list(figures(corpus, runs, comparison))
    for name in RUNS:
        planted = json.loads((corpus.folder.parent / "simulated" / name / "truth.json").read_bytes())["planted"]
        whole = planted["trajectories"]
        expected = {
            **{f"{key}_rate": 100 * planted["counts"][key] / whole for key in ("correct", "tool_use", "one_step")},
            "reward_zero_rate": 100 * planted["counts"]["zero"] / whole,
            "answer_tool.only_tool": 100 * planted["counts"]["only_tool"] / whole,
            "mean_steps": planted["mean_steps"], "distinct rewards": planted["distinct_rewards"],
            "max reward": planted["max_reward"], "max_score": planted["score"]["max"], "std": planted["score"]["std"],
            "avg_score": planted["score"]["mean"],
            **{f"score E{k}": value for k, value in enumerate(planted["score"]["by_epoch"])},
            **{f"correct_rate E{k}": 100 * e["counts"]["correct"] / e["trajectories"]
               for k, e in enumerate(planted["by_rollout_epoch"])},
        }  # fmt: skip
        own = {item.name: item for item in found if item.run == name}
        checked = [key for key in expected if key in own]
        assert len(checked) >= 11
        for key in checked:
            for value in (own[key].audit, own[key].comparison):
                assert value is None or value == pytest.approx(expected[key]), (name, key)
    assert all(item.ok for item in found if item.section == "2")


def test_reduced_runs_are_told_as_measured(small: tuple[Corpus, dict[str, Any], RunComparison]) -> None:
    assert [text for text, holds in claims(small[2]) if not holds] == []


def test_the_first_reports_epochs_are_found_without_being_told(
    small: tuple[Corpus, dict[str, Any], RunComparison],
) -> None:
    """Scores by the trainer's epochs, correct and tool use by equal parts of the configured ones."""
    corpus = small[0]
    made = RunComparison([corpus] * len(RUNS), RUNS, [Population(run=run) for run in RUNS])
    disagree = []
    for one in made.comparison.sides:
        truth = corpus.folder.parent / "simulated" / one.name / "truth.json"
        planted = json.loads(truth.read_bytes())["planted"]
        assert one.score is not None
        assert [e.value for e in one.score.epochs] == pytest.approx(planted["score"]["by_epoch"])
        if not one.cuts:
            continue
        disagree.append(one.name)
        (own,) = [cut.figures for cut in one.cuts if cut.partition.source == "configured"]
        for name, key in (("correct_rate", "correct"), ("tool_use_rate", "tool_use")):
            expected = [epoch["counts"][key] / epoch["trajectories"] for epoch in planted["by_rollout_epoch"]]
            assert [e.value for e in own[name]] == pytest.approx(expected), (one.name, name)
        assert [e.value for e in own["mean_steps"]] == pytest.approx(
            [epoch["mean_steps"] for epoch in planted["by_rollout_epoch"]]
        )
    assert disagree == ["R3", "R4", "R5"]
    onsets = [[item.onset for item in own.collapses] for own in made.changes]
    assert onsets == [[], [], ["epoch 2"], [], []]
    text = to_markdown(made.document)
    assert "epochs of R3, R4, R5 are cut in ways that disagree" in text
    assert "R4, score: not rising in every period: E3 → E4" in text


def test_rankings_draw_as_many_episodes_of_each_run(small: tuple[Corpus, dict[str, Any], RunComparison]) -> None:
    found = small[2].comparison
    smallest = min(one.budget.episodes for one in found.sides)
    for ranked in found.rankings:
        values = [e.value for _, e in ranked.pooled]
        assert values == sorted(values, key=lambda v: -(v or 0))
        assert {e.denominator for _, e in ranked.equal} == {float(smallest)}
        assert sorted(name for name, _ in ranked.equal) == sorted(RUNS)
    again = compare_sides(found.sides, seed=0).rankings
    assert [r.equal for r in again] == [r.equal for r in found.rankings]
    assert [r.equal for r in compare_sides(found.sides, seed=1).rankings] != [r.equal for r in found.rankings]


def test_contributions_list_every_setting_that_changed(small: tuple[Corpus, dict[str, Any], RunComparison]) -> None:
    sides = {one.name: one for one in small[2].comparison.sides}
    first = small[2].comparison.contributions[0]
    assert first.settings is not None
    assert {k.rsplit(".", 1)[-1] for k in first.settings} == {
        "total_epochs", "train_batch_size", "kl_loss_coef", "n", "ppo_mini_batch_size",
    }  # fmt: skip
    assert first.attributable is None

    def with_settings(name: str, settings: dict[str, str]) -> Any:
        made = Configuration(settings, "test" if settings else None, {})
        return msgspec.structs.replace(sides[name], configuration=made)

    made = [with_settings("R2", {"lr": "1", "n": "4"}), with_settings("R3", {"lr": "2", "n": "4"}),
            with_settings("R4", {"lr": "2", "n": "4"}), with_settings("R5", {})]  # fmt: skip
    every = compare_sides(made).contributions
    assert [(item.before, item.after) for item in every] == list(itertools.combinations(("R2", "R3", "R4", "R5"), 2))
    found = [item for item in every if (item.before, item.after) in (("R2", "R3"), ("R3", "R4"), ("R4", "R5"))]
    assert [item.attributable for item in found] == ["lr", None, None]
    assert [item.settings for item in found][1:] == [{}, None]
    assert {item.score.name for item in found} == {"mean_reward"}
    assert found[0].score.pooled.value == pytest.approx(
        float(np.mean(made[1].rewards)) - float(np.mean(made[0].rewards))
    )


def test_a_score_series_is_that_of_the_batches(small: tuple[Corpus, dict[str, Any], RunComparison]) -> None:
    chosen = select(small[0], Population(run="R3"))
    by_step: dict[int, list[float]] = {}
    for step, reward in chosen.frame.select("train_step", "reward").iter_rows():
        by_step.setdefault(step, []).append(reward)
    means = [float(np.mean(by_step[step])) for step in sorted(by_step)]
    found = score_series(chosen, [16, 31, 46])
    assert found is not None
    assert found.means == pytest.approx(means)
    assert [found.maximum, found.std] == pytest.approx([max(means), float(np.std(means))])
    assert found.epoch_starts == [1, 16, 31, 46]
    assert [e.value for e in found.epochs] == pytest.approx(
        [float(np.mean(means[a:b])) for a, b in itertools.pairwise([0, 15, 30, 45, 49])]
    )
    assert found.epoch_names == ["epoch 0", "epoch 1", "epoch 2", "epoch 3"]
    by_trainer = score_series(chosen)  # the rollouts log no epoch, the trainer's metric log does
    assert by_trainer is not None
    assert (by_trainer.epoch_starts, by_trainer.own_partition) == ([1, 16, 31, 46], False)
    quarters = select(small[0], Population(run="R3", by="quarter"))
    by_quarter = score_series(quarters)
    assert by_quarter is not None
    assert by_quarter.epoch_names == quarters.periods == [f"quarter {k}" for k in (1, 2, 3, 4)]


def test_collapse_needs_a_fall_that_stays(small: tuple[Corpus, dict[str, Any], RunComparison]) -> None:
    fallen = changes_of(select(small[0], Population(run="R3", epoch_boundaries=(13, 25, 37))))
    (collapse,) = fallen.collapses
    assert (collapse.measure, collapse.best, collapse.onset) == ("tool_use_rate", "epoch 1", "epoch 2")
    assert collapse.fall.told.high is not None
    assert collapse.fall.told.high < 0
    by_quarter = changes_of(select(small[0], Population(run="R3", by="quarter")))
    assert [item.onset for item in by_quarter.collapses] == ["quarter 3"]
    assert changes_of(select(small[0], Population(run="R3", epoch_boundaries=(1000,)))).steps == []
    whole = changes_of(select(small[0], Population(run="R4", epoch_boundaries=(16, 31, 46, 61))))
    assert (whole.collapses, whole.watched) == ([], ["tool_use_rate"])


def test_compare_through_the_runner(small: tuple[Corpus, dict[str, Any], RunComparison], tmp_path: Path) -> None:
    cuts = {"R1": [], "R3": [13, 25, 37]}
    found = trajlab.compare(
        small[0].folder, out=tmp_path / "out", runs=["R1", "R3"], language="zh", epoch_boundaries=cuts,
        score_boundaries={"R3": [16, 31, 46]},
    )  # fmt: skip
    assert found.exit_code == ExitCode.PASSED, found.record.message
    document = json.loads((found.folder / "result.json").read_bytes())
    jsonschema.validate(document, json.loads(SCHEMA_FILE.read_bytes()))
    assert {"C001", "C004"} <= {finding["code"] for finding in document["findings"]}
    primary = [c for c in document["changes"] if c["family"] == "primary" and c["before"] == "R1"]
    assert {c["name"] for c in primary} == {"correct_rate", "mean_reward", "mean_steps", "tool_use_rate"}
    assert {gate["status"] for gate in document["gates"]} == {"passed", "not_applicable"}
    text, page = found.markdown.read_text("utf-8"), found.report.read_text("utf-8")
    assert '<html lang="zh"' in page
    titles = [line[3:].replace("\\", "").replace("&", "&amp;") for line in text.splitlines() if line.startswith("## ")]
    assert len(titles) == 14
    assert all(f">{title}</h2>" in page for title in titles)
    assert found.record.folder in found.index.read_text("utf-8")
    populations = [Population(run=run, epoch_boundaries=tuple(cuts[run])) for run in cuts]
    again = RunComparison(
        [small[0]] * 2, list(cuts), populations, score_boundaries={"R3": [16, 31, 46]}, language="zh"
    )  # fmt: skip
    again.write(tmp_path)
    for name in ("report.md", "result.json"):
        assert (tmp_path / name).read_bytes() == (found.folder / name).read_bytes()


def test_the_command_reads_logs_and_tells_where_the_report_is(tmp_path: Path) -> None:
    for name in ("one", "two"):
        simulate("R1", tmp_path / name, scale=0.1, seed=len(name))
    done = run_command("compare", tmp_path / "one", tmp_path / "two", "-o", tmp_path / "out", "--language", "zh")
    assert done.returncode == ExitCode.PASSED, done.stderr
    assert done.stdout.startswith("R1, R1 (2): passed")
    (report,) = (tmp_path / "out").glob("compare_runs-*/report.md")
    assert report.read_text("utf-8").startswith("# R1，R1 (2) 训练对比诊断报告")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"runs": ["R1"]}, "at least two"), ({"runs": ["R1", "R9"]}, "no run 'R9'"), ({"language": "fr"}, "en or zh"),
        ({"epoch_boundaries": {"R9": [1]}}, "no run 'R9'"), ({"sede": 1}, "sede"), ({"by": "week"}, "steps:N"),
    ],
)  # fmt: skip
def test_wrong_calls_are_usage_errors_and_write_nothing(
    small: tuple[Corpus, dict[str, Any], RunComparison], tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        trajlab.compare(small[0].folder, out=tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def chat(number: int, task: int, correct: bool | None, calls: bool) -> dict[str, Any]:
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "pytest -q"}'}}
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Task {task}"}]
    if calls:
        messages += [{"role": "assistant", "content": "", "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": "c", "content": "1 passed"}]  # fmt: skip
    messages.append({"role": "assistant", "content": "Done."})
    verdict = {} if correct is None else {"resolved": correct}
    return {"instance_id": f"task-{task}", "traj_id": str(number), "messages": messages, **verdict}


EDGES: dict[str, list[dict[str, Any]]] = {
    "one": [chat(0, 0, True, True)],
    "all_correct": [chat(k, k // 2, True, True) for k in range(6)],
    "none_correct": [chat(k, k // 2, False, True) for k in range(6)],
    "one_task": [chat(k, 0, k % 2 == 0, k % 3 == 0) for k in range(6)],
    "no_verdict": [chat(k, k // 2, None, True) for k in range(6)],
    "no_calls": [chat(k, k // 2, k % 2 == 0, False) for k in range(6)],
}


def test_one_sided_runs_are_compared_in_sensible_words(tmp_path: Path) -> None:
    for name, content in EDGES.items():
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "rows.jsonl").write_text("".join(json.dumps(item) + "\n" for item in content))
    corpus = trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")
    pairs = itertools.combinations(EDGES, 2)
    for (one, other), language in zip(pairs, itertools.cycle(("en", "zh")), strict=False):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runs = [one, other]
            made = RunComparison([corpus] * 2, runs, [Population(run=run) for run in runs], language=language)
            made.result()
        text = "".join(made.section(section.key) for section in made.document.sections)
        assert not re.search(r"\bNone\b|\bnan\b|\binf\b|Traceback", text)
        for item in made.comparison.contrasts:
            known = item.first.value is not None and item.second.value is not None
            assert (item.pooled.value is not None) == known


def test_names_are_distinct() -> None:
    assert distinct(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]


def test_lists_that_do_not_fit_are_refused(small: tuple[Corpus, dict[str, Any], RunComparison]) -> None:
    with pytest.raises(UsageError, match="one of each"):
        RunComparison([small[0]], ["R1", "R2"], [Population(run="R1")])
    with pytest.raises(UsageError, match="at least two runs"):
        compare_sides([side("R1", small[0], Population(run="R1"))])
    assert BY_NAME["correct_rate"].kind == "share"
