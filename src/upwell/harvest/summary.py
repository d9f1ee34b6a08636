"""What was brought up from a site: its sources together, as `summary.json` says it."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from upwell.harvest.details import Details
from upwell.harvest.ledger import SourceLedger
from upwell.harvest.plan import Reason
from upwell.harvest.tables import Table
from upwell.key_set import KeySet
from upwell.model import Estimate
from upwell.queries.size import next_new
from upwell.site.gate import Gate
from upwell.store.state import State

__all__ = ["SiteHarvest", "coverage_statement"]

SECONDS_OF_HOUR = 3600
FORESEEN = 0.25  # of the requests sent: so far ahead the forecast is right in the middle over the ground; as many again overrate up to four times
# Why a site's harvest ended is why any of its sources ended, the most telling reason first.
REASONS: tuple[Reason, ...] = (
    "interrupted", "budget", "blocked", "forbidden", "saturated", "exhausted", "coverage",
)  # fmt: skip


@dataclass
class SiteHarvest:
    """A site's sources, and the state that holds the records of all of them."""

    url: str
    state: State
    title: str = ""  # of its first page
    sources: list[SourceLedger] = field(default_factory=list)
    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    ignored_robots: bool = False
    rate: float = 1.0  # requests a second that are allowed; 0: as many as come
    refreshed: dict[str, int] = field(default_factory=dict)  # new, changed, unchanged, gone, unseen
    gates: list[Gate] = field(default_factory=list)  # in front of the site, that were passed
    out_of_reach: list[str] = field(default_factory=list)  # why searches of the site could not be tried
    columns: tuple[str, ...] = ()  # that the tables shall have; none: all
    drop: tuple[str, ...] = ()  # and those that they shall not have
    about: str = ""  # what the records are about, where not all were wanted
    details: list[Details] = field(default_factory=list)
    before: tuple[Estimate, bool] | None = None  # size and lower bound as the run before a refresh had them

    @property
    def stopped(self) -> Reason:
        """Why the harvest ended."""
        return next((why for why in REASONS if any(source.stopped == why for source in self.sources)), "exhausted")

    @property
    def with_pages(self) -> bool:
        """Whether record pages were read for their own sake, not just as a sample."""
        return any(details.plan.details for details in self.details)

    @property
    def size(self) -> Estimate:
        """The sizes of all sources together, never less than what is held.

        A source adds the share of its size that is new in what it brought, beside the sources before it. Records in the table
        that no source of this run has brought came from another harvest into the same folder; after a refresh they are among
        those that the sources should have.
        """
        counted, known = self._counted, KeySet()
        ends = {"estimate": 0.0, "low": 0.0, "high": 0.0}
        for source in counted:
            new_share = 1 - known.share_of(source.held, len(source)) if len(known) and len(source) else 1.0
            if len(counted) > 1:  # else there is nothing to compare
                known.update_hashes(source.held.hashes())
            for end in ends:
                ends[end] += new_share * getattr(source.size, end)
        held = len(self.state)
        brought = len(known) if len(counted) > 1 else sum(len(source.held) for source in counted)
        others = 0 if self.refreshed else max(0, held - brought)
        if self._relies_on_before and self.before is not None:
            others = self.refreshed.get("new", 0) - self.refreshed.get("gone", 0)
            ends = asdict(self.before[0])
        return Estimate(**{end: max(float(held), value + others) for end, value in ends.items()})

    @property
    def _counted(self) -> list[SourceLedger]:
        """The sources that say how large the site is: not those whose records a list has that another one walked to its end."""
        return [source for source in self.sources if not source.is_listed_elsewhere]

    @property
    def _relies_on_before(self) -> bool:
        """Whether the size is that of the run before: a refresh asks for what was held, so it tells little of the rest."""
        is_counted = bool(self.sources) and all(source.size_by == "total" for source in self.sources)
        return bool(self.refreshed) and self.before is not None and not is_counted

    @property
    def lower_bound(self) -> bool:
        """Whether the size has no upper end, because that of some source has none."""
        if self._relies_on_before and self.before is not None:
            return self.before[1]
        return not self.sources or any(source.lower_bound for source in self._counted)

    def keep_size(self) -> None:
        """Notes the size in the state, for a refresh."""
        self.state.set_note("size", json.dumps([asdict(self.size), self.lower_bound]))

    def recall_size(self) -> None:
        """Reads the size that the run before noted."""
        if noted := self.state.note("size"):
            ends, is_lower_bound = json.loads(noted)
            self.before = Estimate(**ends), is_lower_bound

    def _next_hour(self) -> dict[str, int]:
        """New records that another hour should bring at the rate that is allowed, or as many requests as can be judged by those sent."""
        requests = round(min(SECONDS_OF_HOUR * (self.rate or 1.0), FORESEEN * self.requests))
        curves = [[(sent, held) for sent, held, _ in source.curve] for source in self.sources]
        more = sum(next_new(curve, requests) for curve in curves)
        if not self.lower_bound:
            more = min(more, self.size.estimate - len(self.state))
        return {"requests": requests, "records": round(more)}

    def statement(self) -> str:
        """How much is held, in one sentence."""
        return coverage_statement(
            len(self.state),
            self.size,
            lower_bound=self.lower_bound,
            out_of_reach=len(self.out_of_reach),
            about=self.about,
            is_index=bool(self.sources) and all(source.size_by == "index" for source in self.sources),
        )

    def summary(self, tables: Sequence[Table] = ()) -> dict[str, object]:
        """As `summary.json` has it, with what its tables look like."""
        held, size = len(self.state), self.size
        matches = sum(source.matches for source in self.sources)
        first: dict[str, Any] = self.sources[0].checks() if self.sources else {}
        kinds = ("multi", "single", "none", "error")
        return {
            "site": urlsplit(self.url).netloc,
            "title": self.title,
            "requests": self.requests,
            "answers": {kind: sum(source.answers[kind] for source in self.sources) for kind in kinds},
            "records": held,
            "overlap_rate": round(matches / held, 3) if held else 0.0,
            "size": {name: round(value) for name, value in asdict(size).items()},
            "coverage": None if self.lower_bound else round(held / max(size.estimate, 1), 4),
            "statement": self.statement(),
            "out_of_reach": self.out_of_reach,
            "checks": {
                **first,
                "skipped": sum(len(source.skipped) for source in self.sources),
                "lower_bound": self.lower_bound,
                "next_hour": self._next_hour(),
                **({"robots": "ignored"} if self.ignored_robots else {}),
                "fill": {name: share for table in reversed(tables) for name, share in table.fill().items()},
                "types": {name: kind for table in reversed(tables) for name, kind in table.types.items()},
            },
            "details": {
                "pages": sum(details.pages for details in self.details),
                "columns": [name for table in tables for name in table.of_pages],
                "requests": sum(details.waiting for details in self.details),
                "left_out": dict(sum((details.left_out for details in self.details), Counter[str]())),
            },
            "tables": {table.kind or "records": len(table.rows) for table in tables},
            "stopped": self.stopped,
            "seconds": round(self.seconds, 1),
            "bytes": self.bytes,
            **({"refreshed": self.refreshed} if self.refreshed else {}),
            "sources": [source.figures() for source in self.sources],
        }


