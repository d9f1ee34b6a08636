"""How evenly a term is spread over the pages of a site: a term that all of them have says nothing about one of them.

EN   the entropy of a term over n pages, base n: 0 on one page only, 1 when it is the same on every page
W    1 − EN, the term's weight

Wisdom §3.1 and Appendix A.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import log

__all__ = ["Entropies", "entropy", "entropy_with_next_page"]

MAX_TERMS = 500_000  # terms that are remembered; a site of 100,000 pages says no more with its rare ones


def entropy(frequencies: Iterable[int], pages: int) -> float:
    """EN of a term from its frequencies in the pages (Wisdom §3.1).

    >>> round(1 - entropy([2, 2, 2, 0], 4), 4), round(1 - entropy([1, 1, 4, 0], 4), 4)
    (0.2075, 0.3742)
    """
    counts = [tf for tf in frequencies if tf > 0]
    total = sum(counts)
    return -sum(tf / total * log(tf / total) for tf in counts) / log(pages) if pages > 1 and total else 0.0


def entropy_with_next_page(known: float, total: int, tf: int, pages: int) -> float:
    """EN over one page more: from EN over `pages` pages, in which the term came `total` times, and its `tf` in the new page.

    Wisdom Appendix A, equation A.2; for two pages at first, because log 1 is no base.
    """
    base = log(pages + 1)
    scaled = known * log(pages) / base
    if tf == 0:
        return scaled
    if total == 0:
        return 0.0
    return (total * scaled + tf * log(1 + total / tf) / base + total * log(1 + tf / total) / base) / (total + tf)


@dataclass
class Entropies:
    """The entropies of a site's terms, page by page, in memory that does not grow with the site.

    A term costs two numbers, TF and Σ tf·log tf, from which EN over any number of pages follows: the same number that
    `entropy` and `entropy_with_next_page` give, without touching the terms that the new page does not have.
    """

    limit: int = MAX_TERMS
    pages: int = 0
    totals: dict[str, int] = field(default_factory=dict)  # TF
    log_sums: dict[str, float] = field(default_factory=dict)  # Σ tf·log tf
    pages_with: dict[str, int] = field(default_factory=dict)

    def add(self, frequencies: Mapping[str, int]) -> None:
        """Counts one page more."""
        self.pages += 1
        for term, tf in frequencies.items():
            self.totals[term] = self.totals.get(term, 0) + tf
            self.log_sums[term] = self.log_sums.get(term, 0.0) + tf * log(tf)
            self.pages_with[term] = self.pages_with.get(term, 0) + 1
        if len(self.totals) > self.limit:
            self._forget_rare()

    def _forget_rare(self) -> None:
        """Forgets the terms that the fewest pages had: their weight is 1 with or without them, to the table's precision."""
        rare = 1
        while len(self.totals) > self.limit // 2:
            for term in [term for term, pages in self.pages_with.items() if pages <= rare]:
                del self.totals[term], self.log_sums[term], self.pages_with[term]
            rare *= 2

    def entropy_of(self, term: str) -> float:
        """EN of a term; 0 for one that was never seen, or seen on one page only."""
        total = self.totals.get(term, 0)
        if not total or self.pages < 2:
            return 0.0
        return min(1.0, max(0.0, (log(total) - self.log_sums[term] / total) / log(self.pages)))

    def weight(self, term: str) -> float:
        """W = 1 − EN."""
        return 1.0 - self.entropy_of(term)
