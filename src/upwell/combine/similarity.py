"""Similarity of rows of two tables.

`term_vectors` turns rows into weighted term vectors, `nearest_pairs_between` and `nearest_pairs_within` choose the pairs worth
comparing, and `PairFeatures` describes each pair by a few numbers per column: between 0 and 1, or NaN if a value is missing.
"""

from __future__ import annotations

import html
import itertools
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process
from scipy import sparse

from upwell.records.values import date_reader

__all__ = [
    "WORD_FEATURES",
    "YEAR",
    "PairFeatures",
    "TermVectors",
    "nearest_pairs_between",
    "nearest_pairs_within",
    "normalised",
    "pair_features",
    "term_vectors",
    "unit_rows",
    "words_by_text",
]


NEIGHBOURS = 5  # nearest rows kept for each row; swept: on six pairs of tables, 3 lose 0.2 % of the matches, 5 none
PRODUCTS_PER_ROW = 4000  # average number of shared terms evaluated per row; rare terms are used first
CHUNK_ROWS = 2000  # rows multiplied at a time
MAX_INNER_ROWS = 10_000  # rows of one table searched for neighbours in the same table


def unit_rows(matrix: Any) -> Any:
    """Scale the rows of a matrix to length 1."""
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sparse.diags(1 / np.where(lengths > 0, lengths, 1)).astype(np.float32) @ matrix


def nearest_pairs_between(a: Any, b: Any) -> tuple[Any, Any]:
    """Return pairs of near rows of two tables, as two arrays of row numbers: each row with its nearest rows in the other table."""
    a_rows, b_near = _nearest(a, b, np.arange(a.shape[0]))
    b_rows, a_near = _nearest(b, a, np.arange(b.shape[0]))
    return _distinct(np.concatenate([a_rows, a_near]), np.concatenate([b_near, b_rows]), b.shape[0])


