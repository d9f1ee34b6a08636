"""The words of all records held: in how many records each stands, of these in how many that came only once, and beside which others.

What is counted about each word and each record is in compact arrays (about 40 bytes a word, 14 a record). Their texts, and which record
has which words, are put away (`record_words`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from upwell.arrays.key_set import KeyNumbers, hash_of
from upwell.choose.calibration import Calibration
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
    "shapes_of",
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
    """Counts the words of records that came for the first time, from `number` on; the cells of each end at `ends`.

    Of each word: in how many records it stands, in how many that came once, and the first of them. Of each record: how many words it
    shares with others, as far as `sharing` counts records by that. Gives how many more words that are not `done` stand in records, and
    how many more records those of them have that stand in several.
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
    """The last field in which each of some words stands; None where none has it."""
    if compiled is None:
        return plain_columns_of(words, fields)
    return compiled.columns_of(words, dict(fields), query_words)


def plain_columns_of(words: list[str], fields: Mapping[str, str]) -> list[str | None]:
    """As `columns_of`, without the compiled module."""
    columns: dict[str, str] = {}
    left = set(words)
    for name, value in reversed(list(fields.items())):
        here = left.intersection(query_words(value) if left else ())
        columns.update(dict.fromkeys(here, name))
        left -= here
    return [columns.get(word) for word in words]


def missing_in(text: str, words: Sequence[str]) -> list[str]:
    """Those of some words that a text does not have."""
    return [word for word, column in zip(words, columns_of(list(words), {"": text}), strict=True) if column is None]


# The shapes of words. A source may search years and codes, but not amounts.
SHAPES = (
    "letters", "mixed", "1 digit", "2 digits", "3 digits", "4 digits", "5 digits and more", "stop word", "one letter",
    "pair of characters", "run of characters", "character",
)  # fmt: skip
PAIR_CHARACTERS = 2  # sources that index scripts without spaces often index pairs
PAIR, ONE_CHARACTER = 9, 11  # shapes of parts of such texts: a source finds nearly all of them or nearly none
OTHER = 255  # what the compiled module leaves to Python
AROUND_DIGITS = str.maketrans("", "", " .,")


def shape_of(word: str, stops: frozenset[str] = frozenset()) -> int:
    """The number of a word's shape in SHAPES."""
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


def shapes_of(words: list[str], stops: frozenset[str]) -> list[int]:
    """The shape of each of some words."""
    if compiled is None:
        return [shape_of(word, stops) for word in words]
    shapes = compiled.shapes(words, stops)
    return [shape_of(word, stops) if shape == OTHER else shape for word, shape in zip(words, shapes, strict=True)]


Floats = NDArray[np.float64]
Numbers = NDArray[np.integer]
CLASSES = 64  # classes of words that are calibrated apart; a table with more columns shares some
PARTS_POWER = 2.0  # not swept: 1 spent two fifths of the requests on parts where only runs are found
MAX_MISSING_PER_HELD = 20.0  # records of a word that may be missing for each one held; not swept
MAX_COUNTED = 4096  # groups of words whose counts are kept, so that only the records that came since are counted
SHRINK = 30.0  # records of the usual kind that weigh beside those of a word
MAX_CHANGES = 20_000  # words of records that are kept as changed
ROOM_SHARE = 8  # arrays that are full grow by one of so many: all sites of a run may do so at the same time
MANY_SHARED = 3  # words that a record shares with others, beyond which they are not counted


class SeenRecord(NamedTuple):
    """A record that came; `words` are those of its text (`query_words`), where they are known."""

    key: str
    text: str
    fields: Mapping[str, str]
    words: Sequence[str] | None = None


