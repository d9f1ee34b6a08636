"""Access control of the web pages.

- Requests must name this server as their host, which prevents DNS rebinding.
- Every request needs the token, because other users of the machine can connect to loopback too.
- Requests that change something need it in the form or a header, and must not come from a page of another origin.
- Pages may load and run only what this server sends (CSP), and other pages cannot frame them.
"""

import hmac
import socket
from http.cookies import SimpleCookie
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from upwell.errors import WrongUsage
from upwell.urls.hosts import is_valid

__all__ = ["CSP", "MAX_BODY_BYTES", "Guard", "check_exposure", "is_local_name"]

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
COOKIE = "upwell_token"
MAX_BODY_BYTES = 100_000  # size of an accepted form body


def is_local_name(host: str) -> bool:
    """Return True if a host is this machine, whatever the network says.

    >>> [is_local_name(host) for host in ("localhost", "127.0.0.1", "::1", "10.0.0.1", "localhost.evil.org")]
    [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, token: str) -> None:
    """Raise WrongUsage if other machines could reach the pages without a token."""
    if not token and not is_local_name(host):
        raise WrongUsage(f"--host {host} can be reached from other machines; set a secret with --token")


class Guard:
    """ASGI middleware that enforces the rules above."""

    def __init__(self, app: ASGIApp, *, host: str, port: int, token: str) -> None:
        self.app, self.host, self.port, self.token = app, host, port, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal:
            await PlainTextResponse(refusal, 403)(scope, receive, send)
            return
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = query.get("token", [""])[0]
        if scope["method"] in ("GET", "HEAD"):
            if given and self._is_token(given):
                await self._with_cookie(scope, query, receive, send)
                return
            if not self._has_token(headers):
                message = "This page needs a token: open the address printed by `upwell serve`.\n"
                await PlainTextResponse(message, 401)(scope, receive, send)
                return
        else:
            body = await _body(receive)
            if body is None:
                await PlainTextResponse("The request body is too large.\n", 413)(scope, receive, send)
                return
            scope["form"] = {
                name: values[-1]
                for name, values in parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True).items()
            }
            # a cookie alone does not prove intent (CSRF); forms on our own pages contain the token
            if not (
                self._is_token(scope["form"].get("token", "")) or self._is_token(given) or self._in_header(headers)
            ):
                message = (
                    "This request needs the token, as the field `token` or the header `Authorization: Bearer …`.\n"
                )
                await PlainTextResponse(message, 403)(scope, receive, send)
                return
        await self.app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> str:
        """Return why a request is refused; "" if it is accepted."""
        if not self._is_our_name(headers.get("host", "")):
            return "Unknown host name for this server.\n"
        origin = headers.get("origin", "")
        is_ours = not origin or (is_valid(origin) and urlsplit(origin).netloc == headers.get("host"))
        is_cross_site = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if scope["method"] not in ("GET", "HEAD") and (not is_ours or is_cross_site):
            return "Requests from pages of other sites are refused.\n"
        return ""

    def _is_our_name(self, netloc: str) -> bool:
        try:
            parts = urlsplit(f"//{netloc}")
            host, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if is_local_name(self.host):
            return port == self.port and is_local_name(host)
        return host in (self.host, "localhost", socket.gethostname().lower()) or _is_address(host)

    def _is_token(self, given: str) -> bool:
        return bool(given) and hmac.compare_digest(given.encode(), self.token.encode())

    def _in_header(self, headers: dict[str, str]) -> bool:
        kind, _, value = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and self._is_token(value.strip())

    def _has_token(self, headers: dict[str, str]) -> bool:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        return self._in_header(headers) or (cookie is not None and self._is_token(cookie.value))

    async def _with_cookie(self, scope: Scope, query: dict[str, list[str]], receive: Receive, send: Send) -> None:
        """Store the token of a URL in a cookie, and redirect to the URL without it."""
        from urllib.parse import quote, urlencode

        rest = [(name, value) for name, values in query.items() if name != "token" for value in values]
        location = quote("/" + scope["path"].lstrip("/")) + (f"?{urlencode(rest)}" if rest else "")
        response = RedirectResponse(location, 303)
        response.set_cookie(COOKIE, self.token, httponly=True, samesite="strict", max_age=30 * 24 * 3600)
        await response(scope, receive, send)


def _is_address(host: str) -> bool:
    """Return True if a host is an IP address: DNS rebinding always uses a name."""
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request; None if it is too large."""
    body: bytes = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if not message.get("more_body"):
            return body


def _with_headers(send: Send) -> Send:
    """Add the security headers; a page's own policy is kept."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            names = {name.lower() for name, _ in headers}
            if b"content-security-policy" not in names:
                headers.append((b"content-security-policy", CSP.encode()))
            message = {**message, "headers": [*headers, *HEADERS]}
        await send(message)

    return send_with_headers
