"""Harvests in folders as one collection to search, query, match and compare.

`Catalogue` is what `upwell.open` returns; `match`, `match_columns` and `compare` take any tables. Libraries are imported when they are needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from upwell.errors import MissingExtra, UpwellError, WrongUsage
from upwell.results import read_summary
from upwell.store.folder import refuse_links
from upwell.store.location import STATE_FILES
from upwell.store.read_only import is_running
from upwell.store.remote import local_copy
from upwell.table.writers import READABLE

if TYPE_CHECKING:
    import pyarrow

    from upwell.combine.match_results import ColumnPairs, Comparison, DuplicateCluster, RowMatch
    from upwell.combine.merge import AskResult
    from upwell.combine.search import Hits
    from upwell.combine.source_table import SourceTable
    from upwell.combine.sql import QueryResult
    from upwell.net.manners import Manners
    from upwell.table.writers import Format

__all__ = [
    "Catalogue",
    "CatalogueEntry",
    "compare",
    "duplicates",
    "harvests_at",
    "held_tables",
    "match",
    "match_columns",
]

TABLE_STEM = "records"  # file stem of a harvest's table; followed by "-" and the entity kind if there are several
MARKER_FILES = (*STATE_FILES, "summary.json", "source.json")  # files that identify the folder of a harvest
HELD_FOLDER = ".held"  # in the folder of a harvest: tables that were read while it was running
NO_TABLE = "has no table yet; run its harvest to the end, or write a table with `upwell export`"


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry:
    """Folder of one harvest, its site, and its newest table for each entity kind ("" if there is only one kind)."""

    folder: Path
    site: str
    tables: dict[str, Path] = field(default_factory=dict)
    trouble: str = ""  # why there is no readable table


def harvests_at(places: Iterable[str | Path]) -> list[CatalogueEntry]:
    """Return the distinct harvests at the given places: harvest folders, or folders that contain them up to two levels deep."""
    entries: dict[Path, CatalogueEntry] = {}
    for place in (local_copy(given, with_archive=False) for given in places):
        if not place.is_dir():
            raise WrongUsage(
                f"{place} is not a folder; give the folder of a harvest, or the folder passed to `upwell harvest -o`"
            )
        entries_here = _below(place, 2)
        if not entries_here:
            raise WrongUsage(f"{place} contains no harvest; give the folder passed to `upwell harvest -o`")
        entries |= {harvest.folder.resolve(): harvest for harvest in entries_here}
    return list(entries.values())


def _below(folder: Path, levels: int) -> list[CatalogueEntry]:
    """Return the harvest in a folder, or else those in its subfolders."""
    with os.scandir(folder) as entries:
        files = {entry.name: entry for entry in entries}
    tables: dict[str, Path] = {}
    for name in sorted(files):
        stem, _, format = name.rpartition(".")
        if format in READABLE and (stem == TABLE_STEM or stem.startswith(f"{TABLE_STEM}-")):
            kind = stem.removeprefix(TABLE_STEM).removeprefix("-")
            other = tables.get(kind)
            if other is None or files[other.name].stat().st_mtime < files[name].stat().st_mtime:
                tables[kind] = folder / name
    if tables or any(marker in files for marker in MARKER_FILES):
        refuse_links(folder)
        tables = held_tables(folder) or tables
        trouble = "" if tables else NO_TABLE
        return [CatalogueEntry(folder=folder, site=_site(folder), tables=tables, trouble=trouble)]
    if not levels:
        return []
    subfolders = [folder / name for name in sorted(files) if not name.startswith(".") and files[name].is_dir()]
    return [
        harvest for subfolder in subfolders if not subfolder.is_symlink() for harvest in _below(subfolder, levels - 1)
    ]


def held_tables(folder: Path) -> dict[str, Path]:
    """Return tables by kind of what a running harvest holds at this moment, written to a hidden folder; empty if it does not run or holds nothing."""
    from upwell.harvest.folders import export

    if not is_running(folder):
        return {}
    held = folder / HELD_FOLDER
    try:
        held.mkdir(exist_ok=True)
        paths = sorted(held.glob(f"{TABLE_STEM}*.parquet"))
        changed = max((path.stat().st_mtime_ns for path in folder.glob("state.sqlite*")), default=0)
        if not paths or changed >= min(path.stat().st_mtime_ns for path in paths):
            for path in paths:  # a kind may be gone
                path.unlink(missing_ok=True)
            paths = [Path(table.file) for table in export(folder, format="parquet", out=held) if table.records]
    except (OSError, UpwellError):  # a folder that cannot be written to: the tables of the last harvest
        return {}
    return {path.stem.removeprefix(TABLE_STEM).removeprefix("-"): path for path in paths}


def _site(folder: Path) -> str:
    """Return the site named in the summary, or the folder's name if there is no summary."""
    try:
        return str(read_summary(folder)["site"])
    except (OSError, ValueError, KeyError):
        return folder.resolve().name


