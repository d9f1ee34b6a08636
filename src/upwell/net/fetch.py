"""Polite HTTP client: robots.txt, one request rate per host, retries with back-off, and limits on time and size of answers."""

import asyncio
import logging
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from types import TracebackType
from typing import Protocol
from urllib.parse import urldefrag, urljoin, urlsplit

import aiohttp
import yarl

from upwell.errors import BudgetSpent, Refused, Unreachable, Unreadable, WouldAct, WrongUsage
from upwell.logs import shown_url
from upwell.net.access import SOCKS_SCHEMES
from upwell.net.connect import GuardedResolver, PacedRequest, SiteCookieJar, create_connector, paces_of_request
from upwell.net.decode import ACCEPT_ENCODING, Decoder, UnacceptableBody
from upwell.net.manners import Manners
from upwell.net.pace import HostLeases, Pace, call_store, shared_pace, user_leases
from upwell.net.robots import MAX_AGE_SECONDS as ROBOTS_MAX_AGE_SECONDS
from upwell.net.robots import MAX_BYTES as ROBOTS_MAX_BYTES
from upwell.net.robots import Robots
from upwell.types import ArchivedBody, LinkContext, Outcome, Request, Response
from upwell.urls.acting import acting_evidence, acting_hits, names_of_query, posts_without_search
from upwell.urls.hosts import (
    host_and_port,
    is_loopback,
    is_on_site,
    is_same_host,
    origin_of,
    percent_encode,
    without_login,
)

__all__ = ["Fetcher", "Manners", "Memory", "Recorder", "is_cacheable"]

logger = logging.getLogger("upwell.net")

RECONNECT_SECONDS = 3.0  # between attempts to reach a server that is down; not swept
FIRST_TRIES = 2  # of a server that has never answered and cannot be connected to: a wrong name is not cured by waiting
MAX_REDIRECTS = 10  # RFC 9110 §15.4 requires a limit and names none; browsers stop at 20
MAX_REDIRECTS_TO_PATH = 2  # redirects to one path with different arguments; more is a loop
REDIRECT_STATUSES = frozenset((301, 302, 303, 307, 308))
RETRY_STATUSES = frozenset((408, 429, 500, 502, 503, 504))
MAX_HEADER_LINE_BYTES = 16_384  # of the status line and each header
MAX_HEADERS = 128
MAX_ROBOTS_REDIRECTS = 5  # RFC 9309 §2.3.1.2: at least five
CHUNK_BYTES = 1 << 16
NO_CONNECTION = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


class Recorder(Protocol):
    """Archives every exchange before its answer is used, as `upwell.store.archive.Archive` does."""

    def write(self, response: Response, request_headers: Iterable[tuple[str, str]]) -> ArchivedBody:
        """Archive a response and its request with the headers that were sent; return the location of the body."""
        ...


class Memory(Protocol):
    """Stores outcomes of requests, so that an interrupted harvest can be resumed, as `upwell.store.state.State` does."""

    @property
    def is_remote(self) -> bool:
        """Return True if a call may wait for another machine."""
        ...

    @property
    def host_leases(self) -> HostLeases | None:
        """Return the host leases shared by all machines that use this memory; None if each machine has its own."""
        ...

    def replay(self, request: Request, *, reuse: bool = False, max_age: float = 0.0) -> Outcome | None:
        """Return the next stored outcome of a request; None if the request has to be sent.

        With `reuse`, an answer that was used before is returned again; with `max_age`, an answer older than that many seconds is not.
        """
        ...

    def store(self, request: Request, outcome: Outcome) -> int:
        """Store the outcome of a request and return its number; it survives a kill once this returns."""
        ...


