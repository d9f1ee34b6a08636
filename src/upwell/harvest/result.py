"""How far a harvest goes, and what it brought: the plan, each source with what it took, and the size by check queries."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np

from upwell.answers.totals import Trust
from upwell.answers.turning import Ended, learn_cap
from upwell.harvest.learn import SourceModel
from upwell.harvest.ways import Browser
from upwell.model import Estimate, Record, Skipped, Template
from upwell.queries.size import Checks, chao, next_new
from upwell.store.state import State

__all__ = ["WHOLE", "Checking", "Goal", "Harvest", "Plan", "Reason", "Site"]

WHOLE = 0.9  # share of what is held that one question brings, if it brings nearly everything; not swept
TESTED = 3  # queries whose totals were right before the others' are believed
Reason = Literal["coverage", "budget", "saturated", "exhausted", "blocked", "forbidden", "interrupted"]
Goal = Literal["complete", "representative"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How far a harvest goes, and what the user knows already."""

    budget: int = 1000  # requests
    seconds: float = 0.0  # 0: no limit
    bytes: int = 0  # 0: no limit
    coverage: float = 0.98  # share of the estimated size at which it is enough: the estimate itself is a few points off
    goal: Goal = "complete"  # representative: many different queries, first pages only (Entity)
    about: str = ""  # only what matches this, beyond the source's limit of results (Yuan §2)
    refresh: bool = False  # ask again what a finished harvest holds
    form: int | None = None  # which form of the page, where the judgement is not wanted
    template: str = ""  # how to ask, where the user knows: an address with {query} in it
    models: tuple[SourceModel, ...] = ()  # what answers look like, of each source, where that was learned before
    browser: Browser = "auto"  # whether to look with JavaScript: auto means only where the plain page has no way in
    words: tuple[str, ...] = ()  # queries of the user, asked first
    seed: int = 0
    background: int = (
        3  # nonsense queries; Entity §5 uses 10, its failures come from the signature, not from the number
    )
    probes: int = (
        10  # queries that are learned from at a time; Thor §IV uses 100, but a harvest goes on learning as it asks
    )
    patience: int = 30  # requests in a row without a new record, after which the source counts as saturated
    checks: int = 8  # every so many requests one is a check query, for the size; not swept yet
    failures: int = 10  # answers in a row that are errors, after which the source counts as blocked


