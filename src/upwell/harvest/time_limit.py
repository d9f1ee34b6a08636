"""Keep the time limit of a harvest, which includes the start of its process and the writing of its files at the end.

The harvest stops before the limit, by an estimate of the time that its files need: a share of the time spent on reading answers, which grows
with the records and with the load of the machine, and the time that the files of the last run needed.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from upwell.errors import BudgetSpent
from upwell.store.state import State

__all__ = ["TimeLimit", "note_files_written"]

# Time to write the files, relative to the time spent on reading answers; measured: 0.02 to 0.11 for 1,400 to 30,000 records in parquet, xlsx and
# sqlite; not swept.
FILES_SHARE = 0.15
MIN_RESERVED_SECONDS = (
    1.5  # for a call that reads a page to end (`net/reading_thread.py`), and for the end of a process; not swept
)
MAX_RESERVED_SHARE = 0.5  # of the limit, so that a short limit is not used up by the estimate; not swept
UPDATE_SECONDS = 0.5  # between two corrections of the moment at which the harvest is stopped
NOTE = "seconds to write files"  # name in the state


class TimeLimit:
    """Time limit of one harvest, counted on the monotonic clock."""

    def __init__(self, seconds: float, started: float, state: State) -> None:
        self._seconds, self._started = seconds, started
        self._reading = 0.0  # seconds spent on reading answers
        try:
            last = float(state.note(NOTE, "0"))
        except ValueError:  # damaged
            last = 0.0
        self._last_end = last if last >= 0 else 0.0  # seconds for the records of earlier runs

    @property
    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self._started

    @property
    def used(self) -> float:
        """Return the seconds since the start, and those that the end needs."""
        return self.elapsed + self._reserved

    @property
    def message(self) -> str:
        """Return that the limit is reached, in words."""
        return f"the {self._seconds:g} seconds of --time are over"

    @property
    def _reserved(self) -> float:
        if not self._seconds:
            return 0.0
        needed = MIN_RESERVED_SECONDS + self._last_end + FILES_SHARE * self._reading
        return min(needed, MAX_RESERVED_SHARE * self._seconds)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count the time of the enclosed work as spent on reading."""
        before = time.monotonic()
        try:
            yield
        finally:
            self._reading += time.monotonic() - before

    @asynccontextmanager
    async def stops(self) -> AsyncIterator[None]:
        """Stop the enclosed work when the time is over, even during a request or while reading a page; raise BudgetSpent."""
        if not self._seconds:
            yield
            return
        try:
            async with asyncio.timeout(max(0.0, self._seconds - self.used)) as limit:
                correcting = asyncio.create_task(self._correct(limit))
                try:
                    yield
                finally:
                    correcting.cancel()
        except TimeoutError as error:
            raise BudgetSpent(self.message) from error

    async def _correct(self, limit: asyncio.Timeout) -> None:
        """Move the end of a timeout as the time that the files need grows."""
        while True:
            await asyncio.sleep(UPDATE_SECONDS)
            if limit.expired():
                return
            limit.reschedule(asyncio.get_running_loop().time() + max(0.0, self._seconds - self.used))


def note_files_written(state: State, seconds: float) -> None:
    """Store how long it took to write the files, for the time limit of the next run."""
    state.set_note(NOTE, f"{seconds:.3f}")
