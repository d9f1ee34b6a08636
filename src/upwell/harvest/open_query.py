"""A query whose result pages are fetched one at a time."""

from collections import Counter
from dataclasses import dataclass, field

from upwell.answers.result_pages import ResultPages
from upwell.harvest.facet_questions import FacetQuestion
from upwell.model import Request
from upwell.queries.pairs import Pair

__all__ = ["OpenQuery", "Question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What could be asked next: a query as it is, one word narrower (`pair`), or through a facet or order of its answer (`facet`)."""

    query: str
    is_check: bool = False
    pair: Pair | None = None
    facet: FacetQuestion | None = None
    expected: float = 0.0  # new records a request, where the chooser predicted it


@dataclass
class OpenQuery:
    """A query that was asked: the request for its next page (None: there is none), and what its pages showed so far."""

    query: str
    request: Request | None
    is_check: bool = False
    pair: Pair | None = None
    facet: FacetQuestion | None = None
    expected: float = 0.0  # new records a request, as predicted when it was opened
    held_before: int = 0  # records held when it was opened
    pages: ResultPages = field(default_factory=ResultPages)
    check_texts: dict[str, str] = field(default_factory=dict)  # text by key, of the records that a check query brought
    stated_total: int | None = None  # matches, as the source counts them
    last_page_size: int = 0
    last_page_new_share: float = 1.0
    last_url: str = ""
    new_records: int = 0  # so far
    matches_with_query_text: int = 0  # matches so far whose text shows the query, or all words of a narrowed one
    held_matches: float | None = None  # matches of a narrowed query that are held; None: not known
    missing_share: float = (
        0.0  # share of the matches that is not held by the source's count, when its last page was chosen
    )

    @property
    def words(self) -> frozenset[str]:
        """The words that its matches should show."""
        narrowed = self.pair or self.facet
        return frozenset(narrowed.words if narrowed else (self.query,))

    @property
    def is_plain(self) -> bool:
        """Whether it is a query of its own, neither narrowed nor reordered."""
        return self.pair is None and self.facet is None

    def usual_total(self) -> int | None:
        """The total that most pages state; of equally frequent ones the largest. One page may have been misread."""
        totals = Counter(stated.total for stated in self.pages.stated_totals if stated.total is not None)
        return max(totals, key=lambda total: (totals[total], total), default=None)
