"""Credentials and connection settings of the user: cookies, headers, password, token, proxy, certificates; secrets are never shown."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from upwell.errors import WrongUsage
from upwell.net.cookies import Cookie

if TYPE_CHECKING:
    import ssl

__all__ = ["REDACTED", "Access", "parse_header", "split_credentials"]

REDACTED = "***"
# Headers with credentials, hidden whoever set them; all headers given by the user are hidden too.
SECRET_HEADERS = frozenset(("authorization", "proxy-authorization", "cookie"))
MIN_HIDDEN_CHARS = 4  # shortest secret removed from messages; a shorter one could be any word
MIN_HIDDEN_IN_PAGES = 16  # shortest token removed from pages that repeat it; a shorter one could be a word of the page
SOCKS_SCHEMES = ("socks4", "socks4a", "socks5", "socks5h")
LOGIN_IN_URL = re.compile(r"//[^/\s@'\"]+@")
HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*)", re.S)  # RFC 9110 §5.1


@dataclass(frozen=True, kw_only=True)
class Access:
    """Credentials sent to the sites that the user named and to no other, and how to connect."""

    cookies: tuple[Cookie, ...] = ()
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    user: str = ""  # for HTTP Basic authentication
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)  # sent as "Authorization: Bearer …"
    proxy: str = field(default="", repr=False)  # http://, https:// or socks5:// URL; "": from the environment
    certificate: str = ""  # client certificate, a PEM file
    key: str = ""  # key of the certificate, if that file does not contain it
    ca: str = ""  # PEM file of authorities trusted in addition to those of the system

    def __post_init__(self) -> None:
        if self.proxy and urlsplit(self.proxy).scheme not in ("http", "https", *SOCKS_SCHEMES):
            raise WrongUsage("the proxy should be an address like http://host:3128 or socks5://host:1080")
        if self.token and self.user:
            raise WrongUsage("a token and a user are two ways to authenticate; give only one of them")
        for _, value in self.headers:
            if "\n" in value or "\r" in value:
                raise WrongUsage("a header must be on one line")

    @cached_property
    def site_headers(self) -> dict[str, str]:
        """Return the headers for the sites that the user named."""
        headers = dict(self.headers)
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        elif self.user:
            headers["Authorization"] = f"Basic {b64encode(f'{self.user}:{self.password}'.encode()).decode()}"
        return headers

    @property
    def kind(self) -> str:
        """Describe the kind of access without secrets; harvests with different access see different views of a site."""
        credentials = (
            self.user,
            self.token and "token",
            self.cookies and "cookies",
            self.certificate and "certificate",
        )
        return " ".join(str(part) for part in (*credentials, *sorted(name.lower() for name, _ in self.headers)) if part)

    # Hiding secrets

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        """Return the secrets, longest first."""
        authorization = self.site_headers.get("Authorization", "").partition(" ")[2]
        proxy_password = (urlsplit(self.proxy).password or "") if self.proxy else ""
        values = (value for _, value in self.headers)
        secrets = {self.token, self.password, authorization, proxy_password, unquote(proxy_password), *values}
        secrets.update(cookie.value for cookie in self.cookies)
        return tuple(sorted((secret for secret in secrets if len(secret) >= MIN_HIDDEN_CHARS), key=len, reverse=True))

    @property
    def has_credentials(self) -> bool:
        """Return True if there is anything that only the sites named by the user may get."""
        return bool(self.cookies or self.headers or self.user or self.token or self.certificate)

    @property
    def has_secrets(self) -> bool:
        """Return True if there is anything to hide."""
        return bool(self.cookies or self.headers or self.user or self.token or self.proxy)

    def hide(self, text: str) -> str:
        """Replace the secrets in a text."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return LOGIN_IN_URL.sub(f"//{REDACTED}@", text)  # also of a proxy that the environment names

    @cached_property
    def _long_tokens(self) -> tuple[str, ...]:
        """Return tokens too long to be in a page by accident; not cookies, which a form may have to send back."""
        tokens = {
            self.token,
            self.site_headers.get("Authorization", "").partition(" ")[2],
            *(v for _, v in self.headers),
        }
        return tuple(sorted((token for token in tokens if len(token) >= MIN_HIDDEN_IN_PAGES), key=len, reverse=True))

    def hide_in_page(self, body: bytes) -> bytes:
        """Replace the tokens in a page that repeats them."""
        for token in self._long_tokens:
            body = body.replace(token.encode(), REDACTED.encode())
        return body

    def hide_headers(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the headers of a request for the archive, with hidden secrets."""
        if not self.has_secrets:
            return list(headers)
        own = {name.lower() for name, _ in self.headers} | SECRET_HEADERS
        return [(name, REDACTED if name.lower() in own else value) for name, value in headers]

    def hide_in_answer(self, headers: dict[str, str]) -> dict[str, str]:
        """Return the headers of an answer without session cookies and repeated tokens."""
        if not self.has_secrets:
            return headers
        hidden = {
            name: self.hide_in_page(value.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
            for name, value in headers.items()
        }
        return hidden | ({"Set-Cookie": REDACTED} if "Set-Cookie" in headers else {})

    # Connecting

    def ssl_context(self, *, with_certificate: bool) -> ssl.SSLContext | None:
        """Return an SSL context with the user's authorities, and with the user's certificate or without; None if the defaults suffice."""
        certificate = self.certificate if with_certificate else ""
        if not (certificate or self.ca):
            return None
        import ssl  # here, because the command line creates an Access without connecting

        context = ssl.create_default_context()
        try:
            if self.ca:
                context.load_verify_locations(self.ca)
            if certificate:
                context.load_cert_chain(certificate, self.key or None, password=_no_password)
        except (OSError, ValueError) as error:
            name = self.ca if self.ca and not Path(self.ca).is_file() else self.certificate or self.ca
            raise WrongUsage(f"{name} cannot be used as a PEM certificate with its key ({error})") from error
        return context

    def proxy_for(self, url: str) -> str:
        """Return the proxy for a URL: the user's, else that of HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY; "" if there is none."""
        if self.proxy:
            return self.proxy
        from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined] # typeshed lacks it

        parts = urlsplit(url)
        proxies = getproxies_environment()
        if proxy_bypass_environment(parts.netloc, proxies):
            return ""
        proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
        return proxy if not proxy or "://" in proxy else f"http://{proxy}"

    # Browser

    def browser_proxy(self, url: str) -> dict[str, str] | None:
        """Return the proxy settings for playwright."""
        proxy = self.proxy_for(url)
        if not proxy:
            return None
        parts = urlsplit(proxy)
        scheme = "socks5" if parts.scheme == "socks5h" else parts.scheme
        settings = {"server": f"{scheme}://{parts.hostname}:{parts.port or 80}", "bypass": "<-loopback>"}
        if parts.username:
            settings |= {"username": unquote(parts.username), "password": unquote(parts.password or "")}
        return settings

    def browser_state(self, origins: Iterable[tuple[str, str, int]]) -> dict[str, Any] | None:
        """Return the cookies that the scripts of the user's sites may see; the Fetcher adds the credentials to the requests of pages."""
        cookies = [
            _for_browser(replace(cookie, secure=True) if scheme == "https" else cookie)
            for scheme, host, _ in origins
            for cookie in self.cookies
            if cookie.is_for(host)
        ]
        return {"cookies": cookies, "origins": []} if cookies else None


