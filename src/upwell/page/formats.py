"""Read responses of any format as pages: JSON, feeds and plain text are converted to HTML that shows the same records.

`read_page` is the entry point.
"""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape, unescape

from upwell.page.charset import decode
from upwell.page.markup import elements, replace_between
from upwell.page.tree import TagTree, read
from upwell.types import Response

__all__ = [
    "content_type_of",
    "feed_as_html",
    "is_feed",
    "is_json",
    "is_plain_text",
    "json_as_html",
    "json_value",
    "plain_as_html",
    "read_page",
]


def read_page(
    body: bytes, url: str = "", headers: Mapping[str, str] | None = None, *, reveals: bool = False
) -> TagTree:
    """Parse a response body; JSON, feeds and plain text are converted to HTML first. `reveals` keeps hidden text (`read`).

    >>> read_page(b'[{"name": "Lima"}]').text(), read_page(b"<p>Lima</p>").text()
    ('Lima', 'Lima')
    """
    content_type = _content_type(headers or {})
    if is_json(body, content_type):
        return read(json_as_html(body), url=url)
    if is_feed(body, content_type):
        return read(feed_as_html(decode(body, content_type)[0]), url=url)
    if is_plain_text(body, content_type):
        return read(plain_as_html(decode(body, content_type)[0]), url=url)
    return read(body, url=url, headers=headers, reveals=reveals)


def content_type_of(response: Response) -> str:
    """Return the content type of a response; "" if it has none."""
    return _content_type(response.headers)


def _content_type(headers: Mapping[str, str]) -> str:
    return next((value for name, value in headers.items() if name.lower() == "content-type"), "")


# Feeds: the entries of RSS and Atom as a list, with a link to the next feed document (RFC 5005 §3).

