"""Check queries: words drawn apart from the harvest, whose whole answers show how much of a list of everything has come."""

import numpy as np

from upwell.queries.size import Checks

__all__ = ["CheckQueries"]

MAX_PAGES = 3  # result pages that a check query should have
MIN_RECORDS = 50  # records held before words are drawn
DRAWN_WORDS = 500


class CheckQueries:
    """Draws new check words whenever the records held have doubled."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._checks = Checks(limit=0)
        self._waiting: list[str] = []
        self._drawn_at = 0  # records held when the words were drawn

    def next(self, texts: dict[str, str], page_size: int) -> str | None:
        """The next check query, given the texts of the records held by key; None before enough is held to draw words from."""
        if len(texts) < MIN_RECORDS:
            return None
        if len(texts) >= 2 * self._drawn_at:
            # all matches of a word must come in few requests
            self._checks, self._drawn_at = Checks(limit=MAX_PAGES * page_size, language=self.language), len(texts)
            self._waiting = self._checks.draw(texts, np.random.default_rng(self._drawn_at), DRAWN_WORDS)
        return self._waiting.pop() if self._waiting else None

    def fair(self, keys: set[str]) -> set[str]:
        """Those of some records that had no part in drawing the words."""
        return keys - self._checks.pool_records
