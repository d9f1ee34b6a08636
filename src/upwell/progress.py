"""What people see while a harvest runs: an observer that draws one line on stderr and can write every event to a log."""

import json
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from upwell.harvest.event_log import line_of, open_log
from upwell.harvest.events import Asked, Event, Found, Held, Learned, Observer, Opened, Stopped, Stopping, Trouble
from upwell.printable import printable

__all__ = ["ProgressLine"]


class ProgressLine:
    """A bar of the share that is held, with what it follows from; without a terminal only the messages above it, as plain lines."""

    def __init__(self, budget: int, visible: bool, log: Path | None = None) -> None:
        self.console = Console(stderr=True)
        self.log = open_log(log) if log else None
        self.budget = budget
        self.requests: dict[str, int] = {}  # by site
        self.coverage: dict[
            str, tuple[float, str]
        ] = {}  # by site, the share held (0: not known) and what is said of it
        columns = (
            BarColumn(bar_width=20),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
        )
        self.bar = Progress(*columns, console=self.console, disable=not (visible and self.console.is_terminal))
        self.task = self.bar.add_task("looking for the search form", total=None)

    def __enter__(self) -> Observer:
        self.bar.start()
        return self.follow

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()
        if self.log:
            self.log.close()

    def follow(self, event: Event) -> None:
        """Shows one event, and logs it unless it is a record, which the table holds."""
        if self.log and not isinstance(event, Held):
            line = line_of(event)
            self.log.write(json.dumps(line, ensure_ascii=False) + "\n")
            self.log.flush()
        if isinstance(event, Found):
            self._say(f"asking {event.template.method} {event.template.url}")
        elif isinstance(event, Learned):
            self._say(f"learned from {event.probes} answers")
        elif isinstance(event, Trouble):
            self._say(f"left out: {event.skipped.reason}")
        elif isinstance(event, Asked):
            self._count(event)
        elif isinstance(event, Stopping):
            self._say("stopping: what there is will be written" if event.times == 1 else "still writing what there is")
        elif isinstance(event, Opened):
            self.requests[event.site] = event.requests
            description = f"{event.pages:,} record pages read, {event.waiting:,} waiting; {sum(self.requests.values()):,} requests"
            self.bar.update(self.task, description=description)
        elif isinstance(event, Stopped):
            self.bar.update(self.task, description=f"stopped: {event.reason}")

    def _say(self, message: str) -> None:
        self.console.print(printable(message), markup=False, highlight=False)

    def _count(self, event: Asked) -> None:
        self.requests[event.site] = event.requests
        if event.size is not None and event.lower_bound:
            self.coverage[event.site] = 0.0, f"of at least {round(event.size.low):,}"
        elif event.size is not None:
            sizes = (event.size.high, event.size.estimate, event.size.low)
            low, middle, high = (min(1.0, event.records / max(size, 1.0)) for size in sizes)
            ahead = f", about {event.requests_to_goal:,} more requests to 90 %" if event.requests_to_goal else ""
            self.coverage[event.site] = middle, f"{middle:.0%} held ({low:.0%}–{high:.0%}){ahead}"
        shares = [share for share, _ in self.coverage.values() if share]
        said = self.coverage.get(event.site, (0.0, "size not known yet"))[1]
        where = f"{event.site}: " if len(self.requests) > 1 else ""
        sent = sum(self.requests.values())
        self.bar.update(
            self.task,
            total=1.0 if shares else None,
            completed=sum(shares) / len(shares) if shares else 0.0,
            description=printable(where)
            + f"{event.records:,} records, {said}; {sent:,} of at most {self.budget:,} requests",
        )
