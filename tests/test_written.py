"""The written report: two languages with the same sentences, and text that shows exactly what it is given."""

from __future__ import annotations

import re
import string
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import mistune
import msgspec
import pytest
from corpora_in_tests import SAMPLES
from hypothesis import example, given, settings
from hypothesis import strategies as st

import trajlab
from trajlab.checks.lines import LINE_CHECKS
from trajlab.errors import UsageError
from trajlab.measures.budgets import KINDS
from trajlab.measures.catalogue import MEASURES
from trajlab.measures.compare import BEHAVIOURS
from trajlab.measures.fairness import POINTS
from trajlab.measures.frame import Population
from trajlab.measures.stages import OWN
from trajlab.measures.symptoms import FROM_METRICS, symptoms
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.text import visible
from trajlab.report.written.audit_report import audit_report, side_of
from trajlab.report.written.document import (
    Block,
    Bullets,
    Document,
    Paragraph,
    Section,
    Shown,
    Table,
    markdown_line,
    markdown_text,
    section_html,
    to_markdown,
)
from trajlab.report.written.phrases import Phrases
from trajlab.report.written.words import LANGUAGES, Words, texts
from trajlab.stats import Estimate

SOURCES = Path(trajlab.__file__).parent / "report" / "written"
MAY_LACK = ("measure", "finding", "period", "intro", "heading")
"""Sections that a language may leave to the catalogue, the checks, the names of the periods and the notebooks."""


def placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


@pytest.mark.parametrize("report", ["", "diagnosis"])
def test_languages_have_the_same_sentences_with_the_same_placeholders(report: str) -> None:
    english, chinese = texts("en", report), texts("zh", report)
    assert english.keys() == chinese.keys()
    for section in english:
        if section in MAY_LACK:
            continue
        assert english[section].keys() == chinese[section].keys(), section
        for key, sentence in english[section].items():
            assert placeholders(sentence) == placeholders(chinese[section][key]), f"{section}.{key}"


def test_every_sentence_is_used_and_every_name_has_one() -> None:
    code = "".join(path.read_text("utf-8") for path in SOURCES.glob("*.py"))
    used = set(re.findall(r'"(?:\w+)\.(\w+)"', code)) | set(re.findall(r'"(\w+)"', code))
    table = texts("en")
    built = {
        "tone", "gate", "symptom", "cause", "action", "evidence", "point", "facet", "state", "did", "budget", "trend",
        "page",
    }  # fmt: skip
    for section in table.keys() - {*MAY_LACK, *built}:
        for key in table[section]:
            assert key in used or f"{section}.{{" in code or f'"{section}.{key.split("_")[0]}_{{' in code, key
    assert table["point"].keys() == POINTS.keys()
    assert table["facet"].keys() == {name for looks in POINTS.values() for name in looks}
    assert table["did"].keys() == set(BEHAVIOURS)
    assert set(KINDS) <= table["budget"].keys()
    shown = {s.key for s in symptoms(lambda _: Estimate(None, None, None, None, 0.0, "not observed"), None)}
    assert table["symptom"].keys() == shown | set(FROM_METRICS)
    assert table["cause"].keys() == table["action"].keys() == shown


def test_chinese_names_every_measure_and_check() -> None:
    table = texts("zh")
    assert {*(m.name for m in MEASURES), *OWN} - table["measure"].keys() == set(), "a measure has no Chinese title"
    assert {check.code for check in LINE_CHECKS} - table["finding"].keys() == set(), "a check has no Chinese words"


def test_phrases_are_looked_up_whole_by_title_and_by_clause() -> None:
    chinese = Phrases("zh")
    assert chinese("KL runs away: kl is not observed") == "KL 失控：KL未观测"
    assert chinese("clip fraction: not observed; new to <b>; none") == "clip 比例：未观测；new to <b>；无"
    assert chinese.unknown == {"new to <b>"}
    of_task = chinese("a and steps, step 3: 0.5 nat/token over 7 tokens of 2 attempts")
    assert of_task.startswith("a and steps，步 3"), "a name is never touched"
    assert Phrases("en")("none") == "none"
    hostile = "score: " * 5000 + "b; " * 5000
    assert Phrases("zh")(hostile).startswith("score: score")
    table = tomllib.loads((SOURCES / "phrases_zh.toml").read_text("utf-8"))
    for key, text in ((key, text) for part in table.values() for key, text in part.items()):
        assert placeholders(key) == placeholders(text), key


def test_there_are_two_languages() -> None:
    assert LANGUAGES == ("en", "zh")
    with pytest.raises(UsageError, match="en or zh"):
        Words("fr")


