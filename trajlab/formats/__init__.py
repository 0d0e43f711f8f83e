"""Foreign formats: one module each; exactly one claims a source.

A format is a module with

- ``VARIANTS``: variant name -> :class:`Variant`, with the trajectory columns it carries (tested),
- ``recognise(probe)``: the variant's name, or ``None`` when the source is not of this format,
- ``read(bundle)``: yields :class:`~trajlab.records.Trajectory` and :class:`~trajlab.records.Problem`,
  one at a time; a pure function of the bundle's bytes.

Where several files are one conversation, the module has ``group(relpath, variant)``, too: the path of the folder or the
first file that a file is a part of, or ``None``. Files of one group come in one bundle; one that is named as the group
is comes first. A format with ``HOLDS_LOGS`` is a tree around logs of other formats: what it claims is its own.

A format whose files hold metrics of the trainer, too, names in ``METRICS`` the metric log and its variant that read
them: one reader claims a file, two tables are filled from it.

A companion speaks about trajectories of other files. It has, in place of ``read``, one or both of

- ``read_outcomes(bundle)``: yields :class:`Outcome`, verdicts by task,
- ``read_facts(bundle)``: yields :class:`Fact` (by native id, or by training step), :class:`Total` (what it states about
  them, to be held against what was read), settings of the run, and :class:`Unjoined` for what has no place, with the
  reason; ``SPEAKS_OF`` then tells, variant by variant, the formats of those trajectories.

Assembly joins them with what was read; a companion that comes later changes the assembled tables and no part. Metric
logs of trainers are read by :mod:`trajlab.metric_logs`; they may have ``read_facts``, too.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

import msgspec

from trajlab.records import Problem, RunSetting, Trajectory

if TYPE_CHECKING:
    from trajlab.sources.files import Bundle
    from trajlab.sources.probe import Probe


class Variant(msgspec.Struct, frozen=True):
    """One on-disk layout of a format."""

    doc: str
    carries: frozenset[str]
    """Columns of ``trajectories`` (beyond identity) that the layout can fill."""
    whole: bool = False
    """A file is one conversation: however large, it is not cut into slices."""


class Outcome(msgspec.Struct, frozen=True):
    """One verdict found in a companion file."""

    instance_id: str | None
    """Task it is about; ``None``: the only task of the companion's folder."""
    resolved: bool | None
    note: str | None = None


class Fact(msgspec.Struct, frozen=True):
    """One fact about trajectories of other files, found in a companion."""

    column: str
    """Column of the table ``overlay`` it fills (one of ``FACT_COLUMNS`` of the schema)."""
    value: str | int | float | bool
    native_id: str | None = None
    """The trajectory it is about, by the id that its own log gives it."""
    train_step: int | None = None
    """Where no id is given: it is about every trajectory of this training step."""


class Total(msgspec.Struct, frozen=True):
    """One total that a companion states about trajectories of other files."""

    name: str
    """What is counted: a key of ``COUNTED`` in :mod:`trajlab.corpus.totals`."""
    value: float
    files: tuple[str, ...] = ()
    """Names of the files beside the companion that it counts; empty: all logs it speaks of."""
    train_step: int | None = None
    agent: str | None = None
    planned: bool = False
    """What was to be done: fewer records are no contradiction, but attempts without any."""


class Unjoined(msgspec.Struct, frozen=True):
    """What a companion holds and nothing joins, with the reason."""

    reason: str


FoundFact = Fact | Total | Unjoined | RunSetting | Problem


class LogFormat(Protocol):
    """A module that reads trajectories."""

    VARIANTS: dict[str, Variant]

    def recognise(self, probe: Probe) -> str | None:
        """Name of the variant, or ``None``."""

    def read(self, bundle: Bundle) -> Iterator[Trajectory | Problem]:
        """Yield what the bundle holds."""


class CompanionFormat(Protocol):
    """A module that reads what a file says about trajectories of other files."""

    VARIANTS: dict[str, Variant]

    def recognise(self, probe: Probe) -> str | None:
        """Name of the variant, or ``None``."""


