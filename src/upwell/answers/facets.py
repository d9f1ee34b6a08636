"""Classify the second-level links of an answer: facets, other sort orders, other queries.

    second-level link   link of an answer to the same site that carries the query argument (Entity §6.2)
    facet               second-level link with the same query and at least one more filter
    partition           all URLs that request the same records: they differ only in irrelevant arguments, and only one is fetched
                        (Entity §6.3.3)
    trap                endless combinations of filters: a URL with too many filters, or one of too many URLs from one query

`second_level_links` compares each link with its answer. A harvest uses the facets and sort orders (`facet_links`), `upwell links` one URL
per partition (`urls_to_fetch`). Nothing is fetched here.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urldefrag

from upwell.answers.argument_roles import Roles
from upwell.answers.pager import further_link
from upwell.answers.totals import stated_matches
from upwell.page.links import is_page, link_request
from upwell.page.tree import TagTree
from upwell.types import LinkContext
from upwell.urls.acting import acting_evidence
from upwell.urls.arguments import canonical, split_url
from upwell.urls.hosts import leaves_site, site_host

__all__ = [
    "FacetParams",
    "Relation",
    "SecondLevelLink",
    "UrlsToFetch",
    "facet_links",
    "links_with_query",
    "related_queries",
    "second_level_links",
    "urls_to_fetch",
]

Pair = tuple[str, str]
Relation = Literal["other query", "narrower", "other filters", "other order", "same"]


MIN_ID_SHARE = 0.5  # share of the records with a value of an argument that is an id


@dataclass(frozen=True, kw_only=True)
class FacetParams:
    """Limits of how far filters are followed."""

    max_filters: int = 2  # filters of a URL besides the query: facets of an answer, and their facets; not swept
    max_per_query: int = 200  # partitions from the answers to one query; not swept


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondLevelLink:
    """Link of an answer that carries the query argument, compared with that answer."""

    url: str
    relation: Relation = "narrower"  # of its records to those of the answer
    key: str  # the same for all URLs that request the same records in the same order
    records_key: str = ""  # the same for all URLs that request the same records: the partition
    text: str = ""
    count: int | None = None  # stated number of matches
    filters: frozenset[Pair] = frozenset()  # all its filters
    new_filters: frozenset[Pair] = frozenset()  # filters that the answer does not have
    sets: tuple[str, ...] = ()  # names of its new filters, or of its new sort arguments if it has no new filters
    context: LinkContext | None = field(default=None, compare=False)  # as Request.context

    @property
    def narrows(self) -> bool:
        """Return True if it is a facet: the same query with at least one more filter."""
        return self.relation == "narrower"


def second_level_links(tree: TagTree, roles: Roles, query: str = "") -> Iterator[SecondLevelLink]:
    """Yield the second-level links of an answer, without links that act (log out, delete)."""
    here = split_url(tree.url, query)
    own_filters = frozenset(roles.filters(here))
    own_order = {pair for pair in here.arguments if pair[0] in roles.ordering}
    own_query = [value for name, value in here.arguments if name == roles.query] or [query]
    for row, url in links_with_query(tree, roles.query, query):
        text = " ".join(tree.text(row).split())
        request = link_request(tree, row, url, query)
        if request.context is not None and acting_evidence(request):
            continue
        split = split_url(url, query)
        filters = frozenset(roles.filters(split))
        new_filters = filters - own_filters
        new_order = {(name, value) for name, value in split.arguments if name in roles.ordering and value} - own_order
        relation: Relation = "same"
        if [value for name, value in split.arguments if name == roles.query] != own_query:
            relation = "other query"
        elif own_filters - filters or any(name in roles.fixed for name, _ in new_filters):
            relation = "other filters"
        elif new_filters:
            relation = "narrower"
        elif new_order:
            relation = "other order"
        yield SecondLevelLink(
            url=url,
            relation=relation,
            key=canonical(split, roles.irrelevant - roles.ordering),
            records_key=canonical(split, roles.irrelevant),
            text=text,
            count=stated_matches(tree, row),
            filters=filters,
            new_filters=new_filters,
            sets=tuple(sorted({name for name, _ in new_filters or new_order})),
            context=request.context,
        )


def facet_links(
    tree: TagTree,
    roles: Roles,
    query: str,
    *,
    record_urls: Collection[str] = (),
    with_orders: bool = True,
    params: FacetParams | None = None,
) -> list[SecondLevelLink]:
    """Return the facets and, if wanted, other sort orders that an answer links to, one link each.

    `record_urls` are the URLs of its records: a link with an argument that only one of them has leads to that record. Where a query
    returns all of its records, or only some of them are wanted, another order is a duplicate (Entity §6.3.1).
    """
    params = params or FacetParams()
    ids = _id_arguments(record_urls)
    by_key: dict[str, SecondLevelLink] = {}
    for link in second_level_links(tree, roles, query):
        if (
            (link.relation == "narrower" or (with_orders and link.relation == "other order"))
            and len(link.filters) <= params.max_filters
            and not link.filters & ids
        ):
            by_key.setdefault(link.key if with_orders else link.records_key, link)
    return list(by_key.values())[: params.max_per_query]


def _id_arguments(record_urls: Collection[str]) -> set[Pair]:
    """Return the arguments that tell records apart: each value in the URL of one record, as `id` in `?q=red&id=17`."""
    records_with = Counter(pair for url in set(record_urls) if "?" in url for pair in set(split_url(url).arguments))
    records_of_name = Counter(name for name, _ in records_with)
    return {
        pair
        for pair, count in records_with.items()
        if count == 1 and records_of_name[pair[0]] >= max(2, MIN_ID_SHARE * len(set(record_urls)))
    }


def related_queries(tree: TagTree, roles: Roles, query: str, *, params: FacetParams | None = None) -> tuple[str, ...]:
    """Return other queries that an answer links to without new filters: tags, authors, "related searches"."""
    params = params or FacetParams()
    queries: dict[str, None] = {}
    for link in second_level_links(tree, roles, query):
        if link.relation == "other query" and not link.new_filters:
            arguments = split_url(link.url, query).arguments
            queries.update((value.strip(), None) for name, value in arguments if name == roles.query)
    return tuple(queries)[: params.max_per_query]


@dataclass(frozen=True, kw_only=True)
class UrlsToFetch:
    """Second-level URLs to fetch, one per partition."""

    by_partition: dict[str, str] = field(default_factory=dict)
    seen: int = 0  # distinct second-level URLs
    trapped: int = 0  # URLs left out as traps

    @property
    def dropped(self) -> int:
        """Number of URLs that need not be fetched."""
        return self.seen - len(self.by_partition)

    @property
    def reduction(self) -> float:
        """Ratio of the URLs seen, including those already fetched, to the URLs to fetch (Entity Figure 11)."""
        return self.seen / max(1, len(self.by_partition))


def urls_to_fetch(
    answers: Sequence[TagTree],
    roles: Roles,
    queries: Sequence[str] = (),
    *,
    asked: Iterable[str] = (),
    params: FacetParams | None = None,
) -> UrlsToFetch:
    """Return one second-level URL of each partition, without those of these answers and of `asked` (canonical URLs)."""
    params = params or FacetParams()
    pairs = [(tree, queries[i] if i < len(queries) else "") for i, tree in enumerate(answers)]
    known = set(asked)
    for tree, query in pairs:
        known.add(canonical(split_url(tree.url, query), roles.irrelevant))
        step = further_link(tree, query)
        if step is not None:  # the next page has the partition of the answer, even if the query was sent by POST
            known.add(canonical(split_url(step.url, query), roles.irrelevant))
    by_partition: dict[str, str] = {}
    seen: set[str] = set()
    trapped = 0
    for tree, query in pairs:
        taken = 0
        for link in second_level_links(tree, roles, query):
            if link.url in seen:
                continue
            seen.add(link.url)
            if link.records_key in known or link.records_key in by_partition:
                continue
            if len(link.new_filters) > params.max_filters or taken >= params.max_per_query:
                trapped += 1
                continue
            by_partition[link.records_key] = link.url
            taken += 1
    return UrlsToFetch(by_partition=by_partition, seen=len(seen), trapped=trapped)


def links_with_query(tree: TagTree, query_argument: str, query: str) -> Iterator[tuple[int, str]]:
    """Yield row and URL of the links to pages of the same site that carry the query argument."""
    host, name = site_host(tree.url), query_argument.lstrip("/")
    for row, link in tree.links():
        if name not in link and "%" not in link and "+" not in link:  # fast exit: the name is not there, even encoded
            continue
        url = urldefrag(link)[0] if "#!" not in link else link
        if leaves_site(url, host) or not is_page(url):
            continue
        if query_argument and any(n == query_argument and v.strip() for n, v in split_url(url, query).arguments):
            yield row, url
