"""A page as lines of text, and the features of each line: the evidence by which articles are recognised.

line    the chunks between two edges of blocks: a paragraph, a heading, a caption, an entry of a menu
prose   a line that is long enough and mostly outside of links
mass    the characters of a line of prose that are not in links; 0 for other lines
style   the path of tags and classes that a line stands at, without digits and positions: lines of one role share it
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from upwell.page.spots import BROKEN, INLINE, Spot
from upwell.page.terms import CJK_RUN, EDGE, tokens
from upwell.page.tree import Ints, TagTree

__all__ = ["FEATURES", "IN_FLOW", "IS_CELL", "SHORT_LINE_CHARS", "Floats", "Lines", "line_features", "lines_of"]

Floats = NDArray[np.float64]

# Words in class and id by which authors of pages name what is not the text, and what is.
CAPTION_NAME = re.compile(r"caption|credit|photo|image|img|thumb|cutline|gallery|slide|figure", re.I)
ASIDE_NAME = re.compile(
    r"comment|relat|shar(?:e|ing)|social|promo|sponsor|advert|(?<![a-z])ads?(?![a-z])|foot|nav|menu|side|tool|byline|author|date|"
    r"time|meta|tags?(?![a-z])|rss|subscri|newsletter|bread|crumb|pager|paginat|print|e-?mail|poll|widget|teaser|more|links|media|"
    r"video|bio|disclaim|copyright|login|popular|recommend|rail|module|box|signup|trend|follow",
    re.I,
)
COMMENT_NAME = re.compile(r"comment|disqus|repl(?:y|ies)|respon[sd]|feedback|review", re.I)
OVERLAY_NAME = re.compile(
    r"cookie|consent|gdpr|modal|pop-?up|overlay|banner|hidden|visually|sr-only|screen-?reader|paywall|subscri|newsletter|sign-?up|noprint",
    re.I,
)
RELATED_NAME = re.compile(
    r"relat|recommend|popular|trend|more|also|promo|sponsor|teaser|recirc|read-?next|gallery|carousel|slide", re.I
)
BODY_NAME = re.compile(r"article|body|content|entry|story|text|post|main|para", re.I)
# Blocks of many items that each have prose of their own: together often more than the text.
ITEMS_NAME = re.compile(COMMENT_NAME.pattern + "|gallery|carousel|slide-?show", re.I)
NAMES = (CAPTION_NAME, ASIDE_NAME, BODY_NAME, COMMENT_NAME, OVERLAY_NAME, RELATED_NAME, ITEMS_NAME)
ALL_ROLES, IS_ITEMS = (1 << len(NAMES)) - 1, 1 << NAMES.index(ITEMS_NAME)
COUNT_BITS = 9
MAX_COUNT = (1 << COUNT_BITS) - 1
# Roles as numbers that can be added: a count of its own for each.
ROLE_COUNTS = np.array(
    [sum((roles >> i & 1) << COUNT_BITS * i for i in range(len(NAMES))) for roles in range(ALL_ROLES + 1)],
    dtype=np.int64,
)
ITEM_MASS = 0.2  # what prose in blocks of items counts for; swept, sites left out: 0 (fails where a name misleads), 0.1, 0.2, 0.3
MAX_ITEMS_SHARE = 0.9  # a block with more of the prose holds the text, whatever its name
MONTH = r"[^\W\d_]{3,12}"  # in any language
YEAR = r"(?:19|20)\d\d\b"
DATE = re.compile(
    rf"\b(?:{MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?,? {YEAR}|\d{{1,2}}\.? (?:de )?{MONTH}\.?,? (?:de )?{YEAR}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|"
    rf"\d{{4}}-\d{{2}}-\d{{2}})|\d{{4}}年\d{{1,2}}月",
    re.I,
)
BYLINE = re.compile(r"\s*(?:by|von|par|por|di|door|av)[\s:]+[A-Z]", re.I)
MAX_CHARS_BESIDE_DATE = (
    30  # a reference or a sentence with a date has more; swept, sites left out: 30, 40, 50, 60, 80, any
)
SENTENCE_ENDS = tuple(".!?。！？…\"”’')")
MIN_PROSE_CHARS = 60  # swept: 40, 60, 80, 100
MAIN_PROSE_SHARE = 0.6  # the deepest row with this share of the prose holds the article; swept: 0.5 to 0.8
CORE_PROSE_SHARE = 0.9  # the same for the prose that stands in company
SHORT_LINE_CHARS = 120  # a dateline, a byline or a headline is hardly longer
BETWEEN = ("", " ", EDGE)  # what is put for GLUED, SPACED and BROKEN while all lines are made at once
MAX_DISTANCE = 20  # lines before or after the prose from which on the distance counts no further


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


FEATURES = (
    "constant", "size", "linked", "all_linked", "ends_sentence", "partly_linked", "paragraph", "heading", "list_item", "cell",
    "in_control", "in_list", "in_form", "in_aside", "in_figure", "in_quote", "in_article", "in_header", "named_caption", "named_aside",
    "named_body", "named_comment", "named_overlay", "named_related", "named_items", "in_title", "date", "byline", "copyright", "prose_in_style",
    "prose_in_parent", "in_main", "before_main", "after_main", "prose_beside", "prose_around", "linked_in_parent", "linked_above",
    "short_in_parent", "company", "in_core", "in_wide_core", "before_core", "after_core",
)  # fmt: skip
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

OWN_COLUMNS = slice(FEATURES.index("paragraph"), FEATURES.index("cell") + 1)
ENCLOSING_COLUMNS = slice(FEATURES.index("in_control"), FEATURES.index("in_header") + 1)
NAMED_COLUMNS = slice(FEATURES.index("named_caption"), FEATURES.index("named_items") + 1)
CORE_COLUMNS = slice(FEATURES.index("linked_in_parent"), FEATURES.index("after_core") + 1)


# What a spot says about the lines that stand there, as bits of one number: …
IS_INLINE, IN_LINK, IN_FLOW, IS_CELL = 1, 2, 4, 8
# … then those of OWN_TAGS and of ENCLOSING_TAGS, …
OWN_BITS = 1 << 4 + np.arange(len(OWN_TAGS))
ENCLOSING_BITS = 1 << 8 + np.arange(len(ENCLOSING_TAGS))
KNOWN = 1 << 62  # so that no code is 0
ROLES_FROM = 16  # … and the names of its class (`_role`)
ABOVE = IN_LINK | int(ENCLOSING_BITS.sum())  # what holds for all that stands below
LINK_TAGS, CELL_TAGS = ("a", "button"), ("td", "th")
# Elements that a writer types: what they hold is part of the text around them (`flow`).
FLOW_TAGS = INLINE | {
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd", "blockquote", "pre", "center", "table", "tbody", "thead",
    "tfoot", "tr", "caption",
}  # fmt: skip
MAX_KNOWN_SPOTS = 50_000
_known_codes: dict[Spot, int] = {}


def _codes(spots: Sequence[Spot]) -> list[int]:
    """The code of each spot."""
    if len(_known_codes) > MAX_KNOWN_SPOTS:
        _known_codes.clear()
    known = _known_codes
    return [known.get(at) or _code(at) for at in spots]


def _code(spot: Spot) -> int:
    """What a spot says about the lines that stand there; it is remembered, and those of the spots above it were before."""
    tag, code = spot.tag, 0
    if spot.above is not None:
        code = (_known_codes.get(spot.above) or _code(spot.above)) & ABOVE
    code |= (
        IS_INLINE * (tag in INLINE)
        | IN_LINK * (tag in LINK_TAGS)
        | IN_FLOW * (tag in FLOW_TAGS)
        | IS_CELL * (tag in CELL_TAGS)
    )
    for groups, bits in ((OWN_TAGS, OWN_BITS), (ENCLOSING_TAGS, ENCLOSING_BITS)):
        code |= sum(bit for bit, names in zip(bits.tolist(), groups.values(), strict=True) if tag in names)
    code |= _role(spot.cls) << ROLES_FROM | KNOWN
    _known_codes[spot] = code
    return code


def line_features(tree: TagTree, lines: Lines) -> Floats:
    """What one page tells about each of its lines: a row a line, a column a feature."""
    n = len(lines)
    x = np.zeros((n, len(FEATURES)))
    if not n:
        return x
    column = {name: x[:, i] for i, name in enumerate(FEATURES)}
    column["constant"][:] = 1
    # squared: what stands between links (commas) is no text
    column["size"][:] = (np.log2(1 + lines.chars * (1 - lines.linked) ** 2) / 8) ** 2
    column["linked"][:] = lines.linked
    column["all_linked"][:] = lines.linked > 0.9
    column["partly_linked"][:] = (lines.linked > 0) & (lines.linked < 0.5)
    column["ends_sentence"][:] = [text.endswith(SENTENCE_ENDS) for text in lines.texts]
    codes = lines.codes[lines.row, np.newaxis]
    x[:, OWN_COLUMNS] = codes & OWN_BITS > 0
    x[:, ENCLOSING_COLUMNS] = codes & ENCLOSING_BITS > 0

    is_prose = (lines.chars > MIN_PROSE_CHARS) & (lines.linked < 0.5)
    mass = np.where(is_prose, lines.chars * (1 - lines.linked), 0.0)
    roles = _roles(tree, lines)
    mass = _without_items(tree, lines, mass, roles)
    total = max(1.0, mass.sum())
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
    column["prose_around"][:] = np.convolve(prose, np.full(7, 1 / 7), "valid")

    short = np.flatnonzero(lines.chars < SHORT_LINE_CHARS)
    dated = np.array([_date_and_byline(lines.texts[i]) for i in short.tolist()], dtype=bool).reshape(-1, 2)
    column["date"][short], column["byline"][short] = dated.T
    column["copyright"][:] = ["©" in text or "opyright" in text or "rights reserved" in text for text in lines.texts]
    column["in_title"][: last + 1] = _title_agreement(tree, lines, last + 1)
    x[:, NAMED_COLUMNS] = _named_roles(tree, lines, main, roles).T
    x[:, CORE_COLUMNS] = _core(tree, lines, mass).T
    return x


def _core(tree: TagTree, lines: Lines, mass: Floats) -> Floats:
    """The columns about the blocks around each line: how linked they are, how many short lines they have, and where the core is.

    Paragraphs of an article stand side by side; a comment, a snippet or an item of a gallery has a block of its own. So prose counts
    as it stands in company: by the mass of the lines of its parent, or half of that below the row above, against the most on the page.
    """
    parent = np.maximum(tree.parent[lines.row], 0)
    above = np.maximum(tree.parent[parent], 0)
    # of the lines in the blocks right around each line, and around these: how long, how linked, how many short ones
    sums = np.zeros((3, len(lines) + 1))
    is_short = lines.chars < MIN_PROSE_CHARS
    np.cumsum((lines.chars, lines.chars * lines.linked, is_short), axis=1, out=sums[:, 1:])
    begin, end = (np.searchsorted(lines.first, at[parent]) for at in (tree.text_at, tree.text_end))
    chars, linked, short = sums[:, end] - sums[:, begin]
    begin_above, end_above = (np.searchsorted(lines.first, at[above]) for at in (tree.text_at, tree.text_end))
    chars_above, linked_above = sums[:2, end_above] - sums[:2, begin_above]
    beside = np.bincount(parent, mass, len(tree)) + np.bincount(above, mass / 2, len(tree))
    company = np.maximum(beside[parent], beside[above]) / max(1.0, beside.max())
    by_chunk = np.zeros(len(tree.chunks))
    by_chunk[lines.first] = mass * company
    share = tree.sum_chunks(by_chunk) / max(1.0, by_chunk.sum())
    inside = []
    for least in (MAIN_PROSE_SHARE, CORE_PROSE_SHARE):
        rows = np.flatnonzero(share >= least)
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
    """What the class and the id of each row name it, as `_role` has it."""
    roles = lines.codes >> ROLES_FROM & ALL_ROLES
    for row, name in tree.having("id").items():
        if name:
            roles[row] |= _role(name)
    return roles


def _without_items(tree: TagTree, lines: Lines, mass: Floats, roles: NDArray[np.int64]) -> Floats:
    """The mass where prose in blocks of comments or pictures counts less, so that many of them do not outweigh the text."""
    rows = np.flatnonzero(roles & IS_ITEMS)
    if not len(rows):
        return mass
    before = np.append(0.0, np.cumsum(mass))
    first, end = (np.searchsorted(lines.first, at[rows]) for at in (tree.text_at, tree.text_end))
    rows = rows[before[end] - before[first] < MAX_ITEMS_SHARE * before[-1]]
    return mass * np.where(_sum_above(tree, rows, np.ones(len(rows), np.int64), lines.row) > 0, ITEM_MASS, 1)


def _named_roles(tree: TagTree, lines: Lines, top: int, roles: NDArray[np.int64]) -> Floats:
    """How many of the blocks around each line have each of the names, below the row that holds the prose: at most two."""
    rows = np.flatnonzero(roles)
    rows = rows[(rows > top) | (tree.end[rows] <= top)]
    counts = _sum_above(tree, rows, ROLE_COUNTS[roles[rows]], lines.row)
    return np.minimum([counts >> COUNT_BITS * i & MAX_COUNT for i in range(len(NAMES))], 2) / 2


def _sum_above(tree: TagTree, rows: NDArray[np.intp], values: NDArray[np.int64], inside: Ints) -> NDArray[np.int64]:
    """For each row of `inside`, the sum of the values of those of `rows` that hold it."""
    end = tree.end[rows]
    order = np.argsort(end)
    opened = np.append(0, np.cumsum(values))[np.searchsorted(rows, inside, side="right")]
    closed = np.append(0, np.cumsum(values[order]))[np.searchsorted(end[order], inside, side="right")]
    return np.asarray(opened - closed)


@lru_cache(maxsize=100_000)
def _role(name: str) -> int:
    """Which of NAMES a name has, a bit for each."""
    return sum((words.search(name) is not None) << i for i, words in enumerate(NAMES))


@lru_cache(maxsize=100_000)
def _date_and_byline(text: str) -> tuple[bool, bool]:
    """Whether a short line is little more than a date, and whether it begins like the name of an author."""
    beside, dates = DATE.subn("", text)
    return dates > 0 and len(beside) < MAX_CHARS_BESIDE_DATE, BYLINE.match(text) is not None


def _title_agreement(tree: TagTree, lines: Lines, stop: int) -> Floats:
    """How well each line before `stop` agrees with the page's <title>, to which sites add their name and section."""
    title_words = set(tokens(tree.title))
    agreement = np.zeros(stop)
    if not title_words:
        return agreement
    title = tree.title.lower()
    for i in np.flatnonzero((lines.chars[:stop] > 8) & (lines.chars[:stop] < 2 * SHORT_LINE_CHARS)).tolist():
        text = lines.texts[i]
        if (
            text[:3].lower() not in title and text[-4:-1].lower() not in title
        ):  # most lines need not be split into words
            continue
        words = set(tokens(text))
        both = len(words & title_words)
        if both and (both >= 2 or both == len(words)):
            agreement[i] = both / len(words) * min(1.0, both / (0.5 * len(title_words)))
    return agreement
