"""Decide which links may be followed: links to pages, and never links that act (delete, buy, log out …).

`link_request` builds the request of a link with what the page says about it, so that the judgement of `urls.acting` sees it again before
the request is sent.
"""

import re
from collections import Counter
from collections.abc import Callable, Set
from dataclasses import replace
from urllib.parse import urldefrag, urlsplit

from upwell.page.tree import TagTree
from upwell.types import LinkContext, Request
from upwell.urls.acting import acting_evidence, acting_hits, may_act

__all__ = ["acting_urls", "acts", "acts_at", "is_page", "link_context", "link_request", "without_fragment"]

MAX_TEXT_CHARS = 200  # characters of a link text that are examined
MIN_TITLE_CHARS = 4  # shorter labels of records may be signs
MAX_INNER_ROWS = 12  # elements inside a link whose alternative texts and icons are read
MAX_BARE_LABEL_CHARS = 15  # label up to which the text before the link is read: "To unsubscribe, click here"
MAX_BEFORE_CHARS = 80  # length of that text
HINTS = frozenset(
    ("title", "aria-label", "data-title", "data-original-title", "data-tooltip", "data-label", "data-content")
)
MARKS = frozenset((
    "class", "id", "name", "onclick", "onmousedown", "data-method", "data-action", "data-confirm", "data-turbo-method", "data-op",
    "data-event", "data-url", "ping",
))  # fmt: skip
# Attributes of elements inside a link that say what it does: pictures and icons.
INNER = {
    "img": ("alt", "title"),
    "svg": ("aria-label", "title", "class"),
    "use": ("href", "xlink:href"),
    "i": ("class", "title", "aria-label"),
    "span": ("class", "title", "aria-label"),
    "input": ("alt", "value", "title"),
}
DIGITS = re.compile(r"\d+")
FILE_SUFFIX = re.compile(
    r"\.(?:csv|tsv|jsonl?|xml|rss|rdf|atom|ics|bib|ris|nt|ttl|txt|pdf|docx?|xlsx?|pptx?|epub|zip|gz|tgz|tar|exe|deb|whl|"
    r"png|jpe?g|gif|svg|webp|ico|css|js|mp[34]|ogg|avi|mov)$",
    re.I,
)


def without_fragment(url: str) -> str:
    """Remove the fragment of a URL, except a client-side route ("#/…", "#!…"), which is a page of its own.

    >>> without_fragment("http://x/a#top"), without_fragment("http://x/#/a"), without_fragment("http://x/#!a")
    ('http://x/a', 'http://x/#/a', 'http://x/#!a')
    """
    page, fragment = urldefrag(url)
    return url if fragment.startswith(("/", "!")) else page


def acts(url: str, text: str = "", query: str = "") -> bool:
    """Return True if following a link may act: log out, delete, edit, buy. The query itself is ignored.

    >>> acts("http://x/trip/add?city=1"), acts("http://x/catalog?id=7&do=edit"), acts("http://x/addresses?edition=2")
    (True, True, False)
    """
    context = LinkContext(label=text[:MAX_TEXT_CHARS]) if text else None
    return bool(acting_evidence(Request(url=url, query=query, context=context)))


def acts_at(tree: TagTree, row: int, url: str, query: str = "") -> bool:
    """Return True if following the link at a row of a page may act."""
    request = link_request(tree, row, url, query)
    return request.context is not None and bool(acting_evidence(request))


def acting_urls(tree: TagTree, urls: Set[str], key: Callable[[str], str] = without_fragment) -> frozenset[str]:
    """Return those of `urls` that a link of the page with an acting label leads to; `key` turns the target of a link into such a URL."""
    acting: set[str] = set()
    known: set[int] = (
        set()
    )  # path signatures of links that were judged; another link there is judged if its own texts may act
    for row, url in tree.links():
        if (own := key(url)) not in urls:
            continue
        signature = tree.signature_of[row]
        if (signature not in known or _may_act(tree, row)) and acts_at(tree, row, url):
            acting.add(own)
        known.add(signature)
    return frozenset(acting)


