"""What to ask one source: question by question and page by page, whatever should bring most (DESIGN §4.4).

    stream    a query whose pages are turned one at a time, as long as they bring more than another question would
    broad     questions that match nearly everything, asked first: nothing, a star, frequent letters and words
    pair      two words, where one has more matches than the source gives (`queries.pairs`)
    offer     a facet or another order that such an answer links to (`harvest.offers`)

No request is sent here: `steps` is a generator that yields what it wants to see and is sent what came (`loop.drive`).
"""

import hashlib
from collections import deque
from collections.abc import Generator, Sequence

from upwell.answers.next_page import request
from upwell.answers.pager import NextPage
from upwell.answers.totals import StatedTotals, read_totals
from upwell.harvest.check_queries import CheckQueries
from upwell.harvest.events import Held
from upwell.harvest.facet_questions import FacetQuestion, FacetQuestions, again
from upwell.harvest.ledger import WHOLE
from upwell.harvest.open_query import OpenQuery
from upwell.harvest.plan import Reason
from upwell.harvest.reader import EVERYTHING, Setting, SourceReader, counted_on, following
from upwell.model import Look, Record, Request, Response, SearchInterface, Seen
from upwell.page.terms import tokens
from upwell.page.tree import TagTree
from upwell.queries.calibration import Calibration
from upwell.queries.grammar import FORMS, write
from upwell.queries.pairs import Pair, Pairs
from upwell.queries.policy import NEARLY, Promising
from upwell.queries.size import recaptured
from upwell.source.apply import Reading

__all__ = ["SourceSession", "Steps"]

Steps = Generator[Request | Look, Response | Seen, Reason]
HALF = 0.5  # share of new records on the next page below which a query is left for another; not swept
STAY = 1.5  # so many times more must another query have left, that the one at hand is left for it; not swept
FAR = 1.3  # times what is held or said at most, that a source is taken to hold when a query is guessed at; not swept
MORE = 5  # times as patient where a source cuts off and check queries say that records are missing; not swept
SCOUTS = 8  # frequent words that are asked for one page, to find one that matches nearly everything; not swept
TRUST = 2  # pages that the source's counts are worth, beside those of a cut-off query that came; 0.5 was slower on the demo site, one run each
TRIALS = 9  # pages that are spent on whether totals tell anything: three queries of a few pages
SHORT = 3  # pages that such a query has left at most; not swept
GROWN = 5  # times as many records held, that frequent words are looked for again; not swept
CHECK_PAGES = 5  # of a check query at most, where the source does not say how many matches there are
AHEAD = 5  # pages that a query of unknown length is taken to have left


