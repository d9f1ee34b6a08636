"""How often one host is asked: a rate and a number of requests at once, slower when the host slows down or asks for it."""

import asyncio
import time
from types import TracebackType

__all__ = ["Pace"]

MAX_SLOWDOWN = 64.0  # times the usual gap: the most that failures can slow a host's rate down
RECOVERY_FACTOR = 0.8  # each good answer multiplies the slowdown by this
LATENCY_WEIGHT = 0.3  # of the latest answer in the running average of latencies


class Pace:
    """The request slots of one host, each an `async with`; they are handed out in order, so that a burst cannot break the rate."""

    def __init__(self, *, gap: float, concurrency: int) -> None:
        self.gap = gap  # seconds between requests, as the user and robots.txt want it
        self.slowdown = 1.0  # times the gap, after failures
        self.latency = 0.0  # seconds that an answer takes, running average
        self._slots = asyncio.Semaphore(concurrency)
        self._next_start = 0.0  # on the monotonic clock: no request begins before

    @property
    def current_gap(self) -> float:
        """Seconds between requests at present: never fewer than an answer takes (as Scrapy's AutoThrottle, with one request at a time)."""
        return max(self.gap * self.slowdown, self.latency) if self.gap else 0.0

    async def __aenter__(self) -> None:
        """Waits for a free slot and then until the next request may begin."""
        await self._slots.acquire()
        try:
            while True:  # check again after each sleep: a back-off meanwhile may have moved the start
                wait = self._next_start - time.monotonic()
                if wait <= 0:
                    break
                await asyncio.sleep(wait)
        except BaseException:  # a cancelled wait gives its slot back too
            self._slots.release()
            raise
        self._next_start = time.monotonic() + self.current_gap

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._slots.release()

    def record_answer(self, seconds: float) -> None:
        """Counts a good answer that took so many seconds."""
        self.latency = (1 - LATENCY_WEIGHT) * self.latency + LATENCY_WEIGHT * seconds
        self.slowdown = max(1.0, self.slowdown * RECOVERY_FACTOR)

    def back_off(self, seconds: float) -> None:
        """Leaves the host alone for so many seconds, because it failed, refused or was too slow, and doubles the gap afterwards."""
        self.slowdown = min(MAX_SLOWDOWN, self.slowdown * 2)
        self._next_start = max(self._next_start, time.monotonic() + seconds)
