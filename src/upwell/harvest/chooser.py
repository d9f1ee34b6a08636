"""What to ask one source next: the page or the question that should bring the most new records for a request, over all its pages.

    given             what the user names, the probes, and what may ask for everything (nothing, a star): asked first
    word              of the records held (`queries.policy`); a listed word: a frequent one of the language that none of them shows
    pair              two words, where one has more matches than the source gives (`queries.pairs`)
    proposed          by a knowledge base, or by what a person adds (`proposers`)
    facet             a facet or another order that a cut-off answer links to (`facet_questions`)
    list              without a query, that a page of the site links to (`list_questions`)
    check             a word drawn apart, to see how much of a list of everything has come (`check_queries`)

All are compared by one value: the new records that the next pages of a question should bring, less what these requests would bring
elsewhere. So of two questions that bring as much for a request, the one that goes on longer is asked: it leaves least to overlap.
The chooser sees pages as values, never as HTML, so that it runs against simulated sources as well.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence

from upwell.harvest.answer_page import AnswerPage, distinct
from upwell.harvest.beginnings import Beginnings
from upwell.harvest.beliefs import GOOD_SHARE, HORIZON, Beliefs, rate, value
from upwell.harvest.check_queries import CheckQueries
from upwell.harvest.facet_questions import FacetQuestions
from upwell.harvest.ledger import SourceLedger
from upwell.harvest.list_questions import ListQuestions, RecordPages
from upwell.harvest.open_query import Belief, By, OpenQueries, OpenQuery, Question
from upwell.harvest.plan import Plan, Reason
from upwell.harvest.proposers import Names, Proposer, Related
from upwell.model import Record, Request
from upwell.page.terms import query_words
from upwell.queries.frequent_words import EVERYTHING
from upwell.queries.grammar import FORMS, write
from upwell.queries.listed_words import ListedWords
from upwell.queries.pairs import Pairs
from upwell.queries.policy import Promising
from upwell.queries.short_words import ShortWords
from upwell.queries.word_index import Came
from upwell.store.url_repository import UrlRepository

__all__ = ["Chooser"]

CUT_OFF_PATIENCE = 5  # times as patient where a source cuts off and is not held as far as wanted; not swept
SATURATED_SHARE = 3e-5  # of the records held, that a request brings at most when a source counts as saturated
MAX_CHECK_PAGES = 5  # of a check query, where the source does not say how many matches there are
MAX_FAILURES = 2  # of one page in a row, before its query is put off
UNCOUNTED_FACTOR = 2.0  # a cut-off query whose matches nobody counts is taken to have at least twice as many as came


class Chooser:
    """The open queries of a source and the questions that could be asked, and which of them comes next."""

    def __init__(
        self,
        ledger: SourceLedger,
        plan: Plan,
        *,
        language: str,
        takes_text: bool,
        is_about: bool,
        min_chars: int = 0,
        urls: UrlRepository | None = None,
    ) -> None:
        self.ledger, self.plan, self.language = ledger, plan, language
        self.takes_text = takes_text  # else the form can be asked for its values only
        self.is_about = is_about  # only records about something are wanted
        urls = UrlRepository() if urls is None else urls  # what is held of the words of records is put away there, too
        self.words = Promising(language=language, keeps_stop_words=True, min_chars=min_chars, blobs=urls.blobs)
        ledger.coverage.words = self.words
        ledger.coverage.takes_first_pages = plan.goal == "representative"
        self.short_words, self.listed = ShortWords(self.words), ListedWords(self.words)
        self.pairs = Pairs(self.words)
        self.facets = FacetQuestions(self.words, urls)
        self.checks = CheckQueries(self.words)
        self.proposers: list[Proposer] = [make(self.words) for make in plan.proposers]
        if plan.knowledge is not None:
            self.proposers.append(Names(plan.knowledge, self.words))
        self.related = Related(self.words, urls)
        self.beginnings = Beginnings(self.words)
        if plan.goal == "representative":
            self.proposers.append(self.related)
        elif not is_about:
            self.proposers.append(self.beginnings)
        self.lists = ListQuestions(ledger.coverage)
        self.open_queries = OpenQueries()
        self.waiting: deque[str] = deque()  # queries to ask before anything is compared
        # the queries that ask for all that is wanted
        self.everything = (plan.about,) if is_about else EVERYTHING if takes_text else ()
        self._new_by_page: deque[int] = deque(maxlen=plan.patience * CUT_OFF_PATIENCE)  # check queries left out
        self._put_off: list[OpenQuery] = []  # whose next page could not be had, to be asked for once more
        self._asked: set[str] = set()
        self.beliefs = Beliefs(ledger, self.words, self.everything)
        self._pages = 0
        self._check_pages = 0

    def start(self, first: Sequence[str]) -> None:
        """Sets what is asked first, in order; then what asks for everything."""
        self.waiting.extend(dict.fromkeys((*first, *self.everything)))
        if self.takes_text and not self.is_about:
            self.listed.start()

    # -- stopping --------------------------------------------------------------------------------------------------------

    def reason_to_stop(self) -> Reason | None:
        """Why nothing more should be asked; None while something should."""
        ledger, held = self.ledger, len(self.ledger)
        is_cut_short = ledger.limit and held < self.plan.coverage * ledger.size.estimate
        patience = self.plan.patience * (CUT_OFF_PATIENCE if is_cut_short else 1)
        last = list(self._new_by_page)[-patience:]
        is_dry = len(last) == patience and sum(last) <= SATURATED_SHARE * held * patience
        if is_dry and (
            ledger.limit or not ledger.totals_tell or self.open_queries.largest_total() <= held
        ):  # unless the source says that it has more
            return "saturated"
        if ledger.is_listed_elsewhere:
            return "coverage"
        if not held or ledger.lower_bound or held < self.plan.coverage * ledger.size.high:
            return None
        return "coverage"

    # -- choosing --------------------------------------------------------------------------------------------------------

    def next(self) -> Question | OpenQuery | None:
        """A question to ask, or an open query to fetch the next page of; None where nothing is left."""
        while self.waiting:
            given = self.waiting.popleft()
            if given in self.everything or self.words.takes(given):
                return Question(query=given)
        if len(self._put_off) >= self.plan.failures:
            self.retry()
        if (check := self._check()) is not None:
            return check
        for query in self.open_queries:
            if query.is_check:
                return query
        size = self.beliefs.size()
        options: list[tuple[Belief, Question | OpenQuery]] = [
            (self.beliefs.of(q, size), q) for q in self.open_queries.looked_at()
        ]
        best = max((rate(belief) for belief, _ in options), default=0.0)
        for question in self._proposals(best, size):
            options.append((question.belief, question))
            best = max(best, rate(question.belief))
        self.beliefs.best_rate = best
        for belief, option in options:  # what others would bring, a list of everything brings as well
            is_list = isinstance(option, OpenQuery) and self.beliefs.lists_everything(option)
            if is_list and rate(belief) >= GOOD_SHARE * best:
                return option
        values = [value(belief, best) for belief, _ in options]
        self.open_queries.note_values([option for _, option in options], values)
        chosen = options[values.index(max(values))][1] if options else None
        if isinstance(chosen, Question) and chosen.facet:
            self.facets.mark_asked()
        return chosen

    def _proposals(self, best: float, size: float) -> Iterable[Question]:
        """The best question of each kind."""
        yield from self.lists.proposals(self.beliefs)
        if not self.takes_text:
            return
        page = float(self.ledger.page_size or 10)
        self.words.size = size
        if (word := self.words.propose(best, HORIZON, GOOD_SHARE)) is not None:
            query = write(FORMS["and"][0], self.plan.about, word[0]) if self.is_about else word[0]
            yield Question(query=query, by="word", word=word[0], belief=Belief(*word[1:]))
        if (listed := self.listed.next(self._asked)) is not None:
            new = self.beliefs.share("listed word") * page * max(0.0, 1 - len(self.ledger) / size)
            belief = Belief(new, 1.0, self.beliefs.chance("listed word"))
            yield Question(query=listed, by="listed word", belief=belief)
        for proposer in self.proposers:
            if (proposal := proposer.propose()) is not None and proposal[0] not in self._asked:
                by: By = "beginning" if proposer is self.beginnings else "proposed"
                query, belief = proposal
                belief = Belief(self.beliefs.share(by) * belief.new, belief.pages, belief.chance)
                yield Question(query=query, by=by, belief=belief)
        if (pair := self.pairs.next()) is not None:
            belief = Belief(pair.expected * pair.pages, pair.pages)
            yield Question(query=pair.query, by="pair", pair=pair, belief=belief)
        if (facet := self.facets.next()) is not None:
            share = self.beliefs.share("facet")
            belief = Belief(share * facet.expected * facet.pages, facet.pages)
            yield Question(query=facet.query, by="facet", facet=facet, belief=belief)

    def _check(self) -> Question | None:
        """A check query, if it is the turn of one."""
        if not self.takes_text or self.is_about or not self.ledger.coverage.needs_draws:
            return None
        if self.plan.checks * self._check_pages >= self._pages or not self.plan.checks:
            return None
        check = self.checks.next(self.ledger.page_size)
        return None if check is None or check in self._asked else Question(query=check, by="check")

    def retry(self) -> bool:
        """Opens the queries again whose next page could not be had (Entity §2); whether there were any."""
        self.open_queries.extend(self._put_off)
        had_some, self._put_off = bool(self._put_off), []
        return had_some

    def may_look_for_lists(self) -> bool:
        """Whether a page should be opened to find a list without a query: none is open, and enough was asked to pay for it."""
        return self.wants_lists and self.lists.may_look(self._pages, self.open_queries, self.beliefs)

    @property
    def wants_lists(self) -> bool:
        """Whether lists without a query are of use now: all records are wanted, and what was given has been asked."""
        return not (self.waiting or self.is_about or self.plan.goal != "complete")

    # -- what came -------------------------------------------------------------------------------------------------------

    def open(self, question: Question, request: Request | None = None) -> OpenQuery:
        """A question is asked: its pages can be fetched from now on."""
        query = OpenQuery(question, request, is_check=question.is_check)
        query.next_page = question.belief.new / question.belief.pages
        self.open_queries.append(query)
        if question.listing:
            self.lists.mark_asked(question)
            return query
        query.pages.cap = self.ledger.limit or None
        self._asked.add(question.query)
        if question.pair:
            self.pairs.asked(question.pair)
        elif query.is_plain:
            self.words.mark_asked(question.word or question.query)
        if len(query.words) > 1:
            query.held_showing = self.words.count_with(*query.words)
        return query

    def fail(self, query: OpenQuery) -> None:
        """A page of a query could not be had: it is asked for again, then once more later."""
        query.failures += 1
        if query.failures < MAX_FAILURES:
            return
        self.open_queries.remove(query)
        if query.failures == MAX_FAILURES:
            self._put_off.append(query)
            for proposer in self.proposers:
                proposer.observe(query.query, 0, 0)

    def take(self, query: OpenQuery, page: AnswerPage) -> list[Record]:
        """Takes in a page of an open query; gives the records that are new. A query without a further page is closed."""
        query.failures, query.last_value = 0, math.inf
        end = query.pages.add_page([record.key for record in page.records], page.totals, has_next=page.has_next)
        is_repeated = query.pages.ends_with_false_page and bool(page.records)
        new = [] if is_repeated else self.hold(query, page.wanted)
        query.stated_total, query.last_page_size = query.pages.usual_total, len(page.records)
        if query.listing:
            self.lists.take(query.listing, page)
        elif query.pages.pages == 1 and page.has_next and query.stated_total:
            self.ledger.totals_with_next[query.stated_total] += 1
        if query.pages.pages == 2 and page.has_next and query.totals_grow():
            self.ledger.growing_totals += 1
        if self.ledger.tells_by_total(query.stated_total):
            self.beliefs.largest_total = max(self.beliefs.largest_total, query.stated_total or 0)
        self._add_evidence(query, page, len(new))
        self._observe(query, len(new), has_next=page.has_next)
        if query.is_plain and query.pages.pages == 1 and self.takes_text:
            self.short_words.note(query.words, is_found=bool(page.records), is_refused=page.is_refused)
        has_more = page.has_next and not end and not self.lists.is_known_list(query, page)
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
        new_keys, came = {record.key for record in new}, []
        narrow = [other for other in self.open_queries if len(other.words) > 1]
        for record in distinct(records):
            words = query_words(record.text) if record.key in new_keys else None
            query.showing += query.is_shown(record.text, words)
            came.append(Came(record.key, record.text, record.fields, words))
            if words is None:
                query.note_held(self.words, record.key)
                continue
            for proposer in self.proposers:
                proposer.hold(record.text)
            for other in narrow:
                other.held_showing += all(word in words for word in other.words)
        self.words.add_records(came)
        return new

    def _observe(self, query: OpenQuery, new: int, *, has_next: bool) -> None:
        """Compares what a page brought with what was expected of it, for the questions to come."""
        self._pages += 1
        self._check_pages += query.is_check
        is_guess = query.question.by == "listed word"
        is_missed_guess = is_guess and not query.last_page_size
        if is_guess:
            self.listed.note(is_missed=is_missed_guess, patience=self.plan.patience)
        if not query.is_check and not is_missed_guess:  # a word that no record shows and no match has tells nothing
            self._new_by_page.append(new)
        question, expected = query.question, query.next_page
        self.beliefs.observe(query, new)
        is_cut_off = bool(self.ledger.limit) and (query.stated_total or 0) > self.ledger.limit
        if is_cut_off and question.by == "word" and query.last_page_size:
            self.words.observe_cut_off(expected / (self.words.top if query.pages.pages == 1 else 1.0), new)
        if query.pages.pages > 1 or query.listing:
            return
        for proposer in self.proposers:
            proposer.observe(question.query, query.last_page_size, new)
        if question.pair:
            self.pairs.observe_page(question.pair, new)
        elif question.by == "word" and query.last_page_size:
            brought = float(new)
            is_counted = has_next and self.ledger.tells_by_total(query.stated_total)
            if is_counted and not self.ledger.limit:  # what comes first may be held, and the rest not
                rest = self.beliefs.of(query, self.beliefs.size())
                brought = (new + rest.new) / (1 + rest.pages)
            if not is_cut_off:
                self.words.observe_page(question.word, expected, brought)
        if query.is_plain:
            self.words.asked(question.word or question.query, query.last_page_size)

    def _add_evidence(self, query: OpenQuery, page: AnswerPage, new: int) -> None:
        """What a page says about the size of the source."""
        coverage, is_first = self.ledger.coverage, query.pages.pages == 1
        if not query.listing:
            coverage.queried.update(record.key for record in page.wanted)
        total = page.totals.total if self.ledger.tells_by_total(page.totals.total) else None
        if self.beliefs.asks_for_everything(query):
            if total and query.is_plain:  # what a list counts may be a part
                coverage.stated, coverage.is_hedged = max(coverage.stated, total), bool(page.totals.hedge)
            listed = query.listing.keys if query.listing else query.pages.keys
            if len(listed) >= len(coverage.listed) and not isinstance(query.listing, RecordPages):
                coverage.listed, coverage.is_whole_list = listed, False
                coverage.is_linked_list = query.listing is not None
        elif total and is_first and query.is_plain:
            coverage.is_hedged |= bool(page.totals.hedge)
            coverage.largest_totals = sorted((*coverage.largest_totals, total))[-10:]
            showing = query.showing / max(1, query.pages.matches)
            if len(query.words) == 1 and showing >= 0.5:
                coverage.totals.append((query.words[0], total, query.share_shown_before or showing))
        if not query.question.is_check:
            coverage.pages.append((len(page.wanted), len(page.wanted) - new))

    def _check_is_done(self, query: OpenQuery) -> bool:
        """Whether the matches of a check query are too many to fetch."""
        too_many = (query.stated_total or 0) > MAX_CHECK_PAGES * query.last_page_size
        return query.pages.pages >= MAX_CHECK_PAGES or too_many

    def _learn_from_first_page(self, query: OpenQuery, page: AnswerPage) -> None:
        """What the first page tells: whether a pair was understood, and whether there are more matches than can come."""
        ledger = self.ledger
        if query.listing:
            return
        total = float(query.stated_total or 0)
        self.related.add(page.related)
        limit = self._limit
        is_cut_off = bool(limit) and total > limit
        if query.pair:
            texts = [record.text for record in distinct(page.wanted)]
            self.pairs.add_first_page(query.pair, texts, query.stated_total or query.last_page_size)
            ledger.operators = self.pairs.understood
        if ledger.tells_by_total(query.stated_total) and query.is_plain:
            self.words.set_total(query.query, total)
        if not (is_cut_off and ledger.tells_by_total(query.stated_total)) or self.is_about:
            return
        self.facets.add_links(page.links(), query.query, total)
        if query.is_plain or (query.pair and "and" in self.pairs.understood):
            self.pairs.add_cut_off(query.query, total, query.pair.words if query.pair else ())

    @property
    def _limit(self) -> int:
        """Matches of a query that can come; 0: all. Of a representative harvest, the first page."""
        return self.ledger.page_size if self.plan.goal == "representative" else self.ledger.limit

    def _close(self, query: OpenQuery, page: AnswerPage, *, is_whole: bool) -> None:
        """A query is over: what it tells about the source. `is_whole`: its pager was followed to its end."""
        ledger, finished = self.ledger, query.pages.finish()
        self.open_queries.remove(query)
        if query.listing:
            is_whole &= page.is_understood
            self.lists.close(query.listing, is_whole=is_whole, open_queries=self.open_queries)
            return
        if is_whole and self.plan.goal == "complete":
            ledger.finish(finished)
        self.words.limit, self.words.page_size = self._limit, ledger.page_size
        is_cut_off = bool(self._limit) and finished.matches >= self._limit
        if query.is_plain and query.query in self.everything:
            if ledger.coverage.listed is query.pages.keys:
                ledger.coverage.is_whole_list = is_whole and not is_cut_off
        elif is_whole and not is_cut_off and self.plan.goal == "complete":
            hashes = query.pages.keys.hashes()
            ledger.coverage.drawn.update_hashes(self.checks.fair(hashes) if query.question.is_check else hashes)
        if is_whole and not is_cut_off and self.plan.goal == "complete":
            self.words.mark_exhausted(query.pages.keys.hashes().tolist())
        if ledger.limit and is_whole and not is_cut_off and query.is_plain:
            self.words.set_exhausted(query.query)
        if is_cut_off and not ledger.totals_are_usable and query.is_plain:
            matches = UNCOUNTED_FACTOR * finished.matches
            self.pairs.add_cut_off(query.query, matches)
            if not self.is_about:
                self.facets.add_links(page.links(), query.query, matches)
