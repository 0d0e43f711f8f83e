"""Mapping units: in this process, over local processes, or over an engine the caller already runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Protocol, TypeVar

from trajlab.errors import InfrastructureError

Task = TypeVar("Task")
Result = TypeVar("Result")

WORTH_PROCESSES = 192 << 20
"""Bytes from which starting processes pays: a worker costs about 0.4 s of imports."""


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
        jobs: Processes; 1 runs in this process.

    Raises:
        InfrastructureError: A worker process died.
    """
    if jobs <= 1:
        yield from map(function, tasks)
        return
    pool = ProcessPoolExecutor(max_workers=jobs, mp_context=get_context("spawn"), initializer=_start_worker)
    try:
        # Few tasks are handed out at a time, so that an interrupt waits for little.
        queue = iter(tasks)
        running = _submit(pool, function, islice(queue, jobs + 1))
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
                running |= _submit(pool, function, islice(queue, 1))
    except BrokenProcessPool as error:
        raise InfrastructureError(
            "ingest", "a worker process was killed (out of memory?)", "", "Run the same command again: it resumes"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _submit(
    pool: ProcessPoolExecutor, function: Callable[[Task], Result], tasks: Iterable[Task]
) -> set[Future[Result]]:
    """Hand out tasks; workers that this starts hold back interrupts until they can end without a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        return {pool.submit(function, task) for task in tasks}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return {pool.submit(function, task) for task in tasks}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
