"""A page as lines of text, and what its tags and classes say about where they stand.

line    the chunks between two edges of blocks: a paragraph, a heading, a caption, an entry of a menu
style   the path of tags and classes that a line stands at, without digits and positions: lines of one role share it
role    what the class or the id of a row names it: a caption, a comment, the body of the text …
code    what a row's spot says, as the bits of one number
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from upwell.page.compiled import compiled
from upwell.page.spots import BROKEN, INLINE, Spot
from upwell.page.terms import CJK_RUN, EDGE
from upwell.page.tree import Ints, TagTree

__all__ = [
    "ALL_ROLES", "ENCLOSING_BITS", "IN_FLOW", "IS_CELL", "IS_ITEMS", "NAMES", "OWN_BITS", "ROLES_FROM", "Floats", "Lines", "lines_of",
    "plain_lines", "role_of_name",
]  # fmt: skip

Floats = NDArray[np.float64]

# Words in class and id, in lower case, by which authors of pages name what is not the text, and what is.
CAPTION_NAME = re.compile(r"caption|credit|photo|image|img|thumb|cutline|gallery|slide|figure")
ASIDE_NAME = re.compile(
    r"comment|relat|shar(?:e|ing)|social|promo|sponsor|advert|(?<![a-z])ads?(?![a-z])|foot|nav|menu|side|tool|byline|author|date|"
    r"time|meta|tags?(?![a-z])|rss|subscri|newsletter|bread|crumb|pager|paginat|print|e-?mail|poll|widget|teaser|more|links|media|"
    r"video|bio|disclaim|copyright|login|popular|recommend|rail|module|box|signup|trend|follow"
)
COMMENT_NAME = re.compile(r"comment|disqus|repl(?:y|ies)|respon[sd]|feedback|review")
OVERLAY_NAME = re.compile(
    r"cookie|consent|gdpr|modal|pop-?up|overlay|banner|hidden|visually|sr-only|screen-?reader|paywall|subscri|newsletter|sign-?up|noprint"
)
RELATED_NAME = re.compile(
    r"relat|recommend|popular|trend|more|also|promo|sponsor|teaser|recirc|read-?next|gallery|carousel|slide"
)
BODY_NAME = re.compile(r"article|body|content|entry|story|text|post|main|para")
# Blocks of many items that each have prose of their own: together often more than the text.
ITEMS_NAME = re.compile(COMMENT_NAME.pattern + "|gallery|carousel|slide-?show")
NAMES = (CAPTION_NAME, ASIDE_NAME, BODY_NAME, COMMENT_NAME, OVERLAY_NAME, RELATED_NAME, ITEMS_NAME)
ALL_ROLES, IS_ITEMS = (1 << len(NAMES)) - 1, 1 << NAMES.index(ITEMS_NAME)
BETWEEN = ("", " ", EDGE)  # what is put for GLUED, SPACED and BROKEN while all lines are made at once


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a page as columns: line i is the chunks first[i] … last[i], in the block row[i]."""

    first: Ints
    last: Ints
    row: Ints
    texts: tuple[str, ...]
    chars: Floats  # a CJK character counts for three: it says as much in fewer characters
    linked: Floats  # share of the characters that is in links
    styles: tuple[str, ...]
    codes: NDArray[np.int64]  # what the tags and classes of each row of the page say (`_code`)

    def __len__(self) -> int:
        return len(self.texts)


def lines_of(tree: TagTree) -> Lines:
    """The lines of a page, in reading order."""
    if compiled is None:
        return plain_lines(tree)
    first, last, row, texts, chars, linked, styles, codes = compiled.lines(
        tree.chunks, tree.chunk_gap, tree.chunk_row, tree.parent, tree.spot, tree.spots, _known(), _code
    )
    return Lines(
        np.frombuffer(first, np.int32),
        np.frombuffer(last, np.int32),
        np.frombuffer(row, np.int32),
        texts,
        np.frombuffer(chars),
        np.frombuffer(linked),
        styles,
        np.frombuffer(codes, np.int64),
    )


