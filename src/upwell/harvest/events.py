"""Events of a harvest as values, and their log as JSON lines: `--log FILE`, and `events.jsonl` in the folder of every harvest.

The progress line, the log, the web interface and the tests observe the same events.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TextIO, TypeVar

from upwell.errors import UpwellError, WrongUsage
from upwell.store.safe_files import open_without_links
from upwell.supervision import process_to_signal

if TYPE_CHECKING:
    from upwell.types import Estimate, SearchInterface, Skipped, WeighedCandidate

__all__ = [
    "EVENTS_FILE",
    "Asked",
    "Event",
    "FolderLog",
    "Found",
    "Held",
    "LazyRow",
    "Learned",
    "Looking",
    "Observer",
    "Opened",
    "Passed",
    "Stopped",
    "Stopping",
    "Trouble",
    "event_line",
    "open_log",
    "wants_records",
    "without_records",
]


@dataclass(frozen=True, kw_only=True)
class Found:
    """A search interface of the site was found."""

    search_interface: SearchInterface


@dataclass(frozen=True, kw_only=True)
class Looking:
    """A request is sent to find the search of the site, or to learn what its answers look like."""

    url: str
    purpose: str  # as `upwell explain` names it: "start page", "discovery", "trial query", "browser visit", "probe" …
    query: str = ""
    requests: int = 0  # sent before


@dataclass(frozen=True, kw_only=True)
class Passed:
    """A consent page in front of the site was clicked through."""

    url: str  # of the consent page
    label: str  # of the button


@dataclass(frozen=True, kw_only=True)
class Learned:
    """A source model was learned from the answers to the probe queries."""

    pagelet: str  # path of the list of records
    leader: str  # tag and classes that each record starts with
    probes: int  # answers that it was learned from
    source: str = ""  # URL of its search interface


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An answer was received; counts are cumulative, `requests` for the whole site and the others for the source."""

    site: str
    query: str
    requests: int
    answers: Mapping[str, int]  # by kind
    records: int
    overlap_rate: float
    size: Estimate | None  # None: not estimated after this answer
    lower_bound: bool = False  # True if the size has no upper bound
    state: str = ""  # what is known of the size: exact, estimated, at least or unknown; empty: not estimated
    size_by: str = ""  # the evidence that the size follows from
    requests_to_goal: int | None = None  # requests to 90 % of the estimated size; None: unknown
    expected: float = 0.0  # expected new records of the next request
    source: str = ""  # URL of its search interface
    number: int = 0  # of the request, as `upwell explain` takes it; 0: the harvest keeps no state
    kind: str = ""  # of the candidate that the request was sent for
    page: int = 1  # of the answer
    expected_new: float | None = None  # new records expected of this request; None: no candidates were compared
    new: int = 0  # new records of this answer
    runner_up: WeighedCandidate | None = None  # candidate that would have been chosen otherwise


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A record page was read; counts are cumulative, `requests` for the whole site and the others for the source."""

    site: str
    requests: int
    pages: int
    waiting: int  # record pages that could still be read
    source: str = ""  # URL of its search interface


@dataclass(frozen=True, kw_only=True)
class Held:
    """A new record is held."""

    row: Mapping[str, object]


class LazyRow(Mapping[str, object]):
    """Row that is created on first access; most rows are not looked at before they are in the table."""

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
    """A stop was requested (Ctrl-C, SIGTERM): the harvest ends once its results are written."""

    times: int  # number of requests to stop


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """The harvest of a site ended."""

    reason: str
    site: str = ""


Event = Looking | Found | Passed | Learned | Asked | Opened | Held | Trouble | Stopping | Stopped
Observer = Callable[[Event], None]
F = TypeVar("F", bound=Callable[..., None])


def without_records(observe: F) -> F:
    """Mark an observer (function or method) that needs only an example record per page."""
    observe.is_without_records = True  # type: ignore[attr-defined]
    return observe


def wants_records(observe: Observer) -> bool:
    """Return True if an observer wants every record."""
    return not getattr(observe, "is_without_records", False)


EVENTS_FILE = "events.jsonl"
encode = json.JSONEncoder(ensure_ascii=False, default=str).encode  # `json.dumps` would create an encoder per line
SECONDS_BETWEEN_EXAMPLES = 0.5  # seconds between two example records; more could not be read
MAX_EXAMPLE_CHARS = 300  # longest text in an example record


def event_line(event: Event) -> dict[str, object]:
    """Return an event as a JSON object: name, time and fields."""
    fields: Mapping[str, object] = vars(event)
    if isinstance(event, Found):
        interface = event.search_interface.as_dict()
        fields = {"search_interface": interface, "template": interface}  # the second is a deprecated name
    return _line(type(event).__name__.lower(), {name: _json_value(value) for name, value in fields.items()})


def _line(event: str, fields: Mapping[str, object]) -> dict[str, object]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    return {"event": event, "time": now, **fields}


def _json_value(value: object) -> object:
    """Convert a value for JSON."""
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return dict(value) if isinstance(value, Mapping) else value


def open_log(path: Path) -> TextIO:
    """Open a log file for appending, creating its folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a", encoding="utf-8")
    except OSError as error:
        raise WrongUsage(f"--log {path} cannot be written ({error.strerror}); choose another file") from error


class FolderLog:
    """`events.jsonl` of the running harvest, rewritten on each start because a continued harvest reports all events again.

    For each answer the first new record is written as an example, at most one per `SECONDS_BETWEEN_EXAMPLES`; all records are in the table.
    """

    def __init__(self, folder: Path, budget: int, observe: Observer) -> None:
        self._out = open(folder / EVENTS_FILE, "w", encoding="utf-8", opener=open_without_links)  # noqa: SIM115 # closed in `__exit__`
        self._observe = observe
        self._has_example, self._next_example = False, 0.0  # time of the monotonic clock
        self._write(_line("started", {"pid": process_to_signal(), "budget": budget}))

    def __enter__(self) -> Observer:
        return self.follow if wants_records(self._observe) else self._follow_examples

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, UpwellError):
            self._write(_line("failed", {"reason": str(error), "kind": type(error).__name__}))
        self._out.close()

    def follow(self, event: Event) -> None:
        """Write an event and pass it on."""
        if isinstance(event, Held):
            if not self._has_example and time.monotonic() >= self._next_example:
                self._next_example = time.monotonic() + SECONDS_BETWEEN_EXAMPLES
                row = {name: _short(value) for name, value in event.row.items()}
                self._write(_line("held", {"row": row}))
            self._has_example = True
        else:
            self._has_example = self._has_example and not isinstance(event, Asked)
            self._write(event_line(event))
        self._observe(event)

    @without_records
    def _follow_examples(self, event: Event) -> None:
        self.follow(event)

    def _write(self, line: dict[str, object]) -> None:
        self._out.write(encode(line) + "\n")
        self._out.flush()


def _short(value: object) -> object:
    return value[:MAX_EXAMPLE_CHARS] if isinstance(value, str) else value
