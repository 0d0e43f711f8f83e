from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trajlab.errors import NotebookError
from trajlab.report.course_plots import Difference, differences, flows
from trajlab.report.html import Inspection, export_html
from trajlab.report.index import rebuild_index
from trajlab.report.plots import bars, histogram, small_multiples, stacked_shares
from trajlab.report.record import RunRecord, write_record
from trajlab.report.tables import (
    Column,
    callout,
    details,
    estimate_table,
    excerpt,
    facts,
    not_observed,
    number,
    plain_table,
)
from trajlab.report.text import Html, cap, escape, join

HOSTILE = "<script>alert(1)</script></details>\"'&\x1b[31m\u202e\u2066\U000e0041\ud83d$x^2$\x00"


class Estimate(msgspec.Struct, frozen=True):
    value: float | None
    low: float | None
    high: float | None
    numerator: float | None
    denominator: float | None
    method: str
    missing: int = 0


SHARE = Estimate(0.468, 0.412, 0.525, 117, 250, "Wilson, clustered by task (n eff 80.0)", 12)
MEAN = Estimate(-12.5, -20, None, None, 108, "t")
NOTHING = Estimate(None, None, None, None, 0, "not observed", 3)


def check(html: str) -> None:
    """Well-formed, nothing active, nothing from outside, no character that acts."""
    page = Inspection()
    page.feed(html)
    assert page.offences == []
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]", html
    )
    html.encode("utf-8")


@given(st.text(st.characters(), max_size=60))
def test_escape_leaves_nothing_that_acts(text: str) -> None:
    shown = escape(text)
    check(shown)
    assert not set("<>\"'") & set(shown)
    assert escape(shown) is shown


def test_what_acts_is_made_visible() -> None:
    assert escape("\x1b[31m\r\n\t\u202eé👍\u200d") == "⟨U+001B⟩[31m\n\t⟨U+202E⟩é👍\u200d"
    assert excerpt("\x1b[31;1mred\x1b[0m \x1b[2K") == "<pre>red ⟨U+001B⟩[2K</pre>"
    assert join(["<", Html("<b>"), 3]) == "&lt;<b>3"


@given(st.text(max_size=50), st.integers(0, 60))
def test_a_cap_says_how_much_it_left_out(text: str, limit: int) -> None:
    head, left_out, tail = cap(text, limit)
    assert len(head) + left_out + len(tail) == len(text)
    assert len(head) + len(tail) <= max(limit, 0) or not left_out
    assert text.startswith(head) and text.endswith(tail)


def test_details_hold_foreign_text_as_text_and_say_what_is_missing() -> None:
    folded = details(HOSTILE, HOSTILE * 1000, limit=400, note=HOSTILE)
    check(folded)
    assert folded.count("</details>") == 1 and "<script" not in folded
    assert f"{len(HOSTILE.replace(chr(27) + '[31m', '')) * 1000 - 400:,} characters left out" in folded
    assert details("s", Html("<b>x</b>"), is_open=True) == (
        "<details open><summary>s</summary><div><b>x</b></div></details>"
    )
    assert excerpt("short") == "<pre>short</pre>"


def test_estimates_show_number_interval_n_and_what_was_not_observed() -> None:
    rows = [{"what": HOSTILE, "share": SHARE, "mean": MEAN}, {"what": None, "share": NOTHING, "mean": None}]
    columns: list[Column | str] = [Column("what", "what"), "share", Column("mean", "mean")]
    table = estimate_table(rows, columns, caption=HOSTILE)
    check(table)
    for shown in ("<b>46.8 %</b>", "[41.2, 52.5] · 117/250 · 12 not observed", "n eff 80.0"):
        assert shown in table
    for shown in ("<b>-12.5</b>", "[-20, not bounded] · n 108", "in any of 3", 'title="not recorded"'):
        assert shown in table
    assert table.count("<svg") == 2
    assert 'd="M41.2 5H52.5"' in table and 'cx="46.8"' in table
    assert 'd="M0 5H100"' in table


def test_a_unit_overrules_the_method() -> None:
    rows = [{"a": msgspec.structs.replace(SHARE, method="bootstrap")}]
    assert "46.8 %" in estimate_table(rows, [Column("a", "a", unit="share")])
    assert "<b>0.468</b>" in estimate_table(rows, [Column("a", "a")])


