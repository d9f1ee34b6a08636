"""Which work runs when: so many at once, one after the other on each host, failed ones again later, the most promising first.

Work is taken from an iterator when there is room for it, so that a hundred thousand pieces need no more memory than those that run.

Where more wait than may run, a piece has turns. When its turn is over and it should bring less than half of what a new piece brings a
second on average, it makes room, and goes on when nothing better waits (the marginal value theorem, Charnov 1976). What it should bring it tells itself.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Ended", "Retry", "Schedule", "Telling"]

W = TypeVar("W")
R = TypeVar("R")

LOOK_AHEAD = (
    1000  # pieces of work that are held back at most, because their host is busy, or until there is more to give
)
ROOM_SHARE = 0.5  # of what a waiting piece should bring: one that brings less makes room. Going on later has its price, too; not swept
TURN_REQUESTS = 100  # of a first turn; further ones are as long as all before, so that going on costs at most as much again; not swept


@dataclass(frozen=True, kw_only=True)
class Retry:
    """How often work that failed for a passing reason runs again, and after how long."""

    times: int = 0
    seconds: float = 15.0  # before the first time; four times as long before each further one
    factor: float = 4.0


@dataclass(frozen=True, kw_only=True)
class Telling:
    """What a piece of work says while it runs: what it did so far, and what its next request should bring."""

    requests: int
    records: int
    expected: float  # new records of the next request


@dataclass(eq=False)
class Piece(Generic[W]):
    """A piece of work on its way."""

    work: W
    host: str
    tries: int = 0  # that failed
    requests: int = 0
    records: int = 0
    turn_ends: int = TURN_REQUESTS  # after so many requests in all
    turn_requests: int = 0  # before this turn
    turn_records: int = 0
    turn_began: float = 0.0
    value: float = 0.0  # records a second that it should bring
    is_put_off: bool = False

    def begin(self) -> None:
        """Begins a turn."""
        self.is_put_off = False
        self.turn_began, self.turn_requests, self.turn_records = time.monotonic(), self.requests, self.records

    def hear(self, told: Telling) -> None:
        """Takes in what it says; what it only repeats from before this turn says nothing about its speed."""
        if told.requests <= self.turn_requests:
            self.turn_began = time.monotonic()
            return
        self.requests, self.records = told.requests, max(self.records, told.records)
        seconds = max(0.01, time.monotonic() - self.turn_began)
        self.value = told.expected * (self.requests - self.turn_requests) / seconds


@dataclass(frozen=True, kw_only=True)
class Ended(Generic[W, R]):
    """What came of a piece of work."""

    work: W
    result: R
    tries: int


@dataclass(kw_only=True)
class Schedule(Generic[W, R]):
    """Runs work by a function, and gives what came of each as it ends."""

    works: Iterable[W]
    run: Callable[[W, Callable[[Telling], None]], Awaitable[R]]  # where it is cancelled it still returns: what there is
    host_of: Callable[[W], str]
    at_once: int
    retry: Retry = field(default_factory=Retry)
    is_passing: Callable[[R], bool] = lambda result: False  # whether what came is worth another try
    is_cut_short: Callable[[W, R], bool] = lambda work, result: False  # whether it could go on, if it were given more
    may_go_on: Callable[[], bool] = lambda: False  # whether there is more to give
    is_stopping: bool = False
    turns: int = 0  # that were ended for others

    def __post_init__(self) -> None:
        self._rest = iter(self.works)
        self._peeked: deque[W] = deque()  # taken from the rest to see whether there is any
        self._ready: deque[Piece[W]] = deque()  # their host is free again
        self._behind: dict[str, deque[Piece[W]]] = {}  # by host, which is busy
        self._put_off: list[tuple[float, int, Piece[W]]] = []  # that made room for others; a heap by falling value
        self._later: list[tuple[float, int, Piece[W]]] = []  # a heap: when, in which order
        self._cut_short: deque[tuple[Piece[W], R]] = deque()  # with what came so far
        self._tasks: dict[asyncio.Task[R], Piece[W]] = {}
        self._numbers = 0
        self._records = self._seconds = 0.0  # of all turns that have ended: what a piece brings on average

    @property
    def running(self) -> int:
        """Pieces of work that run now."""
        return len(self._tasks)

    def stop(self) -> None:
        """Starts nothing more, and ends what runs with what there is."""
        self.is_stopping = True
        for task in self._tasks:
            task.cancel()

    async def ended(self) -> AsyncGenerator[Ended[W, R]]:
        """What came of each piece of work, as it ends."""
        try:
            while self._start() or self._tasks or (self._later and not self.is_stopping):
                wait = max(0.0, self._later[0][0] - time.monotonic()) if self._later and not self._is_full else None
                if not self._tasks:
                    await asyncio.sleep(wait or 0.0)
                    continue
                done, _ = await asyncio.wait(self._tasks, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    ended = self._end(task)
                    if ended is not None:
                        yield ended
            for piece, result in self._cut_short:
                yield Ended(work=piece.work, result=result, tries=piece.tries + 1)
        finally:
            self.stop()
            if self._tasks:
                await asyncio.wait(self._tasks)

    @property
    def _is_full(self) -> bool:
        return len(self._tasks) >= self.at_once

    def _start(self) -> bool:
        """Starts work while there is room; whether anything was started."""
        before = len(self._tasks)
        while not self.is_stopping and not self._is_full and (piece := self._next()) is not None:
            self._behind[piece.host] = deque()
            piece.begin()
            task = asyncio.ensure_future(self.run(piece.work, lambda told, piece=piece: self._hear(piece, told)))  # type: ignore[misc] # bound now
            self._tasks[task] = piece
        return len(self._tasks) > before

    def _next(self) -> Piece[W] | None:
        """The next piece of work whose host is free: what is to be tried again, then what should bring most."""
        if self._later and self._later[0][0] <= time.monotonic():
            self._ready.append(heapq.heappop(self._later)[2])
        while self._ready:
            piece = self._ready.popleft()
            if piece.host not in self._behind:
                return piece
            self._behind[piece.host].append(piece)
        while self._put_off and (-self._put_off[0][0] > self._value_of_new() or not self._has_more()):
            piece = heapq.heappop(self._put_off)[2]
            if piece.host not in self._behind:
                return piece
            self._behind[piece.host].append(piece)
        while self._held_back() < LOOK_AHEAD and self._has_more():
            work = self._peeked.popleft()
            piece = Piece(work, self.host_of(work))
            if piece.host not in self._behind:
                return piece
            self._behind[piece.host].append(piece)
        if self._cut_short and self._cut_short[0][0].host not in self._behind and self.may_go_on():
            return self._cut_short.popleft()[0]
        return None

    def _has_more(self) -> bool:
        """Whether there is work that was never begun."""
        if not self._peeked:
            self._peeked.extend(work for work in [next(self._rest, None)] if work is not None)
        return bool(self._peeked)

    def _held_back(self) -> int:
        return sum(map(len, self._behind.values()))

    def _value_of_new(self) -> float:
        """Records a second that a new piece of work should bring: what the others brought so far."""
        now, running = time.monotonic(), self._tasks.values()
        records = self._records + sum(piece.records - piece.turn_records for piece in running)
        seconds = self._seconds + sum(now - piece.turn_began for piece in running)
        return records / seconds if seconds else 0.0

    def _hear(self, piece: Piece[W], told: Telling) -> None:
        """Hears how a piece gets on; ends its turn where others wait that should bring more."""
        piece.hear(told)
        if piece.is_put_off or piece.requests < piece.turn_ends or not self._is_full or self.is_stopping:
            return
        waiting = -self._put_off[0][0] if self._put_off else 0.0
        if self._ready or (self._has_more() and self._held_back() < LOOK_AHEAD):
            waiting = max(waiting, self._value_of_new())
        if piece.value < ROOM_SHARE * waiting:
            piece.is_put_off = True
            for task in [task for task, other in self._tasks.items() if other is piece]:
                task.cancel()

    def _end(self, task: asyncio.Task[R]) -> Ended[W, R] | None:
        """What came of a piece of work; None where it runs again later."""
        piece = self._tasks.pop(task)
        self._ready.extend(self._behind.pop(piece.host, ()))
        self._records += piece.records - piece.turn_records
        self._seconds += time.monotonic() - piece.turn_began
        if task.cancelled():  # before it had begun
            return None
        result = task.result()
        if piece.is_put_off and not self.is_stopping:
            self.turns += 1
            piece.turn_ends = 2 * piece.requests
            self._numbers += 1
            heapq.heappush(self._put_off, (-piece.value, self._numbers, piece))
            return None
        if self.is_passing(result) and piece.tries < self.retry.times and not self.is_stopping:
            self._numbers += 1
            again_at = time.monotonic() + self.retry.seconds * self.retry.factor**piece.tries
            piece.tries += 1
            heapq.heappush(self._later, (again_at, self._numbers, piece))
            return None
        if self.is_cut_short(piece.work, result) and len(self._cut_short) < LOOK_AHEAD and not self.is_stopping:
            self._cut_short.append((piece, result))
            return None
        return Ended(work=piece.work, result=result, tries=piece.tries + 1)
