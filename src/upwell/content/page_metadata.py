"""Read what a page declares about itself: title, author and date, from <meta>, JSON-LD and <time>."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from upwell.page.tree import TagTree

__all__ = ["PageMetadata", "declared_metadata", "declared_texts"]

TITLE_NAMES = ("og:title", "twitter:title")
AUTHOR_NAMES = ("author", "article:author", "dc.creator", "parsely-author")
DATE_NAMES = ("article:published_time", "datepublished", "date", "dc.date", "parsely-pub-date", "pubdate")
DESCRIPTION_NAMES = ("description", "og:description")
# Properties of JSON-LD whose text is content, longest first.
TEXT_PROPERTIES = ("articleBody", "text", "description")
MAX_DATA_CHARS = 1_000_000  # safety limit: of one JSON-LD script
MAX_NODES = 2000  # safety limit: objects of one JSON-LD script
MARKUP = re.compile(r"<[^<>]++>")


@dataclass(frozen=True, kw_only=True)
class PageMetadata:
    """What a page declares; None: nothing."""

    title: str | None = None
    author: str | None = None
    date: str | None = None


def declared_metadata(tree: TagTree) -> PageMetadata:
    """Return title, author and date that a page declares."""
    named = _named(tree)
    nodes = list(_nodes(tree))
    return PageMetadata(
        title=_first(named, TITLE_NAMES) or tree.title or None,
        author=next((name for node in nodes if (name := _author(node))), None) or _person(_first(named, AUTHOR_NAMES)),
        date=next((str(node["datePublished"]) for node in nodes if node.get("datePublished")), None)
        or _first(named, DATE_NAMES)
        or next((value for row in tree.rows("time").tolist() if (value := tree.attr(row, "datetime"))), None),
    )


def declared_texts(tree: TagTree) -> list[str]:
    """Return the texts of JSON-LD, longest property first, and the description of the page; each once."""
    texts = [
        " ".join(MARKUP.sub(" ", value).split())
        for node in _nodes(tree)
        for name in TEXT_PROPERTIES
        if isinstance(value := node.get(name), str)
    ]
    description = _first(_named(tree), DESCRIPTION_NAMES)
    return list(dict.fromkeys([text for text in (*texts, description or "") if text]))


def _named(tree: TagTree) -> dict[str, str]:
    """Return the contents of <meta> by lower-case name; the first of each name."""
    named: dict[str, str] = {}
    for attribute in ("property", "name", "itemprop"):
        for row, name in tree.attribute_by_row(attribute).items():
            if content := (tree.attr(row, "content") or "").strip():
                named.setdefault(name.lower(), content)
    return named


def _first(named: dict[str, str], names: tuple[str, ...]) -> str | None:
    return next((named[name] for name in names if name in named), None)


def _person(name: str | None) -> str | None:
    """Return a name; None if it is the URL of a profile."""
    return None if name is None or name.startswith(("http://", "https://")) else name


def _nodes(tree: TagTree) -> Iterator[dict[str, Any]]:
    """Yield the objects of the JSON-LD of a page."""
    for row, data in tree.data.items():
        if "ld+json" not in (tree.attr(row, "type") or "").lower() or len(data) > MAX_DATA_CHARS:
            continue
        try:
            waiting: list[Any] = [json.loads(data, strict=False)]
        except (ValueError, RecursionError):
            continue
        seen = 0
        while waiting and seen < MAX_NODES:
            value = waiting.pop(0)
            seen += 1
            if isinstance(value, list):
                waiting += value
            elif isinstance(value, dict):
                yield value
                waiting += [each for each in value.values() if isinstance(each, (dict, list))]


def _author(node: dict[str, Any]) -> str | None:
    """Return the name of the author of a JSON-LD object."""
    author = node.get("author")
    if isinstance(author, list):
        names = [name for each in author if (name := _author({"author": each}))]
        return ", ".join(names) or None
    if isinstance(author, dict):
        author = author.get("name")
    return _person(author) if isinstance(author, str) and author else None
