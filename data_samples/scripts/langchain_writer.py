"""Write one conversation as LangChain serialises its messages. Usage: python langchain_writer.py OUT   (needs langchain-core==1.8.3)

The package's own functions write it (`dumpd`, `messages_to_dict`, `model_dump`); the words are `scaffold_plans.py`'s, no model spoke.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from scaffold_plans import ISSUE, LOOK, MODEL, REPAIR, REPRODUCE, SYSTEM, write_json

sys.dont_write_bytecode = True

from langchain_core.load import dumpd  # noqa: E402
from langchain_core.messages import (AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage,  # noqa: E402
                                     messages_to_dict)

USAGE = {"input_tokens": 900, "output_tokens": 40, "total_tokens": 940, "input_token_details": {"cache_read": 300},
         "output_token_details": {"reasoning": 10}}


def agent(thought: str, name: str, arguments: dict[str, str], call: str) -> AIMessage:
    return AIMessage(content=[{"type": "thinking", "thinking": "A repair is asked for."}, {"type": "text", "text": thought}],
                     tool_calls=[{"name": name, "args": arguments, "id": call, "type": "tool_call"}], usage_metadata=USAGE,
                     response_metadata={"model_name": MODEL, "finish_reason": "tool_calls"})


def conversation() -> list[AnyMessage]:
    broken = AIMessage(content="", usage_metadata=USAGE, invalid_tool_calls=[
        {"name": "bash", "args": '{"command": ', "id": "call_3", "error": "no JSON", "type": "invalid_tool_call"}])
    return [SystemMessage(SYSTEM), HumanMessage(ISSUE),
            agent(LOOK.thought, "read_file", {"path": LOOK.path}, "call_1"), ToolMessage(LOOK.output, tool_call_id="call_1"),
            agent(REPRODUCE.thought, "bash", {"command": REPRODUCE.command}, "call_2"),
            ToolMessage(REPRODUCE.output, tool_call_id="call_2", status="error"), broken,
            agent(REPAIR.thought, "bash", {"command": "sed -i 's/28/29/' datekit/parse.py"}, "call_4"),
            ToolMessage("", tool_call_id="call_4"), AIMessage("Leap years are read.", usage_metadata=USAGE)]


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    messages = conversation()
    write_json(out / "dumpd" / "messages.json", dumpd(messages))
    write_json(out / "messages_to_dict" / "messages.json", messages_to_dict(messages))
    write_json(out / "model_dump" / "state.json", {"messages": [message.model_dump() for message in messages]})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