@dataclass
class Harvest:
    """One source of a site: what was learned, what came, and what it took. The records themselves are in the state."""

    template: Template
    model: SourceModel
    state: State
    known: set[str] = field(default_factory=set)  # keys that any source of the site has brought
    seen: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    curve: list[tuple[int, int, int]] = field(default_factory=list)  # requests sent, records held, matches that came
    samples: dict[str, str] = field(default_factory=dict)  # for each kind the query of an answer and what it says
    outlined: list[tuple[str, str]] = field(
        default_factory=list
    )  # an answer as texts, each with the path of its record or ""
    stopped: Reason = "exhausted"
    checked: Estimate | None = None  # the size by check queries
    whole: int = 0  # what the source says it holds, by a question that asks for everything
    page_size: int = 0  # the most matches that an answer held
    limit: int = 0  # the most matches that the source gives for a query; 0: none is known
    matches: int = 0  # that came, a record as often as it came
    ended: list[Ended] = field(default_factory=list)  # how the pages of queries ended
    trusts: Counter[Trust] = field(default_factory=Counter)  # what they say of the source's totals
    often: Counter[int] = field(default_factory=Counter)  # how many records came so many times
    filtered: Counter[str] = field(default_factory=Counter)  # what was not asked or not taken, and why
    grammar: dict[str, str] = field(default_factory=dict)  # operators that the source understands
    relearned: int = 0
    listed: set[str] = field(default_factory=set)  # by broad questions whose pages came to their own end
    drawn: set[str] = field(default_factory=set)  # by other questions
    recaptured: Estimate | None = None  # the size by what these have in common
    longest: int = 0  # matches of the longest of these lists

    @property
    def nearly_all(self) -> bool:
        """Whether one question alone lists nearly everything that is held."""
        return self.longest >= WHOLE * len(self.seen) > 0

    @property
    def overlap_rate(self) -> float:
        """Yuan's OR: matches returned for each record held."""
        return self.matches / len(self.seen) if self.seen else 0.0

    @property
    def totals_hold(self) -> bool:
        """Whether the source's own totals can be believed: constant, and right where all matches came."""
        return self._told(("constant",))

    @property
    def totals_tell(self) -> bool:
        """Whether they tell large from small at least: right, or near."""
        return self._told(("constant", "estimate"))

    @property
    def totals_tested(self) -> bool:
        """Whether enough queries came to their end to say so; one that lied is enough."""
        wrong = self.trusts["growing"] + self.trusts["false"]
        return bool(wrong) or self.trusts.total() - self.trusts["unknown"] >= TESTED

    def _told(self, good: tuple[Trust, ...]) -> bool:
        right = sum(self.trusts[trust] for trust in good)
        return right >= TESTED and right >= 0.9 * (self.trusts.total() - self.trusts["unknown"])

    @property
    def lower_bound(self) -> bool:
        """Whether records may be out of the check queries' sight: only words above the limit reach them, and no totals count them."""
        return bool(self.limit) and not self.totals_hold

    @property
    def size_by(self) -> str:
        """What the size follows from."""
        if self.whole >= len(self.seen) > 0 and self.totals_hold:
            return "total"
        if self.checked and not (self.nearly_all and self.recaptured):
            return "checks"
        return "recaptured" if self.recaptured else "chao"

    @property
    def size(self) -> Estimate:
        """How many records the source has: what it says where it holds to it, else by check queries, by lists, or Chao's bound.

        Where one question lists nearly everything, by that list and what others draw, with the wider interval of both.
        """
        held = len(self.seen)
        if self.whole >= held and self.totals_hold:
            return Estimate(estimate=self.whole, low=held, high=self.whole) if held else _exactly(self.whole)
        found = self.checked or self.recaptured or chao(held, self.often[1], self.often[2])
        if self.nearly_all and (both := self.recaptured) is not None:
            found = Estimate(estimate=both.estimate, low=min(both.low, found.low), high=max(both.high, found.high))
        return Estimate(estimate=max(held, found.estimate), low=max(held, found.low), high=max(held, found.high))

    def over(self, ended: Ended) -> None:
        """The pages of a query came to an end."""
        self.ended.append(ended)
        self.trusts[ended.trust] += 1
        self.limit = learn_cap(self.ended) or 0

    def add(self, records: Sequence[Record], query: str, page: str) -> list[Record]:
        """Takes the records of an answer in; those that are new."""
        about = {"_source": self.template.url, "_query": query, "_page": page}
        keys = [record.key for record in records]
        # not by the state, which holds them already where a harvest goes on
        new = list({record.key: record for record in records if record.key not in self.known}.values())
        self.known.update(keys)
        self.matches += len(records)
        for key in keys:
            times = self.seen[key] = self.seen[key] + 1
            self.often[times] += 1
            self.often[times - 1] -= 1
        self.state.add(list(records), about)
        return new

    def figures(self) -> dict[str, object]:
        """What `summary.json` says of a source (DESIGN §5)."""
        size, held = self.size, len(self.seen)
        return {
            "template": asdict(self.template),
            "answers": {kind: self.answers[kind] for kind in ("multi", "single", "none", "error")},
            "records": held,
            "overlap_rate": round(self.overlap_rate, 3),
            "size": {name: round(value) for name, value in asdict(size).items()},
            "coverage": round(min(1.0, held / size.estimate), 4) if size.estimate else 0.0,
            "checks": self.checks(),
            "stopped": self.stopped,
        }

    def checks(self) -> dict[str, object]:
        """What the source said about itself that can be held against what came."""
        return {
            "skipped": len(self.skipped),
            "limit": self.limit or None,
            "lower_bound": self.lower_bound,
            "size_by": self.size_by,
            "totals": self.totals_hold,
            "understands": self.grammar,
            "relearned": self.relearned,
            "next_100": round(
                next_new([(sent, held) for sent, held, _ in self.curve])
            ),  # new records from 100 requests more
            "filtered": dict(self.filtered),
        }


@dataclass
class Site:
    """What was brought up from a site: its sources, and the state that holds the records of all."""

    url: str
    state: State
    sources: list[Harvest] = field(default_factory=list)
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


def _exactly(number: float) -> Estimate:
    return Estimate(estimate=number, low=number, high=number)


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
            # a word must come whole and in few requests, unless the source cuts off and says how much
            counted = harvest.totals_hold and harvest.limit
            most = 0 if counted else harvest.limit or FEW * max(1, harvest.page_size)
            self.checks, self.drawn_at = Checks(limit=most, language=self.language), len(self.texts)
            self.waiting = self.checks.draw(self.texts, np.random.default_rng(self.drawn_at), 500)
        return self.waiting.pop() if self.waiting else None

    @property
    def possible(self) -> bool:
        """Whether there is, or will be, something to ask."""
        return bool(self.every) and (bool(self.waiting) or not self.drawn_at)

    def saw(self, texts: dict[str, str]) -> None:
        """Takes in what another query brought."""
        for key, text in texts.items():
            if key not in self.texts:
                self.texts[key] = text
                if self.checks is not None:
                    self.checks.hold(key, text)

    def note(self, harvest: Harvest, query: str, found: dict[str, str], whole: bool, said: int | None) -> None:
        """Takes in what a check query brought: all of its matches (`whole`), or some of those that the source counts."""
        if self.checks is not None:
            self.checks.add(query, found, not whole, said)
            harvest.checked = self.checks.size(self.texts) or harvest.checked


FEW = 3  # pages that a check query may take; not swept
