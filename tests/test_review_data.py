"""What the reviewer is told: turns, edits, rubrics, samples; the page around it; and what blind readers never get."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from corpora_in_tests import SAMPLES, run_command
from review_in_tests import HOSTILE, hostile_rows, long_row, tool_call, write_rows

import trajlab
from trajlab.behavior.patterns import LETTERS
from trajlab.corpus.corpus import Corpus
from trajlab.errors import InfrastructureError, UsageError
from trajlab.records import ToolCall
from trajlab.review.edits import Edit, EditReader
from trajlab.review.items import FACT_GROUPS, VIEW_KINDS, Trajectories, Turn
from trajlab.review.page import json_in_html, review_page
from trajlab.review.rubric import Question, Rubric, fits, load_rubric
from trajlab.review.viewer import module_source, page_source, style_source
from trajlab.review.worklist import Worklist, shuffled, worklist

DEMO = SAMPLES / "mini_swe_agent" / "mini-swe-agent-demo"


@pytest.fixture(scope="module")
def demo() -> Corpus:
    return trajlab.read(DEMO)


@pytest.fixture(scope="module")
def mixed() -> Corpus:
    folders = ("openhands/output", "codex", "swe_agent", "hacks/planted", "verl/legacy_run", "tau2")
    return trajlab.read(*(SAMPLES / folder for folder in folders))


def ids_of(corpus: Corpus) -> list[str]:
    return list(corpus.current.select("trajectory_id").collect()["trajectory_id"])


def shell(command: str) -> ToolCall:
    return ToolCall("bash", command=command, executed=True)


def tool(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name, arguments=arguments, executed=True)


# Turns


def test_every_text_of_a_trajectory_is_in_its_turns_once(mixed: Corpus) -> None:
    ids = ids_of(mixed)
    shown = Trajectories(mixed, ids)
    for key in ids:
        held = mixed.text(key)
        turns = list(shown.turns(key))
        texts = [turn.text for turn in turns if turn.text] + [turn.reasoning for turn in turns if turn.reasoning]
        texts += [call.output for turn in turns for call in turn.calls if call.output]
        logged = held.filter((pl.col("kind") != "arguments") & (pl.col("text") != ""))["text"].to_list()
        assert sorted(texts) == sorted(logged)
        steps = [turn.step for turn in turns if turn.step is not None]
        assert steps == list(range(1, len(steps) + 1))
        calls = mixed.tool_calls.filter(pl.col("trajectory_id") == key).collect()
        assert [call.number for turn in turns for call in turn.calls] == calls["call"].to_list()


def test_the_kinds_of_the_agents_calls_are_its_action_pattern(mixed: Corpus) -> None:
    ids = ids_of(mixed)
    shown = Trajectories(mixed, ids)
    patterns = dict(mixed.current.select("trajectory_id", "pattern").collect().iter_rows())
    for key in ids:
        calls = [call for turn in shown.turns(key) for call in turn.calls if not call.by_user]
        assert "".join(call.kind for call in calls) == (patterns[key] or "")
    assert set(LETTERS) < set(VIEW_KINDS)


def test_results_of_tests_and_hits_stand_at_their_calls(mixed: Corpus) -> None:
    ids = ids_of(mixed)
    shown = Trajectories(mixed, ids)
    found = {(key, call.number): call for key in ids for turn in shown.turns(key) for call in turn.calls}
    results = mixed.call_results.filter(pl.col("trajectory_id").is_in(ids)).collect()
    assert results["tests_failed"].sum() > 0
    for row in results.iter_rows(named=True):
        call = found[row["trajectory_id"], row["call"]]
        assert call.outcome == row["outcome"]
        assert (call.tests or (None,) * 4)[1] == row["tests_failed"]
    hits = mixed.hits.filter(pl.col("trajectory_id").is_in(ids)).collect()
    assert hits.height > 20
    told = [(key, number, hit["rule"]) for (key, number), call in found.items() for hit in call.hits]
    assert sorted(told) == sorted(hits.select("trajectory_id", "call", "rule").iter_rows())
    for call in found.values():
        held = [call.command] if call.command else [text for _, text in call.arguments]
        assert all(hit["title"] and hit["text"] and any(hit["text"] in text for text in held) for hit in call.hits)


def test_chunks_are_the_turns_and_the_same_bytes_every_time(tmp_path: Path) -> None:
    corpus = trajlab.read(write_rows(tmp_path / "run", [long_row(steps=300, result_chars=12_000)]))
    (key,) = ids_of(corpus)
    chunks = Trajectories(corpus, [key]).chunks(key)
    assert len(chunks) > 3
    assert max(len(gzip.decompress(chunk)) for chunk in chunks) < 1_100_000
    turns = [turn for chunk in chunks for turn in msgspec.json.decode(gzip.decompress(chunk), type=list[Turn])]
    assert turns == list(Trajectories(corpus, [key]).turns(key))
    assert Trajectories(corpus, [key]).chunks(key) == chunks


def test_an_unknown_trajectory_and_a_corpus_without_texts_are_usage_errors(demo: Corpus, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no trajectory 'nothing'"):
        Trajectories(demo, ["nothing"])
    bare = trajlab.ingest(DEMO, out=tmp_path / "corpus", texts=False)
    with pytest.raises(UsageError, match="no texts"):
        review_page(bare, tmp_path / "page.html")


# Edits


def test_edits_have_the_text_before_where_it_is_known() -> None:
    reader = EditReader()
    assert reader.read(shell("cat > a.py <<'EOF'\none\ntwo\nEOF")) == [Edit("a.py", "write", None, "one\ntwo\n")]
    replaced = reader.read(tool("str_replace_editor", command="str_replace", path="a.py", old_str="two", new_str="2"))
    assert replaced == [Edit("a.py", "replace", "two", "2")]
    assert reader.read(shell("cat >> a.py <<'EOF'\nthree\nEOF"))[0].how == "append"
    written = reader.read(tool("write_file", path="a.py", content="one\n"))
    assert written == [Edit("a.py", "write", "one\n2\nthree\n", "one\n")]
    assert reader.read(shell("sed -i 's/one/1/' a.py")) == [Edit("a.py", "script", None, "s/one/1/")]
    assert reader.read(shell("cat > a.py <<'EOF'\nnew\nEOF"))[0].old is None


def test_patches_are_shown_as_logged() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-one\n+two\n*** End Patch"
    unified = "--- a/src/b.py\n+++ b/src/b.py\n@@ -1 +1 @@\n-one\n+two\n"
    reader = EditReader()
    for call in (tool("apply_patch", input=patch), shell(f"apply_patch <<'EOF'\n{patch}\nEOF")):
        (edit,) = reader.read(call)
        assert (edit.path, edit.how, (edit.patch or "").strip()) == ("src/a.py", "patch", patch)
    (edit,) = reader.read(shell(f"git apply <<'EOF'\n{unified}EOF"))
    assert (edit.path, edit.how) == ("src/b.py", "patch")
    assert (edit.patch or "").strip() == unified.strip()


def test_what_writes_nothing_is_no_edit() -> None:
    reader = EditReader()
    view = tool("str_replace_editor", command="view", path="a.py")
    failed = ToolCall("str_replace_editor", {"command": "create", "path": "a", "file_text": "b"}, executed=False)
    calls = (shell("cat a.py"), shell("pytest -q"), view, failed, tool("think", text="x"))
    assert [edit for call in calls for edit in reader.read(call)] == []


# Blind


def words_of(value: Any) -> set[str]:
    """Every key and every text of plain data."""
    if isinstance(value, dict):
        return {*value, *(word for inner in value.values() for word in words_of(inner))}
    if isinstance(value, list):
        return {word for inner in value for word in words_of(inner)}
    return {value} if isinstance(value, str) else set()


class Scripts(HTMLParser):
    """Scripts of a page by their id, and its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.data: dict[str, str] = {}
        self.tags: list[str] = []
        self.name: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "script":
            self.name = dict(attrs).get("id") or "module"
            self.data[self.name] = ""

    def handle_endtag(self, tag: str) -> None:
        self.name = None

    def handle_data(self, data: str) -> None:
        if self.name is not None:
            self.data[self.name] += data