def test_bars_of_differences_share_a_scale_that_holds_zero() -> None:
    fall = Estimate(-0.2, -0.3, -0.1, None, 250, "Newcombe")
    rise = Estimate(0.1, 0.0, 0.2, None, 250, "Newcombe")
    table = estimate_table([{"a": fall}, {"a": rise}], [Column("a", "a", unit="share")])
    assert "<b>-20.0 %</b>" in table and "[-30.0, -10.0] · n 250" in table
    assert 'd="M0 5H40"' in table and 'd="M60 5H100"' in table and table.count('class="z" d="M60 1V9"') == 2


def test_a_plain_table_says_when_rows_are_missing() -> None:
    table = plain_table([{"n": count, "ok": count > 2} for count in range(5)], limit=3)
    assert "2 more rows not shown" in table and table.count("<tr>") == 5
    assert "no rows" in plain_table([], ["a"]) and "no rows" in plain_table([])
    assert "<td class=num>0</td><td>no</td>" in table


@pytest.mark.parametrize(
    ("value", "share", "text"),
    [(None, False, "–"), (4284, False, "4,284"), (0.01234, False, "0.01234"), (1234.56, False, "1,234.6"),
     (1.0, True, "100.0 %"), (0, False, "0"), (37.5, False, "37.5")],
)  # fmt: skip
def test_numbers(value: float | None, share: bool, text: str) -> None:
    assert number(value, share) == text


def test_callouts_say_their_status_in_words() -> None:
    assert 'class="callout alarm"' in callout("alarm", HOSTILE) and ">alarm</span>" in callout("alarm", "x")
    unseen = not_observed("Think calls", "the tools offered")
    assert "Think calls: not observed." in unseen and "log the tools offered" in unseen
    for html in (
        callout("warn", HOSTILE, HOSTILE),
        unseen,
        facts({HOSTILE: HOSTILE, "none": None, "n": 1234}),
    ):
        check(html)
    assert "1,234" in facts({"n": 1234})


FIGURES: list[Callable[[], Html]] = [
    lambda: bars([HOSTILE, "b", "c", "数"], [SHARE, NOTHING, None, SHARE], title=HOSTILE, caption=HOSTILE),
    lambda: bars(["m"], [MEAN], title="mean"),
    lambda: bars([], [], title="nothing"),
    lambda: small_multiples({HOSTILE: [SHARE, None], "m": [MEAN, MEAN]}, ["E0", HOSTILE], title="t"),
    lambda: small_multiples({"z": [None, NOTHING]}, ["E0", "E1"], title="t"),
    lambda: small_multiples({}, [], title="nothing"),
    lambda: differences({HOSTILE: [Difference(SHARE, 1), None], "m": [Difference(NOTHING, 0), Difference(MEAN, -1)]},
                        [HOSTILE, "E2"], title="d", shares={HOSTILE: True, "m": False}, alt=HOSTILE),
    lambda: differences({}, [], title="nothing", shares={}, alt="nothing"),
    lambda: flows({HOSTILE: {"a": {"a": 0.5, "b": 0.25}, "b": {"a": 0.0, "b": 0.25}}}, {"a": HOSTILE, "b": "数"},
                  title="f", alt=HOSTILE),
    lambda: histogram([1, 0, 5], [0, 1, 2, 4], title="h", axis=HOSTILE),
    lambda: stacked_shares([HOSTILE, "b"], {"x": [0.25, None], HOSTILE: [0.75, None]}, n=[4, 0], title="s"),
]  # fmt: skip


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_reproducible_safe_and_described(figure: Callable[[], Html]) -> None:
    drawn = figure()
    assert drawn == figure()
    check(drawn)
    assert "<script" not in drawn and "http" not in drawn and "#0102" not in drawn
    root = ElementTree.fromstring(drawn)
    image = root.find("svg")
    assert image is not None and image.get("role") == "img" and image.get("aria-label")
    identities = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(identities) == len(set(identities))


def test_figures_follow_the_page_and_speak_their_numbers() -> None:
    drawn = bars(["any test", "think"], [SHARE, NOTHING], title="Behaviours")
    assert "currentColor" in drawn and "var(--c1" in drawn
    assert "any test 46.8 % [41.2, 52.5] 117/250 · 12 not observed; think not observed." in drawn
    assert "n 6. 0 to 1: 1; 1 to 2: 0; 2 to 4: 5" in histogram([1, 0, 5], [0, 1, 2, 4], title="h")
    assert "E0 46.8 %" in small_multiples({"a": [SHARE, None]}, ["E0", "E1"], title="t")
    assert "r: x 25.0 %, y 75.0 %" in stacked_shares(["r"], {"x": [0.25], "y": [0.75]}, title="s")


