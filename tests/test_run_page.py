"""The run page: collapse or none with its onset, in both languages and in result.json, whatever is missing."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from test_course import Attempt, write_run

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.errors import ExitCode
from trajlab.measures.catalogue import MEASURES
from trajlab.measures.changes import FAMILY
from trajlab.measures.frame import Population
from trajlab.report.audit import AuditResult
from trajlab.report.course_page import changes, curves, flow
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.plots import columns_of, wrapped
from trajlab.report.result import SCHEMA_FILE
from trajlab.report.written.audit_report import audit_report
from trajlab.report.written.document import Picture, Table, section_html, to_markdown
from trajlab.report.written.words import Words
from trajlab.simulate import simulate

PAGE_LIMIT = 5_000_000
R4_EPOCHS = [16, 31, 46, 61]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("runs")
    for run in ("R3", "R4"):
        simulate(run, folder / "simulated", scale=0.1)
    return trajlab.ingest(folder / "simulated", out=folder / "corpus")


def whole(audited: AuditResult) -> tuple[dict[str, Any], str, str]:
    """result.json, page and written report of the only run."""
    folder = audited.reports[0].parent
    result = json.loads((folder / "result.json").read_bytes())
    jsonschema.validate(result, json.loads(SCHEMA_FILE.read_bytes()))
    page, text = (folder / "report.html").read_text("utf-8"), (folder / "report.md").read_text("utf-8")
    assert len(page) < PAGE_LIMIT
    identities = re.findall(r' id="([^"]+)"', page)
    assert len(identities) == len(set(identities))
    return result, page, text


def test_the_page_of_r3_says_that_behaviour_collapsed_and_where_it_began(runs: Corpus, tmp_path: Path) -> None:
    audited = trajlab.audit(runs.folder, tmp_path / "out", run="R3", steps_per_epoch=12, by="epoch")
    result, page, text = whole(audited)
    assert audited.exit_code == ExitCode.GATE_FAILED, "a collapse is an alarm"
    told = r"R3: behaviour collapsed: uses a tool \(an executed call\) fell from .* in E1 to .* in E2, the onset"
    assert re.search(told, page)
    assert re.search(told, text)
    course = result["course"]
    assert (course["status"], course["periods"]) == ("collapsed", [f"epoch {k}" for k in range(4)])
    (collapse,) = course["collapses"]
    assert (collapse["measure"], collapse["best"], collapse["onset"]) == ("tool_use_rate", "epoch 1", "epoch 2")
    assert collapse["low"] < collapse["value"] < collapse["high"] < 0
    assert collapse["p_value"] < 0.001
    first = course["onsets"][0]
    assert (first["period"], first["direction"], first["family"]) == ("epoch 1", "rose", "primary")
    assert course["family"] == list(FAMILY)
    primary = [change for change in result["changes"] if change["family"] == "primary"]
    assert len(primary) == course["family_tests"] == 5 * 5
    assert f"Looked at: {len(primary)} comparisons of a family declared beforehand" in text
    exploratory = [c for c in result["changes"] if c["family"] == "exploratory" and "quadrant" not in c["name"]]
    assert len(exploratory) == course["exploratory_tests"]
    shares = {m["group"]: m for m in result["measures"] if m["name"] == "quadrant.answer_tool.neither" and m["group"]}
    assert sum(m["numerator"] for m in shares.values()) == next(
        m["numerator"] for m in result["measures"] if m["name"] == "quadrant.answer_tool.neither" and not m["group"]
    )


def test_the_page_of_r4_says_that_it_did_not_in_chinese_too(runs: Corpus, tmp_path: Path) -> None:
    audited = trajlab.audit(runs.folder, tmp_path / "out", run="R4", epoch_boundaries=R4_EPOCHS, language="zh")
    result, page, text = whole(audited)
    assert audited.exit_code == ExitCode.PASSED
    assert result["course"]["status"] == "not_collapsed"
    assert result["course"]["collapses"] == []
    assert "R4：行为未崩塌：工具使用率从未持续低于此前最佳阶段的一半。" in text
    assert "R4：行为未崩塌" in page
    assert text.startswith("# R4 训练诊断报告\n")
    assert '<html lang="zh"' in page
    assert ">结论前置</h2>" in page
    assert "R4: behaviour did not collapse" in page
    assert "四象限流向" in page
    assert page.count("<figure>") > 10


def audited_run(corpus: Corpus, **population: Any) -> EpochAudit:
    return EpochAudit(corpus, Population(**population))


def test_both_languages_show_the_same_figures_and_tables(runs: Corpus) -> None:
    audit = audited_run(runs, run="R3", steps_per_epoch=12)
    english, chinese = (audit_report(audit, language) for language in ("en", "zh"))
    for key in ("flow", "changes"):
        sections = english.section(key), chinese.section(key)
        kinds = [[type(block) for block in section.blocks] for section in sections]
        assert kinds[0] == kinds[1]
        sizes = [[(len(b.rows), len(b.head)) for b in section.blocks if isinstance(b, Table)] for section in sections]
        assert sizes[0] == sizes[1]
        drawn = "".join(block.draw() for block in sections[1].blocks if isinstance(block, Picture))
        assert "not observed" not in drawn
        assert "<figure" not in to_markdown(chinese)
    assert "行为崩塌。工具使用率从 E1 的" in to_markdown(chinese)
    assert "E2 为起始阶段" in to_markdown(chinese)


def test_every_measure_is_drawn_or_named(runs: Corpus) -> None:
    audit = audited_run(runs, run="R3", steps_per_epoch=12)
    page, words = curves(audit), Words("en")
    for measure in MEASURES:
        title = words.measure(measure.name).replace("'", "&#x27;")
        assert title in page, measure.name
    assert "all numbers by period" in page


EPOCHS = range(3)
EMPTY: dict[str, list[Attempt]] = {
    "one_trajectory": [("a", 0, True, True)],
    "one_period": [(task, 0, task == "a", True) for task in "ab" for _ in range(2)],
    "one_task": [("a", epoch, k == 0, True) for epoch in EPOCHS for k in range(3)],
    "one_each": [("a", epoch, epoch == 1, True) for epoch in EPOCHS],
    "all_correct": [(task, epoch, True, True) for epoch in EPOCHS for task in "abc" for _ in range(2)],
    "none_correct": [(task, epoch, False, True) for epoch in EPOCHS for task in "abc" for _ in range(2)],
    "all_null": [(task, epoch, None, False) for epoch in EPOCHS for task in "abc"],
    "gap": [(task, epoch, None if epoch == 1 else True, epoch > 0) for epoch in EPOCHS for task in "abc"],
}
SAID = {
    "one_trajectory": "there is one period only",
    "one_period": "there is one period only",
    "one_task": "behaviour did not collapse",
    "one_each": "nothing is shown to have changed; not shown: correct",
    "all_correct": "Nothing changed in the declared family as far as it is observed",
    "none_correct": "Nothing changed in the declared family as far as it is observed",
    "all_null": "no behaviour whose collapse could be seen",
    "gap": "Of the family not observed in two periods: reward",
}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("empty")
    for name, attempts in EMPTY.items():
        write_run(folder / "logs" / name, attempts)
    return trajlab.ingest(folder / "logs", out=folder / "corpus")


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("epoch", [None, 0])
def test_empty_cases_say_what_is_not_observed(empty: Corpus, name: str, epoch: int | None) -> None:
    audit = audited_run(empty, run=name, epoch=epoch)
    result = json.loads(msgspec.json.encode(audit.result()))
    jsonschema.validate(result, json.loads(SCHEMA_FILE.read_bytes()))
    for language in ("en", "zh"):
        document = audit_report(audit, language)
        text = to_markdown(document) + "".join(section_html(section) for section in document.sections)
        assert not re.search(r"\bnan\b|\binf\b|None|Traceback", text)
        if language == "en":
            assert (SAID[name] if epoch is None else "this is the first epoch, nothing lies before it") in text
    assert all(finding.status != "alarm" for finding in audit.findings if finding.code == "B007")


def test_an_epoch_by_itself_gains_the_change_against_the_one_before(runs: Corpus, tmp_path: Path) -> None:
    audited = trajlab.audit(runs.folder, tmp_path / "out", run="R3", steps_per_epoch=12, epoch=2, fail_on="never")
    result, page, text = whole(audited)
    assert result["period"] == "epoch 2"
    assert result["coverage"]["trajectories"] == 144
    assert (result["course"]["status"], result["course"]["periods"]) == ("not_judged", ["epoch 1", "epoch 2"])
    assert {(change["before"], change["after"]) for change in result["changes"]} == {("epoch 1", "epoch 2")}
    assert "From E1 to E2: fallen: correct" in text
    assert "Unpaired" in text, "at a tenth of the size few tasks repeat"
    assert "collapsed" not in text
    assert "One epoch is audited" in page
    tool = next(change for change in result["changes"] if change["name"] == "tool_use_rate")
    assert (tool["shown"], tool["paired"]) == ("fell", False)


def test_where_epochs_come_from_is_said(runs: Corpus, tmp_path: Path) -> None:
    assert "that the trainer&#x27;s metric log gives its training step" in curves(audited_run(runs, run="R3"))
    assert "metric log gives" not in curves(audited_run(runs, run="R3", by="quarter"))
    simulate("R3", tmp_path, scale=0.02)
    shutil.rmtree(tmp_path / "R3" / "metrics")
    alone = trajlab.read(tmp_path)
    assert "No epoch is logged, training steps are" in curves(audited_run(alone, run="R3"))
    assert "No epoch is logged" not in curves(audited_run(alone, run="R3", by="quarter"))


def test_periods_have_short_names_on_axes_and_titles_keep_to_two_lines() -> None:
    words = Words("zh")
    assert [words.tick(name) for name in ("epoch 2", "quarter 3", "steps 21 to 40")] == ["E2", "Q3", "21–40"]
    assert words.period("steps 21 to 40") == "步 21–40"
    assert wrapped("quick checks (python -c, heredoc) of all", 20) == ["quick checks (python", "-c, heredoc) of all"]
    assert wrapped("one two three four", 8) == ["one two", "three…"]
    assert columns_of("数a") == 3
    lines = wrapped("快速定点验证（python -c / heredoc）占比", 20)
    assert len(lines) == 2
    assert all(columns_of(line) <= 20 for line in lines)


def test_eight_periods_of_a_software_run_stay_small(tmp_path: Path) -> None:
    simulate("r7", tmp_path / "r7", scale=0.03)
    audit = audited_run(trajlab.read(tmp_path / "r7"), by="steps:23")
    assert len(audit.course.periods) == 8
    drawn = [*(part(audit) for part in (curves, changes, flow)), *map(section_html, audit_report(audit, "zh").sections)]
    assert sum(len(part.encode()) for part in drawn) < PAGE_LIMIT / 3
