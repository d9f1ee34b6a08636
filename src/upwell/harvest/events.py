"""What happens during a harvest, as values; the progress bar, the log and the tests are observers of the same events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upwell.model import Estimate, SearchInterface, Skipped

__all__ = ["Asked", "Event", "Found", "Held", "Learned", "Observer", "Stopped", "Trouble"]


@dataclass(frozen=True, kw_only=True)
class Found:
    """A way to ask the site was found."""

    template: SearchInterface


@dataclass(frozen=True, kw_only=True)
class Learned:
    """The answers to the probe queries were understood."""

    pagelet: str
    leader: str
    probes: int


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A query, or a further page of its answer, came back; the counts are those of the whole harvest so far."""

    site: str
    query: str
    requests: int
    answers: Mapping[str, int]
    records: int
    overlap_rate: float
    size: Estimate | None


@dataclass(frozen=True, kw_only=True)
class Held:
    """A record came for the first time."""

    row: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """A page could not be used; the harvest goes on."""

    skipped: Skipped


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """The harvest ended, and why."""

    reason: str


Event = Found | Learned | Asked | Held | Trouble | Stopped
Observer = Callable[[Event], None]
