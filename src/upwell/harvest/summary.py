"""What was brought up from a site: its sources together, as `summary.json` says it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from upwell.harvest.ledger import SourceLedger
from upwell.harvest.plan import Reason
from upwell.model import Estimate
from upwell.store.state import State

__all__ = ["SiteHarvest"]


@dataclass
class SiteHarvest:
    """What was brought up from a site: its sources, and the state that holds the records of all."""

    url: str
    state: State
    sources: list[SourceLedger] = field(default_factory=list)
    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    ignored_robots: bool = False
    refreshed: dict[str, int] = field(default_factory=dict)  # new, changed, unchanged, gone, unseen

    @property
    def stopped(self) -> Reason:
        """Why the harvest ended: what stopped any of its sources, the most telling first."""
        order: tuple[Reason, ...] = (
            "interrupted", "budget", "blocked", "forbidden", "saturated", "exhausted", "coverage",
        )  # fmt: skip
        return next((why for why in order if any(one.stopped == why for one in self.sources)), "exhausted")

    @property
    def size(self) -> Estimate:
        """The sizes of all sources together, never less than what is held.

        A source adds as much of its size as there is new in what it brought beside the sources before it.
        """
        held = len(self.state)
        known: set[str] = set()
        sums = {"estimate": 0.0, "low": 0.0, "high": 0.0}
        for one in self.sources:
            own = sum(key not in known for key in one.seen) / max(1, len(one.seen)) if known else 1.0
            known.update(one.seen)
            for end in sums:
                sums[end] += own * getattr(one.size, end)
        return Estimate(**{end: max(float(held), value) for end, value in sums.items()})

    @property
    def lower_bound(self) -> bool:
        """Whether the size is one: some source cuts off, and does not say what it holds back."""
        return any(one.lower_bound for one in self.sources)

    def summary(self, types: Mapping[str, str] | None = None) -> dict[str, object]:
        """As `summary.json` has it (DESIGN §5), with the types of the columns."""
        held, size = len(self.state), self.size
        filled: Counter[str] = Counter()
        for row in self.state.rows():
            filled.update(name for name, value in row.items() if value is not None and not name.startswith("_"))
        matches = sum(one.matches for one in self.sources)
        first: dict[str, Any] = self.sources[0].checks() if self.sources else {}
        return {
            "site": urlsplit(self.url).netloc,
            "requests": self.requests,
            "answers": {
                kind: sum(one.answers[kind] for one in self.sources) for kind in ("multi", "single", "none", "error")
            },
            "records": held,
            "overlap_rate": round(matches / held, 3) if held else 0.0,
            "size": {name: round(value) for name, value in asdict(size).items()},
            "coverage": round(held / size.estimate, 4) if size.estimate else 0.0,
            "checks": {
                **first,
                "skipped": sum(len(one.skipped) for one in self.sources),
                "lower_bound": self.lower_bound,
                **({"robots": "ignored"} if self.ignored_robots else {}),
                "fill": {name: round(n / held, 3) for name, n in filled.most_common()},
                "types": dict(types or {}),
            },
            "stopped": self.stopped,
            "seconds": round(self.seconds, 1),
            "bytes": self.bytes,
            **({"refreshed": self.refreshed} if self.refreshed else {}),
            "sources": [one.figures() for one in self.sources],
        }
