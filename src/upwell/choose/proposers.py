"""Proposers of queries: plug-ins, the names of a knowledge base, the queries of a log, and related queries.

A proposer is asked for its best query before each decision, and observes every first page. It states what its
query should return (`ExpectedYield`); a proposer that promises too much is calibrated and asked less.

    class Zips:
        def __init__(self, words: WordIndex) -> None: ...              # the words of the records held
        def propose(self) -> tuple[str, ExpectedYield] | None: ...     # the query, and its expected yield
        def observe(self, query: str, matches: int, new: int) -> None: ...  # the first page of any query
        def hold(self, text: str) -> None: ...                         # a new record

    upwell.harvest(url, plan=Plan(proposers=(Zips,)))
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Protocol
from zlib import crc32

from upwell.choose.expected_yield import ExpectedYield
from upwell.choose.url_repository import NumberQueue, UrlRepository
from upwell.choose.word_index import WordIndex
from upwell.page.tokens import tokens
from upwell.papers.entity import EntityType, Knowledge, rank_types

__all__ = ["KnowledgeNames", "KnowledgeProposer", "LogQueries", "Proposer", "ProposerFactory", "RelatedQueries"]

MIN_RECORDS = 50  # records held before the types are ranked, as for check queries; not swept
RANK_AGAIN_FACTOR = 2  # growth of the records held after which the types are ranked again
MAX_COMPARED_QUERIES = 20  # queries of a log that are compared for each request, those with the most clicks; not swept
# Weight, in queries, of the assumptions that a query of a log returns a page of new records, and half of the time further pages; not swept.
PRIOR_QUERIES = 2.0
PAGES_AHEAD = 10.0  # pages that a query of a log is assumed to have at most; not swept
MAX_FRUITLESS_NAMES = 10  # names of a type asked without a match after which the type is dropped; not swept


@dataclass(slots=True)
class _TypeProgress:
    """The names of a type in the order of asking, and the results so far."""

    names: Sequence[str]
    prior: float  # its score relative to the best type; counts as one name asked
    unshown_at: int = 0  # all names before this are shown or asked
    any_at: int = 0  # all names before this are asked
    asked: int = 0
    matched: int = 0

    @property
    def success(self) -> float:
        return (self.matched + self.prior) / (self.asked + 1)

    @property
    def is_dropped(self) -> bool:
        return self.asked >= MAX_FRUITLESS_NAMES and not self.matched


class KnowledgeNames:
    """Names of a knowledge base to ask a source for (Entity §4.2, here for one site).

    Names of the types that the records mention are asked, first those that no record shows. Names are lower-cased as in the
    knowledge base; accepted gap: Chinese and Japanese names are stored as pairs of characters.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.success = 0.0  # probability that the name of the last `next` matches, from its type
        self._records = 0
        self._rank_at = MIN_RECORDS  # records held at which the types are ranked again
        self._mentions: Counter[str] = Counter()
        self._asked: set[str] = set()
        self._types: dict[EntityType, _TypeProgress] = {}  # all that were ever good enough
        self._ranked: list[EntityType] = []  # those that are now

    @property
    def types(self) -> list[EntityType]:
        """Return the types whose names are asked now, best first."""
        good = [kind for kind in self._ranked if not self._types[kind].is_dropped]
        return sorted(good, key=lambda kind: -self._types[kind].success)

    def hold(self, text: str) -> None:
        """Add the text of a new record."""
        self._records += 1
        self._mentions.update(set(self.knowledge.names.all_mentions(tokens(text))))

    def next(self) -> str | None:
        """Return the next name, the same until it is asked; None if too few records are held or no name is left."""
        if self._records >= self._rank_at:
            self._rank()
        types = [self._types[kind] for kind in self.types]
        for shown_too in (False, True):
            for progress in types:
                name = self._next_of(progress, shown_too)
                if name is not None:
                    self.success = progress.success
                    return name
        return None

    def asked(self, query: str) -> None:
        """Note that a query was asked, whatever proposed it."""
        self._asked.add(" ".join(tokens(query)))

    def observe(self, name: str, matches: int) -> None:
        """Count the answer to a name for or against its types."""
        self.asked(name)
        for kind, progress in self._types.items():
            if name in self.knowledge.types[kind]:
                progress.asked += 1
                progress.matched += matches > 0

    def _rank(self) -> None:
        self._rank_at = RANK_AGAIN_FACTOR * self._records
        ranked = rank_types(self.knowledge, self._mentions)
        self._ranked = [kind for kind, _ in ranked]
        for kind, score in ranked:
            prior = score / ranked[0][1]
            if kind in self._types:
                self._types[kind].prior = prior
            else:
                self._types[kind] = _TypeProgress(_shuffled(self.knowledge.types[kind]), prior)

    def _next_of(self, progress: _TypeProgress, shown_too: bool) -> str | None:
        """Return the first name of a type that was not asked and, unless `shown_too`, is not shown in a record."""
        names = progress.names
        at = progress.any_at if shown_too else progress.unshown_at
        while at < len(names) and (names[at] in self._asked or (not shown_too and names[at] in self._mentions)):
            at += 1
        if shown_too:
            progress.any_at = at
        else:
            progress.unshown_at = at
        return names[at] if at < len(names) else None


