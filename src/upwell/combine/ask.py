"""Query learned sources live: send one query to all of them in parallel, and collect the answers until a deadline.

Nothing is learned. Requests pass the same checks as those of a harvest (`net.fetch`): robots.txt, rate, private addresses, unsafe links.
"""

import asyncio
import math
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from upwell.answers.kind import judge_answer, refusal_reason
from upwell.answers.next_page import next_page_request
from upwell.combine.learned_source import LearnedSource, SourceAnswer, load_sources, source_files
from upwell.combine.merge import AskResult, merge
from upwell.combine.search_index import fold
from upwell.discover import interfaces
from upwell.discover.browser_search import SearchOnlyPolicy
from upwell.discover.consent_page import ConsentPage, consent_request
from upwell.discover.index_source import records_of_index
from upwell.discover.steps import with_fresh_tokens
from upwell.errors import BudgetSpent, Unreachable, UpwellError, WrongUsage
from upwell.net.browser import Chromium
from upwell.net.fetch import Fetcher, Memory
from upwell.net.manners import Manners
from upwell.net.reading_thread import ReadingThread
from upwell.page.formats import read_page
from upwell.page.tokens import tokens
from upwell.page.tree import TagTree
from upwell.source.apply import Reading, apply
from upwell.source.drift import DriftWatch
from upwell.source.paging import next_page_of, posts_elsewhere
from upwell.types import BrowserVisit, IndexInterface, ListInterface, Record, Request, Response

__all__ = ["IndexSearch", "ask", "ask_each", "ask_sources"]

K1, B = 1.2, 0.75  # BM25 parameters, usual values (Robertson and Zaragoza 2009 §3.1)
MIN_PREFIX_CHARS = 3  # length from which a query word also matches longer words that begin with it; not swept
PREFIX_WEIGHT = 0.5  # weight of a longer word relative to an exact match; not swept


