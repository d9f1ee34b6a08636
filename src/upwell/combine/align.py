"""Schema matching: find columns of several tables with the same meaning.

The evidence is the overlap of values, the overlap of value shapes, agreement in probable row matches, and the column names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process
from scipy.optimize import linear_sum_assignment

from upwell.combine.match_results import AlignedColumn
from upwell.combine.similarity import YEAR, nearest_pairs_between, normalised, term_vectors, unit_rows, words_by_text
from upwell.combine.source_table import SourceTable

__all__ = ["AlignedColumn", "align", "align_two"]

MAX_ROWS = 3000  # rows of a table that are sampled
MAX_PAIRS = 500  # probable row matches used as evidence
# Weight of each kind of evidence, and the evidence a pair of columns needs; see docs/decisions/0096.
WEIGHTS = {"values": 0.5, "shapes": 0.3, "matches": 1.0, "names": 0.4}
MIN_EVIDENCE = 0.3
SURE_COSINE = 0.5  # of a probable row match that may veto an alignment; not swept
MIN_SURE_PAIRS = 30  # row matches with values in both columns needed for a veto; not swept
MIN_GAIN = 0.02  # similarity that corresponding columns have in row matches beyond that of random rows; not swept
SAME_TEXT = (
    0.5  # mean similarity from which columns agree even if all rows are alike, as in a column of languages; not swept
)
MOSTLY = 0.9  # share of numbers in a column of numbers; below 1 - MOSTLY a column has none; not swept
NUMBER = re.compile(r"[^\d]{0,4}?([-+]?\d[\d,]*(?:\.\d+)?)[^\d]{0,4}")
BINS = np.linspace(-6, 12, 73)  # bin edges for log10 of numbers: four bins per factor of ten


def align(tables: Sequence[SourceTable]) -> list[AlignedColumn]:
    """Align the columns of several tables.

    Each table is aligned with the merged tables before it, beginning with the one that has most columns.
    """
    order = sorted(range(len(tables)), key=lambda i: (-len(tables[i].columns), i))
    groups: list[dict[int, str]] = []
    for number in order:
        table = tables[number]
        if not groups:
            groups = [{number: name} for name in table.columns]
            continue
        merged = _merged(groups, tables)
        pairs = {column_b: int(column_a) for column_a, column_b in align_two(merged, table)}
        for name in table.columns:
            if name in pairs:
                groups[pairs[name]][number] = name
            else:
                groups.append({number: name})
    aligned, taken = [], Counter[str]()
    for group in sorted(
        groups, key=lambda group: (min(group), list(tables[min(group)].columns).index(group[min(group)]))
    ):
        name = Counter(group[number] for number in sorted(group)).most_common(1)[0][0]
        taken[name] += 1
        unique_name = name if taken[name] == 1 else f"{name}_{taken[name]}"
        aligned.append(AlignedColumn(name=unique_name, columns=tuple(group.get(i) for i in range(len(tables)))))
    return aligned


def _merged(groups: Sequence[dict[int, str]], tables: Sequence[SourceTable]) -> SourceTable:
    """Stack sampled rows of all tables aligned so far; columns are named by the number of their group."""
    numbers = sorted({number for group in groups for number in group})
    share = max(1, MAX_ROWS // len(numbers))
    rows = {number: _sample(len(tables[number]), share) for number in numbers}
    columns = {
        str(position): [
            tables[number].columns[group[number]][row] if number in group else None
            for number in numbers
            for row in rows[number]
        ]
        for position, group in enumerate(groups)
    }
    return SourceTable(name="", keys=range(sum(map(len, rows.values()))), columns=columns, labels=_labels(groups))


def _labels(groups: Sequence[dict[int, str]]) -> dict[str, str]:
    return {str(position): " ".join(dict.fromkeys(group.values())) for position, group in enumerate(groups)}


def align_two(a: SourceTable, b: SourceTable) -> list[tuple[str, str]]:
    """Return pairs of columns of two tables with the same meaning, each column at most once, in the order of the first table."""
    if not a.columns or not b.columns:
        return []
    evidence = _evidence(a, b)
    rows, columns = linear_sum_assignment(-evidence)
    names_a, names_b = list(a.columns), list(b.columns)
    return [
        (names_a[row], names_b[column])
        for row, column in zip(rows, columns, strict=True)
        if evidence[row, column] >= MIN_EVIDENCE
    ]


def _evidence(a: SourceTable, b: SourceTable) -> Any:
    """Return a matrix with the evidence for each pair of columns."""
    tables = [_texts(table) for table in (a, b)]
    agreement, is_vetoed = _agreement(*tables)
    total = WEIGHTS["matches"] * agreement
    names = [[_words_of_name(table.labels.get(name, name)) for name in table.columns] for table in (a, b)]
    total += WEIGHTS["names"] * process.cdist(*names, scorer=fuzz.token_sort_ratio) / 100
    for row, texts_a in enumerate(tables[0].values()):
        for column, texts_b in enumerate(tables[1].values()):
            total[row, column] += WEIGHTS["values"] * max(
                _overlap(_words(texts_a), _words(texts_b)), _overlap(_magnitudes(texts_a), _magnitudes(texts_b))
            )
            total[row, column] += WEIGHTS["shapes"] * _overlap(_shapes(texts_a), _shapes(texts_b))
            if _are_unlike_types(texts_a, texts_b):
                is_vetoed[row, column] = True
    total[is_vetoed] = 0.0
    return total


def _are_unlike_types(x: Sequence[str], y: Sequence[str]) -> bool:
    """Return True if one column contains numbers and the other neither numbers nor dates.

    >>> _are_unlike_types(["4.5", "3"], ["1.2.3", "beta"]), _are_unlike_types(["1999"], ["4 May 1999"])
    (True, False)
    """
    (numbers_x, dates_x), (numbers_y, dates_y) = _type_shares(x), _type_shares(y)
    return any(
        numbers >= MOSTLY and max(others, dates) <= 1 - MOSTLY
        for numbers, others, dates in ((numbers_x, numbers_y, dates_y), (numbers_y, numbers_x, dates_x))
    )


def _type_shares(texts: Sequence[str]) -> tuple[float, float]:
    """Return the share of numbers, and of texts with a year, among the values of a column."""
    filled = [text.strip() for text in texts if text.strip()] or [""]
    return (
        sum(NUMBER.fullmatch(text) is not None for text in filled) / len(filled),
        sum(YEAR.search(text) is not None for text in filled) / len(filled),
    )


def _texts(table: SourceTable) -> dict[str, list[str]]:
    rows = _sample(len(table), MAX_ROWS)
    return {name: [texts[row] for row in rows] for name, texts in table.texts.items()}


def _sample(size: int, most: int) -> Sequence[int]:
    """Return row numbers spread evenly over a table."""
    return range(size) if size <= most else [int(row) for row in np.linspace(0, size - 1, most)]


def _agreement(a: dict[str, list[str]], b: dict[str, list[str]]) -> tuple[Any, Any]:
    """Return how much more similar two columns are in probable row matches than in random row pairs, and which pairs this rules out.

    Probable matches are mutual nearest rows, whatever column their words are in (the idea of DUMAS). Columns whose values differ in sure
    matches as much as in random pairs do not correspond.
    """
    words = [{name: words_by_text(texts) for name, texts in table.items()} for table in (a, b)]
    sizes = (len(next(iter(a.values()))), len(next(iter(b.values()))))
    rows_a, rows_b = (unit_rows(matrix) for matrix in term_vectors((words[0], words[1]), [], sizes).rows)
    first, second = nearest_pairs_between(rows_a, rows_b)
    if not len(first):
        return np.zeros((len(a), len(b))), np.zeros((len(a), len(b)), bool)
    cosines = np.asarray(rows_a[first].multiply(rows_b[second]).sum(axis=1)).ravel()
    best_a, best_b = np.zeros(sizes[0]), np.zeros(sizes[1])
    np.maximum.at(best_a, first, cosines)
    np.maximum.at(best_b, second, cosines)
    mutual = np.flatnonzero((cosines >= best_a[first]) & (cosines >= best_b[second]))
    probable = mutual[np.argsort(-cosines[mutual], kind="stable")][:MAX_PAIRS]
    chance = np.roll(second[probable], len(probable) // 2)
    sure = probable[cosines[probable] >= SURE_COSINE]
    agreement, is_vetoed = np.zeros((len(a), len(b))), np.zeros((len(a), len(b)), bool)
    for row, x in enumerate(a.values()):
        for column, y in enumerate(b.values()):
            likeness = _mean_likeness(x, y, first[probable], second[probable])
            agreement[row, column] = likeness - _mean_likeness(x, y, first[probable], chance)
            if sum(1 for pair in sure if x[first[pair]] and y[second[pair]]) >= MIN_SURE_PAIRS:
                likeness = _mean_likeness(x, y, first[sure], second[sure])
                by_chance = _mean_likeness(x, y, first[sure], np.roll(second[sure], len(sure) // 2))
                is_vetoed[row, column] = likeness < SAME_TEXT and likeness - by_chance < MIN_GAIN
    return agreement, is_vetoed


def _mean_likeness(x: Sequence[str], y: Sequence[str], rows_x: Any, rows_y: Any) -> float:
    pairs = [(normalised(x[i]), normalised(y[j])) for i, j in zip(rows_x, rows_y, strict=True) if x[i] and y[j]]
    if not pairs:
        return 0.0
    return float(process.cpdist(*map(list, zip(*pairs, strict=True)), scorer=fuzz.token_sort_ratio).mean()) / 100


def _words_of_name(name: str) -> str:
    """Return the words in a column name: the same for `publicationDate` and `publication_date`."""
    return normalised(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " "))


def _words(texts: Sequence[str]) -> Counter[str]:
    return Counter(word for text in texts for word in normalised(text).split())


def _shapes(texts: Sequence[str]) -> Counter[str]:
    """Count value shapes: `(404) 555-1234` has the shape `(9) 9-9`, and words become `a`."""
    shapes = (re.sub(r"[^\W\d_]+(?:[\s'’.-]+[^\W\d_]+)*", "a", re.sub(r"\d+", "9", text.strip())) for text in texts)
    return Counter(shape[:40] for shape in shapes if shape)


def _magnitudes(texts: Sequence[str]) -> Counter[int]:
    """Count the magnitudes of a column's numbers; empty if most values are not numbers."""
    filled = [text for text in texts if text]
    matches = [match for text in filled if (match := NUMBER.fullmatch(text.strip()))]
    if 2 * len(matches) < len(filled):
        return Counter()
    sizes = np.log10(np.maximum([abs(float(match[1].replace(",", ""))) for match in matches], 1e-6))
    return Counter(np.digitize(sizes, BINS).tolist())


def _overlap(p: Counter[Any], q: Counter[Any]) -> float:
    """Return the Bhattacharyya coefficient of two distributions: the sum of geometric means of their shares."""
    total = (p.total() * q.total()) ** 0.5
    return sum((count * q[key]) ** 0.5 for key, count in p.items() if key in q) / total if total else 0.0
