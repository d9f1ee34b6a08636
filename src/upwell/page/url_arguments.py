"""The arguments of a URL, wherever they stand in it: in the query string, the path, matrix parameters or the fragment.

    argument   a name with a value: `sort=4`, `;page=2`, `/page/2`, `#!/q=gps`
    place      what remains of a URL without its arguments: host and path

Entity §6.3.1 ("query segments"); departs from it: arguments outside the query string count too.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote, unquote_plus, urlsplit

from upwell.page.charset import spellings
from upwell.page.hosts import site_host

__all__ = [
    "Address",
    "Argument",
    "canonical",
    "numbers_by_place",
    "parse_arguments",
    "path_without_query",
    "split",
    "without_arguments",
]

Argument = tuple[str, str]  # name, value
MAX_SEGMENTS = 50  # of a path in which arguments are looked for
MAX_KNOWN_URLS = 500  # that are remembered: an answer's own URL and that of its next page are asked for several times
NUMBER = re.compile(r"\d{1,9}")  # longer ones are times and identifiers
LETTER = re.compile(r"[^\W\d_]")
NUMBER_SEGMENT = re.compile(r"/\d+(?:/|$)")
DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Address:
    """A URL without scheme and credentials, split into its place and its arguments."""

    place: str  # host and path; * stands for a segment that is an argument
    arguments: tuple[Argument, ...]  # in the order of the URL


@lru_cache(maxsize=MAX_KNOWN_URLS)
def split(url: str, query: str = "") -> Address:
    """Splits a URL into place and arguments; with `query` known, a path segment that holds the query is an argument too.

    >>> split("http://x/s;lang=de/page/2?q=gps+maps&sort=4;from=7#top").arguments
    (('lang', 'de'), ('/page', '2'), ('q', 'gps maps'), ('sort', '4'), ('from', '7'))
    >>> split("http://x/search/gps/brand/acme", "gps")
    Address(place='x/search/*/brand/*', arguments=(('/search', 'gps'), ('/brand', 'acme')))
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 # raises where it is no number
        host = site_host(url)
    except ValueError:  # a port that is no number, a broken IPv6 host: nothing to split
        return Address(url, ())
    path, in_path = _split_path(parts.path, query)
    arguments = [*in_path, *parse_arguments(parts.query, query)]
    if parts.fragment.startswith(("!", "/", "?")) or "=" in parts.fragment:
        arguments += parse_arguments(parts.fragment.lstrip("!/?"))
    return Address(host + path, tuple(arguments))


def parse_arguments(text: str, query: str = "") -> list[Argument]:
    """The arguments of a query string, separated by `&` or `;`, in order, with repeated ones.

    A value that spells the query in another charset than UTF-8 is the query.

    >>> parse_arguments("a=1;b=x+y&&c&a=%C3%BC&b=%E4")
    [('a', '1'), ('b', 'x y'), ('c', ''), ('a', 'ü'), ('b', 'ä')]
    """
    arguments = []
    if ";" in text:
        text = text.replace("&amp;", "&").replace(";", "&")
    for part in text.removeprefix("?").split("&"):
        if part:
            name, _, value = part.partition("=")
            is_query = not query.isascii() and value.lower() in spellings(query)
            arguments.append((_decode(name), query if is_query else _decode(value)))
    return arguments


def _decode(text: str) -> str:
    """A percent-encoded name or value as text: UTF-8 if it is valid, else Latin-1, which many old sites send."""
    if "%" not in text and "+" not in text:
        return text
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        return unquote_plus(text, encoding="latin-1")


@lru_cache(maxsize=MAX_KNOWN_URLS)
def _split_path(path: str, query: str) -> tuple[str, tuple[Argument, ...]]:
    """Takes the arguments out of a path: matrix parameters, numbers after a word, the query, and what follows the query."""
    kept: list[str] = []
    arguments: list[Argument] = []
    query_words = " ".join(query.lower().split())
    if not query_words and ";" not in path and not NUMBER_SEGMENT.search(path):
        return path, ()
    if path.count("/") > MAX_SEGMENTS:
        return path, ()
    is_after_query = False  # there, segments alternate between name and value
    for segment in path.split("/"):
        name, *matrix = segment.split(";")
        arguments += [argument for part in matrix for argument in parse_arguments(part)]
        text, before = _decode(name), kept[-1] if kept else ""
        is_query = bool(query_words) and " ".join(text.lower().replace("-", " ").split()) == query_words
        is_number = bool(NUMBER.fullmatch(text) and LETTER.search(before))
        if before and before != "*" and (is_query or is_after_query or is_number):
            arguments.append((f"/{before}", text))
            kept.append("*")
        else:
            kept.append(name)
        is_after_query = is_after_query or is_query
    return "/".join(kept), tuple(arguments)


def numbers_by_place(url: str) -> dict[str, int]:
    """The whole numbers in a URL, each under the name of its argument or the path up to it (# for the number).

    >>> numbers_by_place("http://x/list/page/3?start=20&q=4x4") == {"x/list/page/#": 3, "start": 20}
    True
    >>> numbers_by_place("http://x/news/index2.html")
    {'x/news/index#.html': 2}
    """
    parts = urlsplit(url)
    numbers: dict[str, int] = {}
    place = site_host(url)
    for segment in parts.path.split("/")[1:]:
        digits = DIGITS.findall(segment)
        place = f"{place}/{DIGITS.sub('#', segment)}"
        if digits and NUMBER.fullmatch(digits[-1]):
            numbers[place] = int(digits[-1])
    for name, value in parse_arguments(parts.query):
        if NUMBER.fullmatch(value):
            numbers[name] = int(value)
    return numbers


def canonical(address: Address, irrelevant: Collection[str] = ()) -> str:
    """One text for all URLs that ask for the same: without irrelevant arguments, the others sorted and encoded alike.

    Arguments without a value are left out. Repeated arguments keep all their values (`tag=a&tag=b` asks for both).

    >>> canonical(split("http://x/s?b=2&a=%7E&page=3&c="), ["page"]) == canonical(split("http://x/s?a=~&page=9&b=2"), ["page"])
    True
    """
    kept = sorted(
        (name, value.strip()) for name, value in address.arguments if name not in irrelevant and value.strip()
    )
    place = unquote(address.place) if "%" in address.place else address.place
    return place.rstrip("/") + "?" + "&".join(f"{_escape(name)}={_escape(value)}" for name, value in kept)


def _escape(text: str) -> str:
    """A text without the signs that end a name or value."""
    return text.replace("%", "%25").replace("&", "%26").replace("=", "%3D") if not text.isalnum() else text


def without_arguments(address: str, names: Collection[str]) -> str:
    """An address without the arguments of these names, else as it is written."""
    if not names or "?" not in address:
        return address
    asked, mark, fragment = address.partition("#")
    path, _, query = asked.partition("?")
    kept = [pair for pair in query.split("&") if _decoded(pair.partition("=")[0]) not in names]
    return f"{path}?{'&'.join(kept)}{mark}{fragment}" if kept else f"{path}{mark}{fragment}"


_decoded = lru_cache(maxsize=1000)(unquote_plus)


def path_without_query(url: str, query: str) -> tuple[str, ...]:
    """The steps of a path, with an empty one where the query stands.

    >>> path_without_query("http://x/results/Red+wine", "red wine"), path_without_query("http://x/results", "e")
    (('', 'results', ''), ('', 'results'))
    """
    steps = urlsplit(url).path.split("/")
    return tuple("" if unquote_plus(step).casefold() == query.casefold() else step for step in steps)
