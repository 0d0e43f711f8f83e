"""The static page in a real Chromium: opened, read by keyboard, labelled, reloaded, exported, attacked, scrolled."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from corpora_in_tests import SAMPLES
from review_in_tests import (
    HOSTILE,
    Watched,
    chromium,
    hostile_rows,
    long_line_row,
    long_row,
    needs_chromium,
    write_rows,
)

import trajlab
from trajlab.corpus.corpus import Corpus
from trajlab.review.items import Trajectories, reading_text
from trajlab.review.page import review_page
from trajlab.review.rubric import RESERVED_KEYS, Choice, Question, Rubric
from trajlab.review.viewer import module_source

pytestmark = needs_chromium
DEMO = SAMPLES / "mini_swe_agent" / "mini-swe-agent-demo"
Open = Callable[..., Watched]
_EVIDENCE = "[...CSS.highlights.get('trajlab-evidence')].map(String)"
_FROM_TOP = """document.querySelector('.turn.current').getBoundingClientRect().top
  - document.querySelector('.turns').getBoundingClientRect().top"""
_SCROLL = """(place) => {
  const list = document.querySelector('.turns');
  list.scrollTop = list.scrollHeight * place;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Opens a page in a context of its own; at the end all pages are checked."""
    opened: list[Watched] = []

    def open_one(path: Path, **options: Any) -> Watched:
        context = browser.new_context(viewport={"width": 1400, "height": 900}, **options)
        watched = Watched(context.new_page())
        opened.append(watched)
        watched.open(path)
        return watched

    yield open_one
    for watched in opened:
        watched.check()
        watched.page.context.close()


@pytest.fixture(scope="module")
def demo() -> Corpus:
    return trajlab.read(DEMO)


@pytest.fixture(scope="module")
def demo_page(demo: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return review_page(demo, tmp_path_factory.mktemp("review") / "page.html").path


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    corpus = trajlab.read(write_rows(folder / "run", [long_row()]))
    assert corpus.texts.collect()["text"].str.len_bytes().sum() > 20_000_000
    return review_page(corpus, folder / "page.html").path


def test_labels_by_keyboard_survive_a_reload_and_are_exported(
    demo: Corpus, demo_page: Path, open_page: Open, tmp_path: Path
) -> None:
    watched = open_page(demo_page)
    watched.keys("1")
    watched.status("Say who reads")
    watched.name("ann")
    watched.keys("1", "3")  # two questions about the trajectory, one after the other
    watched.status("shortcut: hack. Kept in this browser.")
    watched.keys("]")
    watched.item(2)
    watched.keys("2", "q", "1", "3")  # solved: partly; two of what went wrong
    watched.keys("q", "q", "e", "2")  # the step of the next edit is a mistake
    watched.status("moment of step")
    step = int(watched.text(".turn.current .who").removeprefix("step "))
    before = watched.stored()
    ids = watched.page.evaluate("JSON.parse(document.getElementById('trajlab-index').textContent)")
    items = [item["id"] for item in ids["items"]]
    told = {(row["item"], row["step"], row["question"]): row["value"] for row in before}
    assert told == {
        (items[0], None, "solved"): "yes",
        (items[0], None, "shortcut"): "hack",
        (items[1], None, "solved"): "partly",
        (items[1], None, "trouble"): ["misread", "unverified"],
        (items[1], step, "moment"): "mistake",
    }
    assert {(row["schema"], row["reviewer"], row["sample"]) for row in before} == {
        ("trajlab-label-1", "ann", ids["sample"])
    }
    watched.page.reload()
    watched.ready()
    assert watched.stored() == before
    assert watched.text(".place").endswith("1 done")
    assert watched.page.is_checked(".questions input[value=yes]")
    assert watched.exported(tmp_path / "labels.jsonl") == before
    edits = [turn for turn in Trajectories(demo, items).turns(items[1]) if any(call.edits for call in turn.calls)]
    assert edits[0].step == step


def test_labels_are_imported_and_newer_ones_win(demo_page: Path, open_page: Open, tmp_path: Path) -> None:
    first = open_page(demo_page)
    first.name("ann")
    first.keys("1")
    first.status("Kept")
    rows = first.exported(tmp_path / "labels.jsonl")
    newer = rows[0] | {"value": "no", "at": "2099-01-01T00:00:00.000Z"}
    older = newer | {"value": "unclear", "at": "2001-01-01T00:00:00.000Z"}
    foreign = newer | {"sample": "another"}
    lines = [json.dumps(row) for row in (newer, older, foreign)] + ["{", '{"schema": "trajlab-label-1"}', ""]
    (tmp_path / "more.jsonl").write_text("\n".join(lines), encoding="utf-8")
    second = open_page(demo_page)
    second.name("ann")
    second.page.set_input_files("input[type=file]", tmp_path / "more.jsonl")
    second.status("1 label imported; passed over: 2 no label; 1 of another sample; 1 not newer")
    assert [row["value"] for row in second.stored()] == ["no"]
    assert second.page.is_checked(".questions input[value=no]")


def test_notes_and_withdrawn_answers(demo_page: Path, open_page: Open) -> None:
    watched = open_page(demo_page)
    watched.name("ann")
    watched.keys("2", "Q", "m")
    watched.page.keyboard.type("look at j and 1")  # keys of the viewer are letters in a field
    watched.keys("Escape")
    watched.status("solved: partly")
    assert [(row["value"], row["note"]) for row in watched.stored()] == [("partly", "look at j and 1")]
    watched.keys("u")
    watched.status("no answer")
    assert [(row["value"], row["note"]) for row in watched.stored()] == [(None, None)]
    assert not watched.page.is_checked(".questions input[value=partly]")


@pytest.mark.parametrize("per", ["item", "step"])
def test_a_span_counts_in_the_text_that_python_reads(tmp_path: Path, open_page: Open, per: str) -> None:
    text = "\x1b[31mone\x1b[0m \U0001f600 \u202ewicked\u202c word\r\nneedle end"
    row = {
        "instance_id": "spans",
        "messages": [
            {"role": "user", "content": "\U0001f600 needle"},
            {"role": "assistant", "content": text, "reasoning_content": "thinking \u200b needle"},
        ],
    }
    corpus = trajlab.read(write_rows(tmp_path / "run", [row]))
    watched = open_page(review_page(corpus, tmp_path / "page.html").path)
    watched.name("ann")
    watched.keys(*("q" if per == "step" else "") * 4, "1")
    watched.page.evaluate(
        """() => {
          const spans = [...document.querySelectorAll('.turn.current [data-part=text] span')];
          const node = spans.find((span) => span.textContent.includes('needle')).firstChild;
          const at = node.textContent.indexOf('wicked');
          getSelection().setBaseAndExtent(node, at, node, node.textContent.indexOf('needle') + 6);
        }"""
    )
    if per == "item":
        watched.keys("Q")
    watched.keys("s")
    watched.status("Kept")
    (label,) = [row for row in watched.stored() if row["span"]]
    turns = list(Trajectories(corpus, [label["item"]]).turns(label["item"]))
    assert label["step"] == (1 if per == "step" else None)
    read = reading_text([turn for turn in turns if label["step"] in (None, turn.step)])
    start, end = label["span"]
    assert read[start:end] == "wicked\u202c word\r\nneedle"


@pytest.mark.parametrize("blind", [False, True])
def test_hostile_logs_do_nothing_and_break_nothing(tmp_path: Path, open_page: Open, blind: bool) -> None:
    rewards = json.loads((SAMPLES / "verl" / "legacy_run" / "1.jsonl").read_text("utf-8").splitlines()[0])
    (tmp_path / "rewarded").mkdir()
    (tmp_path / "rewarded" / "1.jsonl").write_text(json.dumps(rewards | dict.fromkeys(HOSTILE, 1.0)) + "\n")
    corpus = trajlab.read(write_rows(tmp_path / "run", hostile_rows(4)), tmp_path / "rewarded")
    page = review_page(corpus, tmp_path / "page.html", blind=blind)
    assert page.items == 4
    watched = open_page(page.path)
    watched.name("<img src=x onerror=alert(1)>")
    for number in range(1, page.items + 1):
        watched.item(number)
        watched.keys("1", "e", "o", "t", "o", "x", "o", "h", "o", "G", "o", "c")
        watched.wait("document.querySelectorAll('.strip').length === 2")
        watched.ready()
        watched.keys("w", "o", "c")
        watched.wait("document.querySelectorAll('.strip').length === 1")
        watched.ready()
        watched.keys("]")
    for text in HOSTILE:
        watched.page.fill("input[type=search]", text)
        watched.keys("Enter", "Escape")
    watched.keys("?", "Escape")
    assert watched.page.evaluate("document.querySelectorAll('script').length") == page.items + 2
    foreign = "iframe, img, a, svg, object, embed, style + style"
    assert watched.page.evaluate("(tags) => document.querySelectorAll(tags).length", foreign) == 0


def test_hostile_text_is_shown_as_text(tmp_path: Path, open_page: Open) -> None:
    corpus = trajlab.read(write_rows(tmp_path / "run", hostile_rows()))
    watched = open_page(review_page(corpus, tmp_path / "page.html", n=50).path)
    shown: dict[str, str] = {}
    for number in range(1, len(HOSTILE) + 1):
        watched.page.click(f".items li:nth-child({number}) button")
        watched.item(number)
        place = int(watched.text(".title").rsplit(" ", 1)[-1])
        shown[HOSTILE[place]] = watched.page.evaluate(
            "document.querySelector('.turn.current [data-part=text]').textContent"
        )
    assert shown.keys() == set(HOSTILE)
    for logged, text in shown.items():
        if logged.isprintable():
            assert text == logged
        assert not set(text) & set("\x00\x07\x1b\x7f\x85\u2028\u2029\u202e\u2066\u200b\ufeff\U000e0041")
    assert "⟨U+202E⟩right to left⟨U+202C⟩" in shown[HOSTILE[7]]
    assert shown[HOSTILE[6]].startswith("red ⟨U+001B⟩]0;title⟨U+0007⟩")


def test_a_line_of_a_million_characters_is_cut_found_and_shown_on_demand(tmp_path: Path, open_page: Open) -> None:
    corpus = trajlab.read(write_rows(tmp_path / "run", [long_line_row()]))
    watched = open_page(review_page(corpus, tmp_path / "page.html").path)
    output = ".turn [data-part=output]"
    length = f"document.querySelector('{output}').textContent.length"
    assert watched.page.evaluate(length) < 5_000
    assert "characters not shown" in watched.text(f"{output} .gap")
    watched.long_tasks()
    watched.keys("/")
    watched.page.keyboard.type("needle")
    watched.keys("Enter")
    watched.count("1 / 1")
    assert watched.page.evaluate(f"document.querySelector('{output}').textContent.includes('xneedlex')")
    assert watched.page.evaluate("[...CSS.highlights.get('trajlab-match-now')].map(String)") == ["needle"]
    watched.page.click(f"{output} .gap >> nth=0")
    assert 20_000 < watched.page.evaluate(length) < 40_000
    assert watched.longest_task() < 200


def test_two_thousand_steps_scroll_without_a_long_task(long_page: Path, open_page: Open) -> None:
    watched = open_page(long_page)
    page = watched.page
    assert page.evaluate("document.querySelectorAll('.turn').length") == 2001
    for key in "eeGkE":
        watched.keys(key)
        page.wait_for_timeout(250)  # turns between get their height late, and must not push it out of sight
        assert 0 <= page.evaluate(_FROM_TOP) < 60, key
    watched.long_tasks()
    page.mouse.move(600, 500)
    for _ in range(40):
        page.mouse.wheel(0, 1500)
        page.wait_for_timeout(20)
    for place in (0.25, 0.5, 0.9, 1, 0.1):
        page.evaluate(_SCROLL, place)
        page.wait_for_timeout(120)
    scrolling = watched.longest_task()
    watched.keys("G", "g", *"jjjjjeeettxxGkkk")
    box = page.locator(".strip").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + 20)
    page.wait_for_timeout(200)
    assert 1190 < int(watched.text(".turn.current .who").removeprefix("step ")) < 1210
    assert page.evaluate(
        """() => { const at = document.querySelector('.turn.current').getBoundingClientRect();
                   const list = document.querySelector('.turns').getBoundingClientRect();
                   return at.top >= list.top - 10 && at.top < list.bottom; }"""
    )
    jumping = watched.longest_task()
    assert (scrolling < 200, jumping < 200) == (True, True), (scrolling, jumping)
    assert page.evaluate("document.querySelectorAll('.body:not(:empty)').length") < 600


def test_search_counts_through_twenty_megabytes(long_page: Path, open_page: Open) -> None:
    watched = open_page(long_page)
    watched.long_tasks()
    watched.page.fill("input[type=search]", "1999:7 some OUTPUT")
    watched.count("no match")
    watched.page.fill("input[type=search]", "1999:7 some output")
    watched.keys("Enter")
    watched.count("1 / 1")
    assert watched.text(".turn.current .who") == "step 1999"
    watched.page.fill("input[type=search]", "failed")
    watched.count("500 matches")
    assert watched.longest_task() < 200


def test_jumps_say_where_they_went_and_where_there_is_no_more(demo_page: Path, open_page: Open) -> None:
    watched = open_page(demo_page)
    for key, name in (("e", "edit"), ("t", "test")):
        watched.keys("g", key)
        count = int(watched.text(".status").split(" of ")[1])
        watched.keys(*key * (count - 1))
        watched.status(f"{name} {count} of {count}")
        last = watched.text(".turn.current .who")
        watched.keys(key)
        watched.status(f"No further {name}.")
        assert watched.text(".turn.current .who") == last
        watched.keys(key.upper())
        if count > 1:
            watched.status(f"{name} {count - 1} of {count}")


def test_hits_are_read_one_after_the_other_by_keyboard(open_page: Open, tmp_path: Path) -> None:
    corpus = trajlab.read(SAMPLES / "hacks")
    hits = corpus.hits.filter(~pl.col("timed_out")).collect().sort("trajectory_id", "call", "rule")
    named = hits.filter(pl.col("argument").is_not_null())["trajectory_id"][0]
    plain = hits.filter(pl.col("argument").is_null())["trajectory_id"][0]
    met = set(hits["trajectory_id"])
    without = next(key for key in corpus.current.collect()["trajectory_id"].sort() if key not in met)
    work = {"id": "hits", "items": [{"trajectory_id": key} for key in (plain, without, named)]}
    rubric = Rubric("r", [Question("hit", "What is it?", "step", choices=[Choice("bad", "Bad", "1")], required=True)])
    watched = open_page(review_page(corpus, tmp_path / "page.html", sample=work, rubric=rubric, reviewer="ann").path)
    shown = Trajectories(corpus, [plain, named])
    steps = [(key, turn) for key in shown.ids for turn in shown.turns(key) if any(call.hits for call in turn.calls)]
    for number, (key, turn) in enumerate(steps, 1):
        watched.keys("h")
        watched.status(f", {number} of {len(steps)} in the sample: ")
        for hit in [hit for call in turn.calls for hit in call.hits]:
            note = watched.page.inner_text(".turn.current .hit-notes")
            assert f"{hit['rule'].replace('_', ' ')}: {hit['title']} (tier {hit['tier']})" in note
            assert hit["text"] in watched.page.evaluate(_EVIDENCE)
        assert watched.text(".place").endswith(f"{[plain, named].index(key)} done")
        watched.keys("1")
        watched.status("Kept")
    assert watched.text(".place") == "3 / 3 · 2 done"
    watched.keys("h")
    watched.status("No further hit.")
    watched.keys("Tab", "Enter")
    assert watched.page.evaluate("document.activeElement.textContent") == "to the place"
    assert [(row["item"], row["step"]) for row in watched.stored()] == [(key, turn.step) for key, turn in steps]


def test_two_attempts_stand_beside_each_other_in_step(demo: Corpus, demo_page: Path, open_page: Open) -> None:
    watched = open_page(demo_page)
    watched.name("ann")
    watched.keys("c")
    watched.page.wait_for_selector(".turns.two[aria-busy=false] .row")
    assert watched.page.evaluate("document.querySelectorAll('.strip').length") == 2
    title = watched.text(".title")
    assert title in watched.page.evaluate("document.querySelector('.bar select').selectedOptions[0].textContent")
    rows = watched.page.evaluate(
        """[...document.querySelectorAll('.row')].map((row) => [...row.children].map((cell) =>
             cell.matches('.turn') ? cell.dataset.kind + cell.querySelector('.who').textContent : null))"""
    )
    both = [row for row in rows if None not in row]
    assert len(both) >= 3
    assert all(left[0] == right[0] for left, right in both)
    for side in (0, 1):
        steps = [int(row[side].split()[-1]) for row in rows if row[side] and "step" in row[side]]
        assert steps == sorted(steps)
    watched.keys("w", "1")
    watched.status("Kept")
    (label,) = watched.stored()
    tasks = dict(demo.trajectories.select("trajectory_id", "task_id").collect().iter_rows())
    shown = watched.page.evaluate("JSON.parse(document.getElementById('trajlab-index').textContent).items[0]")
    assert tasks[label["item"]] == shown["task"]
    assert label["item"] != shown["id"]
    watched.keys("c")
    watched.page.wait_for_selector(".turns:not(.two)[aria-busy=false]")


def test_logs_of_every_format_open(open_page: Open, tmp_path: Path) -> None:
    corpus = trajlab.read(*sorted(path for path in SAMPLES.iterdir() if path.name not in ("scripts", "gold", "hacks")))
    page = review_page(corpus, tmp_path / "page.html", sample=_one_of_each_format(corpus), reviewer="ann")
    assert page.items > 25
    watched = open_page(page.path)
    for number in range(1, page.items + 1):
        watched.item(number)
        watched.keys("G", "o", "1", "]")
    watched.status("This is the last trajectory.")
    assert watched.text(".place").endswith(" · 0 done")
    assert len(watched.stored()) == page.items


def _one_of_each_format(corpus: Corpus) -> dict[str, Any]:
    """Of each format the longest, and the shortest of all, which has no step."""
    table = (
        corpus.current.select("trajectory_id", "format", "n_steps")
        .sort("n_steps", "trajectory_id", nulls_last=True)
        .collect()
    )
    ids = {str(frame["trajectory_id"][-1]) for _, frame in table.group_by("format")} | {table["trajectory_id"][0]}
    assert table["n_steps"][0] == 0
    return {"id": "each", "items": [{"trajectory_id": key} for key in sorted(ids)]}


def test_no_storage_is_said_and_labels_can_still_be_exported(demo_page: Path, browser: Any, tmp_path: Path) -> None:
    context = browser.new_context()
    watched = Watched(context.new_page())
    watched.page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }});"
    )
    watched.open(demo_page)
    assert "keeps no labels" in watched.text(".warning")
    watched.name("ann")
    watched.keys("1")
    watched.status("Not kept: solved: yes.")
    assert [row["value"] for row in watched.exported(tmp_path / "labels.jsonl")] == ["yes"]
    watched.check()
    context.close()


def test_reading_aloud_has_names_roles_and_an_order(demo_page: Path, open_page: Open) -> None:
    watched = open_page(demo_page)
    page = watched.page
    assert page.get_attribute("html", "lang") == "en"
    assert "trajectories to read" in page.title()
    unnamed = page.evaluate(
        """[...document.querySelectorAll('.trajlab-review :is(button, input, select, textarea, [role])')]
             .filter((el) => el.checkVisibility() && !(el.textContent.trim() || el.getAttribute('aria-label')
               || el.labels?.length || el.getAttribute('aria-labelledby') || el.getAttribute('role') === 'status'))
             .map((el) => el.outerHTML)"""
    )
    assert unnamed == []
    turn = page.locator(".turn.current")
    assert turn.get_attribute("aria-posinset") and turn.get_attribute("aria-setsize")
    assert page.evaluate("document.activeElement.matches('.turn.current')")
    watched.keys("j")
    assert page.evaluate("document.activeElement.matches('.turn.current')")
    assert page.get_attribute(".status", "aria-live") == "polite"
    strip = page.locator(".strip")
    strip.focus()
    before = int(strip.get_attribute("aria-valuenow") or 0)
    watched.keys("ArrowRight")
    assert strip.get_attribute("aria-valuenow") == str(before + 1)
    assert f"turn {before + 1}," in (strip.get_attribute("aria-valuetext") or "")
    watched.keys("?")
    assert page.evaluate("document.querySelector('dialog.help').matches(':modal')")
    assert page.evaluate("document.activeElement.closest('dialog') !== null")
    watched.keys("Escape")
    assert page.evaluate("!document.querySelector('dialog.help').open")
    order = page.evaluate(
        """[...document.querySelectorAll('.trajlab-review :is(header, nav, [role=feed], aside, [role=slider])')]
             .map((el) => el.getAttribute('role') ?? el.localName)"""
    )
    assert order == ["header", "slider", "nav", "feed", "aside"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_light_and_dark(demo_page: Path, open_page: Open, scheme: str) -> None:
    watched = open_page(demo_page, color_scheme=scheme)
    faint = watched.page.evaluate(
        """() => {
          const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
          const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
          const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
          const behind = (el) => { for (let at = el; at; at = at.parentElement) {
            const style = getComputedStyle(at).backgroundColor;
            if (style.startsWith("rgb(") ) return rgb(style); } return [255, 255, 255]; };
          const found = [];
          const texts = ".who, .line, .kind, .text span, legend, .per, .item, .place, .note, dt, dd, .result-head";
          for (const el of document.querySelectorAll(`.trajlab-review :is(${texts})`)) {
            if (!el.checkVisibility() || !el.textContent.trim()) continue;
            const [a, b] = [light(rgb(getComputedStyle(el).color)), light(behind(el))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) found.push(el.className + " " + ratio.toFixed(2));
          }
          return [...new Set(found)];
        }"""
    )
    assert faint == []


def test_the_keys_of_a_rubric_cannot_be_the_viewers(demo_page: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto("about:blank")
    page.add_script_tag(type="module", content=module_source() + "\nwindow.keys = KEYS.flatMap((key) => key.keys);")
    page.wait_for_function("!!window.keys")
    letters = {key.lower() for key in page.evaluate("window.keys") if key.isalpha()}
    assert letters == RESERVED_KEYS
    page.close()


def test_differences_put_together_again_are_both_texts(browser: Any) -> None:
    page = browser.new_page()
    page.goto("about:blank")
    page.add_script_tag(type="module", content=module_source() + "\nwindow.lineDiff = lineDiff; window.align = align;")
    page.wait_for_function("!!window.lineDiff")
    wrong = page.evaluate(
        """() => {
          let seed = 7;
          const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
          const lines = () => Array.from({length: random(30)}, () => "abcde"[random(5)]);
          const longest = (a, b) => {
            const t = Array.from({length: a.length + 1}, () => new Array(b.length + 1).fill(0));
            for (let i = 1; i <= a.length; i++) for (let j = 1; j <= b.length; j++)
              t[i][j] = a[i - 1] === b[j - 1] ? t[i - 1][j - 1] + 1 : Math.max(t[i - 1][j], t[i][j - 1]);
            return t[a.length][b.length]; };
          const wrong = [];
          for (let n = 0; n < 500; n++) {
            const [a, b] = [lines(), lines()];
            const diff = lineDiff(a, b);
            const old = diff.filter((line) => line.sign !== "+").map((line) => line.text);
            const now = diff.filter((line) => line.sign !== "-").map((line) => line.text);
            const same = diff.filter((line) => line.sign === " ").length;
            if (old.join() !== a.join() || now.join() !== b.join() || same !== longest(a, b)) wrong.push([a, b]);
          }
          return wrong;
        }"""
    )
    assert wrong == []
    started = page.evaluate(
        """() => { const lines = (n) => Array.from({length: 20000}, (_, i) => n + ":" + i * n % 9973);
                   const before = performance.now(); const diff = lineDiff(lines(3), lines(5));
                   return [performance.now() - before, diff.length]; }"""
    )
    assert started[0] < 1000
    assert started[1] == 40_000
    page.close()


def test_eighty_real_runs_open_are_labelled_and_survive_a_reload(shared: Path, open_page: Open, tmp_path: Path) -> None:
    corpus = trajlab.read(shared / "samples" / "corpora" / "swebench_verified_mini")
    page = review_page(corpus, tmp_path / "page.html", n=80, seed=1)
    assert page.items == 80
    assert page.bytes < 20_000_000
    watched = open_page(page.path)
    watched.name("ann")
    for number in range(80):
        watched.item(number + 1)
        watched.keys(str(1 + number % 4), "1", "]")
    rows = watched.stored()
    assert len(rows) == 160
    watched.page.reload()
    watched.ready()
    assert watched.text(".place") == "1 / 80 · 80 done"
    assert watched.exported(tmp_path / "labels.jsonl") == rows
    assert {row["item"] for row in rows} <= set(corpus.trajectories.collect()["trajectory_id"])
