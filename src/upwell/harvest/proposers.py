"""Questions from elsewhere: what a person adds to the chooser, and the names of a knowledge base as the first example.

A proposer is asked for its best question whenever the chooser decides, and hears what came. It says what its question should bring
(`Belief`); what comes of that is learned, so that a proposer that promises too much is asked less.

    class Zips:
        def __init__(self, words: WordIndex) -> None: ...              # the words of the records held
        def propose(self) -> tuple[str, Belief] | None: ...            # the query, and what it should bring
        def observe(self, query: str, matches: int, new: int) -> None: ...  # the first page of any query came
        def hold(self, text: str) -> None: ...                         # a new record

    upwell.harvest(url, plan=Plan(proposers=(Zips,)))
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from upwell.harvest.open_query import Belief
from upwell.queries.entity_questions import EntityQuestions
from upwell.queries.knowledge import Knowledge
from upwell.queries.word_index import WordIndex
from upwell.store.url_repository import UrlRepository, Waiting

__all__ = ["Names", "Proposer", "ProposerFactory", "Related"]


class Proposer(Protocol):
    """Something that knows what could be asked."""

    def propose(self) -> tuple[str, Belief] | None:
        """The best query that was not asked, and what it should bring; None where there is none."""

    def observe(self, query: str, matches: int, new: int) -> None:
        """The first page of a query came, whoever proposed it: records on it, and of these new."""

    def hold(self, text: str) -> None:
        """A record is held that was not held before."""


ProposerFactory = Callable[[WordIndex], Proposer]


class Names:
    """The names of a knowledge base, of the types that the records mention (Entity §4.2)."""

    def __init__(self, knowledge: Knowledge, words: WordIndex) -> None:
        self.names, self.words = EntityQuestions(knowledge), words

    def propose(self) -> tuple[str, Belief] | None:
        """A name that no record held shows, if there is one; it should bring what half a page of others brings."""
        name = self.names.next()
        return None if name is None else (name, Belief(max(1.0, self.words.page_size / 2), 1.0, self.names.success))

    def observe(self, query: str, matches: int, new: int) -> None:
        """Counts for or against the types of the name."""
        self.names.observe(query, matches)

    def hold(self, text: str) -> None:
        """Counts the names that the record mentions."""
        self.names.hold(text)


class Related:
    """The queries that answers link to, where first pages of many queries are wanted (Entity §6.2)."""

    def __init__(self, words: WordIndex, urls: UrlRepository) -> None:
        self.words, self.urls = words, urls
        self._waiting = Waiting()
        self._tried = self._matched = 0

    def add(self, queries: Iterable[str]) -> None:
        """Takes in the queries of an answer."""
        for query in queries:
            if (number := self.urls.add("related query", query)) >= 0:
                self._waiting.append(number)

    def propose(self) -> tuple[str, Belief] | None:
        """The first that was not asked; it should bring a page of others, as often as those before it matched."""
        while self._waiting and self.urls.is_done(self._waiting.first):
            self._waiting.take()
        if not self._waiting:
            return None
        chance = (self._matched + 1) / (self._tried + 1)
        return self.urls.text(self._waiting.first)[0], Belief(max(1.0, self.words.page_size), 1.0, chance)

    def observe(self, query: str, matches: int, new: int) -> None:
        """Counts whether a linked query matches."""
        number = self.urls.find("related query", query)
        if number < 0:  # it was asked for another reason: a link to it is not followed
            self.urls.take(self.urls.add("related query", query))
        elif self.urls.take(number):
            self._tried += 1
            self._matched += bool(matches)

    def hold(self, text: str) -> None:
        """Nothing is learned from texts."""
