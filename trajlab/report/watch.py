"""``trajlab.watch``: one pass over what is new, for cron: which alarms were not there at the last pass?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from trajlab.api import only_corpus
from trajlab.checks.alarm_context import AlarmContext, context
from trajlab.checks.alarms import Alarm, alarms
from trajlab.corpus.corpus import Corpus
from trajlab.corpus.ingest import ingest_into
from trajlab.corpus.manifest import locked
from trajlab.errors import ExitCode, UsageError, not_written
from trajlab.measures.step_signals import step_signals
from trajlab.report.hook import call_hook, check_hook
from trajlab.report.result import write_atomically

STATE = "watch.json"
FOLDER = "trajlab-watch"
"""Where logs are ingested when no corpus is named."""


class Known(msgspec.Struct, frozen=True):
    """An alarm that was told before."""

    run: str | None
    code: str
    step: int | None


class State(msgspec.Struct):
    """What earlier passes told."""

    version: int = 1
    alarms: list[Known] = msgspec.field(default_factory=list)


class Watched(msgspec.Struct):
    """What one pass found."""

    corpus: Path
    runs: list[str]
    new: list[AlarmContext]
    """Alarms that no earlier pass told."""
    known: list[Alarm]
    """Alarms that were told before and still stand."""
    gone: list[Known]
    """Alarms of earlier passes that the logs no longer show: re-run, or replaced."""
    warnings: list[Alarm]
    unobserved: list[Alarm]

    @property
    def exit_code(self) -> ExitCode:
        """1 where an alarm is new."""
        return ExitCode.GATE_FAILED if self.new else ExitCode.PASSED


def watch(
    *sources: str | Path,
    corpus: str | Path | None = None,
    hook: str | None = None,
    run: str | None = None,
    outcome: str | None = None,
    thresholds: Mapping[str, float] | None = None,
    jobs: int | None = None,
) -> Watched:
    """Read what is new and judge every run; tell each alarm once.

    What was told stands in ``watch.json`` of the corpus. It is written last, and atomically: a pass that fails before,
    its hook included, is repeated by the next one.

    Args:
        *sources: One corpus, or folders, globs and files of logs.
        corpus: Where logs are ingested; ``None``: ``trajlab-watch`` in the current folder.
        hook: Command to run when an alarm is new, split as a shell would but not run by one; the new alarms are on its
            standard input as JSON.
        run: Only this run.
        outcome: Signal that tells the independent outcome.
        thresholds: Lines such as ``{"alarm_kl.level": 0.1}``.
        jobs: Processes for reading.

    Raises:
        UsageError: Nothing to read, an unknown run, a hook that is no command, a state file of another kind.
        InfrastructureError: The hook failed, the disk is full, the corpus is in use.
    """
    if hook is not None:
        check_hook(hook)
    opened = _corpus(sources, corpus, jobs)
    with locked(opened.folder):
        return _judge(opened, hook, run, outcome, thresholds)


def _judge(
    opened: Corpus, hook: str | None, run: str | None, outcome: str | None, thresholds: Mapping[str, float] | None
) -> Watched:
    signals = step_signals(opened)
    runs = sorted({str(name) for name in signals["run"].drop_nulls()} | set(opened.runs))
    if run is not None:
        if run not in runs:
            raise UsageError("run", f"no run {run!r}", f"one of {', '.join(runs)}", "Name one of them")
        signals = signals.filter(signals["run"] == run)
    state = _load(opened.folder)
    found = alarms(signals, thresholds, outcome=outcome)
    told = [item for item in found if item.status == "alarm"]
    before = {(item.run, item.code) for item in state.alarms}
    new = [context(item, opened, signals) for item in told if (item.run, item.finding.code) not in before]
    now = {(item.run, item.finding.code) for item in told}
    judged = [item for item in state.alarms if run is None or item.run == run]
    watched = Watched(
        corpus=opened.folder,
        runs=runs if run is None else [run],
        new=new,
        known=[item for item in told if (item.run, item.finding.code) in before],
        gone=[item for item in judged if (item.run, item.code) not in now],
        warnings=[item for item in found if item.status == "warn"],
        unobserved=[item for item in found if item.status == "unobserved"],
    )
    if new and hook is not None:
        call_hook(hook, {"corpus": str(opened.folder.resolve()), "new": new})
    _save(opened.folder, state, watched)
    return watched


def _corpus(sources: Sequence[str | Path], corpus: str | Path | None, jobs: int | None) -> Corpus:
    opened = only_corpus(sources)
    if opened is not None:
        return opened
    folder = Path(corpus if corpus is not None else FOLDER)
    return Corpus(folder, ingest_into(folder, sources, jobs=jobs, leave_out=folder))


def _load(folder: Path) -> State:
    path = folder / STATE
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except FileNotFoundError:
        return State()
    except OSError as error:
        raise not_written(folder, error) from error
    except msgspec.DecodeError as error:
        found, advice = f"no state of a watch: {error}", "Remove it: the alarms that stand are then told once more"
        raise UsageError(str(path), found, "what an earlier pass wrote", advice) from error


def _save(folder: Path, state: State, watched: Watched) -> None:
    """Alarms that stand, and those of runs that were not looked at."""
    gone = {(item.run, item.code) for item in watched.gone}
    kept = [item for item in state.alarms if (item.run, item.code) not in gone]
    new = [Known(item.alarm.run, item.alarm.finding.code, item.alarm.first_step) for item in watched.new]
    if not new and not gone and (folder / STATE).is_file():
        return
    written = State(alarms=[*kept, *new])
    try:
        write_atomically(folder / STATE, msgspec.json.format(msgspec.json.encode(written), indent=1) + b"\n")
    except OSError as error:
        raise not_written(folder, error) from error