def _may_act(tree: TagTree, row: int) -> bool:
    attributes = tree.attributes.get(row, {})
    text = tree.text(row)
    if len(text) < MIN_TITLE_CHARS or "onclick" in attributes:
        return True
    return may_act(text) or any(may_act(value) for name in ("title", "aria-label") if (value := attributes.get(name)))


def link_request(tree: TagTree, row: int, url: str, query: str = "") -> Request:
    """Return the request of a link; it has a context only if the link has an acting word anywhere, which most links have not."""
    request = Request(url=url, query=query, context=link_context(tree, row))
    if not acting_hits(request):
        return Request(url=url, query=query)
    alike, same_label = _siblings(tree, row)
    return replace(request, context=replace(request.context or LinkContext(), alike=alike, same_label=same_label))


def link_context(tree: TagTree, row: int) -> LinkContext:
    """Return what a page says about a link or button: label, title, alternative texts, classes, click handler, the text before it."""
    own = tree.attributes.get(row, {})
    label = " ".join(tree.text(row)[:MAX_TEXT_CHARS].split())
    hints = [value for name, value in own.items() if name in HINTS and value]
    marks = [value for name, value in own.items() if name in MARKS and value]
    alternatives: list[str] = []
    for inner in range(row + 1, min(int(tree.end[row]), row + 1 + MAX_INNER_ROWS)):
        if (names := INNER.get(tree.name(inner))) is None:
            continue
        attributes = tree.attributes.get(inner, {})
        for name in names:
            if value := attributes.get(name):
                is_text = name in ("alt", "title", "aria-label", "value")
                (alternatives if name == "alt" else hints if is_text else marks).append(value)
    if tree.name(row) == "area" and (value := own.get("alt")):
        alternatives.append(value)
    if not label and alternatives:
        label = " ".join(" ".join(alternatives)[:MAX_TEXT_CHARS].split())
    else:
        hints += alternatives
    return LinkContext(
        label=label,
        hints=tuple(hints),
        marks=tuple(marks),
        around=_text_before(tree, row) if len(label) <= MAX_BARE_LABEL_CHARS else "",
        charset=tree.charset,
    )


def _text_before(tree: TagTree, row: int) -> str:
    """Return the text directly before a link in the same element; "" if there is none."""
    parent, at = int(tree.parent[row]), int(tree.text_at[row])
    if parent < 0 or at <= int(tree.text_at[parent]):
        return ""
    if any(int(tree.text_end[other]) >= at for other in tree.children(parent) if other < row):
        return ""  # the text belongs to another element, such as another link
    text = tree.chunks[at - 1]
    return text if len(text) <= MAX_BEFORE_CHARS else ""


def _siblings(tree: TagTree, row: int) -> tuple[int, int]:
    """Return how many links of a page are at the same place of its template, and how many of them have the same label."""
    known: Counter[tuple[int, str]] | None = tree.__dict__.get("_link_labels")
    if known is None:
        known = tree.__dict__["_link_labels"] = Counter(
            key for link, _ in tree.links() for key in _sibling_keys(tree, link)
        )
    keys = _sibling_keys(tree, row)
    alike, same_label, same_start = (known[key] for key in keys)
    is_command = same_start > alike / 2 and may_act(keys[2][1][1:])  # "Delete Kabul", not "Continue reading Kabul"
    return alike, max(same_label, same_start if is_command else 0)


def _sibling_keys(tree: TagTree, row: int) -> tuple[tuple[int, str], tuple[int, str], tuple[int, str]]:
    """Return the keys by which links are counted: place in the template, with the label without digits, and with its first word."""
    signature = tree.signature_of[row]
    label = DIGITS.sub("0", " ".join(tree.text(row)[:MAX_TEXT_CHARS].split()))
    return (signature, ""), (signature, f"={label}"), (signature, f"^{label.partition(' ')[0]}")


def is_page(url: str) -> bool:
    """Return True if a URL may lead to a page, not to a file or a machine-readable format.

    >>> is_page("http://x/list.php?format=csv"), is_page("http://x/list.CSV?q=1"), is_page("http://x/logo.png")
    (True, False, False)
    """
    last_segment = url.partition("?")[0].partition("#")[0].rpartition("/")[2]  # most have no suffix
    return "." not in last_segment or not FILE_SUFFIX.search(urlsplit(url).path)
