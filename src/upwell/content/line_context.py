"""Compute what surrounds each line of a page, for the judgement `content_line`: where it is, in what, beside what, and below what heading.

`content.lines` has the features of a line itself. The features here tell kinds of content apart that a line alone does not show: the posts
of a thread, the cards of a collection, the folded sections of a product.

    names      what class and id of the ancestors suggest, by the number of levels up to the nearest one (`NAMES`)
    tags       the same for some tags (`TAGS`)
    container  ancestor that is 1 … 5 levels above the line's block
    item       nearest ancestor with at least two siblings of the same tags and classes: a post, a card, a row
"""

import re
from collections import Counter
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from upwell.content.lines import FEATURES, Bools, Floats, Lines
from upwell.content.name_groups import NameGroups
from upwell.native import compiled
from upwell.page.path_signatures import MAX_CACHED_SETS, PathSignature, SignatureSet
from upwell.page.tree import TagTree

__all__ = [
    "CONTEXT_FEATURES",
    "NAMES",
    "NAME_GROUPS",
    "TEXT_FEATURES",
    "context_features",
    "names_in",
    "text_features",
    "text_features_python",
]

# Parts of lower-case classes and ids; `^` and `$` mark a part that has no letter before or after it.
NAMES = {
    "nav": "nav menu crumb",
    "head": "header masthead topbar top-bar",
    "foot": "foot",
    "side": "side aside rail$",
    "comment": "comment disqus respond response",
    "post": "post message msg thread topic answer question reply replies",
    "card": "card tile teaser item grid result listing row",
    "product": "product sku pdp",
    "price": "price cost amount",
    "review": "review rating testimonial quote",
    "fold": "faq accordion collaps toggle tab$ tabs$ panel",
    "description": "desc spec detail summary overview feature about",
    "related": "relat recommend also similar upsell cross recent popular trend more next prev recirc",
    "author": "author byline bio profile avatar user member",
    "meta": "meta date time tag categor label badge",
    "share": "share sharing social follow like vote action",
    "form": "newsletter subscri signup sign-up form login search filter facet sort select",
    "overlay": "cookie consent modal popup pop-up banner overlay dialog drawer flyout gdpr",
    "contents": "toc contents outline jump anchor",
    "title": "title headline hero heading",
    "content": "content article entry body main text prose markdown rich copy wysiwyg",
    "code": "code highlight syntax snippet",
    "advert": "^ad$ ^ads$ advert sponsor promo",
    "button": "cta btn button link",
    "hide": "hidden sr-only visually screen-reader noscript print mobile desktop",
    "media": "image img photo gallery slide carousel video caption figure swiper thumb",
    "section": "section block module widget wrapper container layout col$ column$",
}
TAGS = (
    "main", "article", "section", "header", "footer", "nav", "aside", "form", "table", "ul", "ol", "dl", "pre", "details", "noscript",
    "button", "h1", "h2", "h3", "h4", "h5", "h6",
)  # fmt: skip
TAG_NUMBER = {tag: len(NAMES) + i for i, tag in enumerate(TAGS)}
FIRST_HEADING = len(NAMES) + TAGS.index("h1")
UNNAMED = ("html", "body")  # their classes describe the page
# Rows that are repeated within an item, or are text.
NO_ITEM = frozenset(
    ("p", "br", "span", "a", "b", "strong", "em", "i", "td", "th", "tr", "h2", "h3", "h4", "dt", "dd", "option")
)
MIN_SIBLINGS = 3  # rows of the same parent and signature that are items
MAX_LEVELS = 40  # safety limit: levels in which an item is searched
LEVELS = 5  # containers of a line
LONG_CHARS = 80  # a line with more characters outside links is long
MAX_SHORT = 60  # characters of a line whose digits and prices are counted
PRICE = re.compile(r"[$€£¥₹]\s?\d|\d[.,]?\s?(?:€|EUR|USD|kr|zł|Kč)\b")
DECLARED_CHARS = 40  # first characters of a line that are searched in what the page declares
MAX_DECLARED_CHARS = 200_000  # safety limit: of one JSON-LD script
WINDOWS = (5, 20)  # lines on either side
MAX_REPEATED = 5.0
NEIGHBOURS = (-2, -1, 1, 2)
UNKNOWN_DISTANCE = -9.0  # distance to a headline that the page does not have
MIN_AGREEMENT = 0.3  # agreement with <title> of a headline

