"""How often a host is asked: one rate and so many at once, slower when the host slows down or asks for it."""

import asyncio
import time
from types import TracebackType

__all__ = ["Pace"]

SLOWEST = 64.0  # times the usual gap: how far trouble can slow a host's rate
CALMER = 0.8  # what an answer in good order makes of it


class Pace:
    """The turns of one host, each an `async with`: given out in order, so that a burst cannot break the rate."""

    def __init__(self, *, gap: float, concurrency: int) -> None:
        self.gap = gap  # seconds between requests, as the user and robots.txt have it
        self.trouble = 1.0  # how many times the gap it is at the moment
        self.latency = 0.0  # seconds that answers take, lately
        self._slots = asyncio.Semaphore(concurrency)
        self._next = 0.0

    @property
    def now(self) -> float:
        """Seconds between requests at the moment: never fewer than an answer takes (AutoThrottle's idea, one at a time)."""
        return max(self.gap * self.trouble, self.latency) if self.gap else 0.0

    async def __aenter__(self) -> None:
        """Waits for a free slot and for the host's time to come."""
        await self._slots.acquire()
        try:
            while True:  # again, because what the host said meanwhile may have moved its time
                wait = self._next - time.monotonic()
                if wait <= 0:
                    break
                await asyncio.sleep(wait)
        except BaseException:  # also a cancelled wait gives its place back
            self._slots.release()
            raise
        self._next = time.monotonic() + self.now

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._slots.release()

    def answered(self, seconds: float) -> None:
        """An answer in good order came."""
        self.latency = 0.7 * self.latency + 0.3 * seconds
        self.trouble = max(1.0, self.trouble * CALMER)

    def troubled(self, wait: float) -> None:
        """The host was too slow, failed or said no: nobody asks for so many seconds, and then more slowly."""
        self.trouble = min(SLOWEST, self.trouble * 2)
        self._next = max(self._next, time.monotonic() + wait)
