"""Store millions of record keys as 64-bit hashes in sorted arrays: 8 to 16 bytes a key, where a set of strings takes 200.

    KeySet       set of keys
    KeyNumbers   number of each key, in order of insertion

Two keys collide with a probability of one in 10^12. Hashes are the same in every process, so samples drawn by hash are, too.
"""

from array import array
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upwell.native import compiled

__all__ = ["KeyNumbers", "KeySet", "PlainKeyNumbers", "hash_of", "plain_hash_of"]

Hashes = NDArray[np.int64]
MIN_RECENT = 256  # keys buffered in a dict or set before they are merged into the sorted array …
RECENT_SHARE = 16  # … plus one per this many keys in the array, so that each key is moved about this many times


@lru_cache(maxsize=32768)
def plain_hash_of(key: str) -> int:
    """Return a 64-bit hash of a key, the same in every process."""
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True)


hash_of = compiled.hash_of if compiled is not None else plain_hash_of


class KeySet:
    """Set of keys that supports membership tests but cannot list its keys."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._sorted: Hashes = np.zeros(0, dtype=np.int64)
        self._recent: set[int] = set()
        self.update(keys)

    def __len__(self) -> int:
        return len(self._sorted) + len(self._recent)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.has_each((key,))[0]

    def has_each(self, keys: Iterable[str]) -> list[bool]:
        """Return, for each key, whether it is in the set; looking up many at once costs hardly more than one."""
        hashes, recent = [hash_of(key) for key in keys], self._recent
        if not len(self._sorted):
            return [hashed in recent for hashed in hashes]
        return [is_in or hashed in recent for hashed, is_in in zip(hashes, self._are_sorted_in(hashes), strict=True)]

    def without(self, keys: Collection[str]) -> list[str]:
        """Return the keys that are not in the set."""
        return [key for key, is_in in zip(keys, self.has_each(keys), strict=True) if not is_in]

    def update(self, keys: Iterable[str]) -> int:
        """Add keys; return how many are new."""
        before, hashes = len(self), [hash_of(key) for key in keys]
        if len(self._sorted):
            are_in = self._are_sorted_in(hashes)
            hashes = [hashed for hashed, is_in in zip(hashes, are_in, strict=True) if not is_in]
        self._recent.update(hashes)
        self._sort_in_if_many()
        return len(self) - before

    def discard(self, key: str) -> None:
        """Remove a key if it is in the set."""
        hashed = hash_of(key)
        self._recent.discard(hashed)
        self._sorted = self._sorted[self._sorted != hashed]

    def hashes(self) -> Hashes:
        """Return the hashes of all keys, sorted."""
        self._sort_in()
        return self._sorted

    def update_hashes(self, hashes: Hashes) -> None:
        """Add keys by their hashes."""
        if len(self._sorted):
            at = np.minimum(self._sorted.searchsorted(hashes), len(self._sorted) - 1)
            hashes = hashes[self._sorted[at] != hashes]
        self._recent.update(hashes.tolist())
        self._sort_in_if_many()

    def has_hashes(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Return, for each hash of a key, whether the key is in the set."""
        return np.isin(hashes, self.hashes())

    def share_of(self, others: "KeySet", most: int) -> float:
        """Return the share of another set's keys that are in this one, from a sample of at most `most`: the smallest hashes."""
        if most >= len(others):
            some = others.hashes()
        else:
            recent = np.fromiter(others._recent, dtype=np.int64, count=len(others._recent))
            some = np.sort(np.concatenate((others._sorted[:most], recent)))[:most]
        if not len(some) or not len(self):
            return 0.0
        own = self.hashes()
        return float(np.mean(own[np.minimum(own.searchsorted(some), len(own) - 1)] == some))

    def _are_sorted_in(self, hashes: Sequence[int]) -> list[bool]:
        wanted = np.array(hashes, dtype=np.int64)
        at = self._sorted.searchsorted(wanted) - len(self._sorted)  # counted from the end: 0, past it, is the first
        return (self._sorted[at] == wanted).tolist()  # type: ignore[no-any-return] # a list of bool

    def _sort_in_if_many(self) -> None:
        if len(self._recent) > MIN_RECENT + len(self._sorted) // RECENT_SHARE:
            self._sort_in()

    def _sort_in(self) -> None:
        if self._recent:
            recent = np.fromiter(self._recent, dtype=np.int64, count=len(self._recent))
            self._sorted = np.sort(np.concatenate((self._sorted, recent)), kind="stable")
            self._recent = set()


