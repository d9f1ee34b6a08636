"""What to ask one source: question by question and page by page, whatever should bring most (DESIGN §4.4).

    stream    a query whose pages are turned one at a time, as long as they bring more than another question would
    broad     questions that match nearly everything, asked first: nothing, a star, frequent letters and words
    pair      two words, where one has more matches than the source gives (`queries.pairs`)

No request is sent here: `steps` is a generator that yields what it wants to see and is sent what came (`loop.drive`).
"""

import hashlib
from collections import Counter, deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from upwell.answers.links import request
from upwell.answers.totals import Told, read_totals
from upwell.answers.turning import Turning
from upwell.errors import Forbidden, NothingLearned, Unreachable
from upwell.harvest.events import Held
from upwell.harvest.learn import Reading
from upwell.harvest.probing import EVERYTHING, Setting, Source, counted_on, following
from upwell.harvest.result import Checking, Reason
from upwell.model import Record, Request, Response, Template
from upwell.net.browser import Look, Seen
from upwell.page.terms import tokens
from upwell.queries.grammar import FORMS, write
from upwell.queries.pairs import Pair, Pairs
from upwell.queries.policy import Promising

__all__ = ["Asking", "Steps", "by_turns"]

Steps = Generator[Request | Look, Response | Seen, Reason]
HALF = 0.5  # share of new records on the next page below which a query is left for another; not swept
STAY = 1.5  # so many times more must another query have left, that the one at hand is left for it; not swept
FAR = 1.3  # times what is held or said at most, that a source is taken to hold when a query is guessed at; not swept
RATE = 0.1  # how fast it is learned what queries bring of what was expected; not swept
MORE = 5  # times as patient where a source cuts off and check queries say that records are missing; not swept
SCOUTS = 8  # frequent words that are asked for one page, to find one that matches nearly everything; not swept
AHEAD = 5  # pages that a query of unknown length is taken to have left


@dataclass
class Stream:
    """A query, and what to send for its next page (None: there is none)."""

    query: str
    request: Request | None
    turning: Turning = field(default_factory=Turning)
    check: bool = False
    pair: Pair | None = None
    found: dict[str, str] = field(default_factory=dict)  # text by key, of check queries
    fresh: float = 1.0  # share of the last page that was new
    expected: float = 0.0  # new records a request, where a policy chose it
    said: int | None = None
    shown: int = 0  # records of the last page
    shows: int = 0  # records so far whose text has the query
    held: int = 0  # records held when it was asked
    sent: str = ""  # the address of the last page


