"""Write simulations in tau2-bench's two layouts. Usage: python tau2_writer.py OUT

The keys are those of `data_model/simulation.py` and `message.py` of tau2-bench; no simulation ran. Written by hand.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import MODEL, write_json

sys.dont_write_bytecode = True
Json = dict[str, Any]
INFO = {"git_commit": "a2c02472", "num_trials": 2, "max_steps": 100, "max_errors": 10, "seed": 300,
        "agent_info": {"implementation": "llm_agent", "llm": MODEL, "llm_args": {"temperature": 0.0}},
        "user_info": {"implementation": "user_simulator", "llm": MODEL, "llm_args": {}},
        "environment_info": {"domain_name": "telecom", "policy": "Be kind. " * 300}}


class Talk:
    """Messages with a made-up clock."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self.calls = 0

    def add(self, role: str, content: str | None, **more: Any) -> None:
        number = len(self.messages)
        self.messages.append({"role": role, "content": content, "turn_idx": number,
                              "timestamp": f"2026-01-01T00:00:{2 * number:02d}", **more})

    def say(self, role: str, content: str) -> None:
        self.add(role, content, tool_calls=None, **(paid() if role == "assistant" else {}))

    def call(self, role: str, name: str, arguments: Json, output: str, error: bool = False) -> None:
        self.calls += 1
        call = {"id": f"call_{self.calls}", "name": name, "arguments": arguments, "requestor": role}
        self.add(role, None, tool_calls=[call], **(paid() if role == "assistant" else {}))
        self.add("tool", output, id=call["id"], requestor=role, error=error)


def paid() -> Json:
    return {"cost": 0.004, "usage": {"prompt_tokens": 900, "completion_tokens": 40}}


def solved() -> list[Json]:
    talk = Talk()
    talk.say("assistant", "Hi! How can I help you today?")
    talk.say("user", "My phone has no network.")
    talk.call("assistant", "get_customer_by_phone", {"phone_number": "555-0102"}, '{"id": "C102"}')
    talk.say("assistant", "Please turn off airplane mode.")
    talk.call("user", "toggle_airplane_mode", {}, "Airplane mode is now off.")
    talk.say("user", "It works now. ###STOP###")
    return talk.messages


def errors() -> list[Json]:
    talk = Talk()
    talk.say("assistant", "Hi! How can I help you today?")
    talk.say("user", "My phone has no network.")
    for _ in range(2):
        talk.call("assistant", "get_customer", {"id": "?"}, "Error: Customer not found", error=True)
    return talk.messages


def simulation(name: str, trial: int, messages: list[Json], reason: str, reward: float | None) -> Json:
    agents = sum(message["role"] == "assistant" for message in messages)
    result = None if reward is None else {"reward": reward, "reward_basis": ["DB", "COMMUNICATE"],
                                          "reward_breakdown": {"DB": reward, "COMMUNICATE": 1.0}}
    return {"id": name, "task_id": "no_network", "timestamp": "2026-01-01T00:01:00", "start_time": "2026-01-01T00:00:00",
            "end_time": "2026-01-01T00:00:40", "duration": 40.0, "termination_reason": reason,
            "agent_cost": round(0.004 * agents, 6), "user_cost": 0.001, "reward_info": result, "messages": messages,
            "trial": trial, "seed": 301 + trial}


def voice() -> Json:
    """Ticks: the agent speaks in two chunks, calls a tool, and speaks again."""
    ticks = [{"user_chunk": {"role": "user", "content": "No network."}, "agent_chunk": {"role": "assistant", "content": ""}},
             {"agent_chunk": {"role": "assistant", "content": "I look "}},
             {"agent_chunk": {"role": "assistant", "content": "into it."},
              "agent_tool_calls": [{"id": "call_1", "name": "get_line", "arguments": {}, "requestor": "assistant"}]},
             {"agent_tool_results": [{"id": "call_1", "role": "tool", "content": "active", "error": False}]},
             {"agent_chunk": {"role": "assistant", "content": "Your line is active."}}]
    made = simulation("s-voice", 0, [], "timeout", None)
    del made["messages"]
    return {**made, "agent_cost": None, "mode": "full_duplex",
            "ticks": [{"tick_id": n, "timestamp": f"2026-01-01T00:00:{n:02d}", **tick} for n, tick in enumerate(ticks)]}


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    all_of_them = [simulation("s-1", 0, solved(), "user_stop", 1.0), simulation("s-2", 1, errors(), "too_many_errors", 0.0)]
    write_json(out / "document" / "telecom.json", {"timestamp": "2026-01-01T00:00:00", "info": INFO, "tasks": [],
                                                   "simulations": all_of_them})
    write_json(out / "folder" / "telecom" / "results.json", {"timestamp": "2026-01-01T00:00:00", "info": INFO, "tasks": []})
    for made in (*all_of_them, voice()):
        write_json(out / "folder" / "telecom" / "simulations" / f"{made['id']}.json", made)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
