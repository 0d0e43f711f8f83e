"""Decoded chat text: every spelling, special tokens kept and dropped, whatever the text."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.formats._chat_text import (
    Conversation,
    calls_in_text,
    parse_conversation,
    parse_prompt,
    parse_response,
    tools_in_prompt,
)
from trajlab.formats._chat_text import conversation as general
from trajlab.formats._chat_text.plain import read_plain
from trajlab.formats._chat_text.stripped import split_role_lines

SHARED = Path(os.environ.get("TRAJLAB_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))
TEMPLATES = sorted((SHARED / "samples/written/chat_templates").glob("*.txt"))
PROMPT = "system\nBe brief.\nuser\nWeather in Paris and Rome?\nassistant\n"
HERMES = (
    '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
)


def summary(conversation: Conversation) -> list[tuple[str, list[tuple[Any, ...]]]]:
    return [
        (step.text, [(call.tool, call.arguments, call.output) for call in step.calls]) for step in conversation.steps
    ]


# --- rendered templates ---------------------------------------------------------------------------------

# These templates leave the calls out (the two results remain), write one call per turn, or no tool turn.
CALLS_LEFT_OUT = {"deepseek_r1_distill", "lfm2", "llama3", "qwen2_5_vl"}
ONE_CALL = {"llama3_1", "llama3_2"}
SECOND_CALL_LEFT_OUT = {"gptoss"}
NO_TOOL_TURN = {"phi3", "phi3_5"}


def rendered(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if text.startswith("ERROR") or path.stem in NO_TOOL_TURN:
        pytest.skip("the template renders no tool turn")
    return text


def check_weather(name: str, conversation: Conversation) -> None:
    first, last = conversation.steps
    calls = first.calls
    found = [(call.tool, json.loads(json.dumps(call.arguments), parse_int=str), call.output) for call in calls]
    paris = ("get_weather", {"city": "Paris", "days": "2"}, "sunny")
    rome = ("get_weather", {"city": "Rome", "days": "1"}, "rain")
    if name in CALLS_LEFT_OUT:
        expected: list[Any] = [(None, None, "sunny"), (None, None, "rain")]
    elif name in ONE_CALL:
        expected = [paris]
    elif name in SECOND_CALL_LEFT_OUT:
        expected = [paris, ("get_weather", None, "rain")]
    else:
        expected = [paris, rome]
    assert found == expected
    assert all(call.executed and call.invalid is None for call in calls)
    assert (first.text, last.text, last.calls) == ("", "A1", [])
    assert conversation.cut_off is None


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_rendered_template(path: Path) -> None:
    conversation = parse_conversation(rendered(path))
    check_weather(path.stem, conversation)
    assert [m.after_step for m in conversation.messages][-2:] == [None, 2]
    roles = [message.role for message in conversation.messages]
    assert roles[0] == "system"
    assert roles[-2:] == ["user", "user"]
    assert "SYS" in " ".join(message.text for message in conversation.messages[:-2])
    assert conversation.messages[-1].text == "Q2"


DROPPED = {
    "qwen": ("<|im_start|>", "<|im_end|>"),
    "nemotron": ("<|im_start|>", "<|im_end|>"),
    "lfm2": ("<BOS>", "<|im_start|>", "<|im_end|>"),
    "llama3_": ("<BOS>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    "deepseekv3": ("<BOS>", "<｜end▁of▁sentence｜>"),
    "glm4moe": ("[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"),
    "gptoss": ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>"),
}
HEADERS = (
    "<|im_start|>assistant\n", "<|start_header_id|>assistant<|end_header_id|>\n\n", "<|start|>assistant",
    "<|assistant|>", "<｜Assistant｜>",
)  # fmt: skip


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_rendered_template_with_special_tokens_dropped(path: Path) -> None:
    tokens = next((tokens for name, tokens in DROPPED.items() if path.stem.startswith(name)), None)
    text = rendered(path)
    if tokens is None:
        pytest.skip("what its tokenizer drops is not known")
    cut = min(at + len(header) for header in HEADERS if (at := text.find(header)) >= 0)
    prompt, response = text[:cut], text[cut : text.rindex("A1") + 2]
    for token in tokens:
        prompt, response = prompt.replace(token, ""), response.replace(token, "")
    check_weather(path.stem, parse_response(response, prompt))


# --- spellings ------------------------------------------------------------------------------------------

PARIS = {"city": "Paris", "days": 2}
SPELLINGS = {
    "hermes": '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris", "days": 2}}\n</tool_call>',
    "hermes, arguments as text": (
        '<tool_call>{"name": "weather", "arguments": "{\\"city\\": \\"Paris\\", \\"days\\": 2}"}</tool_call>'
    ),
    "glm": (
        "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
        "<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>"
    ),
    "deepseek v3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n"
        '{"city": "Paris", "days": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
    "deepseek v3.1": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>"
        '{"city": "Paris", "days": 2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
    "deepseek v4": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n'
        '<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    ),
    "kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
        '{"city": "Paris", "days": 2}<|tool_call_end|><|tool_calls_section_end|>'
    ),
    "minimax": (
        '<minimax:tool_call>\n<invoke name="weather">\n<parameter name="city">Paris</parameter>\n'
        '<parameter name="days">2</parameter>\n</invoke>\n</minimax:tool_call>'
    ),
    "gemma": '<|tool_call>call:weather{city:<|"|>Paris<|"|>,days:2}<tool_call|>',
    "lfm2": "<|tool_call_start|>[weather(city='Paris', days=2)]<|tool_call_end|>",
    "llama": '{"name": "weather", "parameters": {"city": "Paris", "days": 2}}',
    "llama python tag": '<|python_tag|>{"name": "weather", "parameters": {"city": "Paris", "days": 2}}',
}
FUNCTION = "<function=weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spelling(spelling: str) -> None:
    text, reasoning, calls = calls_in_text("<think>\nhm\n</think>\n\n" + SPELLINGS[spelling])
    assert (text, reasoning) == ("", "hm")
    [call] = calls
    assert (call.tool, call.arguments, call.invalid, call.executed) == ("weather", PARIS, None, None)


@pytest.mark.parametrize("wrapper", ["{}", "<tool_call>\n{}\n</tool_call>", "<seed:tool_call>{}</seed:tool_call>"])
def test_function_spelling_keeps_values_as_text(wrapper: str) -> None:
    text, _, [call] = calls_in_text("I look.\n" + wrapper.format(FUNCTION))
    assert (text, call.tool, call.arguments) == ("I look.", "weather", {"city": "Paris", "days": "2"})


def test_swe_smith_text() -> None:
    command = "cat > a.html <<'EOF'\n<b>x</b>\n</tool_call>\n</function>\nEOF"
    text, _, calls = calls_in_text(
        f"I write it.\n<function=bash>\n<parameter=command>{command}</parameter>\n</function>"
    )
    assert (text, calls[0].tool, calls[0].arguments) == ("I write it.", "bash", {"command": command})
    function = f"<function=bash>\n<parameter=command>\n{command}\n</parameter>\n</function>"
    wrapped = f"<tool_call>\n{function}\n</tool_call>"
    assert calls_in_text(wrapped) == ("", None, calls)


def test_gpt_oss_both_orders_and_channels() -> None:
    response = (
        "<|channel|>analysis<|message|>Look it up.<|end|><|start|>assistant<|channel|>commentary"
        ' to=functions.weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>'
        '<|start|>functions.weather to=assistant<|channel|>commentary<|message|>"sunny"<|end|>'
        "<|start|>assistant<|channel|>analysis<|message|>Good.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>Sunny.<|return|>"
    )
    kept = parse_response(response)
    assert summary(kept) == [("", [("weather", {"city": "Paris"}, "sunny")]), ("Sunny.", [])]
    assert [step.reasoning for step in kept.steps] == ["Look it up.", "Good."]
    for token in (
        "<|channel|>",
        "<|message|>",
        "<|end|>",
        "<|start|>",
        "<|call|>",
        "<|constrain|>",
        "<|return|>",
    ):
        response = response.replace(token, "")
    assert parse_response(response, "systemYou are helpful.userQ1assistant") == kept


def test_llama_glued_roles() -> None:
    call = '{"name": "weather", "parameters": {"city": "Paris"}}'
    response = f'{call}ipython\n\n"4 assistant"assistant\n\nDone, user\n\nbye'
    found = parse_response(response, "system\n\nS.user\n\nQ1assistant\n\n")
    assert summary(found) == [
        ("", [("weather", {"city": "Paris"}, "4 assistant")]),
        ("Done, user\n\nbye", []),
    ]
    assert [(m.role, m.text) for m in parse_prompt("system\n\nS.user\n\nQ1assistant\n\n")] == [
        ("system", "S."),
        ("user", "Q1"),
    ]


def test_old_sglang_rollout() -> None:
    call = '<tool_call>\n{"name": "code", "arguments": {"code": "print(1)"}}\n</tool_call>'
    response = f"assistant\n<think>\nadd\n</think>\n{call}\ntool\n220000.0\n\nassistant\n#### 220000.0"
    found = parse_response(response, PROMPT)
    assert summary(found) == [("", [("code", {"code": "print(1)"}, "220000.0")]), ("#### 220000.0", [])]
    assert found.steps[0].reasoning == "add"
    cut = parse_response(f"assistant\n{call}\ntool\n22", PROMPT)
    assert cut.steps[0].calls[0].output == "22"


# --- turns with special tokens dropped ------------------------------------------------------------------


def test_qwen_parallel_calls_and_results() -> None:
    response = (
        f"<think>\nboth\n</think>\n\n{HERMES}\nuser\n<tool_response>\nsunny\n</tool_response>\n"
        "<tool_response>\nrain\nassistant\nuser\n</tool_response>\nassistant\n<think>\nok\n</think>\n\nDone."
    )
    found = parse_response(response, PROMPT)
    assert summary(found) == [
        (
            "",
            [("weather", {"city": "Paris"}, "sunny"), ("weather", {"city": "Rome"}, "rain\nassistant\nuser")],
        ),
        ("Done.", []),
    ]
    assert [step.reasoning for step in found.steps] == ["both", "ok"]
    assert found.messages == []


@pytest.mark.parametrize(
    "answer",
    [
        "The role is\nuser\nhere.",
        "Roles:\nassistant\nuser\n",
        "```\nuser\nhi\nassistant\nyo\n```",
        "<think>\na\nuser\nb\nassistant\nc\n</think>\nd",
        "I am your assistant\n\nand you the user\n\nok",
        "see <tool_response> tags",
    ],
)
def test_role_words_in_an_answer_open_no_turn(answer: str) -> None:
    found = parse_response(answer, PROMPT)
    assert len(found.steps) == 1
    assert not found.messages
    assert not found.steps[0].calls


def test_user_turn_between() -> None:
    found = parse_response("Which city?\nuser\nRome\nassistant\nRain.", PROMPT)
    assert [step.text for step in found.steps] == ["Which city?", "Rain."]
    assert [(m.role, m.text, m.after_step) for m in found.messages] == [("user", "Rome", 1)]
    plain = parse_response("Which city?\nuser\nRome\nassistant\nRain.", "A prompt without roles")
    assert len(plain.steps) == 1


def test_user_text_behind_a_tool_response() -> None:
    found = parse_response(
        f"{HERMES}\nuser\n<tool_response>\na\n</tool_response>\n<tool_response>\nb\n</tool_response>\n"
        "Go on.\nassistant\nOk",
        PROMPT,
    )
    assert [call.output for call in found.steps[0].calls] == ["a", "b"]
    assert [(m.text, m.after_step) for m in found.messages] == [("Go on.", 1)]
    assert found.steps[1].text == "Ok"


@pytest.mark.parametrize(
    ("response", "tag"),
    [
        ("<think>\nso far", "<think>"),
        (f"{HERMES}\nuser\n<tool_response>\na\n</tool_response>\nassistant\n<think>\nhm", "<think>"),
        ('Now.\n<tool_call>\n{"name": "weather", "argum', "<tool_call>"),
        (f"{HERMES}\nuser\n<tool_response>\nsun", "<tool_response>"),
        ("<function=bash>\n<parameter=command>ls", "<function="),
        ("<tool_call>\n<function=f>\n<parameter=a>\n1", "<tool_call>"),
        ("<tool_call>", "<tool_call>"),
        ("<tool_call>\nAnswer: 6", None),
        ('<tool_call>\n{"name": "f", "arguments": {}}', None),
        ("<think>\na\n</think>\nAnswer", None),
        (f"<think>\nopen\n{HERMES}", None),
        (f"{HERMES}\nuser\n<tool_response>\na\n</tool_response>\nassistant\n", None),
    ],
)
def test_cut_off(response: str, tag: str | None) -> None:
    assert parse_response(response, PROMPT).cut_off == tag


def test_cut_between_calls_and_results_leaves_no_agent_text() -> None:
    for end in ("\nuser", "\nuser\n"):
        [step] = parse_response(HERMES + end, PROMPT).steps
        assert (step.text, [call.executed for call in step.calls]) == ("", [False, False])


def test_prompt_that_ends_in_reasoning() -> None:
    prompt = PROMPT + "<think>\n"
    found = parse_response("so\n</think>\n\nRain.", prompt)
    assert (found.steps[0].reasoning, found.steps[0].text, found.cut_off) == ("so", "Rain.", None)
    assert parse_response("so far", prompt).cut_off == "<think>"
    assert [message.role for message in parse_prompt(prompt)] == ["system", "user"]
    without = parse_response("so\n</think>\n\nRain.")
    assert (without.steps[0].reasoning, without.steps[0].text) == ("so", "Rain.")


def test_empty_turns() -> None:
    assert parse_response("", PROMPT).steps == []
    assert len(parse_response(f"{HERMES}\nuser\n<tool_response>\na\n</tool_response>\nassistant\n", PROMPT).steps) == 1


# --- results and calls ----------------------------------------------------------------------------------


def calls_of(calls: str, *outputs: str) -> list[tuple[Any, ...]]:
    responses = "\n".join(f"<tool_response>\n{output}\n</tool_response>" for output in outputs)
    found = parse_response(f"{calls}\nuser\n{responses}\nassistant\nok", PROMPT)
    return [(call.tool, call.output, call.executed, call.is_error, call.invalid) for call in found.steps[0].calls]


GOOD = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
BROKEN = '<tool_call>\n{"name": "g", "arguments": {\n</tool_call>'


def test_results_skip_calls_that_cannot_be_parsed() -> None:
    assert calls_of(f"{BROKEN}\n{GOOD}", "1") == [
        ("g", None, False, None, "unparsable"),
        ("f", "1", True, None, None),
    ]
    assert calls_of(f"{BROKEN}\n{GOOD}", "{'error': 'Extra data'}", "1") == [
        ("g", "{'error': 'Extra data'}", True, True, "unparsable"),
        ("f", "1", True, None, None),
    ]


def test_calls_beyond_the_parallel_limit_are_not_executed() -> None:
    assert [call[2] for call in calls_of(f"{GOOD}\n{GOOD}", "1")] == [True, False]


def test_a_proper_result_shows_that_the_scaffold_understood() -> None:
    assert calls_of(BROKEN, "fine") == [("g", "fine", True, None, None)]


@pytest.mark.parametrize(
    "output", ["{'error': 'Tool f not found.'}", "Error when executing tool: 'f'", "Tool f not found"]
)
def test_unknown_tool(output: str) -> None:
    assert calls_of(GOOD, output) == [("f", output, True, True, "unknown_tool")]


def test_a_result_without_a_call_proves_one() -> None:
    assert calls_of("Looking.", "1") == [(None, "1", True, None, None)]


def test_calls_inside_reasoning_count_only_where_they_were_answered() -> None:
    thought = f"<think>\nI try {GOOD}\n</think>\n"
    assert calls_of(thought + "x", "1") == [("f", "1", True, None, None)]
    unanswered = parse_response(thought + "x", PROMPT)
    assert unanswered.steps[0].calls == []
    assert "f" in (unanswered.steps[0].reasoning or "")


def test_call_without_opening_tag() -> None:
    found = parse_response('Now {"name": "f", "arguments": {}}\n</tool_call>', PROMPT)
    [call] = found.steps[0].calls
    assert (found.steps[0].text, call.tool, call.invalid) == ("Now", "f", "unparsable")


def test_nothing_is_run_and_lone_surrogates_stay_text() -> None:
    bad = "<|tool_call_start|>[f(a=__import__('os').getcwd())]<|tool_call_end|>"
    [call] = calls_in_text(bad)[2]
    assert call.invalid == "unparsable"
    [call] = calls_in_text('<tool_call>{"name": "f", "arguments": {"a": "\\ud800"}}</tool_call>')[2]
    assert call.invalid == "unparsable"
    [call] = calls_in_text('<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>')[2]
    assert call.tool == "f"
    deep = "<tool_call>" + "[" * 100_000 + "</tool_call><|tool_call_start|>" + "(" * 5_000
    assert calls_in_text(deep)[2][0].invalid == "unparsable"
    for nested in (
        "(" * 5_000,
        "f(a=" + "-" * 50_000 + "1)",
        "f(a=" + "[" * 150 + "]" * 150 + ")",
        "f" + "()" * 20_000,
    ):
        [call] = calls_in_text(f"<|tool_call_start|>{nested}<|tool_call_end|>")[2]
        assert call.arguments


# --- prompts --------------------------------------------------------------------------------------------


def test_prompts() -> None:
    def roles(text: str) -> list[tuple[str, str]]:
        return [(message.role, message.text) for message in parse_prompt(text)]

    assert roles(PROMPT) == [("system", "Be brief."), ("user", "Weather in Paris and Rome?")]
    assert roles("user\nQ\nassistant\nA\nuser\n<tool_response>\n1\n</tool_response>\nassistant\n<think>\n") == [
        ("user", "Q"),
        ("assistant", "A"),
        ("tool", "<tool_response>\n1\n</tool_response>"),
    ]
    assert roles("What is 1+1?") == [("user", "What is 1+1?")]
    assert roles("<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n") == [("user", "Q")]
    assert roles("<|User|>") == [("user", "<|User|>")]
    assert roles("<｜begin▁of▁sentence｜>S<｜User｜>Q<｜Assistant｜><think>\n") == [
        ("user", "S"),
        ("user", "Q"),
    ]


def test_tools_in_prompt() -> None:
    tool = '{"type": "function", "function": {"name": "price", "parameters": {"name": "x"}}}'
    assert tools_in_prompt(f"system\n<tools>\n{tool}\n{{broken\n</tools>\nuser\nQ") == ["price"]
    assert tools_in_prompt("<tools>\n<function>\n<name>a</name>\n<parameter>\n<name>b</name></tools>") == ["a"]
    assert tools_in_prompt("within <tools></tools> tags") is None


# --- any text -------------------------------------------------------------------------------------------

MARKUP = [
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "\n",
    " ", "\nuser\n", "\nassistant\n", "\ntool\n", "<tool_response>\n", "\n</tool_response>",
    "\nuser\n<tool_response>\n", "\n</tool_response>\nassistant\n",
    "\n</tool_response>\n<tool_response>\n", "<think>\n", "</think>\n\n",
    '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
    "<tool_call>\nname\n</tool_call>", "```", '{"name": "f", "arguments": {}}', "<function=",
    "<parameter=", "</parameter>", "</function>", ">", "{", "}",
]  # fmt: skip
FOREIGN = [
    "<|im_start|>", "<|im_end|>", "assistant", "user", "tool", "<|start_header_id|>",
    "<|end_header_id|>", "\n\n", "<|start|>", "<|message|>", "<|channel|>", "analysis", "final",
    " to=functions.f", "<|turn>", "<turn|>", "<|tool_call>", "<tool_call|>", '<|"|>', "call:f{",
    "<|tool_response>", "<tool_response|>", "response:f{", "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜User｜>", "<｜Assistant｜>",
    "<｜tool▁outputs▁begin｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>", "<｜tool▁outputs▁end｜>",
    "<|user|>", "<|assistant|>", "<|observation|>", "<arg_key>", "</arg_key>", "<arg_value>",
    "</arg_value>", "<|tool_call_start|>", "<|tool_call_end|>", "<|tool_call_begin|>",
    "<|python_tag|>", "f(a=1)", "<minimax:tool_call>", "<invoke name=", "</invoke>",
    "<parameter name=", "]~b]", "<|im_middle|>", "ipython\n\n", "assistant\n\n", "\x00", "\u2028",
    "\ud800", "é",
]  # fmt: skip


def strings_in(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, inner in value.items() for text in (key, *strings_in(inner))]
    if isinstance(value, (list, tuple)):
        return [text for inner in value for text in strings_in(inner)]
    return []


def parts(conversation: Conversation) -> list[str]:
    found = [message.text for message in conversation.messages]
    for step in conversation.steps:
        found += [step.text, step.reasoning or ""]
        for call in step.calls:
            found += [*strings_in(call.arguments), call.output or ""]
    return found


texts = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(MARKUP + FOREIGN), max_size=24).map("".join))


@settings(max_examples=400, deadline=None)
@given(texts, st.sampled_from([None, PROMPT, "x", "system\n\nS.user\n\nQ1assistant\n\n", "systemXassistant"]))
def test_any_text_is_read_and_nothing_is_added(text: str, prompt: str | None) -> None:
    for found in (parse_response(text, prompt), parse_conversation(text)):
        assert sum(map(len, parts(found))) <= len(text)
        assert all(call.executed is not None for step in found.steps for call in step.calls)
    parse_prompt(text)
    tools_in_prompt(text)
    visible, reasoning, calls = calls_in_text(text)
    assert len(visible) + len(reasoning or "") <= len(text)
    assert all(call.executed is None for call in calls)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(MARKUP), st.just("WORD")), max_size=30))
def test_no_word_is_lost(pieces: list[str]) -> None:
    words = 0
    for index, piece in enumerate(pieces):
        if piece == "WORD":
            pieces[index] = f"w{words}w"
            words += 1
    found = parse_response("".join(pieces), PROMPT)
    names = [call.tool or "" for step in found.steps for call in step.calls]
    kept = " ".join([*parts(found), *names])
    assert [word for word in range(words) if f"w{word}w" not in kept] == []


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from([*MARKUP, "words", "more words"]), max_size=30).map("".join))
def test_fast_way_equals_the_general_way(text: str) -> None:
    steps = read_plain(text)
    if steps is not None:
        found = general._built(split_role_lines(text), in_reasoning=False)
        assert found == Conversation(steps, [])


@pytest.mark.parametrize("way", ["fast", "general"])
def test_well_formed_rollouts_go_both_ways(way: str) -> None:
    response = (
        f"<think>\na < b\n</think>\n\nFirst.\n{HERMES}\nuser\n<tool_response>\ns\n</tool_response>\n"
        f"<tool_response>\nr\n</tool_response>\nassistant\n{GOOD}\nuser\n<tool_response>\n<b>\n"
        "</tool_response>\nassistant\nx <b> y"
    )
    steps = read_plain(response)
    assert steps is not None
    if way == "general":
        steps = general._built(split_role_lines(response), in_reasoning=False).steps
    assert [(step.text, len(step.calls)) for step in steps] == [("First.", 2), ("", 1), ("x <b> y", 0)]
    assert [call.output for step in steps for call in step.calls] == ["s", "r", "<b>"]


HARD = [
    "<tool_response>", "\nuser\n", "\nassistant\n", "\ntool\n", "<think>", "</think>", "<tool_call>",
    "</tool_call>", "\nuser\n<tool_response>", '{"name"', "<function=", "<function=f><parameter=",
    "</function>", "<|tool_call>", "<|im_start|>", "<|tool_response>", "<tool_call|>", "ipython\n\n",
    "}ipython\n\n", "<｜tool▁outputs▁begin｜>", "<|start|>", "<|message|>", "<invoke name=",
    "</tool_call>\nuser\n<tool_response>\n", "\n</tool_response>", "user\n\n", "<minimax:tool_call>",
    "assistantfinal", "functions.", "<", "{a:", "```", "<arg_key>", "<think>a</think>",
    "</tool_call><tool_response>",
]  # fmt: skip


@pytest.mark.parametrize("piece", HARD)
def test_linear_time(piece: str) -> None:
    """Sixteen times the text may not take much more than sixteen times as long (a square: 256 times)."""

    def seconds(count: int, prefix: str) -> float:
        text = prefix + piece * count
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            parse_response(text, PROMPT)
            parse_response(text)
            parse_prompt("system\n\n" + text + "assistant\n\n")
            best = min(best, time.process_time() - start)
        return best

    for prefix in ("", "<tool_call>", "x"):
        assert seconds(8_000, prefix) < 80 * max(seconds(500, prefix), 1e-3)
