"""The tables of a harvest: one for each kind of thing that its sources have."""

import datetime
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from upwell.extract.column_names import column_name
from upwell.extract.neighbours import without_neighbours
from upwell.extract.query_dependent import without_query
from upwell.extract.tidy import MIN_ROWS, TableColumn, arrange, load_columns, rows_of
from upwell.model import PAGE, TEMPLATE
from upwell.page.address_shapes import AddressShape, learn_shapes
from upwell.store.places import place_of
from upwell.store.state import State
from upwell.store.typed import CURRENCY_SUFFIX, UNIT_SUFFIX, types_of, with_types

__all__ = ["WITH_PAGES", "Table", "earlier_columns", "saved_tables", "tables_of"]

Row = dict[str, Any]
WITH_PAGES = "with pages"  # the note in the state that says whether the tables have what record pages say
SAME_KIND_SHARE = 0.5  # of the columns of two sources, that both have where they are of one kind; not swept
MIN_KIND_SHARE = 0.02  # of the rows of a source that are of a kind of their own, where their pages look otherwise
# Words in the path of a search that do not say what is searched.
NO_KIND = re.compile(r"(?:search|find|query|index|results?|list|browse|catalog\w*|cgi|bin|api|v\d+|data|q|s)$", re.I)


@dataclass(kw_only=True)
class Table:
    """One table: its kind ("" where there is just one), its columns, and its rows with values."""

    kind: str
    columns: list[TableColumn]
    rows: list[Row]
    types: dict[str, str] = field(default_factory=dict)
    of_pages: list[str] = field(
        default_factory=list
    )  # columns that record pages add, also where only a sample was read

    @property
    def name(self) -> str:
        """The name of its file, without what the format adds."""
        return f"records-{self.kind}" if self.kind else "records"

    def choose(self, names: Sequence[str], drop: Collection[str]) -> None:
        """Leaves columns out of the rows, and puts those that are named into their order; `source.json` keeps all."""
        shown = [name for name in (names or self.types) if name in self.types and name not in drop]
        self.types = {name: self.types[name] for name in shown}
        suffixes = ("", UNIT_SUFFIX, CURRENCY_SUFFIX)
        for row in self.rows:
            whole = dict(row)
            row.clear()
            row.update({name: value for name, value in whole.items() if name.startswith("_")})
            row.update({name + s: whole[name + s] for name in shown for s in suffixes if name + s in whole})

    def fill(self) -> dict[str, float]:
        """The share of the rows that have each column, the fullest first."""
        names = list(self.types)
        counts = {name: sum(row.get(name) not in (None, "", []) for row in self.rows) for name in names}
        ordered = sorted(counts.items(), key=lambda pair: -pair[1])
        return {name: round(count / max(1, len(self.rows)), 3) for name, count in ordered}


