"""Check queries among the others: words drawn apart from the harvest, whose answers tell how large the source is."""

import numpy as np

from upwell.harvest.ledger import SourceLedger
from upwell.queries.size import Checks

__all__ = ["CheckQueries"]

FEW = 3  # pages that a check query may take; not swept


class CheckQueries:
    """Check queries among the others: a new draw whenever the records held have doubled, and the size that follows."""

    def __init__(self, every: int, language: str) -> None:
        self.every, self.language = every, language
        self.checks: Checks | None = None
        self.waiting: list[str] = []
        self.drawn_at = 0
        self.texts: dict[str, str] = {}  # of the records that other queries brought

    def next(self, harvest: SourceLedger, turn: int) -> str | None:
        """The check query whose turn it is, if it is the turn of one."""
        if not self.every or turn % self.every or len(self.texts) < 50:
            return None
        if len(self.texts) >= 2 * self.drawn_at:
            # a word must come whole and in few requests, unless the source cuts off and says how much
            counted = harvest.totals_hold and harvest.limit
            most = 0 if counted else harvest.limit or FEW * max(1, harvest.page_size)
            self.checks, self.drawn_at = Checks(limit=most, language=self.language), len(self.texts)
            self.waiting = self.checks.draw(self.texts, np.random.default_rng(self.drawn_at), 500)
        return self.waiting.pop() if self.waiting else None

    @property
    def possible(self) -> bool:
        """Whether there is, or will be, something to ask."""
        return bool(self.every) and (bool(self.waiting) or not self.drawn_at)

    def saw(self, texts: dict[str, str]) -> None:
        """Takes in what another query brought."""
        for key, text in texts.items():
            if key not in self.texts:
                self.texts[key] = text
                if self.checks is not None:
                    self.checks.hold(key, text)

    def note(self, harvest: SourceLedger, query: str, found: dict[str, str], whole: bool, said: int | None) -> None:
        """Takes in what a check query brought: all of its matches (`whole`), or some of those that the source counts."""
        if self.checks is not None:
            self.checks.add(query, found, not whole, said)
            harvest.checked = self.checks.size(self.texts) or harvest.checked
