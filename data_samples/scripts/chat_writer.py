"""Write chat rows in every common shape. Usage: python chat_writer.py OUT   (needs: pyarrow, zstandard)

The conversations are in chat_conversations.py. No framework is behind these files: the shapes are those of the public
APIs (OpenAI chat and Responses, Anthropic messages, ShareGPT) and of columns common among published data sets.
"""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from chat_conversations import CONVERSATIONS, SYSTEM, Conversation, Step  # noqa: E402

Row = dict[str, Any]
MODEL = "scripted-agent"


def call_ids(number: int, step: Step) -> list[str]:
    return [f"call_{number}_{k}" for k in range(len(step.results))]


def verdict(conversation: Conversation) -> Row:
    return {"resolved": conversation.resolved, "exit_status": conversation.exit_status, "reward": conversation.reward}


def openai_messages(conversation: Conversation, *, as_text: bool) -> list[Row]:
    """OpenAI chat messages. A turn without words has content null; arguments are JSON text or an object."""
    messages: list[Row] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": conversation.task}]
    for number, step in enumerate(conversation.steps):
        message: Row = {"role": "assistant", "content": step.text or None}
        if step.thought:
            message["reasoning_content"] = step.thought
        calls = []
        for name, result in zip(call_ids(number, step), step.results, strict=True):
            arguments = {"command": result.command}
            calls.append({"id": name, "type": "function", "function": {
                "name": "bash", "arguments": json.dumps(arguments) if as_text else arguments}})
        messages.append({**message, "tool_calls": calls} if calls else message)
        answers = list(zip(call_ids(number, step), step.results, strict=True))
        for name, result in reversed(answers):  # calls at once end in any order
            messages.append({"role": "tool", "tool_call_id": name, "name": "bash",
                             "content": f"{result.output}[exit code {result.exit_code}]"})
    return messages


def content_as_lists(messages: list[Row]) -> list[Row]:
    """The same messages with content as a list of parts."""
    return [{**m, "content": [{"type": "text", "text": m["content"]}]} if m["content"] else m for m in messages]


def anthropic_messages(conversation: Conversation) -> list[Row]:
    messages: list[Row] = [{"role": "user", "content": conversation.task}]
    for number, step in enumerate(conversation.steps):
        blocks: list[Row] = []
        if step.thought:
            blocks.append({"type": "thinking", "thinking": step.thought, "signature": f"c2lnbmF0dXJl{number}"})
        if step.text:
            blocks.append({"type": "text", "text": step.text})
        pairs = list(zip(call_ids(number, step), step.results, strict=True))
        blocks += [{"type": "tool_use", "id": f"tool{name}", "name": "bash", "input": {"command": r.command}}
                   for name, r in pairs]
        messages.append({"role": "assistant", "content": blocks})
        if pairs:
            messages.append({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": f"tool{name}", "is_error": r.exit_code != 0,
                 "content": r.output if number % 2 else [{"type": "text", "text": r.output}]} for name, r in reversed(pairs)]})
    return messages


def responses_items(conversation: Conversation) -> list[Row]:
    items: list[Row] = [
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": SYSTEM}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": conversation.task}]},
    ]
    for number, step in enumerate(conversation.steps):
        if step.thought:
            items.append({"type": "reasoning", "id": f"rs_{number}",
                          "summary": [{"type": "summary_text", "text": step.thought}]})
        if step.text:
            items.append({"type": "message", "role": "assistant", "status": "completed",
                          "content": [{"type": "output_text", "text": step.text, "annotations": []}]})
        pairs = list(zip(call_ids(number, step), step.results, strict=True))
        items += [{"type": "function_call", "call_id": name, "name": "bash", "status": "completed",
                   "arguments": json.dumps({"command": result.command})} for name, result in pairs]
        items += [{"type": "function_call_output", "call_id": name, "output": result.output} for name, result in pairs]
    return items


def sharegpt_turns(conversation: Conversation) -> list[Row]:
    turns = [{"from": "system", "value": SYSTEM}, {"from": "human", "value": conversation.task}]
    for step in conversation.steps:
        text = (f"<think>\n{step.thought}\n</think>\n" if step.thought else "") + step.text
        if text:
            turns.append({"from": "gpt", "value": text})
        for result in step.results:
            turns.append({"from": "function_call", "value": json.dumps(
                {"name": "bash", "arguments": {"command": result.command}})})
            turns.append({"from": "observation", "value": result.output})
    return turns


def xml_messages(conversation: Conversation) -> list[Row]:
    """Calls as text in the agent's words; what came back is a user turn. One call per turn in this style."""
    messages: list[Row] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": conversation.task}]
    for step in conversation.steps:
        for k, result in enumerate(step.results):
            call = f"<function=bash>\n<parameter=command>{result.command}</parameter>\n</function>"
            messages.append({"role": "assistant", "content": f"{step.text if k == 0 else ''}\n\n{call}".strip()})
            messages.append({"role": "user", "content": f"OBSERVATION:\n{result.output}"})
        if not step.results:
            messages.append({"role": "assistant",
                             "content": f"{step.text}\n\n<function=submit>\n</function>"})
    return messages