class IndexSearch:
    """Full-text search in an index that a site sends as a whole to its own search script.

    Each field is scored by BM25 (Robertson and Zaragoza 2009 §3); words of the query also match as prefixes, as in search-as-you-type.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        lengths: defaultdict[str, dict[int, int]] = defaultdict(dict)  # field → record → number of words
        self._postings: defaultdict[str, list[tuple[int, str, int]]] = defaultdict(
            list
        )  # word → (record, field, count)
        for number, record in enumerate(records):
            for name, text in record.fields.items():
                words = tokens(fold(text))
                lengths[name][number] = len(words)
                for word, times in Counter(words).items():
                    self._postings[word].append((number, name, times))
        self._words = sorted(self._postings)
        means = {name: sum(of_records.values()) / len(of_records) for name, of_records in lengths.items()}
        # length normalisation of each field, relative to the mean length of the fields of that name
        self._norms = {
            (number, name): 1 - B + B * length / max(1.0, means[name])
            for name, of_records in lengths.items()
            for number, length in of_records.items()
        }

    def find(self, query: str) -> list[Record]:
        """Return the records that contain most of the query's words, best field scores first."""
        scores: defaultdict[int, float] = defaultdict(float)
        matched: Counter[int] = Counter()
        for word in dict.fromkeys(tokens(fold(query))):
            word_scores = self._scores_of(word)
            matched.update(word_scores.keys())
            for number, score in word_scores.items():
                scores[number] += score
        most_words = max(matched.values(), default=0)
        numbers = [number for number, words in matched.items() if words == most_words]
        return [self.records[number] for number in sorted(numbers, key=lambda i: (-scores[i], i))]

    def _scores_of(self, word: str) -> dict[int, float]:
        """Return the field scores of records that contain a word, or a word that begins with it."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term in self._beginning_with(word):
            postings = self._postings[term]
            document_frequency = len({number for number, _, _ in postings})
            rarity = math.log(1 + (len(self.records) - document_frequency + 0.5) / (document_frequency + 0.5))
            weight = 1.0 if term == word else PREFIX_WEIGHT
            for number, name, count in postings:
                scores[number] += weight * rarity * count * (K1 + 1) / (count + K1 * self._norms[number, name])
        return scores

    def _beginning_with(self, word: str) -> Iterable[str]:
        """Return the indexed words that begin with a word."""
        if len(word) < MIN_PREFIX_CHARS:
            return [word] if word in self._postings else []
        first = bisect_left(self._words, word)
        return self._words[first : bisect_left(self._words, word + "\U0010ffff")]


MAX_AT_ONCE = 100  # sources queried at the same time: each uses a connection and a thread
MAX_FAILURES = 10  # consecutive queries without an answer before a source is given up; as `Plan.failures`
# Length of a "nothing found" notice in an answer without records; as `EmptyParams.max_notice_chars`.
MAX_NOTE_CHARS = 400
INDEX_PAGE = 10  # records of an index that count as one page of an answer
LEARN_AGAIN = "the site may have changed; harvest it again to update its source model"


async def ask(
    query: str,
    places: str | Path | Iterable[str | Path],
    *,
    pages: int = 1,
    deadline: float = 5.0,
    manners: Manners | Callable[[str], Manners] | None = None,
) -> AskResult:
    """Send one query to learned sources in parallel, and merge the answers received before the deadline; nothing is learned.

    A place is a `source.json`, the folder of a harvest, or a folder of harvests. `manners` may be a function from URL to manners.
    """
    if not query.strip():
        raise WrongUsage("the query is empty; give at least one word")
    if pages < 1 or deadline <= 0:
        raise WrongUsage(f"pages={pages}, deadline={deadline:g}: both must be positive")
    files = source_files([places] if isinstance(places, str | Path) else places)
    manners_of = manners if callable(manners) else lambda _: manners or Manners()
    answers = await ask_sources(query, files, pages=pages, deadline=deadline, manners_of=manners_of)
    return AskResult(findings=tuple(merge(answers, query)), answers=tuple(answers))


def check_credentials(manners: Manners) -> None:
    """Raise WrongUsage if credentials were given and no address for them."""
    if manners.access.has_credentials and not manners.allow:
        raise WrongUsage(
            "cookies, headers, passwords, tokens and certificates are sent only to an address that you name, and the sources come from files; "
            "add --allow ADDRESS for each source that should get them"
        )


async def ask_sources(
    query: str,
    files: Sequence[Path],
    *,
    pages: int = 1,
    deadline: float = 5.0,
    manners_of: Callable[[str], Manners],
) -> list[SourceAnswer]:
    """Query the sources of `source.json` files; return the answers received within `deadline` seconds, in the order of the files."""
    slots = asyncio.Semaphore(MAX_AT_ONCE)
    answers: dict[Path, list[SourceAnswer]] = {file: [] for file in files}
    sent: set[Request] = set()  # a source may have been harvested into several folders

    async def ask_file(file: Path) -> None:
        async with slots:
            with ReadingThread() as thread:
                try:
                    sources = await thread.run(lambda: load_sources(file))
                except UpwellError as error:
                    answers[file].append(SourceAnswer(source=_place(file), trouble=str(error)))
                    return
                manners = manners_of(sources[0].address)
                check_credentials(manners)
                limited = replace(manners, timeout=min(manners.timeout, deadline))
                for source in sources:
                    if (request := interfaces.fill(source.interface, query)) in sent:
                        continue
                    sent.add(request)
                    answers[file].append(SourceAnswer(source=source.name))
                    async with _network(source, limited) as network:
                        try:
                            await _Asking(source, answers[file][-1], thread, network).ask(query, pages)
                        except BudgetSpent as error:
                            answers[file][-1].trouble = str(error)

    tasks = [asyncio.ensure_future(ask_file(file)) for file in files]
    try:
        _, late = await asyncio.wait(tasks, timeout=deadline)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for file, task in zip(files, tasks, strict=True):
        if not answers[file] and task in late:
            answers[file] = [SourceAnswer(source=_place(file))]
        for answer in answers[file] if task in late else ():
            if not answer.trouble:
                missing = "all pages" if answer.pages else "any page"
                answer.trouble = f"did not send {missing} within {deadline:g} s"
        if task not in late:
            task.result()  # re-raise programming errors
    return [answer for file in files for answer in answers[file]]


async def ask_each(
    source: LearnedSource,
    queries: Sequence[str],
    *,
    manners: Manners,
    memory: Memory,
    budget: int,
    answers: dict[str, SourceAnswer],
    tell: Callable[[str], None],
) -> str:
    """Send queries to one source one after the other, and fill `answers`; return why it stopped: exhausted, budget or blocked."""
    failures = sent = 0
    check_credentials(manners)
    async with _network(source, manners, memory) as network:
        net = network.net
        net.exhausted = lambda wait: f"the budget of {budget:,} requests is spent" if net.sent >= budget else ""
        with ReadingThread() as thread:
            for number, query in enumerate(queries, 1):
                answer = SourceAnswer(source=source.name)
                try:
                    await _Asking(source, answer, thread, network).ask(query, 1)
                except BudgetSpent:
                    return "budget"
                answers[query], answer.requests, sent = answer, net.sent - sent, net.sent
                failures = failures + 1 if answer.trouble else 0
                tell(f"{number:,} of {len(queries):,} values asked, {net.sent:,} requests")
                if failures >= MAX_FAILURES:
                    return "blocked"
    return "exhausted"


def _place(file: Path) -> str:
    return file.parent.name or str(file)


@dataclass(frozen=True)
class _Network:
    """Network access to one source; requests go through a browser if answers need JavaScript."""

    net: Fetcher
    chromium: Chromium | None
    consent_pages: tuple[ConsentPage, ...] = ()
    indexes: dict[str, IndexSearch] = field(default_factory=dict)  # URL → index fetched before

    async def send(self, request: Request) -> Response:
        """Send a request and return the response; click through a consent page if it is shown."""
        if self.chromium is not None:
            return await self.chromium.fetch(request)
        response = await self.net.fetch(request, reuse=True)
        if (click := consent_request(self.consent_pages, response)) is not None:
            await self.net.fetch(click)
            response = await self.net.fetch(request)
        return response


@asynccontextmanager
async def _network(source: LearnedSource, manners: Manners, memory: Memory | None = None) -> AsyncIterator[_Network]:
    interface = source.interface
    async with AsyncExitStack() as stack:
        # the address is the choice of a file: it gets credentials only if the user named it too
        user_urls = (source.address,) if manners.names(source.address) else ()
        fetcher = Fetcher(source.trusted(manners), user_urls=user_urls, memory=memory)
        fetcher.allow(Request(url=source.address))
        net = await stack.enter_async_context(fetcher)
        chromium = await stack.enter_async_context(Chromium(net, SearchOnlyPolicy())) if interface.rendered else None
        yield _Network(net, chromium, source.consent_pages)


@dataclass
class _Asking:
    """One query to one source."""

    source: LearnedSource
    answer: SourceAnswer
    thread: ReadingThread
    network: _Network

    async def ask(self, query: str, pages: int) -> None:
        """Fetch and read up to `pages` pages of the answer."""
        interface, answer, started = self.source.interface, self.answer, time.monotonic()
        if interface.choices and query not in interface.choices:
            answer.trouble = f"accepts only {', '.join(interface.choices[:5])} …, because its form has no text field"
            return
        if isinstance(interface, ListInterface):
            answer.trouble = (
                "has no search, it was read from its lists; use `upwell search` to search the harvested records"
            )
            return
        try:
            if isinstance(interface, IndexInterface):
                await self._look_into(interface, query, pages)
                return
            request: Request | None = await self._request(query)
            while request is not None and answer.pages < pages:
                response = await self.network.send(request)
                if refused := refusal_reason(response):
                    raise Unreachable(f"{request.url} refuses: {refused}")
                request = await self.thread.run(lambda response=response: self._take(response, query))  # type: ignore[misc] # bound now
        except BudgetSpent:
            raise
        except UpwellError as error:
            answer.trouble = str(error)
        finally:
            answer.requests, answer.seconds = self.network.net.sent, time.monotonic() - started

    async def _look_into(self, interface: IndexInterface, query: str, pages: int) -> None:
        """Answer the query from the index that the site sends to its own search, fetched once."""
        indexes, answer = self.network.indexes, self.answer
        if interface.url not in indexes:
            response = await self.network.send(interfaces.fill(interface, ""))
            if refused := refusal_reason(response):
                raise Unreachable(f"{interface.url} refuses: {refused}")
            records = await self.thread.run(lambda: records_of_index(interface, response.body))
            indexes[interface.url] = await self.thread.run(lambda: IndexSearch(records))
        search = indexes[interface.url]
        if not search.records:
            answer.drift = f"{interface.url} no longer contains records; {LEARN_AGAIN}"
        answer.records = await self.thread.run(lambda: search.find(query)[: pages * INDEX_PAGE])
        answer.fields = self.source.fields(answer.records)
        answer.pages = max(1, -(-len(answer.records) // INDEX_PAGE))

    async def _request(self, query: str) -> Request:
        """Return the request for a query, with fresh form tokens if needed."""
        steps = with_fresh_tokens(self.source.interface, None)
        try:
            step = next(steps)
            while True:
                if isinstance(step, BrowserVisit):
                    raise TypeError("form tokens are read without a browser")
                step = steps.send(await self.network.net.fetch(step))
        except StopIteration as end:
            return interfaces.fill(end.value, query)

    def _take(self, response: Response, query: str) -> Request | None:
        """Read one page; return the request for the next page, if any."""
        source, answer = self.source, self.answer
        tree = read_page(response.body, response.url, response.headers)
        path = urlsplit(response.url).path
        is_answer = not source.interface.query_field or path == source.model.asked_at
        asked_at = path if is_answer else urlsplit(source.interface.url).path
        reading = apply(source.model, tree, status=response.status, asked_at=asked_at, query=query)
        answer.drift = answer.drift or _drift(source, reading, tree, query)
        if reading.kind == "error":
            answer.trouble = f"answered with an error (status {response.status})"
        known_keys = {record.key for record in answer.records}
        new = [record for record in reading.records if record.key not in known_keys]
        answer.records += new
        answer.fields += source.fields(new)
        answer.pages += 1
        step = next_page_of(tree, reading, query, self.source.model.next_link) if new else None
        if step is None or posts_elsewhere(step, tree, source.interface.url):
            return None
        return next_page_request(step, query)


def _drift(source: LearnedSource, reading: Reading, tree: TagTree, query: str) -> str:
    """Return why an answer does not fit the source model; "" if it does."""
    verdict = judge_answer(source.model.empty, tree, query, records=0) if reading.kind == "none" else None
    if verdict is not None and not verdict.is_empty and verdict.own_chars > MAX_NOTE_CHARS:
        return f"an answer without records does not look like an empty answer; {LEARN_AGAIN}"
    watch = DriftWatch(source.model, min_answers=1)
    watch.note(reading, tree)
    return f"{watch.reason}; {LEARN_AGAIN}" if watch.reason else ""
