"""What a person has to be let in: cookies, headers, a password, a token, a proxy, certificates. None of it is ever shown."""

from __future__ import annotations

import os
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

__all__ = ["HIDDEN", "Access", "parse_header", "session_file", "split_credentials"]

HIDDEN = "***"
# Headers that let somebody in, whoever set them; a user's own headers are hidden besides.
SECRET_HEADERS = frozenset(("authorization", "proxy-authorization", "cookie"))
MIN_HIDDEN_CHARS = 4  # of a secret that is cut out of messages; a shorter one could be any word
MIN_HIDDEN_IN_PAGES = 16  # of a token that is cut out of pages which repeat it; a shorter one could be a word of theirs
SOCKS = ("socks4", "socks4a", "socks5", "socks5h")
HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*)", re.S)  # RFC 9110 §5.1


@dataclass(frozen=True, kw_only=True)
class Access:
    """What is sent along to the site that the user named, and to no other; and the way there."""

    cookies: tuple[Cookie, ...] = ()
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    user: str = ""  # for HTTP Basic authentication
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)  # sent as "Authorization: Bearer …"
    proxy: str = field(default="", repr=False)  # http://, https:// or socks5:// address; "": as the environment says
    certificate: str = ""  # of the client: a PEM file
    key: str = ""  # of the certificate, where that file does not hold it
    ca: str = ""  # a PEM file of authorities that are trusted besides those of the system

    def __post_init__(self) -> None:
        if self.proxy and urlsplit(self.proxy).scheme not in ("http", "https", *SOCKS):
            raise WrongUsage("the proxy should be an address like http://host:3128 or socks5://host:1080")
        if self.token and self.user:
            raise WrongUsage("a token and a user are two ways to be let in; give one of them")
        for _, value in self.headers:
            if "\n" in value or "\r" in value:
                raise WrongUsage("a header has one line")

    @cached_property
    def site_headers(self) -> dict[str, str]:
        """The headers for the site."""
        headers = dict(self.headers)
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        elif self.user:
            headers["Authorization"] = f"Basic {b64encode(f'{self.user}:{self.password}'.encode()).decode()}"
        return headers

    @property
    def kind(self) -> str:
        """Whose view of a site this is, without secrets: what anybody sees, or what a user or the holder of something sees."""
        has = (self.user, self.token and "token", self.cookies and "cookies", self.certificate and "certificate")
        return " ".join(str(part) for part in (*has, *sorted(name.lower() for name, _ in self.headers)) if part)

    # -- hiding ----------------------------------------------------------------------------------------------------------

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        """What must not be shown, the longest first."""
        authorization = self.site_headers.get("Authorization", "").partition(" ")[2]
        of_proxy = (urlsplit(self.proxy).password or "") if self.proxy else ""
        values = (value for _, value in self.headers)
        found = {self.token, self.password, authorization, of_proxy, unquote(of_proxy), *values}
        found.update(cookie.value for cookie in self.cookies)
        return tuple(sorted((secret for secret in found if len(secret) >= MIN_HIDDEN_CHARS), key=len, reverse=True))

    @property
    def has_secrets(self) -> bool:
        """Whether there is anything to hide."""
        return bool(self.cookies or self.headers or self.user or self.token or self.proxy)

    def hide(self, text: str) -> str:
        """A text without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text

    @cached_property
    def _long_tokens(self) -> tuple[str, ...]:
        """Tokens and headers that no page or header of an answer has by accident. Cookies are not among them: a form may have to send one back."""
        tokens = {
            self.token,
            self.site_headers.get("Authorization", "").partition(" ")[2],
            *(v for _, v in self.headers),
        }
        return tuple(sorted((token for token in tokens if len(token) >= MIN_HIDDEN_IN_PAGES), key=len, reverse=True))

    def hide_in_page(self, body: bytes) -> bytes:
        """A page without the tokens that it repeats."""
        for token in self._long_tokens:
            body = body.replace(token.encode(), HIDDEN.encode())
        return body

    def hide_headers(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """The headers of a request as the archive may have them."""
        if not self.has_secrets:
            return list(headers)
        own = {name.lower() for name, _ in self.headers} | SECRET_HEADERS
        return [(name, HIDDEN if name.lower() in own else value) for name, value in headers]

    def hide_in_answer(self, headers: dict[str, str]) -> dict[str, str]:
        """The headers of an answer, without the session that it may renew and without the tokens that it repeats."""
        if not self.has_secrets:
            return headers
        hidden = {
            name: self.hide_in_page(value.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
            for name, value in headers.items()
        }
        return hidden | ({"Set-Cookie": HIDDEN} if "Set-Cookie" in headers else {})

    # -- the way there ---------------------------------------------------------------------------------------------------

    def ssl_context(self) -> ssl.SSLContext | None:
        """The system's authorities and those of the user, with the user's certificate; None: just the system's."""
        if not (self.certificate or self.ca):
            return None
        import ssl  # here and below, because the command line makes an Access without connecting

        context = ssl.create_default_context()
        try:
            if self.ca:
                context.load_verify_locations(self.ca)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key or None, password=_no_password)
        except (OSError, ValueError) as error:
            name = self.ca if self.ca and not Path(self.ca).is_file() else self.certificate or self.ca
            raise WrongUsage(f"{name} cannot be used as a PEM certificate with its key ({error})") from error
        return context

    def proxy_for(self, url: str) -> str:
        """The proxy for an address: the user's, else what HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY say; "": none."""
        if self.proxy:
            return self.proxy
        from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined] # typeshed lacks it

        parts = urlsplit(url)
        proxies = getproxies_environment()
        if proxy_bypass_environment(parts.netloc, proxies):
            return ""
        found = proxies.get(parts.scheme) or proxies.get("all") or ""
        return found if not found or "://" in found else f"http://{found}"

    # -- the browser -----------------------------------------------------------------------------------------------------

    def browser_proxy(self, url: str) -> dict[str, str] | None:
        """The proxy as playwright takes it."""
        proxy = self.proxy_for(url)
        if not proxy:
            return None
        parts = urlsplit(proxy)
        scheme = "socks5" if parts.scheme == "socks5h" else parts.scheme
        found = {"server": f"{scheme}://{parts.hostname}:{parts.port or 80}", "bypass": "<-loopback>"}
        if parts.username:
            found |= {"username": unquote(parts.username), "password": unquote(parts.password or "")}
        return found

    def browser_state(self) -> dict[str, Any] | None:
        """The cookies as a page in the browser may see them; all that it asks for is sent by the Fetcher, which lets it in."""
        return {"cookies": [_for_browser(cookie) for cookie in self.cookies], "origins": []} if self.cookies else None


def parse_header(text: str) -> tuple[str, str]:
    """A header as the command line takes it: `Name: value`.

    >>> parse_header("X-Key: abc:d")
    ('X-Key', 'abc:d')
    """
    found = HEADER.fullmatch(text.strip())
    if found is None:
        raise WrongUsage(f"--header {text.partition(':')[0][:20]}…: it should be 'Name: value'")
    return found[1], found[2]


def split_credentials(url: str, access: Access) -> tuple[str, Access]:
    """An address without the user and password that may stand in it, and the access with them.

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
        "httpOnly": False,
        "sameSite": "Lax",
    }


def _no_password() -> str:
    """Asked for by OpenSSL where a key is encrypted: it must not ask on the terminal."""
    raise WrongUsage("the key of the certificate is encrypted; write it without a password first (openssl rsa -in …)")


def session_file(host: str) -> Path:
    """Where the session of a person who logged in at a host is kept: outside of all harvests, readable by its owner only."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "upwell" / "sessions" / f"{host}.txt"
