"""Second-level URLs of a source: record pages, facets and sort orders, related queries; each is requested once (Entity §2, §6).

A URL takes about 20 bytes of memory; its text and a note are stored in blobs (`record_words`).
"""

from array import array
from collections.abc import Sequence
from typing import Literal

from upwell.arrays.key_set import KeyNumbers, hash_of
from upwell.choose.record_words import Blobs, MemoryBlobs, WordTexts

__all__ = ["NumberQueue", "UrlKind", "UrlRepository"]

UrlKind = Literal["record page", "facet", "related query"]
SALTS: dict[UrlKind, int] = {"record page": 0, "facet": 1, "related query": 2}  # distinguish the hashes of the kinds


class UrlRepository:
    """Numbered URLs, and which of them are done."""

    def __init__(self, blobs: Blobs | None = None) -> None:
        self.blobs = MemoryBlobs() if blobs is None else blobs  # storage of the texts
        self._texts = WordTexts(self.blobs)
        self._numbers = KeyNumbers()
        self._is_done = bytearray()

    def __len__(self) -> int:
        """Return the number of URLs ever added."""
        return len(self._is_done)

    def find(self, kind: UrlKind, address: str) -> int:
        """Return the number of a URL; -1 if unknown."""
        return self._numbers.find_one(hash_of(address) ^ SALTS[kind])

    def add(self, kind: UrlKind, address: str, note: str = "") -> int:
        """Add a URL or another identifying text; return its number, or -1 if it was known."""
        if self.find(kind, address) >= 0:
            return -1
        return self._append(hash_of(address) ^ SALTS[kind], address, note)

    def add_each(self, kind: UrlKind, addresses: Sequence[tuple[str, str]]) -> list[tuple[int, bool]]:
        """Add URLs with their notes in one lookup; return the number of each, and whether it is new."""
        hashes = [hash_of(address) ^ SALTS[kind] for address, _ in addresses]
        numbers = list(self._numbers.find(hashes))
        numbered: list[tuple[int, bool]] = []
        added: dict[int, int] = {}
        for (address, note), hashed, number in zip(addresses, hashes, numbers, strict=True):
            known = number if number >= 0 else added.get(hashed, -1)
            if known < 0:
                added[hashed] = self._append(hashed, address, note)
            numbered.append((added[hashed], True) if known < 0 else (known, False))
        return numbered

    def _append(self, hashed: int, address: str, note: str) -> int:
        self._texts.append(f"{len(address)} {address}{note}")
        self._is_done.append(0)
        return self._numbers.add(hashed)

    def text(self, number: int) -> tuple[str, str]:
        """Return a URL and its note."""
        size, _, text = self._texts[number].partition(" ")
        return text[: int(size)], text[int(size) :]

    def is_done(self, number: int) -> bool:
        """Return True if a URL was taken or is not wanted."""
        return bool(self._is_done[number])

    def take(self, number: int) -> bool:
        """Mark a URL as taken; return False if it was taken before."""
        was_free = not self._is_done[number]
        self._is_done[number] = 1
        return was_free


class NumberQueue:
    """Queue of numbers."""

    def __init__(self) -> None:
        self._numbers, self._first = array("i"), 0

    def __len__(self) -> int:
        return len(self._numbers) - self._first

    def append(self, number: int) -> None:
        """Add a number."""
        self._numbers.append(number)

    @property
    def first(self) -> int:
        """Return the first number."""
        return self._numbers[self._first]

    def take(self, at: int = 0) -> int:
        """Remove and return the first number, or the one `at` places behind it."""
        number = self._numbers[self._first + at]
        if at:
            del self._numbers[self._first + at]
            return number
        self._first += 1
        if 2 * self._first > len(self._numbers):
            self._numbers, self._first = self._numbers[self._first :], 0
        return number
