"""When each host may be asked next, in one file for all processes of this user: the rate holds across processes and restarts.

The file is a table of times, memory-mapped; a host has the place that the hash of its name says. Two hosts that share a place wait for each
other, which is polite if slow: with a thousand hosts at once that meets one in a thousand of them.
"""

import fcntl
import mmap
import os
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Protocol
from zlib import crc32

__all__ = ["HostLeases", "Leases", "leases_of_user"]

PLACES = 2**20
TIME = struct.Struct("=d")  # seconds since 1970: a clock that also holds after the machine was started again
MAX_WAIT_SECONDS = 3600.0  # what lies further ahead was written before the clock was set


class HostLeases(Protocol):
    """When each host may be asked next, for all that keep to it: `Leases` of one user on one machine, `PostgresLeases` of many machines."""

    @property
    def is_remote(self) -> bool:
        """Whether asking it may wait for another machine."""
        ...

    def take(self, host: str, gap: float) -> float:
        """Takes the lease if the host may be asked now: nobody else may for `gap` seconds. Else the seconds to wait."""
        ...

    def extend(self, host: str, seconds: float) -> None:
        """Has everybody leave the host alone for so many seconds from now."""
        ...


class Leases:
    """The table of times in a file."""

    is_remote = False

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._descriptor, PLACES * TIME.size)  # sparse: only places in use take room on the disk
        self._table = mmap.mmap(self._descriptor, PLACES * TIME.size)
        self._threads = threading.Lock()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._threads:  # of one process, which the lock of the file does not keep apart
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def take(self, host: str, gap: float) -> float:
        """Takes the lease if the host may be asked now: nobody else may for `gap` seconds. Else the seconds to wait."""
        place = self._place(host)
        with self._locked():
            now = time.time()
            free_at = self._read(place, now)
            if free_at > now:
                return free_at - now
            TIME.pack_into(self._table, place, now + gap)
        return 0.0

    def extend(self, host: str, seconds: float) -> None:
        """Has everybody leave the host alone for so many seconds from now."""
        place = self._place(host)
        with self._locked():
            now = time.time()
            TIME.pack_into(self._table, place, max(self._read(place, now), now + seconds))

    def _read(self, place: int, now: float) -> float:
        (free_at,) = TIME.unpack_from(self._table, place)
        return float(free_at) if free_at < now + MAX_WAIT_SECONDS else 0.0

    @staticmethod
    def _place(host: str) -> int:
        return crc32(host.encode()) % PLACES * TIME.size


@cache
def leases_of_user() -> Leases | None:
    """The table that all processes of this user share; None where there is no place for it."""
    folder = Path(tempfile.gettempdir()) / f"upwell-pace-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        if not folder.is_symlink() and folder.stat().st_uid == os.getuid():
            return Leases(folder / "leases")
    return None
