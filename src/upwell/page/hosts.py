"""Hosts of addresses, as sites use them: `www.example.org` and `example.org` are one site."""

from urllib.parse import urlsplit

__all__ = ["leaves_site", "site_host"]


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
