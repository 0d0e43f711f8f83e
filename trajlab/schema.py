"""Every table and column as data: type, unit, what null means.

Readers, builders, the corpus, the README tables and the drift tests all derive from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

Kind = Literal["str", "int", "float", "bool"]


class Column(msgspec.Struct, frozen=True):
    """One column of a table."""

    name: str
    kind: Kind
    doc: str
    null: str = "not recorded"
    """What a null means; empty where the column is never null."""
    unit: str = ""


class Table(msgspec.Struct, frozen=True):
    """One table: a name, what a row is, where it comes from, its columns in order."""

    name: str
    row: str
    origin: Literal["source", "text", "derived", "assembled", "view"]
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [column.name for column in self.columns]

    def polars(self) -> dict[str, type[pl.DataType]]:
        """Schema for polars."""
        import polars as pl

        kinds = {"str": pl.String, "int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
        return {column.name: kinds[column.kind] for column in self.columns}

    def arrow(self) -> pa.Schema:
        """Schema for pyarrow."""
        import pyarrow as pa

        kinds = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
        return pa.schema([pa.field(column.name, kinds[column.kind]) for column in self.columns])


def _c(name: str, kind: Kind, doc: str, null: str = "not recorded", unit: str = "") -> Column:
    return Column(name, kind, doc, null, unit)


_ID = _c("trajectory_id", "str", "hash of run, format, path below the root and native id or ordinal", "")

TRAJECTORIES = Table(
    "trajectories",
    "one attempt of one agent at one task",
    "source",
    (
        _ID,
        _c("run", "str", "run: as given, else as the log names it, else the folder below the root", ""),
        _c("format", "str", "reader that claimed the source", ""),
        _c("variant", "str", "variant of the format", ""),
        _c("root", "str", "ingested root, absolute", ""),
        _c("source", "str", "path below the ingested root", ""),
        _c("source_line", "int", "line in the source, counted from the start of the unit", "not line based"),
        _c("ordinal", "str", "place in the source: byte offset or element number", ""),
        _c("native_id", "str", "identity the log itself gives"),
        _c("task_id", "str", "task: instance id, problem id, or a digest of the prompt"),
        _c("group_id", "str", "attempts sampled together by one policy"),
        _c("attempt", "int", "number of the attempt at the task"),
        _c("split", "str", "train, validation, eval"),
        _c("train_step", "int", "training step of the policy that acted"),
        _c("logged_epoch", "int", "epoch as the log states it"),
        _c("policy_version_first", "str", "weight version at the first generated token"),
        _c("policy_version_last", "str", "weight version at the last generated token"),
        _c("agent", "str", "scaffold"),
        _c("agent_version", "str", "version of the scaffold"),
        _c("model", "str", "model that acted"),
        _c("reward", "float", "training reward or score of the whole trajectory"),
        _c("logged_correct", "bool", "verdict recorded in the log itself"),
        _c("logged_outcome", "bool", "independent verdict recorded in the log itself"),
        _c("logged_termination", "str", "how it ended as the log tells; `ended` waits for a verdict"),
        _c("stop_reason", "str", "the log's own word for the end"),
        _c("gradable", "bool", "could be graded"),
        _c("steps_allowed", "int", "step limit of the run", unit="steps"),
        _c("logged_steps", "int", "steps as the log states them", unit="steps"),
        _c("prompt_tokens", "int", "prompt tokens, cached ones included", unit="tokens"),
        _c("completion_tokens", "int", "generated tokens", unit="tokens"),
        _c("cached_tokens", "int", "prompt tokens read from a cache", unit="tokens"),
        _c("reasoning_tokens", "int", "generated tokens that were reasoning", unit="tokens"),
        _c("seconds", "float", "duration", unit="s"),
        _c("cost", "float", "cost as logged", unit="USD"),
        _c("started_at", "float", "start, seconds since 1970-01-01 UTC", unit="s"),
        _c("tools_offered", "str", "names of the tools offered, space-separated"),
        _c("submission_chars", "int", "length of what was submitted", unit="characters"),
        _c("agent_chars", "int", "text the agent wrote outside reasoning and calls", "", "characters"),
        _c("reasoning_chars", "int", "reasoning text", "no step has reasoning recorded", "characters"),
        _c(
            "tail_repetitive",
            "bool",
            "the last 10,000 characters the agent wrote compress more than tenfold",
            "the agent wrote fewer than 1,000 characters",
        ),
        _c("content_digest", "str", "digest of the prompts, the requests, the last turn and all lengths", ""),
    ),
)

PROMPTS = Table(
    "prompts",
    "one message that is neither the agent's nor a tool's: system, user, simulated user",
    "source",
    (
        _ID,
        _c("prompt", "int", "number among these messages, from 0", ""),
        _c("role", "str", "who speaks", ""),
        _c("after_step", "int", "step it follows", "before the first step"),
        _c("chars", "int", "length", "", "characters"),
    ),
)

MESSAGES = Table(
    "messages",
    "one message in reading order: prompts, the agent's turns and what tools returned (a view of three tables)",
    "view",
    (
        _ID,
        _c("message", "int", "number of the message, from 0", ""),
        _c("role", "str", "who speaks", ""),
        _c("step", "int", "step it belongs to, from 1", "before the first step"),
        _c("chars", "int", "length", "", "characters"),
        _c("text_kind", "str", "kind of its text in `texts`", ""),
        _c("text_number", "int", "number of its text in `texts`", ""),
    ),
)

STEPS = Table(
    "steps",
    "one turn of the agent",
    "source",
    (
        _ID,
        _c("step", "int", "number of the step, from 1", ""),
        _c("calls", "int", "tool calls in the turn", ""),
        _c("text_chars", "int", "visible text", "", "characters"),
        _c("reasoning_chars", "int", "reasoning text", "no reasoning recorded", "characters"),
        _c("invalid_action", "str", "why the scaffold refused the whole turn", "not refused, or not recorded"),
        _c("finish_reason", "str", "why generation stopped"),
        _c("prompt_tokens", "int", "prompt tokens, cached ones included", unit="tokens"),
        _c("completion_tokens", "int", "generated tokens", unit="tokens"),
        _c("cost", "float", "cost as logged", unit="USD"),
        _c("timestamp", "float", "seconds since 1970-01-01 UTC", unit="s"),
    ),
)

TOOL_CALLS = Table(
    "tool_calls",
    "one tool call, well formed or not",
    "source",
    (
        _ID,
        _c("call", "int", "number of the call in the trajectory, from 1", ""),
        _c("step", "int", "step it belongs to", ""),
        _c("tool", "str", "name as the log spells it", "too broken to tell"),
        _c("call_id", "str", "identity the log gives the call"),
        _c("command", "str", "shell text", "the tool is no shell"),
        _c("arguments_chars", "int", "length of the arguments", "none logged", "characters"),
        _c("request_digest", "int", "digest of the tool and its arguments", ""),
        _c("output_chars", "int", "length of what came back", "nothing came back, or not recorded", "characters"),
        _c("exit_code", "int", "exit code"),
        _c("is_error", "bool", "the log marks the result as an error"),
        _c("executed", "bool", "got a result"),
        _c("invalid", "str", "unparsable, unknown_tool or refused", "nothing says it was invalid"),
        _c("requestor", "str", "agent, or the simulated user", ""),
        _c("seconds", "float", "duration", unit="s"),
    ),
)

TEXTS = Table(
    "texts",
    "the long text of a message, reasoning, arguments, output or submission",
    "text",
    (
        _ID,
        _c("kind", "str", "prompt, turn, reasoning, arguments, output or submission", ""),
        _c("number", "int", "number of the prompt, step or call it belongs to", ""),
        _c("text", "str", "the text, cleaned of lone surrogates", ""),
    ),
)

REWARDS = Table(
    "rewards",
    "one component of a trajectory's reward",
    "source",
    (
        _ID,
        _c("name", "str", "name as logged", ""),
        _c("value", "float", "value"),
        _c("weight", "float", "weight in the sum"),
        _c("applied_step", "int", "step it was given for"),
    ),
)

RUN_CONFIG = Table(
    "run_config",
    "one configured value of a run, and the applied value where the log shows it",
    "source",
    (
        _c("run", "str", "run", ""),
        _c("source", "str", "path below the ingested root", ""),
        _c("name", "str", "name of the setting", ""),
        _c("configured", "str", "configured value, as JSON text"),
        _c("applied", "str", "applied value, as JSON text"),
    ),
)

PROBLEMS = Table(
    "problems",
    "one thing not read, cleaned or not reconciled",
    "source",
    (
        _c("run", "str", "run", "before a run was known"),
        _c("source", "str", "path below the ingested root", ""),
        _c("line", "int", "line in the source", "not line based"),
        _c("offset", "int", "byte offset in the decompressed source", "not known"),
        _c("trajectory_id", "str", "trajectory it is about", "no trajectory came of it"),
        _c("code", "str", "what kind of problem", ""),
        _c("message", "str", "what was found and what was expected", ""),
    ),
)

LABELS = (
    "test:all", "test:part", "test:file", "test:case", "inline", "script", "static", "read",
    "search", "edit", "fileop", "vcs", "install", "submit", "other",
)  # fmt: skip
"""The labels of the command codebook, in its order."""


def label_column(label: str) -> str:
    """Column name of a command label: ``test:all`` -> ``test_all``."""
    return label.replace(":", "_")


COMMANDS = Table(
    "commands",
    "one simple command inside a call, or one call of a tool that is no shell",
    "derived",
    (
        _ID,
        _c("call", "int", "call it stands in", ""),
        _c("step", "int", "step it stands in", ""),
        _c("position", "int", "order inside the call, from 0", ""),
        _c("program", "str", "program without path and wrappers, or the tool", "could not be made out"),
        *(_c(label_column(label), "bool", f"label `{label}`", "") for label in LABELS),
        _c("test_scope", "str", "all, part, file or case", "runs no test"),
        _c("rule", "str", "rule that gave the labels", ""),
    ),
)

BEHAVIOUR = Table(
    "behaviour",
    "one trajectory: what the agent did",
    "derived",
    (
        _ID,
        _c("n_steps", "int", "steps", "", "steps"),
        _c("n_messages", "int", "messages", "", "messages"),
        _c("n_calls", "int", "tool calls of the agent, well formed or not", "", "calls"),
        _c("n_executed", "int", "calls that got a result", "the log cannot tell", "calls"),
        _c("n_invalid", "int", "calls unparsable, unknown or refused, and refused turns", "", "calls"),
        _c("n_shell", "int", "shell calls", "", "calls"),
        _c("tool_used", "bool", "at least one executed call", "the log cannot tell"),
        _c("hollow", "bool", "no executed call and no agent text", "the log cannot tell"),
        _c("think_offered", "bool", "a think tool is offered or was called", "tools offered are not recorded"),
        _c("n_think", "int", "think calls", "no think tool offered, or not recorded", "calls"),
        _c("think_run", "int", "longest run of consecutive think calls", "as n_think", "calls"),
        _c("think_most_in_step", "int", "most think calls in one step", "as n_think", "calls"),
        _c("n_think_hollow", "int", "think calls under 20 characters or near a former thought", "as n_think", "calls"),
        _c(
            "think_spam",
            "bool",
            "run of 3, or 2 in one step with a hollow one, or over half of 5 or more calls",
            "as n_think",
        ),
        _c("repeat_run", "int", "longest run of identical calls", "no calls", "calls"),
        _c("stuck", "bool", "three identical calls in a row", "no calls"),
        _c("stuck_openhands", "bool", "4 same call and result, or 3 same call and error, or 6 alternating", "no calls"),
        _c(
            "text_repetition",
            "bool",
            "compression of the last 10,000 characters over 10",
            "fewer than 1,000 characters",
        ),
        *(_c(f"n_{label_column(label)}", "int", f"calls with the label `{label}`", "", "calls") for label in LABELS),
        _c("n_test", "int", "calls that run tests in any scope", "", "calls"),
        _c("n_executes", "int", "calls that execute tests, inline code (no edit) or scripts", "", "calls"),
        _c("any_test", "bool", "runs any test", "calls, none of which could be labelled"),
        _c("suite_run", "bool", "runs a test suite (all or part)", "calls, none of which could be labelled"),
        _c("first_edit_call", "int", "call of the first edit", "no edit"),
        _c("last_edit_call", "int", "call of the last edit", "no edit"),
        _c("pattern", "str", "action pattern: a letter for each call of the agent, in order", "no calls"),
        *(
            _c(f"n_hack_{tier}", "int", f"hack candidates of tier {tier}", "labels of no call could be known", "hits")
            for tier in (1, 2, 3)
        ),
        _c("rules", "str", "version of the behaviour rules", ""),
    ),
)

HITS = Table(
    "hits",
    "one candidate of the hack screen: a rule that a call meets",
    "derived",
    (
        _ID,
        _c("call", "int", "call it stands in", ""),
        _c("step", "int", "step it stands in", ""),
        _c("rule", "str", "rule id", ""),
        _c("tier", "int", "1 strong, 2 suspicious, 3 weak", ""),
        _c("argument", "str", "argument that start and end count in", "the command, or the arguments as one text"),
        _c("start", "int", "first character", "the search ran out of time", "characters"),
        _c("end", "int", "character after the last", "the search ran out of time", "characters"),
        _c("timed_out", "bool", "the search ran out of time: whether the rule is met is not known", ""),
    ),
)

OVERLAY = Table(
    "overlay",
    "one trajectory: what only other files or other trajectories can tell",
    "assembled",
    (
        _ID,
        _c("correct", "bool", "recorded verdict, of the log or a companion"),
        _c("outcome", "bool", "verdict that was not the training reward"),
        _c("verdict_source", "str", "where the verdict comes from"),
        _c("termination", "str", "class of the end, joined with the verdict"),
        _c("superseded", "bool", "a later re-run of the same step replaces it", ""),
        _c("duplicate", "bool", "the same record stands in an earlier source", ""),
    ),
)

OUTCOMES = Table(
    "outcomes",
    "one verdict found in a companion file",
    "assembled",
    (
        _c("run", "str", "run", ""),
        _c("source", "str", "path below the ingested root", ""),
        _c("folder", "str", "folder the verdict reaches", ""),
        _c("instance_id", "str", "task it is about", "the only task of its folder"),
        _c("resolved", "bool", "verdict", "evaluated without verdict"),
        _c("format", "str", "companion format", ""),
        _c("note", "str", "what else it says (patch missing, evaluation error)", "nothing"),
    ),
)

SOURCES = Table(
    "sources",
    "one file that was found",
    "assembled",
    (
        _c("root", "str", "ingested root, as given", ""),
        _c("source", "str", "path below the root", ""),
        _c("run", "str", "run", "no run"),
        _c("format", "str", "reader that claimed it", "no reader claims it"),
        _c("role", "str", "log, companion, unclaimed or unreadable", ""),
        _c("bytes", "int", "size on disk", "", "bytes"),
        _c("records", "int", "records seen", "not read line by line"),
        _c("trajectories", "int", "trajectories that came of it", ""),
    ),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        TRAJECTORIES, PROMPTS, MESSAGES, STEPS, TOOL_CALLS, TEXTS, REWARDS, RUN_CONFIG, PROBLEMS, COMMANDS, BEHAVIOUR,
        HITS, OVERLAY, OUTCOMES, SOURCES,
    )
}  # fmt: skip
"""All tables by name."""

PART_TABLES = tuple(table for table in TABLES.values() if table.origin not in ("assembled", "view"))
"""Tables that the reading of a unit writes."""
