"""A catalogue: the harvests in some folders as one thing to search, ask, query, match and compare; what `upwell.open` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from upwell.errors import WrongUsage
from upwell.together.harvests import Harvest, harvests_at

if TYPE_CHECKING:
    import pyarrow

    from upwell.net.manners import Manners
    from upwell.together.merge import AskResult
    from upwell.together.search import Hits
    from upwell.together.sql import Answer
    from upwell.together.tables import Table
    from upwell.together.values import Comparison, Pair

__all__ = ["Catalogue"]


class Catalogue:
    """The harvests in some folders. Nothing is read before it is asked for."""

    def __init__(self, *places: str | Path) -> None:
        self.places: tuple[str | Path, ...] = places or ("harvest",)

    def __repr__(self) -> str:
        return f"Catalogue({', '.join(map(repr, map(str, self.places)))})"

    @property
    def sources(self) -> list[Harvest]:
        """The harvests: their sites, folders and tables."""
        return harvests_at(self.places)

    def table(self, site: str) -> pyarrow.Table:
        """The table of a site as Arrow; where it has several kinds of things, `site-kind` names one."""
        from upwell.together.sql import SITE_TABLE, Database

        database = Database(self.sources)
        if site not in database.views:
            raise WrongUsage(f"no site {site} here; there are {', '.join(sorted(database.views)[:20]) or 'none'}")
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
        """The best records for a query; the index is brought up to date first."""
        from upwell.together.search import search

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
        """Asks all sites live, at once, and merges what they answer until the deadline."""
        from upwell.net.run import run_to_end
        from upwell.together.ask import ask

        return run_to_end(ask(query, self.places, pages=pages, deadline=deadline, manners=manners))

    def sql(self, query: str) -> Answer:
        """The rows of an SQL query over the sites' tables, `everything` and `same_as`."""
        from upwell.together.sql import Database

        return Database(self.sources).query(query)

    def match(self, one: str, other: str) -> Iterator[Pair]:
        """Which rows of the tables of two sites are the same thing, the surest first."""
        from upwell.together.verbs import match

        return match(self._table(one), self._table(other))

    def compare(self, *sites: str, out: str | Path | None = None) -> Comparison:
        """Compares the tables of sites, all if none is named: what is in which, where they differ, how large the whole field is."""
        from upwell.together.sql import tables_by_name
        from upwell.together.verbs import compare

        return compare(*(self._table(site) for site in sites or tables_by_name(self.sources)), out=out)

    def _table(self, site: str) -> Table:
        from upwell.together.sql import view_names
        from upwell.together.tables import read_table

        views = view_names(self.sources)
        if site not in views:
            raise WrongUsage(f"no site {site} here; there are {', '.join(sorted(views)[:20]) or 'none'}")
        return read_table(views[site][1], site)
