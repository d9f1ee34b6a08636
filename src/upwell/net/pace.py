"""How often one host is asked: a rate and a number of requests at once, slower when the host slows down or asks for it."""

import asyncio
import time
from types import TracebackType
from weakref import WeakKeyDictionary, WeakValueDictionary

from upwell.net.leases import HostLeases, leases_of_user
from upwell.net.memory import ask_store

__all__ = ["Pace", "pace_of"]

MAX_SLOWDOWN = 64.0  # times the usual gap: the most that failures can slow a host's rate down
RECOVERY_FACTOR = 0.8  # each good answer multiplies the slowdown by this
LATENCY_WEIGHT = 0.3  # of the latest answer in the running average of latencies
LOAD_FACTOR = 2.0  # times the seconds of an answer between two requests, at least: a host rests for as long as it worked; not swept
SLACK = 1.02  # times the gap, from when a request was sent: the next may be faster on its way, and the server counts from arrivals


# Of each loop, by host; a pace lives as long as somebody asks the host, the lease on disk lives on.
_paces: "WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[str, Pace]]" = WeakKeyDictionary()


def pace_of(host: str, *, gap: float, concurrency: int, leases: HostLeases | None = None) -> "Pace":
    """The pace of a host: one for all that ask it in this process, and in step with all that keep to the same leases.

    These are those of this user on this machine, unless others are given, which many machines share.
    """
    paces = _paces.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    pace = paces.get(host)
    if pace is None:
        pace = paces[host] = Pace(gap=gap, concurrency=concurrency, host=host, leases=leases_of_user() if gap else None)
    if leases is not None:
        pace.leases = leases
    pace.gap = max(pace.gap, gap)
    return pace


class Pace:
    """The request slots of one host, each an `async with`; they are handed out in order, so that a burst cannot break the rate.

    The gap to the next request begins when one was sent (`was_sent`), not when it might have been: a busy loop may send it late.
    """

    def __init__(self, *, gap: float, concurrency: int, host: str = "", leases: HostLeases | None = None) -> None:
        self._host, self.leases = host, leases  # that other processes keep to, too
        self.gap = gap  # seconds between requests, as the user and robots.txt want it
        self.slowdown = 1.0  # times the gap, after failures
        self.latency = 0.0  # seconds that an answer takes, running average
        self._slots = asyncio.Semaphore(concurrency)
        self._next_start = 0.0  # on the monotonic clock: no request begins before

    @property
    def current_gap(self) -> float:
        """Seconds between requests at present: more where the host takes long to answer (host load, Entity §6.2)."""
        return max(self.gap * self.slowdown, LOAD_FACTOR * self.latency) if self.gap else 0.0

    async def __aenter__(self) -> None:
        """Waits for a free slot and then until the next request may begin."""
        await self._slots.acquire()
        try:
            while (wait := self.seconds_to_wait or await self._take_lease()) > 0:  # noqa: ASYNC110 # no event tells of other processes
                await asyncio.sleep(wait)  # and look again: a back-off, or another process, may have moved the start
        except BaseException:  # a cancelled wait gives its slot back too
            self._slots.release()
            raise
        self._next_start = time.monotonic() + self.current_gap

    def was_sent(self) -> None:
        """Counts the gap from now on: the request has just been sent."""
        gap = SLACK * self.current_gap
        self._next_start = max(self._next_start, time.monotonic() + gap)
        self._extend_lease(gap)

    @property
    def seconds_to_wait(self) -> float:
        """How long the next request has to wait at least."""
        return max(0.0, self._next_start - time.monotonic())

    async def _take_lease(self) -> float:
        """Takes the lease of the host, or says how many seconds there are to wait for it."""
        leases = self.leases
        if leases is None or not self.gap:
            return 0.0
        return await ask_store(leases, lambda: leases.take(self._host, self.current_gap))

    def _extend_lease(self, seconds: float) -> None:
        if self.leases is None or not self.gap:
            return
        if not self.leases.is_remote:
            self.leases.extend(self._host, seconds)
            return
        told = asyncio.get_running_loop().run_in_executor(None, self.leases.extend, self._host, seconds)
        told.add_done_callback(lambda done: done.cancelled() or done.exception())  # the next `take` says what is wrong

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
        self._extend_lease(seconds)
