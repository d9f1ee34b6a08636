"""The ledger of one source: which records are held, what it took, what the source said of itself, and how large it is."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from upwell.answers.result_pages import FinishedQuery, learn_cap
from upwell.answers.totals import TotalsTrust
from upwell.harvest.plan import Reason
from upwell.model import Estimate, Record, SearchInterface, Skipped
from upwell.queries.size import chao, next_new, recaptured
from upwell.source.model import SourceModel

__all__ = ["NEARLY_ALL_SHARE", "HeldRecord", "SourceLedger"]

NEARLY_ALL_SHARE = 0.9  # of the records held that one query must list to count as listing nearly everything; not swept
MIN_TESTED_TOTALS = 3  # queries whose stated totals were right before the totals of others are believed
MIN_RIGHT_SHARE = 0.9  # of the tested totals that must be right


@dataclass(slots=True)
class HeldRecord:
    """How a record came: how often, through a broad question that was walked to its end, through other questions."""

    times: int = 0
    is_listed: bool = False
    is_drawn: bool = False


@dataclass
class SourceLedger:
    """One source of a site. The records themselves are in the state on disk; here is what was counted about them."""

    interface: SearchInterface
    model: SourceModel
    siblings: "list[SourceLedger]" = field(default_factory=list)  # the other sources of the site
    held: dict[str, HeldRecord] = field(default_factory=dict)  # by key
    records_by_times: Counter[int] = field(default_factory=Counter)  # how many records came once, twice, …
    matches: int = 0  # that came; a record counts as often as it came
    answers: Counter[str] = field(default_factory=Counter)  # by kind
    skipped: list[Skipped] = field(default_factory=list)
    curve: list[tuple[int, int, int]] = field(default_factory=list)  # requests sent, records held, matches that came
    samples: dict[str, str] = field(default_factory=dict)  # for each kind of answer, the query and text of one
    outline: list[tuple[str, str]] = field(default_factory=list)  # of one answer, for the report
    filtered: Counter[str] = field(default_factory=Counter)  # what was not asked or not taken, by reason
    operators: dict[str, str] = field(default_factory=dict)  # query operators that the source understands
    page_size: int = 0  # the most records that an answer held
    limit: int = 0  # the result cap; 0: none is known
    finished: list[FinishedQuery] = field(default_factory=list)
    totals_trust: Counter[TotalsTrust] = field(default_factory=Counter)  # judgements of the totals of finished queries
    stated_size: int = 0  # what the source says it holds, in answer to a question for everything
    size_by_checks: Estimate | None = None
    size_by_recapture: Estimate | None = None
    longest_list: int = 0  # matches of the longest broad question that came to its end
    relearned: int = 0
    stopped: Reason = "exhausted"
    _listed: int = 0
    _drawn: int = 0
    _listed_and_drawn: int = 0

    def __len__(self) -> int:
        """The number of records held."""
        return len(self.held)

    # -- taking in -------------------------------------------------------------------------------------------------------

    def add(self, records: Sequence[Record]) -> list[Record]:
        """Counts the records of an answer; gives those that no source of the site had brought before."""
        sources = (self, *self.siblings)
        # not by the state on disk: where a harvest goes on, it holds them already
        new = {record.key: record for record in records if not any(record.key in source.held for source in sources)}
        for record in records:
            held = self.held.setdefault(record.key, HeldRecord())
            held.times += 1
            self.records_by_times[held.times] += 1
            self.records_by_times[held.times - 1] -= 1
        self.matches += len(records)
        return list(new.values())

    def finish(self, query: FinishedQuery) -> None:
        """The pages of a query came to their end: what that tells about totals and the result cap."""
        self.finished.append(query)
        self.totals_trust[query.trust] += 1
        self.limit = learn_cap(self.finished) or 0

    def mark(self, keys: Iterable[str], *, is_list: bool) -> None:
        """Notes how records came, for the size by recapture: in a list of (nearly) everything, or drawn by another query."""
        for key in keys:
            if (held := self.held.get(key)) is None:
                continue
            before = held.is_listed, held.is_drawn
            held.is_listed |= is_list
            held.is_drawn |= not is_list
            self._listed += held.is_listed - before[0]
            self._drawn += held.is_drawn - before[1]
            self._listed_and_drawn += (held.is_listed and held.is_drawn) - all(before)
        self.size_by_recapture = recaptured(self._listed, self._drawn, self._listed_and_drawn) if self._listed else None

    # -- what the source says of itself ----------------------------------------------------------------------------------

    @property
    def totals_hold(self) -> bool:
        """Whether the stated totals can be believed: constant, and right where all matches came."""
        return self._totals_are(("constant",))

    @property
    def totals_tell(self) -> bool:
        """Whether the stated totals tell large from small at least: right, or near."""
        return self._totals_are(("constant", "estimate"))

    @property
    def totals_are_usable(self) -> bool:
        """Whether the stated totals are good enough to choose by: not known to be wrong."""
        wrong = self.totals_trust["growing"] + self.totals_trust["false"]
        return 2 * wrong <= self._judged_totals

    @property
    def totals_tested(self) -> bool:
        """Whether enough queries came to their end to judge the totals; a single false one is enough."""
        wrong = self.totals_trust["growing"] + self.totals_trust["false"]
        return bool(wrong) or self._judged_totals >= MIN_TESTED_TOTALS

    @property
    def _judged_totals(self) -> int:
        return self.totals_trust.total() - self.totals_trust["unknown"]

    def _totals_are(self, good: tuple[TotalsTrust, ...]) -> bool:
        right = sum(self.totals_trust[trust] for trust in good)
        return right >= MIN_TESTED_TOTALS and right >= MIN_RIGHT_SHARE * self._judged_totals

    # -- size ------------------------------------------------------------------------------------------------------------

    @property
    def overlap_rate(self) -> float:
        """Yuan's OR: matches returned for each record held."""
        return self.matches / len(self) if self.held else 0.0

    @property
    def has_nearly_complete_list(self) -> bool:
        """Whether one query alone lists nearly everything that is held."""
        return self.longest_list >= NEARLY_ALL_SHARE * len(self) > 0

    @property
    def lower_bound(self) -> bool:
        """Whether the size may be much larger: answers are cut off, and no total counts what is held back."""
        return bool(self.limit) and not self.totals_hold

    @property
    def size_by(self) -> str:
        """The evidence that the size follows from."""
        if self.stated_size >= len(self) > 0 and self.totals_hold:
            return "total"
        if self.size_by_checks and not (self.has_nearly_complete_list and self.size_by_recapture):
            return "checks"
        return "recaptured" if self.size_by_recapture else "chao"

    @property
    def size(self) -> Estimate:
        """How many records the source has: what it states if its totals hold, else by check queries, recapture, or Chao's bound.

        Where one query lists nearly everything: by recapture, with an interval wide enough for both estimates.
        """
        held = len(self)
        if self.stated_size >= held and self.totals_hold:
            stated = float(self.stated_size)
            return Estimate(estimate=stated, low=held or stated, high=stated)
        size = self.size_by_checks or self.size_by_recapture
        size = size or chao(held, self.records_by_times[1], self.records_by_times[2])
        if self.has_nearly_complete_list and (recapture := self.size_by_recapture) is not None:
            size = Estimate(
                estimate=recapture.estimate, low=min(recapture.low, size.low), high=max(recapture.high, size.high)
            )
        return Estimate(estimate=max(held, size.estimate), low=max(held, size.low), high=max(held, size.high))

    # -- what the summary says -------------------------------------------------------------------------------------------

    def figures(self) -> dict[str, object]:
        """What `summary.json` says of the source."""
        size, held = self.size, len(self)
        return {
            "template": self.interface.as_dict(),
            "answers": {kind: self.answers[kind] for kind in ("multi", "single", "none", "error")},
            "records": held,
            "overlap_rate": round(self.overlap_rate, 3),
            "size": {name: round(value) for name, value in asdict(size).items()},
            "coverage": round(min(1.0, held / size.estimate), 4) if size.estimate else 0.0,
            "checks": self.checks(),
            "stopped": self.stopped,
        }

    def checks(self) -> dict[str, object]:
        """What the source said about itself that can be compared with what came."""
        return {
            "skipped": len(self.skipped),
            "limit": self.limit or None,
            "lower_bound": self.lower_bound,
            "size_by": self.size_by,
            "totals": self.totals_hold,
            "understands": self.operators,
            "relearned": self.relearned,
            # new records that 100 more requests should bring
            "next_100": round(next_new([(requests, held) for requests, held, _ in self.curve])),
            "filtered": dict(self.filtered),
        }
