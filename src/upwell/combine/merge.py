"""Merge the answers of several sources into one ranked list with one row per entity."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from upwell.arrays.sparse import CsrMatrix
from upwell.combine.learned_source import SourceAnswer
from upwell.combine.search_index import fold
from upwell.page.tokens import tokens

__all__ = ["AskResult", "Finding", "SourceRecord", "group_rows", "merge"]

# of two rows of the same entity; swept 0.3 … 0.8 (docs/decisions/0097): 0.4 finds as much with more errors
MIN_COSINE = 0.5
Row = Mapping[str, object]
Floats = NDArray[np.float64]


def group_rows(answers: Sequence[Sequence[Row]]) -> list[list[tuple[int, int]]]:
    """Group the rows of all answers by entity; return (answer number, row number) pairs.

    Two rows of different answers are the same entity if each is the other's most similar row in that answer, by the cosine of TF-IDF
    weighted words, and if the group contains no other row of the same answer. `match` is more accurate, but needs whole tables.
    """
    rows = [(answer, row) for answer, answer_rows in enumerate(answers) for row in range(len(answer_rows))]
    similarity = _cosines([answers[answer][row] for answer, row in rows])
    answer_of = np.array([answer for answer, _ in rows], dtype=np.int64)
    parent = list(range(len(rows)))
    answers_in_group = [{answer} for answer, _ in rows]  # the answers with rows in each group

    def group_of(row: int) -> int:
        while parent[row] != row:
            row = parent[row]
        return row

    for row_a, row_b in _mutual_best(similarity, answer_of):
        a, b = sorted((group_of(row_a), group_of(row_b)))
        if a != b and not answers_in_group[a] & answers_in_group[b]:
            parent[b] = a
            answers_in_group[a] |= answers_in_group[b]
    groups: dict[int, list[tuple[int, int]]] = {}
    for number, position in enumerate(rows):
        groups.setdefault(group_of(number), []).append(position)
    return list(groups.values())


def _mutual_best(similarity: Floats, answer_of: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return mutual best pairs of rows of different answers, most similar first."""
    best: dict[tuple[int, int], int] = {}  # row and answer → the most similar row of that answer
    for answer in range(int(answer_of.max(initial=-1)) + 1):
        columns = np.flatnonzero(answer_of == answer)
        if len(columns):
            for row, column in enumerate(columns[similarity[:, columns].argmax(axis=1)].tolist()):
                best[row, answer] = column
    pairs = [
        (-float(similarity[row, other]), row, other)
        for (row, _), other in best.items()
        if row < other and similarity[row, other] >= MIN_COSINE and best[other, int(answer_of[row])] == row
    ]
    return [(row, other) for _, row, other in sorted(pairs) if answer_of[row] != answer_of[other]]


def _cosines(rows: Sequence[Row]) -> Floats:
    """Return the cosine similarity of each pair of rows."""
    words = [Counter(_words(row)) for row in rows]
    document_frequency = Counter(word for counted in words for word in counted)
    term_ids = {word: i for i, word in enumerate(document_frequency)}
    row_numbers = np.array([i for i, counted in enumerate(words) for _ in counted], dtype=np.int64)
    columns = np.array([term_ids[word] for counted in words for word in counted], dtype=np.int64)
    weights = [
        (1 + np.log(count)) * np.log(1 + len(rows) / document_frequency[word])
        for counted in words
        for word, count in counted.items()
    ]
    matrix = CsrMatrix.from_entries(row_numbers, columns, weights, (len(rows), max(1, len(term_ids))))
    lengths = np.sqrt(np.maximum(matrix.squared_lengths(), 1e-12))
    dense = matrix.toarray() / lengths[:, None]
    return np.asarray(dense @ dense.T)


def _words(row: Row) -> list[str]:
    """Return the words of a row's values; URLs of pages and images are ignored."""
    texts = (str(value) for value in row.values() if not str(value).startswith(("http://", "https://")))
    return [word for text in texts for word in tokens(fold(text))]


