"""Connections of a Fetcher: which network addresses may be reached, proxies, certificates and initial cookies."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from http.cookies import BaseCookie, Morsel
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import yarl
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from aiohttp.typedefs import LooseCookies

from upwell.errors import MissingExtra, Refused
from upwell.net.access import SOCKS_SCHEMES, Access
from upwell.net.cookies import Cookie
from upwell.net.framing import LenientResponseHandler
from upwell.net.pace import Pace
from upwell.net.reading_thread import finish_future
from upwell.urls.hosts import is_localhost, is_loopback, is_private_address, is_public, origin_of

__all__ = [
    "GuardedResolver",
    "PacedRequest",
    "SiteCookieJar",
    "create_connector",
    "paces_of_request",
]


class GuardedResolver(AbstractResolver):
    """Resolver that refuses private networks, except for addresses that the user named.

    A private IP address or localhost may be connected to if the user named it with its port. Any other name is refused if it leads into a
    private network, even if the user named it, because the owner of the name decides where it leads, and can change it between two runs (DNS
    rebinding); `allowed_sites` are those for which the user expects that.
    """

    def __init__(self) -> None:
        self.user_sites: set[tuple[str, int | None]] = (
            set()
        )  # host and port that the user named; None: the default ports
        self.allowed_sites: set[tuple[str, int | None]] = set()  # of them, those that may lead into a private network
        self.proxy: tuple[str, int | None] = ("", None)  # host and port; connections to it are allowed

    def check(self, host: str, port: int | None = None) -> None:
        """Refuse a host that is itself a private address; names are checked when they are resolved."""
        if is_private_address(host) and not self._is_named(host, port):
            self._refuse(host, port, host)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        results = await self.look_up(host, port, family)
        private = [result["host"] for result in results if not is_public(result["host"])]
        if private and (host, port) != self.proxy and not self._may_be_private(host, port, private):
            self._refuse(host, port, private[0])
        return results

    async def look_up(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        """Ask the system for the addresses of a name, in a thread that does not keep the process alive if the answer never comes."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[list[Any]] = loop.create_future()

        def work() -> None:
            try:
                found, error = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG), None
            except (OSError, UnicodeError) as raised:
                found, error = [], raised if isinstance(raised, OSError) else OSError(str(raised))
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(finish_future, done, found, error)

        threading.Thread(target=work, name="upwell-dns", daemon=True).start()
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=port,
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for kind, _, protocol, _, address in await done
        ]

    async def close(self) -> None: ...

    def _is_named(self, host: str, port: int | None) -> bool:
        """Return True if the user named this host with this port; another port of a private host is another service."""
        return self._site(host, port) in self.user_sites | self.allowed_sites

    @staticmethod
    def _site(host: str, port: int | None) -> tuple[str, int | None]:
        return host, None if port in (0, 80, 443) else port

    def _may_be_private(self, host: str, port: int | None, addresses: Sequence[str]) -> bool:
        """Return True if the user named this host with this port, and expects it in a private network."""
        is_local = is_localhost(host) and all(is_loopback(address) for address in addresses)
        return self._site(host, port) in self.allowed_sites or (is_local and self._is_named(host, port))

    def _refuse(self, host: str, port: int | None, address: str) -> None:
        server = f"[{host}]" if ":" in host else host
        server += f":{port}" if port not in (None, 0, 80, 443) else ""
        raise Refused(
            f"{host} is at {address}, in a private network, and is not requested; if you expect it there, add --allow {server}"
            if address != host
            else f"{server} is in a private network and was not named by you; if you want it to be requested, add --allow {server}"
        )


DNS_SECONDS = 300  # how long a resolved address is cached
# Paces that the request of the current task belongs to.
paces_of_request: ContextVar[tuple[Pace, ...]] = ContextVar("paces_of_request", default=())