def earlier_columns(folder: Path) -> dict[str, list[TableColumn]]:
    """The columns by kind of the table that a folder has, as a person may have edited them in its `source.json`."""
    try:
        saved = json.loads((folder / "source.json").read_text(encoding="utf-8"))
        models = saved if isinstance(saved, list) else [saved]
        return {kind: load_columns(columns) for kind, columns in models[0].get("tables", {}).items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # there is none, or it is of an older version


def saved_tables(folder: Path, state: State | None = None) -> list[Table]:
    """The tables of a harvest by what lies in its folder, without a replay."""
    if state is None:
        with State(place_of(folder), is_only_read=True) as opened:
            return saved_tables(folder, opened)
    with_pages = state.note(WITH_PAGES) == "yes"
    return tables_of(state, lists=_lists(folder), earlier=earlier_columns(folder), with_pages=with_pages)


def _lists(folder: Path) -> set[str]:
    """The names of columns with several texts, as the source models in a folder have them."""
    try:
        saved = json.loads((folder / "source.json").read_text(encoding="utf-8"))
        models = saved if isinstance(saved, list) else [saved]
        return {column["name"] for model in models for column in model["columns"]["columns"] if column["repeats"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()  # there is none yet


def tables_of(
    state: State,
    *,
    lists: Iterable[str] = (),
    earlier: dict[str, list[TableColumn]] | None = None,
    with_pages: bool = True,
) -> list[Table]:
    """The tables, the largest first: sources whose records have other columns and other addresses are of another kind.

    Without `with_pages` what only the records' own pages say is left out: just a sample of them was read.
    """
    by_source: dict[str, list[Row]] = defaultdict(list)
    for row in state.rows():
        by_source[str(row.get("_source") or "")].append(_with_time(row))
    varying = state.varying()
    by_source = {
        source: without_neighbours(without_query(part, varying.get(source, ()))) for source, part in by_source.items()
    }
    groups = _alike(by_source)
    names = _kinds([group[0] for group in groups]) if len(groups) > 1 else [""] * len(groups)
    lists = frozenset(lists)
    tables = []
    parts = [
        (_joined(kind, part), rows)
        for kind, group in zip(names, groups, strict=True)
        for part, rows in _by_template([row for source in group for row in by_source[source]], with_pages)
    ]
    for kind, held in parts:
        arranged = arrange(held, lists=lists, earlier=(earlier or {}).get(kind, ()))
        added = [column.name for column in arranged if column.is_of_page]
        if not with_pages:
            arranged = [column for column in arranged if not column.is_of_page]
        texts = list(rows_of(held, arranged, with_pages=with_pages))
        typed = list(with_types(texts, arranged))
        tables.append(Table(kind=kind, columns=arranged, rows=typed, types=types_of(texts, arranged), of_pages=added))
    return sorted(tables, key=lambda table: -len(table.rows)) or [Table(kind="", columns=[], rows=[])]


def _alike(parts: dict[str, list[Row]]) -> list[list[str]]:
    """The names of parts whose rows have mostly the same columns, or addresses of one shape, together."""
    groups: list[list[str]] = []
    columns = {name: _columns(rows) for name, rows in parts.items()}
    addresses = {name: _record_address(rows) for name, rows in parts.items()}
    for name in parts:
        for group in groups:
            both, either = columns[name] & columns[group[0]], columns[name] | columns[group[0]]
            has_same_addresses = addresses[name] is not None and addresses[name] == addresses[group[0]]
            if has_same_addresses or len(both) >= SAME_KIND_SHARE * len(either):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _by_template(rows: Sequence[Row], with_pages: bool) -> list[tuple[str, list[Row]]]:
    """The rows by what kind of page their records have, with a name for each kind; rows without a page are with most of the others."""
    by_template: defaultdict[str, list[Row]] = defaultdict(list)
    without: list[Row] = []
    for row in rows:
        number = row.pop(PAGE + TEMPLATE, None)
        (by_template[number] if number is not None else without).append(row)
    if not with_pages or len(by_template) < 2:
        return [("", list(rows))]
    of_pages = {
        number: [{name: value for name, value in row.items() if name.startswith(PAGE)} for row in part]
        for number, part in by_template.items()
    }
    groups = sorted(_alike(of_pages), key=lambda group: -sum(len(by_template[number]) for number in group))
    kinds = [[row for number in group for row in by_template[number]] for group in groups]
    least = max(MIN_ROWS, MIN_KIND_SHARE * len(rows))
    kinds[0] += without + [row for kind in kinds[1:] if len(kind) < least for row in kind]
    kinds = [kinds[0], *(kind for kind in kinds[1:] if len(kind) >= least)]
    if len(kinds) == 1:
        return [("", list(rows))]
    return list(zip(_kinds_by_address(kinds), kinds, strict=True))


def _kinds_by_address(kinds: Sequence[Sequence[Row]]) -> list[str]:
    """What the addresses of records call each kind: the word that most of its addresses have, and fewest of the others'; else a number."""
    shares = []
    for rows in kinds:
        counts = Counter(word for row in rows for word in set(_words(str(row.get("_url") or ""))))
        shares.append({word: count / len(rows) for word, count in counts.items()})
    names: list[str] = []
    for number, own in enumerate(shares):
        others = [other for i, other in enumerate(shares) if i != number]
        lead = {word: share - max(other.get(word, 0.0) for other in others) for word, share in own.items()}
        word = max(sorted(lead), key=lambda word: lead[word], default="")
        names.append(word if word and lead[word] > SAME_KIND_SHARE and word not in names else str(number + 1))
    return names


def _words(url: str) -> list[str]:
    """The words in the path and the arguments of an address."""
    parts = urlsplit(url)
    found = (column_name(unquote(word)) for word in re.split(r"[/&;=?]", f"{parts.path}&{parts.query}"))
    return [word for word in found if len(word) > 1 and not any(map(str.isdigit, word)) and not NO_KIND.match(word)]


def _joined(*names: str) -> str:
    return "-".join(filter(None, names))


def _columns(rows: Sequence[Row]) -> set[str]:
    """The names of the columns that a tenth of the rows have."""
    counts: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        for name, value in row.items():
            counts[name] += value not in (None, "", []) and not name.startswith("_")
    return {name for name, count in counts.items() if 10 * count >= len(rows) and count}


def _record_address(rows: Sequence[Row]) -> AddressShape | None:
    """What the addresses of most records look like, where that says what they are: with a step or an argument that all have."""
    urls = [str(row["_url"]) for row in rows if row.get("_url")]
    shape = next(iter(learn_shapes(urls)), None)
    if shape is None or not shape.is_specific or sum(map(shape.fits, urls)) * 2 <= len(rows):
        return None
    return shape


def _kinds(sources: Sequence[str]) -> list[str]:
    """What the addresses of sources call the things that they have: the last word of the path that says something; else a number."""
    kinds: list[str] = []
    for number, source in enumerate(sources, 1):
        parts = [unquote(part) for part in urlsplit(source).path.split("/")]
        words = [
            column_name(part) for part in parts if part and "{" not in part and not NO_KIND.match(part.split(".")[0])
        ]
        kind = words[-1] if words else ""
        kinds.append(kind if kind and kind not in kinds else str(number))
    return kinds


def _with_time(row: Row) -> Row:
    fetched = row.get("_fetched")
    return row | {"_fetched": datetime.datetime.fromisoformat(fetched)} if isinstance(fetched, str) else row
