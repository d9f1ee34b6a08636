"""JSON answers as pages: the same records, in a form that is read like every other page."""

import json
from html import escape

__all__ = ["as_html"]

DEPTH = 40  # levels that are written; deeper ones are left out


def as_html(body: bytes) -> str:
    """A JSON document as HTML: a list is a list, an object a division with one part for each name, an address a link.

    >>> as_html(b'[{"name": "a<b", "url": "/x", "n": 1, "gone": null}]')
    '<ul><li><div><p class="name">a&lt;b</p><p class="url"><a href="/x">/x</a></p><p class="n">1</p></div></li></ul>'

    What is no JSON becomes an empty page.
    """
    try:
        return _written(json.loads(body), DEPTH)
    except (ValueError, RecursionError):
        return ""


def _written(value: object, depth: int) -> str:
    if depth == 0 or value is None:
        return ""
    if isinstance(value, list):
        return "<ul>" + "".join(f"<li>{_written(item, depth - 1)}</li>" for item in value) + "</ul>"
    if isinstance(value, dict):
        parts = [(escape(str(name)), inner, _written(inner, depth - 1)) for name, inner in value.items()]
        return "<div>" + "".join(_part(name, inner, text) for name, inner, text in parts if text) + "</div>"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, str) and text.startswith(("/", "http://", "https://")) and not any(c.isspace() for c in text):
        return f'<a href="{escape(text)}">{escape(text)}</a>'
    return escape(text)


def _part(name: str, inner: object, text: str) -> str:
    tag = "div" if isinstance(inner, dict | list) else "p"
    return f'<{tag} class="{name}">{text}</{tag}>'
