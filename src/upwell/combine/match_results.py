"""Values returned by `match`, `match_columns` and `compare`. This module imports no heavy library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple

__all__ = [
    "AlignedColumn",
    "ColumnAgreement",
    "ColumnPairs",
    "ComparedSource",
    "Comparison",
    "Difference",
    "DuplicateCluster",
    "PopulationSize",
    "RowKey",
    "RowMatch",
    "ValueKind",
]

RowKey = str | int  # value of `_key`, or the row number
ValueKind = Literal["number", "date", "text"]  # how values are compared


class RowMatch(NamedTuple):
    """Two rows, named by their keys, that describe the same entity, with the probability of the match."""

    a: RowKey
    b: RowKey
    score: float

    def as_dict(self) -> dict[str, object]:
        return {"a": self.a, "b": self.b, "score": self.score}


@dataclass(frozen=True, kw_only=True)
class DuplicateCluster:
    """Rows of one table that describe the same entity, named by their keys, with the mean score of the compared pairs."""

    keys: tuple[RowKey, ...]
    score: float

    def pairs(self) -> Iterator[RowMatch]:
        """Yield each pair of rows of the cluster; the score is that of the cluster."""
        for a, b in combinations(self.keys, 2):
            yield RowMatch(a, b, self.score)

    def as_dict(self) -> dict[str, object]:
        return {"keys": list(self.keys), "score": self.score}


@dataclass(frozen=True)
class ColumnPairs:
    """Pairs of columns of two tables that have the same meaning."""

    pairs: tuple[tuple[str, str], ...]

    def as_dict(self) -> dict[str, object]:
        return dict(self.pairs)


@dataclass(frozen=True, kw_only=True)
class AlignedColumn:
    """Column shared by several tables: one name for all, and its name in each table (None if a table lacks it)."""

    name: str
    columns: tuple[str | None, ...]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Entity for which two or more sources have different values in one column."""

    entity: int  # row number in the table of all entities
    column: str
    kind: ValueKind
    size: float  # 0 … 1
    values: Mapping[str, str]  # source name → value

    def as_dict(self) -> dict[str, object]:
        return {
            "thing": self.entity,
            "column": self.column,
            "kind": self.kind,
            "size": round(self.size, 4),
            "values": dict(self.values),
        }


@dataclass(frozen=True, kw_only=True)
class ColumnAgreement:
    """Agreement in one column, counted over the entities for which at least two sources have a value."""

    column: str
    kind: ValueKind
    compared: int
    agree: int

    def as_dict(self) -> dict[str, object]:
        return {"column": self.column, "kind": self.kind, "compared": self.compared, "agree": self.agree}


@dataclass(frozen=True, kw_only=True)
class PopulationSize:
    """Estimated number of entities with its 95 % interval, or a lower bound without an upper end."""

    held: int
    estimate: int
    low: int
    high: int | None  # None if there is no upper bound
    is_lower_bound: bool
    why: str

    def as_dict(self) -> dict[str, object]:
        return {
            "held": self.held,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "lower_bound": self.is_lower_bound,
            "why": self.why,
        }

    def statement(self) -> str:
        """Return the estimate as one sentence."""
        if self.is_lower_bound:
            return f"{self.held:,} distinct entities; in total there are at least {self.low:,} ({self.why})"
        interval = f"{self.low:,}–{self.high:,}"
        return f"{self.held:,} distinct entities; in total there are about {self.estimate:,} ({interval}; {self.why})"


@dataclass(frozen=True, kw_only=True)
class ComparedSource:
    """Counts for one of the compared sources."""

    name: str
    rows: int
    only_here: int
    duplicates: int  # rows equal to an earlier row of the same source
    skipped: int  # unreadable lines of its file

    def as_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "rows": self.rows,
            "only_here": self.only_here,
            "duplicates": self.duplicates,
            "skipped": self.skipped,
        }


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Overlap, agreement and differences of several sources."""

    sources: tuple[ComparedSource, ...]
    columns: tuple[AlignedColumn, ...]
    entities: int
    overlap: Mapping[tuple[str, ...], int]  # source names → entities that exactly these sources have
    agreement: tuple[ColumnAgreement, ...]
    differences: tuple[Difference, ...]  # largest first, at most `compare.SHOWN_DIFFERENCES`
    differing: int  # entities for which sources have different values
    size: PopulationSize
    table: str | Path | None = None  # path or remote address
    report: str | Path | None = None

    def as_dict(self) -> dict[str, object]:
        return {
            "sources": [source.as_dict() for source in self.sources],
            "columns": {
                column.name: {s.name: name for s, name in zip(self.sources, column.columns, strict=True) if name}
                for column in self.columns
            },
            "things": self.entities,
            "overlap": [{"sources": list(names), "things": count} for names, count in self.overlap.items()],
            "agreement": [column.as_dict() for column in self.agreement],
            "differing": self.differing,
            "differences": [difference.as_dict() for difference in self.differences],
            "size": self.size.as_dict(),
            "statement": self.size.statement(),
            "table": str(self.table) if self.table else None,
            "report": str(self.report) if self.report else None,
        }