class SourceSession(SourceReader):
    """The state of one source's harvest while it runs."""

    def __init__(self, template: SearchInterface, setting: Setting) -> None:
        super().__init__(template, setting)
        plan = setting.plan
        self.policy = Promising(language=self.language)
        self.pairs = Pairs(self.policy)
        self.offers = FacetQuestions(self.policy)
        self.checking = CheckQueries(plan.checks, self.language)
        self.queue: deque[str] = deque()
        self.broad: deque[str] = deque()
        self.everything: tuple[str, ...] = ()  # the broad questions, the broadest first
        self.streams: list[OpenQuery] = []
        self.later: list[str] = []  # queries that brought no answer, to be asked once more
        self.failed: set[str] = set()
        self.current: OpenQuery | None = None
        self.scouted = 0  # records held when frequent words were asked last
        self.spread = False  # whether a broad question brought most of what is held
        self.unsure = False  # whether only check queries are missing to say that it is enough
        self.luck, self.further = (
            Calibration(2),
            Calibration(1),
        )  # of what was expected of facets and of orders; of further pages
        self.dry = self.turn = self.most = self.trials = 0

    def steps(self) -> Steps:
        """The whole of it; ends with why there is nothing more to ask."""
        probes = yield from self._probe()
        self.offers.roles = self.harvest.model.roles
        self.everything = () if self.template.values or self.about else self._broad()
        self.broad.extend(query for query in self.everything if query not in probes)
        first = self.ways.again or (*self.plan.words, *probes)
        self.queue.extend(self.template.values or dict.fromkeys(first))
        while True:
            why = self._why_stop()
            if why is not None:
                self.harvest.stopped = why
                return why
            stream = yield from self._next()
            if stream is not None:
                yield from self._turn(stream)
            elif not self.later:
                return "exhausted"
            else:
                self.queue, self.later = deque(self.later), []

    # -- choosing --------------------------------------------------------------------------------------------------------

    def _why_stop(self) -> Reason | None:
        self.unsure = False
        if over := self.spent().over:
            return over
        if self.errors_in_a_row >= self.plan.failures:
            return "blocked"
        limit = self.harvest.limit
        said = self.most if self.harvest.totals_tell and not limit else 0
        patience = self.plan.patience * (
            MORE if limit and len(self.harvest.seen) < self.plan.coverage * self.harvest.size.estimate else 1
        )
        if self.dry >= patience and said <= len(self.harvest.seen):
            return "saturated"  # unless the source says that it has more
        size, held = self.harvest.size.high, len(self.harvest.seen)
        if self.harvest.nearly_all and self.harvest.recaptured is not None:
            size = min(size, self.harvest.recaptured.high)
        if not held or self.harvest.lower_bound or self.harvest.size_by == "chao" or held < self.plan.coverage * size:
            return None
        # What several questions list and others draw is more than chance, if both go by words: check queries have the last word.
        self.unsure = self.harvest.size_by == "recaptured" and not self.harvest.nearly_all and self.checking.possible
        return None if self.unsure else "coverage"

    def _next(self) -> Generator[Request | Look, Response | Seen, OpenQuery | None]:
        """What to send next: what waits, a check query whose turn it is, else the page or the question that should bring most."""
        self.turn += 1
        self.most = max((stream.said or 0 for stream in self.streams), default=0)
        if len(self.later) >= self.plan.failures:
            self.queue.extend(self.later)  # another round for what failed (Entity §2)
            self.later = []
        free = not self.template.values
        counted = self.harvest.whole >= len(self.harvest.seen) > 0 and self.harvest.totals_hold
        turn = 0 if self.unsure else self.turn
        check = self.checking.next(self.harvest, turn) if free and not self.about and not counted else None
        if check is not None:
            return (yield from self._open(check, check=True))
        for stream in self.streams:
            if stream.check:
                return stream
        if self.queue:
            return (yield from self._open(self.queue.popleft()))
        if self.broad:
            return (yield from self._open(self.broad.popleft()))
        trial = (yield from self._trial()) if free else None
        if trial is not None:
            return trial
        if free and self._scouting(counted):
            self.queue.extend(self.policy.frequent(SCOUTS))
            self.scouted = len(self.harvest.seen)
            if self.queue:
                return (yield from self._open(self.queue.popleft()))
        worthy = [stream for stream in self.streams if self._share(stream) >= HALF or not free]
        if worthy:
            most = max(worthy, key=self._left)
            if self.current not in worthy or self._left(most) > STAY * self._left(self.current):
                self.current = most
            return self.current
        yields = [(self._share(stream) * stream.shown, stream) for stream in self.streams]
        worth = max((found for found, _ in yields), default=-1.0)
        near = [stream for found, stream in yields if found >= NEARLY * worth]
        best = max(near, key=self._left, default=None)  # what brings most leaves least to overlap
        word, pair, offer = self.policy.next(), self.pairs.next(), self.offers.next()
        single = self.policy.expected if word else -1.0
        double = pair.expected if pair else -1.0
        linked = offer.expected * self.luck.of(offer.kind) if offer else -1.0
        if offer is not None and linked > max(worth, single, double):
            self.offers.asked()
            return self._taken(offer)
        if pair is not None and double > max(worth, single):
            stream = yield from self._open(pair.query, pair=pair)
            stream.expected, stream.inside = pair.expected, pair.inside
            return stream
        if word is None or single < worth:
            return best
        expected = self.policy.expected
        if self.about:
            self.policy.asked(word, 1)
        stream = yield from self._open(write(FORMS["and"][0], self.plan.about, word) if self.about else word)
        stream.expected = expected
        return stream

    def _scouting(self, counted: bool) -> bool:
        """Whether to look for a word that matches nearly everything: at first, and again when much more is held to take it from."""
        harvest, held = self.harvest, len(self.harvest.seen)
        broad = self.scouted and self.most >= NEARLY * harvest.size.estimate
        useful = harvest.totals_tell and not (counted or harvest.limit or self.about or broad)
        return useful and (not self.scouted or held >= GROWN * self.scouted)

    def _trial(self) -> Generator[Request | Look, Response | Seen, OpenQuery | None]:
        """A short query to its end, while it is open whether totals tell anything: the choice of a broad question hangs on them."""
        counted = [stream for stream in self.streams if stream.said and stream.shown]
        if not counted or self.harvest.totals_tested or self.trials >= TRIALS:
            return None
        short = min(counted, key=lambda stream: (stream.said or 0) - stream.turning.matches)
        self.trials += 1
        if (short.said or 0) - short.turning.matches <= SHORT * short.shown:
            return short
        word = self.policy.rare()
        return (yield from self._open(word)) if word else None

    def _taken(self, offer: FacetQuestion) -> OpenQuery:
        further = request(NextPage(url=offer.offer.url), offer.query)
        stream = OpenQuery(offer.query, further, offer=offer, expected=offer.expected, held=len(self.harvest.seen))
        stream.turning.cap = self.harvest.limit or None
        stream.inside = offer.inside if offer.words or not offer.offer.narrows else None
        self.streams.append(stream)
        return stream

    def _open(
        self, query: str, *, check: bool = False, pair: Pair | None = None
    ) -> Generator[Request | Look, Response | Seen, OpenQuery]:
        if query in self.ways.again and "://" in query:
            return self._taken(again(query, self.template.query_field))
        stream = OpenQuery(query, (yield from self._filled(query)), check=check, pair=pair, held=len(self.harvest.seen))
        stream.turning.cap = self.harvest.limit or None
        self.streams.append(stream)
        if pair:
            self.pairs.asked(pair)
        else:
            self.policy.asked(query, 1)
        return stream

    # -- turning pages ---------------------------------------------------------------------------------------------------

    def _turn(self, stream: OpenQuery) -> Generator[Request | Look, Response | Seen, None]:
        """One page of a query: its records are taken in, and what to send for the next page is made out."""
        if stream.request is None:
            raise RuntimeError("a stream without a next page is closed")
        answer = yield from self._get(stream.request)
        if answer is None or answer[0].status >= 500:
            if stream.query not in self.failed:
                self.failed.add(stream.query)
                self.later.append(stream.query)
            self.streams.remove(stream)
            self.harvest.answers["error"] += 1
            self.errors_in_a_row += 1
            return
        response, tree = answer
        reading = self._read(response, tree, stream.query)
        if reading.kind != "multi" and self._suspicious():
            reading = (yield from self._learn_again()) or reading
        records = self._wanted(reading.records, stream.query)
        texts = {record.key: record.text for record in records}
        told = (
            read_totals(tree, [record.text for record in reading.records])
            if reading.kind == "multi"
            else StatedTotals()
        )
        step = following(tree, reading, stream.query) if self.plan.goal == "complete" else None
        more = max(told.total or 0, stream.said or 0) > stream.turning.matches + len(records)
        if step is None and more and records:
            step = counted_on(stream.sent, stream.request.url)  # more are said to be there than the pager has links for
        stream.sent = stream.request.url
        end = stream.turning.page([record.key for record in reading.records], told, follows=step is not None)
        lied = stream.turning.lied and bool(reading.records)
        new = 0 if lied else self._take(records, texts, stream, response)
        stream.said, stream.shown = stream.total, len(reading.records)
        stream.fresh, stream.came = new / max(1, len(records)), stream.came + new
        many = stream.turning.pages > AHEAD and stream.turning.matches > HALF * len(self.harvest.seen)
        self.spread |= many and self._broad_one(stream)
        stream.shows += sum(stream.words <= set(tokens(text)) for text in texts.values())
        stream.inside = None if stream.inside is None else stream.inside + new
        if stream.plain and stream.query in EVERYTHING and told.total:
            self.harvest.whole = max(self.harvest.whole, told.total)
        self.dry = 0 if new else self.dry + (not stream.check)
        if stream.due:
            self.further.page(0, stream.due * len(records), new)
        if stream.pair:
            self.pairs.page(stream.pair, new)
        elif stream.offer:
            self.luck.page(stream.offer.kind, stream.expected, new if stream.expected else 0)
        elif stream.expected and self.harvest.limit and (stream.said or 0) > self.harvest.limit:
            self.policy.cut_off(stream.expected, new)
        elif stream.expected:
            self.policy.page(stream.query, stream.expected, new)
        further = request(step, stream.query, tree.charset) if step is not None and not end else None
        stream.request = None if stream.check and self._checked(stream) else further
        if stream.turning.pages == 1:
            self._narrow(stream, tree, list(texts.values()), new)
        self._report(stream.query)
        if stream.request is None:
            self._close(stream, whole=further is None)
            if further is not None:  # a check query that has more to give is a query like others
                stream.request, stream.check = further, False
                self.streams.append(stream)

    def _checked(self, stream: OpenQuery) -> bool:
        """Whether a check query has told what it can: all its matches are too many, or the source that cuts them off has counted them."""
        if self.harvest.limit and self.harvest.totals_hold and stream.said:
            return True
        return stream.turning.pages >= CHECK_PAGES or (stream.said or 0) > CHECK_PAGES * stream.shown

    def _take(self, records: Sequence[Record], texts: dict[str, str], stream: OpenQuery, response: Response) -> int:
        page = hashlib.sha1(response.body, usedforsecurity=False).hexdigest()
        asked = stream.offer.offer.url if stream.offer else stream.query
        new = self.harvest.add(records, asked, page)
        for record in new:
            where = {
                "_key": record.key,
                "_url": record.url,
                "_query": asked,
                "_page": page,
                "_path": record.path,
            }
            self.observe(Held(row={**where, **record.fields}))
        fields = {record.key: record.fields for record in records}
        for key, text in texts.items():
            self.policy.saw(key, text, fields[key])
        if stream.check:
            stream.found |= texts
        if not stream.check:
            self.checking.saw(texts)
        return len(new)

    def _narrow(self, stream: OpenQuery, tree: TagTree, texts: list[str], new: int) -> None:
        """The first page of a query: whether a pair was understood, and whether it has more matches than can come."""
        harvest = self.harvest
        over = bool(harvest.limit) and (stream.said or 0) > harvest.limit
        if not stream.shown and stream.plain:
            self.policy.asked(stream.query, 0)
        if stream.pair:
            self.pairs.brought(stream.pair, texts, stream.said or stream.shown)
            harvest.grammar = self.pairs.understood
        if over and harvest.totals_hold and stream.plain:
            self.policy.told(stream.query, float(stream.said or 0))
        if over and harvest.totals_hold and not self.about:
            self.offers.cut_off(tree, stream.query, float(stream.said or 0))
            if not stream.offer and not (stream.pair and "and" not in self.pairs.understood):
                self.pairs.overflowed(stream.query, float(stream.said or 0), stream.pair.words if stream.pair else ())

    def _share(self, stream: OpenQuery) -> float:
        """What share of the next pages of a query should be new.

        As on the last page; where the source counts, at least what it says beside what is held: of matches in an order, the first
        are held sooner than the others. How many are held is known by those that show the word, and guessed from how many of all
        that the source has match it.
        """
        if not self.harvest.totals_tell:
            return max(stream.fresh, self._benefit(stream))
        said = stream.said or 0
        if said <= stream.turning.matches or (not stream.plain and stream.inside is None):
            return stream.fresh
        seen = len(self.harvest.seen)
        shows = max(0.05, stream.shows / max(1, stream.turning.matches))
        most = max(self.most, seen)
        size = min(max(self.harvest.size.estimate, most), FAR * most)
        guess = max(seen * said / size, self.policy.holding(stream.query) / shows)
        held = guess if stream.inside is None else stream.inside / shows
        left = said - min(seen, held)
        if self.harvest.limit and said > self.harvest.limit:  # its order favours what is held
            weight, stream.due = TRUST * stream.shown, left / said
            came = weight * self.further.of(0) * stream.due + stream.came
            return max(stream.fresh, came / max(1, weight + stream.turning.matches))
        share = min(1.0, left / (said - stream.turning.matches))
        # what was new on a page long ago is so no more
        return max(stream.fresh, share) if stream is self.current else share

    def _broad_one(self, stream: OpenQuery) -> bool:
        return stream.plain and stream.query in self.everything

    def _benefit(self, stream: OpenQuery) -> float:
        """Of the doubt, where nobody counts: a broad question may show what is held first, and everything else behind it.

        So it is followed past twice what was held when it was asked before its pages are believed; the broader, the sooner. After
        one that brought most of what is held no other has that benefit.
        """
        past = self.spread or stream.turning.matches >= 2 * stream.held + 2 * stream.shown
        return 0.0 if past or not self._broad_one(stream) else 0.9 - self.everything.index(stream.query) / 100

    def _left(self, stream: OpenQuery) -> float:
        """How many new records the rest of a query should bring: one that brings everything makes the others needless."""
        total = (
            stream.said if stream.said and self.harvest.totals_tell else stream.turning.matches + AHEAD * stream.shown
        )
        most = min(total, self.harvest.limit) if self.harvest.limit else total
        return self._share(stream) * max(0, most - stream.turning.matches)

    def _close(self, stream: OpenQuery, *, whole: bool) -> None:
        """A query is over: what it tells about the source."""
        harvest, ended = self.harvest, stream.turning.ended()
        self.streams.remove(stream)
        if whole and self.plan.goal == "complete":
            harvest.over(ended)
        self.policy.limit, self.policy.page_size = harvest.limit, harvest.page_size
        cut_off = bool(harvest.limit) and ended.matches >= harvest.limit
        most = ended.matches >= WHOLE * len(harvest.seen)
        broad = self._broad_one(stream) or (stream.plain and most and ended.pages > AHEAD)
        if broad and whole and not cut_off and (ended.pages > 1 or most):
            harvest.listed |= stream.turning.keys
            harvest.longest = max(harvest.longest, ended.matches)
        elif not broad:
            harvest.drawn |= stream.turning.keys
        harvest.recaptured = recaptured(harvest.listed, harvest.drawn) if harvest.listed else None
        if stream.check:
            said = stream.said if harvest.totals_hold and harvest.limit else None
            self.checking.note(harvest, stream.query, stream.found, whole and not cut_off, said)
        if harvest.limit and whole and not cut_off and stream.plain:
            self.policy.exhausted(stream.query)
        if cut_off and not harvest.totals_hold and stream.plain:
            self.pairs.overflowed(stream.query, 2.0 * ended.matches)  # at least; how many more nobody says
            if self.last is not None and not self.about:
                self.offers.cut_off(self.last, stream.query, 2.0 * ended.matches)

    def take_late(self, reading: Reading, query: str, response: Response) -> None:
        """Takes in what an answer held that could not be read when it came."""
        self._take(reading.records, {r.key: r.text for r in reading.records}, OpenQuery(query, None), response)
