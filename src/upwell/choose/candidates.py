"""Candidates for the next request, and the open queries whose result pages are fetched one at a time.

AnswerPage          one page of an answer as plain values: all that the chooser and the ledger see of a source
Candidate           a query, facet, sort order or list that could be asked next
OpenQuery           a query that was asked, with the request for its next page
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

from upwell.answers.facets import SecondLevelLink
from upwell.answers.totals import StatedTotals
from upwell.choose.expected_yield import CandidateKind, ExpectedYield
from upwell.choose.facet_candidates import FacetCandidate
from upwell.choose.pairs import WordPair
from upwell.choose.region_candidates import REGION_MARK, AskedRegion
from upwell.choose.result_pages import ResultPages
from upwell.choose.size_sample import SampledQuery
from upwell.choose.word_index import WordIndex, missing_in
from upwell.lexicon.scripts import is_unspaced
from upwell.page.tokens import words_of_query
from upwell.types import Record, Request

if TYPE_CHECKING:
    from upwell.choose.list_candidates import Listing

__all__ = [
    "LIST_MARK",
    "AnswerPage",
    "Candidate",
    "OpenQueries",
    "OpenQuery",
    "distinct",
]

MAX_COMPARED = 12  # open queries compared for every request, those with the highest value last time
COMPARED_IN_TURN = 4  # further open queries compared for every request, a different set each time
MIN_KNOWN = 5  # matches held before that are needed to estimate how many of them show the word; not swept
LIST_MARK = "list "  # prefix of a list's URL where the state stores what was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPage:
    """One page of an answer: its records, the totals that it states, and where it leads."""

    records: Sequence[Record] = ()
    wanted: Sequence[Record] = ()  # the records that are kept; with `--about` not all
    totals: StatedTotals = field(default_factory=StatedTotals)
    has_next: bool = False
    is_open: bool = False  # no next page is known, and nothing shows that this is the last one
    is_understood: bool = True  # False: it shows records that could not be read
    is_refused: bool = False  # it resembles neither a list of matches nor an answer without matches
    links: Callable[[], Sequence[SecondLevelLink]] = tuple  # facets and sort orders, extracted on demand
    related: Sequence[str] = ()  # other queries that it links to


def distinct(records: Sequence[Record]) -> list[Record]:
    """Return records with distinct keys; of several with the same key, the last."""
    return list({record.key: record for record in records}.values())


NOTHING = ExpectedYield(0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A query, a narrower query (`pair`), a facet or sort order (`facet`), a region of a form, or the list at `address` (`listing`)."""

    query: str
    kind: CandidateKind = "given"
    word: str = ""  # the word of the records held that it asks for; with `--about` only a part of the query
    expected_yield: ExpectedYield = NOTHING
    pair: WordPair | None = None
    facet: FacetCandidate | None = None
    region: AskedRegion | None = None
    listing: "Listing | None" = None
    address: str = ""

    @property
    def text(self) -> str:
        """Return the query, the values of a region, or the URL of a facet, sort order or list."""
        if self.listing:
            return self.address
        if self.region:
            return self.region.text
        return self.facet.link.url if self.facet else self.query

    @property
    def is_check(self) -> bool:
        """Return True for a check query, which is asked to estimate the size of the source."""
        return self.kind == "check"


@dataclass(eq=False)
class OpenQuery:
    """A query that was asked: the request for its next page (None: there is none) and the evidence of its pages so far."""

    candidate: Candidate
    request: Request | None = None
    is_check: bool = False
    pages: ResultPages = field(default_factory=ResultPages)
    stated_total: int | None = None  # matches, as stated by the source
    last_page_size: int = 0
    last_url: str = ""
    new: int = 0  # records of its pages so far that were new
    showing: int = 0  # matches so far whose text contains the query, or all words of a narrower one
    held_showing: int = 0  # records held whose text contains it, including these matches
    known: int = 0  # matches of the first page that were held before
    # of these, those whose stored text contains the word: answers may show a different excerpt for each query
    known_with_word: int = 0
    predicted: float = 0.0  # new records predicted for its pages so far, earlier pages weighted less
    received: float = 0.0  # new records received, weighted in the same way
    dry_pages: int = 0  # pages without a new record, in a row
    next_page: float = 0.0  # new records expected on the next page, before calibration
    sampled: SampledQuery | None = None  # it was drawn to estimate the size (`size_sample`)
    failures: int = 0  # of its next page, in a row
    last_value: float = math.inf  # value in its last comparison; reset by each page

    def __post_init__(self) -> None:
        candidate = self.candidate
        self.query, self.pair = candidate.query, candidate.pair
        self.facet, self.region, self.listing = candidate.facet, candidate.region, candidate.listing
        self.is_prefix = len(self.query) > 1 and self.query.endswith("*")
        self.words = tuple(dict.fromkeys(self._words()))
        # asks for whole words, neither narrowed nor sorted
        self.is_plain = not (self.pair or self.facet or self.region or self.listing or self.is_prefix)

    def _words(self) -> tuple[str, ...]:
        if self.pair:
            return self.pair.words
        if self.facet:
            return self.facet.words
        return () if self.is_prefix else tuple(words_of_query(self.query))

    @property
    def asked(self) -> str:
        """Return what the state stores as asked: the query, the URL of a facet, sort order or (marked) list, or a (marked) region."""
        mark = LIST_MARK if self.listing else REGION_MARK if self.region else ""
        return f"{mark}{self.candidate.text}"

    def note_held(self, words: WordIndex, key: str) -> None:
        """Note a match that was held before, on the first page of a one-word query."""
        if not self.last_page_size and len(self.words) == 1:
            self.known += 1
            self.known_with_word += words.has_word(key, self.words[0])

    @property
    def share_shown_before(self) -> float:
        """Return the share of the matches held before whose stored text contains the word; 0 if too few were."""
        return max(1, self.known_with_word) / self.known if self.known >= MIN_KNOWN else 0.0

    def is_shown(self, text: str, words: Sequence[str] | None = None) -> bool:
        """Return True if a text contains all words of the query; in scripts without spaces, also inside a longer run.

        `words` are the words of the text, if they are known.
        """
        if not self.words:
            return False
        missing = (
            [word for word in self.words if word not in words] if words is not None else missing_in(text, self.words)
        )
        return all(is_unspaced(word) and word in text.lower() for word in missing)

    def totals_grow(self) -> bool:
        """Return True if the stated total grew by about a page: it counts the matches shown so far."""
        totals = [stated.total for stated in self.pages.stated_totals[-2:] if stated.total is not None]
        return (
            len(totals) > 1
            and 0 < totals[-1] - totals[-2] <= 2 * self.last_page_size
            and totals[-1] < 2 * self.pages.matches
        )


class OpenQueries(list[OpenQuery]):
    """Queries that were asked and have a next page."""

    _turn = 0

    def to_compare(self) -> Sequence[OpenQuery]:
        """Return all; of many, those with the highest value in their last comparison and a few others in turn."""
        if len(self) <= MAX_COMPARED + COMPARED_IN_TURN:
            return self
        best = heapq.nlargest(MAX_COMPARED, self, key=attrgetter("last_value"))
        self._turn += COMPARED_IN_TURN
        in_turn = (self[(self._turn + i) % len(self)] for i in range(COMPARED_IN_TURN))
        return list({id(query): query for query in (*best, *in_turn)}.values())

    def largest_total(self) -> int:
        """Return the largest total that the source states for one of them."""
        return max((query.stated_total or 0 for query in self), default=0)
