"""Index for full-text and field search over all harvested records, built with tantivy in the folder that is searched.

    text      all texts of a record, for words and phrases
    texts     texts by column, for `column:word`
    values    numbers, dates, and texts of columns with few distinct values, by column: for ranges and facets
    record    the row as JSON, for display
    id        hash of the row's content: a changed row gets a new id

The index follows the tables: unchanged files are not read, and of a changed file only new or changed rows are indexed. The ids in the
index are saved next to it before and after each commit, so that a crash loses at most the rows since the last commit and never
leaves duplicates.
"""

from __future__ import annotations

import datetime
import json
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upwell.combine.catalogue import CatalogueEntry
from upwell.errors import CannotKeep, WrongUsage
from upwell.table import readers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tantivy import Index, IndexWriter, Schema, TextAnalyzer, Tokenizer

__all__ = [
    "INDEX_FOLDER",
    "IndexUpdate",
    "SearchIndex",
    "analyzer",
    "column_key",
    "fold",
    "index_terms",
    "open_index",
    "terms_with_offsets",
]


MAX_WORD_BYTES = 80  # longer words are not indexed: they are data such as hashes or embedded images
# Scripts written without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han. Each character is indexed as a word, and a word of a
# query becomes a phrase of characters, so that no dictionary is needed to segment words.
RANGES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
UNSPACED = re.compile(f"[{RANGES}]")
WORD = rf"[{RANGES}]|[\p{{L}}\p{{N}}\p{{M}}&&[^{RANGES}]]+"
# Canonical combining classes (Unicode §4.3) of removed marks: Hebrew and Arabic points, and accents above and below letters.
# Vowel signs of Indic scripts and Thai, and Japanese voicing marks, have other classes and are kept.
DROPPED_CLASSES = frozenset((*range(10, 36), *range(202, 241)))
DROPPED = {code: None for code in range(0x300, 0xFE30) if unicodedata.combining(chr(code)) in DROPPED_CLASSES}


def fold(text: str) -> str:
    """Remove accents and width variants in any script, and add spaces around characters of unspaced scripts.

    >>> fold("Café Ελλάδα Ёж ＡＢＣ 한국"), fold("東京の塔")
    ('Cafe Ελλαδα Еж ABC 한국', ' 東  京  の  塔 ')
    """
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFKD", text).translate(DROPPED))
    return UNSPACED.sub(r" \g<0> ", folded)


def index_terms(text: str) -> list[str]:
    """Return the words of a text as the index stores them.

    >>> index_terms("Größe: 3,5 m – 東京")
    ['grosse', '3', '5', 'm', '東', '京']
    """
    return list(analyzer().analyze(fold(text)))


def terms_with_offsets(text: str) -> list[tuple[int, int, list[str]]]:
    """Return the start and end of each word of a text, and its indexed terms.

    >>> terms_with_offsets("Café 東")
    [(0, 4, ['cafe']), (5, 6, ['東'])]
    """
    tokens = _by_pattern().pre_tokenize(text).tokens
    return [(token.char_offset_from, int(token.char_offset_to or 0), index_terms(token.text)) for token in tokens]


@lru_cache(maxsize=1)
def analyzer() -> TextAnalyzer:
    """Return the analyzer that splits a folded text into lowercase words; letters such as ß and ø become ASCII."""
    from tantivy import Tokenizer

    return _analyzer(Tokenizer.simple())


@lru_cache(maxsize=1)
def _by_pattern() -> TextAnalyzer:
    """Return an analyzer for unfolded text; four times slower than `analyzer`, so it is used only for texts that are displayed."""
    from tantivy import Tokenizer

    return _analyzer(Tokenizer.regex(WORD))


def _analyzer(tokenizer: Tokenizer) -> TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder

    builder = TextAnalyzerBuilder(tokenizer)
    for step in (Filter.remove_long(MAX_WORD_BYTES), Filter.lowercase(), Filter.ascii_fold()):
        builder = builder.filter(step)
    return builder.build()


INDEX_FOLDER = "search-index"  # name of the index in the searched folder
CATALOGUE = "harvests.json"
PENDING = ".pending"  # suffix of files with the ids of rows in an unfinished commit
VERSION = 1  # of the index format; an index of another version is rebuilt
COMMIT_ROWS = 200_000  # rows between commits: lost on a crash, and about 100 MB of unwritten data
WRITER_BYTES = 200_000_000  # memory of the index writer
DELETED_AT_ONCE = 1000  # rows deleted by one query
MAX_FACET_VALUES = 1000  # distinct texts of a column that can be a facet
MAX_FACET_CHARS = 60  # length of its longest text
SAMPLE_ROWS = 20_000  # rows of a table from which facets are chosen
MAX_INTEGER = 2**63 - 1  # larger integers are indexed as text


@dataclass(frozen=True, kw_only=True)
class IndexUpdate:
    """Result of an index update."""

    added: int = 0
    removed: int = 0
    troubles: tuple[str, ...] = ()  # unreadable harvests, and why


