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
from itertools import chain
from typing import Any

from upwell.extract.column_names import column_name
from upwell.extract.phrases_in_texts import phrases_of, values_between
from upwell.extract.values import Type, column_type, split_unit
from upwell.model import PAGE

__all__ = [
    "MIN_ROWS", "OTHER", "PAGE", "OtherFields", "TableColumn", "arrange", "as_saved", "load_columns", "rows_of", "shaped",
]  # fmt: skip

Cell = str | list[str] | None
OTHER = "_other"
MIN_SHARE = 0.05  # of the rows that a column needs; fewer are too rare for a column of their own; not swept
MIN_ROWS = 20  # of a table, before its columns can be too rare
MERGE_SHARE = 0.8  # of the rows that have both, that say the same
MIN_COMMON = 3  # rows that have both
DUPLICATE_SHARE = 0.98  # the same for two columns of one page
COMPARED_ROWS = 400  # are compared at most
NEARLY_ALL = 0.95  # of the rows that have a field at one of two places
DISTINCT_TITLES = 0.7  # different texts for each row, of a column that may be the title
NUMBERED = re.compile(r"_\d+$")
SLIPS = 0.01  # of the texts, at each end of the alphabet, need not begin as the others do
MIN_LABELLED = 5  # different texts that begin with the same label and a colon
MIN_WORDED = 20  # the same, without a colon
MAX_LABEL_CHARS = 40
MIN_CUT_CHARS = 15  # of a text that ends in "…", before it counts as the beginning of a longer one
SEPARATED = re.compile(r"\s[-–—|·»«:/]\s.*$", re.S)  # the name of a site behind a title
BRACKETS = (("(", ")"), ("[", "]"), ("（", "）"))  # around all texts of a column
ELLIPSIS = re.compile(r"\s*(?:…|\.\.\.+)$")
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
        best: Cell = None
        for name in self.of:
            value = row.get(name)
            if isinstance(value, str) and name in self.cut:
                value = _without(value, self.cut[name])
            if value in (None, "", []):
                continue
            if best is None or (_is_fuller(_text(value), _text(best)) and isinstance(value, str | list)):
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
    rows: Sequence[Mapping[str, Any]], *, lists: Collection[str] = (), earlier: Sequence[TableColumn] = ()
) -> list[TableColumn]:
    """The columns of a table, in the order in which they first appear; `lists` are names of those with several texts."""
    names = [name for name in dict.fromkeys(chain.from_iterable(rows)) if not name.startswith("_")]
    filled: dict[str, int] = {}
    texts: dict[str, set[str]] = {}
    for name in names:
        given = [value for row in rows if (value := row.get(name)) not in (None, "", [])]
        filled[name], texts[name] = len(given), {v if isinstance(v, str) else _text(v) for v in given}
    cuts = {name: cut for name, found in texts.items() if name not in lists and (cut := _cut(found)) != ("", "")}
    for name, cut in cuts.items():
        texts[name] = {_without(text, cut) for text in texts[name]} - {""}
    known = {column.id: column for column in earlier}
    pinned = {column.of[0] for column in earlier if column.pin}
    useful = [name for name in names if name in pinned or len(texts[name]) > (1 if filled[name] > 1 else 0)]
    of_pages = {name for name in names if name.startswith(PAGE)}
    with_page = [row for row in rows if not of_pages.isdisjoint(row)]
    columns: list[TableColumn] = []
    for group in _groups(useful, rows, with_page, cuts):
        seen = set().union(*(texts[name] for name in group))
        repeats = any(name in lists for name in group) or any(isinstance(row.get(group[0]), list) for row in rows)
        labels = {name: cuts[name] for name in group if name in cuts}
        column = TableColumn(name=_named(group, labels), of=tuple(group), cut=labels, is_list=repeats)
        for part, values in _parts(column, seen) if not repeats else [(column, seen)]:
            one = part if repeats else _typed(part, values)
            if before := known.get(one.id):
                one = replace(one, name=before.name, drop=before.drop, pin=before.pin)
            of_rows = with_page if column.is_of_page else rows
            count = filled[one.of[0]] if one.is_plain else sum(one.cell(row) not in (None, "", []) for row in rows)
            share = count / max(1, len(of_rows))
            is_same = len(values) == 1 and len(rows) > 1
            if one.pin or not (is_same or (len(rows) >= MIN_ROWS and share < MIN_SHARE)):
                columns.append(one)
    columns = _with_title(columns, rows, known)
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


