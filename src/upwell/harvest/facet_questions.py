"""Facets and orders of answers that are cut off: which of them to ask, for the records that the source holds back (Entity §6).

The number of matches of a facet is what its link says, else an even share of the matches of the query. How many of them are held is
known where the records held show the facet's name.
"""

import heapq
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from upwell.answers.facets import Relation, SecondLevelLink
from upwell.page.terms import tokens
from upwell.page.url_arguments import split
from upwell.queries.word_index import WordIndex
from upwell.store.url_repository import UrlRepository

__all__ = ["FacetQuestion", "FacetQuestions", "from_earlier_run"]

MIN_NEW_SHARE = 0.02  # of the matches that count as new at least, because the number held is a guess; not swept
MANY_LINKS = 5  # of one answer, from which on all words beside its query are counted at once
MAX_SHARE = 0.9  # a facet with a larger share of the matches of its query narrows nothing; as `queries.pairs` has it


@dataclass(frozen=True, slots=True)
class FacetQuestion:
    """A facet or order that could be asked, and how many new records a request for it should bring."""

    query: str  # the query that it narrows or reorders
    link: SecondLevelLink
    words: tuple[str, ...]  # that its matches show, where that is known
    held_matches: float
    expected: float
    pages: float = 1.0

    @property
    def kind(self) -> int:
        """The kind by which predictions are calibrated: 1 for facets, 0 for orders."""
        return int(self.link.narrows)


def from_earlier_run(url: str, query_field: str) -> FacetQuestion:
    """A facet or order that an earlier run asked, by its address."""
    query = dict(split(url).arguments).get(query_field, "")
    link = SecondLevelLink(url=url, key=url)
    return FacetQuestion(query, link, words=(), held_matches=0.0, expected=0.0)


Counts = NDArray[np.int64]


class _Candidate(NamedTuple):
    query: str
    url: str
    text: str
    relation: Relation
    matches: float
    query_matches: float

    @property
    def narrows(self) -> bool:
        return self.relation == "narrower"


@dataclass
class FacetQuestions:
    """The facets and orders of the answers that were cut off, each asked once, the most promising first."""

    word_index: WordIndex
    urls: UrlRepository = field(default_factory=UrlRepository)  # the note is the candidate
    _heap: list[tuple[float, int]] = field(default_factory=list)  # minus the expected records, number of the link
    _first: tuple[int, str, _Candidate] | None = None  # of the heap, as it was read last

    def add_links(self, links: Sequence[SecondLevelLink], query: str, matches: float) -> None:
        """Takes in the facets and orders that an answer links to whose matches will not all come."""
        siblings = Counter(link.sets for link in links)
        links = [link for link in links if link.count != 0 and self.urls.find("facet", link.key) < 0]
        beside = self.word_index.counts_beside(*tokens(query)) if len(links) >= MANY_LINKS else None
        for link in links:
            facet_matches = min(matches, link.count or matches / siblings[link.sets]) if link.narrows else matches
            candidate = _Candidate(query, link.url, link.text, link.relation, facet_matches, matches)
            number = self.urls.add("facet", link.key, json.dumps(candidate))
            if not link.narrows or facet_matches <= MAX_SHARE * matches:
                heapq.heappush(self._heap, (-self._question(link.key, candidate, beside).expected, number))

    def next(self) -> FacetQuestion | None:
        """The question that should bring the most new records for a request.

        What is expected only falls as records come in, so that it is enough to look again at the best of the heap.
        """
        while self._heap:
            number = self._heap[0][1]
            if self._first is None or number != self._first[0]:
                key, note = self.urls.text(number)
                self._first = number, key, _Candidate(*json.loads(note))
            question = self._question(*self._first[1:])
            heapq.heapreplace(self._heap, (-question.expected, number))
            if self._heap[0][1] == number:
                return question
        return None

    def mark_asked(self) -> None:
        """The question that `next` gave last is asked now."""
        self.urls.take(heapq.heappop(self._heap)[1])

    def _question(self, key: str, candidate: _Candidate, beside: Counts | None = None) -> FacetQuestion:
        """What a facet or order should bring; `beside`: how many records held have the query and each word, where that is known."""
        matches = candidate.matches
        limit, page_size = self.word_index.limit, self.word_index.page_size
        words = tuple(tokens(candidate.query))
        held: float = self.word_index.count_with(*words) * matches / candidate.query_matches
        shown: tuple[str, ...] = ()
        if candidate.narrows:
            name = tuple(word for word in tokens(candidate.text) if not word.isdigit())
            if beside is None:
                held_with_name = [0 if word in words else self.word_index.count_with(*words, word) for word in name]
            else:
                held_with_name = [int(beside[at]) if at >= 0 else 0 for at in self.word_index.numbers(name)]
            if held_with_name and all(held_with_name):
                held, shown = min(held_with_name), (*words, *name)
        new = max(MIN_NEW_SHARE * matches, matches - held)
        if limit and matches > limit:
            # another order shows other records first; a facet shows the same ones first, which may be held
            new *= (self.word_index.top if candidate.narrows else 1.0) * limit / matches
            matches = limit
        requests = max(1.0, -(-matches // page_size) if page_size else 1.0)
        link = SecondLevelLink(url=candidate.url, key=key, relation=candidate.relation, text=candidate.text)
        return FacetQuestion(candidate.query, link, shown, held, new / requests, requests)
