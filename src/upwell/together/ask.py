"""Asking learned sources live: one query to all of them at once, each within its own rate, and what they answer until the deadline.

Nothing is learned. The requests pass the same gate as those of a harvest (`net.fetch`): robots.txt, rate, private addresses, what acts.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from upwell.answers import empty
from upwell.answers.next_page import request_of
from upwell.answers.refusal import refusal
from upwell.errors import TookTooLong, Unreachable, UpwellError
from upwell.model import BrowserVisit, Record, Request, Response
from upwell.net.browser import Chromium
from upwell.net.fetch import Fetcher
from upwell.net.manners import Manners
from upwell.net.reading_thread import ReadingThread
from upwell.page.data import read_page
from upwell.page.tree import TagTree
from upwell.site import interfaces
from upwell.site.browser_search import SearchJudge
from upwell.site.steps import with_fresh_tokens
from upwell.source.apply import Reading, apply
from upwell.source.drift import DriftWatch
from upwell.source.paging import next_page_of, posts_elsewhere
from upwell.together.learned import LearnedSource, load_sources

__all__ = ["SourceAnswer", "ask_sources"]

MAX_AT_ONCE = 100  # sources that are asked at the same time: each keeps a connection open and a thread
LEARN_AGAIN = "the site may have changed; harvest it again to learn it anew"


@dataclass(kw_only=True)
class SourceAnswer:
    """What one source answered: its records in its own order, and what went wrong, if anything did."""

    source: str
    records: list[Record] = field(default_factory=list)
    fields: list[dict[str, object]] = field(default_factory=list)  # of the records
    pages: int = 0
    requests: int = 0
    seconds: float = 0.0
    trouble: str = ""  # why it has no answer, or not the whole
    drift: str = ""  # why it no longer looks as it was learned


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

    async def ask_file(file: Path) -> None:
        async with slots:
            with ReadingThread() as thread:
                try:
                    sources = await thread.run(lambda: load_sources(file))
                except UpwellError as error:
                    answers[file].append(SourceAnswer(source=_place(file), trouble=str(error)))
                    return
                started = [_Asking(source, SourceAnswer(source=source.name), thread) for source in sources]
                answers[file].extend(asking.answer for asking in started)
                manners = manners_of(sources[0].interface.page or sources[0].interface.url)
                limited = replace(manners, timeout=min(manners.timeout, deadline))
                for asking in started:
                    await asking.ask(query, pages, limited)

    tasks = [asyncio.ensure_future(ask_file(file)) for file in files]
    try:
        _, late = await asyncio.wait(tasks, timeout=deadline)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for file, task in zip(files, tasks, strict=True):
        if not answers[file]:
            answers[file] = [SourceAnswer(source=_place(file))]
        for answer in answers[file] if task in late else ():
            if not answer.trouble:
                whole = "all its pages" if answer.pages else "anything"
                answer.trouble = f"did not answer with {whole} within {deadline:g} s"
        if task not in late:
            task.result()  # a fault of ours is not hidden
    return [answer for file in files for answer in answers[file]]


def _place(file: Path) -> str:
    return file.parent.name or str(file)


@dataclass
class _Asking:
    """One source while it is asked."""

    source: LearnedSource
    answer: SourceAnswer
    thread: ReadingThread

    async def ask(self, query: str, pages: int, manners: Manners) -> None:
        """Fetches and reads up to so many pages of the answer."""
        interface, answer, started = self.source.interface, self.answer, time.monotonic()
        if interface.choices and query not in interface.choices:
            answer.trouble = f"takes only {', '.join(interface.choices[:5])} …: its form has no field for text"
            return
        async with self._network(manners) as (net, send):
            try:
                request: Request | None = await self._request(query, net)
                while request is not None and answer.pages < pages:
                    response = await send(request)
                    if refused := refusal(response):
                        raise Unreachable(f"{request.url} refuses: {refused}")
                    request = await self.thread.run(lambda response=response: self._take(response, query))  # type: ignore[misc] # bound now
            except (UpwellError, TookTooLong) as error:
                answer.trouble = str(error)
            finally:
                answer.requests, answer.seconds = net.sent, time.monotonic() - started

    @asynccontextmanager
    async def _network(
        self, manners: Manners
    ) -> AsyncIterator[tuple[Fetcher, Callable[[Request], "asyncio.Future[Response]"]]]:
        """The polite network, and how a request is sent: by the browser where the answers exist only after JavaScript."""
        interface = self.source.interface
        async with AsyncExitStack() as stack:
            net = await stack.enter_async_context(Fetcher(manners, user_urls=(interface.page or interface.url,)))
            if interface.rendered:
                chromium = await stack.enter_async_context(Chromium(net, SearchJudge()))
                yield net, lambda request: asyncio.ensure_future(chromium.fetch(request))
            else:
                yield net, lambda request: asyncio.ensure_future(net.fetch(request))

    async def _request(self, query: str, net: Fetcher) -> Request:
        """The request that asks the query, with fresh tokens where the form has some."""
        steps = with_fresh_tokens(self.source.interface, None)
        try:
            wanted = next(steps)
            while True:
                if isinstance(wanted, BrowserVisit):
                    raise TypeError("tokens are in the page as it is sent")
                wanted = steps.send(await net.fetch(wanted))
        except StopIteration as end:
            return interfaces.fill(end.value, query)

    def _take(self, response: Response, query: str) -> Request | None:
        """Reads one page; gives the request for the next."""
        source, answer = self.source, self.answer
        tree = read_page(response.body, response.url, response.headers)
        asked_at = urlsplit(source.interface.url if source.interface.query_field else response.url).path
        reading = apply(source.model, tree, status=response.status, asked_at=asked_at, query=query)
        answer.drift = answer.drift or _drift(source, reading, tree, query)
        if reading.kind == "error":
            answer.trouble = f"answered with an error (status {response.status})"
        held = {record.key for record in answer.records}
        new = [record for record in reading.records if record.key not in held]
        answer.records += new
        answer.fields += source.fields(new)
        answer.pages += 1
        step = next_page_of(tree, reading, query) if new else None
        if step is None or posts_elsewhere(step, tree, source.interface.url):
            return None
        return request_of(step, query)


def _drift(source: LearnedSource, reading: Reading, tree: TagTree, query: str) -> str:
    """Why an answer does not look as the source was learned; "" where it does."""
    if reading.kind == "none" and not empty.judge(source.model.empty, tree, query, records=0).empty:
        return f"an answer without records that does not look like an empty one; {LEARN_AGAIN}"
    watch = DriftWatch(source.model, min_answers=1)
    watch.note(reading, tree)
    return f"{watch.reason}; {LEARN_AGAIN}" if watch.reason else ""