class Asking(Source):
    """The state of one source's harvest while it runs."""

    def __init__(self, template: Template, setting: Setting) -> None:
        super().__init__(template, setting)
        plan = setting.plan
        self.policy = Promising(language=self.language)
        self.pairs = Pairs(self.policy)
        self.checking = Checking(plan.checks, self.language)
        self.queue: deque[str] = deque()
        self.broad: deque[str] = deque()
        self.everything: tuple[str, ...] = ()  # the broad questions, the broadest first
        self.streams: list[Stream] = []
        self.later: list[str] = []  # queries that brought no answer, to be asked once more
        self.failed: set[str] = set()
        self.current: Stream | None = None
        self.scouted = False
        self.spread = False  # whether a broad question brought most of what is held
        self.luck = {"word": 1.0, "pair": 1.0}  # of what was expected of queries, what came
        self.dry = self.turn = 0

    def steps(self) -> Steps:
        """The whole of it; ends with why there is nothing more to ask."""
        probes = yield from self._probe()
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
        if over := self.spent().over:
            return over
        if self.errors_in_a_row >= self.plan.failures:
            return "blocked"
        limit = self.harvest.limit
        said = (
            max((stream.said or 0 for stream in self.streams), default=0)
            if self.harvest.totals_tell and not limit
            else 0
        )
        patience = self.plan.patience * (
            MORE if limit and len(self.harvest.seen) < self.plan.coverage * self.harvest.size.low else 1
        )
        if self.dry >= patience and said <= len(self.harvest.seen):
            return "saturated"  # unless the source says that it has more
        size, held = self.harvest.size, len(self.harvest.seen)
        known = self.harvest.checks()["size_by"] != "chao" and not self.harvest.lower_bound
        return "coverage" if known and held and held >= self.plan.coverage * size.high else None

    def _next(self) -> Generator[Request | Look, Response | Seen, Stream | None]:
        """What to send next: what waits, a check query whose turn it is, else the page or the question that should bring most."""
        self.turn += 1
        if len(self.later) >= self.plan.failures:
            self.queue.extend(self.later)  # another round for what failed (Entity §2)
            self.later = []
        free = not self.template.values
        counted = self.harvest.whole and self.harvest.totals_hold
        check = self.checking.next(self.harvest, self.turn) if free and not self.about and not counted else None
        if check is not None:
            return (yield from self._open(check, check=True))
        for stream in self.streams:
            if stream.check:
                return stream
        if self.queue:
            return (yield from self._open(self.queue.popleft()))
        if self.broad:
            return (yield from self._open(self.broad.popleft()))
        if free and not self.scouted and self.harvest.totals_tell:
            self.scouted = True
            self.queue.extend(() if counted or self.harvest.limit or self.about else self.policy.frequent(SCOUTS))
            if self.queue:
                return (yield from self._open(self.queue.popleft()))
        worthy = [stream for stream in self.streams if self._share(stream) >= HALF or not free]
        if worthy:
            most = max(worthy, key=self._left)
            if self.current not in worthy or self._left(most) > STAY * self._left(self.current):
                self.current = most
            return self.current
        best = max(self.streams, key=lambda stream: self._share(stream) * stream.shown, default=None)
        worth = self._share(best) * best.shown if best else -1.0
        word, pair = self.policy.next(), self.pairs.next()
        single = self.policy.expected * self.luck["word"] if word else -1.0
        if pair is not None and pair.expected * self.luck["pair"] > max(worth, single):
            stream = yield from self._open(pair.query, pair=pair)
            stream.expected = pair.expected
            return stream
        if word is None or single < worth:
            return best
        expected = self.policy.expected
        self.policy.asked(word, 1)
        query = write(FORMS["and"][0], self.plan.about, word) if self.about else word
        stream = yield from self._open(query)
        stream.expected = expected
        return stream

    def _open(
        self, query: str, *, check: bool = False, pair: Pair | None = None
    ) -> Generator[Request | Look, Response | Seen, Stream]:
        stream = Stream(query, (yield from self._filled(query)), check=check, pair=pair, held=len(self.harvest.seen))
        stream.turning.cap = self.harvest.limit or None
        self.streams.append(stream)
        if pair:
            self.pairs.asked(pair)
        return stream

    # -- turning pages ---------------------------------------------------------------------------------------------------

    def _turn(self, stream: Stream) -> Generator[Request | Look, Response | Seen, None]:
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
        told = read_totals(tree, len(reading.records)) if reading.kind == "multi" else Told()
        step = following(tree, reading, stream.query) if self.plan.goal == "complete" else None
        more = max(told.total or 0, stream.said or 0) > stream.turning.matches + len(records)
        if step is None and more and records:
            step = counted_on(stream.sent, stream.request.url)  # more are said to be there than the pager has links for
        stream.sent = stream.request.url
        end = stream.turning.page([record.key for record in reading.records], told, follows=step is not None)
        lied = stream.turning.lied and bool(reading.records)
        new = 0 if lied else self._take(records, texts, stream, response)
        stream.said, stream.shown = _mostly(stream.turning.told), len(reading.records)
        stream.fresh = new / max(1, len(records))
        stream.shows += sum(stream.query in tokens(text) for text in texts.values())
        if stream.query in EVERYTHING and told.total:
            self.harvest.whole = max(self.harvest.whole, told.total)
        self.dry = 0 if new else self.dry + (not stream.check)
        further = request(step, stream.query, tree.charset) if step is not None and not end else None
        stream.request = None if stream.check and self._checked(stream) else further
        if stream.turning.pages == 1:
            self._narrow(stream, list(texts.values()), new)
        self._report(stream.query)
        if stream.request is None:
            self._close(stream, whole=further is None)
            if further is not None:  # a check query that has more to give is a query like others
                stream.request, stream.check = further, False
                self.streams.append(stream)

    def _checked(self, stream: Stream) -> bool:
        """Whether a check query has told what it can: all its matches are too many, or the source that cuts them off has counted them."""
        if self.harvest.limit and self.harvest.totals_hold and stream.said:
            return True
        return stream.turning.pages >= CHECK_PAGES or (stream.said or 0) > CHECK_PAGES * stream.shown

    def _take(self, records: Sequence[Record], texts: dict[str, str], stream: Stream, response: Response) -> int:
        page = hashlib.sha1(response.body, usedforsecurity=False).hexdigest()
        new = self.harvest.add(records, stream.query, page)
        for record in new:
            where = {
                "_key": record.key,
                "_url": record.url,
                "_query": stream.query,
                "_page": page,
                "_path": record.path,
            }
            self.observe(Held(row={**where, **record.fields}))
        for key, text in texts.items():
            self.policy.saw(key, text)
        if stream.check:
            stream.found |= texts
        if not stream.check:
            self.checking.saw(texts)
        return len(new)

    def _narrow(self, stream: Stream, texts: list[str], new: int) -> None:
        """The first page of a query: whether a pair was understood, and whether a word has more matches than can come."""
        harvest = self.harvest
        if not stream.shown:
            self.policy.asked(stream.query, 0)
        if stream.expected:
            kind = "pair" if stream.pair else "word"
            self.luck[kind] = max(0.02, self.luck[kind] + RATE * (min(2.0, new / stream.expected) - self.luck[kind]))
        if stream.expected and not stream.pair and harvest.limit and (stream.said or 0) > harvest.limit:
            self.policy.cut_off(stream.expected, new)
        if stream.pair:
            self.pairs.brought(stream.pair, texts, stream.said or stream.shown)
            harvest.grammar = self.pairs.understood
        elif harvest.limit and harvest.totals_hold and (stream.said or 0) > harvest.limit and not self.about:
            self.pairs.overflowed(stream.query, float(stream.said or 0))

    def _share(self, stream: Stream) -> float:
        """What share of the next pages of a query should be new.

        As on the last page; where the source counts, at least what it says beside what is held: of matches in an order, the first
        are held sooner than the others. How many are held is known by those that show the word, and guessed from how many of all
        that the source has match it.
        """
        if not self.harvest.totals_tell:
            return max(stream.fresh, self._benefit(stream))
        limit = self.harvest.limit  # where it cuts off, what comes last does not come at all
        if not stream.said or stream.pair or stream.said <= stream.turning.matches or (limit and stream.said > limit):
            return stream.fresh
        seen, most = len(self.harvest.seen), max(other.said or 0 for other in self.streams)
        shows = max(0.05, stream.shows / max(1, stream.turning.matches))
        most = max(most, seen)
        size = min(max(self.harvest.size.estimate, most), FAR * most)
        held = max(seen * stream.said / size, self.policy.holding(stream.query) / shows)
        left = stream.said - min(seen, held)
        share = min(1.0, left / (stream.said - stream.turning.matches))
        return (
            max(stream.fresh, share) if stream is self.current else share
        )  # what was new on a page long ago is so no more

    def _benefit(self, stream: Stream) -> float:
        """Of the doubt, where nobody counts: a broad question may show what is held first, and everything else behind it.

        So it is followed past twice what was held when it was asked before its pages are believed; the broader, the sooner. After
        one that brought most of what is held no other has that benefit.
        """
        past = self.spread or stream.turning.matches >= 2 * stream.held + 2 * stream.shown
        return 0.0 if past or stream.query not in self.everything else 0.9 - self.everything.index(stream.query) / 100

    def _left(self, stream: Stream) -> float:
        """How many new records the rest of a query should bring: one that brings everything makes the others needless."""
        total = (
            stream.said if stream.said and self.harvest.totals_tell else stream.turning.matches + AHEAD * stream.shown
        )
        most = min(total, self.harvest.limit) if self.harvest.limit else total
        return self._share(stream) * max(0, most - stream.turning.matches)

    def _close(self, stream: Stream, *, whole: bool) -> None:
        """A query is over: what it tells about the source."""
        harvest, ended = self.harvest, stream.turning.ended()
        self.streams.remove(stream)
        if whole and self.plan.goal == "complete":
            harvest.over(ended)
        self.policy.limit, self.policy.page_size = harvest.limit, harvest.page_size
        if stream.query in self.everything and ended.matches > HALF * len(harvest.seen) and ended.pages > AHEAD:
            self.spread = True
        cut_off = bool(harvest.limit) and ended.matches >= harvest.limit
        if stream.check:
            said = stream.said if harvest.totals_hold and harvest.limit else None
            self.checking.note(harvest, stream.query, stream.found, whole and not cut_off, said)
        if cut_off and not harvest.totals_hold:
            self.pairs.overflowed(stream.query, 2.0 * ended.matches)  # at least; how many more nobody says

    def take_late(self, reading: Reading, query: str, response: Response) -> None:
        """Takes in what an answer held that could not be read when it came."""
        self._take(reading.records, {r.key: r.text for r in reading.records}, Stream(query, None), response)

    def _wanted(self, records: Sequence[Record], query: str) -> Sequence[Record]:
        """All of them; where only what is about something is wanted, what came for just that, or says its words."""
        if not self.about or query == self.plan.about:
            return records
        kept = [record for record in records if set(self.about) <= set(tokens(record.text))]
        self.harvest.filtered[f"not about {self.plan.about}"] += len(records) - len(kept)
        return kept


