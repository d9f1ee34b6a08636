"""Notice sources that invent records: new keys, but the content of other records, or only the words of the query.

A site may give one thing a new address with every answer, fill a calendar without end, or build its results from the query. Such records
are new by their keys, so that every count and estimate of the size grows with the number of requests.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from upwell.arrays.key_set import KeySet
from upwell.types import Record

__all__ = ["Repetition"]

MIN_RECORDS = 100  # records needed for a judgement; not swept
# Largest share of distinct contents among the records of a source that invents them. Copies of a thing exist in honest sources too, such as
# editions with the same title, but seldom as many as the things themselves; not swept.
MAX_DISTINCT_SHARE = 0.5
# The same for contents without the words of the query. It is smaller because records of an honest source that consist of two words, such as
# names, share the second word; not swept.
MAX_DISTINCT_WITHOUT_QUERY = 0.1
# Records that are made of the query have the same few texts for every query, with other numbers. The smallest numbers of records for each query,
# of texts and of queries for a judgement: in an honest list of names, each found by its own word, a query has one record. A source that combines
# two short lists ("amber ring") looks the same, but has no records for some queries; one that invents them has for all but the empty one. Not swept.
MIN_RECORDS_OF_QUERY = 5
MIN_TEXTS = 5
MIN_QUERIES = 10
MAX_UNANSWERED = 1
WORD = re.compile(r"\w+")
MIN_PART_CHARS = 4  # length from which a word of the query is recognised inside of another word


@dataclass
class Repetition:
    """Distinct contents of the records of one source."""

    records: int = 0  # with a text
    contents: KeySet = field(default_factory=KeySet)
    contents_without_query: KeySet = field(default_factory=KeySet)
    contents_without_numbers: KeySet = field(default_factory=KeySet)  # except those in the query
    texts: KeySet = field(default_factory=KeySet)  # contents without numbers and without the words of the query
    queries: KeySet = field(default_factory=KeySet)  # those with new records
    unanswered: int = 0  # queries without records

    def note(self, new: Sequence[Record], query: str, unanswered: int = 0) -> None:
        """Note the new records of an answer to a query, and how many queries had no records until now."""
        self.unanswered = unanswered
        asked = set(WORD.findall(query.casefold()))
        words = [found for record in new if (found := WORD.findall(record.text.casefold()))]
        self.records += len(words)
        self.contents.update([" ".join(of_record) for of_record in words])
        self.contents_without_query.update(
            [" ".join(word for word in of_record if not _is_asked(word, asked)) for of_record in words]
        )
        words = [[word for word in of_record if not word.isdecimal() or word in asked] for of_record in words]
        self.contents_without_numbers.update([" ".join(of_record) for of_record in words])
        self.texts.update([" ".join(word for word in of_record if not _is_asked(word, asked)) for of_record in words])
        self.queries.update([query] if words else [])

    @property
    def repeats_query(self) -> bool:
        """Return True if nearly all records differ only in the words of their query, or in these and in numbers."""
        return self._is_repeated(self.contents_without_query, MAX_DISTINCT_WITHOUT_QUERY) or self._combines_query

    @property
    def repeats_content(self) -> bool:
        """Return True if most records have the content of another record."""
        return self._is_repeated(self.contents, MAX_DISTINCT_SHARE)

    @property
    def repeated(self) -> int:
        """Return the number of records that add no content, if the source invents records; else 0."""
        if self.repeats_query:
            return self.records - len(self.texts if self._combines_query else self.contents_without_query)
        return self.records - len(self.contents) if self.repeats_content else 0

    @property
    def differing_in_numbers(self) -> int:
        """Return the number of records that differ from others only in numbers, if these are nearly all; else 0.

        They may be pages of a calendar without end, or the lots of an honest auction: the number is a fact, and no reason to doubt the source.
        """
        is_repeated = self._is_repeated(self.contents_without_numbers, MAX_DISTINCT_WITHOUT_QUERY)
        return self.records - len(self.contents_without_numbers) if is_repeated else 0

    @property
    def _combines_query(self) -> bool:
        """Return True if a few texts, with the words of the query and with numbers, make up the records of each query."""
        queries = len(self.queries)
        if len(self.texts) < MIN_TEXTS or queries < MIN_QUERIES or self.unanswered > MAX_UNANSWERED:
            return False
        without_numbers = len(self.contents_without_numbers)
        has_few_texts = len(self.texts) <= MAX_DISTINCT_WITHOUT_QUERY * without_numbers
        return self.records >= MIN_RECORDS and has_few_texts and without_numbers >= MIN_RECORDS_OF_QUERY * queries

    def _is_repeated(self, contents: KeySet, max_share: float) -> bool:
        return self.records >= MIN_RECORDS and len(contents) <= max_share * self.records


def _is_asked(word: str, asked: set[str]) -> bool:
    return word in asked or any(part in word for part in asked if len(part) >= MIN_PART_CHARS)
