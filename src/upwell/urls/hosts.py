"""Compare hosts of URLs: `www.example.org` and `example.org` are the same site."""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import quote, urlsplit, urlunsplit

__all__ = [
    "host_and_port",
    "is_localhost",
    "is_loopback",
    "is_on_site",
    "is_private_address",
    "is_public",
    "is_same_host",
    "is_valid",
    "leaves_site",
    "origin_of",
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


def origin_of(url: str) -> tuple[str, str, int]:
    """Return the origin of a URL: scheme, host and port (RFC 6454 §4); without a scheme HTTPS is meant, and HTTP for this machine.

    >>> origin_of("http://Example.org/x"), origin_of("example.org:8443"), origin_of("localhost:8000")
    (('http', 'example.org', 80), ('https', 'example.org', 8443), ('http', 'localhost', 8000))
    """
    host, port = host_and_port(url if "://" in url else f"//{url}")
    scheme = url.partition("://")[0].lower() if "://" in url else "http" if is_loopback(host) else "https"
    return scheme, host, port if port is not None else 80 if scheme == "http" else 443


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


def is_private_address(host: str) -> bool:
    """Return True if a host, as written in a URL, is itself an address in a private network or this machine; False for other names.

    >>> [is_private_address(host) for host in ("10.0.0.1", "localhost", "a.localhost", "::1", "93.184.216.34", "example.org")]
    [True, True, True, True, False, False]
    """
    try:
        return is_localhost(host) or not is_public(host)
    except ValueError:
        return False


def is_localhost(host: str) -> bool:
    """Return True for the names that always mean this machine (RFC 6761 §6.3)."""
    return host == "localhost" or host.endswith(".localhost")
