"""What is printed of the sites of a harvest as they end, and the exit code that follows from all of them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from upwell.cli.printing import as_json_text, warn
from upwell.errors import Crashed, Interrupted, UpwellError
from upwell.printable import printable

if TYPE_CHECKING:
    from upwell.harvest.files import Result
    from upwell.many_sites import SiteOutcome
    from upwell.results import DemoTruth

__all__ = ["Outcomes", "print_harvest"]

FEW_SITES = 20  # of more, each has one line, and there is no table at the end
EARLY_STOPS = ("interrupted", "blocked", "forbidden")  # reasons to stop that exit code 3 stands for


@dataclass
class Outcomes:
    """Prints what came of each site, and keeps no more of it than the exit code and a short table need."""

    sites: int
    as_json: bool
    results: "list[Result | UpwellError]" = field(default_factory=list)  # of a few sites, or the error of the only one
    ended: int = 0
    failed: int = 0
    is_interrupted: bool = False
    has_crashed: bool = False
    has_stopped_early: bool = False
    has_changed: bool = False
    records: int = 0
    requests: int = 0

    def add(self, outcome: "SiteOutcome") -> None:
        """Prints what came of a site."""
        result, self.ended = outcome.result, self.ended + 1
        if self.sites <= FEW_SITES:
            self.results.append(result)
        if isinstance(result, UpwellError):
            self.failed += 1
            self.is_interrupted |= isinstance(result, Interrupted)
            self.has_crashed |= isinstance(result, Crashed)
            if self.sites > 1:
                warn(str(result))
            return
        self.has_stopped_early |= result.summary["stopped"] in EARLY_STOPS
        self.has_changed |= any(result.summary.get("refreshed", {}).get(kind) for kind in ("new", "changed", "gone"))
        self.records, self.requests = (
            self.records + result.summary["records"],
            self.requests + result.summary["requests"],
        )
        if self.sites <= FEW_SITES or self.as_json:
            print_harvest(result, self.as_json)
        else:
            print(
                printable(
                    f"{result.summary['site']}: {result.summary['statement']} Stopped: {result.summary['stopped']}."
                )
            )

    def close(self) -> int:
        """Prints what is said of all sites together; the exit code. An error of the only site is raised."""
        if self.sites == 1 and self.failed:
            raise next(result for result in self.results if isinstance(result, UpwellError))
        if self.sites > 1 and not self.as_json:
            self._print_all()
        if self.failed == self.ended:
            return 3 if self.is_interrupted or not self.ended else 1
        if self.has_crashed:
            return 1
        return 3 if self.failed or self.has_stopped_early or self.ended < self.sites else 0

    def _print_all(self) -> None:
        from upwell.display import lines_of_many

        if self.sites <= FEW_SITES:
            print("\n".join(map(printable, lines_of_many(self.results))))
        else:
            print(f"{self.ended - self.failed:,} sites: {self.records:,} records, {self.requests:,} requests")
            if self.failed:
                print(
                    f"{self.failed:,} of {self.ended:,} could not be harvested; why is said above, and in summary.jsonl"
                )
        if not_begun := self.sites - self.ended:
            print(f"{not_begun:,} of {self.sites:,} were not begun; the same command goes on with them")


def print_harvest(result: "Result", as_json: bool, truth: "DemoTruth | None" = None) -> None:
    """What came of one site."""
    from upwell.display import lines_of_harvest

    if as_json:
        print(as_json_text({**result.summary, "truth": truth.as_dict()} if truth else result.summary), flush=True)
    else:
        print("\n".join(map(printable, lines_of_harvest(result, truth))))
