"""The index for full-text and field search over everything harvested: tantivy, in the folder that is searched.

    text      all texts of a record, for words and phrases
    texts     the texts by column, for `column:word`
    values    numbers, dates and the texts of columns with few different ones, by column: for ranges and facets
    record    the row as JSON, to show
    id        a number for the row and what it says: a row that changes gets another one

The index follows the tables: a table whose file is as it was is not read, and of one that changed only the rows that are new or
changed are indexed. What is in the index is written down beside it, before and after each commit: a kill at any moment costs the rows
since the last commit, and leaves none twice.
"""

from __future__ import annotations

import datetime
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upwell.errors import CannotKeep, WrongUsage
from upwell.store import tables as stored
from upwell.together.harvests import Harvest
from upwell.together.words import analyzer, fold

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tantivy import Index, IndexWriter, Schema

__all__ = ["FOLDER", "SearchIndex", "Updated", "column_key", "open_index"]

FOLDER = "search-index"  # in the folder that is searched
CATALOGUE = "harvests.json"
PENDING = ".pending"  # ends the name of a file with the ids of rows whose commit is on its way
VERSION = 1  # of the index; one of another version is built anew
COMMIT_ROWS = 200_000  # between commits: what a kill costs, and about 100 MB of what is not yet written
WRITER_BYTES = 200_000_000  # that the writer keeps in memory
DELETED_AT_ONCE = 1000  # rows that are taken out by one query
MAX_FACET_VALUES = 1000  # different texts of a column that can be counted as facets
MAX_FACET_CHARS = 60
SAMPLE_ROWS = 20_000  # of a table, by which its facets are chosen
MAX_INTEGER = 2**63 - 1  # larger ones are texts to the index


@dataclass(frozen=True, kw_only=True)
class Updated:
    """What an update of the index did."""

    added: int = 0
    removed: int = 0
    troubles: tuple[str, ...] = ()  # harvests that could not be read, and why


@dataclass
class _Entry:
    """What the index has of one harvest."""

    stamps: dict[str, list[int]] = field(default_factory=dict)  # of its tables when they were read
    rows: int = 0
    columns: list[str] = field(default_factory=list)
    facets: list[str] = field(default_factory=list)


@lru_cache(maxsize=10_000)
def column_key(name: str) -> str:
    """A column as the index calls it.

    >>> column_key("price.net")
    'price_net'
    """
    return re.sub(r"\W+", "_", name)


class SearchIndex:
    """An index and what is in it, opened by `open_index`."""

    def __init__(self, folder: Path, index: Index) -> None:
        self.folder, self.index = folder, index
        index.register_tokenizer("words", analyzer())
        self.schema: Schema = index.schema
        self.entries = _read_catalogue(folder)

    @property
    def columns(self) -> set[str]:
        """The columns that can be asked for, as the index calls them."""
        return {name for entry in self.entries.values() for name in entry.columns}

    @property
    def facets(self) -> list[str]:
        """The columns whose values can be counted, those of most harvests first."""
        counts = Counter(name for entry in self.entries.values() for name in entry.facets)
        return [name for name, _ in counts.most_common()]

    def __len__(self) -> int:
        return sum(entry.rows for entry in self.entries.values())

    def update(self, harvests: Iterable[Harvest], tell: Callable[[str], None] = lambda _: None) -> Updated:
        """Brings the index to what the tables of some harvests say now; harvests that are gone are left out."""
        wanted = {_name(harvest, self.folder): harvest for harvest in harvests}
        stamps = {name: _stamps(harvest) for name, harvest in wanted.items()}
        gone = [name for name in self.entries if name not in wanted]
        pending = sorted(self.folder.glob(f"*{PENDING}"))
        troubles = tuple(f"{one.folder} {one.trouble}" for one in wanted.values() if one.trouble)
        if not (gone or pending or self._changed(stamps)):
            return Updated(troubles=troubles)
        try:
            writer = self.index.writer(WRITER_BYTES, 1)
        except ValueError:  # tantivy's lock
            return Updated(
                troubles=(*troubles, f"{self.folder} is being updated by another process; it is searched as it is")
            )
        added = removed = 0
        damaged: list[str] = []
        batch = _Batch(self, writer)
        batch.take_back(pending)
        changed = self._changed(stamps)
        for name in gone:
            removed += batch.remove(name, self._ids(name))
            del self.entries[name]
        for number, name in enumerate(changed, 1):
            tell(f"indexing {wanted[name].site} ({number} of {len(changed)} harvests)")
            self.entries.setdefault(name, _Entry()).stamps = {}  # until all of it is in
            entry = _Entry(stamps=stamps[name])
            try:
                new, old = batch.bring(name, wanted[name], entry)
            except WrongUsage as error:
                damaged.append(str(error))
                continue
            added, removed = added + new, removed + old
            self.entries[name] = entry
        batch.commit()
        writer.wait_merging_threads()
        self.index.reload()
        return Updated(added=added, removed=removed, troubles=(*troubles, *damaged))

    def _changed(self, stamps: Mapping[str, dict[str, list[int]]]) -> list[str]:
        """The harvests whose tables are not as they were when they were indexed."""
        return [name for name, now in stamps.items() if name not in self.entries or self.entries[name].stamps != now]

    def _ids(self, name: str) -> NDArray[np.uint64]:
        """The ids of the rows of a harvest that are in the index."""
        import numpy as np

        try:
            return np.asarray(np.load(self._ids_file(name)), dtype=np.uint64)
        except (OSError, ValueError):
            return np.zeros(0, dtype=np.uint64)

    def _ids_file(self, name: str) -> Path:
        return self.folder / f"{blake2b(name.encode(), digest_size=12).hexdigest()}.ids"


