"""The second-level addresses of a source: record pages, facets and orders, related queries; each is asked for once (Entity §2 and §6).

An address takes about 20 bytes of memory; its text, and a note about it, are put away (`queries.record_words`). Those who ask decide which
is next: the chooser compares facets and related queries with all other questions. When it may be sent is decided by the load of its host:
a host rests as long as its answers take (`net.pace`), and of many hosts those are asked first that bring most (`engines.schedule`).
"""

from array import array
from collections.abc import Sequence
from typing import Literal

from upwell.key_set import KeyNumbers, hash_of
from upwell.queries.record_words import Blobs, MemoryBlobs, WordTexts

__all__ = ["Kind", "UrlRepository", "Waiting"]

Kind = Literal["record page", "facet", "related query"]
SALTS: dict[Kind, int] = {"record page": 0, "facet": 1, "related query": 2}  # tell the hashes of the kinds apart


class UrlRepository:
    """Addresses with their numbers, from 0 on, and which of them are done with."""

    def __init__(self, blobs: Blobs | None = None) -> None:
        self.blobs = MemoryBlobs() if blobs is None else blobs  # where texts are put away
        self._texts = WordTexts(self.blobs)
        self._numbers = KeyNumbers()
        self._is_done = bytearray()

    def __len__(self) -> int:
        """How many addresses there ever were."""
        return len(self._is_done)

    def find(self, kind: Kind, address: str) -> int:
        """The number of an address; -1 where there is none."""
        return self._numbers.find_one(hash_of(address) ^ SALTS[kind])

    def add(self, kind: Kind, address: str, note: str = "") -> int:
        """Takes in an address, or another text that tells it apart; its number, or -1 where it was there before."""
        if self.find(kind, address) >= 0:
            return -1
        return self._append(hash_of(address) ^ SALTS[kind], address, note)

    def add_each(self, kind: Kind, addresses: Sequence[tuple[str, str]]) -> list[tuple[int, bool]]:
        """Takes in addresses, each with its note; the number of each, and whether it is new. They are looked up together."""
        hashes = [hash_of(address) ^ SALTS[kind] for address, _ in addresses]
        numbers = list(self._numbers.find(hashes))
        found: list[tuple[int, bool]] = []
        added: dict[int, int] = {}
        for (address, note), hashed, number in zip(addresses, hashes, numbers, strict=True):
            known = number if number >= 0 else added.get(hashed, -1)
            if known < 0:
                added[hashed] = self._append(hashed, address, note)
            found.append((added[hashed], True) if known < 0 else (known, False))
        return found

    def _append(self, hashed: int, address: str, note: str) -> int:
        self._texts.append(f"{len(address)} {address}{note}")
        self._is_done.append(0)
        return self._numbers.add(hashed)

    def text(self, number: int) -> tuple[str, str]:
        """An address and its note."""
        size, _, text = self._texts[number].partition(" ")
        return text[: int(size)], text[int(size) :]

    def is_done(self, number: int) -> bool:
        """Whether an address was taken, or is not wanted."""
        return bool(self._is_done[number])

    def take(self, number: int) -> bool:
        """Has nobody else take an address; whether nobody had."""
        was_free = not self._is_done[number]
        self._is_done[number] = 1
        return was_free


class Waiting:
    """Numbers in the order in which they came."""

    def __init__(self) -> None:
        self._numbers, self._first = array("i"), 0

    def __len__(self) -> int:
        return len(self._numbers) - self._first

    def append(self, number: int) -> None:
        """A further number."""
        self._numbers.append(number)

    @property
    def first(self) -> int:
        """The number that waits longest."""
        return self._numbers[self._first]

    def take(self, at: int = 0) -> int:
        """The number that waits longest, or the one `at` places behind it."""
        number = self._numbers[self._first + at]
        if at:
            del self._numbers[self._first + at]
            return number
        self._first += 1
        if 2 * self._first > len(self._numbers):
            self._numbers, self._first = self._numbers[self._first :], 0
        return number
