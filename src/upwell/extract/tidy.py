"""The table that a harvest hands over: what its records and their own pages say, as the columns that people expect.

    constant    a column that says the same in every row is a label or part of the page: it is left out
    cut         the words that every text of a column begins with ("Population: 5") are cut off
    merged      columns that say the same of nearly every record are one, and the fuller text counts
    rare        a column that few rows have goes to `_other`, with its name before the text

`arrange` looks at all rows and says what the columns are; `rows_of` makes the rows. Columns of a record's own page have names that
begin with `PAGE`. What an earlier table said of a column (its name, whether it is dropped or pinned) stays: a person may have edited it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

from upwell.extract.cells import Cells
from upwell.extract.column_cuts import cut_of, without_cut
from upwell.extract.column_names import column_name
from upwell.extract.merged_columns import ELLIPSIS, NEARLY_ALL, NUMBERED, merged, plain, text_of
from upwell.extract.phrases_in_texts import phrases_of, values_between
from upwell.extract.values import Type, column_type, split_unit
from upwell.model import PAGE

__all__ = [
    "MIN_ROWS", "OTHER", "PAGE", "OtherFields", "TableColumn", "arrange", "as_saved", "columns_of", "load_columns",
    "rows_of", "shaped",
]  # fmt: skip

Cell = str | list[str] | None
OTHER = "_other"
MIN_SHARE = 0.05  # of the rows that a column needs; fewer are too rare for a column of their own; not swept
MIN_ROWS = 20  # of a table, before its columns can be too rare
DISTINCT_TITLES = 0.7  # different texts for each row, of a column that may be the title
TAG_NAME = re.compile(
    r"(?:a|b|dd|div|dl|dt|em|font|h[1-6]|i|li|main|ol|p|pre|section|small|span|strong|table|tbody|td|text|th|tr|ul)\d*(?:_|$)"
)


@dataclass(frozen=True, kw_only=True)
class TableColumn:
    """One column, as `source.json` has it; edit `name`, `drop` or `pin` there."""

    name: str
    of: tuple[str, ...]  # names in the records and on their pages; the first is what it is known by
    type: Type = "text"
    cut: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # of names: what their texts begin and end with
    unit: str = ""  # that all its numbers have; "…": there are several, in a column of their own
    is_list: bool = False
    # Where all texts are made of the same phrases ("section A; installed size 3"), the column is what follows one of them.
    phrases: tuple[str, ...] = ()
    part: int = 0  # which phrase, from 1; 0: what stands before the first
    drop: bool = False
    pin: bool = False  # kept, also where it is rare or always the same

    @property
    def is_of_page(self) -> bool:
        """Whether only the records' own pages have it."""
        return self.of[0].startswith(PAGE)

    def cell(self, row: Mapping[str, Any]) -> Cell:
        """The fullest of the texts that a row has for it."""
        if self.is_plain:
            return row.get(self.of[0]) or None  # a text or a list
        return self._fullest([row.get(name) for name in self.of])

    def cells(self, fields: Cells) -> list[Cell]:
        """The same of all rows."""
        key = (self.of, tuple(self.cut.items()), self.phrases, self.part, self.is_list)
        if key not in fields.made:
            fields.made[key] = self._cells(fields)
        return fields.made[key]

    def _cells(self, fields: Cells) -> list[Cell]:
        first, *others = (fields[name] for name in self.of)
        if self.is_plain:
            return [value or None for value in first]
        if self.phrases or self.is_list:
            return [self._fullest(values) for values in zip(first, *others, strict=True)]
        made = _without_cuts(first, self.cut.get(self.of[0], ("", "")))
        for row in {row for name in self.of[1:] for row, value in fields.having(name) if value}:
            made[row] = self._fullest([first[row], *(column[row] for column in others)])
        return made

    def _fullest(self, values: Iterable[Any]) -> Cell:
        """The fullest of the texts of its fields."""
        best: Cell = None
        for name, value in zip(self.of, values, strict=True):
            if isinstance(value, str) and name in self.cut:
                value = without_cut(value, self.cut[name])
            if value in (None, "", []):
                continue
            if best is None or (_is_fuller(text_of(value), text_of(best)) and isinstance(value, str | list)):
                best = value
        if isinstance(best, str) and self.phrases:
            return values_between(best, self.phrases)[self.part]
        return best.split("; ") if isinstance(best, str) and self.is_list else best

    @cached_property
    def is_plain(self) -> bool:
        """Whether its texts are those of one field as they are, which is so of most."""
        return len(self.of) == 1 and not (self.cut or self.phrases or self.is_list)

    @property
    def id(self) -> tuple[str, int]:
        """What it is known by, from one table to the next."""
        return self.of[0], self.part


