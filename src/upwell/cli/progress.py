"""Progress of a harvest: an observer that draws one line on stderr and can write every event to a log.

If stderr is not a terminal, a plain line is printed every ten seconds.
"""

import json
import sys
import time
from collections import deque
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

from upwell.cli.printing import printable
from upwell.harvest.events import (
    Asked,
    Event,
    Found,
    Held,
    Learned,
    Looking,
    Observer,
    Opened,
    Passed,
    Stopped,
    Stopping,
    Trouble,
    event_line,
    open_log,
    without_records,
)
from upwell.report.charts import LARGEST_SHARE
from upwell.types import Estimate

__all__ = ["ProgressLine"]

SECONDS_BETWEEN_LINES = 10.0  # between two plain lines if stderr is not a terminal
LEARNING = (
    "nonsense probe",
    "probe",
    "probe, next page",
    "query dependence",
    "larger page",
    "page argument",
    "form page",
)
RATE_SECONDS = 30.0  # length of the window for the rate of requests


class ProgressLine:
    """Progress bar of the share held, with the figures behind it; sources and sites are added up.

    While the share is not known, the bar shows the part of the budget that is spent.
    """

    def __init__(self, budget: int, visible: bool, log: Path | None = None) -> None:
        self.console = Console(stderr=True)
        self.log = open_log(log) if log else None
        self.budget, self.visible = budget, visible
        self.requests: dict[str, int] = {}  # by site
        self.last: dict[str, Asked] = {}  # by source
        self.sizes: dict[str, tuple[Estimate, bool, int | None]] = {}  # by source: size, lower bound, requests to 90 %
        self.ended_requests = self.ended_records = 0  # totals of sites that ended; nothing else of them is kept
        self.ended_size: tuple[Estimate, bool, int | None] | None = None  # the sum for these sites
        self.problems = 0
        self.sent: deque[tuple[float, int]] = deque(maxlen=500)  # time, total number of requests
        self.last_line = time.monotonic()
        columns = (
            BarColumn(bar_width=10),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            TimeElapsedColumn(),
        )
        is_drawn = visible and self.console.is_terminal
        self.bar = Progress(
            *columns, console=self.console, disable=not is_drawn, expand=False, redirect_stdout=sys.stdout.isatty()
        )
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

    @without_records
    def follow(self, event: Event) -> None:
        """Show one event, and log it unless it is a record: records are in the table."""
        if self.log and not isinstance(event, Held):
            self.log.write(json.dumps(event_line(event), ensure_ascii=False) + "\n")
            self.log.flush()
        if isinstance(event, Looking):
            self._look(event)
        elif isinstance(event, Found):
            self._say(f"search interface: {event.search_interface.method} {event.search_interface.url}")
        elif isinstance(event, Passed):
            self._say(f"clicked “{event.label}” on the consent page {event.url}")
        elif isinstance(event, Learned):
            self._say(f"learned from {event.probes} answers")
        elif isinstance(event, Trouble):
            self.problems += 1
            is_about_table = event.skipped.stage == "table"
            self._say(event.skipped.reason if is_about_table else f"left out: {event.skipped.reason}")
        elif isinstance(event, Asked):
            self._count(event)
        elif isinstance(event, Stopping):
            self._say(
                "stopping: writing the results so far" if event.times == 1 else "still writing the results so far"
            )
        elif isinstance(event, Opened):
            self._send(event.site, event.requests)
            self._show(f"{event.pages:,} record pages read, {event.waiting:,} waiting · {self._requests()}")
        elif isinstance(event, Stopped):
            self.bar.update(self.task, description=f"stopped: {event.reason}")
            if event.reason != "interrupted":  # an interrupted site may continue
                self._forget(event.site)

    def _look(self, event: Looking) -> None:
        """Show what is tried while the search is not known yet."""
        host, path = urlsplit(event.url)[1:3]
        what = f"“{event.query}” at " if event.query else "in the browser: " if event.purpose == "browser visit" else ""
        begin = "learning the answers" if event.purpose in LEARNING else "looking for the search"
        self._show(f"{begin} · {what}{host}{path} · {event.requests:,} requests")

    def _say(self, message: str) -> None:
        self.console.print(printable(message), markup=False, highlight=False, soft_wrap=True)

    def _show(self, line: str, share: float = 0.0) -> None:
        """Draw the line, or print it at intervals if stderr is not a terminal."""
        sent = self.sent[-1][1] if self.sent else 0
        done = share or min(1.0, sent / self.budget if self.budget else 0.0)
        self.bar.update(self.task, total=1.0 if done else None, completed=done, description=line)
        now = time.monotonic()
        if self.visible and self.bar.disable and now - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = now
            self._say(line)

    def _forget(self, site: str) -> None:
        """Reduce a site that ended to its figures, added to those of others."""
        self.ended_requests += self.requests.pop(site, 0)
        for source in [source for source, last in self.last.items() if last.site == site]:
            self.ended_records += self.last.pop(source).records
            size, is_open, _ = self.sizes.pop(source, (Estimate(estimate=0, low=0, high=0), True, None))
            before, was_open, _ = self.ended_size or (Estimate(estimate=0, low=0, high=0), False, None)
            both = Estimate(
                estimate=before.estimate + size.estimate, low=before.low + size.low, high=before.high + size.high
            )
            self.ended_size = both, is_open or was_open, None

    def _send(self, site: str, requests: int) -> None:
        self.requests[site] = requests
        self.sent.append((time.monotonic(), self.ended_requests + sum(self.requests.values())))

    def _count(self, event: Asked) -> None:
        source = event.source or event.site
        self._send(event.site, event.requests)
        self.last[source] = event
        if event.size is not None:
            self.sizes[source] = event.size, event.lower_bound, event.requests_to_goal
        records = self.ended_records + sum(last.records for last in self.last.values())
        share, statement = self._coverage(records)
        self._show(f"{records:,} records{statement} · {self._requests()}", share)

    def _coverage(self, records: int) -> tuple[float, str]:
        """Return the share held of all sources (0: not known), and a phrase that states it."""
        sizes = [*self.sizes.values(), *([self.ended_size] if self.ended_size else [])]
        if not sizes:
            return 0.0, ""
        low = sum(size.low for size, _, _ in sizes)
        if len(self.sizes) < len(self.last) or any(is_open for _, is_open, _ in sizes):
            return 0.0, f" of at least {round(max(low, records)):,}"
        ends = (sum(size.high for size, _, _ in sizes), low)
        estimate = sum(size.estimate for size, _, _ in sizes)
        lowest, highest = (min(1.0, records / max(1.0, end)) for end in ends)
        # only a size that is known can be held completely
        share = min(1.0 if ends[0] <= records else LARGEST_SHARE, records / max(1.0, estimate))
        interval = f" ({lowest:.0%}–{highest:.0%})" if f"{lowest:.0%}" != f"{highest:.0%}" else ""
        remaining = [to_goal for _, _, to_goal in self.sizes.values() if to_goal]
        goal = f" · 90% in ~{sum(remaining):,}" if remaining else ""
        return share, f", {share:.0%}{interval}{goal}"

    def _requests(self) -> str:
        """Return the requests sent and allowed, their rate, the time until the budget is spent, and the number of problems."""
        now, total = self.sent[-1]
        before, first = next((entry for entry in self.sent if now - entry[0] <= RATE_SECONDS), self.sent[-1])
        rate = left = ""
        if now - before >= 1:
            speed = (total - first) / (now - before)
            rate = f" · {speed:.1f}/s"
            left = f" · {_duration((self.budget - total) / speed)} at most" if speed and total < self.budget else ""
        problems = f" · {self.problems} problem{'s' if self.problems > 1 else ''}" if self.problems else ""
        return f"{total:,}/{self.budget:,} requests{rate}{left}{problems}"


def _duration(seconds: float) -> str:
    """Return a time to wait, in the unit that suits it.

    >>> _duration(42), _duration(200), _duration(8000)
    ('42 s', '3 min', '2.2 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