class PlainKeyNumbers:
    """Numbers of hashes, from 0; the constructor takes the hashes in the order of their numbers."""

    def __init__(self, hashes: bytes = b"") -> None:
        by_number = np.frombuffer(hashes, dtype=np.int64)
        self._numbers: NDArray[np.int32] = np.argsort(by_number, kind="stable").astype(np.int32)
        self._sorted: Hashes = by_number[self._numbers]
        self._recent: dict[int, int] = {}
        if len(by_number) and not np.all(np.diff(self._sorted) > 0):
            raise ValueError("the hashes contain a duplicate")

    def __reduce__(self) -> "tuple[type[PlainKeyNumbers], tuple[bytes]]":
        self._sort_in()
        by_number = np.zeros(len(self), dtype=np.int64)
        by_number[self._numbers] = self._sorted
        return type(self), (by_number.tobytes(),)

    def __len__(self) -> int:
        return len(self._sorted) + len(self._recent)

    def find_one(self, hashed: int) -> int:
        """Return the number of a hash; -1 if it has none."""
        number = self._recent.get(hashed, -1)
        if number < 0 and len(self._sorted):
            at = int(self._sorted.searchsorted(hashed))
            if at < len(self._sorted) and self._sorted[at] == hashed:
                return int(self._numbers[at])
        return number

    def find(self, hashes: Sequence[int]) -> list[int]:
        """Return the number of each hash; -1 if it has none."""
        recent = self._recent
        if not len(self._sorted):
            return [recent.get(hashed, -1) for hashed in hashes]
        wanted = np.array(hashes, dtype=np.int64)
        at = np.minimum(self._sorted.searchsorted(wanted), len(self._sorted) - 1)
        numbers = np.where(self._sorted[at] == wanted, self._numbers[at], -1).tolist()
        return [
            number if number >= 0 else recent.get(hashed, -1) for hashed, number in zip(hashes, numbers, strict=True)
        ]

    def find_words(self, words: Sequence[str]) -> list[int]:
        """Return the number of each text; -1 if it has none."""
        return self.find([plain_hash_of(word) for word in words])

    def add(self, hashed: int) -> int:
        """Assign the next number to a hash that has none; return it."""
        number = self._recent[hashed] = len(self)
        if len(self._recent) > MIN_RECENT + len(self._sorted) // RECENT_SHARE:
            self._sort_in()
        return number

    def number_words(
        self, lists: Sequence[Sequence[str]], stops: frozenset[str] | None
    ) -> tuple[bytes, bytes, list[list[str]]]:
        """Number the words of each list, assigning new numbers in order; return all sorted numbers, the end of each list, and the new words.

        If `stops` is given, stop words and single letters get no new number.
        """
        cells, ends, new_words = array("i"), array("i"), []
        for words in lists:
            distinct = list(dict.fromkeys(words))
            hashes = [plain_hash_of(word) for word in distinct]
            numbers, own = [], []
            for word, hashed, number in zip(distinct, hashes, self.find(hashes), strict=True):
                if number < 0:
                    if stops is not None and (len(word) < 2 or word in stops):
                        continue
                    number = self.add(hashed)
                    own.append(word)
                numbers.append(number)
            cells.extend(sorted(numbers))
            ends.append(len(cells))
            new_words.append(own)
        return cells.tobytes(), ends.tobytes(), new_words

    def _sort_in(self) -> None:
        hashes = np.concatenate((self._sorted, np.fromiter(self._recent, dtype=np.int64, count=len(self._recent))))
        numbers = np.fromiter(self._recent.values(), dtype=np.int32, count=len(self._recent))
        order = np.argsort(hashes, kind="stable")
        self._sorted, self._numbers = hashes[order], np.concatenate((self._numbers, numbers))[order]
        self._recent = {}


if TYPE_CHECKING or compiled is None:  # noqa: SIM108 # mypy takes both as the plain one
    KeyNumbers = PlainKeyNumbers
else:
    KeyNumbers = compiled.KeyNumbers
