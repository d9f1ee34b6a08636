"""Polite HTTP: robots.txt, one rate for each host, back-off, and limits on what a server can do to us."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import TracebackType
from urllib.parse import urldefrag, urljoin, urlsplit

import aiohttp
import yarl

from upwell.errors import BudgetSpent, Refused, Unreachable, WouldAct, WrongUsage
from upwell.model import Outcome, Request, Response
from upwell.net.access import SOCKS
from upwell.net.addresses import GuardedResolver
from upwell.net.connect import TellingRequest, connector, cookie_jar, paces_to_tell
from upwell.net.decode import ACCEPT_ENCODING, Decoder, UnacceptableBody
from upwell.net.headers import joined_headers, retry_after_seconds
from upwell.net.manners import Manners
from upwell.net.memory import Memory, Recorder, ask_store
from upwell.net.outages import CHECK_SECONDS, Outages
from upwell.net.pace import Pace, pace_of
from upwell.net.robots import MAX_AGE_SECONDS as ROBOTS_MAX_AGE_SECONDS
from upwell.net.robots import MAX_BYTES as ROBOTS_MAX_BYTES
from upwell.net.robots import Robots
from upwell.page.acting import acting_words
from upwell.page.hosts import encoded, host_and_port, is_loopback, is_same_host, without_login

__all__ = ["Fetcher", "Manners", "Memory", "Recorder"]

MAX_REDIRECTS = 10  # RFC 9110 §15.4 asks for a limit and names none; browsers stop at 20
MAX_REDIRECTS_TO_PATH = 2  # with other arguments each time; more is a loop
REDIRECT_STATUSES = frozenset((301, 302, 303, 307, 308))
RETRY_STATUSES = frozenset((408, 429, 500, 502, 503, 504))
MAX_HEADER_LINE_BYTES = 16_384  # of the status line and of each header
MAX_HEADERS = 128
MAX_ROBOTS_REDIRECTS = 5  # RFC 9309 §2.3.1.2: at least five
CHUNK_BYTES = 1 << 16
NO_CONNECTION = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


class Fetcher:
    """Sends requests as its manners demand, and counts requests and bytes. Each source has its own, which keeps its cookies."""

    def __init__(
        self,
        manners: Manners | None = None,
        *,
        user_urls: Iterable[str] = (),
        recorder: Recorder | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.manners = manners or Manners()
        self.access = self.manners.access
        self.sent = 0  # requests, including replayed ones: they were sent, if by an earlier process
        self.bytes = 0
        self.limit: Callable[[float], str] = lambda wait: ""  # why nothing more may be sent after a wait; "": it may
        self.recorder = recorder
        self.memory = memory
        self.robots = Robots(self.manners.agent, self._fetch_robots)
        self._session: aiohttp.ClientSession | None = None
        self._user_urls = tuple(user_urls)
        self._user_sites = {_site(url) for url in self._user_urls}
        self._allowed_words: set[str] = set()  # that act, but stand in what the user named
        for url in self._user_urls:
            self.allow(Request(url=url))
        self._resolver: GuardedResolver | None = None
        self._outages = Outages(self.manners.longest_wait)
        self._paces: dict[str, Pace] = {}  # by host
        self._own_paces: dict[tuple[str, int | None], Pace] = {}  # by host and port: the Crawl-delay of each server
        self._proxies: dict[str, str | None] = {}  # by host and port

    async def __aenter__(self) -> "Fetcher":
        limits, whole_answer = self.manners, self.manners.timeout
        self._resolver = GuardedResolver()
        self._resolver.user_sites = self._user_sites
        proxy = self.access.proxy_for(next(iter(self._user_urls), "https://example.org/"))
        self._session = aiohttp.ClientSession(
            connector=connector(self.access, proxy, self._resolver),
            timeout=aiohttp.ClientTimeout(
                total=whole_answer,
                sock_connect=min(limits.connect, whole_answer),
                sock_read=min(limits.first_byte, whole_answer),
            ),
            headers={
                "User-Agent": limits.user_agent,
                "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
                "Accept-Encoding": ACCEPT_ENCODING,
            },
            cookie_jar=cookie_jar(self.access),
            auto_decompress=False,
            max_line_size=MAX_HEADER_LINE_BYTES,
            max_field_size=MAX_HEADER_LINE_BYTES,
            max_headers=MAX_HEADERS,
            request_class=TellingRequest,
        )
        self._session._retry_connection = False  # or aiohttp sends again by itself, past the rate and uncounted
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def fetch(self, request: Request, *, reuse: bool = False) -> Response:
        """The answer to a request, after redirects on the same host; a stored answer is replayed instead of sending.

        With `reuse`, an answer to the same request that was used before will do. Raises Unreachable if there is no answer, Forbidden if
        robots.txt disallows the address, and Refused if the address is private and not one of `user_urls` (if there are none, the first
        address fetched counts as the user's).
        """
        host = _site(request.url)[0]
        if self.manners.rate <= 0 and not is_loopback(host):
            raise WrongUsage(f"rate 0 (no limit) is for loopback only, not for {urlsplit(request.url).netloc}")
        if not self._user_sites:
            self._user_sites.add(_site(request.url))
            self.allow(request)
        self._refuse_acting(request)
        return await self.replay_or_send(request, lambda: self._send_with_retries(request), reuse=reuse)

    async def send(self, request: Request, headers: Mapping[str, str] | None = None) -> Response:
        """The answer to a request of a page in the browser: the same rules, but tried once, and the memory keeps only the whole visit."""
        self._refuse_acting(request)
        return await self._send_with_retries(request, tries=1, extra_headers=headers)

    async def check(self, request: Request) -> None:
        """Raises what `send` would raise before anything is sent."""
        self._refuse_acting(request)
        if not self.manners.ignore_robots:
            await self.robots.check(request.url)

    def gap(self, url: str) -> float:
        """Seconds between requests to a host."""
        return max(self._pace(url).current_gap, self._own_pace(url).current_gap)

    def allow(self, request: Request) -> None:
        """Lets requests with the acting words of this one through: the user named it."""
        self._allowed_words.update(acting_words(request))

    def _refuse_acting(self, request: Request) -> None:
        words = [word for word in acting_words(request) if word not in self._allowed_words]
        if words:
            raise WouldAct(
                f"{request.method} {request.url} is not sent: “{words[0]}” may change something at the site; to ask it, "
                "name the form with --form, or the address with --template"
            )

    async def replay_or_send(
        self, request: Request, send: Callable[[], Awaitable[Response]], *, reuse: bool = False, max_age: float = 0.0
    ) -> Response:
        """The stored outcome of a request, or else what `send` brings, which is stored before it is used."""
        if self.memory is None:
            return await send()
        memory = self.memory
        stored = await ask_store(memory, lambda: memory.replay(request, reuse=reuse, max_age=max_age))
        if stored is not None:
            # the cost of robots.txt is in the outcome of the request that needed it, unless that was cut off
            if not max_age or not self.sent:
                self.sent, self.bytes = self.sent + stored.sent, self.bytes + stored.bytes
            if stored.response is None:
                raise Unreachable(stored.error)
            self._outages.note_earlier_answer(_site(request.url))
            return stored.response
        sent, size = self.sent, self.bytes
        try:
            response = await send()
        except Refused:
            raise
        except Unreachable as error:
            failure = Outcome(error=str(error), sent=self.sent - sent, bytes=self.bytes - size)
            await ask_store(memory, lambda: memory.store(request, failure))
            raise
        if max_age and response.status in RETRY_STATUSES:
            return response  # a passing failure of robots.txt is asked again by the next run
        outcome = Outcome(response=response, sent=self.sent - sent, bytes=self.bytes - size)
        await ask_store(memory, lambda: memory.store(request, outcome))
        return response

    async def _send_with_retries(
        self,
        request: Request,
        tries: int = 0,
        *,
        extra_headers: Mapping[str, str] | None = None,
        is_robots: bool = False,
    ) -> Response:
        waits_out = not tries
        tries = tries or self.manners.retries + 1
        attempt, reason = -1, ""
        while (attempt := attempt + 1) < tries:
            try:
                if is_robots:
                    response = await self._send_robots(request)
                else:
                    if not self.manners.ignore_robots:
                        await self.robots.check(request.url)
                    response = await self._send_and_follow(request, extra_headers)
            except UnacceptableBody as error:
                raise Unreachable(f"{request.url} cannot be taken: {error}") from error
            except aiohttp.ClientConnectorCertificateError as error:
                raise Unreachable(
                    f"{request.url} has no valid certificate ({error.certificate_error}); if you know its authority, trust it with --ca FILE"
                ) from error
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                if (
                    waits_out
                    and isinstance(error, NO_CONNECTION)
                    and self._outages.is_worth_waiting(_site(request.url))
                ):
                    # nothing was sent now, and tries before were cut off by the outage
                    self.sent, attempt = self.sent - 1 - attempt, -1
                    await asyncio.sleep(CHECK_SECONDS)
                    continue
                reason = self.access.hide(f"{type(error).__name__}: {error}")[:200]
                self._back_off(request.url, attempt)
                continue
            if response.status not in RETRY_STATUSES or attempt == tries - 1:
                return response
            reason = f"status {response.status}"
            retry_after = retry_after_seconds(response.headers.get("Retry-After", ""))
            if retry_after > self.manners.longest_wait:
                return replace(response, blocked=f"status {response.status}, asked to wait for {retry_after:,.0f} s")
            self._back_off(request.url, attempt, retry_after)
        raise Unreachable(
            f"{request.url} did not answer in {tries} tries ({reason}); is the address right? try later, or with a lower --rate"
        )

    async def _send_and_follow(self, request: Request, extra_headers: Mapping[str, str] | None = None) -> Response:
        """One try: sends the request and follows redirects as long as they stay on the host."""
        current, targets, targets_by_path = request, set[str](), Counter[str]()
        for redirects in range(MAX_REDIRECTS):
            try:
                response = await self._send(current, extra_headers)
            except NO_CONNECTION:
                self.sent -= redirects  # that led here: they are sent again when the server is back
                raise
            location = response.headers.get("Location")
            if response.status not in REDIRECT_STATUSES or not location:
                return response if current is request else replace(response, request=request)
            target = urldefrag(urljoin(current.url, location))[0]
            if not is_same_host(target, request.url):
                return replace(response, request=request)
            if not self.manners.ignore_robots:
                await self.robots.check(target)
            path = urlsplit(target).path
            # A redirect back to the address that was asked for is followed once: the server may have set a cookie.
            if target in targets or targets_by_path[path] >= MAX_REDIRECTS_TO_PATH:
                raise ValueError(f"redirects go round by {target}")
            targets.add(target)
            targets_by_path[path] += 1
            keeps_method = response.status in (307, 308)
            if keeps_method and request.method == "POST" and path != urlsplit(request.url).path:
                raise WouldAct(
                    f"POST {request.url} is not sent on to {target}: a search is posted to its own address only"
                )
            current = replace(current, url=target) if keeps_method else Request(url=target, query=request.query)
            self._refuse_acting(current)
        raise ValueError(f"more than {MAX_REDIRECTS} redirects")

    async def _fetch_robots(self, url: str) -> Response:
        request = Request(url=url)
        return await self.replay_or_send(
            request,
            lambda: self._send_with_retries(request, is_robots=True),
            reuse=True,
            max_age=ROBOTS_MAX_AGE_SECONDS,
        )

    async def _send_robots(self, request: Request) -> Response:
        """One try for robots.txt: redirects are followed to other hosts too, its first 500 KiB are read (RFC 9309 §2.3.1.2, §2.5)."""
        current = request
        for _ in range(MAX_ROBOTS_REDIRECTS + 1):
            response = await self._send(current, cut_at=ROBOTS_MAX_BYTES)
            location = response.headers.get("Location")
            if response.status not in REDIRECT_STATUSES or not location:
                return replace(response, request=request)
            current = Request(url=urldefrag(urljoin(current.url, location))[0])
            if urlsplit(current.url).scheme not in ("http", "https"):
                break
        return replace(response, request=request)

    async def _send(
        self, request: Request, extra_headers: Mapping[str, str] | None = None, cut_at: int = 0
    ) -> Response:
        if self._session is None or self._resolver is None:
            raise RuntimeError("a Fetcher is used inside `async with`")
        site = _site(request.url)
        self._resolver.check(*site)
        pace = self._pace(request.url)
        headers = dict(request.headers) | dict(extra_headers or {})
        headers |= {"Content-Type": request.content_type} if request.content_type else {}
        if site in self._user_sites:
            headers |= self.access.site_headers
        own_pace = self._own_pace(request.url)
        self._check_limit(request.url, max(pace.seconds_to_wait, own_pace.seconds_to_wait))
        async with own_pace, pace:
            self._check_limit(request.url, 0.0)  # others may have sent meanwhile
            self.sent += 1
            started = time.monotonic()
            paces_to_tell.set((own_pace, pace))
            async with self._session.request(
                request.method,
                yarl.URL(encoded(without_login(request.url)), encoded=True),
                data=request.body or None,
                headers=headers,
                allow_redirects=False,
                proxy=self._http_proxy(request.url),
            ) as answer:
                body = self.access.hide_in_page(await self._read_body(answer, cut_at))
            self.bytes += len(body)
            response = Response(
                request=request,
                url=request.url,
                status=answer.status,
                headers=self.access.hide_in_answer(joined_headers(answer)),
                body=body,
            )
            self._outages.note_answer(site)
            if answer.status not in RETRY_STATUSES:
                pace.record_answer(time.monotonic() - started)
        if self.recorder is not None:
            place = self.recorder.write(response, self.access.hide_headers(answer.request_info.headers.items()))
            response = replace(response, archived=place)
        return response

    def _http_proxy(self, url: str) -> str | None:
        """The proxy for an address, looked up once for each host; SOCKS is the connector's matter."""
        host = urlsplit(url).netloc
        if host not in self._proxies:
            proxy = self.access.proxy_for(url)
            self._proxies[host] = proxy if proxy and urlsplit(proxy).scheme not in SOCKS else None
        return self._proxies[host]

    async def _read_body(self, answer: aiohttp.ClientResponse, cut_at: int = 0) -> bytes:
        """The decoded body, or its beginning. Only one without a content coding and with an acceptable Content-Length is read at once."""
        if cut_at:
            return await self._read_beginning(answer, cut_at)
        coding, length = answer.headers.get("Content-Encoding", ""), answer.content_length
        if not coding and length is not None and length <= self.manners.max_bytes:
            return await answer.read()
        decoder = Decoder(coding, self.manners.max_bytes)
        body = b"".join([decoder.decode(chunk) async for chunk in answer.content.iter_chunked(CHUNK_BYTES)])
        decoder.finish()
        return body

    async def _read_beginning(self, answer: aiohttp.ClientResponse, size: int) -> bytes:
        """The first bytes of the decoded body, up to the end of a line."""
        decoder, body = Decoder(answer.headers.get("Content-Encoding", ""), self.manners.max_bytes), b""
        async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
            body += decoder.decode(chunk)
            if len(body) > size:
                return body[: body.rfind(b"\n", 0, size) + 1]
        decoder.finish()
        return body

    def _check_limit(self, url: str, wait: float) -> None:
        """Raises BudgetSpent if nothing more may be sent after a wait, whatever it is for."""
        if reason := self.limit(wait):
            delay = self.robots.crawl_delay(url)
            asked = f" (robots.txt of {urlsplit(url).netloc} asks for {delay:,.0f} s between requests)"
            raise BudgetSpent(reason + (asked if delay > wait > 1 else ""))

    def _pace(self, url: str) -> Pace:
        """The pace of a host, whatever its port, with or without "www."."""
        host = _site(url)[0].removeprefix("www.")
        if host not in self._paces:
            gap = 1 / self.manners.rate if self.manners.rate > 0 else 0.0
            leases = self.memory.host_leases if self.memory is not None else None
            self._paces[host] = pace_of(host, gap=gap, concurrency=self.manners.concurrency, leases=leases)
        return self._paces[host]

    def _own_pace(self, url: str) -> Pace:
        """The pace that the robots.txt of one server asks for, which is one port of a host."""
        if (pace := self._own_paces.get(_site(url))) is None:
            pace = self._own_paces[_site(url)] = Pace(gap=0.0, concurrency=self.manners.concurrency)
        if self.manners.rate > 0 and not self.manners.ignore_robots:
            pace.gap = min(self.robots.crawl_delay(url), self.manners.longest_crawl_delay)
        return pace

    def _back_off(self, url: str, attempt: int, retry_after: float = 0.0) -> None:
        """Leaves the whole host alone: as long as it asked for, else twice as long each time, with jitter."""
        step = 0.05 if self.manners.rate <= 0 else 1 / self.manners.rate
        wait = step * 2**attempt * random.uniform(0.5, 1.5)  # noqa: S311 # jitter
        self._pace(url).back_off(min(max(wait, retry_after), self.manners.longest_wait))


def _site(url: str) -> tuple[str, int | None]:
    """Host and port of an address; None stands for the usual ports."""
    return _site_of("/".join(url.split("/", 3)[:3]))


@lru_cache(4096)
def _site_of(origin: str) -> tuple[str, int | None]:
    host, port = host_and_port(origin)
    return host, None if port in (80, 443) else port
