"""Collections in data: many alike objects with texts, in whatever shape a site sends them.

a list of objects            [{"title": …, "url": …}, …]
objects by number or name    {"0": {"title": …}, "1": {"title": …}}
columns side by side         {"names": ["a", "b"], "titles": ["A", "B"]}, as lists or as objects with the same names
lists in a list              [["a", "A"], ["b", "B"]]

Lists that stand at the same place of several objects are one collection.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from upwell.page.literals import values_in

__all__ = ["MIN_ROWS", "Row", "collections_in", "largest_collection"]

Row = dict[str, str]
Place = tuple[str, ...]
MIN_ROWS = 10  # a shorter list may be a menu; not swept
MIN_TEXT_COLUMNS = 2  # with letters in most rows: a list of words with their places has one
MIN_FILLED = 0.5  # of the rows, that must have a column before it counts as one of the collection; not swept
MIN_DISTINCT = 0.8  # of the values of some column: records differ; a page and its sections may share some
MAX_DEPTH = 12  # levels of data that are looked into
ANY = "*"


def collections_in(value: object) -> list[list[Row]]:
    """The collections of a value, the one with the most text first.

    >>> store = {"config": {"lang": "en"}, "docs": [{"at": f"p{n}/", "title": f"Page {n}"} for n in range(12)]}
    >>> collections_in(store)[0][3]
    {'at': 'p3/', 'title': 'Page 3'}
    """
    found: defaultdict[Place, list[object]] = defaultdict(list)
    _collect(value, (), found)
    collections = []
    for rows in found.values():
        if len(rows) < MIN_ROWS:
            continue
        flat = [_flat(row) for row in rows]
        if _are_records(flat):
            collections.append(flat)
    return sorted(collections, key=_text_chars, reverse=True)


def largest_collection(body: bytes | str) -> list[Row]:
    """The collection with the most text that a response carries; empty where it carries none."""
    found = [collection for value in values_in(body) for collection in collections_in(value)[:1]]
    return max(found, key=_text_chars, default=[])


def _text_chars(rows: Sequence[Row]) -> int:
    return sum(len(value) for row in rows for value in row.values())


def _collect(value: object, place: Place, found: dict[Place, list[object]]) -> None:
    if len(place) > MAX_DEPTH:
        return
    if isinstance(value, list):
        _collect_list(value, (*place, ANY), found)
    elif isinstance(value, dict):
        inner = [part for part in value.values() if isinstance(part, dict)]
        if len(value) >= MIN_ROWS and len(inner) == len(value) and _are_alike(inner):
            are_numbers = all(name.isdigit() for name in value)
            rows = inner if are_numbers else [{"key": name, **part} for name, part in value.items()]
            found[*place, ANY] += rows
            for part in inner:
                _collect(part, (*place, ANY), found)
            return
        found[place] += _side_by_side(value)
        for name, part in value.items():
            if isinstance(part, dict | list):
                _collect(part, (*place, name), found)


def _collect_list(items: Sequence[object], place: Place, found: dict[Place, list[object]]) -> None:
    objects = [item for item in items if isinstance(item, dict)]
    lists = [item for item in items if isinstance(item, list)]
    if len(objects) > len(items) / 2:
        found[place] += objects
    elif items and len(lists) == len(items) and len({len(item) for item in lists}) == 1:
        found[place] += [{str(n): part for n, part in enumerate(item, 1)} for item in lists]
    for item in (*objects, *lists):
        _collect(item, place, found)


def _are_alike(objects: Sequence[Mapping[str, object]]) -> bool:
    """Whether most of the names that objects have are those that most of them have."""
    names = Counter(name for part in objects for name in part)
    common = sum(n for n in names.values() if n >= MIN_FILLED * len(objects))
    return common >= names.total() / 2 > 0


def _side_by_side(value: Mapping[str, object]) -> list[object]:
    """Columns of one length as rows; the longest where there are several lengths."""
    lists: defaultdict[int, dict[str, list[object]]] = defaultdict(dict)
    keyed: defaultdict[frozenset[str], dict[str, Mapping[str, object]]] = defaultdict(dict)
    for name, part in value.items():
        if isinstance(part, list) and len(part) >= MIN_ROWS and all(isinstance(item, str | None) for item in part):
            lists[len(part)][name] = part
        elif isinstance(part, dict) and len(part) >= MIN_ROWS:
            keyed[frozenset(part)][name] = part
    rows: list[object] = []
    for columns in lists.values():
        if len(columns) > 1:
            rows += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    for parts in keyed.values():
        if len(parts) > 1:
            names = next(iter(parts.values()))
            rows += [{column: part[name] for column, part in parts.items()} for name in names]
    return rows


def _flat(row: object, inside: str = "", depth: int = 0) -> Row:
    """An object as texts by name; names inside an object of an object begin with its name."""
    if not isinstance(row, dict) or depth > 2:
        return {}
    texts: Row = {}
    for name, value in row.items():
        if isinstance(value, dict):
            texts |= _flat(value, f"{inside}{name}_", depth + 1)
        elif isinstance(value, list):
            parts = [str(item) for item in value if isinstance(item, str | int | float)]
            if parts and len(parts) == len(value):
                texts[inside + str(name)] = ", ".join(parts)
        elif isinstance(value, bool):
            texts[inside + str(name)] = str(value).lower()
        elif value is not None and str(value).strip():
            texts[inside + str(name)] = str(value).strip()
    return texts


def _are_records(rows: Sequence[Row]) -> bool:
    """Whether rows have several columns of text, one of which tells them apart."""
    columns: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        for name, value in row.items():
            columns[name].append(value)
    texts = [values for values in columns.values() if _has_letters(values, len(rows))]
    return len(texts) >= MIN_TEXT_COLUMNS and any(len(set(values)) >= MIN_DISTINCT * len(rows) for values in texts)


def _has_letters(values: Iterable[str], rows: int) -> bool:
    return sum(any(character.isalpha() for character in value[:200]) for value in values) >= MIN_FILLED * rows
