"""Facets and sort orders of capped answers as candidates (Entity §6).

The number of matches of a facet is the count in its link, else an equal share of the query's matches. How many of them are held
is known if the records held contain the facet's name.
"""

import heapq
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from upwell.answers.facets import Relation, SecondLevelLink
from upwell.choose.url_repository import UrlRepository
from upwell.choose.word_index import WordIndex
from upwell.page.tokens import tokens
from upwell.types import LinkContext
from upwell.urls.arguments import split_url

__all__ = ["FacetCandidate", "FacetCandidates", "facet_of_earlier_run"]

MIN_NEW_SHARE = 0.02  # share of the matches assumed to be new at least, because the number held is a guess; not swept
MANY_LINKS = 5  # links of one answer from which on the co-occurring words of its query are counted at once
MAX_SHARE = 0.9  # a facet with a larger share of the query's matches narrows nothing; as in `pairs`


@dataclass(frozen=True, slots=True)
class FacetCandidate:
    """A facet or sort order, and the new records expected per request."""

    query: str  # the query that it narrows or sorts
    link: SecondLevelLink
    words: tuple[str, ...]  # contained in its matches, if known
    held_matches: float
    expected: float
    pages: float = 1.0

    @property
    def kind(self) -> int:
        """Return the kind for calibration: 1 for facets, 0 for sort orders."""
        return int(self.link.narrows)


def facet_of_earlier_run(url: str, query_field: str) -> FacetCandidate:
    """Return the facet or sort order that an earlier run asked, from its URL."""
    query = dict(split_url(url).arguments).get(query_field, "")
    link = SecondLevelLink(url=url, key=url)
    return FacetCandidate(query, link, words=(), held_matches=0.0, expected=0.0)


Counts = NDArray[np.int64]


class _StoredLink(NamedTuple):
    query: str
    url: str
    text: str
    relation: Relation
    matches: float
    query_matches: float
    context: str = ""  # what the page says about the link, as JSON; "" if nothing of it may act

    @property
    def narrows(self) -> bool:
        return self.relation == "narrower"


@dataclass
class FacetCandidates:
    """Facets and sort orders of capped answers, each asked once, the highest expected yield first."""

    word_index: WordIndex
    urls: UrlRepository = field(default_factory=UrlRepository)  # the stored note is a `_StoredLink`
    _heap: list[tuple[float, int]] = field(default_factory=list)  # minus the expected new records, number of the link
    _first: tuple[int, str, _StoredLink] | None = None  # first entry of the heap, as last read

    def add_links(self, links: Sequence[SecondLevelLink], query: str, matches: float) -> None:
        """Add the facets and sort orders of a capped answer."""
        siblings = Counter(link.sets for link in links)
        links = [link for link in links if link.count != 0 and self.urls.find("facet", link.key) < 0]
        cooccurrence = self.word_index.cooccurrence_counts(*tokens(query)) if len(links) >= MANY_LINKS else None
        for link in links:
            facet_matches = min(matches, link.count or matches / siblings[link.sets]) if link.narrows else matches
            stored = _StoredLink(
                query, link.url, link.text, link.relation, facet_matches, matches, _encode(link.context)
            )
            number = self.urls.add("facet", link.key, json.dumps(stored))
            if not link.narrows or facet_matches <= MAX_SHARE * matches:
                heapq.heappush(self._heap, (-self._weigh(link.key, stored, cooccurrence).expected, number))

    def next(self) -> FacetCandidate | None:
        """Return the candidate with the most expected new records per request.

        Expectations only fall as records are added, so it is enough to recompute the first entry of the heap.
        """
        while self._heap:
            number = self._heap[0][1]
            if self._first is None or number != self._first[0]:
                key, note = self.urls.text(number)
                self._first = number, key, _StoredLink(*json.loads(note))
            candidate = self._weigh(*self._first[1:])
            heapq.heapreplace(self._heap, (-candidate.expected, number))
            if self._heap[0][1] == number:
                return candidate
        return None

    def mark_asked(self) -> None:
        """Remove the candidate that `next` returned last."""
        self.urls.take(heapq.heappop(self._heap)[1])

    def _weigh(self, key: str, stored: _StoredLink, cooccurrence: Counts | None = None) -> FacetCandidate:
        """Estimate a facet or sort order; `cooccurrence`: records held with the query and each word, if counted."""
        matches = stored.matches
        cap, page_size = self.word_index.result_cap, self.word_index.page_size
        words = tuple(tokens(stored.query))
        held: float = self.word_index.count_with(*words) * matches / stored.query_matches
        shown: tuple[str, ...] = ()
        if stored.narrows:
            name = tuple(word for word in tokens(stored.text) if not word.isdigit())
            if cooccurrence is None:
                held_by_word = [0 if word in words else self.word_index.count_with(*words, word) for word in name]
            else:
                held_by_word = [int(cooccurrence[at]) if at >= 0 else 0 for at in self.word_index.numbers(name)]
            if held_by_word and all(held_by_word):
                held, shown = min(held_by_word), (*words, *name)
        new = max(MIN_NEW_SHARE * matches, matches - held)
        if cap and matches > cap:
            # another sort order starts with other records; a facet starts with the same ones, which may be held
            new *= (self.word_index.capped_share if stored.narrows else 1.0) * cap / matches
            matches = cap
        requests = max(1.0, -(-matches // page_size) if page_size else 1.0)
        link = SecondLevelLink(
            url=stored.url, key=key, relation=stored.relation, text=stored.text, context=_decode(stored.context)
        )
        return FacetCandidate(stored.query, link, shown, held, new / requests, requests)


def _encode(context: LinkContext | None) -> str:
    return json.dumps(asdict(context)) if context else ""


def _decode(text: str) -> LinkContext | None:
    """Return a context from its JSON, in which tuples are lists."""
    if not text:
        return None
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(text).items()
    }
    return LinkContext(**fields)