class Text(HTMLParser):
    """The text of HTML, and the elements it has."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.elements = "", set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


render = mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "footnotes", "url", "math"])


def rendered(source: str) -> Text:
    found = Text()
    found.feed(str(render(source)))
    return found


hostile = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(["[a](http://x)", "[a]: x", "![", "`", "``", "*", "**", "_", "__", "<b>", "</td>", "|", "#",
                         "# ", "- ", "1. ", "1) ", "~~", "$", "&lt;", "&amp;", "\\", ">", "---", "===", "\n", " ", "x",
                         "+ ", "[^1]", "www.a.b", "<script>", "<!--", "-->", "\u202e", "\x1b[0m", "R1", "https://a.b"]),
        max_size=8,
    ).map("".join),
)  # fmt: skip


@settings(deadline=None, max_examples=200)
@given(hostile)
@example("__0__")
def test_foreign_text_is_shown_as_text(text: str) -> None:
    shown = " ".join(visible(text).split())
    line = rendered(markdown_line(text))
    assert " ".join(line.text.split()) == shown
    assert line.elements <= {"p"}
    cell = rendered(f"| a | b |\n| --- | --- |\n| x{markdown_text(text)}x | y |\n")
    assert " ".join(cell.text.split()) == f"a b x{shown}x y"
    assert cell.elements <= {"table", "thead", "tbody", "tr", "th", "td"}


def test_both_faces_have_the_same_figures() -> None:
    estimate = Estimate(0.4219, 0.4017, 0.4423, 4104.0, 9728.0, "Wilson, clustered by task", 540, 3)
    shown = Words("en").of_measure("correct_rate", estimate)
    assert str(shown) == "42.19 % [40.17, 44.23] (4,104/9,728, 3 not observed)"
    assert str(Words("zh").of_measure("correct_rate", estimate)) == "42.19 % [40.17, 44.23] (4,104/9,728，3 条未观测)"
    change = Estimate(-0.0245, -0.06, 0.01, None, 100.0, "Newcombe")
    assert str(Words("en").change("tool_use_rate", change)) == "−2.5 pp [−6.0, +1.0] (n 100)"
    assert str(Words("en").change("mean_reward", change)) == "−0.0245 [−0.06, +0.01] (n 100)"
    unknown = Estimate(None, None, None, None, 0.0, "not observed")
    assert str(Words("zh").change("mean_reward", unknown)) == "未观测"
    unbounded = Estimate(0.5, None, None, 1.0, 2.0, "one task only: no interval")
    assert str(Words("en").of_measure("mean_steps", unbounded)) == "0.5 no interval (n 2)"
    told = Paragraph("a <b>", "warn", "Warning:")
    blocks: list[Block] = [told, Bullets(["x | y"]), Table(["h", "v"], [["row", shown]], "cap")]
    section = Section("key", "T & <i>", blocks)
    page = section_html(section)
    assert "<b>42.19 %</b><small>[40.17, 44.23] · 4,104/9,728 · 3 not observed</small>" in page
    assert "<i>" not in page
    assert "a &lt;b&gt;" in page
    markdown = to_markdown(Document("T", [section], "en"))
    assert "| row | 42.19 % [40.17, 44.23] (4,104/9,728, 3 not observed) |" in markdown
    assert "**Warning:** a \\<b>" in markdown
    assert Shown("1").interval == ""


@pytest.fixture(scope="module")
def audited() -> EpochAudit:
    corpus = trajlab.read(SAMPLES / "verl" / "legacy_run")
    return EpochAudit(corpus, Population(run=corpus.runs[0], steps_per_epoch=2), overrides={"zero_reward.warn": 0.0})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_report_of_an_audit_has_the_sections_of_the_first_report(audited: EpochAudit, language: str) -> None:
    document = audit_report(audited, language)
    assert [section.key for section in document.sections] == [
        "conclusion", "configuration", "score", "rewards", "behaviour", "quadrants", "flow", "changes",
        "recommendations", "not_observed",
    ]  # fmt: skip
    text = to_markdown(document)
    words = Words(language)
    for name in ("correct_rate", "mean_steps", "tool_use_rate", "reward_zero_rate"):
        assert str(words.of_measure(name, audited.estimate(name))) in text
    for period in audited.trajectories.periods:
        assert str(words.of_measure("correct_rate", audited.estimate("correct_rate", period))) in text
    warned = [f.code for f in audited.findings if f.status in ("warn", "alarm")]
    assert warned
    assert all(code in text for code in warned)
    if language == "zh":
        prose = re.sub(r"[^A-Za-z ]+", "\n", text)
        assert not re.search(r"\b(the|and|of|is|are|not observed|correct)\b", prose)


def test_each_sentence_of_findings_has_its_figure(audited: EpochAudit) -> None:
    text = to_markdown(audit_report(audited, "zh"))
    checks = {check.code: check.measure for check in LINE_CHECKS}
    for finding in audited.findings:
        measure = checks.get(finding.code)
        if finding.status in ("warn", "alarm") and measure in {m.name for m in MEASURES}:
            assert str(Words("zh").of_measure(measure, audited.estimate(measure))) in text


def test_a_run_of_hostile_name_is_shown_by_its_name(audited: EpochAudit) -> None:
    side = side_of(audited)
    assert side.budget.episodes == audited.frame.height
    named = msgspec.structs.replace(side, name="[x](http://evil) | <script>")
    words = Words("en")
    from trajlab.report.written import run_sections

    document = Document("t", [run_sections.rewards(words, [named])], "en")
    assert "<script" not in section_html(document.sections[0])
    found = rendered(to_markdown(document))
    assert "script" not in found.elements
    assert "[x](http://evil) | <script>" in found.text
