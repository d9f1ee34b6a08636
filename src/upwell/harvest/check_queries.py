"""Check queries: words drawn apart from the harvest, asked among the other queries, whose answers tell how large the source is."""

import numpy as np

from upwell.harvest.ledger import SourceLedger
from upwell.queries.size import Checks

__all__ = ["CheckQueries"]

MAX_PAGES = 3  # result pages that a check query should have; not swept
MIN_RECORDS = 50  # records held before words are drawn
DRAWN_WORDS = 500


class CheckQueries:
    """Draws new check words whenever the records held have doubled, and estimates the size from their answers."""

    def __init__(self, every: int, language: str) -> None:
        self.every, self.language = every, language  # every so many questions, one is a check query; 0: none
        self._checks: Checks | None = None
        self._waiting: list[str] = []
        self._drawn_at = 0  # records known when the words were drawn
        self._texts: dict[str, str] = {}  # of the records that other queries brought, by key

    def next(self, ledger: SourceLedger) -> str | None:
        """The next check query; None before enough is held to draw words from."""
        if len(self._texts) < MIN_RECORDS:
            return None
        if len(self._texts) >= 2 * self._drawn_at:
            # all matches of a word must come in few requests, unless the source cuts off and says how many there are
            is_counted = ledger.totals_hold and ledger.limit
            max_matches = 0 if is_counted else ledger.limit or MAX_PAGES * max(1, ledger.page_size)
            self._checks, self._drawn_at = Checks(limit=max_matches, language=self.language), len(self._texts)
            self._waiting = self._checks.draw(self._texts, np.random.default_rng(self._drawn_at), DRAWN_WORDS)
        return self._waiting.pop() if self._waiting else None

    @property
    def can_ask(self) -> bool:
        """Whether a check query is waiting, or will be drawn."""
        return bool(self.every) and (bool(self._waiting) or not self._drawn_at)

    def fair(self, keys: set[str]) -> set[str]:
        """Those of some records that had no part in drawing the words."""
        return keys - self._checks.pool_records if self._checks is not None else keys

    def hold(self, texts: dict[str, str]) -> None:
        """Takes in the records (text by key) that another query brought."""
        for key, text in texts.items():
            if key not in self._texts:
                self._texts[key] = text
                if self._checks is not None:
                    self._checks.hold(key, text)

    def record(
        self, ledger: SourceLedger, query: str, texts: dict[str, str], *, is_whole: bool, stated_total: int | None
    ) -> None:
        """Takes in the answer to a check query: all of its matches (`is_whole`), or some of those that the source counts."""
        if self._checks is not None:
            self._checks.add(query, texts, not is_whole, stated_total)
            ledger.coverage.by_checks = self._checks.size(self._texts) or ledger.coverage.by_checks
