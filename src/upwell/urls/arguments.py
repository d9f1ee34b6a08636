"""Split URLs into endpoint and arguments, wherever the arguments are: query string, path, matrix parameters or fragment.

    argument   name and value: `sort=4`, `;page=2`, `/page/2`, `#!/q=gps`
    endpoint   host and path of a URL without its arguments

Follows Entity §6.3.1 ("query segments"), but also reads arguments outside the query string.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from upwell.urls.hosts import site_host

__all__ = [
    "Argument",
    "SplitUrl",
    "canonical",
    "numbers_in_url",
    "parse_arguments",
    "path_without_query",
    "spellings",
    "split_url",
    "without_arguments",
]

Argument = tuple[str, str]  # name, value
# Charsets other than UTF-8 in which URLs carry queries: those of pages in non-Latin scripts, then Western ones.
LEGACY_CHARSETS = (
    "gb18030", "big5", "cp932", "euc-jp", "cp949", "cp1251", "koi8-r", "iso-8859-5", "cp1253", "cp1254", "cp1255", "cp1256",
    "cp874", "cp1252", "cp1250",
)  # fmt: skip
MAX_SEGMENTS = 50  # path segments that are searched for arguments
MAX_CACHED_URLS = 500  # cached splits: the URLs of an answer and of its next page are split several times
NUMBER = re.compile(r"\d{1,9}")  # longer numbers are times and identifiers
LETTER = re.compile(r"[^\W\d_]")
NUMBER_SEGMENT = re.compile(r"/\d+(?:/|$)")
DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class SplitUrl:
    """URL without scheme and credentials, split into endpoint and arguments."""

    endpoint: str  # host and path; * replaces a segment that is an argument
    arguments: tuple[Argument, ...]  # in the order of the URL


@lru_cache(maxsize=MAX_CACHED_URLS)
def split_url(url: str, query: str = "") -> SplitUrl:
    """Split a URL into endpoint and arguments; if `query` is given, a path segment equal to the query is an argument too.

    >>> split_url("http://x/s;lang=de/page/2?q=gps+maps&sort=4;from=7#top").arguments
    (('lang', 'de'), ('/page', '2'), ('q', 'gps maps'), ('sort', '4'), ('from', '7'))
    >>> split_url("http://x/search/gps/brand/acme", "gps")
    SplitUrl(endpoint='x/search/*/brand/*', arguments=(('/search', 'gps'), ('/brand', 'acme')))
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 # raises if it is not a number
        host = site_host(url)
    except ValueError:  # invalid port or IPv6 host
        return SplitUrl(url, ())
    path, in_path = _split_path(parts.path, query)
    arguments = [*in_path, *parse_arguments(parts.query, query)]
    if parts.fragment.startswith(("!", "/", "?")) or "=" in parts.fragment:
        arguments += parse_arguments(parts.fragment.lstrip("!/?"))
    return SplitUrl(host + path, tuple(arguments))


def parse_arguments(text: str, query: str = "") -> list[Argument]:
    """Parse a query string, separated by `&` or `;`; keeps order and repeated arguments.

    A value that encodes the query in a charset other than UTF-8 is returned as the query.

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
    """Decode a percent-encoded name or value: as UTF-8 if valid, else as Latin-1, which many old sites send."""
    if "%" not in text and "+" not in text:
        return text
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        return unquote_plus(text, encoding="latin-1")


@lru_cache(maxsize=MAX_CACHED_URLS)
def _split_path(path: str, query: str) -> tuple[str, tuple[Argument, ...]]:
    """Remove the arguments of a path: matrix parameters, numbers after a word, the query, and the segments after the query."""
    kept: list[str] = []
    arguments: list[Argument] = []
    query_words = " ".join(query.lower().split())
    if not query_words and ";" not in path and not NUMBER_SEGMENT.search(path):
        return path, ()
    if path.count("/") > MAX_SEGMENTS:
        return path, ()
    is_after_query = False  # after the query, segments alternate between name and value
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


def numbers_in_url(url: str) -> dict[str, int]:
    """Return the whole numbers in a URL by argument name, or by the path up to the number (written as #).

    >>> numbers_in_url("http://x/list/page/3?start=20&q=4x4") == {"x/list/page/#": 3, "start": 20}
    True
    >>> numbers_in_url("http://x/news/index2.html")
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


def canonical(url: SplitUrl, irrelevant: Collection[str] = ()) -> str:
    """Return a canonical form, equal for URLs that ask for the same: no irrelevant arguments, the others sorted and encoded alike.

    Arguments without a value are dropped. Repeated arguments keep all their values (`tag=a&tag=b` asks for both).

    >>> canonical(split_url("http://x/s?b=2&a=%7E&page=3&c="), ["page"]) == canonical(split_url("http://x/s?a=~&page=9&b=2"), ["page"])
    True
    """
    kept = sorted((name, value.strip()) for name, value in url.arguments if name not in irrelevant and value.strip())
    endpoint = unquote(url.endpoint) if "%" in url.endpoint else url.endpoint
    return endpoint.rstrip("/") + "?" + "&".join(f"{_escape(name)}={_escape(value)}" for name, value in kept)


def _escape(text: str) -> str:
    """Escape the characters that end a name or value."""
    return text.replace("%", "%25").replace("&", "%26").replace("=", "%3D") if not text.isalnum() else text


def without_arguments(url: str, names: Collection[str]) -> str:
    """Remove the arguments with these names from a URL; the rest stays as it is written."""
    if not names or "?" not in url:
        return url
    before, mark, fragment = url.partition("#")
    path, _, query = before.partition("?")
    kept = [pair for pair in query.split("&") if _cached_unquote(pair.partition("=")[0]) not in names]
    return f"{path}?{'&'.join(kept)}{mark}{fragment}" if kept else f"{path}{mark}{fragment}"


_cached_unquote = lru_cache(maxsize=1000)(unquote_plus)


def path_without_query(url: str, query: str) -> tuple[str, ...]:
    """Return the segments of a path, with "" in place of the query.

    >>> path_without_query("http://x/results/Red+wine", "red wine"), path_without_query("http://x/results", "e")
    (('', 'results', ''), ('', 'results'))
    """
    segments = urlsplit(url).path.split("/")
    return tuple("" if unquote_plus(segment).casefold() == query.casefold() else segment for segment in segments)


@lru_cache(maxsize=1000)
def spellings(text: str) -> frozenset[str]:
    """Return the forms in which a text occurs in URLs, in lower case: unencoded, and percent-encoded in each charset that can encode it."""
    forms = {text.lower()}
    for charset in ("utf-8", *(LEGACY_CHARSETS if not text.isascii() else ())):
        try:
            encoded = text.encode(charset)
        except UnicodeEncodeError:
            continue
        forms |= {quote(encoded).lower(), quote_plus(encoded).lower()}
    return frozenset(forms)