def record(**changes: object) -> RunRecord:
    text = HOSTILE.replace("\ud83d", "")
    base = RunRecord(
        notebook="audit", title=text, run=text, period=text, key="k" * 64, folder="f",
        data_fingerprint="d", started="2026-01-02T03:04:05Z", status="failed", message=text,
    )  # fmt: skip
    return msgspec.structs.replace(base, **changes)


def page_of(*outputs: nbformat.NotebookNode, widgets: bool = False) -> nbformat.NotebookNode:
    metadata = {"widgets": {"x": "secret state"}} if widgets else {}
    node: nbformat.NotebookNode = nbformat.v4.new_notebook(metadata=metadata)
    node.cells = [
        nbformat.v4.new_markdown_cell("# Title\nProse"),
        nbformat.v4.new_code_cell("hidden_code()", outputs=list(outputs), execution_count=1),
    ]
    return node


def test_a_page_escapes_the_record_errors_and_unknown_outputs(tmp_path: Path) -> None:
    node = page_of(
        nbformat.v4.new_output("error", ename="E<i>", evalue=HOSTILE[:-2], traceback=["\x1b[31m<t>\x1b[0m"]),
        nbformat.v4.new_output("display_data", {"text/markdown": "<img src=x>", "text/plain": "<plain>"}),
        nbformat.v4.new_output("display_data", {"application/javascript": "alert(2)"}),
        nbformat.v4.new_output("display_data", {"image/png": "AAAA"}, metadata={"image/png": {"alt": '"<a>'}}),
        widgets=True,
    )
    before = json.dumps(node)
    export_html(node, record(), tmp_path / "a.html", language="zh")
    text = (tmp_path / "a.html").read_text()
    assert json.dumps(node) == before
    for absent in (
        "<script",
        "<img src=x",
        "alert(2)",
        "hidden_code",
        "secret state",
        "\x1b",
        "\u202e",
        "<i>",
    ):
        assert absent not in text
    assert "type application/javascript cannot be shown" in text
    for present in ('<html lang="zh">', "&lt;plain&gt;", "<pre>&lt;t&gt;</pre>", 'alt="&quot;&lt;a&gt;"'):
        assert present in text
    assert text.count("Title") == 0 and "Prose" in text


@pytest.mark.parametrize(
    "html",
    [
        "<script>1</script>",
        "<img src='http://x/y'>",
        "<a href='//x'>x</a>",
        "<b onclick='x()'>x</b>",
        "<form>",
        "<p style='background:url(http://x)'>",
        "<iframe srcdoc=x>",
        "<a href='javascript:1'>",
        "<meta charset=x>",
    ],
)
def test_a_page_that_needs_anything_outside_is_refused(html: str, tmp_path: Path) -> None:
    with pytest.raises(NotebookError, match="outside itself"):
        export_html(
            page_of(nbformat.v4.new_output("display_data", {"text/html": html})),
            record(),
            tmp_path / "a.html",
        )
    assert list(tmp_path.iterdir()) == []


def test_the_index_lists_everything_newest_first(tmp_path: Path) -> None:
    runs = {
        "old": record(title="old", started="2026-01-01T00:00:00Z", status="passed", trajectories=108),
        "new": record(title="new", started="2026-01-03T00:00:00Z", findings={"alarm": 2, "not_applicable": 1}),
        ".wip-1": record(title="half", started="2026-01-02T00:00:00Z", status="running"),
        ".old-x": record(title="gone"),
    }
    for name, run in runs.items():
        (tmp_path / name).mkdir()
        write_record(run, tmp_path / name)
    (tmp_path / "bad <i>").mkdir()
    (tmp_path / "bad <i>" / "run.json").write_text("{")
    (tmp_path / "new" / "report.html").touch()
    text = rebuild_index(tmp_path).read_text()
    titles = [text.index(f">{title}<") for title in ("new", "half", "old", "bad &lt;i&gt;")]
    assert titles == sorted(titles)
    assert ">gone<" not in text and "<script" not in text and "http:" not in text
    assert '<a href="new/report.html">new</a>' in text and "2 alarm, 1 not applicable" in text
    assert ">unfinished</span>" in text and ">unreadable</span>" in text
    lines = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert [line["title"] for line in lines] == ["new", "half", "old"]
    assert rebuild_index(tmp_path).read_text() == text


def test_an_index_over_nothing(tmp_path: Path) -> None:
    assert "No run yet." in rebuild_index(tmp_path).read_text()