class _Batch:
    """Rows on their way into the index, and the ids of those that a commit will bring."""

    def __init__(self, search: SearchIndex, writer: IndexWriter) -> None:
        self.search, self.writer = search, writer
        self._added: dict[str, list[int]] = {}  # harvest → ids since the last commit
        self._removed: dict[str, set[int]] = {}
        self._size = 0

    def take_back(self, pending: Iterable[Path]) -> None:
        """Takes rows out again of which nobody knows whether their commit was made: the update adds them anew where they are wanted."""
        import numpy as np

        unsure = {file.name.removesuffix(PENDING): np.load(file) for file in pending}
        for name, entry in self.search.entries.items():
            if (known := self.search._ids_file(name).stem) in unsure:
                entry.stamps = {}
                _save(self.search._ids_file(name), np.setdiff1d(self.search._ids(name), unsure[known]))
        for ids in unsure.values():
            self._delete(ids.tolist())

    def remove(self, name: str, ids: Iterable[int] | NDArray[np.uint64]) -> int:
        """Takes rows out."""
        gone = [int(row_id) for row_id in ids]
        self._delete(gone)
        self._removed.setdefault(name, set()).update(gone)
        return len(gone)

    def _delete(self, ids: list[int]) -> None:
        from tantivy import Query

        for start in range(0, len(ids), DELETED_AT_ONCE):
            some = Query.term_set_query(self.search.schema, "id", ids[start : start + DELETED_AT_ONCE])
            self.writer.delete_documents_by_query(some)

    def bring(self, name: str, harvest: Harvest, entry: _Entry) -> tuple[int, int]:
        """Indexes the rows of a harvest that are new or changed, and takes out those that are gone; how many of each."""
        before = set(self.search._ids(name).tolist())
        seen: set[int] = set()
        added = 0
        names: dict[str, None] = {}
        for file in harvest.tables.values():
            rows = (row for row in stored.values(file) if row is not None)
            sample = list(islice(rows, SAMPLE_ROWS))
            facets = _facet_columns(sample)
            entry.facets += sorted(map(column_key, facets))
            for row in chain(sample, rows):
                names.update(dict.fromkeys(row))
                body = json.dumps(row, ensure_ascii=False, default=str).encode("utf-8", "replace")
                row_id = int.from_bytes(blake2b(body, digest_size=8, key=harvest.site.encode()[:64]).digest(), "big")
                if row_id in seen:
                    continue
                seen.add(row_id)
                if row_id not in before:
                    self._add(name, row_id, harvest.site, row, body, facets)
                    added += 1
        entry.rows, entry.columns = len(seen), [column_key(column) for column in names if not column.startswith("_")]
        return added, self.remove(name, before - seen)

    def _add(
        self, name: str, row_id: int, site: str, row: Mapping[str, Any], body: bytes, facets: frozenset[str]
    ) -> None:
        from tantivy import Document

        said, texts, values = _searchable(row, facets)
        document = Document()
        document.add_unsigned("id", row_id)
        document.add_text("site", site)
        document.add_text("text", " \n ".join(said))
        if texts:
            document.add_json("texts", texts)
        if values:
            document.add_json("values", values)
        document.add_bytes("record", body)
        self.writer.add_document(document)
        self._added.setdefault(name, []).append(row_id)
        self._size += 1
        if self._size >= COMMIT_ROWS:
            self.commit()

    def commit(self) -> None:
        """Commits, and writes down what is in the index now."""
        import numpy as np

        search = self.search
        for name, ids in self._added.items():
            _save(search._ids_file(name).with_suffix(PENDING), np.array(ids, dtype=np.uint64))
        self.writer.commit()
        for name in {*self._added, *self._removed}:
            removed, added = sorted(self._removed.get(name, ())), self._added.get(name, ())
            kept = np.setdiff1d(search._ids(name), np.array(removed, dtype=np.uint64))
            _save(search._ids_file(name), np.union1d(kept, np.array(added, dtype=np.uint64)))
        _write_catalogue(search.folder, search.entries)
        for pending in search.folder.glob(f"*{PENDING}"):
            pending.unlink()
        self._added, self._removed, self._size = {}, {}, 0


