"""Responses as pages: HTML as it is, JSON and feeds as the page that shows the same records, plain text with what its first lines name."""

import json
from collections.abc import Mapping
from html import escape

from upwell.page.charset import decode
from upwell.page.feeds import feed_as_html, is_feed
from upwell.page.plain_text import is_plain_text, plain_as_html
from upwell.page.tree import TagTree, read

__all__ = ["as_html", "is_json", "read_page"]

MAX_DEPTH = 40  # levels of JSON that are written; deeper ones are left out


def read_page(body: bytes, url: str = "", headers: Mapping[str, str] | None = None) -> TagTree:
    """A response body as a tree; JSON, feeds and plain text are read like a page.

    >>> read_page(b'[{"name": "Lima"}]').text(), read_page(b"<p>Lima</p>").text()
    ('Lima', 'Lima')
    """
    content_type = next((value for name, value in (headers or {}).items() if name.lower() == "content-type"), "")
    if is_json(body, content_type):
        return read(as_html(body), url=url)
    if is_feed(body, content_type):
        return read(feed_as_html(decode(body, content_type)[0]), url=url)
    if is_plain_text(body, content_type):
        return read(plain_as_html(decode(body, content_type)[0]), url=url)
    return read(body, url=url, headers=headers)


def is_json(body: bytes, content_type: str = "") -> bool:
    """Whether an answer is JSON, by what its header says or by how it begins.

    >>> is_json(b' {"a": 1}'), is_json(b"[Home] | <a href=/>"), is_json(b"", "application/json; charset=utf-8")
    (True, False, True)
    """
    if "json" in content_type.lower():
        return True
    start = body[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] not in (b"{", b"["):
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def as_html(body: bytes) -> str:
    """A JSON document as HTML: a list is a list, an object a division with one part for each name, an address a link.

    >>> as_html(b'[{"name": "a<b", "url": "/x", "gone": null}]')
    '<ul><li><div><p class="name" itemprop="name">a&lt;b</p><p class="url" itemprop="url"><a href="/x">/x</a></p></div></li></ul>'

    Names inside an object of an object begin with its name (`price_amount`). What is no JSON becomes an empty page.
    """
    try:
        return _written(json.loads(body), MAX_DEPTH, "")
    except (ValueError, RecursionError):
        return ""


def _written(value: object, depth: int, inside: str) -> str:
    if depth == 0 or value is None:
        return ""
    if isinstance(value, list):
        return "<ul>" + "".join(f"<li>{_written(item, depth - 1, '')}</li>" for item in value) + "</ul>"
    if isinstance(value, dict):
        return "<div>" + "".join(_part(inside + str(name), inner, depth) for name, inner in value.items()) + "</div>"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, str) and text.startswith(("/", "http://", "https://")) and not any(c.isspace() for c in text):
        return f'<a href="{escape(text)}">{escape(text)}</a>'
    return escape(text)


def _part(name: str, inner: object, depth: int) -> str:
    text = _written(inner, depth - 1, f"{name}_")
    tag = "div" if isinstance(inner, dict | list) else "p"
    return f'<{tag} class="{escape(name)}" itemprop="{escape(name)}">{text}</{tag}>' if text else ""
