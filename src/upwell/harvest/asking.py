"""Asking one source: probe, learn, then question by question and page by page, whatever should bring most (DESIGN §4.2–4.4).

    stream    a query whose pages are turned one at a time, as long as they bring more than another question would
    broad     questions that match nearly everything, asked first: nothing, a star, frequent letters and words
    pair      two words, where one has more matches than the source gives (`queries.pairs`)

No request is sent here: `steps` is a generator that yields what it wants to see and is sent what came (`loop.drive`).
"""

import hashlib
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

import numpy as np
import wordfreq

from upwell.answers.links import next_step, request
from upwell.answers.pager import Step
from upwell.answers.totals import Told, read_totals
from upwell.answers.turning import Turning
from upwell.errors import Forbidden, NothingLearned, Unreachable
from upwell.harvest.events import Asked, Learned, Observer, Trouble
from upwell.harvest.learn import Reading, SourceModel, apply, drifted, learn
from upwell.harvest.result import Checking, Harvest, Plan, Reason
from upwell.harvest.trial import tree as as_tree
from upwell.harvest.ways import Ways, fresh
from upwell.model import Kind, Record, Request, Response, Skipped, Template
from upwell.net.browser import Look, Seen
from upwell.net.refusal import refusal
from upwell.page.terms import tokens
from upwell.page.tree import TagTree
from upwell.queries.grammar import FORMS, write
from upwell.queries.pairs import Pair, Pairs
from upwell.queries.policy import Promising
from upwell.queries.words import nonsense, of_page
from upwell.site import templates
from upwell.store.state import State

__all__ = ["Asking", "Spent", "Steps", "by_turns"]

