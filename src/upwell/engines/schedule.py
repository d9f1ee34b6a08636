"""Which work runs when: so many at once, one after the other on each host, failed ones again later.

Work is taken from an iterator when there is room for it, so that a hundred thousand pieces need no more memory than those that run.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Ended", "Retry", "Schedule"]

W = TypeVar("W")
R = TypeVar("R")

LOOK_AHEAD = 1000  # pieces of work that are held back at most, because their host is busy


@dataclass(frozen=True, kw_only=True)
class Retry:
    """How often work that failed for a passing reason runs again, and after how long."""

    times: int = 0
    seconds: float = 15.0  # before the first time; four times as long before each further one
    factor: float = 4.0


@dataclass(eq=False)
class Piece(Generic[W]):
    """A piece of work on its way."""

    work: W
    host: str
    tries: int = 0


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
    run: Callable[[W], Awaitable[R]]  # where it is cancelled it still returns: what there is
    host_of: Callable[[W], str]
    at_once: int
    retry: Retry = field(default_factory=Retry)
    is_passing: Callable[[R], bool] = lambda result: False  # whether what came is worth another try
    running: int = 0
    is_stopping: bool = False

    def __post_init__(self) -> None:
        self._rest = iter(self.works)
        self._ready: deque[Piece[W]] = deque()  # their host is free again
        self._behind: dict[str, deque[Piece[W]]] = {}  # by host, which is busy
        self._later: list[tuple[float, int, Piece[W]]] = []  # a heap: when, in which order
        self._tasks: dict[asyncio.Task[R], Piece[W]] = {}
        self._numbers = 0

    @property
    def waiting(self) -> int:
        """Pieces of work that were taken from the iterator and wait: for their host, or to be tried again."""
        return len(self._ready) + sum(map(len, self._behind.values())) + len(self._later)

    def stop(self) -> None:
        """Starts nothing more, and ends what runs with what there is."""
        self.is_stopping = True
        for task in self._tasks:
            task.cancel()

    async def ended(self) -> AsyncGenerator[Ended[W, R]]:
        """What came of each piece of work, as it ends."""
        try:
            while self._start() or self._tasks or (self._later and not self.is_stopping):
                pause = max(0.0, self._later[0][0] - time.monotonic()) if self._later and not self._is_full else None
                if not self._tasks:
                    await asyncio.sleep(pause or 0.0)
                    continue
                done, _ = await asyncio.wait(self._tasks, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    ended = self._end(task)
                    if ended is not None:
                        yield ended
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
            self._behind.setdefault(piece.host, deque())
            piece.tries += 1
            self._tasks[asyncio.ensure_future(self.run(piece.work))] = piece
        self.running = len(self._tasks)
        return len(self._tasks) > before

    def _next(self) -> Piece[W] | None:
        """The next piece of work whose host is free."""
        if self._later and self._later[0][0] <= time.monotonic():
            self._ready.append(heapq.heappop(self._later)[2])
        while self._ready:
            piece = self._ready.popleft()
            if piece.host not in self._behind:
                return piece
            self._behind[piece.host].append(piece)
        while sum(map(len, self._behind.values())) < LOOK_AHEAD:
            work = next(self._rest, None)
            if work is None:
                return None
            piece = Piece(work, self.host_of(work))
            if piece.host not in self._behind:
                return piece
            self._behind[piece.host].append(piece)
        return None

    def _end(self, task: asyncio.Task[R]) -> Ended[W, R] | None:
        """What came of a piece of work; None where it is tried again later."""
        piece = self._tasks.pop(task)
        self._ready.extend(self._behind.pop(piece.host, ()))
        result = task.result()
        if self.is_passing(result) and piece.tries <= self.retry.times and not self.is_stopping:
            wait = self.retry.seconds * self.retry.factor ** (piece.tries - 1)
            self._numbers += 1
            heapq.heappush(self._later, (time.monotonic() + wait, self._numbers, piece))
            return None
        return Ended(work=piece.work, result=result, tries=piece.tries)
