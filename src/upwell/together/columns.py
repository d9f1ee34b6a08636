"""Which columns of several tables mean the same: by their values, by the shape of these, by what probable matches say, and by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process
from scipy.optimize import linear_sum_assignment

from upwell.together.candidates import cross_pairs, unit
from upwell.together.tables import Table
from upwell.together.terms import normalised, vectors_of, words_of
from upwell.together.values import AlignedColumn

__all__ = ["AlignedColumn", "align", "align_two"]

MAX_ROWS = 3000  # of a table that are looked at
MAX_PAIRS = 500  # probable matches that are looked at
# How much each kind of evidence counts, and what a pair of columns must have; see docs/decisions/0096.
WEIGHTS = {"values": 0.5, "shapes": 0.3, "matches": 1.0, "names": 0.4}
MIN_EVIDENCE = 0.3
NUMBER = re.compile(r"[^\d]{0,4}?([-+]?\d[\d,]*(?:\.\d+)?)[^\d]{0,4}")
BINS = np.linspace(-6, 12, 73)  # decimal logarithms of numbers, four bins for a factor of ten


def align(tables: Sequence[Table]) -> list[AlignedColumn]:
    """The columns of several tables, aligned: each table with what the tables before it have, the one with most columns first."""
    order = sorted(range(len(tables)), key=lambda i: (-len(tables[i].columns), i))
    groups: list[dict[int, str]] = []
    for number in order:
        table = tables[number]
        if not groups:
            groups = [{number: name} for name in table.columns]
            continue
        merged = _merged(groups, tables)
        pairs = {theirs: int(ours) for ours, theirs in align_two(merged, table)}
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
        shown = name if taken[name] == 1 else f"{name}_{taken[name]}"
        aligned.append(AlignedColumn(name=shown, columns=tuple(group.get(i) for i in range(len(tables)))))
    return aligned


def _merged(groups: Sequence[dict[int, str]], tables: Sequence[Table]) -> Table:
    """The rows of all tables that are aligned so far, below each other; the columns are called by their number."""
    used = sorted({number for group in groups for number in group})
    share = max(1, MAX_ROWS // len(used))
    rows = {number: _sample(len(tables[number]), share) for number in used}
    columns = {
        str(place): [
            tables[number].columns[group[number]][row] if number in group else None
            for number in used
            for row in rows[number]
        ]
        for place, group in enumerate(groups)
    }
    return Table(name="", keys=range(sum(map(len, rows.values()))), columns=columns, names=_names(groups))


def _names(groups: Sequence[dict[int, str]]) -> dict[str, str]:
    return {str(place): " ".join(dict.fromkeys(group.values())) for place, group in enumerate(groups)}


def align_two(a: Table, b: Table) -> list[tuple[str, str]]:
    """The columns of two tables that mean the same, each at most once, in the order of the first table."""
    if not a.columns or not b.columns:
        return []
    evidence = _evidence(a, b)
    rows, places = linear_sum_assignment(-evidence)
    names_a, names_b = list(a.columns), list(b.columns)
    return [
        (names_a[row], names_b[place])
        for row, place in zip(rows, places, strict=True)
        if evidence[row, place] >= MIN_EVIDENCE
    ]


def _evidence(a: Table, b: Table) -> Any:
    """How much speaks for each pair of columns."""
    tables = [_texts(table) for table in (a, b)]
    total = WEIGHTS["matches"] * _agreement(*tables)
    names = [[_words_of_name(table.names.get(name, name)) for name in table.columns] for table in (a, b)]
    total += WEIGHTS["names"] * process.cdist(*names, scorer=fuzz.token_sort_ratio) / 100
    for row, texts_a in enumerate(tables[0].values()):
        for place, texts_b in enumerate(tables[1].values()):
            total[row, place] += WEIGHTS["values"] * max(
                _overlap(_words(texts_a), _words(texts_b)), _overlap(_magnitudes(texts_a), _magnitudes(texts_b))
            )
            total[row, place] += WEIGHTS["shapes"] * _overlap(_shapes(texts_a), _shapes(texts_b))
    return total


def _texts(table: Table) -> dict[str, list[str]]:
    rows = _sample(len(table), MAX_ROWS)
    return {name: [texts[row] for row in rows] for name, texts in table.texts.items()}


def _sample(size: int, most: int) -> Sequence[int]:
    """Rows spread over the whole table."""
    return range(size) if size <= most else [int(row) for row in np.linspace(0, size - 1, most)]


def _agreement(a: dict[str, list[str]], b: dict[str, list[str]]) -> Any:
    """How much more alike the values of each two columns are in probable matches than in other pairs of rows.

    Probable matches are rows that are each other's nearest, whatever column their words stand in (the idea of DUMAS).
    """
    words = [{name: words_of(texts) for name, texts in table.items()} for table in (a, b)]
    sizes = (len(next(iter(a.values()))), len(next(iter(b.values()))))
    rows_a, rows_b = (unit(matrix) for matrix in vectors_of((words[0], words[1]), [], sizes).rows)
    first, second = cross_pairs(rows_a, rows_b)
    if not len(first):
        return np.zeros((len(a), len(b)))
    cosines = np.asarray(rows_a[first].multiply(rows_b[second]).sum(axis=1)).ravel()
    best_a, best_b = np.zeros(sizes[0]), np.zeros(sizes[1])
    np.maximum.at(best_a, first, cosines)
    np.maximum.at(best_b, second, cosines)
    mutual = np.flatnonzero((cosines >= best_a[first]) & (cosines >= best_b[second]))
    probable = mutual[np.argsort(-cosines[mutual], kind="stable")][:MAX_PAIRS]
    chance = np.roll(second[probable], len(probable) // 2)
    return np.array(
        [
            [
                _mean_likeness(x, y, first[probable], second[probable]) - _mean_likeness(x, y, first[probable], chance)
                for y in b.values()
            ]
            for x in a.values()
        ]
    )


def _mean_likeness(x: Sequence[str], y: Sequence[str], rows_x: Any, rows_y: Any) -> float:
    pairs = [(normalised(x[i]), normalised(y[j])) for i, j in zip(rows_x, rows_y, strict=True) if x[i] and y[j]]
    if not pairs:
        return 0.0
    return float(process.cpdist(*map(list, zip(*pairs, strict=True)), scorer=fuzz.token_sort_ratio).mean()) / 100


def _words_of_name(name: str) -> str:
    """The words in the name of a column: `publicationDate` and `publication_date` have the same."""
    return normalised(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " "))


def _words(texts: Sequence[str]) -> Counter[str]:
    return Counter(word for text in texts for word in normalised(text).split())


def _shapes(texts: Sequence[str]) -> Counter[str]:
    """What the texts look like: `(404) 555-1234` as `(9) 9-9`, words as `a`."""
    shapes = (re.sub(r"[^\W\d_]+(?:[\s'’.-]+[^\W\d_]+)*", "a", re.sub(r"\d+", "9", text.strip())) for text in texts)
    return Counter(shape[:40] for shape in shapes if shape)


def _magnitudes(texts: Sequence[str]) -> Counter[int]:
    """How large the numbers of a column are; nothing where most texts are none."""
    filled = [text for text in texts if text]
    found = [match for text in filled if (match := NUMBER.fullmatch(text.strip()))]
    if 2 * len(found) < len(filled):
        return Counter()
    sizes = np.log10(np.maximum([abs(float(match[1].replace(",", ""))) for match in found], 1e-6))
    return Counter(np.digitize(sizes, BINS).tolist())


def _overlap(p: Counter[Any], q: Counter[Any]) -> float:
    """How much two distributions have in common: the sum of the geometric means of shares (Bhattacharyya's coefficient)."""
    total = (p.total() * q.total()) ** 0.5
    return sum((count * q[key]) ** 0.5 for key, count in p.items() if key in q) / total if total else 0.0
