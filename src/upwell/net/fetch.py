"""Polite HTTP: robots.txt, one rate for each host, back-off, and limits on everything that a server could do to us."""

import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from types import TracebackType
from typing import Protocol
from urllib.parse import urldefrag, urljoin, urlsplit

import aiohttp
import yarl

from upwell.errors import Refused, Unreachable, WrongUsage
from upwell.model import Outcome, Request, Response
from upwell.net.addresses import Guard, is_loopback
from upwell.net.decode import ACCEPTED, Decoder, Excess
from upwell.net.pace import Pace
from upwell.net.robots import FRESH, Robots
from upwell.page.hosts import site_host

__all__ = ["Fetcher", "Manners", "Memory", "Recorder"]

REDIRECTS = 10  # RFC 9110 §15.4 asks for a limit and names none; browsers stop at 20
AROUND = 2  # times that redirects may lead to one path, with other arguments each time
AGAIN = frozenset((408, 429, 500, 502, 503, 504))
HEADER_LINE = 16_384  # bytes of one header field, and of the status line
HEADER_LINES = 128
PIECE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Manners:
    """How politely, and within what limits, the world is talked to."""

    rate: float = 1.0  # requests a second and host; 0: no limit, on loopback only
    concurrency: int = 2  # requests at once and host
    agent: str = "Upwell/0.1"
    contact: str = ""  # an address that the host's owner can write to; part of the agent
    ignore_robots: bool = False  # for one's own site
    timeout: float = 30.0  # seconds for a whole answer
    connect: float = 10.0  # seconds for a connection
    first_byte: float = 20.0  # seconds without a byte
    max_bytes: int = 20_000_000  # of an answer, decompressed
    retries: int = 4  # times that a failed request is sent again
    longest_wait: float = 120.0  # seconds that a server can make us wait with Retry-After

    @property
    def user_agent(self) -> str:
        """The agent as it is sent."""
        return f"{self.agent} (+{self.contact})" if self.contact else self.agent


class Recorder(Protocol):
    """What keeps every exchange before it is used: `upwell.store.archive.Archive`."""

    def write(self, response: Response, sent: Iterable[tuple[str, str]]) -> None:
        """Keeps a response and the request that it answers, with the headers that were sent."""
        ...


class Memory(Protocol):
    """What remembers what requests brought, so that a harvest that was cut off goes on: `upwell.store.state.State`."""

    def recall(self, request: Request, *, reuse: bool = False, younger: float = 0.0) -> Outcome | None:
        """What the request brought, where it was sent before and that was not recalled yet (or may be used again)."""
        ...

    def keep(self, request: Request, outcome: Outcome) -> None:
        """Remembers what a request brought; it is safe when this returns."""
        ...


