"""Which offers of cut-off answers to take: the facets and orders that an answer links to, for what the source holds back (Entity §6).

A facet says how many matches it has, or is taken for an even share; how many of them are held is known where records show what the
facet is called.
"""

import heapq
from dataclasses import dataclass, field

from upwell.answers.facets import FacetLink, offers
from upwell.answers.roles import Roles
from upwell.page.terms import tokens
from upwell.page.tree import TagTree
from upwell.page.url_arguments import split
from upwell.queries.policy import WordIndex
from upwell.site.page_links import acts

__all__ = ["FacetQuestion", "FacetQuestions", "again"]

LEAST = 0.02  # share of the matches that is taken to be new at least: how many are held is a guess; not swept
SAME = 0.9  # a facet that has nearly all matches of its query narrows nothing; as `queries.pairs` has it


@dataclass(frozen=True, slots=True)
class FacetQuestion:
    """An offer to take: the query that it asks again, and how many new records a request of it should bring."""

    query: str
    offer: FacetLink
    words: tuple[str, ...]  # what its matches show, where that is known
    inside: float  # its matches that are held
    expected: float

    @property
    def kind(self) -> int:
        """Facets and orders bring differently much."""
        return int(self.offer.narrows)


def again(url: str, field: str) -> FacetQuestion:
    """An offer that was taken in a run before, by its address."""
    query = dict(split(url).arguments).get(field, "")
    return FacetQuestion(
        query, FacetLink(url=url, key=url, setting=(), text="", count=None, narrows=True), (), 0.0, 0.0
    )


@dataclass
class FacetQuestions:
    """The offers of the answers that were cut off, each taken once."""

    frontier: WordIndex
    roles: Roles = field(default_factory=Roles)
    _heap: list[tuple[float, int]] = field(default_factory=list)
    _all: list[tuple[str, FacetLink, float, float]] = field(
        default_factory=list
    )  # query, offer, its matches, those of the query
    _keys: set[str] = field(default_factory=set)

    def cut_off(self, tree: TagTree, query: str, matches: float) -> None:
        """The first page of an answer that has more matches than come."""
        found = offers(tree, self.roles, query, acts=acts)
        shares = [sum(other.setting == offer.setting for other in found) for offer in found]
        for offer, share in zip(found, shares, strict=True):
            if offer.key in self._keys or offer.count == 0:
                continue
            self._keys.add(offer.key)
            mine = matches if not offer.narrows else min(matches, offer.count or matches / share)
            if offer.narrows and mine > SAME * matches:
                continue
            self._all.append((query, offer, mine, matches))
            heapq.heappush(self._heap, (-self._taken(len(self._all) - 1).expected, len(self._all) - 1))

    def next(self) -> FacetQuestion | None:
        """The offer that should bring most new records for a request; the best that was known is looked at again."""
        while self._heap:
            _, number = heapq.heappop(self._heap)
            now = self._taken(number)
            heapq.heappush(self._heap, (-now.expected, number))
            if self._heap[0][1] == number:
                return now
        return None

    def asked(self) -> None:
        """What `next` gave last is taken."""
        heapq.heappop(self._heap)

    def _taken(self, number: int) -> FacetQuestion:
        query, offer, mine, matches = self._all[number]
        limit, page = self.frontier.limit, self.frontier.page_size
        words = tuple(tokens(query))
        held, beside = self.frontier.together(*words)
        inside: float = held * mine / matches
        shown: tuple[str, ...] = ()
        if offer.narrows:
            called = tuple(word for word in tokens(offer.text) if not word.isdigit())
            both = [int(beside[n]) for word in called if (n := self.frontier.number(word)) >= 0 and beside[n]]
            if both and len(both) == len(called):
                inside, shown = min(both), (*words, *called)
        new = max(LEAST * mine, mine - inside)
        if limit and mine > limit:
            new *= (self.frontier.top if offer.narrows else 1.0) * limit / mine  # another order shows others first
            mine = limit
        return FacetQuestion(query, offer, shown, inside, new / max(1.0, -(-mine // page) if page else 1.0))
