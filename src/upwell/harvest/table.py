"""One table of a harvest: held as columns, or, where there are too many, read anew whenever it is needed."""

import datetime
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

from upwell.extract.cells import Cells
from upwell.extract.neighbours import neighbour_fields
from upwell.extract.query_dependent import QueryFields, query_fields
from upwell.extract.tidy import OTHER, OtherFields, TableColumn, columns_of, shaped
from upwell.model import PAGE, TEMPLATE
from upwell.store.streamed_rows import HeldRows, Row, StreamedRows
from upwell.store.typed import CURRENCY_SUFFIX, UNIT_SUFFIX, ColumnValues, typed_columns

__all__ = ["Draft", "Settler", "Table", "source_of", "streamed_tables", "with_time"]


@dataclass(kw_only=True)
class Table:
    """One table: its kind ("" where there is just one), its columns, and its rows with values."""

    kind: str
    columns: list[TableColumn]
    rows: HeldRows | StreamedRows
    types: dict[str, str] = field(default_factory=dict)
    of_pages: list[str] = field(
        default_factory=list
    )  # columns that record pages add, also where only a sample was read

    @property
    def name(self) -> str:
        """The name of its file, without what the format adds."""
        return f"records-{self.kind}" if self.kind else "records"

    @property
    def names(self) -> list[str]:
        """All that any row has, in order of first appearance."""
        return self.rows.names

    def choose(self, names: Sequence[str], drop: Collection[str]) -> None:
        """Leaves columns out of the rows, and puts those that are named into their order; `source.json` keeps all."""
        shown = [name for name in (names or self.types) if name in self.types and name not in drop]
        self.types = {name: self.types[name] for name in shown}
        suffixes = ("", UNIT_SUFFIX, CURRENCY_SUFFIX)
        known = self.names
        own = [name for name in known if name.startswith("_")]
        self.rows = self.rows.taken(own + [name + s for name in shown for s in suffixes if name + s in known])

    def take(self, names: Sequence[str]) -> None:
        """Leaves just these columns in the rows, in this order, also those that begin with `_`."""
        self.rows = self.rows.taken(names, are_all_given=True)

    def fill(self) -> dict[str, float]:
        """The share of the rows that have each column, the fullest first."""
        filled = self.rows.filled
        ordered = sorted(((name, filled.get(name, 0)) for name in self.types), key=lambda pair: -pair[1])
        return {name: round(count / max(1, len(self.rows)), 3) for name, count in ordered}


class Settler:
    """What is left out of the rows of one source, and to which table each goes."""

    def __init__(self, of_query: QueryFields, of_neighbours: set[str]) -> None:
        self._of_query, self._of_neighbours = of_query, of_neighbours
        self.tables: dict[str | None, int] = {}  # by what kind of page a record has; None: any other

    @classmethod
    def of(cls, rows: Sequence[Row], varying: Collection[str], every: Iterable[Row] | None) -> tuple["Settler", Cells]:
        """What to leave out, by all rows or a sample (then `every` has all); and the fields of these rows without it."""
        fields = Cells.of(rows)
        of_query = query_fields(fields, varying)
        fields = fields.without(of_query.left_out)
        if of_query.passages:  # a new column, whose place the rows say
            fields = Cells.of([of_query.settle(row) for row in rows])
        of_neighbours = neighbour_fields(fields, every)
        return cls(of_query, of_neighbours), fields.without(of_neighbours)

    def settled(self, row: Row) -> Row:
        """The row without them."""
        kept = self._of_query.settle(row)
        for name in self._of_neighbours & kept.keys():
            del kept[name]
        return kept

    def routed(self, row: Row) -> tuple[int, Row]:
        """The number of the table, and the row."""
        kept = self.settled(row)
        return self.tables.get(kept.pop(PAGE + TEMPLATE, None), self.tables[None]), kept


class Draft:
    """A table whose columns are known: by all its rows, or by a sample of them."""

    def __init__(self, kind: str, columns: Sequence[TableColumn], fields: Cells, *, with_pages: bool) -> None:
        self._kind, self._with_pages = kind, with_pages
        self._fields: Cells | None = fields
        self._of_pages = [column.name for column in columns if column.is_of_page]
        self._columns = [column for column in columns if with_pages or not column.is_of_page]
        self._shown = [column for column in self._columns if not column.drop]

    def table(self) -> Table:
        """The table with the rows, which are all."""
        columns, fields = self._columns, self._fields or Cells({}, 0)
        texts = columns_of(fields, columns, with_pages=self._with_pages)
        rows, types = typed_columns(texts, fields.count, columns)
        return Table(kind=self._kind, columns=columns, rows=rows, types=types, of_pages=self._of_pages)

    def start_counting(self) -> None:
        """Forgets the sample, and is ready for all rows."""
        self._values = ColumnValues(self._columns, columns_of(self._fields or Cells({}, 0), self._columns))
        self._fields = None
        self._others = OtherFields(self._columns)
        self._count, self._filled, self._own = 0, Counter[str](), dict[str, None]()

    def count(self, row: Row) -> None:
        """Looks at one of all rows: whether the columns are what the sample says, and what it has besides."""
        self._others.add(row)
        texts = shaped(row, self._shown, ())
        self._values.check(texts)
        self._values.add_currencies(texts)
        self._count += 1
        self._filled.update(name for name, text in texts.items() if text not in (None, "", []))
        self._own |= dict.fromkeys(name for name in row if name.startswith("_"))

    def streamed(self, read: Callable[[], Iterator[Row]]) -> Table:
        """The table whose rows are made of those that are read."""
        others = self._others.names(with_pages=self._with_pages)
        names = [*self._own, *([OTHER] if others else []), *self._values.names()]

        def rows() -> Iterator[Row]:
            return (self._values.of(shaped(row, self._shown, others)) for row in read())

        streamed = StreamedRows(rows, count=self._count, names=names, filled=self._filled)
        values = self._values
        return Table(
            kind=self._kind, columns=values.columns, rows=streamed, types=values.types(), of_pages=self._of_pages
        )


def streamed_tables(
    drafts: Sequence[Draft],
    settlers: Mapping[str, Settler],
    read: Callable[[], Iterator[Row]],
    read_later: Callable[[], Iterator[Row]],
) -> list[Table]:
    """The tables of more rows than are held: all are read once to count, and by each table when it is read."""
    for draft in drafts:
        draft.start_counting()
    for number, row in _routed(read(), settlers):
        drafts[number].count(row)

    def rows_of_table(wanted: int) -> Iterator[Row]:
        return (row for number, row in _routed(read_later(), settlers) if number == wanted)

    return [draft.streamed(partial(rows_of_table, number)) for number, draft in enumerate(drafts)]


def _routed(rows: Iterable[Row], settlers: Mapping[str, Settler]) -> Iterator[tuple[int, Row]]:
    return (settlers[source_of(row)].routed(with_time(row)) for row in rows)


def source_of(row: Row) -> str:
    """The source that a row came from."""
    return str(row.get("_source") or "")


def with_time(row: Row) -> Row:
    """The same row with the time of its answer as one."""
    if isinstance(fetched := row.get("_fetched"), str):
        row["_fetched"] = _moment(fetched)
    return row


_moment = lru_cache(maxsize=1000)(datetime.datetime.fromisoformat)  # the records of an answer have the same
