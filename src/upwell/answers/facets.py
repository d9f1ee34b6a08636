"""Second-level links: links of an answer that ask the source again, for another query, for fewer records, or in another order.

    second-level link   a link of an answer to the same site that carries the query argument (Entity §6.2)
    facet               a second-level link that asks the same query with one more filter
    partition           all addresses that ask for the same records: they differ only in irrelevant arguments. One of them is
                        fetched (Entity §6.3.3)
    trap                filters combined without end: more filters than are worth following, or too many addresses from one query

`second_level_links` says what each link of one answer asks for. The harvest takes the facets and orders among them (`facet_links`),
`upwell links` one of each partition (`urls_to_fetch`). Everything is decided before anything is fetched.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urldefrag

from upwell.answers.argument_roles import Roles
from upwell.answers.pager import next_link
from upwell.answers.totals import stated_matches
from upwell.page.links import acts, is_page
from upwell.page.tree import TagTree
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


@dataclass(frozen=True, kw_only=True)
class FacetParams:
    """How far filters are followed."""

    max_filters: int = 2  # beside the query: the facets of an answer, and the facets of those. Our choice, not swept
    max_per_query: int = 200  # partitions from the answers to one query. Our choice, not swept


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondLevelLink:
    """A link of an answer that carries the query argument, with what it asks for compared with that answer."""

    url: str
    relation: Relation = "narrower"
    key: str  # equal for all addresses that ask for the same records in the same order
    records_key: str = ""  # equal for all addresses that ask for the same records: the partition
    text: str = ""
    count: int | None = None  # of matches, where the link says how many
    filters: frozenset[Pair] = frozenset()  # all that it has
    new_filters: frozenset[Pair] = frozenset()  # those that the answer does not have
    sets: tuple[str, ...] = ()  # names of the arguments that narrow or order in another way than the answer's

    @property
    def narrows(self) -> bool:
        """Whether it asks the same query with a filter more: a facet."""
        return self.relation == "narrower"


def second_level_links(tree: TagTree, roles: Roles, query: str = "") -> Iterator[SecondLevelLink]:
    """The second-level links of an answer with what each asks for; links that act (log out, delete) are left out."""
    here = split_url(tree.url, query)
    own_filters = frozenset(roles.filters(here))
    own_order = {pair for pair in here.arguments if pair[0] in roles.ordering}
    asked = [value for name, value in here.arguments if name == roles.query] or [query]
    for row, url in links_with_query(tree, roles.query, query):
        text = " ".join(tree.text(row).split())
        if acts(url, text, query):
            continue
        address = split_url(url, query)
        filters = frozenset(roles.filters(address))
        new_filters = filters - own_filters
        new_order = {(name, value) for name, value in address.arguments if name in roles.ordering and value} - own_order
        relation: Relation = "same"
        if [value for name, value in address.arguments if name == roles.query] != asked:
            relation = "other query"
        elif own_filters - filters:
            relation = "other filters"
        elif new_filters:
            relation = "narrower"
        elif new_order:
            relation = "other order"
        yield SecondLevelLink(
            url=url,
            relation=relation,
            key=canonical(address, roles.irrelevant - roles.ordering),
            records_key=canonical(address, roles.irrelevant),
            text=text,
            count=stated_matches(tree, row),
            filters=filters,
            new_filters=new_filters,
            sets=tuple(sorted({name for name, _ in new_filters or new_order})),
        )


def facet_links(tree: TagTree, roles: Roles, query: str, *, params: FacetParams | None = None) -> list[SecondLevelLink]:
    """The facets and other orders of its own query that an answer links to, one link of each."""
    params = params or FacetParams()
    by_key: dict[str, SecondLevelLink] = {}
    for link in second_level_links(tree, roles, query):
        if link.relation in ("narrower", "other order") and len(link.filters) <= params.max_filters:
            by_key.setdefault(link.key, link)
    return list(by_key.values())[: params.max_per_query]


def related_queries(tree: TagTree, roles: Roles, query: str, *, params: FacetParams | None = None) -> tuple[str, ...]:
    """Other queries that an answer links to, without filters of their own: tags, authors, "related searches"."""
    params = params or FacetParams()
    found: dict[str, None] = {}
    for link in second_level_links(tree, roles, query):
        if link.relation == "other query" and not link.new_filters:
            found.update((v.strip(), None) for name, v in split_url(link.url, query).arguments if name == roles.query)
    return tuple(found)[: params.max_per_query]


@dataclass(frozen=True, kw_only=True)
class UrlsToFetch:
    """The second-level addresses of answers that are worth fetching, one of each partition."""

    by_partition: dict[str, str] = field(default_factory=dict)
    seen: int = 0  # different second-level addresses
    trapped: int = 0  # of them, left out as traps

    @property
    def dropped(self) -> int:
        """Addresses that need not be fetched."""
        return self.seen - len(self.by_partition)

    @property
    def reduction(self) -> float:
        """Addresses seen for each one to fetch (Entity Figure 11); those that were asked already count as seen."""
        return self.seen / max(1, len(self.by_partition))


def urls_to_fetch(
    answers: Sequence[TagTree],
    roles: Roles,
    queries: Sequence[str] = (),
    *,
    asked: Iterable[str] = (),
    params: FacetParams | None = None,
) -> UrlsToFetch:
    """One second-level address of each partition that these answers and `asked` (canonical addresses) do not show already."""
    params = params or FacetParams()
    pairs = [(tree, queries[i] if i < len(queries) else "") for i, tree in enumerate(answers)]
    known = set(asked)
    for tree, query in pairs:
        known.add(canonical(split_url(tree.url, query), roles.irrelevant))
        step = next_link(tree, query)
        if step is not None:  # the next page asks for the same records, also where the query itself was posted
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
    """The links of an answer to pages of its own site that carry the query argument: row and address of each."""
    host, name = site_host(tree.url), query_argument.lstrip("/")
    for row, address in tree.links():
        if name not in address and "%" not in address and "+" not in address:  # it cannot be written otherwise
            continue
        url = urldefrag(address)[0] if "#!" not in address else address
        if leaves_site(url, host) or not is_page(url):
            continue
        if query_argument and any(n == query_argument and v.strip() for n, v in split_url(url, query).arguments):
            yield row, url
