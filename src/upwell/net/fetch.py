"""Polite HTTP: robots.txt, one rate for each host, back-off, and limits on everything that a server could do to us."""

import asyncio
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from types import TracebackType
from urllib.parse import urljoin, urlsplit

import aiohttp
from protego import Protego

from upwell.errors import Forbidden, Unreachable, WrongUsage
from upwell.model import Request, Response

__all__ = ["Fetcher", "Manners"]

REDIRECTS = 10  # RFC 9110 §15.4 asks for a limit and names none; browsers stop at 20
ROBOTS_BYTES = 512_000  # RFC 9309 §2.5: at least 500 KiB
AGAIN = frozenset((408, 429, 500, 502, 503, 504))


@dataclass(frozen=True, kw_only=True)
class Manners:
    """How politely, and within what limits, the world is talked to."""

    rate: float = 1.0  # requests a second and host; 0: no limit, on loopback only
    agent: str = "Upwell/0.1"
    contact: str = ""  # an address that the host's owner can write to; part of the agent
    ignore_robots: bool = False  # for one's own site
    timeout: float = 30.0  # seconds for a whole answer
    max_bytes: int = 20_000_000  # of an answer, decompressed
    retries: int = 4  # times that a failed request is sent again
    longest_wait: float = 120.0  # seconds that a server can make us wait with Retry-After

    @property
    def user_agent(self) -> str:
        """The agent as it is sent."""
        return f"{self.agent} (+{self.contact})" if self.contact else self.agent


class Fetcher:
    """Sends requests under the manners; counts what it sent and received."""

    def __init__(self, manners: Manners | None = None) -> None:
        self.manners = manners or Manners()
        self.sent = 0
        self.bytes = 0
        self._session: aiohttp.ClientSession | None = None
        self._robots: dict[str, Protego | None] = {}
        self._next: dict[str, float] = {}

    async def __aenter__(self) -> "Fetcher":
        timeout = aiohttp.ClientTimeout(total=self.manners.timeout, connect=min(10.0, self.manners.timeout))
        headers = {"User-Agent": self.manners.user_agent, "Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        self._session = aiohttp.ClientSession(
            timeout=timeout, headers=headers, cookie_jar=aiohttp.CookieJar(unsafe=True)
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def fetch(self, request: Request) -> Response:
        """The answer to a request, after redirects on the same host; raises Unreachable when it cannot be had, Forbidden when robots.txt says no."""
        if self.manners.rate <= 0 and not _is_loopback(request.url):
            raise WrongUsage(f"rate 0 (no limit) is for loopback only, not for {urlsplit(request.url).netloc}")
        await self._allowed(request.url)
        reason = ""
        for attempt in range(self.manners.retries + 1):
            try:
                response = await self._follow(request)
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                reason = f"{type(error).__name__}: {error}"[:200]
                await self._wait(attempt)
                continue
            if response.status not in AGAIN or attempt == self.manners.retries:
                return response
            reason = f"status {response.status}"
            await self._wait(attempt, response.headers.get("Retry-After", ""))
        raise Unreachable(
            f"{request.url} did not answer in {self.manners.retries + 1} tries ({reason}); try later or with a lower --rate"
        )

    async def _follow(self, request: Request) -> Response:
        """One try: the request and the redirects that it leads to, as long as they stay on the host."""
        here = request
        for _ in range(REDIRECTS):
            response = await self._send(here)
            target = response.headers.get("Location")
            if response.status not in (301, 302, 303, 307, 308) or not target:
                return Response(
                    request=request, url=here.url, status=response.status, headers=response.headers, body=response.body
                )
            address = urljoin(here.url, target)
            if urlsplit(address).hostname != urlsplit(request.url).hostname:
                return response
            await self._allowed(address)
            keeps = response.status in (307, 308)
            here = Request(
                url=address,
                method=here.method if keeps else "GET",
                body=here.body if keeps else b"",
                content_type=here.content_type if keeps else "",
            )
        raise ValueError(f"more than {REDIRECTS} redirects")

    async def _send(self, request: Request) -> Response:
        if self._session is None:
            raise RuntimeError("a Fetcher is used inside `async with`")
        await self._turn(urlsplit(request.url).netloc)
        self.sent += 1
        headers = {"Content-Type": request.content_type} if request.content_type else {}
        async with self._session.request(
            request.method, request.url, data=request.body or None, headers=headers, allow_redirects=False
        ) as answer:
            body = bytearray()
            async for piece in answer.content.iter_chunked(1 << 16):
                body += piece
                if len(body) > self.manners.max_bytes:
                    raise ValueError(f"more than {self.manners.max_bytes:,} bytes")
            self.bytes += len(body)
            return Response(
                request=request,
                url=str(answer.url),
                status=answer.status,
                headers=dict(answer.headers),
                body=bytes(body),
            )

    async def _turn(self, host: str) -> None:
        """Waits until the host may be asked again; turns are given out in order, so that a burst cannot break the rate."""
        if self.manners.rate <= 0:
            return
        gap = max(1 / self.manners.rate, self._delay(host))
        turn = max(time.monotonic(), self._next.get(host, 0.0))
        self._next[host] = turn + gap
        await asyncio.sleep(max(0.0, turn - time.monotonic()))

    def _delay(self, host: str) -> float:
        rules = self._robots.get(host)
        said = rules.crawl_delay(self.manners.agent) if rules is not None else None
        return float(said or 0.0)

    async def _wait(self, attempt: int, retry_after: str = "") -> None:
        """Backs off: what the server asked for, else twice as long each time, with jitter."""
        step = 0.05 if self.manners.rate <= 0 else 1 / self.manners.rate
        wait = step * 2**attempt * random.uniform(0.5, 1.5)  # noqa: S311 # jitter
        await asyncio.sleep(min(max(wait, _seconds(retry_after)), self.manners.longest_wait))

    async def _allowed(self, url: str) -> None:
        """RFC 9309: no robots.txt (4xx) allows everything, one that cannot be had (5xx, no answer) forbids everything."""
        if self.manners.ignore_robots:
            return
        parts = urlsplit(url)
        if parts.netloc not in self._robots:
            address = f"{parts.scheme}://{parts.netloc}/robots.txt"
            self._robots[parts.netloc] = Protego.parse("")  # while it is being asked for
            try:
                response = await self._send(Request(url=address))
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                del self._robots[parts.netloc]
                raise Unreachable(
                    f"{address} did not answer ({type(error).__name__}: {error}); is the address right?"
                ) from error
            if response.status >= 500:
                self._robots[parts.netloc] = Protego.parse("User-agent: *\nDisallow: /")
            elif response.status < 300:
                self._robots[parts.netloc] = Protego.parse(response.body[:ROBOTS_BYTES].decode("utf-8", "replace"))
        rules = self._robots[parts.netloc]
        if rules is not None and not rules.can_fetch(url, self.manners.agent):
            raise Forbidden(
                f"robots.txt of {parts.netloc} forbids {parts.path or '/'} to {self.manners.agent}; use --ignore-robots only for a site of your own"
            )


def _seconds(retry_after: str) -> float:
    """Retry-After in both its forms (RFC 9110 §10.2.3), as seconds from now."""
    if not retry_after:
        return 0.0
    if retry_after.strip().isdigit():
        return float(retry_after)
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
