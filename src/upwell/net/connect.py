"""How connections are made: directly or by a proxy, with which certificates, and which cookies they begin with."""

from contextvars import ContextVar
from http.cookies import Morsel
from urllib.parse import urlsplit

import aiohttp
import yarl
from aiohttp.connector import Connection

from upwell.errors import MissingExtra
from upwell.net.access import SOCKS, Access
from upwell.net.addresses import GuardedResolver
from upwell.net.cookies import Cookie
from upwell.net.pace import Pace

__all__ = ["TellingRequest", "connector", "cookie_jar", "paces_to_tell"]

DNS_SECONDS = 300  # that an address stays known
paces_to_tell: ContextVar[tuple[Pace, ...]] = ContextVar(
    "paces_to_tell", default=()
)  # of the request that a task sends


def connector(access: Access, proxy: str, resolver: GuardedResolver) -> aiohttp.BaseConnector:
    """What opens connections; one that goes by a SOCKS proxy leaves names to the proxy, so that no private address is seen here."""
    context = access.ssl_context()
    if urlsplit(proxy).scheme in SOCKS:
        try:
            from aiohttp_socks import ProxyConnector
        except ImportError as missing:
            raise MissingExtra(
                "a SOCKS proxy needs the package aiohttp-socks: pip install 'upwell[socks]'"
            ) from missing
        plain = proxy.replace("socks5h://", "socks5://", 1).replace("socks4a://", "socks4://", 1)
        made: aiohttp.BaseConnector = ProxyConnector.from_url(plain, rdns=True, limit=0, ssl=context or True)
        return made
    if proxy:
        parts = yarl.URL(proxy)
        resolver.proxy = parts.host or "", parts.port
    return aiohttp.TCPConnector(resolver=resolver, limit=0, ttl_dns_cache=DNS_SECONDS, ssl=context or True)


class TellingRequest(aiohttp.ClientRequest):
    """A request that tells the paces it belongs to when it was sent.

    A thread that reads a page may hold up the loop between the decision to send and the sending, and a body is written by a task of its own: the
    paces are told two rounds of the loop later.
    """

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        answer = await super().send(conn)
        for pace in paces_to_tell.get():
            if pace.gap:
                self.loop.call_soon(self.loop.call_soon, pace.was_sent)
        return answer


def cookie_jar(access: Access) -> aiohttp.CookieJar:
    """The jar of a session with the user's cookies in it; sites at IP addresses may have some too."""
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