def _with_title(
    columns: Sequence[TableColumn], rows: Sequence[Mapping[str, Any]], known: Collection[tuple[str, int]]
) -> list[TableColumn]:
    """The columns; where none is called a title or name, the first text that tells nearly all records apart is, if the site did not name it."""
    stems = Counter(NUMBERED.sub("", column.name) for column in columns)
    if any(word in ("title", "name") for stem in stems for word in stem.split("_")):
        return list(columns)
    for column in columns:
        is_named = not TAG_NAME.match(column.name) and stems[NUMBERED.sub("", column.name)] == 1
        if column.id in known or is_named or column.type != "text" or column.is_list:
            continue
        texts = [text for row in rows if isinstance(text := column.cell(row), str)]
        if len(texts) >= NEARLY_ALL * len(rows) and len(set(texts)) >= DISTINCT_TITLES * len(rows):
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
                self._seen[name].add(_text(row[name]))

    def names(self, *, with_pages: bool = True) -> list[str]:
        """In the order of the alphabet, of all rows that were looked at."""
        rare = [name for name, values in self._seen.items() if len(values) > 1]
        return sorted(name for name in rare if with_pages or not name.startswith(PAGE))


def shaped(row: Mapping[str, Any], columns: Iterable[TableColumn], others: Sequence[str]) -> dict[str, Cell]:
    """A row with these columns, and with other fields in `_other`."""
    kept: dict[str, Cell] = {name: value for name, value in row.items() if name.startswith("_")}
    if others:
        kept[OTHER] = "; ".join(f"{name.removeprefix(PAGE)}: {_text(row[name])}" for name in others if row.get(name)) or None  # fmt: skip
    return kept | {column.name: column.cell(row) for column in columns}


def _parts(column: TableColumn, texts: Collection[str]) -> list[tuple[TableColumn, set[str]]]:
    """The column with its texts; where these are all made of the same phrases, a column for what follows each."""
    phrases = phrases_of(texts)
    if not phrases:
        return [(column, set(texts))]
    values = [values_between(text, phrases) for text in texts]
    parts = []
    for number, name in enumerate((column.name, *map(column_name, phrases))):
        found = {value[number] for value in values} - {""}
        if found:
            parts.append((replace(column, name=name, phrases=phrases, part=number), found))
    return parts


