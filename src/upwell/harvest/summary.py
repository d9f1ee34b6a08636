"""Results of harvesting one site: its sources together, its coverage statement and the contents of `summary.json`."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from upwell.arrays.key_set import KeySet
from upwell.choose.coverage import SizeState
from upwell.choose.ledger import SourceLedger
from upwell.choose.plan import Reason
from upwell.choose.size import next_new
from upwell.discover.consent_page import ConsentPage
from upwell.harvest.record_pages import RecordPageReader
from upwell.report.sentences import size_sentence
from upwell.store.state import State
from upwell.table.build import Table
from upwell.table.user_schema import UserSchema
from upwell.types import Estimate

__all__ = ["SiteHarvest", "coverage_statement"]

SECONDS_PER_HOUR = 3600
# The forecast reaches this share of the requests sent: over the simulated sources its median is right there; twice as far, it is up to four times too high.
FORECAST_SHARE = 0.25
# The harvest of a site ends for the reason any of its sources ended, the most informative reason first.
REASONS_BY_PRIORITY: tuple[Reason, ...] = (
    "interrupted", "budget", "blocked", "forbidden", "saturated", "exhausted", "coverage", "learned",
)  # fmt: skip


@dataclass
class SiteHarvest:
    """Sources of a site, and the state with the records of all of them."""

    url: str
    state: State
    title: str = ""  # of the first page
    sources: list[SourceLedger] = field(default_factory=list)
    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    ignored_robots: bool = False
    rate: float = 1.0  # allowed requests per second; 0: unlimited
    refreshed: dict[str, int] = field(default_factory=dict)  # new, changed, unchanged, gone, unseen
    consent_pages: tuple[ConsentPage, ...] = ()  # that were clicked through
    out_of_reach: list[str] = field(default_factory=list)  # why searches of the site could not be used
    schema: UserSchema = field(default_factory=UserSchema)  # columns of the tables that the user asked for
    about: str = ""  # topic of the records, if not all were wanted
    details: list[RecordPageReader] = field(default_factory=list)
    before: tuple[Estimate, bool] | None = None  # size and lower bound from the run before a refresh

    @property
    def stopped(self) -> Reason:
        """Return why the harvest ended."""
        return next(
            (why for why in REASONS_BY_PRIORITY if any(source.stopped == why for source in self.sources)), "exhausted"
        )

    @property
    def with_pages(self) -> bool:
        """Return True if record pages were requested, not only sampled."""
        return any(details.plan.details for details in self.details)

    @property
    def size(self) -> Estimate:
        """Return the size of all sources together, at least the number of records held.

        A source contributes the share of its size that is new compared with the sources before it. Records of the table that no source of this run
        returned come from another harvest into the same folder; after a refresh they are among those that the sources should have.
        """
        counted, known = self._counted, KeySet()
        ends = {"estimate": 0.0, "low": 0.0, "high": 0.0}
        for source in counted:
            new_share = 1 - known.share_of(source.held, len(source)) if len(known) and len(source) else 1.0
            if len(counted) > 1:  # otherwise there is nothing to compare
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
        """Return the sources that determine the size, without those whose records are part of a list that another source read to its end."""
        return [source for source in self.sources if not source.is_listed_elsewhere]

    @property
    def _relies_on_before(self) -> bool:
        """Return True if the size of the run before is used: a refresh repeats queries for known records and says little about others."""
        is_counted = bool(self.sources) and all(source.size_by == "total" for source in self.sources)
        return bool(self.refreshed) and self.before is not None and not is_counted

    @property
    def lower_bound(self) -> bool:
        """Return True if the size has no upper bound because that of some source has none."""
        if self._relies_on_before and self.before is not None:
            return self.before[1]
        return not self.sources or any(source.lower_bound for source in self._counted) or self._is_void

    @property
    def _is_void(self) -> bool:
        """Return True if more records are held than the sources of this run can have, so that their estimates are wrong."""
        if self.refreshed or len(self._counted) != 1:
            return False
        (source,) = self._counted
        return source.size.high < len(source)

    def keep_size(self) -> None:
        """Store the size in the state for a refresh."""
        self.state.set_note("size", json.dumps([asdict(self.size), self.lower_bound]))

    def recall_size(self) -> None:
        """Read the size stored by the previous run."""
        with suppress(ValueError, TypeError, RecursionError):  # damaged, or no earlier run
            ends, is_lower_bound = json.loads(self.state.note("size"))
            self.before = Estimate(**{name: float(value) for name, value in ends.items()}), bool(is_lower_bound)

    def _next_hour(self) -> dict[str, int]:
        """Return the new records expected in another hour at the allowed rate, limited to as many requests as the forecast can judge."""
        requests = round(min(SECONDS_PER_HOUR * (self.rate or 1.0), FORECAST_SHARE * self.requests))
        curves = [[(sent, held) for sent, held, _ in source.curve] for source in self.sources]
        more = sum(next_new(curve, requests) for curve in curves)
        if not self.lower_bound:
            more = min(more, self.size.estimate - len(self.state))
        return {"requests": requests, "records": round(more)}

    @property
    def size_state(self) -> SizeState:
        """Return what is known of the size of all sources together: no more than of any one of them."""
        states = {source.statement.state for source in self._counted}
        if self.lower_bound or not states:
            return "unknown" if states <= {"unknown"} else "at least"
        held, size = len(self.state), self.size
        brought = sum(len(source.held) for source in self._counted)
        if states == {"exact"} and size.low == size.high >= held and brought >= held and not self._relies_on_before:
            # the overlap of several sources is estimated, except where all of it is held
            return "exact" if len(self._counted) == 1 or round(size.estimate) == held else "estimated"
        return "estimated"

    @property
    def size_by(self) -> str:
        """Return the evidence that the sizes of all sources follow from; empty if it differs."""
        evidence = {source.size_by for source in self._counted}
        return evidence.pop() if len(evidence) == 1 else ""

    def statement(self) -> str:
        """Return the coverage statement."""
        return coverage_statement(
            len(self.state),
            self.size,
            self.size_state,
            by=self.size_by,
            out_of_reach=len(self.out_of_reach),
            about=self.about,
            repeating_query=self._repeated(of_query=True),
            repeating_content=self._repeated(of_query=False),
            differing_in_numbers=sum(source.repetition.differing_in_numbers for source in self.sources),
        )

    def _repeated(self, *, of_query: bool) -> int:
        """Return the number of records that add no content, of sources that repeat the query or the content of other records."""
        return sum(s.repetition.repeated for s in self.sources if s.repetition.repeats_query == of_query)

    def summary(self, tables: Sequence[Table] = ()) -> dict[str, object]:
        """Return the contents of `summary.json`, with facts about the tables."""
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
            "size_state": self.size_state,
            "statement": self.statement(),
            "out_of_reach": self.out_of_reach,
            "checks": {
                **first,
                "skipped": sum(len(source.skipped) for source in self.sources),
                "lower_bound": self.lower_bound,
                "repeated": sum(source.repetition.repeated for source in self.sources),
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
    state: SizeState,
    *,
    by: str = "",
    out_of_reach: int = 0,
    about: str = "",
    repeating_query: int = 0,
    repeating_content: int = 0,
    differing_in_numbers: int = 0,
) -> str:
    """Return the coverage statement (`size_sentence`), and what it does not count.

    >>> size = Estimate(estimate=100, low=95, high=110)
    >>> coverage_statement(90, size, "at least", out_of_reach=1)
    '90 records held of at least 95; there may be many more. 1 search of the site is out of reach and not counted'
    >>> coverage_statement(90, Estimate(estimate=90, low=90, high=90), "at least", repeating_query=85)
    '90 records held of at least 90; there may be many more. 85 of them only repeat the query: the site seems to invent them'
    """
    statement = size_sentence(records, size, state, by=by, topic=about)
    if not records:
        return statement
    if out_of_reach:
        are = "search of the site is" if out_of_reach == 1 else "searches of the site are"
        statement += f". {out_of_reach} {are} out of reach and not counted"
    if repeating_query:
        statement += f". {repeating_query:,} of them only repeat the query: the site seems to invent them"
    if repeating_content:
        statement += f". {repeating_content:,} of them repeat the content of others under another address"
    elif differing_in_numbers and not repeating_query and state == "at least":
        statement += (
            f". {differing_in_numbers:,} of them differ from others only in numbers, as in a calendar without end"
        )
    return statement
