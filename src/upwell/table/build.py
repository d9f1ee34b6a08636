"""Build the tables of a harvest: one `Table` per kind of entity that its sources contain.

Up to `MAX_ROWS_IN_MEMORY` records a table is built in memory (`TableBuilder.table`). Above that, a sample determines the columns and the rows
are streamed from the state each time they are read (`streamed_tables`).
"""

import datetime
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from upwell.records.column_names import column_name
from upwell.store.location import state_location
from upwell.store.state import State
from upwell.table.extraneous_fields import QueryDependentFields, prev_next_fields, query_dependent_fields
from upwell.table.rows import FieldColumns, InMemoryRows, Row, StreamedRows
from upwell.table.schema import (
    MIN_ROWS,
    OTHER,
    FieldOrigin,
    OtherFields,
    TableColumn,
    column_of_field,
    columns_from_json,
    infer_columns,
    shape_columns,
    shape_row,
)
from upwell.table.user_schema import UserSchema
from upwell.table.value_types import ColumnParser
from upwell.types import PAGE_FIELDS_NOTE, PAGE_PREFIX, PAGE_TEMPLATE
from upwell.urls.patterns import UrlPattern, learn_url_patterns

__all__ = [
    "FIELDS_NOTE",
    "WITH_PAGES",
    "RowRouter",
    "Table",
    "TableBuilder",
    "build_tables",
    "saved_columns",
    "saved_tables",
    "source_of",
    "streamed_tables",
    "table_of_rows",
    "with_datetime",
]


@dataclass(kw_only=True)
class Table:
    """Table of one entity kind ("" if there is only one kind): columns, and rows with typed values."""

    kind: str
    columns: list[TableColumn]  # all, with their own names, also if the user chose some
    rows: InMemoryRows | StreamedRows
    types: dict[str, str] = field(default_factory=dict)
    of_pages: list[str] = field(default_factory=list)  # columns from record pages, even if only a sample was read
    notices: list[str] = field(default_factory=list)  # what the schema of the user could not be given

    @property
    def name(self) -> str:
        """Return the file name without its suffix."""
        return f"records-{self.kind}" if self.kind else "records"

    @property
    def names(self) -> list[str]:
        """Return the columns that occur in any row, in order of first appearance."""
        return self.rows.names

    def fill(self) -> dict[str, float]:
        """Return the share of rows with a value for each column, highest first."""
        filled = self.rows.filled
        ordered = sorted(((name, filled.get(name, 0)) for name in self.types), key=lambda pair: -pair[1])
        return {name: round(count / max(1, len(self.rows)), 3) for name, count in ordered}


class RowRouter:
    """Remove fields that do not describe the record from the rows of one source, and assign each row to a table."""

    def __init__(self, of_query: QueryDependentFields, prev_next: set[str]) -> None:
        self._of_query, self._prev_next = of_query, prev_next
        self.tables: dict[str | None, int] = {}  # table number by page kind; None: all other rows

    @classmethod
    def learn(
        cls, rows: Sequence[Row], varying: Collection[str], all_rows: Iterable[Row] | None
    ) -> tuple["RowRouter", FieldColumns]:
        """Find the fields to remove, and return the remaining fields of `rows`; if these are a sample, `all_rows` yields every row."""
        fields = FieldColumns.of(rows)
        of_query = query_dependent_fields(fields, varying)
        fields = fields.without(of_query.left_out)
        if of_query.passages:  # the new column `snippet` gets its position from the rows
            fields = FieldColumns.of([of_query.cleaned(row) for row in rows])
        prev_next = prev_next_fields(fields, all_rows)
        return cls(of_query, prev_next), fields.without(prev_next)

    def cleaned(self, row: Row) -> Row:
        """Return the row without the removed fields."""
        kept = self._of_query.cleaned(row)
        for name in self._prev_next & kept.keys():
            del kept[name]
        return kept

    def route(self, row: Row) -> tuple[int, Row]:
        """Return the number of the row's table, and the cleaned row."""
        kept = self.cleaned(row)
        return self.tables.get(kept.pop(PAGE_PREFIX + PAGE_TEMPLATE, None), self.tables[None]), kept