def outcomes_of(module: object, bundle: Bundle) -> Iterator[Outcome | Problem]:
    """The verdicts in a companion; none where its format holds none."""
    read = getattr(module, "read_outcomes", None)
    return iter(()) if read is None else cast("Iterator[Outcome | Problem]", read(bundle))


def facts_of(module: object, bundle: Bundle) -> Iterator[FoundFact]:
    """The facts, totals and settings in a companion or metric log; none where its format holds none."""
    read = getattr(module, "read_facts", None)
    return iter(()) if read is None else cast("Iterator[FoundFact]", read(bundle))


def speaks_of(module: object, variant: str) -> frozenset[str]:
    """Formats of the trajectories that a companion's facts are about."""
    named: dict[str, frozenset[str]] = getattr(module, "SPEAKS_OF", {})
    return named.get(variant, frozenset())


LOGS: dict[str, str] = {
    "agent_lightning": "agent-lightning trajectories (`.jsonl.zip`)",
    "areal": "AReaL rollouts",
    "art": "OpenPipe ART trajectories",
    "mini_swe_agent": "mini-swe-agent trajectories",
    "nemo_gym": "NeMo-Gym rollouts",
    "nemo_rl": "NeMo-RL training and validation data",
    "openrlhf": "OpenRLHF samples (TensorBoard texts)",
    "rllm": "rLLM episodes",
    "roll": "ROLL rollout dumps",
    "skyrl": "SkyRL evaluation dumps",
    "slime": "slime rollout data (`.pt`)",
    "tinker": "tinker-cookbook benchmark trajectories",
    "trl": "TRL completions (Parquet)",
    "verifiers": "verifiers results and traces, prime-rl rollouts",
    "swe_agent": "SWE-agent trajectories",
    "openhands": "OpenHands V0 events and benchmark output",
    "openhands_sdk": "OpenHands V1 conversations and benchmark output",
    "atif": "ATIF documents (Agent Trajectory Interchange Format)",
    "harbor": "Harbor trials",
    "harbor_traces": "Harbor trace exports (rows of episodes)",
    "terminal_bench": "terminal-bench 1 trials",
    "inspect_log": "Inspect logs (.eval, .json)",
    "claude_code": "Claude Code sessions and stream-json",
    "codex": "Codex rollouts and exec --json",
    "gemini_cli": "Gemini CLI chats",
    "copilot_cli": "Copilot CLI sessions",
    "cursor": "Cursor agent transcripts",
    "droid": "Droid sessions and stream-json",
    "opencode": "opencode storage",
    "pi": "Pi sessions",
    "tau2": "tau2-bench simulations",
    "cline": "Cline tasks and sessions",
    "agentlab": "AgentLab summaries of experiments",
    "langchain": "LangChain messages",
    "langfuse": "Langfuse traces and observations",
    "langsmith": "LangSmith runs",
    "mlflow": "MLflow traces",
    "otel": "OpenTelemetry traces (GenAI, OpenInference)",
    "r2e_gym": "R2E-Gym trajectories",
    "verl": "verl rollout and validation dumps",
}
"""Log formats with a fingerprint of their own: name -> one line."""

FALLBACK_LOGS: dict[str, str] = {
    "chat": "chat rows: OpenAI, Anthropic, Responses, ShareGPT messages",
}
"""Asked only where no other format claims a source."""

COMPANIONS: dict[str, str] = {
    "swebench_report": "SWE-bench evaluation reports",
    "trainer_sidecars": "files beside trainers' rollouts: summaries, annotations, states",
    "predictions": "SWE-bench predictions (preds.json)",
    "harness_files": "settings, locks and totals of harnesses",
}
"""Files that speak about trajectories of other files."""


@cache
def log_format(name: str) -> LogFormat:
    """The module that reads logs of the format ``name``."""
    return cast("LogFormat", importlib.import_module(f"trajlab.formats.{name}"))


def metrics_within(name: str) -> tuple[str, str] | None:
    """Metric log and variant that read the metrics in files of the format ``name``; ``None``: they hold none."""
    found: tuple[str, str] | None = getattr(log_format(name), "METRICS", None)
    return found


@cache
def companion_format(name: str) -> CompanionFormat:
    """The module that reads companions of the format ``name``."""
    return cast("CompanionFormat", importlib.import_module(f"trajlab.formats.{name}"))