def plain_lines(tree: TagTree) -> Lines:
    """The same without the compiled parts."""
    count = len(tree.chunks)
    begins_line = tree.chunk_gap == BROKEN
    begins_line[:1] = True
    first = np.flatnonzero(begins_line).astype(np.int32)
    last = np.append(first[1:], count).astype(np.int32)[: len(first)]
    chunks = tree.chunks
    gaps = np.where(begins_line, BROKEN, tree.chunk_gap).tolist()
    texts = "".join([BETWEEN[gap] + chunk for gap, chunk in zip(gaps, chunks, strict=True)]).split(EDGE)[1:]
    codes = tree.by_spot(_codes(tree.spots), np.int64)
    row = tree.chunk_row[first]
    while (is_inline := codes[row] & IS_INLINE > 0).any():
        row = np.where(is_inline, tree.parent[row], row)
    sizes = np.fromiter(map(len, chunks), np.float64, count)
    if CJK_RUN.search("".join([chunk for chunk in chunks if not chunk.isascii()])):
        sizes += np.array([2 * sum(map(len, CJK_RUN.findall(chunk))) for chunk in chunks], dtype=np.float64)
    in_link = codes[tree.chunk_row] & IN_LINK > 0
    chars_before, linked_before = np.zeros(count + 1), np.zeros(count + 1)
    np.cumsum(sizes, out=chars_before[1:])
    np.cumsum(sizes * in_link, out=linked_before[1:])
    chars = chars_before[last] - chars_before[first]
    linked = (linked_before[last] - linked_before[first]) / chars
    spots = tree.spots
    styles = tuple([spots[number].style for number in tree.spot[row].tolist()])
    return Lines(first, last, row, tuple(texts), chars, linked, styles, codes)


OWN_TAGS = {
    "paragraph": ("p",),
    "heading": ("h1", "h2", "h3", "h4", "h5", "h6"),
    "list_item": ("li", "dd", "dt"),
    "cell": ("td", "th"),
}
ENCLOSING_TAGS = {
    "in_control": ("option", "select", "button", "textarea", "label", "legend"),
    "in_list": ("ul", "ol", "dl", "menu"),
    "in_form": ("form",),
    "in_aside": ("nav", "footer", "aside"),
    "in_figure": ("figure", "figcaption", "caption"),
    "in_quote": ("blockquote",),
    "in_article": ("article", "main"),
    "in_header": ("header",),
}

# What a spot says about the lines that stand there, as bits of one number: …
IS_INLINE, IN_LINK, IN_FLOW, IS_CELL = 1, 2, 4, 8
# … then those of OWN_TAGS and of ENCLOSING_TAGS, …
OWN_BITS = 1 << 4 + np.arange(len(OWN_TAGS))
ENCLOSING_BITS = 1 << 8 + np.arange(len(ENCLOSING_TAGS))
KNOWN = 1 << 62  # so that no code is 0
ROLES_FROM = 16  # … and the names of its class (`role_of_name`)
ABOVE = IN_LINK | int(ENCLOSING_BITS.sum())  # what holds for all that stands below
LINK_TAGS, CELL_TAGS = ("a", "button"), ("td", "th")
# Elements that a writer types: what they hold is part of the text around them (`flow`).
FLOW_TAGS = INLINE | {
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd", "blockquote", "pre", "center", "table", "tbody", "thead",
    "tfoot", "tr", "caption",
}  # fmt: skip
MAX_KNOWN_SPOTS = 50_000
_known_codes: dict[Spot, int] = {}


def _known() -> dict[Spot, int]:
    """The codes of the spots that were met before."""
    if len(_known_codes) > MAX_KNOWN_SPOTS:
        _known_codes.clear()
    return _known_codes


def _codes(spots: Sequence[Spot]) -> list[int]:
    """The code of each spot."""
    known = _known()
    return [known.get(at) or _code(at) for at in spots]


def _code(spot: Spot) -> int:
    """What a spot says about the lines that stand there; it is remembered, and those of the spots above it were before."""
    code = _code_of_tag(spot.tag) | role_of_name(spot.cls) << ROLES_FROM | KNOWN
    if spot.above is not None:
        code |= (_known_codes.get(spot.above) or _code(spot.above)) & ABOVE
    _known_codes[spot] = code
    return code


@lru_cache(maxsize=10_000)
def _code_of_tag(tag: str) -> int:
    """What a tag alone says."""
    code = (
        IS_INLINE * (tag in INLINE)
        | IN_LINK * (tag in LINK_TAGS)
        | IN_FLOW * (tag in FLOW_TAGS)
        | IS_CELL * (tag in CELL_TAGS)
    )
    for groups, bits in ((OWN_TAGS, OWN_BITS), (ENCLOSING_TAGS, ENCLOSING_BITS)):
        code |= sum(bit for bit, names in zip(bits.tolist(), groups.values(), strict=True) if tag in names)
    return code


@lru_cache(maxsize=100_000)
def role_of_name(name: str) -> int:
    """Which of NAMES a name has, a bit for each; small letters instead of re.I, which takes four times as long."""
    name = name.lower()
    return sum((words.search(name) is not None) << i for i, words in enumerate(NAMES))
