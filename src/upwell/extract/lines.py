"""A page as lines of text, and the features of each line: the evidence by which articles are recognised.

line    the chunks between two edges of blocks: a paragraph, a heading, a caption, an entry of a menu
prose   a line that is long enough and mostly outside of links
mass    the characters of a line of prose that are not in links; 0 for other lines
style   the path of tags and classes that a line stands at, without digits and positions: lines of one role share it
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from upwell.page.spots import BROKEN, INLINE
from upwell.page.terms import CJK_RUN, tokens
from upwell.page.tree import Ints, TagTree

__all__ = ["FEATURES", "SHORT_LINE_CHARS", "Floats", "Lines", "line_features", "lines_of"]

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
NAMES = (CAPTION_NAME, ASIDE_NAME, BODY_NAME, COMMENT_NAME, OVERLAY_NAME, RELATED_NAME)
MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
DATE = re.compile(
    rf"\b(?:{MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|\d{{1,2}}\.? {MONTH}\.?,? \d{{4}}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|"
    rf"\d{{4}}-\d{{2}}-\d{{2}})|\d{{4}}年\d{{1,2}}月",
    re.I,
)
BYLINE = re.compile(r"\s*(?:by|von|par|por|di|door|av)[\s:]+[A-Z]", re.I)
SENTENCE_ENDS = tuple(".!?。！？…\"”’')")
MIN_PROSE_CHARS = 60  # swept: 40, 60, 80, 100
MAIN_PROSE_SHARE = 0.6  # the deepest row with this share of the prose holds the article; swept: 0.5 to 0.8
CORE_PROSE_SHARE = 0.9  # the same for the prose that stands in company
SHORT_LINE_CHARS = 120  # a dateline, a byline or a headline is hardly longer
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
    texts = [
        chunks[a] if b == a + 1 else tree.text_of(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True)
    ]
    is_inline = tree.by_spot([at.tag in INLINE for at in tree.spots], np.bool_)
    row = tree.chunk_row[first]
    while np.any(inside_inline := is_inline[row]):
        row = np.where(inside_inline, tree.parent[row], row)
    sizes = np.fromiter(map(len, tree.chunks), np.float64, count)
    if any(CJK_RUN.search(chunk) for chunk in tree.chunks if not chunk.isascii()):
        sizes += np.array([2 * sum(map(len, CJK_RUN.findall(chunk))) for chunk in tree.chunks], dtype=np.float64)
    links = tree.rows("a", "button")
    opened = np.bincount(tree.text_at[links], minlength=count + 1) - np.bincount(
        tree.text_end[links], minlength=count + 1
    )
    in_link = np.cumsum(opened)[:count] > 0
    chars_before, linked_before = np.zeros(count + 1), np.zeros(count + 1)
    np.cumsum(sizes, out=chars_before[1:])
    np.cumsum(sizes * in_link, out=linked_before[1:])
    chars = chars_before[last] - chars_before[first]
    linked = (linked_before[last] - linked_before[first]) / chars
    return Lines(first, last, row, tuple(texts), chars, linked, _styles(tree, row))


def _styles(tree: TagTree, rows: Ints) -> tuple[str, ...]:
    """The style of each row."""
    styles = [at.style for at in tree.spots]
    return tuple([styles[number] for number in tree.spot[rows].tolist()])


FEATURES = (
    "constant", "size", "linked", "all_linked", "ends_sentence", "partly_linked", "paragraph", "heading", "list_item", "cell",
    "in_control", "in_list", "in_form", "in_aside", "in_figure", "in_quote", "in_article", "in_header", "named_caption", "named_aside",
    "named_body", "named_comment", "named_overlay", "named_related", "in_title", "date", "byline", "copyright", "prose_in_style",
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
NAMED_COLUMNS = slice(FEATURES.index("named_caption"), FEATURES.index("named_related") + 1)
CORE_COLUMNS = slice(FEATURES.index("linked_in_parent"), FEATURES.index("after_core") + 1)


@lru_cache(maxsize=1000)
def _tag_tables(tags: tuple[str, ...]) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
    """For each tag of a page: which of OWN_TAGS it is, and the number of the group of ENCLOSING_TAGS that it is in, or -1."""
    own = np.array([[tag in names for names in OWN_TAGS.values()] for tag in tags], dtype=bool)
    groups = [next((i for i, names in enumerate(ENCLOSING_TAGS.values()) if tag in names), -1) for tag in tags]
    return own, np.array(groups, dtype=np.int8)


def line_features(tree: TagTree, lines: Lines) -> Floats:
    """What one page tells about each of its lines: a row a line, a column a feature."""
    n = len(lines)
    x = np.zeros((n, len(FEATURES)))
    if not n:
        return x
    column = {name: x[:, i] for i, name in enumerate(FEATURES)}
    column["constant"][:] = 1
    column["size"][:] = (np.log2(1 + lines.chars * (1 - lines.linked)) / 8) ** 2
    column["linked"][:] = lines.linked
    column["all_linked"][:] = lines.linked > 0.9
    column["partly_linked"][:] = (lines.linked > 0) & (lines.linked < 0.5)
    column["ends_sentence"][:] = [text.endswith(SENTENCE_ENDS) for text in lines.texts]
    own, groups = _tag_tables(tree.tags)
    x[:, OWN_COLUMNS] = own[tree.tag[lines.row]]
    group = groups[tree.tag]
    grouped = np.flatnonzero(group >= 0)
    width = len(ENCLOSING_TAGS)
    opened = np.bincount(grouped * width + group[grouped], minlength=(len(tree) + 1) * width)
    opened -= np.bincount(tree.end[grouped] * width + group[grouped], minlength=len(opened))
    x[:, ENCLOSING_COLUMNS] = np.cumsum(opened.reshape(-1, width), axis=0)[lines.row] > 0

    is_prose = (lines.chars > MIN_PROSE_CHARS) & (lines.linked < 0.5)
    mass = np.where(is_prose, lines.chars * (1 - lines.linked), 0.0)
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
    x[:, NAMED_COLUMNS] = _named_roles(tree, lines.row, main).T
    x[:, CORE_COLUMNS] = _core(tree, lines, mass).T
    return x


def _core(tree: TagTree, lines: Lines, mass: Floats) -> Floats:
    """The columns about the blocks around each line: how linked they are, how many short lines they have, and where the core is.

    Paragraphs of an article stand side by side; a comment, a snippet or an item of a gallery has a block of its own. So prose counts
    as it stands in company: by the mass of the lines of its parent, or half of that below the row above, against the most on the page.
    """
    count = len(tree.chunks)
    values = np.zeros((3, count))
    values[:, lines.first] = lines.chars, lines.chars * lines.linked, lines.chars < MIN_PROSE_CHARS
    chars, linked, short = (tree.sum_chunks(value) for value in values)
    lines_below = np.searchsorted(lines.first, tree.text_end) - np.searchsorted(lines.first, tree.text_at)
    parent = np.maximum(tree.parent[lines.row], 0)
    above = np.maximum(tree.parent[parent], 0)
    beside = np.bincount(parent, mass, len(tree)) + np.bincount(above, mass / 2, len(tree))
    company = np.maximum(beside[parent], beside[above]) / max(1.0, beside.max())
    by_chunk = np.zeros(count)
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
            linked[parent] / np.maximum(chars[parent], 1),
            linked[above] / np.maximum(chars[above], 1),
            short[parent] / np.maximum(lines_below[parent], 1),
            company,
            *inside,
            np.clip((first - at) / MAX_DISTANCE, 0, 1),
            np.clip((at - last) / MAX_DISTANCE, 0, 1),
        ]
    )


def _named_roles(tree: TagTree, rows: Ints, top: int) -> Floats:
    """How the classes and ids of the five blocks around each line name it, below the row that holds the prose."""
    around = [rows]
    for _ in range(4):
        around.append(np.maximum(tree.parent[around[-1]], 0))
    roles = tree.by_spot([_role(at.cls) for at in tree.spots], np.int64)
    is_around = np.zeros(len(tree), dtype=bool)
    is_around[np.concatenate(around)] = True
    for row, name in tree.having("id").items():
        if name and is_around[row]:
            roles[row] |= _role(name)
    roles[0] = roles[top] = 0
    counts, is_below = np.zeros_like(rows), np.ones(len(rows), dtype=bool)
    for at in around:
        is_below &= at != top
        counts += roles[at] * is_below
    return np.minimum([counts >> 4 * i & 15 for i in range(len(NAMES))], 2) / 2


@lru_cache(maxsize=100_000)
def _role(name: str) -> int:
    """Which of NAMES a name has: in one number, four bits for each, so that five of them can be added."""
    return sum((words.search(name) is not None) << 4 * i for i, words in enumerate(NAMES))


@lru_cache(maxsize=100_000)
def _date_and_byline(text: str) -> tuple[bool, bool]:
    """Whether a short line holds a date, and whether it begins like the name of an author."""
    return DATE.search(text) is not None, BYLINE.match(text) is not None


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
