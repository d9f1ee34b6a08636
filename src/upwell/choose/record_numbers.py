"""Bound the size of a source by the numbers in the URLs of its records.

Many applications number their records one after another, so there are at most as many as numbers were given out. How far the largest
number seen is from the newest record follows from the other numbers if they were drawn by chance. Pages in ascending order say nothing
about it: whatever was read of them, the newest records are on the last page. Neither do numbers that grew while a list was read.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["RecordNumbers"]

MIN_NUMBERED = 30  # records needed before their numbers bound anything; benchmarks.ground: 20, 30 and 50 equal
MIN_SHARE = 0.98  # share of the records that must have a number at the same place of the URL; not swept
MAX_DIGITS = 9  # longer numbers are codes, dates or hashes
# shorter pages are in ascending order by chance, too often to tell: three records in one of six pages, four in one of 24
MIN_ORDERED = 4
# numbers beyond the largest one seen that may have been given out, in mean distances of two numbers drawn by chance: three for a random
# sample (rule of three), three times as many because the newest records are reached less often than others
SLACK = 9.0
# a random order has about ln(n) records that are larger than all before them; an ascending one has n
MAX_RECORDS_PER_LOG = 5.0
NUMBER = re.compile(r"\d{1,10}")


@dataclass
class RecordNumbers:
    """The numbers at one place of the URLs of the records held, without the numbers themselves."""

    prefix: str | None = None  # text of the URLs before the number; None: no URL was seen
    seen: int = 0  # records
    numbered: int = 0  # of these, with a number after the prefix
    unordered: int = 0  # of these, from pages that are not in ascending order
    smallest: int = 0
    largest: int = 0
    rises: int = 0  # numbers that were larger than all before them

    def note(self, page: Sequence[str], new: Iterable[str]) -> None:
        """Add the keys of the new records of a page, both in the order in which they were returned."""
        of_page = [number for key in page if (number := self._number(key)) is not None]
        is_ascending = len(of_page) >= MIN_ORDERED and all(a < b for a, b in pairwise(of_page))
        for key in new:
            self.seen += 1
            number = self._number(key)
            if number is None:
                continue
            if not self.numbered:
                self.smallest = self.largest = number
            self.numbered += 1
            self.unordered += not is_ascending
            if number > self.largest:
                self.largest, self.rises = number, self.rises + 1
            self.smallest = min(self.smallest, number)

    def _number(self, key: str) -> int | None:
        """Return the number of a record; None if its URL has none at the place where that of the first record has it."""
        if self.prefix is None:
            match = None
            for match in NUMBER.finditer(key):  # noqa: B007 # the last number of the URL
                pass
            self.prefix = key[: match.start()] if match else ""
        match = NUMBER.match(key, len(self.prefix)) if self.prefix and key.startswith(self.prefix) else None
        return int(match[0]) if match is not None and len(match[0]) <= MAX_DIGITS else None

    @property
    def given_out(self) -> int:
        """Return how many numbers were given out at least, whatever the order; 0 if they do not identify the records."""
        span = self.largest - self.smallest + 1
        is_too_few = self.numbered < max(MIN_NUMBERED, MIN_SHARE * self.seen)
        return 0 if is_too_few or self.numbered > span else self.largest

    def most(self) -> float | None:
        """Return an upper bound of the number of records; None if the numbers give none."""
        if not self.given_out:
            return None
        if self.unordered < MIN_NUMBERED or self.rises > MAX_RECORDS_PER_LOG * math.log(self.numbered):
            return None  # read in ascending order
        # numbers start at 1, whatever the smallest one seen
        return self.largest + SLACK * self.largest / self.unordered

    @property
    def has_no_gaps(self) -> bool:
        """Return True if every number up to the largest belongs to a record that is held, and the newest came first."""
        return self.most() is not None and self.smallest <= 1 and self.largest <= self.numbered + 1
