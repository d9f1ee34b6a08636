"""Asking learned sources live: one query to all of them at once, each within its own rate, and what they answer until the deadline.

Nothing is learned. The requests pass the same gate as those of a harvest (`net.fetch`): robots.txt, rate, private addresses, what acts.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from upwell.answers import empty
from upwell.answers.next_page import request_of
from upwell.answers.refusal import refusal
from upwell.errors import BudgetSpent, Unreachable, UpwellError, WrongUsage
from upwell.model import BrowserVisit, IndexInterface, ListInterface, Request, Response
from upwell.net.browser import Chromium
from upwell.net.fetch import Fetcher, Memory
from upwell.net.manners import Manners
from upwell.net.reading_thread import ReadingThread
from upwell.page.data import read_page
from upwell.page.tree import TagTree
from upwell.site import interfaces
from upwell.site.browser_search import SearchJudge
from upwell.site.gate import Gate, press_again
from upwell.site.index_source import records_of_index
from upwell.site.steps import with_fresh_tokens
from upwell.source.apply import Reading, apply
from upwell.source.drift import DriftWatch
from upwell.source.paging import next_page_of, posts_elsewhere
from upwell.together.index_search import IndexSearch
from upwell.together.learned import LearnedSource, SourceAnswer, load_sources, source_files
from upwell.together.merge import AskResult, merge

__all__ = ["ask", "ask_each", "ask_sources"]

MAX_AT_ONCE = 100  # sources that are asked at the same time: each keeps a connection open and a thread
MAX_FAILURES = 10  # questions in a row that a source does not answer, before it is left alone; as `Plan.failures`
MAX_NOTE_CHARS = 400  # that an answer without records has of its own, as "nothing for …"; as `EmptyParams.note`
INDEX_PAGE = 10  # records of an index that count as a page of an answer
LEARN_AGAIN = "the site may have changed; harvest it again to learn it anew"


async def ask(
    query: str,
    places: str | Path | Iterable[str | Path],
    *,
    pages: int = 1,
    deadline: float = 5.0,
    manners: Manners | Callable[[str], Manners] | None = None,
) -> AskResult:
    """Asks learned sources one question, all at once, and merges what they answer until the deadline; nothing is learned.

    A place is a `source.json`, the folder of a harvest, or a folder of many. `manners` may be a function that has those for an address.
    """
    if not query.strip():
        raise WrongUsage("there is nothing to ask: the query is empty")
    if pages < 1 or deadline <= 0:
        raise WrongUsage(f"pages={pages}, deadline={deadline:g}: at least one page, and a deadline after now")
    files = source_files([places] if isinstance(places, str | Path) else places)
    polite = manners if callable(manners) else lambda _: manners or Manners()
    answers = await ask_sources(query, files, pages=pages, deadline=deadline, manners_of=polite)
    return AskResult(findings=tuple(merge(answers, query)), answers=tuple(answers))


async def ask_sources(
    query: str,
    files: Sequence[Path],
    *,
    pages: int = 1,
    deadline: float = 5.0,
    manners_of: Callable[[str], Manners],
) -> list[SourceAnswer]:
    """What the sources of some `source.json` files answer within `deadline` seconds, in the order of the files; `manners_of` has those for an address."""
    slots = asyncio.Semaphore(MAX_AT_ONCE)
    answers: dict[Path, list[SourceAnswer]] = {file: [] for file in files}
    asked: set[Request] = set()  # the same source may have been harvested into several folders

    async def ask_file(file: Path) -> None:
        async with slots:
            with ReadingThread() as thread:
                try:
                    sources = await thread.run(lambda: load_sources(file))
                except UpwellError as error:
                    answers[file].append(SourceAnswer(source=_place(file), trouble=str(error)))
                    return
                manners = manners_of(sources[0].interface.page or sources[0].interface.url)
                limited = replace(manners, timeout=min(manners.timeout, deadline))
                for source in sources:
                    if (request := interfaces.fill(source.interface, query)) in asked:
                        continue
                    asked.add(request)
                    answers[file].append(SourceAnswer(source=source.name))
                    async with _network(source, limited) as network:
                        await _Asking(source, answers[file][-1], thread, network).ask(query, pages)

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
                whole = "all its pages" if answer.pages else "anything"
                answer.trouble = f"did not answer with {whole} within {deadline:g} s"
        if task not in late:
            task.result()  # a fault of ours is not hidden
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
    """Asks one source query after query and puts what it says into `answers`; gives the reason to stop: exhausted, budget or blocked."""
    failures = sent = 0
    async with _network(source, manners, memory) as network:
        net = network.net
        net.limit = lambda wait: f"the budget of {budget:,} requests is spent" if net.sent >= budget else ""
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
    """The polite network of one source, and how a request is sent: by the browser where the answers exist only after JavaScript."""

    net: Fetcher
    chromium: Chromium | None
    gates: tuple[Gate, ...] = ()
    indexes: dict[str, IndexSearch] = field(default_factory=dict)  # that were fetched, by address

    async def send(self, request: Request) -> Response:
        """The answer to a request; a gate that stands in front of it is passed."""
        if self.chromium is not None:
            return await self.chromium.fetch(request)
        response = await self.net.fetch(request, reuse=True)
        if (press := press_again(self.gates, response)) is not None:
            await self.net.fetch(press)
            response = await self.net.fetch(request)
        return response


@asynccontextmanager
async def _network(source: LearnedSource, manners: Manners, memory: Memory | None = None) -> AsyncIterator[_Network]:
    interface = source.interface
    async with AsyncExitStack() as stack:
        fetcher = Fetcher(manners, user_urls=(interface.page or interface.url,), memory=memory)
        net = await stack.enter_async_context(fetcher)
        chromium = await stack.enter_async_context(Chromium(net, SearchJudge())) if interface.rendered else None
        yield _Network(net, chromium, source.gates)


@dataclass
class _Asking:
    """One question to one source."""

    source: LearnedSource
    answer: SourceAnswer
    thread: ReadingThread
    network: _Network

    async def ask(self, query: str, pages: int) -> None:
        """Fetches and reads up to so many pages of the answer."""
        interface, answer, started = self.source.interface, self.answer, time.monotonic()
        if interface.choices and query not in interface.choices:
            answer.trouble = f"takes only {', '.join(interface.choices[:5])} …: its form has no field for text"
            return
        if isinstance(interface, ListInterface):
            answer.trouble = (
                "has no search: it was read from its lists; `upwell search` looks through what was harvested"
            )
            return
        try:
            if isinstance(interface, IndexInterface):
                await self._look_into(interface, query, pages)
                return
            request: Request | None = await self._request(query)
            while request is not None and answer.pages < pages:
                response = await self.network.send(request)
                if refused := refusal(response):
                    raise Unreachable(f"{request.url} refuses: {refused}")
                request = await self.thread.run(lambda response=response: self._take(response, query))  # type: ignore[misc] # bound now
        except BudgetSpent:
            raise
        except UpwellError as error:
            answer.trouble = str(error)
        finally:
            answer.requests, answer.seconds = self.network.net.sent, time.monotonic() - started

    async def _look_into(self, interface: IndexInterface, query: str, pages: int) -> None:
        """Answers from the index that the site sends to its own search, which is fetched once."""
        known, answer = self.network.indexes, self.answer
        if interface.url not in known:
            response = await self.network.send(interfaces.fill(interface, ""))
            if refused := refusal(response):
                raise Unreachable(f"{interface.url} refuses: {refused}")
            records = await self.thread.run(lambda: records_of_index(interface, response.body))
            known[interface.url] = await self.thread.run(lambda: IndexSearch(records))
        search = known[interface.url]
        if not search.records:
            answer.drift = f"{interface.url} no longer holds records; {LEARN_AGAIN}"
        answer.records = await self.thread.run(lambda: search.find(query)[: pages * INDEX_PAGE])
        answer.fields = self.source.fields(answer.records)
        answer.pages = max(1, -(-len(answer.records) // INDEX_PAGE))

    async def _request(self, query: str) -> Request:
        """The request that asks the query, with fresh tokens where the form has some."""
        steps = with_fresh_tokens(self.source.interface, None)
        try:
            wanted = next(steps)
            while True:
                if isinstance(wanted, BrowserVisit):
                    raise TypeError("tokens are in the page as it is sent")
                wanted = steps.send(await self.network.net.fetch(wanted))
        except StopIteration as end:
            return interfaces.fill(end.value, query)

    def _take(self, response: Response, query: str) -> Request | None:
        """Reads one page; gives the request for the next."""
        source, answer = self.source, self.answer
        tree = read_page(response.body, response.url, response.headers)
        came_from = urlsplit(response.url).path
        is_answer = not source.interface.query_field or came_from == source.model.asked_at
        asked_at = came_from if is_answer else urlsplit(source.interface.url).path
        reading = apply(source.model, tree, status=response.status, asked_at=asked_at, query=query)
        answer.drift = answer.drift or _drift(source, reading, tree, query)
        if reading.kind == "error":
            answer.trouble = f"answered with an error (status {response.status})"
        held = {record.key for record in answer.records}
        new = [record for record in reading.records if record.key not in held]
        answer.records += new
        answer.fields += source.fields(new)
        answer.pages += 1
        step = next_page_of(tree, reading, query, self.source.model.next_link) if new else None
        if step is None or posts_elsewhere(step, tree, source.interface.url):
            return None
        return request_of(step, query)


def _drift(source: LearnedSource, reading: Reading, tree: TagTree, query: str) -> str:
    """Why an answer does not look as the source was learned; "" where it does."""
    verdict = empty.judge(source.model.empty, tree, query, records=0) if reading.kind == "none" else None
    if verdict is not None and not verdict.empty and verdict.own > MAX_NOTE_CHARS:
        return f"an answer without records that does not look like an empty one; {LEARN_AGAIN}"
    watch = DriftWatch(source.model, min_answers=1)
    watch.note(reading, tree)
    return f"{watch.reason}; {LEARN_AGAIN}" if watch.reason else ""