# k of reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009 §3): an entity scores 1 / (k + rank) in each source.
FUSION_RANKS = 60


@dataclass(frozen=True, kw_only=True)
class SourceRecord:
    """Record of an entity in one source: its rank in the answer, and the URL of its record page."""

    source: str
    rank: int
    url: str | None
    fields: Mapping[str, object]

    def as_dict(self) -> dict[str, object]:
        """Return the value as JSON-compatible data."""
        return {"source": self.source, "rank": self.rank, "url": self.url, "fields": self.fields}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Entity in the merged answers, with the fields of its best-ranked source, completed from the others."""

    rank: int
    fields: dict[str, object]
    sources: tuple[SourceRecord, ...]
    score: float = 0.0

    @property
    def source(self) -> str:
        """Return the source that ranks it highest."""
        return self.sources[0].source

    @property
    def url(self) -> str | None:
        """Return its record page at that source."""
        return self.sources[0].url

    def as_dict(self) -> dict[str, object]:
        """Return the value as JSON-compatible data."""
        return {
            "source": self.source,
            "rank": self.rank,
            "fields": self.fields,
            "url": self.url,
            "sources": [record.as_dict() for record in self.sources],
        }


@dataclass(frozen=True, kw_only=True)
class AskResult:
    """Merged entities, and the answer of each source."""

    findings: tuple[Finding, ...]
    answers: tuple[SourceAnswer, ...]

    @property
    def troubles(self) -> dict[str, str]:
        """Return the sources without a complete answer, and the reason."""
        return {answer.source: answer.trouble for answer in self.answers if answer.trouble}

    @property
    def drifts(self) -> dict[str, str]:
        """Return the sources whose answers no longer fit their source model, and the evidence."""
        return {answer.source: answer.drift for answer in self.answers if answer.drift}

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)


def merge(answers: Sequence[SourceAnswer], query: str) -> list[Finding]:
    """Merge the answers of several sources, best entities first.

    The score is that of reciprocal rank fusion times the share of the query's words that the entity contains, so that a source which
    returns unrelated records does not outrank sources with real matches.
    """
    non_empty = [answer for answer in answers if answer.records]
    words = frozenset(tokens(fold(query)))
    scored = []
    for group in group_rows([answer.fields for answer in non_empty]):
        members = sorted(group, key=lambda member: (member[1], member[0]))
        records = tuple(
            SourceRecord(
                source=non_empty[number].source,
                rank=row + 1,
                url=non_empty[number].records[row].url,
                fields=non_empty[number].fields[row],
            )
            for number, row in members
        )
        fields = _merge_fields(records)
        score = sum(1 / (FUSION_RANKS + record.rank) for record in records) * _query_coverage(words, fields)
        scored.append((score, fields, records))
    scored.sort(key=lambda entry: -entry[0])
    return [
        Finding(rank=rank, fields=fields, sources=records, score=score)
        for rank, (score, fields, records) in enumerate(scored, 1)
    ]


def _merge_fields(records: Sequence[SourceRecord]) -> dict[str, object]:
    """Return the fields of the first source, plus fields of other sources whose values are new, whatever their name."""
    fields: dict[str, object] = {}
    seen: set[str] = set()
    for record in records:
        added = {
            name: value
            for name, value in record.fields.items()
            if name not in fields and _normalised(value) not in seen
        }
        fields |= added
        seen |= {_normalised(value) for value in record.fields.values()}
    return fields


def _normalised(value: object) -> str:
    return " ".join(tokens(fold(str(value))))


def _query_coverage(words: frozenset[str], fields: dict[str, object]) -> float:
    """Return the smoothed share of the query's words that an entity contains; never 0."""
    contained = set(tokens(fold(" ".join(map(str, fields.values())))))
    return (len(words & contained) + 1) / (len(words) + 1)
