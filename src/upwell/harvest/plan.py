"""How far a harvest goes, and what the user knows already."""

from dataclasses import dataclass
from typing import Literal

from upwell.site.discover import Browser
from upwell.source.model import SourceModel

__all__ = ["Goal", "Plan", "Reason"]

Reason = Literal["coverage", "budget", "saturated", "exhausted", "blocked", "forbidden", "interrupted"]
Goal = Literal["complete", "representative"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How far a harvest goes, and what the user knows already."""

    budget: int = 1000  # requests
    seconds: float = 0.0  # 0: no limit
    bytes: int = 0  # 0: no limit
    coverage: float = 0.98  # share of the estimated size at which it is enough: the estimate itself is a few points off
    goal: Goal = "complete"  # representative: many different queries, first pages only (Entity)
    about: str = ""  # only what matches this, beyond the source's limit of results (Yuan §2)
    refresh: bool = False  # ask again what a finished harvest holds
    form: int | None = None  # which form of the page, where the judgement is not wanted
    template: str = ""  # how to ask, where the user knows: an address with {query} in it
    models: tuple[SourceModel, ...] = ()  # what answers look like, of each source, where that was learned before
    browser: Browser = "auto"  # whether to look with JavaScript: auto means only where the plain page has no way in
    words: tuple[str, ...] = ()  # queries of the user, asked first
    seed: int = 0
    background: int = (
        3  # nonsense queries; Entity §5 uses 10, its failures come from the signature, not from the number
    )
    probes: int = (
        10  # queries that are learned from at a time; Thor §IV uses 100, but a harvest goes on learning as it asks
    )
    patience: int = 30  # requests in a row without a new record, after which the source counts as saturated
    checks: int = 8  # every so many requests one is a check query, for the size; not swept yet
    failures: int = 10  # answers in a row that are errors, after which the source counts as blocked