def coverage_statement(
    records: int,
    size: Estimate,
    *,
    lower_bound: bool = False,
    out_of_reach: int = 0,
    about: str = "",
    is_index: bool = False,
) -> str:
    """How much is held, in one sentence; without a percentage where nothing bounds the size from above.

    >>> coverage_statement(90, Estimate(estimate=100, low=95, high=110))
    '90 records held, 90% of about 100 (95 %: 95–110)'
    >>> coverage_statement(90, Estimate(estimate=100, low=95, high=110), lower_bound=True, out_of_reach=1)
    '90 records held of at least 95; there may be many more. 1 search of the site is out of reach and not counted'
    """
    if not records:
        return "no records held"
    low, high = round(size.low), round(size.high)
    what = f" about {about}" if about else ""
    if is_index and records == round(size.estimate):
        said = f"{records:,} records{what} held, 100%: all that the site's own search has"
    elif lower_bound:
        said = f"{records:,} records{what} held of at least {low:,}; there may be many more"
    else:
        share = min(1.0, records / size.estimate)
        said = f"{records:,} records{what} held, {share:.0%} of about {round(size.estimate):,} (95 %: {low:,}–{high:,})"
    if out_of_reach:
        are = "search of the site is" if out_of_reach == 1 else "searches of the site are"
        said += f". {out_of_reach} {are} out of reach and not counted"
    return said