Steps = Generator[Request | Look, Response | Seen, Reason]
LETTERS = (
    "e",
    "a",
    "er",
    "in",
)  # the most frequent letters and pairs in texts of Latin script, for sources that search parts of words
FREQUENT = 4  # the most frequent words of the language that are asked for everything
RECENT = 12  # answers that are looked at again when the source seems to have changed
HALF = 0.5  # share of new records on the next page below which a query is left for another; not swept
STAY = 1.5  # so many times more must another query have left, that the one at hand is left for it; not swept
SCOUTS = 8  # frequent words that are asked for one page, to find one that matches nearly everything; not swept
AHEAD = 5  # pages that a query of unknown length is taken to have left
EVERYTHING = ("", "*")  # what asks for everything, where it is understood


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What the site has cost so far."""

    requests: int
    over: Reason | None  # the limit that was reached


@dataclass
class Stream:
    """A query, and what to send for its next page (None: there is none)."""

    query: str
    request: Request | None
    turning: Turning = field(default_factory=Turning)
    check: bool = False
    broad: bool = False
    pair: Pair | None = None
    found: dict[str, str] = field(default_factory=dict)  # text by key, of check queries
    fresh: float = 1.0  # share of the last page that was new
    expected: float = 0.0  # new records a request, where a policy chose it
    said: int | None = None
    shown: int = 0  # records of the last page
    shows: int = 0  # records so far whose text has the query


class Asking:
    """The state of one source's harvest while it runs."""

    def __init__(
        self,
        template: Template,
        ways: Ways,
        plan: Plan,
        state: State,
        observe: Observer,
        spent: Callable[[], Spent],
    ) -> None:
        self.template, self.ways, self.plan, self.observe, self.spent = template, ways, plan, observe, spent
        self.rng = np.random.default_rng(plan.seed)
        self.language = ways.home.language
        self.harvest = Harvest(template=template, model=plan.model or SourceModel(), state=state)
        self.policy = Promising(language=self.language)
        self.pairs = Pairs(self.policy)
        self.checking = Checking(plan.checks, self.language)
        self.queue: deque[str] = deque()
        self.broad: deque[str] = deque()
        self.streams: list[Stream] = []
        self.later: list[str] = []  # queries that brought no answer, to be asked once more
        self.failed: set[str] = set()
        self.recent: deque[tuple[Response, TagTree, str, Kind]] = deque(maxlen=RECENT)
        self.last: TagTree | None = None  # the last answer: tokens are taken from its form
        self.current: Stream | None = None
        self.scouted = False
        self.control = ""  # the last query that had matches
        self.errors_in_a_row = self.dry = self.turn = 0
        self.about = tuple(tokens(plan.about))

    # -- probing ---------------------------------------------------------------------------------------------------------

    def steps(self) -> Steps:
        """The whole of it; ends with why there is nothing more to ask."""
        probes = yield from self._probe()
        everything = () if self.template.values or self.about else self._broad()
        self.broad.extend(query for query in everything if query not in probes)
        self.queue.extend(self.template.values or dict.fromkeys((*self.plan.words, *probes)))
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

    def _broad(self) -> tuple[str, ...]:
        try:
            frequent = wordfreq.top_n_list(self.language or "en", FREQUENT)
        except LookupError:
            frequent = wordfreq.top_n_list("en", FREQUENT)
        return (*EVERYTHING, *LETTERS, *frequent)

    def _probe(self) -> Generator[Request | Look, Response | Seen, tuple[str, ...]]:
        """Asks for nonsense and for words of the site, and learns what answers look like; the queries that were asked."""
        values = self.template.values  # a form without text can be asked for these, and for nothing else
        if self.harvest.model.leader:
            return ()
        bare = [*self.ways.background, *nonsense(self.rng, self.plan.background)][: self.plan.background]
        background = yield from self._answers(() if values else tuple(bare))
        own = (self.plan.about,) if self.about else (*self.plan.words, *self.ways.words)
        words = values or tuple(dict.fromkeys((*own, *self._broad()[len(EVERYTHING) :], *of_page(self.ways.home))))
        answers: list[TagTree] = []
        asked = 0
        for start in range(0, min(len(words), 5 * self.plan.probes), self.plan.probes):
            some = words[start : start + self.plan.probes]
            answers += yield from self._answers(some)
            asked += len(some)
            self.harvest.model = learn(answers, background)
            if self.harvest.model.leader or self.spent().over:
                break
        if not self.harvest.model.leader:
            raise NothingLearned(
                f"{len(answers)} answers of {self.template.url}, none with a list of matches; name words that it knows with --words"
            )
        model = self.harvest.model
        self.observe(Learned(pagelet=model.pagelet, leader=model.leader, probes=len(answers) + len(background)))
        return tuple(words[:asked])

    def _answers(self, queries: Sequence[str]) -> Generator[Request | Look, Response | Seen, list[TagTree]]:
        """The answers to queries, those that could be had."""
        found = []
        for query in queries:
            if self.spent().over:
                break
            answer = yield from self._get((yield from self._filled(query)))
            if answer is not None:
                found.append(answer[1])
        return found

    # -- choosing --------------------------------------------------------------------------------------------------------

    def _why_stop(self) -> Reason | None:
        if over := self.spent().over:
            return over
        if self.errors_in_a_row >= self.plan.failures:
            return "blocked"
        said = max((stream.said or 0 for stream in self.streams), default=0) if self.harvest.totals_hold else 0
        if self.dry >= self.plan.patience and said <= len(self.harvest.seen):
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
            return (yield from self._open(self.broad.popleft(), broad=True))
        if free and not self.scouted and self.harvest.totals_hold:
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
        if pair is not None and pair.expected > max(worth, self.policy.expected if word else -1.0):
            return (yield from self._open(pair.query, pair=pair))
        if word is None or self.policy.expected < worth:
            return best
        expected = self.policy.expected
        self.policy.asked(word, 1)
        query = write(FORMS["and"][0], self.plan.about, word) if self.about else word
        stream = yield from self._open(query)
        stream.expected = expected
        return stream

    def _open(
        self, query: str, *, check: bool = False, broad: bool = False, pair: Pair | None = None
    ) -> Generator[Request | Look, Response | Seen, Stream]:
        stream = Stream(query, (yield from self._filled(query)), check=check, broad=broad, pair=pair)
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
        end = stream.turning.page([record.key for record in reading.records], told, follows=step is not None)
        lied = stream.turning.lied and bool(reading.records)
        new = 0 if lied else self._take(records, texts, stream, response)
        stream.said, stream.shown = told.total or stream.said, len(reading.records)
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
        for key, text in texts.items():
            self.policy.saw(key, text)
        if stream.check:
            stream.found |= texts
        if not stream.check:
            self.checking.saw(texts)
        return new

    def _narrow(self, stream: Stream, texts: list[str], new: int) -> None:
        """The first page of a query: whether a pair was understood, and whether a word has more matches than can come."""
        harvest = self.harvest
        if not stream.shown:
            self.policy.asked(stream.query, 0)
        if stream.expected and harvest.limit and (stream.said or 0) > harvest.limit:
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
        if not self.harvest.totals_hold or not stream.said or stream.pair or stream.said <= stream.turning.matches:
            return stream.fresh
        seen, most = len(self.harvest.seen), max(other.said or 0 for other in self.streams)
        shows = max(0.05, stream.shows / max(1, stream.turning.matches))
        held = max(seen * stream.said / max(most, stream.said), self.policy.holding(stream.query) / shows)
        left = stream.said - min(seen, held)
        share = min(1.0, left / (stream.said - stream.turning.matches))
        return (
            max(stream.fresh, share) if stream is self.current else share
        )  # what was new on a page long ago is so no more

    def _left(self, stream: Stream) -> float:
        """How many new records the rest of a query should bring: one that brings everything makes the others needless."""
        total = (
            stream.said if stream.said and self.harvest.totals_hold else stream.turning.matches + AHEAD * stream.shown
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
        cut_off = bool(harvest.limit) and ended.matches >= harvest.limit
        if stream.check:
            said = stream.said if harvest.totals_hold and harvest.limit else None
            self.checking.note(harvest, stream.query, stream.found, whole and not cut_off, said)
        if cut_off and not harvest.totals_hold:
            self.pairs.overflowed(stream.query, 2.0 * ended.matches)  # at least; how many more nobody says

    def _wanted(self, records: Sequence[Record], query: str) -> Sequence[Record]:
        """All of them; where only what is about something is wanted, what came for just that, or says its words."""
        if not self.about or query == self.plan.about:
            return records
        kept = [record for record in records if set(self.about) <= set(tokens(record.text))]
        self.harvest.filtered[f"not about {self.plan.about}"] += len(records) - len(kept)
        return kept

    # -- sending and reading ---------------------------------------------------------------------------------------------

    def _filled(self, query: str) -> Generator[Request | Look, Response | Seen, Request]:
        self.template = yield from fresh(self.template, self.last)
        return templates.fill(self.template, query)

    def _get(self, wanted: Request) -> Generator[Request | Look, Response | Seen, tuple[Response, TagTree] | None]:
        """One answer, or None where it could not be had (which is counted)."""
        try:
            response = yield wanted
            if not isinstance(response, Response):
                raise TypeError("a Request is answered by a Response")
            if refused := refusal(response):
                raise Unreachable(f"{wanted.url} refuses: {refused}")
        except (Unreachable, Forbidden) as error:
            self.skip("fetch", wanted.url, str(error))
            return None
        self.last = as_tree(response)
        return response, self.last

    def skip(self, stage: str, page: str, reason: str) -> None:
        """Counts and reports a page that cannot be used."""
        skipped = Skipped(stage=stage, page=page, reason=reason)
        self.harvest.skipped.append(skipped)
        self.observe(Trouble(skipped=skipped))

    def _read(self, response: Response, tree: TagTree, query: str) -> Reading:
        harvest = self.harvest
        reading = apply(harvest.model, tree, status=response.status, asked_at=self._asked_at(response))
        self.recent.append((response, tree, query, reading.kind))
        harvest.answers[reading.kind] += 1
        self.errors_in_a_row = self.errors_in_a_row + 1 if reading.kind == "error" else 0
        harvest.page_size = max(harvest.page_size, len(reading.records))
        harvest.samples.setdefault(reading.kind, f"{query}: {' '.join(tree.text().split())[:600]}")
        if reading.kind == "multi":
            self.control = query
            harvest.outlined = harvest.outlined or outline(tree, reading)
        return reading

    def _suspicious(self) -> bool:
        return len(self.recent) == RECENT and drifted(self.harvest.model, [kind for *_, kind in self.recent])

    def _learn_again(self) -> Generator[Request | Look, Response | Seen, Reading | None]:
        """The source seems to have changed: a question that had matches is asked once more, and if it has none now, is learned from anew.

        What the last answers hold is taken in then; without such a change, they just had no matches.
        """
        recent = list(self.recent)
        self.recent.clear()
        control = replace(
            templates.fill(self.template, self.control), query=""
        )  # without a query nothing is taken from memory
        answer = yield from self._get(control)
        if answer is None or apply(self.harvest.model, answer[1], asked_at=self._asked_at(answer[0])).kind == "multi":
            return None
        model = learn([answer[1], *(tree for _, tree, _, _ in recent)])
        again = [apply(model, tree, status=r.status, asked_at=self._asked_at(r)) for r, tree, _, _ in recent]
        if apply(model, answer[1], asked_at=self._asked_at(answer[0])).kind != "multi":
            return None
        self.harvest.model, self.harvest.relearned = model, self.harvest.relearned + 1
        self.observe(Learned(pagelet=model.pagelet, leader=model.leader, probes=len(recent) + 1))
        for one, (response, _, query, kind) in zip(again, recent[:-1], strict=False):
            if kind != "multi" and one.records:
                self._take(
                    one.records, {record.key: record.text for record in one.records}, Stream(query, None), response
                )
        return again[-1]

    def _asked_at(self, response: Response) -> str:
        """The path that answers come from; where the query is a part of the path, any."""
        return urlsplit(self.template.url if self.template.query_field else response.url).path

    def _report(self, query: str) -> None:
        harvest, sent = self.harvest, self.spent().requests
        harvest.curve.append((sent, len(harvest.seen), harvest.matches))
        self.observe(
            Asked(
                query=query,
                requests=sent,
                answers=dict(harvest.answers),
                records=len(harvest.seen),
                overlap_rate=harvest.overlap_rate,
                size=harvest.size if len(harvest.curve) % 10 == 0 else None,
            )
        )


CHECK_PAGES = 5  # of a check query at most, where the source does not say how many matches there are


def following(tree: TagTree, reading: Reading, query: str) -> Step | None:
    """What to send for the next page: by the links around the matches first, because a match may be called “next” too."""
    if reading.kind != "multi":
        return None
    own = {target for record in reading.records for target in record.links}
    around = {
        row: found for row, found in tree.attributes.items() if found.get("href") not in own or not found.get("href")
    }
    step = next_step(replace(tree, attributes=around), query)
    if step is None:  # or a pager was taken for a part of the last match
        step = next_step(tree, query)
        if step is not None and urlsplit(step.url).path != urlsplit(tree.url).path:
            return None
    return step


def outline(tree: TagTree, reading: Reading) -> list[tuple[str, str]]:
    """An answer as its texts, each with the path of the record that it is in, or "": for the report, as text."""
    ends = {}
    for record in reading.records:
        row = tree.row_at(record.path)
        if row is not None:
            ends[row] = (int(tree.end[row]), record.path)
    found, inside = [], (0, "")
    for text, row in zip(tree.chunks, tree.chunk_row.tolist(), strict=True):
        for above in (row, *tree.ancestors(row)):
            if above in ends:
                inside = ends[above]
                break
        found.append((text[:200], inside[1] if row < inside[0] else ""))
    return found[:OUTLINED]


OUTLINED = 150  # texts of an answer that the report shows


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
