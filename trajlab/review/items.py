"""Trajectories of a corpus as data for the viewer: turns in reading order, with what the rules say unless blind.

A blind reader must not learn what graders and rules said. So with ``blind`` nothing of it is in the data: no verdict,
reward, termination, run, model, hit, kind of call or parsed test result; only the log's own words remain.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import polars as pl

from trajlab.behavior.hack_rules import BY_ID
from trajlab.behavior.own_work import argument_text
from trajlab.behavior.patterns import BY_LETTER, KINDS
from trajlab.behavior.tools import kind_of_tool
from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError
from trajlab.records import ToolCall
from trajlab.review.edits import Edit, EditReader
from trajlab.schema import BEHAVIOUR, OVERLAY, TRAJECTORIES

CHUNK_BYTES = 1_000_000
"""Bytes of JSON after which a new chunk begins, so that a browser never decodes a long trajectory at once."""

MESSAGE, PROMPT, CALL = "M", "P", "O"
"""Letters of a turn without calls, of a prompt, and of a call of which no more is said."""
VIEW_KINDS = {
    **{kind.letter: kind.name for kind in KINDS},
    CALL: "call",
    MESSAGE: "message",
    PROMPT: "prompt",
}
"""Name of each kind of turn by its letter."""
_PRECEDENCE = {letter: place for place, letter in enumerate((*BY_LETTER, MESSAGE, PROMPT))}

OUTCOME_FACTS = ("correct", "outcome", "verdict_source", "termination", "stop_reason", "reward", "gradable")
COST_FACTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "seconds", "cost")
IDENTITY_FACTS = (
    "run", "attempt", "split", "train_step", "epoch", "policy_version_first", "model", "agent", "agent_version",
    "format", "source",
)  # fmt: skip
EVIDENCE_CHARS = 2000
"""Characters of a hit's text that are marked."""
_NOT_SHOWN = frozenset({"trajectory_id", "pattern", "rules"})
FACT_GROUPS: dict[str, tuple[str, ...]] = {
    "outcome": OUTCOME_FACTS,
    "identity": IDENTITY_FACTS,
    "cost": COST_FACTS,
    "behaviour": tuple(name for name in BEHAVIOUR.names if name not in _NOT_SHOWN),
}
"""Facts of a trajectory in the order they are shown, by group; those of an older corpus may lack."""

Row = dict[str, Any]


class Call(msgspec.Struct, omit_defaults=True):
    """One call with what came back; a field that is not recorded is left out."""

    number: int
    tool: str | None = None
    command: str | None = None
    arguments: list[tuple[str, str]] = []
    """Name and text of each argument; one without a name where they are no object."""
    output: str | None = None
    exit_code: int | None = None
    is_error: bool | None = None
    executed: bool | None = None
    invalid: str | None = None
    by_user: bool = False
    """Made by the simulated user."""
    seconds: float | None = None
    kind: str = CALL
    outcome: str | None = None
    tests: tuple[int | None, int | None, int | None, int | None] | None = None
    """Tests passed, failed, with errors, skipped."""
    edits: list[Edit] = []
    hits: list[Row] = []


class Turn(msgspec.Struct, omit_defaults=True):
    """One turn: a prompt, a step of the agent with its calls, or what was submitted."""

    role: str
    step: int | None = None
    """Number of the step; null for what is no step of the agent."""
    kind: str = MESSAGE
    reasoning: str | None = None
    text: str = ""
    calls: list[Call] = []
    refused: str | None = None
    finish: str | None = None


class Item(msgspec.Struct, omit_defaults=True):
    """What a list of trajectories shows of one of them; what takes room is in its turns."""

    id: str
    title: str
    task: str | None
    steps: int
    chars: int
    facts: dict[str, dict[str, Any]] = {}
    """Facts by group; null: not recorded."""
    rewards: list[Row] = []
    hits: list[int] = []
    """Steps that a rule of the hack screen met."""
    stratum: str | None = None
    probability: float | None = None


