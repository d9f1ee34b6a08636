"""Feeds as pages: the entries of RSS and Atom as a list, with a link to the next part where there is one (RFC 5005 §3)."""

import re
from html import escape, unescape

__all__ = ["feed_as_html", "is_feed"]

HEAD_BYTES = 1000  # in which a feed says that it is one
FEED = re.compile(rb"<(?:rss|feed|rdf:RDF)[\s>]", re.I)
ENTRY = re.compile(r"<(item|entry)\b[^>]*>(.*?)</\1\s*>", re.I | re.S)
PART = re.compile(r"<([\w:-]+)((?:\s[^>]*?)?)(?:/>|>(.*?)</\1\s*>)", re.S)
ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
MARKUP = re.compile(r"<[^>]*>")
MAX_NAMES = 30  # of one entry


def is_feed(body: bytes, content_type: str) -> bool:
    """Whether a response is a feed.

    >>> is_feed(b'<?xml version="1.0"?><rss version="2.0">', "text/xml"), is_feed(b"<html><p>rss", "text/html")
    (True, False)
    """
    return "html" not in content_type.lower() and bool(FEED.search(body[:HEAD_BYTES]))


def feed_as_html(text: str) -> str:
    """The entries of a feed as HTML: the title links to the entry, the rest are parts with the names that the feed has.

    >>> feed_as_html("<rss><item><title>A</title><link>/a</link><author>B</author></item></rss>")
    '<ul><li><h3 class="title"><a href="/a">A</a></h3><p class="author" itemprop="author">B</p></li></ul>'
    """
    entries = "".join(f"<li>{_entry(inner)}</li>" for _, inner in ENTRY.findall(text))
    following = next((a["href"] for a in _links(ENTRY.sub("", text)) if a.get("rel") == "next" and "href" in a), "")
    return f"<ul>{entries}</ul>" + (f'<a rel="next" href="{escape(following)}">Next</a>' if following else "")


def _entry(inner: str) -> str:
    parts = [
        (name.rpartition(":")[2].lower(), attributes, _plain(text)) for name, attributes, text in PART.findall(inner)
    ]
    linked = [a["href"] for a in _links(inner) if "href" in a and a.get("rel", "alternate") == "alternate"]
    address = next((text for name, _, text in parts if name == "link" and text), linked[0] if linked else "")
    title = next((text for name, _, text in parts if name == "title" and text), address)
    others = dict.fromkeys(
        (name, text) for name, _, text in parts if text and name not in ("link", "title", "guid", "id")
    )
    written = [f'<p class="{escape(name)}" itemprop="{escape(name)}">{escape(text)}</p>' for name, text in others]
    return f'<h3 class="title"><a href="{escape(address)}">{escape(title)}</a></h3>' + "".join(written[:MAX_NAMES])


def _links(text: str) -> list[dict[str, str]]:
    """The attributes of the links of a feed, or of an entry."""
    found = re.findall(r"<(?:\w+:)?link\b([^>]*)>", text)
    return [{name: unescape(one or other) for name, one, other in ATTRIBUTE.findall(link)} for link in found]


def _plain(text: str) -> str:
    """What a part says, without markup."""
    whole = unescape(CDATA.sub(lambda found: escape(found[1]), text))
    return " ".join(unescape(MARKUP.sub(" ", whole)).split())