def parse_header(text: str) -> tuple[str, str]:
    """Parse a header given on the command line as `Name: value`.

    >>> parse_header("X-Key: abc:d")
    ('X-Key', 'abc:d')
    """
    match = HEADER.fullmatch(text.strip())
    if match is None:
        raise WrongUsage(f"--header {text.partition(':')[0][:20]}…: it should be 'Name: value'")
    return match[1], match[2]


def split_credentials(url: str, access: Access) -> tuple[str, Access]:
    """Move user and password from a URL to the access.

    >>> url, access = split_credentials("https://ann:s%40lt@example.org/x", Access())
    >>> url, access.user, access.password
    ('https://example.org/x', 'ann', 's@lt')
    """
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url, access
    host = parts.netloc.rpartition("@")[2]
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return urlunsplit(parts._replace(netloc=host)), replace(access, user=user, password=password)


def _for_browser(cookie: Cookie) -> dict[str, Any]:
    return {
        "name": cookie.name,
        "value": cookie.value,
        "domain": f".{cookie.domain}" if cookie.for_subdomains else cookie.domain,
        "path": cookie.path,
        "secure": cookie.secure,
        "expires": cookie.expires or -1,
        "httpOnly": cookie.http_only,
        "sameSite": "Lax",
    }


def _no_password() -> str:
    """Raise an error when OpenSSL asks for the password of a key, instead of asking on the terminal."""
    raise WrongUsage("the key of the certificate is encrypted; write it without a password first (openssl rsa -in …)")
