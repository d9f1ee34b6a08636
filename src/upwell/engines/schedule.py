"""Schedule of work: a bounded number at once, one at a time per host, failed work again later, the most productive first.

Work is taken from an iterator only when it can start, so that a hundred thousand pieces need no more memory than the running ones.

If more pieces wait than can run, each runs in turns. When its turn is over and it should yield less than half of what a new piece yields
per second on average, it is suspended, and resumed when nothing better waits (marginal value theorem, Charnov 1976). Each piece reports its
own expected yield.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

__all__ = ["CompletedWork", "Retry", "Schedule", "WorkProgress"]

logger = logging.getLogger("upwell.engines")

W = TypeVar("W")
R = TypeVar("R")

MAX_HELD_BACK = 1000  # pieces held back because their host is busy, or until more budget is available
# A piece is suspended if its expected yield is below this share of a waiting one's; resuming has a cost, too; not swept
SUSPEND_SHARE = 0.5
# Requests of the first turn; each further turn doubles the total, so that replaying costs at most as much again; not swept
FIRST_TURN_REQUESTS = 100


@dataclass(frozen=True, kw_only=True)
class Retry:
    """How often work that failed for a transient reason runs again, and after how long."""

    times: int = 0
    seconds: float = 15.0  # before the first retry
    factor: float = 4.0  # by which the wait grows for each further retry


@dataclass(frozen=True, kw_only=True)
class WorkProgress:
    """Report of a running piece of work: requests and records so far, and the expected yield of its next request."""

    requests: int
    records: int
    expected: float  # new records of the next request


@dataclass(eq=False)
class ScheduledWork(Generic[W]):
    """Piece of work with its progress."""

    work: W
    host: str
    tries: int = 0  # failed ones
    requests: int = 0
    records: int = 0
    turn_ends: int = FIRST_TURN_REQUESTS  # total number of requests after which the turn is over
    turn_requests: int = 0  # total at the start of this turn
    turn_records: int = 0  # total at the start of this turn
    turn_started: float = 0.0
    value: float = 0.0  # expected new records per second
    is_suspended: bool = False

    def begin(self) -> None:
        """Begin a turn."""
        self.is_suspended = False
        self.turn_started, self.turn_requests, self.turn_records = time.monotonic(), self.requests, self.records

    def update(self, progress: WorkProgress) -> None:
        """Update from a report; a report replayed from an earlier turn says nothing about the speed."""
        if progress.requests <= self.turn_requests:
            self.turn_started = time.monotonic()
            return
        self.requests, self.records = progress.requests, max(self.records, progress.records)
        seconds = max(0.01, time.monotonic() - self.turn_started)
        self.value = progress.expected * (self.requests - self.turn_requests) / seconds


@dataclass(frozen=True, kw_only=True)
class CompletedWork(Generic[W, R]):
    """Result of a piece of work."""

    work: W
    result: R
    tries: int


@dataclass(kw_only=True)
class Schedule(Generic[W, R]):
    """Runs work by a function and yields the results as pieces complete."""

    works: Iterable[W]
    run: Callable[[W, Callable[[WorkProgress], None]], Awaitable[R]]  # if cancelled, returns a partial result
    host_of: Callable[[W], str]
    at_once: int
    retry: Retry = field(default_factory=Retry)
    is_transient: Callable[[R], bool] = lambda result: False  # True for a failure worth a retry
    is_cut_short: Callable[[W, R], bool] = lambda work, result: False  # True if more budget would let it continue
    may_continue: Callable[[], bool] = lambda: False  # True if there is more budget
    is_stopping: bool = False
    suspensions: int = 0  # turns ended in favour of other pieces

    def __post_init__(self) -> None:
        self._rest = iter(self.works)
        self._peeked: deque[W] = deque()  # taken from the iterator to see whether there is more
        self._ready: deque[ScheduledWork[W]] = deque()  # whose host is free again
        self._held_back: dict[str, deque[ScheduledWork[W]]] = {}  # by busy host
        self._suspended: list[tuple[float, int, ScheduledWork[W]]] = []  # heap by falling value
        self._later: list[tuple[float, int, ScheduledWork[W]]] = []  # to be retried; heap by time
        self._cut_short: deque[tuple[ScheduledWork[W], R]] = deque()  # with partial results
        self._tasks: dict[asyncio.Task[R], ScheduledWork[W]] = {}
        self._numbers = 0
        self._records = self._seconds = 0.0  # totals of all ended turns, for the average yield

    @property
    def running(self) -> int:
        """Return the number of running pieces."""
        return len(self._tasks)

    def stop(self) -> None:
        """Start nothing more, and cancel running pieces, which return partial results."""
        self.is_stopping = True
        for task in self._tasks:
            task.cancel()

    async def completed(self) -> AsyncGenerator[CompletedWork[W, R]]:
        """Yield the result of each piece of work as it completes."""
        try:
            while self._start() or self._tasks or (self._later and not self.is_stopping):
                wait = max(0.0, self._later[0][0] - time.monotonic()) if self._later and not self._is_full else None
                if not self._tasks:
                    await asyncio.sleep(wait or 0.0)
                    continue
                done, _ = await asyncio.wait(self._tasks, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    completed = self._end(task)
                    if completed is not None:
                        yield completed
            for piece, result in self._cut_short:
                yield CompletedWork(work=piece.work, result=result, tries=piece.tries + 1)
        finally:
            self.stop()
            if self._tasks:
                await asyncio.wait(self._tasks)

    @property
    def _is_full(self) -> bool:
        return len(self._tasks) >= self.at_once

    def _start(self) -> bool:
        """Start work up to the maximum; return True if anything was started."""
        before = len(self._tasks)
        while not self.is_stopping and not self._is_full and (piece := self._next()) is not None:
            self._held_back[piece.host] = deque()
            piece.begin()
            logger.info("%s: started, try %d", piece.host, piece.tries + 1)
            task = asyncio.ensure_future(self.run(piece.work, partial(self._update, piece)))
            self._tasks[task] = piece
        return len(self._tasks) > before

    def _next(self) -> ScheduledWork[W] | None:
        """Return the next piece whose host is free: first retries, then the piece with the highest expected yield."""
        if self._later and self._later[0][0] <= time.monotonic():
            self._ready.append(heapq.heappop(self._later)[2])
        while self._ready:
            piece = self._ready.popleft()
            if piece.host not in self._held_back:
                return piece
            self._held_back[piece.host].append(piece)
        while self._suspended and (-self._suspended[0][0] > self._value_of_new() or not self._has_more()):
            piece = heapq.heappop(self._suspended)[2]
            if piece.host not in self._held_back:
                return piece
            self._held_back[piece.host].append(piece)
        while self._count_held_back() < MAX_HELD_BACK and self._has_more():
            work = self._peeked.popleft()
            piece = ScheduledWork(work, self.host_of(work))
            if piece.host not in self._held_back:
                return piece
            self._held_back[piece.host].append(piece)
        if self._cut_short and self._cut_short[0][0].host not in self._held_back and self.may_continue():
            return self._cut_short.popleft()[0]
        return None

    def _has_more(self) -> bool:
        """Return True if there is work that was never started."""
        if not self._peeked:
            self._peeked.extend(work for work in [next(self._rest, None)] if work is not None)
        return bool(self._peeked)

    def _count_held_back(self) -> int:
        return sum(map(len, self._held_back.values()))

    def _value_of_new(self) -> float:
        """Estimate the records per second of a new piece: the average of all pieces so far."""
        now, running = time.monotonic(), self._tasks.values()
        records = self._records + sum(piece.records - piece.turn_records for piece in running)
        seconds = self._seconds + sum(now - piece.turn_started for piece in running)
        return records / seconds if seconds else 0.0

    def _update(self, piece: ScheduledWork[W], progress: WorkProgress) -> None:
        """Update a piece from its report; suspend it if its turn is over and a better one waits."""
        piece.update(progress)
        if piece.is_suspended or piece.requests < piece.turn_ends or not self._is_full or self.is_stopping:
            return
        waiting = -self._suspended[0][0] if self._suspended else 0.0
        if self._ready or (self._has_more() and self._count_held_back() < MAX_HELD_BACK):
            waiting = max(waiting, self._value_of_new())
        if piece.value < SUSPEND_SHARE * waiting:
            piece.is_suspended = True
            for task in [task for task, other in self._tasks.items() if other is piece]:
                task.cancel()

    def _end(self, task: asyncio.Task[R]) -> CompletedWork[W, R] | None:
        """Return the result of a piece of work, or None if it runs again later."""
        piece = self._tasks.pop(task)
        self._ready.extend(self._held_back.pop(piece.host, ()))
        self._records += piece.records - piece.turn_records
        self._seconds += time.monotonic() - piece.turn_started
        if task.cancelled():  # before it started
            return None
        result = task.result()
        if piece.is_suspended and not self.is_stopping:
            self.suspensions += 1
            logger.info(
                "%s: suspended after %d requests, because others are expected to yield more", piece.host, piece.requests
            )
            piece.turn_ends = 2 * piece.requests
            self._numbers += 1
            heapq.heappush(self._suspended, (-piece.value, self._numbers, piece))
            return None
        if self.is_transient(result) and piece.tries < self.retry.times and not self.is_stopping:
            self._numbers += 1
            retry_at = time.monotonic() + self.retry.seconds * self.retry.factor**piece.tries
            piece.tries += 1
            logger.info("%s: failed, to be tried again", piece.host)
            heapq.heappush(self._later, (retry_at, self._numbers, piece))
            return None
        if self.is_cut_short(piece.work, result) and len(self._cut_short) < MAX_HELD_BACK and not self.is_stopping:
            self._cut_short.append((piece, result))
            return None
        return CompletedWork(work=piece.work, result=result, tries=piece.tries + 1)
