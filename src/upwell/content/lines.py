"""Split a page into text lines, compute their features, and find the flow of text that each line belongs to.

    line     the chunks between two block boundaries: a paragraph, a heading, a caption, a menu entry (`split_lines`)
    style    path of tags and classes of a line, without digits and positions; lines with the same function share it
    role     function that a class or id suggests: caption, comment, body … (`name_roles`)
    code     bit set of everything that tags and classes say about a row
    prose    lines that are long enough and mostly outside links; their characters outside links are their mass
    flow     lines that share the closest ancestor outside paragraphs, headings, lists, quotes and table rows (`find_text_flow`)

Authors write elements of the flow; templates put related links, share buttons and newsletter forms into blocks of their own. A list of
links therefore belongs to the text if it is in the flow of the text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log2

import numpy as np
from numpy.typing import NDArray

from upwell.content.name_groups import NameGroups
from upwell.lexicon.scripts import CJK_RUN
from upwell.native import compiled
from upwell.page.path_signatures import BROKEN, INLINE, MAX_CACHED_SETS, PathSignature, SignatureSet
from upwell.page.tokens import EDGE, tokens
from upwell.page.tree import Ints, TagTree

__all__ = [
    "ALL_ROLES",
    "ENCLOSING_BITS",
    "FEATURES",
    "FIRST_ROLE_BIT",
    "IN_FLOW",
    "IS_CELL",
    "IS_ITEMS",
    "OWN_BITS",
    "ROLE_NAMES",
    "SHORT_LINE_CHARS",
    "Bools",
    "Floats",
    "Lines",
    "TextFlow",
    "continues_text",
    "find_text_flow",
    "headings_without_text",
    "line_features",
    "line_features_python",
    "name_roles",
    "split_lines",
    "split_lines_python",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Words of classes and ids that suggest a role.
COMMENT_WORDS = "comment disqus reply replies respons respond feedback review"
ROLE_NAMES = NameGroups(
    {
        "caption": "caption credit photo image img thumb cutline gallery slide figure",
        "aside": "comment relat share sharing social promo sponsor advert ^ad$ ^ads$ foot nav menu side tool byline author date time meta tag$ "
        "tags$ rss subscri newsletter bread crumb pager paginat print email e-mail poll widget teaser more links media video bio disclaim "
        "copyright login popular recommend rail module box signup trend follow",
        "body": "article body content entry story text post main para",
        "comment": COMMENT_WORDS,
        "overlay": "cookie consent gdpr modal popup pop-up overlay banner hidden visually sr-only screenreader screen-reader paywall subscri "
        "newsletter signup sign-up noprint",
        "related": "relat recommend popular trend more also promo sponsor teaser recirc readnext read-next gallery carousel slide",
        # blocks of many items with prose, which together may exceed the text
        "items": COMMENT_WORDS + " gallery carousel slideshow slide-show",
    }
)
ROLES = len(ROLE_NAMES.names)
ALL_ROLES, IS_ITEMS = (1 << ROLES) - 1, 1 << ROLE_NAMES.names.index("items")
# A page with more than MAX_SHORT_LINES lines that have fewer than MIN_LINE_CHARS characters on average is no text but a table of numbers or
# letters: several of its lines are read as one. A line needs 600 bytes for its features, and the shortest element with a text has 4.
MAX_SHORT_LINES, MIN_LINE_CHARS = 10_000, 20
MERGED = 3  # gap between lines that are read as one; the text keeps the line break
GAP_TEXT = ("", " ", EDGE, "\n")  # text inserted for GLUED, SPACED, BROKEN and MERGED when all lines are built at once


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines of a page as columns: line i has the chunks from first[i] to last[i] (exclusive) and is in the block row[i]."""

    first: Ints
    last: Ints
    row: Ints
    texts: tuple[str, ...]
    chars: Floats  # a CJK character counts as three, because it carries more information
    linked: Floats  # share of the characters in links
    styles: tuple[str, ...]
    codes: NDArray[np.int64]  # code of each row of the page (`_code`)

    def __len__(self) -> int:
        return len(self.texts)