def fenced_turns(conversation: Conversation) -> list[Row]:
    """SWE-agent's turns as a published data set keeps them: the action in the last fence, results as user turns."""
    empty: Row = {"cutoff_date": None, "mask": False, "system_prompt": None, "text": None}
    turns = [{**empty, "role": "system", "cutoff_date": "01.01.2023", "system_prompt": SYSTEM},
             {**empty, "role": "user", "text": conversation.task}]
    for step in conversation.steps:
        for k, result in enumerate(step.results):
            said = f"{step.text if k == 0 else ''}\n```\n{result.command}\n```".strip()
            turns += [{**empty, "role": "ai", "text": said}, {**empty, "role": "user", "text": result.output}]
        if not step.results:
            turns.append({**empty, "role": "ai", "text": f"{step.text}\n```\nsubmit\n```"})
    return turns


def lines(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def dataset_rows() -> list[Row]:
    """Columns as published data sets have them; messages are JSON text."""
    return [{"traj_id": f"{c.instance_id}.{k}", "instance_id": c.instance_id, "model": MODEL, "resolved": c.resolved,
             "exit_status": c.exit_status, "reward": c.reward,
             "messages": json.dumps(openai_messages(c, as_text=True))} for k, c in enumerate(CONVERSATIONS)]


def text_files() -> dict[str, bytes]:
    """Every file whose bytes depend on no library, by its path below OUT."""
    openai = [{"id": c.instance_id, "messages": openai_messages(c, as_text=True)} for c in CONVERSATIONS]
    objects = [{"instance_id": c.instance_id, "messages": content_as_lists(openai_messages(c, as_text=False)),
                **verdict(c)} for c in CONVERSATIONS]
    anthropic = [{"id": c.instance_id, "model": MODEL, "system": SYSTEM, "messages": anthropic_messages(c)}
                 for c in CONVERSATIONS]
    responses = [{"instance_id": c.instance_id, "messages": responses_items(c), "reward": c.reward} for c in CONVERSATIONS]
    sharegpt = [{"id": c.instance_id, "conversations": sharegpt_turns(c)} for c in CONVERSATIONS]
    xml = [{"instance_id": c.instance_id, "messages": xml_messages(c), "resolved": c.resolved, "model": MODEL,
            "traj_id": f"{c.instance_id}.xml"} for c in CONVERSATIONS]
    fenced = [{"instance_id": c.instance_id, "model_name": MODEL, "target": c.resolved, "trajectory": fenced_turns(c),
               "exit_status": c.exit_status, "generated_patch": "+ strip()\n" if c.resolved else "", "eval_logs": "1 test"} for c in CONVERSATIONS]
    tested = [{"instance_id": c.instance_id, "run_id": "sampled", "messages": openai_messages(c, as_text=True),
               "tools": [{"type": "function", "function": {"name": "bash"}}], "test_result": {"git_patch": "+ strip()\n",
               "report": {"resolved": c.resolved}}} for c in CONVERSATIONS[:1]]
    return {
        "fenced_actions/rows.jsonl": lines(fenced), "test_result/rows.jsonl": lines(tested),
        "openai/rows.jsonl": lines(openai), "openai_arguments_as_objects/rows.jsonl": lines(objects),
        "anthropic/rows.jsonl": lines(anthropic), "responses/rows.jsonl": lines(responses),
        "sharegpt/rows.jsonl": lines(sharegpt), "xml_calls/rows.jsonl": lines(xml),
        "dataset_columns/rows.jsonl": lines(dataset_rows()),
        "json_document/rows.json": json.dumps(objects, indent=1, ensure_ascii=False).encode(),
    }


def write_parquet(path: Path, rows: list[Row]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), path, compression="zstd")


def struct_rows() -> list[Row]:
    """Messages as structs: Arrow pads each message with null for the keys that only others have."""
    return [{"instance_id": c.instance_id, "trajectory": openai_messages(c, as_text=True), "resolved": int(c.resolved),
             "exit_status": c.exit_status, "reward": c.reward} for c in CONVERSATIONS]


def main(out: Path) -> None:
    import zstandard

    shutil.rmtree(out, ignore_errors=True)
    files = text_files()
    for name, content in files.items():
        (out / name).parent.mkdir(parents=True)
        (out / name).write_bytes(content)
    write_parquet(out / "dataset_columns_parquet" / "rows.parquet", dataset_rows())
    write_parquet(out / "message_structs_parquet" / "rows.parquet", struct_rows())
    plain = files["openai_arguments_as_objects/rows.jsonl"]
    for folder, name, packed in (("gzip", "rows.jsonl.gz", gzip.compress(plain, mtime=0)),
                                 ("zstd", "rows.jsonl.zst", zstandard.ZstdCompressor(level=9).compress(plain)),
                                 ("xz", "rows.jsonl.xz", lzma.compress(plain))):
        (out / f"compressed_{folder}").mkdir()
        (out / f"compressed_{folder}" / name).write_bytes(packed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
