"""The plan of a harvest: how far to go, and what the user knows already."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, get_args

from upwell.errors import WrongUsage

if TYPE_CHECKING:
    from upwell.choose.proposers import ProposerFactory
    from upwell.discover.discovery import Browser
    from upwell.papers.entity import Knowledge
    from upwell.source.model import SourceModel

__all__ = ["Goal", "Plan", "Reason"]

Reason = Literal["learned", "coverage", "budget", "saturated", "exhausted", "blocked", "forbidden", "interrupted"]
Goal = Literal["complete", "representative", "learn"]
ENDS = ("coverage", "saturated", "exhausted")  # reasons to stop that remain valid however often the harvest is repeated
BROWSERS = ("auto", "never", "always")  # as `discover.discovery.Browser`, which would load numpy


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Plan of a harvest: how far to go, and what the user knows already."""

    budget: int = 1000
    """Largest number of requests to send."""
    seconds: float = 0.0
    """Longest duration in seconds; 0: unlimited."""
    bytes: int = 0
    """Largest number of bytes to receive; 0: unlimited."""
    coverage: float = 0.98  # the estimate itself is a few points off
    """Share of the estimated size at which the harvest stops."""
    goal: Goal = "complete"
    """`complete`; `representative`: many different queries, first pages only (Entity); `learn`: only the source model (`upwell learn`)."""
    about: str = ""
    """Only records that match this query, beyond the result cap (Yuan §2)."""
    details: Literal["", "first", "last"] | int = ""
    """Record pages to read: `first` (as records arrive), `last` (when no candidate is left), or at most this number; "": a small sample."""
    columns: tuple[str, ...] = ()
    """Columns of the table, in this order: name, new=old, name:type or new=old:type; empty: all."""
    drop: tuple[str, ...] = ()
    """Columns to leave out of the table."""
    schema: str = ""
    """Text of a schema file (`upwell schema`), which pins the columns."""
    plain: bool = False
    """Leave out the columns that start with `_`."""
    refresh: bool = False
    """Ask again for the records of a finished harvest."""
    form: int | None = None
    """Number of the form to use, whatever its purpose seems to be."""
    search_interface: str = ""
    """How to query the site: a URL with {query} in place of the query."""
    models: tuple[SourceModel, ...] = ()
    """Source models that were learned before, one per source."""
    browser: Browser = "auto"
    """When to run JavaScript: `auto` (only if the plain page has no search interface), `never` or `always`."""
    words: tuple[str, ...] = ()
    """Queries of the user, sent first."""
    log_queries: tuple[str, ...] = ()
    """Queries of a log that led to the site, as candidates, the most clicked first."""
    asked_by: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By query, the keys of the rows that it comes from."""
    proposers: tuple[ProposerFactory, ...] = ()
    """Plug-ins that propose queries (`upwell.choose.proposers`)."""
    knowledge: Knowledge | None = None
    """Names to ask for, of the types that the records mention."""
    seed: int = 0
    """Seed of random choices."""
    background: int = 3  # Entity §5 uses 10, but its failures come from the signature, not from the number
    """Nonsense queries, whose answers show what a page without matches looks like."""
    probes: int = 10  # Thor §IV uses 100, but a harvest continues to learn
    """Queries to learn from at a time."""
    patience: int = 30
    """Queries in a row without a new record after which the source counts as saturated."""
    checks: int = 8  # not swept
    """While a list without a total is read, one of this many pages belongs to a check query."""
    certify: int = 0
    """Requests at the end, at most half of them, that are spent on nothing but the size (`choose.size_sample`)."""
    failures: int = 10
    """Error answers in a row after which the source counts as blocked."""

    def __post_init__(self) -> None:
        for name in ("budget", "probes", "patience", "failures"):
            if getattr(self, name) < 1:
                raise WrongUsage(f"{name}={getattr(self, name)}: must be at least 1")
        for name in ("seconds", "bytes", "background", "checks", "certify"):
            if getattr(self, name) < 0:
                raise WrongUsage(f"{name}={getattr(self, name)}: must be 0 or more")
        if not 0 < self.coverage <= 1:
            raise WrongUsage(f"coverage={self.coverage}: must be a share above 0 and at most 1 (0.98 is 98 %)")
        for name, words in (("goal", get_args(Goal)), ("browser", BROWSERS)):
            if getattr(self, name) not in words:
                raise WrongUsage(f"{name}={getattr(self, name)!r}: use {', '.join(words[:-1])} or {words[-1]}")

    @property
    def template(self) -> str:
        """Return `search_interface`; deprecated, to be removed in the next release."""
        warnings.warn("Plan.template is now Plan.search_interface", DeprecationWarning, stacklevel=2)
        return self.search_interface


if not TYPE_CHECKING:
    _init = Plan.__init__

    @wraps(_init)
    def _init_with_former_name(self: Plan, **options: Any) -> None:
        """Create a plan; accept the former name `template` of `search_interface`."""
        if "template" in options:
            warnings.warn("Plan(template=…) is now Plan(search_interface=…)", DeprecationWarning, stacklevel=2)
            options.setdefault("search_interface", options.pop("template"))
        _init(self, **options)

    Plan.__init__ = _init_with_former_name