class Fetcher:
    """HTTP client that obeys its `Manners`, and counts requests and bytes; each source has its own, with its own cookies."""

    def __init__(
        self,
        manners: Manners | None = None,
        *,
        user_urls: Iterable[str] | None = None,
        recorder: Recorder | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.manners = manners or Manners()
        self.access = self.manners.access
        self.sent = 0  # requests, including replayed ones, which an earlier process sent
        self.bytes = 0
        self.exhausted: Callable[[float], str] = lambda wait: ""  # why no request may be sent after a wait; "": it may
        self.recorder = recorder
        self.memory = memory
        self.robots = Robots(self.manners.agent, self._fetch_robots)
        self._session: aiohttp.ClientSession | None = None
        self._user_urls = tuple(user_urls or ())
        self._awaits_user_url = user_urls is None  # the first URL fetched counts as the user's
        self._allowed_words: frozenset[str] = frozenset()  # acting words in the URLs and forms that the user named
        self._search_paths: set[str] = set()  # of addresses that a search was posted to, or that the user named
        self.origins: set[tuple[str, str, int]] = set()  # scheme, host and port that get the user's credentials
        self.withheld: set[str] = set()  # other origins of the user's sites, which were not sent the credentials
        self._cookies: SiteCookieJar | None = None
        self._resolver = GuardedResolver()
        for address in self.manners.allow:
            self._resolver.allowed_sites.add(_site_of_origin(*origin_of(address)[1:]))
        for url in self._user_urls:
            self._name(url)
        self._outages = Outages(self.manners.longest_wait)
        self._paces: dict[str, Pace] = {}  # by host
        self._own_paces: dict[tuple[str, int | None], Pace] = {}  # by host and port, for the Crawl-delay of each server
        self._proxies: dict[str, str | None] = {}  # by host and port

    async def __aenter__(self) -> "Fetcher":
        manners, total = self.manners, self.manners.timeout
        self._cookies = SiteCookieJar(self.access)
        for origin in self.origins:
            self._cookies.add_origin(origin)
        self._tls = self.access.ssl_context(with_certificate=False)
        self._own_tls = self.access.ssl_context(with_certificate=True)
        proxy = self.access.proxy_for(next(iter(self._user_urls), "https://example.org/"))
        self._session = aiohttp.ClientSession(
            connector=create_connector(self._tls, proxy, self._resolver),
            timeout=aiohttp.ClientTimeout(
                total=total,
                sock_connect=min(manners.connect, total),
                sock_read=min(manners.first_byte, total),
            ),
            headers={
                "User-Agent": manners.user_agent,
                "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
                "Accept-Encoding": ACCEPT_ENCODING,
            },
            cookie_jar=self._cookies,
            auto_decompress=False,
            max_line_size=MAX_HEADER_LINE_BYTES,
            max_field_size=MAX_HEADER_LINE_BYTES,
            max_headers=MAX_HEADERS,
            request_class=PacedRequest,
        )
        self._session._retry_connection = (
            False  # otherwise aiohttp sends again by itself, ignoring the rate and uncounted
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def fetch(self, request: Request, *, reuse: bool = False) -> Response:
        """Return the answer to a request after redirects on the same host; a stored answer is replayed instead of sending.

        With `reuse`, an answer to the same request that was used before is returned again. Raise Unreachable if there is no answer,
        Forbidden if robots.txt disallows the URL, and Refused if the host is private and not in `user_urls` (if these are not given,
        the first URL fetched counts as the user's).
        """
        host = _site(request.url)[0]
        if self.manners.rate <= 0 and not is_loopback(host):
            raise WrongUsage(f"rate 0 (no limit) is for loopback only, not for {urlsplit(request.url).netloc}")
        if self._awaits_user_url:
            self._awaits_user_url = False
            self._name(request.url)
            self.allow(request)
        self._refuse_acting(request)
        return await self.replay_or_send(request, lambda: self._send_with_retries(request), reuse=reuse)

    async def send(self, request: Request, headers: Mapping[str, str] | None = None) -> Response:
        """Return the answer to a request of a page in the browser: same rules, but one attempt, and not stored (the whole visit is)."""
        self._refuse_acting(request)
        return await self._send_with_retries(request, tries=1, extra_headers=headers)

    async def check(self, request: Request) -> None:
        """Raise the errors that `send` would raise before anything is sent."""
        self._refuse_acting(request)
        if not self.manners.ignore_robots:
            await self.robots.check(request.url)

    def gap(self, url: str) -> float:
        """Return the seconds between requests to a host."""
        return max(self._pace(url).current_gap, self._own_pace(url).current_gap)

    def _name(self, url: str) -> None:
        """Take a URL as one that the user named: its origin gets the credentials, and may be private if it is an address itself."""
        origin = origin_of(url)
        self.origins.add(origin)
        self._resolver.user_sites.add(_site_of_origin(*origin[1:]))
        if self._cookies is not None:
            self._cookies.add_origin(origin)
        self.allow(Request(url=url))

    def _is_own(self, url: str) -> bool:
        """Return True if a URL gets the user's credentials: scheme, host and port are those that the user named."""
        origin = origin_of(url)
        if origin in self.origins:
            return True
        if self.access.has_credentials and any(is_on_site(url, own) for own in self._user_urls):
            self.withheld.add(f"{origin[0]}://{urlsplit(without_login(url)).netloc}")
        return False

    def allow(self, request: Request) -> None:
        """Allow the acting words of a request, because the user named it."""
        self._allowed_words |= {hit.word for hit in acting_hits(request)}
        self._search_paths.add(urlsplit(request.url).path)

    def _refuse_acting(self, request: Request) -> None:
        """Raise WouldAct if a request may change something; every request passes here, and so does every redirect."""
        words, path = acting_evidence(request, self._allowed_words), urlsplit(request.url).path
        reason = f"“{words[0]}” may change something at the site" if words else ""
        if not words and path not in self._search_paths and posts_without_search(request):
            reason = "neither its address nor its button says that it searches"
        if reason:
            raise WouldAct(
                f"{request.method} {request.url} is not sent: {reason}; to send it anyway, name the form with --form, or the search "
                "interface with --interface"
            )
        if request.method == "POST":
            self._search_paths.add(path)

    async def replay_or_send(
        self, request: Request, send: Callable[[], Awaitable[Response]], *, reuse: bool = False, max_age: float = 0.0
    ) -> Response:
        """Return the stored outcome of a request, or call `send` and store its outcome before it is used."""
        if self.memory is None:
            return await send()
        memory = self.memory
        stored = await call_store(memory, lambda: memory.replay(request, reuse=reuse, max_age=max_age))
        if stored is not None:
            # The cost of robots.txt is part of the outcome of the request that needed it, unless that was interrupted.
            if not max_age or not self.sent:
                self.sent, self.bytes = self.sent + stored.sent, self.bytes + stored.bytes
            if stored.response is None:
                raise (Unreadable if stored.is_unreadable else Unreachable)(stored.error)
            self._outages.note_earlier_answer(_site(request.url))
            return stored.response
        sent, size = self.sent, self.bytes
        try:
            response = await send()
        except Refused:
            raise
        except Unreachable as error:
            failure = Outcome(error=str(error), sent=self.sent - sent, bytes=self.bytes - size)
            await call_store(memory, lambda: memory.store(request, failure))
            raise
        if max_age and response.status in RETRY_STATUSES:
            return response  # the next run requests robots.txt again after a transient failure
        outcome = Outcome(response=response, sent=self.sent - sent, bytes=self.bytes - size)
        number = await call_store(memory, lambda: memory.store(request, outcome))
        return replace(response, number=number)

    async def _send_with_retries(
        self,
        request: Request,
        tries: int = 0,
        *,
        extra_headers: Mapping[str, str] | None = None,
        is_robots: bool = False,
    ) -> Response:
        waits_for_server = not tries
        tries = tries or self.manners.retries + 1
        attempt, reason, has_answered = -1, "", False
        refusal: Exception | None = None  # of a server that has never answered
        while (attempt := attempt + 1) < tries:
            try:
                if is_robots:
                    response = await self._send_robots(request)
                else:
                    if not self.manners.ignore_robots:
                        await self.robots.check(request.url)
                    response = await self._send_and_follow(request, extra_headers)
            except UnacceptableBody as error:
                raise Unreachable(f"{request.url} cannot be accepted: {error}") from error
            except aiohttp.ClientConnectorCertificateError as error:
                raise Unreachable(
                    f"{request.url} has no valid certificate ({error.certificate_error}); to trust its authority, use --ca FILE"
                ) from error
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                if (
                    waits_for_server
                    and isinstance(error, NO_CONNECTION)
                    and self._outages.is_worth_waiting(_site(request.url))
                ):
                    # Nothing was sent, and the outage ended earlier attempts.
                    self.sent, attempt = self.sent - 1 - attempt, -1
                    logger.info("%s is down; trying again in %g s", urlsplit(request.url).netloc, RECONNECT_SECONDS)
                    await asyncio.sleep(RECONNECT_SECONDS)
                    continue
                has_answered = isinstance(error, (aiohttp.ClientResponseError, aiohttp.ClientPayloadError, ValueError))
                reason = self.access.hide(f"{type(error).__name__}: {error}")[:200]
                logger.info("%s: attempt %d of %d failed: %s", self._shown(request.url), attempt + 1, tries, reason)
                if isinstance(error, NO_CONNECTION) and not self._outages.has_answered(_site(request.url)):
                    tries, refusal = min(tries, FIRST_TRIES), error
                if attempt < tries - 1:
                    self._back_off(request.url, attempt)
                continue
            if response.status not in RETRY_STATUSES or attempt == tries - 1:
                return response
            reason = f"status {response.status}"
            logger.info("%s: attempt %d of %d failed: %s", self._shown(request.url), attempt + 1, tries, reason)
            retry_after = retry_after_seconds(response.headers.get("Retry-After", ""))
            if retry_after > self.manners.longest_wait:
                return replace(response, blocked=f"status {response.status}, asked to wait for {retry_after:,.0f} s")
            self._back_off(request.url, attempt, retry_after)
        if has_answered:
            raise Unreachable(
                f"{request.url} answers, but not in a way that can be read ({reason}); does it open in your browser?"
            )
        if refusal is not None:
            raise Unreachable(f"{request.url} did not answer in {tries} tries ({_why_refused(refusal, reason)})")
        raise Unreachable(
            f"{request.url} did not answer in {tries} tries ({reason}); try later, or with a lower --rate"
        )

    async def _send_and_follow(self, request: Request, extra_headers: Mapping[str, str] | None = None) -> Response:
        """Send a request once and follow redirects on the same host."""
        current, targets, targets_by_path = request, set[str](), Counter[str]()
        for redirects in range(MAX_REDIRECTS):
            try:
                response = await self._send(current, extra_headers)
            except NO_CONNECTION:
                self.sent -= redirects  # they are sent again when the server is back
                raise
            location = response.headers.get("Location")
            if response.status not in REDIRECT_STATUSES or not location:
                return response if current is request else replace(response, request=request)
            target = _redirect_target(current.url, location)
            if not target:
                raise Unreachable(f"{request.url} redirects to an invalid address: {location[:200]!r}")
            if not is_same_host(target, request.url):
                return replace(response, request=request)
            if not self.manners.ignore_robots:
                await self.robots.check(target)
            path = urlsplit(target).path
            # A redirect back to the requested URL is followed once: the server may have set a cookie.
            if target in targets or targets_by_path[path] >= MAX_REDIRECTS_TO_PATH:
                raise ValueError(f"redirect loop at {target}")
            targets.add(target)
            targets_by_path[path] += 1
            keeps_method = response.status in (307, 308)
            if keeps_method and request.method == "POST" and path != urlsplit(request.url).path:
                raise WouldAct(f"POST {request.url} is not sent on to {target}: a search is posted to its own URL only")
            redirected = LinkContext(query_fields=names_of_query(request) if request.query else ())
            current = replace(current, url=target) if keeps_method else Request(url=target, query=request.query)
            current = replace(current, context=redirected)
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
        """Request robots.txt once: follow redirects to other hosts too, and read the first 500 KiB (RFC 9309 §2.3.1.2, §2.5)."""
        current = request
        for _ in range(MAX_ROBOTS_REDIRECTS + 1):
            response = await self._send(current, cut_at=ROBOTS_MAX_BYTES)
            location = response.headers.get("Location")
            if response.status not in REDIRECT_STATUSES or not location:
                return replace(response, request=request)
            target = _redirect_target(current.url, location)
            current = Request(url=target)
            is_web = target.lower().startswith(("http://", "https://"))
            if not is_web or acting_evidence(current, self._allowed_words):
                break
        return replace(response, request=request)

    async def _send(
        self, request: Request, extra_headers: Mapping[str, str] | None = None, cut_at: int = 0
    ) -> Response:
        if self._session is None:
            raise RuntimeError("a Fetcher is used inside `async with`")
        site = _site(request.url)
        self._resolver.check(*site)
        pace = self._pace(request.url)
        headers = dict(request.headers) | dict(extra_headers or {})
        headers |= {"Content-Type": request.content_type} if request.content_type else {}
        is_own = self._is_own(request.url)
        if is_own:
            headers |= self.access.site_headers
        own_pace = self._own_pace(request.url)
        self._check_budget(request.url, max(pace.seconds_to_wait, own_pace.seconds_to_wait))
        async with own_pace, pace:
            if cut_at:  # robots.txt: another process may know a Crawl-delay already
                await own_pace.wait_for_others()
            self._check_budget(request.url, 0.0)  # other requests may have been sent meanwhile
            self.sent += 1
            if self.manners.quota is not None:
                self.manners.quota.count(site)
            started = time.monotonic()
            paces_of_request.set((own_pace, pace))
            async with self._session.request(
                request.method,
                yarl.URL(percent_encode(without_login(request.url)), encoded=True),
                data=request.body or None,
                headers=headers,
                allow_redirects=False,
                proxy=self._http_proxy(request.url),
                ssl=(self._own_tls if is_own else self._tls) or True,
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
            if logger.isEnabledFor(logging.DEBUG):
                seconds, kind = time.monotonic() - started, answer.headers.get("Content-Type", "no content type")
                logger.debug(
                    "%s %s: %d, %s, %d bytes in %.3f s",
                    *(request.method, self._shown(request.url), answer.status, kind, len(body), seconds),
                )
            if answer.status not in RETRY_STATUSES:
                pace.record_answer(time.monotonic() - started)
        if self.recorder is not None:
            archived = self.recorder.write(response, self.access.hide_headers(answer.request_info.headers.items()))
            response = replace(response, archived=archived)
        return response

    def _shown(self, url: str) -> str:
        """Return a URL for the log, without secrets."""
        return self.access.hide(shown_url(url))

    def _http_proxy(self, url: str) -> str | None:
        """Return the HTTP proxy for a URL, looked up once per host; SOCKS proxies are handled by the connector."""
        host = urlsplit(url).netloc
        if host not in self._proxies:
            proxy = self.access.proxy_for(url)
            self._proxies[host] = proxy if proxy and urlsplit(proxy).scheme not in SOCKS_SCHEMES else None
        return self._proxies[host]

    async def _read_body(self, answer: aiohttp.ClientResponse, cut_at: int = 0) -> bytes:
        """Return the decoded body, or its beginning; without a content coding and with an acceptable Content-Length it is read at once."""
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
        """Return the first bytes of the decoded body, up to the end of a line."""
        decoder, body = Decoder(answer.headers.get("Content-Encoding", ""), self.manners.max_bytes), b""
        async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
            body += decoder.decode(chunk)
            if len(body) > size:
                return body[: body.rfind(b"\n", 0, size) + 1]
        decoder.finish()
        return body

    def _check_budget(self, url: str, wait: float) -> None:
        """Raise BudgetSpent if no request may be sent after a wait."""
        server, quota = _site(url), self.manners.quota
        if quota is not None and not quota.left(server):
            raise BudgetSpent(
                f"{server[0]} has been sent the {quota.max_requests:,} requests that are allowed for one server"
            )
        if reason := self.exhausted(wait):
            delay = self.robots.crawl_delay(url)
            hint = f" (robots.txt of {urlsplit(url).netloc} asks for {delay:,.0f} s between requests)"
            raise BudgetSpent(reason + (hint if delay > wait > 1 else ""))

    def _pace(self, url: str) -> Pace:
        """Return the pace of a host, regardless of port and "www."."""
        host = _site(url)[0].removeprefix("www.")
        if host not in self._paces:
            gap = 1 / self.manners.rate if self.manners.rate > 0 else 0.0
            leases = self.memory.host_leases if self.memory is not None else None
            self._paces[host] = shared_pace(host, gap=gap, concurrency=self.manners.concurrency, leases=leases)
        return self._paces[host]

    def _own_pace(self, url: str) -> Pace:
        """Return the pace for the Crawl-delay of one server, which is one port of a host."""
        if (pace := self._own_paces.get(_site(url))) is None:
            host, port = _site(url)
            leases = (self.memory.host_leases if self.memory is not None else None) or user_leases()
            pace = self._own_paces[host, port] = Pace(
                gap=0.0,
                concurrency=self.manners.concurrency,
                host=f"{host}:{port or ''} Crawl-delay",
                leases=leases if self.manners.rate > 0 else None,
            )
        if self.manners.rate > 0 and not self.manners.ignore_robots:
            pace.set_gap(min(self.robots.crawl_delay(url), self.manners.longest_crawl_delay))
        return pace

    def _back_off(self, url: str, attempt: int, retry_after: float = 0.0) -> None:
        """Pause requests to the whole host: as long as it asked for, or exponentially longer each time, with jitter."""
        step = 0.05 if self.manners.rate <= 0 else 1 / self.manners.rate
        wait = step * 2**attempt * random.uniform(0.5, 1.5)  # noqa: S311 # jitter
        wait = min(max(wait, retry_after), self.manners.longest_wait)
        logger.debug("no request to %s for %.1f s", _site(url)[0], wait)
        self._pace(url).back_off(wait)


def _why_refused(error: Exception, reason: str) -> str:
    """Return why a server that has never answered cannot be connected to, and what to do."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"no machine of the name {error.host!r} is known; is the name right, and are you online? {reason}"
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionRefusedError):
        return f"nothing listens at port {error.port} of {error.host}; is the address right, and does the server run? {reason}"
    return f"{reason}; is the address right, and does it open in your browser?"


def _site(url: str) -> tuple[str, int | None]:
    """Return host and port of a URL; None stands for the default ports."""
    return _site_of("/".join(url.split("/", 3)[:3]))


@lru_cache(4096)
def _site_of(origin: str) -> tuple[str, int | None]:
    return _site_of_origin(*host_and_port(origin))


def _site_of_origin(host: str, port: int | None) -> tuple[str, int | None]:
    return host, None if port in (80, 443) else port


class Outages:
    """Servers that answered before, and since when each is down; an outage is waited out, because the request is not at fault."""

    def __init__(self, longest_wait: float) -> None:
        self._longest_wait = longest_wait  # seconds
        self._known: set[object] = set()
        self._down_since: dict[object, float] = {}  # monotonic clock

    def note_answer(self, server: object) -> None:
        """Record an answer of a server."""
        self._known.add(server)
        self._down_since.pop(server, None)

    def note_earlier_answer(self, server: object) -> None:
        """Record that a server answered an earlier process."""
        self._known.add(server)

    def has_answered(self, server: object) -> bool:
        """Return True if a server answered before, in this process or an earlier one."""
        return server in self._known

    def is_worth_waiting(self, server: object) -> bool:
        """Return True if a server that is down should be back soon: it answered before, and has not been down for too long."""
        if server not in self._known:
            return False
        return time.monotonic() - self._down_since.setdefault(server, time.monotonic()) < self._longest_wait


@lru_cache(1024)
def _header_name(name: str) -> str:
    """Return a header name in the usual case of HTTP/1.1."""
    return "-".join(part.capitalize() for part in name.split("-"))


def joined_headers(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """Return one value per header: repeated headers are joined with commas, except Location, of which the last one counts."""
    headers: dict[str, str] = {}
    for raw_name, value in answer.headers.items():
        name = _header_name(raw_name)
        headers[name] = f"{headers[name]}, {value}" if name in headers and name != "Location" else value
    return headers


def retry_after_seconds(retry_after: str) -> float:
    """Parse a Retry-After header, a number of seconds or a date, to seconds from now (RFC 9110 §10.2.3)."""
    if not retry_after:
        return 0.0
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _redirect_target(url: str, location: str) -> str:
    """Return the URL that a Location header leads to, without fragment; "" if it is invalid."""
    try:
        return urldefrag(urljoin(url, location))[0]
    except ValueError:
        return ""


def is_cacheable(headers: Mapping[str, str]) -> bool:
    """Return True if a cache may reuse a response without revalidation: it has a modification date or a lifetime (RFC 9111 §4.2)."""
    lowered = {name.lower(): value.lower() for name, value in headers.items()}
    control = lowered.get("cache-control", "")
    if any(word in control for word in ("no-store", "no-cache", "must-revalidate", "private")) or "vary" in lowered:
        return False
    lifetime = re.search(r"max-age=(\d++)", control)
    return bool(lifetime[1].strip("0")) if lifetime else "last-modified" in lowered