TEXT_FEATURES = (
    "words", "commas", "sentences", "ends_stop", "ends_colon", "ends_question", "begins_lower", "is_title_case", "is_upper", "digits", "price",
    "bars",
)  # fmt: skip
DIGITS, PRICE_COLUMN = TEXT_FEATURES.index("digits"), TEXT_FEATURES.index("price")
PLACE_FEATURES = (
    "hidden",
    "declared",
    "place",
    "place_in_text",
    "lines_before",
    "lines_after",
    "depth",
    "log_chars",
    "log_plain_chars",
)
STYLE_FEATURES = ("style_lines", "style_share", "style_chars", "style_linked", "repeated_text")
CONTAINER_FEATURES = tuple(
    f"{name}_{level}" for level in range(1, LEVELS + 1) for name in ("share", "linked", "chars", "lines", "at")
)
ITEM_FEATURES = (
    "items",
    "item_levels",
    "item_chars",
    "item_linked",
    "item_lines",
    "items_share",
    "items_linked",
    "items_chars",
)
NEIGHBOUR_FEATURES = tuple(
    f"{name}_{'before' if step < 0 else 'after'}_{abs(step)}"
    for step in NEIGHBOURS
    for name in ("chars", "linked", "same", "heading")
)
HEADING_FEATURES = ("level", "lines_below_heading", "level_above", "headings_before", "after_h1", "after_title")
WINDOW_FEATURES = tuple(f"{name}_around_{window}" for window in WINDOWS for name in ("prose", "linked"))
CONTEXT_FEATURES = (
    *(f"near_{name}" for name in NAMES),
    *(f"below_{tag}" for tag in TAGS),
    *TEXT_FEATURES,
    *PLACE_FEATURES,
    *STYLE_FEATURES,
    *CONTAINER_FEATURES,
    *ITEM_FEATURES,
    *NEIGHBOUR_FEATURES,
    *HEADING_FEATURES,
    *WINDOW_FEATURES,
)
HEADING, IN_TITLE = FEATURES.index("heading"), FEATURES.index("in_title")


NAME_GROUPS = NameGroups(NAMES)


@lru_cache(maxsize=10_000)
def _numbers(bits: int) -> tuple[int, ...]:
    return tuple([i for i in range(len(NAMES)) if bits >> i & 1])


def names_in(name: str) -> tuple[int, ...]:
    """Return the indices of `NAMES` that a class or id contains.

    >>> [list(NAMES)[i] for i in names_in("post-body ad-slot")]
    ['post', 'content', 'advert']
    """
    bits = NAME_GROUPS.bits_in(name)
    return _numbers(bits) if bits else ()


MAX_CACHED_ROWS = 50_000  # safety limit: signatures in the cache below
_known_levels: dict[PathSignature, NDArray[np.int16]] = {}


def _levels_of(signature: PathSignature) -> NDArray[np.int16]:
    """Return the depth + 1 of the nearest ancestor, or the element itself, with each name and tag; 0 if there is none."""
    known = _known_levels.get(signature)
    if known is not None:
        return known
    above = signature.above
    levels = np.zeros(len(NAMES) + len(TAGS), np.int16) if above is None else _levels_of(above)
    found = list(names_in(signature.cls)) if signature.cls and signature.tag not in UNNAMED else []
    if (tag := TAG_NUMBER.get(signature.tag)) is not None:
        found.append(tag)
    if found:
        levels = levels.copy()
        levels[found] = signature.depth + 1
    if len(_known_levels) > MAX_CACHED_ROWS:
        _known_levels.clear()
    _known_levels[signature] = levels
    return levels


@lru_cache(maxsize=MAX_CACHED_SETS)
def _may_be_item(signatures: SignatureSet) -> Bools:
    return np.array([signature.tag not in NO_ITEM for signature in signatures.signatures], bool)


def context_features(tree: TagTree, lines: Lines, x: Floats) -> Floats:
    """Return the context of the lines of a page: a row per line, a column per name in CONTEXT_FEATURES; `x` has the lines' own features."""
    if not len(lines):
        return np.zeros((0, len(CONTEXT_FEATURES)))
    near, level = _names_and_tags(tree, lines)
    sums = np.zeros((3, len(lines) + 1))
    np.cumsum((lines.chars, lines.chars * lines.linked, np.ones(len(lines))), axis=1, out=sums[:, 1:])
    numbers: dict[str, int] = {}
    style = np.array([numbers.setdefault(style, len(numbers)) for style in lines.styles])
    columns = [
        near,
        text_features(lines.texts),
        _place(tree, lines).T,
        _style(lines, style).T,
        _containers(tree, lines, sums).T,
        _items(tree, lines, sums).T,
        _neighbours(lines, style, x[:, HEADING]).T,
        _headings(level, x[:, IN_TITLE]).T,
        _windows(lines).T,
    ]
    return np.hstack(columns)