class TableBuilder:
    """Builder of a table whose columns were inferred from all rows or from a sample; `schema` is what the user asked for."""

    def __init__(
        self,
        kind: str,
        columns: Sequence[TableColumn],
        fields: FieldColumns,
        *,
        with_pages: bool,
        schema: UserSchema,
        is_only: bool,
    ) -> None:
        self._kind, self._with_pages, self._schema = kind, with_pages, schema
        self._fields: FieldColumns | None = fields
        self.inferred = [column for column in columns if with_pages or not column.is_of_page]
        self._columns = schema.applied(kind, self.inferred, is_only=is_only)
        self._of_pages = [column.name for column in columns if column.is_of_page]
        self._shown = [column for column in self._columns if not column.drop]

    def table(self) -> Table:
        """Return the table in memory; the rows given are all there are."""
        fields = self._fields or FieldColumns({}, 0)
        texts = shape_columns(fields, self._columns, with_pages=self._with_pages, known=self.inferred)
        values = ColumnParser(self._columns, texts)
        values.add_currencies_of(texts)
        return self._finished(values, values.parse_columns(texts, fields.count))

    def _finished(self, values: ColumnParser, rows: InMemoryRows | StreamedRows) -> Table:
        """Return the table of these rows, with their columns in the order that the user asked for."""
        if self._schema:
            rows = rows.select(self._schema.row_names(self._kind, rows.names))
        notices = [
            f"{name}: texts like {examples[0]!r} do not have the type that you chose; these cells are empty"
            for name, examples in values.rejected.items()
        ]
        if unfilled := self._schema.unfilled(self._kind, self.inferred):
            notices.append(
                f"the records have nothing for {', '.join(unfilled)} of your schema; these columns are empty"
            )
        parsed = {
            column.id: column for column in values.columns
        }  # a sample may have promised a type that not all rows have
        columns = [
            replace(column, type=found.type, unit=found.unit)
            if (found := parsed.get(column.id)) is not None and not found.is_forced
            else column
            for column in self.inferred
        ]
        return Table(
            kind=self._kind, columns=columns, rows=rows, types=values.types(), of_pages=self._of_pages, notices=notices
        )

    def start_counting(self) -> None:
        """Release the sample and prepare for counting all rows."""
        self._values = ColumnParser(self._columns, shape_columns(self._fields or FieldColumns({}, 0), self._columns))
        self._fields = None
        self._others = OtherFields([*self._columns, *self.inferred])
        self._count, self._filled, self._own = 0, Counter[str](), dict[str, None]()

    def count(self, row: Row) -> None:
        """Check a row against the column types inferred from the sample, and collect its other fields."""
        self._others.add(row)
        texts = shape_row(row, self._shown, ())
        self._values.check(texts)
        self._values.add_currencies(texts)
        self._count += 1
        self._filled.update(name for name, text in texts.items() if text not in (None, "", []))
        self._own |= dict.fromkeys(name for name in row if name.startswith("_"))

    def streamed(self, read: Callable[[], Iterator[Row]]) -> Table:
        """Return a table that creates its rows from `read` each time it is read."""
        others = self._others.names(with_pages=self._with_pages)
        names = [*self._own, *([OTHER] if others else []), *self._values.names()]

        def rows() -> Iterator[Row]:
            return (self._values.parse(shape_row(row, self._shown, others)) for row in read())

        return self._finished(self._values, StreamedRows(rows, count=self._count, names=names, filled=self._filled))


def table_of_rows(rows: Sequence[Row], *, name: str = "", schema: UserSchema | None = None) -> Table:
    """Return the table of rows that come from no harvest, such as the records of saved pages."""
    schema, fields = schema or UserSchema(), FieldColumns.of(rows)
    columns = infer_columns(fields, keep=schema.kept_names)
    if schema:
        _check_names(schema, [(name, columns, fields)])
    return TableBuilder(name, columns, fields, with_pages=True, schema=schema, is_only=True).table()


def streamed_tables(
    builders: Sequence[TableBuilder],
    routers: Mapping[str, RowRouter],
    read: Callable[[], Iterator[Row]],
    read_later: Callable[[], Iterator[Row]],
) -> list[Table]:
    """Return tables for more rows than fit into memory: `read` is used once now, `read_later` each time a table is read."""
    for builder in builders:
        builder.start_counting()
    for number, row in _route(read(), routers):
        builders[number].count(row)

    def rows_of_table(wanted: int) -> Iterator[Row]:
        return (row for number, row in _route(read_later(), routers) if number == wanted)

    return [builder.streamed(partial(rows_of_table, number)) for number, builder in enumerate(builders)]


