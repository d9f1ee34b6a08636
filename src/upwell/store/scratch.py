"""Bytes of this process that need not survive it, on disk instead of in memory."""

import os
import tempfile
import weakref

from upwell.errors import CannotKeep

__all__ = ["ScratchFile"]


class ScratchFile:
    """A file without a name, which the system removes when the process ends; it is made when the first bytes are put away."""

    def __init__(self) -> None:
        self._file = -1  # descriptor
        self._size = 0

    def append(self, data: bytes) -> int:
        """Puts bytes away; gives their place."""
        place = self._size
        try:
            if self._file < 0:
                with tempfile.TemporaryFile(buffering=0) as file:
                    self._file = os.dup(file.fileno())
                weakref.finalize(self, os.close, self._file)
            while self._size < place + len(data):
                self._size += os.pwrite(self._file, data[self._size - place :], self._size)
        except OSError as error:
            raise CannotKeep(f"a scratch file in {tempfile.gettempdir()} cannot be written: {error}") from error
        return place

    def read(self, place: int, size: int) -> bytes:
        """Bytes at a place."""
        return os.pread(self._file, size, place)
