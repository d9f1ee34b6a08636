"""A query whose pages are turned one at a time."""

from collections import Counter
from dataclasses import dataclass, field

from upwell.answers.result_pages import ResultPages
from upwell.harvest.facet_questions import FacetQuestion
from upwell.model import Request
from upwell.queries.pairs import Pair

__all__ = ["OpenQuery"]


@dataclass
class OpenQuery:
    """A query, and what to send for its next page (None: there is none)."""

    query: str
    request: Request | None
    turning: ResultPages = field(default_factory=ResultPages)
    check: bool = False
    pair: Pair | None = None
    offer: FacetQuestion | None = None
    found: dict[str, str] = field(default_factory=dict)  # text by key, of check queries
    fresh: float = 1.0  # share of the last page that was new
    came: int = 0  # new records so far
    due: float = 0.0  # share of its matches that is not held, by the source's count, where it ends before all came
    expected: float = 0.0  # new records a request, where a policy chose it
    said: int | None = None
    shown: int = 0  # records of the last page
    shows: int = 0  # records so far whose text has the query, or all words of a narrowed one
    inside: float | None = None  # of a narrowed one, the matches that are held, where that is known
    held: int = 0  # records held when it was asked
    sent: str = ""  # the address of the last page

    @property
    def words(self) -> frozenset[str]:
        """What its matches show."""
        narrowed = self.pair or self.offer
        return frozenset(narrowed.words if narrowed else (self.query,))

    @property
    def total(self) -> int | None:
        """The total that most pages say, the greatest of those that are said as often; a page may be read wrongly."""
        totals = Counter(page.total for page in self.turning.told if page.total is not None)
        return max(totals, key=lambda total: (totals[total], total), default=None)

    @property
    def plain(self) -> bool:
        """Whether it is a question of its own, and not one narrowed."""
        return self.pair is None and self.offer is None
