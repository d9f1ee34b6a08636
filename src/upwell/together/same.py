"""Which rows of the answers of several sources are the same thing: a quick judgement of the few rows at hand, without learning.

`together.match` judges whole tables, and better: it sees how their columns agree over many rows.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from upwell.page.sparse import CsrMatrix
from upwell.page.terms import tokens
from upwell.together.words import fold

__all__ = ["groups"]

MIN_COSINE = 0.5  # swept 0.3 … 0.8 on pairs of tables: docs/decisions/0097; 0.4 finds as much and is wrong more often
Row = Mapping[str, object]
Floats = NDArray[np.float64]


def groups(answers: Sequence[Sequence[Row]]) -> list[list[tuple[int, int]]]:
    """The rows of all answers, those of the same thing together, as numbers of answer and row.

    Two rows of different answers are the same thing where each is most like the other of all that its answer has, by the cosine of their
    words, weighed by how few rows have them, and no row joins a thing of which its own answer has another row already.
    """
    rows = [(answer, row) for answer, found in enumerate(answers) for row in range(len(found))]
    like = _cosines([answers[answer][row] for answer, row in rows])
    answer_of = np.array([answer for answer, _ in rows], dtype=np.int64)
    parent = list(range(len(rows)))
    inside = [{answer} for answer, _ in rows]  # the answers that each group has rows of

    def group_of(row: int) -> int:
        while parent[row] != row:
            row = parent[row]
        return row

    for one, other in _mutual_best(like, answer_of):
        a, b = sorted((group_of(one), group_of(other)))
        if a != b and not inside[a] & inside[b]:
            parent[b] = a
            inside[a] |= inside[b]
    found: dict[int, list[tuple[int, int]]] = {}
    for number, place in enumerate(rows):
        found.setdefault(group_of(number), []).append(place)
    return list(found.values())


def _mutual_best(like: Floats, answer_of: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Rows of which each is the other's best in its answer, the most alike first."""
    best: dict[tuple[int, int], int] = {}  # row and answer → the row of that answer that is most like it
    for answer in range(int(answer_of.max(initial=-1)) + 1):
        columns = np.flatnonzero(answer_of == answer)
        if len(columns):
            for row, column in enumerate(columns[like[:, columns].argmax(axis=1)].tolist()):
                best[row, answer] = column
    pairs = [
        (-float(like[row, other]), row, other)
        for (row, _), other in best.items()
        if row < other and like[row, other] >= MIN_COSINE and best[other, int(answer_of[row])] == row
    ]
    return [(row, other) for _, row, other in sorted(pairs) if answer_of[row] != answer_of[other]]


def _cosines(rows: Sequence[Row]) -> Floats:
    """How alike each two rows are."""
    words = [Counter(_words(row)) for row in rows]
    with_word = Counter(word for counted in words for word in counted)
    number = {word: i for i, word in enumerate(with_word)}
    of_row = np.array([i for i, counted in enumerate(words) for _ in counted], dtype=np.int64)
    columns = np.array([number[word] for counted in words for word in counted], dtype=np.int64)
    weights = [
        (1 + np.log(count)) * np.log(1 + len(rows) / with_word[word])
        for counted in words
        for word, count in counted.items()
    ]
    matrix = CsrMatrix.from_entries(of_row, columns, weights, (len(rows), max(1, len(number))))
    lengths = np.sqrt(np.maximum(matrix.squared_lengths(), 1e-12))
    dense = matrix.toarray() / lengths[:, None]
    return np.asarray(dense @ dense.T)


def _words(row: Row) -> list[str]:
    """The words of a row's values; an address of a page or a picture says nothing about the thing."""
    texts = (str(value) for value in row.values() if not str(value).startswith(("http://", "https://")))
    return [word for text in texts for word in tokens(fold(text))]
