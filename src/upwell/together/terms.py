"""The texts of two tables as vectors: words and joined neighbours, weighted by how rare they are in both tables together."""

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
from scipy import sparse

__all__ = ["Vectors", "normalised", "vectors_of", "words_of"]

# Scripts written without spaces between words (Han, kana, Thai, Lao, Myanmar, Khmer): each character is a word, and the pairs of
# neighbours that `terms_of` adds tell texts apart. Hangul comes decomposed, and has spaces.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
MAX_CHARS = 2000  # of a text that are compared; what says which thing it is stands at its beginning


@lru_cache(maxsize=200_000)
def normalised(text: str) -> str:
    """A text without case, accents and HTML character references, its words parted by single spaces.

    >>> normalised("Caf&#233;  NOIR – 12,5 %"), normalised("深層 Web")
    ('cafe noir 12 5', '深 層 web')
    """
    text = unicodedata.normalize("NFKD", html.unescape(text[:MAX_CHARS])).casefold()
    return " ".join(WORD.findall("".join(c for c in text if not unicodedata.combining(c))))


def words_of(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text of a column."""
    return [normalised(text).split() for text in texts]


def _terms(words: Sequence[str]) -> set[str]:
    """The words and each two neighbours joined: so "data base" has the term `database`, and "ds-3" the term `ds3`."""
    return {*words, *(first + second for first, second in itertools.pairwise(words))}


@dataclass(frozen=True)
class Vectors:
    """The rows of two tables over one vocabulary: a matrix for whole rows and one for each aligned column, values are weights of terms."""

    rows: tuple[Any, Any]  # scipy.sparse.csr_matrix, one for each table
    columns: tuple[tuple[Any, Any], ...]
    weights: Any  # of each term: the logarithm of how rare it is


def vectors_of(
    tables: tuple[Mapping[str, Sequence[Sequence[str]]], Mapping[str, Sequence[Sequence[str]]]],
    aligned: Iterable[tuple[str, str]],
    sizes: tuple[int, int],
) -> Vectors:
    """The vectors of two tables whose columns are lists of words; whole rows have the words of all columns, aligned or not."""
    vocabulary: dict[str, int] = {}
    of_columns = [{name: _incidence(column, vocabulary) for name, column in columns.items()} for columns in tables]
    width = len(vocabulary)
    rows = [_sum(parts.values(), size, width) for parts, size in zip(of_columns, sizes, strict=True)]
    counts = np.asarray(sum(matrix.sum(axis=0) for matrix in rows)).ravel()
    weights = np.log(max(2, sum(sizes)) / np.maximum(counts, 1)) + 0.01  # a term of every row still counts a little
    scale = sparse.diags(weights)
    return Vectors(
        rows=(rows[0] @ scale, rows[1] @ scale),
        columns=tuple(
            (_wide(of_columns[0][a], width) @ scale, _wide(of_columns[1][b], width) @ scale) for a, b in aligned
        ),
        weights=weights,
    )


def _incidence(column: Sequence[Sequence[str]], vocabulary: dict[str, int]) -> Any:
    """Which terms each text of a column has; new ones go into the vocabulary."""
    indices: list[int] = []
    starts = [0]
    for words in column:
        indices.extend(vocabulary.setdefault(term, len(vocabulary)) for term in sorted(_terms(words)))
        starts.append(len(indices))
    shape = (len(column), len(vocabulary))
    return sparse.csr_matrix((np.ones(len(indices), dtype=np.float32), indices, starts), shape=shape)


def _wide(matrix: Any, width: int) -> Any:
    """The matrix with columns for the whole vocabulary."""
    return sparse.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))


def _sum(parts: Iterable[Any], size: int, width: int) -> Any:
    """Which terms each row has in any column."""
    total = sparse.csr_matrix((size, width), dtype=np.float32)
    for part in parts:
        total = total + _wide(part, width)
    total.data[:] = 1
    return total
