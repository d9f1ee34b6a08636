"""Second-level addresses: found on answers, each taken once, by hosts and by how loaded these are (Entity §2 and §6).

An address takes about 20 bytes of memory; its text, and a note about it, are put away (`queries.record_words`). The same repository serves
one source, whose addresses come out in the order in which they went in, and a crawl of many hosts, which takes from the host that has
rested longest for its load: a host is left alone for a multiple of the time that its last answer took.
"""

import heapq
from array import array
from collections.abc import Iterator
from urllib.parse import urlsplit

from upwell.key_set import KeyNumbers, hash_of
from upwell.queries.record_words import Blobs, MemoryBlobs, WordTexts

__all__ = ["UrlRepository"]

LOAD_FACTOR = 5.0  # times the seconds of its last answer that a host is left alone for; not swept
SEPARATOR = "\0"  # between an address and its note: neither has it


class _Host:
    """The addresses of one host that wait, by number."""

    def __init__(self) -> None:
        self.waiting, self.first = array("i"), 0

    def __len__(self) -> int:
        return len(self.waiting) - self.first

    def take(self, at: int = 0) -> int:
        number = self.waiting[self.first + at]
        if at:
            del self.waiting[self.first + at]
            return number
        self.first += 1
        if 2 * self.first > len(self.waiting):
            self.waiting, self.first = self.waiting[self.first :], 0
        return number


class UrlRepository:
    """Addresses that wait, and those that were taken."""

    def __init__(self, blobs: Blobs | None = None, gap: float = 0.0) -> None:
        self.gap = gap  # seconds between two requests to a host, at least
        self._texts = WordTexts(blobs or MemoryBlobs())
        self._numbers = KeyNumbers()
        self._is_left_out = bytearray()
        self._hosts: dict[str, _Host] = {}
        self._due: list[
            tuple[float, int, str]
        ] = []  # when each host with addresses may be asked, in the order of arrival
        self._arrivals = 0
        self._free_from: dict[str, float] = {}  # hosts that were asked, and when they may be asked again
        self._waiting = 0

    def __len__(self) -> int:
        """How many addresses wait."""
        return self._waiting

    def __contains__(self, url: object) -> bool:
        """Whether an address was ever added."""
        return isinstance(url, str) and self._numbers.find_one(hash_of(url)) >= 0

    def add(self, url: str, note: str = "") -> bool:
        """Takes in an address; whether it is new."""
        if url in self:
            return False
        number = self._numbers.add(hash_of(url))
        self._texts.append(f"{url}{SEPARATOR}{note}" if note else url)
        self._is_left_out.append(0)
        name = urlsplit(url).netloc
        host = self._hosts.setdefault(name, _Host())
        if not len(host):
            self._schedule(name)
        host.waiting.append(number)
        self._waiting += 1
        return True

    def note(self, url: str) -> str:
        """The note that an address was added with."""
        return self._text(self._numbers.find_one(hash_of(url)))[1]

    def leave_out(self, url: str) -> None:
        """An address is not given any more."""
        self._is_left_out[self._numbers.find_one(hash_of(url))] = 1

    def take(self, at: int = 0) -> tuple[str, str] | None:
        """The address that waits longest, or the one `at` places behind it, with its note; of one host. None where none waits."""
        host = next((host for host in self._hosts.values() if len(host)), None)
        while host is not None and len(host):
            number = host.take(min(at, len(host) - 1))
            self._waiting -= 1
            if not self._is_left_out[number]:
                return self._text(number)
        return None

    def take_due(self, now: float) -> tuple[str, str] | None:
        """An address of the host that may be asked and has rested longest for its load; None where none may be asked now."""
        while self._due and self._due[0][0] <= now:
            _, _, name = heapq.heappop(self._due)
            host = self._hosts[name]
            while len(host):
                number = host.take()
                self._waiting -= 1
                if not self._is_left_out[number]:
                    self._free_from[name] = float("inf")  # until it has answered
                    return self._text(number)
        return None

    def answered(self, url: str, now: float, seconds: float) -> None:
        """The host of an address has answered, after so many seconds: it rests the longer, the longer that took."""
        name = urlsplit(url).netloc
        self._free_from[name] = now + max(self.gap, LOAD_FACTOR * seconds)
        if len(self._hosts[name]):
            self._schedule(name)

    def hosts(self) -> Iterator[tuple[str, int]]:
        """The hosts, and how many addresses of each wait."""
        return ((name, len(host)) for name, host in self._hosts.items())

    def _schedule(self, name: str) -> None:
        free_from = self._free_from.get(name, 0.0)
        if free_from < float("inf"):
            self._arrivals += 1
            heapq.heappush(self._due, (free_from, self._arrivals, name))

    def _text(self, number: int) -> tuple[str, str]:
        url, _, note = self._texts[number].partition(SEPARATOR)
        return url, note
