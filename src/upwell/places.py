"""Sites as users name them: URLs with or without a scheme, and files with one site per line."""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from upwell.errors import WrongUsage
from upwell.urls.hosts import host_and_port, is_loopback

__all__ = ["address_of", "addresses_to_try", "is_list", "listed_sites", "shown", "sites_of"]

SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.I)
FILE_ENDINGS = (".txt", ".csv", ".tsv", ".list", ".lst", ".json", ".jsonl", ".html", ".htm")  # not top-level domains
HOST = re.compile(r"(?:[^@/\s]+@)?(?:localhost|[\w-]+(?:\.[\w-]+)+|\[[0-9a-f:.]+\])(?::\d+)?", re.I)


def sites_of(places: Iterable[str]) -> list[str]:
    """Return the distinct sites of some places: a place is a URL, or a file with one URL per line (lines with # are comments)."""
    sites: list[str] = []
    for place in places:
        if not is_list(place):
            sites.append(place)
            continue
        sites += [line for _, line in listed_sites(place)]
    if not sites:
        raise WrongUsage("there is no address to harvest; name one, or a file with one per line")
    return list(dict.fromkeys(sites))


def is_list(place: str) -> bool:
    """Return True if a place is a file with one site per line."""
    return not SCHEME.match(place) and Path(place).is_file()


def listed_sites(file: str) -> list[tuple[int, str]]:
    """Return the sites of a file, each with the number of its line."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise WrongUsage(f"{file} cannot be read ({error.strerror})") from error
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def shown(place: str) -> str:
    """Return a place without credentials, for messages.

    >>> shown("https://ann:secret@example.org/")
    'https://***@example.org/'
    """
    return re.sub(r"^([a-z][a-z0-9+.-]*://)?[^/@\s]*@", r"\1***@", place, flags=re.I)


def address_of(place: str) -> str:
    """Return the URL to try first."""
    return addresses_to_try(place)[0]


def addresses_to_try(place: str) -> tuple[str, ...]:
    """Return the URLs to try: the URL itself; without a scheme, HTTPS and then HTTP, or only HTTP for this machine.

    >>> addresses_to_try("example.org"), addresses_to_try("localhost:8000/search")
    (('https://example.org/', 'http://example.org/'), ('http://localhost:8000/search',))
    """
    if SCHEME.match(place):
        name, port = host_and_port(place)
        if not place.lower().startswith(("http://", "https://")) or not name or port == 0:
            raise WrongUsage(
                f"{shown(place)!r} is not an address of a web site; it should begin with http:// or https://, then a host, "
                "with a port up to 65535 if any"
            )
        parts = urlsplit(place)
        return (place if parts.path or parts.query else f"{place}/",)
    host, slash, path = place.partition("/")
    if host.lower().endswith(FILE_ENDINGS) or place.lower().endswith(FILE_ENDINGS) or not HOST.fullmatch(host):
        raise WrongUsage(
            f"{shown(place)!r} is neither a file nor an address: there is no such file, and an address begins with http:// or https://, "
            "or is a host like example.org"
        )
    rest = f"{host}/{path if slash else ''}"
    name, port = host_and_port(f"//{rest}")
    if not name or port == 0:
        raise WrongUsage(f"{shown(place)!r} is not an address of a web site: a port is a number up to 65535")
    return (f"http://{rest}",) if is_loopback(name) else (f"https://{rest}", f"http://{rest}")