def _groups(
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    with_page: Sequence[Mapping[str, Any]],
    cuts: Mapping[str, tuple[str, str]],
) -> list[list[str]]:
    """Columns that say the same of nearly every record, together; those of the list come before those of the page."""
    compared = [*with_page[:: max(1, len(with_page) // COMPARED_ROWS)], *rows[:: max(1, len(rows) // COMPARED_ROWS)]]
    cells: dict[str, dict[int, str]] = {name: {} for name in names}
    cut_off: dict[str, set[int]] = {name: set() for name in names}
    for i, row in enumerate(compared):
        for name in names:
            if row.get(name):
                text = _without(_text(row[name]), cuts.get(name, ("", "")))
                cells[name][i] = _plain(text)
                if ELLIPSIS.search(text):
                    cut_off[name].add(i)
    groups: list[list[str]] = []
    for name in names:
        is_page = name.startswith(PAGE)
        best, best_share = None, 0.0
        for group in groups:
            other = group[0]
            least = MERGE_SHARE if is_page != other.startswith(PAGE) else DUPLICATE_SHARE
            share = _share_alike(cells[name], cells[other], cut_off[name], cut_off[other])
            if not is_page and _take_turns(name, other, cells, len(compared)):
                share = 1.0
            if share >= least and share > best_share:
                best, best_share = group, share
        if best is None and is_page:
            best = _namesake(name, groups, cells)
        if best is None:
            groups.append([name])
        else:
            best.append(name)
    return groups


def _namesake(name: str, groups: Sequence[list[str]], cells: Mapping[str, Mapping[int, str]]) -> list[str] | None:
    """The column of the lists with the same name as one of the pages, where no record has both; a title is the first text of a list."""
    own = name.removeprefix(PAGE)
    of_lists = [group for group in groups if not group[0].startswith(PAGE)]
    alike = [group for group in of_lists if group[0] == own]
    if own == "title":
        alike += [group for group in of_lists if group[0] in ("title", "name")] + of_lists[:1]
    for group in alike:
        if not cells[name].keys() & cells[group[0]].keys():
            return group
    return None


def _take_turns(name: str, other: str, cells: Mapping[str, Mapping[int, str]], rows: int) -> bool:
    """Whether two places of the same name hold one field: nearly every record has it at one of them, and few something else at each."""
    one, two = cells[name], cells[other]
    both = one.keys() & two.keys()
    if NUMBERED.sub("", name) != NUMBERED.sub("", other) or not one or not two:
        return False
    differ = sum(one[i] != two[i] for i in both)
    return len(one.keys() | two.keys()) >= NEARLY_ALL * rows > len(both) and differ <= SLIPS * rows


def _share_alike(
    one: Mapping[int, str], other: Mapping[int, str], one_cut: Collection[int], other_cut: Collection[int]
) -> float:
    """The share of the rows with both that say the same; 0 where too few have both, or all say one and the same."""
    both = one.keys() & other.keys()
    if len(both) < MIN_COMMON or len({one[i] for i in both}) < 2 or 2 * len(both) < min(len(one), len(other)):  # texts
        return 0.0
    alike = sum(
        one[i] == other[i]
        or (i in one_cut and len(one[i]) >= MIN_CUT_CHARS and other[i].startswith(one[i]))
        or (i in other_cut and len(other[i]) >= MIN_CUT_CHARS and one[i].startswith(other[i]))
        for i in both
    )
    return alike / len(both)


def _cut(texts: Collection[str]) -> tuple[str, str]:
    """What the texts of a column begin and end with that is no part of their values; "" where they differ."""
    if len(texts) < MIN_LABELLED:
        return "", ""
    ordered = sorted(texts)
    slips = int(SLIPS * len(ordered))
    start = _common_start(ordered[slips], ordered[-1 - slips])
    if start.startswith(("http:", "https:")):
        return "", ""
    found = re.match(r".*[:\s]\s*", start, re.S)
    label = found[0] if found else ""
    if len(texts) < (MIN_LABELLED if label.rstrip().endswith((":", "：")) else MIN_WORDED) or not _is_label(label):
        label = ""
    backwards = sorted(text[::-1] for text in texts)
    finish = _common_start(backwards[slips], backwards[-1 - slips])[::-1]
    for opening, closing in BRACKETS:
        if finish.endswith(closing) and (label.count(opening) > label.count(closing) or start.startswith(opening)):
            return label or opening, closing
    end = SEPARATED.search(finish)
    return label, end[0] if end and _is_label(end[0]) else ""


def _is_label(text: str) -> bool:
    return "://" not in text and len(text) <= MAX_LABEL_CHARS and any(map(str.isalpha, text))


def _without(text: str, cut: tuple[str, str]) -> str:
    """The text without what all texts begin and end with."""
    begin, end = cut
    if begin and text.startswith(begin):
        text = text[len(begin) :]
    return (text.removesuffix(end) if end else text).strip()


def _common_start(one: str, other: str) -> str:
    length = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]


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
    parts = [split_unit(text) for text in texts]
    units = {part[1] for part in parts if part}
    if all(parts) and len(units) <= 3:  # a column of numbers has few units
        kind = column_type([part[0] for part in parts if part], lossless=True)
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
        and len(_plain(text)) > len(_plain(than))
        and _plain(text).startswith(_plain(than))
    )


def _text(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def as_saved(columns: Iterable[TableColumn]) -> list[dict[str, Any]]:
    """As `source.json` has them."""
    return [
        {name: value for name, value in asdict(column).items() if value or name in ("name", "of")} for column in columns
    ]
