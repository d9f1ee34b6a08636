"""Hosts of addresses, as sites use them: `www.example.org` and `example.org` are one site."""

from urllib.parse import urlsplit

__all__ = ["has_same_origin", "leaves_site", "site_host"]


def site_host(url: str) -> str:
    """The host of an address without "www." and without its port; "" for a relative address.

    >>> site_host("https://www.Example.org:8080/search?q=1"), site_host("/search?q=1")
    ('example.org', '')
    """
    return (urlsplit(url).hostname or "").removeprefix("www.")


def has_same_origin(url: str, other: str) -> bool:
    """Whether two addresses belong to one server: the same host, with or without "www.", and the same port, whatever the scheme's is.

    >>> has_same_origin("http://www.x/a", "https://x/b"), has_same_origin("http://x:8000/", "http://x/"), has_same_origin("http://x:99999/", "http://x/")
    (True, False, False)
    """
    try:
        ports = [None if port in (80, 443) else port for port in (urlsplit(url).port, urlsplit(other).port)]
        return ports[0] == ports[1] and site_host(url) == site_host(other)
    except ValueError:  # a port that is no port, a broken IPv6 host
        return False


def leaves_site(url: str, host: str) -> bool:
    """Whether a link leads to another site than `host` (a `site_host`); never where either of the two hosts is unknown.

    >>> leaves_site("http://www.x/s", "x"), leaves_site("http://y/s", "x"), leaves_site("s", "x"), leaves_site("http://y/s", "")
    (False, True, False, False)
    """
    return bool(host) and site_host(url) not in (host, "")
