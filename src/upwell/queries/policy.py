"""Which word to ask for next, by the words of the records held.

    add_record(key, text, fields)    a record came, for the first time or again
    asked(query, matches)            a query was asked, and how many matches its first page had
    next() → word or None            what to ask now; `expected` is the number of new records that a request should bring

`WordIndex` counts words; a policy is a subclass with `worth`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from upwell.page.terms import query_words, stop_words_of, words_of_query
from upwell.queries.calibration import Calibration
from upwell.queries.word_shapes import ONE_CHARACTER, PAIR, shape_of

__all__ = [
    "CLASSES",
    "NEARLY_BEST_SHARE",
    "Frequency",
    "Greedy",
    "Promising",
    "Random",
    "WordIndex",
]

Floats = NDArray[np.float64]
NEARLY_BEST_SHARE = 0.8  # a question that brings this share of what the best one brings is as good; not swept
CLASSES = 64  # classes of words that are calibrated apart; a table with more columns shares some
PARTS_POWER = 2.0  # not swept: 1 spent two fifths of the requests on parts where only runs are found
MAX_MISSING_PER_HELD = 20.0  # records of a word that may be missing for each one held; not swept
MAX_COUNTED = 64  # groups of words whose counts are kept, so that only the records that came since are counted
LIFT = 10.0
SHRINK = 30.0  # records of the usual kind that weigh beside those of a word


@dataclass
class WordIndex:
    """The words of all records held: in how many records each occurs, and in how many that came only once."""

    limit: int = 0  # the result cap; 0: none is known
    page_size: int = 0  # records on a page; 0: a query is one request
    language: str = ""
    keeps_stop_words: bool = False  # and single letters: a source may search them
    min_chars: int = 0  # of a query that the source takes
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    expected: float = 0.0  # new records that a request for the word of `next` should bring
    top: float = (
        1.0  # share of what is predicted where the limit cuts off that comes: an order shows the same records first
    )
    barren: set[int] = field(default_factory=set)  # numbers of the words that were asked for and matched nothing
    held: int = 0
    seen_once: int = 0
    seen_twice: int = 0
    _number: dict[str, int] = field(default_factory=dict)
    _words: list[str] = field(default_factory=list)
    _class: NDArray[np.int16] = field(default_factory=lambda: np.zeros(1024, np.int16))
    _classes: dict[tuple[str, int], int] = field(default_factory=dict)  # column and shape
    _in: Floats = field(default_factory=lambda: np.zeros(1024))
    _once: Floats = field(default_factory=lambda: np.zeros(1024))
    _twice: Floats = field(default_factory=lambda: np.zeros(1024))
    _whole: Floats = field(default_factory=lambda: np.zeros(1024))  # records that came in a whole answer
    _done: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1024, bool))
    _told: Floats = field(default_factory=lambda: np.zeros(1024))  # matches in the source, where they are known; else 0
    _seen: dict[str, int] = field(default_factory=dict)
    _kept: dict[str, tuple[int, int]] = field(default_factory=dict)  # where the cells of each record are
    _column: NDArray[np.int32] = field(default_factory=lambda: np.zeros((2, 4096), np.int32))  # record, word
    _starts: list[int] = field(default_factory=lambda: [0])  # of the cells of each record, and the end of the last
    _records: list[list[int]] = field(default_factory=list)  # for each word, the records that have it
    # for the words that were counted last: records counted, of these with all of the words, beside which words
    _beside: dict[tuple[int, ...], tuple[int, int, NDArray[np.int64]]] = field(default_factory=dict)
    _exhausted: set[str] = field(default_factory=set)  # keys of records that came in a whole answer
    _cells: int = 0
    _bulk: Floats = field(
        default_factory=lambda: np.zeros(0)
    )  # what each candidate brings with all its pages, where it is known
    _tried: list[int] = field(default_factory=list)  # for each class
    _matched: list[int] = field(default_factory=list)
    _calibration: Calibration = field(default_factory=lambda: Calibration(CLASSES))
    _of_cut_off: Calibration = field(default_factory=lambda: Calibration(1))

    def __post_init__(self) -> None:
        self._stops = stop_words_of(self.language)

    def add_record(
        self, key: str, text: str, fields: Mapping[str, str] | None = None, words: Sequence[str] = ()
    ) -> None:
        """A record came; its words (`query_words` of the text, where they are at hand) are counted the first time."""
        times = self._seen[key] = self._seen.get(key, 0) + 1
        if times == 1:
            ids = self._ids(words or query_words(text), fields=fields or {})
            self._kept[key] = self._cells, self._cells + len(ids)
            self._put(ids)
            self._in[ids] += 1
            self._once[ids] += 1
            self.held += 1
            self.seen_once += 1
        elif times == 2:
            start, end = self._kept[key]
            self._once[self._column[1, start:end]] -= 1
            self._twice[self._column[1, start:end]] += 1
            self.seen_once -= 1
            self.seen_twice += 1
        elif times == 3:
            start, end = self._kept[key]
            self._twice[self._column[1, start:end]] -= 1
            self.seen_twice -= 1

    def asked(self, query: str, matches: int) -> None:
        """A query was asked; `matches` is 0 where it brought nothing."""
        if len(ids := self._ids(words_of_query(query))) == 1:
            self._done[ids[0]] = True
            if not matches:
                self.barren.add(int(ids[0]))
        kind = int(self._class[ids[0]]) if len(ids) == 1 else self._class_of("", query)
        self._tried[kind] += 1
        self._matched[kind] += matches > 0

    def mark_exhausted(self, keys: Iterable[str]) -> None:
        """All matches of a query came, these: beside words that stand in them only, little is left to come."""
        for key in sorted(keys):
            if key in self._exhausted:
                continue
            self._exhausted.add(key)
            if key in self._kept:
                start, end = self._kept[key]
                self._whole[self._column[1, start:end]] += 1

    def mark_asked(self, query: str) -> None:
        """A query is on its way: it is not given again."""
        if len(ids := self._ids(words_of_query(query))) == 1:
            self._done[ids[0]] = True

    def observe_cut_off(self, predicted: float, new: float) -> None:
        """How many new records a page of a query brought whose matches will not all come, beside what all matches alike would bring."""
        self._of_cut_off.add_page(0, predicted, new)
        self.top = self._of_cut_off.share(0)

    def observe_page(self, word: str, expected: float, new: float) -> None:
        """How many new records one page of a word brought: what to expect of others like it."""
        if (number := self.number(word)) >= 0:
            kind = int(self._class[number])
            self._calibration.add_page(kind, expected / self._calibration.share(kind), new)

    def next(self) -> str | None:
        size = len(self._words)
        if not size:
            return None
        worth = np.where(self._done[:size] | (self._in[:size] == 0), -np.inf, self.worth())
        best = int(np.argmax(worth))
        if worth[best] > 0 and len(self._bulk) == size:
            # of those that bring nearly as much for a request, the one that brings most: it leaves least to overlap
            best = int(np.argmax(np.where(worth >= NEARLY_BEST_SHARE * worth[best], self._bulk, -1.0)))
        self.expected = max(0.0, float(worth[best]))
        return None if worth[best] == -np.inf else self._words[best]

    def count_beside(self, *words: str) -> tuple[int, NDArray[np.int64]]:
        """How many records held have all of these words, and beside them in how many each word of all stands."""
        numbers = [self._number.get(word, -1) for word in words]
        if not words:
            return self.held, np.bincount(self._column[1, : self._cells], minlength=len(self._words))
        if -1 in numbers:
            return 0, np.zeros(len(self._words), dtype=np.int64)
        key = tuple(sorted(set(numbers)))
        counted, inside, counts = self._beside.pop(key, (0, 0, np.zeros(0, dtype=np.int64)))
        records, added = self._count_from(counted, key)
        if len(added) > len(counts):
            counts = np.concatenate((counts, np.zeros(len(added) - len(counts), dtype=np.int64)))
        counts = counts + added
        counts[numbers] = 0
        self._beside[key] = self.held, inside + records, counts  # as the last: the first were not asked for longest
        if len(self._beside) > MAX_COUNTED:
            del self._beside[next(iter(self._beside))]
        return inside + records, counts

    def _count_from(self, first: int, numbers: Sequence[int]) -> tuple[int, NDArray[np.int64]]:
        """Of the records from a number on, how many have all of these words, and in how many of those each word of all stands."""
        lists = [records[bisect_left(records, first) :] for records in map(self._records.__getitem__, numbers)]
        fewest, *others = sorted(lists, key=len)
        inside = np.array(fewest, dtype=np.int64)
        for records in others:
            inside = np.intersect1d(inside, records, assume_unique=True)
        starts = np.array([self._starts[record] for record in inside.tolist()], dtype=np.int64)
        lengths = np.array([self._starts[record + 1] for record in inside.tolist()], dtype=np.int64) - starts
        # the cells of all these records, as one array of places
        places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        return len(inside), np.bincount(self._column[1, places], minlength=len(self._words))

    def connections(self) -> tuple[int, int]:
        """How many records held share just one word with others, and how many two."""
        record, cells = self._column[:, : self._cells]
        shared = np.bincount(record[self._in[cells] > 1], minlength=self.held)
        return int((shared == 1).sum()), int((shared == 2).sum())

    def set_total(self, word: str, matches: float) -> None:
        """How many matches the source says that a word has."""
        if (number := self.number(word)) >= 0:
            self._told[number] = matches

    def set_exhausted(self, word: str) -> None:
        """All matches of a word came."""
        if (number := self.number(word)) >= 0:
            self._told[number] = self._in[number]

    def missing_per_held(self, odds: float) -> Floats:
        """How many records are missing for each one held, of those that have a word beside one of which as many as `odds` are.

        At most what the source says of the word; where it says nothing, more where its records were mostly seen just once.
        """
        set_total, inside = self._told[: len(self._words)], self.inside
        usual = max(self.seen_once, 1) / max(self.held, 1)
        once = (self.inside_once + SHRINK) / (self.inside + SHRINK / usual) / usual
        own = np.maximum(0.0, set_total / np.maximum(1.0, inside) - 1)
        return np.where(set_total > 0, np.minimum(odds, own), np.minimum(MAX_MISSING_PER_HELD, odds * once))

    def worth(self) -> Floats:
        """What each candidate is worth; the greatest is asked next."""
        raise TypeError("a policy says what a word is worth")

    @property
    def inside(self) -> Floats:
        """In how many records held each candidate stands."""
        return self._in[: len(self._words)]

    @property
    def inside_once(self) -> Floats:
        """In how many records that were seen just once each candidate stands."""
        return self._once[: len(self._words)]

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
        return self._class[: len(self._words)]

    def _class_of(self, column: str, word: str) -> int:
        shape = shape_of(word, self._stops)
        column = "" if shape >= PAIR else column  # whether parts and runs are found does not depend on where they stand
        kind = self._classes.setdefault((column, shape), len(self._classes))
        if kind == len(self._tried):
            self._tried.append(0)
            self._matched.append(0)
        return kind

    def _ids(self, words: Sequence[str], fields: Mapping[str, str] | None = None) -> NDArray[np.int64]:
        ids = []
        columns: dict[str, str] | None = None
        for word in dict.fromkeys(words):  # a set has another order in each process
            number = self._number.get(word)
            if number is None and not self.keeps_stop_words and (len(word) == 1 or word in self._stops):
                continue
            if number is None:
                if columns is None:
                    columns = {w: name for name, value in (fields or {}).items() for w in query_words(value)}
                number = self._add(word, columns.get(word, ""))
            ids.append(number)
        return np.array(sorted(ids), dtype=np.int64)

    def records_with(self, word: str) -> int:
        """How many records held have a word."""
        number = self._number.get(word)
        return int(self._in[number]) if number is not None else 0

    def number(self, word: str) -> int:
        """The place of a word among all words; -1 where no record held has it."""
        return self._number.get(word, -1)

    def word(self, number: int) -> str:
        """The way back."""
        return self._words[number]

    def _put(self, ids: NDArray[np.int64]) -> None:
        """The words of a further record, as cells (record, word)."""
        while self._cells + len(ids) > self._column.shape[1]:
            self._column = np.concatenate([self._column, np.zeros_like(self._column)], axis=1)
        self._column[0, self._cells : self._cells + len(ids)] = self.held
        self._column[1, self._cells : self._cells + len(ids)] = ids
        self._cells += len(ids)
        self._starts.append(self._cells)
        for number in ids.tolist():
            self._records[number].append(self.held)

    def _add(self, word: str, column: str) -> int:
        number = self._number[word] = len(self._words)
        self._words.append(word)
        self._records.append([])
        if number == len(self._in):
            for name in ("_class", "_in", "_once", "_twice", "_whole", "_done", "_told"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate((old, np.zeros_like(old))))
        self._class[number] = self._class_of(column, word)
        self._done[number] = len(word) < self.min_chars
        return number


class Random(WordIndex):
    """Any word of the records held: the least that a policy must beat."""

    def worth(self) -> Floats:
        return self.rng.random(len(self._words))


class Frequency(WordIndex):
    """The word that most records held have."""

    def worth(self) -> Floats:
        return self.inside


class Greedy(WordIndex):
    """The word that should match most records not held, every word of the source alike: d of n held, so d·N/n in all."""

    def worth(self) -> Floats:
        scale = 1 + _unseen(self) / max(self.held, 1)
        matches = self.inside * scale
        bound = np.minimum(1.0, self.limit / np.maximum(matches, 1e-9)) if self.limit else 1.0
        return np.asarray(bound * (matches - self.inside))


class Promising(WordIndex):
    """Ours: the word that should bring most new records for a request.

    A word whose records were seen often has few unseen ones, one whose records were mostly seen once has many: the share
    seen once, shrunk towards that of all records, scales the estimate of the unseen (Chao's, over all records) for each
    word. Where that is more than the source's limit, only as much comes back, and a part of it is held already. What
    comes back costs a request for each page.
    """

    shrink: float = SHRINK
    size: float = 0.0  # of the source, where more is known than what Chao's bound says

    def worth(self) -> Floats:
        new, pages = self.beliefs()
        return np.asarray(self.chance * new / pages)

    def beliefs(self) -> tuple[Floats, Floats]:
        """For each candidate the new records that its pages should bring, and the number of these pages."""
        size, held = len(self._words), max(1, self.held)
        once, twice, usual = self._once[:size], self._twice[:size], max(self.seen_once, 1) / held
        usual_twice = (self.seen_twice + 1) / held
        once_share = (once + self.shrink * usual) / (self.inside + self.shrink) / usual
        once_per_twice = (once + self.shrink * usual) / (twice + self.shrink * usual_twice) * usual_twice / usual
        outside = 1 - len(self._exhausted) / held
        lift = (self.inside - self._whole[:size] + LIFT) / (self.inside * outside + LIFT)
        all_unseen = max(_unseen(self), self.size - self.held)
        unseen = self.inside * np.minimum(50.0, all_unseen / held * once_share * once_per_twice * lift)
        matches = self.inside + unseen
        new = unseen
        if self.limit:
            new = np.where(matches > self.limit, new * self.top * self.limit / np.maximum(matches, 1e-9), new)
            matches = np.minimum(matches, self.limit)
        self._bulk = np.asarray(new)
        pages = np.maximum(1.0, np.ceil(matches / self.page_size)) if self.page_size else np.ones(len(matches))
        return self._bulk, np.asarray(pages)

    def propose(self, best_rate: float, horizon: int, good_share: float) -> "tuple[str, float, float, float] | None":
        """The word with the greatest value: word, new records, pages, and how likely it is to match at all."""
        size = len(self._words)
        if not size:
            return None
        new, pages = self.beliefs()
        share = self._shares_matched()[self.classes]
        new = new * self._calibration.shares(np.arange(len(self._tried)))[self.classes]
        near = np.minimum(pages, horizon)
        gain = share * new * near / pages
        cost = 1 + share * (near - 1)
        rates = np.where(self._done[:size] | (self._in[:size] == 0), -1.0, gain / cost)
        best = max(best_rate, float(rates.max()))
        at = int(np.argmax(np.where(rates < 0, -np.inf, gain - good_share * best * cost)))
        if rates[at] < 0:
            return None
        return self._words[at], float(new[at]), float(pages[at]), float(share[at])


def _unseen(words: WordIndex) -> float:
    """Chao's lower bound of the records not seen; at least one, and never more than fifty times those held."""
    once, twice = words.seen_once, words.seen_twice
    return min(max(once * (once - 1) / (2 * (twice + 1)), 1.0), 50.0 * max(words.held, 1))
