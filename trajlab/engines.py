"""Mapping units: in this process, over local processes, or over an engine the caller already runs."""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context, parent_process
from queue import SimpleQueue
from threading import Thread
from types import ModuleType
from typing import NamedTuple, Protocol, TypeVar

from trajlab.errors import InfrastructureError

Task = TypeVar("Task")
Result = TypeVar("Result")

WORTH_PROCESSES = 192 << 20
"""Bytes from which starting processes pays: a worker costs about 0.4 s of imports."""


_THREADS = ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""What tells polars and numpy how many threads to start when they are imported: one for each core, if unsaid."""


class Engine(Protocol):
    """Anything that applies a function to tasks and yields results in any order (for example over Ray)."""

    def __call__(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield one result per task."""


def choose_jobs(jobs: int | None, total_bytes: int, units: int) -> int:
    """Number of processes: as asked, else all cores where the work is large enough to pay for them."""
    if jobs is not None:
        return max(1, min(jobs, units))
    if total_bytes < WORTH_PROCESSES:
        return 1
    return max(1, min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, units))


def map_units(function: Callable[[Task], Result], tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    """Apply ``function`` to each task, yielding results as they come.

    Args:
        function: A picklable function of one task.
        tasks: The tasks, largest first for an even end.
        jobs: Processes, this one included: it works while the others start, and is one less to start.

    Raises:
        InfrastructureError: A worker process died.
    """
    if jobs <= 1:
        yield from map(function, tasks)
        return
    waiting = deque(tasks)
    results: SimpleQueue[Result | _Failure] = SimpleQueue()
    pool = ProcessPoolExecutor(max_workers=jobs - 1, mp_context=get_context("spawn"), initializer=_start_worker)
    try:
        starting = Thread(target=_start_processes, args=(pool, jobs - 1))
        starting.start()
        starting.join()
        for _ in range(jobs - 1):
            Thread(target=_hand_out, args=(pool, function, waiting, results), daemon=True).start()
        given = len(tasks)
        for task in _taken(waiting):
            yield function(task)
            given -= 1
            while not results.empty():
                yield _result(results.get())
                given -= 1
        for _ in range(given):
            yield _result(results.get())
    finally:
        waiting.clear()
        pool.shutdown(wait=True, cancel_futures=True)


def _start_processes(pool: ProcessPoolExecutor, count: int) -> None:
    """Start the processes of a pool, in a thread of its own.

    They hold back interrupts until they can end without a traceback. They start one thread each, where the caller's
    environment does not say otherwise: there are as many of them as cores. And they do not import the caller's script:
    they need nothing of it, and one without ``if __name__ == "__main__"`` would run again in each of them.
    """
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    unsaid = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(unsaid, "1"))
    try:
        for _ in range(count):
            pool.submit(os.getpid)
    finally:
        sys.modules["__main__"] = main
        for name in unsaid:
            del os.environ[name]


class _Failure(NamedTuple):
    """What a task ended with instead of a result."""

    error: BaseException


def _result(result: Result | _Failure) -> Result:
    if not isinstance(result, _Failure):
        return result
    if isinstance(result.error, BrokenProcessPool):
        raise InfrastructureError(
            "ingest", "a worker process was killed (out of memory?)", "", "Run the same command again: it resumes"
        ) from result.error
    raise result.error


def _hand_out(
    pool: ProcessPoolExecutor,
    function: Callable[[Task], Result],
    waiting: deque[Task],
    results: SimpleQueue[Result | _Failure],
) -> None:
    """Keep one worker busy."""
    for task in _taken(waiting):
        try:
            results.put(pool.submit(function, task).result())
        except BaseException as error:
            results.put(_Failure(error))


def _taken(waiting: deque[Task]) -> Iterator[Task]:
    """Tasks that are left, which several threads take."""
    with suppress(IndexError):
        while True:
            yield waiting.popleft()


def _start_worker() -> None:
    _end_on_interrupt()
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent leaves no worker behind, which would wait for ever or write where the next ingest does."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _end_on_interrupt() -> None:
    """Ctrl-C reaches the workers, too: they end at once and in silence, the parent speaks."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