class Fetcher:
    """Sends requests under the manners; counts what it sent and received. One for each source: it keeps its cookies."""

    def __init__(
        self,
        manners: Manners | None = None,
        *,
        typed: Iterable[str] = (),
        recorder: Recorder | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.manners = manners or Manners()
        self.sent = 0  # counts what is remembered too: it was sent, if not by this process
        self.bytes = 0
        self.recorder = recorder
        self.memory = memory
        self.robots = Robots(self.manners.agent, self._rules)
        self._session: aiohttp.ClientSession | None = None
        self._typed = {urlsplit(url).hostname or "" for url in typed}
        self._guard: Guard | None = None
        self._paces: dict[str, Pace] = {}

    async def __aenter__(self) -> "Fetcher":
        limits, whole = self.manners, self.manners.timeout
        self._guard = Guard()
        self._guard.typed = self._typed
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(resolver=self._guard, limit=0, ttl_dns_cache=300),
            timeout=aiohttp.ClientTimeout(
                total=whole, sock_connect=min(limits.connect, whole), sock_read=min(limits.first_byte, whole)
            ),
            headers={
                "User-Agent": limits.user_agent,
                "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
                "Accept-Encoding": ACCEPTED,
            },
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            auto_decompress=False,
            max_line_size=HEADER_LINE,
            max_field_size=HEADER_LINE,
            max_headers=HEADER_LINES,
        )
        self._session._retry_connection = False  # aiohttp would send again by itself, past the rate and uncounted
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def fetch(self, request: Request, *, reuse: bool = False) -> Response:
        """The answer to a request, after redirects on the same host; where it is remembered, nothing is sent.

        With `reuse` an answer to the same request from before will do. Raises Unreachable when it cannot be had, Forbidden when
        robots.txt says no, Refused where the address is private and the user did not type it (without `typed`, the first
        address counts as typed).
        """
        host = _host(urlsplit(request.url).netloc)
        if self.manners.rate <= 0 and not is_loopback(host):
            raise WrongUsage(f"rate 0 (no limit) is for loopback only, not for {urlsplit(request.url).netloc}")
        if not self._typed:
            self._typed.add(host)
        return await self.remembered(request, lambda: self._fetch(request), reuse=reuse)

    async def remembered(
        self, request: Request, get: Callable[[], Awaitable[Response]], *, reuse: bool = False, younger: float = 0.0
    ) -> Response:
        """What is remembered of a request, or what `get` brings, which is remembered before it is used."""
        if self.memory is None:
            return await get()
        known = self.memory.recall(request, reuse=reuse, younger=younger)
        if known is not None:
            if not younger:  # what robots.txt took counts with the request that it was fetched for
                self.sent, self.bytes = self.sent + known.sent, self.bytes + known.bytes
            if known.response is None:
                raise Unreachable(known.error)
            return known.response
        sent, size = self.sent, self.bytes
        try:
            response = await get()
        except Refused:
            raise
        except Unreachable as error:
            self.memory.keep(request, Outcome(error=str(error), sent=self.sent - sent, bytes=self.bytes - size))
            raise
        self.memory.keep(request, Outcome(response=response, sent=self.sent - sent, bytes=self.bytes - size))
        return response

    async def _fetch(self, request: Request) -> Response:
        tries = self.manners.retries + 1
        reason = ""
        for attempt in range(tries):
            try:
                if not self.manners.ignore_robots:
                    await self.robots.check(request.url)
                response = await self._follow(request)
            except Excess as error:
                raise Unreachable(f"{request.url} cannot be taken: {error}") from error
            except aiohttp.ClientConnectorCertificateError as error:
                raise Unreachable(f"{request.url} has no valid certificate ({error.certificate_error})") from error
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                reason = f"{type(error).__name__}: {error}"[:200]
                self._back_off(request.url, attempt)
                continue
            if response.status not in AGAIN or attempt == tries - 1:
                return response
            reason = f"status {response.status}"
            asked = _seconds(response.headers.get("Retry-After", ""))
            if asked > self.manners.longest_wait:
                return replace(response, blocked=f"status {response.status}, asked to wait for {asked:,.0f} s")
            self._back_off(request.url, attempt, asked)
        told = f"did not answer in {tries} tries ({reason})"
        raise Unreachable(f"{request.url} {told}; is the address right? try later, or with a lower --rate")

    async def _follow(self, request: Request, *, checked: bool = True) -> Response:
        """One try: the request and the redirects that it leads to, as long as they stay on the host."""
        here, been, paths = request, set[str](), Counter[str]()
        for _ in range(REDIRECTS):
            response = await self._send(here)
            target = response.headers.get("Location")
            if response.status not in (301, 302, 303, 307, 308) or not target:
                return response if here is request else replace(response, request=request)
            address = urldefrag(urljoin(here.url, target))[0]
            if not _same_host(address, request.url):
                return replace(response, request=request)
            if checked and not self.manners.ignore_robots:
                await self.robots.check(address)
            path = urlsplit(address).path
            if address in been or paths[path] >= AROUND:  # the address asked for may come once more, with a cookie
                raise ValueError(f"redirects go round by {address}")
            been.add(address)
            paths[path] += 1
            keeps = response.status in (307, 308)
            here = replace(here, url=address) if keeps else Request(url=address, query=request.query)
        raise ValueError(f"more than {REDIRECTS} redirects")

    async def _rules(self, url: str) -> Response:
        request = Request(url=url)
        return await self.remembered(request, lambda: self._follow(request, checked=False), reuse=True, younger=FRESH)

    async def _send(self, request: Request) -> Response:
        if self._session is None or self._guard is None:
            raise RuntimeError("a Fetcher is used inside `async with`")
        self._guard.check(_host(urlsplit(request.url).netloc))
        pace = self._pace(request.url)
        headers = {"Content-Type": request.content_type} if request.content_type else {}
        async with pace:
            self.sent += 1
            started = time.monotonic()
            async with self._session.request(
                request.method,
                yarl.URL(request.url, encoded=True),
                data=request.body or None,
                headers=headers,
                allow_redirects=False,
            ) as answer:
                body = await self._body(answer)
            self.bytes += len(body)
            response = Response(
                request=request, url=request.url, status=answer.status, headers=_headers(answer), body=body
            )
            if answer.status not in AGAIN:
                pace.answered(time.monotonic() - started)
        if self.recorder is not None:
            self.recorder.write(response, answer.request_info.headers.items())
        return response

    async def _body(self, answer: aiohttp.ClientResponse) -> bytes:
        """The decoded body; one that says how long it is, and is not coded, needs no counting."""
        coding, length = answer.headers.get("Content-Encoding", ""), answer.content_length
        if not coding and length is not None and length <= self.manners.max_bytes:
            return await answer.read()
        decoder = Decoder(coding, self.manners.max_bytes)
        body = b"".join([decoder.feed(piece) async for piece in answer.content.iter_chunked(PIECE)])
        decoder.finish()
        return body

    def turn(self, url: str) -> AbstractAsyncContextManager[None]:
        """The host's next turn, for requests that are not sent from here (the browser's)."""
        return self._pace(url)

    def _pace(self, url: str) -> Pace:
        host = urlsplit(url).netloc
        pace = self._paces.get(host)
        if pace is None:
            gap = 1 / self.manners.rate if self.manners.rate > 0 else 0.0
            pace = self._paces[host] = Pace(gap=gap, concurrency=self.manners.concurrency)
        if not self.manners.ignore_robots and self.manners.rate > 0:
            pace.gap = max(pace.gap, self.robots.delay(url))
        return pace

    def _back_off(self, url: str, attempt: int, asked: float = 0.0) -> None:
        """The whole host rests: as long as it asked for, else twice as long each time, with jitter."""
        step = 0.05 if self.manners.rate <= 0 else 1 / self.manners.rate
        wait = step * 2**attempt * random.uniform(0.5, 1.5)  # noqa: S311 # jitter
        self._pace(url).troubled(min(max(wait, asked), self.manners.longest_wait))


@lru_cache(4096)
def _host(netloc: str) -> str:
    return urlsplit(f"//{netloc}").hostname or ""


@lru_cache(1024)
def _name(header: str) -> str:
    return "-".join(part.capitalize() for part in header.split("-"))


def _headers(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """The headers as one value a name; the names of common ones as HTTP/1.1 writes them, whatever the server's case."""
    found: dict[str, str] = {}
    for name, value in answer.headers.items():
        key = _name(name)
        found[key] = f"{found[key]}, {value}" if key in found and key != "Location" else value
    return found


def _same_host(one: str, other: str) -> bool:
    return site_host(one) == site_host(other) and urlsplit(one).scheme in ("http", "https")


def _seconds(retry_after: str) -> float:
    """Retry-After in both its forms (RFC 9110 §10.2.3), as seconds from now."""
    if not retry_after:
        return 0.0
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
