"""What matching and comparing give, as values; this module loads nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

__all__ = [
    "AlignedColumn",
    "ColumnAgreement",
    "ColumnPairs",
    "ComparedSource",
    "Comparison",
    "Difference",
    "FieldSize",
    "Key",
    "Kind",
    "Pair",
]

Key = str | int  # the value of `_key`, or the number of the row
Kind = Literal["number", "date", "text"]  # what values are compared as


class Pair(NamedTuple):
    """Two rows that are taken for the same thing, by their keys, and how probable that is."""

    a: Key
    b: Key
    score: float

    def as_dict(self) -> dict[str, object]:
        return {"a": self.a, "b": self.b, "score": self.score}


@dataclass(frozen=True)
class ColumnPairs:
    """Which columns of two tables mean the same."""

    pairs: tuple[tuple[str, str], ...]

    def as_dict(self) -> dict[str, object]:
        return dict(self.pairs)


@dataclass(frozen=True, kw_only=True)
class AlignedColumn:
    """One column of several tables: a name for all, and its name in each table, None where a table has none."""

    name: str
    columns: tuple[str | None, ...]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One thing of which two or more sources say different things in one column."""

    thing: int
    column: str
    kind: Kind
    size: float  # 0 … 1
    values: Mapping[str, str]  # by source

    def as_dict(self) -> dict[str, object]:
        return {
            "thing": self.thing,
            "column": self.column,
            "kind": self.kind,
            "size": round(self.size, 4),
            "values": dict(self.values),
        }


@dataclass(frozen=True, kw_only=True)
class ColumnAgreement:
    """How often the sources agree in one column, of the things of which at least two say something there."""

    column: str
    kind: Kind
    compared: int
    agree: int

    def as_dict(self) -> dict[str, object]:
        return {"column": self.column, "kind": self.kind, "compared": self.compared, "agree": self.agree}


@dataclass(frozen=True, kw_only=True)
class FieldSize:
    """How many things there are: the estimate and its 95 % interval, or a lower bound with no upper end."""

    held: int
    estimate: int
    low: int
    high: int | None  # None: nothing bounds it from above
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
        """One sentence."""
        if self.is_lower_bound:
            return f"{self.held:,} different things; the whole field has at least {self.low:,} ({self.why})"
        return f"{self.held:,} different things; the whole field has about {self.estimate:,} ({self.low:,}–{self.high:,}; {self.why})"


@dataclass(frozen=True, kw_only=True)
class ComparedSource:
    """One source: what it has, and what only it has."""

    name: str
    rows: int
    only_here: int
    duplicates: int  # rows that say what another row of the source says
    skipped: int  # lines of its file that could not be read

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
    """What several sources have in common and where they differ."""

    sources: tuple[ComparedSource, ...]
    columns: tuple[AlignedColumn, ...]
    things: int
    overlap: Mapping[tuple[str, ...], int]  # names of sources → things that just these have
    agreement: tuple[ColumnAgreement, ...]
    differences: tuple[Difference, ...]  # the largest
    differing: int  # things of which sources say different things
    size: FieldSize
    table: str | Path | None = None  # a path, or an address
    report: str | Path | None = None

    def as_dict(self) -> dict[str, object]:
        return {
            "sources": [source.as_dict() for source in self.sources],
            "columns": {
                column.name: {s.name: name for s, name in zip(self.sources, column.columns, strict=True) if name}
                for column in self.columns
            },
            "things": self.things,
            "overlap": [{"sources": list(names), "things": count} for names, count in self.overlap.items()],
            "agreement": [column.as_dict() for column in self.agreement],
            "differing": self.differing,
            "differences": [difference.as_dict() for difference in self.differences],
            "size": self.size.as_dict(),
            "statement": self.size.statement(),
            "table": str(self.table) if self.table else None,
            "report": str(self.report) if self.report else None,
        }
