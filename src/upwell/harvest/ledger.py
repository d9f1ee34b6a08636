"""The ledger of one source: which records are held, what it took, what the source said of itself, and how large it is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from upwell.answers.result_pages import FinishedQuery, evidence_of_cap, learn_cap
from upwell.answers.totals import TotalsTrust
from upwell.harvest.coverage import MAX_COMPARED, Coverage, Statement
from upwell.harvest.plan import Reason
from upwell.key_set import KeySet
from upwell.model import Estimate, Record, SearchInterface, Skipped
from upwell.queries.size import next_new
from upwell.queries.word_index import WordIndex
from upwell.source.model import SourceModel

__all__ = ["SourceLedger"]

MIN_TESTED_TOTALS = 3  # queries whose stated totals were right before the totals of others are believed
MIN_GROWING = 2  # queries whose totals grow from page to page, before no total is used
MIN_COMPARED = (
    20  # records that must have come, before they say that another source lists them; as `coverage.MIN_DRAWN`
)
MIN_LISTED_SHARE = 0.98  # of them, that it must list; not swept
FIRST_KEYS = 500  # that are kept as they are: what addresses of records look like is learned from them
MIN_RIGHT_SHARE = 0.9  # of the tested totals that must be right


@dataclass
class SourceLedger:
    """One source of a site. The records themselves are in the state on disk; here is what was counted about them."""

    interface: SearchInterface
    model: SourceModel
    siblings: "list[SourceLedger]" = field(default_factory=list)  # the other sources of the site
    held: KeySet = field(default_factory=KeySet)  # the keys of the records that came
    first_keys: list[str] = field(default_factory=list)  # of these, the first
    matches: int = 0  # that came; a record counts as often as it came
    answers: Counter[str] = field(default_factory=Counter)  # by kind
    skipped: list[Skipped] = field(default_factory=list)
    curve: list[tuple[int, int, int]] = field(default_factory=list)  # requests sent, records held, matches that came
    sizes: list[tuple[int, int, Statement]] = field(
        default_factory=list
    )  # requests sent, records held, what was said then
    samples: dict[str, str] = field(default_factory=dict)  # for each kind of answer, the query and text of one
    outline: list[tuple[str, str]] = field(default_factory=list)  # of one answer, for the report
    filtered: Counter[str] = field(default_factory=Counter)  # what was not asked or not taken, by reason
    operators: dict[str, str] = field(default_factory=dict)  # query operators that the source understands
    page_size: int = 0  # the most records that an answer held
    limit: int = 0  # the result cap; 0: none is known
    finished: list[FinishedQuery] = field(default_factory=list)  # queries, as many as tell of the result cap
    growing_totals: int = 0  # queries whose second page stated a total that is larger by about a page
    totals_with_next: Counter[int] = field(default_factory=Counter)  # of answers of more than one page
    totals_trust: Counter[TotalsTrust] = field(default_factory=Counter)  # judgements of the totals of finished queries
    coverage: Coverage = field(default_factory=lambda: Coverage(WordIndex()))  # the evidence of the size
    relearned: int = 0
    stopped: Reason = "exhausted"
    _statement: Statement | None = None
    _stated_at: tuple[int, int, bool] = (-1, 0, False)  # matches that had come, and what lists showed

    def __len__(self) -> int:
        """The number of records held."""
        return len(self.held)

    @property
    def is_readable(self) -> bool:
        """Whether records of the source can be read: its answers were understood, or it is an index."""
        return bool(self.model.leader) or bool(self.held)

    # -- taking in -------------------------------------------------------------------------------------------------------

    def add(self, records: Sequence[Record]) -> list[Record]:
        """Counts the records of an answer; gives those that no source of the site had brought before."""
        by_key = {record.key: record for record in records}
        # not by the state on disk: where a harvest goes on, it holds them already
        new = self.held.without(by_key)
        if len(self.first_keys) < FIRST_KEYS:
            self.first_keys += new
        for other in self.siblings:
            new = other.held.without(new)
        self.held.update(by_key)
        self.matches += len(records)
        return [by_key[key] for key in new]

    def finish(self, query: FinishedQuery) -> None:
        """The pages of a query came to their end: what that tells about totals and the result cap."""
        self.finished.append(query)
        self.totals_trust[query.trust] += 1
        self.finished = evidence_of_cap(self.finished)
        self.limit = learn_cap(self.finished) or 0
        is_whole = query.end == "last page" and not (self.limit and query.matches >= self.limit)
        if query.total is not None and query.matches and is_whole:
            self.coverage.add_error(abs(query.total - query.matches) / query.matches)

    @property
    def is_listed_elsewhere(self) -> bool:
        """Whether a list that another source of the site walked to its end has nearly all that this source brought."""
        walked = (
            other.coverage.listed
            for other in self.siblings
            if other.coverage.is_whole_list and other.coverage.is_linked_list
        )
        return len(self) >= MIN_COMPARED and any(
            listed.share_of(self.held, MAX_COMPARED) >= MIN_LISTED_SHARE for listed in walked
        )

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
        """Whether the stated totals are good enough to choose by: not known to be wrong, nor to count what was shown so far."""
        if self.growing_totals >= MIN_GROWING:
            return False
        wrong = self.totals_trust["growing"] + self.totals_trust["false"]
        return not wrong or 2 * wrong <= self._judged_totals

    def tells_by_total(self, total: int | None) -> bool:
        """Whether a stated total tells the number of matches: totals are usable, and it is none that all long answers state."""
        return bool(total) and self.totals_are_usable and self.totals_with_next[total or 0] < MIN_TESTED_TOTALS

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
    def statement(self) -> Statement:
        """How many records the source has, and how sure that is."""
        now = self.matches, len(self.coverage.listed), self.coverage.is_whole_list
        if self._statement is None or self._stated_at != now:
            self.coverage.held, self.coverage.cuts_off = len(self), bool(self.limit)
            self.coverage.is_counted = self.totals_are_usable and bool(self.coverage.totals)
            self.coverage.totals_lie = not self.totals_are_usable
            self._statement, self._stated_at = self.coverage.statement(), now
        return self._statement

    @property
    def size(self) -> Estimate:
        """How many records the source has."""
        return self.statement.size

    @property
    def lower_bound(self) -> bool:
        """Whether the size has no upper end."""
        return self.statement.is_lower_bound

    @property
    def size_by(self) -> str:
        """The evidence that the size follows from."""
        return self.statement.by

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
            "coverage": None if self.lower_bound else round(held / max(size.estimate, held, 1), 4),
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