def _without_cuts(cells: Iterable[Any], cut: tuple[str, str]) -> list[Cell]:
    """The cells of a field without what its texts begin and end with."""
    if cut != ("", ""):
        cells = (without_cut(cell, cut) if isinstance(cell, str) else cell for cell in cells)
    return [cell if cell or cell == 0 else None for cell in cells]


def load_columns(saved: Iterable[Mapping[str, Any]]) -> list[TableColumn]:
    """Columns as `source.json` has them."""
    known = set(TableColumn.__dataclass_fields__)
    columns = []
    for one in saved:
        cut = {name: (begin, end) for name, (begin, end) in one.get("cut", {}).items()}
        values = {k: v for k, v in one.items() if k in known}
        columns.append(TableColumn(**{**values, "of": tuple(one["of"]), "cut": cut}))
    return columns


def arrange(
    rows: Sequence[Mapping[str, Any]] | Cells, *, lists: Collection[str] = (), earlier: Sequence[TableColumn] = ()
) -> list[TableColumn]:
    """The columns of a table, in the order in which they first appear; `lists` are names of those with several texts."""
    fields = rows if isinstance(rows, Cells) else Cells.of(rows)
    names = [name for name in fields.columns if not name.startswith("_")]
    filled: dict[str, int] = {}
    texts: dict[str, set[str]] = {}
    for name in names:
        given = fields.filled(name)
        is_text = set(map(type, given)) <= {str}
        filled[name], texts[name] = len(given), set(given if is_text else map(text_of, given))
    cuts = {name: cut for name, found in texts.items() if name not in lists and (cut := cut_of(found)) != ("", "")}
    for name, cut in cuts.items():
        texts[name] = {without_cut(text, cut) for text in texts[name]} - {""}
    known = {column.id: column for column in earlier}
    pinned = {column.of[0] for column in earlier if column.pin}
    useful = [name for name in names if name in pinned or len(texts[name]) > (1 if filled[name] > 1 else 0)]
    with_page = sorted({row for name in names if name.startswith(PAGE) for row, _ in fields.having(name)})
    columns: list[TableColumn] = []
    for group in merged(useful, fields, with_page, cuts):
        seen = texts[group[0]].union(*(texts[name] for name in group[1:])) if group[1:] else texts[group[0]]
        repeats = any(name in lists for name in group) or list in set(map(type, fields[group[0]]))
        labels = {name: cuts[name] for name in group if name in cuts}
        column = TableColumn(name=_named(group, labels), of=tuple(group), cut=labels, is_list=repeats)
        for part, values in _parts(column, seen) if not repeats else [(column, seen)]:
            one = part if repeats else _typed(part, values)
            if before := known.get(one.id):
                one = replace(one, name=before.name, drop=before.drop, pin=before.pin)
            of_rows = len(with_page) if column.is_of_page else fields.count
            count = filled[one.of[0]] if one.is_plain else sum(cell not in (None, "", []) for cell in one.cells(fields))
            share = count / max(1, of_rows)
            is_same = len(values) == 1 and fields.count > 1
            if one.pin or not (is_same or (fields.count >= MIN_ROWS and share < MIN_SHARE)):
                columns.append(one)
    columns = _with_title(columns, fields, known)
    taken: set[str] = set()
    unique = []
    for column in columns:
        name = (
            column.name
            if column.name not in taken
            else next(f"{column.name}_{i}" for i in range(2, len(columns) + 2) if f"{column.name}_{i}" not in taken)
        )
        taken.add(name)
        unique.append(replace(column, name=name))
    return unique


def _with_title(columns: Sequence[TableColumn], fields: Cells, known: Collection[tuple[str, int]]) -> list[TableColumn]:
    """The columns; where none is called a title or name, the first text that tells nearly all records apart is, if the site did not name it."""
    stems = Counter(NUMBERED.sub("", column.name) for column in columns)
    if any(word in ("title", "name") for stem in stems for word in stem.split("_")):
        return list(columns)
    for column in columns:
        is_named = not TAG_NAME.match(column.name) and stems[NUMBERED.sub("", column.name)] == 1
        if column.id in known or is_named or column.type != "text" or column.is_list:
            continue
        texts = [text for text in column.cells(fields) if isinstance(text, str)]
        if len(texts) >= NEARLY_ALL * fields.count and len(set(texts)) >= DISTINCT_TITLES * fields.count:
            return [replace(one, name="title") if one is column else one for one in columns]
    return list(columns)


def rows_of(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[TableColumn], *, with_pages: bool = True
) -> Iterator[dict[str, Cell]]:
    """The rows with these columns; what stands in none of them, and is not always the same, is in `_other`."""
    others, rows = OtherFields(columns), list(rows)
    for row in rows:
        others.add(row)
    shown, names = [column for column in columns if not column.drop], others.names(with_pages=with_pages)
    return (shaped(row, shown, names) for row in rows)


