"""How far a harvest goes, and what it brought: the plan, the records with what they took, and the size by check queries."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import numpy as np

from upwell.harvest.learn import SourceModel
from upwell.harvest.ways import Browser
from upwell.model import Estimate, Record, Skipped, Template
from upwell.queries.size import Checks, chao

__all__ = ["Checking", "Harvest", "Plan", "Reason"]

Reason = Literal["coverage", "budget", "saturated", "exhausted", "blocked", "forbidden", "interrupted"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How far a harvest goes."""

    budget: int = 1000  # requests
    coverage: float = 0.95  # share of the estimated size at which it is enough
    form: int | None = None  # which form of the page, where the judgement is not wanted
    browser: Browser = "auto"  # whether to look with JavaScript: auto means only where the plain page has no way in
    words: tuple[str, ...] = ()  # words to probe with first, from the user
    seed: int = 0
    background: int = (
        3  # nonsense queries; Entity §5 uses 10, its failures come from the signature, not from the number
    )
    probes: int = 15  # queries from the site's own words; Thor §IV uses 100, but a harvest goes on learning as it asks
    patience: int = 30  # queries in a row without a new record, after which the source counts as saturated
    checks: int = 8  # every so many queries one is a check query, for the size; not swept yet
    failures: int = 10  # answers in a row that are errors, after which the source counts as blocked


@dataclass
class Harvest:
    """What was brought up: the records by their key, what was learned, and what it took."""

    url: str
    template: Template
    model: SourceModel
    records: dict[str, dict[str, object]] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    curve: list[tuple[int, int]] = field(default_factory=list)  # requests sent, records held
    samples: dict[str, str] = field(default_factory=dict)  # for each kind the query of an answer and what it says
    stopped: Reason = "exhausted"
    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    checked: Estimate | None = None  # the size by check queries
    page_size: int = 0  # the most matches that an answer held
    ignored_robots: bool = False
    matched: Counter[int] = field(default_factory=Counter)  # how many queries brought so many matches

    @property
    def limit(self) -> int:
        """The most matches that the source gives for a query: the greatest number, if several queries brought just it; else 0."""
        most = max(self.matched, default=0)
        return most if self.matched[most] >= 3 else 0

    @property
    def overlap_rate(self) -> float:
        """Yuan's OR: matches returned for each record held."""
        return sum(self.seen.values()) / len(self.seen) if self.seen else 0.0

    @property
    def size(self) -> Estimate:
        """How many records the source has: by check queries where there are enough of them; at least so many where it cuts off.

        A record that only words above the limit reach is out of the check queries' sight.
        """
        return self.checked if self.checked and self.checked.estimate >= len(self.records) else chao(self.seen.values())

    def add(self, record: Record, query: str, page: str) -> bool:
        """Takes a record in; a further sight of one that is held fills its gaps. Says whether it is new."""
        self.seen[record.key] += 1
        held = self.records.get(record.key)
        if held is None:
            where = {"_key": record.key, "_source": self.template.url, "_url": record.url, "_query": query}
            self.records[record.key] = {**where, "_page": page, "_path": record.path, "_seen": 1, **record.fields}
            return True
        held["_seen"] = self.seen[record.key]
        for name, value in record.fields.items():
            held.setdefault(name, value)
        return False

    def summary(self) -> dict[str, object]:
        """As `summary.json` has it (DESIGN §5)."""
        size, held = self.size, len(self.records)
        found = Counter(name for row in self.records.values() for name in row if not name.startswith("_"))
        same = {
            "requests": self.requests,
            "answers": {kind: self.answers[kind] for kind in ("multi", "single", "none", "error")},
            "records": held,
            "overlap_rate": round(self.overlap_rate, 3),
            "size": {name: round(value) for name, value in asdict(size).items()},
            "coverage": round(held / size.estimate, 4) if size.estimate else 0.0,
            "checks": {
                "skipped": len(self.skipped),
                "limit": self.limit or None,
                "size_by": "checks" if self.checked else "chao",
                **({"robots": "ignored"} if self.ignored_robots else {}),
                "fill": {name: round(n / held, 3) for name, n in found.most_common()},
            },
            "stopped": self.stopped,
            "seconds": round(self.seconds, 1),
            "bytes": self.bytes,
        }
        return {"site": urlsplit(self.url).netloc, **same, "sources": [{"template": asdict(self.template), **same}]}


class Checking:
    """Check queries among the others: a new draw whenever the records held have doubled, and the size that follows."""

    def __init__(self, every: int, language: str) -> None:
        self.every, self.language = every, language
        self.checks: Checks | None = None
        self.waiting: list[str] = []
        self.drawn_at = 0
        self.texts: dict[str, str] = {}  # of the records that other queries brought

    def next(self, harvest: Harvest, turn: int) -> str | None:
        """The check query whose turn it is, if it is the turn of one."""
        if not self.every or turn % self.every or len(self.texts) < 50:
            return None
        if len(self.texts) >= 2 * self.drawn_at:
            self.checks, self.drawn_at = Checks(limit=harvest.limit, language=self.language), len(self.texts)
            self.waiting = self.checks.draw(self.texts, np.random.default_rng(self.drawn_at), 500)
        return self.waiting.pop() if self.waiting else None

    def note(self, harvest: Harvest, query: str, found: dict[str, str], check: bool) -> None:
        """Takes in what a query brought."""
        if not check:
            self.texts.update(found)
        elif self.checks is not None:
            self.checks.add(query, found, bool(harvest.limit) and len(found) >= harvest.limit)
            harvest.checked = self.checks.size(self.texts) or harvest.checked
