"""Second-level URLs: related queries, disambiguations and facets that answers link to, one of each kind that asks for the same.

    second level   an address on an answer that carries the query argument (Entity §6.2)
    partition      all addresses that differ only in irrelevant arguments; one of them is fetched (Entity §6.3.3)
    trap           filters of filters without end: more filters than are worth following, or more addresses than a query may bring
    offer          a second-level address that asks the same query narrower, or in another order

Everything is decided before anything is fetched.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urldefrag

from upwell.answers.pager import next_link
from upwell.answers.roles import Roles, counted
from upwell.page.hosts import leaves_site, site_host
from upwell.page.links import acts, is_page
from upwell.page.tree import TagTree
from upwell.page.url_arguments import canonical, split

__all__ = ["FacetLink", "FacetParams", "Kept", "carrying", "offers", "second_level"]


@dataclass(frozen=True, kw_only=True)
class FacetParams:
    """How far filters are followed."""

    filters: int = 2  # at once beside the query; the facets of a page and the facets of those. Our choice, not swept
    per_query: int = 200  # partitions that the answers to one query may bring. Our choice, not swept


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What is to be fetched: `keep` has one address for each partition, by its canonical text."""

    keep: dict[str, str] = field(default_factory=dict)
    found: int = 0  # different second-level addresses
    trapped: int = 0  # of them, left out as traps

    @property
    def dropped(self) -> int:
        """Addresses that need not be fetched."""
        return self.found - len(self.keep)

    @property
    def reduction(self) -> float:
        """Addresses for each one that is kept (Entity Figure 11); those already asked count as found."""
        return self.found / max(1, len(self.keep))


def second_level(
    answers: Sequence[TagTree],
    roles: Roles,
    queries: Sequence[str] = (),
    *,
    asked: Iterable[str] = (),
    params: FacetParams | None = None,
) -> Kept:
    """The second-level addresses of answers, de-duplicated; `asked` are canonical texts that are known already."""
    params = params or FacetParams()
    irrelevant = roles.irrelevant
    known = set(asked)
    for i, tree in enumerate(answers):
        query = queries[i] if i < len(queries) else ""
        known.add(canonical(split(tree.url, query), irrelevant))
        step = next_link(tree, query)
        if step is not None:  # the next page asks for what this page asks for, however that was sent
            known.add(canonical(split(step.url, query), irrelevant))
    keep: dict[str, str] = {}
    seen: set[str] = set()
    trapped = 0
    for i, tree in enumerate(answers):
        query = queries[i] if i < len(queries) else ""
        brought = 0
        for row, url in carrying(tree, roles.query, query):
            if url in seen or acts(url, tree.text(row)):
                continue
            seen.add(url)
            address = split(url, query)
            key = canonical(address, irrelevant)
            if key in known or key in keep:
                continue
            extra = set(roles.filters(address)) - set(roles.filters(split(tree.url, query)))
            if len(extra) > params.filters or brought >= params.per_query:
                trapped += 1
                continue
            keep[key] = url
            brought += 1
    return Kept(keep=keep, found=len(seen), trapped=trapped)


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetLink:
    """A link of an answer that asks its query again, with a filter more or in another order."""

    url: str
    key: str  # the same for all addresses that ask for the same in the same order
    setting: tuple[str, ...]  # the arguments that it sets
    text: str
    count: int | None  # the matches, where the link says how many
    narrows: bool  # else it only puts them in another order


def offers(tree: TagTree, roles: Roles, query: str, *, params: FacetParams | None = None) -> list[FacetLink]:
    """What an answer offers to ask of its own query."""
    params = params or FacetParams()
    ordering = {name for name, argument in roles.arguments.items() if argument.role == "sort"}
    irrelevant = roles.irrelevant - ordering
    here = split(tree.url, query)
    own, order = set(roles.filters(here)), {pair for pair in here.arguments if pair[0] in ordering}
    asked = [value for name, value in here.arguments if name == roles.query] or [query]
    found: dict[str, FacetLink] = {}
    for row, url in carrying(tree, roles.query, query):
        address = split(url, query)
        if [value for name, value in address.arguments if name == roles.query] != asked or acts(url, tree.text(row)):
            continue
        filters = set(roles.filters(address))
        sorts = {pair for pair in address.arguments if pair[0] in ordering and pair[1]} - order
        more = filters - own
        if own - filters or not (more or sorts) or len(filters) > params.filters:
            continue
        key = canonical(address, irrelevant)
        setting = tuple(sorted({name for name, _ in more or sorts}))
        text = " ".join(tree.text(row).split())
        offer = FacetLink(url=url, key=key, setting=setting, text=text, count=counted(tree, row), narrows=bool(more))
        found.setdefault(key, offer)
    return list(found.values())[: params.per_query]


def carrying(tree: TagTree, name: str, query: str) -> Iterable[tuple[int, str]]:
    """The links of an answer on its own host that carry the query argument and lead to pages: their rows and addresses."""
    host = site_host(tree.url)
    for row, address in tree.links():
        url = urldefrag(address)[0] if "#!" not in address else address
        if leaves_site(url, host) or not is_page(url):
            continue
        if name and any(found == name and value.strip() for found, value in split(url, query).arguments):
            yield row, url
