"""The arguments of an address, wherever they stand in it: in the query string, in the path, in matrix parameters, in the fragment.

    argument   a name with a value: `sort=4`, `;page=2`, `/page/2`, `#!/q=gps`
    place      what remains of an address without its arguments: host and path

Entity §6.3.1 ("query segments"); departs from it: arguments outside the query string count too.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote, unquote_plus, urlsplit

from upwell.page.hosts import site_host

__all__ = ["Address", "canonical", "numbers", "pairs", "split"]

Pair = tuple[str, str]
NUMBER = re.compile(r"\d{1,9}")
WORD = re.compile(r"[^\W\d_]")
DIGIT_STEP = re.compile(r"/\d+(?:/|$)")
PARTS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Address:
    """An address taken apart: where it leads, and what it says there, in order."""

    place: str
    arguments: tuple[Pair, ...]


def split(url: str, query: str = "") -> Address:
    """Takes an address apart; `query` finds the query where it is a step of the path.

    >>> split("http://x/s;lang=de/page/2?q=gps+maps&sort=4;from=7#top").arguments
    (('lang', 'de'), ('/page', '2'), ('q', 'gps maps'), ('sort', '4'), ('from', '7'))
    >>> split("http://x/search/gps/brand/acme", "gps")
    Address(place='x/search/*/brand/*', arguments=(('/search', 'gps'), ('/brand', 'acme')))
    """
    try:
        parts = urlsplit(url)
        host = site_host(url) + (f":{parts.port}" if parts.port not in (None, 80, 443) else "")
    except ValueError:  # a port that is no number, a broken IPv6 host: such an address is only itself
        return Address(url, ())
    path, found = _steps(parts.path, query)
    found += pairs(parts.query)
    if parts.fragment.startswith(("!", "/", "?")) or "=" in parts.fragment:
        found += pairs(parts.fragment.lstrip("!/?"))
    return Address(host + path, tuple(found))


def pairs(text: str) -> list[Pair]:
    """The arguments of a query string, parted by `&` or `;`, in order, repeated ones too.

    >>> pairs("a=1;b=x+y&&c&a=%C3%BC&b=%E4")
    [('a', '1'), ('b', 'x y'), ('c', ''), ('a', 'ü'), ('b', 'ä')]
    """
    found = []
    if ";" in text:
        text = text.replace("&amp;", "&").replace(";", "&")
    for part in text.removeprefix("?").split("&"):
        if part:
            name, _, value = part.partition("=")
            found.append((_plain(name), _plain(value)))
    return found


def _plain(text: str) -> str:
    """A name or value as text: UTF-8 where it is that, else Latin-1, which many old sites send."""
    if "%" not in text and "+" not in text:
        return text
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        return unquote_plus(text, encoding="latin-1")


def _steps(path: str, query: str) -> tuple[str, list[Pair]]:
    """A path with its arguments taken out: matrix parameters, numbers after a word, and the query with what follows it."""
    kept: list[str] = []
    found: list[Pair] = []
    asked = " ".join(query.lower().split())
    if not asked and ";" not in path and not DIGIT_STEP.search(path):
        return path, found
    inside = False  # behind the query: words come in twos, name and value
    for step in path.split("/"):
        name, *matrix = step.split(";")
        found += [pair for part in matrix for pair in pairs(part)]
        text, before = _plain(name), kept[-1] if kept else ""
        is_query = bool(asked) and " ".join(text.lower().replace("-", " ").split()) == asked
        if before and before != "*" and (is_query or inside or (NUMBER.fullmatch(text) and WORD.search(before))):
            found.append((f"/{before}", text))
            kept.append("*")
        else:
            kept.append(name)
        inside = inside or is_query
    return "/".join(kept), found


def numbers(url: str) -> dict[str, int]:
    """The whole numbers of an address by what they stand in: the argument's name, or the step of the path around them.

    >>> numbers("http://x/list/page/3?start=20&q=4x4") == {"x/list/page/#": 3, "start": 20}
    True
    >>> numbers("http://x/news/index2.html")
    {'x/news/index#.html': 2}
    """
    parts = urlsplit(url)
    found: dict[str, int] = {}
    before = site_host(url)
    for step in parts.path.split("/")[1:]:
        shape = PARTS.sub("#", step)
        digits = PARTS.findall(step)
        before = f"{before}/{shape}"
        if digits and NUMBER.fullmatch(digits[-1]):
            found[before] = int(digits[-1])
    for name, value in pairs(parts.query):
        if NUMBER.fullmatch(value):
            found[name] = int(value)
    return found


def canonical(address: Address, irrelevant: Collection[str] = ()) -> str:
    """One text for all addresses that ask for the same: irrelevant arguments left out, the others in one order and one encoding.

    Empty values say nothing and are left out. Repeated arguments keep all their values (`tag=a&tag=b` asks for both).

    >>> canonical(split("http://x/s?b=2&a=%7E&page=3&c="), ["page"]) == canonical(split("http://x/s?a=~&page=9&b=2"), ["page"])
    True
    """
    kept = sorted(
        (name, value.strip()) for name, value in address.arguments if name not in irrelevant and value.strip()
    )
    place = unquote(address.place) if "%" in address.place else address.place
    return place.rstrip("/") + "?" + "&".join(f"{_safe(name)}={_safe(value)}" for name, value in kept)


def _safe(text: str) -> str:
    """A text in which nothing can be taken for the end of a name or value."""
    return text.replace("%", "%25").replace("&", "%26").replace("=", "%3D") if not text.isalnum() else text