def _names_and_tags(tree: TagTree, lines: Lines) -> tuple[Floats, NDArray[np.int64]]:
    """Return 1 / (1 + levels up to the nearest ancestor) for each name and tag, and the level of the heading that a line is in (else 0)."""
    depth = tree.depth
    signatures, number = np.unique(tree.signature[lines.row], return_inverse=True)
    levels = np.array([_levels_of(tree.signatures[i]) for i in signatures.tolist()], np.int16)[number]
    rows = [(row, found) for row, name in tree.attribute_by_row("id").items() if row > 1 and (found := names_in(name))]
    if rows:
        named = np.array([row for row, _ in rows])
        places = np.searchsorted(lines.first, (tree.text_at[named], tree.text_end[named])).T.tolist()
        for (first, last), (_, found), level in zip(places, rows, (depth[named] + 1).tolist(), strict=True):
            if first < last:
                for i in found:
                    np.maximum(levels[first:last, i], level, out=levels[first:last, i])
    near = np.where(levels > 0, 1 / np.maximum(1, depth[lines.row][:, np.newaxis] + 2 - levels), 0.0)
    headings = levels[:, FIRST_HEADING:] > 0
    return near, np.where(headings.any(axis=1), headings.argmax(axis=1) + 1, 0)


def text_features(texts: tuple[str, ...]) -> Floats:
    """Return what the texts of lines contain: a row per line, a column per name in TEXT_FEATURES."""
    if compiled is None:
        return text_features_python(texts)
    x = np.frombuffer(bytearray(compiled.text_features(texts, MAX_SHORT))).reshape(-1, len(TEXT_FEATURES))
    for i in (x[:, DIGITS] > 0).nonzero()[0].tolist():
        x[i, PRICE_COLUMN] = PRICE.search(texts[i]) is not None
    return x


def text_features_python(texts: tuple[str, ...]) -> Floats:
    """Compute `text_features` without native code."""
    return np.array([_text_features(text) for text in texts], np.float64)


def _text_features(text: str) -> tuple[float, ...]:
    last, is_short = text[-1], len(text) < MAX_SHORT
    return (
        text.count(" ") + 1,
        text.count(",") + text.count(";"),
        text.count(". ") + text.count("? ") + text.count("! ") + text.count("。"),
        last in ".!?。！？",
        last in ":：",
        last in "?？",
        text[0].islower(),
        is_short and text.istitle(),
        is_short and text.isupper(),
        sum(map(str.isdigit, text)) / len(text) if is_short else 0.0,
        is_short and PRICE.search(text) is not None,
        "|" in text or "·" in text or "•" in text,
    )


def _place(tree: TagTree, lines: Lines) -> Floats:
    count, at = len(lines), np.arange(len(lines))
    before = np.cumsum(lines.chars) - lines.chars
    return np.array(
        [
            tree.is_hidden_chunk[lines.first],
            _is_declared(tree, lines),
            at / count,
            before / max(1.0, lines.chars.sum()),
            np.log1p(at),
            np.log1p(count - at),
            tree.depth[lines.row],
            np.log1p(lines.chars),
            np.log1p(lines.chars * (1 - lines.linked)),
        ]
    )


def _is_declared(tree: TagTree, lines: Lines) -> Bools:
    """Return which longer lines begin with a text of the page's JSON-LD or description."""
    texts = [
        data[:MAX_DECLARED_CHARS]
        for row, data in tree.data.items()
        if "ld+json" in (tree.attr(row, "type") or "").lower()
    ]
    described = (row for row, name in tree.attribute_by_row("name").items() if name.lower() == "description")
    texts += [tree.attr(row, "content") or "" for row in described]
    declared = "\n".join(texts).lower()
    is_declared = np.zeros(len(lines), bool)
    if declared:
        for i in ((lines.chars >= DECLARED_CHARS) & (lines.linked < 0.5)).nonzero()[0].tolist():
            is_declared[i] = lines.texts[i][:DECLARED_CHARS].lower() in declared
    return is_declared


def _style(lines: Lines, style: NDArray[np.int64]) -> Floats:
    count, chars = np.bincount(style), np.bincount(style, lines.chars)
    linked = np.bincount(style, lines.chars * lines.linked)
    times = Counter(lines.texts)
    return np.array(
        [
            np.log1p(count)[style],
            (chars / max(1.0, lines.chars.sum()))[style],
            np.log1p(chars / count)[style],
            (linked / np.maximum(chars, 1))[style],
            np.minimum([times[text] for text in lines.texts], MAX_REPEATED),
        ]
    )


