"""What people see while a harvest runs: an observer that draws one line on stderr, and one that writes a log."""

import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from upwell.harvest.events import Asked, Event, Found, Held, Learned, Observer, Stopped, Trouble
from upwell.harvest.files import Result
from upwell.harvest.report import certificate
from upwell.model import Estimate

__all__ = ["Display", "told_of"]


def told_of(result: Result, truth: dict[str, object] | None = None) -> list[str]:
    """What a harvest brought, in a few lines; beside the truth, where that is known."""
    summary = result.summary
    size: dict[str, float] = summary["size"]  # type: ignore[assignment] # as Site.summary makes it
    checks: dict[str, object] = summary["checks"]  # type: ignore[assignment] # as above
    lines = [certificate(int(str(summary["records"])), Estimate(**size), lower_bound=bool(checks["lower_bound"]))]
    if truth:
        lines.append(f"in truth: {truth['held']:,} of {truth['cities']:,} cities held, {truth['coverage']:.1%}")
    if refreshed := summary.get("refreshed"):
        lines.append("since the last time: " + ", ".join(f"{n:,} {kind}" for kind, n in refreshed.items()))  # type: ignore[attr-defined] # as above
    lines.append(
        f"stopped: {summary['stopped']} after {summary['requests']:,} requests, overlap rate {summary['overlap_rate']}"
    )
    return [*lines, f"records: {result.records}", f"report:  {result.report}"]


class Display:
    """The progress display: one line on stderr that follows the events; a log line for each where stderr is no terminal."""

    def __init__(self, budget: int, shown: bool, log: Path | None = None, sites: int = 1) -> None:
        self.console = Console(stderr=True)
        self.log = log.open("a", encoding="utf-8") if log else None
        self.requests: dict[str, int] = {}
        self.held = ""
        columns = (
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self.progress = Progress(*columns, console=self.console, disable=not (shown and self.console.is_terminal))
        self.task = self.progress.add_task("looking for the way in", total=budget * sites)

    def __enter__(self) -> Observer:
        self.progress.start()
        return self.follow

    def __exit__(self, *_: object) -> None:
        self.progress.stop()
        if self.log:
            self.log.close()

    def follow(self, event: Event) -> None:
        if self.log and not isinstance(event, Held):
            line = {"event": type(event).__name__.lower(), **asdict(event)}
            if isinstance(event, Found):
                line["template"] = event.template.as_dict()
            self.log.write(json.dumps(line, ensure_ascii=False) + "\n")
            self.log.flush()
        if isinstance(event, Found):
            self.console.print(f"asking {event.template.method} {event.template.url}", markup=False, highlight=False)
        elif isinstance(event, Learned):
            self.console.print(f"learned from {event.probes} answers", markup=False, highlight=False)
        elif isinstance(event, Asked):
            kinds = " ".join(f"{n} {kind}" for kind, n in sorted(event.answers.items()))
            told = f"{event.records:,} records, overlap {event.overlap_rate:.2f}, {kinds}"
            if event.size is not None:
                ends = [event.records / max(end, 1.0) for end in (event.size.high, event.size.estimate, event.size.low)]
                low, middle, high = (min(1.0, share) for share in ends)
                self.held = f", {middle:.0%} held ({low:.0%}–{high:.0%})"
            self.requests[event.site] = event.requests
            self.progress.update(self.task, completed=sum(self.requests.values()), description=told + self.held)
        elif isinstance(event, Trouble):
            self.console.print(f"left out: {event.skipped.reason}", markup=False, highlight=False)
        elif isinstance(event, Stopped):
            self.progress.update(self.task, description=f"stopped: {event.reason}")
