"""How alike two rows are: a few numbers for each pair of columns, each between 0 and 1, or not a number where a row has no value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process

from upwell.extract.dates import reader_of
from upwell.together.candidates import unit
from upwell.together.terms import Vectors, vectors_of, words_of

__all__ = ["Compared", "prepare"]

CHUNK_PAIRS = 50_000
FURNITURE_SHARE = 0.9  # a word that so many texts of a column have ("Publisher:") says nothing; not swept
MIN_TYPED_SHARE = (
    0.5  # of the texts of both columns that are numbers, or dates, where they are compared as such; not swept
)
SAMPLE = 300  # texts of a column that tell its type
NUMBER = re.compile(r"[^\d]{0,4}?([-+]?\d[\d,]*(?:\.\d+)?)[^\d]{0,4}")
SAME_NUMBER = 0.005  # relative difference up to which two numbers are the same; not swept
SAME_MONTHS = 1.1  # difference of two dates up to which they may be the same; not swept
YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")


@dataclass(frozen=True, kw_only=True)
class _Side:
    """One table: what its pairs are compared by."""

    rows: Any  # whole rows as unit vectors
    present: Any  # which terms each row has, as 0 and 1
    columns: Sequence[Any]  # weights of the terms
    units: Sequence[Any]
    masses: Sequence[Any]  # sums of the weights
    texts: Sequence[Sequence[str]]
    numbers: Sequence[Any | None]
    months: Sequence[Any | None]


@dataclass(frozen=True)
class Compared:
    """Two tables made ready to compare their rows, with each other or among themselves."""

    sides: tuple[_Side, _Side]

    def features(self, first: Any, second: Any, sides: tuple[int, int] = (0, 1)) -> Any:
        """A row of numbers for each pair of rows; `sides` says of which tables the two are."""
        parts = [
            self._chunk(first[at : at + CHUNK_PAIRS], second[at : at + CHUNK_PAIRS], sides)
            for at in range(0, max(1, len(first)), CHUNK_PAIRS)
        ]
        return np.concatenate(parts)

    def _chunk(self, first: Any, second: Any, sides: tuple[int, int]) -> Any:
        a, b = self.sides[sides[0]], self.sides[sides[1]]
        numbers = [_dots(a.rows, b.rows, first, second)]
        for column in range(len(a.columns)):
            numbers += _of_column(a, b, first, second, column)
        return np.column_stack(numbers).astype(np.float32)


def _of_column(a: _Side, b: _Side, first: Any, second: Any, column: int) -> list[Any]:
    """What one pair of columns says: cosine, how much of the one text is in the other's row, order of letters, equality, nearness."""
    mass_a, mass_b = a.masses[column][first], b.masses[column][second]
    both = (mass_a > 0) & (mass_b > 0)
    in_b = _shares(_dots(a.columns[column], b.present, first, second), mass_a)
    in_a = _shares(_dots(b.columns[column], a.present, second, first), mass_b)
    letters = process.cpdist(
        [a.texts[column][row] for row in first],
        [b.texts[column][row] for row in second],
        scorer=fuzz.token_sort_ratio,
        dtype=np.float32,
    ) / 100 if len(first) else np.zeros(0)  # fmt: skip
    found = [
        np.where(both, _dots(a.units[column], b.units[column], first, second), np.nan),
        np.where(both, np.minimum(in_a, in_b), np.nan),
        np.fmax(in_a, in_b),
        np.where(both, letters, np.nan),
        np.where(both, letters == 1, np.nan),
    ]
    numbers_a, numbers_b = a.numbers[column], b.numbers[column]
    if numbers_a is not None and numbers_b is not None:
        x, y = numbers_a[first], numbers_b[second]
        apart = np.abs(x - y) / np.maximum(np.maximum(np.abs(x), np.abs(y)), 1e-9)
        found += [np.exp(-5 * apart), np.where(np.isnan(apart), np.nan, apart < SAME_NUMBER)]
    months_a, months_b = a.months[column], b.months[column]
    if months_a is not None and months_b is not None:
        apart = np.abs(months_a[first] - months_b[second])
        found += [np.exp(-apart / 12), np.where(np.isnan(apart), np.nan, apart < SAME_MONTHS)]
    return found


