"""An inverted index of records and words for millions of records: blocks outside memory, recent records in memory.

blobs     bytes at offsets: in memory, or in a file provided by the harvest
block     consecutive records: the words of each, and for each word its records, sorted by word

A block has a sixteenth of all records, so the number of blocks grows logarithmically.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Blobs", "MemoryBlobs", "RecordWords", "WordTexts"]

Numbers = NDArray[np.int32]
MIN_BLOCK = 1024  # minimum number of records of a block
TEXT_BLOCK = 256  # texts of a block
BLOCKS = 16  # a block has one record in this many
FENCE = 1024  # words of a block per fence, which is kept in memory to find the others
MAX_GAP = 512  # gap between two records up to which they are read together: 30 KB more is faster than another read
INT = 4  # bytes
MAX_KEPT, MAX_LOOKED_UP = 20_000, 200  # records, and words, in the cache of recent lookups
NONE: Numbers = np.zeros(0, dtype=np.int32)


@runtime_checkable
class Blobs(Protocol):
    """Append-only storage of bytes."""

    def append(self, data: bytes) -> int:
        """Store bytes; return their offset."""
        ...

    def read(self, place: int, size: int) -> bytes:
        """Return the bytes at an offset."""
        ...


class MemoryBlobs:
    """Blobs in memory."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def append(self, data: bytes) -> int:
        """Store bytes; return their offset."""
        place = len(self._bytes)
        self._bytes += data
        return place

    def read(self, place: int, size: int) -> bytes:
        """Return the bytes at an offset."""
        return bytes(self._bytes[place : place + size])


class _Block(NamedTuple):
    first: int  # record
    end: int
    words: int  # different ones
    fences: Numbers
    starts_at: int  # places in the blobs: where the cells of each record start,
    cells_at: int  # the cells,
    words_at: int  # the different words,
    ends_at: int  # where the records of each word end,
    records_at: int  # and these records


