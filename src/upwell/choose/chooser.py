"""Choose the next request of a source: the candidate, or the next page of an open query, with the highest expected yield.

given         queries of the user, probe words, and queries for everything (empty, star): asked first
word          a word of the records held; common word: a frequent word of the language that no record held contains
pair          two words, for queries with more matches than the result cap (`pairs`)
prefix        the beginning of a word with a star (`prefix_queries`)
proposed      a name of a knowledge base, a query of a log, or the proposal of a plug-in (`proposers`)
facet         a facet or sort order that a capped answer links to (`facet_candidates`)
region        values of the filters of a form: selects and ranges (`region_candidates`)
list, export  a list without a query, or data to download (`list_candidates`)
check         an independent word, which shows how complete a list is (`coverage.CheckQueries`)

All are compared by `expected_yield.advantage`: the new records expected of their remaining pages, minus what the same requests
would return elsewhere. The chooser sees pages as values, never as HTML, so that it also runs against simulated sources.
"""

import heapq
import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from upwell.arrays.key_set import KeySet
from upwell.choose.candidates import AnswerPage, Candidate, OpenQueries, OpenQuery, distinct
from upwell.choose.coverage import MIN_CHECK_RECORDS, CheckQueries
from upwell.choose.expected_yield import (
    GOOD_SHARE,
    HORIZON,
    CandidateKind,
    ExpectedYield,
    YieldEstimator,
    advantage,
    new_per_request,
)
from upwell.choose.facet_candidates import FacetCandidates
from upwell.choose.ledger import SourceLedger
from upwell.choose.list_candidates import ListCandidates
from upwell.choose.pairs import FORMS, WordPairs, write_pair
from upwell.choose.plan import Plan, Reason
from upwell.choose.prefix_queries import PrefixQueries
from upwell.choose.proposers import KnowledgeProposer, LogQueries, Proposer, RelatedQueries
from upwell.choose.region_candidates import RegionCandidates
from upwell.choose.size_sample import MAX_PAGES as MAX_SAMPLE_PAGES
from upwell.choose.size_sample import SizeSample
from upwell.choose.url_repository import UrlRepository
from upwell.choose.word_candidates import CommonWords, MinWordLength, WordYield
from upwell.choose.word_index import SeenRecord
from upwell.lexicon.frequent_words import EVERYTHING
from upwell.page.tokens import query_words
from upwell.types import Decision, FormFilter, Record, Request, WeighedCandidate

__all__ = ["Chooser"]

CAPPED_PATIENCE = 5  # patience multiplier while answers are capped and the coverage goal is not met; not swept
# share of the records held that a query may return as new while the source counts as saturated
SATURATED_SHARE = 3e-5
MAX_KEYS_COMPARED = 50  # keys of a first page by which the first pages of two regions are compared
MAX_CHECK_PAGES = 5  # pages of a check query if the source states no total
# one of so many pages belongs to a query drawn at random (`size_sample`), until the size is known closely; on benchmarks.ground --random,
# 5 cost 0.6 % of the requests to 95 %
SAMPLE_EVERY = 4
# such pages after which only one of `LATER_SAMPLE_EVERY` is: on the demo site, whose rare words stay far from the missing records, the size
# was not known closely after 590 of 4,500 requests
MANY_SAMPLED, LATER_SAMPLE_EVERY = 50, 20
MAX_OTHERS = 4  # candidates that a decision records besides the chosen one
MAX_FAILURES = 2  # failures of one page in a row before its query is postponed
# a capped query without a total is assumed to have at least twice the matches that were returned
UNCOUNTED_FACTOR = 2.0


class _Option(NamedTuple):
    """A new candidate or an open query in a comparison."""

    choice: Candidate | OpenQuery
    expected: ExpectedYield
    rate: float  # expected new records per request


