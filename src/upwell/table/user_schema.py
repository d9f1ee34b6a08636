"""The schema that a user asks for: which columns a table has, in which order, under which names and with which types.

It comes from `--columns new=old:type,…` and `--drop`, or from a JSON file (`upwell schema`), which pins the columns:

    {"columns": [{"name": "population", "from": "pop", "type": "integer", "fields": ["pop", "page.inhabitants"]}, "country"]}

`from` is the name that Upwell would use, `fields` are the fields of records and record pages that the column consists of; both may be left
out. A source with several tables has {"tables": {"book": [columns], …}}.
"""

import difflib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from upwell.errors import WrongUsage
from upwell.records.values import ValueType
from upwell.table.schema import OTHER, TableColumn

__all__ = ["UserSchema", "WantedColumn", "schema_json"]

TYPES: dict[str, ValueType] = {
    "text": "text", "str": "text", "string": "text",
    "integer": "integer", "int": "integer",
    "decimal": "decimal", "float": "decimal", "number": "decimal",
    "price": "price", "date": "date", "datetime": "datetime",
    "boolean": "boolean", "bool": "boolean",
    "url": "url", "image": "image",
}  # fmt: skip
SUGGESTED = 3  # nearest names in an error
MAX_LISTED = 30  # names of columns in an error


@dataclass(frozen=True, kw_only=True)
class WantedColumn:
    """A column that the user asks for: `name` in the table, `of` as Upwell would call it."""

    name: str
    of: str
    type: ValueType | None = None  # None: as inferred from the values
    fields: tuple[str, ...] = ()  # of a schema file: recognise the column by these, whatever it is called now

    @classmethod
    def parse(cls, text: str) -> "WantedColumn":
        """Parse `name`, `new=old`, `name:type` or `new=old:type`.

        >>> WantedColumn.parse("population=pop:int")
        WantedColumn(name='population', of='pop', type='integer', fields=())
        """
        names, colon, type_name = text.partition(":")
        new, equals, old = (part.strip() for part in names.partition("="))
        if not new or (equals and not old):
            raise WrongUsage(f"{text!r} is no column: write name, new=old, name:type or new=old:type")
        return cls(name=new, of=old or new, type=_type(type_name, text) if colon else None)

    @classmethod
    def from_json(cls, value: Any) -> "WantedColumn":
        """Read a column of a schema file: an object, or just a name."""
        if isinstance(value, str):
            return cls.parse(value)
        if not isinstance(value, Mapping) or not isinstance(name := value.get("name"), str) or not name:
            raise WrongUsage(f"{json.dumps(value)[:100]} is no column of a schema: it needs a name")
        kind, of, fields = value.get("type"), value.get("from", name), value.get("fields", ())
        if (
            not isinstance(of, str)
            or not isinstance(fields, list | tuple)
            or not all(isinstance(f, str) for f in fields)
        ):
            raise WrongUsage(f"column {name!r} of the schema: `from` is a name, and `fields` a list of names")
        return cls(name=name, of=of, type=_type(str(kind), name) if kind else None, fields=tuple(fields))

    def find(self, columns: Iterable[TableColumn]) -> TableColumn | None:
        """Return the inferred column that is meant: the one with most of its fields, or else with its name."""
        wanted = set(self.fields)
        ranked = [(len(wanted.intersection(column.of)), column.name == self.of, column) for column in columns]
        shared, is_named, best = max(ranked, key=lambda found: found[:2], default=(0, False, None))
        return best if shared or is_named else None

    def applied(self, column: TableColumn | None) -> TableColumn:
        """Return the column as the user wants it; an empty one if the table has none."""
        found = column or TableColumn(name=self.name, of=self.fields or (self.of,), pin=True)
        found = replace(found, name=self.name, drop=False)
        if self.type is None or (self.type == found.type and not found.unit):
            return found
        return replace(found, type=self.type, unit="", is_forced=True)


def _type(name: str, where: str) -> ValueType:
    if (known := TYPES.get(name.strip().lower())) is None:
        raise WrongUsage(
            f"{where!r}: unknown type {name.strip()!r}; use one of {', '.join(sorted(set(TYPES.values())))}"
        )
    return known