def _gaps(tree: TagTree) -> NDArray[np.int8]:
    """Return the gap before each chunk; on a page of too many short lines, several lines are one."""
    gaps = tree.chunk_gap
    if len(gaps) <= MAX_SHORT_LINES:
        return gaps
    breaks = (gaps == BROKEN).nonzero()[0]
    most = max(MAX_SHORT_LINES, sum(map(len, tree.chunks)) // MIN_LINE_CHARS)
    if len(breaks) <= most:
        return gaps
    gaps = gaps.copy()
    gaps[breaks] = MERGED
    gaps[breaks[:: -(-len(breaks) // most)]] = BROKEN
    return gaps


def split_lines(tree: TagTree) -> Lines:
    """Return the lines of a page in document order."""
    if compiled is None:
        return split_lines_python(tree)
    codes = _codes(tree.signature_set)[tree.signature]
    first, last, rows, texts, chars, linked = compiled.lines(
        tree.chunks, _gaps(tree), tree.chunk_row, tree.parent, codes
    )
    row = np.frombuffer(rows, np.int32)
    return Lines(
        np.frombuffer(first, np.int32),
        np.frombuffer(last, np.int32),
        row,
        texts,
        np.frombuffer(chars),
        np.frombuffer(linked),
        _styles(tree, row),
        codes,
    )


def split_lines_python(tree: TagTree) -> Lines:
    """Compute `split_lines` without native code."""
    count = len(tree.chunks)
    chunk_gap = _gaps(tree)
    begins_line = chunk_gap == BROKEN
    begins_line[:1] = True
    first = np.flatnonzero(begins_line).astype(np.int32)
    last = np.append(first[1:], count).astype(np.int32)[: len(first)]
    chunks = tree.chunks
    gaps = np.where(begins_line, BROKEN, chunk_gap).tolist()
    texts = "".join([GAP_TEXT[gap] + chunk for gap, chunk in zip(gaps, chunks, strict=True)]).split(EDGE)[1:]
    codes = _codes(tree.signature_set)[tree.signature]
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
    return Lines(first, last, row, tuple(texts), chars, linked, _styles(tree, row), codes)


def _styles(tree: TagTree, rows: Ints) -> tuple[str, ...]:
    """Return the style of each of some rows."""
    signatures = tree.signatures
    return tuple([signatures[number].style for number in tree.signature[rows].tolist()])


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

# Bits of a code: four properties, OWN_TAGS, ENCLOSING_TAGS, and from FIRST_ROLE_BIT on the roles of the class (`name_roles`).
IS_INLINE, IN_LINK, IN_FLOW, IS_CELL = 1, 2, 4, 8
OWN_BITS = 1 << 4 + np.arange(len(OWN_TAGS))
ENCLOSING_BITS = 1 << 8 + np.arange(len(ENCLOSING_TAGS))
FIRST_ROLE_BIT = 16
CODE_IS_SET = 1 << 62  # set in every code, so that none is 0
INHERITED_BITS = IN_LINK | int(ENCLOSING_BITS.sum())  # bits that hold for all descendants
LINK_TAGS, CELL_TAGS = ("a", "button"), ("td", "th")
# Elements that authors write: their text is part of the flow around them.
FLOW_TAGS = INLINE | {
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd", "blockquote", "pre", "center", "table", "tbody", "thead",
    "tfoot", "tr", "caption",
}  # fmt: skip
MAX_CACHED_CODES = 50_000  # safety limit: bounds the memory of the cache below
_known_codes: dict[PathSignature, int] = {}


def _code_cache() -> dict[PathSignature, int]:
    """Return the cache of codes, emptied if it is full."""
    if len(_known_codes) > MAX_CACHED_CODES:
        _known_codes.clear()
    return _known_codes


@lru_cache(maxsize=MAX_CACHED_SETS)
def _codes(signatures: SignatureSet) -> NDArray[np.int64]:
    """Return the code of each signature of a page."""
    known = _code_cache()
    return np.array([known.get(signature) or _code(signature) for signature in signatures.signatures], dtype=np.int64)


def _code(signature: PathSignature) -> int:
    """Compute and cache the code of a signature."""
    code = _code_of_tag(signature.tag) | name_roles(signature.cls) << FIRST_ROLE_BIT | CODE_IS_SET
    if signature.above is not None:
        code |= (_known_codes.get(signature.above) or _code(signature.above)) & INHERITED_BITS
    _known_codes[signature] = code
    return code


@lru_cache(maxsize=10_000)
def _code_of_tag(tag: str) -> int:
    """Return the bits of a tag."""
    code = (
        IS_INLINE * (tag in INLINE)
        | IN_LINK * (tag in LINK_TAGS)
        | IN_FLOW * (tag in FLOW_TAGS)
        | IS_CELL * (tag in CELL_TAGS)
    )
    for groups, bits in ((OWN_TAGS, OWN_BITS), (ENCLOSING_TAGS, ENCLOSING_BITS)):
        code |= sum(bit for bit, names in zip(bits.tolist(), groups.values(), strict=True) if tag in names)
    return code


name_roles = ROLE_NAMES.bits_in  # the roles that a class or id suggests, a bit per group


# Features of lines.

COUNT_BITS = 9
MAX_COUNT = (1 << COUNT_BITS) - 1
# Counters of each role packed into one number, so that roles can be summed.
ROLE_COUNTS = np.array(
    [sum((roles >> i & 1) << COUNT_BITS * i for i in range(ROLES)) for roles in range(ALL_ROLES + 1)],
    dtype=np.int64,
)
# weight of prose in blocks of items; swept with sites left out: 0 (fails if a class misleads), 0.1, 0.2, 0.3
ITEM_MASS = 0.2
MAX_ITEMS_SHARE = 0.9  # a block with more of the prose is the text, whatever its class
MONTH = r"[^\W\d_]{3,12}"  # in any language
YEAR = r"(?:19|20)\d\d\b"
DATE = re.compile(
    rf"\b(?:{MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?,? {YEAR}|\d{{1,2}}\.? (?:de )?{MONTH}\.?,? (?:de )?{YEAR}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|"
    rf"\d{{4}}-\d{{2}}-\d{{2}})|\d{{4}}年\d{{1,2}}月",
    re.I,
)
BYLINE = re.compile(r"\s*(?:by|von|par|por|di|door|av)[\s:]+[A-Z]", re.I)
# characters of a dateline besides its date; sentences with a date have more; swept with sites left out: 30, 40, 50, 60, 80, any
MAX_CHARS_BESIDE_DATE = 30
SENTENCE_ENDS = ".!?。！？…\"”’')"
COPYRIGHT_MARKS = ("©", "opyright", "rights reserved")
MIN_PROSE_CHARS = 60  # shorter lines are not prose; swept: 40, 60, 80, 100
MAIN_PROSE_SHARE = 0.6  # the deepest row with this share of the prose contains the article; swept: 0.5 to 0.8
CORE_PROSE_SHARE = 0.9  # the same for prose weighted by its neighbourhood (`_core`)
SHORT_LINE_CHARS = 120  # upper bound for datelines, bylines and headlines
MIN_TITLE_CHARS, MAX_TITLE_CHARS = 8, 2 * SHORT_LINE_CHARS  # length of a line compared with <title>, exclusive
TITLE_PARTS = (slice(3), slice(-4, -1))  # parts of a line; <title> must contain one before words are compared
MAX_DISTANCE = 20  # distances to the prose, in lines, are capped here
FEATURES = (
    "constant", "size", "linked", "all_linked", "ends_sentence", "partly_linked", "paragraph", "heading", "list_item", "cell",
    "in_control", "in_list", "in_form", "in_aside", "in_figure", "in_quote", "in_article", "in_header", "named_caption", "named_aside",
    "named_body", "named_comment", "named_overlay", "named_related", "named_items", "in_title", "date", "byline", "copyright", "prose_in_style",
    "prose_in_parent", "in_main", "before_main", "after_main", "prose_beside", "prose_around", "linked_in_parent", "linked_above",
    "short_in_parent", "company", "in_core", "in_wide_core", "before_core", "after_core",
)  # fmt: skip
OWN_COLUMNS = slice(FEATURES.index("paragraph"), FEATURES.index("cell") + 1)
ENCLOSING_COLUMNS = slice(FEATURES.index("in_control"), FEATURES.index("in_header") + 1)
NAMED_COLUMNS = slice(FEATURES.index("named_caption"), FEATURES.index("named_items") + 1)
CORE_COLUMNS = slice(FEATURES.index("linked_in_parent"), FEATURES.index("after_core") + 1)
IN_TITLE = FEATURES.index("in_title")
DATE_AND_BYLINE = slice(FEATURES.index("date"), FEATURES.index("byline") + 1)
# Constants passed to the native code.
NATIVE_LIMITS = (
    *(MIN_PROSE_CHARS, SHORT_LINE_CHARS, ITEM_MASS, MAX_ITEMS_SHARE, MAIN_PROSE_SHARE, CORE_PROSE_SHARE),
    *(MAX_DISTANCE, MIN_TITLE_CHARS, MAX_TITLE_CHARS),
)


def line_features(tree: TagTree, lines: Lines) -> Floats:
    """Return the features of the lines of a page: a row per line, a column per name in FEATURES."""
    if compiled is None or not len(lines):
        return line_features_python(tree, lines)
    x = np.zeros((len(lines), len(FEATURES)))
    title_candidates, date_candidates = compiled.line_features(
        x,
        lines.first,
        lines.row,
        lines.chars,
        lines.linked,
        _roles(tree, lines),
        lines.codes,
        tree.parent,
        tree.end,
        tree.text_at,
        tree.text_end,
        lines.texts,
        lines.styles,
        tree.title.lower(),
        SENTENCE_ENDS,
        COPYRIGHT_MARKS,
        NATIVE_LIMITS,
    )
    if date_candidates:
        x[date_candidates, DATE_AND_BYLINE] = [_date_and_byline(lines.texts[i]) for i in date_candidates]
    for i, agreement in _title_agreement(tree.title, lines.texts, title_candidates):
        x[i, IN_TITLE] = agreement
    return x


def line_features_python(tree: TagTree, lines: Lines) -> Floats:
    """Compute `line_features` without native code."""
    n = len(lines)
    x = np.zeros((n, len(FEATURES)))
    if not n:
        return x
    column = {name: x[:, i] for i, name in enumerate(FEATURES)}
    column["constant"][:] = 1
    # squared, so that separators between links hardly count
    unlinked = 1 + lines.chars * (1 - lines.linked) ** 2
    column["size"][:] = (np.array([log2(chars) for chars in unlinked.tolist()]) / 8) ** 2
    column["linked"][:] = lines.linked
    column["all_linked"][:] = lines.linked > 0.9
    column["partly_linked"][:] = (lines.linked > 0) & (lines.linked < 0.5)
    column["ends_sentence"][:] = [text.endswith(tuple(SENTENCE_ENDS)) for text in lines.texts]
    codes = lines.codes[lines.row, np.newaxis]
    x[:, OWN_COLUMNS] = codes & OWN_BITS > 0
    x[:, ENCLOSING_COLUMNS] = codes & ENCLOSING_BITS > 0

    is_prose = (lines.chars > MIN_PROSE_CHARS) & (lines.linked < 0.5)
    mass = np.where(is_prose, lines.chars * (1 - lines.linked), 0.0)
    roles = _roles(tree, lines)
    mass = _without_items(tree, lines, mass, roles)
    total = max(1.0, _sum(mass))
    by_chunk = np.zeros(len(tree.chunks))
    by_chunk[lines.first] = mass / total
    prose_share = tree.sum_chunks(by_chunk)
    style_share: dict[str, float] = {}
    for style, m in zip(lines.styles, mass.tolist(), strict=True):
        style_share[style] = style_share.get(style, 0.0) + m / total
    column["prose_in_style"][:] = [style_share[style] for style in lines.styles]
    column["prose_in_parent"][:] = prose_share[np.maximum(tree.parent[lines.row], 0)]
    main_rows = np.flatnonzero(prose_share >= MAIN_PROSE_SHARE)
    main = int(main_rows[-1]) if len(main_rows) else 0
    in_main = (lines.row >= main) & (lines.row < tree.end[main])
    column["in_main"][:] = in_main
    at = np.arange(n)
    main_prose = np.flatnonzero(in_main & (mass > 0))
    first, last = (int(main_prose[0]), int(main_prose[-1])) if len(main_prose) else (0, n - 1)
    column["before_main"][:] = np.minimum(np.maximum(first - at, 0) / MAX_DISTANCE, 1)
    column["after_main"][:] = np.minimum(np.maximum(at - last, 0) / MAX_DISTANCE, 1)
    prose = np.zeros(n + 6)
    prose[3:-3] = mass > 0
    column["prose_beside"][:] = (prose[2:-4] + prose[4:-2]) / 2
    column["prose_around"][:] = np.convolve(prose, np.ones(7), "valid") / 7

    short = np.flatnonzero(lines.chars < SHORT_LINE_CHARS)
    dated = np.array([_date_and_byline(lines.texts[i]) for i in short.tolist()], dtype=bool).reshape(-1, 2)
    column["date"][short], column["byline"][short] = dated.T
    column["copyright"][:] = [any(mark in text for mark in COPYRIGHT_MARKS) for text in lines.texts]
    for i, agreement in _title_agreement(
        tree.title, lines.texts, _title_candidates(tree.title.lower(), lines, last + 1)
    ):
        x[i, IN_TITLE] = agreement
    x[:, NAMED_COLUMNS] = _named_roles(tree, lines, main, roles).T
    x[:, CORE_COLUMNS] = _core(tree, lines, mass).T
    return x


def _core(tree: TagTree, lines: Lines, mass: Floats) -> Floats:
    """Compute the columns about the blocks around each line: share of links, share of short lines, position relative to the core.

    Paragraphs of an article are siblings; a comment, a snippet or a gallery item has a block of its own. Prose is therefore weighted by its
    neighbourhood ("company"): the mass of its siblings, or half of the mass below its grandparent, relative to the page's maximum.
    """
    parent = np.maximum(tree.parent[lines.row], 0)
    grandparent = np.maximum(tree.parent[parent], 0)
    # characters, linked characters and short lines of the parent's and the grandparent's subtree
    sums = np.zeros((3, len(lines) + 1))
    is_short = lines.chars < MIN_PROSE_CHARS
    np.cumsum((lines.chars, lines.chars * lines.linked, is_short), axis=1, out=sums[:, 1:])
    begin, end = (np.searchsorted(lines.first, at[parent]) for at in (tree.text_at, tree.text_end))
    chars, linked, short = sums[:, end] - sums[:, begin]
    begin_above, end_above = (np.searchsorted(lines.first, at[grandparent]) for at in (tree.text_at, tree.text_end))
    chars_above, linked_above = sums[:2, end_above] - sums[:2, begin_above]
    beside = np.bincount(parent, mass, len(tree)) + np.bincount(grandparent, mass / 2, len(tree))
    company = np.maximum(beside[parent], beside[grandparent]) / max(1.0, beside.max())
    by_chunk = np.zeros(len(tree.chunks))
    by_chunk[lines.first] = mass * company
    share = tree.sum_chunks(by_chunk) / max(1.0, _sum(by_chunk))
    inside = []
    for min_share in (MAIN_PROSE_SHARE, CORE_PROSE_SHARE):
        rows = np.flatnonzero(share >= min_share)
        core = int(rows[-1]) if len(rows) else 0
        inside.append((lines.row >= core) & (lines.row < tree.end[core]))
    at = np.arange(len(lines))
    prose = np.flatnonzero(inside[-1] & (mass > 0))
    first, last = (int(prose[0]), int(prose[-1])) if len(prose) else (0, len(lines) - 1)
    return np.array(
        [
            linked / np.maximum(chars, 1),
            linked_above / np.maximum(chars_above, 1),
            short / np.maximum(end - begin, 1),
            company,
            *inside,
            np.clip((first - at) / MAX_DISTANCE, 0, 1),
            np.clip((at - last) / MAX_DISTANCE, 0, 1),
        ]
    )


def _roles(tree: TagTree, lines: Lines) -> NDArray[np.int64]:
    """Return the roles of the class and id of each row."""
    roles = lines.codes >> FIRST_ROLE_BIT & ALL_ROLES
    for row, name in tree.attribute_by_row("id").items():
        if name:
            roles[row] |= name_roles(name)
    return roles


def _without_items(tree: TagTree, lines: Lines, mass: Floats, roles: NDArray[np.int64]) -> Floats:
    """Reduce the mass of prose in blocks of comments or pictures, so that many items do not outweigh the text."""
    rows = np.flatnonzero(roles & IS_ITEMS)
    if not len(rows):
        return mass
    before = np.append(0.0, np.cumsum(mass))
    first, end = (np.searchsorted(lines.first, at[rows]) for at in (tree.text_at, tree.text_end))
    rows = rows[before[end] - before[first] < MAX_ITEMS_SHARE * before[-1]]
    return mass * np.where(_sum_above(tree, rows, np.ones(len(rows), np.int64), lines.row) > 0, ITEM_MASS, 1)


def _named_roles(tree: TagTree, lines: Lines, top: int, roles: NDArray[np.int64]) -> Floats:
    """Count the ancestors of each line with each role, below the row `top` that contains the prose; at most two count."""
    rows = np.flatnonzero(roles)
    rows = rows[(rows > top) | (tree.end[rows] <= top)]
    counts = _sum_above(tree, rows, ROLE_COUNTS[roles[rows]], lines.row)
    return np.minimum([counts >> COUNT_BITS * i & MAX_COUNT for i in range(ROLES)], 2) / 2


def _sum_above(tree: TagTree, rows: NDArray[np.intp], values: NDArray[np.int64], inside: Ints) -> NDArray[np.int64]:
    """Return, for each row of `inside`, the sum of the values of its ancestors among `rows`."""
    end = tree.end[rows]
    order = np.argsort(end)
    opened = np.append(0, np.cumsum(values))[np.searchsorted(rows, inside, side="right")]
    closed = np.append(0, np.cumsum(values[order]))[np.searchsorted(end[order], inside, side="right")]
    return np.asarray(opened - closed)


@lru_cache(maxsize=100_000)
def _date_and_byline(text: str) -> tuple[bool, bool]:
    """Return whether a short line is little more than a date, and whether it begins like a byline."""
    beside, dates = DATE.subn("", text)
    return dates > 0 and len(beside) < MAX_CHARS_BESIDE_DATE, BYLINE.match(text) is not None


def _title_candidates(title: str, lines: Lines, stop: int) -> list[int]:
    """Return the lines before `stop` whose first or last characters occur in the title; only these are split into words."""
    chars = lines.chars[:stop]
    candidates = np.flatnonzero((chars > MIN_TITLE_CHARS) & (chars < MAX_TITLE_CHARS)).tolist()
    return [i for i in candidates if any(lines.texts[i][part].lower() in title for part in TITLE_PARTS)]


def _title_agreement(title: str, texts: Sequence[str], candidates: Iterable[int]) -> Iterator[tuple[int, float]]:
    """Yield the index of each candidate line that agrees with <title>, and the agreement; sites add their name and section to <title>."""
    title_words = set(tokens(title))
    for i in candidates if title_words else ():
        words = set(tokens(texts[i]))
        shared = len(words & title_words)
        if shared and (shared >= 2 or shared == len(words)):
            yield i, shared / len(words) * min(1.0, shared / (0.5 * len(title_words)))


def _sum(values: Floats) -> float:
    """Add values in order, as the native code does."""
    return float(np.cumsum(values)[-1])


# Text flow.

MIN_KEPT_SHARE = 0.5  # a flow with a larger share of text is text as a whole; swept: 0.5, 0.7, no difference
# Features of lines that are not part of the flow around them.
SEPARATE_FEATURES = [
    FEATURES.index(name) for name in ("in_control", "in_aside", "in_figure", "named_caption", "date", "byline")
]
IN_FIGURE, IN_CONTROL, IN_LIST, CELL, HEADING = (
    FEATURES.index(name) for name in ("in_figure", "in_control", "in_list", "cell", "heading")
)


@dataclass(frozen=True, eq=False)
class TextFlow:
    """Flow that each line of a page belongs to."""

    row: Ints  # row of each line's flow
    chars: Floats  # characters in the flow of each row, at least 1
    is_separate: Bools  # lines with one of SEPARATE_FEATURES
    in_list: Bools
    in_cell: Bools

    def is_mostly(self, lines: Lines, is_kept: Bools) -> Bools:
        """Return, for each line, True if most characters of its flow are kept."""
        kept = np.bincount(self.row, lines.chars * is_kept)
        return np.asarray((kept / self.chars > MIN_KEPT_SHARE)[self.row])


def find_text_flow(tree: TagTree, lines: Lines, x: Floats) -> TextFlow:
    """Find the flow of each line from the lines and their features."""
    row = _flow_rows(tree, lines)
    chars = np.maximum(np.bincount(row, lines.chars), 1)
    return TextFlow(row, chars, np.any(x[:, SEPARATE_FEATURES] > 0, axis=1), x[:, IN_LIST] > 0, x[:, CELL] > 0)


def _flow_rows(tree: TagTree, lines: Lines) -> Ints:
    """Return the row of each line's flow; a cell with one line is part of the flow, a cell with more has its own (layout tables)."""
    is_text = lines.codes & IN_FLOW > 0
    cells = (lines.codes & IS_CELL).nonzero()[0]
    if len(cells):
        count = np.searchsorted(lines.first, tree.text_end[cells]) - np.searchsorted(lines.first, tree.text_at[cells])
        is_text[cells[count <= 1]] = True
    is_text[:1] = False
    row = lines.row
    while (is_inside := is_text[row]).any():
        row = np.where(is_inside, tree.parent[row], row)
    return row


def continues_text(flow: TextFlow, lines: Lines, x: Floats, is_kept: Bools, is_prose: Bools) -> Bools:
    """Return the lines that belong to the text by position: in its flow, or as a caption between its paragraphs.

    Lines that are links count only in lists and tables after the first paragraph; elsewhere they lead to related pages.
    """
    prose = (is_kept & is_prose).nonzero()[0]
    if not len(prose):
        return np.zeros(len(lines), dtype=bool)
    at = np.arange(len(lines))
    first, last = np.full(len(flow.chars), len(lines)), np.full(len(flow.chars), -1)
    rows = flow.row[prose]
    first[rows[::-1]], last[rows] = prose[::-1], prose  # the last assignment to an index wins
    is_listed = (at > first[flow.row]) & (flow.in_list | (flow.in_cell & (at < last[flow.row])))
    in_flow = flow.is_mostly(lines, is_kept) & ~flow.is_separate
    is_caption = (x[:, IN_FIGURE] > 0) & (x[:, IN_CONTROL] == 0) & (at > prose[0]) & (at < prose[-1])
    is_plain = lines.linked < 0.5
    return np.asarray((in_flow & (is_plain | is_listed)) | (is_caption & is_plain))


def headings_without_text(flow: TextFlow, x: Floats, is_kept: Bools) -> list[int]:
    """Return the kept headings without a kept line after them, such as `See also` above links; skip captions and other separate lines."""
    headings: list[int] = []
    left = is_kept.copy()
    for i in (is_kept & (x[:, HEADING] > 0)).nonzero()[0][::-1].tolist():
        after = i + 1
        while after < len(left) and flow.is_separate[after]:
            after += 1
        if after == len(left) or not left[after]:
            left[i] = False
            headings.append(i)
    return headings