class Trajectories:
    """The trajectories of a worklist, ready to be shown.

    Args:
        corpus: The corpus.
        ids: Identities of the trajectories, in the order they are shown.
        blind: Leave out what graders and rules said.

    Raises:
        UsageError: A trajectory is not in the corpus, or the corpus kept no texts.
    """

    def __init__(self, corpus: Corpus, ids: Sequence[str], *, blind: bool = False) -> None:
        self.ids, self.blind = list(ids), blind
        wanted = pl.col("trajectory_id").is_in(self.ids)
        self._rows = {row["trajectory_id"]: row for row in _rows(corpus.trajectories.filter(wanted))}
        missing = [one for one in self.ids if one not in self._rows]
        if missing:
            found = f"no trajectory {missing[0]!r}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            raise UsageError(str(corpus.folder), found, "those of the sample", "Take the corpus it was drawn from")
        names = ("prompts", "steps", "tool_calls", "texts", "call_results", "hits", "rewards")
        self._tables = {name: _by_id(corpus.table(name).filter(wanted)) for name in names}
        if self.ids and not self._tables["texts"]:
            raise UsageError(str(corpus.folder), "no texts", "texts to read", "Ingest the logs again without --no-text")

    def _table(self, name: str, key: str) -> list[Row]:
        return self._tables[name].get(key, [])

    def item(self, key: str) -> Item:
        """What the list shows of one trajectory."""
        row, texts = self._rows[key], self._table("texts", key)
        item = Item(key, _title(row, texts), row["task_id"], row["n_steps"], sum(len(t["text"]) for t in texts))
        if not self.blind:
            item.facts = {
                group: {name: _finite(row[name]) for name in names if name in row}
                for group, names in FACT_GROUPS.items()
            }
            item.rewards = [_part(row) for row in self._table("rewards", key)]
            item.hits = sorted({row["step"] for row in self._table("hits", key)})
        return item

    def turns(self, key: str) -> Iterator[Turn]:
        """Turns of one trajectory in reading order."""
        texts = {(text["kind"], text["number"]): text["text"] for text in self._table("texts", key)}
        prompts: dict[int, list[Turn]] = {}
        for row in self._table("prompts", key):
            turn = Turn(row["role"], kind=PROMPT, text=texts.get(("prompt", row["prompt"]), ""))
            prompts.setdefault(row["after_step"] or 0, []).append(turn)
        calls = self._calls(key, texts)
        yield from prompts.pop(0, [])
        for row in self._table("steps", key):
            step = row["step"]
            yield _step(row, calls.get(step, []), texts)
            yield from prompts.pop(step, [])
        for left in prompts.values():
            yield from left
        if submission := texts.get(("submission", 0)):
            yield Turn("submission", kind=PROMPT, text=submission)

    def chunks(self, key: str) -> list[bytes]:
        """Turns of one trajectory as JSON lists, each compressed with gzip; the same bytes for the same turns."""
        chunks: list[bytes] = []
        held: list[bytes] = []
        size = 0
        for turn in self.turns(key):
            encoded = msgspec.json.encode(turn)
            if held and size + len(encoded) > CHUNK_BYTES:
                chunks.append(_packed(held))
                held, size = [], 0
            held.append(encoded)
            size += len(encoded)
        return [*chunks, _packed(held)]

    def _calls(self, key: str, texts: dict[tuple[str, int], str]) -> dict[int, list[Call]]:
        pattern = iter("" if self.blind else self._rows[key]["pattern"] or "")
        results = {} if self.blind else {row["call"]: row for row in self._table("call_results", key)}
        hits: dict[int, list[Row]] = {}
        for hit in [] if self.blind else self._table("hits", key):
            hits.setdefault(hit["call"], []).append(hit)
        edits = EditReader()
        by_step: dict[int, list[Call]] = {}
        for row in self._table("tool_calls", key):
            number = row["call"]
            arguments = texts.get(("arguments", number))
            output = None if row["output_chars"] is None else texts.get(("output", number), "")
            call = _call(row, arguments, output)
            call.edits = edits.read(_as_logged(row, arguments))
            if not call.by_user:
                call.kind = next(pattern, None) or _plain_kind(call)
            if (result := results.get(number)) is not None:
                counts = tuple(result[f"tests_{name}"] for name in ("passed", "failed", "errors", "skipped"))
                call.outcome, call.tests = result["outcome"], counts if any(n is not None for n in counts) else None
            call.hits = [_hit(hit, row["command"], arguments) for hit in hits.get(number, [])]
            by_step.setdefault(row["step"], []).append(call)
        return by_step


def reading_text(turns: Sequence[Turn]) -> str:
    """Return the text that spans of labels count in, in characters: the parts of turns, a line break between two.

    A label of a step counts in the turn of that step alone, a label of a whole trajectory in all of its turns.
    The parts are reasoning, text and, for each call, its command or the values of its arguments, then its output.
    """
    parts: list[str] = []
    for turn in turns:
        parts += [text for text in (turn.reasoning, turn.text) if text]
        for call in turn.calls:
            parts += [call.command] if call.command else [text for _, text in call.arguments if text]
            parts += [call.output] if call.output else []
    return "\n".join(parts)


