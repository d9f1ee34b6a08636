"""Request rate of each host, shared by all processes through leases, and slower when the host slows down or asks for it.

`Pace` hands out the request slots of one host in this process. `HostLeases` says when a host may be sent the next request by any process:
`FileLeases` is a file for all processes of one user, `upwell.store.postgres.PostgresLeases` a table for many machines.
"""

import asyncio
import math
import mmap
import os
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary
from zlib import crc32

from upwell.operating_system import PRIVATE_FLAGS, is_own, lock_file, unlock_file, user_id

__all__ = ["FileLeases", "HostLeases", "Pace", "call_store", "shared_pace", "user_leases"]

# The file is a memory-mapped table of leases, indexed by the hash of the host's name. Two hosts with the same slot wait for each other, which
# is only slower: with a thousand hosts at once it affects one in a thousand.
SLOTS = 2**20
# Start of a lease on the monotonic clock, which all processes of a machine share and nobody can set, and its length in seconds.
LEASE = struct.Struct("=dd")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # the monotonic clock starts again with the machine


class HostLeases(Protocol):
    """When each host may be sent the next request, for all processes that share the leases."""

    @property
    def is_remote(self) -> bool:
        """Return True if a call may wait for another machine."""
        ...

    def take(self, host: str, gap: float) -> float:
        """Lease a host for `gap` seconds and return 0; if another process has leased it, return the seconds to wait.

        With a gap of 0, the lease is as long as the last one: the process does not know the gap yet.
        """
        ...

    def extend(self, host: str, seconds: float) -> None:
        """Keep all processes from sending to a host for `seconds` from now."""
        ...


class FileLeases:
    """Host leases in a file, for all processes of this user."""

    is_remote = False

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | PRIVATE_FLAGS, 0o600)
        os.ftruncate(self._descriptor, SLOTS * LEASE.size)  # sparse: unused slots take no disk space
        self._table = mmap.mmap(self._descriptor, SLOTS * LEASE.size)
        self._threads = threading.Lock()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._threads:  # a file lock does not separate threads of one process
            lock_file(self._descriptor)
            try:
                yield
            finally:
                unlock_file(self._descriptor)

    def take(self, host: str, gap: float) -> float:
        """Lease a host for `gap` seconds and return 0; if another process has leased it, return the seconds to wait."""
        offset = self._offset(host)
        with self._locked():
            now = time.monotonic()
            left = self._seconds_left(offset, now)
            if left > 0:
                return left
            LEASE.pack_into(self._table, offset, now, gap or LEASE.unpack_from(self._table, offset)[1])
        return 0.0

    def extend(self, host: str, seconds: float) -> None:
        """Keep all processes from sending to a host for `seconds` from now."""
        offset = self._offset(host)
        with self._locked():
            now = time.monotonic()
            LEASE.pack_into(self._table, offset, now, max(self._seconds_left(offset, now), seconds))

    def _seconds_left(self, offset: int, now: float) -> float:
        """Return how long a lease lasts; one that starts in the future, because the clock was set back, starts now."""
        start, seconds = LEASE.unpack_from(self._table, offset)
        if start > now:
            start = now
            LEASE.pack_into(self._table, offset, start, seconds)
        return float(start + seconds - now)

    @staticmethod
    def _offset(host: str) -> int:
        return crc32(host.encode()) % SLOTS * LEASE.size


@cache
def user_leases() -> FileLeases | None:
    """Return the leases that all processes of this user share; None if the file cannot be created."""
    folder = Path(tempfile.gettempdir()) / f"upwell-pace-{user_id()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        if not folder.is_symlink() and is_own(folder.stat()):
            return FileLeases(folder / f"leases-{_boot_id()}")
    return None


def _boot_id() -> str:
    """Return what identifies the present run of the machine; "" where that cannot be known."""
    with suppress(OSError):
        return BOOT_ID.read_text().strip()
    return ""


T = TypeVar("T")


class _MaybeRemote(Protocol):
    @property
    def is_remote(self) -> bool: ...


async def call_store(store: _MaybeRemote, call: Callable[[], T]) -> T:
    """Call a store, in a thread if it may wait for another machine, so that other sites continue meanwhile."""
    if not store.is_remote:
        return call()
    running = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:  # finish storing first
        await asyncio.wait({running})
        raise


MAX_SLOWDOWN = 64.0  # largest factor by which failures increase the gap between requests
RECOVERY_FACTOR = 0.8  # by which each good answer multiplies the slowdown
LATENCY_WEIGHT = 0.3  # weight of the latest answer in the running average of latencies
LOAD_FACTOR = 2.0  # minimum gap as a multiple of the latency, so that a host idles as long as it works; not swept
SLACK = 1.02  # factor of the gap after a request was sent: the next may travel faster, and the server counts arrivals


