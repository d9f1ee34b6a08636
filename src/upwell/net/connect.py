"""Connections of a Fetcher: which network addresses may be reached, proxies, certificates and initial cookies."""

import socket
from contextvars import ContextVar
from http.cookies import Morsel
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

import aiohttp
import yarl
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from aiohttp.resolver import DefaultResolver

from upwell.errors import MissingExtra, Refused
from upwell.net.access import SOCKS_SCHEMES, Access
from upwell.net.cookies import Cookie
from upwell.net.pace import Pace

__all__ = ["GuardedResolver", "PacedRequest", "create_connector", "create_cookie_jar", "is_public", "paces_of_request"]

NAT64 = ip_network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address


def is_public(address: str) -> bool:
    """Return True if an IP address belongs to the public internet; for an IPv4 address embedded in IPv6 that one counts.

    >>> [is_public(a) for a in ("93.184.216.34", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "2002:7f00:1::")]
    [True, False, False, False, False, False]
    """
    ip: IPv4Address | IPv6Address = ip_address(address.split("%")[0])
    if isinstance(ip, IPv6Address):
        embedded = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if embedded is None and ip in NAT64:
            embedded = IPv4Address(int(ip) & 0xFFFFFFFF)
        if embedded is not None:
            ip = embedded
    return ip.is_global and not ip.is_multicast


class GuardedResolver(AbstractResolver):
    """Resolver that refuses hosts in a private network unless the user named them.

    A host that the user named is refused too if it was public before and is private now: the owner of a domain can point it into the
    user's network (DNS rebinding).
    """

    def __init__(self) -> None:
        self.user_sites: set[tuple[str, int | None]] = (
            set()
        )  # host and port that the user named; None: the default ports
        self.proxy: tuple[str, int | None] = ("", None)  # host and port; connections to it are allowed
        self._public_hosts: set[str] = set()  # hosts that resolved to a public address
        self._resolver = DefaultResolver()

    def check(self, host: str, port: int | None = None) -> None:
        """Refuse a host that is itself a private IP address; names are checked when they are resolved."""
        if self._is_named(host, port):
            return
        try:
            is_private = not is_public(host)
        except ValueError:
            return
        if is_private:
            self._refuse(host, host)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        results = await self._resolver.resolve(host, port, family)
        private = [result["host"] for result in results if not is_public(result["host"])]
        if not private:
            self._public_hosts.add(host)
        elif (host, port) != self.proxy and (not self._is_named(host, port) or host in self._public_hosts):
            self._refuse(host, private[0])
        return results

    async def close(self) -> None:
        await self._resolver.close()

    def _is_named(self, host: str, port: int | None) -> bool:
        """Return True if the user named this host with this port; another port of a private host is another service."""
        return (host, None if port in (0, 80, 443) else port) in self.user_sites

    def _refuse(self, host: str, address: str) -> None:
        raise Refused(
            f"{host} is at {address}, in a private network, and was reached from another site; to allow it, name it yourself"
        )


DNS_SECONDS = 300  # how long a resolved address is cached
# Paces that the request of the current task belongs to.
paces_of_request: ContextVar[tuple[Pace, ...]] = ContextVar("paces_of_request", default=())


def create_connector(access: Access, proxy: str, resolver: GuardedResolver) -> aiohttp.BaseConnector:
    """Create the connector of a session; with a SOCKS proxy the proxy resolves names, so no private address is seen here."""
    context = access.ssl_context()
    if urlsplit(proxy).scheme in SOCKS_SCHEMES:
        try:
            from aiohttp_socks import ProxyConnector
        except ImportError as missing:
            raise MissingExtra(
                "a SOCKS proxy needs the package aiohttp-socks: pip install 'upwell[socks]'"
            ) from missing
        plain = proxy.replace("socks5h://", "socks5://", 1).replace("socks4a://", "socks4://", 1)
        socks_connector: aiohttp.BaseConnector = ProxyConnector.from_url(plain, rdns=True, limit=0, ssl=context or True)
        return socks_connector
    if proxy:
        parts = yarl.URL(proxy)
        resolver.proxy = parts.host or "", parts.port
    return aiohttp.TCPConnector(resolver=resolver, limit=0, ttl_dns_cache=DNS_SECONDS, ssl=context or True)


class PacedRequest(aiohttp.ClientRequest):
    """Request that notifies its paces when it was sent.

    A thread that reads a page may delay the event loop between the decision to send and the sending, and a separate task writes the body.
    So the paces are notified two iterations of the loop later.
    """

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        answer = await super().send(conn)
        for pace in paces_of_request.get():
            if pace.gap:
                self.loop.call_soon(self.loop.call_soon, pace.note_sent)
        return answer


def create_cookie_jar(access: Access) -> aiohttp.CookieJar:
    """Create the cookie jar of a session with the user's cookies; sites at IP addresses may set cookies too."""
    jar = aiohttp.CookieJar(unsafe=True)
    for cookie in access.cookies:
        scheme = "https" if cookie.secure else "http"
        jar.update_cookies({cookie.name: _morsel(cookie)}, yarl.URL(f"{scheme}://{_host(cookie.domain)}/"))
    return jar


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
