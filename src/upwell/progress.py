"""What people see while a harvest runs: an observer that draws one line on stderr and can write every event to a log."""

import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from upwell.harvest.events import Asked, Event, Found, Held, Learned, Observer, Stopped, Trouble

__all__ = ["ProgressLine"]


class ProgressLine:
    """A bar of requests with what is held so far; without a terminal only the messages above it, as plain lines."""

    def __init__(self, budget: int, visible: bool, log: Path | None = None) -> None:
        self.console = Console(stderr=True)
        self.log = log.open("a", encoding="utf-8") if log else None
        self.requests: dict[str, int] = {}  # by site
        self.coverage = ""
        columns = (
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self.bar = Progress(*columns, console=self.console, disable=not (visible and self.console.is_terminal))
        self.task = self.bar.add_task("looking for the search form", total=budget)

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
            line = {"event": type(event).__name__.lower(), **asdict(event)}
            if isinstance(event, Found):
                line["template"] = event.template.as_dict()
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
        elif isinstance(event, Stopped):
            self.bar.update(self.task, description=f"stopped: {event.reason}")

    def _say(self, message: str) -> None:
        self.console.print(message, markup=False, highlight=False)

    def _count(self, event: Asked) -> None:
        kinds = " ".join(f"{number} {kind}" for kind, number in sorted(event.answers.items()))
        if event.size is not None:
            sizes = (event.size.high, event.size.estimate, event.size.low)
            low, middle, high = (min(1.0, event.records / max(size, 1.0)) for size in sizes)
            self.coverage = f", {middle:.0%} held ({low:.0%}–{high:.0%})"
        self.requests[event.site] = event.requests
        self.bar.update(
            self.task,
            completed=sum(self.requests.values()),
            description=f"{event.records:,} records, overlap {event.overlap_rate:.2f}, {kinds}{self.coverage}",
        )
