"""The ledger of one source: records held, requests, the statements of the source about itself, and its size."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from upwell.answers.totals import TotalsTrust
from upwell.arrays.key_set import KeySet
from upwell.choose.coverage import (
    MAX_COMPARED,
    RULE_OF_THREE,
    CoverageEvidence,
    CoverageStatement,
    SizeState,
)
from upwell.choose.plan import Reason
from upwell.choose.repetition import Repetition
from upwell.choose.result_pages import FinishedQuery, cap_evidence, learn_cap
from upwell.choose.size import next_new
from upwell.choose.word_index import WordIndex
from upwell.papers.yuan import overlap_rate
from upwell.source.model import SourceModel
from upwell.types import Estimate, Record, SearchInterface, Skipped

__all__ = ["SourceLedger"]

MIN_TESTED_TOTALS = 3  # queries with correct totals needed before totals are trusted
MIN_TESTED_MATCHES = 5  # matches of a query whose total tests the totals of a source, if it is right
MIN_GROWING = 2  # queries whose totals grow from page to page after which no total is used
MIN_COMPARED = 20  # records needed to decide that another source lists them; as `coverage.MIN_DRAWN`
MIN_LISTED_SHARE = 0.98  # share of them that the other source must list; not swept
FIRST_KEYS = 500  # keys kept as text, to learn what URLs of records look like
MIN_RIGHT_SHARE = 0.9  # share of the tested totals that must be correct


@dataclass
class SourceLedger:
    """Ledger of one source of a site. The records themselves are in the state on disk; this counts them."""

    interface: SearchInterface
    model: SourceModel
    siblings: "list[SourceLedger]" = field(default_factory=list)  # other sources of the site
    held: KeySet = field(default_factory=KeySet)  # keys of the records
    first_keys: list[str] = field(default_factory=list)  # the first of these
    matches: int = 0  # returned in all; a record counts each time
    answers: Counter[str] = field(default_factory=Counter)  # by kind
    skipped: list[Skipped] = field(default_factory=list)
    curve: list[tuple[int, int, int]] = field(default_factory=list)  # requests sent, records held, matches returned
    sizes: list[tuple[int, int, CoverageStatement]] = field(
        default_factory=list
    )  # requests sent, records held, coverage statement at that time
    samples: dict[str, str] = field(default_factory=dict)  # query and text of one answer of each kind
    outline: list[tuple[str, str]] = field(default_factory=list)  # of one answer, for the report
    filtered: Counter[str] = field(default_factory=Counter)  # what was not asked or not kept, by reason
    operators: dict[str, str] = field(default_factory=dict)  # query operators that the source supports
    page_size: int = 0  # largest number of records in an answer
    result_cap: int = 0  # largest number of matches that the source returns for a query; 0: unknown
    finished: list[FinishedQuery] = field(default_factory=list)  # the queries needed to learn the result cap
    growing_totals: int = 0  # queries whose second page stated a total larger by about a page
    totals_with_next: Counter[int] = field(default_factory=Counter)  # totals of answers with more than one page
    totals_trust: Counter[TotalsTrust] = field(default_factory=Counter)  # judgements of the totals of finished queries
    coverage: CoverageEvidence = field(default_factory=lambda: CoverageEvidence(WordIndex()))  # evidence for the size
    repetition: Repetition = field(default_factory=Repetition)  # evidence that the source invents records
    is_cut_off: bool = (
        False  # the source has no words to ask for, and some of its form's regions are not read to their end
    )
    relearned: int = 0
    stopped: Reason = "exhausted"
    next_yield: float = 0.0  # new records expected of the best candidate that was not asked when the harvest ended
    _statement: CoverageStatement | None = None
    _stated_at: tuple[int, int, bool, int] = (-1, 0, False, 0)  # matches and list state at the time of `_statement`

    def __len__(self) -> int:
        """Return the number of records held."""
        return len(self.held)

    @property
    def is_readable(self) -> bool:
        """Return True if records can be read: the answers were understood, or the source is an index."""
        return bool(self.model.leader) or bool(self.held)

    # -- records ---------------------------------------------------------------------------------------------------------

    def add(self, records: Sequence[Record]) -> list[Record]:
        """Count the records of an answer; return those that no source of the site has returned before."""
        by_key = {record.key: record for record in records}
        # not by the state on disk: a resumed harvest holds them already
        new = self.held.without(by_key)
        if len(self.first_keys) < FIRST_KEYS:
            self.first_keys += new
        for other in self.siblings:
            new = other.held.without(new)
        self.coverage.numbers.note(list(by_key), new)
        self.held.update(by_key)
        self.matches += len(records)
        return [by_key[key] for key in new]

    def finish(self, query: FinishedQuery) -> None:
        """Add a finished query; learn from it about totals and the result cap."""
        self.finished.append(query)
        self.totals_trust[query.trust] += 1
        self.finished = cap_evidence(self.finished)
        before, self.result_cap = self.result_cap, learn_cap(self.finished) or 0
        if self.result_cap and not before:  # totals of queries that were cut off seemed wrong
            kept = [each for each in self.finished if each.matches < self.result_cap and each.end == "last page"]
            self.coverage.errors = []
            for each in kept:
                if each.total is not None and each.matches:
                    self.coverage.add_error(abs(each.total - each.matches) / each.matches)
        is_whole = query.end == "last page" and not (self.result_cap and query.matches >= self.result_cap)
        if query.total is not None and query.matches and is_whole:
            error = abs(query.total - query.matches) / query.matches
            if error or query.matches >= MIN_TESTED_MATCHES:  # a total of one or two matches is right by chance
                self.coverage.add_error(error)

    @property
    def is_listed_elsewhere(self) -> bool:
        """Return True if a complete list of another source contains nearly all records of this one."""
        walked = (
            other.coverage.listed
            for other in self.siblings
            if other.coverage.is_list_complete and other.coverage.is_linked_list
        )
        return len(self) >= MIN_COMPARED and any(
            listed.share_of(self.held, MAX_COMPARED) >= MIN_LISTED_SHARE for listed in walked
        )

    # -- statements of the source about itself ----------------------------------------------------------------------------------

    @property
    def totals_are_exact(self) -> bool:
        """Return True if stated totals can be trusted: constant, and correct where all matches were fetched."""
        return self._totals_are(("constant",))

    @property
    def totals_are_near(self) -> bool:
        """Return True if stated totals are at least approximately correct."""
        return self._totals_are(("constant", "estimate"))

    @property
    def totals_are_usable(self) -> bool:
        """Return True if totals are good enough to choose by: not known to be wrong or to count what was shown so far."""
        if self.growing_totals >= MIN_GROWING:
            return False
        wrong = self.totals_trust["growing"] + self.totals_trust["false"]
        return not wrong or 2 * wrong <= self._judged_totals

    def can_use_total(self, total: int | None) -> bool:
        """Return True if a total tells the number of matches: totals are usable, and not all long answers state this one."""
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
        """Return the matches returned per record held (Yuan §2.4.2); 0 before the first record."""
        return overlap_rate(self.matches, len(self)) if self.held else 0.0

    @property
    def statement(self) -> CoverageStatement:
        """Return the coverage statement, recomputed only when the evidence has changed."""
        now = self.matches, len(self.coverage.listed), self.coverage.is_list_complete, self.coverage.lists_read
        if self._statement is None or self._stated_at != now:
            self.coverage.held, self.coverage.is_one_page = len(self), 0 < self.result_cap <= self.page_size
            self.coverage.is_list_capped = 0 < self.result_cap <= len(self.coverage.listed)
            self.coverage.is_counted = self.totals_are_usable and bool(self.coverage.totals)
            self.coverage.totals_are_wrong = not self.totals_are_usable
            self._statement, self._stated_at = self.coverage.statement(), now
        return self._statement

    @property
    def size(self) -> Estimate:
        """Return the estimated number of records of the source."""
        return self.statement.size

    @property
    def lower_bound(self) -> bool:
        """Return True if the size has no upper bound; it has none if the source invents records, or regions of its form are cut off."""
        is_cut_off = self.is_cut_off and self.size_by != "total"
        return self.statement.is_lower_bound or self.repetition.repeated > 0 or is_cut_off

    @property
    def state(self) -> SizeState:
        """Return what is known of the size."""
        state = self.statement.state
        return "at least" if self.lower_bound and state != "unknown" else state

    @property
    def size_by(self) -> str:
        """Return the evidence that the size follows from."""
        return self.statement.by

    # -- summary -------------------------------------------------------------------------------------------

    def figures(self) -> dict[str, object]:
        """Return the entry of the source in `summary.json`."""
        size, held = self.size, len(self)
        interface = self.interface.as_dict()
        return {
            "search_interface": interface,
            "template": interface,  # deprecated name of `search_interface`
            "answers": {kind: self.answers[kind] for kind in ("multi", "single", "none", "error")},
            "records": held,
            "overlap_rate": round(self.overlap_rate, 3),
            "size": {name: round(value) for name, value in asdict(size).items()},
            "coverage": None if self.lower_bound else round(held / max(size.estimate, held, 1), 4),
            "checks": self.checks(),
            "stopped": self.stopped,
        }

    def _unasked(self) -> dict[str, float]:
        """Return the words that were not asked, the most records that they are expected to return, and what the next request is."""
        words, _ = self.coverage.words.unasked()
        new, pages = self.coverage.new_on_recent_pages()
        most = self.coverage.expected_from_unasked((new + RULE_OF_THREE) / max(1, pages))
        return {"words": words, "records": math.ceil(most), "next_request": round(self.next_yield, 3)}

    def checks(self) -> dict[str, object]:
        """Return the statements of the source that can be compared with the harvest."""
        return {
            "skipped": len(self.skipped),
            "result_cap": self.result_cap or None,
            "limit": self.result_cap or None,  # deprecated name of `result_cap`
            "lower_bound": self.lower_bound,
            "state": self.state,
            "size_by": self.size_by,
            "views": list(self.statement.views),
            "unasked": self._unasked(),
            "totals": self.totals_are_exact,
            "understands": self.operators,
            "relearned": self.relearned,
            "repeated": self.repetition.repeated,
            # new records expected from 100 more requests
            "next_100": round(next_new([(requests, held) for requests, held, _ in self.curve])),
            "filtered": dict(self.filtered),
        }