def nearest_pairs_within(
    matrix: Any, *, neighbours: int = NEIGHBOURS, sample_from: int = MAX_INNER_ROWS
) -> tuple[Any, Any, float]:
    """Return pairs of near rows inside one table, each once, and the number of rows that each sampled row represents.

    In a table of more than `sample_from` rows, a sample of rows and the nearest rows of the sample are examined, so that mutual neighbours
    can be recognised.
    """
    size = matrix.shape[0]
    sample = np.arange(size)
    if size > sample_from:
        sample = np.sort(np.random.default_rng(0).choice(size, sample_from // 2, replace=False))
    rows, near = _nearest(matrix, matrix, sample, without_itself=True, neighbours=neighbours)
    if size > sample_from:
        others = np.setdiff1d(near, sample)
        more_rows, more_near = _nearest(matrix, matrix, others, without_itself=True, neighbours=neighbours)
        rows, near = np.concatenate([rows, more_rows]), np.concatenate([near, more_near])
    first, second = _distinct(np.minimum(rows, near), np.maximum(rows, near), size)
    return first, second, size / max(1, len(sample))


def _distinct(first: Any, second: Any, width: int) -> tuple[Any, Any]:
    """Remove duplicate pairs."""
    codes = np.unique(first.astype(np.int64) * max(1, width) + second)
    return codes // max(1, width), codes % max(1, width)


def _nearest(
    of: Any, among: Any, rows: Any, *, without_itself: bool = False, neighbours: int = NEIGHBOURS
) -> tuple[Any, Any]:
    """Find the nearest rows by cosine of unit rows, using only terms rare enough to be affordable."""
    rare = _rare_terms(of, among)
    left, right = of[:, rare].tocsr(), among[:, rare].T.tocsr()
    row_parts, near_parts = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(rows), CHUNK_ROWS):
        chunk = rows[start : start + CHUNK_ROWS]
        products = (left[chunk] @ right).tocsr()
        for position, row in enumerate(chunk):
            begin, end = products.indptr[position], products.indptr[position + 1]
            near, cosines = products.indices[begin:end], products.data[begin:end]
            if without_itself:
                near, cosines = near[near != row], cosines[near != row]
            if len(near) > neighbours:
                near = near[np.lexsort((near, -cosines))[:neighbours]]  # ties by row number, to be deterministic
            row_parts.append(np.full(len(near), row, dtype=np.int64))
            near_parts.append(near.astype(np.int64))
    return np.concatenate(row_parts), np.concatenate(near_parts)


def _rare_terms(a: Any, b: Any) -> Any:
    """Return the terms that both tables have, rarest first, up to the work budget."""
    counts_a = np.diff(a.tocsc().indptr).astype(np.float64)
    work = counts_a * np.diff(b.tocsc().indptr)
    order = np.argsort(work, kind="stable")
    affordable = np.cumsum(work[order]) <= PRODUCTS_PER_ROW * (a.shape[0] + b.shape[0])
    return order[affordable & (work[order] > 0)]


# Scripts written without spaces between words (Han, kana, Thai, Lao, Myanmar, Khmer): each character counts as a word, and the bigrams
# added by `_terms` distinguish texts. Hangul is decomposed by the normalisation, and is written with spaces.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
MAX_CHARS = 2000  # length to which texts are cut before comparison; what identifies an entity comes first


@lru_cache(maxsize=200_000)
def normalised(text: str) -> str:
    """Return a text without case, accents and HTML character references, with single spaces between words.

    >>> normalised("Caf&#233;  NOIR – 12,5 %"), normalised("深層 Web")
    ('cafe noir 12 5', '深 層 web')
    """
    text = unicodedata.normalize("NFKD", html.unescape(text[:MAX_CHARS])).casefold()
    return " ".join(WORD.findall("".join(c for c in text if not unicodedata.combining(c))))


def words_by_text(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text of a column."""
    return [normalised(text).split() for text in texts]


def _terms(words: Sequence[str]) -> set[str]:
    """Return words and joined bigrams: "data base" yields the term `database`, and "ds-3" yields `ds3`."""
    return {*words, *(first + second for first, second in itertools.pairwise(words))}


@dataclass(frozen=True)
class TermVectors:
    """Term vectors of two tables over one vocabulary: a matrix for whole rows, and one for each aligned column."""

    rows: tuple[Any, Any]  # scipy.sparse.csr_matrix for each table
    columns: tuple[tuple[Any, Any], ...]


def term_vectors(
    tables: tuple[Mapping[str, Sequence[Sequence[str]]], Mapping[str, Sequence[Sequence[str]]]],
    aligned: Iterable[tuple[str, str]],
    sizes: tuple[int, int],
) -> TermVectors:
    """Build the vectors of two tables whose columns are lists of words; whole rows contain the words of all columns."""
    vocabulary: dict[str, int] = {}
    of_columns = [{name: _incidence(column, vocabulary) for name, column in columns.items()} for columns in tables]
    width = len(vocabulary)
    rows = [_sum(parts.values(), size, width) for parts, size in zip(of_columns, sizes, strict=True)]
    counts = np.asarray(sum(matrix.sum(axis=0) for matrix in rows)).ravel()
    weights = (
        np.log(max(2, sum(sizes)) / np.maximum(counts, 1)) + 0.01
    )  # the constant keeps a small weight for terms of every row
    scale = sparse.diags(weights)
    return TermVectors(
        rows=(rows[0] @ scale, rows[1] @ scale),
        columns=tuple(
            (_wide(of_columns[0][a], width) @ scale, _wide(of_columns[1][b], width) @ scale) for a, b in aligned
        ),
    )


def _incidence(column: Sequence[Sequence[str]], vocabulary: dict[str, int]) -> Any:
    """Return the term incidence matrix of a column; new terms are added to the vocabulary."""
    indices: list[int] = []
    starts = [0]
    for words in column:
        indices.extend(vocabulary.setdefault(term, len(vocabulary)) for term in sorted(_terms(words)))
        starts.append(len(indices))
    shape = (len(column), len(vocabulary))
    return sparse.csr_matrix((np.ones(len(indices), dtype=np.float32), indices, starts), shape=shape)


def _wide(matrix: Any, width: int) -> Any:
    """Extend a matrix to the whole vocabulary."""
    return sparse.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))


def _sum(parts: Iterable[Any], size: int, width: int) -> Any:
    """Return the incidence matrix of terms in any column of a row."""
    total = sparse.csr_matrix((size, width), dtype=np.float32)
    for part in parts:
        total = total + _wide(part, width)
    total.data[:] = 1
    return total


CHUNK_PAIRS = 50_000  # pairs compared at a time
BOILERPLATE_SHARE = 0.9  # share of a column's texts above which a word ("Publisher:") is boilerplate; not swept
# share of texts of both columns that must be numbers (or dates) to compare them as such; not swept
MIN_TYPED_SHARE = 0.5
SAMPLE = 300  # texts of a column that determine its type
NUMBER = re.compile(r"[^\d]{0,4}?([-+]?\d[\d,]*(?:\.\d+)?)[^\d]{0,4}")
SAME_NUMBER = 0.005  # relative difference up to which numbers are equal; not swept
SAME_MONTHS = 1.1  # difference in months up to which dates may be equal; not swept
YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")


WORD_FEATURES = 7  # features of whole rows at the end of each feature vector


@dataclass(frozen=True)
class _WordSet:
    """Words of one class in the rows of a table."""

    weights: Any  # rarity of each word: 1 if only one row of both tables has it, 0 if all have it
    present: Any  # 0/1
    masses: Any  # sum of the weights of each row


@dataclass(frozen=True, kw_only=True)
class _Side:
    """One of the two tables, prepared for comparison."""

    rows: Any  # unit vectors of whole rows
    present: Any  # 0/1 incidence of terms in whole rows
    columns: Sequence[Any]  # term weights of each aligned column
    units: Sequence[Any]  # the same as unit vectors
    masses: Sequence[Any]  # sum of term weights of each value
    texts: Sequence[Sequence[str]]
    numbers: Sequence[Any | None]
    months: Sequence[Any | None]
    words: Sequence[_WordSet]  # of whole rows: all words, words with digits, words that look like codes


@dataclass(frozen=True)
class PairFeatures:
    """Computes features for pairs of rows, across the two tables or inside one."""

    sides: tuple[_Side, _Side]

    def features(self, first: Any, second: Any, sides: tuple[int, int] = (0, 1)) -> Any:
        """Return a feature vector for each pair of rows; `sides` says which table each row belongs to."""
        parts = [
            self._chunk(first[start : start + CHUNK_PAIRS], second[start : start + CHUNK_PAIRS], sides)
            for start in range(0, max(1, len(first)), CHUNK_PAIRS)
        ]
        return np.concatenate(parts)

    def containment(self, first: Any, second: Any) -> Any:
        """Return the share of the words of one row that the other row of the first table contains, by rarity; the larger of both."""
        words = self.sides[0].words[0]
        common = _dots(words.weights, words.present, first, second)
        return np.nan_to_num(np.fmax(_shares(common, words.masses[first]), _shares(common, words.masses[second])))

    def _chunk(self, first: Any, second: Any, sides: tuple[int, int]) -> Any:
        a, b = self.sides[sides[0]], self.sides[sides[1]]
        features = [_dots(a.rows, b.rows, first, second)]
        for column in range(len(a.columns)):
            features += _column_features(a, b, first, second, column)
        features += _word_features(a, b, first, second)
        return np.column_stack(features).astype(np.float32)


def _column_features(a: _Side, b: _Side, first: Any, second: Any, column: int) -> list[Any]:
    """Compute cosine, containment in the other row, edit similarity, equality, and closeness of numbers and dates."""
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
    features = [
        np.where(both, _dots(a.units[column], b.units[column], first, second), np.nan),
        np.where(both, np.minimum(in_a, in_b), np.nan),
        np.fmax(in_a, in_b),
        np.where(both, letters, np.nan),
        np.where(both, letters == 1, np.nan),
    ]
    numbers_a, numbers_b = a.numbers[column], b.numbers[column]
    if numbers_a is not None and numbers_b is not None:
        x, y = numbers_a[first], numbers_b[second]
        distance = np.abs(x - y) / np.maximum(np.maximum(np.abs(x), np.abs(y)), 1e-9)
        features += [np.exp(-5 * distance), np.where(np.isnan(distance), np.nan, distance < SAME_NUMBER)]
    months_a, months_b = a.months[column], b.months[column]
    if months_a is not None and months_b is not None:
        distance = np.abs(months_a[first] - months_b[second])
        features += [np.exp(-distance / 12), np.where(np.isnan(distance), np.nan, distance < SAME_MONTHS)]
    return features


def _word_features(a: _Side, b: _Side, first: Any, second: Any) -> list[Any]:
    """Compute, for each class of words, how much of each row the other one contains, and the rarity of the rarest common word.

    Products are told apart by codes, which are often in the title of one table and in the description of the other.
    """
    features = []
    for ours, theirs in zip(a.words, b.words, strict=True):
        common = _dots(ours.weights, theirs.present, first, second)
        shares = _shares(common, ours.masses[first]), _shares(common, theirs.masses[second])
        features += [np.fmin(*shares), np.fmax(*shares)]
    rarest = a.words[0].weights[first].multiply(b.words[0].present[second]).max(axis=1)
    return [*features, rarest.toarray().ravel()]


def _word_sets(tables: Sequence[Mapping[str, Sequence[Sequence[str]]]], sizes: tuple[int, int]) -> list[list[_WordSet]]:
    """Return the words of whole rows of two tables, in three classes."""
    vocabulary: dict[str, int] = {}
    matrices = []
    for columns, size in zip(tables, sizes, strict=True):
        indices: list[int] = []
        starts = [0]
        for row in range(size):
            words = {word for column in columns.values() for word in column[row]}
            indices.extend(vocabulary.setdefault(word, len(vocabulary)) for word in sorted(words))
            starts.append(len(indices))
        matrices.append((indices, starts))
    width = len(vocabulary)
    incidence = [sparse.csr_matrix((np.ones(len(i), np.float32), i, s), shape=(len(s) - 1, width)) for i, s in matrices]
    counts = np.asarray(sum(matrix.sum(axis=0) for matrix in incidence)).ravel()
    rarity = np.log(sum(sizes) / np.maximum(counts, 1)) / np.log(max(2, sum(sizes)))
    has_digit = np.array([any(c.isdigit() for c in word) for word in vocabulary], bool)
    is_code = has_digit & np.array([len(word) >= 4 or not word.isdigit() for word in vocabulary], bool)
    sides: list[list[_WordSet]] = [[], []]
    for kept in (np.ones(width, bool), has_digit, is_code):
        for side, matrix in zip(sides, incidence, strict=True):
            present = (matrix @ sparse.diags(kept.astype(np.float32))).tocsr()
            present.eliminate_zeros()
            weights = (present @ sparse.diags(rarity.astype(np.float32))).tocsr()
            side.append(_WordSet(weights, present, np.asarray(weights.sum(axis=1)).ravel()))
    return sides


def _dots(a: Any, b: Any, first: Any, second: Any) -> Any:
    """Return the dot products of rows of two matrices, pair by pair."""
    return np.asarray(a[first].multiply(b[second]).sum(axis=1)).ravel()


def _shares(parts: Any, masses: Any) -> Any:
    return np.where(masses > 0, parts / np.where(masses > 0, masses, 1), np.nan)


def pair_features(
    a: dict[str, Sequence[str]], b: dict[str, Sequence[str]], aligned: Sequence[tuple[str, str]], sizes: tuple[int, int]
) -> PairFeatures:
    """Prepare two tables of texts for comparison in their aligned columns."""
    words = [{name: without_boilerplate(words_by_text(texts)) for name, texts in table.items()} for table in (a, b)]
    vectors = term_vectors((words[0], words[1]), aligned, sizes)
    typed = [(_both(a[x], b[y], _numbers), _both(a[x], b[y], _months)) for x, y in aligned]
    word_sets = _word_sets(words, sizes)
    sides = []
    for side in (0, 1):
        columns = [pair[side] for pair in vectors.columns]
        present = vectors.rows[side].copy()
        present.data = np.ones_like(present.data)
        sides.append(
            _Side(
                rows=unit_rows(vectors.rows[side]),
                present=present,
                columns=columns,
                units=[unit_rows(column) for column in columns],
                masses=[np.asarray(column.sum(axis=1)).ravel() for column in columns],
                texts=[[" ".join(text) for text in words[side][names[side]]] for names in aligned],
                numbers=[numbers[side] if numbers else None for numbers, _ in typed],
                months=[months[side] if months else None for _, months in typed],
                words=word_sets[side],
            )
        )
    return PairFeatures((sides[0], sides[1]))


def without_boilerplate(column: list[list[str]]) -> list[list[str]]:
    """Remove words that nearly all texts of a column have, unless too little would remain."""
    filled = [words for words in column if words]
    counts: dict[str, int] = {}
    for words in filled:
        for word in set(words):
            counts[word] = counts.get(word, 0) + 1
    boilerplate = {word for word, count in counts.items() if count >= max(2, BOILERPLATE_SHARE * len(filled))}
    bare = [[word for word in words if word not in boilerplate] for words in column]
    return bare if sum(map(bool, bare)) >= BOILERPLATE_SHARE * len(filled) else column


def _both(a: Sequence[str], b: Sequence[str], read: Any) -> tuple[Any, Any] | None:
    """Return the typed values of both columns if enough of them can be parsed, else None."""
    for texts in (a, b):
        sample = [text for text in texts if text][:SAMPLE]
        if not sample or np.isfinite(read(sample)).mean() < MIN_TYPED_SHARE:
            return None
    return read(a), read(b)


def _numbers(texts: Sequence[str]) -> Any:
    """Parse texts as numbers; NaN if a text is not a number."""
    matches = (NUMBER.fullmatch(text.strip()) for text in texts)
    return np.array([float(match[1].replace(",", "")) if match else np.nan for match in matches])


def _months(texts: Sequence[str]) -> Any:
    """Parse texts as months since year 0; NaN if a text is not a date."""
    return np.array([_month(text) for text in texts])


@lru_cache(maxsize=100_000)
def _month(text: str) -> float:
    """Return the month of a date that has at least a year and a month, ignoring a label before it."""
    text = text.rpartition(":")[2].strip() if ": " in text else text.strip()
    if not YEAR.search(text) or len(text) > 40 or text.isdigit():
        return float("nan")
    reader = date_reader([text])
    day = reader.read(text) if reader else None
    if day is None:
        import dateparser  # imported here because it takes 0.3 s and few tables need it

        day = dateparser.parse(text, settings={"REQUIRE_PARTS": ["month", "year"], "PREFER_DAY_OF_MONTH": "first"})
    return day.year * 12 + day.month + (day.day - 1) / 31 if day else float("nan")