# By event loop and host; a pace lives as long as a Fetcher uses it, the lease on disk lives on.
_paces: "WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[str, Pace]]" = WeakKeyDictionary()


def shared_pace(host: str, *, gap: float, concurrency: int, leases: HostLeases | None = None) -> "Pace":
    """Return the pace of a host, shared by all Fetchers of this event loop, and by all processes through leases.

    The leases are those of this user on this machine, unless `leases` shared by many machines are given.
    """
    paces = _paces.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    pace = paces.get(host)
    if pace is None:
        pace = paces[host] = Pace(gap=gap, concurrency=concurrency, host=host, leases=user_leases() if gap else None)
    if leases is not None:
        pace.leases = leases
    pace.gap = max(pace.gap, gap)
    return pace


class Pace:
    """Request slots of one host, each an `async with`, handed out in order, so that a burst cannot exceed the rate.

    The gap to the next request begins when a request was actually sent (`note_sent`), because a busy event loop may send it late.
    """

    def __init__(self, *, gap: float, concurrency: int, host: str = "", leases: HostLeases | None = None) -> None:
        self._host, self.leases = host, leases
        self.gap = gap  # seconds between requests, as set by the user and robots.txt
        self.slowdown = 1.0  # factor of the gap, after failures
        self.latency = 0.0  # seconds per answer, running average
        self._slots = asyncio.Semaphore(concurrency)
        self._next_start = 0.0  # monotonic time before which no request begins
        self._last_sent = -math.inf  # monotonic time

    @property
    def current_gap(self) -> float:
        """Return the seconds between requests at present, longer for a host that answers slowly (host load, Entity §6.2)."""
        return max(self.gap * self.slowdown, LOAD_FACTOR * self.latency) if self.gap else 0.0

    async def __aenter__(self) -> None:
        """Wait for a free slot and then until the next request may begin."""
        await self._slots.acquire()
        try:
            while (wait := self.seconds_to_wait or await self._take_lease()) > 0:  # noqa: ASYNC110 # other processes send no event
                await asyncio.sleep(wait)  # and check again: a back-off or another process may have postponed the start
        except BaseException:  # a cancelled wait releases its slot too
            self._slots.release()
            raise
        self._last_sent = time.monotonic()
        self._next_start = self._last_sent + self.current_gap

    async def wait_for_others(self) -> None:
        """Wait while another process keeps this host from being requested, although no gap is known here yet."""
        leases = self.leases
        while leases is not None and (wait := await call_store(leases, lambda: leases.take(self._host, 0.0))) > 0:  # noqa: ASYNC110 # as above
            await asyncio.sleep(wait)

    def set_gap(self, gap: float) -> None:
        """Set the gap; a longer one counts from the last request, for this process and for others."""
        if gap > self.gap:
            self.gap = gap
            left = self._last_sent + SLACK * self.current_gap - time.monotonic()
            if left > 0:
                self._next_start = max(self._next_start, time.monotonic() + left)
                self._extend_lease(left)
        self.gap = gap

    def note_sent(self) -> None:
        """Start the gap now: the request has just been sent."""
        gap, self._last_sent = SLACK * self.current_gap, time.monotonic()
        self._next_start = max(self._next_start, time.monotonic() + gap)
        self._extend_lease(gap)

    @property
    def seconds_to_wait(self) -> float:
        """Return the minimum time that the next request has to wait."""
        return max(0.0, self._next_start - time.monotonic())

    async def _take_lease(self) -> float:
        """Lease the host and return 0, or return the seconds to wait for the lease."""
        leases = self.leases
        if leases is None or not self.gap:
            return 0.0
        return await call_store(leases, lambda: leases.take(self._host, self.current_gap))

    def _extend_lease(self, seconds: float) -> None:
        if self.leases is None or not self.gap:
            return
        if not self.leases.is_remote:
            self.leases.extend(self._host, seconds)
            return
        extending = asyncio.get_running_loop().run_in_executor(None, self.leases.extend, self._host, seconds)
        extending.add_done_callback(
            lambda done: done.cancelled() or done.exception()
        )  # the next `take` reports an error

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._slots.release()

    def record_answer(self, seconds: float) -> None:
        """Record a good answer and the seconds that it took."""
        self.latency = (1 - LATENCY_WEIGHT) * self.latency + LATENCY_WEIGHT * seconds
        self.slowdown = max(1.0, self.slowdown * RECOVERY_FACTOR)

    def back_off(self, seconds: float) -> None:
        """Pause requests to the host for `seconds` after a failure or refusal, and double the gap afterwards."""
        self.slowdown = min(MAX_SLOWDOWN, self.slowdown * 2)
        self._next_start = max(self._next_start, time.monotonic() + seconds)
        self._extend_lease(seconds)
