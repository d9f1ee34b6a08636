"""The tables of a harvest: one for each kind of thing that its sources have."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from upwell.extract.cells import Cells
from upwell.extract.column_names import column_name
from upwell.extract.tidy import MIN_ROWS, TableColumn, arrange, load_columns
from upwell.harvest.table import Draft, Settler, Table, source_of, streamed_tables, with_time
from upwell.model import PAGE, TEMPLATE
from upwell.page.address_shapes import AddressShape, learn_shapes
from upwell.store.places import place_of
from upwell.store.state import State
from upwell.store.streamed_rows import HeldRows, Row

__all__ = ["WITH_PAGES", "Table", "earlier_columns", "saved_tables", "tables_of"]

WITH_PAGES = "with pages"  # the note in the state that says whether the tables have what record pages say
SAME_KIND_SHARE = 0.5  # of the columns of two sources, that both have where they are of one kind; not swept
MIN_KIND_SHARE = 0.02  # of the rows of a source that are of a kind of their own, where their pages look otherwise
MAX_HELD_ROWS = 100_000  # of more records a sample is held, about 3 KB each; not swept
MIN_SOURCE_ROWS = 1000  # of a source, that are in the sample in any case
# Words in the path of a search that do not say what is searched.
NO_KIND = re.compile(r"(?:search|find|query|index|results?|list|browse|catalog\w*|cgi|bin|api|v\d+|data|q|s)$", re.I)


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
            return _saved_tables(folder, opened, partial(_rows_in, folder))
    return _saved_tables(folder, state, state.rows)


def _saved_tables(folder: Path, state: State, read: Callable[[], Iterator[Row]]) -> list[Table]:
    with_pages = state.note(WITH_PAGES) == "yes"
    return tables_of(state, lists=_lists(folder), earlier=earlier_columns(folder), with_pages=with_pages, read=read)


def _rows_in(folder: Path) -> Iterator[Row]:
    """The rows of a state that is open as long as they are read."""
    with State(place_of(folder), is_only_read=True) as state:
        yield from state.rows()


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
    read: Callable[[], Iterator[Row]] | None = None,
    max_held: int = MAX_HELD_ROWS,
) -> list[Table]:
    """The tables, the largest first: sources whose records have other columns and other addresses are of another kind.

    Without `with_pages` what only the records' own pages say is left out: just a sample of them was read.
    Of more than `max_held` records a sample says what the columns are, and the rows come from `read` whenever they are needed.
    """
    is_whole = len(state) <= max_held
    sample = _sample(state.rows(), -(-len(state) // max_held))
    varying = state.varying()
    settlers: dict[str, Settler] = {}
    settled: dict[str, Cells] = {}
    for source, part in sample.items():
        every = None if is_whole else _of_source(state.rows(), source)
        settlers[source], settled[source] = Settler.of(part, varying.get(source, ()), every)
    groups = _alike(settled)
    names = _kinds([group[0] for group in groups]) if len(groups) > 1 else [""] * len(groups)
    lists = frozenset(lists)
    drafts: list[Draft] = []
    for kind, group in zip(names, groups, strict=True):
        first = len(drafts)
        fields = Cells.joined([settled[source] for source in group])
        parts: list[tuple[str, list[str], Cells]] = [("", [], fields.without([PAGE + TEMPLATE]))]
        if with_pages and len(set(fields[PAGE + TEMPLATE]) - {None}) > 1:
            parts = _by_template([settlers[source].settled(row) for source in group for row in sample[source]])
        for of_page, templates, cells in parts:
            name = _joined(kind, of_page)
            columns = arrange(cells, lists=lists, earlier=(earlier or {}).get(name, ()))
            for source in group:
                settlers[source].tables |= dict.fromkeys(templates, len(drafts)) | {None: first}
            drafts.append(Draft(name, columns, cells, with_pages=with_pages))
    del sample, settled
    tables = (
        [draft.table() for draft in drafts]
        if is_whole
        else streamed_tables(drafts, settlers, state.rows, read or state.rows)
    )
    return sorted(tables, key=lambda table: -len(table.rows)) or [Table(kind="", columns=[], rows=HeldRows({}, 0))]


def _sample(rows: Iterable[Row], step: int) -> dict[str, list[Row]]:
    """The rows by source: one in so many, from the first to the last, and more of small sources."""
    sample: defaultdict[str, list[Row]] = defaultdict(list)
    seen: Counter[str] = Counter()
    for row in rows:
        source = source_of(row)
        if step <= 1 or seen[source] % step == 0 or seen[source] < MIN_SOURCE_ROWS:
            sample[source].append(with_time(row))
        if step > 1:
            seen[source] += 1
    return sample


def _of_source(rows: Iterable[Row], source: str) -> Iterator[Row]:
    return (row for row in rows if source_of(row) == source)


def _alike(parts: dict[str, Cells]) -> list[list[str]]:
    """The names of parts whose rows have mostly the same columns, or addresses of one shape, together."""
    if len(parts) < 2:
        return [[name] for name in parts]
    groups: list[list[str]] = []
    columns = {name: _columns(fields) for name, fields in parts.items()}
    addresses = {name: _record_address(fields) for name, fields in parts.items()}
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


def _by_template(rows: Sequence[Row]) -> list[tuple[str, list[str], Cells]]:
    """The rows by what kind of page their records have, with a name for each kind and its templates; rows without a page are with most of the others."""
    by_template: defaultdict[str, list[Row]] = defaultdict(list)
    without: list[Row] = []
    for row in rows:
        number = row.pop(PAGE + TEMPLATE, None)
        (by_template[number] if number is not None else without).append(row)
    of_pages = {
        number: Cells.of([{name: value for name, value in row.items() if name.startswith(PAGE)} for row in part])
        for number, part in by_template.items()
    }
    groups = sorted(_alike(of_pages), key=lambda group: -sum(len(by_template[number]) for number in group))
    kinds = [[row for number in group for row in by_template[number]] for group in groups]
    least = max(MIN_ROWS, MIN_KIND_SHARE * len(rows))
    kinds[0] += without + [row for kind in kinds[1:] if len(kind) < least for row in kind]
    groups = [groups[0], *(group for group, kind in zip(groups[1:], kinds[1:], strict=True) if len(kind) >= least)]
    kinds = [kinds[0], *(kind for kind in kinds[1:] if len(kind) >= least)]
    if len(kinds) == 1:
        return [("", [], Cells.of(rows))]
    return list(zip(_kinds_by_address(kinds), groups, map(Cells.of, kinds), strict=True))


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


def _columns(fields: Cells) -> set[str]:
    """The names of the columns that a tenth of the rows have."""
    counts = {name: len(fields.filled(name)) for name in fields.columns if not name.startswith("_")}
    return {name for name, count in counts.items() if 10 * count >= fields.count and count}


def _record_address(fields: Cells) -> AddressShape | None:
    """What the addresses of most records look like, where that says what they are: with a step or an argument that all have."""
    urls = [str(url) for url in fields["_url"] if url]
    shape = next(iter(learn_shapes(urls)), None)
    if shape is None or not shape.is_specific:
        return None
    fitting = (url for url in urls if shape.fits(url))
    needed = fields.count // 2 + 1  # and no more of them need be looked at
    return shape if sum(1 for _ in islice(fitting, needed)) == needed else None


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
