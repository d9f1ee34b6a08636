"""Compare hosts of URLs: `www.example.org` and `example.org` are the same site."""

import re
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import quote, urlsplit, urlunsplit

__all__ = [
    "host_and_port",
    "is_loopback",
    "is_on_site",
    "is_same_host",
    "is_valid",
    "leaves_site",
    "percent_encode",
    "site_host",
    "without_login",
]

UNSAFE = re.compile(r"[\x00-\x20\x7f<>\"`{}|\\^]")


def site_host(url: str) -> str:
    """Return the host of a URL without "www.", with a non-default port (another port is another site); "" for a relative URL.

    >>> site_host("https://www.Example.org:443/search?q=1"), site_host("http://x:8080/"), site_host("/search?q=1")
    ('example.org', 'x:8080', '')
    """
    begin = "/".join(url.split("/", 3)[:3])  # scheme and host, in most URLs
    return _site_host(url if "?" in begin or "#" in begin else begin)


@lru_cache(maxsize=4096)
def _site_host(url: str) -> str:
    host, port = host_and_port(url)
    return host.removeprefix("www.") + ("" if port in (None, 80, 443) else f":{port}")


def host_and_port(url: str) -> tuple[str, int | None]:
    """Return host and port of a URL; an invalid port, such as 99999, is returned as 0.

    >>> host_and_port("http://X:99999/"), host_and_port("http://[::1]/"), host_and_port("http://[broken/")
    (('x', 0), ('::1', None), ('', None))
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "", None
    try:
        return host, parts.port
    except ValueError:
        return host, 0


def is_on_site(url: str, home: str) -> bool:
    """Return True if a URL belongs to the site of the home page: the same host, with or without `www.`, or a subdomain."""
    host, site = site_host(url), site_host(home)
    return bool(host) and (host == site or host.endswith(f".{site}"))


def is_same_host(target: str, url: str) -> bool:
    """Return True if `target` is an http(s) URL on the host of `url`."""
    return site_host(target) == site_host(url) and target.lower().startswith(("http://", "https://"))


def is_valid(url: str) -> bool:
    """Return True if a URL of a stranger can be parsed; `urlsplit`, `urljoin` and `urldefrag` raise ValueError for others.

    >>> is_valid("http://x/a"), is_valid("http://[::1/"), is_valid("http://a]b/")
    (True, False, False)
    """
    try:
        return bool(urlsplit(url))
    except ValueError:
        return False


def without_login(url: str) -> str:
    """Remove user name and password from a URL.

    >>> without_login("http://me:secret@x:8000/a?b=1@2"), without_login("http://x/a@b")
    ('http://x:8000/a?b=1@2', 'http://x/a@b')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if "@" in parts.netloc else url


def percent_encode(url: str) -> str:
    """Percent-encode spaces, quotes and non-ASCII characters of a URL; leave the rest unchanged.

    >>> percent_encode("http://x/a b?q=ü&r=%20"), percent_encode("http://x/a")
    ('http://x/a%20b?q=%C3%BC&r=%20', 'http://x/a')
    """
    if url.isascii() and not UNSAFE.search(url):
        return url
    parts = urlsplit(url)
    path, query = (quote(part, safe="%/:=&?~+!$,;'@()*[]") for part in (parts.path, parts.query))
    return urlunsplit(parts._replace(path=path, query=query))


def leaves_site(url: str, host: str) -> bool:
    """Return True if a link leads to a site other than `host` (a `site_host`); False if either host is unknown.

    >>> leaves_site("http://www.x/s", "x"), leaves_site("http://y/s", "x"), leaves_site("s", "x"), leaves_site("http://y/s", "")
    (False, True, False, False)
    """
    return bool(host) and site_host(url) not in (host, "")


@lru_cache(1024)
def is_loopback(host: str) -> bool:
    """Return True if a host, as written in a URL, is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
