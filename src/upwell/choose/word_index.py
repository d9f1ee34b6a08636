"""Index of the words of all records held: how many records contain each word, how often these were seen, and which words co-occur.

The counts are kept in compact arrays (about 40 bytes per word and 14 per record). The texts of the words, and the words of each
record, are stored outside memory (`record_words`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from upwell.arrays.key_set import KeyNumbers, hash_of
from upwell.choose.expected_yield import Calibration
from upwell.choose.record_words import Blobs, MemoryBlobs, RecordWords, WordTexts
from upwell.lexicon.scripts import is_unspaced
from upwell.native import compiled
from upwell.page.tokens import characters, query_words, stop_words_of, words_of_query

__all__ = [
    "CLASSES",
    "ONE_CHARACTER",
    "PAIR",
    "Floats",
    "Numbers",
    "SeenRecord",
    "WordIndex",
    "columns_of",
    "count_words",
    "missing_in",
    "plain_columns_of",
    "plain_count_words",
    "shape_of",
]


Counts = NDArray[np.int32]


def plain_count_words(
    cells: Counts,
    ends: Sequence[int] | Counts,
    inside: Counts,
    once: Counts,
    first: Counts,
    done: NDArray[np.bool_],
    shared: bytearray,
    sharing: NDArray[np.int64],
    number: int,
) -> tuple[int, int]:
    """Count the words of new records, which are numbered from `number` on; the words of each end in `cells` at `ends`.

    Updates in place, for each word, the records that contain it (`inside`), those of them seen once, and the `first` of them; for each
    record, how many words it `shared` with others; and the number of records by shared words (`sharing`, the last entry: so many
    or more). Returns how many words that are not `done` occur for the first time, and by how much the occurrences of those
    that are in several records grow.
    """
    most, start, open_words, common = len(sharing) - 1, 0, 0, 0
    for record, end in enumerate(ends, number):
        own = 0
        for word in cells[start:end].tolist():
            before = int(inside[word])
            if before == 0:
                first[word] = record
            else:
                own += 1
                if before == 1 and (of_first := shared[first[word]]) < most:
                    # the first record that has the word shares it now
                    shared[first[word]] = of_first + 1
                    sharing[of_first] -= 1
                    sharing[of_first + 1] += 1
            inside[word] = before + 1
            once[word] += 1
            if not done[word]:
                open_words += before == 0
                common += 2 if before == 1 else before > 1
        shared[record] = min(most, own)
        sharing[shared[record]] += 1
        start = end
    return open_words, common


count_words = compiled.count_words if compiled is not None else plain_count_words


def columns_of(words: list[str], fields: Mapping[str, str]) -> list[str | None]:
    """Return the last field that contains each of the words; None if no field does."""
    if compiled is not None and (columns := compiled.columns_of(words, dict(fields))) is not None:
        return columns
    return plain_columns_of(words, fields)


def plain_columns_of(words: list[str], fields: Mapping[str, str]) -> list[str | None]:
    """Do the same as `columns_of` without the native module."""
    columns: dict[str, str] = {}
    left = set(words)
    for name, value in reversed(list(fields.items())):
        here = left.intersection(query_words(value) if left else ())
        columns.update(dict.fromkeys(here, name))
        left -= here
    return [columns.get(word) for word in words]


def missing_in(text: str, words: Sequence[str]) -> list[str]:
    """Return the words that a text does not contain."""
    return [word for word, column in zip(words, columns_of(list(words), {"": text}), strict=True) if column is None]


# Shapes of words: a source may index years and codes, but not amounts, so each shape has its own match chance.
SHAPES = (
    "letters", "mixed", "1 digit", "2 digits", "3 digits", "4 digits", "5 digits and more", "stop word", "one letter",
    "pair of characters", "run of characters", "character",
)  # fmt: skip
PAIR_CHARACTERS = 2  # sources often index scripts without spaces by pairs of characters
PAIR, ONE_CHARACTER = 9, 11  # shapes of such parts: a source indexes nearly all of them or nearly none
AROUND_DIGITS = str.maketrans("", "", " .,")


def shape_of(word: str, stops: frozenset[str] = frozenset()) -> int:
    """Return the shape of a word, as an index of `SHAPES`."""
    if len(word) > 1 and word.isascii() and word.isalpha():  # most words
        return 7 if word in stops else 0
    if len(word) == 1 and not word.isdigit():
        return ONE_CHARACTER if is_unspaced(word) else 8
    if word in stops:
        return 7
    if is_unspaced(word):
        return PAIR if len(characters(word)) == PAIR_CHARACTERS else 10
    digits = word.translate(AROUND_DIGITS)
    if digits.isdigit():
        return 1 + min(5, len(digits))
    return 1 if any(map(str.isdigit, word)) else 0


Floats = NDArray[np.float64]
Numbers = NDArray[np.integer]
CLASSES = 64  # classes of words with a calibration of their own; tables with more columns share some
# exponent on the match chance of parts of unspaced texts; not swept: with 1, two fifths of the requests asked for parts of a
# source that indexes whole runs only
PARTS_POWER = 2.0
MAX_MISSING_PER_HELD = 20.0  # upper bound of the missing records of a word per record held; not swept
MAX_COUNTED = 4096  # word combinations whose counts are cached, so that only newer records are counted
SHRINK = 30.0  # records with the average share seen once that the records of a word are pooled with
MAX_CHANGES = 20_000  # changed words that are remembered before all words count as changed
ROOM_SHARE = 8  # full arrays grow by an eighth only, because all sites of a run may grow theirs at the same time
MAX_SHARED = 3  # shared words of a record are counted up to this number


class SeenRecord(NamedTuple):
    """A record of an answer; `words` are those of its text (`query_words`), if they are known."""

    key: str
    text: str
    fields: Mapping[str, str]
    words: Sequence[str] | None = None


@dataclass
class WordIndex:
    """The words of all records held."""

    result_cap: int = 0  # 0: unknown
    page_size: int = 0  # records per page; 0: each query is one request
    language: str = ""
    keeps_stop_words: bool = False  # also single letters: a source may index them
    min_chars: int = 0  # minimum length of a query that the source accepts
    # share of the predicted new records that capped queries return: a ranking returns the same records first
    capped_share: float = 1.0
    held: int = 0
    seen_once: int = 0
    seen_twice: int = 0
    blobs: Blobs = field(default_factory=MemoryBlobs)  # storage of texts and records

    def __post_init__(self) -> None:
        self._stops = stop_words_of(self.language)
        self._numbers = KeyNumbers()  # of words
        self._keys = KeyNumbers()  # of records
        self._texts = WordTexts(self.blobs)
        self._records = RecordWords(self.blobs)
        # for each word
        self._class = np.zeros(256, np.int16)
        self._with_word = np.zeros(256, np.int32)  # records held that contain it
        self._once = np.zeros(256, np.int32)  # of these, records seen once
        self._twice = np.zeros(256, np.int32)  # and twice
        self._with_word_exhausted = np.zeros(256, np.int32)  # of these, records of complete answers
        self._first = np.zeros(256, np.int32)  # the first record that contains it
        self._done = np.zeros(256, bool)  # it is not proposed any more
        self._is_unmatched = np.zeros(256, bool)  # it was asked and matched nothing
        self._stated_matches = np.zeros(256, np.float32)  # matches in the source; 0: unknown
        # words of the records held that were not asked, and the occurrences of those that are in several records
        self._unasked_words = self._unasked_occurrences = 0
        # for each record
        self._times = bytearray()  # how often it was seen, at most 4
        self._shared = bytearray()  # words that it shares with other records, at most MAX_SHARED
        self._is_exhausted = bytearray()  # 1: a complete answer contains it
        self._sharing = np.zeros(MAX_SHARED + 1, np.int64)  # number of records by shared words
        self._exhausted = 0  # records of complete answers
        self._counted: dict[tuple[int, ...], tuple[int, int]] = {}  # words → records counted, those with all words
        self._changed: list[NDArray[np.int32]] = []  # words whose counts changed since the last proposal
        self._changes = 0
        self._is_changed_everywhere = False  # too many changed to list them
        self._classes: dict[tuple[str, int], int] = {}  # column and shape → class
        self._tried: list[int] = []  # queries per class
        self._matched: list[int] = []  # of these, queries with matches
        self._calibration = Calibration(CLASSES)
        self._capped_calibration = Calibration(1)

    def add_record(self, key: str, text: str, fields: Mapping[str, str] | None = None) -> None:
        """Add a record of an answer."""
        self.add_records([SeenRecord(key, text, fields or {})])

    def add_records(self, records: Sequence[SeenRecord]) -> None:
        """Add the distinct records of a page; the words of a record are counted the first time that it is seen."""
        hashes = [hash_of(record.key) for record in records]
        numbers = self._keys.find(hashes)
        new = [at for at, number in enumerate(numbers) if number < 0]
        if len(new) < len(records):
            self._count_again([number for number in numbers if number >= 0])
        for at in new:
            self._keys.add(hashes[at])
        if new:
            self._add_new([records[at] for at in new])

    def _count_again(self, numbers: Sequence[int]) -> None:
        """Count records that were seen before."""
        second: list[int] = []
        third: list[int] = []
        for number in numbers:
            times = self._times[number] = min(3 + 1, self._times[number] + 1)
            if times <= 3:
                (second if times == 2 else third).append(number)
        for ids in self._records.words_of(np.array(sorted(second), dtype=np.int64)):
            np.subtract.at(self._once, ids, 1)
            np.add.at(self._twice, ids, 1)
            self._note_change(ids)
        for ids in self._records.words_of(np.array(sorted(third), dtype=np.int64)):
            np.subtract.at(self._twice, ids, 1)
            self._note_change(ids)
        self.seen_once -= len(second)
        self.seen_twice += len(second) - len(third)

    def _add_new(self, records: Sequence[SeenRecord]) -> None:
        """Count the words of new records."""
        cells, ends = self._number(
            [query_words(record.text) for record in records], [record.fields for record in records]
        )
        self._shared.extend(bytes(len(records)))
        counts = (self._with_word, self._once, self._first, self._done, self._shared, self._sharing)
        open_words, common = count_words(cells, ends, *counts, self.held)
        self._unasked_words += open_words
        self._unasked_occurrences += common
        self._records.extend(cells, ends)
        self._note_change(cells)
        self._times.extend(b"\1" * len(records))
        self._is_exhausted.extend(bytes(len(records)))
        self.held += len(records)
        self.seen_once += len(records)

    def _note_change(self, ids: NDArray[np.int32]) -> None:
        self._changed.append(ids)
        self._changes += len(ids)
        if self._changes > MAX_CHANGES:  # nothing was proposed for long
            self._changed, self._changes, self._is_changed_everywhere = [], 0, True

    def asked(self, query: str, matches: int) -> None:
        """Count a query that was asked, and whether it had matches."""
        if len(ids := self._ids(words_of_query(query))) == 1:
            self._set_done(ids[0])
            if not matches:
                self._is_unmatched[ids[0]] = True
        kind = int(self._class[ids[0]]) if len(ids) == 1 else self._class_of("", shape_of(query, self._stops))
        self._tried[kind] += 1
        self._matched[kind] += matches > 0

    def mark_exhausted(self, hashes: Sequence[int]) -> None:
        """Mark the records of a complete answer, given by the hashes of their keys: words that occur only in such records return little more."""
        numbers = [n for n in self._keys.find(hashes) if n >= 0 and not self._is_exhausted[n]]
        for number in numbers:
            self._is_exhausted[number] = 1
        self._exhausted += len(numbers)
        for ids in self._records.words_of(np.array(sorted(numbers), dtype=np.int64)):
            np.add.at(self._with_word_exhausted, ids, 1)
            self._note_change(ids)

    def mark_asked(self, query: str) -> None:
        """Note that a query is being asked, so that it is not proposed again."""
        if len(ids := self._ids(words_of_query(query))) == 1:
            self._set_done(ids[0])

    def _set_done(self, number: int) -> None:
        """Stop proposing a word."""
        if not self._done[number]:
            self._done[number], inside = True, int(self._with_word[number])
            self._unasked_words -= inside > 0
            self._unasked_occurrences -= inside if inside > 1 else 0

    def accepts(self, word: str) -> bool:
        """Return True if a word is long enough for the source."""
        return len(word) >= self.min_chars

    def reject_shorter(self, min_chars: int) -> None:
        """Stop proposing words with fewer than `min_chars` letters."""
        self.min_chars = min_chars
        for number, word in enumerate(self.words()):
            if not self.accepts(word):
                self._set_done(number)

    def observe_capped(self, predicted: float, new: float) -> None:
        """Calibrate `capped_share` with a page of a capped query: its new records, and the prediction if all matches were equally likely."""
        self._capped_calibration.add_page(0, predicted, new)
        self.capped_share = self._capped_calibration.share(0)

    def observe_page(self, word: str, expected: float, new: float) -> None:
        """Calibrate the class of a word with the new records of its page."""
        if (number := self.number(word)) >= 0:
            kind = int(self._class[number])
            self._calibration.add_page(kind, expected / self._calibration.share(kind), new)

    def words(self, first: int = 0) -> list[str]:
        """Return all words by number, from `first` on."""
        return list(self._texts.since(first))

    def count_with(self, *words: str) -> int:
        """Return the number of records held that contain all of the words; only records added since the last call are counted."""
        numbers = self.numbers(words)
        if not words or -1 in numbers:
            return 0 if words else self.held
        key = tuple(sorted(set(numbers)))
        if len(key) == 1:
            return int(self._with_word[key[0]])
        counted, inside = self._counted.pop(key, (0, 0))
        inside += len(self._records.records_with_all(key, counted))
        self._counted[key] = self.held, inside  # last: the least recently used come first
        if len(self._counted) > MAX_COUNTED:
            del self._counted[next(iter(self._counted))]
        return inside

    def cooccurring_words(self, *words: str) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of records held with all of the words, the numbers of the co-occurring words, and the records with each."""
        counts = self.cooccurrence_counts(*words)
        others = np.flatnonzero(counts)
        return self.count_with(*words), others, counts[others]

    def cooccurrence_counts(self, *words: str) -> NDArray[np.int64]:
        """Return for each word the number of records held that contain it and all of `words`; 0 for `words` themselves."""
        if not words:
            return self._with_word[: len(self._texts)].astype(np.int64)
        numbers, none = self.numbers(words), np.zeros(0, dtype=np.int64)
        records = self._records.records_with_all(sorted(set(numbers))) if -1 not in numbers else none
        cells = list(self._records.words_of(records))
        counts = np.bincount(np.concatenate(cells) if cells else none, minlength=len(self._texts))
        counts[[number for number in numbers if number >= 0]] = 0
        return np.asarray(counts, dtype=np.int64)

    def numbers(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of words; -1 for words that no record held contains."""
        return self._numbers.find_words(words)

    def unasked(self) -> tuple[int, float]:
        """Return the number of words that were not asked, and how many of them a record shares with others on average."""
        return self._unasked_words, self._unasked_occurrences / max(1, self.held)

    @property
    def number_of_words(self) -> int:
        """Return the number of words seen."""
        return len(self._texts)

    def inside_of_unasked(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return for each word the number of records held that contain it, and whether it is not to be asked any more."""
        number = len(self._texts)
        return self._with_word[:number].copy(), self._done[:number].copy()

    def connections(self) -> tuple[int, int]:
        """Return how many records held share exactly one word with others, and how many two."""
        return int(self._sharing[1]), int(self._sharing[2])

    def words_of_each(self, step: int) -> Iterable[Numbers]:
        """Return the words of every `step`-th record, in several arrays."""
        return self._records.words_of(np.arange(0, self.held, step))

    def record_numbers(self, hashes: Sequence[int]) -> list[int]:
        """Return the numbers of records by the hashes of their keys; -1 for records that are not held."""
        return self._keys.find(hashes)

    def set_total(self, word: str, matches: float) -> None:
        """Store the number of matches that the source states for a word."""
        if (number := self.number(word)) >= 0:
            self._stated_matches[number] = matches

    def set_exhausted(self, word: str) -> None:
        """Note that all matches of a word are held."""
        if (number := self.number(word)) >= 0:
            self._stated_matches[number] = self._with_word[number]

    def missing_per_held(self, odds: float, numbers: Numbers) -> Floats:
        """Return the missing records per held record of `word AND query`, for each word, if the query has `odds` missing per held.

        The stated total of the word is an upper bound. Without one, words whose records were mostly seen once have more missing.
        """
        stated, inside = self._stated_matches[numbers].astype(float), self._with_word[numbers].astype(float)
        usual = self.share_seen_once
        once = (self._once[numbers] + SHRINK) / (inside + SHRINK / usual) / usual
        own = np.maximum(0.0, stated / np.maximum(1.0, inside) - 1)
        return np.where(stated > 0, np.minimum(odds, own), np.minimum(MAX_MISSING_PER_HELD, odds * once))

    @property
    def share_seen_once(self) -> float:
        """Return the share of the records held that were seen once."""
        return max(self.seen_once, 1) / max(self.held, 1)

    def counts_for_pairs(self) -> "tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32], NDArray[np.bool_]]":
        """Return for each word the records with it, those of them seen once, its matches in the source (0: unknown), and if it has none."""
        return self._with_word, self._once, self._stated_matches, self._is_unmatched

    def is_unmatched(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Return True for words that were asked and matched nothing."""
        return self._is_unmatched[numbers]

    @property
    def inside(self) -> Floats:
        """Return the number of records held that contain each word."""
        return self._with_word[: len(self._texts)].astype(float)

    def match_chances(self) -> Floats:
        """Return the probability that a word of each class matches; for parts of unspaced texts, that the source indexes parts at all."""
        share = np.array([(m + 1) / (t + 1) for m, t in zip(self._matched, self._tried, strict=True)])
        parts = [i for (_, shape), i in self._classes.items() if shape in (PAIR, ONE_CHARACTER)]
        share[parts] **= PARTS_POWER
        return share

    @property
    def classes(self) -> NDArray[np.int16]:
        """Return the class of each word: the column in which it was first seen, and its shape."""
        return self._class[: len(self._texts)]

    def _class_of(self, column: str, shape: int) -> int:
        column = "" if shape >= PAIR else column  # the column does not matter for parts and runs
        kind = self._classes.get((column, shape))
        if kind is None:
            kind = self._classes[column, shape] = len(self._classes)
            self._tried.append(0)
            self._matched.append(0)
        return kind

    def _ids(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of words, sorted; new words are added."""
        return self._number([words], [{}])[0].tolist()  # type: ignore[no-any-return] # a list of int

    def _number(
        self, words: Sequence[Sequence[str]], fields: Sequence[Mapping[str, str]]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the sorted numbers of the words of each record, and where those of each end; new words are added."""
        cells, ends, new_words = self._numbers.number_words(words, None if self.keeps_stop_words else self._stops)
        if any(new_words):
            columns = [columns_of(own, some) if own else () for own, some in zip(new_words, fields, strict=True)]
            self._add(list(chain.from_iterable(new_words)), list(chain.from_iterable(columns)))
        return np.frombuffer(cells, np.int32), np.frombuffer(ends, np.int32)

    def records_with(self, word: str) -> int:
        """Return the number of records held that contain a word."""
        number = self.number(word)
        return int(self._with_word[number]) if number >= 0 else 0

    def records_with_each(self, words: Sequence[str]) -> list[int]:
        """Return the number of records held that contain each of the words."""
        return [int(self._with_word[number]) if number >= 0 else 0 for number in self.numbers(words)]

    def has_word(self, key: str, word: str) -> bool:
        """Return True if the text of a record contained a word when it was first seen."""
        record, number = self._keys.find_one(hash_of(key)), self.number(word)
        return record >= 0 and number >= 0 and number in self._records.words_of_one(record)

    def number(self, word: str) -> int:
        """Return the number of a word; -1 if no record held contains it."""
        return self._numbers.find_one(hash_of(word))

    def word(self, number: int) -> str:
        """Return the word with a number."""
        return self._texts[number]

    def _add(self, words: Sequence[str], columns: Sequence[str | None]) -> None:
        """Add words, each with the column in which it was seen."""
        first = len(self._texts)
        self._texts.extend(words)
        if len(self._texts) > len(self._with_word):
            for name in (
                "_class",
                "_with_word",
                "_once",
                "_twice",
                "_with_word_exhausted",
                "_first",
                "_done",
                "_is_unmatched",
                "_stated_matches",
            ):
                old = getattr(self, name)
                setattr(self, name, np.concatenate((old, np.zeros(len(old) // ROOM_SHARE + len(words), old.dtype))))
        shapes = [shape_of(word, self._stops) for word in words]
        kinds = [self._class_of(column or "", shape) for column, shape in zip(columns, shapes, strict=True)]
        self._class[first : len(self._texts)] = kinds
        if self.min_chars:
            self._done[first : len(self._texts)] = [not self.accepts(word) for word in words]