@dataclass
class _Entry:
    """State of one harvest in the index."""

    stamps: dict[str, list[int]] = field(
        default_factory=dict
    )  # file name → modification time and size when it was indexed
    rows: int = 0
    columns: list[str] = field(default_factory=list)
    facets: list[str] = field(default_factory=list)


@lru_cache(maxsize=10_000)
def column_key(name: str) -> str:
    """Return a column name as used in the index.

    >>> column_key("price.net")
    'price_net'
    """
    return re.sub(r"\W+", "_", name)


class SearchIndex:
    """Search index and the state of its harvests; opened by `open_index`."""

    def __init__(self, folder: Path, index: Index) -> None:
        self.folder, self.index = folder, index
        index.register_tokenizer("words", analyzer())
        self.schema: Schema = index.schema
        self.entries = _read_catalogue(folder)

    @property
    def columns(self) -> set[str]:
        """Return the searchable columns, as named in the index."""
        return {name for entry in self.entries.values() for name in entry.columns}

    @property
    def facets(self) -> list[str]:
        """Return the columns that can be facets, those of most harvests first."""
        counts = Counter(name for entry in self.entries.values() for name in entry.facets)
        return [name for name, _ in counts.most_common()]

    def __len__(self) -> int:
        return sum(entry.rows for entry in self.entries.values())

    def update(self, harvests: Iterable[CatalogueEntry], tell: Callable[[str], None] = lambda _: None) -> IndexUpdate:
        """Update the index to the current tables of the given harvests; other harvests are removed."""
        wanted = {_name(harvest, self.folder): harvest for harvest in harvests}
        stamps = {name: _stamps(harvest) for name, harvest in wanted.items()}
        removed_names = [name for name in self.entries if name not in wanted]
        pending = sorted(self.folder.glob(f"*{PENDING}"))
        troubles = tuple(f"{harvest.folder} {harvest.trouble}" for harvest in wanted.values() if harvest.trouble)
        if not (removed_names or pending or self._changed(stamps)):
            return IndexUpdate(troubles=troubles)
        try:
            writer = self.index.writer(WRITER_BYTES, 1)
        except ValueError:  # tantivy's lock is held
            return IndexUpdate(
                troubles=(
                    *troubles,
                    f"{self.folder} is being updated by another process; searching the previous version",
                )
            )
        added = removed = 0
        damaged: list[str] = []
        batch = _Batch(self, writer)
        batch.undo_pending(pending)
        changed = self._changed(stamps)
        for name in removed_names:
            removed += batch.remove(name, self._ids(name))
            del self.entries[name]
        for number, name in enumerate(changed, 1):
            tell(f"indexing {wanted[name].site} ({number} of {len(changed)} harvests)")
            self.entries.setdefault(name, _Entry()).stamps = {}  # until it is indexed completely
            entry = _Entry(stamps=stamps[name])
            try:
                new, old = batch.index_harvest(name, wanted[name], entry)
            except WrongUsage as error:
                damaged.append(str(error))
                continue
            added, removed = added + new, removed + old
            self.entries[name] = entry
        batch.commit()
        writer.wait_merging_threads()
        self.index.reload()
        return IndexUpdate(added=added, removed=removed, troubles=(*troubles, *damaged))

    def _changed(self, stamps: Mapping[str, dict[str, list[int]]]) -> list[str]:
        """Return the harvests whose tables changed since they were indexed."""
        return [name for name, now in stamps.items() if name not in self.entries or self.entries[name].stamps != now]

    def _ids(self, name: str) -> NDArray[np.uint64]:
        """Return the ids of a harvest's rows in the index."""
        import numpy as np

        try:
            return np.asarray(np.load(self._ids_file(name)), dtype=np.uint64)
        except (OSError, ValueError):
            return np.zeros(0, dtype=np.uint64)

    def _ids_file(self, name: str) -> Path:
        return self.folder / f"{blake2b(name.encode(), digest_size=12).hexdigest()}.ids"


