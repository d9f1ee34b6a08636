"""Plain text as a page: the lines at its top that name what they say ("From: …") as a list, the rest as it is."""

import re
from html import escape

__all__ = ["is_plain_text", "plain_as_html"]

HEADER = re.compile(r"([^\W\d_][\w .-]{0,39}):[ \t]+(\S.*)$")
MIN_HEADERS = 2
MAX_TITLE_CHARS = 200
LOOKS_LIKE_HTML = re.compile(rb"\s*(?:<!doctype|<html|<head|<body|<\?xml|<!--)", re.I)


def is_plain_text(body: bytes, content_type: str) -> bool:
    """Whether a response is text without markup, as its header says."""
    return content_type.lower().startswith("text/plain") and not LOOKS_LIKE_HTML.match(body)


def plain_as_html(text: str) -> str:
    """A text as HTML.

    >>> plain_as_html("To: b\\nRe: c\\n\\n1 < 2")
    '<title>To: b</title><ul class="text-head"><li class="text-line"><b>To:</b> b</li><li class="text-line"><b>Re:</b> c</li></ul><pre>1 &lt; 2</pre>'
    >>> plain_as_html("Just a text.")
    '<title>Just a text.</title><pre>Just a text.</pre>'
    """
    lines = text.lstrip("\ufeff").splitlines()
    headers: list[tuple[str, str]] = []
    at = 0
    while at < len(lines):
        if found := HEADER.match(lines[at]):
            headers.append((found[1], found[2].strip()))
        elif (
            headers and lines[at][:1] in (" ", "\t") and lines[at].strip()
        ):  # the line before goes on (RFC 5322 §2.2.3)
            headers[-1] = (headers[-1][0], f"{headers[-1][1]} {lines[at].strip()}")
        else:
            break
        at += 1
    if len(headers) < MIN_HEADERS or (at < len(lines) and lines[at].strip()):
        headers, at = [], 0
    named = {name.lower(): value for name, value in reversed(headers)}
    first = next((line.strip() for line in lines if line.strip()), "")
    title = named.get("subject") or named.get("title") or first
    # with classes of their own, so that they are not taken for the matches of an answer
    terms = "".join(f'<li class="text-line"><b>{escape(name)}:</b> {escape(value)}</li>' for name, value in headers)
    body = "\n".join(lines[at:]).strip("\n")
    head = f'<ul class="text-head">{terms}</ul>' if terms else ""
    return f"<title>{escape(title[:MAX_TITLE_CHARS])}</title>{head}<pre>{escape(body, quote=False)}</pre>"
