"""Follow the result pages of a query, decide when to stop, and learn the result cap.

false page  a page that should not have been offered: a repeated page, nothing new, past the end, or too many pages
cap         the number of matches at which the source stops for every large query (top-k)

A page is identified by the keys of its records, so this works for answers of any format.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from upwell.answers.totals import StatedTotals, TotalsTrust, judge_totals
from upwell.arrays.key_set import KeySet

__all__ = ["End", "FinishedQuery", "ResultPages", "cap_evidence", "learn_cap"]

End = Literal["", "last page", "unknown", "same page", "nothing new", "past the end", "cap", "too many"]
MAX_PAGES = 10_000  # of one query: calendars and counters never end
MIN_PROMISED_QUERIES = 2  # queries that must stop at the same number although their totals promise more
MIN_FULL_PAGE = 10  # minimum cap of a source without a pager
MIN_SILENT_QUERIES = 3  # queries without a total that must stop at the same number
MAX_ALIKE = 5  # finished queries kept of each sort; more add no evidence
NAMED_CAP_SLACK = 1.1  # a cap stated by a page is wrong if a query returned more than this many times as many matches


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedQuery:
    """Summary of a finished query: matches returned, stated total, and why it ended."""

    matches: int
    pages: int
    end: End
    total: int | None
    trust: TotalsTrust
    cap: int | None = None  # as stated by a page


@dataclass
class ResultPages:
    """The result pages of one query so far.

    >>> result_pages = ResultPages()
    >>> result_pages.add_page(["a", "b"], has_next=True), result_pages.add_page(["a", "b"], has_next=True)
    ('', 'same page')
    """

    cap: int | None = None  # learned from earlier queries
    keys: KeySet = field(default_factory=KeySet)  # of all matches so far
    stated_totals: list[StatedTotals] = field(default_factory=list)  # one per page
    matches: int = 0
    pages: int = 0
    end: End = ""
    usual_total: int | None = None  # stated by most pages, the largest of several: one page may be misread
    _times_stated: Counter[int] = field(default_factory=Counter)
    _named_cap: int | None = None  # the first cap stated by a page
    _previous_keys: tuple[str, ...] = ()

    def add_page(
        self, keys: Collection[str], stated: StatedTotals | None = None, *, has_next: bool, is_open: bool = False
    ) -> End:
        """Add a page by the keys of its records (or a digest); return why to stop, or "" to continue.

        `has_next`: the page offers a next one; `is_open`: it does not, but may not be the last. The matches of the last page count, unless it is a false page.
        """
        page_keys = tuple(sorted(set(keys)))
        self.pages += 1
        if stated is not None:
            self._take_totals(stated)
        if self.pages > 1 and not page_keys:
            self.end = "past the end"
        elif self.pages > 1 and page_keys == self._previous_keys:
            self.end = "same page"
        elif self.pages > 1 and not self.keys.without(page_keys):
            self.end = "nothing new"  # back at the first page, or going in circles
        else:
            self.matches += self.keys.update(page_keys)
            cap = self.cap or self._named_cap
            if cap and self.matches >= cap:
                self.end = "cap"
            elif not has_next:
                self.end = "unknown" if is_open else "last page"
            elif self.pages >= MAX_PAGES:
                self.end = "too many"
        self._previous_keys = page_keys
        return self.end

    def _take_totals(self, stated: StatedTotals) -> None:
        self.stated_totals.append(stated)
        self._named_cap = self._named_cap or stated.cap or None
        if stated.total is not None:
            self._times_stated[stated.total] += 1
            usual = -1 if self.usual_total is None else self.usual_total
            self.usual_total = max(usual, stated.total, key=lambda total: (self._times_stated[total], total))

    @property
    def ends_with_false_page(self) -> bool:
        """Return True if the last page should not have been offered."""
        return self.end in ("same page", "nothing new", "past the end", "too many")

    def is_end_seen(self, longest_page: int) -> bool:
        """Return True if the end was positively seen: a total was reached, a page was not full, or nothing followed.

        A page without a link to a next one is not enough: the link may not have been recognised. `longest_page`: records of the longest
        page of the same kind.
        """
        if self.usual_total is not None and self.usual_total <= self.matches:
            return True
        if self.end in ("same page", "nothing new", "past the end"):
            return True
        return self.end == "last page" and len(self._previous_keys) < longest_page

    def finish(self) -> FinishedQuery:
        """Summarise the pages and judge their stated totals."""
        is_complete = self.end in ("last page", "same page", "nothing new", "past the end")
        totals = [stated.total for stated in self.stated_totals if stated.total is not None]
        return FinishedQuery(
            matches=self.matches,
            pages=self.pages,
            end=self.end,
            total=totals[-1] if totals else None,
            trust=judge_totals(self.stated_totals, self.matches, is_complete),
            cap=self._named_cap,
        )


def learn_cap(queries: Sequence[FinishedQuery]) -> int | None:
    """Return the result cap: the one that pages state, else the number at which large queries stop; None if unknown.

    Two queries suffice if their totals promise more, and no more queries return all that they promise. Without totals, three with several
    pages each are needed: a single page may be full by chance, unless the source has no pager.
    """
    ended = [query for query in queries if query.end]
    most_matches = max((query.matches for query in ended), default=0)
    named = Counter(
        query.cap for query in ended if query.cap and query.end == "cap" and NAMED_CAP_SLACK * query.cap >= most_matches
    )
    if named:
        return named.most_common(1)[0][0]
    largest = [query for query in ended if query.matches == most_matches]
    promised = [query for query in largest if query.total is not None and query.total > most_matches]
    # a source with a cap may have a query with exactly as many matches; one without it states most totals right
    whole = [query for query in largest if query.total == most_matches]
    if len(promised) >= max(MIN_PROMISED_QUERIES, len(whole)):
        return most_matches
    has_pager = any(query.pages > 1 for query in ended)
    silent = [query for query in largest if query.total is None and (query.pages > 1 or not has_pager)]
    if not has_pager and most_matches < MIN_FULL_PAGE:
        return None
    return most_matches if len(silent) >= MIN_SILENT_QUERIES else None


def cap_evidence(queries: Sequence[FinishedQuery]) -> list[FinishedQuery]:
    """Return the queries that `learn_cap` needs, a few of each sort, so that memory stays bounded."""
    most_matches = max((query.matches for query in queries), default=0)
    seen: Counter[tuple[object, ...]] = Counter()
    kept = []
    for query in queries:
        is_largest = query.matches == most_matches
        total = query.total
        of_total = (total is None, total == query.matches, (total or 0) > query.matches) if is_largest else ()
        sort = (is_largest, query.pages > 1, query.cap if query.end == "cap" else None, of_total)
        seen[sort] += 1
        if query.end and seen[sort] <= MAX_ALIKE:
            kept.append(query)
    return kept
