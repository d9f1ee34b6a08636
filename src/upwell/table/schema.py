"""Infer the schema of a table from its records and record pages: which columns there are, and where each value comes from.

    constant    a column with the same text in every row is a label or part of the page; it is left out
    affixes     text that every value starts or ends with ("Population: 5") is removed
    merged      columns that agree for nearly every record become one, and the fuller text is used
    rare        a column that few rows have goes to `_other`, with its name before the text

`infer_columns` looks at all rows and returns the columns; `shape_rows` and `shape_columns` create the rows. Fields of record pages have names
that start with `PAGE_PREFIX`. Name, `drop` and `pin` of a column are taken over from an earlier table, because a user may have edited them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from statistics import median
from typing import Any, NamedTuple

from upwell.records.column_names import column_name, name_evidence
from upwell.records.values import ValueType, column_type, split_unit
from upwell.table.rows import FieldColumns
from upwell.types import PAGE_PREFIX

__all__ = [
    "ELLIPSES",
    "MIN_ROWS",
    "NEARLY_ALL",
    "NUMBERED",
    "OTHER",
    "PAGE_PREFIX",
    "FieldOrigin",
    "OtherFields",
    "TableColumn",
    "cell_text",
    "columns_from_json",
    "columns_to_json",
    "common_affixes",
    "comparable_text",
    "infer_columns",
    "merge_columns",
    "phrases_of",
    "shape_columns",
    "shape_row",
    "shape_rows",
    "strip_affixes",
    "values_between",
]

# Common affixes of a column's texts that are not part of its values: "Population: 5", "(1999)", "A title - The Site".

OUTLIER_SHARE = 0.01  # share of the texts, at each end of the sorted order, that may start differently; not swept
MIN_LABELLED = 5  # distinct texts needed to remove a common label that ends in a colon
MIN_UNPUNCTUATED = 20  # the same, for a label without a colon
MAX_LABEL_CHARS = 40  # longest label that is removed
MAX_SITE_NAME_CHARS = 120  # longest site name, which may come with a slogan; not swept
SITE_NAME_SUFFIX = re.compile(r"\s[-–—|·»«:/]\s.*$", re.S)  # a site name after a title
MIN_SENTENCE_CHARS = 75  # median length; shorter ones may be a list of values in words; not swept
SENTENCE_ENDS = (".", "!", "?", "。", "…")
BRACKETS = (("(", ")"), ("[", "]"), ("（", "）"))  # around all texts of a column


def common_affixes(texts: Collection[str]) -> tuple[str, str]:
    """Return the prefix and suffix that the texts of a column share and that are not part of the values; "" for none."""
    if len(texts) < MIN_LABELLED:
        return "", ""
    outliers = int(OUTLIER_SHARE * len(texts))
    least = len(texts) - 2 * outliers  # texts that share the affix, at least
    starts = max(Counter(text[:1] for text in texts).values()) >= least
    ends = max(Counter(text[-1:] for text in texts).values()) >= least
    if not starts and not ends:  # true of most columns, and cheaper than sorting
        return "", ""
    start = _common_start(ordered[outliers], ordered[-1 - outliers]) if (ordered := sorted(texts)) and starts else ""
    if start.startswith(("http:", "https:")):
        return "", ""
    match = re.match(r".*[:\s]\s*", start, re.S)
    label = match[0] if match else ""
    is_marked = label.rstrip().endswith((":", "："))
    if len(texts) < (MIN_LABELLED if is_marked else MIN_UNPUNCTUATED) or not _is_label(label):
        label = ""
    elif not is_marked and _are_sentences(texts):
        label = ""  # sentences may start with the same words
    backwards = sorted(text[::-1] for text in texts) if ends else []
    finish = _common_start(backwards[outliers], backwards[-1 - outliers])[::-1] if ends else ""
    for opening, closing in BRACKETS:
        if finish.endswith(closing) and (label.count(opening) > label.count(closing) or start.startswith(opening)):
            return label or opening, closing
    end = SITE_NAME_SUFFIX.search(finish)
    return label, end[0] if end and _is_label(end[0], MAX_SITE_NAME_CHARS) else ""


def _are_sentences(texts: Collection[str]) -> bool:
    """Return True if most texts are several words that end like a sentence."""
    sentences = [len(text) for text in texts if text.rstrip().endswith(SENTENCE_ENDS) and " " in text.strip()]
    return len(sentences) > len(texts) / 2 and median(sentences) >= MIN_SENTENCE_CHARS


def strip_affixes(text: str, cut: tuple[str, str]) -> str:
    """Return the text without the common prefix and suffix."""
    prefix, suffix = cut
    if prefix and text.startswith(prefix):
        text = text[len(prefix) :]
    return (text.removesuffix(suffix) if suffix else text).strip()


def _is_label(text: str, max_chars: int = MAX_LABEL_CHARS) -> bool:
    return "://" not in text and len(text) <= max_chars and any(map(str.isalpha, text))


def _common_start(first: str, second: str) -> str:
    length = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    return first[:length]


# Texts that follow a common pattern: "Maintained by A; section B; installed size 3 kB". A phrase is a run of words that occurs
# in nearly all texts, once in each and in the same order; the value that it names follows it.

MIN_TEXTS = 20  # distinct texts needed
MAX_TEXTS = 300  # safety limit: texts examined at most
REQUIRED_SHARE = 0.95  # share of the texts that contain a required phrase; not swept
OPTIONAL_SHARE = 0.3  # the same for an optional phrase, which nearly always follows a punctuation mark; not swept
MAX_PHRASE_CHARS = 40
MIN_DISTINCT = 0.02  # distinct values per text; a phrase with fewer does not distinguish records
PHRASE_BREAKS = (";", ",", ".", ":", "|", "·", "–", "-", "(")  # end of a phrase
VALUE_BREAKS = (";", ",", ".", "|", "·", "–", "-", "(")  # end of a value; a colon is followed by one
VALUE_PADDING = " \t\n;,.:|·–-()"


def phrases_of(texts: Collection[str]) -> tuple[str, ...]:
    """Return the phrases of texts that follow a common pattern, in order; empty if they do not.

    >>> texts = [f"Kept by person{i}; section s{i % 3}; size {i} kB." for i in range(30)]
    >>> phrases_of(texts)
    ('Kept by', 'section', 'size')
    """
    if len(texts) < MIN_TEXTS:
        return ()
    ordered = sorted(texts)
    words = [text.split() for text in ordered[:: max(1, len(ordered) // MAX_TEXTS)]]
    once: Counter[str] = Counter()
    after_break: Counter[str] = Counter()
    for text in words:
        counts = Counter(text)
        for at, word in enumerate(text):
            if counts[word] == 1 and any(map(str.isalpha, word)):
                once[word] += 1
                after_break[word] += at > 0 and text[at - 1].endswith(VALUE_BREAKS)
    required = {word for word, n in once.items() if n >= REQUIRED_SHARE * len(words)}
    if len(required) < 2:
        return ()
    optional = {
        word for word, n in once.items() if n >= OPTIONAL_SHARE * len(words) and after_break[word] >= REQUIRED_SHARE * n
    }
    anchors = required | optional
    runs: Counter[str] = Counter()
    led_runs: Counter[str] = Counter()  # those that begin the text or follow a punctuation mark
    places: dict[str, list[float]] = {}
    for text in words:
        run: list[str] = []
        for at, word in enumerate([*text, ""]):
            if word in anchors and not (run and run[-1].endswith(PHRASE_BREAKS)):
                run.append(word)
                continue
            if run:
                runs[" ".join(run)] += 1
                led_runs[" ".join(run)] += at == len(run) or text[at - len(run) - 1].endswith(VALUE_BREAKS)
                places.setdefault(" ".join(run), []).append(at / len(text))
            run = [word] if word in anchors else []
    usual = [run for run, n in runs.items() if n >= OPTIONAL_SHARE * len(words) and len(run) <= MAX_PHRASE_CHARS]
    phrases = sorted(usual, key=lambda run: sorted(places[run])[len(places[run]) // 2])
    split_texts = [values_between(" ".join(text), phrases) for text in words]
    informative = [
        phrase
        for number, phrase in enumerate(phrases, 1)
        if len({values[number] for values in split_texts if values[number]}) > max(1, MIN_DISTINCT * len(words))
    ]
    while phrases and phrases[-1] not in informative:  # a final phrase that names no value
        phrases.pop()
    if _are_sentences(ordered) and any(led_runs[phrase] < runs[phrase] / 2 for phrase in informative):
        return ()  # running text with names in it
    has_pattern = (
        sum(runs[phrase] >= REQUIRED_SHARE * len(words) for phrase in informative) >= 1 and len(informative) >= 2
    )
    return tuple(phrases) if has_pattern else ()


def values_between(text: str, phrases: Sequence[str]) -> list[str]:
    """Return the text before the first phrase and after each phrase; "" for a phrase that does not occur.

    >>> values_between("Kept by A; size 3 kB", ("Kept by", "section", "size"))
    ['', 'A', '', '3 kB']
    """
    values = [""] * (len(phrases) + 1)
    start, last = 0, 0
    for number, phrase in enumerate(phrases, 1):
        match = re.compile(rf"(?<!\S){re.escape(phrase)}(?!\S)").search(text, start)
        if match:
            values[last] = _without_padding(text[start : match.start()])
            start, last = match.end(), number
    values[last] = _without_padding(text[start:])
    return values


def _without_padding(text: str) -> str:
    """Return a text without the punctuation around it, but with both brackets of a pair.

    >>> _without_padding(" Shadow and Bone (Grisha, #1) -"), _without_padding("(1999)")
    ('Shadow and Bone (Grisha, #1)', '1999')
    """
    stripped = text.strip(VALUE_PADDING)
    missing = stripped.count("(") - stripped.count(")")
    return f"{stripped})" if missing == 1 and text.rstrip(VALUE_PADDING.replace(")", "")).endswith(")") else stripped


# Merging columns that agree for nearly every record.

MERGE_SHARE = 0.8  # share of rows in which a list column and a page column must agree; not swept
MIN_COMMON = 3  # rows that must have both columns
DUPLICATE_SHARE = 0.98  # the same share for two columns of the same page
COMPARED_ROWS = 400  # safety limit: rows compared at most
NEARLY_ALL = 0.95  # share of rows that have a field in one of two positions
NUMBERED = re.compile(r"_\d+$")
MIN_PART_CHARS = (
    60  # shortest text of letters and digits that counts as a part of a longer text of the same page; not swept
)
MIN_CUT_CHARS = 15  # shortest text ending in "…" that counts as the beginning of a longer text
ELLIPSES = ("…", "...")  # at the end of a text that was cut off
NON_WORD = re.compile(r"[\W_]+")


def merge_columns(
    names: Sequence[str], fields: FieldColumns, with_page: Sequence[int], cuts: Mapping[str, tuple[str, str]]
) -> list[list[str]]:
    """Group columns that agree for nearly every record; list columns come before page columns."""
    rows = range(fields.count)
    compared = [*with_page[:: max(1, len(with_page) // COMPARED_ROWS)], *rows[:: max(1, len(rows) // COMPARED_ROWS)]]
    cells: dict[str, dict[int, str]] = {name: {} for name in names}
    cut_off: dict[str, set[int]] = {name: set() for name in names}
    for name in names:
        column, cut = fields[name], cuts.get(name, ("", ""))
        for i, row in enumerate(compared):
            if column[row]:
                text = strip_affixes(cell_text(column[row]), cut)
                cells[name][i] = comparable_text(text)
                if text.endswith(ELLIPSES):
                    cut_off[name].add(i)
    groups: list[list[str]] = []
    for name in names:
        is_page = name.startswith(PAGE_PREFIX)
        best, best_share = None, 0.0
        for group in groups:
            other = group[0]
            min_share = MERGE_SHARE if is_page != other.startswith(PAGE_PREFIX) else DUPLICATE_SHARE
            share = _agreement(cells[name], cells[other], cut_off[name], cut_off[other])
            if is_page and share < min_share:
                share = max(
                    _share_of_parts(cells[name], cells[each])
                    for each in group
                    if each.startswith(PAGE_PREFIX) or each == other
                )
            if not is_page and _alternate(name, other, cells, len(compared)):
                share = 1.0
            if share >= min_share and share > best_share:
                best, best_share = group, share
        if best is None and is_page:
            best = _group_with_same_name(name, groups, cells)
        if best is None:
            groups.append([name])
        else:
            best.append(name)
    return groups


def _group_with_same_name(
    name: str, groups: Sequence[list[str]], cells: Mapping[str, Mapping[int, str]]
) -> list[str] | None:
    """Return the list column with the same name as a page column if no record has different texts in both.

    A page title may also belong to the first list column, if no record has both.
    """
    own = name.removeprefix(PAGE_PREFIX)
    of_lists = [group for group in groups if not group[0].startswith(PAGE_PREFIX)]
    candidates = [group for group in of_lists if comparable_text(group[0]) == comparable_text(own)]
    same_name = candidates[:]
    if own == "title":
        candidates += [group for group in of_lists if group[0] in ("title", "name")] + of_lists[:1]
    for group in candidates:
        both = cells[name].keys() & cells[group[0]].keys()
        if not both or (group in same_name and all(cells[name][i] == cells[group[0]][i] for i in both)):
            return group
    return None


def _alternate(name: str, other: str, cells: Mapping[str, Mapping[int, str]], rows: int) -> bool:
    """Return True if two positions of the same name hold one field: nearly every record has it in one of them, and few differ where both exist."""
    first, second = cells[name], cells[other]
    both = first.keys() & second.keys()
    if NUMBERED.sub("", name) != NUMBERED.sub("", other) or not first or not second:
        return False
    differ = sum(first[i] != second[i] for i in both)
    return len(first.keys() | second.keys()) >= NEARLY_ALL * rows > len(both) and differ <= OUTLIER_SHARE * rows


def _agreement(
    first: Mapping[int, str], second: Mapping[int, str], first_cut: Collection[int], second_cut: Collection[int]
) -> float:
    """Return the share of rows with both columns that agree; 0 if too few rows have both or all texts are the same."""
    both = first.keys() & second.keys()
    if len(both) < MIN_COMMON or len({first[i] for i in both}) < 2 or 2 * len(both) < min(len(first), len(second)):
        return 0.0
    agreeing = sum(
        first[i] == second[i]
        or (i in first_cut and len(first[i]) >= MIN_CUT_CHARS and second[i].startswith(first[i]))
        or (i in second_cut and len(second[i]) >= MIN_CUT_CHARS and first[i].startswith(second[i]))
        for i in both
    )
    return agreeing / len(both)


def _share_of_parts(first: Mapping[int, str], second: Mapping[int, str]) -> float:
    """Return the share of rows with both columns where a long text of one is part of the other, as a paragraph is of a description."""
    both = first.keys() & second.keys()
    if len(both) < MIN_COMMON or 2 * len(both) < min(len(first), len(second)):
        return 0.0
    parts = (sorted((first[i], second[i]), key=len) for i in both)
    return sum(len(short) >= MIN_PART_CHARS and short in long for short, long in parts) / len(both)


def cell_text(value: object) -> str:
    """Return a cell as one text."""
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def comparable_text(text: str) -> str:
    """Return a text normalized for comparison."""
    return NON_WORD.sub("", text.casefold())


# The columns of a table.

Cell = str | list[str] | None
OTHER = "_other"
MIN_SHARE = 0.05  # share of rows that a column needs, otherwise it goes to `_other`; not swept
MIN_ROWS = 20  # rows of a table from which on columns can be too rare
TITLE_WORDS = ("title", "name", "headline")  # names of the column that says what a row is about
DISTINCT_TITLES = 0.7  # distinct texts per row needed for a column to be called `title`
TAG_NAME = re.compile(
    r"(?:a|b|dd|div|dl|dt|em|font|h[1-6]|i|li|main|ol|p|pre|section|small|span|strong|table|tbody|td|text|th|tr|ul)\d*(?:_|$)"
)


class FieldOrigin(NamedTuple):
    """What is known of a field besides its texts."""

    named_by: str = ""  # source of the name (`column_names.NAME_SOURCES`)
    is_fact: bool = (
        False  # its texts differ in the source, or a label says what they are: the same text in all rows is data, too
    )


UNKNOWN = FieldOrigin()
LABELLED = ("label", "statement", "heading")  # sources of names that say what the texts are


@dataclass(frozen=True, kw_only=True)
class TableColumn:
    """Column of a table as stored in `source.json`, where a user can edit `name`, `drop` and `pin`."""

    name: str
    of: tuple[str, ...]  # field names in records and on record pages; the first identifies the column
    type: ValueType = "text"
    cut: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # by field: prefix and suffix to remove
    unit: str = ""  # unit of all numbers; "…": several units, in a separate column
    is_list: bool = False
    # If all texts follow a common pattern ("section A; installed size 3"), the column holds the value after one phrase.
    phrases: tuple[str, ...] = ()
    part: int = 0  # number of the phrase, from 1; 0: the text before the first
    drop: bool = False
    pin: bool = False  # keep the column even if it is rare or constant
    is_forced: bool = False  # the user chose the type: texts that are of another type become empty

    @property
    def is_of_page(self) -> bool:
        """Return True if only record pages have this column."""
        return self.of[0].startswith(PAGE_PREFIX)

    def cell(self, row: Mapping[str, Any]) -> Cell:
        """Return the fullest text that a row has for this column."""
        if self.is_plain:
            return row.get(self.of[0]) or None
        return self._fullest([row.get(name) for name in self.of])

    def cells(self, fields: FieldColumns) -> list[Cell]:
        """Return the cells of all rows (cached in `fields.made`)."""
        key = (self.of, tuple(self.cut.items()), self.phrases, self.part, self.is_list)
        if key not in fields.made:
            fields.made[key] = self._cells(fields)
        return fields.made[key]

    def _cells(self, fields: FieldColumns) -> list[Cell]:
        first, *others = (fields[name] for name in self.of)
        if self.is_plain:
            return [value or None for value in first]
        if self.phrases or self.is_list:
            return [self._fullest(values) for values in zip(first, *others, strict=True)]
        made = _stripped_cells(first, self.cut.get(self.of[0], ("", "")))
        for row in {row for name in self.of[1:] for row, value in fields.having(name) if value}:
            made[row] = self._fullest([first[row], *(column[row] for column in others)])
        return made

    def _fullest(self, values: Iterable[Any]) -> Cell:
        """Return the fullest of the values of its fields."""
        best: Cell = None
        for name, value in zip(self.of, values, strict=True):
            if isinstance(value, str) and name in self.cut:
                value = strip_affixes(value, self.cut[name])
            if value in (None, "", []):
                continue
            if best is None or (_is_fuller(cell_text(value), cell_text(best)) and isinstance(value, str | list)):
                best = value
        if isinstance(best, str) and self.phrases:
            return values_between(best, self.phrases)[self.part] or None
        return best.split("; ") if isinstance(best, str) and self.is_list else best

    @cached_property
    def is_plain(self) -> bool:
        """Return True if the column is one field unchanged, as most are."""
        return len(self.of) == 1 and not (self.cut or self.phrases or self.is_list)

    @property
    def id(self) -> tuple[str, int]:
        """Return what identifies the column across runs."""
        return self.of[0], self.part


def _stripped_cells(cells: Iterable[Any], cut: tuple[str, str]) -> list[Cell]:
    """Return the cells of a field without the common prefix and suffix."""
    if cut != ("", ""):
        cells = (strip_affixes(cell, cut) if isinstance(cell, str) else cell for cell in cells)
    return [cell if cell or cell == 0 else None for cell in cells]


def columns_from_json(saved: Iterable[Mapping[str, Any]]) -> list[TableColumn]:
    """Read columns from `source.json`."""
    known = set(TableColumn.__dataclass_fields__)
    columns = []
    for entry in saved:
        cut = {name: (prefix, suffix) for name, (prefix, suffix) in entry.get("cut", {}).items()}
        values = {k: v for k, v in entry.items() if k in known}
        columns.append(TableColumn(**{**values, "of": tuple(entry["of"]), "cut": cut}))
    return columns


def infer_columns(
    rows: Sequence[Mapping[str, Any]] | FieldColumns,
    *,
    lists: Collection[str] = (),
    earlier: Sequence[TableColumn] = (),
    keep: Collection[str] = (),
    origins: Mapping[str, FieldOrigin] | None = None,
) -> list[TableColumn]:
    """Return the columns of a table in order of first appearance, the title first; `lists` names the fields with several values per row.

    Columns with a name or a field in `keep` are kept even if they are constant or rare, facts of `origins` even if they are constant.
    """
    origins = origins or {}
    fields = rows if isinstance(rows, FieldColumns) else FieldColumns.of(rows)
    names = [name for name in fields.columns if not name.startswith("_")]
    filled: dict[str, int] = {}
    texts: dict[str, set[str]] = {}
    for name in names:
        cells = fields.filled(name)
        is_text = set(map(type, cells)) <= {str}
        filled[name], texts[name] = len(cells), set(cells if is_text else map(cell_text, cells))
    cuts = {
        name: cut for name, values in texts.items() if name not in lists and (cut := common_affixes(values)) != ("", "")
    }
    for name, (prefix, suffix) in list(cuts.items()):
        if origins.get(name, UNKNOWN).named_by in LABELLED and not prefix.rstrip().endswith((":", "：")):
            cuts[name] = (
                "",
                suffix,
            )  # the label is known, so that the common beginning is part of the values ("GB 02004")
    for name, cut in cuts.items():
        texts[name] = {strip_affixes(text, cut) for text in texts[name]} - {""}
    known = {column.id: column for column in earlier}
    pinned = {column.of[0] for column in earlier if column.pin}
    kept = {name for name in names if keep and (name in keep or column_of_field(name) in keep)}
    useful = [
        name
        for name in names
        if name in pinned
        or name in kept
        or len(texts[name]) > (0 if filled[name] <= 1 or origins.get(name, UNKNOWN).is_fact else 1)
    ]
    with_page = sorted({row for name in names if name.startswith(PAGE_PREFIX) for row, _ in fields.having(name)})
    columns: list[TableColumn] = []
    for group in merge_columns(useful, fields, with_page, cuts):
        seen = texts[group[0]].union(*(texts[name] for name in group[1:])) if group[1:] else texts[group[0]]
        repeats = any(name in lists for name in group) or list in set(map(type, fields[group[0]]))
        labels = {name: cuts[name] for name in group if name in cuts}
        column = TableColumn(
            name=_column_name(_usual_names(group, filled), labels, origins),
            of=tuple(group),
            cut=labels,
            is_list=repeats,
        )
        for part, values in _split_by_phrases(column, seen) if not repeats else [(column, seen)]:
            typed = part if repeats else _with_type(part, values)
            if before := known.get(typed.id):
                typed = replace(typed, name=before.name, drop=before.drop, pin=before.pin)
            possible = len(with_page) if column.is_of_page else fields.count
            count = (
                filled[typed.of[0]]
                if typed.is_plain
                else sum(cell not in (None, "", []) for cell in typed.cells(fields))
            )
            share = count / max(1, possible)
            is_fact = any(origins.get(name, UNKNOWN).is_fact for name in typed.of)
            is_same = len(values) == 1 and fields.count > 1 and not is_fact
            is_kept = typed.pin or typed.name in keep or not kept.isdisjoint(typed.of)
            if is_kept or not (is_same or (fields.count >= MIN_ROWS and share < MIN_SHARE)):
                columns.append(typed)
    columns = _title_first(_with_title(_without_repeated_values(columns, fields, origins), fields, known), fields)
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


def _without_repeated_values(
    columns: Sequence[TableColumn], fields: FieldColumns, origins: Mapping[str, FieldOrigin]
) -> list[TableColumn]:
    """Return the columns without those that repeat another one once labels, units and phrases are removed.

    Of two such columns, the one of the list is kept, otherwise the one with more values; it gets the better name.
    """
    kept = list(columns)
    for column in columns:
        if column.is_plain and not column.unit:
            continue
        for other in columns:
            if other is column or other not in kept or column not in kept or other.is_list or column.is_list:
                continue
            first, second = _plain_values(column, fields), _plain_values(other, fields)
            if _agreement(first, second, (), ()) < DUPLICATE_SHARE:
                continue
            better, worse = sorted(
                (column, other), key=lambda each: (each.is_of_page, -len(second if each is other else first))
            )
            rows, lost = (first, second) if better is column else (second, first)
            if len(rows.keys() & lost.keys()) >= NEARLY_ALL * len(lost):
                kept.remove(worse)
                kept[kept.index(better)] = replace(better, name=_column_name([better.name, worse.name], {}, origins))
    return kept


def _plain_values(column: TableColumn, fields: FieldColumns) -> dict[int, str]:
    """Return the letters and digits of the values of a column by row, without units; at most those of some rows."""
    step = max(1, fields.count // COMPARED_ROWS)
    values: dict[int, str] = {}
    for row, cell in enumerate(column.cells(fields)[::step]):
        if cell not in (None, "", []):
            text = cell_text(cell)
            number = split_unit(text) if column.unit else None
            values[row] = comparable_text(number[0] if number else text)
    return values


def _title_first(columns: Sequence[TableColumn], fields: FieldColumns) -> list[TableColumn]:
    """Return the columns with the one that says what a row is about first: called title or name, rather of the list, with distinct values."""
    for word in TITLE_WORDS:
        for column in sorted(columns, key=lambda each: each.is_of_page):
            if word == column.name and column.type == "text" and not column.is_list:
                texts = [cell for cell in column.cells(fields) if cell]
                if len(texts) >= fields.count / 2 and len(set(map(cell_text, texts))) >= DISTINCT_TITLES * len(texts):
                    return [column, *(other for other in columns if other is not column)]
    return list(columns)


def _with_title(
    columns: Sequence[TableColumn], fields: FieldColumns, known: Collection[tuple[str, int]]
) -> list[TableColumn]:
    """Return the columns, naming one `title` if none is called title or name: the first text column with nearly distinct values that the site left unnamed."""
    stems = Counter(NUMBERED.sub("", column.name) for column in columns)
    if any(word in ("title", "name") for stem in stems for word in stem.split("_")):
        return list(columns)
    for column in columns:
        is_named = not TAG_NAME.match(column.name) and stems[NUMBERED.sub("", column.name)] == 1
        if column.id in known or is_named or column.type != "text" or column.is_list:
            continue
        texts = [text for text in column.cells(fields) if isinstance(text, str)]
        if len(texts) >= NEARLY_ALL * fields.count and len(set(texts)) >= DISTINCT_TITLES * fields.count:
            return [replace(other, name="title") if other is column else other for other in columns]
    return list(columns)


def shape_rows(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[TableColumn], *, with_pages: bool = True
) -> Iterator[dict[str, Cell]]:
    """Return the rows with these columns; varying fields without a column go to `_other`."""
    others, rows = OtherFields(columns), list(rows)
    for row in rows:
        others.add(row)
    shown, names = [column for column in columns if not column.drop], others.names(with_pages=with_pages)
    return (shape_row(row, shown, names) for row in rows)


def shape_columns(
    fields: FieldColumns, columns: Sequence[TableColumn], *, with_pages: bool = True, known: Sequence[TableColumn] = ()
) -> dict[str, list[Cell]]:
    """Return the same as `shape_rows`, by column; fields of the `known` columns do not go to `_other` either."""
    in_columns = {name for column in (*columns, *known) for name in column.of}
    rare = [
        name for name in sorted(fields.columns.keys() - in_columns) if with_pages or not name.startswith(PAGE_PREFIX)
    ]
    others = [name for name in rare if not name.startswith("_") and _varies(fields[name])]
    made: dict[str, list[Cell]] = {name: cells for name, cells in fields.columns.items() if name.startswith("_")}
    if others:
        made[OTHER] = [_other_text(zip(others, values, strict=True)) for values in zip(*map(fields.__getitem__, others), strict=True)]  # fmt: skip
    return made | {column.name: column.cells(fields) for column in columns if not column.drop}


def _varies(cells: Iterable[Any]) -> bool:
    """Return True if a field has different texts."""
    texts = (cell_text(value) for value in cells if value)
    first = next(texts, None)
    return any(text != first for text in texts)


def _other_text(fields: Iterable[tuple[str, Any]]) -> str | None:
    return "; ".join(f"{name.removeprefix(PAGE_PREFIX)}: {cell_text(value)}" for name, value in fields if value) or None


class OtherFields:
    """Collector of the names of varying fields that belong to no column."""

    def __init__(self, columns: Iterable[TableColumn]) -> None:
        self._ignored = {
            name for column in columns for name in column.of
        }  # and fields that start with `_` or are known to vary
        self._seen: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, row: Mapping[str, Any]) -> None:
        """Examine a row."""
        for name in row.keys() - self._ignored:
            if name.startswith("_") or len(self._seen[name]) > 1:  # two texts are enough: it varies
                self._ignored.add(name)
            elif row[name]:
                self._seen[name].add(cell_text(row[name]))

    def names(self, *, with_pages: bool = True) -> list[str]:
        """Return the collected names in alphabetical order."""
        rare = [name for name, values in self._seen.items() if len(values) > 1]
        return sorted(name for name in rare if with_pages or not name.startswith(PAGE_PREFIX))


def shape_row(row: Mapping[str, Any], columns: Iterable[TableColumn], others: Sequence[str]) -> dict[str, Cell]:
    """Return a row with these columns, and the other fields in `_other`."""
    kept: dict[str, Cell] = {name: value for name, value in row.items() if name.startswith("_")}
    if others:
        kept[OTHER] = _other_text((name, row.get(name)) for name in others)
    return kept | {column.name: column.cell(row) for column in columns}


def _split_by_phrases(column: TableColumn, texts: set[str]) -> list[tuple[TableColumn, set[str]]]:
    """Return the column with its texts, or, if these follow a common pattern, one column per phrase."""
    phrases = phrases_of(texts)
    if not phrases:
        return [(column, texts)]
    values = [values_between(text, phrases) for text in texts]
    parts = []
    for number, name in enumerate((column.name, *map(column_name, phrases))):
        part_texts = {value[number] for value in values} - {""}
        if part_texts:
            parts.append((replace(column, name=name, phrases=phrases, part=number), part_texts))
    return parts


def _column_name(group: Sequence[str], cut: Mapping[str, tuple[str, str]], origins: Mapping[str, FieldOrigin]) -> str:
    """Return the name of a column that says best what it is: one given by the site rather than one made of tag names."""
    names = [name.removeprefix(PAGE_PREFIX) for name in group]
    given = [
        (name, origins.get(of, UNKNOWN).named_by)
        for name, of in zip(names, group, strict=True)
        if not TAG_NAME.match(name)
    ]
    if given:
        best, first = max(given, key=lambda each: _name_rank(*each))[0], given[0][0]
        is_kept = first in TITLE_WORDS or comparable_text(first) in comparable_text(best)
        return first if is_kept and not group[0].startswith(PAGE_PREFIX) else best
    label = next((begin for begin, _ in cut.values() if any(map(str.isalpha, begin))), "")
    return column_name(label) if label else names[0]


def _usual_names(group: Sequence[str], filled: Mapping[str, int]) -> list[str]:
    """Return the fields of a group that may name it: those with at least half as many texts as the fullest."""
    most = max(filled[name] for name in group)
    return [name for name in group if 2 * filled[name] >= most or not name.startswith(PAGE_PREFIX)]


def _name_rank(name: str, named_by: str) -> tuple[int, float]:
    """Return what decides between the names of merged fields: a title stays one, and then the evidence of `column_names`."""
    plain = NUMBERED.sub("", name)
    source = named_by if named_by in LABELLED else "class"
    is_title = len(TITLE_WORDS) - TITLE_WORDS.index(plain) if plain in TITLE_WORDS else 0
    return is_title, name_evidence(plain, source) - (plain != name)


def column_of_field(name: str) -> str:
    """Return the name of a column that consists of one field."""
    return _column_name([name], {}, {})


def _with_type(column: TableColumn, texts: Collection[str]) -> TableColumn:
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


def _is_fuller(text: str, other: str) -> bool:
    """Return True if `text` is the complete version of a truncated text, or a longer text that contains it."""
    if len(text) <= len(other) or not (other.endswith(ELLIPSES) or len(other) >= MIN_PART_CHARS):
        return False
    plain, part = comparable_text(text), comparable_text(other)
    is_longer = len(plain) > len(part)
    if is_longer and other.endswith(ELLIPSES):
        return plain.startswith(part)
    return is_longer and len(part) >= MIN_PART_CHARS and part in plain


def columns_to_json(columns: Iterable[TableColumn]) -> list[dict[str, Any]]:
    """Return columns as they are stored in `source.json`."""
    return [
        {name: value for name, value in asdict(column).items() if value or name in ("name", "of")} for column in columns
    ]
