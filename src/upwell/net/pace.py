"""How often one host is asked: a rate and a number of requests at once, slower when the host slows down or asks for it."""

import asyncio
import fcntl
import hashlib
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from weakref import WeakKeyDictionary

__all__ = ["Pace", "pace_of"]

MAX_SLOWDOWN = 64.0  # times the usual gap: the most that failures can slow a host's rate down
RECOVERY_FACTOR = 0.8  # each good answer multiplies the slowdown by this
MAX_SHARED_WAIT_SECONDS = 3600.0
LATENCY_WEIGHT = 0.3  # of the latest answer in the running average of latencies


_paces: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Pace]]" = WeakKeyDictionary()


def pace_of(host: str, *, gap: float, concurrency: int) -> "Pace":
    """The pace of a host: one for all that ask it in this process, and in step with other processes of this user."""
    paces = _paces.setdefault(asyncio.get_running_loop(), {})
    if host not in paces:
        paces[host] = Pace(gap=gap, concurrency=concurrency, shared=_shared_file(host) if gap else None)
    pace = paces[host]
    pace.gap = max(pace.gap, gap)
    return pace


def _shared_file(host: str) -> Path | None:
    """Where the processes of this user keep the time of the next request to a host; None where there is no place for it."""
    folder = Path(tempfile.gettempdir()) / f"upwell-pace-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        if not folder.is_symlink() and folder.stat().st_uid == os.getuid():
            return folder / hashlib.sha1(host.encode(), usedforsecurity=False).hexdigest()
    return None


class Pace:
    """The request slots of one host, each an `async with`; they are handed out in order, so that a burst cannot break the rate."""

    def __init__(self, *, gap: float, concurrency: int, shared: Path | None = None) -> None:
        self._shared = shared  # the file that other processes read too
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
            if (wait := self._reserve()) > 0:
                await asyncio.sleep(wait)
        except BaseException:  # a cancelled wait gives its slot back too
            self._slots.release()
            raise
        self._next_start = time.monotonic() + self.current_gap

    @property
    def seconds_to_wait(self) -> float:
        """How long the next request has to wait at least."""
        return max(0.0, self._next_start - time.monotonic())

    def _reserve(self) -> float:
        """Takes the next free moment that this user's processes leave for the host; the seconds until then."""
        if self._shared is None or not self.gap:
            return 0.0
        now = time.monotonic()
        try:
            with os.fdopen(os.open(self._shared, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                text = file.read(40).strip()
                taken = float(text) if text.replace(".", "", 1).isdigit() else 0.0
                start = max(
                    now, taken if taken < now + MAX_SHARED_WAIT_SECONDS else 0.0
                )  # a clock of before the last boot is none
                file.seek(0)
                file.write(f"{start + self.gap:.6f}".ljust(40))
        except OSError:
            return 0.0
        return start - now

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