CHECK_PAGES = 5  # of a check query at most, where the source does not say how many matches there are


def _mostly(told: Sequence[Told]) -> int | None:
    """The total that most pages of a query say, the greatest of those that are said as often; a page may be read wrongly."""
    totals = Counter(page.total for page in told if page.total is not None)
    return max(totals, key=lambda total: (totals[total], total), default=None)


def by_turns(sources: Sequence[Asking]) -> Generator[Request | Look, Response | Seen, None]:
    """Several sources of one site, a request of each in turn, so that a budget is shared; one that cannot be read is passed over."""
    waiting: deque[tuple[Asking, Steps, Response | Seen | Exception | None]] = deque(
        (one, one.steps(), None) for one in sources
    )
    last: NothingLearned | None = None
    while waiting:
        one, steps, came = waiting.popleft()
        try:
            wanted = steps.throw(came) if isinstance(came, Exception) else steps.send(came)  # type: ignore[arg-type] # None starts it
        except StopIteration as end:
            one.harvest.stopped = end.value
            continue
        except NothingLearned as error:
            one.skip("learn", one.template.url, str(error))
            last = error
            continue
        try:
            waiting.append((one, steps, (yield wanted)))
        except (Unreachable, Forbidden) as error:
            waiting.append((one, steps, error))
    if last is not None and not any(one.harvest.model.leader for one in sources):
        raise last
