"""Who may see and change what.

- Only requests that name this server as their host are answered: a page elsewhere cannot reach it under a name of its own (DNS rebinding).
- What changes something needs the token, and must not come from a page of another origin.
- On other addresses than loopback everything needs the token.
- Pages may load and run only what this server sends (CSP), and no other page may frame them.
"""

import hmac
import socket
from http.cookies import SimpleCookie
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from upwell.errors import WrongUsage

__all__ = ["CSP", "MAX_BODY_BYTES", "Guard", "check_reach", "is_local_name"]

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
MAX_BODY_BYTES = 100_000  # of a form that is sent here


def is_local_name(host: str) -> bool:
    """Whether a host is this machine itself, whatever the network says.

    >>> [is_local_name(host) for host in ("localhost", "127.0.0.1", "::1", "10.0.0.1", "localhost.evil.org")]
    [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_reach(host: str, token: str) -> None:
    """Raises WrongUsage where others could reach the pages and no token keeps them out."""
    if not token and not is_local_name(host):
        raise WrongUsage(f"--host {host}: others could reach it; give a secret with --token")


class Guard:
    """Stands before the pages."""

    def __init__(self, app: ASGIApp, *, host: str, port: int, token: str, is_open: bool) -> None:
        self.app, self.host, self.port, self.token = app, host, port, token
        self.is_open = is_open  # whether pages may be seen without the token

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
            if not self.is_open and not self._has_token(headers):
                said = "This page needs its token: open the address that `upwell serve` has printed.\n"
                await PlainTextResponse(said, 401)(scope, receive, send)
                return
        else:
            body = await _body(receive)
            if body is None:
                await PlainTextResponse("That is too much.\n", 413)(scope, receive, send)
                return
            scope["form"] = {
                name: values[-1]
                for name, values in parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True).items()
            }
            # a cookie alone is no proof that the person meant it; the form on our own page has the token in it
            if not (
                self._is_token(scope["form"].get("token", "")) or self._is_token(given) or self._in_header(headers)
            ):
                said = (
                    "This needs the token: send it as the field `token`, or as the header `Authorization: Bearer …`.\n"
                )
                await PlainTextResponse(said, 403)(scope, receive, send)
                return
        await self.app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> str:
        """Why a request is not answered at all; "" where it is."""
        if not self._is_our_name(headers.get("host", "")):
            return "This server is not known by that name.\n"
        origin = headers.get("origin", "")
        is_ours = not origin or urlsplit(origin).netloc == headers.get("host")
        came_from_elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if scope["method"] not in ("GET", "HEAD") and (not is_ours or came_from_elsewhere):
            return "A page of another site cannot do this.\n"
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
        """Keeps the token of an address in a cookie, and leads to the address without it."""
        from urllib.parse import quote, urlencode

        rest = [(name, value) for name, values in query.items() if name != "token" for value in values]
        where = quote("/" + scope["path"].lstrip("/")) + (f"?{urlencode(rest)}" if rest else "")
        answer = RedirectResponse(where, 303)
        answer.set_cookie(COOKIE, self.token, httponly=True, samesite="strict", max_age=30 * 24 * 3600)
        await answer(scope, receive, send)


def _is_address(host: str) -> bool:
    """Whether a host is an address and no name: what a page elsewhere calls us is always a name (DNS rebinding)."""
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None where it is too long."""
    body: bytes = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if not message.get("more_body"):
            return body


def _with_headers(send: Send) -> Send:
    """Adds the headers that keep pages to themselves; a page that brings its own policy keeps it."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            names = {name.lower() for name, _ in headers}
            if b"content-security-policy" not in names:
                headers.append((b"content-security-policy", CSP.encode()))
            message = {**message, "headers": [*headers, *HEADERS]}
        await send(message)

    return sending