@dataclass
class WordIndex:
    """The words of all records held."""

    result_cap: int = 0  # the result cap; 0: none is known
    page_size: int = 0  # records on a page; 0: a query is one request
    language: str = ""
    keeps_stop_words: bool = False  # and single letters: a source may search them
    min_chars: int = 0  # of a query that the source takes
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    expected: float = 0.0  # new records that a request for the word of `next` should bring
    top: float = (
        1.0  # share of what is predicted where the limit cuts off that comes: an order shows the same records first
    )
    held: int = 0
    seen_once: int = 0
    seen_twice: int = 0
    blobs: Blobs = field(default_factory=MemoryBlobs)  # where texts and cells are put away

    def __post_init__(self) -> None:
        self._stops = stop_words_of(self.language)
        self._numbers = KeyNumbers()  # of words
        self._keys = KeyNumbers()  # of records
        self._texts = WordTexts(self.blobs)
        self._records = RecordWords(self.blobs)
        # for each word
        self._class = np.zeros(256, np.int16)
        self._in = np.zeros(256, np.int32)
        self._once = np.zeros(256, np.int32)
        self._twice = np.zeros(256, np.int32)
        self._whole = np.zeros(256, np.int32)  # records that came in a whole answer
        self._first = np.zeros(256, np.int32)  # the first record that has it
        self._done = np.zeros(256, bool)
        self._barren = np.zeros(256, bool)  # whether it was asked for and matched nothing
        self._told = np.zeros(256, np.float32)  # matches in the source, where they are known; else 0
        # of the words that were not asked for: how many stand in records, and in how many those of them do that stand in several
        self._open_words = self._open_common = 0
        # for each record
        self._times = bytearray()  # it came, at most 3
        self._shared = bytearray()  # words that it shares with others, at most MANY_SHARED
        self._is_exhausted = bytearray()  # whether it came in a whole answer
        self._sharing = np.zeros(MANY_SHARED + 1, np.int64)  # records by how many words they share
        self._exhausted = 0
        self._counted: dict[tuple[int, ...], tuple[int, int]] = {}  # words → records counted, of these with all words
        self._changed: list[NDArray[np.int32]] = []  # words whose counts have changed since a policy looked
        self._changes = 0
        self._is_changed_everywhere = False  # too many have
        self._classes: dict[tuple[str, int], int] = {}  # column and shape
        self._tried: list[int] = []  # for each class
        self._matched: list[int] = []
        self._calibration = Calibration(CLASSES)
        self._of_cut_off = Calibration(1)
        self._bulk: Floats = np.zeros(0)  # what each candidate brings with all its pages, where it is known

    def add_record(self, key: str, text: str, fields: Mapping[str, str] | None = None) -> None:
        """A record came; its words are counted the first time."""
        self.add_records([SeenRecord(key, text, fields or {})])

    def add_records(self, records: Sequence[SeenRecord]) -> None:
        """The records of a page came, each once; looked up together, and their words counted the first time that they come."""
        hashes = [hash_of(record.key) for record in records]
        numbers = self._keys.find(hashes)
        new = [at for at, number in enumerate(numbers) if number < 0]
        if len(new) < len(records):
            self._see_again([number for number in numbers if number >= 0])
        for at in new:
            self._keys.add(hashes[at])
        if new:
            self._add_new([records[at] for at in new])

    def _see_again(self, numbers: Sequence[int]) -> None:
        """Records came again."""
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
        """Records came for the first time."""
        cells, ends = self._number(
            [query_words(record.text) for record in records], [record.fields for record in records]
        )
        self._shared.extend(bytes(len(records)))
        counts = (self._in, self._once, self._first, self._done, self._shared, self._sharing)
        open_words, common = count_words(cells, ends, *counts, self.held)
        self._open_words += open_words
        self._open_common += common
        self._records.extend(cells, ends)
        self._note_change(cells)
        self._times.extend(b"\1" * len(records))
        self._is_exhausted.extend(bytes(len(records)))
        self.held += len(records)
        self.seen_once += len(records)

    def _note_change(self, ids: NDArray[np.int32]) -> None:
        self._changed.append(ids)
        self._changes += len(ids)
        if self._changes > MAX_CHANGES:  # nobody looks
            self._changed, self._changes, self._is_changed_everywhere = [], 0, True

    def asked(self, query: str, matches: int) -> None:
        """A query was asked; `matches` is 0 where it brought nothing."""
        if len(ids := self._ids(words_of_query(query))) == 1:
            self._set_done(ids[0])
            if not matches:
                self._barren[ids[0]] = True
        kind = int(self._class[ids[0]]) if len(ids) == 1 else self._class_of("", shape_of(query, self._stops))
        self._tried[kind] += 1
        self._matched[kind] += matches > 0

    def mark_exhausted(self, hashes: Sequence[int]) -> None:
        """All matches of a query came, these, by the hashes of their keys: beside words that stand in them only, little is left to come."""
        numbers = [n for n in self._keys.find(hashes) if n >= 0 and not self._is_exhausted[n]]
        for number in numbers:
            self._is_exhausted[number] = 1
        self._exhausted += len(numbers)
        for ids in self._records.words_of(np.array(sorted(numbers), dtype=np.int64)):
            np.add.at(self._whole, ids, 1)
            self._note_change(ids)

    def mark_asked(self, query: str) -> None:
        """A query is on its way: it is not given again."""
        if len(ids := self._ids(words_of_query(query))) == 1:
            self._set_done(ids[0])

    def _set_done(self, number: int) -> None:
        """A word is not given any more."""
        if not self._done[number]:
            self._done[number], inside = True, int(self._in[number])
            self._open_words -= inside > 0
            self._open_common -= inside if inside > 1 else 0

    def takes(self, word: str) -> bool:
        """Whether a word has as many letters as the source wants."""
        return len(word) >= self.min_chars

    def leave_out_shorter(self, min_chars: int) -> None:
        """Words with fewer letters are not given any more."""
        self.min_chars = min_chars
        for number, word in enumerate(self.words()):
            if not self.takes(word):
                self._set_done(number)

    def observe_cut_off(self, predicted: float, new: float) -> None:
        """How many new records a page of a query brought whose matches will not all come, beside what all matches alike would bring."""
        self._of_cut_off.add_page(0, predicted, new)
        self.top = self._of_cut_off.share(0)

    def observe_page(self, word: str, expected: float, new: float) -> None:
        """How many new records one page of a word brought: what to expect of others like it."""
        if (number := self.number(word)) >= 0:
            kind = int(self._class[number])
            self._calibration.add_page(kind, expected / self._calibration.share(kind), new)

    def words(self, first: int = 0) -> list[str]:
        """All words by number, from one on."""
        return list(self._texts.since(first))

    def count_with(self, *words: str) -> int:
        """How many records held have all of these words; only those that came since it was asked last are counted."""
        numbers = self.numbers(words)
        if not words or -1 in numbers:
            return 0 if words else self.held
        key = tuple(sorted(set(numbers)))
        if len(key) == 1:
            return int(self._in[key[0]])
        counted, inside = self._counted.pop(key, (0, 0))
        inside += len(self._records.records_with_all(key, counted))
        self._counted[key] = self.held, inside  # as the last: the first were not asked for longest
        if len(self._counted) > MAX_COUNTED:
            del self._counted[next(iter(self._counted))]
        return inside

    def cooccurring_words(self, *words: str) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """How many records held have all of these words, the numbers of the words beside them, and in how many each of those stands."""
        counts = self.cooccurrence_counts(*words)
        beside = np.flatnonzero(counts)
        return self.count_with(*words), beside, counts[beside]

    def cooccurrence_counts(self, *words: str) -> NDArray[np.int64]:
        """In how many of the records held that have all of these words each word stands; 0 for the words themselves."""
        if not words:
            return self._in[: len(self._texts)].astype(np.int64)
        numbers, none = self.numbers(words), np.zeros(0, dtype=np.int64)
        records = self._records.records_with_all(sorted(set(numbers))) if -1 not in numbers else none
        cells = list(self._records.words_of(records))
        counts = np.bincount(np.concatenate(cells) if cells else none, minlength=len(self._texts))
        counts[[number for number in numbers if number >= 0]] = 0
        return np.asarray(counts, dtype=np.int64)

    def numbers(self, words: Sequence[str]) -> list[int]:
        """The numbers of words; -1 for those that no record held has."""
        return self._numbers.find_words(words)

    def unasked(self) -> tuple[int, float]:
        """How many words of the records held were not asked for, and how many of them a record shares with others on average."""
        return self._open_words, self._open_common / max(1, self.held)

    def connections(self) -> tuple[int, int]:
        """How many records held share just one word with others, and how many two."""
        return int(self._sharing[1]), int(self._sharing[2])

    def words_of_each(self, step: int) -> Iterable[Numbers]:
        """The words of the first record and of each that is `step` after another, in parts."""
        return self._records.words_of(np.arange(0, self.held, step))

    def record_numbers(self, hashes: Sequence[int]) -> list[int]:
        """The numbers of records by the hashes of their keys; -1 for those that are not held."""
        return self._keys.find(hashes)

    def set_total(self, word: str, matches: float) -> None:
        """How many matches the source says that a word has."""
        if (number := self.number(word)) >= 0:
            self._told[number] = matches

    def set_exhausted(self, word: str) -> None:
        """All matches of a word came."""
        if (number := self.number(word)) >= 0:
            self._told[number] = self._in[number]

    def missing_per_held(self, odds: float, numbers: Numbers) -> Floats:
        """How many records are missing for each one held, of those that have a word beside one of which as many as `odds` are.

        At most what the source says of the word; where it says nothing, more where its records were mostly seen just once.
        """
        told, inside, usual = self._told[numbers].astype(float), self._in[numbers].astype(float), self.usual_once
        once = (self._once[numbers] + SHRINK) / (inside + SHRINK / usual) / usual
        own = np.maximum(0.0, told / np.maximum(1.0, inside) - 1)
        return np.where(told > 0, np.minimum(odds, own), np.minimum(MAX_MISSING_PER_HELD, odds * once))

    @property
    def usual_once(self) -> float:
        """The share of all records held that came just once."""
        return max(self.seen_once, 1) / max(self.held, 1)

    def counts_for_pairs(self) -> "tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32], NDArray[np.bool_]]":
        """Of each word: the records that have it, those of them that came once, its matches as far as they are known, whether it has none."""
        return self._in, self._once, self._told, self._barren

    def is_barren(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Whether words were asked for and matched nothing."""
        return self._barren[numbers]

    @property
    def inside(self) -> Floats:
        """In how many records held each candidate stands."""
        return self._in[: len(self._texts)].astype(float)

    @property
    def inside_once(self) -> Floats:
        """In how many records that were seen just once each candidate stands."""
        return self._once[: len(self._texts)].astype(float)

    @property
    def chance(self) -> Floats:
        """How likely a word of a class is to match at all, from those tried, and how much came of what was expected of it."""
        share = self._shares_matched()
        return np.asarray((share * self._calibration.shares(np.arange(len(share))))[self.classes])

    def _shares_matched(self) -> Floats:
        """How likely a word of each class is to match; of parts of texts without spaces, that the source finds parts at all."""
        share = np.array([(m + 1) / (t + 1) for m, t in zip(self._matched, self._tried, strict=True)])
        parts = [i for (_, shape), i in self._classes.items() if shape in (PAIR, ONE_CHARACTER)]
        share[parts] **= PARTS_POWER
        return share

    @property
    def classes(self) -> NDArray[np.int16]:
        """The class of each candidate: the column in which it was seen first, and its shape."""
        return self._class[: len(self._texts)]

    def _class_of(self, column: str, shape: int) -> int:
        column = "" if shape >= PAIR else column  # whether parts and runs are found does not depend on where they stand
        kind = self._classes.get((column, shape))
        if kind is None:
            kind = self._classes[column, shape] = len(self._classes)
            self._tried.append(0)
            self._matched.append(0)
        return kind

    def _ids(self, words: Sequence[str]) -> list[int]:
        """The numbers of words, sorted; those that have none get one."""
        return self._number([words], [{}])[0].tolist()  # type: ignore[no-any-return] # a list of int

    def _number(
        self, words: Sequence[Sequence[str]], fields: Sequence[Mapping[str, str]]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The numbers of the words of each record, sorted, and where those of each end; words that have none get one."""
        cells, ends, new_words = self._numbers.number_words(words, None if self.keeps_stop_words else self._stops)
        if any(new_words):
            columns = [columns_of(own, some) if own else () for own, some in zip(new_words, fields, strict=True)]
            self._add(list(chain.from_iterable(new_words)), list(chain.from_iterable(columns)))
        return np.frombuffer(cells, np.int32), np.frombuffer(ends, np.int32)

    def records_with(self, word: str) -> int:
        """How many records held have a word."""
        number = self.number(word)
        return int(self._in[number]) if number >= 0 else 0

    def records_with_each(self, words: Sequence[str]) -> list[int]:
        """How many records held have each of some words."""
        return [int(self._in[number]) if number >= 0 else 0 for number in self.numbers(words)]

    def has_word(self, key: str, word: str) -> bool:
        """Whether a record held has a word in its text, as it was when it came first."""
        record, number = self._keys.find_one(hash_of(key)), self.number(word)
        return record >= 0 and number >= 0 and number in self._records.words_of_one(record)

    def number(self, word: str) -> int:
        """The place of a word among all words; -1 where no record held has it."""
        return self._numbers.find_one(hash_of(word))

    def word(self, number: int) -> str:
        """The way back."""
        return self._texts[number]

    def _add(self, words: Sequence[str], columns: Sequence[str | None]) -> None:
        """Takes in further words, each with the column in which it stands."""
        first = len(self._texts)
        self._texts.extend(words)
        if len(self._texts) > len(self._in):
            for name in ("_class", "_in", "_once", "_twice", "_whole", "_first", "_done", "_barren", "_told"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate((old, np.zeros(len(old) // ROOM_SHARE + len(words), old.dtype))))
        shapes = shapes_of(list(words), self._stops)
        kinds = [self._class_of(column or "", shape) for column, shape in zip(columns, shapes, strict=True)]
        self._class[first : len(self._texts)] = kinds
        if self.min_chars:
            self._done[first : len(self._texts)] = [not self.takes(word) for word in words]