HEAD_BYTES = 1000  # first bytes of a response, searched for the root element of a feed
FEED = re.compile(rb"<(?:rss|feed|rdf:RDF)[\s>]", re.I)
ENTRY = re.compile(r"<(item|entry)\b", re.I)
ELEMENT = re.compile(r"<([\w:-]++)(?=[\s>]|/>)")
LINK = re.compile(r"<(?:\w++:)?+link\b([^<>]*+)>")
ATTRIBUTE = re.compile(r"""(?<![\w:-])([\w:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
MAX_FIELDS = 30  # fields of one entry


def is_feed(body: bytes, content_type: str) -> bool:
    """Return True if a response is a feed.

    >>> is_feed(b'<?xml version="1.0"?><rss version="2.0">', "text/xml"), is_feed(b"<html><p>rss", "text/html")
    (True, False)
    """
    return "html" not in content_type.lower() and bool(FEED.search(body[:HEAD_BYTES]))


def feed_as_html(text: str) -> str:
    """Convert the entries of a feed to HTML: the title links to the entry, the other elements keep their names as classes.

    >>> feed_as_html("<rss><item><title>A</title><link>/a</link><author>B</author></item></rss>")
    '<ul><li><h3 class="title"><a href="/a">A</a></h3><p class="author" itemprop="author">B</p></li></ul>'
    """
    entries = list(elements(text, ENTRY, fold_case=True))
    bounds = [0, *(at for entry in entries for at in (entry.start, entry.end)), len(text)]
    outside = "".join(text[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True))
    next_url = next((a["href"] for a in _links(outside) if a.get("rel") == "next" and "href" in a), "")
    items = "".join(f"<li>{_entry_as_html(entry.inner)}</li>" for entry in entries)
    return f"<ul>{items}</ul>" + (f'<a rel="next" href="{escape(next_url)}">Next</a>' if next_url else "")


def _entry_as_html(inner: str) -> str:
    parts = [
        (element.name.rpartition(":")[2].lower(), _plain_text(element.inner))
        for element in elements(inner, ELEMENT, may_be_empty=True)
    ]
    linked = [a["href"] for a in _links(inner) if "href" in a and a.get("rel", "alternate") == "alternate"]
    url = next((text for name, text in parts if name == "link" and text), linked[0] if linked else "")
    title = next((text for name, text in parts if name == "title" and text), url)
    others = dict.fromkeys((name, text) for name, text in parts if text and name not in ("link", "title", "guid", "id"))
    paragraphs = [f'<p class="{escape(name)}" itemprop="{escape(name)}">{escape(text)}</p>' for name, text in others]
    return f'<h3 class="title"><a href="{escape(url)}">{escape(title)}</a></h3>' + "".join(paragraphs[:MAX_FIELDS])


def _links(text: str) -> list[dict[str, str]]:
    """Return the attributes of each link of a feed or entry."""
    return [
        {
            name: unescape(double_quoted or single_quoted)
            for name, double_quoted, single_quoted in ATTRIBUTE.findall(link)
        }
        for link in LINK.findall(text)
    ]


def _plain_text(text: str) -> str:
    """Return the text of an element without markup."""
    whole = unescape(replace_between(text, "<![CDATA[", "]]>", escape))
    return " ".join(unescape(replace_between(whole, "<", ">", " ")).split())


# Plain text: header lines at the top ("From: …") become a list, the rest is preformatted.

HEADER = re.compile(r"([^\W\d_][\w .-]{0,39}):[ \t]+(\S.*)$")
MIN_HEADERS = 2  # header lines needed before they are treated as a list
MAX_TITLE_CHARS = 200
LOOKS_LIKE_HTML = re.compile(rb"\s*(?:<!doctype|<html|<head|<body|<\?xml|<!--)", re.I)


def is_plain_text(body: bytes, content_type: str) -> bool:
    """Return True if a response is declared as plain text and does not look like HTML."""
    return content_type.lower().startswith("text/plain") and not LOOKS_LIKE_HTML.match(body)


def plain_as_html(text: str) -> str:
    """Convert plain text to HTML.

    >>> plain_as_html("To: b\\nRe: c\\n\\n1 < 2")
    '<title>To: b</title><ul class="text-head"><li class="text-line"><b>To:</b> b</li><li class="text-line"><b>Re:</b> c</li></ul><pre>1 &lt; 2</pre>'
    >>> plain_as_html("Just a text.")
    '<title>Just a text.</title><pre>Just a text.</pre>'
    """
    lines = text.lstrip("\ufeff").splitlines()
    headers: list[tuple[str, str]] = []
    at = 0
    while at < len(lines):
        if match := HEADER.match(lines[at]):
            headers.append((match[1], match[2].strip()))
        elif headers and lines[at][:1] in (" ", "\t") and lines[at].strip():  # folded header (RFC 5322 §2.2.3)
            headers[-1] = (headers[-1][0], f"{headers[-1][1]} {lines[at].strip()}")
        else:
            break
        at += 1
    if len(headers) < MIN_HEADERS or (at < len(lines) and lines[at].strip()):
        headers, at = [], 0
    named = {name.lower(): value for name, value in reversed(headers)}
    first = next((line.strip() for line in lines if line.strip()), "")
    title = named.get("subject") or named.get("title") or first
    # separate classes, so that header lines are not taken for the records of an answer
    terms = "".join(f'<li class="text-line"><b>{escape(name)}:</b> {escape(value)}</li>' for name, value in headers)
    body = "\n".join(lines[at:]).strip("\n")
    head = f'<ul class="text-head">{terms}</ul>' if terms else ""
    return f"<title>{escape(title[:MAX_TITLE_CHARS])}</title>{head}<pre>{escape(body, quote=False)}</pre>"


# JSON.

MAX_DEPTH = 40  # nesting levels of JSON that are converted; deeper values are dropped
MAX_NUMBERS = 1000  # longer lists of nothing but numbers are a series, not records: they become one text


MAX_MARKUP_DEPTH = 60  # nesting levels of HTML inside JSON that are kept; deeper elements become text
# HTML inside JSON: an element, or a character reference.
ELEMENT_START = re.compile(
    r"<(a|abbr|b|br|button|code|dd|div|dl|dt|em|h[1-6]|hr|i|img|li|mark|ol|p|small|span|strong|su[bp]|t[abdhrf][a-z]{0,5}|u|ul|article|section)"
    r"(?:\s[^<>]*+)?+/?>",
    re.I,
)
REFERENCE = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,7}|#x[0-9a-f]{1,6});", re.I)
EMPTY_ELEMENTS = frozenset(("br", "hr", "img"))
TABLE_PART = re.compile(r"\s*<(?:tr|td|th|tbody|thead)\b", re.I)
BLOCK = re.compile(r"<(?:div|dl|h[1-6]|ol|p|table|ul|article|section)\b")  # elements that a <p> cannot contain
KEPT_ATTRIBUTES = ("href", "class", "title", "alt", "src")


def _is_markup(text: str) -> bool:
    """Return True if a text of JSON is HTML: it has a complete element or a character reference.

    >>> _is_markup('<a href="/1">Lima</a>'), _is_markup("Lima &amp; Bern"), _is_markup("use <b> for bold, a < b")
    (True, True, False)
    """
    start = ELEMENT_START.search(text)
    if start is None:
        return bool(REFERENCE.search(text))
    name = start[1].lower()
    return name in EMPTY_ELEMENTS or f"</{name}" in text[start.end() :].lower()


def _markup_as_html(text: str) -> str:
    """Return the HTML of a text as well-formed HTML: only its elements, texts, links and classes."""
    tree = read(f"<table>{text}</table>" if TABLE_PART.match(text) else text)
    body = next(iter(tree.rows("body").tolist()), 0)
    return _inner_html(tree, body, MAX_MARKUP_DEPTH).strip()


def _inner_html(tree: TagTree, row: int, depth: int) -> str:
    parts: list[str] = []
    at = int(tree.text_at[row])
    for child in tree.children(row) if depth else ():
        parts += _texts(tree, at, int(tree.text_at[child]))
        name = tree.name(child)
        if name not in ("script", "style", "head"):
            attributes = "".join(
                f' {key}="{escape(value)}"' for key in KEPT_ATTRIBUTES if (value := tree.attr(child, key))
            )
            end = "" if name in EMPTY_ELEMENTS else f"{_inner_html(tree, child, depth - 1)}</{name}>"
            parts.append(f"<{name}{attributes}>{end}")
        at = int(tree.text_end[child])
    return "".join([*parts, *_texts(tree, at, int(tree.text_end[row]))])


def _texts(tree: TagTree, first: int, last: int) -> list[str]:
    return [
        f"{' ' if gap else ''}{escape(text)}"
        for text, gap in zip(tree.chunks[first:last], tree.chunk_gap[first:last].tolist(), strict=True)
    ]


# Start of a row of numbered JSON, as scripts receive from components on the server: number, then JSON or the length of a text in bytes.
NUMBERED_ROW = re.compile(rb"([0-9a-f]{1,8}):(?:T([0-9a-f]{1,8}),|(?=[\[{\"$:A-Zntf\d-]))")
REFERENCE_TO_ROW = re.compile(r"\$([0-9a-f]{1,8})")


def is_json(body: bytes, content_type: str = "") -> bool:
    """Return True if a response is JSON, in one piece or in numbered rows, judged by its content type or its first bytes.

    >>> is_json(b' {"a": 1}'), is_json(b"[Home] | <a href=/>"), is_json(b"", "application/json; charset=utf-8")
    (True, False, True)
    >>> is_json(b'0:{"a":"$@1"}\\n1:{"n":3}\\n', "text/x-component"), is_json(b"1:1 scale models", "text/plain")
    (True, False)
    """
    if "json" in content_type.lower():
        return True
    start = body[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] not in (b"{", b"[") and (
        "html" in content_type or "text/plain" in content_type or not NUMBERED_ROW.match(start)
    ):
        return False
    try:
        json_value(body)
    except (ValueError, RecursionError):
        return False
    return True


def json_value(body: bytes) -> object:
    """Return the value of a JSON document; a list of values if it has one on each line, numbered or not. Raise ValueError if it is not JSON.

    >>> json_value(b'{"a":1}\\n{"a":2}')
    [{'a': 1}, {'a': 2}]
    >>> json_value(b'0:{"a":"$@1"}\\n2:T5,Lima\\n1:{"items":[{"text":"$2"}]}\\n')
    [{'a': '$@1'}, {'items': [{'text': 'Lima\\n'}]}]
    """
    try:
        return json.loads(body)
    except ValueError:
        if NUMBERED_ROW.match(body):
            return _numbered_rows(body)
        lines = body.split(b"\n")
        if len(lines) == 1 or not lines[0].startswith((b"{", b"[")):
            raise
        return [json.loads(line) for line in lines if line.strip()]


def _numbered_rows(body: bytes) -> list[object]:
    """Return the objects and lists of numbered JSON, with the texts that they refer to."""
    texts: dict[str, str] = {}
    values: list[object] = []
    at = 0
    while row := NUMBERED_ROW.match(body, at):
        if row[2] is not None:
            end = row.end() + int(row[2], 16)
            texts[row[1].decode()] = body[row.end() : end].decode("utf-8", "replace")
            at = end
            continue
        end = body.find(b"\n", row.end())
        end = end if end >= 0 else len(body)
        if body[row.end() : row.end() + 1] in (b"{", b"["):  # other rows name scripts and hints
            values.append(json.loads(body[row.end() : end]))
        at = end + 1
    if at < len(body) or not values:
        raise ValueError("these are not numbered rows of JSON")
    return [_with_texts(value, texts) for value in values] if texts else values


def _with_texts(value: object, texts: Mapping[str, str]) -> object:
    if isinstance(value, dict):
        return {name: _with_texts(inner, texts) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_texts(inner, texts) for inner in value]
    if isinstance(value, str) and (reference := REFERENCE_TO_ROW.fullmatch(value)):
        return texts.get(reference[1], value)
    return value


def json_as_html(body: bytes) -> str:
    """Convert a JSON document to HTML: lists become lists, lists of equally long lists tables, objects divisions with one element per key, URLs links.

    >>> json_as_html(b'[{"name": "a<b", "url": "/x", "gone": null}]')
    '<ul><li><div><p class="name" itemprop="name">a&lt;b</p><p class="url" itemprop="url"><a href="/x">/x</a></p></div></li></ul>'

    Keys of a nested object are prefixed with its key (`price_amount`). Texts that are HTML keep their elements and links. Invalid JSON becomes an empty page.
    """
    try:
        return _value_as_html(json_value(body), MAX_DEPTH, "")
    except (ValueError, RecursionError):
        return ""


def _value_as_html(value: object, depth: int, prefix: str) -> str:
    if depth <= 0 or value is None:
        return ""
    if isinstance(value, list):
        if len(value) > MAX_NUMBERS and not any(
            isinstance(item, str) or (item and isinstance(item, dict | list)) for item in value
        ):
            blocks = (value[at : at + MAX_NUMBERS] for at in range(0, len(value), MAX_NUMBERS))
            texts = (" ".join(str(item) for item in block if isinstance(item, int | float)) for block in blocks)
            return f"<ul><li>{' '.join(text for text in texts if text)}</li></ul>"
        if _are_rows(value):
            lines = ("".join(f"<td>{_value_as_html(cell, depth - 2, '')}</td>" for cell in row) for row in value)
            return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
        return "<ul>" + "".join(f"<li>{_value_as_html(item, depth - 1, '')}</li>" for item in value) + "</ul>"
    if isinstance(value, dict):
        return (
            "<div>"
            + "".join(_member_as_html(prefix + str(name), inner, depth) for name, inner in value.items())
            + "</div>"
        )
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, str) and ("<" in text or "&" in text) and _is_markup(text):
        return _markup_as_html(text)
    if isinstance(value, str) and text.startswith(("/", "http://", "https://")) and not any(c.isspace() for c in text):
        return f'<a href="{escape(text)}">{escape(text)}</a>'
    return escape(text)


def _are_rows(value: Sequence[object]) -> bool:
    """Return True if a list consists of lists of the same length, the rows of a table, and not of a few numbers each."""
    rows = [item for item in value if isinstance(item, list)]
    widths = {len(row) for row in rows}
    return (
        len(rows) == len(value) > 1
        and len(widths) == 1
        and min(widths) > 1
        and any(isinstance(cell, str) for cell in rows[0])
    )


def _member_as_html(name: str, inner: object, depth: int) -> str:
    text = _value_as_html(inner, depth - 1, f"{name}_")
    tag = "div" if isinstance(inner, dict | list) or BLOCK.search(text) else "p"
    return f'<{tag} class="{escape(name)}" itemprop="{escape(name)}">{text}</{tag}>' if text else ""