def _dots(a: Any, b: Any, first: Any, second: Any) -> Any:
    """The products of rows of two matrices, pair by pair."""
    return np.asarray(a[first].multiply(b[second]).sum(axis=1)).ravel()


def _shares(parts: Any, masses: Any) -> Any:
    return np.where(masses > 0, parts / np.where(masses > 0, masses, 1), np.nan)


def prepare(
    a: dict[str, Sequence[str]], b: dict[str, Sequence[str]], aligned: Sequence[tuple[str, str]], sizes: tuple[int, int]
) -> tuple[Vectors, Compared]:
    """Two tables of texts made ready to be compared in their aligned columns."""
    words = [{name: without_furniture(words_of(texts)) for name, texts in table.items()} for table in (a, b)]
    vectors = vectors_of((words[0], words[1]), aligned, sizes)
    typed = [(_both(a[x], b[y], _numbers), _both(a[x], b[y], _months)) for x, y in aligned]
    sides = []
    for side in (0, 1):
        columns = [pair[side] for pair in vectors.columns]
        present = vectors.rows[side].copy()
        present.data = np.ones_like(present.data)
        sides.append(
            _Side(
                rows=unit(vectors.rows[side]),
                present=present,
                columns=columns,
                units=[unit(column) for column in columns],
                masses=[np.asarray(column.sum(axis=1)).ravel() for column in columns],
                texts=[[" ".join(text) for text in words[side][names[side]]] for names in aligned],
                numbers=[numbers[side] if numbers else None for numbers, _ in typed],
                months=[months[side] if months else None for _, months in typed],
            )
        )
    return vectors, Compared((sides[0], sides[1]))


def without_furniture(column: list[list[str]]) -> list[list[str]]:
    """The words of a column without those that nearly all its texts have, if anything is left then."""
    filled = [words for words in column if words]
    counts: dict[str, int] = {}
    for words in filled:
        for word in set(words):
            counts[word] = counts.get(word, 0) + 1
    furniture = {word for word, count in counts.items() if count >= max(2, FURNITURE_SHARE * len(filled))}
    bare = [[word for word in words if word not in furniture] for words in column]
    return bare if sum(map(bool, bare)) >= FURNITURE_SHARE * len(filled) else column


def _both(a: Sequence[str], b: Sequence[str], read: Any) -> tuple[Any, Any] | None:
    """The values of both columns, where enough of both can be read."""
    for texts in (a, b):
        sample = [text for text in texts if text][:SAMPLE]
        if not sample or np.isfinite(read(sample)).mean() < MIN_TYPED_SHARE:
            return None
    return read(a), read(b)


def _numbers(texts: Sequence[str]) -> Any:
    """The texts as numbers; not a number for those that are none."""
    found = (NUMBER.fullmatch(text.strip()) for text in texts)
    return np.array([float(match[1].replace(",", "")) if match else np.nan for match in found])


def _months(texts: Sequence[str]) -> Any:
    """The texts as months since the year 0; not a number for those that are no dates."""
    return np.array([_month(text) for text in texts])


@lru_cache(maxsize=100_000)
def _month(text: str) -> float:
    """The month of a date that has at least a year and a month, whatever stands before it."""
    text = text.rpartition(":")[2].strip() if ": " in text else text.strip()
    if not YEAR.search(text) or len(text) > 40 or text.isdigit():
        return float("nan")
    reader = reader_of([text])
    day = reader.read(text) if reader else None
    if day is None:
        import dateparser  # here, because it takes a third of a second and most tables need it not

        day = dateparser.parse(text, settings={"REQUIRE_PARTS": ["month", "year"], "PREFER_DAY_OF_MONTH": "first"})
    return day.year * 12 + day.month + (day.day - 1) / 31 if day else float("nan")
