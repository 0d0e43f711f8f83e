"""Every table and column as data: type, unit, what null means.

Readers, builders, the corpus, the README tables and the drift tests all derive from here.
"""

from __future__ import annotations

from trajlab.schema.columns import ID as _ID
from trajlab.schema.columns import Column, Kind, Table
from trajlab.schema.columns import column as _c
from trajlab.schema.derived import BEHAVIOUR, CALL_RESULTS, COMMANDS, FILE_EVENTS, HITS, LABELS, RUNGS, label_column
from trajlab.schema.tokens import TOKEN_HISTOGRAMS, TOKEN_MOMENTS, TOKEN_VALUES

__all__ = [
    "BEHAVIOUR", "CALL_RESULTS", "COMMANDS", "COVERAGE", "DERIVED_TABLES", "FACTS", "FACT_COLUMNS", "FILE_EVENTS",
    "HITS", "LABELS", "MESSAGES", "METRICS", "OUTCOMES", "OVERLAY", "PART_TABLES", "PROBLEMS", "PROMPTS", "REWARDS",
    "RUNGS", "RUN_CONFIG", "SCHEMA_VERSION", "SOURCES", "STEPS", "TABLES", "TEXTS", "TOKEN_HISTOGRAMS",
    "TOKEN_MOMENTS", "TOKEN_VALUES", "TOOL_CALLS", "TOTALS", "TRAJECTORIES", "Column", "Kind", "Table", "label_column",
]  # fmt: skip

SCHEMA_VERSION = 3
"""Raised when a table of source facts changes: a corpus of another version is read anew from its logs."""

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
        _c("parent_native_id", "str", "`native_id` of the trajectory that started this subagent"),
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
        _c("sample_index", "int", "place in the trainer's stream of samples: its data cursor"),
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
        _c("split", "str", "train, validation, eval; of the log or a companion"),
        _c("epoch", "int", "epoch, from 0; of the log or a companion"),
        _c("effective", "bool", "it was trained on", "no companion says so"),
        _c("filter_reason", "str", "why the trainer left it out", "no companion says so"),
        _c("advantage", "float", "advantage of the whole trajectory", "no companion says so"),
        _c("trained_at_step", "int", "training step whose update used it", "no companion says so"),
        _c("superseded", "bool", "a later re-run of the same step, or of the failed attempt, replaces it", ""),
        _c("duplicate", "bool", "the same record stands in an earlier source, or another file tells it", ""),
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

FACT_COLUMNS = ("split", "epoch", "effective", "filter_reason", "advantage", "trained_at_step")
"""Columns of ``overlay`` that facts of companions fill."""

FACTS = Table(
    "facts",
    "one fact found in a companion, and how many trajectories it was joined with",
    "assembled",
    (
        _c("source", "str", "path below the ingested root", ""),
        _c("native_id", "str", "trajectory it is about, by its own id", "it is about a training step"),
        _c("train_step", "int", "training step it is about", "it is about one trajectory"),
        _c("name", "str", "column of `overlay` that it fills", ""),
        _c("value", "str", "value, as text", ""),
        _c("trajectories", "int", "trajectories it was joined with", ""),
    ),
)

TOTALS = Table(
    "totals",
    "one total that a companion states, held against what was read",
    "assembled",
    (
        _c("run", "str", "run of the trajectories it counts", "none, or several"),
        _c("source", "str", "path below the ingested root", ""),
        _c("name", "str", "what is counted", ""),
        _c("of", "str", "which of them: files, training step, agent", "all that the companion speaks of"),
        _c("stated", "float", "as the companion states it", ""),
        _c("counted", "float", "as read", "it cannot be counted"),
        _c("agrees", "bool", "both are the same", "they cannot be held against each other"),
        _c("why", "str", "why not", "they can"),
    ),
)

METRICS = Table(
    "metrics",
    "one metric of a trainer at one training step",
    "assembled",
    (
        _c("run", "str", "run whose trajectories it lies with, else the one it is named for", ""),
        _c("source", "str", "path below the ingested root", ""),
        _c("line", "int", "line number; of a binary log or a list, number of the record", ""),
        _c("step", "int", "training step", ""),
        _c("name", "str", "common name", "there is no common name for it"),
        _c("raw_name", "str", "name as the trainer spells it", ""),
        _c("value", "float", "value", "logged as null, NaN or infinite"),
        _c(
            "logged_as",
            "str",
            "what was logged in place of a value: nan, inf, -inf, null, 0.000 for a rate",
            "there is a value",
        ),
        _c(
            "counts",
            "bool",
            "whether it is the value for its run, step and name: of a step logged again the last, of several logs the "
            "most exact; what a resumed run leaves behind does not count",
            "",
        ),
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
        _c("role", "str", "log, companion, metrics, unclaimed or unreadable", ""),
        _c("bytes", "int", "size on disk", "", "bytes"),
        _c("records", "int", "records seen", "not read line by line"),
        _c("trajectories", "int", "trajectories that came of it", ""),
        _c("note", "str", "why nothing of a companion is joined", "it is no companion, or something is joined"),
    ),
)

COVERAGE = Table(
    "coverage",
    "one source that a reader claims, or that cannot be read: how much of it was understood",
    "assembled",
    (
        _c("root", "str", "ingested root, as given", ""),
        _c("source", "str", "path below the root; of several files that are one conversation the first", ""),
        _c("run", "str", "run", ""),
        _c("format", "str", "reader that claimed it", "it cannot be read"),
        _c("bytes", "int", "size on disk", "", "bytes"),
        _c("bytes_understood", "int", "without those of lost records", "", "bytes"),
        _c("records", "int", "trajectories, and records lost", ""),
        _c("records_understood", "int", "trajectories", ""),
        _c("turns", "int", "turns of the agent read, and those that the log states beyond them", ""),
        _c("turns_understood", "int", "turns of the agent read", ""),
        _c("calls", "int", "tool calls", ""),
        _c("calls_understood", "int", "those known to be malformed, or whose tool and programs could be made out", ""),
        _c("field_records", "int", "first records whose fields were looked at", "the source is not in the sample"),
        _c("fields", "int", "fields of these, by name", "as field_records"),
        _c("fields_understood", "int", "those that are read, or passed over on purpose", "as field_records"),
        _c("fields_ignored", "str", "names of those passed over on purpose", "as field_records"),
        _c("fields_unknown", "str", "names of those that the reader does not know", "as field_records"),
    ),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        TRAJECTORIES, PROMPTS, MESSAGES, STEPS, TOOL_CALLS, TEXTS, REWARDS, TOKEN_HISTOGRAMS, TOKEN_MOMENTS,
        TOKEN_VALUES, RUN_CONFIG, PROBLEMS, COMMANDS, FILE_EVENTS, CALL_RESULTS, BEHAVIOUR, HITS, OVERLAY, OUTCOMES,
        FACTS, TOTALS, METRICS, SOURCES, COVERAGE,
    )
}  # fmt: skip
"""All tables by name."""

PART_TABLES = tuple(table for table in TABLES.values() if table.origin not in ("assembled", "view"))
"""Tables that the reading of a unit writes."""

DERIVED_TABLES = tuple(table for table in PART_TABLES if table.origin == "derived")
"""Those of them that the behaviour rules make."""