def _save(file: Path, ids: NDArray[np.uint64]) -> None:
    """Writes ids, whole or not at all; no file stands for none."""
    import numpy as np

    if not len(ids):
        file.unlink(missing_ok=True)
        return
    partial = file.with_suffix(".part")
    with partial.open("wb") as out:
        np.save(out, ids)
    partial.replace(file)


def open_index(folder: str | Path, place: Path | None = None) -> SearchIndex:
    """The index of a folder, made where there is none; one of another version, or a damaged one, is built anew."""
    import tantivy

    path = place or Path(folder) / FOLDER
    try:
        if path.is_symlink():
            raise WrongUsage(f"{path} is a symbolic link, which may lead elsewhere; name another place with --index")
        if path.is_dir() and any(path.iterdir()):
            if not (path / CATALOGUE).is_file():
                raise WrongUsage(f"{path} is no search index, and has files in it; name another place with --index")
            if (index := _opened(path)) is not None:
                return SearchIndex(path, index)
            shutil.rmtree(path)
        path.mkdir(parents=True, exist_ok=True)
        _write_catalogue(path, {})
        return SearchIndex(path, tantivy.Index(_schema(), str(path)))
    except (OSError, ValueError) as error:
        raise CannotKeep(
            f"the search index cannot be kept in {path} ({error}); name another place with --index"
        ) from error


def _opened(path: Path) -> Index | None:
    """An index as it lies there; None where it is of another version or damaged."""
    import tantivy

    try:
        known = json.loads((path / CATALOGUE).read_text(encoding="utf-8"))["version"]
        return tantivy.Index.open(str(path)) if known == VERSION else None
    except (ValueError, KeyError, TypeError):
        return None


def _schema() -> Schema:
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    builder.add_unsigned_field("id", indexed=True)
    builder.add_text_field("site", stored=True, tokenizer_name="raw", fast=True, index_option="basic")
    builder.add_text_field("text", tokenizer_name="words", index_option="position")
    builder.add_json_field("texts", tokenizer_name="words", index_option="position")
    builder.add_json_field("values", fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("record", stored=True)
    return builder.build()


def _searchable(row: Mapping[str, Any], facets: frozenset[str]) -> tuple[list[str], dict[str, str], dict[str, object]]:
    """All that a row says as texts; its texts by column; and its values by column: numbers, dates, yes and no, and texts that are facets."""
    said: list[str] = []
    texts: dict[str, str] = {}
    values: dict[str, object] = {}
    for name, value in row.items():
        if value is None or name.startswith("_"):
            continue
        key = column_key(name)
        if isinstance(value, str):
            texts[key] = text = fold(value)
            if name in facets:
                values[key] = value
        elif isinstance(value, bool | float) or (isinstance(value, int) and abs(value) <= MAX_INTEGER):
            values[key], text = value, str(value)
        elif isinstance(value, datetime.date):
            values[key], text = _moment(value), value.isoformat()
        elif isinstance(value, list):
            texts[key] = text = fold("; ".join(map(str, value)))
            if name in facets:
                values[key] = [str(one) for one in value]
        else:
            texts[key] = text = fold(str(value))
        said.append(text)
    return said, texts, values


def _moment(value: datetime.date) -> str:
    """A date or a time as the index knows it."""
    if isinstance(value, datetime.datetime):
        moment = value.astimezone(datetime.UTC) if value.tzinfo else value
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{value.isoformat()}T00:00:00Z"


def _facet_columns(rows: Iterable[Mapping[str, object]]) -> frozenset[str]:
    """The columns of texts that say the same of many rows."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str | list) and not name.startswith("_"):
                counts.setdefault(name, Counter()).update(map(str, value) if isinstance(value, list) else (value,))
    return frozenset(
        name
        for name, found in counts.items()
        if len(found) <= MAX_FACET_VALUES
        and 2 * len(found) <= found.total()
        and max(map(len, found)) <= MAX_FACET_CHARS
    )


def _name(harvest: Harvest, index: Path) -> str:
    """What the index calls a harvest: its folder, as it is seen from the index where that is possible, so that both can be moved."""
    folder, here = harvest.folder.resolve(), index.resolve().parent
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder)


def _stamps(harvest: Harvest) -> dict[str, list[int]]:
    found = ((file.name, file.stat()) for file in harvest.tables.values())
    return {name: [status.st_mtime_ns, status.st_size] for name, status in found}


def _read_catalogue(folder: Path) -> dict[str, _Entry]:
    saved = json.loads((folder / CATALOGUE).read_text(encoding="utf-8"))
    return {name: _Entry(**entry) for name, entry in saved["harvests"].items()}


def _write_catalogue(folder: Path, entries: Mapping[str, _Entry]) -> None:
    text = json.dumps({"version": VERSION, "harvests": {name: vars(entry) for name, entry in entries.items()}})
    partial = folder / f".{CATALOGUE}.part"
    partial.write_text(text, encoding="utf-8")
    partial.replace(folder / CATALOGUE)
