"""Live answers for the API: one query to learned sources, with a cache, shared between clients that ask the same, within limits."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from upwell.combine.ask import ask_sources
from upwell.combine.learned_source import SOURCE_FILE, SourceAnswer
from upwell.engines.local import SupervisedCalls
from upwell.errors import TooBusy, UpwellError, WrongUsage
from upwell.net.manners import Manners, RequestQuota
from upwell.web.tokens import ApiToken, TokenStore

__all__ = ["MAX_PAGES", "LiveAnswers", "answer_as_dict"]

CACHE_SECONDS = 300.0  # age until which an answer is given again
MAX_CACHED = 2_000  # safety limit: answers in the cache
MAX_WAITING = 20  # queries that may wait for one source; at one request a second, more would not be answered before their deadline
MAX_PAGES = 5  # of an answer
EXTRA_REQUESTS = 4  # besides the pages of an answer: robots.txt, redirects and form tokens
Key = tuple[str, int, str, int]  # source file, its time of change, query, pages


async def _ask_file(query: str, file: Path, pages: int, deadline: float, manners: Manners) -> list[SourceAnswer]:
    return await ask_sources(query, [file], pages=pages, deadline=deadline, manners_of=lambda _: manners)


@dataclass
class LiveAnswers:
    """Asks learned sources in a supervised process."""

    manners: Manners
    tokens: TokenStore
    _calls: SupervisedCalls = field(default_factory=SupervisedCalls)
    _cache: OrderedDict[Key, tuple[float, list[SourceAnswer]]] = field(default_factory=OrderedDict)
    _running: dict[Key, asyncio.Task[list[SourceAnswer]]] = field(default_factory=dict)
    _waiting: Counter[str] = field(default_factory=Counter)  # by source file

    async def close(self) -> None:
        """Stop asking."""
        for task in self._running.values():
            task.cancel()
        await self._calls.close()

    async def each(
        self, query: str, folders: Mapping[str, Path], *, pages: int, deadline: float, token: ApiToken | None
    ) -> AsyncIterator[tuple[str, list[SourceAnswer]]]:
        """Yield the answers of each source as they arrive; `folders` are the folders of the sources by id."""
        if not query.strip():
            raise WrongUsage("the query `q` is empty; give at least one word")
        tasks = {
            asyncio.ensure_future(self._answers(query, folder / SOURCE_FILE, pages, deadline, token)): name
            for name, folder in folders.items()
        }
        try:
            pending = set(tasks)
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    try:
                        answers = task.result()
                    except UpwellError as error:
                        if len(folders) == 1:
                            raise
                        answers = [SourceAnswer(source=tasks[task], trouble=str(error))]
                    yield tasks[task], answers
        finally:
            for task in tasks:
                task.cancel()

    async def _answers(
        self, query: str, file: Path, pages: int, deadline: float, token: ApiToken | None
    ) -> list[SourceAnswer]:
        """Return the answers of one source: from the cache, from a request on its way, or by asking."""
        try:
            key = (str(file), (await asyncio.to_thread(file.stat)).st_mtime_ns, " ".join(query.split()), pages)
        except OSError as error:
            raise WrongUsage("this source has not been learned yet; harvest it first") from error
        cached = self._cache.get(key)
        if cached is not None and time.monotonic() - cached[0] < CACHE_SECONDS:
            return cached[1]
        if key not in self._running:
            if self._waiting[str(file)] >= MAX_WAITING:
                raise TooBusy(f"{MAX_WAITING} queries are waiting for this source; ask again later")
            self._waiting[str(file)] += 1
            task = asyncio.ensure_future(self._ask(key, file, deadline, token))
            self._running[key] = task
            task.add_done_callback(lambda _: self._end(key))
        return await asyncio.shield(self._running[key])  # others may wait for the same answer

    def _end(self, key: Key) -> None:
        del self._running[key]
        self._waiting[key[0]] -= 1

    async def _ask(self, key: Key, file: Path, deadline: float, token: ApiToken | None) -> list[SourceAnswer]:
        pages = key[3]
        most = pages + EXTRA_REQUESTS
        is_limited = token is not None and token.budget is not None
        if token is not None and is_limited and not await asyncio.to_thread(self.tokens.take, token.name, most):
            raise TooBusy(f"the token {token.name!r} has fewer than {most} requests left of its {token.budget:,}")
        sent = most
        try:
            with tempfile.TemporaryDirectory(prefix="upwell-api-") as counts:
                manners = replace(self.manners, quota=RequestQuota(most, Path(counts)))
                answers: list[SourceAnswer] = await self._calls.call(_ask_file, key[2], file, pages, deadline, manners)
            sent = min(most, sum(answer.requests for answer in answers))
        finally:
            if token is not None and is_limited:
                await asyncio.to_thread(self.tokens.give_back, token.name, most - sent)
        if not any(answer.trouble for answer in answers):
            self._cache[key] = time.monotonic(), answers
            while len(self._cache) > MAX_CACHED:
                self._cache.popitem(last=False)
        return answers


def answer_as_dict(name: str, answers: Sequence[SourceAnswer]) -> dict[str, Any]:
    """Return the answers of a source for JSON."""
    records = [
        {"key": record.key, "url": record.url, "fields": fields}
        for answer in answers
        for record, fields in zip(answer.records, answer.fields, strict=True)
    ]
    return {
        "source": name,
        "records": records,
        "requests": sum(answer.requests for answer in answers),
        "trouble": "; ".join(dict.fromkeys(answer.trouble for answer in answers if answer.trouble)),
        "drift": "; ".join(dict.fromkeys(answer.drift for answer in answers if answer.drift)),
    }
