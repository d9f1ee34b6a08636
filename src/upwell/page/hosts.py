"""Hosts of addresses, as sites use them: `www.example.org` and `example.org` are one site."""

from urllib.parse import urlsplit

__all__ = ["host_and_port", "leaves_site", "site_host"]


def site_host(url: str) -> str:
    """The host of an address without "www.", with its port if it is not the usual one: another port is another site. "" if it is relative.

    >>> site_host("https://www.Example.org:443/search?q=1"), site_host("http://x:8080/"), site_host("/search?q=1")
    ('example.org', 'x:8080', '')
    """
    host, port = host_and_port(url)
    return host.removeprefix("www.") + ("" if port in (None, 80, 443) else f":{port}")


def host_and_port(url: str) -> tuple[str, int | None]:
    """Host and port of an address; a port that is none, as 99999, counts as 0.

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


def leaves_site(url: str, host: str) -> bool:
    """Whether a link leads to another site than `host` (a `site_host`); never where either of the two hosts is unknown.

    >>> leaves_site("http://www.x/s", "x"), leaves_site("http://y/s", "x"), leaves_site("s", "x"), leaves_site("http://y/s", "")
    (False, True, False, False)
    """
    return bool(host) and site_host(url) not in (host, "")