def _route(rows: Iterable[Row], routers: Mapping[str, RowRouter]) -> Iterator[tuple[int, Row]]:
    return (routers[source_of(row)].route(with_datetime(row)) for row in rows)


def source_of(row: Row) -> str:
    """Return the URL of the source of a row."""
    return str(row.get("_source") or "")


def with_datetime(row: Row) -> Row:
    """Parse the fetch time of a row in place."""
    if isinstance(fetched := row.get("_fetched"), str):
        row["_fetched"] = _parse_time(fetched)
    return row


_parse_time = lru_cache(maxsize=1000)(datetime.datetime.fromisoformat)  # records of one answer share the same time


FIELDS_NOTE = (
    "list fields"  # note in the state: by field of lists, the source of its name, and whether its texts differ
)
WITH_PAGES = "with pages"  # note in the state: "yes" if the tables contain columns from record pages
SAME_KIND_SHARE = 0.5  # two sources go into one table if they share this part of their columns; not swept
MIN_KIND_SHARE = 0.02  # rows needed for a separate table by page kind, as a share of the source's rows; not swept
MAX_ROWS_IN_MEMORY = 100_000  # above this, columns are inferred from a sample, about 3 KB per row; not swept
MIN_SOURCE_ROWS = 1000  # rows of each source that are always part of the sample
# Words in the path of a search interface that do not name what is searched.
GENERIC_WORD = re.compile(
    r"(?:search|find|query|index|results?|list|browse|catalog\w*|cgi|bin|api|v\d+|data|q|s)$", re.I
)


def saved_columns(folder: Path) -> dict[str, list[TableColumn]]:
    """Return the columns by table from `source.json` of a folder, where a user may have edited them."""
    try:
        saved = json.loads((folder / "source.json").read_text(encoding="utf-8"))
        models = saved if isinstance(saved, list) else [saved]
        return {kind: columns_from_json(columns) for kind, columns in models[0].get("tables", {}).items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}  # no file yet, or written by an older version


def saved_tables(folder: Path, state: State | None = None, schema: UserSchema | None = None) -> list[Table]:
    """Build the tables of a harvest from the files in its folder, without replaying the answers."""
    if state is None:
        with State(state_location(folder), read_only=True) as opened:
            return _saved_tables(folder, opened, partial(_rows_in, folder), schema)
    return _saved_tables(folder, state, state.rows, schema)


def _saved_tables(
    folder: Path, state: State, read: Callable[[], Iterator[Row]], schema: UserSchema | None
) -> list[Table]:
    # a running harvest has not decided yet
    with_pages = state.note(WITH_PAGES, "yes" if 2 * state.record_pages() >= len(state) else "no") == "yes"
    earlier = saved_columns(folder)
    return build_tables(
        state, lists=_list_columns(folder), earlier=earlier, with_pages=with_pages, read=read, schema=schema
    )


def _rows_in(folder: Path) -> Iterator[Row]:
    """Yield the rows of a folder's state, which stays open while they are read."""
    with State(state_location(folder), read_only=True) as state:
        yield from state.rows()