def _containers(tree: TagTree, lines: Lines, sums: Floats) -> Floats:
    """Return share of the page, share of links, mean length and number of lines, and position of the line, for each container."""
    columns, row, at, total = [], lines.row, np.arange(len(lines)), max(1.0, sums[0, -1])
    for _ in range(LEVELS):
        row = np.maximum(tree.parent[row], 0)
        first, last = (np.searchsorted(lines.first, place[row]) for place in (tree.text_at, tree.text_end))
        chars, linked, count = sums[:, last] - sums[:, first]
        count = np.maximum(count, 1)
        columns += [
            chars / total,
            linked / np.maximum(chars, 1),
            np.log1p(chars / count),
            np.log1p(count),
            (at - first) / count,
        ]
    return np.array(columns)


def _items(tree: TagTree, lines: Lines, sums: Floats) -> Floats:
    """Return the number of items, and size, links and lines of the item that a line is in, and of all its siblings together."""
    signatures = len(tree.signatures)
    key = tree.parent.astype(np.int64) * (signatures + 1) + tree.signature
    _, group, counts = np.unique(key, return_inverse=True, return_counts=True)
    siblings = counts[group]
    is_item = (siblings >= MIN_SIBLINGS) & _may_be_item(tree.signature_set)[tree.signature]
    row = lines.row
    for _ in range(MAX_LEVELS):
        is_found = is_item[row]
        if (is_found | (row == 0)).all():
            break
        row = np.where(is_found, row, np.maximum(tree.parent[row], 0))
    has_item = is_item[row]
    first, last = (np.searchsorted(lines.first, place[row]) for place in (tree.text_at, tree.text_end))
    chars, linked, count = sums[:, last] - sums[:, first]
    own = group[row]
    all_chars = np.bincount(own, lines.chars * has_item)[own]
    all_linked = np.bincount(own, lines.chars * lines.linked * has_item)[own]
    columns = [
        np.log1p(siblings[row]),
        tree.depth[lines.row] - tree.depth[row],
        np.log1p(chars),
        linked / np.maximum(chars, 1),
        count,
        all_chars / max(1.0, sums[0, -1]),
        all_linked / np.maximum(all_chars, 1),
        np.log1p(all_chars / np.maximum(siblings[row], 1)),
    ]
    return np.where(has_item, np.array(columns), 0.0)


def _neighbours(lines: Lines, style: NDArray[np.int64], is_heading: Floats) -> Floats:
    at, columns = np.arange(len(lines)), []
    size = np.log1p(lines.chars)
    for step in NEIGHBOURS:
        there = at + step
        is_line = (there >= 0) & (there < len(lines))
        there = np.clip(there, 0, len(lines) - 1)
        columns += [
            np.where(is_line, size[there], 0),
            np.where(is_line, lines.linked[there], 1),
            is_line & (style[there] == style),
            np.where(is_line, is_heading[there], 0),
        ]
    return np.array(columns)


def _headings(level: NDArray[np.int64], agreement: Floats) -> Floats:
    """Return level and distance of the heading above each line, and the distances to <h1> and to the line that agrees with <title>."""
    at = np.arange(len(level))
    above = np.maximum.accumulate(np.where(level > 0, at, -1))
    first = np.flatnonzero(level == 1)
    h1 = int(first[0]) if len(first) else -1
    title = int(agreement.argmax()) if agreement.max() > MIN_AGREEMENT else h1
    return np.array(
        [
            level,
            np.where(above >= 0, np.log1p(at - above), 5.0),
            np.where(above >= 0, level[above], 0),
            np.log1p(np.cumsum(level > 0)),
            *(
                np.sign(at - line) * np.log1p(abs(at - line)) if line >= 0 else np.full(len(at), UNKNOWN_DISTANCE)
                for line in (h1, title)
            ),
        ]
    )


def _windows(lines: Lines) -> Floats:
    """Return characters of prose, and share of links, among the lines around each line."""
    columns, at = [], np.arange(len(lines))
    prose = lines.chars * ((lines.chars > LONG_CHARS) & (lines.linked < 0.5))
    sums = np.zeros((3, len(lines) + 1))
    np.cumsum((prose, lines.chars, lines.chars * lines.linked), axis=1, out=sums[:, 1:])
    for window in WINDOWS:
        inside = sums[:, np.minimum(at + window + 1, len(lines))] - sums[:, np.maximum(at - window, 0)]
        columns += [np.log1p(inside[0]), inside[2] / np.maximum(inside[1], 1)]
    return np.array(columns)
