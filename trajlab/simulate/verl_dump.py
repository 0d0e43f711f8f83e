"""Write as verl writes: rollout dumps, the file logger, and Qwen's hermes spelling as a tokenizer leaves it.

Sources: verl ``trainer/ppo/ray_trainer.py`` (legacy) and ``trainer/ppo/v1/trainer_base.py`` for the dumps,
``utils/tracking.py`` (``FileLogger``) for the metrics. ``data_samples/scripts/verl_check.py`` compares
:func:`write_generations` byte for byte with the functions inside verl's wheels.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

Rows = dict[str, list[Any]]


class Call(msgspec.Struct):
    """One tool call; ``malformed`` is the raw text instead, as a policy may write it."""

    name: str
    arguments: dict[str, str]
    malformed: str | None = None


class Turn(msgspec.Struct):
    """One turn of the policy and what came back; a call without a result was not executed."""

    text: str
    calls: Sequence[Call] = ()
    results: Sequence[str] = ()


def native(value: Any) -> Any:
    """How the V1 trainer encodes numpy values; anything else fails there, too."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


ENCODERS: dict[str, Callable[[Any], Any] | None] = {"0.4": None, "0.6": None, "0.8": str, "0.9-v1": native}


def write_generations(folder: Path, step: int, columns: Rows, extras: Rows, version: str) -> None:
    """Write ``{step}.jsonl`` with the keys, the order and the encoding of a verl version.

    Args:
        folder: Made where it does not exist.
        step: Global step.
        columns: ``input``, ``output``, ``gts`` and ``score``, equally long.
        extras: Further columns; those of another length are dropped without a word, as verl does.
        version: 0.4 (to 0.5), 0.6 (to 0.7), 0.8 (and 0.9, legacy trainer) or 0.9-v1.
    """
    count = len(columns["input"])
    names = ["input", "output", *(["gts"] if version != "0.4" else []), "score"]
    data = {name: columns[name] for name in names} | {"step": [step] * count}
    data |= {name: values for name, values in extras.items() if len(values) == count}
    folder.mkdir(parents=True, exist_ok=True)
    encode = json.JSONEncoder(ensure_ascii=False, default=ENCODERS[version]).encode
    with (folder / f"{step}.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for row in range(count):
            file.write(encode({name: values[row] for name, values in data.items()}) + "\n")


def identifier(rng: random.Random) -> str:
    """A random UUID (version 4) from a seeded source."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def write_file_logger(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Write a metric log as verl's file logger does: compact JSON, one line a step, NaN as null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    encoder = msgspec.json.Encoder()
    path.write_bytes(b"".join(encoder.encode(line) + b"\n" for line in lines))


def qwen_system(system: str, tools: Sequence[dict[str, Any]]) -> str:
    """System prompt of Qwen's chat template with tools offered."""
    lines = "\n".join(json.dumps(tool) for tool in tools)
    return (
        f"{system}\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        f"You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n{lines}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments within "
        "<tool_call></tool_call> XML tags:\n<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    )


def decoded_prompt(system: str, user: str) -> str:
    """The prompt after decoding with ``skip_special_tokens=True``."""
    return f"system\n{system}\nuser\n{user}\nassistant\n"


def decoded_output(turns: Sequence[Turn]) -> str:
    """What the policy and its tools wrote, after decoding with ``skip_special_tokens=True``."""
    parts = []
    for number, turn in enumerate(turns):
        if number:
            parts.append("assistant\n")
        said = [turn.text] if turn.text else []
        said += [f"<tool_call>\n{_spelled(call)}\n</tool_call>" for call in turn.calls]
        parts.append("\n".join(said))
        if turn.results:
            results = "\n".join(f"<tool_response>\n{result}\n</tool_response>" for result in turn.results)
            parts.append(f"\nuser\n{results}\n")
    return "".join(parts)


def _spelled(call: Call) -> str:
    if call.malformed is not None:
        return call.malformed
    return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
