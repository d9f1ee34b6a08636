"""Access control of the web pages.

- Requests must name this server as their host, which prevents DNS rebinding.
- Every request needs the token, because other users of the machine can connect to loopback too.
- Requests that change something need it in the form or a header, and must not come from a page of another origin.
- Below /api/ the tokens of `upwell tokens` are accepted too, in the header `Authorization`; what they allow is checked by each endpoint.
- Pages of other origins can use the API only if the user names their origin (CORS).
- Pages may load and run only what this server sends (CSP), and other pages cannot frame them.
"""

import hmac
import json
import socket
from collections.abc import Sequence
from http.cookies import SimpleCookie
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from upwell.errors import WrongUsage
from upwell.urls.hosts import is_valid
from upwell.web.tokens import ApiToken, TokenStore

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
API_PREFIX = "/api/"


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

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str,
        port: int,
        token: str,
        tokens: TokenStore | None = None,
        origins: Sequence[str] = (),
    ) -> None:
        self.app, self.host, self.port, self.token = app, host, port, token
        self.tokens, self.origins = tokens, frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        is_api = scope["path"].startswith(API_PREFIX)
        origin = headers.get("origin", "")
        if is_api and origin in self.origins:
            send = _with_cors(send, origin)
            if scope["method"] == "OPTIONS":
                await Response(status_code=204)(scope, receive, send)
                return

        async def refuse(status: int, message: str) -> None:
            await _refusal_response(status, message, is_api)(scope, receive, send)

        if refusal := self._refusal(scope, headers, is_api):
            await refuse(403, refusal)
            return
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = query.get("token", [""])[0]
        client = await anyio.to_thread.run_sync(self._client, headers) if is_api and self.tokens else None
        if scope["method"] in ("GET", "HEAD"):
            if given and self._is_token(given):
                await self._with_cookie(scope, query, receive, send)
                return
            if client is None and not self._has_token(headers):
                what = (
                    "The API needs a token: `Authorization: Bearer …`"
                    if is_api
                    else "This page needs a token: open the address"
                )
                end = (
                    ", printed by `upwell serve`, or one made by `upwell tokens add`.\n"
                    if is_api
                    else " printed by `upwell serve`.\n"
                )
                await refuse(401, what + end)
                return
        else:
            body = await _body(receive)
            if body is None:
                await refuse(413, "The request body is too large.\n")
                return
            fields = _fields(body, headers.get("content-type", "")) if is_api else _form(body)
            if fields is None:
                await refuse(400, "The request body is neither a form nor a flat JSON object.\n")
                return
            scope["form"] = fields
            # a cookie alone does not prove intent (CSRF); forms on our own pages contain the token
            if client is None and not (
                self._is_token(scope["form"].get("token", "")) or self._is_token(given) or self._in_header(headers)
            ):
                await refuse(
                    403, "This request needs the token, as the field `token` or the header `Authorization: Bearer …`.\n"
                )
                return
        scope["upwell_token"] = client
        await self.app(scope, receive, _with_headers(send))

    def _client(self, headers: dict[str, str]) -> ApiToken | None:
        """Return the API token of the header, or None."""
        kind, _, secret = headers.get("authorization", "").partition(" ")
        return self.tokens.find(secret.strip()) if self.tokens is not None and kind.lower() == "bearer" else None

    def _refusal(self, scope: Scope, headers: dict[str, str], is_api: bool) -> str:
        """Return why a request is refused; "" if it is accepted."""
        if not self._is_our_name(headers.get("host", "")):
            return "Unknown host name for this server.\n"
        origin = headers.get("origin", "")
        if is_api and origin in self.origins:
            return ""
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


def _refusal_response(status: int, message: str, is_api: bool) -> Response:
    """Return a refusal as text, or as problem details (RFC 9457) in the API."""
    if not is_api:
        return PlainTextResponse(message, status)
    titles = {400: "Invalid request", 401: "Token needed", 403: "Not allowed", 413: "Too large"}
    body = {"type": "about:blank", "title": titles[status], "status": status, "detail": message.strip()}
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse(body, status, media_type="application/problem+json", headers=headers)


def _form(body: bytes) -> dict[str, str]:
    """Return the fields of a form."""
    return {
        name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True).items()
    }


def _fields(body: bytes, content_type: str) -> dict[str, str] | None:
    """Return the fields of a form or of a flat JSON object; None if the body is neither."""
    if content_type.partition(";")[0].strip().lower() != "application/json":
        return _form(body)
    try:
        loaded = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(loaded, dict) or any(isinstance(value, dict | list) for value in loaded.values()):
        return None
    return {
        name: json.dumps(value) if isinstance(value, bool) else str(value)
        for name, value in loaded.items()
        if value is not None
    }


def _with_cors(send: Send, origin: str) -> Send:
    """Let pages of an origin that the user named read the answers of the API."""

    async def send_with_cors(message: Message) -> None:
        if message["type"] == "http.response.start":
            allowed = (
                (b"access-control-allow-origin", origin.encode("latin-1", "replace")),
                (b"access-control-allow-headers", b"authorization, content-type, if-none-match"),
                (b"access-control-allow-methods", b"GET, POST"),
                (b"access-control-expose-headers", b"etag, location"),
                (b"vary", b"Origin"),
            )
            message = {**message, "headers": [*message.get("headers", []), *allowed]}
        await send(message)

    return send_with_cors


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
