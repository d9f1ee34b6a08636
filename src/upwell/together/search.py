"""Full-text and field search over everything harvested: the best records, how many there are, and their facets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from upwell.errors import WrongUsage
from upwell.store.remote import local_copy
from upwell.together.harvests import harvests_at
from upwell.together.search_index import SearchIndex, column_key, open_index
from upwell.together.search_query import SITE, Highlight, parse, snippet

__all__ = ["Hit", "Hits", "search", "search_index"]

MAX_FACETS = 10  # values of a facet that are counted
MAX_SITES = 10_000  # that a query can be limited to


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A record that was found."""

    site: str
    score: float
    record: dict[str, Any]
    highlight: Highlight = field(default_factory=Highlight)

    def as_dict(self) -> dict[str, object]:
        """As JSON has it."""
        shown = self.highlight
        snippet = {"column": shown.column, "text": shown.text, "marks": [list(mark) for mark in shown.marks]}
        return {"site": self.site, "score": round(self.score, 4), "record": self.record, "snippet": snippet}


@dataclass(frozen=True, kw_only=True)
class Hits:
    """What a search found: the best records, the number of all, and of the records searched."""

    hits: tuple[Hit, ...]
    count: int
    records: int
    facets: dict[str, dict[str, int]] = field(default_factory=dict)  # column → value → records
    troubles: tuple[str, ...] = ()  # harvests that are not in the index, and why

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


def search(
    query: str,
    places: Iterable[str | Path],
    *,
    limit: int = 10,
    offset: int = 0,
    sites: Sequence[str] = (),
    facets: Sequence[str] = (),
    index: str | Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Hits:
    """The best records for a query in the harvests at places; the index is brought up to date first.

    The index lies in the first place, as `search-index`, unless `index` names another folder.
    """
    found = [local_copy(place, with_archive=False) for place in places]
    harvests = harvests_at(found)
    opened = open_index(found[0], Path(index) if index is not None else None)
    updated = opened.update(harvests, tell)
    hits = search_index(opened, query, limit=limit, offset=offset, sites=sites, facets=facets)
    return Hits(**{**vars(hits), "troubles": updated.troubles})


def search_index(
    opened: SearchIndex,
    query: str,
    *,
    limit: int = 10,
    offset: int = 0,
    sites: Sequence[str] = (),
    facets: Sequence[str] = (),
    with_count: bool = True,
) -> Hits:
    """The best records for a query in an index as it is. Counting all of them takes longer than ranking: the best are found without it."""
    from tantivy import Query

    asked = parse(query, opened)
    wanted = asked.query
    if sites:
        wanted = wanted.and_must_match(
            Query.const_score_query(Query.term_set_query(opened.schema, SITE, list(sites)), 0.0)
        )
    searcher = opened.index.searcher()
    hits = []
    for score, address in searcher.search(wanted, limit, count=False, offset=offset).hits:
        document = searcher.doc(address)
        record = json.loads(bytes(document["record"][0]))
        hits.append(Hit(site=document["site"][0], score=score, record=record, highlight=snippet(record, asked)))
    fields = {name: SITE if name == SITE else f"values.{_facet(name, opened)}" for name in facets}
    counted = {}
    if fields:
        terms = {name: {"terms": {"field": place, "size": MAX_FACETS}} for name, place in fields.items()}
        found = searcher.aggregate(wanted, terms)
        counted = {name: {str(one["key"]): int(one["doc_count"]) for one in found[name]["buckets"]} for name in fields}
    count = int(searcher.search(wanted, 1).count) if with_count else len(hits)  # type: ignore[attr-defined] # it is there
    return Hits(hits=tuple(hits), count=count, records=searcher.num_docs, facets=counted)


def _facet(name: str, opened: SearchIndex) -> str:
    key = column_key(name)
    if key not in opened.columns:
        raise WrongUsage(f"no column {name} to count by; there are {', '.join([SITE, *opened.facets]) or SITE}")
    return key
