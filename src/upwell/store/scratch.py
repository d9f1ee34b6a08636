"""Bytes that a harvest needs now and then, on disk instead of in memory; a checkpoint says how far they are to be believed."""

import os
import tempfile
import weakref
import zlib
from pathlib import Path

from upwell.errors import CannotKeep

__all__ = ["ScratchFile"]

CHUNK = 1 << 20  # bytes read at a time


class ScratchFile:
    """A file that grows, at a path, or without a name: then the system removes it when the process ends.

    It is made when the first bytes are put away.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file = -1  # descriptor
        self.size = 0
        self.check = 0  # CRC-32 of all bytes

    def append(self, data: bytes) -> int:
        """Puts bytes away; gives their place."""
        place = self.size
        try:
            if self._file < 0:
                self._open(os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            while self.size < place + len(data):
                self.size += os.pwrite(self._file, data[self.size - place :], self.size)
        except OSError as error:
            raise CannotKeep(f"{self._path or tempfile.gettempdir()} cannot be written: {error.strerror}") from error
        self.check = zlib.crc32(data, self.check)
        return place

    def read(self, place: int, size: int) -> bytes:
        """Bytes at a place."""
        return os.pread(self._file, size, place)

    def take_up(self, size: int, check: int) -> bool:
        """Goes on with the bytes that an earlier process put away; whether they are there as it left them."""
        if not size:
            return True
        try:
            self._open(os.O_RDWR)
            os.ftruncate(self._file, size) if os.fstat(self._file).st_size >= size else None
            for place in range(0, size, CHUNK):
                self.check = zlib.crc32(self.read(place, min(CHUNK, size - place)), self.check)
        except OSError:
            return False
        self.size = size
        return self.check == check

    def _open(self, flags: int) -> None:
        if self._path is None:
            with tempfile.TemporaryFile(buffering=0) as file:
                self._file = os.dup(file.fileno())
        else:
            self._file = os.open(self._path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        weakref.finalize(self, os.close, self._file)