@dataclass(frozen=True, kw_only=True)
class UserSchema:
    """The columns that a user asks for; the default asks for nothing, so that tables have all columns."""

    columns: tuple[WantedColumn, ...] = ()  # empty: all
    tables: Mapping[str, tuple[WantedColumn, ...]] = field(default_factory=dict)  # by kind, of a schema file
    drop: frozenset[str] = frozenset()
    is_plain: bool = False  # without the columns that start with `_`, unless they are named
    is_pinned: bool = False  # of a file: a column that cannot be filled is empty instead of an error

    @classmethod
    def parse(
        cls, columns: Iterable[str] = (), drop: Iterable[str] = (), *, file: str = "", is_plain: bool = False
    ) -> "UserSchema":
        """Parse the options of the command line; `file` is the text of a schema file."""
        wanted = tuple(map(WantedColumn.parse, columns))
        if wanted and file:
            raise WrongUsage("choose the columns by --columns or by --schema, not by both")
        tables: dict[str, tuple[WantedColumn, ...]] = {}
        if file:
            wanted, tables = _read_file(file)
        for group in (wanted, *tables.values()):
            names = [column.name for column in group]
            if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
                raise WrongUsage(f"two columns would be called {twice[0]}; rename one with new=old")
        return cls(columns=wanted, tables=tables, drop=frozenset(drop), is_plain=is_plain, is_pinned=bool(file))

    def __bool__(self) -> bool:
        return bool(self.columns or self.tables or self.drop or self.is_plain)

    def wanted(self, kind: str) -> tuple[WantedColumn, ...]:
        """Return the columns asked for in the table of a kind; empty: all."""
        return self.tables.get(kind, self.columns)

    @property
    def kept_names(self) -> frozenset[str]:
        """Return the names of columns that are in the table even if they are constant or rare."""
        named = (column for group in (self.columns, *self.tables.values()) for column in group)
        return frozenset(name for column in named for name in (column.of, *column.fields))

    def applied(self, kind: str, columns: Sequence[TableColumn], *, is_only: bool) -> list[TableColumn]:
        """Return the columns of a table as the user wants them.

        If the site has several tables (not `is_only`), a table has the wanted columns that it can fill, and all of its own if it can fill none.
        """
        shown = [column for column in columns if column.name not in self.drop and not column.drop]
        wanted = [column for column in self.wanted(kind) if not column.name.startswith("_")]
        found = [(each, each.find(columns)) for each in wanted]
        if not wanted or not (is_only or any(column for _, column in found)):
            return shown
        if not is_only and kind not in self.tables:
            found = [(each, column) for each, column in found if column is not None]
        return [each.applied(column) for each, column in found if each.name not in self.drop]

    def row_names(self, kind: str, names: Sequence[str]) -> list[str]:
        """Return the names of a table's rows in the wanted order: columns first, then the ones that start with `_`."""
        asked = [column.name for column in self.wanted(kind)]
        own = [name for name in names if name.startswith("_") and name not in asked]
        if not asked:
            return [name for name in names if name not in own or not self.is_plain]
        fields = [name for name in names if not name.startswith("_")]
        placed = [
            name for each in asked for name in ([each] if each.startswith("_") else _with_companions(each, fields))
        ]
        rest = [name for name in fields if name not in placed]
        return [*(name for name in placed if name in names), *rest, *([] if self.is_plain else own)]

    def check(self, known: Collection[str], own: Collection[str] = ()) -> None:
        """Raise `WrongUsage` if the user named a column that no table has, with the nearest names."""
        named = [] if self.is_pinned else [column.of for column in self.columns]
        there = {*known, *own, OTHER}
        unknown = [name for name in dict.fromkeys([*named, *sorted(self.drop)]) if name not in there]
        if not unknown:
            return
        lines = []
        for name in unknown:
            near = difflib.get_close_matches(name, sorted(there), n=SUGGESTED, cutoff=0.5)
            near += [other for other in sorted(there) if name in other.split("_") and other not in near][:SUGGESTED]
            lines.append(
                f"no column is called {name}" + (f"; did you mean {' or '.join(near[:SUGGESTED])}?" if near else ".")
            )
        listed = sorted(known)
        more = f" and {len(listed) - MAX_LISTED} more" if len(listed) > MAX_LISTED else ""
        raise WrongUsage(f"{' '.join(lines)} The columns are {', '.join(listed[:MAX_LISTED]) or '(none)'}{more}")

    def unfilled(self, kind: str, columns: Iterable[TableColumn]) -> list[str]:
        """Return the pinned columns that the table can no longer fill."""
        columns = list(columns)
        return [
            each.name
            for each in self.wanted(kind)
            if self.is_pinned and not each.name.startswith("_") and each.find(columns) is None
        ]


def _with_companions(name: str, names: Collection[str]) -> list[str]:
    """Return a column with the one of its currencies or units."""
    return [name, *(other for suffix in ("_currency", "_unit") if (other := name + suffix) in names)]


def _read_file(text: str) -> tuple[tuple[WantedColumn, ...], dict[str, tuple[WantedColumn, ...]]]:
    """Read a schema file: the columns of any table, and those of tables of a kind."""
    try:
        saved = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WrongUsage(f"the schema is no JSON ({error}); `upwell schema DIR` writes one") from error
    if isinstance(saved, list):
        saved = {"columns": saved}
    columns = saved.get("columns", []) if isinstance(saved, dict) else None
    tables = saved.get("tables", {}) if isinstance(saved, dict) else None
    if not isinstance(columns, list) or not isinstance(tables, dict) or not (columns or tables):
        raise WrongUsage('the schema has no columns; it looks like {"columns": [{"name": "title"}, …]}')
    if not all(isinstance(group, list) for group in tables.values()):
        raise WrongUsage("each table of the schema is a list of columns")
    return (
        tuple(map(WantedColumn.from_json, columns)),
        {kind: tuple(map(WantedColumn.from_json, group)) for kind, group in tables.items()},
    )


def schema_json(tables: Mapping[str, Sequence[TableColumn]]) -> dict[str, Any]:
    """Return the contents of a schema file that pins the columns of these tables, by kind."""
    groups = {kind: [_column_json(column) for column in columns if not column.drop] for kind, columns in tables.items()}
    return {"columns": next(iter(groups.values()), [])} if len(groups) <= 1 else {"tables": groups}


def _column_json(column: TableColumn) -> dict[str, Any]:
    return {"name": column.name, "type": column.type, "fields": list(column.of)}