def fact_docs() -> dict[str, str]:
    """Return what each fact means, from the schema."""
    columns = (*TRAJECTORIES.columns, *OVERLAY.columns, *BEHAVIOUR.columns)
    shown = {name for names in FACT_GROUPS.values() for name in names}
    return {column.name: column.doc for column in columns if column.name in shown}


def _rows(frame: pl.LazyFrame) -> Iterator[Row]:
    return frame.collect().iter_rows(named=True)


def _by_id(frame: pl.LazyFrame) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in _rows(frame):
        found.setdefault(row["trajectory_id"], []).append(row)
    return found


def _part(row: Row) -> Row:
    return {name: _finite(value) for name, value in row.items() if name != "trajectory_id"}


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: their names."""
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def _title(row: Row, texts: Sequence[Row]) -> str:
    """The task by its name, or by the beginning of its prompt where the name is a digest."""
    task: str = row["task_id"] or row["trajectory_id"]
    if not task.startswith("prompt:"):
        return task
    prompts = [text["text"] for text in texts if text["kind"] == "prompt"]
    return " ".join(prompts[-1][:400].split())[:80] if prompts else task


def _step(row: Row, calls: list[Call], texts: dict[tuple[str, int], str]) -> Turn:
    step = row["step"]
    kinds = [call.kind for call in calls if not call.by_user]
    return Turn(
        role="assistant",
        step=step,
        kind=min(kinds, key=lambda letter: _PRECEDENCE.get(letter, 99)) if kinds else MESSAGE,
        reasoning=texts.get(("reasoning", step)),
        text=texts.get(("turn", step), ""),
        calls=calls,
        refused=row["invalid_action"],
        finish=row["finish_reason"],
    )


def _call(row: Row, arguments: str | None, output: str | None) -> Call:
    return Call(
        number=row["call"],
        tool=row["tool"],
        command=row["command"],
        arguments=[] if row["command"] is not None else _named(arguments),
        output=output,
        exit_code=row["exit_code"],
        is_error=row["is_error"],
        executed=row["executed"],
        invalid=row["invalid"],
        by_user=row["requestor"] != "agent",
        seconds=row["seconds"],
    )


def _decoded(arguments: str | None) -> dict[str, Any] | str | None:
    try:
        decoded = msgspec.json.decode(arguments or "")
    except (msgspec.DecodeError, RecursionError):
        return arguments
    return decoded if isinstance(decoded, dict) else arguments


def _named(arguments: str | None) -> list[tuple[str, str]]:
    decoded = _decoded(arguments)
    if isinstance(decoded, dict):
        return [(name, value if isinstance(value, str) else _pretty(value)) for name, value in decoded.items()]
    return [("", decoded)] if decoded else []


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _as_logged(row: Row, arguments: str | None) -> ToolCall:
    return ToolCall(
        tool=row["tool"],
        arguments=None if row["command"] is not None else _decoded(arguments),
        command=row["command"],
        executed=row["executed"],
        invalid=row["invalid"],
    )


def _plain_kind(call: Call) -> str:
    """What can be seen without the rules: a refused call, a thought, an edit, else a call."""
    if call.invalid is not None:
        return "!"
    if call.executed is False:
        return "?"
    if kind_of_tool(call.tool) == "think":
        return "K"
    return "E" if call.edits else CALL


def _hit(hit: Row, command: str | None, arguments: str | None) -> Row:
    """A hit with what its rule looks for, the text that met it and, in a command, where that begins."""
    start, end, named = hit["start"], hit["end"], hit["argument"]
    text = command or arguments or ""
    if named is not None:
        decoded = _decoded(arguments)
        text = argument_text(decoded.get(named, "")) if isinstance(decoded, dict) else ""
    quoted = "" if start is None else text[start : min(end, start + EVIDENCE_CHARS)]
    rule = BY_ID.get(hit["rule"])
    told = {"rule": hit["rule"], "tier": hit["tier"], "timed_out": hit["timed_out"], "text": quoted}
    return told | {"title": rule.title if rule else "", "start": start if command and named is None else None}


def _packed(encoded: Sequence[bytes]) -> bytes:
    return gzip.compress(b"[" + b",".join(encoded) + b"]", compresslevel=6, mtime=0)
