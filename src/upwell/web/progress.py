"""What `events.jsonl` of a harvest tells, read as far as it is written: the same for one that runs and one that has ended."""

import json
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from upwell.harvest.charts import Growth, Moment, growth
from upwell.harvest.event_log import EVENTS
from upwell.harvest.report import forecast

__all__ = ["Progress", "Question", "SourceProgress"]

MAX_QUESTIONS = 9  # that are shown, the last first
MAX_EXAMPLES = 8
MAX_TROUBLES = 30
RATE_SECONDS = 30  # over which the rate is taken
MAX_POINTS = 2000  # of a curve that are kept; beyond, every second goes


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the new records that its pages brought."""

    query: str
    new: int
    pages: int = 1


@dataclass
class SourceProgress:
    """One source: its curve, and what is known of its size."""

    points: list[tuple[int, int]] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    records: int = 0

    def add(self, line: dict[str, Any]) -> int:
        """Takes in an answer; gives the records that are new since the last one."""
        new = int(line["records"]) - self.records
        self.records = int(line["records"])
        self.points.append((int(line["requests"]), self.records))
        if len(self.points) > MAX_POINTS:
            self.points = self.points[::2]
        if size := line.get("size"):
            ends = (float(size["estimate"]), float(size["low"]), float(size["high"]))
            self.moments.append(Moment(int(line["requests"]), self.records, *ends, bool(line.get("lower_bound"))))
        return new

    @property
    def size(self) -> Moment | None:
        """What was said last of its size."""
        return self.moments[-1] if self.moments else None

    def chart(self, requests_label: str, records_label: str) -> str:
        """The curve as SVG."""
        size = self.size
        ahead = forecast(self.points, size.estimate) if size is not None and not size.is_lower_bound else []
        data = Growth(points=self.points, moments=self.moments, forecast=ahead)
        return growth(data, requests_label=requests_label, records_label=records_label)

    @property
    def has_band(self) -> bool:
        """Whether its size was bounded at any time."""
        return any(not moment.is_lower_bound for moment in self.moments)

    def to_goals(self) -> list[tuple[str, int]]:
        """How many more requests to which share."""
        size = self.size
        if size is None or size.is_lower_bound or not self.points:
            return []
        return [(label, at - self.points[-1][0]) for label, at, _ in forecast(self.points, size.estimate)]


@dataclass
class Progress:
    """A run as its events tell it."""

    folder: Path
    budget: int = 0
    requests: int = 0
    sources: dict[str, SourceProgress] = field(default_factory=dict)
    interfaces: list[dict[str, Any]] = field(default_factory=list)
    is_learned: bool = False
    questions: deque[Question] = field(default_factory=lambda: deque(maxlen=MAX_QUESTIONS))
    examples: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MAX_EXAMPLES))
    troubles: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_TROUBLES))
    opened: tuple[int, int] = (0, 0)  # record pages read, and waiting
    is_stopping: bool = False
    stopped: str = ""
    failed: str = ""
    started: str = ""
    last: str = ""
    _times: deque[tuple[datetime, int]] = field(default_factory=lambda: deque(maxlen=200))
    _place: int = 0
    _file: int = 0  # its inode and beginning: another run begins the file anew

    def read(self) -> bool:
        """Takes in what was written since the last time; whether there was anything."""
        try:
            with (self.folder / EVENTS).open("rb") as file:
                first = file.readline()
                if hash(first) != self._file:
                    fresh = Progress(self.folder)
                    self.__dict__.update(fresh.__dict__)
                    self._file = hash(first)
                file.seek(self._place)
                whole = file.read()
        except OSError:
            return False
        end = whole.rfind(b"\n") + 1
        self._place += end
        for text in whole[:end].splitlines():
            try:
                self._take(json.loads(text))
            except (ValueError, KeyError, TypeError):  # a line of another version
                continue
        return end > 0

    def _take(self, line: dict[str, Any]) -> None:
        name = line["event"]
        self.last = str(line.get("time", self.last))
        if name == "started":
            self.started, self.budget = self.last, int(line["budget"])
        elif name == "found":
            self.interfaces.append(line["template"])
        elif name == "learned":
            self.is_learned = True
        elif name == "asked":
            self.requests = max(self.requests, int(line["requests"]))
            new = self.sources.setdefault(str(line.get("source") or line["site"]), SourceProgress()).add(line)
            query = str(line["query"])
            before = next((one for one in self.questions if one.query == query), Question(query, 0, 0))
            if before.pages:
                self.questions.remove(before)
            self.questions.appendleft(Question(query, before.new + new, before.pages + 1))
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
        """Held of all sources; sources may overlap while it runs."""
        return sum(source.records for source in self.sources.values())

    @property
    def rate(self) -> float:
        """Requests a second, over the last half minute."""
        if len(self._times) < 2:
            return 0.0
        last, requests = self._times[-1]
        first, before = next(
            ((at, sent) for at, sent in self._times if (last - at).total_seconds() <= RATE_SECONDS), self._times[-1]
        )
        return (requests - before) / max(0.5, (last - first).total_seconds())
