"""What to ask one source next: the page or the question that should bring the most new records for a request.

    broad question    matches nearly everything: nothing, a star, frequent letters and words; asked first
    check query       drawn apart from the harvest, for the size of the source
    pair              two words, where one has more matches than the source gives (`queries.pairs`)
    facet question    a facet or another order that a cut-off answer links to (`facet_questions`)

The chooser sees queries, counts and keys, never pages of a site.
"""

from collections import deque
from collections.abc import Sequence

from upwell.harvest.answer_page import AnswerPage
from upwell.harvest.check_queries import CheckQueries
from upwell.harvest.facet_questions import FacetQuestions
from upwell.harvest.ledger import NEARLY_ALL_SHARE, SourceLedger
from upwell.harvest.open_query import OpenQuery, Question
from upwell.harvest.plan import Plan, Reason
from upwell.model import Record, Request
from upwell.page.terms import tokens
from upwell.queries.calibration import Calibration
from upwell.queries.grammar import FORMS, write
from upwell.queries.pairs import Pairs
from upwell.queries.policy import NEARLY_BEST_SHARE, Promising

__all__ = ["EVERYTHING", "Chooser"]

WORTHY_NEW_SHARE = 0.5  # of the next page: a query that should bring less is compared with other questions; not swept
MOST_SHARE = 0.5  # of the records held, that a broad question must have listed to count as one that worked
SWITCH_FACTOR = 1.5  # leave the current query only for one that should bring 1.5 times as many new records; not swept
MAX_SIZE_FACTOR = (
    1.3  # the source counts as at most 1.3 times what is held or stated when a query is guessed at; not swept
)
CUT_OFF_PATIENCE = 5  # times as patient where a source cuts off and is not held as far as wanted; not swept
SCOUT_WORDS = 8  # frequent words asked for one page each, to find one that matches nearly everything; not swept
SCOUT_AGAIN_FACTOR = 5  # scout again when 5 times as many records are held; not swept
COUNT_WEIGHT = 2  # pages that the source's count weighs beside the pages that came, for a cut-off query; 0.5 was slower on the demo site, one run each
MAX_TOTAL_TRIALS = 9  # pages spent on testing totals: three queries of a few pages
SHORT_QUERY_PAGES = 3  # pages that a query may have left to be worth testing totals with; not swept
UNKNOWN_PAGES = 5  # pages that a query of unknown length is taken to have left
MIN_SHOWING_SHARE = 0.05  # of the matches that are taken to show the word asked for


MAX_CHECK_PAGES = 5  # of a check query, where the source does not say how many matches there are
UNCOUNTED_FACTOR = 2.0  # a cut-off query whose matches nobody counts is taken to have at least twice as many as came
EVERYTHING = ("", "*", "%")  # queries that ask for everything, where the source understands them