def match(a: str | Path | SourceTable, b: str | Path | SourceTable | None = None) -> Iterator[RowMatch]:
    """Yield pairs of rows of two tables that describe the same entity, most probable first; of one table: its duplicates.

    Tables are Parquet, CSV, JSON Lines, SQLite or DuckDB files, or folders of harvests. Rows are named by their `_key`,
    or by their number, from 0. Neither labels nor settings are needed.
    """
    _require_matching()
    if b is None:
        return (pair for cluster in duplicates(a) for pair in cluster.pairs())
    from upwell.combine.match import match as match_tables

    return match_tables(_source_table(a), _source_table(b))


def duplicates(table: str | Path | SourceTable) -> list[DuplicateCluster]:
    """Return the clusters of rows of one table that describe the same entity, surest first."""
    _require_matching()
    from upwell.combine.duplicates import duplicate_clusters

    return duplicate_clusters(_source_table(table))


def match_columns(a: str | Path | SourceTable, b: str | Path | SourceTable) -> ColumnPairs:
    """Return pairs of columns of two tables with the same meaning, judged by values, types, probable matches and names."""
    _require_matching()
    from upwell.combine.align import align_two
    from upwell.combine.match_results import ColumnPairs

    return ColumnPairs(tuple(align_two(_source_table(a), _source_table(b))))


def compare(*places: str | Path | SourceTable, out: str | Path | None = None, format: Format = "parquet") -> Comparison:
    """Compare 2 to 20 tables or harvests: overlap, differences, and an estimate of the total number of entities.

    With `out`, a table with one row per entity and a report (`compared.html`) are written into that folder.
    """
    _require_matching()
    from upwell.combine.compare import compare as compare_tables

    return compare_tables(places, out=out, format=format)


def _source_table(place: str | Path | SourceTable) -> SourceTable:
    from upwell.combine.source_table import SourceTable, read_table

    return place if isinstance(place, SourceTable) else read_table(place)


def _require_matching() -> None:
    """Raise MissingExtra if the libraries for matching are not installed."""
    try:
        import rapidfuzz  # noqa: F401 # only checks that it is installed
        import scipy  # noqa: F401 # only checks that it is installed
    except ModuleNotFoundError as error:
        raise MissingExtra(f"matching needs {error.name}: pip install 'upwell[matching]'") from error


class Catalogue:
    """Harvests in the given folders. Nothing is read before it is needed."""

    def __init__(self, *places: str | Path) -> None:
        self.places: tuple[str | Path, ...] = places or ("harvest",)

    def __repr__(self) -> str:
        return f"Catalogue({', '.join(map(repr, map(str, self.places)))})"

    @property
    def sources(self) -> list[CatalogueEntry]:
        """Return the harvests with their sites, folders and tables."""
        return harvests_at(self.places)

    def table(self, site: str) -> pyarrow.Table:
        """Return the table of a site as an Arrow table; `site-kind` selects one of several entity kinds."""
        from upwell.combine.sql import SITE_TABLE, Database

        database = Database(self.sources)
        if site not in database.views:
            raise WrongUsage(
                f"there is no site {site}; known sites: {', '.join(sorted(database.views)[:20]) or 'none'}"
            )
        return database.query(SITE_TABLE.format(site.replace('"', '""'))).table

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        offset: int = 0,
        sites: Sequence[str] = (),
        facets: Sequence[str] = (),
        index: str | Path | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> Hits:
        """Return the best records for a query, after updating the search index."""
        from upwell.combine.search import search

        return search(
            query, self.places, limit=limit, offset=offset, sites=sites, facets=facets, index=index, tell=tell
        )

    def ask(
        self,
        query: str,
        *,
        pages: int = 1,
        deadline: float = 5.0,
        manners: Manners | Callable[[str], Manners] | None = None,
    ) -> AskResult:
        """Query all sites live and in parallel, and merge the answers received before the deadline."""
        from upwell.combine.ask import ask
        from upwell.net.run import run_to_end

        return run_to_end(ask(query, self.places, pages=pages, deadline=deadline, manners=manners))

    def sql(self, query: str) -> QueryResult:
        """Run an SQL query over the sites' tables, `everything` and `same_as`."""
        from upwell.combine.sql import Database

        return Database(self.sources).query(query)

    def match(self, first: str, second: str) -> Iterator[RowMatch]:
        """Yield pairs of rows of two sites that describe the same entity, most probable first."""
        return match(self._table(first), self._table(second))

    def compare(self, *sites: str, out: str | Path | None = None) -> Comparison:
        """Compare the tables of the given sites, or of all sites; see `compare`."""
        from upwell.combine.sql import tables_by_name

        return compare(*(self._table(site) for site in sites or tables_by_name(self.sources)), out=out)

    def _table(self, site: str) -> SourceTable:
        from upwell.combine.source_table import read_table
        from upwell.combine.sql import view_names

        views = view_names(self.sources)
        if site not in views:
            raise WrongUsage(f"there is no site {site}; known sites: {', '.join(sorted(views)[:20]) or 'none'}")
        return read_table(views[site][1], site)