def page_data(page: Path) -> tuple[dict[str, Any], list[list[dict[str, Any]]]]:
    """Index and turns of a page."""
    scripts = Scripts(page.read_text("utf-8")).data
    index = json.loads(scripts["trajlab-index"])
    items = [json.loads(scripts[f"trajlab-item-{n}"]) for n in range(len(index["items"]))]
    return index, [
        [turn for chunk in chunks for turn in json.loads(gzip.decompress(base64.b64decode(chunk)))] for chunks in items
    ]


def test_a_blind_page_does_not_hold_what_graders_and_rules_said(mixed: Corpus, tmp_path: Path) -> None:
    ids = ids_of(mixed)
    manifest = {"id": "s", "items": [{"trajectory_id": key, "stratum": "hacked", "probability": 0.25} for key in ids]}
    index, seen = page_data(review_page(mixed, tmp_path / "seen.html", sample=manifest).path)
    assert {"correct", "reward", "termination"} <= words_of(index)
    assert {"hacked", "n_project_edits"} <= words_of(index)
    assert {"outcome", "tests", "hits"} <= words_of(seen)
    blind_index, blind = page_data(review_page(mixed, tmp_path / "blind.html", sample=manifest, blind=True).path)
    facts = {name for names in FACT_GROUPS.values() for name in names}
    rules = set(mixed.hits.collect()["rule"])
    assert (
        words_of(blind_index["items"]) & (facts | rules | {"hacked", "facts", "rewards", "stratum", "probability"})
        == set()
    )
    assert blind_index["docs"] == {}
    keys = {key for turns in blind for turn in turns for call in turn.get("calls", []) for key in call}
    assert keys & {"outcome", "tests", "hits"} == set()
    kinds = {call.get("kind", "O") for turns in blind for turn in turns for call in turn.get("calls", [])}
    assert kinds <= {"O", "E", "K", "!", "?"}
    assert {item["id"] for item in blind_index["items"]} == set(ids)
    assert [item["id"] for item in blind_index["items"]] != ids


