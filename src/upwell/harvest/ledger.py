"""The ledger of one source: what was learned, what came, what it took, and how large the source is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from upwell.answers.result_pages import FinishedQuery, learn_cap
from upwell.answers.totals import Trust
from upwell.harvest.plan import Reason
from upwell.model import Estimate, Record, SearchInterface, Skipped
from upwell.queries.size import chao, next_new
from upwell.source.model import SourceModel
from upwell.store.state import State

__all__ = ["WHOLE", "SourceLedger"]

WHOLE = 0.9  # share of what is held that one question brings, if it brings nearly everything; not swept
TESTED = 3  # queries whose totals were right before the others' are believed


@dataclass
class SourceLedger:
    """One source of a site: what was learned, what came, and what it took. The records themselves are in the state."""

    template: SearchInterface
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
    ended: list[FinishedQuery] = field(default_factory=list)  # how the pages of queries ended
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

    def over(self, ended: FinishedQuery) -> None:
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


def _exactly(number: float) -> Estimate:
    return Estimate(estimate=number, low=number, high=number)
