"""Turning pages: whether the pager of a query still tells the truth, and how many matches it gives at most.

    lie    the same page again, matches that all came before, a page past the end, more pages than the total allows
    cap    the number of matches at which the source stops for every large query (top-k)

DESIGN §4.4: the pager is followed as far as it pays.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from upwell.answers.totals import StatedTotals, Trust, trust

__all__ = ["End", "FinishedQuery", "ResultPages", "learn_cap"]

End = Literal["", "last page", "same page", "nothing new", "past the end", "cap", "too many"]
PAGES = 10_000  # pages of one query at most: a calendar or a counter that never ends
AGREE = 3  # queries that stop at one number; as `harvest.result` has it for matches


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedQuery:
    """How the pages of one query ended: how many matches came, what was said of them, and why it was over."""

    matches: int
    pages: int
    end: End
    total: int | None
    trust: Trust
    cap: int | None = None  # as the page names it


@dataclass
class ResultPages:
    """The pages of one query as they come.

    >>> turning = ResultPages()
    >>> turning.page(["a", "b"], follows=True), turning.page(["a", "b"], follows=True)
    ('', 'same page')
    """

    cap: int | None = None  # where it was learned before
    keys: set[str] = field(default_factory=set)
    told: list[StatedTotals] = field(default_factory=list)
    matches: int = 0
    pages: int = 0
    end: End = ""
    _before: tuple[str, ...] = ()

    def page(self, keys: Collection[str], told: StatedTotals | None = None, *, follows: bool) -> End:
        """Takes in a page by the keys of its records (or a digest of it); says why to stop, or "" to go on.

        `follows`: the page offers a next one. What a page brings counts even where it is said to stop, except for a lie.
        """
        now = tuple(sorted(set(keys)))
        self.pages += 1
        if told is not None:
            self.told.append(told)
        if self.pages > 1 and not now:
            self.end = "past the end"
        elif self.pages > 1 and now == self._before:
            self.end = "same page"
        elif self.pages > 1 and set(now) <= self.keys:
            self.end = "nothing new"  # back at the start, or going round
        else:
            self.matches += len(set(now) - self.keys)
            self.keys.update(now)
            cap = self.cap or next((t.cap for t in self.told if t.cap), None)
            if cap and self.matches >= cap:
                self.end = "cap"
            elif not follows:
                self.end = "last page"
            elif self.pages >= PAGES:
                self.end = "too many"
        self._before = now
        return self.end

    @property
    def lied(self) -> bool:
        """Whether the last page should not have been offered."""
        return self.end in ("same page", "nothing new", "past the end", "too many")

    def ended(self) -> FinishedQuery:
        """What is to be kept of it."""
        over = self.end in ("last page", "same page", "nothing new", "past the end")
        totals = [told.total for told in self.told if told.total is not None]
        return FinishedQuery(
            matches=self.matches,
            pages=self.pages,
            end=self.end,
            total=totals[-1] if totals else None,
            trust=trust(self.told, self.matches, over),
            cap=next((told.cap for told in self.told if told.cap), None),
        )


def learn_cap(ended: Sequence[FinishedQuery]) -> int | None:
    """How many matches the source gives for a query at most: what a page names, else the number that large queries stop at.

    Queries that stop at the greatest number though more were promised agree sooner (two) than queries of a silent source (three,
    over more than one page: a page that is full by chance is no cap).
    """
    over = [query for query in ended if query.end]
    most = max((query.matches for query in over), default=0)
    named = Counter(query.cap for query in over if query.cap and query.end == "cap" and 1.1 * query.cap >= most)
    if named:
        return named.most_common(1)[0][0]
    there = [query for query in over if query.matches == most]
    promised = [query for query in there if query.total is not None and query.total > most]
    contradicted = any(query.total is not None and query.total == most for query in there)
    if len(promised) >= 2 and not contradicted:
        return most
    silent = [query for query in there if query.total is None and query.pages > 1]
    return most if len(silent) >= AGREE else None
