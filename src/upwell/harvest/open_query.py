"""Questions that could be asked, and queries whose result pages are fetched one at a time."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, NamedTuple

from upwell.answers.result_pages import ResultPages
from upwell.harvest.facet_questions import FacetQuestion
from upwell.harvest.listing import Listing
from upwell.model import Request
from upwell.page.terms import is_unspaced, words_of_query
from upwell.queries.pairs import Pair
from upwell.queries.word_counts import missing_in
from upwell.queries.word_index import WordIndex

__all__ = ["LIST_MARK", "Belief", "By", "OpenQueries", "OpenQuery", "Question"]

MAX_LOOKED_AT = 12  # open queries that are compared for every request
LOOKED_AT_BY_TURNS = 4
MIN_KNOWN = 5  # matches that were held before, from which on it counts how many of them show the word; not swept
LIST_MARK = "list "  # begins what the state calls a list that was asked; its address follows

# given: by the user, a probe, or an earlier run; proposed: by a knowledge base, or by what a person adds; list: without a query; export: a list
# to download
By = Literal["given", "word", "listed word", "proposed", "beginning", "pair", "facet", "check", "list", "export"]


class Belief(NamedTuple):
    """What a question should bring: new records on so many pages, if it matches at all."""

    new: float
    pages: float
    chance: float = 1.0

    def within(self, horizon: int) -> tuple[float, float]:
        """The new records to expect of the next pages, and the requests that they cost: a question that fails costs one."""
        pages = min(self.pages, horizon)
        return self.chance * self.new * pages / self.pages, 1 + self.chance * (pages - 1)


NOTHING = Belief(0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What could be asked next: a query as it is, one word narrower (`pair`), through a facet or order of its answer (`facet`), or a list.

    The list at `address` is read as `listing` says.
    """

    query: str
    by: By = "given"
    word: str = ""  # of the records held, that it asks for beside what is wanted
    belief: Belief = NOTHING
    pair: Pair | None = None
    facet: FacetQuestion | None = None
    listing: Listing | None = None
    address: str = ""

    @property
    def is_check(self) -> bool:
        """Whether it is asked for the size of the source."""
        return self.by == "check"


@dataclass(eq=False)
class OpenQuery:
    """A query that was asked: the request for its next page (None: there is none), and what its pages showed so far."""

    question: Question
    request: Request | None = None
    is_check: bool = False
    pages: ResultPages = field(default_factory=ResultPages)
    stated_total: int | None = None  # matches, as the source counts them
    last_page_size: int = 0
    last_url: str = ""
    showing: int = 0  # matches so far whose text shows the query, or all words of a narrowed one
    held_showing: int = 0  # records held that show it, these included
    known: int = 0  # matches of its first page that were held before
    known_with_word: int = (
        0  # of these, whose text as it was held has its word: answers may show another part for each query
    )
    predicted: float = 0.0  # new records of its pages so far; earlier pages count less
    received: float = 0.0
    next_page: float = 0.0  # new records that its next page should bring, before calibration
    failures: int = 0  # of its next page, in a row
    last_value: float = math.inf  # by which it was compared when it was looked at last; new again after each page

    def __post_init__(self) -> None:
        question = self.question
        self.query, self.pair, self.facet, self.listing = (
            question.query,
            question.pair,
            question.facet,
            question.listing,
        )
        # whether it asks for all words that begin alike
        self.is_beginning = len(self.query) > 1 and self.query.endswith("*")
        self.words = tuple(dict.fromkeys(self._words()))
        # whether it asks for whole words, neither narrowed nor reordered
        self.is_plain = not (self.pair or self.facet or self.listing or self.is_beginning)

    def _words(self) -> tuple[str, ...]:
        if self.pair:
            return self.pair.words
        if self.facet:
            return self.facet.words
        return () if self.is_beginning else tuple(words_of_query(self.query))

    @property
    def asked(self) -> str:
        """What a later run asks again: the query, or the address of a facet, an order or a list."""
        if self.listing:
            return f"{LIST_MARK}{self.question.address}"
        return self.facet.link.url if self.facet else self.query

    def note_held(self, words: WordIndex, key: str) -> None:
        """Looks at a match that was held before, on the first page of a query of one word."""
        if not self.last_page_size and len(self.words) == 1:
            self.known += 1
            self.known_with_word += words.has_word(key, self.words[0])

    @property
    def share_shown_before(self) -> float:
        """The share of the matches held before whose text shows the word; 0 where too few were."""
        return max(1, self.known_with_word) / self.known if self.known >= MIN_KNOWN else 0.0

    def is_shown(self, text: str, words: Sequence[str] | None = None) -> bool:
        """Whether a text shows all of the query, by its words where they are known; one without spaces may stand inside a longer run."""
        if not self.words:
            return False
        missing = (
            [word for word in self.words if word not in words] if words is not None else missing_in(text, self.words)
        )
        return all(is_unspaced(word) and word in text.lower() for word in missing)

    def totals_grow(self) -> bool:
        """Whether the last page stated a total that is larger than before by about what it shows: a count of what was shown so far."""
        totals = [stated.total for stated in self.pages.stated_totals[-2:] if stated.total is not None]
        return (
            len(totals) > 1
            and 0 < totals[-1] - totals[-2] <= 2 * self.last_page_size
            and totals[-1] < 2 * self.pages.matches
        )


class OpenQueries(list[OpenQuery]):
    """The queries that were asked and have a next page."""

    _turn = 0

    def looked_at(self) -> Sequence[OpenQuery]:
        """All; of many, those that promised most when they were looked at last, and a few others by turns."""
        if len(self) <= MAX_LOOKED_AT + LOOKED_AT_BY_TURNS:
            return self
        best = heapq.nlargest(MAX_LOOKED_AT, self, key=attrgetter("last_value"))
        self._turn += LOOKED_AT_BY_TURNS
        by_turns = (self[(self._turn + i) % len(self)] for i in range(LOOKED_AT_BY_TURNS))
        return list({id(query): query for query in (*best, *by_turns)}.values())

    def note_values(self, options: Sequence[Question | OpenQuery], values: Sequence[float]) -> None:
        """Takes in by what values some of them were compared with questions."""
        for option, value in zip(options, values, strict=True):
            if isinstance(option, OpenQuery):
                option.last_value = value

    def largest_total(self) -> int:
        """The most matches that one of them has, as the source says."""
        return max((query.stated_total or 0 for query in self), default=0)
