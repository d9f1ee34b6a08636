"""How far a harvest goes, and what the user knows already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from upwell.errors import WrongUsage

if TYPE_CHECKING:  # the command line makes a plan; it should not load numpy for that
    from upwell.harvest.proposers import ProposerFactory
    from upwell.queries.knowledge import Knowledge
    from upwell.site.discover import Browser
    from upwell.source.model import SourceModel

__all__ = ["Goal", "Plan", "Reason"]

Reason = Literal["coverage", "budget", "saturated", "exhausted", "blocked", "forbidden", "interrupted"]
Goal = Literal["complete", "representative"]
ENDS = ("coverage", "saturated", "exhausted")  # reasons to stop that stay true, however often the same is asked
BROWSERS = ("auto", "never", "always")  # as `site.discover.Browser`, which loads numpy


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How far a harvest goes, and what the user knows already."""

    budget: int = 1000  # requests
    seconds: float = 0.0  # 0: no limit
    bytes: int = 0  # 0: no limit
    coverage: float = 0.98  # stop at this share of the estimated size; the estimate itself is a few points off
    goal: Goal = "complete"  # representative: many different queries, first pages only (Entity)
    about: str = ""  # only records that match this query, beyond the source's result cap (Yuan §2)
    # record pages to read: first (as records come), last (when no question is left), or at most so many; "": a few, as a sample
    details: Literal["", "first", "last"] | int = ""
    columns: tuple[str, ...] = ()  # of the table, in this order; none: all
    drop: tuple[str, ...] = ()  # columns that are left out of the table
    refresh: bool = False  # ask again for what a finished harvest holds
    form: int | None = None  # the number of the form to use, whatever it was judged to be
    template: str = ""  # how to ask: an address with {query} in it
    models: tuple[SourceModel, ...] = ()  # source models learned before, one for each source
    browser: Browser = "auto"  # whether to use the browser; auto: only where the plain page has no search interface
    words: tuple[str, ...] = ()  # queries of the user, asked first
    asked_by: Mapping[str, Sequence[str]] = field(default_factory=dict)  # query → keys of the rows that it comes from
    proposers: tuple[ProposerFactory, ...] = ()  # of questions, beside those of the chooser (`harvest.proposers`)
    knowledge: Knowledge | None = None  # names to ask for, of the types that the records mention
    seed: int = 0
    background: int = (
        3  # nonsense queries; Entity §5 uses 10, its failures come from the signature, not from their number
    )
    probes: int = 10  # queries to learn from at a time; Thor §IV uses 100, but a harvest goes on learning as it asks
    patience: int = 30  # requests in a row without a new record before the source counts as saturated
    checks: int = (
        8  # beside a list of everything that nobody counts, one of so many pages is of a check query; not swept
    )
    failures: int = 10  # error answers in a row before the source counts as blocked

    def __post_init__(self) -> None:
        for name in ("budget", "probes", "patience", "failures"):
            if getattr(self, name) < 1:
                raise WrongUsage(f"{name}={getattr(self, name)}: it must be at least 1")
        for name in ("seconds", "bytes", "background", "checks"):
            if getattr(self, name) < 0:
                raise WrongUsage(f"{name}={getattr(self, name)}: it cannot be less than 0")
        if not 0 < self.coverage <= 1:
            raise WrongUsage(f"coverage={self.coverage}: it is a share, above 0 and at most 1 (0.98 is 98 %)")
        for name, words in (("goal", get_args(Goal)), ("browser", BROWSERS)):
            if getattr(self, name) not in words:
                raise WrongUsage(f"{name}={getattr(self, name)!r}: it is {', '.join(words[:-1])} or {words[-1]}")
