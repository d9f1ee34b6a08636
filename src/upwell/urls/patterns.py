"""Learn the URL patterns of records: constant path segments and arguments, with wildcards where the URLs differ.

A pattern has a host, path segments and arguments. "#" matches any number (also inside: "post-#.html"), "*" anything, "*.html" anything with
this suffix.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from upwell.urls.arguments import parse_arguments
from upwell.urls.hosts import site_host

__all__ = ["UrlPattern", "learn_url_patterns", "matches_any"]

MIN_URLS = 3  # URLs needed to learn a pattern
MIN_SHARE = 0.05  # smallest share of all URLs that a pattern must cover; rarer ones are misread links
MAX_SUFFIX_CHARS = 6  # longest file suffix, with its dot

DIGITS = re.compile(r"\d+")
ROUTE = "#/"  # pseudo-segment before the segments of a client-side route

Parts = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """URL pattern."""

    host: str
    segments: tuple[str, ...]
    arguments: tuple[tuple[str, str], ...]  # sorted

    def matches(self, url: str) -> bool:
        """Return True if a URL matches this pattern."""
        parts = _parts(url)
        if parts is None or parts[0] != self.host or len(parts[1]) != len(self.segments):
            return False
        if [name for name, _ in parts[2]] != [name for name, _ in self.arguments]:
            return False
        own = (*parts[1], *(value for _, value in parts[2]))
        wanted = (*self.segments, *(value for _, value in self.arguments))
        return all(_fits(pattern, text) for pattern, text in zip(wanted, own, strict=True))

    @property
    def is_specific(self) -> bool:
        """Return True if all URLs of this pattern share a path segment or an argument name."""
        return any(segment and segment != "#" and not segment.startswith("*") for segment in self.segments) or bool(
            self.arguments
        )

    def is_below(self, url: str) -> bool:
        """Return True if the path of a URL is a prefix of the paths of this pattern: `/items` for `/items/#`."""
        parts = _parts(url)
        if parts is None or parts[0] != self.host:
            return False
        prefix = tuple(segment for segment in parts[1] if segment)
        return 0 < len(prefix) < len(self.segments) and prefix == self.segments[: len(prefix)]


def matches_any(patterns: Sequence[UrlPattern], url: str) -> bool:
    """Return True if a URL matches one of some patterns."""
    return any(pattern.matches(url) for pattern in patterns)


def learn_url_patterns(urls: Iterable[str]) -> tuple[UrlPattern, ...]:
    """Return the patterns of many of these URLs, the most frequent first.

    >>> [pattern.segments for pattern in learn_url_patterns(f"http://x/item/{n}/a{n}.html" for n in range(9))]
    [('item', '#', 'a#.html')]
    """
    groups: defaultdict[tuple[object, ...], set[Parts]] = defaultdict(set)
    all_parts = {parts for url in urls if (parts := _parts(url)) is not None}
    for parts in all_parts:
        host, segments, arguments = parts
        groups[host, len(segments), tuple(name for name, _ in arguments)].add(parts)
    patterns = []
    for group in sorted(groups.values(), key=lambda group: (-len(group), min(group))):
        if len(group) < max(MIN_URLS, MIN_SHARE * len(all_parts)):
            continue
        host, _, arguments = next(iter(group))
        segments = tuple(_pattern(texts) for texts in zip(*(parts[1] for parts in group), strict=True))
        values = (_pattern(texts) for texts in zip(*([v for _, v in parts[2]] for parts in group), strict=True))
        names = [name for name, _ in arguments]
        patterns.append(UrlPattern(host, segments, tuple(zip(names, values, strict=True))))
    return tuple(patterns)


def _parts(url: str) -> Parts | None:
    """Return host, segments and arguments of a URL; None if it is invalid."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    segments = tuple(parts.path.removeprefix("/").split("/"))
    if parts.fragment.startswith(("/", "!")):  # a client-side route is a page of its own
        segments = (*segments, ROUTE, *parts.fragment[1:].split("/"))
    return site_host(url), segments, tuple(sorted(parse_arguments(parts.query)))


def _pattern(texts: Sequence[str]) -> str:
    """Return the wildcard pattern that matches all of these texts."""
    if len(set(texts)) == 1:
        return texts[0]
    numbered = {DIGITS.sub("#", text) for text in texts}
    if len(numbered) == 1:
        return numbered.pop()
    suffixes = {text[text.rfind(".") :] if "." in text else "" for text in texts}
    suffix = suffixes.pop() if len(suffixes) == 1 else ""
    return f"*{suffix}" if len(suffix) <= MAX_SUFFIX_CHARS and not suffix[1:].isdigit() else "*"


def _fits(pattern: str, text: str) -> bool:
    if "#" in pattern:
        return DIGITS.sub("#", text) == pattern
    if pattern.startswith("*"):
        return len(text) >= len(pattern) and text.endswith(pattern[1:])
    return text == pattern