def _shuffled(names: Set[str]) -> list[str]:
    """Return names in a fixed order that is independent of the alphabet."""
    return sorted(names, key=lambda name: (crc32(name.encode()), name))


class Proposer(Protocol):
    """Interface of a plug-in that proposes queries."""

    def propose(self) -> tuple[str, ExpectedYield] | None:
        """Return the best query that was not asked, and its expected yield; None if there is none."""

    def observe(self, query: str, matches: int, new: int) -> None:
        """Note the first page of any query: its records, and how many of them are new."""

    def hold(self, text: str) -> None:
        """Note a new record."""


ProposerFactory = Callable[[WordIndex], Proposer]


class KnowledgeProposer:
    """Propose names of a knowledge base, of the types that the records mention (Entity §4.2)."""

    def __init__(self, knowledge: Knowledge, words: WordIndex) -> None:
        self.names, self.words = KnowledgeNames(knowledge), words

    def propose(self) -> tuple[str, ExpectedYield] | None:
        """Return a name, preferably one that no record shows; half a page of new records is expected."""
        name = self.names.next()
        return (
            None if name is None else (name, ExpectedYield(max(1.0, self.words.page_size / 2), 1.0, self.names.success))
        )

    def observe(self, query: str, matches: int, new: int) -> None:
        """Count for or against the types of the name."""
        self.names.observe(query, matches)

    def hold(self, text: str) -> None:
        """Count the names that the record mentions."""
        self.names.hold(text)


class LogQueries:
    """Propose the queries that led people to the site (Entity §4.1), those first that should return the most new records.

    The records held show how many matches a query has at least. How many of its records are new is learned from the queries of the log
    that were asked, so that a log that returns little is left for other candidates.
    """

    def __init__(self, queries: Iterable[str], words: WordIndex) -> None:
        self.words = words
        self._waiting = list(dict.fromkeys(queries))  # most clicked first
        self._new = self._tried = self._full = 0.0

    def propose(self) -> tuple[str, ExpectedYield] | None:
        """Return the query with the fewest matches among the records held, and the mean yield of those asked before."""
        compared = self._waiting[:MAX_COMPARED_QUERIES]
        if not compared:
            return None
        held = [self.words.count_with(*tokens(query)) for query in compared]
        at = min(range(len(compared)), key=held.__getitem__)  # of several, the most clicked
        page, cap = max(1.0, float(self.words.page_size)), self.words.result_cap
        per_page = min((self._new + PRIOR_QUERIES * page) / (self._tried + PRIOR_QUERIES), page - held[at] / 2)
        full = (self._full + PRIOR_QUERIES / 2) / (self._tried + PRIOR_QUERIES)
        pages = 1 + full * max(0.0, min(cap / page if cap else PAGES_AHEAD, PAGES_AHEAD) - 1)
        return compared[at], ExpectedYield(max(0.0, per_page) * pages, pages)

    def observe(self, query: str, matches: int, new: int) -> None:
        """Remove a query that was asked, whoever proposed it, and note how many records it returned."""
        if query in self._waiting:
            self._waiting.remove(query)
            self._tried += 1
            self._new += new
            self._full += 0 < self.words.page_size <= matches

    def hold(self, text: str) -> None:
        """Do nothing: the word index counts the records."""


class RelatedQueries:
    """Propose the queries that answers link to, for representative harvests (Entity §6.2)."""

    def __init__(self, words: WordIndex, urls: UrlRepository) -> None:
        self.words, self.urls = words, urls
        self._waiting = NumberQueue()
        self._tried = self._matched = 0

    def add(self, queries: Iterable[str]) -> None:
        """Add the related queries of an answer."""
        for query in queries:
            if (number := self.urls.add("related query", query)) >= 0:
                self._waiting.append(number)

    def propose(self) -> tuple[str, ExpectedYield] | None:
        """Return the first that was not asked; a page of new records is expected."""
        while self._waiting and self.urls.is_done(self._waiting.first):
            self._waiting.take()
        if not self._waiting:
            return None
        chance = (self._matched + 1) / (self._tried + 1)
        return self.urls.text(self._waiting.first)[0], ExpectedYield(max(1.0, self.words.page_size), 1.0, chance)

    def observe(self, query: str, matches: int, new: int) -> None:
        """Count whether a related query matches."""
        number = self.urls.find("related query", query)
        if number < 0:  # proposed by something else: later links to it are ignored
            self.urls.take(self.urls.add("related query", query))
        elif self.urls.take(number):
            self._tried += 1
            self._matched += bool(matches)

    def hold(self, text: str) -> None:
        """Do nothing: texts are not used."""
