"""Hosts of addresses, as sites use them: `www.example.org` and `example.org` are one site."""

from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

__all__ = ["is_loopback", "leaves_site", "site_host"]


def site_host(url: str) -> str:
    """The host of an address without "www." and without its port; "" for a relative address.

    >>> site_host("https://www.Example.org:8080/search?q=1"), site_host("/search?q=1")
    ('example.org', '')
    """
    return (urlsplit(url).hostname or "").removeprefix("www.")


def leaves_site(url: str, host: str) -> bool:
    """Whether a link leads to another site than `host` (a `site_host`); never where either of the two hosts is unknown.

    >>> leaves_site("http://www.x/s", "x"), leaves_site("http://y/s", "x"), leaves_site("s", "x"), leaves_site("http://y/s", "")
    (False, True, False, False)
    """
    return bool(host) and site_host(url) not in (host, "")


@lru_cache(1024)
def is_loopback(host: str) -> bool:
    """Whether a host, as written in a URL, is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