class RecordWords:
    """The words of each record and the records of each word, by number."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._blocks: list[_Block] = []
        self._first = 0  # record that is in memory
        self._cells, self._starts = array("i"), array("i", [0])
        self._looked_up: dict[int, tuple[int, Numbers]] = {}  # word → blocks, records in them that have it
        self._kept = 0  # records of these words

    def __len__(self) -> int:
        return self._first + len(self._starts) - 1

    def extend(self, cells: Numbers, ends: Numbers) -> None:
        """Add records: `cells` are the words of all, `ends` where those of each end."""
        self._starts.frombytes((ends + np.int32(len(self._cells))).tobytes())
        self._cells.frombytes(cells.tobytes())
        if len(self._starts) > max(MIN_BLOCK, len(self) // BLOCKS):
            self._put_away()

    def words_of_one(self, record: int) -> Numbers:
        """Return the words of a record."""
        if record >= self._first:
            low, high = self._starts[record - self._first : record - self._first + 2]
            return np.array(self._cells[low:high], dtype=np.int32)
        block = self._blocks[bisect_right(self._blocks, record, key=lambda block: block.first) - 1]
        low, high = self._read(block.starts_at, record - block.first, record - block.first + 2).tolist()
        return self._read(block.cells_at, low, high)

    def words_of(self, records: NDArray[np.integer]) -> Iterator[Numbers]:
        """Yield the words of records sorted by number, one array per group of nearby records."""
        if not len(records):
            return
        edges = records.searchsorted([*(block.first for block in self._blocks), self._first]).tolist()
        for block, low, high in zip(self._blocks, edges, edges[1:], strict=False):
            if low == high:
                continue
            part = records[low:high] - block.first
            gaps = ((part[1:] - part[:-1]) > MAX_GAP).nonzero()[0].tolist() if high - low > 1 else ()
            for first, last in pairwise((0, *(gap + 1 for gap in gaps), len(part))):
                run = part[first:last]
                starts = self._read(block.starts_at, int(run[0]), int(run[-1]) + 2)
                yield _picked(self._read(block.cells_at, int(starts[0]), int(starts[-1])), starts, run - run[0])
        part = records[edges[-1] :] - self._first
        if len(part):
            starts = np.array(self._starts[int(part[0]) : int(part[-1]) + 2], dtype=np.int32)
            cells = np.array(self._cells[int(starts[0]) : int(starts[-1])], dtype=np.int32)
            yield _picked(cells, starts, part - part[0])

    def records_with(self, word: int, first: int = 0) -> Numbers:
        """Return the records with a word, from number `first` on."""
        if first >= self._first:
            return self._recent_with(word, first - self._first)
        records = np.concatenate((self._away_with(word), self._recent_with(word)))
        return records[records.searchsorted(first) :] if first else records

    def records_with_all(self, words: Sequence[int], first: int = 0) -> Numbers:
        """Return the records with all of some words, from number `first` on."""
        fewest, *others = sorted((self.records_with(word, first) for word in words), key=len)
        for records in others:
            if len(records) and len(fewest):
                fewest = fewest[records[np.minimum(records.searchsorted(fewest), len(records) - 1)] == fewest]
        return fewest

    def _recent_with(self, word: int, skipped: int = 0) -> Numbers:
        """Return the records in memory with a word, without the first `skipped`."""
        starts = np.frombuffer(self._starts, np.int32)[skipped:]
        if len(starts) < 2:
            return NONE
        at = (np.frombuffer(self._cells, np.int32)[starts[0] :] == word).nonzero()[0]
        if not len(at):
            return NONE
        records = starts.searchsorted(at + starts[0], "right") + (self._first + skipped - 1)
        return np.asarray(records, dtype=np.int32)

    def _away_with(self, word: int) -> Numbers:
        """Return the stored records with a word; recent lookups are cached."""
        blocks, records = self._looked_up.pop(word, (0, NONE))
        self._kept -= len(records)
        if blocks < len(self._blocks):
            records = np.concatenate((records, *(self._with(block, word) for block in self._blocks[blocks:])))
        self._looked_up[word] = len(self._blocks), records  # last: the least recently used come first
        self._kept += len(records)
        while self._kept > MAX_KEPT or len(self._looked_up) > MAX_LOOKED_UP:
            self._kept -= len(self._looked_up.pop(next(iter(self._looked_up)))[1])
        return records

    def _with(self, block: _Block, word: int) -> Numbers:
        fence = int(block.fences.searchsorted(word, "right")) - 1
        if fence < 0:
            return NONE
        low = fence * FENCE
        words = self._read(block.words_at, low, min(block.words, low + FENCE))
        at = int(words.searchsorted(word))
        if at == len(words) or words[at] != word:
            return NONE
        start, end = self._read(block.ends_at, low + at, low + at + 2).tolist()
        return self._read(block.records_at, start, end)

    def _read(self, place: int, low: int, high: int) -> Numbers:
        return np.frombuffer(self._blobs.read(place + INT * low, INT * (high - low)), dtype=np.int32)

    def _put_away(self) -> None:
        cells, starts = np.array(self._cells, dtype=np.int32), np.array(self._starts, dtype=np.int32)
        of_cell = np.repeat(np.arange(self._first, len(self), dtype=np.int32), np.diff(starts))
        order = np.argsort(cells, kind="stable")
        words, firsts = np.unique(cells[order], return_index=True)
        ends = np.append(firsts, len(cells)).astype(np.int32)
        parts = [starts, cells, words.astype(np.int32), ends, of_cell[order]]
        places = [self._blobs.append(part.tobytes()) for part in parts]
        fences = words[::FENCE].astype(np.int32)
        self._blocks.append(_Block(self._first, len(self), len(words), fences, *places))
        self._first = len(self)
        self._cells, self._starts = array("i"), array("i", [0])


class WordTexts:
    """Texts by number."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._places: list[int] = []  # of blocks: where each text ends, then the texts
        self._last: list[str] = []

    def __len__(self) -> int:
        return TEXT_BLOCK * len(self._places) + len(self._last)

    def since(self, first: int) -> Iterator[str]:
        """Yield the texts from a number on, one block at a time: two reads per text would take ten times as long."""
        skipped, at = divmod(first, TEXT_BLOCK)
        for place in self._places[skipped:]:
            ends = np.frombuffer(self._blobs.read(place, INT * (TEXT_BLOCK + 1)), dtype=np.int32).tolist()
            data = self._blobs.read(place + INT * (TEXT_BLOCK + 1), ends[-1])
            yield from (data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends[at:]))
            at = 0
        yield from self._last[at:]

    def __getitem__(self, number: int) -> str:
        block, at = divmod(number, TEXT_BLOCK)
        if block == len(self._places):
            return self._last[at]
        place = self._places[block]
        start, end = np.frombuffer(self._blobs.read(place + INT * at, 2 * INT), dtype=np.int32).tolist()
        data = self._blobs.read(place + INT * (TEXT_BLOCK + 1) + start, end - start)
        return data.decode("utf-8", "surrogatepass")

    def append(self, text: str) -> None:
        """Add a text."""
        self.extend((text,))

    def extend(self, texts: Sequence[str]) -> None:
        """Add texts."""
        self._last += texts
        while len(self._last) >= TEXT_BLOCK:
            block = [text.encode("utf-8", "surrogatepass") for text in self._last[:TEXT_BLOCK]]
            ends = np.cumsum([0, *map(len, block)]).astype(np.int32)
            self._places.append(self._blobs.append(ends.tobytes() + b"".join(block)))
            del self._last[:TEXT_BLOCK]


def _picked(cells: Numbers, starts: Numbers, records: NDArray[np.integer]) -> Numbers:
    """Return the cells of some of the records in `starts`."""
    if len(records) == len(starts) - 1:
        return cells
    lengths = np.diff(starts)[records]
    firsts = (starts[:-1] - starts[0])[records]
    places = np.repeat(firsts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    return np.asarray(cells[places])
