"""The features of each line of a page: the evidence by which articles are recognised.

prose   a line that is long enough and mostly outside of links
mass    the characters of a line of prose that are not in links; 0 for other lines
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import log2

import numpy as np
from numpy.typing import NDArray

from upwell.extract.lines import (
    ALL_ROLES,
    ENCLOSING_BITS,
    IS_ITEMS,
    NAMES,
    OWN_BITS,
    ROLES_FROM,
    Floats,
    Lines,
    role_of_name,
)
from upwell.page.compiled import compiled
from upwell.page.terms import tokens
from upwell.page.tree import Ints, TagTree

__all__ = ["FEATURES", "SHORT_LINE_CHARS", "line_features", "plain_features"]

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
SENTENCE_ENDS = ".!?。！？…\"”’')"
COPYRIGHT_MARKS = ("©", "opyright", "rights reserved")
MIN_PROSE_CHARS = 60  # swept: 40, 60, 80, 100
MAIN_PROSE_SHARE = 0.6  # the deepest row with this share of the prose holds the article; swept: 0.5 to 0.8
CORE_PROSE_SHARE = 0.9  # the same for the prose that stands in company
SHORT_LINE_CHARS = 120  # a dateline, a byline or a headline is hardly longer
MIN_TITLE_CHARS, MAX_TITLE_CHARS = 8, 2 * SHORT_LINE_CHARS  # of a line that may agree with <title>, exclusive
TITLE_PARTS = (slice(3), slice(-4, -1))  # of a line; one that agrees with <title> has one of them there
MAX_DISTANCE = 20  # lines before or after the prose from which on the distance counts no further
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
# What the compiled parts must know of the above.
LIMITS = (
    *(MIN_PROSE_CHARS, SHORT_LINE_CHARS, ITEM_MASS, MAX_ITEMS_SHARE, MAIN_PROSE_SHARE, CORE_PROSE_SHARE),
    *(MAX_DISTANCE, MIN_TITLE_CHARS, MAX_TITLE_CHARS),
)


def line_features(tree: TagTree, lines: Lines) -> Floats:
    """What one page tells about each of its lines: a row a line, a column a feature."""
    if compiled is None or not len(lines):
        return plain_features(tree, lines)
    x = np.zeros((len(lines), len(FEATURES)))
    titled = compiled.line_features(
        x,
        (lines.first, lines.row, lines.chars, lines.linked, lines.codes),
        (tree.parent, tree.end, tree.text_at, tree.text_end),
        (lines.texts, lines.styles, tree.having("id"), tree.title.lower()),
        (role_of_name, _date_and_byline, SENTENCE_ENDS, COPYRIGHT_MARKS),
        LIMITS,
    )
    for i, agreement in _title_agreement(tree.title, lines.texts, titled):
        x[i, IN_TITLE] = agreement
    return x


def plain_features(tree: TagTree, lines: Lines) -> Floats:
    """The same without the compiled parts."""
    n = len(lines)
    x = np.zeros((n, len(FEATURES)))
    if not n:
        return x
    column = {name: x[:, i] for i, name in enumerate(FEATURES)}
    column["constant"][:] = 1
    # squared: what stands between links (commas) is no text
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
    for i, agreement in _title_agreement(tree.title, lines.texts, _titled(tree.title.lower(), lines, last + 1)):
        x[i, IN_TITLE] = agreement
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
    share = tree.sum_chunks(by_chunk) / max(1.0, _sum(by_chunk))
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
    """What the class and the id of each row name it, as `role_of_name` has it."""
    roles = lines.codes >> ROLES_FROM & ALL_ROLES
    for row, name in tree.having("id").items():
        if name:
            roles[row] |= role_of_name(name)
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
def _date_and_byline(text: str) -> tuple[bool, bool]:
    """Whether a short line is little more than a date, and whether it begins like the name of an author."""
    beside, dates = DATE.subn("", text)
    return dates > 0 and len(beside) < MAX_CHARS_BESIDE_DATE, BYLINE.match(text) is not None


def _titled(title: str, lines: Lines, stop: int) -> list[int]:
    """The lines before `stop` that may agree with the title, by their first or last characters: most need not be split into words."""
    chars = lines.chars[:stop]
    near = np.flatnonzero((chars > MIN_TITLE_CHARS) & (chars < MAX_TITLE_CHARS)).tolist()
    return [i for i in near if any(lines.texts[i][part].lower() in title for part in TITLE_PARTS)]


def _title_agreement(title: str, texts: Sequence[str], titled: Iterable[int]) -> Iterator[tuple[int, float]]:
    """How well lines agree with the page's <title>, to which sites add their name and section; those that do, each with its number."""
    title_words = set(tokens(title))
    for i in titled if title_words else ():
        words = set(tokens(texts[i]))
        both = len(words & title_words)
        if both and (both >= 2 or both == len(words)):
            yield i, both / len(words) * min(1.0, both / (0.5 * len(title_words)))


def _sum(values: Floats) -> float:
    """The sum, added in order."""
    return float(np.cumsum(values)[-1])
