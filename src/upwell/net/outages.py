"""Servers that answered before and cannot be reached now: that is waited out, because nothing is wrong with the request."""

import time

__all__ = ["CHECK_SECONDS", "Outages"]

CHECK_SECONDS = 3.0  # between two attempts to reach a server that is away; not swept


class Outages:
    """Which servers answered before, and since when each cannot be reached."""

    def __init__(self, longest_wait: float) -> None:
        self._longest_wait = longest_wait  # seconds that an outage is waited out
        self._known: set[object] = set()
        self._away_since: dict[object, float] = {}  # on the monotonic clock

    def note_answer(self, server: object) -> None:
        """Notes that a server is there."""
        self._known.add(server)
        self._away_since.pop(server, None)

    def note_earlier_answer(self, server: object) -> None:
        """Notes that a server was there in an earlier process."""
        self._known.add(server)

    def is_worth_waiting(self, server: object) -> bool:
        """Whether a server that cannot be reached now should be back soon: it answered before, and was there until a moment ago."""
        if server not in self._known:
            return False
        return time.monotonic() - self._away_since.setdefault(server, time.monotonic()) < self._longest_wait
