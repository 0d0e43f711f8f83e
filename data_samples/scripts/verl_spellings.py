"""How chat templates spell turns, tool calls and tool results: one renderer per model family.

Every renderer returns (prompt, output): the output starts where the policy starts to speak. `STRIPPED` names the
tokens that disappear when a tokenizer decodes with skip_special_tokens=True, as verl always does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from trajlab.simulate.verl_dump import qwen_system
from verl_simulation import SYSTEM, TOOLS, Call, Episode

Rendered = tuple[str, str]
TOOL_LINES = "\n".join(json.dumps(tool) for tool in TOOLS)
QWEN_SYSTEM = qwen_system(SYSTEM, TOOLS)
CODER_SYSTEM = (
    f"# Tools\n\nYou have access to the following functions:\n\n<tools>\n{TOOL_LINES}\n</tools>\n\nIf you choose to "
    "call a function ONLY reply in the following format with NO suffix:\n\n<tool_call>\n<function=example_function_name>"
    "\n<parameter=example_parameter_1>\nvalue_1\n</parameter>\n</function>\n</tool_call>\n\n" + SYSTEM
)


def think_block(think: str) -> str:
    return f"<think>\n{think}\n</think>\n\n"


def qwen_turns(episode: Episode, system: str, spell: Callable[[Call], str]) -> Rendered:
    prompt = (f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{episode.problem.text}<|im_end|>\n"
              "<|im_start|>assistant\n")
    parts = []
    for number, turn in enumerate(episode.turns):
        opening = "<|im_start|>assistant\n" if number else ""
        said = [turn.text] if turn.text else []
        said += [f"<tool_call>\n{spell(call)}\n</tool_call>" for call in turn.calls]
        parts.append(opening + think_block(turn.think) + "\n".join(said) + "<|im_end|>")
        if turn.results:
            results = "\n".join(f"<tool_response>\n{result}\n</tool_response>" for result in turn.results)
            parts.append(f"\n<|im_start|>user\n{results}<|im_end|>\n")
    return prompt, "".join(parts)


def hermes_call(call: Call) -> str:
    return call.malformed or json.dumps({"name": call.name, "arguments": call.arguments})


def coder_call(call: Call) -> str:
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in call.arguments.items())
    return call.malformed or f"<function={call.name}>\n{parameters}</function>"


def hermes(episode: Episode) -> Rendered:
    return qwen_turns(episode, QWEN_SYSTEM, hermes_call)


def qwen3_coder(episode: Episode) -> Rendered:
    return qwen_turns(episode, CODER_SYSTEM, coder_call)


def glm(episode: Episode) -> Rendered:
    prompt = (f"[gMASK]<sop><|system|>\n# Tools\n\n<tools>\n{TOOL_LINES}\n</tools>\n\nFor each function call, output the "
              "function name and arguments within the following XML format:\n<tool_call>{function-name}\n"
              "<arg_key>{arg-key-1}</arg_key>\n<arg_value>{arg-value-1}</arg_value>\n...\n</tool_call><|system|>\n"
              f"{SYSTEM}<|user|>\n{episode.problem.text}<|assistant|>\n")
    parts = []
    for number, turn in enumerate(episode.turns):
        opening = "<|assistant|>\n" if number else ""
        calls = [f"\n<tool_call>{call.name}\n" + "".join(
            f"<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>\n" for k, v in call.arguments.items()) + "</tool_call>"
            for call in turn.calls]
        parts.append(f"{opening}<think>{turn.think}</think>" + (f"\n{turn.text}" if turn.text else "") + "".join(calls))
        if turn.results:
            parts.append("<|observation|>" + "".join(f"\n<tool_response>\n{r}\n</tool_response>" for r in turn.results))
    return prompt, "".join(parts) + "<|user|>"


def deepseek(episode: Episode) -> Rendered:
    prompt = f"<｜begin▁of▁sentence｜>{SYSTEM}<｜User｜>{episode.problem.text}<｜Assistant｜><think>\n"
    parts = []
    for number, turn in enumerate(episode.turns):
        opening = "<think>\n" if number else ""
        calls = "\n".join(f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call.name}\n```json\n{json.dumps(call.arguments)}\n```"
                          "<｜tool▁call▁end｜>" for call in turn.calls)
        block = f"<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>" if calls else ""
        parts.append(f"{opening}{turn.think}\n</think>\n\n{turn.text}{block}<｜end▁of▁sentence｜>")
        if turn.results:
            results = "".join(f"<｜tool▁output▁begin｜>{r}<｜tool▁output▁end｜>" for r in turn.results)
            parts.append(f"<｜tool▁outputs▁begin｜>{results}<｜tool▁outputs▁end｜>")
    return prompt, "".join(parts)


def llama3(episode: Episode) -> Rendered:
    """Llama 3.1 takes one call per turn, so only the first call of a turn is spelled."""
    def header(role: str) -> str:
        return f"<|start_header_id|>{role}<|end_header_id|>\n\n"

    tools = "\n\n".join(json.dumps(tool, indent=4) for tool in TOOLS)
    prompt = (f"<|begin_of_text|>{header('system')}Environment: ipython\nCutting Knowledge Date: December 2023\n\n{SYSTEM}"
              f"<|eot_id|>{header('user')}Given the following functions, please respond with a JSON for a function call "
              "with its proper arguments that best answers the given prompt.\n\nRespond in the format "
              '{"name": function name, "parameters": dictionary of argument name and its value}.'
              f"Do not use variables.\n\n{tools}\n\n{episode.problem.text}<|eot_id|>{header('assistant')}")
    parts = []
    for number, turn in enumerate(episode.turns):
        opening = header("assistant") if number else ""
        call = turn.calls[0] if turn.calls else None
        said = json.dumps({"name": call.name, "parameters": call.arguments}) if call else f"{turn.think}\n{turn.text}"
        parts.append(f"{opening}{said}<|eot_id|>")
        if turn.results:
            parts.append(f"{header('ipython')}{json.dumps(turn.results[0])}<|eot_id|>")
    return prompt, "".join(parts)


def gpt_oss(episode: Episode) -> Rendered:
    prompt = ("<|start|>system<|message|>You are a helpful assistant.\n\n# Valid channels: analysis, commentary, final. "
              "Channel must be included for every message.\nCalls to these tools must go to the commentary channel: "
              f"'functions'.<|end|><|start|>developer<|message|># Instructions\n\n{SYSTEM}\n\n# Tools\n\n## functions\n\n"
              "namespace functions {\n\n// Value of an arithmetic expression.\ntype calculator = (_: {\nexpression: string,"
              "\n}) => any;\n\n// Runs code, returns what it prints.\ntype python = (_: {\ncode: string,\n}) => any;\n\n"
              f"}} // namespace functions<|end|><|start|>user<|message|>{episode.problem.text}<|end|><|start|>assistant")
    parts = []
    for number, turn in enumerate(episode.turns):
        opening = "<|start|>assistant" if number else ""
        parts.append(f"{opening}<|channel|>analysis<|message|>{turn.think}<|end|>")
        for call, result in zip(turn.calls, turn.results, strict=False):
            parts.append(f"<|start|>assistant to=functions.{call.name}<|channel|>commentary json<|message|>"
                         f"{json.dumps(call.arguments)}<|call|>")
            parts.append(f"<|start|>functions.{call.name} to=assistant<|channel|>commentary<|message|>"
                         f"{json.dumps(result)}<|end|>")
        if turn.text and not turn.calls:
            parts.append(f"<|start|>assistant<|channel|>final<|message|>{turn.text}<|return|>")
    return prompt, "".join(parts)


def gemma4(episode: Episode) -> Rendered:
    def quoted(value: Any) -> str:
        return f'<|"|>{value}<|"|>'

    tools = "".join(
        f"<|tool>declaration:{f['name']}{{description:{quoted(f['description'])},parameters:{{properties:{{"
        + ",".join(f"{key}:{{type:{quoted('STRING')}}}" for key in f["parameters"]["properties"])
        + f"}},type:{quoted('OBJECT')}}}}}<tool|>" for f in (tool["function"] for tool in TOOLS))
    prompt = f"<bos><|turn>system\n{SYSTEM}{tools}<turn|>\n<|turn>user\n{episode.problem.text}<turn|>\n<|turn>model\n"
    parts = []
    for turn in episode.turns:
        parts.append(turn.text if turn.text and not turn.calls else "")
        parts += [f"<|tool_call>call:{c.name}{{{','.join(f'{k}:{quoted(v)}' for k, v in c.arguments.items())}}}<tool_call|>"
                  for c in turn.calls]
        parts += [f"<|tool_response>response:{c.name}{{value:{quoted(r)}}}<tool_response|>"
                  for c, r in zip(turn.calls, turn.results, strict=False)]
    return prompt, "".join(parts) + "<turn|>\n"


FAMILIES: dict[str, Callable[[Episode], Rendered]] = {
    "hermes": hermes, "qwen3_coder": qwen3_coder, "glm": glm, "deepseek": deepseek, "llama3": llama3,
    "gpt_oss": gpt_oss, "gemma4": gemma4,
}
STRIPPED: dict[str, tuple[str, ...]] = {
    "hermes": ("<|im_start|>", "<|im_end|>"),
    "qwen3_coder": ("<|im_start|>", "<|im_end|>"),
    "deepseek": ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
    "llama3": ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    "gpt_oss": ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"),
}


def render(episode: Episode, family: str, *, strip: bool) -> Rendered:
    """Prompt and output of an episode; the output is cut where the response budget ended."""
    prompt, output = FAMILIES[family](episode)
    output = output[: int(len(output) * episode.kept)]
    for token in STRIPPED.get(family, ()) if strip else ():
        prompt, output = prompt.replace(token, ""), output.replace(token, "")
    return prompt, output