def create_connector(context: ssl.SSLContext | None, proxy: str, resolver: GuardedResolver) -> aiohttp.BaseConnector:
    """Create the connector of a session; with a SOCKS proxy the proxy resolves names, so no private address is seen here."""
    if urlsplit(proxy).scheme in SOCKS_SCHEMES:
        try:
            from aiohttp_socks import ProxyConnector
        except ImportError as missing:
            raise MissingExtra(
                "a SOCKS proxy needs the package aiohttp-socks: pip install 'upwell[socks]'"
            ) from missing
        plain = proxy.replace("socks5h://", "socks5://", 1).replace("socks4a://", "socks4://", 1)
        socks_connector: aiohttp.BaseConnector = ProxyConnector.from_url(plain, rdns=True, limit=0, ssl=context or True)
        return _with_lenient_framing(socks_connector)
    if proxy:
        parts = yarl.URL(proxy)
        resolver.proxy = parts.host or "", parts.port
    connector = aiohttp.TCPConnector(resolver=resolver, limit=0, ttl_dns_cache=DNS_SECONDS, ssl=context or True)
    return _with_lenient_framing(connector)


def _with_lenient_framing(connector: aiohttp.BaseConnector) -> aiohttp.BaseConnector:
    """Accept answers that are framed as browsers accept them (`framing`); aiohttp has no public setting for its protocol."""
    connector._factory = partial(LenientResponseHandler, loop=connector._loop)  # type: ignore[assignment] # a subclass
    return connector


class PacedRequest(aiohttp.ClientRequest):
    """Request that notifies its paces when it was sent.

    A thread that reads a page may delay the event loop between the decision to send and the sending, and a separate task writes the body.
    So the paces are notified two iterations of the loop later.
    """

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        answer = await super().send(conn)
        for pace in paces_of_request.get():
            self.loop.call_soon(self.loop.call_soon, pace.note_sent)
        return answer


class SiteCookieJar(aiohttp.CookieJar):
    """Cookie jar that keeps the user's cookies, and cookies set in their place, with the origins that the user named.

    Cookies themselves know neither scheme nor port (RFC 6265 §8.5): they would follow a redirect to plain HTTP or to another port. Sites at IP
    addresses may set cookies too.
    """

    def __init__(self, access: Access) -> None:
        super().__init__(unsafe=True)
        self._access = access
        self._own: dict[tuple[str, str, int], aiohttp.CookieJar] = {}  # by origin

    def add_origin(self, origin: tuple[str, str, int]) -> None:
        """Give an origin that the user named its own jar, with the user's cookies for its host; without credentials all share one."""
        if not self._access.has_credentials:
            return
        jar = self._own[origin] = aiohttp.CookieJar(unsafe=True)
        for cookie in self._access.cookies:
            if cookie.is_for(origin[1]):
                scheme = "https" if cookie.secure else "http"
                jar.update_cookies({cookie.name: _morsel(cookie)}, yarl.URL(f"{scheme}://{_host(cookie.domain)}/"))

    def filter_cookies(self, request_url: yarl.URL = yarl.URL()) -> "BaseCookie[str]":  # noqa: B008 # as aiohttp declares it
        own = self._own.get(origin_of(str(request_url)))
        return super().filter_cookies(request_url) if own is None else own.filter_cookies(request_url)

    def update_cookies(self, cookies: LooseCookies, response_url: yarl.URL = yarl.URL()) -> None:  # noqa: B008 # the same
        own = self._own.get(origin_of(str(response_url)))
        if own is None:
            super().update_cookies(cookies, response_url)
        else:
            own.update_cookies(cookies, response_url)

    def update_cookies_from_headers(self, headers: Sequence[str], response_url: yarl.URL) -> None:
        own = self._own.get(origin_of(str(response_url)))
        if own is None:
            super().update_cookies_from_headers(headers, response_url)
        else:
            own.update_cookies_from_headers(headers, response_url)


def _host(domain: str) -> str:
    return f"[{domain}]" if ":" in domain else domain


def _morsel(cookie: Cookie) -> "Morsel[str]":
    morsel: Morsel[str] = Morsel()
    morsel.set(cookie.name, cookie.value, cookie.value)
    morsel["path"] = cookie.path
    if cookie.for_subdomains:
        morsel["domain"] = cookie.domain
    if cookie.secure:
        morsel["secure"] = True
    return morsel
