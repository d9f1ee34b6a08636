"""What happens during a harvest, as values. The progress line, the log and the tests observe the same events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from upwell.model import Estimate, SearchInterface, Skipped

__all__ = [
    "Asked", "Event", "Found", "Held", "LateRow", "Learned", "Observer", "Opened", "Passed", "Stopped", "Stopping", "Trouble",
    "wants_records", "without_records",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Found:
    """A search interface of the site was found."""

    template: SearchInterface


@dataclass(frozen=True, kw_only=True)
class Passed:
    """A page in front of the site wanted a button pressed, and it was pressed."""

    url: str  # of that page
    label: str  # of the button


@dataclass(frozen=True, kw_only=True)
class Learned:
    """A source model was learned from the answers to the probe queries."""

    pagelet: str  # the path of the list of records
    leader: str  # what each record begins with
    probes: int  # answers that it was learned from
    source: str = ""  # its address


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question was answered; the counts are those so far: requests of the whole site, the others of the source."""

    site: str
    query: str
    requests: int
    answers: Mapping[str, int]  # by kind
    records: int
    overlap_rate: float
    size: Estimate | None  # None: not estimated after this answer
    lower_bound: bool = False  # the size has no upper end
    requests_to_goal: int | None = None  # to 90 % of the estimated size; None: not known
    expected: float = 0.0  # new records that the next request should bring
    source: str = ""  # its address


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A record's own page was read; the counts are those so far of the source, and of requests of the whole site."""

    site: str
    requests: int
    pages: int
    waiting: int  # record pages that could be read
    source: str = ""  # its address


@dataclass(frozen=True, kw_only=True)
class Held:
    """A record is held that was not held before."""

    row: Mapping[str, object]


class LateRow(Mapping[str, object]):
    """A row that is made when somebody looks at it: most are not looked at before they are in the table."""

    def __init__(self, make: Callable[[], dict[str, object]]) -> None:
        self._make = make

    @cached_property
    def _row(self) -> dict[str, object]:
        return self._make()

    def __getitem__(self, name: str) -> object:
        return self._row[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def __repr__(self) -> str:
        return repr(self._row)

    def __reduce__(self) -> tuple[type[dict[str, object]], tuple[dict[str, object]]]:
        return dict, (self._row,)


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """A page could not be used; the harvest goes on."""

    skipped: Skipped


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """Somebody asked it to stop (Ctrl-C, SIGTERM): it ends as soon as what there is has been written."""

    times: int  # how often they asked


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """The harvest of a site ended, and why."""

    reason: str
    site: str = ""


Event = Found | Passed | Learned | Asked | Opened | Held | Trouble | Stopping | Stopped
Observer = Callable[[Event], None]
F = TypeVar("F", bound=Callable[..., None])


def without_records(observe: F) -> F:
    """Marks an observer, a function or a method, that needs no records but an example: it may hear of the first of a page only."""
    observe.is_without_records = True  # type: ignore[attr-defined] # of a function
    return observe


def wants_records(observe: Observer) -> bool:
    """Whether an observer wants to hear of each record."""
    return not getattr(observe, "is_without_records", False)
