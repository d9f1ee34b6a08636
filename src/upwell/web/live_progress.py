"""Progress of a run, read incrementally from `events.jsonl`; the same for a running and a finished harvest."""

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from upwell.harvest.events import EVENTS_FILE
from upwell.report.charts import GrowthData, SizePoint, growth
from upwell.report.report import forecast
from upwell.source.model import interface_entry

__all__ = ["Progress", "QueryProgress", "SourceProgress"]

MAX_QUERIES = 9  # latest queries shown
MAX_EXAMPLES = 8  # newest records shown
MAX_TROUBLES = 30  # problems kept
RATE_SECONDS = 30  # period over which the request rate is averaged
MAX_POINTS = 2000  # points kept of a curve; beyond, every second point is dropped


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """Query, and the number of new records on its pages."""

    query: str
    new: int
    pages: int = 1


@dataclass
class SourceProgress:
    """Growth curve and size estimates of one source."""

    points: list[tuple[int, int]] = field(default_factory=list)
    moments: list[SizePoint] = field(default_factory=list)
    records: int = 0

    def add(self, line: dict[str, Any]) -> int:
        """Add an answer event; return the number of new records."""
        new = int(line["records"]) - self.records
        self.records = int(line["records"])
        self.points.append((int(line["requests"]), self.records))
        if len(self.points) > MAX_POINTS:
            self.points = self.points[::2]
        if size := line.get("size"):
            ends = (float(size["estimate"]), float(size["low"]), float(size["high"]))
            is_open = bool(line.get("lower_bound"))
            state = str(line.get("state") or ("at least" if is_open else "estimated"))
            by = str(line.get("size_by", ""))
            self.moments.append(SizePoint(int(line["requests"]), self.records, *ends, is_open, state, by))
        return new

    @property
    def size(self) -> SizePoint | None:
        """Return the latest size estimate."""
        return self.moments[-1] if self.moments else None

    def chart(self, requests_label: str, records_label: str) -> str:
        """Return the growth curve as SVG."""
        size = self.size
        ahead = forecast(self.points, size.estimate) if size is not None and not size.is_lower_bound else []
        data = GrowthData(points=self.points, moments=self.moments, forecast=ahead)
        return growth(data, requests_label=requests_label, records_label=records_label)

    @property
    def has_band(self) -> bool:
        """Return True if the size was ever bounded."""
        return any(not moment.is_lower_bound for moment in self.moments)

    def to_goals(self) -> list[tuple[str, int]]:
        """Return (share, requests still needed) forecasts."""
        size = self.size
        if size is None or size.is_lower_bound or not self.points:
            return []
        return [(label, at - self.points[-1][0]) for label, at, _ in forecast(self.points, size.estimate)]


@dataclass
class Progress:
    """State of a run as described by its events."""

    folder: Path
    budget: int = 0
    requests: int = 0
    sources: dict[str, SourceProgress] = field(default_factory=dict)
    interfaces: list[Mapping[str, Any]] = field(default_factory=list)
    is_learned: bool = False
    queries: deque[QueryProgress] = field(default_factory=lambda: deque(maxlen=MAX_QUERIES))
    examples: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MAX_EXAMPLES))
    troubles: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_TROUBLES))
    opened: tuple[int, int] = (0, 0)  # record pages read and waiting
    is_stopping: bool = False
    stopped: str = ""
    failed: str = ""
    started: str = ""
    last: str = ""
    _times: deque[tuple[datetime, int]] = field(default_factory=lambda: deque(maxlen=200))
    _offset: int = 0  # bytes read so far
    _first_line: int = 0  # hash of the first line: a new run starts a new file

    def read(self) -> bool:
        """Read events written since the last call; return True if there were any."""
        try:
            with (self.folder / EVENTS_FILE).open("rb") as file:
                first = file.readline()
                if hash(first) != self._first_line:
                    fresh = Progress(self.folder)
                    self.__dict__.update(fresh.__dict__)
                    self._first_line = hash(first)
                file.seek(self._offset)
                unread = file.read()
        except OSError:
            return False
        end = unread.rfind(b"\n") + 1
        self._offset += end
        for text in unread[:end].splitlines():
            try:
                self._take(json.loads(text))
            except (
                ValueError,
                LookupError,
                TypeError,
                AttributeError,
                RecursionError,
            ):  # damaged, or written by another version
                continue
        return end > 0

    def _take(self, line: dict[str, Any]) -> None:
        name = line["event"]
        self.last = str(line.get("time", self.last))
        if name == "started":
            self.started, self.budget = self.last, int(line["budget"])
        elif name == "found" and (interface := interface_entry(line)) is not None:
            self.interfaces.append(interface)
        elif name == "learned":
            self.is_learned = True
        elif name == "asked":
            self.requests = max(self.requests, int(line["requests"]))
            new = self.sources.setdefault(str(line.get("source") or line["site"]), SourceProgress()).add(line)
            query = str(line["query"])
            before = next((entry for entry in self.queries if entry.query == query), QueryProgress(query, 0, 0))
            if before.pages:
                self.queries.remove(before)
            self.queries.appendleft(QueryProgress(query, before.new + new, before.pages + 1))
            self._times.append((datetime.fromisoformat(self.last), self.requests))
        elif name == "opened":
            self.requests, self.opened = max(self.requests, int(line["requests"])), (line["pages"], line["waiting"])
            self._times.append((datetime.fromisoformat(self.last), self.requests))
        elif name == "held":
            self.examples.appendleft(line["row"])
        elif name == "trouble":
            self.troubles.appendleft(str(line["skipped"]["reason"]))
        elif name == "stopping":
            self.is_stopping = True
        elif name == "stopped":
            self.stopped = str(line["reason"])
        elif name == "failed":
            self.failed = str(line["reason"])

    @property
    def records(self) -> int:
        """Return the records of all sources; sources may overlap while the harvest runs."""
        return sum(source.records for source in self.sources.values())

    @property
    def rate(self) -> float:
        """Return the requests per second of the last half minute."""
        if len(self._times) < 2:
            return 0.0
        last, requests = self._times[-1]
        first, before = next(
            ((at, sent) for at, sent in self._times if (last - at).total_seconds() <= RATE_SECONDS), self._times[-1]
        )
        return (requests - before) / max(0.5, (last - first).total_seconds())
