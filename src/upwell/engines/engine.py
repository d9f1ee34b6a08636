"""Interface of an engine, handles of its workers, and the number of sites that a machine can run at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from upwell.errors import WorkerLost
from upwell.operating_system import max_open_files
from upwell.supervision import Activity, free_bytes

__all__ = ["Engine", "EventObserver", "WorkFunction", "WorkerHandle", "site_capacity"]

W = TypeVar("W", contravariant=True)
R = TypeVar("R", covariant=True)

EventObserver = Callable[[Any], None]
# Takes a piece of work and an observer of its events. It is defined at module level, and work, events and result can be pickled, so that
# other processes can run it. If it is cancelled, it returns a partial result.
WorkFunction = Callable[[Any, EventObserver], Awaitable[Any]]

FILES_PER_PROCESS = 64  # open files besides those of the sites: libraries, logs, the pipes of a browser
FILES_PER_SITE = (
    12  # measured: 7 while it runs (state, its log, archive, events, a connection), 11 while results are written
)
BYTES_PER_PROCESS = 200_000_000  # measured: 145 MB with one site
BYTES_PER_SITE = 8_000_000  # measured: 7 MB each for 16 sites, 3 MB for 24, 1.1 MB for 100, in their first twenty requests; less than 1 MB later
MEMORY_SHARE = 0.5  # share of the free memory that sites may use
# One core reads about 40 answers a second, so at one request a second per site a third of these keep it busy. With 256 a thousand sites
# took 1.6 GB.
MAX_SITES_PER_PROCESS = 128


class Engine(Protocol[W, R]):
    """Runs a function for pieces of work; used inside `async with`."""

    @property
    def capacity(self) -> int:
        """Return how many pieces of work it can run at once."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def run(self, work: W, host: str, observe: EventObserver) -> R:
        """Run a piece of work and return the function's result; work of one host runs in one worker.

        If the call is cancelled, the function is cancelled in its worker and its partial result is returned. Raise WorkerLost if the
        worker's process or machine is gone.
        """
        ...


@dataclass(eq=False, kw_only=True)
class WorkerHandle:
    """Handle of one worker process or actor: the hosts that it serves and the calls that wait for its results."""

    hosts: Counter[str] = field(default_factory=Counter)
    _waiting: dict[int, tuple[asyncio.Future[Any], EventObserver]] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=count)

    async def result(
        self, host: str, observe: EventObserver, start: Callable[[int], object], cancel: Callable[[int], object]
    ) -> Any:
        """Run a job in the worker and return its result; forward cancellation; release its host."""
        number, future = next(self._numbers), asyncio.get_running_loop().create_future()
        self._waiting[number] = future, observe
        try:
            start(number)
            while not future.done():
                try:
                    await asyncio.wait([future])
                except asyncio.CancelledError:  # the worker's function returns a partial result
                    cancel(number)
            return future.result()
        finally:
            self._waiting.pop(number, None)
            self.hosts[host] -= 1

    def receive(self, kind: str, number: int, value: Any, failure: BaseException | None = None) -> None:
        """Handle a message from the worker, an event or the end of a job; ignore it if no call waits for it."""
        future, observe = self._waiting.get(number, (None, None))
        if future is None or observe is None or future.done():
            return
        if kind == "event":
            try:
                observe(value)
            except Exception as error:  # noqa: BLE001 # of the observer: raised where the result is awaited
                future.set_exception(error)
        elif failure is not None:
            future.set_exception(failure)
        else:
            future.set_result(value)

    def fail_all(self, reason: str) -> None:
        """Raise WorkerLost in all calls that wait for this worker, because it is gone."""
        self.fail_jobs(reason, [], is_certain=False)

    def fail_jobs(self, reason: str, activities: Sequence[Activity], *, is_certain: bool) -> None:
        """Raise WorkerLost in all calls that wait for this worker, with what each job was doing; blame the others for none of it.

        `is_certain` says that the activities are why the worker was killed.
        """
        by_job = {activity.job: activity for activity in activities if activity.job in self._waiting}
        for number, (future, _) in self._waiting.items():
            if future.done():
                continue
            error = WorkerLost(reason)
            error.is_blamed = not by_job or number in by_job
            if number in by_job:
                activity = by_job[number]
                error.is_certain, error.stage = is_certain, activity.stage
                error.outcome, error.url = activity.outcome, activity.url
            future.set_exception(error)


def site_capacity(processes: int) -> int:
    """Return how many sites all processes together can run at once, at least one each; raise the soft limit of open files if possible."""
    files = max_open_files(FILES_PER_PROCESS + FILES_PER_SITE * MAX_SITES_PER_PROCESS)
    by_files = (files - FILES_PER_PROCESS) // FILES_PER_SITE if files is not None else MAX_SITES_PER_PROCESS
    by_memory = int((MEMORY_SHARE * free_bytes() / processes - BYTES_PER_PROCESS) // BYTES_PER_SITE)
    return processes * max(1, min(by_files, by_memory, MAX_SITES_PER_PROCESS))