# The page


def test_a_page_is_the_same_bytes_and_nothing_in_it_can_end_its_data(tmp_path: Path) -> None:
    corpus = trajlab.read(write_rows(tmp_path / "run", hostile_rows()))
    first = review_page(corpus, tmp_path / "a.html").path.read_bytes()
    assert review_page(corpus, tmp_path / "b.html").path.read_bytes() == first
    text = first.decode("utf-8")
    scripts = Scripts(text)
    assert scripts.tags.count("script") == len(HOSTILE) + 2
    assert set(scripts.tags) <= {
        "html",
        "head",
        "meta",
        "link",
        "title",
        "style",
        "body",
        "main",
        "noscript",
        "p",
        "script",
    }
    assert scripts.data["module"] == module_source() + "\nopenPage(document);\n"
    for name, data in scripts.data.items():
        assert data.isascii() or name == "module"
        assert not re.search("[<>&]", data) or name == "module"
    assert {item["title"] for item in json.loads(scripts.data["trajlab-index"])["items"]} == {
        row["instance_id"] for row in hostile_rows()
    }


@pytest.mark.parametrize("value", [*HOSTILE, {"</script>": ["\u2028", "\ud83d"]}])
def test_json_in_html_is_the_value(value: Any) -> None:
    text = json_in_html(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set(text) & set("<>&")


def test_the_policy_allows_only_this_script_and_this_style(demo: Corpus, tmp_path: Path) -> None:
    text = review_page(demo, tmp_path / "page.html", n=1).path.read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    said = dict(part.strip().split(" ", 1) for part in policy[1].split(";"))
    assert said["default-src"] == "'none'"
    for kind in ("script-src", "style-src"):
        assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", said[kind])
    assert said["require-trusted-types-for"] == "'script'"


def test_the_viewers_source_makes_no_markup_of_text_and_asks_nothing_of_the_network() -> None:
    source = module_source()
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|Function\(|DOMParser|ContextualFragment"
    network = r"\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|\bimport\(|^\s*import\b|https?:"
    assert re.findall(f"{markup}|{network}", source, flags=re.MULTILINE) == []
    assert "</script" not in source.lower()
    assert "<!--" not in source
    assert "</style" not in style_source().lower()
    assert not re.search(r"url\(|@import", style_source())
    assert len(re.findall(r"\$\w+", page_source())) == page_source().count("$") == 5


def test_every_rule_of_the_style_stays_below_the_reviewer() -> None:
    plain = re.sub(r"/\*.*?\*/", "", style_source(), flags=re.DOTALL)
    selectors = [part.strip() for head in re.findall(r"([^{}]+)\{", plain) for part in head.split(",")]
    outside = [one for one in selectors if ".trajlab-" not in one and not one.startswith("@")]
    assert outside in ([], ['html[theme="light"]'])


@pytest.mark.skipif(shutil.which("node") is None, reason="no node is installed")
def test_the_module_is_well_formed(tmp_path: Path) -> None:
    path = tmp_path / "module.mjs"
    path.write_text(module_source(), encoding="utf-8")
    done = subprocess.run(["node", "--check", str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_page_that_cannot_be_written_says_so(demo: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError):
        review_page(demo, tmp_path)


# Samples


def test_a_simple_draw_is_the_seeds_and_says_its_probability(demo: Corpus) -> None:
    first = worklist(demo, n=5, seed=3)
    assert worklist(demo, n=5, seed=3) == first
    assert worklist(demo, n=5, seed=4).ids != first.ids
    assert (first.seed, first.frame, {item.probability for item in first.items}) == (3, 12, {5 / 12})
    everything = worklist(demo, n=99)
    assert sorted(everything.ids) == sorted(ids_of(demo))
    assert len({work.id for work in (first, everything, worklist(demo, n=5, seed=4))}) == 3


def test_a_manifest_is_a_file_or_what_it_holds(demo: Corpus, tmp_path: Path) -> None:
    ids = ids_of(demo)[:3]
    manifest = {
        "id": "mine", "seed": 1, "frame": {"size": 12}, "design": "stratified",
        "items": [{"trajectory_id": key, "probability": 0.5, "stratum": "a", "more": 1} for key in ids],
    }  # fmt: skip
    (tmp_path / "sample.json").write_text(json.dumps(manifest))
    works = [worklist(demo, given) for given in (manifest, tmp_path / "sample.json", str(tmp_path / "sample.json"))]
    assert [work.ids for work in works] == [ids] * 3
    assert worklist(demo, works[0]) == works[0] == works[1] == works[2]
    assert works[0].items[0].stratum == "a"


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ("{", "sample.json"),
        ('{"id": "x"}', "items"),
        ('{"id": "x", "items": []}', "no items"),
        ('{"id": "x", "items": [{"trajectory_id": "a"}, {"trajectory_id": "a"}]}', "twice"),
        ('{"id": "x", "items": [{"trajectory_id": 1}]}', "trajectory_id"),
    ],
)
def test_a_broken_manifest_is_a_usage_error(demo: Corpus, tmp_path: Path, manifest: str, says: str) -> None:
    (tmp_path / "sample.json").write_text(manifest)
    with pytest.raises(UsageError, match=says):
        worklist(demo, tmp_path / "sample.json")
    with pytest.raises(UsageError, match=r"missing\.json"):
        worklist(demo, tmp_path / "missing.json")


def test_a_shuffled_list_keeps_its_items() -> None:
    work = msgspec.convert({"id": "s", "items": [{"trajectory_id": str(n)} for n in range(50)]}, Worklist)
    other = shuffled(work)
    assert sorted(other.ids) == sorted(work.ids)
    assert other.ids != work.ids
    assert shuffled(work) == other


# Rubrics


def test_the_rubric_that_comes_along_is_one() -> None:
    rubric = load_rubric()
    assert {question.kind for question in rubric.questions} == {"choice", "multi", "scale", "text"}
    assert {question.per for question in rubric.questions} == {"item", "step"}
    assert any(question.required for question in rubric.questions)


def test_a_short_rubric_gets_labels_and_keys(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n' + QUESTION + 'choice = [{value = "a"}, {value = "b", key = "y"}]\n')
    (question,) = load_rubric(path).questions
    assert [(choice.value, choice.label, choice.key) for choice in question.choices] == [
        ("a", "a", "1"),
        ("b", "b", "y"),
    ]


QUESTION = '[[question]]\nid = "q"\ntext = "?"\n'


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("name = 3", "name"),
        ('name = "x"\nquestion = []', "no question"),
        ('name = "x"\n' + QUESTION, "no choice"),
        ('name = "x"\n' + QUESTION + 'kind = "sometimes"', "sometimes"),
        ('name = "x"\n' + QUESTION + 'colour = "red"', "colour"),
        ('name = "x"\n' + QUESTION + 'choice = [{value = "a"}, {value = "a"}]', "two choices 'a'"),
        ('name = "x"\n' + QUESTION + 'choice = [{value = "a", key = "j"}]', "key 'j'"),
        ('name = "x"\n' + QUESTION + 'choice = [{value = "a", key = "y"}, {value = "b", key = "y"}]', "key 'y'"),
        ('name = "x"\n' + QUESTION + 'kind = "scale"\nlow = 3\nhigh = 3', "a scale from 3 to 3"),
        ('name = "x"\n' + QUESTION + 'kind = "text"\nchoice = [{value = "a"}]', "choices of a text"),
        ('name = "x"\n' + (QUESTION + 'kind = "text"\n') * 2, "two questions 'q'"),
        ("name = ", "mine.toml"),
    ],
)
def test_a_broken_rubric_is_a_usage_error(tmp_path: Path, body: str, says: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(body)
    with pytest.raises(UsageError, match=re.escape(says)):
        load_rubric(path)


def test_which_values_answer_a_question() -> None:
    rubric = load_rubric()
    fitting: dict[str, list[Any]] = {
        "solved": ["yes", None], "trouble": [[], ["misread", "looped"]], "confidence": [1, 5], "summary": ["", "x"],
    }  # fmt: skip
    wrong: dict[str, list[Any]] = {
        "solved": ["maybe", 1, ["yes"]], "trouble": ["misread", ["x"]], "confidence": [0, 6, 1.5, True, "3"],
        "summary": [3, ["x"]],
    }  # fmt: skip
    for values, expected in ((fitting, True), (wrong, False)):
        for name, answers in values.items():
            question = rubric.question(name)
            assert question is not None
            assert {fits(question, answer) for answer in answers} == {expected}, name
    assert Rubric("r", [Question("q", "?")]).question("other") is None


# The command


def test_the_command_writes_a_page_of_logs_and_of_a_corpus(tmp_path: Path, demo: Corpus) -> None:
    done = run_command("review", DEMO, "--n", "3", "--blind", "--reviewer", "ann", "-o", tmp_path / "logs.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("3 trajectories, ")
    index, _ = page_data(tmp_path / "logs.html")
    assert (index["blind"], index["reviewer"], len(index["items"])) == (True, "ann", 3)
    trajlab.ingest(DEMO, out=tmp_path / "corpus")
    (tmp_path / "sample.json").write_text(json.dumps({"id": "mine", "items": [{"trajectory_id": ids_of(demo)[0]}]}))
    done = run_command(
        "review", tmp_path / "corpus", "--sample", tmp_path / "sample.json", "-o", tmp_path / "corpus.html"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 trajectory, ")
    assert "sample mine" in done.stdout
    done = run_command("review", tmp_path / "corpus", "--rubric", tmp_path / "none.toml", "-o", tmp_path / "none.html")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "none.html").exists()


def test_arguments_that_are_no_object_are_shown_as_they_are(tmp_path: Path) -> None:
    broken = tool_call("lookup", {}, 1)
    broken["function"]["arguments"] = '{"a": "cut'
    row = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "", "tool_calls": [broken]}]}
    corpus = trajlab.read(write_rows(tmp_path / "run", [row]))
    (key,) = ids_of(corpus)
    (call,) = [call for turn in Trajectories(corpus, [key]).turns(key) for call in turn.calls]
    assert call.arguments == [("", '{"a": "cut')]