class Chooser:
    """The open queries of a source and the questions that could be asked, and which of them comes next."""

    def __init__(self, ledger: SourceLedger, plan: Plan, *, language: str, takes_text: bool, is_about: bool) -> None:
        self.ledger, self.plan = ledger, plan
        self.takes_text = takes_text  # else the form can be asked for its values only
        self.is_about = is_about  # only records about something are wanted
        self.words = Promising(language=language)
        self.pairs = Pairs(self.words)
        self.facets = FacetQuestions(self.words)
        self.checks = CheckQueries(plan.checks, language)
        self.open_queries: list[OpenQuery] = []
        self.current: OpenQuery | None = None
        self.waiting: deque[str] = deque()  # queries to ask before anything is compared
        self.broad_questions: tuple[str, ...] = ()  # the broadest first
        self.requests_without_new = 0
        self._broad_waiting: deque[str] = deque()
        self._to_retry: list[str] = []  # queries that brought no answer, to be asked once more
        self._failed: set[str] = set()
        self._facet_calibration = Calibration(2)  # of facets and of orders
        self._page_calibration = Calibration(1)  # of further pages of cut-off queries
        self._held_at_scouting = 0
        self._broad_question_worked = False  # one brought most of what is held
        self._needs_checks = False  # only check queries are missing to say that enough is held
        self._turn = 0
        self._largest_total = 0
        self._total_trials = 0

    def start(self, broad_questions: tuple[str, ...], first: Sequence[str], probed: Sequence[str]) -> None:
        """Sets what is asked first: `first` in order, then the broad questions that were not among the probes."""
        self.broad_questions = broad_questions
        self._broad_waiting.extend(query for query in broad_questions if query not in probed)
        self.waiting.extend(dict.fromkeys(first))

    # -- stopping --------------------------------------------------------------------------------------------------------

    def reason_to_stop(self) -> Reason | None:
        """Why nothing more should be asked; None while something should."""
        ledger, held = self.ledger, len(self.ledger)
        self._needs_checks = False
        stated = self._largest_total if ledger.totals_tell and not ledger.limit else 0
        is_cut_short = ledger.limit and held < self.plan.coverage * ledger.size.estimate
        patience = self.plan.patience * (CUT_OFF_PATIENCE if is_cut_short else 1)
        if self.requests_without_new >= patience and stated <= held:
            return "saturated"  # unless the source says that it has more
        size = ledger.size.high
        if ledger.has_nearly_complete_list and ledger.size_by_recapture is not None:
            size = min(size, ledger.size_by_recapture.high)
        if not held or ledger.lower_bound or ledger.size_by == "chao" or held < self.plan.coverage * size:
            return None
        # Lists and other queries both go by words, so that they have more in common than chance: check queries have the last word.
        by_recapture = ledger.size_by == "recaptured" and not ledger.has_nearly_complete_list
        self._needs_checks = by_recapture and self.checks.can_ask
        return None if self._needs_checks else "coverage"

    # -- choosing --------------------------------------------------------------------------------------------------------

    def next(self) -> Question | OpenQuery | None:
        """A question to ask, or an open query to fetch the next page of; None where nothing is left."""
        self._turn += 1
        self._largest_total = max((query.stated_total or 0 for query in self.open_queries), default=0)
        if len(self._to_retry) >= self.plan.failures:
            self.retry()  # another round for what failed (Entity §2)
        size_is_stated = self.ledger.stated_size >= len(self.ledger) > 0 and self.ledger.totals_hold
        if self.takes_text and not self.is_about and not size_is_stated:
            check = self.checks.next(self.ledger, 0 if self._needs_checks else self._turn)
            if check is not None:
                return Question(query=check, is_check=True)
        for query in self.open_queries:
            if query.is_check:
                return query
        if self.waiting:
            return Question(query=self.waiting.popleft())
        if self._broad_waiting:
            return Question(query=self._broad_waiting.popleft())
        if self.takes_text and (trial := self._test_of_totals()) is not None:
            return trial
        if self.takes_text and self._should_scout(size_is_stated):
            self.waiting.extend(self.words.frequent(SCOUT_WORDS))
            self._held_at_scouting = len(self.ledger)
            if self.waiting:
                return Question(query=self.waiting.popleft())
        chosen = self._worthy_query() or self._best_of_all()
        if isinstance(chosen, OpenQuery):
            chosen.missing_share = self._missing_share(chosen)
        return chosen

    def retry(self) -> bool:
        """Puts the queries that brought no answer in line once more; whether there were any."""
        self.waiting.extend(self._to_retry)
        had_some, self._to_retry = bool(self._to_retry), []
        return had_some

    def _worthy_query(self) -> OpenQuery | None:
        """The open query to go on with, if any should bring enough new records: the current one, unless another has far more left."""
        worthy = [q for q in self.open_queries if self._new_share(q) >= WORTHY_NEW_SHARE or not self.takes_text]
        if not worthy:
            return None
        best = max(worthy, key=self._new_left)
        if self.current not in worthy or self._new_left(best) > SWITCH_FACTOR * self._new_left(self.current):
            self.current = best
        return self.current

    def _best_of_all(self) -> Question | OpenQuery | None:
        """The best of all open queries, words, pairs and facet questions, by expected new records for a request."""
        yields = [(self._new_share(query) * query.last_page_size, query) for query in self.open_queries]
        page = max((expected for expected, _ in yields), default=-1.0)
        nearly_best = [query for expected, query in yields if expected >= NEARLY_BEST_SHARE * page]
        best_query = max(
            nearly_best, key=self._new_left, default=None
        )  # the one with most left leaves least to overlap
        word, pair, facet = self.words.next(), self.pairs.next(), self.facets.next()
        by_word = self.words.expected if word else -1.0
        by_pair = pair.expected if pair else -1.0
        by_facet = facet.expected * self._facet_calibration.share(facet.kind) if facet else -1.0
        if facet is not None and by_facet > max(page, by_word, by_pair):
            self.facets.mark_asked()
            return Question(query=facet.query, facet=facet, expected=facet.expected)
        if pair is not None and by_pair > max(page, by_word):
            return Question(query=pair.query, pair=pair, expected=pair.expected)
        if word is None or by_word < page:
            return best_query
        if self.is_about:
            self.words.asked(word, 1)
            return Question(query=write(FORMS["and"][0], self.plan.about, word), expected=by_word)
        return Question(query=word, expected=by_word)

    def _should_scout(self, size_is_stated: bool) -> bool:
        """Whether to look for a word that matches nearly everything: at first, and again when much more is held to take it from."""
        ledger, before = self.ledger, self._held_at_scouting
        has_broad_query = before and self._largest_total >= NEARLY_BEST_SHARE * ledger.size.estimate
        is_useful = ledger.totals_tell and not (size_is_stated or ledger.limit or self.is_about or has_broad_query)
        return is_useful and (not before or len(ledger) >= SCOUT_AGAIN_FACTOR * before)

    def _test_of_totals(self) -> Question | OpenQuery | None:
        """A short query to walk to its end, while totals are not tested: the choice of a broad question depends on them."""
        counted = [query for query in self.open_queries if query.stated_total and query.last_page_size]
        if not counted or self.ledger.totals_tested or self._total_trials >= MAX_TOTAL_TRIALS:
            return None
        shortest = min(counted, key=lambda query: (query.stated_total or 0) - query.pages.matches)
        self._total_trials += 1
        if (shortest.stated_total or 0) - shortest.pages.matches <= SHORT_QUERY_PAGES * shortest.last_page_size:
            return shortest
        word = self.words.rare()
        return Question(query=word) if word else None

    # -- expectations ----------------------------------------------------------------------------------------------------

    def _new_share(self, query: OpenQuery) -> float:
        """The share of the next pages of a query that should be new.

        As on the last page; where the source counts, at least what its count leaves beside what is held: where matches are
        ordered, the first ones are held sooner than the others.
        """
        if not self.ledger.totals_tell:
            return max(query.last_page_new_share, self._benefit_of_doubt(query))
        stated, matches = query.stated_total or 0, query.pages.matches
        if stated <= matches or (not query.is_plain and query.held_matches is None):
            return query.last_page_new_share
        missing = self._missing(query)
        if self._is_cut_off(query):  # the order favours what is held
            weight = COUNT_WEIGHT * query.last_page_size
            expected = weight * self._page_calibration.share(0) * (missing / stated) + query.new_records
            return max(query.last_page_new_share, expected / max(1, weight + matches))
        share = min(1.0, missing / (stated - matches))
        # the last page of another query may be long ago: what was new then is held now
        return max(query.last_page_new_share, share) if query is self.current else share

    def _missing(self, query: OpenQuery) -> float:
        """How many matches of a query are not held, by the source's count.

        The number held is known by the matches that show the word, or guessed from the share of the whole source that matches.
        """
        held, stated = len(self.ledger), query.stated_total or 0
        showing_share = max(MIN_SHOWING_SHARE, query.matches_with_query_text / max(1, query.pages.matches))
        at_least = max(self._largest_total, held)
        size = min(max(self.ledger.size.estimate, at_least), MAX_SIZE_FACTOR * at_least)
        guess = max(held * stated / size, self.words.records_with(query.query) / showing_share)
        held_matches = guess if query.held_matches is None else query.held_matches / showing_share
        return stated - min(held, held_matches)

    def _missing_share(self, query: OpenQuery) -> float:
        """The share of a cut-off query's matches that is not held; 0 where the source's count is not used for it."""
        stated = query.stated_total or 0
        is_known = query.is_plain or query.held_matches is not None
        if not (self.ledger.totals_tell and self._is_cut_off(query) and is_known) or stated <= query.pages.matches:
            return query.missing_share
        return self._missing(query) / stated

    def _is_cut_off(self, query: OpenQuery) -> bool:
        return bool(self.ledger.limit) and (query.stated_total or 0) > self.ledger.limit

    def is_broad(self, query: OpenQuery) -> bool:
        """Whether it is one of the broad questions."""
        return query.is_plain and query.query in self.broad_questions

    def _benefit_of_doubt(self, query: OpenQuery) -> float:
        """The new share that a broad question is granted where nobody counts: it may show what is held first, and the rest behind it.

        So it is followed past twice what was held when it was asked; the broader, the sooner. Once one of them brought most of
        what is held, no other has that benefit.
        """
        is_past = query.pages.matches >= 2 * query.held_before + 2 * query.last_page_size
        if self._broad_question_worked or is_past or not self.is_broad(query):
            return 0.0
        return 0.9 - self.broad_questions.index(query.query) / 100

    def _new_left(self, query: OpenQuery) -> float:
        """How many new records the rest of a query should bring."""
        matches = query.pages.matches
        has_total = query.stated_total and self.ledger.totals_tell
        total = (query.stated_total or 0) if has_total else matches + UNKNOWN_PAGES * query.last_page_size
        reachable = min(total, self.ledger.limit) if self.ledger.limit else total
        return self._new_share(query) * max(0, reachable - matches)

    # -- what came -------------------------------------------------------------------------------------------------------

    def open(self, question: Question, request: Request | None = None) -> OpenQuery:
        """A question is asked: its pages can be fetched from now on."""
        facet, pair = question.facet, question.pair
        query = OpenQuery(
            question.query,
            request,
            is_check=question.is_check,
            pair=pair,
            facet=facet,
            expected=question.expected,
            held_before=len(self.ledger),
        )
        query.pages.cap = self.ledger.limit or None
        self.open_queries.append(query)
        if facet:
            query.held_matches = facet.held_matches if facet.words or not facet.link.narrows else None
        elif pair:
            query.held_matches = pair.inside
            self.pairs.asked(pair)
        else:
            self.words.asked(question.query, 1)
        return query

    def fail(self, query: OpenQuery) -> None:
        """A page of a query could not be had: the query is closed, and asked once more later."""
        self.open_queries.remove(query)
        if query.query not in self._failed:
            self._failed.add(query.query)
            self._to_retry.append(query.query)

    def take(self, query: OpenQuery, page: AnswerPage) -> list[Record]:
        """Takes in a page of an open query; gives the records that are new. A query without a further page is closed."""
        end = query.pages.add_page([record.key for record in page.records], page.totals, has_next=page.has_next)
        is_repeated = query.pages.ends_with_false_page and bool(page.records)
        new = [] if is_repeated else self.hold(query, page.wanted)
        query.stated_total, query.last_page_size = query.usual_total(), len(page.records)
        query.last_page_new_share = len(new) / max(1, len(page.wanted))
        query.new_records += len(new)
        query.matches_with_query_text += sum(
            query.words <= set(tokens(record.text)) for record in _distinct(page.wanted)
        )
        query.held_matches = None if query.held_matches is None else query.held_matches + len(new)
        if query.is_plain and query.query in EVERYTHING and page.totals.total:
            self.ledger.stated_size = max(self.ledger.stated_size, page.totals.total)
        self.observe_page(query, len(page.wanted), len(new))
        has_more = page.has_next and not end
        is_over = not has_more or (query.is_check and self._check_is_done(query))
        if query.pages.pages == 1:
            self._learn_from_first_page(query, page)
        if is_over:
            self._close(query, page, is_whole=not has_more)
            if has_more:  # a check query that has more to give is a query like others from now on
                query.is_check = False
                self.open_queries.append(query)
        return new

    def hold(self, query: OpenQuery, records: Sequence[Record]) -> list[Record]:
        """Takes records in; gives those that are new."""
        new = self.ledger.add(records)
        for record in _distinct(records):
            self.words.add_record(record.key, record.text, record.fields)
        texts = {record.key: record.text for record in records}
        if query.is_check:
            query.check_texts |= texts
        else:
            self.checks.hold(texts)
        return new

    def _check_is_done(self, query: OpenQuery) -> bool:
        """Whether a check query told what it can: the source counts what it cuts off, or the matches are too many to fetch."""
        if self.ledger.limit and self.ledger.totals_hold and query.stated_total:
            return True
        too_many = (query.stated_total or 0) > MAX_CHECK_PAGES * query.last_page_size
        return query.pages.pages >= MAX_CHECK_PAGES or too_many

    def _learn_from_first_page(self, query: OpenQuery, page: AnswerPage) -> None:
        """What the first page tells: whether a pair was understood, and whether there are more matches than can come."""
        ledger = self.ledger
        total = float(query.stated_total or 0)
        is_cut_off = bool(ledger.limit) and total > ledger.limit
        if not query.last_page_size and query.is_plain:
            self.words.asked(query.query, 0)
        if query.pair:
            texts = [record.text for record in _distinct(page.wanted)]
            self.pairs.add_first_page(query.pair, texts, query.stated_total or query.last_page_size)
            ledger.operators = self.pairs.understood
        if not (is_cut_off and ledger.totals_hold):
            return
        if query.is_plain:
            self.words.set_total(query.query, total)
        if not self.is_about:
            self.facets.add_links(page.links, query.query, total)
            if not query.facet and not (query.pair and "and" not in self.pairs.understood):
                self.pairs.add_cut_off(query.query, total, query.pair.words if query.pair else ())

    def _close(self, query: OpenQuery, page: AnswerPage, *, is_whole: bool) -> None:
        """A query is over: what it tells about the source. `is_whole`: its pager was followed to its end."""
        ledger, finished = self.ledger, query.pages.finish()
        self.open_queries.remove(query)
        if is_whole and self.plan.goal == "complete":
            ledger.finish(finished)
        self.words.limit, self.words.page_size = ledger.limit, ledger.page_size
        is_cut_off = bool(ledger.limit) and finished.matches >= ledger.limit
        lists_most = finished.matches >= NEARLY_ALL_SHARE * len(ledger)
        is_broad = self.is_broad(query) or (query.is_plain and lists_most and finished.pages > UNKNOWN_PAGES)
        if is_broad and is_whole and not is_cut_off and (finished.pages > 1 or lists_most):
            ledger.longest_list = max(ledger.longest_list, finished.matches)
            ledger.mark(query.pages.keys, is_list=True)
        elif not is_broad:
            ledger.mark(query.pages.keys, is_list=False)
        if query.is_check:
            total = query.stated_total if ledger.totals_hold and ledger.limit else None
            came_whole = is_whole and not is_cut_off
            self.checks.record(ledger, query.query, query.check_texts, is_whole=came_whole, stated_total=total)
        if ledger.limit and is_whole and not is_cut_off and query.is_plain:
            self.words.set_exhausted(query.query)
        if is_cut_off and not ledger.totals_hold and query.is_plain:
            matches = UNCOUNTED_FACTOR * finished.matches
            self.pairs.add_cut_off(query.query, matches)
            if not self.is_about:
                self.facets.add_links(page.links, query.query, matches)

    def observe_page(self, query: OpenQuery, records: int, new: int) -> None:
        """Compares what a page brought with what was expected of it, for the questions to come."""
        is_long = query.pages.pages > UNKNOWN_PAGES and query.pages.matches > MOST_SHARE * len(self.ledger)
        self._broad_question_worked |= is_long and self.is_broad(query)
        self.requests_without_new = 0 if new else self.requests_without_new + (not query.is_check)
        if query.missing_share:
            self._page_calibration.add_page(0, query.missing_share * records, new)
        if query.pair:
            self.pairs.observe_page(query.pair, new)
        elif query.facet:
            self._facet_calibration.add_page(query.facet.kind, query.expected, new if query.expected else 0)
        elif query.expected and self._is_cut_off(query):
            self.words.observe_cut_off(query.expected, new)
        elif query.expected:
            self.words.observe_page(query.query, query.expected, new)


def _distinct(records: Sequence[Record]) -> list[Record]:
    """Records with different keys; of those with the same key the last one."""
    return list({record.key: record for record in records}.values())
