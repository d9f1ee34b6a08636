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
from upwell.native import compiled
from upwell.page.path_signatures import MAX_CACHED_SETS, PathSignature, SignatureSet
from upwell.page.tree import TagTree

__all__ = ["CONTEXT_FEATURES", "NAMES", "context_features", "names_in", "names_in_python"]

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
FIRST_HEADING = len(NAMES) + TAGS.index("h1")
UNNAMED = ("html", "body")  # their classes describe the page
# Rows that are repeated within an item, or are text.
NO_ITEM = frozenset(("p", "br", "span", "a", "b", "strong", "em", "i", "td", "th", "tr", "h2", "h3", "h4", "dt", "dd", "option"))
MIN_SIBLINGS = 3  # rows of the same parent and signature that are items
MAX_LEVELS = 40  # safety limit: levels in which an item is searched
LEVELS = 5  # containers of a line
LONG_CHARS = 80  # a line with more characters outside links is long
MAX_SHORT = 60  # characters of a line whose digits and prices are counted
PRICE = re.compile(r"[$€£¥₹]\s?\d|\d[\d.,]*\s?(?:€|EUR|USD|kr|zł|Kč)\b")
WINDOWS = (5, 20)  # lines on either side
MAX_REPEATED = 5.0
NEIGHBOURS = (-2, -1, 1, 2)
UNKNOWN_DISTANCE = -9.0  # distance to a headline that the page does not have
MIN_AGREEMENT = 0.3  # agreement with <title> of a headline

TEXT_FEATURES = (
    "words", "commas", "sentences", "ends_stop", "ends_colon", "ends_question", "begins_lower", "is_title_case", "is_upper", "digits", "price",
    "bars",
)  # fmt: skip
PLACE_FEATURES = ("hidden", "place", "place_in_text", "lines_before", "lines_after", "depth", "log_chars", "log_plain_chars")
STYLE_FEATURES = ("style_lines", "style_share", "style_chars", "style_linked", "repeated_text")
CONTAINER_FEATURES = tuple(
    f"{name}_{level}" for level in range(1, LEVELS + 1) for name in ("share", "linked", "chars", "lines", "at")
)
ITEM_FEATURES = ("items", "item_levels", "item_chars", "item_linked", "item_lines", "items_share", "items_linked", "items_chars")
NEIGHBOUR_FEATURES = tuple(
    f"{name}_{'before' if step < 0 else 'after'}_{abs(step)}" for step in NEIGHBOURS for name in ("chars", "linked", "same", "heading")
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


def _pattern(words: str) -> re.Pattern[str]:
    """Return the pattern of the words of a name."""
    parts = [
        "(?<![a-z])" * word.startswith("^") + re.escape(word.strip("^$")) + "(?![a-z])" * word.endswith("$")
        for word in words.split()
    ]
    return re.compile("|".join(parts))


def _native_words() -> tuple[tuple[bytes, ...], bytes, NDArray[np.int32]]:
    """Return the words of all names as arguments of the native function."""
    words = sorted(
        (word.strip("^$").encode(), name, word.startswith("^") + 2 * word.endswith("$"))
        for name, of_name in enumerate(NAMES.values())
        for word in of_name.split()
    )
    letters = [word[0] - ord("a") for word, _, _ in words]
    first = np.searchsorted(letters, np.arange(27)).astype(np.int32)
    return tuple(word for word, _, _ in words), bytes(part for _, name, bits in words for part in (name, bits)), first


NAME_PATTERNS = tuple(_pattern(words) for words in NAMES.values())
NATIVE_WORDS = _native_words()


@lru_cache(maxsize=100_000)
def names_in(name: str) -> tuple[int, ...]:
    """Return the indices of `NAMES` that a class or id contains.

    >>> [list(NAMES)[i] for i in names_in("post-body ad-slot")]
    ['post', 'content', 'advert']
    """
    found = compiled.groups_in(name, *NATIVE_WORDS) if compiled is not None else None
    if found is None:
        return names_in_python(name)
    return tuple([i for i in range(len(NAMES)) if found >> i & 1]) if found else ()


def names_in_python(name: str) -> tuple[int, ...]:
    """Compute `names_in` without native code."""
    name = name.lower()
    return tuple([i for i, pattern in enumerate(NAME_PATTERNS) if pattern.search(name)])


MAX_CACHED_ROWS = 50_000  # safety limit: signatures in the cache below
_known_levels: dict[PathSignature, NDArray[np.int16]] = {}


def _levels_of(signature: PathSignature) -> NDArray[np.int16]:
    """Return the depth + 1 of the nearest ancestor, or the element itself, with each name and tag; 0 if there is none."""
    known = _known_levels.get(signature)
    if known is not None:
        return known
    above = signature.above
    levels = np.zeros(len(NAMES) + len(TAGS), np.int16) if above is None else _levels_of(above).copy()
    if signature.tag not in UNNAMED:
        for i in names_in(signature.cls):
            levels[i] = signature.depth + 1
    if signature.tag in TAGS:
        levels[len(NAMES) + TAGS.index(signature.tag)] = signature.depth + 1
    if len(_known_levels) > MAX_CACHED_ROWS:
        _known_levels.clear()
    _known_levels[signature] = levels
    return levels


@lru_cache(maxsize=MAX_CACHED_SETS)
def _levels(signatures: SignatureSet) -> NDArray[np.int16]:
    return np.array([_levels_of(signature) for signature in signatures.signatures], np.int16)


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
        np.array([_text_features(text) for text in lines.texts]),
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
    levels = _levels(tree.signature_set)[tree.signature[lines.row]]
    for row, name in tree.attribute_by_row("id").items():
        if name and row > 1 and (found := names_in(name)):
            first, last = np.searchsorted(lines.row, (row, tree.end[row]))
            if first < last:
                inside = levels[first:last]
                for i in found:
                    np.maximum(inside[:, i], depth[row] + 1, out=inside[:, i])
    near = np.where(levels > 0, 1 / np.maximum(1, depth[lines.row][:, np.newaxis] + 2 - levels), 0.0)
    headings = levels[:, FIRST_HEADING:] > 0
    return near, np.where(headings.any(axis=1), headings.argmax(axis=1) + 1, 0)


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
            at / count,
            before / max(1.0, lines.chars.sum()),
            np.log1p(at),
            np.log1p(count - at),
            tree.depth[lines.row],
            np.log1p(lines.chars),
            np.log1p(lines.chars * (1 - lines.linked)),
        ]
    )


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
        columns += [chars / total, linked / np.maximum(chars, 1), np.log1p(chars / count), np.log1p(count), (at - first) / count]
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