class _Batch:
    """Changes to the index since the last commit."""

    def __init__(self, search: SearchIndex, writer: IndexWriter) -> None:
        self.search, self.writer = search, writer
        self._added: dict[str, list[int]] = {}  # harvest → ids since the last commit
        self._removed: dict[str, set[int]] = {}
        self._size = 0

    def undo_pending(self, pending: Iterable[Path]) -> None:
        """Delete rows whose commit may not have completed; the update adds them again."""
        import numpy as np

        uncertain = {file.name.removesuffix(PENDING): np.load(file) for file in pending}
        for name, entry in self.search.entries.items():
            if (stem := self.search._ids_file(name).stem) in uncertain:
                entry.stamps = {}
                _save(self.search._ids_file(name), np.setdiff1d(self.search._ids(name), uncertain[stem]))
        for ids in uncertain.values():
            self._delete(ids.tolist())

    def remove(self, name: str, ids: Iterable[int] | NDArray[np.uint64]) -> int:
        """Delete rows of a harvest."""
        removed = [int(row_id) for row_id in ids]
        self._delete(removed)
        self._removed.setdefault(name, set()).update(removed)
        return len(removed)

    def _delete(self, ids: list[int]) -> None:
        from tantivy import Query

        for start in range(0, len(ids), DELETED_AT_ONCE):
            query = Query.term_set_query(self.search.schema, "id", ids[start : start + DELETED_AT_ONCE])
            self.writer.delete_documents_by_query(query)

    def index_harvest(self, name: str, harvest: CatalogueEntry, entry: _Entry) -> tuple[int, int]:
        """Index new and changed rows of a harvest, and delete missing ones; return the number of each."""
        before = set(self.search._ids(name).tolist())
        seen: set[int] = set()
        added = 0
        names: dict[str, None] = {}
        for file in harvest.tables.values():
            rows = (row for row in readers.read_values(file) if row is not None)
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

        all_texts, texts, values = _searchable(row, facets)
        document = Document()
        document.add_unsigned("id", row_id)
        document.add_text("site", site)
        document.add_text("text", " \n ".join(all_texts))
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
        """Commit, and save the ids of the rows in the index."""
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
    """Write ids atomically; an empty list is represented by no file."""
    import numpy as np

    if not len(ids):
        file.unlink(missing_ok=True)
        return
    partial = file.with_suffix(".part")
    with partial.open("wb") as out:
        np.save(out, ids)
    partial.replace(file)


def open_index(folder: str | Path, place: Path | None = None) -> SearchIndex:
    """Open the index of a folder; create it if it is missing, of another version or damaged."""
    import tantivy

    path = place or Path(folder) / INDEX_FOLDER
    try:
        if path.is_symlink():
            raise WrongUsage(f"{path} is a symbolic link, which is not followed; choose another folder with --index")
        if path.is_dir() and any(path.iterdir()):
            if not (path / CATALOGUE).is_file():
                raise WrongUsage(f"{path} is not a search index and not empty; choose another folder with --index")
            if (index := _opened(path)) is not None:
                return SearchIndex(path, index)
            shutil.rmtree(path)
        path.mkdir(parents=True, exist_ok=True)
        _write_catalogue(path, {})
        return SearchIndex(path, tantivy.Index(_schema(), str(path)))
    except (OSError, ValueError) as error:
        raise CannotKeep(
            f"the search index cannot be stored in {path} ({error}); choose another folder with --index"
        ) from error


def _opened(path: Path) -> Index | None:
    """Open an existing index; return None if it is damaged or of another version."""
    import tantivy

    try:
        version = json.loads((path / CATALOGUE).read_text(encoding="utf-8"))["version"]
        return tantivy.Index.open(str(path)) if version == VERSION else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
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
    """Return all texts of a row, its texts by column, and its values by column: numbers, dates, booleans and facet texts."""
    all_texts: list[str] = []
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
                values[key] = [str(item) for item in value]
        else:
            texts[key] = text = fold(str(value))
        all_texts.append(text)
    return all_texts, texts, values


def _moment(value: datetime.date) -> str:
    """Return a date or time in the index's format."""
    if isinstance(value, datetime.datetime):
        moment = value.astimezone(datetime.UTC) if value.tzinfo else value
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{value.isoformat()}T00:00:00Z"


def _facet_columns(rows: Iterable[Mapping[str, object]]) -> frozenset[str]:
    """Return the text columns whose values repeat often enough for facets."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str | list) and not name.startswith("_"):
                counts.setdefault(name, Counter()).update(map(str, value) if isinstance(value, list) else (value,))
    return frozenset(
        name
        for name, values in counts.items()
        if len(values) <= MAX_FACET_VALUES
        and 2 * len(values) <= values.total()
        and max(map(len, values)) <= MAX_FACET_CHARS
    )


def _name(harvest: CatalogueEntry, index: Path) -> str:
    """Return the index's name of a harvest: its folder, relative to the index if possible, so that both can be moved together."""
    folder, here = harvest.folder.resolve(), index.resolve().parent
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder)


def _stamps(harvest: CatalogueEntry) -> dict[str, list[int]]:
    files = ((file.name, file.stat()) for file in harvest.tables.values())
    return {name: [status.st_mtime_ns, status.st_size] for name, status in files}


def _read_catalogue(folder: Path) -> dict[str, _Entry]:
    saved = json.loads((folder / CATALOGUE).read_text(encoding="utf-8"))
    return {name: _Entry(**entry) for name, entry in saved["harvests"].items()}


def _write_catalogue(folder: Path, entries: Mapping[str, _Entry]) -> None:
    text = json.dumps({"version": VERSION, "harvests": {name: vars(entry) for name, entry in entries.items()}})
    partial = folder / f".{CATALOGUE}.part"
    partial.write_text(text, encoding="utf-8")
    partial.replace(folder / CATALOGUE)