class Chooser:
    """The open queries and candidates of a source, and the choice between them."""

    def __init__(
        self,
        ledger: SourceLedger,
        plan: Plan,
        *,
        language: str,
        takes_text: bool,
        is_about: bool,
        min_chars: int = 0,
        filters: Sequence[FormFilter] = (),
        urls: UrlRepository | None = None,
    ) -> None:
        self.ledger, self.plan, self.language = ledger, plan, language
        self.takes_text = takes_text  # False: the form only accepts the values of its select
        self.is_about = is_about  # only records about a topic are wanted
        urls = UrlRepository() if urls is None else urls  # its blobs also store the word index
        self.words = WordYield(language=language, keeps_stop_words=True, min_chars=min_chars, blobs=urls.blobs)
        ledger.coverage.words = self.words
        ledger.coverage.takes_first_pages = plan.goal == "representative"
        self.short_words, self.common_words = MinWordLength(self.words), CommonWords(self.words)
        self.pairs = WordPairs(self.words)
        self.facets = FacetCandidates(self.words, urls)
        self.regions = RegionCandidates(() if is_about or plan.goal != "complete" else filters)
        self.checks = CheckQueries(self.words)
        self.proposers: list[Proposer] = [make(self.words) for make in plan.proposers]
        if plan.knowledge is not None:
            self.proposers.append(KnowledgeProposer(plan.knowledge, self.words))
        if plan.log_queries and not is_about:
            self.proposers.append(LogQueries(plan.log_queries, self.words))
        self.related = RelatedQueries(self.words, urls)
        self.prefixes = PrefixQueries(self.words)
        if plan.goal == "representative":
            self.proposers.append(self.related)
        elif not is_about:
            self.proposers.append(self.prefixes)
        self.lists = ListCandidates(ledger.coverage)
        self.open_queries = OpenQueries()
        self.waiting: deque[str] = deque()  # queries to ask before anything is compared
        # queries that ask for all wanted records
        self.everything: tuple[str, ...] = (plan.about,) if is_about else EVERYTHING if takes_text else ()
        if self.regions.regions and not takes_text:
            self.everything = ("",)
        self.is_serial = False  # the pages of a query are read to the end before another is asked
        self._again: deque[Candidate] = deque()  # to be asked again, because their further pages cannot be told apart
        # new records per query, without check queries: a query with many pages of known records is a single failure
        self._new_by_query: deque[int] = deque(maxlen=plan.patience * CAPPED_PATIENCE)
        self._put_off: list[OpenQuery] = []  # postponed after failures, to be tried once more
        self._asked: set[str] = set()
        self.yields = YieldEstimator(ledger, self.words, self.everything)
        self.decision: Decision | None = None  # of the last call of `next`
        self._pages = 0
        self._check_pages = 0

    def start(self, first: Sequence[str]) -> None:
        """Set the queries to ask first; the queries for everything follow."""
        self.waiting.extend(dict.fromkeys((*first, *self.everything)))
        if self.takes_text and not self.is_about:
            self.common_words.start()

    # -- stopping --------------------------------------------------------------------------------------------------------

    def reason_to_stop(self) -> Reason | None:
        """Return why to stop; None to continue."""
        ledger, held = self.ledger, len(self.ledger)
        is_incomplete = ledger.result_cap and held < self.plan.coverage * ledger.size.estimate
        patience = self.plan.patience * (CAPPED_PATIENCE if is_incomplete else 1)
        has_regions = bool(self.regions.waiting) and not self.takes_text  # where nothing else is left to ask
        last = list(self._new_by_query)[-patience:]
        is_dry = not has_regions and len(last) == patience and sum(last) <= SATURATED_SHARE * held * patience
        if is_dry and (
            ledger.result_cap or not ledger.totals_are_near or self.open_queries.largest_total() <= held
        ):  # unless the stated totals promise more
            return "saturated"
        if self.regions.needs_test and not self.takes_text:
            return None  # where words can be asked, their totals test that of the form
        if ledger.is_listed_elsewhere:
            return "coverage"
        if not held or ledger.lower_bound or held < self.plan.coverage * ledger.size.high:
            return None
        return "coverage"

    # -- choosing --------------------------------------------------------------------------------------------------------

    def next(self) -> Candidate | OpenQuery | None:
        """Return a candidate to ask, or an open query whose next page to fetch; None if nothing is left.

        `decision` records the choice and the best of the others.
        """
        choice = self._next_uncompared()
        if choice is not None:
            self.decision = Decision(_weighed(choice))
            return choice
        options, best = self._options()
        self.yields.best_rate = best
        self.decision = None
        if not options:
            return None
        # a list of everything contains the records of all other candidates, so a good share of the best yield is enough
        at = next((i for i, option in enumerate(options) if self._is_good_list(option, best)), None)
        values = [option.rate for option in options]
        prefers_list = at is not None
        if at is None:
            values = [advantage(option.expected, best) for option in options]
            for option, value in zip(options, values, strict=True):
                if isinstance(option.choice, OpenQuery):
                    option.choice.last_value = value
            at = values.index(max(values))
        chosen = options[at]
        others = heapq.nlargest(MAX_OTHERS + 1, range(len(options)), key=values.__getitem__)
        self.decision = Decision(
            _weighed(chosen.choice, chosen, None if prefers_list else values[at]),
            tuple(
                _weighed(options[i].choice, options[i], None if prefers_list else values[i]) for i in others if i != at
            )[:MAX_OTHERS],
            prefers_list,
        )
        if isinstance(chosen.choice, Candidate) and chosen.choice.facet:
            self.facets.mark_asked()
        return chosen.choice

    def ask_serially(self) -> None:
        """Read each query to its end before the next, and ask those again that are open: the server keeps only the results of the last."""
        self.is_serial = True
        for query in [each for each in self.open_queries if not each.listing]:
            self.open_queries.remove(query)
            self._again.append(query.candidate)

    def _next_uncompared(self) -> Candidate | OpenQuery | None:
        """Return what is asked without a comparison: given queries, and check queries when they are due."""
        if self.is_serial:
            if (current := next((query for query in self.open_queries if not query.listing), None)) is not None:
                return current
            if self._again:
                return self._again.popleft()
        while self.waiting:
            given = self.waiting.popleft()
            if given in self.everything or self.words.accepts(given):
                return Candidate(query=given)
        if len(self._put_off) >= self.plan.failures:
            self.retry()
        if (check := self._check()) is not None:
            return check
        return next((query for query in self.open_queries if query.is_check), None)

    def _options(self) -> tuple[list[_Option], float]:
        """Return the open queries and the best candidate of each kind, and the highest expected yield per request."""
        size = self.yields.size()
        options = [_option(query, self.yields.of_open_query(query, size)) for query in self.open_queries.to_compare()]
        best_open = max((option.rate for option in options), default=0.0)
        options += [_option(candidate, candidate.expected_yield) for candidate in self._candidates(best_open, size)]
        return options, max((option.rate for option in options), default=0.0)

    def _is_good_list(self, option: _Option, best: float) -> bool:
        """Return True for an open list of everything with at least a good share of the best yield per request."""
        query = option.choice
        return isinstance(query, OpenQuery) and self.yields.lists_everything(query) and option.rate >= GOOD_SHARE * best

    def _candidates(self, best: float, size: float) -> Iterable[Candidate]:
        """Yield the best candidate of each kind; `best` is the highest yield per request of an open query."""
        yield from self.lists.candidates(self.yields)
        ledger = self.ledger
        if (proposal := self.regions.next(len(ledger), size, ledger.page_size, ledger.result_cap)) is not None:
            region, expected = proposal
            new = self.yields.received_share("region") * expected.new
            expected = ExpectedYield(new, expected.pages, self.yields.match_chance("region"))
            yield Candidate(query="", kind="region", region=region, expected_yield=expected)
        if not self.takes_text:
            return
        page = float(self.ledger.page_size or 10)
        self.words.size = size
        if (word := self.words.propose(best, HORIZON, GOOD_SHARE)) is not None:
            query = write_pair(FORMS["and"][0], self.plan.about, word[0]) if self.is_about else word[0]
            yield Candidate(query=query, kind="word", word=word[0], expected_yield=ExpectedYield(*word[1:]))
        if (common := self.common_words.next(self._asked)) is not None:
            new = self.yields.received_share("common word") * page * max(0.0, 1 - len(self.ledger) / size)
            expected = ExpectedYield(new, 1.0, self.yields.match_chance("common word"))
            yield Candidate(query=common, kind="common word", expected_yield=expected)
        for proposer in self.proposers:
            if (proposed := proposer.propose()) is not None and proposed[0] not in self._asked:
                kind: CandidateKind = "prefix" if proposer is self.prefixes else "proposed"
                query, expected = proposed
                expected = expected._replace(new=self.yields.received_share(kind) * expected.new)
                yield Candidate(query=query, kind=kind, expected_yield=expected)
        if (pair := self.pairs.next()) is not None:
            expected = ExpectedYield(pair.expected * pair.pages, pair.pages)
            yield Candidate(query=pair.query, kind="pair", pair=pair, expected_yield=expected)
        if (facet := self.facets.next()) is not None:
            share = self.yields.received_share("facet")
            expected = ExpectedYield(share * facet.expected * facet.pages, facet.pages)
            yield Candidate(query=facet.query, kind="facet", facet=facet, expected_yield=expected)

    def _check(self) -> Candidate | None:
        """Return a check query if one is due."""
        if self.is_about or not self.plan.checks:
            return None
        is_for_list = self.ledger.coverage.needs_draws
        sample_every = SAMPLE_EVERY if self._check_pages < MANY_SAMPLED else LATER_SAMPLE_EVERY
        every = self.plan.checks if is_for_list else sample_every
        if every * self._check_pages >= self._pages:
            return None
        if not self.takes_text:
            region = self.regions.next_check(self.ledger.result_cap) if is_for_list else None
            return None if region is None else Candidate(query="", kind="check", region=region)
        if not is_for_list:
            is_due = len(self.ledger) >= MIN_CHECK_RECORDS and self.ledger.coverage.needs_sample
            chosen = self.next_of_sample() if is_due else None
            return chosen if isinstance(chosen, Candidate) else None
        check = self.checks.next(self.ledger.page_size)
        return None if check is None or check in self._asked else Candidate(query=check, kind="check")

    def retry(self) -> bool:
        """Reopen the postponed queries (Entity §2); return True if there were any."""
        self.open_queries.extend(self._put_off)
        had_some, self._put_off = bool(self._put_off), []
        return had_some

    def may_look_for_lists(self) -> bool:
        """Return True if a page should be opened to find a list without a query."""
        return self.wants_lists and self.lists.may_look(self._pages, self.open_queries, self.yields)

    @property
    def wants_lists(self) -> bool:
        """Return True if lists are useful now: all records are wanted, and the given queries were asked."""
        return not (self.waiting or self.is_about or self.plan.goal != "complete")

    def next_of_sample(self) -> Candidate | OpenQuery | None:
        """Return the next query drawn to estimate the size, or the open one; None if no more can be drawn (`Plan.certify`)."""
        coverage = self.ledger.coverage
        if not self.takes_text or self.is_about:
            return None
        if coverage.sample is None:
            coverage.sample = SizeSample(self.words, self.plan.seed)
        open_query = next((query for query in self.open_queries if query.sampled), None)
        if open_query is not None:
            return open_query
        drawn = coverage.sample.next(self.ledger.page_size)
        return None if drawn is None else Candidate(query=drawn.query, kind="check", word=drawn.query)

    # -- results -------------------------------------------------------------------------------------------------------

    def open(self, candidate: Candidate, request: Request | None = None) -> OpenQuery:
        """Open a candidate, whose pages can be fetched from now on."""
        query = OpenQuery(candidate, request, is_check=candidate.is_check)
        sample = self.ledger.coverage.sample
        if sample is not None and candidate.is_check and sample.queries and sample.queries[-1].query == candidate.query:
            query.sampled = sample.queries[-1]
        expected = candidate.expected_yield
        query.next_page = expected.new / expected.pages
        self.open_queries.append(query)
        if candidate.listing:
            self.lists.mark_asked(candidate)
            return query
        query.pages.cap = self.ledger.result_cap or None
        if candidate.region:
            self.regions.mark_asked(candidate.region.number)
            return query
        self._asked.add(candidate.query)
        if candidate.pair:
            self.pairs.asked(candidate.pair)
        elif query.is_plain:
            self.words.mark_asked(candidate.word or candidate.query)
        if len(query.words) > 1:
            query.held_showing = self.words.count_with(*query.words)
        return query

    def fail(self, query: OpenQuery) -> None:
        """Note that a page could not be fetched: it is tried again at once, then once more later."""
        query.failures += 1
        if query.failures < MAX_FAILURES:
            return
        self.open_queries.remove(query)
        if self.is_serial and query.pages.pages:
            return  # its next page cannot be asked later
        if query.failures == MAX_FAILURES:
            self._put_off.append(query)
        elif query.region:
            self.regions.fail(query.region.number)
        if query.failures == MAX_FAILURES:
            for proposer in self.proposers:
                proposer.observe(query.query, 0, 0)

    def take(self, query: OpenQuery, page: AnswerPage) -> list[Record]:
        """Add a page of an open query; return the new records. A query without a further page is closed."""
        query.failures, query.last_value = 0, math.inf
        end = query.pages.add_page(
            [record.key for record in page.records], page.totals, has_next=page.has_next, is_open=page.is_open
        )
        is_repeated = query.pages.ends_with_false_page and bool(page.records)
        if query.sampled and not is_repeated and self.ledger.coverage.sample is not None:
            self.ledger.coverage.sample.add(query.sampled, page.records, self.ledger.held)
        new = [] if is_repeated else self.hold(query, page.wanted)
        query.stated_total, query.last_page_size = query.pages.usual_total, len(page.records)
        if query.listing:
            self.lists.take(query.listing, page)
        elif query.pages.pages == 1 and page.has_next and query.stated_total:
            self.ledger.totals_with_next[query.stated_total] += 1
        if query.pages.pages == 2 and page.has_next and query.totals_grow():
            self.ledger.growing_totals += 1
        if self.ledger.can_use_total(query.stated_total):
            self.yields.largest_total = max(self.yields.largest_total, query.stated_total or 0)
        self._add_evidence(query, page, len(new))
        self._observe(query, len(new), has_next=page.has_next)
        if query.is_plain and query.pages.pages == 1 and self.takes_text:
            self.short_words.note(query.words, is_found=bool(page.records), is_refused=page.is_refused)
        has_more = page.has_next and not end and not self.lists.is_known_list(query, page)
        is_over = not has_more or (query.is_check and self._check_is_done(query))
        if query.pages.pages == 1:
            self._learn_from_first_page(query, page)
        is_split = query.pages.pages == 1 and self._splits_region(query)
        if query.sampled:
            is_end_seen = query.pages.is_end_seen(self.ledger.page_size) or not page.records
            is_capped = (
                0 < self.ledger.result_cap <= query.pages.matches or (query.stated_total or 0) > query.pages.matches
            )
            query.sampled.is_complete = not has_more and not page.is_open and is_end_seen and not is_capped
            is_over |= query.pages.pages >= MAX_SAMPLE_PAGES
        if is_over or is_split:
            # a page that stops at its stated result cap lacks no pager
            self._close(query, page, is_whole=not has_more and (end == "cap" or not page.is_open))
            if has_more and not query.region:  # a check query with further pages continues as an ordinary query
                query.is_check, query.sampled = False, None
                self.open_queries.append(query)
        return new

    def hold(self, query: OpenQuery, records: Sequence[Record]) -> list[Record]:
        """Add records; return the new ones."""
        new = self.ledger.add(records)
        new_keys, seen = {record.key for record in new}, []
        narrow = [other for other in self.open_queries if len(other.words) > 1]
        for record in distinct(records):
            words = query_words(record.text) if record.key in new_keys else None
            query.showing += query.is_shown(record.text, words)
            seen.append(SeenRecord(record.key, record.text, record.fields, words))
            if words is None:
                query.note_held(self.words, record.key)
                continue
            for proposer in self.proposers:
                proposer.hold(record.text)
            for other in narrow:
                other.held_showing += all(word in words for word in other.words)
        if (sample := self.ledger.coverage.sample) is not None and not query.is_check:
            sample.note_new([record.text for record in new])
        self.words.add_records(seen)
        return new

    def _observe(self, query: OpenQuery, new: int, *, has_next: bool) -> None:
        """Compare the new records of a page with the prediction, and update all calibrations."""
        self._pages += 1
        self._check_pages += query.is_check
        is_guess = query.candidate.kind == "common word"
        is_missed_guess = is_guess and not query.last_page_size
        if is_guess:
            self.common_words.note(is_missed=is_missed_guess, patience=self.plan.patience)
        if not query.is_check and not is_missed_guess:  # a common word without matches says nothing about saturation
            if query.pages.pages == 1 or not self._new_by_query:
                self._new_by_query.append(0)
            self._new_by_query[-1] += new
        candidate, expected = query.candidate, query.next_page
        self.yields.observe(query, new)
        is_capped = bool(self.ledger.result_cap) and (query.stated_total or 0) > self.ledger.result_cap
        if is_capped and candidate.kind == "word" and query.last_page_size:
            self.words.observe_capped(expected / (self.words.capped_share if query.pages.pages == 1 else 1.0), new)
        if query.pages.pages > 1 or query.listing:
            return
        for proposer in self.proposers:
            proposer.observe(candidate.query, query.last_page_size, new)
        if candidate.pair:
            self.pairs.observe_page(candidate.pair, new)
        elif candidate.kind == "word" and query.last_page_size:
            per_page = float(new)
            is_counted = has_next and self.ledger.can_use_total(query.stated_total)
            if (
                is_counted and not self.ledger.result_cap
            ):  # the first page may be held and the rest not: use the mean of all
                rest = self.yields.of_open_query(query, self.yields.size())
                per_page = (new + rest.new) / (1 + rest.pages)
            if not is_capped:
                self.words.observe_page(candidate.word, expected, per_page)
        if query.is_plain:
            self.words.asked(candidate.word or candidate.query, query.last_page_size)

    def _add_evidence(self, query: OpenQuery, page: AnswerPage, new: int) -> None:
        """Add the evidence of a page for the size of the source."""
        coverage, is_first = self.ledger.coverage, query.pages.pages == 1
        if self.is_about and query.query not in self.everything:
            coverage.dropped += len(page.records) - len(page.wanted)
            coverage.kept += len(page.wanted)
        if not (query.listing or self.yields.asks_for_everything(query)):  # that is a list, too
            coverage.queried.update(record.key for record in page.wanted)
        total = page.totals.total if self.ledger.can_use_total(page.totals.total) else None
        if self.yields.asks_for_everything(query):
            if total and query.is_plain:  # the total of a list may be that of a part
                coverage.stated, coverage.is_hedged = max(coverage.stated, total), bool(page.totals.hedge)
            listed = query.listing.keys if query.listing else query.pages.keys
            if len(listed) >= len(coverage.listed) and not (query.listing and query.listing.kind == "record pages"):
                coverage.listed, coverage.is_list_complete = listed, False
                coverage.is_linked_list = query.listing is not None
        elif total and is_first and query.is_plain:
            coverage.is_hedged |= bool(page.totals.hedge)
            if not self.is_about:  # otherwise other queries match records that are not wanted
                coverage.largest_totals = sorted((*coverage.largest_totals, total))[-10:]
            showing = query.showing / max(1, query.pages.matches)
            if len(query.words) == 1 and showing >= 0.5:
                coverage.totals.append((query.words[0], total, query.share_shown_before or showing))
        if not query.candidate.is_check:
            coverage.pages.append((len(page.wanted), len(page.wanted) - new))

    def _region_of(self, query: OpenQuery) -> int | None:
        """Return the number of the region that a query asks for; the empty query asks for the first one."""
        if query.region:
            return query.region.number
        return 0 if self.regions.regions and query.is_plain and not query.query else None

    def _splits_region(self, query: OpenQuery) -> bool:
        """Note the total of a region on its first page; return True if it was split, so that its other pages need not be read."""
        number, ledger = self._region_of(query), self.ledger
        if number is None:
            return False
        first_keys = query.pages.keys.hashes()[:MAX_KEYS_COMPARED].tolist()
        if not query.stated_total or not ledger.can_use_total(query.stated_total):
            return query.region is not None and self.regions.note_first(
                number, first_keys, ledger.result_cap, ledger.page_size
            )
        is_split = self.regions.note_total(number, query.stated_total, ledger.result_cap, ledger.page_size)
        return is_split and not (query.is_plain and self.takes_text)

    def _draws(self, query: OpenQuery) -> bool:
        """Return True if the records of a query count as drawn independently: those of a region only if it tests a list."""
        return not query.region or query.candidate.is_check or self.regions.is_check

    def _close_region(self, query: OpenQuery, *, is_whole: bool) -> None:
        """Note the end of a region; if all regions are whole, their records are a list of everything."""
        number = self._region_of(query)
        if number is None:
            return
        regions, ledger, coverage = self.regions, self.ledger, self.ledger.coverage
        if not query.is_check:
            regions.keys.update_hashes(query.pages.keys.hashes())
        if query.new and regions.is_check and number:
            regions.is_check, coverage.drawn = False, KeySet()
        regions.note_cap(ledger.result_cap, ledger.page_size)
        regions.close(number, query.pages.matches, is_whole=is_whole, cap=ledger.result_cap, page_size=ledger.page_size)
        ledger.is_cut_off = not self.takes_text and regions.regions[0].state != "whole"
        if regions.is_whole and not regions.is_check and len(regions.keys) >= len(coverage.listed):
            coverage.listed, coverage.is_list_complete, coverage.is_linked_list = regions.keys, True, False

    def _check_is_done(self, query: OpenQuery) -> bool:
        """Return True if a check query has too many matches to fetch."""
        too_many = (query.stated_total or 0) > MAX_CHECK_PAGES * query.last_page_size
        return query.pages.pages >= MAX_CHECK_PAGES or too_many

    def _learn_from_first_page(self, query: OpenQuery, page: AnswerPage) -> None:
        """Learn from a first page whether a pair was understood, and whether the query is capped."""
        ledger = self.ledger
        if query.listing:
            return
        total = float(query.stated_total or 0)
        if query.region:
            return
        self.related.add(page.related)
        is_capped = 0 < self._reachable < total
        if query.pair:
            texts = [record.text for record in distinct(page.wanted)]
            self.pairs.add_first_page(query.pair, texts, query.stated_total or query.last_page_size)
            ledger.operators = self.pairs.understood
        if ledger.can_use_total(query.stated_total) and query.is_plain:
            self.words.set_total(query.query, total)
        if not (is_capped and ledger.can_use_total(query.stated_total)) or self.is_about:
            return
        self.facets.add_links(page.links(), query.query, total)
        if query.is_plain or (query.pair and "and" in self.pairs.understood):
            self.pairs.add_capped(query.query, total, query.pair.words if query.pair else ())

    @property
    def _reachable(self) -> int:
        """Return the number of matches of a query that can be fetched; 0: all. A representative harvest fetches one page."""
        return self.ledger.page_size if self.plan.goal == "representative" else self.ledger.result_cap

    def _close(self, query: OpenQuery, page: AnswerPage, *, is_whole: bool) -> None:
        """Close a query and record its evidence; `is_whole`: its pager was followed to the end."""
        ledger, finished = self.ledger, query.pages.finish()
        self.open_queries.remove(query)
        if query.listing:
            is_whole &= page.is_understood
            self.lists.close(query, query.listing, is_whole=is_whole, open_queries=self.open_queries)
            return
        if is_whole and self.plan.goal == "complete":
            ledger.finish(finished)
        self.words.result_cap, self.words.page_size = self._reachable, ledger.page_size
        is_capped = 0 < self._reachable <= finished.matches
        if query.is_plain and query.query in self.everything:
            if ledger.coverage.listed is query.pages.keys:
                ledger.coverage.is_list_complete = is_whole and not is_capped
        elif is_whole and not is_capped and self.plan.goal == "complete" and self._draws(query):
            hashes = query.pages.keys.hashes()
            if self.is_about:  # only matches that show the topic are wanted
                hashes = hashes[ledger.held.has_hashes(hashes)]
            is_word = query.candidate.is_check and not query.region
            ledger.coverage.drawn.update_hashes(self.checks.fair(hashes) if is_word else hashes)
        if is_whole and not is_capped and self.plan.goal == "complete":
            self.words.mark_exhausted(query.pages.keys.hashes().tolist())
        if ledger.result_cap and is_whole and not is_capped and query.is_plain:
            self.words.set_exhausted(query.query)
        self._close_region(query, is_whole=is_whole and not is_capped)
        if is_capped and not ledger.totals_are_usable and query.is_plain:
            matches = UNCOUNTED_FACTOR * finished.matches
            self.pairs.add_capped(query.query, matches)
            if not self.is_about:
                self.facets.add_links(page.links(), query.query, matches)


def _option(choice: Candidate | OpenQuery, expected: ExpectedYield) -> _Option:
    return _Option(choice, expected, new_per_request(expected))


def _weighed(
    choice: Candidate | OpenQuery, option: _Option | None = None, value: float | None = None
) -> WeighedCandidate:
    """Return a candidate or an open query as a decision records it."""
    candidate, page = (choice.candidate, choice.pages.pages + 1) if isinstance(choice, OpenQuery) else (choice, 1)
    is_sort_order = candidate.facet is not None and not candidate.facet.link.narrows
    kind = "sort order" if is_sort_order else candidate.kind
    if option is None:
        return WeighedCandidate(kind, candidate.text, page)
    new, pages, chance = option.expected
    return WeighedCandidate(kind, candidate.text, page, option.rate, chance * new, pages, value)