def _list_columns(folder: Path) -> set[str]:
    """Return the names of columns with several values per row, from the source models in a folder."""
    try:
        saved = json.loads((folder / "source.json").read_text(encoding="utf-8"))
        models = saved if isinstance(saved, list) else [saved]
        return {column["name"] for model in models for column in model["columns"]["columns"] if column["repeats"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()  # damaged, or no file yet


def build_tables(
    state: State,
    *,
    lists: Iterable[str] = (),
    earlier: dict[str, list[TableColumn]] | None = None,
    with_pages: bool = True,
    read: Callable[[], Iterator[Row]] | None = None,
    max_held: int = MAX_ROWS_IN_MEMORY,
    schema: UserSchema | None = None,
) -> list[Table]:
    """Return the tables, largest first: sources with different columns and different record URLs go into different tables.

    `with_pages=False` leaves out columns that come only from record pages, because only a sample of these was read.
    `schema` is what the user asked for; a column of it that no table has raises `WrongUsage`.
    With more than `max_held` records, a sample determines the columns and the rows are read through `read` each time they are needed.
    """
    schema = schema or UserSchema()
    is_whole = len(state) <= max_held
    sample = _sample(state.rows(), -(-len(state) // max_held))
    varying = state.varying()
    routers: dict[str, RowRouter] = {}
    fields_of: dict[str, FieldColumns] = {}
    for source, part in sample.items():
        all_rows = None if is_whole else _rows_of_source(state.rows(), source)
        routers[source], fields_of[source] = RowRouter.learn(part, varying.get(source, ()), all_rows)
    groups = _group_similar(fields_of)
    names = _kinds_of_sources([group[0] for group in groups]) if len(groups) > 1 else [""] * len(groups)
    lists = frozenset(lists)
    kept, origins = schema.kept_names, _field_origins(state)
    parts_of_tables: list[tuple[str, list[TableColumn], FieldColumns]] = []
    for kind, group in zip(names, groups, strict=True):
        first = len(parts_of_tables)
        fields = FieldColumns.concatenate([fields_of[source] for source in group])
        parts: list[tuple[str, list[str], FieldColumns]] = [("", [], fields.without([PAGE_PREFIX + PAGE_TEMPLATE]))]
        if with_pages and len(set(fields[PAGE_PREFIX + PAGE_TEMPLATE]) - {None}) > 1:
            parts = _split_by_page_kind([routers[source].cleaned(row) for source in group for row in sample[source]])
        for page_kind, templates, part_fields in parts:
            name = "-".join(filter(None, (kind, page_kind)))
            columns = infer_columns(
                part_fields, lists=lists, earlier=(earlier or {}).get(name, ()), keep=kept, origins=origins
            )
            for source in group:
                routers[source].tables |= dict.fromkeys(templates, len(parts_of_tables)) | {None: first}
            parts_of_tables.append((name, columns, part_fields))
    if schema and parts_of_tables:
        _check_names(schema, parts_of_tables)
    is_only = len(parts_of_tables) == 1
    builders = [
        TableBuilder(name, columns, part_fields, with_pages=with_pages, schema=schema, is_only=is_only)
        for name, columns, part_fields in parts_of_tables
    ]
    del sample, fields_of, parts_of_tables
    tables = (
        [builder.table() for builder in builders]
        if is_whole
        else streamed_tables(builders, routers, state.rows, read or state.rows)
    )
    return sorted(tables, key=lambda table: -len(table.rows)) or [Table(kind="", columns=[], rows=InMemoryRows({}, 0))]


def _field_origins(state: State) -> dict[str, FieldOrigin]:
    """Return what is known of the fields of lists and record pages besides their texts."""
    try:
        of_lists = json.loads(state.note(FIELDS_NOTE) or "{}")
        of_pages = json.loads(state.note(PAGE_FIELDS_NOTE) or "{}")
        origins = {
            str(name): FieldOrigin(str(named_by), is_fact=bool(varies)) for name, (named_by, varies) in of_lists.items()
        }
        return origins | {
            PAGE_PREFIX + str(name): FieldOrigin(str(named_by), is_fact=bool(is_fact))
            for name, (named_by, is_fact) in of_pages.items()
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}  # damaged


def _check_names(schema: UserSchema, tables: Sequence[tuple[str, Sequence[TableColumn], FieldColumns]]) -> None:
    """Raise `WrongUsage` if the user named a column that no table has; constant fields count, although tables leave them out by default."""
    known = {column.name for _, columns, _ in tables for column in columns}
    fields = {name for _, _, fields in tables for name in fields.columns}
    constant = {column_of_field(name) for name in fields if not name.startswith("_")}
    schema.check(known, constant | {name for name in fields if name.startswith("_")})


def _sample(rows: Iterable[Row], step: int) -> dict[str, list[Row]]:
    """Return every `step`-th row of each source, and at least its first `MIN_SOURCE_ROWS`."""
    sample: defaultdict[str, list[Row]] = defaultdict(list)
    seen: Counter[str] = Counter()
    for row in rows:
        source = source_of(row)
        if step <= 1 or seen[source] % step == 0 or seen[source] < MIN_SOURCE_ROWS:
            sample[source].append(with_datetime(row))
        if step > 1:
            seen[source] += 1
    return sample


def _rows_of_source(rows: Iterable[Row], source: str) -> Iterator[Row]:
    return (row for row in rows if source_of(row) == source)


def _group_similar(parts: dict[str, FieldColumns]) -> list[list[str]]:
    """Group parts whose rows share most of their columns or whose record URLs have the same shape."""
    if len(parts) < 2:
        return [[name] for name in parts]
    groups: list[list[str]] = []
    columns = {name: _common_columns(fields) for name, fields in parts.items()}
    shapes = {name: _record_url_shape(fields) for name, fields in parts.items()}
    for name in parts:
        for group in groups:
            both, either = columns[name] & columns[group[0]], columns[name] | columns[group[0]]
            has_same_shapes = shapes[name] is not None and shapes[name] == shapes[group[0]]
            if has_same_shapes or len(both) >= SAME_KIND_SHARE * len(either):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _split_by_page_kind(rows: Sequence[Row]) -> list[tuple[str, list[str], FieldColumns]]:
    """Split rows by the kind of their record pages: name, template numbers and fields of each kind.

    Rows without a record page, and kinds that are too rare, go to the largest kind.
    """
    by_template: defaultdict[str, list[Row]] = defaultdict(list)
    without: list[Row] = []
    for row in rows:
        number = row.pop(PAGE_PREFIX + PAGE_TEMPLATE, None)
        (by_template[number] if number is not None else without).append(row)
    page_fields = {
        number: FieldColumns.of(
            [{name: value for name, value in row.items() if name.startswith(PAGE_PREFIX)} for row in part]
        )
        for number, part in by_template.items()
    }
    groups = sorted(_group_similar(page_fields), key=lambda group: -sum(len(by_template[number]) for number in group))
    kinds = [[row for number in group for row in by_template[number]] for group in groups]
    min_rows = max(MIN_ROWS, MIN_KIND_SHARE * len(rows))
    kinds[0] += without + [row for kind in kinds[1:] if len(kind) < min_rows for row in kind]
    groups = [groups[0], *(group for group, kind in zip(groups[1:], kinds[1:], strict=True) if len(kind) >= min_rows)]
    kinds = [kinds[0], *(kind for kind in kinds[1:] if len(kind) >= min_rows)]
    if len(kinds) == 1:
        return [("", [], FieldColumns.of(rows))]
    return list(zip(_kinds_by_url(kinds), groups, map(FieldColumns.of, kinds), strict=True))


def _kinds_by_url(kinds: Sequence[Sequence[Row]]) -> list[str]:
    """Name each kind by the word that most of its record URLs contain and the fewest URLs of other kinds do; otherwise by a number."""
    shares = []
    for rows in kinds:
        counts = Counter(word for row in rows for word in set(_url_words(str(row.get("_url") or ""))))
        shares.append({word: count / len(rows) for word, count in counts.items()})
    names: list[str] = []
    for number, own in enumerate(shares):
        others = [other for i, other in enumerate(shares) if i != number]
        lead = {word: share - max(other.get(word, 0.0) for other in others) for word, share in own.items()}
        word = max(sorted(lead), key=lambda word: lead[word], default="")
        names.append(word if word and lead[word] > SAME_KIND_SHARE and word not in names else str(number + 1))
    return names


def _url_words(url: str) -> list[str]:
    """Return the words in the path and the arguments of a URL, without numbers and generic words."""
    parts = urlsplit(url)
    words = (column_name(unquote(word)) for word in re.split(r"[/&;=?]", f"{parts.path}&{parts.query}"))
    return [
        word for word in words if len(word) > 1 and not any(map(str.isdigit, word)) and not GENERIC_WORD.match(word)
    ]


def _common_columns(fields: FieldColumns) -> set[str]:
    """Return the columns that at least a tenth of the rows have."""
    counts = {name: len(fields.filled(name)) for name in fields.columns if not name.startswith("_")}
    return {name for name, count in counts.items() if 10 * count >= fields.count and count}


def _record_url_shape(fields: FieldColumns) -> UrlPattern | None:
    """Return the URL shape of most records if it is specific: a path segment or an argument that all of them share."""
    urls = [str(url) for url in fields["_url"] if url]
    shape = next(iter(learn_url_patterns(urls)), None)
    if shape is None or not shape.is_specific:
        return None
    fitting = (url for url in urls if shape.matches(url))
    needed = fields.count // 2 + 1  # so many matches are enough to decide
    return shape if sum(1 for _ in islice(fitting, needed)) == needed else None


def _kinds_of_sources(sources: Sequence[str]) -> list[str]:
    """Name each source's table by the last telling word of its path; otherwise by a number."""
    kinds: list[str] = []
    for number, source in enumerate(sources, 1):
        parts = [unquote(part) for part in urlsplit(source).path.split("/")]
        words = [
            column_name(part)
            for part in parts
            if part and "{" not in part and not GENERIC_WORD.match(part.split(".")[0])
        ]
        kind = words[-1] if words else ""
        kinds.append(kind if kind and kind not in kinds else str(number))
    return kinds