def columns_of(fields: Cells, columns: Sequence[TableColumn], *, with_pages: bool = True) -> dict[str, list[Cell]]:
    """The same as `rows_of`, by column."""
    placed = {name for column in columns for name in column.of}
    rare = [name for name in sorted(fields.columns.keys() - placed) if with_pages or not name.startswith(PAGE)]
    others = [name for name in rare if not name.startswith("_") and _has_several(fields[name])]
    made: dict[str, list[Cell]] = {name: cells for name, cells in fields.columns.items() if name.startswith("_")}
    if others:
        made[OTHER] = [_others(zip(others, values, strict=True)) for values in zip(*map(fields.__getitem__, others), strict=True)]  # fmt: skip
    return made | {column.name: column.cells(fields) for column in columns if not column.drop}


def _has_several(cells: Iterable[Any]) -> bool:
    """Whether a field is not always the same."""
    texts = (text_of(value) for value in cells if value)
    first = next(texts, None)
    return any(text != first for text in texts)


def _others(fields: Iterable[tuple[str, Any]]) -> str | None:
    return "; ".join(f"{name.removeprefix(PAGE)}: {text_of(value)}" for name, value in fields if value) or None


class OtherFields:
    """The names of fields that stand in none of the columns, and are not always the same."""

    def __init__(self, columns: Iterable[TableColumn]) -> None:
        self._passed_over = {name for column in columns for name in column.of}  # and all that are none
        self._seen: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, row: Mapping[str, Any]) -> None:
        """Looks at a row."""
        for name in row.keys() - self._passed_over:
            if name.startswith("_") or len(self._seen[name]) > 1:  # enough to tell it from a constant
                self._passed_over.add(name)
            elif row[name]:
                self._seen[name].add(text_of(row[name]))

    def names(self, *, with_pages: bool = True) -> list[str]:
        """In the order of the alphabet, of all rows that were looked at."""
        rare = [name for name, values in self._seen.items() if len(values) > 1]
        return sorted(name for name in rare if with_pages or not name.startswith(PAGE))


def shaped(row: Mapping[str, Any], columns: Iterable[TableColumn], others: Sequence[str]) -> dict[str, Cell]:
    """A row with these columns, and with other fields in `_other`."""
    kept: dict[str, Cell] = {name: value for name, value in row.items() if name.startswith("_")}
    if others:
        kept[OTHER] = _others((name, row.get(name)) for name in others)
    return kept | {column.name: column.cell(row) for column in columns}


def _parts(column: TableColumn, texts: set[str]) -> list[tuple[TableColumn, set[str]]]:
    """The column with its texts; where these are all made of the same phrases, a column for what follows each."""
    phrases = phrases_of(texts)
    if not phrases:
        return [(column, texts)]
    values = [values_between(text, phrases) for text in texts]
    parts = []
    for number, name in enumerate((column.name, *map(column_name, phrases))):
        found = {value[number] for value in values} - {""}
        if found:
            parts.append((replace(column, name=name, phrases=phrases, part=number), found))
    return parts


def _named(group: Sequence[str], cut: Mapping[str, tuple[str, str]]) -> str:
    """The best of the names of a column: one that a site gave, not one made of tags."""
    names = [name.removeprefix(PAGE) for name in group]
    given = next((name for name in names if not TAG_NAME.match(name)), "")
    label = next((begin for begin, _ in cut.values() if any(map(str.isalpha, begin))), "")
    return given or (column_name(label) if label else names[0])


def _typed(column: TableColumn, texts: Collection[str]) -> TableColumn:
    kind = column_type(texts, lossless=True)
    if kind != "text":
        return replace(column, type=kind)
    parts = [part for part in takewhile(bool, map(split_unit, texts)) if part]
    units = {unit for _, unit in parts}
    if len(parts) == len(texts) and len(units) <= 3:  # a column of numbers has few units
        kind = column_type([number for number, _ in parts], lossless=True)
        if kind in ("integer", "decimal"):
            (unit, *others) = sorted(units)
            name = (
                column.name
                if others or column.name.endswith(f"_{column_name(unit)}")
                else f"{column.name}_{column_name(unit)}"
            )
            return replace(column, type=kind, unit="…" if others else unit, name=name)
    return column


def _is_fuller(text: str, than: str) -> bool:
    """Whether a text is the whole of another that is cut off."""
    return (
        ELLIPSIS.search(than) is not None
        and len(plain(text)) > len(plain(than))
        and plain(text).startswith(plain(than))
    )


def as_saved(columns: Iterable[TableColumn]) -> list[dict[str, Any]]:
    """As `source.json` has them."""
    return [
        {name: value for name, value in asdict(column).items() if value or name in ("name", "of")} for column in columns
    ]
